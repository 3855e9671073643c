/* SPDX-License-Identifier: MIT */
/*
 * What a person types, "field=value", and what a guest sends as a document.
 * The first byte: which of the two, and for the second of which subject.
 */
#include "core/vocabulary.h"
#include "fuzz.h"

#include <errno.h>
#include <string.h>

/* What is told of a value reads back as the same value. */
static void told(const struct hz_field *f, const uint8_t *wire, int len)
{
    char text[1200];
    uint8_t again[16];
    int n;

    CHECK(!hz_value_check(f, wire, (uint16_t)len));
    n = hz_value_format(f, wire, (uint16_t)len, text, sizeof(text));
    CHECK(n >= 0 && (size_t)n == strlen(text));
    if (len > 0 && len <= 16) {
        CHECK(hz_value_parse(f, text, again) == len && !memcmp(again, wire, (size_t)len));
    }
}

static void typed(char *text)
{
    char *value = strchr(text, '=');
    const struct hz_field *f;
    uint8_t wire[16];
    uint64_t v;
    int len;

    hz_subject_kind_str(text);
    hz_kind_by_name(text);
    for (int unit = HZ_UNIT_NONE; unit <= HZ_UNIT_PPM; unit++) {
        hz_unit_parse((enum hz_unit)unit, text, &v);
    }
    if (!value) {
        hz_field_nearest(text);
        return;
    }
    *value++ = '\0';
    f = hz_field_by_name(text);
    if (!f) {
        const char *near = hz_field_nearest(text);

        CHECK(!near || hz_field_by_name(near));
        return;
    }
    len = hz_value_parse(f, value, wire);
    if (len >= 0) {
        told(f, wire, len);
    } else {
        CHECK(len == -EINVAL || len == -ERANGE);
    }
}

static void sent(uint8_t subject, const uint8_t *doc, size_t len)
{
    static const char *const subjects[] = { "vm", "nic/0", "gpu", "ckpt", "job/a", "disk/0" };
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    struct hz_verdict v[VIRTIO_HZ_MAX_FIELDS];
    const uint8_t *value;
    uint16_t id, value_len;
    size_t pos = 0;
    unsigned n, i = 0;

    if (hz_doc_check(doc, len, VIRTIO_HZ_MAX_DOC)) {
        return;
    }
    CHECK(hz_subject_put(key, subjects[subject % 6]));
    n = hz_doc_judge(key, doc, len, v);
    while (hz_doc_next(doc, len, &pos, &id, &value, &value_len)) {
        const struct hz_field *f = hz_field_by_id(id);

        CHECK(i < n && v[i].field == id && v[i].code <= VIRTIO_HZ_VERDICT_MAX &&
              v[i].code != VIRTIO_HZ_VERDICT_ACCEPTED);
        if (f && !hz_value_check(f, value, value_len)) {
            told(f, value, value_len);
        } else {
            CHECK(v[i].code == VIRTIO_HZ_VERDICT_REJECTED ||
                  v[i].code == VIRTIO_HZ_VERDICT_UNSUPPORTED);
        }
        i++;
    }
    CHECK(i == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;
    uint8_t *doc;

    if (size < 1) {
        return 0;
    }
    if (data[0] & 1) {
        doc = tight_copy(data + 1, size - 1);
        sent(data[0] >> 1, doc, size - 1);
        free(doc);
        return 0;
    }
    text = malloc(size);
    CHECK(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    typed(text);
    free(text);
    return 0;
}
