/* SPDX-License-Identifier: BSD-3-Clause OR (GPL-2.0 WITH Linux-syscall-note) */
/*
 * virtio-hz: what crosses the boundary between guest and device, and between
 * the guest's kernel and its programs. The normative text is docs/virtio-hz.md.
 *
 * Everything in part 1 is little-endian and has no holes; every "reserved" is
 * written as zero and refused when it is not. Part 2 is the /dev/hz interface:
 * native byte order, 64-bit aligned, the same for 32- and 64-bit programs.
 */
#ifndef _UAPI_LINUX_VIRTIO_HZ_H
#define _UAPI_LINUX_VIRTIO_HZ_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* ------------------------------------------------------------------------
 * Part 1: the device
 */

/* Provisional: not assigned by OASIS. The magic in config space tells. */
#define VIRTIO_ID_HZ			60

#define VIRTIO_HZ_MAGIC			0x315a4856	/* "VHZ1" */
#define VIRTIO_HZ_VERSION		1	/* newest wire version */
#define VIRTIO_HZ_VERSION_MIN		1	/* oldest still spoken */

/* Virtqueues */
#define VIRTIO_HZ_VQ_REQUEST		0	/* driver out: request, in: response */
#define VIRTIO_HZ_VQ_EVENT		1	/* driver in: one record a buffer */

/* Ceilings of protocol version 1. A device may be configured lower. */
#define VIRTIO_HZ_MAX_DECLARATIONS	16
#define VIRTIO_HZ_MAX_NOTICES		32
#define VIRTIO_HZ_MAX_DOC		1024	/* bytes in a document */
#define VIRTIO_HZ_MAX_REPLY_DOC		256	/* bytes in a reply's document */
#define VIRTIO_HZ_MAX_FIELDS		64	/* fields in a document */
#define VIRTIO_HZ_KEY_LEN		32	/* bytes in a subject, or a notice's key */
#define VIRTIO_HZ_UUID_LEN		16
#define VIRTIO_HZ_MAX_FRAME		4096	/* bytes in any one frame but a READ response */
#define VIRTIO_HZ_MAX_RESPONSE		16384	/* bytes a device writes into one READ response */

struct virtio_hz_config {
	__le32 magic;			/* VIRTIO_HZ_MAGIC */
	__le16 version;			/* newest wire version the device speaks */
	__le16 version_min;		/* oldest */
	__le16 max_declarations;
	__le16 max_notices;
	__le16 max_doc;			/* bytes */
	__le16 status;			/* VIRTIO_HZ_S_* */
	__le64 disruption;		/* from 1; +1 at every load of state */
	__u8 generation[VIRTIO_HZ_UUID_LEN];	/* RFC 4122 byte order */
};

#define VIRTIO_HZ_S_PROVIDER		(1 << 0)	/* a provider is listening */

/*
 * Every message, on a virtqueue or on a link, is a frame that starts so.
 * @len counts the header. @cookie is the sender's; an answer carries it back.
 */
struct virtio_hz_hdr {
	__le32 len;
	__le16 type;			/* VIRTIO_HZ_T_*, VIRTIO_HZ_R_* or a link's type */
	__le16 flags;
	__le64 cookie;
};

/* Requests. The response's type is the request's with VIRTIO_HZ_T_RESPONSE. */
#define VIRTIO_HZ_T_DECLARE		0x0001
#define VIRTIO_HZ_T_WITHDRAW		0x0002
#define VIRTIO_HZ_T_REPLY		0x0003
#define VIRTIO_HZ_T_READ		0x0004
#define VIRTIO_HZ_T_RESPONSE		0x8000

/*
 * A document: fields back to back, each this head, @len bytes of value and
 * zero bytes up to a multiple of four. Ids ascend strictly: a field stands
 * once. The meaning of ids is the vocabulary's; the device and the kernel
 * driver know only this framing.
 */
struct virtio_hz_field {
	__le16 id;
	__le16 len;
};

/* Replace the whole document of one subject. */
struct virtio_hz_declare {
	struct virtio_hz_hdr hdr;
	__u8 subject[VIRTIO_HZ_KEY_LEN];	/* [a-z0-9._/-]+, zero padded, at least one zero */
	__le64 replaces;		/* sequence it replaces, or VIRTIO_HZ_SEQ_* */
	__le16 doc_len;
	__le16 reserved0;
	__le32 reserved1;
	/* __u8 doc[doc_len]; */
};

#define VIRTIO_HZ_SEQ_ANY		0ULL	/* whatever stands there */
#define VIRTIO_HZ_SEQ_NEW		(~0ULL)	/* nothing may stand there */

struct virtio_hz_withdraw {
	struct virtio_hz_hdr hdr;
	__u8 subject[VIRTIO_HZ_KEY_LEN];
	__le64 replaces;
};

struct virtio_hz_reply {
	struct virtio_hz_hdr hdr;
	__u8 id[VIRTIO_HZ_UUID_LEN];	/* the notice's */
	__u8 generation[VIRTIO_HZ_UUID_LEN];	/* as the replier last read it */
	__le32 revision;		/* the notice's, as last read */
	__le16 code;			/* VIRTIO_HZ_REPLY_* */
	__le16 doc_len;
	__le64 arg;			/* EXTEND, DEFER: ns from now; FAILED: the code; else 0 */
	/* __u8 doc[doc_len]; COUNTER only */
};

#define VIRTIO_HZ_REPLY_NONE		0
#define VIRTIO_HZ_REPLY_SEEN		1
#define VIRTIO_HZ_REPLY_PREPARED	2
#define VIRTIO_HZ_REPLY_EXTEND		3
#define VIRTIO_HZ_REPLY_DEFER		4
#define VIRTIO_HZ_REPLY_ACCEPT		5
#define VIRTIO_HZ_REPLY_COUNTER		6
#define VIRTIO_HZ_REPLY_DECLINE		7
#define VIRTIO_HZ_REPLY_FAILED		8
#define VIRTIO_HZ_REPLY_MAX		8

/*
 * Read every entry newer than a cursor, oldest change first. The cursor is
 * what the last response gave; zeros: from nothing. Versions compare only
 * within one disruption, and @floor says which withdrawals the reader can't
 * have missed: with another disruption than the device's, or when the device
 * has forgotten a withdrawal the reader may not know of, the reading starts
 * over, with a STATUS record that says VIRTIO_HZ_REC_FULL.
 */
struct virtio_hz_read {
	struct virtio_hz_hdr hdr;
	__le64 disruption;
	__le64 since;			/* a version */
	__le64 floor;
};

struct virtio_hz_response {
	struct virtio_hz_hdr hdr;	/* READ: flags VIRTIO_HZ_RSP_* */
	__le32 status;			/* VIRTIO_HZ_OK or why not */
	__le32 count;			/* READ: records that follow */
	__le64 disruption;
	__le64 version;			/* the board's; READ: the cursor to read on from */
	__le64 floor;			/* READ: likewise; else 0 */
	__le64 seq;			/* DECLARE: the declaration's sequence now; else 0 */
	/* READ: records, each a multiple of eight bytes */
};

#define VIRTIO_HZ_RSP_MORE		(1 << 0)	/* there is more: read on */

#define VIRTIO_HZ_OK			0
#define VIRTIO_HZ_E_INVAL		1	/* a length, a name or a reserved field is wrong */
#define VIRTIO_HZ_E_UNSUPP		2	/* unknown request, flag or reply code */
#define VIRTIO_HZ_E_TOOBIG		3	/* document over max_doc or too many fields */
#define VIRTIO_HZ_E_NOSPC		4	/* the table is full */
#define VIRTIO_HZ_E_STALE		5	/* @replaces is not what stands there */
#define VIRTIO_HZ_E_NOENT		6	/* no such subject or notice */
#define VIRTIO_HZ_E_VOID		7	/* another revision or generation, or a closed notice */
#define VIRTIO_HZ_E_SMALL		8	/* the in-buffer holds no record */

/*
 * A record: one entry of the board as it is now. @key names the entry within
 * its type, so that whoever keeps a copy replaces the older one without
 * knowing what it means. Padded with zeros to a multiple of eight bytes.
 */
struct virtio_hz_record {
	struct virtio_hz_hdr hdr;	/* type VIRTIO_HZ_R_*, flags VIRTIO_HZ_REC_* */
	__le64 disruption;
	__le64 version;
	__u8 key[VIRTIO_HZ_KEY_LEN];	/* STATUS: zero; DECLARATION: subject; NOTICE: id, zero padded */
	/* body by type: none when GONE or TRUNCATED */
};

#define VIRTIO_HZ_R_STATUS		0x0201
#define VIRTIO_HZ_R_DECLARATION		0x0202
#define VIRTIO_HZ_R_NOTICE		0x0203

#define VIRTIO_HZ_REC_GONE		(1 << 0)	/* the entry is no more */
#define VIRTIO_HZ_REC_TRUNCATED		(1 << 1)	/* the buffer was small: READ it */
#define VIRTIO_HZ_REC_FULL		(1 << 2)	/* STATUS: the whole board follows, forget the rest */

/* Body of STATUS: counters, so that a missed one is still seen. */
struct virtio_hz_status {
	__u8 generation[VIRTIO_HZ_UUID_LEN];
	__le32 resets;			/* times the declarations were emptied: re-declare */
	__le16 status;			/* VIRTIO_HZ_S_* */
	__le16 reason;			/* of the newest disruption or generation */
	__le64 pause_ns;		/* how long it stood still, VIRTIO_HZ_NS_UNKNOWN if not known */
};

#define VIRTIO_HZ_WHY_NONE		0
#define VIRTIO_HZ_WHY_UNKNOWN		1
#define VIRTIO_HZ_WHY_MIGRATE		2
#define VIRTIO_HZ_WHY_RESTORE		3
#define VIRTIO_HZ_WHY_CLONE		4
#define VIRTIO_HZ_WHY_PAUSE		5

/* Body of DECLARATION: the document, and the provider's column beside it. */
struct virtio_hz_declaration {
	__le64 seq;			/* of this declaration */
	__le64 verdict_seq;		/* of the declaration the verdicts are for; 0: none yet */
	__le16 doc_len;
	__le16 verdicts;		/* entries */
	__le32 reserved;
	/* __u8 doc[doc_len], zero padded to eight; struct virtio_hz_verdict[verdicts] */
};

struct virtio_hz_verdict {
	__le16 field;
	__u8 code;			/* VIRTIO_HZ_VERDICT_* */
	__u8 reason;			/* VIRTIO_HZ_REASON_* */
	__le32 reserved;
	__le64 value;			/* CLAMPED: the value in force; else 0 */
};

#define VIRTIO_HZ_VERDICT_PENDING	0
#define VIRTIO_HZ_VERDICT_ACCEPTED	1	/* a running consumer acts on it */
#define VIRTIO_HZ_VERDICT_CLAMPED	2
#define VIRTIO_HZ_VERDICT_REJECTED	3
#define VIRTIO_HZ_VERDICT_UNSUPPORTED	4
#define VIRTIO_HZ_VERDICT_RECORDED	5	/* valid, and nothing here uses it */
#define VIRTIO_HZ_VERDICT_MAX		5

#define VIRTIO_HZ_REASON_NONE		0
#define VIRTIO_HZ_REASON_BOUNDS		1	/* outside the field's own bounds or type */
#define VIRTIO_HZ_REASON_ENTITLEMENT	2	/* above what the operator lets this VM have */
#define VIRTIO_HZ_REASON_CONTENTION	3	/* others' minimums or priority */
#define VIRTIO_HZ_REASON_DATAPATH	4	/* this NIC can't be shaped */
#define VIRTIO_HZ_REASON_SUBJECT	5	/* the field doesn't belong to this subject, or no such subject */
#define VIRTIO_HZ_REASON_MODE		6	/* the provider only observes */
#define VIRTIO_HZ_REASON_UNKNOWN_FIELD	7
#define VIRTIO_HZ_REASON_CONFLICT	8	/* contradicts another field (min above max) */
#define VIRTIO_HZ_REASON_UNAVAILABLE	9	/* the actuator isn't running or failed */
#define VIRTIO_HZ_REASON_MAX		9

/*
 * Body of NOTICE: the envelope, the reply column, the payload document.
 * Times are nanoseconds remaining when this record was written, never wall
 * time: VIRTIO_HZ_NS_UNKNOWN, VIRTIO_HZ_NS_NONE, or at least 1 (1: now or past).
 */
struct virtio_hz_notice {
	__u8 id[VIRTIO_HZ_UUID_LEN];	/* stable for life */
	__u8 cause_id[VIRTIO_HZ_UUID_LEN];	/* one cause, one id, across kinds */
	__u8 scope_id[VIRTIO_HZ_UUID_LEN];	/* opaque, zero for the VM itself */
	__le16 kind;			/* 1 PAUSE … 15 OFFER: the vocabulary's E numbers */
	__u8 state;			/* VIRTIO_HZ_STATE_* */
	__u8 ack;			/* VIRTIO_HZ_ACK_* */
	__le32 revision;		/* from 1 */
	__le64 not_before_ns;
	__le64 deadline_ns;
	__le64 duration_ns;		/* a length, not a point in time */
	__u8 scope;			/* VIRTIO_HZ_SCOPE_* */
	__u8 source;			/* VIRTIO_HZ_SOURCE_* */
	__u8 granularity;		/* 0..3 */
	__u8 flags;			/* VIRTIO_HZ_NOTICE_* */
	__le16 confidence;		/* permille */
	__le16 cause;			/* VIRTIO_HZ_CAUSE_* */
	/* the guest's answer, echoed */
	__le32 replied;			/* bit 1 << VIRTIO_HZ_REPLY_x: given to this revision */
	__le16 reply;			/* the newest */
	__le16 reply_doc_len;
	__le64 reply_arg;
	__le16 doc_len;
	__le16 reserved0;
	__le32 reserved1;
	/* __u8 doc[doc_len], zero padded to eight; __u8 reply_doc[reply_doc_len] */
};

#define VIRTIO_HZ_NS_UNKNOWN		(~0ULL)	/* -1 */
#define VIRTIO_HZ_NS_NONE		0ULL

#define VIRTIO_HZ_STATE_ADVISED		0
#define VIRTIO_HZ_STATE_SCHEDULED	1
#define VIRTIO_HZ_STATE_STARTED		2
#define VIRTIO_HZ_STATE_COMPLETED	3	/* this and above: closed */
#define VIRTIO_HZ_STATE_CANCELLED	4
#define VIRTIO_HZ_STATE_SUPERSEDED	5
#define VIRTIO_HZ_STATE_MAX		5

#define VIRTIO_HZ_ACK_NONE		0
#define VIRTIO_HZ_ACK_NOTIFY		1	/* a reply is welcome */
#define VIRTIO_HZ_ACK_GATE		2	/* PREPARED starts it early; the deadline starts it anyway */
#define VIRTIO_HZ_ACK_NEGOTIATE		3	/* ACCEPT, COUNTER, DECLINE count */
#define VIRTIO_HZ_ACK_MAX		3

#define VIRTIO_HZ_SCOPE_VM		0
#define VIRTIO_HZ_SCOPE_JOB		1
#define VIRTIO_HZ_SCOPE_DEVICE		2
#define VIRTIO_HZ_SCOPE_LINK		3
#define VIRTIO_HZ_SCOPE_GROUP		4
#define VIRTIO_HZ_SCOPE_MAX		4

#define VIRTIO_HZ_SOURCE_PLATFORM	0
#define VIRTIO_HZ_SOURCE_USER		1
#define VIRTIO_HZ_SOURCE_PEER		2
#define VIRTIO_HZ_SOURCE_MAX		2

#define VIRTIO_HZ_CAUSE_NONE		0
#define VIRTIO_HZ_CAUSE_MAINTENANCE	1
#define VIRTIO_HZ_CAUSE_CAPACITY	2
#define VIRTIO_HZ_CAUSE_FAILURE		3
#define VIRTIO_HZ_CAUSE_CHECKPOINT	4
#define VIRTIO_HZ_CAUSE_REBALANCE	5
#define VIRTIO_HZ_CAUSE_OPERATOR	6
#define VIRTIO_HZ_CAUSE_GENERATION	7	/* closed by the device: a new generation */
#define VIRTIO_HZ_CAUSE_EXPIRED		8
#define VIRTIO_HZ_CAUSE_DECLINED	9
#define VIRTIO_HZ_CAUSE_FAILED		10
#define VIRTIO_HZ_CAUSE_MAX		10

#define VIRTIO_HZ_NOTICE_TEST		(1 << 0)	/* synthetic: proves the path, means nothing */
#define VIRTIO_HZ_NOTICE_LAPSED		(1 << 1)	/* an extension ran out without PREPARED */
#define VIRTIO_HZ_NOTICE_FLAGS		(VIRTIO_HZ_NOTICE_TEST | VIRTIO_HZ_NOTICE_LAPSED)

/* ------------------------------------------------------------------------
 * Part 2: /dev/hz
 *
 * read() returns whole records, oldest change first, never half of one;
 * EMSGSIZE when the buffer is smaller than the next (HZ_RECORD_MAX always
 * holds one). Each open file has its own cursor and starts with the whole
 * board: STATUS first, with VIRTIO_HZ_REC_FULL; a reader that lags so far
 * behind that withdrawals were forgotten starts over the same way. A reader
 * never gets half a board, nor TRUNCATED. poll(): EPOLLIN when a record waits,
 * EPOLLERR when only a reset helps (EIO), EPOLLHUP when the device is gone,
 * after which read() and ioctl() say ENODEV.
 */
struct hz_record {
	__u32 size;			/* to the next record: head and body, padded to eight */
	__u16 head;			/* bytes of this head: the body starts here */
	__u16 type;			/* VIRTIO_HZ_R_* */
	__u32 flags;			/* VIRTIO_HZ_REC_* */
	__u32 body;			/* bytes of body, as the device wrote it (little-endian) */
	__u64 disruption;
	__u64 version;
	__u64 boottime_ns;		/* CLOCK_BOOTTIME when it came: remaining times count from here */
	__u8 key[VIRTIO_HZ_KEY_LEN];
};

#define HZ_RECORD_MAX			4096

struct hz_info {
	__u32 size;			/* in: sizeof(struct hz_info) as compiled; out: filled */
	__u16 version;			/* wire version in use */
	__u16 status;			/* VIRTIO_HZ_S_* */
	__u16 max_declarations;
	__u16 max_notices;
	__u16 max_doc;
	__u16 flags;			/* HZ_INFO_* */
	__u64 disruption;
	__u8 generation[VIRTIO_HZ_UUID_LEN];
	__u64 board_version;
};

#define HZ_INFO_RESPONDER		(1 << 0)	/* this file is the responder */
#define HZ_INFO_RESPONDER_TAKEN		(1 << 1)	/* some file is */

struct hz_declare {
	__u32 size;			/* in: sizeof(struct hz_declare) */
	__u32 flags;			/* HZ_DECLARE_* */
	__u8 subject[VIRTIO_HZ_KEY_LEN];
	__u64 seq;			/* in: what it replaces, or VIRTIO_HZ_SEQ_*; out: its sequence */
	__u64 doc;			/* pointer to the document */
	__u32 doc_len;			/* bytes */
	__u32 reserved;
};

/*
 * A declaration belongs to the open file that made it (EBUSY for another) and
 * is withdrawn when that is closed. With PERSIST it stays, belongs to nobody
 * then, and whoever declares or withdraws the subject next takes it over.
 */
#define HZ_DECLARE_PERSIST		(1 << 0)

struct hz_reply {
	__u32 size;			/* in: sizeof(struct hz_reply) */
	__u16 code;			/* VIRTIO_HZ_REPLY_* */
	__u16 doc_len;
	__u8 id[VIRTIO_HZ_UUID_LEN];
	__u8 generation[VIRTIO_HZ_UUID_LEN];
	__u32 revision;
	__u32 reserved;
	__u64 arg;
	__u64 doc;			/* pointer; COUNTER only */
};

/*
 * Errors: EINVAL E_INVAL, EOPNOTSUPP E_UNSUPP, EMSGSIZE E_TOOBIG, ENOSPC
 * E_NOSPC, ESTALE E_STALE, ENOENT E_NOENT, ECANCELED E_VOID; EBUSY another
 * file owns the subject, or is the responder; EPERM REPLY without the claim;
 * EAGAIN the device was reset under the request, which did nothing: again;
 * ENODEV the device is gone; EIO it broke the protocol and needs a reset.
 */
#define HZ_IOC_MAGIC			0xD7
#define HZ_IOC_INFO			_IOWR(HZ_IOC_MAGIC, 0, struct hz_info)
#define HZ_IOC_DECLARE			_IOWR(HZ_IOC_MAGIC, 1, struct hz_declare)
#define HZ_IOC_WITHDRAW			_IOWR(HZ_IOC_MAGIC, 2, struct hz_declare)
#define HZ_IOC_REPLY			_IOW(HZ_IOC_MAGIC, 3, struct hz_reply)
#define HZ_IOC_CLAIM			_IO(HZ_IOC_MAGIC, 4)	/* become the responder */
#define HZ_IOC_UNCLAIM			_IO(HZ_IOC_MAGIC, 5)
#define HZ_IOC_REWIND			_IO(HZ_IOC_MAGIC, 6)	/* read the whole board again */

#endif /* _UAPI_LINUX_VIRTIO_HZ_H */
