/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd host: the whole of it, made and taken apart. */
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "actuators.h"
#include "audit.h"
#include "control.h"
#include "hzd.h"
#include "notices.h"
#include "plan.h"
#include "state.h"
#include "vm.h"

G_DEFINE_QUARK(hz-hzd-error, hz_hzd_error)

HzVm *hz_host_vm(HzHost *host, const char *name, GError **error)
{
    HzVm *vm = g_hash_table_lookup(host->vms, name);

    if (!vm) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_NOT_FOUND,
                    "no VM '%s' is configured here", name);
    }
    return vm;
}

static int by_name(gconstpointer a, gconstpointer b)
{
    const HzVm *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

GPtrArray *hz_host_vms_sorted(HzHost *host)
{
    GPtrArray *vms = g_ptr_array_sized_new(g_hash_table_size(host->vms));
    GHashTableIter it;
    gpointer vm;

    g_hash_table_iter_init(&it, host->vms);
    while (g_hash_table_iter_next(&it, NULL, &vm)) {
        g_ptr_array_add(vms, vm);
    }
    g_ptr_array_sort(vms, by_name);
    return vms;
}

static gboolean make_dir(const char *dir, const char *sub, int mode, GError **error)
{
    g_autofree char *path = g_build_filename(dir, sub, NULL);

    if (g_mkdir_with_parents(path, mode)) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO,
                    "%s: can't be made: %s (run-dir= moves it)", path, g_strerror(errno));
        return FALSE;
    }
    return TRUE;
}

static gboolean add_vms(HzHost *host, GError **error)
{
    for (guint i = 0; i < host->config->vms->len; i++) {
        const HzConfigVm *conf = g_ptr_array_index(host->config->vms, i);
        HzVm *vm = hz_vm_new(host, conf, error);

        if (!vm) {
            return FALSE;
        }
        g_hash_table_insert(host->vms, vm->name, vm);
    }
    return TRUE;
}

/* A freeze that can't be read may be one: nothing is changed then. */
static void read_freeze(HzHost *host)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = hz_state_read(host->state, "frozen", &error);

    host->frozen = text != NULL || error != NULL;
    if (error) {
        g_warning("is this host frozen? taken as frozen: %s", error->message);
    }
}

static gboolean start(HzHost *host, GError **error)
{
    const HzConfig *c = host->config;

    host->state = hz_state_open(c->state_dir, error);
    if (!host->state) {
        return FALSE;
    }
    host->audit = hz_audit_open(c->audit_path, error);
    if (!host->audit || !make_dir(c->run_dir, "vm", 0755, error)) {
        return FALSE;
    }
    read_freeze(host);
    host->plan = hz_plan_new(host);
    host->actuators = hz_actuators_new(host, error);
    if (!host->actuators || !add_vms(host, error)) {
        return FALSE;
    }
    hz_plan_rebuild(host);
    hz_notices_load(host);
    host->control = hz_control_new(host, error);
    return host->control != NULL;
}

HzHost *hz_host_new(HzConfig *config, GError **error)
{
    HzHost *host = g_new0(HzHost, 1);

    host->config = config;
    host->mode = config->mode;
    host->started = hz_now();
    host->vms = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)hz_vm_free);
    host->loop = g_main_loop_new(NULL, FALSE);
    if (!start(host, error)) {
        hz_host_free(host);
        return NULL;
    }
    hz_audit(host, "start", NULL);
    return host;
}

void hz_host_free(HzHost *host)
{
    if (!host) {
        return;
    }
    host->releasing = TRUE;
    g_clear_handle_id(&host->stop_bound, g_source_remove);
    g_clear_handle_id(&host->stop_poll, g_source_remove);
    g_clear_pointer(&host->control, hz_control_free);
    g_clear_pointer(&host->actuators, hz_actuators_free);
    g_clear_pointer(&host->plan, hz_plan_free);
    g_hash_table_unref(host->vms);
    hz_timer_free(host->save);
    g_free(host->saved);
    g_clear_pointer(&host->recalled, g_hash_table_unref);
    g_clear_pointer(&host->audit, hz_audit_close);
    hz_state_free(host->state);
    hz_config_free(host->config);
    g_main_loop_unref(host->loop);
    g_free(host);
}
