/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd state, ids, lock: what is kept on disk, and disks that don't keep. */
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hzd/ids.h"
#include "hzd/service.h"
#include "hzd/state.h"
#include "kit.h"

typedef struct {
    Kit *kit;
    char *dir;
} Fixture;

static void set_up(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    f->kit = kit_new("", "[vm A]\nidentity=socket\n");
    f->dir = kit_path(f->kit, "state");
}

static void tear_down(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    kit_free(f->kit);
    g_free(f->dir);
}

static HzState *open_good(Fixture *f)
{
    g_autoptr(GError) error = NULL;
    HzState *state = hz_state_open(f->dir, &error);

    g_assert_no_error(error);
    return state;
}

static void test_files(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzState *state = open_good(f);
    g_autofree char *path = kit_path(f->kit, "state/thing"), *text = NULL;
    g_autoptr(GError) error = NULL;
    struct stat st;

    g_assert_null(hz_state_read(state, "thing", &error));
    g_assert_no_error(error);
    g_assert_true(hz_state_write(state, "thing", "one", TRUE, &error));
    g_assert_true(hz_state_write(state, "thing", "two", FALSE, &error));
    text = hz_state_read(state, "thing", &error);
    g_assert_cmpstr(text, ==, "two");
    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpuint(st.st_mode & 0777, ==, 0600);
    g_assert_true(hz_state_remove(state, "thing", &error));
    g_assert_true(hz_state_remove(state, "thing", &error));
    hz_state_free(state);
}

/* A newer format, garbage, and half a file are errors that say what was expected. */
static void test_damaged(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    static const char *const texts[] = { "hzd-state 2\nbody", "", "hzd-sta", ("\x7f" "ELF") };
    HzState *state = open_good(f);
    g_autofree char *path = kit_path(f->kit, "state/thing");

    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
        g_assert_null(hz_state_read(state, "thing", &error));
        g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO);
        g_assert_nonnull(strstr(error->message, "hzd-state 1"));
    }
    hz_state_free(state);
}

static void test_secret(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzState *state = open_good(f);
    g_autofree char *path = kit_path(f->kit, "state/secret");
    g_autoptr(GError) error = NULL;
    uint8_t a[16], b[16];

    hz_state_id(state, "t1", "notice", "key", a);
    hz_state_free(state);
    state = open_good(f);           /* the same after a restart … */
    hz_state_id(state, "t1", "notice", "key", b);
    g_assert_cmpmem(a, 16, b, 16);
    hz_state_id(state, "t2", "notice", "key", b);
    g_assert_cmpint(memcmp(a, b, 16), !=, 0);       /* … unrelated between tenants … */
    hz_state_id(state, "t1", "cause", "key", b);
    g_assert_cmpint(memcmp(a, b, 16), !=, 0);
    hz_state_id(state, "t1n", "otice", "key", b);   /* … and names don't run together */
    g_assert_cmpint(memcmp(a, b, 16), !=, 0);
    hz_state_free(state);
    g_assert_true(g_file_set_contents(path, "short", -1, NULL));
    g_assert_null(hz_state_open(f->dir, &error));
    g_assert_nonnull(strstr(error->message, "32 bytes"));
}

static void test_ids(void)
{
    g_autofree char *text = NULL;
    uint8_t id[16], again[16];

    g_assert_true(hz_id_parse("00112233-4455-6677-8899-aabbccddeeff", id));
    text = hz_id_text(id);
    g_assert_cmpstr(text, ==, "00112233-4455-6677-8899-aabbccddeeff");
    g_assert_true(hz_id_parse("00112233445566778899AABBCCDDEEFF", again));
    g_assert_cmpmem(id, 16, again, 16);
    g_assert_false(hz_id_parse("", id));
    g_assert_false(hz_id_parse("0011", id));
    g_assert_false(hz_id_parse("00112233-4455-6677-8899-aabbccddeeff0", id));
    g_assert_false(hz_id_parse("0011223-34455-6677-8899-aabbccddeeff", id));
    g_assert_false(hz_id_parse("g0112233445566778899aabbccddeeff", id));
}

static void test_lock(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(GError) error = NULL;
    gboolean unclean;
    int fd = hz_service_lock(f->kit->run, &unclean, &error);

    g_assert_no_error(error);
    g_assert_false(unclean);
    g_assert_cmpint(hz_service_lock(f->kit->run, &unclean, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "another hzd (pid "));
    g_clear_error(&error);
    close(fd);      /* as a kill would */
    fd = hz_service_lock(f->kit->run, &unclean, &error);
    g_assert_no_error(error);
    g_assert_true(unclean);
    hz_service_unlock(fd);
    fd = hz_service_lock(f->kit->run, &unclean, &error);
    g_assert_false(unclean);
    hz_service_unlock(fd);
}

/* -- places that can't be written --------------------------------------- */

static void refuses_to_start(Fixture *f, const char *part)
{
    g_autoptr(GError) error = NULL;
    HzConfig *config = hz_config_load(f->kit->config, &error);

    g_assert_no_error(error);
    g_assert_null(hz_host_new(config, &error));
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, part));
}

static void test_missing(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *audit = kit_path(f->kit, "audit.jsonl");

    /* a file where a folder should be, and the reverse: nobody, not even root, gets past it */
    g_assert_true(g_file_set_contents(f->dir, "", -1, NULL));
    refuses_to_start(f, "state-dir= moves it");
    g_assert_cmpint(g_remove(f->dir), ==, 0);
    g_assert_true(g_file_set_contents(f->kit->run, "", -1, NULL));
    refuses_to_start(f, "run-dir= moves it");
    g_assert_cmpint(g_remove(f->kit->run), ==, 0);
    g_assert_cmpint(g_remove(audit), ==, 0);
    g_assert_cmpint(g_mkdir(audit, 0700), ==, 0);
    refuses_to_start(f, "audit.jsonl");
}

/* The disk fills up, or becomes read-only, while hzd runs. */
static void test_full(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(GError) error = NULL;

    g_assert_cmpint(g_mkdir_with_parents(f->dir, 0700), ==, 0);
    if (mount("none", f->dir, "tmpfs", 0, "size=8k")) {
        g_test_skip("needs to mount a tmpfs");
        return;
    }
    kit_start(f->kit);
    for (int i = 0; i < 8; i++) {
        g_autofree char *path = g_strdup_printf("%s/fill%d", f->dir, i);
        g_autofree char *fill = g_strnfill(4096, 'x');
        FILE *file = fopen(path, "w");

        if (file) {
            fwrite(fill, 1, 4096, file);
            fclose(file);
        }
    }
    /* it freezes, and says that it wouldn't last */
    g_assert_false(hz_admin_freeze(f->kit->host, "test", &error));
    g_assert_nonnull(strstr(error->message, "not longer"));
    g_assert_true(f->kit->host->frozen);
    g_assert_nonnull(hz_state_trouble(f->kit->host->state));
    g_assert_true(hz_admin_thaw(f->kit->host, "test", NULL));
    g_assert_cmpint(mount("none", f->dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
    g_clear_error(&error);
    g_assert_false(hz_admin_freeze(f->kit->host, "test", &error));
    g_assert_nonnull(strstr(error->message, "ead-only"));
    /* a start from it reads what is there */
    kit_stop(f->kit);
    kit_start(f->kit);
    g_assert_false(f->kit->host->frozen);
    kit_stop(f->kit);
    umount(f->dir);
}

/* Whether it is frozen can't be read: then it is. */
static void test_unreadable_freeze(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *path = kit_path(f->kit, "state/frozen");

    kit_start(f->kit);
    kit_stop(f->kit);
    g_assert_true(g_file_set_contents(path, "garbage", -1, NULL));
    kit_start(f->kit);
    g_assert_true(f->kit->host->frozen);
    g_assert_true(hz_admin_thaw(f->kit->host, "test", NULL));
    kit_stop(f->kit);
    kit_start(f->kit);
    g_assert_false(f->kit->host->frozen);
}

#define ADD(name, func) g_test_add("/state/" name, Fixture, NULL, set_up, func, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
    ADD("files", test_files);
    ADD("damaged", test_damaged);
    ADD("secret", test_secret);
    g_test_add_func("/state/ids", test_ids);
    ADD("lock", test_lock);
    ADD("missing", test_missing);
    ADD("full", test_full);
    ADD("unreadable-freeze", test_unreadable_freeze);
    return g_test_run();
}
