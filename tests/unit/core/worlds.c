/* SPDX-License-Identifier: MIT */
#include "worlds.h"

#include <stdio.h>
#include <string.h>

/* Near the scale, near nothing, exactly on a neighbour, or absurd. */
static uint64_t some_rate(struct prng *p, uint64_t scale)
{
    switch (prng_below(p, 12)) {
    case 0:
        return 0;
    case 1:
        return prng_chance(p, 50) ? UINT64_MAX : UINT64_MAX - prng_below(p, 9);
    case 2:
        return prng_below(p, 16);
    case 3:
        return scale;
    case 4:
        return scale / 4;
    default:
        return prng_below(p, scale + scale / 4 + 1);
    }
}

void nic_declare(struct hz_world_nic *nic, struct prng *p, uint64_t scale)
{
    nic->has_min = prng_chance(p, 60);
    nic->has_max = prng_chance(p, 50);
    nic->has_burst = prng_chance(p, 20);
    nic->has_weight = prng_chance(p, 40);
    nic->has_priority = prng_chance(p, 40);
    nic->declared = nic->has_min || nic->has_max || nic->has_burst || nic->has_weight;
    nic->min = some_rate(p, scale);
    nic->max = some_rate(p, scale);
    nic->burst = some_rate(p, scale);
    nic->weight = (uint16_t)prng_below(p, prng_chance(p, 50) ? 5 : 1200);
    nic->priority = (uint8_t)prng_below(p, prng_chance(p, 80) ? 4 : 256);
}

void scene_random(struct scene *s, struct prng *p, uint64_t scale)
{
    unsigned declaring = prng_chance(p, 10) ? 0 : 70;

    memset(s, 0, sizeof(*s));
    s->n = 1 + prng_below(p, prng_chance(p, 50) ? 4 : MAX_NICS);
    s->capacity = s->n + prng_below(p, scale);
    for (size_t i = 0; i < s->n; i++) {
        struct hz_world_nic *nic = &s->nics[i];

        nic->id = i * 7 + prng_below(p, 7);
        nic->uplink = 3;
        nic->ent_min = some_rate(p, scale / s->n * 2);
        nic->ent_max = prng_chance(p, 30) ? HZ_RATE_NONE : 1 + some_rate(p, scale) / 2;
        nic->ent_weight = (uint16_t)(1 + prng_below(p, prng_chance(p, 50) ? 4 : 1000));
        nic->ent_priority = (uint8_t)prng_below(p, 4);
        nic->shapeable = prng_chance(p, 93);
        if (prng_chance(p, declaring)) {
            nic_declare(nic, p, scale / s->n * 2);
        }
    }
}

int scene_decide(struct scene *s)
{
    const struct hz_world_uplink uplink = { .id = 3, .capacity = s->capacity };
    const struct hz_world world = {
        .uplinks = &uplink, .n_uplinks = 1, .nics = s->nics, .n_nics = s->n,
    };
    struct hz_plan plan = { .nics = s->plan };

    memset(s->plan, 0xee, sizeof(s->plan));
    return hz_decide(&world, &plan);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void scene_means(const struct scene *s, struct meaning m[MAX_NICS])
{
    uint64_t shapeable = 0, trickle;

    for (size_t i = 0; i < s->n; i++) {
        shapeable += s->nics[i].shapeable;
    }
    /* "100 kbit/s, of all together never above a tenth of the capacity"; at least something. */
    trickle = shapeable ? least(12500, s->capacity / 10 / shapeable) : 0;
    trickle += !trickle;
    for (size_t i = 0; i < s->n; i++) {
        const struct hz_world_nic *nic = &s->nics[i];
        bool max = nic->has_max && nic->max > 0;
        bool pair = !(nic->has_min && max && nic->min > nic->max);
        bool weight = nic->has_weight && nic->weight > 0;

        m[i].max = least(s->capacity, nic->ent_max);
        if (max && pair) {
            m[i].max = least(m[i].max, nic->max);
        }
        m[i].min = nic->has_min && pair ? least(least(nic->min, nic->ent_min), m[i].max) : 0;
        m[i].weight = weight ? least(nic->weight, nic->ent_weight) : nic->ent_weight;
        m[i].priority = nic->has_priority ? (unsigned)least(nic->priority, nic->ent_priority)
                                          : nic->ent_priority;
        m[i].trickle = least(trickle, m[i].max);
        m[i].asks = nic->shapeable && nic->declared &&
                    ((pair && (nic->has_min || max)) || weight || nic->has_burst ||
                     nic->has_priority);
    }
}

bool scene_shaped(const struct scene *s)
{
    struct meaning m[MAX_NICS];

    scene_means(s, m);
    for (size_t i = 0; i < s->n; i++) {
        if (m[i].asks) {
            return true;
        }
    }
    return false;
}

static void print_number(const char *name, bool has, uint64_t v)
{
    if (has) {
        printf(" %s=%llu", name, (unsigned long long)v);
    }
}

void scene_print(const struct scene *s)
{
    printf("# capacity %llu\n", (unsigned long long)s->capacity);
    for (size_t i = 0; i < s->n; i++) {
        const struct hz_world_nic *nic = &s->nics[i];

        printf("# nic %llu%s ent %llu..%llu w%u p%u:", (unsigned long long)nic->id,
               nic->shapeable ? "" : " (unshapeable)", (unsigned long long)nic->ent_min,
               (unsigned long long)nic->ent_max, nic->ent_weight, nic->ent_priority);
        print_number("min", nic->has_min, nic->min);
        print_number("max", nic->has_max, nic->max);
        print_number("burst", nic->has_burst, nic->burst);
        print_number("weight", nic->has_weight, nic->weight);
        print_number("priority", nic->has_priority, nic->priority);
        printf(" -> %s rate %llu, min in force %llu\n", hz_rule_name(s->plan[i].rule),
               (unsigned long long)s->plan[i].rate,
               (unsigned long long)s->plan[i].min_in_force);
    }
}
