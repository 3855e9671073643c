/* SPDX-License-Identifier: MIT */
/*
 * hz vocabulary: looking fields up, and judging a document by the table.
 */
#include "vocabulary.h"

#include <string.h>

#define NIC_INDEX_MAX 65535

const struct hz_field *hz_field_by_id(uint16_t id)
{
    size_t n, low = 0;
    const struct hz_field *rows = hz_vocabulary(&n);

    while (low < n) {
        size_t mid = low + (n - low) / 2;

        if (rows[mid].id == id) {
            return &rows[mid];
        }
        if (rows[mid].id < id) {
            low = mid + 1;
        } else {
            n = mid;
        }
    }
    return NULL;
}

const struct hz_field *hz_field_by_name(const char *name)
{
    size_t n;
    const struct hz_field *rows = hz_vocabulary(&n);

    for (size_t i = 0; i < n; i++) {
        if (!strcmp(rows[i].name, name)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* -- near misses -------------------------------------------------------- */

#define WORD_MAX 40

/*
 * Letters to insert, delete, change or swap with their neighbour between two
 * words; a large number when either is longer than any name of ours.
 */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[3][WORD_MAX + 1];
    size_t la = strlen(a), lb = strlen(b);
    unsigned *two = row[0], *one = row[1], *now = row[2];

    if (la > WORD_MAX || lb > WORD_MAX) {
        return WORD_MAX;
    }
    for (size_t j = 0; j <= lb; j++) {
        one[j] = (unsigned)j;
        two[j] = WORD_MAX;
    }
    for (size_t i = 1; i <= la; i++) {
        unsigned *oldest = two;

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned best = one[j - 1] + (a[i - 1] != b[j - 1]);

            if (one[j] + 1 < best) {
                best = one[j] + 1;
            }
            if (now[j - 1] + 1 < best) {
                best = now[j - 1] + 1;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                two[j - 2] + 1 < best) {
                best = two[j - 2] + 1;
            }
            now[j] = best;
        }
        two = one;
        one = now;
        now = oldest;
    }
    return one[lb];
}

/* Keep the nearer of *@best and @name; a guess further than a third of the word is none. */
static void nearer(const char *word, const char *name, unsigned *least, const char **best)
{
    unsigned d = distance(word, name);

    if (d < *least && d <= 1 + strlen(word) / 3) {
        *least = d;
        *best = name;
    }
}

const char *hz_nearest(const char *word, const char *const *words)
{
    unsigned least = WORD_MAX;
    const char *best = NULL;

    for (; *words; words++) {
        nearer(word, *words, &least, &best);
    }
    return best;
}

const char *hz_field_nearest(const char *name)
{
    size_t n;
    const struct hz_field *rows = hz_vocabulary(&n);
    unsigned least = WORD_MAX;
    const char *best = NULL;

    for (size_t i = 0; i < n; i++) {
        nearer(name, rows[i].name, &least, &best);
    }
    return best;
}

/* -- subjects ----------------------------------------------------------- */

/* A number without leading zeros, so that one NIC has one name. */
static bool is_nic_index(const char *s)
{
    unsigned long n = 0;

    if (!*s || (s[0] == '0' && s[1])) {
        return false;
    }
    for (; *s >= '0' && *s <= '9'; s++) {
        n = n * 10 + (unsigned long)(*s - '0');
        if (n > NIC_INDEX_MAX) {
            return false;
        }
    }
    return !*s;
}

unsigned hz_subject_kind_str(const char *subject)
{
    if (!strcmp(subject, "vm")) {
        return HZ_ON_VM;
    }
    if (!strcmp(subject, "gpu")) {
        return HZ_ON_GPU;
    }
    if (!strcmp(subject, "ckpt")) {
        return HZ_ON_CKPT;
    }
    if (!strncmp(subject, "nic/", 4) && is_nic_index(subject + 4)) {
        return HZ_ON_NIC;
    }
    if (!strncmp(subject, "job/", 4) && subject[4]) {
        return HZ_ON_JOB;
    }
    return 0;
}

unsigned hz_subject_kind(const uint8_t key[VIRTIO_HZ_KEY_LEN])
{
    return hz_subject_ok(key) ? hz_subject_kind_str((const char *)key) : 0;
}

/* -- documents ---------------------------------------------------------- */

bool hz_doc_u64(const void *doc, size_t len, uint16_t id, uint64_t *out)
{
    const struct hz_field *f = hz_field_by_id(id);
    uint16_t value_len;
    const uint8_t *value = hz_doc_find(doc, len, id, &value_len);

    return f && value && !hz_value_get(f, value, value_len, out);
}

static struct hz_verdict judge_field(unsigned kind, uint16_t id,
                                     const uint8_t *value, uint16_t len)
{
    const struct hz_field *f = hz_field_by_id(id);
    struct hz_verdict v = { .field = id, .code = VIRTIO_HZ_VERDICT_REJECTED };

    if (!f) {
        v.code = VIRTIO_HZ_VERDICT_UNSUPPORTED;
        v.reason = VIRTIO_HZ_REASON_UNKNOWN_FIELD;
    } else if (f->source == HZ_BY_OPERATOR) {
        v.code = VIRTIO_HZ_VERDICT_UNSUPPORTED;
        v.reason = VIRTIO_HZ_REASON_SUBJECT;
    } else if (!(f->subjects & kind)) {
        v.reason = VIRTIO_HZ_REASON_SUBJECT;
    } else if (hz_value_check(f, value, len)) {
        v.reason = VIRTIO_HZ_REASON_BOUNDS;
    } else if (f->consumer == HZ_CONSUMER_NONE) {
        v.code = VIRTIO_HZ_VERDICT_RECORDED;
    } else {
        v.code = VIRTIO_HZ_VERDICT_PENDING;
    }
    return v;
}

static struct hz_verdict *verdict_of(struct hz_verdict *v, unsigned n, uint16_t id)
{
    for (unsigned i = 0; i < n; i++) {
        if (v[i].field == id) {
            return &v[i];
        }
    }
    return NULL;
}

/* A minimum above its maximum rejects both: which of them is wrong can't be known. */
static void judge_pairs(const void *doc, size_t len, struct hz_verdict *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct hz_field *f = hz_field_by_id(out[i].field);
        struct hz_verdict *other;
        uint64_t low, high;

        if (!f || !f->not_above || out[i].reason != VIRTIO_HZ_REASON_NONE) {
            continue;
        }
        other = verdict_of(out, n, f->not_above);
        if (!other || other->reason != VIRTIO_HZ_REASON_NONE ||
            !hz_doc_u64(doc, len, f->id, &low) ||
            !hz_doc_u64(doc, len, f->not_above, &high) || low <= high) {
            continue;
        }
        out[i].code = other->code = VIRTIO_HZ_VERDICT_REJECTED;
        out[i].reason = other->reason = VIRTIO_HZ_REASON_CONFLICT;
    }
}

unsigned hz_doc_judge(const uint8_t subject[VIRTIO_HZ_KEY_LEN],
                      const void *doc, size_t len,
                      struct hz_verdict out[VIRTIO_HZ_MAX_FIELDS])
{
    unsigned kind = hz_subject_kind(subject);
    const uint8_t *value;
    uint16_t id, value_len;
    size_t pos = 0;
    unsigned n = 0;

    while (n < VIRTIO_HZ_MAX_FIELDS && hz_doc_next(doc, len, &pos, &id, &value, &value_len)) {
        out[n++] = judge_field(kind, id, value, value_len);
    }
    judge_pairs(doc, len, out, n);
    return n;
}
