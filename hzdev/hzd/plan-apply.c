/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd plan apply: the decision on its way to the actuator, and what became of it. */
#include <string.h>

#include "actuators.h"
#include "audit.h"
#include "json-util.h"
#include "notices.h"
#include "plan-int.h"
#include "vm.h"

/*
 * An actuator refuses a plan whole for one line below this: nobody's tiny
 * share may cost the others theirs.
 */
#define RATE_LEAST 1000u
/* A line that failed is tried again soon so often, then every time interfaces are looked at. */
#define FAILURES_QUICK 4

/* Is this line the actuator's business? In observe it is told all: it says what it would do. */
static gboolean goes_out(const HzPlanLine *line, HzMode told)
{
    if (!line->decided) {
        return FALSE;
    }
    return told != HZ_MODE_ENFORCE || hz_vm_mode(line->vm, "vnic") == HZ_MODE_ENFORCE;
}

static JsonArray *lines_json(const HzPlan *plan, HzMode told)
{
    JsonArray *a = json_array_new();

    for (guint i = 0; i < plan->lines->len; i++) {
        const HzPlanLine *line = g_ptr_array_index(plan->lines, i);
        JsonObject *o;

        if (!goes_out(line, told)) {
            continue;
        }
        o = json_object_new();
        json_object_set_string_member(o, "key", line->key);
        json_object_set_string_member(o, "ifname", line->ifname);
        json_object_set_boolean_member(o, "shape", line->plan.shape);
        hz_json_set_u64(o, "rate", line->plan.shape ? MAX(line->plan.rate, RATE_LEAST) : 0);
        hz_json_set_u64(o, "burst", line->plan.shape ? line->plan.burst : 0);
        hz_json_set_u64(o, "static-rate", line->conf->ent_max == HZ_RATE_NONE
                                          ? 0 : MAX(line->conf->ent_max, RATE_LEAST));
        json_array_add_object_element(a, o);
    }
    return a;
}

static char *text_of(JsonArray *a)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_ARRAY);

    json_node_set_array(node, a);
    return json_to_string(node, FALSE);
}

/* -- the record of it --------------------------------------------------- */

static JsonObject *line_record(const HzPlanLine *line)
{
    JsonObject *o = hz_plan_nic_json(&line->plan);

    json_object_set_string_member(o, "key", line->key);
    json_object_set_string_member(o, "vm", line->vm->name);
    json_object_set_string_member(o, "mode", hz_mode_name(hz_vm_mode(line->vm, "vnic")));
    if (line->result) {
        json_object_set_string_member(o, "result", line->result);
    }
    if (line->detail) {
        json_object_set_string_member(o, "detail", line->detail);
    }
    return o;
}

/* What was given back is told as long as it stays out of the plan. */
static gboolean recorded(const HzPlanLine *line)
{
    return line->decided || (line->vm->released && line->result);
}

/* Once a plan and its results differ from the last written: world, rule, result. */
static void record(HzPlan *plan)
{
    JsonArray *lines = json_array_new();
    g_autofree char *text = NULL;
    JsonObject *o;

    for (guint i = 0; i < plan->lines->len; i++) {
        const HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (recorded(line)) {
            json_array_add_object_element(lines, line_record(line));
        }
    }
    text = text_of(lines);
    if (!g_strcmp0(text, plan->audited) || !plan->world) {
        json_array_unref(lines);
        return;
    }
    g_free(plan->audited);
    plan->audited = g_steal_pointer(&text);
    o = json_object_new();
    json_object_set_int_member(o, "epoch", (gint64)plan->epoch);
    json_object_set_object_member(o, "world", json_object_ref(plan->world));
    json_object_set_array_member(o, "plan", lines);
    hz_audit(plan->host, "plan", o);
}

/* -- going out ---------------------------------------------------------- */

/* What became of an earlier plan is no word about a line that isn't in this one. */
static void forget_results(HzPlan *plan, HzMode told)
{
    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (!goes_out(line, told) && !line->vm->released) {
            hz_plan_line_set_result(line, NULL, NULL);
        }
    }
}

void hz_plan_apply(HzPlan *plan)
{
    HzHost *host = plan->host;
    HzMode told = hz_actuators_told(host, "vnic");
    JsonArray *lines;
    g_autofree char *text = NULL;

    if (host->frozen || hz_actuator_health(host, "vnic") != HZ_ACTUATOR_READY ||
        told == HZ_MODE_OFF || !plan->looked) {
        record(plan);
        return;
    }
    forget_results(plan, told);
    lines = lines_json(plan, told);
    text = text_of(lines);
    if (!g_strcmp0(text, plan->sent)) {
        json_array_unref(lines);
        record(plan);
        return;
    }
    g_free(plan->sent);
    plan->sent = g_steal_pointer(&text);
    plan->outstanding = TRUE;
    hz_actuators_apply(host, ++plan->epoch, lines);
}

/* -- coming back -------------------------------------------------------- */

static gboolean in_force(const HzPlanLine *line)
{
    return !g_strcmp0(line->result, "applied") || !g_strcmp0(line->result, "unchanged");
}

static void tell_rate(HzPlanLine *line)
{
    uint64_t rate = line->plan.shape ? line->plan.rate : 0;

    if (!in_force(line) || hz_vm_mode(line->vm, "vnic") != HZ_MODE_ENFORCE) {
        return;
    }
    if (line->told && line->told_rate != rate) {
        hz_notices_resource_changed(line->vm, line->conf->index, line->told_rate, rate);
    }
    line->told = TRUE;
    line->told_rate = rate;
}

static void take_result(HzPlan *plan, JsonObject *o)
{
    HzPlanLine *line = hz_plan_lines_find(plan, hz_json_text(o, "key", ""));
    const char *state = hz_json_text(o, "state", NULL);

    if (!line || !state) {
        return;
    }
    hz_plan_line_set_result(line, state, hz_json_text(o, "detail", NULL));
    line->ours = line->ours || (in_force(line) && line->plan.shape);
    tell_rate(line);
}

void hz_plan_applied(HzHost *host, uint64_t epoch, JsonArray *results)
{
    HzPlan *plan = host->plan;
    gboolean failed = FALSE;

    if (epoch != plan->epoch) {
        return;             /* a newer plan is on its way */
    }
    plan->outstanding = FALSE;
    for (guint i = 0; results && i < json_array_get_length(results); i++) {
        take_result(plan, hz_json_at(results, i));
    }
    for (guint i = 0; i < plan->lines->len; i++) {
        failed |= hz_plan_line_undone(g_ptr_array_index(plan->lines, i));
    }
    plan->failures = failed ? plan->failures + 1 : 0;
    if (failed && plan->failures <= FAILURES_QUICK) {
        hz_plan_look_soon(plan);
    }
    record(plan);
    hz_plan_tell(host);
}

void hz_plan_apply_failed(HzHost *host, uint64_t epoch, const char *why, unsigned times)
{
    HzPlan *plan = host->plan;

    if (epoch != plan->epoch) {
        return;
    }
    plan->outstanding = FALSE;
    g_clear_pointer(&plan->sent, g_free);
    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (line->decided) {
            hz_plan_line_set_result(line, "failed", why);
        }
    }
    record(plan);
    hz_plan_tell(host);
    hz_plan_kick_at(host, hz_now() + MIN(times, 30u) * HZ_SEC);
}

/* -- given back --------------------------------------------------------- */

void hz_plan_let_go(HzVm *vm)
{
    HzPlan *plan = vm->host->plan;

    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (line->vm == vm) {
            line->decided = FALSE;
            line->plan = (struct hz_plan_nic){ .id = line->id, .rate = HZ_RATE_NONE };
            hz_plan_line_set_result(line, NULL, NULL);
        }
    }
}

void hz_plan_released(HzHost *host, const GError *error)
{
    HzPlan *plan = host->plan;

    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (line->vm->released && !line->result) {
            hz_plan_line_set_result(line, error ? "failed" : "released",
                                    error ? error->message : NULL);
        }
    }
    record(plan);
}

JsonArray *hz_plan_vm_json(const HzVm *vm)
{
    HzPlan *plan = vm->host->plan;
    JsonArray *a = json_array_new();

    for (guint i = 0; i < plan->lines->len; i++) {
        const HzPlanLine *line = g_ptr_array_index(plan->lines, i);
        JsonObject *o;

        if (line->vm != vm) {
            continue;
        }
        o = line_record(line);
        json_object_set_string_member(o, "subject", line->subject);
        json_object_set_string_member(o, "ifname", line->ifname);
        json_object_set_string_member(o, "uplink", line->conf->uplink);
        json_object_set_boolean_member(o, "exists", line->exists);
        json_object_set_boolean_member(o, "shapeable", line->shapeable);
        json_object_set_boolean_member(o, "ours", line->ours);
        hz_json_set_u64(o, "ent-min", line->conf->ent_min);
        if (line->conf->ent_max != HZ_RATE_NONE) {
            hz_json_set_u64(o, "ent-max", line->conf->ent_max);
        }
        json_object_set_int_member(o, "ent-weight", line->conf->ent_weight);
        if (line->why) {
            json_object_set_string_member(o, "why", line->why);
        }
        json_array_add_object_element(a, o);
    }
    return a;
}
