/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libqos: virtio-hz on PCI and MMIO, as qos graph nodes.
 */
#include "qemu/osdep.h"
#include "../libqtest.h"
#include "qemu/module.h"
#include "qgraph.h"
#include "virtio-hz.h"

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
    QOSGraphEdgeOptions opts = { .extra_device_opts = "addr=04.0" };

    qos_node_create_driver("virtio-hz-device", virtio_hz_device_create);
    qos_node_consumes("virtio-hz-device", "virtio-bus", NULL);
    qos_node_produces("virtio-hz-device", "virtio");
    qos_node_produces("virtio-hz-device", "virtio-hz");

    add_qpci_address(&opts, &addr);
    qos_node_create_driver("virtio-hz-pci", virtio_hz_pci_create);
    qos_node_consumes("virtio-hz-pci", "pci-bus", &opts);
    qos_node_produces("virtio-hz-pci", "pci-device");
    qos_node_produces("virtio-hz-pci", "virtio");
    qos_node_produces("virtio-hz-pci", "virtio-hz");
}

libqos_init(virtio_hz_register_nodes);
