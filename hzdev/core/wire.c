/* SPDX-License-Identifier: MIT */
/* hz wire: frames, names, documents, and the bodies of records. */
#include "wire.h"

#include <string.h>

/* Every multi-byte field is at its offset in the uapi struct. */
#define AT(type, field) offsetof(struct type, field)

static bool all_zero(const void *p, size_t len)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < len; i++) {
        if (b[i]) {
            return false;
        }
    }
    return true;
}

/* -- frames ------------------------------------------------------------- */

void hz_hdr_put(void *frame, const struct hz_hdr *h)
{
    uint8_t *p = frame;

    hz_put32(p + AT(virtio_hz_hdr, len), h->len);
    hz_put16(p + AT(virtio_hz_hdr, type), h->type);
    hz_put16(p + AT(virtio_hz_hdr, flags), h->flags);
    hz_put64(p + AT(virtio_hz_hdr, cookie), h->cookie);
}

void hz_hdr_get(const void *frame, struct hz_hdr *h)
{
    const uint8_t *p = frame;

    h->len = hz_get32(p + AT(virtio_hz_hdr, len));
    h->type = hz_get16(p + AT(virtio_hz_hdr, type));
    h->flags = hz_get16(p + AT(virtio_hz_hdr, flags));
    h->cookie = hz_get64(p + AT(virtio_hz_hdr, cookie));
}

int hz_frame_complete(const void *buf, size_t len, size_t max)
{
    uint32_t frame;

    if (len < sizeof(uint32_t)) {
        return 0;
    }
    frame = hz_get32(buf);
    if (frame < HZ_HDR_LEN || frame > max) {
        return -VIRTIO_HZ_E_INVAL;
    }
    return frame <= len ? (int)frame : 0;
}

/* -- names -------------------------------------------------------------- */

static bool subject_char(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '_' || c == '/' || c == '-';
}

bool hz_subject_ok(const uint8_t key[VIRTIO_HZ_KEY_LEN])
{
    size_t n = 0;

    while (n < VIRTIO_HZ_KEY_LEN && subject_char(key[n])) {
        n++;
    }
    return n > 0 && n < VIRTIO_HZ_KEY_LEN && all_zero(key + n, VIRTIO_HZ_KEY_LEN - n);
}

bool hz_subject_put(uint8_t key[VIRTIO_HZ_KEY_LEN], const char *s)
{
    size_t len = strlen(s);

    if (len >= VIRTIO_HZ_KEY_LEN) {
        return false;
    }
    memset(key, 0, VIRTIO_HZ_KEY_LEN);
    memcpy(key, s, len);
    return hz_subject_ok(key);
}

/* -- documents ---------------------------------------------------------- */

#define FIELD_HEAD ((size_t)sizeof(struct virtio_hz_field))

static size_t pad4(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

int hz_doc_check(const void *doc, size_t len, size_t max_len)
{
    const uint8_t *p = doc;
    size_t pos = 0;
    unsigned fields = 0;
    int last = -1;

    if (len > max_len) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    while (pos < len) {
        uint16_t id, vlen;

        if (len - pos < FIELD_HEAD) {
            return -VIRTIO_HZ_E_INVAL;
        }
        id = hz_get16(p + pos);
        vlen = hz_get16(p + pos + 2);
        pos += FIELD_HEAD;
        if (id <= last || pad4(vlen) > len - pos ||
            !all_zero(p + pos + vlen, pad4(vlen) - vlen)) {
            return -VIRTIO_HZ_E_INVAL;
        }
        last = id;
        pos += pad4(vlen);
        if (++fields > VIRTIO_HZ_MAX_FIELDS) {
            return -VIRTIO_HZ_E_TOOBIG;
        }
    }
    return 0;
}

bool hz_doc_next(const void *doc, size_t len, size_t *pos,
                 uint16_t *id, const uint8_t **value, uint16_t *value_len)
{
    const uint8_t *p = doc;

    if (*pos >= len) {
        return false;
    }
    *id = hz_get16(p + *pos);
    *value_len = hz_get16(p + *pos + 2);
    *value = p + *pos + FIELD_HEAD;
    *pos += FIELD_HEAD + pad4(*value_len);
    return true;
}

/*
 * Where field @id stands, or would stand: its offset, and in *@size what it
 * takes there (0 when absent).
 */
static size_t field_place(const void *doc, size_t len, uint16_t id, size_t *size,
                          unsigned *fields)
{
    size_t pos = 0, at = len;
    const uint8_t *value;
    uint16_t here, vlen;

    *size = 0;
    *fields = 0;
    for (size_t start = 0; hz_doc_next(doc, len, &pos, &here, &value, &vlen); start = pos) {
        (*fields)++;
        if (here == id) {
            *size = pos - start;
        }
        if (here >= id && at == len) {
            at = start;
        }
    }
    return at;
}

const uint8_t *hz_doc_find(const void *doc, size_t len, uint16_t id, uint16_t *value_len)
{
    size_t pos = 0;
    const uint8_t *value;
    uint16_t here;

    while (hz_doc_next(doc, len, &pos, &here, &value, value_len)) {
        if (here == id) {
            return value;
        }
    }
    return NULL;
}

int hz_doc_set(void *doc, size_t *len, size_t cap,
               uint16_t id, const void *value, uint16_t value_len)
{
    uint8_t *p = doc;
    size_t old, need = FIELD_HEAD + pad4(value_len);
    unsigned fields;
    size_t at = field_place(doc, *len, id, &old, &fields);

    if (*len - old + need > cap || (!old && fields >= VIRTIO_HZ_MAX_FIELDS)) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    memmove(p + at + need, p + at + old, *len - at - old);
    hz_put16(p + at, id);
    hz_put16(p + at + 2, value_len);
    memset(p + at + FIELD_HEAD, 0, need - FIELD_HEAD);
    if (value_len) {
        memcpy(p + at + FIELD_HEAD, value, value_len);
    }
    *len = *len - old + need;
    return 0;
}

bool hz_doc_unset(void *doc, size_t *len, uint16_t id)
{
    uint8_t *p = doc;
    size_t old;
    unsigned fields;
    size_t at = field_place(doc, *len, id, &old, &fields);

    if (!old) {
        return false;
    }
    memmove(p + at, p + at + old, *len - at - old);
    *len -= old;
    return true;
}

/* -- records ------------------------------------------------------------ */

int hz_record_get(const void *frame, size_t len, struct hz_rec *r)
{
    const uint8_t *p = frame;

    if (len < HZ_RECORD_HEAD) {
        return -VIRTIO_HZ_E_INVAL;
    }
    hz_hdr_get(frame, &r->hdr);
    if (r->hdr.len != len || len % 8) {
        return -VIRTIO_HZ_E_INVAL;
    }
    if (r->hdr.type < VIRTIO_HZ_R_STATUS || r->hdr.type > VIRTIO_HZ_R_NOTICE ||
        r->hdr.flags & ~(VIRTIO_HZ_REC_GONE | VIRTIO_HZ_REC_TRUNCATED | VIRTIO_HZ_REC_FULL)) {
        return -VIRTIO_HZ_E_UNSUPP;
    }
    if (r->hdr.flags & VIRTIO_HZ_REC_FULL && r->hdr.type != VIRTIO_HZ_R_STATUS) {
        return -VIRTIO_HZ_E_UNSUPP;
    }
    r->disruption = hz_get64(p + AT(virtio_hz_record, disruption));
    r->version = hz_get64(p + AT(virtio_hz_record, version));
    memcpy(r->key, p + AT(virtio_hz_record, key), VIRTIO_HZ_KEY_LEN);
    r->body = p + HZ_RECORD_HEAD;
    r->body_len = len - HZ_RECORD_HEAD;
    if (r->hdr.flags & ~VIRTIO_HZ_REC_FULL && r->body_len) {
        return -VIRTIO_HZ_E_INVAL;
    }
    return 0;
}

int hz_status_get(const void *body, size_t len, struct hz_status *s)
{
    const uint8_t *p = body;

    if (len != sizeof(struct virtio_hz_status)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    memcpy(s->generation, p + AT(virtio_hz_status, generation), VIRTIO_HZ_UUID_LEN);
    s->resets = hz_get32(p + AT(virtio_hz_status, resets));
    s->status = hz_get16(p + AT(virtio_hz_status, status));
    s->reason = hz_get16(p + AT(virtio_hz_status, reason));
    s->pause_ns = hz_get64(p + AT(virtio_hz_status, pause_ns));
    return 0;
}

int hz_status_put(void *body, size_t cap, const struct hz_status *s)
{
    uint8_t *p = body;

    if (cap < sizeof(struct virtio_hz_status)) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    memcpy(p + AT(virtio_hz_status, generation), s->generation, VIRTIO_HZ_UUID_LEN);
    hz_put32(p + AT(virtio_hz_status, resets), s->resets);
    hz_put16(p + AT(virtio_hz_status, status), s->status);
    hz_put16(p + AT(virtio_hz_status, reason), s->reason);
    hz_put64(p + AT(virtio_hz_status, pause_ns), s->pause_ns);
    return sizeof(struct virtio_hz_status);
}

static void verdict_put(void *verdict, const struct hz_verdict *v)
{
    uint8_t *p = verdict;

    memset(p, 0, sizeof(struct virtio_hz_verdict));
    hz_put16(p + AT(virtio_hz_verdict, field), v->field);
    p[AT(virtio_hz_verdict, code)] = v->code;
    p[AT(virtio_hz_verdict, reason)] = v->reason;
    hz_put64(p + AT(virtio_hz_verdict, value), v->value);
}

static int verdict_get(const void *verdict, struct hz_verdict *v)
{
    const uint8_t *p = verdict;

    v->field = hz_get16(p + AT(virtio_hz_verdict, field));
    v->code = p[AT(virtio_hz_verdict, code)];
    v->reason = p[AT(virtio_hz_verdict, reason)];
    v->value = hz_get64(p + AT(virtio_hz_verdict, value));
    if (v->code > VIRTIO_HZ_VERDICT_MAX || v->reason > VIRTIO_HZ_REASON_MAX ||
        hz_get32(p + AT(virtio_hz_verdict, reserved))) {
        return -VIRTIO_HZ_E_INVAL;
    }
    return 0;
}

int hz_verdicts_get(const void *list, unsigned count, struct hz_verdict *v)
{
    const uint8_t *p = list;


    for (unsigned i = 0; i < count; i++) {
        int err = verdict_get(p + i * sizeof(struct virtio_hz_verdict), &v[i]);

        if (err) {
            return err;
        }
        if (i && v[i].field <= v[i - 1].field) {
            return -VIRTIO_HZ_E_INVAL;
        }
    }
    return 0;
}

void hz_verdicts_put(void *list, unsigned count, const struct hz_verdict *v)
{
    uint8_t *p = list;

    for (unsigned i = 0; i < count; i++) {
        verdict_put(p + i * sizeof(struct virtio_hz_verdict), &v[i]);
    }
}

int hz_declaration_get(const void *body, size_t len, struct hz_declaration *d)
{
    const size_t head = sizeof(struct virtio_hz_declaration);
    const uint8_t *p = body;
    size_t padded;
    int err;

    if (len < head || hz_get32(p + AT(virtio_hz_declaration, reserved))) {
        return -VIRTIO_HZ_E_INVAL;
    }
    d->seq = hz_get64(p + AT(virtio_hz_declaration, seq));
    d->verdict_seq = hz_get64(p + AT(virtio_hz_declaration, verdict_seq));
    d->doc_len = hz_get16(p + AT(virtio_hz_declaration, doc_len));
    d->verdicts = hz_get16(p + AT(virtio_hz_declaration, verdicts));
    if (d->doc_len > VIRTIO_HZ_MAX_DOC || d->verdicts > VIRTIO_HZ_MAX_FIELDS) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    padded = hz_pad8(d->doc_len);
    if (len != head + padded + d->verdicts * sizeof(struct virtio_hz_verdict) ||
        !all_zero(p + head + d->doc_len, padded - d->doc_len)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    err = hz_doc_check(p + head, d->doc_len, VIRTIO_HZ_MAX_DOC);
    if (err) {
        return err;
    }
    memcpy(d->doc, p + head, d->doc_len);
    return hz_verdicts_get(p + head + padded, d->verdicts, d->verdict);
}

int hz_declaration_put(void *body, size_t cap, const struct hz_declaration *d)
{
    const size_t head = sizeof(struct virtio_hz_declaration);
    size_t padded = hz_pad8(d->doc_len);
    size_t len = head + padded + d->verdicts * sizeof(struct virtio_hz_verdict);
    uint8_t *p = body;

    if (cap < len) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    memset(p, 0, head + padded);
    hz_put64(p + AT(virtio_hz_declaration, seq), d->seq);
    hz_put64(p + AT(virtio_hz_declaration, verdict_seq), d->verdict_seq);
    hz_put16(p + AT(virtio_hz_declaration, doc_len), d->doc_len);
    hz_put16(p + AT(virtio_hz_declaration, verdicts), d->verdicts);
    memcpy(p + head, d->doc, d->doc_len);
    hz_verdicts_put(p + head + padded, d->verdicts, d->verdict);
    return (int)len;
}

static bool notice_enums_ok(const struct hz_notice *n)
{
    return n->state <= VIRTIO_HZ_STATE_MAX && n->ack <= VIRTIO_HZ_ACK_MAX &&
           n->scope <= VIRTIO_HZ_SCOPE_MAX && n->source <= VIRTIO_HZ_SOURCE_MAX &&
           n->granularity <= 3 && !(n->flags & ~VIRTIO_HZ_NOTICE_FLAGS) &&
           n->confidence <= 1000 && n->cause <= VIRTIO_HZ_CAUSE_MAX &&
           n->reply <= VIRTIO_HZ_REPLY_MAX && n->revision &&
           !(n->replied & ~((2u << VIRTIO_HZ_REPLY_MAX) - 1)) && !(n->replied & 1);
}

static void notice_head_get(const uint8_t *p, struct hz_notice *n)
{
    memcpy(n->id, p + AT(virtio_hz_notice, id), VIRTIO_HZ_UUID_LEN);
    memcpy(n->cause_id, p + AT(virtio_hz_notice, cause_id), VIRTIO_HZ_UUID_LEN);
    memcpy(n->scope_id, p + AT(virtio_hz_notice, scope_id), VIRTIO_HZ_UUID_LEN);
    n->kind = hz_get16(p + AT(virtio_hz_notice, kind));
    n->state = p[AT(virtio_hz_notice, state)];
    n->ack = p[AT(virtio_hz_notice, ack)];
    n->revision = hz_get32(p + AT(virtio_hz_notice, revision));
    n->not_before_ns = hz_get64(p + AT(virtio_hz_notice, not_before_ns));
    n->deadline_ns = hz_get64(p + AT(virtio_hz_notice, deadline_ns));
    n->duration_ns = hz_get64(p + AT(virtio_hz_notice, duration_ns));
    n->scope = p[AT(virtio_hz_notice, scope)];
    n->source = p[AT(virtio_hz_notice, source)];
    n->granularity = p[AT(virtio_hz_notice, granularity)];
    n->flags = p[AT(virtio_hz_notice, flags)];
    n->confidence = hz_get16(p + AT(virtio_hz_notice, confidence));
    n->cause = hz_get16(p + AT(virtio_hz_notice, cause));
    n->replied = hz_get32(p + AT(virtio_hz_notice, replied));
    n->reply = hz_get16(p + AT(virtio_hz_notice, reply));
    n->reply_doc_len = hz_get16(p + AT(virtio_hz_notice, reply_doc_len));
    n->reply_arg = hz_get64(p + AT(virtio_hz_notice, reply_arg));
    n->doc_len = hz_get16(p + AT(virtio_hz_notice, doc_len));
}

int hz_notice_get(const void *body, size_t len, struct hz_notice *n)
{
    const size_t head = sizeof(struct virtio_hz_notice);
    const uint8_t *p = body;
    size_t doc, reply;
    int err;

    if (len < head || hz_get16(p + AT(virtio_hz_notice, reserved0)) ||
        hz_get32(p + AT(virtio_hz_notice, reserved1))) {
        return -VIRTIO_HZ_E_INVAL;
    }
    notice_head_get(p, n);
    if (!notice_enums_ok(n)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    if (n->doc_len > VIRTIO_HZ_MAX_DOC || n->reply_doc_len > VIRTIO_HZ_MAX_REPLY_DOC) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    doc = hz_pad8(n->doc_len);
    reply = hz_pad8(n->reply_doc_len);
    if (len != head + doc + reply || !all_zero(p + head + n->doc_len, doc - n->doc_len) ||
        !all_zero(p + head + doc + n->reply_doc_len, reply - n->reply_doc_len)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    err = hz_doc_check(p + head, n->doc_len, VIRTIO_HZ_MAX_DOC);
    if (!err) {
        err = hz_doc_check(p + head + doc, n->reply_doc_len, VIRTIO_HZ_MAX_REPLY_DOC);
    }
    if (err) {
        return err;
    }
    memcpy(n->doc, p + head, n->doc_len);
    memcpy(n->reply_doc, p + head + doc, n->reply_doc_len);
    return 0;
}

static void notice_head_put(uint8_t *p, const struct hz_notice *n)
{
    memcpy(p + AT(virtio_hz_notice, id), n->id, VIRTIO_HZ_UUID_LEN);
    memcpy(p + AT(virtio_hz_notice, cause_id), n->cause_id, VIRTIO_HZ_UUID_LEN);
    memcpy(p + AT(virtio_hz_notice, scope_id), n->scope_id, VIRTIO_HZ_UUID_LEN);
    hz_put16(p + AT(virtio_hz_notice, kind), n->kind);
    p[AT(virtio_hz_notice, state)] = n->state;
    p[AT(virtio_hz_notice, ack)] = n->ack;
    hz_put32(p + AT(virtio_hz_notice, revision), n->revision);
    hz_put64(p + AT(virtio_hz_notice, not_before_ns), n->not_before_ns);
    hz_put64(p + AT(virtio_hz_notice, deadline_ns), n->deadline_ns);
    hz_put64(p + AT(virtio_hz_notice, duration_ns), n->duration_ns);
    p[AT(virtio_hz_notice, scope)] = n->scope;
    p[AT(virtio_hz_notice, source)] = n->source;
    p[AT(virtio_hz_notice, granularity)] = n->granularity;
    p[AT(virtio_hz_notice, flags)] = n->flags;
    hz_put16(p + AT(virtio_hz_notice, confidence), n->confidence);
    hz_put16(p + AT(virtio_hz_notice, cause), n->cause);
    hz_put32(p + AT(virtio_hz_notice, replied), n->replied);
    hz_put16(p + AT(virtio_hz_notice, reply), n->reply);
    hz_put16(p + AT(virtio_hz_notice, reply_doc_len), n->reply_doc_len);
    hz_put64(p + AT(virtio_hz_notice, reply_arg), n->reply_arg);
    hz_put16(p + AT(virtio_hz_notice, doc_len), n->doc_len);
}

int hz_notice_put(void *body, size_t cap, const struct hz_notice *n)
{
    const size_t head = sizeof(struct virtio_hz_notice);
    size_t doc = hz_pad8(n->doc_len), reply = hz_pad8(n->reply_doc_len);
    uint8_t *p = body;

    if (cap < head + doc + reply) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    memset(p, 0, head + doc + reply);
    notice_head_put(p, n);
    memcpy(p + head, n->doc, n->doc_len);
    memcpy(p + head + doc, n->reply_doc, n->reply_doc_len);
    return (int)(head + doc + reply);
}
