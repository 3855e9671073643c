/* SPDX-License-Identifier: MIT */
/*
 * The wire: every message there and back, in one form only, and what is refused.
 *
 * "One form only": whatever bytes a *_get() takes, the *_put() of what it read
 * writes those very bytes. So nothing is ignored, and no reserved field,
 * padding or unknown enumeration slips through.
 */
#include "samples.h"
#include "tap.h"

#include <stdlib.h>

#define INVAL  (-VIRTIO_HZ_E_INVAL)
#define UNSUPP (-VIRTIO_HZ_E_UNSUPP)
#define TOOBIG (-VIRTIO_HZ_E_TOOBIG)

/* -- frames and names ---------------------------------------------------- */

static void frames(void)
{
    const struct hz_hdr h = { 0x11223344, 0x5566, 0x7788, 0x99aabbccddeeff00ULL };
    static const uint8_t wanted[] = {
        0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0x88, 0x77,
        0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99,
    };
    struct hz_hdr back;
    uint8_t buf[64] = { 0 };

    hz_hdr_put(buf, &h);
    ok(!memcmp(buf, wanted, sizeof(wanted)), "a header is little-endian, 16 bytes");
    hz_hdr_get(buf, &back);
    ok(back.len == h.len && back.type == h.type && back.flags == h.flags &&
       back.cookie == h.cookie, "and reads back");

    hz_put32(buf, 40);
    is(hz_frame_complete(buf, 0, 64), 0, "no byte of a frame: more are needed");
    is(hz_frame_complete(buf, 3, 64), 0, "part of its length");
    is(hz_frame_complete(buf, 39, 64), 0, "all but one byte");
    is(hz_frame_complete(buf, 40, 64), 40, "all of it");
    is(hz_frame_complete(buf, 64, 64), 40, "and some of the next");
    is(hz_frame_complete(buf, 40, 40), 40, "as long as is allowed");
    is(hz_frame_complete(buf, 4, 39), INVAL, "longer: at once, not when all has come");
    hz_put32(buf, 15);
    is(hz_frame_complete(buf, 64, 64), INVAL, "shorter than a header");
    hz_put32(buf, 0xffffffff);
    is(hz_frame_complete(buf, 64, 4096), INVAL, "as long as can be");
}

static void names(void)
{
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    static const uint8_t bad[][4] = { "A", "a b", "a\n", "\xc3\xa4", "a:b", "\\" };

    ok(hz_subject_put(key, "nic/0") && hz_subject_ok(key), "nic/0 is a name");
    ok(hz_subject_put(key, "job/a-b_c.9"), "so is every letter allowed");
    ok(hz_subject_put(key, "abcdefghijklmnopqrstuvwxyz01234"), "31 letters");
    ok(!hz_subject_put(key, "abcdefghijklmnopqrstuvwxyz012345"), "32 are too many");
    ok(!hz_subject_put(key, ""), "none are too few");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ok(!hz_subject_put(key, (const char *)bad[i]), "a letter that isn't allowed (%zu)", i);
    }
    memset(key, 'a', sizeof(key));
    ok(!hz_subject_ok(key), "a key full of letters has no end");
    memset(key, 0, sizeof(key));
    ok(!hz_subject_ok(key), "an empty one is no name");
    key[0] = 'a';
    key[31] = 'a';
    ok(!hz_subject_ok(key), "nothing may follow the end");
}

/* -- documents ----------------------------------------------------------- */

static void doc_refused(const char *hex, int ret, const char *what)
{
    uint8_t doc[VIRTIO_HZ_MAX_DOC];
    long len = hex_read(hex, doc, sizeof(doc));

    is(hz_doc_check(doc, (size_t)len, sizeof(doc)), ret, "%s", what);
}

static void doc_framing(void)
{
    doc_refused("", 0, "an empty document is one");
    doc_refused("0100 0000", 0, "a field without a value");
    doc_refused("0000 0000", 0, "field 0, as far as the framing goes");
    doc_refused("0100 0400 11223344", 0, "four bytes");
    doc_refused("0100 0300 11223300", 0, "three and one of padding");
    doc_refused("0100 0300 11223301", INVAL, "padding that isn't zero");
    doc_refused("0100 0300 112233", INVAL, "padding that's missing");
    doc_refused("0100 0400 112233", INVAL, "a value cut off");
    doc_refused("0100 04", INVAL, "a head cut off");
    doc_refused("01", INVAL, "a single byte");
    doc_refused("0100 ffff 11223344", INVAL, "a length beyond the end");
    doc_refused("0100 0000 0200 0000", 0, "two in order");
    doc_refused("0200 0000 0100 0000", INVAL, "two out of order");
    doc_refused("0100 0000 0100 0000", INVAL, "one that stands twice");
    doc_refused("ffff 0000", 0, "the largest id");
}

static void doc_limits(void)
{
    uint8_t doc[VIRTIO_HZ_MAX_DOC] = { 0 };
    size_t len = 0;
    uint16_t i;

    is(hz_doc_check(doc, 65, 64), TOOBIG, "above the limit it's given");
    for (i = 1; i <= VIRTIO_HZ_MAX_FIELDS; i++) {
        if (hz_doc_set(doc, &len, sizeof(doc), i, "x", 1)) {
            break;
        }
    }
    is(i, VIRTIO_HZ_MAX_FIELDS + 1, "64 fields can be set");
    is(hz_doc_check(doc, len, sizeof(doc)), 0, "and stand");
    is(hz_doc_set(doc, &len, sizeof(doc), 99, "x", 1), TOOBIG, "one more can't");
    is(hz_doc_set(doc, &len, sizeof(doc), 64, "y", 1), 0, "but one of them can be changed");
    hz_put16(doc + len, 99);
    hz_put16(doc + len + 2, 0);
    is(hz_doc_check(doc, len + 4, sizeof(doc)), TOOBIG, "one more by hand is refused");
}

/* A plain array of fields, to compare a document with. */
struct model {
    bool there[16];
    uint8_t value[16][8];
    uint16_t len[16];
};

static const char *doc_like_model(const uint8_t *doc, size_t len, const struct model *m)
{
    const uint8_t *v;
    uint16_t id, vlen, seen = 0, wanted = 0;
    size_t pos = 0;

    if (hz_doc_check(doc, len, len)) {
        return "it isn't well-formed";
    }
    while (hz_doc_next(doc, len, &pos, &id, &v, &vlen)) {
        if (id > 15 || !m->there[id] || vlen != m->len[id] || memcmp(v, m->value[id], vlen)) {
            return "a field is wrong";
        }
        seen++;
    }
    for (id = 0; id < 16; id++) {
        wanted += m->there[id];
        v = hz_doc_find(doc, len, id, &vlen);
        if (!v != !m->there[id] || (v && (vlen != m->len[id] || memcmp(v, m->value[id], vlen)))) {
            return "a field isn't found, or found wrong";
        }
    }
    return seen == wanted ? NULL : "a field is missing";
}

static void doc_editing(void)
{
    struct prng p = { 7 };
    struct model m = { 0 };
    uint8_t doc[100];
    size_t len = 0;
    const char *offence = NULL;
    int full = 0;

    for (int i = 0; i < 20000 && !offence; i++) {
        uint16_t id = (uint16_t)prng_below(&p, 16), vlen = (uint16_t)prng_below(&p, 9);
        uint64_t bits = prng_next(&p);
        uint8_t before[100];
        size_t old = len;

        memcpy(before, doc, len);
        if (prng_chance(&p, 30)) {
            if (hz_doc_unset(doc, &len, id) != m.there[id]) {
                offence = "unset says something else";
            }
            m.there[id] = false;
        } else if (!hz_doc_set(doc, &len, sizeof(doc), id, &bits, vlen)) {
            m.there[id] = true;
            m.len[id] = vlen;
            memcpy(m.value[id], &bits, vlen);
        } else {
            full++;
            if (len != old || memcmp(before, doc, len)) {
                offence = "a refused change changed something";
            }
        }
        offence = offence ? offence : doc_like_model(doc, len, &m);
    }
    if (!ok(!offence, "20000 changes of a document leave it as they should")) {
        printf("# %s\n", offence);
    }
    ok(full > 100, "of which some didn't fit and changed nothing");
}

/* -- bodies: there, back, and in one form only --------------------------- */

/* A kind of message: read @len bytes at @in and write what was read to @out; length or code. */
struct codec {
    const char *name;
    int (*sample)(struct prng *p, uint8_t *out, size_t cap);
    int (*copy)(const uint8_t *in, size_t len, uint8_t *out, size_t cap);
};

static int status_sample(struct prng *p, uint8_t *out, size_t cap)
{
    struct hz_status s = {
        .resets = (uint32_t)prng_next(p), .status = (uint16_t)prng_next(p),
        .reason = (uint16_t)prng_next(p), .pause_ns = prng_next(p),
    };

    sample_uuid(p, s.generation);
    return hz_status_put(out, cap, &s);
}

static int status_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_status s;
    int err = hz_status_get(in, len, &s);

    return err ? err : hz_status_put(out, cap, &s);
}

static int declaration_sample(struct prng *p, uint8_t *out, size_t cap)
{
    struct hz_declaration d;

    sample_declaration(p, &d);
    return hz_declaration_put(out, cap, &d);
}

static int declaration_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_declaration d;
    int err = hz_declaration_get(in, len, &d);

    return err ? err : hz_declaration_put(out, cap, &d);
}

static int notice_sample(struct prng *p, uint8_t *out, size_t cap)
{
    struct hz_notice n;

    sample_notice(p, &n, sizeof(n.doc));
    if (prng_chance(p, 50)) {
        sample_reply(p, &n);
    }
    return hz_notice_put(out, cap, &n);
}

static int notice_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_notice n;
    int err = hz_notice_get(in, len, &n);

    return err ? err : hz_notice_put(out, cap, &n);
}

static int hello_sample(struct prng *p, uint8_t *out, size_t cap)
{
    struct hz_hello h = {
        .magic = VIRTIO_HZ_MAGIC, .version = 7, .version_min = (uint16_t)prng_below(p, 8),
        .disruption = prng_next(p), .board_version = prng_next(p),
        .run_state = (uint16_t)prng_below(p, 2), .max_declarations = (uint16_t)prng_next(p),
        .max_notices = (uint16_t)prng_next(p), .max_doc = (uint16_t)prng_next(p),
    };

    sample_uuid(p, h.vm);
    sample_uuid(p, h.generation);
    return hz_hello_frame(out, cap, &h);
}

/* A link frame: the body is read, the frame written again with the same cookie. */
static uint64_t cookie_of(const uint8_t *in)
{
    struct hz_hdr h;

    hz_hdr_get(in, &h);
    return h.cookie;
}

static int hello_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_hello h;
    int err = hz_hello_get(in + HZ_HDR_LEN, len - HZ_HDR_LEN, &h);

    return err ? err : hz_hello_frame(out, cap, &h);
}

static int welcome_sample(struct prng *p, uint8_t *out, size_t cap)
{
    return hz_welcome_frame(out, cap, &(struct hz_welcome){ (uint16_t)prng_next(p) });
}

static int welcome_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_welcome w;
    int err = hz_welcome_get(in + HZ_HDR_LEN, len - HZ_HDR_LEN, &w);

    return err ? err : hz_welcome_frame(out, cap, &w);
}

static int sync_sample(struct prng *p, uint8_t *out, size_t cap)
{
    return hz_sync_frame(out, cap, &(struct hz_sync){ prng_next(p) });
}

static int sync_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_sync s;
    int err = hz_sync_get(in + HZ_HDR_LEN, len - HZ_HDR_LEN, &s);

    return err ? err : hz_sync_frame(out, cap, &s);
}

static int runstate_sample(struct prng *p, uint8_t *out, size_t cap)
{
    return hz_runstate_frame(out, cap, &(struct hz_runstate){ (uint16_t)prng_below(p, 2) });
}

static int runstate_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_runstate r;
    int err = hz_runstate_get(in + HZ_HDR_LEN, len - HZ_HDR_LEN, &r);

    return err ? err : hz_runstate_frame(out, cap, &r);
}

static int refused_sample(struct prng *p, uint8_t *out, size_t cap)
{
    const struct hz_refused r = { (uint32_t)prng_next(p), (uint16_t)prng_next(p) };

    return hz_refused_frame(out, cap, prng_next(p), &r);
}

static int refused_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_refused r;
    int err = hz_refused_get(in + HZ_HDR_LEN, len - HZ_HDR_LEN, &r);

    return err ? err : hz_refused_frame(out, cap, cookie_of(in), &r);
}

static int set_notice_sample(struct prng *p, uint8_t *out, size_t cap)
{
    struct hz_notice n;

    sample_notice(p, &n, sizeof(n.doc));
    return hz_set_notice_frame(out, cap, prng_next(p), &n);
}

static int set_notice_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_notice n;
    int err = hz_notice_get(in + HZ_HDR_LEN, len - HZ_HDR_LEN, &n);

    return err ? err : hz_set_notice_frame(out, cap, cookie_of(in), &n);
}

static int drop_notice_sample(struct prng *p, uint8_t *out, size_t cap)
{
    uint8_t id[VIRTIO_HZ_UUID_LEN];

    sample_uuid(p, id);
    return hz_drop_notice_frame(out, cap, prng_next(p), id);
}

static int drop_notice_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    uint8_t id[VIRTIO_HZ_UUID_LEN];
    int err = hz_drop_notice_get(in + HZ_HDR_LEN, len - HZ_HDR_LEN, id);

    return err ? err : hz_drop_notice_frame(out, cap, cookie_of(in), id);
}

static int set_verdicts_sample(struct prng *p, uint8_t *out, size_t cap)
{
    struct hz_set_verdicts v = { .seq = prng_next(p) };

    sample_subject(p, v.subject);
    v.verdicts = sample_verdicts(p, v.verdict, VIRTIO_HZ_MAX_FIELDS);
    return hz_set_verdicts_frame(out, cap, prng_next(p), &v);
}

static int set_verdicts_copy(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
    struct hz_set_verdicts v;
    int err = hz_set_verdicts_get(in + HZ_HDR_LEN, len - HZ_HDR_LEN, &v);

    return err ? err : hz_set_verdicts_frame(out, cap, cookie_of(in), &v);
}

static const struct codec codecs[] = {
    { "status", status_sample, status_copy },
    { "declaration", declaration_sample, declaration_copy },
    { "notice", notice_sample, notice_copy },
    { "HELLO", hello_sample, hello_copy },
    { "WELCOME", welcome_sample, welcome_copy },
    { "SYNC", sync_sample, sync_copy },
    { "RUNSTATE", runstate_sample, runstate_copy },
    { "REFUSED", refused_sample, refused_copy },
    { "SET_NOTICE", set_notice_sample, set_notice_copy },
    { "DROP_NOTICE", drop_notice_sample, drop_notice_copy },
    { "SET_VERDICTS", set_verdicts_sample, set_verdicts_copy },
};

#define N_CODECS (sizeof(codecs) / sizeof(codecs[0]))

/* Exactly-sized copies, so that ASan sees a read beyond the end. */
static int copy_exact(const struct codec *c, const uint8_t *in, size_t len, uint8_t *out)
{
    uint8_t *tight = malloc(len ? len : 1);
    int ret;

    memcpy(tight, in, len);
    ret = c->copy(tight, len, out, VIRTIO_HZ_MAX_FRAME);
    free(tight);
    return ret;
}

/* @frames start with a header whose bytes are the reader's business, not the body's. */
static bool is_frame(const struct codec *c)
{
    return c >= &codecs[3];
}

static const char *one_form(const struct codec *c, struct prng *p)
{
    uint8_t in[VIRTIO_HZ_MAX_FRAME], out[VIRTIO_HZ_MAX_FRAME];
    int len = c->sample(p, in, sizeof(in));
    size_t skip = is_frame(c) ? HZ_HDR_LEN : 0;
    int ret;

    if (len < 0 || len % 8 || (skip && hz_get32(in) != (uint32_t)len)) {
        return "its length";
    }
    if (copy_exact(c, in, (size_t)len, out) != len || memcmp(in, out, (size_t)len)) {
        return "it doesn't come back as it was";
    }
    for (int i = 0; i < 20; i++) {
        size_t at = skip + prng_below(p, (size_t)len - skip);
        uint8_t old = in[at];

        in[at] = prng_chance(p, 50) ? (uint8_t)(old ^ 1u << prng_below(p, 8))
                                    : (uint8_t)prng_next(p);
        ret = copy_exact(c, in, (size_t)len, out);
        if (ret >= 0 && (ret != len || memcmp(in, out, (size_t)len))) {
            return "a byte of it is read and lost";
        }
        in[at] = old;
    }
    ret = copy_exact(c, in, skip + prng_below(p, (size_t)len - skip), out);
    if (ret >= 0) {
        return "it is taken though cut off";
    }
    memset(in + len, 0, 8);
    ret = len + 8 <= (int)sizeof(in) ? copy_exact(c, in, (size_t)len + 8, out) : -1;
    return ret >= 0 ? "it is taken though something follows" : NULL;
}

static void round_trips(void)
{
    for (size_t i = 0; i < N_CODECS; i++) {
        struct prng p = { i };
        const char *offence = NULL;

        for (int k = 0; k < 2000 && !offence; k++) {
            offence = one_form(&codecs[i], &p);
        }
        if (!ok(!offence, "2000 of %s there and back, in one form only", codecs[i].name)) {
            printf("# %s\n", offence);
        }
    }
}

static void too_small(void)
{
    for (size_t i = 0; i < N_CODECS; i++) {
        struct prng p = { i }, again = { i };
        uint8_t buf[VIRTIO_HZ_MAX_FRAME];
        int len = codecs[i].sample(&p, buf, sizeof(buf));
        uint8_t *tight = malloc((size_t)len);

        is(codecs[i].sample(&again, tight, (size_t)len - 1), TOOBIG,
           "%s doesn't fit into a byte less", codecs[i].name);
        again = (struct prng){ i };
        is(codecs[i].sample(&again, tight, (size_t)len), len, "but into just that much");
        free(tight);
    }
}

/* -- what each refuses ---------------------------------------------------- */

static void notice_refusals(void)
{
    static const struct {
        size_t at;
        uint8_t byte;
        const char *what;
    } bad[] = {
        { offsetof(struct virtio_hz_notice, state), VIRTIO_HZ_STATE_MAX + 1, "state" },
        { offsetof(struct virtio_hz_notice, ack), VIRTIO_HZ_ACK_MAX + 1, "ack" },
        { offsetof(struct virtio_hz_notice, scope), VIRTIO_HZ_SCOPE_MAX + 1, "scope" },
        { offsetof(struct virtio_hz_notice, source), VIRTIO_HZ_SOURCE_MAX + 1, "source" },
        { offsetof(struct virtio_hz_notice, granularity), 4, "granularity" },
        { offsetof(struct virtio_hz_notice, flags), 0x80, "flag" },
        { offsetof(struct virtio_hz_notice, confidence) + 1, 4, "confidence of 1024" },
        { offsetof(struct virtio_hz_notice, cause), VIRTIO_HZ_CAUSE_MAX + 1, "cause" },
        { offsetof(struct virtio_hz_notice, reply), VIRTIO_HZ_REPLY_MAX + 1, "reply" },
        { offsetof(struct virtio_hz_notice, replied), 1, "bit of no reply" },
        { offsetof(struct virtio_hz_notice, replied) + 1, 2, "bit of a ninth reply" },
        { offsetof(struct virtio_hz_notice, reserved0), 1, "reserved field" },
        { offsetof(struct virtio_hz_notice, reserved1), 1, "reserved field" },
    };
    struct hz_notice n = { .revision = 1 };
    uint8_t buf[256];
    int len = hz_notice_put(buf, sizeof(buf), &n);

    is(hz_notice_get(buf, (size_t)len, &n), 0, "a plain notice");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint8_t old = buf[bad[i].at];

        buf[bad[i].at] = bad[i].byte;
        is(hz_notice_get(buf, (size_t)len, &n), INVAL, "a %s that doesn't exist", bad[i].what);
        buf[bad[i].at] = old;
    }
    hz_put32(buf + offsetof(struct virtio_hz_notice, revision), 0);
    is(hz_notice_get(buf, (size_t)len, &n), INVAL, "revision 0");
    hz_put32(buf + offsetof(struct virtio_hz_notice, revision), 1);
    hz_put16(buf + offsetof(struct virtio_hz_notice, doc_len), VIRTIO_HZ_MAX_DOC + 1);
    is(hz_notice_get(buf, (size_t)len, &n), TOOBIG, "a document above every limit");
    hz_put16(buf + offsetof(struct virtio_hz_notice, doc_len), 0);
    hz_put16(buf + offsetof(struct virtio_hz_notice, reply_doc_len), VIRTIO_HZ_MAX_REPLY_DOC + 1);
    is(hz_notice_get(buf, (size_t)len, &n), TOOBIG, "a reply's document above every limit");
}

static void verdict_refusals(void)
{
    struct hz_verdict v[2] = { { .field = 5 }, { .field = 6 } };
    uint8_t buf[32];

    hz_verdicts_put(buf, 2, v);
    is(hz_verdicts_get(buf, 2, v), 0, "two verdicts in order");
    buf[2] = VIRTIO_HZ_VERDICT_MAX + 1;
    is(hz_verdicts_get(buf, 2, v), INVAL, "a verdict that doesn't exist");
    buf[2] = 0;
    buf[3] = VIRTIO_HZ_REASON_MAX + 1;
    is(hz_verdicts_get(buf, 2, v), INVAL, "a reason that doesn't exist");
    buf[3] = 0;
    buf[4] = 1;
    is(hz_verdicts_get(buf, 2, v), INVAL, "a reserved field that's set");
    buf[4] = 0;
    buf[0] = 6;
    is(hz_verdicts_get(buf, 2, v), INVAL, "two on the same field");
    is(hz_verdicts_get(buf, 1, v), 0, "one of them alone");
    is(hz_verdicts_get(buf, 0, v), 0, "none at all");
}

static void link_refusals(void)
{
    struct hz_hello h = { .magic = VIRTIO_HZ_MAGIC, .version = 1, .version_min = 1 };
    struct hz_set_verdicts v = { .subject = "nic/0", .verdicts = 1 };
    struct hz_runstate r;
    uint8_t buf[HZ_HDR_LEN + 128], body[8] = { 2 };

    hz_hello_frame(buf, sizeof(buf), &h);
    is(hz_hello_get(buf + HZ_HDR_LEN, HZ_HELLO_LEN, &h), 0, "a HELLO");
    buf[HZ_HDR_LEN + 6] = 2;
    is(hz_hello_get(buf + HZ_HDR_LEN, HZ_HELLO_LEN, &h), INVAL,
       "whose oldest version is newer than its newest");
    buf[HZ_HDR_LEN + 6] = 1;
    buf[HZ_HDR_LEN] ^= 1;
    is(hz_hello_get(buf + HZ_HDR_LEN, HZ_HELLO_LEN, &h), INVAL, "with another magic");
    buf[HZ_HDR_LEN] ^= 1;
    buf[HZ_HDR_LEN + 56] = 2;
    is(hz_hello_get(buf + HZ_HDR_LEN, HZ_HELLO_LEN, &h), INVAL, "with no such run state");
    is(hz_runstate_get(body, 8, &r), INVAL, "a RUNSTATE of none");

    hz_set_verdicts_frame(buf, sizeof(buf), 0, &v);
    buf[HZ_HDR_LEN] = 'N';
    is(hz_set_verdicts_get(buf + HZ_HDR_LEN, HZ_SET_VERDICTS_HEAD + 16, &v), INVAL,
       "SET_VERDICTS on what is no name");
    buf[HZ_HDR_LEN] = 'n';
    hz_put16(buf + HZ_HDR_LEN + 40, VIRTIO_HZ_MAX_FIELDS + 1);
    is(hz_set_verdicts_get(buf + HZ_HDR_LEN, HZ_SET_VERDICTS_HEAD + 16, &v), TOOBIG,
       "more verdicts than a document has fields");
    is(hz_bare_frame(buf, 15, HZ_L_PING, 1), TOOBIG, "a PING doesn't fit into 15 bytes");
    is(hz_bare_frame(buf, 16, HZ_L_PING, 0x1234), 16, "but into 16");
    is(hz_get32(buf), 16, "its length");
    is(hz_get16(buf + 4), HZ_L_PING, "its type");
    is(cookie_of(buf), 0x1234, "its cookie");
}

static int record_of(uint16_t type, uint16_t flags, uint32_t len, size_t have)
{
    uint8_t *frame = calloc(1, have ? have : 1);
    const struct hz_hdr h = { len, type, flags, 9 };
    struct hz_rec r;
    int ret;

    if (have >= HZ_HDR_LEN) {
        hz_hdr_put(frame, &h);
    }
    ret = hz_record_get(frame, have, &r);
    if (!ret) {
        ok(r.hdr.type == type && r.hdr.cookie == 9 && r.body_len == have - HZ_RECORD_HEAD &&
           r.body == frame + HZ_RECORD_HEAD, "a record's parts");
    }
    free(frame);
    return ret;
}

static void records(void)
{
    const uint32_t head = HZ_RECORD_HEAD;

    is(record_of(VIRTIO_HZ_R_STATUS, 0, head + 32, head + 32), 0, "a record");
    is(record_of(VIRTIO_HZ_R_STATUS, VIRTIO_HZ_REC_FULL, head + 32, head + 32), 0,
       "a status that starts over");
    is(record_of(VIRTIO_HZ_R_NOTICE, VIRTIO_HZ_REC_FULL, head, head), UNSUPP,
       "only a status can say that");
    is(record_of(VIRTIO_HZ_R_NOTICE, VIRTIO_HZ_REC_GONE, head, head), 0, "one that's gone");
    is(record_of(VIRTIO_HZ_R_NOTICE, VIRTIO_HZ_REC_GONE, head + 8, head + 8), INVAL,
       "has no body");
    is(record_of(VIRTIO_HZ_R_DECLARATION, VIRTIO_HZ_REC_TRUNCATED, head, head), 0,
       "one cut down to its head");
    is(record_of(VIRTIO_HZ_R_DECLARATION, VIRTIO_HZ_REC_TRUNCATED, head + 8, head + 8), INVAL,
       "has no body either");
    is(record_of(VIRTIO_HZ_R_NOTICE, 8, head, head), UNSUPP, "a flag that doesn't exist");
    is(record_of(VIRTIO_HZ_R_NOTICE + 1, 0, head, head), UNSUPP, "a type that doesn't exist");
    is(record_of(VIRTIO_HZ_R_STATUS - 1, 0, head, head), UNSUPP, "nor that one");
    is(record_of(VIRTIO_HZ_R_STATUS, 0, head + 8, head), INVAL, "longer than it is");
    is(record_of(VIRTIO_HZ_R_STATUS, 0, head, head + 8), INVAL, "shorter than it is");
    is(record_of(VIRTIO_HZ_R_STATUS, 0, head + 4, head + 4), INVAL, "no multiple of eight");
    is(record_of(VIRTIO_HZ_R_STATUS, 0, head - 8, head - 8), INVAL, "less than a head");
    is(record_of(VIRTIO_HZ_R_STATUS, 0, 0, 0), INVAL, "nothing");
}

/* The layouts a second implementation would be written from: sizes, and where fields stand. */
static void layout(void)
{
    struct hz_hello h = { .magic = VIRTIO_HZ_MAGIC, .version = 1, .version_min = 1,
                          .run_state = HZ_RUN_RUNNING, .max_declarations = 16,
                          .max_notices = 32, .max_doc = 1024 };
    uint8_t buf[128], wanted[HZ_HELLO_LEN];
    const char *hex =
        "56485a31 0100 0100"
        "00000000000000000000000000000000 00000000000000000000000000000000"
        "0000000000000000 0000000000000000"
        "0100 1000 2000 0004 0000000000000000";

    is(sizeof(struct virtio_hz_config), 40, "config space");
    is(sizeof(struct virtio_hz_hdr), 16, "header");
    is(sizeof(struct virtio_hz_declare), 64, "DECLARE");
    is(sizeof(struct virtio_hz_withdraw), 56, "WITHDRAW");
    is(sizeof(struct virtio_hz_reply), 64, "REPLY");
    is(sizeof(struct virtio_hz_read), 40, "READ");
    is(sizeof(struct virtio_hz_response), 56, "response");
    is(sizeof(struct virtio_hz_record), 64, "record");
    is(sizeof(struct virtio_hz_status), 32, "status");
    is(sizeof(struct virtio_hz_declaration), 24, "declaration");
    is(sizeof(struct virtio_hz_verdict), 16, "verdict");
    is(sizeof(struct virtio_hz_notice), 112, "notice");
    hz_hello_frame(buf, sizeof(buf), &h);
    is(hex_read(hex, wanted, sizeof(wanted)), HZ_HELLO_LEN, "HELLO has 72 bytes");
    ok(!memcmp(buf + HZ_HDR_LEN, wanted, sizeof(wanted)), "and these");
    is(hz_get16(buf + 4), HZ_L_HELLO, "its type");
    /* The largest of each fits a frame and a driver's record buffer. */
    ok(HZ_RECORD_HEAD + sizeof(struct virtio_hz_declaration) + VIRTIO_HZ_MAX_DOC +
       VIRTIO_HZ_MAX_FIELDS * sizeof(struct virtio_hz_verdict) <= VIRTIO_HZ_MAX_FRAME,
       "the largest declaration fits a frame");
    ok(HZ_RECORD_HEAD + sizeof(struct virtio_hz_notice) + VIRTIO_HZ_MAX_DOC +
       VIRTIO_HZ_MAX_REPLY_DOC <= VIRTIO_HZ_MAX_FRAME, "so does the largest notice");
}

int main(void)
{
    frames();
    names();
    doc_framing();
    doc_limits();
    doc_editing();
    round_trips();
    too_small();
    notice_refusals();
    verdict_refusals();
    link_refusals();
    records();
    layout();
    return tap_done();
}
