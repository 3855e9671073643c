/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz json: JSON lines in QMP's shape, either end, on the GLib main loop.
 *
 * One object a line is sent; on receipt an object ends with its own bracket,
 * as in QEMU (whose own Python client sends no newline). A client sends
 * {"execute", "arguments", "id"}, a server answers {"return", "id"} or
 * {"error": {"class", "desc"}, "id"}, and sends {"event", "data", "timestamp"}
 * when it likes. The control sockets, the actuator socket and QEMU's own
 * monitor all speak it, through this file.
 *
 * Bounded everywhere: an object over HZ_JSON_LINE_MAX, nesting over
 * HZ_JSON_DEPTH_MAX, anything that is no JSON object, or a peer that doesn't
 * read (more than HZ_JSON_BACKLOG_MAX waiting) closes the channel with an
 * error that says so. The peer is told it too, as an "error" without "id".
 */
#ifndef HZ_JSON_CHANNEL_H
#define HZ_JSON_CHANNEL_H

#include <glib.h>
#include <json-glib/json-glib.h>
#include <sys/types.h>

#define HZ_JSON_LINE_MAX     (1024 * 1024)
#define HZ_JSON_DEPTH_MAX    32
#define HZ_JSON_BACKLOG_MAX  (4 * 1024 * 1024)

#define HZ_JSON_ERROR (hz_json_error_quark())
GQuark hz_json_error_quark(void);

typedef enum {
    HZ_JSON_ERROR_INVALID,      /* no JSON object, or one beyond a limit; an unusable path */
    HZ_JSON_ERROR_PEER,         /* the peer answered with an error: its description */
    HZ_JSON_ERROR_CLOSED,       /* the channel has ended */
} HzJsonError;

/* One JSON object from @len bytes; everything is checked before the parser sees it. Owned. */
JsonObject *hz_json_parse(const char *text, gsize len, GError **error);

/* The object as one line with its '\n'. Free with g_free(). */
char *hz_json_line(JsonObject *object);

/* The owner keeps its reference until closed(), or ends it with hz_channel_drop(). */
typedef struct HzChannel HzChannel;

typedef struct {
    /* One object has come that is no answer to hz_channel_execute(). Borrowed. */
    void (*message)(HzChannel *channel, JsonObject *message, gpointer opaque);
    /* Called once. @why is NULL for an orderly end of file. Drop your reference here. */
    void (*closed)(HzChannel *channel, const GError *why, gpointer opaque);
} HzChannelOps;

/* Called once: with a value (borrowed), or with an error (the peer's, or the channel's end). */
typedef void (*HzAnswerFunc)(JsonNode *value, const GError *error, gpointer opaque);

/* Takes @fd (made non-blocking). One reference, the caller's. */
HzChannel *hz_channel_new(int fd, const HzChannelOps *ops, gpointer opaque);
HzChannel *hz_channel_ref(HzChannel *channel);
void hz_channel_unref(HzChannel *channel);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzChannel, hz_channel_unref)

/* FALSE from the moment it is to end; closed() may still be to come. */
gboolean hz_channel_open(const HzChannel *channel);

/* Who is at the other end (SO_PEERCRED); false when the kernel can't say. */
gboolean hz_channel_peer(HzChannel *channel, pid_t *pid, uid_t *uid);

/*
 * What would be longer than HZ_JSON_LINE_MAX isn't sent: of an answer its
 * caller is told so, an event is left out.
 *
 * Sends never block and never fail here: a channel that can't is closed from
 * the main loop. Each takes its JSON. A NULL value is returned as {}.
 */
void hz_channel_send(HzChannel *channel, JsonObject *message);
void hz_channel_return(HzChannel *channel, JsonNode *id, JsonNode *value);
void hz_channel_error(HzChannel *channel, JsonNode *id, const char *klass,
                      const char *format, ...) G_GNUC_PRINTF(4, 5);
void hz_channel_event(HzChannel *channel, const char *name, JsonObject *data);

/* Client: send a command; @answer may be NULL. @arguments may be NULL. */
void hz_channel_execute(HzChannel *channel, const char *command,
                        JsonObject *arguments, HzAnswerFunc answer, gpointer opaque);

/* Flush what the peer takes at once, then close; closed() comes from the main loop. */
void hz_channel_close(HzChannel *channel);

/*
 * For an owner that goes away itself: drop the reference. No closed(),
 * message() or answer follows; what was queued may be lost.
 */
void hz_channel_drop(HzChannel *channel);

/*
 * Listen on a unix socket path with permissions @mode: fd or -1. A dead socket
 * there is replaced; a live one, or another kind of file, is refused.
 */
int hz_unix_listen(const char *path, mode_t mode, GError **error);
/* Connect without waiting: fd or -1 at once. */
int hz_unix_connect(const char *path, GError **error);

#endif /* HZ_JSON_CHANNEL_H */
