/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio_hz: what the parts of the driver share.
 *
 * Theory of operation
 * -------------------
 * The device holds a board: one status entry, the guest's declarations, the
 * provider's notices. The driver keeps a mirror of it and lets any number of
 * open files read the mirror, each with a cursor of its own. It knows frames,
 * keys and versions, never what a document means.
 *
 * The mirror is only a cache. Whatever goes wrong with one event (a small
 * buffer, no memory, a jump of the disruption) ends in a READ, which compares
 * versions and so can be repeated, overtaken or interleaved at will. Entries
 * live in a table of fixed size: nothing here grows with what a device or a
 * program does.
 *
 * A request is a message with two holders, the waiter and the queue. A waiter
 * that is killed lets go; the message lives on until the device returns it or
 * is reset. What a request means for the ownership of its subject is settled
 * when it completes, never by the waiter, which may be gone.
 *
 * One spinlock guards queues, mirror, subjects and state. It is taken in the
 * queue callbacks, so that a notice reaches its reader without a detour
 * through a work item; readings of the whole board are parsed in a work item.
 *
 * The object outlives the device: files hold a reference, and what they do
 * after the device has gone ends in ENODEV.
 */
#ifndef VIRTIO_HZ_DRIVER_H
#define VIRTIO_HZ_DRIVER_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/virtio_hz.h>

/* No record a device may send is longer: head and body fit HZ_RECORD_MAX for the reader. */
#define HZ_BODY_MAX	(HZ_RECORD_MAX - sizeof(struct hz_record))
#define HZ_EVENT_BUFS	16
#define HZ_EVENT_SIZE	VIRTIO_HZ_MAX_FRAME
#define HZ_TOMBSTONES	64
#define HZ_ENTRIES	(1 + VIRTIO_HZ_MAX_DECLARATIONS + VIRTIO_HZ_MAX_NOTICES + HZ_TOMBSTONES)
#define HZ_RESET_TRIES	3		/* that follow each other within ... */
#define HZ_RESET_PERIOD	(10 * HZ)

struct hz_dev;
struct hz_file;
struct hz_subject;

/* -- messages (queue.c) -------------------------------------------------- */

struct hz_msg {
	struct list_head node;		/* waiting for room, or with the device */
	refcount_t ref;
	bool finished;			/* released last: then the rest may be read */
	int err;
	u64 stamp;			/* CLOCK_BOOTTIME at completion */
	u64 cookie;
	void *req;			/* both kmalloc'ed: the device reads and writes them */
	void *rsp;
	u32 req_len;
	u32 rsp_cap;
	u32 used;			/* bytes the device says it wrote */
	struct virtio_hz_response answer;	/* our copy of the response's head */
	void (*end)(struct hz_dev *hz, struct hz_msg *msg);	/* at completion, locked */
	struct hz_subject *subject;
	bool persist;
};

struct hz_msg *hz_msg_new(u16 type, u32 req_len, u32 rsp_cap);
void hz_msg_put(struct hz_msg *msg);
void hz_msg_send(struct hz_dev *hz, struct hz_msg *msg);
int hz_msg_call(struct hz_dev *hz, struct hz_msg *msg);
int hz_wait_up(struct hz_dev *hz);
int hz_queues_up(struct hz_dev *hz);
void hz_queues_down(struct hz_dev *hz, int err);
bool hz_mirror_behind(struct hz_dev *hz, u64 disruption, u64 version);
int hz_events_alloc(struct hz_dev *hz);
void hz_events_free(struct hz_dev *hz);
void hz_event_work(struct work_struct *work);

/* -- the mirror (mirror.c) ----------------------------------------------- */

struct hz_body {
	refcount_t ref;
	u32 len;
	u8 data[];
};

/* A record as it came, in our own memory. */
struct hz_news {
	u16 type;			/* 0: one we don't know, to be skipped */
	u16 flags;
	u64 disruption;
	u64 version;
	u64 stamp;
	u8 key[VIRTIO_HZ_KEY_LEN];
	struct hz_body *body;
};

struct hz_entry {
	u16 type;			/* 0: free */
	bool gone;
	u32 incarnation;		/* of the device, when it came */
	u32 reading;			/* newest reading that told it */
	u64 seq;			/* the mirror's own: what cursors count */
	u64 disruption;
	u64 version;
	u64 stamp;
	u8 key[VIRTIO_HZ_KEY_LEN];
	struct hz_body *body;
};

struct hz_mirror {
	struct hz_entry entry[HZ_ENTRIES];	/* [0] is STATUS */
	u64 seq;
	u64 evicted;			/* newest tombstone that was given up */
	u32 incarnation;		/* counts re-initialisations of the device */
	u32 reading;			/* counts readings */
	bool synced;			/* a whole reading since the last one */
	u64 disruption;
	u64 version;
	u16 status;
	u8 generation[VIRTIO_HZ_UUID_LEN];
};

/* A record picked for a reader: what was there at that moment. */
struct hz_pick {
	struct hz_record head;
	struct hz_body *body;		/* held; may be NULL */
	u64 seq;
	u64 start;
	u32 incarnation;
	bool full;
};

/* Where one reader stands. */
struct hz_cursor {
	bool full;			/* starts (again) with the whole board */
	u64 seq;			/* of the newest entry but STATUS it has read */
	u64 start;			/* mirror's seq when the whole board began */
	u64 status;			/* seq of the STATUS it has read */
	u64 disruption;			/* likewise */
	u32 incarnation;
};

int hz_news_take(const void *from, size_t avail, gfp_t gfp, struct hz_news *n);
int hz_mirror_apply(struct hz_dev *hz, struct hz_news *n);
int hz_mirror_sweep(struct hz_dev *hz, u64 disruption, u64 version);
struct hz_entry *hz_mirror_find(struct hz_dev *hz, u16 type, const u8 *key);
bool hz_mirror_news(struct hz_dev *hz, struct hz_cursor *c);
bool hz_mirror_pick(struct hz_dev *hz, struct hz_cursor *c, struct hz_pick *pick);
void hz_mirror_told(struct hz_cursor *c, const struct hz_pick *pick);
unsigned int hz_mirror_declarations(struct hz_dev *hz);
void hz_mirror_restart(struct hz_dev *hz);
void hz_mirror_free(struct hz_dev *hz);
void hz_body_put(struct hz_body *body);

static inline bool hz_newer(u64 disruption, u64 version, u64 than_disruption, u64 than_version)
{
	return disruption != than_disruption ? disruption > than_disruption :
					       version > than_version;
}

/* -- reading the whole board (reading.c) --------------------------------- */

struct hz_reading {
	struct hz_msg *msg;
	struct work_struct work;
	bool busy;			/* from the first READ to the last answer */
	bool arrived;			/* an answer waits for the work item */
	bool full;			/* started over: what it doesn't tell is no more */
	u64 wanted;			/* tickets: asked for, begun, ended */
	u64 begun;
	u64 ended;
	u64 disruption;			/* read on from here */
	u64 since;
	u64 floor;
};

void hz_reading_want(struct hz_dev *hz);
void hz_reading_restart(struct hz_dev *hz);
void hz_reading_work(struct work_struct *work);

/* -- subjects and who owns them (subjects.c) ----------------------------- */

struct hz_subject {
	u8 key[VIRTIO_HZ_KEY_LEN];	/* key[0] == 0: free */
	bool busy;			/* one request about it is under way */
	bool standing;			/* the device has it */
	bool persist;			/* and keeps it when its owner closes */
	struct hz_file *owner;
	struct hz_file *asker;		/* whose request is under way; NULL once closed */
	u64 disruption;			/* of the newest answer */
	u64 version;
	struct hz_msg *bye;		/* made beforehand: closing a file can't fail */
};

int hz_subjects_alloc(struct hz_dev *hz);
void hz_subjects_free(struct hz_dev *hz);
struct hz_subject *hz_subject_begin(struct hz_dev *hz, struct hz_file *f, const u8 *key);
void hz_subject_declared(struct hz_dev *hz, struct hz_msg *msg);
void hz_subject_withdrawn(struct hz_dev *hz, struct hz_msg *msg);
void hz_subject_gone(struct hz_dev *hz, const u8 *key);
bool hz_subject_busy(struct hz_dev *hz, const u8 *key);
void hz_subjects_close(struct hz_dev *hz, struct hz_file *f);
void hz_subjects_reset(struct hz_dev *hz);

/* -- the device ---------------------------------------------------------- */

struct hz_limits {
	u16 version;			/* the wire version both speak */
	u16 declarations;
	u16 notices;
	u16 doc;
};

struct hz_dev {
	struct kref ref;
	struct virtio_device *vdev;	/* don't touch once gone */
	struct miscdevice misc;
	spinlock_t lock;		/* everything below */

	bool up;			/* queues work */
	bool hold;			/* suspended or going: don't look at config */
	bool gone;			/* ENODEV from here on */
	bool broken;			/* EIO until a reset */
	unsigned int resets;		/* that the device asked for, in quick succession */
	unsigned long reset_at;		/* the newest, in jiffies */

	struct virtqueue *request;
	struct virtqueue *event;
	void *event_buf[HZ_EVENT_BUFS];
	struct list_head backlog;	/* messages that wait for room */
	struct list_head inflight;
	u64 cookie;

	struct hz_limits limits;
	struct hz_mirror mirror;
	struct hz_reading reading;
	struct hz_subject subject[VIRTIO_HZ_MAX_DECLARATIONS];
	struct hz_file *responder;
	pid_t responder_pid;

	wait_queue_head_t news;		/* readers */
	wait_queue_head_t settled;	/* requests: state, subjects, readings */
	struct work_struct config_work;
	struct work_struct event_work;
};

void hz_dev_put(struct hz_dev *hz);
void hz_break(struct hz_dev *hz, const char *why);
void hz_wake(struct hz_dev *hz);
int hz_state(const struct hz_dev *hz);

/* -- /dev/hz and sysfs (chardev.c, sysfs.c) ------------------------------ */

extern const struct file_operations hz_fops;
extern const struct attribute_group *hz_groups[];

#endif /* VIRTIO_HZ_DRIVER_H */
