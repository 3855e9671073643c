/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic privileges: CAP_NET_ADMIN is kept, everything else given up for good.
 *
 * By the system calls themselves: it is three of them, and a library less to
 * need. The user id stays: hz-vnic.service runs it as a user of its own, and
 * root without capabilities and with no_new_privs owns files, no more.
 */
#include "privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vnic.h"

static gboolean failed(GError **error, const char *what)
{
    g_set_error(error, HZ_VNIC_ERROR, 0, "%s: %s", what, g_strerror(errno));
    return FALSE;
}

/* From the bounding set all others go, where CAP_SETPCAP allows: without it exec can't give them back either. */
static void trim_bounding_set(void)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
        if (cap != CAP_NET_ADMIN) {
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
        }
    }
}

gboolean hz_privileges_drop(GError **error)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };
    const unsigned keep = 1u << CAP_NET_ADMIN;

    if (syscall(SYS_capget, &header, caps) < 0) {
        return failed(error, "reading capabilities");
    }
    if (!(caps[0].permitted & keep)) {
        g_set_error(error, HZ_VNIC_ERROR, 0, "CAP_NET_ADMIN is needed to shape NICs "
                    "(run as root, or give the unit AmbientCapabilities=CAP_NET_ADMIN)");
        return FALSE;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return failed(error, "setting no_new_privs");
    }
    trim_bounding_set();
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    caps[0] = (struct __user_cap_data_struct){ .effective = keep, .permitted = keep };
    caps[1] = (struct __user_cap_data_struct){ 0 };
    if (syscall(SYS_capset, &header, caps) < 0) {
        return failed(error, "giving up capabilities");
    }
    return TRUE;
}
