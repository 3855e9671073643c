/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz vmm: what all backends share.
 */
#include "vmm/vmm-int.h"

G_DEFINE_QUARK(hz-vmm-error-quark, hz_vmm_error)

HzVmm *hz_vmm_open(const char *where, const HzVmmListener *listener, gpointer opaque)
{
    HzVmm *vmm = hz_vmm_qmp_new();

    vmm->listener = listener;
    vmm->opaque = opaque;
    vmm->where = g_strdup(where);
    vmm->refs = 1;
    hz_vmm_set_state(vmm, HZ_VMM_UNKNOWN, "");
    hz_vmm_set_trouble(vmm, "not tried yet");
    hz_vmm_poke(vmm);
    return vmm;
}

void hz_vmm_close(HzVmm *vmm)
{
    vmm->closed = TRUE;
    vmm->ops->close(vmm);
    hz_vmm_let_go(vmm);
}

HzVmm *hz_vmm_hold(HzVmm *vmm)
{
    vmm->refs++;
    return vmm;
}

void hz_vmm_let_go(HzVmm *vmm)
{
    if (--vmm->refs) {
        return;
    }
    g_free(vmm->where);
    g_free(vmm->status);
    g_free(vmm->trouble);
    vmm->ops->free_vmm(vmm);
}

void hz_vmm_poke(HzVmm *vmm)
{
    vmm->ops->poke(vmm);
}

const char *hz_vmm_where(const HzVmm *vmm)
{
    return vmm->where;
}

gboolean hz_vmm_connected(const HzVmm *vmm)
{
    return vmm->connected;
}

HzVmmState hz_vmm_state(const HzVmm *vmm)
{
    return vmm->state;
}

const char *hz_vmm_status(const HzVmm *vmm)
{
    return vmm->status;
}

const char *hz_vmm_trouble(const HzVmm *vmm)
{
    return vmm->connected ? NULL : vmm->trouble ? vmm->trouble : "connecting";
}

const char *hz_vmm_state_name(HzVmmState state)
{
    static const char *const names[] = { "unknown", "running", "paused", "other" };

    return state < G_N_ELEMENTS(names) ? names[state] : "?";
}

gboolean hz_vmm_peer(const HzVmm *vmm, pid_t *pid, uint64_t *start)
{
    return vmm->ops->peer(vmm, pid, start);
}

void hz_vmm_stop(HzVmm *vmm, HzVmmDone done, gpointer opaque)
{
    vmm->ops->run(vmm, FALSE, done, opaque);
}

void hz_vmm_cont(HzVmm *vmm, HzVmmDone done, gpointer opaque)
{
    vmm->ops->run(vmm, TRUE, done, opaque);
}

void hz_vmm_tell_connected(HzVmm *vmm)
{
    vmm->connected = TRUE;
    if (!vmm->closed && vmm->listener->connected) {
        vmm->listener->connected(vmm, vmm->opaque);
    }
}

void hz_vmm_tell_lost(HzVmm *vmm, const GError *why)
{
    gboolean was = vmm->connected;

    vmm->connected = FALSE;
    hz_vmm_set_state(vmm, HZ_VMM_UNKNOWN, "");
    if (was && !vmm->closed && vmm->listener->lost) {
        vmm->listener->lost(vmm, why, vmm->opaque);
    }
}

void hz_vmm_tell_event(HzVmm *vmm, const HzVmmEvent *event)
{
    if (!vmm->closed && vmm->listener->event) {
        vmm->listener->event(vmm, event, vmm->opaque);
    }
}

void hz_vmm_set_state(HzVmm *vmm, HzVmmState state, const char *status)
{
    char *copy = g_strdup(status);      /* @status may be the old one */

    g_free(vmm->status);
    vmm->state = state;
    vmm->status = copy;
}

void hz_vmm_set_trouble(HzVmm *vmm, const char *trouble)
{
    g_free(vmm->trouble);
    vmm->trouble = g_strdup(trouble);
}
