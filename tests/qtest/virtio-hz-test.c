/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-hz: qtests of the device.
 */
#include "qemu/osdep.h"
#include "libqtest.h"
#include "qemu/module.h"
#include "libqos/qgraph.h"
#include "libqos/virtio-hz.h"
#include "standard-headers/linux/virtio_hz.h"

static void test_config(void *obj, void *data, QGuestAllocator *alloc)
{
    QVirtioHZ *hz = obj;

    g_assert_cmphex(qvirtio_config_readl(hz->vdev, 0), ==, VIRTIO_HZ_MAGIC);
}

static void register_virtio_hz_test(void)
{
    qos_add_test("config", "virtio-hz", test_config, NULL);
}

libqos_init(register_virtio_hz_test);
