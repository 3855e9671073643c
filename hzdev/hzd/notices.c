/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd notices: placing them, one a VM. */
#include "notices.h"

#include <string.h>

#include "audit.h"
#include "core/vocabulary.h"
#include "events.h"
#include "json-util.h"
#include "link.h"
#include "notice-int.h"
#include "pause.h"
#include "redact.h"
#include "state.h"

#define DAYS_MAX 366
#define TIME_MAX (DAYS_MAX * 24ull * 3600 * HZ_SEC)

static gboolean invalid(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean invalid(GError **error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_propagate_error(error, g_error_new_valist(HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, format, args));
    va_end(args);
    return FALSE;
}

static const struct hz_kind *find_kind(uint16_t kind)
{
    size_t n;
    const struct hz_kind *kinds = hz_kinds(&n);

    for (size_t i = 0; i < n; i++) {
        if (kinds[i].kind == kind) {
            return &kinds[i];
        }
    }
    return NULL;
}

static gboolean times_ok(const HzNotifySpec *spec, GError **error)
{
    if (MAX(spec->not_before_ns, spec->deadline_ns) > TIME_MAX ||
        MAX(spec->duration_ns, spec->extend_max_ns) > TIME_MAX) {
        return invalid(error, "not-before, deadline, duration and extend-max are at most %d days",
                       DAYS_MAX);
    }
    if (spec->kind == HZ_KIND_PAUSE && !spec->duration_ns && !spec->test) {
        return invalid(error, "a pause needs 'duration'");
    }
    if (spec->has_deadline && spec->not_before_ns > spec->deadline_ns) {
        return invalid(error, "not-before is later than the deadline");
    }
    return TRUE;
}

static gboolean spec_ok(const HzNotifySpec *spec, GError **error)
{
    const struct hz_kind *kind = find_kind(spec->kind);

    if (!kind) {
        return invalid(error, "no kind of notice has the number %u", spec->kind);
    }
    if (!kind->offered && !spec->test) {
        return invalid(error, "kind '%s' is reserved: nothing here acts on it yet (a test may be "
                       "sent)", kind->name);
    }
    if (spec->state > VIRTIO_HZ_STATE_SCHEDULED) {
        return invalid(error, "a notice begins as advised or scheduled, not %s",
                       hz_state_name((uint8_t)spec->state));
    }
    if (spec->ack > VIRTIO_HZ_ACK_MAX || spec->confidence > 1000 ||
        spec->cause > VIRTIO_HZ_CAUSE_MAX || spec->source > VIRTIO_HZ_SOURCE_MAX) {
        return invalid(error, "ack, confidence (0 to 1000), cause or source is out of range");
    }
    if (spec->doc_len > VIRTIO_HZ_MAX_DOC) {
        return invalid(error, "the payload has %u bytes, at most %d fit", spec->doc_len,
                       VIRTIO_HZ_MAX_DOC);
    }
    return times_ok(spec, error);
}

/* -- one VM ------------------------------------------------------------- */

static void set_times(HzNotice *notice, const HzNotifySpec *spec)
{
    HzVm *vm = notice->vm;
    uint64_t now = hz_now(), needed_ms;
    struct hz_life *l = &notice->life;

    l->not_before = spec->not_before_ns ? now + spec->not_before_ns : 0;
    l->deadline = HZ_LIFE_NEVER;
    if (spec->has_deadline) {
        l->deadline = now + MAX(spec->deadline_ns, 1);
    } else if (hz_vm_declared(vm, "vm", (uint16_t)(HZ_F_NOTICE_NEEDED + spec->kind), &needed_ms)) {
        l->deadline = now + MAX(needed_ms * HZ_MS, spec->not_before_ns) + 1;
    } else if (l->impact || l->test) {
        /* the tenant asked for no warning: as soon as it may begin (a test waits half a minute) */
        l->deadline = now + MAX(spec->not_before_ns, l->test ? 30 * HZ_SEC : 1);
    }
    l->extend_left = spec->has_extend_max ? spec->extend_max_ns : hz_notice_extend_limit(vm);
    notice->n.duration_ns = spec->duration_ns;
}

static void set_payload(HzNotice *notice, const HzNotifySpec *spec)
{
    notice->n.doc_len = spec->doc_len;
    if (spec->doc_len) {
        memcpy(notice->n.doc, spec->doc, spec->doc_len);
    }
}

static void fill(HzNotice *notice, const HzNotifySpec *spec, const char *key)
{
    struct hz_notice *n = &notice->n;
    struct hz_life *l = &notice->life;

    notice->key = g_strdup(key);
    notice->cause_key = g_strdup(spec->cause_key ? spec->cause_key : key);
    hz_notice_cause_id(notice->vm, notice->cause_key, n->cause_id);
    n->kind = spec->kind;
    n->source = spec->source;
    n->cause = spec->cause;
    n->confidence = (uint16_t)(spec->confidence < 0 ? 1000 : spec->confidence);
    n->flags = spec->test ? VIRTIO_HZ_NOTICE_TEST : 0;
    n->scope = spec->job ? VIRTIO_HZ_SCOPE_JOB : VIRTIO_HZ_SCOPE_VM;
    if (spec->job) {
        hz_value_parse(hz_field_by_id(HZ_F_JOB_ID), spec->job, n->scope_id);
    }
    l->kind = spec->kind;
    l->revision = 1;
    l->impact = hz_life_impact(spec->kind);
    l->test = spec->test;
    l->state = (uint8_t)(spec->state < 0 ? VIRTIO_HZ_STATE_SCHEDULED : spec->state);
    l->ack = (uint8_t)(spec->ack >= 0 ? spec->ack :
                       l->impact && !l->test ? VIRTIO_HZ_ACK_GATE : VIRTIO_HZ_ACK_NOTIFY);
    set_times(notice, spec);
    set_payload(notice, spec);
}

/* Is it remembered, should hzd be killed now? Else *@detail says why it isn't promised. */
static gboolean kept(const HzNotice *notice, char **detail)
{
    g_autoptr(GError) error = NULL;

    if (!hz_notice_keep(notice, &error)) {
        *detail = g_strdup_printf("no board has it now and hzd couldn't keep it: %s",
                                  error->message);
    }
    return !error;
}

static HzNotice *place(HzVm *vm, const HzNotifySpec *spec, const char *key,
                       const uint8_t id[VIRTIO_HZ_UUID_LEN], char **detail)
{
    HzNotice *notice = hz_notice_new(vm, id);
    const char *silent = hz_redact_silent(vm, spec->kind, spec->test);

    fill(notice, spec, key);
    notice->drain = spec->drain;
    notice->untold = silent != NULL;
    hz_notice_say(notice, silent);
    hz_notice_touch(notice);
    if (!kept(notice, detail)) {
        hz_notice_free(notice);
        return NULL;
    }
    hz_link_pump(vm);
    hz_event_notice(notice, "created", spec->who);
    return notice;
}

static gboolean revise(HzNotice *notice, const HzNotifySpec *spec, char **detail)
{
    struct hz_life was = notice->life;
    struct hz_notice was_n = notice->n;

    if (notice->life.state > VIRTIO_HZ_STATE_SCHEDULED) {
        *detail = g_strdup_printf("it is %s: only an advised or scheduled notice is revised",
                                  hz_state_name(notice->life.state));
        return FALSE;
    }
    if (notice->n.kind != spec->kind) {
        *detail = g_strdup_printf("it is a %s: a revision can't change the kind",
                                  hz_kind_name(notice->n.kind));
        return FALSE;
    }
    notice->life.revision++;
    notice->life.replied = 0;
    if (spec->state >= 0) {
        notice->life.state = (uint8_t)MAX(spec->state, notice->life.state);
    }
    if (spec->ack >= 0) {
        notice->life.ack = (uint8_t)spec->ack;
    }
    set_times(notice, spec);
    set_payload(notice, spec);
    hz_notice_touch(notice);
    if (!kept(notice, detail)) {
        notice->life = was;
        notice->n = was_n;
        hz_notice_touch(notice);
        return FALSE;
    }
    hz_event_notice(notice, "state", "revised");
    hz_link_pump(notice->vm);
    return TRUE;
}

/* May it be placed now? NULL, or why not. */
static char *refusal(HzVm *vm, const HzNotifySpec *spec)
{
    unsigned limit = vm->has_hello ? vm->hello.max_notices : VIRTIO_HZ_MAX_NOTICES;

    if (hz_notices_open(vm) >= limit) {
        return g_strdup_printf("%u notices are open, more don't fit its board", limit);
    }
    if (spec->kind == HZ_KIND_PAUSE && !spec->test) {
        return hz_pause_refusal(vm, spec->duration_ns, spec->force);
    }
    return NULL;
}

/* Less warning than the tenant says it needs: placed all the same, and said. */
static char *too_short(const HzVm *vm, const HzNotifySpec *spec)
{
    uint64_t needed_ms, given_ms = spec->deadline_ns / HZ_MS;

    if (!spec->has_deadline || spec->test ||
        !hz_vm_declared(vm, "vm", (uint16_t)(HZ_F_NOTICE_NEEDED + spec->kind), &needed_ms) ||
        given_ms >= needed_ms) {
        return NULL;
    }
    return g_strdup_printf("the tenant says it needs %" G_GUINT64_FORMAT " ms of warning, this "
                           "deadline leaves %" G_GUINT64_FORMAT, needed_ms, given_ms);
}

/* The word for what became of it; *@detail, *@notice are set when there is more to say. */
static const char *notify_one(HzVm *vm, const HzNotifySpec *spec, const char *key,
                              HzNotice **notice, char **detail)
{
    uint8_t id[VIRTIO_HZ_UUID_LEN];

    hz_notice_id(vm, key, id);
    *notice = hz_notice_find(vm, id);
    if (*notice && !spec->revise) {
        return "repeat";
    }
    if (*notice) {
        return revise(*notice, spec, detail) ? "revised" : "refused";
    }
    if (!spec->test && hz_vm_mode(vm, NULL) != HZ_MODE_ENFORCE) {
        *detail = g_strdup_printf("the mode in force is %s",
                                  hz_mode_name(hz_vm_mode(vm, NULL)));
        return hz_vm_mode(vm, NULL) == HZ_MODE_OBSERVE ? "would" : "refused";
    }
    *detail = refusal(vm, spec);
    if (*detail) {
        return "refused";
    }
    *notice = place(vm, spec, key, id, detail);
    if (!*notice) {
        return "refused";
    }
    if ((*notice)->untold) {
        *detail = g_strdup((*notice)->why);
        return "untold";
    }
    *detail = too_short(vm, spec);
    return "new";
}

/* -- all of them -------------------------------------------------------- */

/* What was asked for and not placed; what was, tells of itself. */
static void audit_unplaced(HzVm *vm, const HzNotifySpec *spec, JsonObject *outcome)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "what", "notify");
    json_object_set_string_member(o, "who", spec->who ? spec->who : "");
    json_object_set_string_member(o, "vm", vm->name);
    json_object_set_string_member(o, "kind", hz_kind_name(spec->kind));
    json_object_set_object_member(o, "outcome", json_object_ref(outcome));
    hz_audit(vm->host, "request", o);
}

static JsonObject *outcome(HzVm *vm, const HzNotifySpec *spec, const char *key, unsigned *placed)
{
    g_autofree char *detail = NULL;
    HzNotice *notice = NULL;
    const char *status = notify_one(vm, spec, key, &notice, &detail);
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "vm", vm->name);
    json_object_set_string_member(o, "status", status);
    json_object_set_boolean_member(o, "linked", vm->synced);
    if (detail) {
        json_object_set_string_member(o, "detail", detail);
    }
    if (notice) {
        hz_json_set_id(o, "id", notice->n.id);
        json_object_set_string_member(o, "state", hz_state_name(notice->life.state));
        json_object_set_int_member(o, "revision", notice->life.revision);
    }
    if (!strcmp(status, "refused") || !strcmp(status, "would")) {
        audit_unplaced(vm, spec, o);
    }
    *placed += notice != NULL || !strcmp(status, "would");
    return o;
}

static char *random_key(void)
{
    return g_uuid_string_random();
}

JsonObject *hz_notices_notify(HzHost *host, const HzNotifySpec *spec, GError **error)
{
    g_autofree char *key = spec->key ? g_strdup(spec->key) : random_key();
    g_autoptr(GPtrArray) vms = NULL;
    JsonArray *notices;
    JsonObject *answer;
    unsigned placed = 0;

    if (!spec_ok(spec, error)) {
        return NULL;
    }
    if (host->frozen && !spec->test) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_STATE, "frozen: nothing is changed until "
                    "a thaw (a test may be sent)");
        return NULL;
    }
    vms = hz_notice_select(host, spec, error);
    if (!vms) {
        return NULL;
    }
    notices = json_array_new();
    for (guint i = 0; i < vms->len; i++) {
        json_array_add_object_element(notices, outcome(g_ptr_array_index(vms, i), spec, key,
                                                       &placed));
    }
    if (!placed) {
        JsonObject *first = hz_json_at(notices, 0);

        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_REFUSED, "VM %s: %s",
                    hz_json_text(first, "vm", "?"), hz_json_text(first, "detail", "refused"));
        json_array_unref(notices);
        return NULL;
    }
    answer = json_object_new();
    json_object_set_string_member(answer, "key", key);
    json_object_set_array_member(answer, "notices", notices);
    return answer;
}

/* -- what hzd itself has to tell ---------------------------------------- */

void hz_notices_resource_changed(HzVm *vm, unsigned nic, uint64_t old_rate, uint64_t new_rate)
{
    g_autofree char *key = g_strdup_printf("%s/nic/%u", vm->name, nic);
    uint8_t id[VIRTIO_HZ_UUID_LEN], raw[16];
    struct hz_notice *n;
    HzNotice *notice;
    size_t len = 0;
    int size;

    if (hz_redact_silent(vm, HZ_KIND_RESOURCE_CHANGED, false)) {
        return;
    }
    /* one entry a NIC, revised: a flapping rate never fills a board */
    hz_state_id(vm->host->state, vm->conf->tenant, "changed", key, id);
    notice = hz_notice_find(vm, id);
    if (!notice) {
        notice = hz_notice_new(vm, id);
        hz_state_id(vm->host->state, vm->conf->tenant, "cause", key, notice->n.cause_id);
        notice->life.kind = notice->n.kind = HZ_KIND_RESOURCE_CHANGED;
        notice->life.state = VIRTIO_HZ_STATE_COMPLETED;
        notice->n.scope = VIRTIO_HZ_SCOPE_DEVICE;
        notice->n.cause = VIRTIO_HZ_CAUSE_REBALANCE;
        notice->n.confidence = 1000;
    }
    n = &notice->n;
    size = hz_value_put(hz_field_by_id(HZ_N_CHANGED_NIC), nic, raw);
    hz_doc_set(n->doc, &len, sizeof(n->doc), HZ_N_CHANGED_NIC, raw, (uint16_t)size);
    size = hz_value_put(hz_field_by_id(HZ_N_CHANGED_OLD), old_rate, raw);
    hz_doc_set(n->doc, &len, sizeof(n->doc), HZ_N_CHANGED_OLD, raw, (uint16_t)size);
    size = hz_value_put(hz_field_by_id(HZ_N_CHANGED_NEW), new_rate, raw);
    hz_doc_set(n->doc, &len, sizeof(n->doc), HZ_N_CHANGED_NEW, raw, (uint16_t)size);
    n->doc_len = (uint16_t)len;
    notice->life.revision++;
    notice->life.deadline = HZ_LIFE_NEVER;
    notice->closed_us = (uint64_t)g_get_real_time();
    hz_notice_touch(notice);
    hz_event_notice(notice, "created", "a vNIC's rate has changed");
    hz_notices_trim(vm);
}
