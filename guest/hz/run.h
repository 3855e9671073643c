/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz run, inside: one program, its declarations, and what notices do to it.
 *
 * run.c has the command line and the loop; run-action.c takes one notice from
 * its arrival to its proof; run-answer.c brings the proof to the provider,
 * through the agent where one runs and by itself where none does.
 */
#ifndef HZ_RUN_H
#define HZ_RUN_H

#include <sys/stat.h>
#include <sys/types.h>

#include "drafts.h"
#include "extend.h"
#include "run-on.h"

#define ACTIONS_MAX 64

/* A notice that concerns the program. */
struct action {
    struct hz_event *ev;        /* as last told */
    int64_t deadline;           /* the last one known: a migration makes it unknown for a moment */
    const struct on *on;        /* NULL: only seen */
    bool stale;                 /* not told again yet since the board began anew */
    bool acted;
    bool stopped;               /* by our SIGSTOP: to be continued */
    pid_t hook;                 /* running */
    int64_t hook_kill;          /* when it is killed for good, 0: never */
    struct stat before;         /* the proof file, when the program was told */
    bool was_there;
    uint16_t result;            /* HZ_REPLY_PREPARED or FAILED, once known */
    uint64_t code;
    uint32_t told;              /* revision the result was brought for */
    struct extend extend;
};

struct runner {
    struct hz *hz;              /* NULL: gone for now */
    struct drafts drafts;
    struct rules rules;
    bool group, if_available;

    int agent;                  /* -1: none */
    bool welcomed;
    bool direct;                /* we are the responder ourselves */
    int64_t lost;               /* since when there is neither … */
    int64_t patience;           /* … and for how long an agent is given time to come back */

    pid_t guard, child;         /* 0: it has ended */
    int report;                 /* the guard's, of its stops */
    int status;                 /* its exit status, then */
    int sent;                   /* the last signal an action sent it */
    int signals, inotify;       /* descriptors */

    int64_t sweep_at;           /* when what a new board hasn't told is gone; 0: no new board */
    int64_t extend_max;         /* ns beyond the first deadline */
    unsigned actions;
    struct action action[ACTIONS_MAX];
};

/* run-action.c: all return the point in time when they want to be called again, INT64_MAX: none. */
void run_notice(struct runner *r, struct hz_event *ev);
void run_all_stale(struct runner *r);
int64_t run_actions(struct runner *r);
void run_hook_ended(struct runner *r, pid_t pid, int status);
void run_program_stopped(struct runner *r);
void run_program_ended(struct runner *r);
bool run_hooks_left(const struct runner *r);
void run_signal(struct runner *r, int sig);
void run_actions_free(struct runner *r);

/* run-answer.c */
/* Find who answers. 0, or a negative errno after complaining. */
int answer_begin(struct runner *r);
/* Once in a while: the agent came, went, or came back. */
int64_t answer_look(struct runner *r);
void answer_agent_readable(struct runner *r);
void answer_seen(struct runner *r, const struct action *a);
void answer_result(struct runner *r, struct action *a);
void answer_extend(struct runner *r, const struct action *a, int64_t ns);
void answer_flush(struct runner *r);
void answer_end(struct runner *r);

#endif /* HZ_RUN_H */
