/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz vmm: one interface to the hypervisor process of one VM.
 *
 * Opening never blocks and never fails for good: a hypervisor that isn't there
 * yet, goes away or holds its monitor for another client is tried again, and
 * hz_vmm_trouble() says what stands in the way. All callbacks come from the
 * main loop, never from inside a call.
 *
 * Backends: qmp, QEMU's monitor on a unix socket.
 */
#ifndef HZ_VMM_VMM_H
#define HZ_VMM_VMM_H

#include <glib.h>
#include <stdint.h>
#include <sys/types.h>

#define HZ_VMM_ERROR (hz_vmm_error_quark())
GQuark hz_vmm_error_quark(void);

typedef enum {
    HZ_VMM_ERROR_AWAY,          /* not connected, or the connection was lost meanwhile */
    HZ_VMM_ERROR_REFUSED,       /* the hypervisor said no; its words are in the message */
    HZ_VMM_ERROR_TIMEOUT,       /* no answer within HZ_VMM_ANSWER_S */
} HzVmmError;

#define HZ_VMM_ANSWER_S     30  /* a command without an answer for so long ends the connection */
#define HZ_VMM_GREETING_S    5  /* without a greeting: another client has the monitor */
#define HZ_VMM_RETRY_MIN_MS 100
#define HZ_VMM_RETRY_MAX_MS 5000

typedef enum {
    HZ_VMM_UNKNOWN,             /* not connected, or not asked yet */
    HZ_VMM_RUNNING,
    HZ_VMM_PAUSED,              /* by stop: cont makes it run */
    HZ_VMM_OTHER,               /* incoming, migrated away, shut down …: hz_vmm_status() */
} HzVmmState;

typedef enum {
    HZ_VMM_STOP, HZ_VMM_RESUME, HZ_VMM_SHUTDOWN, HZ_VMM_RESET,
} HzVmmEventKind;

typedef struct {
    HzVmmEventKind kind;
    uint64_t boot_ns;           /* host's CLOCK_BOOTTIME when it was read here */
    int64_t wall_us;            /* the hypervisor's own timestamp, µs since 1970; 0: none */
} HzVmmEvent;

typedef struct HzVmm HzVmm;

/* Each may be NULL. hz_vmm_close() may be called from any of them. */
typedef struct {
    /* Connected and its state known, or (with the reason) no more. */
    void (*connected)(HzVmm *vmm, gpointer opaque);
    void (*lost)(HzVmm *vmm, const GError *why, gpointer opaque);
    /* hz_vmm_state() is already the new one. */
    void (*event)(HzVmm *vmm, const HzVmmEvent *event, gpointer opaque);
} HzVmmListener;

/* @where: a path of a QMP unix socket. */
HzVmm *hz_vmm_open(const char *where, const HzVmmListener *listener, gpointer opaque);
/* No callback follows, not even of commands under way. */
void hz_vmm_close(HzVmm *vmm);

/* Not connected: try now, as if a retry were due. */
void hz_vmm_poke(HzVmm *vmm);

const char *hz_vmm_where(const HzVmm *vmm);
gboolean hz_vmm_connected(const HzVmm *vmm);
HzVmmState hz_vmm_state(const HzVmm *vmm);
const char *hz_vmm_status(const HzVmm *vmm);        /* its own word, "inmigrate"; "" if UNKNOWN */
const char *hz_vmm_trouble(const HzVmm *vmm);       /* why it isn't connected; NULL when it is */
const char *hz_vmm_state_name(HzVmmState state);    /* "unknown" "running" "paused" "other" */

/*
 * The process at the other end, known from the moment the socket is connected
 * (before any greeting): FALSE when there's none. @start tells a reused pid.
 */
gboolean hz_vmm_peer(const HzVmm *vmm, pid_t *pid, uint64_t *start);

/* The start time of a process in clock ticks since boot; 0 when it's gone. */
uint64_t hz_process_start(pid_t pid);

/* Stop or continue the VM. Success of what already is so. @done is called once. */
typedef void (*HzVmmDone)(HzVmm *vmm, const GError *error, gpointer opaque);
void hz_vmm_stop(HzVmm *vmm, HzVmmDone done, gpointer opaque);
void hz_vmm_cont(HzVmm *vmm, HzVmmDone done, gpointer opaque);

#endif /* HZ_VMM_VMM_H */
