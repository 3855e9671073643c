// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hz_liar: the transport. Config space, status, and the device's side of two rings.
 */
#include <linux/device.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "liar.h"

static struct liar *liar;
static struct device *parent;

static struct liar *to_liar(struct virtio_device *vdev)
{
	return container_of(vdev, struct liar, vdev);
}

/* -- the rings ----------------------------------------------------------- */

bool liar_pop(struct liar *l, unsigned int q, struct liar_chain *c)
{
	struct liar_queue *lq = &l->queue[q];
	struct vring *r = &lq->ring;
	u16 i;

	if (!lq->vq || lq->last_avail == virtio16_to_cpu(&l->vdev, READ_ONCE(r->avail->idx)))
		return false;
	smp_rmb();	/* the index before what it covers */
	memset(c, 0, sizeof(*c));
	c->head = virtio16_to_cpu(&l->vdev, r->avail->ring[lq->last_avail++ % r->num]);
	for (i = c->head; ; i = virtio16_to_cpu(&l->vdev, r->desc[i].next)) {
		void *p = phys_to_virt(virtio64_to_cpu(&l->vdev, r->desc[i].addr));
		u32 len = virtio32_to_cpu(&l->vdev, r->desc[i].len);
		u16 flags = virtio16_to_cpu(&l->vdev, r->desc[i].flags);

		if (flags & VRING_DESC_F_WRITE) {
			c->in = p;
			c->in_len = len;
		} else {
			c->out = p;
			c->out_len = len;
		}
		if (!(flags & VRING_DESC_F_NEXT))
			return true;
	}
}

void liar_push(struct liar *l, unsigned int q, u32 id, u32 len)
{
	struct vring *r = &l->queue[q].ring;
	u16 at = virtio16_to_cpu(&l->vdev, r->used->idx);

	r->used->ring[at % r->num].id = cpu_to_virtio32(&l->vdev, id);
	r->used->ring[at % r->num].len = cpu_to_virtio32(&l->vdev, len);
	smp_wmb();	/* the entry before the index */
	r->used->idx = cpu_to_virtio16(&l->vdev, at + 1);
}

void liar_interrupt(struct liar *l, unsigned int q)
{
	if (l->queue[q].vq)
		vring_interrupt(0, l->queue[q].vq);
}

void liar_serve(struct liar *l)
{
	struct liar_chain c;

	if (!(l->status & VIRTIO_CONFIG_S_DRIVER_OK))
		return;
	liar_ring(l);
	while (!l->silent && liar_pop(l, VIRTIO_HZ_VQ_REQUEST, &c)) {
		liar_answer(l, &c);
		liar_interrupt(l, VIRTIO_HZ_VQ_REQUEST);
		liar_ring(l);
	}
}

static void liar_work(struct work_struct *work)
{
	struct liar *l = container_of(work, struct liar, work);

	mutex_lock(&l->lock);
	liar_serve(l);
	mutex_unlock(&l->lock);
}

static bool liar_notify(struct virtqueue *vq)
{
	schedule_work(&to_liar(vq->vdev)->work);
	return true;
}

/* -- virtio's view of a transport ---------------------------------------- */

static void liar_get(struct virtio_device *vdev, unsigned int at, void *buf, unsigned int len)
{
	memcpy(buf, (u8 *)&to_liar(vdev)->config + at, len);
}

static void liar_set(struct virtio_device *vdev, unsigned int at, const void *buf, unsigned int len)
{
}

static u32 liar_generation(struct virtio_device *vdev)
{
	return to_liar(vdev)->config_generation;
}

static u8 liar_get_status(struct virtio_device *vdev)
{
	return to_liar(vdev)->status;
}

static void liar_set_status(struct virtio_device *vdev, u8 status)
{
	struct liar *l = to_liar(vdev);

	mutex_lock(&l->lock);
	l->status = status;
	if (status & VIRTIO_CONFIG_S_DRIVER_OK && l->needs_reset_again) {
		l->status |= VIRTIO_CONFIG_S_NEEDS_RESET;
		virtio_config_changed(vdev);
	}
	mutex_unlock(&l->lock);
	schedule_work(&l->work);
}

static void liar_reset(struct virtio_device *vdev)
{
	struct liar *l = to_liar(vdev);

	mutex_lock(&l->lock);
	l->status = 0;
	if (l->new_board) {
		liar_board_init(&l->board, 1);
		memset(l->board.generation, 0x99, VIRTIO_HZ_UUID_LEN);
	} else {
		liar_board_reset(&l->board);
	}
	l->new_board = false;
	l->bell = 0;
	l->bell_full = true;
	mutex_unlock(&l->lock);
	cancel_work_sync(&l->work);
}

static void liar_del_vqs(struct virtio_device *vdev)
{
	struct liar *l = to_liar(vdev);
	unsigned int i;

	cancel_work_sync(&l->work);
	mutex_lock(&l->lock);
	for (i = 0; i < 2; i++) {
		if (l->queue[i].vq)
			vring_del_virtqueue(l->queue[i].vq);
		memset(&l->queue[i], 0, sizeof(l->queue[i]));
	}
	mutex_unlock(&l->lock);
}

static int liar_make_vq(struct liar *l, unsigned int i, vq_callback_t *callback, const char *name)
{
	struct virtqueue *vq;
	struct vring *r = &l->queue[i].ring;

	vq = vring_create_virtqueue(i, LIAR_QUEUE_SIZE, PAGE_SIZE, &l->vdev, true, false, false,
				    liar_notify, callback, name);
	if (!vq)
		return -ENOMEM;
	r->num = virtqueue_get_vring_size(vq);
	r->desc = phys_to_virt(virtqueue_get_desc_addr(vq));
	r->avail = phys_to_virt(virtqueue_get_avail_addr(vq));
	r->used = phys_to_virt(virtqueue_get_used_addr(vq));
	l->queue[i].last_avail = 0;
	l->queue[i].vq = vq;
	return 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static int liar_find_vqs(struct virtio_device *vdev, unsigned int n, struct virtqueue *vqs[],
			 struct virtqueue_info info[], struct irq_affinity *desc)
#define LIAR_CALLBACK(i)	(info[i].callback)
#define LIAR_NAME(i)		(info[i].name)
#else
static int liar_find_vqs(struct virtio_device *vdev, unsigned int n, struct virtqueue *vqs[],
			 vq_callback_t *callbacks[], const char * const names[], const bool *ctx,
			 struct irq_affinity *desc)
#define LIAR_CALLBACK(i)	(callbacks[i])
#define LIAR_NAME(i)		(names[i])
#endif
{
	struct liar *l = to_liar(vdev);
	unsigned int i;
	int err = 0;

	if (!strcmp(l->lie, "no-queues"))
		return -ENOENT;
	for (i = 0; i < n && i < 2 && !err; i++) {
		err = liar_make_vq(l, i, LIAR_CALLBACK(i), LIAR_NAME(i));
		vqs[i] = l->queue[i].vq;
	}
	if (err)
		liar_del_vqs(vdev);
	return err;
}

static u64 liar_get_features(struct virtio_device *vdev)
{
	return to_liar(vdev)->features;
}

static int liar_finalize_features(struct virtio_device *vdev)
{
	vring_transport_features(vdev);
	return strcmp(to_liar(vdev)->lie, "no-features") ? 0 : -EINVAL;
}

static const char *liar_bus_name(struct virtio_device *vdev)
{
	return "liar";
}

static const struct virtio_config_ops liar_ops = {
	.get = liar_get,
	.set = liar_set,
	.generation = liar_generation,
	.get_status = liar_get_status,
	.set_status = liar_set_status,
	.reset = liar_reset,
	.find_vqs = liar_find_vqs,
	.del_vqs = liar_del_vqs,
	.get_features = liar_get_features,
	.finalize_features = liar_finalize_features,
	.bus_name = liar_bus_name,
};

/* -- parameters ---------------------------------------------------------- */

static int liar_set_lie(const char *value, const struct kernel_param *kp)
{
	if (!liar)
		return -ENODEV;
	mutex_lock(&liar->lock);
	strscpy(liar->lie, value, sizeof(liar->lie));
	strim(liar->lie);
	mutex_unlock(&liar->lock);
	return 0;
}

static int liar_get_lie(char *buf, const struct kernel_param *kp)
{
	return sprintf(buf, "%s\n", liar->lie);
}

static const struct kernel_param_ops lie_ops = { .set = liar_set_lie, .get = liar_get_lie };
module_param_cb(lie, &lie_ops, NULL, 0600);

static int liar_set_act(const char *value, const struct kernel_param *kp)
{
	char what[32];
	int err;

	if (!liar)
		return -ENODEV;
	strscpy(what, value, sizeof(what));
	mutex_lock(&liar->lock);
	err = liar_act(liar, strim(what));
	mutex_unlock(&liar->lock);
	return err;
}

static const struct kernel_param_ops act_ops = { .set = liar_set_act };
module_param_cb(act, &act_ops, NULL, 0200);

/* -- the module ---------------------------------------------------------- */

static void liar_release(struct device *dev)
{
	kfree(to_liar(dev_to_virtio(dev)));
}

static void liar_config_init(struct liar *l)
{
	l->config = (struct virtio_hz_config) {
		.magic = cpu_to_le32(VIRTIO_HZ_MAGIC),
		.version = cpu_to_le16(1),
		.version_min = cpu_to_le16(1),
		.max_declarations = cpu_to_le16(VIRTIO_HZ_MAX_DECLARATIONS),
		.max_notices = cpu_to_le16(VIRTIO_HZ_MAX_NOTICES),
		.max_doc = cpu_to_le16(VIRTIO_HZ_MAX_DOC),
		.disruption = cpu_to_le64(1),
	};
}

static int __init liar_init(void)
{
	struct liar *l = kzalloc(sizeof(*l), GFP_KERNEL);
	int err;

	if (!l)
		return -ENOMEM;
	parent = root_device_register("hz_liar");
	if (IS_ERR(parent)) {
		kfree(l);
		return PTR_ERR(parent);
	}
	mutex_init(&l->lock);
	INIT_WORK(&l->work, liar_work);
	liar_config_init(l);
	liar_board_init(&l->board, 1);
	l->features = BIT_ULL(VIRTIO_F_VERSION_1);
	l->bell_full = true;
	l->vdev.dev.parent = parent;
	l->vdev.dev.release = liar_release;
	l->vdev.id.device = VIRTIO_ID_HZ;
	l->vdev.id.vendor = 0x6c696172;
	l->vdev.config = &liar_ops;
	liar = l;
	err = register_virtio_device(&l->vdev);
	if (err) {
		liar = NULL;
		put_device(&l->vdev.dev);
		root_device_unregister(parent);
	}
	return err;
}

static void __exit liar_exit(void)
{
	struct liar *l = liar;

	kernel_param_lock(THIS_MODULE);
	liar = NULL;
	kernel_param_unlock(THIS_MODULE);
	unregister_virtio_device(&l->vdev);
	root_device_unregister(parent);
}

module_init(liar_init);
module_exit(liar_exit);
MODULE_DESCRIPTION("A virtio-hz device that lies, for tests");
MODULE_LICENSE("GPL");
