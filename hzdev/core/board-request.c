/* SPDX-License-Identifier: MIT */
/* hz board: the guest's requests, one small handler each. */
#include "board-int.h"

#include <string.h>

#define AT(type, field) offsetof(struct type, field)

struct request {
    struct hz_hdr hdr;
    const uint8_t *p;           /* the whole frame */
    size_t len;
};

struct answer {
    int status;                 /* 0 or -VIRTIO_HZ_E_* */
    uint64_t seq;
};

/* @doc_len at the end of a request whose fixed part is @head bytes. */
static bool tail_is(const struct request *rq, size_t head, uint16_t doc_len)
{
    return rq->len == head + doc_len;
}

/* -- DECLARE, WITHDRAW --------------------------------------------------- */

static int replaces_ok(const struct decl_slot *ds, uint64_t replaces)
{
    switch (replaces) {
    case VIRTIO_HZ_SEQ_ANY:
        return 0;
    case VIRTIO_HZ_SEQ_NEW:
        return ds ? -VIRTIO_HZ_E_STALE : 0;
    default:
        return ds && ds->d.seq == replaces ? 0 : -VIRTIO_HZ_E_STALE;
    }
}

static int declare_check(const struct hz_board *b, const struct request *rq, uint16_t *doc_len)
{
    const size_t head = sizeof(struct virtio_hz_declare);

    if (rq->len < head) {
        return -VIRTIO_HZ_E_INVAL;
    }
    *doc_len = hz_get16(rq->p + AT(virtio_hz_declare, doc_len));
    if (!tail_is(rq, head, *doc_len) || !hz_subject_ok(rq->p + AT(virtio_hz_declare, subject)) ||
        hz_get16(rq->p + AT(virtio_hz_declare, reserved0)) ||
        hz_get32(rq->p + AT(virtio_hz_declare, reserved1))) {
        return -VIRTIO_HZ_E_INVAL;
    }
    return hz_doc_check(rq->p + head, *doc_len, b->limits.doc);
}

static struct answer do_declare(struct hz_board *b, const struct request *rq)
{
    const uint8_t *key = rq->p + AT(virtio_hz_declare, subject);
    const uint8_t *doc = rq->p + sizeof(struct virtio_hz_declare);
    struct decl_slot *ds;
    uint16_t doc_len = 0;
    int err = declare_check(b, rq, &doc_len);

    if (err) {
        return (struct answer){ err, 0 };
    }
    ds = hz_board_find_decl(b, key);
    err = replaces_ok(ds, hz_get64(rq->p + AT(virtio_hz_declare, replaces)));
    if (err) {
        return (struct answer){ err, 0 };
    }
    if (ds && ds->d.doc_len == doc_len && !memcmp(ds->d.doc, doc, doc_len)) {
        return (struct answer){ 0, ds->d.seq };
    }
    if (!ds) {
        ds = hz_board_new_decl(b, key);
    }
    if (!ds) {
        return (struct answer){ -VIRTIO_HZ_E_NOSPC, 0 };
    }
    ds->d.seq = ++b->seq;
    ds->d.verdict_seq = 0;
    ds->d.verdicts = 0;
    ds->d.doc_len = doc_len;
    memcpy(ds->d.doc, doc, doc_len);
    hz_slot_touch(b, &ds->s);
    return (struct answer){ 0, ds->d.seq };
}

static struct answer do_withdraw(struct hz_board *b, const struct request *rq)
{
    const uint8_t *key = rq->p + AT(virtio_hz_withdraw, subject);
    struct decl_slot *ds;
    int err;

    if (rq->len != sizeof(struct virtio_hz_withdraw) || !hz_subject_ok(key)) {
        return (struct answer){ -VIRTIO_HZ_E_INVAL, 0 };
    }
    ds = hz_board_find_decl(b, key);
    if (!ds) {
        return (struct answer){ -VIRTIO_HZ_E_NOENT, 0 };
    }
    err = replaces_ok(ds, hz_get64(rq->p + AT(virtio_hz_withdraw, replaces)));
    if (!err) {
        hz_slot_bury(b, &ds->s);
    }
    return (struct answer){ err, 0 };
}

/* -- REPLY --------------------------------------------------------------- */

static bool code_has_arg(uint16_t code)
{
    return code == VIRTIO_HZ_REPLY_EXTEND || code == VIRTIO_HZ_REPLY_DEFER ||
           code == VIRTIO_HZ_REPLY_FAILED;
}

static int reply_check(const struct request *rq, uint16_t *doc_len)
{
    const size_t head = sizeof(struct virtio_hz_reply);
    uint16_t code;

    if (rq->len < head) {
        return -VIRTIO_HZ_E_INVAL;
    }
    code = hz_get16(rq->p + AT(virtio_hz_reply, code));
    *doc_len = hz_get16(rq->p + AT(virtio_hz_reply, doc_len));
    if (!tail_is(rq, head, *doc_len)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    if (code == VIRTIO_HZ_REPLY_NONE || code > VIRTIO_HZ_REPLY_MAX) {
        return -VIRTIO_HZ_E_UNSUPP;
    }
    if ((!code_has_arg(code) && hz_get64(rq->p + AT(virtio_hz_reply, arg))) ||
        (code != VIRTIO_HZ_REPLY_COUNTER && *doc_len)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    return hz_doc_check(rq->p + head, *doc_len, VIRTIO_HZ_MAX_REPLY_DOC);
}

/* Has this very answer been given to this revision already? SEEN never takes back a later one. */
static bool reply_repeats(const struct hz_notice *n, uint16_t code, uint64_t arg,
                          const uint8_t *doc, uint16_t doc_len)
{
    if (code == VIRTIO_HZ_REPLY_SEEN && n->replied & 1u << code) {
        return true;
    }
    return n->reply == code && n->reply_arg == arg && n->reply_doc_len == doc_len &&
           !memcmp(n->reply_doc, doc, doc_len);
}

static int reply_take(struct hz_board *b, struct notice_slot *ns, const struct request *rq,
                      uint16_t doc_len)
{
    const uint8_t *doc = rq->p + sizeof(struct virtio_hz_reply);
    uint16_t code = hz_get16(rq->p + AT(virtio_hz_reply, code));
    uint64_t arg = hz_get64(rq->p + AT(virtio_hz_reply, arg));
    struct hz_notice *n = &ns->n;

    if (reply_repeats(n, code, arg, doc, doc_len)) {
        return 0;
    }
    n->replied |= 1u << code;
    n->reply = code;
    n->reply_arg = arg;
    n->reply_doc_len = doc_len;
    memcpy(n->reply_doc, doc, doc_len);
    hz_slot_touch(b, &ns->s);
    return 0;
}

static struct answer do_reply(struct hz_board *b, const struct request *rq)
{
    struct notice_slot *ns;
    uint16_t doc_len = 0;
    int err = reply_check(rq, &doc_len);

    if (err) {
        return (struct answer){ err, 0 };
    }
    ns = hz_board_find_notice(b, rq->p + AT(virtio_hz_reply, id));
    if (!ns) {
        return (struct answer){ -VIRTIO_HZ_E_NOENT, 0 };
    }
    if (memcmp(rq->p + AT(virtio_hz_reply, generation), b->status.generation,
               VIRTIO_HZ_UUID_LEN) ||
        hz_get32(rq->p + AT(virtio_hz_reply, revision)) != ns->n.revision ||
        hz_state_closed(ns->n.state)) {
        return (struct answer){ -VIRTIO_HZ_E_VOID, 0 };
    }
    return (struct answer){ reply_take(b, ns, rq, doc_len), 0 };
}

/* -- answering ----------------------------------------------------------- */

static int respond(const struct hz_board *b, const struct request *rq, const struct answer *a,
                   uint8_t *rsp)
{
    struct hz_hdr h = {
        .len = sizeof(struct virtio_hz_response),
        .type = rq->hdr.type | VIRTIO_HZ_T_RESPONSE,
        .cookie = rq->hdr.cookie,
    };

    memset(rsp, 0, h.len);
    hz_hdr_put(rsp, &h);
    hz_put32(rsp + AT(virtio_hz_response, status), (uint32_t)-a->status);
    hz_put64(rsp + AT(virtio_hz_response, disruption), b->disruption);
    hz_put64(rsp + AT(virtio_hz_response, version), b->version);
    hz_put64(rsp + AT(virtio_hz_response, seq), a->seq);
    return (int)h.len;
}

/* Records from @c on into [@pos, @cap). The new end; *@count of them. */
static size_t read_records(const struct hz_board *b, struct hz_cursor *c, uint8_t *rsp,
                           size_t pos, size_t cap, uint64_t now, uint32_t *count)
{
    *count = 0;
    for (;;) {
        struct hz_cursor next = *c;
        int len = hz_board_next(b, &next, rsp + pos, cap - pos, now);

        if (len <= 0 || hz_get16(rsp + pos + AT(virtio_hz_hdr, flags)) & VIRTIO_HZ_REC_TRUNCATED) {
            return pos;
        }
        pos += (size_t)len;
        *c = next;
        (*count)++;
    }
}

static int do_read(struct hz_board *b, const struct request *rq, uint8_t *rsp, size_t cap,
                   uint64_t now)
{
    struct answer a = { 0, 0 };
    struct hz_cursor c;
    uint32_t count;
    size_t end;

    if (rq->len != sizeof(struct virtio_hz_read)) {
        a.status = -VIRTIO_HZ_E_INVAL;
        b->refusals++;
        return respond(b, rq, &a, rsp);
    }
    c.disruption = hz_get64(rq->p + AT(virtio_hz_read, disruption));
    c.version = hz_get64(rq->p + AT(virtio_hz_read, since));
    c.floor = hz_get64(rq->p + AT(virtio_hz_read, floor));
    if (cap > VIRTIO_HZ_MAX_RESPONSE) {
        cap = VIRTIO_HZ_MAX_RESPONSE;
    }
    respond(b, rq, &a, rsp);
    end = read_records(b, &c, rsp, sizeof(struct virtio_hz_response), cap, now, &count);
    if (!count && hz_board_news(b, &c)) {
        a.status = -VIRTIO_HZ_E_SMALL;
        b->refusals++;
        return respond(b, rq, &a, rsp);
    }
    /* What lies beyond the last record may hold part of one that didn't fit. */
    memset(rsp + end, 0, cap - end);
    hz_put32(rsp, (uint32_t)end);
    hz_put16(rsp + AT(virtio_hz_hdr, flags), hz_board_news(b, &c) ? VIRTIO_HZ_RSP_MORE : 0);
    hz_put32(rsp + AT(virtio_hz_response, count), count);
    hz_put64(rsp + AT(virtio_hz_response, version), c.version);
    hz_put64(rsp + AT(virtio_hz_response, floor), c.floor);
    return (int)end;
}

int hz_board_request(struct hz_board *b, const void *req, size_t len,
                     void *rsp, size_t cap, uint64_t now)
{
    struct request rq = { .p = req, .len = len };
    struct answer a;

    if (len < HZ_HDR_LEN || cap < sizeof(struct virtio_hz_response)) {
        return -VIRTIO_HZ_E_INVAL;
    }
    hz_hdr_get(req, &rq.hdr);
    if (rq.hdr.len != len) {
        a = (struct answer){ -VIRTIO_HZ_E_INVAL, 0 };
    } else if (rq.hdr.flags) {
        a = (struct answer){ -VIRTIO_HZ_E_UNSUPP, 0 };
    } else {
        switch (rq.hdr.type) {
        case VIRTIO_HZ_T_DECLARE:
            a = do_declare(b, &rq);
            break;
        case VIRTIO_HZ_T_WITHDRAW:
            a = do_withdraw(b, &rq);
            break;
        case VIRTIO_HZ_T_REPLY:
            a = do_reply(b, &rq);
            break;
        case VIRTIO_HZ_T_READ:
            return do_read(b, &rq, rsp, cap, now);
        default:
            a = (struct answer){ -VIRTIO_HZ_E_UNSUPP, 0 };
        }
    }
    b->refusals += a.status != 0;
    return respond(b, &rq, &a, rsp);
}
