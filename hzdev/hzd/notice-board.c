/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd notice board: between the notices in memory and the board of the device.
 *
 * The board remembers what hzd forgets (a restart), and hzd what the board
 * doesn't have (a loaded older state): after each HELLO both are compared.
 * A reply is acted on where it is first seen, also when it was given while
 * hzd was away.
 */
#include <string.h>

#include "core/vocabulary.h"
#include "events.h"
#include "link.h"
#include "notice-int.h"
#include "pause.h"
#include "redact.h"

#define BIT(reply) (1u << (reply))

/* -- from the board ----------------------------------------------------- */

static uint64_t point(uint64_t remaining, uint64_t now, uint64_t none)
{
    if (remaining == VIRTIO_HZ_NS_NONE) {
        return none;
    }
    return remaining < HZ_LIFE_NEVER - 1 - now ? now + remaining : HZ_LIFE_NEVER;
}

/*
 * One found on the board that nobody here remembers: hzd was restarted, or
 * the VM came from elsewhere.
 */
static HzNotice *adopt(HzVm *vm, const struct hz_notice *n)
{
    HzNotice *notice = hz_notice_new(vm, n->id);
    uint64_t now = hz_now();
    struct hz_life *l = &notice->life;

    notice->n = *n;
    notice->adopted = TRUE;
    /* its times are unknown only after a load of state that no hzd has confirmed since */
    notice->foreign = n->deadline_ns == VIRTIO_HZ_NS_UNKNOWN;
    notice->confirmed = TRUE;
    l->kind = n->kind;
    l->state = n->state;
    l->ack = n->ack;
    l->revision = n->revision;
    l->impact = hz_life_impact(n->kind);
    l->test = n->flags & VIRTIO_HZ_NOTICE_TEST;
    l->lapsed = n->flags & VIRTIO_HZ_NOTICE_LAPSED;
    l->not_before = point(n->not_before_ns, now, 0);
    if (n->not_before_ns == VIRTIO_HZ_NS_UNKNOWN) {
        l->not_before = 0;
    }
    l->deadline = point(n->deadline_ns, now, HZ_LIFE_NEVER);
    l->extend_left = hz_notice_extend_limit(vm);
    if (hz_notice_closed(notice)) {
        notice->closed_us = notice->created_us;
        l->replied = n->replied;
    }
    hz_notice_recall(notice);
    hz_notice_set_timer(notice);
    hz_event_notice(notice, "created", "found on the board");
    return notice;
}

/* The device closed it, or the board was put back to where it was closed: it can't be reopened. */
static void closed_there(HzNotice *notice, const struct hz_notice *n)
{
    notice->life.state = n->state;
    notice->life.revision = n->revision;
    notice->life.closed_cause = n->cause;
    notice->closed_us = (uint64_t)g_get_real_time();
    notice->dirty = FALSE;
    hz_notice_say(notice, n->cause == VIRTIO_HZ_CAUSE_GENERATION ? "closed by a new generation"
                                                                 : "closed on the board");
    hz_notice_set_timer(notice);
    if (notice->acting) {
        hz_pause_abort(notice);
    }
    hz_event_notice(notice, "state", notice->why);
}

static void take_reply(HzNotice *notice, uint16_t code, uint64_t arg)
{
    struct hz_life_input in = {
        .event = HZ_LIFE_REPLY, .arg = code, .ns = arg, .now = hz_now(),
    };
    uint32_t revision = notice->life.revision;
    uint64_t now_us = (uint64_t)g_get_real_time();
    const char *why;

    if (code == VIRTIO_HZ_REPLY_SEEN && !notice->seen_us) {
        notice->seen_us = now_us;
    }
    if (code == VIRTIO_HZ_REPLY_PREPARED && !notice->prepared_us) {
        notice->prepared_us = now_us;
    }
    notice->last_reply = code;
    notice->last_arg = arg;
    /* the event before what follows from it */
    hz_event_notice(notice, "reply", hz_reply_name(code));
    if (!hz_notice_step(notice, &in, &why) && notice->life.revision == revision &&
        (code == VIRTIO_HZ_REPLY_EXTEND || code == VIRTIO_HZ_REPLY_DEFER)) {
        hz_notice_say(notice, why);
        hz_event_notice(notice, "reply-refused", why);
    }
}

static void take_replies(HzNotice *notice, const struct hz_notice *n)
{
    uint32_t revision = notice->life.revision, fresh;

    if (n->revision != revision) {
        return;             /* to an older one: void */
    }
    /* a reset of the guest's driver takes its replies back */
    notice->life.replied &= n->replied;
    fresh = n->replied & ~notice->life.replied;
    if (n->reply == VIRTIO_HZ_REPLY_FAILED) {
        fresh &= ~BIT(VIRTIO_HZ_REPLY_PREPARED);    /* said after it, so it is taken back */
    }
    for (uint16_t code = 1; code <= VIRTIO_HZ_REPLY_MAX; code++) {
        gboolean timed = code == VIRTIO_HZ_REPLY_EXTEND || code == VIRTIO_HZ_REPLY_DEFER;

        if (timed ? n->reply == code && (fresh & BIT(code) || n->reply_arg != notice->timed_arg)
                  : fresh & BIT(code)) {
            if (timed) {
                notice->timed_arg = n->reply_arg;
            }
            take_reply(notice, code, n->reply == code ? n->reply_arg : 0);
        }
        if (notice->life.revision != revision || hz_notice_closed(notice)) {
            return;
        }
    }
}

static void told(HzNotice *notice)
{
    notice->confirmed = TRUE;
    notice->refused = FALSE;
    if (!notice->told_us) {
        notice->told_us = (uint64_t)g_get_real_time();
        hz_event_notice(notice, "told", NULL);
    }
}

static void gone_there(HzVm *vm, HzNotice *notice)
{
    notice->board_session = 0;
    notice->drop = notice->dropping = FALSE;
    if (notice->forget) {
        hz_notice_free(notice);
    } else if (!hz_notice_closed(notice)) {
        notice->dirty = TRUE;       /* dropped by another hand: tell it again */
    }
    hz_notices_retry(vm);
}

/* A board has so many places; ours that it hasn't got yet may come on top. */
static gboolean may_adopt(HzVm *vm, const struct hz_notice *n)
{
    if (hz_state_closed(n->state)) {
        hz_notices_trim(vm);
        return vm->notices->len < HZ_NOTICE_CLOSED_MAX + 3 * VIRTIO_HZ_MAX_NOTICES;
    }
    return hz_notices_open(vm) < 2 * VIRTIO_HZ_MAX_NOTICES;
}

int hz_notices_record(HzVm *vm, const struct hz_notice *n, gboolean gone)
{
    HzNotice *notice = hz_notice_find(vm, n->id);

    if (gone) {
        if (notice) {
            gone_there(vm, notice);
        }
        return 0;
    }
    if (!notice) {
        if (!may_adopt(vm, n)) {
            return -1;
        }
        notice = adopt(vm, n);
    }
    notice->board_session = vm->session;
    notice->board_state = n->state;
    notice->board_revision = n->revision;
    if (hz_state_closed(n->state)) {
        hz_notices_retry(vm);
        if (!hz_notice_closed(notice)) {
            closed_there(notice, n);
            return 0;
        }
    }
    if (n->revision == notice->life.revision && n->state == notice->life.state) {
        told(notice);
        if (n->deadline_ns == VIRTIO_HZ_NS_UNKNOWN && !notice->foreign) {
            notice->dirty = !hz_notice_closed(notice);      /* its times were lost by a load */
        }
    }
    if (!hz_notice_closed(notice)) {
        take_replies(notice, n);
    }
    return 0;
}

/* -- after a HELLO ------------------------------------------------------ */

/* A promise of the host this VM came from, about an act that only that host could do. */
static void settle_foreign(HzNotice *notice)
{
    struct hz_life_input in = { .event = HZ_LIFE_CANCEL, .arg = VIRTIO_HZ_CAUSE_EXPIRED,
                                .now = hz_now() };
    const char *why;

    if (notice->n.kind == HZ_KIND_MOVE || (notice->n.kind == HZ_KIND_PAUSE &&
                                           notice->life.state == VIRTIO_HZ_STATE_STARTED)) {
        /* it is here and runs: the move, or the pause, is over */
        notice->life.state = VIRTIO_HZ_STATE_STARTED;
        in.event = HZ_LIFE_COMPLETE;
    } else if (notice->n.kind != HZ_KIND_PAUSE) {
        return;             /* whoever orders it may still complete or cancel it, by its id */
    }
    hz_notice_step(notice, &in, &why);
}

void hz_notices_synced(HzVm *vm)
{
    /* a copy of the list: settling one may close and so forget others, oldest closed ones first */
    g_autoptr(GPtrArray) all = g_ptr_array_copy(vm->notices, NULL, NULL);

    for (guint i = 0; i < all->len; i++) {
        HzNotice *notice = g_ptr_array_index(all, i);
        gboolean there, differs;

        if (!g_ptr_array_find(vm->notices, notice, NULL) || notice->untold) {
            continue;
        }
        there = notice->board_session == vm->session;
        differs = notice->board_state != notice->life.state ||
                  notice->board_revision != notice->life.revision;
        if (notice->foreign && !hz_notice_closed(notice)) {
            settle_foreign(notice);
        } else if (hz_notice_closed(notice)) {
            notice->dirty = there && differs;
        } else if (!there || differs) {
            notice->dirty = TRUE;
        }
        if (notice->adopted && notice->n.kind == HZ_KIND_PAUSE && !notice->acting &&
            notice->life.state == VIRTIO_HZ_STATE_STARTED) {
            hz_pause_recover(notice);
        }
    }
}

/* -- to the board ------------------------------------------------------- */

void hz_notices_retry(HzVm *vm)
{
    for (guint i = 0; i < vm->notices->len; i++) {
        HzNotice *notice = g_ptr_array_index(vm->notices, i);

        if (notice->refused) {
            notice->refused = FALSE;
            notice->dirty = TRUE;
        }
    }
}

void hz_notices_refused(HzVm *vm, uint64_t cookie, const struct hz_refused *refused)
{
    for (guint i = 0; i < vm->notices->len; i++) {
        HzNotice *notice = g_ptr_array_index(vm->notices, i);

        if (notice->cookie != cookie) {
            continue;
        }
        if (notice->drop) {
            gone_there(vm, notice);         /* it isn't there: good */
            return;
        }
        if (refused->status == VIRTIO_HZ_E_VOID && !hz_notice_closed(notice) &&
            notice->board_revision >= notice->life.revision) {
            notice->life.revision = notice->board_revision + 1;
            notice->life.replied = 0;
            hz_notice_touch(notice);
            return;
        }
        notice->refused = refused->status == VIRTIO_HZ_E_NOSPC;
        hz_notice_say(notice, hz_status_name((int)refused->status));
        hz_event_notice(notice, "refused", notice->why);
        return;
    }
}

static uint64_t remaining(uint64_t at, uint64_t now)
{
    return at > now ? at - now : 1;
}

/* As it should stand on the board, redacted. */
static void outward(const HzNotice *notice, struct hz_notice *n)
{
    const struct hz_life *l = &notice->life;
    uint64_t now = hz_now();

    *n = notice->n;
    n->state = l->state;
    n->ack = l->ack;
    n->revision = l->revision;
    n->not_before_ns = l->not_before ? remaining(l->not_before, now) : VIRTIO_HZ_NS_NONE;
    n->deadline_ns = l->deadline != HZ_LIFE_NEVER ? remaining(l->deadline, now)
                     : notice->foreign ? VIRTIO_HZ_NS_UNKNOWN : VIRTIO_HZ_NS_NONE;
    if (l->closed_cause) {
        n->cause = l->closed_cause;
    }
    if (l->lapsed) {
        n->flags |= VIRTIO_HZ_NOTICE_LAPSED;
    }
    n->replied = 0;
    n->reply = VIRTIO_HZ_REPLY_NONE;
    n->reply_arg = 0;
    n->reply_doc_len = 0;
    hz_redact_notice(notice->vm, n);
}

int hz_notices_next_frame(HzVm *vm, void *buf, size_t cap)
{
    static uint64_t cookies;
    struct hz_notice n;

    for (guint i = 0; i < vm->notices->len; i++) {
        HzNotice *notice = g_ptr_array_index(vm->notices, i);

        if (notice->drop && !notice->dropping) {
            notice->dropping = TRUE;
            notice->cookie = ++cookies;
            return hz_drop_notice_frame(buf, cap, notice->cookie, notice->n.id);
        }
        if (notice->dirty && !notice->untold && !notice->drop) {
            notice->dirty = FALSE;
            notice->cookie = ++cookies;
            outward(notice, &n);
            return hz_set_notice_frame(buf, cap, notice->cookie, &n);
        }
    }
    return 0;
}
