/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libhz's transport in tests: the board of fake-board.c instead of the driver's device file. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake.h"
#include "internal.h"

/* The connection that belongs to the descriptor hz_fd() gives. */
static int connection[1024];

static int call(int fd, const struct fake_request *q, struct fake_answer *a)
{
    ssize_t n;

    if (send(fd, q, sizeof(*q), MSG_NOSIGNAL) < 0) {
        return -ENODEV;
    }
    n = recv(fd, a, sizeof(*a), 0);
    return n == (ssize_t)sizeof(*a) ? a->result : -ENODEV;
}

static int send_descriptor(int conn, int fd)
{
    struct fake_request q = { .request = FAKE_OPEN };
    struct iovec iov = { &q, sizeof(q) };
    union {
        struct cmsghdr h;
        char buf[CMSG_SPACE(sizeof(int))];
    } c = { 0 };
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.buf,
                        .msg_controllen = sizeof(c.buf) };
    struct fake_answer a;

    c.h.cmsg_level = SOL_SOCKET;
    c.h.cmsg_type = SCM_RIGHTS;
    c.h.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&c.h), &fd, sizeof(fd));
    if (sendmsg(conn, &m, MSG_NOSIGNAL) < 0 || recv(conn, &a, sizeof(a), 0) != sizeof(a)) {
        return -ENODEV;
    }
    return a.result;
}

static int fake_open(const char *device)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int pair[2], conn, r;

    if (strlen(device) >= sizeof(addr.sun_path)) {
        return -ENAMETOOLONG;
    }
    strcpy(addr.sun_path, device);
    conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (conn < 0 || connect(conn, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        r = errno == ECONNREFUSED ? -ENOENT : -errno;
        close(conn);
        return r;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        r = -errno;
        close(conn);
        return r;
    }
    r = send_descriptor(conn, pair[1]);
    close(pair[1]);
    if (r < 0 || pair[0] >= (int)(sizeof(connection) / sizeof(connection[0]))) {
        close(conn);
        close(pair[0]);
        return r < 0 ? r : -EMFILE;
    }
    connection[pair[0]] = conn;
    return pair[0];
}

static ssize_t fake_read(int fd, void *buf, size_t len)
{
    ssize_t n = recv(fd, buf, len, MSG_DONTWAIT | MSG_TRUNC);

    if (n < 0) {
        return errno == EAGAIN ? -EAGAIN : -ENODEV;
    }
    if (n > (ssize_t)len) {
        return -EMSGSIZE;
    }
    return n ? n : -ENODEV;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
    struct fake_request q = { .request = (uint32_t)request };
    struct fake_answer a;
    uint64_t doc = 0;
    int r;

    switch (request) {
    case HZ_IOC_INFO:
        memcpy(&q.info, arg, sizeof(q.info));
        break;
    case HZ_IOC_DECLARE:
    case HZ_IOC_WITHDRAW:
        memcpy(&q.declare, arg, sizeof(q.declare));
        doc = q.declare.doc;
        q.doc_len = q.declare.doc_len;
        break;
    case HZ_IOC_REPLY:
        memcpy(&q.reply, arg, sizeof(q.reply));
        doc = q.reply.doc;
        q.doc_len = q.reply.doc_len;
        break;
    }
    if (q.doc_len > sizeof(q.doc)) {
        return -EMSGSIZE;
    }
    if (q.doc_len) {
        memcpy(q.doc, (const void *)(uintptr_t)doc, q.doc_len);
    }
    r = call(connection[fd], &q, &a);
    if (r == 0 && request == HZ_IOC_INFO) {
        memcpy(arg, &a.info, sizeof(a.info));
    } else if (r == 0 && request == HZ_IOC_DECLARE) {
        memcpy(arg, &a.declare, sizeof(a.declare));
    }
    return r;
}

static void fake_close(int fd)
{
    close(connection[fd]);
    close(fd);
}

const struct hz_transport hz_transport = {
    .open = fake_open,
    .read = fake_read,
    .ioctl = fake_ioctl,
    .close = fake_close,
};
