/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd service: the lock of its run directory, and sd_notify's protocol without its library. */
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "hzd.h"

static int lock_error(GError **error, int fd, const char *path, const char *what, int err)
{
    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO, "%s: %s: %s", path, what, g_strerror(err));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

int hz_service_lock(const char *run_dir, gboolean *unclean, GError **error)
{
    g_autofree char *path = g_build_filename(run_dir, "hzd.lock", NULL);
    char text[32] = "";
    ssize_t n;
    int fd;

    if (g_mkdir_with_parents(run_dir, 0755)) {
        return lock_error(error, -1, run_dir, "can't be made (run-dir= moves it)", errno);
    }
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        return lock_error(error, fd, path, "can't be opened", errno);
    }
    n = read(fd, text, sizeof(text) - 1);
    text[MAX(n, 0)] = 0;
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_STATE,
                    "%s: another hzd (pid %s) runs on %s", path, *text ? g_strchomp(text) : "?",
                    run_dir);
        close(fd);
        return -1;
    }
    *unclean = *text != 0;
    n = g_snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n) {
        return lock_error(error, fd, path, "can't be written", errno);
    }
    return fd;
}

void hz_service_unlock(int fd)
{
    if (ftruncate(fd, 0)) {
        g_warning("the lock can't be emptied: %s", g_strerror(errno));
    }
    close(fd);
}

void hz_service_tell(const char *what)
{
    const char *where = g_getenv("NOTIFY_SOCKET");
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t len = where ? strlen(where) : 0;
    int fd;

    if (!len || len >= sizeof(a.sun_path)) {
        return;
    }
    memcpy(a.sun_path, where, len);
    if (*where == '@') {
        a.sun_path[0] = 0;      /* an abstract one */
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    if (sendto(fd, what, strlen(what), MSG_NOSIGNAL, (struct sockaddr *)&a,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0) {
        g_message("NOTIFY_SOCKET %s: %s", where, g_strerror(errno));
    }
    close(fd);
}
