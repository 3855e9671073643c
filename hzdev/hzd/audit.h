/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd audit: the append-only log of what was asked, decided and done.
 *
 * One JSON object a line, one write() a line, the file opened with O_APPEND:
 * a killed hzd leaves whole lines. Nothing is synced; the kernel writes back as
 * it does, so a host that loses power may lose its last seconds of the log.
 * Rotation is somebody else's: rename the file, then SIGHUP (hz_audit_reopen()).
 */
#ifndef HZ_HZD_AUDIT_H
#define HZ_HZD_AUDIT_H

#include "hzd.h"

/* A log that can't be opened is an error at start. */
HzAudit *hz_audit_open(const char *path, GError **error);
void hz_audit_close(HzAudit *audit);

/* The file was moved away: go on in a new one. On failure the old one goes on. */
gboolean hz_audit_reopen(HzAudit *audit, GError **error);

/*
 * Append {"time", "us", "event", …@data}. Takes @data (may be NULL), doesn't
 * change it. Never fails for the caller: a line that can't be written (disk
 * full) is lost, counted, said once on stderr; hzd runs on, and when writing
 * works again a line says how many are missing.
 */
void hz_audit(HzHost *host, const char *event, JsonObject *data);

/* Lines lost since start because the file couldn't be written. */
uint64_t hz_audit_lost(const HzAudit *audit);
/* Why the last line couldn't be written; NULL when it could. */
const char *hz_audit_trouble(const HzAudit *audit);
const char *hz_audit_path(const HzAudit *audit);

/*
 * Reading, of the present file, from its end back over at most HZ_AUDIT_SCAN
 * bytes. Lines that are no JSON are skipped.
 */
#define HZ_AUDIT_SCAN (64 * 1024 * 1024)
#define HZ_AUDIT_LIMIT_MAX 1000

/*
 * Newest last; @vm, @event NULL for any; at most @limit, and no more than fit
 * into HZ_AUDIT_ANSWER bytes. Times are wall clock, µs.
 */
#define HZ_AUDIT_ANSWER (768 * 1024)
JsonArray *hz_audit_query(HzHost *host, const char *vm, const char *event,
                          gint64 since_us, gint64 until_us, unsigned limit, GError **error);

/*
 * The newest plan at or before @at_us that has a line about @vm: {"time", "us",
 * "epoch", "world", "plan": that VM's lines}. NULL: not found.
 */
JsonObject *hz_audit_why(HzHost *host, const char *vm, gint64 at_us, GError **error);

#endif /* HZ_HZD_AUDIT_H */
