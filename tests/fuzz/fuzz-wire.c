/* SPDX-License-Identifier: MIT */
/*
 * Frames, documents, bodies and the link's messages. The first byte says
 * which reader gets the rest; what a reader takes, its writer writes back.
 */
#include "core/wire.h"
#include "fuzz.h"

#include <string.h>

static uint8_t out[VIRTIO_HZ_MAX_FRAME + 64];

/* The writer's @len bytes at out + @skip are those that were read. */
static void same(const uint8_t *in, size_t size, size_t skip, int len)
{
    CHECK(len >= 0 && (size_t)len == size + skip && !memcmp(out + skip, in, size));
}

static void status(const uint8_t *p, size_t n)
{
    struct hz_status s;

    if (!hz_status_get(p, n, &s)) {
        same(p, n, 0, hz_status_put(out, sizeof(out), &s));
    }
}

static void declaration(const uint8_t *p, size_t n)
{
    struct hz_declaration d;

    if (!hz_declaration_get(p, n, &d)) {
        same(p, n, 0, hz_declaration_put(out, sizeof(out), &d));
    }
}

static void notice(const uint8_t *p, size_t n)
{
    struct hz_notice v;

    if (!hz_notice_get(p, n, &v)) {
        same(p, n, 0, hz_notice_put(out, sizeof(out), &v));
        same(p, n, HZ_HDR_LEN, hz_set_notice_frame(out, sizeof(out), 7, &v));
    }
}

static void record(const uint8_t *p, size_t n)
{
    struct hz_rec r;

    if (hz_record_get(p, n, &r)) {
        return;
    }
    CHECK(r.body == p + HZ_RECORD_HEAD && r.body_len == n - HZ_RECORD_HEAD);
    switch (r.hdr.type) {
    case VIRTIO_HZ_R_STATUS:
        status(r.body, r.body_len);
        break;
    case VIRTIO_HZ_R_DECLARATION:
        declaration(r.body, r.body_len);
        break;
    default:
        notice(r.body, r.body_len);
        break;
    }
}

static void hello(const uint8_t *p, size_t n)
{
    struct hz_hello h;

    if (!hz_hello_get(p, n, &h)) {
        same(p, n, HZ_HDR_LEN, hz_hello_frame(out, sizeof(out), &h));
    }
}

static void set_verdicts(const uint8_t *p, size_t n)
{
    struct hz_set_verdicts v;

    if (!hz_set_verdicts_get(p, n, &v)) {
        same(p, n, HZ_HDR_LEN, hz_set_verdicts_frame(out, sizeof(out), 7, &v));
    }
}

static void small_ones(const uint8_t *p, size_t n)
{
    struct hz_welcome w;
    struct hz_sync s;
    struct hz_runstate r;
    struct hz_refused f;
    uint8_t id[VIRTIO_HZ_UUID_LEN];

    if (!hz_welcome_get(p, n, &w)) {
        same(p, n, HZ_HDR_LEN, hz_welcome_frame(out, sizeof(out), &w));
    }
    if (!hz_sync_get(p, n, &s)) {
        same(p, n, HZ_HDR_LEN, hz_sync_frame(out, sizeof(out), &s));
    }
    if (!hz_runstate_get(p, n, &r)) {
        same(p, n, HZ_HDR_LEN, hz_runstate_frame(out, sizeof(out), &r));
    }
    if (!hz_refused_get(p, n, &f)) {
        same(p, n, HZ_HDR_LEN, hz_refused_frame(out, sizeof(out), 7, &f));
    }
    if (!hz_drop_notice_get(p, n, id)) {
        same(p, n, HZ_HDR_LEN, hz_drop_notice_frame(out, sizeof(out), 7, id));
    }
}

/* Frame after frame, as a link reads a stream. */
static void stream(const uint8_t *p, size_t n)
{
    int len;

    while ((len = hz_frame_complete(p, n, VIRTIO_HZ_MAX_FRAME)) > 0) {
        struct hz_hdr h;

        CHECK((size_t)len <= n && (size_t)len >= HZ_HDR_LEN);
        hz_hdr_get(p, &h);
        CHECK(h.len == (uint32_t)len);
        record(p, (size_t)len);
        p += len;
        n -= (size_t)len;
    }
}

/* A document taken apart and put together again, in the other order. */
static void document(const uint8_t *p, size_t n)
{
    struct { uint16_t id, len; const uint8_t *value; } f[VIRTIO_HZ_MAX_FIELDS];
    size_t pos = 0, len = 0;
    unsigned fields = 0;

    if (hz_doc_check(p, n, VIRTIO_HZ_MAX_DOC)) {
        return;
    }
    while (hz_doc_next(p, n, &pos, &f[fields].id, &f[fields].value, &f[fields].len)) {
        uint16_t found_len;

        CHECK(hz_doc_find(p, n, f[fields].id, &found_len) == f[fields].value &&
              found_len == f[fields].len);
        fields++;
        CHECK(fields <= VIRTIO_HZ_MAX_FIELDS);
        if (fields == VIRTIO_HZ_MAX_FIELDS) {
            break;
        }
    }
    for (unsigned i = fields; i-- > 0;) {
        CHECK(!hz_doc_set(out, &len, VIRTIO_HZ_MAX_DOC, f[i].id, f[i].value, f[i].len));
        CHECK(!hz_doc_check(out, len, VIRTIO_HZ_MAX_DOC));
    }
    CHECK(len == n && !memcmp(out, p, n));
    for (unsigned i = 0; i < fields; i++) {
        CHECK(hz_doc_unset(out, &len, f[i].id));
        CHECK(!hz_doc_check(out, len, VIRTIO_HZ_MAX_DOC));
    }
    CHECK(len == 0);
}

static void subject(const uint8_t *p, size_t n)
{
    uint8_t key[VIRTIO_HZ_KEY_LEN];

    if (n >= VIRTIO_HZ_KEY_LEN && hz_subject_ok(p)) {
        CHECK(hz_subject_put(key, (const char *)p) && !memcmp(key, p, sizeof(key)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *p, size_t n) = {
        status, declaration, notice, record, hello, set_verdicts, small_ones, stream,
        document, subject,
    };
    uint8_t *p;

    if (size < 1 || size > VIRTIO_HZ_MAX_FRAME * 4) {
        return 0;
    }
    p = tight_copy(data + 1, size - 1);
    readers[data[0] % (sizeof(readers) / sizeof(readers[0]))](p, size - 1);
    free(p);
    return 0;
}
