/* SPDX-License-Identifier: MIT */
/*
 * hz decide: a pure function from the world to a plan.
 *
 * Deterministic and independent of the order of rows; O(n log n). It calls
 * one arbiter a resource; the bandwidth arbiter is arbiter-net.c.
 */
#ifndef HZ_CORE_DECIDE_H
#define HZ_CORE_DECIDE_H

#include "world.h"

#define HZ_CAPACITY_MAX (1ULL << 48)    /* bytes/s: 2 Pbit/s */

/*
 * Fill @plan->nics[0..world->n_nics). 0; -EINVAL for a NIC on an uplink that
 * isn't there, a duplicate id, an entitled maximum or weight of 0, a capacity
 * above HZ_CAPACITY_MAX or below one byte/s a NIC; -ENOMEM. Nothing a tenant
 * declares makes it fail.
 */
int hz_decide(const struct hz_world *world, struct hz_plan *plan);

/*
 * Bandwidth on one uplink. Each NIC first gets its minimum (declared, within
 * its entitlement); what is left is shared max-min by weight up to each
 * maximum. Minimums that don't all fit give way by priority, lowest first,
 * within one priority in proportion. Once any NIC on the uplink declared, all
 * shapeable opted-in NICs there get a ceiling: theirs is what keeps the
 * others' minimums true.
 *
 * Before all that everybody gets a trickle (100 kbit/s, of all together never
 * above a tenth of the capacity): no guest falls off the network because
 * others' minimums fill the uplink. min_in_force counts it.
 *
 * The burst is what the rate needs at the timer's tick (4 ms of it, at least
 * 4 KiB), or the declared one where that is more, up to 100 ms of the rate (or
 * 64 KiB).
 *
 * The liar bound (design §7): whatever the others declare, a NIC gets at
 * least what it would get if all of them declared the most they may.
 */
int hz_arbiter_net(uint64_t capacity, const struct hz_world_nic *nics, size_t n,
                   struct hz_plan_nic *out);

#endif /* HZ_CORE_DECIDE_H */
