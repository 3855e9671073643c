/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz json frame: counts brackets outside strings. Whether it is JSON is check.c's affair.
 */
#include "json/frame.h"

static bool space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void in_string(struct hz_json_frame *f, char c)
{
    if (f->escape) {
        f->escape = false;
    } else if (c == '\\') {
        f->escape = true;
    } else if (c == '"') {
        f->string = false;
    }
}

enum hz_json_framed hz_json_frame(struct hz_json_frame *f, const char *buf, size_t len)
{
    for (; f->scanned < len; f->scanned++) {
        char c = buf[f->scanned];

        if (f->string) {
            in_string(f, c);
        } else if (c == '{' || (c == '[' && f->depth)) {
            f->depth++;
        } else if (!f->depth && !space(c)) {
            return HZ_JSON_FRAMED_GARBAGE;
        } else if (c == '"') {
            f->string = true;
        } else if ((c == '}' || c == ']') && --f->depth == 0) {
            f->scanned++;
            return HZ_JSON_FRAMED_WHOLE;
        }
    }
    return f->depth ? HZ_JSON_FRAMED_PART : HZ_JSON_FRAMED_NOTHING;
}
