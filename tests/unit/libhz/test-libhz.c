/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libhz against the board of fake-board.c: one behaviour a function, TAP on standard output. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/virtio_hz.h>

#include "libhz.h"

static const char *board_program;
static char dir[] = "/tmp/hz-test-libhz-XXXXXX", device[64];
static pid_t board_pid;
static int provider_fd = -1, checks_failed;

#define CHECK(cond) check(cond, #cond, __LINE__)
#define EQ(a, b) check_eq((long long)(a), (long long)(b), #a, __LINE__)

static void check(bool ok, const char *what, int line)
{
    if (!ok) {
        printf("# line %d: not true: %s\n", line, what);
        checks_failed++;
    }
}

static void check_eq(long long a, long long b, const char *what, int line)
{
    if (a != b) {
        printf("# line %d: %s is %lld, not %lld\n", line, what, a, b);
        checks_failed++;
    }
}

/* -- a board for each test ----------------------------------------------- */

static void board_start(void)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    char ready[16];
    int out[2];

    if (pipe(out) < 0) {
        exit(1);
    }
    board_pid = fork();
    if (board_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], 1);
        execl(board_program, "fake-board", device, NULL);
        _exit(127);
    }
    close(out[1]);
    if (read(out[0], ready, sizeof(ready)) <= 0) {
        printf("Bail out! %s doesn't start\n", board_program);
        exit(1);
    }
    close(out[0]);
    provider_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    strcpy(addr.sun_path, device);
    if (connect(provider_fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        exit(1);
    }
}

static void board_stop(void)
{
    kill(board_pid, SIGKILL);
    waitpid(board_pid, NULL, 0);
    close(provider_fd);
    unlink(device);
}

static void provider(const char *line)
{
    char answer[64] = "";
    ssize_t n;

    if (send(provider_fd, line, strlen(line), MSG_NOSIGNAL) < 0) {
        exit(1);
    }
    n = recv(provider_fd, answer, sizeof(answer) - 1, 0);
    if (n <= 0 || strcmp(answer, "ok")) {
        printf("# provider '%s': %s\n", line, answer);
        checks_failed++;
    }
}

static struct hz *opened(void)
{
    struct hz *hz = NULL;

    EQ(hz_open(&hz, device), 0);
    return hz;
}

/* The next event; the board tells before it answers, so that nothing is waited for. */
static struct hz_event *next(struct hz *hz)
{
    struct hz_event *ev;
    int r = hz_read(hz, &ev);

    if (r != 1) {
        printf("# hz_read: %d where an event was due\n", r);
        checks_failed++;
        exit(1);
    }
    return ev;
}

static void skip_all(struct hz *hz)
{
    struct hz_event *ev;

    while (hz_read(hz, &ev) == 1) {
        hz_event_free(ev);
    }
}

static struct hz_event *next_of(struct hz *hz, enum hz_event_type type)
{
    struct hz_event *ev = next(hz);

    while (ev->type != type) {
        hz_event_free(ev);
        ev = next(hz);
    }
    return ev;
}

static struct hz_draft *draft(const char *subject, const char *field, const char *text)
{
    struct hz_draft *d = hz_draft_new(subject);

    EQ(hz_draft_set(d, field, text), 0);
    return d;
}

static int declare(struct hz *hz, const char *subject, const char *field, const char *text,
                   uint64_t replaces, unsigned flags, uint64_t *seq)
{
    struct hz_draft *d = draft(subject, field, text);
    int r = hz_declare(hz, d, replaces, flags, seq);

    hz_draft_free(d);
    return r;
}

/* -- handles ------------------------------------------------------------- */

static void test_open_missing(void)
{
    struct hz *hz;

    EQ(hz_open(&hz, "/nonexistent/hz"), -ENOENT);
    CHECK(hz == NULL);
    CHECK(strstr(hz_strerror(-ENOENT), "no such device") != NULL);
    hz_close(NULL);
    hz_event_free(NULL);
    hz_draft_free(NULL);
}

static void test_open_by_environment(void)
{
    struct hz *hz;

    setenv("HZ_DEVICE", device, 1);
    EQ(hz_open(&hz, NULL), 0);
    hz_close(hz);
    unsetenv("HZ_DEVICE");
}

static void test_about(void)
{
    struct hz *hz = opened();
    struct hz_about a;

    EQ(hz_about(hz, &a), 0);
    EQ(a.protocol, 1);
    EQ(a.max_declarations, 16);
    EQ(a.max_notices, 32);
    EQ(a.max_doc, 1024);
    CHECK(!a.provider && !a.responder && !a.responder_taken);
    provider("provider 1");
    EQ(hz_claim(hz), 0);
    EQ(hz_about(hz, &a), 0);
    CHECK(a.provider && a.responder && a.responder_taken);
    hz_close(hz);
}

static void test_first_event_is_the_board(void)
{
    struct hz *hz = opened();
    struct hz_event *ev = next(hz);

    EQ(ev->type, HZ_EVENT_STATUS);
    EQ(ev->status.changed, HZ_CHANGED_BOARD);
    EQ(ev->status.disruption, 1);
    hz_event_free(ev);
    EQ(hz_read(hz, &ev), 0);    /* told once, though the board tells it before and among the rest */
    EQ(hz_wait(hz, 0), 0);
    EQ(hz_rewind(hz), 0);
    ev = next(hz);
    EQ(ev->status.changed, HZ_CHANGED_BOARD);
    hz_event_free(ev);
    hz_close(hz);
}

static void test_unplug_ends_waiting(void)
{
    struct hz *hz = opened();
    struct hz_event *ev;

    skip_all(hz);
    provider("unplug");
    EQ(hz_wait(hz, -1) == 1 || hz_wait(hz, -1) == -ENODEV, 1);
    EQ(hz_read(hz, &ev), -ENODEV);
    EQ(declare(hz, "nic/0", "net-min", "1Mbit", HZ_REPLACE_ANY, 0, NULL), -ENODEV);
    hz_close(hz);
}

/* -- drafts -------------------------------------------------------------- */

static void says(int r, int error, struct hz_draft *d, const char *a, const char *b)
{
    EQ(r, error);
    if (!strstr(hz_draft_error(d), a) || !strstr(hz_draft_error(d), b)) {
        printf("# '%s' has no '%s' or no '%s'\n", hz_draft_error(d), a, b);
        checks_failed++;
    }
}

static void test_draft_errors_name_things(void)
{
    struct hz_draft *d = hz_draft_new("nic/0");

    says(hz_draft_set(d, "net-mim", "1Mbit"), -EINVAL, d, "'net-mim'", "did you mean 'net-min'");
    says(hz_draft_set(d, "qqqqqqqqqqq", "1"), -EINVAL, d, "'qqqqqqqqqqq'", "none of that name");
    says(hz_draft_set(d, "net-min", "fast"), -EINVAL, d, "'fast'", "a rate such as");
    says(hz_draft_set(d, "net-weight", "0"), -ERANGE, d, "'0'", "1 to 1000");
    says(hz_draft_set_number(d, "net-weight", 1001), -ERANGE, d, "'1001'", "1 to 1000");
    says(hz_draft_set(d, "reclaim-action", "stop"), -EINVAL, d, "reclaim-action", "notices");
    says(hz_draft_unset(d, "net-min"), -ENOENT, d, "net-min", "isn't set");
    EQ(hz_draft_fields(d), 0);
    hz_draft_free(d);
}

static void test_draft_subjects(void)
{
    struct hz_draft *d = hz_draft_new("Nic/0");

    says(hz_draft_set(d, "net-min", "1Mbit"), -EINVAL, d, "'Nic/0'", "a-z");
    hz_draft_free(d);
    d = hz_draft_new("disk/0");
    says(hz_draft_check(d), -EINVAL, d, "'disk/0'", "nic/N");
    hz_draft_free(d);
    d = hz_draft_new("a-name-longer-than-thirty-one-letters");
    says(hz_draft_set(d, "max-pause", "1s"), -EINVAL, d, "a-name-longer", "1 to 31");
    hz_draft_free(d);
}

static void test_draft_is_checked_whole(void)
{
    struct hz_draft *d = draft("nic/0", "net-min", "3Mbit");

    EQ(hz_draft_set(d, "net-max", "2Mbit"), 0);
    says(hz_draft_check(d), -EINVAL, d, "net-min", "contradicts");
    EQ(hz_draft_set(d, "net-max", "3Mbit"), 0);
    EQ(hz_draft_check(d), 0);
    EQ(hz_draft_set(d, "max-pause", "1s"), 0);
    says(hz_draft_check(d), -EINVAL, d, "max-pause", "nic/0");
    EQ(hz_draft_unset(d, "max-pause"), 0);
    EQ(hz_draft_check(d), 0);
    EQ(hz_draft_fields(d), 2);
    hz_draft_free(d);
}

static void test_draft_has_an_end(void)
{
    struct hz_draft *d = hz_draft_new("vm");
    uint8_t big[1024] = { 0 };

    /* a head of 4 and 1020 bytes of value fill 1024 */
    EQ(hz_draft_set_raw(d, 0x7001, big, 1020), 0);
    says(hz_draft_set_raw(d, 0x7002, big, 1), -EMSGSIZE, d, "0x7002", "1024 bytes");
    hz_draft_free(d);
}

/* -- declarations -------------------------------------------------------- */

static void test_declare_and_verdict(void)
{
    struct hz *hz = opened();
    struct hz_event *ev;
    uint64_t seq, v;

    skip_all(hz);
    EQ(declare(hz, "nic/0", "net-min", "200Mbit", HZ_REPLACE_ANY, 0, &seq), 0);
    ev = next(hz);
    EQ(ev->type, HZ_EVENT_DECLARATION);
    CHECK(!strcmp(ev->declaration.subject, "nic/0"));
    EQ(ev->declaration.seq, seq);
    EQ(ev->declaration.n, 1);
    CHECK(!ev->declaration.judged && !ev->declaration.gone);
    EQ(ev->declaration.field[0].verdict, HZ_PENDING);
    /* 200 Mbit/s are 25 000 000 bytes/s */
    CHECK(hz_number(ev->declaration.field, 1, "net-min", &v) && v == 25000000);
    CHECK(!hz_number(ev->declaration.field, 1, "net-max", &v));
    hz_event_free(ev);

    provider("verdict nic/0 net-min clamped entitlement 10000000");
    ev = next(hz);
    CHECK(ev->declaration.judged);
    EQ(ev->declaration.field[0].verdict, HZ_CLAMPED);
    EQ(ev->declaration.field[0].verdict_value, 10000000);
    CHECK(!strcmp(ev->declaration.field[0].verdict_text, "80Mbit"));
    CHECK(!strcmp(hz_reason_name(ev->declaration.field[0].reason), "entitlement"));
    hz_event_free(ev);

    /* verdicts of an older declaration aren't for the new one */
    EQ(declare(hz, "nic/0", "net-min", "100Mbit", seq, 0, NULL), 0);
    ev = next(hz);
    CHECK(!ev->declaration.judged);
    EQ(ev->declaration.field[0].verdict, HZ_PENDING);
    hz_event_free(ev);
    hz_close(hz);
}

static void test_declaration_goes_with_its_handle(void)
{
    struct hz *hz = opened(), *other = opened();
    struct hz_event *ev;

    skip_all(other);
    EQ(declare(hz, "nic/0", "net-min", "1Mbit", HZ_REPLACE_ANY, 0, NULL), 0);
    EQ(declare(hz, "vm", "max-pause", "1s", HZ_REPLACE_ANY, HZ_PERSIST, NULL), 0);
    skip_all(other);
    hz_close(hz);
    EQ(hz_wait(other, 60000), 1);
    ev = next(other);
    CHECK(ev->declaration.gone && !strcmp(ev->declaration.subject, "nic/0"));
    hz_event_free(ev);
    EQ(hz_read(other, &ev), 0);
    EQ(hz_withdraw(other, "vm", HZ_REPLACE_ANY), 0);
    hz_close(other);
}

static void test_declare_refusals(void)
{
    struct hz *hz = opened(), *other = opened();
    uint64_t seq;
    char subject[16];
    int i;

    EQ(declare(hz, "nic/0", "net-min", "1Mbit", HZ_REPLACE_NONE, 0, &seq), 0);
    EQ(declare(other, "nic/0", "net-min", "2Mbit", HZ_REPLACE_ANY, 0, NULL), -EBUSY);
    EQ(hz_withdraw(other, "nic/0", HZ_REPLACE_ANY), -EBUSY);
    EQ(declare(hz, "nic/0", "net-min", "3Mbit", HZ_REPLACE_NONE, 0, NULL), -ESTALE);
    EQ(declare(hz, "nic/0", "net-min", "3Mbit", seq + 1, 0, NULL), -ESTALE);
    EQ(hz_withdraw(hz, "nic/0", seq + 1), -ESTALE);
    EQ(hz_withdraw(hz, "nic/1", HZ_REPLACE_ANY), -ENOENT);
    EQ(hz_withdraw(hz, "NIC", HZ_REPLACE_ANY), -EINVAL);
    EQ(declare(hz, "nic/0", "net-min", "3Mbit", HZ_REPLACE_ANY, 1u << 7, NULL), -EINVAL);
    for (i = 1; i < 16; i++) {
        snprintf(subject, sizeof(subject), "nic/%d", i);
        EQ(declare(hz, subject, "net-min", "1Mbit", HZ_REPLACE_ANY, 0, NULL), 0);
    }
    EQ(declare(hz, "nic/16", "net-min", "1Mbit", HZ_REPLACE_ANY, 0, NULL), -ENOSPC);
    hz_close(hz);
    hz_close(other);
}

static void test_requests_cut_off_are_made_again(void)
{
    struct hz *hz = opened();

    provider("again 3");
    EQ(declare(hz, "nic/0", "net-min", "1Mbit", HZ_REPLACE_ANY, 0, NULL), 0);
    provider("again 4");
    EQ(hz_withdraw(hz, "nic/0", HZ_REPLACE_ANY), 0);
    provider("again 5");                    /* not for ever */
    EQ(declare(hz, "nic/0", "net-min", "1Mbit", HZ_REPLACE_ANY, 0, NULL), -EAGAIN);
    EQ(declare(hz, "nic/0", "net-min", "1Mbit", HZ_REPLACE_ANY, 0, NULL), 0);
    hz_close(hz);
}

static void test_merge_keeps_what_is_not_set(void)
{
    struct hz *hz = opened();
    struct hz_draft *d = draft("nic/0", "net-min", "1Mbit");
    struct hz_event *ev, *merged;
    uint64_t v;

    EQ(hz_draft_set(d, "net-max", "8Mbit"), 0);
    skip_all(hz);
    EQ(hz_declare(hz, d, HZ_REPLACE_ANY, 0, NULL), 0);
    hz_draft_free(d);
    ev = next(hz);
    d = draft("nic/0", "net-max", "16Mbit");
    EQ(hz_draft_merge(d, &ev->declaration), 0);
    EQ(hz_draft_event(d, &merged), 0);
    EQ(merged->declaration.n, 2);
    CHECK(hz_number(merged->declaration.field, 2, "net-min", &v) && v == 125000);
    CHECK(hz_number(merged->declaration.field, 2, "net-max", &v) && v == 2000000);
    hz_event_free(ev);
    hz_event_free(merged);
    hz_draft_free(d);
    hz_close(hz);
}

/* -- notices ------------------------------------------------------------- */

static void test_notice_times(void)
{
    struct hz *hz = opened();
    struct hz_event *ev;
    int64_t before = hz_now(), left;
    uint64_t v;

    provider("notice ab reclaim scheduled 1 gate 60000 500 action=1");
    ev = next_of(hz, HZ_EVENT_NOTICE);
    left = ev->notice.deadline - before;
    /* 60 s from when it was told, and this test hasn't run for 50 s */
    CHECK(left >= 60000000000 && left < 110000000000);
    EQ(ev->notice.not_before, HZ_TIME_NONE);
    EQ(ev->notice.duration_ns / 1000000, 500);
    EQ(ev->notice.id[0], 0xab);
    EQ(ev->notice.state, HZ_SCHEDULED);
    EQ(ev->notice.ack, HZ_ACK_GATE);
    CHECK(!strcmp(hz_kind_name(ev->notice.kind), "reclaim") && !ev->notice.test);
    CHECK(hz_number(ev->notice.field, ev->notice.n, "reclaim-action", &v) && v == 1);
    CHECK(!strcmp(ev->notice.field[0].text, "hibernate"));
    hz_event_free(ev);

    provider("notice ab reclaim scheduled 2 gate unknown unknown test lapsed");
    ev = next(hz);
    EQ(ev->notice.deadline, HZ_TIME_UNKNOWN);
    EQ(ev->notice.duration_ns, HZ_TIME_UNKNOWN);
    CHECK(ev->notice.test && ev->notice.lapsed);
    hz_event_free(ev);
    provider("drop ab");
    ev = next(hz);
    CHECK(ev->notice.gone && ev->notice.id[0] == 0xab);
    hz_event_free(ev);
    hz_close(hz);
}

static void test_reply(void)
{
    struct hz *hz = opened(), *other = opened();
    struct hz_event *ev, *again;

    provider("notice 01 pause scheduled 1 gate 60000");
    ev = next_of(hz, HZ_EVENT_NOTICE);
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_SEEN, 0), -EPERM);
    EQ(hz_claim(hz), 0);
    EQ(hz_claim(other), -EBUSY);
    EQ(hz_reply(other, &ev->notice, HZ_REPLY_SEEN, 0), -EPERM);
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_SEEN, 0), 0);
    again = next(hz);
    EQ(again->notice.reply, HZ_REPLY_SEEN);
    EQ(again->notice.replied, 1 << HZ_REPLY_SEEN);
    hz_event_free(again);
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_SEEN, 0), 0);
    EQ(hz_read(hz, &again), 0);         /* the same twice rings nothing */
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_EXTEND, 30000000000), 0);
    again = next(hz);
    EQ(again->notice.reply_arg, 30000000000);
    hz_event_free(again);
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_PREPARED, 1), -EINVAL);
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_NONE, 0), -EINVAL);
    EQ(hz_reply(hz, &ev->notice, (enum hz_reply_code)9, 0), -EINVAL);

    provider("notice 01 pause scheduled 2 gate 60000");
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_PREPARED, 0), -ECANCELED);
    hz_event_free(ev);
    ev = next_of(hz, HZ_EVENT_NOTICE);
    provider("notice 01 pause completed 2 gate 60000");
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_PREPARED, 0), -ECANCELED);
    ev->notice.id[3] ^= 1;
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_PREPARED, 0), -ENOENT);
    hz_event_free(ev);
    EQ(hz_unclaim(hz), 0);
    EQ(hz_claim(other), 0);
    hz_close(other);
    hz_close(hz);
}

static void test_counter(void)
{
    struct hz *hz = opened();
    struct hz_draft *d = draft("nic/0", "net-max", "8Mbit");
    uint8_t big[300] = { 0 };
    struct hz_event *ev;

    provider("notice 0f offer scheduled 1 negotiate 60000");
    ev = next_of(hz, HZ_EVENT_NOTICE);
    EQ(hz_claim(hz), 0);
    EQ(hz_counter(hz, &ev->notice, d), 0);
    EQ(hz_reply(hz, &ev->notice, HZ_REPLY_COUNTER, 0), -EINVAL);
    EQ(hz_draft_set_raw(d, 0x7001, big, sizeof(big)), 0);
    says(hz_counter(hz, &ev->notice, d), -EMSGSIZE, d, "at most 256", "bytes");
    hz_event_free(ev);
    hz_draft_free(d);
    ev = next(hz);
    EQ(ev->notice.reply, HZ_REPLY_COUNTER);
    hz_event_free(ev);
    hz_close(hz);
}

/* -- the VM moves -------------------------------------------------------- */

static void test_migration(void)
{
    struct hz *hz = opened();
    struct hz_event *ev, *old;

    provider("notice 02 reclaim scheduled 1 gate 60000");
    EQ(hz_claim(hz), 0);
    old = next_of(hz, HZ_EVENT_NOTICE);
    provider("migrate");
    ev = next(hz);              /* before anything else */
    EQ(ev->type, HZ_EVENT_STATUS);
    CHECK(ev->status.changed & HZ_CHANGED_DISRUPTION);
    CHECK(ev->status.changed & HZ_CHANGED_BOARD);
    CHECK(!(ev->status.changed & HZ_CHANGED_GENERATION));
    EQ(ev->status.disruption, 2);
    CHECK(!strcmp(hz_why_name(ev->status.why), "migrate"));
    hz_event_free(ev);
    ev = next(hz);
    EQ(ev->notice.deadline, HZ_TIME_UNKNOWN);
    EQ(hz_reply(hz, &old->notice, HZ_REPLY_SEEN, 0), 0);        /* replies survive a migration */
    hz_event_free(ev);
    hz_event_free(old);
    hz_close(hz);
}

static void test_restore(void)
{
    struct hz *hz = opened();
    struct hz_event *ev, *old;

    provider("notice 03 reclaim scheduled 1 gate 60000");
    EQ(hz_claim(hz), 0);
    old = next_of(hz, HZ_EVENT_NOTICE);
    provider("restore");
    ev = next(hz);
    CHECK(ev->status.changed & HZ_CHANGED_GENERATION);
    hz_event_free(ev);
    ev = next(hz);
    EQ(ev->notice.state, HZ_CANCELLED);
    CHECK(!strcmp(hz_cause_name(ev->notice.cause), "generation"));
    EQ(hz_reply(hz, &old->notice, HZ_REPLY_SEEN, 0), -ECANCELED);       /* not a new generation */
    hz_event_free(ev);
    hz_event_free(old);
    hz_close(hz);
}

static void test_reset_asks_to_declare_again(void)
{
    struct hz *hz = opened();
    struct hz_event *ev;

    EQ(declare(hz, "nic/0", "net-min", "1Mbit", HZ_REPLACE_ANY, 0, NULL), 0);
    skip_all(hz);
    provider("reset");
    ev = next_of(hz, HZ_EVENT_STATUS);
    CHECK(ev->status.changed & HZ_CHANGED_REDECLARE);
    hz_event_free(ev);
    provider("provider 1");
    ev = next_of(hz, HZ_EVENT_STATUS);
    EQ(ev->status.changed, HZ_CHANGED_PROVIDER);
    CHECK(ev->status.provider);
    hz_event_free(ev);
    hz_close(hz);
}

static void test_pauses(void)
{
    struct hz *hz = opened();
    struct hz_event *ev;
    int i;

    skip_all(hz);
    for (i = 0; i < 2; i++) {           /* two of one length are two */
        provider("pause 250");
        ev = next(hz);
        EQ(ev->type, HZ_EVENT_STATUS);
        EQ(ev->status.changed, HZ_CHANGED_PAUSED);
        EQ(ev->status.pause_ns / 1000000, 250);
        hz_event_free(ev);
    }
    provider("provider 1");
    ev = next(hz);
    EQ(ev->status.changed, HZ_CHANGED_PROVIDER);
    hz_event_free(ev);
    hz_close(hz);
}

/* -- a driver that isn't right ------------------------------------------- */

static void raw(const void *bytes, size_t n)
{
    char line[2100] = "raw ";
    size_t i;

    for (i = 0; i < n; i++) {
        snprintf(line + 4 + 2 * i, 3, "%02x", ((const uint8_t *)bytes)[i]);
    }
    provider(line);
}

/* A record with @body zero bytes of body and this head. */
static void raw_record(struct hz_record head, size_t body)
{
    uint8_t bytes[1000] = { 0 };

    memcpy(bytes, &head, sizeof(head));
    raw(bytes, sizeof(head) + body);
}

static void expect_bad_then_good(struct hz *hz)
{
    struct hz_event *ev;

    EQ(hz_read(hz, &ev), -EBADMSG);
    CHECK(ev == NULL);
    EQ(hz_read(hz, &ev), 0);
}

static void test_bad_records_are_skipped(void)
{
    const uint32_t h = sizeof(struct hz_record);
    struct hz *hz = opened();
    struct hz_record good = { .size = h + 160, .head = (uint16_t)h, .type = VIRTIO_HZ_R_NOTICE,
                              .body = 160 }, bad;
    struct hz_event *ev;

    skip_all(hz);
    raw("short", 5);
    expect_bad_then_good(hz);
    bad = good, bad.size = h + 168;             /* more than came */
    raw_record(bad, 160);
    expect_bad_then_good(hz);
    bad = good, bad.size = 0;                   /* would never end */
    raw_record(bad, 160);
    expect_bad_then_good(hz);
    bad = good, bad.size = h + 157;             /* not a multiple of eight */
    raw_record(bad, 160);
    expect_bad_then_good(hz);
    bad = good, bad.head = 8;                   /* less than a head */
    raw_record(bad, 160);
    expect_bad_then_good(hz);
    bad = good, bad.head = (uint16_t)(h + 168); /* beyond its end */
    raw_record(bad, 160);
    expect_bad_then_good(hz);
    bad = good, bad.body = 161;                 /* beyond its end */
    raw_record(bad, 160);
    expect_bad_then_good(hz);
    raw_record(good, 160);                      /* revision 0: no notice has it */
    expect_bad_then_good(hz);
    bad = good, bad.type = VIRTIO_HZ_R_STATUS;  /* no status is so long */
    raw_record(bad, 160);
    expect_bad_then_good(hz);
    bad = good, bad.type = VIRTIO_HZ_R_DECLARATION;     /* no subject */
    raw_record(bad, 160);
    expect_bad_then_good(hz);
    bad = good, bad.type = 0x0299;              /* a newer driver's: passed over in silence */
    raw_record(bad, 160);
    EQ(hz_read(hz, &ev), 0);
    provider("notice 04 pause scheduled 1 gate 1000");
    ev = next(hz);
    EQ(ev->type, HZ_EVENT_NOTICE);
    hz_event_free(ev);
    hz_close(hz);
}

static void test_truncated_record_is_read_again(void)
{
    struct hz *hz = opened();
    struct hz_record r = { .size = sizeof(r), .head = sizeof(r), .type = VIRTIO_HZ_R_NOTICE,
                           .flags = VIRTIO_HZ_REC_TRUNCATED };
    struct hz_event *ev;

    skip_all(hz);
    raw_record(r, 0);
    ev = next(hz);
    EQ(ev->type, HZ_EVENT_STATUS);
    EQ(ev->status.changed, HZ_CHANGED_BOARD);
    hz_event_free(ev);
    hz_close(hz);
}

/* A head grown by a newer driver is skipped as its length says. */
static void test_longer_head(void)
{
    struct hz *hz = opened();
    struct hz_record r = { .size = sizeof(r) + 40, .head = sizeof(r) + 8,
                           .type = VIRTIO_HZ_R_STATUS, .body = 32, .disruption = 7 };
    struct hz_event *ev;

    skip_all(hz);
    raw_record(r, 40);
    ev = next(hz);
    EQ(ev->type, HZ_EVENT_STATUS);
    EQ(ev->status.disruption, 7);
    hz_event_free(ev);
    hz_close(hz);
}

/* -- threads ------------------------------------------------------------- */

static struct hz *shared;
static int thread_errors;

static void *thread_declare(void *arg)
{
    char subject[16];
    int i;

    snprintf(subject, sizeof(subject), "nic/%d", *(int *)arg);
    for (i = 1; i <= 50; i++) {
        struct hz_draft *d = hz_draft_new(subject);

        if (hz_draft_set_number(d, "net-min", (uint64_t)i * 1000) < 0 ||
            hz_declare(shared, d, HZ_REPLACE_ANY, 0, NULL) < 0) {
            __atomic_add_fetch(&thread_errors, 1, __ATOMIC_SEQ_CST);
        }
        hz_draft_free(d);
    }
    return NULL;
}

/* Both newest declarations come to one of the readers: what it reads ends with them. */
static int last_seen;

static void *thread_read(void *arg)
{
    struct hz_event *ev;
    uint64_t v;
    int r;

    (void)arg;
    while (__atomic_load_n(&last_seen, __ATOMIC_SEQ_CST) < 2) {
        r = hz_read(shared, &ev);
        if (r == 0) {
            hz_wait(shared, 20);
        } else if (r < 0) {
            __atomic_add_fetch(&thread_errors, 1, __ATOMIC_SEQ_CST);
            return NULL;
        } else {
            if (ev->type == HZ_EVENT_DECLARATION &&
                hz_number(ev->declaration.field, ev->declaration.n, "net-min", &v) &&
                v == 50000) {
                __atomic_add_fetch(&last_seen, 1, __ATOMIC_SEQ_CST);
            }
            hz_event_free(ev);
        }
    }
    return NULL;
}

static void test_one_handle_many_threads(void)
{
    pthread_t reader[3], writer[2];
    int i, nic[2] = { 0, 1 };

    shared = opened();
    for (i = 0; i < 3; i++) {
        pthread_create(&reader[i], NULL, thread_read, NULL);
    }
    for (i = 0; i < 2; i++) {
        pthread_create(&writer[i], NULL, thread_declare, &nic[i]);
    }
    for (i = 0; i < 2; i++) {
        pthread_join(writer[i], NULL);
    }
    for (i = 0; i < 3; i++) {
        pthread_join(reader[i], NULL);
    }
    EQ(thread_errors, 0);
    EQ(last_seen, 2);
    hz_close(shared);
}

static void test_names(void)
{
    int i;

    CHECK(!strcmp(hz_reply_name(HZ_REPLY_PREPARED), "prepared"));
    CHECK(!strcmp(hz_state_name(HZ_SUPERSEDED), "superseded"));
    CHECK(!strcmp(hz_verdict_name(HZ_CLAMPED), "clamped"));
    EQ(hz_kind_by_name("pause"), 1);
    EQ(hz_kind_by_name("paus"), -EINVAL);
    EQ(hz_reply_by_name("failed"), HZ_REPLY_FAILED);
    for (i = -200; i <= 200; i++) {
        CHECK(*hz_strerror(i) != '\0');
    }
    CHECK(strcmp(hz_strerror(-EBUSY), hz_strerror(-ENODEV)) != 0);
}

/* -- TAP ----------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
#define T(f) { #f, f }
    T(test_open_missing), T(test_open_by_environment), T(test_about),
    T(test_first_event_is_the_board), T(test_unplug_ends_waiting),
    T(test_draft_errors_name_things), T(test_draft_subjects), T(test_draft_is_checked_whole),
    T(test_draft_has_an_end), T(test_declare_and_verdict),
    T(test_declaration_goes_with_its_handle), T(test_declare_refusals),
    T(test_requests_cut_off_are_made_again),
    T(test_merge_keeps_what_is_not_set), T(test_notice_times), T(test_reply), T(test_counter),
    T(test_migration), T(test_restore), T(test_reset_asks_to_declare_again),
    T(test_pauses), T(test_bad_records_are_skipped), T(test_truncated_record_is_read_again),
    T(test_longer_head), T(test_one_handle_many_threads), T(test_names),
};

int main(int argc, char **argv)
{
    size_t i, n = sizeof(tests) / sizeof(tests[0]);
    int failed = 0;

    board_program = argc > 1 ? argv[1] : "./fake-board";
    if (!mkdtemp(dir)) {
        perror(dir);
        return 1;
    }
    snprintf(device, sizeof(device), "%s/hz", dir);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%zu\n", n);
    for (i = 0; i < n; i++) {
        checks_failed = 0;
        board_start();
        tests[i].run();
        board_stop();
        printf("%sok %zu %s\n", checks_failed ? "not " : "", i + 1, tests[i].name);
        failed += checks_failed;
    }
    rmdir(dir);
    return failed ? 1 : 0;
}
