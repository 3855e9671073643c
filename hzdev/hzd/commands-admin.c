/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd commands over the whole host: freeze, release, modes, reload.
 */
#include "admin.h"
#include "commands-int.h"

static void freeze(HzCall *call)
{
    g_autoptr(GError) error = NULL;

    hz_admin_freeze(call->host, call->who, &error);
    hz_call_end(call, NULL, error);
}

static void thaw(HzCall *call)
{
    g_autoptr(GError) error = NULL;

    hz_admin_thaw(call->host, call->who, &error);
    hz_call_end(call, NULL, error);
}

/* Actuators take their time: the call outlives the handler. */
static void released(const GError *error, gpointer opaque)
{
    hz_call_end(opaque, NULL, error);
}

static void release(HzCall *call)
{
    g_autoptr(GError) error = NULL;
    const char *vm = hz_arg_text(call->args, "vm");

    if (vm && !hz_host_vm(call->host, vm, &error)) {
        hz_call_fail(call, error);
        return;
    }
    hz_admin_release(call->host, vm, call->who, released, call);
}

static void set_mode(HzCall *call)
{
    g_autoptr(GError) error = NULL;
    const char *text = hz_arg_text(call->args, "mode");
    const char *vm = hz_arg_text(call->args, "vm");
    const char *actuator = hz_arg_text(call->args, "actuator");
    HzMode mode = HZ_MODE_UNSET;

    if (!hz_mode_by_name(text, &mode) && g_strcmp0(text, hz_mode_name(HZ_MODE_UNSET))) {
        g_set_error(&error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                    "mode '%.64s': it is off, observe, enforce, or unset for the configuration's",
                    text);
    } else if (vm && actuator) {
        g_set_error(&error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                    "the mode of a VM or of an actuator, not both at once");
    } else {
        hz_admin_set_mode(call->host, vm, actuator, mode, call->who, &error);
    }
    hz_call_end(call, NULL, error);
}

static void reload(HzCall *call)
{
    g_autoptr(GError) error = NULL;

    hz_admin_reload(call->host, call->who, &error);
    hz_call_end(call, NULL, error);
}

static const HzArg release_args[] = {
    { "vm", HZ_ARG_TEXT, FALSE, 0, "only this VM; default: all" },
};

static const HzArg mode_args[] = {
    { "mode", HZ_ARG_TEXT, TRUE, 0, "off, observe, enforce, or unset" },
    { "vm", HZ_ARG_TEXT, FALSE, 0, "this VM's" },
    { "actuator", HZ_ARG_TEXT, FALSE, 0, "this actuator's; default: the host's" },
};

const HzCommand hz_admin_commands[] = {
    { "freeze", TRUE, freeze, NULL, 0, "stop all change; survives restarts" },
    { "thaw", TRUE, thaw, NULL, 0, "end a freeze" },
    { "release", TRUE, release, HZ_ARGS(release_args), "restore the state before hz" },
    { "set-mode", TRUE, set_mode, HZ_ARGS(mode_args), "until the next start or reload" },
    { "reload", TRUE, reload, NULL, 0, "read the configuration again" },
};
const guint hz_n_admin_commands = G_N_ELEMENTS(hz_admin_commands);
