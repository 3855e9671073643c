/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd plan: from the ledger to a world, from decide()'s answer to plan lines.
 *
 * The audit's line of it, event "plan": {"epoch", "world": {"uplinks", "nics"},
 * "plan": [{"key", "vm", "mode", "id", "shape", "rate", "burst", "min-in-force",
 * "rule", "result", "detail"}]}, written when a plan or its results change.
 *
 * Changes are coalesced: however many records come in one turn of the main
 * loop, the world is decided once, and only a plan that differs is applied.
 */
#ifndef HZ_HZD_PLAN_H
#define HZ_HZD_PLAN_H

#include "core/decide.h"
#include "hzd.h"

/* One vNIC's line as last decided, and what became of it. */
typedef struct {
    char *key;                  /* "VM/nic/0" */
    const char *subject;        /* "nic/0", inside key */
    char *ifname;
    uint64_t id;                /* stable over restarts */
    HzVm *vm;
    const HzConfigNic *conf;
    struct hz_world_nic world;
    struct hz_plan_nic plan;
    gboolean decided;           /* it took part in the last decision */
    gboolean exists, shapeable, ours;   /* as the actuator sees it */
    char *why;                  /* it can't be shaped because */
    /*
     * The actuator's word: applied, unchanged, would-apply, failed, unsupported; after a release:
     * released or failed. NULL: none yet.
     */
    char *result;
    char *detail;
    gboolean told;              /* the rate last told to the guest: */
    uint64_t told_rate;         /* bytes/s, 0 none */
} HzPlanLine;

HzPlan *hz_plan_new(HzHost *host);
void hz_plan_free(HzPlan *plan);

/* Something changed: decide soon, or not before @at. */
void hz_plan_kick(HzHost *host);
void hz_plan_kick_at(HzHost *host, uint64_t at);
/* A whole board has been told: what it declares is known. */
void hz_plan_vm_synced(HzVm *vm);
/* The configuration was replaced: rebuild the lines. */
void hz_plan_rebuild(HzHost *host);
const HzPlanLine *hz_plan_line(const HzHost *host, const HzVm *vm, unsigned nic);
JsonArray *hz_plan_vm_json(const HzVm *vm);     /* a VM's lines */

/* The world as JSON, with uplinks, as the audit keeps it; and back: replay gives the plan. */
JsonObject *hz_world_json(const struct hz_world *world);
JsonObject *hz_plan_replay(JsonObject *world, GError **error);

/* Judge every VM's declarations anew and tell what changed. */
void hz_plan_tell(HzHost *host);
JsonObject *hz_plan_nic_json(const struct hz_plan_nic *p);

/* This VM's lines leave the plan … */
void hz_plan_let_go(HzVm *vm);
/* … and the actuator has given them back, or (@error) hasn't. */
void hz_plan_released(HzHost *host, const GError *error);

/* From the actuator host. */
void hz_plan_actuator_up(HzHost *host);
void hz_plan_actuator_down(HzHost *host);
/* Something there has changed by other hands: look, and apply again. */
void hz_plan_look(HzHost *host);
void hz_plan_observed(HzHost *host, JsonArray *lines);
void hz_plan_applied(HzHost *host, uint64_t epoch, JsonArray *results);
/* The actuator refused the plan as a whole, for the @times-th time in a row. */
void hz_plan_apply_failed(HzHost *host, uint64_t epoch, const char *why, unsigned times);

/* Has a plan gone out whose results aren't here yet? */
gboolean hz_plan_outstanding(const HzHost *host);
uint64_t hz_plan_epoch(const HzHost *host);

#endif /* HZ_HZD_PLAN_H */
