/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz json: writes JSON to a stream, commas and escapes included. */
#include <inttypes.h>

#include "json.h"

static void quote(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\') {
            fprintf(f, "\\%c", c);
        } else if (c < 0x20 || c == 0x7f) {
            fprintf(f, "\\u%04x", c);
        } else {
            putc(c, f);
        }
    }
    putc('"', f);
}

static void lead(struct json *j, const char *key)
{
    if (j->more) {
        putc(',', j->f);
    }
    j->more = true;
    if (key) {
        quote(j->f, key);
        putc(':', j->f);
    }
}

void json_begin(struct json *j, const char *key, char bracket)
{
    lead(j, key);
    putc(bracket, j->f);
    j->more = false;
}

void json_end(struct json *j, char bracket)
{
    putc(bracket, j->f);
    j->more = true;
}

void json_string(struct json *j, const char *key, const char *s)
{
    if (!s) {
        json_null(j, key);
        return;
    }
    lead(j, key);
    quote(j->f, s);
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
    lead(j, key);
    fprintf(j->f, "%" PRIu64, v);
}

void json_i64(struct json *j, const char *key, int64_t v)
{
    lead(j, key);
    fprintf(j->f, "%" PRId64, v);
}

void json_bool(struct json *j, const char *key, bool v)
{
    lead(j, key);
    fputs(v ? "true" : "false", j->f);
}

void json_null(struct json *j, const char *key)
{
    lead(j, key);
    fputs("null", j->f);
}

bool json_line(struct json *j)
{
    putc('\n', j->f);
    j->more = false;
    return fflush(j->f) == 0;
}
