/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A board for tests, in a process of its own, that any number of programs
 * open as they open /dev/hz: libhz on another transport, everything else real.
 *
 * A program connects, passes one end of a socket pair and reads records from
 * the other; requests and answers go over the connection. A connection whose
 * first packet is text is the provider's (fake-board.c lists what it takes).
 */
#ifndef HZ_TEST_FAKE_H
#define HZ_TEST_FAKE_H

#include <stdint.h>

#include <linux/virtio_hz.h>

#define FAKE_OPEN 0x6f70656eu

struct fake_request {
    uint32_t request;           /* HZ_IOC_*, or FAKE_OPEN with the events' descriptor */
    uint32_t doc_len;
    union {
        struct hz_info info;
        struct hz_declare declare;
        struct hz_reply reply;
    };
    uint8_t doc[2048];          /* more than the device takes: it must say so */
};

struct fake_answer {
    int32_t result;
    union {
        struct hz_info info;
        struct hz_declare declare;
    };
};

#endif /* HZ_TEST_FAKE_H */
