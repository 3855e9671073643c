/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd pause: stop, wait, cont.
 *
 *   begin --stop--> STOP event --duration--> cont --> RESUME event --> completed
 *
 * Each step waits for the hypervisor's own event or answer. A VM that
 * somebody else resumes meanwhile is left running and measured so far. One
 * whose cont fails is tried again until it runs or its process is gone.
 */
#include "pause.h"

#include <string.h>

#include "core/vocabulary.h"
#include "events.h"
#include "link.h"
#include "notice-int.h"

#define CONT_RETRY HZ_SEC
#define RECOVER_TIME (30 * HZ_SEC)
/* The hypervisor's stamps and our timer may differ by so much. */
#define CUT_SLACK_MS 5

static void resume(HzNotice *notice);

/* -- may it? ------------------------------------------------------------ */

/* The limit in force: what was declared, but not below what the operator keeps for himself. */
static gboolean pauses_limit(const HzVm *vm, uint64_t *limit)
{
    if (hz_vm_declared(vm, NULL, HZ_F_MAX_PAUSES_PER_H, limit)) {
        if (vm->conf->has_max_pauses) {
            *limit = MAX(*limit, vm->conf->max_pauses_per_h);
        }
        return TRUE;
    }
    *limit = vm->conf->max_pauses_per_h;
    return vm->conf->has_max_pauses;
}

static unsigned pauses_waiting(const HzVm *vm)
{
    unsigned n = 0;

    for (guint i = 0; i < vm->notices->len; i++) {
        const HzNotice *notice = g_ptr_array_index(vm->notices, i);

        n += notice->n.kind == HZ_KIND_PAUSE && !notice->life.test &&
             notice->life.state <= VIRTIO_HZ_STATE_SCHEDULED;
    }
    return n;
}

char *hz_pause_refusal(HzVm *vm, uint64_t duration_ns, gboolean force)
{
    uint64_t limit, ms = duration_ns / HZ_MS;
    unsigned taken = hz_vm_pauses_last_hour(vm) + pauses_waiting(vm);

    if (!vm->vmms->len) {
        return g_strdup("no qmp= is configured: nothing here can stop and continue it");
    }
    if (force) {
        return NULL;
    }
    if (hz_vm_declared(vm, NULL, HZ_F_PAUSE_FATAL, &limit) && ms >= limit) {
        return g_strdup_printf("a pause of %" G_GUINT64_FORMAT " ms would break its job: "
                               "pause-fatal is %" G_GUINT64_FORMAT " ms (force overrides)",
                               ms, limit);
    }
    if (hz_vm_declared(vm, NULL, HZ_F_MAX_PAUSE, &limit) && ms > limit) {
        return g_strdup_printf("a pause of %" G_GUINT64_FORMAT " ms is longer than its max-pause "
                               "of %" G_GUINT64_FORMAT " ms (force overrides)", ms, limit);
    }
    if (pauses_limit(vm, &limit) && taken >= limit) {
        return g_strdup_printf("%u pauses in this hour: its max-pauses-per-h is %"
                               G_GUINT64_FORMAT " (force overrides)", taken, limit);
    }
    return NULL;
}

/* One at a time a VM. */
HzNotice *hz_pause_of(const HzVm *vm)
{
    for (guint i = 0; i < vm->notices->len; i++) {
        HzNotice *notice = g_ptr_array_index(vm->notices, i);

        if (notice->acting) {
            return notice;
        }
    }
    return NULL;
}

/* -- ends --------------------------------------------------------------- */

/* It ran again before its time: what became of it, else NULL. */
static char *cut_short(const HzNotice *notice)
{
    uint64_t ms = notice->measured_ns / HZ_MS, planned_ms = notice->n.duration_ns / HZ_MS;

    if (!notice->cut && (!notice->measured_ns || ms + CUT_SLACK_MS >= planned_ms)) {
        return NULL;
    }
    return g_strdup_printf("cut short, %s: it stood still for %" G_GUINT64_FORMAT " of %"
                           G_GUINT64_FORMAT " ms", notice->cut ? "hzd stops" : "continued by "
                           "another hand", ms, planned_ms);
}

static void finish(HzNotice *notice)
{
    struct hz_life_input in = {
        .event = notice->cut ? HZ_LIFE_CANCEL : HZ_LIFE_COMPLETE,
        .arg = VIRTIO_HZ_CAUSE_OPERATOR, .now = hz_now(),
    };
    g_autofree char *cut = cut_short(notice);
    size_t len = notice->n.doc_len;
    uint8_t raw[16];
    const char *why;
    int size;

    notice->acting = FALSE;
    notice->vmm = NULL;
    hz_timer_set(notice->act_timer, UINT64_MAX);
    if (notice->measured_ns) {
        size = hz_value_put(hz_field_by_id(HZ_N_PAUSE_MEASURED_NS), notice->measured_ns, raw);
        hz_doc_set(notice->n.doc, &len, sizeof(notice->n.doc), HZ_N_PAUSE_MEASURED_NS, raw,
                   (uint16_t)size);
        notice->n.doc_len = (uint16_t)len;
    }
    if (hz_notice_closed(notice)) {
        hz_notices_save_soon(notice->vm->host);     /* cancelled on the way: it runs again */
    } else {
        hz_notice_step(notice, &in, &why);
    }
    if (cut) {
        hz_notice_say(notice, cut);
        hz_event_notice(notice, "act", cut);
    }
    hz_link_pump(notice->vm);
}

static void fail(HzNotice *notice, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void fail(HzNotice *notice, const char *format, ...)
{
    struct hz_life_input in = {
        .event = HZ_LIFE_CANCEL, .arg = VIRTIO_HZ_CAUSE_FAILED, .now = hz_now(),
    };
    g_autofree char *text = NULL;
    const char *why;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    notice->acting = FALSE;
    notice->vmm = NULL;
    if (notice->act_timer) {
        hz_timer_set(notice->act_timer, UINT64_MAX);
    }
    hz_notice_step(notice, &in, &why);
    hz_notice_say(notice, text);
    hz_event_notice(notice, "act", text);
    hz_link_pump(notice->vm);
}

/* -- cont --------------------------------------------------------------- */

static void cont_done(G_GNUC_UNUSED HzVmm *vmm, const GError *error, gpointer opaque)
{
    HzNotice *notice = hz_pause_of(opaque);

    if (!notice) {
        return;
    }
    if (!error) {
        if (notice->resumed || !notice->stopped_ns || notice->running) {
            finish(notice);
            return;
        }
        /* RESUME is about to come; should it have been lost, a second cont's answer is enough */
        notice->running = TRUE;
        hz_timer_set(notice->act_timer, hz_now() + 2 * CONT_RETRY);
        return;
    }
    hz_notice_say(notice, error->message);
    hz_event_notice(notice, "act", error->message);
    hz_timer_set(notice->act_timer, hz_now() + CONT_RETRY);
}

/* The monitor through which the VM can be reached now. */
static HzVmm *monitor(const HzVm *vm, HzVmmState state)
{
    for (guint i = 0; i < vm->vmms->len; i++) {
        HzVmm *vmm = g_ptr_array_index(vm->vmms, i);

        if (hz_vmm_connected(vmm) && hz_vmm_state(vmm) == state) {
            return vmm;
        }
    }
    return NULL;
}

static gboolean process_gone(const HzNotice *notice)
{
    return notice->act_pid && hz_process_start(notice->act_pid) != notice->act_start;
}

static void resume(HzNotice *notice)
{
    if (!notice->vmm) {
        notice->vmm = monitor(notice->vm, HZ_VMM_PAUSED);
    }
    if (!notice->vmm) {
        if (process_gone(notice)) {
            fail(notice, "the VM's process (pid %d) is gone", (int)notice->act_pid);
            return;
        }
        if (hz_now() > notice->act_until) {
            fail(notice, "the VM's monitor can't be reached to continue it");
            return;
        }
        hz_timer_set(notice->act_timer, hz_now() + CONT_RETRY / 5);
        return;
    }
    hz_vmm_cont(notice->vmm, cont_done, notice->vm);
}

static void time_is_up(gpointer opaque)
{
    resume(opaque);
}

/* -- stop --------------------------------------------------------------- */

static void stopped(HzNotice *notice, uint64_t at, int64_t wall_us)
{
    gint64 now_us = g_get_real_time();

    notice->stopped_ns = at;
    notice->stopped_wall_us = wall_us;
    g_array_append_val(notice->vm->pauses, now_us);
    hz_event_notice(notice, "act", "stopped");
    hz_timer_set(notice->act_timer, at + notice->n.duration_ns);
    /* the VM stands still anyway: time enough to remember that we must continue it */
    hz_notices_save(notice->vm->host, NULL);
}

static void stop_done(G_GNUC_UNUSED HzVmm *vmm, const GError *error, gpointer opaque)
{
    HzNotice *notice = hz_pause_of(opaque);

    if (!notice) {
        return;
    }
    if (error && !notice->stopped_ns) {
        fail(notice, "the VM wasn't stopped: %s", error->message);
    } else if (!error && !notice->stopped_ns) {
        stopped(notice, hz_now(), 0);       /* its event is still on the way, or was lost */
    }
}

void hz_pause_begin(HzNotice *notice)
{
    HzVm *vm = notice->vm;

    if (!notice->act_timer) {
        notice->act_timer = hz_timer_new(time_is_up, notice);
    }
    if (vm->host->frozen || hz_vm_mode(vm, NULL) != HZ_MODE_ENFORCE) {
        fail(notice, "not carried out: %s", vm->host->frozen ? "frozen" : "the mode in force is no "
             "longer enforce");
        return;
    }
    if (hz_pause_of(vm)) {
        fail(notice, "another pause of this VM is under way");
        return;
    }
    notice->vmm = monitor(vm, HZ_VMM_RUNNING);
    if (!notice->vmm) {
        fail(notice, "the VM isn't running, or its monitor can't be reached");
        return;
    }
    notice->acting = TRUE;
    notice->act_until = UINT64_MAX;
    if (!hz_vmm_peer(notice->vmm, &notice->act_pid, &notice->act_start)) {
        notice->act_pid = 0;
    }
    /* the guest is told that it starts before it stands still */
    hz_link_pump(vm);
    hz_vmm_stop(notice->vmm, stop_done, vm);
}

void hz_pause_abort(HzNotice *notice)
{
    if (notice->acting) {
        notice->act_until = hz_now() + RECOVER_TIME;
        notice->cut = notice->cut || notice->vm->host->releasing;
        resume(notice);
    }
}

void hz_pause_recover(HzNotice *notice)
{
    if (!notice->act_timer) {
        notice->act_timer = hz_timer_new(time_is_up, notice);
    }
    notice->acting = TRUE;
    notice->act_until = hz_now() + RECOVER_TIME;
    hz_event_notice(notice, "act", "found under way after a restart");
    if (monitor(notice->vm, HZ_VMM_RUNNING)) {
        finish(notice);         /* somebody has continued it: for how long it stood isn't known */
        return;
    }
    /* its time may not be up yet: hzd was away only for a moment */
    hz_timer_set(notice->act_timer, notice->stopped_ns ? notice->stopped_ns +
                                                         notice->n.duration_ns : hz_now());
}

gboolean hz_pause_any(HzHost *host)
{
    g_autoptr(GPtrArray) vms = hz_host_vms_sorted(host);

    for (guint i = 0; i < vms->len; i++) {
        if (hz_pause_of(g_ptr_array_index(vms, i))) {
            return TRUE;
        }
    }
    return FALSE;
}

/* -- from the monitors -------------------------------------------------- */

void hz_pause_monitor(HzVm *vm, HzVmm *vmm)
{
    HzNotice *notice = hz_pause_of(vm);

    if (!notice) {
        return;
    }
    if (!hz_vmm_connected(vmm)) {
        if (notice->vmm == vmm) {
            notice->vmm = NULL;
            notice->act_until = hz_now() + RECOVER_TIME;
            hz_timer_set(notice->act_timer, hz_now());
        }
    } else if (!notice->vmm && hz_vmm_state(vmm) == HZ_VMM_RUNNING) {
        finish(notice);         /* while its monitor was away somebody has continued it */
    }
}

void hz_pause_event(HzVm *vm, HzVmm *vmm, const HzVmmEvent *event)
{
    HzNotice *notice = hz_pause_of(vm);

    if (!notice || (notice->vmm && notice->vmm != vmm)) {
        return;
    }
    if (event->kind == HZ_VMM_STOP) {
        if (!notice->stopped_ns || !notice->stopped_wall_us) {
            gboolean first = !notice->stopped_ns;

            notice->stopped_wall_us = event->wall_us;
            if (first) {
                stopped(notice, event->boot_ns, event->wall_us);
            }
        }
    } else if (event->kind == HZ_VMM_RESUME && notice->stopped_ns) {
        notice->resumed = TRUE;
        notice->measured_ns = notice->stopped_wall_us && event->wall_us > notice->stopped_wall_us
            ? (uint64_t)(event->wall_us - notice->stopped_wall_us) * 1000
            : event->boot_ns - notice->stopped_ns;
        hz_event_notice(notice, "act", "resumed");
        finish(notice);         /* by our cont or another's: it runs */
    }
}

void hz_pause_forget_monitors(HzVm *vm)
{
    HzNotice *notice = hz_pause_of(vm);

    if (notice) {
        notice->vmm = NULL;
        notice->act_until = hz_now() + RECOVER_TIME;
        hz_timer_set(notice->act_timer, hz_now());
    }
}
