/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libqos: virtio-hz on PCI and MMIO as qos graph nodes, and a driver of it
 * small enough to be misused by tests.
 */
#include "qemu/osdep.h"
#include "../libqtest.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "qgraph.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_ring.h"
#include "standard-headers/linux/virtio_mmio.h"
#include "virtio-hz.h"
#include "virtio-mmio.h"

/* -- modern MMIO -------------------------------------------------------- */

static void mmio_writeq(QVirtioMMIODevice *dev, uint64_t at, uint64_t value)
{
    qtest_writel(dev->qts, dev->addr + at, value);
    qtest_writel(dev->qts, dev->addr + at + 4, value >> 32);
}

static QVirtQueue *mmio_virtqueue_setup(QVirtioDevice *d,
                                        QGuestAllocator *alloc, uint16_t index)
{
    QVirtioMMIODevice *dev = container_of(d, QVirtioMMIODevice, vdev);
    QVirtQueue *vq = qvirtio_mmio.virtqueue_setup(d, alloc, index);

    mmio_writeq(dev, VIRTIO_MMIO_QUEUE_DESC_LOW, vq->desc);
    mmio_writeq(dev, VIRTIO_MMIO_QUEUE_AVAIL_LOW, vq->avail);
    mmio_writeq(dev, VIRTIO_MMIO_QUEUE_USED_LOW, vq->used);
    qtest_writel(dev->qts, dev->addr + VIRTIO_MMIO_QUEUE_READY, 1);
    return vq;
}

void qhz_mmio_modern(QVirtioDevice *dev)
{
    static QVirtioBus modern;

    modern = qvirtio_mmio;
    modern.virtqueue_setup = mmio_virtqueue_setup;
    dev->bus = &modern;
}

/* -- driver ------------------------------------------------------------- */

static void qhz_set_up_queues(QHZ *h)
{
    h->rq = qvirtqueue_setup(h->dev, h->alloc, VIRTIO_HZ_VQ_REQUEST);
    h->eq = qvirtqueue_setup(h->dev, h->alloc, VIRTIO_HZ_VQ_EVENT);
}

static void qhz_negotiate(QHZ *h, uint64_t without)
{
    uint64_t features = qvirtio_get_features(h->dev);

    qvirtio_start_device(h->dev);
    features &= ~(QVIRTIO_F_BAD_FEATURE | without |
                  (1ull << VIRTIO_RING_F_EVENT_IDX) |
                  (1ull << VIRTIO_F_RING_PACKED));
    qvirtio_set_features(h->dev, features);
}

void qhz_start(QHZ *h, QTestState *qts, QVirtioDevice *dev,
               QGuestAllocator *alloc, uint64_t without)
{
    memset(h, 0, sizeof(*h));
    h->qts = qts;
    h->dev = dev;
    h->alloc = alloc;
    h->req_mem = guest_alloc(alloc, 2 * VIRTIO_HZ_MAX_FRAME);
    h->rsp_mem = guest_alloc(alloc, VIRTIO_HZ_MAX_RESPONSE);
    h->event_mem = guest_alloc(alloc, QHZ_EVENTS_MAX * VIRTIO_HZ_MAX_FRAME);
    qhz_negotiate(h, without);
    qhz_set_up_queues(h);
    qvirtio_set_driver_ok(dev);
}

static void qhz_drop_queues(QHZ *h)
{
    qvirtqueue_cleanup(h->dev->bus, h->rq, h->alloc);
    qvirtqueue_cleanup(h->dev->bus, h->eq, h->alloc);
}

void qhz_restart(QHZ *h)
{
    qhz_drop_queues(h);
    qhz_negotiate(h, 0);
    qhz_set_up_queues(h);
    qvirtio_set_driver_ok(h->dev);
}

void qhz_stop(QHZ *h)
{
    qhz_drop_queues(h);
    guest_free(h->alloc, h->req_mem);
    guest_free(h->alloc, h->rsp_mem);
    guest_free(h->alloc, h->event_mem);
}

uint32_t qhz_used(QHZ *h, QVirtQueue *vq, uint32_t *len)
{
    gint64 start = g_get_monotonic_time();
    uint32_t desc;

    while (!qvirtqueue_get_buf(h->qts, vq, &desc, len)) {
        qtest_clock_step(h->qts, 100);
        g_assert_cmpint(g_get_monotonic_time() - start, <=, QHZ_WAIT_US);
    }
    return desc;
}

uint32_t qhz_request(QHZ *h, const void *req, size_t len, void *rsp,
                     size_t cap)
{
    uint32_t head, used;

    g_assert_cmpuint(len, <=, 2 * VIRTIO_HZ_MAX_FRAME);
    qtest_memwrite(h->qts, h->req_mem, req, len);
    qtest_memset(h->qts, h->rsp_mem, 0xaa, cap);
    h->rq->free_head = 0;
    h->rq->num_free = h->rq->size;
    head = qvirtqueue_add(h->qts, h->rq, h->req_mem, len, false, true);
    qvirtqueue_add(h->qts, h->rq, h->rsp_mem, cap, true, false);
    qvirtqueue_kick(h->qts, h->dev, h->rq, head);
    g_assert_cmpuint(qhz_used(h, h->rq, &used), ==, head);
    g_assert_cmpuint(used, <=, cap);
    qtest_memread(h->qts, h->rsp_mem, rsp, cap);
    return used;
}

/* Send @req, check what every response has in common, give its status. */
static uint32_t qhz_ask(QHZ *h, void *req, size_t len, uint16_t type,
                        struct virtio_hz_response *rsp)
{
    struct virtio_hz_response mine;

    stl_le_p(req, len);
    stw_le_p((uint8_t *)req + 4, type);
    stw_le_p((uint8_t *)req + 6, 0);
    stq_le_p((uint8_t *)req + 8, ++h->cookie);
    if (!rsp) {
        rsp = &mine;
    }
    g_assert_cmpuint(qhz_request(h, req, len, rsp, sizeof(*rsp)), ==,
                     sizeof(*rsp));
    g_assert_cmpuint(le32_to_cpu(rsp->hdr.len), ==, sizeof(*rsp));
    g_assert_cmphex(le16_to_cpu(rsp->hdr.type), ==,
                    type | VIRTIO_HZ_T_RESPONSE);
    g_assert_cmpuint(le64_to_cpu(rsp->hdr.cookie), ==, h->cookie);
    return le32_to_cpu(rsp->status);
}

uint32_t qhz_declare(QHZ *h, const char *subject, uint64_t replaces,
                     const void *doc, uint16_t doc_len,
                     struct virtio_hz_response *rsp)
{
    size_t len = sizeof(struct virtio_hz_declare) + doc_len;
    g_autofree struct virtio_hz_declare *d = g_malloc0(len);

    g_strlcpy((char *)d->subject, subject, sizeof(d->subject));
    d->replaces = cpu_to_le64(replaces);
    d->doc_len = cpu_to_le16(doc_len);
    memcpy(d + 1, doc, doc_len);
    return qhz_ask(h, d, len, VIRTIO_HZ_T_DECLARE, rsp);
}

uint32_t qhz_withdraw(QHZ *h, const char *subject, uint64_t replaces,
                      struct virtio_hz_response *rsp)
{
    struct virtio_hz_withdraw w = { .replaces = cpu_to_le64(replaces) };

    g_strlcpy((char *)w.subject, subject, sizeof(w.subject));
    return qhz_ask(h, &w, sizeof(w), VIRTIO_HZ_T_WITHDRAW, rsp);
}

uint32_t qhz_reply(QHZ *h, const uint8_t *id, uint32_t revision, uint16_t code,
                   uint64_t arg, const void *doc, uint16_t doc_len)
{
    size_t len = sizeof(struct virtio_hz_reply) + doc_len;
    g_autofree struct virtio_hz_reply *r = g_malloc0(len);
    int i;

    memcpy(r->id, id, sizeof(r->id));
    for (i = 0; i < VIRTIO_HZ_UUID_LEN; i++) {
        r->generation[i] = qvirtio_config_readb(h->dev,
            offsetof(struct virtio_hz_config, generation) + i);
    }
    r->revision = cpu_to_le32(revision);
    r->code = cpu_to_le16(code);
    r->doc_len = cpu_to_le16(doc_len);
    r->arg = cpu_to_le64(arg);
    if (doc_len) {
        memcpy(r + 1, doc, doc_len);
    }
    return qhz_ask(h, r, len, VIRTIO_HZ_T_REPLY, NULL);
}

uint32_t qhz_read(QHZ *h, struct virtio_hz_read *cursor, void *out)
{
    struct virtio_hz_response *rsp = out;
    uint32_t len;

    cursor->hdr.len = cpu_to_le32(sizeof(*cursor));
    cursor->hdr.type = cpu_to_le16(VIRTIO_HZ_T_READ);
    cursor->hdr.cookie = cpu_to_le64(++h->cookie);
    len = qhz_request(h, cursor, sizeof(*cursor), out, VIRTIO_HZ_MAX_RESPONSE);
    g_assert_cmpuint(len, ==, le32_to_cpu(rsp->hdr.len));
    g_assert_cmpuint(le64_to_cpu(rsp->hdr.cookie), ==, h->cookie);
    if (!rsp->status) {
        cursor->disruption = rsp->disruption;
        cursor->since = rsp->version;
        cursor->floor = rsp->floor;
    }
    return le32_to_cpu(rsp->status);
}

void qhz_post_events(QHZ *h, unsigned n, uint32_t size)
{
    g_assert_cmpuint(n, <=, MIN(QHZ_EVENTS_MAX, h->eq->size));
    h->event_size = size;
    h->eq->free_head = 0;
    h->eq->num_free = h->eq->size;
    for (unsigned i = 0; i < n; i++) {
        uint32_t desc = qvirtqueue_add(h->qts, h->eq,
                                       h->event_mem + i * VIRTIO_HZ_MAX_FRAME,
                                       size, true, false);

        qvirtqueue_kick(h->qts, h->dev, h->eq, desc);
    }
}

uint32_t qhz_bell(QHZ *h, void *rec, size_t cap)
{
    uint32_t len, desc = qhz_used(h, h->eq, &len);

    g_assert_cmpuint(len, <=, MIN(cap, h->event_size));
    qtest_memread(h->qts, h->event_mem + desc * VIRTIO_HZ_MAX_FRAME, rec, len);
    qvirtqueue_kick(h->qts, h->dev, h->eq, desc);
    return len;
}

bool qhz_silent(QHZ *h)
{
    uint32_t len;

    /* Answered after the bells of one pass, so those are out by then. */
    g_assert_cmpuint(qhz_withdraw(h, "no-such-subject", 0, NULL), ==,
                     VIRTIO_HZ_E_NOENT);
    return !qvirtqueue_get_buf(h->qts, h->eq, NULL, &len);
}

void qhz_drain(QHZ *h)
{
    uint32_t desc, len;
    bool any;

    do {
        any = false;
        qhz_withdraw(h, "no-such-subject", 0, NULL);
        while (qvirtqueue_get_buf(h->qts, h->eq, &desc, &len)) {
            qvirtqueue_kick(h->qts, h->dev, h->eq, desc);
            any = true;
        }
    } while (any);
}

size_t qhz_doc8(uint8_t *doc, uint16_t id, uint64_t value)
{
    stw_le_p(doc, id);
    stw_le_p(doc + 2, 8);
    stq_le_p(doc + 4, value);
    return 12;
}

const struct virtio_hz_record *qhz_record(const void *rsp, unsigned n)
{
    const struct virtio_hz_response *r = rsp;
    const uint8_t *p = (const uint8_t *)(r + 1);

    if (n >= le32_to_cpu(r->count)) {
        return NULL;
    }
    while (n--) {
        p += ldl_le_p(p);
    }
    return (const struct virtio_hz_record *)p;
}

/* -- nodes -------------------------------------------------------------- */

static void *virtio_hz_get(QVirtioHZ *hz, const char *interface)
{
    if (!g_strcmp0(interface, "virtio-hz")) {
        return hz;
    }
    if (!g_strcmp0(interface, "virtio")) {
        return hz->vdev;
    }
    fprintf(stderr, "%s not present in virtio-hz\n", interface);
    g_assert_not_reached();
}

static void *virtio_hz_device_get(void *object, const char *interface)
{
    return virtio_hz_get(&((QVirtioHZDevice *)object)->hz, interface);
}

static void *virtio_hz_device_create(void *virtio_dev, QGuestAllocator *alloc,
                                     void *addr)
{
    QVirtioHZDevice *dev = g_new0(QVirtioHZDevice, 1);

    dev->hz.vdev = virtio_dev;
    qhz_mmio_modern(virtio_dev);
    dev->obj.get_driver = virtio_hz_device_get;
    return &dev->obj;
}

static void *virtio_hz_pci_get(void *object, const char *interface)
{
    QVirtioHZPCI *dev = object;

    if (!g_strcmp0(interface, "pci-device")) {
        return dev->pci_vdev.pdev;
    }
    return virtio_hz_get(&dev->hz, interface);
}

static void *virtio_hz_pci_create(void *pci_bus, QGuestAllocator *alloc,
                                  void *addr)
{
    QVirtioHZPCI *dev = g_new0(QVirtioHZPCI, 1);

    virtio_pci_init(&dev->pci_vdev, pci_bus, addr);
    dev->hz.vdev = &dev->pci_vdev.vdev;
    dev->pci_vdev.obj.get_driver = virtio_hz_pci_get;
    return &dev->pci_vdev.obj;
}

static void virtio_hz_register_nodes(void)
{
    QPCIAddress addr = { .devfn = QPCI_DEVFN(4, 0) };
    QOSGraphEdgeOptions opts = {
        .extra_device_opts = "id=hz -global virtio-mmio.force-legacy=false",
    };

    qos_node_create_driver("virtio-hz-device", virtio_hz_device_create);
    qos_node_consumes("virtio-hz-device", "virtio-bus", &opts);
    qos_node_produces("virtio-hz-device", "virtio");
    qos_node_produces("virtio-hz-device", "virtio-hz");

    opts.extra_device_opts = "id=hz,addr=04.0";
    add_qpci_address(&opts, &addr);
    qos_node_create_driver("virtio-hz-pci", virtio_hz_pci_create);
    qos_node_consumes("virtio-hz-pci", "pci-bus", &opts);
    qos_node_produces("virtio-hz-pci", "pci-device");
    qos_node_produces("virtio-hz-pci", "virtio");
    qos_node_produces("virtio-hz-pci", "virtio-hz");
}

libqos_init(virtio_hz_register_nodes);
