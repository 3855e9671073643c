/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz_liar: a virtio-hz device that lies, for testing the driver.
 *
 * It is a virtio transport of its own: config space, status and two split
 * rings, of which it plays the device's side in a work item. By itself it is
 * an honest little device; a name written to its parameter "lie" twists the
 * next answer or event, one written to "act" makes something happen now.
 */
#ifndef HZ_LIAR_H
#define HZ_LIAR_H

#include <linux/mutex.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_hz.h>
#include <linux/virtio_ring.h>
#include <linux/workqueue.h>

#define LIAR_QUEUE_SIZE	64
#define LIAR_ENTRIES	64

struct liar_queue {
	struct virtqueue *vq;
	struct vring ring;
	u16 last_avail;
};

struct liar_entry {
	u16 type;		/* 0: free */
	bool gone;
	u64 version;
	u64 seq;
	u8 key[VIRTIO_HZ_KEY_LEN];
};

struct liar_board {
	u64 disruption;
	u64 version;
	u64 status_version;
	u32 resets;
	u8 generation[VIRTIO_HZ_UUID_LEN];
	struct liar_entry entry[LIAR_ENTRIES];
};

/* A chain the driver made available: one buffer to read, one to write, either may be absent. */
struct liar_chain {
	u16 head;
	void *out;
	u32 out_len;
	void *in;
	u32 in_len;
};

struct liar {
	struct virtio_device vdev;
	struct mutex lock;	/* all of the below, but for resets */
	struct work_struct work;
	u8 status;
	u32 config_generation;
	struct virtio_hz_config config;
	u64 features;
	struct liar_queue queue[2];
	struct liar_board board;
	u64 bell;
	bool bell_full;		/* the bell starts over */
	bool silent;		/* requests are left lying */
	bool needs_reset_again;
	bool new_board;		/* a reset finds another device */
	char lie[32];		/* "" : none */
};

/* device.c */
bool liar_pop(struct liar *l, unsigned int q, struct liar_chain *c);
void liar_push(struct liar *l, unsigned int q, u32 id, u32 len);
void liar_interrupt(struct liar *l, unsigned int q);
void liar_serve(struct liar *l);

/* board.c */
void liar_board_init(struct liar_board *b, u64 disruption);
void liar_board_reset(struct liar_board *b);
void liar_board_disrupt(struct liar_board *b);
struct liar_entry *liar_board_set(struct liar_board *b, u16 type, const void *key);
struct liar_entry *liar_board_find(struct liar_board *b, u16 type, const void *key);
void liar_board_gone(struct liar_board *b, struct liar_entry *e);
u32 liar_record_status(const struct liar_board *b, u16 flags, void *buf);
u32 liar_record_entry(const struct liar_board *b, const struct liar_entry *e, void *buf);
struct liar_entry *liar_board_next(struct liar_board *b, u64 than);

/* lies.c */
void liar_answer(struct liar *l, const struct liar_chain *c);
void liar_ring(struct liar *l);
int liar_act(struct liar *l, const char *what);

#endif
