/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic tc: one rate-limited queue as requests to the kernel's traffic control. */
#include "tc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/tc_act/tc_mirred.h>
#include <net/if.h>
#include <string.h>

#define DIRECT_QLEN   1000              /* htb's queue for the instant before its class is there */
#define CODEL_MEMORY  (16 * 1024 * 1024)
#define SFQ_PERTURB_S 10

static struct tcmsg *put_tcmsg(struct nlmsghdr *nlh, int ifindex, guint32 parent, guint32 handle)
{
    struct tcmsg *tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));

    tcm->tcm_family = AF_UNSPEC;
    tcm->tcm_ifindex = ifindex;
    tcm->tcm_parent = parent;
    tcm->tcm_handle = handle;
    return tcm;
}

void hz_tc_add_root(HzBatch *batch, int ifindex, const char *name)
{
    /* EXCL: over a root of the kernel's own default only, never over another's. */
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL,
                                        "adding htb to %s", name);
    struct tc_htb_glob glob = {
        .version = 3,
        .rate2quantum = 10,             /* unused: quantums are explicit */
        .defcls = TC_H_MIN(HZ_TC_CLASS),
    };
    struct nlattr *options;

    put_tcmsg(nlh, ifindex, TC_H_ROOT, HZ_TC_ROOT);
    mnl_attr_put_strz(nlh, TCA_KIND, "htb");
    options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    mnl_attr_put(nlh, TCA_HTB_INIT, sizeof(glob), &glob);
    mnl_attr_put_u32(nlh, TCA_HTB_DIRECT_QLEN, DIRECT_QLEN);
    mnl_attr_nest_end(nlh, options);
}

void hz_tc_del_root(HzBatch *batch, int ifindex, const char *name)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_DELQDISC, 0, "removing htb from %s", name);

    /* With the handle: a root that is no longer ours isn't removed. */
    put_tcmsg(nlh, ifindex, TC_H_ROOT, HZ_TC_ROOT);
}

void hz_tc_put_class(HzBatch *batch, int ifindex, const char *name, const HzShape *shape)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_NEWTCLASS, NLM_F_CREATE,
                                        "setting the rate of %s", name);
    struct tc_htb_opt opt = {
        /* With the link layer named, the kernel computes and needs no rate table. */
        .rate.linklayer = TC_LINKLAYER_ETHERNET,
        .rate.rate = MIN(shape->rate, G_MAXUINT32),
        .buffer = shape->ticks,
        .cbuffer = shape->ticks,
        .quantum = shape->quantum,
    };
    struct nlattr *options;

    opt.ceil = opt.rate;
    put_tcmsg(nlh, ifindex, HZ_TC_ROOT, HZ_TC_CLASS);
    mnl_attr_put_strz(nlh, TCA_KIND, "htb");
    options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    if (shape->rate > G_MAXUINT32) {
        mnl_attr_put_u64(nlh, TCA_HTB_RATE64, shape->rate);
        mnl_attr_put_u64(nlh, TCA_HTB_CEIL64, shape->rate);
    }
    mnl_attr_put(nlh, TCA_HTB_PARMS, sizeof(opt), &opt);
    mnl_attr_nest_end(nlh, options);
}

static void put_fq_codel(struct nlmsghdr *nlh, const HzShape *shape)
{
    struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);

    mnl_attr_put_u32(nlh, TCA_FQ_CODEL_LIMIT, shape->limit);
    mnl_attr_put_u32(nlh, TCA_FQ_CODEL_TARGET, shape->target_us);
    mnl_attr_put_u32(nlh, TCA_FQ_CODEL_INTERVAL, shape->interval_us);
    mnl_attr_put_u32(nlh, TCA_FQ_CODEL_QUANTUM, shape->leaf_quantum);
    mnl_attr_put_u32(nlh, TCA_FQ_CODEL_MEMORY_LIMIT, CODEL_MEMORY);
    mnl_attr_nest_end(nlh, options);
}

static void put_sfq(struct nlmsghdr *nlh, const HzShape *shape)
{
    struct tc_sfq_qopt opt = {
        .quantum = shape->leaf_quantum,
        .perturb_period = SFQ_PERTURB_S,
        .limit = shape->limit,
    };

    mnl_attr_put(nlh, TCA_OPTIONS, sizeof(opt), &opt);
}

static void put_pfifo(struct nlmsghdr *nlh, const HzShape *shape)
{
    struct tc_fifo_qopt opt = { .limit = shape->limit };

    mnl_attr_put(nlh, TCA_OPTIONS, sizeof(opt), &opt);
}

void hz_tc_put_leaf(HzBatch *batch, int ifindex, const char *name, const HzShape *shape,
                    gboolean create)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_NEWQDISC,
                                        create ? NLM_F_CREATE | NLM_F_REPLACE : 0,
                                        "setting %s on %s", hz_leaf_name(shape->leaf), name);

    put_tcmsg(nlh, ifindex, HZ_TC_CLASS, HZ_TC_LEAF);
    mnl_attr_put_strz(nlh, TCA_KIND, hz_leaf_name(shape->leaf));
    switch (shape->leaf) {
    case HZ_LEAF_FQ_CODEL:
        put_fq_codel(nlh, shape);
        break;
    case HZ_LEAF_SFQ:
        put_sfq(nlh, shape);
        break;
    default:
        put_pfifo(nlh, shape);
        break;
    }
}

void hz_tc_add_ingress(HzBatch *batch, int ifindex, const char *name)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL,
                                        "adding ingress to %s", name);

    put_tcmsg(nlh, ifindex, TC_H_INGRESS, TC_H_MAKE(TC_H_INGRESS, 0));
    mnl_attr_put_strz(nlh, TCA_KIND, "ingress");
}

void hz_tc_del_ingress(HzBatch *batch, int ifindex, const char *name)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_DELQDISC, 0, "removing ingress from %s", name);

    put_tcmsg(nlh, ifindex, TC_H_INGRESS, TC_H_MAKE(TC_H_INGRESS, 0));
    mnl_attr_put_strz(nlh, TCA_KIND, "ingress");
}

static void put_mirred(struct nlmsghdr *nlh, int ifb)
{
    struct tc_mirred mirred = {
        .action = TC_ACT_STOLEN,
        .eaction = TCA_EGRESS_REDIR,
        .ifindex = ifb,
    };
    struct nlattr *actions = mnl_attr_nest_start(nlh, TCA_U32_ACT);
    struct nlattr *first = mnl_attr_nest_start(nlh, 1);
    struct nlattr *options;

    mnl_attr_put_strz(nlh, TCA_ACT_KIND, "mirred");
    options = mnl_attr_nest_start(nlh, TCA_ACT_OPTIONS);
    mnl_attr_put(nlh, TCA_MIRRED_PARMS, sizeof(mirred), &mirred);
    mnl_attr_nest_end(nlh, options);
    mnl_attr_nest_end(nlh, first);
    mnl_attr_nest_end(nlh, actions);
}

void hz_tc_add_redirect(HzBatch *batch, int ifindex, const char *name, int ifb)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL,
                                        "redirecting what %s takes in", name);
    struct tcmsg *tcm = put_tcmsg(nlh, ifindex, TC_H_MAKE(TC_H_INGRESS, 0), 0);
    /* u32 with one key and an empty mask: matches all, and every kernel has it. */
    char sel_space[sizeof(struct tc_u32_sel) + sizeof(struct tc_u32_key)] = { 0 };
    struct tc_u32_sel sel = { .flags = TC_U32_TERMINAL, .nkeys = 1 };
    struct nlattr *options;

    tcm->tcm_info = TC_H_MAKE(HZ_TC_PREF << 16, htons(ETH_P_ALL));
    memcpy(sel_space, &sel, sizeof(sel));
    mnl_attr_put_strz(nlh, TCA_KIND, "u32");
    options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    mnl_attr_put(nlh, TCA_U32_SEL, sizeof(sel_space), sel_space);
    put_mirred(nlh, ifb);
    mnl_attr_nest_end(nlh, options);
}

void hz_tc_del_redirect(HzBatch *batch, int ifindex, const char *name)
{
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_DELTFILTER, 0,
                                        "removing the redirect from %s", name);
    struct tcmsg *tcm = put_tcmsg(nlh, ifindex, TC_H_MAKE(TC_H_INGRESS, 0), 0);

    tcm->tcm_info = TC_H_MAKE(HZ_TC_PREF << 16, htons(ETH_P_ALL));
    mnl_attr_put_strz(nlh, TCA_KIND, "u32");
}

gboolean hz_tc_probe_qdisc(HzRtnl *rtnl, const char *kind, GError **error)
{
    g_autoptr(HzBatch) batch = hz_batch_new(rtnl);
    g_autoptr(GError) refused = NULL;
    struct nlmsghdr *nlh = hz_batch_add(batch, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE,
                                        "probing %s", kind);
    struct nlattr *stab;

    put_tcmsg(nlh, if_nametoindex("lo"), TC_H_ROOT, HZ_TC_ROOT);
    mnl_attr_put_strz(nlh, TCA_KIND, kind);
    /* A size table without its base: refused, once the kind is known. */
    stab = mnl_attr_nest_start(nlh, TCA_STAB);
    mnl_attr_nest_end(nlh, stab);
    hz_batch_commit(batch, &refused);
    if (g_error_matches(refused, HZ_RTNL_ERROR, EINVAL)) {
        return TRUE;
    }
    g_propagate_error(error, g_steal_pointer(&refused));
    return FALSE;
}
