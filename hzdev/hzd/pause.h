/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd pause: the act a PAUSE notice wraps: stop, wait, cont, measured.
 *
 * What counts is from the hypervisor's STOP to its RESUME, by its own clock
 * where it gives one. Whatever goes wrong on the way, the VM is made to run
 * again before anything else.
 */
#ifndef HZ_HZD_PAUSE_H
#define HZ_HZD_PAUSE_H

#include "notices.h"
#include "vm.h"

/* May it be paused so? NULL, or why not (what was declared, or the state). */
char *hz_pause_refusal(HzVm *vm, uint64_t duration_ns, gboolean force);

/* The notice has just started: stop the VM. */
void hz_pause_begin(HzNotice *notice);
/* It was cancelled, or hzd stops: make the VM run now. */
void hz_pause_abort(HzNotice *notice);
/* A PAUSE found started after a restart: finish it. */
void hz_pause_recover(HzNotice *notice);
/* The pause of this VM that is under way, or NULL. */
HzNotice *hz_pause_of(const HzVm *vm);
/* Is any VM standing still because of us? */
gboolean hz_pause_any(HzHost *host);

/* From the VM's monitors. */
void hz_pause_monitor(HzVm *vm, HzVmm *vmm);
void hz_pause_event(HzVm *vm, HzVmm *vmm, const HzVmmEvent *event);
void hz_pause_forget_monitors(HzVm *vm);

#endif /* HZ_HZD_PAUSE_H */
