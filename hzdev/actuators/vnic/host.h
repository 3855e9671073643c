/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic host: the connection to hzd, kept up for ever.
 *
 * Lost, it is tried again after a delay that doubles up to a bound. The plan
 * stays in force; when hzd's word has not been heard for stale-after (a plan
 * that came, not a mere connection), its ceilings are lifted.
 */
#ifndef HZ_VNIC_HOST_H
#define HZ_VNIC_HOST_H

#include "commands.h"

typedef struct HzHostLink HzHostLink;

HzHostLink *hz_host_link_new(const char *path, GError **error);
void hz_host_link_free(HzHostLink *link);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzHostLink, hz_host_link_free)

#endif /* HZ_VNIC_HOST_H */
