/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: hzctl as a process against an hzd in this one: what it prints, and its exit statuses.
 */
#include "kit.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TWO_VMS "[uplink up]\ncapacity=80Mbit\n[vm A]\ntenant=acme\nqmp=@DIR@/qmp\n" \
                "[vm A nic/0]\nifname=tapA0\nuplink=up\nnet-min=40Mbit\n[vm B]\n"

enum { OK, ERROR, USAGE, INCOMPLETE };

typedef struct {
    Kit *kit;
    Monitor *monitor;
    Device *device;
    Vnic *vnic;
    char *out, *err;            /* of the last run */
    gboolean done;
    int status;
} Fixture;

static void set_up(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    f->kit = kit_new("mode=enforce", TWO_VMS);
    f->monitor = monitor_new(f->kit, "qmp");
    kit_start(f->kit);
    f->device = device_new();
    device_connect(f->device, f->kit, "A");
    device_hello(f->device);
    WAIT(kit_vm(f->kit, "A")->synced);
}

static void tear_down(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    if (f->vnic) {
        vnic_free(f->vnic);
    }
    device_free(f->device);
    kit_free(f->kit);
    monitor_free(f->monitor);
    g_free(f->out);
    g_free(f->err);
}

static void on_exit_status(GPid pid, gint status, gpointer opaque)
{
    Fixture *f = opaque;

    g_spawn_close_pid(pid);
    f->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    f->done = TRUE;
}

/* Start `hzctl LINE`, split as a shell would, output to files in the kit's folder. */
static void start(Fixture *f, const char *line)
{
    g_autofree char *out = kit_path(f->kit, "out"), *err = kit_path(f->kit, "err");
    g_autofree char *command = g_strdup_printf("exec '%s' --run-dir '%s' %s >'%s' 2>'%s'",
                                               g_getenv("HZCTL"), f->kit->run, line, out, err);
    char *argv[] = { (char *)"sh", (char *)"-c", command, NULL };
    g_autoptr(GError) error = NULL;
    GPid pid;

    f->done = FALSE;
    g_spawn_async(NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                  &pid, &error);
    g_assert_no_error(error);
    g_child_watch_add(pid, on_exit_status, f);
}

static void finish(Fixture *f, const char *line, int status)
{
    g_autofree char *out = kit_path(f->kit, "out"), *err = kit_path(f->kit, "err");

    WAIT(f->done);
    g_free(f->out);
    g_free(f->err);
    g_assert_true(g_file_get_contents(out, &f->out, NULL, NULL));
    g_assert_true(g_file_get_contents(err, &f->err, NULL, NULL));
    if (f->status != status) {
        g_error("hzctl %s: status %d, not %d\n%s%s", line, f->status, status, f->out, f->err);
    }
}

static void run(Fixture *f, const char *line, int status)
{
    start(f, line);
    finish(f, line, status);
}

static void says(const Fixture *f, const char *words)
{
    if (!strstr(f->out, words) && !strstr(f->err, words)) {
        g_error("'%s%s' doesn't say '%s'", f->out, f->err, words);
    }
}

static void test_usage(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    run(f, "", USAGE);
    run(f, "bogus", USAGE);
    says(f, "no command 'bogus'");
    run(f, "--help", OK);
    says(f, "drain");
    run(f, "drain --help", OK);
    says(f, "--deadline");
    run(f, "show", USAGE);
    run(f, "vms A", USAGE);
    run(f, "vms --nonsense", USAGE);
    run(f, "notify", USAGE);
    run(f, "notify A", USAGE);
    run(f, "notify --all", USAGE);
    says(f, "KIND");
    run(f, "notify --test", USAGE);
    run(f, "notify --all --confidence -5 reclaim", USAGE);
    says(f, "--confidence -5");
    /* a bare number is no time */
    run(f, "notify A pause --deadline 90 --duration 1s", USAGE);
    says(f, "--deadline 90: a time with its unit");
    run(f, "notify A pause --deadline 90s --duration 100", USAGE);
    says(f, "--duration 100");
    run(f, "notify A pause --deadline 90s --duration 1s --extend-max 1.5", USAGE);
    run(f, "drain --deadline 15", USAGE);
    run(f, "drain --deadline 15m --wait --timeout 20", USAGE);
    says(f, "--timeout 20");
    run(f, "drain --deadline 15m --timeout 20s", USAGE);
    says(f, "only with --wait");
    run(f, "watch --count -1", USAGE);
    run(f, "watch --count 0", USAGE);
    run(f, "mode --vm A --actuator vnic", USAGE);
    run(f, "notify A pause --deadline soon", USAGE);
    says(f, "--deadline soon");
    run(f, "notify job:x pause", USAGE);
    run(f, "notify A --all pause", USAGE);
    run(f, "notify A pause --payload x", USAGE);
    run(f, "notice stop x", USAGE);
    run(f, "notice start", USAGE);
    run(f, "notice start x --key y", USAGE);
    run(f, "drain --timeout x", USAGE);
}

static void test_no_hzd(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    run(f, "--socket /nonexistent/s vms", ERROR);
    says(f, "is hzd running?");
    run(f, "show C", ERROR);
    says(f, "no VM 'C'");
    run(f, "watch C", ERROR);
    says(f, "no VM 'C'");
    run(f, "audit C", ERROR);
    says(f, "no VM 'C'");
    run(f, "audit --event notce", ERROR);
    says(f, "did you mean 'notice'?");
    run(f, "mode --vm C", ERROR);
    says(f, "no VM 'C'");
    run(f, "mode --actuator gpu", ERROR);
    says(f, "no actuator 'gpu'");
    run(f, "notify A pause --duration 1s --deadline 99999h", ERROR);
    says(f, "99999h");
}

static void test_looking(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(JsonObject) o = NULL;

    guest_declare(f->device, "nic/0", "net-min", "20Mbit", NULL);
    WAIT(hz_vm_decl(kit_vm(f->kit, "A"), "nic/0"));
    run(f, "vms", OK);
    says(f, "acme");
    run(f, "show A", OK);
    says(f, "20Mbit");
    says(f, "tapA0");
    run(f, "show A --json", OK);
    o = hz_json_parse(f->out, strlen(f->out), NULL);
    g_assert_cmpstr(hz_json_text(o, "name", NULL), ==, "A");
    run(f, "actuators", OK);
    run(f, "notices", OK);
    run(f, "capabilities", OK);
    says(f, "notice-cancel");
    run(f, "config", OK);
    run(f, "metrics", OK);
    says(f, "hzd_uptime_seconds");
    run(f, "mode", OK);
    says(f, "host: enforce");
    run(f, "audit A --limit 5", OK);
    WAIT(kit_audited(f->kit, "plan", "\"A/nic/0\""));
    run(f, "why A", OK);
    says(f, "because:");
    run(f, "why A --replay", OK);
    says(f, "the same plan");
    run(f, "why A nic/0", OK);
    run(f, "why A nic/3", ERROR);
    says(f, "VM 'A' has no nic/3");
    run(f, "why A --at -10h", ERROR);
    says(f, "no plan about VM 'A'");
}

static void test_levers(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    run(f, "freeze", OK);
    g_assert_true(f->kit->host->frozen);
    run(f, "thaw", OK);
    g_assert_false(f->kit->host->frozen);
    run(f, "mode observe --vm A", OK);
    g_assert_cmpint(hz_vm_mode(kit_vm(f->kit, "A"), NULL), ==, HZ_MODE_OBSERVE);
    run(f, "mode --vm A", OK);
    says(f, "VM A: observe");
    g_assert_null(strstr(f->out, "host:"));
    run(f, "mode --actuator vnic", OK);
    says(f, "actuator vnic:");
    g_assert_null(strstr(f->out, "host:"));
    run(f, "mode on", ERROR);
    says(f, "off, observe, enforce");
    run(f, "release A", OK);
    g_assert_true(kit_vm(f->kit, "A")->released);
    run(f, "doctor", ERROR);
    says(f, "VM A: released");
    run(f, "reload", OK);
    run(f, "--socket \"$PWD/none\" freeze", ERROR);
}

static void test_watch(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    start(f, "watch A --count 1 --json");
    /* declared again and again: the watcher may not have connected at the first */
    for (unsigned i = 1; !f->done; i++) {
        g_autofree char *value = g_strdup_printf("%uMbit", i);

        guest_declare(f->device, "nic/0", "net-min", value, NULL);
        kit_spin(20);
    }
    finish(f, "watch", OK);
    says(f, "\"event\":");
    says(f, "\"vm\":\"A\"");
}

/* The path end to end: sent, told, seen. */
static void test_test(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;

    start(f, "notify --test A --wait --deadline 20s");
    WAIT(guest_notice_of_kind(f->device, HZ_KIND_PAUSE, &n));
    g_assert_true(n.flags & VIRTIO_HZ_NOTICE_TEST);
    guest_reply(f->device, n.id, VIRTIO_HZ_REPLY_SEEN, 0);
    finish(f, "notify --test", OK);
    says(f, "good");
    g_assert_cmpuint(f->monitor->stops, ==, 0);
    run(f, "notify --test B --wait --deadline 100ms", INCOMPLETE);
    says(f, "not good");
    g_assert_nonnull(strstr(f->err, "VM B: link down"));
    g_assert_nonnull(strstr(f->out, "link down"));
    run(f, "notify --test B", INCOMPLETE);
    says(f, "VM B: link down");
    run(f, "notify --test A --wait --deadline 500ms", INCOMPLETE);
    says(f, "told, but no agent answered");
    run(f, "notify --test A --wait --deadline 20s --timeout 50ms", INCOMPLETE);
    says(f, "pending");
}

static void test_pause(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;

    start(f, "notify A pause --deadline 20s --duration 10ms --key p --wait");
    WAIT(guest_notice_of_kind(f->device, HZ_KIND_PAUSE, &n));
    guest_reply(f->device, n.id, VIRTIO_HZ_REPLY_SEEN, 0);
    guest_reply(f->device, n.id, VIRTIO_HZ_REPLY_PREPARED, 0);
    finish(f, "notify A pause", OK);
    says(f, "completed");
    g_assert_cmpuint(f->monitor->stops, ==, 1);
    g_assert_cmpuint(f->monitor->conts, ==, 1);
    run(f, "notify A pause --duration 1s --key p", OK);
    says(f, "repeat");
    says(f, "unchanged: it is completed");
}

/* What wasn't said is never success. */
static void test_observe(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    run(f, "mode observe", OK);
    run(f, "notify A reclaim --deadline 1h", INCOMPLETE);
    says(f, "VM A was not told: the mode in force is observe");
    run(f, "notify A reclaim --deadline 1h --wait", INCOMPLETE);
    run(f, "drain --deadline 1h", INCOMPLETE);
    says(f, "VM A was not told");
    run(f, "drain --deadline 1h --wait", INCOMPLETE);
}

static void test_deadline(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    run(f, "notify A reclaim", ERROR);
    says(f, "a 'deadline' is missing: VM 'A' declares no notice-needed-reclaim");
    run(f, "drain", ERROR);
    says(f, "a 'deadline' is missing");
    g_assert_cmpuint(kit_vm(f->kit, "A")->notices->len, ==, 0);
    guest_declare(f->device, "vm", "notice-needed-reclaim", "2m", NULL);
    WAIT(hz_vm_decl(kit_vm(f->kit, "A"), "vm"));
    run(f, "notify A reclaim --key k", OK);
    run(f, "notify A reclaim --key k --revise", OK);
    run(f, "notify A B reclaim", ERROR);        /* one of them is enough */
    says(f, "VM 'B'");
    /* the same again is the same; something else is said */
    run(f, "notify B reclaim --key j --deadline 1h", OK);
    run(f, "notify B reclaim --key j --deadline 1h", OK);
    g_assert_null(strstr(f->out, "unchanged"));
    run(f, "notify B reclaim --key j", OK);
    run(f, "notify B reclaim --key j --deadline 2h", OK);
    says(f, "unchanged: its deadline is");
    run(f, "notify B reclaim --key j --revise", ERROR);
    says(f, "VM 'B'");
    run(f, "drain B --key j --deadline 2h", OK);
    says(f, "unchanged: its deadline is");
}

static void test_notice(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    run(f, "notify A B reclaim --deadline 1h --key k --payload reclaim-action=stop", OK);
    says(f, "new");
    run(f, "notice start k --vm A", OK);
    says(f, "started");
    run(f, "notice complete --key k --vm A", OK);
    says(f, "completed");
    run(f, "notice cancel k --vm B", OK);
    run(f, "notice cancel nokey", ERROR);
    says(f, "nokey");
    run(f, "notices --open", OK);
    says(f, "no notices");
    run(f, "notify A B pause --duration 1s --deadline 1h --key some", INCOMPLETE);
    says(f, "no qmp= is configured");
    run(f, "notify A reclame", ERROR);
    says(f, "no kind 'reclame'");
}

static void test_drain(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;

    start(f, "drain A --deadline 20s --wait");
    WAIT(guest_notice_of_kind(f->device, HZ_KIND_RECLAIM, &n));
    guest_reply(f->device, n.id, VIRTIO_HZ_REPLY_PREPARED, 0);
    finish(f, "drain A", OK);
    says(f, "A: waiting");
    says(f, "A: prepared");
    says(f, "all out of the way");
    run(f, "drain B --deadline 100ms --wait --json", INCOMPLETE);
    says(f, "unprepared");
    run(f, "drain --deadline 1h --key later", OK);
    says(f, "under way");
    run(f, "drain --deadline 1h --key later --wait --timeout 50ms", INCOMPLETE);
    run(f, "drain B --kind pause", ERROR);
}

static void test_doctor(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(JsonParser) parser = json_parser_new();

    run(f, "doctor", ERROR);
    says(f, "actuator vnic: absent");
    says(f, "VM B: identity=socket");
    f->vnic = vnic_new(f->kit);
    WAIT(hz_actuator_health(f->kit->host, "vnic") == HZ_ACTUATOR_READY);
    run(f, "doctor", OK);
    says(f, "VM A: link up");
    run(f, "freeze", OK);
    run(f, "doctor --json", OK);
    g_assert_true(json_parser_load_from_data(parser, f->out, -1, NULL));
    says(f, "hzctl thaw");
}

#define ADD(name) \
    g_test_add("/hzctl/" #name, Fixture, NULL, set_up, test_##name, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!g_getenv("HZCTL")) {
        g_printerr("HZCTL must name hzctl\n");
        return 1;
    }
    ADD(usage);
    ADD(no_hzd);
    ADD(looking);
    ADD(levers);
    ADD(watch);
    ADD(test);
    ADD(pause);
    ADD(observe);
    ADD(deadline);
    ADD(notice);
    ADD(drain);
    ADD(doctor);
    return g_test_run();
}
