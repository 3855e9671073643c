/* SPDX-License-Identifier: MIT */
/* hz wire: the messages of the link between device and daemon. */
#include "wire.h"

#include <string.h>

/*
 * Start a frame of @body bytes: its header written, its body zeroed and
 * returned; NULL when it doesn't fit.
 */
static uint8_t *frame_start(void *buf, size_t cap, uint16_t type, uint64_t cookie, size_t body)
{
    struct hz_hdr h = {
        .len = (uint32_t)(HZ_HDR_LEN + body), .type = type, .cookie = cookie,
    };

    if (cap < h.len) {
        return NULL;
    }
    hz_hdr_put(buf, &h);
    memset((uint8_t *)buf + HZ_HDR_LEN, 0, body);
    return (uint8_t *)buf + HZ_HDR_LEN;
}

int hz_bare_frame(void *buf, size_t cap, uint16_t type, uint64_t cookie)
{
    return frame_start(buf, cap, type, cookie, 0) ? (int)HZ_HDR_LEN : -VIRTIO_HZ_E_TOOBIG;
}

int hz_hello_frame(void *buf, size_t cap, const struct hz_hello *h)
{
    uint8_t *p = frame_start(buf, cap, HZ_L_HELLO, 0, HZ_HELLO_LEN);

    if (!p) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    hz_put32(p, h->magic);
    hz_put16(p + 4, h->version);
    hz_put16(p + 6, h->version_min);
    memcpy(p + 8, h->vm, VIRTIO_HZ_UUID_LEN);
    memcpy(p + 24, h->generation, VIRTIO_HZ_UUID_LEN);
    hz_put64(p + 40, h->disruption);
    hz_put64(p + 48, h->board_version);
    hz_put16(p + 56, h->run_state);
    hz_put16(p + 58, h->max_declarations);
    hz_put16(p + 60, h->max_notices);
    hz_put16(p + 62, h->max_doc);
    return HZ_HDR_LEN + HZ_HELLO_LEN;
}

int hz_hello_get(const void *body, size_t len, struct hz_hello *h)
{
    const uint8_t *p = body;

    if (len != HZ_HELLO_LEN || hz_get64(p + 64)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    h->magic = hz_get32(p);
    h->version = hz_get16(p + 4);
    h->version_min = hz_get16(p + 6);
    memcpy(h->vm, p + 8, VIRTIO_HZ_UUID_LEN);
    memcpy(h->generation, p + 24, VIRTIO_HZ_UUID_LEN);
    h->disruption = hz_get64(p + 40);
    h->board_version = hz_get64(p + 48);
    h->run_state = hz_get16(p + 56);
    h->max_declarations = hz_get16(p + 58);
    h->max_notices = hz_get16(p + 60);
    h->max_doc = hz_get16(p + 62);
    if (h->magic != VIRTIO_HZ_MAGIC || h->version_min > h->version ||
        h->run_state > HZ_RUN_RUNNING) {
        return -VIRTIO_HZ_E_INVAL;
    }
    return 0;
}

/* WELCOME, SYNC, RUNSTATE, REFUSED: eight bytes of body each. */
static int eight_frame(void *buf, size_t cap, uint16_t type, uint64_t cookie, uint64_t value)
{
    uint8_t *p = frame_start(buf, cap, type, cookie, 8);

    if (!p) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    hz_put64(p, value);
    return HZ_HDR_LEN + 8;
}

/* Their body, of which only @bits low bits may be set. */
static int eight_get(const void *body, size_t len, unsigned bits, uint64_t *value)
{
    if (len != 8) {
        return -VIRTIO_HZ_E_INVAL;
    }
    *value = hz_get64(body);
    return bits < 64 && *value >> bits ? -VIRTIO_HZ_E_INVAL : 0;
}

int hz_welcome_frame(void *buf, size_t cap, const struct hz_welcome *w)
{
    return eight_frame(buf, cap, HZ_L_WELCOME, 0, w->version);
}

int hz_welcome_get(const void *body, size_t len, struct hz_welcome *w)
{
    uint64_t value;
    int err = eight_get(body, len, 16, &value);

    w->version = err ? 0 : (uint16_t)value;
    return err;
}

int hz_sync_frame(void *buf, size_t cap, const struct hz_sync *s)
{
    return eight_frame(buf, cap, HZ_L_SYNC, 0, s->board_version);
}

int hz_sync_get(const void *body, size_t len, struct hz_sync *s)
{
    return eight_get(body, len, 64, &s->board_version);
}

int hz_runstate_frame(void *buf, size_t cap, const struct hz_runstate *r)
{
    return eight_frame(buf, cap, HZ_L_RUNSTATE, 0, r->run_state);
}

int hz_runstate_get(const void *body, size_t len, struct hz_runstate *r)
{
    uint64_t value;
    int err = eight_get(body, len, 16, &value);

    if (!err && value > HZ_RUN_RUNNING) {
        err = -VIRTIO_HZ_E_INVAL;
    }
    r->run_state = err ? 0 : (uint16_t)value;
    return err;
}

int hz_refused_frame(void *buf, size_t cap, uint64_t cookie, const struct hz_refused *r)
{
    return eight_frame(buf, cap, HZ_L_REFUSED, cookie, r->status | (uint64_t)r->type << 32);
}

int hz_refused_get(const void *body, size_t len, struct hz_refused *r)
{
    uint64_t value;
    int err = eight_get(body, len, 48, &value);

    r->status = err ? 0 : (uint32_t)value;
    r->type = err ? 0 : (uint16_t)(value >> 32);
    return err;
}

int hz_set_notice_frame(void *buf, size_t cap, uint64_t cookie, const struct hz_notice *n)
{
    struct hz_hdr h = { .type = HZ_L_SET_NOTICE, .cookie = cookie };
    int body;

    if (cap < HZ_HDR_LEN) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    body = hz_notice_put((uint8_t *)buf + HZ_HDR_LEN, cap - HZ_HDR_LEN, n);
    if (body < 0) {
        return body;
    }
    h.len = (uint32_t)(HZ_HDR_LEN + (size_t)body);
    hz_hdr_put(buf, &h);
    return (int)h.len;
}

int hz_drop_notice_frame(void *buf, size_t cap, uint64_t cookie,
                         const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    uint8_t *p = frame_start(buf, cap, HZ_L_DROP_NOTICE, cookie, VIRTIO_HZ_UUID_LEN);

    if (!p) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    memcpy(p, id, VIRTIO_HZ_UUID_LEN);
    return HZ_HDR_LEN + VIRTIO_HZ_UUID_LEN;
}

int hz_drop_notice_get(const void *body, size_t len, uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    if (len != VIRTIO_HZ_UUID_LEN) {
        return -VIRTIO_HZ_E_INVAL;
    }
    memcpy(id, body, VIRTIO_HZ_UUID_LEN);
    return 0;
}

int hz_set_verdicts_frame(void *buf, size_t cap, uint64_t cookie, const struct hz_set_verdicts *v)
{
    const size_t each = sizeof(struct virtio_hz_verdict);
    size_t body = HZ_SET_VERDICTS_HEAD + v->verdicts * each;
    uint8_t *p = frame_start(buf, cap, HZ_L_SET_VERDICTS, cookie, body);

    if (!p) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    memcpy(p, v->subject, VIRTIO_HZ_KEY_LEN);
    hz_put64(p + 32, v->seq);
    hz_put16(p + 40, v->verdicts);
    hz_verdicts_put(p + HZ_SET_VERDICTS_HEAD, v->verdicts, v->verdict);
    return (int)(HZ_HDR_LEN + body);
}

int hz_set_verdicts_get(const void *body, size_t len, struct hz_set_verdicts *v)
{
    const size_t each = sizeof(struct virtio_hz_verdict);
    const uint8_t *p = body;

    if (len < HZ_SET_VERDICTS_HEAD || hz_get16(p + 42) || hz_get32(p + 44)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    memcpy(v->subject, p, VIRTIO_HZ_KEY_LEN);
    v->seq = hz_get64(p + 32);
    v->verdicts = hz_get16(p + 40);
    if (v->verdicts > VIRTIO_HZ_MAX_FIELDS) {
        return -VIRTIO_HZ_E_TOOBIG;
    }
    if (len != HZ_SET_VERDICTS_HEAD + v->verdicts * each || !hz_subject_ok(v->subject)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    return hz_verdicts_get(p + HZ_SET_VERDICTS_HEAD, v->verdicts, v->verdict);
}
