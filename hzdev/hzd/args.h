/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd args: a command's arguments, described in a table and checked in one place.
 *
 * After hz_args_check() every argument that is there has its type and range,
 * so the readers below can't fail.
 */
#ifndef HZ_HZD_ARGS_H
#define HZ_HZD_ARGS_H

#include <json-glib/json-glib.h>
#include <stdint.h>

typedef enum {
    HZ_ARG_TEXT,        /* 1..255 bytes without control characters */
    HZ_ARG_BOOL,
    HZ_ARG_NUMBER,      /* 0..->max, a number or its digits */
    HZ_ARG_TIME,        /* a length of time, up to HZ_ARG_TIME_MAX: "90s", or a (JSON) number of ns */
    HZ_ARG_WHEN,        /* a point in time: ISO 8601, µs since 1970, or how long ago ("-5m") */
    HZ_ARG_NAMES,       /* a list of texts, or one text with commas */
    HZ_ARG_OBJECT,
    HZ_ARG_ANY,
} HzArgType;

#define HZ_ARG_TIME_MAX (UINT64_C(366) * 24 * 3600 * 1000000000u)

typedef struct {
    const char *name;
    HzArgType type;
    gboolean required;
    gint64 max;                 /* of a NUMBER */
    const char *help;
} HzArg;

/* @given may be NULL. The error names the argument, its value and what is right. */
gboolean hz_args_check(const HzArg *args, guint n, JsonObject *given, GError **error);
const char *hz_arg_type_name(HzArgType type);

gboolean hz_arg_has(JsonObject *given, const char *name);
const char *hz_arg_text(JsonObject *given, const char *name);               /* NULL: absent */
gboolean hz_arg_bool(JsonObject *given, const char *name);                  /* absent: FALSE */
gint64 hz_arg_number(JsonObject *given, const char *name, gint64 otherwise);
uint64_t hz_arg_time(JsonObject *given, const char *name);                  /* ns; absent: 0 */
gint64 hz_arg_when(JsonObject *given, const char *name, gint64 otherwise);  /* µs since 1970 */
char **hz_arg_names(JsonObject *given, const char *name);   /* g_strfreev(); NULL: absent */

#endif /* HZ_HZD_ARGS_H */
