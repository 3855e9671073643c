/* SPDX-License-Identifier: MIT */
/*
 * Random worlds of vNICs, and what they mean: shared by the tests of decide().
 */
#ifndef HZ_TESTS_WORLDS_H
#define HZ_TESTS_WORLDS_H

#include "core/decide.h"
#include "prng.h"

#define MAX_NICS 24

/* One uplink, its NICs and the plan for them. */
struct scene {
    uint64_t capacity;
    size_t n;
    struct hz_world_nic nics[MAX_NICS];
    struct hz_plan_nic plan[MAX_NICS];
};

/* What a NIC may claim, by the header's words and without the arbiter's code. */
struct meaning {
    bool asks;
    uint64_t trickle, min, max, weight;
    unsigned priority;
};

/* @scale: capacities up to about this. */
void scene_random(struct scene *s, struct prng *p, uint64_t scale);
void nic_declare(struct hz_world_nic *nic, struct prng *p, uint64_t scale);
/* hz_decide() on it; its return value. */
int scene_decide(struct scene *s);
void scene_means(const struct scene *s, struct meaning m[MAX_NICS]);
bool scene_shaped(const struct scene *s);
void scene_print(const struct scene *s);

#endif
