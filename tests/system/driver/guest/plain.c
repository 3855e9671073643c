/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-selftest: cases that need only the guest. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest.h"

#define IOC_SIZED(request, size) \
    (((request) & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT)) | ((size) << _IOC_SIZESHIFT))

static int opened(int flags)
{
    int fd = hz_open(flags);

    if (fd < 0) {
        fail_at(__FILE__, __LINE__, "/dev/hz: %s", strerror(-fd));
    }
    EXPECT(poll_for(fd, WAIT_MS), POLLIN);
    return fd;
}

static void case_info(void)
{
    struct {
        struct hz_info i;
        uint64_t later;
    } big = { .i.size = sizeof(big), .later = 5 };
    struct hz_info small = { .size = sizeof(small) - 1 };
    int fd = opened(0);
    struct hz_info i;

    info(fd, &i);
    EXPECT(i.size, sizeof(i));
    EXPECT(i.version, 1);
    EXPECT(i.version, attribute("version"));
    EXPECT_TRUE(i.disruption >= 1);
    EXPECT(i.disruption, attribute("disruption"));
    EXPECT(i.board_version, attribute("board_version"));
    EXPECT(i.max_declarations, VIRTIO_HZ_MAX_DECLARATIONS);
    EXPECT(i.max_notices, VIRTIO_HZ_MAX_NOTICES);
    EXPECT(i.max_doc, VIRTIO_HZ_MAX_DOC);
    EXPECT(i.flags, 0);
    /* a program built for a later driver, and one that doesn't know its own structure */
    EXPECT(hz_call(fd, IOC_SIZED(HZ_IOC_INFO, sizeof(big)), &big), 0);
    EXPECT(big.i.size, sizeof(i));
    EXPECT(big.later, 5);
    EXPECT(hz_call(fd, HZ_IOC_INFO, &small), -EINVAL);
    EXPECT(hz_call(fd, HZ_IOC_INFO, nowhere()), -EFAULT);
    EXPECT(hz_call(fd, _IO(HZ_IOC_MAGIC, 99), NULL), -ENOTTY);
    EXPECT(hz_call(fd, _IO('!', 0), NULL), -ENOTTY);
}

static void case_first_read(void)
{
    int fd = opened(O_NONBLOCK);
    uint64_t now = boottime_ns();
    struct rec r;
    char none[8];

    EXPECT(read(fd, none, sizeof(none)), -1);
    EXPECT(errno, EMSGSIZE);
    EXPECT(poll_for(fd, 0), POLLIN);        /* it is still there */
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(r.head.type, VIRTIO_HZ_R_STATUS);
    EXPECT(r.head.flags, VIRTIO_HZ_REC_FULL);
    EXPECT_TRUE(r.head.disruption >= 1);
    EXPECT_TRUE(r.head.boottime_ns && r.head.boottime_ns <= now);
    drain(fd);
    EXPECT(read_one(fd, &r), -EAGAIN);
    EXPECT(poll_for(fd, 0), 0);
    EXPECT(read(fd, nowhere(), 4096), -1);
    EXPECT(errno, EAGAIN);
    EXPECT(lseek(fd, 0, SEEK_SET), -1);
    EXPECT(errno, ESPIPE);
}

static void case_fault(void)
{
    int fd = opened(O_NONBLOCK);
    struct rec r;

    EXPECT(read(fd, nowhere(), 4096), -1);
    EXPECT(errno, EFAULT);
    EXPECT_TRUE(read_one(fd, &r) > 0);      /* not lost */
    EXPECT(r.head.type, VIRTIO_HZ_R_STATUS);
}

/* One read() returns as many whole records as fit. */
static void case_many_a_read(void)
{
    int fd = opened(O_NONBLOCK), owner = opened(0);
    static char buf[65536];
    size_t at = 0;
    ssize_t n;
    int records = 0;

    EXPECT(declare(owner, "many/1", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(declare(owner, "many/2", NULL, 0, doc1, sizeof(doc1)), 0);
    n = read(fd, buf, sizeof(buf));
    EXPECT_TRUE(n > 0);
    while (at < (size_t)n) {
        struct hz_record *h = (void *)(buf + at);

        EXPECT_TRUE(h->size >= sizeof(*h) && h->size <= (size_t)n - at);
        at += h->size;
        records++;
    }
    EXPECT(at, n);
    EXPECT_TRUE(records >= 3);
}

static const struct virtio_hz_declaration *declaration_of(const struct rec *r)
{
    EXPECT(r->head.type, VIRTIO_HZ_R_DECLARATION);
    EXPECT_TRUE(r->head.body >= sizeof(struct virtio_hz_declaration) + sizeof(doc1));
    return (const void *)r->body;
}

static void case_declare(void)
{
    int fd = opened(O_NONBLOCK);
    uint64_t seq = VIRTIO_HZ_SEQ_NEW, first, stale;
    long before;
    struct rec r;

    drain(fd);
    before = attribute("declarations");
    EXPECT(declare(fd, "nic/0", &seq, 0, doc1, sizeof(doc1)), 0);
    first = seq;
    EXPECT_TRUE(first != 0 && first != VIRTIO_HZ_SEQ_NEW);
    /* who has declared reads what it declared, without waiting */
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(declaration_of(&r)->seq, first);
    EXPECT(strcmp((char *)r.head.key, "nic/0"), 0);
    EXPECT(memcmp(declaration_of(&r) + 1, doc1, sizeof(doc1)), 0);
    EXPECT(attribute("declarations"), before + 1);

    seq = VIRTIO_HZ_SEQ_NEW;
    EXPECT(declare(fd, "nic/0", &seq, 0, doc2, sizeof(doc2)), -ESTALE);
    seq = first;
    EXPECT(declare(fd, "nic/0", &seq, 0, doc2, sizeof(doc2)), 0);
    EXPECT_TRUE(seq != first);
    stale = first;
    EXPECT(declare(fd, "nic/0", &stale, 0, doc1, sizeof(doc1)), -ESTALE);
    EXPECT(withdraw(fd, "nic/0", first), -ESTALE);
    EXPECT_TRUE(stands("nic/0"));
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(memcmp(declaration_of(&r) + 1, doc2, sizeof(doc2)), 0);

    EXPECT(withdraw(fd, "nic/0", seq), 0);
    EXPECT_TRUE(read_one(fd, &r) > 0);
    EXPECT(r.head.flags, VIRTIO_HZ_REC_GONE);
    EXPECT(r.head.body, 0);
    EXPECT(strcmp((char *)r.head.key, "nic/0"), 0);
    EXPECT(withdraw(fd, "nic/0", VIRTIO_HZ_SEQ_ANY), -ENOENT);
    EXPECT_TRUE(!stands("nic/0"));
    EXPECT(attribute("declarations"), before);
}

static void case_bad(void)
{
    static const uint8_t no_doc[6] = { 1, 0, 9, 0, 0, 0 };
    static const uint8_t much[VIRTIO_HZ_MAX_DOC + 4];
    struct hz_declare d = { .size = sizeof(d), .subject = "x", .doc_len = 8 };
    struct {
        struct hz_declare d;
        uint64_t later;
    } big = { .d = { .size = sizeof(big), .subject = "x" }, .later = 1 };
    int fd = opened(0);

    EXPECT(declare(fd, "", NULL, 0, doc1, sizeof(doc1)), -EINVAL);
    EXPECT(declare(fd, "0123456789abcdef0123456789abcdef", NULL, 0, doc1, sizeof(doc1)), -EINVAL);
    EXPECT(declare(fd, "No Such", NULL, 0, doc1, sizeof(doc1)), -EINVAL);
    EXPECT(declare(fd, "x", NULL, 2, doc1, sizeof(doc1)), -EINVAL);
    EXPECT(declare(fd, "x", NULL, 0, no_doc, sizeof(no_doc)), -EINVAL);
    EXPECT(declare(fd, "x", NULL, 0, much, sizeof(much)), -EMSGSIZE);
    EXPECT(declare(fd, "x", NULL, 0, nowhere(), 8), -EFAULT);
    d.size = sizeof(d) - 8;
    EXPECT(hz_call(fd, HZ_IOC_DECLARE, &d), -EINVAL);
    d.size = 1u << 30;
    EXPECT(hz_call(fd, HZ_IOC_DECLARE, &d), -EINVAL);
    d.size = sizeof(d);
    d.reserved = 1;
    d.doc = (uintptr_t)doc1;
    EXPECT(hz_call(fd, HZ_IOC_DECLARE, &d), -EINVAL);
    EXPECT(hz_call(fd, HZ_IOC_DECLARE, NULL), -EFAULT);
    /* a withdrawal has no document */
    d.reserved = 0;
    EXPECT(hz_call(fd, HZ_IOC_WITHDRAW, &d), -EINVAL);
    /* something newer is asked for than this driver knows */
    EXPECT(hz_call(fd, IOC_SIZED(HZ_IOC_DECLARE, sizeof(big)), &big), -E2BIG);
    EXPECT_TRUE(!stands("x"));
}

static void case_owner(void)
{
    int a = opened(O_NONBLOCK), b = opened(O_NONBLOCK);
    uint64_t seq;

    for (int i = 0; i < 50; i++) {
        EXPECT(declare(a, "vm", NULL, 0, doc1, sizeof(doc1)), 0);
        EXPECT(declare(b, "vm", NULL, 0, doc2, sizeof(doc2)), -EBUSY);
        EXPECT(withdraw(b, "vm", VIRTIO_HZ_SEQ_ANY), -EBUSY);
        EXPECT_TRUE(stands("vm"));
        /* what is closed is withdrawn, and free for the next at once */
        close(a);
        seq = VIRTIO_HZ_SEQ_NEW;
        EXPECT(declare(b, "vm", &seq, 0, doc2, sizeof(doc2)), 0);
        EXPECT(withdraw(b, "vm", seq), 0);
        a = opened(O_NONBLOCK);
    }
    /* a withdrawal by its owner frees it too */
    EXPECT(declare(a, "vm", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(withdraw(a, "vm", VIRTIO_HZ_SEQ_ANY), 0);
    EXPECT(declare(b, "vm", NULL, 0, doc1, sizeof(doc1)), 0);
    close(b);
    close(a);
}

/* Until nobody who opens sees the subject: the last close doesn't wait for the device. */
static void await_gone(const char *subject)
{
    int fd = opened(0);
    struct rec r;

    drain(fd);                              /* from here on it is told */
    if (stands(subject)) {
        do {
            await(fd, VIRTIO_HZ_R_DECLARATION, subject, &r);
        } while (!(r.head.flags & VIRTIO_HZ_REC_GONE));
    }
    EXPECT_TRUE(!stands(subject));
    close(fd);
}

static void case_close(void)
{
    int fd = opened(0), again = dup(fd);

    EXPECT(declare(fd, "job/1", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(declare(fd, "job/2", NULL, 0, doc1, sizeof(doc1)), 0);
    close(fd);
    EXPECT_TRUE(stands("job/1"));           /* the open file has another descriptor */
    close(again);
    await_gone("job/1");
    await_gone("job/2");
}

static void case_killed(void)
{
    int ends[2];
    char byte;
    pid_t pid;

    EXPECT(pipe(ends), 0);
    pid = fork();
    EXPECT_TRUE(pid >= 0);
    if (!pid) {
        int fd = opened(0);

        EXPECT(declare(fd, "job/k", NULL, 0, doc1, sizeof(doc1)), 0);
        EXPECT(hz_call(fd, HZ_IOC_CLAIM, NULL), 0);
        EXPECT(write(ends[1], "x", 1), 1);
        pause();
    }
    EXPECT(read(ends[0], &byte, 1), 1);
    EXPECT_TRUE(stands("job/k"));
    EXPECT(attribute("responder"), pid);
    kill(pid, SIGKILL);
    EXPECT(waitpid(pid, NULL, 0), pid);
    await_gone("job/k");
    EXPECT(attribute("responder"), 0);
}

static void case_persist(void)
{
    int a = opened(0), b;
    uint64_t seq = VIRTIO_HZ_SEQ_ANY, wrong;

    EXPECT(declare(a, "keep", &seq, HZ_DECLARE_PERSIST, doc1, sizeof(doc1)), 0);
    b = opened(0);
    EXPECT(declare(b, "keep", NULL, 0, doc1, sizeof(doc1)), -EBUSY);
    close(a);
    EXPECT_TRUE(stands("keep"));
    /* a take-over that fails takes nothing over */
    wrong = seq + 1000;
    EXPECT(declare(b, "keep", &wrong, 0, doc2, sizeof(doc2)), -ESTALE);
    close(b);
    b = opened(0);
    EXPECT_TRUE(stands("keep"));
    /* taken over without PERSIST it goes with its new owner */
    EXPECT(declare(b, "keep", &seq, 0, doc2, sizeof(doc2)), 0);
    close(b);
    await_gone("keep");
    /* anyone may withdraw what nobody owns */
    a = opened(0);
    EXPECT(declare(a, "keep", NULL, HZ_DECLARE_PERSIST, doc1, sizeof(doc1)), 0);
    close(a);
    b = opened(0);
    EXPECT(withdraw(b, "keep", VIRTIO_HZ_SEQ_ANY), 0);
    EXPECT_TRUE(!stands("keep"));
}

static void case_full_table(void)
{
    int fd = opened(0), other = opened(0);
    char name[16];
    struct hz_info i;

    info(fd, &i);
    EXPECT(attribute("declarations"), 0);
    for (int n = 0; n < i.max_declarations; n++) {
        snprintf(name, sizeof(name), "t/%d", n);
        EXPECT(declare(n % 2 ? fd : other, name, NULL, 0, doc1, sizeof(doc1)), 0);
    }
    EXPECT(attribute("declarations"), i.max_declarations);
    EXPECT(declare(fd, "t/more", NULL, 0, doc1, sizeof(doc1)), -ENOSPC);
    EXPECT(declare(fd, "t/1", NULL, 0, doc2, sizeof(doc2)), 0);
    EXPECT(withdraw(fd, "t/1", VIRTIO_HZ_SEQ_ANY), 0);
    EXPECT(declare(other, "t/more", NULL, 0, doc1, sizeof(doc1)), 0);
    close(fd);
    close(other);
    await_gone("t/more");
    for (int n = 0; n < i.max_declarations; n++) {
        snprintf(name, sizeof(name), "t/%d", n);
        await_gone(name);
    }
    EXPECT(attribute("declarations"), 0);
}

static void case_claim(void)
{
    int a = opened(0), b = opened(0);
    struct hz_reply r = { .size = sizeof(r), .code = VIRTIO_HZ_REPLY_SEEN };
    struct hz_info i;

    EXPECT(hz_call(a, HZ_IOC_REPLY, &r), -EPERM);
    EXPECT(hz_call(a, HZ_IOC_CLAIM, NULL), 0);
    EXPECT(hz_call(a, HZ_IOC_CLAIM, NULL), 0);
    EXPECT(hz_call(b, HZ_IOC_CLAIM, NULL), -EBUSY);
    EXPECT(hz_call(b, HZ_IOC_UNCLAIM, NULL), -EPERM);
    EXPECT(attribute("responder"), getpid());
    info(a, &i);
    EXPECT(i.flags, HZ_INFO_RESPONDER | HZ_INFO_RESPONDER_TAKEN);
    info(b, &i);
    EXPECT(i.flags, HZ_INFO_RESPONDER_TAKEN);
    EXPECT(hz_call(b, HZ_IOC_REPLY, &r), -EPERM);
    EXPECT(hz_call(a, HZ_IOC_REPLY, &r), -ENOENT);      /* no such notice */
    r.reserved = 1;
    EXPECT(hz_call(a, HZ_IOC_REPLY, &r), -EINVAL);
    r.reserved = 0;
    r.doc_len = VIRTIO_HZ_MAX_REPLY_DOC + 1;
    EXPECT(hz_call(a, HZ_IOC_REPLY, &r), -EMSGSIZE);
    r.doc_len = 8;
    r.doc = (uintptr_t)nowhere();
    EXPECT(hz_call(a, HZ_IOC_REPLY, &r), -EFAULT);
    EXPECT(hz_call(a, HZ_IOC_UNCLAIM, NULL), 0);
    EXPECT(hz_call(b, HZ_IOC_CLAIM, NULL), 0);
    EXPECT(hz_call(a, HZ_IOC_CLAIM, NULL), -EBUSY);
    close(b);
    EXPECT(hz_call(a, HZ_IOC_CLAIM, NULL), 0);
}

static void case_cursors(void)
{
    int a = opened(O_NONBLOCK), b = opened(O_NONBLOCK), c, owner = opened(0);
    struct rec r;

    drain(a);
    drain(b);
    EXPECT(declare(owner, "c/1", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(drain(a), 1);
    EXPECT(declare(owner, "c/2", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(declare(owner, "c/2", NULL, 0, doc2, sizeof(doc2)), 0);
    EXPECT(drain(a), 1);                    /* two changes of one entry, told once */
    EXPECT(withdraw(owner, "c/1", VIRTIO_HZ_SEQ_ANY), 0);
    EXPECT(drain(a), 1);
    EXPECT(drain(b), 2);                    /* c/2 as it is, c/1 gone */
    c = opened(O_NONBLOCK);                 /* never hears of c/1 */
    EXPECT(drain(c), 2);
    /* once more, for one of them */
    EXPECT(hz_call(b, HZ_IOC_REWIND, NULL), 0);
    EXPECT(read_one(b, &r) > 0, 1);
    EXPECT(r.head.type, VIRTIO_HZ_R_STATUS);
    EXPECT(r.head.flags, VIRTIO_HZ_REC_FULL);
    EXPECT(drain(b), 1);
    EXPECT(drain(a), 0);
    EXPECT(poll_for(c, 0), 0);
}

/* A reader that sleeps through more withdrawals than are remembered starts over. */
static void case_lag(void)
{
    int fd = opened(O_NONBLOCK), owner = opened(0);
    char name[16];
    struct rec r;
    int full = 0;

    EXPECT(declare(owner, "lag/keep", NULL, 0, doc1, sizeof(doc1)), 0);
    drain(fd);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "lag/%d", i);
        EXPECT(declare(owner, name, NULL, 0, doc1, sizeof(doc1)), 0);
        EXPECT(withdraw(owner, name, VIRTIO_HZ_SEQ_ANY), 0);
    }
    while (read_one(fd, &r) > 0) {
        full += !!(r.head.flags & VIRTIO_HZ_REC_FULL);
        if (full) {
            EXPECT_TRUE(!(r.head.flags & VIRTIO_HZ_REC_GONE));
        }
    }
    EXPECT(full, 1);
    EXPECT(declare(owner, "lag/x", NULL, 0, doc1, sizeof(doc1)), 0);
    EXPECT(drain(fd), 1);
}

/* ioctl as a 32-bit program makes it; pointers must lie low. */
static int ioctl32(int fd, unsigned long request, void *arg)
{
    int ret;

    __asm__ volatile("int $0x80" : "=a"(ret)
                     : "a"(54), "b"(fd), "c"((uint32_t)request), "d"((uint32_t)(uintptr_t)arg)
                     : "memory", "r8", "r9", "r10", "r11");
    return ret;
}

static void case_compat(void)
{
    struct {
        struct hz_info i;
        struct hz_declare d;
        uint8_t doc[8];
    } *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    int fd = opened(0);

    EXPECT_TRUE(low != MAP_FAILED);
    low->i.size = sizeof(low->i);
    EXPECT(ioctl32(fd, HZ_IOC_INFO, &low->i), 0);
    EXPECT(low->i.max_doc, VIRTIO_HZ_MAX_DOC);
    memcpy(low->doc, doc1, sizeof(low->doc));
    low->d = (struct hz_declare) {
        .size = sizeof(low->d), .subject = "low", .doc = (uintptr_t)low->doc,
        .doc_len = sizeof(low->doc),
    };
    EXPECT(ioctl32(fd, HZ_IOC_DECLARE, &low->d), 0);
    EXPECT_TRUE(low->d.seq != 0);
    EXPECT_TRUE(stands("low"));
}

static void *churn(void *arg)
{
    int me = (int)(intptr_t)arg, fd = opened(O_NONBLOCK);
    char name[16];

    snprintf(name, sizeof(name), "churn/%d", me % 4);
    for (int i = 0; i < 60; i++) {
        int ret = declare(fd, name, NULL, i % 3 ? 0 : HZ_DECLARE_PERSIST, i % 2 ? doc1 : doc2, 8);

        EXPECT_TRUE(!ret || ret == -EBUSY);
        if (i % 5 == 0) {
            ret = withdraw(fd, name, VIRTIO_HZ_SEQ_ANY);
            EXPECT_TRUE(!ret || ret == -EBUSY || ret == -ENOENT);
        }
        if (i % 7 == 0) {
            close(fd);
            fd = opened(O_NONBLOCK);
        }
        drain(fd);
    }
    close(fd);
    return NULL;
}

static void case_churn(void)
{
    pthread_t threads[8];
    char name[16];

    for (int i = 0; i < 8; i++) {
        EXPECT(pthread_create(&threads[i], NULL, churn, (void *)(intptr_t)i), 0);
    }
    for (int i = 0; i < 8; i++) {
        EXPECT(pthread_join(threads[i], NULL), 0);
    }
    /* every subject is free or nobody's: one file can have them all */
    int fd = opened(0);

    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "churn/%d", i);
        EXPECT(declare(fd, name, NULL, 0, doc1, 8), 0);
    }
    close(fd);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "churn/%d", i);
        await_gone(name);
    }
    EXPECT(attribute("declarations"), 0);
}

const struct test_case plain_cases[] = {
    { "info", case_info },
    { "first-read", case_first_read },
    { "fault", case_fault },
    { "many-a-read", case_many_a_read },
    { "declare", case_declare },
    { "bad", case_bad },
    { "owner", case_owner },
    { "close", case_close },
    { "killed", case_killed },
    { "persist", case_persist },
    { "full-table", case_full_table },
    { "claim", case_claim },
    { "cursors", case_cursors },
    { "lag", case_lag },
    { "compat", case_compat },
    { "churn", case_churn },
    { NULL, NULL },
};
