/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz drafts: what a command line or a file wants declared, by subject. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vocabulary.h"
#include "drafts.h"

#define AGAIN INT64_C(1000000000)   /* between two tries to declare anew */

struct hz_draft *drafts_get(struct drafts *s, const char *subject)
{
    struct hz_draft *d;
    int i;

    for (i = 0; i < s->n; i++) {
        if (!strcmp(hz_draft_subject(s->d[i]), subject)) {
            return s->d[i];
        }
    }
    if (s->n == MAX_SUBJECTS) {
        say("subject '%s': a board holds at most %d declarations", subject, MAX_SUBJECTS);
        return NULL;
    }
    d = hz_draft_new(subject);
    if (!d) {
        say("out of memory");
        return NULL;
    }
    if (hz_draft_check(d) < 0) {
        say("%s", hz_draft_error(d));
        hz_draft_free(d);
        return NULL;
    }
    return s->d[s->n++] = d;
}

/* The subject a field is at home in, when nobody named one. */
static const char *home(const char *name)
{
    const struct hz_field *f = hz_field_by_name(name);

    if (!f || f->subjects & HZ_ON_VM) {
        return "vm";            /* not a field: the draft says so */
    }
    if (f->subjects & HZ_ON_NIC) {
        return "nic/0";
    }
    if (f->subjects & HZ_ON_GPU) {
        return "gpu";
    }
    return f->subjects & HZ_ON_CKPT ? "ckpt" : "vm";
}

bool drafts_set(struct drafts *s, const char *subject, const char *name, const char *text)
{
    struct hz_draft *d = drafts_get(s, subject ? subject : home(name));

    if (!d) {
        return false;
    }
    if (hz_draft_set(d, name, text) < 0) {
        say("%s", hz_draft_error(d));
        return false;
    }
    return true;
}

bool drafts_parse(struct drafts *s, const char *text)
{
    char *copy = strdup(text), *at = copy, *item, *colon, *eq;
    const char *subject = NULL;
    bool ok = copy != NULL;

    /* A colon before the first '=' ends a subject's name. */
    colon = copy ? strchr(copy, ':') : NULL;
    if (colon && colon < copy + strcspn(copy, "=")) {
        *colon = '\0';
        subject = copy;
        at = colon + 1;
    }
    while (ok && (item = strsep(&at, ","))) {
        /* A list's own commas: what has no '=' belongs to the value before. */
        while (at && *at && !memchr(at, '=', strcspn(at, ","))) {
            at[-1] = ',';
            strsep(&at, ",");
        }
        eq = strchr(item, '=');
        if (!eq) {
            say("'%s': must be name=value", item);
            ok = false;
            break;
        }
        *eq = '\0';
        ok = drafts_set(s, subject, item, eq + 1);
    }
    free(copy);
    return ok;
}

static char *trim(char *s)
{
    size_t n;

    s += strspn(s, " \t");
    n = strlen(s);
    while (n && strchr(" \t\r\n", s[n - 1])) {
        s[--n] = '\0';
    }
    return s;
}

static bool load_line(struct drafts *s, char *line, char *subject, size_t cap)
{
    char *text = trim(line), *eq, *name;
    size_t n = strlen(text);
    struct hz_draft *d;

    if (!*text || *text == '#') {
        return true;
    }
    if (*text == '[') {
        if (text[n - 1] != ']') {
            say("'%s': a section is [subject]", text);
            return false;
        }
        text[n - 1] = '\0';
        snprintf(subject, cap, "%s", trim(text + 1));
        return drafts_get(s, subject) != NULL;
    }
    eq = strchr(text, '=');
    if (!eq) {
        say("'%s': a line is name = value, [subject] or a # comment", text);
        return false;
    }
    *eq = '\0';
    name = trim(text);
    d = drafts_get(s, *subject ? subject : home(name));
    if (d && hz_draft_unset(d, name) == 0) {
        say("field '%s' of '%s': stands twice", name, hz_draft_subject(d));
        return false;
    }
    return d && drafts_set(s, hz_draft_subject(d), name, trim(eq + 1));
}

bool drafts_load(struct drafts *s, const char *path)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
    char *line = NULL, subject[256] = "";
    size_t cap = 0;
    unsigned number = 0;
    bool ok = true;

    if (!f) {
        say("%s: %s", path, strerror(errno));
        return false;
    }
    while (ok && getline(&line, &cap, f) >= 0) {
        number++;
        ok = load_line(s, line, subject, sizeof(subject));
        if (!ok) {
            say("%s: line %u is wrong; nothing was declared", path, number);
        }
    }
    if (ok && ferror(f)) {
        say("%s: %s", path, strerror(errno));
        ok = false;
    }
    free(line);
    if (f != stdin) {
        fclose(f);
    }
    return ok;
}

bool drafts_check(struct drafts *s)
{
    int i;

    for (i = 0; i < s->n; i++) {
        if (!hz_draft_fields(s->d[i])) {
            say("subject '%s': no field was given", hz_draft_subject(s->d[i]));
            return false;
        }
        if (hz_draft_check(s->d[i]) < 0) {
            say("%s", hz_draft_error(s->d[i]));
            return false;
        }
    }
    return true;
}

void drafts_free(struct drafts *s)
{
    while (s->n > 0) {
        hz_draft_free(s->d[--s->n]);
    }
}

int drafts_declare(struct drafts *s, struct hz *hz, uint64_t replaces, unsigned flags)
{
    int i, r;

    for (i = 0; i < s->n; i++) {
        r = hz_declare(hz, s->d[i], replaces, flags, &s->seq[i]);
        if (r < 0) {
            say("%s", hz_draft_error(s->d[i]));
            return r == -ENODEV ? EXIT_NO_DEVICE : r == -EINVAL ? EXIT_USAGE : EXIT_FAIL;
        }
    }
    return EXIT_OK;
}

void drafts_anew(struct drafts *s)
{
    s->due = hz_now();
}

int64_t drafts_look(struct drafts *s, struct hz *hz)
{
    int i, r = 0;

    if (!s->due || !hz) {
        return INT64_MAX;
    }
    if (hz_now() < s->due) {
        return s->due;
    }
    for (i = 0; i < s->n && r == 0; i++) {
        r = hz_declare(hz, s->d[i], HZ_REPLACE_ANY, 0, &s->seq[i]);
    }
    if (r < 0 && !s->complained) {
        say("%s: tried again until it works", hz_draft_error(s->d[i - 1]));
    }
    s->complained = r < 0;
    s->due = r < 0 ? hz_now() + AGAIN : 0;
    return s->due ? s->due : INT64_MAX;
}

static bool may_declare(const struct hz_field *f)
{
    return f->subjects & ~HZ_ON_NOTICE && f->source != HZ_BY_OPERATOR;
}

bool drafts_is_option(const char *name)
{
    const struct hz_field *f = strncmp(name, "--", 2) ? NULL : hz_field_by_name(name + 2);

    return f && f->subjects & ~HZ_ON_NOTICE;
}

static void help_values(const struct hz_field *f)
{
    char min[64], max[64];
    int i;

    if (f->names) {
        const char *sep = f->type == HZ_TYPE_MASK ? " any of " : " ";

        for (i = 0; f->names[i]; i++) {
            if (*f->names[i]) {
                printf("%s%s", sep, f->names[i]);
                sep = f->type == HZ_TYPE_MASK ? "," : "|";
            }
        }
    } else if (f->type == HZ_TYPE_ID) {
        printf(" 128 bits");
    } else if (f->type <= HZ_TYPE_U64) {
        hz_unit_format(f->unit, f->min, min, sizeof(min));
        hz_unit_format(f->unit, f->max, max, sizeof(max));
        printf(" %s to %s", min, max);
        if (*hz_unit_name(f->unit)) {
            printf(" (%s)", hz_unit_name(f->unit));
        }
    }
}

void drafts_help(void)
{
    size_t n, i;
    const struct hz_field *f = hz_vocabulary(&n);
    const char *subject, *last = "";

    for (i = 0; i < n; i++) {
        if (!may_declare(&f[i]) || f[i].consumer == HZ_CONSUMER_NONE) {
            continue;           /* reserved: nothing acts on it yet */
        }
        subject = home(f[i].name);
        if (strcmp(subject, last)) {
            printf("\nsubject %s:\n", subject);
            last = subject;
        }
        printf("  --%-30s %s\n  %32s", f[i].name, f[i].help, "");
        help_values(&f[i]);
        putchar('\n');
    }
}
