/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * core life: what is legal, when an impact begins, how far a deadline moves.
 * Times are small numbers of no unit.
 */
#include <errno.h>
#include <glib.h>

#include "core/life.h"
#include "core/vocabulary.h"

static struct hz_life reclaim(void)
{
    return (struct hz_life){
        .state = VIRTIO_HZ_STATE_SCHEDULED, .ack = VIRTIO_HZ_ACK_GATE, .kind = HZ_KIND_RECLAIM,
        .revision = 1, .deadline = 1000, .extend_left = 300, .impact = true,
    };
}

static struct hz_life_output out;

static int reply(struct hz_life *l, uint16_t code, uint64_t ns, uint64_t now)
{
    struct hz_life_input in = { HZ_LIFE_REPLY, code, ns, now };

    return hz_life_step(l, &in, &out);
}

static int event(struct hz_life *l, enum hz_life_event what, uint64_t now)
{
    struct hz_life_input in = { what, 0, 0, now };

    return hz_life_step(l, &in, &out);
}

/* -- every event from every state --------------------------------------- */

typedef struct {
    enum hz_life_event event;
    uint8_t from;
    int err;
    uint8_t to;
} Step;

#define A VIRTIO_HZ_STATE_ADVISED
#define S VIRTIO_HZ_STATE_SCHEDULED
#define T VIRTIO_HZ_STATE_STARTED
#define C VIRTIO_HZ_STATE_COMPLETED
#define X VIRTIO_HZ_STATE_CANCELLED
#define U VIRTIO_HZ_STATE_SUPERSEDED

static const Step steps[] = {
    { HZ_LIFE_SCHEDULE, A, 0, S }, { HZ_LIFE_SCHEDULE, S, -EALREADY, S },
    { HZ_LIFE_SCHEDULE, T, -EPERM, T }, { HZ_LIFE_SCHEDULE, C, -EPERM, C },
    { HZ_LIFE_START, A, -EPERM, A }, { HZ_LIFE_START, S, 0, T }, { HZ_LIFE_START, T, -EALREADY, T },
    { HZ_LIFE_START, C, -EPERM, C }, { HZ_LIFE_START, X, -EPERM, X },
    { HZ_LIFE_COMPLETE, A, -EPERM, A }, { HZ_LIFE_COMPLETE, S, -EPERM, S },
    { HZ_LIFE_COMPLETE, T, 0, C }, { HZ_LIFE_COMPLETE, C, -EALREADY, C },
    { HZ_LIFE_COMPLETE, X, -EPERM, X }, { HZ_LIFE_COMPLETE, U, -EPERM, U },
    { HZ_LIFE_CANCEL, A, 0, X }, { HZ_LIFE_CANCEL, S, 0, X }, { HZ_LIFE_CANCEL, T, 0, X },
    { HZ_LIFE_CANCEL, C, -EPERM, C }, { HZ_LIFE_CANCEL, X, -EALREADY, X },
    { HZ_LIFE_SUPERSEDE, A, 0, U }, { HZ_LIFE_SUPERSEDE, S, 0, U }, { HZ_LIFE_SUPERSEDE, T, 0, U },
    { HZ_LIFE_SUPERSEDE, C, -EPERM, C }, { HZ_LIFE_SUPERSEDE, U, -EALREADY, U },
    { HZ_LIFE_TICK, A, 0, A }, { HZ_LIFE_TICK, S, 0, S }, { HZ_LIFE_TICK, T, 0, T },
    { HZ_LIFE_TICK, C, 0, C },
    { (enum hz_life_event)99, S, -EINVAL, S },
};

static void test_table(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
        struct hz_life l = reclaim();

        l.state = steps[i].from;
        g_test_message("step %u", i);
        g_assert_cmpint(event(&l, steps[i].event, 10), ==, steps[i].err);
        g_assert_cmpuint(l.state, ==, steps[i].to);
        g_assert_cmpint(out.changed, ==, steps[i].from != steps[i].to);
        g_assert_cmpint(out.closed, ==, out.changed && steps[i].to >= C);
        g_assert_nonnull(out.why);
    }
}

/* -- when it begins ----------------------------------------------------- */

static void test_prepared_starts_early(void)
{
    struct hz_life l = reclaim();

    g_assert_cmpint(reply(&l, VIRTIO_HZ_REPLY_SEEN, 0, 10), ==, 0);
    g_assert_false(out.start);
    g_assert_false(out.changed);
    g_assert_cmpint(reply(&l, VIRTIO_HZ_REPLY_PREPARED, 0, 20), ==, 0);
    g_assert_true(out.start && out.early);
    g_assert_cmpuint(l.state, ==, T);
    g_assert_false(l.lapsed);
    g_assert_cmpuint(hz_life_next(&l), ==, HZ_LIFE_NEVER);
}

static void test_deadline_starts(void)
{
    struct hz_life l = reclaim();

    g_assert_cmpuint(hz_life_next(&l), ==, 1000);
    event(&l, HZ_LIFE_TICK, 999);
    g_assert_cmpuint(l.state, ==, S);
    event(&l, HZ_LIFE_TICK, 1000);
    g_assert_true(out.start && !out.early);
    g_assert_cmpuint(l.state, ==, T);
}

static void test_not_before(void)
{
    struct hz_life l = reclaim();

    l.not_before = 500;
    reply(&l, VIRTIO_HZ_REPLY_PREPARED, 0, 20);
    g_assert_cmpuint(l.state, ==, S);
    g_assert_cmpuint(hz_life_next(&l), ==, 500);
    event(&l, HZ_LIFE_TICK, 500);
    g_assert_true(out.start && out.early);
}

/* Without a gate PREPARED is heard and changes nothing. */
static void test_no_gate(void)
{
    struct hz_life l = reclaim();

    l.ack = VIRTIO_HZ_ACK_NOTIFY;
    reply(&l, VIRTIO_HZ_REPLY_PREPARED, 0, 20);
    g_assert_cmpuint(l.state, ==, S);
    g_assert_cmpuint(hz_life_next(&l), ==, 1000);
}

static void test_advised_expires(void)
{
    struct hz_life l = reclaim();

    l.state = A;
    reply(&l, VIRTIO_HZ_REPLY_PREPARED, 0, 20);
    g_assert_cmpuint(l.state, ==, A);
    event(&l, HZ_LIFE_SCHEDULE, 30);
    g_assert_cmpuint(l.state, ==, T);       /* it was prepared all along */
    l = reclaim();
    l.state = A;
    event(&l, HZ_LIFE_TICK, 1000);
    g_assert_cmpuint(l.state, ==, X);
    g_assert_cmpuint(l.closed_cause, ==, VIRTIO_HZ_CAUSE_EXPIRED);
}

static void test_advice_expires(void)
{
    struct hz_life l = reclaim();

    l.kind = HZ_KIND_RISK;
    l.impact = hz_life_impact(l.kind);
    g_assert_false(l.impact);
    event(&l, HZ_LIFE_TICK, 1001);
    g_assert_cmpuint(l.state, ==, X);
    g_assert_false(out.start);
}

/* SEEN is not PREPARED is not FAILED. */
static void test_failed(void)
{
    struct hz_life l = reclaim();

    reply(&l, VIRTIO_HZ_REPLY_FAILED, 3, 20);
    g_assert_cmpuint(l.state, ==, S);
    g_assert_cmpint(reply(&l, VIRTIO_HZ_REPLY_FAILED, 3, 21), ==, -EALREADY);
    event(&l, HZ_LIFE_TICK, 1000);
    g_assert_true(out.start && !out.early);
}

/* -- extensions --------------------------------------------------------- */

static void test_extend(void)
{
    struct hz_life l = reclaim();

    /* until 900 + 200 = 1100: 100 more than the deadline */
    reply(&l, VIRTIO_HZ_REPLY_SEEN, 0, 890);
    g_assert_cmpint(reply(&l, VIRTIO_HZ_REPLY_EXTEND, 200, 900), ==, 0);
    g_assert_cmpuint(out.granted, ==, 100);
    g_assert_cmpuint(l.deadline, ==, 1100);
    g_assert_cmpuint(l.extend_left, ==, 200);
    g_assert_cmpuint(l.revision, ==, 2);
    g_assert_cmpuint(l.replied, ==, 0);     /* all replies were to revision 1 */
    /* more than is left: cut to 1100 + 200 */
    reply(&l, VIRTIO_HZ_REPLY_EXTEND, 10000, 1000);
    g_assert_cmpuint(out.granted, ==, 200);
    g_assert_cmpuint(l.deadline, ==, 1300);
    g_assert_cmpuint(l.revision, ==, 3);
    /* nothing is left */
    reply(&l, VIRTIO_HZ_REPLY_EXTEND, 10000, 1000);
    g_assert_cmpuint(out.granted, ==, 0);
    g_assert_cmpuint(l.deadline, ==, 1300);
    g_assert_cmpuint(l.revision, ==, 3);
    event(&l, HZ_LIFE_TICK, 1300);
    g_assert_true(out.start && l.lapsed);
}

static void test_extend_kept(void)
{
    struct hz_life l = reclaim();

    reply(&l, VIRTIO_HZ_REPLY_EXTEND, 200, 900);
    reply(&l, VIRTIO_HZ_REPLY_PREPARED, 0, 1050);
    g_assert_true(out.start && out.early);
    g_assert_false(l.lapsed);
}

static void test_extend_refused(void)
{
    struct hz_life l = reclaim();

    reply(&l, VIRTIO_HZ_REPLY_EXTEND, 50, 100);     /* 150 is before 1000 */
    g_assert_false(out.changed);
    reply(&l, VIRTIO_HZ_REPLY_EXTEND, 50, 1000);    /* past */
    g_assert_false(out.changed);
    l.deadline = HZ_LIFE_NEVER;
    reply(&l, VIRTIO_HZ_REPLY_EXTEND, 50, 100);
    g_assert_false(out.changed);
    /* no arithmetic of a guest's makes a deadline that never comes */
    l = reclaim();
    l.extend_left = UINT64_MAX;
    reply(&l, VIRTIO_HZ_REPLY_EXTEND, UINT64_MAX, 900);
    g_assert_cmpuint(l.deadline, <, HZ_LIFE_NEVER);
}

/* A nanosecond at a time, a guest could ring itself for ever. */
static void test_moves(void)
{
    struct hz_life l = reclaim();

    l.extend_left = 1000000;
    for (unsigned i = 0; i < HZ_LIFE_MOVES; i++) {
        reply(&l, VIRTIO_HZ_REPLY_EXTEND, l.deadline - 100 + 1, 100);
        g_assert_cmpuint(out.granted, ==, 1);
    }
    reply(&l, VIRTIO_HZ_REPLY_EXTEND, l.deadline - 100 + 1, 100);
    g_assert_false(out.changed);
    reply(&l, VIRTIO_HZ_REPLY_DEFER, 100, 100);
    g_assert_false(out.changed);
    reply(&l, VIRTIO_HZ_REPLY_PREPARED, 0, 100);
    g_assert_true(out.start);
}

static void test_defer(void)
{
    struct hz_life l = reclaim();

    reply(&l, VIRTIO_HZ_REPLY_DEFER, 500, 100);
    g_assert_true(out.changed);
    g_assert_cmpuint(l.not_before, ==, 600);
    g_assert_cmpuint(l.revision, ==, 2);
    reply(&l, VIRTIO_HZ_REPLY_PREPARED, 0, 200);
    g_assert_cmpuint(l.state, ==, S);
    l = reclaim();
    reply(&l, VIRTIO_HZ_REPLY_DEFER, 901, 100);     /* 1001 is after the latest start */
    g_assert_false(out.changed);
    g_assert_cmpuint(l.not_before, ==, 0);
}

/* -- negotiation and tests ---------------------------------------------- */

static void test_decline(void)
{
    struct hz_life l = reclaim();

    reply(&l, VIRTIO_HZ_REPLY_DECLINE, 0, 10);      /* a gate isn't asked */
    g_assert_cmpuint(l.state, ==, S);
    l = reclaim();
    l.ack = VIRTIO_HZ_ACK_NEGOTIATE;
    reply(&l, VIRTIO_HZ_REPLY_DECLINE, 0, 10);
    g_assert_cmpuint(l.state, ==, X);
    g_assert_cmpuint(l.closed_cause, ==, VIRTIO_HZ_CAUSE_DECLINED);
    g_assert_cmpint(reply(&l, VIRTIO_HZ_REPLY_ACCEPT, 0, 11), ==, -EPERM);
    l = reclaim();
    l.ack = VIRTIO_HZ_ACK_NEGOTIATE;
    reply(&l, VIRTIO_HZ_REPLY_ACCEPT, 0, 10);
    g_assert_true(out.start);
}

static void test_synthetic(void)
{
    struct hz_life l = reclaim();

    l.test = true;
    l.ack = VIRTIO_HZ_ACK_NOTIFY;
    reply(&l, VIRTIO_HZ_REPLY_SEEN, 0, 10);
    g_assert_cmpuint(l.state, ==, C);
    g_assert_false(out.start);
    l = reclaim();
    l.test = true;
    reply(&l, VIRTIO_HZ_REPLY_SEEN, 0, 10);         /* a gate's test wants PREPARED */
    g_assert_cmpuint(l.state, ==, S);
    event(&l, HZ_LIFE_TICK, 1000);
    g_assert_cmpuint(l.state, ==, X);
    g_assert_false(out.start);
}

static void test_bad(void)
{
    struct hz_life l = reclaim();
    struct hz_life_input in = { HZ_LIFE_CANCEL, VIRTIO_HZ_CAUSE_MAX + 1, 0, 0 };

    g_assert_cmpint(reply(&l, 0, 0, 1), ==, -EINVAL);
    g_assert_cmpint(reply(&l, VIRTIO_HZ_REPLY_MAX + 1, 0, 1), ==, -EINVAL);
    g_assert_cmpint(hz_life_step(&l, &in, &out), ==, -EINVAL);
    g_assert_cmpuint(l.state, ==, S);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/life/table", test_table);
    g_test_add_func("/life/prepared-starts-early", test_prepared_starts_early);
    g_test_add_func("/life/deadline-starts", test_deadline_starts);
    g_test_add_func("/life/not-before", test_not_before);
    g_test_add_func("/life/no-gate", test_no_gate);
    g_test_add_func("/life/advised-expires", test_advised_expires);
    g_test_add_func("/life/advice-expires", test_advice_expires);
    g_test_add_func("/life/failed", test_failed);
    g_test_add_func("/life/extend", test_extend);
    g_test_add_func("/life/extend-kept", test_extend_kept);
    g_test_add_func("/life/extend-refused", test_extend_refused);
    g_test_add_func("/life/moves", test_moves);
    g_test_add_func("/life/defer", test_defer);
    g_test_add_func("/life/decline", test_decline);
    g_test_add_func("/life/synthetic", test_synthetic);
    g_test_add_func("/life/bad", test_bad);
    return g_test_run();
}
