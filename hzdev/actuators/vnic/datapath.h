/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic datapath: how one kind of NIC is looked at, shaped and put back.
 *
 * hz_datapath_for() finds the one that claims a link. `tap` (and `veth`, which
 * has the same queues) is in tap.c; another kind is another file and a row in
 * the table in datapath.c. Directions are the guest's: rx is what it receives.
 */
#ifndef HZ_VNIC_DATAPATH_H
#define HZ_VNIC_DATAPATH_H

#include "link.h"
#include "look.h"
#include "shape.h"

/* One look at the kernel, shared by all NICs of one request. */
typedef struct {
    HzRtnl *rtnl;
    GHashTable *links;          /* link.h */
    GArray *qdiscs;             /* look.h */
} HzScene;

HzScene *hz_scene_new(HzRtnl *rtnl, GError **error);
void hz_scene_free(HzScene *scene);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzScene, hz_scene_free)

/* What is on one NIC. */
typedef struct {
    char foreign[96];           /* not empty: whose qdisc keeps us off, and where */
    HzQueue rx, tx;
    HzIngress ingress;
    int ifb;                    /* ours, 0 none */
    gboolean ifb_up;
    const char *note;           /* the ifb's alias, borrowed from the scene; NULL none */
    gboolean ours;              /* anything of ours is there */
} HzNicState;

typedef struct {
    const char *name;
    gboolean (*claims)(const HzLink *nic);
    gboolean (*look)(HzScene *scene, const HzLink *nic, HzNicState *state, GError **error);
    /*
     * Make @state into @want, whatever is missing. @note is kept in the kernel
     * for whoever looks later. @ifb: the device that queues tx.
     */
    gboolean (*shape)(HzScene *scene, const HzLink *nic, const HzNicState *state,
                      const HzShape *want, const char *note, int *ifb, GError **error);
    /* The short way when all is as @have, and known to be. */
    gboolean (*change)(HzRtnl *rtnl, int nic, int ifb, const char *name, const HzShape *have,
                       const HzShape *want, GError **error);
    /* Take away all that is ours. */
    gboolean (*clear)(HzScene *scene, const HzLink *nic, const HzNicState *state,
                      GError **error);
} HzDatapath;

extern const HzDatapath hz_datapath_tap, hz_datapath_veth;

/* NULL with @why when nothing here can shape it. @nic NULL: there is no such device. */
const HzDatapath *hz_datapath_for(HzScene *scene, const char *ifname, const HzLink *nic,
                                  char *why, size_t cap);

/* Nothing missing, nothing different. Else @what says the first difference. */
gboolean hz_state_is(const HzNicState *state, const HzShape *want, char *what, size_t cap);

#endif /* HZ_VNIC_DATAPATH_H */
