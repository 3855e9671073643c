/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic privileges: CAP_NET_ADMIN is kept, everything else given up for good. */
#ifndef HZ_VNIC_PRIVILEGES_H
#define HZ_VNIC_PRIVILEGES_H

#include <glib.h>

/*
 * Also no_new_privs, and root becomes @user, or, with @user NULL, whoever owns
 * @folder: the one hzd's socket is in, which a root without capabilities could
 * not open. An error when CAP_NET_ADMIN isn't there to keep.
 */
gboolean hz_privileges_drop(const char *user, const char *folder, GError **error);

#endif /* HZ_VNIC_PRIVILEGES_H */
