// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hz_liar: what it answers, what it tells by itself, and how it twists both.
 */
#include <linux/string.h>

#include "liar.h"

#define RSP(p) ((struct virtio_hz_response *)(p))
#define REC(p) ((struct virtio_hz_record *)(p))
#define HUGE BIT(20)

/* Is this the lie of the hour? It is told once. */
static bool lying(struct liar *l, const char *name)
{
	if (strcmp(l->lie, name))
		return false;
	l->lie[0] = 0;
	return true;
}

/* -- answers ------------------------------------------------------------- */

static void liar_declare(struct liar *l, const struct virtio_hz_declare *req,
			 struct virtio_hz_response *rsp)
{
	struct liar_entry *e = liar_board_set(&l->board, VIRTIO_HZ_R_DECLARATION, req->subject);

	rsp->status = cpu_to_le32(e ? VIRTIO_HZ_OK : VIRTIO_HZ_E_NOSPC);
	rsp->seq = cpu_to_le64(e ? e->seq : 0);
}

static void liar_withdraw(struct liar *l, const struct virtio_hz_withdraw *req,
			  struct virtio_hz_response *rsp)
{
	struct liar_entry *e = liar_board_find(&l->board, VIRTIO_HZ_R_DECLARATION, req->subject);

	if (e && !e->gone)
		liar_board_gone(&l->board, e);
	else
		rsp->status = cpu_to_le32(VIRTIO_HZ_E_NOENT);
}

/* Whole readings only, or what is newer than a cursor of this disruption. */
static u32 liar_read(struct liar *l, const struct virtio_hz_read *req, void *in, u32 cap)
{
	struct virtio_hz_response *rsp = in;
	u64 since = le64_to_cpu(req->since);
	bool full = le64_to_cpu(req->disruption) != l->board.disruption || !since;
	u32 len = sizeof(*rsp), count = 0;
	struct liar_entry *e;

	if (full || l->board.status_version > since) {
		len += liar_record_status(&l->board, full ? VIRTIO_HZ_REC_FULL : 0, in + len);
		count++;
	}
	for (e = liar_board_next(&l->board, full ? 0 : since); e && cap - len >= 256;
	     e = liar_board_next(&l->board, e->version)) {
		len += liar_record_entry(&l->board, e, in + len);
		count++;
	}
	rsp->count = cpu_to_le32(count);
	return len;
}

/* The first record of an answer to a READ, twisted. */
static void liar_twist_record(struct liar *l, struct virtio_hz_record *rec)
{
	if (lying(l, "read-record-empty"))
		rec->hdr.len = 0;
	else if (lying(l, "read-record-odd"))
		rec->hdr.len = cpu_to_le32(le32_to_cpu(rec->hdr.len) + 4);
	else if (lying(l, "read-record-long"))
		rec->hdr.len = cpu_to_le32(VIRTIO_HZ_MAX_RESPONSE);
	else if (lying(l, "read-record-huge"))
		rec->hdr.len = cpu_to_le32(0xfffffff8);
	else if (lying(l, "read-alien"))
		rec->disruption = cpu_to_le64(l->board.disruption + 7);
	else if (lying(l, "read-unknown") || !strcmp(l->lie, "read-no-status"))
		rec->hdr.type = cpu_to_le16(0x2ff);
}

/* @len bytes of an answer, twisted: how many the used ring will say. */
static u32 liar_twist(struct liar *l, void *in, u32 len, u32 *id)
{
	bool read = le16_to_cpu(RSP(in)->hdr.type) == (VIRTIO_HZ_T_READ | VIRTIO_HZ_T_RESPONSE);
	struct virtio_hz_response *rsp = in;

	if (!read && !strncmp(l->lie, "read-", 5))
		return len;
	if (lying(l, "read-refused"))
		rsp->status = cpu_to_le32(VIRTIO_HZ_E_INVAL);
	if (lying(l, "read-more"))	/* the cursor the driver had */
		rsp->hdr.flags = cpu_to_le16(VIRTIO_HZ_RSP_MORE);
	if (lying(l, "read-flags"))
		rsp->hdr.flags = cpu_to_le16(0x80);
	if (lying(l, "read-count-more"))
		rsp->count = cpu_to_le32(le32_to_cpu(rsp->count) + 1);
	if (lying(l, "read-count-less"))
		rsp->count = cpu_to_le32(le32_to_cpu(rsp->count) - 1);
	if (read && le32_to_cpu(rsp->count))
		liar_twist_record(l, in + sizeof(*rsp));
	if (strncmp(l->lie, "answer-", 7) || read)
		return len;
	if (lying(l, "answer-len-huge"))
		rsp->hdr.len = cpu_to_le32(HUGE);
	if (lying(l, "answer-len-zero"))
		rsp->hdr.len = 0;
	if (lying(l, "answer-cookie"))
		rsp->hdr.cookie ^= cpu_to_le64(1);
	if (lying(l, "answer-type"))
		rsp->hdr.type = cpu_to_le16(VIRTIO_HZ_T_REPLY | VIRTIO_HZ_T_RESPONSE);
	if (lying(l, "answer-flags"))
		rsp->hdr.flags = cpu_to_le16(1);
	if (lying(l, "answer-status"))
		rsp->status = cpu_to_le32(99);
	if (lying(l, "answer-ahead"))	/* a version it will never tell of */
		rsp->version = cpu_to_le64(l->board.version + 1000);
	if (lying(l, "answer-id"))
		*id = 0xffff;
	if (lying(l, "answer-used-huge"))
		return HUGE;
	if (lying(l, "answer-used-short"))
		return 8;
	return len;
}

void liar_answer(struct liar *l, const struct liar_chain *c)
{
	struct virtio_hz_response *rsp = c->in;
	const struct virtio_hz_hdr *hdr = c->out;
	u32 len = sizeof(*rsp), id = c->head;

	memset(rsp, 0, sizeof(*rsp));
	rsp->hdr.type = hdr->type | cpu_to_le16(VIRTIO_HZ_T_RESPONSE);
	rsp->hdr.cookie = hdr->cookie;
	switch (le16_to_cpu(hdr->type)) {
	case VIRTIO_HZ_T_DECLARE:
		liar_declare(l, c->out, rsp);
		break;
	case VIRTIO_HZ_T_WITHDRAW:
		liar_withdraw(l, c->out, rsp);
		break;
	case VIRTIO_HZ_T_READ:
		len = liar_read(l, c->out, c->in, c->in_len);
		break;
	default:
		rsp->status = cpu_to_le32(VIRTIO_HZ_E_NOENT);
	}
	rsp->hdr.len = cpu_to_le32(len);
	rsp->disruption = cpu_to_le64(l->board.disruption);
	rsp->version = cpu_to_le64(l->board.version);
	if (!strcmp(l->lie, "read-more") && le16_to_cpu(hdr->type) == VIRTIO_HZ_T_READ) {
		const struct virtio_hz_read *req = c->out;

		rsp->disruption = req->disruption;
		rsp->version = req->since;
	}
	len = liar_twist(l, c->in, len, &id);
	liar_push(l, VIRTIO_HZ_VQ_REQUEST, id, len);
}

/* -- events -------------------------------------------------------------- */

static u32 liar_twist_event(struct liar *l, struct virtio_hz_record *rec, u32 len)
{
	if (lying(l, "event-used-huge"))
		return HUGE;
	if (lying(l, "event-used-short"))
		return 8;
	if (lying(l, "event-len-zero"))
		rec->hdr.len = 0;
	if (lying(l, "event-len-odd"))
		rec->hdr.len = cpu_to_le32(len - 4);
	if (lying(l, "event-len-long"))
		rec->hdr.len = cpu_to_le32(len + 8);
	if (lying(l, "event-len-huge"))
		rec->hdr.len = cpu_to_le32(0xfffffff8);
	if (lying(l, "event-type"))
		rec->hdr.type = cpu_to_le16(0x2ff);
	if (lying(l, "event-flag"))
		rec->hdr.flags = cpu_to_le16(0x80);
	if (lying(l, "event-full"))
		rec->hdr.flags = cpu_to_le16(VIRTIO_HZ_REC_FULL);
	if (lying(l, "event-key"))
		memset(rec->key, 0xff, sizeof(rec->key));
	if (lying(l, "event-gone-with-body"))
		rec->hdr.flags = cpu_to_le16(VIRTIO_HZ_REC_GONE);
	if (lying(l, "event-truncated")) {
		rec->hdr.flags = cpu_to_le16(VIRTIO_HZ_REC_TRUNCATED);
		rec->hdr.len = cpu_to_le32(sizeof(*rec));
	}
	if (lying(l, "event-jump"))
		rec->disruption = cpu_to_le64(l->board.disruption + 1);
	if (lying(l, "event-old"))
		rec->version = cpu_to_le64(0);
	return len;
}

/* One record into one event buffer. false: there is no buffer. */
static bool liar_tell(struct liar *l, const struct liar_entry *e, u16 flags)
{
	struct liar_chain c;
	u32 len;

	if (!liar_pop(l, VIRTIO_HZ_VQ_EVENT, &c))
		return false;
	len = e ? liar_record_entry(&l->board, e, c.in) :
		  liar_record_status(&l->board, flags, c.in);
	if (!strncmp(l->lie, "event-", 6) && e)
		len = liar_twist_event(l, c.in, len);
	liar_push(l, VIRTIO_HZ_VQ_EVENT, c.head, len);
	return true;
}

/* Tell what is newer than the bell, as far as there are buffers. */
void liar_ring(struct liar *l)
{
	struct liar_board *b = &l->board;
	bool told = false;

	if (!(l->status & VIRTIO_CONFIG_S_DRIVER_OK) || !strcmp(l->lie, "read-no-status"))
		return;
	while (l->bell_full || l->bell < b->version) {
		struct liar_entry *e = liar_board_next(b, l->bell);
		bool status = b->status_version > l->bell &&
			      (!e || b->status_version < e->version);

		if (!l->bell_full && !e && !status)
			break;
		if (!liar_tell(l, l->bell_full || status ? NULL : e,
			       l->bell_full ? VIRTIO_HZ_REC_FULL : 0))
			break;
		if (!l->bell_full)
			l->bell = status ? b->status_version : e->version;
		l->bell_full = false;
		told = true;
	}
	if (told)
		liar_interrupt(l, VIRTIO_HZ_VQ_EVENT);
}

/* -- things that happen -------------------------------------------------- */

static void liar_key(char *key, const char *format, unsigned int n)
{
	memset(key, 0, VIRTIO_HZ_KEY_LEN);
	snprintf(key, VIRTIO_HZ_UUID_LEN, format, n);
}

/* Seventeen declarations, with sixteen allowed. */
static void liar_too_many(struct liar *l)
{
	char key[VIRTIO_HZ_KEY_LEN];
	unsigned int i;

	for (i = 0; i <= VIRTIO_HZ_MAX_DECLARATIONS; i++) {
		liar_key(key, "many/%u", i);
		liar_board_set(&l->board, VIRTIO_HZ_R_DECLARATION, key);
	}
}

/* Withdrawals of things nobody heard of, as many as there are buffers. */
static void liar_flood(struct liar *l)
{
	static unsigned int n;
	struct liar_entry e = { .type = VIRTIO_HZ_R_NOTICE, .gone = true };

	do {
		liar_key((char *)e.key, "flood-%u", n++);
		e.version = ++l->board.version;
	} while (liar_tell(l, &e, 0));
	liar_interrupt(l, VIRTIO_HZ_VQ_EVENT);
	l->bell = l->board.version;
}

static void liar_needs_reset(struct liar *l, bool again)
{
	l->needs_reset_again = again;
	l->status |= VIRTIO_CONFIG_S_NEEDS_RESET;
	virtio_config_changed(&l->vdev);
}

static int liar_config(struct liar *l, const char *what)
{
	struct virtio_hz_config *c = &l->config;

	if (!strcmp(what, "config-magic"))
		c->magic ^= cpu_to_le32(1);
	else if (!strcmp(what, "config-version"))
		c->version ^= cpu_to_le16(2);		/* 3 */
	else if (!strcmp(what, "config-version-min"))
		c->version_min ^= cpu_to_le16(3);	/* 2 */
	else if (!strcmp(what, "config-declarations"))
		c->max_declarations ^= cpu_to_le16(0x100);
	else if (!strcmp(what, "config-doc"))
		c->max_doc ^= cpu_to_le16(VIRTIO_HZ_MAX_DOC);	/* 0 */
	else if (!strcmp(what, "legacy"))
		l->features ^= BIT_ULL(VIRTIO_F_VERSION_1);
	else
		return -EINVAL;
	return 0;
}

int liar_act(struct liar *l, const char *what)
{
	char key[VIRTIO_HZ_KEY_LEN];

	if (!strcmp(what, "silent")) {
		l->silent = true;
	} else if (!strcmp(what, "speak")) {
		l->silent = false;
	} else if (!strcmp(what, "notice")) {
		liar_key(key, "notice-%u", (unsigned int)l->board.version);
		liar_board_set(&l->board, VIRTIO_HZ_R_NOTICE, key);
	} else if (!strcmp(what, "too-many")) {
		liar_too_many(l);
	} else if (!strcmp(what, "flood")) {
		liar_flood(l);
	} else if (!strcmp(what, "disrupt")) {
		liar_board_disrupt(&l->board);
		l->bell = 0;
		l->bell_full = true;
	} else if (!strcmp(what, "new-board")) {
		l->new_board = true;
	} else if (!strcmp(what, "needs-reset")) {
		liar_needs_reset(l, false);
	} else if (!strcmp(what, "needs-reset-forever")) {
		liar_needs_reset(l, true);
	} else if (!strcmp(what, "reset-no-more")) {
		l->needs_reset_again = false;
	} else if (!strcmp(what, "config-changed")) {
		virtio_config_changed(&l->vdev);
	} else if (liar_config(l, what)) {
		return -EINVAL;
	}
	liar_serve(l);
	return 0;
}
