/* SPDX-License-Identifier: MIT */
/*
 * hz decide: groups the world by resource and asks each one's arbiter.
 */
#include "decide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct row {
    struct hz_world_nic nic;
    size_t place;               /* in the world */
};

static int by_id(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    return a->nic.id < b->nic.id ? -1 : a->nic.id > b->nic.id;
}

static int by_uplink(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->nic.uplink != b->nic.uplink) {
        return a->nic.uplink < b->nic.uplink ? -1 : 1;
    }
    return by_id(pa, pb);
}

static int uplink_by_id(const void *pa, const void *pb)
{
    const struct hz_world_uplink *a = pa, *b = pb;

    return a->id < b->id ? -1 : a->id > b->id;
}

static int check_rows(struct row *rows, size_t n)
{
    qsort(rows, n, sizeof(rows[0]), by_id);
    for (size_t i = 0; i < n; i++) {
        if ((i && rows[i].nic.id == rows[i - 1].nic.id) ||
            !rows[i].nic.ent_weight || !rows[i].nic.ent_max) {
            return -EINVAL;
        }
    }
    return 0;
}

static int check_uplinks(struct hz_world_uplink *uplinks, size_t n)
{
    qsort(uplinks, n, sizeof(uplinks[0]), uplink_by_id);
    for (size_t i = 0; i < n; i++) {
        if (i && uplinks[i].id == uplinks[i - 1].id) {
            return -EINVAL;
        }
    }
    return 0;
}

/* The rows of one uplink stand together: hand them to the arbiter, put its answers in place. */
static int decide_uplink(const struct hz_world_uplink *uplink, const struct row *rows, size_t n,
                         struct hz_plan *plan)
{
    struct hz_world_nic *nics = calloc(n, sizeof(*nics));
    struct hz_plan_nic *out = calloc(n, sizeof(*out));
    int ret = -ENOMEM;

    if (!nics || !out) {
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        nics[i] = rows[i].nic;
    }
    ret = hz_arbiter_net(uplink->capacity, nics, n, out);
    for (size_t i = 0; !ret && i < n; i++) {
        plan->nics[rows[i].place] = out[i];
    }
done:
    free(nics);
    free(out);
    return ret;
}

static int decide_rows(struct hz_world_uplink *uplinks, size_t n_uplinks,
                       struct row *rows, size_t n, struct hz_plan *plan)
{
    int ret = check_rows(rows, n);

    if (!ret) {
        ret = check_uplinks(uplinks, n_uplinks);
    }
    if (!ret) {
        qsort(rows, n, sizeof(rows[0]), by_uplink);
    }
    for (size_t first = 0, end; !ret && first < n; first = end) {
        struct hz_world_uplink key = { .id = rows[first].nic.uplink };
        const struct hz_world_uplink *uplink =
            bsearch(&key, uplinks, n_uplinks, sizeof(key), uplink_by_id);

        for (end = first; end < n && rows[end].nic.uplink == key.id; end++) {
        }
        ret = uplink ? decide_uplink(uplink, rows + first, end - first, plan) : -EINVAL;
    }
    return ret;
}

int hz_decide(const struct hz_world *world, struct hz_plan *plan)
{
    struct hz_world_uplink *uplinks = NULL;
    struct row *rows = NULL;
    int ret = -ENOMEM;

    plan->n_nics = world->n_nics;
    if (!world->n_nics) {
        return 0;
    }
    if (!world->n_uplinks) {
        return -EINVAL;
    }
    uplinks = calloc(world->n_uplinks, sizeof(*uplinks));
    rows = calloc(world->n_nics, sizeof(*rows));
    if (!uplinks || !rows) {
        goto done;
    }
    memcpy(uplinks, world->uplinks, world->n_uplinks * sizeof(*uplinks));
    for (size_t i = 0; i < world->n_nics; i++) {
        rows[i].nic = world->nics[i];
        rows[i].place = i;
    }
    ret = decide_rows(uplinks, world->n_uplinks, rows, world->n_nics, plan);
done:
    free(uplinks);
    free(rows);
    return ret;
}

const char *hz_rule_name(enum hz_rule rule)
{
    switch (rule) {
    case HZ_RULE_UNSHAPED:
        return "unshaped";
    case HZ_RULE_MAX:
        return "max";
    case HZ_RULE_ENTITLEMENT:
        return "entitlement";
    case HZ_RULE_SHARE:
        return "share";
    case HZ_RULE_MIN:
        return "min";
    case HZ_RULE_MIN_CUT:
        return "min-cut";
    }
    return "?";
}
