/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd commands: what can be asked of hzd, in QMP's shape, and no socket in sight.
 *
 * One table (commands.c) names every command, its arguments and whether it
 * changes anything. Messages come in as parsed objects or as bytes, replies go
 * out through a function: the control sockets and the fuzz target are two
 * callers of the same thing.
 */
#ifndef HZ_HZD_COMMANDS_H
#define HZ_HZD_COMMANDS_H

#include "hzd.h"

/* Who asks. */
typedef struct {
    gboolean admin;             /* may change things */
    gboolean negotiated;        /* past qmp_capabilities */
    char *who;                  /* for the audit: "uid 0 pid 4711" */
} HzCaller;

/*
 * One answer to one message, {"return" or "error", "id"}: taken. Called exactly
 * once, perhaps later than the dispatch (release): @opaque must live so long.
 */
typedef void (*HzReplyFunc)(JsonObject *reply, gpointer opaque);

/* {"QMP": …}, the first thing a client is told. */
JsonObject *hz_commands_greeting(void);

void hz_commands_dispatch(HzHost *host, HzCaller *caller, JsonObject *message,
                          HzReplyFunc reply, gpointer opaque);

/* The same from untrusted bytes; what is no object is answered with an error. */
void hz_commands_dispatch_line(HzHost *host, HzCaller *caller, const char *line, gsize len,
                               HzReplyFunc reply, gpointer opaque);

#endif /* HZ_HZD_COMMANDS_H */
