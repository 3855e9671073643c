/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands to the vnic actuator, a JSON line each, in a network namespace of
 * its own: a rate for eth0 that the fuzzer makes up reaches no one's eth0.
 *
 * Every command ends in a value or in an error that says something.
 */
#define _GNU_SOURCE         /* unshare */
#include "commands.h"
#include "fuzz.h"
#include "json/channel.h"

#include <sched.h>
#include <string.h>

static HzSession session;

static void on_changed(const char *key, const char *what, const char *action, gpointer unused)
{
    (void)unused;
    CHECK(key && what && action);
}

static GLogWriterOutput quiet(GLogLevelFlags level, const GLogField *fields, gsize n,
                              gpointer unused)
{
    if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) {
        g_log_writer_standard_streams(level, fields, n, unused);
        abort();
    }
    return G_LOG_WRITER_HANDLED;
}

static void set_up(void)
{
    g_autoptr(GError) error = NULL;

    g_log_set_writer_func(quiet, NULL, NULL);
    if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
        /* Without one nothing may be tried. */
        printf("1..0 # SKIP no network namespace to be had\n");
        exit(0);
    }
    session.vnic = hz_vnic_new(on_changed, NULL, &error);
    CHECK(session.vnic);
}

static void execute(const char *text, size_t len)
{
    g_autoptr(GError) error = NULL;
    JsonObject *message = hz_json_parse(text, len, NULL);
    JsonObject *arguments = NULL;
    JsonNode *value, *node;

    if (!message) {
        return;
    }
    node = json_object_get_member(message, "arguments");
    if (node && JSON_NODE_HOLDS_OBJECT(node)) {
        arguments = json_object_ref(json_node_get_object(node));
    } else {
        arguments = json_object_new();
    }
    node = json_object_get_member(message, "execute");
    if (node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING) {
        value = hz_session_execute(&session, json_node_get_string(node), arguments, &error);
        CHECK(!value == !!error);
        CHECK(!error || error->message[0]);
        g_clear_pointer(&value, json_node_unref);
    }
    json_object_unref(arguments);
    json_object_unref(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!session.vnic) {
        set_up();
    }
    session.configured = session.applied = FALSE;
    while (size) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end ? (size_t)(end - data) : size;
        char *line = (char *)tight_copy(data, len);

        execute(line, len);
        free(line);
        data += len + !!end;
        size -= len + !!end;
    }
    hz_vnic_forget_all(session.vnic, NULL);
    return 0;
}
