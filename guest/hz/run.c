/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz run: an unmodified program cooperates: its declarations live as long as it does. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/units.h"
#include "guard.h"
#include "hooks.h"
#include "run.h"

/* As env(1) and timeout(1): apart from the program's own. */
#define EXIT_OURS 125
#define EXIT_CANNOT 126
#define EXIT_NOT_FOUND 127

#define MS INT64_C(1000000)
#define REOPEN (1000 * MS)

static const int signals[] = {
    SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH,
};

static const char help[] =
    "usage: hz run [OPTIONS] [--] COMMAND [ARGUMENT …]\n"
    "\n"
    "Runs COMMAND. What is declared here lives exactly as long as it does.\n"
    "\n"
    "  --on KIND=ACTION[@TIME][,…]\n"
    "                       what a notice of that kind does: a signal (TERM, USR1 …), STOP (and\n"
    "                       CONT when it is over), exec:SHELL-COMMAND, or ok (always ready).\n"
    "                       @TIME: when so little is left to the deadline; else at once.\n"
    "  --prepared-when [KIND:]exit|file=PATH   what proves that a signal did its work (exit)\n"
    "  --declare [SUBJECT:]NAME=VALUE[,…]      as hz declare; --FIELD VALUE works too\n"
    "  -f, --file FILE      declare what FILE says\n"
    "  --extend-max TIME    ask for up to this much more time while getting ready, and declare so\n"
    "  --group              COMMAND gets a process group of its own; signals go to all of it\n"
    "  --if-available       where this VM has no hz device, just run COMMAND\n"
    "\n"
    "Exit status: COMMAND's own, 128 + n when signal n ended it; 125 hz run itself failed,\n"
    "126 COMMAND couldn't be run, 127 it wasn't found.";

/* -- the command line ---------------------------------------------------- */

static bool take_extend(struct runner *r, const char *value)
{
    uint64_t ns;

    if (hz_unit_parse(HZ_UNIT_NS, value, &ns) < 0 || ns > INT64_MAX) {
        say("--extend-max: '%s' isn't a time such as 5m", value);
        return false;
    }
    r->extend_max = (int64_t)ns;
    return drafts_set(&r->drafts, NULL, "extend-max", value);
}

static bool take_value(struct runner *r, const char *name, const char *value)
{
    if (!strcmp(name, "--on")) {
        return rules_on(&r->rules, value);
    }
    if (!strcmp(name, "--prepared-when")) {
        return rules_prepared_when(&r->rules, value);
    }
    if (!strcmp(name, "--declare")) {
        return drafts_parse(&r->drafts, value);
    }
    if (!strcmp(name, "--file") || !strcmp(name, "-f")) {
        return drafts_load(&r->drafts, value);
    }
    if (!strcmp(name, "--extend-max")) {
        return take_extend(r, value);
    }
    return drafts_set(&r->drafts, NULL, name + 2, value);
}

/* Where the command starts, or -1. */
static int parse(struct runner *r, int argc, char **argv)
{
    static const char *const with_value[] = {
        "--on", "--prepared-when", "--declare", "--file", "-f", "--extend-max",
    };
    const char *value;
    char name[64];
    int i = 1;
    size_t k;

    while (option(argc, argv, &i, name, sizeof(name), &value)) {
        bool wants = drafts_is_option(name);

        for (k = 0; k < sizeof(with_value) / sizeof(with_value[0]); k++) {
            wants = wants || !strcmp(name, with_value[k]);
        }
        if (wants) {
            value = option_value(argc, argv, &i, name, value);
            if (!value || !take_value(r, name, value)) {
                return -1;
            }
        } else if (value && (!strcmp(name, "--group") || !strcmp(name, "--if-available"))) {
            say("%s: takes no value", name);
            return -1;
        } else if (!strcmp(name, "--group")) {
            r->group = true;
        } else if (!strcmp(name, "--if-available")) {
            r->if_available = true;
        } else {
            say("option '%s': there is none; hz run --help lists them", name);
            return -1;
        }
    }
    if (i < argc && !strcmp(argv[i], "--")) {
        i++;
    }
    if (i >= argc) {
        say("which command? hz run [OPTIONS] -- COMMAND");
        return -1;
    }
    return rules_finish(&r->rules) && drafts_check(&r->drafts) ? i : -1;
}

/* -- the program --------------------------------------------------------- */

static void exec_program(char **argv)
{
    signals_restore();
    execvp(argv[0], argv);
    say("%s: %s", argv[0], strerror(errno));
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT);
}

/* Under a guard: killed hard, we take it along, for its declarations are gone then. */
static int start_program(struct runner *r, char **argv)
{
    struct pollfd p = { .events = POLLIN };
    pid_t pid = guard_fork(r->group, &r->report);

    if (pid < 0) {
        say("starting %s: %s", argv[0], strerror(-pid));
        return pid;
    }
    if (pid == 0) {
        exec_program(argv);
    }
    p.fd = r->report;
    while (poll(&p, 1, -1) < 0) {
        ;
    }
    if (read(r->report, &r->child, sizeof(r->child)) != (ssize_t)sizeof(r->child)) {
        say("starting %s: no process can be had", argv[0]);
        return -EAGAIN;
    }
    r->guard = pid;
    return 0;
}

static void read_report(struct runner *r)
{
    pid_t stop;
    ssize_t n;

    while ((n = read(r->report, &stop, sizeof(stop))) > 0) {
        run_program_stopped(r);
    }
    if (n == 0) {
        close(r->report);
        r->report = -1;
    }
}

static void reap(struct runner *r)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != r->guard) {
            run_hook_ended(r, pid, status);
        } else {
            r->guard = r->child = 0;
            r->status = exit_code(status);
            run_program_ended(r);
        }
    }
}

/* A terminal's signals have reached the program already, if it shares our group. */
static void take_signal(struct runner *r, const struct signalfd_siginfo *s)
{
    bool from_terminal = s->ssi_code == SI_KERNEL;

    if (s->ssi_signo == SIGCHLD) {
        reap(r);
    } else if (!from_terminal || r->group) {
        run_signal(r, (int)s->ssi_signo);
    }
}

/* -- the device ---------------------------------------------------------- */

static void take_status(struct runner *r, const struct hz_event *ev)
{
    if (ev->status.changed & HZ_CHANGED_BOARD) {
        run_all_stale(r);
    }
    if (ev->status.changed & (HZ_CHANGED_REDECLARE | HZ_CHANGED_GENERATION)) {
        drafts_anew(&r->drafts);
    }
}

static void read_device(struct runner *r)
{
    struct hz_event *ev;
    int n;

    while (r->hz && (n = hz_read(r->hz, &ev)) != 0) {
        if (n == -EBADMSG) {
            continue;
        }
        if (n < 0) {
            say("%s; the program goes on", hz_strerror(n));
            hz_close(r->hz);
            r->hz = NULL;
            r->patience = r->direct ? -1 : r->patience;         /* taken up again at once */
            r->direct = false;
            return;
        }
        if (ev->type == HZ_EVENT_NOTICE) {
            run_notice(r, ev);
            continue;
        }
        if (ev->type == HZ_EVENT_STATUS) {
            take_status(r, ev);
        }
        hz_event_free(ev);
    }
}

/* It was unplugged, or the driver reloaded: take up again where it comes back. */
static int64_t reopen(struct runner *r)
{
    if (r->hz) {
        return INT64_MAX;
    }
    if (hz_open(&r->hz, NULL) < 0) {
        return hz_now() + REOPEN;
    }
    say("the device is back");
    drafts_anew(&r->drafts);
    return 0;
}

/* -- the loop ------------------------------------------------------------ */

static void drain(int fd)
{
    char buf[4096];

    while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0) {
        ;
    }
}

static int timeout_to(int64_t next)
{
    int64_t left;

    if (next == INT64_MAX) {
        return -1;
    }
    left = (next - hz_now() + MS - 1) / MS;
    return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void turn(struct runner *r)
{
    struct signalfd_siginfo s;
    struct pollfd p[5];
    int64_t next = reopen(r);

    read_device(r);
    next = sooner(next, drafts_look(&r->drafts, r->hz));
    next = sooner(next, answer_look(r));
    next = sooner(next, run_actions(r));
    p[0] = (struct pollfd){ .fd = r->signals, .events = POLLIN };
    p[1] = (struct pollfd){ .fd = r->hz ? hz_fd(r->hz) : -1, .events = POLLIN };
    p[2] = (struct pollfd){ .fd = r->agent, .events = POLLIN };
    p[3] = (struct pollfd){ .fd = r->inotify, .events = POLLIN };
    p[4] = (struct pollfd){ .fd = r->report, .events = POLLIN };
    if (poll(p, 5, timeout_to(next)) < 0) {
        return;
    }
    if (p[2].revents) {
        answer_agent_readable(r);
    }
    if (p[3].revents) {
        drain(r->inotify);
    }
    if (p[4].revents) {
        read_report(r);
    }
    while (read(r->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
        take_signal(r, &s);
    }
}

static int run(struct runner *r, char **argv)
{
    int status;

    r->signals = signals_take(signals, sizeof(signals) / sizeof(signals[0]));
    r->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (r->signals < 0) {
        say("signals: %s", strerror(-r->signals));
        return EXIT_OURS;
    }
    r->hz = open_device(&status);
    if (!r->hz) {
        return EXIT_OURS;
    }
    if (drafts_declare(&r->drafts, r->hz, HZ_REPLACE_ANY, 0) || answer_begin(r) < 0 ||
        start_program(r, argv) < 0) {
        return EXIT_OURS;
    }
    /* A hook outlives the program until it has its own result. */
    while (r->child || run_hooks_left(r)) {
        turn(r);
    }
    answer_flush(r);
    return r->status;
}

static bool has_device(void)
{
    struct hz *hz;
    int e = hz_open(&hz, NULL);

    if (e == 0) {
        hz_close(hz);
    }
    return e != -ENOENT && e != -ENODEV && e != -ENXIO;
}

int cmd_run(int argc, char **argv)
{
    struct runner r = { .agent = -1, .signals = -1, .inotify = -1, .report = -1 };
    int at, status = EXIT_OURS;

    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        puts(help);
        return EXIT_OK;
    }
    at = parse(&r, argc, argv);
    if (at < 0) {
        goto out;
    }
    if (r.if_available && !has_device()) {
        say("no hz device here: running %s without it", argv[at]);
        execvp(argv[at], argv + at);
        say("%s: %s", argv[at], strerror(errno));
        status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT;
        goto out;
    }
    status = run(&r, argv + at);
out:
    answer_end(&r);
    run_actions_free(&r);
    hz_close(r.hz);
    drafts_free(&r.drafts);
    rules_free(&r.rules);
    return status;
}
