/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd actuator: speaking to one of them.
 *
 * Its health decides what may be said of its work: whoever is absent, hung or
 * failing enforces nothing as far as verdicts go, though the kernel may well
 * carry its last plan on.
 */
#include <string.h>

#include "actuators-int.h"
#include "core/vocabulary.h"
#include "events.h"
#include "json-util.h"
#include "plan.h"

#define FAIL_DOWNS 5                    /* gone so often … */
#define FAIL_WINDOW (60 * HZ_SEC)       /* … within this: it has fallen back for so long */
#define FAIL_ERRORS 5                   /* or whole applies failed in a row */
#define EVENT_BURST 400.0
#define EVENT_RATE 100.0

uint64_t hz_actuator_answer_ns = 10 * HZ_SEC;

typedef struct {
    HzActuator *a;
    HzActuatorAnswer answer;
    gpointer opaque;            /* owned */
    gboolean awaited;           /* somebody waits for it: told as soon as the actuator hangs */
} Call;

static void call_free(gpointer data)
{
    Call *call = data;

    g_free(call->opaque);
    g_free(call);
}

static void set_health(HzActuator *a, HzActuatorHealth health, const char *what,
                       const char *trouble)
{
    JsonObject *data = NULL;

    a->health = health;
    a->since = hz_now();
    g_free(a->trouble);
    a->trouble = g_strdup(trouble);
    if (what) {
        if (trouble) {
            data = json_object_new();
            json_object_set_string_member(data, "why", trouble);
            g_message("actuator %s: %s: %s", a->name, what, trouble);
        }
        hz_event_actuator(a->host, a->name, what, data);
    }
}

static gboolean gone(const GError *error)
{
    return g_error_matches(error, HZ_JSON_ERROR, HZ_JSON_ERROR_CLOSED);
}

/* -- calls -------------------------------------------------------------- */

static void set_bound(HzActuator *a)
{
    hz_timer_set(a->bound, a->calls->len ? hz_now() + hz_actuator_answer_ns : UINT64_MAX);
}

static void answered(JsonNode *value, const GError *error, gpointer opaque)
{
    Call *call = opaque;
    HzActuator *a = call->a;

    g_ptr_array_remove(a->calls, call);
    set_bound(a);
    if (a->health == HZ_ACTUATOR_HUNG && !error) {
        set_health(a, HZ_ACTUATOR_GREETED, "answers", NULL);
        hz_actuator_configure(a);
    }
    if (call->answer) {
        call->answer(a, value, error, call->opaque);
    }
    call_free(call);
}

static Call *call_new(HzActuator *a, const char *command, JsonObject *arguments,
                      HzActuatorAnswer answer, gpointer opaque)
{
    Call *call = g_new0(Call, 1);

    call->a = a;
    call->answer = answer;
    call->opaque = opaque;
    g_ptr_array_add(a->calls, call);
    if (a->calls->len == 1) {
        set_bound(a);
    }
    hz_channel_execute(a->channel, command, arguments, answered, call);
    return call;
}

void hz_actuator_call(HzActuator *a, const char *command, JsonObject *arguments,
                      HzActuatorAnswer answer, gpointer opaque)
{
    call_new(a, command, arguments, answer, opaque);
}

static GError *hangs(const HzActuator *a)
{
    return g_error_new(HZ_HZD_ERROR, HZ_HZD_ERROR_STATE,
                       "the actuator %s (pid %d) hangs: what it shaped stays until it answers or "
                       "stale-after is over", a->name, (int)a->pid);
}

/* Those who wait are told now; what the actuator answers after all is nobody's any more. */
static void give_up(HzActuator *a)
{
    g_autoptr(GPtrArray) calls = g_ptr_array_copy(a->calls, NULL, NULL);
    g_autoptr(GError) error = hangs(a);

    for (guint i = 0; i < calls->len; i++) {
        Call *call = g_ptr_array_index(calls, i);

        if (call->awaited && call->answer) {
            HzActuatorAnswer answer = call->answer;

            call->answer = NULL;
            answer(a, NULL, error, call->opaque);
        }
    }
}

static void not_answered(gpointer opaque)
{
    HzActuator *a = opaque;

    if (a->health != HZ_ACTUATOR_HUNG) {
        set_health(a, HZ_ACTUATOR_HUNG, "hung", "it doesn't answer");
        give_up(a);
        hz_plan_actuator_down(a->host);
    }
}

/* -- configure ---------------------------------------------------------- */

static HzMode to_be(const HzActuator *a)
{
    HzMode mode = hz_actuators_wanted(a->host, a->name);

    if (hz_now() < a->failing_until || (a->host->frozen && a->told != HZ_MODE_ENFORCE)) {
        mode = MIN(mode, HZ_MODE_OBSERVE);
    }
    return mode;
}

static void fall_back(HzActuator *a, const char *why)
{
    a->failing_until = hz_now() + FAIL_WINDOW;
    hz_timer_set(a->retry, a->failing_until);
    set_health(a, HZ_ACTUATOR_FAILING, "failing", why);
}

static void configured(HzActuator *a, JsonNode *value, const GError *error,
                       G_GNUC_UNUSED gpointer opaque)
{
    if (error) {
        if (!gone(error)) {
            fall_back(a, error->message);
            hz_plan_actuator_down(a->host);
        }
        return;
    }
    g_clear_pointer(&a->features, json_node_unref);
    a->features = json_node_copy(value);
    a->told = a->asked;
    if (hz_now() < a->failing_until) {
        set_health(a, HZ_ACTUATOR_FAILING, NULL, "it went away too often: fallen back to observe");
    } else {
        set_health(a, HZ_ACTUATOR_READY, "up", NULL);
    }
    hz_plan_actuator_up(a->host);
}

static void send_configure(HzActuator *a)
{
    JsonObject *o = json_object_new();

    json_object_set_int_member(o, "protocol", 1);
    json_object_set_string_member(o, "mode", hz_mode_name(a->asked));
    json_object_set_int_member(o, "stale-after-ms",
                               (gint64)(a->host->config->stale_after_ns / HZ_MS));
    hz_actuator_call(a, "configure", o, configured, NULL);
}

static void forgotten_first(HzActuator *a, G_GNUC_UNUSED JsonNode *value, const GError *error,
                            G_GNUC_UNUSED gpointer opaque)
{
    if (error) {
        g_warning("actuator %s: couldn't give everything back before its mode changed: %s",
                  a->name, error->message);
    }
    if (!gone(error)) {
        send_configure(a);
    }
}

void hz_actuator_configure(HzActuator *a)
{
    HzMode was = a->told;

    if (!a->channel || a->health == HZ_ACTUATOR_HUNG) {
        return;
    }
    a->asked = to_be(a);
    if (was == HZ_MODE_ENFORCE && a->asked < HZ_MODE_ENFORCE) {
        JsonObject *o = json_object_new();

        /* in observe it may touch nothing, not even to take its own things away */
        json_object_set_boolean_member(o, "all", TRUE);
        a->told = a->asked;
        hz_actuator_call(a, "forget", o, forgotten_first, NULL);
        return;
    }
    send_configure(a);
}

static void try_again(gpointer opaque)
{
    HzActuator *a = opaque;

    a->errors = 0;
    hz_actuator_configure(a);
}

/* -- coming and going --------------------------------------------------- */

void hz_actuator_up(HzActuator *a, HzChannel *channel, JsonObject *greeting)
{
    uid_t uid;

    a->channel = channel;
    a->told = HZ_MODE_OFF;
    a->errors = 0;
    a->sent = (HzBucket){ 0 };
    hz_channel_peer(channel, &a->pid, &uid);
    g_free(a->package);
    a->package = g_strdup(hz_json_text(greeting, "package", ""));
    set_health(a, HZ_ACTUATOR_GREETED, NULL, NULL);
    hz_actuator_configure(a);
}

/* Did it go away too often lately? */
static gboolean count_down(HzActuator *a)
{
    uint64_t now = hz_now();

    while (!g_queue_is_empty(&a->downs) &&
           *(uint64_t *)g_queue_peek_head(&a->downs) + FAIL_WINDOW < now) {
        g_free(g_queue_pop_head(&a->downs));
    }
    g_queue_push_tail(&a->downs, g_memdup2(&now, sizeof(now)));
    return g_queue_get_length(&a->downs) >= FAIL_DOWNS;
}

void hz_actuator_closed(HzActuator *a, const GError *why)
{
    g_clear_pointer(&a->channel, hz_channel_unref);
    a->told = HZ_MODE_OFF;
    a->restarts++;
    hz_timer_set(a->bound, UINT64_MAX);
    if (a->host->releasing) {
        a->health = HZ_ACTUATOR_ABSENT;
        return;
    }
    if (count_down(a)) {
        fall_back(a, "it went away too often: fallen back to observe");
    }
    set_health(a, HZ_ACTUATOR_ABSENT, "down", why ? why->message : "it closed its connection");
    hz_timer_set(a->missed, a->since + HZ_ACTUATOR_START);
    hz_plan_actuator_down(a->host);
}

void hz_actuator_message(HzActuator *a, JsonObject *message)
{
    const char *event = hz_json_text(message, "event", NULL);
    JsonObject *data = hz_json_object(message, "data");

    a->events++;
    if (!hz_bucket_take(&a->sent, EVENT_BURST, EVENT_RATE)) {
        g_message("actuator %s: more than %.0f events a second: closed", a->name, EVENT_RATE);
        hz_channel_close(a->channel);
        return;
    }
    if (g_strcmp0(event, "CHANGED") || !data) {
        return;             /* an event of a newer protocol */
    }
    hz_event_actuator(a->host, a->name, "changed", json_object_ref(data));
    if (g_strcmp0(hz_json_text(data, "action", NULL), "re-asserted")) {
        hz_plan_look(a->host);
    }
}

/* -- the vnic commands -------------------------------------------------- */

static gboolean speaks(const HzActuator *a)
{
    return a && a->channel && a->told != HZ_MODE_OFF &&
           (a->health == HZ_ACTUATOR_READY || a->health == HZ_ACTUATOR_FAILING);
}

static void observed(HzActuator *a, JsonNode *value, const GError *error,
                     G_GNUC_UNUSED gpointer opaque)
{
    JsonObject *o = value && JSON_NODE_HOLDS_OBJECT(value) ? json_node_get_object(value) : NULL;

    if (!error) {
        hz_plan_observed(a->host, hz_json_array(o, "lines"));
    }
}

void hz_actuators_observe(HzHost *host, JsonArray *keys)
{
    HzActuator *a = hz_actuators_find(host, "vnic");
    JsonObject *o;

    if (!speaks(a)) {
        json_array_unref(keys);
        return;
    }
    o = json_object_new();
    json_object_set_array_member(o, "keys", keys);
    hz_actuator_call(a, "observe", o, observed, NULL);
}

static void applied(HzActuator *a, JsonNode *value, const GError *error, gpointer opaque)
{
    uint64_t *epoch = opaque;
    JsonObject *o = value && JSON_NODE_HOLDS_OBJECT(value) ? json_node_get_object(value) : NULL;

    if (!error) {
        a->errors = 0;
        hz_plan_applied(a->host, *epoch, hz_json_array(o, "results"));
    } else if (!gone(error)) {
        g_message("actuator %s: apply failed: %s", a->name, error->message);
        if (++a->errors >= FAIL_ERRORS) {
            fall_back(a, error->message);
            hz_actuator_configure(a);
        }
        hz_plan_apply_failed(a->host, *epoch, error->message, a->errors);
    }
}

void hz_actuators_apply(HzHost *host, uint64_t epoch, JsonArray *plan)
{
    HzActuator *a = hz_actuators_find(host, "vnic");
    JsonObject *o = json_object_new();

    a->applies++;
    json_object_set_int_member(o, "epoch", (gint64)epoch);
    json_object_set_array_member(o, "plan", plan);
    hz_actuator_call(a, "apply", o, applied, g_memdup2(&epoch, sizeof(epoch)));
}

typedef struct {
    HzForgetFunc done;
    gpointer opaque;
} Forget;

static void forgotten(HzActuator *a, G_GNUC_UNUSED JsonNode *value, const GError *error,
                      gpointer opaque)
{
    Forget *f = opaque;

    f->done(a->host, error, f->opaque);
}

void hz_actuators_forget(HzHost *host, JsonArray *keys, HzForgetFunc done, gpointer opaque)
{
    HzActuator *a = hz_actuators_find(host, "vnic");
    JsonObject *o;
    Forget *f;

    /* below enforce it holds nothing but what is named, from an earlier life of ours */
    if (!speaks(a) || (!keys && a->told != HZ_MODE_ENFORCE)) {
        g_autoptr(GError) error = NULL;

        if (a && a->health == HZ_ACTUATOR_HUNG) {
            error = hangs(a);
        }
        if (keys) {
            json_array_unref(keys);
        }
        done(host, error, opaque);
        return;
    }
    o = json_object_new();
    if (keys) {
        json_object_set_array_member(o, "keys", keys);
    } else {
        json_object_set_boolean_member(o, "all", TRUE);
    }
    f = g_new0(Forget, 1);
    f->done = done;
    f->opaque = opaque;
    call_new(a, "forget", o, forgotten, f)->awaited = TRUE;
}

const char *hz_actuator_waited_for(const HzHost *host)
{
    const HzActuator *a = hz_actuators_find(host, "vnic");

    return a && a->calls->len ? a->name : NULL;
}

/* It hasn't come (back): what it acted on is told so. */
static void missed(gpointer opaque)
{
    HzActuator *a = opaque;

    hz_plan_kick(a->host);
}

HzActuator *hz_actuator_new(HzHost *host, const char *name)
{
    HzActuator *a = g_new0(HzActuator, 1);

    a->host = host;
    a->name = g_strdup(name);
    a->mode = HZ_MODE_UNSET;
    a->told = HZ_MODE_OFF;
    a->since = hz_now();
    a->calls = g_ptr_array_new();
    a->bound = hz_timer_new(not_answered, a);
    a->retry = hz_timer_new(try_again, a);
    a->missed = hz_timer_new(missed, a);
    hz_timer_set(a->missed, a->since + HZ_ACTUATOR_START);
    g_queue_init(&a->downs);
    return a;
}

void hz_actuator_free(HzActuator *a)
{
    g_clear_pointer(&a->channel, hz_channel_drop);
    g_ptr_array_set_free_func(a->calls, call_free);
    g_ptr_array_unref(a->calls);
    hz_timer_free(a->bound);
    hz_timer_free(a->retry);
    hz_timer_free(a->missed);
    g_queue_clear_full(&a->downs, g_free);
    g_clear_pointer(&a->features, json_node_unref);
    g_free(a->name);
    g_free(a->package);
    g_free(a->trouble);
    g_free(a);
}
