/* SPDX-License-Identifier: MIT */
/*
 * hz world and plan: what decide() is given, and what it answers.
 *
 * Plain values; the caller owns every array. A recorded world replays to the
 * same plan, whatever the order its rows stand in.
 */
#ifndef HZ_CORE_WORLD_H
#define HZ_CORE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define HZ_RATE_NONE UINT64_MAX         /* no ceiling */

/* One shared uplink of this host; each direction has this capacity. */
struct hz_world_uplink {
    uint32_t id;                /* unique */
    uint64_t capacity;          /* bytes/s that hz may give out, > 0 */
};

/* One vNIC of an opted-in VM. */
struct hz_world_nic {
    uint64_t id;                /* unique, stable: ties are broken by it */
    uint32_t uplink;
    /* the operator's entitlement */
    uint64_t ent_min;           /* bytes/s the VM may declare as its minimum */
    uint64_t ent_max;           /* bytes/s it may ever have; HZ_RATE_NONE */
    uint16_t ent_weight;        /* 1..1000: the most it may declare, and its default */
    uint8_t ent_priority;       /* 0..255: likewise; the higher keeps its minimum longer */
    bool shapeable;             /* the datapath can be shaped */
    /* the tenant's declaration */
    bool declared;              /* any net field stands */
    bool has_min, has_max, has_burst, has_weight, has_priority;
    uint64_t min, max;          /* bytes/s */
    uint64_t burst;             /* bytes */
    uint16_t weight;
    uint8_t priority;
};

struct hz_world {
    const struct hz_world_uplink *uplinks;
    size_t n_uplinks;
    const struct hz_world_nic *nics;
    size_t n_nics;
};

/* Which rule bound a NIC's rate: what `hzctl why` says. */
enum hz_rule {
    HZ_RULE_UNSHAPED,           /* nobody on the uplink declared anything, or it can't be shaped */
    HZ_RULE_MAX,                /* its own declared maximum */
    HZ_RULE_ENTITLEMENT,        /* the operator's */
    HZ_RULE_SHARE,              /* its weighted share of what the minimums left */
    HZ_RULE_MIN,                /* exactly its minimum: nothing was left to share */
    HZ_RULE_MIN_CUT,            /* less than its minimum: they didn't all fit */
};

struct hz_plan_nic {
    uint64_t id;
    bool shape;                 /* false: leave this NIC as it was before hz */
    uint64_t rate;              /* bytes/s ceiling in each direction, > 0; HZ_RATE_NONE when !shape */
    uint64_t burst;             /* bytes */
    uint64_t min_in_force;      /* the minimum it can count on now */
    enum hz_rule rule;
    /* verdicts on what was declared; code PENDING where the field wasn't */
    struct hz_verdict min_v, max_v, burst_v, weight_v, priority_v;
};

struct hz_plan {
    struct hz_plan_nic *nics;   /* as many as the world has, in the world's order */
    size_t n_nics;
};

const char *hz_rule_name(enum hz_rule rule);

#endif /* HZ_CORE_WORLD_H */
