/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd link: its inside, shared by link.c, elect.c and the JSON of it. */
#ifndef HZ_HZD_LINK_INT_H
#define HZ_HZD_LINK_INT_H

#include "bucket.h"
#include "link.h"

struct HzLink {
    HzVm *vm;
    int fd;
    HzLinkState state;
    pid_t pid;
    uid_t uid;
    uint64_t start_time;        /* of the process, so that a reused pid isn't taken for it */
    uint64_t parked_at, heard_at;
    struct hz_hello hello;      /* the latest, when state is WAITING or more */
    uint64_t hello_serial;      /* order of HELLOs among the VM's links */
    uint16_t run_state;
    guint in_source, out_source;
    HzTimer *timer;
    HzBucket frames;            /* it may send */
    size_t in_len, out_len;
    uint8_t in[4 * HZ_LINK_MAX_FRAME];
    uint8_t out[4 * HZ_LINK_MAX_FRAME];
};

/* Is it the VM's process? @why is set for NO and UNCLEAR. */
typedef enum { HZ_IDENTITY_YES, HZ_IDENTITY_NO, HZ_IDENTITY_UNCLEAR } HzIdentified;
HzIdentified hz_identity(HzVm *vm, pid_t pid, uid_t uid, uint64_t start_time, char **why);

/* Ask again who a parked link is; may end it. */
void hz_link_identify(HzLink *link);
/* Send a frame that isn't state of the ledger. */
void hz_link_put(HzLink *link, const void *frame, size_t len);
/* Close it and let another speak, if there's one. */
void hz_link_end(HzLink *link);

const char *hz_link_state_name(HzLinkState state);
void hz_event_link(HzLink *link, const char *what);

#endif /* HZ_HZD_LINK_INT_H */
