/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl: waiting for what guests answer.
 */
#ifndef HZ_HZCTL_NOTICES_H
#define HZ_HZCTL_NOTICES_H

#include "app.h"

/*
 * Wait until each placed notice of @answer (notify's) has come to its end: closed,
 * or answered as its policy asks. @ms: how long at most; -1: by its deadlines.
 * Prints the times from sent to seen to prepared. An exit status.
 */
int hzctl_wait_notices(HzctlApp *app, JsonObject *answer, const char *cause, gint64 ms);

/* Repeat the drain with @arguments (borrowed, key included) until it is done. An exit status. */
int hzctl_wait_drain(HzctlApp *app, JsonObject *arguments, JsonNode *first, gint64 ms);
void hzctl_print_drain(JsonNode *answer);

#endif /* HZ_HZCTL_NOTICES_H */
