/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's part of scripts/bench notify: takes turns at a notice, an echo
 * over the raw serial port, a question to hzd alone, and a guest agent's ping.
 *
 *   notify-host CONTROL-SOCKET VM ECHO-SOCKET GA-SOCKET|- N
 *
 * A line for each, nanoseconds of CLOCK_MONOTONIC:
 *   notice ID START PLACED TOLD REPLIED    placed: hzd has answered the call; told: the
 *                                          device has said it's on the board; replied: seen
 *   missed KEY                             no reply within the bound
 *   echo START END GUEST                   GUEST: the guest's clock when it was read there
 *   ask START END                          query-version
 *   ping START END                         guest-ping
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ECHO_LEN 64
#define ECHO_STAMP 56
#define BOUND_NS 20000000000ULL

struct stream {
    int fd;
    size_t len, used;           /* bytes there; of them, those of the last line */
    char buf[1 << 18];
};

static struct stream control, ga;
static const char *vm;

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "notify-host: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int connect_to(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof(a.sun_path)) {
        errno = ENAMETOOLONG;
        die(path);
    }
    strcpy(a.sun_path, path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a))) {
        die(path);
    }
    return fd;
}

static void say(int fd, const char *text)
{
    size_t len = strlen(text);

    if (send(fd, text, len, MSG_NOSIGNAL) != (ssize_t)len) {
        die("send");
    }
}

/* The next line, good until the next call; NULL when the time is up. */
static char *line(struct stream *s, uint64_t until)
{
    char *end;

    memmove(s->buf, s->buf + s->used, s->len - s->used);
    s->len -= s->used;
    s->used = 0;
    while (!(end = memchr(s->buf, '\n', s->len))) {
        struct pollfd p = { .fd = s->fd, .events = POLLIN };
        uint64_t now = now_ns();
        ssize_t n;

        if (now >= until || poll(&p, 1, (int)((until - now) / 1000000) + 1) < 1) {
            return NULL;
        }
        if (s->len == sizeof(s->buf)) {
            errno = EMSGSIZE;
            die("a line");
        }
        n = read(s->fd, s->buf + s->len, sizeof(s->buf) - s->len);
        if (n <= 0) {
            die("the other side has closed");
        }
        s->len += (size_t)n;
    }
    *end = '\0';
    s->used = (size_t)(end - s->buf) + 1;
    return s->buf;
}

/* Lines are thrown away until one holds all three; NULL when the time is up. */
static char *line_with(struct stream *s, const char *a, const char *b, const char *c,
                       uint64_t until)
{
    char *text;

    while ((text = line(s, until))) {
        if (strstr(text, a) && strstr(text, b) && strstr(text, c)) {
            return text;
        }
    }
    return NULL;
}

/* -- one of each -------------------------------------------------------------- */

static void print_id(const char *text)
{
    const char *id = strstr(text, "\"id\":\"");

    /* A uuid with or without dashes: hex digits alone. */
    for (id = id ? id + 6 : "\""; *id != '"'; id++) {
        if (*id != '-') {
            putchar(*id);
        }
    }
}

static int notice(unsigned i)
{
    char key[64], request[512], wanted[96], id[96];
    uint64_t start, placed = 0, told = 0, replied = 0, until;
    char *text;

    snprintf(key, sizeof(key), "bench-%d-%u", (int)getpid(), i);
    snprintf(wanted, sizeof(wanted), "\"key\":\"%s\"", key);
    snprintf(request, sizeof(request), "{\"execute\":\"notify\",\"id\":\"%s\",\"arguments\":"
             "{\"vms\":[\"%s\"],\"kind\":\"pause\",\"test\":true,\"ack\":\"notify\","
             "\"key\":\"%s\",\"deadline\":\"20s\"}}\n", key, vm, key);
    snprintf(id, sizeof(id), "\"id\":\"%s\"", key);
    start = now_ns();
    until = start + BOUND_NS;
    say(control.fd, request);
    while (!(placed && replied) && (text = line(&control, until))) {
        uint64_t now = now_ns();

        if (strstr(text, "\"return\"") && strstr(text, id)) {
            placed = now;
        } else if (strstr(text, "\"error\"") && strstr(text, id)) {
            fprintf(stderr, "notify-host: %s\n", text);
            exit(1);
        } else if (strstr(text, wanted) && strstr(text, "\"what\":\"told\"")) {
            told = now;
        } else if (strstr(text, wanted) && strstr(text, "\"what\":\"reply\"")) {
            replied = now;
            printf("notice ");
            print_id(text);
        }
    }
    if (!replied) {
        printf("missed %s\n", key);
        return 1;
    }
    printf(" %llu %llu %llu %llu\n", (unsigned long long)start, (unsigned long long)placed,
           (unsigned long long)told, (unsigned long long)replied);
    /* Over before the next: that one's time is its own. */
    line_with(&control, wanted, "\"what\":\"state\"", "\"completed\"", until);
    return 0;
}

static void echo(int fd, unsigned i)
{
    uint8_t buf[ECHO_LEN] = { (uint8_t)i, (uint8_t)(i >> 8) }, back[ECHO_LEN];
    uint64_t start = now_ns(), guest;
    size_t have = 0;

    if (send(fd, buf, sizeof(buf), MSG_NOSIGNAL) != sizeof(buf)) {
        die("echo");
    }
    while (have < sizeof(back)) {
        ssize_t n = read(fd, back + have, sizeof(back) - have);

        if (n <= 0) {
            die("echo");
        }
        have += (size_t)n;
    }
    memcpy(&guest, back + ECHO_STAMP, sizeof(guest));
    printf("echo %llu %llu %llu\n", (unsigned long long)start, (unsigned long long)now_ns(),
           (unsigned long long)guest);
    if (back[0] != buf[0] || back[1] != buf[1]) {
        errno = EPROTO;
        die("echo: another's");
    }
}

static void ask(struct stream *s, const char *request, const char *name)
{
    uint64_t start = now_ns();

    say(s->fd, request);
    if (!line_with(s, "\"return\"", "", "", start + BOUND_NS)) {
        errno = ETIMEDOUT;
        die(name);
    }
    printf("%s %llu %llu\n", name, (unsigned long long)start, (unsigned long long)now_ns());
}

int main(int argc, char **argv)
{
    unsigned n, missed = 0;
    int serial;

    if (argc != 6) {
        fprintf(stderr, "usage: notify-host CONTROL-SOCKET VM ECHO-SOCKET|- GA-SOCKET|- N\n");
        return 2;
    }
    vm = argv[2];
    n = (unsigned)strtoul(argv[5], NULL, 10);
    control.fd = connect_to(argv[1]);
    say(control.fd, "{\"execute\":\"qmp_capabilities\"}\n");
    if (!line_with(&control, "\"return\"", "", "", now_ns() + BOUND_NS)) {
        errno = ETIMEDOUT;
        die("qmp_capabilities");
    }
    serial = strcmp(argv[3], "-") ? connect_to(argv[3]) : -1;
    ga.fd = strcmp(argv[4], "-") ? connect_to(argv[4]) : -1;
    for (unsigned i = 0; i < n; i++) {
        missed += (unsigned)notice(i);
        if (serial >= 0) {
            echo(serial, i);
            ask(&control, "{\"execute\":\"query-version\"}\n", "ask");
        }
        if (ga.fd >= 0) {
            ask(&ga, "{\"execute\":\"guest-ping\"}\n", "ping");
        }
        fflush(stdout);
    }
    return missed ? 3 : 0;
}
