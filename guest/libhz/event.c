/* SPDX-License-Identifier: MIT */
/* libhz's events: from a record of the board to something typed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vocabulary.h"
#include "internal.h"

#define TEXT_MAX 160            /* of one value, as a person reads it */

/*
 * An event is one allocation: the event, its fields, the document they point
 * into, and their texts.
 */
struct room {
    struct hz_event ev;
    struct hz_ev_field field[];
};

static char (*room_texts(struct room *room, unsigned n, size_t doc_len))[TEXT_MAX]
{
    return (char (*)[TEXT_MAX])((uint8_t *)&room->field[n] + doc_len);
}

static void hex(const uint8_t *value, size_t len, char *buf, size_t cap)
{
    size_t i;

    *buf = '\0';
    for (i = 0; i < len && 2 * i + 3 <= cap; i++) {
        snprintf(buf + 2 * i, 3, "%02x", value[i]);
    }
}

static void field_put(struct hz_ev_field *f, char text[TEXT_MAX])
{
    const struct hz_field *row = hz_field_by_id(f->id);

    f->text = text;
    f->verdict_text = "";
    if (row) {
        f->name = row->name;
        f->is_number = hz_value_get(row, f->value, f->len, &f->number) == 0;
        if (hz_value_format(row, f->value, f->len, text, TEXT_MAX) >= 0) {
            return;
        }
    }
    hex(f->value, f->len, text, TEXT_MAX);
}

static unsigned count_fields(const uint8_t *doc, size_t len)
{
    const uint8_t *value;
    uint16_t id, value_len;
    unsigned n = 0;
    size_t pos = 0;

    while (n < VIRTIO_HZ_MAX_FIELDS && hz_doc_next(doc, len, &pos, &id, &value, &value_len)) {
        n++;
    }
    return n;
}

/* Room for an event of @type with the fields of a checked document; their number in *@n. */
static struct room *room_new(enum hz_event_type type, const uint8_t *doc, size_t len, unsigned *n)
{
    unsigned i, fields = count_fields(doc, len);
    struct room *room = calloc(1, sizeof(*room) + fields * (sizeof(room->field[0]) + 2 * TEXT_MAX) +
                                  len);
    uint8_t *copy;
    size_t pos = 0;

    if (!room) {
        return NULL;
    }
    room->ev.type = type;
    copy = (uint8_t *)&room->field[fields];
    if (len) {
        memcpy(copy, doc, len);
    }
    for (i = 0; i < fields; i++) {
        struct hz_ev_field *f = &room->field[i];

        hz_doc_next(copy, len, &pos, &f->id, &f->value, &f->len);
        field_put(f, room_texts(room, fields, len)[i]);
    }
    if (n) {
        *n = fields;
    }
    return room;
}

static void verdict_put(struct hz_ev_field *f, const struct hz_verdict *v, char text[TEXT_MAX])
{
    const struct hz_field *row = hz_field_by_id(f->id);
    uint8_t value[16];
    int len;

    f->verdict = v->code;
    f->reason = v->reason;
    if (v->code != VIRTIO_HZ_VERDICT_CLAMPED) {
        return;
    }
    f->verdict_value = v->value;
    f->verdict_text = text;
    len = row ? hz_value_put(row, v->value, value) : -EINVAL;
    if (len < 0 || hz_value_format(row, value, (uint16_t)len, text, TEXT_MAX) < 0) {
        snprintf(text, TEXT_MAX, "%llu", (unsigned long long)v->value);
    }
}

static bool verdicts_put(struct room *room, unsigned n, const struct hz_declaration *d)
{
    char (*text)[TEXT_MAX] = room_texts(room, n, d->doc_len) + n;
    bool judged = d->verdict_seq == d->seq;
    unsigned i, k;

    if (!judged) {
        return false;           /* of an older one: not for what stands */
    }
    for (i = 0; i < n; i++) {
        for (k = 0; k < d->verdicts; k++) {
            if (d->verdict[k].field == room->field[i].id) {
                verdict_put(&room->field[i], &d->verdict[k], text[i]);
            }
        }
        if (room->field[i].verdict == VIRTIO_HZ_VERDICT_PENDING) {
            judged = false;
        }
    }
    return judged;
}

int hz_draft_event(const struct hz_draft *d, struct hz_event **event)
{
    struct hz_verdict v[VIRTIO_HZ_MAX_FIELDS];
    struct hz_ev_declaration *e;
    unsigned i, n, fields;
    struct room *room = room_new(HZ_EVENT_DECLARATION, d->doc, d->len, &fields);

    *event = NULL;
    if (!room) {
        return -ENOMEM;
    }
    e = &room->ev.declaration;
    memcpy(e->subject, d->subject, sizeof(e->subject));
    e->field = room->field;
    e->n = fields;
    n = hz_doc_judge(d->key, d->doc, d->len, v);
    for (i = 0; i < n && i < e->n; i++) {
        room->field[i].verdict = v[i].code;
        room->field[i].reason = v[i].reason;
    }
    *event = &room->ev;
    return 0;
}

static int declaration(const struct hz_record *r, const uint8_t *body, struct room **out)
{
    struct hz_declaration d = { 0 };
    struct hz_ev_declaration *e;
    struct room *room;
    unsigned n;

    if (!hz_subject_ok(r->key)) {
        return -EBADMSG;
    }
    if (!(r->flags & VIRTIO_HZ_REC_GONE) &&
        (hz_declaration_get(body, r->body, &d) < 0 ||
         hz_doc_check(d.doc, d.doc_len, sizeof(d.doc)) < 0)) {
        return -EBADMSG;
    }
    room = room_new(HZ_EVENT_DECLARATION, d.doc, d.doc_len, &n);
    if (!room) {
        return -ENOMEM;
    }
    e = &room->ev.declaration;
    memcpy(e->subject, r->key, sizeof(e->subject));
    e->gone = r->flags & VIRTIO_HZ_REC_GONE;
    e->seq = d.seq;
    e->field = room->field;
    e->n = n;
    e->judged = !e->gone && verdicts_put(room, n, &d);
    *out = room;
    return 1;
}

/* Remaining nanoseconds at @base to a point in time. */
static int64_t point(uint64_t remaining, uint64_t base)
{
    if (remaining == VIRTIO_HZ_NS_NONE) {
        return HZ_TIME_NONE;
    }
    if (remaining == VIRTIO_HZ_NS_UNKNOWN) {
        return HZ_TIME_UNKNOWN;
    }
    if (remaining > (uint64_t)INT64_MAX - (base & INT64_MAX)) {
        return INT64_MAX;
    }
    return (int64_t)(base + remaining);
}

static int64_t length(uint64_t ns)
{
    if (ns == VIRTIO_HZ_NS_UNKNOWN) {
        return HZ_TIME_UNKNOWN;
    }
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static void envelope(struct hz_ev_notice *e, const struct hz_notice *n, uint64_t base)
{
    memcpy(e->cause_id, n->cause_id, HZ_ID_LEN);
    memcpy(e->scope_id, n->scope_id, HZ_ID_LEN);
    e->test = n->flags & VIRTIO_HZ_NOTICE_TEST;
    e->lapsed = n->flags & VIRTIO_HZ_NOTICE_LAPSED;
    e->kind = n->kind;
    e->state = n->state;
    e->ack = n->ack;
    e->scope = n->scope;
    e->source = n->source;
    e->granularity = n->granularity;
    e->confidence = n->confidence;
    e->cause = n->cause;
    e->revision = n->revision;
    e->not_before = point(n->not_before_ns, base);
    e->deadline = point(n->deadline_ns, base);
    e->duration_ns = length(n->duration_ns);
    e->replied = n->replied;
    e->reply = n->reply;
    e->reply_arg = n->reply_arg;
}

static int notice(const struct hz *hz, const struct hz_record *r, const uint8_t *body,
                  struct room **out)
{
    struct hz_notice n = { 0 };
    struct hz_ev_notice *e;
    struct room *room;
    unsigned fields;

    if (!(r->flags & VIRTIO_HZ_REC_GONE) &&
        (hz_notice_get(body, r->body, &n) < 0 ||
         hz_doc_check(n.doc, n.doc_len, sizeof(n.doc)) < 0)) {
        return -EBADMSG;
    }
    room = room_new(HZ_EVENT_NOTICE, n.doc, n.doc_len, &fields);
    if (!room) {
        return -ENOMEM;
    }
    e = &room->ev.notice;
    memcpy(e->id, r->key, HZ_ID_LEN);
    memcpy(e->generation, hz->status.generation, HZ_ID_LEN);
    e->gone = r->flags & VIRTIO_HZ_REC_GONE;
    if (!e->gone) {
        envelope(e, &n, r->boottime_ns);
    }
    e->field = room->field;
    e->n = fields;
    *out = room;
    return 1;
}

static unsigned changes(const struct hz *hz, const struct hz_record *r, const struct hz_status *s)
{
    unsigned c = r->flags & VIRTIO_HZ_REC_FULL ? HZ_CHANGED_BOARD : 0;

    if (!hz->known) {
        return HZ_CHANGED_BOARD;
    }
    if (r->disruption != hz->disruption) {
        c |= HZ_CHANGED_DISRUPTION;
    }
    if (memcmp(s->generation, hz->status.generation, HZ_ID_LEN)) {
        c |= HZ_CHANGED_GENERATION;
    }
    if (s->resets != hz->status.resets) {
        c |= HZ_CHANGED_REDECLARE;
    }
    if ((s->status ^ hz->status.status) & VIRTIO_HZ_S_PROVIDER) {
        c |= HZ_CHANGED_PROVIDER;
    }
    /* Two stops of one length differ in nothing but that the status was told anew. */
    if (s->reason == VIRTIO_HZ_WHY_PAUSE &&
        (c == 0 || s->pause_ns != hz->status.pause_ns || hz->status.reason != s->reason)) {
        c |= HZ_CHANGED_PAUSED;
    }
    return c;
}

static int status(struct hz *hz, const struct hz_record *r, const uint8_t *body,
                  struct room **out)
{
    struct hz_ev_status *e;
    struct hz_status s;
    struct room *room;

    if (hz_status_get(body, r->body, &s) < 0) {
        return -EBADMSG;
    }
    if (hz->known && r->disruption == hz->disruption && r->version == hz->version &&
        !(r->flags & VIRTIO_HZ_REC_FULL)) {
        return 0;               /* told already, before the whole board */
    }
    room = room_new(HZ_EVENT_STATUS, NULL, 0, NULL);
    if (!room) {
        return -ENOMEM;
    }
    e = &room->ev.status;
    e->changed = changes(hz, r, &s);
    e->provider = s.status & VIRTIO_HZ_S_PROVIDER;
    e->why = s.reason;
    e->resets = s.resets;
    e->pause_ns = length(s.pause_ns);
    e->disruption = r->disruption;
    memcpy(e->generation, s.generation, HZ_ID_LEN);
    hz->status = s;
    hz->disruption = r->disruption;
    hz->version = r->version;
    hz->known = true;
    *out = room;
    return 1;
}

int hz_event_from_record(struct hz *hz, const struct hz_record *r, const uint8_t *body,
                         struct hz_event **event)
{
    struct room *room = NULL;
    int ret;

    if (r->flags & VIRTIO_HZ_REC_TRUNCATED) {
        /* The driver hands out whole records; what it couldn't is read again. */
        ret = hz->t->ioctl(hz->fd, HZ_IOC_REWIND, NULL);
        return ret < 0 ? ret : 0;
    }
    switch (r->type) {
    case VIRTIO_HZ_R_STATUS:
        ret = status(hz, r, body, &room);
        break;
    case VIRTIO_HZ_R_DECLARATION:
        ret = declaration(r, body, &room);
        break;
    case VIRTIO_HZ_R_NOTICE:
        ret = notice(hz, r, body, &room);
        break;
    default:
        ret = 0;                /* a newer driver's: not for this library */
    }
    if (ret == 1) {
        room->ev.disruption = r->disruption;
        room->ev.version = r->version;
        *event = &room->ev;
    }
    return ret;
}

void hz_event_free(struct hz_event *event)
{
    free(event);                /* the first member of its room */
}

bool hz_number(const struct hz_ev_field *field, unsigned n, const char *name, uint64_t *value)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        if (field[i].name && field[i].is_number && !strcmp(field[i].name, name)) {
            *value = field[i].number;
            return true;
        }
    }
    return false;
}
