/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz agent, inside: the one who answers notices for this guest.
 *
 * agent.c has the command line, the device and the loop; agent-work.c gets
 * one notice ready: hooks in order, and every hz run's proof; agent-runs.c
 * speaks with hz run and hz reply; agent-state.c remembers across restarts.
 *
 * What is promised to the provider: SEEN when a notice was read; PREPARED
 * only when every hook has exited with 0 and every registered run has proved
 * itself, and only if there was at least one; FAILED with the first failure's
 * code; one run of the hooks for a notice, however often it is told.
 */
#ifndef HZ_AGENT_H
#define HZ_AGENT_H

#include <sys/types.h>

#include "agent-proto.h"
#include "drafts.h"
#include "extend.h"
#include "model.h"

#define WORKS_MAX 64
#define RUNS_MAX 64

enum work_phase {
    WORK_NEW,                   /* nothing was done yet, beyond advice */
    WORK_BUSY,                  /* hooks run, or runs owe their proof */
    WORK_DONE,                  /* ->result is known, or there was nothing to do */
    WORK_OVER,                  /* it is closed; its .end hooks may run */
};

struct work {
    struct hz_event *ev;        /* as last told; NULL: free */
    bool stale;                 /* not told again yet since the board began anew */
    bool dropped;               /* the board has forgotten it: so do we, after its hooks */
    enum work_phase phase;
    bool ran;                   /* main hooks were started: .end hooks are due */
    bool advised;               /* .advised hooks were started */
    char **hooks;               /* being run in order */
    unsigned hook;              /* the one that runs now */
    pid_t pid;                  /* its */
    int64_t started;            /* when */
    int64_t kill_at;            /* it was asked to end: 0 not */
    uint64_t waiting;           /* bit i: run i owes its proof */
    uint64_t proofs;            /* bit i: run i has given it */
    bool proved;                /* something has proved itself */
    uint16_t result;
    uint64_t code;
    uint32_t told;              /* revision the result was given for */
    struct extend extend;
};

struct run_slot {
    int fd;                     /* -1: free */
    bool hello;
    uint32_t kinds;
    pid_t pid;
};

struct agent {
    const char *hooks_dir, *state_file;
    bool json;
    struct drafts drafts;
    struct hz *hz;              /* NULL: gone for now */
    bool claimed, said_busy, ready;
    struct model model;         /* status and declarations */
    int64_t extend_max;
    int signals, listener;
    bool stop;
    struct work work[WORKS_MAX];
    struct run_slot run[RUNS_MAX];
    struct agent_state *state;
    int64_t sweep_at;           /* when what a new board hasn't told is gone; 0: no new board */
    int64_t runs_due;           /* until then runs of the agent before us may come back; 0: over */
};

/* agent.c */
/* One line for the log, or one JSON object. @n is NULL for what is about no notice. */
void agent_log(struct agent *a, const struct hz_ev_notice *n, const char *event,
               const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A reply; a refusal is logged unless it only means that the notice has moved on. */
int agent_give(struct agent *a, const struct hz_ev_notice *n, enum hz_reply_code code,
               uint64_t arg);

/* agent-work.c */
void work_notice(struct agent *a, struct hz_event *ev);
void work_all_stale(struct agent *a);
void work_sweep(struct agent *a);
void work_child(struct agent *a, pid_t pid, int status);
/* Runs that were expected have come, or won't. */
void work_settle_all(struct agent *a);
/* What time has brought; the next point in time to look. */
int64_t work_look(struct agent *a);
struct work *work_find(struct agent *a, const uint8_t id[HZ_ID_LEN]);
void work_run_joined(struct agent *a, int run);
void work_run_left(struct agent *a, int run);
void work_prove(struct agent *a, int run, const struct agent_msg *m);
void work_replied(struct agent *a, const struct agent_msg *m);
void work_free(struct agent *a);

/* agent-runs.c */
int runs_listen(struct agent *a);
void runs_accept(struct agent *a);
void runs_readable(struct agent *a, int run);
bool runs_known(const struct agent *a, pid_t pid);
void runs_close(struct agent *a);

/* agent-state.c: what a restart must not forget */
struct agent_state *state_load(const char *path);
void state_free(struct agent_state *s);
/* The result a notice got from an agent before us; true with HZ_REPLY_NONE: it has none. */
bool state_find(const struct agent_state *s, const struct hz_ev_notice *n,
                uint16_t *result, uint64_t *code);
void state_done(struct agent_state *s, const struct hz_ev_notice *n,
                uint16_t result, uint64_t code);
void state_forget(struct agent_state *s, const uint8_t id[HZ_ID_LEN]);
void state_run(struct agent_state *s, pid_t pid, bool here);
/* Registered with the agent before us, alive, and not here yet? */
bool state_runs_missing(const struct agent_state *s, const struct agent *a);

#endif /* HZ_AGENT_H */
