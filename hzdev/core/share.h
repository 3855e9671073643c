/* SPDX-License-Identifier: MIT */
/*
 * hz share: weighted max-min of a whole number of things, exactly.
 *
 * Every taker's k-th thing has a price of k / weight. Things are given out
 * in the order (price, id) until none are left, each taker up to its room.
 * That is water-filling where it divides, and where it doesn't, a rule that
 * keeps every monotony the real-valued one has: more weight, more room or
 * less of the others' never gets anybody less, not by one. Nothing depends
 * on the order the takers stand in.
 */
#ifndef HZ_CORE_SHARE_H
#define HZ_CORE_SHARE_H

#include <stddef.h>
#include <stdint.h>

#define HZ_SHARE_MAX (1ULL << 48)   /* the most things, the largest weight: products fit 128 bits */

struct hz_taker {
    uint64_t id;        /* unique among the takers */
    uint64_t weight;    /* 0..HZ_SHARE_MAX; 0: takes nothing */
    uint64_t room;      /* takes no more */
    uint64_t got;       /* out */
    size_t tag;         /* the caller's */
};

/*
 * Give out @things (at most HZ_SHARE_MAX) in O(n log n); the takers are put
 * into another order. What is left: 0 unless every taker with a weight is full.
 */
uint64_t hz_share(uint64_t things, struct hz_taker *takers, size_t n);

#endif /* HZ_CORE_SHARE_H */
