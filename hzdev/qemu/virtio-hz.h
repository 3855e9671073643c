/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-hz: the channel between a tenant in the guest and its provider.
 *
 * virtio-hz.c is what the guest sees (queues, config space, state),
 * virtio-hz-link.c the stream to the provider's daemon. Between them stands
 * the board (board.h), which both read with a cursor of their
 * own: there is no other path from one to the other.
 */
#ifndef QEMU_VIRTIO_HZ_H
#define QEMU_VIRTIO_HZ_H

#include "chardev/char-fe.h"
#include "hw/virtio/virtio.h"
#include "board.h"
#include "qemu/uuid.h"
#include "qom/object.h"
#include "virtio-hz-compat.h"

#define TYPE_VIRTIO_HZ "virtio-hz-device"
OBJECT_DECLARE_SIMPLE_TYPE(VirtIOHZ, VIRTIO_HZ)

typedef enum VirtIOHZLinkState {
    VIRTIO_HZ_LINK_CLOSED,      /* nobody at the other end */
    VIRTIO_HZ_LINK_STANDBY,     /* connected and silent: the VM hasn't run */
    VIRTIO_HZ_LINK_HELLO,       /* HELLO said, no WELCOME yet */
    VIRTIO_HZ_LINK_UP,          /* a provider is present */
} VirtIOHZLinkState;

typedef struct VirtIOHZLink {
    VirtIOHZLinkState state;
    /*
     * This connection has carried an earlier session: frames of that one may
     * still come in and mean nothing.
     */
    bool renewed;
    bool sync_due;
    bool runstate_due;
    struct hz_cursor cursor;
    guint watch;                /* set while the peer takes no more bytes */

    size_t in_len;
    size_t out_len, out_pos;
    size_t answer_len;
    uint8_t in[HZ_LINK_MAX_FRAME];
    uint8_t out[HZ_LINK_MAX_FRAME];
    uint8_t answer[32];         /* a REFUSED or PONG that waits for out */
} VirtIOHZLink;

struct VirtIOHZ {
    VirtIODevice parent_obj;

    VirtQueue *request_vq;
    VirtQueue *event_vq;
    QEMUBH *bh;                 /* all work on queues and link happens here */
    VMChangeStateEntry *vmstate;

    struct hz_board *board;
    struct hz_cursor bell;      /* what the guest has been rung for */
    VirtIOHZLink link;

    bool running;               /* guest memory may be touched */
    bool has_run;               /* since power-on, hot-plug or load */
    bool loaded;                /* and hasn't run since */
    bool left;                  /* stopped to migrate away */
    bool config_dirty;
    uint64_t stopped_at;        /* 0: not by a stop we saw */

    /* what a migration stream said, until post_load has judged it */
    uint16_t mig_limits[3];
    uint8_t mig_generation[VIRTIO_HZ_UUID_LEN];
    uint32_t mig_config_generation;
    uint32_t state_len;
    uint8_t *state;             /* HZ_BOARD_STATE_MAX bytes */

    uint64_t bells;
    uint64_t refusals;
    uint64_t link_sessions;

    /* properties */
    HZCharFrontend chr;
    struct hz_board_limits limits;
    QemuUUID generation;        /* all zero: not given */
    bool keep_declarations;

    uint8_t request[VIRTIO_HZ_MAX_FRAME];
    uint8_t response[VIRTIO_HZ_MAX_RESPONSE];
    uint8_t record[VIRTIO_HZ_MAX_FRAME];
};

/* Nanoseconds of the host's CLOCK_BOOTTIME, which counts sleep as well. */
uint64_t virtio_hz_now(void);

/* A provider came or went: tell the board, and the guest when it may be. */
void virtio_hz_set_provider(VirtIOHZ *s, bool present);

/* virtio-hz-link.c; input and output return true while work is left */
void virtio_hz_link_open(VirtIOHZ *s);
void virtio_hz_link_shut(VirtIOHZ *s);
bool virtio_hz_link_input(VirtIOHZ *s);
bool virtio_hz_link_output(VirtIOHZ *s);
/* The session is over though the connection stands: HELLO comes again. */
void virtio_hz_link_renew(VirtIOHZ *s);
/* The VM stopped or runs. */
void virtio_hz_link_runstate(VirtIOHZ *s);

#endif /* QEMU_VIRTIO_HZ_H */
