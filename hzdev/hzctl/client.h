/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl client: one connection to hzd, used from straight-line code.
 *
 * A call runs the main loop until its answer is there; events that come
 * meanwhile go to the handler.
 */
#ifndef HZ_HZCTL_CLIENT_H
#define HZ_HZCTL_CLIENT_H

#include <json-glib/json-glib.h>

typedef struct HzClient HzClient;

#define HZ_CLIENT_ERROR (hz_client_error_quark())
GQuark hz_client_error_quark(void);

typedef enum {
    HZ_CLIENT_ERROR_CONNECT,    /* no connection, or it was lost */
    HZ_CLIENT_ERROR_ANSWER,     /* hzd's own error */
    HZ_CLIENT_ERROR_TIMEOUT,
} HzClientError;

/* Connect, take the greeting, negotiate. */
HzClient *hz_client_open(const char *path, GError **error);
void hz_client_close(HzClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzClient, hz_client_close)

/* The greeting's version: "0.1.0". */
const char *hz_client_version(const HzClient *client);

/* The answer, owned; NULL on error. Takes @arguments (may be NULL). */
JsonNode *hz_client_call(HzClient *client, const char *command, JsonObject *arguments,
                         GError **error);

typedef void (*HzClientEvent)(JsonObject *event, gpointer opaque);
void hz_client_on_event(HzClient *client, HzClientEvent handler, gpointer opaque);

/*
 * Wait for an event, at most until @until_us (monotonic; -1: for ever). FALSE
 * with an error when the connection is gone; TRUE else.
 */
gboolean hz_client_wait(HzClient *client, gint64 until_us, GError **error);

#endif /* HZ_HZCTL_CLIENT_H */
