/* SPDX-License-Identifier: MIT */
/* libhz's handle: opening, waiting, asking about the device, claiming it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define DEFAULT_DEVICE "/dev/hz"

/* Room for several records at a time; one always fits. */
#define READ_BUFFER (4 * HZ_RECORD_MAX)

static int ask(struct hz *hz, struct hz_info *info)
{
    int r;

    memset(info, 0, sizeof(*info));
    info->size = sizeof(*info);
    r = hz->t->ioctl(hz->fd, HZ_IOC_INFO, info);
    /* Not an hz device at all, or one of another interface version. */
    return r == -ENOTTY || r == -EINVAL ? -EPROTO : r;
}

int hz_open(struct hz **out, const char *device)
{
    struct hz_info info;
    struct hz *hz;
    int r;

    *out = NULL;
    if (!device) {
        device = getenv("HZ_DEVICE");
    }
    if (!device || !*device) {
        device = DEFAULT_DEVICE;
    }
    hz = calloc(1, sizeof(*hz));
    if (!hz) {
        return -ENOMEM;
    }
    hz->fd = -1;
    hz->t = &hz_transport;
    r = -pthread_mutex_init(&hz->lock, NULL);
    if (r < 0) {
        free(hz);
        return r;
    }
    hz->buf = malloc(READ_BUFFER);
    if (!hz->buf) {
        r = -ENOMEM;
        goto fail;
    }
    hz->fd = hz->t->open(device);
    if (hz->fd < 0) {
        r = hz->fd;
        goto fail;
    }
    r = ask(hz, &info);
    if (r < 0) {
        goto fail;
    }
    *out = hz;
    return 0;

fail:
    hz_close(hz);
    return r;
}

void hz_close(struct hz *hz)
{
    if (!hz) {
        return;
    }
    if (hz->fd >= 0) {
        hz->t->close(hz->fd);
    }
    pthread_mutex_destroy(&hz->lock);
    free(hz->buf);
    free(hz);
}

int hz_fd(const struct hz *hz)
{
    return hz->fd;
}

int hz_wait(struct hz *hz, int timeout_ms)
{
    struct pollfd p = { .fd = hz->fd, .events = POLLIN };
    bool have;
    int r;

    /* A record already fetched doesn't make the descriptor readable. */
    pthread_mutex_lock(&hz->lock);
    have = hz->pos < hz->have;
    pthread_mutex_unlock(&hz->lock);
    if (have) {
        return 1;
    }
    r = poll(&p, 1, timeout_ms);
    if (r < 0) {
        return -errno;
    }
    if (r > 0 && !(p.revents & POLLIN)) {
        return -ENODEV;
    }
    return r;
}

int64_t hz_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int hz_about(struct hz *hz, struct hz_about *about)
{
    struct hz_info info;
    int r = ask(hz, &info);

    if (r < 0) {
        return r;
    }
    memset(about, 0, sizeof(*about));
    about->protocol = info.version;
    about->provider = info.status & VIRTIO_HZ_S_PROVIDER;
    about->responder = info.flags & HZ_INFO_RESPONDER;
    about->responder_taken = info.flags & HZ_INFO_RESPONDER_TAKEN;
    about->max_declarations = info.max_declarations;
    about->max_notices = info.max_notices;
    about->max_doc = info.max_doc;
    about->disruption = info.disruption;
    about->board_version = info.board_version;
    memcpy(about->generation, info.generation, HZ_ID_LEN);
    return 0;
}

int hz_claim(struct hz *hz)
{
    return hz->t->ioctl(hz->fd, HZ_IOC_CLAIM, NULL);
}

int hz_unclaim(struct hz *hz)
{
    return hz->t->ioctl(hz->fd, HZ_IOC_UNCLAIM, NULL);
}

int hz_rewind(struct hz *hz)
{
    int r;

    pthread_mutex_lock(&hz->lock);
    r = hz->t->ioctl(hz->fd, HZ_IOC_REWIND, NULL);
    if (r == 0) {
        hz->have = hz->pos = 0;
    }
    pthread_mutex_unlock(&hz->lock);
    return r;
}

static int fill(struct hz *hz)
{
    ssize_t n = hz->t->read(hz->fd, hz->buf, READ_BUFFER);

    if (n == -EAGAIN || n == -EWOULDBLOCK) {
        return 0;
    }
    if (n <= 0) {
        return n < 0 ? (int)n : -ENODEV;
    }
    hz->have = (size_t)n;
    hz->pos = 0;
    return 1;
}

/* Take the next record out of the buffer; -EBADMSG when its head is wrong. */
static int take(struct hz *hz, struct hz_event **event)
{
    struct hz_record r;
    size_t left = hz->have - hz->pos;
    const uint8_t *at = hz->buf + hz->pos;

    if (left < sizeof(r)) {
        goto bad;
    }
    memcpy(&r, at, sizeof(r));
    if (r.size > left || r.size % 8 || r.head < sizeof(r) || r.head > r.size ||
        r.body > r.size - r.head) {
        goto bad;
    }
    hz->pos += r.size;
    return hz_event_from_record(hz, &r, at + r.head, event);

bad:
    hz->pos = hz->have;         /* nothing after it can be found */
    return -EBADMSG;
}

int hz_read(struct hz *hz, struct hz_event **event)
{
    int r = 0;

    *event = NULL;
    pthread_mutex_lock(&hz->lock);
    while (r == 0) {
        if (hz->pos >= hz->have) {
            r = fill(hz);
            if (r <= 0) {
                break;
            }
        }
        r = take(hz, event);
    }
    pthread_mutex_unlock(&hz->lock);
    return r;
}
