/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: the qmp backend against a monitor played here, and against a real QEMU
 * where there is one (HZ_QEMU, or qemu-system-x86_64 in PATH).
 */
#include "json/channel.h"
#include "vmm/vmm.h"

#include <glib-unix.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define run_until(condition) \
    while (!(condition)) { \
        g_main_context_iteration(NULL, TRUE); \
    }

/* -- a monitor ----------------------------------------------------------- */

typedef struct {
    char *path;
    int fd;
    guint watch;
    HzChannel *client;
    const char *greeting;       /* NULL: none */
    const char *status;
    const char *refuse;         /* the command to be refused */
    const char *ignore;         /* the command to be left without an answer */
    int ignored;
} Monitor;

static void monitor_message(HzChannel *c, JsonObject *m, gpointer opaque)
{
    Monitor *mon = opaque;
    const char *command = json_object_get_string_member_with_default(m, "execute", NULL);
    JsonNode *id = json_object_dup_member(m, "id");

    if (!command) {             /* hz says what it didn't like before it hangs up */
        g_assert_true(json_object_has_member(m, "error"));
    } else if (!g_strcmp0(command, mon->refuse)) {
        hz_channel_error(c, id, "GenericError", "%s isn't possible now", command);
    } else if (!g_strcmp0(command, mon->ignore)) {
        mon->ignored++;
        json_node_unref(id);
    } else if (!strcmp(command, "query-status")) {
        JsonNode *value = json_node_new(JSON_NODE_OBJECT);
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "status", mon->status);
        json_node_take_object(value, o);
        hz_channel_return(c, id, value);
    } else {
        hz_channel_return(c, id, NULL);
    }
}

static void monitor_closed(HzChannel *c, const GError *why, gpointer opaque)
{
    Monitor *mon = opaque;

    (void)why;
    mon->client = NULL;
    hz_channel_unref(c);
}

static gboolean monitor_accept(int fd, GIOCondition cond, gpointer opaque)
{
    static const HzChannelOps ops = { monitor_message, monitor_closed };
    Monitor *mon = opaque;
    int client = accept(fd, NULL, NULL);

    (void)cond;
    g_assert_cmpint(client, >=, 0);
    if (mon->greeting) {
        g_assert_cmpint(write(client, mon->greeting, strlen(mon->greeting)), ==,
                        (ssize_t)strlen(mon->greeting));
    }
    mon->client = hz_channel_new(client, &ops, mon);
    return G_SOURCE_CONTINUE;
}

static void monitor_listen(Monitor *mon)
{
    g_autoptr(GError) error = NULL;

    mon->fd = hz_unix_listen(mon->path, 0600, &error);
    g_assert_no_error(error);
    mon->watch = g_unix_fd_add(mon->fd, G_IO_IN, monitor_accept, mon);
}

static void monitor_hang_up(Monitor *mon)
{
    g_source_remove(mon->watch);
    close(mon->fd);
    g_unlink(mon->path);
    if (mon->client) {
        hz_channel_drop(mon->client);
        mon->client = NULL;
    }
}

static void monitor_init(Monitor *mon)
{
    g_autofree char *dir = g_dir_make_tmp("hz-qmp-XXXXXX", NULL);

    *mon = (Monitor){
        .greeting = "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n",
        .status = "running",
        .path = g_build_filename(dir, "q", NULL),
    };
}

static void monitor_clear(Monitor *mon)
{
    g_autofree char *dir = g_path_get_dirname(mon->path);

    monitor_hang_up(mon);
    g_rmdir(dir);
    g_free(mon->path);
}

/* -- the owner ----------------------------------------------------------- */

typedef struct {
    HzVmm *vmm;
    int connected, lost, done;
    GArray *events;
    char *why, *error;
    int code;
    gboolean close_at_once;
    gboolean killed;
} Owner;

static void on_connected(HzVmm *vmm, gpointer opaque)
{
    Owner *o = opaque;

    o->connected++;
    g_assert_true(hz_vmm_connected(vmm));
    g_assert_null(hz_vmm_trouble(vmm));
    if (o->close_at_once) {
        hz_vmm_close(vmm);
        o->vmm = NULL;
    }
}

static void on_lost(HzVmm *vmm, const GError *why, gpointer opaque)
{
    Owner *o = opaque;

    o->lost++;
    g_free(o->why);
    o->why = g_strdup(why->message);
    g_assert_cmpint(hz_vmm_state(vmm), ==, HZ_VMM_UNKNOWN);
}

static void on_event(HzVmm *vmm, const HzVmmEvent *event, gpointer opaque)
{
    (void)vmm;
    g_array_append_val(((Owner *)opaque)->events, *event);
}

static const HzVmmListener listener = { on_connected, on_lost, on_event };

static void on_done(HzVmm *vmm, const GError *error, gpointer opaque)
{
    Owner *o = opaque;

    o->done++;
    g_free(o->error);
    o->error = error ? g_strdup(error->message) : NULL;
    o->code = error ? error->code : -1;
    if (o->close_at_once) {
        hz_vmm_close(vmm);
        o->vmm = NULL;
    }
}

static void owner_init(Owner *o, const Monitor *mon)
{
    *o = (Owner){ .events = g_array_new(FALSE, FALSE, sizeof(HzVmmEvent)) };
    o->vmm = hz_vmm_open(mon->path, &listener, o);
}

static void owner_clear(Owner *o)
{
    if (o->vmm) {
        hz_vmm_close(o->vmm);
    }
    g_array_unref(o->events);
    g_free(o->why);
    g_free(o->error);
}

/* -- tests --------------------------------------------------------------- */

static void test_life(void)
{
    Monitor mon;
    Owner o;
    pid_t pid;
    uint64_t start;

    monitor_init(&mon);
    owner_init(&o, &mon);
    g_assert_nonnull(strstr(hz_vmm_trouble(o.vmm), "can't connect: No such file"));
    g_assert_false(hz_vmm_peer(o.vmm, &pid, &start));
    monitor_listen(&mon);
    run_until(o.connected == 1);
    g_assert_cmpint(hz_vmm_state(o.vmm), ==, HZ_VMM_RUNNING);
    g_assert_true(hz_vmm_peer(o.vmm, &pid, &start));
    g_assert_cmpint(pid, ==, getpid());
    g_assert_cmpuint(start, ==, hz_process_start(getpid()));

    monitor_hang_up(&mon);
    run_until(o.lost == 1);
    g_assert_nonnull(strstr(o.why, "closed the connection"));
    g_assert_false(hz_vmm_peer(o.vmm, &pid, &start));
    mon.status = "inmigrate";
    monitor_listen(&mon);
    hz_vmm_poke(o.vmm);
    run_until(o.connected == 2);
    g_assert_cmpint(hz_vmm_state(o.vmm), ==, HZ_VMM_OTHER);
    g_assert_cmpstr(hz_vmm_status(o.vmm), ==, "inmigrate");
    owner_clear(&o);
    monitor_clear(&mon);
}

static void send_raw(Monitor *mon, const char *text)
{
    hz_channel_send(mon->client, hz_json_parse(text, strlen(text), NULL));
}

static uint64_t boot_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void test_events(void)
{
    uint64_t before;
    HzVmmEvent *e;
    Monitor mon;
    Owner o;

    monitor_init(&mon);
    monitor_listen(&mon);
    owner_init(&o, &mon);
    run_until(o.connected);
    before = boot_ns();
    mon.status = "paused";
    send_raw(&mon, "{\"event\":\"NIC_RX_FILTER_CHANGED\",\"data\":{}}");
    send_raw(&mon, "{\"event\":\"STOP\",\"timestamp\":{\"seconds\":1700000000,"
                   "\"microseconds\":250000}}");
    send_raw(&mon, "{\"event\":\"RESET\",\"timestamp\":{\"seconds\":-1,\"microseconds\":-1}}");
    run_until(o.events->len == 2);
    e = &g_array_index(o.events, HzVmmEvent, 0);
    g_assert_cmpint(e->kind, ==, HZ_VMM_STOP);
    g_assert_cmpuint(e->boot_ns, >=, before);
    g_assert_cmpuint(e->boot_ns, <=, boot_ns());
    g_assert_cmpint(e->wall_us, ==, 1700000000250000);
    g_assert_cmpint(e[1].kind, ==, HZ_VMM_RESET);
    g_assert_cmpint(e[1].wall_us, ==, 0);       /* QEMU's "unknown" */
    g_assert_cmpint(hz_vmm_state(o.vmm), ==, HZ_VMM_PAUSED);

    /* A STOP that is more than a pause: query-status tells. */
    mon.status = "io-error";
    send_raw(&mon, "{\"event\":\"STOP\"}");
    run_until(!strcmp(hz_vmm_status(o.vmm), "io-error"));
    g_assert_cmpint(hz_vmm_state(o.vmm), ==, HZ_VMM_OTHER);
    owner_clear(&o);
    monitor_clear(&mon);
}

static void test_commands(void)
{
    Monitor mon;
    Owner o;

    monitor_init(&mon);
    owner_init(&o, &mon);
    hz_vmm_stop(o.vmm, on_done, &o);
    g_assert_cmpint(o.done, ==, 0);             /* never from inside the call */
    run_until(o.done == 1);
    g_assert_cmpint(o.code, ==, HZ_VMM_ERROR_AWAY);
    g_assert_nonnull(strstr(o.error, "'stop'"));

    monitor_listen(&mon);
    run_until(o.connected);
    hz_vmm_stop(o.vmm, on_done, &o);
    run_until(o.done == 2);
    g_assert_null(o.error);
    mon.refuse = "cont";
    hz_vmm_cont(o.vmm, on_done, &o);
    run_until(o.done == 3);
    g_assert_cmpint(o.code, ==, HZ_VMM_ERROR_REFUSED);
    g_assert_nonnull(strstr(o.error, "cont isn't possible now"));

    mon.ignore = "stop";
    hz_vmm_stop(o.vmm, on_done, &o);
    run_until(mon.ignored);
    monitor_hang_up(&mon);
    run_until(o.done == 4);
    g_assert_cmpint(o.code, ==, HZ_VMM_ERROR_AWAY);
    monitor_listen(&mon);
    owner_clear(&o);
    monitor_clear(&mon);
}

/* The owner may close from a callback, whatever else is under way. */
static void test_close_inside(void)
{
    Monitor mon;
    Owner o;

    monitor_init(&mon);
    monitor_listen(&mon);
    owner_init(&o, &mon);
    o.close_at_once = TRUE;
    run_until(o.connected);
    g_assert_null(o.vmm);
    run_until(!mon.client);
    owner_clear(&o);

    owner_init(&o, &mon);
    run_until(o.connected);
    mon.ignore = "stop";
    mon.ignored = 0;
    o.close_at_once = TRUE;
    for (int i = 0; i < 3; i++) {
        hz_vmm_stop(o.vmm, on_done, &o);
    }
    run_until(mon.ignored == 3);
    hz_channel_close(mon.client);
    run_until(!o.vmm);
    g_assert_cmpint(o.done, ==, 1);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    g_assert_cmpint(o.done, ==, 1);
    owner_clear(&o);
    monitor_clear(&mon);
}

static void trouble(const char *greeting, const char *what)
{
    Monitor mon;
    Owner o;

    monitor_init(&mon);
    mon.greeting = greeting;
    monitor_listen(&mon);
    owner_init(&o, &mon);
    run_until(strstr(hz_vmm_trouble(o.vmm), what));
    g_assert_cmpint(o.connected, ==, 0);

    /* and it recovers */
    mon.greeting = "{\"QMP\":{}}";
    if (mon.client && !greeting) {
        send_raw(&mon, mon.greeting);
    }
    run_until(o.connected);
    owner_clear(&o);
    monitor_clear(&mon);
}

static void test_wrong_greeting(void)
{
    trouble("{\"hello\":1}\n", "no greeting");
    trouble("SSH-2.0-x\n", "byte 0x53");
}

static void test_busy_monitor(void)
{
    trouble(NULL, "another client has this monitor");
}

static void test_no_answer(void)
{
    Monitor mon;
    Owner o;

    monitor_init(&mon);
    monitor_listen(&mon);
    owner_init(&o, &mon);
    run_until(o.connected);
    mon.ignore = "stop";
    hz_vmm_stop(o.vmm, on_done, &o);
    run_until(o.done);
    g_assert_cmpint(o.code, ==, HZ_VMM_ERROR_TIMEOUT);
    g_assert_nonnull(strstr(o.error, "no answer to 'stop' within 30 s"));
    run_until(o.lost);
    owner_clear(&o);
    monitor_clear(&mon);
}

static void test_process_start(void)
{
    g_assert_cmpuint(hz_process_start(getpid()), >, 0);
    g_assert_cmpuint(hz_process_start(getpid()), >=, hz_process_start(1));
    g_assert_cmpuint(hz_process_start(0x7ffffff0), ==, 0);
}

/* A QEMU that ends early fails the test at once instead of being waited for. */
static void on_qemu_exit(GPid pid, gint status, gpointer opaque)
{
    Owner *o = opaque;

    g_spawn_close_pid(pid);
    if (!o->killed) {
        g_error("QEMU has ended, wait status 0x%x", (unsigned)status);
    }
    o->killed = FALSE;
}

static void test_real_qemu(void)
{
    const char *set = g_getenv("HZ_QEMU");
    g_autofree char *qemu = set ? g_strdup(set) : g_find_program_in_path("qemu-system-x86_64");
    g_autofree char *arg = NULL;
    g_autoptr(GError) error = NULL;
    GPid child;
    pid_t pid;
    uint64_t start;
    Monitor mon;
    Owner o;

    if (!qemu) {
        g_test_skip("no QEMU: set HZ_QEMU");
        return;
    }
    monitor_init(&mon);
    arg = g_strdup_printf("unix:%s,server=on,wait=off", mon.path);
    char *argv[] = { qemu, "-M", "none", "-S", "-nodefaults", "-display", "none",
                     "-qmp", arg, NULL };
    g_spawn_async(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &child, &error);
    g_assert_no_error(error);
    owner_init(&o, &mon);
    g_child_watch_add(child, on_qemu_exit, &o);
    run_until(o.connected);
    g_assert_cmpstr(hz_vmm_status(o.vmm), ==, "prelaunch");
    g_assert_true(hz_vmm_peer(o.vmm, &pid, &start));
    g_assert_cmpint(pid, ==, child);

    hz_vmm_cont(o.vmm, on_done, &o);
    run_until(o.done == 1 && o.events->len == 1);
    g_assert_null(o.error);
    g_assert_cmpint(hz_vmm_state(o.vmm), ==, HZ_VMM_RUNNING);
    hz_vmm_stop(o.vmm, on_done, &o);
    run_until(o.done == 2 && o.events->len == 2);
    g_assert_cmpint(hz_vmm_state(o.vmm), ==, HZ_VMM_PAUSED);
    g_assert_cmpint(g_array_index(o.events, HzVmmEvent, 0).kind, ==, HZ_VMM_RESUME);
    g_assert_cmpint(g_array_index(o.events, HzVmmEvent, 1).kind, ==, HZ_VMM_STOP);
    g_assert_cmpint(g_array_index(o.events, HzVmmEvent, 1).wall_us, >, 1700000000000000);

    o.killed = TRUE;
    kill(child, SIGKILL);
    run_until(o.lost && !o.killed);
    owner_clear(&o);
    monitor_listen(&mon);
    monitor_clear(&mon);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/qmp/life", test_life);
    g_test_add_func("/qmp/events", test_events);
    g_test_add_func("/qmp/commands", test_commands);
    g_test_add_func("/qmp/close-inside", test_close_inside);
    g_test_add_func("/qmp/wrong-greeting", test_wrong_greeting);
    g_test_add_func("/qmp/busy-monitor", test_busy_monitor);
    if (g_test_slow()) {
        g_test_add_func("/qmp/no-answer", test_no_answer);
    }
    g_test_add_func("/process/start", test_process_start);
    g_test_add_func("/qmp/real-qemu", test_real_qemu);
    return g_test_run();
}
