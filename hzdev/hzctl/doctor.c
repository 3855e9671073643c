/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl doctor: look for what keeps hz from working here, and say what to do.
 */
#include "app.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>

typedef enum { GOOD, WARNING, BAD } Grade;

typedef struct {
    HzctlApp *app;
    JsonArray *findings;
    gboolean bad;
} Doctor;

static void G_GNUC_PRINTF(4, 5)
say(Doctor *d, Grade grade, const char *what, const char *format, ...)
{
    static const char *const names[] = { "good", "warning", "bad" };
    g_autofree char *text = NULL;
    JsonObject *o = json_object_new();
    va_list ap;

    va_start(ap, format);
    text = g_strdup_vprintf(format, ap);
    va_end(ap);
    json_object_set_string_member(o, "check", what);
    json_object_set_string_member(o, "grade", names[grade]);
    json_object_set_string_member(o, "detail", text);
    json_array_add_object_element(d->findings, o);
    d->bad |= grade == BAD;
    if (!d->app->json) {
        printf("%-8s %s: %s\n", names[grade], what, text);
    }
}

/* -- sockets ------------------------------------------------------------- */

static void check_socket(Doctor *d, const char *run_dir, const char *name, gboolean everybody)
{
    g_autofree char *path = g_build_filename(run_dir, name, NULL);
    struct stat st;

    if (lstat(path, &st)) {
        say(d, BAD, "socket", "%s: %s", path, g_strerror(errno));
    } else if (!S_ISSOCK(st.st_mode)) {
        say(d, BAD, "socket", "%s is no socket", path);
    } else if (!everybody && st.st_mode & S_IWOTH) {
        say(d, BAD, "socket", "%s may be used by every process (mode %03o)", path,
            st.st_mode & 0777);
    } else {
        say(d, GOOD, "socket", "%s, mode %03o, uid %u gid %u", path, st.st_mode & 0777,
            (unsigned)st.st_uid, (unsigned)st.st_gid);
    }
}

static void check_run_dir(Doctor *d, JsonObject *host)
{
    const char *run_dir = hzctl_word(host, "run-dir");
    struct stat st;

    if (stat(run_dir, &st)) {
        say(d, BAD, "run-dir", "%s: %s", run_dir, g_strerror(errno));
        return;
    }
    if (st.st_mode & S_IWOTH) {
        say(d, BAD, "run-dir", "%s may be written by everybody (mode %03o)", run_dir,
            st.st_mode & 0777);
    }
    check_socket(d, run_dir, "control.sock", FALSE);
    check_socket(d, run_dir, "readonly.sock", TRUE);
    check_socket(d, run_dir, "actuators.sock", FALSE);
}

/* -- the host ------------------------------------------------------------ */

static void check_config(Doctor *d, JsonObject *host)
{
    const char *path = hzctl_word(host, "config");
    g_autofree char *hzd = g_find_program_in_path("hzd");
    g_autofree char *output = NULL;
    g_autoptr(GError) error = NULL;
    int status;
    char *argv[] = { hzd, "--config", (char *)path, "--check-config", NULL };

    if (!hzd || !g_path_is_absolute(path)) {
        say(d, GOOD, "config", "%s is in force", path);
    } else if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                             &output, &status, &error)) {
        say(d, WARNING, "config", "%s: not checked: %s", path, error->message);
    } else if (status) {
        say(d, BAD, "config", "as it stands on disk it would be refused: %s", g_strchomp(output));
    } else if (*g_strchomp(output)) {
        say(d, WARNING, "config", "%s", output);
    } else {
        say(d, GOOD, "config", "%s is good", path);
    }
}

static void check_host(Doctor *d, JsonObject *host)
{
    const char *trouble = hzctl_text(host, "state-trouble");
    const char *mode = hzctl_word(host, "mode");
    const char *unwritten = hzctl_text(host, "audit-trouble");
    gint64 lost = hzctl_int(host, "audit-lost", 0);

    say(d, !strcmp(mode, "off") ? WARNING : GOOD, "mode", "%s%s", mode,
        !strcmp(mode, "observe") ? ": hz says what it would do and touches nothing" : "");
    if (hzctl_bool(host, "frozen")) {
        say(d, WARNING, "freeze", "frozen: nothing is changed until hzctl thaw");
    }
    if (trouble) {
        say(d, BAD, "state-dir", "%s can't be written: %s", hzctl_word(host, "state-dir"), trouble);
    } else {
        say(d, GOOD, "state-dir", "%s", hzctl_word(host, "state-dir"));
    }
    if (unwritten) {
        say(d, BAD, "audit", "the log can't be written: %s", unwritten);
    } else if (lost) {
        say(d, WARNING, "audit", "%" G_GINT64_FORMAT " lines were lost since hzd started", lost);
    } else {
        say(d, GOOD, "audit", "no line is lost");
    }
}

static void check_clock(Doctor *d)
{
    struct timex tx = { 0 };
    int state = adjtimex(&tx);

    if (state == TIME_ERROR || tx.status & STA_UNSYNC) {
        say(d, WARNING, "clock", "not synchronised: audit times may be off (deadlines are not: "
            "they run on the boot clock)");
    } else {
        say(d, GOOD, "clock", "synchronised, error below %ld ms", tx.maxerror / 1000);
    }
}

/* -- actuators ----------------------------------------------------------- */

static void check_actuator(Doctor *d, JsonObject *a)
{
    const char *name = hzctl_word(a, "name"), *health = hzctl_word(a, "health");
    const char *why = hzctl_text(a, "why"), *leaf;
    g_autofree char *what = g_strdup_printf("actuator %s", name);

    if (strcmp(health, "ready")) {
        say(d, BAD, what, "%s%s%s (systemctl status hz-%s)", health, why ? ": " : "",
            why ? why : "", name);
        return;
    }
    if (hzctl_bool(a, "fallen-back")) {
        say(d, BAD, what, "fallen back to observe%s%s", why ? ": " : "", why ? why : "");
    } else {
        say(d, GOOD, what, "%s, mode %s", hzctl_word(a, "package"), hzctl_word(a, "mode"));
    }
    leaf = hzctl_text(hzctl_object(a, "configured"), "leaf");
    if (leaf) {
        gboolean plain = !strcmp(leaf, "pfifo");

        say(d, plain ? WARNING : GOOD, what, "queues under a rate are %s%s", leaf,
            plain ? ": the kernel has no fq_codel and no sfq, so a bulk flow delays others"
            : !strcmp(leaf, "unprobed") ? " (the kernel is asked when the first is needed)" : "");
    }
}

static void check_actuators(Doctor *d, JsonObject *host)
{
    JsonArray *a = hzctl_array(host, "actuators");

    if (!hzctl_len(a)) {
        say(d, WARNING, "actuators", "none has connected");
    }
    for (guint i = 0; i < hzctl_len(a); i++) {
        if (hzctl_at(a, i)) {
            check_actuator(d, hzctl_at(a, i));
        }
    }
}

/* -- VMs ----------------------------------------------------------------- */

static void check_identity(Doctor *d, const char *what, JsonObject *conf)
{
    const char *identity = hzctl_word(conf, "identity");

    if (!strcmp(identity, "qmp")) {
        say(d, GOOD, what, "links are told by the process at the other end of qmp=");
    } else {
        say(d, WARNING, what, "identity=%s: %s (give qmp= a monitor of the VM's QEMU)", identity,
            !strcmp(identity, "socket") ? "whoever may open its socket speaks for the VM"
                                        : "every process of that user speaks for the VM");
    }
    if (!hzctl_text(conf, "uuid")) {
        say(d, WARNING, what, "no uuid=: a QEMU with another VM's socket isn't found out");
    }
}

static void check_monitors(Doctor *d, const char *what, JsonObject *vm)
{
    JsonArray *a = hzctl_array(vm, "monitors");
    gboolean running = FALSE;

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *m = hzctl_at(a, i);

        running |= hzctl_bool(m, "connected");
    }
    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *m = hzctl_at(a, i);

        /* of several, one is enough: the others are for a migration's other end */
        if (!hzctl_bool(m, "connected") && !running) {
            say(d, WARNING, what, "monitor %s: %s", hzctl_word(m, "path"),
                hzctl_word(m, "trouble"));
        } else if (hzctl_bool(m, "connected")) {
            say(d, GOOD, what, "monitor %s: %s", hzctl_word(m, "path"), hzctl_word(m, "status"));
        }
    }
}

static void check_nics(Doctor *d, const char *what, JsonObject *vm)
{
    JsonArray *a = hzctl_array(vm, "nics");

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *n = hzctl_at(a, i);

        if (!hzctl_bool(n, "exists")) {
            say(d, WARNING, what, "%s: there is no interface %s", hzctl_word(n, "subject"),
                hzctl_word(n, "ifname"));
        } else if (!hzctl_bool(n, "shapeable")) {
            say(d, WARNING, what, "%s: %s can't be shaped: %s", hzctl_word(n, "subject"),
                hzctl_word(n, "ifname"), hzctl_word(n, "why"));
        }
    }
}

static JsonObject *named(JsonArray *a, const char *member, const char *name)
{
    for (guint i = 0; i < hzctl_len(a); i++) {
        if (!g_strcmp0(hzctl_text(hzctl_at(a, i), member), name)) {
            return hzctl_at(a, i);
        }
    }
    return NULL;
}

static void check_vm(Doctor *d, const char *name, JsonObject *conf)
{
    JsonObject *o = json_object_new(), *vm, *counters;
    g_autofree char *what = g_strdup_printf("VM %s", name);
    g_autoptr(JsonNode) node = NULL;
    const char *link;

    json_object_set_string_member(o, "vm", name);
    node = hzctl_call(d->app, FALSE, "query-vm", o);
    if (!node) {
        d->bad = TRUE;
        return;
    }
    vm = json_node_get_object(node);
    link = hzctl_word(vm, "link");
    say(d, !strcmp(link, "up") ? GOOD : WARNING, what, "link %s%s", link,
        !strcmp(link, "down") ? ": its QEMU isn't running, or has no virtio-hz device" : "");
    if (hzctl_bool(vm, "released")) {
        say(d, WARNING, what, "released: hz leaves it alone until hzctl reload or mode");
    }
    if (conf) {
        check_identity(d, what, conf);
    }
    check_monitors(d, what, vm);
    check_nics(d, what, vm);
    counters = hzctl_object(vm, "counters");
    if (hzctl_int(counters, "strangers", 0)) {
        say(d, WARNING, what, "%" G_GINT64_FORMAT " connections of strangers were refused "
            "(hzctl audit %s --event refused)", hzctl_int(counters, "strangers", 0), name);
    }
}

static gboolean check_vms(Doctor *d)
{
    g_autoptr(JsonNode) config = hzctl_call(d->app, FALSE, "query-config", NULL);
    g_autoptr(JsonNode) vms = config ? hzctl_call(d->app, FALSE, "query-vms", NULL) : NULL;
    JsonArray *a, *confs;

    if (!vms) {
        return FALSE;
    }
    a = json_node_get_array(vms);
    confs = hzctl_array(json_node_get_object(config), "vms");
    for (guint i = 0; i < hzctl_len(a); i++) {
        const char *name = hzctl_word(hzctl_at(a, i), "name");

        check_vm(d, name, named(confs, "vm", name));
    }
    return TRUE;
}

/* -- the whole ----------------------------------------------------------- */

int hzctl_doctor(HzctlApp *app, char **args);

int hzctl_doctor(HzctlApp *app, char **args)
{
    Doctor d = { .app = app, .findings = json_array_new() };
    g_autoptr(JsonNode) node = hzctl_call(app, FALSE, "query-host", NULL);
    g_autoptr(JsonNode) out = json_node_new(JSON_NODE_ARRAY);

    (void)args;
    json_node_take_array(out, d.findings);
    if (!node) {
        return HZCTL_ERROR;
    }
    say(&d, strcmp(hz_client_version(app->client), HZ_VERSION) ? WARNING : GOOD, "hzd",
        "version %s answers, hzctl is %s", hz_client_version(app->client), HZ_VERSION);
    check_config(&d, json_node_get_object(node));
    check_run_dir(&d, json_node_get_object(node));
    check_host(&d, json_node_get_object(node));
    check_clock(&d);
    check_actuators(&d, json_node_get_object(node));
    if (!check_vms(&d)) {
        return HZCTL_ERROR;
    }
    if (app->json) {
        hzctl_print_json(out);
    }
    return d.bad ? HZCTL_ERROR : HZCTL_OK;
}
