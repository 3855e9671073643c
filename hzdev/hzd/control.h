/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd control: the two sockets operators' tools talk to, in QMP's shape. */
#ifndef HZ_HZD_CONTROL_H
#define HZ_HZD_CONTROL_H

#include "hzd.h"

/* Listen on run-dir/control.sock and readonly.sock. */
HzControl *hz_control_new(HzHost *host, GError **error);
void hz_control_free(HzControl *control);

/* VM_LINK, NOTICE, DECLARATION, VERDICT, ACTUATOR: to every negotiated client. Takes @data. */
void hz_control_event(HzHost *host, const char *name, JsonObject *data);

#endif /* HZ_HZD_CONTROL_H */
