/* SPDX-License-Identifier: MIT */
/*
 * hz units: quantities as a person types and reads them.
 *
 * A quantity is a decimal number times a suffix's ratio. Both are kept as
 * fractions of integers until the end, so that nothing is ever rounded: what
 * can't be told exactly in the field's own unit is refused.
 */
#include "units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* One suffix: so many of the unit's base (byte, byte/s, ns, ppm), as num/den. */
struct suffix {
    const char *text;
    uint64_t num, den;
};

#define K 1000ULL
#define M (1000 * K)
#define G (1000 * M)
#define T (1000 * G)
#define KI 1024ULL
#define MI (1024 * KI)
#define GI (1024 * MI)
#define TI (1024 * GI)

static const struct suffix bytes_suffixes[] = {
    { "", 1, 1 }, { "b", 1, 1 },
    { "k", K, 1 }, { "m", M, 1 }, { "g", G, 1 }, { "t", T, 1 },
    { "kb", K, 1 }, { "mb", M, 1 }, { "gb", G, 1 }, { "tb", T, 1 },
    { "ki", KI, 1 }, { "mi", MI, 1 }, { "gi", GI, 1 }, { "ti", TI, 1 },
    { "kib", KI, 1 }, { "mib", MI, 1 }, { "gib", GI, 1 }, { "tib", TI, 1 },
    { NULL, 0, 0 },
};

/* No "200M" here: half of those who type it mean bits, the other half bytes. */
static const struct suffix rate_suffixes[] = {
    { "", 1, 1 },
    { "bit", 1, 8 },
    { "kbit", K, 8 }, { "mbit", M, 8 }, { "gbit", G, 8 }, { "tbit", T, 8 },
    { "kibit", KI, 8 }, { "mibit", MI, 8 }, { "gibit", GI, 8 }, { "tibit", TI, 8 },
    { "bit/s", 1, 8 },
    { "kbit/s", K, 8 }, { "mbit/s", M, 8 }, { "gbit/s", G, 8 }, { "tbit/s", T, 8 },
    { "b/s", 1, 1 },
    { "kb/s", K, 1 }, { "mb/s", M, 1 }, { "gb/s", G, 1 }, { "tb/s", T, 1 },
    { "kib/s", KI, 1 }, { "mib/s", MI, 1 }, { "gib/s", GI, 1 }, { "tib/s", TI, 1 },
    { NULL, 0, 0 },
};

static const struct suffix time_suffixes[] = {
    { "ns", 1, 1 }, { "us", K, 1 }, { "\xc2\xb5s", K, 1 }, { "ms", M, 1 }, { "s", G, 1 },
    { "m", 60 * G, 1 }, { "min", 60 * G, 1 }, { "h", 3600 * G, 1 }, { "d", 86400 * G, 1 },
    { NULL, 0, 0 },
};

static const struct suffix share_suffixes[] = {
    { "ppm", 1, 1 }, { "permille", K, 1 }, { "%", 10 * K, 1 },
    { NULL, 0, 0 },
};

static const struct suffix none_suffixes[] = {
    { "", 1, 1 },
    { NULL, 0, 0 },
};

/* How many of its suffixes' base one of a unit is: what a bare number is in. */
static const struct {
    const char *name;
    const struct suffix *suffixes;
    uint64_t base;
} units[] = {
    [HZ_UNIT_NONE] = { "", none_suffixes, 1 },
    [HZ_UNIT_BYTES] = { "bytes", bytes_suffixes, 1 },
    [HZ_UNIT_RATE] = { "bytes/s", rate_suffixes, 1 },
    [HZ_UNIT_NS] = { "ns", time_suffixes, 1 },
    [HZ_UNIT_US] = { "us", time_suffixes, K },
    [HZ_UNIT_MS] = { "ms", time_suffixes, M },
    [HZ_UNIT_PERMILLE] = { "permille", share_suffixes, K },
    [HZ_UNIT_PPM] = { "ppm", share_suffixes, 1 },
};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

const char *hz_unit_name(enum hz_unit unit)
{
    return (size_t)unit < N_UNITS ? units[unit].name : "?";
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ASCII only: tolower() asks the locale. */
static bool same_word(const char *a, const char *b)
{
    for (;; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a - 'A' + 'a') : *a;

        if (x != *b) {
            return false;
        }
        if (!x) {
            return true;
        }
    }
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

/* "1.5" is 15 and 10. Moves *@text past it; -EINVAL, -EDOM, -ERANGE. */
static int parse_decimal(const char **text, uint64_t *mantissa, uint64_t *scale)
{
    const char *p = *text;
    const char *end = NULL;
    bool fraction = false;

    if (!is_digit(*p)) {
        return -EINVAL;
    }
    *mantissa = 0;
    *scale = 1;
    for (; is_digit(*p) || (*p == '.' && !fraction); p++) {
        if (*p == '.') {
            if (!is_digit(p[1])) {
                return -EINVAL;
            }
            fraction = true;
            /* Zeros at the end of a fraction say nothing and cost digits. */
            for (end = p + 1; is_digit(*end); end++) {
            }
            while (end[-1] == '0') {
                end--;
            }
            continue;
        }
        if (fraction && p >= end) {
            continue;
        }
        if (__builtin_mul_overflow(*mantissa, 10, mantissa) ||
            __builtin_add_overflow(*mantissa, (uint64_t)(*p - '0'), mantissa) ||
            (fraction && __builtin_mul_overflow(*scale, 10, scale))) {
            return fraction ? -EDOM : -ERANGE;      /* finer than any unit, or larger */
        }
    }
    *text = p;
    return 0;
}

/* mantissa/scale x num/den as a whole number. */
static int exact(uint64_t mantissa, uint64_t scale, uint64_t num, uint64_t den, uint64_t *value)
{
    uint64_t *top[] = { &mantissa, &num };
    uint64_t *bottom[] = { &scale, &den };

    for (int i = 0; i < 4; i++) {
        uint64_t g = gcd(*top[i / 2], *bottom[i % 2]);

        *top[i / 2] /= g;
        *bottom[i % 2] /= g;
    }
    if (scale != 1 || den != 1) {
        return -EDOM;
    }
    return __builtin_mul_overflow(mantissa, num, value) ? -ERANGE : 0;
}

int hz_unit_parse(enum hz_unit unit, const char *text, uint64_t *value)
{
    const struct suffix *s;
    uint64_t mantissa, scale;
    int ret;

    if ((size_t)unit >= N_UNITS) {
        return -EINVAL;
    }
    ret = parse_decimal(&text, &mantissa, &scale);
    if (ret) {
        return ret;
    }
    if (*text == ' ') {
        text++;
        if (!*text) {
            return -EINVAL;
        }
    }
    if (!*text) {
        return exact(mantissa, scale, 1, 1, value);
    }
    for (s = units[unit].suffixes; s->text; s++) {
        if (*s->text && same_word(text, s->text)) {
            uint64_t g = gcd(s->num, units[unit].base);

            return exact(mantissa, scale, s->num / g, s->den * (units[unit].base / g), value);
        }
    }
    return -EINVAL;
}

bool hz_unit_bare(const char *text)
{
    return *text && !text[strspn(text, "0123456789.")] && strpbrk(text, "123456789");
}

/* -- and back ----------------------------------------------------------- */

struct prefix {
    const char *text;
    uint64_t size;
};

/* In the largest prefix that tells @value with at most three decimals; sizes are thousands apart. */
static int format_decimal(const struct prefix *p, uint64_t value, char *buf, size_t cap)
{
    for (; p->size > 1; p++) {
        uint64_t thousandth = p->size / 1000;
        uint64_t fraction = value % p->size;
        int digits = 3;

        if (value < p->size || fraction % thousandth) {
            continue;
        }
        fraction /= thousandth;
        if (!fraction) {
            break;
        }
        for (; fraction % 10 == 0; fraction /= 10) {
            digits--;
        }
        return snprintf(buf, cap, "%llu.%0*llu%s", (unsigned long long)(value / p->size),
                        digits, (unsigned long long)fraction, p->text);
    }
    return snprintf(buf, cap, "%llu%s", (unsigned long long)(value / p->size), p->text);
}

/* The largest prefix that leaves a whole number. */
static const struct prefix *whole(const struct prefix *p, uint64_t value)
{
    while (p->size > 1 && (value < p->size || value % p->size)) {
        p++;
    }
    return p;
}

static int format_bytes(uint64_t value, char *buf, size_t cap)
{
    static const struct prefix decimal[] = {
        { "TB", T }, { "GB", G }, { "MB", M }, { "kB", K }, { "B", 1 },
    };
    static const struct prefix binary[] = {
        { "TiB", TI }, { "GiB", GI }, { "MiB", MI }, { "KiB", KI }, { "B", 1 },
    };
    const struct prefix *d = whole(decimal, value);
    const struct prefix *b = whole(binary, value);
    /* 65536 is 64 KiB, but 128000 is 128 kB rather than 125 KiB. */
    const struct prefix *p = value / d->size < 1000 || d->size >= b->size ? d : b;

    return snprintf(buf, cap, "%llu%s", (unsigned long long)(value / p->size), p->text);
}

static int format_rate(uint64_t value, char *buf, size_t cap)
{
    static const struct prefix bits[] = {
        { "Tbit", T }, { "Gbit", G }, { "Mbit", M }, { "kbit", K }, { "bit", 1 },
    };

    if (value > UINT64_MAX / 8) {
        return snprintf(buf, cap, "%lluB/s", (unsigned long long)value);
    }
    return format_decimal(bits, value * 8, buf, cap);
}

/* @base: ns in one of @value. Minutes and hours only when whole: 90s, not 1.5m. */
static int format_time(uint64_t base, uint64_t value, char *buf, size_t cap)
{
    static const struct prefix small[] = {
        { "s", G }, { "ms", M }, { "us", K }, { "ns", 1 },
    };
    uint64_t ns, s;

    if (__builtin_mul_overflow(value, base, &ns)) {
        return snprintf(buf, cap, "%llu%s", (unsigned long long)value,
                        base == M ? "ms" : "us");
    }
    if (!ns) {
        return snprintf(buf, cap, "0s");
    }
    s = ns / G;
    if (ns % G == 0 && s % 3600 == 0) {
        return snprintf(buf, cap, "%lluh", (unsigned long long)(s / 3600));
    }
    if (ns % G == 0 && s % 60 == 0 && s > 60) {
        return snprintf(buf, cap, "%llum", (unsigned long long)(s / 60));
    }
    return format_decimal(small, ns, buf, cap);
}

static int format_share(uint64_t per_percent, const char *suffix, uint64_t value,
                        char *buf, size_t cap)
{
    const struct prefix percent[] = { { "%", 1000 }, { "%", 1 } };
    uint64_t thousandths;

    /* Thousandths of a percent, unless that is finer than three decimals tell. */
    if (__builtin_mul_overflow(value, 1000, &thousandths) || (thousandths % per_percent)) {
        return snprintf(buf, cap, "%llu%s", (unsigned long long)value, suffix);
    }
    thousandths /= per_percent;
    if (thousandths && thousandths < 1000) {
        return snprintf(buf, cap, "%llu%s", (unsigned long long)value, suffix);
    }
    return format_decimal(percent, thousandths, buf, cap);
}

int hz_unit_format(enum hz_unit unit, uint64_t value, char *buf, size_t cap)
{
    switch (unit) {
    case HZ_UNIT_BYTES:
        return format_bytes(value, buf, cap);
    case HZ_UNIT_RATE:
        return format_rate(value, buf, cap);
    case HZ_UNIT_NS:
    case HZ_UNIT_US:
    case HZ_UNIT_MS:
        return format_time(units[unit].base, value, buf, cap);
    case HZ_UNIT_PERMILLE:
        return format_share(10, "permille", value, buf, cap);
    case HZ_UNIT_PPM:
        return format_share(10 * K, "ppm", value, buf, cap);
    case HZ_UNIT_NONE:
        break;
    }
    return snprintf(buf, cap, "%llu", (unsigned long long)value);
}
