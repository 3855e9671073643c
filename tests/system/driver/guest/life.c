/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-selftest: the device or its driver goes away, stands still or comes back while files are open. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "selftest.h"

#define DRIVER "/sys/bus/virtio/drivers/virtio_hz"

/* Open as soon as there is something to open. */
static int open_when_there(void)
{
    for (int ms = 0; ms < WAIT_MS; ms += 10) {
        int fd = hz_open(O_NONBLOCK);

        if (fd >= 0) {
            return fd;
        }
        EXPECT_TRUE(fd == -ENOENT || fd == -ENODEV || fd == -ENXIO);
        usleep(10000);
    }
    fail_at(__FILE__, __LINE__, "no /dev/hz");
}

static void device_name(char *name, size_t size)
{
    DIR *d = opendir(DRIVER);
    struct dirent *e;

    EXPECT_TRUE(d != NULL);
    name[0] = 0;
    while ((e = readdir(d))) {
        if (!strncmp(e->d_name, "virtio", 6)) {
            snprintf(name, size, "%s", e->d_name);
        }
    }
    closedir(d);
    EXPECT_TRUE(name[0]);
}

/* The newest count of resets, for somebody who opens now. */
static uint32_t resets(int fd)
{
    struct rec r;

    EXPECT(hz_call(fd, HZ_IOC_REWIND, NULL), 0);
    await(fd, VIRTIO_HZ_R_STATUS, "", &r);
    return status_of(&r)->resets;
}

static void *sleeping_reader(void *arg)
{
    struct rec r;
    int ret;

    do {
        ret = read_one(*(int *)arg, &r);
    } while (ret > 0);
    return (void *)(intptr_t)ret;
}

static void *sleeping_poller(void *arg)
{
    struct pollfd p = { .fd = *(int *)arg };    /* no events: what can't be masked */

    return (void *)(intptr_t)(poll(&p, 1, -1) == 1 ? p.revents : -errno);
}

static void *busy_declarer(void *arg)
{
    int ret;

    do {
        ret = declare(*(int *)arg, "busy", NULL, 0, doc1, sizeof(doc1));
    } while (!ret);
    return (void *)(intptr_t)ret;
}

/* Threads that sleep in read() and poll() and work in ioctl(), each with a file of its own. */
struct waiters {
    int fd[3];
    pthread_t thread[3];
};

static void waiters_start(struct waiters *w)
{
    static void *(*const run[3])(void *) = { sleeping_reader, sleeping_poller, busy_declarer };

    for (int i = 0; i < 3; i++) {
        w->fd[i] = hz_open(0);
        EXPECT_TRUE(w->fd[i] >= 0);
    }
    for (int i = 0; i < 3; i++) {
        EXPECT(pthread_create(&w->thread[i], NULL, run[i], &w->fd[i]), 0);
    }
    usleep(100000);
}

static intptr_t waiter_end(struct waiters *w, int i)
{
    void *ret;

    EXPECT(pthread_join(w->thread[i], &ret), 0);
    return (intptr_t)ret;
}

static void expect_gone(int fd)
{
    struct hz_info i = { .size = sizeof(i) };
    struct rec r;

    EXPECT(read_one(fd, &r), -ENODEV);
    EXPECT(poll_for(fd, 0), POLLHUP);
    EXPECT(hz_call(fd, HZ_IOC_INFO, &i), -ENODEV);
    EXPECT(declare(fd, "x", NULL, 0, doc1, sizeof(doc1)), -ENODEV);
    EXPECT(withdraw(fd, "x", 0), -ENODEV);
    EXPECT(hz_call(fd, HZ_IOC_CLAIM, NULL), -ENODEV);
    EXPECT(hz_call(fd, HZ_IOC_REWIND, NULL), -ENODEV);
}

static void waiters_gone(struct waiters *w)
{
    EXPECT(waiter_end(w, 0), -ENODEV);
    EXPECT(waiter_end(w, 1), POLLHUP);
    EXPECT(waiter_end(w, 2), -ENODEV);
    for (int i = 0; i < 3; i++) {
        expect_gone(w->fd[i]);
        close(w->fd[i]);
    }
}

static void case_unbind(void)
{
    int fd = open_when_there(), late, keeper = open_when_there();
    char device[256];
    struct waiters w;
    uint32_t before;

    device_name(device, sizeof(device));
    before = resets(fd);
    EXPECT(declare(keeper, "kept", NULL, HZ_DECLARE_PERSIST, doc1, sizeof(doc1)), 0);
    EXPECT(hz_call(fd, HZ_IOC_CLAIM, NULL), 0);
    waiters_start(&w);
    write_file(DRIVER "/unbind", device);
    waiters_gone(&w);
    expect_gone(fd);
    EXPECT(hz_open(0), -ENOENT);

    write_file(DRIVER "/bind", device);
    late = open_when_there();
    EXPECT_TRUE(resets(late) > before);
    EXPECT_TRUE(!stands("kept"));
    EXPECT(hz_call(late, HZ_IOC_CLAIM, NULL), 0);
    expect_gone(fd);                        /* for good: it is another device's file */
    close(fd);
    close(keeper);
    EXPECT(declare(late, "kept", NULL, 0, doc1, sizeof(doc1)), 0);
    close(late);
}

static volatile bool storm_over;

static void *storm_user(void *arg)
{
    struct rec r;
    int fd, ret;

    while (!storm_over) {
        fd = hz_open(arg ? 0 : O_NONBLOCK);
        if (fd < 0) {
            usleep(1000);
            continue;
        }
        do {
            ret = declare(fd, arg ? "storm/a" : "storm/b", NULL, 0, doc1, sizeof(doc1));
            EXPECT_TRUE(!ret || ret == -EBUSY || ret == -ENODEV);
            if (!ret) {
                ret = read_one(fd, &r);     /* its own declaration waits there */
                EXPECT_TRUE(ret > 0 || ret == -ENODEV || ret == -EAGAIN);
            }
        } while (ret > 0 && !storm_over);
        close(fd);
    }
    return NULL;
}

/* Driver and device parted again and again under users that don't care. */
static void case_unbind_storm(void)
{
    pthread_t users[4];
    char device[256];
    int fd = open_when_there();

    device_name(device, sizeof(device));
    close(fd);
    for (intptr_t i = 0; i < 4; i++) {
        EXPECT(pthread_create(&users[i], NULL, storm_user, (void *)(i % 2)), 0);
    }
    for (int i = 0; i < 30; i++) {
        write_file(DRIVER "/unbind", device);
        write_file(DRIVER "/bind", device);
        usleep(i % 3 * 20000);
    }
    storm_over = true;
    /* Who has read everything sleeps until the device goes: an unchanged repeat rings nothing. */
    write_file(DRIVER "/unbind", device);
    write_file(DRIVER "/bind", device);
    for (int i = 0; i < 4; i++) {
        EXPECT(pthread_join(users[i], NULL), 0);
    }
    fd = open_when_there();
    EXPECT(declare(fd, "after", NULL, 0, doc1, sizeof(doc1)), 0);
}

static int unload(void)
{
    return syscall(SYS_delete_module, "virtio_hz", O_NONBLOCK) ? -errno : 0;
}

static void load(void)
{
    int fd = open("/lib/modules/virtio_hz.ko", O_RDONLY | O_CLOEXEC);

    EXPECT_TRUE(fd >= 0);
    EXPECT(syscall(SYS_finit_module, fd, "", 0), 0);
    close(fd);
}

/* An open file holds the module, also when it has lost its device; without one it goes and comes. */
static void case_reload(void)
{
    int fd = open_when_there();
    uint32_t before = resets(fd);
    char device[256];

    EXPECT(declare(fd, "kept", NULL, HZ_DECLARE_PERSIST, doc1, sizeof(doc1)), 0);
    EXPECT(unload(), -EWOULDBLOCK);
    EXPECT_TRUE(stands("kept"));
    device_name(device, sizeof(device));
    write_file(DRIVER "/unbind", device);
    EXPECT(unload(), -EWOULDBLOCK);
    expect_gone(fd);
    close(fd);
    EXPECT(unload(), 0);
    load();
    fd = open_when_there();
    EXPECT_TRUE(resets(fd) > before);
    EXPECT_TRUE(!stands("kept"));
    close(fd);
    for (int i = 0; i < 10; i++) {
        EXPECT(unload(), 0);
        load();
    }
    close(open_when_there());
}

/* To memory and back: files live on, declarations are gone and their owners are told. */
static void case_suspend(void)
{
    int fd = open_when_there(), other = open_when_there();
    struct rec r, notice;
    uint32_t before;

    ready("notice");
    await(fd, VIRTIO_HZ_R_NOTICE, "suspend-suspend-", &notice);
    before = resets(fd);
    EXPECT(declare(fd, "kept", NULL, HZ_DECLARE_PERSIST, doc1, sizeof(doc1)), 0);
    EXPECT(declare(fd, "mine", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(hz_call(fd, HZ_IOC_CLAIM, NULL), 0);
    EXPECT(reply(fd, &notice, VIRTIO_HZ_REPLY_SEEN), 0);
    drain(fd);
    ready("suspend");
    write_file("/sys/power/state", "mem");

    do {
        await(fd, VIRTIO_HZ_R_STATUS, "", &r);
    } while (status_of(&r)->resets == before);
    do {
        await(fd, VIRTIO_HZ_R_DECLARATION, "mine", &r);
    } while (!(r.head.flags & VIRTIO_HZ_REC_GONE));
    EXPECT_TRUE(!stands("kept") && !stands("mine"));
    /* nobody's now: another may take what was this file's */
    EXPECT(declare(other, "mine", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(declare(fd, "kept", NULL, 0, doc1, sizeof(doc1)), 0);
    /* still the responder; the notice stands, the reply is lost and given again */
    EXPECT(hz_call(other, HZ_IOC_CLAIM, NULL), -EBUSY);
    EXPECT(reply(fd, &notice, VIRTIO_HZ_REPLY_SEEN), 0);
    ready("seen");
}

/* Plugged in, pulled out under sleepers, plugged in again. */
static void case_hotplug(void)
{
    struct waiters w;
    int fd;

    EXPECT(hz_open(0), -ENOENT);
    ready("plug");
    for (int round = 0; round < 2; round++) {
        fd = open_when_there();
        EXPECT(declare(fd, "hot", NULL, HZ_DECLARE_PERSIST, doc1, sizeof(doc1)), 0);
        waiters_start(&w);
        ready(round ? "unplug again" : "unplug");
        waiters_gone(&w);
        expect_gone(fd);
        close(fd);
        if (!round) {
            ready("plug again");
        }
    }
}

const struct test_case life_cases[] = {
    { "unbind", case_unbind },
    { "unbind-storm", case_unbind_storm },
    { "reload", case_reload },
    { "suspend", case_suspend },
    { "hotplug", case_hotplug },
    { NULL, NULL },
};
