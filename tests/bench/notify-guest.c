/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's part of scripts/bench notify, one static program:
 *
 *   notify-guest echo PORT          send back what comes, stamped with our clock
 *   notify-guest respond            answer every open notice SEEN; on SIGTERM print when
 *   notify-guest queue N            N bare round trips through the request queue
 *   notify-guest press MIB          two processes that burn, one that dirties so much memory
 *
 * An echo message is 64 bytes; the guest writes its CLOCK_MONOTONIC, in ns,
 * little-endian, at offset 56.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/virtio_hz.h>

#define ECHO_LEN 64
#define ECHO_STAMP 56
#define SEEN_MAX 4096

static volatile sig_atomic_t ended;

static void on_term(int sig)
{
    (void)sig;
    ended = 1;
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "notify-guest: %s: %s\n", what, strerror(errno));
    return 1;
}

static int echo(const char *port)
{
    uint8_t buf[ECHO_LEN];
    size_t have = 0;
    int fd = open(port, O_RDWR);

    if (fd < 0) {
        return fail(port);
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        ssize_t n = read(fd, buf + have, sizeof(buf) - have);
        uint64_t now = now_ns();

        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return fail("read");
        }
        if (n <= 0) {
            /* The host's end is closed: a virtio-serial port then reads as ended, at once. */
            usleep(20000);
            continue;
        }
        have += (size_t)n;
        if (have == sizeof(buf)) {
            memcpy(buf + ECHO_STAMP, &now, sizeof(now));
            if (write(fd, buf, sizeof(buf)) != sizeof(buf)) {
                return fail("write");
            }
            have = 0;
        }
    }
}

/* -- answering ---------------------------------------------------------------- */

struct seen {
    uint8_t id[VIRTIO_HZ_UUID_LEN];
    uint64_t read_ns, done_ns;
};

static struct seen seen[SEEN_MAX];
static unsigned n_seen;
static uint8_t generation[VIRTIO_HZ_UUID_LEN];

static void answer(int fd, const struct virtio_hz_notice *n, uint64_t read_ns)
{
    struct hz_reply r = {
        .size = sizeof(r), .code = VIRTIO_HZ_REPLY_SEEN, .revision = n->revision,
    };

    memcpy(r.id, n->id, sizeof(r.id));
    memcpy(r.generation, generation, sizeof(r.generation));
    if (ioctl(fd, HZ_IOC_REPLY, &r)) {
        /* Closed meanwhile: its time was up. */
        if (errno != ECANCELED && errno != ENOENT) {
            fail("REPLY");
        }
        return;
    }
    if (n_seen < SEEN_MAX) {
        seen[n_seen].read_ns = read_ns;
        seen[n_seen].done_ns = now_ns();
        memcpy(seen[n_seen++].id, n->id, sizeof(n->id));
    }
}

static void take(int fd, const uint8_t *p, size_t len, uint64_t read_ns)
{
    while (len >= sizeof(struct hz_record)) {
        struct hz_record rec;
        const uint8_t *body;

        memcpy(&rec, p, sizeof(rec));
        if (rec.size < sizeof(rec) || rec.size > len) {
            return;
        }
        body = p + rec.head;
        if (rec.type == VIRTIO_HZ_R_STATUS && rec.body >= sizeof(generation)) {
            memcpy(generation, body, sizeof(generation));
        } else if (rec.type == VIRTIO_HZ_R_NOTICE &&
                   rec.body >= sizeof(struct virtio_hz_notice)) {
            struct virtio_hz_notice n;

            memcpy(&n, body, sizeof(n));
            if (n.state < VIRTIO_HZ_STATE_COMPLETED && !n.replied) {
                answer(fd, &n, read_ns);
            }
        }
        p += rec.size;
        len -= rec.size;
    }
}

static int respond(void)
{
    static uint8_t buf[4 * HZ_RECORD_MAX];
    struct sigaction act = { .sa_handler = on_term };
    int fd = open("/dev/hz", O_RDWR);

    if (fd < 0 || ioctl(fd, HZ_IOC_CLAIM)) {
        return fail("/dev/hz");
    }
    sigaction(SIGTERM, &act, NULL);
    puts("ready");
    fflush(stdout);
    while (!ended) {
        ssize_t n = read(fd, buf, sizeof(buf));

        if (n > 0) {
            take(fd, buf, (size_t)n, now_ns());
        } else if (n < 0 && errno != EINTR) {
            return fail("read");
        }
    }
    for (unsigned i = 0; i < n_seen; i++) {
        for (unsigned k = 0; k < VIRTIO_HZ_UUID_LEN; k++) {
            printf("%02x", seen[i].id[k]);
        }
        printf(" %llu %llu\n", (unsigned long long)seen[i].read_ns,
               (unsigned long long)seen[i].done_ns);
    }
    return 0;
}

/* -- the rest ------------------------------------------------------------------- */

/* Withdrawing what was never declared: the device says so, and nothing else happens. */
static int queue(unsigned n)
{
    int fd = open("/dev/hz", O_RDWR);

    if (fd < 0) {
        return fail("/dev/hz");
    }
    for (unsigned i = 0; i < n; i++) {
        struct hz_declare d = { .size = sizeof(d), .subject = "job/never" };
        uint64_t start = now_ns(), end;

        if (!ioctl(fd, HZ_IOC_WITHDRAW, &d) || errno != ENOENT) {
            return fail("WITHDRAW");
        }
        end = now_ns();
        printf("%llu\n", (unsigned long long)(end - start));
    }
    return 0;
}

static int press(size_t mib)
{
    size_t size = mib << 20;
    uint8_t *memory = malloc(size), turn = 0;

    if (!memory) {
        return fail("malloc");
    }
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            for (volatile unsigned long x = 0;; x++) {
            }
        }
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        turn++;
        for (size_t at = 0; at < size; at += 4096) {
            memory[at] = turn;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "echo")) {
        return echo(argv[2]);
    }
    if (argc == 2 && !strcmp(argv[1], "respond")) {
        return respond();
    }
    if (argc == 3 && !strcmp(argv[1], "queue")) {
        return queue((unsigned)strtoul(argv[2], NULL, 10));
    }
    if (argc == 3 && !strcmp(argv[1], "press")) {
        return press(strtoul(argv[2], NULL, 10));
    }
    fprintf(stderr, "usage: notify-guest echo PORT | respond | queue N | press MIB\n");
    return 2;
}
