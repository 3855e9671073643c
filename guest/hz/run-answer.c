/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz run's answers: through the agent, or as the responder where there is no agent. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent-proto.h"
#include "run.h"

#define MS INT64_C(1000000)
#define LOOK (500 * MS)         /* how often to look for an agent that isn't there */
#define PATIENCE (3000 * MS)    /* how long one that went may take to come back */
#define WELCOME_MS 10000        /* only guards against an agent that is stopped */

static void drop_agent(struct runner *r)
{
    close(r->agent);
    r->agent = -1;
    r->welcomed = false;
    r->lost = hz_now();
    r->patience = PATIENCE;
}

static int hello(struct runner *r)
{
    struct agent_msg m = { .type = AGENT_HELLO, .kinds = rules_kinds(&r->rules) };
    unsigned i;
    int e;

    e = agent_send(r->agent, &m);
    if (e < 0) {
        drop_agent(r);
        return e;
    }
    /* An agent that is new to us, or new altogether, is told all we know. */
    for (i = 0; i < r->actions; i++) {
        r->action[i].told = 0;
    }
    return 0;
}

static int join(struct runner *r)
{
    int fd = agent_connect();

    if (fd < 0) {
        return fd;
    }
    r->agent = fd;
    return hello(r);
}

/* Registered before the program starts: no notice can fall between. */
static int wait_welcome(struct runner *r)
{
    struct pollfd p = { .fd = r->agent, .events = POLLIN };

    if (poll(&p, 1, WELCOME_MS) > 0) {
        answer_agent_readable(r);
    }
    if (!r->welcomed) {
        say("%s: the agent doesn't answer", agent_socket_path());
        return -ETIMEDOUT;
    }
    return 0;
}

int answer_begin(struct runner *r)
{
    int e;

    if (!r->rules.n) {
        return 0;               /* declarations only */
    }
    e = join(r);
    if (e == 0) {
        return wait_welcome(r);
    }
    if (e != -ENOENT && e != -ECONNREFUSED) {
        say("%s: %s", agent_socket_path(), strerror(-e));
        return e;
    }
    e = hz_claim(r->hz);
    if (e < 0) {
        say(e == -EBUSY ? "another program answers notices here: start hz agent, which answers "
            "for several" : "becoming the responder: %s", hz_strerror(e));
        return e;
    }
    r->direct = true;
    return 0;
}

static void retell(struct runner *r)
{
    unsigned i;

    for (i = 0; i < r->actions; i++) {
        r->action[i].told = 0;
        answer_result(r, &r->action[i]);
    }
}

int64_t answer_look(struct runner *r)
{
    if (!r->rules.n || r->agent >= 0) {
        return INT64_MAX;
    }
    if (join(r) == 0) {
        if (r->direct && r->hz) {
            hz_unclaim(r->hz);
        }
        r->direct = false;
        retell(r);
        return INT64_MAX;
    }
    if (!r->direct && r->hz && hz_now() - r->lost > r->patience && hz_claim(r->hz) == 0) {
        r->direct = true;
        retell(r);
    }
    return hz_now() + LOOK;
}

/* The program has ended: whoever answers now, what is proved is to be told. */
void answer_flush(struct runner *r)
{
    r->patience = -1;
    answer_look(r);
}

void answer_agent_readable(struct runner *r)
{
    struct agent_msg m;
    int n;

    while (r->agent >= 0) {
        n = agent_receive(r->agent, &m);
        if (n == -EAGAIN) {
            return;
        }
        if (n == 1 && m.type == AGENT_WELCOME) {
            r->welcomed = true;
        } else if (n <= 0) {
            drop_agent(r);
        }
    }
}

static void give(struct runner *r, const struct action *a, enum hz_reply_code code, uint64_t arg)
{
    const struct hz_ev_notice *n = &a->ev->notice;
    char id[33];
    int e;

    if (!r->direct || !r->hz || n->state >= HZ_COMPLETED) {
        return;
    }
    e = hz_reply(r->hz, n, code, arg);
    /* ECANCELED, ENOENT: it has changed; what it is now is being read. */
    if (e < 0 && e != -ECANCELED && e != -ENOENT && e != -ENODEV) {
        format_id(n->id, id);
        say("%s %.12s: %s: %s", hz_kind_name(n->kind), id, hz_reply_name((uint16_t)code),
            hz_strerror(e));
    }
}

void answer_seen(struct runner *r, const struct action *a)
{
    if (!(a->ev->notice.replied & 1u << HZ_REPLY_SEEN)) {
        give(r, a, HZ_REPLY_SEEN, 0);
    }
}

void answer_extend(struct runner *r, const struct action *a, int64_t ns)
{
    give(r, a, HZ_REPLY_EXTEND, (uint64_t)ns);
}

void answer_result(struct runner *r, struct action *a)
{
    const struct hz_ev_notice *n = &a->ev->notice;
    struct agent_msg m = { .type = AGENT_PROVE, .code = a->result, .arg = a->code,
                           .revision = n->revision };

    if (!a->result) {
        return;
    }
    if (r->agent >= 0) {
        if (a->told == n->revision) {
            return;             /* the agent knows */
        }
        memcpy(m.id, n->id, HZ_ID_LEN);
        if (agent_send(r->agent, &m) < 0) {
            drop_agent(r);
            return;
        }
        a->told = n->revision;
    } else if (!(n->replied & 1u << a->result)) {
        give(r, a, (enum hz_reply_code)a->result, a->code);
    }
}

void answer_end(struct runner *r)
{
    if (r->agent >= 0) {
        close(r->agent);
        r->agent = -1;
    }
}
