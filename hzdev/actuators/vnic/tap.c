/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic datapath tap: a tap's, or a veth's, two directions as two queues.
 *
 * To the guest: the NIC's own root qdisc. From the guest: what the NIC takes
 * in has no queue, so an ingress filter redirects it to an ifb device whose
 * root is the queue; from there it goes on as if just received. Nothing is
 * policed. On the first install the ifb and its queue are there before the
 * redirect is, and all of a NIC is one batch: no packet finds half of it.
 */
#include "datapath.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <string.h>

#include "tc.h"

static gboolean claims_tap(const HzLink *nic)
{
    return strcmp(nic->kind, "tun") == 0 && nic->tap;
}

static gboolean claims_veth(const HzLink *nic)
{
    return strcmp(nic->kind, "veth") == 0;
}

static void find_ifb(HzScene *scene, const HzLink *nic, HzNicState *state)
{
    char name[IFNAMSIZ];
    const HzLink *ifb;

    hz_ifb_name(nic->ifindex, name);
    ifb = hz_links_by_name(scene->links, name);
    if (ifb && hz_ifb_owner(ifb)) {
        state->ifb = ifb->ifindex;
        state->ifb_up = ifb->up;
        state->note = ifb->alias;
    } else if (ifb) {
        g_snprintf(state->foreign, sizeof(state->foreign), "foreign device %s of the ifb's name",
                   name);
    }
}

static void note_foreign(HzNicState *state)
{
    if (state->rx.owner == HZ_ROOT_FOREIGN) {
        g_snprintf(state->foreign, sizeof(state->foreign), "foreign qdisc %s at its root",
                   state->rx.foreign);
    } else if (state->ingress.kind[0] && !state->ingress.marked &&
               (!state->ifb || state->ingress.others || strcmp(state->ingress.kind, "ingress"))) {
        g_snprintf(state->foreign, sizeof(state->foreign), "foreign qdisc %s ffff:",
                   state->ingress.kind);
    } else if (state->tx.owner == HZ_ROOT_FOREIGN) {
        g_snprintf(state->foreign, sizeof(state->foreign), "foreign qdisc %s on its ifb device",
                   state->tx.foreign);
    }
}

static gboolean look(HzScene *scene, const HzLink *nic, HzNicState *state, GError **error)
{
    memset(state, 0, sizeof(*state));
    find_ifb(scene, nic, state);
    if (!hz_queue_look(scene->rtnl, scene->qdiscs, nic->ifindex, &state->rx, error) ||
        !hz_ingress_look(scene->rtnl, scene->qdiscs, nic->ifindex, &state->ingress, error)) {
        return FALSE;
    }
    if (state->ifb &&
        !hz_queue_look(scene->rtnl, scene->qdiscs, state->ifb, &state->tx, error)) {
        return FALSE;
    }
    note_foreign(state);
    state->ours = state->rx.owner == HZ_ROOT_OURS || state->ifb || state->ingress.marked;
    return TRUE;
}

/* The queue on one device, as far as it isn't there yet. */
static void put_queue(HzBatch *batch, int ifindex, const char *name, const HzQueue *queue,
                      const HzShape *want)
{
    if (queue->owner != HZ_ROOT_OURS) {
        hz_tc_add_root(batch, ifindex, name);
    }
    if (!queue->has_class || !hz_shape_same_class(&queue->shape, want)) {
        hz_tc_put_class(batch, ifindex, name, want);
    }
    if (!queue->has_leaf || !hz_shape_same_leaf(&queue->shape, want)) {
        hz_tc_put_leaf(batch, ifindex, name, want,
                       !queue->has_leaf || queue->shape.leaf != want->leaf);
    }
}

/* Its ifindex, or 0. */
static int make_ifb(HzScene *scene, const HzLink *nic, GError **error)
{
    g_autoptr(HzBatch) batch = hz_batch_new(scene->rtnl);
    char name[IFNAMSIZ];
    int ifindex;

    hz_ifb_name(nic->ifindex, name);
    hz_ifb_add(batch, name, nic->mtu);
    if (!hz_batch_commit(batch, error)) {
        return 0;
    }
    ifindex = if_nametoindex(name);
    if (ifindex == 0) {
        g_set_error(error, HZ_RTNL_ERROR, ENODEV, "%s is gone again", name);
    }
    return ifindex;
}

static void put_ingress(HzBatch *batch, const HzLink *nic, const HzIngress *ingress, int ifb)
{
    if (ingress->marked && ingress->redirect == ifb) {
        return;
    }
    if (!ingress->kind[0]) {
        hz_tc_add_ingress(batch, nic->ifindex, nic->name);
    }
    if (ingress->marked) {
        hz_tc_del_redirect(batch, nic->ifindex, nic->name);
    }
    hz_tc_add_redirect(batch, nic->ifindex, nic->name, ifb);
}

/* After a failure halfway: back to nothing. What went wrong first is what is told. */
static void undo(HzScene *scene, const HzLink *nic)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(HzScene) now = hz_scene_new(scene->rtnl, &error);
    HzNicState state;

    if (!now || !look(now, nic, &state, &error) ||
        (state.ours && !hz_datapath_tap.clear(now, nic, &state, &error))) {
        g_warning("cleaning %s up after a failure: %s", nic->name, error->message);
    }
}

static gboolean shape(HzScene *scene, const HzLink *nic, const HzNicState *state,
                      const HzShape *want, const char *note, int *ifb, GError **error)
{
    g_autoptr(HzBatch) batch = hz_batch_new(scene->rtnl);
    char ifb_name[IFNAMSIZ];

    *ifb = state->ifb ? state->ifb : make_ifb(scene, nic, error);
    if (*ifb == 0) {
        return FALSE;
    }
    hz_ifb_name(nic->ifindex, ifb_name);
    put_queue(batch, *ifb, ifb_name, &state->tx, want);
    if (!state->ifb) {
        hz_link_quiet(batch, *ifb);
    }
    if (!state->ifb_up || g_strcmp0(state->note, note) != 0) {
        hz_link_set(batch, *ifb, TRUE, note);
    }
    put_queue(batch, nic->ifindex, nic->name, &state->rx, want);
    put_ingress(batch, nic, &state->ingress, *ifb);
    if (hz_batch_commit(batch, error)) {
        return TRUE;
    }
    if (!state->ours) {
        undo(scene, nic);
    }
    return FALSE;
}

static gboolean change(HzRtnl *rtnl, int nic, int ifb, const char *name, const HzShape *have,
                       const HzShape *want, GError **error)
{
    g_autoptr(HzBatch) batch = hz_batch_new(rtnl);
    int device[] = { nic, ifb };

    for (guint i = 0; i < G_N_ELEMENTS(device); i++) {
        if (!hz_shape_same_class(have, want)) {
            hz_tc_put_class(batch, device[i], name, want);
        }
        if (!hz_shape_same_leaf(have, want)) {
            hz_tc_put_leaf(batch, device[i], name, want, FALSE);
        }
    }
    return hz_batch_commit(batch, error);
}

/* The redirect goes before the ifb; with it the ingress qdisc, unless others have filters there. */
static gboolean clear(HzScene *scene, const HzLink *nic, const HzNicState *state, GError **error)
{
    g_autoptr(HzBatch) batch = hz_batch_new(scene->rtnl);
    gboolean ours = state->ingress.marked || (state->ifb && !state->foreign[0]);

    if (state->ingress.marked && state->ingress.others) {
        hz_tc_del_redirect(batch, nic->ifindex, nic->name);
    } else if (strcmp(state->ingress.kind, "ingress") == 0 && !state->ingress.others && ours) {
        hz_tc_del_ingress(batch, nic->ifindex, nic->name);
    }
    if (state->rx.owner == HZ_ROOT_OURS) {
        hz_tc_del_root(batch, nic->ifindex, nic->name);
    }
    if (state->ifb) {
        hz_link_del(batch, state->ifb);
    }
    return hz_batch_commit(batch, error);
}

const HzDatapath hz_datapath_tap = {
    .name = "tap",
    .claims = claims_tap,
    .look = look,
    .shape = shape,
    .change = change,
    .clear = clear,
};

const HzDatapath hz_datapath_veth = {
    .name = "veth",
    .claims = claims_veth,
    .look = look,
    .shape = shape,
    .change = change,
    .clear = clear,
};
