/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd actuators: the socket they connect to, and who is there. */
#define _GNU_SOURCE         /* accept4 */
#include "actuators.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actuators-int.h"
#include "events.h"
#include "json-util.h"
#include "spawn.h"

#define PEERS_MAX 8
#define GREETING_TIME_MS 5000

typedef struct {
    HzHost *host;
    HzChannel *channel;
    HzActuator *is;             /* once it has greeted */
    guint timeout;
} Peer;

HzActuator *hz_actuators_find(const HzHost *host, const char *name)
{
    for (guint i = 0; host->actuators && i < host->actuators->known->len; i++) {
        HzActuator *a = g_ptr_array_index(host->actuators->known, i);

        if (!strcmp(a->name, name)) {
            return a;
        }
    }
    return NULL;
}

/* -- greeting ----------------------------------------------------------- */

static void peer_free(Peer *peer)
{
    g_clear_handle_id(&peer->timeout, g_source_remove);
    g_free(peer);
}

/* What is wrong with a greeting; NULL: nothing, and *@a is who greets. */
static char *greeting_wrong(Peer *peer, JsonObject *hz, HzActuator **a)
{
    const char *name = hz_json_text(hz, "actuator", NULL);
    gint64 newest = hz_json_int(hz, "protocol", 0), oldest = hz_json_int(hz, "protocol-min", 1);

    if (!name) {
        return g_strdup("expected {\"HZ\": {\"actuator\": NAME, \"protocol\": N, …}} first");
    }
    if (newest < 1 || oldest > 1) {
        return g_strdup_printf("actuator %s speaks protocols %" G_GINT64_FORMAT " to %"
                               G_GINT64_FORMAT ", hzd 1", name, oldest, newest);
    }
    *a = hz_actuators_find(peer->host, name);
    if (!*a) {
        return g_strdup_printf("no actuator '%s' is known here: 'vnic' is", name);
    }
    if ((*a)->channel && (*a)->health != HZ_ACTUATOR_HUNG) {
        return g_strdup_printf("actuator %s is connected already (pid %d)", name,
                               (int)(*a)->pid);
    }
    return NULL;
}

static void greeted(Peer *peer, JsonObject *message)
{
    JsonObject *hz = hz_json_object(message, "HZ");
    g_autofree char *wrong = NULL;
    HzActuator *a = NULL;

    wrong = greeting_wrong(peer, hz, &a);
    if (wrong) {
        g_message("refused an actuator: %s", wrong);
        hz_channel_error(peer->channel, NULL, "GenericError", "%s", wrong);
        hz_channel_close(peer->channel);
        return;
    }
    g_clear_handle_id(&peer->timeout, g_source_remove);
    if (a->channel) {
        /* it hung and has been started anew: the old process has no say any more */
        HzChannel *old = hz_channel_ref(a->channel);

        hz_actuators_replaced(peer->host, a);
        hz_channel_close(old);
        hz_channel_unref(old);
    }
    peer->is = a;
    hz_actuator_up(a, peer->channel, hz);
}

static void peer_message(G_GNUC_UNUSED HzChannel *channel, JsonObject *message, gpointer opaque)
{
    Peer *peer = opaque;

    if (!peer->is) {
        greeted(peer, message);
    } else if (peer->is->channel == peer->channel) {
        hz_actuator_message(peer->is, message);
    }
}

static void peer_closed(HzChannel *channel, const GError *why, gpointer opaque)
{
    Peer *peer = opaque;

    if (peer->is && peer->is->channel == channel) {
        hz_actuator_closed(peer->is, why);
    } else {
        hz_channel_unref(channel);
    }
    g_ptr_array_remove_fast(peer->host->actuators->peers, peer);
}

static const HzChannelOps peer_ops = { .message = peer_message, .closed = peer_closed };

static gboolean no_greeting(gpointer opaque)
{
    Peer *peer = opaque;

    peer->timeout = 0;
    hz_channel_close(peer->channel);
    return G_SOURCE_REMOVE;
}

static gboolean can_accept(int listen_fd, G_GNUC_UNUSED GIOCondition cond, gpointer opaque)
{
    HzHost *host = opaque;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    Peer *peer;

    if (fd < 0) {
        return G_SOURCE_CONTINUE;
    }
    if (host->actuators->peers->len >= PEERS_MAX) {
        close(fd);
        return G_SOURCE_CONTINUE;
    }
    peer = g_new0(Peer, 1);
    peer->host = host;
    peer->channel = hz_channel_new(fd, &peer_ops, peer);
    peer->timeout = g_timeout_add(GREETING_TIME_MS, no_greeting, peer);
    g_ptr_array_add(host->actuators->peers, peer);
    return G_SOURCE_CONTINUE;
}

/* -- modes and health --------------------------------------------------- */

HzMode hz_actuators_wanted(const HzHost *host, const char *name)
{
    const HzActuator *a = hz_actuators_find(host, name);
    HzMode mode = a && a->mode != HZ_MODE_UNSET ? a->mode
                                                : hz_config_actuator_mode(host->config, name);

    return MIN(mode, host->mode);
}

HzMode hz_actuators_mode(const HzHost *host, const char *name)
{
    HzMode mode = hz_actuators_wanted(host, name);

    return hz_actuator_health(host, name) == HZ_ACTUATOR_READY ? mode
                                                               : MIN(mode, HZ_MODE_OBSERVE);
}

HzMode hz_actuators_told(const HzHost *host, const char *name)
{
    const HzActuator *a = hz_actuators_find(host, name);

    return a ? a->told : HZ_MODE_OFF;
}

gboolean hz_actuators_set_mode(HzHost *host, const char *name, HzMode mode)
{
    HzActuator *a = hz_actuators_find(host, name);

    if (a) {
        a->mode = mode;
    }
    return a != NULL;
}

HzActuatorHealth hz_actuator_health(const HzHost *host, const char *name)
{
    const HzActuator *a = hz_actuators_find(host, name);

    return a ? a->health : HZ_ACTUATOR_ABSENT;
}

gboolean hz_actuator_enforcing(const HzHost *host, const char *name)
{
    const HzActuator *a = hz_actuators_find(host, name);

    return a && a->health == HZ_ACTUATOR_READY && a->told == HZ_MODE_ENFORCE;
}

gboolean hz_actuator_starting(const HzHost *host, const char *name)
{
    const HzActuator *a = hz_actuators_find(host, name);

    return a && (a->health == HZ_ACTUATOR_ABSENT || a->health == HZ_ACTUATOR_GREETED) &&
           hz_now() < a->since + HZ_ACTUATOR_START;
}

void hz_actuators_configure(HzHost *host)
{
    for (guint i = 0; i < host->actuators->known->len; i++) {
        hz_actuator_configure(g_ptr_array_index(host->actuators->known, i));
    }
}

void hz_actuators_replaced(HzHost *host, HzActuator *a)
{
    /* its channel's end will be that of a stranger */
    a->channel = NULL;
    g_ptr_array_set_size(a->calls, 0);
    hz_timer_set(a->bound, UINT64_MAX);
    hz_event_actuator(host, a->name, "replaced", NULL);
}

/* -- telling ------------------------------------------------------------ */

static const char *health_name(HzActuatorHealth health)
{
    static const char *const names[] = { "absent", "greeted", "ready", "hung", "failing" };

    return names[health];
}

static JsonObject *actuator_json(const HzActuator *a)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "name", a->name);
    json_object_set_string_member(o, "health", health_name(a->health));
    json_object_set_string_member(o, "mode", hz_mode_name(hz_actuators_mode(a->host, a->name)));
    json_object_set_string_member(o, "wanted", hz_mode_name(hz_actuators_wanted(a->host,
                                                                                a->name)));
    json_object_set_boolean_member(o, "fallen-back", hz_now() < a->failing_until);
    if (a->channel) {
        json_object_set_int_member(o, "pid", a->pid);
        json_object_set_string_member(o, "package", a->package);
    }
    if (a->features) {
        json_object_set_member(o, "configured", json_node_copy(a->features));
    }
    if (a->trouble) {
        json_object_set_string_member(o, "why", a->trouble);
    }
    json_object_set_int_member(o, "applies", (gint64)a->applies);
    json_object_set_int_member(o, "downs", (gint64)a->restarts);
    json_object_set_int_member(o, "events", (gint64)a->events);
    return o;
}

JsonArray *hz_actuators_json(HzHost *host)
{
    JsonArray *array = json_array_new();

    for (guint i = 0; i < host->actuators->known->len; i++) {
        json_array_add_object_element(array,
                                      actuator_json(g_ptr_array_index(host->actuators->known, i)));
    }
    return array;
}

void hz_actuators_spawn(HzHost *host, gboolean unclean)
{
    host->actuators->spawner = hz_spawner_new(host, unclean);
}

/* -- making ------------------------------------------------------------- */

HzActuators *hz_actuators_new(HzHost *host, GError **error)
{
    HzActuators *acts = g_new0(HzActuators, 1);

    acts->host = host;
    acts->path = g_build_filename(host->config->run_dir, "actuators.sock", NULL);
    acts->known = g_ptr_array_new_with_free_func((GDestroyNotify)hz_actuator_free);
    acts->peers = g_ptr_array_new_with_free_func((GDestroyNotify)peer_free);
    g_ptr_array_add(acts->known, hz_actuator_new(host, "vnic"));
    acts->fd = hz_unix_listen(acts->path, 0660, error);
    if (acts->fd < 0) {
        hz_actuators_free(acts);
        return NULL;
    }
    acts->source = g_unix_fd_add(acts->fd, G_IO_IN, can_accept, host);
    return acts;
}

void hz_actuators_free(HzActuators *acts)
{
    if (!acts) {
        return;
    }
    hz_spawner_free(acts->spawner);
    if (acts->fd >= 0) {
        g_clear_handle_id(&acts->source, g_source_remove);
        close(acts->fd);
        unlink(acts->path);
    }
    for (guint i = 0; i < acts->peers->len; i++) {
        Peer *peer = g_ptr_array_index(acts->peers, i);

        if (!peer->is || peer->is->channel != peer->channel) {
            hz_channel_drop(peer->channel);
        }
    }
    g_ptr_array_unref(acts->peers);
    g_ptr_array_unref(acts->known);
    g_free(acts->path);
    g_free(acts);
}
