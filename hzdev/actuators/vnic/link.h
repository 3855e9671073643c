/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic link: network devices as rtnetlink tells of them, and the ifb devices that are ours. */
#ifndef HZ_VNIC_LINK_H
#define HZ_VNIC_LINK_H

#include <net/if.h>

#include "rtnl.h"

/* Marks what is ours: qdisc handles, filter preference, link group ("hz"). */
#define HZ_MARK 0x687a

typedef struct {
    int ifindex;
    char name[IFNAMSIZ];
    char kind[16];              /* "tun", "veth", "ifb" …; empty: hardware, or lo */
    gboolean tap;               /* of kind tun: layer 2 */
    int master;                 /* ifindex, 0 none */
    char slave_kind[16];        /* what its master makes of it: "bridge", "openvswitch" … */
    guint32 mtu;
    guint32 gso_max;            /* the largest packet it may be handed, headers included */
    guint32 group;
    gboolean up;
    gboolean loopback;
    char *alias;                /* NULL none */
} HzLink;

void hz_link_free(HzLink *link);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzLink, hz_link_free)

/* From an RTM_NEWLINK or RTM_DELLINK message; NULL for a malformed one. */
HzLink *hz_link_parse(const struct nlmsghdr *nlh);

/* Every link: ifindex → HzLink. */
GHashTable *hz_links_get(HzRtnl *rtnl, GError **error);
HzLink *hz_links_by_name(GHashTable *links, const char *name);
HzLink *hz_links_by_index(GHashTable *links, int ifindex);

/*
 * Each shaped NIC has an ifb device that queues what its guest sends. It is
 * named after the NIC's ifindex, so the two find each other with nothing
 * written down, and ours only if of kind ifb, in link group HZ_MARK.
 */
void hz_ifb_name(int nic_ifindex, char name[IFNAMSIZ]);
/* The NIC's ifindex if @link is an ifb of ours, else 0. */
int hz_ifb_owner(const HzLink *link);

/* Requests into a batch. */
void hz_ifb_add(HzBatch *batch, const char *name, guint32 mtu);      /* it is down */
/* No IPv6 address of its own: what the host would send there isn't the guest's. */
void hz_link_quiet(HzBatch *batch, int ifindex);
void hz_link_set(HzBatch *batch, int ifindex, gboolean up, const char *alias);
void hz_link_del(HzBatch *batch, int ifindex);

#endif /* HZ_VNIC_LINK_H */
