/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz vmm: one interface to a VM's hypervisor, asynchronous on the GLib main loop.
 *
 * A HzVmm stands for one way to one VM (a QMP socket here). It connects when
 * the socket is there, again when it was lost, and tells what happens. It
 * reads state and does stop and cont; nothing else is ever sent.
 */
#ifndef HZ_VMM_VMM_H
#define HZ_VMM_VMM_H

#include <glib.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct HzVmm HzVmm;

typedef enum {
    HZ_VMM_UNREACHABLE,         /* nobody answers there */
    HZ_VMM_CONNECTING,
    HZ_VMM_RUNNING,
    HZ_VMM_PAUSED,              /* stopped by somebody: query-status says "paused" */
    HZ_VMM_OTHER,               /* inmigrate, postmigrate, shutdown, …: hz_vmm_status() has the word */
} HzVmmState;

typedef struct {
    /* Reached (its state is known) or lost. */
    void (*state)(HzVmm *vmm, HzVmmState state, gpointer opaque);
    /* STOP and RESUME events, whoever caused them; @at: CLOCK_BOOTTIME ns when read. */
    void (*stopped)(HzVmm *vmm, uint64_t at, gpointer opaque);
    void (*resumed)(HzVmm *vmm, uint64_t at, gpointer opaque);
} HzVmmOps;

/* Called once, from the main loop: NULL when done. */
typedef void (*HzVmmDone)(HzVmm *vmm, const GError *error, gpointer opaque);

/* Never blocks; retries by itself about once a second. */
HzVmm *hz_vmm_open(const char *path, const HzVmmOps *ops, gpointer opaque);
/* No callback comes after this (pending HzVmmDone are called with an error first). */
void hz_vmm_close(HzVmm *vmm);

const char *hz_vmm_path(const HzVmm *vmm);
HzVmmState hz_vmm_state(const HzVmm *vmm);
const char *hz_vmm_status(const HzVmm *vmm);    /* query-status's own word, "" when unknown */

/* Who listens at the other end, from SO_PEERCRED, with the start time in /proc/PID/stat; false when not connected. */
gboolean hz_vmm_peer(const HzVmm *vmm, pid_t *pid, uint64_t *start_time);
/* Try to connect now, don't wait for the next retry. */
void hz_vmm_poke(HzVmm *vmm);

/* Bounded: an answer that doesn't come within 5 s is an error. */
void hz_vmm_stop(HzVmm *vmm, HzVmmDone done, gpointer opaque);
void hz_vmm_cont(HzVmm *vmm, HzVmmDone done, gpointer opaque);

/* Start time (clock ticks since boot) of a process; 0 when there's none. */
uint64_t hz_vmm_start_time(pid_t pid);

#endif /* HZ_VMM_VMM_H */
