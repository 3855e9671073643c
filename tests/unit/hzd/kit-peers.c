/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd test kit: a monitor as QEMU's, and a vnic actuator in memory. */
#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit.h"

/* -- monitor ------------------------------------------------------------ */

static JsonObject *object(const char *name, const char *text)
{
    JsonObject *o = json_object_new();

    if (name) {
        json_object_set_string_member(o, name, text);
    }
    return o;
}

static void answer(HzChannel *channel, JsonObject *message, JsonObject *value)
{
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    JsonNode *id = json_object_get_member(message, "id");

    json_node_take_object(node, value ? value : json_object_new());
    hz_channel_return(channel, id ? json_node_copy(id) : NULL, node);
}

static void monitor_event(Monitor *m, const char *name)
{
    for (guint i = 0; i < m->channels->len; i++) {
        hz_channel_event(g_ptr_array_index(m->channels, i), name, NULL);
    }
}

void monitor_set_running(Monitor *m, gboolean running)
{
    if (m->running != running) {
        m->running = running;
        monitor_event(m, running ? "RESUME" : "STOP");
    }
}

static void refuse(HzChannel *channel, JsonObject *message)
{
    JsonNode *id = json_object_get_member(message, "id");

    hz_channel_error(channel, id ? json_node_copy(id) : NULL, "GenericError", "not now");
}

static void command(HzChannel *channel, JsonObject *message, gpointer opaque)
{
    Monitor *m = opaque;
    const char *name = hz_json_text(message, "execute", "");
    gboolean stop = !strcmp(name, "stop"), cont = !strcmp(name, "cont");

    m->stops += stop;
    m->conts += cont;
    if ((stop && m->refuse_stop) || (cont && m->refuse_cont)) {
        refuse(channel, message);
    } else if (stop || cont) {
        monitor_set_running(m, cont);
        answer(channel, message, NULL);
    } else if (!strcmp(name, "query-status")) {
        JsonObject *o = object("status", m->running ? "running" : "paused");

        json_object_set_boolean_member(o, "running", m->running);
        answer(channel, message, o);
    } else {
        m->others += strcmp(name, "qmp_capabilities") != 0;
        answer(channel, message, NULL);
    }
}

static void monitor_closed(HzChannel *channel, G_GNUC_UNUSED const GError *why, gpointer opaque)
{
    Monitor *m = opaque;

    g_ptr_array_remove(m->channels, channel);
    hz_channel_unref(channel);
}

static const HzChannelOps monitor_ops = { .message = command, .closed = monitor_closed };

static gboolean monitor_accept(int listen_fd, G_GNUC_UNUSED GIOCondition cond, gpointer opaque)
{
    Monitor *m = opaque;
    int fd = accept(listen_fd, NULL, NULL);
    HzChannel *channel;
    JsonObject *greeting = json_object_new(), *qmp = json_object_new();

    g_assert_cmpint(fd, >=, 0);
    channel = hz_channel_new(fd, &monitor_ops, m);
    g_ptr_array_add(m->channels, channel);
    json_object_set_object_member(qmp, "version", json_object_new());
    json_object_set_array_member(qmp, "capabilities", json_array_new());
    json_object_set_object_member(greeting, "QMP", qmp);
    hz_channel_send(channel, greeting);
    return G_SOURCE_CONTINUE;
}

Monitor *monitor_new(const Kit *kit, const char *name)
{
    Monitor *m = g_new0(Monitor, 1);
    g_autoptr(GError) error = NULL;

    m->path = kit_path(kit, name);
    m->channels = g_ptr_array_new();
    m->running = TRUE;
    m->fd = hz_unix_listen(m->path, 0600, &error);
    g_assert_no_error(error);
    m->source = g_unix_fd_add(m->fd, G_IO_IN, monitor_accept, m);
    return m;
}

void monitor_free(Monitor *m)
{
    g_source_remove(m->source);
    close(m->fd);
    for (guint i = 0; i < m->channels->len; i++) {
        hz_channel_drop(g_ptr_array_index(m->channels, i));
    }
    g_ptr_array_unref(m->channels);
    g_free(m->path);
    g_free(m);
}

/* -- vnic --------------------------------------------------------------- */

static GHashTable *lines_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                 (GDestroyNotify)json_object_unref);
}

static JsonObject *observe_one(Vnic *v, JsonObject *asked)
{
    const char *key = hz_json_text(asked, "key", "");
    JsonObject *line = g_hash_table_lookup(v->lines, key), *o = object("key", key);

    json_object_set_string_member(o, "ifname", hz_json_text(asked, "ifname", ""));
    json_object_set_boolean_member(o, "exists", !v->absent);
    json_object_set_boolean_member(o, "shapeable", !v->unshapeable);
    json_object_set_boolean_member(o, "ours", line != NULL);
    if (line) {
        json_object_set_int_member(o, "rate", hz_json_int(line, "rate", 0));
    }
    return o;
}

static JsonObject *observe(Vnic *v, JsonObject *arguments)
{
    JsonArray *keys = hz_json_array(arguments, "keys"), *lines = json_array_new();
    JsonObject *o = json_object_new();

    v->observes++;
    for (guint i = 0; i < json_array_get_length(keys); i++) {
        json_array_add_object_element(lines, observe_one(v, hz_json_at(keys, i)));
    }
    json_object_set_array_member(o, "lines", lines);
    return o;
}

static JsonObject *apply(Vnic *v, JsonObject *arguments)
{
    JsonArray *plan = hz_json_array(arguments, "plan"), *results = json_array_new();
    JsonObject *o = json_object_new();
    gboolean enforce = !g_strcmp0(v->mode, "enforce");

    v->applies++;
    g_autoptr(GHashTable) old = v->lines;

    if (enforce) {
        v->lines = lines_new();
    } else {
        g_hash_table_ref(old);
    }
    for (guint i = 0; i < json_array_get_length(plan); i++) {
        JsonObject *line = hz_json_at(plan, i);
        const char *key = hz_json_text(line, "key", "");
        JsonObject *result = object("key", key);

        json_object_set_string_member(result, "state", v->fail ? "failed"
                                                       : enforce ? "applied" : "would-apply");
        json_array_add_object_element(results, result);
        if (enforce && !v->fail && hz_json_bool(line, "shape", FALSE)) {
            g_hash_table_insert(v->lines, g_strdup(key), json_object_ref(line));
        }
    }
    v->lifted += g_hash_table_size(v->lines) < g_hash_table_size(old);
    json_object_set_array_member(o, "results", results);
    return o;
}

static JsonObject *forget(Vnic *v, JsonObject *arguments)
{
    JsonArray *keys = hz_json_array(arguments, "keys");

    v->forgets++;
    if (hz_json_bool(arguments, "all", FALSE)) {
        g_hash_table_remove_all(v->lines);
    }
    for (guint i = 0; keys && i < json_array_get_length(keys); i++) {
        g_hash_table_remove(v->lines, json_array_get_string_element(keys, i));
    }
    return NULL;
}

static void vnic_command(HzChannel *channel, JsonObject *message, gpointer opaque)
{
    Vnic *v = opaque;
    const char *name = hz_json_text(message, "execute", "");
    JsonObject *arguments = hz_json_object(message, "arguments"), *value = NULL;

    if (v->hung || !*name) {
        return;             /* not a command: why hzd won't have it */
    }
    if (!strcmp(name, "configure")) {
        v->configures++;
        g_free(v->mode);
        v->mode = g_strdup(hz_json_text(arguments, "mode", NULL));
        value = object("leaf", "pfifo");
    } else if (!strcmp(name, "observe")) {
        value = observe(v, arguments);
    } else if (!strcmp(name, "apply") && v->refuse) {
        v->applies++;
        refuse(channel, message);
        return;
    } else if (!strcmp(name, "apply")) {
        value = apply(v, arguments);
    } else if (!strcmp(name, "forget")) {
        value = forget(v, arguments);
    } else {
        g_error("hzd asked an actuator for %s", name);
    }
    answer(channel, message, value);
}

static void vnic_closed(HzChannel *channel, G_GNUC_UNUSED const GError *why, gpointer opaque)
{
    Vnic *v = opaque;

    v->gone = TRUE;
    v->channel = NULL;
    hz_channel_unref(channel);
}

static const HzChannelOps vnic_ops = { .message = vnic_command, .closed = vnic_closed };

void vnic_reconnect(Vnic *v, const Kit *kit)
{
    g_autofree char *path = g_build_filename(kit->run, "actuators.sock", NULL);
    g_autoptr(GError) error = NULL;
    JsonObject *greeting = json_object_new(), *hz = object("actuator", "vnic");
    int fd = hz_unix_connect(path, &error);

    g_assert_no_error(error);
    g_clear_pointer(&v->channel, hz_channel_drop);
    v->gone = FALSE;
    v->channel = hz_channel_new(fd, &vnic_ops, v);
    json_object_set_int_member(hz, "protocol", 1);
    json_object_set_int_member(hz, "protocol-min", 1);
    json_object_set_string_member(hz, "package", "test");
    json_object_set_object_member(greeting, "HZ", hz);
    hz_channel_send(v->channel, greeting);
}

Vnic *vnic_new(const Kit *kit)
{
    Vnic *v = g_new0(Vnic, 1);

    v->lines = lines_new();
    vnic_reconnect(v, kit);
    return v;
}

void vnic_free(Vnic *v)
{
    g_clear_pointer(&v->channel, hz_channel_drop);
    g_hash_table_unref(v->lines);
    g_free(v->mode);
    g_free(v);
}

uint64_t vnic_rate(const Vnic *v, const char *key)
{
    JsonObject *line = g_hash_table_lookup(v->lines, key);

    return line ? (uint64_t)hz_json_int(line, "rate", 0) : 0;
}

void vnic_changed(Vnic *v, const char *key, const char *action)
{
    JsonObject *o = object("key", key);

    json_object_set_string_member(o, "what", "qdisc");
    json_object_set_string_member(o, "action", action);
    hz_channel_event(v->channel, "CHANGED", o);
}
