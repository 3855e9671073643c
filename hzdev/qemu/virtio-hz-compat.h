/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-hz: what differs between the QEMU versions it is built in, 7.2 to
 * 11.x. Included after qemu/osdep.h and nowhere but in the device's sources.
 */
#ifndef QEMU_VIRTIO_HZ_COMPAT_H
#define QEMU_VIRTIO_HZ_COMPAT_H

#if __has_include("hw/core/qdev-properties.h")
#include "hw/core/qdev-properties.h"
#include "hw/core/qdev-properties-system.h"
#else
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#endif

#if __has_include("system/runstate.h")
#include "system/replay.h"
#include "system/runstate.h"
#include "system/system.h"
#else
#include "sysemu/replay.h"
#include "sysemu/runstate.h"
#include "sysemu/sysemu.h"
#endif

#define HZ_QEMU_SINCE(major, minor) \
    (QEMU_VERSION_MAJOR > (major) || \
     (QEMU_VERSION_MAJOR == (major) && QEMU_VERSION_MINOR >= (minor)))

/* The second argument of class_init became const. */
#if HZ_QEMU_SINCE(10, 1)
typedef const void HZClassData;
#else
typedef void HZClassData;
#endif

/* Property arrays became const when they lost their end marker. */
#ifdef DEFINE_PROP_END_OF_LIST
typedef Property HZProperty;
#define HZ_PROPERTIES_END DEFINE_PROP_END_OF_LIST()
#else
typedef const Property HZProperty;
#define HZ_PROPERTIES_END
#endif

/* VirtioDeviceClass.set_status may refuse. */
#if HZ_QEMU_SINCE(10, 1)
#define HZ_SET_STATUS_REFUSES 1
#else
#define HZ_SET_STATUS_REFUSES 0
#endif

/* The chardev's user side was renamed. */
#if HZ_QEMU_SINCE(10, 2)
typedef CharFrontend HZCharFrontend;
#else
typedef CharBackend HZCharFrontend;
#endif

#endif /* QEMU_VIRTIO_HZ_COMPAT_H */
