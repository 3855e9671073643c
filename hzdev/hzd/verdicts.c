/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd verdicts: the column beside each declaration.
 *
 * What the vocabulary alone can say is merged with what the consumer of each
 * field does about it. ACCEPTED and CLAMPED are said only while a running
 * consumer enforces. While an answer is still being found out, the column
 * stays as it is: a guest isn't rung for every step on the way.
 */
#include "verdicts.h"

#include <string.h>

#include "actuators.h"
#include "core/vocabulary.h"
#include "events.h"
#include "plan.h"
#include "redact.h"

/* Judge one field; FALSE: not known yet. */
typedef gboolean (*Judge)(HzVm *vm, const HzDecl *decl, uint64_t value, struct hz_verdict *v);

static gboolean say(struct hz_verdict *v, uint8_t code, uint8_t reason, uint64_t value)
{
    v->code = code;
    v->reason = reason;
    v->value = value;
    return TRUE;
}

static gboolean by_mode(HzMode mode, struct hz_verdict *v)
{
    return say(v, mode == HZ_MODE_OFF ? VIRTIO_HZ_VERDICT_UNSUPPORTED : VIRTIO_HZ_VERDICT_RECORDED,
               VIRTIO_HZ_REASON_MODE, 0);
}

/* -- hzd's own fields --------------------------------------------------- */

/* The value that the entitlement makes of a declared one. */
static uint64_t granted(const HzVm *vm, uint16_t field, uint64_t value)
{
    const HzConfigVm *c = vm->conf;

    switch (field) {
    case HZ_F_PRIORITY:
        return MIN(value, c->priority);
    case HZ_F_MAX_PAUSES_PER_H:
        return c->has_max_pauses ? MAX(value, c->max_pauses_per_h) : value;
    case HZ_F_EXTEND_MAX:
        return MIN(value, c->extend_max_ns / HZ_MS);
    case HZ_F_SUBSCRIBE_GRAIN:
        return MIN(value, c->granularity);
    case HZ_F_SUBSCRIBE_EVENTS:
        return value & c->events;
    default:
        return value;
    }
}

static gboolean judge_own(HzVm *vm, G_GNUC_UNUSED const HzDecl *decl, uint64_t value,
                          struct hz_verdict *v)
{
    HzMode mode = hz_vm_mode(vm, NULL);
    uint64_t in_force = granted(vm, v->field, value);

    if (mode != HZ_MODE_ENFORCE) {
        return by_mode(mode, v);
    }
    if (in_force != value) {
        return say(v, VIRTIO_HZ_VERDICT_CLAMPED, VIRTIO_HZ_REASON_ENTITLEMENT, in_force);
    }
    return say(v, VIRTIO_HZ_VERDICT_ACCEPTED, VIRTIO_HZ_REASON_NONE, 0);
}

/* -- the vnic actuator's ------------------------------------------------ */

static gboolean from_plan(const HzPlanLine *line, struct hz_verdict *v)
{
    const struct hz_verdict *p;

    switch (v->field) {
    case HZ_F_NET_MIN:
        p = &line->plan.min_v;
        break;
    case HZ_F_NET_MAX:
        p = &line->plan.max_v;
        break;
    case HZ_F_NET_BURST:
        p = &line->plan.burst_v;
        break;
    case HZ_F_NET_WEIGHT:
        p = &line->plan.weight_v;
        break;
    default:
        return say(v, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_NONE, 0);
    }
    return say(v, p->code, p->reason, p->value);
}

static gboolean by_result(const HzPlanLine *line, struct hz_verdict *v)
{
    if (!strcmp(line->result, "failed")) {
        return say(v, VIRTIO_HZ_VERDICT_UNSUPPORTED, VIRTIO_HZ_REASON_UNAVAILABLE, 0);
    }
    if (!strcmp(line->result, "unsupported")) {
        return say(v, VIRTIO_HZ_VERDICT_UNSUPPORTED, VIRTIO_HZ_REASON_DATAPATH, 0);
    }
    if (!strcmp(line->result, "applied") || !strcmp(line->result, "unchanged")) {
        return from_plan(line, v);
    }
    return by_mode(HZ_MODE_OBSERVE, v);
}

static gboolean judge_nic(HzVm *vm, const HzDecl *decl, G_GNUC_UNUSED uint64_t value,
                          struct hz_verdict *v)
{
    HzHost *host = vm->host;
    HzMode mode = MIN(hz_vm_mode(vm, NULL), hz_actuators_wanted(host, "vnic"));
    const HzPlanLine *line = hz_plan_line(host, vm, hz_subject_nic(decl));

    if (!line) {
        return say(v, VIRTIO_HZ_VERDICT_REJECTED, VIRTIO_HZ_REASON_SUBJECT, 0);
    }
    if (mode != HZ_MODE_ENFORCE) {
        return by_mode(mode, v);
    }
    if (host->frozen) {
        /* what stands stays; what comes now changes nothing */
        return decl->want.seq == decl->d.seq ? FALSE : by_mode(HZ_MODE_OBSERVE, v);
    }
    if (hz_actuator_starting(host, "vnic")) {
        return FALSE;
    }
    if (!hz_actuator_enforcing(host, "vnic") || !line->exists) {
        return say(v, VIRTIO_HZ_VERDICT_UNSUPPORTED, VIRTIO_HZ_REASON_UNAVAILABLE, 0);
    }
    if (!line->shapeable) {
        return say(v, VIRTIO_HZ_VERDICT_UNSUPPORTED, VIRTIO_HZ_REASON_DATAPATH, 0);
    }
    if (decl->decided_seq != decl->d.seq || !line->decided || !line->result ||
        hz_plan_outstanding(host)) {
        return FALSE;
    }
    return by_result(line, v);
}

/* -- the column --------------------------------------------------------- */

static Judge judge_of(const struct hz_field *f)
{
    switch (f ? f->consumer : HZ_CONSUMER_NONE) {
    case HZ_CONSUMER_HZD:
        return judge_own;
    case HZ_CONSUMER_VNIC:
        return judge_nic;
    default:
        return NULL;
    }
}

/* FALSE: some field's answer isn't known yet. */
static gboolean judge(HzVm *vm, const HzDecl *decl, struct hz_set_verdicts *out)
{
    memset(out, 0, sizeof(*out));
    memcpy(out->subject, decl->subject, VIRTIO_HZ_KEY_LEN);
    out->seq = decl->d.seq;
    out->verdicts = (uint16_t)decl->judged;
    for (unsigned i = 0; i < decl->judged; i++) {
        struct hz_verdict *v = &out->verdict[i];
        Judge ask = judge_of(hz_field_by_id(decl->judge[i].field));
        uint64_t value = 0;

        *v = decl->judge[i];
        if (v->code != VIRTIO_HZ_VERDICT_PENDING) {
            continue;
        }
        if (vm->host->given_back) {
            /* a clean stop: from now on nobody acts on it */
            say(v, VIRTIO_HZ_VERDICT_UNSUPPORTED, VIRTIO_HZ_REASON_UNAVAILABLE, 0);
            continue;
        }
        if (!ask) {
            say(v, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_NONE, 0);
            continue;
        }
        hz_decl_u64(decl, v->field, &value);
        if (!ask(vm, decl, value, v)) {
            return FALSE;
        }
        hz_redact_verdict(vm, v);
    }
    return TRUE;
}

static gboolean same(const struct hz_set_verdicts *a, const struct hz_set_verdicts *b)
{
    /* both were zeroed whole before they were filled */
    return a->seq == b->seq && a->verdicts == b->verdicts &&
           !memcmp(a->verdict, b->verdict, a->verdicts * sizeof(a->verdict[0]));
}

void hz_verdicts_update(HzVm *vm)
{
    struct hz_set_verdicts next;

    for (guint i = 0; i < vm->decls->len; i++) {
        HzDecl *decl = g_ptr_array_index(vm->decls, i);

        if (!decl->gone_at && judge(vm, decl, &next) && !same(&next, &decl->want)) {
            decl->want = next;
            hz_event_verdict(vm, decl);
        }
    }
}
