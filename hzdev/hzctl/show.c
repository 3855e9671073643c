/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl vms, show, notices, actuators, audit and the like: what is there.
 */
#include "app.h"
#include "core/units.h"
#include "core/vocabulary.h"

#include <stdio.h>
#include <string.h>

#define HEADS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static JsonArray *array_of(JsonNode *node)
{
    return JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static JsonObject *object_of(JsonNode *node)
{
    return JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static const char *number(gint64 v)
{
    static char buffers[8][24];
    static guint next;
    char *b = buffers[next++ % G_N_ELEMENTS(buffers)];

    g_snprintf(b, sizeof(buffers[0]), "%" G_GINT64_FORMAT, v);
    return b;
}

static const char *rate_of(JsonObject *o, const char *name)
{
    return json_object_has_member(o, name) ? hzctl_rate(hzctl_int(o, name, -1)) : "-";
}

/* -- vms ----------------------------------------------------------------- */

static void print_vms(JsonNode *node)
{
    HzctlTable *t = hzctl_table_new(HEADS("VM", "TENANT", "MODE", "LINK", "RUNS", "DECLARATIONS",
                                          "OPEN-NOTICES"));
    JsonArray *vms = array_of(node);

    for (guint i = 0; i < hzctl_len(vms); i++) {
        JsonObject *vm = hzctl_at(vms, i);

        hzctl_table_row(t, hzctl_word(vm, "name"), hzctl_word(vm, "tenant"),
                        hzctl_bool(vm, "released") ? "released" : hzctl_word(vm, "mode"),
                        hzctl_word(vm, "link"), hzctl_word(vm, "run-state"),
                        number(hzctl_int(vm, "declarations", 0)),
                        number(hzctl_int(vm, "open-notices", 0)), NULL);
    }
    hzctl_table_print(t, "no VM is configured");
}

static int cmd_vms(HzctlApp *app, char **args)
{
    (void)args;
    return hzctl_answer(app, hzctl_call(app, FALSE, "query-vms", NULL), print_vms);
}

/* -- show VM ------------------------------------------------------------- */

/* A field's value as a person would type it. */
static char *field_text(const char *name, JsonNode *value)
{
    const struct hz_field *f = hz_field_by_name(name);
    char text[128];

    if (f && json_node_get_value_type(value) == G_TYPE_INT64
        && hz_unit_format(f->unit, (uint64_t)json_node_get_int(value), text, sizeof(text)) > 0) {
        return g_strdup(text);
    }
    return json_node_get_value_type(value) == G_TYPE_STRING
           ? g_strdup(json_node_get_string(value)) : json_to_string(value, FALSE);
}

static JsonObject *verdict_on(JsonArray *verdicts, const char *field)
{
    for (guint i = 0; i < hzctl_len(verdicts); i++) {
        JsonObject *v = hzctl_at(verdicts, i);

        if (!g_strcmp0(hzctl_text(v, "field"), field)) {
            return v;
        }
    }
    return NULL;
}

static void declaration_rows(HzctlTable *t, JsonObject *d)
{
    JsonObject *fields = hzctl_object(d, "fields");
    g_autoptr(GList) names = fields ? json_object_get_members(fields) : NULL;

    for (GList *i = names; i; i = i->next) {
        JsonObject *v = verdict_on(hzctl_array(d, "verdicts"), i->data);
        g_autofree char *value = field_text(i->data, json_object_get_member(fields, i->data));
        JsonNode *in_force = v ? json_object_get_member(v, "value") : NULL;
        g_autofree char *force = in_force ? field_text(i->data, in_force) : g_strdup("-");

        hzctl_table_row(t, hzctl_word(d, "subject"), (char *)i->data, value,
                        v ? hzctl_word(v, "verdict") : "pending", force,
                        v ? hzctl_word(v, "reason") : "-",
                        hzctl_bool(d, "held") ? "held" : "stands", NULL);
    }
}

static void print_declarations(JsonArray *declared)
{
    HzctlTable *t = hzctl_table_new(HEADS("SUBJECT", "FIELD", "DECLARED", "VERDICT", "IN-FORCE",
                                          "REASON", "STATE"));

    for (guint i = 0; i < hzctl_len(declared); i++) {
        if (hzctl_at(declared, i)) {
            declaration_rows(t, hzctl_at(declared, i));
        }
    }
    hzctl_table_print(t, "nothing declared");
}

static void print_nics(JsonArray *nics)
{
    HzctlTable *t = hzctl_table_new(HEADS("NIC", "IFNAME", "UPLINK", "RATE", "MIN", "RULE",
                                          "RESULT", "DETAIL"));

    for (guint i = 0; i < hzctl_len(nics); i++) {
        JsonObject *n = hzctl_at(nics, i);
        const char *why = hzctl_text(n, "why");

        hzctl_table_row(t, hzctl_word(n, "subject"), hzctl_word(n, "ifname"),
                        hzctl_word(n, "uplink"), rate_of(n, "rate"), rate_of(n, "min-in-force"),
                        hzctl_word(n, "rule"), hzctl_word(n, "result"),
                        why ? why : hzctl_word(n, "detail"), NULL);
    }
    hzctl_table_print(t, "no NIC is configured");
}

static void print_monitors(JsonArray *monitors)
{
    for (guint i = 0; i < hzctl_len(monitors); i++) {
        JsonObject *m = hzctl_at(monitors, i);
        const char *trouble = hzctl_text(m, "trouble");

        printf("monitor: %s: %s\n", hzctl_word(m, "path"),
               trouble ? trouble : hzctl_word(m, "status"));
    }
}

static char *joined(JsonArray *a)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonNode *n = json_array_get_element(a, i);

        if (json_node_get_value_type(n) == G_TYPE_STRING) {
            g_ptr_array_add(words, (gpointer)json_node_get_string(n));
        }
    }
    g_ptr_array_add(words, NULL);
    return words->len > 1 ? g_strjoinv(",", (char **)words->pdata) : g_strdup("-");
}

static void print_notice_table(JsonArray *notices)
{
    HzctlTable *t = hzctl_table_new(HEADS("VM", "ID", "KIND", "STATE", "DEADLINE", "REPLIES",
                                          "KEY", "DETAIL"));

    for (guint i = 0; i < hzctl_len(notices); i++) {
        JsonObject *n = hzctl_at(notices, i);
        g_autofree char *replies = joined(hzctl_array(n, "replied"));
        gboolean timed = json_object_has_member(n, "deadline-ms")
                         && !hzctl_object(n, "times") ? TRUE
                         : json_object_has_member(n, "deadline-ms")
                           && !hzctl_int(hzctl_object(n, "times"), "closed-us", 0);

        hzctl_table_row(t, hzctl_word(n, "vm"), hzctl_word(n, "id"), hzctl_word(n, "kind"),
                        hzctl_word(n, "state"),
                        timed ? hzctl_ms(hzctl_int(n, "deadline-ms", 0)) : "-", replies,
                        hzctl_word(n, "key"), hzctl_word(n, "why"), NULL);
    }
    hzctl_table_print(t, "no notices");
}

static void print_vm(JsonNode *node)
{
    JsonObject *vm = object_of(node);

    printf("%s: tenant %s, mode %s%s, link %s, %s\n", hzctl_word(vm, "name"),
           hzctl_word(vm, "tenant"), hzctl_word(vm, "mode"),
           hzctl_bool(vm, "released") ? " (released)" : "", hzctl_word(vm, "link"),
           hzctl_word(vm, "run-state"));
    printf("generation %s, disruption %" G_GINT64_FORMAT ", pauses in the last hour %"
           G_GINT64_FORMAT "\n", hzctl_word(vm, "generation"), hzctl_int(vm, "disruption", 0),
           hzctl_int(vm, "pauses-last-hour", 0));
    print_monitors(hzctl_array(vm, "monitors"));
    putchar('\n');
    print_declarations(hzctl_array(vm, "declared"));
    putchar('\n');
    print_nics(hzctl_array(vm, "nics"));
    putchar('\n');
    print_notice_table(hzctl_array(vm, "notices"));
}

static JsonObject *one_text(const char *name, const char *text)
{
    JsonObject *o = json_object_new();

    if (text) {
        json_object_set_string_member(o, name, text);
    }
    return o;
}

static int cmd_show(HzctlApp *app, char **args)
{
    return hzctl_answer(app, hzctl_call(app, FALSE, "query-vm", one_text("vm", args[0])), print_vm);
}

/* -- notices ------------------------------------------------------------- */

static struct {
    gboolean open;
    char *cause;
} notices_opt;

static const GOptionEntry notices_options[] = {
    { "open", 0, 0, G_OPTION_ARG_NONE, &notices_opt.open, "Only open ones", NULL },
    { "cause", 0, 0, G_OPTION_ARG_STRING, &notices_opt.cause, "Only of this cause", "KEY|ID" },
    { 0 },
};

static void print_notices(JsonNode *node)
{
    print_notice_table(array_of(node));
}

static int cmd_notices(HzctlApp *app, char **args)
{
    JsonObject *o = one_text("vm", args[0]);

    json_object_set_boolean_member(o, "open", notices_opt.open);
    if (notices_opt.cause) {
        json_object_set_string_member(o, "cause", notices_opt.cause);
    }
    return hzctl_answer(app, hzctl_call(app, FALSE, "query-notices", o), print_notices);
}

/* -- actuators ----------------------------------------------------------- */

static void print_actuators(JsonNode *node)
{
    HzctlTable *t = hzctl_table_new(HEADS("ACTUATOR", "HEALTH", "MODE", "WANTED", "PID", "PACKAGE",
                                          "LEAF", "DETAIL"));
    JsonArray *a = array_of(node);

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *o = hzctl_at(a, i);

        hzctl_table_row(t, hzctl_word(o, "name"), hzctl_word(o, "health"), hzctl_word(o, "mode"),
                        hzctl_word(o, "wanted"), number(hzctl_int(o, "pid", 0)),
                        hzctl_word(o, "package"), hzctl_word(hzctl_object(o, "configured"), "leaf"),
                        hzctl_word(o, "why"), NULL);
    }
    hzctl_table_print(t, "no actuator");
}

static int cmd_actuators(HzctlApp *app, char **args)
{
    (void)args;
    return hzctl_answer(app, hzctl_call(app, FALSE, "query-actuators", NULL), print_actuators);
}

/* -- audit --------------------------------------------------------------- */

static struct {
    char *vm, *event, *since, *until;
    gint limit;
} audit_opt = { .limit = 100 };

static const GOptionEntry audit_options[] = {
    { "vm", 0, 0, G_OPTION_ARG_STRING, &audit_opt.vm, "Only lines about this VM", "VM" },
    { "event", 0, 0, G_OPTION_ARG_STRING, &audit_opt.event, "Only of this event", "EVENT" },
    { "since", 0, 0, G_OPTION_ARG_STRING, &audit_opt.since, "From then on", "TIME|-AGO" },
    { "until", 0, 0, G_OPTION_ARG_STRING, &audit_opt.until, "Up to then", "TIME|-AGO" },
    { "limit", 0, 0, G_OPTION_ARG_INT, &audit_opt.limit, "The newest N (100)", "N" },
    { 0 },
};

static void print_audit(JsonNode *node)
{
    JsonArray *a = array_of(node);

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *o = hzctl_at(a, i);
        JsonObject *rest = json_object_new();
        g_autoptr(JsonNode) n = json_node_new(JSON_NODE_OBJECT);
        g_autoptr(GList) names = json_object_get_members(o);
        g_autofree char *text = NULL;

        for (GList *m = names; m; m = m->next) {
            if (strcmp(m->data, "time") && strcmp(m->data, "us") && strcmp(m->data, "event")) {
                json_object_set_member(rest, m->data, json_object_dup_member(o, m->data));
            }
        }
        json_node_take_object(n, rest);
        text = json_to_string(n, FALSE);
        printf("%s  %-14s %s\n", hzctl_clock(hzctl_int(o, "us", 0)), hzctl_word(o, "event"), text);
    }
}

static int cmd_audit(HzctlApp *app, char **args)
{
    JsonObject *o = one_text("vm", args[0] ? args[0] : audit_opt.vm);

    if (audit_opt.event) {
        json_object_set_string_member(o, "event", audit_opt.event);
    }
    if (audit_opt.since) {
        json_object_set_string_member(o, "since", audit_opt.since);
    }
    if (audit_opt.until) {
        json_object_set_string_member(o, "until", audit_opt.until);
    }
    json_object_set_int_member(o, "limit", audit_opt.limit);
    return hzctl_answer(app, hzctl_call(app, FALSE, "query-audit", o), print_audit);
}

/* -- capabilities, config, metrics --------------------------------------- */

static void print_commands(JsonNode *node)
{
    HzctlTable *t = hzctl_table_new(HEADS("COMMAND", "SOCKET", "WHAT"));
    JsonArray *a = array_of(node);

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *o = hzctl_at(a, i);

        hzctl_table_row(t, hzctl_word(o, "name"), hzctl_bool(o, "admin") ? "admin" : "both",
                        hzctl_word(o, "help"), NULL);
    }
    hzctl_table_print(t, NULL);
}

static int cmd_capabilities(HzctlApp *app, char **args)
{
    (void)args;
    return hzctl_answer(app, hzctl_call(app, TRUE, "query-commands", NULL), print_commands);
}

static int cmd_config(HzctlApp *app, char **args)
{
    (void)args;
    return hzctl_answer(app, hzctl_call(app, FALSE, "query-config", NULL), hzctl_print_json);
}

static void print_metrics(JsonNode *node)
{
    fputs(hzctl_word(object_of(node), "text"), stdout);
}

static int cmd_metrics(HzctlApp *app, char **args)
{
    (void)args;
    return hzctl_answer(app, hzctl_call(app, FALSE, "query-metrics", NULL), print_metrics);
}

const HzctlCommand hzctl_show_commands[] = {
    { "vms", cmd_vms, NULL, "", 0, 0, "all VMs, a line each" },
    { "show", cmd_show, NULL, "VM", 1, 1, "one VM: declarations, verdicts, NICs, notices" },
    { "notices", cmd_notices, notices_options, "[VM]", 0, 1, "notices and what came back" },
    { "actuators", cmd_actuators, NULL, "", 0, 0, "the actuators, their health and abilities" },
    { "audit", cmd_audit, audit_options, "[VM]", 0, 1, "lines of the audit log" },
    { "capabilities", cmd_capabilities, NULL, "", 0, 0, "what this hzd can be asked" },
    { "config", cmd_config, NULL, "", 0, 0, "the configuration in force" },
    { "metrics", cmd_metrics, NULL, "", 0, 0, "counters and gauges, as Prometheus reads them" },
};
const guint hzctl_n_show_commands = G_N_ELEMENTS(hzctl_show_commands);
