/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd timer: one timerfd on CLOCK_BOOTTIME under any number of timers. */
#include "timer.h"

#include <glib-unix.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct HzTimer {
    HzTimerFunc func;
    gpointer opaque;
    uint64_t at;
    GSequenceIter *place;       /* NULL: not running */
};

static GSequence *running;      /* by time */
static int clock_fd = -1;

uint64_t hz_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (uint64_t)ts.tv_sec * HZ_SEC + (uint64_t)ts.tv_nsec;
}

static int by_time(gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer unused)
{
    const HzTimer *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static HzTimer *first(void)
{
    GSequenceIter *it = g_sequence_get_begin_iter(running);

    return g_sequence_iter_is_end(it) ? NULL : g_sequence_get(it);
}

static void arm(void)
{
    HzTimer *next = first();
    struct itimerspec when = { 0 };

    if (next) {
        /* an all-zero time would disarm it */
        uint64_t at = MAX(next->at, 1);

        when.it_value.tv_sec = (time_t)MIN(at / HZ_SEC, (uint64_t)G_MAXINT32 * 64);
        when.it_value.tv_nsec = (long)(at % HZ_SEC);
    }
    timerfd_settime(clock_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void stop(HzTimer *timer)
{
    if (timer->place) {
        g_sequence_remove(timer->place);
        timer->place = NULL;
    }
}

static gboolean expired(int fd, G_GNUC_UNUSED GIOCondition cond, G_GNUC_UNUSED gpointer unused)
{
    uint64_t count, now = hz_now();
    HzTimer *timer;

    if (read(fd, &count, sizeof(count)) < 0) {
        /* spurious: whether something is due is asked below anyway */
        count = 0;
    }
    while ((timer = first()) && timer->at <= now) {
        stop(timer);
        timer->func(timer->opaque);
    }
    arm();
    return G_SOURCE_CONTINUE;
}

static void prepare(void)
{
    if (running) {
        return;
    }
    clock_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    g_assert(clock_fd >= 0);
    running = g_sequence_new(NULL);
    g_unix_fd_add(clock_fd, G_IO_IN, expired, NULL);
}

HzTimer *hz_timer_new(HzTimerFunc func, gpointer opaque)
{
    HzTimer *timer = g_new0(HzTimer, 1);

    prepare();
    timer->func = func;
    timer->opaque = opaque;
    timer->at = UINT64_MAX;
    return timer;
}

void hz_timer_set(HzTimer *timer, uint64_t at)
{
    stop(timer);
    timer->at = at;
    if (at != UINT64_MAX) {
        timer->place = g_sequence_insert_sorted(running, timer, by_time, NULL);
    }
    arm();
}

void hz_timer_free(HzTimer *timer)
{
    if (timer) {
        stop(timer);
        arm();
        g_free(timer);
    }
}
