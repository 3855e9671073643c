/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd redact: the one point everything a tenant is told passes through.
 *
 * G0 nothing; G1 that something changed, no amounts; G2 amounts in buckets;
 * G3 exact (the operator's own VMs). What concerns the VM itself (when it is
 * paused, what it may declare) is its own and exact at any granularity; what
 * follows from others' needs is not. Ids are keyed by tenant before they get
 * here (state.h): two tenants can't correlate them.
 */
#ifndef HZ_HZD_REDACT_H
#define HZ_HZD_REDACT_H

#include "vm.h"

/* The granularity in force: what it declared, within what the operator grants. */
uint8_t hz_redact_granularity(const HzVm *vm);
/* May the guest be told this kind: entitled, subscribed, not G0. NULL, or why not. */
const char *hz_redact_silent(const HzVm *vm, uint16_t kind, bool test);
/* Turn an exact notice into the one the tenant may see. */
void hz_redact_notice(const HzVm *vm, struct hz_notice *n);
/* Likewise a verdict. */
void hz_redact_verdict(const HzVm *vm, struct hz_verdict *v);
/* @v rounded down to two significant decimal digits. */
uint64_t hz_redact_bucket(uint64_t v);

#endif /* HZ_HZD_REDACT_H */
