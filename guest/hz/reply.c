/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz reply: answer a notice by hand, through the agent where one runs. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent-proto.h"
#include "core/units.h"
#include "model.h"
#include "print.h"

/* The agent answers at once; this only guards against one that is stopped. */
#define AGENT_WAIT_MS 10000

struct answer {
    const char *id;
    enum hz_reply_code code;
    uint64_t arg;
    bool json;
};

static const char help[] =
    "usage: hz reply [--json] ID REPLY\n"
    "\n"
    "ID is a notice's, as hz show lists it; its first digits are enough. REPLY is one of\n"
    "  seen           it was read\n"
    "  prepared       ready: it may start now\n"
    "  extend TIME    ready in TIME, not before (30s)\n"
    "  defer TIME     please not before TIME from now\n"
    "  accept         agreed\n"
    "  decline        not agreed\n"
    "  failed CODE    getting ready failed; CODE is your own number";

static int need(const char *reply, const char *what)
{
    say("%s: a %s must follow", reply, what);
    return EXIT_USAGE;
}

static int parse_arg(struct answer *a, const char *reply, const char *text)
{
    bool time = a->code == HZ_REPLY_EXTEND || a->code == HZ_REPLY_DEFER;

    if (!time && a->code != HZ_REPLY_FAILED) {
        if (text) {
            say("%s: takes nothing after it, got '%s'", reply, text);
            return EXIT_USAGE;
        }
        return EXIT_OK;
    }
    if (!text) {
        return need(reply, time ? "time" : "code");
    }
    if (hz_unit_parse(time ? HZ_UNIT_NS : HZ_UNIT_NONE, text, &a->arg) < 0) {
        say("%s: '%s' isn't a %s", reply, text, time ? "time such as 30s" : "number");
        return EXIT_USAGE;
    }
    if (time && !a->arg) {
        say("%s: '%s' is no time at all", reply, text);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

static int parse(struct answer *a, int argc, char **argv)
{
    int code;

    a->json = take_json(&argc, argv);
    if (argc > 1 && argv[1][0] == '-') {
        say("option '%s': there is only --json", argv[1]);
        return EXIT_USAGE;
    }
    if (argc < 3 || argc > 4) {
        say("usage: hz reply [--json] ID REPLY [ARGUMENT]; --help tells more");
        return EXIT_USAGE;
    }
    a->id = argv[1];
    code = hz_reply_by_name(argv[2]);
    if (code <= HZ_REPLY_NONE || code == HZ_REPLY_COUNTER) {
        say("'%s': a reply is seen, prepared, extend, defer, accept, decline or failed",
            argv[2]);
        return EXIT_USAGE;
    }
    a->code = (enum hz_reply_code)code;
    return parse_arg(a, argv[2], argc > 3 ? argv[3] : NULL);
}

/* 0 or a negative errno from the agent. */
static int by_agent(int fd, const struct answer *a, const struct hz_ev_notice *n)
{
    struct agent_msg m = { .type = AGENT_REPLY, .code = (uint16_t)a->code, .arg = a->arg,
                           .revision = n->revision };
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int r;

    memcpy(m.id, n->id, HZ_ID_LEN);
    memcpy(m.generation, n->generation, HZ_ID_LEN);
    r = agent_send(fd, &m);
    if (r < 0) {
        return r;
    }
    if (poll(&p, 1, AGENT_WAIT_MS) <= 0) {
        return -ETIMEDOUT;
    }
    r = agent_receive(fd, &m);
    if (r <= 0) {
        return r < 0 ? r : -EPIPE;
    }
    return m.type == AGENT_RESULT ? m.result : -EPROTO;
}

static int send_reply(struct hz *hz, const struct answer *a, const struct hz_ev_notice *n)
{
    int r, fd = agent_connect();

    if (fd >= 0) {
        r = by_agent(fd, a, n);
        close(fd);
        return r;
    }
    r = hz_claim(hz);
    return r < 0 ? r : hz_reply(hz, n, a->code, a->arg);
}

static int report(const struct answer *a, const struct hz_ev_notice *n, int r)
{
    struct json j = { .f = stdout };
    char id[33];

    format_id(n->id, id);
    if (r < 0) {
        say("notice %s: %s", id,
            r == -EBUSY ? "another program answers notices here, and it isn't an hz agent"
                        : hz_strerror(r));
    }
    if (a->json) {
        json_begin(&j, NULL, '{');
        json_string(&j, "id", id);
        json_u64(&j, "revision", n->revision);
        json_string(&j, "reply", hz_reply_name((uint16_t)a->code));
        json_u64(&j, "arg", a->arg);
        json_bool(&j, "taken", r == 0);
        json_end(&j, '}');
        json_line(&j);
    }
    return r == 0 ? EXIT_OK : r == -ENODEV ? EXIT_NO_DEVICE : EXIT_FAIL;
}

int cmd_reply(int argc, char **argv)
{
    const struct hz_ev_notice *n;
    struct answer a = { 0 };
    struct model m = { 0 };
    struct hz *hz;
    int r, status;

    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        puts(help);
        return EXIT_OK;
    }
    status = parse(&a, argc, argv);
    if (status) {
        return status;
    }
    hz = open_device(&status);
    if (!hz) {
        return status;
    }
    r = model_read(&m, hz);
    if (r < 0) {
        say("reading the board: %s", hz_strerror(r));
        status = r == -ENODEV ? EXIT_NO_DEVICE : EXIT_FAIL;
    } else {
        n = model_notice(&m, a.id);
        status = n ? report(&a, n, send_reply(hz, &a, n)) : EXIT_FAIL;
    }
    model_free(&m);
    hz_close(hz);
    return status;
}
