/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd plan lines: one a configured vNIC, and its row of the world. */
#include <string.h>

#include "core/vocabulary.h"
#include "plan-int.h"
#include "vm.h"

void hz_plan_line_free(HzPlanLine *line)
{
    g_free(line->key);
    g_free(line->ifname);
    g_free(line->why);
    g_free(line->result);
    g_free(line->detail);
    g_free(line);
}

void hz_plan_line_set_result(HzPlanLine *line, const char *result, const char *detail)
{
    g_free(line->result);
    line->result = g_strdup(result);
    g_free(line->detail);
    line->detail = g_strdup(detail);
}

/* Ties between equal NICs are broken by this: the same on every host and after every restart. */
static uint64_t stable_id(const char *key)
{
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key, -1);

    sum[16] = 0;
    return g_ascii_strtoull(sum, NULL, 16) >> 1;
}

HzPlanLine *hz_plan_lines_find(const HzPlan *plan, const char *key)
{
    for (guint i = 0; i < plan->lines->len; i++) {
        HzPlanLine *line = g_ptr_array_index(plan->lines, i);

        if (!strcmp(line->key, key)) {
            return line;
        }
    }
    return NULL;
}

static HzPlanLine *line_new(HzVm *vm, const HzConfigNic *conf)
{
    HzPlanLine *line = g_new0(HzPlanLine, 1);

    line->key = g_strdup_printf("%s/nic/%u", vm->name, conf->index);
    line->subject = strchr(line->key, '/') + 1;
    line->ifname = g_strdup(conf->ifname);
    line->id = stable_id(line->key);
    line->exists = line->shapeable = TRUE;      /* until somebody has looked */
    line->plan.rate = HZ_RATE_NONE;
    return line;
}

/* What is known of a line stays known as long as it's the same interface. */
static HzPlanLine *keep_or_make(GPtrArray *old, HzVm *vm, const HzConfigNic *conf)
{
    HzPlanLine *line = line_new(vm, conf);

    for (guint i = 0; i < old->len; i++) {
        HzPlanLine *was = g_ptr_array_index(old, i);

        if (!strcmp(was->key, line->key) && !strcmp(was->ifname, line->ifname)) {
            hz_plan_line_free(line);
            line = g_ptr_array_steal_index_fast(old, i);
            break;
        }
    }
    line->vm = vm;
    line->conf = conf;
    return line;
}

void hz_plan_lines_build(HzPlan *plan)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(plan->host), old = plan->lines;

    plan->lines = g_ptr_array_new_with_free_func((GDestroyNotify)hz_plan_line_free);
    for (guint i = 0; i < vms->len; i++) {
        HzVm *vm = g_ptr_array_index(vms, i);

        for (guint k = 0; k < vm->conf->nics->len; k++) {
            g_ptr_array_add(plan->lines,
                            keep_or_make(old, vm, g_ptr_array_index(vm->conf->nics, k)));
        }
    }
}

gboolean hz_plan_line_counts(const HzPlanLine *line)
{
    return line->exists && !line->vm->released && hz_vm_mode(line->vm, NULL) != HZ_MODE_OFF;
}

gboolean hz_plan_line_undone(const HzPlanLine *line)
{
    return line->exists && line->shapeable && (!g_strcmp0(line->result, "failed") ||
                                               !g_strcmp0(line->result, "unsupported"));
}

static bool field(const HzPlanLine *line, const char *subject, uint16_t id, uint64_t *v)
{
    return hz_vm_declared(line->vm, subject, id, v);
}

void hz_plan_line_world(HzPlanLine *line)
{
    const HzConfigUplink *uplink = hz_config_uplink(line->vm->host->config, line->conf->uplink);
    struct hz_world_nic *n = &line->world;
    const char *nic = line->subject;
    uint64_t weight = 0, priority = 0;
    HzDecl *decl = hz_vm_decl(line->vm, nic);

    if (decl) {
        decl->decided_seq = decl->d.seq;
    }
    *n = (struct hz_world_nic){
        .id = line->id, .uplink = uplink->id,
        .ent_min = line->conf->ent_min, .ent_max = line->conf->ent_max,
        .ent_weight = line->conf->ent_weight, .ent_priority = line->vm->conf->priority,
        .shapeable = line->shapeable,
    };
    n->has_min = field(line, nic, HZ_F_NET_MIN, &n->min);
    n->has_max = field(line, nic, HZ_F_NET_MAX, &n->max);
    n->has_burst = field(line, nic, HZ_F_NET_BURST, &n->burst);
    n->has_weight = field(line, nic, HZ_F_NET_WEIGHT, &weight);
    n->has_priority = field(line, nic, HZ_F_PRIORITY, &priority) ||
                      field(line, "vm", HZ_F_PRIORITY, &priority);
    n->weight = (uint16_t)weight;
    n->priority = (uint8_t)priority;
    n->declared = n->has_min || n->has_max || n->has_burst || n->has_weight;
}
