/* SPDX-License-Identifier: MIT */
/*
 * hz wire: frames, documents and the link's messages, as bytes.
 *
 * A frame is struct virtio_hz_hdr and a body. The same frames run over a
 * virtqueue, a socket or any byte stream. Nothing here allocates, reads a
 * clock or keeps state; every function is given its buffer and its length.
 *
 * Functions that can refuse return 0 or a size on success and a negative
 * VIRTIO_HZ_E_* code (docs/virtio-hz.md, "Status codes") when they do.
 */
#ifndef HZ_CORE_WIRE_H
#define HZ_CORE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/virtio_hz.h>

/* -- little-endian access, alignment-free ------------------------------- */

static inline uint16_t hz_get16(const void *p)
{
    const uint8_t *b = p;

    return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t hz_get32(const void *p)
{
    const uint8_t *b = p;

    return hz_get16(b) | (uint32_t)hz_get16(b + 2) << 16;
}

static inline uint64_t hz_get64(const void *p)
{
    const uint8_t *b = p;

    return hz_get32(b) | (uint64_t)hz_get32(b + 4) << 32;
}

static inline void hz_put16(void *p, uint16_t v)
{
    uint8_t *b = p;

    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
}

static inline void hz_put32(void *p, uint32_t v)
{
    hz_put16(p, (uint16_t)v);
    hz_put16((uint8_t *)p + 2, (uint16_t)(v >> 16));
}

static inline void hz_put64(void *p, uint64_t v)
{
    hz_put32(p, (uint32_t)v);
    hz_put32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

/* The first multiple of eight at or above @n. */
static inline size_t hz_pad8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

/* -- frames ------------------------------------------------------------- */

#define HZ_HDR_LEN ((size_t)sizeof(struct virtio_hz_hdr))

struct hz_hdr {
    uint32_t len;       /* of the whole frame, bytes */
    uint16_t type;
    uint16_t flags;
    uint64_t cookie;
};

void hz_hdr_put(void *frame, const struct hz_hdr *h);
void hz_hdr_get(const void *frame, struct hz_hdr *h);

/*
 * Is there a whole frame at the start of @buf? Its length (HZ_HDR_LEN to
 * @max) when all of it is there, 0 when more bytes are needed, and
 * -VIRTIO_HZ_E_INVAL when its length can't be (below a header, above @max):
 * such a stream can't be resynchronised and must be closed.
 */
int hz_frame_complete(const void *buf, size_t len, size_t max);

/* -- names -------------------------------------------------------------- */

/* Is @key a subject: [a-z0-9._/-]{1,31} and zeros up to VIRTIO_HZ_KEY_LEN? */
bool hz_subject_ok(const uint8_t key[VIRTIO_HZ_KEY_LEN]);

/* Write the name @s as a subject. false when it isn't one. */
bool hz_subject_put(uint8_t key[VIRTIO_HZ_KEY_LEN], const char *s);

/* -- documents ---------------------------------------------------------- */

/* Well-formed: framing, padding, order, count? 0, -E_INVAL, -E_TOOBIG. */
int hz_doc_check(const void *doc, size_t len, size_t max_len);

/* Walk a document hz_doc_check() has passed: *pos starts at 0. */
bool hz_doc_next(const void *doc, size_t len, size_t *pos,
                 uint16_t *id, const uint8_t **value, uint16_t *value_len);

/* The value of field @id in a checked document; NULL when it's absent. */
const uint8_t *hz_doc_find(const void *doc, size_t len, uint16_t id,
                           uint16_t *value_len);

/*
 * Set field @id in the document of *@len bytes at @doc (capacity @cap),
 * keeping ids in order and replacing an older value. 0, -E_TOOBIG when it
 * doesn't fit or would be field VIRTIO_HZ_MAX_FIELDS + 1.
 */
int hz_doc_set(void *doc, size_t *len, size_t cap,
               uint16_t id, const void *value, uint16_t value_len);

/* Remove field @id. true when it was there. */
bool hz_doc_unset(void *doc, size_t *len, uint16_t id);

/* -- bodies in host byte order ------------------------------------------ */

struct hz_status {
    uint8_t generation[VIRTIO_HZ_UUID_LEN];
    uint32_t resets;
    uint16_t status;
    uint16_t reason;
    uint64_t pause_ns;
};

struct hz_verdict {
    uint16_t field;
    uint8_t code;
    uint8_t reason;
    uint64_t value;
};

struct hz_declaration {
    uint64_t seq;
    uint64_t verdict_seq;
    uint16_t doc_len;
    uint16_t verdicts;
    uint8_t doc[VIRTIO_HZ_MAX_DOC];
    struct hz_verdict verdict[VIRTIO_HZ_MAX_FIELDS];
};

struct hz_notice {
    uint8_t id[VIRTIO_HZ_UUID_LEN];
    uint8_t cause_id[VIRTIO_HZ_UUID_LEN];
    uint8_t scope_id[VIRTIO_HZ_UUID_LEN];
    uint16_t kind;
    uint8_t state;
    uint8_t ack;
    uint32_t revision;
    uint64_t not_before_ns;     /* remaining; VIRTIO_HZ_NS_* */
    uint64_t deadline_ns;
    uint64_t duration_ns;
    uint8_t scope;
    uint8_t source;
    uint8_t granularity;
    uint8_t flags;
    uint16_t confidence;
    uint16_t cause;
    uint32_t replied;
    uint16_t reply;
    uint16_t reply_doc_len;
    uint64_t reply_arg;
    uint16_t doc_len;
    uint8_t doc[VIRTIO_HZ_MAX_DOC];
    uint8_t reply_doc[VIRTIO_HZ_MAX_REPLY_DOC];
};

/* A record's head, after hz_record_get(). The body follows it in the frame. */
struct hz_rec {
    struct hz_hdr hdr;
    uint64_t disruption;
    uint64_t version;
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    const uint8_t *body;
    size_t body_len;
};

#define HZ_RECORD_HEAD ((size_t)sizeof(struct virtio_hz_record))

/* Parse one whole frame as a record: 0 or -E_INVAL, -E_UNSUPP (flag, type). */
int hz_record_get(const void *frame, size_t len, struct hz_rec *r);

/*
 * Bodies. *_get checks every length, enumeration and reserved field and
 * returns 0 or a negative code; *_put returns the bytes written (a multiple
 * of eight), or -E_TOOBIG when @cap is too small.
 */
int hz_status_get(const void *body, size_t len, struct hz_status *s);
int hz_status_put(void *body, size_t cap, const struct hz_status *s);
int hz_declaration_get(const void *body, size_t len, struct hz_declaration *d);
int hz_declaration_put(void *body, size_t cap, const struct hz_declaration *d);
int hz_notice_get(const void *body, size_t len, struct hz_notice *n);
int hz_notice_put(void *body, size_t cap, const struct hz_notice *n);

/*
 * @count verdicts of 16 bytes each, field ids ascending as in the document
 * they answer. get: 0, or -E_INVAL for a code, reason, order or reserved field.
 */
void hz_verdicts_put(void *list, unsigned count, const struct hz_verdict *v);
int hz_verdicts_get(const void *list, unsigned count, struct hz_verdict *v);

static inline bool hz_state_closed(uint8_t state)
{
    return state >= VIRTIO_HZ_STATE_COMPLETED;
}

/* -- the link between device and daemon (docs/virtio-hz.md, "Link") ------ */

/* device -> daemon; records (VIRTIO_HZ_R_*) go as they are */
#define HZ_L_HELLO          0x0301
#define HZ_L_SYNC           0x0302  /* the whole board has been sent */
#define HZ_L_RUNSTATE       0x0303
#define HZ_L_REFUSED        0x0304  /* a frame of the daemon's was not taken */
#define HZ_L_PONG           0x0305
#define HZ_L_BYE            0x0306  /* unplugged or reset for good */
/* daemon -> device */
#define HZ_L_WELCOME        0x0381
#define HZ_L_SET_NOTICE     0x0382  /* insert or replace, body: struct virtio_hz_notice */
#define HZ_L_DROP_NOTICE    0x0383
#define HZ_L_SET_VERDICTS   0x0384
#define HZ_L_PING           0x0385

/* The longest frame on a link; a longer one ends the connection. */
#define HZ_LINK_MAX_FRAME   VIRTIO_HZ_MAX_FRAME

#define HZ_RUN_PAUSED       0
#define HZ_RUN_RUNNING      1

struct hz_hello {               /* 72 bytes on the wire */
    uint32_t magic;             /* VIRTIO_HZ_MAGIC */
    uint16_t version;
    uint16_t version_min;
    uint8_t vm[VIRTIO_HZ_UUID_LEN];         /* the VM's uuid, RFC 4122 order */
    uint8_t generation[VIRTIO_HZ_UUID_LEN];
    uint64_t disruption;
    uint64_t board_version;
    uint16_t run_state;         /* HZ_RUN_* */
    uint16_t max_declarations;
    uint16_t max_notices;
    uint16_t max_doc;           /* then 8 reserved bytes */
};

struct hz_welcome {             /* 8 bytes */
    uint16_t version;           /* the one both will speak, then 6 reserved bytes */
};

struct hz_sync {                /* 8 bytes */
    uint64_t board_version;
};

struct hz_runstate {            /* 8 bytes: u16, then 6 reserved */
    uint16_t run_state;
};

struct hz_refused {             /* 8 bytes: u32 status, u16 type, u16 reserved */
    uint32_t status;            /* VIRTIO_HZ_E_*; the header's cookie is the refused frame's */
    uint16_t type;
};

struct hz_set_verdicts {        /* 48 bytes, then 16 a verdict */
    uint8_t subject[VIRTIO_HZ_KEY_LEN];
    uint64_t seq;               /* of the declaration they are for */
    uint16_t verdicts;          /* then 6 reserved bytes */
    struct hz_verdict verdict[VIRTIO_HZ_MAX_FIELDS];
};

#define HZ_HELLO_LEN 72
#define HZ_SET_VERDICTS_HEAD 48

/*
 * Whole frames of the link. *_frame writes header and body and returns the
 * frame's length, or -E_TOOBIG; *_get reads a body (after hz_hdr_get()).
 */
int hz_hello_frame(void *buf, size_t cap, const struct hz_hello *h);
int hz_hello_get(const void *body, size_t len, struct hz_hello *h);
int hz_welcome_frame(void *buf, size_t cap, const struct hz_welcome *w);
int hz_welcome_get(const void *body, size_t len, struct hz_welcome *w);
int hz_sync_frame(void *buf, size_t cap, const struct hz_sync *s);
int hz_sync_get(const void *body, size_t len, struct hz_sync *s);
int hz_runstate_frame(void *buf, size_t cap, const struct hz_runstate *r);
int hz_runstate_get(const void *body, size_t len, struct hz_runstate *r);
int hz_refused_frame(void *buf, size_t cap, uint64_t cookie, const struct hz_refused *r);
int hz_refused_get(const void *body, size_t len, struct hz_refused *r);
int hz_set_notice_frame(void *buf, size_t cap, uint64_t cookie, const struct hz_notice *n);
int hz_drop_notice_frame(void *buf, size_t cap, uint64_t cookie,
                         const uint8_t id[VIRTIO_HZ_UUID_LEN]);
int hz_drop_notice_get(const void *body, size_t len, uint8_t id[VIRTIO_HZ_UUID_LEN]);
int hz_set_verdicts_frame(void *buf, size_t cap, uint64_t cookie,
                          const struct hz_set_verdicts *v);
int hz_set_verdicts_get(const void *body, size_t len, struct hz_set_verdicts *v);
/* PING, PONG, BYE: a header and no body. */
int hz_bare_frame(void *buf, size_t cap, uint16_t type, uint64_t cookie);

#endif /* HZ_CORE_WIRE_H */
