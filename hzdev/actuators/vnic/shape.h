/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic shape: from a rate and a burst to everything that is set on one queue.
 *
 * Pure arithmetic. The bucket: HTB lets a packet go while the bucket isn't
 * overdrawn, so what passes at once is the bucket plus one largest packet; a
 * burst is therefore met by a bucket smaller by that packet, and never smaller
 * than what the rate needs to survive a late timer. The leaf: at low rates one
 * frame takes longer than fq_codel's default target, which would then drop
 * from a queue of one; target and interval grow with the time of a frame.
 */
#ifndef HZ_VNIC_SHAPE_H
#define HZ_VNIC_SHAPE_H

#include <glib.h>

/* The leaf: what shares the rate out between flows. In falling order of merit. */
typedef enum {
    HZ_LEAF_FQ_CODEL,
    HZ_LEAF_SFQ,
    HZ_LEAF_PFIFO,
    HZ_LEAF_N,
} HzLeaf;

const char *hz_leaf_name(HzLeaf leaf);
HzLeaf hz_leaf_from_name(const char *name);         /* HZ_LEAF_N: none of these */

#define HZ_RATE_LEAST 1000                          /* bytes/s: 8 kbit/s */

typedef struct {
    guint64 rate;               /* bytes/s, of Ethernet frames without preamble and FCS */
    guint32 ticks;              /* HTB's bucket, as time at that rate, in units of 64 ns */
    guint32 quantum;            /* HTB's; decides nothing with one class, but must be sane */
    HzLeaf leaf;
    guint32 limit;              /* packets */
    guint32 leaf_quantum;       /* fq_codel, sfq: bytes */
    guint32 target_us;          /* fq_codel */
    guint32 interval_us;        /* fq_codel */
} HzShape;

/* @burst 0: as little as the rate needs. @largest: the largest packet the device is handed. */
void hz_shape_make(HzShape *shape, guint64 rate, guint64 burst, guint32 mtu, guint32 largest,
                   HzLeaf leaf);
/* The most bytes that can pass at once with it. */
guint64 hz_shape_burst(const HzShape *shape, guint32 largest);
/* Equal, but for what the kernel rounds. */
gboolean hz_shape_same_class(const HzShape *a, const HzShape *b);
gboolean hz_shape_same_leaf(const HzShape *a, const HzShape *b);

#endif /* HZ_VNIC_SHAPE_H */
