/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd audit: the append-only JSON log of what was asked, decided and done, and queries over it. */
#ifndef HZ_HZD_AUDIT_H
#define HZ_HZD_AUDIT_H

#include "hzd.h"

/*
 * A log that can't be opened is an error at start; one that can't be written
 * later (disk full) is said once on stderr and in query-metrics, and hzd runs on.
 */
HzAudit *hz_audit_open(const char *path, GError **error);
void hz_audit_close(HzAudit *audit);

/* Append {"time", "event", …@data}. Takes @data (may be NULL). Never fails for the caller. */
void hz_audit(HzHost *host, const char *event, JsonObject *data);

/* Lines lost since start because the file couldn't be written. */
uint64_t hz_audit_lost(const HzAudit *audit);

/* Lines newest last; @vm, @event NULL for any; at most @limit. */
JsonArray *hz_audit_query(HzHost *host, const char *vm, const char *event,
                          gint64 since_us, gint64 until_us, unsigned limit, GError **error);

/* The newest plan line about @vm at or before @at_us (wall clock): world, rule, result. NULL: not found. */
JsonObject *hz_audit_why(HzHost *host, const char *vm, gint64 at_us, GError **error);

#endif /* HZ_HZD_AUDIT_H */
