/* SPDX-License-Identifier: MIT */
#include "samples.h"

#include <stdio.h>
#include <string.h>

static void fill(struct prng *p, void *out, size_t len)
{
    uint8_t *b = out;

    for (size_t i = 0; i < len; i++) {
        b[i] = (uint8_t)prng_next(p);
    }
}

void sample_uuid(struct prng *p, uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    fill(p, id, VIRTIO_HZ_UUID_LEN);
}

void sample_subject(struct prng *p, uint8_t key[VIRTIO_HZ_KEY_LEN])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._/-";
    size_t len = 1 + prng_below(p, VIRTIO_HZ_KEY_LEN - 1);

    memset(key, 0, VIRTIO_HZ_KEY_LEN);
    for (size_t i = 0; i < len; i++) {
        key[i] = (uint8_t)letters[prng_below(p, sizeof(letters) - 1)];
    }
}

uint16_t sample_doc(struct prng *p, uint8_t *doc, size_t max)
{
    size_t len = 0;
    unsigned fields = (unsigned)prng_below(p, 12);
    uint8_t value[64];

    for (unsigned i = 0; i < fields; i++) {
        fill(p, value, sizeof(value));
        hz_doc_set(doc, &len, max, (uint16_t)prng_next(p), value,
                   (uint16_t)prng_below(p, sizeof(value)));
    }
    return (uint16_t)len;
}

uint16_t sample_verdicts(struct prng *p, struct hz_verdict *v, unsigned max)
{
    unsigned n = (unsigned)prng_below(p, max + 1);
    uint16_t field = 0;

    for (unsigned i = 0; i < n; i++) {
        field = (uint16_t)(field + 1 + prng_below(p, 900));
        v[i] = (struct hz_verdict) {
            .field = field,
            .code = (uint8_t)prng_below(p, VIRTIO_HZ_VERDICT_MAX + 1),
            .reason = (uint8_t)prng_below(p, VIRTIO_HZ_REASON_MAX + 1),
            .value = prng_next(p),
        };
    }
    return (uint16_t)n;
}

void sample_declaration(struct prng *p, struct hz_declaration *d)
{
    d->seq = prng_next(p);
    d->verdict_seq = prng_next(p);
    d->doc_len = sample_doc(p, d->doc, sizeof(d->doc));
    d->verdicts = sample_verdicts(p, d->verdict, VIRTIO_HZ_MAX_FIELDS);
}

static uint64_t sample_time(struct prng *p)
{
    switch (prng_below(p, 4)) {
    case 0:
        return VIRTIO_HZ_NS_NONE;
    case 1:
        return VIRTIO_HZ_NS_UNKNOWN;
    default:
        return 1 + prng_below(p, 1ULL << 40);
    }
}

void sample_notice(struct prng *p, struct hz_notice *n, size_t doc)
{
    memset(n, 0, sizeof(*n));
    sample_uuid(p, n->id);
    sample_uuid(p, n->cause_id);
    sample_uuid(p, n->scope_id);
    n->kind = (uint16_t)(1 + prng_below(p, 15));
    n->state = (uint8_t)prng_below(p, VIRTIO_HZ_STATE_MAX + 1);
    n->ack = (uint8_t)prng_below(p, VIRTIO_HZ_ACK_MAX + 1);
    n->revision = 1 + (uint32_t)prng_below(p, 1000);
    n->not_before_ns = sample_time(p);
    n->deadline_ns = sample_time(p);
    n->duration_ns = sample_time(p);
    n->scope = (uint8_t)prng_below(p, VIRTIO_HZ_SCOPE_MAX + 1);
    n->source = (uint8_t)prng_below(p, VIRTIO_HZ_SOURCE_MAX + 1);
    n->granularity = (uint8_t)prng_below(p, 4);
    n->flags = (uint8_t)(prng_next(p) & VIRTIO_HZ_NOTICE_FLAGS);
    n->confidence = (uint16_t)prng_below(p, 1001);
    n->cause = (uint16_t)prng_below(p, VIRTIO_HZ_CAUSE_MAX + 1);
    n->doc_len = sample_doc(p, n->doc, doc);
}

void sample_reply(struct prng *p, struct hz_notice *n)
{
    n->reply = (uint16_t)(1 + prng_below(p, VIRTIO_HZ_REPLY_MAX));
    n->replied = 1u << n->reply | ((uint32_t)prng_next(p) & 0x1fe);
    n->reply_arg = prng_next(p);
    n->reply_doc_len = sample_doc(p, n->reply_doc, sizeof(n->reply_doc));
}

static int nibble(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

long hex_read(const char *text, uint8_t *out, size_t cap)
{
    size_t n = 0;

    while (*text) {
        int high, low;

        if (*text == '#') {
            text += strcspn(text, "\n");
        }
        if (!*text || strchr(" \n", *text)) {
            text += !!*text;
            continue;
        }
        high = nibble(text[0]);
        low = nibble(text[1]);
        if (high < 0 || low < 0 || n == cap) {
            return -1;
        }
        out[n++] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    return (long)n;
}
