/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd audit: reading, newest line first.
 *
 * The file may be large and hzd has one thread: it is mapped, walked back from
 * its end, and only lines that hold the name that is looked for are parsed.
 */
#define _GNU_SOURCE         /* memmem, memrchr */
#include "audit.h"
#include "json-util.h"
#include "json/channel.h"
#include "json/check.h"

#include <string.h>

typedef struct {
    GMappedFile *file;
    const char *start, *end;    /* what is still to be read */
} Reader;

static gboolean reader_open(Reader *r, HzHost *host, GError **error)
{
    g_autoptr(GError) why = NULL;
    gsize len;

    if (!host->audit) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_STATE, "there is no audit log");
        return FALSE;
    }
    r->file = g_mapped_file_new(hz_audit_path(host->audit), FALSE, &why);
    if (!r->file) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO, "audit log: %s", why->message);
        return FALSE;
    }
    len = g_mapped_file_get_length(r->file);
    r->end = len ? g_mapped_file_get_contents(r->file) + len : NULL;
    r->start = len ? r->end - MIN(len, (gsize)HZ_AUDIT_SCAN) : NULL;
    return TRUE;
}

/* The line before the last one given; NULL at the start. */
static const char *reader_previous(Reader *r, gsize *len)
{
    const char *newline;

    while (r->end > r->start && r->end[-1] == '\n') {
        r->end--;
    }
    if (r->end == r->start) {
        return NULL;
    }
    newline = memrchr(r->start, '\n', (size_t)(r->end - r->start));
    *len = (gsize)(r->end - (newline ? newline + 1 : r->start));
    r->end = newline ? newline + 1 : r->start;
    return r->end;
}

/* hzd's own lines may be longer than a peer's: a large world. */
static JsonObject *parse(const char *line, gsize len)
{
    g_autoptr(JsonParser) parser = NULL;
    size_t at;

    if (!g_utf8_validate_len(line, len, NULL)
        || hz_json_check(line, len, HZ_JSON_DEPTH_MAX, &at)) {
        return NULL;
    }
    parser = json_parser_new();
    if (!json_parser_load_from_data(parser, line, (gssize)len, NULL)) {
        return NULL;
    }
    return json_object_ref(json_node_get_object(json_parser_get_root(parser)));
}

/* Is it about @vm: by its own member, or by a line of its plan or one of its VMs? */
static gboolean about(JsonObject *o, const char *vm)
{
    static const char *const lists[] = { "plan", "notices", "vms" };

    if (!g_strcmp0(hz_json_text(o, "vm", NULL), vm)) {
        return TRUE;
    }
    for (guint k = 0; k < G_N_ELEMENTS(lists); k++) {
        JsonArray *a = hz_json_array(o, lists[k]);

        for (guint i = 0; a && i < json_array_get_length(a); i++) {
            JsonObject *line = hz_json_at(a, i);

            if (line && !g_strcmp0(hz_json_text(line, "vm", NULL), vm)) {
                return TRUE;
            }
        }
    }
    return FALSE;
}

typedef struct {
    const char *vm, *event;
    gint64 since_us, until_us;
    char *needle;               /* what a line about @vm must hold */
} Wanted;

static JsonObject *next_match(Reader *r, const Wanted *w)
{
    const char *line;
    gsize len;

    while ((line = reader_previous(r, &len))) {
        g_autoptr(JsonObject) o = NULL;
        gint64 us;

        if (w->needle && !memmem(line, len, w->needle, strlen(w->needle))) {
            continue;
        }
        o = parse(line, len);
        us = o ? hz_json_int(o, "us", 0) : 0;
        if (!o || us > w->until_us || us < w->since_us
            || (w->event && g_strcmp0(hz_json_text(o, "event", NULL), w->event))
            || (w->vm && !about(o, w->vm))) {
            continue;
        }
        return g_steal_pointer(&o);
    }
    return NULL;
}

JsonArray *hz_audit_query(HzHost *host, const char *vm, const char *event,
                          gint64 since_us, gint64 until_us, unsigned limit, GError **error)
{
    g_autofree char *needle = vm ? g_strdup_printf("\"%s\"", vm) : NULL;
    Wanted w = { vm, event, since_us, until_us, needle };
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    JsonArray *answer;
    JsonObject *o;
    Reader r;

    if (!reader_open(&r, host, error)) {
        return NULL;
    }
    while (found->len < MIN(limit, HZ_AUDIT_LIMIT_MAX) && (o = next_match(&r, &w))) {
        g_ptr_array_add(found, o);
    }
    g_mapped_file_unref(r.file);
    answer = json_array_sized_new(found->len);
    for (guint i = found->len; i > 0; i--) {
        json_array_add_object_element(answer, found->pdata[i - 1]);
    }
    return answer;
}

/* Leave only @vm's lines in the plan. */
static void cut_plan(JsonObject *o, const char *vm)
{
    JsonArray *plan = hz_json_array(o, "plan"), *mine = json_array_new();

    for (guint i = 0; plan && i < json_array_get_length(plan); i++) {
        JsonObject *line = hz_json_at(plan, i);

        if (line && !g_strcmp0(hz_json_text(line, "vm", NULL), vm)) {
            json_array_add_object_element(mine, json_object_ref(line));
        }
    }
    json_object_set_array_member(o, "plan", mine);
}

JsonObject *hz_audit_why(HzHost *host, const char *vm, gint64 at_us, GError **error)
{
    g_autofree char *needle = g_strdup_printf("\"%s\"", vm);
    Wanted w = { vm, "plan", 0, at_us, needle };
    JsonObject *o;
    Reader r;

    if (!reader_open(&r, host, error)) {
        return NULL;
    }
    o = next_match(&r, &w);
    g_mapped_file_unref(r.file);
    if (!o) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_NOT_FOUND,
                    "the audit log has no plan about VM '%s' at or before that time", vm);
        return NULL;
    }
    cut_plan(o, vm);
    return o;
}
