/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio_hz: kernels that differ, told apart by compiling probes/NAME.c.
 *
 * A distribution's kernel carries backports, so its version says little;
 * Kbuild compiles each probe and defines HZ_HAVE_NAME when that works.
 */
#ifndef VIRTIO_HZ_COMPAT_H
#define VIRTIO_HZ_COMPAT_H

#include <linux/mm.h>
#include <linux/sysfs.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

/* One array of descriptions since 6.11, two parallel ones before. */
static inline int hz_find_vqs(struct virtio_device *vdev, struct virtqueue *vqs[2],
			      vq_callback_t *request, vq_callback_t *event)
{
#ifdef HZ_HAVE_VQS_INFO
	struct virtqueue_info info[] = {
		{ "request", request },
		{ "event", event },
	};

	return virtio_find_vqs(vdev, 2, vqs, info, NULL);
#else
	vq_callback_t *callbacks[] = { request, event };
	static const char * const names[] = { "request", "event" };

	return virtio_find_vqs(vdev, 2, vqs, callbacks, names, NULL);
#endif
}

/* Since 5.17; it also waits for the callbacks to end. */
static inline void hz_reset_device(struct virtio_device *vdev)
{
#ifdef HZ_HAVE_RESET_DEVICE
	virtio_reset_device(vdev);
#else
	vdev->config->reset(vdev);
#endif
}

/* Since 5.10. */
#ifdef HZ_HAVE_SYSFS_EMIT
#define hz_emit(buf, ...)	sysfs_emit(buf, __VA_ARGS__)
#else
#define hz_emit(buf, ...)	scnprintf(buf, PAGE_SIZE, __VA_ARGS__)
#endif

#endif /* VIRTIO_HZ_COMPAT_H */
