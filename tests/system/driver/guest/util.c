/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-selftest: what the cases share, and main(). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "selftest.h"

const uint8_t doc1[8] = { 1, 0, 4, 0, 'a', 'b', 'c', 'd' };
const uint8_t doc2[8] = { 1, 0, 4, 0, 'w', 'x', 'y', 'z' };

_Noreturn void fail_at(const char *file, int line, const char *format, ...)
{
    const char *base = strrchr(file, '/');
    va_list ap;

    va_start(ap, format);
    printf("FAILED %s:%d: ", base ? base + 1 : file, line);
    vprintf(format, ap);
    printf("\n");
    va_end(ap);
    fflush(stdout);
    _exit(1);
}

void ready(const char *word)
{
    printf("READY %s\n", word);
    fflush(stdout);
}

int hz_open(int flags)
{
    int fd = open("/dev/hz", O_RDWR | O_CLOEXEC | flags);

    return fd < 0 ? -errno : fd;
}

int hz_call(int fd, unsigned long request, void *arg)
{
    int ret = ioctl(fd, request, arg);

    return ret < 0 ? -errno : ret;
}

static void subject_put(uint8_t key[VIRTIO_HZ_KEY_LEN], const char *subject)
{
    memset(key, 0, VIRTIO_HZ_KEY_LEN);
    memcpy(key, subject, strnlen(subject, VIRTIO_HZ_KEY_LEN));
}

int declare(int fd, const char *subject, uint64_t *seq, uint32_t flags, const void *doc, uint32_t len)
{
    struct hz_declare d = {
        .size = sizeof(d), .flags = flags, .seq = seq ? *seq : VIRTIO_HZ_SEQ_ANY,
        .doc = (uintptr_t)doc, .doc_len = len,
    };
    int ret;

    subject_put(d.subject, subject);
    ret = hz_call(fd, HZ_IOC_DECLARE, &d);
    if (!ret && seq) {
        *seq = d.seq;
    }
    return ret;
}

int withdraw(int fd, const char *subject, uint64_t seq)
{
    struct hz_declare d = { .size = sizeof(d), .seq = seq };

    subject_put(d.subject, subject);
    return hz_call(fd, HZ_IOC_WITHDRAW, &d);
}

int reply(int fd, const struct rec *notice, uint16_t code)
{
    struct hz_reply r = {
        .size = sizeof(r), .code = code, .revision = notice_of(notice)->revision,
    };
    struct hz_info i;

    info(fd, &i);
    memcpy(r.id, notice->head.key, sizeof(r.id));
    memcpy(r.generation, i.generation, sizeof(r.generation));
    return hz_call(fd, HZ_IOC_REPLY, &r);
}

int read_one(int fd, struct rec *r)
{
    ssize_t n;

    memset(r, 0, sizeof(*r));
    /* Room for one record of any size, hardly ever for two: read() gives as many as fit. */
    n = read(fd, r, sizeof(r->head));
    if (n < 0 && errno == EMSGSIZE) {
        for (size_t room = sizeof(r->head); n < 0 && errno == EMSGSIZE; room += 8) {
            n = read(fd, r, room);
        }
    }
    if (n < 0) {
        return -errno;
    }
    EXPECT(n, r->head.size);
    EXPECT(r->head.head, sizeof(r->head));
    EXPECT(r->head.size, r->head.head + r->head.body);
    EXPECT(r->head.size % 8, 0);
    return (int)n;
}

static bool is_entry(const struct rec *r, uint16_t type, const char *name)
{
    uint8_t key[VIRTIO_HZ_KEY_LEN];

    subject_put(key, name);
    return r->head.type == type && !memcmp(r->head.key, key, sizeof(key));
}

int poll_for(int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int n = poll(&p, 1, ms);

    EXPECT_TRUE(n >= 0);
    return n ? p.revents : 0;
}

void await(int fd, uint16_t type, const char *name, struct rec *r)
{
    do {
        if (!poll_for(fd, WAIT_MS)) {
            fail_at(__FILE__, __LINE__, "no record of type %#x, '%s'", type, name);
        }
        EXPECT_TRUE(read_one(fd, r) > 0);
    } while (!is_entry(r, type, name));
}

int drain(int fd)
{
    struct rec r;
    int n = 0;

    while (poll_for(fd, 0) & POLLIN) {
        EXPECT_TRUE(read_one(fd, &r) > 0);
        n++;
    }
    return n;
}

bool stands(const char *subject)
{
    int fd = hz_open(O_NONBLOCK);
    bool found = false;
    struct rec r;

    EXPECT_TRUE(fd >= 0);
    EXPECT(poll_for(fd, WAIT_MS), POLLIN);
    while (read_one(fd, &r) > 0) {
        if (is_entry(&r, VIRTIO_HZ_R_DECLARATION, subject)) {
            found = !(r.head.flags & VIRTIO_HZ_REC_GONE);
        }
    }
    close(fd);
    return found;
}

const struct virtio_hz_status *status_of(const struct rec *r)
{
    EXPECT(r->head.type, VIRTIO_HZ_R_STATUS);
    EXPECT(r->head.body, sizeof(struct virtio_hz_status));
    return (const void *)r->body;
}

const struct virtio_hz_notice *notice_of(const struct rec *r)
{
    EXPECT(r->head.type, VIRTIO_HZ_R_NOTICE);
    EXPECT_TRUE(r->head.body >= sizeof(struct virtio_hz_notice));
    return (const void *)r->body;
}

uint64_t boottime_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void info(int fd, struct hz_info *i)
{
    memset(i, 0, sizeof(*i));
    i->size = sizeof(*i);
    EXPECT(hz_call(fd, HZ_IOC_INFO, i), 0);
}

long attribute(const char *name)
{
    char path[128], text[128] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/sys/class/misc/hz/%s", name);
    f = fopen(path, "r");
    if (!f || !fgets(text, sizeof(text), f)) {
        fail_at(__FILE__, __LINE__, "%s can't be read", path);
    }
    fclose(f);
    return strtol(text, NULL, 10);
}

void *nowhere(void)
{
    static void *page;

    if (!page) {
        page = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_TRUE(page != MAP_FAILED);
    }
    return page;
}

void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        fail_at(__FILE__, __LINE__, "writing '%s' to %s: %s", text, path, strerror(errno));
    }
    close(fd);
}

static bool run_from(const struct test_case *cases, const char *name)
{
    for (; cases->name; cases++) {
        if (!strcmp(cases->name, name)) {
            cases->run();
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 2 || !(run_from(plain_cases, argv[1]) || run_from(host_cases, argv[1]) ||
                       run_from(life_cases, argv[1]) || run_from(lies_cases, argv[1]))) {
        printf("usage: hz-selftest CASE\n");
        return 2;
    }
    printf("DONE\n");
    return 0;
}
