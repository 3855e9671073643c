/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libqos: virtio-hz on PCI and MMIO as qos graph nodes, and a driver of it
 * small enough to be misused by tests.
 */
#ifndef TESTS_LIBQOS_VIRTIO_HZ_H
#define TESTS_LIBQOS_VIRTIO_HZ_H

#include "qgraph.h"
#include "virtio.h"
#include "virtio-pci.h"
#include "standard-headers/linux/virtio_hz.h"

typedef struct QVirtioHZ {
    QVirtioDevice *vdev;
} QVirtioHZ;

typedef struct QVirtioHZPCI {
    QVirtioPCIDevice pci_vdev;
    QVirtioHZ hz;
} QVirtioHZPCI;

typedef struct QVirtioHZDevice {
    QOSGraphObject obj;
    QVirtioHZ hz;
} QVirtioHZDevice;

#define QHZ_EVENTS_MAX 64

/* A started driver. Descriptor i of the event queue is event buffer i. */
typedef struct QHZ {
    QTestState *qts;
    QVirtioDevice *dev;
    QGuestAllocator *alloc;
    QVirtQueue *rq;
    QVirtQueue *eq;
    uint64_t req_mem;
    uint64_t rsp_mem;
    uint64_t event_mem;
    uint32_t event_size;
    uint64_t cookie;
} QHZ;

#define QHZ_WAIT_US (30 * 1000 * 1000)

/* libqos sets up queues of legacy MMIO only: let @dev, on MMIO, be modern. */
void qhz_mmio_modern(QVirtioDevice *dev);

/* Reset and start @dev with every feature offered but @without. */
void qhz_start(QHZ *h, QTestState *qts, QVirtioDevice *dev,
               QGuestAllocator *alloc, uint64_t without);
/* The same driver after a reset of the device. */
void qhz_restart(QHZ *h);
/* Let go of the queues' memory. */
void qhz_stop(QHZ *h);

/* Wait for @vq's next used element: its descriptor; the length in *@len. */
uint32_t qhz_used(QHZ *h, QVirtQueue *vq, uint32_t *len);

/* One request in one descriptor each way. Bytes used in @rsp. */
uint32_t qhz_request(QHZ *h, const void *req, size_t len, void *rsp,
                     size_t cap);

/* Requests by name. Their status; the response's head in *@rsp if not NULL. */
uint32_t qhz_declare(QHZ *h, const char *subject, uint64_t replaces,
                     const void *doc, uint16_t doc_len,
                     struct virtio_hz_response *rsp);
uint32_t qhz_withdraw(QHZ *h, const char *subject, uint64_t replaces,
                      struct virtio_hz_response *rsp);
uint32_t qhz_reply(QHZ *h, const uint8_t *id, uint32_t revision, uint16_t code,
                   uint64_t arg, const void *doc, uint16_t doc_len);
/* READ on from *@cursor and move it. @out holds VIRTIO_HZ_MAX_RESPONSE. */
uint32_t qhz_read(QHZ *h, struct virtio_hz_read *cursor, void *out);

/* Post @n event buffers of @size bytes. */
void qhz_post_events(QHZ *h, unsigned n, uint32_t size);
/* Wait for a bell, copy it to @rec and post its buffer again. Its length. */
uint32_t qhz_bell(QHZ *h, void *rec, size_t cap);
/* Take bells until the device has no more. */
void qhz_drain(QHZ *h);
/* Has the device, all caught up, rung nothing? */
bool qhz_silent(QHZ *h);

/* A document of one 8-byte field. Its length, 12. */
size_t qhz_doc8(uint8_t *doc, uint16_t id, uint64_t value);

/* Record @n of a READ response, NULL when there are fewer. */
const struct virtio_hz_record *qhz_record(const void *rsp, unsigned n);

#endif
