/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic shape: buckets and leaves from rates. */
#include <glib.h>

#include "shape.h"

#define MBIT 125000ULL
#define MTU  1500
#define GSO  65536

static HzShape shape_of(guint64 rate, guint64 burst, HzLeaf leaf)
{
    HzShape shape;

    hz_shape_make(&shape, rate, burst, MTU, GSO, leaf);
    return shape;
}

static void test_bucket_least(void)
{
    HzShape shape = shape_of(100 * MBIT, 0, HZ_LEAF_PFIFO);

    /* 4 ms, in ticks of 64 ns, whatever the rate … */
    g_assert_cmpuint(shape.ticks, ==, 4000000 / 64);
    shape = shape_of(100000 * MBIT, 1, HZ_LEAF_PFIFO);
    g_assert_cmpuint(shape.ticks, ==, 4000000 / 64);
    /* … but one frame at least: 1514 bytes at 1000 B/s are 1.514 s. */
    shape = shape_of(1000, 0, HZ_LEAF_PFIFO);
    g_assert_cmpuint(shape.ticks, ==, 1514000000ULL / 64);
}

static void test_bucket_asked(void)
{
    /* 1 MB/s; bucket and largest packet are the burst: 200000 - 65536 bytes are 134.464 ms. */
    HzShape shape = shape_of(1000000, 200000, HZ_LEAF_PFIFO);

    g_assert_cmpuint(shape.ticks, ==, 134464000ULL / 64);
    g_assert_cmpuint(hz_shape_burst(&shape, GSO), ==, 200000);
}

static void test_bucket_most(void)
{
    /* 2^32 - 1 ticks of 64 ns are 274 s: more isn't to be said to the kernel. */
    HzShape shape = shape_of(1000, G_MAXUINT64, HZ_LEAF_PFIFO);

    g_assert_cmpuint(shape.ticks, ==, G_MAXUINT32);
    shape = shape_of(G_MAXINT64, G_MAXUINT64, HZ_LEAF_PFIFO);
    g_assert_cmpuint(shape.ticks, >=, 1);
}

static void test_fq_codel(void)
{
    HzShape shape = shape_of(1000 * MBIT, 0, HZ_LEAF_FQ_CODEL);

    g_assert_cmpuint(shape.target_us, ==, 5000);
    g_assert_cmpuint(shape.interval_us, ==, 100000);
    g_assert_cmpuint(shape.leaf_quantum, ==, 1514);
    shape = shape_of(10 * MBIT, 0, HZ_LEAF_FQ_CODEL);
    g_assert_cmpuint(shape.target_us, ==, 5000);
    g_assert_cmpuint(shape.leaf_quantum, ==, 300);
    /* 1 Mbit/s: a frame takes 1514 / 125000 s = 12112 us, and a half more is 18168. */
    shape = shape_of(MBIT, 0, HZ_LEAF_FQ_CODEL);
    g_assert_cmpuint(shape.target_us, ==, 18168);
    g_assert_cmpuint(shape.interval_us, ==, 100000 + 18168 - 5000);
}

static void test_pfifo(void)
{
    /* 50 ms: 100 Mbit/s * 50 ms / 1514 = 412.8 */
    g_assert_cmpuint(shape_of(100 * MBIT, 0, HZ_LEAF_PFIFO).limit, ==, 412);
    g_assert_cmpuint(shape_of(1000, 0, HZ_LEAF_PFIFO).limit, ==, 32);
    g_assert_cmpuint(shape_of(100000 * MBIT, 0, HZ_LEAF_PFIFO).limit, ==, 1000);
}

static void test_same(void)
{
    HzShape a = shape_of(MBIT, 0, HZ_LEAF_FQ_CODEL), b = a;

    g_assert_true(hz_shape_same_class(&a, &b) && hz_shape_same_leaf(&a, &b));
    /* The kernel tells 18167 for 18168: its units are 1024 ns. */
    b.target_us--;
    g_assert_true(hz_shape_same_leaf(&a, &b));
    b.target_us -= 2;
    g_assert_false(hz_shape_same_leaf(&a, &b));
    b = a;
    b.leaf = HZ_LEAF_SFQ;
    g_assert_false(hz_shape_same_leaf(&a, &b));
    b = a;
    b.ticks++;
    g_assert_false(hz_shape_same_class(&a, &b));
    b = a;
    b.rate++;
    g_assert_false(hz_shape_same_class(&a, &b));
}

static void test_names(void)
{
    for (HzLeaf leaf = 0; leaf < HZ_LEAF_N; leaf++) {
        g_assert_cmpint(hz_leaf_from_name(hz_leaf_name(leaf)), ==, leaf);
    }
    g_assert_cmpint(hz_leaf_from_name("tbf"), ==, HZ_LEAF_N);
    g_assert_cmpstr(hz_leaf_name(HZ_LEAF_N), ==, "none");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shape/bucket/least", test_bucket_least);
    g_test_add_func("/shape/bucket/asked", test_bucket_asked);
    g_test_add_func("/shape/bucket/most", test_bucket_most);
    g_test_add_func("/shape/fq_codel", test_fq_codel);
    g_test_add_func("/shape/pfifo", test_pfifo);
    g_test_add_func("/shape/same", test_same);
    g_test_add_func("/shape/names", test_names);
    return g_test_run();
}
