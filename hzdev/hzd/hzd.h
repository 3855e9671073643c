/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd: the host daemon's centre, the structure everything hangs on.
 *
 * One process, one GLib main loop, no threads, no privileges. The loop is
 * observe -> decide -> apply -> tell:
 *
 *   link.c      bytes of a device       -> vm.c       the mirror of its board
 *   vm.c        declarations            -> plan.c     world, decide(), plan lines
 *   plan.c      lines                   -> actuators.c the processes that make them true
 *   verdicts.c  what became of a field  -> vm.c       the column beside the declaration
 *   notices.c   the life of each notice -> vm.c       the provider's table
 *
 * What goes to a board is kept as state with a dirty mark and put on the wire
 * when the link is writable: no queue grows with what a peer does.
 */
#ifndef HZ_HZD_HZD_H
#define HZ_HZD_HZD_H

#include <glib.h>
#include <json-glib/json-glib.h>

#include "config.h"
#include "core/wire.h"
#include "timer.h"

typedef struct HzHost HzHost;
typedef struct HzVm HzVm;               /* vm.h: one configured VM */
typedef struct HzLink HzLink;           /* link.h: one connection of a device */
typedef struct HzNotice HzNotice;       /* notices.h: one VM's notice */
typedef struct HzActuators HzActuators; /* actuators.h */
typedef struct HzPlan HzPlan;           /* plan.h */
typedef struct HzState HzState;         /* state.h: files in state-dir */
typedef struct HzAudit HzAudit;         /* audit.h */
typedef struct HzControl HzControl;     /* control.h */

struct HzHost {
    HzConfig *config;           /* replaced by a reload */
    HzState *state;
    HzAudit *audit;
    HzControl *control;
    HzActuators *actuators;
    HzPlan *plan;
    GHashTable *vms;            /* name -> HzVm, owned */
    GMainLoop *loop;
    HzMode mode;                /* the configuration's, or set-mode's */
    HzTimer *save;              /* notice-store.c: write soon */
    char *saved;                /* … what was written last */
    GHashTable *recalled;       /* … what was known of notices that boards have: "VM/id" -> JSON */
    gboolean frozen;            /* no change of anything until thawed; survives restarts */
    gboolean releasing;         /* a clean stop is under way: */
    gboolean given_back;        /* … and the state before hz is restored */
    guint stop_bound, stop_poll;        /* … its GSources */
    uint64_t started;           /* hz_now() at start */
};

#define HZ_HZD_ERROR (hz_hzd_error_quark())
GQuark hz_hzd_error_quark(void);

/* What a caller did wrong; commands.c turns them into QMP error classes. */
typedef enum {
    HZ_HZD_ERROR_INVALID,       /* an argument */
    HZ_HZD_ERROR_NOT_FOUND,     /* no such VM, notice, actuator */
    HZ_HZD_ERROR_STATE,         /* not now: frozen, wrong state of the notice */
    HZ_HZD_ERROR_REFUSED,       /* the tenant's declaration or the entitlement says no */
    HZ_HZD_ERROR_IO,
} HzHzdError;

/* Build the host from a loaded configuration (taken) and start serving; NULL on error. */
HzHost *hz_host_new(HzConfig *config, GError **error);
/* Stop serving. Releases nothing: hz_admin_stop() does that first. */
void hz_host_free(HzHost *host);

HzVm *hz_host_vm(HzHost *host, const char *name, GError **error);
/* VMs in the order of their names. Free the container. */
GPtrArray *hz_host_vms_sorted(HzHost *host);

#endif /* HZ_HZD_HZD_H */
