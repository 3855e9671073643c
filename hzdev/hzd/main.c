/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd: the host daemon's command line, signals and main loop. */
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "actuators.h"
#include "admin.h"
#include "audit.h"
#include "capabilities.h"
#include "service.h"

#define DEFAULT_CONFIG "/etc/hz/hzd.conf"

typedef struct {
    char *config;
    gboolean capabilities, check, version, spawn;
} Options;

static gboolean parse(int *argc, char ***argv, Options *o, GError **error)
{
    const GOptionEntry entries[] = {
        { "config", 'c', 0, G_OPTION_ARG_FILENAME, &o->config,
          "The configuration (default " DEFAULT_CONFIG ")", "FILE" },
        { "check-config", 0, 0, G_OPTION_ARG_NONE, &o->check,
          "Read the configuration, say what is wrong with it, and end", NULL },
        { "spawn", 0, 0, G_OPTION_ARG_NONE, &o->spawn,
          "Run the actuators as children, where no service manager does", NULL },
        { "print-capabilities", 0, 0, G_OPTION_ARG_NONE, &o->capabilities,
          "What this build can do, as JSON", NULL },
        { "version", 0, 0, G_OPTION_ARG_NONE, &o->version, "The version", NULL },
        { 0 },
    };
    g_autoptr(GOptionContext) context = g_option_context_new("- the hz host daemon");

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, error)) {
        return FALSE;
    }
    if (*argc > 1) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "unexpected argument '%s'",
                    (*argv)[1]);
        return FALSE;
    }
    if (!o->config) {
        o->config = g_strdup(DEFAULT_CONFIG);
    }
    return TRUE;
}

static gboolean on_stop(gpointer opaque)
{
    hz_service_tell("STOPPING=1");
    hz_admin_stop(opaque);
    return G_SOURCE_CONTINUE;
}

static gboolean on_reload(gpointer opaque)
{
    g_autoptr(GError) error = NULL;
    HzHost *host = opaque;

    hz_service_tell("RELOADING=1");
    if (!hz_audit_reopen(host->audit, &error)) {
        g_warning("the old file goes on: %s", error->message);
        g_clear_error(&error);
    }
    if (!hz_admin_reload(host, "signal HUP", &error)) {
        g_warning("reload refused, the old configuration stays: %s", error->message);
    }
    hz_service_tell("READY=1");
    return G_SOURCE_CONTINUE;
}

static int serve(HzConfig *config, gboolean spawn, gboolean unclean, GError **error)
{
    HzHost *host = hz_host_new(config, error);

    if (!host) {
        return EXIT_FAILURE;
    }
    g_unix_signal_add(SIGTERM, on_stop, host);
    g_unix_signal_add(SIGINT, on_stop, host);
    g_unix_signal_add(SIGHUP, on_reload, host);
    if (spawn) {
        hz_actuators_spawn(host, unclean);
    }
    hz_service_tell("READY=1");
    g_main_loop_run(host->loop);
    hz_host_free(host);
    return EXIT_SUCCESS;
}

static int run(const Options *o, GError **error)
{
    g_autoptr(HzConfig) config = hz_config_load(o->config, error);
    gboolean unclean;
    int lock, rc;

    if (!config) {
        return EXIT_FAILURE;
    }
    if (o->check) {
        printf("%s: good (%u VMs, mode %s)\n", o->config, config->vms->len,
               hz_mode_name(config->mode));
        return EXIT_SUCCESS;
    }
    lock = hz_service_lock(config->run_dir, &unclean, error);
    if (lock < 0) {
        return EXIT_FAILURE;
    }
    rc = serve(g_steal_pointer(&config), o->spawn, unclean, error);
    hz_service_unlock(lock);
    return rc;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    Options o = { 0 };
    int rc = EXIT_FAILURE;

    g_set_prgname("hzd");
    signal(SIGPIPE, SIG_IGN);
    if (!parse(&argc, &argv, &o, &error)) {
        rc = 2;
    } else if (o.version) {
        printf("hzd %s\n", HZ_VERSION);
        rc = EXIT_SUCCESS;
    } else if (o.capabilities) {
        g_autofree char *text = hz_capabilities_text();

        puts(text);
        rc = EXIT_SUCCESS;
    } else {
        rc = run(&o, &error);
    }
    if (error) {
        fprintf(stderr, "hzd: %s\n", error->message);
    }
    g_free(o.config);
    return rc;
}
