/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd bucket: how much somebody may cause: so much at once, then so much a second.
 *
 * What a guest, a stranger or an actuator can make hzd do at will is counted
 * in one of these, so that a flood costs its sender only. Zeroed is full.
 */
#ifndef HZ_HZD_BUCKET_H
#define HZ_HZD_BUCKET_H

#include "timer.h"

typedef struct {
    double spent;
    uint64_t at;
} HzBucket;

/* Tokens there are now, at most @burst. */
static inline double hz_bucket_left(HzBucket *b, double burst, double rate)
{
    uint64_t now = hz_now();

    b->spent = MAX(0, b->spent - (double)(now - b->at) / HZ_SEC * rate);
    b->at = now;
    return burst - b->spent;
}

/* Take one; FALSE when there's none. */
static inline gboolean hz_bucket_take(HzBucket *b, double burst, double rate)
{
    if (hz_bucket_left(b, burst, rate) < 1) {
        return FALSE;
    }
    b->spent += 1;
    return TRUE;
}

/* It is owed @n: what we caused ourselves isn't at its expense. */
static inline void hz_bucket_give(HzBucket *b, double n)
{
    b->spent = MAX(0, b->spent - n);
}

#endif /* HZ_HZD_BUCKET_H */
