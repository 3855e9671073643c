/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd vm json: VMs and their links as the control socket shows them. */
#include <string.h>

#include "core/vocabulary.h"
#include "ids.h"
#include "json-util.h"
#include "link-int.h"
#include "notices.h"
#include "plan.h"
#include "redact.h"
#include "vm.h"

const char *hz_link_state_name(HzLinkState state)
{
    static const char *const names[] = {
        "parked", "silent", "waiting", "speaking", "superseded",
    };

    return names[state];
}

JsonArray *hz_links_json(const HzVm *vm)
{
    JsonArray *a = json_array_new();

    for (guint i = 0; i < vm->links->len; i++) {
        const HzLink *link = g_ptr_array_index(vm->links, i);
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "state", hz_link_state_name(link->state));
        json_object_set_int_member(o, "pid", link->pid);
        json_object_set_int_member(o, "uid", link->uid);
        hz_json_set_u64(o, "quiet-ms", (hz_now() - link->heard_at) / HZ_MS);
        if (link->state >= HZ_LINK_WAITING) {
            hz_json_set_u64(o, "disruption", link->hello.disruption);
            json_object_set_string_member(o, "run-state", link->run_state == HZ_RUN_RUNNING
                                                          ? "running" : "paused");
        }
        json_array_add_object_element(a, o);
    }
    return a;
}

static JsonArray *monitors_json(const HzVm *vm)
{
    JsonArray *a = json_array_new();

    for (guint i = 0; i < vm->vmms->len; i++) {
        HzVmm *vmm = g_ptr_array_index(vm->vmms, i);
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "path", hz_vmm_where(vmm));
        json_object_set_boolean_member(o, "connected", hz_vmm_connected(vmm));
        json_object_set_string_member(o, "state", hz_vmm_state_name(hz_vmm_state(vmm)));
        json_object_set_string_member(o, "status", hz_vmm_status(vmm));
        if (hz_vmm_trouble(vmm)) {
            json_object_set_string_member(o, "trouble", hz_vmm_trouble(vmm));
        }
        json_array_add_object_element(a, o);
    }
    return a;
}

static JsonArray *declarations_json(const HzVm *vm)
{
    JsonArray *a = json_array_new();

    for (guint i = 0; i < vm->decls->len; i++) {
        const HzDecl *decl = g_ptr_array_index(vm->decls, i);
        gboolean judged = decl->want.seq == decl->d.seq;
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "subject", (const char *)decl->subject);
        hz_json_set_u64(o, "seq", decl->d.seq);
        json_object_set_object_member(o, "fields", hz_json_doc(decl->d.doc, decl->d.doc_len));
        json_object_set_array_member(o, "verdicts",
                                     hz_json_verdicts(decl->want.verdict,
                                                      judged ? decl->want.verdicts : 0));
        json_object_set_boolean_member(o, "pending", !judged);
        json_object_set_boolean_member(o, "held", decl->gone_at != 0 || vm->lost_at != 0);
        json_array_add_object_element(a, o);
    }
    return a;
}

static JsonObject *counters_json(const HzVmCounters *c)
{
    JsonObject *o = json_object_new();

    hz_json_set_u64(o, "frames-in", c->frames_in);
    hz_json_set_u64(o, "frames-out", c->frames_out);
    hz_json_set_u64(o, "sessions", c->sessions);
    hz_json_set_u64(o, "garbage", c->garbage);
    hz_json_set_u64(o, "strangers", c->strangers);
    hz_json_set_u64(o, "refused", c->refused);
    hz_json_set_u64(o, "throttled", c->throttled);
    return o;
}

static const char *link_word(const HzVm *vm)
{
    if (vm->link) {
        return vm->synced ? "up" : "syncing";
    }
    for (guint i = 0; i < vm->links->len; i++) {
        const HzLink *link = g_ptr_array_index(vm->links, i);

        if (link->state != HZ_LINK_PARKED) {
            return "standby";
        }
    }
    return "down";
}

/* By the link's word; without one by a monitor's; else nobody knows. */
static const char *run_state(const HzVm *vm)
{
    if (vm->link) {
        return vm->run_state == HZ_RUN_RUNNING ? "running" : "paused";
    }
    for (guint i = 0; i < vm->vmms->len; i++) {
        HzVmmState state = hz_vmm_state(g_ptr_array_index(vm->vmms, i));

        if (state == HZ_VMM_RUNNING || state == HZ_VMM_PAUSED) {
            return hz_vmm_state_name(state);
        }
    }
    return "unknown";
}

static void set_summary(JsonObject *o, const HzVm *vm)
{
    unsigned open = 0;

    for (guint i = 0; i < vm->notices->len; i++) {
        open += !hz_state_closed(((HzNotice *)g_ptr_array_index(vm->notices, i))->life.state);
    }
    json_object_set_string_member(o, "name", vm->name);
    json_object_set_string_member(o, "tenant", vm->conf->tenant);
    json_object_set_string_member(o, "mode", hz_mode_name(hz_vm_mode(vm, NULL)));
    json_object_set_boolean_member(o, "released", vm->released);
    json_object_set_string_member(o, "link", link_word(vm));
    json_object_set_string_member(o, "run-state", run_state(vm));
    json_object_set_int_member(o, "declarations", vm->decls->len);
    json_object_set_int_member(o, "open-notices", open);
    if (vm->has_hello) {
        hz_json_set_id(o, "generation", vm->hello.generation);
        hz_json_set_u64(o, "disruption", vm->hello.disruption);
    }
}

JsonArray *hz_vms_json(HzHost *host)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);
    JsonArray *a = json_array_new();

    for (guint i = 0; i < vms->len; i++) {
        JsonObject *o = json_object_new();

        set_summary(o, g_ptr_array_index(vms, i));
        json_array_add_object_element(a, o);
    }
    return a;
}

JsonObject *hz_vm_json(HzVm *vm)
{
    JsonObject *o = json_object_new();
    JsonArray *notices = json_array_new();

    set_summary(o, vm);
    if (vm->conf->has_uuid) {
        hz_json_set_id(o, "uuid", vm->conf->uuid);
    }
    json_object_set_int_member(o, "priority", vm->conf->priority);
    json_object_set_int_member(o, "granularity", hz_redact_granularity(vm));
    json_object_set_int_member(o, "pauses-last-hour", hz_vm_pauses_last_hour(vm));
    if (vm->status_seen) {
        json_object_set_int_member(o, "resets", vm->status.resets);
        json_object_set_string_member(o, "reason", hz_why_name(vm->status.reason));
    }
    json_object_set_array_member(o, "links", hz_links_json(vm));
    json_object_set_array_member(o, "monitors", monitors_json(vm));
    json_object_set_array_member(o, "declared", declarations_json(vm));
    json_object_set_array_member(o, "nics", hz_plan_vm_json(vm));
    for (guint i = 0; i < vm->notices->len; i++) {
        json_array_add_object_element(notices, hz_notice_json(g_ptr_array_index(vm->notices, i)));
    }
    json_object_set_array_member(o, "notices", notices);
    json_object_set_object_member(o, "counters", counters_json(&vm->counters));
    return o;
}
