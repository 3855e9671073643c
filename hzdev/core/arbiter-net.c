/* SPDX-License-Identifier: MIT */
/*
 * hz arbiter: bandwidth on one uplink.
 *
 * Three rounds, each giving out what the one before left:
 *   1. a trickle to everybody, so that no guest falls off the network;
 *   2. the minimums, by priority from the highest; the class in which they no
 *      longer fit shares what there is in proportion;
 *   3. the rest by weight, up to each maximum.
 * In each round a NIC gets no more when another one asks for less, and no less
 * when it asks for more: that is the liar bound.
 */
#include "decide.h"
#include "share.h"
#include "vocabulary.h"

#include <errno.h>
#include <stdlib.h>

/* What keeps ARP, DHCP and a login alive: 100 kbit/s, of all NICs never above a tenth. */
#define TRICKLE 12500
#define TRICKLE_SHARE 10

/* A burst covers one timer tick of the slowest common kernel (250 Hz) and two full frames. */
#define TICKS_PER_S 250
#define BURST_MIN 4096
/* A tenth of a second's worth is the most a guest may store up; small rates get one big segment. */
#define BURST_PER_S 10
#define BURST_MAX_MIN 65536

/* What one NIC may ask, once the operator's word has been heard. */
struct claim {
    bool asks;                  /* a declaration stands that means something */
    bool bad_pair;              /* min above max: neither counts */
    bool bad_max, bad_weight;   /* 0 */
    uint64_t trickle;
    uint64_t min, max;          /* in force before contention, at most the capacity */
    uint64_t weight;
    uint8_t priority;
    uint64_t got;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void claim_of(const struct hz_world_nic *nic, uint64_t capacity, uint64_t trickle,
                     struct claim *c)
{
    bool min, max;

    *c = (struct claim) {
        .bad_max = nic->has_max && !nic->max,
        .bad_weight = nic->has_weight && !nic->weight,
    };
    c->bad_pair = nic->has_min && nic->has_max && !c->bad_max && nic->min > nic->max;
    min = nic->has_min && !c->bad_pair;
    max = nic->has_max && !c->bad_pair && !c->bad_max;
    c->asks = nic->declared && nic->shapeable &&
              (min || max || nic->has_burst || nic->has_priority ||
               (nic->has_weight && !c->bad_weight));
    c->max = least(max ? least(nic->max, nic->ent_max) : nic->ent_max, capacity);
    c->min = min ? least(least(nic->min, nic->ent_min), c->max) : 0;
    c->weight = nic->has_weight && !c->bad_weight ? least(nic->weight, nic->ent_weight)
                                                  : nic->ent_weight;
    c->priority = nic->has_priority ? (uint8_t)least(nic->priority, nic->ent_priority)
                                    : nic->ent_priority;
    c->trickle = least(trickle, c->max);
    c->got = c->trickle;
}

/* -- rounds ------------------------------------------------------------- */

/* What the minimum still wants after the trickle. */
static uint64_t wants(const struct claim *c)
{
    return c->min > c->trickle ? c->min - c->trickle : 0;
}

static uint64_t share_out(uint64_t things, struct hz_taker *t, size_t n, struct claim *claims)
{
    uint64_t left = hz_share(things, t, n);

    for (size_t i = 0; i < n; i++) {
        claims[t[i].tag].got += t[i].got;
    }
    return left;
}

/* The second round's takers: highest priority first. */
struct ranked {
    uint8_t priority;
    struct hz_taker taker;
};

static int by_priority(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;

    return (int)b->priority - (int)a->priority;
}

static uint64_t give_minimums(uint64_t left, const struct hz_world_nic *nics,
                              struct claim *claims, size_t n,
                              struct ranked *ranked, struct hz_taker *takers)
{
    size_t wanting = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t w = wants(&claims[i]);

        if (nics[i].shapeable && w) {
            ranked[wanting++] = (struct ranked) {
                .priority = claims[i].priority,
                .taker = { .id = nics[i].id, .weight = w, .room = w, .tag = i },
            };
        }
    }
    qsort(ranked, wanting, sizeof(ranked[0]), by_priority);
    for (size_t first = 0, end; first < wanting; first = end) {
        for (end = first; end < wanting && ranked[end].priority == ranked[first].priority; end++) {
            takers[end - first] = ranked[end].taker;
        }
        left = share_out(left, takers, end - first, claims);
    }
    return left;
}

static void give_rest(uint64_t left, const struct hz_world_nic *nics,
                      struct claim *claims, size_t n, struct hz_taker *takers)
{
    size_t taking = 0;

    for (size_t i = 0; i < n; i++) {
        if (nics[i].shapeable) {
            takers[taking++] = (struct hz_taker) {
                .id = nics[i].id, .weight = claims[i].weight,
                .room = claims[i].max - claims[i].got, .tag = i,
            };
        }
    }
    share_out(left, takers, taking, claims);
}

/* -- telling ------------------------------------------------------------ */

static void accept(struct hz_verdict *v, uint64_t asked, uint64_t in_force, uint8_t reason)
{
    v->code = VIRTIO_HZ_VERDICT_ACCEPTED;
    if (asked != in_force) {
        v->code = VIRTIO_HZ_VERDICT_CLAMPED;
        v->reason = reason;
        v->value = in_force;
    }
}

static void reject(struct hz_verdict *v, uint8_t reason)
{
    v->code = VIRTIO_HZ_VERDICT_REJECTED;
    v->reason = reason;
}

static void tell_datapath(const struct hz_world_nic *nic, struct hz_plan_nic *out)
{
    const bool has[] = {
        nic->has_min, nic->has_max, nic->has_burst, nic->has_weight, nic->has_priority
    };
    struct hz_verdict *const v[] = {
        &out->min_v, &out->max_v, &out->burst_v, &out->weight_v, &out->priority_v
    };

    for (size_t i = 0; i < sizeof(has) / sizeof(has[0]); i++) {
        if (has[i]) {
            v[i]->code = VIRTIO_HZ_VERDICT_UNSUPPORTED;
            v[i]->reason = VIRTIO_HZ_REASON_DATAPATH;
        }
    }
}

static void tell_range(const struct hz_world_nic *nic, const struct claim *c,
                       struct hz_plan_nic *out)
{
    if (c->bad_pair) {
        reject(&out->min_v, VIRTIO_HZ_REASON_CONFLICT);
        reject(&out->max_v, VIRTIO_HZ_REASON_CONFLICT);
        return;
    }
    if (nic->has_min) {
        uint64_t granted = least(nic->min, least(nic->ent_min, nic->ent_max));

        if (out->shape && out->min_in_force < granted) {
            accept(&out->min_v, nic->min, out->min_in_force, VIRTIO_HZ_REASON_CONTENTION);
        } else {
            accept(&out->min_v, nic->min, granted, VIRTIO_HZ_REASON_ENTITLEMENT);
        }
    }
    if (c->bad_max) {
        reject(&out->max_v, VIRTIO_HZ_REASON_BOUNDS);
    } else if (nic->has_max) {
        accept(&out->max_v, nic->max, least(nic->max, nic->ent_max),
               VIRTIO_HZ_REASON_ENTITLEMENT);
    }
}

static void tell_rank(const struct hz_world_nic *nic, const struct claim *c,
                      struct hz_plan_nic *out)
{
    if (c->bad_weight) {
        reject(&out->weight_v, VIRTIO_HZ_REASON_BOUNDS);
    } else if (nic->has_weight) {
        accept(&out->weight_v, nic->weight, c->weight, VIRTIO_HZ_REASON_ENTITLEMENT);
    }
    if (nic->has_priority) {
        accept(&out->priority_v, nic->priority, c->priority, VIRTIO_HZ_REASON_ENTITLEMENT);
    }
}

/* Below what the rate needs a burst would only lose rate: it is raised, and that is said. */
static void set_burst(const struct hz_world_nic *nic, struct hz_plan_nic *out)
{
    uint64_t need = most(out->rate / TICKS_PER_S, BURST_MIN);
    uint64_t limit = most(out->rate / BURST_PER_S, BURST_MAX_MIN);

    out->burst = need;
    if (nic->has_burst) {
        out->burst = least(most(nic->burst, need), limit);
        accept(&out->burst_v, nic->burst, out->burst,
               nic->burst < need ? VIRTIO_HZ_REASON_BOUNDS : VIRTIO_HZ_REASON_ENTITLEMENT);
    }
}

static enum hz_rule rule_of(const struct hz_world_nic *nic, const struct claim *c,
                            const struct hz_plan_nic *out)
{
    bool own_max = nic->has_max && !c->bad_pair && !c->bad_max && nic->max <= nic->ent_max;

    if (c->got < c->min) {
        return HZ_RULE_MIN_CUT;
    }
    if (own_max && c->got == nic->max) {
        return HZ_RULE_MAX;
    }
    if (c->got == nic->ent_max) {
        return HZ_RULE_ENTITLEMENT;
    }
    return c->got == out->min_in_force ? HZ_RULE_MIN : HZ_RULE_SHARE;
}

static void blank(const struct hz_world_nic *nic, struct hz_plan_nic *out)
{
    *out = (struct hz_plan_nic) {
        .id = nic->id,
        .rate = HZ_RATE_NONE,
        .rule = HZ_RULE_UNSHAPED,
        .min_v.field = HZ_F_NET_MIN,
        .max_v.field = HZ_F_NET_MAX,
        .burst_v.field = HZ_F_NET_BURST,
        .weight_v.field = HZ_F_NET_WEIGHT,
        .priority_v.field = HZ_F_PRIORITY,
    };
}

/* -- the arbiter -------------------------------------------------------- */

static void share_uplink(uint64_t capacity, const struct hz_world_nic *nics,
                         struct claim *claims, size_t n, struct hz_plan_nic *out,
                         struct ranked *ranked, struct hz_taker *takers)
{
    uint64_t left = capacity;

    for (size_t i = 0; i < n; i++) {
        left -= nics[i].shapeable ? claims[i].trickle : 0;
    }
    left = give_minimums(left, nics, claims, n, ranked, takers);
    for (size_t i = 0; i < n; i++) {
        out[i].min_in_force = claims[i].got;
    }
    give_rest(left, nics, claims, n, takers);
}

static void tell(const struct hz_world_nic *nic, const struct claim *c, bool shaped,
                 struct hz_plan_nic *out)
{
    if (!nic->shapeable) {
        out->min_in_force = 0;
        tell_datapath(nic, out);
        return;
    }
    if (shaped) {
        out->shape = true;
        out->rate = c->got;
        out->rule = rule_of(nic, c, out);
        set_burst(nic, out);
    }
    tell_range(nic, c, out);
    tell_rank(nic, c, out);
}

int hz_arbiter_net(uint64_t capacity, const struct hz_world_nic *nics, size_t n,
                   struct hz_plan_nic *out)
{
    struct claim *claims = calloc(n, sizeof(*claims));
    struct ranked *ranked = calloc(n, sizeof(*ranked));
    struct hz_taker *takers = calloc(n, sizeof(*takers));
    size_t shapeable = 0;
    bool shaped = false;
    uint64_t trickle;
    int ret = -ENOMEM;

    if (n && (!claims || !ranked || !takers)) {
        goto done;
    }
    ret = -EINVAL;
    for (size_t i = 0; i < n; i++) {
        shapeable += nics[i].shapeable;
    }
    if (!capacity || capacity > HZ_CAPACITY_MAX || capacity < shapeable) {
        goto done;
    }
    trickle = shapeable ? most(least(TRICKLE, capacity / TRICKLE_SHARE / shapeable), 1) : 0;
    for (size_t i = 0; i < n; i++) {
        blank(&nics[i], &out[i]);
        claim_of(&nics[i], capacity, trickle, &claims[i]);
        shaped |= claims[i].asks;
    }
    if (shaped) {
        share_uplink(capacity, nics, claims, n, out, ranked, takers);
    }
    for (size_t i = 0; i < n; i++) {
        tell(&nics[i], &claims[i], shaped, &out[i]);
    }
    ret = 0;
done:
    free(claims);
    free(ranked);
    free(takers);
    return ret;
}
