/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic: the actuator that shapes vNICs.
 *
 * Runs in the network namespace whose NICs it shapes and connects to hzd. It
 * keeps CAP_NET_ADMIN and nothing else (privileges.c). What it has set stays
 * when it ends: the next one adopts it, `hz-vnic --release` takes it away.
 */
#include <glib-unix.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "host.h"
#include "privileges.h"

#define RUN_DIR "/run/hz"
#define SOCKET_NAME "actuators.sock"

static gboolean on_signal(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static int fail(const GError *error)
{
    fprintf(stderr, "hz-vnic: %s\n", error->message);
    return EXIT_FAILURE;
}

static int release(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(HzVnic) vnic = hz_vnic_new(NULL, NULL, &error);

    return vnic && hz_vnic_forget_all(vnic, &error) ? EXIT_SUCCESS : fail(error);
}

static int serve(const char *path)
{
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_autoptr(GError) error = NULL;
    g_autoptr(HzHostLink) link = hz_host_link_new(path, &error);

    if (!link) {
        return fail(error);
    }
    g_unix_signal_add(SIGTERM, on_signal, loop);
    g_unix_signal_add(SIGINT, on_signal, loop);
    g_main_loop_run(loop);
    return EXIT_SUCCESS;
}

static char *default_path(void)
{
    const char *run_dir = g_getenv("HZ_RUN_DIR");

    return g_build_filename(run_dir && run_dir[0] ? run_dir : RUN_DIR, SOCKET_NAME, NULL);
}

int main(int argc, char **argv)
{
    g_autofree char *path = NULL, *user = NULL, *folder = NULL;
    gboolean version = FALSE, release_all = FALSE;
    GOptionEntry entries[] = {
        { "socket", 0, 0, G_OPTION_ARG_FILENAME, &path, "hzd's actuator socket "
          "(default: $HZ_RUN_DIR/" SOCKET_NAME ", else " RUN_DIR "/" SOCKET_NAME ")", "PATH" },
        { "user", 0, 0, G_OPTION_ARG_STRING, &user, "Started as root, become this user "
          "(default: whoever owns the socket's folder)", "NAME" },
        { "release", 0, 0, G_OPTION_ARG_NONE, &release_all,
          "Take away all that hz-vnic has set in this network namespace, and exit", NULL },
        { "version", 0, 0, G_OPTION_ARG_NONE, &version, "Print the version and exit", NULL },
        G_OPTION_ENTRY_NULL
    };
    g_autoptr(GOptionContext) context = g_option_context_new("- shape vNICs as hzd says");
    g_autoptr(GError) error = NULL;

    setlocale(LC_ALL, "");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        return fail(error);
    }
    if (argc > 1) {
        fprintf(stderr, "hz-vnic: unexpected argument \"%s\"\n", argv[1]);
        return EXIT_FAILURE;
    }
    if (version) {
        printf("hz-vnic %s\n", HZ_VERSION);
        return EXIT_SUCCESS;
    }
    if (!path) {
        path = default_path();
    }
    folder = g_path_get_dirname(path);
    if (!hz_privileges_drop(user, folder, &error)) {
        return fail(error);
    }
    return release_all ? release() : serve(path);
}
