/* SPDX-License-Identifier: MIT */
/*
 * hz vocabulary: the names of everything that isn't a field.
 */
#include "vocabulary.h"

#include <errno.h>
#include <string.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define WORD(words, i) ((size_t)(i) < N_ELEMENTS(words) ? (words)[i] : "?")

static const struct hz_kind kinds[] = {
    { HZ_KIND_PAUSE, "pause", true, "the VM stands still for a while, memory kept" },
    { HZ_KIND_REBOOT, "reboot", false, "the VM will be rebooted" },
    { HZ_KIND_MOVE, "move", false, "the VM will be moved to another host" },
    { HZ_KIND_RECLAIM, "reclaim", true, "resources will be taken back" },
    { HZ_KIND_TERMINATE, "terminate", false, "the VM will be ended for good" },
    { HZ_KIND_RISK, "risk", false, "advice: something may happen to this VM" },
    { HZ_KIND_MAINT_WINDOW, "maint-window", false, "a window in which work will be done" },
    { HZ_KIND_CAPACITY, "capacity", false, "more or less of something is to be had" },
    { HZ_KIND_RESOURCE_CHANGED, "resource-changed", false, "what this VM gets has changed" },
    { HZ_KIND_NET_STATE, "net-state", false, "how the network looks from here" },
    { HZ_KIND_HEALTH, "health", false, "how a device is" },
    { HZ_KIND_ENERGY, "energy", false, "power, price and carbon" },
    { HZ_KIND_CKPT, "ckpt", false, "a checkpoint is prepared, taken, failed or restorable" },
    { HZ_KIND_OFFER, "offer", false, "something is offered" },
};

static const char *const states[] = {
    "advised", "scheduled", "started", "completed", "cancelled", "superseded"
};
static const char *const acks[] = { "none", "notify", "gate", "negotiate" };
static const char *const replies[] = {
    "none", "seen", "prepared", "extend", "defer", "accept", "counter", "decline", "failed"
};
static const char *const verdicts[] = {
    "pending", "accepted", "clamped", "rejected", "unsupported", "recorded"
};
static const struct {
    const char *name, *text;
} reasons[] = {
    { "none", "no reason given" },
    { "bounds", "outside the field's own bounds or type" },
    { "entitlement", "above what the operator lets this VM have" },
    { "contention",
      "more than the uplink's capacity leaves it, after others' minimums and priority" },
    { "datapath", "this NIC can't be shaped" },
    { "subject", "the field doesn't belong to this subject, or there is no such subject" },
    { "mode", "the provider only observes" },
    { "unknown-field", "the provider doesn't know this field" },
    { "conflict", "contradicts another field of the same document" },
    { "unavailable", "what would act on it isn't running or has failed" },
};
static const char *const scopes[] = { "vm", "job", "device", "link", "group" };
static const char *const sources[] = { "platform", "user", "peer" };
static const char *const causes[] = {
    "none", "maintenance", "capacity", "failure", "checkpoint", "rebalance", "operator",
    "generation", "expired", "declined", "failed"
};
static const char *const statuses[] = {
    "ok", "invalid", "unsupported", "too-big", "no-space", "stale", "no-entry", "void",
    "buffer-too-small"
};
static const char *const whys[] = { "none", "unknown", "migrate", "restore", "clone", "pause" };
static const char *const types[] = {
    "u8", "u16", "u32", "u64", "f64", "enum", "mask", "id", "bytes"
};
static const char *const consumers[] = { "-", "hzd", "vnic", "gpu", "ckpt" };

static int index_of(const char *const *words, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(words[i], name)) {
            return (int)i;
        }
    }
    return -EINVAL;
}

const struct hz_kind *hz_kinds(size_t *n)
{
    *n = N_ELEMENTS(kinds);
    return kinds;
}

const char *hz_kind_name(uint16_t kind)
{
    for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
        if (kinds[i].kind == kind) {
            return kinds[i].name;
        }
    }
    return "?";
}

int hz_kind_by_name(const char *name)
{
    for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
        if (!strcmp(kinds[i].name, name)) {
            return kinds[i].kind;
        }
    }
    return -EINVAL;
}

const char *hz_state_name(uint8_t state)
{
    return WORD(states, state);
}

const char *hz_ack_name(uint8_t ack)
{
    return WORD(acks, ack);
}

const char *hz_reply_name(uint16_t code)
{
    return WORD(replies, code);
}

int hz_reply_by_name(const char *name)
{
    return index_of(replies, N_ELEMENTS(replies), name);
}

const char *hz_verdict_name(uint8_t code)
{
    return WORD(verdicts, code);
}

const char *hz_reason_name(uint8_t reason)
{
    return reason < N_ELEMENTS(reasons) ? reasons[reason].name : "?";
}

const char *hz_reason_text(uint8_t reason)
{
    return reason < N_ELEMENTS(reasons) ? reasons[reason].text : "?";
}

const char *hz_scope_name(uint8_t scope)
{
    return WORD(scopes, scope);
}

const char *hz_source_name(uint8_t source)
{
    return WORD(sources, source);
}

const char *hz_cause_name(uint16_t cause)
{
    return WORD(causes, cause);
}

int hz_cause_by_name(const char *name)
{
    return index_of(causes, N_ELEMENTS(causes), name);
}

const char *hz_status_name(int status)
{
    unsigned i = status < 0 ? 0u - (unsigned)status : (unsigned)status;

    return WORD(statuses, i);
}

const char *hz_why_name(uint16_t reason)
{
    return WORD(whys, reason);
}

const char *hz_type_name(enum hz_type type)
{
    return WORD(types, type);
}

const char *hz_consumer_name(enum hz_consumer consumer)
{
    return WORD(consumers, consumer);
}
