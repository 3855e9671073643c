// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * virtio_hz: the mirror of the board, a table of fixed size.
 *
 * An entry is replaced by a newer one, whichever way and in whatever order
 * they come. An entry that is no more leaves a tombstone, so that a record
 * read earlier can't bring it back and every reader learns of it. The oldest
 * tombstone makes room; a reader that had not got so far starts again.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "hz.h"

#define HZ_REC_BARE	(VIRTIO_HZ_REC_GONE | VIRTIO_HZ_REC_TRUNCATED)

void hz_body_put(struct hz_body *body)
{
	if (body && refcount_dec_and_test(&body->ref))
		kfree(body);
}

/* -- a record as it comes ------------------------------------------------ */

/* Is it one we know, with a key and a body that such a record can have? */
static bool hz_news_valid(const struct hz_news *n)
{
	u32 body = n->body ? n->body->len : 0;
	u32 least;

	if (n->flags & ~(HZ_REC_BARE | VIRTIO_HZ_REC_FULL) ||
	    (n->flags & VIRTIO_HZ_REC_FULL && n->type != VIRTIO_HZ_R_STATUS))
		return false;
	switch (n->type) {
	case VIRTIO_HZ_R_STATUS:
		if (memchr_inv(n->key, 0, sizeof(n->key)) || n->flags & VIRTIO_HZ_REC_GONE)
			return false;
		least = sizeof(struct virtio_hz_status);
		break;
	case VIRTIO_HZ_R_DECLARATION:
		if (!n->key[0] || n->key[VIRTIO_HZ_KEY_LEN - 1])
			return false;
		least = sizeof(struct virtio_hz_declaration);
		break;
	case VIRTIO_HZ_R_NOTICE:
		if (memchr_inv(n->key + VIRTIO_HZ_UUID_LEN, 0,
			       VIRTIO_HZ_KEY_LEN - VIRTIO_HZ_UUID_LEN))
			return false;
		least = sizeof(struct virtio_hz_notice);
		break;
	default:
		return false;
	}
	return n->flags & HZ_REC_BARE ? !body : body >= least;
}

/*
 * Copy one record out of memory the device writes: first the head, then as
 * much as the copied head says. Bytes taken; -EPROTO when the framing can't
 * be; -ENOMEM. A record of an unknown kind is taken and has type 0.
 */
int hz_news_take(const void *from, size_t avail, gfp_t gfp, struct hz_news *n)
{
	struct virtio_hz_record head;
	size_t len, body;

	n->body = NULL;
	if (avail < sizeof(head))
		return -EPROTO;
	memcpy(&head, from, sizeof(head));
	barrier();	/* never look at the original again */
	len = le32_to_cpu(head.hdr.len);
	if (len < sizeof(head) || len > avail || len % 8 || len - sizeof(head) > HZ_BODY_MAX)
		return -EPROTO;
	body = len - sizeof(head);
	if (body) {
		n->body = kmalloc(struct_size(n->body, data, body), gfp);
		if (!n->body)
			return -ENOMEM;
		refcount_set(&n->body->ref, 1);
		n->body->len = body;
		memcpy(n->body->data, from + sizeof(head), body);
	}
	n->type = le16_to_cpu(head.hdr.type);
	n->flags = le16_to_cpu(head.hdr.flags);
	n->disruption = le64_to_cpu(head.disruption);
	n->version = le64_to_cpu(head.version);
	memcpy(n->key, head.key, sizeof(n->key));
	if (!hz_news_valid(n)) {
		hz_body_put(n->body);
		n->body = NULL;
		n->type = 0;
	}
	return len;
}

/* -- the table ----------------------------------------------------------- */

struct hz_entry *hz_mirror_find(struct hz_dev *hz, u16 type, const u8 *key)
{
	unsigned int i;

	for (i = 0; i < HZ_ENTRIES; i++) {
		struct hz_entry *e = &hz->mirror.entry[i];

		if (e->type == type && !memcmp(e->key, key, VIRTIO_HZ_KEY_LEN))
			return e;
	}
	return NULL;
}

/* A place for a new entry: a free one, or the oldest tombstone's. */
static struct hz_entry *hz_entry_new(struct hz_dev *hz, u16 type)
{
	struct hz_mirror *m = &hz->mirror;
	struct hz_entry *oldest = NULL;
	unsigned int i;

	if (type == VIRTIO_HZ_R_STATUS)
		return &m->entry[0];
	for (i = 1; i < HZ_ENTRIES; i++) {
		struct hz_entry *e = &m->entry[i];

		if (!e->type)
			return e;
		if (e->gone && (!oldest || e->seq < oldest->seq))
			oldest = e;
	}
	m->evicted = max(m->evicted, oldest->seq);
	if (hz->reading.busy)		/* its answer may be older than this tombstone */
		hz_reading_want(hz);
	memset(oldest, 0, sizeof(*oldest));
	return oldest;
}

static void hz_entry_gone(struct hz_dev *hz, struct hz_entry *e, u64 disruption, u64 version)
{
	hz_body_put(e->body);
	e->body = NULL;
	e->gone = true;
	e->disruption = disruption;
	e->version = version;
	e->seq = ++hz->mirror.seq;
	if (e->type == VIRTIO_HZ_R_DECLARATION)
		hz_subject_gone(hz, e->key);
}

/*
 * May the entry give way? What the device had before it was reset or its state
 * was loaded; and, while everything is read anew, what hasn't been told again:
 * a full table's oldest closed notice goes without a word when a new one comes.
 */
static bool hz_entry_stale(struct hz_dev *hz, const struct hz_entry *e)
{
	const struct hz_mirror *m = &hz->mirror;

	return e->incarnation != m->incarnation || e->disruption < m->disruption ||
	       (hz->reading.full && e->reading != m->reading);
}

/* Is there room for one more of this kind, or can room be made? */
static bool hz_mirror_room(struct hz_dev *hz, u16 type)
{
	struct hz_mirror *m = &hz->mirror;
	struct hz_entry *old = NULL;
	unsigned int i, live = 0, limit = 1;

	if (type == VIRTIO_HZ_R_DECLARATION)
		limit = hz->limits.declarations;
	else if (type == VIRTIO_HZ_R_NOTICE)
		limit = hz->limits.notices;
	for (i = 0; i < HZ_ENTRIES; i++) {
		struct hz_entry *e = &m->entry[i];

		if (e->type != type || e->gone)
			continue;
		live++;
		if (hz_entry_stale(hz, e) &&
		    (!old || hz_newer(old->disruption, old->version, e->disruption, e->version)))
			old = e;
	}
	if (live < limit)
		return true;
	if (!old)
		return false;
	hz_entry_gone(hz, old, m->disruption, m->version);
	return true;
}

static void hz_status_take(struct hz_dev *hz, const struct hz_news *n)
{
	const struct virtio_hz_status *s = (const void *)n->body->data;

	hz->mirror.status = le16_to_cpu(s->status);
	memcpy(hz->mirror.generation, s->generation, VIRTIO_HZ_UUID_LEN);
}

/* The record's disruption against ours: is it to be looked at? */
static bool hz_disruption_take(struct hz_dev *hz, const struct hz_news *n)
{
	struct hz_mirror *m = &hz->mirror;

	if (n->disruption < m->disruption)
		return false;
	if (n->disruption > m->disruption) {
		hz_reading_want(hz);	/* so that what it doesn't tell again goes */
		if (n->type != VIRTIO_HZ_R_STATUS)
			return false;
		m->disruption = n->disruption;
		m->version = 0;
	}
	m->version = max(m->version, n->version);
	return true;
}

static bool hz_entry_older(struct hz_dev *hz, const struct hz_entry *e, const struct hz_news *n)
{
	return e->incarnation != hz->mirror.incarnation ||
	       hz_newer(n->disruption, n->version, e->disruption, e->version);
}

/*
 * Locked. Take a record into the mirror; its body is the mirror's from here.
 * -EPROTO when it would be more than the device said it holds.
 */
int hz_mirror_apply(struct hz_dev *hz, struct hz_news *n)
{
	bool gone = n->flags & VIRTIO_HZ_REC_GONE;
	struct hz_body *body = n->body;
	struct hz_entry *e;
	int err = 0;

	n->body = NULL;
	if (n->flags & VIRTIO_HZ_REC_TRUNCATED) {
		hz_reading_want(hz);
		goto drop;
	}
	if (!hz_disruption_take(hz, n))
		goto drop;
	e = hz_mirror_find(hz, n->type, n->key);
	if (e && !hz_entry_older(hz, e, n)) {
		e->reading = hz->mirror.reading;
		goto drop;
	}
	if (!gone && (!e || e->gone) && !hz_mirror_room(hz, n->type)) {
		err = -EPROTO;
		goto drop;
	}
	if (!e)
		e = hz_entry_new(hz, n->type);

	e->type = n->type;
	memcpy(e->key, n->key, sizeof(e->key));
	e->incarnation = hz->mirror.incarnation;
	e->reading = hz->mirror.reading;
	e->stamp = n->stamp;
	if (gone) {
		hz_entry_gone(hz, e, n->disruption, n->version);
		return 0;
	}
	swap(e->body, body);
	e->gone = false;
	e->disruption = n->disruption;
	e->version = n->version;
	e->seq = ++hz->mirror.seq;
	if (n->type == VIRTIO_HZ_R_STATUS) {
		struct hz_news now = { .body = e->body };

		hz_status_take(hz, &now);
	}
drop:
	hz_body_put(body);
	return err;
}

/*
 * Locked. A whole reading as of (disruption, version) has ended: what it did
 * not tell of, and nothing newer did, is no more. -EPROTO without a STATUS.
 */
int hz_mirror_sweep(struct hz_dev *hz, u64 disruption, u64 version)
{
	struct hz_mirror *m = &hz->mirror;
	unsigned int i;

	if (!m->entry[0].type || m->entry[0].incarnation != m->incarnation)
		return -EPROTO;
	for (i = 1; i < HZ_ENTRIES; i++) {
		struct hz_entry *e = &m->entry[i];

		if (!e->type || e->gone || e->reading == m->reading)
			continue;
		if (e->incarnation == m->incarnation &&
		    hz_newer(e->disruption, e->version, disruption, version))
			continue;
		e->incarnation = m->incarnation;
		e->stamp = m->entry[0].stamp;
		hz_entry_gone(hz, e, disruption, version);
	}
	return 0;
}

/* Locked. The device starts anew, perhaps another one: its versions say nothing about ours. */
void hz_mirror_restart(struct hz_dev *hz)
{
	hz->mirror.incarnation++;
	hz->mirror.disruption = 0;
	hz->mirror.version = 0;
	hz->mirror.synced = false;
}

void hz_mirror_free(struct hz_dev *hz)
{
	unsigned int i;

	for (i = 0; i < HZ_ENTRIES; i++)
		hz_body_put(hz->mirror.entry[i].body);
}

unsigned int hz_mirror_declarations(struct hz_dev *hz)
{
	unsigned int i, n = 0;

	for (i = 1; i < HZ_ENTRIES; i++) {
		const struct hz_entry *e = &hz->mirror.entry[i];

		n += e->type == VIRTIO_HZ_R_DECLARATION && !e->gone;
	}
	return n;
}

/* -- readers ------------------------------------------------------------- */

/* Is the entry news to this reader? */
static bool hz_entry_new_to(const struct hz_entry *e, const struct hz_cursor *c)
{
	if (e->type == VIRTIO_HZ_R_STATUS)
		return e->seq > c->status;
	/* what was gone when it started it never heard of */
	return e->type && e->seq > c->seq && (!e->gone || e->seq > c->start);
}

/*
 * The next entry for a reader, NULL when there is none. One that starts gets
 * STATUS first, and waits for the first whole reading: it must not take half
 * a board for the whole. A disruption or a reset is told before anything
 * else, even if STATUS has changed again since.
 */
static struct hz_entry *hz_mirror_next(struct hz_dev *hz, struct hz_cursor *c)
{
	struct hz_mirror *m = &hz->mirror;
	struct hz_entry *best = NULL;
	unsigned int i;

	if (max(c->seq, c->start) < m->evicted)
		c->full = true;
	if (c->full)
		return m->synced ? &m->entry[0] : NULL;
	if (m->entry[0].disruption != c->disruption || m->entry[0].incarnation != c->incarnation)
		return &m->entry[0];
	for (i = 0; i < HZ_ENTRIES; i++) {
		struct hz_entry *e = &m->entry[i];

		if (hz_entry_new_to(e, c) && (!best || e->seq < best->seq))
			best = e;
	}
	return best;
}

/* Locked. */
bool hz_mirror_news(struct hz_dev *hz, struct hz_cursor *c)
{
	return hz_mirror_next(hz, c);
}

/* Locked. Pick the next record for a reader, as it is now. */
bool hz_mirror_pick(struct hz_dev *hz, struct hz_cursor *c, struct hz_pick *pick)
{
	struct hz_entry *e = hz_mirror_next(hz, c);
	struct hz_record *head = &pick->head;

	if (!e)
		return false;
	memset(pick, 0, sizeof(*pick));
	pick->seq = e->seq;
	pick->start = hz->mirror.seq;
	pick->incarnation = e->incarnation;
	pick->full = c->full;
	pick->body = e->body;
	if (pick->body)
		refcount_inc(&pick->body->ref);

	head->head = sizeof(*head);
	head->type = e->type;
	head->flags = (e->gone ? VIRTIO_HZ_REC_GONE : 0) | (c->full ? VIRTIO_HZ_REC_FULL : 0);
	head->body = pick->body ? pick->body->len : 0;
	head->size = head->head + head->body;
	head->disruption = e->disruption;
	head->version = e->version;
	head->boottime_ns = e->stamp;
	memcpy(head->key, e->key, sizeof(head->key));
	return true;
}

/* Locked. The reader has it. */
void hz_mirror_told(struct hz_cursor *c, const struct hz_pick *pick)
{
	if (pick->head.type != VIRTIO_HZ_R_STATUS) {
		c->seq = pick->seq;
		return;
	}
	c->status = pick->seq;
	c->disruption = pick->head.disruption;
	c->incarnation = pick->incarnation;
	if (pick->full) {
		c->full = false;
		c->seq = 0;
		c->start = pick->start;
	}
}
