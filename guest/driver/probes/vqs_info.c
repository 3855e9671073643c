// SPDX-License-Identifier: GPL-2.0-or-later
/* virtio_find_vqs() takes an array of struct virtqueue_info. */
#include <linux/virtio_config.h>

int hz_probe(struct virtio_device *vdev, struct virtqueue *vqs[]);
int hz_probe(struct virtio_device *vdev, struct virtqueue *vqs[])
{
	struct virtqueue_info info[] = { { "name", NULL } };

	return virtio_find_vqs(vdev, 1, vqs, info, NULL);
}
