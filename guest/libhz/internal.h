/* SPDX-License-Identifier: MIT */
/*
 * libhz inside: a handle, and the seam to whatever carries the /dev/hz
 * interface. The library has one transport, the device file; tests bring
 * their own.
 */
#ifndef LIBHZ_INTERNAL_H
#define LIBHZ_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "core/wire.h"
#include "libhz.h"

/* As the system calls, but a negative errno instead of -1 and errno. */
struct hz_transport {
    int (*open)(const char *device);    /* a descriptor for poll() */
    ssize_t (*read)(int fd, void *buf, size_t len);
    int (*ioctl)(int fd, unsigned long request, void *arg);
    void (*close)(int fd);
};

/* The transport hz_open() uses. */
extern const struct hz_transport hz_transport;

struct hz {
    const struct hz_transport *t;
    int fd;
    pthread_mutex_t lock;       /* everything below */
    uint8_t *buf;               /* records as read */
    size_t have, pos;
    bool known;                 /* status below is from a record */
    struct hz_status status;
    uint64_t disruption, version;       /* of that record */
};

#define HZ_ERROR_LEN 256

struct hz_draft {
    char subject[HZ_SUBJECT_LEN];
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    bool bad_subject;
    size_t len;
    uint8_t doc[VIRTIO_HZ_MAX_DOC];
    char error[HZ_ERROR_LEN];
};

/* One hz_record of the interface to an event; 1, 0 nothing to tell, negative errno. */
int hz_event_from_record(struct hz *hz, const struct hz_record *r, const uint8_t *body,
                         struct hz_event **event);

#endif /* LIBHZ_INTERNAL_H */
