/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl watch: events as they come, until interrupted.
 */
#include "app.h"

#include <stdio.h>
#include <string.h>

static struct {
    HzctlApp *app;
    const char *vm;
    gint64 seen;
} watching;

#define NOT_GIVEN G_MININT

static gint count_opt = NOT_GIVEN;

static const GOptionEntry watch_options[] = {
    { "count", 0, 0, G_OPTION_ARG_INT, &count_opt, "End after N events", "N" },
    { 0 },
};

/* What an event is about, in a few words. */
static char *summary(const char *name, JsonObject *data)
{
    const char *detail = hzctl_text(data, "detail");

    if (!strcmp(name, "NOTICE")) {
        return g_strdup_printf("%s %s %s%s%s%s%s", hzctl_word(data, "kind"),
                               hzctl_word(data, "state"), hzctl_word(data, "id"),
                               hzctl_text(data, "reply") ? ", reply " : "",
                               hzctl_text(data, "reply") ? hzctl_text(data, "reply") : "",
                               detail ? ": " : "", detail ? detail : "");
    }
    if (hzctl_text(data, "subject")) {
        JsonNode *n = json_object_get_member(data, hzctl_array(data, "verdicts") ? "verdicts"
                                                                               : "fields");
        g_autofree char *text = n ? json_to_string(n, FALSE) : g_strdup("");

        return g_strdup_printf("%s %s", hzctl_text(data, "subject"), text);
    }
    return g_strdup(hzctl_text(data, "why") ? hzctl_text(data, "why") : "");
}

static void on_event(JsonObject *event, gpointer opaque)
{
    JsonObject *data = hzctl_object(event, "data"), *stamp = hzctl_object(event, "timestamp");
    const char *name = hzctl_word(event, "event");

    (void)opaque;
    if (watching.vm && g_strcmp0(hzctl_text(data, "vm"), watching.vm)) {
        return;
    }
    watching.seen++;
    if (watching.app->json) {
        g_autoptr(JsonNode) n = json_node_init_object(json_node_alloc(), event);
        g_autofree char *text = json_to_string(n, FALSE);

        puts(text);
    } else {
        g_autofree char *text = summary(name, data);
        const char *whose = hzctl_text(data, "vm");

        printf("%s  %-11s %-12s %-10s %s\n",
               hzctl_clock(hzctl_int(stamp, "seconds", 0) * G_USEC_PER_SEC
                           + hzctl_int(stamp, "microseconds", 0)),
               name, whose ? whose : hzctl_word(data, "actuator"), hzctl_word(data, "what"), text);
    }
    fflush(stdout);
}

static int cmd_watch(HzctlApp *app, char **args)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) vm = NULL;
    HzClient *client;

    if (count_opt != NOT_GIVEN && count_opt < 1) {
        return hzctl_fail(HZCTL_USAGE, "--count %d: it is at least 1", count_opt);
    }
    client = hzctl_client(app, FALSE);
    if (!client) {
        return HZCTL_ERROR;
    }
    if (args[0]) {              /* a mistyped name would wait for ever */
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "vm", args[0]);
        vm = hzctl_call(app, FALSE, "query-vm", o);
        if (!vm) {
            return HZCTL_ERROR;
        }
    }
    watching.app = app;
    watching.vm = args[0];
    hz_client_on_event(client, on_event, NULL);
    while (count_opt == NOT_GIVEN || watching.seen < count_opt) {
        if (!hz_client_wait(client, -1, &error)) {
            return hzctl_error(error);
        }
    }
    return HZCTL_OK;
}

const HzctlCommand hzctl_watch_commands[] = {
    { "watch", cmd_watch, watch_options, "[VM]", 0, 1, "events as they come" },
};
const guint hzctl_n_watch_commands = G_N_ELEMENTS(hzctl_watch_commands);
