/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic datapath: which one serves a link, or why none does. */
#include "datapath.h"

#include <string.h>

static const HzDatapath *const datapaths[] = {
    &hz_datapath_tap,
    &hz_datapath_veth,
};

HzScene *hz_scene_new(HzRtnl *rtnl, GError **error)
{
    g_autoptr(HzScene) scene = g_new0(HzScene, 1);

    scene->rtnl = rtnl;
    scene->links = hz_links_get(rtnl, error);
    if (!scene->links) {
        return NULL;
    }
    scene->qdiscs = hz_qdiscs_get(rtnl, error);
    return scene->qdiscs ? g_steal_pointer(&scene) : NULL;
}

void hz_scene_free(HzScene *scene)
{
    if (scene) {
        g_clear_pointer(&scene->links, g_hash_table_unref);
        if (scene->qdiscs) {
            g_array_free(scene->qdiscs, TRUE);
        }
        g_free(scene);
    }
}

static gboolean ovs_port(HzScene *scene, const HzLink *nic)
{
    const HzLink *master = nic->master ? hz_links_by_index(scene->links, nic->master) : NULL;

    return strcmp(nic->slave_kind, "openvswitch") == 0 ||
           (master && strcmp(master->kind, "openvswitch") == 0);
}

const HzDatapath *hz_datapath_for(HzScene *scene, const char *ifname, const HzLink *nic,
                                  char *why, size_t cap)
{
    if (!ifname[0]) {
        g_strlcpy(why, "no host interface (vhost-user, hostdev or the like)", cap);
        return NULL;
    }
    if (!nic) {
        g_snprintf(why, cap, "%s: no such device", ifname);
        return NULL;
    }
    if (ovs_port(scene, nic)) {
        g_snprintf(why, cap, "%s is an Open vSwitch port: OVS owns its queues", ifname);
        return NULL;
    }
    for (guint i = 0; i < G_N_ELEMENTS(datapaths); i++) {
        if (datapaths[i]->claims(nic)) {
            return datapaths[i];
        }
    }
    g_snprintf(why, cap, "%s is %s%s%s: neither a tap nor a veth", ifname,
               nic->kind[0] ? "of kind " : "",
               nic->kind[0] ? nic->kind : nic->loopback ? "the loopback" : "a physical device",
               strcmp(nic->kind, "tun") == 0 ? " (layer 3)" : "");
    return NULL;
}

static gboolean queue_is(const HzQueue *queue, const HzShape *want, const char *side, char *what,
                         size_t cap)
{
    if (queue->owner != HZ_ROOT_OURS) {
        g_snprintf(what, cap, "%s: no htb 687a: at the root", side);
    } else if (!queue->has_class) {
        g_snprintf(what, cap, "%s: no class 687a:1", side);
    } else if (!hz_shape_same_class(&queue->shape, want)) {
        g_snprintf(what, cap, "%s: rate %" G_GUINT64_FORMAT " B/s in place of %" G_GUINT64_FORMAT
                   " B/s, or another bucket", side, queue->shape.rate, want->rate);
    } else if (!queue->has_leaf || !hz_shape_same_leaf(&queue->shape, want)) {
        g_snprintf(what, cap, "%s: the leaf isn't the %s that was set", side,
                   hz_leaf_name(want->leaf));
    } else {
        return TRUE;
    }
    return FALSE;
}

gboolean hz_state_is(const HzNicState *state, const HzShape *want, char *what, size_t cap)
{
    if (!queue_is(&state->rx, want, "to the guest", what, cap)) {
        return FALSE;
    }
    if (!state->ifb || !state->ifb_up) {
        g_snprintf(what, cap, "from the guest: the ifb device is %s",
                   state->ifb ? "down" : "gone");
        return FALSE;
    }
    if (!queue_is(&state->tx, want, "from the guest", what, cap)) {
        return FALSE;
    }
    if (!state->ingress.marked || state->ingress.redirect != state->ifb) {
        g_strlcpy(what, "from the guest: no redirect to the ifb device", cap);
        return FALSE;
    }
    return TRUE;
}
