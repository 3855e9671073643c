/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic link: network devices as rtnetlink tells of them, and the ifb devices that are ours. */
#include "link.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>

#define IFB_PREFIX "hzifb"      /* + a positive int is 15 characters at most */
#define IFB_TXQLEN 1000

void hz_link_free(HzLink *link)
{
    if (link) {
        g_free(link->alias);
        g_free(link);
    }
}

static void get_string(const struct nlattr *attr, char *buf, size_t cap)
{
    g_snprintf(buf, cap, "%.*s", (int)mnl_attr_get_payload_len(attr),
               (const char *)mnl_attr_get_payload(attr));
}

static gboolean get_u32(const struct nlattr *attr, guint32 *value)
{
    if (mnl_attr_get_payload_len(attr) < sizeof(*value)) {
        return FALSE;
    }
    memcpy(value, mnl_attr_get_payload(attr), sizeof(*value));
    return TRUE;
}

static void parse_tun(const struct nlattr *data, HzLink *link)
{
    const struct nlattr *attr;

    mnl_attr_for_each_nested(attr, data) {
        if (mnl_attr_get_type(attr) == IFLA_TUN_TYPE && mnl_attr_get_payload_len(attr) >= 1) {
            link->tap = mnl_attr_get_u8(attr) == IFF_TAP;
        }
    }
}

static void parse_info(const struct nlattr *info, HzLink *link)
{
    const struct nlattr *attr, *data = NULL;

    mnl_attr_for_each_nested(attr, info) {
        switch (mnl_attr_get_type(attr)) {
        case IFLA_INFO_KIND:
            get_string(attr, link->kind, sizeof(link->kind));
            break;
        case IFLA_INFO_SLAVE_KIND:
            get_string(attr, link->slave_kind, sizeof(link->slave_kind));
            break;
        case IFLA_INFO_DATA:
            data = attr;
            break;
        }
    }
    if (data && strcmp(link->kind, "tun") == 0) {
        parse_tun(data, link);
    }
}

static void parse_attr(const struct nlattr *attr, HzLink *link)
{
    guint32 value;

    switch (mnl_attr_get_type(attr)) {
    case IFLA_IFNAME:
        get_string(attr, link->name, sizeof(link->name));
        break;
    case IFLA_LINKINFO:
        parse_info(attr, link);
        break;
    case IFLA_MASTER:
        if (get_u32(attr, &value)) {
            link->master = value;
        }
        break;
    case IFLA_MTU:
        get_u32(attr, &link->mtu);
        break;
    case IFLA_GSO_MAX_SIZE:
        get_u32(attr, &link->gso_max);
        break;
    case IFLA_GROUP:
        get_u32(attr, &link->group);
        break;
    case IFLA_IFALIAS:
        g_free(link->alias);
        link->alias = g_strndup(mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr));
        break;
    }
}

HzLink *hz_link_parse(const struct nlmsghdr *nlh)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
    const struct nlattr *attr;
    g_autoptr(HzLink) link = NULL;

    if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi)) {
        return NULL;
    }
    link = g_new0(HzLink, 1);
    link->ifindex = ifi->ifi_index;
    link->up = (ifi->ifi_flags & IFF_UP) != 0;
    link->loopback = (ifi->ifi_flags & IFF_LOOPBACK) != 0;
    mnl_attr_for_each(attr, nlh, sizeof(*ifi)) {
        parse_attr(attr, link);
    }
    return link->name[0] ? g_steal_pointer(&link) : NULL;
}

static void add_link(const struct nlmsghdr *nlh, gpointer links)
{
    HzLink *link = nlh->nlmsg_type == RTM_NEWLINK ? hz_link_parse(nlh) : NULL;

    if (link) {
        g_hash_table_replace(links, GINT_TO_POINTER(link->ifindex), link);
    }
}

GHashTable *hz_links_get(HzRtnl *rtnl, GError **error)
{
    g_autoptr(GHashTable) links =
        g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)hz_link_free);
    struct nlmsghdr *nlh = hz_rtnl_request(rtnl, RTM_GETLINK, NLM_F_DUMP);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

    ifi->ifi_family = AF_UNSPEC;
    if (!hz_rtnl_query(rtnl, nlh, "listing links", add_link, links, error)) {
        return NULL;
    }
    return g_steal_pointer(&links);
}

HzLink *hz_links_by_index(GHashTable *links, int ifindex)
{
    return g_hash_table_lookup(links, GINT_TO_POINTER(ifindex));
}

HzLink *hz_links_by_name(GHashTable *links, const char *name)
{
    GHashTableIter iter;
    gpointer link;

    g_hash_table_iter_init(&iter, links);
    while (g_hash_table_iter_next(&iter, NULL, &link)) {
        if (strcmp(((HzLink *)link)->name, name) == 0) {
            return link;
        }
    }
    return NULL;
}

void hz_ifb_name(int nic_ifindex, char name[IFNAMSIZ])
{
    g_snprintf(name, IFNAMSIZ, IFB_PREFIX "%d", nic_ifindex);
}

int hz_ifb_owner(const HzLink *link)
{
    char name[IFNAMSIZ];
    int owner;

    if (strcmp(link->kind, "ifb") != 0 || link->group != HZ_MARK ||
        sscanf(link->name, IFB_PREFIX "%d", &owner) != 1 || owner <= 0) {
        return 0;
    }
    hz_ifb_name(owner, name);
    return strcmp(name, link->name) == 0 ? owner : 0;
}

void hz_ifb_add(HzBatch *batch, const char *name, guint32 mtu)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
                                        "creating %s", name);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
    struct nlattr *info;

    ifi->ifi_family = AF_UNSPEC;
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
    mnl_attr_put_u32(nlh, IFLA_TXQLEN, IFB_TXQLEN);
    mnl_attr_put_u32(nlh, IFLA_GROUP, HZ_MARK);
    /* One queue a device: HTB has one lock anyway, and several would reorder. */
    mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, 1);
    mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, 1);
    info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "ifb");
    mnl_attr_nest_end(nlh, info);
}

void hz_link_quiet(HzBatch *batch, int ifindex)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_SETLINK, 0, "keeping IPv6 off device %d",
                                        ifindex);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
    struct nlattr *families, *inet6;

    ifi->ifi_index = ifindex;
    families = mnl_attr_nest_start(nlh, IFLA_AF_SPEC);
    inet6 = mnl_attr_nest_start(nlh, AF_INET6);
    mnl_attr_put_u8(nlh, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
    mnl_attr_nest_end(nlh, inet6);
    mnl_attr_nest_end(nlh, families);
    hz_batch_tolerate(batch, EAFNOSUPPORT);
}

void hz_link_set(HzBatch *batch, int ifindex, gboolean up, const char *alias)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_NEWLINK, 0, "setting up device %d", ifindex);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

    ifi->ifi_index = ifindex;
    ifi->ifi_flags = up ? IFF_UP : 0;
    ifi->ifi_change = up ? IFF_UP : 0;
    if (alias) {
        mnl_attr_put_str(nlh, IFLA_IFALIAS, alias);
    }
}

void hz_link_del(HzBatch *batch, int ifindex)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_DELLINK, 0, "removing device %d", ifindex);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

    ifi->ifi_index = ifindex;
    hz_batch_tolerate(batch, ENODEV);
}
