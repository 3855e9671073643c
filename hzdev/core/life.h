/* SPDX-License-Identifier: MIT */
/*
 * hz life: the life of one notice on one VM, as a pure state machine.
 *
 *   advised -> scheduled -> started -> completed
 *        \____________\________\-----> cancelled, superseded
 *
 * The caller brings events with the time on a clock of its own and does what
 * comes back: tell the board, begin the impact. The machine knows what is
 * legal, when an impact may begin, and how far a deadline can be moved.
 */
#ifndef HZ_CORE_LIFE_H
#define HZ_CORE_LIFE_H

#include "wire.h"

#define HZ_LIFE_NEVER UINT64_MAX        /* no such point in time */

#define HZ_LIFE_MOVES 256               /* no guest rings itself for ever by a nanosecond more */

struct hz_life {
    uint8_t state, ack;                 /* VIRTIO_HZ_STATE_*, VIRTIO_HZ_ACK_* */
    uint16_t kind;
    uint32_t revision;
    uint64_t not_before;                /* points on the caller's clock; 0: at any time */
    uint64_t deadline;                  /* HZ_LIFE_NEVER: none, or not known */
    uint64_t extend_left;               /* by how much EXTEND may still move the deadline */
    uint16_t moves;                     /* times the guest moved them, at most HZ_LIFE_MOVES */
    uint32_t replied;                   /* bit 1 << reply, to this revision */
    bool impact;                        /* begins by itself at PREPARED or the deadline */
    bool test;                          /* ends by itself at the answer it asks for */
    bool extended;                      /* a deadline was moved for the guest */
    bool lapsed;                        /* … and came without PREPARED */
    uint16_t closed_cause;              /* VIRTIO_HZ_CAUSE_* of a cancellation, NONE else */
};

enum hz_life_event {
    HZ_LIFE_REPLY,                      /* arg: VIRTIO_HZ_REPLY_*, ns: its argument */
    HZ_LIFE_TICK,                       /* time has passed */
    HZ_LIFE_SCHEDULE,                   /* advised becomes scheduled */
    HZ_LIFE_START,                      /* by the orchestrator, whatever the guest said */
    HZ_LIFE_COMPLETE,
    HZ_LIFE_CANCEL,                     /* arg: VIRTIO_HZ_CAUSE_* */
    HZ_LIFE_SUPERSEDE,
};

struct hz_life_input {
    enum hz_life_event event;
    uint16_t arg;
    uint64_t ns;
    uint64_t now;
};

struct hz_life_output {
    bool changed;                       /* what the guest is told differs: tell the board */
    bool start;                         /* the impact begins now */
    bool closed;                        /* just closed */
    bool early;                         /* it began because the guest was prepared */
    uint64_t granted;                   /* of an EXTEND, ns; less than asked when cut */
    const char *why;                    /* one clause to log; never NULL */
};

/*
 * Bring one event. 0; -EINVAL: no such event, reply or cause; -EALREADY: it
 * is so already (nothing to do, a repeat succeeds); -EPERM: not from this
 * state. @out is always filled.
 */
int hz_life_step(struct hz_life *l, const struct hz_life_input *in, struct hz_life_output *out);

/* When to bring the next TICK; HZ_LIFE_NEVER when time changes nothing. */
uint64_t hz_life_next(const struct hz_life *l);

/* A kind whose notices end in an impact on the VM (PAUSE, REBOOT, MOVE, RECLAIM, TERMINATE). */
bool hz_life_impact(uint16_t kind);

#endif /* HZ_CORE_LIFE_H */
