/* SPDX-License-Identifier: MIT */
/*
 * A world out of bytes: whatever tenants declare, decide() answers, within
 * the capacity and every maximum, and leaves nothing over.
 */
#include "core/decide.h"
#include "fuzz.h"

#include <string.h>

#define MAX_NICS 12
#define ROW 40

static struct hz_world_nic nic_of(const uint8_t *p, size_t i)
{
    return (struct hz_world_nic) {
        .id = i, .uplink = 1,
        .ent_min = hz_get64(p) >> (p[39] & 63),
        .ent_max = (hz_get64(p + 8) >> (p[38] & 63)) | 1,
        .ent_weight = (uint16_t)(hz_get16(p + 16) | 1), .ent_priority = p[18],
        .shapeable = p[19] & 1, .declared = p[19] & 2,
        .has_min = p[19] & 4, .has_max = p[19] & 8, .has_burst = p[19] & 16,
        .has_weight = p[19] & 32, .has_priority = p[19] & 64,
        .min = hz_get64(p + 20) >> (p[37] & 63), .max = hz_get64(p + 28) >> (p[36] & 63),
        .burst = hz_get32(p + 24), .weight = hz_get16(p + 34), .priority = p[36],
    };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hz_world_nic nics[MAX_NICS];
    struct hz_plan_nic out[MAX_NICS];
    struct hz_world_uplink uplink = { .id = 1 };
    const struct hz_world world = { &uplink, 1, nics, size < 8 ? 0 : (size - 8) / ROW };
    struct hz_plan plan = { .nics = out };
    unsigned __int128 given = 0, wanted = 0;
    bool any = false;

    if (size < 8 || world.n_nics > MAX_NICS) {
        return 0;
    }
    uplink.capacity = hz_get64(data) % HZ_CAPACITY_MAX + MAX_NICS;
    for (size_t i = 0; i < world.n_nics; i++) {
        nics[i] = nic_of(data + 8 + i * ROW, i);
    }
    if (uplink.capacity > HZ_CAPACITY_MAX) {
        return 0;
    }
    CHECK(!hz_decide(&world, &plan));
    for (size_t i = 0; i < world.n_nics; i++) {
        const struct hz_world_nic *n = &nics[i];
        uint64_t max = n->ent_max;

        CHECK(out[i].id == i && (!out[i].shape || n->shapeable));
        if (!out[i].shape) {
            CHECK(out[i].rate == HZ_RATE_NONE);
            continue;
        }
        if (n->has_max && n->max && !(n->has_min && n->min > n->max) && n->max < max) {
            max = n->max;
        }
        CHECK(out[i].rate > 0 && out[i].rate <= max && out[i].min_in_force <= out[i].rate);
        CHECK(out[i].burst >= 4096);
        given += out[i].rate;
        wanted += max;
        any = true;
    }
    CHECK(given == (wanted < uplink.capacity ? wanted : uplink.capacity) || !any);
    return 0;
}
