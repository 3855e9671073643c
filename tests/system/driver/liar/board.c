// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hz_liar: a little board, and its records as an honest device writes them.
 */
#include <linux/string.h>

#include "liar.h"

#define REC(buf) ((struct virtio_hz_record *)(buf))

void liar_board_init(struct liar_board *b, u64 disruption)
{
	memset(b, 0, sizeof(*b));
	b->disruption = disruption;
	b->version = 1;
	b->status_version = 1;
	memset(b->generation, 0x11 * disruption, sizeof(b->generation));
}

void liar_board_gone(struct liar_board *b, struct liar_entry *e)
{
	e->gone = true;
	e->version = ++b->version;
}

/* What a driver's reset does: declarations go, notices stay. */
void liar_board_reset(struct liar_board *b)
{
	unsigned int i;

	for (i = 0; i < LIAR_ENTRIES; i++)
		if (b->entry[i].type == VIRTIO_HZ_R_DECLARATION && !b->entry[i].gone)
			liar_board_gone(b, &b->entry[i]);
	b->resets++;
	b->status_version = ++b->version;
}

/* What a load of state does: everything is told anew, STATUS first. */
void liar_board_disrupt(struct liar_board *b)
{
	unsigned int i;

	b->disruption++;
	b->status_version = ++b->version;
	for (i = 0; i < LIAR_ENTRIES; i++)
		if (b->entry[i].type && !b->entry[i].gone)
			b->entry[i].version = ++b->version;
}

struct liar_entry *liar_board_find(struct liar_board *b, u16 type, const void *key)
{
	unsigned int i;

	for (i = 0; i < LIAR_ENTRIES; i++)
		if (b->entry[i].type == type && !memcmp(b->entry[i].key, key, VIRTIO_HZ_KEY_LEN))
			return &b->entry[i];
	return NULL;
}

struct liar_entry *liar_board_set(struct liar_board *b, u16 type, const void *key)
{
	struct liar_entry *e = liar_board_find(b, type, key);
	unsigned int i;

	for (i = 0; !e && i < LIAR_ENTRIES; i++)
		if (!b->entry[i].type || b->entry[i].gone)
			e = &b->entry[i];
	if (!e)
		return NULL;
	e->type = type;
	e->gone = false;
	memcpy(e->key, key, VIRTIO_HZ_KEY_LEN);
	e->version = ++b->version;
	e->seq = e->version;
	return e;
}

/* The oldest entry newer than a version. */
struct liar_entry *liar_board_next(struct liar_board *b, u64 than)
{
	struct liar_entry *best = NULL;
	unsigned int i;

	for (i = 0; i < LIAR_ENTRIES; i++) {
		struct liar_entry *e = &b->entry[i];

		if (e->type && e->version > than && (!best || e->version < best->version))
			best = e;
	}
	return best;
}

static u32 liar_record_head(const struct liar_board *b, u16 type, u16 flags, u64 version,
			    u32 body, void *buf)
{
	memset(buf, 0, sizeof(struct virtio_hz_record) + body);
	REC(buf)->hdr.len = cpu_to_le32(sizeof(struct virtio_hz_record) + body);
	REC(buf)->hdr.type = cpu_to_le16(type);
	REC(buf)->hdr.flags = cpu_to_le16(flags);
	REC(buf)->disruption = cpu_to_le64(b->disruption);
	REC(buf)->version = cpu_to_le64(version);
	return sizeof(struct virtio_hz_record) + body;
}

u32 liar_record_status(const struct liar_board *b, u16 flags, void *buf)
{
	struct virtio_hz_status *s = buf + sizeof(struct virtio_hz_record);
	u32 len = liar_record_head(b, VIRTIO_HZ_R_STATUS, flags, b->status_version, sizeof(*s),
				   buf);

	s->resets = cpu_to_le32(b->resets);
	memcpy(s->generation, b->generation, sizeof(s->generation));
	return len;
}

u32 liar_record_entry(const struct liar_board *b, const struct liar_entry *e, void *buf)
{
	static const u8 doc[8] = { 1, 0, 4, 0, 'a', 'b', 'c', 'd' };
	struct virtio_hz_declaration *d = buf + sizeof(struct virtio_hz_record);
	struct virtio_hz_notice *n = buf + sizeof(struct virtio_hz_record);
	u32 body = 0, len;

	if (!e->gone)
		body = e->type == VIRTIO_HZ_R_NOTICE ? sizeof(*n) : sizeof(*d) + sizeof(doc);
	len = liar_record_head(b, e->type, e->gone ? VIRTIO_HZ_REC_GONE : 0, e->version, body, buf);
	memcpy(REC(buf)->key, e->key, sizeof(e->key));
	if (e->gone)
		return len;
	if (e->type == VIRTIO_HZ_R_NOTICE) {
		memcpy(n->id, e->key, sizeof(n->id));
		n->kind = cpu_to_le16(4);
		n->revision = cpu_to_le32(1);
	} else {
		d->seq = cpu_to_le64(e->seq);
		d->doc_len = cpu_to_le16(sizeof(doc));
		memcpy(d + 1, doc, sizeof(doc));
	}
	return len;
}
