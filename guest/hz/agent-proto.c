/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz agent's socket: connecting, sending, receiving. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent-proto.h"

const char *agent_socket_path(void)
{
    const char *path = getenv("HZ_AGENT_SOCKET");

    return path && *path ? path : AGENT_SOCKET;
}

int agent_connect(void)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    const char *path = agent_socket_path();
    int fd, r;

    if (strlen(path) >= sizeof(a.sun_path)) {
        return -ENAMETOOLONG;
    }
    strcpy(a.sun_path, path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

int agent_send(int fd, const struct agent_msg *m)
{
    struct agent_msg out = *m;

    out.magic = AGENT_MAGIC;
    out.version = AGENT_VERSION;
    if (send(fd, &out, sizeof(out), MSG_NOSIGNAL) < 0) {
        return -errno;
    }
    return 0;
}

int agent_receive(int fd, struct agent_msg *m)
{
    ssize_t n = recv(fd, m, sizeof(*m), MSG_DONTWAIT | MSG_TRUNC);

    if (n < 0) {
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
    if (n == 0) {
        return 0;
    }
    if (n != sizeof(*m) || m->magic != AGENT_MAGIC || m->version != AGENT_VERSION) {
        return -EPROTO;
    }
    m->name[sizeof(m->name) - 1] = '\0';
    return 1;
}
