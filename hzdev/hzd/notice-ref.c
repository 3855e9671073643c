/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd notice ref: start, complete and cancel by an outside orchestrator. A repeat succeeds. */
#include <errno.h>
#include <string.h>

#include "audit.h"
#include "core/vocabulary.h"
#include "ids.h"
#include "json-util.h"
#include "link.h"
#include "notice-int.h"

static gboolean means(const HzNotice *notice, const HzNoticeRef *ref, const uint8_t *id)
{
    uint8_t own[VIRTIO_HZ_UUID_LEN];

    if (ref->vm && strcmp(ref->vm, notice->vm->name)) {
        return FALSE;
    }
    if (id) {
        return !memcmp(notice->n.id, id, VIRTIO_HZ_UUID_LEN);
    }
    /* the key's text may be forgotten (a restart), the id it makes isn't */
    hz_notice_id(notice->vm, ref->key, own);
    return !memcmp(notice->n.id, own, VIRTIO_HZ_UUID_LEN);
}

static GPtrArray *find(HzHost *host, const HzNoticeRef *ref, GError **error)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host), found = g_ptr_array_new();
    uint8_t id[VIRTIO_HZ_UUID_LEN];

    if (!ref->id == !ref->key) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                    "which notice? give either 'id' or 'key'");
        return NULL;
    }
    if (ref->id && !hz_id_parse(ref->id, id)) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                    "id '%s': expected 32 hex digits, as notify answered", ref->id);
        return NULL;
    }
    if (ref->vm && !hz_host_vm(host, ref->vm, error)) {
        return NULL;
    }
    for (guint i = 0; i < vms->len; i++) {
        const HzVm *vm = g_ptr_array_index(vms, i);

        for (guint k = 0; k < vm->notices->len; k++) {
            HzNotice *notice = g_ptr_array_index(vm->notices, k);

            if (means(notice, ref, ref->id ? id : NULL)) {
                g_ptr_array_add(found, notice);
            }
        }
    }
    if (!found->len) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_NOT_FOUND, "no notice with %s '%s'%s%s",
                    ref->id ? "id" : "key", ref->id ? ref->id : ref->key,
                    ref->vm ? " on VM " : "", ref->vm ? ref->vm : "");
        return NULL;
    }
    return g_steal_pointer(&found);
}

/* An advised one is scheduled on the way: the orchestrator means it. */
static int bring(HzNotice *notice, enum hz_life_event event, const char **why)
{
    struct hz_life_input in = {
        .event = event, .arg = VIRTIO_HZ_CAUSE_OPERATOR, .now = hz_now(),
    };

    if (event == HZ_LIFE_COMPLETE && notice->acting) {
        *why = "hzd is carrying it out and completes it itself";
        return -EPERM;
    }
    return hz_notice_step(notice, &in, why);
}

/* *@unkept: the first that a restart of hzd would undo. */
static JsonObject *one(HzNotice *notice, enum hz_life_event event, gboolean *ok, char **detail,
                       GError **unkept)
{
    HzVm *vm = notice->vm;
    const char *why;
    int err = bring(notice, event, &why);
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "vm", vm->name);
    hz_json_set_id(o, "id", notice->n.id);
    json_object_set_string_member(o, "state", hz_state_name(notice->life.state));
    json_object_set_string_member(o, "detail", why);
    json_object_set_boolean_member(o, "ok", !err || err == -EALREADY);
    if (!err || err == -EALREADY) {
        *ok = TRUE;
    } else if (!*detail) {
        *detail = g_strdup_printf("VM %s: the notice is %s: %s", vm->name,
                                  hz_state_name(notice->life.state), why);
    }
    hz_link_pump(vm);
    if (!err && !*unkept) {
        hz_notice_keep(notice, unkept);
    }
    return o;
}

static JsonObject *all(HzHost *host, const HzNoticeRef *ref, enum hz_life_event event,
                       const char *word, GError **error)
{
    g_autoptr(GPtrArray) found = find(host, ref, error);
    g_autoptr(GError) unkept = NULL;
    g_autofree char *detail = NULL;
    gboolean ok = FALSE;
    JsonArray *list;
    JsonObject *answer;

    if (!found) {
        return NULL;
    }
    if (host->frozen && event == HZ_LIFE_START) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_STATE,
                    "frozen: nothing is started until a thaw");
        return NULL;
    }
    answer = json_object_new();
    json_object_set_string_member(answer, "what", word);
    json_object_set_string_member(answer, ref->id ? "id" : "key", ref->id ? ref->id : ref->key);
    json_object_set_string_member(answer, "who", ref->who ? ref->who : "");
    hz_audit(host, "request", json_object_ref(answer));
    list = json_array_new();
    for (guint i = 0; i < found->len; i++) {
        json_array_add_object_element(list, one(g_ptr_array_index(found, i), event, &ok, &detail,
                                                &unkept));
    }
    json_object_set_array_member(answer, "notices", list);
    if (!ok) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_STATE, "%s", detail);
        json_object_unref(answer);
        return NULL;
    }
    if (unkept) {
        g_propagate_prefixed_error(error, g_steal_pointer(&unkept),
                                   "done, but a restart of hzd would undo it: ");
        json_object_unref(answer);
        return NULL;
    }
    return answer;
}

JsonObject *hz_notices_start(HzHost *host, const HzNoticeRef *ref, GError **error)
{
    return all(host, ref, HZ_LIFE_START, "notice-start", error);
}

JsonObject *hz_notices_complete(HzHost *host, const HzNoticeRef *ref, GError **error)
{
    return all(host, ref, HZ_LIFE_COMPLETE, "notice-complete", error);
}

JsonObject *hz_notices_cancel(HzHost *host, const HzNoticeRef *ref, GError **error)
{
    return all(host, ref, HZ_LIFE_CANCEL, "notice-cancel", error);
}
