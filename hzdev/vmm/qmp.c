/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz vmm qmp: QEMU's monitor on a unix socket.
 *
 * connect -> greeting -> qmp_capabilities -> query-status -> connected.
 * Whatever fails on the way, or later, ends the connection and is tried again
 * after a delay that doubles up to HZ_VMM_RETRY_MAX_MS. A monitor serves one
 * client at a time: without a greeting we keep our place in its queue and say so.
 */
#include "json/channel.h"
#include "vmm/vmm-int.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    HzVmm vmm;
    HzChannel *channel;
    gboolean greeted;
    pid_t pid;
    uint64_t start;             /* of pid */
    guint retry;                /* source: try again */
    guint greeting;             /* source: no greeting so far */
    guint retry_ms;
    gboolean asking, ask_again; /* query-status: one at a time, however many events come */
    GList *calls;               /* Call, not answered yet */
} Qmp;

/* One command under way. */
typedef struct Call {
    Qmp *qmp;
    const char *command;
    void (*then)(struct Call *call, JsonNode *value, const GError *error);
    HzVmmDone done;             /* the owner's, for stop and cont */
    gpointer opaque;
    guint source;               /* its time-out; or the idle source that says there is no monitor */
} Call;

static void try_connect(Qmp *q);

static void stop_source(guint *source)
{
    if (*source) {
        g_source_remove(*source);
        *source = 0;
    }
}

/* -- commands ------------------------------------------------------------ */

static void call_free(Call *call)
{
    stop_source(&call->source);
    call->qmp->calls = g_list_remove(call->qmp->calls, call);
    g_free(call);
}

static void on_answer(JsonNode *value, const GError *error, gpointer opaque)
{
    Call *call = opaque;
    g_autoptr(HzVmm) held G_GNUC_UNUSED = hz_vmm_hold(&call->qmp->vmm);

    call->then(call, value, error);
    call_free(call);
}

static gboolean on_no_answer(gpointer opaque)
{
    Call *call = opaque;
    g_autofree char *text = g_strdup_printf("no answer to '%s' within %d s", call->command,
                                            HZ_VMM_ANSWER_S);

    call->source = 0;
    hz_vmm_set_trouble(&call->qmp->vmm, text);
    hz_channel_close(call->qmp->channel);   /* answers every call with an error */
    return G_SOURCE_REMOVE;
}

static Call *call_new(Qmp *q, const char *command,
                      void (*then)(Call *, JsonNode *, const GError *))
{
    Call *call = g_new0(Call, 1);

    call->qmp = q;
    call->command = command;
    call->then = then;
    q->calls = g_list_prepend(q->calls, call);
    return call;
}

static void call_send(Call *call)
{
    call->source = g_timeout_add_seconds(HZ_VMM_ANSWER_S, on_no_answer, call);
    hz_channel_execute(call->qmp->channel, call->command, NULL, on_answer, call);
}

/* -- state --------------------------------------------------------------- */

static HzVmmState state_of(const char *status)
{
    return !strcmp(status, "running") ? HZ_VMM_RUNNING
         : !strcmp(status, "paused") ? HZ_VMM_PAUSED : HZ_VMM_OTHER;
}

static void fail(Qmp *q, const char *why)
{
    hz_vmm_set_trouble(&q->vmm, why);
    hz_channel_close(q->channel);
}

/* A wrong answer while connecting ends the attempt; the channel's own end has said why itself. */
static void fail_call(Qmp *q, const GError *error)
{
    if (error->code != HZ_JSON_ERROR_CLOSED && !q->vmm.connected) {
        fail(q, error->message);
    }
}

static void ask_status(Qmp *q);

static void on_status(Call *call, JsonNode *value, const GError *error)
{
    Qmp *q = call->qmp;
    const char *status = NULL;

    q->asking = FALSE;
    if (error) {
        fail_call(q, error);
        return;
    }
    if (value && JSON_NODE_HOLDS_OBJECT(value)) {
        status = json_object_get_string_member_with_default(json_node_get_object(value),
                                                            "status", NULL);
    }
    if (!status) {
        fail(q, "query-status was answered without a status");
        return;
    }
    if (q->ask_again) {
        q->ask_again = FALSE;
        ask_status(q);
    }
    hz_vmm_set_state(&q->vmm, state_of(status), status);
    if (!q->vmm.connected) {
        q->retry_ms = HZ_VMM_RETRY_MIN_MS;
        hz_vmm_tell_connected(&q->vmm);
    }
}

static void ask_status(Qmp *q)
{
    if (q->asking) {
        q->ask_again = TRUE;
    } else {
        q->asking = TRUE;
        call_send(call_new(q, "query-status", on_status));
    }
}

static void on_capabilities(Call *call, JsonNode *value, const GError *error)
{
    (void)value;
    if (error) {
        fail_call(call->qmp, error);
    } else {
        ask_status(call->qmp);
    }
}

/* -- what comes ---------------------------------------------------------- */

static uint64_t boot_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A member's integer; 0 when it's absent or something else. */
static gint64 number(JsonObject *o, const char *name)
{
    JsonNode *n = json_object_get_member(o, name);

    return n && json_node_get_value_type(n) == G_TYPE_INT64 ? json_node_get_int(n) : 0;
}

static int64_t wall_us(JsonObject *message)
{
    JsonNode *n = json_object_get_member(message, "timestamp");
    JsonObject *ts = n && JSON_NODE_HOLDS_OBJECT(n) ? json_node_get_object(n) : NULL;
    gint64 s = ts ? number(ts, "seconds") : 0;

    return s > 0 && s < G_MAXINT64 / G_USEC_PER_SEC - 1
           ? s * G_USEC_PER_SEC + number(ts, "microseconds") % G_USEC_PER_SEC : 0;
}

static void on_event(Qmp *q, JsonObject *message, const char *name)
{
    static const struct {
        const char *name;
        HzVmmEventKind kind;
        const char *status;     /* what it means for the state, until query-status says more */
    } known[] = {
        { "STOP", HZ_VMM_STOP, "paused" },
        { "RESUME", HZ_VMM_RESUME, "running" },
        { "SHUTDOWN", HZ_VMM_SHUTDOWN, "shutdown" },
        { "RESET", HZ_VMM_RESET, NULL },
    };
    HzVmmEvent event = { .boot_ns = boot_ns(), .wall_us = wall_us(message) };

    for (guint i = 0; i < G_N_ELEMENTS(known) && q->vmm.connected; i++) {
        if (!strcmp(name, known[i].name)) {
            if (known[i].status) {
                hz_vmm_set_state(&q->vmm, state_of(known[i].status), known[i].status);
            }
            ask_status(q);
            event.kind = known[i].kind;
            hz_vmm_tell_event(&q->vmm, &event);
            return;
        }
    }
}

static void on_message(HzChannel *channel, JsonObject *message, gpointer opaque)
{
    g_autoptr(HzVmm) held G_GNUC_UNUSED = hz_vmm_hold(opaque);
    Qmp *q = opaque;
    JsonNode *event = json_object_get_member(message, "event");

    (void)channel;
    if (!q->greeted) {
        if (!json_object_has_member(message, "QMP")) {
            fail(q, "no QMP: its first message is no greeting");
            return;
        }
        q->greeted = TRUE;
        hz_vmm_set_trouble(&q->vmm, NULL);
        stop_source(&q->greeting);
        call_send(call_new(q, "qmp_capabilities", on_capabilities));
    } else if (event && json_node_get_value_type(event) == G_TYPE_STRING) {
        on_event(q, message, json_node_get_string(event));
    }
}

/* -- the connection ------------------------------------------------------ */

static gboolean on_retry(gpointer opaque)
{
    Qmp *q = opaque;

    q->retry = 0;
    try_connect(q);
    return G_SOURCE_REMOVE;
}

static void try_later(Qmp *q)
{
    q->retry = g_timeout_add(q->retry_ms, on_retry, q);
    q->retry_ms = MIN(q->retry_ms * 2, HZ_VMM_RETRY_MAX_MS);
}

static void on_closed(HzChannel *channel, const GError *why, gpointer opaque)
{
    g_autoptr(HzVmm) held G_GNUC_UNUSED = hz_vmm_hold(opaque);
    g_autoptr(GError) gone = NULL;
    Qmp *q = opaque;

    hz_channel_unref(channel);
    q->channel = NULL;
    q->pid = 0;
    stop_source(&q->greeting);
    if (!q->vmm.trouble) {
        hz_vmm_set_trouble(&q->vmm, why ? why->message : "it closed the connection");
    }
    gone = g_error_new(HZ_VMM_ERROR, HZ_VMM_ERROR_AWAY, "%s: %s", q->vmm.where, q->vmm.trouble);
    try_later(q);
    hz_vmm_tell_lost(&q->vmm, gone);
}

static gboolean on_no_greeting(gpointer opaque)
{
    Qmp *q = opaque;

    q->greeting = 0;
    hz_vmm_set_trouble(&q->vmm, "connected, but no greeting: another client has this monitor");
    return G_SOURCE_REMOVE;
}

static void try_connect(Qmp *q)
{
    static const HzChannelOps ops = { on_message, on_closed };
    g_autoptr(GError) error = NULL;
    uid_t uid;
    int fd = hz_unix_connect(q->vmm.where, &error);

    if (fd < 0) {
        hz_vmm_set_trouble(&q->vmm, error->message);
        try_later(q);
        return;
    }
    hz_vmm_set_trouble(&q->vmm, NULL);
    q->greeted = q->asking = q->ask_again = FALSE;
    q->channel = hz_channel_new(fd, &ops, q);
    q->greeting = g_timeout_add_seconds(HZ_VMM_GREETING_S, on_no_greeting, q);
    if (hz_channel_peer(q->channel, &q->pid, &uid)) {
        q->start = hz_process_start(q->pid);
    }
}

/* -- the backend --------------------------------------------------------- */

static void qmp_poke(HzVmm *vmm)
{
    Qmp *q = (Qmp *)vmm;

    if (!q->channel) {
        stop_source(&q->retry);
        try_connect(q);
    }
}

static gboolean qmp_peer(const HzVmm *vmm, pid_t *pid, uint64_t *start)
{
    const Qmp *q = (const Qmp *)vmm;

    *pid = q->pid;
    *start = q->start;
    return q->channel && q->pid > 0 && q->start;
}

static void on_run(Call *call, JsonNode *value, const GError *error)
{
    HzVmm *vmm = &call->qmp->vmm;
    g_autoptr(GError) named = NULL;

    (void)value;
    if (error) {
        gboolean away = error->code == HZ_JSON_ERROR_CLOSED;

        named = g_error_new(HZ_VMM_ERROR,
                            !call->source ? HZ_VMM_ERROR_TIMEOUT
                            : away ? HZ_VMM_ERROR_AWAY : HZ_VMM_ERROR_REFUSED,
                            "%s: '%s': %s", vmm->where, call->command,
                            away && vmm->trouble ? vmm->trouble : error->message);
    }
    if (call->done) {
        call->done(vmm, named, call->opaque);
    }
}

static gboolean on_away(gpointer opaque)
{
    Call *call = opaque;
    g_autoptr(GError) error = g_error_new_literal(HZ_JSON_ERROR, HZ_JSON_ERROR_CLOSED,
                                                  "not connected");

    on_answer(NULL, error, call);
    return G_SOURCE_REMOVE;
}

static void qmp_run(HzVmm *vmm, gboolean run, HzVmmDone done, gpointer opaque)
{
    Qmp *q = (Qmp *)vmm;
    Call *call = call_new(q, run ? "cont" : "stop", on_run);

    call->done = done;
    call->opaque = opaque;
    if (vmm->connected && hz_channel_open(q->channel)) {
        call_send(call);
    } else {
        call->source = g_idle_add(on_away, call);
    }
}

static void qmp_close(HzVmm *vmm)
{
    Qmp *q = (Qmp *)vmm;

    stop_source(&q->retry);
    stop_source(&q->greeting);
    if (q->channel) {
        hz_channel_drop(g_steal_pointer(&q->channel));
    }
}

static void qmp_free(HzVmm *vmm)
{
    Qmp *q = (Qmp *)vmm;

    while (q->calls) {
        call_free(q->calls->data);
    }
    g_free(q);
}

HzVmm *hz_vmm_qmp_new(void)
{
    static const HzVmmOps ops = {
        .close = qmp_close,
        .free_vmm = qmp_free,
        .poke = qmp_poke,
        .peer = qmp_peer,
        .run = qmp_run,
    };
    Qmp *q = g_new0(Qmp, 1);

    q->vmm.ops = &ops;
    q->retry_ms = HZ_VMM_RETRY_MIN_MS;
    return &q->vmm;
}
