/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic line: one NIC of the plan: what is wanted, what is known to be there.
 *
 * *Settled* means that the kernel has `have` there, as of all notifications
 * that have come: then a new rate is two requests and no look. Otherwise the
 * kernel is looked at first and only what differs is done, so applying the same
 * plan twice, or after a restart, touches nothing.
 */
#ifndef HZ_VNIC_LINE_H
#define HZ_VNIC_LINE_H

#include "datapath.h"

typedef enum {
    HZ_LINE_APPLIED,
    HZ_LINE_UNCHANGED,
    HZ_LINE_WOULD_APPLY,
    HZ_LINE_FAILED,
    HZ_LINE_UNSUPPORTED,
} HzLineState;

const char *hz_line_state_name(HzLineState state);

typedef struct {
    char *key, *ifname;
    /* the plan */
    gboolean shape;
    guint64 rate, burst;
    guint64 static_rate;        /* what stays when hzd does not come back; 0 nothing */
    /* the kernel, as known */
    gboolean settled;
    const HzDatapath *datapath; /* NULL: nothing of ours is known to be there */
    int ifindex, ifb;
    guint32 mtu, largest;
    HzShape have;
    /* how the last try ended */
    HzLineState state;
    char detail[256];
    /* other hands (watch.c) */
    guint strikes;
    gint64 last_strike;         /* monotonic, µs */
    guint retry;                /* GSource, 0 none */
    gboolean dirty;
} HzLine;

HzLine *hz_line_new(const char *key, const char *ifname);
void hz_line_free(HzLine *line);

/* The queue this line asks for, on a device of this MTU and largest packet. */
void hz_line_want(const HzLine *line, guint32 mtu, guint32 largest, HzLeaf leaf, HzShape *want);
guint32 hz_largest_packet(const HzLink *nic);

/* The note kept at the ifb, and the static rate out of one. */
char *hz_line_note(const HzLine *line);
guint64 hz_note_static_rate(const char *note);

/* TRUE when the short way was good (or nothing was to do); the result is in state, detail. */
gboolean hz_line_quick(HzLine *line, HzRtnl *rtnl, HzLeaf leaf);
/* Look, then do what differs; with @dry only say so. */
void hz_line_converge(HzLine *line, HzScene *scene, HzLeaf leaf, gboolean dry);
/* Nothing of ours is known to be there any more. */
void hz_line_forget_kernel(HzLine *line);
/* Take all of ours away there. */
gboolean hz_line_clear(HzLine *line, HzScene *scene, GError **error);
/* What differs from what was set, into @what; FALSE when nothing does. */
gboolean hz_line_differs(HzLine *line, HzScene *scene, char *what, size_t cap);

#endif /* HZ_VNIC_LINE_H */
