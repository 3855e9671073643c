/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz hooks: programs that get something ready for a notice, and how they are run and ended. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard.h"
#include "hooks.h"

static sigset_t original;
static bool taken;

int signals_take(const int *sigs, unsigned n)
{
    sigset_t set;
    unsigned i;
    int fd;

    sigemptyset(&set);
    for (i = 0; i < n; i++) {
        sigaddset(&set, sigs[i]);
    }
    signal(SIGCHLD, SIG_DFL);   /* ignored by whoever started us, no child could be waited for */
    if (sigprocmask(SIG_BLOCK, &set, &original) < 0) {
        return -errno;
    }
    taken = true;
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

void signals_restore(void)
{
    if (taken) {
        sigprocmask(SIG_SETMASK, &original, NULL);
    }
    signal(SIGPIPE, SIG_DFL);
}

int exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void set_number(const char *name, int64_t v)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)v);
    setenv(name, text, 1);
}

/* A point or length in ms; empty where there is none or it isn't known. */
static void set_ms(const char *name, int64_t ns, bool known)
{
    if (known) {
        set_number(name, ns < 0 ? 0 : ns / 1000000);
    } else {
        setenv(name, "", 1);
    }
}

/* "reclaim-action" is HZ_RECLAIM_ACTION. */
static void set_field(const struct hz_ev_field *f)
{
    char name[64];
    size_t i;

    snprintf(name, sizeof(name), "HZ_%s", f->name);
    for (i = 0; name[i]; i++) {
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    }
    setenv(name, f->text, 1);
}

static void set_environment(const struct hz_ev_notice *n, pid_t program)
{
    char id[33];
    unsigned i;

    for (i = 0; i < n->n; i++) {
        if (n->field[i].name) {
            set_field(&n->field[i]);
        }
    }
    format_id(n->id, id);
    setenv("HZ_NOTICE_ID", id, 1);
    format_id(n->cause_id, id);
    setenv("HZ_CAUSE_ID", id, 1);
    setenv("HZ_KIND", hz_kind_name(n->kind), 1);
    setenv("HZ_STATE", hz_state_name(n->state), 1);
    setenv("HZ_CAUSE", hz_cause_name(n->cause), 1);
    set_number("HZ_REVISION", n->revision);
    set_ms("HZ_DEADLINE_MS", n->deadline - hz_now(), n->deadline > 0);
    set_ms("HZ_DURATION_MS", n->duration_ns, n->duration_ns > 0);
    if (program > 0) {
        set_number("HZ_PROGRAM_PID", program);
    }
}

static void hook_child(const char *const argv[], const struct hz_ev_notice *n, pid_t program)
{
    int fd;

    signals_restore();
    fd = open("/dev/null", O_RDONLY);
    if (fd >= 0) {
        dup2(fd, STDIN_FILENO);
        close(fd);
    }
    set_environment(n, program);
    execv(argv[0], (char *const *)argv);
    say("%s: %s", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

pid_t hook_start(const char *const argv[], const struct hz_ev_notice *n, pid_t program)
{
    pid_t pid = guard_fork(true, NULL);

    if (pid == 0) {
        hook_child(argv, n, program);
    }
    return pid;
}

void hook_signal(pid_t pid, int sig)
{
    kill(-pid, sig);
}

/* Names as run-parts takes them: no editor's or package manager's leftovers. */
static int is_name(const struct dirent *d)
{
    const char *c;

    for (c = d->d_name; *c; c++) {
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' &&
            !(*c == '.' && c > d->d_name)) {
            return 0;
        }
    }
    return !strstr(d->d_name, ".dpkg-") && !strstr(d->d_name, ".bak");
}

/* Bytes, not the locale's order. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool trusted(const char *path, const struct stat *st)
{
    if (st->st_uid != 0 && st->st_uid != geteuid()) {
        say("%s: left out: its owner is neither root nor this user", path);
        return false;
    }
    if (st->st_mode & (S_IWGRP | S_IWOTH)) {
        say("%s: left out: others may write to it", path);
        return false;
    }
    return true;
}

static char *hook_path(const char *dir, const char *name)
{
    struct stat st;
    char *path;

    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        return NULL;
    }
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode)) {
        free(path);
        return NULL;
    }
    if (!(st.st_mode & S_IXUSR)) {
        say("%s: left out: it isn't executable", path);
        free(path);
        return NULL;
    }
    if (!trusted(path, &st)) {
        free(path);
        return NULL;
    }
    return path;
}

char **hooks_list(const char *dir, unsigned *n)
{
    struct dirent **entry;
    struct stat st;
    char **list;
    int i, found;

    *n = 0;
    if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || !trusted(dir, &st)) {
        return NULL;
    }
    found = scandir(dir, &entry, is_name, by_name);
    if (found < 0) {
        say("%s: %s", dir, strerror(errno));
        return NULL;
    }
    list = calloc((size_t)found + 1, sizeof(*list));
    for (i = 0; i < found; i++) {
        char *path = list ? hook_path(dir, entry[i]->d_name) : NULL;

        if (path) {
            list[(*n)++] = path;
        }
        free(entry[i]);
    }
    free(entry);
    if (!*n) {
        free(list);
        list = NULL;
    }
    return list;
}

void hooks_free(char **list)
{
    char **l;

    for (l = list; l && *l; l++) {
        free(*l);
    }
    free(list);
}
