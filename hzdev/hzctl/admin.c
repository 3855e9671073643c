/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl freeze, thaw, release, mode, reload: over the whole host.
 */
#include "app.h"

#include <stdio.h>

static const char *done_text;

static void print_done(JsonNode *node)
{
    (void)node;
    puts(done_text);
}

static int simple(HzctlApp *app, const char *command, JsonObject *arguments, const char *text)
{
    done_text = text;
    return hzctl_answer(app, hzctl_call(app, TRUE, command, arguments), print_done);
}

static int cmd_freeze(HzctlApp *app, char **args)
{
    (void)args;
    return simple(app, "freeze", NULL, "frozen: nothing is changed until hzctl thaw");
}

static int cmd_thaw(HzctlApp *app, char **args)
{
    (void)args;
    return simple(app, "thaw", NULL, "thawed");
}

static int cmd_release(HzctlApp *app, char **args)
{
    JsonObject *o = json_object_new();

    if (args[0]) {
        json_object_set_string_member(o, "vm", args[0]);
    }
    return simple(app, "release", o, "released: as it was before hz, until reload or mode");
}

static int cmd_reload(HzctlApp *app, char **args)
{
    (void)args;
    return simple(app, "reload", NULL, "reloaded");
}

static struct {
    char *vm, *actuator;
} mode_opt;

static const GOptionEntry mode_options[] = {
    { "vm", 0, 0, G_OPTION_ARG_STRING, &mode_opt.vm, "This VM's mode, not the host's", "VM" },
    { "actuator", 0, 0, G_OPTION_ARG_STRING, &mode_opt.actuator, "This actuator's mode", "NAME" },
    { 0 },
};

static void print_mode(JsonNode *node)
{
    JsonObject *o = json_node_get_object(node);
    JsonArray *actuators = hzctl_array(o, "actuators");

    if (!mode_opt.actuator) {
        printf("host: %s%s\n", hzctl_word(o, "mode"), hzctl_bool(o, "frozen") ? " (frozen)" : "");
    }
    for (guint i = 0; i < hzctl_len(actuators); i++) {
        JsonObject *a = hzctl_at(actuators, i);

        if (mode_opt.actuator && g_strcmp0(mode_opt.actuator, hzctl_text(a, "name"))) {
            continue;
        }
        printf("actuator %s: %s%s\n", hzctl_word(a, "name"), hzctl_word(a, "mode"),
               hzctl_bool(a, "fallen-back") ? " (fallen back)" : "");
    }
}

static void print_vm_mode(JsonNode *node)
{
    JsonObject *o = json_node_get_object(node);

    printf("VM %s: %s%s\n", hzctl_word(o, "name"), hzctl_word(o, "mode"),
           hzctl_bool(o, "released") ? " (released)" : "");
}

static gboolean has_actuator(JsonObject *host, const char *name)
{
    JsonArray *a = hzctl_array(host, "actuators");

    for (guint i = 0; i < hzctl_len(a); i++) {
        if (!g_strcmp0(hzctl_text(hzctl_at(a, i), "name"), name)) {
            return TRUE;
        }
    }
    return FALSE;
}

/* What is in force: for the host and all actuators, for one of them, for a VM. */
static int show_mode(HzctlApp *app)
{
    JsonObject *o;
    JsonNode *host;

    if (mode_opt.vm) {
        o = json_object_new();
        json_object_set_string_member(o, "vm", mode_opt.vm);
        return hzctl_answer(app, hzctl_call(app, FALSE, "query-vm", o), print_vm_mode);
    }
    host = hzctl_call(app, FALSE, "query-host", NULL);
    if (host && mode_opt.actuator
        && !has_actuator(json_node_get_object(host), mode_opt.actuator)) {
        json_node_unref(host);
        return hzctl_fail(HZCTL_ERROR, "mode: no actuator '%s' is known here", mode_opt.actuator);
    }
    return hzctl_answer(app, host, print_mode);
}

static int cmd_mode(HzctlApp *app, char **args)
{
    JsonObject *o;

    if (mode_opt.vm && mode_opt.actuator) {
        return hzctl_fail(HZCTL_USAGE, "mode: --vm or --actuator, not both at once");
    }
    if (!args[0]) {
        return show_mode(app);
    }
    o = json_object_new();
    json_object_set_string_member(o, "mode", args[0]);
    if (mode_opt.vm) {
        json_object_set_string_member(o, "vm", mode_opt.vm);
    }
    if (mode_opt.actuator) {
        json_object_set_string_member(o, "actuator", mode_opt.actuator);
    }
    return simple(app, "set-mode", o, "set, until the next start or reload");
}

int hzctl_doctor(HzctlApp *app, char **args);

const HzctlCommand hzctl_admin_commands[] = {
    { "freeze", cmd_freeze, NULL, "", 0, 0, "stop all change; survives restarts" },
    { "thaw", cmd_thaw, NULL, "", 0, 0, "end a freeze" },
    { "release", cmd_release, NULL, "[VM]", 0, 1, "restore the state before hz" },
    { "mode", cmd_mode, mode_options, "[off|observe|enforce|unset]", 0, 1, "show or set the mode" },
    { "reload", cmd_reload, NULL, "", 0, 0, "read the configuration again" },
    { "doctor", hzctl_doctor, NULL, "", 0, 0, "look for what keeps hz from working here" },
};
const guint hzctl_n_admin_commands = G_N_ELEMENTS(hzctl_admin_commands);
