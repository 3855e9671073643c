// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtio_hz: the channel between a tenant and its provider, guest side.
 *
 * This file: finding the device, agreeing on a protocol, and its life:
 * suspend, a reset it asks for, removal with files still open. The theory of
 * operation is in hz.h.
 */
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "hz.h"
#include "virtio_hz_compat.h"

/* 0 when requests can be sent, or why they can't. May be read without the lock. */
int hz_state(const struct hz_dev *hz)
{
	if (READ_ONCE(hz->gone))
		return -ENODEV;
	if (READ_ONCE(hz->broken))
		return -EIO;
	return READ_ONCE(hz->up) ? 0 : -EAGAIN;
}

void hz_wake(struct hz_dev *hz)
{
	wake_up_interruptible(&hz->news);
	wake_up_all(&hz->settled);
}

/* Locked. The device can't be trusted any more: nothing it says is looked at until a reset. */
void hz_break(struct hz_dev *hz, const char *why)
{
	if (hz->broken || hz->gone)
		return;
	dev_err(&hz->vdev->dev, "gave up on the device: %s\n", why);
	hz->broken = true;
	wake_up_interruptible(&hz->news);
	wake_up_all(&hz->settled);
}

/* -- agreeing with the device -------------------------------------------- */

static int hz_range(struct virtio_device *vdev, const char *what, u16 value, u16 least, u16 most)
{
	if (value >= least && value <= most)
		return 0;
	dev_err(&vdev->dev, "%s is %u, outside %u to %u\n", what, value, least, most);
	return -EINVAL;
}

/* The id is provisional: the magic says whether this is such a device at all. */
static int hz_handshake(struct virtio_device *vdev, struct hz_limits *limits,
			struct virtio_hz_config *c)
{
	u16 version, version_min;

	virtio_cread_bytes(vdev, 0, c, sizeof(*c));
	if (le32_to_cpu(c->magic) != VIRTIO_HZ_MAGIC) {
		dev_info(&vdev->dev, "not virtio-hz: magic %#x, not %#x\n",
			 le32_to_cpu(c->magic), VIRTIO_HZ_MAGIC);
		return -ENODEV;
	}
	version = le16_to_cpu(c->version);
	version_min = le16_to_cpu(c->version_min);
	if (version_min > version || version_min > VIRTIO_HZ_VERSION ||
	    version < VIRTIO_HZ_VERSION_MIN) {
		dev_err(&vdev->dev, "speaks protocol %u to %u, this driver %u to %u\n",
			version_min, version, VIRTIO_HZ_VERSION_MIN, VIRTIO_HZ_VERSION);
		return -EPROTONOSUPPORT;
	}
	limits->version = min_t(u16, version, VIRTIO_HZ_VERSION);
	limits->declarations = le16_to_cpu(c->max_declarations);
	limits->notices = le16_to_cpu(c->max_notices);
	limits->doc = le16_to_cpu(c->max_doc);
	return hz_range(vdev, "max_declarations", limits->declarations, 1,
			VIRTIO_HZ_MAX_DECLARATIONS) ?:
	       hz_range(vdev, "max_notices", limits->notices, 1, VIRTIO_HZ_MAX_NOTICES) ?:
	       hz_range(vdev, "max_doc", limits->doc, sizeof(struct virtio_hz_field),
			VIRTIO_HZ_MAX_DOC);
}

static int hz_validate(struct virtio_device *vdev)
{
	if (!vdev->config->get) {
		dev_err(&vdev->dev, "its config space can't be read\n");
		return -EINVAL;
	}
	if (!virtio_has_feature(vdev, VIRTIO_F_VERSION_1)) {
		dev_err(&vdev->dev, "a legacy device: VIRTIO_F_VERSION_1 is required\n");
		return -ENODEV;
	}
	return 0;
}

/* -- a changed configuration, a wish to be reset ------------------------- */

/* As the virtio core does it at probe, for the features it chose then. */
static int hz_renegotiate(struct virtio_device *vdev)
{
	int err;

	virtio_add_status(vdev, VIRTIO_CONFIG_S_ACKNOWLEDGE);
	virtio_add_status(vdev, VIRTIO_CONFIG_S_DRIVER);
	err = vdev->config->finalize_features(vdev);
	if (err)
		return err;
	virtio_add_status(vdev, VIRTIO_CONFIG_S_FEATURES_OK);
	return vdev->config->get_status(vdev) & VIRTIO_CONFIG_S_FEATURES_OK ? 0 : -ENODEV;
}

static int hz_up_again(struct hz_dev *hz)
{
	struct virtio_hz_config config;
	struct hz_limits limits;
	int err;

	err = hz_handshake(hz->vdev, &limits, &config);
	if (!err) {
		spin_lock_irq(&hz->lock);
		hz->limits = limits;
		spin_unlock_irq(&hz->lock);
		err = hz_queues_up(hz);
	}
	if (err) {
		spin_lock_irq(&hz->lock);
		hz_break(hz, "it can't be set up again");
		spin_unlock_irq(&hz->lock);
	}
	return err;
}

static void hz_reinit(struct hz_dev *hz)
{
	struct virtio_device *vdev = hz->vdev;
	int err;

	if (time_after(jiffies, hz->reset_at + HZ_RESET_PERIOD))
		hz->resets = 0;
	hz->reset_at = jiffies;
	if (++hz->resets > HZ_RESET_TRIES) {
		spin_lock_irq(&hz->lock);
		hz_break(hz, "it asks to be reset over and over");
		spin_unlock_irq(&hz->lock);
		return;
	}
	dev_warn(&vdev->dev, "the device needs a reset: declarations and replies are lost\n");
	hz_queues_down(hz, -EAGAIN);
	err = hz_renegotiate(vdev);
	if (err) {
		dev_err(&vdev->dev, "it no longer agrees to its features: %d\n", err);
		spin_lock_irq(&hz->lock);
		hz_break(hz, "it can't be set up again");
		spin_unlock_irq(&hz->lock);
		return;
	}
	hz_up_again(hz);
}

static void hz_config_work(struct work_struct *work)
{
	struct hz_dev *hz = container_of(work, struct hz_dev, config_work);
	u8 status = hz->vdev->config->get_status(hz->vdev);

	if (status == 0xff)		/* pulled out: removal follows */
		return;
	if (status & VIRTIO_CONFIG_S_NEEDS_RESET) {
		hz_reinit(hz);
		return;
	}
	spin_lock_irq(&hz->lock);
	hz_reading_want(hz);
	spin_unlock_irq(&hz->lock);
}

static void hz_config_changed(struct virtio_device *vdev)
{
	struct hz_dev *hz = vdev->priv;
	unsigned long flags;

	spin_lock_irqsave(&hz->lock, flags);
	if (!hz->hold)
		schedule_work(&hz->config_work);
	spin_unlock_irqrestore(&hz->lock, flags);
}

/* -- the object ---------------------------------------------------------- */

static void hz_dev_release(struct kref *ref)
{
	struct hz_dev *hz = container_of(ref, struct hz_dev, ref);

	hz_msg_put(hz->reading.msg);
	hz_subjects_free(hz);
	hz_events_free(hz);
	hz_mirror_free(hz);
	kfree(hz);
}

void hz_dev_put(struct hz_dev *hz)
{
	kref_put(&hz->ref, hz_dev_release);
}

static struct hz_dev *hz_dev_new(struct virtio_device *vdev)
{
	struct hz_dev *hz = kzalloc(sizeof(*hz), GFP_KERNEL);

	if (!hz)
		return NULL;
	kref_init(&hz->ref);
	hz->vdev = vdev;
	spin_lock_init(&hz->lock);
	INIT_LIST_HEAD(&hz->backlog);
	INIT_LIST_HEAD(&hz->inflight);
	init_waitqueue_head(&hz->news);
	init_waitqueue_head(&hz->settled);
	INIT_WORK(&hz->config_work, hz_config_work);
	INIT_WORK(&hz->event_work, hz_event_work);
	INIT_WORK(&hz->reading.work, hz_reading_work);
	hz->misc.minor = MISC_DYNAMIC_MINOR;
	hz->misc.name = "hz";
	hz->misc.fops = &hz_fops;
	hz->misc.groups = hz_groups;
	hz->misc.parent = &vdev->dev;
	hz->misc.mode = 0660;
	hz->reading.msg = hz_msg_new(VIRTIO_HZ_T_READ, sizeof(struct virtio_hz_read),
				     VIRTIO_HZ_MAX_RESPONSE);
	if (!hz->reading.msg || hz_events_alloc(hz) || hz_subjects_alloc(hz)) {
		hz_dev_put(hz);
		return NULL;
	}
	return hz;
}

/* No more work from here on, and with @gone no more of anything. */
static void hz_quiesce(struct hz_dev *hz, bool gone)
{
	spin_lock_irq(&hz->lock);
	hz->hold = true;
	if (gone)
		hz->gone = true;
	spin_unlock_irq(&hz->lock);
	hz_wake(hz);
	cancel_work_sync(&hz->config_work);
}

static int hz_probe(struct virtio_device *vdev)
{
	struct virtio_hz_config config;
	struct hz_limits limits;
	struct hz_dev *hz;
	int err;

	err = hz_handshake(vdev, &limits, &config);
	if (err)
		return err;
	hz = hz_dev_new(vdev);
	if (!hz)
		return -ENOMEM;
	hz->limits = limits;
	hz->mirror.status = le16_to_cpu(config.status);
	memcpy(hz->mirror.generation, config.generation, VIRTIO_HZ_UUID_LEN);
	vdev->priv = hz;
	err = hz_queues_up(hz);
	if (err)
		goto put;
	err = misc_register(&hz->misc);
	if (err) {
		dev_err(&vdev->dev, "can't make /dev/hz (is there a second device?): %d\n", err);
		goto down;
	}
	return 0;

down:
	hz_quiesce(hz, true);
	hz_queues_down(hz, -ENODEV);
put:
	hz_dev_put(hz);
	return err;
}

static void hz_remove(struct virtio_device *vdev)
{
	struct hz_dev *hz = vdev->priv;

	hz_quiesce(hz, true);
	misc_deregister(&hz->misc);
	hz_queues_down(hz, -ENODEV);
	hz_reset_device(vdev);		/* it may be down because it couldn't be set up again */
	hz_dev_put(hz);
}

#ifdef CONFIG_PM_SLEEP
static int hz_freeze(struct virtio_device *vdev)
{
	struct hz_dev *hz = vdev->priv;

	hz_quiesce(hz, false);
	hz_queues_down(hz, -EAGAIN);
	return 0;
}

static int hz_restore(struct virtio_device *vdev)
{
	struct hz_dev *hz = vdev->priv;

	spin_lock_irq(&hz->lock);
	hz->hold = false;
	spin_unlock_irq(&hz->lock);
	return hz_up_again(hz);
}
#endif

static const struct virtio_device_id hz_ids[] = {
	{ VIRTIO_ID_HZ, VIRTIO_DEV_ANY_ID },
	{ 0 },
};
MODULE_DEVICE_TABLE(virtio, hz_ids);

static struct virtio_driver hz_driver = {
	.driver.name	= KBUILD_MODNAME,
	.driver.owner	= THIS_MODULE,
	.id_table	= hz_ids,
	.validate	= hz_validate,
	.probe		= hz_probe,
	.remove		= hz_remove,
	.config_changed	= hz_config_changed,
#ifdef CONFIG_PM_SLEEP
	.freeze		= hz_freeze,
	.restore	= hz_restore,
#endif
};
module_virtio_driver(hz_driver);

MODULE_DESCRIPTION("virtio-hz: a guest's declarations and its provider's notices");
MODULE_AUTHOR("The hz project");
MODULE_LICENSE("GPL");
MODULE_VERSION(HZ_VERSION);
