/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: listening on a path, what may stand there before, and permissions.
 */
#include "json/channel.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *dir;

static void refused(int fd, GError **error, const char *because)
{
    g_assert_cmpint(fd, ==, -1);
    g_assert_nonnull(*error);
    if (!strstr((*error)->message, because)) {
        g_error("refused with '%s', not '%s'", (*error)->message, because);
    }
    g_clear_error(error);
}

static void test_mode_and_stale(void)
{
    g_autofree char *path = g_build_filename(dir, "a.sock", NULL);
    g_autoptr(GError) error = NULL;
    struct stat st;
    int fd, client;

    fd = hz_unix_listen(path, 0660, &error);
    g_assert_no_error(error);
    g_assert_cmpint(g_lstat(path, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 0777, ==, 0660);
    client = hz_unix_connect(path, &error);
    g_assert_no_error(error);
    close(client);

    refused(hz_unix_listen(path, 0660, &error), &error, "another program listens");
    close(fd);          /* as after a crash: the node stays, nobody listens */
    refused(hz_unix_connect(path, &error), &error, "can't connect: Connection refused");
    fd = hz_unix_listen(path, 0600, &error);
    g_assert_no_error(error);
    g_assert_cmpint(g_lstat(path, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 0777, ==, 0600);
    close(fd);
    g_unlink(path);
}

static void test_not_ours(void)
{
    g_autofree char *path = g_build_filename(dir, "file", NULL);
    g_autofree char *link = g_build_filename(dir, "link", NULL);
    g_autofree char *content = NULL;
    g_autoptr(GError) error = NULL;

    g_assert_true(g_file_set_contents(path, "precious", -1, NULL));
    refused(hz_unix_listen(path, 0600, &error), &error, "no socket");
    g_assert_cmpint(symlink(path, link), ==, 0);
    refused(hz_unix_listen(link, 0600, &error), &error, "no socket");
    g_assert_true(g_file_get_contents(path, &content, NULL, NULL));
    g_assert_cmpstr(content, ==, "precious");
    g_unlink(link);
    g_unlink(path);
}

static void test_path(void)
{
    g_autofree char *name = g_strnfill(120, 'n');
    g_autoptr(GError) error = NULL;

    refused(hz_unix_listen(name, 0600, &error), &error, "1 to 107 bytes, this one 120");
    refused(hz_unix_connect("", &error), &error, "1 to 107 bytes, this one 0");
    refused(hz_unix_listen("/nonexistent/a", 0600, &error), &error, "can't bind: No such file");
    refused(hz_unix_connect("/nonexistent/a", &error), &error, "can't connect: No such file");
}

int main(int argc, char **argv)
{
    int rc;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("hz-socket-XXXXXX", NULL);
    g_test_add_func("/socket/mode-and-stale", test_mode_and_stale);
    g_test_add_func("/socket/not-ours", test_not_ours);
    g_test_add_func("/socket/path", test_path);
    rc = g_test_run();
    g_rmdir(dir);
    g_free(dir);
    return rc;
}
