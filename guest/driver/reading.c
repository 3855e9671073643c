// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtio_hz: readings of the whole board, as many READs as it takes.
 *
 * A reading is asked for with a ticket and never waited for here: an answer
 * wakes a work item, which parses it and sends the next READ. A device that
 * doesn't answer holds up nothing but the readings.
 */
#include <linux/slab.h>
#include <linux/virtio.h>

#include "hz.h"

/* Locked, at the completion of a READ. */
static void hz_reading_end(struct hz_dev *hz, struct hz_msg *msg)
{
	struct hz_reading *r = &hz->reading;

	if (msg->err) {
		r->busy = false;
		if (!hz_state(hz))	/* not a reset, which asks for a new one */
			hz_break(hz, "it refuses a READ");
		return;
	}
	r->arrived = true;
	schedule_work(&r->work);
}

static void hz_reading_send(struct hz_dev *hz)
{
	struct hz_reading *r = &hz->reading;
	struct virtio_hz_read *req = r->msg->req;

	r->msg->end = hz_reading_end;
	req->disruption = cpu_to_le64(r->disruption);
	req->since = cpu_to_le64(r->since);
	req->floor = cpu_to_le64(r->floor);
	hz_msg_send(hz, r->msg);
}

static void hz_reading_begin(struct hz_dev *hz)
{
	struct hz_reading *r = &hz->reading;

	if (r->busy || r->wanted == r->begun || hz_state(hz))
		return;
	r->busy = true;
	r->begun = r->wanted;
	r->full = false;
	hz->mirror.reading++;
	hz_reading_send(hz);
}

/* Locked. Ask for a reading that begins from now on. */
void hz_reading_want(struct hz_dev *hz)
{
	hz->reading.wanted++;
	hz_reading_begin(hz);
}

/* Locked. The device starts anew: read everything. */
void hz_reading_restart(struct hz_dev *hz)
{
	struct hz_reading *r = &hz->reading;

	r->busy = false;
	r->arrived = false;
	r->disruption = 0;
	r->since = 0;
	r->floor = 0;
	hz_reading_want(hz);
}

/* The head of an answer: can it be followed? Locked. */
static int hz_reading_head(struct hz_dev *hz, const struct virtio_hz_response *a)
{
	const struct hz_reading *r = &hz->reading;
	u64 disruption = le64_to_cpu(a->disruption);
	u16 flags = le16_to_cpu(a->hdr.flags);

	if (flags & ~VIRTIO_HZ_RSP_MORE)
		return -EPROTO;
	/* going on from where we were would go on for ever */
	if (flags && disruption == r->disruption && le64_to_cpu(a->version) == r->since &&
	    le64_to_cpu(a->floor) == r->floor)
		return -EPROTO;
	if (disruption > hz->mirror.disruption) {
		hz->mirror.disruption = disruption;
		hz->mirror.version = 0;
	}
	return 0;
}

/* Take the records that follow the head: as many as it says, and no byte left over. */
static int hz_reading_records(struct hz_dev *hz, const struct hz_msg *msg)
{
	const struct virtio_hz_response *a = &msg->answer;
	u32 pos = sizeof(*a), end = le32_to_cpu(a->hdr.len), count = le32_to_cpu(a->count);
	int taken, err = 0;

	while (pos < end && count && !err) {
		struct hz_news n = { .stamp = msg->stamp };

		/* a few KiB in a work item: the allocator may take its time */
		taken = hz_news_take(msg->rsp + pos, end - pos, GFP_KERNEL | __GFP_NOFAIL, &n);
		if (taken < 0)
			return taken;
		pos += taken;
		count--;
		if (!n.type) {
			dev_warn_ratelimited(&hz->vdev->dev,
					     "skipped a record of an unknown kind\n");
			continue;
		}
		if (n.disruption != le64_to_cpu(a->disruption)) {
			hz_body_put(n.body);
			return -EPROTO;
		}
		spin_lock_irq(&hz->lock);
		if (n.flags & VIRTIO_HZ_REC_FULL) {
			hz->reading.full = true;
			hz->mirror.reading++;
		}
		err = hz_mirror_apply(hz, &n);
		spin_unlock_irq(&hz->lock);
	}
	return err ?: (pos == end && !count ? 0 : -EPROTO);
}

/* Locked. An answer has been taken in whole. */
static int hz_reading_next(struct hz_dev *hz, const struct virtio_hz_response *a)
{
	struct hz_reading *r = &hz->reading;
	int err = 0;

	r->disruption = le64_to_cpu(a->disruption);
	r->since = le64_to_cpu(a->version);
	r->floor = le64_to_cpu(a->floor);
	if (le16_to_cpu(a->hdr.flags) & VIRTIO_HZ_RSP_MORE) {
		hz_reading_send(hz);
		return 0;
	}
	if (r->full || !hz->mirror.synced)
		err = hz_mirror_sweep(hz, r->disruption, r->since);
	if (err)
		return err;
	hz->mirror.version = max(hz->mirror.version, r->since);
	hz->mirror.synced = true;
	r->ended = r->begun;
	r->busy = false;
	hz_reading_begin(hz);
	return 0;
}

void hz_reading_work(struct work_struct *work)
{
	struct hz_dev *hz = container_of(work, struct hz_dev, reading.work);
	struct hz_msg *msg = hz->reading.msg;
	int err;

	spin_lock_irq(&hz->lock);
	if (!hz->reading.arrived || hz_state(hz)) {
		spin_unlock_irq(&hz->lock);
		return;
	}
	hz->reading.arrived = false;
	err = hz_reading_head(hz, &msg->answer);
	spin_unlock_irq(&hz->lock);

	if (!err)
		err = hz_reading_records(hz, msg);

	spin_lock_irq(&hz->lock);
	if (!err && !hz_state(hz))
		err = hz_reading_next(hz, &msg->answer);
	if (err)
		hz_break(hz, "its answer to a READ contradicts itself");
	spin_unlock_irq(&hz->lock);
	hz_wake(hz);
}
