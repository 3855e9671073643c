/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz run's rules: what a notice of a kind does to the program, and what proves it is ready. */
#ifndef HZ_RUN_ON_H
#define HZ_RUN_ON_H

#include "hz.h"

enum on_what {
    ON_SIGNAL,
    ON_EXEC,                    /* a shell command; ready when it exits 0 */
    ON_OK,                      /* nothing to do: ready at once */
};

struct on {
    uint16_t kind;              /* 0: end of the list */
    enum on_what what;
    int sig;
    char *command;
    int64_t lead_ns;            /* act when so little remains to the deadline; -1: at once */
    bool proof_named;
    char *file;                 /* ready when it appears; NULL: when the program exits */
};

#define ON_MAX 16

struct rules {
    unsigned n;
    struct on on[ON_MAX];
    char *file;                 /* --prepared-when without a kind */
};

/* "KIND=ACTION[@TIME][,KIND=…]"; complains itself. */
bool rules_on(struct rules *r, const char *text);
/* "[KIND:]exit|file=PATH" */
bool rules_prepared_when(struct rules *r, const char *text);
/* After the whole command line: everything named fits together. */
bool rules_finish(struct rules *r);
const struct on *rules_find(const struct rules *r, uint16_t kind);
uint32_t rules_kinds(const struct rules *r);
void rules_free(struct rules *r);

#endif /* HZ_RUN_ON_H */
