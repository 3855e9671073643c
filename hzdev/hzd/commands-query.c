/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd commands that only look: both sockets have them.
 */
#include "actuators.h"
#include "admin.h"
#include "audit.h"
#include "commands-int.h"
#include "config.h"
#include "core/vocabulary.h"
#include "metrics.h"
#include "notices.h"
#include "plan.h"
#include "vm.h"

JsonObject *hz_commands_version(void);

JsonObject *hz_commands_version(void)
{
    JsonObject *o = json_object_new(), *qemu = json_object_new();
    g_auto(GStrv) parts = g_strsplit(HZ_VERSION, ".", 3);
    static const char *const names[] = { "major", "minor", "micro" };

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        gboolean there = i < g_strv_length(parts);

        json_object_set_int_member(qemu, names[i], there ? g_ascii_strtoll(parts[i], NULL, 10) : 0);
    }
    /* QMP clients look for the member "qemu"; the package says whose version it is. */
    json_object_set_object_member(o, "qemu", qemu);
    json_object_set_string_member(o, "package", "hzd");
    return o;
}

static void capabilities(HzCall *call)
{
    JsonNode *enable = call->args ? json_object_get_member(call->args, "enable") : NULL;

    if (enable && (!JSON_NODE_HOLDS_ARRAY(enable)
                   || json_array_get_length(json_node_get_array(enable)))) {
        hz_call_fail_class(call, "GenericError", "qmp_capabilities: there is no capability "
                           "to enable here");
        return;
    }
    call->caller->negotiated = TRUE;
    hz_call_return_object(call, NULL);
}

static void version(HzCall *call)
{
    hz_call_return_object(call, hz_commands_version());
}

static void commands(HzCall *call)
{
    hz_call_return_array(call, hz_commands_json(call->caller->admin));
}

static void host(HzCall *call)
{
    hz_call_return_object(call, hz_admin_host_json(call->host));
}

static void config(HzCall *call)
{
    hz_call_return_object(call, hz_config_json(call->host->config));
}

static void vms(HzCall *call)
{
    hz_call_return_array(call, hz_vms_json(call->host));
}

static void vm(HzCall *call)
{
    g_autoptr(GError) error = NULL;
    HzVm *vm = hz_host_vm(call->host, hz_arg_text(call->args, "vm"), &error);

    hz_call_end(call, vm ? hz_vm_json(vm) : NULL, error);
}

static void notices(HzCall *call)
{
    g_autoptr(GError) error = NULL;
    JsonArray *a = hz_notices_json(call->host, hz_arg_text(call->args, "vm"),
                                   hz_arg_text(call->args, "cause"),
                                   hz_arg_bool(call->args, "open"), &error);

    if (a) {
        hz_call_return_array(call, a);
    } else {
        hz_call_fail(call, error);
    }
}

static void actuators(HzCall *call)
{
    hz_call_return_array(call, hz_actuators_json(call->host));
}

#define AUDIT_LIMIT 100

/* Every word that stands as "event" in the log. */
static const char *const audit_events[] = {
    "start", "stop", "request", "command-failed", "link", "refused", "declaration", "verdict",
    "notice", "plan", "actuator", "flood", "audit-gap", NULL,
};

static gboolean audit_event_ok(const char *event, GError **error)
{
    g_autofree char *all = NULL;
    const char *near;

    if (!event || g_strv_contains(audit_events, event)) {
        return TRUE;
    }
    near = hz_nearest(event, audit_events);
    all = g_strjoinv(", ", (char **)audit_events);
    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "the log has no event '%.64s'%s%s%s",
                event, near ? "; did you mean '" : "; there are: ", near ? near : all,
                near ? "'?" : "");
    return FALSE;
}

/* A VM that is configured no more still has a past; one without a past doesn't exist. */
static gboolean audit_vm_ok(HzHost *host, const char *vm, GError **error)
{
    JsonArray *a;
    guint n;

    if (!vm || hz_host_vm(host, vm, error)) {
        return TRUE;
    }
    a = hz_audit_query(host, vm, NULL, 0, G_MAXINT64, 1, NULL);
    n = a ? json_array_get_length(a) : 0;
    g_clear_pointer(&a, json_array_unref);
    if (n) {
        g_clear_error(error);
    }
    return n > 0;
}

static void audit(HzCall *call)
{
    g_autoptr(GError) error = NULL;
    const char *name = hz_arg_text(call->args, "vm"), *event = hz_arg_text(call->args, "event");
    JsonArray *a = NULL;

    if (audit_event_ok(event, &error) && audit_vm_ok(call->host, name, &error)) {
        a = hz_audit_query(call->host, name, event, hz_arg_when(call->args, "since", 0),
                           hz_arg_when(call->args, "until", G_MAXINT64),
                           (unsigned)hz_arg_number(call->args, "limit", AUDIT_LIMIT), &error);
    }
    if (a) {
        hz_call_return_array(call, a);
    } else {
        hz_call_fail(call, error);
    }
}

static void why(HzCall *call)
{
    g_autoptr(GError) error = NULL;
    const char *name = hz_arg_text(call->args, "vm");
    JsonObject *o = NULL;

    if (hz_host_vm(call->host, name, &error) || hz_arg_has(call->args, "at")) {
        g_clear_error(&error);      /* a VM that is gone still has a past */
        o = hz_audit_why(call->host, name, hz_arg_when(call->args, "at", G_MAXINT64), &error);
    }
    hz_call_end(call, o, error);
}

static void replay(HzCall *call)
{
    g_autoptr(GError) error = NULL;
    JsonObject *world = json_object_get_object_member(call->args, "world");
    JsonObject *plan = hz_plan_replay(world, &error);

    hz_call_end(call, plan, error);
}

static void metrics(HzCall *call)
{
    JsonObject *o = json_object_new();
    g_autofree char *text = hz_metrics_text(call->host);

    json_object_set_string_member(o, "format", "prometheus");
    json_object_set_string_member(o, "text", text);
    hz_call_return_object(call, o);
}

static const HzArg capabilities_args[] = {
    { "enable", HZ_ARG_ANY, FALSE, 0, "capabilities to enable; there are none" },
};

static const HzArg vm_args[] = {
    { "vm", HZ_ARG_TEXT, TRUE, 0, "the VM's name" },
};

static const HzArg notices_args[] = {
    { "vm", HZ_ARG_TEXT, FALSE, 0, "only this VM's" },
    { "cause", HZ_ARG_TEXT, FALSE, 0, "only of this cause: its key, or a cause id" },
    { "open", HZ_ARG_BOOL, FALSE, 0, "only open ones" },
};

static const HzArg audit_args[] = {
    { "vm", HZ_ARG_TEXT, FALSE, 0, "only lines about this VM" },
    { "event", HZ_ARG_TEXT, FALSE, 0, "only this event's" },
    { "since", HZ_ARG_WHEN, FALSE, 0, "from then on" },
    { "until", HZ_ARG_WHEN, FALSE, 0, "up to then" },
    { "limit", HZ_ARG_NUMBER, FALSE, HZ_AUDIT_LIMIT_MAX, "at most so many, the newest (100)" },
};

static const HzArg why_args[] = {
    { "vm", HZ_ARG_TEXT, TRUE, 0, "the VM's name" },
    { "at", HZ_ARG_WHEN, FALSE, 0, "as it was then; default: now" },
};

static const HzArg replay_args[] = {
    { "world", HZ_ARG_OBJECT, TRUE, 0, "as query-why and the audit log have it" },
};

const HzCommand hz_query_commands[] = {
    { "qmp_capabilities", FALSE, capabilities, HZ_ARGS(capabilities_args), "end the negotiation" },
    { "query-version", FALSE, version, NULL, 0, "hzd's version" },
    { "query-commands", FALSE, commands, NULL, 0, "what this socket takes, with arguments" },
    { "query-host", FALSE, host, NULL, 0, "mode, freeze, troubles: the host as a whole" },
    { "query-config", FALSE, config, NULL, 0, "the configuration, defaults filled in" },
    { "query-vms", FALSE, vms, NULL, 0, "all VMs, a line each" },
    { "query-vm", FALSE, vm, HZ_ARGS(vm_args), "one VM: links, declarations, notices, vNICs" },
    { "query-notices", FALSE, notices, HZ_ARGS(notices_args), "notices and their replies" },
    { "query-actuators", FALSE, actuators, NULL, 0, "the actuators, their health and abilities" },
    { "query-audit", FALSE, audit, HZ_ARGS(audit_args), "lines of the audit log, newest last" },
    { "query-why", FALSE, why, HZ_ARGS(why_args), "the plan that set a VM's rates: world, rule" },
    { "query-replay", FALSE, replay, HZ_ARGS(replay_args), "decide a recorded world again" },
    { "query-metrics", FALSE, metrics, NULL, 0, "counters and gauges as Prometheus text" },
};
const guint hz_n_query_commands = G_N_ELEMENTS(hz_query_commands);
