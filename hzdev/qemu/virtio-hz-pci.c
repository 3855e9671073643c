/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-hz-pci: virtio-hz on PCI, modern only (1af4:107c).
 */
#include "qemu/osdep.h"
#include "hw/virtio/virtio-pci.h"
#include "virtio-hz.h"
#include "qapi/error.h"
#include "qemu/module.h"

#define TYPE_VIRTIO_HZ_PCI "virtio-hz-pci-base"
OBJECT_DECLARE_SIMPLE_TYPE(VirtIOHZPCI, VIRTIO_HZ_PCI)

struct VirtIOHZPCI {
    VirtIOPCIProxy parent_obj;
    VirtIOHZ vdev;
};

static HZProperty virtio_hz_pci_properties[] = {
    DEFINE_PROP_BIT("ioeventfd", VirtIOPCIProxy, flags,
                    VIRTIO_PCI_FLAG_USE_IOEVENTFD_BIT, true),
    DEFINE_PROP_UINT32("vectors", VirtIOPCIProxy, nvectors,
                       DEV_NVECTORS_UNSPECIFIED),
    HZ_PROPERTIES_END
};

static void virtio_hz_pci_realize(VirtIOPCIProxy *vpci_dev, Error **errp)
{
    VirtIOHZPCI *dev = VIRTIO_HZ_PCI(vpci_dev);

    if (vpci_dev->nvectors == DEV_NVECTORS_UNSPECIFIED) {
        vpci_dev->nvectors = 3;         /* config, request, event */
    }
    virtio_pci_force_virtio_1(vpci_dev);
    qdev_realize(DEVICE(&dev->vdev), BUS(&vpci_dev->bus), errp);
}

static void virtio_hz_pci_class_init(ObjectClass *klass, HZClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    VirtioPCIClass *k = VIRTIO_PCI_CLASS(klass);
    PCIDeviceClass *pcidev_k = PCI_DEVICE_CLASS(klass);

    device_class_set_props(dc, virtio_hz_pci_properties);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    k->realize = virtio_hz_pci_realize;
    pcidev_k->vendor_id = PCI_VENDOR_ID_REDHAT_QUMRANET;
    pcidev_k->revision = VIRTIO_PCI_ABI_VERSION;
    pcidev_k->class_id = PCI_CLASS_OTHERS;
}

static void virtio_hz_pci_init(Object *obj)
{
    static const char *const counters[] = {
        "bells", "refusals", "link-sessions",
        "standing-declarations", "standing-notices",
    };
    VirtIOHZPCI *dev = VIRTIO_HZ_PCI(obj);
    int i;

    virtio_instance_init_common(obj, &dev->vdev, sizeof(dev->vdev),
                                TYPE_VIRTIO_HZ);
    /* Older QEMUs alias qdev properties only. */
    for (i = 0; i < ARRAY_SIZE(counters); i++) {
        if (!object_property_find(obj, counters[i])) {
            object_property_add_alias(obj, counters[i], OBJECT(&dev->vdev),
                                      counters[i]);
        }
    }
}

static const VirtioPCIDeviceTypeInfo virtio_hz_pci_info = {
    .base_name = TYPE_VIRTIO_HZ_PCI,
    .generic_name = "virtio-hz-pci",
    .instance_size = sizeof(VirtIOHZPCI),
    .instance_init = virtio_hz_pci_init,
    .class_init = virtio_hz_pci_class_init,
};

static void virtio_hz_pci_register_types(void)
{
    virtio_pci_types_register(&virtio_hz_pci_info);
}

type_init(virtio_hz_pci_register_types)
