/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic tc: one rate-limited queue as requests to the kernel's traffic control.
 *
 * A queue is an HTB root 687a: with the one class 687a:1 that everything
 * falls into, and a leaf 687b: under it. HTB and not TBF, because its class
 * changes in place: nothing queued is lost, no moment is unshaped. Both
 * handles are fixed: they are how a restarted hz-vnic knows its own.
 */
#ifndef HZ_VNIC_TC_H
#define HZ_VNIC_TC_H

#include "link.h"
#include "shape.h"

#define HZ_TC_ROOT   ((guint32)HZ_MARK << 16)       /* 687a: */
#define HZ_TC_CLASS  (HZ_TC_ROOT | 1)               /* 687a:1 */
#define HZ_TC_LEAF   (HZ_TC_ROOT + 0x10000)         /* 687b: */
#define HZ_TC_PREF   HZ_MARK                        /* of the filter that redirects to the ifb */

/* Requests into a batch; @name is for error texts. */
void hz_tc_add_root(HzBatch *batch, int ifindex, const char *name);
void hz_tc_del_root(HzBatch *batch, int ifindex, const char *name);
void hz_tc_put_class(HzBatch *batch, int ifindex, const char *name, const HzShape *shape);
void hz_tc_put_leaf(HzBatch *batch, int ifindex, const char *name, const HzShape *shape,
                    gboolean create);

void hz_tc_add_ingress(HzBatch *batch, int ifindex, const char *name);
void hz_tc_del_ingress(HzBatch *batch, int ifindex, const char *name);
/* The filter that sends all the NIC takes in to the ifb; and its removal, the qdisc staying. */
void hz_tc_add_redirect(HzBatch *batch, int ifindex, const char *name, int ifb);
void hz_tc_del_redirect(HzBatch *batch, int ifindex, const char *name);

/*
 * Whether this kernel has a qdisc kind (its module is loaded if it must be):
 * a request that is refused after the kind was found and before anything is
 * made, on lo. Nothing changes.
 */
gboolean hz_tc_probe_qdisc(HzRtnl *rtnl, const char *kind, GError **error);

#endif /* HZ_VNIC_TC_H */
