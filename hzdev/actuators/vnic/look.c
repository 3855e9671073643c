/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic look: what the kernel's traffic control has on a device, and whose it is. */
#include "look.h"

#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/tc_act/tc_mirred.h>
#include <string.h>

#include "tc.h"

/* The attribute's payload, if it has at least @len bytes. */
static gboolean copy(void *to, const struct nlattr *attr, size_t len)
{
    if (mnl_attr_get_payload_len(attr) < len) {
        return FALSE;
    }
    memcpy(to, mnl_attr_get_payload(attr), len);
    return TRUE;
}

static const struct nlattr *nested(const struct nlattr *nest, guint16 type)
{
    const struct nlattr *attr;

    mnl_attr_for_each_nested(attr, nest) {
        if (mnl_attr_get_type(attr) == type) {
            return attr;
        }
    }
    return NULL;
}

static const struct nlattr *top(const struct nlmsghdr *nlh, guint16 type)
{
    const struct nlattr *attr;

    mnl_attr_for_each(attr, nlh, sizeof(struct tcmsg)) {
        if (mnl_attr_get_type(attr) == type) {
            return attr;
        }
    }
    return NULL;
}

static void get_kind(const struct nlmsghdr *nlh, char *kind, size_t cap)
{
    const struct nlattr *attr = top(nlh, TCA_KIND);

    g_snprintf(kind, cap, "%.*s", attr ? (int)mnl_attr_get_payload_len(attr) : 0,
               attr ? (const char *)mnl_attr_get_payload(attr) : "");
}

static void parse_fq_codel(const struct nlattr *options, HzShape *leaf)
{
    const struct nlattr *attr;

    mnl_attr_for_each_nested(attr, options) {
        switch (mnl_attr_get_type(attr)) {
        case TCA_FQ_CODEL_LIMIT:
            copy(&leaf->limit, attr, sizeof(leaf->limit));
            break;
        case TCA_FQ_CODEL_TARGET:
            copy(&leaf->target_us, attr, sizeof(leaf->target_us));
            break;
        case TCA_FQ_CODEL_INTERVAL:
            copy(&leaf->interval_us, attr, sizeof(leaf->interval_us));
            break;
        case TCA_FQ_CODEL_QUANTUM:
            copy(&leaf->leaf_quantum, attr, sizeof(leaf->leaf_quantum));
            break;
        }
    }
}

static void parse_leaf(const struct nlattr *options, HzShape *leaf)
{
    struct tc_sfq_qopt sfq;
    struct tc_fifo_qopt fifo;

    switch (leaf->leaf) {
    case HZ_LEAF_FQ_CODEL:
        parse_fq_codel(options, leaf);
        break;
    case HZ_LEAF_SFQ:
        if (copy(&sfq, options, sizeof(sfq))) {
            leaf->limit = sfq.limit;
            leaf->leaf_quantum = sfq.quantum;
        }
        break;
    case HZ_LEAF_PFIFO:
        if (copy(&fifo, options, sizeof(fifo))) {
            leaf->limit = fifo.limit;
        }
        break;
    default:
        break;
    }
}

static void add_qdisc(const struct nlmsghdr *nlh, gpointer qdiscs)
{
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
    const struct nlattr *options;
    HzQdisc qdisc = { 0 };

    if (nlh->nlmsg_type != RTM_NEWQDISC || mnl_nlmsg_get_payload_len(nlh) < sizeof(*tcm)) {
        return;
    }
    qdisc.ifindex = tcm->tcm_ifindex;
    qdisc.handle = tcm->tcm_handle;
    qdisc.parent = tcm->tcm_parent;
    get_kind(nlh, qdisc.kind, sizeof(qdisc.kind));
    qdisc.leaf.leaf = hz_leaf_from_name(qdisc.kind);
    options = top(nlh, TCA_OPTIONS);
    if (options && strcmp(qdisc.kind, "htb") == 0) {
        const struct nlattr *init = nested(options, TCA_HTB_INIT);
        struct tc_htb_glob glob;

        if (init && copy(&glob, init, sizeof(glob))) {
            qdisc.default_class = glob.defcls;
        }
    } else if (options) {
        parse_leaf(options, &qdisc.leaf);
    }
    g_array_append_val(qdiscs, qdisc);
}

GArray *hz_qdiscs_get(HzRtnl *rtnl, GError **error)
{
    g_autoptr(GArray) qdiscs = g_array_new(FALSE, TRUE, sizeof(HzQdisc));
    struct nlmsghdr *nlh = hz_rtnl_request(rtnl, RTM_GETQDISC, NLM_F_DUMP);

    mnl_nlmsg_put_extra_header(nlh, sizeof(struct tcmsg));
    if (!hz_rtnl_query(rtnl, nlh, "listing qdiscs", add_qdisc, qdiscs, error)) {
        return NULL;
    }
    return g_steal_pointer(&qdiscs);
}

static void parse_class(const struct nlmsghdr *nlh, gpointer opaque)
{
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
    const struct nlattr *options, *attr;
    HzQueue *queue = opaque;
    struct tc_htb_opt opt;
    guint64 rate64 = 0, ceil64 = 0;

    if (nlh->nlmsg_type != RTM_NEWTCLASS || mnl_nlmsg_get_payload_len(nlh) < sizeof(*tcm) ||
        tcm->tcm_handle != HZ_TC_CLASS) {
        return;
    }
    options = top(nlh, TCA_OPTIONS);
    attr = options ? nested(options, TCA_HTB_PARMS) : NULL;
    if (!attr || !copy(&opt, attr, sizeof(opt))) {
        return;
    }
    attr = nested(options, TCA_HTB_RATE64);
    if (attr) {
        copy(&rate64, attr, sizeof(rate64));
    }
    attr = nested(options, TCA_HTB_CEIL64);
    if (attr) {
        copy(&ceil64, attr, sizeof(ceil64));
    }
    queue->has_class = TRUE;
    /* What someone made of the two: the ceiling is what holds. */
    queue->shape.rate = MAX(rate64 ? rate64 : opt.rate.rate, ceil64 ? ceil64 : opt.ceil.rate);
    queue->shape.ticks = MAX(opt.buffer, opt.cbuffer);
    queue->shape.quantum = opt.quantum;
}

static gboolean dump_class(HzRtnl *rtnl, int ifindex, HzRtnlFunc func, gpointer opaque,
                           GError **error)
{
    struct nlmsghdr *nlh = hz_rtnl_request(rtnl, RTM_GETTCLASS, NLM_F_DUMP);
    struct tcmsg *tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));

    tcm->tcm_ifindex = ifindex;
    tcm->tcm_parent = HZ_TC_ROOT;
    return hz_rtnl_query(rtnl, nlh, "listing classes", func, opaque, error);
}

static void note_foreign(HzQueue *queue, const HzQdisc *qdisc)
{
    queue->owner = HZ_ROOT_FOREIGN;
    g_snprintf(queue->foreign, sizeof(queue->foreign), "%s %x:", qdisc->kind, qdisc->handle >> 16);
}

/* The one class and its leaf are looked at; a root that is anything but exactly ours isn't ours. */
gboolean hz_queue_look(HzRtnl *rtnl, GArray *qdiscs, int ifindex, HzQueue *queue, GError **error)
{
    const HzQdisc *leaf = NULL, *other = NULL;

    memset(queue, 0, sizeof(*queue));
    for (guint i = 0; i < qdiscs->len; i++) {
        const HzQdisc *qdisc = &g_array_index(qdiscs, HzQdisc, i);

        if (qdisc->ifindex != ifindex || qdisc->handle == 0 || qdisc->parent == TC_H_INGRESS) {
            continue;
        }
        if (qdisc->parent == TC_H_ROOT && qdisc->handle == HZ_TC_ROOT &&
            strcmp(qdisc->kind, "htb") == 0 && qdisc->default_class == TC_H_MIN(HZ_TC_CLASS)) {
            queue->owner = HZ_ROOT_OURS;
        } else if (qdisc->parent == HZ_TC_CLASS) {
            leaf = qdisc;
        } else {
            other = qdisc;
        }
    }
    if (queue->owner != HZ_ROOT_OURS) {
        if (other || leaf) {
            note_foreign(queue, other ? other : leaf);
        }
        return TRUE;
    }
    if (!dump_class(rtnl, ifindex, parse_class, queue, error)) {
        return FALSE;
    }
    if (leaf) {
        queue->has_leaf = leaf->handle == HZ_TC_LEAF && leaf->leaf.leaf != HZ_LEAF_N;
        queue->shape.leaf = leaf->leaf.leaf;
        queue->shape.limit = leaf->leaf.limit;
        queue->shape.leaf_quantum = leaf->leaf.leaf_quantum;
        queue->shape.target_us = leaf->leaf.target_us;
        queue->shape.interval_us = leaf->leaf.interval_us;
    }
    return TRUE;
}

/* TRUE if a filter's only action is to redirect; then its target, 0 when that device is gone. */
static gboolean redirects(const struct nlattr *options, int *target)
{
    const struct nlattr *actions = nested(options, TCA_U32_ACT);
    const struct nlattr *action = actions ? nested(actions, 1) : NULL;
    const struct nlattr *params;
    struct tc_mirred mirred;

    if (!action || nested(actions, 2)) {
        return FALSE;
    }
    params = nested(action, TCA_ACT_OPTIONS);
    params = params ? nested(params, TCA_MIRRED_PARMS) : NULL;
    if (!params || !copy(&mirred, params, sizeof(mirred)) ||
        mirred.eaction != TCA_EGRESS_REDIR) {
        return FALSE;
    }
    *target = mirred.ifindex;
    return TRUE;
}

static void parse_filter(const struct nlmsghdr *nlh, gpointer opaque)
{
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
    const struct nlattr *options;
    HzIngress *ingress = opaque;
    char kind[16];

    if (nlh->nlmsg_type != RTM_NEWTFILTER || mnl_nlmsg_get_payload_len(nlh) < sizeof(*tcm)) {
        return;
    }
    options = top(nlh, TCA_OPTIONS);
    if (!options) {
        return;                 /* the head of a preference: its filters follow */
    }
    get_kind(nlh, kind, sizeof(kind));
    if (tcm->tcm_info >> 16 == HZ_TC_PREF && strcmp(kind, "u32") == 0) {
        /* The other entries of that preference are u32's own hash table. */
        ingress->marked = redirects(options, &ingress->redirect) || ingress->marked;
        return;
    }
    ingress->others++;
}

gboolean hz_ingress_look(HzRtnl *rtnl, GArray *qdiscs, int ifindex, HzIngress *ingress,
                         GError **error)
{
    struct nlmsghdr *nlh;
    struct tcmsg *tcm;

    memset(ingress, 0, sizeof(*ingress));
    for (guint i = 0; i < qdiscs->len; i++) {
        const HzQdisc *qdisc = &g_array_index(qdiscs, HzQdisc, i);

        if (qdisc->ifindex == ifindex && qdisc->parent == TC_H_INGRESS) {
            g_strlcpy(ingress->kind, qdisc->kind, sizeof(ingress->kind));
        }
    }
    if (!ingress->kind[0]) {
        return TRUE;
    }
    nlh = hz_rtnl_request(rtnl, RTM_GETTFILTER, NLM_F_DUMP);
    tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
    tcm->tcm_ifindex = ifindex;
    tcm->tcm_parent = TC_H_MAKE(TC_H_INGRESS, 0);
    return hz_rtnl_query(rtnl, nlh, "listing filters", parse_filter, ingress, error);
}

static void parse_stats(const struct nlmsghdr *nlh, gpointer opaque)
{
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
    const struct nlattr *nest, *attr;
    HzQueueStats *stats = opaque;
    struct gnet_stats_basic basic;
    struct gnet_stats_queue queue;

    if (nlh->nlmsg_type != RTM_NEWTCLASS || mnl_nlmsg_get_payload_len(nlh) < sizeof(*tcm) ||
        tcm->tcm_handle != HZ_TC_CLASS || !(nest = top(nlh, TCA_STATS2))) {
        return;
    }
    attr = nested(nest, TCA_STATS_BASIC);
    if (attr && copy(&basic, attr, offsetof(struct gnet_stats_basic, packets) + 4)) {
        stats->bytes = basic.bytes;
        stats->packets = basic.packets;
    }
    attr = nested(nest, TCA_STATS_QUEUE);
    if (attr && copy(&queue, attr, sizeof(queue))) {
        stats->drops = queue.drops;
        stats->backlog = queue.backlog;
    }
}

gboolean hz_queue_stats(HzRtnl *rtnl, int ifindex, HzQueueStats *stats, GError **error)
{
    memset(stats, 0, sizeof(*stats));
    return dump_class(rtnl, ifindex, parse_stats, stats, error);
}
