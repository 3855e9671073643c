/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd notice store: what no board can give back after a restart.
 *
 * That is little: notices whose VM has no link now, acts under way, and the
 * pauses of the last hour. Times are CLOCK_BOOTTIME's and so good only until
 * the host boots anew, when the VMs they are about are gone too.
 */
#include <string.h>

#include "ids.h"
#include "json-util.h"
#include "notice-int.h"
#include "pause.h"
#include "state.h"

#define FILE_NAME "notices"
#define SAVE_DELAY (200 * HZ_MS)

static char *boot_id(void)
{
    char *text = NULL;

    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL)) {
        return g_strdup("");
    }
    return g_strchomp(text);
}

/* -- writing ------------------------------------------------------------ */

static gboolean only_here(const HzNotice *notice)
{
    return notice->acting || (!hz_notice_closed(notice) && !notice->foreign &&
                              (!notice->confirmed || notice->untold));
}

static JsonObject *notice_object(const HzNotice *notice)
{
    uint8_t body[VIRTIO_HZ_MAX_FRAME];
    struct hz_notice n = notice->n;
    const struct hz_life *l = &notice->life;
    JsonObject *o = json_object_new();
    g_autofree char *text = NULL;
    int len;

    n.state = l->state;
    n.ack = l->ack;
    n.revision = l->revision;
    n.flags = (uint8_t)(n.flags | (l->lapsed ? VIRTIO_HZ_NOTICE_LAPSED : 0));
    n.replied = 0;
    n.reply = VIRTIO_HZ_REPLY_NONE;
    n.reply_doc_len = 0;
    len = hz_notice_put(body, sizeof(body), &n);
    text = g_base64_encode(body, (gsize)MAX(len, 0));
    json_object_set_string_member(o, "vm", notice->vm->name);
    json_object_set_string_member(o, "notice", text);
    json_object_set_string_member(o, "key", notice->key ? notice->key : "");
    json_object_set_string_member(o, "cause-key", notice->cause_key ? notice->cause_key : "");
    hz_json_set_u64(o, "not-before", l->not_before);
    hz_json_set_u64(o, "deadline", MIN(l->deadline, (uint64_t)G_MAXINT64));
    hz_json_set_u64(o, "extend-left", MIN(l->extend_left, (uint64_t)G_MAXINT64));
    json_object_set_boolean_member(o, "extended", l->extended);
    json_object_set_boolean_member(o, "untold", notice->untold);
    json_object_set_boolean_member(o, "drain", notice->drain);
    json_object_set_boolean_member(o, "acting", notice->acting);
    hz_json_set_u64(o, "stopped", notice->stopped_ns);
    json_object_set_int_member(o, "stopped-wall-us", notice->stopped_wall_us);
    return o;
}

static void add_vm(HzVm *vm, JsonArray *notices, JsonObject *pauses)
{
    for (guint i = 0; i < vm->notices->len; i++) {
        const HzNotice *notice = g_ptr_array_index(vm->notices, i);

        if (only_here(notice)) {
            json_array_add_object_element(notices, notice_object(notice));
        }
    }
    if (hz_vm_pauses_last_hour(vm)) {
        JsonArray *a = json_array_new();

        for (guint i = 0; i < vm->pauses->len; i++) {
            json_array_add_int_element(a, g_array_index(vm->pauses, gint64, i));
        }
        json_object_set_array_member(pauses, vm->name, a);
    }
}

static char *all_text(HzHost *host)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    g_autofree char *boot = boot_id();
    JsonObject *o = json_object_new(), *pauses = json_object_new();
    JsonArray *notices = json_array_new();

    for (guint i = 0; i < vms->len; i++) {
        add_vm(g_ptr_array_index(vms, i), notices, pauses);
    }
    json_object_set_string_member(o, "boot", boot);
    json_object_set_array_member(o, "notices", notices);
    json_object_set_object_member(o, "pauses", pauses);
    json_node_take_object(node, o);
    return json_to_string(node, FALSE);
}

gboolean hz_notices_save(HzHost *host, GError **error)
{
    g_autofree char *text = all_text(host);

    if (host->save) {
        hz_timer_set(host->save, UINT64_MAX);
    }
    if (!g_strcmp0(text, host->saved)) {
        return TRUE;
    }
    /* of no use after the host's next boot: nothing to wait for the disk for */
    if (!hz_state_write(host->state, FILE_NAME, text, FALSE, error)) {
        return FALSE;
    }
    g_free(host->saved);
    host->saved = g_steal_pointer(&text);
    return TRUE;
}

static void save_now(gpointer opaque)
{
    hz_notices_save(opaque, NULL);
}

void hz_notices_save_soon(HzHost *host)
{
    if (!host->save) {
        host->save = hz_timer_new(save_now, host);
    }
    /* by then the boards have most of them */
    hz_timer_set(host->save, hz_now() + SAVE_DELAY);
}

gboolean hz_notice_keep(const HzNotice *notice, GError **error)
{
    /* a board that is there remembers it, whatever happens here */
    return (notice->vm->synced && !notice->untold) || hz_notices_save(notice->vm->host, error);
}

/* -- reading ------------------------------------------------------------ */

static void set_life(HzNotice *notice, JsonObject *o)
{
    struct hz_life *l = &notice->life;
    gint64 deadline = hz_json_int(o, "deadline", G_MAXINT64);

    l->kind = notice->n.kind;
    l->state = notice->n.state;
    l->ack = notice->n.ack;
    l->revision = notice->n.revision;
    l->impact = hz_life_impact(l->kind);
    l->test = notice->n.flags & VIRTIO_HZ_NOTICE_TEST;
    l->lapsed = notice->n.flags & VIRTIO_HZ_NOTICE_LAPSED;
    l->extended = hz_json_bool(o, "extended", FALSE);
    l->not_before = (uint64_t)MAX(hz_json_int(o, "not-before", 0), 0);
    l->deadline = deadline == G_MAXINT64 || deadline < 0 ? HZ_LIFE_NEVER : (uint64_t)deadline;
    l->extend_left = (uint64_t)MAX(hz_json_int(o, "extend-left", 0), 0);
}

static void take_notice(HzHost *host, JsonObject *o)
{
    HzVm *vm = hz_host_vm(host, hz_json_text(o, "vm", ""), NULL);
    g_autofree guchar *body = NULL;
    struct hz_notice n;
    HzNotice *notice;
    gsize len;

    body = g_base64_decode(hz_json_text(o, "notice", ""), &len);
    if (!vm || hz_notice_get(body, len, &n) || hz_notice_find(vm, n.id)) {
        return;
    }
    notice = hz_notice_new(vm, n.id);
    notice->n = n;
    notice->key = *hz_json_text(o, "key", "") ? g_strdup(hz_json_text(o, "key", "")) : NULL;
    notice->cause_key = g_strdup(hz_json_text(o, "cause-key", NULL));
    notice->untold = hz_json_bool(o, "untold", FALSE);
    notice->drain = hz_json_bool(o, "drain", FALSE);
    notice->stopped_ns = (uint64_t)MAX(hz_json_int(o, "stopped", 0), 0);
    notice->stopped_wall_us = hz_json_int(o, "stopped-wall-us", 0);
    notice->dirty = TRUE;
    set_life(notice, o);
    hz_notice_set_timer(notice);
    if (hz_json_bool(o, "acting", FALSE)) {
        hz_pause_recover(notice);
    }
}

static void take_pauses(HzHost *host, JsonObject *pauses)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);

    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);
        JsonArray *a = hz_json_array(pauses, vm->name);

        for (guint k = 0; a && k < json_array_get_length(a); k++) {
            gint64 at = json_array_get_int_element(a, k);

            g_array_append_val(vm->pauses, at);
        }
    }
}

void hz_notices_load(HzHost *host)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = hz_state_read(host->state, FILE_NAME, &error);
    g_autofree char *boot = boot_id();
    g_autoptr(JsonNode) node = NULL;
    JsonObject *o;
    JsonArray *a;

    if (text) {
        node = json_from_string(text, &error);
    }
    if (error) {
        g_warning("notices of before the restart are lost, those on boards aren't: %s",
                  error->message);
    }
    if (!node || !JSON_NODE_HOLDS_OBJECT(node)) {
        return;
    }
    o = json_node_get_object(node);
    take_pauses(host, hz_json_object(o, "pauses"));
    a = hz_json_array(o, "notices");
    if (strcmp(hz_json_text(o, "boot", ""), boot)) {
        return;
    }
    for (guint i = 0; a && i < json_array_get_length(a); i++) {
        take_notice(host, hz_json_at(a, i));
    }
}
