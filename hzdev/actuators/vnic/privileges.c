/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic privileges: CAP_NET_ADMIN is kept, everything else given up for good.
 *
 * By the system calls themselves: it is a handful of them, and a library less
 * to need. hz-vnic.service starts it with nothing more than that capability in
 * the first place; this is for a start by hand, as root.
 */
#define _GNU_SOURCE         /* setresuid */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vnic.h"

#define KEEP (1u << CAP_NET_ADMIN)

static gboolean failed(GError **error, const char *what)
{
    g_set_error(error, HZ_VNIC_ERROR, 0, "%s: %s", what, g_strerror(errno));
    return FALSE;
}

/* Out of the bounding set goes all else, where CAP_SETPCAP allows: no exec brings it back then. */
static void trim_bounding_set(void)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
        if (cap != CAP_NET_ADMIN) {
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
        }
    }
}

/* Whom to become; 0 uid: nobody else. */
static gboolean find_user(const char *user, const char *folder, uid_t *uid, gid_t *gid,
                          GError **error)
{
    struct stat st;

    *uid = 0;
    if (user) {
        const struct passwd *pw = getpwnam(user);

        if (!pw) {
            g_set_error(error, HZ_VNIC_ERROR, 0, "--user: there is no user \"%s\"", user);
            return FALSE;
        }
        *uid = pw->pw_uid;
        *gid = pw->pw_gid;
    } else if (stat(folder, &st) == 0) {
        *uid = st.st_uid;
        *gid = st.st_gid;
    }
    return TRUE;
}

static gboolean become(uid_t uid, gid_t gid, GError **error)
{
    const struct passwd *pw = getpwuid(uid);

    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
        (pw ? initgroups(pw->pw_name, gid) : setgroups(1, &gid)) < 0 ||
        setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0) {
        return failed(error, "giving up root");
    }
    return TRUE;
}

gboolean hz_privileges_drop(const char *user, const char *folder, GError **error)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };
    uid_t uid = 0;
    gid_t gid = 0;

    if (syscall(SYS_capget, &header, caps) < 0) {
        return failed(error, "reading capabilities");
    }
    if (!(caps[0].permitted & KEEP)) {
        g_set_error(error, HZ_VNIC_ERROR, 0, "CAP_NET_ADMIN is needed to shape NICs "
                    "(run as root, or give the unit AmbientCapabilities=CAP_NET_ADMIN)");
        return FALSE;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return failed(error, "setting no_new_privs");
    }
    trim_bounding_set();
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (geteuid() == 0 && (!find_user(user, folder, &uid, &gid, error) ||
                           (uid != 0 && !become(uid, gid, error)))) {
        return FALSE;
    }
    caps[0] = (struct __user_cap_data_struct){ .effective = KEEP, .permitted = KEEP };
    caps[1] = (struct __user_cap_data_struct){ 0 };
    if (syscall(SYS_capset, &header, caps) < 0) {
        return failed(error, "giving up capabilities");
    }
    return TRUE;
}
