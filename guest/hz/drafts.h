/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz drafts: what a command line or a file wants declared, by subject. */
#ifndef HZ_DRAFTS_H
#define HZ_DRAFTS_H

#include "hz.h"

#define MAX_SUBJECTS 16

struct drafts {
    int n;
    struct hz_draft *d[MAX_SUBJECTS];
    uint64_t seq[MAX_SUBJECTS];         /* after drafts_declare() */
    int64_t due;                        /* when to declare again, 0: not */
    bool complained;
};

/* All of these complain themselves; false: the command line or file is wrong. */

/* Field @name of @subject, NULL: the subject such a field is at home in. */
bool drafts_set(struct drafts *s, const char *subject, const char *name, const char *text);
/* The draft of @subject, made if there is none. */
struct hz_draft *drafts_get(struct drafts *s, const char *subject);
/* "[SUBJECT:]name=value[,name=value…]" */
bool drafts_parse(struct drafts *s, const char *text);
/* `name = value` lines, [subject] sections, # comments; "-" is standard input. */
bool drafts_load(struct drafts *s, const char *path);
/* Is @name the option of a field ("--net-min")? */
bool drafts_is_option(const char *name);
bool drafts_check(struct drafts *s);
void drafts_free(struct drafts *s);

/* Declare all. 0 or the exit status, after complaining. */
int drafts_declare(struct drafts *s, struct hz *hz, uint64_t replaces, unsigned flags);

/*
 * They have been emptied, by a reset or because the device came back:
 * drafts_anew() wants them again, drafts_look() declares them when they are
 * due. What fails is tried again in a second, and told once. When to look
 * again, INT64_MAX: needn't.
 */
void drafts_anew(struct drafts *s);
int64_t drafts_look(struct drafts *s, struct hz *hz);

/* The fields one may declare, with units and bounds, on standard output. */
void drafts_help(void);

#endif /* HZ_DRAFTS_H */
