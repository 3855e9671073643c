/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd config check: what no single key can tell.
 */
#include "config-int.h"
#include "core/vocabulary.h"
#include "core/world.h"
#include "hzd.h"
#include "ids.h"

#include <string.h>
#include <sys/un.h>

#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

static gboolean G_GNUC_PRINTF(3, 4)
wrong(const char *file, GError **error, const char *format, ...)
{
    g_autofree char *what = NULL;
    va_list ap;

    va_start(ap, format);
    what = g_strdup_vprintf(format, ap);
    va_end(ap);
    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "%s: %s", file, what);
    return FALSE;
}

static gboolean check_uplink(const HzConfig *c, const HzConfigUplink *u, GError **error)
{
    return u->capacity || wrong(c->path, error, "[uplink %s]: capacity= is missing: the rate hz "
                                "may give out, such as 10Gbit", u->name);
}

static gboolean check_nic(const HzConfig *c, const HzConfigVm *vm, const HzConfigNic *nic,
                          GError **error)
{
    const HzConfigUplink *uplink;
    char min[64], max[64];

    if (!nic->ifname || !nic->uplink) {
        return wrong(vm->file, error, "[vm %s nic/%u]: %s= is missing", vm->name, nic->index,
                     nic->ifname ? "uplink" : "ifname");
    }
    uplink = hz_config_uplink(c, nic->uplink);
    if (!uplink) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *near;

        for (guint i = 0; i < c->uplinks->len; i++) {
            g_ptr_array_add(names, ((HzConfigUplink *)c->uplinks->pdata[i])->name);
        }
        g_ptr_array_add(names, NULL);
        near = hz_nearest(nic->uplink, (const char *const *)names->pdata);
        return wrong(vm->file, error, "[vm %s nic/%u] uplink=%s: there is no [uplink %s]%s%s%s",
                     vm->name, nic->index, nic->uplink, nic->uplink,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    if (nic->ent_min > uplink->capacity) {
        /* no error: one file for a VM may serve several hosts, the smaller ones clamp */
        hz_unit_format(HZ_UNIT_RATE, nic->ent_min, min, sizeof(min));
        hz_unit_format(HZ_UNIT_RATE, uplink->capacity, max, sizeof(max));
        g_printerr("hzd: warning: %s: [vm %s nic/%u] net-min=%s is above capacity=%s of [uplink "
                   "%s]: so much is never granted here\n", vm->file, vm->name, nic->index, min,
                   max, uplink->name);
    }
    if (nic->ent_min > nic->ent_max) {
        hz_unit_format(HZ_UNIT_RATE, nic->ent_min, min, sizeof(min));
        hz_unit_format(HZ_UNIT_RATE, nic->ent_max, max, sizeof(max));
        return wrong(vm->file, error, "[vm %s nic/%u] net-min=%s is above net-max=%s", vm->name,
                     nic->index, min, max);
    }
    return TRUE;
}

static gboolean check_actuator(const HzConfig *c, const HzConfigActuator *a, GError **error)
{
    static const char *const known[] = { "vnic", NULL };
    g_autofree char *all = NULL;
    const char *near;

    if (g_strv_contains(known, a->name)) {
        return TRUE;
    }
    near = hz_nearest(a->name, known);
    all = g_strjoinv(", ", (char **)known);
    return wrong(c->path, error, "[actuator %s]: there is no such actuator; %s%s%s", a->name,
                 near ? "did you mean '" : "there are: ", near ? near : all, near ? "'?" : "");
}

/* @what of two VMs must differ. */
static gboolean once(GHashTable *seen, const char *what, const char *value,
                     const HzConfigVm *vm, GError **error)
{
    g_autofree char *id = g_strdup_printf("%s=%s", what, value);
    const HzConfigVm *other = g_hash_table_lookup(seen, id);

    if (other) {
        return wrong(vm->file, error, "[vm %s] %s: VM '%s' has the same", vm->name, id,
                     other->name);
    }
    g_hash_table_insert(seen, g_steal_pointer(&id), (gpointer)vm);
    return TRUE;
}

static gboolean check_unique(const HzConfig *c, GHashTable *seen, const HzConfigVm *vm,
                             GError **error)
{
    if (vm->has_uuid) {
        g_autofree char *uuid = hz_id_text(vm->uuid);

        if (!once(seen, "uuid", uuid, vm, error)) {
            return FALSE;
        }
    }
    for (char **qmp = vm->qmp; *qmp; qmp++) {
        if (!once(seen, "qmp", *qmp, vm, error)) {
            return FALSE;
        }
    }
    for (guint i = 0; i < vm->nics->len; i++) {
        const HzConfigNic *nic = vm->nics->pdata[i];

        if (!check_nic(c, vm, nic, error) || !once(seen, "ifname", nic->ifname, vm, error)) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean check_vm(const HzConfig *c, GHashTable *seen, HzConfigVm *vm, GError **error)
{
    g_autofree char *socket = g_strdup_printf("%s/vm/%s.sock", c->run_dir, vm->name);

    if (!vm->tenant) {
        return wrong(vm->file, error, "[vm %s nic/N] without a [vm %s] section",
                     vm->name, vm->name);
    }
    if (strlen(socket) > SOCKET_PATH_MAX) {
        return wrong(vm->file, error, "[vm %s]: its socket's path %s has %zu bytes, the limit is "
                     "%zu: shorten the name or run-dir", vm->name, socket, strlen(socket),
                     SOCKET_PATH_MAX);
    }
    if (vm->identity == (HzIdentity)-1) {
        vm->identity = vm->qmp[0] ? HZ_IDENTITY_QMP : HZ_IDENTITY_SOCKET;
    }
    if (vm->identity == HZ_IDENTITY_QMP && !vm->qmp[0]) {
        return wrong(vm->file, error, "[vm %s] identity=qmp needs qmp=, a monitor of the VM's QEMU",
                     vm->name);
    }
    return check_unique(c, seen, vm, error);
}

/* Two sections of one name in different letters of space ("[uplink  a]") or files. */
static gboolean check_names(const HzConfig *c, GPtrArray *array, const char *what, GError **error)
{
    for (guint i = 1; i < array->len; i++) {
        const char *name = *(char **)array->pdata[i];

        if (!strcmp(name, *(char **)array->pdata[i - 1])) {
            return wrong(c->path, error, "[%s %s] stands there twice", what, name);
        }
    }
    return TRUE;
}

gboolean hz_config_check(HzConfig *c, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    if (!check_names(c, c->uplinks, "uplink", error)
        || !check_names(c, c->actuators, "actuator", error)) {
        return FALSE;
    }
    for (guint i = 0; i < c->uplinks->len; i++) {
        if (!check_uplink(c, c->uplinks->pdata[i], error)) {
            return FALSE;
        }
    }
    for (guint i = 0; i < c->actuators->len; i++) {
        if (!check_actuator(c, c->actuators->pdata[i], error)) {
            return FALSE;
        }
    }
    for (guint i = 0; i < c->vms->len; i++) {
        if (!check_vm(c, seen, c->vms->pdata[i], error)) {
            return FALSE;
        }
    }
    return TRUE;
}
