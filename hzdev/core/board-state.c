/* SPDX-License-Identifier: MIT */
/*
 * hz board: saving and loading.
 *
 * A saved board is a small head and the records that a reader from nothing
 * would be told, in that order: one format, one set of checks. Tombstones are
 * not saved (every reader starts over after a load) and neither are points in
 * time (the clock they were on is another host's).
 *
 *     offset 0   u16 format version   2  u16 records   4  u32 reserved
 *     offset 8   u64 newest sequence  16 u64 newest board version
 *     offset 24  records: STATUS, DECLARATIONs and NOTICEs by ascending version
 */
#include "board-int.h"

#include <stdlib.h>
#include <string.h>

#define STATE_HEAD 24

/* -- saving -------------------------------------------------------------- */

int hz_board_save(const struct hz_board *b, void *buf, size_t cap)
{
    struct hz_cursor c = { .disruption = b->disruption, .floor = b->floor };
    struct hz_board *copy = malloc(sizeof(*copy));
    uint8_t *p = buf;
    size_t pos = STATE_HEAD;
    unsigned records = 0;
    int len = -VIRTIO_HZ_E_TOOBIG;

    if (!copy || cap < STATE_HEAD) {
        goto out;
    }
    *copy = *b;
    for (unsigned i = 0; i < VIRTIO_HZ_MAX_NOTICES; i++) {
        struct hz_notice *n = &copy->notice[i].n;

        /* "none" stays none; a point in time becomes unknown */
        n->not_before_ns = n->not_before_ns ? VIRTIO_HZ_NS_UNKNOWN : VIRTIO_HZ_NS_NONE;
        n->deadline_ns = n->deadline_ns ? VIRTIO_HZ_NS_UNKNOWN : VIRTIO_HZ_NS_NONE;
    }
    while ((len = hz_board_next(copy, &c, p + pos, cap - pos, 0)) > 0) {
        uint16_t flags = hz_get16(p + pos + offsetof(struct virtio_hz_hdr, flags));

        if (flags & VIRTIO_HZ_REC_TRUNCATED) {
            len = -VIRTIO_HZ_E_TOOBIG;
            goto out;
        }
        if (!(flags & VIRTIO_HZ_REC_GONE)) {
            pos += (size_t)len;
            records++;
        }
    }
    if (len < 0) {
        len = -VIRTIO_HZ_E_TOOBIG;
        goto out;
    }
    hz_put16(p, HZ_BOARD_STATE_VERSION);
    hz_put16(p + 2, (uint16_t)records);
    hz_put32(p + 4, 0);
    hz_put64(p + 8, b->seq);
    hz_put64(p + 16, b->version);
    len = (int)pos;
out:
    free(copy);
    return len;
}

/* -- loading ------------------------------------------------------------- */

struct loader {
    struct hz_board *b;         /* being filled; not the caller's */
    const uint8_t *p;
    size_t len, pos;
    uint64_t version;           /* of the record before: they ascend */
    bool status;                /* seen */
    const char *why;
};

static int refuse(struct loader *l, int code, const char *why)
{
    l->why = why;
    return -code;
}

static int load_status(struct loader *l, const struct hz_rec *r)
{
    static const uint8_t none[VIRTIO_HZ_KEY_LEN];

    if (l->status || memcmp(r->key, none, sizeof(none))) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a second status, or one with a key");
    }
    if (hz_status_get(r->body, r->body_len, &l->b->status)) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a status that can't be read");
    }
    if (l->b->status.status & ~VIRTIO_HZ_S_PROVIDER ||
        l->b->status.reason > VIRTIO_HZ_WHY_PAUSE) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a status bit or reason that doesn't exist");
    }
    l->status = true;
    l->b->disruption = r->disruption;
    l->b->status_version = r->version;
    return 0;
}

static bool seq_stands(const struct hz_board *b, uint64_t seq)
{
    for (unsigned i = 0; i < b->limits.declarations; i++) {
        if (slot_standing(&b->decl[i].s) && b->decl[i].d.seq == seq) {
            return true;
        }
    }
    return false;
}

static int load_declaration(struct loader *l, const struct hz_rec *r)
{
    struct decl_slot *ds;
    struct hz_declaration d;

    if (!hz_subject_ok(r->key) || hz_board_find_decl(l->b, r->key)) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a declaration's subject is no name, or stands twice");
    }
    if (hz_declaration_get(r->body, r->body_len, &d)) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a declaration that can't be read");
    }
    if (d.doc_len > l->b->limits.doc) {
        return refuse(l, VIRTIO_HZ_E_TOOBIG, "a declaration's document is above doc-size");
    }
    if (!d.seq || d.seq > l->b->seq || (d.verdict_seq && d.verdict_seq != d.seq) ||
        (d.verdicts && !d.verdict_seq) || seq_stands(l->b, d.seq)) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a declaration's sequence can't be");
    }
    ds = hz_board_new_decl(l->b, r->key);
    if (!ds) {
        return refuse(l, VIRTIO_HZ_E_NOSPC, "more declarations than this device holds");
    }
    ds->s.version = r->version;
    ds->d = d;
    return 0;
}

static int load_notice(struct loader *l, const struct hz_rec *r)
{
    uint8_t key[VIRTIO_HZ_KEY_LEN] = { 0 };
    struct notice_slot *ns;
    struct hz_notice n;

    if (hz_notice_get(r->body, r->body_len, &n)) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a notice that can't be read");
    }
    memcpy(key, n.id, VIRTIO_HZ_UUID_LEN);
    if (memcmp(r->key, key, sizeof(key)) || hz_board_find_notice(l->b, n.id)) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a notice's key isn't its id, or stands twice");
    }
    if (n.doc_len > l->b->limits.doc) {
        return refuse(l, VIRTIO_HZ_E_TOOBIG, "a notice's document is above doc-size");
    }
    if ((n.not_before_ns && n.not_before_ns != VIRTIO_HZ_NS_UNKNOWN) ||
        (n.deadline_ns && n.deadline_ns != VIRTIO_HZ_NS_UNKNOWN) ||
        !n.replied != !n.reply || (n.reply && !(n.replied & 1u << n.reply))) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a notice's time or reply can't be");
    }
    if (hz_board_notices(l->b) >= l->b->limits.notices) {
        return refuse(l, VIRTIO_HZ_E_NOSPC, "more notices than this device holds");
    }
    ns = hz_board_new_notice(l->b, n.id);
    ns->s.version = r->version;
    ns->n = n;
    return 0;
}

static int load_record(struct loader *l)
{
    int len = hz_frame_complete(l->p + l->pos, l->len - l->pos, VIRTIO_HZ_MAX_FRAME);
    struct hz_rec r;

    if (len <= 0 || hz_record_get(l->p + l->pos, (size_t)len, &r) || r.hdr.flags ||
        r.hdr.cookie) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a record that can't be read");
    }
    if (r.version <= l->version || r.version > l->b->version) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "records out of order");
    }
    if (r.disruption == 0 || r.disruption == UINT64_MAX ||
        (l->b->disruption && r.disruption != l->b->disruption)) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "records of different disruptions");
    }
    l->b->disruption = r.disruption;
    l->version = r.version;
    l->pos += (size_t)len;
    switch (r.hdr.type) {
    case VIRTIO_HZ_R_STATUS:
        return load_status(l, &r);
    case VIRTIO_HZ_R_DECLARATION:
        return load_declaration(l, &r);
    default:
        return load_notice(l, &r);
    }
}

/* Head and records into @l->b, an empty board of the right limits. */
static int load_all(struct loader *l)
{
    unsigned records;
    int err;

    if (l->len < STATE_HEAD) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "shorter than its head");
    }
    if (hz_get16(l->p) > HZ_BOARD_STATE_VERSION) {
        return refuse(l, VIRTIO_HZ_E_UNSUPP, "a newer format than this device reads");
    }
    records = hz_get16(l->p + 2);
    if (!hz_get16(l->p) || hz_get32(l->p + 4)) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a head that can't be read");
    }
    l->b->seq = hz_get64(l->p + 8);
    l->b->version = hz_get64(l->p + 16);
    if (l->b->seq > INT64_MAX || l->b->version > INT64_MAX) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "a sequence or version that can't be");
    }
    l->pos = STATE_HEAD;
    for (unsigned i = 0; i < records; i++) {
        err = load_record(l);
        if (err) {
            return err;
        }
    }
    if (l->pos != l->len || !l->status) {
        return refuse(l, VIRTIO_HZ_E_INVAL, "fewer or more records than its head says, or no status");
    }
    return 0;
}

/* A new generation: what the old one was told or said is void. */
static void new_generation(struct hz_board *b, const struct hz_board_loaded *how)
{
    memcpy(b->status.generation, how->generation, VIRTIO_HZ_UUID_LEN);
    if (hz_board_empty(b, !how->keep, true) && !how->keep) {
        b->status.resets++;
    }
    for (unsigned i = 0; i < b->limits.notices; i++) {
        struct notice_slot *ns = &b->notice[i];

        if (slot_standing(&ns->s) && !hz_state_closed(ns->n.state)) {
            ns->n.state = VIRTIO_HZ_STATE_CANCELLED;
            ns->n.cause = VIRTIO_HZ_CAUSE_GENERATION;
        }
    }
}

/* Status first, then every entry in its old order, each with a new version. */
static void tell_anew(struct hz_board *b)
{
    uint64_t until = b->version;
    struct slot *s;

    hz_status_touch(b);
    while ((s = hz_board_oldest(b, until))) {
        hz_slot_touch(b, s);
    }
}

int hz_board_load(struct hz_board *b, const void *buf, size_t len,
                  const struct hz_board_loaded *how, const char **why)
{
    struct loader l = { .p = buf, .len = len };
    int err;

    l.b = calloc(1, sizeof(*l.b));
    if (!l.b) {
        *why = "out of memory";
        return -VIRTIO_HZ_E_NOSPC;
    }
    l.b->limits = b->limits;
    err = load_all(&l);
    if (!err) {
        l.b->refusals = b->refusals;
        l.b->disruption++;
        l.b->loaded = true;
        l.b->status.status = 0;
        l.b->status.reason = how->reason;
        l.b->status.pause_ns = VIRTIO_HZ_NS_UNKNOWN;
        hz_board_forget_verdicts(l.b);
        if (how->generation &&
            memcmp(how->generation, l.b->status.generation, VIRTIO_HZ_UUID_LEN)) {
            new_generation(l.b, how);
        }
        tell_anew(l.b);
        *b = *l.b;
    }
    *why = l.why;
    free(l.b);
    return err;
}
