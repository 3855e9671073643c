/* SPDX-License-Identifier: MIT */
/*
 * hz board: both tables of one VM, bounded and versioned.
 *
 * The board is state, everything else a view of it. Each entry carries the
 * board version at which it last changed. The bell, the link to the daemon
 * and a driver's READ are one operation: "what is newer than V", told by a
 * cursor. So a burst of changes to one entry is told once, a lost bell loses
 * nothing, and no queue exists that a peer could make grow.
 *
 * Versions only rise. After a load of state every entry is given a new one,
 * the status entry first: a change of disruption is told before anything else.
 *
 * A withdrawn or dropped entry leaves a tombstone (GONE) until its slot is
 * needed. Whoever may have missed a forgotten tombstone is told the whole
 * board again, beginning with a STATUS record flagged FULL.
 *
 * Points in time are @now + remaining on a clock of the caller's (the device
 * uses the host's CLOCK_BOOTTIME, in ns); the board itself reads none.
 */
#ifndef HZ_CORE_BOARD_H
#define HZ_CORE_BOARD_H

#include "wire.h"

struct hz_board;

struct hz_board_limits {
    uint16_t declarations;      /* 1..VIRTIO_HZ_MAX_DECLARATIONS */
    uint16_t notices;           /* 1..VIRTIO_HZ_MAX_NOTICES */
    uint16_t doc;               /* 64..VIRTIO_HZ_MAX_DOC bytes, a multiple of 4 */
};

/* A new, empty board; NULL when a limit is out of range or memory is out. Owned by the caller. */
struct hz_board *hz_board_new(const struct hz_board_limits *limits,
                              const uint8_t generation[VIRTIO_HZ_UUID_LEN]);
void hz_board_free(struct hz_board *b);

/* -- what it is --------------------------------------------------------- */

uint64_t hz_board_version(const struct hz_board *b);
uint64_t hz_board_disruption(const struct hz_board *b);
const uint8_t *hz_board_generation(const struct hz_board *b);
unsigned hz_board_declarations(const struct hz_board *b);   /* standing ones */
unsigned hz_board_notices(const struct hz_board *b);        /* standing ones, closed included */
unsigned hz_board_open_notices(const struct hz_board *b);
uint64_t hz_board_refusals(const struct hz_board *b);       /* requests answered with an error */
const struct hz_board_limits *hz_board_limits(const struct hz_board *b);

/* -- the guest's side --------------------------------------------------- */

/*
 * Answer one request frame (DECLARE, WITHDRAW, REPLY, READ) of @len bytes at
 * @req, which must be the caller's own copy. Writes the response frame into
 * @rsp (@cap >= sizeof(struct virtio_hz_response); READ uses up to
 * VIRTIO_HZ_MAX_RESPONSE) and returns its length. Every well-formed but wrong
 * request is answered with a status. -E_INVAL when there is no whole request
 * header or @cap is too small for a response: nothing can be answered.
 * Unchanged repeats (same reply, same document) succeed and ring nothing.
 */
int hz_board_request(struct hz_board *b, const void *req, size_t len,
                     void *rsp, size_t cap, uint64_t now);

/* Driver reset: declarations and replies go, notices stay, resets + 1 (when there was anything to lose). */
void hz_board_reset(struct hz_board *b);

/* -- the provider's side ------------------------------------------------ */

/*
 * Insert or replace one notice (its reply column is ignored; replies stay
 * when the revision is unchanged and are cleared when it rises). Always told
 * anew, so the provider sees that it arrived. A closed entry is evicted,
 * oldest first, when the table is full. 0, -E_NOSPC (all open), -E_INVAL
 * (another kind or document at the same revision and state), -E_VOID (revision,
 * or state at the same revision, below the standing one; a closed notice
 * reopened), -E_TOOBIG.
 */
int hz_board_set_notice(struct hz_board *b, const struct hz_notice *n, uint64_t now);
int hz_board_drop_notice(struct hz_board *b, const uint8_t id[VIRTIO_HZ_UUID_LEN]);

/* 0; -E_NOENT; -E_STALE when @v->seq is not the standing declaration's. */
int hz_board_set_verdicts(struct hz_board *b, const struct hz_set_verdicts *v);

/* The provider came or went. */
void hz_board_set_provider(struct hz_board *b, bool present);

/* -- telling ------------------------------------------------------------ */

struct hz_cursor {              /* zero: before everything */
    uint64_t disruption;
    uint64_t version;           /* of the newest entry told */
    uint64_t floor;             /* the board's, when this cursor last started over */
};

/* Is there an entry newer than the cursor? */
bool hz_board_news(const struct hz_board *b, const struct hz_cursor *c);

/*
 * Write the oldest entry newer than @c as one record and move @c to it.
 * Its length; 0 when there is none; when @cap is below the record but not
 * below HZ_RECORD_HEAD, the head alone, TRUNCATED; -E_SMALL below that (the
 * cursor stays). A new cursor, one of another disruption and one that may have
 * missed a tombstone start over: STATUS flagged FULL, then every entry.
 */
int hz_board_next(const struct hz_board *b, struct hz_cursor *c,
                  void *buf, size_t cap, uint64_t now);

/*
 * After a stop of @pause_ns (VIRTIO_HZ_NS_UNKNOWN): tell the status, with
 * reason PAUSE unless a load is still untold, then every open notice again.
 */
void hz_board_retell(struct hz_board *b, uint64_t pause_ns);

/* -- state -------------------------------------------------------------- */

#define HZ_BOARD_STATE_VERSION 1
#define HZ_BOARD_STATE_MAX (128 * 1024)     /* no saved board is larger */

/* Pack the board. Bytes written, or -E_TOOBIG. Points in time are not saved. */
int hz_board_save(const struct hz_board *b, void *buf, size_t cap);

struct hz_board_loaded {        /* how the state is to be taken up */
    const uint8_t *generation;  /* the launcher's, or NULL: the saved one goes on */
    bool keep;                  /* declarations survive a new generation */
    uint16_t reason;            /* VIRTIO_HZ_WHY_*, when known */
};

/*
 * Replace the board by a saved one: disruption + 1, every remainder unknown,
 * every entry told anew; verdicts go, they were another host's to give. With
 * another generation also: open notices are cancelled (cause GENERATION),
 * replies are void, declarations go unless @keep. The bytes are hostile: any count, length, enumeration, order or
 * name that this board could not have saved is refused (-E_INVAL; -E_NOSPC or
 * -E_TOOBIG when it exceeds this board's limits; -E_UNSUPP for a newer format)
 * and the board is as it was. *@why is set to a sentence naming the offence.
 */
int hz_board_load(struct hz_board *b, const void *buf, size_t len,
                  const struct hz_board_loaded *how, const char **why);

#endif /* HZ_CORE_BOARD_H */
