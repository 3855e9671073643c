/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: the audit log is written whole lines only, survives a full disk, and is read back.
 */
#include "hzd/audit.h"
#include "hzd/json-util.h"
#include "json/channel.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char *dir, *path;
static HzHost host;

static void start(void)
{
    g_autoptr(GError) error = NULL;

    g_unlink(path);
    host.audit = hz_audit_open(path, &error);
    g_assert_no_error(error);
}

static void stop(void)
{
    g_clear_pointer(&host.audit, hz_audit_close);
}

static void put(const char *event, const char *json)
{
    hz_audit(&host, event, json ? hz_json_parse(json, strlen(json), NULL) : NULL);
}

static char **lines(void)
{
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return g_strsplit(text, "\n", -1);
}

static void test_lines(void)
{
    JsonObject *data = hz_json_parse("{\"vm\":\"a\",\"event\":\"x\"}", 22, NULL);
    g_auto(GStrv) l = NULL;

    start();
    put("start", NULL);
    hz_audit(&host, "notify", json_object_ref(data));
    stop();
    g_assert_cmpuint(json_object_get_size(data), ==, 2);    /* the caller's stays as it was */
    json_object_unref(data);
    l = lines();
    g_assert_cmpuint(g_strv_length(l), ==, 3);      /* two, and nothing after the last '\n' */
    g_assert_true(g_str_has_prefix(l[0], "{\"time\":\"2"));
    g_assert_nonnull(strstr(l[0], "\"event\":\"start\"}"));
    g_assert_nonnull(strstr(l[1], "\"event\":\"notify\",\"vm\":\"a\"}"));
    g_assert_cmpstr(l[2], ==, "");
}

static void test_torn_and_rotated(void)
{
    g_autofree char *moved = g_strconcat(path, ".1", NULL);
    g_auto(GStrv) l = NULL;
    g_autoptr(JsonArray) a = NULL;

    g_assert_true(g_file_set_contents(path, "{\"half", -1, NULL));
    host.audit = hz_audit_open(path, NULL);
    put("one", NULL);
    a = hz_audit_query(&host, NULL, NULL, 0, G_MAXINT64, 10, NULL);
    g_assert_cmpuint(json_array_get_length(a), ==, 1);      /* half a line is none */
    g_assert_cmpint(g_rename(path, moved), ==, 0);
    put("two", NULL);                                       /* still into the moved one */
    g_assert_true(hz_audit_reopen(host.audit, NULL));
    put("three", NULL);
    stop();
    l = lines();
    g_assert_cmpuint(g_strv_length(l), ==, 2);
    g_assert_nonnull(strstr(l[0], "three"));
    g_unlink(moved);
}

/* A limit on the file's size stands for a full disk: a write comes back short, the next fails. */
static void test_full(void)
{
    struct rlimit old, small = { 200, RLIM_INFINITY };
    g_auto(GStrv) l = NULL;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    start();
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
    for (int i = 0; i < 5; i++) {
        put("full", NULL);
    }
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &old), ==, 0);
    g_assert_cmpuint(hz_audit_lost(host.audit), >, 0);
    g_assert_nonnull(hz_audit_trouble(host.audit));
    put("after", NULL);
    g_assert_null(hz_audit_trouble(host.audit));
    l = lines();
    for (guint i = 0; l[i]; i++) {
        g_autoptr(JsonObject) o = hz_json_parse(l[i], strlen(l[i]), NULL);

        g_assert_true(o || !*l[i]);     /* every line is whole */
        if (strstr(l[i], "audit-gap")) {
            g_autofree char *gap = g_strdup_printf("\"lost\":%d}",
                                                   (int)hz_audit_lost(host.audit));

            g_assert_nonnull(strstr(l[i], gap));
            g_assert_nonnull(strstr(l[i + 1], "\"event\":\"after\"}"));
            stop();
            return;
        }
    }
    g_error("no line about the gap");
}

static void test_unopenable(void)
{
    g_autofree char *missing = g_build_filename(dir, "no", "audit.jsonl", NULL);
    g_autoptr(GError) error = NULL;

    g_assert_null(hz_audit_open(missing, &error));
    g_assert_nonnull(strstr(error->message, missing));
    g_assert_nonnull(strstr(error->message, "No such file"));
    g_clear_error(&error);
    g_assert_null(hz_audit_open(dir, &error));
    g_clear_error(&error);
    g_assert_null(hz_audit_open("/dev/full", &error));
    g_assert_nonnull(strstr(error->message, "not a file"));
}

static void test_query(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonArray) a = NULL, b = NULL, c = NULL, d = NULL;
    gint64 middle;

    start();
    put("notify", "{\"vm\":\"a\",\"n\":1}");
    put("notify", "{\"vm\":\"aa\",\"n\":2}");
    g_usleep(2);
    middle = g_get_real_time();
    put("cancel", "{\"vm\":\"a\",\"n\":3}");
    put("drain", "{\"vms\":[{\"vm\":\"b\"},{\"vm\":\"a\"}],\"n\":4}");
    put("other", "{\"why\":\"a\"}");

    a = hz_audit_query(&host, "a", NULL, 0, G_MAXINT64, 10, &error);
    g_assert_cmpuint(json_array_get_length(a), ==, 3);
    g_assert_cmpint(hz_json_int(hz_json_at(a, 0), "n", 0), ==, 1);
    g_assert_cmpint(hz_json_int(hz_json_at(a, 2), "n", 0), ==, 4);
    b = hz_audit_query(&host, "a", NULL, 0, G_MAXINT64, 1, &error);
    g_assert_cmpint(hz_json_int(hz_json_at(b, 0), "n", 0), ==, 4);      /* the newest stays */
    c = hz_audit_query(&host, NULL, "notify", 0, G_MAXINT64, 10, &error);
    g_assert_cmpuint(json_array_get_length(c), ==, 2);
    d = hz_audit_query(&host, "a", NULL, 0, middle - 1, 10, &error);
    g_assert_cmpuint(json_array_get_length(d), ==, 1);
    stop();
}

/* However much is asked for, the answer fits into a message. */
static void test_large(void)
{
    g_autofree char *text = g_strnfill(100000, 'x');
    g_autofree char *line = g_strdup_printf("{\"t\":\"%s\"}", text);
    g_autoptr(JsonArray) a = NULL;

    start();
    for (int i = 0; i < 12; i++) {
        put("large", line);
    }
    a = hz_audit_query(&host, NULL, "large", 0, G_MAXINT64, 1000, NULL);
    /* 7 lines of somewhat more than 100000 bytes are below 786432, 8 are above */
    g_assert_cmpuint(json_array_get_length(a), ==, 7);
    stop();
}

static void test_why(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonObject) now = NULL, before = NULL;
    gint64 middle;

    start();
    g_assert_null(hz_audit_why(&host, "a", G_MAXINT64, &error));
    g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_NOT_FOUND);
    put("plan", "{\"epoch\":1,\"world\":{},\"plan\":[{\"vm\":\"a\",\"rate\":5},{\"vm\":\"b\"}]}");
    g_usleep(2);
    middle = g_get_real_time();
    g_usleep(2);
    put("plan", "{\"epoch\":2,\"world\":{},\"plan\":[{\"vm\":\"a\",\"rate\":6}]}");
    put("plan", "{\"epoch\":3,\"world\":{},\"plan\":[{\"vm\":\"b\"}]}");
    now = hz_audit_why(&host, "a", G_MAXINT64, NULL);
    g_assert_cmpint(hz_json_int(now, "epoch", 0), ==, 2);
    before = hz_audit_why(&host, "a", middle, NULL);
    g_assert_cmpint(hz_json_int(before, "epoch", 0), ==, 1);
    g_assert_cmpuint(json_array_get_length(hz_json_array(before, "plan")), ==, 1);
    g_assert_true(json_object_has_member(before, "world"));
    stop();
}

int main(int argc, char **argv)
{
    int rc;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("hz-audit-XXXXXX", NULL);
    path = g_build_filename(dir, "audit.jsonl", NULL);
    g_test_add_func("/audit/lines", test_lines);
    g_test_add_func("/audit/torn-and-rotated", test_torn_and_rotated);
    g_test_add_func("/audit/full", test_full);
    g_test_add_func("/audit/unopenable", test_unopenable);
    g_test_add_func("/audit/query", test_query);
    g_test_add_func("/audit/large", test_large);
    g_test_add_func("/audit/why", test_why);
    rc = g_test_run();
    g_unlink(path);
    g_rmdir(dir);
    g_free(path);
    g_free(dir);
    return rc;
}
