/* SPDX-License-Identifier: MIT */
/* libhz's transport: the driver's device file. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

static int dev_open(const char *device)
{
    int fd = open(device, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    return fd < 0 ? -errno : fd;
}

static ssize_t dev_read(int fd, void *buf, size_t len)
{
    ssize_t n = read(fd, buf, len);

    return n < 0 ? -errno : n;
}

static int dev_ioctl(int fd, unsigned long request, void *arg)
{
    return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static void dev_close(int fd)
{
    close(fd);
}

const struct hz_transport hz_transport = {
    .open = dev_open,
    .read = dev_read,
    .ioctl = dev_ioctl,
    .close = dev_close,
};
