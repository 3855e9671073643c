/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Test guests' command server: runs commands the host asks for.
 *
 * Speaks over one virtio-serial port, many commands at once. A frame is
 * "HZX1", type, command id, length, bytes; all little-endian. The host may go
 * away in the middle of a frame and another come: HELLO starts over, and a
 * host skips bytes until its own HELLO comes back.
 *
 * Static, no libraries: it is the first program a guest starts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    HELLO = 1,      /* both ways, payload echoed */
    EXEC = 2,       /* a shell command */
    INPUT = 3,      /* to its standard input; empty: end of file */
    SIGNAL = 4,     /* u32: to its process group */
    OUTPUT = 5,     /* its standard output and error */
    EXIT = 6,       /* u32: exit status, 128 + signal */
};

#define PAYLOAD_MAX 65536
#define JOBS_MAX 32

struct head {
    char magic[4];
    uint32_t type;
    uint32_t id;
    uint32_t len;
};

struct job {
    bool used;
    uint32_t id;
    pid_t pid;
    int in, out;        /* -1: closed */
};

static struct job jobs[JOBS_MAX];
static int port = -1;

static void write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len > 0) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 100);
            continue;
        }
        if (n <= 0) {
            return;     /* nobody listens: what a command said is lost with them */
        }
        p += n;
        len -= n;
    }
}

static void send_frame(uint32_t type, uint32_t id, const void *data, uint32_t len)
{
    struct head h = { .type = type, .id = id, .len = len };

    memcpy(h.magic, "HZX1", 4);
    write_all(port, &h, sizeof(h));
    write_all(port, data, len);
}

static struct job *find(uint32_t id)
{
    for (struct job *j = jobs; j < jobs + JOBS_MAX; j++) {
        if (j->used && j->id == id) {
            return j;
        }
    }
    return NULL;
}

static void child(const char *command, int in, int out)
{
    setsid();
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static void start(uint32_t id, const char *command)
{
    struct job *j = jobs;
    uint32_t failed = 126;
    int in[2], out[2];

    while (j < jobs + JOBS_MAX && j->used) {
        j++;
    }
    if (j == jobs + JOBS_MAX || pipe2(in, O_CLOEXEC) < 0) {
        send_frame(EXIT, id, &failed, sizeof(failed));
        return;
    }
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(in[0]);
        close(in[1]);
        send_frame(EXIT, id, &failed, sizeof(failed));
        return;
    }
    *j = (struct job){ .used = true, .id = id, .in = in[1], .out = out[0] };
    j->pid = fork();
    if (j->pid == 0) {
        child(command, in[0], out[1]);
    }
    close(in[0]);
    close(out[1]);
    if (j->pid < 0) {
        close(j->in);
        close(j->out);
        j->used = false;
        send_frame(EXIT, id, &failed, sizeof(failed));
    }
}

static void handle(const struct head *h, char *payload)
{
    struct job *j = find(h->id);
    uint32_t sig;

    switch (h->type) {
    case HELLO:
        send_frame(HELLO, h->id, payload, h->len);
        break;
    case EXEC:
        payload[h->len] = '\0';
        start(h->id, payload);
        break;
    case INPUT:
        if (j && j->in >= 0 && h->len) {
            write_all(j->in, payload, h->len);
        } else if (j && j->in >= 0) {
            close(j->in);
            j->in = -1;
        }
        break;
    case SIGNAL:
        if (j && h->len == sizeof(sig)) {
            memcpy(&sig, payload, sizeof(sig));
            kill(-j->pid, sig);
        }
        break;
    }
}

/* Take whole frames from what has come; what isn't one is skipped to the next magic. */
static size_t consume(char *buf, size_t have)
{
    static char payload[PAYLOAD_MAX + 1];
    size_t at = 0;

    while (have - at >= sizeof(struct head)) {
        struct head h;

        memcpy(&h, buf + at, sizeof(h));
        if (memcmp(h.magic, "HZX1", 4) != 0 || h.len > PAYLOAD_MAX) {
            at++;
            continue;
        }
        if (have - at < sizeof(h) + h.len) {
            break;
        }
        memcpy(payload, buf + at + sizeof(h), h.len);
        handle(&h, payload);
        at += sizeof(h) + h.len;
    }
    memmove(buf, buf + at, have - at);
    return have - at;
}

/* A command's output; it has ended when both its output and itself have. */
static void drain(struct job *j)
{
    char buf[16384];
    ssize_t n = read(j->out, buf, sizeof(buf));

    if (n > 0) {
        send_frame(OUTPUT, j->id, buf, n);
    } else if (n == 0 || errno != EINTR) {
        close(j->out);
        j->out = -1;
    }
}

static void reap(void)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (struct job *j = jobs; j < jobs + JOBS_MAX; j++) {
            uint32_t code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

            if (!j->used || j->pid != pid) {
                continue;
            }
            /* What it wrote before; a child of its own may hold the pipe open for ever. */
            while (j->out >= 0 && poll(&(struct pollfd){ .fd = j->out, .events = POLLIN }, 1, 0) > 0) {
                drain(j);
            }
            if (j->out >= 0) {
                close(j->out);
            }
            if (j->in >= 0) {
                close(j->in);
            }
            j->used = false;
            send_frame(EXIT, j->id, &code, sizeof(code));
        }
    }
}

static void on_child(int sig)
{
    (void)sig;          /* only to end poll() */
}

static void loop(void)
{
    static char buf[sizeof(struct head) + PAYLOAD_MAX];
    size_t have = 0;

    for (;;) {
        struct pollfd fds[1 + JOBS_MAX];
        struct job *of[1 + JOBS_MAX];
        nfds_t n = 1;

        fds[0] = (struct pollfd){ .fd = port, .events = POLLIN };
        for (struct job *j = jobs; j < jobs + JOBS_MAX; j++) {
            if (j->used && j->out >= 0) {
                of[n] = j;
                fds[n++] = (struct pollfd){ .fd = j->out, .events = POLLIN };
            }
        }
        /* A signal between reap() and here is seen within the time-out. */
        if (poll(fds, n, 200) < 0 && errno != EINTR) {
            return;
        }
        for (nfds_t i = 1; i < n; i++) {
            if (fds[i].revents) {
                drain(of[i]);
            }
        }
        reap();
        if (fds[0].revents & POLLIN) {
            ssize_t got = read(port, buf + have, sizeof(buf) - have);

            if (got > 0) {
                have = consume(buf, have + got);
            }
        } else if (fds[0].revents & (POLLHUP | POLLERR)) {
            have = 0;
            usleep(50 * 1000);      /* no host: the port says so at once, again and again */
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: exec-server PORT\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = on_child }, NULL);
    port = open(argv[1], O_RDWR | O_CLOEXEC);
    if (port < 0) {
        fprintf(stderr, "exec-server: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    loop();
    return 1;
}
