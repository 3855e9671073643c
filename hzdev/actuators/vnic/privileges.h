/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic privileges: CAP_NET_ADMIN is kept, everything else given up for good. */
#ifndef HZ_VNIC_PRIVILEGES_H
#define HZ_VNIC_PRIVILEGES_H

#include <glib.h>

/* Also no_new_privs. An error when CAP_NET_ADMIN isn't there to keep. */
gboolean hz_privileges_drop(GError **error);

#endif /* HZ_VNIC_PRIVILEGES_H */
