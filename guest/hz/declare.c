/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz declare, hz withdraw: what this VM can live with. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/vocabulary.h"
#include "drafts.h"
#include "model.h"
#include "print.h"

#define WAIT_DEFAULT_NS (10 * INT64_C(1000000000))

struct declare {
    struct drafts drafts;
    const char *subject;        /* named on the command line, for what follows */
    bool dry_run, wait, json, hold, persist, update;
    int64_t timeout_ns;
    struct model model;         /* the board, as this handle was told it */
};

static void usage(void)
{
    fputs("usage: hz declare [OPTIONS] [SUBJECT] --FIELD VALUE … [SUBJECT --FIELD VALUE …]\n"
          "\n"
          "Each subject's declaration is replaced whole. It stays until withdrawn.\n"
          "\n"
          "  -f, --file FILE  name = value lines, [subject] sections; - is standard input;\n"
          "                   what the command line says comes first\n"
          "  --update         change the fields given, keep the others as they stand\n"
          "  --hold           stay in the foreground; withdrawn when this process ends\n"
          "  --persist        stays when this process ends (the default)\n"
          "  --wait           wait for the provider's verdicts; the exit status tells\n"
          "  --timeout TIME   how long --wait waits (10s)\n"
          "  --dry-run        check and show, send nothing\n"
          "  --json           print JSON\n"
          "\n"
          "A field's subject need not be named where the list below has it right.\n", stdout);
    drafts_help();
    fputs("\nExit status: 0 done; 1 it failed; 2 command line or file wrong; with --wait: 3 a field\n"
          "was rejected or is unsupported, 4 no answer in time; 5 no hz device.\n", stdout);
}

static bool parse_time(const char *name, const char *text, int64_t *ns)
{
    uint64_t v;
    int r = hz_unit_parse(HZ_UNIT_NS, text, &v);

    if (r < 0 || v > INT64_MAX) {
        say("%s: '%s' isn't a time such as 30s or 2m", name, text);
        return false;
    }
    *ns = (int64_t)v;
    return true;
}

/* 1 taken, 0 not an option of ours, -1 complained. */
static int flag(struct declare *d, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        { "--dry-run", &d->dry_run }, { "--wait", &d->wait }, { "--json", &d->json },
        { "--hold", &d->hold }, { "--persist", &d->persist }, { "--update", &d->update },
    };
    size_t i;

    for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (!strcmp(name, flags[i].name)) {
            *flags[i].flag = true;
            return 1;
        }
    }
    return 0;
}

static bool unknown_option(const char *name)
{
    const char *near = strncmp(name, "--", 2) ? NULL : hz_field_nearest(name + 2);

    if (near) {
        say("option '%s': there is none; did you mean --%s?", name, near);
    } else {
        say("option '%s': there is none; hz declare --help lists them", name);
    }
    return false;
}

static bool take_option(struct declare *d, int argc, char **argv, int *i, const char *name,
                        const char *value, bool files)
{
    bool is_file = !strcmp(name, "-f") || !strcmp(name, "--file");
    bool is_time = !strcmp(name, "--timeout");

    if (!is_file && !is_time && !drafts_is_option(name)) {
        if (!flag(d, name)) {
            return unknown_option(name);
        }
        if (value) {
            say("%s: takes no value", name);
            return false;
        }
        return true;
    }
    value = option_value(argc, argv, i, name, value);
    if (!value) {
        return false;
    }
    if (is_file) {
        return !files || drafts_load(&d->drafts, value);
    }
    if (is_time) {
        return parse_time(name, value, &d->timeout_ns);
    }
    return files || drafts_set(&d->drafts, d->subject, name + 2, value);
}

/* Files first, so that the command line has the last word. */
static bool parse(struct declare *d, int argc, char **argv, bool files)
{
    const char *value;
    char name[64];
    int i = 1;

    d->subject = NULL;
    while (i < argc) {
        if (option(argc, argv, &i, name, sizeof(name), &value)) {
            if (!take_option(d, argc, argv, &i, name, value, files)) {
                return false;
            }
            continue;
        }
        d->subject = argv[i++];
        if (!files && !drafts_get(&d->drafts, d->subject)) {
            return false;
        }
    }
    return true;
}

static bool consistent(struct declare *d)
{
    if (d->hold && d->persist) {
        say("--hold and --persist contradict each other");
        return false;
    }
    if (d->hold && d->dry_run) {
        say("--hold and --dry-run contradict each other");
        return false;
    }
    if (!d->drafts.n) {
        say("no field was given; hz declare --help lists them");
        return false;
    }
    return drafts_check(&d->drafts);
}

/* What would be declared, with the verdicts this end can tell. */
static int dry_run(struct declare *d)
{
    struct json j = { .f = stdout };
    int i;

    if (d->json) {
        json_begin(&j, NULL, '{');
        json_bool(&j, "dry-run", true);
        json_begin(&j, "declarations", '[');
    }
    for (i = 0; i < d->drafts.n; i++) {
        struct hz_event *ev;

        if (hz_draft_event(d->drafts.d[i], &ev) < 0) {
            say("out of memory");
            return EXIT_FAIL;
        }
        if (d->json) {
            json_declaration(&j, NULL, &ev->declaration);
        } else {
            print_declaration(&ev->declaration);
        }
        hz_event_free(ev);
    }
    if (d->json) {
        json_end(&j, ']');
        json_end(&j, '}');
        json_line(&j);
    }
    return EXIT_OK;
}

/* Keep the standing fields nobody named. */
static int update(struct declare *d, struct hz *hz)
{
    struct drafts *s = &d->drafts;
    int i, r = model_read(&d->model, hz);

    for (i = 0; r == 0 && i < s->n; i++) {
        const struct hz_ev_declaration *old =
            model_declaration(&d->model, hz_draft_subject(s->d[i]));
        uint64_t replaces = old ? old->seq : HZ_REPLACE_NONE;

        if (old) {
            r = hz_draft_merge(s->d[i], old);
        }
        if (r == 0) {
            r = hz_declare(hz, s->d[i], replaces, d->hold ? 0 : HZ_PERSIST, &s->seq[i]);
        }
        if (r < 0) {
            say("%s", hz_draft_error(s->d[i]));
        }
    }
    if (r < 0 && i == 0) {
        say("reading the board: %s", hz_strerror(r));
    }
    return r == 0 ? EXIT_OK : r == -ENODEV ? EXIT_NO_DEVICE : EXIT_FAIL;
}

/* Have all of ours their verdicts? Somebody else's newer declaration counts as an answer. */
static bool all_judged(const struct declare *d, const struct model *m)
{
    int i;

    for (i = 0; i < d->drafts.n; i++) {
        const struct hz_ev_declaration *e =
            model_declaration(m, hz_draft_subject(d->drafts.d[i]));

        if (e && e->seq <= d->drafts.seq[i] && !e->judged) {
            return false;
        }
    }
    return true;
}

static int wait_verdicts(struct declare *d, struct hz *hz)
{
    struct model *m = &d->model;
    int64_t end = hz_now() + d->timeout_ns;
    int r = model_read(m, hz);

    while (r == 0 && d->wait && !all_judged(d, m)) {
        int64_t left = end - hz_now();

        if (left <= 0) {
            char time[32];

            format_ns(d->timeout_ns, time, sizeof(time));
            say("no verdict within %s%s", time,
                m->status->status.provider ? "" : ": no provider is listening");
            return EXIT_NO_VERDICT;
        }
        r = hz_wait(hz, left > 1000000000000 ? 1000000 : (int)(left / 1000000) + 1);
        if (r >= 0) {
            r = model_read(m, hz);
        }
    }
    if (r < 0) {
        say("reading the board: %s", hz_strerror(r));
        return r == -ENODEV ? EXIT_NO_DEVICE : EXIT_FAIL;
    }
    return EXIT_OK;
}

static bool refused(const struct hz_ev_declaration *e)
{
    unsigned i;

    for (i = 0; i < e->n; i++) {
        if (e->field[i].verdict == HZ_REJECTED || e->field[i].verdict == HZ_UNSUPPORTED) {
            return true;
        }
    }
    return false;
}

static int report(struct declare *d, struct hz *hz)
{
    struct json j = { .f = stdout };
    int i, status = wait_verdicts(d, hz);

    if (d->json) {
        json_begin(&j, NULL, '{');
        json_begin(&j, "declarations", '[');
    }
    for (i = 0; i < d->drafts.n; i++) {
        const struct hz_ev_declaration *e =
            model_declaration(&d->model, hz_draft_subject(d->drafts.d[i]));

        if (!e) {
            continue;           /* withdrawn by another hand meanwhile */
        }
        if (d->json) {
            json_declaration(&j, NULL, e);
        } else {
            print_declaration(e);
        }
        if (d->wait && status == EXIT_OK && refused(e)) {
            status = EXIT_VERDICT;
        }
    }
    if (d->json) {
        json_end(&j, ']');
        json_end(&j, '}');
        json_line(&j);
    }
    return status;
}

/* What has come; false when the device is gone. */
static bool hold_read(struct declare *d, struct hz *hz)
{
    struct hz_event *ev;
    int r;

    while ((r = hz_read(hz, &ev)) != 0) {
        if (r == -EBADMSG) {
            continue;
        }
        if (r < 0) {
            say("%s: waiting for it", hz_strerror(r));
            return false;
        }
        if (ev->type == HZ_EVENT_STATUS &&
            ev->status.changed & (HZ_CHANGED_REDECLARE | HZ_CHANGED_GENERATION)) {
            drafts_anew(&d->drafts);
        }
        hz_event_free(ev);
    }
    return true;
}

/* Until somebody ends us: the declarations are this open file's. */
static void hold(struct declare *d, struct hz *hz)
{
    fflush(stdout);
    for (;;) {
        if (!hz && hz_open(&hz, NULL) == 0) {
            say("the device is back");
            drafts_anew(&d->drafts);
        }
        if (hz && !hold_read(d, hz)) {
            hz_close(hz);
            hz = NULL;
            continue;
        }
        if (!hz) {
            sleep(1);
        } else {
            hz_wait(hz, drafts_look(&d->drafts, hz) == INT64_MAX ? -1 : 1000);
        }
    }
}

static int declare(struct declare *d)
{
    unsigned flags = d->hold ? 0 : HZ_PERSIST;
    struct hz *hz;
    int status;

    if (d->dry_run) {
        return dry_run(d);
    }
    hz = open_device(&status);
    if (!hz) {
        return status;
    }
    status = d->update ? update(d, hz) : drafts_declare(&d->drafts, hz, HZ_REPLACE_ANY, flags);
    if (status == EXIT_OK) {
        status = report(d, hz);
        if (d->hold && status != EXIT_NO_DEVICE && status != EXIT_FAIL) {
            hold(d, hz);        /* doesn't return */
        }
    }
    hz_close(hz);
    return status;
}

static bool asks_help(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            return true;
        }
    }
    return false;
}

int cmd_declare(int argc, char **argv)
{
    struct declare d = { .timeout_ns = WAIT_DEFAULT_NS };
    int status = EXIT_USAGE;

    if (asks_help(argc, argv)) {
        usage();
        return EXIT_OK;
    }
    if (parse(&d, argc, argv, true) && parse(&d, argc, argv, false) && consistent(&d)) {
        status = declare(&d);
    }
    model_free(&d.model);
    drafts_free(&d.drafts);
    return status;
}

static int withdraw(int n, char **subjects, bool json)
{
    struct json j = { .f = stdout };
    int i, r, status;
    struct hz *hz = open_device(&status);

    if (!hz) {
        return status;
    }
    status = EXIT_OK;
    if (json) {
        json_begin(&j, NULL, '{');
        json_begin(&j, "withdrawn", '[');
    }
    for (i = 0; i < n; i++) {
        r = hz_withdraw(hz, subjects[i], HZ_REPLACE_ANY);
        if (r < 0) {
            say("%s: %s", subjects[i],
                r == -ENOENT ? "no declaration stands there" : hz_strerror(r));
            status = r == -ENODEV ? EXIT_NO_DEVICE : r == -EINVAL ? EXIT_USAGE : EXIT_FAIL;
        } else if (json) {
            json_string(&j, NULL, subjects[i]);
        }
    }
    if (json) {
        json_end(&j, ']');
        json_end(&j, '}');
        json_line(&j);
    }
    hz_close(hz);
    return status;
}

int cmd_withdraw(int argc, char **argv)
{
    bool json = take_json(&argc, argv);
    int i;

    if (asks_help(argc, argv)) {
        puts("usage: hz withdraw [--json] SUBJECT …\n\n"
             "Takes the whole declaration of each subject back.");
        return EXIT_OK;
    }
    if (argc == 1) {
        say("which subject? hz show lists what stands");
        return EXIT_USAGE;
    }
    for (i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            say("option '%s': there is only --json", argv[i]);
            return EXIT_USAGE;
        }
    }
    return withdraw(argc - 1, argv + 1, json);
}
