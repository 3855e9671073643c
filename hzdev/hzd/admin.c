/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd admin: the operator's levers over the whole host. */
#include "admin.h"

#include <string.h>

#include "actuators.h"
#include "audit.h"
#include "json-util.h"
#include "link.h"
#include "notices.h"
#include "pause.h"
#include "plan.h"
#include "state.h"
#include "vm.h"

static void audit_request(HzHost *host, const char *what, const char *who, const char *about)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "what", what);
    json_object_set_string_member(o, "who", who ? who : "");
    if (about) {
        json_object_set_string_member(o, "about", about);
    }
    hz_audit(host, "request", o);
}

/* -- freeze ------------------------------------------------------------- */

gboolean hz_admin_freeze(HzHost *host, const char *who, GError **error)
{
    audit_request(host, "freeze", who, NULL);
    /* at once, also when it can't be kept over a restart: then the caller is told so */
    host->frozen = TRUE;
    if (!hz_state_write(host->state, "frozen", who ? who : "", TRUE, error)) {
        g_prefix_error(error, "frozen until hzd is restarted, but not longer: ");
        return FALSE;
    }
    return TRUE;
}

gboolean hz_admin_thaw(HzHost *host, const char *who, GError **error)
{
    audit_request(host, "thaw", who, NULL);
    if (!hz_state_remove(host->state, "frozen", error)) {
        g_prefix_error(error, "still frozen: ");
        return FALSE;
    }
    if (host->frozen) {
        host->frozen = FALSE;
        hz_actuators_configure(host);
        hz_plan_kick(host);
    }
    return TRUE;
}

/* -- release ------------------------------------------------------------ */

typedef struct {
    HzAdminDone done;
    gpointer opaque;
} Release;

static void released(HzHost *host, const GError *error, gpointer opaque)
{
    Release *r = opaque;

    hz_plan_released(host, error);
    hz_plan_look(host);
    hz_plan_kick(host);
    r->done(error, r->opaque);
    g_free(r);
}

static void let_go(HzVm *vm, JsonArray *keys)
{
    vm->released = TRUE;
    hz_plan_let_go(vm);
    for (guint i = 0; keys && i < vm->conf->nics->len; i++) {
        const HzConfigNic *nic = g_ptr_array_index(vm->conf->nics, i);
        g_autofree char *key = g_strdup_printf("%s/nic/%u", vm->name, nic->index);

        json_array_add_string_element(keys, key);
    }
}

void hz_admin_release(HzHost *host, const char *name, const char *who, HzAdminDone done,
                      gpointer opaque)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);
    g_autoptr(GError) error = NULL;
    JsonArray *keys = NULL;
    Release *r;

    if (name && !hz_host_vm(host, name, &error)) {
        done(error, opaque);
        return;
    }
    if (host->frozen) {
        error = g_error_new(HZ_HZD_ERROR, HZ_HZD_ERROR_STATE, "frozen: nothing is given back "
                            "until a thaw; 'hzctl thaw', then release");
        done(error, opaque);
        return;
    }
    audit_request(host, "release", who, name);
    if (name) {
        keys = json_array_new();
        let_go(hz_host_vm(host, name, NULL), keys);
    }
    for (guint i = 0; !name && i < vms->len; i++) {
        let_go(g_ptr_array_index(vms, i), NULL);
    }
    r = g_new0(Release, 1);
    r->done = done;
    r->opaque = opaque;
    hz_actuators_forget(host, keys, released, r);
}

/* -- modes -------------------------------------------------------------- */

static gboolean set_vm_mode(HzHost *host, const char *name, HzMode mode, GError **error)
{
    HzVm *vm = hz_host_vm(host, name, error);

    if (vm) {
        vm->mode = mode;
        vm->released = FALSE;
    }
    return vm != NULL;
}

static gboolean set_actuator_mode(HzHost *host, const char *name, HzMode mode, GError **error)
{
    if (!hz_actuators_set_mode(host, name, mode)) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_NOT_FOUND,
                    "no actuator '%s' is known here: 'vnic' is", name);
        return FALSE;
    }
    return TRUE;
}

static void set_host_mode(HzHost *host, HzMode mode)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);

    host->mode = mode == HZ_MODE_UNSET ? host->config->mode : mode;
    for (guint i = 0; i < vms->len; i++) {
        ((HzVm *)g_ptr_array_index(vms, i))->released = FALSE;
    }
}

gboolean hz_admin_set_mode(HzHost *host, const char *vm, const char *actuator, HzMode mode,
                           const char *who, GError **error)
{
    g_autofree char *about = g_strdup_printf("%s: %s", vm ? vm : actuator ? actuator : "host",
                                             hz_mode_name(mode));
    gboolean ok = TRUE;

    if (vm && actuator) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                    "the mode of what? give 'vm' or 'actuator', or neither for the host");
        return FALSE;
    }
    if (vm) {
        ok = set_vm_mode(host, vm, mode, error);
    } else if (actuator) {
        ok = set_actuator_mode(host, actuator, mode, error);
    } else {
        set_host_mode(host, mode);
    }
    if (!ok) {
        return FALSE;
    }
    audit_request(host, "set-mode", who, about);
    if (!host->frozen) {
        hz_actuators_configure(host);
    }
    hz_plan_kick(host);
    return TRUE;
}

/* -- reload ------------------------------------------------------------- */

static gboolean same_places(const HzConfig *a, const HzConfig *b, GError **error)
{
    const char *what = g_strcmp0(a->run_dir, b->run_dir) ? "run-dir"
                       : g_strcmp0(a->state_dir, b->state_dir) ? "state-dir"
                       : g_strcmp0(a->audit_path, b->audit_path) ? "audit" : NULL;

    if (what) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_STATE,
                    "%s can't be changed by a reload: restart hzd", what);
    }
    return !what;
}

/* One that stands still because of us must run again before it may be forgotten. */
static gboolean may_drop(HzHost *host, const HzConfig *config, GError **error)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);

    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);

        if (!hz_config_vm(config, vm->name) && hz_pause_of(vm)) {
            g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_STATE,
                        "VM %s is being paused: it can't go before it runs again", vm->name);
            return FALSE;
        }
    }
    return TRUE;
}

/* VMs that are configured no more go, new ones come, the others take up their new values. */
static gboolean take_vms(HzHost *host, HzConfig *config, GError **error)
{
    g_autoptr(GPtrArray) old = hz_host_vms_sorted(host);

    for (guint i = 0; i < config->vms->len; i++) {
        const HzConfigVm *conf = g_ptr_array_index(config->vms, i);
        HzVm *vm = g_hash_table_lookup(host->vms, conf->name);

        if (vm) {
            continue;
        }
        vm = hz_vm_new(host, conf, error);
        if (!vm) {
            g_prefix_error(error, "VM %s: ", conf->name);
            return FALSE;
        }
        g_hash_table_insert(host->vms, vm->name, vm);
    }
    for (guint i = 0; i < old->len; i++) {
        HzVm *vm = g_ptr_array_index(old, i);
        const HzConfigVm *conf = hz_config_vm(config, vm->name);

        if (conf) {
            hz_vm_reconfigure(vm, conf);
        }
    }
    return TRUE;
}

static void drop_vms(HzHost *host, const HzConfig *config)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);

    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);

        if (!hz_config_vm(config, vm->name)) {
            hz_notices_leave(vm);
            g_hash_table_remove(host->vms, vm->name);
        }
    }
}

gboolean hz_admin_reload(HzHost *host, const char *who, GError **error)
{
    g_autoptr(HzConfig) config = hz_config_load(host->config->path, error);
    HzConfig *old = host->config;

    audit_request(host, "reload", who, NULL);
    if (!config || !same_places(old, config, error) || !may_drop(host, config, error)) {
        return FALSE;
    }
    /* new VMs are made against the new configuration; should one fail, the old one comes back */
    host->config = config;
    if (!take_vms(host, config, error)) {
        host->config = old;
        drop_vms(host, old);
        return FALSE;
    }
    drop_vms(host, config);
    host->mode = config->mode;
    hz_actuators_set_mode(host, "vnic", HZ_MODE_UNSET);
    hz_plan_rebuild(host);
    g_steal_pointer(&config);
    hz_config_free(old);
    if (!host->frozen) {
        hz_actuators_configure(host);
    }
    return TRUE;
}

/* -- stop --------------------------------------------------------------- */

#define STOP_TIME_MS 8000

static gboolean too_long(gpointer opaque)
{
    HzHost *host = opaque;
    const char *actuator = hz_actuator_waited_for(host);

    host->stop_bound = 0;
    g_warning("stopping without having given everything back: %s%s%d ms",
              actuator ? actuator : "a paused VM",
              actuator ? ", an actuator, hasn't answered for " : " didn't run again within ",
              STOP_TIME_MS);
    hz_notices_save(host, NULL);
    g_main_loop_quit(host->loop);
    return G_SOURCE_REMOVE;
}

static gboolean when_running(gpointer opaque)
{
    HzHost *host = opaque;

    if (hz_pause_any(host)) {
        return G_SOURCE_CONTINUE;
    }
    host->stop_poll = 0;
    hz_notices_save(host, NULL);        /* no act is under way any more */
    g_main_loop_quit(host->loop);
    return G_SOURCE_REMOVE;
}

static void given_back(HzHost *host, const GError *error, G_GNUC_UNUSED gpointer opaque)
{
    if (error) {
        g_warning("not everything was given back: %s", error->message);
    }
    host->given_back = !host->frozen;
    hz_plan_tell(host);
    if (!host->stop_poll) {
        host->stop_poll = g_timeout_add(20, when_running, host);
    }
}

void hz_admin_stop(HzHost *host)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);

    if (host->releasing) {
        return;
    }
    host->releasing = TRUE;
    hz_audit(host, "stop", NULL);
    host->stop_bound = g_timeout_add(STOP_TIME_MS, too_long, host);
    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);

        for (guint k = 0; k < vm->notices->len; k++) {
            hz_pause_abort(g_ptr_array_index(vm->notices, k));
        }
    }
    /* what is frozen stays as it is, also over a stop */
    if (host->frozen) {
        given_back(host, NULL, NULL);
    } else {
        hz_actuators_forget(host, NULL, given_back, NULL);
    }
}

/* -- telling ------------------------------------------------------------ */

JsonObject *hz_admin_host_json(HzHost *host)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "mode", hz_mode_name(host->mode));
    json_object_set_boolean_member(o, "frozen", host->frozen);
    json_object_set_string_member(o, "config", host->config->path);
    json_object_set_string_member(o, "run-dir", host->config->run_dir);
    json_object_set_string_member(o, "state-dir", host->config->state_dir);
    hz_state_probe(host->state, NULL);
    if (hz_state_trouble(host->state)) {
        json_object_set_string_member(o, "state-trouble", hz_state_trouble(host->state));
    }
    hz_json_set_u64(o, "audit-lost", hz_audit_lost(host->audit));
    if (hz_audit_trouble(host->audit)) {
        json_object_set_string_member(o, "audit-trouble", hz_audit_trouble(host->audit));
    }
    hz_json_set_u64(o, "uptime-ms", (hz_now() - host->started) / HZ_MS);
    json_object_set_int_member(o, "vms", g_hash_table_size(host->vms));
    json_object_set_array_member(o, "actuators", hz_actuators_json(host));
    return o;
}
