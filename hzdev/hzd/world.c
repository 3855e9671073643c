/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd world: the decision core's input as JSON, and back, so that any
 * decision can be made again.
 */
#include <string.h>

#include "core/vocabulary.h"
#include "json-util.h"
#include "plan.h"

static void set_rate(JsonObject *o, const char *name, uint64_t rate)
{
    if (rate == HZ_RATE_NONE) {
        json_object_set_null_member(o, name);
    } else {
        hz_json_set_u64(o, name, rate);
    }
}

static JsonObject *declared_json(const struct hz_world_nic *n)
{
    JsonObject *o = json_object_new();

    if (n->has_min) {
        hz_json_set_u64(o, "min", n->min);
    }
    if (n->has_max) {
        hz_json_set_u64(o, "max", n->max);
    }
    if (n->has_burst) {
        hz_json_set_u64(o, "burst", n->burst);
    }
    if (n->has_weight) {
        json_object_set_int_member(o, "weight", n->weight);
    }
    if (n->has_priority) {
        json_object_set_int_member(o, "priority", n->priority);
    }
    return o;
}

static JsonObject *nic_json(const struct hz_world_nic *n)
{
    JsonObject *o = json_object_new();

    hz_json_set_u64(o, "id", n->id);
    json_object_set_int_member(o, "uplink", n->uplink);
    hz_json_set_u64(o, "ent-min", n->ent_min);
    set_rate(o, "ent-max", n->ent_max);
    json_object_set_int_member(o, "ent-weight", n->ent_weight);
    json_object_set_int_member(o, "ent-priority", n->ent_priority);
    json_object_set_boolean_member(o, "shapeable", n->shapeable);
    if (n->declared) {
        json_object_set_object_member(o, "declared", declared_json(n));
    }
    return o;
}

JsonObject *hz_world_json(const struct hz_world *world)
{
    JsonObject *o = json_object_new();
    JsonArray *uplinks = json_array_new(), *nics = json_array_new();

    for (size_t i = 0; i < world->n_uplinks; i++) {
        JsonObject *u = json_object_new();

        json_object_set_int_member(u, "id", world->uplinks[i].id);
        hz_json_set_u64(u, "capacity", world->uplinks[i].capacity);
        json_array_add_object_element(uplinks, u);
    }
    for (size_t i = 0; i < world->n_nics; i++) {
        json_array_add_object_element(nics, nic_json(&world->nics[i]));
    }
    json_object_set_array_member(o, "uplinks", uplinks);
    json_object_set_array_member(o, "nics", nics);
    return o;
}

JsonObject *hz_plan_nic_json(const struct hz_plan_nic *p)
{
    JsonObject *o = json_object_new();

    hz_json_set_u64(o, "id", p->id);
    json_object_set_boolean_member(o, "shape", p->shape);
    if (p->shape) {
        hz_json_set_u64(o, "rate", p->rate);
        hz_json_set_u64(o, "burst", p->burst);
    }
    hz_json_set_u64(o, "min-in-force", p->min_in_force);
    json_object_set_string_member(o, "rule", hz_rule_name(p->rule));
    return o;
}

/* -- and back ----------------------------------------------------------- */

static gboolean bad(GError **error, const char *what)
{
    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "a recorded world needs %s", what);
    return FALSE;
}

static bool take(JsonObject *o, const char *name, uint64_t *v)
{
    gint64 n = hz_json_int(o, name, -1);

    if (n >= 0) {
        *v = (uint64_t)n;
    }
    return n >= 0;
}

static void take_declared(JsonObject *o, struct hz_world_nic *n)
{
    uint64_t weight = 0, priority = 0;

    n->declared = o != NULL;
    n->has_min = take(o, "min", &n->min);
    n->has_max = take(o, "max", &n->max);
    n->has_burst = take(o, "burst", &n->burst);
    n->has_weight = take(o, "weight", &weight);
    n->has_priority = take(o, "priority", &priority);
    n->weight = (uint16_t)weight;
    n->priority = (uint8_t)priority;
}

static gboolean take_nic(JsonObject *o, struct hz_world_nic *n, GError **error)
{
    uint64_t uplink, weight, priority;

    *n = (struct hz_world_nic){ .ent_max = HZ_RATE_NONE };
    if (!take(o, "id", &n->id) || !take(o, "uplink", &uplink) ||
        !take(o, "ent-min", &n->ent_min) || !take(o, "ent-weight", &weight) ||
        !take(o, "ent-priority", &priority)) {
        return bad(error, "id, uplink, ent-min, ent-weight and ent-priority in each of \"nics\"");
    }
    take(o, "ent-max", &n->ent_max);
    n->uplink = (uint32_t)uplink;
    n->ent_weight = (uint16_t)weight;
    n->ent_priority = (uint8_t)priority;
    n->shapeable = hz_json_bool(o, "shapeable", FALSE);
    take_declared(hz_json_object(o, "declared"), n);
    return TRUE;
}

static gboolean take_uplinks(JsonArray *a, struct hz_world_uplink *uplinks, GError **error)
{
    for (guint i = 0; i < json_array_get_length(a); i++) {
        JsonObject *o = hz_json_at(a, i);
        uint64_t id;

        if (!take(o, "id", &id) || !take(o, "capacity", &uplinks[i].capacity)) {
            return bad(error, "id and capacity in each of \"uplinks\"");
        }
        uplinks[i].id = (uint32_t)id;
    }
    return TRUE;
}

JsonObject *hz_plan_replay(JsonObject *world, GError **error)
{
    JsonArray *u = hz_json_array(world, "uplinks"), *n = hz_json_array(world, "nics"), *lines;
    g_autofree struct hz_world_uplink *uplinks = NULL;
    g_autofree struct hz_world_nic *nics = NULL;
    g_autofree struct hz_plan_nic *out = NULL;
    struct hz_world w;
    struct hz_plan plan;
    JsonObject *answer;
    int err;

    if (!u || !n) {
        bad(error, "the arrays \"uplinks\" and \"nics\"");
        return NULL;
    }
    uplinks = g_new0(struct hz_world_uplink, json_array_get_length(u) + 1);
    nics = g_new0(struct hz_world_nic, json_array_get_length(n) + 1);
    out = g_new0(struct hz_plan_nic, json_array_get_length(n) + 1);
    w = (struct hz_world){ uplinks, json_array_get_length(u), nics, json_array_get_length(n) };
    plan = (struct hz_plan){ out, w.n_nics };
    if (!take_uplinks(u, uplinks, error)) {
        return NULL;
    }
    for (guint i = 0; i < w.n_nics; i++) {
        if (!take_nic(hz_json_at(n, i), &nics[i], error)) {
            return NULL;
        }
    }
    err = hz_decide(&w, &plan);
    if (err) {
        bad(error, "unique ids, uplinks that are there, capacities and weights above 0");
        return NULL;
    }
    lines = json_array_new();
    for (size_t i = 0; i < plan.n_nics; i++) {
        json_array_add_object_element(lines, hz_plan_nic_json(&out[i]));
    }
    answer = json_object_new();
    json_object_set_array_member(answer, "plan", lines);
    return answer;
}
