/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd control: two listening sockets and the clients on them.
 *
 * Who may use control.sock is the file system's affair (0660: hzd's user and
 * group, and root). readonly.sock is open to every process, and each client's
 * uid is looked at: root, hzd's own user and user-uids= may stay.
 */
#define _GNU_SOURCE         /* accept4 */
#include "commands.h"
#include "control.h"
#include "json/channel.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS_MAX 64          /* on each socket */

typedef struct {
    HzControl *control;
    char *path;
    gboolean admin;
    int fd;
    guint watch;
    guint clients;
} Door;

struct HzControl {
    HzHost *host;
    Door doors[2];
    GPtrArray *clients;         /* Client */
};

/* Lives as long as its channel, or as a command that is to answer it. */
typedef struct {
    int refs;
    Door *door;
    HzChannel *channel;         /* NULL: gone */
    HzCaller caller;
} Client;

static void client_unref(Client *client)
{
    if (--client->refs == 0) {
        g_free(client->caller.who);
        g_free(client);
    }
}

static void on_reply(JsonObject *reply, gpointer opaque)
{
    Client *client = opaque;

    if (client->channel) {
        hz_channel_send(client->channel, reply);
    } else {
        json_object_unref(reply);
    }
    client_unref(client);
}

static void on_message(HzChannel *channel, JsonObject *message, gpointer opaque)
{
    Client *client = opaque;

    (void)channel;
    client->refs++;
    hz_commands_dispatch(client->door->control->host, &client->caller, message, on_reply, client);
}

static void on_closed(HzChannel *channel, const GError *why, gpointer opaque)
{
    Client *client = opaque;

    if (why) {
        g_info("control: client %s: %s", client->caller.who, why->message);
    }
    client->channel = NULL;
    client->door->clients--;
    g_ptr_array_remove_fast(client->door->control->clients, client);
    hz_channel_unref(channel);
    client_unref(client);
}

/* -- at the door --------------------------------------------------------- */

static gboolean uid_ok(const Door *door, uid_t uid)
{
    const GArray *uids = door->control->host->config->user_uids;

    if (door->admin || uid == 0 || uid == geteuid()) {
        return TRUE;
    }
    for (guint i = 0; i < uids->len; i++) {
        if (g_array_index(uids, uid_t, i) == uid) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Why this client can't come in; NULL: it can. */
static char *refusal(const Door *door, gboolean known, uid_t uid)
{
    if (!known) {
        return g_strdup("the kernel doesn't say who you are");
    }
    if (!uid_ok(door, uid)) {
        return g_strdup_printf("uid %u may not use this socket: see user-uids= in [host]", uid);
    }
    if (door->clients >= CLIENTS_MAX) {
        return g_strdup_printf("there are %d clients on this socket already", CLIENTS_MAX);
    }
    return NULL;
}

static void welcome(Door *door, int fd)
{
    static const HzChannelOps ops = { on_message, on_closed };
    Client *client = g_new0(Client, 1);
    g_autofree char *no = NULL;
    gboolean known;
    pid_t pid = 0;
    uid_t uid = 0;

    client->refs = 1;
    client->door = door;
    client->channel = hz_channel_new(fd, &ops, client);
    known = hz_channel_peer(client->channel, &pid, &uid);
    client->caller.admin = door->admin;
    client->caller.who = g_strdup_printf("uid %u pid %d", uid, (int)pid);
    no = refusal(door, known, uid);
    door->clients++;
    g_ptr_array_add(door->control->clients, client);
    if (no) {
        hz_channel_error(client->channel, NULL, "GenericError", "%s", no);
        hz_channel_close(client->channel);
    } else {
        hz_channel_send(client->channel, hz_commands_greeting());
    }
}

/* Out of descriptors the listening socket stays readable: take a breath instead of spinning. */
#define BREATH_MS 200

static gboolean on_knock(int fd, GIOCondition cond, gpointer opaque);

static gboolean on_breath(gpointer opaque)
{
    Door *door = opaque;

    door->watch = g_unix_fd_add(door->fd, G_IO_IN, on_knock, door);
    return G_SOURCE_REMOVE;
}

static gboolean on_knock(int fd, GIOCondition cond, gpointer opaque)
{
    Door *door = opaque;
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)cond;
    if (client >= 0) {
        welcome(door, client);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        g_warning("control: %s: can't accept: %s", door->path, g_strerror(errno));
        door->watch = g_timeout_add(BREATH_MS, on_breath, door);
        return G_SOURCE_REMOVE;
    }
    return G_SOURCE_CONTINUE;
}

static gboolean door_open(HzControl *control, Door *door, const char *name, gboolean admin,
                          GError **error)
{
    door->control = control;
    door->admin = admin;
    door->path = g_build_filename(control->host->config->run_dir, name, NULL);
    door->fd = hz_unix_listen(door->path, admin ? 0660 : 0666, error);
    if (door->fd < 0) {
        return FALSE;
    }
    door->watch = g_unix_fd_add(door->fd, G_IO_IN, on_knock, door);
    return TRUE;
}

/* -- the whole ----------------------------------------------------------- */

HzControl *hz_control_new(HzHost *host, GError **error)
{
    HzControl *control = g_new0(HzControl, 1);

    control->host = host;
    control->clients = g_ptr_array_new();
    control->doors[0].fd = control->doors[1].fd = -1;
    if (!door_open(control, &control->doors[0], "control.sock", TRUE, error)
        || !door_open(control, &control->doors[1], "readonly.sock", FALSE, error)) {
        hz_control_free(control);
        return NULL;
    }
    return control;
}

static void door_close(Door *door)
{
    if (door->watch) {
        g_source_remove(door->watch);
    }
    if (door->fd >= 0) {
        close(door->fd);
        g_unlink(door->path);
    }
    g_free(door->path);
}

void hz_control_free(HzControl *control)
{
    for (guint i = 0; i < control->clients->len; i++) {
        Client *client = control->clients->pdata[i];

        hz_channel_drop(g_steal_pointer(&client->channel));
        client_unref(client);
    }
    g_ptr_array_unref(control->clients);
    for (guint i = 0; i < G_N_ELEMENTS(control->doors); i++) {
        door_close(&control->doors[i]);
    }
    g_free(control);
}

void hz_control_event(HzHost *host, const char *name, JsonObject *data)
{
    g_autoptr(JsonObject) taken = data ? data : json_object_new();

    for (guint i = 0; host->control && i < host->control->clients->len; i++) {
        Client *client = host->control->clients->pdata[i];

        if (client->caller.negotiated && hz_channel_open(client->channel)) {
            hz_channel_event(client->channel, name, json_object_ref(taken));
        }
    }
}
