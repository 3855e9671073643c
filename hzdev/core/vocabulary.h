/* SPDX-License-Identifier: MIT */
/*
 * hz vocabulary: the one table of fields and kinds.
 *
 * One row a field: its id, name, type, unit, bounds, who may set it, how
 * several owners merge, and which consumer acts on it. Validation, the
 * command lines, JSON, --help and the generated pages are all fed from here.
 * Device and kernel driver never see it: a new row needs no new QEMU.
 *
 * Ids: a declaration's field is T << 8 | n (T12's first is 0x0c01), a notice's
 * payload field 0x8000 | E << 8 | n.
 */
#ifndef HZ_CORE_VOCABULARY_H
#define HZ_CORE_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "units.h"
#include "wire.h"

enum hz_type {
    HZ_TYPE_U8,
    HZ_TYPE_U16,
    HZ_TYPE_U32,
    HZ_TYPE_U64,
    HZ_TYPE_F64,        /* finite, not negative */
    HZ_TYPE_ENUM,       /* u8, one of ->names */
    HZ_TYPE_MASK,       /* u32, bits of ->names; a name of "" is a bit that may not be set */
    HZ_TYPE_ID,         /* 16 bytes, typed as hex, a uuid, or any other text (hashed) */
    HZ_TYPE_BYTES,      /* opaque */
};

enum hz_source { HZ_BY_TENANT, HZ_BY_GUESS, HZ_BY_OPERATOR };

/* How documents of several owners about one field become one value. */
enum hz_merge { HZ_MERGE_LAST, HZ_MERGE_MIN, HZ_MERGE_MAX, HZ_MERGE_SUM, HZ_MERGE_OR };

/* Who acts on it. NONE: reserved, a guest that sends it gets RECORDED. */
enum hz_consumer {
    HZ_CONSUMER_NONE,
    HZ_CONSUMER_HZD,    /* decide loop and notices */
    HZ_CONSUMER_VNIC,
    HZ_CONSUMER_GPU,
    HZ_CONSUMER_CKPT,
};

/* Subjects a field may stand in: a mask. */
#define HZ_ON_VM    (1u << 0)   /* "vm" */
#define HZ_ON_NIC   (1u << 1)   /* "nic/N" */
#define HZ_ON_GPU   (1u << 2)   /* "gpu" */
#define HZ_ON_CKPT  (1u << 3)   /* "ckpt" */
#define HZ_ON_JOB   (1u << 4)   /* "job/NAME" */
#define HZ_ON_NOTICE (1u << 5)  /* a notice's payload */

struct hz_field {
    uint16_t id;
    const char *name;           /* "net-min": the command line's option and JSON's key */
    enum hz_type type;
    enum hz_unit unit;
    uint64_t min, max;          /* inclusive; F64: whole numbers; BYTES: of the length */
    enum hz_source source;
    enum hz_merge merge;
    enum hz_consumer consumer;
    unsigned subjects;          /* HZ_ON_* */
    uint16_t not_above;         /* field this one must not exceed (net-min: net-max); 0: none */
    const char *const *names;   /* ENUM, MASK: NULL-ended */
    const char *help;           /* one line */
};

/* All rows, by ascending id; *@n is their number. */
const struct hz_field *hz_vocabulary(size_t *n);
const struct hz_field *hz_field_by_id(uint16_t id);
const struct hz_field *hz_field_by_name(const char *name);
/* The name nearest to a mistyped one, NULL when none is near. */
const char *hz_field_nearest(const char *name);
/* The same among any words, a NULL-ended list. */
const char *hz_nearest(const char *word, const char *const *words);

/* HZ_ON_* of a subject's name; 0 when it's none of them. */
unsigned hz_subject_kind(const uint8_t key[VIRTIO_HZ_KEY_LEN]);
unsigned hz_subject_kind_str(const char *subject);

/* Any type: right length and within bounds? 0, -EINVAL, -ERANGE. */
int hz_value_check(const struct hz_field *f, const uint8_t *value, uint16_t len);
/* A value as a number (F64 by its bits). -EINVAL: wrong length, no number; -ERANGE: bounds. */
int hz_value_get(const struct hz_field *f, const uint8_t *value, uint16_t len, uint64_t *out);
/* Put a number as the field's wire value: its length, -ERANGE. */
int hz_value_put(const struct hz_field *f, uint64_t v, uint8_t out[16]);

/*
 * Text to wire value (up to 16 bytes) and back, by type and unit. Length,
 * -EINVAL, -EDOM, -ERANGE. format is like snprintf. An enumeration is typed by name
 * or number, a mask as "pause,reclaim", "all" or "none", opaque bytes as hex.
 */
int hz_value_parse(const struct hz_field *f, const char *text, uint8_t out[16]);
int hz_value_format(const struct hz_field *f, const uint8_t *value, uint16_t len,
                    char *buf, size_t cap);

/* Integer field @id of a checked document; false when absent or malformed. */
bool hz_doc_u64(const void *doc, size_t len, uint16_t id, uint64_t *out);

/*
 * Judge a checked document of a subject by the table alone: one verdict a
 * field: PENDING when a consumer has still to answer, RECORDED, REJECTED
 * (BOUNDS, SUBJECT, CONFLICT: a min above its max) or UNSUPPORTED (unknown
 * id, operator-only field). Returns their number.
 */
unsigned hz_doc_judge(const uint8_t subject[VIRTIO_HZ_KEY_LEN],
                      const void *doc, size_t len,
                      struct hz_verdict out[VIRTIO_HZ_MAX_FIELDS]);

/* -- names of everything else (never NULL; "?" for what isn't) ----------- */

struct hz_kind {
    uint16_t kind;              /* E number */
    const char *name;           /* "pause" */
    bool offered;               /* hzctl may send it today */
    const char *help;
};

const struct hz_kind *hz_kinds(size_t *n);
const char *hz_kind_name(uint16_t kind);
int hz_kind_by_name(const char *name);          /* or -EINVAL */
const char *hz_state_name(uint8_t state);
const char *hz_ack_name(uint8_t ack);
const char *hz_reply_name(uint16_t code);
int hz_reply_by_name(const char *name);         /* or -EINVAL */
const char *hz_verdict_name(uint8_t code);
const char *hz_reason_name(uint8_t reason);     /* one lower-case word: "entitlement" */
const char *hz_reason_text(uint8_t reason);     /* "above what the operator lets this VM have" */
const char *hz_scope_name(uint8_t scope);
const char *hz_source_name(uint8_t source);
const char *hz_cause_name(uint16_t cause);
int hz_cause_by_name(const char *name);
const char *hz_status_name(int status);         /* VIRTIO_HZ_OK, VIRTIO_HZ_E_*; either sign */
const char *hz_why_name(uint16_t reason);       /* VIRTIO_HZ_WHY_* */

const char *hz_type_name(enum hz_type type);
const char *hz_consumer_name(enum hz_consumer consumer);    /* "vnic"; "-" for NONE */

/* Field ids the code itself refers to. */
#define HZ_F_JOB_ID             0x0101
#define HZ_F_JOB_RANK           0x0102
#define HZ_F_JOB_WORLD_SIZE     0x0103
#define HZ_F_JOB_ROLE           0x0104
#define HZ_F_DELAY_TOLERANCE    0x0701  /* us */
#define HZ_F_MAX_PAUSE          0x0702  /* ms */
#define HZ_F_MAX_PAUSES_PER_H   0x0703
#define HZ_F_PAUSE_FATAL        0x0704  /* ms */
#define HZ_F_NET_MIN            0x0c01  /* bytes/s */
#define HZ_F_NET_MAX            0x0c02
#define HZ_F_NET_BURST          0x0c03  /* bytes */
#define HZ_F_NET_WEIGHT         0x0c04  /* u16 */
#define HZ_F_NOTICE_NEEDED      0x0f00  /* + kind: ms, 0x0f01 for pause … 0x0f0f for offer */
#define HZ_F_EXTEND_MAX         0x0f20  /* ms */
#define HZ_F_PRIORITY           0x1201
#define HZ_F_SUBSCRIBE_EVENTS   0x1301  /* mask: bit E */
#define HZ_F_SUBSCRIBE_GRAIN    0x1302

#define HZ_KIND_PAUSE            1
#define HZ_KIND_REBOOT           2
#define HZ_KIND_MOVE             3
#define HZ_KIND_RECLAIM          4
#define HZ_KIND_TERMINATE        5
#define HZ_KIND_RISK             6
#define HZ_KIND_MAINT_WINDOW     7
#define HZ_KIND_CAPACITY         8
#define HZ_KIND_RESOURCE_CHANGED 9
#define HZ_KIND_NET_STATE        10
#define HZ_KIND_HEALTH           11
#define HZ_KIND_ENERGY           12
#define HZ_KIND_CKPT             13
#define HZ_KIND_OFFER            15

/* E1 PAUSE */
#define HZ_N_PAUSE_MEASURED_NS   0x8101  /* STOP to RESUME, in the completed notice */
#define HZ_N_PAUSE_MEMORY_KEPT   0x8102
#define HZ_N_PAUSE_DEGRADED_MS   0x8103
/* E4 RECLAIM */
#define HZ_N_RECLAIM_ACTION      0x8401  /* enum stop, hibernate, terminate, shrink */
#define HZ_N_RECLAIM_SURVIVES    0x8402  /* mask memory, disk, net, gpu */
/* E9 RESOURCE_CHANGED */
#define HZ_N_CHANGED_NIC         0x8901  /* index of nic/N */
#define HZ_N_CHANGED_OLD         0x8902  /* bytes/s; 0: unlimited */
#define HZ_N_CHANGED_NEW         0x8903

#endif /* HZ_CORE_VOCABULARY_H */
