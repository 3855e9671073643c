/* SPDX-License-Identifier: MIT */
/* hz board: its inside, shared by board.c, board-request.c and board-state.c. */
#ifndef HZ_CORE_BOARD_INT_H
#define HZ_CORE_BOARD_INT_H

#include "board.h"

/* A slot is free (version 0), standing, or a tombstone. */
struct slot {
    uint64_t version;           /* of the board, when it last changed */
    bool gone;
    uint8_t key[VIRTIO_HZ_KEY_LEN];
};

struct decl_slot {
    struct slot s;
    struct hz_declaration d;
};

/* Points in time of @n are absolute here: NS_NONE, NS_UNKNOWN or a clock reading. */
struct notice_slot {
    struct slot s;
    struct hz_notice n;
};

struct hz_board {
    struct hz_board_limits limits;
    uint64_t disruption;
    uint64_t version;           /* newest given out */
    uint64_t seq;               /* newest declaration's */
    uint64_t floor;             /* version of the newest forgotten tombstone */
    uint64_t status_version;
    struct hz_status status;
    uint64_t refusals;          /* requests answered with an error since it was made */
    bool loaded;                /* a load that hz_board_retell() hasn't told yet */
    struct decl_slot decl[VIRTIO_HZ_MAX_DECLARATIONS];
    struct notice_slot notice[VIRTIO_HZ_MAX_NOTICES];
};

static inline bool slot_standing(const struct slot *s)
{
    return s->version && !s->gone;
}

/* Give the slot a new version: every view of the board will tell it. */
void hz_slot_touch(struct hz_board *b, struct slot *s);
/* Leave a tombstone. */
void hz_slot_bury(struct hz_board *b, struct slot *s);

struct decl_slot *hz_board_find_decl(struct hz_board *b, const uint8_t key[VIRTIO_HZ_KEY_LEN]);
struct notice_slot *hz_board_find_notice(struct hz_board *b, const uint8_t id[VIRTIO_HZ_UUID_LEN]);
/* The slot for a new entry of this key: its tombstone, a free one, or the oldest tombstone; NULL: full. */
struct decl_slot *hz_board_new_decl(struct hz_board *b, const uint8_t key[VIRTIO_HZ_KEY_LEN]);
/* Likewise; when it's full the oldest closed notice makes room. */
struct notice_slot *hz_board_new_notice(struct hz_board *b, const uint8_t id[VIRTIO_HZ_UUID_LEN]);
/* The standing slot with the lowest version, if that is at most @until. */
struct slot *hz_board_oldest(struct hz_board *b, uint64_t until);

void hz_status_touch(struct hz_board *b);
/* Empty declarations and replies; did anything go? */
bool hz_board_empty(struct hz_board *b, bool declarations, bool replies);
void hz_board_forget_verdicts(struct hz_board *b);

#endif /* HZ_CORE_BOARD_INT_H */
