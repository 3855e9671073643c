/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic commands: hzd's JSON commands, checked and given to the actuator (docs/actuators.md). */
#ifndef HZ_VNIC_COMMANDS_H
#define HZ_VNIC_COMMANDS_H

#include <json-glib/json-glib.h>

#include "vnic.h"

#define HZ_VNIC_PROTOCOL     1
#define HZ_VNIC_PROTOCOL_MIN 1
#define HZ_VNIC_LINES_MAX    4096

typedef struct {
    HzVnic *vnic;
    gboolean configured;        /* on this connection */
    guint stale_after_ms;
    gboolean applied;           /* hzd's word was heard since the last connect: nothing is stale */
} HzSession;

/* {"HZ": …}, the first line to hzd. */
JsonObject *hz_session_greeting(void);
/* The value of "return" (full), or NULL with @error: what was wrong, named. */
JsonNode *hz_session_execute(HzSession *session, const char *command, JsonObject *arguments,
                             GError **error);

#endif /* HZ_VNIC_COMMANDS_H */
