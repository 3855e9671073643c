/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz agent: the command line, the device, the loop. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "core/units.h"
#include "hooks.h"

#define MS INT64_C(1000000)
#define AGAIN (500 * MS)        /* how often a device that is gone or taken is tried */
#define SWEEP (3000 * MS)       /* a board told anew comes entry by entry, without an end mark */
#define RUNS_DUE (5000 * MS)    /* for runs to come back to an agent that was restarted */

static const int signals[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };

static const char help[] =
    "usage: hz agent [OPTIONS]\n"
    "\n"
    "Answers notices for this guest, until it is told to stop.\n"
    "\n"
    "  --hooks DIR          programs to run: DIR/KIND/*, by name, all must exit with 0;\n"
    "                       DIR/KIND.advised/* for advice, DIR/KIND.end/* when a notice is over\n"
    "                       (/etc/hz/hooks.d)\n"
    "  --declare [SUBJECT:]NAME=VALUE[,…]   as hz declare; --FIELD VALUE works too\n"
    "  -f, --file FILE      declare what FILE says\n"
    "  --extend-max TIME    ask for up to this much more time while hooks run, and declare so;\n"
    "                       else what is declared already (extend-max) counts\n"
    "  --state FILE         what a restart must not forget (/run/hz-agent.state)\n"
    "  --json               log as JSON, an object a line, on standard output\n"
    "\n"
    "hz run and hz reply find it at /run/hz-agent.sock, or where HZ_AGENT_SOCKET says.";

/* -- saying what happens ------------------------------------------------- */

void agent_log(struct agent *a, const struct hz_ev_notice *n, const char *event,
               const char *fmt, ...)
{
    struct json j = { .f = stdout };
    char text[512], id[33] = "";
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n) {
        format_id(n->id, id);
    }
    if (!a->json) {
        if (n) {
            say("%s %.12s: %s: %s", hz_kind_name(n->kind), id, event, text);
        } else {
            say("%s: %s", event, text);
        }
        return;
    }
    json_begin(&j, NULL, '{');
    json_string(&j, "event", event);
    if (n) {
        json_string(&j, "id", id);
        json_string(&j, "kind", hz_kind_name(n->kind));
        json_u64(&j, "revision", n->revision);
    }
    json_string(&j, "text", text);
    json_i64(&j, "boottime-ns", hz_now());
    json_end(&j, '}');
    json_line(&j);
}

int agent_give(struct agent *a, const struct hz_ev_notice *n, enum hz_reply_code code,
               uint64_t arg)
{
    int r = a->hz && a->claimed ? hz_reply(a->hz, n, code, arg) : -ENODEV;

    /* ECANCELED, ENOENT, ENODEV: it has moved on; what it is now is being read. */
    if (r < 0 && r != -ECANCELED && r != -ENOENT && r != -ENODEV) {
        agent_log(a, n, "refused", "%s: %s", hz_reply_name((uint16_t)code), hz_strerror(r));
    }
    return r;
}

/* systemd's readiness protocol is one datagram: no library is needed for it. */
static void notify_systemd(const char *state)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    const char *path = getenv("NOTIFY_SOCKET");
    socklen_t len;
    int fd;

    if (!path || !*path || strlen(path) >= sizeof(addr.sun_path)) {
        return;
    }
    len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    memcpy(addr.sun_path, path, strlen(path));
    if (path[0] == '@') {
        addr.sun_path[0] = '\0';
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr, len) < 0) {
        say("%s: %s", path, strerror(errno));
    }
    close(fd);
}

/* -- the device ---------------------------------------------------------- */

static void lost_device(struct agent *a, int r)
{
    agent_log(a, NULL, "device", "%s", hz_strerror(r));
    hz_close(a->hz);
    a->hz = NULL;
    a->claimed = false;
}

/* What may be asked for beyond a deadline is what was declared. */
static void take_extend_max(struct agent *a)
{
    uint64_t ms, most = 0;
    unsigned i;

    for (i = 0; i < a->model.declarations; i++) {
        const struct hz_ev_declaration *d = &a->model.declaration[i]->declaration;

        if (hz_number(d->field, d->n, "extend-max", &ms) && ms > most) {
            most = ms;
        }
    }
    a->extend_max = (int64_t)most * MS;
}

static void take_status(struct agent *a, const struct hz_ev_status *s)
{
    if (s->changed & HZ_CHANGED_BOARD) {
        work_all_stale(a);
        a->sweep_at = hz_now() + SWEEP;
    }
    if (s->changed & (HZ_CHANGED_REDECLARE | HZ_CHANGED_GENERATION)) {
        drafts_anew(&a->drafts);
    }
    if (s->changed & HZ_CHANGED_DISRUPTION) {
        agent_log(a, NULL, "moved", "disruption %llu, %s", (unsigned long long)s->disruption,
                  hz_why_name(s->why));
    }
    if (s->changed & (HZ_CHANGED_PROVIDER | HZ_CHANGED_BOARD)) {
        agent_log(a, NULL, "provider", "%s", s->provider ? "listening" : "absent");
    }
}

static void read_device(struct agent *a)
{
    struct hz_event *ev;
    int r;

    while (a->claimed && (r = hz_read(a->hz, &ev)) != 0) {
        if (r == -EBADMSG) {
            continue;
        }
        if (r < 0) {
            lost_device(a, r);
            return;
        }
        if (ev->type == HZ_EVENT_NOTICE) {
            work_notice(a, ev);
            continue;
        }
        if (ev->type == HZ_EVENT_STATUS) {
            take_status(a, &ev->status);
        }
        model_take(&a->model, ev);
        take_extend_max(a);
    }
}

/* What the new board hasn't told by now is gone. */
static int64_t sweep(struct agent *a)
{
    if (!a->sweep_at || !a->claimed) {
        return INT64_MAX;
    }
    if (hz_now() < a->sweep_at) {
        return a->sweep_at;
    }
    a->sweep_at = 0;
    work_sweep(a);
    return INT64_MAX;
}

/* Have the device and be the responder, or say when to try again. */
static int64_t have_device(struct agent *a)
{
    int r;

    if (a->claimed) {
        return INT64_MAX;
    }
    if (!a->hz) {
        r = hz_open(&a->hz, NULL);
        if (r < 0) {
            if (!a->said_busy) {
                agent_log(a, NULL, "device", "%s: %s: waiting for it", device_name(),
                          open_error(r));
                a->said_busy = true;
            }
            return hz_now() + AGAIN;
        }
    }
    r = hz_claim(a->hz);
    if (r < 0) {
        if (r != -EBUSY) {
            lost_device(a, r);
        } else if (!a->said_busy) {
            agent_log(a, NULL, "device", "another program answers notices: waiting for it to stop");
            a->said_busy = true;
        }
        return hz_now() + AGAIN;
    }
    a->claimed = true;
    a->said_busy = false;
    drafts_anew(&a->drafts);
    drafts_look(&a->drafts, a->hz);
    agent_log(a, NULL, "ready", "answering notices");
    if (!a->ready) {
        a->ready = true;
        notify_systemd("READY=1");
    }
    return 0;
}

/* -- the loop ------------------------------------------------------------ */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
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

static void take_signals(struct agent *a)
{
    struct signalfd_siginfo s;
    int status;
    pid_t pid;

    while (read(a->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
        if (s.ssi_signo != SIGCHLD && s.ssi_signo != SIGHUP) {
            a->stop = true;
        }
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        work_child(a, pid, status);
    }
}

/* Runs that the agent before us had: nothing is settled until they are back, or not to be had. */
static int64_t await_runs(struct agent *a)
{
    if (!a->runs_due) {
        return INT64_MAX;
    }
    if (hz_now() < a->runs_due && state_runs_missing(a->state, a)) {
        return sooner(a->runs_due, hz_now() + 200 * MS);
    }
    a->runs_due = 0;
    work_settle_all(a);
    return 0;
}

static void turn(struct agent *a)
{
    struct pollfd p[3 + RUNS_MAX];
    int64_t next = have_device(a);
    int i;

    read_device(a);
    next = sooner(next, a->claimed ? drafts_look(&a->drafts, a->hz) : INT64_MAX);
    next = sooner(next, sweep(a));
    next = sooner(next, await_runs(a));
    next = sooner(next, work_look(a));
    p[0] = (struct pollfd){ .fd = a->signals, .events = POLLIN };
    p[1] = (struct pollfd){ .fd = a->claimed ? hz_fd(a->hz) : -1, .events = POLLIN };
    p[2] = (struct pollfd){ .fd = a->listener, .events = POLLIN };
    for (i = 0; i < RUNS_MAX; i++) {
        p[3 + i] = (struct pollfd){ .fd = a->run[i].fd, .events = POLLIN };
    }
    if (poll(p, 3 + RUNS_MAX, timeout_to(next)) < 0) {
        return;
    }
    /* The device first: what a run proves it has read there. */
    read_device(a);
    take_signals(a);
    for (i = 0; i < RUNS_MAX; i++) {
        if (p[3 + i].revents && a->run[i].fd == p[3 + i].fd) {
            runs_readable(a, i);
        }
    }
    if (p[2].revents) {
        runs_accept(a);
    }
}

static int run(struct agent *a)
{
    int i;

    for (i = 0; i < RUNS_MAX; i++) {
        a->run[i].fd = -1;
    }
    a->signals = signals_take(signals, sizeof(signals) / sizeof(signals[0]));
    a->state = state_load(a->state_file);
    if (a->signals < 0 || !a->state) {
        say("%s", a->signals < 0 ? strerror(-a->signals) : "out of memory");
        return EXIT_FAIL;
    }
    if (runs_listen(a) < 0) {
        return EXIT_FAIL;
    }
    a->runs_due = hz_now() + RUNS_DUE;
    while (!a->stop) {
        turn(a);
    }
    notify_systemd("STOPPING=1");
    return EXIT_OK;
}

/* -- the command line ---------------------------------------------------- */

static bool takes_value(const char *name)
{
    static const char *const names[] = { "--hooks", "--state", "--declare", "--file", "-f" };
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(name, names[i])) {
            return true;
        }
    }
    return drafts_is_option(name);
}

static bool take_value(struct agent *a, const char *name, const char *value)
{
    if (!strcmp(name, "--hooks")) {
        a->hooks_dir = value;
        return true;
    }
    if (!strcmp(name, "--state")) {
        a->state_file = value;
        return true;
    }
    if (!strcmp(name, "--declare")) {
        return drafts_parse(&a->drafts, value);
    }
    if (!strcmp(name, "--file") || !strcmp(name, "-f")) {
        return drafts_load(&a->drafts, value);
    }
    return drafts_set(&a->drafts, NULL, name + 2, value);
}

static bool parse(struct agent *a, int argc, char **argv)
{
    const char *value;
    char name[64];
    int i = 1;

    while (option(argc, argv, &i, name, sizeof(name), &value)) {
        if (!strcmp(name, "--json") && !value) {
            a->json = true;
            continue;
        }
        if (!takes_value(name)) {
            say(strcmp(name, "--json") ? "option '%s': there is none; hz agent --help lists them"
                                       : "%s: takes no value", name);
            return false;
        }
        value = option_value(argc, argv, &i, name, value);
        if (!value || !take_value(a, name, value)) {
            return false;
        }
    }
    if (i < argc) {
        say("'%s': no argument is expected", argv[i]);
        return false;
    }
    return drafts_check(&a->drafts);
}

int cmd_agent(int argc, char **argv)
{
    struct agent *a = calloc(1, sizeof(*a));
    int status = EXIT_USAGE;

    if (!a) {
        say("out of memory");
        return EXIT_FAIL;
    }
    a->hooks_dir = "/etc/hz/hooks.d";
    a->state_file = "/run/hz-agent.state";
    a->listener = a->signals = -1;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        puts(help);
        status = EXIT_OK;
    } else if (parse(a, argc, argv)) {
        status = run(a);
        work_free(a);
        runs_close(a);
        state_free(a->state);
        model_free(&a->model);
        hz_close(a->hz);
    }
    drafts_free(&a->drafts);
    free(a);
    return status;
}
