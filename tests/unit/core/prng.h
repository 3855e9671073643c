/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that are the same on every machine (splitmix64).
 */
#ifndef HZ_TESTS_PRNG_H
#define HZ_TESTS_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct prng {
    uint64_t state;
};

static inline uint64_t prng_next(struct prng *p)
{
    uint64_t z = p->state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

/* 0..n-1 */
static inline uint64_t prng_below(struct prng *p, uint64_t n)
{
    return prng_next(p) % n;
}

static inline bool prng_chance(struct prng *p, unsigned percent)
{
    return prng_below(p, 100) < percent;
}

#endif
