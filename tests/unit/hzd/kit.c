/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd test kit: hzd itself, waiting, asking. */
#include "kit.h"

#include <glib/gstdio.h>
#include <string.h>

#include "hzd/ids.h"
#include "hzd/state.h"

#define WAIT_BOUND_S 30

static guint bound;
static const char *waiting_for;

static gboolean too_long(gpointer where)
{
    g_error("%s: waited %d s in vain for: %s", (const char *)where, WAIT_BOUND_S, waiting_for);
    return G_SOURCE_REMOVE;
}

/* The loop blocks until something happens; a tick lets conditions on elapsed time be seen too. */
static gboolean tick(G_GNUC_UNUSED gpointer unused)
{
    return G_SOURCE_CONTINUE;
}

void kit_wait_begin(const char *what, const char *file, int line)
{
    static guint ticking;

    if (!ticking) {
        ticking = g_timeout_add(20, tick, NULL);
    }
    waiting_for = what;
    bound = g_timeout_add_seconds_full(G_PRIORITY_DEFAULT, WAIT_BOUND_S, too_long,
                                       g_strdup_printf("%s:%d", file, line), g_free);
}

void kit_wait_end(void)
{
    g_source_remove(bound);
}

static gboolean set_flag(gpointer flag)
{
    *(gboolean *)flag = TRUE;
    return G_SOURCE_REMOVE;
}

void kit_spin(unsigned ms)
{
    gboolean over = FALSE;

    g_timeout_add(ms, set_flag, &over);
    while (!over) {
        g_main_context_iteration(NULL, TRUE);
    }
}

/* -- hzd ---------------------------------------------------------------- */

char *kit_path(const Kit *kit, const char *name)
{
    return g_build_filename(kit->dir, name, NULL);
}

void kit_rewrite(Kit *kit, const char *host_keys, const char *rest)
{
    g_autofree char *text = g_strdup_printf("[host]\nrun-dir=%s\nstate-dir=%s/state\n"
                                            "audit=%s/audit.jsonl\n%s\n%s\n", kit->run, kit->dir,
                                            kit->dir, host_keys, rest);
    /* DIR in the text stands for the kit's folder */
    g_auto(GStrv) parts = g_strsplit(text, "@DIR@", -1);
    g_autofree char *whole = g_strjoinv(kit->dir, parts);
    g_autoptr(GError) error = NULL;

    g_file_set_contents(kit->config, whole, -1, &error);
    g_assert_no_error(error);
}

Kit *kit_new(const char *host_keys, const char *rest)
{
    Kit *kit = g_new0(Kit, 1);

    kit->dir = g_dir_make_tmp("hz-hzd-XXXXXX", NULL);
    g_assert_nonnull(kit->dir);
    kit->run = kit_path(kit, "run");
    kit->config = kit_path(kit, "hzd.conf");
    kit_rewrite(kit, host_keys, rest);
    return kit;
}

void kit_start(Kit *kit)
{
    g_autoptr(GError) error = NULL;
    HzConfig *config = hz_config_load(kit->config, &error);

    g_assert_no_error(error);
    kit->host = hz_host_new(config, &error);
    g_assert_no_error(error);
}

void kit_stop(Kit *kit)
{
    g_clear_pointer(&kit->host, hz_host_free);
}

static void remove_tree(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *inner = g_build_filename(path, name, NULL);

        remove_tree(inner);
    }
    g_remove(path);
}

void kit_free(Kit *kit)
{
    kit_stop(kit);
    remove_tree(kit->dir);
    g_free(kit->dir);
    g_free(kit->run);
    g_free(kit->config);
    g_free(kit);
}

HzVm *kit_vm(const Kit *kit, const char *name)
{
    HzVm *vm = hz_host_vm(kit->host, name, NULL);

    g_assert_nonnull(vm);
    return vm;
}

unsigned kit_audited(const Kit *kit, const char *event, const char *text)
{
    g_autofree char *path = kit_path(kit, "audit.jsonl"), *all = NULL;
    g_autofree char *member = g_strdup_printf("\"event\":\"%s\"", event);
    g_auto(GStrv) lines = NULL;
    unsigned n = 0;

    if (!g_file_get_contents(path, &all, NULL, NULL)) {
        return 0;
    }
    lines = g_strsplit(all, "\n", -1);
    for (char **line = lines; *line; line++) {
        n += strstr(*line, member) && (!text || strstr(*line, text));
    }
    return n;
}

/* -- asking ------------------------------------------------------------- */

JsonObject *ask_notify(Kit *kit, const HzNotifySpec *asked, const char *vm, uint8_t id[16])
{
    const char *names[] = { vm, NULL };
    HzNotifySpec spec = *asked;
    g_autoptr(GError) error = NULL;
    JsonObject *answer, *one;

    spec.vms = names;
    answer = hz_notices_notify(kit->host, &spec, &error);
    g_assert_no_error(error);
    one = json_object_ref(hz_json_at(hz_json_array(answer, "notices"), 0));
    if (id) {
        g_assert_true(hz_id_parse(hz_json_text(one, "id", ""), id));
    }
    json_object_unref(answer);
    return one;
}
