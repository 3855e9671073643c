/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-hz: its link, with this test as the provider's daemon; migration,
 * with streams nobody should send; hot-plug; MMIO.
 *
 * Frames are built here by hand, from the specification and not with the
 * code under test.
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/un.h>
#include <glib/gstdio.h>
#include "libqtest.h"
#include "qemu/bswap.h"
#include "qemu/sockets.h"
#include "libqos/libqos.h"
#include "libqos/malloc-pc.h"
#include "libqos/pci-pc.h"
#include "libqos/virtio-hz.h"
#include "libqos/virtio-mmio.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_ring.h"
#if __has_include("qobject/qdict.h")
#include "qobject/qdict.h"
#else
#include "qapi/qmp/qdict.h"
#endif

/* docs/virtio-hz.md, "Link" */
#define HELLO           0x0301
#define SYNC            0x0302
#define RUNSTATE        0x0303
#define REFUSED         0x0304
#define PONG            0x0305
#define BYE             0x0306
#define WELCOME         0x0381
#define SET_NOTICE      0x0382
#define DROP_NOTICE     0x0383
#define SET_VERDICTS    0x0384
#define PING            0x0385

#define WAIT_MS 30000
#define HEAD sizeof(struct virtio_hz_hdr)
#define CONFIG(field) offsetof(struct virtio_hz_config, field)

static const char vm_uuid[] = "00112233-4455-6677-8899-aabbccddeeff";
static const char gen_a[] = "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf";
static const char gen_b[] = "b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf";
static char *dir;

/* -- a VM --------------------------------------------------------------- */

typedef struct VM {
    QTestState *qts;
    char *sock;
    QGuestAllocator alloc;
    QPCIBus *bus;
    QVirtioPCIDevice *dev;
    QHZ h;
} VM;

static char *path_of(const char *name)
{
    return g_build_filename(dir, name, NULL);
}

static char *vm_args(const char *sock, const char *props, const char *more)
{
    g_autofree char *chardev = sock ?
        g_strdup_printf("-chardev socket,id=hz0,path=%s,server=on,wait=off",
                        sock) : g_strdup("");

    return g_strdup_printf("-M pc -nodefaults -uuid %s %s %s -device "
                           "virtio-hz-pci,id=hz,addr=04.0%s%s", vm_uuid,
                           chardev, more, sock ? ",chardev=hz0" : "", props);
}

static void vm_find_device(VM *vm)
{
    QPCIAddress addr = { .devfn = QPCI_DEVFN(4, 0) };

    vm->bus = qpci_new_pc(vm->qts, NULL);
    vm->dev = virtio_pci_new(vm->bus, &addr);
    g_assert_nonnull(vm->dev);
    qvirtio_pci_device_enable(vm->dev);
}

static void vm_launch(VM *vm, const char *name, const char *props,
                      const char *more)
{
    g_autofree char *args = NULL;

    memset(vm, 0, sizeof(*vm));
    vm->sock = path_of(name);
    args = vm_args(vm->sock, props, more);
    vm->qts = qtest_init(args);
}

/* A VM whose guest has a started driver. */
static void vm_start(VM *vm, const char *name, const char *props,
                     const char *more)
{
    vm_launch(vm, name, props, more);
    pc_alloc_init(&vm->alloc, vm->qts, 0);
    vm_find_device(vm);
    qhz_start(&vm->h, vm->qts, &vm->dev->vdev, &vm->alloc, 0);
}

static void vm_stop(VM *vm)
{
    if (vm->dev) {
        qvirtio_pci_device_disable(vm->dev);
        g_free(vm->dev->pdev);
        g_free(vm->dev);
        qpci_free_pc(vm->bus);
    }
    qtest_quit(vm->qts);
    unlink(vm->sock);
    g_free(vm->sock);
}

static void qmp(VM *vm, const char *command)
{
    qtest_qmp_assert_success(vm->qts, "{'execute': %s}", command);
}

static uint64_t counter(VM *vm, const char *name)
{
    QDict *rsp = qtest_qmp(vm->qts, "{'execute': 'qom-get', 'arguments':"
                           "{'path': '/machine/peripheral/hz',"
                           " 'property': %s}}", name);
    uint64_t value = qdict_get_int(rsp, "return");

    qobject_unref(rsp);
    return value;
}

/* Wait until the guest sees the provider (not) present. */
static void vm_wait_provider(VM *vm, bool present)
{
    gint64 began = g_get_monotonic_time();

    while ((qvirtio_config_readw(vm->h.dev, CONFIG(status)) &
            VIRTIO_HZ_S_PROVIDER) != present) {
        qtest_clock_step(vm->qts, 100);
        g_assert_cmpint(g_get_monotonic_time() - began, <=, WAIT_MS * 1000);
    }
}

static uint32_t vm_declare(VM *vm, const char *subject, uint64_t value,
                           uint64_t *seq)
{
    struct virtio_hz_response rsp;
    uint8_t doc[12];
    uint32_t status;

    qhz_doc8(doc, 1, value);
    status = qhz_declare(&vm->h, subject, 0, doc, sizeof(doc), &rsp);
    if (seq) {
        *seq = le64_to_cpu(rsp.seq);
    }
    return status;
}

/* -- the peer ----------------------------------------------------------- */

static int peer_connect(VM *vm)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    gint64 began = g_get_monotonic_time();
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_strlcpy(un.sun_path, vm->sock, sizeof(un.sun_path));
    while (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0) {
        g_assert_cmpint(g_get_monotonic_time() - began, <=, WAIT_MS * 1000);
        g_usleep(1000);
    }
    return fd;
}

static void peer_write(int fd, const void *buf, size_t len)
{
    /* MSG_NOSIGNAL: the device may have hung up already, and may. */
    while (len) {
        ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

        if (n < 0) {
            return;
        }
        buf = (const uint8_t *)buf + n;
        len -= n;
    }
}

static size_t put_frame(uint8_t *f, uint16_t type, uint64_t cookie,
                        const void *body, size_t len)
{
    stl_le_p(f, HEAD + len);
    stw_le_p(f + 4, type);
    stw_le_p(f + 6, 0);
    stq_le_p(f + 8, cookie);
    if (len) {
        memmove(f + HEAD, body, len);
    }
    return HEAD + len;
}

static void peer_send(int fd, uint16_t type, uint64_t cookie, const void *body,
                      size_t len)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];

    peer_write(fd, f, put_frame(f, type, cookie, body, len));
}

static void peer_welcome(int fd)
{
    const uint8_t body[8] = { VIRTIO_HZ_VERSION };

    peer_send(fd, WELCOME, 0, body, sizeof(body));
}

/* false at the end of the stream. */
static bool peer_read(int fd, void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len) {
        struct pollfd pfd = { .fd = fd, .events = POLLIN };
        ssize_t n;

        g_assert_cmpint(poll(&pfd, 1, WAIT_MS), ==, 1);
        n = read(fd, p, len);
        if (n <= 0) {
            return false;
        }
        p += n;
        len -= n;
    }
    return true;
}

/* The type of the next frame, all of which is in @f; 0 at the end. */
static uint16_t peer_next(int fd, uint8_t *f)
{
    uint32_t len;

    if (!peer_read(fd, f, HEAD)) {
        return 0;
    }
    len = ldl_le_p(f);
    g_assert_cmpuint(len, >=, HEAD);
    g_assert_cmpuint(len, <=, VIRTIO_HZ_MAX_FRAME);
    return peer_read(fd, f + HEAD, len - HEAD) ? lduw_le_p(f + 4) : 0;
}

/* Skip to the next frame of @type. */
static void peer_expect(int fd, uint16_t type, uint8_t *f)
{
    uint16_t got;

    do {
        got = peer_next(fd, f);
        g_assert_cmphex(got, !=, 0);
    } while (got != type);
}

static bool peer_has_bytes(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    return poll(&pfd, 1, 0) == 1;
}

static void peer_expect_end(int fd)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];

    while (peer_next(fd, f)) {
        /* what was on its way */
    }
    close(fd);
}

/* Connect, and be the provider: all of the board has been read. */
static int peer_up(VM *vm)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    int fd = peer_connect(vm);

    peer_expect(fd, HELLO, f);
    peer_welcome(fd);
    peer_expect(fd, SYNC, f);
    vm_wait_provider(vm, true);
    return fd;
}

/* -- notices ------------------------------------------------------------ */

static struct virtio_hz_notice make_notice(uint8_t id, uint32_t revision,
                                           uint8_t state)
{
    return (struct virtio_hz_notice) {
        .id = { id, [15] = 0x77 },
        .cause_id = { 9 },
        .kind = cpu_to_le16(4),
        .state = state,
        .ack = VIRTIO_HZ_ACK_GATE,
        .revision = cpu_to_le32(revision),
        .not_before_ns = cpu_to_le64(VIRTIO_HZ_NS_NONE),
        .deadline_ns = cpu_to_le64(60 * 1000000000ull),
        .duration_ns = cpu_to_le64(250 * 1000000ull),
        .confidence = cpu_to_le16(1000),
    };
}

static void send_notice(int fd, uint64_t cookie, struct virtio_hz_notice n)
{
    peer_send(fd, SET_NOTICE, cookie, &n, sizeof(n));
}

/* The notice in a NOTICE record's frame. */
static struct virtio_hz_notice *notice_in(uint8_t *f)
{
    g_assert_cmphex(lduw_le_p(f + 4), ==, VIRTIO_HZ_R_NOTICE);
    return (void *)(f + sizeof(struct virtio_hz_record));
}

static void expect_refused(int fd, uint64_t cookie, uint16_t type,
                           uint32_t status)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];

    peer_expect(fd, REFUSED, f);
    g_assert_cmpuint(ldl_le_p(f), ==, HEAD + 8);
    g_assert_cmpuint(ldq_le_p(f + 8), ==, cookie);
    g_assert_cmpuint(ldl_le_p(f + HEAD), ==, status);
    g_assert_cmphex(lduw_le_p(f + HEAD + 4), ==, type);
}

/* -- tests: the session ------------------------------------------------- */

static void test_hello(void)
{
    const uint8_t uuid[] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                             0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    int fd;
    VM vm;

    vm_start(&vm, "a", ",declarations=3,notices=5,doc-size=128,"
             "generation=a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", "-S");
    fd = peer_connect(&vm);
    qmp(&vm, "query-status");
    qmp(&vm, "query-status");
    g_assert_false(peer_has_bytes(fd));
    qmp(&vm, "cont");

    g_assert_cmphex(peer_next(fd, f), ==, HELLO);
    g_assert_cmpuint(ldl_le_p(f), ==, HEAD + 72);
    g_assert_cmphex(ldl_le_p(f + HEAD), ==, VIRTIO_HZ_MAGIC);
    g_assert_cmpuint(lduw_le_p(f + HEAD + 4), ==, VIRTIO_HZ_VERSION);
    g_assert_cmpuint(lduw_le_p(f + HEAD + 6), ==, VIRTIO_HZ_VERSION_MIN);
    g_assert_cmpmem(f + HEAD + 8, 16, uuid, 16);
    g_assert_cmphex(f[HEAD + 24], ==, 0xa0);
    g_assert_cmphex(f[HEAD + 39], ==, 0xaf);
    g_assert_cmpuint(ldq_le_p(f + HEAD + 40), ==, 1);   /* disruption */
    g_assert_cmpuint(lduw_le_p(f + HEAD + 56), ==, 1);  /* running */
    g_assert_cmpuint(lduw_le_p(f + HEAD + 58), ==, 3);
    g_assert_cmpuint(lduw_le_p(f + HEAD + 60), ==, 5);
    g_assert_cmpuint(lduw_le_p(f + HEAD + 62), ==, 128);
    g_assert_cmpuint(ldq_le_p(f + HEAD + 64), ==, 0);

    /* Silent until WELCOME, whatever the guest does. */
    g_assert_cmpuint(vm_declare(&vm, "vm", 1, NULL), ==, VIRTIO_HZ_OK);
    qmp(&vm, "query-status");
    g_assert_false(peer_has_bytes(fd));
    g_assert_cmpuint(counter(&vm, "link-sessions"), ==, 0);
    qvirtio_config_readw(vm.h.dev, CONFIG(status));
    peer_welcome(fd);
    peer_expect(fd, VIRTIO_HZ_R_STATUS, f);
    g_assert_cmphex(lduw_le_p(f + 6), ==, VIRTIO_HZ_REC_FULL);
    peer_expect(fd, VIRTIO_HZ_R_DECLARATION, f);
    g_assert_cmpstr((char *)f + HEAD + 16, ==, "vm");
    peer_expect(fd, SYNC, f);
    qvirtio_wait_config_isr(vm.h.dev, QHZ_WAIT_US);
    vm_wait_provider(&vm, true);
    g_assert_cmpuint(counter(&vm, "link-sessions"), ==, 1);

    /* A change is told, and a PING answered, by cookie. */
    g_assert_cmpuint(vm_declare(&vm, "vm", 2, NULL), ==, VIRTIO_HZ_OK);
    peer_expect(fd, VIRTIO_HZ_R_DECLARATION, f);
    peer_send(fd, PING, 0xabcdef, NULL, 0);
    peer_expect(fd, PONG, f);
    g_assert_cmphex(ldq_le_p(f + 8), ==, 0xabcdef);

    close(fd);
    vm_wait_provider(&vm, false);
    close(peer_up(&vm));
    g_assert_cmpuint(counter(&vm, "link-sessions"), ==, 2);
    vm_stop(&vm);
}

static void test_half_frames(void)
{
    struct virtio_hz_notice n = make_notice(1, 1, VIRTIO_HZ_STATE_SCHEDULED);
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    size_t len;
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    fd = peer_up(&vm);
    len = put_frame(f, SET_NOTICE, 7, &n, sizeof(n));
    for (size_t i = 0; i < len; i++) {
        peer_write(fd, f + i, 1);
    }
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    /* Three frames and a bit in one write. */
    len = put_frame(f, PING, 1, NULL, 0);
    len += put_frame(f + len, PING, 2, NULL, 0);
    len += put_frame(f + len, PING, 3, NULL, 0);
    put_frame(f + len, PING, 4, NULL, 0);
    peer_write(fd, f, len + 5);
    for (int i = 1; i <= 3; i++) {
        peer_expect(fd, PONG, f);
        g_assert_cmpuint(ldq_le_p(f + 8), ==, i);
    }
    /* The rest never comes; the next connection isn't fed it. */
    close(fd);
    vm_wait_provider(&vm, false);
    close(peer_up(&vm));
    g_assert_cmpuint(counter(&vm, "refusals"), ==, 0);
    g_assert_cmpuint(counter(&vm, "standing-notices"), ==, 1);
    vm_stop(&vm);
}

typedef struct Broken {
    const char *what;
    bool early;                 /* sent in place of WELCOME */
    uint32_t len;
    uint16_t type;
    uint8_t body;               /* its first byte */
    uint32_t sent;              /* bytes really sent */
} Broken;

static const Broken broken[] = {
    { "a length below a header", false, 15, PING, 0, 16 },
    { "a length of zero", false, 0, PING, 0, 16 },
    { "a length above the longest", false, 4097, SET_NOTICE, 0, 16 },
    { "an enormous length", false, 0xffffffff, SET_NOTICE, 0, 16 },
    { "an unknown type", false, 16, 0x0386, 0, 16 },
    { "a type of the device's", false, 24, RUNSTATE, 0, 24 },
    { "a request", false, 16, VIRTIO_HZ_T_READ, 0, 16 },
    { "a record", false, 64, VIRTIO_HZ_R_STATUS, 0, 64 },
    { "a second WELCOME", false, 24, WELCOME, 1, 24 },
    { "a PING with a body", false, 24, PING, 0, 24 },
    { "a PING before WELCOME", true, 16, PING, 0, 16 },
    { "WELCOME to version 0", true, 24, WELCOME, 0, 24 },
    { "WELCOME to version 2", true, 24, WELCOME, 2, 24 },
    { "a short WELCOME", true, 18, WELCOME, 1, 18 },
    { "a long WELCOME", true, 32, WELCOME, 1, 32 },
};

static void test_broken(void)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    g_assert_cmpuint(vm_declare(&vm, "vm", 1, NULL), ==, VIRTIO_HZ_OK);
    for (int i = 0; i < ARRAY_SIZE(broken); i++) {
        uint64_t refusals = counter(&vm, "refusals");
        uint8_t bad[64] = { 0 };

        g_test_message("%s", broken[i].what);
        if (broken[i].early) {
            fd = peer_connect(&vm);
            peer_expect(fd, HELLO, f);
        } else {
            fd = peer_up(&vm);
        }
        put_frame(bad, broken[i].type, 1, NULL, 0);
        stl_le_p(bad, broken[i].len);
        bad[HEAD] = broken[i].body;
        peer_write(fd, bad, broken[i].sent);
        peer_expect_end(fd);
        vm_wait_provider(&vm, false);
        g_assert_cmpuint(counter(&vm, "refusals"), ==, refusals + 1);
        /* The guest notices nothing but that. */
        g_assert_cmpuint(vm_declare(&vm, "vm", i, NULL), ==, VIRTIO_HZ_OK);
    }
    vm_stop(&vm);
}

/* -- tests: notices and verdicts ---------------------------------------- */

static void test_notice(void)
{
    struct virtio_hz_notice n = make_notice(1, 1, VIRTIO_HZ_STATE_SCHEDULED);
    uint8_t f[VIRTIO_HZ_MAX_FRAME], doc[12];
    struct virtio_hz_record *rec = (void *)f;
    struct virtio_hz_notice *got;
    uint64_t left;
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    qhz_post_events(&vm.h, 8, VIRTIO_HZ_MAX_FRAME);
    fd = peer_up(&vm);
    qhz_drain(&vm.h);
    send_notice(fd, 1, n);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpmem(notice_in(f)->id, 16, n.id, 16);

    /* The guest is rung, and told what remains of the 60 s. */
    qhz_bell(&vm.h, f, sizeof(f));
    g_assert_cmpmem(rec->key, 16, n.id, 16);
    got = notice_in(f);
    left = le64_to_cpu(got->deadline_ns);
    g_assert_cmpuint(left, <=, 60 * 1000000000ull);
    g_assert_cmpuint(left, >, 0);
    g_assert_cmpuint(le64_to_cpu(got->not_before_ns), ==, VIRTIO_HZ_NS_NONE);
    g_assert_cmpuint(le64_to_cpu(got->duration_ns), ==, 250 * 1000000);
    g_assert_cmpmem(got->cause_id, 16, n.cause_id, 16);

    /* Replies come to the provider beside the notice. */
    g_assert_cmpuint(qhz_reply(&vm.h, n.id, 1, VIRTIO_HZ_REPLY_SEEN, 0, NULL,
                               0), ==, VIRTIO_HZ_OK);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmphex(le32_to_cpu(notice_in(f)->replied), ==,
                    1 << VIRTIO_HZ_REPLY_SEEN);
    g_assert_cmpuint(qhz_reply(&vm.h, n.id, 1, VIRTIO_HZ_REPLY_EXTEND,
                               5000000000, NULL, 0), ==, VIRTIO_HZ_OK);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(le16_to_cpu(notice_in(f)->reply), ==,
                     VIRTIO_HZ_REPLY_EXTEND);
    g_assert_cmpuint(le64_to_cpu(notice_in(f)->reply_arg), ==, 5000000000);
    qhz_doc8(doc, 3, 99);
    g_assert_cmpuint(qhz_reply(&vm.h, n.id, 1, VIRTIO_HZ_REPLY_COUNTER, 0, doc,
                               12), ==, VIRTIO_HZ_OK);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(le16_to_cpu(notice_in(f)->reply_doc_len), ==, 12);
    g_assert_cmpmem(notice_in(f) + 1, 12, doc, 12);
    g_assert_cmpuint(qhz_reply(&vm.h, n.id, 2, VIRTIO_HZ_REPLY_SEEN, 0, NULL,
                               0), ==, VIRTIO_HZ_E_VOID);

    /* A new revision clears the replies; a closed notice takes none. */
    send_notice(fd, 2, make_notice(1, 2, VIRTIO_HZ_STATE_SCHEDULED));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmphex(le32_to_cpu(notice_in(f)->replied), ==, 0);
    send_notice(fd, 3, make_notice(1, 2, VIRTIO_HZ_STATE_COMPLETED));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(qhz_reply(&vm.h, n.id, 2, VIRTIO_HZ_REPLY_SEEN, 0, NULL,
                               0), ==, VIRTIO_HZ_E_VOID);

    /* A driver's reset forgets replies and keeps notices. */
    send_notice(fd, 4, make_notice(2, 1, VIRTIO_HZ_STATE_SCHEDULED));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    n = make_notice(2, 1, 0);
    g_assert_cmpuint(qhz_reply(&vm.h, n.id, 1, VIRTIO_HZ_REPLY_PREPARED, 0,
                               NULL, 0), ==, VIRTIO_HZ_OK);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    qhz_restart(&vm.h);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmphex(le32_to_cpu(notice_in(f)->replied), ==, 0);
    peer_expect(fd, VIRTIO_HZ_R_STATUS, f);
    g_assert_cmpuint(counter(&vm, "standing-notices"), ==, 2);

    peer_send(fd, DROP_NOTICE, 5, n.id, sizeof(n.id));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmphex(lduw_le_p(f + 6), ==, VIRTIO_HZ_REC_GONE);
    close(fd);
    vm_stop(&vm);
}

static void test_verdicts(void)
{
    uint8_t body[48 + 16] = "nic/0";
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    const struct virtio_hz_declaration *d =
        (void *)(f + sizeof(struct virtio_hz_record));
    const struct virtio_hz_verdict *v = (void *)((uint8_t *)(d + 1) + 16);
    uint64_t seq, refusals;
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    g_assert_cmpuint(vm_declare(&vm, "nic/0", 5, &seq), ==, VIRTIO_HZ_OK);
    qhz_post_events(&vm.h, 8, VIRTIO_HZ_MAX_FRAME);
    fd = peer_up(&vm);
    qhz_drain(&vm.h);
    refusals = counter(&vm, "refusals");
    stq_le_p(body + 32, seq);
    stw_le_p(body + 40, 1);
    stw_le_p(body + 48, 1);
    body[50] = VIRTIO_HZ_VERDICT_CLAMPED;
    body[51] = VIRTIO_HZ_REASON_ENTITLEMENT;
    stq_le_p(body + 56, 4);
    peer_send(fd, SET_VERDICTS, 1, body, sizeof(body));
    peer_expect(fd, VIRTIO_HZ_R_DECLARATION, f);
    qhz_bell(&vm.h, f, sizeof(f));
    g_assert_cmpuint(le64_to_cpu(d->verdict_seq), ==, seq);
    g_assert_cmpuint(le16_to_cpu(d->verdicts), ==, 1);
    g_assert_cmpuint(v->code, ==, VIRTIO_HZ_VERDICT_CLAMPED);
    g_assert_cmpuint(le64_to_cpu(v->value), ==, 4);

    stq_le_p(body + 32, seq + 1);
    peer_send(fd, SET_VERDICTS, 2, body, sizeof(body));
    expect_refused(fd, 2, SET_VERDICTS, VIRTIO_HZ_E_STALE);
    body[0] = 'x';
    peer_send(fd, SET_VERDICTS, 3, body, sizeof(body));
    expect_refused(fd, 3, SET_VERDICTS, VIRTIO_HZ_E_NOENT);
    stw_le_p(body + 40, 2);     /* one more than there are */
    peer_send(fd, SET_VERDICTS, 4, body, sizeof(body));
    expect_refused(fd, 4, SET_VERDICTS, VIRTIO_HZ_E_INVAL);
    stw_le_p(body + 40, 1);
    body[50] = VIRTIO_HZ_VERDICT_MAX + 1;
    peer_send(fd, SET_VERDICTS, 5, body, sizeof(body));
    expect_refused(fd, 5, SET_VERDICTS, VIRTIO_HZ_E_INVAL);
    g_assert_cmpuint(counter(&vm, "refusals"), ==, refusals + 4);
    close(fd);
    vm_stop(&vm);
}

static void test_refused(void)
{
    struct virtio_hz_notice n = make_notice(1, 1, VIRTIO_HZ_STATE_SCHEDULED);
    uint8_t f[VIRTIO_HZ_MAX_FRAME], id[16] = { 0xee };
    uint8_t big[sizeof(n) + 72] = { 0 };
    int fd;
    VM vm;

    vm_start(&vm, "a", ",notices=4,doc-size=64", "");
    fd = peer_up(&vm);
    peer_send(fd, DROP_NOTICE, 1, id, sizeof(id));
    expect_refused(fd, 1, DROP_NOTICE, VIRTIO_HZ_E_NOENT);
    peer_send(fd, DROP_NOTICE, 2, id, 8);
    expect_refused(fd, 2, DROP_NOTICE, VIRTIO_HZ_E_INVAL);
    peer_send(fd, SET_NOTICE, 3, &n, sizeof(n) - 8);
    expect_refused(fd, 3, SET_NOTICE, VIRTIO_HZ_E_INVAL);
    send_notice(fd, 4, make_notice(1, 0, VIRTIO_HZ_STATE_SCHEDULED));
    expect_refused(fd, 4, SET_NOTICE, VIRTIO_HZ_E_INVAL);
    send_notice(fd, 5, make_notice(1, 1, VIRTIO_HZ_STATE_MAX + 1));
    expect_refused(fd, 5, SET_NOTICE, VIRTIO_HZ_E_INVAL);
    /* A document of 68 bytes where 64 is the limit. */
    n.doc_len = cpu_to_le16(68);
    memcpy(big, &n, sizeof(n));
    stw_le_p(big + sizeof(n), 1);
    stw_le_p(big + sizeof(n) + 2, 64);
    peer_send(fd, SET_NOTICE, 6, big, sizeof(big));
    expect_refused(fd, 6, SET_NOTICE, VIRTIO_HZ_E_TOOBIG);
    /* A flag nobody knows. */
    put_frame(f, PING, 7, NULL, 0);
    stw_le_p(f + 6, 1);
    peer_write(fd, f, HEAD);
    expect_refused(fd, 7, PING, VIRTIO_HZ_E_UNSUPP);
    /* Four open ones fill the table; a closed one makes room. */
    for (int i = 1; i <= 5; i++) {
        send_notice(fd, 10 + i, make_notice(i, 1, VIRTIO_HZ_STATE_SCHEDULED));
    }
    expect_refused(fd, 15, SET_NOTICE, VIRTIO_HZ_E_NOSPC);
    send_notice(fd, 20, make_notice(2, 1, VIRTIO_HZ_STATE_CANCELLED));
    send_notice(fd, 21, make_notice(5, 1, VIRTIO_HZ_STATE_SCHEDULED));
    send_notice(fd, 22, make_notice(1, 1, VIRTIO_HZ_STATE_ADVISED));
    expect_refused(fd, 22, SET_NOTICE, VIRTIO_HZ_E_VOID);
    g_assert_cmpuint(counter(&vm, "standing-notices"), ==, 4);
    g_assert_cmpuint(counter(&vm, "refusals"), ==, 9);
    close(fd);
    vm_stop(&vm);
}

/* Frames of the right shape and of any content; --seed repeats them. */
static void test_random(void)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME], body[1400];
    unsigned refused = 0;
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    g_assert_cmpuint(vm_declare(&vm, "vm", 1, NULL), ==, VIRTIO_HZ_OK);
    fd = peer_up(&vm);
    for (int i = 1; i <= 2000; i++) {
        size_t len = g_test_rand_int_range(0, sizeof(body));
        struct virtio_hz_notice n = make_notice(g_test_rand_int_range(0, 60),
                                                g_test_rand_int_range(0, 4),
                                                g_test_rand_int_range(0, 7));
        uint16_t got;

        for (size_t j = 0; j < len; j++) {
            body[j] = g_test_rand_int_range(0, 4) ? 0 : g_test_rand_int();
        }
        if (g_test_rand_int_range(0, 2)) {
            len = sizeof(n);
            memcpy(body, &n, len);
            body[g_test_rand_int_range(0, len)] ^= 1 << (i % 8);
        }
        peer_send(fd, g_test_rand_int_range(SET_NOTICE, PING), i, body, len);
        peer_send(fd, PING, i, NULL, 0);
        do {
            got = peer_next(fd, f);
            g_assert_cmphex(got, !=, 0);
            refused += got == REFUSED;
        } while (got != PONG);
        g_assert_cmpuint(ldq_le_p(f + 8), ==, i);
    }
    g_assert_cmpuint(counter(&vm, "refusals"), ==, refused);
    g_assert_cmpuint(counter(&vm, "standing-notices"), <=,
                     VIRTIO_HZ_MAX_NOTICES);
    close(fd);
    vm_wait_provider(&vm, false);
    /* The board is one that can be told, from the start. */
    close(peer_up(&vm));
    vm_stop(&vm);
}

/* -- tests: run state and stalls ---------------------------------------- */

static void test_runstate(void)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    const struct virtio_hz_status *s =
        (void *)(f + sizeof(struct virtio_hz_record));
    uint64_t before, after;
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    fd = peer_up(&vm);
    send_notice(fd, 1, make_notice(1, 1, VIRTIO_HZ_STATE_STARTED));
    send_notice(fd, 1, make_notice(2, 1, VIRTIO_HZ_STATE_COMPLETED));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    before = le64_to_cpu(notice_in(f)->deadline_ns);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    qmp(&vm, "stop");
    peer_expect(fd, RUNSTATE, f);
    g_assert_cmpuint(ldl_le_p(f), ==, HEAD + 8);
    g_assert_cmpuint(ldq_le_p(f + HEAD), ==, 0);
    /* Notices are taken while it stands still, and told on. */
    send_notice(fd, 1, make_notice(3, 1, VIRTIO_HZ_STATE_SCHEDULED));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    qmp(&vm, "cont");
    peer_expect(fd, RUNSTATE, f);
    g_assert_cmpuint(ldq_le_p(f + HEAD), ==, 1);
    peer_expect(fd, VIRTIO_HZ_R_STATUS, f);
    g_assert_cmpuint(le16_to_cpu(s->reason), ==, VIRTIO_HZ_WHY_PAUSE);
    g_assert_cmpuint(le64_to_cpu(s->pause_ns), >, 0);
    /* Open notices are told again with what is left now. */
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(notice_in(f)->id[0], ==, 1);
    after = le64_to_cpu(notice_in(f)->deadline_ns);
    g_assert_cmpuint(after, <=, before - le64_to_cpu(s->pause_ns) / 2);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(notice_in(f)->id[0], ==, 3);
    close(fd);
    vm_stop(&vm);
}

/* Before WELCOME the run state is told by another HELLO. */
static void test_hello_again(void)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    fd = peer_connect(&vm);
    peer_expect(fd, HELLO, f);
    g_assert_cmpuint(lduw_le_p(f + HEAD + 56), ==, 1);
    qmp(&vm, "stop");
    g_assert_cmphex(peer_next(fd, f), ==, HELLO);
    g_assert_cmpuint(lduw_le_p(f + HEAD + 56), ==, 0);
    /* Both are answered: the second WELCOME is no offence here. */
    peer_welcome(fd);
    peer_welcome(fd);
    peer_expect(fd, SYNC, f);
    qmp(&vm, "cont");
    peer_expect(fd, RUNSTATE, f);
    g_assert_cmpuint(lduw_le_p(f + HEAD), ==, 1);
    vm_wait_provider(&vm, true);
    g_assert_cmpuint(counter(&vm, "link-sessions"), ==, 1);
    close(fd);
    vm_stop(&vm);
}

/* The child: a provider that reads on until field 1 of "vm" is @last. */
static void sleepy_provider(VM *vm, int ready, uint64_t last)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    const size_t doc = sizeof(struct virtio_hz_record) +
                       sizeof(struct virtio_hz_declaration);
    int fd = peer_connect(vm), frames = 0;

    peer_expect(fd, HELLO, f);
    peer_welcome(fd);
    peer_expect(fd, SYNC, f);
    g_assert_cmpint(write(ready, "", 1), ==, 1);
    do {
        peer_expect(fd, VIRTIO_HZ_R_DECLARATION, f);
        frames++;
    } while (ldq_le_p(f + doc + 4) != last);
    _exit(frames < last ? 0 : 1);
}

/* hzd under SIGSTOP changes nothing for a guest that floods. */
static void test_sigstop(void)
{
    const uint64_t last = 3000;
    uint8_t doc[VIRTIO_HZ_MAX_DOC] = { 0 };
    int ready[2], status;
    char c;
    pid_t pid;
    VM vm;

    vm_start(&vm, "a", "", "");
    g_assert_cmpint(pipe(ready), ==, 0);
    pid = fork();
    if (!pid) {
        sleepy_provider(&vm, ready[1], last);
    }
    g_assert_cmpint(read(ready[0], &c, 1), ==, 1);
    kill(pid, SIGSTOP);
    g_assert_cmpint(waitpid(pid, &status, WUNTRACED), ==, pid);
    g_assert_true(WIFSTOPPED(status));
    /* 3000 documents of 1 KiB are far more than any socket buffer. */
    qhz_doc8(doc, 1, 0);
    stw_le_p(doc + 12, 2);
    stw_le_p(doc + 14, sizeof(doc) - 16);
    for (uint64_t i = 1; i <= last; i++) {
        stq_le_p(doc + 4, i);
        g_assert_cmpuint(qhz_declare(&vm.h, "vm", 0, doc, sizeof(doc), NULL),
                         ==, VIRTIO_HZ_OK);
    }
    kill(pid, SIGCONT);
    /* It wakes, sees the last one, and has seen fewer than there were. */
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    close(ready[0]);
    close(ready[1]);
    vm_stop(&vm);
}

/* A provider that asks without end and never listens. */
static void test_ping_flood(void)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    uint64_t sent = 0;
    size_t len = put_frame(f, PING, 1, NULL, 0);
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    fd = peer_up(&vm);
    while (sent < 100000) {
        struct pollfd pfd = { .fd = fd, .events = POLLOUT };

        if (poll(&pfd, 1, 0) != 1) {
            /* Full: is it for good? The device has had its turns by then. */
            for (int i = 0; i < 20; i++) {
                g_assert_cmpuint(vm_declare(&vm, "vm", i, NULL), ==,
                                 VIRTIO_HZ_OK);
            }
            if (poll(&pfd, 1, 0) != 1) {
                break;
            }
        }
        stq_le_p(f + 8, ++sent);
        peer_write(fd, f, len);
    }
    g_assert_cmpuint(vm_declare(&vm, "vm", 777, NULL), ==, VIRTIO_HZ_OK);
    for (uint64_t i = 1; i <= sent; i++) {
        peer_expect(fd, PONG, f);
        g_assert_cmpuint(ldq_le_p(f + 8), ==, i);
    }
    close(fd);
    vm_stop(&vm);
}

/* -- tests: migration --------------------------------------------------- */

static void vm_save(VM *vm, const char *file)
{
    g_autofree char *uri = g_strdup_printf("exec:cat > %s", file);
    gint64 began = g_get_monotonic_time();
    bool done = false;

    qtest_qmp_assert_success(vm->qts, "{'execute': 'migrate', 'arguments':"
                             " {'uri': %s}}", uri);
    while (!done) {
        QDict *rsp = qtest_qmp(vm->qts, "{'execute': 'query-migrate'}");
        const char *status = qdict_get_try_str(qdict_get_qdict(rsp, "return"),
                                               "status");

        g_assert_cmpstr(status, !=, "failed");
        done = !g_strcmp0(status, "completed");
        qobject_unref(rsp);
        g_assert_cmpint(g_get_monotonic_time() - began, <=, WAIT_MS * 1000);
        g_usleep(1000);
    }
}

/* A VM that goes on from @file; its guest is @from's driver, queues and all. */
static void vm_restore(VM *vm, const char *name, const char *props,
                       const char *file, VM *from)
{
    g_autofree char *more = g_strdup_printf("-S -incoming 'exec:cat %s'",
                                            file);
    gint64 began = g_get_monotonic_time();
    QVirtQueuePCI *rq, *eq;
    bool done = false;

    vm_launch(vm, name, props, more);
    while (!done) {
        QDict *rsp = qtest_qmp(vm->qts, "{'execute': 'query-status'}");
        const char *status = qdict_get_str(qdict_get_qdict(rsp, "return"),
                                           "status");

        done = strcmp(status, "inmigrate") != 0;
        qobject_unref(rsp);
        g_assert_cmpint(g_get_monotonic_time() - began, <=, WAIT_MS * 1000);
        g_usleep(1000);
    }
    vm_find_device(vm);
    vm->dev->vdev.features = from->dev->vdev.features;
    vm->dev->vdev.features_negotiated = true;
    rq = g_memdup2(container_of(from->h.rq, QVirtQueuePCI, vq), sizeof(*rq));
    eq = g_memdup2(container_of(from->h.eq, QVirtQueuePCI, vq), sizeof(*eq));
    vm->h = from->h;
    vm->h.qts = vm->qts;
    vm->h.dev = &vm->dev->vdev;
    vm->h.rq = &rq->vq;
    vm->h.eq = &eq->vq;
    vm->h.rq->vdev = vm->h.eq->vdev = vm->h.dev;
}

/* A saved VM with a declaration, an open notice replied to, a closed one. */
static int save_full(VM *vm, const char *props, const char *file,
                     uint64_t *seq)
{
    struct virtio_hz_notice n = make_notice(1, 1, 0);
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    int fd;

    vm_start(vm, "a", props, "");
    fd = peer_up(vm);
    g_assert_cmpuint(vm_declare(vm, "nic/0", 5, NULL), ==, VIRTIO_HZ_OK);
    g_assert_cmpuint(vm_declare(vm, "vm", 6, seq), ==, VIRTIO_HZ_OK);
    send_notice(fd, 1, make_notice(1, 1, VIRTIO_HZ_STATE_SCHEDULED));
    send_notice(fd, 1, make_notice(2, 1, VIRTIO_HZ_STATE_COMPLETED));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(qhz_reply(&vm->h, n.id, 1, VIRTIO_HZ_REPLY_SEEN, 0, NULL,
                               0), ==, VIRTIO_HZ_OK);
    qhz_post_events(&vm->h, 8, VIRTIO_HZ_MAX_FRAME);
    qhz_drain(&vm->h);
    vm_save(vm, file);
    return fd;
}

static void test_migrate(void)
{
    struct virtio_hz_notice n = make_notice(1, 1, 0);
    uint8_t f[VIRTIO_HZ_MAX_FRAME], out[VIRTIO_HZ_MAX_RESPONSE];
    struct virtio_hz_record *rec = (void *)f;
    const struct virtio_hz_status *s = (void *)(rec + 1);
    struct virtio_hz_response *rsp = (void *)out;
    struct virtio_hz_read cursor = { 0 };
    g_autofree char *file = path_of("state");
    uint64_t seq, next;
    int fd_a, fd_b;
    VM a, b;

    fd_a = save_full(&a, "", file, &seq);
    vm_restore(&b, "b", "", file, &a);
    /* Standby: a connection before it runs is silent. */
    fd_b = peer_connect(&b);
    qmp(&b, "query-status");
    g_assert_false(peer_has_bytes(fd_b));
    qmp(&b, "cont");
    g_assert_cmphex(peer_next(fd_b, f), ==, HELLO);
    g_assert_cmpuint(ldq_le_p(f + HEAD + 40), ==, 2);

    /* The guest is rung for the disruption before anything else. */
    qhz_bell(&b.h, f, sizeof(f));
    g_assert_cmphex(le16_to_cpu(rec->hdr.type), ==, VIRTIO_HZ_R_STATUS);
    g_assert_cmphex(le16_to_cpu(rec->hdr.flags), ==, VIRTIO_HZ_REC_FULL);
    g_assert_cmpuint(le64_to_cpu(rec->disruption), ==, 2);
    g_assert_cmpuint(le16_to_cpu(s->reason), ==, VIRTIO_HZ_WHY_MIGRATE);
    g_assert_cmpuint(le16_to_cpu(s->status), ==, 0);
    g_assert_cmpuint(qvirtio_config_readq(b.h.dev, CONFIG(disruption)), ==, 2);

    /* The whole board is there. */
    cursor.disruption = cpu_to_le64(1);
    cursor.since = cpu_to_le64(1000);
    g_assert_cmpuint(qhz_read(&b.h, &cursor, out), ==, VIRTIO_HZ_OK);
    g_assert_cmphex(le16_to_cpu(qhz_record(out, 0)->hdr.flags), ==,
                    VIRTIO_HZ_REC_FULL);
    /* FULL's STATUS, STATUS in its place, two declarations, two notices */
    g_assert_cmpuint(le32_to_cpu(rsp->count), ==, 6);
    g_assert_cmpuint(counter(&b, "standing-declarations"), ==, 2);
    g_assert_cmpuint(counter(&b, "standing-notices"), ==, 2);

    /* hzd gets it too; what remains of a deadline is unknown. */
    peer_welcome(fd_b);
    do {
        peer_expect(fd_b, VIRTIO_HZ_R_NOTICE, f);
    } while (notice_in(f)->id[0] != 1);
    g_assert_cmpuint(le64_to_cpu(notice_in(f)->deadline_ns), ==,
                     VIRTIO_HZ_NS_UNKNOWN);
    g_assert_cmphex(le32_to_cpu(notice_in(f)->replied), ==,
                    1 << VIRTIO_HZ_REPLY_SEEN);
    peer_expect(fd_b, SYNC, f);

    /* Sequences go on, and replies are not void. */
    g_assert_cmpuint(qhz_withdraw(&b.h, "vm", seq, NULL), ==, VIRTIO_HZ_OK);
    g_assert_cmpuint(vm_declare(&b, "vm", 9, &next), ==, VIRTIO_HZ_OK);
    g_assert_cmpuint(next, >, seq);
    g_assert_cmpuint(qhz_reply(&b.h, n.id, 1, VIRTIO_HZ_REPLY_PREPARED, 0,
                               NULL, 0), ==, VIRTIO_HZ_OK);

    /* The source, were it to go on after all, introduces itself anew. */
    qmp(&a, "cont");
    peer_expect(fd_a, HELLO, f);
    g_assert_cmpuint(ldq_le_p(f + HEAD + 40), ==, 1);
    g_assert_cmpuint(lduw_le_p(f + HEAD + 56), ==, 1);
    /* What the ended session still had on its way means nothing. */
    peer_send(fd_a, PING, 5, NULL, 0);
    peer_welcome(fd_a);
    g_assert_cmphex(peer_next(fd_a, f), ==, VIRTIO_HZ_R_STATUS);
    peer_expect(fd_a, SYNC, f);
    g_assert_cmpuint(counter(&a, "link-sessions"), ==, 2);
    close(fd_a);
    close(fd_b);
    vm_stop(&a);
    vm_stop(&b);
}

/* Paused first and then saved: no stop tells the device that it left. */
static void test_paused_source(void)
{
    g_autofree char *file = path_of("state");
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    int fd;
    VM vm;

    vm_start(&vm, "a", "", "");
    fd = peer_up(&vm);
    qmp(&vm, "stop");
    peer_expect(fd, RUNSTATE, f);
    vm_save(&vm, file);
    qmp(&vm, "cont");
    peer_expect(fd, HELLO, f);
    peer_welcome(fd);
    peer_expect(fd, SYNC, f);
    /* A mere pause is a mere pause. */
    qmp(&vm, "stop");
    peer_expect(fd, RUNSTATE, f);
    qmp(&vm, "cont");
    g_assert_cmphex(peer_next(fd, f), ==, RUNSTATE);
    close(fd);
    vm_stop(&vm);
}

static void restore_with_generation(VM *a, const char *props, const char *file,
                                    bool keep)
{
    struct virtio_hz_notice n = make_notice(1, 1, 0);
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    const struct virtio_hz_status *s =
        (void *)(f + sizeof(struct virtio_hz_record));
    struct virtio_hz_notice *got;
    int fd;
    VM b;

    vm_restore(&b, "b", props, file, a);
    qmp(&b, "cont");
    g_assert_cmphex(qvirtio_config_readb(b.h.dev, CONFIG(generation)), ==,
                    0xb0);
    fd = peer_connect(&b);
    peer_expect(fd, HELLO, f);
    peer_welcome(fd);
    peer_expect(fd, VIRTIO_HZ_R_STATUS, f);
    g_assert_cmpuint(le16_to_cpu(s->reason), ==,
                     keep ? VIRTIO_HZ_WHY_RESTORE : VIRTIO_HZ_WHY_CLONE);
    g_assert_cmpuint(le32_to_cpu(s->resets), ==, keep ? 0 : 1);
    do {
        peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
        got = notice_in(f);
    } while (got->id[0] != 1);
    g_assert_cmpuint(got->state, ==, VIRTIO_HZ_STATE_CANCELLED);
    g_assert_cmpuint(le16_to_cpu(got->cause), ==, VIRTIO_HZ_CAUSE_GENERATION);
    g_assert_cmphex(le32_to_cpu(got->replied), ==, 0);
    g_assert_cmpuint(qhz_reply(&b.h, n.id, 1, VIRTIO_HZ_REPLY_PREPARED, 0,
                               NULL, 0), ==, VIRTIO_HZ_E_VOID);
    g_assert_cmpuint(counter(&b, "standing-declarations"), ==, keep ? 2 : 0);
    close(fd);
    vm_stop(&b);
}

static void test_generation(void)
{
    g_autofree char *file = path_of("state");
    g_autofree char *of_a = g_strdup_printf(",generation=%s", gen_a);
    g_autofree char *keep = g_strdup_printf(",generation=%s", gen_b);
    g_autofree char *clone = g_strdup_printf(",keep-declarations=off%s", keep);
    VM a, b;

    close(save_full(&a, of_a, file, NULL));
    restore_with_generation(&a, keep, file, true);
    restore_with_generation(&a, clone, file, false);
    /* None given: the one in the stream goes on. */
    vm_restore(&b, "b", "", file, &a);
    g_assert_cmphex(qvirtio_config_readb(b.h.dev, CONFIG(generation)), ==,
                    0xa0);
    vm_stop(&b);
    vm_stop(&a);
}

/* -- tests: hostile streams --------------------------------------------- */

/* Does a QEMU with @args exit by itself, saying @why? */
static void expect_exit(const char *args, const char *what, const char *why)
{
    g_autofree char *cmd = g_strdup_printf(
        "timeout 60 %s -display none %s",
        getenv("QTEST_QEMU_BINARY"), args);
    g_autofree char *err = NULL;
    int status;

    g_assert_true(g_spawn_command_line_sync(cmd, NULL, &err, &status, NULL));
    g_test_message("%s: status 0x%x, %s", what, status, err);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    g_assert_nonnull(strstr(err, why));
}

/* Does it refuse the stream @file because of virtio-hz? */
static void expect_refusal(const char *file, const char *props,
                           const char *what, const char *why)
{
    g_autofree char *args = vm_args(NULL, props, "-accel qtest");
    g_autofree char *all = g_strdup_printf("%s -incoming 'exec:cat %s'", args,
                                           file);

    expect_exit(all, what, why);
}

/* What can't be: said at the start, with the name, the value, the limit. */
static void test_start_errors(void)
{
    static const struct {
        const char *args, *why;
    } wrong[] = {
        { "-M pc -device virtio-hz-pci -device virtio-hz-pci",
          "virtio-hz: a VM has one such device at most" },
        { "-M pc -device virtio-hz-pci,declarations=17",
          "virtio-hz: declarations=17 is not in 1..16" },
        { "-M pc -device virtio-hz-pci,declarations=0",
          "virtio-hz: declarations=0 is not in 1..16" },
        { "-M pc -device virtio-hz-pci,notices=33",
          "virtio-hz: notices=33 is not in 1..32" },
        { "-M pc -device virtio-hz-pci,doc-size=60",
          "virtio-hz: doc-size=60 is not in 64..1024" },
        { "-M pc -device virtio-hz-pci,doc-size=66",
          "virtio-hz: doc-size=66 is not a multiple of 4" },
        { "-M pc -device virtio-hz-pci,generation=none", "generation" },
        { "-M pc -device virtio-hz-pci,chardev=none", "none" },
        { "-M microvm -device virtio-hz-device "
          "-global virtio-mmio.force-legacy=true",
          "-global virtio-mmio.force-legacy=false" },
    };
    g_autofree char *rr = path_of("rr");
    g_autofree char *replay = g_strdup_printf(
        "-M pc -accel tcg -nodefaults -device virtio-hz-pci "
        "-icount shift=7,rr=record,rrfile=%s", rr);

    for (int i = 0; i < ARRAY_SIZE(wrong); i++) {
        g_autofree char *args = g_strdup_printf("-accel qtest -nodefaults %s",
                                                wrong[i].args);

        expect_exit(args, wrong[i].args, wrong[i].why);
    }
    if (qtest_has_accel("tcg")) {
        expect_exit(replay, "record", "virtio-hz: record/replay");
    }
}

static void test_limits(void)
{
    g_autofree char *file = path_of("state");
    VM a;

    close(save_full(&a, "", file, NULL));
    expect_refusal(file, ",declarations=8", "declarations",
                   "declarations=16 in the stream, 8 here");
    expect_refusal(file, ",notices=31", "notices",
                   "notices=32 in the stream, 31 here");
    expect_refusal(file, ",doc-size=512", "doc-size",
                   "doc-size=1024 in the stream, 512 here");
    vm_stop(&a);
}

typedef struct Spoil {
    const char *what;
    long at;                    /* from the start of the record or blob */
    int width;
    uint64_t value;
} Spoil;

/* The board's blob: a length, a head of 24 bytes, records. */
static const Spoil spoil_blob[] = {
    { "limit of declarations", -32, -2, 17 },
    { "limit of notices", -30, -2, 0 },
    { "limit of a document", -28, -2, 0xffff },
    { "length 0", -4, -4, 0 },
    { "length of the head", -4, -4, 24 },
    { "length above the most", -4, -4, 128 * 1024 + 1 },
    { "enormous length", -4, -4, 0xffffffff },
    { "format 0", 0, 2, 0 },
    { "format 2", 0, 2, 2 },
    { "no records", 2, 2, 0 },
    { "a record more", 2, 2, 6 },
    { "65535 records", 2, 2, 0xffff },
    { "reserved", 4, 4, 1 },
    { "sequence 0", 8, 8, 0 },
    { "enormous sequence", 8, 8, UINT64_MAX },
    { "version 0", 16, 8, 0 },
    { "enormous version", 16, 8, UINT64_MAX },
};

static const Spoil spoil_record[] = {
    { "length 0", 0, 4, 0 },
    { "length of a header", 0, 4, 16 },
    { "length 4 too much", 0, 4, 0x10004 },     /* added below */
    { "enormous length", 0, 4, 0xffffffff },
    { "type 0", 4, 2, 0 },
    { "type of a request", 4, 2, 1 },
    { "flag", 6, 2, VIRTIO_HZ_REC_GONE },
    { "unknown flag", 6, 2, 0x8000 },
    { "cookie", 8, 8, 1 },
    { "disruption", 16, 8, 77 },
    { "version 0", 24, 8, 0 },
    { "enormous version", 24, 8, UINT64_MAX },
    { "key", 32, 1, 0xff },
    { "end of key", 63, 1, 1 },
};

#define DECL(field) (64 + offsetof(struct virtio_hz_declaration, field))
static const Spoil spoil_declaration[] = {
    { "sequence 0", DECL(seq), 8, 0 },
    { "sequence not given out", DECL(seq), 8, 1000 },
    { "verdicts for another", DECL(verdict_seq), 8, 1000 },
    { "no document", DECL(doc_len), 2, 0 },
    { "document beyond the record", DECL(doc_len), 2, 100 },
    { "enormous document", DECL(doc_len), 2, 0xffff },
    { "verdicts beyond the record", DECL(verdicts), 2, 1 },
    { "65535 verdicts", DECL(verdicts), 2, 0xffff },
    { "reserved", DECL(reserved), 4, 1 },
    { "field beyond the document", 64 + 24 + 2, 2, 100 },
    { "padding", 64 + 24 + 12, 4, 1 },
};

#define NOTICE(field) (64 + offsetof(struct virtio_hz_notice, field))
static const Spoil spoil_notice[] = {
    { "id", NOTICE(id), 1, 0x55 },
    { "state", NOTICE(state), 1, VIRTIO_HZ_STATE_MAX + 1 },
    { "ack", NOTICE(ack), 1, VIRTIO_HZ_ACK_MAX + 1 },
    { "revision", NOTICE(revision), 4, 0 },
    { "not before", NOTICE(not_before_ns), 8, 5 },
    { "deadline", NOTICE(deadline_ns), 8, 5 },
    { "scope", NOTICE(scope), 1, VIRTIO_HZ_SCOPE_MAX + 1 },
    { "source", NOTICE(source), 1, VIRTIO_HZ_SOURCE_MAX + 1 },
    { "granularity", NOTICE(granularity), 1, 4 },
    { "flags", NOTICE(flags), 1, 0x80 },
    { "confidence", NOTICE(confidence), 2, 1001 },
    { "cause", NOTICE(cause), 2, VIRTIO_HZ_CAUSE_MAX + 1 },
    { "replied", NOTICE(replied), 4, 1u << 31 },
    { "reply", NOTICE(reply), 2, VIRTIO_HZ_REPLY_MAX + 1 },
    { "reply document beyond the record", NOTICE(reply_doc_len), 2, 8 },
    { "enormous reply document", NOTICE(reply_doc_len), 2, 0xffff },
    { "document beyond the record", NOTICE(doc_len), 2, 8 },
    { "enormous document", NOTICE(doc_len), 2, 0xffff },
    { "reserved", NOTICE(reserved0), 2, 1 },
    { "more reserved", NOTICE(reserved1), 4, 1 },
};

#define STATUS(field) (64 + offsetof(struct virtio_hz_status, field))
static const Spoil spoil_status[] = {
    { "status", STATUS(status), 2, 0x8000 },
    { "reason", STATUS(reason), 2, 99 },
};

/* Write a copy of the stream with one field spoilt and see it refused. */
static void try_spoilt(const uint8_t *stream, gsize len, size_t base,
                       const char *part, const Spoil *spoil, int n)
{
    g_autofree char *file = path_of("spoilt");
    g_autofree char *props = g_strdup_printf(",generation=%s", gen_a);

    for (int i = 0; i < n; i++) {
        g_autofree uint8_t *copy = g_memdup2(stream, len);
        g_autofree char *what = g_strdup_printf("%s: %s", part, spoil[i].what);
        uint8_t *at = copy + base + spoil[i].at;
        uint64_t value = spoil[i].value;

        if (value == 0x10004) {
            value = ldl_le_p(at) + 4;
        }
        switch (spoil[i].width) {
        case 1:
            *at = value;
            break;
        case 2:
            stw_le_p(at, value);
            break;
        case 4:
            stl_le_p(at, value);
            break;
        case 8:
            stq_le_p(at, value);
            break;
        case -2:
            stw_be_p(at, value);
            break;
        case -4:
            stl_be_p(at, value);
            break;
        }
        g_assert_true(g_file_set_contents(file, (char *)copy, len, NULL));
        expect_refusal(file, props, what, "virtio-hz");
    }
}

static void test_hostile(void)
{
    static const uint8_t generation[16] = {
        0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
        0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
    };
    g_autofree char *file = path_of("state");
    g_autofree char *props = g_strdup_printf(",generation=%s", gen_a);
    g_autofree char *stream = NULL;
    unsigned records, seen = 0;
    uint8_t *blob, *p;
    gsize len;
    VM a;

    close(save_full(&a, props, file, NULL));
    vm_stop(&a);
    g_assert_true(g_file_get_contents(file, &stream, &len, NULL));
    /* Generation, config generation and length stand before the blob. */
    p = memmem(stream, len, generation, sizeof(generation));
    while (p && lduw_be_p(p - 2) != VIRTIO_HZ_MAX_DOC) {
        p = memmem(p + 1, (uint8_t *)stream + len - p - 1, generation,
                   sizeof(generation));
    }
    g_assert_nonnull(p);
    blob = p + 16 + 4 + 4;
    records = lduw_le_p(blob + 2);
    g_assert_cmpuint(records, ==, 5);
    try_spoilt((uint8_t *)stream, len, blob - (uint8_t *)stream, "board",
               spoil_blob, ARRAY_SIZE(spoil_blob));
    /* The stream ends in the board's length, its head, its middle. */
    for (int at = -2; at < 400; at += 150) {
        g_autofree char *cut = path_of("cut");

        g_assert_true(g_file_set_contents(cut, stream, blob + at -
                                          (uint8_t *)stream, NULL));
        expect_refusal(cut, props, "cut", at < 0 ? "virtio-hz" :
                       "virtio-hz: the stream ends in the board");
    }
    p = blob + 24;
    for (unsigned i = 0; i < records; i++) {
        size_t base = p - (uint8_t *)stream;
        uint16_t type = lduw_le_p(p + 4);

        /* One of a kind is enough. */
        if (!(seen & 1u << (type & 0xf))) {
            seen |= 1u << (type & 0xf);
            try_spoilt((uint8_t *)stream, len, base, "record", spoil_record,
                       ARRAY_SIZE(spoil_record));
            switch (type) {
            case VIRTIO_HZ_R_STATUS:
                try_spoilt((uint8_t *)stream, len, base, "status",
                           spoil_status, ARRAY_SIZE(spoil_status));
                break;
            case VIRTIO_HZ_R_DECLARATION:
                try_spoilt((uint8_t *)stream, len, base, "declaration",
                           spoil_declaration, ARRAY_SIZE(spoil_declaration));
                break;
            default:
                try_spoilt((uint8_t *)stream, len, base, "notice",
                           spoil_notice, ARRAY_SIZE(spoil_notice));
            }
        }
        p += ldl_le_p(p);
    }
}

/*
 * A stream of every released version of the state stays in virtio-hz-golden/
 * and loads for ever. HZ_SAVE_GOLDEN=FILE makes one, with the oldest QEMU
 * there is; without firmware, so that it depends on nothing but QEMU.
 */
static char *golden_args(const char *more)
{
    g_autofree char *bios = path_of("bios");
    g_autofree char *zeros = g_malloc0(65536);

    g_assert_true(g_file_set_contents(bios, zeros, 65536, NULL));
    return g_strdup_printf("-M pc-i440fx-7.2 -nodefaults -m 8 -bios %s %s",
                           bios, more);
}

static void golden_start(VM *vm, const char *props, const char *more)
{
    g_autofree char *sock = path_of("a");
    g_autofree char *machine = golden_args(more);
    g_autofree char *args = g_strdup_printf(
        "%s -chardev socket,id=hz0,path=%s,server=on,wait=off "
        "-device virtio-hz-pci,id=hz,addr=04.0,chardev=hz0%s", machine, sock,
        props);

    memset(vm, 0, sizeof(*vm));
    vm->sock = path_of("a");
    vm->qts = qtest_init(args);
}

/* What is on the board of a golden stream. */
static void save_golden(const char *to)
{
    struct virtio_hz_notice n = make_notice(1, 3, VIRTIO_HZ_STATE_SCHEDULED);
    g_autofree char *props = g_strdup_printf(",generation=%s", gen_a);
    g_autofree char *file = path_of("golden");
    g_autofree char *pack = g_strdup_printf("gzip -9n < %s > %s", file, to);
    uint8_t f[VIRTIO_HZ_MAX_FRAME], doc[12], verdict[64] = "vm";
    uint64_t seq;
    int fd;
    VM vm;

    golden_start(&vm, props, "");
    pc_alloc_init(&vm.alloc, vm.qts, 0);
    vm_find_device(&vm);
    qhz_start(&vm.h, vm.qts, &vm.dev->vdev, &vm.alloc, 0);
    fd = peer_up(&vm);
    vm_declare(&vm, "nic/0", 0x1122334455667788, NULL);
    vm_declare(&vm, "vm", 2, &seq);
    stq_le_p(verdict + 32, seq);
    stw_le_p(verdict + 40, 1);
    stw_le_p(verdict + 48, 1);
    verdict[50] = VIRTIO_HZ_VERDICT_ACCEPTED;
    peer_send(fd, SET_VERDICTS, 1, verdict, sizeof(verdict));
    send_notice(fd, 2, n);
    send_notice(fd, 3, make_notice(2, 1, VIRTIO_HZ_STATE_COMPLETED));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    qhz_doc8(doc, 3, 99);
    qhz_reply(&vm.h, n.id, 3, VIRTIO_HZ_REPLY_COUNTER, 0, doc, sizeof(doc));
    vm_save(&vm, file);
    g_assert_cmpint(system(pack), ==, 0);
    close(fd);
    vm_stop(&vm);
}

static void test_golden(const void *name)
{
    g_autofree char *here = g_path_get_dirname(__FILE__);
    g_autofree char *file = g_build_filename(here, "virtio-hz-golden", name,
                                             NULL);
    g_autofree char *more = g_strdup_printf("-incoming 'exec:gzip -dc %s'",
                                            file);
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    const struct virtio_hz_status *s =
        (void *)(f + sizeof(struct virtio_hz_record));
    const uint8_t *doc = f + sizeof(struct virtio_hz_record) +
                         sizeof(struct virtio_hz_declaration);
    int fd;
    VM vm;

    g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
    golden_start(&vm, "", more);
    fd = peer_connect(&vm);
    peer_expect(fd, HELLO, f);
    g_assert_cmphex(f[HEAD + 24], ==, 0xa0);
    g_assert_cmpuint(ldq_le_p(f + HEAD + 40), ==, 2);
    peer_welcome(fd);
    peer_expect(fd, VIRTIO_HZ_R_STATUS, f);
    g_assert_cmpuint(le16_to_cpu(s->reason), ==, VIRTIO_HZ_WHY_MIGRATE);
    /* In the order in which they last changed. */
    peer_expect(fd, VIRTIO_HZ_R_DECLARATION, f);
    g_assert_cmpstr((char *)f + HEAD + 16, ==, "nic/0");
    g_assert_cmphex(ldq_le_p(doc + 4), ==, 0x1122334455667788);
    peer_expect(fd, VIRTIO_HZ_R_DECLARATION, f);
    g_assert_cmpstr((char *)f + HEAD + 16, ==, "vm");
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(notice_in(f)->id[0], ==, 2);
    g_assert_cmpuint(notice_in(f)->state, ==, VIRTIO_HZ_STATE_COMPLETED);
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(notice_in(f)->id[0], ==, 1);
    g_assert_cmpuint(le32_to_cpu(notice_in(f)->revision), ==, 3);
    g_assert_cmpuint(le16_to_cpu(notice_in(f)->reply), ==,
                     VIRTIO_HZ_REPLY_COUNTER);
    g_assert_cmpuint(ldq_le_p((uint8_t *)(notice_in(f) + 1) + 4), ==, 99);
    close(fd);
    vm_stop(&vm);
}

/* loadvm under a live link. */
static void test_loadvm(void)
{
    g_autofree char *disk = path_of("disk.qcow2");
    g_autofree char *more = g_strdup_printf(
        "-drive if=none,id=d,file=%s,format=qcow2 "
        "-device virtio-blk-pci,drive=d,addr=05.0", disk);
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    g_autofree char *create = NULL;
    g_autofree char *saved = NULL;
    g_autofree char *loaded = NULL;
    int fd;
    VM vm;

    if (!getenv("QTEST_QEMU_IMG")) {
        g_test_skip("no qemu-img");
        return;
    }
    create = g_strdup_printf("%s create -q -f qcow2 %s 64M",
                             getenv("QTEST_QEMU_IMG"), disk);
    g_assert_true(g_spawn_command_line_sync(create, NULL, NULL, NULL, NULL));
    vm_start(&vm, "a", "", more);
    fd = peer_up(&vm);
    send_notice(fd, 1, make_notice(1, 1, VIRTIO_HZ_STATE_SCHEDULED));
    peer_expect(fd, VIRTIO_HZ_R_NOTICE, f);
    g_assert_cmpuint(vm_declare(&vm, "vm", 1, NULL), ==, VIRTIO_HZ_OK);
    saved = qtest_hmp(vm.qts, "savevm one");
    g_assert_cmpstr(saved, ==, "");
    g_assert_cmpuint(vm_declare(&vm, "nic/0", 1, NULL), ==, VIRTIO_HZ_OK);
    g_assert_cmpuint(counter(&vm, "standing-declarations"), ==, 2);
    loaded = qtest_hmp(vm.qts, "loadvm one");
    g_assert_cmpstr(loaded, ==, "");
    peer_expect(fd, HELLO, f);
    g_assert_cmpuint(ldq_le_p(f + HEAD + 40), ==, 2);
    peer_welcome(fd);
    peer_expect(fd, VIRTIO_HZ_R_STATUS, f);
    peer_expect(fd, VIRTIO_HZ_R_DECLARATION, f);
    g_assert_cmpstr((char *)f + HEAD + 16, ==, "vm");
    peer_expect(fd, SYNC, f);
    g_assert_cmpuint(counter(&vm, "standing-declarations"), ==, 1);
    g_assert_cmpuint(counter(&vm, "standing-notices"), ==, 1);
    close(fd);
    vm_stop(&vm);
}

/* -- tests: plugging ---------------------------------------------------- */

static void test_hotplug(void)
{
    g_autofree char *sock = path_of("plug");
    VM vm = { .sock = sock };
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    int fd;

    vm.qts = qtest_initf("-M pc -nodefaults -chardev socket,id=hz0,path=%s,"
                         "server=on,wait=off", sock);
    for (int i = 0; i < 2; i++) {
        /* The chardev of an unplugged device serves the next one. */
        fd = peer_connect(&vm);
        qtest_qmp_device_add(vm.qts, "virtio-hz-pci", "hz1",
                             "{'addr': '6', 'chardev': 'hz0'}");
        peer_expect(fd, HELLO, f);
        peer_welcome(fd);
        peer_expect(fd, SYNC, f);
        qpci_unplug_acpi_device_test(vm.qts, "hz1", 6);
        peer_expect(fd, BYE, f);
        peer_expect_end(fd);
    }
    qtest_quit(vm.qts);
}

/* -- tests: MMIO -------------------------------------------------------- */

static void test_mmio(void)
{
    QTestState *qts;
    QGuestAllocator alloc;
    QVirtioMMIODevice mmio;
    QHZ h;
    int i;

    if (!qtest_has_machine("microvm")) {
        g_test_skip("no microvm");
        return;
    }
    qts = qtest_init("-M microvm -nodefaults -device virtio-hz-device,id=hz "
                     "-global virtio-mmio.force-legacy=false");
    alloc_init(&alloc, 0, 0x100000, 0x1000000, 4096);
    for (i = 0; i < 24; i++) {
        uint64_t base = 0xfeb00000 + 512 * i;

        if (qtest_readl(qts, base + QVIRTIO_MMIO_DEVICE_ID) == VIRTIO_ID_HZ) {
            qvirtio_mmio_init_device(&mmio, qts, base, 4096);
            break;
        }
    }
    g_assert_cmpint(i, <, 24);
    qhz_mmio_modern(&mmio.vdev);
    qhz_start(&h, qts, &mmio.vdev, &alloc, 0);
    g_assert_cmphex(qvirtio_config_readl(h.dev, 0), ==, VIRTIO_HZ_MAGIC);
    g_assert_cmpuint(qhz_withdraw(&h, "vm", 0, NULL), ==, VIRTIO_HZ_E_NOENT);
    qhz_post_events(&h, 4, VIRTIO_HZ_MAX_FRAME);
    qhz_drain(&h);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    const char *name;
    GDir *files;
    int ret;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("virtio-hz-test-XXXXXX", NULL);
    if (getenv("HZ_SAVE_GOLDEN")) {
        save_golden(getenv("HZ_SAVE_GOLDEN"));
        return 0;
    }
    qtest_add_func("/virtio-hz/start-errors", test_start_errors);
    qtest_add_func("/virtio-hz/hello", test_hello);
    qtest_add_func("/virtio-hz/half-frames", test_half_frames);
    qtest_add_func("/virtio-hz/broken", test_broken);
    qtest_add_func("/virtio-hz/notice", test_notice);
    qtest_add_func("/virtio-hz/verdicts", test_verdicts);
    qtest_add_func("/virtio-hz/refused", test_refused);
    qtest_add_func("/virtio-hz/random", test_random);
    qtest_add_func("/virtio-hz/runstate", test_runstate);
    qtest_add_func("/virtio-hz/hello-again", test_hello_again);
    qtest_add_func("/virtio-hz/sigstop", test_sigstop);
    qtest_add_func("/virtio-hz/ping-flood", test_ping_flood);
    qtest_add_func("/virtio-hz/migrate", test_migrate);
    qtest_add_func("/virtio-hz/paused-source", test_paused_source);
    qtest_add_func("/virtio-hz/generation", test_generation);
    qtest_add_func("/virtio-hz/limits", test_limits);
    qtest_add_func("/virtio-hz/hostile", test_hostile);
    qtest_add_data_func("/virtio-hz/golden/v1", "v1.gz", test_golden);
    qtest_add_func("/virtio-hz/loadvm", test_loadvm);
    qtest_add_func("/virtio-hz/hotplug", test_hotplug);
    qtest_add_func("/virtio-hz/mmio", test_mmio);
    ret = g_test_run();
    files = g_dir_open(dir, 0, NULL);
    while ((name = g_dir_read_name(files))) {
        g_autofree char *path = path_of(name);

        unlink(path);
    }
    g_dir_close(files);
    rmdir(dir);
    g_free(dir);
    return ret;
}
