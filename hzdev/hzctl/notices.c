/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl notify, notice, drain: telling guests what is coming.
 */
#include "notices.h"
#include "core/units.h"
#include "core/vocabulary.h"

#include <stdio.h>
#include <string.h>

#define NOT_GIVEN G_MININT

static struct {
    gboolean all, test, force, revise, wait;
    char *key, *cause_key, *ack, *cause, *source, *state, *kind;
    char *deadline, *duration, *not_before, *extend_max, *timeout;
    char **payload;
    char *id, *vm;
    gint confidence;
} opt = { .confidence = NOT_GIVEN };

#define COMMON_OPTIONS \
    { "all", 0, 0, G_OPTION_ARG_NONE, &opt.all, "Every VM", NULL }, \
    { "key", 0, 0, G_OPTION_ARG_STRING, &opt.key, \
      "Your own key: a repeat with it changes nothing", "KEY" }, \
    { "cause-key", 0, 0, G_OPTION_ARG_STRING, &opt.cause_key, \
      "One cause over several notices (default: the key)", "KEY" }, \
    { "ack", 0, 0, G_OPTION_ARG_STRING, &opt.ack, "none, notify, gate or negotiate", "POLICY" }, \
    { "cause", 0, 0, G_OPTION_ARG_STRING, &opt.cause, "maintenance, capacity, failure …", \
      "CAUSE" }, \
    { "source", 0, 0, G_OPTION_ARG_STRING, &opt.source, "platform, user or peer", "SOURCE" }, \
    { "deadline", 0, 0, G_OPTION_ARG_STRING, &opt.deadline, "From now: 90s, 15m", "TIME" }, \
    { "duration", 0, 0, G_OPTION_ARG_STRING, &opt.duration, "How long it takes: 2s", "TIME" }, \
    { "extend-max", 0, 0, G_OPTION_ARG_STRING, &opt.extend_max, \
      "How far the tenant may extend the deadline", "TIME" }, \
    { "payload", 0, 0, G_OPTION_ARG_STRING_ARRAY, &opt.payload, "A field of the kind's own", \
      "FIELD=VALUE" }, \
    { "test", 0, 0, G_OPTION_ARG_NONE, &opt.test, "Synthetic: proves the path, does nothing", \
      NULL }, \
    { "force", 0, 0, G_OPTION_ARG_NONE, &opt.force, "Though the tenant's limits say no", NULL }, \
    { "revise", 0, 0, G_OPTION_ARG_NONE, &opt.revise, "The key exists: a new revision", NULL }, \
    { "wait", 0, 0, G_OPTION_ARG_NONE, &opt.wait, "Until all have answered (exit 3: not all)", \
      NULL }, \
    { "timeout", 0, 0, G_OPTION_ARG_STRING, &opt.timeout, "With --wait: at most so long", "TIME" }

static const GOptionEntry notify_options[] = {
    COMMON_OPTIONS,
    { "state", 0, 0, G_OPTION_ARG_STRING, &opt.state, "advised or (default) scheduled", "STATE" },
    { "not-before", 0, 0, G_OPTION_ARG_STRING, &opt.not_before, "From now", "TIME" },
    { "confidence", 0, 0, G_OPTION_ARG_INT, &opt.confidence, "Of an advice, permille", "0..1000" },
    { 0 },
};

static const GOptionEntry drain_options[] = {
    COMMON_OPTIONS,
    { "kind", 0, 0, G_OPTION_ARG_STRING, &opt.kind, "Default: reclaim", "KIND" },
    { 0 },
};

static const GOptionEntry notice_options[] = {
    { "id", 0, 0, G_OPTION_ARG_STRING, &opt.id, "The notice's id", "ID" },
    { "key", 0, 0, G_OPTION_ARG_STRING, &opt.key, "The key it was made with", "KEY" },
    { "vm", 0, 0, G_OPTION_ARG_STRING, &opt.vm, "Only on this VM", "VM" },
    { 0 },
};

/* -- from the command line to arguments ---------------------------------- */

static gboolean usage(const char *format, ...) G_GNUC_PRINTF(1, 2);

static gboolean usage(const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, format);
    text = g_strdup_vprintf(format, ap);
    va_end(ap);
    hzctl_fail(HZCTL_USAGE, "%s", text);
    return FALSE;
}

static void set_text(JsonObject *o, const char *name, const char *value)
{
    if (value) {
        json_object_set_string_member(o, name, value);
    }
}

static void set_flag(JsonObject *o, const char *name, gboolean value)
{
    if (value) {
        json_object_set_boolean_member(o, name, TRUE);
    }
}

static gboolean set_time(JsonObject *o, const char *name, const char *text)
{
    uint64_t ns;

    if (!text) {
        return TRUE;
    }
    if (hz_unit_bare(text) || hz_unit_parse(HZ_UNIT_NS, text, &ns)) {
        return usage("--%s %s: a time with its unit, such as 90s, 15m or 250ms", name, text);
    }
    /* as it was typed: hzd's own errors show it so */
    json_object_set_string_member(o, name, text);
    return TRUE;
}

static gboolean set_payload(JsonObject *o)
{
    JsonObject *payload = json_object_new();

    for (char **p = opt.payload; p && *p; p++) {
        char *equals = strchr(*p, '=');

        if (!equals) {
            json_object_unref(payload);
            return usage("--payload %s: it is written FIELD=VALUE", *p);
        }
        *equals = '\0';
        json_object_set_string_member(payload, *p, equals + 1);
    }
    json_object_set_object_member(o, "payload", payload);
    return TRUE;
}

/* "VM", "tenant:NAME" or "job:TENANT/ID". */
static gboolean set_target(JsonObject *o, JsonArray *vms, const char *target)
{
    const char *slash = strchr(target, '/');
    g_autofree char *tenant = NULL;

    if (g_str_has_prefix(target, "tenant:")) {
        json_object_set_string_member(o, "tenant", target + strlen("tenant:"));
    } else if (g_str_has_prefix(target, "job:") && slash) {
        tenant = g_strndup(target + strlen("job:"), (gsize)(slash - target) - strlen("job:"));
        json_object_set_string_member(o, "tenant", tenant);
        json_object_set_string_member(o, "job", slash + 1);
    } else if (g_str_has_prefix(target, "job:")) {
        return usage("%s: a job is written job:TENANT/ID", target);
    } else {
        json_array_add_string_element(vms, target);
    }
    return TRUE;
}

static gboolean set_targets(JsonObject *o, char **targets, guint n)
{
    JsonArray *vms = json_array_new();
    gboolean ok = TRUE, others;
    guint named;

    for (guint i = 0; ok && i < n; i++) {
        ok = set_target(o, vms, targets[i]);
    }
    named = json_array_get_length(vms);
    others = json_object_has_member(o, "tenant");
    if (ok && (named > 0) + others + opt.all > 1) {
        ok = usage("VMs by name, a tenant or job, or --all: one of these");
    }
    if (named) {
        json_object_set_array_member(o, "vms", vms);
    } else {
        json_array_unref(vms);
    }
    return ok;
}

static gboolean set_common(JsonObject *o)
{
    set_flag(o, "all", opt.all);
    set_flag(o, "test", opt.test);
    set_flag(o, "force", opt.force);
    set_flag(o, "revise", opt.revise);
    set_text(o, "key", opt.key);
    set_text(o, "cause-key", opt.cause_key);
    set_text(o, "ack", opt.ack);
    set_text(o, "cause", opt.cause);
    set_text(o, "source", opt.source);
    set_text(o, "state", opt.state);
    set_text(o, "kind", opt.kind);
    return set_time(o, "deadline", opt.deadline) && set_time(o, "duration", opt.duration)
           && set_time(o, "not-before", opt.not_before)
           && set_time(o, "extend-max", opt.extend_max) && set_payload(o);
}

/* --timeout in ms; -1: not given. */
static gboolean read_timeout(gint64 *ms)
{
    uint64_t ns = 0;

    if (opt.timeout && !opt.wait) {
        return usage("--timeout %s: only with --wait", opt.timeout);
    }
    if (opt.timeout && (hz_unit_bare(opt.timeout)
                        || hz_unit_parse(HZ_UNIT_NS, opt.timeout, &ns))) {
        return usage("--timeout %s: a time with its unit, such as 90s or 15m", opt.timeout);
    }
    *ms = opt.timeout ? (gint64)(ns / 1000000) : -1;
    return TRUE;
}

/* A repeat must find what it made: the key is made here when none was given. */
static void ensure_key(JsonObject *o)
{
    g_autofree char *key = g_uuid_string_random();

    if (!opt.key) {
        json_object_set_string_member(o, "key", key);
    }
}

/* -- notify -------------------------------------------------------------- */

static void print_placed(JsonNode *node)
{
    static const char *const heads[] = { "VM", "STATUS", "STATE", "ID", "DETAIL", NULL };
    JsonObject *o = json_node_get_object(node);
    JsonArray *a = hzctl_array(o, "notices");
    HzctlTable *t = hzctl_table_new(heads);

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *n = hzctl_at(a, i);

        hzctl_table_row(t, hzctl_word(n, "vm"), hzctl_word(n, "status"), hzctl_word(n, "state"),
                        hzctl_word(n, "id"), hzctl_word(n, "detail"), NULL);
    }
    hzctl_table_print(t, "no VM");
    printf("key %s\n", hzctl_word(o, "key"));
}

/*
 * Of what isn't told now, on stderr and before any waiting: is anything not
 * as asked? A test is there to go the whole way; another notice may wait for a link.
 */
static gboolean unsent(JsonArray *a)
{
    gboolean any = FALSE;

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *n = hzctl_at(a, i);
        const char *vm = hzctl_word(n, "vm"), *status = hzctl_word(n, "status");

        if (!strcmp(status, "would") || !strcmp(status, "refused")
            || !strcmp(status, "untold")) {
            const char *why = hzctl_text(n, "detail");

            any = TRUE;
            hzctl_fail(0, "VM %s was not told%s%s", vm, why ? ": " : "", why ? why : "");
        } else if (!strcmp(status, "untouched")) {
            any = TRUE;
            hzctl_fail(0, "VM %s was not told: the mode in force there is not enforce", vm);
        } else if (!hzctl_bool(n, "linked") && strcmp(status, "closed") && strcmp(status, "gone")) {
            any |= opt.test;
            hzctl_fail(0, "VM %s: link down: its QEMU isn't running, or has no virtio-hz device; "
                       "it is told when the link comes up", vm);
        }
    }
    return any;
}

/* The last argument is the kind; a test may leave it out. */
static gboolean take_kind(char **args, guint *n)
{
    const char *last = *n ? args[*n - 1] : NULL;
    guint targets = opt.all ? 0 : 1;            /* at least so many */

    if (last && *n > targets && (!opt.test || hz_kind_by_name(last) > 0)) {
        opt.kind = g_strdup(last);      /* hzd says which kinds there are */
        (*n)--;
    } else if (opt.test && *n >= targets) {
        opt.kind = g_strdup("pause");
    } else {
        return usage("usage: hzctl notify [OPTION…] TARGET… KIND (or --all KIND)");
    }
    return TRUE;
}

static gboolean set_confidence(JsonObject *o)
{
    if (opt.confidence == NOT_GIVEN) {
        return TRUE;
    }
    if (opt.confidence < 0 || opt.confidence > 1000) {
        return usage("--confidence %d: it is 0 to 1000, permille", opt.confidence);
    }
    json_object_set_int_member(o, "confidence", opt.confidence);
    return TRUE;
}

static int cmd_notify(HzctlApp *app, char **args)
{
    JsonObject *o = json_object_new();
    g_autoptr(JsonNode) answer = NULL;
    g_autofree char *cause = NULL;
    guint n = g_strv_length(args);
    gboolean incomplete;
    gint64 ms;

    if (!take_kind(args, &n) || !set_targets(o, args, n) || !set_common(o)
        || !set_confidence(o) || !read_timeout(&ms)) {
        json_object_unref(o);
        return HZCTL_USAGE;
    }
    if (opt.wait) {
        ensure_key(o);
    }
    cause = g_strdup(opt.cause_key ? opt.cause_key : hzctl_text(o, "key"));
    answer = hzctl_call(app, TRUE, "notify", o);
    if (!answer) {
        return HZCTL_ERROR;
    }
    incomplete = unsent(hzctl_array(json_node_get_object(answer), "notices"));
    if (opt.wait) {
        return hzctl_wait_notices(app, json_node_get_object(answer), cause, ms);
    }
    hzctl_answer(app, g_steal_pointer(&answer), print_placed);
    return incomplete ? HZCTL_INCOMPLETE : HZCTL_OK;
}

/* -- notice start, complete, cancel -------------------------------------- */

static void print_moved(JsonNode *node)
{
    JsonArray *a = hzctl_array(json_node_get_object(node), "notices");

    for (guint i = 0; i < hzctl_len(a); i++) {
        JsonObject *n = hzctl_at(a, i);

        printf("%s: %s %s%s%s\n", hzctl_word(n, "vm"), hzctl_word(n, "id"), hzctl_word(n, "state"),
               hzctl_text(n, "detail") ? ": " : "",
               hzctl_text(n, "detail") ? hzctl_text(n, "detail") : "");
    }
}

/* 32 hexadecimal digits, with a uuid's dashes or without. */
static gboolean looks_like_id(const char *text)
{
    guint digits = 0;

    for (; *text; text++) {
        if (g_ascii_isxdigit(*text)) {
            digits++;
        } else if (*text != '-') {
            return FALSE;
        }
    }
    return digits == 32;
}

static int cmd_notice(HzctlApp *app, char **args)
{
    g_autofree char *command = g_strdup_printf("notice-%s", args[0]);
    JsonObject *o;

    if (strcmp(args[0], "start") && strcmp(args[0], "complete") && strcmp(args[0], "cancel")) {
        return hzctl_fail(HZCTL_USAGE, "notice %s: it is start, complete or cancel", args[0]);
    }
    if ((args[1] != NULL) + (opt.id != NULL) + (opt.key != NULL) != 1) {
        return hzctl_fail(HZCTL_USAGE, "notice %s: which? one of ID, KEY, --id ID, --key KEY",
                          args[0]);
    }
    o = json_object_new();
    if (args[1]) {
        json_object_set_string_member(o, looks_like_id(args[1]) ? "id" : "key", args[1]);
    }
    set_text(o, "id", opt.id);
    set_text(o, "key", opt.key);
    set_text(o, "vm", opt.vm);
    return hzctl_answer(app, hzctl_call(app, TRUE, command, o), print_moved);
}

/* -- drain --------------------------------------------------------------- */

static int cmd_drain(HzctlApp *app, char **args)
{
    g_autoptr(JsonObject) o = json_object_new();
    gboolean incomplete;
    JsonObject *standing;
    JsonNode *answer;
    gint64 ms;

    if (!set_targets(o, args, g_strv_length(args)) || !set_common(o) || !read_timeout(&ms)) {
        return HZCTL_USAGE;
    }
    ensure_key(o);
    answer = hzctl_call(app, TRUE, "drain", json_object_ref(o));
    if (!answer) {
        return HZCTL_ERROR;
    }
    standing = json_node_get_object(answer);
    incomplete = unsent(hzctl_array(standing, "vms"))
                 || (hzctl_bool(standing, "done") && !hzctl_bool(standing, "ok"));
    if (opt.wait) {
        return hzctl_wait_drain(app, o, answer, ms);
    }
    hzctl_answer(app, answer, hzctl_print_drain);
    return incomplete ? HZCTL_INCOMPLETE : HZCTL_OK;
}

const HzctlCommand hzctl_notice_commands[] = {
    { "notify", cmd_notify, notify_options, "[TARGET…] KIND", 0, -1,
      "tell guests what is coming; TARGET: VM, tenant:NAME, job:TENANT/ID" },
    { "notice", cmd_notice, notice_options, "start|complete|cancel [ID|KEY]", 1, 2,
      "say that it begins, has happened, will not happen" },
    { "drain", cmd_drain, drain_options, "[TARGET…]", 0, -1,
      "one cause to many VMs, and whether they are out of the way" },
};
const guint hzctl_n_notice_commands = G_N_ELEMENTS(hzctl_notice_commands);
