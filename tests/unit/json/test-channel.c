/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: a channel at one end of a socket pair, at the other raw bytes or a second channel.
 */
#include "json/channel.h"

#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
    HzChannel *channel;
    GPtrArray *lines;       /* messages received, as text */
    gboolean closed;
    char *why;              /* of closed */
    gboolean echo;          /* answer every "execute" with its arguments */
    gboolean deny;          /* … or with an error */
    char *answer;           /* of hz_channel_execute() */
    char *error;
} End;

static void on_message(HzChannel *c, JsonObject *m, gpointer opaque)
{
    End *e = opaque;
    JsonNode *id = json_object_dup_member(m, "id");

    g_ptr_array_add(e->lines, hz_json_line(m));
    if (e->echo) {
        hz_channel_return(c, id, json_object_dup_member(m, "arguments"));
    } else if (e->deny) {
        hz_channel_error(c, id, "GenericError", "no %s today", "tea");
    } else {
        g_clear_pointer(&id, json_node_unref);
    }
}

static void on_closed(HzChannel *c, const GError *why, gpointer opaque)
{
    End *e = opaque;

    g_assert_false(e->closed);
    e->closed = TRUE;
    e->why = why ? g_strdup(why->message) : NULL;
    hz_channel_unref(c);
    e->channel = NULL;
}

static const HzChannelOps ops = { on_message, on_closed };

static void end_init(End *e, int fd)
{
    *e = (End){ .lines = g_ptr_array_new_with_free_func(g_free) };
    e->channel = hz_channel_new(fd, &ops, e);
}

static void end_clear(End *e)
{
    if (e->channel) {
        hz_channel_drop(e->channel);
    }
    g_ptr_array_unref(e->lines);
    g_free(e->why);
    g_free(e->answer);
    g_free(e->error);
}

static void pair(int fd[2])
{
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), ==, 0);
}

#define run_until(condition) \
    while (!(condition)) { \
        g_main_context_iteration(NULL, TRUE); \
    }

static void put(int fd, const char *bytes)
{
    g_assert_cmpint(write(fd, bytes, strlen(bytes)), ==, (ssize_t)strlen(bytes));
}

/* Everything up to the end of file, after the channel has closed. */
static char *rest(int fd)
{
    GString *s = g_string_new(NULL);
    char buf[4096];
    ssize_t n;

    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        g_string_append_len(s, buf, n);
    }
    return g_string_free(s, FALSE);
}

static void test_halves(void)
{
    End e;
    int fd[2];

    pair(fd);
    end_init(&e, fd[0]);
    put(fd[1], "\r\n{\"a\":\"");
    for (int i = 0; i < 3; i++) {
        g_main_context_iteration(NULL, FALSE);
    }
    g_assert_cmpuint(e.lines->len, ==, 0);
    put(fd[1], "}\"}{\"b\":2}\r\n{\"c\"");
    run_until(e.lines->len == 2);
    g_assert_cmpstr(e.lines->pdata[0], ==, "{\"a\":\"}\"}\n");
    g_assert_cmpstr(e.lines->pdata[1], ==, "{\"b\":2}\n");
    close(fd[1]);
    run_until(e.closed);
    /* the line end before it and {"c" */
    g_assert_nonnull(strstr(e.why, "inside an object, after 6 bytes"));
    end_clear(&e);
}

static void test_orderly_end(void)
{
    End e;
    int fd[2];

    pair(fd);
    end_init(&e, fd[0]);
    put(fd[1], "{}\n");
    close(fd[1]);
    run_until(e.closed);
    g_assert_cmpuint(e.lines->len, ==, 1);
    g_assert_null(e.why);
    end_clear(&e);
}

static void bad(const char *bytes, const char *because)
{
    g_autofree char *told = NULL;
    End e;
    int fd[2];

    pair(fd);
    end_init(&e, fd[0]);
    put(fd[1], bytes);
    run_until(e.closed);
    g_assert_cmpuint(e.lines->len, ==, 0);
    g_assert_nonnull(strstr(e.why, because));
    told = rest(fd[1]);
    g_assert_nonnull(strstr(told, "\"class\":\"GenericError\""));
    g_assert_nonnull(strstr(told, because));
    close(fd[1]);
    end_clear(&e);
}

static void test_bad(void)
{
    bad("hello\n", "byte 0x68");
    bad("{\"a\":]}\n", "closes nothing");
    bad("{\"a\":\"\xc3\"}", "UTF-8");
    bad("{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}", "too deep");
}

/* A peer that never ends its object is stopped at the limit, not at the end of memory. */
static void test_endless(void)
{
    g_autofree char *chunk = g_strnfill(65536, 'x');
    End e;
    int fd[2];

    pair(fd);
    end_init(&e, fd[0]);
    put(fd[1], "{\"a\":\"");
    g_unix_set_fd_nonblocking(fd[1], TRUE, NULL);
    while (!e.closed) {
        if (send(fd[1], chunk, 65536, MSG_NOSIGNAL) < 0) {
            g_main_context_iteration(NULL, TRUE);
        }
    }
    g_assert_cmpstr(e.why, ==, "an object of more than 1048576 bytes");
    close(fd[1]);
    end_clear(&e);
}

static void test_deaf_peer(void)
{
    g_autofree char *text = g_strnfill(100000, 'x');
    End e;
    int fd[2];

    pair(fd);
    end_init(&e, fd[0]);
    for (int i = 0; i < 60; i++) {      /* 6 MB: above the 4 MiB limit */
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "t", text);
        hz_channel_send(e.channel, o);
    }
    g_assert_false(e.closed);           /* never from inside a send */
    run_until(e.closed);
    g_assert_nonnull(strstr(e.why, "doesn't read"));
    close(fd[1]);
    end_clear(&e);
}

static void on_answer(JsonNode *value, const GError *error, gpointer opaque)
{
    End *e = opaque;

    g_assert_true(!value != !error);
    e->answer = value ? json_to_string(value, FALSE) : NULL;
    e->error = error ? g_strdup(error->message) : NULL;
}

static void test_execute(void)
{
    JsonObject *arguments = json_object_new();
    End client, server;
    int fd[2];

    pair(fd);
    end_init(&client, fd[0]);
    end_init(&server, fd[1]);
    server.echo = TRUE;
    json_object_set_int_member(arguments, "n", 7);
    hz_channel_execute(client.channel, "echo", arguments, on_answer, &client);
    run_until(client.answer);
    g_assert_cmpstr(client.answer, ==, "{\"n\":7}");
    g_assert_cmpuint(client.lines->len, ==, 0);

    g_clear_pointer(&client.answer, g_free);
    server.echo = FALSE;
    server.deny = TRUE;
    hz_channel_execute(client.channel, "tea", NULL, on_answer, &client);
    run_until(client.error);
    g_assert_cmpstr(client.error, ==, "no tea today");

    hz_channel_event(server.channel, "GONE", NULL);
    run_until(client.lines->len == 1);
    g_assert_nonnull(strstr(client.lines->pdata[0], "\"event\":\"GONE\",\"data\":{}"));
    end_clear(&client);
    run_until(server.closed);
    g_assert_null(server.why);
    end_clear(&server);
}

/* An answer beyond what a peer takes is an error to who asked, not the end of the channel. */
static void test_too_long(void)
{
    g_autofree char *text = g_strnfill(HZ_JSON_LINE_MAX, 'x');
    JsonNode *value = json_node_init_string(json_node_alloc(), text);
    JsonNode *id = json_node_init_string(json_node_alloc(), "0000000000000000");
    End client, server;
    int fd[2];

    pair(fd);
    end_init(&client, fd[0]);
    end_init(&server, fd[1]);
    hz_channel_execute(client.channel, "x", NULL, on_answer, &client);
    hz_channel_return(server.channel, id, value);
    run_until(client.error);
    g_assert_nonnull(strstr(client.error, "the limit is 1048576"));
    g_assert_false(client.closed);
    end_clear(&client);
    end_clear(&server);
}

static void test_answers_at_the_end(void)
{
    End client;
    int fd[2];

    pair(fd);
    end_init(&client, fd[0]);
    hz_channel_execute(client.channel, "x", NULL, on_answer, &client);
    close(fd[1]);
    run_until(client.closed);
    g_assert_cmpstr(client.error, ==, "the connection was closed");
    end_clear(&client);
}

static void test_close_flushes(void)
{
    g_autofree char *told = NULL;
    End e;
    int fd[2];

    pair(fd);
    end_init(&e, fd[0]);
    hz_channel_event(e.channel, "BYE", NULL);
    hz_channel_close(e.channel);
    hz_channel_close(e.channel);
    hz_channel_event(e.channel, "LATE", NULL);
    g_assert_false(e.closed);
    run_until(e.closed);
    told = rest(fd[1]);
    g_assert_nonnull(strstr(told, "BYE"));
    g_assert_null(strstr(told, "LATE"));
    close(fd[1]);
    end_clear(&e);
}

static void test_peer(void)
{
    End e;
    int fd[2];
    pid_t pid;
    uid_t uid;

    pair(fd);
    end_init(&e, fd[0]);
    g_assert_true(hz_channel_peer(e.channel, &pid, &uid));
    g_assert_cmpint(pid, ==, getpid());
    g_assert_cmpuint(uid, ==, getuid());
    close(fd[1]);
    end_clear(&e);
}

/* drop() inside message(): the rest of the same read is not delivered. */
static void drop_message(HzChannel *c, JsonObject *m, gpointer opaque)
{
    (void)m;
    (*(int *)opaque)++;
    hz_channel_drop(c);
}

static void test_drop(void)
{
    static const HzChannelOps drop_ops = { drop_message, NULL };
    int fd[2], count = 0;

    pair(fd);
    hz_channel_new(fd[0], &drop_ops, &count);
    put(fd[1], "{}\n{}\n");
    run_until(count);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    g_assert_cmpint(count, ==, 1);
    close(fd[1]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/channel/halves", test_halves);
    g_test_add_func("/channel/orderly-end", test_orderly_end);
    g_test_add_func("/channel/bad", test_bad);
    g_test_add_func("/channel/endless", test_endless);
    g_test_add_func("/channel/deaf-peer", test_deaf_peer);
    g_test_add_func("/channel/execute", test_execute);
    g_test_add_func("/channel/too-long", test_too_long);
    g_test_add_func("/channel/answers-at-the-end", test_answers_at_the_end);
    g_test_add_func("/channel/close-flushes", test_close_flushes);
    g_test_add_func("/channel/peer", test_peer);
    g_test_add_func("/channel/drop", test_drop);
    return g_test_run();
}
