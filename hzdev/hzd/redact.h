/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd redact: the one point everything a tenant is told passes through.
 *
 * G0 nothing; G1 that something changed; G2 buckets; G3 exact (the operator's
 * own VMs). Ids are keyed by tenant before they get here (state.h).
 */
#ifndef HZ_HZD_REDACT_H
#define HZ_HZD_REDACT_H

#include "vm.h"

/* The granularity in force: what it declared, within what the operator grants. */
uint8_t hz_redact_granularity(const HzVm *vm);
/* May the guest be told this kind at all: entitled, subscribed, not G0. @why: a word if not. */
bool hz_redact_may_tell(const HzVm *vm, uint16_t kind, bool test, const char **why);
/* Turn an exact notice into the one the tenant may see. */
void hz_redact_notice(const HzVm *vm, struct hz_notice *n);
/* A verdict's value: what the operator granted is exact, what others' needs left is bucketed, always downwards. */
void hz_redact_verdict(const HzVm *vm, struct hz_verdict *v);
/* The largest of 1, 2, 5 × 10^k not above @v. */
uint64_t hz_redact_bucket(uint64_t v);

#endif /* HZ_HZD_REDACT_H */
