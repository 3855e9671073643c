/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz json frame: where does the first object in a stream of bytes end?
 *
 * Keeps its place between calls, so that a slow peer's object is scanned once.
 */
#ifndef HZ_JSON_FRAME_H
#define HZ_JSON_FRAME_H

#include <stdbool.h>
#include <stddef.h>

struct hz_json_frame {      /* zero: at the start of an object, or of the space before it */
    size_t scanned;
    size_t depth;
    bool string, escape;
};

enum hz_json_framed {
    HZ_JSON_FRAMED_NOTHING, /* only space so far: it may be dropped */
    HZ_JSON_FRAMED_PART,    /* the object goes on beyond @len */
    HZ_JSON_FRAMED_WHOLE,   /* @f->scanned bytes are one object; zero @f for the next */
    HZ_JSON_FRAMED_GARBAGE, /* what stands at @f->scanned doesn't start an object */
};

/* @buf is the same stream as before, now @len bytes of it. */
enum hz_json_framed hz_json_frame(struct hz_json_frame *f, const char *buf, size_t len);

#endif /* HZ_JSON_FRAME_H */
