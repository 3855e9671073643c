/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd service: one instance a run directory, and what a service manager wants to know. */
#ifndef HZ_HZD_SERVICE_H
#define HZ_HZD_SERVICE_H

#include <glib.h>

/*
 * Lock run-dir/hzd.lock: fd, held until the process ends, or -1. *@unclean:
 * the last one didn't stop in order.
 */
int hz_service_lock(const char *run_dir, gboolean *unclean, GError **error);
/* In order: what is left of the lock says so. */
void hz_service_unlock(int fd);
/* READY=1 and the like to NOTIFY_SOCKET, when there is one. */
void hz_service_tell(const char *what);

#endif /* HZ_HZD_SERVICE_H */
