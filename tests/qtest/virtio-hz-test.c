/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-hz: what a guest can do to the device, rightly and wrongly.
 *
 * The peer on the link and migration are virtio-hz-link-test's.
 */
#include "qemu/osdep.h"
#include "libqtest-single.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "libqos/qgraph.h"
#include "libqos/virtio-hz.h"
#if __has_include("qobject/qdict.h")
#include "qobject/qdict.h"
#else
#include "qapi/qmp/qdict.h"
#endif
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"

#define CONFIG(field) offsetof(struct virtio_hz_config, field)

static void start(QHZ *h, void *obj, QGuestAllocator *alloc)
{
    QVirtioHZ *hz = obj;

    qhz_start(h, global_qtest, hz->vdev, alloc, 0);
}

static uint64_t counter(const char *name)
{
    QDict *rsp = qtest_qmp(global_qtest, "{'execute': 'qom-get', 'arguments':"
                           "{'path': '/machine/peripheral/hz',"
                           " 'property': %s}}", name);
    uint64_t value = qdict_get_int(rsp, "return");

    qobject_unref(rsp);
    return value;
}

/* -- config ------------------------------------------------------------- */

static void test_config(void *obj, void *data, QGuestAllocator *alloc)
{
    QVirtioDevice *dev = ((QVirtioHZ *)obj)->vdev;
    unsigned sum = 0;
    QHZ h;

    start(&h, obj, alloc);
    g_assert_cmphex(qvirtio_config_readl(dev, CONFIG(magic)), ==,
                    VIRTIO_HZ_MAGIC);
    g_assert_cmpuint(qvirtio_config_readw(dev, CONFIG(version)), ==, 1);
    g_assert_cmpuint(qvirtio_config_readw(dev, CONFIG(version_min)), ==, 1);
    g_assert_cmpuint(qvirtio_config_readw(dev, CONFIG(max_declarations)), ==,
                     VIRTIO_HZ_MAX_DECLARATIONS);
    g_assert_cmpuint(qvirtio_config_readw(dev, CONFIG(max_notices)), ==,
                     VIRTIO_HZ_MAX_NOTICES);
    g_assert_cmpuint(qvirtio_config_readw(dev, CONFIG(max_doc)), ==,
                     VIRTIO_HZ_MAX_DOC);
    g_assert_cmpuint(qvirtio_config_readw(dev, CONFIG(status)), ==, 0);
    g_assert_cmpuint(qvirtio_config_readq(dev, CONFIG(disruption)), ==, 1);
    /* No generation was given: a random one, which all zeros is not. */
    for (int i = 0; i < VIRTIO_HZ_UUID_LEN; i++) {
        sum += qvirtio_config_readb(dev, CONFIG(generation) + i);
    }
    g_assert_cmpuint(sum, !=, 0);
    qhz_stop(&h);
}

/* -- requests ----------------------------------------------------------- */

static void test_declare(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t doc[12], out[VIRTIO_HZ_MAX_RESPONSE];
    struct virtio_hz_response *rsp = (void *)out;
    struct virtio_hz_read cursor = { 0 };
    const struct virtio_hz_record *rec;
    const struct virtio_hz_declaration *decl;
    uint64_t seq, refusals = counter("refusals");
    QHZ h;

    start(&h, obj, alloc);
    g_assert_cmpuint(qhz_read(&h, &cursor, out), ==, VIRTIO_HZ_OK);
    rec = qhz_record(out, 0);
    g_assert_cmphex(le16_to_cpu(rec->hdr.type), ==, VIRTIO_HZ_R_STATUS);
    g_assert_cmphex(le16_to_cpu(rec->hdr.flags), ==, VIRTIO_HZ_REC_FULL);

    qhz_doc8(doc, 7, 1000);
    g_assert_cmpuint(qhz_declare(&h, "nic/0", VIRTIO_HZ_SEQ_NEW, doc, 12, rsp),
                     ==, VIRTIO_HZ_OK);
    seq = le64_to_cpu(rsp->seq);
    g_assert_cmpuint(seq, !=, 0);
    g_assert_cmpuint(counter("standing-declarations"), ==, 1);
    g_assert_cmpuint(qhz_declare(&h, "nic/0", VIRTIO_HZ_SEQ_NEW, doc, 12, rsp),
                     ==, VIRTIO_HZ_E_STALE);
    g_assert_cmpuint(qhz_declare(&h, "nic/0", seq + 1, doc, 12, rsp), ==,
                     VIRTIO_HZ_E_STALE);
    qhz_doc8(doc, 7, 2000);
    g_assert_cmpuint(qhz_declare(&h, "nic/0", seq, doc, 12, rsp), ==,
                     VIRTIO_HZ_OK);
    g_assert_cmpuint(le64_to_cpu(rsp->seq), >, seq);
    seq = le64_to_cpu(rsp->seq);

    /* Two changes to one entry since: one record. */
    do {
        g_assert_cmpuint(qhz_read(&h, &cursor, out), ==, VIRTIO_HZ_OK);
        rec = qhz_record(out, le32_to_cpu(rsp->count) - 1);
    } while (le16_to_cpu(rsp->hdr.flags) & VIRTIO_HZ_RSP_MORE);
    g_assert_cmphex(le16_to_cpu(rec->hdr.type), ==, VIRTIO_HZ_R_DECLARATION);
    g_assert_cmpstr((const char *)rec->key, ==, "nic/0");
    decl = (const void *)(rec + 1);
    g_assert_cmpuint(le64_to_cpu(decl->seq), ==, seq);
    g_assert_cmpuint(le16_to_cpu(decl->doc_len), ==, 12);
    g_assert_cmpmem(decl + 1, 12, doc, 12);

    g_assert_cmpuint(qhz_withdraw(&h, "nic/0", seq + 5, NULL), ==,
                     VIRTIO_HZ_E_STALE);
    g_assert_cmpuint(qhz_withdraw(&h, "nic/0", seq, NULL), ==, VIRTIO_HZ_OK);
    g_assert_cmpuint(qhz_withdraw(&h, "nic/0", 0, NULL), ==,
                     VIRTIO_HZ_E_NOENT);
    g_assert_cmpuint(qhz_read(&h, &cursor, out), ==, VIRTIO_HZ_OK);
    g_assert_cmpuint(le32_to_cpu(rsp->count), ==, 1);
    rec = qhz_record(out, 0);
    g_assert_cmphex(le16_to_cpu(rec->hdr.flags), ==, VIRTIO_HZ_REC_GONE);
    g_assert_cmpuint(le32_to_cpu(rec->hdr.len), ==, sizeof(*rec));
    g_assert_cmpuint(counter("standing-declarations"), ==, 0);
    g_assert_cmpuint(counter("refusals"), ==, refusals + 4);
    qhz_stop(&h);
}

/* Each wrong in one way; what is right is test_declare's. */
static void test_wrong_requests(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t doc[VIRTIO_HZ_MAX_DOC + 8] = { 0 };
    uint8_t id[VIRTIO_HZ_UUID_LEN] = { 1 };
    uint8_t req[2 * VIRTIO_HZ_MAX_FRAME] = { 0 };
    uint8_t out[VIRTIO_HZ_MAX_RESPONSE];
    struct virtio_hz_response *rsp = (void *)out;
    const struct {
        uint16_t type, flags;
        uint32_t status;
    } wrong[] = {
        { 0, 0, VIRTIO_HZ_E_UNSUPP },
        { 5, 0, VIRTIO_HZ_E_UNSUPP },
        { VIRTIO_HZ_T_RESPONSE | VIRTIO_HZ_T_READ, 0, VIRTIO_HZ_E_UNSUPP },
        { VIRTIO_HZ_T_READ, 1, VIRTIO_HZ_E_UNSUPP },
        { VIRTIO_HZ_T_READ, 0x8000, VIRTIO_HZ_E_UNSUPP },
        { VIRTIO_HZ_T_READ, 0, VIRTIO_HZ_E_INVAL },     /* too short a frame */
        { VIRTIO_HZ_T_DECLARE, 0, VIRTIO_HZ_E_INVAL },
        { VIRTIO_HZ_T_WITHDRAW, 0, VIRTIO_HZ_E_INVAL },
        { VIRTIO_HZ_T_REPLY, 0, VIRTIO_HZ_E_INVAL },
    };
    QHZ h;

    start(&h, obj, alloc);
    for (int i = 0; i < ARRAY_SIZE(wrong); i++) {
        stl_le_p(req, sizeof(struct virtio_hz_hdr));
        stw_le_p(req + 4, wrong[i].type);
        stw_le_p(req + 6, wrong[i].flags);
        stq_le_p(req + 8, 0x1122334455667788ull + i);
        g_assert_cmpuint(qhz_request(&h, req, sizeof(struct virtio_hz_hdr),
                                     out, sizeof(out)), ==, sizeof(*rsp));
        g_assert_cmpuint(le32_to_cpu(rsp->status), ==, wrong[i].status);
        g_assert_cmpuint(le64_to_cpu(rsp->hdr.cookie), ==,
                         0x1122334455667788ull + i);
        /* Zeros where nothing is said; no byte beyond what is used. */
        g_assert_cmpuint(rsp->count | rsp->seq | rsp->hdr.flags, ==, 0);
        g_assert_cmphex(out[sizeof(*rsp)], ==, 0xaa);
    }
    /* The frame's length is not the chain's. */
    stl_le_p(req, 400);
    stw_le_p(req + 4, VIRTIO_HZ_T_READ);
    qhz_request(&h, req, 40, out, sizeof(*rsp));
    g_assert_cmpuint(le32_to_cpu(rsp->status), ==, VIRTIO_HZ_E_INVAL);
    /* A frame above VIRTIO_HZ_MAX_FRAME, whose header says so honestly. */
    stl_le_p(req, VIRTIO_HZ_MAX_FRAME + 1);
    stw_le_p(req + 4, VIRTIO_HZ_T_DECLARE);
    qhz_request(&h, req, VIRTIO_HZ_MAX_FRAME + 1, out, sizeof(*rsp));
    g_assert_cmpuint(le32_to_cpu(rsp->status), ==, VIRTIO_HZ_E_TOOBIG);
    g_assert_cmphex(le16_to_cpu(rsp->hdr.type), ==,
                    VIRTIO_HZ_T_DECLARE | VIRTIO_HZ_T_RESPONSE);

    /* One field as long as a document may be, and four bytes more. */
    stw_le_p(doc, 1);
    stw_le_p(doc + 2, VIRTIO_HZ_MAX_DOC - 4);
    g_assert_cmpuint(qhz_declare(&h, "vm", 0, doc, VIRTIO_HZ_MAX_DOC, NULL),
                     ==, VIRTIO_HZ_OK);
    stw_le_p(doc + 2, VIRTIO_HZ_MAX_DOC);
    g_assert_cmpuint(qhz_declare(&h, "vm", 0, doc, VIRTIO_HZ_MAX_DOC + 4, NULL),
                     ==, VIRTIO_HZ_E_TOOBIG);
    stw_le_p(doc + 2, 100);     /* the field is longer than the document */
    g_assert_cmpuint(qhz_declare(&h, "vm", 0, doc, 12, NULL), ==,
                     VIRTIO_HZ_E_INVAL);
    g_assert_cmpuint(qhz_declare(&h, "", 0, doc, 0, NULL), ==,
                     VIRTIO_HZ_E_INVAL);
    g_assert_cmpuint(qhz_declare(&h, "No Name", 0, doc, 0, NULL), ==,
                     VIRTIO_HZ_E_INVAL);
    g_assert_cmpuint(qhz_reply(&h, id, 1, VIRTIO_HZ_REPLY_SEEN, 0, NULL, 0),
                     ==, VIRTIO_HZ_E_NOENT);
    g_assert_cmpuint(qhz_reply(&h, id, 1, 99, 0, NULL, 0), ==,
                     VIRTIO_HZ_E_UNSUPP);
    qhz_stop(&h);
}

/* Noise of every kind is answered; --seed repeats it. */
static void test_random(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t req[700], out[VIRTIO_HZ_MAX_RESPONSE];
    struct virtio_hz_response *rsp = (void *)out;
    unsigned taken = 0;
    QHZ h;

    start(&h, obj, alloc);
    for (int i = 0; i < 1500; i++) {
        size_t len = g_test_rand_int_range(16, sizeof(req));
        uint32_t used;

        for (size_t j = 0; j < len; j++) {
            req[j] = g_test_rand_int_range(0, 4) ? 0 : g_test_rand_int();
        }
        stl_le_p(req, len);
        stw_le_p(req + 4, g_test_rand_int_range(0, 6));
        stw_le_p(req + 6, g_test_rand_int_range(0, 8) ? 0 : 1);
        if (len >= 68 && g_test_rand_int_range(0, 2)) {
            /* A subject and a document of one field, perhaps too long. */
            memset(req + 16, 0, 48);
            memcpy(req + 16, "vm", 3);
            stw_le_p(req + 56, len - 64);
            stw_le_p(req + 66, len - 68 + !g_test_rand_int_range(0, 4));
        }
        used = qhz_request(&h, req, len, out, sizeof(out));
        g_assert_cmpuint(used, >=, sizeof(*rsp));
        g_assert_cmpuint(used, ==, le32_to_cpu(rsp->hdr.len));
        g_assert_cmpuint(le32_to_cpu(rsp->status), <=, VIRTIO_HZ_E_SMALL);
        g_assert_cmpmem(&rsp->hdr.cookie, 8, req + 8, 8);
        taken += !rsp->status;
    }
    g_assert_cmpuint(counter("standing-declarations"), <=, 1);
    /* About 1 in 2 * 6 was a right DECLARE but for its length's last bits. */
    g_assert_cmpuint(taken, >, 0);
    g_assert_cmpuint(taken, <, 1500);
    qhz_withdraw(&h, "vm", 0, NULL);
    qhz_stop(&h);
}

static void test_full(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t doc[12], out[VIRTIO_HZ_MAX_RESPONSE];
    struct virtio_hz_read cursor = { 0 };
    struct virtio_hz_response *rsp = (void *)out;
    unsigned seen = 0, readings = 0;
    char name[16];
    QHZ h;

    start(&h, obj, alloc);
    for (int i = 0; i <= VIRTIO_HZ_MAX_DECLARATIONS; i++) {
        snprintf(name, sizeof(name), "job/%d", i);
        qhz_doc8(doc, 1, i);
        g_assert_cmpuint(qhz_declare(&h, name, 0, doc, 12, NULL), ==,
                         i < VIRTIO_HZ_MAX_DECLARATIONS ? VIRTIO_HZ_OK
                                                        : VIRTIO_HZ_E_NOSPC);
    }
    g_assert_cmpuint(qhz_withdraw(&h, "job/3", 0, NULL), ==, VIRTIO_HZ_OK);
    g_assert_cmpuint(qhz_declare(&h, name, 0, doc, 12, NULL), ==,
                     VIRTIO_HZ_OK);
    /* A reading in pieces: 400 bytes hold a head and three such records. */
    do {
        cursor.hdr.len = cpu_to_le32(sizeof(cursor));
        cursor.hdr.type = cpu_to_le16(VIRTIO_HZ_T_READ);
        qhz_request(&h, &cursor, sizeof(cursor), out, 400);
        g_assert_cmpuint(le32_to_cpu(rsp->status), ==, VIRTIO_HZ_OK);
        for (unsigned i = 0; i < le32_to_cpu(rsp->count); i++) {
            const struct virtio_hz_record *rec = qhz_record(out, i);

            seen += le16_to_cpu(rec->hdr.type) == VIRTIO_HZ_R_DECLARATION &&
                    !(le16_to_cpu(rec->hdr.flags) & VIRTIO_HZ_REC_GONE);
        }
        cursor.disruption = rsp->disruption;
        cursor.since = rsp->version;
        cursor.floor = rsp->floor;
        g_assert_cmpuint(++readings, <, 100);
    } while (le16_to_cpu(rsp->hdr.flags) & VIRTIO_HZ_RSP_MORE);
    g_assert_cmpuint(seen, ==, VIRTIO_HZ_MAX_DECLARATIONS);
    /* No room for even one record. */
    memset(&cursor.disruption, 0, 24);
    qhz_request(&h, &cursor, sizeof(cursor), out, sizeof(*rsp) + 8);
    g_assert_cmpuint(le32_to_cpu(rsp->status), ==, VIRTIO_HZ_E_SMALL);
    qhz_stop(&h);
}

/* One byte a descriptor is a chain like any other. */
static void test_chained(void *obj, void *data, QGuestAllocator *alloc)
{
    struct virtio_hz_read r = {
        .hdr.len = cpu_to_le32(sizeof(r)),
        .hdr.type = cpu_to_le16(VIRTIO_HZ_T_READ),
        .hdr.cookie = cpu_to_le64(42),
    };
    struct virtio_hz_response rsp;
    uint32_t used;
    QHZ h;

    start(&h, obj, alloc);
    qtest_memwrite(h.qts, h.req_mem, &r, sizeof(r));
    for (int i = 0; i < sizeof(r); i++) {
        qvirtqueue_add(h.qts, h.rq, h.req_mem + i, 1, false, true);
    }
    for (int i = 0; i < 8; i++) {
        qvirtqueue_add(h.qts, h.rq, h.rsp_mem + 50 * i, 50, true, i < 7);
    }
    qvirtqueue_kick(h.qts, h.dev, h.rq, 0);
    qhz_used(&h, h.rq, &used);
    qtest_memread(h.qts, h.rsp_mem, &rsp, sizeof(rsp));
    g_assert_cmpuint(le32_to_cpu(rsp.status), ==, VIRTIO_HZ_OK);
    g_assert_cmpuint(le64_to_cpu(rsp.hdr.cookie), ==, 42);
    g_assert_cmpuint(used, ==, le32_to_cpu(rsp.hdr.len));
    qhz_stop(&h);
}

/* -- malformed chains --------------------------------------------------- */

typedef struct Chain {
    const char *what;
    bool event;
    struct {
        uint32_t len;
        uint16_t flags;
        uint16_t next;
    } d[3];
} Chain;

#define IN VRING_DESC_F_WRITE
#define NEXT VRING_DESC_F_NEXT

static const Chain malformed[] = {
    { "no room for a response", false, { { 16, 0 } } },
    { "nothing to read", false, { { 4096, IN } } },
    { "half a header", false, { { 15, NEXT, 1 }, { 4096, IN } } },
    { "half a response", false, { { 16, NEXT, 1 }, { 55, IN } } },
    { "directions reversed", false, { { 4096, IN | NEXT, 1 }, { 16, 0 } } },
    { "read, write, read", false,
      { { 16, NEXT, 1 }, { 4096, IN | NEXT, 2 }, { 16, 0 } } },
    { "a loop", false, { { 16, NEXT, 1 }, { 16, NEXT, 0 } } },
    { "next beyond the ring", false, { { 16, NEXT, 9999 } } },
    { "no bytes", false, { { 0, NEXT, 1 }, { 4096, IN } } },
    { "an event buffer to read from", true, { { 4096, 0 } } },
    { "an event buffer both ways", true, { { 16, NEXT, 1 }, { 4096, IN } } },
    { "an event buffer below a record's head", true, { { 63, IN } } },
    { "an event buffer of nothing", true, { { 0, IN } } },
};

static void write_chain(QHZ *h, QVirtQueue *vq, const Chain *c)
{
    for (int i = 0; i < 3; i++) {
        uint64_t at = vq->desc + 16 * i;

        qtest_writeq(h->qts, at, h->req_mem);
        qtest_writel(h->qts, at + 8, c->d[i].len);
        qtest_writew(h->qts, at + 12, c->d[i].flags);
        qtest_writew(h->qts, at + 14, c->d[i].next);
    }
}

static void wait_needs_reset(QHZ *h)
{
    gint64 start_time = g_get_monotonic_time();

    while (!(h->dev->bus->get_status(h->dev) & VIRTIO_CONFIG_S_NEEDS_RESET)) {
        qtest_clock_step(h->qts, 100);
        g_assert_cmpint(g_get_monotonic_time() - start_time, <=, QHZ_WAIT_US);
    }
}

static void test_malformed(void *obj, void *data, QGuestAllocator *alloc)
{
    struct virtio_hz_hdr hdr = { .len = cpu_to_le32(16) };
    uint32_t len;
    QHZ h;

    start(&h, obj, alloc);
    for (int i = 0; i < ARRAY_SIZE(malformed); i++) {
        QVirtQueue *vq = malformed[i].event ? h.eq : h.rq;

        g_test_message("%s", malformed[i].what);
        qtest_memwrite(h.qts, h.req_mem, &hdr, sizeof(hdr));
        write_chain(&h, vq, &malformed[i]);
        qvirtqueue_kick(h.qts, h.dev, vq, 0);
        wait_needs_reset(&h);
        g_assert_false(qvirtqueue_get_buf(h.qts, vq, NULL, &len));
        /* Only a reset helps, and it does. */
        qhz_restart(&h);
        g_assert_cmpuint(qhz_withdraw(&h, "vm", 0, NULL), ==,
                         VIRTIO_HZ_E_NOENT);
    }
    qhz_stop(&h);
}

/* A chain that starts beyond the ring. */
static void test_bad_head(void *obj, void *data, QGuestAllocator *alloc)
{
    QHZ h;

    start(&h, obj, alloc);
    qvirtqueue_kick(h.qts, h.dev, h.rq, 9999);
    wait_needs_reset(&h);
    qhz_restart(&h);
    g_assert_cmpuint(qhz_withdraw(&h, "vm", 0, NULL), ==, VIRTIO_HZ_E_NOENT);
    qhz_stop(&h);
}

/* -- the bell ----------------------------------------------------------- */

static void test_bell(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t doc[12], buf[VIRTIO_HZ_MAX_FRAME];
    struct virtio_hz_record *rec = (void *)buf;
    uint64_t bells;
    QHZ h;

    start(&h, obj, alloc);
    qhz_post_events(&h, 4, VIRTIO_HZ_MAX_FRAME);
    /* From nothing: the start of a full telling. */
    qhz_bell(&h, buf, sizeof(buf));
    g_assert_cmphex(le16_to_cpu(rec->hdr.type), ==, VIRTIO_HZ_R_STATUS);
    g_assert_cmphex(le16_to_cpu(rec->hdr.flags), ==, VIRTIO_HZ_REC_FULL);
    qhz_drain(&h);
    g_assert_true(qhz_silent(&h));

    qhz_doc8(doc, 1, 5);
    g_assert_cmpuint(qhz_declare(&h, "vm", 0, doc, 12, NULL), ==,
                     VIRTIO_HZ_OK);
    qhz_bell(&h, buf, sizeof(buf));
    g_assert_cmphex(le16_to_cpu(rec->hdr.type), ==, VIRTIO_HZ_R_DECLARATION);
    g_assert_cmpuint(le32_to_cpu(rec->hdr.len), ==,
                     sizeof(*rec) + sizeof(struct virtio_hz_declaration) + 16);
    /* The same again changes nothing and rings nothing. */
    bells = counter("bells");
    g_assert_cmpuint(qhz_declare(&h, "vm", 0, doc, 12, NULL), ==,
                     VIRTIO_HZ_OK);
    g_assert_true(qhz_silent(&h));
    g_assert_cmpuint(counter("bells"), ==, bells);
    qhz_stop(&h);
}

static void test_small_bell(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t doc[12], buf[VIRTIO_HZ_MAX_FRAME];
    struct virtio_hz_record *rec = (void *)buf;
    QHZ h;

    start(&h, obj, alloc);
    qhz_post_events(&h, 4, sizeof(*rec));
    qhz_bell(&h, buf, sizeof(buf));
    g_assert_cmphex(le16_to_cpu(rec->hdr.flags), ==,
                    VIRTIO_HZ_REC_FULL | VIRTIO_HZ_REC_TRUNCATED);
    qhz_drain(&h);
    qhz_doc8(doc, 1, 5);
    qhz_declare(&h, "vm", 0, doc, 12, NULL);
    g_assert_cmpuint(qhz_bell(&h, buf, sizeof(buf)), ==, sizeof(*rec));
    g_assert_cmpuint(le32_to_cpu(rec->hdr.len), ==, sizeof(*rec));
    g_assert_cmphex(le16_to_cpu(rec->hdr.flags), ==, VIRTIO_HZ_REC_TRUNCATED);
    g_assert_cmphex(le16_to_cpu(rec->hdr.type), ==, VIRTIO_HZ_R_DECLARATION);
    g_assert_cmpstr((char *)rec->key, ==, "vm");
    qhz_stop(&h);
}

/* With no buffers posted for long, the newest of each entry is what comes. */
static void test_flood(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t doc[12], buf[VIRTIO_HZ_MAX_FRAME];
    struct virtio_hz_record *rec = (void *)buf;
    struct virtio_hz_response rsp = { 0 };
    uint64_t seq = 0, bells;
    unsigned told = 0;
    QHZ h;

    start(&h, obj, alloc);
    bells = counter("bells");
    for (int i = 0; i < 500; i++) {
        qhz_doc8(doc, 1, i);
        g_assert_cmpuint(qhz_declare(&h, i % 2 ? "vm" : "nic/0", 0, doc, 12,
                                     &rsp), ==, VIRTIO_HZ_OK);
        seq = le64_to_cpu(rsp.seq);
    }
    g_assert_cmpuint(counter("bells"), ==, bells);
    qhz_post_events(&h, 8, VIRTIO_HZ_MAX_FRAME);
    /* "vm" was changed last, so it is told last; "nic/0" before it. */
    do {
        qhz_bell(&h, buf, sizeof(buf));
        told += le16_to_cpu(rec->hdr.type) == VIRTIO_HZ_R_DECLARATION &&
                !(le16_to_cpu(rec->hdr.flags) & VIRTIO_HZ_REC_GONE);
    } while (strcmp((char *)rec->key, "vm"));
    g_assert_cmpuint(ldq_le_p(rec + 1), ==, seq);
    g_assert_true(qhz_silent(&h));
    g_assert_cmpuint(told, ==, 2);
    /* Not one for each of 500 changes: STATUS twice and each entry once. */
    g_assert_cmpuint(counter("bells") - bells, <=,
                     2 + VIRTIO_HZ_MAX_DECLARATIONS + VIRTIO_HZ_MAX_NOTICES);
    qhz_stop(&h);
}

/* A ring filled to the brim with requests and one kick. */
static void test_full_ring(void *obj, void *data, QGuestAllocator *alloc)
{
    struct virtio_hz_hdr hdr = { .len = cpu_to_le32(16) };
    uint32_t len;
    QHZ h;

    start(&h, obj, alloc);
    qtest_memwrite(h.qts, h.req_mem, &hdr, sizeof(hdr));
    for (int round = 0; round < 8; round++) {
        int n = h.rq->size / 2;

        h.rq->free_head = 0;
        for (int i = 0; i < n; i++) {
            uint16_t idx = qtest_readw(h.qts, h.rq->avail + 2);
            uint32_t head = qvirtqueue_add(h.qts, h.rq, h.req_mem, 16, false,
                                           true);

            qvirtqueue_add(h.qts, h.rq, h.rsp_mem + i * 64, 56, true, false);
            qtest_writew(h.qts, h.rq->avail + 4 + 2 * (idx % h.rq->size),
                         head);
            qtest_writew(h.qts, h.rq->avail + 2, idx + 1);
        }
        h.dev->bus->virtqueue_kick(h.dev, h.rq);
        for (int i = 0; i < n; i++) {
            qhz_used(&h, h.rq, &len);
            g_assert_cmpuint(len, ==, sizeof(struct virtio_hz_response));
        }
    }
    qhz_stop(&h);
}

/* -- reset -------------------------------------------------------------- */

static uint32_t resets(QHZ *h)
{
    uint8_t out[VIRTIO_HZ_MAX_RESPONSE];
    struct virtio_hz_read cursor = { 0 };
    const struct virtio_hz_status *s;

    g_assert_cmpuint(qhz_read(h, &cursor, out), ==, VIRTIO_HZ_OK);
    s = (const void *)(qhz_record(out, 0) + 1);
    return le32_to_cpu(s->resets);
}

static void test_reset(void *obj, void *data, QGuestAllocator *alloc)
{
    uint8_t doc[12];
    struct virtio_hz_hdr hdr = { .len = cpu_to_le32(16) };
    uint32_t before;
    QHZ h;

    start(&h, obj, alloc);
    before = resets(&h);
    qhz_restart(&h);
    g_assert_cmpuint(resets(&h), ==, before);   /* there was nothing to lose */
    qhz_doc8(doc, 1, 5);
    g_assert_cmpuint(qhz_declare(&h, "vm", 0, doc, 12, NULL), ==,
                     VIRTIO_HZ_OK);
    for (int i = 0; i < 20; i++) {
        /* Reset while the request may be anywhere on its way. */
        qtest_memwrite(h.qts, h.req_mem, &hdr, sizeof(hdr));
        h.rq->free_head = 0;
        qvirtqueue_add(h.qts, h.rq, h.req_mem, 16, false, true);
        qvirtqueue_add(h.qts, h.rq, h.rsp_mem, 64, true, false);
        qvirtqueue_kick(h.qts, h.dev, h.rq, 0);
        qhz_restart(&h);
        g_assert_cmpuint(resets(&h), ==, before + 1);
        g_assert_cmpuint(counter("standing-declarations"), ==, 0);
    }
    qtest_qmp_assert_success(h.qts, "{'execute': 'system_reset'}");
    qtest_qmp_eventwait(h.qts, "RESET");
    qhz_stop(&h);
}

/* -- run state ---------------------------------------------------------- */

static void test_stop(void *obj, void *data, QGuestAllocator *alloc)
{
    struct virtio_hz_hdr hdr = { .len = cpu_to_le32(16) };
    uint8_t out[VIRTIO_HZ_MAX_RESPONSE];
    struct virtio_hz_read cursor = { 0 };
    const struct virtio_hz_record *rec;
    const struct virtio_hz_status *s;
    uint32_t len;
    QHZ h;

    start(&h, obj, alloc);
    qtest_qmp_assert_success(h.qts, "{'execute': 'stop'}");
    qtest_memwrite(h.qts, h.req_mem, &hdr, sizeof(hdr));
    qvirtqueue_add(h.qts, h.rq, h.req_mem, 16, false, true);
    qvirtqueue_add(h.qts, h.rq, h.rsp_mem, 64, true, false);
    qvirtqueue_kick(h.qts, h.dev, h.rq, 0);
    qtest_qmp_assert_success(h.qts, "{'execute': 'query-status'}");
    qtest_clock_step(h.qts, 1000);
    g_assert_false(qvirtqueue_get_buf(h.qts, h.rq, NULL, &len));
    qtest_qmp_assert_success(h.qts, "{'execute': 'cont'}");
    qhz_used(&h, h.rq, &len);
    g_assert_cmpuint(len, ==, sizeof(struct virtio_hz_response));

    g_assert_cmpuint(qhz_read(&h, &cursor, out), ==, VIRTIO_HZ_OK);
    rec = qhz_record(out, 0);
    s = (const void *)(rec + 1);
    g_assert_cmpuint(le16_to_cpu(s->reason), ==, VIRTIO_HZ_WHY_PAUSE);
    /* At least the 1000 ns of the clock step; no test bounds it above. */
    g_assert_cmpuint(le64_to_cpu(s->pause_ns), >, 1000);
    g_assert_cmpuint(le64_to_cpu(s->pause_ns), <, QHZ_WAIT_US * 1000ull);
    qhz_stop(&h);
}

/* -- transports and rings ----------------------------------------------- */

static void test_access_platform(void *obj, void *data, QGuestAllocator *alloc)
{
    QVirtioHZPCI *dev = obj;
    QHZ h;

    qhz_start(&h, global_qtest, &dev->pci_vdev.vdev, alloc, 0);
    g_assert_true(h.dev->bus->get_guest_features(h.dev) &
                  (1ull << VIRTIO_F_IOMMU_PLATFORM));
    g_assert_cmpuint(qhz_withdraw(&h, "vm", 0, NULL), ==, VIRTIO_HZ_E_NOENT);
    qhz_stop(&h);
}

#define COMMON(field) offsetof(struct virtio_pci_common_cfg, field)
/* virtio_pci_modern_common_cfg's, which older headers lack */
#define COMMON_QUEUE_RESET 58

static void common_w(QVirtioPCIDevice *dev, unsigned at, uint16_t value)
{
    qpci_io_writew(dev->pdev, dev->bar, dev->common_cfg_offset + at, value);
}

static void common_q(QVirtioPCIDevice *dev, unsigned at, uint64_t value)
{
    qpci_io_writel(dev->pdev, dev->bar, dev->common_cfg_offset + at, value);
    qpci_io_writel(dev->pdev, dev->bar, dev->common_cfg_offset + at + 4,
                   value >> 32);
}

/* A driver that takes no feature at all. libqos would stop at that itself. */
static void test_no_version_1(void *obj, void *data, QGuestAllocator *alloc)
{
    QVirtioPCIDevice *dev = &((QVirtioHZPCI *)obj)->pci_vdev;
    uint32_t len;
    QHZ h;

    qhz_start(&h, global_qtest, &dev->vdev, alloc, 0);
    qvirtio_start_device(h.dev);
    common_q(dev, COMMON(guest_feature_select), 0);
    common_q(dev, COMMON(guest_feature_select), 1);
    h.dev->bus->set_status(h.dev, VIRTIO_CONFIG_S_ACKNOWLEDGE |
                           VIRTIO_CONFIG_S_DRIVER |
                           VIRTIO_CONFIG_S_FEATURES_OK);
    h.dev->bus->set_status(h.dev, VIRTIO_CONFIG_S_ACKNOWLEDGE |
                           VIRTIO_CONFIG_S_DRIVER |
                           VIRTIO_CONFIG_S_FEATURES_OK |
                           VIRTIO_CONFIG_S_DRIVER_OK);
    qvirtqueue_add(h.qts, h.rq, h.req_mem, 16, false, true);
    qvirtqueue_add(h.qts, h.rq, h.rsp_mem, 64, true, false);
    qvirtqueue_kick(h.qts, h.dev, h.rq, 0);
    qtest_qmp_assert_success(h.qts, "{'execute': 'query-status'}");
    qtest_clock_step(h.qts, 1000);
    g_assert_false(qvirtqueue_get_buf(h.qts, h.rq, NULL, &len));
    qhz_restart(&h);
    g_assert_cmpuint(qhz_withdraw(&h, "vm", 0, NULL), ==, VIRTIO_HZ_E_NOENT);
    qhz_stop(&h);
}

static void test_ring_reset(void *obj, void *data, QGuestAllocator *alloc)
{
    QVirtioPCIDevice *dev = &((QVirtioHZPCI *)obj)->pci_vdev;
    uint8_t doc[12], buf[VIRTIO_HZ_MAX_FRAME];
    struct virtio_hz_record *rec = (void *)buf;
    QHZ h;

    qhz_start(&h, global_qtest, &dev->vdev, alloc, 0);
    g_assert_true(h.dev->bus->get_guest_features(h.dev) &
                  (1ull << VIRTIO_F_RING_RESET));
    qhz_post_events(&h, 4, VIRTIO_HZ_MAX_FRAME);
    qhz_drain(&h);
    common_w(dev, COMMON(queue_select), VIRTIO_HZ_VQ_EVENT);
    common_w(dev, COMMON_QUEUE_RESET, 1);
    g_assert_cmpuint(qpci_io_readw(dev->pdev, dev->bar,
                                   dev->common_cfg_offset +
                                   COMMON_QUEUE_RESET), ==, 0);
    qhz_doc8(doc, 1, 5);
    g_assert_cmpuint(qhz_declare(&h, "vm", 0, doc, 12, NULL), ==,
                     VIRTIO_HZ_OK);
    qvirtqueue_cleanup(h.dev->bus, h.eq, alloc);
    h.eq = qvirtqueue_setup(h.dev, alloc, VIRTIO_HZ_VQ_EVENT);
    qhz_post_events(&h, 4, VIRTIO_HZ_MAX_FRAME);
    /* The bell goes on where it was: one entry is new. */
    qhz_bell(&h, buf, sizeof(buf));
    g_assert_cmphex(le16_to_cpu(rec->hdr.type), ==, VIRTIO_HZ_R_DECLARATION);
    g_assert_true(qhz_silent(&h));
    qhz_stop(&h);
}

/* A packed ring, by hand: libqos knows split ones only. */
static void test_packed(void *obj, void *data, QGuestAllocator *alloc)
{
    QVirtioPCIDevice *dev = &((QVirtioHZPCI *)obj)->pci_vdev;
    struct virtio_hz_hdr hdr = { .len = cpu_to_le32(16) };
    QTestState *qts = global_qtest;
    QVirtioDevice *d = &dev->vdev;
    uint64_t ring = guest_alloc(alloc, 4096), mem = guest_alloc(alloc, 4096);
    const unsigned num = 4;
    bool wrap = true;

    qvirtio_start_device(d);
    qvirtio_set_features(d, (1ull << VIRTIO_F_VERSION_1) |
                            (1ull << VIRTIO_F_RING_PACKED));
    common_w(dev, COMMON(queue_select), VIRTIO_HZ_VQ_REQUEST);
    common_w(dev, COMMON(queue_size), num);
    common_q(dev, COMMON(queue_desc_lo), ring);
    common_q(dev, COMMON(queue_avail_lo), ring + 2048);
    common_q(dev, COMMON(queue_used_lo), ring + 3072);
    qtest_memset(qts, ring, 0, 4096);
    common_w(dev, COMMON(queue_enable), 1);
    qvirtio_set_driver_ok(d);
    qtest_memwrite(qts, mem, &hdr, sizeof(hdr));

    /* Two descriptors a request, so the ring wraps at every second one. */
    for (int i = 0; i < 9; i++) {
        unsigned at = i * 2 % num;
        uint16_t avail = wrap ? 1 << VRING_PACKED_DESC_F_AVAIL
                              : 1 << VRING_PACKED_DESC_F_USED;
        uint64_t desc = ring + 16 * at;
        gint64 began = g_get_monotonic_time();
        uint16_t flags;

        qtest_writeq(qts, desc, mem);
        qtest_writel(qts, desc + 8, 16);
        qtest_writew(qts, desc + 12, i);
        qtest_writeq(qts, desc + 16, mem + 1024);
        qtest_writel(qts, desc + 24, 512);
        qtest_writew(qts, desc + 28, i);
        qtest_writew(qts, desc + 30, avail | IN);
        qtest_writew(qts, desc + 14, avail | NEXT);
        qpci_io_writew(dev->pdev, dev->bar, dev->notify_cfg_offset,
                       VIRTIO_HZ_VQ_REQUEST);
        do {
            qtest_clock_step(qts, 100);
            g_assert_cmpint(g_get_monotonic_time() - began, <=, QHZ_WAIT_US);
            flags = qtest_readw(qts, desc + 14);
        } while (!!(flags & 1 << VRING_PACKED_DESC_F_USED) != wrap ||
                 !!(flags & 1 << VRING_PACKED_DESC_F_AVAIL) != wrap);
        g_assert_cmpuint(qtest_readw(qts, desc + 12), ==, i);
        g_assert_cmpuint(qtest_readl(qts, desc + 8), ==,
                         sizeof(struct virtio_hz_response));
        g_assert_cmpuint(qtest_readl(qts, mem + 1024 + 16), ==,
                         VIRTIO_HZ_E_UNSUPP);
        if (at + 2 == num) {
            wrap = !wrap;
        }
    }
    qvirtio_reset(d);
    guest_free(alloc, ring);
    guest_free(alloc, mem);
}

/* -- management --------------------------------------------------------- */

static void test_query(void *obj, void *data, QGuestAllocator *alloc)
{
    QDict *rsp, *status;
    char *text;

    rsp = qtest_qmp(global_qtest, "{'execute': 'x-query-virtio-status',"
                    " 'arguments': {'path':"
                    " '/machine/peripheral/hz/virtio-backend'}}");
    status = qdict_get_qdict(rsp, "return");
    g_assert_nonnull(status);
    g_assert_cmpstr(qdict_get_str(status, "name"), ==, "virtio-hz");
    g_assert_cmpint(qdict_get_int(status, "device-id"), ==, VIRTIO_ID_HZ);
    g_assert_cmpint(qdict_get_int(status, "num-vqs"), ==, 2);
    qobject_unref(rsp);
    text = qtest_hmp(global_qtest, "info virtio-status "
                     "/machine/peripheral/hz/virtio-backend");
    g_assert_nonnull(strstr(text, "virtio-hz"));
    g_free(text);
}

static void test_second(void *obj, void *data, QGuestAllocator *alloc)
{
    QDict *rsp = qtest_qmp(global_qtest, "{'execute': 'device_add',"
                           " 'arguments': {'driver': 'virtio-hz-pci',"
                           " 'id': 'hz2', 'addr': '6'}}");
    QDict *error = qdict_get_qdict(rsp, "error");

    g_assert_nonnull(error);
    if (!strstr(qdict_get_str(error, "desc"), "hotplug")) {
        g_assert_cmpstr(qdict_get_str(error, "desc"), ==,
                        "virtio-hz: a VM has one such device at most");
    }
    qobject_unref(rsp);
}

static void register_virtio_hz_test(void)
{
    QOSGraphTestOptions platform = {
        .edge.extra_device_opts = "iommu_platform=on",
    };
    QOSGraphTestOptions packed = { .edge.extra_device_opts = "packed=on" };

    qos_add_test("config", "virtio-hz", test_config, NULL);
    qos_add_test("declare", "virtio-hz", test_declare, NULL);
    qos_add_test("wrong-requests", "virtio-hz", test_wrong_requests, NULL);
    qos_add_test("random", "virtio-hz", test_random, NULL);
    qos_add_test("full", "virtio-hz", test_full, NULL);
    qos_add_test("chained", "virtio-hz", test_chained, NULL);
    qos_add_test("malformed", "virtio-hz", test_malformed, NULL);
    qos_add_test("bad-head", "virtio-hz", test_bad_head, NULL);
    qos_add_test("bell", "virtio-hz", test_bell, NULL);
    qos_add_test("small-bell", "virtio-hz", test_small_bell, NULL);
    qos_add_test("flood", "virtio-hz", test_flood, NULL);
    qos_add_test("full-ring", "virtio-hz", test_full_ring, NULL);
    qos_add_test("reset", "virtio-hz", test_reset, NULL);
    qos_add_test("stop", "virtio-hz", test_stop, NULL);
    qos_add_test("query", "virtio-hz", test_query, NULL);
    qos_add_test("no-version-1", "virtio-hz-pci", test_no_version_1, NULL);
    qos_add_test("ring-reset", "virtio-hz-pci", test_ring_reset, NULL);
    qos_add_test("second", "virtio-hz-pci", test_second, NULL);
    qos_add_test("access-platform", "virtio-hz-pci", test_access_platform,
                 &platform);
    qos_add_test("packed", "virtio-hz-pci", test_packed, &packed);
}

libqos_init(register_virtio_hz_test);
