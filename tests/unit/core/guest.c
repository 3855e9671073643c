/* SPDX-License-Identifier: MIT */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

#define COOKIE 0xc00c1e5000000001ULL

struct answer guest_ask(struct hz_board *b, const void *req, size_t len, size_t cap, uint64_t now)
{
    /* Exactly-sized buffers, so that ASan sees a step beyond either. */
    uint8_t *in = malloc(len ? len : 1), *out = malloc(cap ? cap : 1);
    struct answer a = { 0 };
    struct hz_hdr h;

    memcpy(in, req, len);
    memset(out, 0xee, cap);
    a.len = hz_board_request(b, in, len, out, cap, now);
    if (a.len >= (int)sizeof(struct virtio_hz_response)) {
        hz_hdr_get(out, &h);
        a.type = h.type;
        a.flags = h.flags;
        a.cookie = h.cookie;
        a.status = hz_get32(out + offsetof(struct virtio_hz_response, status));
        a.count = hz_get32(out + offsetof(struct virtio_hz_response, count));
        a.disruption = hz_get64(out + offsetof(struct virtio_hz_response, disruption));
        a.version = hz_get64(out + offsetof(struct virtio_hz_response, version));
        a.floor = hz_get64(out + offsetof(struct virtio_hz_response, floor));
        a.seq = hz_get64(out + offsetof(struct virtio_hz_response, seq));
        if (h.len != (uint32_t)a.len || a.len > (int)sizeof(a.bytes)) {
            a.len = -99;
        } else {
            memcpy(a.bytes, out, (size_t)a.len);
        }
    }
    free(in);
    free(out);
    return a;
}

static void head(uint8_t *buf, size_t len, uint16_t type)
{
    const struct hz_hdr h = { (uint32_t)len, type, 0, COOKIE };

    memset(buf, 0, len);
    hz_hdr_put(buf, &h);
}

size_t declare_frame(uint8_t *buf, const char *subject, uint64_t replaces,
                     const void *doc, uint16_t doc_len)
{
    const size_t fixed = sizeof(struct virtio_hz_declare);

    head(buf, fixed + doc_len, VIRTIO_HZ_T_DECLARE);
    strncpy((char *)buf + offsetof(struct virtio_hz_declare, subject), subject,
            VIRTIO_HZ_KEY_LEN);
    hz_put64(buf + offsetof(struct virtio_hz_declare, replaces), replaces);
    hz_put16(buf + offsetof(struct virtio_hz_declare, doc_len), doc_len);
    if (doc_len) {
        memcpy(buf + fixed, doc, doc_len);
    }
    return fixed + doc_len;
}

struct answer guest_declare(struct hz_board *b, const char *subject, uint64_t replaces,
                            const void *doc, uint16_t doc_len)
{
    uint8_t buf[VIRTIO_HZ_MAX_FRAME];

    return guest_ask(b, buf, declare_frame(buf, subject, replaces, doc, doc_len),
                     sizeof(struct virtio_hz_response), 0);
}

struct answer guest_withdraw(struct hz_board *b, const char *subject, uint64_t replaces)
{
    uint8_t buf[sizeof(struct virtio_hz_withdraw)];

    head(buf, sizeof(buf), VIRTIO_HZ_T_WITHDRAW);
    strncpy((char *)buf + offsetof(struct virtio_hz_withdraw, subject), subject,
            VIRTIO_HZ_KEY_LEN);
    hz_put64(buf + offsetof(struct virtio_hz_withdraw, replaces), replaces);
    return guest_ask(b, buf, sizeof(buf), sizeof(struct virtio_hz_response), 0);
}

size_t reply_frame(uint8_t *buf, const struct hz_notice *n, const uint8_t *generation,
                   uint16_t code, uint64_t arg, const void *doc, uint16_t doc_len)
{
    const size_t fixed = sizeof(struct virtio_hz_reply);

    head(buf, fixed + doc_len, VIRTIO_HZ_T_REPLY);
    memcpy(buf + offsetof(struct virtio_hz_reply, id), n->id, VIRTIO_HZ_UUID_LEN);
    memcpy(buf + offsetof(struct virtio_hz_reply, generation), generation, VIRTIO_HZ_UUID_LEN);
    hz_put32(buf + offsetof(struct virtio_hz_reply, revision), n->revision);
    hz_put16(buf + offsetof(struct virtio_hz_reply, code), code);
    hz_put16(buf + offsetof(struct virtio_hz_reply, doc_len), doc_len);
    hz_put64(buf + offsetof(struct virtio_hz_reply, arg), arg);
    if (doc_len) {
        memcpy(buf + fixed, doc, doc_len);
    }
    return fixed + doc_len;
}

struct answer guest_reply(struct hz_board *b, const struct hz_notice *n, uint16_t code,
                          uint64_t arg)
{
    uint8_t buf[VIRTIO_HZ_MAX_FRAME];

    return guest_ask(b, buf, reply_frame(buf, n, hz_board_generation(b), code, arg, NULL, 0),
                     sizeof(struct virtio_hz_response), 0);
}

struct answer guest_read(struct hz_board *b, const struct hz_cursor *c, size_t cap, uint64_t now)
{
    uint8_t buf[sizeof(struct virtio_hz_read)];

    head(buf, sizeof(buf), VIRTIO_HZ_T_READ);
    hz_put64(buf + offsetof(struct virtio_hz_read, disruption), c->disruption);
    hz_put64(buf + offsetof(struct virtio_hz_read, since), c->version);
    hz_put64(buf + offsetof(struct virtio_hz_read, floor), c->floor);
    return guest_ask(b, buf, sizeof(buf), cap, now);
}

/* -- a copy --------------------------------------------------------------- */

int mirror_find(const struct mirror *m, uint16_t type, const uint8_t *key)
{
    static const uint8_t none[VIRTIO_HZ_KEY_LEN];

    for (unsigned i = 0; i < m->n; i++) {
        if (m->entry[i].type == type &&
            !memcmp(m->entry[i].key, key ? key : none, VIRTIO_HZ_KEY_LEN)) {
            return (int)i;
        }
    }
    return -1;
}

static bool take(struct mirror *m, const struct hz_rec *r)
{
    int i;

    if (r->hdr.flags & VIRTIO_HZ_REC_FULL) {
        m->n = 0;
        m->started_over++;
    }
    i = mirror_find(m, r->hdr.type, r->key);
    if (r->hdr.flags & VIRTIO_HZ_REC_GONE) {
        if (i >= 0) {
            m->entry[i] = m->entry[--m->n];
        }
        return true;
    }
    if (i < 0) {
        if (m->n == MIRROR_MAX) {
            return false;
        }
        i = (int)m->n++;
    }
    m->entry[i].type = r->hdr.type;
    memcpy(m->entry[i].key, r->key, VIRTIO_HZ_KEY_LEN);
    m->entry[i].version = r->version;
    m->entry[i].body_len = r->body_len;
    memcpy(m->entry[i].body, r->body, r->body_len);
    return true;
}

int mirror_update(struct mirror *m, const struct hz_board *b, unsigned records, uint64_t now)
{
    uint8_t buf[VIRTIO_HZ_MAX_FRAME];
    unsigned told = 0;

    while (told < records) {
        bool news = hz_board_news(b, &m->cursor);
        int len = hz_board_next(b, &m->cursor, buf, sizeof(buf), now);
        struct hz_rec r;

        if (len == 0) {
            break;
        }
        if (!news || len < 0 || hz_record_get(buf, (size_t)len, &r) ||
            r.hdr.flags & VIRTIO_HZ_REC_TRUNCATED || !take(m, &r)) {
            return -1;
        }
        told++;
    }
    return (int)told;
}

bool mirror_same(const struct mirror *a, const struct mirror *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (unsigned i = 0; i < a->n; i++) {
        int j = mirror_find(b, a->entry[i].type, a->entry[i].key);

        if (j < 0 || a->entry[i].version != b->entry[j].version ||
            a->entry[i].body_len != b->entry[j].body_len ||
            memcmp(a->entry[i].body, b->entry[j].body, a->entry[i].body_len)) {
            return false;
        }
    }
    return true;
}
