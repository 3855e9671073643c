/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz run's actions: one notice from its arrival to the proof that the program is ready. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "hooks.h"
#include "run.h"

#define MS INT64_C(1000000)
#define GRACE (5000 * MS)       /* between SIGTERM and SIGKILL to a hook that is no longer wanted */
#define SWEEP (3000 * MS)       /* a board told anew comes entry by entry, without an end mark */
#define LOOK (1000 * MS)        /* where a proof file's directory can't be watched */

void run_signal(struct runner *r, int sig)
{
    if (r->child > 0) {
        kill(r->group ? -r->child : r->child, sig);
    }
}

static void tell(const struct action *a, const char *what)
{
    char id[33];

    format_id(a->ev->notice.id, id);
    say("%s %.12s: %s", hz_kind_name(a->ev->notice.kind), id, what);
}

static void finish(struct runner *r, struct action *a, uint16_t result, uint64_t code)
{
    char text[48];

    if (a->result) {
        return;
    }
    a->result = result;
    a->code = code;
    snprintf(text, sizeof(text), result == HZ_REPLY_PREPARED ? "prepared" : "failed, code %llu",
             (unsigned long long)code);
    tell(a, text);
    answer_result(r, a);
}

/* -- the proof file ------------------------------------------------------ */

/* Changes in its directory wake the loop; where that can't be watched, LOOK does. */
static void watch_file(struct runner *r, const char *file)
{
    char dir[4096];
    char *slash;

    if ((size_t)snprintf(dir, sizeof(dir), "%s", file) >= sizeof(dir) || r->inotify < 0) {
        return;
    }
    slash = strrchr(dir, '/');
    if (!slash) {
        strcpy(dir, ".");
    } else {
        slash[slash == dir] = '\0';
    }
    inotify_add_watch(r->inotify, dir, IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB);
}

/* A file from before doesn't prove anything. */
static bool appeared(const struct action *a)
{
    struct stat now;

    if (stat(a->on->file, &now) < 0) {
        return false;
    }
    return !a->was_there || now.st_ino != a->before.st_ino || now.st_dev != a->before.st_dev ||
           now.st_mtim.tv_sec != a->before.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != a->before.st_mtim.tv_nsec;
}

static bool by_file(const struct action *a)
{
    return a->on && a->on->what == ON_SIGNAL && a->on->sig != SIGSTOP && a->on->file;
}

/* -- acting -------------------------------------------------------------- */

static void start_hook(struct runner *r, struct action *a)
{
    const char *argv[] = { "/bin/sh", "-c", a->on->command, NULL };
    pid_t pid = hook_start(argv, &a->ev->notice, r->child);

    if (pid < 0) {
        say("starting '%s': %s", a->on->command, strerror(-pid));
        finish(r, a, HZ_REPLY_FAILED, 126);
        return;
    }
    a->hook = pid;
}

static void act(struct runner *r, struct action *a)
{
    char text[32];

    a->acted = true;
    if (a->on->what == ON_OK) {
        finish(r, a, HZ_REPLY_PREPARED, 0);
        return;
    }
    if (a->on->what == ON_EXEC) {
        start_hook(r, a);
        return;
    }
    if (by_file(a)) {
        watch_file(r, a->on->file);
        a->was_there = stat(a->on->file, &a->before) == 0;
    }
    r->sent = a->on->sig;
    a->stopped = a->on->sig == SIGSTOP;
    snprintf(text, sizeof(text), "SIG%s sent", sigabbrev_np(a->on->sig));
    tell(a, text);
    run_signal(r, a->on->sig);
    if (!a->stopped) {
        run_signal(r, SIGCONT);         /* a program stopped for another notice hears it too */
    }
}

/* When to act on it; INT64_MAX: not as it stands. */
static int64_t due(const struct action *a)
{
    const struct hz_ev_notice *n = &a->ev->notice;

    if (!a->on || a->acted || a->result || n->state == HZ_ADVISED) {
        return INT64_MAX;       /* advice is seen, and nothing more */
    }
    if (a->on->lead_ns < 0 || !a->deadline || n->state == HZ_STARTED) {
        return 0;
    }
    return a->deadline - a->on->lead_ns;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t one_action(struct runner *r, struct action *a)
{
    int64_t now = hz_now(), next = due(a), look, ask;

    if (next <= now) {
        act(r, a);
        next = INT64_MAX;
    }
    if (a->acted && !a->result && by_file(a)) {
        if (appeared(a)) {
            finish(r, a, HZ_REPLY_PREPARED, 0);
        } else {
            next = sooner(next, now + LOOK);
        }
    }
    if (a->hook && a->hook_kill) {
        if (now >= a->hook_kill) {
            hook_signal(a->hook, SIGKILL);
        }
        next = sooner(next, now >= a->hook_kill ? now + GRACE : a->hook_kill);
    }
    if (a->acted && !a->result) {
        ask = extend_ask(&a->extend, &a->ev->notice, r->extend_max, now, &look);
        if (ask) {
            answer_extend(r, a, ask);
        }
        next = sooner(next, look);
    }
    return next;
}

/* -- notices ------------------------------------------------------------- */

/* It is over: what was stopped goes on, what still prepares is no longer wanted. */
static void over(struct runner *r, struct action *a)
{
    if (a->stopped) {
        a->stopped = false;
        tell(a, "over: the program goes on");
        run_signal(r, SIGCONT);
    }
    if (a->hook && !a->hook_kill) {
        hook_signal(a->hook, SIGTERM);
        a->hook_kill = hz_now() + GRACE;
    }
    if (!a->result) {
        a->result = HZ_REPLY_NONE;
        a->on = NULL;
    }
}

static void remove_action(struct runner *r, struct action *a)
{
    hz_event_free(a->ev);
    *a = r->action[--r->actions];
}

static struct action *find(struct runner *r, const uint8_t id[HZ_ID_LEN])
{
    unsigned i;

    for (i = 0; i < r->actions; i++) {
        if (!memcmp(r->action[i].ev->notice.id, id, HZ_ID_LEN)) {
            return &r->action[i];
        }
    }
    return NULL;
}

/* A synthetic notice proves the path to here; the program isn't bothered. */
static void take_test(struct runner *r, struct action *a)
{
    a->on = NULL;
    a->acted = true;
    finish(r, a, HZ_REPLY_PREPARED, 0);
}

void run_notice(struct runner *r, struct hz_event *ev)
{
    struct action *a = find(r, ev->notice.id);

    if (ev->notice.gone) {
        if (a) {
            over(r, a);
            if (!a->hook) {
                remove_action(r, a);
            }
        }
        hz_event_free(ev);
        return;
    }
    if (!a) {
        if (ev->notice.state >= HZ_COMPLETED || r->actions == ACTIONS_MAX) {
            hz_event_free(ev);
            return;
        }
        a = &r->action[r->actions++];
        memset(a, 0, sizeof(*a));
        a->on = rules_find(&r->rules, ev->notice.kind);
    } else {
        hz_event_free(a->ev);
    }
    a->ev = ev;
    a->stale = false;
    if (ev->notice.deadline != HZ_TIME_UNKNOWN) {
        a->deadline = ev->notice.deadline;
    }
    if (ev->notice.state >= HZ_COMPLETED) {
        over(r, a);
        if (!a->hook) {
            remove_action(r, a);
        }
        return;
    }
    extend_see(&a->extend, &ev->notice);
    answer_seen(r, a);
    if (ev->notice.test && a->on && !a->result) {
        take_test(r, a);
    }
    answer_result(r, a);        /* a new revision: said again */
}

void run_all_stale(struct runner *r)
{
    unsigned i;

    for (i = 0; i < r->actions; i++) {
        r->action[i].stale = true;
    }
    r->sweep_at = hz_now() + SWEEP;
}

/* What a new board hasn't told is over. */
static void sweep(struct runner *r)
{
    unsigned i = 0;

    r->sweep_at = 0;
    while (i < r->actions) {
        struct action *a = &r->action[i];

        if (a->stale) {
            over(r, a);
        }
        if (a->stale && !a->hook) {
            remove_action(r, a);
        } else {
            a->stale = false;
            i++;
        }
    }
}

int64_t run_actions(struct runner *r)
{
    int64_t next = INT64_MAX;
    unsigned i;

    if (r->sweep_at && hz_now() >= r->sweep_at) {
        sweep(r);
    }
    if (r->sweep_at) {
        next = r->sweep_at;
    }
    for (i = 0; i < r->actions; i++) {
        next = sooner(next, one_action(r, &r->action[i]));
    }
    return next;
}

void run_hook_ended(struct runner *r, pid_t pid, int status)
{
    unsigned i;

    for (i = 0; i < r->actions; i++) {
        struct action *a = &r->action[i];
        int code = exit_code(status);

        if (a->hook != pid) {
            continue;
        }
        a->hook = 0;
        if (a->hook_kill) {
            remove_action(r, a);        /* it was ended: nothing to tell */
        } else {
            finish(r, a, code ? HZ_REPLY_FAILED : HZ_REPLY_PREPARED, (uint64_t)code);
        }
        return;
    }
}

void run_program_stopped(struct runner *r)
{
    unsigned i;

    for (i = 0; i < r->actions; i++) {
        if (r->action[i].stopped) {
            finish(r, &r->action[i], HZ_REPLY_PREPARED, 0);
        }
    }
}

/* Did it end well, or by what we sent it? */
static bool ended_well(const struct runner *r)
{
    return r->status == 0 || (r->sent && r->status == 128 + r->sent);
}

void run_program_ended(struct runner *r)
{
    unsigned i;

    for (i = 0; i < r->actions; i++) {
        struct action *a = &r->action[i];

        if (!a->on || a->result || a->hook) {
            continue;
        }
        if (!a->acted) {
            finish(r, a, HZ_REPLY_PREPARED, 0);         /* nothing is left to lose */
        } else if (by_file(a) ? appeared(a) : ended_well(r)) {
            finish(r, a, HZ_REPLY_PREPARED, 0);
        } else {
            finish(r, a, HZ_REPLY_FAILED, r->status ? (uint64_t)r->status : 1);
        }
    }
}

bool run_hooks_left(const struct runner *r)
{
    unsigned i;

    for (i = 0; i < r->actions; i++) {
        if (r->action[i].hook) {
            return true;
        }
    }
    return false;
}

void run_actions_free(struct runner *r)
{
    while (r->actions > 0) {
        remove_action(r, &r->action[0]);
    }
}
