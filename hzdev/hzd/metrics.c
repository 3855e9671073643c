/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd metrics: counters and gauges as Prometheus text. */
#include "metrics.h"

#include <string.h>

#include "actuators.h"
#include "audit.h"
#include "core/vocabulary.h"
#include "notices.h"
#include "plan.h"
#include "state.h"
#include "vm.h"

static void head(GString *s, const char *name, const char *type, const char *help)
{
    g_string_append_printf(s, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(GString *s, const char *name, const char *type, const char *help, uint64_t v)
{
    head(s, name, type, help);
    g_string_append_printf(s, "%s %" G_GUINT64_FORMAT "\n", name, v);
}

typedef uint64_t (*VmValue)(HzVm *vm);

/* VM names are [A-Za-z0-9._-]: nothing in a label needs escaping. */
static void per_vm(GString *s, GPtrArray *vms, const char *name, const char *type,
                   const char *help, VmValue value)
{
    head(s, name, type, help);
    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);

        g_string_append_printf(s, "%s{vm=\"%s\"} %" G_GUINT64_FORMAT "\n", name, vm->name,
                               value(vm));
    }
}

#define VALUE(name, expression)             \
    static uint64_t name(HzVm *vm)          \
    {                                       \
        return (uint64_t)(expression);      \
    }

VALUE(linked, vm->synced)
VALUE(declared, vm->decls->len)
VALUE(frames_in, vm->counters.frames_in)
VALUE(frames_out, vm->counters.frames_out)
VALUE(sessions, vm->counters.sessions)
VALUE(garbage, vm->counters.garbage)
VALUE(strangers, vm->counters.strangers)
VALUE(refused, vm->counters.refused)
VALUE(throttled, vm->counters.throttled)
VALUE(pauses, hz_vm_pauses_last_hour(vm))

static uint64_t open_notices(HzVm *vm)
{
    uint64_t open = 0;

    for (guint i = 0; i < vm->notices->len; i++) {
        open += !hz_state_closed(((HzNotice *)g_ptr_array_index(vm->notices, i))->life.state);
    }
    return open;
}

static void rates(GString *s, GPtrArray *vms)
{
    head(s, "hzd_nic_rate_bytes", "gauge", "Ceiling of a vNIC in bytes per second, 0 without one.");
    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);

        for (guint k = 0; k < vm->conf->nics->len; k++) {
            const HzConfigNic *nic = g_ptr_array_index(vm->conf->nics, k);
            const HzPlanLine *line = hz_plan_line(vm->host, vm, nic->index);

            g_string_append_printf(s, "hzd_nic_rate_bytes{vm=\"%s\",nic=\"%u\"} %" G_GUINT64_FORMAT
                                   "\n", vm->name, nic->index,
                                   line && line->told ? line->told_rate : 0);
        }
    }
}

static void links(GString *s, GPtrArray *vms)
{
    per_vm(s, vms, "hzd_vm_linked", "gauge", "The VM's device speaks with hzd.", linked);
    per_vm(s, vms, "hzd_vm_declarations", "gauge", "Declarations that count.", declared);
    per_vm(s, vms, "hzd_vm_open_notices", "gauge", "Notices not closed yet.", open_notices);
    per_vm(s, vms, "hzd_vm_pauses_last_hour", "gauge", "Pauses taken in the last hour.", pauses);
    per_vm(s, vms, "hzd_link_frames_in_total", "counter", "Frames received.", frames_in);
    per_vm(s, vms, "hzd_link_frames_out_total", "counter", "Frames sent.", frames_out);
    per_vm(s, vms, "hzd_link_sessions_total", "counter", "Sessions begun.", sessions);
    per_vm(s, vms, "hzd_link_garbage_total", "counter", "Links ended for what they sent.", garbage);
    per_vm(s, vms, "hzd_link_strangers_total", "counter", "Connections refused.", strangers);
    per_vm(s, vms, "hzd_link_refused_total", "counter", "Frames the device refused.", refused);
    per_vm(s, vms, "hzd_link_throttled_total", "counter", "Times the VM was served later.",
           throttled);
}

char *hz_metrics_text(HzHost *host)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);
    GString *s = g_string_new(NULL);

    one(s, "hzd_uptime_seconds", "gauge", "Seconds since hzd started.",
        (hz_now() - host->started) / HZ_SEC);
    one(s, "hzd_frozen", "gauge", "1 while nothing may be changed.", host->frozen);
    one(s, "hzd_plans_total", "counter", "Plans sent to the vnic actuator.", hz_plan_epoch(host));
    one(s, "hzd_actuator_enforcing", "gauge", "1 while the vnic actuator enforces.",
        hz_actuator_enforcing(host, "vnic"));
    one(s, "hzd_audit_lost_total", "counter", "Audit lines that couldn't be written.",
        hz_audit_lost(host->audit));
    one(s, "hzd_state_trouble", "gauge", "1 while the state directory can't be written.",
        hz_state_trouble(host->state) != NULL);
    links(s, vms);
    rates(s, vms);
    return g_string_free(s, FALSE);
}
