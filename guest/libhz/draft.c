/* SPDX-License-Identifier: MIT */
/* libhz's drafts: a document being written, checked as it grows. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vocabulary.h"
#include "internal.h"

__attribute__((format(printf, 3, 4)))
static int fail(struct hz_draft *d, int error, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(d->error, sizeof(d->error), fmt, ap);
    va_end(ap);
    return error;
}

struct hz_draft *hz_draft_new(const char *subject)
{
    struct hz_draft *d = calloc(1, sizeof(*d));

    if (!d) {
        return NULL;
    }
    snprintf(d->subject, sizeof(d->subject), "%s", subject);
    if (!hz_subject_put(d->key, subject)) {
        d->bad_subject = true;
        fail(d, 0, "subject '%.64s': a name has 1 to %d of the characters a-z 0-9 . _ / -",
             subject, VIRTIO_HZ_KEY_LEN - 1);
    } else if (!hz_subject_kind(d->key)) {
        d->bad_subject = true;
        fail(d, 0, "subject '%s': there is vm, nic/N, gpu, ckpt and job/NAME", subject);
    }
    return d;
}

void hz_draft_free(struct hz_draft *d)
{
    free(d);
}

const char *hz_draft_subject(const struct hz_draft *d)
{
    return d->subject;
}

const char *hz_draft_error(const struct hz_draft *d)
{
    return d->error;
}

static const struct hz_field *find(struct hz_draft *d, const char *name)
{
    const struct hz_field *f = hz_field_by_name(name);
    const char *near;

    if (f && f->subjects & ~HZ_ON_NOTICE) {
        return f;
    }
    near = f ? NULL : hz_field_nearest(name);
    if (f) {
        fail(d, 0, "field '%s': stands in notices, it can't be declared", name);
    } else if (near) {
        fail(d, 0, "field '%.64s': there is none of that name; did you mean '%s'?", name, near);
    } else {
        fail(d, 0, "field '%.64s': there is none of that name", name);
    }
    return NULL;
}

static int put(struct hz_draft *d, uint16_t id, const char *name, const void *value, uint16_t len)
{
    if (hz_doc_set(d->doc, &d->len, sizeof(d->doc), id, value, len) < 0) {
        return fail(d, -EMSGSIZE,
                    "field '%s': no room: a declaration has at most %d fields and %d bytes",
                    name, VIRTIO_HZ_MAX_FIELDS, VIRTIO_HZ_MAX_DOC);
    }
    return 0;
}

/* The bounds of @f as a person would type them. */
static void bounds(const struct hz_field *f, char *buf, size_t cap)
{
    char min[64], max[64];

    if (hz_unit_format(f->unit, f->min, min, sizeof(min)) < 0 ||
        hz_unit_format(f->unit, f->max, max, sizeof(max)) < 0) {
        snprintf(buf, cap, "outside its bounds");
    } else {
        snprintf(buf, cap, "outside %s to %s", min, max);
    }
}

static void one_of(const struct hz_field *f, char *buf, size_t cap)
{
    size_t used = 0;
    int i;

    *buf = '\0';
    for (i = 0; f->names[i] && used < cap; i++) {
        used += (size_t)snprintf(buf + used, cap - used, "%s%s", i ? ", " : "", f->names[i]);
    }
}

/* What a value of this field looks like. */
static void expected(const struct hz_field *f, char *buf, size_t cap)
{
    static const char *const example[] = {
        [HZ_UNIT_NONE] = "a whole number",
        [HZ_UNIT_BYTES] = "an amount such as 64KiB or 1500",
        [HZ_UNIT_RATE] = "a rate such as 200Mbit or 25MB/s",
        [HZ_UNIT_NS] = "a time such as 250ms",
        [HZ_UNIT_US] = "a time such as 250us",
        [HZ_UNIT_MS] = "a time such as 250ms or 15m",
        [HZ_UNIT_PERMILLE] = "a share such as 25% or 250",
        [HZ_UNIT_PPM] = "a number of millionths",
    };

    if ((f->type == HZ_TYPE_ENUM || f->type == HZ_TYPE_MASK) && f->names) {
        int n = snprintf(buf, cap, f->type == HZ_TYPE_ENUM ? "one of " : "a list of ");

        one_of(f, buf + n, cap - (size_t)n);
        return;
    }
    if (f->type == HZ_TYPE_F64) {
        snprintf(buf, cap, "a number, finite and not negative");
    } else if (f->unit < sizeof(example) / sizeof(example[0]) && example[f->unit]) {
        snprintf(buf, cap, "%s", example[f->unit]);
    } else {
        snprintf(buf, cap, "another form");
    }
}

static int bad_value(struct hz_draft *d, const struct hz_field *f, const char *text, int error)
{
    char why[160];

    if (error == -ERANGE) {
        bounds(f, why, sizeof(why));
        return fail(d, error, "field '%s': '%.64s' is %s", f->name, text, why);
    }
    if (error == -EDOM) {
        return fail(d, error, "field '%s': '%.64s' can't be told exactly in whole %s",
                    f->name, text, *hz_unit_name(f->unit) ? hz_unit_name(f->unit) : "numbers");
    }
    expected(f, why, sizeof(why));
    return fail(d, -EINVAL, "field '%s': '%.64s' isn't %s", f->name, text, why);
}

/* The field to set, NULL when it can't be: the draft says why. */
static const struct hz_field *settable(struct hz_draft *d, const char *field)
{
    return d->bad_subject ? NULL : find(d, field);
}

/* What a person gave as @text has become @n bytes of @value, or the error @n. */
static int take(struct hz_draft *d, const struct hz_field *f, const char *text,
                const uint8_t *value, int n)
{
    return n < 0 ? bad_value(d, f, text, n) : put(d, f->id, f->name, value, (uint16_t)n);
}

int hz_draft_set(struct hz_draft *d, const char *field, const char *text)
{
    const struct hz_field *f = settable(d, field);
    uint8_t value[16];

    return f ? take(d, f, text, value, hz_value_parse(f, text, value)) : -EINVAL;
}

int hz_draft_set_number(struct hz_draft *d, const char *field, uint64_t number)
{
    const struct hz_field *f = settable(d, field);
    char text[32];
    uint8_t value[16];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    return f ? take(d, f, text, value, hz_value_put(f, number, value)) : -EINVAL;
}

int hz_draft_set_raw(struct hz_draft *d, uint16_t id, const void *value, uint16_t len)
{
    char name[16];

    if (d->bad_subject) {
        return -EINVAL;
    }
    snprintf(name, sizeof(name), "0x%04x", id);
    return put(d, id, name, value, len);
}

int hz_draft_unset(struct hz_draft *d, const char *field)
{
    const struct hz_field *f = find(d, field);

    if (!f) {
        return -EINVAL;
    }
    if (!hz_doc_unset(d->doc, &d->len, f->id)) {
        return fail(d, -ENOENT, "field '%s': isn't set", field);
    }
    return 0;
}

unsigned hz_draft_fields(const struct hz_draft *d)
{
    const uint8_t *value;
    uint16_t id, len;
    size_t pos = 0;
    unsigned n = 0;

    while (hz_doc_next(d->doc, d->len, &pos, &id, &value, &len)) {
        n++;
    }
    return n;
}

static int offence(struct hz_draft *d, const struct hz_verdict *v)
{
    const struct hz_field *f = hz_field_by_id(v->field);
    const uint8_t *value;
    char text[160] = "";
    uint16_t len;

    if (!f) {
        return 0;               /* forwarded: the provider's to judge */
    }
    value = hz_doc_find(d->doc, d->len, v->field, &len);
    if (value) {
        hz_value_format(f, value, len, text, sizeof(text));
    }
    switch (v->reason) {
    case VIRTIO_HZ_REASON_SUBJECT:
        return fail(d, -EINVAL, "field '%s': isn't one of subject '%s'", f->name, d->subject);
    case VIRTIO_HZ_REASON_CONFLICT:
        return fail(d, -EINVAL, "field '%s': '%s' contradicts another field of '%s' "
                    "(a minimum above its maximum)", f->name, text, d->subject);
    default:
        return fail(d, -EINVAL, "field '%s': '%s': %s", f->name, text,
                    hz_reason_text(v->reason));
    }
}

int hz_draft_check(struct hz_draft *d)
{
    struct hz_verdict v[VIRTIO_HZ_MAX_FIELDS];
    unsigned i, n;
    int r;

    if (d->bad_subject) {
        return -EINVAL;
    }
    n = hz_doc_judge(d->key, d->doc, d->len, v);
    for (i = 0; i < n; i++) {
        if (v[i].code == VIRTIO_HZ_VERDICT_REJECTED ||
            v[i].code == VIRTIO_HZ_VERDICT_UNSUPPORTED) {
            r = offence(d, &v[i]);
            if (r < 0) {
                return r;
            }
        }
    }
    return 0;
}

int hz_draft_merge(struct hz_draft *d, const struct hz_ev_declaration *from)
{
    uint16_t len;
    unsigned i;
    int r;

    for (i = 0; i < from->n; i++) {
        const struct hz_ev_field *f = &from->field[i];

        if (hz_doc_find(d->doc, d->len, f->id, &len)) {
            continue;
        }
        r = hz_draft_set_raw(d, f->id, f->value, f->len);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}
