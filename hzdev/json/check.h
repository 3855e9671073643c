/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz json check: is this text one JSON object, strictly, and bounded?
 *
 * Runs before json-glib sees the text. json-glib recurses once a level of
 * nesting and takes comments and JavaScript assignments; a peer must be able
 * to use neither. No recursion, no allocation.
 */
#ifndef HZ_JSON_CHECK_H
#define HZ_JSON_CHECK_H

#include <stddef.h>

/*
 * NULL when @len bytes at @text are one JSON object nested at most @depth
 * (<= 32) deep; else what is wrong, and *@at where.
 */
const char *hz_json_check(const char *text, size_t len, unsigned depth, size_t *at);

#endif /* HZ_JSON_CHECK_H */
