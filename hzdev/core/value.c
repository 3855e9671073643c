/* SPDX-License-Identifier: MIT */
/*
 * hz vocabulary: one field's value, between wire, number and text.
 */
#define _GNU_SOURCE             /* uselocale() */
#include "vocabulary.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_LEN 16

/* Bytes on the wire; 0: it varies. */
static uint16_t wire_length(enum hz_type type)
{
    switch (type) {
    case HZ_TYPE_U8:
    case HZ_TYPE_ENUM:
        return 1;
    case HZ_TYPE_U16:
        return 2;
    case HZ_TYPE_U32:
    case HZ_TYPE_MASK:
        return 4;
    case HZ_TYPE_U64:
    case HZ_TYPE_F64:
        return 8;
    case HZ_TYPE_ID:
        return ID_LEN;
    case HZ_TYPE_BYTES:
        break;
    }
    return 0;
}

static bool is_number(enum hz_type type)
{
    return type != HZ_TYPE_ID && type != HZ_TYPE_BYTES;
}

static double bits_to_double(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

/* Infinities and NaNs have every exponent bit set; -0 is as negative as any. */
static bool double_ok(const struct hz_field *f, uint64_t bits)
{
    bool finite = (bits >> 52 & 0x7ff) != 0x7ff;
    double d = bits_to_double(bits);

    return finite && !(bits >> 63) && (!f->max || (d >= (double)f->min && d <= (double)f->max));
}

/* Bits without a name in the table aren't allowed. */
static bool mask_ok(const struct hz_field *f, uint64_t v)
{
    for (unsigned bit = 0; f->names[bit]; bit++) {
        if (*f->names[bit]) {
            v &= ~(1ULL << bit);
        }
    }
    return !v;
}

static int check_number(const struct hz_field *f, uint64_t v)
{
    if (f->type == HZ_TYPE_F64) {
        return double_ok(f, v) ? 0 : -ERANGE;
    }
    if (v < f->min || v > f->max || (f->type == HZ_TYPE_MASK && !mask_ok(f, v))) {
        return -ERANGE;
    }
    return 0;
}

int hz_value_get(const struct hz_field *f, const uint8_t *value, uint16_t len, uint64_t *out)
{
    if (!is_number(f->type) || len != wire_length(f->type)) {
        return -EINVAL;
    }
    switch (len) {
    case 1:
        *out = value[0];
        break;
    case 2:
        *out = hz_get16(value);
        break;
    case 4:
        *out = hz_get32(value);
        break;
    default:
        *out = hz_get64(value);
        break;
    }
    return check_number(f, *out);
}

int hz_value_check(const struct hz_field *f, const uint8_t *value, uint16_t len)
{
    uint64_t v;

    switch (f->type) {
    case HZ_TYPE_ID:
        return len == ID_LEN ? 0 : -EINVAL;
    case HZ_TYPE_BYTES:
        return len >= f->min && len <= f->max ? 0 : -ERANGE;
    default:
        return hz_value_get(f, value, len, &v);
    }
}

int hz_value_put(const struct hz_field *f, uint64_t v, uint8_t out[16])
{
    if (!is_number(f->type)) {
        return -EINVAL;
    }
    if (check_number(f, v)) {
        return -ERANGE;
    }
    switch (wire_length(f->type)) {
    case 1:
        out[0] = (uint8_t)v;
        return 1;
    case 2:
        hz_put16(out, (uint16_t)v);
        return 2;
    case 4:
        hz_put32(out, (uint32_t)v);
        return 4;
    default:
        hz_put64(out, v);
        return 8;
    }
}

/* -- from text ---------------------------------------------------------- */

/* One of @names, from @text of @len characters; -EINVAL. */
static int name_index(const char *const *names, const char *text, size_t len)
{
    for (int i = 0; names[i]; i++) {
        if (len && strlen(names[i]) == len && !memcmp(names[i], text, len)) {
            return i;
        }
    }
    return -EINVAL;
}

static int parse_enum(const struct hz_field *f, const char *text, uint64_t *v)
{
    int i = name_index(f->names, text, strlen(text));

    if (i >= 0) {
        *v = (uint64_t)i;
        return 0;
    }
    return hz_unit_parse(HZ_UNIT_NONE, text, v);
}

static int parse_mask(const struct hz_field *f, const char *text, uint64_t *v)
{
    *v = 0;
    if (!strcmp(text, "none")) {
        return 0;
    }
    if (!strcmp(text, "all")) {
        for (unsigned bit = 0; f->names[bit]; bit++) {
            *v |= (uint64_t)!!*f->names[bit] << bit;
        }
        return 0;
    }
    for (;;) {
        size_t len = strcspn(text, ",");
        int bit = name_index(f->names, text, len);

        if (bit < 0) {
            return bit;
        }
        *v |= 1ULL << bit;
        if (!text[len]) {
            return 0;
        }
        text += len + 1;
    }
}

/* The C locale, whatever the program's: a decimal point is a point. */
static int parse_double(const char *text, uint64_t *bits)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t old;
    char *end;
    double d;

    if (!c) {
        return -ENOMEM;
    }
    old = uselocale(c);
    d = strtod(text, &end);
    uselocale(old);
    freelocale(c);
    /* No leading blanks, no hexadecimal, no "inf": digits only. */
    if (end == text || *end || strspn(text, "0123456789.eE+-") != strlen(text)) {
        return -EINVAL;
    }
    memcpy(bits, &d, sizeof(d));
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Bytes from hex digits; with @dashes, a uuid's dashes too. -EINVAL; -ERANGE for more than @cap. */
static int parse_hex(const char *text, bool dashes, uint8_t *out, size_t cap)
{
    size_t n = 0;
    const char *p = text;

    while (*p) {
        int high, low;

        if (dashes && *p == '-' && (n == 4 || n == 6 || n == 8 || n == 10) && p[-1] != '-') {
            p++;
            continue;
        }
        high = hex_digit(p[0]);
        low = high < 0 ? -1 : hex_digit(p[1]);
        if (low < 0) {
            return -EINVAL;
        }
        if (n == cap) {
            return -ERANGE;
        }
        out[n++] = (uint8_t)(high << 4 | low);
        p += 2;
    }
    return (int)n;
}

/*
 * FNV-1a, 128 bit, most significant byte first: two guests that type the same
 * name get the same id. It guards against accidents only, and need not do
 * more: an id means something inside one tenant.
 */
static void hash_id(const char *text, uint8_t out[ID_LEN])
{
    uint64_t high = 0x6c62272e07bb0142ULL, low = 0x62b821756295c58dULL;

    for (; *text; text++) {
        /* times 2^88 + 0x13b, mod 2^128 */
        uint64_t a, b;

        low ^= (uint8_t)*text;
        a = (low & 0xffffffff) * 0x13b;
        b = (low >> 32) * 0x13b + (a >> 32);
        high = high * 0x13b + (low << 24) + (b >> 32);
        low = b << 32 | (a & 0xffffffff);
    }
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(high >> (56 - 8 * i));
        out[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
}

static int parse_id(const char *text, uint8_t out[ID_LEN])
{
    size_t len = strlen(text);

    if (!len) {
        return -EINVAL;
    }
    if ((len != 32 && len != 36) || parse_hex(text, len == 36, out, ID_LEN) != ID_LEN) {
        hash_id(text, out);
    }
    return ID_LEN;
}

int hz_value_parse(const struct hz_field *f, const char *text, uint8_t out[16])
{
    uint64_t v = 0;
    int ret;

    switch (f->type) {
    case HZ_TYPE_ID:
        return parse_id(text, out);
    case HZ_TYPE_BYTES:
        ret = parse_hex(text, false, out, 16);
        return ret < 0 ? ret : (uint64_t)ret < f->min ? -ERANGE : ret;
    case HZ_TYPE_ENUM:
        ret = parse_enum(f, text, &v);
        break;
    case HZ_TYPE_MASK:
        ret = parse_mask(f, text, &v);
        break;
    case HZ_TYPE_F64:
        ret = parse_double(text, &v);
        break;
    default:
        ret = hz_unit_parse(f->unit, text, &v);
        break;
    }
    return ret ? ret : hz_value_put(f, v, out);
}

/* -- to text ------------------------------------------------------------ */

static int format_hex(const uint8_t *value, size_t len, bool dashes, char *buf, size_t cap)
{
    int n = 0;

    if (cap) {
        buf[0] = '\0';
    }
    for (size_t i = 0; i < len; i++) {
        const char *dash = dashes && (i == 4 || i == 6 || i == 8 || i == 10) ? "-" : "";
        size_t left = (size_t)n < cap ? cap - (size_t)n : 0;

        n += snprintf(left ? buf + n : NULL, left, "%s%02x", dash, value[i]);
    }
    return n;
}

static int format_mask(const struct hz_field *f, uint64_t v, char *buf, size_t cap)
{
    int n = 0;

    for (unsigned bit = 0; f->names[bit]; bit++) {
        size_t left = (size_t)n < cap ? cap - (size_t)n : 0;

        if (v >> bit & 1) {
            n += snprintf(left ? buf + n : NULL, left, "%s%s", n ? "," : "", f->names[bit]);
        }
    }
    return n ? n : snprintf(buf, cap, "none");
}

/* The shortest text that reads back as the same number, with a point in it whatever the locale. */
static int format_double(uint64_t bits, char *buf, size_t cap)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t old;
    double d = bits_to_double(bits);
    char text[40];

    if (!c) {
        return -ENOMEM;
    }
    old = uselocale(c);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, d);
        if (strtod(text, NULL) == d) {
            break;
        }
    }
    uselocale(old);
    freelocale(c);
    return snprintf(buf, cap, "%s", text);
}

int hz_value_format(const struct hz_field *f, const uint8_t *value, uint16_t len,
                    char *buf, size_t cap)
{
    uint64_t v;
    int ret = hz_value_check(f, value, len);

    if (ret) {
        return ret;
    }
    if (f->type == HZ_TYPE_ID || f->type == HZ_TYPE_BYTES) {
        return format_hex(value, len, f->type == HZ_TYPE_ID, buf, cap);
    }
    ret = hz_value_get(f, value, len, &v);
    if (ret) {
        return ret;
    }
    switch (f->type) {
    case HZ_TYPE_ENUM:
        return snprintf(buf, cap, "%s", f->names[v]);
    case HZ_TYPE_MASK:
        return format_mask(f, v, buf, cap);
    case HZ_TYPE_F64:
        return format_double(v, buf, cap);
    default:
        return hz_unit_format(f->unit, v, buf, cap);
    }
}
