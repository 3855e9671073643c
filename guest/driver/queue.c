// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtio_hz: the two virtqueues. Messages with two holders, event buffers
 * posted once and re-fed, and nothing believed that the device says of lengths.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/virtio_config.h>

#include "hz.h"
#include "virtio_hz_compat.h"

/* -- messages ------------------------------------------------------------ */

void hz_msg_put(struct hz_msg *msg)
{
	if (!msg || !refcount_dec_and_test(&msg->ref))
		return;
	kfree(msg->req);
	kfree(msg->rsp);
	kfree(msg);
}

/* Held once, by the caller. The request is zero but for its header. */
struct hz_msg *hz_msg_new(u16 type, u32 req_len, u32 rsp_cap)
{
	struct hz_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	struct virtio_hz_hdr *hdr;

	if (!msg)
		return NULL;
	refcount_set(&msg->ref, 1);
	INIT_LIST_HEAD(&msg->node);
	msg->req_len = req_len;
	msg->rsp_cap = rsp_cap;
	msg->req = kzalloc(req_len, GFP_KERNEL);
	msg->rsp = kzalloc(rsp_cap, GFP_KERNEL);
	if (!msg->req || !msg->rsp) {
		hz_msg_put(msg);
		return NULL;
	}
	hdr = msg->req;
	hdr->len = cpu_to_le32(req_len);
	hdr->type = cpu_to_le16(type);
	return msg;
}

static int hz_status_errno(u32 status)
{
	switch (status) {
	case VIRTIO_HZ_OK:
		return 0;
	case VIRTIO_HZ_E_INVAL:
		return -EINVAL;
	case VIRTIO_HZ_E_UNSUPP:
		return -EOPNOTSUPP;
	case VIRTIO_HZ_E_TOOBIG:
		return -EMSGSIZE;
	case VIRTIO_HZ_E_NOSPC:
		return -ENOSPC;
	case VIRTIO_HZ_E_STALE:
		return -ESTALE;
	case VIRTIO_HZ_E_NOENT:
		return -ENOENT;
	case VIRTIO_HZ_E_VOID:
		return -ECANCELED;
	default:		/* E_SMALL can't be: our buffers hold a record */
		return -EPROTO;
	}
}

/* Take a copy of the response's head and check that it answers this request. */
static int hz_answer_take(struct hz_msg *msg)
{
	const struct virtio_hz_hdr *req = msg->req;
	struct virtio_hz_response *a = &msg->answer;
	u16 type = le16_to_cpu(req->type);
	u32 len;

	if (msg->used < sizeof(*a) || msg->used > msg->rsp_cap)
		return -EPROTO;
	memcpy(a, msg->rsp, sizeof(*a));
	barrier();	/* the device may go on writing: only the copy counts */
	len = le32_to_cpu(a->hdr.len);
	if (len < sizeof(*a) || len > msg->used)
		return -EPROTO;
	if (le16_to_cpu(a->hdr.type) != (type | VIRTIO_HZ_T_RESPONSE) ||
	    le64_to_cpu(a->hdr.cookie) != msg->cookie)
		return -EPROTO;
	if (type != VIRTIO_HZ_T_READ && (len != sizeof(*a) || a->hdr.flags))
		return -EPROTO;
	return hz_status_errno(le32_to_cpu(a->status));
}

/* The queue lets go of a message: it was answered, or never will be. */
static void hz_msg_finish(struct hz_dev *hz, struct hz_msg *msg, int err)
{
	list_del_init(&msg->node);
	msg->stamp = ktime_get_boottime_ns();
	msg->err = err ?: hz_answer_take(msg);
	if (msg->err == -EPROTO) {
		hz_break(hz, "its response doesn't answer the request");
		msg->err = -EIO;
	}
	if (msg->end)
		msg->end(hz, msg);
	/* pairs with hz_msg_finished(): who sees it may read the rest */
	smp_store_release(&msg->finished, true);
	hz_msg_put(msg);
}

/* Give the device what it has room for. */
static void hz_backlog_run(struct hz_dev *hz)
{
	bool kick = false;

	while (hz->up && !hz->broken && !list_empty(&hz->backlog)) {
		struct hz_msg *msg = list_first_entry(&hz->backlog, struct hz_msg, node);
		struct scatterlist out, in, *sgs[] = { &out, &in };
		int err;

		sg_init_one(&out, msg->req, msg->req_len);
		sg_init_one(&in, msg->rsp, msg->rsp_cap);
		err = virtqueue_add_sgs(hz->request, sgs, 1, 1, msg, GFP_ATOMIC);
		if (err == -ENOSPC)
			break;
		if (err) {
			hz_msg_finish(hz, msg, err);
			continue;
		}
		list_move_tail(&msg->node, &hz->inflight);
		kick = true;
	}
	if (kick)
		virtqueue_kick(hz->request);
}

/* Locked. The queue holds the message until it is finished. */
void hz_msg_send(struct hz_dev *hz, struct hz_msg *msg)
{
	struct virtio_hz_hdr *hdr = msg->req;

	refcount_inc(&msg->ref);
	msg->finished = false;
	msg->used = 0;
	msg->cookie = ++hz->cookie;
	hdr->cookie = cpu_to_le64(msg->cookie);
	list_add_tail(&msg->node, &hz->backlog);
	if (hz_state(hz))
		hz_msg_finish(hz, msg, hz_state(hz));
	else
		hz_backlog_run(hz);
}

bool hz_mirror_behind(struct hz_dev *hz, u64 disruption, u64 version)
{
	return hz_newer(disruption, version, READ_ONCE(hz->mirror.disruption),
			READ_ONCE(hz->mirror.version));
}

/* The mirror is older than an answer: read, and wait until it no longer is. */
static void hz_catch_up(struct hz_dev *hz, u64 disruption, u64 version)
{
	bool behind;
	u64 ticket;

	spin_lock_irq(&hz->lock);
	behind = hz_mirror_behind(hz, disruption, version);
	if (behind)
		hz_reading_want(hz);
	ticket = hz->reading.wanted;
	spin_unlock_irq(&hz->lock);
	if (!behind)
		return;
	/* Asked and answered: being killed or cut off now changes nothing about that. */
	if (wait_event_killable(hz->settled, hz_state(hz) ||
				READ_ONCE(hz->reading.ended) >= ticket ||
				!hz_mirror_behind(hz, disruption, version)))
		return;
}

static bool hz_msg_finished(const struct hz_msg *msg)
{
	/* pairs with hz_msg_finish() */
	return smp_load_acquire(&msg->finished);
}

/*
 * Wait for the answer to a message that was sent, then until the mirror is as
 * new as the answer: who declares and then reads finds what it declared.
 */
int hz_msg_call(struct hz_dev *hz, struct hz_msg *msg)
{
	if (wait_event_killable(hz->settled, hz_msg_finished(msg) ||
				READ_ONCE(hz->broken) || READ_ONCE(hz->gone)))
		return -EINTR;
	if (!hz_msg_finished(msg))
		return hz_state(hz) ?: -EIO;	/* set up again since: this one was lost */
	if (!msg->err)
		hz_catch_up(hz, le64_to_cpu(msg->answer.disruption),
			    le64_to_cpu(msg->answer.version));
	return msg->err;
}

/* Wait out a re-initialisation. 0, or why nothing can be asked. */
int hz_wait_up(struct hz_dev *hz)
{
	if (wait_event_killable(hz->settled, hz_state(hz) != -EAGAIN))
		return -EINTR;
	return hz_state(hz);
}

static void hz_request_done(struct virtqueue *vq)
{
	struct hz_dev *hz = vq->vdev->priv;
	struct hz_msg *msg;
	unsigned long flags;
	unsigned int len;

	spin_lock_irqsave(&hz->lock, flags);
	while (hz->up && !hz->broken) {
		virtqueue_disable_cb(vq);
		while (!hz->broken && (msg = virtqueue_get_buf(vq, &len))) {
			msg->used = len;
			hz_msg_finish(hz, msg, 0);
		}
		if (virtqueue_is_broken(vq))
			hz_break(hz, "the request queue is corrupt");
		if (hz->broken || virtqueue_enable_cb(vq))
			break;
	}
	hz_backlog_run(hz);
	spin_unlock_irqrestore(&hz->lock, flags);
	hz_wake(hz);
}

/* -- events -------------------------------------------------------------- */

static int hz_event_post(struct hz_dev *hz, void *buf)
{
	struct scatterlist in;

	sg_init_one(&in, buf, HZ_EVENT_SIZE);
	return virtqueue_add_inbuf(hz->event, &in, 1, buf, GFP_ATOMIC);
}

/* Locked. One buffer with one record, as the device says. */
static void hz_event_take(struct hz_dev *hz, const void *buf, unsigned int len)
{
	struct hz_news n = { .stamp = ktime_get_boottime_ns() };
	int taken;

	if (len > HZ_EVENT_SIZE) {
		hz_break(hz, "it wrote more than an event buffer holds");
		return;
	}
	taken = hz_news_take(buf, len, GFP_ATOMIC | __GFP_NOWARN, &n);
	if (taken == -ENOMEM) {
		hz_reading_want(hz);
	} else if (taken < 0) {
		hz_break(hz, "an event's lengths contradict each other");
	} else if (!n.type) {
		dev_warn_ratelimited(&hz->vdev->dev, "skipped an event of an unknown kind\n");
	} else {
		/* The bell starts over: it may have rung for something it has forgotten since. */
		if (n.flags & VIRTIO_HZ_REC_FULL && hz->mirror.synced)
			hz_reading_want(hz);
		/* One for which there's no room may take another's place: the reading due tells. */
		if (hz_mirror_apply(hz, &n) && hz->reading.wanted == hz->reading.ended)
			hz_break(hz, "it tells of more entries than its limits allow");
	}
}

/* A device that never stops gets a work item's turn, not the whole processor. */
static void hz_event_drain(struct hz_dev *hz)
{
	unsigned int budget = HZ_EVENT_BUFS, len;
	struct virtqueue *vq = hz->event;
	bool kick = false;
	void *buf;

	virtqueue_disable_cb(vq);
	for (;;) {
		while (budget && !hz->broken && (buf = virtqueue_get_buf(vq, &len))) {
			hz_event_take(hz, buf, len);
			if (hz_event_post(hz, buf))
				hz_break(hz, "the event queue takes no buffer back");
			kick = true;
			budget--;
		}
		if (virtqueue_is_broken(vq))
			hz_break(hz, "the event queue is corrupt");
		if (hz->broken || !budget || virtqueue_enable_cb(vq))
			break;
		virtqueue_disable_cb(vq);
	}
	if (kick && !hz->broken)
		virtqueue_kick(vq);
	if (!budget && !hz->broken)
		schedule_work(&hz->event_work);
}

static void hz_event_done(struct virtqueue *vq)
{
	struct hz_dev *hz = vq->vdev->priv;
	unsigned long flags;

	spin_lock_irqsave(&hz->lock, flags);
	if (hz->up && !hz->broken)
		hz_event_drain(hz);
	spin_unlock_irqrestore(&hz->lock, flags);
	hz_wake(hz);
}

void hz_event_work(struct work_struct *work)
{
	struct hz_dev *hz = container_of(work, struct hz_dev, event_work);

	spin_lock_irq(&hz->lock);
	if (hz->up && !hz->broken)
		hz_event_drain(hz);
	spin_unlock_irq(&hz->lock);
	hz_wake(hz);
}

int hz_events_alloc(struct hz_dev *hz)
{
	unsigned int i;

	for (i = 0; i < HZ_EVENT_BUFS; i++) {
		hz->event_buf[i] = kzalloc(HZ_EVENT_SIZE, GFP_KERNEL);
		if (!hz->event_buf[i])
			return -ENOMEM;
	}
	return 0;
}

void hz_events_free(struct hz_dev *hz)
{
	unsigned int i;

	for (i = 0; i < HZ_EVENT_BUFS; i++)
		kfree(hz->event_buf[i]);
}

/* -- up and down --------------------------------------------------------- */

/* Locked. As many event buffers as the queue takes. */
static int hz_events_post(struct hz_dev *hz)
{
	unsigned int i, n;
	int err;

	n = min_t(unsigned int, virtqueue_get_vring_size(hz->event), HZ_EVENT_BUFS);
	for (i = 0; i < n; i++) {
		err = hz_event_post(hz, hz->event_buf[i]);
		if (err)
			return err;
	}
	virtqueue_kick(hz->event);
	return 0;
}

/*
 * Find both queues, let the device go, post the event buffers, read the board.
 * The buffers come last: an event that came before we look would be the last.
 */
int hz_queues_up(struct hz_dev *hz)
{
	struct virtio_device *vdev = hz->vdev;
	struct virtqueue *vqs[2];
	int err;

	err = hz_find_vqs(vdev, vqs, hz_request_done, hz_event_done);
	if (err) {
		dev_err(&vdev->dev, "can't set up its two virtqueues: %d\n", err);
		return err;
	}
	hz->request = vqs[VIRTIO_HZ_VQ_REQUEST];
	hz->event = vqs[VIRTIO_HZ_VQ_EVENT];
	virtio_device_ready(vdev);

	spin_lock_irq(&hz->lock);
	hz->broken = false;
	hz->up = true;
	hz_mirror_restart(hz);
	err = hz_events_post(hz);
	if (!err)
		hz_reading_restart(hz);
	spin_unlock_irq(&hz->lock);
	if (err) {
		dev_err(&vdev->dev, "can't post the event buffers: %d\n", err);
		hz_queues_down(hz, err);
	}
	hz_wake(hz);
	return err;
}

static void hz_abort_all(struct hz_dev *hz, struct list_head *list, int err)
{
	while (!list_empty(list))
		hz_msg_finish(hz, list_first_entry(list, struct hz_msg, node), err);
}

/*
 * Reset the device and take everything back from it. What it had not answered
 * ends with @err.
 */
void hz_queues_down(struct hz_dev *hz, int err)
{
	struct virtio_device *vdev = hz->vdev;
	bool was_up;

	spin_lock_irq(&hz->lock);
	was_up = hz->up;
	hz->up = false;
	spin_unlock_irq(&hz->lock);
	if (!was_up)
		return;
	cancel_work_sync(&hz->event_work);
	cancel_work_sync(&hz->reading.work);

	hz_reset_device(vdev);
	spin_lock_irq(&hz->lock);
	while (virtqueue_detach_unused_buf(hz->request))
		;			/* they are on the list */
	while (virtqueue_detach_unused_buf(hz->event))
		;			/* they are in event_buf[] */
	hz_abort_all(hz, &hz->inflight, err);
	hz_abort_all(hz, &hz->backlog, err);
	hz_subjects_reset(hz);
	spin_unlock_irq(&hz->lock);
	vdev->config->del_vqs(vdev);
	hz_wake(hz);
}
