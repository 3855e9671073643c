/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz run's rules: what a notice of a kind does to the program, and what proves it is ready. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/vocabulary.h"
#include "run-on.h"

static int signal_by_name(const char *name)
{
    int sig;

    if (!strncasecmp(name, "SIG", 3)) {
        name += 3;
    }
    for (sig = 1; sig < NSIG; sig++) {
        const char *abbrev = sigabbrev_np(sig);

        if (abbrev && !strcasecmp(abbrev, name)) {
            return sig;
        }
    }
    return 0;
}

static bool parse_kind(const char *name, uint16_t *kind)
{
    const struct hz_kind *kinds;
    const char *words[32] = { NULL };
    const char *near;
    size_t i, n;
    int k = hz_kind_by_name(name);

    if (k > 0) {
        *kind = (uint16_t)k;
        return true;
    }
    kinds = hz_kinds(&n);
    for (i = 0; i < n && i < 31; i++) {
        words[i] = kinds[i].name;
    }
    near = hz_nearest(name, words);
    if (near) {
        say("kind '%s': there is none; did you mean '%s'?", name, near);
    } else {
        say("kind '%s': there is none; such as pause, reclaim, terminate, reboot, move", name);
    }
    return false;
}

static struct on *find(struct rules *r, uint16_t kind)
{
    unsigned i;

    for (i = 0; i < r->n; i++) {
        if (r->on[i].kind == kind) {
            return &r->on[i];
        }
    }
    return NULL;
}

static bool parse_lead(struct on *on, char *action)
{
    char *at = strrchr(action, '@');
    uint64_t ns;

    on->lead_ns = -1;
    if (!at) {
        return true;
    }
    if (hz_unit_parse(HZ_UNIT_NS, at + 1, &ns) < 0 || ns > INT64_MAX) {
        /* A command's own '@' is no time. */
        if (on->what == ON_EXEC) {
            return true;
        }
        say("'%s': '%s' isn't a time such as 90s", action, at + 1);
        return false;
    }
    on->lead_ns = (int64_t)ns;
    *at = '\0';
    return true;
}

static bool parse_action(struct on *on, char *action)
{
    on->what = !strncmp(action, "exec:", 5) ? ON_EXEC : ON_SIGNAL;
    if (!parse_lead(on, action)) {
        return false;
    }
    if (on->what == ON_EXEC) {
        on->command = strdup(action + 5);
        if (!action[5]) {
            say("'exec:': a command must follow");
        }
        return on->command && *on->command;
    }
    if (!strcmp(action, "ok")) {
        on->what = ON_OK;
        return true;
    }
    on->sig = signal_by_name(action);
    if (!on->sig) {
        say("action '%s': must be a signal such as TERM, USR1 or STOP, exec:COMMAND, or ok",
            action);
        return false;
    }
    if (on->sig == SIGCONT) {
        say("action 'CONT': comes by itself after STOP, when the notice is over");
        return false;
    }
    return true;
}

static bool one_on(struct rules *r, char *item)
{
    char *eq = strchr(item, '=');
    uint16_t kind;
    struct on *on;

    if (!eq) {
        say("--on '%s': must be KIND=ACTION, such as reclaim=TERM@90s", item);
        return false;
    }
    *eq = '\0';
    if (!parse_kind(item, &kind)) {
        return false;
    }
    if (find(r, kind)) {
        say("--on %s: given twice", item);
        return false;
    }
    if (r->n == ON_MAX) {
        say("--on %s: at most %d kinds", item, ON_MAX);
        return false;
    }
    on = &r->on[r->n];
    on->kind = kind;
    if (!parse_action(on, eq + 1)) {
        free(on->command);
        memset(on, 0, sizeof(*on));
        return false;
    }
    r->n++;
    return true;
}

/* Does "KIND=" stand here? In a command only a true kind's name does: other commas are its own. */
static bool begins_item(const char *s, bool command)
{
    size_t n = strcspn(s, "=");
    char name[32];

    if (s[n] != '=' || n == 0 || n >= sizeof(name)) {
        return false;
    }
    memcpy(name, s, n);
    name[n] = '\0';
    return command ? hz_kind_by_name(name) > 0
                   : strspn(name, "abcdefghijklmnopqrstuvwxyz-") == n;
}

bool rules_on(struct rules *r, const char *text)
{
    char *copy = strdup(text), *item = copy, *comma;
    bool ok = copy != NULL;

    while (ok && item) {
        bool command = strstr(item, "=exec:") == strchr(item, '=') && strchr(item, '=');

        comma = strchr(item, ',');
        while (comma && !begins_item(comma + 1, command)) {
            comma = strchr(comma + 1, ',');
        }
        if (comma) {
            *comma++ = '\0';
        }
        ok = one_on(r, item);
        item = comma;
    }
    free(copy);
    return ok;
}

bool rules_prepared_when(struct rules *r, const char *text)
{
    const char *colon = strchr(text, ':'), *eq = strchr(text, '=');
    const char *rule = text;
    struct on *on = NULL;
    uint16_t kind;
    char *name;
    bool ok;

    if (colon && (!eq || colon < eq)) {
        name = strndup(text, (size_t)(colon - text));
        ok = name && parse_kind(name, &kind);
        free(name);
        if (!ok) {
            return false;
        }
        on = find(r, kind);
        if (!on) {
            say("--prepared-when '%s': no --on for that kind stands before it", text);
            return false;
        }
        on->proof_named = true;
        rule = colon + 1;
    }
    if (strcmp(rule, "exit") && (strncmp(rule, "file=", 5) || !rule[5])) {
        say("--prepared-when '%s': must be exit or file=PATH", rule);
        return false;
    }
    name = strcmp(rule, "exit") ? strdup(rule + 5) : NULL;
    free(on ? on->file : r->file);
    *(on ? &on->file : &r->file) = name;
    return true;
}

bool rules_finish(struct rules *r)
{
    unsigned i;

    for (i = 0; i < r->n; i++) {
        struct on *on = &r->on[i];

        if (on->proof_named && (on->what != ON_SIGNAL || on->sig == SIGSTOP)) {
            say("--prepared-when %s: its action proves itself: %s", hz_kind_name(on->kind),
                on->what == ON_EXEC ? "the command's exit" :
                on->what == ON_OK ? "nothing is done" : "the program has stopped");
            return false;
        }
        if (!on->proof_named && r->file) {
            on->file = strdup(r->file);
            if (!on->file) {
                say("out of memory");
                return false;
            }
        }
    }
    return true;
}

const struct on *rules_find(const struct rules *r, uint16_t kind)
{
    unsigned i;

    for (i = 0; i < r->n; i++) {
        if (r->on[i].kind == kind) {
            return &r->on[i];
        }
    }
    return NULL;
}

uint32_t rules_kinds(const struct rules *r)
{
    uint32_t mask = 0;
    unsigned i;

    for (i = 0; i < r->n; i++) {
        mask |= UINT32_C(1) << r->on[i].kind;
    }
    return mask;
}

void rules_free(struct rules *r)
{
    unsigned i;

    for (i = 0; i < r->n; i++) {
        free(r->on[i].command);
        free(r->on[i].file);
    }
    free(r->file);
}
