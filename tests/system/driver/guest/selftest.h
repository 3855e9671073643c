/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-selftest: the driver's tests that run in a guest, `hz-selftest CASE`.
 *
 * A case ends with exit status 0 or says at which line what was expected and
 * what came. Where it needs the host to do something it prints READY and a
 * word, and the host's script acts.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/virtio_hz.h>

#define WAIT_MS 60000   /* a bound, never a measure */

struct rec {
    struct hz_record head;
    uint8_t body[HZ_RECORD_MAX];
};

_Noreturn void fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Values are compared and printed as signed numbers: -errno or a result. */
#define EXPECT(got, want) do { \
    long long got_ = (long long)(got), want_ = (long long)(want); \
    if (got_ != want_) { \
        fail_at(__FILE__, __LINE__, "%s is %lld, not %s (%lld)", #got, got_, #want, want_); \
    } \
} while (0)

#define EXPECT_TRUE(what) do { \
    if (!(what)) { \
        fail_at(__FILE__, __LINE__, "not so: %s", #what); \
    } \
} while (0)

/* Tell the host's script that this much is done. */
void ready(const char *word);

/* All return a result or -errno. */
int hz_open(int flags);
int hz_call(int fd, unsigned long request, void *arg);
int declare(int fd, const char *subject, uint64_t *seq, uint32_t flags, const void *doc, uint32_t len);
int withdraw(int fd, const char *subject, uint64_t seq);
int reply(int fd, const struct rec *notice, uint16_t code);
int read_one(int fd, struct rec *r);

/* Wait for the next record of an entry; other records are passed over. */
void await(int fd, uint16_t type, const char *name, struct rec *r);
/* Read until nothing waits: how many records there were. */
int drain(int fd);
/* Is there a standing declaration of the subject, for somebody who opens now? */
bool stands(const char *subject);
int poll_for(int fd, int ms);

const struct virtio_hz_status *status_of(const struct rec *r);
const struct virtio_hz_notice *notice_of(const struct rec *r);
uint64_t boottime_ns(void);
void info(int fd, struct hz_info *i);
/* The number in a sysfs attribute of the device. */
long attribute(const char *name);
/* A page that can't be read or written. */
void *nowhere(void);
void write_file(const char *path, const char *text);

/* A small, well-formed document: field 1, four bytes. */
extern const uint8_t doc1[8];
extern const uint8_t doc2[8];

struct test_case {
    const char *name;
    void (*run)(void);
};

extern const struct test_case plain_cases[];
extern const struct test_case host_cases[];
extern const struct test_case life_cases[];
extern const struct test_case lies_cases[];

#endif
