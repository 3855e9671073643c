/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd link: who may speak for a VM, and what becomes of whoever sends nonsense. */
#include <string.h>
#include <glib-unix.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"

#define ONE_VM "[uplink up]\ncapacity=80Mbit\n[vm A]\nqmp=@DIR@/qmp\n[vm A nic/0]\n" \
               "ifname=tapA0\nuplink=up\nnet-min=40Mbit\n"

typedef struct {
    Kit *kit;
    Monitor *monitor;
    Device *device;
} Fixture;

static void set_up(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    f->kit = kit_new("mode=enforce", ONE_VM);
    f->monitor = monitor_new(f->kit, "qmp");
    kit_start(f->kit);
    f->device = device_new();
}

static void tear_down(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    device_free(f->device);
    kit_free(f->kit);
    monitor_free(f->monitor);
}

static void connect_up(Fixture *f)
{
    device_connect(f->device, f->kit, "A");
    device_hello(f->device);
    WAIT(kit_vm(f->kit, "A")->synced);
}

static void test_mirror(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzVm *vm = kit_vm(f->kit, "A");
    uint64_t v;

    guest_declare(f->device, "nic/0", "net-min", "20Mbit", NULL);
    connect_up(f);
    g_assert_nonnull(hz_vm_decl(vm, "nic/0"));
    guest_declare(f->device, "vm", "max-pause", "250ms", NULL);
    WAIT(hz_vm_decl(vm, "vm"));
    g_assert_true(hz_vm_declared(vm, "vm", HZ_F_MAX_PAUSE, &v));
    g_assert_cmpuint(v, ==, 250);
    guest_withdraw(f->device, "vm");
    WAIT(!hz_vm_decl(vm, "vm"));
    /* 20 Mbit/s are 2500000 bytes/s */
    g_assert_true(hz_vm_declared(vm, "nic/0", HZ_F_NET_MIN, &v));
    g_assert_cmpuint(v, ==, 2500000);
}

/* Before HELLO a link says and is told nothing; the VM isn't up. */
static void test_silent(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    device_connect(f->device, f->kit, "A");
    WAIT(kit_vm(f->kit, "A")->links->len == 1);
    kit_spin(300);
    g_assert_false(f->device->welcomed);
    g_assert_false(f->device->closed);
    g_assert_null(kit_vm(f->kit, "A")->link);
}

/* -- nonsense ----------------------------------------------------------- */

static void closed_by(Fixture *f, const void *bytes, size_t len)
{
    HzVm *vm = kit_vm(f->kit, "A");
    uint64_t before = vm->counters.garbage;

    device_write(f->device, bytes, len);
    WAIT(f->device->closed);
    g_assert_cmpuint(vm->counters.garbage, ==, before + 1);
    /* and nothing else has come to harm */
    connect_up(f);
}

static void test_garbage(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t frame[HZ_LINK_MAX_FRAME] = { 0 };
    struct hz_hdr h;

    connect_up(f);
    /* a length below a header's, and one above any frame's */
    hz_put32(frame, 15);
    closed_by(f, frame, 16);
    hz_put32(frame, HZ_LINK_MAX_FRAME + 1);
    closed_by(f, frame, 16);
    /* text */
    closed_by(f, "{\"execute\": \"qmp_capabilities\"}\r\n", 33);
    /* a type that doesn't exist, and one only hzd sends */
    h = (struct hz_hdr){ .len = HZ_HDR_LEN, .type = 0x7777 };
    hz_hdr_put(frame, &h);
    closed_by(f, frame, HZ_HDR_LEN);
    closed_by(f, frame, (size_t)hz_bare_frame(frame, sizeof(frame), HZ_L_PING, 0));
    /* a record without its head, and one whose body is none */
    h = (struct hz_hdr){ .len = 24, .type = VIRTIO_HZ_R_STATUS };
    memset(frame, 0, sizeof(frame));
    hz_hdr_put(frame, &h);
    closed_by(f, frame, 24);
    h = (struct hz_hdr){ .len = HZ_RECORD_HEAD + 8, .type = VIRTIO_HZ_R_NOTICE };
    hz_hdr_put(frame, &h);
    closed_by(f, frame, h.len);
    h.type = VIRTIO_HZ_R_DECLARATION;
    hz_hdr_put(frame, &h);
    closed_by(f, frame, h.len);
    g_assert_cmpuint(kit_audited(f->kit, "refused", NULL), >=, 1);
}

static void test_record_before_welcome(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t frame[HZ_HDR_LEN + 8];
    struct hz_sync s = { 1 };

    device_connect(f->device, f->kit, "A");
    closed_by(f, frame, (size_t)hz_sync_frame(frame, sizeof(frame), &s));
}

/* A frame may come byte by byte. */
static void test_half_frames(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_runstate r = { HZ_RUN_PAUSED };
    uint8_t frame[HZ_HDR_LEN + 8];
    int len = hz_runstate_frame(frame, sizeof(frame), &r);

    connect_up(f);
    for (int i = 0; i < len; i++) {
        device_write(f->device, frame + i, 1);
        for (int turn = 0; turn < 3; turn++) {
            g_main_context_iteration(NULL, FALSE);
        }
        g_assert_cmpuint(kit_vm(f->kit, "A")->run_state, ==,
                         i < len - 1 ? HZ_RUN_RUNNING : kit_vm(f->kit, "A")->run_state);
    }
    WAIT(kit_vm(f->kit, "A")->run_state == HZ_RUN_PAUSED);
    /* half a frame and the end: no harm */
    device_write(f->device, frame, 9);
    device_disconnect(f->device);
    WAIT(!kit_vm(f->kit, "A")->link);
    connect_up(f);
}

static void test_versions(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    device_connect(f->device, f->kit, "A");
    f->device->version = f->device->version_min = VIRTIO_HZ_VERSION + 1;
    device_hello(f->device);
    WAIT(f->device->closed);
    g_assert_cmpuint(kit_audited(f->kit, "refused", "wire versions"), ==, 1);
    /* one that also speaks a newer version is spoken to in ours */
    f->device->version = VIRTIO_HZ_VERSION + 7;
    f->device->version_min = VIRTIO_HZ_VERSION;
    connect_up(f);
}

static void test_uuid(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    kit_stop(f->kit);
    kit_rewrite(f->kit, "mode=enforce",
                "[vm A]\nqmp=@DIR@/qmp\nuuid=00112233-4455-6677-8899-aabbccddeeff\n");
    kit_start(f->kit);
    device_connect(f->device, f->kit, "A");
    device_hello(f->device);
    WAIT(f->device->closed);
    g_assert_cmpuint(kit_audited(f->kit, "refused", "has the uuid"), ==, 1);
    for (unsigned i = 0; i < 16; i++) {
        f->device->vm[i] = (uint8_t)(i * 0x11);
    }
    connect_up(f);
}

/* -- strangers ---------------------------------------------------------- */

/*
 * Another process of our uid: connects, says HELLO, and tells by its exit
 * status whether it was closed.
 */
static pid_t stranger(Fixture *f, unsigned connections)
{
    g_autofree char *path = g_strdup_printf("%s/vm/A.sock", f->kit->run);
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid) {
        return pid;
    }
    for (unsigned i = 0; i < connections; i++) {
        struct hz_hello h = { .magic = VIRTIO_HZ_MAGIC, .version = 1, .version_min = 1,
                              .disruption = 1000 + i, .run_state = HZ_RUN_RUNNING };
        uint8_t frame[128];
        int fd = hz_unix_connect(path, NULL);
        ssize_t n;

        if (fd < 0 || write(fd, frame, (size_t)hz_hello_frame(frame, sizeof(frame), &h)) < 0) {
            continue;
        }
        if (i == connections - 1) {
            g_unix_set_fd_nonblocking(fd, FALSE, NULL);
            do {
                n = read(fd, frame, sizeof(frame));
            } while (n > 0);
        }
    }
    _exit(0);
}

static gboolean ended(pid_t pid)
{
    int status;

    return waitpid(pid, &status, WNOHANG) == pid;
}

static void test_stranger(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzVm *vm = kit_vm(f->kit, "A");
    pid_t pid;

    connect_up(f);
    pid = stranger(f, 1);
    WAIT(ended(pid));
    g_assert_cmpuint(vm->counters.strangers, ==, 1);
    g_assert_true(vm->synced);
    g_assert_cmpuint(vm->session, ==, 1);
    g_assert_false(f->device->closed);
    WAIT(kit_audited(f->kit, "refused", "isn't the process") == 1);
}

/* It comes first, during a restart of hzd, while the monitor can't be reached yet to tell. */
static void test_stranger_first(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    pid_t pid;

    kit_stop(f->kit);
    monitor_free(f->monitor);
    kit_start(f->kit);
    pid = stranger(f, 20);
    WAIT(kit_vm(f->kit, "A")->links->len >= 2);
    device_connect(f->device, f->kit, "A");
    device_hello(f->device);
    WAIT(kit_vm(f->kit, "A")->links->len >= 3);
    kit_spin(300);
    g_assert_null(kit_vm(f->kit, "A")->link);
    f->monitor = monitor_new(f->kit, "qmp");
    WAIT(kit_vm(f->kit, "A")->synced);
    WAIT(ended(pid));
    g_assert_cmpuint(kit_vm(f->kit, "A")->hello.disruption, ==, 1);
}

static void test_identity_uid(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *rest = g_strdup_printf("[vm A]\nidentity=uid:%u\n", getuid() + 1);
    g_autofree char *good = g_strdup_printf("[vm A]\nidentity=uid:%u\n", getuid());

    kit_stop(f->kit);
    kit_rewrite(f->kit, "mode=enforce", rest);
    kit_start(f->kit);
    device_connect(f->device, f->kit, "A");
    WAIT(f->device->closed);
    kit_rewrite(f->kit, "mode=enforce", good);
    g_assert_true(hz_admin_reload(f->kit->host, "test", NULL));
    connect_up(f);
}

/* -- floods ------------------------------------------------------------- */

/* A device that sends without end is read at its rate; another VM's is served meanwhile. */
static void test_flood(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_runstate r = { HZ_RUN_RUNNING };
    uint8_t frame[HZ_HDR_LEN + 8], many[sizeof(frame) * 256];
    Device *other = device_new();
    HzVm *a, *b;
    uint64_t v;

    kit_stop(f->kit);
    kit_rewrite(f->kit, "mode=enforce", "[vm A]\nqmp=@DIR@/qmp\n[vm B]\nidentity=socket\n");
    kit_start(f->kit);
    a = kit_vm(f->kit, "A");
    b = kit_vm(f->kit, "B");
    connect_up(f);
    device_connect(other, f->kit, "B");
    device_hello(other);
    WAIT(b->synced);
    hz_runstate_frame(frame, sizeof(frame), &r);
    for (unsigned i = 0; i < 256; i++) {
        memcpy(many + i * sizeof(frame), frame, sizeof(frame));
    }
    /* more than its burst, so it must be throttled; device_write() waits for the socket */
    for (unsigned i = 0; i < 24; i++) {
        device_write(f->device, many, sizeof(many));
    }
    WAIT(a->counters.throttled);
    guest_declare(other, "vm", "max-pause", "1s", NULL);
    WAIT(hz_vm_declared(b, "vm", HZ_F_MAX_PAUSE, &v));
    g_assert_cmpuint(b->counters.throttled, ==, 0);
    /* once it is over, all of it has been taken, none lost */
    WAIT(a->counters.frames_in >= 24 * 256);
    g_assert_true(a->synced);
    device_free(other);
}

/* -- a device in the hands of its guest ---------------------------------- */

static size_t record(uint8_t *frame, uint16_t type, const uint8_t *key, size_t key_len, int body)
{
    struct hz_hdr h = { .len = (uint32_t)(HZ_RECORD_HEAD + (size_t)body), .type = type };

    memset(frame, 0, HZ_RECORD_HEAD);
    hz_hdr_put(frame, &h);
    memcpy(frame + offsetof(struct virtio_hz_record, key), key, key_len);
    return h.len;
}

static size_t forged_notice(uint8_t *frame, unsigned i, uint8_t state)
{
    struct hz_notice n = { .kind = HZ_KIND_RECLAIM, .revision = 1, .state = state,
                           .deadline_ns = 1000 * HZ_SEC };
    int body;

    hz_put32(n.id, i + 1);
    body = hz_notice_put(frame + HZ_RECORD_HEAD, HZ_LINK_MAX_FRAME - HZ_RECORD_HEAD, &n);
    return record(frame, VIRTIO_HZ_R_NOTICE, n.id, 16, body);
}

static size_t forged_declaration(uint8_t *frame, unsigned i)
{
    struct hz_declaration d = { .seq = i + 1 };
    g_autofree char *subject = g_strdup_printf("job/%u", i);
    int body = hz_declaration_put(frame + HZ_RECORD_HEAD, HZ_LINK_MAX_FRAME - HZ_RECORD_HEAD, &d);

    return record(frame, VIRTIO_HZ_R_DECLARATION, (uint8_t *)subject, strlen(subject), body);
}

/* No board has a hundred thousand entries: whoever says so isn't heard on. */
static void test_hoard(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzVm *vm = kit_vm(f->kit, "A");
    uint8_t frame[HZ_LINK_MAX_FRAME];
    unsigned i;

    connect_up(f);
    for (i = 0; i < 1000 && f->device->fd >= 0; i++) {
        device_write(f->device, frame, forged_declaration(frame, i));
    }
    WAIT(f->device->closed);
    g_assert_cmpuint(vm->decls->len, <=, 2 * VIRTIO_HZ_MAX_DECLARATIONS);
    connect_up(f);
    for (i = 0; i < 1000 && f->device->fd >= 0; i++) {
        device_write(f->device, frame, forged_notice(frame, i, VIRTIO_HZ_STATE_SCHEDULED));
    }
    WAIT(f->device->closed);
    g_assert_cmpuint(vm->notices->len, <=, 2 * VIRTIO_HZ_MAX_NOTICES);
    /* closed ones are forgotten as they come */
    connect_up(f);
    for (i = 0; i < 1000 && f->device->fd >= 0; i++) {
        device_write(f->device, frame, forged_notice(frame, 5000 + i,
                                                     VIRTIO_HZ_STATE_COMPLETED));
    }
    WAIT(vm->counters.frames_in > 1000);
    g_assert_cmpuint(vm->notices->len, <=, 200);
}

/* What it can cause at will isn't written at will. */
static void test_chatter(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzVm *vm = kit_vm(f->kit, "A");
    unsigned sessions;

    connect_up(f);
    sessions = f->device->sessions;
    for (unsigned i = 0; i < 600; i++) {
        device_runstate(f->device, i % 2 ? HZ_RUN_RUNNING : HZ_RUN_PAUSED);
        device_hello(f->device);
        WAIT(f->device->sessions > sessions + i);
    }
    WAIT(vm->counters.sessions >= 600);
    g_assert_cmpuint(kit_audited(f->kit, "link", NULL), <, 300);
}

/* One that doesn't read makes nothing grow: the ledger keeps one mark an entry. */
static void test_deaf(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    const HzNotifySpec spec = {
        .kind = HZ_KIND_RECLAIM, .key = "k", .state = -1, .ack = -1, .confidence = -1,
        .has_deadline = TRUE, .deadline_ns = 3600 * HZ_SEC, .revise = TRUE,
    };
    uint8_t id[16];
    struct hz_notice n;

    connect_up(f);
    f->device->deaf = TRUE;
    for (unsigned i = 0; i < 5000; i++) {
        json_object_unref(ask_notify(f->kit, &spec, "A", id));
    }
    g_assert_cmpuint(kit_vm(f->kit, "A")->notices->len, ==, 1);
    /* it reads again, from the start of a new session: the newest is there */
    f->device->deaf = FALSE;
    connect_up(f);
    WAIT(guest_notice(f->device, id, &n) && n.revision == 5000);
}

/* -- two links ---------------------------------------------------------- */

static void test_supersede(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzVm *vm = kit_vm(f->kit, "A");
    Device *target = device_new();
    uint8_t state[HZ_BOARD_STATE_MAX];
    struct hz_board_loaded how = { .reason = VIRTIO_HZ_WHY_MIGRATE };
    const char *why;
    int len;

    guest_declare(f->device, "vm", "max-pause", "250ms", NULL);
    connect_up(f);
    /* incoming: connected, silent */
    device_connect(target, f->kit, "A");
    WAIT(vm->links->len == 2);
    g_assert_true(vm->synced);
    /* the source stops, the state is loaded, the target runs */
    device_runstate(f->device, HZ_RUN_PAUSED);
    len = hz_board_save(f->device->board, state, sizeof(state));
    g_assert_cmpint(len, >, 0);
    g_assert_cmpint(hz_board_load(target->board, state, (size_t)len, &how, &why), ==, 0);
    device_hello(target);
    WAIT(target->welcomed && vm->synced);
    g_assert_cmpuint(vm->hello.disruption, ==, 2);
    g_assert_nonnull(hz_vm_decl(vm, "vm"));
    /* it failed after all: the target ends, the source runs again and says HELLO */
    device_disconnect(target);
    f->device->run_state = HZ_RUN_RUNNING;
    if (f->device->fd < 0) {
        device_connect(f->device, f->kit, "A");
    }
    device_hello(f->device);
    WAIT(vm->synced && vm->hello.disruption == 1);
    device_free(target);
}

/* A source that is stopped doesn't win over the running one by saying HELLO later. */
static void test_running_wins(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzVm *vm = kit_vm(f->kit, "A");
    Device *other = device_new();

    connect_up(f);
    other->run_state = HZ_RUN_PAUSED;
    device_connect(other, f->kit, "A");
    device_hello(other);
    WAIT(vm->links->len == 2);
    kit_spin(200);
    g_assert_false(other->welcomed);
    g_assert_cmpuint(vm->session, ==, 1);
    /* when the running one goes, it is heard */
    device_disconnect(f->device);
    WAIT(other->welcomed && vm->synced);
    g_assert_cmpuint(vm->run_state, ==, HZ_RUN_PAUSED);
    device_free(other);
}

static void test_second_instance(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(GError) error = NULL;
    HzConfig *config = hz_config_load(f->kit->config, &error);

    g_assert_no_error(error);
    g_assert_null(hz_host_new(config, &error));
    g_assert_nonnull(strstr(error->message, "another program listens there"));
    connect_up(f);
}

#define ADD(name, func) g_test_add("/link/" name, Fixture, NULL, set_up, func, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
    ADD("mirror", test_mirror);
    ADD("silent", test_silent);
    ADD("garbage", test_garbage);
    ADD("record-before-welcome", test_record_before_welcome);
    ADD("half-frames", test_half_frames);
    ADD("versions", test_versions);
    ADD("uuid", test_uuid);
    ADD("stranger", test_stranger);
    ADD("stranger-first", test_stranger_first);
    ADD("identity-uid", test_identity_uid);
    ADD("flood", test_flood);
    ADD("hoard", test_hoard);
    ADD("chatter", test_chatter);
    ADD("deaf", test_deaf);
    ADD("supersede", test_supersede);
    ADD("running-wins", test_running_wins);
    ADD("second-instance", test_second_instance);
    return g_test_run();
}
