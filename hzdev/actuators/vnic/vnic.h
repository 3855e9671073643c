/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic: the actuator without its protocol: the plan in force and the watch over it. */
#ifndef HZ_VNIC_VNIC_H
#define HZ_VNIC_VNIC_H

#include "line.h"

#define HZ_VNIC_ERROR (hz_vnic_error_quark())
GQuark hz_vnic_error_quark(void);

typedef enum {
    HZ_MODE_OFF,
    HZ_MODE_OBSERVE,            /* the kernel is only ever asked */
    HZ_MODE_ENFORCE,
} HzMode;

typedef void (*HzChangedFunc)(const char *key, const char *what, const char *action,
                              gpointer opaque);

typedef struct {
    HzRtnl *rtnl;
    HzMonitor *monitor;
    HzMode mode;
    HzLeaf leaf;                /* HZ_LEAF_N: not probed yet */
    GHashTable *lines;          /* key → HzLine, owned */
    GHashTable *by_index;       /* ifindex of a NIC or of its ifb → HzLine, borrowed */
    gboolean swept;             /* leftovers of an earlier run were looked for */
    guint check;                /* GSource: dirty lines wait for it */
    HzChangedFunc changed;
    gpointer opaque;
} HzVnic;

HzVnic *hz_vnic_new(HzChangedFunc changed, gpointer opaque, GError **error);
void hz_vnic_free(HzVnic *vnic);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzVnic, hz_vnic_free)

/* Probes on the first HZ_MODE_ENFORCE, and only then. Lifts the waits on other hands. */
gboolean hz_vnic_set_mode(HzVnic *vnic, HzMode mode, GError **error);

/* One line asked for. Strings borrowed. */
typedef struct {
    const char *key, *ifname;
    gboolean shape;
    guint64 rate, burst, static_rate;
} HzWanted;

/*
 * The complete desired state. Fails without having done anything when a line
 * is impossible (a rate below HZ_RATE_LEAST, two keys on one NIC); a NIC
 * that can't be shaped is no failure, its line says so. In the order of @wanted:
 * the lines (borrowed, good until the next call).
 */
GPtrArray *hz_vnic_apply(HzVnic *vnic, const HzWanted *wanted, guint n, GError **error);

/* Take away what is ours on these NICs; and on every NIC, also those no plan knows of. */
gboolean hz_vnic_forget(HzVnic *vnic, const char *const *keys, guint n, GError **error);
gboolean hz_vnic_forget_all(HzVnic *vnic, GError **error);

/* ifbs of ours whose NIC is gone. */
gboolean hz_vnic_del_orphans(HzVnic *vnic, HzScene *scene, GError **error);

/* hzd has been gone too long: every ceiling to its static rate, none where that is 0. */
void hz_vnic_lift(HzVnic *vnic);

/* What is on one NIC, as the kernel has it. */
typedef struct {
    gboolean exists;
    const char *datapath;       /* NULL: none claims it */
    gboolean shapeable;
    char why[256];              /* why not, or what is not as it should be */
    gboolean ours;
    guint64 rate, burst;        /* ours */
    HzLeaf leaf;
    guint64 rx_bytes, tx_bytes, rx_drops, tx_drops;
} HzObserved;

gboolean hz_vnic_observe(HzVnic *vnic, HzScene *scene, const char *ifname, HzObserved *observed,
                         GError **error);

/* watch.c: to be called before a request relies on what is known, and after lines changed. */
gboolean hz_watch_start(HzVnic *vnic, GError **error);
void hz_watch_stop(HzVnic *vnic);
void hz_watch_now(HzVnic *vnic);
void hz_watch_reset(HzVnic *vnic, HzLine *line);
void hz_watch_index(HzVnic *vnic);

#endif /* HZ_VNIC_VNIC_H */
