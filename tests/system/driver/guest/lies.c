/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-selftest: the device lies (the hz_liar module plays it), and the driver doesn't believe it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest.h"

#define DRIVER "/sys/bus/virtio/drivers/virtio_hz"
#define PARAMETER "/sys/module/hz_liar/parameters/"

static void lie(const char *name)
{
    write_file(PARAMETER "lie", name);
}

static void act(const char *what)
{
    write_file(PARAMETER "act", what);
}

static const char *liar_name(void)
{
    static char name[256];
    DIR *d = opendir("/sys/devices/hz_liar");
    struct dirent *e;

    EXPECT_TRUE(d != NULL);
    while ((e = readdir(d))) {
        if (!strncmp(e->d_name, "virtio", 6)) {
            snprintf(name, sizeof(name), "%s", e->d_name);
        }
    }
    closedir(d);
    EXPECT_TRUE(name[0]);
    return name;
}

/* 0 or -errno, as the driver's probe said it. */
static int bind_now(void)
{
    int fd = open(DRIVER "/bind", O_WRONLY), ret;

    EXPECT_TRUE(fd >= 0);
    ret = write(fd, liar_name(), strlen(liar_name())) < 0 ? -errno : 0;
    close(fd);
    return ret;
}

static void unbind(void)
{
    write_file(DRIVER "/unbind", liar_name());
}

static int opened(int flags)
{
    int fd = hz_open(flags);

    if (fd < 0) {
        fail_at(__FILE__, __LINE__, "/dev/hz: %s", strerror(-fd));
    }
    return fd;
}

/* A fresh start with an honest device; what is broken is healed. */
static int restart(void)
{
    int fd;

    act("speak");
    act("reset-no-more");
    lie("none");
    unbind();
    EXPECT(bind_now(), 0);
    fd = opened(0);
    EXPECT(poll_for(fd, WAIT_MS), POLLIN);
    return fd;
}

static void works(int fd)
{
    EXPECT(declare(fd, "works", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT_TRUE(stands("works"));
    EXPECT(withdraw(fd, "works", VIRTIO_HZ_SEQ_ANY), 0);
}

static void *sleeper(void *arg)
{
    struct rec r;
    int ret;

    do {
        ret = read_one(*(int *)arg, &r);
    } while (ret > 0);
    return (void *)(intptr_t)ret;
}

static void broken(int fd)
{
    struct hz_info i = { .size = sizeof(i) };
    struct rec r;

    EXPECT(read_one(fd, &r), -EIO);
    EXPECT(poll_for(fd, 0), POLLERR);
    EXPECT(hz_call(fd, HZ_IOC_INFO, &i), -EIO);
    EXPECT(declare(fd, "x", NULL, 0, doc1, sizeof(doc1)), -EIO);
}

/* Every twisted answer breaks the device: EIO for who asked and for who sleeps. */
static void case_answers(void)
{
    static const char *const lies[] = {
        "answer-used-huge", "answer-used-short", "answer-len-huge", "answer-len-zero", "answer-cookie",
        "answer-type", "answer-flags", "answer-status", "answer-id",
    };

    for (size_t n = 0; n < sizeof(lies) / sizeof(lies[0]); n++) {
        int fd = restart(), other = opened(0);
        pthread_t thread;
        void *ret;

        printf("# %s\n", lies[n]);
        works(fd);
        EXPECT(declare(other, "kept", NULL, 0, doc1, sizeof(doc1)), 0);
        EXPECT(pthread_create(&thread, NULL, sleeper, &other), 0);
        lie(lies[n]);
        EXPECT(declare(fd, "nic/0", NULL, 0, doc1, sizeof(doc1)), -EIO);
        EXPECT(pthread_join(thread, &ret), 0);
        EXPECT((intptr_t)ret, -EIO);
        broken(fd);
        broken(other);
        close(fd);
        close(other);
        works(restart());
    }
}

/* It claims a version it will never tell of: who asked isn't kept waiting for it. */
static void case_ahead(void)
{
    int fd = restart();

    lie("answer-ahead");
    EXPECT(declare(fd, "nic/0", NULL, 0, doc1, sizeof(doc1)), 0);
    works(fd);
}

static void case_readings(void)
{
    static const char *const lies[] = {
        "read-refused", "read-more", "read-flags", "read-count-more", "read-count-less", "read-record-empty",
        "read-record-odd", "read-record-long", "read-record-huge", "read-alien",
        "read-no-status",
    };

    for (size_t n = 0; n < sizeof(lies) / sizeof(lies[0]); n++) {
        struct rec r;
        int fd;

        printf("# %s\n", lies[n]);
        close(restart());
        unbind();
        lie(lies[n]);
        EXPECT(bind_now(), 0);
        fd = opened(0);
        EXPECT(read_one(fd, &r), -EIO);
        broken(fd);
        close(fd);
        works(restart());
    }
}

/* A reading may tell of a kind unknown here: it is passed over. */
static void case_reading_unknown(void)
{
    int fd = restart();

    act("notice");
    drain(fd);
    lie("read-unknown");
    act("config-changed");
    works(fd);
}

static void case_events_break(void)
{
    static const char *const lies[] = {
        "event-used-huge", "event-used-short", "event-len-zero", "event-len-odd", "event-len-long", "event-len-huge",
    };

    for (size_t n = 0; n < sizeof(lies) / sizeof(lies[0]); n++) {
        int fd = restart();
        struct rec r;

        printf("# %s\n", lies[n]);
        drain(fd);
        lie(lies[n]);
        act("notice");
        EXPECT(read_one(fd, &r), -EIO);
        broken(fd);
        close(fd);
        works(restart());
    }
}

/* An event of a kind unknown here is passed over: the next is told. */
static void case_events_skip(void)
{
    static const char *const lies[] = {
        "event-type", "event-flag", "event-full", "event-key", "event-gone-with-body",
    };

    for (size_t n = 0; n < sizeof(lies) / sizeof(lies[0]); n++) {
        int fd = restart();
        struct rec r;

        printf("# %s\n", lies[n]);
        drain(fd);
        lie(lies[n]);
        act("notice");
        EXPECT(poll_for(fd, 0), 0);
        act("notice");
        EXPECT(poll_for(fd, WAIT_MS), POLLIN);
        EXPECT_TRUE(read_one(fd, &r) > 0);
        EXPECT(r.head.type, VIRTIO_HZ_R_NOTICE);
        EXPECT(poll_for(fd, 0), 0);
        works(fd);
        close(fd);
    }
}

/* A truncated event, and one of a disruption nobody told of: the board is read instead. */
static void case_events_read(void)
{
    static const char *const lies[] = { "event-truncated", "event-jump" };

    for (size_t n = 0; n < sizeof(lies) / sizeof(lies[0]); n++) {
        int fd = restart();
        struct rec r;

        printf("# %s\n", lies[n]);
        drain(fd);
        lie(lies[n]);
        act("notice");
        EXPECT(poll_for(fd, WAIT_MS), POLLIN);
        EXPECT_TRUE(read_one(fd, &r) > 0);
        EXPECT(r.head.type, VIRTIO_HZ_R_NOTICE);
        EXPECT(r.head.flags, 0);
        EXPECT(notice_of(&r)->kind, 4);
        close(fd);
    }
}

/* An event that is older than what is known changes nothing; the answer tells what it should have said. */
static void case_event_old(void)
{
    int fd = restart();
    uint64_t seq = VIRTIO_HZ_SEQ_ANY;
    struct rec r;

    EXPECT(declare(fd, "nic/0", NULL, 0, doc1, sizeof(doc1)), 0);
    drain(fd);
    lie("event-old");
    EXPECT(declare(fd, "nic/0", &seq, 0, doc1, sizeof(doc1)), 0);
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(r.head.type, VIRTIO_HZ_R_DECLARATION);
    EXPECT(((const struct virtio_hz_declaration *)r.body)->seq, seq);
    EXPECT(poll_for(fd, 0), 0);
}

static void case_too_many(void)
{
    int fd = restart();

    act("too-many");
    while (poll_for(fd, WAIT_MS) & POLLIN) {
        struct rec r;

        if (read_one(fd, &r) == -EIO) {
            break;
        }
    }
    broken(fd);
    close(fd);
    /* and in a reading: the device still has them all, being reset empties it */
    works(restart());
}

/* Thousands of events: nothing grows, and a reader that slept starts over. */
static void case_flood(void)
{
    int fd = restart(), full = 0;
    struct rec r;

    drain(fd);
    for (int i = 0; i < 300; i++) {
        act("flood");
    }
    while (poll_for(fd, 0) & POLLIN) {
        EXPECT_TRUE(read_one(fd, &r) > 0);
        full += !!(r.head.flags & VIRTIO_HZ_REC_FULL);
    }
    EXPECT(full, 1);
    works(fd);
}

static void *declarer(void *arg)
{
    return (void *)(intptr_t)declare(*(int *)arg, "slow", NULL, 0, doc1, sizeof(doc1));
}

/* A waiter that is killed is dead at once; what it asked for is undone when it comes true. */
static void case_killed_waiter(void)
{
    int fd = restart(), status, ends[2];
    char byte;
    struct rec r;
    pid_t pid;

    drain(fd);
    EXPECT(pipe(ends), 0);
    act("silent");
    pid = fork();
    EXPECT_TRUE(pid >= 0);
    if (!pid) {
        int own = opened(0);

        EXPECT(write(ends[1], "x", 1), 1);
        declare(own, "late", NULL, 0, doc1, sizeof(doc1));
        _exit(1);
    }
    EXPECT(read(ends[0], &byte, 1), 1);
    usleep(100000);
    EXPECT(waitpid(pid, &status, WNOHANG), 0);
    kill(pid, SIGKILL);
    EXPECT(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT(poll_for(fd, 0), 0);
    act("speak");
    do {
        await(fd, VIRTIO_HZ_R_DECLARATION, "late", &r);
    } while (!(r.head.flags & VIRTIO_HZ_REC_GONE));
    EXPECT(declare(fd, "late", NULL, 0, doc1, sizeof(doc1)), 0);
}

/* A request the device never answers ends when it goes. */
static void case_silent_unbind(void)
{
    int fd = restart(), other = opened(0);
    pthread_t one, two;
    void *ret;

    act("silent");
    EXPECT(pthread_create(&one, NULL, declarer, &fd), 0);
    usleep(100000);
    EXPECT(pthread_create(&two, NULL, declarer, &other), 0);    /* waits for its turn */
    usleep(100000);
    unbind();
    EXPECT(pthread_join(one, &ret), 0);
    EXPECT((intptr_t)ret, -ENODEV);
    EXPECT(pthread_join(two, &ret), 0);
    EXPECT((intptr_t)ret, -ENODEV);
    close(fd);
    close(other);
    act("speak");
    EXPECT(bind_now(), 0);
    works(restart());
}

static void *replier(void *arg)
{
    struct hz_reply r = { .size = sizeof(r), .code = VIRTIO_HZ_REPLY_SEEN };

    return (void *)(intptr_t)hz_call(*(int *)arg, HZ_IOC_REPLY, &r);
}

/* More requests at once than the queue holds: they wait for room, all are answered. */
static void case_backlog(void)
{
    int fd = restart();
    pthread_t thread[100];
    void *ret;

    EXPECT(hz_call(fd, HZ_IOC_CLAIM, NULL), 0);
    act("silent");
    for (int i = 0; i < 100; i++) {
        EXPECT(pthread_create(&thread[i], NULL, replier, &fd), 0);
    }
    usleep(200000);
    act("speak");
    for (int i = 0; i < 100; i++) {
        EXPECT(pthread_join(thread[i], &ret), 0);
        EXPECT((intptr_t)ret, -ENOENT);
    }
}

/* The device asks to be reset: who waits gets an error, files live on, what was declared is gone. */
static void case_needs_reset(void)
{
    int fd = restart(), other = opened(0);
    uint32_t before;
    pthread_t thread;
    struct rec r;
    void *ret;

    await(fd, VIRTIO_HZ_R_STATUS, "", &r);
    before = status_of(&r)->resets;
    EXPECT(declare(fd, "kept", NULL, HZ_DECLARE_PERSIST, doc1, sizeof(doc1)), 0);
    EXPECT(hz_call(fd, HZ_IOC_CLAIM, NULL), 0);
    drain(fd);
    act("silent");
    EXPECT(pthread_create(&thread, NULL, declarer, &other), 0);
    usleep(100000);
    act("needs-reset");
    EXPECT(pthread_join(thread, &ret), 0);
    EXPECT((intptr_t)ret, -EAGAIN);
    act("speak");
    EXPECT_TRUE(read_one(fd, &r) > 0);      /* this first */
    EXPECT(status_of(&r)->resets, before + 1);
    do {
        await(fd, VIRTIO_HZ_R_DECLARATION, "kept", &r);
    } while (!(r.head.flags & VIRTIO_HZ_REC_GONE));
    EXPECT(declare(other, "kept", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(hz_call(other, HZ_IOC_CLAIM, NULL), -EBUSY);
}

static void case_needs_reset_forever(void)
{
    int fd = restart();
    struct rec r;
    int ret;

    act("needs-reset-forever");
    do {
        ret = read_one(fd, &r);
    } while (ret > 0);
    EXPECT(ret, -EIO);
    broken(fd);
    close(fd);
    works(restart());
}

/* It asks to be reset and then can't be set up again. */
static void case_reset_fails(void)
{
    static const char *const how[] = { "no-features", "no-queues", "read-refused" };

    for (size_t n = 0; n < sizeof(how) / sizeof(how[0]); n++) {
        int fd = restart(), ret;
        struct rec r;

        printf("# %s\n", how[n]);
        lie(how[n]);
        act("needs-reset");
        do {
            ret = read_one(fd, &r);
        } while (ret > 0);
        EXPECT(ret, -EIO);
        broken(fd);
        close(fd);
        works(restart());
    }
}

/* After a reset it is another device, whose versions are lower: as after a hibernation. */
static void case_other_device(void)
{
    int fd = restart();
    uint8_t before[VIRTIO_HZ_UUID_LEN];
    struct rec r;

    act("disrupt");
    act("notice");
    EXPECT(declare(fd, "kept", NULL, 0, doc1, sizeof(doc1)), 0);
    await(fd, VIRTIO_HZ_R_DECLARATION, "kept", &r);
    drain(fd);
    EXPECT(hz_call(fd, HZ_IOC_REWIND, NULL), 0);
    await(fd, VIRTIO_HZ_R_STATUS, "", &r);
    EXPECT_TRUE(r.head.disruption > 1);
    memcpy(before, status_of(&r)->generation, sizeof(before));
    drain(fd);
    act("new-board");
    act("needs-reset");
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(r.head.disruption, 1);
    EXPECT_TRUE(memcmp(before, status_of(&r)->generation, sizeof(before)));
    do {
        await(fd, VIRTIO_HZ_R_DECLARATION, "kept", &r);
    } while (!(r.head.flags & VIRTIO_HZ_REC_GONE));
    works(fd);
    EXPECT(attribute("disruption"), 1);
}

/* A load of the VM's state: told before anything else, and what isn't told again is gone. */
static void case_disrupt(void)
{
    int fd = restart();
    uint64_t before;
    struct rec r;

    act("notice");
    EXPECT(declare(fd, "kept", NULL, 0, doc1, sizeof(doc1)), 0);
    drain(fd);
    before = (uint64_t)attribute("disruption");
    act("disrupt");
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(r.head.type, VIRTIO_HZ_R_STATUS);
    EXPECT(r.head.disruption, before + 1);
    await(fd, VIRTIO_HZ_R_DECLARATION, "kept", &r);
    EXPECT(r.head.flags, 0);
    EXPECT(r.head.disruption, before + 1);
    works(fd);
}

/* What the driver must not take for a device it can drive, and what its probe says. */
static void case_config(void)
{
    static const struct {
        const char *what;
        int err;
    } wrong[] = {
        { "config-magic", -ENODEV },
        { "config-version-min", -EPROTONOSUPPORT },
        { "config-declarations", -EINVAL },
        { "config-doc", -EINVAL },
        { "legacy", -ENODEV },
    };

    close(restart());
    for (size_t n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++) {
        printf("# %s\n", wrong[n].what);
        unbind();
        act(wrong[n].what);
        EXPECT(bind_now(), wrong[n].err);
        EXPECT(hz_open(0), -ENOENT);
        act(wrong[n].what);                 /* right again */
        EXPECT(bind_now(), 0);
    }
    /* newer, but it still speaks ours */
    unbind();
    act("config-version");
    EXPECT(bind_now(), 0);
    EXPECT(attribute("version"), 1);
    act("config-version");
    unbind();
    lie("no-queues");
    EXPECT(bind_now(), -ENOENT);
    lie("none");
    EXPECT(bind_now(), 0);
    works(restart());
}

const struct test_case lies_cases[] = {
    { "answers", case_answers },
    { "ahead", case_ahead },
    { "readings", case_readings },
    { "reading-unknown", case_reading_unknown },
    { "events-break", case_events_break },
    { "events-skip", case_events_skip },
    { "events-read", case_events_read },
    { "event-old", case_event_old },
    { "too-many", case_too_many },
    { "flood", case_flood },
    { "killed-waiter", case_killed_waiter },
    { "silent-unbind", case_silent_unbind },
    { "backlog", case_backlog },
    { "needs-reset", case_needs_reset },
    { "needs-reset-forever", case_needs_reset_forever },
    { "reset-fails", case_reset_fails },
    { "other-device", case_other_device },
    { "disrupt", case_disrupt },
    { "config", case_config },
    { NULL, NULL },
};
