/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz json check: a strict, iterative scanner for one JSON object (RFC 8259).
 *
 * A level of nesting is one bit of a word (object or array); what may come
 * next is one enumeration. On top of the RFC it refuses what json-glib
 * can't carry unharmed: NUL in a string, half a surrogate pair, integers
 * beyond 64 bits and numbers that aren't finite.
 */
#include "json/check.h"

#include <glib.h>
#include <math.h>
#include <string.h>

enum expect {
    EXPECT_VALUE,           /* after ':' or ',' in an array */
    EXPECT_VALUE_OR_END,    /* after '[' */
    EXPECT_NAME,            /* after ',' in an object */
    EXPECT_NAME_OR_END,     /* after '{' */
    EXPECT_COLON,
    EXPECT_NEXT,            /* ',' or the end of this level */
};

struct scan {
    const char *p, *end;
    enum expect expect;
    unsigned depth, max;
    guint32 objects;        /* bit n: level n is an object */
};

static gboolean in_object(const struct scan *s)
{
    return s->objects >> (s->depth - 1) & 1;
}

static int hex4(const char *p, const char *end)
{
    int value = 0;

    if (end - p < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        int digit = g_ascii_xdigit_value(p[i]);

        if (digit < 0) {
            return -1;
        }
        value = value << 4 | digit;
    }
    return value;
}

/* After "\u": one code point, as one unit or as a pair of surrogates. */
static const char *scan_unicode(struct scan *s)
{
    int unit = hex4(s->p, s->end);

    if (unit < 0) {
        return "\\u without four hexadecimal digits";
    }
    if (unit == 0) {
        return "\\u0000 in a string";
    }
    s->p += 4;
    if (unit >= 0xdc00 && unit <= 0xdfff) {
        return "half a surrogate pair";
    }
    if (unit >= 0xd800 && unit <= 0xdbff) {
        int low = s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u'
                  ? hex4(s->p + 2, s->end) : -1;

        if (low < 0xdc00 || low > 0xdfff) {
            return "half a surrogate pair";
        }
        s->p += 6;
    }
    return NULL;
}

static const char *scan_string(struct scan *s)
{
    for (s->p++; s->p < s->end; ) {
        unsigned char c = (unsigned char)*s->p++;

        if (c == '"') {
            return NULL;
        }
        if (c < 0x20) {
            return "a control character in a string";
        }
        if (c != '\\') {
            continue;
        }
        if (s->p == s->end) {
            break;
        }
        c = (unsigned char)*s->p++;
        if (c == 'u') {
            const char *why = scan_unicode(s);

            if (why) {
                return why;
            }
        } else if (!c || !strchr("\"\\/bfnrt", c)) {
            return "an unknown escape in a string";
        }
    }
    return "a string that doesn't end";
}

static gboolean digits(struct scan *s)
{
    const char *start = s->p;

    while (s->p < s->end && g_ascii_isdigit(*s->p)) {
        s->p++;
    }
    return s->p > start;
}

/* The value of a number whose syntax is right: does a double, or 64 bits, hold it? */
static const char *number_fits(const char *text, size_t len, gboolean integer)
{
    char copy[352];

    if (len >= sizeof(copy)) {
        return "a number of more than 351 characters";
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (!integer) {
        return isfinite(g_ascii_strtod(copy, NULL)) ? NULL : "a number too large";
    }
    if (copy[0] == '-' ? !g_ascii_string_to_signed(copy, 10, G_MININT64, G_MAXINT64, NULL, NULL)
                       : !g_ascii_string_to_unsigned(copy, 10, 0, G_MAXUINT64, NULL, NULL)) {
        return "an integer beyond 64 bits";
    }
    return NULL;
}

static const char *scan_number(struct scan *s)
{
    const char *start = s->p;
    gboolean integer = TRUE;

    s->p += *s->p == '-';
    if (s->p < s->end && *s->p == '0') {
        s->p++;
    } else if (!digits(s)) {
        return "a number without digits";
    }
    if (s->p < s->end && *s->p == '.') {
        integer = FALSE;
        s->p++;
        if (!digits(s)) {
            return "a number without digits after its point";
        }
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        integer = FALSE;
        s->p++;
        s->p += s->p < s->end && (*s->p == '+' || *s->p == '-');
        if (!digits(s)) {
            return "a number without digits in its exponent";
        }
    }
    return number_fits(start, (size_t)(s->p - start), integer);
}

static const char *scan_word(struct scan *s)
{
    static const char *const words[] = { "true", "false", "null" };

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        size_t len = strlen(words[i]);

        if ((size_t)(s->end - s->p) >= len && !memcmp(s->p, words[i], len)) {
            s->p += len;
            return NULL;
        }
    }
    return "something that is no JSON value";
}

static const char *open_level(struct scan *s, gboolean object)
{
    if (s->depth == s->max) {
        return "nesting too deep";
    }
    s->objects = (s->objects & ~(1u << s->depth)) | (guint32)object << s->depth;
    s->depth++;
    s->p++;
    s->expect = object ? EXPECT_NAME_OR_END : EXPECT_VALUE_OR_END;
    return NULL;
}

static const char *close_level(struct scan *s, char c)
{
    gboolean empty_or_next = s->expect == EXPECT_NEXT || s->expect == EXPECT_NAME_OR_END
                             || s->expect == EXPECT_VALUE_OR_END;

    if (!empty_or_next || in_object(s) != (c == '}')) {
        return "a bracket that closes nothing";
    }
    s->depth--;
    s->p++;
    s->expect = EXPECT_NEXT;
    return NULL;
}

static const char *scan_value(struct scan *s)
{
    const char *why;

    if (s->expect != EXPECT_VALUE && s->expect != EXPECT_VALUE_OR_END) {
        return s->expect == EXPECT_NEXT ? "a value where ',' or an end is due"
                                        : "a value where a name is due";
    }
    switch (*s->p) {
    case '{':
        return open_level(s, TRUE);
    case '[':
        return open_level(s, FALSE);
    case '"':
        why = scan_string(s);
        break;
    case '-': case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9':
        why = scan_number(s);
        break;
    default:
        why = scan_word(s);
    }
    s->expect = EXPECT_NEXT;
    return why;
}

static const char *scan_token(struct scan *s)
{
    char c = *s->p;

    if (s->expect == EXPECT_COLON) {
        s->expect = EXPECT_VALUE;
        return *s->p++ == ':' ? NULL : "a name without ':'";
    }
    if (c == '}' || c == ']') {
        return close_level(s, c);
    }
    if (c == ',' && s->expect == EXPECT_NEXT) {
        s->expect = in_object(s) ? EXPECT_NAME : EXPECT_VALUE;
        s->p++;
        return NULL;
    }
    if (c == '"' && (s->expect == EXPECT_NAME || s->expect == EXPECT_NAME_OR_END)) {
        s->expect = EXPECT_COLON;
        return scan_string(s);
    }
    return scan_value(s);
}

static void skip_space(struct scan *s)
{
    while (s->p < s->end
           && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n')) {
        s->p++;
    }
}

const char *hz_json_check(const char *text, size_t len, unsigned depth, size_t *at)
{
    struct scan s = { .p = text, .end = text + len, .max = depth };
    const char *why = NULL;

    skip_space(&s);
    if (s.p == s.end) {
        why = "nothing";
    } else if (*s.p != '{') {
        why = "something that is no object";
    } else {
        why = open_level(&s, TRUE);
    }
    while (!why && s.depth) {
        skip_space(&s);
        why = s.p == s.end ? "an object that doesn't end" : scan_token(&s);
    }
    skip_space(&s);
    if (!why && s.p != s.end) {
        why = "something after the object";
    }
    *at = (size_t)(s.p - text);
    return why;
}
