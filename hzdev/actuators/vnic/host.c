/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic host: the connection to hzd, kept up for ever. */
#include "host.h"

#include "json/channel.h"

#define FIRST_DELAY_MS 100
#define LAST_DELAY_MS  5000
/* Until hzd says otherwise: the shipped stale-after. */
#define STALE_AFTER_MS (10 * 60 * 1000)

struct HzHostLink {
    char *path;
    HzSession session;
    HzChannel *channel;         /* NULL: not connected */
    guint delay_ms;
    guint reconnect, stale;     /* GSources */
    gint64 unheard;             /* since when hzd's word is missing, monotonic µs */
    guint stale_ms;             /* what the timer was set for */
    char *trouble;              /* said once, not at every try */
    char *refusal;              /* hzd won't have us: its word, likewise; NULL: it will */
};

static void schedule_connect(HzHostLink *link);

static gboolean on_stale(gpointer opaque)
{
    HzHostLink *link = opaque;

    link->stale = 0;
    g_warning("no plan from hzd for %u ms: lifting ceilings", link->session.stale_after_ms);
    hz_vnic_lift(link->session.vnic);
    return G_SOURCE_REMOVE;
}

static void set_stale(HzHostLink *link)
{
    gint64 gone_ms = (g_get_monotonic_time() - link->unheard) / 1000;

    link->stale_ms = link->session.stale_after_ms;
    link->stale = g_timeout_add(MAX((gint64)link->stale_ms - gone_ms, 0), on_stale, link);
}

static void start_stale(HzHostLink *link)
{
    if (!link->stale) {
        link->unheard = g_get_monotonic_time();
        set_stale(link);
    }
}

static void stop_stale(HzHostLink *link)
{
    if (link->stale) {
        g_source_remove(link->stale);
        link->stale = 0;
    }
}

/* After each command: a plan ends the wait, a new stale-after moves its end. */
static void update_stale(HzHostLink *link)
{
    if (link->session.applied) {
        stop_stale(link);
    } else if (link->stale && link->stale_ms != link->session.stale_after_ms) {
        stop_stale(link);
        set_stale(link);
    }
}

static JsonNode *copy_id(JsonObject *message)
{
    JsonNode *id = json_object_get_member(message, "id");

    return id ? json_node_copy(id) : NULL;
}

static JsonObject *get_arguments(JsonObject *message, GError **error)
{
    JsonNode *node = json_object_get_member(message, "arguments");

    if (node && !JSON_NODE_HOLDS_OBJECT(node)) {
        g_set_error(error, HZ_VNIC_ERROR, 0, "\"arguments\" must be an object");
        return NULL;
    }
    return node ? json_node_get_object(node) : NULL;
}

/* hzd says why it closes; said anew only when it has another reason. */
static void on_refusal(HzHostLink *link, JsonObject *message)
{
    JsonNode *error = json_object_get_member(message, "error");
    JsonObject *o = error && JSON_NODE_HOLDS_OBJECT(error) ? json_node_get_object(error) : NULL;
    const char *desc = o ? json_object_get_string_member_with_default(o, "desc", NULL) : NULL;

    desc = desc ? desc : "no reason given";
    if (g_strcmp0(link->refusal, desc) != 0) {
        g_warning("hzd at %s refuses this actuator: %s", link->path, desc);
        g_free(link->refusal);
        link->refusal = g_strdup(desc);
    }
}

static void on_message(HzChannel *channel, JsonObject *message, gpointer opaque)
{
    HzHostLink *link = opaque;
    g_autoptr(GError) error = NULL;
    JsonNode *execute = json_object_get_member(message, "execute");
    JsonObject *arguments;
    JsonNode *value = NULL;

    if (!execute && json_object_has_member(message, "error")) {
        on_refusal(link, message);
        return;
    }
    if (!execute || !JSON_NODE_HOLDS_VALUE(execute) ||
        json_node_get_value_type(execute) != G_TYPE_STRING) {
        hz_channel_error(channel, copy_id(message), "GenericError",
                         "expected {\"execute\": COMMAND, …}");
        return;
    }
    arguments = get_arguments(message, &error);
    if (!error) {
        value = hz_session_execute(&link->session, json_node_get_string(execute), arguments,
                                   &error);
    }
    if (error) {
        hz_channel_error(channel, copy_id(message),
                         g_error_matches(error, HZ_VNIC_ERROR, 1) ? "CommandNotFound"
                                                                  : "GenericError",
                         "%s", error->message);
        return;
    }
    hz_channel_return(channel, copy_id(message), value);
    if (link->session.configured) {
        /* A hzd that talks; one that only accepts and closes is left to the growing delay. */
        link->delay_ms = FIRST_DELAY_MS;
        g_clear_pointer(&link->refusal, g_free);
    }
    update_stale(link);
}

static void on_closed(HzChannel *channel, const GError *why, gpointer opaque)
{
    HzHostLink *link = opaque;

    if (!link->refusal) {
        g_message("hzd at %s is gone%s%s", link->path, why ? ": " : "", why ? why->message : "");
    }
    link->channel = NULL;
    hz_channel_unref(channel);
    link->session.configured = FALSE;
    link->session.applied = FALSE;
    start_stale(link);
    schedule_connect(link);
}

static gboolean try_connect(gpointer opaque)
{
    static const HzChannelOps ops = { .message = on_message, .closed = on_closed };
    HzHostLink *link = opaque;
    g_autoptr(GError) error = NULL;
    int fd;

    link->reconnect = 0;
    fd = hz_unix_connect(link->path, &error);
    if (fd < 0) {
        if (g_strcmp0(link->trouble, error->message) != 0) {
            g_message("%s", error->message);
            g_free(link->trouble);
            link->trouble = g_strdup(error->message);
        }
        schedule_connect(link);
        return G_SOURCE_REMOVE;
    }
    if (!link->refusal) {
        g_message("connected to hzd at %s", link->path);
    }
    g_clear_pointer(&link->trouble, g_free);
    link->channel = hz_channel_new(fd, &ops, link);
    hz_channel_send(link->channel, hz_session_greeting());
    return G_SOURCE_REMOVE;
}

static void schedule_connect(HzHostLink *link)
{
    link->reconnect = g_timeout_add(link->delay_ms, try_connect, link);
    link->delay_ms = MIN(link->delay_ms * 2, LAST_DELAY_MS);
}

static void on_changed(const char *key, const char *what, const char *action, gpointer opaque)
{
    HzHostLink *link = opaque;
    JsonObject *data;

    if (!link->channel) {
        return;
    }
    data = json_object_new();
    json_object_set_string_member(data, "key", key);
    json_object_set_string_member(data, "what", what);
    json_object_set_string_member(data, "action", action);
    hz_channel_event(link->channel, "CHANGED", data);
}

HzHostLink *hz_host_link_new(const char *path, GError **error)
{
    g_autoptr(HzHostLink) link = g_new0(HzHostLink, 1);

    link->path = g_strdup(path);
    link->delay_ms = FIRST_DELAY_MS;
    link->session.stale_after_ms = STALE_AFTER_MS;
    link->session.vnic = hz_vnic_new(on_changed, link, error);
    if (!link->session.vnic) {
        return NULL;
    }
    /* Nothing is known yet, yet something of ours may be there from an earlier run. */
    start_stale(link);
    try_connect(link);
    return g_steal_pointer(&link);
}

void hz_host_link_free(HzHostLink *link)
{
    if (!link) {
        return;
    }
    stop_stale(link);
    if (link->reconnect) {
        g_source_remove(link->reconnect);
    }
    g_clear_pointer(&link->channel, hz_channel_drop);
    hz_vnic_free(link->session.vnic);
    g_free(link->trouble);
    g_free(link->refusal);
    g_free(link->path);
    g_free(link);
}
