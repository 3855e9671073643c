/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd plan: from declarations to an actuator's lines and back as verdicts.
 *
 * One uplink of 80 Mbit/s (10000000 bytes/s); A may declare up to 40 Mbit/s
 * (5000000 bytes/s) as its minimum. Both default to weight 100.
 */
#include <string.h>

#include "hzd/audit.h"
#include "hzd/redact.h"
#include "kit.h"

#define TWO_VMS "[uplink up]\ncapacity=80Mbit\n"                                             \
                "[vm A]\nqmp=@DIR@/qmp\n[vm A nic/0]\nifname=tapA0\nuplink=up\nnet-min=40Mbit\n"   \
                "[vm B]\nidentity=socket\n[vm B nic/0]\nifname=tapB0\nuplink=up\nnet-min=60Mbit\n"

#define A_RATE 7493750
#define B_RATE 2506250

typedef struct {
    Kit *kit;
    Monitor *monitor;
    Device *a, *b;
    Vnic *vnic;
} Fixture;

static void up(Fixture *f, Device *d, const char *vm)
{
    device_connect(d, f->kit, vm);
    device_hello(d);
    WAIT(kit_vm(f->kit, vm)->synced);
}

static void begin(Fixture *f, const char *host_keys)
{
    f->kit = kit_new(host_keys, TWO_VMS);
    f->monitor = monitor_new(f->kit, "qmp");
    kit_start(f->kit);
    f->a = device_new();
    f->b = device_new();
    f->vnic = vnic_new(f->kit);
    up(f, f->a, "A");
    up(f, f->b, "B");
}

static void set_up(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    begin(f, "mode=enforce");
    WAIT(hz_actuator_enforcing(f->kit->host, "vnic"));
}

static void tear_down(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    device_free(f->a);
    device_free(f->b);
    vnic_free(f->vnic);
    kit_free(f->kit);
    monitor_free(f->monitor);
    hz_actuator_answer_ns = 10 * HZ_SEC;
}

static gboolean verdict_is(Device *d, uint16_t field, uint8_t code, uint8_t reason)
{
    struct hz_verdict v = guest_verdict(d, "nic/0", field);

    return v.code == code && v.reason == reason;
}

#define ACCEPTED(d, field) verdict_is(d, field, VIRTIO_HZ_VERDICT_ACCEPTED, VIRTIO_HZ_REASON_NONE)

/* -- the whole way ------------------------------------------------------ */

static void test_enforce(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, 0);
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    /* B gets its trickle of 12500, A its 5000000; the rest, 4987500, is halved */
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, A_RATE);
    g_assert_cmpuint(vnic_rate(f->vnic, "B/nic/0"), ==, B_RATE);
    guest_withdraw(f->a, "nic/0");
    WAIT(!vnic_rate(f->vnic, "A/nic/0") && !vnic_rate(f->vnic, "B/nic/0"));
    g_assert_cmpuint(f->monitor->others + f->monitor->stops, ==, 0);
}

static void test_clamped(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    guest_declare(f->a, "nic/0", "net-min", "70Mbit", NULL);
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_CLAMPED,
                    VIRTIO_HZ_REASON_ENTITLEMENT));
    g_assert_cmpuint(guest_verdict(f->a, "nic/0", HZ_F_NET_MIN).value, ==, 5000000);
}

/*
 * Minimums that don't fit: in proportion, and what is left to each is told in
 * buckets, downwards.
 */
static void test_contention(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_verdict v;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    guest_declare(f->b, "nic/0", "net-min", "60Mbit", NULL);
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_CLAMPED,
                    VIRTIO_HZ_REASON_CONTENTION));
    WAIT(verdict_is(f->b, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_CLAMPED,
                    VIRTIO_HZ_REASON_CONTENTION));
    v = guest_verdict(f->a, "nic/0", HZ_F_NET_MIN);
    /*
     * 9975000 after both trickles, in proportion to what the minimums want on top of them:
     * 12500 + 9975000 × 4987500 / (4987500 + 7487500) = 4000499, told as two digits
     */
    g_assert_cmpuint(v.value, ==, 4000000);
    g_assert_cmpuint(hz_redact_bucket(4999999), ==, 4900000);
    g_assert_cmpuint(hz_redact_bucket(99), ==, 99);
    g_assert_cmpuint(hz_redact_bucket(101), ==, 100);
    g_assert_cmpuint(hz_redact_bucket(UINT64_MAX), ==, 18000000000000000000u);
}

static void test_rejected(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    /* a minimum above the maximum contradicts itself and counts for nothing */
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", "net-max", "20Mbit", NULL);
    WAIT(guest_verdict(f->a, "nic/0", HZ_F_NET_MIN).code != 0xff);
    g_assert_cmpuint(guest_verdict(f->a, "nic/0", HZ_F_NET_MIN).reason, ==,
                     VIRTIO_HZ_REASON_CONFLICT);
    /* no such NIC; a field nobody uses yet */
    guest_declare(f->a, "nic/7", "net-min", "1Mbit", NULL);
    guest_declare(f->a, "vm", "workers-min", "3", "priority", "200", NULL);
    WAIT(guest_verdict(f->a, "nic/7", HZ_F_NET_MIN).code == VIRTIO_HZ_VERDICT_REJECTED);
    WAIT(guest_verdict(f->a, "vm", 0x0201).code == VIRTIO_HZ_VERDICT_RECORDED);
    /* the entitled priority is the default, 100 */
    g_assert_cmpuint(guest_verdict(f->a, "vm", HZ_F_PRIORITY).value, ==, 100);
}

static void test_changed_is_told(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;
    uint64_t rate;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(guest_notice_of_kind(f->b, HZ_KIND_RESOURCE_CHANGED, &n));
    g_assert_cmpuint(n.state, ==, VIRTIO_HZ_STATE_COMPLETED);
    g_assert_true(hz_doc_u64(n.doc, n.doc_len, HZ_N_CHANGED_NEW, &rate));
    g_assert_cmpuint(rate, ==, hz_redact_bucket(B_RATE));
    g_assert_true(hz_doc_u64(n.doc, n.doc_len, HZ_N_CHANGED_OLD, &rate));
    g_assert_cmpuint(rate, ==, 0);
    guest_withdraw(f->a, "nic/0");
    WAIT(guest_notice_of_kind(f->b, HZ_KIND_RESOURCE_CHANGED, &n) && n.revision == 2);
    g_assert_cmpuint(hz_board_notices(f->b->board), ==, 1);
}

/* A guest that doesn't want to know isn't told, one that wants it less exactly is told so. */
static void test_subscription(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;
    uint64_t rate;

    guest_declare(f->b, "vm", "subscribe", "pause", NULL);
    guest_declare(f->a, "vm", "granularity", "class", NULL);
    WAIT(guest_verdict(f->b, "vm", HZ_F_SUBSCRIBE_EVENTS).code == VIRTIO_HZ_VERDICT_ACCEPTED);
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(guest_notice_of_kind(f->a, HZ_KIND_RESOURCE_CHANGED, &n));
    g_assert_false(hz_doc_u64(n.doc, n.doc_len, HZ_N_CHANGED_NEW, &rate));
    g_assert_cmpuint(n.granularity, ==, 1);
    WAIT(vnic_rate(f->vnic, "B/nic/0") == B_RATE);
    g_assert_false(guest_notice_of_kind(f->b, HZ_KIND_RESOURCE_CHANGED, &n));
}

static void with_grain(Fixture *f, const char *grain)
{
    g_autofree char *rest = NULL;
    g_auto(GStrv) parts = g_strsplit(TWO_VMS, "identity=socket\n", -1);
    g_autofree char *with = g_strdup_printf("identity=socket\ngranularity=%s\n", grain);

    rest = g_strjoinv(with, parts);
    kit_rewrite(f->kit, "mode=enforce", rest);
    g_assert_true(hz_admin_reload(f->kit->host, "test", NULL));
}

/* The operator's own VM is told exactly, one that may know nothing isn't told at all. */
static void test_granularity(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    const char *names[] = { "B", NULL };
    HzNotifySpec spec = { .kind = HZ_KIND_RECLAIM, .state = -1, .ack = -1, .confidence = -1,
                          .vms = names };
    JsonObject *answer;
    struct hz_notice n;
    uint64_t rate;

    with_grain(f, "3");
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(guest_notice_of_kind(f->b, HZ_KIND_RESOURCE_CHANGED, &n));
    g_assert_true(hz_doc_u64(n.doc, n.doc_len, HZ_N_CHANGED_NEW, &rate));
    g_assert_cmpuint(rate, ==, B_RATE);
    with_grain(f, "0");
    answer = hz_notices_notify(f->kit->host, &spec, NULL);
    g_assert_cmpstr(hz_json_text(hz_json_at(hz_json_array(answer, "notices"), 0), "status", ""),
                    ==, "untold");
    json_object_unref(answer);
    kit_spin(100);
    g_assert_false(guest_notice_of_kind(f->b, HZ_KIND_RECLAIM, &n));
}

/* -- modes -------------------------------------------------------------- */

static void test_observe(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    begin(f, "");       /* as shipped */
    WAIT(hz_actuator_health(f->kit->host, "vnic") == HZ_ACTUATOR_READY);
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    guest_declare(f->a, "vm", "max-pause", "250ms", NULL);
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_MODE));
    WAIT(guest_verdict(f->a, "vm", HZ_F_MAX_PAUSE).reason == VIRTIO_HZ_REASON_MODE);
    WAIT(kit_audited(f->kit, "plan", "would-apply"));
    g_assert_cmpstr(f->vnic->mode, ==, "observe");
    g_assert_cmpuint(g_hash_table_size(f->vnic->lines), ==, 0);
    g_assert_cmpuint(f->vnic->forgets, ==, 0);
    g_assert_cmpuint(f->monitor->stops + f->monitor->conts + f->monitor->others, ==, 0);
    g_assert_cmpuint(hz_board_notices(f->a->board), ==, 0);
}

static void test_set_mode(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzHost *host = f->kit->host;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    /* the one VM: its line goes, and it is told that nobody acts on it */
    g_assert_true(hz_admin_set_mode(host, "A", NULL, HZ_MODE_OBSERVE, "test", NULL));
    WAIT(!vnic_rate(f->vnic, "A/nic/0"));
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_MODE));
    g_assert_true(hz_admin_set_mode(host, "A", NULL, HZ_MODE_UNSET, "test", NULL));
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    /* the actuator: everything is given back before it may touch nothing more */
    g_assert_true(hz_admin_set_mode(host, NULL, "vnic", HZ_MODE_OBSERVE, "test", NULL));
    WAIT(!g_strcmp0(f->vnic->mode, "observe"));
    g_assert_cmpuint(f->vnic->forgets, ==, 1);
    g_assert_cmpuint(g_hash_table_size(f->vnic->lines), ==, 0);
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_MODE));
    g_assert_false(hz_admin_set_mode(host, NULL, "gpu", HZ_MODE_OFF, "test", NULL));
}

static void done(const GError *error, gpointer flag)
{
    g_assert_no_error(error);
    *(gboolean *)flag = TRUE;
}

static void test_release(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    gboolean over = FALSE;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    hz_admin_release(f->kit->host, "A", "test", done, &over);
    WAIT(over);
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, 0);
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_MODE));
    /* whatever it declares now */
    guest_declare(f->a, "nic/0", "net-min", "20Mbit", NULL);
    kit_spin(300);
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, 0);
    g_assert_true(hz_admin_reload(f->kit->host, "test", NULL));
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
}

static void let_go(const GError *error, gpointer opaque)
{
    *(char **)opaque = g_strdup(error ? error->message : "");
}

/* What is shown of A's first vNIC; NULL: nothing. */
static char *shown(Fixture *f, const char *member)
{
    g_autoptr(JsonArray) lines = hz_plan_vm_json(kit_vm(f->kit, "A"));

    return g_strdup(hz_json_text(hz_json_at(lines, 0), member, NULL));
}

/* What was in force before isn't shown, nor explained, as if it still were. */
static void test_release_shown(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *done = NULL, *before = NULL, *after = NULL, *observed = NULL;
    g_autoptr(JsonObject) why = NULL;
    JsonObject *line;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    before = shown(f, "result");
    g_assert_cmpstr(before, ==, "applied");
    hz_admin_release(f->kit->host, "A", "test", let_go, &done);
    WAIT(done);
    g_assert_cmpstr(done, ==, "");
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_MODE));
    after = shown(f, "result");
    g_assert_cmpstr(after, ==, "released");
    why = hz_audit_why(f->kit->host, "A", G_MAXINT64, NULL);
    line = hz_json_at(hz_json_array(why, "plan"), 0);
    g_assert_cmpstr(hz_json_text(line, "result", ""), ==, "released");
    /* likewise one that is only watched from now on */
    g_assert_true(hz_admin_set_mode(f->kit->host, "A", NULL, HZ_MODE_ENFORCE, "test", NULL));
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    g_assert_true(hz_admin_set_mode(f->kit->host, "A", NULL, HZ_MODE_OBSERVE, "test", NULL));
    WAIT(!vnic_rate(f->vnic, "A/nic/0"));
    observed = shown(f, "result");
    g_assert_cmpstr(observed, ==, NULL);
}

static void test_release_frozen(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *done = NULL;
    unsigned forgets = f->vnic->forgets;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    g_assert_true(hz_admin_freeze(f->kit->host, "test", NULL));
    hz_admin_release(f->kit->host, NULL, "test", let_go, &done);
    WAIT(done);
    g_assert_nonnull(strstr(done, "frozen"));
    g_assert_cmpuint(f->vnic->forgets, ==, forgets);
    g_assert_false(kit_vm(f->kit, "A")->released);
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, A_RATE);
}

/* Whoever asked is told when it's known that no answer comes, and by whom. */
static void test_release_hung(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *done = NULL, *result = NULL;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    hz_actuator_answer_ns = 300 * HZ_MS;
    f->vnic->hung = TRUE;
    hz_admin_release(f->kit->host, "A", "test", let_go, &done);
    g_assert_null(done);
    WAIT(done);
    g_assert_nonnull(strstr(done, "actuator vnic"));
    g_assert_nonnull(strstr(done, "hangs"));
    result = shown(f, "result");
    g_assert_cmpstr(result, ==, "failed");
    /* another that takes its place gets a plan without it */
    f->vnic->hung = FALSE;
    vnic_reconnect(f->vnic, f->kit);
    WAIT(!vnic_rate(f->vnic, "A/nic/0"));
}

/* A clean stop doesn't wait longer either. */
static void test_stop_hung(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    hz_actuator_answer_ns = 300 * HZ_MS;
    f->vnic->hung = TRUE;
    g_test_expect_message(NULL, G_LOG_LEVEL_MESSAGE, "*hung*");
    g_test_expect_message(NULL, G_LOG_LEVEL_WARNING, "*given back: the actuator vnic*");
    hz_admin_stop(f->kit->host);
    g_main_loop_run(f->kit->host->loop);
    g_test_assert_expected_messages();
}

static void test_freeze(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    unsigned applies;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    g_assert_true(hz_admin_freeze(f->kit->host, "test", NULL));
    applies = f->vnic->applies;
    guest_declare(f->b, "nic/0", "net-max", "8Mbit", NULL);
    WAIT(verdict_is(f->b, HZ_F_NET_MAX, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_MODE));
    g_assert_cmpuint(f->vnic->applies, ==, applies);
    g_assert_true(ACCEPTED(f->a, HZ_F_NET_MIN));        /* what is in force stays so */
    /* over a restart */
    kit_stop(f->kit);
    kit_start(f->kit);
    g_assert_true(f->kit->host->frozen);
    vnic_reconnect(f->vnic, f->kit);
    up(f, f->a, "A");
    up(f, f->b, "B");
    kit_spin(500);
    g_assert_cmpuint(f->vnic->applies, ==, applies);
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, A_RATE);
    g_assert_true(hz_admin_thaw(f->kit->host, "test", NULL));
    WAIT(ACCEPTED(f->b, HZ_F_NET_MAX));
    g_assert_cmpuint(vnic_rate(f->vnic, "B/nic/0"), ==, 1000000);
}

/* Alone on its uplink, and still it asks for more than there is: nobody else is blamed. */
static void test_alone(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    device_disconnect(f->b);
    kit_rewrite(f->kit, "mode=enforce", "[uplink up]\ncapacity=40Mbit\n[vm A]\nqmp=@DIR@/qmp\n"
                "[vm A nic/0]\nifname=tapA0\nuplink=up\nnet-min=60Mbit\n");
    g_assert_true(hz_admin_reload(f->kit->host, "test", NULL));
    guest_declare(f->a, "nic/0", "net-min", "60Mbit", NULL);
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_CLAMPED, VIRTIO_HZ_REASON_CONTENTION));
    g_assert_cmpuint(guest_verdict(f->a, "nic/0", HZ_F_NET_MIN).value, ==, 5000000);
    g_assert_nonnull(strstr(hz_reason_text(VIRTIO_HZ_REASON_CONTENTION), "capacity"));
}

static void test_reload(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(GError) error = NULL;
    char *run;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    /* a wrong one is refused whole */
    kit_rewrite(f->kit, "mode=enforce", "[uplink up]\ncapacty=1Mbit\n");
    g_assert_false(hz_admin_reload(f->kit->host, "test", &error));
    g_assert_nonnull(strstr(error->message, "capacity"));
    g_assert_nonnull(kit_vm(f->kit, "B"));
    g_clear_error(&error);
    /* B goes, the uplink halves */
    device_disconnect(f->b);
    kit_rewrite(f->kit, "mode=enforce", "[uplink up]\ncapacity=40Mbit\n[vm A]\nqmp=@DIR@/qmp\n"
                "[vm A nic/0]\nifname=tapA0\nuplink=up\nnet-min=40Mbit\n");
    g_assert_true(hz_admin_reload(f->kit->host, "test", &error));
    WAIT(vnic_rate(f->vnic, "A/nic/0") == 5000000);
    g_assert_null(hz_host_vm(f->kit->host, "B", NULL));
    /* what can't change at run time says so */
    run = f->kit->run;
    f->kit->run = kit_path(f->kit, "elsewhere");
    kit_rewrite(f->kit, "", "");
    g_assert_false(hz_admin_reload(f->kit->host, "test", &error));
    g_assert_nonnull(strstr(error->message, "run-dir"));
    g_free(f->kit->run);
    f->kit->run = run;
}

/* -- graces ------------------------------------------------------------- */

/* A driver that is loaded anew declares again within the grace: no rate moves. */
static void test_reset_grace(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    unsigned applies;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    applies = f->vnic->applies;
    hz_board_reset(f->a->board);
    device_tell(f->a);
    WAIT(kit_vm(f->kit, "A")->reset_until);
    kit_spin(300);
    g_assert_nonnull(hz_vm_decl(kit_vm(f->kit, "A"), "nic/0"));
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    g_assert_cmpuint(f->vnic->applies, ==, applies);
    /* one that doesn't declare again loses it */
    hz_board_reset(f->a->board);
    device_tell(f->a);
    WAIT(!vnic_rate(f->vnic, "A/nic/0"));
    g_assert_cmpuint(f->vnic->applies, ==, applies + 1);
}

static void test_link_grace(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    unsigned applies;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    applies = f->vnic->applies;
    device_disconnect(f->a);
    WAIT(!kit_vm(f->kit, "A")->link);
    kit_spin(1000);
    up(f, f->a, "A");
    kit_spin(200);
    g_assert_cmpuint(f->vnic->applies, ==, applies);
    /* for good: what it declared goes with it */
    device_disconnect(f->a);
    WAIT(!vnic_rate(f->vnic, "A/nic/0"));
}

static void test_bye(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t frame[HZ_HDR_LEN];

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    device_write(f->a, frame, (size_t)hz_bare_frame(frame, sizeof(frame), HZ_L_BYE, 0));
    WAIT(!vnic_rate(f->vnic, "A/nic/0"));
    g_assert_false(f->a->closed);
}

/* A clean stop gives everything back, and leaves no guest believing that somebody acts for it. */
static void test_stop(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    guest_declare(f->a, "vm", "max-pause", "1s", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    WAIT(guest_verdict(f->a, "vm", HZ_F_MAX_PAUSE).code == VIRTIO_HZ_VERDICT_ACCEPTED);
    hz_admin_stop(f->kit->host);
    g_main_loop_run(f->kit->host->loop);
    g_assert_cmpuint(g_hash_table_size(f->vnic->lines), ==, 0);
    kit_stop(f->kit);
    WAIT(f->a->closed);
    g_assert_true(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_UNSUPPORTED,
                             VIRTIO_HZ_REASON_UNAVAILABLE));
    g_assert_cmpuint(guest_verdict(f->a, "vm", HZ_F_MAX_PAUSE).reason, ==,
                     VIRTIO_HZ_REASON_UNAVAILABLE);
}

/* Killed and started again: no rate is lifted on the way. */
static void test_restart(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    WAIT(guest_notice_of_kind(f->b, HZ_KIND_RESOURCE_CHANGED, &n));
    f->vnic->lifted = 0;
    kit_stop(f->kit);
    kit_start(f->kit);
    /* the actuator is back at once, B soon, A only later */
    vnic_reconnect(f->vnic, f->kit);
    up(f, f->b, "B");
    kit_spin(1500);
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, A_RATE);
    up(f, f->a, "A");
    kit_spin(500);
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, A_RATE);
    g_assert_cmpuint(f->vnic->lifted, ==, 0);
    g_assert_true(ACCEPTED(f->a, HZ_F_NET_MIN));
    /* and nobody was told of a change that wasn't one */
    g_assert_true(guest_notice_of_kind(f->b, HZ_KIND_RESOURCE_CHANGED, &n));
    g_assert_cmpuint(n.revision, ==, 1);
}

/* Killed in enforce and started again in observe: what the first one shaped is given back. */
static void test_leftovers(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    kit_stop(f->kit);
    g_assert_cmpuint(vnic_rate(f->vnic, "A/nic/0"), ==, A_RATE);
    kit_rewrite(f->kit, "mode=observe", TWO_VMS);
    kit_start(f->kit);
    vnic_reconnect(f->vnic, f->kit);
    WAIT(!vnic_rate(f->vnic, "A/nic/0") && !vnic_rate(f->vnic, "B/nic/0"));
    g_assert_cmpstr(f->vnic->mode, ==, "observe");
}

/* -- actuators that fail ------------------------------------------------ */

#define UNAVAILABLE(d) verdict_is(d, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_UNSUPPORTED, \
                                  VIRTIO_HZ_REASON_UNAVAILABLE)

static void test_hung(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    hz_actuator_answer_ns = 300 * HZ_MS;
    f->vnic->hung = TRUE;
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(hz_actuator_health(f->kit->host, "vnic") == HZ_ACTUATOR_HUNG);
    WAIT(UNAVAILABLE(f->a));
    g_assert_cmpint(hz_actuators_mode(f->kit->host, "vnic"), ==, HZ_MODE_OBSERVE);
    g_assert_cmpuint(kit_audited(f->kit, "actuator", "hung"), ==, 1);
    /* a new process takes its place */
    f->vnic->hung = FALSE;
    vnic_reconnect(f->vnic, f->kit);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
}

static void test_killed(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    g_clear_pointer(&f->vnic->channel, hz_channel_drop);
    WAIT(hz_actuator_health(f->kit->host, "vnic") == HZ_ACTUATOR_ABSENT);
    kit_spin(300);
    g_assert_true(ACCEPTED(f->a, HZ_F_NET_MIN));    /* it may be back in a moment */
    WAIT(UNAVAILABLE(f->a));
    vnic_reconnect(f->vnic, f->kit);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
}

static void test_looping(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    for (unsigned i = 0; i < 5; i++) {
        g_clear_pointer(&f->vnic->channel, hz_channel_drop);
        WAIT(hz_actuator_health(f->kit->host, "vnic") == HZ_ACTUATOR_ABSENT);
        vnic_reconnect(f->vnic, f->kit);
        WAIT(hz_actuator_health(f->kit->host, "vnic") != HZ_ACTUATOR_ABSENT);
    }
    WAIT(hz_actuator_health(f->kit->host, "vnic") == HZ_ACTUATOR_FAILING);
    g_assert_cmpstr(f->vnic->mode, ==, "observe");
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(UNAVAILABLE(f->a));
    g_assert_cmpuint(kit_audited(f->kit, "actuator", "failing"), >=, 1);
}

static void test_event_flood(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    /* more than its burst of 400 */
    for (unsigned i = 0; i < 1000 && f->vnic->channel; i++) {
        vnic_changed(f->vnic, "A/nic/0", "reported");
    }
    WAIT(f->vnic->gone);
}

static void test_refuses(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    f->vnic->refuse = TRUE;
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(UNAVAILABLE(f->a));
    f->vnic->refuse = FALSE;
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
}

/* One line failed: the guest is told, and it is tried again without anybody asking. */
static void test_line_fails(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    f->vnic->fail = TRUE;
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(UNAVAILABLE(f->a));
    f->vnic->fail = FALSE;
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
}

static void test_unshapeable(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    f->vnic->unshapeable = TRUE;
    vnic_changed(f->vnic, "A/nic/0", "gone");
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(verdict_is(f->a, HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_UNSUPPORTED,
                    VIRTIO_HZ_REASON_DATAPATH));
}

/* Other hands took it away: it is applied again. */
static void test_gone(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    g_hash_table_remove_all(f->vnic->lines);
    vnic_changed(f->vnic, "A/nic/0", "gone");
    WAIT(vnic_rate(f->vnic, "A/nic/0") == A_RATE);
}

static void test_stranger(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    Vnic *second = vnic_new(f->kit);

    WAIT(second->gone);
    g_assert_cmpuint(second->configures, ==, 0);
    guest_declare(f->a, "nic/0", "net-min", "40Mbit", NULL);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    vnic_free(second);
}

/* -- again -------------------------------------------------------------- */

static JsonObject *last_plan(const Kit *kit)
{
    g_autofree char *path = kit_path(kit, "audit.jsonl"), *all = NULL;
    g_auto(GStrv) lines = NULL;
    JsonObject *found = NULL;

    g_assert_true(g_file_get_contents(path, &all, NULL, NULL));
    lines = g_strsplit(all, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (strstr(*line, "\"event\":\"plan\"")) {
            g_clear_pointer(&found, json_object_unref);
            found = hz_json_parse(*line, strlen(*line), NULL);
        }
    }
    return found;
}

static void test_replay(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(JsonObject) record = NULL, again = NULL;
    g_autoptr(GError) error = NULL;
    JsonArray *was, *is;

    guest_declare(f->a, "nic/0", "net-min", "40Mbit", "net-weight", "7", NULL);
    guest_declare(f->b, "nic/0", "net-max", "30Mbit", NULL);
    WAIT(ACCEPTED(f->b, HZ_F_NET_MAX));
    WAIT(kit_audited(f->kit, "plan", "\"weight\":7"));
    record = last_plan(f->kit);
    again = hz_plan_replay(hz_json_object(record, "world"), &error);
    g_assert_no_error(error);
    was = hz_json_array(record, "plan");
    is = hz_json_array(again, "plan");
    g_assert_cmpuint(json_array_get_length(was), ==, 2);
    g_assert_cmpuint(json_array_get_length(is), ==, 2);
    for (guint i = 0; i < 2; i++) {
        JsonObject *x = hz_json_at(was, i), *y = hz_json_at(is, i);

        g_assert_cmpint(hz_json_int(x, "id", -1), ==, hz_json_int(y, "id", -2));
        g_assert_cmpint(hz_json_int(x, "rate", -1), ==, hz_json_int(y, "rate", -2));
        g_assert_cmpstr(hz_json_text(x, "rule", ""), ==, hz_json_text(y, "rule", "?"));
    }
    g_assert_null(hz_plan_replay(record, &error));
    g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID);
}

/* One guest that declares without end makes hzd decide at its share of times only. */
static void test_declare_flood(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint64_t epoch = hz_plan_epoch(f->kit->host), v;

    for (unsigned i = 0; i < 3000; i++) {
        guest_declare(f->a, "nic/0", "net-min", i % 2 ? "10Mbit" : "20Mbit", NULL);
        g_main_context_iteration(NULL, FALSE);
    }
    guest_declare(f->a, "nic/0", "net-min", "30Mbit", NULL);
    WAIT(hz_vm_declared(kit_vm(f->kit, "A"), "nic/0", HZ_F_NET_MIN, &v) && v == 3750000);
    WAIT(ACCEPTED(f->a, HZ_F_NET_MIN));
    g_assert_cmpuint(hz_plan_epoch(f->kit->host) - epoch, <, 300);
    g_assert_cmpuint(kit_audited(f->kit, "declaration", NULL), <, 400);
}

#define ADD(name, func) g_test_add("/plan/" name, Fixture, NULL, set_up, func, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
    ADD("enforce", test_enforce);
    ADD("clamped", test_clamped);
    ADD("contention", test_contention);
    ADD("rejected", test_rejected);
    ADD("changed-is-told", test_changed_is_told);
    ADD("subscription", test_subscription);
    ADD("granularity", test_granularity);
    g_test_add("/plan/observe", Fixture, NULL, NULL, test_observe, tear_down);
    ADD("set-mode", test_set_mode);
    ADD("release", test_release);
    ADD("release-shown", test_release_shown);
    ADD("release-frozen", test_release_frozen);
    ADD("release-hung", test_release_hung);
    ADD("stop-hung", test_stop_hung);
    ADD("freeze", test_freeze);
    ADD("alone", test_alone);
    ADD("reload", test_reload);
    ADD("reset-grace", test_reset_grace);
    ADD("link-grace", test_link_grace);
    ADD("bye", test_bye);
    ADD("stop", test_stop);
    ADD("restart", test_restart);
    ADD("leftovers", test_leftovers);
    ADD("hung", test_hung);
    ADD("killed", test_killed);
    ADD("looping", test_looping);
    ADD("event-flood", test_event_flood);
    ADD("refuses", test_refuses);
    ADD("line-fails", test_line_fails);
    ADD("unshapeable", test_unshapeable);
    ADD("gone", test_gone);
    ADD("stranger", test_stranger);
    ADD("replay", test_replay);
    ADD("declare-flood", test_declare_flood);
    return g_test_run();
}
