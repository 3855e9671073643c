/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz extend: when to ask for more time, and for how much. */
#include "extend.h"

#define SECOND INT64_C(1000000000)

/* Asked for a quarter at a time: a provider is held up no longer than need be. */
static int64_t portion(int64_t max_ns)
{
    return max_ns / 4 > SECOND ? max_ns / 4 : SECOND;
}

/* How long before the deadline to ask: early enough for the answer to come back. */
static int64_t lead(int64_t max_ns)
{
    int64_t l = max_ns / 4;

    return l < SECOND / 2 ? SECOND / 2 : l > 10 * SECOND ? 10 * SECOND : l;
}

void extend_see(struct extend *e, const struct hz_ev_notice *n)
{
    if (!e->first && n->deadline > 0) {
        e->first = n->deadline;
    }
}

int64_t extend_ask(struct extend *e, const struct hz_ev_notice *n, int64_t max_ns,
                   int64_t now, int64_t *next)
{
    int64_t left;

    *next = INT64_MAX;
    if (n->state != HZ_SCHEDULED || n->deadline <= 0 || max_ns <= 0 ||
        e->asked == n->revision || now >= n->deadline) {
        return 0;
    }
    left = max_ns - (n->deadline > e->first ? n->deadline - e->first : 0);
    /* What is left after a whole grant differs from nothing by clock noise. */
    if (left < SECOND / 100) {
        return 0;
    }
    if (n->deadline - now > lead(max_ns)) {
        *next = n->deadline - lead(max_ns);
        return 0;
    }
    e->asked = n->revision;
    return n->deadline - now + (left < portion(max_ns) ? left : portion(max_ns));
}
