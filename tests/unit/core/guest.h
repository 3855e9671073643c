/* SPDX-License-Identifier: MIT */
/*
 * A guest in a few lines: makes requests of a board, reads it, keeps a copy.
 */
#ifndef HZ_TESTS_GUEST_H
#define HZ_TESTS_GUEST_H

#include "core/board.h"

struct answer {
    int len;                    /* what hz_board_request() returned */
    uint32_t status, count;
    uint16_t type, flags;
    uint64_t cookie, disruption, version, floor, seq;
    uint8_t bytes[VIRTIO_HZ_MAX_RESPONSE];
};

struct answer guest_ask(struct hz_board *b, const void *req, size_t len, size_t cap, uint64_t now);
struct answer guest_declare(struct hz_board *b, const char *subject, uint64_t replaces,
                            const void *doc, uint16_t doc_len);
struct answer guest_withdraw(struct hz_board *b, const char *subject, uint64_t replaces);
/* To the board's own generation. */
struct answer guest_reply(struct hz_board *b, const struct hz_notice *n, uint16_t code,
                          uint64_t arg);
struct answer guest_read(struct hz_board *b, const struct hz_cursor *c, size_t cap, uint64_t now);

/* Build the frames alone: their length. */
size_t declare_frame(uint8_t *buf, const char *subject, uint64_t replaces,
                     const void *doc, uint16_t doc_len);
size_t reply_frame(uint8_t *buf, const struct hz_notice *n, const uint8_t *generation,
                   uint16_t code, uint64_t arg, const void *doc, uint16_t doc_len);

/* A copy of a board, as a reader keeps it by what it's told. */
#define MIRROR_MAX (1 + VIRTIO_HZ_MAX_DECLARATIONS + VIRTIO_HZ_MAX_NOTICES)

struct mirror {
    struct hz_cursor cursor;
    unsigned n;
    struct {
        uint16_t type;
        uint8_t key[VIRTIO_HZ_KEY_LEN];
        uint64_t version;
        size_t body_len;
        uint8_t body[VIRTIO_HZ_MAX_FRAME];
    } entry[MIRROR_MAX];
    unsigned started_over;      /* times it was told to forget everything */
};

/* Be told at most @records of what is new, as of @now. The number told; -1: what can't be. */
int mirror_update(struct mirror *m, const struct hz_board *b, unsigned records, uint64_t now);
/* The entry's place; -1. STATUS: key NULL. */
int mirror_find(const struct mirror *m, uint16_t type, const uint8_t *key);
/* Do both hold the same entries, whatever their order? */
bool mirror_same(const struct mirror *a, const struct mirror *b);

#endif
