/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd notices: the whole life, over links, restarts, stops and the other hands. */
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hzd/ids.h"
#include "kit.h"

#define VMS "[vm A]\ntenant=t1\nqmp=@DIR@/qmp\nmax-pauses-per-h=2\n" \
            "[vm B]\ntenant=t1\nidentity=socket\nevents=reclaim\n"    \
            "[vm C]\ntenant=t2\nidentity=socket\n"

typedef struct {
    Kit *kit;
    Monitor *monitor;
    Device *a, *b, *c;
} Fixture;

static void up(Fixture *f, Device *d, const char *vm)
{
    device_connect(d, f->kit, vm);
    device_hello(d);
    WAIT(kit_vm(f->kit, vm)->synced);
}

static void set_up(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    f->kit = kit_new("mode=enforce", VMS);
    f->monitor = monitor_new(f->kit, "qmp");
    kit_start(f->kit);
    f->a = device_new();
    f->b = device_new();
    f->c = device_new();
    up(f, f->a, "A");
    up(f, f->b, "B");
    up(f, f->c, "C");
    WAIT(hz_vmm_connected(g_ptr_array_index(kit_vm(f->kit, "A")->vmms, 0)));
}

static void tear_down(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    device_free(f->a);
    device_free(f->b);
    device_free(f->c);
    kit_free(f->kit);
    monitor_free(f->monitor);
}

static HzNotifySpec reclaim(const char *key)
{
    return (HzNotifySpec){
        .kind = HZ_KIND_RECLAIM, .key = key, .state = -1, .ack = -1, .confidence = -1,
        .has_deadline = TRUE, .deadline_ns = 3600 * HZ_SEC, .who = "test",
    };
}

static HzNotifySpec pause_of(const char *key, uint64_t duration_ns)
{
    HzNotifySpec spec = reclaim(key);

    spec.kind = HZ_KIND_PAUSE;
    spec.duration_ns = duration_ns;
    return spec;
}

static void notify(Fixture *f, HzNotifySpec spec, const char *vm, uint8_t id[16])
{
    json_object_unref(ask_notify(f->kit, &spec, vm, id));
}

static gboolean shows(Device *d, const uint8_t id[16], uint8_t state)
{
    struct hz_notice n;

    return guest_notice(d, id, &n) && n.state == state;
}

static HzNotice *notice_of(Fixture *f, const char *vm, const uint8_t id[16])
{
    HzVm *v = kit_vm(f->kit, vm);

    for (guint i = 0; i < v->notices->len; i++) {
        HzNotice *notice = g_ptr_array_index(v->notices, i);

        if (!memcmp(notice->n.id, id, 16)) {
            return notice;
        }
    }
    return NULL;
}

static gboolean order(Fixture *f, JsonObject *(*what)(HzHost *, const HzNoticeRef *, GError **),
                      const char *key, GError **error)
{
    HzNoticeRef ref = { .key = key, .who = "test" };
    JsonObject *answer = what(f->kit->host, &ref, error);

    if (answer) {
        json_object_unref(answer);
    }
    return answer != NULL;
}

/* -- life --------------------------------------------------------------- */

static void test_life(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(GError) error = NULL;
    struct hz_notice n;
    uint8_t id[16];

    notify(f, reclaim("k"), "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    g_assert_true(guest_notice(f->a, id, &n));
    g_assert_cmpuint(n.ack, ==, VIRTIO_HZ_ACK_GATE);
    g_assert_cmpuint(n.deadline_ns, >, 3500 * HZ_SEC);
    g_assert_cmpuint(n.deadline_ns, <=, 3600 * HZ_SEC);
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_SEEN, 0);
    WAIT(notice_of(f, "A", id)->seen_us);
    g_assert_cmpuint(notice_of(f, "A", id)->life.state, ==, VIRTIO_HZ_STATE_SCHEDULED);
    /* it isn't completed before it has started */
    g_assert_false(order(f, hz_notices_complete, "k", &error));
    g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_STATE);
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_PREPARED, 0);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_STARTED));
    g_assert_true(order(f, hz_notices_complete, "k", NULL));
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    g_assert_true(order(f, hz_notices_complete, "k", NULL));    /* a repeat succeeds */
    g_assert_false(order(f, hz_notices_cancel, "k", NULL));
    g_assert_cmpuint(f->monitor->stops + f->monitor->conts, ==, 0);
}

static void test_idempotent(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    JsonObject *o;
    uint8_t id[16], again[16];
    struct hz_notice n;

    notify(f, spec, "A", id);
    o = ask_notify(f->kit, &spec, "A", again);
    g_assert_cmpstr(hz_json_text(o, "status", ""), ==, "repeat");
    g_assert_cmpmem(id, 16, again, 16);
    json_object_unref(o);
    g_assert_cmpuint(kit_vm(f->kit, "A")->notices->len, ==, 1);
    spec.revise = TRUE;
    spec.deadline_ns = 60 * HZ_SEC;
    notify(f, spec, "A", again);
    WAIT(guest_notice(f->a, id, &n) && n.revision == 2);
    g_assert_cmpuint(n.deadline_ns, <=, 60 * HZ_SEC);
}

/* One guest's PREPARED never starts an impact on another; one cause, one id a tenant. */
static void test_per_vm(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t a[16], b[16], c[16];
    struct hz_notice na, nb, nc;

    notify(f, reclaim("k"), "A", a);
    notify(f, reclaim("k"), "B", b);
    notify(f, reclaim("k"), "C", c);
    g_assert_cmpmem(a, 16, b, 16);
    g_assert_cmpint(memcmp(a, c, 16), !=, 0);
    WAIT(guest_notice(f->a, a, &na) && guest_notice(f->b, b, &nb) && guest_notice(f->c, c, &nc));
    g_assert_cmpmem(na.cause_id, 16, nb.cause_id, 16);
    g_assert_cmpint(memcmp(na.cause_id, nc.cause_id, 16), !=, 0);
    guest_reply(f->a, a, VIRTIO_HZ_REPLY_PREPARED, 0);
    WAIT(shows(f->a, a, VIRTIO_HZ_STATE_STARTED));
    kit_spin(100);
    g_assert_true(shows(f->b, b, VIRTIO_HZ_STATE_SCHEDULED));
}

static void test_deadline(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    uint8_t id[16];

    spec.deadline_ns = 200 * HZ_MS;
    notify(f, spec, "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_STARTED));
    g_assert_false(notice_of(f, "A", id)->life.lapsed);
}

static void test_extend(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    struct hz_notice n;
    uint8_t id[16];

    spec.deadline_ns = 2 * HZ_SEC;
    notify(f, spec, "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    /* nothing was declared, so nothing is granted */
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_EXTEND, 60 * HZ_SEC);
    WAIT(kit_audited(f->kit, "notice", "reply-refused") == 1);
    g_assert_true(guest_notice(f->a, id, &n));
    g_assert_cmpuint(n.revision, ==, 1);
    g_assert_true(order(f, hz_notices_cancel, "k", NULL));
    /* one second in all */
    guest_declare(f->a, "vm", "extend-max", "1s", NULL);
    WAIT(hz_vm_decl(kit_vm(f->kit, "A"), "vm"));
    spec.key = "k2";
    notify(f, spec, "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_SEEN, 0);
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_EXTEND, 60 * HZ_SEC);
    WAIT(guest_notice(f->a, id, &n) && n.revision == 2);
    g_assert_cmpuint(n.deadline_ns, >, 2 * HZ_SEC);
    g_assert_cmpuint(n.deadline_ns, <=, 3 * HZ_SEC);
    /* it lapses, and says so to both sides */
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_STARTED));
    g_assert_true(guest_notice(f->a, id, &n));
    g_assert_true(n.flags & VIRTIO_HZ_NOTICE_LAPSED);
    g_assert_cmpuint(kit_audited(f->kit, "notice", "the extension lapsed"), >=, 1);
}

static void test_failed(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t id[16];

    notify(f, reclaim("k"), "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_FAILED, 7);
    WAIT(notice_of(f, "A", id)->last_reply == VIRTIO_HZ_REPLY_FAILED);
    g_assert_cmpuint(notice_of(f, "A", id)->last_arg, ==, 7);
    g_assert_true(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
}

static void test_synthetic(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = pause_of("k", 0);
    struct hz_notice n;
    uint8_t id[16];

    spec.test = TRUE;
    notify(f, spec, "A", id);
    WAIT(guest_notice(f->a, id, &n));
    g_assert_true(n.flags & VIRTIO_HZ_NOTICE_TEST);
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_SEEN, 0);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    g_assert_cmpuint(f->monitor->stops, ==, 0);
    /* also where nothing else may be done */
    g_assert_true(hz_admin_freeze(f->kit->host, "test", NULL));
    spec.key = "k2";
    notify(f, spec, "A", id);
    WAIT(guest_notice(f->a, id, &n));
}

static void test_negotiate(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    uint8_t id[16];
    struct hz_notice n;

    spec.ack = VIRTIO_HZ_ACK_NEGOTIATE;
    notify(f, spec, "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_DECLINE, 0);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_CANCELLED));
    g_assert_true(guest_notice(f->a, id, &n));
    g_assert_cmpuint(n.cause, ==, VIRTIO_HZ_CAUSE_DECLINED);
}

static void test_refused(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    const char *names[] = { "A", NULL };
    g_autoptr(GError) error = NULL;

    spec.vms = names;
    spec.kind = 14;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID);
    g_clear_error(&error);
    spec.kind = HZ_KIND_PAUSE;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_nonnull(strstr(error->message, "duration"));
    g_clear_error(&error);
    names[0] = "nobody";
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_clear_error(&error);
    names[0] = "A";
    spec = reclaim("k");
    spec.not_before_ns = spec.deadline_ns + 1;
    spec.vms = names;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_nonnull(strstr(error->message, "not-before"));
    g_clear_error(&error);
    spec = reclaim("k");
    spec.deadline_ns = UINT64_MAX - 1;
    spec.vms = names;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_nonnull(strstr(error->message, "366 days"));
    g_clear_error(&error);
    g_assert_false(order(f, hz_notices_cancel, "never", &error));
    g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_NOT_FOUND);
}

/* B isn't entitled to pauses; one that isn't linked keeps its notice. */
static void test_untold(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    struct hz_notice n;
    JsonObject *o;
    uint8_t id[16];

    spec.kind = HZ_KIND_TERMINATE;
    spec.test = TRUE;
    o = ask_notify(f->kit, &spec, "B", id);
    g_assert_cmpstr(hz_json_text(o, "status", ""), ==, "untold");
    json_object_unref(o);
    kit_spin(100);
    g_assert_false(guest_notice(f->b, id, &n));
    device_disconnect(f->c);
    WAIT(!kit_vm(f->kit, "C")->link);
    notify(f, reclaim("k2"), "C", id);
    up(f, f->c, "C");
    WAIT(shows(f->c, id, VIRTIO_HZ_STATE_SCHEDULED));
}

/* 32 open ones fill a board: the next is refused before it is placed. */
static void test_full(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim(NULL);
    const char *names[] = { "A", NULL };
    g_autoptr(GError) error = NULL;
    uint8_t id[16];

    for (unsigned i = 0; i < VIRTIO_HZ_MAX_NOTICES; i++) {
        g_autofree char *key = g_strdup_printf("k%u", i);

        notify(f, reclaim(key), "A", id);
    }
    WAIT(hz_board_open_notices(f->a->board) == VIRTIO_HZ_MAX_NOTICES);
    spec.vms = names;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_nonnull(strstr(error->message, "32 notices are open"));
    g_assert_true(order(f, hz_notices_cancel, "k0", NULL));
    notify(f, reclaim("more"), "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
}

/* -- drain -------------------------------------------------------------- */

static JsonObject *drain(Fixture *f, uint64_t deadline_ns)
{
    HzNotifySpec spec = reclaim("drain");
    g_autoptr(GError) error = NULL;
    JsonObject *answer;

    spec.kind = 0;
    spec.deadline_ns = deadline_ns;
    answer = hz_notices_drain(f->kit->host, &spec, &error);
    g_assert_no_error(error);
    return answer;
}

static gboolean drained(Fixture *f, gboolean *ok)
{
    g_autoptr(JsonObject) answer = drain(f, 2 * HZ_SEC);

    *ok = hz_json_bool(answer, "ok", FALSE);
    return hz_json_bool(answer, "done", FALSE);
}

static void test_drain(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;
    gboolean ok;

    g_assert_false(drained(f, &ok));
    WAIT(guest_notice_of_kind(f->a, HZ_KIND_RECLAIM, &n));
    guest_reply(f->a, n.id, VIRTIO_HZ_REPLY_PREPARED, 0);
    WAIT(guest_notice_of_kind(f->b, HZ_KIND_RECLAIM, &n));
    guest_reply(f->b, n.id, VIRTIO_HZ_REPLY_PREPARED, 0);
    g_assert_false(drained(f, &ok));
    WAIT(guest_notice_of_kind(f->c, HZ_KIND_RECLAIM, &n));
    guest_reply(f->c, n.id, VIRTIO_HZ_REPLY_PREPARED, 0);
    WAIT(drained(f, &ok));
    g_assert_true(ok);
}

/* C says nothing: it is over at the deadline, and not well. */
static void test_drain_late(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    gboolean ok = TRUE;

    WAIT(drained(f, &ok));
    g_assert_false(ok);
}

/* One that is shut down while it is asked to go is out of the way too. */
static void test_drain_gone(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autoptr(JsonObject) answer G_GNUC_UNUSED = drain(f, 3600 * HZ_SEC);
    struct hz_notice n;
    gboolean ok;

    WAIT(guest_notice_of_kind(f->a, HZ_KIND_RECLAIM, &n));
    guest_reply(f->a, n.id, VIRTIO_HZ_REPLY_PREPARED, 0);
    WAIT(guest_notice_of_kind(f->b, HZ_KIND_RECLAIM, &n));
    guest_reply(f->b, n.id, VIRTIO_HZ_REPLY_PREPARED, 0);
    device_disconnect(f->c);
    g_assert_false(drained(f, &ok));
    WAIT(drained(f, &ok));
    g_assert_true(ok);
}

static void test_short(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    JsonObject *o;

    guest_declare(f->a, "vm", "notice-needed-reclaim", "2h", NULL);
    WAIT(hz_vm_decl(kit_vm(f->kit, "A"), "vm"));
    o = ask_notify(f->kit, &spec, "A", NULL);
    g_assert_nonnull(strstr(hz_json_text(o, "detail", ""), "7200000 ms of warning"));
    json_object_unref(o);
    /* left to hzd, it gets what it needs */
    spec = reclaim("k2");
    spec.has_deadline = FALSE;
    o = ask_notify(f->kit, &spec, "A", NULL);
    g_assert_null(hz_json_text(o, "detail", NULL));
    json_object_unref(o);
    WAIT(hz_board_open_notices(f->a->board) == 2);
}

/* A VM that is configured no more is left with nothing open. */
static void test_leave(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = pause_of("p", 3600 * HZ_SEC);
    g_autoptr(GError) error = NULL;
    uint8_t id[16], p[16];

    notify(f, reclaim("k"), "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    spec.deadline_ns = 1;
    notify(f, spec, "A", p);
    WAIT(!f->monitor->running);
    kit_rewrite(f->kit, "mode=enforce", "[vm B]\nidentity=socket\n");
    g_assert_false(hz_admin_reload(f->kit->host, "test", &error));
    g_assert_nonnull(strstr(error->message, "being paused"));
    g_assert_true(order(f, hz_notices_cancel, "p", NULL));
    WAIT(f->monitor->running && !notice_of(f, "A", p)->acting);
    g_assert_true(hz_admin_reload(f->kit->host, "test", NULL));
    WAIT(f->a->closed);
    g_assert_true(shows(f->a, id, VIRTIO_HZ_STATE_CANCELLED));
}

static void test_job(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    g_autoptr(GError) error = NULL;
    JsonObject *answer;

    guest_declare(f->a, "vm", "job-id", "train-7", NULL);
    guest_declare(f->c, "vm", "job-id", "train-7", NULL);
    WAIT(hz_vm_decl(kit_vm(f->kit, "A"), "vm") && hz_vm_decl(kit_vm(f->kit, "C"), "vm"));
    spec.job = "train-7";
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));      /* whose? */
    g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID);
    spec.tenant = "t1";
    answer = hz_notices_notify(f->kit->host, &spec, NULL);
    g_assert_cmpuint(json_array_get_length(hz_json_array(answer, "notices")), ==, 1);
    g_assert_cmpuint(kit_vm(f->kit, "A")->notices->len, ==, 1);
    g_assert_cmpuint(kit_vm(f->kit, "C")->notices->len, ==, 0);
    json_object_unref(answer);
}

/* -- pause -------------------------------------------------------------- */

static void test_pause(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;
    uint64_t measured;
    uint8_t id[16];

    notify(f, pause_of("k", 100 * HZ_MS), "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    g_assert_cmpuint(f->monitor->stops, ==, 0);
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_PREPARED, 0);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    g_assert_cmpuint(f->monitor->stops, ==, 1);
    g_assert_cmpuint(f->monitor->conts, ==, 1);
    g_assert_true(f->monitor->running);
    g_assert_true(guest_notice(f->a, id, &n));
    g_assert_true(hz_doc_u64(n.doc, n.doc_len, HZ_N_PAUSE_MEASURED_NS, &measured));
    g_assert_cmpuint(measured, >=, 99 * HZ_MS);     /* µs stamps may round down */
    g_assert_cmpuint(kit_vm(f->kit, "A")->pauses->len, ==, 1);
}

static void test_pause_limits(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = pause_of("k", 300 * HZ_MS);
    const char *names[] = { "A", NULL };
    g_autoptr(GError) error = NULL;
    uint8_t id[16];

    guest_declare(f->a, "vm", "max-pause", "250ms", "pause-fatal", "10s",
                  "max-pauses-per-h", "0", NULL);
    WAIT(hz_vm_decl(kit_vm(f->kit, "A"), "vm"));
    spec.vms = names;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_REFUSED);
    g_assert_nonnull(strstr(error->message, "250 ms"));
    g_clear_error(&error);
    spec.duration_ns = 20 * HZ_SEC;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_nonnull(strstr(error->message, "pause-fatal"));
    g_clear_error(&error);
    /* the operator keeps two an hour for himself, whatever is declared */
    notify(f, pause_of("k1", 10 * HZ_MS), "A", id);
    notify(f, pause_of("k2", 10 * HZ_MS), "A", id);
    spec = pause_of("k3", 10 * HZ_MS);
    spec.vms = names;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_nonnull(strstr(error->message, "max-pauses-per-h is 2"));
    spec.force = TRUE;
    notify(f, spec, "A", id);
    g_assert_cmpuint(kit_audited(f->kit, "request", "pause-fatal"), ==, 1);
    /* where nothing can stop it, nothing is promised */
    g_clear_error(&error);
    names[0] = "C";
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_nonnull(strstr(error->message, "qmp="));
}

static void test_pause_fails(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = pause_of("k", 10 * HZ_MS);
    struct hz_notice n;
    uint8_t id[16];

    f->monitor->refuse_stop = TRUE;
    spec.deadline_ns = 1;
    notify(f, spec, "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_CANCELLED));
    g_assert_true(guest_notice(f->a, id, &n));
    g_assert_cmpuint(n.cause, ==, VIRTIO_HZ_CAUSE_FAILED);
    g_assert_true(f->monitor->running);
    /* a cont that fails is tried until it doesn't */
    f->monitor->refuse_stop = FALSE;
    f->monitor->refuse_cont = TRUE;
    spec.key = "k2";
    notify(f, spec, "A", id);
    WAIT(f->monitor->conts >= 2);
    g_assert_false(f->monitor->running);
    f->monitor->refuse_cont = FALSE;
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    g_assert_true(f->monitor->running);
}

/* Somebody else resumes it, or it is cancelled meanwhile: it runs, and it is over. */
static void test_pause_other_hands(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = pause_of("k", 3600 * HZ_SEC);
    uint8_t id[16];

    spec.deadline_ns = 1;
    notify(f, spec, "A", id);
    WAIT(!f->monitor->running);
    g_assert_false(order(f, hz_notices_complete, "k", NULL));
    monitor_set_running(f->monitor, TRUE);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    g_assert_cmpuint(f->monitor->conts, ==, 0);
    g_assert_nonnull(strstr(notice_of(f, "A", id)->why, "cut short, continued by another hand"));
    spec.key = "k2";
    notify(f, spec, "A", id);
    WAIT(!f->monitor->running);
    g_assert_true(order(f, hz_notices_cancel, "k2", NULL));
    WAIT(f->monitor->running);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_CANCELLED));
    /* one that stands still already isn't ours to stop, nor to continue */
    monitor_set_running(f->monitor, FALSE);
    spec.key = "k3";
    spec.force = TRUE;
    WAIT(hz_vmm_state(g_ptr_array_index(kit_vm(f->kit, "A")->vmms, 0)) == HZ_VMM_PAUSED);
    notify(f, spec, "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_CANCELLED));
    g_assert_false(f->monitor->running);
}

/* -- restarts ----------------------------------------------------------- */

static void restart(Fixture *f)
{
    kit_stop(f->kit);
    kit_start(f->kit);
}

/* Nothing is lost: state, deadline, and a reply that was given while hzd was away. */
static void test_restart(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotice *notice;
    uint8_t open[16], closed[16], late[16];
    HzNotifySpec spec = reclaim("late");

    notify(f, reclaim("open"), "A", open);
    notify(f, reclaim("closed"), "A", closed);
    spec.deadline_ns = 3 * HZ_SEC;
    notify(f, spec, "C", late);
    WAIT(shows(f->a, closed, VIRTIO_HZ_STATE_SCHEDULED) &&
         shows(f->c, late, VIRTIO_HZ_STATE_SCHEDULED));
    g_assert_true(order(f, hz_notices_cancel, "closed", NULL));
    WAIT(shows(f->a, closed, VIRTIO_HZ_STATE_CANCELLED));
    kit_stop(f->kit);
    guest_reply(f->a, open, VIRTIO_HZ_REPLY_SEEN, 0);
    guest_reply(f->a, open, VIRTIO_HZ_REPLY_PREPARED, 0);
    kit_start(f->kit);
    up(f, f->a, "A");
    up(f, f->c, "C");
    WAIT(shows(f->a, open, VIRTIO_HZ_STATE_STARTED));
    notice = notice_of(f, "A", open);
    g_assert_true(notice->seen_us && notice->prepared_us && notice->adopted);
    /* by the key, whose text it forgot */
    g_assert_true(order(f, hz_notices_complete, "open", NULL));
    g_assert_true(order(f, hz_notices_cancel, "closed", NULL));     /* repeats still are ones */
    WAIT(shows(f->c, late, VIRTIO_HZ_STATE_STARTED));
    g_assert_cmpuint(f->a->refusals + f->c->refusals, ==, 0);
}

/* The operator's own words and the true deadline, also of what the board alone gives back. */
static void test_restart_shown(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("mine");
    g_autofree char *why = NULL;
    uint64_t deadline;
    uint8_t id[16], other[16];
    HzNotice *notice;

    spec.cause_key = "its cause";
    spec.deadline_ns = 50 * HZ_MS;
    notify(f, spec, "A", id);
    notify(f, reclaim("other"), "C", other);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_STARTED) && shows(f->c, other, VIRTIO_HZ_STATE_SCHEDULED));
    WAIT(notice_of(f, "A", id)->confirmed && notice_of(f, "C", other)->confirmed);
    deadline = notice_of(f, "A", id)->life.deadline;
    why = g_strdup(notice_of(f, "A", id)->why);
    g_assert_nonnull(why);
    g_assert_true(hz_notices_save(f->kit->host, NULL));
    /* twice: while a board is silent, what was known of it is written on */
    for (unsigned i = 0; i < 2; i++) {
        restart(f);
        up(f, f->a, "A");
        WAIT(notice_of(f, "A", id));
        notice = notice_of(f, "A", id);
        g_assert_true(notice->adopted);
        g_assert_cmpstr(notice->key, ==, "mine");
        g_assert_cmpstr(notice->cause_key, ==, "its cause");
        g_assert_cmpstr(notice->why, ==, why);
        g_assert_cmpuint(notice->life.deadline, ==, deadline);
        g_assert_true(hz_notices_save(f->kit->host, NULL));
    }
    up(f, f->c, "C");
    WAIT(notice_of(f, "C", other));
    g_assert_cmpstr(notice_of(f, "C", other)->key, ==, "other");
}

/* One that no board has yet, and one whose VM is never told, are kept by hzd itself. */
static void test_restart_unlinked(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t id[16];
    struct hz_notice n;

    device_disconnect(f->c);
    WAIT(!kit_vm(f->kit, "C")->link);
    notify(f, reclaim("k"), "C", id);
    restart(f);
    g_assert_nonnull(notice_of(f, "C", id));
    restart(f);
    up(f, f->c, "C");
    WAIT(guest_notice(f->c, id, &n));
    g_assert_cmpuint(n.deadline_ns, >, 3500 * HZ_SEC);
    g_assert_true(order(f, hz_notices_cancel, "k", NULL));
}

/* The folder hzd keeps its state in goes, or comes back. */
static void lose_state(Fixture *f, gboolean lose)
{
    g_autofree char *state = kit_path(f->kit, "state"), *away = kit_path(f->kit, "away");

    g_assert_cmpint(lose ? rename(state, away) : rename(away, state), ==, 0);
}

/* What only hzd would remember isn't promised when it can't be written down. */
static void test_unwritable(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    const char *names[] = { "C", NULL };
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonObject) host = NULL;
    uint64_t deadline;
    uint8_t id[16];

    device_disconnect(f->c);
    WAIT(!kit_vm(f->kit, "C")->link);
    notify(f, reclaim("old"), "C", id);
    deadline = notice_of(f, "C", id)->life.deadline;
    lose_state(f, TRUE);
    spec.vms = names;
    g_assert_null(hz_notices_notify(f->kit->host, &spec, &error));
    g_assert_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_REFUSED);
    g_assert_nonnull(strstr(error->message, "state/notices"));
    g_assert_nonnull(strstr(error->message, g_strerror(ENOENT)));
    g_assert_cmpuint(kit_vm(f->kit, "C")->notices->len, ==, 1);
    g_clear_error(&error);
    spec.key = "old";
    spec.revise = TRUE;
    spec.deadline_ns *= 2;
    json_object_unref(ask_notify(f->kit, &spec, "C", NULL));
    g_assert_cmpuint(notice_of(f, "C", id)->life.deadline, ==, deadline);
    g_assert_cmpuint(notice_of(f, "C", id)->life.revision, ==, 1);
    /* a board that is there remembers it */
    notify(f, reclaim("k"), "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    /* an act stays done, but the caller knows */
    g_assert_false(order(f, hz_notices_cancel, "old", &error));
    g_assert_nonnull(strstr(error->message, "a restart of hzd would undo it"));
    host = hz_admin_host_json(f->kit->host);
    g_assert_nonnull(strstr(hz_json_text(host, "state-trouble", ""), g_strerror(ENOENT)));
    lose_state(f, FALSE);
    notify(f, reclaim("k"), "C", id);
}

/* Said from the start, before anything had to be written. */
static void test_unwritable_start(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *way = kit_path(f->kit, "state/probe.new");
    g_autoptr(JsonObject) host = NULL;

    kit_stop(f->kit);
    g_assert_cmpint(g_mkdir(way, 0700), ==, 0);
    g_test_expect_message(NULL, G_LOG_LEVEL_WARNING, "*probe.new*");
    kit_start(f->kit);
    g_test_assert_expected_messages();
    host = hz_admin_host_json(f->kit->host);
    g_assert_nonnull(strstr(hz_json_text(host, "state-trouble", ""), "probe.new"));
    g_assert_cmpint(g_rmdir(way), ==, 0);
}

static void pause_and_kill(Fixture *f, uint8_t id[16])
{
    HzNotifySpec spec = pause_of("k", 500 * HZ_MS);

    spec.deadline_ns = 1;
    notify(f, spec, "A", id);
    WAIT(!f->monitor->running);
    WAIT(notice_of(f, "A", id)->stopped_ns);
    device_runstate(f->a, HZ_RUN_PAUSED);
    kit_stop(f->kit);
}

/* Killed in mid-pause: it runs again after the time it was to stand still, and is measured. */
static void test_restart_in_pause(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    struct hz_notice n;
    uint64_t measured;
    uint8_t id[16];

    pause_and_kill(f, id);
    kit_start(f->kit);
    up(f, f->a, "A");
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    g_assert_true(f->monitor->running);
    g_assert_true(guest_notice(f->a, id, &n));
    g_assert_true(hz_doc_u64(n.doc, n.doc_len, HZ_N_PAUSE_MEASURED_NS, &measured));
    g_assert_cmpuint(measured, >=, 499 * HZ_MS);
}

/* Likewise when what hzd kept is gone: the board alone tells that a pause had started. */
static void test_restart_in_pause_bare(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *path = kit_path(f->kit, "state/notices");
    uint8_t id[16];

    pause_and_kill(f, id);
    g_assert_cmpint(remove(path), ==, 0);
    kit_start(f->kit);
    up(f, f->a, "A");
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    g_assert_true(f->monitor->running);
}

/* The operator was faster. */
static void test_restart_resumed(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t id[16];

    pause_and_kill(f, id);
    monitor_set_running(f->monitor, TRUE);
    kit_start(f->kit);
    up(f, f->a, "A");
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    g_assert_cmpuint(f->monitor->conts, ==, 0);
}

/* A clean stop leaves nobody standing still. */
static void test_stop_in_pause(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = pause_of("k", 3600 * HZ_SEC);
    struct hz_notice n;
    uint64_t measured;
    uint8_t id[16];

    spec.deadline_ns = 1;
    notify(f, spec, "A", id);
    WAIT(!f->monitor->running);
    WAIT(notice_of(f, "A", id)->stopped_ns);
    hz_admin_stop(f->kit->host);
    g_main_loop_run(f->kit->host->loop);
    g_assert_true(f->monitor->running);
    /* and doesn't call that whole */
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_CANCELLED));
    g_assert_true(guest_notice(f->a, id, &n));
    g_assert_cmpuint(n.cause, ==, VIRTIO_HZ_CAUSE_OPERATOR);
    g_assert_true(hz_doc_u64(n.doc, n.doc_len, HZ_N_PAUSE_MEASURED_NS, &measured));
    g_assert_nonnull(strstr(notice_of(f, "A", id)->why, "cut short, hzd stops"));
    /* nor takes it up again */
    restart(f);
    g_assert_null(notice_of(f, "A", id));
}

static char *runs(Fixture *f)
{
    g_autoptr(JsonObject) o = hz_vm_json(kit_vm(f->kit, "A"));

    return g_strdup(hz_json_text(o, "run-state", ""));
}

/* Gone is a process from its end on, not only when its parent has noticed. */
static void test_process_gone(G_GNUC_UNUSED Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    pid_t pid = fork();
    siginfo_t info;

    if (!pid) {
        _exit(0);
    }
    g_assert_cmpint(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), ==, 0);
    g_assert_cmpuint(hz_process_start(getpid()), >, 0);
    g_assert_cmpuint(hz_process_start(pid), ==, 0);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

/* A VM that is gone in the middle of a pause: that is the end of it, and nothing is known of it. */
static void test_gone_in_pause(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = pause_of("k", 3600 * HZ_SEC);
    g_autofree char *before = NULL, *after = NULL;
    uint8_t id[16];
    HzNotice *notice;

    spec.deadline_ns = 1;
    notify(f, spec, "A", id);
    WAIT(!f->monitor->running);
    notice = notice_of(f, "A", id);
    WAIT(notice->stopped_ns);
    device_runstate(f->a, HZ_RUN_PAUSED);
    WAIT(kit_vm(f->kit, "A")->run_state == HZ_RUN_PAUSED);
    before = runs(f);
    g_assert_cmpstr(before, ==, "paused");
    g_assert_cmpint(notice->act_pid, ==, getpid());
    /* the monitor lives in this process: as if it had been another that is no more */
    notice->act_start++;
    device_disconnect(f->a);
    g_clear_pointer(&f->monitor, monitor_free);
    WAIT(!notice->acting);
    g_assert_cmpuint(notice->life.state, ==, VIRTIO_HZ_STATE_CANCELLED);
    g_assert_nonnull(strstr(notice->why, "is gone"));
    WAIT(!kit_vm(f->kit, "A")->link);
    after = runs(f);
    g_assert_cmpstr(after, ==, "unknown");
    f->monitor = monitor_new(f->kit, "qmp");
}

/* -- other boards ------------------------------------------------------- */

static void load_state(Device *d, const uint8_t *state, size_t len, const uint8_t *generation)
{
    struct hz_board_loaded how = { .generation = generation, .keep = true };
    const char *why;

    g_assert_cmpint(hz_board_load(d->board, state, len, &how, &why), ==, 0);
}

/* loadvm under a live link, to a state that has an older revision and lacks a newer notice. */
static void test_loadvm(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t old[16], newer[16], state[HZ_BOARD_STATE_MAX];
    HzNotifySpec spec = reclaim("old");
    struct hz_notice n;
    int len;

    notify(f, spec, "A", old);
    WAIT(shows(f->a, old, VIRTIO_HZ_STATE_SCHEDULED));
    len = hz_board_save(f->a->board, state, sizeof(state));
    spec.revise = TRUE;
    notify(f, spec, "A", old);
    notify(f, reclaim("newer"), "A", newer);
    WAIT(shows(f->a, newer, VIRTIO_HZ_STATE_SCHEDULED));
    WAIT(guest_notice(f->a, old, &n) && n.revision == 2);
    load_state(f->a, state, (size_t)len, NULL);
    g_assert_false(guest_notice(f->a, newer, &n));
    device_hello(f->a);
    WAIT(shows(f->a, newer, VIRTIO_HZ_STATE_SCHEDULED));
    WAIT(guest_notice(f->a, old, &n) && n.revision == 2);
    /* and its times are known again */
    g_assert_cmpuint(n.deadline_ns, !=, VIRTIO_HZ_NS_UNKNOWN);
    g_assert_cmpuint(f->a->refusals, ==, 0);
}

static void test_new_generation(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    static const uint8_t other[16] = { 9 };
    uint8_t id[16], state[HZ_BOARD_STATE_MAX];
    int len;

    notify(f, reclaim("k"), "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    len = hz_board_save(f->a->board, state, sizeof(state));
    load_state(f->a, state, (size_t)len, other);
    device_hello(f->a);
    WAIT(notice_of(f, "A", id)->life.state == VIRTIO_HZ_STATE_CANCELLED);
    g_assert_cmpuint(notice_of(f, "A", id)->life.closed_cause, ==, VIRTIO_HZ_CAUSE_GENERATION);
    g_assert_true(shows(f->a, id, VIRTIO_HZ_STATE_CANCELLED));
}

/* A VM that comes from another host brings that host's promises along. */
static void test_foreign(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    uint8_t keep[16], gone[16], state[HZ_BOARD_STATE_MAX];
    g_autofree char *text = NULL;
    HzNoticeRef ref = { .who = "test" };
    struct hz_notice n;
    JsonObject *o;
    int len;

    notify(f, reclaim("k"), "A", keep);
    notify(f, pause_of("p", HZ_SEC), "A", gone);
    WAIT(shows(f->a, keep, VIRTIO_HZ_STATE_SCHEDULED) &&
         shows(f->a, gone, VIRTIO_HZ_STATE_SCHEDULED));
    len = hz_board_save(f->a->board, state, sizeof(state));
    /* C plays the target: its hzd knows nothing of these */
    load_state(f->c, state, (size_t)len, NULL);
    device_hello(f->c);
    WAIT(shows(f->c, gone, VIRTIO_HZ_STATE_CANCELLED));
    g_assert_true(guest_notice(f->c, keep, &n));
    g_assert_cmpuint(n.state, ==, VIRTIO_HZ_STATE_SCHEDULED);
    g_assert_cmpuint(n.deadline_ns, ==, VIRTIO_HZ_NS_UNKNOWN);
    text = hz_id_text(keep);
    ref.id = text;
    ref.vm = "C";
    o = hz_notices_cancel(f->kit->host, &ref, NULL);
    g_assert_nonnull(o);
    json_object_unref(o);
    WAIT(shows(f->c, keep, VIRTIO_HZ_STATE_CANCELLED));
}

/* A guest that reboots takes its PREPARED back. */
static void test_reply_reset(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    HzNotifySpec spec = reclaim("k");
    uint8_t id[16];

    spec.not_before_ns = 1000 * HZ_SEC;
    notify(f, spec, "A", id);
    WAIT(shows(f->a, id, VIRTIO_HZ_STATE_SCHEDULED));
    guest_reply(f->a, id, VIRTIO_HZ_REPLY_PREPARED, 0);
    WAIT(notice_of(f, "A", id)->life.replied);
    hz_board_reset(f->a->board);
    device_tell(f->a);
    WAIT(!notice_of(f, "A", id)->life.replied);
}

static void test_many(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    for (unsigned i = 0; i < 600; i++) {
        g_autofree char *key = g_strdup_printf("k%u", i);
        HzNotifySpec spec = reclaim(key);
        struct hz_notice n;
        uint8_t id[16];

        spec.test = TRUE;
        notify(f, spec, "A", id);
        WAIT(guest_notice(f->a, id, &n));
        guest_reply(f->a, id, VIRTIO_HZ_REPLY_SEEN, 0);
        WAIT(shows(f->a, id, VIRTIO_HZ_STATE_COMPLETED));
    }
    g_assert_cmpuint(kit_vm(f->kit, "A")->notices->len, <=, 66);
    g_assert_cmpuint(kit_vm(f->kit, "A")->counters.throttled, ==, 0);
}

#define ADD(name, func) g_test_add("/notices/" name, Fixture, NULL, set_up, func, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
    ADD("life", test_life);
    ADD("idempotent", test_idempotent);
    ADD("per-vm", test_per_vm);
    ADD("deadline", test_deadline);
    ADD("extend", test_extend);
    ADD("failed", test_failed);
    ADD("synthetic", test_synthetic);
    ADD("negotiate", test_negotiate);
    ADD("refused", test_refused);
    ADD("untold", test_untold);
    ADD("full", test_full);
    ADD("drain", test_drain);
    ADD("drain-late", test_drain_late);
    ADD("drain-gone", test_drain_gone);
    ADD("short", test_short);
    ADD("leave", test_leave);
    ADD("job", test_job);
    ADD("pause", test_pause);
    ADD("pause-limits", test_pause_limits);
    ADD("pause-fails", test_pause_fails);
    ADD("pause-other-hands", test_pause_other_hands);
    ADD("restart", test_restart);
    ADD("restart-shown", test_restart_shown);
    ADD("restart-unlinked", test_restart_unlinked);
    ADD("unwritable", test_unwritable);
    ADD("unwritable-start", test_unwritable_start);
    ADD("restart-in-pause", test_restart_in_pause);
    ADD("restart-in-pause-bare", test_restart_in_pause_bare);
    ADD("restart-resumed", test_restart_resumed);
    ADD("stop-in-pause", test_stop_in_pause);
    ADD("gone-in-pause", test_gone_in_pause);
    ADD("process-gone", test_process_gone);
    ADD("loadvm", test_loadvm);
    ADD("new-generation", test_new_generation);
    ADD("foreign", test_foreign);
    ADD("reply-reset", test_reply_reset);
    ADD("many", test_many);
    return g_test_run();
}
