/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd notices: the whole life of what the provider tells its guests.
 *
 * core/life decides what is legal; this file supplies time, the boards, the
 * act that a notice wraps (a PAUSE's stop and cont) and the record of it.
 * Acting on a reply is per VM: each VM has its own HzNotice, all those of one
 * cause share the ids their tenant may see.
 */
#ifndef HZ_HZD_NOTICES_H
#define HZ_HZD_NOTICES_H

#include "core/life.h"
#include "hzd.h"
#include "vmm/vmm.h"

/* What a caller asks for. Zero or NULL is "not given" unless said otherwise. */
typedef struct {
    const char *const *vms;     /* names, NULL-ended; NULL with @tenant, @job or @all */
    gboolean all;
    const char *tenant;         /* all VMs of a tenant */
    const char *job;            /* with tenant: those that declared this job (32 hex digits) */
    const char *key;            /* the caller's own; a random one is made */
    const char *cause_key;      /* one cause, one id; default: key */
    uint16_t kind;              /* HZ_KIND_* */
    int state;                  /* ADVISED or SCHEDULED; -1: SCHEDULED */
    int ack;                    /* VIRTIO_HZ_ACK_*; -1: GATE for impacts, NOTIFY else */
    uint16_t cause;             /* VIRTIO_HZ_CAUSE_* */
    uint8_t source;             /* VIRTIO_HZ_SOURCE_* */
    uint64_t not_before_ns;     /* from now */
    gboolean has_deadline;      /* else the tenant's notice-needed, else none */
    uint64_t deadline_ns;       /* from now; 0: at once */
    uint64_t duration_ns;
    int confidence;             /* permille; -1: 1000 */
    gboolean has_extend_max;
    uint64_t extend_max_ns;     /* else the tenant's extend-max within its entitlement */
    gboolean drain;             /* one of a drain's */
    gboolean test;              /* synthetic: proves the path, does nothing */
    gboolean force;             /* though max-pause or max-pauses-per-h say no */
    gboolean revise;            /* the key exists: a new revision; else a repeat changes nothing */
    const uint8_t *doc;         /* payload, a checked document */
    uint16_t doc_len;
    const char *who;            /* the caller, for the audit */
} HzNotifySpec;

struct HzNotice {
    HzVm *vm;
    struct hz_notice n;         /* exact, before redaction; times are filled in when it's sent */
    struct hz_life life;
    char *key, *cause_key;      /* NULL for one adopted from a board */
    gboolean adopted;           /* found on the board */
    gboolean foreign;           /* found there after a migration: another host's promise */
    gboolean untold;            /* the guest isn't told: not subscribed, not entitled, G0 */
    gboolean dirty;             /* the board is to be told */
    gboolean drop;              /* … that it is no more there */
    gboolean forget;            /* … nor here, once that is confirmed */
    gboolean confirmed;         /* the board has this revision and state */
    gboolean refused;           /* the device can't take it now */
    gboolean acting;            /* the wrapped act runs */
    gboolean drain;
    uint64_t cookie;            /* of the frame last sent */
    /* wall clock, µs; 0: not yet */
    uint64_t created_us, told_us, seen_us, prepared_us, started_us, closed_us;
    uint64_t stopped_ns;        /* of a PAUSE: STOP came at, hz_now() */
    int64_t stopped_wall_us;    /* … and by the hypervisor's clock; 0: not told */
    gboolean resumed;           /* RESUME has come */
    uint64_t measured_ns;
    gboolean running;           /* cont was answered */
    uint64_t act_until;         /* after a lost monitor: give up then */
    gboolean cut;               /* hzd stops: it runs again before its time */
    pid_t act_pid;              /* the process that stands still, and when it started */
    uint64_t act_start;
    char *why;                  /* the last thing worth saying about it */
    gboolean dropping;          /* DROP_NOTICE is on its way */
    uint16_t last_reply;        /* as it came */
    uint64_t last_arg;
    uint64_t timed_arg;         /* of the EXTEND or DEFER acted on last */
    unsigned board_session;     /* the session in which the board showed it; 0: never */
    uint8_t board_state;        /* as last shown */
    uint32_t board_revision;
    HzTimer *timer;             /* of its life */
    HzTimer *act_timer;         /* of its act */
    HzVmm *vmm;                 /* its act goes through this */
};

/*
 * Place one notice a VM. The answer: {"key", "notices": [{"vm", "id",
 * "state", "revision", "status", "linked", "detail"}]}, status: new, repeat,
 * revised, untold, refused, would. Error only when nothing at all could be placed.
 */
JsonObject *hz_notices_notify(HzHost *host, const HzNotifySpec *spec, GError **error);

/*
 * Which notices: by id (text of a uuid) or by the caller's key, on one VM or
 * (NULL) wherever it stands. Answer: {"notices": [{"vm", "id", "state", "detail"}]}.
 * A repeat of what already is succeeds.
 */
typedef struct {
    const char *id, *key, *vm;
    const char *who;
} HzNoticeRef;

JsonObject *hz_notices_start(HzHost *host, const HzNoticeRef *ref, GError **error);
JsonObject *hz_notices_complete(HzHost *host, const HzNoticeRef *ref, GError **error);
JsonObject *hz_notices_cancel(HzHost *host, const HzNoticeRef *ref, GError **error);

/* NULL: every VM; @cause: uuid text or the cause's key, or NULL; @open: only open ones. */
JsonArray *hz_notices_json(HzHost *host, const char *vm, const char *cause, gboolean open,
                           GError **error);
JsonObject *hz_notice_json(const HzNotice *notice);

/*
 * Drain: one cause to many VMs (spec->kind 0: RECLAIM; no VMs named: all).
 * Repeating it with the same key answers how it stands: {"key", "done", "ok",
 * "vms": [{"vm", "id", "status", "state", "linked", "untold", "deadline-ms"}]}.
 * status: waiting; failed (may still make it); prepared; unprepared (the
 * deadline came first); declined; closed; gone (the VM is); refused, untouched
 * (off, observe). done: nobody is waiting or failed; ok: and all are prepared,
 * closed or gone.
 */
JsonObject *hz_notices_drain(HzHost *host, const HzNotifySpec *spec, GError **error);

/* From the ledger. */
/* -1: one too many. */
int hz_notices_record(HzVm *vm, const struct hz_notice *n, gboolean gone);
void hz_notices_synced(HzVm *vm);
void hz_notices_refused(HzVm *vm, uint64_t cookie, const struct hz_refused *refused);
/* The VM is configured no more: nothing stays open on its board. */
void hz_notices_leave(HzVm *vm);
/* There may be room on the board again. */
void hz_notices_retry(HzVm *vm);
int hz_notices_next_frame(HzVm *vm, void *buf, size_t cap);
void hz_notice_free(HzNotice *notice);

/* A vNIC's ceiling has changed: tell the guest (E9), when it may know. 0: no ceiling. */
void hz_notices_resource_changed(HzVm *vm, unsigned nic, uint64_t old_rate, uint64_t new_rate);

/* Notices that no board carries yet, kept over a restart. */
gboolean hz_notices_save(HzHost *host, GError **error);
void hz_notices_load(HzHost *host);

#endif /* HZ_HZD_NOTICES_H */
