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
    char *vm_text, *event_text; /* what the line must hold */
} Wanted;

static void wanted_init(Wanted *w, const char *vm, const char *event, gint64 since, gint64 until)
{
    *w = (Wanted){ vm, event, since, until, NULL, NULL };
    w->vm_text = vm ? g_strdup_printf("\"%s\"", vm) : NULL;
    w->event_text = event ? g_strdup_printf("\"event\":\"%s\"", event) : NULL;
}

static void wanted_clear(Wanted *w)
{
    g_free(w->vm_text);
    g_free(w->event_text);
}

/* The line's time from its beginning; 0 when it doesn't look like one of ours. */
static gint64 time_of(const char *line, gsize len)
{
    static const char mark[] = "\",\"us\":";
    const char *at = memmem(line, MIN(len, 64), mark, strlen(mark));

    return at ? g_ascii_strtoll(at + strlen(mark), NULL, 10) : 0;
}

/* A look at the bytes, before anything is parsed: most lines are others'. */
static gboolean may_match(const Wanted *w, const char *line, gsize len)
{
    gint64 us = time_of(line, len);

    return us >= w->since_us && us <= w->until_us
           && (!w->vm_text || memmem(line, len, w->vm_text, strlen(w->vm_text)))
           && (!w->event_text || memmem(line, len, w->event_text, strlen(w->event_text)));
}

/* *@len: of the line it was. */
static JsonObject *next_match(Reader *r, const Wanted *w, gsize *len)
{
    const char *line;

    while ((line = reader_previous(r, len))) {
        g_autoptr(JsonObject) o = may_match(w, line, *len) ? parse(line, *len) : NULL;

        if (o && (!w->event || !g_strcmp0(hz_json_text(o, "event", NULL), w->event))
            && (!w->vm || about(o, w->vm))) {
            return g_steal_pointer(&o);
        }
    }
    return NULL;
}

JsonArray *hz_audit_query(HzHost *host, const char *vm, const char *event,
                          gint64 since_us, gint64 until_us, unsigned limit, GError **error)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    gsize len, sum = 0;
    JsonArray *answer;
    JsonObject *o;
    Wanted w;
    Reader r;

    if (!reader_open(&r, host, error)) {
        return NULL;
    }
    wanted_init(&w, vm, event, since_us, until_us);
    while (found->len < MIN(limit, HZ_AUDIT_LIMIT_MAX) && (o = next_match(&r, &w, &len))) {
        sum += len;
        if (sum > HZ_AUDIT_ANSWER) {
            json_object_unref(o);
            break;
        }
        g_ptr_array_add(found, o);
    }
    wanted_clear(&w);
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
    JsonObject *o;
    gsize len;
    Wanted w;
    Reader r;

    if (!reader_open(&r, host, error)) {
        return NULL;
    }
    wanted_init(&w, vm, "plan", 0, at_us);
    o = next_match(&r, &w, &len);
    wanted_clear(&w);
    g_mapped_file_unref(r.file);
    if (!o) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_NOT_FOUND,
                    "the audit log has no plan about VM '%s' at or before that time", vm);
        return NULL;
    }
    cut_plan(o, vm);
    return o;
}
