/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz extend: when to ask for more time, and for how much. */
#ifndef HZ_EXTEND_H
#define HZ_EXTEND_H

#include "hz.h"

struct extend {
    int64_t first;              /* the deadline as first told */
    uint32_t asked;             /* the revision the last request was for */
};

/* The notice, as read now, is being got ready for. */
void extend_see(struct extend *e, const struct hz_ev_notice *n);

/*
 * How long from now to ask for, 0: not now. @max_ns is what may be had beyond
 * the first deadline in all. *@next is when to look again, INT64_MAX: never.
 * An answer of the provider's is a new revision: each is asked for once.
 */
int64_t extend_ask(struct extend *e, const struct hz_ev_notice *n, int64_t max_ns,
                   int64_t now, int64_t *next);

#endif /* HZ_EXTEND_H */
