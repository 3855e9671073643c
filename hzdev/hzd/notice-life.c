/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd notice life: one notice in memory: its events, its timer, what follows from them. */
#include <errno.h>
#include <string.h>

#include "core/vocabulary.h"
#include "events.h"
#include "link.h"
#include "notice-int.h"
#include "pause.h"

static void due(gpointer opaque)
{
    HzNotice *notice = opaque;
    struct hz_life_input in = { .event = HZ_LIFE_TICK, .now = hz_now() };
    const char *why;

    if (!hz_notice_closed(notice)) {
        hz_notice_step(notice, &in, &why);
        hz_link_pump(notice->vm);
        return;
    }
    /* closed long enough */
    if (notice->vm->synced && notice->board_session == notice->vm->session) {
        notice->drop = notice->forget = TRUE;   /* freed when the board says it is gone */
        hz_link_pump(notice->vm);
    } else {
        hz_notice_free(notice);
    }
}

HzNotice *hz_notice_new(HzVm *vm, const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    HzNotice *notice = g_new0(HzNotice, 1);

    notice->vm = vm;
    memcpy(notice->n.id, id, VIRTIO_HZ_UUID_LEN);
    notice->timer = hz_timer_new(due, notice);
    notice->created_us = (uint64_t)g_get_real_time();
    g_ptr_array_add(vm->notices, notice);
    return notice;
}

void hz_notice_free(HzNotice *notice)
{
    g_ptr_array_remove(notice->vm->notices, notice);
    hz_timer_free(notice->timer);
    hz_timer_free(notice->act_timer);
    g_free(notice->key);
    g_free(notice->cause_key);
    g_free(notice->why);
    g_free(notice);
}

HzNotice *hz_notice_find(const HzVm *vm, const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    for (guint i = 0; i < vm->notices->len; i++) {
        HzNotice *notice = g_ptr_array_index(vm->notices, i);

        if (!memcmp(notice->n.id, id, VIRTIO_HZ_UUID_LEN)) {
            return notice;
        }
    }
    return NULL;
}

unsigned hz_notices_open(const HzVm *vm)
{
    unsigned open = 0;

    for (guint i = 0; i < vm->notices->len; i++) {
        open += !hz_notice_closed(g_ptr_array_index(vm->notices, i));
    }
    return open;
}

/*
 * A board that is full makes room by itself, but then has to tell its readers
 * everything anew. So the closed ones never take more than half of it.
 */
static void make_room(HzVm *vm)
{
    unsigned on_board = 0, most = MAX(vm->hello.max_notices / 2, 1);

    for (guint i = vm->notices->len; i > 0; i--) {
        HzNotice *notice = g_ptr_array_index(vm->notices, i - 1);

        if (hz_notice_closed(notice) && notice->board_session == vm->session && vm->session &&
            !notice->dirty && !notice->acting) {
            notice->drop = notice->drop || ++on_board > most;
        }
    }
}

void hz_notices_trim(HzVm *vm)
{
    unsigned closed = vm->notices->len - hz_notices_open(vm);

    for (guint i = 0; i < vm->notices->len && closed > HZ_NOTICE_CLOSED_MAX; ) {
        HzNotice *notice = g_ptr_array_index(vm->notices, i);

        if (hz_notice_closed(notice) && !notice->acting && !notice->dirty) {
            hz_notice_free(notice);
            closed--;
        } else {
            i++;
        }
    }
    make_room(vm);
}

void hz_notices_leave(HzVm *vm)
{
    g_autoptr(GPtrArray) all = g_ptr_array_copy(vm->notices, NULL, NULL);
    struct hz_life_input in = {
        .event = HZ_LIFE_CANCEL, .arg = VIRTIO_HZ_CAUSE_OPERATOR, .now = hz_now(),
    };
    const char *why;

    for (guint i = 0; i < all->len; i++) {
        HzNotice *notice = g_ptr_array_index(all, i);

        /* closing one may forget others, but never an open one */
        if (g_ptr_array_find(vm->notices, notice, NULL) && !hz_notice_closed(notice)) {
            hz_notice_step(notice, &in, &why);
        }
    }
    hz_link_pump(vm);
}

uint64_t hz_notice_extend_limit(const HzVm *vm)
{
    uint64_t ms;

    /* what a tenant doesn't declare it doesn't get: as without hz */
    if (!hz_vm_declared(vm, "vm", HZ_F_EXTEND_MAX, &ms)) {
        return 0;
    }
    return MIN(ms * HZ_MS, vm->conf->extend_max_ns);
}

void hz_notice_say(HzNotice *notice, const char *why)
{
    g_free(notice->why);
    notice->why = g_strdup(why);
}

void hz_notice_set_timer(HzNotice *notice)
{
    uint64_t at = hz_life_next(&notice->life);

    if (hz_notice_closed(notice)) {
        at = hz_now() + HZ_NOTICE_KEEP;
    }
    hz_timer_set(notice->timer, at);
}

void hz_notice_touch(HzNotice *notice)
{
    notice->dirty = TRUE;
    notice->confirmed = FALSE;
    hz_notice_set_timer(notice);
    hz_notices_save_soon(notice->vm->host);
}

static void stamp(HzNotice *notice)
{
    uint64_t now = (uint64_t)g_get_real_time();

    if (notice->life.state == VIRTIO_HZ_STATE_STARTED && !notice->started_us) {
        notice->started_us = now;
    }
    if (hz_notice_closed(notice) && !notice->closed_us) {
        notice->closed_us = now;
    }
}

/* The impact begins. Only a PAUSE is hzd's own act; others are an orchestrator's, who is told. */
static void begin_impact(HzNotice *notice)
{
    if (notice->n.kind == HZ_KIND_PAUSE && !notice->life.test) {
        hz_pause_begin(notice);
    }
}

int hz_notice_step(HzNotice *notice, const struct hz_life_input *in, const char **why)
{
    struct hz_life_output out;
    int err = hz_life_step(&notice->life, in, &out);

    *why = out.why;
    if (err) {
        return err;
    }
    if (out.changed) {
        hz_notice_say(notice, out.why);
        stamp(notice);
        hz_notice_touch(notice);
        hz_event_notice(notice, "state", out.why);
    } else {
        hz_notice_set_timer(notice);
    }
    if (out.start) {
        begin_impact(notice);
    } else if (out.closed && notice->acting) {
        hz_pause_abort(notice);
    }
    if (out.closed) {
        hz_notices_trim(notice->vm);
    }
    return 0;
}
