/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd admin: the operator's levers over the whole host. @who is the caller, for the audit. */
#ifndef HZ_HZD_ADMIN_H
#define HZ_HZD_ADMIN_H

#include "hzd.h"

/* Stop all change; survives restarts (refused when it couldn't be kept). Repeats succeed. */
gboolean hz_admin_freeze(HzHost *host, const char *who, GError **error);
gboolean hz_admin_thaw(HzHost *host, const char *who, GError **error);

/* The state before hz, for one VM or (NULL) all, until reload or set-mode takes them up again. */
typedef void (*HzAdminDone)(const GError *error, gpointer opaque);
void hz_admin_release(HzHost *host, const char *vm, const char *who, HzAdminDone done,
                      gpointer opaque);

/*
 * Of the host (both NULL), one VM, or one actuator; until the next start or
 * reload. UNSET: the configuration's.
 */
gboolean hz_admin_set_mode(HzHost *host, const char *vm, const char *actuator, HzMode mode,
                           const char *who, GError **error);

/* Read the configuration again; on error the old one stays in force whole. */
gboolean hz_admin_reload(HzHost *host, const char *who, GError **error);

/* A clean stop: give everything back (bounded in time), then leave the main loop. */
void hz_admin_stop(HzHost *host);

/* {"mode", "frozen", "state-trouble", "vms", "actuators", …}: the doctor's first question. */
JsonObject *hz_admin_host_json(HzHost *host);

#endif /* HZ_HZD_ADMIN_H */
