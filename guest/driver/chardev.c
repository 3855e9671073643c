// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtio_hz: /dev/hz. Many readers with a cursor each, one responder.
 *
 * The argument structures carry their size, so that a program built for a
 * later driver works here as long as it asks for nothing newer.
 */
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "hz.h"

struct hz_file {
	struct hz_dev *hz;
	struct mutex lock;		/* one read() at a time moves the cursor */
	struct hz_cursor cursor;	/* hz->lock too */
};

/* -- open and close ------------------------------------------------------ */

/* The misc core holds its mutex: the device can't go away before we hold a reference. */
static int hz_open(struct inode *inode, struct file *file)
{
	struct hz_dev *hz = container_of(file->private_data, struct hz_dev, misc);
	struct hz_file *f;

	if (READ_ONCE(hz->gone))	/* its node goes next */
		return -ENODEV;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	kref_get(&hz->ref);
	f->hz = hz;
	mutex_init(&f->lock);
	f->cursor.full = true;
	file->private_data = f;
	return stream_open(inode, file);
}

static int hz_release(struct inode *inode, struct file *file)
{
	struct hz_file *f = file->private_data;
	struct hz_dev *hz = f->hz;

	spin_lock_irq(&hz->lock);
	hz_subjects_close(hz, f);
	if (hz->responder == f) {
		hz->responder = NULL;
		hz->responder_pid = 0;
	}
	spin_unlock_irq(&hz->lock);
	hz_wake(hz);
	kfree(f);
	hz_dev_put(hz);
	return 0;
}

/* -- reading ------------------------------------------------------------- */

/* What a reader can't get past. A re-initialisation is not an error: the mirror stands. */
static int hz_read_state(const struct hz_dev *hz)
{
	int err = hz_state(hz);

	return err == -EAGAIN ? 0 : err;
}

static bool hz_readable(struct hz_file *f)
{
	struct hz_dev *hz = f->hz;
	bool news;

	spin_lock_irq(&hz->lock);
	news = hz_read_state(hz) || hz_mirror_news(hz, &f->cursor);
	spin_unlock_irq(&hz->lock);
	return news;
}

/* One record to the reader: its size, 0 when none waits, or an error. */
static ssize_t hz_read_one(struct hz_file *f, char __user *buf, size_t room)
{
	struct hz_dev *hz = f->hz;
	struct hz_pick pick;
	ssize_t ret;

	spin_lock_irq(&hz->lock);
	ret = hz_read_state(hz);
	if (ret || !hz_mirror_pick(hz, &f->cursor, &pick)) {
		spin_unlock_irq(&hz->lock);
		return ret;
	}
	spin_unlock_irq(&hz->lock);

	ret = pick.head.size;
	if (room < pick.head.size)
		ret = -EMSGSIZE;
	else if (copy_to_user(buf, &pick.head, sizeof(pick.head)) ||
		 (pick.body && copy_to_user(buf + sizeof(pick.head), pick.body->data,
					    pick.body->len)))
		ret = -EFAULT;
	if (ret > 0) {
		spin_lock_irq(&hz->lock);
		hz_mirror_told(&f->cursor, &pick);
		spin_unlock_irq(&hz->lock);
	}
	hz_body_put(pick.body);
	return ret;
}

static ssize_t hz_read_some(struct hz_file *f, char __user *buf, size_t count)
{
	size_t done = 0;
	ssize_t one;

	if (mutex_lock_interruptible(&f->lock))
		return -ERESTARTSYS;
	do {
		one = hz_read_one(f, buf + done, count - done);
		done += max_t(ssize_t, one, 0);
	} while (one > 0);
	mutex_unlock(&f->lock);
	return done ?: one;
}

static ssize_t hz_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct hz_file *f = file->private_data;
	ssize_t ret;

	for (;;) {
		ret = hz_read_some(f, buf, count);
		if (ret)
			return ret;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(f->hz->news, hz_readable(f)))
			return -ERESTARTSYS;
	}
}

static __poll_t hz_poll(struct file *file, poll_table *wait)
{
	struct hz_file *f = file->private_data;
	struct hz_dev *hz = f->hz;
	__poll_t mask = 0;

	poll_wait(file, &hz->news, wait);
	spin_lock_irq(&hz->lock);
	if (hz->gone)
		mask = EPOLLHUP;
	else if (hz->broken)
		mask = EPOLLERR;
	else if (hz_mirror_news(hz, &f->cursor))
		mask = EPOLLIN | EPOLLRDNORM;
	spin_unlock_irq(&hz->lock);
	return mask;
}

/* -- requests ------------------------------------------------------------ */

/* Copy an argument structure of @ksize bytes, of which a caller must know the first @least. */
static int hz_arg_take(void *dst, size_t ksize, size_t least, const void __user *arg)
{
	u32 size;

	if (get_user(size, (const u32 __user *)arg))
		return -EFAULT;
	if (size < least || size > PAGE_SIZE)
		return -EINVAL;
	return copy_struct_from_user(dst, ksize, arg, size);
}

/* Send a message about a subject when its turn comes, and wait for the answer. */
static int hz_subject_call(struct hz_file *f, struct hz_msg *msg, const u8 *key)
{
	struct hz_dev *hz = f->hz;
	struct hz_subject *s;
	int err;

	for (;;) {
		err = hz_wait_up(hz);
		if (err)
			return err;
		spin_lock_irq(&hz->lock);
		s = hz_state(hz) ? ERR_PTR(hz_state(hz)) : hz_subject_begin(hz, f, key);
		if (!IS_ERR(s)) {
			msg->subject = s;
			hz_msg_send(hz, msg);
		}
		spin_unlock_irq(&hz->lock);
		if (s != ERR_PTR(-EAGAIN))
			break;
		if (wait_event_killable(hz->settled, hz_state(hz) || !hz_subject_busy(hz, key)))
			return -EINTR;
	}
	return IS_ERR(s) ? PTR_ERR(s) : hz_msg_call(hz, msg);
}

static bool hz_key_ok(const u8 *key)
{
	return key[0] && !key[VIRTIO_HZ_KEY_LEN - 1];
}

static int hz_ioc_declare(struct hz_file *f, struct hz_declare __user *arg)
{
	struct virtio_hz_declare *req;
	struct hz_declare d;
	struct hz_msg *msg;
	int err;

	err = hz_arg_take(&d, sizeof(d), sizeof(d), arg);
	if (err)
		return err;
	if (d.flags & ~HZ_DECLARE_PERSIST || d.reserved || !hz_key_ok(d.subject))
		return -EINVAL;
	if (d.doc_len > f->hz->limits.doc)
		return -EMSGSIZE;
	msg = hz_msg_new(VIRTIO_HZ_T_DECLARE, sizeof(*req) + d.doc_len,
			 sizeof(struct virtio_hz_response));
	if (!msg)
		return -ENOMEM;
	req = msg->req;
	memcpy(req->subject, d.subject, sizeof(req->subject));
	req->replaces = cpu_to_le64(d.seq);
	req->doc_len = cpu_to_le16(d.doc_len);
	msg->persist = d.flags & HZ_DECLARE_PERSIST;
	msg->end = hz_subject_declared;
	if (copy_from_user(req + 1, u64_to_user_ptr(d.doc), d.doc_len))
		err = -EFAULT;
	else
		err = hz_subject_call(f, msg, d.subject);
	if (!err && put_user(le64_to_cpu(msg->answer.seq), &arg->seq))
		err = -EFAULT;
	hz_msg_put(msg);
	return err;
}

static int hz_ioc_withdraw(struct hz_file *f, struct hz_declare __user *arg)
{
	struct virtio_hz_withdraw *req;
	struct hz_declare d;
	struct hz_msg *msg;
	int err;

	err = hz_arg_take(&d, sizeof(d), sizeof(d), arg);
	if (err)
		return err;
	if (d.flags || d.reserved || d.doc || d.doc_len || !hz_key_ok(d.subject))
		return -EINVAL;
	msg = hz_msg_new(VIRTIO_HZ_T_WITHDRAW, sizeof(*req), sizeof(struct virtio_hz_response));
	if (!msg)
		return -ENOMEM;
	req = msg->req;
	memcpy(req->subject, d.subject, sizeof(req->subject));
	req->replaces = cpu_to_le64(d.seq);
	msg->end = hz_subject_withdrawn;
	err = hz_subject_call(f, msg, d.subject);
	if (!err && put_user(le64_to_cpu(msg->answer.seq), &arg->seq))
		err = -EFAULT;
	hz_msg_put(msg);
	return err;
}

/* Send a message that only the responder may send. */
static int hz_responder_call(struct hz_file *f, struct hz_msg *msg)
{
	struct hz_dev *hz = f->hz;
	int err = hz_wait_up(hz);

	if (err)
		return err;
	spin_lock_irq(&hz->lock);
	if (hz->responder == f)
		hz_msg_send(hz, msg);
	else
		err = -EPERM;
	spin_unlock_irq(&hz->lock);
	return err ?: hz_msg_call(hz, msg);
}

static int hz_ioc_reply(struct hz_file *f, const struct hz_reply __user *arg)
{
	struct virtio_hz_reply *req;
	struct hz_reply r;
	struct hz_msg *msg;
	int err;

	err = hz_arg_take(&r, sizeof(r), sizeof(r), arg);
	if (err)
		return err;
	if (r.reserved)
		return -EINVAL;
	if (r.doc_len > VIRTIO_HZ_MAX_REPLY_DOC)
		return -EMSGSIZE;
	msg = hz_msg_new(VIRTIO_HZ_T_REPLY, sizeof(*req) + r.doc_len,
			 sizeof(struct virtio_hz_response));
	if (!msg)
		return -ENOMEM;
	req = msg->req;
	memcpy(req->id, r.id, sizeof(req->id));
	memcpy(req->generation, r.generation, sizeof(req->generation));
	req->revision = cpu_to_le32(r.revision);
	req->code = cpu_to_le16(r.code);
	req->doc_len = cpu_to_le16(r.doc_len);
	req->arg = cpu_to_le64(r.arg);
	if (copy_from_user(req + 1, u64_to_user_ptr(r.doc), r.doc_len))
		err = -EFAULT;
	else
		err = hz_responder_call(f, msg);
	hz_msg_put(msg);
	return err;
}

static int hz_ioc_info(struct hz_file *f, struct hz_info __user *arg)
{
	struct hz_dev *hz = f->hz;
	struct hz_info i;
	u32 size;

	if (get_user(size, &arg->size))
		return -EFAULT;
	if (size < sizeof(i))
		return -EINVAL;
	memset(&i, 0, sizeof(i));
	i.size = sizeof(i);
	spin_lock_irq(&hz->lock);
	i.version = hz->limits.version;
	i.status = hz->mirror.status;
	i.max_declarations = hz->limits.declarations;
	i.max_notices = hz->limits.notices;
	i.max_doc = hz->limits.doc;
	i.flags = (hz->responder == f ? HZ_INFO_RESPONDER : 0) |
		  (hz->responder ? HZ_INFO_RESPONDER_TAKEN : 0);
	i.disruption = hz->mirror.disruption;
	memcpy(i.generation, hz->mirror.generation, sizeof(i.generation));
	i.board_version = hz->mirror.version;
	spin_unlock_irq(&hz->lock);
	return copy_to_user(arg, &i, sizeof(i)) ? -EFAULT : 0;
}

static int hz_ioc_claim(struct hz_file *f, bool claim)
{
	struct hz_dev *hz = f->hz;
	int err = 0;

	spin_lock_irq(&hz->lock);
	if (hz->responder && hz->responder != f) {
		err = claim ? -EBUSY : -EPERM;
	} else {
		hz->responder = claim ? f : NULL;
		hz->responder_pid = claim ? task_tgid_nr(current) : 0;
	}
	spin_unlock_irq(&hz->lock);
	return err;
}

static int hz_ioc_rewind(struct hz_file *f)
{
	if (mutex_lock_interruptible(&f->lock))
		return -ERESTARTSYS;
	spin_lock_irq(&f->hz->lock);
	f->cursor.full = true;
	spin_unlock_irq(&f->hz->lock);
	mutex_unlock(&f->lock);
	return 0;
}

/* By number, not by the whole command: a later argument structure is longer. */
static long hz_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct hz_file *f = file->private_data;
	void __user *p = (void __user *)arg;
	int err;

	if (_IOC_TYPE(cmd) != HZ_IOC_MAGIC)
		return -ENOTTY;
	err = hz_read_state(f->hz);
	if (err)
		return err;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(HZ_IOC_INFO):
		return hz_ioc_info(f, p);
	case _IOC_NR(HZ_IOC_DECLARE):
		return hz_ioc_declare(f, p);
	case _IOC_NR(HZ_IOC_WITHDRAW):
		return hz_ioc_withdraw(f, p);
	case _IOC_NR(HZ_IOC_REPLY):
		return hz_ioc_reply(f, p);
	case _IOC_NR(HZ_IOC_CLAIM):
		return hz_ioc_claim(f, true);
	case _IOC_NR(HZ_IOC_UNCLAIM):
		return hz_ioc_claim(f, false);
	case _IOC_NR(HZ_IOC_REWIND):
		return hz_ioc_rewind(f);
	default:
		return -ENOTTY;
	}
}

const struct file_operations hz_fops = {
	.owner		= THIS_MODULE,
	.open		= hz_open,
	.release	= hz_release,
	.read		= hz_read,
	.poll		= hz_poll,
	.unlocked_ioctl	= hz_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};
