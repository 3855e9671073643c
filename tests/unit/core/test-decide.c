/* SPDX-License-Identifier: MIT */
/*
 * decide() on thousands of random worlds: what must hold in every one of
 * them, and a slow reference that gives out one byte at a time.
 *
 * test-decide [WORLDS [SEED]]
 */
#include "tap.h"
#include "worlds.h"

#include <errno.h>
#include <stdlib.h>

static unsigned long worlds = 4000;
static uint64_t seed = 1;

/* A property of one world: NULL when it holds, else what doesn't. */
typedef const char *property(struct scene *s, struct prng *p);

static void for_all(const char *what, property *holds, uint64_t scale)
{
    struct prng p = { seed };
    const char *offence = NULL;
    struct scene s;
    unsigned long i;

    for (i = 0; i < worlds && !offence; i++) {
        scene_random(&s, &p, scale);
        offence = scene_decide(&s) ? "a world was refused" : holds(&s, &p);
    }
    if (!ok(!offence, "%s (%lu worlds)", what, worlds)) {
        printf("# world %lu: %s\n", i, offence);
        scene_print(&s);
    }
}

/* -- bounds ------------------------------------------------------------- */

static const char *within_bounds(struct scene *s, struct prng *p)
{
    struct meaning m[MAX_NICS];
    unsigned __int128 sum = 0;

    (void)p;
    scene_means(s, m);
    for (size_t i = 0; i < s->n; i++) {
        const struct hz_plan_nic *o = &s->plan[i];

        if (o->id != s->nics[i].id) {
            return "not in the world's order";
        }
        if (o->shape != (scene_shaped(s) && s->nics[i].shapeable)) {
            return "shaped, or not, against the rule";
        }
        if (!o->shape) {
            if (o->rate != HZ_RATE_NONE || o->burst || o->rule != HZ_RULE_UNSHAPED) {
                return "an unshaped NIC has a rate";
            }
            continue;
        }
        if (!o->rate || o->rate > m[i].max) {
            return "rate 0 or above the maximum";
        }
        if (o->min_in_force > o->rate || o->min_in_force < m[i].trickle) {
            return "minimum in force above the rate or below the trickle";
        }
        sum += o->rate;
    }
    return sum > s->capacity ? "above the capacity" : NULL;
}

static const char *work_conserving(struct scene *s, struct prng *p)
{
    struct meaning m[MAX_NICS];
    unsigned __int128 given = 0, wanted = 0;

    (void)p;
    scene_means(s, m);
    for (size_t i = 0; i < s->n; i++) {
        if (s->plan[i].shape) {
            given += s->plan[i].rate;
            wanted += m[i].max;
        }
    }
    if (wanted > s->capacity) {
        wanted = s->capacity;
    }
    return scene_shaped(s) && wanted && given != wanted ? "bandwidth left over" : NULL;
}

static const char *bursts(struct scene *s, struct prng *p)
{
    (void)p;
    for (size_t i = 0; i < s->n; i++) {
        const struct hz_world_nic *nic = &s->nics[i];
        const struct hz_plan_nic *o = &s->plan[i];
        uint64_t tick = o->rate / 250 > 4096 ? o->rate / 250 : 4096;
        uint64_t tenth = o->rate / 10 > 65536 ? o->rate / 10 : 65536;
        uint64_t wanted = tick;

        if (!o->shape) {
            continue;
        }
        if (nic->has_burst && nic->burst > tick) {
            wanted = nic->burst < tenth ? nic->burst : tenth;
        }
        if (o->burst != wanted) {
            return "burst";
        }
    }
    return NULL;
}

/* -- fairness ----------------------------------------------------------- */

/* @i is short of its minimum. May @j have what it has? */
static const char *may_have(const struct scene *s, const struct meaning *m, size_t i, size_t j)
{
    uint64_t rate = s->plan[j].rate;
    uint64_t own = m[j].min > m[j].trickle ? m[j].min : m[j].trickle;

    if (rate > own) {
        return "one is below its minimum while another is above its own";
    }
    if (m[j].priority < m[i].priority && rate > m[j].trickle) {
        return "a lower priority kept its minimum while a higher one lost it";
    }
    return NULL;
}

static const char *minimums_first(struct scene *s, struct prng *p)
{
    struct meaning m[MAX_NICS];
    const char *offence = NULL;

    (void)p;
    scene_means(s, m);
    for (size_t i = 0; i < s->n && !offence; i++) {
        if (!s->plan[i].shape || s->plan[i].rate >= m[i].min) {
            continue;
        }
        if (s->plan[i].rule != HZ_RULE_MIN_CUT) {
            return "a cut minimum isn't called one";
        }
        for (size_t j = 0; j < s->n && !offence; j++) {
            offence = s->plan[j].shape ? may_have(s, m, i, j) : NULL;
        }
    }
    return offence;
}

/* Above the minimums: bytes a weight differ by less than one byte, unless a maximum stops one. */
static const char *shares_by_weight(struct scene *s, struct prng *p)
{
    struct meaning m[MAX_NICS];

    (void)p;
    scene_means(s, m);
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j < s->n; j++) {
            unsigned __int128 a, b;

            if (!s->plan[i].shape || !s->plan[j].shape || s->plan[i].rate == m[i].max) {
                continue;
            }
            /* @i could have taken more: nobody got a byte at a higher price than its next. */
            a = (unsigned __int128)(s->plan[i].rate - s->plan[i].min_in_force + 1) * m[j].weight;
            b = (unsigned __int128)(s->plan[j].rate - s->plan[j].min_in_force) * m[i].weight;
            if (b > a) {
                return "a share isn't by weight";
            }
        }
    }
    return NULL;
}

static uint64_t rate_or_all(const struct hz_plan_nic *o)
{
    return o->shape ? o->rate : HZ_RATE_NONE;
}

/* One NIC asks for more of something; it may not get less. */
static const char *monotone(struct scene *s, struct prng *p)
{
    struct scene more = *s;
    size_t i = prng_below(p, s->n);
    struct hz_world_nic *nic = &more.nics[i];
    const char *offence = NULL;

    switch (prng_below(p, 5)) {
    case 0:
        nic->ent_weight += 1 + prng_below(p, 40);
        offence = "more entitled weight got less";
        break;
    case 1:
        nic->weight += 1 + prng_below(p, 40);
        /* From 0, which is refused and leaves the entitled weight, any weight may be less. */
        offence = nic->has_weight && s->nics[i].weight ? "more weight got less" : NULL;
        break;
    case 2:
        nic->min += prng_below(p, 1000);
        offence = nic->has_min && nic->min <= nic->max && nic->min > s->nics[i].min
            ? "a higher minimum got less" : NULL;
        break;
    case 3:
        nic->max += 1 + prng_below(p, 1000);
        offence = nic->has_max && nic->max > s->nics[i].max && s->nics[i].max &&
                  s->nics[i].min <= s->nics[i].max
            ? "a higher maximum got less" : NULL;
        break;
    default:
        nic->priority += nic->priority < 255;
        offence = nic->has_priority ? "a higher priority got less" : NULL;
        break;
    }
    if (!offence || !scene_shaped(s) || scene_decide(&more)) {
        return NULL;
    }
    return rate_or_all(&more.plan[i]) < rate_or_all(&s->plan[i]) ? offence : NULL;
}

/* Whatever the others declare, nobody gets less than if all of them declared the most they may. */
static const char *liar_bound(struct scene *s, struct prng *p)
{
    struct scene worst = *s;
    size_t i = prng_below(p, s->n);

    for (size_t j = 0; j < s->n; j++) {
        struct hz_world_nic *nic = &worst.nics[j];

        if (j != i) {
            nic->declared = nic->has_min = nic->has_weight = nic->has_priority = true;
            nic->has_max = false;
            nic->min = nic->ent_min;
            nic->weight = nic->ent_weight;
            nic->priority = nic->ent_priority;
        }
    }
    if (scene_decide(&worst)) {
        return "a world of greedy tenants was refused";
    }
    return rate_or_all(&s->plan[i]) < rate_or_all(&worst.plan[i])
        ? "got less than if all others had declared the most" : NULL;
}

/* The same for each single liar: what one tenant declares beyond what it may buys nothing. */
static const char *beyond_buys_nothing(struct scene *s, struct prng *p)
{
    struct scene liar = *s;
    struct hz_world_nic *nic = &liar.nics[prng_below(p, s->n)];
    size_t i = (size_t)(nic - liar.nics);
    struct meaning m[MAX_NICS];

    scene_means(s, m);
    if (!m[i].asks || !nic->has_min || m[i].min < nic->ent_min) {
        return NULL;
    }
    /* It declares its whole minimum already: now a hundred times that, and every priority. */
    nic->min = nic->min > UINT64_MAX / 100 ? UINT64_MAX : nic->min * 100;
    nic->has_max = false;
    nic->has_priority = true;
    nic->priority = 255;
    liar.nics[i].weight = 65535;
    if (scene_decide(&liar)) {
        return "refused";
    }
    scene_means(&liar, m);
    return liar.plan[i].min_in_force > nic->ent_min &&
           liar.plan[i].min_in_force > m[i].trickle ? "a lie bought bandwidth" : NULL;
}

/* -- determinism -------------------------------------------------------- */

static const struct hz_plan_nic *plan_of(const struct scene *s, uint64_t id)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->plan[i].id == id) {
            return &s->plan[i];
        }
    }
    return NULL;
}

static bool same_verdict(const struct hz_verdict *a, const struct hz_verdict *b)
{
    return a->field == b->field && a->code == b->code && a->reason == b->reason &&
           a->value == b->value;
}

static bool same_plan(const struct hz_plan_nic *a, const struct hz_plan_nic *b)
{
    return a->shape == b->shape && a->rate == b->rate && a->burst == b->burst &&
           a->min_in_force == b->min_in_force && a->rule == b->rule &&
           same_verdict(&a->min_v, &b->min_v) && same_verdict(&a->max_v, &b->max_v) &&
           same_verdict(&a->burst_v, &b->burst_v) && same_verdict(&a->weight_v, &b->weight_v) &&
           same_verdict(&a->priority_v, &b->priority_v);
}

static const char *order_independent(struct scene *s, struct prng *p)
{
    struct scene shuffled = *s;

    for (size_t i = s->n; i > 1; i--) {
        size_t j = prng_below(p, i);
        struct hz_world_nic t = shuffled.nics[i - 1];

        shuffled.nics[i - 1] = shuffled.nics[j];
        shuffled.nics[j] = t;
    }
    if (scene_decide(&shuffled)) {
        return "refused in another order";
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct hz_plan_nic *o = plan_of(&shuffled, s->plan[i].id);

        if (!o || !same_plan(&s->plan[i], o)) {
            return "another order, another plan";
        }
    }
    return NULL;
}

/* -- the reference ------------------------------------------------------ */

/* The price of NIC @i's next byte when it has @got: round, then (num / den), then id. */
struct price {
    int round;
    unsigned priority;
    uint64_t num, den, id;
};

static struct price next_byte(const struct scene *s, const struct meaning *m, size_t i,
                              uint64_t got)
{
    uint64_t base = m[i].min > m[i].trickle ? m[i].min : m[i].trickle;
    struct price c = { .id = s->nics[i].id };

    if (got < m[i].trickle) {
        c.num = 0;
        c.den = 1;
    } else if (got < m[i].min) {
        c.round = 1;
        c.priority = m[i].priority;
        c.num = got + 1 - m[i].trickle;
        c.den = m[i].min - m[i].trickle;
    } else {
        c.round = 2;
        c.num = got + 1 - base;
        c.den = m[i].weight;
    }
    return c;
}

static bool cheaper(const struct price *a, const struct price *b)
{
    if (a->round != b->round) {
        return a->round < b->round;
    }
    if (a->priority != b->priority) {
        return a->priority > b->priority;
    }
    if (a->num * b->den != b->num * a->den) {
        return a->num * b->den < b->num * a->den;
    }
    return a->id < b->id;
}

static const char *as_reference(struct scene *s, struct prng *p)
{
    struct meaning m[MAX_NICS];
    uint64_t got[MAX_NICS] = { 0 };

    (void)p;
    if (!scene_shaped(s)) {
        return NULL;
    }
    scene_means(s, m);
    for (uint64_t byte = 0; byte < s->capacity; byte++) {
        struct price best = { .round = 9 };
        size_t who = MAX_NICS;

        for (size_t i = 0; i < s->n; i++) {
            struct price c = next_byte(s, m, i, got[i]);

            if (s->nics[i].shapeable && got[i] < m[i].max && cheaper(&c, &best)) {
                best = c;
                who = i;
            }
        }
        if (who == MAX_NICS) {
            break;
        }
        got[who]++;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->nics[i].shapeable && s->plan[i].rate != got[i]) {
            return "not what the reference gives";
        }
    }
    return NULL;
}

/* -- verdicts ----------------------------------------------------------- */

static bool verdict_is(const struct hz_verdict *v, unsigned code, unsigned reason, uint64_t value)
{
    return v->code == code && v->reason == reason && v->value == value;
}

/* A field declared as @asked with @entitled in force. */
static bool clamp_is(const struct hz_verdict *v, uint64_t asked, uint64_t entitled)
{
    return asked <= entitled
        ? verdict_is(v, VIRTIO_HZ_VERDICT_ACCEPTED, 0, 0)
        : verdict_is(v, VIRTIO_HZ_VERDICT_CLAMPED, VIRTIO_HZ_REASON_ENTITLEMENT, entitled);
}

static const char *range_told(const struct hz_world_nic *nic, const struct hz_plan_nic *o)
{
    uint64_t entitled = nic->ent_min < nic->ent_max ? nic->ent_min : nic->ent_max;

    if (nic->has_max && !nic->max) {
        if (!verdict_is(&o->max_v, VIRTIO_HZ_VERDICT_REJECTED, VIRTIO_HZ_REASON_BOUNDS, 0)) {
            return "a maximum of 0";
        }
    } else if (nic->has_min && nic->has_max && nic->min > nic->max) {
        return verdict_is(&o->min_v, VIRTIO_HZ_VERDICT_REJECTED, VIRTIO_HZ_REASON_CONFLICT, 0) &&
               verdict_is(&o->max_v, VIRTIO_HZ_VERDICT_REJECTED, VIRTIO_HZ_REASON_CONFLICT, 0)
            ? NULL : "a minimum above its maximum";
    } else if (nic->has_max && !clamp_is(&o->max_v, nic->max, nic->ent_max)) {
        return "maximum";
    }
    if (!nic->has_min) {
        return NULL;
    }
    if (o->shape && o->rate < nic->min && o->rate < entitled) {
        return verdict_is(&o->min_v, VIRTIO_HZ_VERDICT_CLAMPED, VIRTIO_HZ_REASON_CONTENTION,
                          o->min_in_force) && o->rate == o->min_in_force
            ? NULL : "a cut minimum";
    }
    return clamp_is(&o->min_v, nic->min, entitled) ? NULL : "minimum";
}

static const char *rank_told(const struct hz_world_nic *nic, const struct hz_plan_nic *o)
{
    if (nic->has_weight &&
        !(nic->weight ? clamp_is(&o->weight_v, nic->weight, nic->ent_weight)
                      : verdict_is(&o->weight_v, VIRTIO_HZ_VERDICT_REJECTED,
                                   VIRTIO_HZ_REASON_BOUNDS, 0))) {
        return "weight";
    }
    if (nic->has_priority && !clamp_is(&o->priority_v, nic->priority, nic->ent_priority)) {
        return "priority";
    }
    if (nic->has_burst && o->shape &&
        !(o->burst == nic->burst
              ? verdict_is(&o->burst_v, VIRTIO_HZ_VERDICT_ACCEPTED, 0, 0)
              : verdict_is(&o->burst_v, VIRTIO_HZ_VERDICT_CLAMPED,
                           o->burst > nic->burst ? VIRTIO_HZ_REASON_BOUNDS
                                                 : VIRTIO_HZ_REASON_ENTITLEMENT, o->burst))) {
        return "burst";
    }
    return NULL;
}

static const char *verdicts(struct scene *s, struct prng *p)
{
    const char *offence = NULL;

    (void)p;
    for (size_t i = 0; i < s->n && !offence; i++) {
        const struct hz_world_nic *nic = &s->nics[i];
        const struct hz_plan_nic *o = &s->plan[i];
        const struct hz_verdict *v[] = {
            &o->min_v, &o->max_v, &o->burst_v, &o->weight_v, &o->priority_v
        };
        const bool has[] = {
            nic->has_min, nic->has_max, nic->has_burst, nic->has_weight, nic->has_priority
        };

        for (size_t f = 0; f < 5; f++) {
            if (!has[f] && !verdict_is(v[f], VIRTIO_HZ_VERDICT_PENDING, 0, 0)) {
                return "a verdict on what wasn't declared";
            }
            if (has[f] && !nic->shapeable &&
                !verdict_is(v[f], VIRTIO_HZ_VERDICT_UNSUPPORTED, VIRTIO_HZ_REASON_DATAPATH, 0)) {
                return "an unshapeable NIC isn't told so";
            }
        }
        if (nic->shapeable) {
            offence = range_told(nic, o);
            offence = offence ? offence : rank_told(nic, o);
        }
    }
    return offence;
}

/* -- by hand ------------------------------------------------------------ */

static struct hz_world_nic nic(uint64_t id)
{
    return (struct hz_world_nic) {
        .id = id, .uplink = 3, .ent_min = 10000000, .ent_max = HZ_RATE_NONE,
        .ent_weight = 1, .ent_priority = 1, .shapeable = true,
    };
}

/* 80 Mbit/s: 10,000,000 bytes/s. A wants 5 at least, B 2 at most, C says nothing. */
static void demo_world(void)
{
    struct scene s = { .capacity = 10000000, .n = 3, .nics = { nic(1), nic(2), nic(3) } };

    is(scene_decide(&s), 0, "a world in which nobody declares is decided");
    ok(!s.plan[0].shape && !s.plan[1].shape && !s.plan[2].shape, "and left as it is");

    s.nics[0].declared = s.nics[0].has_min = true;
    s.nics[0].min = 5000000;
    s.nics[1].declared = s.nics[1].has_max = true;
    s.nics[1].max = 2000000;
    is(scene_decide(&s), 0, "a minimum and a maximum");
    /*
     * After A's 5,000,000 and the trickles of B and C (12,500 each) 4,975,000
     * are left, a third each is 1,658,333 and one over: it goes to the lowest id.
     */
    is(s.plan[0].rate, 6658334, "A: its minimum and a third of the rest");
    is(s.plan[1].rate, 1670833, "B: a third of the rest");
    is(s.plan[2].rate, 1670833, "C: the same");
    is(s.plan[0].rule, HZ_RULE_SHARE, "A is bound by its share");

    s.nics[1].max = 1000000;
    scene_decide(&s);
    is(s.plan[1].rate, 1000000, "B's lower maximum holds");
    is(s.plan[1].rule, HZ_RULE_MAX, "and is what bound it");
    is(s.plan[0].rate + s.plan[2].rate, 9000000, "the others get what it leaves");
}

/* Two minimums of 8,000,000 on 10,000,000, the second of a higher priority. */
static void give_way(void)
{
    struct scene s = { .capacity = 10000000, .n = 2, .nics = { nic(1), nic(2) } };

    for (int i = 0; i < 2; i++) {
        s.nics[i].declared = s.nics[i].has_min = true;
        s.nics[i].min = 8000000;
    }
    scene_decide(&s);
    is(s.plan[0].rate, 5000000, "equal priorities give way in proportion");
    is(s.plan[1].rate, 5000000, "both of them");
    ok(verdict_is(&s.plan[0].min_v, VIRTIO_HZ_VERDICT_CLAMPED, VIRTIO_HZ_REASON_CONTENTION,
                  5000000), "and are told by how much");

    s.nics[1].ent_priority = 2;
    scene_decide(&s);
    is(s.plan[1].rate, 8000000, "the higher priority keeps its minimum");
    is(s.plan[1].rule, HZ_RULE_MIN, "and no more");
    is(s.plan[0].rate, 2000000, "the lower gives way");
    is(s.plan[0].rule, HZ_RULE_MIN_CUT, "and that is what bound it");
    ok(verdict_is(&s.plan[1].min_v, VIRTIO_HZ_VERDICT_ACCEPTED, 0, 0), "one accepted");

    s.nics[0].shapeable = false;
    scene_decide(&s);
    ok(!s.plan[0].shape && verdict_is(&s.plan[0].min_v, VIRTIO_HZ_VERDICT_UNSUPPORTED,
                                      VIRTIO_HZ_REASON_DATAPATH, 0),
       "a NIC that can't be shaped is told so");
    is(s.plan[1].rate, 10000000, "the other then has the uplink");
}

static void several_uplinks(void)
{
    const struct hz_world_uplink uplinks[] = { { 9, 1000000 }, { 2, 500000 } };
    struct hz_world_nic nics[3] = { nic(5), nic(4), nic(6) };
    struct hz_plan_nic out[3];
    const struct hz_world world = { uplinks, 2, nics, 3 };
    struct hz_plan plan = { .nics = out };

    nics[0].uplink = nics[2].uplink = 9;
    nics[1].uplink = 2;
    nics[0].declared = nics[0].has_weight = true;
    nics[0].weight = 1;
    is(hz_decide(&world, &plan), 0, "two uplinks");
    is(plan.n_nics, 3, "as many lines as NICs");
    ok(out[0].id == 5 && out[1].id == 4 && out[2].id == 6, "in the world's order");
    is(out[0].rate + out[2].rate, 1000000, "one is shared out");
    ok(!out[1].shape, "the other, where nobody declared, is left alone");
}

static int decide_with(uint64_t capacity, struct hz_world_nic a, struct hz_world_nic b,
                       uint32_t second_uplink)
{
    const struct hz_world_uplink uplinks[] = { { 3, capacity }, { second_uplink, 1000 } };
    const struct hz_world_nic nics[] = { a, b };
    struct hz_plan_nic out[2];
    const struct hz_world world = { uplinks, 2, nics, 2 };
    struct hz_plan plan = { .nics = out };

    return hz_decide(&world, &plan);
}

static void refusals(void)
{
    struct hz_world_nic strange = nic(2), light = nic(2), barred = nic(2);
    const struct hz_world empty = { NULL, 0, NULL, 0 };
    struct hz_plan plan = { NULL, 7 };
    struct hz_world homeless = { NULL, 0, &strange, 1 };

    strange.uplink = 77;
    light.ent_weight = 0;
    barred.ent_max = 0;
    is(decide_with(1000, nic(1), nic(2), 4), 0, "a world that is all right");
    is(decide_with(0, nic(1), nic(2), 4), -EINVAL, "a capacity of 0");
    is(decide_with(1, nic(1), nic(2), 4), -EINVAL, "a capacity below one byte/s a NIC");
    is(decide_with(HZ_CAPACITY_MAX, nic(1), nic(2), 4), 0, "the largest capacity");
    is(decide_with(HZ_CAPACITY_MAX + 1, nic(1), nic(2), 4), -EINVAL, "one more");
    is(decide_with(1000, nic(1), nic(1), 4), -EINVAL, "an id that stands twice");
    is(decide_with(1000, nic(1), strange, 4), -EINVAL, "an uplink that isn't there");
    is(decide_with(1000, nic(1), light, 4), -EINVAL, "an entitled weight of 0");
    is(decide_with(1000, nic(1), barred, 4), -EINVAL, "an entitled maximum of 0");
    is(decide_with(1000, nic(1), nic(2), 3), -EINVAL, "an uplink that stands twice");
    is(hz_decide(&empty, &plan), 0, "an empty world");
    is(plan.n_nics, 0, "has an empty plan");
    is(hz_decide(&homeless, &plan), -EINVAL, "NICs and no uplink at all");
}

/* A large host, to the byte: shares by weight i of 1..n, nothing else. */
static void large(void)
{
    enum { N = 20000 };
    struct hz_world_nic *nics = calloc(N, sizeof(*nics));
    struct hz_plan_nic *out = calloc(N, sizeof(*out));
    uint64_t sum = 0;
    bool good = nics && out;

    for (size_t i = 0; good && i < N; i++) {
        nics[i] = nic((i * 7919) % N);
        nics[i].ent_weight = (uint16_t)(1 + i % 1000);
        nics[i].declared = nics[i].has_min = true;
        nics[i].min = i;
    }
    good = good && !hz_arbiter_net(HZ_CAPACITY_MAX, nics, N, out);
    for (size_t i = 0; good && i < N; i++) {
        sum += out[i].rate;
        good = out[i].rate >= i;
    }
    ok(good && sum == HZ_CAPACITY_MAX, "%d NICs share the largest capacity to the byte", N);
    free(nics);
    free(out);
}

int main(int argc, char **argv)
{
    worlds = argc > 1 ? strtoul(argv[1], NULL, 0) : worlds;
    seed = argc > 2 ? strtoull(argv[2], NULL, 0) : seed;

    demo_world();
    give_way();
    several_uplinks();
    refusals();
    large();
    for_all("as the byte-by-byte reference", as_reference, 600);
    for (uint64_t scale = 40; scale <= 40000000000ULL; scale *= 1000) {
        printf("# capacities up to about %llu bytes/s\n", (unsigned long long)scale);
        for_all("within maximum and capacity, shaped when it should be", within_bounds, scale);
        for_all("work-conserving", work_conserving, scale);
        for_all("bursts by the rule", bursts, scale);
        for_all("minimums before shares, by priority", minimums_first, scale);
        for_all("shares by weight", shares_by_weight, scale);
        for_all("asking for more never gets less", monotone, scale);
        for_all("the liar bound", liar_bound, scale);
        for_all("no minimum beyond the entitlement", beyond_buys_nothing, scale);
        for_all("the order of rows doesn't matter", order_independent, scale);
        for_all("verdicts", verdicts, scale);
    }
    return tap_done();
}
