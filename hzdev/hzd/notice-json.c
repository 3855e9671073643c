/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd notice json: notices as the control socket shows them, exact (the operator's view). */
#include <string.h>

#include "core/vocabulary.h"
#include "ids.h"
#include "json-util.h"
#include "notice-int.h"

static void set_remaining(JsonObject *o, const char *name, uint64_t at)
{
    gint64 now = (gint64)hz_now();

    json_object_set_int_member(o, name, ((gint64)at - now) / (gint64)HZ_MS);
}

static void set_time(JsonObject *o, const char *name, uint64_t us)
{
    if (us) {
        json_object_set_int_member(o, name, (gint64)us);
    }
}

static JsonObject *times_json(const HzNotice *notice)
{
    JsonObject *o = json_object_new();

    set_time(o, "created-us", notice->created_us);
    set_time(o, "told-us", notice->told_us);
    set_time(o, "seen-us", notice->seen_us);
    set_time(o, "prepared-us", notice->prepared_us);
    set_time(o, "started-us", notice->started_us);
    set_time(o, "closed-us", notice->closed_us);
    return o;
}

static void set_life(JsonObject *o, const HzNotice *notice)
{
    const struct hz_life *l = &notice->life;
    JsonArray *replied = json_array_new();

    json_object_set_string_member(o, "state", hz_state_name(l->state));
    json_object_set_int_member(o, "revision", l->revision);
    json_object_set_string_member(o, "ack", hz_ack_name(l->ack));
    if (l->not_before) {
        set_remaining(o, "not-before-ms", l->not_before);
    }
    if (l->deadline != HZ_LIFE_NEVER) {
        set_remaining(o, "deadline-ms", l->deadline);
    }
    for (uint16_t code = 1; code <= VIRTIO_HZ_REPLY_MAX; code++) {
        if (l->replied >> code & 1) {
            json_array_add_string_element(replied, hz_reply_name(code));
        }
    }
    json_object_set_array_member(o, "replied", replied);
    if (l->closed_cause) {
        json_object_set_string_member(o, "closed-cause", hz_cause_name(l->closed_cause));
    }
    json_object_set_int_member(o, "extend-left-ms", (gint64)(l->extend_left / HZ_MS));
    json_object_set_boolean_member(o, "extended", l->extended);
    json_object_set_boolean_member(o, "lapsed", l->lapsed);
    json_object_set_boolean_member(o, "test", l->test);
}

static void set_flags(JsonObject *o, const HzNotice *notice)
{
    json_object_set_boolean_member(o, "told", notice->told_us != 0);
    json_object_set_boolean_member(o, "confirmed", notice->confirmed);
    json_object_set_boolean_member(o, "untold", notice->untold);
    json_object_set_boolean_member(o, "adopted", notice->adopted);
    json_object_set_boolean_member(o, "foreign", notice->foreign);
    json_object_set_boolean_member(o, "drain", notice->drain);
}

JsonObject *hz_notice_json(const HzNotice *notice)
{
    const struct hz_notice *n = &notice->n;
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "vm", notice->vm->name);
    hz_json_set_id(o, "id", n->id);
    hz_json_set_id(o, "cause-id", n->cause_id);
    if (notice->key) {
        json_object_set_string_member(o, "key", notice->key);
    }
    json_object_set_string_member(o, "kind", hz_kind_name(n->kind));
    json_object_set_string_member(o, "cause", hz_cause_name(n->cause));
    json_object_set_string_member(o, "source", hz_source_name(n->source));
    json_object_set_string_member(o, "scope", hz_scope_name(n->scope));
    json_object_set_int_member(o, "confidence", n->confidence);
    if (n->duration_ns) {
        json_object_set_int_member(o, "duration-ms", (gint64)(n->duration_ns / HZ_MS));
    }
    set_life(o, notice);
    if (notice->last_reply) {
        json_object_set_string_member(o, "reply", hz_reply_name(notice->last_reply));
        hz_json_set_u64(o, "reply-arg", notice->last_arg);
    }
    json_object_set_object_member(o, "payload", hz_json_doc(n->doc, n->doc_len));
    set_flags(o, notice);
    json_object_set_object_member(o, "times", times_json(notice));
    if (notice->why) {
        json_object_set_string_member(o, "why", notice->why);
    }
    return o;
}

/* By the cause's id, as told to some tenant, or by the key it was made from. */
static gboolean of_cause(const HzNotice *notice, const char *cause)
{
    uint8_t id[VIRTIO_HZ_UUID_LEN];

    if (!hz_id_parse(cause, id)) {
        hz_notice_cause_id(notice->vm, cause, id);
    } else if (!memcmp(notice->n.cause_id, id, sizeof(id))) {
        return TRUE;
    } else {
        hz_notice_cause_id(notice->vm, cause, id);      /* a key that looks like an id */
    }
    return !memcmp(notice->n.cause_id, id, sizeof(id));
}

JsonArray *hz_notices_json(HzHost *host, const char *vm_name, const char *cause, gboolean open,
                           GError **error)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);
    JsonArray *a;

    if (vm_name && !hz_host_vm(host, vm_name, error)) {
        return NULL;
    }
    a = json_array_new();
    for (guint i = 0; i < vms->len; i++) {
        const HzVm *vm = g_ptr_array_index(vms, i);

        if (vm_name && strcmp(vm_name, vm->name)) {
            continue;
        }
        for (guint k = 0; k < vm->notices->len; k++) {
            const HzNotice *notice = g_ptr_array_index(vm->notices, k);

            if ((!open || !hz_notice_closed(notice)) && (!cause || of_cause(notice, cause))) {
                json_array_add_object_element(a, hz_notice_json(notice));
            }
        }
    }
    return a;
}
