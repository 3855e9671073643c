/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz show, hz watch: the board as it is, and as it changes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "print.h"

static int show_json(const struct model *m)
{
    struct json j = { .f = stdout };
    unsigned i;

    json_begin(&j, NULL, '{');
    json_status(&j, "status", &m->status->status);
    json_begin(&j, "declarations", '[');
    for (i = 0; i < m->declarations; i++) {
        json_declaration(&j, NULL, &m->declaration[i]->declaration);
    }
    json_end(&j, ']');
    json_begin(&j, "notices", '[');
    for (i = 0; i < m->notices; i++) {
        json_notice(&j, NULL, &m->notice[i]->notice);
    }
    json_end(&j, ']');
    json_end(&j, '}');
    return json_line(&j) ? EXIT_OK : EXIT_FAIL;
}

static int show_text(const struct model *m)
{
    const struct hz_ev_status *s = &m->status->status;
    char id[37];
    unsigned i;

    format_uuid(s->generation, id);
    printf("provider %s, disruption %llu, generation %s\n", s->provider ? "listening" : "absent",
           (unsigned long long)s->disruption, id);
    if (m->declarations) {
        printf("\n%-10s %-24s %-14s %s\n", "SUBJECT", "FIELD", "DECLARED", "VERDICT");
    }
    for (i = 0; i < m->declarations; i++) {
        print_declaration(&m->declaration[i]->declaration);
    }
    if (m->notices) {
        printf("\n%-12s %-16s %-10s %-10s %-8s %s\n", "NOTICE", "KIND", "STATE", "DEADLINE",
               "LASTS", "REPLY");
    }
    for (i = 0; i < m->notices; i++) {
        print_notice(&m->notice[i]->notice);
    }
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_FAIL;
}

/* The options both have. -1: go on; else the exit status. */
static int parse(int argc, char **argv, bool *json, const char *help)
{
    const char *value;
    char name[64];
    int i = 1;

    while (option(argc, argv, &i, name, sizeof(name), &value)) {
        if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
            puts(help);
            return EXIT_OK;
        }
        if (strcmp(name, "--json") || value) {
            say("option '%s': there is only --json", name);
            return EXIT_USAGE;
        }
        *json = true;
    }
    if (i < argc) {
        say("'%s': no argument is expected", argv[i]);
        return EXIT_USAGE;
    }
    return -1;
}

static int failed(int r)
{
    say("reading the board: %s", hz_strerror(r));
    return r == -ENODEV ? EXIT_NO_DEVICE : EXIT_FAIL;
}

int cmd_show(int argc, char **argv)
{
    struct model m = { 0 };
    bool json = false;
    struct hz *hz;
    int r, status = parse(argc, argv, &json,
                          "usage: hz show [--json]\n\n"
                          "Declarations with the provider's verdicts, and notices.");

    if (status >= 0) {
        return status;
    }
    hz = open_device(&status);
    if (!hz) {
        return status;
    }
    r = model_read(&m, hz);
    status = r < 0 ? failed(r) : json ? show_json(&m) : show_text(&m);
    model_free(&m);
    hz_close(hz);
    return status;
}

static const struct {
    unsigned bit;
    const char *name, *text;
} changes[] = {
    { HZ_CHANGED_BOARD, "board", "the board from the start" },
    { HZ_CHANGED_DISRUPTION, "disruption", "this VM was moved or restored" },
    { HZ_CHANGED_GENERATION, "generation", "this is a restored or cloned VM" },
    { HZ_CHANGED_REDECLARE, "redeclare", "declarations were emptied: declare again" },
    { HZ_CHANGED_PROVIDER, "provider", "" },
    { HZ_CHANGED_PAUSED, "paused", "" },
};

#define N_CHANGES (sizeof(changes) / sizeof(changes[0]))

static void watch_status_text(const struct hz_ev_status *s)
{
    char pause[32];
    size_t i;

    printf("status     provider %s, disruption %llu\n", s->provider ? "listening" : "absent",
           (unsigned long long)s->disruption);
    for (i = 0; i < N_CHANGES; i++) {
        if (s->changed & changes[i].bit && *changes[i].text) {
            printf("           %s\n", changes[i].text);
        }
    }
    if (s->pause_ns > 0) {
        format_ns(s->pause_ns, pause, sizeof(pause));
        printf("           it stood still for %s\n", pause);
    }
}

static bool watch_text(const struct hz_event *ev)
{
    char id[33];

    switch (ev->type) {
    case HZ_EVENT_STATUS:
        watch_status_text(&ev->status);
        break;
    case HZ_EVENT_DECLARATION:
        if (ev->declaration.gone) {
            printf("%-10s withdrawn\n", ev->declaration.subject);
        } else {
            print_declaration(&ev->declaration);
        }
        break;
    case HZ_EVENT_NOTICE:
        if (ev->notice.gone) {
            format_id(ev->notice.id, id);
            printf("%.12s forgotten\n", id);
        } else {
            print_notice(&ev->notice);
        }
        break;
    }
    return fflush(stdout) == 0;
}

static bool watch_json(const struct hz_event *ev)
{
    struct json j = { .f = stdout };
    size_t i;

    json_begin(&j, NULL, '{');
    switch (ev->type) {
    case HZ_EVENT_STATUS:
        json_string(&j, "event", "status");
        json_begin(&j, "changed", '[');
        for (i = 0; i < N_CHANGES; i++) {
            if (ev->status.changed & changes[i].bit) {
                json_string(&j, NULL, changes[i].name);
            }
        }
        json_end(&j, ']');
        json_status(&j, "status", &ev->status);
        break;
    case HZ_EVENT_DECLARATION:
        json_string(&j, "event", "declaration");
        json_declaration(&j, "declaration", &ev->declaration);
        break;
    case HZ_EVENT_NOTICE:
        json_string(&j, "event", "notice");
        json_notice(&j, "notice", &ev->notice);
        break;
    }
    json_u64(&j, "version", ev->version);
    json_u64(&j, "disruption", ev->disruption);
    json_end(&j, '}');
    return json_line(&j);
}

int cmd_watch(int argc, char **argv)
{
    struct hz_event *ev;
    bool json = false, ok = true;
    struct hz *hz;
    int r = 0, status = parse(argc, argv, &json,
                              "usage: hz watch [--json]\n\n"
                              "The board, then each change as it comes; --json: an object a line.");

    if (status >= 0) {
        return status;
    }
    hz = open_device(&status);
    if (!hz) {
        return status;
    }
    while (ok && r >= 0) {
        r = hz_read(hz, &ev);
        if (r == 1) {
            ok = json ? watch_json(ev) : watch_text(ev);
            hz_event_free(ev);
        } else if (r == 0) {
            r = hz_wait(hz, -1);
        }
        if (r == -EBADMSG || r == -EINTR) {
            r = 0;
        }
    }
    hz_close(hz);
    return ok ? failed(r) : EXIT_FAIL;
}
