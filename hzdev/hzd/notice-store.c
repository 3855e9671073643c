/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd notice store: what no board can give back after a restart.
 *
 * That is little: notices whose VM has no link now, acts under way, the
 * pauses of the last hour, and of other notices the caller's key and the like.
 * Times are CLOCK_BOOTTIME's and so good only until the host boots anew, when
 * the VMs they are about are gone too.
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
    json_object_set_string_member(o, "why", notice->why ? notice->why : "");
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

static char *board_key(const HzVm *vm, const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    g_autofree char *text = hz_id_text(id);

    return g_strconcat(vm->name, "/", text, NULL);
}

/* Of one that its board gives back: what isn't on it. */
static JsonObject *beside_board(const HzNotice *notice)
{
    const struct hz_life *l = &notice->life;
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "key", notice->key);
    json_object_set_string_member(o, "cause-key", notice->cause_key ? notice->cause_key : "");
    json_object_set_string_member(o, "why", notice->why ? notice->why : "");
    json_object_set_int_member(o, "revision", l->revision);
    json_object_set_int_member(o, "state", l->state);
    hz_json_set_u64(o, "deadline", MIN(l->deadline, (uint64_t)G_MAXINT64));
    hz_json_set_u64(o, "extend-left", MIN(l->extend_left, (uint64_t)G_MAXINT64));
    json_object_set_boolean_member(o, "extended", l->extended);
    json_object_set_boolean_member(o, "drain", notice->drain);
    return o;
}

static void add_vm(HzVm *vm, JsonArray *notices, JsonObject *boards, JsonObject *pauses)
{
    for (guint i = 0; i < vm->notices->len; i++) {
        const HzNotice *notice = g_ptr_array_index(vm->notices, i);

        if (only_here(notice)) {
            json_array_add_object_element(notices, notice_object(notice));
        }
        if (notice->key) {
            g_autofree char *key = board_key(vm, notice->n.id);

            json_object_set_object_member(boards, key, beside_board(notice));
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

/* What an earlier hzd wrote about a board that hasn't spoken since is written on. */
static void add_recalled(HzHost *host, JsonObject *boards)
{
    GHashTableIter it;
    gpointer key, o;

    if (!host->recalled) {
        return;
    }
    g_hash_table_iter_init(&it, host->recalled);
    while (g_hash_table_iter_next(&it, &key, &o)) {
        g_autofree char *name = g_strndup(key, (gsize)(strchr(key, '/') - (char *)key));
        const HzVm *vm = hz_host_vm(host, name, NULL);

        if (vm && !vm->session_done) {
            json_object_set_object_member(boards, key, json_object_ref(o));
        }
    }
}

static char *all_text(HzHost *host)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    g_autofree char *boot = boot_id();
    JsonObject *o = json_object_new(), *pauses = json_object_new(), *boards = json_object_new();
    JsonArray *notices = json_array_new();

    add_recalled(host, boards);
    for (guint i = 0; i < vms->len; i++) {
        add_vm(g_ptr_array_index(vms, i), notices, boards, pauses);
    }
    json_object_set_string_member(o, "boot", boot);
    json_object_set_array_member(o, "notices", notices);
    json_object_set_object_member(o, "boards", boards);
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
    hz_notice_say(notice, *hz_json_text(o, "why", "") ? hz_json_text(o, "why", NULL) : NULL);
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

static void take_boards(HzHost *host, JsonObject *boards)
{
    g_autoptr(GList) keys = boards ? json_object_get_members(boards) : NULL;

    host->recalled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                           (GDestroyNotify)json_object_unref);
    for (GList *i = keys; i; i = i->next) {
        JsonObject *o = hz_json_object(boards, i->data);

        if (o && strchr(i->data, '/')) {
            g_hash_table_insert(host->recalled, g_strdup(i->data), json_object_ref(o));
        }
    }
}

void hz_notice_recall(HzNotice *notice)
{
    HzHost *host = notice->vm->host;
    g_autofree char *key = board_key(notice->vm, notice->n.id);
    JsonObject *o = host->recalled ? g_hash_table_lookup(host->recalled, key) : NULL;
    struct hz_life *l = &notice->life;

    if (!o) {
        return;
    }
    notice->key = g_strdup(hz_json_text(o, "key", NULL));
    notice->cause_key = g_strdup(hz_json_text(o, "cause-key", NULL));
    notice->drain = hz_json_bool(o, "drain", FALSE);
    if (hz_json_int(o, "revision", -1) == l->revision && !notice->foreign) {
        gint64 deadline = hz_json_int(o, "deadline", -1);

        /* a board's times end at nought */
        if (deadline > 0 && deadline != G_MAXINT64 && l->deadline != HZ_LIFE_NEVER) {
            l->deadline = (uint64_t)deadline;
        }
        l->extended = hz_json_bool(o, "extended", FALSE);
        l->extend_left = (uint64_t)MAX(hz_json_int(o, "extend-left", 0), 0);
        if (hz_json_int(o, "state", -1) == l->state && *hz_json_text(o, "why", "")) {
            hz_notice_say(notice, hz_json_text(o, "why", NULL));
        }
    }
    g_hash_table_remove(host->recalled, key);
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
    take_boards(host, hz_json_object(o, "boards"));
    for (guint i = 0; a && i < json_array_get_length(a); i++) {
        take_notice(host, hz_json_at(a, i));
    }
}
