/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl: waiting for what guests answer.
 *
 * State is asked for again at each event of hzd's, and once a second for what
 * needs none (a deadline).
 */
#include "notices.h"

#include <stdio.h>
#include <string.h>

#define AGAIN_US G_USEC_PER_SEC
#define GRACE_MS 30000          /* beyond the last deadline, for what it sets off */
#define NO_DEADLINE_MS 600000

/* -- notify --wait ------------------------------------------------------- */

typedef enum { PENDING, GOOD, BAD } Outcome;

static gboolean replied(JsonObject *notice, const char *reply)
{
    JsonArray *a = hzctl_array(notice, "replied");

    for (guint i = 0; i < hzctl_len(a); i++) {
        if (!g_strcmp0(json_array_get_string_element(a, i), reply)) {
            return TRUE;
        }
    }
    return FALSE;
}

/* Has it been answered as its policy asks? */
static Outcome answered(JsonObject *n)
{
    const char *ack = hzctl_word(n, "ack");

    if (replied(n, "decline")) {
        return BAD;
    }
    if (!strcmp(ack, "none")) {
        return hzctl_bool(n, "confirmed") ? GOOD : PENDING;
    }
    if (!strcmp(ack, "notify")) {
        return replied(n, "seen") || replied(n, "prepared") ? GOOD : PENDING;
    }
    return replied(n, "prepared") || replied(n, "accept") ? GOOD : PENDING;
}

static Outcome outcome(JsonObject *n)
{
    const char *state = hzctl_word(n, "state");
    gboolean to_the_end = hzctl_bool(n, "test") || !strcmp(hzctl_word(n, "kind"), "pause");
    Outcome o = answered(n);

    if (!strcmp(state, "completed")) {
        return hzctl_bool(n, "test") && o != GOOD ? BAD : GOOD;
    }
    if (!strcmp(state, "cancelled") || !strcmp(state, "superseded")) {
        return BAD;
    }
    if (to_the_end && o == GOOD) {
        return PENDING;         /* hzd ends these itself */
    }
    if (o == PENDING && !to_the_end && !strcmp(state, "started")) {
        return BAD;             /* the deadline came first */
    }
    return o;
}

static JsonObject *by_vm_and_id(JsonArray *notices, JsonObject *placed)
{
    for (guint i = 0; i < hzctl_len(notices); i++) {
        JsonObject *n = hzctl_at(notices, i);

        if (!g_strcmp0(hzctl_text(n, "vm"), hzctl_text(placed, "vm"))
            && !g_strcmp0(hzctl_text(n, "id"), hzctl_text(placed, "id"))) {
            return n;
        }
    }
    return NULL;
}

typedef struct {
    guint pending, bad;
    gint64 deadline_ms;         /* the latest; -1: none */
} Tally;

static Tally tally(JsonArray *placed, JsonArray *notices)
{
    Tally t = { .deadline_ms = -1 };

    for (guint i = 0; i < hzctl_len(placed); i++) {
        JsonObject *n = by_vm_and_id(notices, hzctl_at(placed, i));
        Outcome o = n ? outcome(n) : BAD;

        t.pending += o == PENDING;
        t.bad += o == BAD;
        if (o == PENDING) {
            t.deadline_ms = MAX(t.deadline_ms, hzctl_int(n, "deadline-ms", -1));
        }
    }
    return t;
}

/* From when it was made to @name, as "+12.3ms". */
static char *since_made(JsonObject *times, const char *name)
{
    gint64 at = hzctl_int(times, name, 0), made = hzctl_int(times, "created-us", 0);

    return at && made ? g_strdup_printf("+%.1fms", (double)(at - made) / 1000) : g_strdup("-");
}

/* How far one that isn't good has come, then what hzd says about it. */
static char *detail_of(JsonObject *placed, JsonObject *n)
{
    JsonObject *times = hzctl_object(n, "times");
    const char *why = hzctl_text(n, "why"), *far = NULL;

    if (!n) {
        return g_strdup(hzctl_word(placed, "detail"));
    }
    if (answered(n) == BAD || answered(n) == GOOD) {
        return g_strdup(why ? why : "-");
    }
    if (hzctl_bool(n, "untold")) {
        far = "not told";
    } else if (!hzctl_int(times, "told-us", 0)) {
        far = hzctl_bool(placed, "linked") ? "not told yet" : "link down";
    } else if (!hzctl_int(times, "seen-us", 0)) {
        far = "told, but no agent answered";
    } else {
        far = "seen, but not prepared";
    }
    return g_strdup_printf("%s%s%s", far, why ? ": " : "", why ? why : "");
}

static void print_outcomes(JsonArray *placed, JsonArray *notices)
{
    static const char *const heads[] = { "VM", "OUTCOME", "STATE", "TOLD", "SEEN", "PREPARED",
                                         "STARTED", "CLOSED", "DETAIL", NULL };
    static const char *const words[] = { "pending", "good", "not good" };
    static const char *const points[] = { "told-us", "seen-us", "prepared-us", "started-us",
                                          "closed-us" };
    HzctlTable *t = hzctl_table_new(heads);

    for (guint i = 0; i < hzctl_len(placed); i++) {
        JsonObject *p = hzctl_at(placed, i), *n = by_vm_and_id(notices, p);
        g_autofree char *detail = detail_of(p, n);
        char *at[G_N_ELEMENTS(points)];

        for (guint k = 0; k < G_N_ELEMENTS(points); k++) {
            at[k] = since_made(hzctl_object(n, "times"), points[k]);
        }
        hzctl_table_row(t, hzctl_word(p, "vm"), n ? words[outcome(n)] : hzctl_word(p, "status"),
                        hzctl_word(n, "state"), at[0], at[1], at[2], at[3], at[4],
                        detail, NULL);
        for (guint k = 0; k < G_N_ELEMENTS(points); k++) {
            g_free(at[k]);
        }
    }
    hzctl_table_print(t, "no VM");
}

static JsonNode *ask_notices(HzctlApp *app, const char *cause)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "cause", cause);
    return hzctl_call(app, TRUE, "query-notices", o);
}

/* When to give up, monotonic µs: as told, or some time after the last deadline. */
static gint64 give_up_at(gint64 ms, const Tally *t)
{
    if (ms < 0) {
        ms = t->deadline_ms < 0 ? NO_DEADLINE_MS : t->deadline_ms + GRACE_MS;
    }
    return g_get_monotonic_time() + ms * 1000;
}

int hzctl_wait_notices(HzctlApp *app, JsonObject *answer, const char *cause, gint64 ms)
{
    JsonArray *placed = hzctl_array(answer, "notices");
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node = NULL;
    gint64 until = 0;
    Tally t;

    for (;;) {
        g_clear_pointer(&node, json_node_unref);
        node = ask_notices(app, cause);
        if (!node) {
            return HZCTL_ERROR;
        }
        t = tally(placed, json_node_get_array(node));
        if (ms < 0 || !until) {         /* deadlines move: extensions */
            until = MAX(until, give_up_at(ms, &t));
        }
        if (!t.pending || g_get_monotonic_time() >= until) {
            break;
        }
        if (!hz_client_wait(app->client, MIN(until, g_get_monotonic_time() + AGAIN_US), &error)) {
            return hzctl_error(error);
        }
    }
    if (app->json) {
        hzctl_print_json(node);
    } else {
        print_outcomes(placed, json_node_get_array(node));
    }
    return t.pending || t.bad ? HZCTL_INCOMPLETE : HZCTL_OK;
}

/* -- drain --wait -------------------------------------------------------- */

void hzctl_print_drain(JsonNode *node)
{
    static const char *const heads[] = { "VM", "STATUS", "STATE", "DEADLINE", "LINKED", "ID",
                                         "DETAIL", NULL };
    JsonObject *o = json_node_get_object(node);
    JsonArray *vms = hzctl_array(o, "vms");
    HzctlTable *t = hzctl_table_new(heads);

    for (guint i = 0; i < hzctl_len(vms); i++) {
        JsonObject *vm = hzctl_at(vms, i);

        hzctl_table_row(t, hzctl_word(vm, "vm"), hzctl_word(vm, "status"), hzctl_word(vm, "state"),
                        json_object_has_member(vm, "deadline-ms")
                        ? hzctl_ms(hzctl_int(vm, "deadline-ms", 0)) : "-",
                        hzctl_bool(vm, "linked") ? "yes" : "no", hzctl_word(vm, "id"),
                        hzctl_word(vm, "detail"), NULL);
    }
    hzctl_table_print(t, "no VM");
    printf("key %s: %s\n", hzctl_word(o, "key"),
           !hzctl_bool(o, "done") ? "under way" : hzctl_bool(o, "ok") ? "all out of the way"
                                                                      : "not all out of the way");
}

/* A line for each VM whose status has changed. */
static void print_progress(HzctlApp *app, JsonObject *o, GHashTable *said)
{
    JsonArray *vms = hzctl_array(o, "vms");

    for (guint i = 0; i < hzctl_len(vms) && !app->json; i++) {
        JsonObject *vm = hzctl_at(vms, i);
        const char *name = hzctl_word(vm, "vm"), *status = hzctl_word(vm, "status");

        if (g_strcmp0(g_hash_table_lookup(said, name), status)) {
            printf("%s: %s\n", name, status);
            fflush(stdout);
            g_hash_table_replace(said, g_strdup(name), g_strdup(status));
        }
    }
}

/* A repeat asks how it stands; it must not revise. */
static JsonNode *ask_drain(HzctlApp *app, JsonObject *arguments)
{
    json_object_remove_member(arguments, "revise");
    return hzctl_call(app, TRUE, "drain", json_object_ref(arguments));
}

int hzctl_wait_drain(HzctlApp *app, JsonObject *arguments, JsonNode *first, gint64 ms)
{
    g_autoptr(GHashTable) said = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(JsonNode) node = first;
    g_autoptr(GError) error = NULL;
    gint64 until = ms < 0 ? G_MAXINT64 : g_get_monotonic_time() + ms * 1000;
    JsonObject *o;

    for (;;) {
        o = json_node_get_object(node);
        print_progress(app, o, said);
        if (hzctl_bool(o, "done") || g_get_monotonic_time() >= until) {
            break;
        }
        if (!hz_client_wait(app->client, MIN(until, g_get_monotonic_time() + AGAIN_US), &error)) {
            return hzctl_error(error);
        }
        json_node_unref(g_steal_pointer(&node));
        node = ask_drain(app, arguments);
        if (!node) {
            return HZCTL_ERROR;
        }
    }
    if (app->json) {
        hzctl_print_json(node);
    } else {
        hzctl_print_drain(node);
    }
    return hzctl_bool(o, "ok") ? HZCTL_OK : HZCTL_INCOMPLETE;
}
