/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic plan: what hzd wants of all NICs, made true; what is ours, found and taken away. */
#include <errno.h>
#include <string.h>

#include "tc.h"
#include "vnic.h"

GQuark hz_vnic_error_quark(void)
{
    return g_quark_from_static_string("hz-vnic-error");
}

HzVnic *hz_vnic_new(HzChangedFunc changed, gpointer opaque, GError **error)
{
    g_autoptr(HzVnic) vnic = g_new0(HzVnic, 1);

    vnic->leaf = HZ_LEAF_N;
    vnic->mode = HZ_MODE_OFF;
    vnic->changed = changed;
    vnic->opaque = opaque;
    vnic->lines = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
                                        (GDestroyNotify)hz_line_free);
    vnic->by_index = g_hash_table_new(NULL, NULL);
    vnic->rtnl = hz_rtnl_open(error);
    if (!vnic->rtnl || !hz_watch_start(vnic, error)) {
        return NULL;
    }
    return g_steal_pointer(&vnic);
}

void hz_vnic_free(HzVnic *vnic)
{
    if (vnic) {
        hz_watch_stop(vnic);
        g_clear_pointer(&vnic->by_index, g_hash_table_unref);
        g_clear_pointer(&vnic->lines, g_hash_table_unref);
        hz_rtnl_close(vnic->rtnl);
        g_free(vnic);
    }
}

/* htb, and the best leaf there is. Whether ifbs and redirects are there, the first NIC shows. */
static gboolean probe(HzVnic *vnic, GError **error)
{
    HzLeaf leaf = 0;

    if (!hz_tc_probe_qdisc(vnic->rtnl, "htb", error)) {
        return FALSE;
    }
    while (leaf < HZ_LEAF_PFIFO && !hz_tc_probe_qdisc(vnic->rtnl, hz_leaf_name(leaf), NULL)) {
        leaf++;
    }
    vnic->leaf = leaf;
    return TRUE;
}

gboolean hz_vnic_set_mode(HzVnic *vnic, HzMode mode, GError **error)
{
    GHashTableIter iter;
    gpointer line;

    if (mode == HZ_MODE_ENFORCE && vnic->leaf == HZ_LEAF_N && !probe(vnic, error)) {
        return FALSE;
    }
    vnic->mode = mode;
    g_hash_table_iter_init(&iter, vnic->lines);
    while (g_hash_table_iter_next(&iter, NULL, &line)) {
        hz_watch_reset(vnic, line);
    }
    return TRUE;
}

static gboolean check_wanted(const HzWanted *wanted, guint n, GError **error)
{
    g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < n; i++) {
        const HzWanted *w = &wanted[i];
        const char *other;

        if (w->shape && w->rate < HZ_RATE_LEAST) {
            g_set_error(error, HZ_VNIC_ERROR, 0, "%s: rate %" G_GUINT64_FORMAT
                        " B/s is below the least that can be kept, %d B/s",
                        w->key, w->rate, HZ_RATE_LEAST);
            return FALSE;
        }
        if (w->static_rate && w->static_rate < HZ_RATE_LEAST) {
            g_set_error(error, HZ_VNIC_ERROR, 0, "%s: static-rate %" G_GUINT64_FORMAT
                        " B/s is below the least that can be kept, %d B/s",
                        w->key, w->static_rate, HZ_RATE_LEAST);
            return FALSE;
        }
        if (!g_hash_table_add(keys, (gpointer)w->key)) {
            g_set_error(error, HZ_VNIC_ERROR, 0, "%s is twice in the plan", w->key);
            return FALSE;
        }
        other = w->ifname[0] ? g_hash_table_lookup(names, w->ifname) : NULL;
        if (other) {
            g_set_error(error, HZ_VNIC_ERROR, 0, "%s is claimed by both %s and %s", w->ifname,
                        other, w->key);
            return FALSE;
        }
        g_hash_table_insert(names, (gpointer)w->ifname, (gpointer)w->key);
    }
    return TRUE;
}

/* Loaded at most once a request, and only if someone needs it. */
static HzScene *scene_get(HzVnic *vnic, HzScene **scene, GError **error)
{
    if (!*scene) {
        *scene = hz_scene_new(vnic->rtnl, error);
    }
    return *scene;
}

/* The line of this key and NIC; one on another NIC is taken off there first. */
static HzLine *line_for(HzVnic *vnic, const HzWanted *w, HzScene **scene)
{
    HzLine *line = g_hash_table_lookup(vnic->lines, w->key);

    if (line && strcmp(line->ifname, w->ifname) != 0) {
        g_autoptr(GError) error = NULL;

        if (vnic->mode == HZ_MODE_ENFORCE &&
            (!scene_get(vnic, scene, &error) || !hz_line_clear(line, *scene, &error))) {
            g_warning("%s: leaving %s: %s", line->key, line->ifname, error->message);
        }
        g_clear_pointer(scene, hz_scene_free);
        g_hash_table_remove(vnic->lines, w->key);
        line = NULL;
    }
    if (!line) {
        line = hz_line_new(w->key, w->ifname);
        g_hash_table_insert(vnic->lines, line->key, line);
    }
    line->shape = w->shape;
    line->rate = w->rate;
    line->burst = w->burst;
    if (line->static_rate != w->static_rate) {
        line->static_rate = w->static_rate;
        line->settled = FALSE;  /* the note in the kernel is to be written anew */
    }
    return line;
}

static void apply_line(HzVnic *vnic, HzLine *line, HzScene **scene)
{
    g_autoptr(GError) error = NULL;

    if (vnic->mode == HZ_MODE_OFF) {
        line->state = HZ_LINE_UNSUPPORTED;
        g_strlcpy(line->detail, "this actuator is off", sizeof(line->detail));
        return;
    }
    if (line->retry) {
        line->state = HZ_LINE_FAILED;
        g_snprintf(line->detail, sizeof(line->detail),
                   "changed by other hands %u times in a row; waiting before the next try",
                   line->strikes);
        return;
    }
    if (vnic->mode == HZ_MODE_ENFORCE && hz_line_quick(line, vnic->rtnl, vnic->leaf)) {
        return;
    }
    if (!scene_get(vnic, scene, &error)) {
        line->state = HZ_LINE_FAILED;
        g_strlcpy(line->detail, error->message, sizeof(line->detail));
        return;
    }
    hz_line_converge(line, *scene, vnic->leaf, vnic->mode != HZ_MODE_ENFORCE);
}

/* Lines that aren't wanted any more. */
static void drop_lines(HzVnic *vnic, const HzWanted *wanted, guint n, HzScene **scene)
{
    g_autoptr(GHashTable) keep = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTableIter iter;
    gpointer value;

    for (guint i = 0; i < n; i++) {
        g_hash_table_add(keep, (gpointer)wanted[i].key);
    }
    g_hash_table_iter_init(&iter, vnic->lines);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        g_autoptr(GError) error = NULL;
        HzLine *line = value;

        if (g_hash_table_contains(keep, line->key)) {
            continue;
        }
        if (vnic->mode == HZ_MODE_ENFORCE &&
            (!scene_get(vnic, scene, &error) || !hz_line_clear(line, *scene, &error))) {
            g_warning("%s: leaving %s: %s", line->key, line->ifname, error->message);
        }
        g_hash_table_iter_remove(&iter);
    }
}

static gboolean known_nic(HzVnic *vnic, const char *ifname)
{
    GHashTableIter iter;
    gpointer line;

    g_hash_table_iter_init(&iter, vnic->lines);
    while (g_hash_table_iter_next(&iter, NULL, &line)) {
        if (strcmp(((HzLine *)line)->ifname, ifname) == 0) {
            return TRUE;
        }
    }
    return FALSE;
}

gboolean hz_vnic_del_orphans(HzVnic *vnic, HzScene *scene, GError **error)
{
    g_autoptr(HzBatch) batch = NULL;
    GHashTableIter iter;
    gpointer value;
    gboolean ok = TRUE;

    g_hash_table_iter_init(&iter, scene->links);
    while (ok && g_hash_table_iter_next(&iter, NULL, &value)) {
        const HzLink *link = value;
        int owner = hz_ifb_owner(link);

        if (owner && !hz_links_by_index(scene->links, owner)) {
            batch = batch ? batch : hz_batch_new(vnic->rtnl);
            hz_link_del(batch, link->ifindex);
            ok = hz_batch_commit(batch, error);
        }
    }
    return ok;
}

typedef void (*HzLeftoverFunc)(HzVnic *vnic, HzScene *scene, const HzLink *nic,
                               const HzNicState *state, GError **error);

static void clear_leftover(HzVnic *vnic G_GNUC_UNUSED, HzScene *scene, const HzLink *nic,
                           const HzNicState *state, GError **error)
{
    hz_datapath_tap.clear(scene, nic, state, error);
}

/* Whatever of ours is on NICs no line of the plan is about, or was. */
static gboolean sweep(HzVnic *vnic, HzScene *scene, HzLeftoverFunc func, GError **error)
{
    GError *first = NULL;
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, scene->links);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const HzLink *link = value;
        GError **slot = first ? NULL : &first;
        HzNicState state;

        if (!hz_ifb_owner(link) && !known_nic(vnic, link->name) &&
            hz_datapath_tap.look(scene, link, &state, slot) && state.ours) {
            func(vnic, scene, link, &state, slot);
        }
    }
    hz_vnic_del_orphans(vnic, scene, first ? NULL : &first);
    if (first) {
        g_propagate_error(error, first);
    }
    return !first;
}

GPtrArray *hz_vnic_apply(HzVnic *vnic, const HzWanted *wanted, guint n, GError **error)
{
    g_autoptr(HzScene) scene = NULL;
    g_autoptr(GPtrArray) lines = g_ptr_array_sized_new(n);

    if (!check_wanted(wanted, n, error)) {
        return NULL;
    }
    hz_watch_now(vnic);
    drop_lines(vnic, wanted, n, &scene);
    g_clear_pointer(&scene, hz_scene_free);
    for (guint i = 0; i < n; i++) {
        HzLine *line = line_for(vnic, &wanted[i], &scene);

        apply_line(vnic, line, &scene);
        g_ptr_array_add(lines, line);
    }
    if (vnic->mode == HZ_MODE_ENFORCE && !vnic->swept) {
        g_autoptr(GError) failed = NULL;

        vnic->swept = TRUE;
        if (!scene_get(vnic, &scene, &failed) ||
            !sweep(vnic, scene, clear_leftover, &failed)) {
            g_warning("clearing leftovers: %s", failed->message);
        }
    }
    hz_watch_index(vnic);
    return g_steal_pointer(&lines);
}

gboolean hz_vnic_forget(HzVnic *vnic, const char *const *keys, guint n, GError **error)
{
    g_autoptr(HzScene) scene = NULL;
    GError *first = NULL;

    hz_watch_now(vnic);
    for (guint i = 0; i < n; i++) {
        HzLine *line = g_hash_table_lookup(vnic->lines, keys[i]);
        GError **slot = first ? NULL : &first;

        if (line && scene_get(vnic, &scene, slot)) {
            hz_line_clear(line, scene, slot);
        }
        g_hash_table_remove(vnic->lines, keys[i]);
    }
    hz_watch_index(vnic);
    if (first) {
        g_propagate_error(error, first);
    }
    return !first;
}

gboolean hz_vnic_forget_all(HzVnic *vnic, GError **error)
{
    g_autoptr(HzScene) scene = hz_scene_new(vnic->rtnl, error);

    g_hash_table_remove_all(vnic->lines);
    hz_watch_index(vnic);
    return scene && sweep(vnic, scene, clear_leftover, error);
}

/* After a restart of ours hzd never came back: the note at the ifb says what the static rate is. */
static void lift_leftover(HzVnic *vnic, HzScene *scene, const HzLink *nic,
                          const HzNicState *state, GError **error)
{
    guint64 rate = hz_note_static_rate(state->note);
    HzShape want;
    int ifb;

    if (rate < HZ_RATE_LEAST || state->foreign[0] || !state->rx.has_leaf) {
        clear_leftover(vnic, scene, nic, state, error);
        return;
    }
    hz_shape_make(&want, rate, 0, nic->mtu, hz_largest_packet(nic), state->rx.shape.leaf);
    hz_datapath_tap.shape(scene, nic, state, &want, state->note, &ifb, error);
}

void hz_vnic_lift(HzVnic *vnic)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(HzScene) scene = NULL;
    GHashTableIter iter;
    gpointer value;

    hz_watch_now(vnic);
    scene = hz_scene_new(vnic->rtnl, &error);
    if (!scene || !sweep(vnic, scene, lift_leftover, &error)) {
        g_warning("lifting ceilings: %s", error->message);
    }
    g_hash_table_iter_init(&iter, vnic->lines);
    while (vnic->mode == HZ_MODE_ENFORCE && g_hash_table_iter_next(&iter, NULL, &value)) {
        HzLine *line = value;

        line->shape = line->shape && line->static_rate != 0;
        line->rate = line->static_rate;
        apply_line(vnic, line, &scene);
        if (line->state == HZ_LINE_FAILED) {
            g_warning("%s: lifting its ceiling: %s", line->key, line->detail);
        }
    }
    hz_watch_index(vnic);
}

static void observe_queues(HzVnic *vnic, const HzLink *nic, const HzNicState *state,
                           HzObserved *observed)
{
    const HzQueue *queue = state->rx.has_class ? &state->rx : &state->tx;
    HzQueueStats stats;

    observed->rate = queue->shape.rate;
    observed->burst = hz_shape_burst(&queue->shape, hz_largest_packet(nic));
    observed->leaf = queue->shape.leaf;
    if (state->rx.has_class && hz_queue_stats(vnic->rtnl, nic->ifindex, &stats, NULL)) {
        observed->rx_bytes = stats.bytes;
        observed->rx_drops = stats.drops;
    }
    if (state->tx.has_class && hz_queue_stats(vnic->rtnl, state->ifb, &stats, NULL)) {
        observed->tx_bytes = stats.bytes;
        observed->tx_drops = stats.drops;
    }
}

gboolean hz_vnic_observe(HzVnic *vnic, HzScene *scene, const char *ifname, HzObserved *observed,
                         GError **error)
{
    const HzLink *nic = hz_links_by_name(scene->links, ifname);
    const HzDatapath *datapath;
    HzNicState state;

    memset(observed, 0, sizeof(*observed));
    observed->leaf = HZ_LEAF_N;
    observed->exists = nic != NULL;
    datapath = hz_datapath_for(scene, ifname, nic, observed->why, sizeof(observed->why));
    if (!datapath) {
        return TRUE;
    }
    if (!datapath->look(scene, nic, &state, error)) {
        return FALSE;
    }
    observed->datapath = datapath->name;
    observed->shapeable = !state.foreign[0];
    g_strlcpy(observed->why, state.foreign, sizeof(observed->why));
    observed->ours = state.ours;
    if (state.rx.has_class || state.tx.has_class) {
        observe_queues(vnic, nic, &state, observed);
    }
    /* Both halves alike, or say which isn't. */
    if (state.ours && !state.foreign[0]) {
        hz_state_is(&state, &state.rx.shape, observed->why, sizeof(observed->why));
    }
    return TRUE;
}
