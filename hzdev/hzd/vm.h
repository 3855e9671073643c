/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd vm: the ledger, one mirror of a board a VM.
 *
 * The board in the device is the truth about declarations and replies; this
 * is hzd's copy of it, brought by records, and beside it what hzd wants to
 * stand there: verdicts and notices.
 */
#ifndef HZ_HZD_VM_H
#define HZ_HZD_VM_H

#include "hzd.h"
#include "vmm/vmm.h"

/* One declaration as the board has it. */
typedef struct {
    uint8_t subject[VIRTIO_HZ_KEY_LEN];     /* zero ended */
    struct hz_declaration d;
    unsigned session;           /* the session that told it last */
    uint64_t gone_at;           /* withdrawn or lost at; 0: it stands */
    gboolean dirty;             /* want differs from what was sent */
    uint16_t n_want;            /* the verdicts hzd wants beside it */
    struct hz_verdict want[VIRTIO_HZ_MAX_FIELDS];
    uint64_t want_seq;          /* of the declaration they are for */
} HzDecl;

typedef struct {
    uint64_t frames_in, frames_out, garbage, strangers, refused, throttled, sessions;
} HzVmCounters;

struct HzVm {
    HzHost *host;
    char *name;
    const HzConfigVm *conf;     /* the present configuration's */
    HzMode mode;                /* set-mode's override; UNSET: the configuration's */
    int listen_fd;
    guint listen_source;
    GPtrArray *links;           /* HzLink, owned */
    HzLink *link;               /* the one that speaks for the VM, or NULL */
    GPtrArray *vmms;            /* HzVmm, one a qmp= path */
    unsigned session;           /* rises with every WELCOME */
    gboolean synced;            /* this session's whole board has been told */
    uint16_t run_state;         /* HZ_RUN_* */
    struct hz_hello hello;      /* of the link in force, or the last one */
    struct hz_status status;
    GPtrArray *decls;           /* HzDecl, owned, by subject */
    GPtrArray *notices;         /* HzNotice, owned, oldest first */
    uint64_t reset_until;       /* declarations lost to a reset count until then */
    uint64_t lost_at;           /* the link in force was lost at; 0: it's there, or never was */
    guint hold_timer;           /* the end of a grace */
    gboolean released;          /* taken out of hz's hands until the next reload or set-mode */
    GArray *pauses;             /* uint64_t wall ns of pauses taken in the last hour */
    HzVmCounters counters;
};

HzVm *hz_vm_new(HzHost *host, const HzConfigVm *conf, GError **error);
void hz_vm_free(HzVm *vm);

/* The mode in force for an actuator's (or, NULL, hzd's own) acts on this VM. */
HzMode hz_vm_mode(const HzVm *vm, const char *actuator);

/* The declaration on a subject that counts now (graces included); NULL when there's none. */
const HzDecl *hz_vm_decl(const HzVm *vm, const char *subject);
/* An integer field of it. */
bool hz_vm_declared(const HzVm *vm, const char *subject, uint16_t field, uint64_t *value);

/* What the link brings. A record that makes no sense is -EPROTO: the link is closed. */
void hz_vm_session(HzVm *vm, const struct hz_hello *hello);
int hz_vm_record(HzVm *vm, const struct hz_rec *rec);
void hz_vm_sync(HzVm *vm);
void hz_vm_runstate(HzVm *vm, uint16_t run_state);
void hz_vm_refused(HzVm *vm, uint64_t cookie, const struct hz_refused *refused);
void hz_vm_lost(HzVm *vm, gboolean bye);

/* What is still to be told: write the next frame. Its length, 0 when nothing is dirty. */
int hz_vm_next_frame(HzVm *vm, void *buf, size_t cap);

/* For the control socket. */
JsonArray *hz_vms_json(HzHost *host);
JsonObject *hz_vm_json(HzVm *vm);           /* everything: links, declarations with verdicts, notices, nics */

#endif /* HZ_HZD_VM_H */
