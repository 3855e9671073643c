/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd elect: which of a VM's links speaks for it.
 *
 * While a VM is migrated within a host, or a source comes back from a failed
 * migration, two devices hold one board. Running beats standing still; within
 * one generation the newer disruption wins; else whoever said HELLO last.
 */
#ifndef HZ_HZD_ELECT_H
#define HZ_HZD_ELECT_H

#include "link.h"

/* This link has said HELLO. FALSE: it's gone. */
gboolean hz_elect_hello(HzLink *link);
/* Something about the VM's links changed. */
void hz_elect(HzVm *vm);

#endif /* HZ_HZD_ELECT_H */
