/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd commands: the ways a call ends.
 */
#include "audit.h"
#include "commands-int.h"

/* Error classes: QMP's own two, then one for each thing a caller can do wrong. */
static const char *error_class(const GError *error)
{
    static const char *const classes[] = {
        [HZ_HZD_ERROR_INVALID] = "InvalidArgument",
        [HZ_HZD_ERROR_NOT_FOUND] = "NotFound",
        [HZ_HZD_ERROR_STATE] = "WrongState",
        [HZ_HZD_ERROR_REFUSED] = "Refused",
        [HZ_HZD_ERROR_IO] = "IOError",
    };

    return error->domain == HZ_HZD_ERROR && (guint)error->code < G_N_ELEMENTS(classes)
           ? classes[error->code] : "GenericError";
}

static void finish(HzCall *call, const char *member, JsonNode *value)
{
    JsonObject *reply = json_object_new();

    json_object_set_member(reply, member, value);
    if (call->id) {
        json_object_set_member(reply, "id", call->id);
    }
    call->reply(reply, call->opaque);
    g_clear_pointer(&call->args, json_object_unref);
    g_free(call->who);
    g_free(call);
}

void hz_call_return(HzCall *call, JsonNode *value)
{
    finish(call, "return", value);
}

void hz_call_return_object(HzCall *call, JsonObject *object)
{
    JsonNode *value = json_node_new(JSON_NODE_OBJECT);

    json_node_take_object(value, object ? object : json_object_new());
    finish(call, "return", value);
}

void hz_call_return_array(HzCall *call, JsonArray *array)
{
    JsonNode *value = json_node_new(JSON_NODE_ARRAY);

    json_node_take_array(value, array);
    finish(call, "return", value);
}

static void fail(HzCall *call, const char *klass, const char *desc)
{
    JsonObject *error = json_object_new();
    JsonNode *value = json_node_new(JSON_NODE_OBJECT);

    json_object_set_string_member(error, "class", klass);
    json_object_set_string_member(error, "desc", desc);
    json_node_take_object(value, error);
    finish(call, "error", value);
}

/* What an operator asked for and didn't get is in the log beside what was done. */
static void audit_failure(const HzCall *call, const char *why)
{
    JsonObject *o;

    if (!call->command || !call->command->admin) {
        return;
    }
    o = json_object_new();
    json_object_set_string_member(o, "who", call->who);
    json_object_set_string_member(o, "command", call->command->name);
    json_object_set_string_member(o, "error", why);
    hz_audit(call->host, "command-failed", o);
}

void hz_call_fail(HzCall *call, const GError *error)
{
    audit_failure(call, error->message);
    fail(call, error_class(error), error->message);
}

void hz_call_fail_class(HzCall *call, const char *klass, const char *format, ...)
{
    g_autofree char *desc = NULL;
    va_list ap;

    va_start(ap, format);
    desc = g_strdup_vprintf(format, ap);
    va_end(ap);
    audit_failure(call, desc);
    fail(call, klass, desc);
}

void hz_call_end(HzCall *call, JsonObject *object, const GError *error)
{
    if (error) {
        hz_call_fail(call, error);
    } else {
        hz_call_return_object(call, object);
    }
}
