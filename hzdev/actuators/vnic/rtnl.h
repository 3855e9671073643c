/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic rtnl: rtnetlink requests, batches, dumps and notifications on libmnl.
 *
 * A batch goes to the kernel in one sendmsg(): the kernel works it off inside
 * that call, so what belongs together is never left half done by a kill, and
 * the gap between two steps is microseconds. A request that fails doesn't keep
 * the later ones from being tried; the first failure is the batch's error, in
 * the kernel's own words (extended acknowledgement).
 */
#ifndef HZ_VNIC_RTNL_H
#define HZ_VNIC_RTNL_H

#include <glib.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

/* The code of a GError in this domain is the errno the kernel answered. */
#define HZ_RTNL_ERROR (hz_rtnl_error_quark())
GQuark hz_rtnl_error_quark(void);

typedef struct HzRtnl HzRtnl;

HzRtnl *hz_rtnl_open(GError **error);
void hz_rtnl_close(HzRtnl *rtnl);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzRtnl, hz_rtnl_close)

typedef struct HzBatch HzBatch;

HzBatch *hz_batch_new(HzRtnl *rtnl);
void hz_batch_free(HzBatch *batch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzBatch, hz_batch_free)

/*
 * Start the next request; fill it with mnl_nlmsg_put_extra_header() and
 * mnl_attr_put*(). @what names it in an error. The pointer is good until the
 * next call on the batch.
 */
struct nlmsghdr *hz_batch_add(HzBatch *batch, guint16 type, guint16 flags,
                              const char *what, ...) G_GNUC_PRINTF(4, 5);
/* An answer of @err (an errno) to the request added last is as good as success. */
void hz_batch_tolerate(HzBatch *batch, int err);
/* Send, wait for every answer. The batch is empty afterwards, whatever came of it. */
gboolean hz_batch_commit(HzBatch *batch, GError **error);

typedef void (*HzRtnlFunc)(const struct nlmsghdr *nlh, gpointer opaque);

/* @request (from hz_rtnl_request()) with its answers given to @func one by one; not for batches. */
struct nlmsghdr *hz_rtnl_request(HzRtnl *rtnl, guint16 type, guint16 flags);
gboolean hz_rtnl_query(HzRtnl *rtnl, struct nlmsghdr *request, const char *what,
                       HzRtnlFunc func, gpointer opaque, GError **error);

/* Notifications of links and traffic control, but for those that @rtnl's own requests cause. */
typedef struct HzMonitor HzMonitor;

typedef struct {
    void (*message)(const struct nlmsghdr *nlh, gpointer opaque);
    /* Some were lost (the kernel's queue was full): look at everything again. */
    void (*lost)(gpointer opaque);
} HzMonitorOps;

HzMonitor *hz_monitor_open(HzRtnl *rtnl, const HzMonitorOps *ops, gpointer opaque,
                           GError **error);
void hz_monitor_close(HzMonitor *monitor);
/* Hand over what has come by now instead of waiting for the main loop. */
void hz_monitor_drain(HzMonitor *monitor);

#endif /* HZ_VNIC_RTNL_H */
