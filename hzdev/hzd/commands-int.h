/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd commands, inside: a handler is given a call and ends it once.
 */
#ifndef HZ_HZD_COMMANDS_INT_H
#define HZ_HZD_COMMANDS_INT_H

#include "args.h"
#include "commands.h"

typedef struct HzCommand HzCommand;

typedef struct {
    HzHost *host;
    HzCaller *caller;           /* only while the handler runs: who asks may be gone later */
    char *who;
    const HzCommand *command;
    JsonObject *args;           /* checked; NULL: none given */
    JsonNode *id;
    HzReplyFunc reply;
    gpointer opaque;
} HzCall;

struct HzCommand {
    const char *name;
    gboolean admin;
    void (*run)(HzCall *call);
    const HzArg *args;
    guint n_args;
    const char *help;
};

#define HZ_ARGS(table) (table), G_N_ELEMENTS(table)

/* Each ends the call: it answers and frees it. Values are taken. */
void hz_call_return(HzCall *call, JsonNode *value);
void hz_call_return_object(HzCall *call, JsonObject *object);   /* NULL: {} */
void hz_call_return_array(HzCall *call, JsonArray *array);
void hz_call_fail(HzCall *call, const GError *error);
void hz_call_fail_class(HzCall *call, const char *klass, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* @object with success, else @error. */
void hz_call_end(HzCall *call, JsonObject *object, const GError *error);

extern const HzCommand hz_query_commands[], hz_notice_commands[], hz_admin_commands[];
extern const guint hz_n_query_commands, hz_n_notice_commands, hz_n_admin_commands;

/* commands.c: every command as query-commands tells it. */
JsonArray *hz_commands_json(gboolean admin);

#endif /* HZ_HZD_COMMANDS_INT_H */
