/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz model: a copy of the board, as read so far. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "model.h"

/* A fresh handle is told the board at once; this only guards against a driver that isn't. */
#define FIRST_RECORD_MS 5000

static void forget(struct hz_event **list, unsigned *n)
{
    while (*n > 0) {
        hz_event_free(list[--*n]);
    }
}

static bool same(const struct hz_event *a, const struct hz_event *b)
{
    if (a->type == HZ_EVENT_DECLARATION) {
        return !strcmp(a->declaration.subject, b->declaration.subject);
    }
    return !memcmp(a->notice.id, b->notice.id, HZ_ID_LEN);
}

static void replace(struct hz_event **list, unsigned *n, struct hz_event *ev, bool gone)
{
    unsigned i = 0;

    while (i < *n && !same(list[i], ev)) {
        i++;
    }
    if (i < *n) {
        hz_event_free(list[i]);
        list[i] = ev;
    } else if (*n < MODEL_MAX) {
        list[(*n)++] = ev;
    } else {
        hz_event_free(ev);
        return;
    }
    if (gone) {
        hz_event_free(ev);
        memmove(&list[i], &list[i + 1], (*n - i - 1) * sizeof(list[0]));
        --*n;
    }
}

void model_take(struct model *m, struct hz_event *ev)
{
    switch (ev->type) {
    case HZ_EVENT_STATUS:
        if (ev->status.changed & HZ_CHANGED_BOARD) {
            forget(m->declaration, &m->declarations);
            forget(m->notice, &m->notices);
        }
        hz_event_free(m->status);
        m->status = ev;
        break;
    case HZ_EVENT_DECLARATION:
        replace(m->declaration, &m->declarations, ev, ev->declaration.gone);
        break;
    case HZ_EVENT_NOTICE:
        replace(m->notice, &m->notices, ev, ev->notice.gone);
        break;
    }
}

void model_free(struct model *m)
{
    forget(m->declaration, &m->declarations);
    forget(m->notice, &m->notices);
    hz_event_free(m->status);
    m->status = NULL;
}

int model_read(struct model *m, struct hz *hz)
{
    struct hz_event *ev;
    int r;

    for (;;) {
        r = hz_read(hz, &ev);
        if (r == 1) {
            model_take(m, ev);
        } else if (r == 0 && m->status) {
            return 0;
        } else if (r == 0) {
            r = hz_wait(hz, FIRST_RECORD_MS);
            if (r <= 0) {
                return r < 0 ? r : -ETIMEDOUT;
            }
        } else if (r != -EBADMSG) {
            return r;
        }
    }
}

const struct hz_ev_declaration *model_declaration(const struct model *m, const char *subject)
{
    unsigned i;

    for (i = 0; i < m->declarations; i++) {
        if (!strcmp(m->declaration[i]->declaration.subject, subject)) {
            return &m->declaration[i]->declaration;
        }
    }
    return NULL;
}

const struct hz_ev_notice *model_notice(const struct model *m, const char *id)
{
    const struct hz_ev_notice *found = NULL;
    char want[33], have[33];
    size_t n = 0;
    const char *c;
    unsigned i;

    for (c = id; *c; c++) {
        if (*c == '-') {
            continue;
        }
        if (!isxdigit((unsigned char)*c) || n == 32) {
            say("notice '%s': an id is up to 32 hexadecimal digits", id);
            return NULL;
        }
        want[n++] = (char)tolower((unsigned char)*c);
    }
    for (i = 0; i < m->notices; i++) {
        format_id(m->notice[i]->notice.id, have);
        if (n && !strncmp(want, have, n)) {
            if (found) {
                say("notice '%s': several ids start so; give more digits", id);
                return NULL;
            }
            found = &m->notice[i]->notice;
        }
    }
    if (!found) {
        say("notice '%s': there is none; hz show lists them", id);
    }
    return found;
}
