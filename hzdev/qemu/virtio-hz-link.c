/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-hz: the link, a byte stream between the device and the provider.
 *
 * The stream carries the frames of docs/virtio-hz.md, "Link". The device says
 * HELLO once the VM runs, and after WELCOME tells the whole board and then
 * what changes, both by one cursor over the board. There is exactly one
 * outgoing frame, written as the chardev takes it, and one slot for an answer;
 * while that is taken no input is processed. So a peer that stops reading, or
 * that floods, costs the VM neither memory nor time.
 *
 * Everything here runs in the device's bottom half or a chardev callback that
 * does no more than copy bytes and schedule it. Guest memory isn't touched.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "virtio-hz.h"
#include "trace/trace-hw_virtio.h"

/* Frames taken or begun in one pass of the bottom half. */
#define LINK_BUDGET 64

/* What the handler of a frame says beside 0 and -VIRTIO_HZ_E_*. */
#define LINK_BROKEN (-1000)

static void link_set_state(VirtIOHZ *s, VirtIOHZLinkState state)
{
    static const char *const names[] = {
        [VIRTIO_HZ_LINK_CLOSED] = "closed",
        [VIRTIO_HZ_LINK_STANDBY] = "standby",
        [VIRTIO_HZ_LINK_HELLO] = "hello",
        [VIRTIO_HZ_LINK_UP] = "up",
    };
    bool was_up = s->link.state == VIRTIO_HZ_LINK_UP;

    s->link.state = state;
    trace_virtio_hz_link(names[state], s->link_sessions);
    if (was_up != (state == VIRTIO_HZ_LINK_UP)) {
        virtio_hz_set_provider(s, !was_up);
    }
}

static void link_forget_session(VirtIOHZ *s)
{
    VirtIOHZLink *l = &s->link;

    l->sync_due = false;
    l->runstate_due = false;
    l->answer_len = 0;
    memset(&l->cursor, 0, sizeof(l->cursor));
}

static void link_down(VirtIOHZ *s)
{
    VirtIOHZLink *l = &s->link;

    if (l->watch) {
        g_source_remove(l->watch);
        l->watch = 0;
    }
    link_forget_session(s);
    l->in_len = l->out_len = l->out_pos = 0;
    l->renewed = false;
    if (l->state != VIRTIO_HZ_LINK_CLOSED) {
        link_set_state(s, VIRTIO_HZ_LINK_CLOSED);
    }
}

/* The peer broke the protocol. Most chardevs report CLOSED from in here. */
static void link_break(VirtIOHZ *s)
{
    s->refusals++;
    link_down(s);
    qemu_chr_fe_disconnect(&s->chr);
}

/* -- input -------------------------------------------------------------- */

static int link_take_welcome(VirtIOHZ *s, const uint8_t *body, size_t len)
{
    VirtIOHZLink *l = &s->link;
    struct hz_welcome w;

    if (hz_welcome_get(body, len, &w) < 0 ||
        w.version < VIRTIO_HZ_VERSION_MIN || w.version > VIRTIO_HZ_VERSION) {
        return LINK_BROKEN;
    }
    if (l->state != VIRTIO_HZ_LINK_HELLO) {
        /* May be the answer to the HELLO before the last one. */
        return l->renewed ? 0 : LINK_BROKEN;
    }
    link_forget_session(s);
    l->sync_due = true;
    s->link_sessions++;
    link_set_state(s, VIRTIO_HZ_LINK_UP);
    return 0;
}

static int link_take_notice(VirtIOHZ *s, const uint8_t *body, size_t len)
{
    struct hz_notice n;
    int ret = hz_notice_get(body, len, &n);

    return ret < 0 ? ret : hz_board_set_notice(s->board, &n, virtio_hz_now());
}

static int link_take_drop(VirtIOHZ *s, const uint8_t *body, size_t len)
{
    uint8_t id[VIRTIO_HZ_UUID_LEN];
    int ret = hz_drop_notice_get(body, len, id);

    return ret < 0 ? ret : hz_board_drop_notice(s->board, id);
}

static int link_take_verdicts(VirtIOHZ *s, const uint8_t *body, size_t len)
{
    struct hz_set_verdicts v;
    int ret = hz_set_verdicts_get(body, len, &v);

    return ret < 0 ? ret : hz_board_set_verdicts(s->board, &v);
}

static int link_take_ping(VirtIOHZ *s, const struct hz_hdr *h)
{
    int len;

    if (h->len != HZ_HDR_LEN) {
        return LINK_BROKEN;
    }
    len = hz_bare_frame(s->link.answer, sizeof(s->link.answer), HZ_L_PONG,
                        h->cookie);
    s->link.answer_len = MAX(len, 0);
    return 0;
}

/* One whole frame of the peer's: 0, -VIRTIO_HZ_E_* to refuse, LINK_BROKEN. */
static int link_take(VirtIOHZ *s, const uint8_t *frame, const struct hz_hdr *h)
{
    const uint8_t *body = frame + HZ_HDR_LEN;
    size_t len = h->len - HZ_HDR_LEN;

    if (h->type == HZ_L_WELCOME && !h->flags) {
        return link_take_welcome(s, body, len);
    }
    if (s->link.state != VIRTIO_HZ_LINK_UP) {
        return s->link.renewed ? 0 : LINK_BROKEN;
    }
    if (h->type < HZ_L_WELCOME || h->type > HZ_L_PING) {
        return LINK_BROKEN;
    }
    if (h->flags) {
        return -VIRTIO_HZ_E_UNSUPP;
    }
    switch (h->type) {
    case HZ_L_SET_NOTICE:
        return link_take_notice(s, body, len);
    case HZ_L_DROP_NOTICE:
        return link_take_drop(s, body, len);
    case HZ_L_SET_VERDICTS:
        return link_take_verdicts(s, body, len);
    default:
        return link_take_ping(s, h);
    }
}

static void link_refuse(VirtIOHZ *s, const struct hz_hdr *h, int status)
{
    struct hz_refused r = { .status = -status, .type = h->type };
    int len = hz_refused_frame(s->link.answer, sizeof(s->link.answer),
                               h->cookie, &r);

    s->link.answer_len = MAX(len, 0);
    s->refusals++;
}

bool virtio_hz_link_input(VirtIOHZ *s)
{
    VirtIOHZLink *l = &s->link;
    size_t pos = 0;
    int budget;

    for (budget = LINK_BUDGET; budget && !l->answer_len; budget--) {
        struct hz_hdr h;
        int len = hz_frame_complete(l->in + pos, l->in_len - pos,
                                    HZ_LINK_MAX_FRAME);
        int status;

        if (!len) {
            break;
        }
        status = LINK_BROKEN;
        if (len > 0) {
            hz_hdr_get(l->in + pos, &h);
            status = link_take(s, l->in + pos, &h);
            trace_virtio_hz_link_take(h.type, status);
        }
        if (status == LINK_BROKEN) {
            link_break(s);
            return false;
        }
        if (status < 0) {
            link_refuse(s, &h, status);
        }
        pos += len;
    }
    if (pos) {
        l->in_len -= pos;
        memmove(l->in, l->in + pos, l->in_len);
        qemu_chr_fe_accept_input(&s->chr);
    }
    return !budget;
}

static int link_can_read(void *opaque)
{
    VirtIOHZLink *l = &VIRTIO_HZ(opaque)->link;

    return l->state == VIRTIO_HZ_LINK_CLOSED ? 0 : sizeof(l->in) - l->in_len;
}

static void link_read(void *opaque, const uint8_t *buf, int size)
{
    VirtIOHZ *s = VIRTIO_HZ(opaque);
    VirtIOHZLink *l = &s->link;

    assert(size >= 0 && (size_t)size <= sizeof(l->in) - l->in_len);
    memcpy(l->in + l->in_len, buf, size);
    l->in_len += size;
    qemu_bh_schedule(s->bh);
}

/* -- output ------------------------------------------------------------- */

static gboolean link_writable(void *do_not_use, GIOCondition cond, void *opaque)
{
    VirtIOHZ *s = opaque;

    s->link.watch = 0;
    qemu_bh_schedule(s->bh);
    return G_SOURCE_REMOVE;
}

/* Write what is left of the frame. false when the peer takes no more now. */
static bool link_flush(VirtIOHZ *s)
{
    VirtIOHZLink *l = &s->link;

    while (l->out_pos < l->out_len) {
        int n = qemu_chr_fe_write(&s->chr, l->out + l->out_pos,
                                  l->out_len - l->out_pos);

        if (l->state == VIRTIO_HZ_LINK_CLOSED) {
            return false;
        }
        if (n <= 0) {
            l->watch = qemu_chr_fe_add_watch(&s->chr, G_IO_OUT | G_IO_HUP,
                                             link_writable, s);
            return false;
        }
        l->out_pos += n;
    }
    l->out_len = l->out_pos = 0;
    return true;
}

static int link_hello(VirtIOHZ *s)
{
    struct hz_hello h = {
        .magic = VIRTIO_HZ_MAGIC,
        .version = VIRTIO_HZ_VERSION,
        .version_min = VIRTIO_HZ_VERSION_MIN,
        .disruption = hz_board_disruption(s->board),
        .board_version = hz_board_version(s->board),
        .run_state = s->running ? HZ_RUN_RUNNING : HZ_RUN_PAUSED,
        .max_declarations = s->limits.declarations,
        .max_notices = s->limits.notices,
        .max_doc = s->limits.doc,
    };

    if (qemu_uuid_set) {
        memcpy(h.vm, qemu_uuid.data, sizeof(h.vm));
    }
    memcpy(h.generation, hz_board_generation(s->board), sizeof(h.generation));
    link_set_state(s, VIRTIO_HZ_LINK_HELLO);
    return hz_hello_frame(s->link.out, sizeof(s->link.out), &h);
}

static int link_tell(VirtIOHZ *s)
{
    VirtIOHZLink *l = &s->link;
    int len;

    if (l->answer_len) {
        len = l->answer_len;
        memcpy(l->out, l->answer, len);
        l->answer_len = 0;
        return len;
    }
    if (l->runstate_due) {
        struct hz_runstate r = {
            .run_state = s->running ? HZ_RUN_RUNNING : HZ_RUN_PAUSED,
        };

        l->runstate_due = false;
        return hz_runstate_frame(l->out, sizeof(l->out), &r);
    }
    len = hz_board_next(s->board, &l->cursor, l->out, sizeof(l->out),
                        virtio_hz_now());
    if (!len && l->sync_due) {
        struct hz_sync sync = { .board_version = hz_board_version(s->board) };

        l->sync_due = false;
        return hz_sync_frame(l->out, sizeof(l->out), &sync);
    }
    return len;
}

/* Build the next frame. Its length; 0 when there is nothing to say. */
static int link_next(VirtIOHZ *s)
{
    switch (s->link.state) {
    case VIRTIO_HZ_LINK_STANDBY:
        return s->has_run ? link_hello(s) : 0;
    case VIRTIO_HZ_LINK_UP:
        return link_tell(s);
    default:
        return 0;
    }
}

bool virtio_hz_link_output(VirtIOHZ *s)
{
    VirtIOHZLink *l = &s->link;
    bool answered = false;
    int budget;

    for (budget = LINK_BUDGET; budget; budget--) {
        int len;

        if (l->watch || !link_flush(s)) {
            return false;
        }
        answered |= l->answer_len;
        len = link_next(s);
        if (len <= 0) {
            /* Frames may have waited for the answer's slot. */
            return answered && l->in_len;
        }
        l->out_len = len;
    }
    return true;
}

/* -- life --------------------------------------------------------------- */

void virtio_hz_link_renew(VirtIOHZ *s)
{
    VirtIOHZLink *l = &s->link;

    if (l->state == VIRTIO_HZ_LINK_CLOSED ||
        l->state == VIRTIO_HZ_LINK_STANDBY) {
        return;
    }
    if (!l->out_pos) {
        l->out_len = 0;         /* not begun: it needn't go out */
    }
    link_forget_session(s);
    l->renewed = true;
    link_set_state(s, VIRTIO_HZ_LINK_STANDBY);
}

void virtio_hz_link_runstate(VirtIOHZ *s)
{
    if (s->link.state == VIRTIO_HZ_LINK_HELLO) {
        virtio_hz_link_renew(s);
    } else if (s->link.state == VIRTIO_HZ_LINK_UP) {
        s->link.runstate_due = true;
    }
}

static void link_event(void *opaque, QEMUChrEvent event)
{
    VirtIOHZ *s = VIRTIO_HZ(opaque);

    switch (event) {
    case CHR_EVENT_OPENED:
        link_down(s);
        link_set_state(s, VIRTIO_HZ_LINK_STANDBY);
        qemu_bh_schedule(s->bh);
        break;
    case CHR_EVENT_CLOSED:
        link_down(s);
        qemu_bh_schedule(s->bh);
        break;
    default:
        break;
    }
}

void virtio_hz_link_open(VirtIOHZ *s)
{
    qemu_chr_fe_set_handlers(&s->chr, link_can_read, link_read, link_event,
                             NULL, s, NULL, true);
}

/* Unplugged: say so if a word can still be got in, and hang up. */
void virtio_hz_link_shut(VirtIOHZ *s)
{
    VirtIOHZLink *l = &s->link;

    if (l->state == VIRTIO_HZ_LINK_UP && !l->out_len) {
        int len = hz_bare_frame(l->out, sizeof(l->out), HZ_L_BYE, 0);

        if (len > 0) {
            qemu_chr_fe_write(&s->chr, l->out, len);
        }
    }
    qemu_chr_fe_set_handlers(&s->chr, NULL, NULL, NULL, NULL, NULL, NULL,
                             false);
    if (l->state != VIRTIO_HZ_LINK_CLOSED) {
        qemu_chr_fe_disconnect(&s->chr);
    }
    link_down(s);
}
