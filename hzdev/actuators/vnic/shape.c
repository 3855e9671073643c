/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic shape: from a rate and a burst to everything that is set on one queue. */
#include "shape.h"

#include <string.h>

#define TICK_NS      64                     /* the kernel's PSCHED_SHIFT of 6, since 2.6.31 */
#define ETH_HEADER   14
#define BUCKET_NS    (4 * G_TIME_SPAN_MILLISECOND * 1000)   /* a timer this late loses no rate */
#define PFIFO_NS     (50 * G_TIME_SPAN_MILLISECOND * 1000)  /* time a full pfifo stands for */
#define CODEL_TARGET_US    5000             /* fq_codel's defaults */
#define CODEL_INTERVAL_US  100000
#define SMALL_QUANTUM_RATE 12500000         /* under 100 Mbit/s small packets get a head start */
#define SMALL_QUANTUM      300

static const char *const leaf_names[HZ_LEAF_N] = {
    [HZ_LEAF_FQ_CODEL] = "fq_codel",
    [HZ_LEAF_SFQ] = "sfq",
    [HZ_LEAF_PFIFO] = "pfifo",
};

const char *hz_leaf_name(HzLeaf leaf)
{
    return leaf < HZ_LEAF_N ? leaf_names[leaf] : "none";
}

HzLeaf hz_leaf_from_name(const char *name)
{
    HzLeaf leaf = 0;

    while (leaf < HZ_LEAF_N && strcmp(leaf_names[leaf], name) != 0) {
        leaf++;
    }
    return leaf;
}

static guint64 bytes_in(guint64 rate, guint64 ns)
{
    return (guint64)((unsigned __int128)rate * ns / 1000000000);
}

static guint64 time_of(guint64 bytes, guint64 rate)
{
    unsigned __int128 ns = (unsigned __int128)bytes * 1000000000 / rate;

    return ns > G_MAXINT64 ? G_MAXINT64 : (guint64)ns;
}

static void make_leaf(HzShape *shape, guint32 frame)
{
    guint64 frame_us = time_of(frame, shape->rate) / 1000;
    guint64 target = MAX(CODEL_TARGET_US, frame_us + frame_us / 2);

    switch (shape->leaf) {
    case HZ_LEAF_FQ_CODEL:
        /* Memory, not packets, is the bound that counts (tc.c); target: 1.5 frames at least. */
        shape->limit = 10240;
        shape->leaf_quantum = shape->rate < SMALL_QUANTUM_RATE ? SMALL_QUANTUM : frame;
        shape->target_us = MIN(target, 10000000);
        shape->interval_us = CODEL_INTERVAL_US + shape->target_us - CODEL_TARGET_US;
        break;
    case HZ_LEAF_SFQ:
        shape->limit = 1000;
        shape->leaf_quantum = frame;
        break;
    default:
        /* One queue for all: its length is everybody's delay, so it follows the rate. */
        shape->limit = CLAMP(bytes_in(shape->rate, PFIFO_NS) / frame, 32, 1000);
        break;
    }
}

void hz_shape_make(HzShape *shape, guint64 rate, guint64 burst, guint32 mtu, guint32 largest,
                   HzLeaf leaf)
{
    guint32 frame = mtu + ETH_HEADER;
    guint64 least = MAX(frame, bytes_in(rate, BUCKET_NS));
    guint64 bucket = burst > largest ? burst - largest : 0;

    memset(shape, 0, sizeof(*shape));
    shape->rate = rate;
    shape->ticks = CLAMP(time_of(MAX(bucket, least), rate) / TICK_NS, 1, G_MAXUINT32);
    shape->quantum = CLAMP(rate / 100, frame, 60000);
    shape->leaf = leaf;
    make_leaf(shape, frame);
}

guint64 hz_shape_burst(const HzShape *shape, guint32 largest)
{
    return bytes_in(shape->rate, (guint64)shape->ticks * TICK_NS) + largest;
}

gboolean hz_shape_same_class(const HzShape *a, const HzShape *b)
{
    return a->rate == b->rate && a->ticks == b->ticks && a->quantum == b->quantum;
}

static gboolean close_to(guint32 a, guint32 b)
{
    /* fq_codel keeps time in units of 1024 ns. */
    return MAX(a, b) - MIN(a, b) <= 2;
}

gboolean hz_shape_same_leaf(const HzShape *a, const HzShape *b)
{
    return a->leaf == b->leaf && a->limit == b->limit && a->leaf_quantum == b->leaf_quantum &&
           close_to(a->target_us, b->target_us) && close_to(a->interval_us, b->interval_us);
}
