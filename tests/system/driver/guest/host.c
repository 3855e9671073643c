/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-selftest: cases in which the host's end of the link acts, after each READY. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "selftest.h"

static int opened_drained(int flags)
{
    int fd = hz_open(flags);

    if (fd < 0) {
        fail_at(__FILE__, __LINE__, "/dev/hz: %s", strerror(-fd));
    }
    EXPECT(poll_for(fd, WAIT_MS), POLLIN);
    drain(fd);
    return fd;
}

/* Until the provider is there or not; a STATUS tells of it. */
static void await_provider(int fd, int present)
{
    struct rec r;

    while (attribute("provider") != present) {
        await(fd, VIRTIO_HZ_R_STATUS, "", &r);
    }
}

/* A notice wakes a reader that sleeps in read(), and is answered. */
static void case_notice(void)
{
    int fd = opened_drained(0), other = opened_drained(O_NONBLOCK);
    uint64_t before = boottime_ns(), after;
    struct rec r, echo;

    ready("notice");
    EXPECT_TRUE(read_one(fd, &r) > 0);
    after = boottime_ns();
    EXPECT(r.head.type, VIRTIO_HZ_R_NOTICE);
    EXPECT(r.head.flags, 0);
    EXPECT(notice_of(&r)->kind, 4);
    EXPECT_TRUE(r.head.boottime_ns >= before && r.head.boottime_ns <= after);
    /* 90 s were left when the host sent it */
    EXPECT_TRUE(notice_of(&r)->deadline_ns > 0 && notice_of(&r)->deadline_ns <= 90000000000ULL);
    EXPECT(poll_for(other, WAIT_MS), POLLIN);

    EXPECT(reply(fd, &r, VIRTIO_HZ_REPLY_SEEN), -EPERM);
    EXPECT(hz_call(fd, HZ_IOC_CLAIM, NULL), 0);
    EXPECT(reply(fd, &r, VIRTIO_HZ_REPLY_SEEN), 0);
    EXPECT_TRUE(read_one(fd, &echo) > 0);
    EXPECT(notice_of(&echo)->reply, VIRTIO_HZ_REPLY_SEEN);
    EXPECT(reply(fd, &r, VIRTIO_HZ_REPLY_PREPARED), 0);
    EXPECT_TRUE(read_one(fd, &echo) > 0);
    EXPECT(notice_of(&echo)->replied, 1 << VIRTIO_HZ_REPLY_SEEN | 1 << VIRTIO_HZ_REPLY_PREPARED);
    EXPECT(reply(fd, &r, 99), -EOPNOTSUPP);
    ((struct virtio_hz_notice *)r.body)->revision = 7;
    EXPECT(reply(fd, &r, VIRTIO_HZ_REPLY_SEEN), -ECANCELED);
    ((struct virtio_hz_notice *)r.body)->revision = 1;
    r.head.key[0] ^= 1;
    EXPECT(reply(fd, &r, VIRTIO_HZ_REPLY_SEEN), -ENOENT);
}

/* poll() without a bound is woken too; a dropped notice is told as gone. */
static void case_drop(void)
{
    int fd = opened_drained(O_NONBLOCK);
    struct rec r;

    ready("notice");
    EXPECT(poll_for(fd, -1), POLLIN);
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(r.head.type, VIRTIO_HZ_R_NOTICE);
    ready("drop");
    EXPECT(poll_for(fd, -1), POLLIN);
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(r.head.type, VIRTIO_HZ_R_NOTICE);
    EXPECT(r.head.flags, VIRTIO_HZ_REC_GONE);
}

static void case_verdict(void)
{
    int fd = opened_drained(0);
    const struct virtio_hz_declaration *d;
    const struct virtio_hz_verdict *v;
    uint64_t seq = VIRTIO_HZ_SEQ_NEW;
    struct rec r;

    EXPECT(declare(fd, "nic/7", &seq, 0, doc1, sizeof(doc1)), 0);
    ready("verdict");
    do {
        await(fd, VIRTIO_HZ_R_DECLARATION, "nic/7", &r);
        d = (const void *)r.body;
    } while (!d->verdicts);
    EXPECT(d->seq, seq);
    EXPECT(d->verdict_seq, seq);
    EXPECT(d->verdicts, 1);
    v = (const void *)((const uint8_t *)(d + 1) + sizeof(doc1));
    EXPECT(v->field, 1);
    EXPECT(v->code, VIRTIO_HZ_VERDICT_CLAMPED);
    EXPECT(v->value, 4711);
}

/* Many updates in one go: what is read last is the newest of each. */
static void case_burst(void)
{
    int fd = opened_drained(0), at_newest = 0;
    uint8_t newest[30] = { 0 };
    struct rec r;

    ready("burst");
    while (at_newest < 30) {
        EXPECT(poll_for(fd, WAIT_MS), POLLIN);
        EXPECT_TRUE(read_one(fd, &r) > 0);
        if (r.head.type != VIRTIO_HZ_R_NOTICE || r.head.key[0] != 0xb0) {
            continue;
        }
        int n = r.head.key[1];

        EXPECT_TRUE(n < 30);
        EXPECT_TRUE(notice_of(&r)->revision >= newest[n]);
        at_newest += newest[n] < 8 && notice_of(&r)->revision == 8;
        newest[n] = (uint8_t)notice_of(&r)->revision;
    }
    /* and what somebody reads who opens now */
    fd = hz_open(0);
    for (int n = 0; n < 30;) {
        EXPECT(poll_for(fd, WAIT_MS), POLLIN);
        EXPECT_TRUE(read_one(fd, &r) > 0);
        if (r.head.type == VIRTIO_HZ_R_NOTICE && r.head.key[0] == 0xb0) {
            EXPECT(notice_of(&r)->revision, 8);
            n++;
        }
    }
}

/* A full table's closed notices make room for new ones, whose telling starts over. */
static void case_evict(void)
{
    int fd = opened_drained(0), sleeper = opened_drained(O_NONBLOCK), seen = 0;
    struct rec r;

    ready("fill");
    while (seen < 32) {
        EXPECT(poll_for(fd, WAIT_MS), POLLIN);
        EXPECT_TRUE(read_one(fd, &r) > 0);
        seen += r.head.type == VIRTIO_HZ_R_NOTICE && r.head.key[0] == 0xe0 &&
                notice_of(&r)->state == VIRTIO_HZ_STATE_COMPLETED;
    }
    ready("more");
    for (int n = 0; n < 20; n++) {
        char name[VIRTIO_HZ_KEY_LEN] = { (char)0xe1, (char)(n + 1) };

        await(fd, VIRTIO_HZ_R_NOTICE, name, &r);
        EXPECT(r.head.flags, 0);
    }
    /* who opens now, and who slept, finds the twenty new ones and the twelve newest of the old */
    for (int i = 0; i < 2; i++) {
        int late = i ? hz_open(O_NONBLOCK) : sleeper, gone = 0, standing = 0;

        EXPECT(poll_for(late, WAIT_MS), POLLIN);
        while (read_one(late, &r) > 0) {
            if (r.head.flags & VIRTIO_HZ_REC_FULL) {
                gone = standing = 0;
            }
            if (r.head.type == VIRTIO_HZ_R_NOTICE && (r.head.key[0] & 0xfe) == 0xe0) {
                gone += !!(r.head.flags & VIRTIO_HZ_REC_GONE);
                standing += !(r.head.flags & VIRTIO_HZ_REC_GONE);
            }
        }
        EXPECT(standing, 32);
        EXPECT(gone, i ? 0 : 20);
    }
}

static void case_provider(void)
{
    int fd = opened_drained(0);
    struct hz_info i;

    EXPECT(attribute("provider"), 1);
    ready("hang up");
    await_provider(fd, 0);
    info(fd, &i);
    EXPECT(i.status, 0);
    EXPECT(attribute("provider"), 0);
    ready("come back");
    await_provider(fd, 1);
    EXPECT(attribute("provider"), 1);
}

/* The VM is stopped and goes on: the reason comes first, then the open notice once more. */
static void case_pause(void)
{
    int fd = opened_drained(0);
    uint64_t earlier;
    struct rec r;

    ready("notice");
    await(fd, VIRTIO_HZ_R_NOTICE, "pause-pause-paus", &r);
    earlier = r.head.boottime_ns;
    ready("pause");
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(status_of(&r)->reason, VIRTIO_HZ_WHY_PAUSE);
    EXPECT_TRUE(status_of(&r)->pause_ns > 0);
    await(fd, VIRTIO_HZ_R_NOTICE, "pause-pause-paus", &r);
    EXPECT_TRUE(r.head.boottime_ns > earlier);
    EXPECT_TRUE(notice_of(&r)->deadline_ns > 0);
}

/* Another generation of the state: the disruption is told before anything else. */
static void case_migrate(void)
{
    int fd = opened_drained(0), other = opened_drained(0);
    uint64_t seq = VIRTIO_HZ_SEQ_NEW;
    struct hz_info before, after;
    struct rec r;

    EXPECT(declare(fd, "nic/0", &seq, 0, doc1, sizeof(doc1)), 0);
    drain(fd);
    info(fd, &before);
    ready("migrate");
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(r.head.type, VIRTIO_HZ_R_STATUS);
    EXPECT(r.head.disruption, before.disruption + 1);
    EXPECT(status_of(&r)->reason, VIRTIO_HZ_WHY_MIGRATE);
    await(fd, VIRTIO_HZ_R_DECLARATION, "nic/0", &r);
    EXPECT(r.head.flags, 0);
    EXPECT(r.head.disruption, before.disruption + 1);
    info(fd, &after);
    EXPECT(after.disruption, before.disruption + 1);
    EXPECT(attribute("disruption"), before.disruption + 1);
    /* it stands, and is still this file's */
    EXPECT(declare(other, "nic/0", NULL, 0, doc1, sizeof(doc1)), -EBUSY);
    EXPECT(declare(fd, "nic/0", &seq, 0, doc2, sizeof(doc2)), 0);
    EXPECT_TRUE(stands("nic/0"));
    await_provider(fd, 1);
}

const struct test_case host_cases[] = {
    { "notice", case_notice },
    { "drop", case_drop },
    { "verdict", case_verdict },
    { "burst", case_burst },
    { "evict", case_evict },
    { "provider", case_provider },
    { "pause", case_pause },
    { "migrate", case_migrate },
    { NULL, NULL },
};
