/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd actuators: the inside, shared by actuators.c (who is there) and
 * actuator.c (speaking to one).
 */
#ifndef HZ_HZD_ACTUATORS_INT_H
#define HZ_HZD_ACTUATORS_INT_H

#include "actuators.h"
#include "bucket.h"
#include "json/channel.h"

typedef struct {
    HzHost *host;
    char *name;
    HzMode mode;                /* set-mode's; UNSET: the configuration's */
    HzChannel *channel;         /* NULL: absent */
    pid_t pid;
    char *package;
    HzActuatorHealth health;
    HzMode told;                /* confirmed by its answer; OFF until then */
    HzMode asked;               /* the one in the configure under way */
    JsonNode *features;         /* its answer to configure */
    GPtrArray *calls;           /* Call, not answered yet */
    HzTimer *bound;             /* an answer is due */
    HzTimer *missed;            /* it should be there by now */
    HzTimer *retry;             /* the end of having fallen back */
    GQueue downs;               /* when it went away, newest last (uint64_t *, owned) */
    uint64_t failing_until;
    uint64_t since;             /* it has been in this health */
    unsigned errors;            /* applies in a row that failed as a whole */
    HzBucket sent;              /* events it may send */
    uint64_t applies, restarts, events;
    char *trouble;
} HzActuator;

struct HzActuators {
    HzHost *host;
    int fd;
    guint source;
    char *path;
    GPtrArray *known;           /* HzActuator, owned */
    GPtrArray *peers;           /* Peer, owned: every connection, greeted or not */
    struct HzSpawner *spawner;
};

/* So long may it take to come (back) before that is a fact. */
#define HZ_ACTUATOR_START (5 * HZ_SEC)

HzActuator *hz_actuators_find(const HzHost *host, const char *name);
HzActuator *hz_actuator_new(HzHost *host, const char *name);
void hz_actuator_free(HzActuator *a);

/* It has greeted on this channel (taken). */
void hz_actuator_up(HzActuator *a, HzChannel *channel, JsonObject *greeting);
void hz_actuator_closed(HzActuator *a, const GError *why);
void hz_actuator_message(HzActuator *a, JsonObject *message);

/*
 * Send a command; the answer comes to @answer unless the actuator is freed
 * before. @opaque is g_free()d after.
 */
typedef void (*HzActuatorAnswer)(HzActuator *a, JsonNode *value, const GError *error,
                                 gpointer opaque);
void hz_actuator_call(HzActuator *a, const char *command, JsonObject *arguments,
                      HzActuatorAnswer answer, gpointer opaque);
void hz_actuator_configure(HzActuator *a);

/* It hung and another process has come in its place: let go of the old channel. */
void hz_actuators_replaced(HzHost *host, HzActuator *a);

#endif /* HZ_HZD_ACTUATORS_INT_H */
