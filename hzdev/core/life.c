/* SPDX-License-Identifier: MIT */
/* hz life: which events a notice may take, and what follows from them. */
#include "life.h"

#include <errno.h>

#include "vocabulary.h"

#define BIT(reply) (1u << (reply))

bool hz_life_impact(uint16_t kind)
{
    switch (kind) {
    case HZ_KIND_PAUSE:
    case HZ_KIND_REBOOT:
    case HZ_KIND_MOVE:
    case HZ_KIND_RECLAIM:
    case HZ_KIND_TERMINATE:
        return true;
    default:
        return false;
    }
}

/* Has the guest given the answer that this acknowledgement policy waits for? */
static bool answered(const struct hz_life *l)
{
    switch (l->ack) {
    case VIRTIO_HZ_ACK_GATE:
        return l->replied & BIT(VIRTIO_HZ_REPLY_PREPARED);
    case VIRTIO_HZ_ACK_NEGOTIATE:
        return l->replied & (BIT(VIRTIO_HZ_REPLY_ACCEPT) | BIT(VIRTIO_HZ_REPLY_PREPARED));
    default:
        return false;
    }
}

/* A test is proven by the answer its policy asks for, or by any where it asks for none. */
static bool proven(const struct hz_life *l)
{
    if (l->ack == VIRTIO_HZ_ACK_GATE) {
        return answered(l);
    }
    if (l->ack == VIRTIO_HZ_ACK_NEGOTIATE) {
        return answered(l) || l->replied & BIT(VIRTIO_HZ_REPLY_DECLINE);
    }
    return l->replied != 0;
}

static int take_state(struct hz_life *l, uint8_t state, uint16_t cause, const char *why,
                      struct hz_life_output *out)
{
    l->state = state;
    out->changed = true;
    out->closed = hz_state_closed(state);
    out->why = why;
    if (out->closed) {
        l->closed_cause = cause;
    }
    return 0;
}

static int begin(struct hz_life *l, uint64_t now, const char *why, struct hz_life_output *out)
{
    bool ready = answered(l);

    out->start = true;
    out->early = ready && now < l->deadline;
    l->lapsed = l->extended && !ready && now >= l->deadline;
    return take_state(l, VIRTIO_HZ_STATE_STARTED, 0, why, out);
}

/* What follows from the time and the answers so far. */
static void settle(struct hz_life *l, uint64_t now, struct hz_life_output *out)
{
    bool due = now >= l->deadline;

    if (l->state > VIRTIO_HZ_STATE_SCHEDULED) {
        return;
    }
    if (l->test) {
        if (proven(l)) {
            take_state(l, VIRTIO_HZ_STATE_COMPLETED, 0, "the path is proven", out);
        } else if (due) {
            take_state(l, VIRTIO_HZ_STATE_CANCELLED, VIRTIO_HZ_CAUSE_EXPIRED,
                       "no answer came before the deadline", out);
        }
        return;
    }
    if (!l->impact || l->state == VIRTIO_HZ_STATE_ADVISED) {
        if (due && !answered(l)) {
            take_state(l, VIRTIO_HZ_STATE_CANCELLED, VIRTIO_HZ_CAUSE_EXPIRED,
                       "it expired", out);
        }
        return;
    }
    if (answered(l) && now >= l->not_before) {
        begin(l, now, "the guest is prepared", out);
    } else if (due) {
        begin(l, now, l->extended ? "the extension lapsed" : "the deadline came", out);
    }
}

/* A change of its times is a new revision: what was replied to the old one is void. */
static void revise(struct hz_life *l, const char *why, struct hz_life_output *out)
{
    l->moves++;
    l->revision++;
    l->replied = 0;
    out->changed = true;
    out->why = why;
}

static void extend(struct hz_life *l, const struct hz_life_input *in, struct hz_life_output *out)
{
    uint64_t more;

    if (l->deadline == HZ_LIFE_NEVER) {
        out->why = "there is no deadline to extend";
        return;
    }
    if (in->now >= l->deadline) {
        out->why = "the deadline is past";
        return;
    }
    if (in->ns <= l->deadline - in->now) {
        out->why = "the deadline is later anyway";
        return;
    }
    if (!l->extend_left) {
        out->why = "no extension is left";
        return;
    }
    more = in->ns - (l->deadline - in->now);
    out->granted = more < l->extend_left ? more : l->extend_left;
    /* never onto HZ_LIFE_NEVER, whatever the caller allowed */
    if (out->granted >= HZ_LIFE_NEVER - l->deadline) {
        out->granted = HZ_LIFE_NEVER - 1 - l->deadline;
    }
    l->extend_left -= out->granted;
    l->deadline += out->granted;
    l->extended = true;
    revise(l, out->granted < more ? "extended by less than asked" : "extended", out);
}

static void defer(struct hz_life *l, const struct hz_life_input *in, struct hz_life_output *out)
{
    uint64_t until = in->ns < HZ_LIFE_NEVER - in->now ? in->now + in->ns : HZ_LIFE_NEVER;

    if (until == HZ_LIFE_NEVER || until > l->deadline) {
        out->why = "deferred beyond the latest start";
    } else if (until <= l->not_before) {
        out->why = "it starts no sooner anyway";
    } else {
        l->not_before = until;
        revise(l, "deferred", out);
    }
}

static int reply(struct hz_life *l, const struct hz_life_input *in, struct hz_life_output *out)
{
    if (!in->arg || in->arg > VIRTIO_HZ_REPLY_MAX) {
        out->why = "no such reply";
        return -EINVAL;
    }
    if (hz_state_closed(l->state)) {
        out->why = "a reply to a closed notice";
        return -EPERM;
    }
    if (in->arg == VIRTIO_HZ_REPLY_EXTEND || in->arg == VIRTIO_HZ_REPLY_DEFER) {
        l->replied |= BIT(in->arg);
        if (l->state == VIRTIO_HZ_STATE_STARTED) {
            out->why = "it has started";
        } else if (l->moves >= HZ_LIFE_MOVES) {
            out->why = "it was moved too often";
        } else if (in->arg == VIRTIO_HZ_REPLY_EXTEND) {
            extend(l, in, out);
        } else {
            defer(l, in, out);
        }
        return 0;
    }
    if (l->replied & BIT(in->arg)) {
        out->why = "said before";
        return -EALREADY;
    }
    l->replied |= BIT(in->arg);
    out->why = hz_reply_name(in->arg);
    if (in->arg == VIRTIO_HZ_REPLY_DECLINE && l->ack == VIRTIO_HZ_ACK_NEGOTIATE && !l->test &&
        l->state <= VIRTIO_HZ_STATE_SCHEDULED) {
        return take_state(l, VIRTIO_HZ_STATE_CANCELLED, VIRTIO_HZ_CAUSE_DECLINED,
                          "the guest declined", out);
    }
    settle(l, in->now, out);
    return 0;
}

static int schedule(struct hz_life *l, const struct hz_life_input *in, struct hz_life_output *out)
{
    if (l->state == VIRTIO_HZ_STATE_SCHEDULED) {
        out->why = "scheduled already";
        return -EALREADY;
    }
    if (l->state != VIRTIO_HZ_STATE_ADVISED) {
        out->why = "started or closed already";
        return -EPERM;
    }
    take_state(l, VIRTIO_HZ_STATE_SCHEDULED, 0, "scheduled", out);
    settle(l, in->now, out);
    return 0;
}

static int start(struct hz_life *l, const struct hz_life_input *in, struct hz_life_output *out)
{
    if (l->state == VIRTIO_HZ_STATE_STARTED) {
        out->why = "started already";
        return -EALREADY;
    }
    if (hz_state_closed(l->state) || l->state == VIRTIO_HZ_STATE_ADVISED) {
        out->why = l->state == VIRTIO_HZ_STATE_ADVISED ? "it is only advised"
                                                       : "it is closed";
        return -EPERM;
    }
    return begin(l, in->now, "started by request", out);
}

static int complete(struct hz_life *l, struct hz_life_output *out)
{
    if (l->state == VIRTIO_HZ_STATE_COMPLETED) {
        out->why = "completed already";
        return -EALREADY;
    }
    if (hz_state_closed(l->state)) {
        out->why = "it was cancelled or superseded";
        return -EPERM;
    }
    if (l->impact && !l->test && l->state != VIRTIO_HZ_STATE_STARTED) {
        out->why = "it hasn't started";
        return -EPERM;
    }
    return take_state(l, VIRTIO_HZ_STATE_COMPLETED, 0, "completed", out);
}

static int end(struct hz_life *l, const struct hz_life_input *in, struct hz_life_output *out)
{
    bool cancel = in->event == HZ_LIFE_CANCEL;
    uint8_t state = cancel ? VIRTIO_HZ_STATE_CANCELLED : VIRTIO_HZ_STATE_SUPERSEDED;

    if (cancel && in->arg > VIRTIO_HZ_CAUSE_MAX) {
        out->why = "no such cause";
        return -EINVAL;
    }
    if (l->state == state) {
        out->why = cancel ? "cancelled already" : "superseded already";
        return -EALREADY;
    }
    if (hz_state_closed(l->state)) {
        out->why = "it is closed";
        return -EPERM;
    }
    return take_state(l, state, cancel ? in->arg : 0, cancel ? "cancelled" : "superseded", out);
}

int hz_life_step(struct hz_life *l, const struct hz_life_input *in, struct hz_life_output *out)
{
    *out = (struct hz_life_output){ .why = "nothing changed" };
    switch (in->event) {
    case HZ_LIFE_REPLY:
        return reply(l, in, out);
    case HZ_LIFE_TICK:
        settle(l, in->now, out);
        return 0;
    case HZ_LIFE_SCHEDULE:
        return schedule(l, in, out);
    case HZ_LIFE_START:
        return start(l, in, out);
    case HZ_LIFE_COMPLETE:
        return complete(l, out);
    case HZ_LIFE_CANCEL:
    case HZ_LIFE_SUPERSEDE:
        return end(l, in, out);
    }
    out->why = "no such event";
    return -EINVAL;
}

uint64_t hz_life_next(const struct hz_life *l)
{
    if (l->state > VIRTIO_HZ_STATE_SCHEDULED) {
        return HZ_LIFE_NEVER;
    }
    if (answered(l)) {
        if (!l->impact || l->state == VIRTIO_HZ_STATE_ADVISED) {
            return HZ_LIFE_NEVER;
        }
        return l->not_before < l->deadline ? l->not_before : l->deadline;
    }
    return l->deadline;
}
