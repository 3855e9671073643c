/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd elect: which of a VM's links speaks for it. */
#include "elect.h"

#include <string.h>

#include "link-int.h"
#include "vm.h"

static gboolean beats(const HzLink *a, const HzLink *b)
{
    if (a->run_state != b->run_state) {
        return a->run_state == HZ_RUN_RUNNING;
    }
    if (!memcmp(a->hello.generation, b->hello.generation, VIRTIO_HZ_UUID_LEN) &&
        a->hello.disruption != b->hello.disruption) {
        return a->hello.disruption > b->hello.disruption;
    }
    return a->hello_serial > b->hello_serial;
}

static void welcome(HzLink *link)
{
    struct hz_welcome w = { .version = MIN(link->hello.version, VIRTIO_HZ_VERSION) };
    uint8_t frame[HZ_HDR_LEN + 8];
    int len = hz_welcome_frame(frame, sizeof(frame), &w);

    link->state = HZ_LINK_SPEAKING;
    link->vm->link = link;
    hz_vm_session(link->vm, &link->hello);
    hz_link_put(link, frame, (size_t)len);
}

/* The first that has said HELLO and isn't beaten by another. */
static HzLink *best_of(const HzVm *vm)
{
    HzLink *best = NULL;

    for (guint i = 0; i < vm->links->len; i++) {
        HzLink *link = g_ptr_array_index(vm->links, i);

        if ((link->state == HZ_LINK_WAITING || link->state == HZ_LINK_SPEAKING) &&
            (!best || beats(link, best))) {
            best = link;
        }
    }
    return best;
}

static HzLink *first_superseded(const HzVm *vm)
{
    for (guint i = 0; i < vm->links->len; i++) {
        HzLink *link = g_ptr_array_index(vm->links, i);

        if (link->state == HZ_LINK_SUPERSEDED) {
            return link;
        }
    }
    return NULL;
}

void hz_elect(HzVm *vm)
{
    HzLink *best = best_of(vm), *old = vm->link;

    if (best && best != old) {
        if (old) {
            old->state = HZ_LINK_SUPERSEDED;
            hz_event_link(old, "superseded");
        }
        welcome(best);
    }
    while (!best && (old = first_superseded(vm))) {
        /* it told its whole board long ago: let it connect and begin anew */
        hz_link_end(old);
    }
}

gboolean hz_elect_hello(HzLink *link)
{
    HzVm *vm = link->vm;

    if (vm->link == link) {
        /* its state was loaded, or it resumed: a new session on the same connection */
        if (best_of(vm) == link) {
            welcome(link);
        } else {
            link->state = HZ_LINK_WAITING;
            vm->link = NULL;
            hz_elect(vm);
        }
        return TRUE;
    }
    hz_elect(vm);
    if (link->state == HZ_LINK_WAITING) {
        hz_event_link(link, "standby");
    }
    return TRUE;
}
