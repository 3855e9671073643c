/* SPDX-License-Identifier: MIT */
/*
 * The board: requests, the provider's side, and what readers are told.
 */
#include "guest.h"
#include "samples.h"
#include "tap.h"

#include <stdlib.h>

#define RSP sizeof(struct virtio_hz_response)

static const uint8_t generation[VIRTIO_HZ_UUID_LEN] = { 0x47, 1 };
static const struct hz_board_limits small = { .declarations = 2, .notices = 2, .doc = 64 };
static const struct hz_board_limits full = {
    VIRTIO_HZ_MAX_DECLARATIONS, VIRTIO_HZ_MAX_NOTICES, VIRTIO_HZ_MAX_DOC
};

static const uint8_t zeros[VIRTIO_HZ_MAX_DOC];

/* Two documents of one field each. */
static const uint8_t doc_a[] = { 1, 0, 4, 0, 'a', 'a', 'a', 'a' };
static const uint8_t doc_b[] = { 1, 0, 4, 0, 'b', 'b', 'b', 'b' };

static struct hz_notice notice(uint8_t id)
{
    return (struct hz_notice) {
        .id = { id }, .kind = 1, .state = VIRTIO_HZ_STATE_SCHEDULED, .revision = 1,
        .ack = VIRTIO_HZ_ACK_GATE, .deadline_ns = VIRTIO_HZ_NS_UNKNOWN,
        .not_before_ns = VIRTIO_HZ_NS_NONE, .duration_ns = VIRTIO_HZ_NS_NONE,
    };
}

/* -- making --------------------------------------------------------------- */

static bool makes(uint16_t declarations, uint16_t notices, uint16_t doc)
{
    const struct hz_board_limits l = { declarations, notices, doc };
    struct hz_board *b = hz_board_new(&l, generation);
    bool made = b != NULL;

    hz_board_free(b);
    return made;
}

static void limits(void)
{
    struct hz_board *b = hz_board_new(&small, generation);

    ok(makes(1, 1, 64), "the smallest board");
    ok(makes(16, 32, 1024), "the largest");
    ok(!makes(0, 1, 64) && !makes(17, 1, 64), "declarations out of range");
    ok(!makes(1, 0, 64) && !makes(1, 33, 64), "notices out of range");
    ok(!makes(1, 1, 60) && !makes(1, 1, 1028) && !makes(1, 1, 66), "document size out of range");
    is(hz_board_limits(b)->notices, 2, "a board knows its limits");
    ok(!memcmp(hz_board_generation(b), generation, sizeof(generation)), "and its generation");
    is(hz_board_declarations(b) + hz_board_notices(b) + hz_board_refusals(b), 0, "it is empty");
    hz_board_free(b);
    hz_board_free(NULL);
}

/* -- declaring ------------------------------------------------------------ */

static void declaring(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    struct answer a = guest_declare(b, "vm", VIRTIO_HZ_SEQ_ANY, doc_a, sizeof(doc_a));
    uint64_t seq = a.seq, version;

    is(a.len, RSP, "a response");
    is(a.status, VIRTIO_HZ_OK, "declared");
    is(a.type, VIRTIO_HZ_T_DECLARE | VIRTIO_HZ_T_RESPONSE, "its type says to what");
    ok(a.cookie == 0xc00c1e5000000001ULL, "its cookie is the request's");
    ok(seq > 0 && a.version == hz_board_version(b), "with a sequence and the board's version");
    is(a.disruption, hz_board_disruption(b), "and its disruption");
    is(hz_board_declarations(b), 1, "one stands");

    version = hz_board_version(b);
    a = guest_declare(b, "vm", VIRTIO_HZ_SEQ_ANY, doc_a, sizeof(doc_a));
    ok(!a.status && a.seq == seq && hz_board_version(b) == version,
       "the same again changes nothing and rings nothing");
    is(guest_declare(b, "vm", VIRTIO_HZ_SEQ_NEW, doc_b, sizeof(doc_b)).status,
       VIRTIO_HZ_E_STALE, "where nothing may stand something does");
    is(guest_declare(b, "vm", seq + 1, doc_b, sizeof(doc_b)).status, VIRTIO_HZ_E_STALE,
       "another sequence than the one that stands");
    a = guest_declare(b, "vm", seq, doc_b, sizeof(doc_b));
    ok(!a.status && a.seq > seq, "the one that stands is replaced");
    is(guest_declare(b, "vm", seq, doc_a, sizeof(doc_a)).status, VIRTIO_HZ_E_STALE,
       "its old sequence no longer");
    is(guest_declare(b, "nic/0", 7, doc_a, sizeof(doc_a)).status, VIRTIO_HZ_E_STALE,
       "a sequence of what doesn't stand");
    is(guest_declare(b, "nic/0", VIRTIO_HZ_SEQ_NEW, NULL, 0).status, VIRTIO_HZ_OK,
       "an empty document is one");
    is(guest_declare(b, "nic/1", VIRTIO_HZ_SEQ_ANY, doc_a, sizeof(doc_a)).status,
       VIRTIO_HZ_E_NOSPC, "the table is full");
    is(guest_declare(b, "nic/0", VIRTIO_HZ_SEQ_ANY, doc_a, sizeof(doc_a)).status, VIRTIO_HZ_OK,
       "what stands in it can still be changed");
    is(hz_board_refusals(b), 5, "each refusal is counted");

    is(guest_withdraw(b, "vm", seq).status, VIRTIO_HZ_E_STALE, "withdrawing an old sequence");
    is(guest_withdraw(b, "vm", a.seq).status, VIRTIO_HZ_OK, "withdrawing the one that stands");
    is(guest_withdraw(b, "vm", VIRTIO_HZ_SEQ_ANY).status, VIRTIO_HZ_E_NOENT, "once only");
    is(hz_board_declarations(b), 1, "one is left");
    seq = guest_declare(b, "vm", VIRTIO_HZ_SEQ_NEW, doc_b, sizeof(doc_b)).seq;
    ok(seq > a.seq, "a sequence is never used again");
    hz_board_free(b);
}

static void request_refused(const uint8_t *frame, size_t len, uint32_t status, const char *what)
{
    struct hz_board *b = hz_board_new(&small, generation);
    uint64_t version = hz_board_version(b);
    struct answer a = guest_ask(b, frame, len, RSP, 0);

    is(a.status, status, "%s", what);
    ok(a.len == (int)RSP && hz_board_version(b) == version && hz_board_refusals(b) == 1,
       "is answered, counted, and changes nothing");
    hz_board_free(b);
}

static void bad_declarations(void)
{
    uint8_t f[VIRTIO_HZ_MAX_FRAME], doc[80] = { 0 };
    size_t len, doc_len = 0;

    request_refused(f, declare_frame(f, "VM", 0, doc_a, 8), VIRTIO_HZ_E_INVAL, "a bad name");
    request_refused(f, declare_frame(f, "", 0, doc_a, 8), VIRTIO_HZ_E_INVAL, "no name");
    len = declare_frame(f, "vm", 0, doc_a, 8);
    memset(f + offsetof(struct virtio_hz_declare, subject), 'a', VIRTIO_HZ_KEY_LEN);
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "a name without an end");
    len = declare_frame(f, "vm", 0, doc_a, 8);
    f[offsetof(struct virtio_hz_declare, reserved0)] = 1;
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "a reserved field that's set");
    len = declare_frame(f, "vm", 0, doc_a, 8);
    f[offsetof(struct virtio_hz_declare, reserved1) + 3] = 1;
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "the other one");
    len = declare_frame(f, "vm", 0, doc_a, 8);
    hz_put16(f + offsetof(struct virtio_hz_declare, doc_len), 4);
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "a document longer than it says");
    hz_put16(f + offsetof(struct virtio_hz_declare, doc_len), 12);
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "or shorter");
    request_refused(f, declare_frame(f, "vm", 0, doc_a, 7), VIRTIO_HZ_E_INVAL,
                    "a document that isn't one");
    hz_doc_set(doc, &doc_len, sizeof(doc), 1, zeros, 64);
    request_refused(f, declare_frame(f, "vm", 0, doc, (uint16_t)doc_len), VIRTIO_HZ_E_TOOBIG,
                    "a document above the board's limit");
    hz_doc_set(doc, &doc_len, sizeof(doc), 1, zeros, 60);
    {
        struct hz_board *b = hz_board_new(&small, generation);

        is(guest_declare(b, "vm", 0, doc, 64).status, VIRTIO_HZ_OK, "one just at it is taken");
        hz_board_free(b);
    }
}

static void bad_requests(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    uint8_t f[VIRTIO_HZ_MAX_FRAME];
    size_t len = declare_frame(f, "vm", 0, doc_a, 8);

    is(guest_ask(b, f, 15, RSP, 0).len, -VIRTIO_HZ_E_INVAL, "less than a header has no answer");
    is(guest_ask(b, f, len, RSP - 1, 0).len, -VIRTIO_HZ_E_INVAL, "nor has one with no room for it");
    is(hz_board_version(b), 1, "and neither was done");
    hz_board_free(b);

    for (size_t cut = HZ_HDR_LEN; cut < len; cut++) {
        struct answer a;

        b = hz_board_new(&small, generation);
        hz_put32(f, (uint32_t)cut);
        a = guest_ask(b, f, cut, RSP, 0);
        if (a.status != VIRTIO_HZ_E_INVAL) {
            ok(false, "a DECLARE of %zu bytes is refused", cut);
        }
        hz_board_free(b);
    }
    hz_put32(f, (uint32_t)len);
    request_refused(f, len - 1, VIRTIO_HZ_E_INVAL, "a frame cut off");
    hz_put32(f, (uint32_t)len + 1);
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "a frame that claims more");
    hz_put32(f, (uint32_t)len);
    hz_put16(f + 6, 1);
    request_refused(f, len, VIRTIO_HZ_E_UNSUPP, "a flag");
    hz_put16(f + 6, 0);
    hz_put16(f + 4, 0);
    request_refused(f, len, VIRTIO_HZ_E_UNSUPP, "request 0");
    hz_put16(f + 4, 5);
    request_refused(f, len, VIRTIO_HZ_E_UNSUPP, "request 5");
    hz_put16(f + 4, VIRTIO_HZ_R_NOTICE);
    request_refused(f, len, VIRTIO_HZ_E_UNSUPP, "a record");
    hz_put16(f + 4, VIRTIO_HZ_T_WITHDRAW);
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "a WITHDRAW of the wrong length");
    hz_put16(f + 4, VIRTIO_HZ_T_READ);
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "a READ of the wrong length");
    hz_put16(f + 4, VIRTIO_HZ_T_REPLY);
    request_refused(f, len, VIRTIO_HZ_E_INVAL, "a REPLY of the wrong length");
}

/* -- notices -------------------------------------------------------------- */

static void setting_notices(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    struct hz_notice n = notice(1), other = notice(2), third = notice(3);
    uint64_t version;

    n.revision = 0;
    is(hz_board_set_notice(b, &n, 0), -VIRTIO_HZ_E_INVAL, "revision 0");
    n.revision = 2;
    n.doc_len = 68;
    is(hz_board_set_notice(b, &n, 0), -VIRTIO_HZ_E_TOOBIG, "a document above the limit");
    n.doc_len = 0;
    is(hz_board_set_notice(b, &n, 0), 0, "a notice");
    version = hz_board_version(b);
    is(hz_board_set_notice(b, &n, 0), 0, "the same again");
    ok(hz_board_version(b) > version, "is told again, so that the provider sees it arrived");
    n.revision = 1;
    is(hz_board_set_notice(b, &n, 0), -VIRTIO_HZ_E_VOID, "an older revision");
    n.revision = 2;
    n.doc_len = sizeof(doc_a);
    memcpy(n.doc, doc_a, sizeof(doc_a));
    is(hz_board_set_notice(b, &n, 0), -VIRTIO_HZ_E_INVAL, "another document, same revision");
    n.state = VIRTIO_HZ_STATE_STARTED;
    is(hz_board_set_notice(b, &n, 0), 0, "but in a later state");
    n.state = VIRTIO_HZ_STATE_SCHEDULED;
    is(hz_board_set_notice(b, &n, 0), -VIRTIO_HZ_E_VOID, "an earlier state");
    n.revision = 3;
    is(hz_board_set_notice(b, &n, 0), 0, "is a matter of a new revision");

    is(hz_board_set_notice(b, &other, 0), 0, "a second");
    is(hz_board_open_notices(b), 2, "two are open");
    is(hz_board_set_notice(b, &third, 0), -VIRTIO_HZ_E_NOSPC, "a third doesn't fit");
    other.state = VIRTIO_HZ_STATE_COMPLETED;
    is(hz_board_set_notice(b, &other, 0), 0, "one closes");
    is(hz_board_open_notices(b), 1, "one is open");
    is(hz_board_notices(b), 2, "the closed one can still be read");
    other.state = VIRTIO_HZ_STATE_CANCELLED;
    other.revision = 9;
    is(hz_board_set_notice(b, &other, 0), -VIRTIO_HZ_E_VOID, "it doesn't close otherwise");
    other.state = VIRTIO_HZ_STATE_STARTED;
    is(hz_board_set_notice(b, &other, 0), -VIRTIO_HZ_E_VOID, "and doesn't open again");
    is(hz_board_set_notice(b, &third, 0), 0, "now the third takes its place");
    is(hz_board_notices(b), 2, "two stand");
    is(hz_board_drop_notice(b, other.id), -VIRTIO_HZ_E_NOENT, "the evicted one is gone");
    is(hz_board_drop_notice(b, third.id), 0, "one is dropped");
    is(hz_board_notices(b), 1, "one stands");
    n.state = VIRTIO_HZ_STATE_MAX + 1;
    n.revision = 10;
    is(hz_board_set_notice(b, &n, 0), -VIRTIO_HZ_E_INVAL, "a state that doesn't exist");
    hz_board_free(b);
}

/* The notice as a reader sees it. */
static struct hz_notice read_notice(const struct hz_board *b, const uint8_t *id, uint64_t now)
{
    static struct mirror m;
    struct hz_notice n = { .kind = 0 };
    uint8_t key[VIRTIO_HZ_KEY_LEN] = { 0 };
    int i;

    memset(&m, 0, sizeof(m));
    mirror_update(&m, b, 1000, now);
    memcpy(key, id, VIRTIO_HZ_UUID_LEN);
    i = mirror_find(&m, VIRTIO_HZ_R_NOTICE, key);
    if (i >= 0) {
        hz_notice_get(m.entry[i].body, m.entry[i].body_len, &n);
    }
    return n;
}

static void replying(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    struct hz_notice n = notice(1), seen;
    uint64_t version;

    hz_board_set_notice(b, &n, 0);
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_SEEN, 0).status, VIRTIO_HZ_OK, "SEEN");
    version = hz_board_version(b);
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_SEEN, 0).status, VIRTIO_HZ_OK, "and again");
    is(hz_board_version(b), version, "which rings nothing");
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_EXTEND, 5000).status, VIRTIO_HZ_OK, "EXTEND");
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_EXTEND, 7000).status, VIRTIO_HZ_OK, "EXTEND by more");
    seen = read_notice(b, n.id, 0);
    is(seen.reply, VIRTIO_HZ_REPLY_EXTEND, "the newest reply is echoed");
    is(seen.reply_arg, 7000, "with its argument");
    is(seen.replied, 1 << VIRTIO_HZ_REPLY_SEEN | 1 << VIRTIO_HZ_REPLY_EXTEND, "and all of them");
    guest_reply(b, &n, VIRTIO_HZ_REPLY_SEEN, 0);
    is(read_notice(b, n.id, 0).reply, VIRTIO_HZ_REPLY_EXTEND, "a late SEEN takes nothing back");

    n.state = VIRTIO_HZ_STATE_STARTED;
    n.replied = 0;
    hz_board_set_notice(b, &n, 0);
    is(read_notice(b, n.id, 0).reply, VIRTIO_HZ_REPLY_EXTEND,
       "replies stay when the revision stays, whatever the provider sends of them");
    n.revision = 2;
    hz_board_set_notice(b, &n, 0);
    seen = read_notice(b, n.id, 0);
    ok(!seen.reply && !seen.replied && !seen.reply_arg, "and go when it rises");
    n.revision = 1;
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_PREPARED, 0).status, VIRTIO_HZ_E_VOID,
       "a reply to an older revision");
    n.revision = 3;
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_PREPARED, 0).status, VIRTIO_HZ_E_VOID,
       "or one that isn't yet");
    n.revision = 2;
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_PREPARED, 0).status, VIRTIO_HZ_OK, "to this one");
    n.state = VIRTIO_HZ_STATE_COMPLETED;
    hz_board_set_notice(b, &n, 0);
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_FAILED, 1).status, VIRTIO_HZ_E_VOID,
       "a reply to a closed one");
    n.id[0] = 9;
    is(guest_reply(b, &n, VIRTIO_HZ_REPLY_SEEN, 0).status, VIRTIO_HZ_E_NOENT,
       "a reply to none");
    hz_board_free(b);
}

static void reply_is(uint16_t code, uint64_t arg, const void *doc, uint16_t doc_len,
                     const uint8_t *gen, uint32_t status, const char *what)
{
    struct hz_board *b = hz_board_new(&full, generation);
    struct hz_notice n = notice(1);
    uint8_t f[VIRTIO_HZ_MAX_FRAME];

    hz_board_set_notice(b, &n, 0);
    is(guest_ask(b, f, reply_frame(f, &n, gen, code, arg, doc, doc_len), RSP, 0).status, status,
       "%s", what);
    is(hz_board_refusals(b), status != 0, "counted when refused");
    hz_board_free(b);
}

static void reply_forms(void)
{
    static const uint8_t other[VIRTIO_HZ_UUID_LEN] = { 0x48 };
    uint8_t doc[300] = { 0 };
    size_t len = 0;

    hz_doc_set(doc, &len, sizeof(doc), 1, zeros, 252);
    for (uint16_t code = 1; code <= VIRTIO_HZ_REPLY_MAX; code++) {
        bool arg = code == VIRTIO_HZ_REPLY_EXTEND || code == VIRTIO_HZ_REPLY_DEFER ||
                   code == VIRTIO_HZ_REPLY_FAILED;
        bool counter = code == VIRTIO_HZ_REPLY_COUNTER;

        reply_is(code, 0, NULL, 0, generation, VIRTIO_HZ_OK, "a plain reply");
        reply_is(code, 7, NULL, 0, generation, arg ? VIRTIO_HZ_OK : VIRTIO_HZ_E_INVAL,
                 "an argument, where there is one");
        reply_is(code, 0, doc_a, 8, generation, counter ? VIRTIO_HZ_OK : VIRTIO_HZ_E_INVAL,
                 "a document, of COUNTER only");
    }
    reply_is(VIRTIO_HZ_REPLY_NONE, 0, NULL, 0, generation, VIRTIO_HZ_E_UNSUPP, "no reply");
    reply_is(VIRTIO_HZ_REPLY_MAX + 1, 0, NULL, 0, generation, VIRTIO_HZ_E_UNSUPP,
             "a reply that doesn't exist");
    reply_is(VIRTIO_HZ_REPLY_SEEN, 0, NULL, 0, other, VIRTIO_HZ_E_VOID, "another generation");
    reply_is(VIRTIO_HZ_REPLY_COUNTER, 0, doc, 256, generation, VIRTIO_HZ_OK,
             "the largest document of a reply");
    hz_doc_set(doc, &len, sizeof(doc), 1, zeros, 256);
    reply_is(VIRTIO_HZ_REPLY_COUNTER, 0, doc, 260, generation, VIRTIO_HZ_E_TOOBIG, "a larger one");
    reply_is(VIRTIO_HZ_REPLY_COUNTER, 0, doc_a, 7, generation, VIRTIO_HZ_E_INVAL,
             "a document that isn't one");
}

/* -- verdicts, provider, reset -------------------------------------------- */

static void verdicts(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    struct hz_set_verdicts v = { .subject = "vm", .verdicts = 1,
                                 .verdict = { { .field = 1, .code = 1 } } };
    struct mirror m = { .n = 0 };
    struct hz_declaration d;

    is(hz_board_set_verdicts(b, &v), -VIRTIO_HZ_E_NOENT, "verdicts on nothing");
    v.seq = guest_declare(b, "vm", 0, doc_a, sizeof(doc_a)).seq + 1;
    is(hz_board_set_verdicts(b, &v), -VIRTIO_HZ_E_STALE, "on another sequence");
    v.seq--;
    is(hz_board_set_verdicts(b, &v), 0, "on the one that stands");
    mirror_update(&m, b, 99, 0);
    hz_declaration_get(m.entry[mirror_find(&m, VIRTIO_HZ_R_DECLARATION, v.subject)].body,
                       m.entry[mirror_find(&m, VIRTIO_HZ_R_DECLARATION, v.subject)].body_len, &d);
    ok(d.verdict_seq == v.seq && d.verdicts == 1 && d.verdict[0].code == 1 && d.seq == v.seq,
       "are told beside it");
    v.verdicts = VIRTIO_HZ_MAX_FIELDS + 1;
    is(hz_board_set_verdicts(b, &v), -VIRTIO_HZ_E_TOOBIG, "more than a document has fields");
    guest_declare(b, "vm", 0, doc_b, sizeof(doc_b));
    mirror_update(&m, b, 99, 0);
    hz_declaration_get(m.entry[mirror_find(&m, VIRTIO_HZ_R_DECLARATION, v.subject)].body,
                       m.entry[mirror_find(&m, VIRTIO_HZ_R_DECLARATION, v.subject)].body_len, &d);
    ok(!d.verdict_seq && !d.verdicts, "a new document has none yet");
    hz_board_free(b);
}

static struct hz_status status_of(const struct hz_board *b)
{
    struct mirror m = { .n = 0 };
    struct hz_status s = { .resets = 0 };
    int i;

    mirror_update(&m, b, 99, 0);
    i = mirror_find(&m, VIRTIO_HZ_R_STATUS, NULL);
    hz_status_get(m.entry[i].body, m.entry[i].body_len, &s);
    return s;
}

static void provider_and_reset(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    struct hz_notice n = notice(1);
    uint64_t version = hz_board_version(b);

    ok(!status_of(b).status && !memcmp(status_of(b).generation, generation, 16),
       "at first there is no provider");
    hz_board_set_provider(b, false);
    is(hz_board_version(b), version, "to say so again rings nothing");
    hz_board_set_provider(b, true);
    is(status_of(b).status, VIRTIO_HZ_S_PROVIDER, "one came");
    hz_board_reset(b);
    is(status_of(b).resets, 0, "a reset with nothing to lose isn't one");
    hz_board_set_notice(b, &n, 0);
    hz_board_reset(b);
    is(status_of(b).resets, 0, "nor with a notice nobody answered");
    guest_reply(b, &n, VIRTIO_HZ_REPLY_SEEN, 0);
    guest_declare(b, "vm", 0, doc_a, sizeof(doc_a));
    hz_board_reset(b);
    is(status_of(b).resets, 1, "a reset is counted");
    is(hz_board_declarations(b), 0, "declarations are gone");
    is(hz_board_open_notices(b), 1, "the notice stays");
    is(read_notice(b, n.id, 0).replied, 0, "its replies don't");
    hz_board_free(b);
}

/* -- time ----------------------------------------------------------------- */

static void points_in_time(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    struct hz_notice n = notice(1), r;

    n.not_before_ns = 1000;
    n.deadline_ns = 5000;
    n.duration_ns = 300;
    hz_board_set_notice(b, &n, 10000);
    r = read_notice(b, n.id, 10400);
    is(r.not_before_ns, 600, "what remains");
    is(r.deadline_ns, 4600, "of each");
    is(r.duration_ns, 300, "a duration is a length and stays");
    r = read_notice(b, n.id, 12000);
    is(r.not_before_ns, 1, "a point in the past is 1: now, or past");
    is(r.deadline_ns, 3000, "the other still remains");
    n.revision = 2;
    n.not_before_ns = VIRTIO_HZ_NS_NONE;
    n.deadline_ns = VIRTIO_HZ_NS_UNKNOWN;
    hz_board_set_notice(b, &n, 10000);
    r = read_notice(b, n.id, 99999);
    ok(r.not_before_ns == VIRTIO_HZ_NS_NONE && r.deadline_ns == VIRTIO_HZ_NS_UNKNOWN,
       "none stays none, unknown unknown");
    n.revision = 3;
    n.deadline_ns = VIRTIO_HZ_NS_UNKNOWN - 1;
    hz_board_set_notice(b, &n, 10000);
    ok(read_notice(b, n.id, 10000).deadline_ns > 1ULL << 62, "a far point doesn't wrap round");
    hz_board_free(b);
}

static void after_a_stop(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    struct hz_notice open = notice(1), closed = notice(2);
    struct mirror m = { .n = 0 };
    struct hz_status s;

    closed.state = VIRTIO_HZ_STATE_COMPLETED;
    hz_board_set_notice(b, &open, 0);
    hz_board_set_notice(b, &closed, 0);
    guest_declare(b, "vm", 0, doc_a, sizeof(doc_a));
    mirror_update(&m, b, 99, 0);
    is(mirror_update(&m, b, 99, 0), 0, "a reader that has been told everything");
    hz_board_retell(b, 777);
    is(mirror_update(&m, b, 99, 0), 2, "is told the status and the open notice after a stop");
    s = status_of(b);
    is(s.reason, VIRTIO_HZ_WHY_PAUSE, "with the reason");
    is(s.pause_ns, 777, "and how long it was");
    hz_board_free(b);
}

/* -- telling -------------------------------------------------------------- */

static void cursors(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    struct hz_cursor c = { 0 };
    uint8_t buf[VIRTIO_HZ_MAX_FRAME];
    struct hz_rec r;
    int len;

    guest_declare(b, "vm", 0, doc_a, sizeof(doc_a));
    ok(hz_board_news(b, &c), "a new reader has news");
    len = hz_board_next(b, &c, buf, sizeof(buf), 0);
    ok(!hz_record_get(buf, (size_t)len, &r) && r.hdr.type == VIRTIO_HZ_R_STATUS &&
       r.hdr.flags == VIRTIO_HZ_REC_FULL, "first a status that starts over");
    is(r.disruption, hz_board_disruption(b), "with the board's disruption");
    is(hz_board_next(b, &c, buf, HZ_RECORD_HEAD - 1, 0), -VIRTIO_HZ_E_SMALL, "no room for a head");
    while ((len = hz_board_next(b, &c, buf, HZ_RECORD_HEAD, 0)) > 0) {
        hz_record_get(buf, (size_t)len, &r);
        is(r.hdr.flags, VIRTIO_HZ_REC_TRUNCATED, "a small buffer gets the head, TRUNCATED");
        is(len, HZ_RECORD_HEAD, "and nothing but that");
    }
    ok(!hz_board_news(b, &c), "then there is none");
    is(hz_board_next(b, &c, NULL, 0, 0), 0, "which needs no buffer to say");
    for (int i = 0; i < 50; i++) {
        guest_declare(b, "vm", 0, i % 2 ? doc_a : doc_b, 8);
    }
    is(hz_board_next(b, &c, buf, sizeof(buf), 0), 64 + 24 + 8, "fifty changes");
    is(hz_board_next(b, &c, buf, sizeof(buf), 0), 0, "are told once");
    guest_withdraw(b, "vm", 0);
    len = hz_board_next(b, &c, buf, sizeof(buf), 0);
    ok(!hz_record_get(buf, (size_t)len, &r) && r.hdr.flags == VIRTIO_HZ_REC_GONE &&
       !memcmp(r.key, "vm", 3), "a withdrawal is told");
    c.disruption++;
    ok(hz_board_news(b, &c), "a cursor of another disruption");
    len = hz_board_next(b, &c, buf, sizeof(buf), 0);
    ok(!hz_record_get(buf, (size_t)len, &r) && r.hdr.flags == VIRTIO_HZ_REC_FULL, "starts over");
    hz_board_free(b);
}

/* A tombstone's place was needed: only who may have missed the withdrawal starts over. */
static void forgotten_tombstones(void)
{
    struct hz_board *b = hz_board_new(&small, generation);
    static struct mirror late, prompt, fresh;

    guest_declare(b, "vm", 0, doc_a, 8);
    guest_declare(b, "nic/0", 0, doc_a, 8);
    mirror_update(&late, b, 99, 0);
    guest_withdraw(b, "vm", 0);
    mirror_update(&prompt, b, 99, 0);
    guest_declare(b, "nic/1", 0, doc_a, 8);
    mirror_update(&late, b, 99, 0);
    mirror_update(&prompt, b, 99, 0);
    mirror_update(&fresh, b, 99, 0);
    is(late.started_over, 2, "a reader that missed it starts over");
    is(prompt.started_over, 1, "one that was told doesn't");
    ok(mirror_same(&late, &fresh) && mirror_same(&prompt, &fresh), "both know the same");
    hz_board_free(b);
}

static void reading(void)
{
    struct hz_board *b = hz_board_new(&full, generation);
    struct hz_cursor c = { 0 };
    uint8_t doc[VIRTIO_HZ_MAX_DOC];
    size_t doc_len = 0;
    unsigned got = 0, answers = 0;
    struct answer a;
    char name[24];

    hz_doc_set(doc, &doc_len, sizeof(doc), 1, zeros, sizeof(doc) - 4);
    for (int i = 0; i < VIRTIO_HZ_MAX_DECLARATIONS; i++) {
        snprintf(name, sizeof(name), "nic/%d", i);
        if (guest_declare(b, name, 0, doc, sizeof(doc)).status) {
            ok(false, "declaration %d", i);
        }
    }
    do {
        a = guest_read(b, &c, VIRTIO_HZ_MAX_RESPONSE, 0);
        c = (struct hz_cursor){ a.disruption, a.version, a.floor };
        got += a.count;
        answers++;
    } while (!a.status && a.flags & VIRTIO_HZ_RSP_MORE && answers < 100);
    /* The status twice, to start over and in its turn; 16 declarations of 1112 bytes: 14 fit. */
    is(got, 18, "everything is read");
    is(answers, 2, "in two responses");
    a = guest_read(b, &c, VIRTIO_HZ_MAX_RESPONSE, 0);
    ok(!a.status && !a.count && !a.flags && a.len == (int)RSP, "then there is nothing more");

    c = (struct hz_cursor){ 0 };
    is(guest_read(b, &c, RSP, 0).status, VIRTIO_HZ_E_SMALL, "no room for any record");
    is(guest_read(b, &c, RSP + 95, 0).status, VIRTIO_HZ_E_SMALL, "nor just short of one");
    a = guest_read(b, &c, RSP + 96, 0);
    ok(!a.status && a.count == 1 && a.flags & VIRTIO_HZ_RSP_MORE, "room for just one");
    is(hz_board_refusals(b), 2, "two refusals");
    hz_board_free(b);
}

/* -- many random things at once ------------------------------------------- */

struct crowd {
    struct hz_board *b;
    struct prng p;
    uint64_t now;
    struct mirror reader[4];
};

static void random_declare(struct crowd *c)
{
    uint8_t doc[VIRTIO_HZ_MAX_DOC];
    uint16_t len = sample_doc(&c->p, doc, hz_board_limits(c->b)->doc);
    char name[24];

    snprintf(name, sizeof(name), "nic/%u", (unsigned)prng_below(&c->p, 5));
    if (prng_chance(&c->p, 40)) {
        guest_withdraw(c->b, name, VIRTIO_HZ_SEQ_ANY);
    } else {
        guest_declare(c->b, name, VIRTIO_HZ_SEQ_ANY, doc, len);
    }
}

static void random_notice(struct crowd *c)
{
    struct hz_notice n;

    sample_notice(&c->p, &n, hz_board_limits(c->b)->doc);
    memset(n.id, 0, sizeof(n.id));
    n.id[0] = (uint8_t)(1 + prng_below(&c->p, 6));
    n.revision = 1 + (uint32_t)prng_below(&c->p, 4);
    switch (prng_below(&c->p, 4)) {
    case 0:
        hz_board_drop_notice(c->b, n.id);
        break;
    case 1:
        guest_reply(c->b, &n, (uint16_t)(1 + prng_below(&c->p, VIRTIO_HZ_REPLY_MAX)), 0);
        break;
    default:
        hz_board_set_notice(c->b, &n, c->now);
        break;
    }
}

static void random_event(struct crowd *c)
{
    c->now += prng_below(&c->p, 1000);
    switch (prng_below(&c->p, 20)) {
    case 0:
        hz_board_reset(c->b);
        break;
    case 1:
        hz_board_set_provider(c->b, prng_chance(&c->p, 50));
        break;
    case 2:
        hz_board_retell(c->b, prng_next(&c->p));
        break;
    default:
        (prng_chance(&c->p, 50) ? random_declare : random_notice)(c);
        break;
    }
}

/* Who has been told everything knows what one does that starts from nothing. */
static const char *all_know(struct crowd *c)
{
    static struct mirror fresh;

    memset(&fresh, 0, sizeof(fresh));
    if (mirror_update(&fresh, c->b, 1000, 0) < 0) {
        return "a new reader was told something wrong";
    }
    for (int i = 0; i < 4; i++) {
        struct mirror *m = &c->reader[i];

        /* All as of the same moment: remaining times are of when they were told. */
        if (mirror_update(m, c->b, 1000, 0) < 0) {
            return "a reader was told something wrong";
        }
        if (!mirror_same(m, &fresh)) {
            return "a reader knows something else";
        }
    }
    return NULL;
}

static void crowds(void)
{
    const char *offence = NULL;
    unsigned started_over = 0;
    int round;

    for (round = 0; round < 300 && !offence; round++) {
        static struct crowd c;

        memset(&c, 0, sizeof(c));
        c.p.state = (uint64_t)round;
        c.b = hz_board_new(&(struct hz_board_limits){ 3, 3, 128 }, generation);
        for (int step = 0; step < 200 && !offence; step++) {
            random_event(&c);
            for (int i = 0; i < 4; i++) {
                /* Each at a pace of its own: 0 seldom, 3 nearly always. */
                if (prng_below(&c.p, 4) <= (unsigned)i &&
                    mirror_update(&c.reader[i], c.b, 1 + (unsigned)prng_below(&c.p, 3), 0) < 0) {
                    offence = "a reader was told something wrong";
                }
            }
            if (!offence && step % 20 == 0) {
                offence = all_know(&c);
            }
        }
        offence = offence ? offence : all_know(&c);
        started_over += c.reader[0].started_over;
        hz_board_free(c.b);
    }
    if (!ok(!offence, "300 boards under random change: every reader knows in the end")) {
        printf("# board %d: %s\n", round - 1, offence);
    }
    ok(started_over > 600, "some had to start over on the way");
}

int main(void)
{
    limits();
    declaring();
    bad_declarations();
    bad_requests();
    setting_notices();
    replying();
    reply_forms();
    verdicts();
    provider_and_reset();
    points_in_time();
    after_a_stop();
    cursors();
    forgotten_tombstones();
    reading();
    crowds();
    return tap_done();
}
