/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic look: what the kernel's traffic control has on a device, and whose it is. */
#ifndef HZ_VNIC_LOOK_H
#define HZ_VNIC_LOOK_H

#include "rtnl.h"
#include "shape.h"

/* One qdisc, as dumped. */
typedef struct {
    int ifindex;
    guint32 handle, parent;
    char kind[16];
    guint32 default_class;      /* htb */
    HzShape leaf;               /* of a kind hz_leaf_name() knows: the leaf's part of a shape */
} HzQdisc;

/* Every qdisc of every device: an array of HzQdisc. */
GArray *hz_qdiscs_get(HzRtnl *rtnl, GError **error);

/* Whose a root qdisc is. The kernel's own default has no handle. */
typedef enum {
    HZ_ROOT_DEFAULT,
    HZ_ROOT_OURS,               /* 687a:, of kind htb */
    HZ_ROOT_FOREIGN,
} HzRootOwner;

typedef struct {
    HzRootOwner owner;
    char foreign[48];           /* "tbf 8001:" */
    gboolean has_class, has_leaf;
    HzShape shape;              /* complete with both */
} HzQueue;

gboolean hz_queue_look(HzRtnl *rtnl, GArray *qdiscs, int ifindex, HzQueue *queue, GError **error);

typedef struct {
    char kind[16];              /* "ingress", "clsact"; empty: none */
    gboolean marked;            /* our filter is there */
    int redirect;               /* its target; 0: that device is gone */
    guint others;               /* filters that aren't ours */
} HzIngress;

gboolean hz_ingress_look(HzRtnl *rtnl, GArray *qdiscs, int ifindex, HzIngress *ingress,
                         GError **error);

/* Counters of our class. */
typedef struct {
    guint64 bytes, packets, drops, backlog;
} HzQueueStats;

gboolean hz_queue_stats(HzRtnl *rtnl, int ifindex, HzQueueStats *stats, GError **error);

#endif /* HZ_VNIC_LOOK_H */
