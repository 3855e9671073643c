/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd drain: one cause to many VMs, and whether they are all out of the way. */
#include <string.h>

#include "core/vocabulary.h"
#include "json-util.h"
#include "notice-int.h"

#define BIT(reply) (1u << (reply))
#define GONE_AFTER (6 * HZ_SEC)        /* longer than a device or a monitor takes to come back */

static gboolean ready(const HzNotice *notice)
{
    return notice->prepared_us || notice->life.replied & (BIT(VIRTIO_HZ_REPLY_PREPARED) |
                                                          BIT(VIRTIO_HZ_REPLY_ACCEPT));
}

/*
 * No link, and no monitor answers: it has been shut down or moved away. A VM
 * that never had either can't be told from one that merely says nothing.
 */
static gboolean gone(const HzVm *vm)
{
    uint64_t now = hz_now();

    if (vm->links->len || (!vm->vmms->len && !vm->lost_at) ||
        now < vm->host->started + GONE_AFTER || now < vm->lost_at + GONE_AFTER) {
        return FALSE;
    }
    for (guint i = 0; i < vm->vmms->len; i++) {
        if (hz_vmm_connected(g_ptr_array_index(vm->vmms, i))) {
            return FALSE;
        }
    }
    return TRUE;
}

/* Where one VM stands. The impact itself is an orchestrator's: a prepared VM is out of the way. */
static const char *status_of(const HzNotice *notice)
{
    const struct hz_life *l = &notice->life;

    if (hz_notice_closed(notice)) {
        return l->closed_cause == VIRTIO_HZ_CAUSE_DECLINED ? "declined" : "closed";
    }
    if (ready(notice)) {
        return "prepared";
    }
    if (gone(notice->vm)) {
        return "gone";
    }
    if (l->state == VIRTIO_HZ_STATE_STARTED) {
        return "unprepared";
    }
    if (notice->last_reply == VIRTIO_HZ_REPLY_FAILED) {
        return "failed";
    }
    return "waiting";
}

static HzNotice *notice_of(const HzVm *vm, const char *key)
{
    uint8_t id[VIRTIO_HZ_UUID_LEN];

    hz_notice_id(vm, key, id);
    return hz_notice_find(vm, id);
}

static const char *without_notice(HzVm *vm)
{
    return hz_vm_mode(vm, NULL) == HZ_MODE_ENFORCE ? "refused" : "untouched";
}

static JsonObject *standing(const GPtrArray *vms, const char *key)
{
    gboolean done = TRUE, ok = TRUE;
    JsonArray *list = json_array_new();
    JsonObject *answer = json_object_new();

    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);
        const HzNotice *notice = notice_of(vm, key);
        const char *status = notice ? status_of(notice) : without_notice(vm);
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "vm", vm->name);
        json_object_set_string_member(o, "status", status);
        json_object_set_boolean_member(o, "linked", vm->synced);
        if (notice) {
            hz_json_set_id(o, "id", notice->n.id);
            json_object_set_string_member(o, "state", hz_state_name(notice->life.state));
            json_object_set_boolean_member(o, "untold", notice->untold);
            if (notice->life.deadline != HZ_LIFE_NEVER) {
                json_object_set_int_member(o, "deadline-ms", ((gint64)notice->life.deadline -
                                                              (gint64)hz_now()) / (gint64)HZ_MS);
            }
        }
        /* a guest that failed may still make it by the deadline */
        done &= strcmp(status, "waiting") && strcmp(status, "failed");
        ok &= !strcmp(status, "prepared") || !strcmp(status, "closed") || !strcmp(status, "gone");
        json_array_add_object_element(list, o);
    }
    json_object_set_string_member(answer, "key", key);
    json_object_set_boolean_member(answer, "done", done);
    json_object_set_boolean_member(answer, "ok", done && ok);
    json_object_set_array_member(answer, "vms", list);
    return answer;
}

JsonObject *hz_notices_drain(HzHost *host, const HzNotifySpec *asked, GError **error)
{
    HzNotifySpec spec = *asked;
    g_autofree char *key = spec.key ? g_strdup(spec.key) : g_uuid_string_random();
    g_autoptr(GPtrArray) vms = NULL;
    JsonObject *placed;

    spec.key = key;
    spec.kind = spec.kind ? spec.kind : HZ_KIND_RECLAIM;
    spec.drain = TRUE;
    spec.all = spec.all || (!spec.vms && !spec.tenant);
    if (!spec.cause) {
        spec.cause = VIRTIO_HZ_CAUSE_MAINTENANCE;
    }
    if (!hz_life_impact(spec.kind) || spec.kind == HZ_KIND_PAUSE) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                    "a drain's kind is one that takes the VM away (reclaim, move, reboot, "
                    "terminate), not %s", hz_kind_name(spec.kind));
        return NULL;
    }
    vms = hz_notice_select(host, &spec, error);
    if (!vms) {
        return NULL;
    }
    placed = hz_notices_notify(host, &spec, error);
    if (!placed) {
        return NULL;
    }
    json_object_unref(placed);
    return standing(vms, key);
}
