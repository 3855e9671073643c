/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd timer: one-shot timers on CLOCK_BOOTTIME.
 *
 * GLib's own run on CLOCK_MONOTONIC, which stands still while the host sleeps;
 * a guest's deadline doesn't. One timerfd serves them all.
 */
#ifndef HZ_HZD_TIMER_H
#define HZ_HZD_TIMER_H

#include <glib.h>
#include <stdint.h>

typedef struct HzTimer HzTimer;
typedef void (*HzTimerFunc)(gpointer opaque);

/* CLOCK_BOOTTIME in ns: the clock of every point in time inside hzd. */
uint64_t hz_now(void);

/* Call @func once at @at (at once when that's past), from the main loop; UINT64_MAX: never. */
HzTimer *hz_timer_new(HzTimerFunc func, gpointer opaque);
void hz_timer_set(HzTimer *timer, uint64_t at);
void hz_timer_free(HzTimer *timer);

#define HZ_MS 1000000ull
#define HZ_SEC 1000000000ull

#endif /* HZ_HZD_TIMER_H */
