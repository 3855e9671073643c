/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd commands: from a message to a handler.
 */
#include "commands-int.h"
#include "core/vocabulary.h"
#include "json/channel.h"

#include <string.h>

/* -- the tables ---------------------------------------------------------- */

static const struct {
    const HzCommand *commands;
    const guint *n;
} tables[] = {
    { hz_query_commands, &hz_n_query_commands },
    { hz_notice_commands, &hz_n_notice_commands },
    { hz_admin_commands, &hz_n_admin_commands },
};

/* The command at position @i of all tables; NULL past the last. */
static const HzCommand *command_at(guint i)
{
    for (guint t = 0; t < G_N_ELEMENTS(tables); t++) {
        if (i < *tables[t].n) {
            return &tables[t].commands[i];
        }
        i -= *tables[t].n;
    }
    return NULL;
}

static const HzCommand *find(const char *name)
{
    const HzCommand *command;

    for (guint i = 0; (command = command_at(i)); i++) {
        if (!strcmp(command->name, name)) {
            return command;
        }
    }
    return NULL;
}

static const char *nearest(const char *name)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const HzCommand *command;

    for (guint i = 0; (command = command_at(i)); i++) {
        g_ptr_array_add(names, (gpointer)command->name);
    }
    g_ptr_array_add(names, NULL);
    return hz_nearest(name, (const char *const *)names->pdata);
}

static JsonObject *command_json(const HzCommand *command)
{
    JsonObject *o = json_object_new();
    JsonArray *args = json_array_new();

    for (guint i = 0; i < command->n_args; i++) {
        const HzArg *arg = &command->args[i];
        JsonObject *a = json_object_new();

        json_object_set_string_member(a, "name", arg->name);
        json_object_set_string_member(a, "type", hz_arg_type_name(arg->type));
        json_object_set_boolean_member(a, "required", arg->required);
        json_object_set_string_member(a, "help", arg->help);
        json_array_add_object_element(args, a);
    }
    json_object_set_string_member(o, "name", command->name);
    json_object_set_boolean_member(o, "admin", command->admin);
    json_object_set_string_member(o, "help", command->help);
    json_object_set_array_member(o, "arguments", args);
    return o;
}

JsonArray *hz_commands_json(gboolean admin)
{
    JsonArray *a = json_array_new();
    const HzCommand *command;

    for (guint i = 0; (command = command_at(i)); i++) {
        if (admin || !command->admin) {
            json_array_add_object_element(a, command_json(command));
        }
    }
    return a;
}

/* -- the greeting -------------------------------------------------------- */

JsonObject *hz_commands_version(void);

JsonObject *hz_commands_greeting(void)
{
    JsonObject *o = json_object_new(), *qmp = json_object_new();

    json_object_set_object_member(qmp, "version", hz_commands_version());
    json_object_set_array_member(qmp, "capabilities", json_array_new());
    json_object_set_object_member(o, "QMP", qmp);
    return o;
}

/* -- dispatch ------------------------------------------------------------ */

/* What is wrong with the message itself; NULL: nothing. */
static char *bad_message(JsonObject *message)
{
    static const char *const members[] = { "execute", "arguments", "id" };
    g_autoptr(GList) names = json_object_get_members(message);
    JsonNode *execute = json_object_get_member(message, "execute");
    JsonNode *arguments = json_object_get_member(message, "arguments");

    for (GList *i = names; i; i = i->next) {
        gboolean known = FALSE;

        for (guint k = 0; k < G_N_ELEMENTS(members); k++) {
            known |= !strcmp(i->data, members[k]);
        }
        if (!known) {
            return g_strdup_printf("message member '%.64s' is unexpected: there are execute, "
                                   "arguments, id", (const char *)i->data);
        }
    }
    if (!execute || json_node_get_value_type(execute) != G_TYPE_STRING) {
        return g_strdup("message without 'execute', the name of a command");
    }
    if (arguments && !JSON_NODE_HOLDS_OBJECT(arguments)) {
        return g_strdup("message member 'arguments' is no object");
    }
    return NULL;
}

static gboolean may_run(HzCall *call, const char *name)
{
    gboolean negotiation = !strcmp(name, "qmp_capabilities");

    if (!call->caller->negotiated && !negotiation) {
        hz_call_fail_class(call, "CommandNotFound", "capabilities negotiation comes first: "
                           "'qmp_capabilities', then '%.64s'", name);
    } else if (call->caller->negotiated && negotiation) {
        hz_call_fail_class(call, "CommandNotFound", "capabilities negotiation is already done");
    } else if (!call->command) {
        const char *near = nearest(name);

        hz_call_fail_class(call, "CommandNotFound", "there is no command '%.64s'%s%s%s", name,
                           near ? "; did you mean '" : " (query-commands lists them)",
                           near ? near : "", near ? "'?" : "");
    } else if (call->command->admin && !call->caller->admin) {
        hz_call_fail_class(call, "GenericError", "'%s' changes things: this is the read-only "
                           "socket, use the admin one (control.sock)", name);
    } else {
        return TRUE;
    }
    return FALSE;
}

void hz_commands_dispatch(HzHost *host, HzCaller *caller, JsonObject *message,
                          HzReplyFunc reply, gpointer opaque)
{
    HzCall *call = g_new0(HzCall, 1);
    g_autofree char *bad = bad_message(message);
    g_autoptr(GError) error = NULL;
    const char *name;

    call->host = host;
    call->caller = caller;
    call->who = g_strdup(caller->who);
    call->id = json_object_dup_member(message, "id");
    call->reply = reply;
    call->opaque = opaque;
    if (bad) {
        hz_call_fail_class(call, "GenericError", "%s", bad);
        return;
    }
    name = json_object_get_string_member(message, "execute");
    call->command = find(name);
    if (!may_run(call, name)) {
        return;
    }
    if (json_object_has_member(message, "arguments")) {
        call->args = json_object_ref(json_object_get_object_member(message, "arguments"));
    }
    if (!hz_args_check(call->command->args, call->command->n_args, call->args, &error)) {
        g_prefix_error(&error, "%s: ", name);
        hz_call_fail(call, error);
        return;
    }
    call->command->run(call);
}

void hz_commands_dispatch_line(HzHost *host, HzCaller *caller, const char *line, gsize len,
                               HzReplyFunc reply, gpointer opaque)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonObject) message = hz_json_parse(line, len, &error);

    if (message) {
        hz_commands_dispatch(host, caller, message, reply, opaque);
    } else {
        HzCall *call = g_new0(HzCall, 1);

        call->reply = reply;
        call->opaque = opaque;
        hz_call_fail(call, error);
    }
}
