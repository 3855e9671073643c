/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd link: one connection of a device, from accept to close.
 *
 * parked     accepted, who it is isn't known yet; nothing is read
 * silent     identified; the device hasn't said HELLO (standby)
 * waiting    HELLO said, another link speaks for the VM
 * speaking   WELCOME given: this is the VM's link
 * superseded was speaking; a newer one took its place
 */
#ifndef HZ_HZD_LINK_H
#define HZ_HZD_LINK_H

#include "hzd.h"

typedef enum {
    HZ_LINK_PARKED, HZ_LINK_SILENT, HZ_LINK_WAITING, HZ_LINK_SPEAKING, HZ_LINK_SUPERSEDED,
} HzLinkState;

/* The VM's socket is readable: accept. */
gboolean hz_link_listen(HzVm *vm, GError **error);
void hz_link_unlisten(HzVm *vm);
/* Something is to be told: write what the socket takes. */
void hz_link_pump(HzVm *vm);
/* A monitor has been reached or lost: look at the parked links again. */
void hz_link_recheck(HzVm *vm);
void hz_link_free(HzLink *link);

JsonArray *hz_links_json(const HzVm *vm);

#endif /* HZ_HZD_LINK_H */
