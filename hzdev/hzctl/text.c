/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl text: tables and quantities for people; answers read without fear.
 */
#include "app.h"
#include "core/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -- tables -------------------------------------------------------------- */

struct HzctlTable {
    guint columns;
    GPtrArray *rows;            /* char **, the heads first */
};

HzctlTable *hzctl_table_new(const char *const *heads)
{
    HzctlTable *t = g_new0(HzctlTable, 1);

    t->columns = g_strv_length((char **)heads);
    t->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    g_ptr_array_add(t->rows, g_strdupv((char **)heads));
    return t;
}

/* What comes from a guest may hold terminal escapes: only printable text goes out. */
static char *printable(const char *s)
{
    GString *out = g_string_new(NULL);

    for (; s && *s; s = g_utf8_next_char(s)) {
        gunichar c = g_utf8_get_char(s);

        g_string_append_unichar(out, g_unichar_isprint(c) ? c : '?');
    }
    if (!out->len) {
        g_string_append_c(out, '-');
    }
    return g_string_free(out, FALSE);
}

void hzctl_table_row(HzctlTable *t, ...)
{
    char **row = g_new0(char *, t->columns + 1);
    const char *cell;
    va_list ap;

    va_start(ap, t);
    for (guint i = 0; i < t->columns && (cell = va_arg(ap, const char *)); i++) {
        row[i] = printable(cell);
    }
    va_end(ap);
    for (guint i = 0; i < t->columns; i++) {
        if (!row[i]) {
            row[i] = g_strdup("-");
        }
    }
    g_ptr_array_add(t->rows, row);
}

static glong column_width(const HzctlTable *t, guint column)
{
    glong width = 0;

    for (guint r = 0; r < t->rows->len; r++) {
        width = MAX(width, g_utf8_strlen(((char **)t->rows->pdata[r])[column], -1));
    }
    return width;
}

void hzctl_table_print(HzctlTable *t, const char *empty)
{
    if (t->rows->len == 1 && empty) {
        puts(empty);
    }
    for (guint r = 0; r < t->rows->len && t->rows->len > 1; r++) {
        char **row = t->rows->pdata[r];

        for (guint c = 0; c < t->columns; c++) {
            glong pad = column_width(t, c) - g_utf8_strlen(row[c], -1);

            fputs(row[c], stdout);
            if (c + 1 < t->columns) {
                printf("%*s", (int)pad + 2, "");
            }
        }
        putchar('\n');
    }
    g_ptr_array_unref(t->rows);
    g_free(t);
}

/* -- quantities ---------------------------------------------------------- */

/* Several in one printf: each call has its own of a few buffers. */
static char *buffer(void)
{
    static char buffers[8][64];
    static guint next;

    return buffers[next++ % G_N_ELEMENTS(buffers)];
}

const char *hzctl_rate(gint64 rate)
{
    char *b = buffer();

    if (rate < 0) {
        return "none";
    }
    hz_unit_format(HZ_UNIT_RATE, (uint64_t)rate, b, 64);
    return b;
}

const char *hzctl_clock(gint64 us)
{
    g_autoptr(GDateTime) t = g_date_time_new_from_unix_local(us / G_USEC_PER_SEC);
    g_autofree char *text = t ? g_date_time_format(t, "%F %T") : g_strdup("?");
    char *b = buffer();

    g_snprintf(b, 64, "%s.%03d", text, (int)(us % G_USEC_PER_SEC / 1000));
    return b;
}

const char *hzctl_ms(gint64 ms)
{
    char *b = buffer();
    const char *sign = ms < 0 ? "-" : "";
    gint64 v = ABS(ms);

    if (v < 1000) {
        g_snprintf(b, 64, "%s%" G_GINT64_FORMAT "ms", sign, v);
    } else if (v < 120000) {
        g_snprintf(b, 64, "%s%.1fs", sign, (double)v / 1000);
    } else {
        g_snprintf(b, 64, "%s%" G_GINT64_FORMAT "m%02ds", sign, v / 60000, (int)(v / 1000 % 60));
    }
    return b;
}

/* -- answers ------------------------------------------------------------- */

static JsonNode *member(JsonObject *o, const char *name)
{
    return o ? json_object_get_member(o, name) : NULL;
}

const char *hzctl_text(JsonObject *o, const char *name)
{
    JsonNode *n = member(o, name);

    return n && json_node_get_value_type(n) == G_TYPE_STRING ? json_node_get_string(n) : NULL;
}

const char *hzctl_word(JsonObject *o, const char *name)
{
    const char *text = hzctl_text(o, name);

    return text ? text : "-";
}

gint64 hzctl_int(JsonObject *o, const char *name, gint64 otherwise)
{
    JsonNode *n = member(o, name);

    return n && json_node_get_value_type(n) == G_TYPE_INT64 ? json_node_get_int(n) : otherwise;
}

gboolean hzctl_bool(JsonObject *o, const char *name)
{
    JsonNode *n = member(o, name);

    return n && json_node_get_value_type(n) == G_TYPE_BOOLEAN && json_node_get_boolean(n);
}

JsonObject *hzctl_object(JsonObject *o, const char *name)
{
    JsonNode *n = member(o, name);

    return n && JSON_NODE_HOLDS_OBJECT(n) ? json_node_get_object(n) : NULL;
}

JsonArray *hzctl_array(JsonObject *o, const char *name)
{
    JsonNode *n = member(o, name);

    return n && JSON_NODE_HOLDS_ARRAY(n) ? json_node_get_array(n) : NULL;
}

JsonObject *hzctl_at(JsonArray *a, guint i)
{
    JsonNode *n = a && i < json_array_get_length(a) ? json_array_get_element(a, i) : NULL;

    return n && JSON_NODE_HOLDS_OBJECT(n) ? json_node_get_object(n) : NULL;
}

guint hzctl_len(JsonArray *a)
{
    return a ? json_array_get_length(a) : 0;
}
