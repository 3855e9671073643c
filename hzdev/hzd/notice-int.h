/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd notices: the inside, shared by the notice-*.c files. */
#ifndef HZ_HZD_NOTICE_INT_H
#define HZ_HZD_NOTICE_INT_H

#include "notices.h"
#include "vm.h"

/* So long a closed one stays readable, here and (while there is room) on the board. */
#define HZ_NOTICE_KEEP (600 * HZ_SEC)
#define HZ_NOTICE_CLOSED_MAX 64         /* of these a VM, remembered here */

/* notice-life.c */
HzNotice *hz_notice_new(HzVm *vm, const uint8_t id[VIRTIO_HZ_UUID_LEN]);
HzNotice *hz_notice_find(const HzVm *vm, const uint8_t id[VIRTIO_HZ_UUID_LEN]);
/* Bring one event: acts, marks, tells; -errno of hz_life_step(), *@why its clause. */
int hz_notice_step(HzNotice *notice, const struct hz_life_input *in, const char **why);
/* Its times or state changed from outside: set its timer and mark it. */
void hz_notice_touch(HzNotice *notice);
void hz_notice_set_timer(HzNotice *notice);
void hz_notice_say(HzNotice *notice, const char *why);
/* By how much a guest may extend such a notice. */
uint64_t hz_notice_extend_limit(const HzVm *vm);
/* Forget the oldest closed ones above the limit, and take them off the board before it is full. */
void hz_notices_trim(HzVm *vm);
unsigned hz_notices_open(const HzVm *vm);

/* notice-select.c: the VMs a caller means. NULL on error. Free the container. */
GPtrArray *hz_notice_select(HzHost *host, const HzNotifySpec *spec, GError **error);
/* Ids as this VM's tenant sees them. */
void hz_notice_id(const HzVm *vm, const char *key, uint8_t id[VIRTIO_HZ_UUID_LEN]);
void hz_notice_cause_id(const HzVm *vm, const char *key, uint8_t id[VIRTIO_HZ_UUID_LEN]);

/* notice-store.c: write soon, or (an unlinked VM, an act) at once. */
void hz_notices_save_soon(HzHost *host);
/* One found on a board: what a board doesn't know of it, should it have been written. */
void hz_notice_recall(HzNotice *notice);
/* Before a caller is told that it stands: on disk, when no board can remember it. */
gboolean hz_notice_keep(const HzNotice *notice, GError **error);

static inline gboolean hz_notice_closed(const HzNotice *notice)
{
    return hz_state_closed(notice->life.state);
}

#endif /* HZ_HZD_NOTICE_INT_H */
