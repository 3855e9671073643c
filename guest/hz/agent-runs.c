/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz agent's callers: hz run registers and proves, hz reply asks. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent.h"

/* Who may open /dev/hz may ask the agent: its group. */
static void share_socket(const char *path)
{
    struct group *g = getgrnam("hz");

    if (g && chown(path, (uid_t)-1, g->gr_gid) < 0 && errno != EPERM) {
        say("%s: %s", path, strerror(errno));
    }
}

int runs_listen(struct agent *a)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    const char *path = agent_socket_path();
    mode_t mask;
    int fd, r;

    fd = agent_connect();
    if (fd >= 0) {
        close(fd);
        say("%s: another agent is running", path);
        return -EADDRINUSE;
    }
    if (strlen(path) >= sizeof(addr.sun_path)) {
        say("%s: longer than the %zu characters a socket's path may have", path,
            sizeof(addr.sun_path) - 1);
        return -ENAMETOOLONG;
    }
    strcpy(addr.sun_path, path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    unlink(path);               /* an agent that died left it */
    mask = umask(0117);
    r = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, RUNS_MAX) < 0
        ? -errno : 0;
    umask(mask);
    if (r < 0) {
        say("%s: %s", path, strerror(-r));
        close(fd);
        return r;
    }
    share_socket(path);
    a->listener = fd;
    return 0;
}

static pid_t peer_pid(int fd)
{
    struct ucred c;
    socklen_t len = sizeof(c);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) < 0 ? 0 : c.pid;
}

void runs_accept(struct agent *a)
{
    int i, fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        return;
    }
    for (i = 0; i < RUNS_MAX && a->run[i].fd >= 0; i++) {
        ;
    }
    if (i == RUNS_MAX) {
        say("a caller is sent away: there are %d already", RUNS_MAX);
        close(fd);
        return;
    }
    a->run[i] = (struct run_slot){ .fd = fd, .pid = peer_pid(fd) };
}

bool runs_known(const struct agent *a, pid_t pid)
{
    int i;

    for (i = 0; i < RUNS_MAX; i++) {
        if (a->run[i].fd >= 0 && a->run[i].hello && a->run[i].pid == pid) {
            return true;
        }
    }
    return false;
}

static void leave(struct agent *a, int run)
{
    struct run_slot *s = &a->run[run];
    bool registered = s->hello;

    close(s->fd);
    s->fd = -1;
    s->hello = false;
    if (registered) {
        state_run(a->state, s->pid, false);
        work_run_left(a, run);
    }
}

static void answer(struct agent *a, int run, uint16_t type, int result)
{
    struct agent_msg m = { .type = type, .result = result };

    if (agent_send(a->run[run].fd, &m) < 0) {
        leave(a, run);          /* it doesn't listen */
    }
}

static void reply(struct agent *a, int run, const struct agent_msg *m)
{
    struct hz_ev_notice n = { .revision = m->revision };
    int r = a->hz && a->claimed ? 0 : -ENODEV;

    memcpy(n.id, m->id, HZ_ID_LEN);
    memcpy(n.generation, m->generation, HZ_ID_LEN);
    if (r == 0) {
        r = hz_reply(a->hz, &n, (enum hz_reply_code)m->code, m->arg);
    }
    if (r == 0) {
        agent_log(a, NULL, "replied", "%s by hand", hz_reply_name(m->code));
        work_replied(a, m);
    }
    answer(a, run, AGENT_RESULT, r);
}

void runs_readable(struct agent *a, int run)
{
    struct run_slot *s = &a->run[run];
    struct agent_msg m;
    int n;

    while (s->fd >= 0) {
        n = agent_receive(s->fd, &m);
        if (n == -EAGAIN) {
            return;
        }
        if (n == 1 && m.type == AGENT_HELLO && !s->hello) {
            s->hello = true;
            s->kinds = m.kinds;
            state_run(a->state, s->pid, true);
            work_run_joined(a, run);
            answer(a, run, AGENT_WELCOME, 0);
        } else if (n == 1 && m.type == AGENT_PROVE && s->hello &&
                   (m.code == HZ_REPLY_PREPARED || m.code == HZ_REPLY_FAILED)) {
            work_prove(a, run, &m);
        } else if (n == 1 && m.type == AGENT_REPLY) {
            reply(a, run, &m);
        } else {
            if (n == -EPROTO || n == 1) {
                say("a caller (process %d) speaks another protocol: sent away", (int)s->pid);
            }
            leave(a, run);
        }
    }
}

void runs_close(struct agent *a)
{
    int i;

    for (i = 0; i < RUNS_MAX; i++) {
        if (a->run[i].fd >= 0) {
            close(a->run[i].fd);
        }
    }
    if (a->listener >= 0) {
        close(a->listener);
        unlink(agent_socket_path());
    }
}
