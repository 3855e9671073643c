/* SPDX-License-Identifier: MIT */
/*
 * libhz: a tenant's side of hz, for C programs.
 *
 * Say what your workload can live with, hear what the provider is about to
 * do, and answer it. This header is meant to be read from top to bottom.
 *
 *     struct hz *hz;
 *     struct hz_draft *d;
 *     uint64_t seq;
 *     int r = hz_open(&hz, NULL);
 *
 *     d = hz_draft_new("nic/0");
 *     if (hz_draft_set(d, "net-min", "200Mbit") < 0) {
 *         fprintf(stderr, "%s\n", hz_draft_error(d));
 *     }
 *     r = hz_declare(hz, d, HZ_REPLACE_ANY, 0, &seq);
 *
 * Errors. A function that can fail returns a negative errno; hz_strerror()
 * has the sentence. Nothing is printed and errno is not used.
 *
 * Units. A rate is bytes per second, an amount bytes, a length of time the
 * unit its field says ("max-pause" is ms) and in this header nanoseconds. A
 * point in time is nanoseconds of CLOCK_BOOTTIME in this guest.
 *
 * Ownership. What a *_new or hz_open() or hz_read() gives is yours, and ends
 * with its *_free or hz_close(). Strings returned are the library's or the
 * object's and live as long as it. NULL may be freed.
 *
 * Threads. Calls on one handle may come from any thread at any time; a draft
 * or an event belongs to one thread at a time. hz_close() is the last call.
 *
 * A declaration belongs to the handle that made it and is withdrawn when the
 * handle is closed or the process dies, unless HZ_PERSIST was given.
 */
#ifndef LIBHZ_H
#define LIBHZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HZ_ID_LEN 16            /* bytes in an id or a generation */
#define HZ_SUBJECT_LEN 32       /* bytes in a subject's name, its final zero included */

/* -- a handle ------------------------------------------------------------ */

struct hz;

/*
 * Open @device: NULL means $HZ_DEVICE, and /dev/hz where that is unset.
 * -ENOENT no such device (driver not loaded), -EACCES not in its group,
 * -ENODEV it is gone, -EPROTO it speaks another version of the interface.
 */
int hz_open(struct hz **hz, const char *device);
void hz_close(struct hz *hz);

/* For poll(): readable when hz_read() has something. Don't read or close it. */
int hz_fd(const struct hz *hz);

/*
 * Wait until hz_read() has something, at most @timeout_ms (-1: for ever).
 * 1 it has, 0 the time is over, -ENODEV the device is gone, -EINTR.
 */
int hz_wait(struct hz *hz, int timeout_ms);

/* A sentence for what a function here returned. Never NULL. */
const char *hz_strerror(int error);

/* "0.1.0" */
const char *hz_version(void);

struct hz_about {
    uint16_t protocol;          /* version of the device's protocol in use */
    bool provider;              /* somebody is listening at the other end */
    bool responder;             /* this handle answers notices (hz_claim) */
    bool responder_taken;       /* some handle does */
    uint16_t max_declarations;
    uint16_t max_notices;
    uint16_t max_doc;           /* bytes */
    uint64_t disruption;        /* +1 each time this VM's state was loaded somewhere */
    uint64_t board_version;
    uint8_t generation[HZ_ID_LEN];  /* another one: this VM was restored or cloned */
};

int hz_about(struct hz *hz, struct hz_about *about);

/* -- declaring ----------------------------------------------------------- */

/* What you are about to say on one subject: "vm", "nic/0", "job/NAME" … */
struct hz_draft;

/* NULL when memory is out; a wrong @subject is told by the next call. */
struct hz_draft *hz_draft_new(const char *subject);
void hz_draft_free(struct hz_draft *d);
const char *hz_draft_subject(const struct hz_draft *d);

/*
 * Set a field by the name `hz declare --help` lists, replacing an older
 * value. Text is as a person types it: "200Mbit", "250ms", "64MiB", "25%".
 * -EINVAL no such subject, field or value; -EDOM can't be told exactly in the
 * field's unit; -ERANGE outside the field's bounds; -EMSGSIZE no room.
 * hz_draft_error() names the thing, the value and the limit, and the nearest
 * right name for a mistyped one.
 */
int hz_draft_set(struct hz_draft *d, const char *field, const char *text);

/* The same, with a number in the field's own unit. */
int hz_draft_set_number(struct hz_draft *d, const char *field, uint64_t value);

/* A field this library may not know, as its bytes. For forwarding. */
int hz_draft_set_raw(struct hz_draft *d, uint16_t id, const void *value, uint16_t len);

/* 0, or -ENOENT when it wasn't set. */
int hz_draft_unset(struct hz_draft *d, const char *field);

/* How many fields are set. */
unsigned hz_draft_fields(const struct hz_draft *d);

/*
 * Look at all of it: is each field at home in this subject, and no minimum
 * above its maximum? 0 or -EINVAL with the first offence in hz_draft_error().
 * hz_declare() does this too.
 */
int hz_draft_check(struct hz_draft *d);

/* What the last failing call on this draft was about. "" before any. */
const char *hz_draft_error(const struct hz_draft *d);

#define HZ_REPLACE_ANY 0                /* whatever stands there */
#define HZ_REPLACE_NONE UINT64_MAX      /* nothing may stand there */

#define HZ_PERSIST (1u << 0)            /* stays when the handle is closed */

/*
 * Declare: the draft becomes the subject's whole declaration. @replaces is
 * HZ_REPLACE_* or the sequence that must stand there. *@seq (may be NULL) is
 * its sequence now; verdicts for it come by hz_read().
 * -EINVAL see hz_draft_error(), -EBUSY another open handle owns the subject,
 * -ESTALE something else stands there, -ENOSPC the board is full, -EMSGSIZE
 * larger than the device takes, -ENODEV.
 */
int hz_declare(struct hz *hz, struct hz_draft *d, uint64_t replaces,
               unsigned flags, uint64_t *seq);

/* Withdraw a subject's declaration. -ENOENT none stands, -EBUSY, -ESTALE as above. */
int hz_withdraw(struct hz *hz, const char *subject, uint64_t replaces);

/* -- hearing ------------------------------------------------------------- */

#define HZ_TIME_NONE ((int64_t)0)       /* there is no such point or length */
#define HZ_TIME_UNKNOWN ((int64_t)-1)   /* there is one, not known right now */

/* CLOCK_BOOTTIME, now. */
int64_t hz_now(void);

enum hz_event_type {
    HZ_EVENT_STATUS = 1,
    HZ_EVENT_DECLARATION,
    HZ_EVENT_NOTICE,
};

/* What about the VM itself has changed since the last status event here. */
#define HZ_CHANGED_BOARD (1u << 0)      /* the whole board follows: forget all entries */
#define HZ_CHANGED_DISRUPTION (1u << 1) /* migrated, restored: clocks and peers may have moved */
#define HZ_CHANGED_GENERATION (1u << 2) /* this is a restored or cloned VM */
#define HZ_CHANGED_REDECLARE (1u << 3)  /* declarations were emptied: declare again */
#define HZ_CHANGED_PROVIDER (1u << 4)   /* it came or went: see ->provider */
#define HZ_CHANGED_PAUSED (1u << 5)     /* the VM stood still for ->pause_ns */

struct hz_ev_status {
    unsigned changed;           /* HZ_CHANGED_*; the first event on a handle says BOARD only */
    bool provider;
    uint16_t why;               /* hz_why_name() */
    uint32_t resets;
    int64_t pause_ns;           /* how long the VM stood still at that change */
    uint64_t disruption;
    uint8_t generation[HZ_ID_LEN];
};

enum hz_verdict_code {
    HZ_PENDING = 0,             /* no answer yet */
    HZ_ACCEPTED,                /* something running acts on it */
    HZ_CLAMPED,                 /* ->verdict_value is in force */
    HZ_REJECTED,
    HZ_UNSUPPORTED,
    HZ_RECORDED,                /* valid, and nothing there uses it */
};

/* One field of a declaration, or of a notice's payload. */
struct hz_ev_field {
    uint16_t id;
    uint16_t len;
    const uint8_t *value;       /* as on the wire */
    const char *name;           /* NULL when this library doesn't know it */
    const char *text;           /* "200Mbit"; hexadecimal when not known */
    bool is_number;
    uint64_t number;            /* in the field's unit */
    /* in a declaration */
    uint8_t verdict;            /* enum hz_verdict_code */
    uint8_t reason;             /* hz_reason_name(), hz_reason_text() */
    uint64_t verdict_value;     /* CLAMPED: what is in force */
    const char *verdict_text;   /* the same, for a person; "" else */
};

struct hz_ev_declaration {
    char subject[HZ_SUBJECT_LEN];
    bool gone;                  /* withdrawn: nothing below counts */
    bool judged;                /* verdicts are for what stands, none is pending */
    uint64_t seq;
    unsigned n;
    const struct hz_ev_field *field;
};

/* The life of a notice. COMPLETED and above: it is closed. */
enum hz_notice_state {
    HZ_ADVISED = 0,
    HZ_SCHEDULED,
    HZ_STARTED,
    HZ_COMPLETED,
    HZ_CANCELLED,
    HZ_SUPERSEDED,
};

enum hz_ack {
    HZ_ACK_NONE = 0,
    HZ_ACK_NOTIFY,              /* a reply is welcome */
    HZ_ACK_GATE,                /* PREPARED starts it early; the deadline starts it anyway */
    HZ_ACK_NEGOTIATE,           /* ACCEPT, COUNTER, DECLINE count */
};

struct hz_ev_notice {
    uint8_t id[HZ_ID_LEN];      /* the same through its whole life */
    uint8_t cause_id[HZ_ID_LEN];    /* the same for all notices of one cause */
    uint8_t scope_id[HZ_ID_LEN];
    uint8_t generation[HZ_ID_LEN];  /* of the VM when this was read */
    bool gone;                  /* forgotten by the provider: only ->id counts */
    bool test;                  /* synthetic: proves the path, means nothing */
    bool lapsed;                /* an extension ran out and nobody was prepared */
    uint16_t kind;              /* hz_kind_name() */
    uint8_t state;              /* enum hz_notice_state */
    uint8_t ack;                /* enum hz_ack */
    uint8_t scope;              /* hz_scope_name() */
    uint8_t source;             /* hz_source_name() */
    uint8_t granularity;
    uint16_t confidence;        /* permille */
    uint16_t cause;             /* hz_cause_name() */
    uint32_t revision;          /* rises when its content changes; replies are to a revision */
    int64_t not_before;         /* points in time, or HZ_TIME_* */
    int64_t deadline;
    int64_t duration_ns;        /* how long the impact lasts, or HZ_TIME_* */
    uint32_t replied;           /* bit 1 << reply: this guest gave it to this revision */
    uint16_t reply;             /* the newest, enum hz_reply_code */
    uint64_t reply_arg;
    unsigned n;                 /* payload */
    const struct hz_ev_field *field;
};

struct hz_event {
    enum hz_event_type type;
    uint64_t disruption;        /* versions compare within one disruption */
    uint64_t version;
    union {
        struct hz_ev_status status;
        struct hz_ev_declaration declaration;
        struct hz_ev_notice notice;
    };
};

/*
 * The next change of the board. A new handle is first told all of it, status
 * first. Several changes of one entry may come as one event; none is lost.
 * 1 and *@event, yours to hz_event_free(); 0 nothing new (hz_wait() for it);
 * -ENODEV the device is gone; -EBADMSG a record that can't be understood was
 * skipped.
 */
int hz_read(struct hz *hz, struct hz_event **event);
void hz_event_free(struct hz_event *event);

/* Be told the whole board again. */
int hz_rewind(struct hz *hz);

/* A number in an event's fields by name; false when it isn't there. */
bool hz_number(const struct hz_ev_field *field, unsigned n, const char *name, uint64_t *value);

/*
 * A draft as the declaration it would become, with what this library can
 * judge itself: recorded, or pending where the provider has the word.
 */
int hz_draft_event(const struct hz_draft *d, struct hz_event **event);

/* Take over the fields of a declaration that the draft doesn't set itself. */
int hz_draft_merge(struct hz_draft *d, const struct hz_ev_declaration *from);

/* -- answering ----------------------------------------------------------- */

enum hz_reply_code {
    HZ_REPLY_NONE = 0,
    HZ_REPLY_SEEN,
    HZ_REPLY_PREPARED,          /* done: it may start now */
    HZ_REPLY_EXTEND,            /* @arg: ns from now until I am ready */
    HZ_REPLY_DEFER,             /* @arg: ns from now, not before */
    HZ_REPLY_ACCEPT,
    HZ_REPLY_COUNTER,           /* hz_counter() */
    HZ_REPLY_DECLINE,
    HZ_REPLY_FAILED,            /* @arg: your code */
};

/*
 * One handle in the guest answers: claim that. -EBUSY another one does. Freed
 * by hz_unclaim() and with the handle.
 */
int hz_claim(struct hz *hz);
int hz_unclaim(struct hz *hz);

/*
 * Answer a notice as it was read: its id, revision and generation count. The
 * same reply twice is one. -EPERM not the claimer, -ECANCELED the notice is
 * closed or has another revision or generation by now, -ENOENT it is gone.
 */
int hz_reply(struct hz *hz, const struct hz_ev_notice *notice,
             enum hz_reply_code code, uint64_t arg);

/* COUNTER: the fields of @d are what you would take instead. */
int hz_counter(struct hz *hz, const struct hz_ev_notice *notice, struct hz_draft *d);

/* -- names --------------------------------------------------------------- */

/* Never NULL; "?" for what this library doesn't know. */
const char *hz_kind_name(uint16_t kind);
const char *hz_state_name(uint8_t state);
const char *hz_ack_name(uint8_t ack);
const char *hz_scope_name(uint8_t scope);
const char *hz_source_name(uint8_t source);
const char *hz_cause_name(uint16_t cause);
const char *hz_reply_name(uint16_t code);
const char *hz_verdict_name(uint8_t code);
const char *hz_reason_name(uint8_t reason);
const char *hz_reason_text(uint8_t reason);
const char *hz_why_name(uint16_t why);
int hz_kind_by_name(const char *name);      /* or -EINVAL */
int hz_reply_by_name(const char *name);     /* or -EINVAL */

#ifdef __cplusplus
}
#endif

#endif /* LIBHZ_H */
