/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz json socket: unix sockets by path, to listen on and to connect to.
 */
#include "json/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

static int fail(GError **error, int fd, const char *path, const char *what, int err)
{
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(err),
                "%s: %s: %s", path, what, g_strerror(err));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static gboolean address(const char *path, struct sockaddr_un *a, GError **error)
{
    *a = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (!*path || strlen(path) >= sizeof(a->sun_path)) {
        g_set_error(error, HZ_JSON_ERROR, HZ_JSON_ERROR_INVALID,
                    "%s: a socket's path has 1 to %zu bytes, this one %zu",
                    path, sizeof(a->sun_path) - 1, strlen(path));
        return FALSE;
    }
    strcpy(a->sun_path, path);
    return TRUE;
}

int hz_unix_connect(const char *path, GError **error)
{
    struct sockaddr_un a;
    int fd;

    if (!address(path, &a, error)) {
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return fail(error, fd, path, "can't make a socket", errno);
    }
    if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
        return fail(error, fd, path, "can't connect", errno);
    }
    return fd;
}

/* Make room at @path: nothing there, or the socket of a program that is gone. */
static gboolean make_room(const char *path, const struct sockaddr_un *a, GError **error)
{
    struct stat st;
    int fd, rc, err;

    if (lstat(path, &st)) {
        return TRUE;
    }
    if (!S_ISSOCK(st.st_mode)) {
        g_set_error(error, HZ_JSON_ERROR, HZ_JSON_ERROR_INVALID,
                    "%s: there is something that is no socket", path);
        return FALSE;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    rc = connect(fd, (const struct sockaddr *)a, sizeof(*a));
    err = errno;
    close(fd);
    if (rc == 0 || err != ECONNREFUSED) {
        g_set_error(error, HZ_JSON_ERROR, HZ_JSON_ERROR_INVALID,
                    "%s: another program listens there", path);
        return FALSE;
    }
    g_unlink(path);
    return TRUE;
}

int hz_unix_listen(const char *path, mode_t mode, GError **error)
{
    struct sockaddr_un a;
    int fd;

    if (!address(path, &a, error) || !make_room(path, &a, error)) {
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return fail(error, fd, path, "can't make a socket", errno);
    }
    /* On Linux the new node takes the socket's own mode: at no moment is it wider than @mode. */
    fchmod(fd, mode);
    if (bind(fd, (struct sockaddr *)&a, sizeof(a))) {
        return fail(error, fd, path, "can't bind", errno);
    }
    if (chmod(path, mode)) {
        return fail(error, fd, path, "can't set its permissions", errno);
    }
    if (listen(fd, BACKLOG)) {
        return fail(error, fd, path, "can't listen", errno);
    }
    return fd;
}
