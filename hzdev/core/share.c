/* SPDX-License-Identifier: MIT */
/*
 * hz share: water-filling in whole numbers.
 *
 * First the level of the real-valued solution: takers in the order in which
 * they fill up; those still open share what is left by weight. Everybody gets
 * the whole part of that, which is all things up to the level's price. Fewer
 * things than open takers remain; a heap of next prices gives them out.
 */
#include "share.h"

#include <stdbool.h>
#include <stdlib.h>

typedef unsigned __int128 u128;

static void swap(struct hz_taker *a, struct hz_taker *b)
{
    struct hz_taker t = *a;

    *a = *b;
    *b = t;
}

/* Who is full at the lower level comes first; those who take nothing, before all. */
static int by_level(const void *pa, const void *pb)
{
    const struct hz_taker *a = pa, *b = pb;
    u128 x = (u128)a->room * b->weight;
    u128 y = (u128)b->room * a->weight;

    if (!a->weight || !b->weight) {
        x = a->weight;
        y = b->weight;
    }
    return x < y ? -1 : x > y;
}

/* Does @a's next thing go out before @b's? */
static bool cheaper(const struct hz_taker *a, const struct hz_taker *b)
{
    u128 x = (u128)(a->got + 1) * b->weight;
    u128 y = (u128)(b->got + 1) * a->weight;

    return x < y || (x == y && a->id < b->id);
}

static void sift_down(struct hz_taker *heap, size_t n, size_t i)
{
    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child < n && child <= 2 * i + 2; child++) {
            if (cheaper(&heap[child], &heap[least])) {
                least = child;
            }
        }
        if (least == i) {
            return;
        }
        swap(&heap[i], &heap[least]);
        i = least;
    }
}

/* One at a time to the cheapest of the open takers @t. What is left. */
static uint64_t give_singly(uint64_t things, struct hz_taker *t, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) {
        sift_down(t, n, i);
    }
    for (; things && n; things--) {
        if (++t[0].got == t[0].room) {
            swap(&t[0], &t[--n]);
        }
        sift_down(t, n, 0);
    }
    return things;
}

uint64_t hz_share(uint64_t things, struct hz_taker *takers, size_t n)
{
    u128 weights = 0;
    uint64_t left = things;
    size_t i;

    for (i = 0; i < n; i++) {
        takers[i].got = 0;
        /* More room than there is of anything is the same as just that much. */
        takers[i].room = takers[i].room < things ? takers[i].room : things;
        weights += takers[i].weight;
    }
    qsort(takers, n, sizeof(takers[0]), by_level);
    for (i = 0; i < n; i++) {
        if (!takers[i].weight) {
            continue;
        }
        if (takers[i].room * weights > (u128)left * takers[i].weight) {
            break;
        }
        takers[i].got = takers[i].room;
        left -= takers[i].room;
        weights -= takers[i].weight;
    }
    takers += i;
    n -= i;
    things = left;
    for (i = 0; i < n; i++) {
        takers[i].got = (uint64_t)((u128)things * takers[i].weight / weights);
        left -= takers[i].got;
    }
    return give_singly(left, takers, n);
}
