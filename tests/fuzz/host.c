/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host.h"

#include "core/wire.h"
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* As in the configuration. */
static const uint8_t vm_a[16] = { 0xaa, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01 };
static const uint8_t vm_b[16] = { 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02 };

static char *dir, *config_path;

static const char config_text[] =
    "[host]\n"
    "mode=enforce\n"
    "run-dir=%s/run\n"
    "state-dir=%s/state\n"
    "audit=%s/audit.jsonl\n"
    "[uplink up0]\n"
    "capacity=80Mbit\n"
    "[actuator vnic]\n"
    "mode=enforce\n"
    "[vm A]\n"
    "uuid=aa000000-0000-0000-0000-000000000001\n"
    "tenant=t1\n"
    "identity=socket\n"
    "[vm A nic/0]\n"
    "ifname=tapA0\n"
    "uplink=up0\n"
    "net-min=40Mbit\n"
    "[vm B]\n"
    "uuid=bb000000-0000-0000-0000-000000000002\n"
    "tenant=t2\n"
    "identity=socket\n"
    "[vm B nic/0]\n"
    "ifname=tapB0\n"
    "uplink=up0\n";

static void remove_tree(const char *path)
{
    GDir *d = g_dir_open(path, 0, NULL);
    const char *name;

    while (d && (name = g_dir_read_name(d))) {
        char *inner = g_build_filename(path, name, NULL);

        remove_tree(inner);
        g_free(inner);
    }
    if (d) {
        g_dir_close(d);
    }
    g_remove(path);
}

static void at_exit(void)
{
    remove_tree(dir);
}

/* hzd logs what it refuses; thousands of inputs are refused. What GLib calls critical is a bug. */
static GLogWriterOutput quiet(GLogLevelFlags level, const GLogField *fields, gsize n,
                              gpointer unused)
{
    if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) {
        g_log_writer_standard_streams(level, fields, n, unused);
        abort();
    }
    return G_LOG_WRITER_HANDLED;
}

static void set_up(void)
{
    char *text;

    g_log_set_writer_func(quiet, NULL, NULL);
    dir = g_dir_make_tmp("hz-fuzz-XXXXXX", NULL);
    CHECK(dir);
    atexit(at_exit);
    config_path = g_build_filename(dir, "hzd.conf", NULL);
    text = g_strdup_printf(config_text, dir, dir, dir);
    CHECK(g_file_set_contents(config_path, text, -1, NULL));
    g_free(text);
}

HzHost *fuzz_host_open(void)
{
    g_autoptr(GError) error = NULL;
    HzConfig *config;
    HzHost *host;

    if (!dir) {
        set_up();
    }
    config = hz_config_load(config_path, &error);
    host = config ? hz_host_new(config, &error) : NULL;
    if (!host) {
        fprintf(stderr, "hzd doesn't start: %s\n", error->message);
        abort();
    }
    return host;
}

void fuzz_host_close(HzHost *host)
{
    static const char *const left[] = { "state", "audit.jsonl", "run" };

    hz_host_free(host);
    fuzz_host_run();
    for (size_t i = 0; i < G_N_ELEMENTS(left); i++) {
        char *path = g_build_filename(dir, left[i], NULL);

        remove_tree(path);
        g_free(path);
    }
}

void fuzz_host_run(void)
{
    for (int i = 0; i < 1000 && g_main_context_iteration(NULL, FALSE); i++) {
    }
}

int fuzz_host_connect(const char *name)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(g_snprintf(a.sun_path, sizeof(a.sun_path), "%s/run/%s", dir, name) <
          (int)sizeof(a.sun_path));
    CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a)));
    CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
    fuzz_host_run();
    return fd;
}

static void drain(int fd)
{
    char thrown_away[65536];

    while (read(fd, thrown_away, sizeof(thrown_away)) > 0) {
    }
}

void fuzz_host_send(int fd, const void *data, size_t size)
{
    const uint8_t *p = data;

    while (size) {
        ssize_t n = send(fd, p, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN) {
            break;      /* hzd has closed it: its right */
        }
        p += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
        fuzz_host_run();
        drain(fd);
    }
    fuzz_host_run();
    drain(fd);
}

/* -- devices ---------------------------------------------------------------- */

static size_t hello(uint8_t *buf, size_t cap, const uint8_t vm[16])
{
    struct hz_hello h = {
        .magic = VIRTIO_HZ_MAGIC, .version = 1, .version_min = 1, .generation = { 1 },
        .disruption = 1, .board_version = 9, .run_state = HZ_RUN_RUNNING,
        .max_declarations = 16, .max_notices = 32, .max_doc = 1024,
    };
    int len;

    memcpy(h.vm, vm, sizeof(h.vm));
    len = hz_hello_frame(buf, cap, &h);
    CHECK(len > 0);
    return (size_t)len;
}

int fuzz_host_device(bool sync)
{
    int fd = fuzz_host_connect("vm/A.sock");
    uint8_t buf[128];

    fuzz_host_send(fd, buf, hello(buf, sizeof(buf), vm_a));
    if (sync) {
        fuzz_host_send(fd, buf, (size_t)hz_sync_frame(buf, sizeof(buf), &(struct hz_sync){ 9 }));
    }
    return fd;
}

void fuzz_host_serves(void)
{
    uint8_t buf[128], answer[HZ_HDR_LEN];
    size_t len = hello(buf, sizeof(buf), vm_b);
    int fd = fuzz_host_connect("vm/B.sock");
    struct hz_hdr h;

    CHECK(send(fd, buf, len, MSG_NOSIGNAL) == (ssize_t)len);
    fuzz_host_run();
    CHECK(recv(fd, answer, sizeof(answer), 0) == sizeof(answer));
    hz_hdr_get(answer, &h);
    CHECK(h.type == HZ_L_WELCOME);
    close(fd);
}
