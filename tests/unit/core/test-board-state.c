/* SPDX-License-Identifier: MIT */
/*
 * A board's state: saved, loaded, and every way in which it can be hostile.
 *
 * test-board-state GOLDEN...         run; each GOLDEN is a state some release saved
 * test-board-state --write-golden    print the state that the golden test expects
 */
#include "guest.h"
#include "samples.h"
#include "tap.h"

#include <stdlib.h>

static const uint8_t gen_a[VIRTIO_HZ_UUID_LEN] = "generation-A....";
static const uint8_t gen_b[VIRTIO_HZ_UUID_LEN] = "generation-B....";

static const struct hz_board_limits full = {
    VIRTIO_HZ_MAX_DECLARATIONS, VIRTIO_HZ_MAX_NOTICES, VIRTIO_HZ_MAX_DOC
};

struct state {
    uint8_t bytes[HZ_BOARD_STATE_MAX];
    size_t len;
};

static bool save(const struct hz_board *b, struct state *s)
{
    int len = hz_board_save(b, s->bytes, sizeof(s->bytes));

    s->len = len < 0 ? 0 : (size_t)len;
    return len > 0;
}

/* From an exactly-sized copy, so that ASan sees a read beyond the end. */
static int load(struct hz_board *b, const uint8_t *bytes, size_t len,
                const uint8_t *generation, bool keep, const char **why)
{
    const struct hz_board_loaded how = {
        .generation = generation, .keep = keep, .reason = VIRTIO_HZ_WHY_MIGRATE,
    };
    uint8_t *tight = malloc(len ? len : 1);
    int ret;

    memcpy(tight, bytes, len);
    *why = NULL;
    ret = hz_board_load(b, tight, len, &how, why);
    free(tight);
    return ret;
}

/* -- a board with one of everything --------------------------------------- */

static const uint8_t doc[] = { 1, 0x0c, 8, 0, 0x40, 0x78, 0x7d, 1, 0, 0, 0, 0 };

static struct hz_notice notice(uint8_t id, uint8_t state)
{
    struct hz_notice n = {
        .id = { id }, .cause_id = { 0xca }, .scope_id = { 0x5c }, .kind = 1, .state = state,
        .ack = VIRTIO_HZ_ACK_GATE, .revision = 3, .not_before_ns = VIRTIO_HZ_NS_NONE,
        .deadline_ns = 60000000000ULL, .duration_ns = 2000000000,
        .scope = VIRTIO_HZ_SCOPE_JOB, .source = VIRTIO_HZ_SOURCE_USER, .granularity = 2,
        .flags = VIRTIO_HZ_NOTICE_TEST, .confidence = 900,
        .cause = VIRTIO_HZ_CAUSE_MAINTENANCE, .doc_len = sizeof(doc),
    };

    memcpy(n.doc, doc, sizeof(doc));
    return n;
}

static struct hz_board *sample(void)
{
    struct hz_board *b = hz_board_new(&full, gen_a);
    struct hz_set_verdicts v = {
        .subject = "nic/0", .verdicts = 1,
        .verdict = { { 0x0c01, VIRTIO_HZ_VERDICT_CLAMPED, VIRTIO_HZ_REASON_ENTITLEMENT, 99 } },
    };
    struct hz_notice open = notice(1, VIRTIO_HZ_STATE_SCHEDULED);
    struct hz_notice closed = notice(2, VIRTIO_HZ_STATE_COMPLETED);

    hz_board_set_provider(b, true);
    guest_declare(b, "vm", 0, NULL, 0);
    v.seq = guest_declare(b, "nic/0", 0, doc, sizeof(doc)).seq;
    guest_declare(b, "job/gone", 0, doc, sizeof(doc));
    hz_board_set_verdicts(b, &v);
    hz_board_set_notice(b, &open, 1000);
    hz_board_set_notice(b, &closed, 1000);
    guest_reply(b, &open, VIRTIO_HZ_REPLY_SEEN, 0);
    guest_reply(b, &open, VIRTIO_HZ_REPLY_EXTEND, 30000000000ULL);
    guest_withdraw(b, "job/gone", 0);
    return b;
}

static struct hz_board *other_board(void)
{
    struct hz_board *b = hz_board_new(&full, gen_b);

    guest_declare(b, "gpu", 0, doc, sizeof(doc));
    return b;
}

static void entry(const struct mirror *m, const char *subject, struct hz_declaration *d)
{
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    int i = hz_subject_put(key, subject) ? mirror_find(m, VIRTIO_HZ_R_DECLARATION, key) : -1;

    memset(d, 0, sizeof(*d));
    if (ok(i >= 0, "%s stands", subject)) {
        hz_declaration_get(m->entry[i].body, m->entry[i].body_len, d);
    }
}

static struct hz_notice notice_of(const struct mirror *m, uint8_t id)
{
    const uint8_t key[VIRTIO_HZ_KEY_LEN] = { id };
    int i = mirror_find(m, VIRTIO_HZ_R_NOTICE, key);
    struct hz_notice n = { .kind = 0 };

    if (ok(i >= 0, "notice %u stands", id)) {
        hz_notice_get(m->entry[i].body, m->entry[i].body_len, &n);
    }
    return n;
}

static struct hz_status status_of(const struct mirror *m)
{
    int i = mirror_find(m, VIRTIO_HZ_R_STATUS, NULL);
    struct hz_status s = { .resets = 0 };

    if (ok(i >= 0, "the status stands")) {
        hz_status_get(m->entry[i].body, m->entry[i].body_len, &s);
    }
    return s;
}

/* What sample() comes to after a load in the same generation. */
static void is_sample(const struct hz_board *b, uint64_t disruption)
{
    static struct mirror m;
    struct hz_declaration d;
    struct hz_notice n;
    struct hz_status s;

    memset(&m, 0, sizeof(m));
    mirror_update(&m, b, 1000, 0);
    is(hz_board_disruption(b), disruption, "disruption rose by one");
    ok(!memcmp(hz_board_generation(b), gen_a, 16), "the generation is the saved one");
    is(hz_board_declarations(b), 2, "two declarations");
    is(hz_board_notices(b), 2, "two notices");
    is(hz_board_open_notices(b), 1, "one of them open");
    s = status_of(&m);
    ok(!s.status && s.reason == VIRTIO_HZ_WHY_MIGRATE && s.pause_ns == VIRTIO_HZ_NS_UNKNOWN,
       "no provider yet, the reason, the pause unknown");
    entry(&m, "vm", &d);
    is(d.doc_len, 0, "with its empty document");
    entry(&m, "nic/0", &d);
    ok(d.doc_len == sizeof(doc) && !memcmp(d.doc, doc, sizeof(doc)), "with its document");
    ok(d.seq == 2 && !d.verdict_seq && !d.verdicts,
       "and sequence; the verdicts were another host's to give");
    n = notice_of(&m, 1);
    ok(n.kind == 1 && n.state == VIRTIO_HZ_STATE_SCHEDULED && n.ack == VIRTIO_HZ_ACK_GATE &&
       n.revision == 3 && n.scope == VIRTIO_HZ_SCOPE_JOB && n.source == VIRTIO_HZ_SOURCE_USER &&
       n.granularity == 2 && n.flags == VIRTIO_HZ_NOTICE_TEST && n.confidence == 900 &&
       n.cause == VIRTIO_HZ_CAUSE_MAINTENANCE && n.cause_id[0] == 0xca && n.scope_id[0] == 0x5c,
       "its envelope");
    ok(n.doc_len == sizeof(doc) && !memcmp(n.doc, doc, sizeof(doc)), "its payload");
    ok(n.deadline_ns == VIRTIO_HZ_NS_UNKNOWN && n.not_before_ns == VIRTIO_HZ_NS_NONE &&
       n.duration_ns == 2000000000,
       "its points in time are unknown, none stays none, its length is known");
    ok(n.replied == (1 << VIRTIO_HZ_REPLY_SEEN | 1 << VIRTIO_HZ_REPLY_EXTEND) &&
       n.reply == VIRTIO_HZ_REPLY_EXTEND && n.reply_arg == 30000000000ULL, "its replies");
    is(notice_of(&m, 2).state, VIRTIO_HZ_STATE_COMPLETED, "closed as before");
}

/* -- saving and loading ---------------------------------------------------- */

static void there_and_back(void)
{
    static struct state s;
    struct hz_board *b = sample(), *to = other_board();
    struct hz_cursor c = { 0 };
    uint8_t buf[VIRTIO_HZ_MAX_FRAME];
    uint64_t version = hz_board_version(b);
    struct hz_rec r;
    const char *why;

    ok(save(b, &s), "a board is saved");
    is(hz_board_version(b), version, "which changes nothing");
    ok(s.len <= HZ_BOARD_STATE_MAX, "within the largest state");
    is(load(to, s.bytes, s.len, NULL, true, &why), 0, "and loaded into another");
    is_sample(to, hz_board_disruption(b) + 1);
    ok(hz_board_version(to) > version, "versions rise");
    hz_board_next(to, &c, buf, sizeof(buf), 0);
    hz_board_next(to, &c, buf, sizeof(buf), 0);
    ok(!hz_record_get(buf, hz_get32(buf), &r) && r.hdr.type == VIRTIO_HZ_R_STATUS &&
       r.version > version, "the status is the first of the new versions");
    ok(guest_declare(to, "vm", 0, doc, sizeof(doc)).seq > 3, "sequences go on, none is used again");
    hz_board_free(to);

    /* A reader of the old board that goes on with the new one is told so first. */
    to = other_board();
    load(to, s.bytes, s.len, NULL, true, &why);
    c = (struct hz_cursor){ hz_board_disruption(b), version, 0 };
    hz_board_next(to, &c, buf, sizeof(buf), 0);
    ok(!hz_record_get(buf, hz_get32(buf), &r) && r.hdr.flags == VIRTIO_HZ_REC_FULL &&
       r.disruption == hz_board_disruption(b) + 1, "an old cursor is told of the disruption first");
    hz_board_retell(to, 5);
    c = (struct hz_cursor){ 0 };
    {
        static struct mirror m;
        struct hz_status st;

        memset(&m, 0, sizeof(m));
        mirror_update(&m, to, 1000, 0);
        st = status_of(&m);
        ok(st.reason == VIRTIO_HZ_WHY_MIGRATE && st.pause_ns == 5,
           "the stop the load came with tells its length, and the load's reason");
        hz_board_retell(to, 6);
        mirror_update(&m, to, 1000, 0);
        is(status_of(&m).reason, VIRTIO_HZ_WHY_PAUSE, "the next one is a pause");
    }
    hz_board_free(to);
    hz_board_free(b);
}

static void generation_changes(bool keep)
{
    static struct state s;
    static struct mirror m;
    struct hz_board *b = sample(), *to = other_board();
    struct hz_notice n;
    const char *why;

    save(b, &s);
    memset(&m, 0, sizeof(m));
    is(load(to, s.bytes, s.len, gen_b, keep, &why), 0, "loaded in a new generation, %s",
       keep ? "declarations kept" : "declarations gone");
    mirror_update(&m, to, 1000, 0);
    ok(!memcmp(hz_board_generation(to), gen_b, 16), "which is the launcher's");
    is(hz_board_declarations(to), keep ? 2 : 0, "declarations");
    is(status_of(&m).resets, keep ? 0 : 1, "re-declare, when they went");
    is(hz_board_open_notices(to), 0, "no notice stays open");
    n = notice_of(&m, 1);
    ok(n.state == VIRTIO_HZ_STATE_CANCELLED && n.cause == VIRTIO_HZ_CAUSE_GENERATION,
       "the open one was closed by the device");
    ok(!n.replied && !n.reply && !n.reply_arg, "its replies are void");
    n = notice_of(&m, 2);
    ok(n.state == VIRTIO_HZ_STATE_COMPLETED && n.cause == VIRTIO_HZ_CAUSE_MAINTENANCE,
       "the closed one stays as it was");
    hz_board_free(to);

    to = other_board();
    is(load(to, s.bytes, s.len, gen_a, keep, &why), 0, "the same generation is no new one");
    is_sample(to, hz_board_disruption(b) + 1);
    hz_board_free(to);
    hz_board_free(b);
}

/* As full as can be: everything fits the largest state, and comes back. */
static void ceilings(void)
{
    static struct state s, again;
    struct hz_board *b = hz_board_new(&full, gen_a), *to = hz_board_new(&full, gen_a);
    uint8_t largest[VIRTIO_HZ_MAX_DOC], counter[VIRTIO_HZ_MAX_REPLY_DOC], f[VIRTIO_HZ_MAX_FRAME];
    static const uint8_t zeros[VIRTIO_HZ_MAX_DOC];
    size_t len = 0, counter_len = 0;
    struct hz_set_verdicts v = { .verdicts = VIRTIO_HZ_MAX_FIELDS };
    const char *why;

    hz_doc_set(largest, &len, sizeof(largest), 1, zeros, sizeof(largest) - 4);
    hz_doc_set(counter, &counter_len, sizeof(counter), 1, zeros, sizeof(counter) - 4);
    for (unsigned i = 0; i < VIRTIO_HZ_MAX_FIELDS; i++) {
        v.verdict[i].field = (uint16_t)i;
    }
    for (unsigned i = 0; i < VIRTIO_HZ_MAX_DECLARATIONS; i++) {
        char name[24];

        snprintf(name, sizeof(name), "nic/%u", i);
        v.seq = guest_declare(b, name, 0, largest, (uint16_t)len).seq;
        hz_subject_put(v.subject, name);
        if (hz_board_set_verdicts(b, &v)) {
            ok(false, "declaration %u", i);
        }
    }
    for (unsigned i = 0; i < VIRTIO_HZ_MAX_NOTICES; i++) {
        struct hz_notice n = notice((uint8_t)(1 + i), VIRTIO_HZ_STATE_ADVISED);

        n.doc_len = (uint16_t)len;
        memcpy(n.doc, largest, len);
        if (hz_board_set_notice(b, &n, 0) ||
            guest_ask(b, f, reply_frame(f, &n, gen_a, VIRTIO_HZ_REPLY_COUNTER, 0, counter,
                                        (uint16_t)counter_len),
                      sizeof(struct virtio_hz_response), 0).status) {
            ok(false, "notice %u", i);
        }
    }
    ok(save(b, &s), "a board at its ceilings is saved");
    is(hz_board_save(b, again.bytes, s.len - 1), -VIRTIO_HZ_E_TOOBIG, "not in a byte less");
    is(hz_board_save(b, again.bytes, 23), -VIRTIO_HZ_E_TOOBIG, "nor in less than a head");
    is(hz_board_save(b, again.bytes, s.len), s.len, "but in just that much");
    is(load(to, s.bytes, s.len, NULL, true, &why), 0, "and loaded");
    is(hz_board_declarations(to) + hz_board_open_notices(to), 16 + 32, "all of it");
    hz_board_free(to);
    hz_board_free(b);
}

static void empty_board(void)
{
    static struct state s;
    struct hz_board *b = hz_board_new(&full, gen_a), *to = other_board();
    const char *why;

    ok(save(b, &s), "an empty board is saved");
    is(load(to, s.bytes, s.len, NULL, false, &why), 0, "and loaded");
    is(hz_board_declarations(to), 0, "over one that wasn't");
    hz_board_free(to);
    hz_board_free(b);
}

/* -- hostile ---------------------------------------------------------------- */

/*
 * Load it into a board that holds something. Refused: with a reason, and the
 * board is as it was. Taken: the board works, saves, and what it saves loads.
 */
static const char *hostile_offence(const uint8_t *bytes, size_t len, bool *taken)
{
    static struct state before, after;
    static struct mirror m;
    struct hz_board *b = other_board();
    const char *why, *offence = NULL;
    int ret;

    save(b, &before);
    ret = load(b, bytes, len, NULL, true, &why);
    *taken = !ret;
    if (!save(b, &after)) {
        offence = "the board doesn't save any more";
    } else if (ret) {
        offence = !why ? "refused without a reason"
                : after.len != before.len || memcmp(after.bytes, before.bytes, after.len)
                ? "refused, but the board changed" : NULL;
    } else {
        memset(&m, 0, sizeof(m));
        if (mirror_update(&m, b, 1000, 0) < 1) {
            offence = "taken, but a reader can't be told";
        } else if (guest_declare(b, "vm", 0, doc, sizeof(doc)).len < 1) {
            offence = "taken, but a request isn't answered";
        } else if (load(b, after.bytes, after.len, NULL, true, &why)) {
            offence = "taken, but what it saves isn't";
        }
    }
    hz_board_free(b);
    return offence;
}

static void each_byte(const struct state *s)
{
    static struct state t;
    unsigned refused = 0, taken = 0;
    const char *offence = NULL;
    size_t at;

    t = *s;
    for (at = 0; at < s->len && !offence; at++) {
        const uint8_t old = s->bytes[at];
        const uint8_t bad[] = { 0, 1, 0x7f, 0x80, 0xff, (uint8_t)(old + 1), (uint8_t)(old - 1),
                                (uint8_t)~old };

        for (size_t i = 0; i < sizeof(bad) && !offence; i++) {
            bool was_taken;

            t.bytes[at] = bad[i];
            offence = hostile_offence(t.bytes, t.len, &was_taken);
            *(was_taken ? &taken : &refused) += bad[i] != old;
        }
        t.bytes[at] = old;
    }
    if (!ok(!offence, "%zu bytes, each changed in eight ways", s->len)) {
        printf("# byte %zu: %s\n", at - 1, offence);
    }
    ok(taken > 100 && refused > 100, "%u were taken, %u refused", taken, refused);
}

/* Every aligned 16- and 32-bit number, as if it were a count or a length. */
static void each_number(const struct state *s)
{
    static const uint32_t bad[] = { 0, 1, 2, 7, 8, 0xff, 0x100, 0x400, 0x401, 0x1000, 0x7fff,
                                    0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff };
    static struct state t;
    const char *offence = NULL;
    bool taken;
    size_t at;

    for (at = 0; at + 4 <= s->len && !offence; at += 2) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]) && !offence; i++) {
            t = *s;
            hz_put16(t.bytes + at, (uint16_t)bad[i]);
            offence = hostile_offence(t.bytes, t.len, &taken);
            if (!offence && at % 4 == 0) {
                hz_put32(t.bytes + at, bad[i]);
                offence = hostile_offence(t.bytes, t.len, &taken);
            }
        }
    }
    if (!ok(!offence, "every number of it, made small, large and just beyond")) {
        printf("# byte %zu: %s\n", at - 2, offence);
    }
}

static void each_length(const struct state *s)
{
    static struct state t;
    const char *offence = NULL;
    bool taken = false, any = false;
    size_t len;

    for (len = 0; len < s->len && !offence; len++) {
        offence = hostile_offence(s->bytes, len, &taken);
        any |= taken;
    }
    if (!ok(!offence, "cut off after every byte")) {
        printf("# %zu bytes: %s\n", len - 1, offence);
    }
    ok(!any, "none of which is taken");
    t = *s;
    memset(t.bytes + t.len, 0, 8);
    ok(!hostile_offence(t.bytes, t.len + 8, &taken) && !taken, "nor is one with something behind");
}

/* Where the record whose key begins so starts in the state. */
static size_t record_of(const struct state *s, const char *key)
{
    size_t pos = 24;

    while (pos < s->len && strncmp((const char *)s->bytes + pos +
                                   offsetof(struct virtio_hz_record, key), key, strlen(key))) {
        pos += hz_get32(s->bytes + pos);
    }
    return pos;
}

static void is_refused(const struct state *s, int code, const char *what)
{
    struct hz_board *b = other_board();
    const char *why;

    is(load(b, s->bytes, s->len, NULL, true, &why), -code, "%s (%s)", what, why ? why : "-");
    hz_board_free(b);
}

/* One lie at a time, each of which a board could never have saved. */
static void lies(const struct state *s)
{
    static struct state t;
    const size_t vm = record_of(s, "vm"), nic = record_of(s, "nic/0"), open = record_of(s, "\1");
    const size_t version = offsetof(struct virtio_hz_record, version);
    const size_t disruption = offsetof(struct virtio_hz_record, disruption);
    const size_t key = offsetof(struct virtio_hz_record, key), body = HZ_RECORD_HEAD;

#define LIE(code, what, ...) do { t = *s; __VA_ARGS__; is_refused(&t, (code), (what)); } while (0)
    LIE(VIRTIO_HZ_E_UNSUPP, "a newer format", hz_put16(t.bytes, HZ_BOARD_STATE_VERSION + 1));
    LIE(VIRTIO_HZ_E_INVAL, "format 0", hz_put16(t.bytes, 0));
    LIE(VIRTIO_HZ_E_INVAL, "more records than there are",
        hz_put16(t.bytes + 2, (uint16_t)(hz_get16(t.bytes + 2) + 1)));
    LIE(VIRTIO_HZ_E_INVAL, "fewer", hz_put16(t.bytes + 2, (uint16_t)(hz_get16(t.bytes + 2) - 1)));
    LIE(VIRTIO_HZ_E_INVAL, "a reserved field", hz_put32(t.bytes + 4, 1));
    LIE(VIRTIO_HZ_E_INVAL, "a sequence beyond the newest", hz_put64(t.bytes + 8, 1));
    LIE(VIRTIO_HZ_E_INVAL, "a version beyond the newest", hz_put64(t.bytes + 16, 3));
    LIE(VIRTIO_HZ_E_INVAL, "a version near its end", hz_put64(t.bytes + 16, UINT64_MAX));
    LIE(VIRTIO_HZ_E_INVAL, "versions that don't ascend", hz_put64(t.bytes + nic + version, 1));
    LIE(VIRTIO_HZ_E_INVAL, "two disruptions", hz_put64(t.bytes + nic + disruption, 9));
    LIE(VIRTIO_HZ_E_INVAL, "a subject that stands twice",
        memcpy(t.bytes + nic + key, t.bytes + vm + key, VIRTIO_HZ_KEY_LEN));
    LIE(VIRTIO_HZ_E_INVAL, "a subject that is no name", t.bytes[nic + key] = 'N');
    LIE(VIRTIO_HZ_E_INVAL, "a declaration without a sequence", hz_put64(t.bytes + nic + body, 0));
    LIE(VIRTIO_HZ_E_INVAL, "verdicts on another sequence", hz_put64(t.bytes + nic + body + 8, 1));
    LIE(VIRTIO_HZ_E_INVAL, "a notice's key that isn't its id", t.bytes[open + key] ^= 1);
    LIE(VIRTIO_HZ_E_INVAL, "a point in time",
        hz_put64(t.bytes + open + body + offsetof(struct virtio_hz_notice, deadline_ns), 5));
    LIE(VIRTIO_HZ_E_INVAL, "a newest reply that was never given",
        hz_put16(t.bytes + open + body + offsetof(struct virtio_hz_notice, reply),
                 VIRTIO_HZ_REPLY_FAILED));
    LIE(VIRTIO_HZ_E_INVAL, "a gone record", hz_put16(t.bytes + nic + 6, VIRTIO_HZ_REC_GONE));
    LIE(VIRTIO_HZ_E_INVAL, "a second status",
        memset(t.bytes + vm + key, 0, VIRTIO_HZ_KEY_LEN);
        hz_put16(t.bytes + vm + 4, VIRTIO_HZ_R_STATUS));
    LIE(VIRTIO_HZ_E_INVAL, "a sequence that stands twice",
        memcpy(t.bytes + nic + body, t.bytes + vm + body, 8);
        memcpy(t.bytes + nic + body + 8, t.bytes + vm + body, 8));
    LIE(VIRTIO_HZ_E_INVAL, "a cookie", t.bytes[nic + 8] = 1);
#undef LIE
}

static void smaller_board(const struct state *s)
{
    static const struct {
        struct hz_board_limits limits;
        int code;
        const char *what;
    } boards[] = {
        { { 2, 2, 64 }, 0, "a board just large enough" },
        { { 1, 2, 64 }, -VIRTIO_HZ_E_NOSPC, "too few declarations" },
        { { 2, 1, 64 }, -VIRTIO_HZ_E_NOSPC, "too few notices" },
    };
    struct hz_board *large = hz_board_new(&full, gen_a), *b;
    static struct state t;
    uint8_t big[72];
    size_t len = 0;
    const char *why;

    for (size_t i = 0; i < sizeof(boards) / sizeof(boards[0]); i++) {
        b = hz_board_new(&boards[i].limits, gen_b);
        is(load(b, s->bytes, s->len, NULL, true, &why), boards[i].code, "%s (%s)",
           boards[i].what, why ? why : "-");
        hz_board_free(b);
    }
    hz_doc_set(big, &len, sizeof(big), 1, gen_a, 16);
    hz_doc_set(big, &len, sizeof(big), 2, gen_a, 16);
    hz_doc_set(big, &len, sizeof(big), 3, gen_a, 16);
    hz_doc_set(big, &len, sizeof(big), 4, gen_a, 8);
    guest_declare(large, "vm", 0, big, (uint16_t)len);
    save(large, &t);
    b = hz_board_new(&boards[0].limits, gen_b);
    is(load(b, t.bytes, t.len, NULL, true, &why), -VIRTIO_HZ_E_TOOBIG,
       "a document above the limit (%s)", why ? why : "-");
    hz_board_free(b);
    hz_board_free(large);
}

/* Boards of random history: all that is saved is loaded, and says the same. */
static void random_boards(void)
{
    const char *offence = NULL;

    for (uint64_t seed = 0; seed < 300 && !offence; seed++) {
        static struct state s;
        static struct mirror before, after;
        struct hz_board *b = hz_board_new(&full, gen_a), *to = other_board();
        struct prng p = { seed };
        const char *why;

        for (uint64_t i = prng_below(&p, 60); i > 0; i--) {
            uint8_t bytes[VIRTIO_HZ_MAX_DOC];
            uint16_t len = sample_doc(&p, bytes, sizeof(bytes));
            struct hz_notice n;
            char name[24];

            snprintf(name, sizeof(name), "nic/%u", (unsigned)prng_below(&p, 20));
            guest_declare(b, name, 0, bytes, len);
            sample_notice(&p, &n, sizeof(n.doc));
            hz_board_set_notice(b, &n, 5);
            guest_reply(b, &n, (uint16_t)(1 + prng_below(&p, VIRTIO_HZ_REPLY_MAX)), 0);
        }
        memset(&before, 0, sizeof(before));
        memset(&after, 0, sizeof(after));
        mirror_update(&before, b, 1000, 0);
        if (!save(b, &s)) {
            offence = "it isn't saved";
        } else if (load(to, s.bytes, s.len, NULL, true, &why)) {
            offence = why;
        } else if (mirror_update(&after, to, 1000, 0) < 0 || after.n != before.n) {
            offence = "something is missing";
        }
        for (unsigned i = 0; i < before.n && !offence; i++) {
            int j = mirror_find(&after, before.entry[i].type, before.entry[i].key);

            offence = j < 0 || before.entry[i].body_len != after.entry[j].body_len
                ? "an entry is another" : NULL;
        }
        hz_board_free(b);
        hz_board_free(to);
    }
    if (!ok(!offence, "300 boards of random history come back")) {
        printf("# %s\n", offence);
    }
}

/* -- golden ----------------------------------------------------------------- */

static bool read_file(const char *path, char *text, size_t cap)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, cap - 1, f) : 0;

    if (f) {
        fclose(f);
    }
    text[n] = '\0';
    return n > 0;
}

/* A state that some release saved loads for ever, and means what it meant. */
static void golden(const char *path)
{
    static char text[32768];
    static struct state s;
    struct hz_board *b = other_board();
    const char *why;
    long len;

    if (!ok(read_file(path, text, sizeof(text)), "%s can be read", path)) {
        return;
    }
    len = hex_read(text, s.bytes, sizeof(s.bytes));
    if (ok(len > 0, "it is hexadecimal")) {
        is(load(b, s.bytes, (size_t)len, NULL, true, &why), 0, "it loads (%s)", why ? why : "-");
        /* It was saved in the first disruption. */
        is_sample(b, 2);
    }
    hz_board_free(b);
}

static int write_golden(void)
{
    static struct state s;
    struct hz_board *b = sample();

    if (!save(b, &s)) {
        return 1;
    }
    printf("# SPDX-License-Identifier: MIT\n"
           "# A board's state, format %u, as test-board-state.c's sample() saves it.\n"
           "# Never changed: every later version has to load it.\n", HZ_BOARD_STATE_VERSION);
    for (size_t i = 0; i < s.len; i++) {
        printf("%02x%s", s.bytes[i], i % 32 == 31 || i + 1 == s.len ? "\n"
                                     : i % 8 == 7 ? " " : "");
    }
    hz_board_free(b);
    return 0;
}

int main(int argc, char **argv)
{
    static struct state s;
    struct hz_board *b;

    if (argc == 2 && !strcmp(argv[1], "--write-golden")) {
        return write_golden();
    }
    there_and_back();
    generation_changes(true);
    generation_changes(false);
    ceilings();
    empty_board();
    random_boards();
    b = sample();
    save(b, &s);
    hz_board_free(b);
    lies(&s);
    smaller_board(&s);
    each_byte(&s);
    each_number(&s);
    each_length(&s);
    ok(argc > 1, "there are golden states to load");
    for (int i = 1; i < argc; i++) {
        golden(argv[i]);
    }
    return tap_done();
}
