/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz json channel: one connection, read and written from the main loop.
 *
 * Sending only queues; one watch writes when the peer takes it. Whatever ends
 * the channel (the peer, an error, our own close) is remembered and done
 * from an idle source, so that closed() never runs inside a caller's send.
 */
#define _GNU_SOURCE         /* struct ucred */
#include "json/channel.h"
#include "json/frame.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AT_ONCE (64 * 1024)

#define invalid(...) g_error_new(HZ_JSON_ERROR, HZ_JSON_ERROR_INVALID, __VA_ARGS__)
#define ended(...) g_error_new(HZ_JSON_ERROR, HZ_JSON_ERROR_CLOSED, __VA_ARGS__)

struct HzChannel {
    int refs;
    int fd;
    const HzChannelOps *ops;
    gpointer opaque;

    GByteArray *in;
    guint taken;            /* bytes of it that are done with */
    struct hz_json_frame frame;
    GString *out;
    guint in_watch, out_watch, end_idle;

    gint64 next_id;
    GHashTable *waiting;    /* id -> Waiting */

    gboolean ending;        /* nothing more is read or queued */
    gboolean dropped;       /* … and the owner is gone: no callback any more */
    GError *why;
};

typedef struct {
    HzAnswerFunc answer;
    gpointer opaque;
} Waiting;

/* -- the end ------------------------------------------------------------- */

static void stop_watch(guint *watch)
{
    if (*watch) {
        g_source_remove(*watch);
        *watch = 0;
    }
}

/* Write what the peer takes now. FALSE when the connection is broken. */
static gboolean write_out(HzChannel *c)
{
    while (c->out->len) {
        ssize_t n = send(c->fd, c->out->str, c->out->len, MSG_NOSIGNAL);

        if (n >= 0) {
            g_string_erase(c->out, 0, n);
        } else if (errno == EAGAIN) {
            return TRUE;
        } else if (errno != EINTR) {
            return FALSE;
        }
    }
    return TRUE;
}

static void answer_all(HzChannel *c, const GError *why)
{
    g_autoptr(GHashTable) waiting = g_steal_pointer(&c->waiting);
    g_autoptr(GList) ids = NULL;

    if (!waiting) {
        return;
    }
    ids = g_list_sort(g_hash_table_get_keys(waiting), (GCompareFunc)strcmp);
    for (GList *i = ids; i && !c->dropped; i = i->next) {
        Waiting *w = g_hash_table_lookup(waiting, i->data);

        if (w->answer) {
            w->answer(NULL, why, w->opaque);
        }
    }
}

static gboolean end_now(gpointer data)
{
    HzChannel *c = hz_channel_ref(data);
    g_autoptr(GError) gone = NULL;

    c->end_idle = 0;
    if (c->fd >= 0) {
        write_out(c);
        stop_watch(&c->out_watch);
        close(c->fd);
        c->fd = -1;
    }
    gone = g_error_new_literal(HZ_JSON_ERROR, HZ_JSON_ERROR_CLOSED,
                               c->why ? c->why->message : "the connection was closed");
    answer_all(c, gone);
    if (!c->dropped && c->ops->closed) {
        c->ops->closed(c, c->why, c->opaque);
    }
    hz_channel_unref(c);    /* ours of this function */
    hz_channel_unref(c);    /* the idle source's */
    return G_SOURCE_REMOVE;
}

static void end(HzChannel *c, GError *why)
{
    if (c->ending) {
        g_clear_error(&why);
        return;
    }
    c->ending = TRUE;
    c->why = why;
    stop_watch(&c->in_watch);
    c->end_idle = g_idle_add_full(G_PRIORITY_DEFAULT, end_now, hz_channel_ref(c), NULL);
}

/* The peer did wrong: tell it, and end. */
static void end_telling(HzChannel *c, GError *why)
{
    hz_channel_error(c, NULL, "GenericError", "%s", why->message);
    end(c, why);
}

/* -- writing ------------------------------------------------------------- */

static gboolean on_writable(int fd, GIOCondition cond, gpointer data)
{
    HzChannel *c = data;

    (void)fd;
    (void)cond;
    if (!write_out(c)) {
        c->out_watch = 0;
        end(c, ended("can't write: %s", g_strerror(errno)));
        return G_SOURCE_REMOVE;
    }
    if (c->out->len) {
        return G_SOURCE_CONTINUE;
    }
    c->out_watch = 0;
    return G_SOURCE_REMOVE;
}

/* The peer would have to take it for an error of ours. */
static void too_long(HzChannel *c, JsonObject *message, gsize len)
{
    if (json_object_has_member(message, "return")) {
        hz_channel_error(c, json_object_dup_member(message, "id"), "GenericError",
                         "the answer has %zu bytes, the limit is %d: ask for less", len,
                         HZ_JSON_LINE_MAX);
    } else {
        g_warning("a message of %zu bytes isn't sent, the limit is %d", len, HZ_JSON_LINE_MAX);
    }
}

void hz_channel_send(HzChannel *c, JsonObject *message)
{
    g_autoptr(JsonObject) taken = message;
    g_autofree char *line = NULL;

    if (c->ending) {
        return;
    }
    line = hz_json_line(taken);
    if (strlen(line) > HZ_JSON_LINE_MAX) {
        too_long(c, taken, strlen(line));
        return;
    }
    if (c->out->len + strlen(line) > HZ_JSON_BACKLOG_MAX) {
        end(c, ended("the peer doesn't read: more than %d bytes wait", HZ_JSON_BACKLOG_MAX));
        return;
    }
    g_string_append(c->out, line);
    if (!c->out_watch) {
        c->out_watch = g_unix_fd_add(c->fd, G_IO_OUT, on_writable, c);
    }
}

/* Takes @id and @value. */
static JsonObject *answer_object(JsonNode *id, const char *member, JsonNode *value)
{
    JsonObject *o = json_object_new();

    json_object_set_member(o, member, value);
    if (id) {
        json_object_set_member(o, "id", id);
    }
    return o;
}

void hz_channel_return(HzChannel *c, JsonNode *id, JsonNode *value)
{
    if (!value) {
        value = json_node_init_object(json_node_alloc(), NULL);
        json_node_take_object(value, json_object_new());
    }
    hz_channel_send(c, answer_object(id, "return", value));
}

void hz_channel_error(HzChannel *c, JsonNode *id, const char *klass, const char *format, ...)
{
    JsonObject *error = json_object_new();
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    g_autofree char *desc = NULL;
    va_list ap;

    va_start(ap, format);
    desc = g_strdup_vprintf(format, ap);
    va_end(ap);
    json_object_set_string_member(error, "class", klass);
    json_object_set_string_member(error, "desc", desc);
    json_node_take_object(node, error);
    hz_channel_send(c, answer_object(id, "error", node));
}

void hz_channel_event(HzChannel *c, const char *name, JsonObject *data)
{
    JsonObject *event = json_object_new();
    JsonObject *timestamp = json_object_new();
    gint64 now = g_get_real_time();

    json_object_set_string_member(event, "event", name);
    json_object_set_object_member(event, "data", data ? data : json_object_new());
    json_object_set_int_member(timestamp, "seconds", now / G_USEC_PER_SEC);
    json_object_set_int_member(timestamp, "microseconds", now % G_USEC_PER_SEC);
    json_object_set_object_member(event, "timestamp", timestamp);
    hz_channel_send(c, event);
}

void hz_channel_execute(HzChannel *c, const char *command, JsonObject *arguments,
                        HzAnswerFunc answer, gpointer opaque)
{
    JsonObject *message = json_object_new();
    g_autofree char *id = g_strdup_printf("%016" G_GINT64_MODIFIER "x", c->next_id++);
    Waiting *w;

    json_object_set_string_member(message, "execute", command);
    if (arguments) {
        json_object_set_object_member(message, "arguments", arguments);
    }
    json_object_set_string_member(message, "id", id);
    if (c->ending && !c->waiting) {
        g_autoptr(GError) gone = ended("the connection was closed");

        json_object_unref(message);
        if (answer) {
            answer(NULL, gone, opaque);
        }
        return;
    }
    w = g_new(Waiting, 1);
    *w = (Waiting){ answer, opaque };
    g_hash_table_insert(c->waiting, g_steal_pointer(&id), w);
    hz_channel_send(c, message);
}

/* -- reading ------------------------------------------------------------- */

static void give_answer(const Waiting *w, JsonObject *message)
{
    JsonNode *error = json_object_get_member(message, "error");
    g_autoptr(GError) why = NULL;

    if (!w->answer) {
        return;
    }
    if (!error) {
        w->answer(json_object_get_member(message, "return"), NULL, w->opaque);
        return;
    }
    if (JSON_NODE_HOLDS_OBJECT(error)) {
        const char *desc = json_object_get_string_member_with_default(
            json_node_get_object(error), "desc", "an error without a description");

        why = g_error_new_literal(HZ_JSON_ERROR, HZ_JSON_ERROR_PEER,
                                  desc ? desc : "an error without a description");
    } else {
        why = g_error_new_literal(HZ_JSON_ERROR, HZ_JSON_ERROR_PEER, "an error that is no object");
    }
    w->answer(NULL, why, w->opaque);
}

static void receive(HzChannel *c, JsonObject *message)
{
    JsonNode *id = json_object_get_member(message, "id");
    gpointer key, value;

    if (c->waiting && id && json_node_get_value_type(id) == G_TYPE_STRING
        && (json_object_has_member(message, "return") || json_object_has_member(message, "error"))
        && g_hash_table_steal_extended(c->waiting, json_node_get_string(id), &key, &value)) {
        g_free(key);
        give_answer(value, message);
        g_free(value);
    } else if (!c->dropped && c->ops->message) {
        c->ops->message(c, message, c->opaque);
    }
}

/* Take one object off the input. FALSE when there is none, or the channel ends. */
static gboolean take_one(HzChannel *c)
{
    const char *at = (const char *)c->in->data + c->taken;
    guint len = c->in->len - c->taken;
    g_autoptr(JsonObject) message = NULL;
    GError *why = NULL;

    switch (hz_json_frame(&c->frame, at, len)) {
    case HZ_JSON_FRAMED_NOTHING:
        c->taken += len;
        c->frame = (struct hz_json_frame){ 0 };
        return FALSE;
    case HZ_JSON_FRAMED_PART:
        if (len > HZ_JSON_LINE_MAX) {
            end_telling(c, invalid("an object of more than %d bytes", HZ_JSON_LINE_MAX));
        }
        return FALSE;
    case HZ_JSON_FRAMED_GARBAGE:
        end_telling(c, invalid("no JSON object: it starts with byte 0x%02x",
                               (guint8)at[c->frame.scanned]));
        return FALSE;
    case HZ_JSON_FRAMED_WHOLE:
        break;
    }
    message = hz_json_parse(at, c->frame.scanned, &why);
    if (!message) {
        end_telling(c, why);
        return FALSE;
    }
    c->taken += c->frame.scanned;
    c->frame = (struct hz_json_frame){ 0 };
    receive(c, message);
    return !c->ending;
}

/* Every object that is there; then the rest of the buffer moves to its front. */
static void take_all(HzChannel *c)
{
    while (take_one(c)) {
    }
    g_byte_array_remove_range(c->in, 0, c->taken);
    c->taken = 0;
}

static void at_eof(HzChannel *c)
{
    if (c->in->len) {
        end(c, ended("the connection ended inside an object, after %u bytes", c->in->len));
    } else {
        end(c, NULL);
    }
}

static gboolean on_readable(int fd, GIOCondition cond, gpointer data)
{
    g_autoptr(HzChannel) c = hz_channel_ref(data);
    guint have = c->in->len;
    ssize_t n;

    (void)cond;
    g_byte_array_set_size(c->in, have + READ_AT_ONCE);
    n = recv(fd, c->in->data + have, READ_AT_ONCE, MSG_DONTWAIT);
    g_byte_array_set_size(c->in, have + (n > 0 ? (guint)n : 0));
    if (n > 0) {
        take_all(c);
    } else if (n == 0) {
        at_eof(c);
    } else if (errno == ECONNRESET) {
        end(c, NULL);
    } else if (errno != EAGAIN && errno != EINTR) {
        end(c, ended("can't read: %s", g_strerror(errno)));
    }
    return c->ending ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

/* -- life ---------------------------------------------------------------- */

HzChannel *hz_channel_new(int fd, const HzChannelOps *ops, gpointer opaque)
{
    HzChannel *c = g_new0(HzChannel, 1);

    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    c->refs = 1;
    c->fd = fd;
    c->ops = ops;
    c->opaque = opaque;
    c->in = g_byte_array_new();
    c->out = g_string_new(NULL);
    c->waiting = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    c->in_watch = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, c);
    return c;
}

HzChannel *hz_channel_ref(HzChannel *c)
{
    c->refs++;
    return c;
}

void hz_channel_unref(HzChannel *c)
{
    if (--c->refs) {
        return;
    }
    stop_watch(&c->in_watch);
    stop_watch(&c->out_watch);
    if (c->fd >= 0) {
        close(c->fd);
    }
    g_clear_pointer(&c->waiting, g_hash_table_unref);
    g_byte_array_unref(c->in);
    g_string_free(c->out, TRUE);
    g_clear_error(&c->why);
    g_free(c);
}

gboolean hz_channel_open(const HzChannel *c)
{
    return !c->ending;
}

void hz_channel_close(HzChannel *c)
{
    end(c, NULL);
}

void hz_channel_drop(HzChannel *c)
{
    c->dropped = TRUE;
    c->ending = TRUE;
    stop_watch(&c->in_watch);
    g_clear_pointer(&c->waiting, g_hash_table_unref);
    hz_channel_unref(c);
}

gboolean hz_channel_peer(HzChannel *c, pid_t *pid, uid_t *uid)
{
    struct ucred cred = { 0 };
    socklen_t len = sizeof(cred);

    if (c->fd < 0 || getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) || cred.pid <= 0) {
        return FALSE;
    }
    *pid = cred.pid;
    *uid = cred.uid;
    return TRUE;
}
