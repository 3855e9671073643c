/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz json: writes JSON to a stream, commas and escapes included. */
#ifndef HZ_JSON_H
#define HZ_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *f;
    bool more;                  /* something stands before: a comma is due */
};

/* @key is NULL inside arrays and at the top. */
void json_begin(struct json *j, const char *key, char bracket);
void json_end(struct json *j, char bracket);
void json_string(struct json *j, const char *key, const char *s);   /* NULL: null */
void json_u64(struct json *j, const char *key, uint64_t v);
void json_i64(struct json *j, const char *key, int64_t v);
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);
/* The top is complete: a newline, and out. False when it couldn't be written. */
bool json_line(struct json *j);

#endif /* HZ_JSON_H */
