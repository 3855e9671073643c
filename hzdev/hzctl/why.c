/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl why: which rule set a VM's rates, now or at a time in the past.
 */
#include "app.h"

#include <stdio.h>
#include <string.h>

static char *at_opt;
static gboolean replay_opt;

static const GOptionEntry why_options[] = {
    { "at", 0, 0, G_OPTION_ARG_STRING, &at_opt, "As it was then: 2026-12-01T09:00:00Z, -5m",
      "TIME|-AGO" },
    { "replay", 0, 0, G_OPTION_ARG_NONE, &replay_opt,
      "Decide the recorded world again: is it the same plan?", NULL },
    { 0 },
};

static const struct {
    const char *rule, *text;
} rules[] = {
    { "unshaped", "no ceiling: nobody on its uplink declared anything, or it can't be shaped" },
    { "max", "its own declared maximum" },
    { "entitlement", "the most the operator lets it have" },
    { "share", "its weighted share of what the minimums left of the uplink" },
    { "min", "exactly its minimum: nothing was left to share" },
    { "min-cut", "less than its minimum: the minimums on the uplink don't all fit" },
};

static const char *rule_text(const char *rule)
{
    for (guint i = 0; i < G_N_ELEMENTS(rules); i++) {
        if (!g_strcmp0(rule, rules[i].rule)) {
            return rules[i].text;
        }
    }
    return "a rule this hzctl doesn't know";
}

/* The world's row with a plan line's id. */
static JsonObject *world_nic(JsonObject *world, JsonObject *line)
{
    JsonArray *nics = hzctl_array(world, "nics");
    JsonNode *id = line ? json_object_get_member(line, "id") : NULL;

    for (guint i = 0; id && i < hzctl_len(nics); i++) {
        JsonObject *nic = hzctl_at(nics, i);
        JsonNode *other = nic ? json_object_get_member(nic, "id") : NULL;

        if (other && json_node_equal(id, other)) {
            return nic;
        }
    }
    return NULL;
}

static void print_declared(JsonObject *declared)
{
    static const char *const rates[] = { "min", "max" };

    printf("  declared:   ");
    for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
        if (declared && json_object_has_member(declared, rates[i])) {
            printf("%s %s  ", rates[i], hzctl_rate(hzctl_int(declared, rates[i], -1)));
        }
    }
    if (declared && json_object_has_member(declared, "weight")) {
        printf("weight %d  ", (int)hzctl_int(declared, "weight", 0));
    }
    if (declared && json_object_has_member(declared, "priority")) {
        printf("priority %d", (int)hzctl_int(declared, "priority", 0));
    }
    puts(declared ? "" : "nothing");
}

static void print_uplink(JsonObject *world, gint64 id)
{
    JsonArray *uplinks = hzctl_array(world, "uplinks"), *nics = hzctl_array(world, "nics");
    guint on = 0, declared = 0;

    for (guint i = 0; i < hzctl_len(nics); i++) {
        JsonObject *nic = hzctl_at(nics, i);

        if (hzctl_int(nic, "uplink", -1) == id) {
            on++;
            declared += hzctl_object(nic, "declared") != NULL;
        }
    }
    for (guint i = 0; i < hzctl_len(uplinks); i++) {
        JsonObject *u = hzctl_at(uplinks, i);

        if (hzctl_int(u, "id", -1) == id) {
            printf("  uplink:     %s, %u NICs on it, %u of them declared something\n",
                   hzctl_rate(hzctl_int(u, "capacity", -1)), on, declared);
        }
    }
}

static void print_line(JsonObject *world, JsonObject *line)
{
    JsonObject *nic = world_nic(world, line);
    gboolean shape = hzctl_bool(line, "shape");

    printf("%s: %s\n", hzctl_word(line, "key"),
           shape ? hzctl_rate(hzctl_int(line, "rate", -1)) : "no ceiling");
    printf("  because:    %s (%s)\n", rule_text(hzctl_text(line, "rule")),
           hzctl_word(line, "rule"));
    print_declared(hzctl_object(nic, "declared"));
    if (nic) {
        gboolean limited = json_object_has_member(nic, "ent-max")
                           && hzctl_int(nic, "ent-max", -1) >= 0;

        printf("  entitled:   min up to %s, max %s, weight up to %d\n",
               hzctl_rate(hzctl_int(nic, "ent-min", 0)),
               limited ? hzctl_rate(hzctl_int(nic, "ent-max", -1)) : "none",
               (int)hzctl_int(nic, "ent-weight", 0));
        print_uplink(world, hzctl_int(nic, "uplink", -1));
    }
    printf("  made real:  %s%s%s, mode %s\n", hzctl_word(line, "result"),
           hzctl_text(line, "detail") ? ": " : "",
           hzctl_text(line, "detail") ? hzctl_text(line, "detail") : "", hzctl_word(line, "mode"));
}

/* -- again --------------------------------------------------------------- */

static JsonObject *line_of(JsonArray *plan, JsonNode *id)
{
    for (guint i = 0; i < hzctl_len(plan); i++) {
        JsonObject *line = hzctl_at(plan, i);
        JsonNode *other = line ? json_object_get_member(line, "id") : NULL;

        if (other && json_node_equal(other, id)) {
            return line;
        }
    }
    return NULL;
}

/* What decide() alone makes of a NIC. */
static gboolean same_line(JsonObject *a, JsonObject *b)
{
    static const char *const members[] = { "shape", "rate", "burst", "min-in-force", "rule" };

    for (guint i = 0; i < G_N_ELEMENTS(members); i++) {
        JsonNode *x = json_object_get_member(a, members[i]);
        JsonNode *y = json_object_get_member(b, members[i]);

        if (!x != !y || (x && !json_node_equal(x, y))) {
            return FALSE;
        }
    }
    return TRUE;
}

static int replay(HzctlApp *app, JsonObject *why)
{
    JsonArray *plan = hzctl_array(why, "plan"), *again;
    JsonObject *arguments = json_object_new();
    JsonObject *world = hzctl_object(why, "world");
    g_autoptr(JsonNode) answer = NULL;
    guint differ = 0;

    json_object_set_object_member(arguments, "world", world ? json_object_ref(world)
                                                            : json_object_new());
    answer = hzctl_call(app, FALSE, "query-replay", arguments);
    if (!answer) {
        return HZCTL_ERROR;
    }
    again = hzctl_array(json_node_get_object(answer), "plan");
    for (guint i = 0; i < hzctl_len(plan); i++) {
        JsonObject *line = hzctl_at(plan, i);
        JsonNode *id = line ? json_object_get_member(line, "id") : NULL;
        JsonObject *other = id ? line_of(again, id) : NULL;

        if (!other || !same_line(line, other)) {
            hzctl_fail(HZCTL_ERROR, "%s: decided again it would differ", hzctl_word(line, "key"));
            differ++;
        }
    }
    if (!differ && !app->json) {
        puts("decided again: the same plan");
    }
    return differ ? HZCTL_ERROR : HZCTL_OK;
}

/* -- why ----------------------------------------------------------------- */

static const char *nic_wanted;      /* its key's end, "/nic/0"; NULL: all */
static guint printed;

static void print_why(JsonNode *node)
{
    JsonObject *o = json_node_get_object(node);
    JsonArray *plan = hzctl_array(o, "plan");

    printf("decided %s (epoch %" G_GINT64_FORMAT ")\n", hzctl_clock(hzctl_int(o, "us", 0)),
           hzctl_int(o, "epoch", 0));
    for (guint i = 0; i < hzctl_len(plan); i++) {
        JsonObject *line = hzctl_at(plan, i);

        if (!nic_wanted || g_str_has_suffix(hzctl_word(line, "key"), nic_wanted)) {
            print_line(hzctl_object(o, "world"), line);
            printed++;
        }
    }
}

static int cmd_why(HzctlApp *app, char **args)
{
    JsonObject *o = json_object_new();
    g_autofree char *suffix = args[1] ? g_strdup_printf("/%s", args[1]) : NULL;
    g_autoptr(JsonNode) node = NULL;
    int rc;

    json_object_set_string_member(o, "vm", args[0]);
    if (at_opt) {
        json_object_set_string_member(o, "at", at_opt);
    }
    nic_wanted = suffix;
    node = hzctl_call(app, FALSE, "query-why", o);
    rc = hzctl_answer(app, node ? json_node_copy(node) : NULL, print_why);
    if (!rc && replay_opt) {
        rc = replay(app, json_node_get_object(node));
    }
    if (!rc && !app->json && !printed) {
        return hzctl_fail(HZCTL_ERROR, "VM '%s' has no %s there", args[0],
                          args[1] ? args[1] : "NIC");
    }
    return rc;
}

const HzctlCommand hzctl_why_commands[] = {
    { "why", cmd_why, why_options, "VM [nic/N]", 1, 2, "which rule set a VM's rates" },
};
const guint hzctl_n_why_commands = G_N_ELEMENTS(hzctl_why_commands);
