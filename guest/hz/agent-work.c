/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz agent's work: one notice, from its arrival to what is answered and after. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "core/life.h"
#include "hooks.h"

#define MS INT64_C(1000000)
#define GRACE (5000 * MS)       /* between SIGTERM and SIGKILL */

#define ANSWERS (1u << HZ_REPLY_PREPARED | 1u << HZ_REPLY_FAILED | 1u << HZ_REPLY_ACCEPT | \
                 1u << HZ_REPLY_DECLINE)

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct work *work_find(struct agent *a, const uint8_t id[HZ_ID_LEN])
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        if (a->work[i].ev && !memcmp(a->work[i].ev->notice.id, id, HZ_ID_LEN)) {
            return &a->work[i];
        }
    }
    return NULL;
}

static void forget(struct work *w)
{
    hooks_free(w->hooks);
    hz_event_free(w->ev);
    memset(w, 0, sizeof(*w));
}

/* -- the answer ---------------------------------------------------------- */

static void tell(struct agent *a, struct work *w)
{
    const struct hz_ev_notice *n = &w->ev->notice;

    if (!w->result || n->state >= HZ_COMPLETED) {
        return;
    }
    if (n->replied & 1u << w->result) {
        w->told = n->revision;          /* it stands there */
        return;
    }
    /* Not there, or lost with a reset of the driver. The same twice is one. */
    if (agent_give(a, n, (enum hz_reply_code)w->result, w->code) == 0) {
        w->told = n->revision;
    }
}

static void finish(struct agent *a, struct work *w, uint16_t result, uint64_t code)
{
    w->phase = WORK_DONE;
    w->result = result;
    w->code = code;
    w->waiting = 0;
    state_done(a->state, &w->ev->notice, result, code);
    if (result == HZ_REPLY_FAILED) {
        agent_log(a, &w->ev->notice, "failed", "code %llu", (unsigned long long)code);
    } else if (result == HZ_REPLY_PREPARED) {
        agent_log(a, &w->ev->notice, "prepared", "everything has proved itself");
    } else {
        agent_log(a, &w->ev->notice, "unprepared",
                  "no hook and no run is there for it: nothing is proved");
    }
    tell(a, w);
}

/* Is all of it proved? Never on hope: with nobody to prove anything, SEEN is all that is said. */
static void settle(struct agent *a, struct work *w)
{
    if (w->phase != WORK_BUSY || w->hooks || w->waiting || a->runs_due) {
        return;
    }
    finish(a, w, w->proved ? HZ_REPLY_PREPARED : HZ_REPLY_NONE, 0);
}

/* -- hooks --------------------------------------------------------------- */

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void hooks_done(struct agent *a, struct work *w)
{
    hooks_free(w->hooks);
    w->hooks = NULL;
    w->pid = 0;
    w->kill_at = 0;
    if (w->phase == WORK_OVER) {
        return;
    }
    settle(a, w);
}

/* Start the hook that is next; past the last one, done. */
static void next_hook(struct agent *a, struct work *w)
{
    const char *argv[] = { w->hooks[w->hook], NULL };

    if (!argv[0]) {
        hooks_done(a, w);
        return;
    }
    w->pid = hook_start(argv, &w->ev->notice, 0);
    w->started = hz_now();
    if (w->pid > 0) {
        agent_log(a, &w->ev->notice, "hook", "%s started", base(argv[0]));
        return;
    }
    agent_log(a, &w->ev->notice, "hook", "%s: %s", base(argv[0]), strerror(-w->pid));
    w->pid = 0;
    hooks_free(w->hooks);
    w->hooks = NULL;
    if (w->phase == WORK_BUSY) {
        finish(a, w, HZ_REPLY_FAILED, 126);
    }
}

/* Hooks for "pause", "pause.advised", "pause.end". True: some are running now. */
static bool start_hooks(struct agent *a, struct work *w, const char *suffix)
{
    char dir[4096];
    unsigned n;

    snprintf(dir, sizeof(dir), "%s/%s%s", a->hooks_dir, hz_kind_name(w->ev->notice.kind), suffix);
    w->hooks = hooks_list(dir, &n);
    w->hook = 0;
    if (!w->hooks) {
        return false;
    }
    next_hook(a, w);
    return true;
}

static void stop_hooks(struct work *w)
{
    if (w->pid && !w->kill_at) {
        hook_signal(w->pid, SIGTERM);
        w->kill_at = hz_now() + GRACE;
    }
}

static void hook_ended(struct agent *a, struct work *w, int code)
{
    char took[32];

    format_ns(hz_now() - w->started, took, sizeof(took));
    agent_log(a, &w->ev->notice, "hook", "%s: exit %d after %s%s", base(w->hooks[w->hook]), code,
              took, w->kill_at ? ", stopped" : "");
    w->pid = 0;
    if (w->kill_at) {
        hooks_done(a, w);
        return;
    }
    if (code && w->phase == WORK_BUSY) {
        hooks_free(w->hooks);
        w->hooks = NULL;
        finish(a, w, HZ_REPLY_FAILED, (uint64_t)code);
        return;
    }
    if (w->phase == WORK_BUSY) {
        w->proved = true;
    }
    w->hook++;
    next_hook(a, w);
}

/* -- the life of it ------------------------------------------------------ */

static bool is_report(const struct hz_ev_notice *n)
{
    return !hz_life_impact(n->kind) && n->kind != 0;
}

static void end_hooks(struct agent *a, struct work *w)
{
    if (w->hooks || w->phase != WORK_OVER || !w->ran) {
        return;
    }
    w->ran = false;
    start_hooks(a, w, ".end");
}

/* Which runs have a say in it. */
static uint64_t runs_for(const struct agent *a, uint16_t kind)
{
    uint64_t mask = 0;
    int i;

    for (i = 0; i < RUNS_MAX; i++) {
        if (a->run[i].fd >= 0 && a->run[i].hello && a->run[i].kinds & UINT32_C(1) << kind) {
            mask |= UINT64_C(1) << i;
        }
    }
    return mask;
}

static void get_ready(struct agent *a, struct work *w)
{
    const struct hz_ev_notice *n = &w->ev->notice;

    if (w->hooks) {
        return;                 /* advice is still being taken: after it */
    }
    w->phase = WORK_BUSY;
    if (n->test) {
        /* Proves the path as far as here; nobody's work is disturbed. */
        finish(a, w, HZ_REPLY_PREPARED, 0);
        return;
    }
    w->ran = true;
    w->waiting = runs_for(a, n->kind) & ~w->proofs;
    w->proved = w->proofs != 0;
    if (!start_hooks(a, w, "")) {
        settle(a, w);
    }
}

/* Somebody has answered this revision: an agent before us, or a person. */
static void take_answer(struct agent *a, struct work *w)
{
    const struct hz_ev_notice *n = &w->ev->notice;

    if (w->phase == WORK_NEW && n->replied & ANSWERS) {
        w->phase = WORK_DONE;
        w->ran = true;
        w->result = n->replied & 1u << HZ_REPLY_PREPARED ? HZ_REPLY_PREPARED : HZ_REPLY_NONE;
        w->told = n->revision;
    } else if (w->phase == WORK_NEW && state_find(a->state, n, &w->result, &w->code)) {
        w->phase = WORK_DONE;
        w->ran = true;
    }
}

static void open_notice(struct agent *a, struct work *w)
{
    const struct hz_ev_notice *n = &w->ev->notice;

    if (!(n->replied & 1u << HZ_REPLY_SEEN) && agent_give(a, n, HZ_REPLY_SEEN, 0) == 0) {
        agent_log(a, n, "seen", "revision %u, %s", n->revision, hz_state_name(n->state));
    }
    extend_see(&w->extend, n);
    take_answer(a, w);
    if (w->phase == WORK_DONE && w->result == HZ_REPLY_FAILED && w->told &&
        w->told != n->revision) {
        w->phase = WORK_NEW;    /* other terms: another try */
        w->result = HZ_REPLY_NONE;
        w->proved = false;
    }
    if (w->phase == WORK_NEW && n->state == HZ_ADVISED && !w->advised && !n->test) {
        w->advised = true;
        start_hooks(a, w, ".advised");
    }
    if (w->phase == WORK_NEW && (n->state != HZ_ADVISED || n->test)) {
        get_ready(a, w);
    }
    tell(a, w);
}

static void close_notice(struct agent *a, struct work *w, bool first)
{
    const struct hz_ev_notice *n = &w->ev->notice;
    uint16_t result;
    uint64_t code;

    if (w->phase == WORK_OVER) {
        return;
    }
    if (first && is_report(n) && !n->test && n->state == HZ_COMPLETED &&
        !state_find(a->state, n, &result, &code)) {
        /* What is told when it has happened: the hooks are for that. */
        agent_log(a, n, "report", "%s", hz_state_name(n->state));
        w->phase = WORK_OVER;
        state_done(a->state, n, HZ_REPLY_NONE, 0);
        start_hooks(a, w, "");
        return;
    }
    if (first) {
        w->phase = WORK_OVER;   /* over before we came */
        w->ran = false;
        return;
    }
    agent_log(a, n, "over", "%s", hz_state_name(n->state));
    stop_hooks(w);
    w->phase = WORK_OVER;
    w->waiting = 0;
    end_hooks(a, w);
}

static struct work *new_work(struct agent *a)
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        if (!a->work[i].ev) {
            return &a->work[i];
        }
    }
    return NULL;
}

static void gone(struct agent *a, struct work *w)
{
    state_forget(a->state, w->ev->notice.id);
    if (w->phase != WORK_OVER) {
        close_notice(a, w, false);
    }
    w->dropped = true;
    if (!w->hooks) {
        forget(w);
    }
}

void work_notice(struct agent *a, struct hz_event *ev)
{
    struct work *w = work_find(a, ev->notice.id);
    bool first = !w;

    if (ev->notice.gone) {
        if (w) {
            gone(a, w);
        }
        hz_event_free(ev);
        return;
    }
    if (first) {
        w = new_work(a);
        if (!w) {
            say("more than %d notices: one is left out", WORKS_MAX);
            hz_event_free(ev);
            return;
        }
    }
    hz_event_free(w->ev);
    w->ev = ev;
    w->stale = false;
    if (ev->notice.state >= HZ_COMPLETED) {
        close_notice(a, w, first);
    } else {
        open_notice(a, w);
    }
}

void work_all_stale(struct agent *a)
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        a->work[i].stale = a->work[i].ev != NULL;
    }
}

void work_sweep(struct agent *a)
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        if (a->work[i].ev && a->work[i].stale) {
            a->work[i].stale = false;
            gone(a, &a->work[i]);
        }
    }
}

void work_child(struct agent *a, pid_t pid, int status)
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        struct work *w = &a->work[i];

        if (!w->ev || w->pid != pid) {
            continue;
        }
        hook_ended(a, w, exit_code(status));
        if (w->phase == WORK_NEW && !w->hooks) {
            open_notice(a, w);          /* advice was taken; by now it may be scheduled */
        }
        end_hooks(a, w);
        if (w->dropped && !w->hooks) {
            forget(w);
        }
        return;
    }
}

void work_settle_all(struct agent *a)
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        if (a->work[i].ev) {
            settle(a, &a->work[i]);
        }
    }
}

static int64_t look(struct agent *a, struct work *w)
{
    int64_t now = hz_now(), next = INT64_MAX, ask;

    if (w->kill_at && w->pid) {
        if (now >= w->kill_at) {
            hook_signal(w->pid, SIGKILL);
            w->kill_at = now + GRACE;
        }
        return w->kill_at;
    }
    if (w->phase == WORK_BUSY) {
        ask = extend_ask(&w->extend, &w->ev->notice, a->extend_max, now, &next);
        if (ask && agent_give(a, &w->ev->notice, HZ_REPLY_EXTEND, (uint64_t)ask) == 0) {
            char text[32];

            format_ns(ask, text, sizeof(text));
            agent_log(a, &w->ev->notice, "extend", "ready in %s at the latest", text);
        }
    }
    return next;
}

int64_t work_look(struct agent *a)
{
    int64_t next = INT64_MAX;
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        if (a->work[i].ev) {
            next = sooner(next, look(a, &a->work[i]));
        }
    }
    return next;
}

/* -- what hz run says ---------------------------------------------------- */

void work_run_joined(struct agent *a, int run)
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        struct work *w = &a->work[i];

        if (!w->ev || w->ev->notice.test ||
            !(a->run[run].kinds & UINT32_C(1) << w->ev->notice.kind)) {
            continue;
        }
        w->proofs &= ~(UINT64_C(1) << run);     /* of whoever had the slot before */
        if (w->phase == WORK_DONE && !w->result && !w->told) {
            w->phase = WORK_BUSY;       /* there was nobody to prove it: now there is */
            w->ran = true;
        }
        if (w->phase == WORK_BUSY) {
            w->waiting |= UINT64_C(1) << run;
        }
    }
}

/* Gone without a proof that was due: its work is not known to be safe. */
void work_run_left(struct agent *a, int run)
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        struct work *w = &a->work[i];

        if (w->ev && w->waiting & UINT64_C(1) << run) {
            agent_log(a, &w->ev->notice, "run", "process %d left without its proof",
                      (int)a->run[run].pid);
            w->waiting &= ~(UINT64_C(1) << run);
            if (w->phase == WORK_BUSY) {
                stop_hooks(w);
                finish(a, w, HZ_REPLY_FAILED, 255);
            }
        }
    }
}

void work_prove(struct agent *a, int run, const struct agent_msg *m)
{
    struct work *w = work_find(a, m->id);

    if (!w || w->phase > WORK_BUSY) {
        return;                 /* answered or over */
    }
    w->waiting &= ~(UINT64_C(1) << run);
    w->proofs |= m->code == HZ_REPLY_PREPARED ? UINT64_C(1) << run : 0;
    agent_log(a, &w->ev->notice, "run", "process %d: %s", (int)a->run[run].pid,
              hz_reply_name(m->code));
    if (m->code == HZ_REPLY_PREPARED) {
        w->proved = true;
        settle(a, w);
    } else {
        stop_hooks(w);
        finish(a, w, HZ_REPLY_FAILED, m->arg);
    }
}

/* A person's word counts like ours. */
void work_replied(struct agent *a, const struct agent_msg *m)
{
    struct work *w = work_find(a, m->id);

    if (w && 1u << m->code & ANSWERS && w->phase < WORK_DONE) {
        w->phase = WORK_DONE;
        w->waiting = 0;
        w->result = m->code == HZ_REPLY_PREPARED ? HZ_REPLY_PREPARED : HZ_REPLY_NONE;
        w->told = w->ev->notice.revision;
    }
}

void work_free(struct agent *a)
{
    int i;

    for (i = 0; i < WORKS_MAX; i++) {
        if (a->work[i].pid) {
            hook_signal(a->work[i].pid, SIGTERM);
        }
        forget(&a->work[i]);
    }
}
