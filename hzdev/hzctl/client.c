/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl client: the main loop behind straight-line calls.
 */
#include "client.h"
#include "json/channel.h"

#define ANSWER_S 60     /* a release may have to wait for an actuator */

G_DEFINE_QUARK(hz-client-error-quark, hz_client_error)

struct HzClient {
    HzChannel *channel;
    char *path, *version;
    GError *gone;               /* why the connection ended */
    HzClientEvent handler;
    gpointer opaque;
    guint events;               /* so far */
    gboolean greeted;
};

static void greet(HzClient *c, JsonObject *message)
{
    JsonObject *o = json_object_get_object_member(message, "QMP");
    JsonNode *n = o ? json_object_get_member(o, "version") : NULL;

    o = n && JSON_NODE_HOLDS_OBJECT(n) ? json_node_get_object(n) : NULL;
    n = o ? json_object_get_member(o, "qemu") : NULL;
    o = n && JSON_NODE_HOLDS_OBJECT(n) ? json_node_get_object(n) : NULL;
    c->greeted = TRUE;
    if (o) {
        c->version = g_strdup_printf("%d.%d.%d",
            (int)json_object_get_int_member_with_default(o, "major", 0),
            (int)json_object_get_int_member_with_default(o, "minor", 0),
            (int)json_object_get_int_member_with_default(o, "micro", 0));
    }
}

static void on_message(HzChannel *channel, JsonObject *message, gpointer opaque)
{
    HzClient *c = opaque;

    (void)channel;
    if (json_object_has_member(message, "event")) {
        c->events++;
        if (c->handler) {
            c->handler(message, c->opaque);
        }
    } else if (json_object_has_member(message, "QMP")) {
        greet(c, message);
    } else if (json_object_has_member(message, "error") && !c->gone) {
        JsonObject *e = json_object_get_object_member(message, "error");

        /* said before hzd hangs up: who we are, or what we sent */
        c->gone = g_error_new(HZ_CLIENT_ERROR, HZ_CLIENT_ERROR_CONNECT, "%s: %s", c->path,
                              json_object_get_string_member_with_default(e, "desc", "refused"));
    }
}

static void on_closed(HzChannel *channel, const GError *why, gpointer opaque)
{
    HzClient *c = opaque;

    c->channel = NULL;
    if (!c->gone) {
        c->gone = g_error_new(HZ_CLIENT_ERROR, HZ_CLIENT_ERROR_CONNECT, "%s: %s", c->path,
                              why ? why->message : "hzd has closed the connection");
    }
    hz_channel_unref(channel);
}

static gboolean on_time(gpointer late)
{
    *(gboolean *)late = TRUE;
    return G_SOURCE_CONTINUE;
}

/* Run the main loop until *@done, the connection's end, or time is up: is it done? */
static gboolean run(HzClient *c, const gboolean *done, guint ms, GError **error)
{
    gboolean late = FALSE;
    guint timer = g_timeout_add(ms, on_time, &late);

    while (!*done && c->channel && !late) {
        g_main_context_iteration(NULL, TRUE);
    }
    g_source_remove(timer);
    if (!*done && !c->channel) {
        g_propagate_error(error, g_error_copy(c->gone));
    } else if (!*done) {
        g_set_error(error, HZ_CLIENT_ERROR, HZ_CLIENT_ERROR_TIMEOUT,
                    "%s: hzd doesn't answer within %u s", c->path, ms / 1000);
    }
    return *done;
}

HzClient *hz_client_open(const char *path, GError **error)
{
    static const HzChannelOps ops = { on_message, on_closed };
    g_autoptr(HzClient) c = g_new0(HzClient, 1);
    g_autoptr(JsonNode) answer = NULL;
    int fd = hz_unix_connect(path, error);

    c->path = g_strdup(path);
    if (fd < 0) {
        return NULL;
    }
    c->channel = hz_channel_new(fd, &ops, c);
    if (!run(c, &c->greeted, ANSWER_S * 1000, error)) {
        return NULL;
    }
    answer = hz_client_call(c, "qmp_capabilities", NULL, error);
    return answer ? g_steal_pointer(&c) : NULL;
}

void hz_client_close(HzClient *c)
{
    if (c->channel) {
        hz_channel_drop(c->channel);
    }
    g_clear_error(&c->gone);
    g_free(c->path);
    g_free(c->version);
    g_free(c);
}

const char *hz_client_version(const HzClient *c)
{
    return c->version ? c->version : "?";
}

typedef struct {
    gboolean done;
    JsonNode *value;
    GError *error;
} Answer;

static void on_answer(JsonNode *value, const GError *error, gpointer opaque)
{
    Answer *a = opaque;

    a->done = TRUE;
    if (error) {
        a->error = g_error_new_literal(HZ_CLIENT_ERROR,
                                       error->code == HZ_JSON_ERROR_PEER ? HZ_CLIENT_ERROR_ANSWER
                                                                         : HZ_CLIENT_ERROR_CONNECT,
                                       error->message);
    } else {
        a->value = json_node_copy(value);
    }
}

JsonNode *hz_client_call(HzClient *c, const char *command, JsonObject *arguments, GError **error)
{
    Answer a = { 0 };

    if (!c->channel) {
        g_clear_pointer(&arguments, json_object_unref);
        g_propagate_error(error, g_error_copy(c->gone));
        return NULL;
    }
    hz_channel_execute(c->channel, command, arguments, on_answer, &a);
    if (!run(c, &a.done, ANSWER_S * 1000, error)) {
        if (c->channel) {       /* the answer would come to a stack frame that is gone */
            hz_channel_drop(c->channel);
            c->channel = NULL;
            c->gone = g_error_new(HZ_CLIENT_ERROR, HZ_CLIENT_ERROR_TIMEOUT,
                                  "%s: given up", c->path);
        }
        return NULL;
    }
    if (a.error) {
        g_propagate_error(error, a.error);
    }
    return a.value;
}

void hz_client_on_event(HzClient *c, HzClientEvent handler, gpointer opaque)
{
    c->handler = handler;
    c->opaque = opaque;
}

gboolean hz_client_wait(HzClient *c, gint64 until_us, GError **error)
{
    gint64 left = until_us < 0 ? -1 : until_us - g_get_monotonic_time();
    guint timer = 0, before = c->events;
    gboolean late = FALSE;

    if (left >= 0 || until_us >= 0) {
        timer = g_timeout_add((guint)(MAX(left, 0) / 1000 + 1), on_time, &late);
    }
    while (c->channel && !late && c->events == before) {
        g_main_context_iteration(NULL, TRUE);
    }
    if (timer) {
        g_source_remove(timer);
    }
    if (!c->channel) {
        g_propagate_error(error, g_error_copy(c->gone));
        return FALSE;
    }
    return TRUE;
}
