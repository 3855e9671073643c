/* SPDX-License-Identifier: MIT */
/* hz board: the tables, the provider's side, and telling. */
#include "board-int.h"

#include <stdlib.h>
#include <string.h>

/* -- making ------------------------------------------------------------- */

static bool limits_ok(const struct hz_board_limits *l)
{
    return l->declarations >= 1 && l->declarations <= VIRTIO_HZ_MAX_DECLARATIONS &&
           l->notices >= 1 && l->notices <= VIRTIO_HZ_MAX_NOTICES &&
           l->doc >= 64 && l->doc <= VIRTIO_HZ_MAX_DOC && l->doc % 4 == 0;
}

struct hz_board *hz_board_new(const struct hz_board_limits *limits,
                              const uint8_t generation[VIRTIO_HZ_UUID_LEN])
{
    struct hz_board *b;

    if (!limits_ok(limits)) {
        return NULL;
    }
    b = calloc(1, sizeof(*b));
    if (!b) {
        return NULL;
    }
    b->limits = *limits;
    b->disruption = 1;      /* so that a cursor of zeros is never taken for a current one */
    b->version = b->status_version = 1;
    b->status.pause_ns = VIRTIO_HZ_NS_UNKNOWN;
    memcpy(b->status.generation, generation, VIRTIO_HZ_UUID_LEN);
    return b;
}

void hz_board_free(struct hz_board *b)
{
    free(b);
}

/* -- what it is --------------------------------------------------------- */

uint64_t hz_board_version(const struct hz_board *b)
{
    return b->version;
}

uint64_t hz_board_disruption(const struct hz_board *b)
{
    return b->disruption;
}

const uint8_t *hz_board_generation(const struct hz_board *b)
{
    return b->status.generation;
}

const struct hz_board_limits *hz_board_limits(const struct hz_board *b)
{
    return &b->limits;
}

uint64_t hz_board_refusals(const struct hz_board *b)
{
    return b->refusals;
}

unsigned hz_board_declarations(const struct hz_board *b)
{
    unsigned n = 0;

    for (unsigned i = 0; i < b->limits.declarations; i++) {
        n += slot_standing(&b->decl[i].s);
    }
    return n;
}

unsigned hz_board_notices(const struct hz_board *b)
{
    unsigned n = 0;

    for (unsigned i = 0; i < b->limits.notices; i++) {
        n += slot_standing(&b->notice[i].s);
    }
    return n;
}

unsigned hz_board_open_notices(const struct hz_board *b)
{
    unsigned n = 0;

    for (unsigned i = 0; i < b->limits.notices; i++) {
        n += slot_standing(&b->notice[i].s) && !hz_state_closed(b->notice[i].n.state);
    }
    return n;
}

/* -- slots -------------------------------------------------------------- */

void hz_slot_touch(struct hz_board *b, struct slot *s)
{
    s->version = ++b->version;
}

void hz_slot_bury(struct hz_board *b, struct slot *s)
{
    s->gone = true;
    hz_slot_touch(b, s);
}

void hz_status_touch(struct hz_board *b)
{
    b->status_version = ++b->version;
}

/* Both tables are searched by the same rule; only the size of a row differs. */
static struct slot *slot_at(void *table, size_t row, unsigned i)
{
    return (struct slot *)((uint8_t *)table + row * i);
}

static struct slot *find(void *table, size_t row, unsigned n, const uint8_t *key)
{
    for (unsigned i = 0; i < n; i++) {
        struct slot *s = slot_at(table, row, i);

        if (slot_standing(s) && !memcmp(s->key, key, VIRTIO_HZ_KEY_LEN)) {
            return s;
        }
    }
    return NULL;
}

/* The place for @key: its own tombstone, else a free slot, else the oldest tombstone. */
static struct slot *place(struct hz_board *b, void *table, size_t row, unsigned n,
                          const uint8_t *key)
{
    struct slot *best = NULL;

    for (unsigned i = 0; i < n; i++) {
        struct slot *s = slot_at(table, row, i);

        if (slot_standing(s)) {
            continue;
        }
        if (s->version && !memcmp(s->key, key, VIRTIO_HZ_KEY_LEN)) {
            best = s;
            break;
        }
        if (!best || s->version < best->version) {
            best = s;
        }
    }
    if (!best) {
        return NULL;
    }
    if (best->version && memcmp(best->key, key, VIRTIO_HZ_KEY_LEN) &&
        best->version > b->floor) {
        b->floor = best->version;
    }
    memcpy(best->key, key, VIRTIO_HZ_KEY_LEN);
    best->gone = false;
    return best;
}

struct decl_slot *hz_board_find_decl(struct hz_board *b, const uint8_t key[VIRTIO_HZ_KEY_LEN])
{
    return (struct decl_slot *)find(b->decl, sizeof(b->decl[0]), b->limits.declarations, key);
}

struct decl_slot *hz_board_new_decl(struct hz_board *b, const uint8_t key[VIRTIO_HZ_KEY_LEN])
{
    return (struct decl_slot *)place(b, b->decl, sizeof(b->decl[0]), b->limits.declarations, key);
}

static void notice_key(uint8_t key[VIRTIO_HZ_KEY_LEN], const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    memset(key, 0, VIRTIO_HZ_KEY_LEN);
    memcpy(key, id, VIRTIO_HZ_UUID_LEN);
}

struct notice_slot *hz_board_find_notice(struct hz_board *b, const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    uint8_t key[VIRTIO_HZ_KEY_LEN];

    notice_key(key, id);
    return (struct notice_slot *)find(b->notice, sizeof(b->notice[0]), b->limits.notices, key);
}

static struct slot *oldest_closed(struct hz_board *b)
{
    struct slot *best = NULL;

    for (unsigned i = 0; i < b->limits.notices; i++) {
        struct notice_slot *ns = &b->notice[i];

        if (slot_standing(&ns->s) && hz_state_closed(ns->n.state) &&
            (!best || ns->s.version < best->version)) {
            best = &ns->s;
        }
    }
    return best;
}

struct notice_slot *hz_board_new_notice(struct hz_board *b, const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    struct slot *s;

    notice_key(key, id);
    s = place(b, b->notice, sizeof(b->notice[0]), b->limits.notices, key);
    if (!s && (s = oldest_closed(b))) {
        hz_slot_bury(b, s);
        s = place(b, b->notice, sizeof(b->notice[0]), b->limits.notices, key);
    }
    return (struct notice_slot *)s;
}

/* -- points in time ----------------------------------------------------- */

static uint64_t to_absolute(uint64_t remaining, uint64_t now)
{
    if (remaining == VIRTIO_HZ_NS_NONE || remaining == VIRTIO_HZ_NS_UNKNOWN) {
        return remaining;
    }
    return remaining < VIRTIO_HZ_NS_UNKNOWN - 1 - now ? now + remaining
                                                      : VIRTIO_HZ_NS_UNKNOWN - 1;
}

static uint64_t to_remaining(uint64_t absolute, uint64_t now)
{
    if (absolute == VIRTIO_HZ_NS_NONE || absolute == VIRTIO_HZ_NS_UNKNOWN) {
        return absolute;
    }
    return absolute > now ? absolute - now : 1;
}

/* -- the provider's side ------------------------------------------------ */

/* May @n take the place of what stands? */
static int notice_follows(const struct hz_notice *old, const struct hz_notice *n)
{
    bool same = n->kind == old->kind && n->doc_len == old->doc_len &&
                !memcmp(n->doc, old->doc, n->doc_len);

    if (n->revision < old->revision ||
        (n->revision == old->revision && n->state < old->state) ||
        (hz_state_closed(old->state) && n->state != old->state)) {
        return -VIRTIO_HZ_E_VOID;
    }
    if (n->revision == old->revision && n->state == old->state && !same) {
        return -VIRTIO_HZ_E_INVAL;
    }
    return 0;
}

static void take_reply(struct hz_notice *to, const struct hz_notice *from)
{
    to->replied = from ? from->replied : 0;
    to->reply = from ? from->reply : VIRTIO_HZ_REPLY_NONE;
    to->reply_arg = from ? from->reply_arg : 0;
    to->reply_doc_len = from ? from->reply_doc_len : 0;
    if (from) {
        memcpy(to->reply_doc, from->reply_doc, from->reply_doc_len);
    }
}

int hz_board_set_notice(struct hz_board *b, const struct hz_notice *n, uint64_t now)
{
    struct notice_slot *ns;
    struct hz_notice next = *n;
    int err;

    if (n->doc_len > b->limits.doc) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    if (!n->revision || n->state > VIRTIO_HZ_STATE_MAX) {
        return -VIRTIO_HZ_E_INVAL;
    }
    ns = hz_board_find_notice(b, n->id);
    if (ns) {
        err = notice_follows(&ns->n, n);
        if (err) {
            return err;
        }
        take_reply(&next, n->revision == ns->n.revision ? &ns->n : NULL);
    } else {
        ns = hz_board_new_notice(b, n->id);
        if (!ns) {
            return -VIRTIO_HZ_E_NOSPC;
        }
        take_reply(&next, NULL);
    }
    next.not_before_ns = to_absolute(n->not_before_ns, now);
    next.deadline_ns = to_absolute(n->deadline_ns, now);
    ns->n = next;
    hz_slot_touch(b, &ns->s);
    return 0;
}

int hz_board_drop_notice(struct hz_board *b, const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    struct notice_slot *ns = hz_board_find_notice(b, id);

    if (!ns) {
        return -VIRTIO_HZ_E_NOENT;
    }
    hz_slot_bury(b, &ns->s);
    return 0;
}

int hz_board_set_verdicts(struct hz_board *b, const struct hz_set_verdicts *v)
{
    struct decl_slot *ds = hz_board_find_decl(b, v->subject);

    if (!ds) {
        return -VIRTIO_HZ_E_NOENT;
    }
    if (ds->d.seq != v->seq) {
        return -VIRTIO_HZ_E_STALE;
    }
    if (v->verdicts > VIRTIO_HZ_MAX_FIELDS) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    ds->d.verdict_seq = v->seq;
    ds->d.verdicts = v->verdicts;
    memcpy(ds->d.verdict, v->verdict, v->verdicts * sizeof(v->verdict[0]));
    hz_slot_touch(b, &ds->s);
    return 0;
}

void hz_board_set_provider(struct hz_board *b, bool present)
{
    uint16_t status = present ? VIRTIO_HZ_S_PROVIDER : 0;

    if (b->status.status != status) {
        b->status.status = status;
        hz_status_touch(b);
    }
}

/* -- reset -------------------------------------------------------------- */

bool hz_board_empty(struct hz_board *b, bool declarations, bool replies)
{
    bool any = false;

    for (unsigned i = 0; declarations && i < b->limits.declarations; i++) {
        if (slot_standing(&b->decl[i].s)) {
            hz_slot_bury(b, &b->decl[i].s);
            any = true;
        }
    }
    for (unsigned i = 0; replies && i < b->limits.notices; i++) {
        struct notice_slot *ns = &b->notice[i];

        if (slot_standing(&ns->s) && ns->n.replied) {
            take_reply(&ns->n, NULL);
            hz_slot_touch(b, &ns->s);
            any = true;
        }
    }
    return any;
}

void hz_board_reset(struct hz_board *b)
{
    if (hz_board_empty(b, true, true)) {
        b->status.resets++;
        hz_status_touch(b);
    }
}

void hz_board_forget_verdicts(struct hz_board *b)
{
    for (unsigned i = 0; i < b->limits.declarations; i++) {
        b->decl[i].d.verdict_seq = 0;
        b->decl[i].d.verdicts = 0;
    }
}

/* -- telling ------------------------------------------------------------ */

void hz_board_retell(struct hz_board *b, uint64_t pause_ns)
{
    if (!b->loaded) {
        b->status.reason = VIRTIO_HZ_WHY_PAUSE;
    }
    b->loaded = false;
    b->status.pause_ns = pause_ns;
    hz_status_touch(b);
    for (unsigned i = 0; i < b->limits.notices; i++) {
        struct notice_slot *ns = &b->notice[i];

        if (slot_standing(&ns->s) && !hz_state_closed(ns->n.state)) {
            hz_slot_touch(b, &ns->s);
        }
    }
}

static bool cursor_lost(const struct hz_board *b, const struct hz_cursor *c)
{
    uint64_t knows = c->version > c->floor ? c->version : c->floor;

    return c->disruption != b->disruption || b->floor > knows;
}

bool hz_board_news(const struct hz_board *b, const struct hz_cursor *c)
{
    return cursor_lost(b, c) || b->version > c->version;
}

static int put_record(const struct hz_board *b, const struct hz_rec *r, int body, void *buf)
{
    uint8_t *p = buf;
    struct hz_hdr h = r->hdr;

    h.len = (uint32_t)(HZ_RECORD_HEAD + (size_t)body);
    hz_hdr_put(p, &h);
    hz_put64(p + offsetof(struct virtio_hz_record, disruption), b->disruption);
    hz_put64(p + offsetof(struct virtio_hz_record, version), r->version);
    memcpy(p + offsetof(struct virtio_hz_record, key), r->key, VIRTIO_HZ_KEY_LEN);
    return (int)h.len;
}

static int put_status(const struct hz_board *b, uint16_t flags, void *buf, size_t cap)
{
    struct hz_rec r = {
        .hdr = { .type = VIRTIO_HZ_R_STATUS, .flags = flags }, .version = b->status_version,
    };
    int body = hz_status_put((uint8_t *)buf + HZ_RECORD_HEAD, cap - HZ_RECORD_HEAD, &b->status);

    if (body < 0) {
        r.hdr.flags |= VIRTIO_HZ_REC_TRUNCATED;
        body = 0;
    }
    return put_record(b, &r, body, buf);
}

static int put_slot(const struct hz_board *b, const struct slot *s, const struct hz_declaration *d,
                    const struct hz_notice *n, void *buf, size_t cap, uint64_t now)
{
    struct hz_rec r = { .version = s->version };
    uint8_t *at = (uint8_t *)buf + HZ_RECORD_HEAD;
    int body = 0;

    r.hdr.type = d ? VIRTIO_HZ_R_DECLARATION : VIRTIO_HZ_R_NOTICE;
    memcpy(r.key, s->key, VIRTIO_HZ_KEY_LEN);
    if (s->gone) {
        r.hdr.flags = VIRTIO_HZ_REC_GONE;
    } else if (d) {
        body = hz_declaration_put(at, cap - HZ_RECORD_HEAD, d);
    } else {
        struct hz_notice told = *n;

        told.not_before_ns = to_remaining(n->not_before_ns, now);
        told.deadline_ns = to_remaining(n->deadline_ns, now);
        body = hz_notice_put(at, cap - HZ_RECORD_HEAD, &told);
    }
    if (body < 0) {
        r.hdr.flags = VIRTIO_HZ_REC_TRUNCATED;
        body = 0;
    }
    return put_record(b, &r, body, buf);
}

/* The slot with the lowest version above @than; what is beside it in *@d or *@n. */
static const struct slot *next_slot(const struct hz_board *b, uint64_t than,
                                    const struct hz_declaration **d, const struct hz_notice **n)
{
    const struct slot *best = NULL;

    *d = NULL;
    *n = NULL;
    for (unsigned i = 0; i < b->limits.declarations; i++) {
        const struct slot *s = &b->decl[i].s;

        if (s->version > than && (!best || s->version < best->version)) {
            best = s;
            *d = &b->decl[i].d;
        }
    }
    for (unsigned i = 0; i < b->limits.notices; i++) {
        const struct slot *s = &b->notice[i].s;

        if (s->version > than && (!best || s->version < best->version)) {
            best = s;
            *d = NULL;
            *n = &b->notice[i].n;
        }
    }
    return best;
}

struct slot *hz_board_oldest(struct hz_board *b, uint64_t until)
{
    const struct hz_declaration *d;
    const struct hz_notice *n;
    const struct slot *s;
    uint64_t than = 0;

    while ((s = next_slot(b, than, &d, &n)) && s->gone) {
        than = s->version;
    }
    return s && s->version <= until ? (struct slot *)s : NULL;
}

int hz_board_next(const struct hz_board *b, struct hz_cursor *c,
                  void *buf, size_t cap, uint64_t now)
{
    const struct hz_declaration *d;
    const struct hz_notice *n;
    const struct slot *s;

    if (!hz_board_news(b, c)) {
        return 0;
    }
    if (cap < HZ_RECORD_HEAD) {
        return -VIRTIO_HZ_E_SMALL;
    }
    if (cursor_lost(b, c)) {
        c->disruption = b->disruption;
        c->version = 0;
        c->floor = b->floor;
        return put_status(b, VIRTIO_HZ_REC_FULL, buf, cap);
    }
    s = next_slot(b, c->version, &d, &n);
    if (b->status_version > c->version && (!s || b->status_version < s->version)) {
        c->version = b->status_version;
        return put_status(b, 0, buf, cap);
    }
    if (!s) {
        return 0;   /* the newest version's slot was taken over: its floor told, above */
    }
    c->version = s->version;
    return put_slot(b, s, d, n, buf, cap, now);
}
