/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd state: the few things nobody else remembers, on disk.
 *
 * Each is a small file in state-dir, headed by its format's version, replaced
 * atomically. The host's secret; the freeze; notices no board carries yet;
 * pauses of the last hour. Without a writable directory hzd runs on what it
 * could read, says so, and refuses what it couldn't keep a promise about.
 */
#ifndef HZ_HZD_STATE_H
#define HZ_HZD_STATE_H

#include "hzd.h"

#define HZ_SECRET_LEN 32

/*
 * Open (making the directory and the secret when they aren't there). An
 * unreadable or unwritable secret is an error.
 */
HzState *hz_state_open(const char *dir, GError **error);
void hz_state_free(HzState *state);

/*
 * Replace file @name by @body atomically: a killed hzd leaves the old or the
 * new. @durable: also a host that loses power does; that may take a while.
 */
gboolean hz_state_write(HzState *state, const char *name, const char *body, gboolean durable,
                        GError **error);
/* Its body; NULL without error when there's none. A newer format or a damaged file is an error. */
char *hz_state_read(HzState *state, const char *name, GError **error);
gboolean hz_state_remove(HzState *state, const char *name, GError **error);

/*
 * First 16 bytes of HMAC-SHA256(secret, tenant NUL domain NUL key): stable,
 * unrelated between tenants.
 */
void hz_state_id(const HzState *state, const char *tenant, const char *domain, const char *key,
                 uint8_t id[VIRTIO_HZ_UUID_LEN]);

/* Could something be written now? FALSE: why not, which hz_state_trouble() says from then on. */
gboolean hz_state_probe(HzState *state, GError **error);

/* Why the last write failed; NULL when it didn't. */
const char *hz_state_trouble(const HzState *state);

#endif /* HZ_HZD_STATE_H */
