/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd events: what is told to watchers and written to the audit.
 *
 * What a guest or a stranger can cause at will is counted here, so that
 * neither disk nor watchers pay for a flood.
 */
#include "events.h"

#include <string.h>

#include "audit.h"
#include "control.h"
#include "core/vocabulary.h"
#include "ids.h"
#include "json-util.h"
#include "link-int.h"
#include "notices.h"

#define REFUSED_EVERY (10 * HZ_SEC)
#define DECL_BURST 40
#define LINK_BURST 100
#define REPLY_BURST 1000
#define WRITE_RATE 2

static JsonObject *vm_object(const HzVm *vm, const char *what)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "vm", vm->name);
    json_object_set_string_member(o, "what", what);
    return o;
}

/*
 * Is there room in the VM's share of written lines? What was left out is told
 * when there is again.
 */
static gboolean may_write(HzVm *vm, HzBucket *share, double burst)
{
    JsonObject *o;

    if (!hz_bucket_take(share, burst, WRITE_RATE)) {
        vm->unwritten++;
        return FALSE;
    }
    if (vm->unwritten) {
        o = vm_object(vm, "unwritten");
        hz_json_set_u64(o, "count", vm->unwritten);
        vm->unwritten = 0;
        hz_audit(vm->host, "flood", o);
    }
    return TRUE;
}

/* One object to both; watchers first: they wait. */
static void tell(HzHost *host, const char *event, const char *audit, JsonObject *o)
{
    hz_control_event(host, event, json_object_ref(o));
    hz_audit(host, audit, o);
}

void hz_event_vm(HzVm *vm, const char *what)
{
    JsonObject *o;

    if (!may_write(vm, &vm->written_links, LINK_BURST)) {
        return;
    }
    o = vm_object(vm, what);
    if (vm->has_hello) {
        hz_json_set_id(o, "generation", vm->hello.generation);
        json_object_set_int_member(o, "disruption", (gint64)vm->hello.disruption);
    }
    tell(vm->host, "VM_LINK", "link", o);
}

void hz_event_link(HzLink *link, const char *what)
{
    JsonObject *o;

    if (!may_write(link->vm, &link->vm->written_links, LINK_BURST)) {
        return;
    }
    o = vm_object(link->vm, what);
    json_object_set_int_member(o, "pid", link->pid);
    tell(link->vm->host, "VM_LINK", "link", o);
}

void hz_event_refused(HzVm *vm, pid_t pid, uid_t uid, const char *why)
{
    uint64_t now = hz_now();
    guint hash = g_str_hash(why);
    JsonObject *o;

    if (vm->refused_hash == hash && now < vm->refused_at + REFUSED_EVERY) {
        return;
    }
    if (!may_write(vm, &vm->written_links, LINK_BURST)) {
        return;
    }
    vm->refused_hash = hash;
    vm->refused_at = now;
    g_message("VM %s: refused a connection of pid %d (uid %u): %s", vm->name, (int)pid, uid, why);
    o = vm_object(vm, "refused");
    json_object_set_int_member(o, "pid", pid);
    json_object_set_int_member(o, "uid", uid);
    json_object_set_string_member(o, "why", why);
    tell(vm->host, "VM_LINK", "refused", o);
}

void hz_event_declaration(HzVm *vm, const HzDecl *decl, const char *what)
{
    JsonObject *o;

    if (!may_write(vm, &vm->written_decls, DECL_BURST)) {
        return;
    }
    o = vm_object(vm, what);
    json_object_set_string_member(o, "subject", (const char *)decl->subject);
    json_object_set_int_member(o, "seq", (gint64)decl->d.seq);
    json_object_set_object_member(o, "fields", hz_json_doc(decl->d.doc, decl->d.doc_len));
    tell(vm->host, "DECLARATION", "declaration", o);
}

void hz_event_verdict(HzVm *vm, const HzDecl *decl)
{
    JsonObject *o;

    if (!may_write(vm, &vm->written_decls, DECL_BURST)) {
        return;
    }
    o = vm_object(vm, "verdict");
    json_object_set_string_member(o, "subject", (const char *)decl->subject);
    json_object_set_int_member(o, "seq", (gint64)decl->want.seq);
    json_object_set_array_member(o, "verdicts",
                                 hz_json_verdicts(decl->want.verdict, decl->want.verdicts));
    tell(vm->host, "VERDICT", "verdict", o);
}

void hz_event_notice(HzNotice *notice, const char *what, const char *detail)
{
    HzVm *vm = notice->vm;
    JsonObject *o;

    /* the guest's part; what hzd does itself pays for it */
    if (!strcmp(what, "reply") || !strcmp(what, "reply-refused")) {
        if (!may_write(vm, &vm->written_replies, REPLY_BURST)) {
            return;
        }
    } else {
        hz_bucket_give(&vm->written_replies, 1);
    }
    o = hz_notice_json(notice);
    json_object_set_string_member(o, "what", what);
    if (detail) {
        json_object_set_string_member(o, "detail", detail);
    }
    tell(vm->host, "NOTICE", "notice", o);
}

void hz_event_actuator(HzHost *host, const char *name, const char *what, JsonObject *data)
{
    JsonObject *o = data ? data : json_object_new();

    json_object_set_string_member(o, "actuator", name);
    json_object_set_string_member(o, "what", what);
    tell(host, "ACTUATOR", "actuator", o);
}
