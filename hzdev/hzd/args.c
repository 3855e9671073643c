/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd args: checking and reading.
 */
#include "args.h"
#include "core/units.h"
#include "core/vocabulary.h"
#include "hzd.h"

#include <string.h>

#define TEXT_MAX 255
#define NAMES_MAX 4096

static const struct {
    const char *name, *expected;
} types[] = {
    [HZ_ARG_TEXT] = { "text", "a text of 1 to 255 bytes without control characters" },
    [HZ_ARG_BOOL] = { "bool", "true or false" },
    [HZ_ARG_NUMBER] = { "number", "a whole number" },
    [HZ_ARG_TIME] = { "time", "a length of time with its unit such as \"90s\", or (not as a "
                      "text) a number of nanoseconds, up to 366 days" },
    [HZ_ARG_WHEN] = { "when", "a point in time: ISO 8601, microseconds since 1970, or how long ago "
                      "such as \"-5m\"" },
    [HZ_ARG_NAMES] = { "names", "a list of texts, at most 4096" },
    [HZ_ARG_OBJECT] = { "object", "an object" },
    [HZ_ARG_ANY] = { "any", "anything" },
};

const char *hz_arg_type_name(HzArgType type)
{
    return types[type].name;
}

/* -- one value ----------------------------------------------------------- */

static const char *text_of(JsonNode *n)
{
    return n && json_node_get_value_type(n) == G_TYPE_STRING ? json_node_get_string(n) : NULL;
}

static gboolean int_of(JsonNode *n, gint64 *v)
{
    if (!n || json_node_get_value_type(n) != G_TYPE_INT64) {
        return FALSE;
    }
    *v = json_node_get_int(n);
    return TRUE;
}

static gboolean plain_text(const char *s)
{
    if (!s || !*s || strlen(s) > TEXT_MAX) {
        return FALSE;
    }
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean read_number(JsonNode *n, gint64 max, gint64 *v)
{
    const char *text = text_of(n);

    return (int_of(n, v) || (text && g_ascii_string_to_signed(text, 10, 0, max, v, NULL)))
           && *v >= 0 && *v <= max;
}

static gboolean read_time(JsonNode *n, uint64_t *ns)
{
    const char *text = text_of(n);
    gint64 v;

    if (int_of(n, &v)) {
        *ns = (uint64_t)v;
        return v >= 0 && *ns <= HZ_ARG_TIME_MAX;
    }
    return text && !hz_unit_bare(text) && !hz_unit_parse(HZ_UNIT_NS, text, ns)
           && *ns <= HZ_ARG_TIME_MAX;
}

static gboolean read_when(JsonNode *n, gint64 *us)
{
    const char *text = text_of(n);
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) t = NULL;
    uint64_t ago;

    if (int_of(n, us)) {
        return *us >= 0;
    }
    if (!text) {
        return FALSE;
    }
    if (*text == '-' && !hz_unit_bare(text + 1) && !hz_unit_parse(HZ_UNIT_NS, text + 1, &ago)
        && ago <= HZ_ARG_TIME_MAX) {
        *us = g_get_real_time() - (gint64)(ago / 1000);
        return TRUE;
    }
    t = g_date_time_new_from_iso8601(text, utc);
    if (!t) {
        return FALSE;
    }
    *us = g_date_time_to_unix(t) * G_USEC_PER_SEC + g_date_time_get_microsecond(t);
    return *us >= 0;
}

static char **read_names(JsonNode *n)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    JsonArray *a = n && JSON_NODE_HOLDS_ARRAY(n) ? json_node_get_array(n) : NULL;
    g_auto(GStrv) split = text_of(n) ? g_strsplit(text_of(n), ",", NAMES_MAX + 1) : NULL;
    guint count = a ? json_array_get_length(a) : split ? g_strv_length(split) : 0;

    for (guint i = 0; i < count && count <= NAMES_MAX; i++) {
        const char *name = a ? text_of(json_array_get_element(a, i)) : split[i];

        if (!plain_text(name)) {
            return NULL;
        }
        g_ptr_array_add(names, g_strdup(name));
    }
    if (!names->len) {
        return NULL;
    }
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

static gboolean value_ok(const HzArg *arg, JsonNode *n)
{
    g_auto(GStrv) names = NULL;
    uint64_t ns;
    gint64 v;

    switch (arg->type) {
    case HZ_ARG_TEXT:
        return plain_text(text_of(n));
    case HZ_ARG_BOOL:
        return json_node_get_value_type(n) == G_TYPE_BOOLEAN;
    case HZ_ARG_NUMBER:
        return read_number(n, arg->max, &v);
    case HZ_ARG_TIME:
        return read_time(n, &ns);
    case HZ_ARG_WHEN:
        return read_when(n, &v);
    case HZ_ARG_NAMES:
        names = read_names(n);
        return names != NULL;
    case HZ_ARG_OBJECT:
        return JSON_NODE_HOLDS_OBJECT(n);
    case HZ_ARG_ANY:
        return TRUE;
    }
    return FALSE;
}

/* -- all of them --------------------------------------------------------- */

static const HzArg *find(const HzArg *args, guint n, const char *name)
{
    for (guint i = 0; i < n; i++) {
        if (!strcmp(args[i].name, name)) {
            return &args[i];
        }
    }
    return NULL;
}

static gboolean unknown(const HzArg *args, guint n, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *all = NULL;
    const char *near;

    for (guint i = 0; i < n; i++) {
        g_ptr_array_add(names, (gpointer)args[i].name);
    }
    g_ptr_array_add(names, NULL);
    near = hz_nearest(name, (const char *const *)names->pdata);
    all = g_strjoinv(", ", (char **)names->pdata);
    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "unknown argument '%.64s'%s%s%s", name,
                near ? "; did you mean '" : n ? "; there are: " : "; there are none",
                near ? near : all, near ? "'?" : "");
    return FALSE;
}

static gboolean wrong_value(const HzArg *arg, JsonNode *n, GError **error)
{
    g_autofree char *value = json_to_string(n, FALSE);
    g_autofree char *limit = arg->type == HZ_ARG_NUMBER
                             ? g_strdup_printf(", 0 to %" G_GINT64_FORMAT, arg->max)
                             : g_strdup("");

    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                "argument '%s' is %.80s%s: it must be %s%s", arg->name, value,
                strlen(value) > 80 ? "…" : "", types[arg->type].expected, limit);
    return FALSE;
}

gboolean hz_args_check(const HzArg *args, guint n, JsonObject *given, GError **error)
{
    g_autoptr(GList) names = given ? json_object_get_members(given) : NULL;

    for (GList *i = names; i; i = i->next) {
        const HzArg *arg = find(args, n, i->data);
        JsonNode *value = json_object_get_member(given, i->data);

        if (!arg) {
            return unknown(args, n, i->data, error);
        }
        if (!value_ok(arg, value)) {
            return wrong_value(arg, value, error);
        }
    }
    for (guint i = 0; i < n; i++) {
        if (args[i].required && !hz_arg_has(given, args[i].name)) {
            g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "argument '%s' is missing: %s",
                        args[i].name, args[i].help);
            return FALSE;
        }
    }
    return TRUE;
}

/* -- reading ------------------------------------------------------------- */

static JsonNode *member(JsonObject *given, const char *name)
{
    return given ? json_object_get_member(given, name) : NULL;
}

gboolean hz_arg_has(JsonObject *given, const char *name)
{
    return member(given, name) != NULL;
}

const char *hz_arg_text(JsonObject *given, const char *name)
{
    return text_of(member(given, name));
}

gboolean hz_arg_bool(JsonObject *given, const char *name)
{
    JsonNode *n = member(given, name);

    return n && json_node_get_boolean(n);
}

gint64 hz_arg_number(JsonObject *given, const char *name, gint64 otherwise)
{
    gint64 v;

    return read_number(member(given, name), G_MAXINT64, &v) ? v : otherwise;
}

uint64_t hz_arg_time(JsonObject *given, const char *name)
{
    uint64_t ns;

    return read_time(member(given, name), &ns) ? ns : 0;
}

gint64 hz_arg_when(JsonObject *given, const char *name, gint64 otherwise)
{
    gint64 us;

    return read_when(member(given, name), &us) ? us : otherwise;
}

char **hz_arg_names(JsonObject *given, const char *name)
{
    return read_names(member(given, name));
}
