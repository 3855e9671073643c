/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz agent's memory across restarts: which notices were got ready and how it
 * went, and which hz runs were registered. A small text file under /run,
 * replaced as a whole: gone at a reboot, as what it speaks of is.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

#define DONE_MAX 64

struct done {
    char id[33];
    uint32_t revision;
    unsigned result;
    uint64_t code;
};

struct agent_state {
    char path[4096];
    bool quiet;                 /* that it can't be written was said */
    unsigned n;
    struct done done[DONE_MAX]; /* oldest first */
    pid_t run[RUNS_MAX];
    unsigned long long start[RUNS_MAX];         /* field 22 of its stat: pids come again */
};

/* When a process started, 0: there is none. */
static unsigned long long start_time(pid_t pid)
{
    char path[64], line[1024], *p;
    unsigned long long t = 0;
    FILE *f;
    int i;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (!f) {
        return 0;
    }
    if (fgets(line, sizeof(line), f) && (p = strrchr(line, ')'))) {
        for (i = 2; p && i < 22; i++) {
            p = strchr(p + 1, ' ');
        }
        t = p ? strtoull(p, NULL, 10) : 0;
    }
    fclose(f);
    return t;
}

static void load_line(struct agent_state *s, const char *line)
{
    unsigned long long start, code;
    struct done d;
    unsigned i;
    int pid;

    if (sscanf(line, "notice %32[0-9a-f] %u %u %llu", d.id, &d.revision, &d.result, &code) == 4 &&
        strlen(d.id) == 32 && d.result <= HZ_REPLY_FAILED && s->n < DONE_MAX) {
        d.code = code;
        s->done[s->n++] = d;
    } else if (sscanf(line, "run %d %llu", &pid, &start) == 2 && pid > 0) {
        for (i = 0; i < RUNS_MAX && s->run[i]; i++) {
            ;
        }
        if (i < RUNS_MAX) {
            s->run[i] = pid;
            s->start[i] = start;
        }
    }
}

struct agent_state *state_load(const char *path)
{
    struct agent_state *s = calloc(1, sizeof(*s));
    char line[256];
    FILE *f;

    if (!s) {
        return NULL;
    }
    snprintf(s->path, sizeof(s->path), "%s", path);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        load_line(s, line);
    }
    if (f) {
        fclose(f);
    } else if (errno != ENOENT) {
        say("%s: %s", path, strerror(errno));
    }
    return s;
}

void state_free(struct agent_state *s)
{
    free(s);
}

static void save(struct agent_state *s)
{
    char tmp[4200];
    bool ok;
    unsigned i;
    FILE *f;

    snprintf(tmp, sizeof(tmp), "%s.new", s->path);
    f = fopen(tmp, "we");
    ok = f != NULL;
    for (i = 0; f && i < s->n; i++) {
        const struct done *d = &s->done[i];

        fprintf(f, "notice %s %u %u %llu\n", d->id, d->revision, d->result,
                (unsigned long long)d->code);
    }
    for (i = 0; f && i < RUNS_MAX; i++) {
        if (s->run[i]) {
            fprintf(f, "run %d %llu\n", (int)s->run[i], s->start[i]);
        }
    }
    ok = f && fclose(f) == 0 && rename(tmp, s->path) == 0;
    if (!ok && !s->quiet) {
        say("%s: %s; a restart of the agent may run hooks again", s->path, strerror(errno));
        s->quiet = true;
    }
}

static struct done *find(const struct agent_state *s, const uint8_t id[HZ_ID_LEN])
{
    char text[33];
    unsigned i;

    format_id(id, text);
    for (i = 0; i < s->n; i++) {
        if (!strcmp(s->done[i].id, text)) {
            return (struct done *)&s->done[i];
        }
    }
    return NULL;
}

bool state_find(const struct agent_state *s, const struct hz_ev_notice *n,
                uint16_t *result, uint64_t *code)
{
    const struct done *d = find(s, n->id);

    if (!d) {
        return false;
    }
    *result = (uint16_t)d->result;
    *code = d->code;
    return true;
}

static void drop(struct agent_state *s, struct done *d)
{
    size_t at = (size_t)(d - s->done);

    memmove(d, d + 1, (s->n - at - 1) * sizeof(*d));
    s->n--;
}

void state_done(struct agent_state *s, const struct hz_ev_notice *n,
                uint16_t result, uint64_t code)
{
    struct done *d = find(s, n->id);

    if (d) {
        drop(s, d);
    } else if (s->n == DONE_MAX) {
        drop(s, &s->done[0]);
    }
    d = &s->done[s->n++];
    format_id(n->id, d->id);
    d->revision = n->revision;
    d->result = result;
    d->code = code;
    save(s);
}

void state_forget(struct agent_state *s, const uint8_t id[HZ_ID_LEN])
{
    struct done *d = find(s, id);

    if (d) {
        drop(s, d);
        save(s);
    }
}

void state_run(struct agent_state *s, pid_t pid, bool here)
{
    unsigned i, spare = RUNS_MAX;

    for (i = 0; i < RUNS_MAX; i++) {
        if (s->run[i] == pid) {
            break;
        }
        if (!s->run[i] && spare == RUNS_MAX) {
            spare = i;
        }
    }
    if (i == RUNS_MAX) {
        i = spare;
    }
    if (i == RUNS_MAX) {
        return;
    }
    s->run[i] = here ? pid : 0;
    s->start[i] = here ? start_time(pid) : 0;
    save(s);
}

bool state_runs_missing(const struct agent_state *s, const struct agent *a)
{
    unsigned i;

    for (i = 0; i < RUNS_MAX; i++) {
        if (s->run[i] && !runs_known(a, s->run[i]) && s->start[i] &&
            start_time(s->run[i]) == s->start[i]) {
            return true;
        }
    }
    return false;
}
