/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd vm: one configured VM: its socket, its monitors, its mirror's upkeep. */
#include "vm.h"

#include <string.h>

#include "actuators.h"
#include "core/vocabulary.h"
#include "link.h"
#include "notices.h"
#include "pause.h"
#include "plan.h"

/* Changes by one VM that make hzd decide: so many at once, then so many a second. */
#define KICK_BURST 20.0
#define KICK_RATE 4.0
#define PAUSE_WINDOW_US (3600 * (gint64)G_USEC_PER_SEC)

static void monitor_connected(HzVmm *vmm, gpointer opaque)
{
    HzVm *vm = opaque;

    hz_link_recheck(vm);
    hz_pause_monitor(vm, vmm);
}

static void monitor_lost(HzVmm *vmm, G_GNUC_UNUSED const GError *why, gpointer opaque)
{
    HzVm *vm = opaque;

    hz_link_recheck(vm);
    hz_pause_monitor(vm, vmm);
}

static void monitor_event(HzVmm *vmm, const HzVmmEvent *event, gpointer opaque)
{
    hz_pause_event(opaque, vmm, event);
}

static const HzVmmListener monitor_listener = {
    .connected = monitor_connected, .lost = monitor_lost, .event = monitor_event,
};

static void hold_over(gpointer opaque)
{
    HzVm *vm = opaque;

    if (hz_vm_expire(vm)) {
        hz_plan_kick(vm->host);
    }
}

HzVm *hz_vm_new(HzHost *host, const HzConfigVm *conf, GError **error)
{
    HzVm *vm = g_new0(HzVm, 1);

    vm->host = host;
    vm->name = g_strdup(conf->name);
    vm->conf = conf;
    vm->mode = HZ_MODE_UNSET;
    vm->listen_fd = -1;
    vm->links = g_ptr_array_new();
    vm->vmms = g_ptr_array_new_with_free_func((GDestroyNotify)hz_vmm_close);
    vm->decls = g_ptr_array_new_with_free_func(g_free);
    vm->notices = g_ptr_array_new();
    vm->pauses = g_array_new(FALSE, FALSE, sizeof(gint64));
    vm->hold = hz_timer_new(hold_over, vm);
    if (!hz_link_listen(vm, error)) {
        hz_vm_free(vm);
        return NULL;
    }
    for (char **path = conf->qmp; *path; path++) {
        g_ptr_array_add(vm->vmms, hz_vmm_open(*path, &monitor_listener, vm));
    }
    return vm;
}

void hz_vm_free(HzVm *vm)
{
    hz_link_unlisten(vm);
    while (vm->links->len) {
        hz_link_free(g_ptr_array_index(vm->links, vm->links->len - 1));
    }
    while (vm->notices->len) {
        hz_notice_free(g_ptr_array_index(vm->notices, vm->notices->len - 1));
    }
    g_ptr_array_unref(vm->links);
    g_ptr_array_unref(vm->vmms);
    g_ptr_array_unref(vm->decls);
    g_ptr_array_unref(vm->notices);
    g_array_unref(vm->pauses);
    hz_timer_free(vm->hold);
    g_free(vm->name);
    g_free(vm);
}

/* The configuration was replaced: @conf is this VM's in the new one. Its monitors follow it. */
void hz_vm_reconfigure(HzVm *vm, const HzConfigVm *conf)
{
    gboolean same = g_strv_equal((const char *const *)vm->conf->qmp,
                                 (const char *const *)conf->qmp);

    vm->conf = conf;
    vm->mode = HZ_MODE_UNSET;
    vm->released = FALSE;
    if (same) {
        return;
    }
    hz_pause_forget_monitors(vm);
    g_ptr_array_set_size(vm->vmms, 0);
    for (char **path = conf->qmp; *path; path++) {
        g_ptr_array_add(vm->vmms, hz_vmm_open(*path, &monitor_listener, vm));
    }
}

static HzMode least(HzMode a, HzMode b)
{
    return MIN(a, b);       /* UNSET is above all others */
}

HzMode hz_vm_mode(const HzVm *vm, const char *actuator)
{
    HzMode mode = vm->host->mode;

    mode = least(mode, vm->mode != HZ_MODE_UNSET ? vm->mode : vm->conf->mode);
    if (actuator) {
        mode = least(mode, hz_actuators_mode(vm->host, actuator));
    }
    if (vm->released) {
        mode = least(mode, HZ_MODE_OBSERVE);
    }
    return mode;
}

void hz_vm_kick(HzVm *vm)
{
    if (hz_bucket_take(&vm->kicks, KICK_BURST, KICK_RATE)) {
        hz_plan_kick(vm->host);
    } else {
        vm->counters.throttled++;
        hz_plan_kick_at(vm->host, hz_now() + (uint64_t)(HZ_SEC / KICK_RATE));
    }
}

unsigned hz_vm_pauses_last_hour(HzVm *vm)
{
    gint64 since = g_get_real_time() - PAUSE_WINDOW_US;

    while (vm->pauses->len && g_array_index(vm->pauses, gint64, 0) < since) {
        g_array_remove_index(vm->pauses, 0);
    }
    return vm->pauses->len;
}
