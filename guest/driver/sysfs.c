// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtio_hz: /sys/class/misc/hz/. What a person or a script wants to know
 * without opening /dev/hz.
 */
#include <linux/device.h>

#include "hz.h"
#include "virtio_hz_compat.h"

static struct hz_dev *hz_of(struct device *dev)
{
	return container_of(dev_get_drvdata(dev), struct hz_dev, misc);
}

/* HZ_ATTR(name, format, expression of hz): a read-only attribute, read under the lock. */
#define HZ_ATTR(_name, _type, _format, _value)						\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct hz_dev *hz = hz_of(dev);							\
	_type value;									\
											\
	spin_lock_irq(&hz->lock);							\
	value = _value;									\
	spin_unlock_irq(&hz->lock);							\
	return hz_emit(buf, _format "\n", value);					\
}											\
static DEVICE_ATTR_RO(_name)

HZ_ATTR(version, unsigned int, "%u", hz->limits.version);
HZ_ATTR(disruption, u64, "%llu", hz->mirror.disruption);
HZ_ATTR(board_version, u64, "%llu", hz->mirror.version);
HZ_ATTR(provider, unsigned int, "%u", !!(hz->mirror.status & VIRTIO_HZ_S_PROVIDER));
HZ_ATTR(declarations, unsigned int, "%u", hz_mirror_declarations(hz));
/* process id of the responder, 0 for none */
HZ_ATTR(responder, int, "%d", hz->responder_pid);

static ssize_t generation_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct hz_dev *hz = hz_of(dev);
	u8 generation[VIRTIO_HZ_UUID_LEN];

	spin_lock_irq(&hz->lock);
	memcpy(generation, hz->mirror.generation, sizeof(generation));
	spin_unlock_irq(&hz->lock);
	return hz_emit(buf, "%pUb\n", generation);
}
static DEVICE_ATTR_RO(generation);

static struct attribute *hz_attrs[] = {
	&dev_attr_version.attr,
	&dev_attr_disruption.attr,
	&dev_attr_board_version.attr,
	&dev_attr_provider.attr,
	&dev_attr_declarations.attr,
	&dev_attr_responder.attr,
	&dev_attr_generation.attr,
	NULL,
};

static const struct attribute_group hz_group = {
	.attrs = hz_attrs,
};

const struct attribute_group *hz_groups[] = {
	&hz_group,
	NULL,
};
