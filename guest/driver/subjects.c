// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtio_hz: which open file owns which subject.
 *
 * A declaration belongs to the file that made it and goes when that is
 * closed. With PERSIST it stays and belongs to nobody then: whoever declares
 * the subject next takes it over. One request about a subject is under way at
 * a time, so its answer says who owns it now, also when the asker is gone.
 */
#include <linux/err.h>
#include <linux/string.h>

#include "hz.h"

int hz_subjects_alloc(struct hz_dev *hz)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hz->subject); i++) {
		struct hz_msg *bye = hz_msg_new(VIRTIO_HZ_T_WITHDRAW,
						sizeof(struct virtio_hz_withdraw),
						sizeof(struct virtio_hz_response));

		if (!bye)
			return -ENOMEM;
		bye->subject = &hz->subject[i];
		bye->end = hz_subject_withdrawn;
		hz->subject[i].bye = bye;
	}
	return 0;
}

void hz_subjects_free(struct hz_dev *hz)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hz->subject); i++)
		hz_msg_put(hz->subject[i].bye);
}

static void hz_subject_clear(struct hz_subject *s)
{
	struct hz_msg *bye = s->bye;

	memset(s, 0, sizeof(*s));
	s->bye = bye;
}

/* Withdraw what nobody owns any more. Nobody can have replaced it: any sequence will do. */
static void hz_subject_bye(struct hz_dev *hz, struct hz_subject *s)
{
	struct virtio_hz_withdraw *req = s->bye->req;

	s->busy = true;
	memcpy(req->subject, s->key, sizeof(req->subject));
	req->replaces = cpu_to_le64(VIRTIO_HZ_SEQ_ANY);
	hz_msg_send(hz, s->bye);
}

/* No request is under way: bring the subject to rest. */
static void hz_subject_settle(struct hz_dev *hz, struct hz_subject *s)
{
	struct hz_entry *e;

	if (s->busy)
		return;
	e = hz_mirror_find(hz, VIRTIO_HZ_R_DECLARATION, s->key);
	if (e && e->gone && hz_newer(e->disruption, e->version, s->disruption, s->version))
		s->standing = false;	/* the device dropped it by itself */
	if (!s->standing)
		hz_subject_clear(s);
	else if (!s->owner && !s->persist)
		hz_subject_bye(hz, s);
}

/*
 * Locked. Begin a request of @f about a subject. -EBUSY: another file owns
 * it; -EAGAIN: wait on hz->settled and try again; -ENOSPC.
 */
struct hz_subject *hz_subject_begin(struct hz_dev *hz, struct hz_file *f, const u8 *key)
{
	struct hz_subject *s, *free = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hz->subject); i++) {
		s = &hz->subject[i];
		if (!s->key[0]) {
			free = free ?: s;
			continue;
		}
		if (memcmp(s->key, key, sizeof(s->key)))
			continue;
		if (s->owner && s->owner != f)
			return ERR_PTR(-EBUSY);
		if (s->busy)
			return ERR_PTR(-EAGAIN);
		break;
	}
	if (i == ARRAY_SIZE(hz->subject)) {
		s = free;
		if (!s)
			return ERR_PTR(-ENOSPC);
		memcpy(s->key, key, sizeof(s->key));
	}
	s->busy = true;
	s->asker = f;
	return s;
}

/* Is a request about the subject under way? */
bool hz_subject_busy(struct hz_dev *hz, const u8 *key)
{
	bool busy = false;
	unsigned int i;

	spin_lock_irq(&hz->lock);
	for (i = 0; i < ARRAY_SIZE(hz->subject); i++)
		if (!memcmp(hz->subject[i].key, key, VIRTIO_HZ_KEY_LEN))
			busy = hz->subject[i].busy;
	spin_unlock_irq(&hz->lock);
	return busy;
}

static void hz_subject_answered(struct hz_subject *s, const struct hz_msg *msg)
{
	s->busy = false;
	s->asker = NULL;
	if (!msg->err) {
		s->disruption = le64_to_cpu(msg->answer.disruption);
		s->version = le64_to_cpu(msg->answer.version);
	}
}

/* Locked, at the completion of a DECLARE. */
void hz_subject_declared(struct hz_dev *hz, struct hz_msg *msg)
{
	struct hz_subject *s = msg->subject;
	struct hz_file *asker = s->asker;

	hz_subject_answered(s, msg);
	if (!msg->err) {
		s->standing = true;
		s->persist = msg->persist;
		s->owner = asker;
	}
	hz_subject_settle(hz, s);
}

/* Locked, at the completion of a WITHDRAW. */
void hz_subject_withdrawn(struct hz_dev *hz, struct hz_msg *msg)
{
	struct hz_subject *s = msg->subject;
	bool bye = msg == s->bye;

	hz_subject_answered(s, msg);
	/* a refused farewell is not repeated: there is nobody left to tell */
	if (!msg->err || msg->err == -ENOENT || bye)
		s->standing = false;
	hz_subject_settle(hz, s);
}

/* Locked. The device says that a declaration is no more. */
void hz_subject_gone(struct hz_dev *hz, const u8 *key)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hz->subject); i++)
		if (!memcmp(hz->subject[i].key, key, VIRTIO_HZ_KEY_LEN))
			hz_subject_settle(hz, &hz->subject[i]);
}

/* Locked. A file is closed. */
void hz_subjects_close(struct hz_dev *hz, struct hz_file *f)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hz->subject); i++) {
		struct hz_subject *s = &hz->subject[i];

		if (s->asker == f)
			s->asker = NULL;
		if (s->owner != f)
			continue;
		s->owner = NULL;
		hz_subject_settle(hz, s);
	}
}

/* Locked. The device has been reset and forgot every declaration. */
void hz_subjects_reset(struct hz_dev *hz)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hz->subject); i++)
		hz_subject_clear(&hz->subject[i]);
}
