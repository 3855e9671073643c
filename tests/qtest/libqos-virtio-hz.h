/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libqos: virtio-hz on PCI and MMIO, as qos graph nodes.
 */
#ifndef TESTS_LIBQOS_VIRTIO_HZ_H
#define TESTS_LIBQOS_VIRTIO_HZ_H

#include "qgraph.h"
#include "virtio.h"
#include "virtio-pci.h"

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

#endif
