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

#include "bucket.h"
#include "hzd.h"
#include "vmm/vmm.h"

/* One declaration as the board has it. */
typedef struct {
    uint8_t subject[VIRTIO_HZ_KEY_LEN];     /* zero ended */
    struct hz_declaration d;
    /* what the vocabulary alone says of each field; PENDING: it counts */
    unsigned judged;
    struct hz_verdict judge[VIRTIO_HZ_MAX_FIELDS];
    unsigned session;           /* the session that told it last */
    uint64_t gone_at;           /* withdrawn or lost at; 0: it stands */
    uint64_t decided_seq;       /* the sequence that the last decision saw */
    struct hz_set_verdicts want;    /* the column hzd wants beside it; seq 0: none yet */
    struct hz_set_verdicts sent;    /* the one the device was sent, or showed at HELLO */
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
    gboolean has_hello;
    gboolean session_done;      /* some session's whole board has been told since hzd started */
    gboolean synced;            /* this session's whole board has been told */
    uint16_t run_state;         /* HZ_RUN_* */
    struct hz_hello hello;      /* of the link in force, or the last one */
    struct hz_status status;
    gboolean status_seen;
    unsigned status_session;
    GPtrArray *decls;           /* HzDecl, owned, by subject */
    GPtrArray *notices;         /* HzNotice, owned, oldest first */
    uint64_t reset_until;       /* declarations lost to a reset count until then */
    uint64_t lost_at;           /* the link in force was lost at; 0: it's there, or never was */
    HzTimer *hold;              /* the end of a grace */
    gboolean released;          /* taken out of hz's hands until the next reload or set-mode */
    GArray *pauses;             /* gint64 wall µs of pauses taken in the last hour */
    gboolean new_generation, migrated;  /* at this session's HELLO */
    HzBucket kicks;             /* changes that may make hzd decide at once */
    uint64_t hello_serial;
    guint refused_hash;         /* of the last refusal written, and when */
    uint64_t refused_at;
    HzBucket written_decls, written_links, written_replies;     /* lines it may cause */
    uint64_t unwritten;         /* those that it caused beyond */
    HzVmCounters counters;
};

HzVm *hz_vm_new(HzHost *host, const HzConfigVm *conf, GError **error);
void hz_vm_free(HzVm *vm);

/* The mode in force for an actuator's (or, NULL, hzd's own) acts on this VM. */
HzMode hz_vm_mode(const HzVm *vm, const char *actuator);

/* The declaration on a subject that counts now (graces included); NULL when there's none. */
HzDecl *hz_vm_decl(const HzVm *vm, const char *subject);
/* An integer field of it; @subject NULL: of all that carry it, merged as the vocabulary says. */
bool hz_vm_declared(const HzVm *vm, const char *subject, uint16_t field, uint64_t *value);
/* … of one declaration: fields that the vocabulary rejects don't count. */
bool hz_decl_u64(const HzDecl *decl, uint16_t field, uint64_t *value);
/* N of the subject "nic/N"; UINT_MAX when that's no number. */
unsigned hz_subject_nic(const HzDecl *decl);
/* Did it declare this job (16 bytes)? */
bool hz_vm_in_job(const HzVm *vm, const uint8_t job[VIRTIO_HZ_UUID_LEN]);
/* Let go of what no grace holds any more; true when something went. */
bool hz_vm_expire(HzVm *vm);
/* Something about it changed: decide, as soon as its share of decisions allows. */
void hz_vm_kick(HzVm *vm);

/*
 * What the link brings. A record that makes no sense is answered by what is
 * wrong with it, else NULL.
 */
void hz_vm_session(HzVm *vm, const struct hz_hello *hello);
const char *hz_vm_record(HzVm *vm, const struct hz_rec *rec);
void hz_vm_sync(HzVm *vm);
void hz_vm_runstate(HzVm *vm, uint16_t run_state);
void hz_vm_refused(HzVm *vm, uint64_t cookie, const struct hz_refused *refused);
void hz_vm_lost(HzVm *vm, gboolean bye);

/* What is still to be told: write the next frame. Its length, 0 when nothing is dirty. */
int hz_vm_next_frame(HzVm *vm, void *buf, size_t cap);

/* The configuration was replaced: @conf is this VM's in the new one. */
void hz_vm_reconfigure(HzVm *vm, const HzConfigVm *conf);
unsigned hz_vm_pauses_last_hour(HzVm *vm);

/* For the control socket. */
JsonArray *hz_vms_json(HzHost *host);
/* Everything: links, declarations with verdicts, notices, nics. */
JsonObject *hz_vm_json(HzVm *vm);

#endif /* HZ_HZD_VM_H */
