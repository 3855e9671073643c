/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd spawn: actuators as children. */
#include "spawn.h"

#include <signal.h>

#include "actuators.h"

#define DELAY_MAX_MS 30000
#define COME_BACK_MS 2000
#define STEADY_US (60 * G_USEC_PER_SEC)

struct HzSpawner {
    HzHost *host;
    char *program;
    GPid pid;
    guint watch, restart;
    unsigned delay_ms;
    gint64 started;
};

/* Beside hzd itself when installed together or built together, else by PATH. */
static char *find_program(void)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = g_path_get_dirname(self ? self : ".");
    const char *const places[] = { "hz-vnic", "../actuators/vnic/hz-vnic" };

    for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autofree char *path = g_build_filename(dir, places[i], NULL);

        if (g_file_test(path, G_FILE_TEST_IS_EXECUTABLE)) {
            return g_steal_pointer(&path);
        }
    }
    return g_strdup("hz-vnic");
}

static void start(struct HzSpawner *s);
static void later(struct HzSpawner *s);

static gboolean restart(gpointer opaque)
{
    struct HzSpawner *s = opaque;

    s->restart = 0;
    if (hz_actuator_health(s->host, "vnic") != HZ_ACTUATOR_ABSENT) {
        later(s);
    } else {
        start(s);
    }
    return G_SOURCE_REMOVE;
}

static void later(struct HzSpawner *s)
{
    if (g_get_monotonic_time() - s->started > STEADY_US) {
        s->delay_ms = 0;
    }
    s->delay_ms = s->delay_ms ? MIN(s->delay_ms * 2, DELAY_MAX_MS) : 1000;
    s->restart = g_timeout_add(s->delay_ms, restart, s);
}

static void ended(GPid pid, int status, gpointer opaque)
{
    struct HzSpawner *s = opaque;
    g_autoptr(GError) why = NULL;

    g_spawn_close_pid(pid);
    s->pid = 0;
    s->watch = 0;
    if (!g_spawn_check_wait_status(status, &why)) {
        g_message("%s: %s", s->program, why->message);
    }
    later(s);
}

static void start(struct HzSpawner *s)
{
    g_autofree char *socket = g_build_filename(s->host->config->run_dir, "actuators.sock", NULL);
    char *argv[] = { s->program, (char *)"--socket", socket, NULL };
    g_autoptr(GError) why = NULL;

    s->started = g_get_monotonic_time();
    if (!g_spawn_async(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH,
                       NULL, NULL, &s->pid, &why)) {
        g_message("%s", why->message);
        later(s);
        return;
    }
    s->watch = g_child_watch_add(s->pid, ended, s);
}

struct HzSpawner *hz_spawner_new(HzHost *host, gboolean unclean)
{
    struct HzSpawner *s = g_new0(struct HzSpawner, 1);

    s->host = host;
    s->program = find_program();
    if (unclean) {
        s->restart = g_timeout_add(COME_BACK_MS, restart, s);
    } else {
        start(s);
    }
    return s;
}

void hz_spawner_free(struct HzSpawner *s)
{
    if (!s) {
        return;
    }
    g_clear_handle_id(&s->watch, g_source_remove);
    g_clear_handle_id(&s->restart, g_source_remove);
    if (s->pid > 0) {
        kill(s->pid, SIGTERM);
    }
    g_free(s->program);
    g_free(s);
}
