/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd config as JSON: what is in force, defaults filled in.
 */
#include "config.h"
#include "core/vocabulary.h"
#include "core/world.h"
#include "ids.h"

static void set_rate(JsonObject *o, const char *name, uint64_t rate)
{
    if (rate != HZ_RATE_NONE) {
        json_object_set_int_member(o, name, (gint64)rate);
    }
}

static JsonObject *nic_json(const HzConfigNic *nic)
{
    JsonObject *o = json_object_new();
    g_autofree char *name = g_strdup_printf("nic/%u", nic->index);

    json_object_set_string_member(o, "nic", name);
    json_object_set_string_member(o, "ifname", nic->ifname);
    json_object_set_string_member(o, "uplink", nic->uplink);
    set_rate(o, "net-min", nic->ent_min);
    set_rate(o, "net-max", nic->ent_max);
    json_object_set_int_member(o, "net-weight", nic->ent_weight);
    return o;
}

static JsonArray *events_json(uint32_t mask)
{
    JsonArray *a = json_array_new();
    size_t n;
    const struct hz_kind *kinds = hz_kinds(&n);

    for (size_t i = 0; i < n; i++) {
        if (mask >> kinds[i].kind & 1) {
            json_array_add_string_element(a, kinds[i].name);
        }
    }
    return a;
}

static void set_identity(JsonObject *o, const HzConfigVm *vm)
{
    g_autofree char *uid = g_strdup_printf("uid:%u", (unsigned)vm->uid);

    json_object_set_string_member(o, "identity", vm->identity == HZ_IDENTITY_QMP ? "qmp"
                                  : vm->identity == HZ_IDENTITY_UID ? uid : "socket");
}

static JsonObject *vm_json(const HzConfigVm *vm)
{
    JsonObject *o = json_object_new();
    JsonArray *qmp = json_array_new(), *nics = json_array_new();
    g_autofree char *uuid = vm->has_uuid ? hz_id_text(vm->uuid) : NULL;

    for (char **path = vm->qmp; *path; path++) {
        json_array_add_string_element(qmp, *path);
    }
    for (guint i = 0; i < vm->nics->len; i++) {
        json_array_add_object_element(nics, nic_json(vm->nics->pdata[i]));
    }
    json_object_set_string_member(o, "vm", vm->name);
    json_object_set_string_member(o, "file", vm->file);
    if (uuid) {
        json_object_set_string_member(o, "uuid", uuid);
    }
    json_object_set_string_member(o, "tenant", vm->tenant);
    json_object_set_string_member(o, "mode", hz_mode_name(vm->mode));
    json_object_set_array_member(o, "qmp", qmp);
    set_identity(o, vm);
    json_object_set_int_member(o, "priority", vm->priority);
    json_object_set_int_member(o, "granularity", vm->granularity);
    json_object_set_array_member(o, "events", events_json(vm->events));
    if (vm->has_max_pauses) {
        json_object_set_int_member(o, "max-pauses-per-h", vm->max_pauses_per_h);
    }
    json_object_set_int_member(o, "extend-max-ns", (gint64)vm->extend_max_ns);
    json_object_set_array_member(o, "nics", nics);
    return o;
}

static JsonArray *uplinks_json(const HzConfig *c)
{
    JsonArray *a = json_array_new();

    for (guint i = 0; i < c->uplinks->len; i++) {
        const HzConfigUplink *u = c->uplinks->pdata[i];
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "uplink", u->name);
        json_object_set_int_member(o, "capacity", (gint64)u->capacity);
        json_array_add_object_element(a, o);
    }
    return a;
}

static JsonArray *actuators_json(const HzConfig *c)
{
    JsonArray *a = json_array_new();

    for (guint i = 0; i < c->actuators->len; i++) {
        const HzConfigActuator *actuator = c->actuators->pdata[i];
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "actuator", actuator->name);
        json_object_set_string_member(o, "mode", hz_mode_name(actuator->mode));
        json_array_add_object_element(a, o);
    }
    return a;
}

JsonObject *hz_config_json(const HzConfig *c)
{
    JsonObject *o = json_object_new();
    JsonArray *uids = json_array_new(), *vms = json_array_new();

    for (guint i = 0; i < c->user_uids->len; i++) {
        json_array_add_int_element(uids, g_array_index(c->user_uids, uid_t, i));
    }
    for (guint i = 0; i < c->vms->len; i++) {
        json_array_add_object_element(vms, vm_json(c->vms->pdata[i]));
    }
    json_object_set_string_member(o, "file", c->path);
    json_object_set_string_member(o, "mode", hz_mode_name(c->mode));
    json_object_set_string_member(o, "run-dir", c->run_dir);
    json_object_set_string_member(o, "state-dir", c->state_dir);
    json_object_set_string_member(o, "audit", c->audit_path);
    json_object_set_int_member(o, "stale-after-ns", (gint64)c->stale_after_ns);
    json_object_set_int_member(o, "reset-grace-ns", (gint64)c->reset_grace_ns);
    json_object_set_array_member(o, "user-uids", uids);
    json_object_set_array_member(o, "uplinks", uplinks_json(c));
    json_object_set_array_member(o, "actuators", actuators_json(c));
    json_object_set_array_member(o, "vms", vms);
    return o;
}
