/* SPDX-License-Identifier: MIT */
/* libhz's requests: declare, withdraw, reply. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* libhz.h stands alone; its numbers are the interface's. */
_Static_assert(HZ_ID_LEN == VIRTIO_HZ_UUID_LEN, "ids");
_Static_assert(HZ_SUBJECT_LEN == VIRTIO_HZ_KEY_LEN, "subjects");
_Static_assert((int)HZ_REPLY_FAILED == VIRTIO_HZ_REPLY_MAX, "replies");
_Static_assert((int)HZ_RECORDED == VIRTIO_HZ_VERDICT_MAX, "verdicts");
_Static_assert((int)HZ_SUPERSEDED == VIRTIO_HZ_STATE_MAX, "states");
_Static_assert((int)HZ_COMPLETED == VIRTIO_HZ_STATE_COMPLETED, "closed states");
_Static_assert((int)HZ_ACK_NEGOTIATE == VIRTIO_HZ_ACK_MAX, "acknowledgements");
_Static_assert(HZ_REPLACE_ANY == VIRTIO_HZ_SEQ_ANY, "sequences");
_Static_assert(HZ_REPLACE_NONE == VIRTIO_HZ_SEQ_NEW, "sequences");
_Static_assert((uint64_t)HZ_TIME_UNKNOWN == VIRTIO_HZ_NS_UNKNOWN, "times");

#define TRIES 5

/* A reset cuts off what is under way; asked again, the driver waits until it is over. */
static int request(struct hz *hz, unsigned long what, void *arg)
{
    int r = -EAGAIN, i;

    for (i = 0; i < TRIES && r == -EAGAIN; i++) {
        r = hz->t->ioctl(hz->fd, what, arg);
    }
    return r;
}

int hz_declare(struct hz *hz, struct hz_draft *d, uint64_t replaces,
               unsigned flags, uint64_t *seq)
{
    struct hz_declare arg = { .size = sizeof(arg) };
    int r = hz_draft_check(d);

    if (r < 0) {
        return r;
    }
    if (flags & ~HZ_PERSIST) {
        snprintf(d->error, sizeof(d->error), "flags 0x%x: only HZ_PERSIST is known", flags);
        return -EINVAL;
    }
    arg.flags = flags & HZ_PERSIST ? HZ_DECLARE_PERSIST : 0;
    memcpy(arg.subject, d->key, sizeof(arg.subject));
    arg.seq = replaces;
    arg.doc = (uintptr_t)d->doc;
    arg.doc_len = (uint32_t)d->len;
    r = request(hz, HZ_IOC_DECLARE, &arg);
    if (r < 0) {
        snprintf(d->error, sizeof(d->error), "%s: %s", d->subject, hz_strerror(r));
        return r;
    }
    if (seq) {
        *seq = arg.seq;
    }
    return 0;
}

int hz_withdraw(struct hz *hz, const char *subject, uint64_t replaces)
{
    struct hz_declare arg = { .size = sizeof(arg), .seq = replaces };

    if (!hz_subject_put(arg.subject, subject)) {
        return -EINVAL;
    }
    return request(hz, HZ_IOC_WITHDRAW, &arg);
}

static int reply(struct hz *hz, const struct hz_ev_notice *notice,
                 enum hz_reply_code code, uint64_t arg, const void *doc, size_t doc_len)
{
    struct hz_reply r = {
        .size = sizeof(r),
        .code = (uint16_t)code,
        .doc_len = (uint16_t)doc_len,
        .revision = notice->revision,
        .arg = arg,
        .doc = (uintptr_t)doc,
    };

    memcpy(r.id, notice->id, sizeof(r.id));
    memcpy(r.generation, notice->generation, sizeof(r.generation));
    return request(hz, HZ_IOC_REPLY, &r);
}

int hz_reply(struct hz *hz, const struct hz_ev_notice *notice,
             enum hz_reply_code code, uint64_t arg)
{
    bool takes_arg = code == HZ_REPLY_EXTEND || code == HZ_REPLY_DEFER ||
                     code == HZ_REPLY_FAILED;

    if (code <= HZ_REPLY_NONE || code > HZ_REPLY_FAILED || code == HZ_REPLY_COUNTER ||
        (arg && !takes_arg)) {
        return -EINVAL;
    }
    return reply(hz, notice, code, arg, NULL, 0);
}

int hz_counter(struct hz *hz, const struct hz_ev_notice *notice, struct hz_draft *d)
{
    int r = hz_draft_check(d);

    if (r < 0) {
        return r;
    }
    if (d->len > VIRTIO_HZ_MAX_REPLY_DOC) {
        snprintf(d->error, sizeof(d->error), "a counter offer has at most %d bytes, this has %zu",
                 VIRTIO_HZ_MAX_REPLY_DOC, d->len);
        return -EMSGSIZE;
    }
    return reply(hz, notice, HZ_REPLY_COUNTER, 0, d->doc, d->len);
}
