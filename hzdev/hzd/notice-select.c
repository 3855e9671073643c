/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd notice select: which VMs a caller means, and the ids their tenants may see. */
#include "core/vocabulary.h"
#include "ids.h"
#include "notice-int.h"
#include "state.h"

void hz_notice_id(const HzVm *vm, const char *key, uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    hz_state_id(vm->host->state, vm->conf->tenant, "notice", key, id);
}

void hz_notice_cause_id(const HzVm *vm, const char *key, uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    hz_state_id(vm->host->state, vm->conf->tenant, "cause", key, id);
}

static GPtrArray *by_name(HzHost *host, const char *const *names, GError **error)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new();

    for (; *names; names++) {
        HzVm *vm = hz_host_vm(host, *names, error);

        if (!vm) {
            return NULL;
        }
        if (!g_ptr_array_find(found, vm, NULL)) {
            g_ptr_array_add(found, vm);
        }
    }
    return g_steal_pointer(&found);
}

/* A job means something inside its tenant only: without the tenant it names nothing. */
static gboolean job_ok(const HzNotifySpec *spec, uint8_t job[VIRTIO_HZ_UUID_LEN], GError **error)
{
    if (!spec->job) {
        return TRUE;
    }
    if (!spec->tenant) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                    "'job' needs 'tenant': job ids mean something inside one tenant only");
        return FALSE;
    }
    if (hz_value_parse(hz_field_by_id(HZ_F_JOB_ID), spec->job, job) != VIRTIO_HZ_UUID_LEN) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "job '%s': expected a job's id",
                    spec->job);
        return FALSE;
    }
    return TRUE;
}

GPtrArray *hz_notice_select(HzHost *host, const HzNotifySpec *spec, GError **error)
{
    g_autoptr(GPtrArray) all = NULL, found = NULL;
    uint8_t job[VIRTIO_HZ_UUID_LEN];

    if (spec->vms && *spec->vms) {
        return by_name(host, spec->vms, error);
    }
    if (!spec->all && !spec->tenant) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID,
                    "which VMs? give 'vms', 'tenant' (and 'job'), or 'all': true");
        return NULL;
    }
    if (!job_ok(spec, job, error)) {
        return NULL;
    }
    all = hz_host_vms_sorted(host);
    found = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        HzVm *vm = g_ptr_array_index(all, i);

        if ((!spec->tenant || !g_strcmp0(spec->tenant, vm->conf->tenant)) &&
            (!spec->job || hz_vm_in_job(vm, job))) {
            g_ptr_array_add(found, vm);
        }
    }
    if (!found->len) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_NOT_FOUND, "no VM here is %s%s%s%s",
                    spec->tenant ? "of tenant " : "configured", spec->tenant ? spec->tenant : "",
                    spec->job ? " and in job " : "", spec->job ? spec->job : "");
        return NULL;
    }
    return g_steal_pointer(&found);
}
