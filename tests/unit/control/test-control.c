/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: the two sockets: permissions, greeting, events, garbage, too many clients.
 */
#include "hzd/control.h"
#include "kit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ONE_VM "[vm A]\n"

typedef struct {
    HzChannel *channel;
    GPtrArray *lines;
    gboolean greeted, closed;
    char *answer;
} Client;

static void on_message(G_GNUC_UNUSED HzChannel *channel, JsonObject *m, gpointer opaque)
{
    Client *c = opaque;

    c->greeted |= json_object_has_member(m, "QMP");
    g_ptr_array_add(c->lines, hz_json_line(m));
}

static void on_closed(HzChannel *channel, G_GNUC_UNUSED const GError *why, gpointer opaque)
{
    Client *c = opaque;

    c->closed = TRUE;
    c->channel = NULL;
    hz_channel_unref(channel);
}

static void client_init(Client *c, const Kit *kit, const char *name)
{
    static const HzChannelOps ops = { on_message, on_closed };
    g_autofree char *path = g_build_filename(kit->run, name, NULL);
    g_autoptr(GError) error = NULL;
    int fd = hz_unix_connect(path, &error);

    g_assert_no_error(error);
    *c = (Client){ .lines = g_ptr_array_new_with_free_func(g_free) };
    c->channel = hz_channel_new(fd, &ops, c);
}

static void client_clear(Client *c)
{
    if (c->channel) {
        hz_channel_drop(c->channel);
    }
    g_ptr_array_unref(c->lines);
    g_free(c->answer);
}

static void on_answer(JsonNode *value, const GError *error, gpointer opaque)
{
    ((Client *)opaque)->answer = value ? json_to_string(value, FALSE)
                                       : g_strdup_printf("error: %s", error->message);
}

static const char *ask(Client *c, const char *command)
{
    g_clear_pointer(&c->answer, g_free);
    hz_channel_execute(c->channel, command, NULL, on_answer, c);
    WAIT(c->answer);
    return c->answer;
}

static Kit *kit_up(const char *keys)
{
    Kit *kit = kit_new(keys, ONE_VM);

    kit_start(kit);
    return kit;
}

static guint mode_of(const Kit *kit, const char *name)
{
    g_autofree char *path = g_build_filename(kit->run, name, NULL);
    struct stat st;

    g_assert_cmpint(lstat(path, &st), ==, 0);
    g_assert_true(S_ISSOCK(st.st_mode));
    return st.st_mode & 0777;
}

static void test_sockets(void)
{
    Kit *kit = kit_up("");
    Client admin, reader;

    g_assert_cmpint(mode_of(kit, "control.sock"), ==, 0660);
    g_assert_cmpint(mode_of(kit, "readonly.sock"), ==, 0666);
    client_init(&admin, kit, "control.sock");
    client_init(&reader, kit, "readonly.sock");
    WAIT(admin.greeted && reader.greeted);
    g_assert_true(g_str_has_prefix(ask(&admin, "freeze"), "error: capabilities negotiation"));
    g_assert_cmpstr(ask(&admin, "qmp_capabilities"), ==, "{}");
    g_assert_cmpstr(ask(&reader, "qmp_capabilities"), ==, "{}");
    g_assert_nonnull(strstr(ask(&reader, "freeze"), "read-only socket"));
    g_assert_cmpstr(ask(&admin, "freeze"), ==, "{}");
    g_assert_cmpstr(ask(&reader, "query-vms"), ==, ask(&admin, "query-vms"));
    client_clear(&admin);
    client_clear(&reader);
    kit_free(kit);
}

/* Events go to whoever has negotiated, and to nobody else. */
static void test_events(void)
{
    Kit *kit = kit_up("");
    Client watcher, silent;
    JsonObject *data = json_object_new();

    client_init(&watcher, kit, "readonly.sock");
    client_init(&silent, kit, "readonly.sock");
    WAIT(watcher.greeted && silent.greeted);
    ask(&watcher, "qmp_capabilities");
    json_object_set_string_member(data, "vm", "A");
    hz_control_event(kit->host, "VM_LINK", data);
    WAIT(watcher.lines->len == 2);
    g_assert_nonnull(strstr(watcher.lines->pdata[1],
                            "{\"event\":\"VM_LINK\",\"data\":{\"vm\":\"A\"},\"timestamp\":"));
    ask(&silent, "query-vms");          /* its answer comes after whatever was sent before it */
    g_assert_cmpuint(silent.lines->len, ==, 1);
    client_clear(&watcher);
    client_clear(&silent);
    kit_free(kit);
}

static void test_garbage(void)
{
    Kit *kit = kit_up("");
    g_autofree char *path = g_build_filename(kit->run, "control.sock", NULL);
    Client other;
    char buf[4096];
    GString *got = g_string_new(NULL);
    int fd = hz_unix_connect(path, NULL);
    ssize_t n = -1;

    client_init(&other, kit, "control.sock");
    WAIT(other.greeted);
    g_assert_cmpint(write(fd, "GET / HTTP/1.0\r\n", 16), ==, 16);
    while (n != 0) {                    /* told why, then hung up on */
        g_main_context_iteration(NULL, FALSE);
        n = read(fd, buf, sizeof(buf));
        g_string_append_len(got, buf, MAX(n, 0));
    }
    g_assert_nonnull(strstr(got->str, "no JSON object: it starts with byte 0x47"));
    g_string_free(got, TRUE);
    close(fd);
    g_assert_cmpstr(ask(&other, "qmp_capabilities"), ==, "{}");     /* costs itself only */
    client_clear(&other);
    kit_free(kit);
}

static void test_too_many(void)
{
    enum { MANY = 64 };
    Kit *kit = kit_up("");
    Client *c = g_new0(Client, MANY + 1);

    for (int i = 0; i < MANY; i++) {
        client_init(&c[i], kit, "readonly.sock");
        WAIT(c[i].greeted);
    }
    client_init(&c[MANY], kit, "readonly.sock");
    WAIT(c[MANY].closed);
    g_assert_false(c[MANY].greeted);
    g_assert_nonnull(strstr(c[MANY].lines->pdata[0], "64 clients"));
    client_clear(&c[MANY]);

    hz_channel_close(c[0].channel);     /* one goes, one may come */
    WAIT(c[0].closed);
    ask(&c[1], "qmp_capabilities");     /* and hzd has seen it go */
    client_init(&c[MANY], kit, "readonly.sock");
    WAIT(c[MANY].greeted);
    for (int i = 0; i <= MANY; i++) {
        client_clear(&c[i]);
    }
    g_free(c);
    kit_free(kit);
}

/* Another uid on the read-only socket: only when the configuration lets it. */
static gboolean stranger_greeted(const Kit *kit, uid_t uid)
{
    g_autofree char *path = g_build_filename(kit->run, "readonly.sock", NULL);
    g_autofree char *script = g_strdup_printf(
        "import os,socket,sys; os.setuid(%u); s=socket.socket(socket.AF_UNIX);"
        "s.connect('%s'); d=s.recv(4096); print(d.decode())", uid, path);
    char *argv[] = { (char *)"python3", (char *)"-c", script, NULL };
    g_autoptr(GError) error = NULL;
    gchar buf[4096];
    gsize n = 0;
    int out;

    g_assert_cmpint(chmod(kit->dir, 0755), ==, 0);
    g_spawn_async_with_pipes(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &out,
                             NULL, &error);
    g_assert_no_error(error);
    g_autoptr(GIOChannel) io = g_io_channel_unix_new(out);
    g_io_channel_set_flags(io, G_IO_FLAG_NONBLOCK, NULL);
    g_io_channel_set_encoding(io, NULL, NULL);
    while (!n) {
        kit_spin(5);
        g_io_channel_read_chars(io, buf, sizeof(buf) - 1, &n, NULL);
    }
    buf[n] = '\0';
    close(out);
    if (!strstr(buf, "QMP")) {
        g_assert_nonnull(strstr(buf, "may not use this socket: see user-uids="));
        return FALSE;
    }
    return TRUE;
}

static void test_strangers(void)
{
    Kit *kit;

    if (geteuid()) {
        g_test_skip("needs root, to be somebody else");
        return;
    }
    kit = kit_up("");
    g_assert_false(stranger_greeted(kit, 4711));
    kit_free(kit);
    kit = kit_up("user-uids=4711\n");
    g_assert_true(stranger_greeted(kit, 4711));
    g_assert_false(stranger_greeted(kit, 4712));
    kit_free(kit);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/control/sockets", test_sockets);
    g_test_add_func("/control/events", test_events);
    g_test_add_func("/control/garbage", test_garbage);
    g_test_add_func("/control/too-many", test_too_many);
    g_test_add_func("/control/strangers", test_strangers);
    return g_test_run();
}
