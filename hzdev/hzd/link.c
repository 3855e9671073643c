/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd link: connections of devices, from accept to close.
 *
 * What a QEMU may have been turned into by its guest ends here: frames are
 * bounded and checked, read at a bounded rate (a flooding QEMU is read more
 * slowly, which costs only itself), and a frame that makes no sense ends the
 * connection that brought it and nothing else. Nothing is queued for a peer
 * that doesn't read: what is to be told stays marked in the ledger.
 */
#define _GNU_SOURCE         /* accept4, struct ucred */
#include "link.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elect.h"
#include "events.h"
#include "ids.h"
#include "json/channel.h"
#include "link-int.h"
#include "vm.h"

#define LINKS_MAX 16                    /* connections of one VM at once */
#define LINKS_PER_PID 4
#define PARK_TIME (10 * HZ_SEC)         /* so long may it stay unknown who it is */
#define PARK_POLL (200 * HZ_MS)
#define FRAMES_PER_TURN 64
#define FRAME_RATE 2000.0               /* frames a second, after a burst of */
#define FRAME_BURST 4000.0
#define ANSWERS 3                       /* records that follow from one frame of ours, at most */
#define WELCOME_ROOM 64
#define QUIET_TIME (20 * HZ_SEC)        /* heard nothing for so long: PING */

static void link_watch(HzLink *link);
static gboolean link_writable(int fd, GIOCondition cond, gpointer opaque);

/* -- closing ------------------------------------------------------------ */

void hz_link_free(HzLink *link)
{
    HzVm *vm = link->vm;

    g_clear_handle_id(&link->in_source, g_source_remove);
    g_clear_handle_id(&link->out_source, g_source_remove);
    hz_timer_free(link->timer);
    close(link->fd);
    g_ptr_array_remove_fast(vm->links, link);
    if (vm->link == link) {
        vm->link = NULL;
    }
    g_free(link);
}

void hz_link_end(HzLink *link)
{
    HzVm *vm = link->vm;
    gboolean spoke = link->state == HZ_LINK_SPEAKING;

    hz_link_free(link);
    if (spoke) {
        hz_vm_lost(vm, FALSE);
        hz_elect(vm);
    }
}

static void refuse(HzLink *link, const char *why)
{
    link->vm->counters.strangers++;
    hz_event_refused(link->vm, link->pid, link->uid, why);
    hz_link_end(link);
}

static void garbage(HzLink *link, const char *why)
{
    link->vm->counters.garbage++;
    hz_event_refused(link->vm, link->pid, link->uid, why);
    hz_link_end(link);
}

/* -- writing ------------------------------------------------------------ */

static void flush(HzLink *link)
{
    while (link->out_len) {
        ssize_t n = send(link->fd, link->out, link->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;          /* full: wait for room; broken: reading will tell */
        }
        link->out_len -= (size_t)n;
        memmove(link->out, link->out + n, link->out_len);
    }
    if (link->out_len && !link->out_source) {
        link->out_source = g_unix_fd_add(link->fd, G_IO_OUT, link_writable, link);
    }
}

static void fill(HzLink *link)
{
    while (link->state == HZ_LINK_SPEAKING &&
           sizeof(link->out) - link->out_len >= HZ_LINK_MAX_FRAME) {
        int len = hz_vm_next_frame(link->vm, link->out + link->out_len, HZ_LINK_MAX_FRAME);

        if (len <= 0) {
            break;
        }
        link->out_len += (size_t)len;
        link->vm->counters.frames_out++;
        /* what we make it say isn't at its expense */
        hz_bucket_give(&link->frames, ANSWERS);
    }
}

static gboolean link_writable(G_GNUC_UNUSED int fd, G_GNUC_UNUSED GIOCondition cond,
                              gpointer opaque)
{
    HzLink *link = opaque;

    link->out_source = 0;
    flush(link);
    if (!link->out_source) {
        fill(link);
        flush(link);
    }
    return G_SOURCE_REMOVE;
}

void hz_link_pump(HzVm *vm)
{
    if (vm->link && !vm->link->out_source) {
        fill(vm->link);
        flush(vm->link);
    }
}

/* WELCOME, PING: the only frames that aren't state of the ledger. */
void hz_link_put(HzLink *link, const void *frame, size_t len)
{
    if (sizeof(link->out) - link->out_len >= len) {
        memcpy(link->out + link->out_len, frame, len);
        link->out_len += len;
        flush(link);
    }
}

/* -- frames ------------------------------------------------------------- */

/* What is wrong with a HELLO for this VM; NULL: nothing. */
static char *hello_wrong(const HzVm *vm, const struct hz_hello *h)
{
    if (h->version_min > VIRTIO_HZ_VERSION || h->version < VIRTIO_HZ_VERSION_MIN) {
        return g_strdup_printf("it speaks wire versions %u to %u, hzd %u to %u", h->version_min,
                               h->version, VIRTIO_HZ_VERSION_MIN, VIRTIO_HZ_VERSION);
    }
    if (vm->conf->has_uuid && memcmp(vm->conf->uuid, h->vm, VIRTIO_HZ_UUID_LEN)) {
        g_autofree char *has = hz_id_text(h->vm), *wants = hz_id_text(vm->conf->uuid);

        return g_strdup_printf("its VM has the uuid %s, the configuration says %s", has, wants);
    }
    return NULL;
}

static gboolean take_hello(HzLink *link, const uint8_t *body, size_t len)
{
    g_autofree char *wrong = NULL;
    struct hz_hello h;

    if (hz_hello_get(body, len, &h)) {
        garbage(link, "a HELLO that makes no sense");
        return FALSE;
    }
    wrong = hello_wrong(link->vm, &h);
    if (wrong) {
        garbage(link, wrong);
        return FALSE;
    }
    if (sizeof(link->out) - link->out_len < WELCOME_ROOM) {
        garbage(link, "HELLO again without having read what it was told");
        return FALSE;
    }
    /* what it says bounds what we keep for it */
    h.max_notices = CLAMP(h.max_notices, 1, VIRTIO_HZ_MAX_NOTICES);
    h.max_declarations = CLAMP(h.max_declarations, 1, VIRTIO_HZ_MAX_DECLARATIONS);
    link->hello = h;
    link->hello_serial = ++link->vm->hello_serial;
    link->run_state = h.run_state;
    if (link->state != HZ_LINK_SPEAKING) {
        link->state = HZ_LINK_WAITING;
    }
    return hz_elect_hello(link);
}

static gboolean take_runstate(HzLink *link, const uint8_t *body, size_t len)
{
    struct hz_runstate r;

    if (hz_runstate_get(body, len, &r)) {
        garbage(link, "a RUNSTATE that makes no sense");
        return FALSE;
    }
    link->run_state = r.run_state;
    if (link->state == HZ_LINK_SPEAKING) {
        hz_vm_runstate(link->vm, r.run_state);
    }
    if (link->state != HZ_LINK_SUPERSEDED) {
        hz_elect(link->vm);
    }
    return TRUE;
}

static void take_bye(HzLink *link)
{
    gboolean spoke = link->state == HZ_LINK_SPEAKING;

    link->state = HZ_LINK_SILENT;
    if (spoke) {
        link->vm->link = NULL;
        hz_vm_lost(link->vm, TRUE);
        hz_elect(link->vm);
    }
}

/* A frame of the link that speaks for the VM. FALSE: the link is gone. */
static gboolean spoken(HzLink *link, const struct hz_hdr *h, const uint8_t *frame)
{
    const uint8_t *body = frame + HZ_HDR_LEN;
    size_t len = h->len - HZ_HDR_LEN;
    const char *why = NULL;
    struct hz_refused refused;
    struct hz_sync sync;
    struct hz_rec rec;

    switch (h->type) {
    case VIRTIO_HZ_R_STATUS:
    case VIRTIO_HZ_R_DECLARATION:
    case VIRTIO_HZ_R_NOTICE:
        why = hz_record_get(frame, h->len, &rec) ? "a record that makes no sense"
                                                 : hz_vm_record(link->vm, &rec);
        break;
    case HZ_L_SYNC:
        why = hz_sync_get(body, len, &sync) ? "a SYNC that makes no sense" : NULL;
        if (!why) {
            hz_vm_sync(link->vm);
        }
        break;
    case HZ_L_REFUSED:
        why = hz_refused_get(body, len, &refused) ? "a REFUSED that makes no sense" : NULL;
        if (!why) {
            hz_vm_refused(link->vm, h->cookie, &refused);
        }
        break;
    case HZ_L_PONG:
        why = len ? "a PONG with a body" : NULL;
        break;
    default:
        why = "a frame of unknown type";
    }
    if (why) {
        garbage(link, why);
    }
    return !why;
}

static gboolean take_frame(HzLink *link, const uint8_t *frame)
{
    const uint8_t *body = frame + HZ_HDR_LEN;
    struct hz_hdr h;

    hz_hdr_get(frame, &h);
    link->vm->counters.frames_in++;
    switch (h.type) {
    case HZ_L_HELLO:
        return take_hello(link, body, h.len - HZ_HDR_LEN);
    case HZ_L_RUNSTATE:
        if (link->state == HZ_LINK_SILENT) {
            break;
        }
        return take_runstate(link, body, h.len - HZ_HDR_LEN);
    case HZ_L_BYE:
        take_bye(link);
        return TRUE;
    }
    if (link->state == HZ_LINK_SPEAKING) {
        return spoken(link, &h, frame);
    }
    if (link->state == HZ_LINK_SUPERSEDED) {
        return TRUE;        /* it can't know yet; what it says no longer counts */
    }
    garbage(link, "something else than HELLO before its WELCOME");
    return FALSE;
}

/* -- reading ------------------------------------------------------------ */

static gboolean may_read(HzLink *link)
{
    return hz_bucket_left(&link->frames, FRAME_BURST, FRAME_RATE) >= 1;
}

static void throttle(HzLink *link)
{
    link->vm->counters.throttled++;
    hz_timer_set(link->timer, hz_now() + 50 * HZ_MS);
}

/* Handle what is whole. FALSE: the link is gone. */
static gboolean take_frames(HzLink *link, unsigned *budget)
{
    size_t pos = 0;
    int len = 0;

    while (*budget && may_read(link)) {
        len = hz_frame_complete(link->in + pos, link->in_len - pos, HZ_LINK_MAX_FRAME);
        if (len <= 0) {
            break;
        }
        link->frames.spent += 1;
        (*budget)--;
        if (!take_frame(link, link->in + pos)) {
            return FALSE;
        }
        pos += (size_t)len;
    }
    if (len < 0) {
        garbage(link, "a frame whose length can't be");
        return FALSE;
    }
    link->in_len -= pos;
    memmove(link->in, link->in + pos, link->in_len);
    /* what they made hzd say goes out at once */
    hz_link_pump(link->vm);
    return TRUE;
}

/* A whole frame that this turn had no budget for: handled in the next one, before more is read. */
static gboolean left_over(const HzLink *link)
{
    return hz_frame_complete(link->in, link->in_len, HZ_LINK_MAX_FRAME) != 0;
}

static gboolean link_readable(int fd, G_GNUC_UNUSED GIOCondition cond, gpointer opaque)
{
    HzLink *link = opaque;
    unsigned budget = FRAMES_PER_TURN;
    ssize_t n;

    if (!may_read(link)) {
        /* not read until its share has grown again */
        link->in_source = 0;
        throttle(link);
        return G_SOURCE_REMOVE;
    }
    n = read(fd, link->in + link->in_len, sizeof(link->in) - link->in_len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return G_SOURCE_CONTINUE;
    }
    if (n <= 0) {
        link->in_source = 0;
        hz_link_end(link);
        return G_SOURCE_REMOVE;
    }
    link->in_len += (size_t)n;
    link->heard_at = hz_now();
    if (!take_frames(link, &budget)) {
        return G_SOURCE_REMOVE;
    }
    if (left_over(link) || !may_read(link)) {
        link->in_source = 0;
        link_watch(link);
        return G_SOURCE_REMOVE;
    }
    return G_SOURCE_CONTINUE;
}

static void link_timer(gpointer opaque)
{
    HzLink *link = opaque;
    uint64_t now = hz_now();
    unsigned budget = FRAMES_PER_TURN;

    if (link->state == HZ_LINK_PARKED) {
        hz_link_identify(link);
        return;
    }
    if (!link->in_source) {
        if (!may_read(link)) {
            hz_timer_set(link->timer, now + 50 * HZ_MS);
            return;
        }
        if (!take_frames(link, &budget)) {
            return;
        }
        link_watch(link);
        if (!link->in_source) {
            return;
        }
    } else if (link->state == HZ_LINK_SPEAKING && now - link->heard_at >= QUIET_TIME &&
               !link->out_len) {
        uint8_t frame[HZ_HDR_LEN];

        hz_bare_frame(frame, sizeof(frame), HZ_L_PING, 0);
        hz_link_put(link, frame, sizeof(frame));
    }
    hz_timer_set(link->timer, now + QUIET_TIME);
}

static void link_watch(HzLink *link)
{
    if (!may_read(link)) {
        throttle(link);
        return;
    }
    if (left_over(link)) {
        hz_timer_set(link->timer, hz_now() + HZ_MS);
        return;
    }
    link->in_source = g_unix_fd_add_full(G_PRIORITY_DEFAULT, link->fd,
                                         G_IO_IN | G_IO_HUP | G_IO_ERR, link_readable, link,
                                         NULL);
}

/* -- who is it ---------------------------------------------------------- */

void hz_link_identify(HzLink *link)
{
    g_autofree char *why = NULL;

    switch (hz_identity(link->vm, link->pid, link->uid, link->start_time, &why)) {
    case HZ_IDENTITY_YES:
        link->state = HZ_LINK_SILENT;
        hz_event_link(link, "standby");
        hz_timer_set(link->timer, hz_now() + QUIET_TIME);
        link_watch(link);
        break;
    case HZ_IDENTITY_NO:
        refuse(link, why);
        break;
    case HZ_IDENTITY_UNCLEAR:
        if (hz_now() >= link->parked_at + PARK_TIME) {
            refuse(link, why);
        } else {
            hz_timer_set(link->timer, hz_now() + PARK_POLL);
        }
        break;
    }
}

void hz_link_recheck(HzVm *vm)
{
    /* one at a time: identifying can end a link */
    for (guint i = vm->links->len; i > 0; i--) {
        HzLink *link = i <= vm->links->len ? g_ptr_array_index(vm->links, i - 1) : NULL;

        if (link && link->state == HZ_LINK_PARKED) {
            hz_link_identify(link);
        }
    }
}

/* Room for one more? One process can't take all the places; unknown ones give way to newer. */
static gboolean make_room(HzVm *vm, pid_t pid)
{
    HzLink *oldest = NULL;
    unsigned of_pid = 0;

    for (guint i = 0; i < vm->links->len; i++) {
        HzLink *link = g_ptr_array_index(vm->links, i);

        of_pid += link->pid == pid;
        if (link->state == HZ_LINK_PARKED && (!oldest || link->parked_at < oldest->parked_at)) {
            oldest = link;
        }
    }
    if (of_pid >= LINKS_PER_PID) {
        return FALSE;
    }
    if (vm->links->len < LINKS_MAX) {
        return TRUE;
    }
    if (oldest) {
        refuse(oldest, "too many connections that nobody vouched for");
    }
    return oldest != NULL;
}

static void accepted(HzVm *vm, int fd)
{
    struct ucred cred = { 0 };
    socklen_t len = sizeof(cred);
    HzLink *link;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) || !make_room(vm, cred.pid)) {
        vm->counters.strangers++;
        hz_event_refused(vm, cred.pid, cred.uid, "too many connections");
        close(fd);
        return;
    }
    link = g_new0(HzLink, 1);
    link->vm = vm;
    link->fd = fd;
    link->pid = cred.pid;
    link->uid = cred.uid;
    link->start_time = hz_process_start(cred.pid);
    link->state = HZ_LINK_PARKED;
    link->parked_at = link->heard_at = hz_now();
    link->timer = hz_timer_new(link_timer, link);
    g_ptr_array_add(vm->links, link);
    hz_link_identify(link);
}

static gboolean can_accept(int fd, G_GNUC_UNUSED GIOCondition cond, gpointer opaque)
{
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (peer >= 0) {
        accepted(opaque, peer);
    } else if (errno == EMFILE || errno == ENFILE) {
        /* would be ready again at once, for ever: give the loop to those who'll free one */
        g_usleep(1000);
    }
    return G_SOURCE_CONTINUE;
}

gboolean hz_link_listen(HzVm *vm, GError **error)
{
    g_autofree char *file = g_strconcat(vm->name, ".sock", NULL);
    g_autofree char *path = g_build_filename(vm->host->config->run_dir, "vm", file, NULL);

    vm->listen_fd = hz_unix_listen(path, 0660, error);
    if (vm->listen_fd < 0) {
        return FALSE;
    }
    vm->listen_source = g_unix_fd_add(vm->listen_fd, G_IO_IN, can_accept, vm);
    return TRUE;
}

void hz_link_unlisten(HzVm *vm)
{
    g_autofree char *file = g_strconcat(vm->name, ".sock", NULL);
    g_autofree char *path = g_build_filename(vm->host->config->run_dir, "vm", file, NULL);

    if (vm->listen_fd < 0) {
        return;
    }
    g_clear_handle_id(&vm->listen_source, g_source_remove);
    close(vm->listen_fd);
    vm->listen_fd = -1;
    unlink(path);
}
