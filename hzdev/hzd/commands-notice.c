/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd commands about notices: from arguments to what notices.h takes.
 */
#include "commands-int.h"
#include "core/units.h"
#include "core/vocabulary.h"
#include "json-util.h"
#include "notice-int.h"

#include <string.h>

/* -- words --------------------------------------------------------------- */

typedef const char *(*NameFunc)(guint v);

/* The value below @end whose name is @text; the error lists all names. */
static int by_name(const char *what, const char *text, NameFunc name, guint end, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *all = NULL;

    for (guint i = 0; i < end; i++) {
        if (!strcmp(name(i), text)) {
            return (int)i;
        }
        g_ptr_array_add(names, (gpointer)name(i));
    }
    g_ptr_array_add(names, NULL);
    all = g_strjoinv(", ", (char **)names->pdata);
    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "%s '%.64s': it is one of %s", what,
                text, all);
    return -1;
}

static const char *state_name(guint v)
{
    return hz_state_name((uint8_t)v);
}

static const char *ack_name(guint v)
{
    return hz_ack_name((uint8_t)v);
}

static const char *cause_name(guint v)
{
    return hz_cause_name((uint16_t)v);
}

static const char *source_name(guint v)
{
    return hz_source_name((uint8_t)v);
}

/* Any kind there is: which of them are sent is the notices' own affair. */
static gboolean read_kind(const char *text, HzNotifySpec *spec, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *all = NULL;
    size_t n;
    const struct hz_kind *kinds = hz_kinds(&n);

    for (size_t i = 0; i < n; i++) {
        if (!strcmp(kinds[i].name, text)) {
            spec->kind = kinds[i].kind;
            return TRUE;
        }
        if (kinds[i].offered) {
            g_ptr_array_add(names, (gpointer)kinds[i].name);
        }
    }
    g_ptr_array_add(names, NULL);
    all = g_strjoinv(", ", (char **)names->pdata);
    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "there is no kind '%.64s'; those that "
                "can be sent are %s", text, all);
    return FALSE;
}

/* The words among the arguments; absent ones leave the default. */
static gboolean read_words(JsonObject *args, HzNotifySpec *spec, GError **error)
{
    const char *text;
    int v;

    if ((text = hz_arg_text(args, "state"))) {
        spec->state = by_name("state", text, state_name, VIRTIO_HZ_STATE_SCHEDULED + 1, error);
        if (spec->state < 0) {
            return FALSE;
        }
    }
    if ((text = hz_arg_text(args, "ack"))) {
        spec->ack = by_name("ack", text, ack_name, VIRTIO_HZ_ACK_MAX + 1, error);
        if (spec->ack < 0) {
            return FALSE;
        }
    }
    if ((text = hz_arg_text(args, "cause"))) {
        v = by_name("cause", text, cause_name, VIRTIO_HZ_CAUSE_OPERATOR + 1, error);
        if (v < 0) {
            return FALSE;
        }
        spec->cause = (uint16_t)v;
    }
    if ((text = hz_arg_text(args, "source"))) {
        v = by_name("source", text, source_name, VIRTIO_HZ_SOURCE_MAX + 1, error);
        if (v < 0) {
            return FALSE;
        }
        spec->source = (uint8_t)v;
    }
    return TRUE;
}

/* -- the payload --------------------------------------------------------- */

typedef struct {
    uint8_t bytes[VIRTIO_HZ_MAX_DOC];
    size_t len;
} Doc;

static gboolean of_kind(const struct hz_field *f, uint16_t kind)
{
    return f->subjects & HZ_ON_NOTICE && (f->id >> 8 & 0x7f) == kind;
}

static gboolean no_such_field(uint16_t kind, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *all = NULL;
    const char *near;
    size_t n;
    const struct hz_field *rows = hz_vocabulary(&n);

    for (size_t i = 0; i < n; i++) {
        if (of_kind(&rows[i], kind)) {
            g_ptr_array_add(names, (gpointer)rows[i].name);
        }
    }
    g_ptr_array_add(names, NULL);
    near = hz_nearest(name, (const char *const *)names->pdata);
    all = g_strjoinv(", ", (char **)names->pdata);
    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                "payload field '%.64s': kind %s has none of that name%s%s%s", name,
                hz_kind_name(kind), near ? "; did you mean '" : *all ? "; there are: " : "",
                near ? near : all, near ? "'?" : "");
    return FALSE;
}

/* What a field may be set to, in words. */
static char *allowed(const struct hz_field *f)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *all = NULL;
    char low[64], high[64];

    if (f->type == HZ_TYPE_ID || f->type == HZ_TYPE_BYTES) {
        return g_strdup(f->type == HZ_TYPE_ID ? "a name or a uuid" : "hexadecimal digits");
    }
    if (!f->names) {
        hz_unit_format(f->unit, f->min, low, sizeof(low));
        hz_unit_format(f->unit, f->max, high, sizeof(high));
        return g_strdup_printf("%s to %s", low, high);
    }
    for (const char *const *name = f->names; *name; name++) {
        if (**name) {
            g_ptr_array_add(names, (gpointer)*name);
        }
    }
    g_ptr_array_add(names, NULL);
    all = g_strjoinv(", ", (char **)names->pdata);
    return g_strdup_printf(f->type == HZ_TYPE_MASK ? "some of %s, with commas; all or none"
                                                   : "one of %s", all);
}

static gboolean is_time(const struct hz_field *f)
{
    return f->unit == HZ_UNIT_NS || f->unit == HZ_UNIT_US || f->unit == HZ_UNIT_MS;
}

static gboolean put_field(Doc *doc, uint16_t kind, const char *name, JsonNode *node, GError **error)
{
    const struct hz_field *f = hz_field_by_name(name);
    g_autofree char *text = NULL;
    uint8_t value[16];
    int len;

    if (!f || !of_kind(f, kind)) {
        return no_such_field(kind, name, error);
    }
    text = json_node_get_value_type(node) == G_TYPE_STRING ? g_strdup(json_node_get_string(node))
                                                           : json_to_string(node, FALSE);
    /* as a text a time has a unit; as a number it is in the field's own */
    len = is_time(f) && json_node_get_value_type(node) == G_TYPE_STRING && hz_unit_bare(text)
          ? -1 : hz_value_parse(f, text, value);
    if (len < 0) {
        g_autofree char *words = allowed(f);

        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "payload field '%s' is '%.80s': "
                    "it must be %s%s", name, text, words, is_time(f) ? ", with its unit" : "");
        return FALSE;
    }
    if (hz_doc_set(doc->bytes, &doc->len, sizeof(doc->bytes), f->id, value, (uint16_t)len)) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "payload: more than %d bytes",
                    VIRTIO_HZ_MAX_DOC);
        return FALSE;
    }
    return TRUE;
}

static gboolean read_payload(JsonObject *args, uint16_t kind, Doc *doc, GError **error)
{
    JsonObject *payload = hz_arg_has(args, "payload")
                          ? json_object_get_object_member(args, "payload") : NULL;
    g_autoptr(GList) names = payload ? json_object_get_members(payload) : NULL;

    for (GList *i = names; i; i = i->next) {
        if (!put_field(doc, kind, i->data, json_object_get_member(payload, i->data), error)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* -- notify and drain ---------------------------------------------------- */

static void read_plain(HzCall *call, HzNotifySpec *spec)
{
    JsonObject *args = call->args;

    *spec = (HzNotifySpec){
        .all = hz_arg_bool(args, "all"),
        .tenant = hz_arg_text(args, "tenant"),
        .job = hz_arg_text(args, "job"),
        .key = hz_arg_text(args, "key"),
        .cause_key = hz_arg_text(args, "cause-key"),
        .state = -1,
        .ack = -1,
        .not_before_ns = hz_arg_time(args, "not-before"),
        .has_deadline = hz_arg_has(args, "deadline"),
        .deadline_ns = hz_arg_time(args, "deadline"),
        .duration_ns = hz_arg_time(args, "duration"),
        .confidence = (int)hz_arg_number(args, "confidence", -1),
        .has_extend_max = hz_arg_has(args, "extend-max"),
        .extend_max_ns = hz_arg_time(args, "extend-max"),
        .test = hz_arg_bool(args, "test"),
        .force = hz_arg_bool(args, "force"),
        .revise = hz_arg_bool(args, "revise"),
        .who = call->who,
    };
}

typedef JsonObject *(*PlaceFunc)(HzHost *host, const HzNotifySpec *spec, GError **error);

static gboolean offered(uint16_t kind)
{
    size_t n;
    const struct hz_kind *kinds = hz_kinds(&n);

    for (size_t i = 0; i < n; i++) {
        if (kinds[i].kind == kind) {
            return kinds[i].offered;
        }
    }
    return FALSE;
}

static HzNotice *standing(const HzVm *vm, const char *key)
{
    uint8_t id[VIRTIO_HZ_UUID_LEN];

    if (!key) {
        return NULL;
    }
    hz_notice_id(vm, key, id);
    return hz_notice_find(vm, id);
}

/* Would it be placed (or, a dry run, be said to be) with a deadline nobody chose? */
static gboolean needs_deadline(HzVm *vm, const HzNotifySpec *spec)
{
    HzMode mode = hz_vm_mode(vm, NULL);
    uint64_t ms;

    if (standing(vm, spec->key) && !spec->revise) {
        return FALSE;           /* a repeat changes nothing */
    }
    if (mode == HZ_MODE_OFF || (mode == HZ_MODE_OBSERVE && spec->drain)) {
        return FALSE;
    }
    return !hz_vm_declared(vm, "vm", (uint16_t)(HZ_F_NOTICE_NEEDED + spec->kind), &ms);
}

/*
 * Without a deadline it is what the tenant declared that it needs; where it
 * declared nothing, "at once" is too much to be meant by silence. All or none:
 * nothing is placed when one of many lacks it.
 */
static gboolean deadline_ok(HzHost *host, const HzNotifySpec *spec, GError **error)
{
    g_autoptr(GPtrArray) vms = NULL;

    if (spec->has_deadline || spec->not_before_ns || spec->test || host->frozen
        || !hz_life_impact(spec->kind) || !offered(spec->kind)) {
        return TRUE;
    }
    vms = hz_notice_select(host, spec, NULL);
    for (guint i = 0; vms && i < vms->len; i++) {
        HzVm *vm = vms->pdata[i];

        if (needs_deadline(vm, spec)) {
            g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "a 'deadline' is missing: VM "
                        "'%s' declares no notice-needed-%s to take it from", vm->name,
                        hz_kind_name(spec->kind));
            return FALSE;
        }
    }
    return TRUE;
}

#define SAME_WITHIN (2 * HZ_SEC)        /* a script that tries again takes its time */

/* How the one that stands differs from what is asked for now; NULL: it doesn't. */
static char *differs(const HzNotice *notice, const HzNotifySpec *spec)
{
    const struct hz_life *l = &notice->life;
    uint64_t now = hz_now(), left = l->deadline > now ? l->deadline - now : 0, span;
    char text[64];

    if (notice->n.kind != spec->kind) {
        return g_strdup_printf("unchanged: it is a %s", hz_kind_name(notice->n.kind));
    }
    if (hz_notice_closed(notice)) {
        return g_strdup_printf("unchanged: it is %s", hz_state_name(l->state));
    }
    if (spec->duration_ns && spec->duration_ns != notice->n.duration_ns) {
        hz_unit_format(HZ_UNIT_NS, notice->n.duration_ns, text, sizeof(text));
        return g_strdup_printf("unchanged: its duration is %s ('revise' changes it)", text);
    }
    if (!spec->has_deadline || l->deadline == HZ_LIFE_NEVER) {
        return NULL;
    }
    span = left + ((uint64_t)g_get_real_time() - notice->created_us) * 1000;
    if (!left || (span < spec->deadline_ns + SAME_WITHIN
                  && spec->deadline_ns < span + SAME_WITHIN)) {
        return NULL;
    }
    hz_unit_format(HZ_UNIT_MS, left > 10 * HZ_SEC ? left / HZ_SEC * 1000 : left / HZ_MS, text,
                   sizeof(text));
    return g_strdup_printf("unchanged: its deadline is %s from now ('revise' changes it)", text);
}

/* A repeat changes nothing; when something else was asked for this time, that is said. */
static void say_differences(HzHost *host, const HzNotifySpec *spec, gint64 before_us,
                            JsonArray *outcomes)
{
    for (guint i = 0; outcomes && i < json_array_get_length(outcomes); i++) {
        JsonObject *o = hz_json_at(outcomes, i);
        HzVm *vm = hz_host_vm(host, hz_json_text(o, "vm", ""), NULL);
        HzNotice *notice = vm ? standing(vm, spec->key) : NULL;
        g_autofree char *text = NULL;

        if (notice && (gint64)notice->created_us < before_us && !hz_json_text(o, "detail", NULL)) {
            text = differs(notice, spec);
        }
        if (text) {
            json_object_set_string_member(o, "detail", text);
        }
    }
}

static void place(HzCall *call, PlaceFunc function, uint16_t kind_else)
{
    gint64 before_us = g_get_real_time();
    g_auto(GStrv) vms = hz_arg_names(call->args, "vms");
    g_autofree Doc *doc = g_new0(Doc, 1);
    g_autoptr(GError) error = NULL;
    const char *kind = hz_arg_text(call->args, "kind");
    JsonObject *answer = NULL;
    HzNotifySpec spec;

    read_plain(call, &spec);
    spec.vms = (const char *const *)vms;
    spec.kind = kind_else;
    spec.drain = kind_else != 0;
    spec.all = spec.all || (spec.drain && !vms && !spec.tenant);
    if ((!kind || read_kind(kind, &spec, &error)) && read_words(call->args, &spec, &error)
        && read_payload(call->args, spec.kind, doc, &error)) {
        spec.doc = doc->bytes;
        spec.doc_len = (uint16_t)doc->len;
        answer = deadline_ok(call->host, &spec, &error) ? function(call->host, &spec, &error)
                                                        : NULL;
    }
    if (answer && spec.key && !spec.revise) {
        say_differences(call->host, &spec, before_us,
                        hz_json_array(answer, spec.drain ? "vms" : "notices"));
    }
    hz_call_end(call, answer, error);
}

static void notify(HzCall *call)
{
    place(call, hz_notices_notify, 0);
}

static void drain(HzCall *call)
{
    place(call, hz_notices_drain, HZ_KIND_RECLAIM);
}

/* -- start, complete, cancel --------------------------------------------- */

typedef JsonObject *(*MoveFunc)(HzHost *host, const HzNoticeRef *ref, GError **error);

static void move(HzCall *call, MoveFunc function)
{
    g_autoptr(GError) error = NULL;
    HzNoticeRef ref = {
        .id = hz_arg_text(call->args, "id"),
        .key = hz_arg_text(call->args, "key"),
        .vm = hz_arg_text(call->args, "vm"),
        .who = call->who,
    };
    JsonObject *answer = NULL;

    if (!ref.id == !ref.key) {
        g_set_error(&error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "which notice? give its 'id' or "
                    "the 'key' it was made with, not %s", ref.id ? "both" : "neither");
    } else {
        answer = function(call->host, &ref, &error);
    }
    hz_call_end(call, answer, error);
}

static void start(HzCall *call)
{
    move(call, hz_notices_start);
}

static void complete(HzCall *call)
{
    move(call, hz_notices_complete);
}

static void cancel(HzCall *call)
{
    move(call, hz_notices_cancel);
}

/* -- the table ----------------------------------------------------------- */

#define TO_WHOM \
    { "vms", HZ_ARG_NAMES, FALSE, 0, "the VMs' names" }, \
    { "all", HZ_ARG_BOOL, FALSE, 0, "all VMs" }, \
    { "tenant", HZ_ARG_TEXT, FALSE, 0, "all VMs of this tenant" }, \
    { "job", HZ_ARG_TEXT, FALSE, 0, "with tenant: those that declared this job" }

#define COMMON \
    { "key", HZ_ARG_TEXT, FALSE, 0, "the caller's own: a repeat with it changes nothing" }, \
    { "cause-key", HZ_ARG_TEXT, FALSE, 0, "one cause over several notices; default: key" }, \
    { "ack", HZ_ARG_TEXT, FALSE, 0, "none, notify, gate or negotiate" }, \
    { "cause", HZ_ARG_TEXT, FALSE, 0, "maintenance, capacity, failure, …" }, \
    { "source", HZ_ARG_TEXT, FALSE, 0, "platform, user or peer" }, \
    { "deadline", HZ_ARG_TIME, FALSE, 0, "from now; default: what the tenant declared " \
      "it needs (an error where it declared nothing)" }, \
    { "duration", HZ_ARG_TIME, FALSE, 0, "how long it takes" }, \
    { "extend-max", HZ_ARG_TIME, FALSE, 0, "how far the tenant may extend the deadline" }, \
    { "payload", HZ_ARG_OBJECT, FALSE, 0, "the kind's own fields, by name" }, \
    { "test", HZ_ARG_BOOL, FALSE, 0, "synthetic: proves the path, does nothing" }, \
    { "force", HZ_ARG_BOOL, FALSE, 0, "though the tenant's limits say no" }, \
    { "revise", HZ_ARG_BOOL, FALSE, 0, "the key exists: make it a new revision" }

static const HzArg notify_args[] = {
    TO_WHOM,
    { "kind", HZ_ARG_TEXT, TRUE, 0, "pause, reclaim, …" },
    { "state", HZ_ARG_TEXT, FALSE, 0, "advised or (default) scheduled" },
    { "not-before", HZ_ARG_TIME, FALSE, 0, "from now" },
    { "confidence", HZ_ARG_NUMBER, FALSE, 1000, "permille; default 1000" },
    COMMON,
};

static const HzArg drain_args[] = {
    TO_WHOM,
    { "kind", HZ_ARG_TEXT, FALSE, 0, "default: reclaim" },
    COMMON,
};

static const HzArg ref_args[] = {
    { "id", HZ_ARG_TEXT, FALSE, 0, "the notice's id" },
    { "key", HZ_ARG_TEXT, FALSE, 0, "or the key it was made with" },
    { "vm", HZ_ARG_TEXT, FALSE, 0, "only on this VM; default: wherever it stands" },
};

const HzCommand hz_notice_commands[] = {
    { "notify", TRUE, notify, HZ_ARGS(notify_args), "place a notice on each of the VMs" },
    { "drain", TRUE, drain, HZ_ARGS(drain_args),
      "one cause to many VMs; repeat with the same key to see how it stands" },
    { "notice-start", TRUE, start, HZ_ARGS(ref_args), "it happens now" },
    { "notice-complete", TRUE, complete, HZ_ARGS(ref_args), "it has happened" },
    { "notice-cancel", TRUE, cancel, HZ_ARGS(ref_args), "it will not happen" },
};
const guint hz_n_notice_commands = G_N_ELEMENTS(hz_notice_commands);
