/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd redact: what a tenant may be told. */
#include "redact.h"

#include "core/vocabulary.h"

uint8_t hz_redact_granularity(const HzVm *vm)
{
    uint64_t declared;

    if (hz_vm_declared(vm, "vm", HZ_F_SUBSCRIBE_GRAIN, &declared)) {
        return (uint8_t)MIN(declared, vm->conf->granularity);
    }
    return vm->conf->granularity;
}

const char *hz_redact_silent(const HzVm *vm, uint16_t kind, bool test)
{
    uint64_t mask;

    if (!(vm->conf->events >> kind & 1)) {
        return "the operator doesn't let this VM be told this kind";
    }
    if (!hz_redact_granularity(vm)) {
        return "the granularity in force is 0: nothing is told";
    }
    /* a test proves the path, whatever the guest subscribed to */
    if (!test && hz_vm_declared(vm, "vm", HZ_F_SUBSCRIBE_EVENTS, &mask) && !(mask >> kind & 1)) {
        return "the guest didn't subscribe to this kind";
    }
    return NULL;
}

uint64_t hz_redact_bucket(uint64_t v)
{
    uint64_t scale = 1;

    while (v / scale >= 100) {
        scale *= 10;
    }
    return v / scale * scale;
}

static void bucket_field(struct hz_notice *n, uint16_t id, uint8_t grain)
{
    size_t len = n->doc_len;
    uint8_t raw[8];
    uint64_t v;

    if (!hz_doc_u64(n->doc, n->doc_len, id, &v)) {
        return;
    }
    if (grain < 2) {
        hz_doc_unset(n->doc, &len, id);
        n->doc_len = (uint16_t)len;
        return;
    }
    /* same length: it always fits */
    hz_put64(raw, hz_redact_bucket(v));
    hz_doc_set(n->doc, &len, sizeof(n->doc), id, raw, sizeof(raw));
}

void hz_redact_notice(const HzVm *vm, struct hz_notice *n)
{
    uint8_t grain = hz_redact_granularity(vm);

    n->granularity = grain;
    if (grain >= 3) {
        return;
    }
    if (n->kind == HZ_KIND_RESOURCE_CHANGED) {
        bucket_field(n, HZ_N_CHANGED_OLD, grain);
        bucket_field(n, HZ_N_CHANGED_NEW, grain);
    }
}

void hz_redact_verdict(const HzVm *vm, struct hz_verdict *v)
{
    if (v->code == VIRTIO_HZ_VERDICT_CLAMPED && v->reason == VIRTIO_HZ_REASON_CONTENTION &&
        hz_redact_granularity(vm) < 3) {
        v->value = hz_redact_bucket(v->value);
    }
}
