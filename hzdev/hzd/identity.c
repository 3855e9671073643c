/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd identity: is the process at the other end of a link the VM's?
 *
 * A uid alone is none where every QEMU runs as one user. The process that
 * listens at the VM's monitor is: its pid and start time, both from the
 * kernel. Nothing that the peer says about itself counts.
 */
#include "link-int.h"
#include "vm.h"

static HzIdentified by_qmp(HzVm *vm, pid_t pid, uint64_t start_time, char **why)
{
    gboolean unclear = FALSE;

    for (guint i = 0; i < vm->vmms->len; i++) {
        HzVmm *vmm = g_ptr_array_index(vm->vmms, i);
        uint64_t start;
        pid_t monitor;

        if (!hz_vmm_peer(vmm, &monitor, &start)) {
            hz_vmm_poke(vmm);
            unclear = !hz_vmm_peer(vmm, &monitor, &start) || unclear;
        }
        if (hz_vmm_peer(vmm, &monitor, &start) && monitor == pid && start == start_time) {
            return HZ_IDENTITY_YES;
        }
    }
    if (unclear) {
        *why = g_strdup("the VM's monitor (qmp=) can't be reached to vouch for it");
        return HZ_IDENTITY_UNCLEAR;
    }
    *why = g_strdup("it isn't the process at the other end of the VM's monitor (qmp=)");
    return HZ_IDENTITY_NO;
}

HzIdentified hz_identity(HzVm *vm, pid_t pid, uid_t uid, uint64_t start_time, char **why)
{
    switch (vm->conf->identity) {
    case HZ_IDENTITY_SOCKET:
        return HZ_IDENTITY_YES;
    case HZ_IDENTITY_UID:
        if (uid == vm->conf->uid) {
            return HZ_IDENTITY_YES;
        }
        *why = g_strdup_printf("its uid is %u, the configuration says %u", uid, vm->conf->uid);
        return HZ_IDENTITY_NO;
    case HZ_IDENTITY_QMP:
        break;
    }
    if (pid <= 0 || !start_time) {
        *why = g_strdup("its process can't be seen from here (gone, or in another pid namespace)");
        return HZ_IDENTITY_NO;
    }
    return by_qmp(vm, pid, start_time, why);
}
