/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd ledger: the mirror of one VM's board, as its records come.
 *
 * Three graces keep what the guest declared from flapping: after a driver's
 * reset (a reload declares again), after a lost link (the chardev connects
 * again), and between HELLO and SYNC (the old mirror counts until the new is
 * whole). What is withdrawn counts no more from the next decision on.
 */
#include <string.h>

#include "audit.h"
#include "control.h"
#include "core/vocabulary.h"
#include "events.h"
#include "ids.h"
#include "link.h"
#include "notices.h"
#include "plan.h"
#include "verdicts.h"
#include "vm.h"

/* A device's chardev connects again after 1 s; one that is gone for so long has no VM behind it. */
#define LINK_GRACE (5 * HZ_SEC)

static HzDecl *find(const HzVm *vm, const uint8_t subject[VIRTIO_HZ_KEY_LEN])
{
    for (guint i = 0; i < vm->decls->len; i++) {
        HzDecl *decl = g_ptr_array_index(vm->decls, i);

        if (!memcmp(decl->subject, subject, VIRTIO_HZ_KEY_LEN)) {
            return decl;
        }
    }
    return NULL;
}

HzDecl *hz_vm_decl(const HzVm *vm, const char *subject)
{
    uint8_t key[VIRTIO_HZ_KEY_LEN];

    return hz_subject_put(key, subject) ? find(vm, key) : NULL;
}

static uint64_t merge(const struct hz_field *f, uint64_t a, uint64_t b)
{
    switch (f->merge) {
    case HZ_MERGE_MIN:
        return MIN(a, b);
    case HZ_MERGE_MAX:
        return MAX(a, b);
    case HZ_MERGE_SUM:
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
    case HZ_MERGE_OR:
        return a | b;
    case HZ_MERGE_LAST:
        break;
    }
    return b;
}

bool hz_decl_u64(const HzDecl *decl, uint16_t field, uint64_t *value)
{
    for (unsigned i = 0; i < decl->judged; i++) {
        if (decl->judge[i].field == field) {
            return decl->judge[i].code == VIRTIO_HZ_VERDICT_PENDING &&
                   hz_doc_u64(decl->d.doc, decl->d.doc_len, field, value);
        }
    }
    return false;
}

bool hz_vm_declared(const HzVm *vm, const char *subject, uint16_t field, uint64_t *value)
{
    const struct hz_field *f = hz_field_by_id(field);
    bool found = false;

    for (guint i = 0; f && i < vm->decls->len; i++) {
        const HzDecl *decl = g_ptr_array_index(vm->decls, i);
        uint64_t v;

        if (subject ? strcmp(subject, (const char *)decl->subject)
                    : !(f->subjects & hz_subject_kind(decl->subject))) {
            continue;
        }
        if (hz_decl_u64(decl, field, &v)) {
            *value = found ? merge(f, *value, v) : v;
            found = true;
        }
    }
    return found;
}

unsigned hz_subject_nic(const HzDecl *decl)
{
    const char *digits = (const char *)decl->subject + strlen("nic/");
    guint64 n;

    return hz_subject_kind(decl->subject) == HZ_ON_NIC &&
           g_ascii_string_to_unsigned(digits, 10, 0, UINT_MAX - 1, &n, NULL) ? (unsigned)n
                                                                             : UINT_MAX;
}

bool hz_vm_in_job(const HzVm *vm, const uint8_t job[VIRTIO_HZ_UUID_LEN])
{
    for (guint i = 0; i < vm->decls->len; i++) {
        const HzDecl *decl = g_ptr_array_index(vm->decls, i);
        uint16_t len;
        const uint8_t *raw = hz_doc_find(decl->d.doc, decl->d.doc_len, HZ_F_JOB_ID, &len);

        if (raw && len == VIRTIO_HZ_UUID_LEN && !memcmp(raw, job, len)) {
            return true;
        }
    }
    return false;
}

/* -- graces ------------------------------------------------------------- */

static gboolean held(const HzVm *vm, const HzDecl *decl, uint64_t now)
{
    if (vm->lost_at) {
        return now < vm->lost_at + LINK_GRACE;
    }
    return !decl->gone_at || now < vm->reset_until;
}

bool hz_vm_expire(HzVm *vm)
{
    uint64_t now = hz_now();
    bool any = false;

    for (guint i = vm->decls->len; i > 0; i--) {
        HzDecl *decl = g_ptr_array_index(vm->decls, i - 1);

        if (!held(vm, decl, now)) {
            hz_event_declaration(vm, decl, "withdrawn");
            g_ptr_array_remove_index(vm->decls, i - 1);
            any = true;
        }
    }
    return any;
}

static void set_hold(HzVm *vm)
{
    uint64_t at = UINT64_MAX;

    if (vm->lost_at) {
        at = vm->lost_at + LINK_GRACE;
    } else if (vm->reset_until > hz_now()) {
        at = vm->reset_until;
    }
    hz_timer_set(vm->hold, at);
}

/* -- what the link brings ----------------------------------------------- */

void hz_vm_session(HzVm *vm, const struct hz_hello *hello)
{
    vm->new_generation = vm->has_hello && memcmp(vm->hello.generation, hello->generation,
                                                 VIRTIO_HZ_UUID_LEN);
    vm->migrated = !vm->has_hello || vm->new_generation ||
                   vm->hello.disruption != hello->disruption;
    vm->session++;
    vm->counters.sessions++;
    vm->hello = *hello;
    vm->has_hello = TRUE;
    vm->synced = FALSE;
    vm->lost_at = 0;
    vm->run_state = hello->run_state;
    /* resets count within one life of a driver: the first STATUS of a session only sets the mark */
    vm->status_session = 0;
    for (guint i = 0; i < vm->decls->len; i++) {
        HzDecl *decl = g_ptr_array_index(vm->decls, i);

        memset(&decl->sent, 0, sizeof(decl->sent));
    }
    set_hold(vm);
}

static int take_status(HzVm *vm, const struct hz_rec *rec)
{
    struct hz_status s;
    bool first = vm->status_session != vm->session;

    if (hz_status_get(rec->body, rec->body_len, &s)) {
        return -1;
    }
    /* within one disruption the count tells a reset, also one while the link was away */
    if (s.resets > vm->status.resets && vm->status_seen && !(first && vm->migrated)) {
        vm->reset_until = hz_now() + vm->host->config->reset_grace_ns;
        hz_event_vm(vm, "reset");
        set_hold(vm);
    }
    vm->status = s;
    vm->status_seen = TRUE;
    vm->status_session = vm->session;
    return 0;
}

static gboolean same_verdicts(const struct hz_set_verdicts *a, uint64_t seq, unsigned count,
                              const struct hz_verdict *b)
{
    if (a->seq != seq || a->verdicts != count) {
        return FALSE;
    }
    for (unsigned i = 0; i < count; i++) {
        const struct hz_verdict *x = &a->verdict[i], *y = &b[i];

        if (x->field != y->field || x->code != y->code || x->reason != y->reason ||
            x->value != y->value) {
            return FALSE;
        }
    }
    return TRUE;
}

static void take_column(HzDecl *decl, const struct hz_declaration *d)
{
    decl->sent.seq = d->verdict_seq;
    decl->sent.verdicts = d->verdicts;
    memcpy(decl->sent.verdict, d->verdict, d->verdicts * sizeof(d->verdict[0]));
}

/* A board has so many places; beside them only what a grace still holds. */
static gboolean make_room(HzVm *vm)
{
    HzDecl *oldest = NULL;
    unsigned standing = 0;

    for (guint i = 0; i < vm->decls->len; i++) {
        HzDecl *decl = g_ptr_array_index(vm->decls, i);

        standing += decl->session == vm->session && !decl->gone_at;
        if (decl->gone_at && (!oldest || decl->gone_at < oldest->gone_at)) {
            oldest = decl;
        }
    }
    if (oldest && vm->decls->len >= 2 * VIRTIO_HZ_MAX_DECLARATIONS) {
        g_ptr_array_remove(vm->decls, oldest);
    }
    return standing < vm->hello.max_declarations;
}

static int take_declaration(HzVm *vm, const struct hz_rec *rec)
{
    HzDecl *decl = find(vm, rec->key);
    struct hz_declaration d;
    gboolean news;

    if (!hz_subject_ok(rec->key)) {
        return -1;
    }
    if (rec->hdr.flags & VIRTIO_HZ_REC_GONE) {
        if (decl && !decl->gone_at) {
            decl->gone_at = hz_now();
            hz_vm_kick(vm);
        }
        return 0;
    }
    if (hz_declaration_get(rec->body, rec->body_len, &d)) {
        return -1;
    }
    if (!decl && !make_room(vm)) {
        return -1;
    }
    if (!decl) {
        decl = g_new0(HzDecl, 1);
        memcpy(decl->subject, rec->key, VIRTIO_HZ_KEY_LEN);
        g_ptr_array_add(vm->decls, decl);
    }
    news = decl->d.seq != d.seq || decl->gone_at;
    /* the column as the device shows it, unless that's an echo older than what was sent since */
    if (decl->session != vm->session || news ||
        same_verdicts(&decl->want, d.verdict_seq, d.verdicts, d.verdict)) {
        take_column(decl, &d);
    }
    if (news) {
        decl->judged = hz_doc_judge(decl->subject, d.doc, d.doc_len, decl->judge);
    }
    decl->d = d;
    decl->session = vm->session;
    decl->gone_at = 0;
    if (news) {
        hz_event_declaration(vm, decl, "declared");
        hz_vm_kick(vm);
    }
    return 0;
}

static int take_notice(HzVm *vm, const struct hz_rec *rec)
{
    struct hz_notice n;
    gboolean gone = rec->hdr.flags & VIRTIO_HZ_REC_GONE;

    if (gone) {
        memset(&n, 0, sizeof(n));
        memcpy(n.id, rec->key, VIRTIO_HZ_UUID_LEN);
    } else if (hz_notice_get(rec->body, rec->body_len, &n) ||
               memcmp(n.id, rec->key, VIRTIO_HZ_UUID_LEN)) {
        return -1;
    }
    return hz_notices_record(vm, &n, gone);
}

const char *hz_vm_record(HzVm *vm, const struct hz_rec *rec)
{
    if (rec->hdr.flags & VIRTIO_HZ_REC_TRUNCATED) {
        return "a truncated record";
    }
    switch (rec->hdr.type) {
    case VIRTIO_HZ_R_STATUS:
        return take_status(vm, rec) ? "a STATUS record whose body is wrong" : NULL;
    case VIRTIO_HZ_R_DECLARATION:
        return take_declaration(vm, rec) ? "a DECLARATION record that is wrong, or one too many"
                                         : NULL;
    default:
        return take_notice(vm, rec) ? "a NOTICE record that is wrong, or one too many" : NULL;
    }
}

void hz_vm_sync(HzVm *vm)
{
    uint64_t now = hz_now();

    if (vm->synced) {
        return;
    }
    vm->synced = vm->session_done = TRUE;
    for (guint i = 0; i < vm->decls->len; i++) {
        HzDecl *decl = g_ptr_array_index(vm->decls, i);

        if (decl->session != vm->session && !decl->gone_at) {
            decl->gone_at = now;
        }
    }
    hz_notices_synced(vm);
    hz_event_vm(vm, "up");
    hz_plan_vm_synced(vm);
    hz_plan_kick(vm->host);
    hz_link_pump(vm);
}

void hz_vm_runstate(HzVm *vm, uint16_t run_state)
{
    if (vm->run_state != run_state) {
        vm->run_state = run_state;
        hz_event_vm(vm, run_state == HZ_RUN_RUNNING ? "running" : "paused");
    }
}

void hz_vm_refused(HzVm *vm, uint64_t cookie, const struct hz_refused *refused)
{
    vm->counters.refused++;
    if (refused->type == HZ_L_SET_NOTICE || refused->type == HZ_L_DROP_NOTICE) {
        hz_notices_refused(vm, cookie, refused);
    }
    /* SET_VERDICTS for a declaration that has changed meanwhile: its record is on the way */
}

void hz_vm_lost(HzVm *vm, gboolean bye)
{
    uint64_t now = hz_now();

    vm->synced = FALSE;
    /* gone for good: nothing will connect again, so nothing is held */
    vm->lost_at = bye ? (now > LINK_GRACE ? now - LINK_GRACE : 1) : now;
    hz_event_vm(vm, bye ? "bye" : "down");
    set_hold(vm);
}

/* -- what is to be told ------------------------------------------------- */

static int next_verdicts(HzVm *vm, void *buf, size_t cap)
{
    for (guint i = 0; i < vm->decls->len; i++) {
        HzDecl *decl = g_ptr_array_index(vm->decls, i);

        if (!decl->gone_at && decl->want.seq && decl->want.seq == decl->d.seq &&
            decl->session == vm->session &&
            !same_verdicts(&decl->want, decl->sent.seq, decl->sent.verdicts, decl->sent.verdict)) {
            decl->sent = decl->want;
            return hz_set_verdicts_frame(buf, cap, 0, &decl->want);
        }
    }
    return 0;
}

int hz_vm_next_frame(HzVm *vm, void *buf, size_t cap)
{
    int len;

    if (!vm->synced) {
        return 0;
    }
    len = hz_notices_next_frame(vm, buf, cap);
    return len ? len : next_verdicts(vm, buf, cap);
}
