/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz guard: what we started doesn't outlive us, whatever it has started in turn. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"
#include "hooks.h"

/* Guards hold the reading end, we alone the other: it ends when we do, however that comes. */
static int lifeline[2] = { -1, -1 };

/* The parent of a process, 0 when it has gone. */
static pid_t parent_of(const char *pid)
{
    char path[64], text[512];
    const char *end;
    FILE *f;
    size_t n;
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    f = fopen(path, "re");
    if (!f) {
        return 0;
    }
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    end = strrchr(text, ')');       /* a name may hold anything */
    return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static void kill_children(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *e;

    while (proc && (e = readdir(proc))) {
        if (isdigit((unsigned char)e->d_name[0]) && parent_of(e->d_name) == getpid()) {
            kill(atoi(e->d_name), SIGKILL);
        }
    }
    if (proc) {
        closedir(proc);
    }
}

/* Those a dead one leaves behind become our children, until none is left. */
static void kill_all(pid_t program)
{
    kill(program, SIGKILL);
    do {
        kill_children();
    } while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

static void tell(int report, pid_t what)
{
    if (report >= 0 && write(report, &what, sizeof(what)) < 0) {
        return;                     /* nobody is left to know */
    }
}

/* Reap, but for the program itself: that its pid stays taken until we end. -1, or its exit code. */
static int reap(pid_t program, int report)
{
    siginfo_t s;

    for (;;) {
        s.si_pid = 0;
        if (waitid(P_ALL, 0, &s, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 || !s.si_pid) {
            return -1;
        }
        if (s.si_pid == program && s.si_code != CLD_STOPPED) {
            return s.si_code == CLD_EXITED ? s.si_status : 128 + s.si_status;
        }
        if (s.si_pid == program) {
            tell(report, 0);
        }
        /* As it was seen: it may have gone on to its end since. */
        waitid(P_PID, (id_t)s.si_pid, &s,
               (s.si_code == CLD_STOPPED ? WSTOPPED : WEXITED) | WNOHANG);
    }
}

static void watch(pid_t program, int child_fd, int report)
{
    struct signalfd_siginfo s;
    struct pollfd p[2] = {
        { .fd = child_fd, .events = POLLIN },
        { .fd = lifeline[0], .events = POLLIN },
    };
    int code;

    for (;;) {
        if (poll(p, 2, -1) < 0) {
            continue;
        }
        while (read(child_fd, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
            ;
        }
        code = reap(program, report);
        if (code >= 0) {
            _exit(code);
        }
        if (p[1].revents) {
            kill_all(program);
            _exit(128 + SIGKILL);
        }
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Everything else is our starter's, above all the device: its declarations go when it is closed. */
static void close_all_but(int *keep, int n)
{
    int i, from = STDERR_FILENO + 1;

    qsort(keep, (size_t)n, sizeof(*keep), by_number);
    for (i = 0; i < n; i++) {
        if (keep[i] > from) {
            close_range((unsigned)from, (unsigned)keep[i] - 1, 0);
        }
        from = keep[i] >= from ? keep[i] + 1 : from;
    }
    close_range((unsigned)from, ~0U, 0);
}

static void become_program(pid_t guard, const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) {
        _exit(126);             /* it died before the line above */
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Returns only in the program. */
static void become_guard(bool group, int report, const sigset_t *mask)
{
    int keep[] = { lifeline[0], report, -1 };
    pid_t self = getpid(), program;
    sigset_t all, child;
    int fd;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (group && report < 0) {
        setpgid(0, 0);
    }
    /* A terminal's signals, or those to the whole group, are for the others. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    keep[2] = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    program = keep[2] < 0 ? -1 : fork();
    if (program < 0) {
        _exit(126);
    }
    if (program == 0) {
        become_program(self, mask);
        if (group && report >= 0) {
            setpgid(0, 0);
        }
        return;
    }
    if (report >= 0 && group) {
        setpgid(program, program);      /* here too: it may be signalled before it has run */
    }
    if (report >= 0 || !group) {
        setpgid(0, 0);          /* who stops or kills its whole group doesn't mean us */
    }
    tell(report, program);
    fd = keep[2];
    close_all_but(keep, 3);
    watch(program, fd, report);
}

static int make_lifeline(void)
{
    return lifeline[1] < 0 && pipe2(lifeline, O_CLOEXEC) < 0 ? -errno : 0;
}

pid_t guard_fork(bool group, int *report)
{
    int pipe[2] = { -1, -1 }, r = make_lifeline();
    sigset_t before;
    pid_t pid;

    if (r < 0 || (report && pipe2(pipe, O_CLOEXEC | O_NONBLOCK) < 0)) {
        return r < 0 ? r : -errno;
    }
    sigprocmask(SIG_SETMASK, NULL, &before);
    pid = fork();
    if (pid == 0) {
        close(lifeline[1]);
        lifeline[1] = -1;
        become_guard(group, pipe[1], &before);
        return 0;
    }
    r = pid < 0 ? -errno : 0;
    if (report) {
        close(pipe[1]);
        *report = pipe[0];
    }
    if (pid > 0 && group && !report) {
        setpgid(pid, pid);      /* here too: it may be signalled before it has run */
    }
    return pid < 0 ? r : pid;
}
