/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd plan: when to decide, and the decision.
 *
 * After a start nothing is decided while the kernel still carries our shaping
 * for a VM whose board hasn't been told yet (bounded): a restart of hzd must
 * not be seen in anybody's rates.
 */
#include "plan.h"

#include <string.h>

#include "actuators.h"
#include "json-util.h"
#include "link.h"
#include "plan-int.h"
#include "verdicts.h"
#include "vm.h"

#define DECIDE_DELAY (5 * HZ_MS)        /* records of one burst are decided together */
#define DECIDE_EVERY (50 * HZ_MS)
#define SETTLE_TIME (10 * HZ_SEC)
#define LOOK_EVERY (30 * HZ_SEC)
#define LOOK_SOON (2 * HZ_SEC)          /* while an interface of a running VM isn't there */

/* -- looking ------------------------------------------------------------ */

static void look(HzPlan *plan)
{
    JsonArray *keys = json_array_new();

    for (guint i = 0; i < plan->lines->len; i++) {
        const HzPlanLine *line = g_ptr_array_index(plan->lines, i);
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "key", line->key);
        json_object_set_string_member(o, "ifname", line->ifname);
        json_array_add_object_element(keys, o);
    }
    hz_actuators_observe(plan->host, keys);
}

static void look_again(gpointer opaque)
{
    HzPlan *plan = opaque;
    gboolean missing = FALSE, undone = FALSE;

    for (guint i = 0; i < plan->lines->len; i++) {
        const HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        missing |= !line->exists && line->vm->synced;
        undone |= hz_plan_line_undone(line);
    }
    if (undone) {
        hz_plan_look(plan->host);       /* and apply again: what stood in the way may be gone */
    } else {
        look(plan);
    }
    hz_timer_set(plan->look, hz_now() + (missing ? LOOK_SOON : LOOK_EVERY));
}

void hz_plan_look_soon(HzPlan *plan)
{
    hz_timer_set(plan->look, hz_now() + LOOK_SOON);
}

/* TRUE: the line differs from what was known. */
static gboolean observed(HzPlanLine *line, JsonObject *o)
{
    gboolean exists = hz_json_bool(o, "exists", FALSE);
    gboolean shapeable = hz_json_bool(o, "shapeable", FALSE);
    gboolean differs = exists != line->exists || shapeable != line->shapeable;

    line->exists = exists;
    line->shapeable = shapeable;
    line->ours = hz_json_bool(o, "ours", FALSE);
    g_free(line->why);
    line->why = g_strdup(hz_json_text(o, "why", NULL));
    if (!line->told) {
        /* what the guest was last told is what the kernel carries: we may have been restarted */
        line->told = TRUE;
        line->told_rate = line->ours ? (uint64_t)MAX(hz_json_int(o, "rate", 0), 0) : 0;
    }
    return differs;
}

static void given_back(HzHost *host, const GError *error, G_GNUC_UNUSED gpointer opaque)
{
    if (error) {
        g_warning("what an earlier hzd shaped couldn't be given back: %s", error->message);
    }
    hz_plan_look_soon(host->plan);
}

/*
 * An earlier hzd enforced, died, and was started again below enforce: a host
 * in observe behaves as it did before hz. What is frozen stays as it is.
 */
static void give_back_leftovers(HzPlan *plan)
{
    JsonArray *keys;

    if (plan->host->frozen || hz_actuators_wanted(plan->host, "vnic") == HZ_MODE_ENFORCE ||
        hz_actuators_told(plan->host, "vnic") == HZ_MODE_ENFORCE) {
        return;
    }
    keys = json_array_new();
    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (line->ours) {
            g_message("%s: shaped by an earlier hzd, and not to be enforced: given back",
                      line->key);
            json_array_add_string_element(keys, line->key);
            line->ours = FALSE;
        }
    }
    if (json_array_get_length(keys)) {
        hz_actuators_forget(plan->host, keys, given_back, NULL);
    } else {
        json_array_unref(keys);
    }
}

void hz_plan_observed(HzHost *host, JsonArray *lines)
{
    HzPlan *plan = host->plan;
    gboolean differs = !plan->looked, missing = FALSE;

    for (guint i = 0; lines && i < json_array_get_length(lines); i++) {
        JsonObject *o = hz_json_at(lines, i);
        HzPlanLine *line = hz_plan_lines_find(plan, hz_json_text(o, "key", ""));

        if (line) {
            differs |= observed(line, o);
            missing |= !line->exists && line->vm->synced;
        }
    }
    plan->looked = TRUE;
    give_back_leftovers(plan);
    if (missing) {
        hz_plan_look_soon(plan);
    }
    if (differs) {
        hz_plan_kick(host);
    }
}

void hz_plan_vm_synced(HzVm *vm)
{
    HzPlan *plan = vm->host->plan;

    for (guint i = 0; i < plan->lines->len; i++) {
        const HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (line->vm == vm && !line->exists) {
            look(plan);
            return;
        }
    }
}

/* -- deciding ----------------------------------------------------------- */

/* Is there a VM with our shaping on it that hasn't had its say since we started? */
static gboolean settling(const HzPlan *plan)
{
    if (hz_now() >= plan->host->started + SETTLE_TIME) {
        return FALSE;
    }
    for (guint i = 0; i < plan->lines->len; i++) {
        const HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (line->ours && !line->vm->session_done) {
            return TRUE;
        }
    }
    return FALSE;
}

static void decide_world(HzPlan *plan)
{
    GPtrArray *uplinks = plan->host->config->uplinks;
    g_autofree struct hz_world_uplink *ups = g_new0(struct hz_world_uplink, uplinks->len + 1);
    g_autofree struct hz_world_nic *nics = g_new0(struct hz_world_nic, plan->lines->len + 1);
    g_autofree struct hz_plan_nic *out = g_new0(struct hz_plan_nic, plan->lines->len + 1);
    struct hz_world world = { ups, uplinks->len, nics, 0 };
    struct hz_plan answer = { out, 0 };
    size_t n = 0;

    for (guint i = 0; i < uplinks->len; i++) {
        const HzConfigUplink *u = g_ptr_array_index(uplinks, i);

        ups[i] = (struct hz_world_uplink){ u->id, u->capacity };
    }
    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        hz_plan_line_world(line);
        if (hz_plan_line_counts(line)) {
            nics[n++] = line->world;
        }
    }
    world.n_nics = answer.n_nics = n;
    if (hz_decide(&world, &answer)) {
        g_warning("this world can't be decided: the last plan stays");
        return;
    }
    g_clear_pointer(&plan->world, json_object_unref);
    plan->world = hz_world_json(&world);
    n = 0;
    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        line->decided = hz_plan_line_counts(line);
        line->plan = line->decided ? out[n++]
                                   : (struct hz_plan_nic){ .id = line->id, .rate = HZ_RATE_NONE };
    }
}

void hz_plan_tell(HzHost *host)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);

    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);

        hz_verdicts_update(vm);
        hz_link_pump(vm);
    }
}

static void decide(gpointer opaque)
{
    HzPlan *plan = opaque;
    HzHost *host = plan->host;
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);

    plan->decide_at = UINT64_MAX;
    if (host->releasing) {
        return;
    }
    for (guint i = 0; i < vms->len; i++) {
        hz_vm_expire(g_ptr_array_index(vms, i));
    }
    plan->decided_at = hz_now();
    if (!settling(plan)) {
        decide_world(plan);
        hz_plan_apply(plan);
    } else {
        hz_plan_kick_at(host, hz_now() + 200 * HZ_MS);
    }
    hz_plan_tell(host);
}

void hz_plan_kick_at(HzHost *host, uint64_t at)
{
    HzPlan *plan = host->plan;

    at = MAX(at, plan->decided_at + DECIDE_EVERY);
    if (at < plan->decide_at) {
        plan->decide_at = at;
        hz_timer_set(plan->decide, at);
    }
}

void hz_plan_kick(HzHost *host)
{
    hz_plan_kick_at(host, hz_now() + DECIDE_DELAY);
}

/* -- the rest ----------------------------------------------------------- */

void hz_plan_actuator_up(HzHost *host)
{
    /* whatever it was told before, it may be another process now */
    g_clear_pointer(&host->plan->sent, g_free);
    host->plan->outstanding = FALSE;
    host->plan->looked = FALSE;
    look(host->plan);
}

void hz_plan_actuator_down(HzHost *host)
{
    HzPlan *plan = host->plan;

    g_clear_pointer(&plan->sent, g_free);
    plan->outstanding = FALSE;
    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (!line->vm->released) {
            hz_plan_line_set_result(line, NULL, NULL);
        }
    }
    hz_plan_kick(host);
}

void hz_plan_look(HzHost *host)
{
    g_clear_pointer(&host->plan->sent, g_free);
    host->plan->looked = FALSE;
    look(host->plan);
}

void hz_plan_rebuild(HzHost *host)
{
    hz_plan_lines_build(host->plan);
    g_clear_pointer(&host->plan->sent, g_free);
    hz_plan_look(host);
    hz_plan_kick(host);
}

const HzPlanLine *hz_plan_line(const HzHost *host, const HzVm *vm, unsigned nic)
{
    for (guint i = 0; i < host->plan->lines->len; i++) {
        const HzPlanLine *line = g_ptr_array_index(host->plan->lines, i);

        if (line->vm == vm && line->conf->index == nic) {
            return line;
        }
    }
    return NULL;
}

gboolean hz_plan_outstanding(const HzHost *host)
{
    return host->plan->outstanding;
}

uint64_t hz_plan_epoch(const HzHost *host)
{
    return host->plan->epoch;
}

HzPlan *hz_plan_new(HzHost *host)
{
    HzPlan *plan = g_new0(HzPlan, 1);

    plan->host = host;
    plan->lines = g_ptr_array_new_with_free_func((GDestroyNotify)hz_plan_line_free);
    plan->decide = hz_timer_new(decide, plan);
    plan->look = hz_timer_new(look_again, plan);
    plan->decide_at = UINT64_MAX;
    hz_plan_lines_build(plan);
    hz_timer_set(plan->look, hz_now() + LOOK_EVERY);
    return plan;
}

void hz_plan_free(HzPlan *plan)
{
    if (plan) {
        hz_timer_free(plan->decide);
        hz_timer_free(plan->look);
        g_ptr_array_unref(plan->lines);
        g_clear_pointer(&plan->world, json_object_unref);
        g_free(plan->sent);
        g_free(plan->audited);
        g_free(plan);
    }
}
