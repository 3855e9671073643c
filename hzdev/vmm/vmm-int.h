/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz vmm, for backends: the common part, and the few things a backend does.
 */
#ifndef HZ_VMM_INT_H
#define HZ_VMM_INT_H

#include "vmm/vmm.h"

typedef struct {
    void (*close)(HzVmm *vmm);                  /* end everything; free_vmm follows */
    void (*free_vmm)(HzVmm *vmm);
    void (*poke)(HzVmm *vmm);
    gboolean (*peer)(const HzVmm *vmm, pid_t *pid, uint64_t *start);
    void (*run)(HzVmm *vmm, gboolean run, HzVmmDone done, gpointer opaque);
} HzVmmOps;

/* A backend's own structure starts with it. */
struct HzVmm {
    const HzVmmOps *ops;
    const HzVmmListener *listener;
    gpointer opaque;
    char *where;
    int refs;               /* the owner's, and one while a callback runs */
    gboolean closed;
    gboolean connected;
    HzVmmState state;
    char *status, *trouble;
};

HzVmm *hz_vmm_qmp_new(void);

HzVmm *hz_vmm_hold(HzVmm *vmm);
void hz_vmm_let_go(HzVmm *vmm);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzVmm, hz_vmm_let_go)

/* Tell the listener, unless the owner has closed. The caller holds @vmm. */
void hz_vmm_tell_connected(HzVmm *vmm);
void hz_vmm_tell_lost(HzVmm *vmm, const GError *why);
void hz_vmm_tell_event(HzVmm *vmm, const HzVmmEvent *event);

void hz_vmm_set_state(HzVmm *vmm, HzVmmState state, const char *status);
void hz_vmm_set_trouble(HzVmm *vmm, const char *trouble);

#endif /* HZ_VMM_INT_H */
