/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz-vnic watch: other hands on what is ours.
 *
 * The kernel notifies of every change of links and traffic control. One on a
 * NIC of the plan (or its ifb) that we did not ask for makes the line dirty,
 * and dirty lines are looked at once the main loop is idle. What was changed
 * is put back at once and reported. Changed again within a minute it is put
 * back only after a wait, which doubles up to ten minutes: we don't fight.
 * Another's qdisc at the NIC's root is not removed at all: then what is left of
 * ours goes, and the NIC is reported as unsupported until it is free again.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "vnic.h"

#define QUIET_US      (60 * G_TIME_SPAN_SECOND)
#define FIRST_WAIT_MS 250
#define LAST_WAIT_MS  (10 * 60 * 1000)

static void schedule_check(HzVnic *vnic);

static void tell(HzVnic *vnic, const HzLine *line, const char *action, const char *what)
{
    g_message("%s (%s): %s: %s", line->key, line->ifname, action, what);
    if (vnic->changed) {
        vnic->changed(line->key, what, action, vnic->opaque);
    }
}

void hz_watch_reset(HzVnic *vnic G_GNUC_UNUSED, HzLine *line)
{
    if (line->retry) {
        g_source_remove(line->retry);
        line->retry = 0;
    }
    line->strikes = 0;
}

static guint wait_ms(guint strikes)
{
    /* The first strike is met at once; 2^12 * 250 ms is above the most. */
    guint shift = MIN(strikes - 2, 12);

    return MIN(FIRST_WAIT_MS << shift, LAST_WAIT_MS);
}

typedef struct {
    HzVnic *vnic;
    HzLine *line;
} Retry;

static gboolean on_retry(gpointer opaque)
{
    Retry *retry = opaque;

    retry->line->retry = 0;
    retry->line->dirty = TRUE;
    schedule_check(retry->vnic);
    return G_SOURCE_REMOVE;
}

static void put_back_later(HzVnic *vnic, HzLine *line, const char *what)
{
    guint ms = wait_ms(line->strikes);
    Retry *retry = g_new(Retry, 1);
    g_autofree char *text = g_strdup_printf("%s: changed by other hands %u times in a row; "
                                            "next try in %u ms", what, line->strikes, ms);

    retry->vnic = vnic;
    retry->line = line;
    line->retry = g_timeout_add_full(G_PRIORITY_DEFAULT, ms, on_retry, retry, g_free);
    tell(vnic, line, "reported", text);
}

/* TRUE when it is to be put back now; FALSE when that has to wait. */
static gboolean strike(HzLine *line)
{
    gint64 now = g_get_monotonic_time();
    gint64 quiet = QUIET_US;

    if (line->strikes >= 2) {
        quiet = MAX(quiet, 2 * 1000 * (gint64)wait_ms(line->strikes));
    }
    if (now - line->last_strike > quiet) {
        line->strikes = 0;
    }
    line->strikes++;
    line->last_strike = now;
    return line->strikes < 2;
}

static void put_back(HzVnic *vnic, HzLine *line, HzScene *scene, const char *what)
{
    hz_line_converge(line, scene, vnic->leaf, FALSE);
    if (line->state == HZ_LINE_APPLIED) {
        tell(vnic, line, "re-asserted", what);
    } else if (line->state == HZ_LINE_UNSUPPORTED) {
        tell(vnic, line, "reported", line->detail);
    } else if (line->state == HZ_LINE_FAILED) {
        g_autofree char *text = g_strdup_printf("%s: %s", what, line->detail);

        tell(vnic, line, "reported", text);
    }
}

/* The NIC was shaped and is gone, has another name, or is another device of the same name. */
static void nic_gone(HzVnic *vnic, HzLine *line, HzScene *scene)
{
    const HzLink *renamed = hz_links_by_index(scene->links, line->ifindex);
    g_autoptr(GError) error = NULL;
    HzNicState state;

    if (renamed && hz_datapath_tap.look(scene, renamed, &state, &error) && state.ours) {
        hz_datapath_tap.clear(scene, renamed, &state, &error);
    }
    if (error) {
        g_warning("%s: leaving %s: %s", line->key, renamed->name, error->message);
    }
    hz_line_forget_kernel(line);
    hz_watch_reset(vnic, line);
    tell(vnic, line, "gone", renamed ? "the device has another name now" : "the device is gone");
}

static void check_settled(HzVnic *vnic, HzLine *line, HzScene *scene)
{
    char what[256];

    if (!hz_line_differs(line, scene, what, sizeof(what))) {
        /* Its MTU may be another, and the queue is to follow. */
        hz_line_converge(line, scene, vnic->leaf, FALSE);
        return;
    }
    line->settled = FALSE;
    if (strike(line)) {
        put_back(vnic, line, scene, what);
    } else {
        put_back_later(vnic, line, what);
    }
}

static void check_line(HzVnic *vnic, HzLine *line, HzScene *scene)
{
    const HzLink *nic = hz_links_by_name(scene->links, line->ifname);

    if (line->ifindex && (!nic || nic->ifindex != line->ifindex)) {
        nic_gone(vnic, line, scene);
    }
    if (line->retry || !line->shape) {
        return;
    }
    if (line->settled) {
        check_settled(vnic, line, scene);
    } else if (nic) {
        /* Back, freed by other hands, or its wait is over. */
        HzLineState before = line->state;

        hz_line_converge(line, scene, vnic->leaf, FALSE);
        if (line->state == HZ_LINE_APPLIED) {
            tell(vnic, line, "re-asserted", line->strikes ? "the wait is over"
                                                          : "it can be shaped now");
        } else if (line->state != before && line->state != HZ_LINE_UNCHANGED) {
            tell(vnic, line, "reported", line->detail);
        }
    }
}

static gboolean on_check(gpointer opaque)
{
    HzVnic *vnic = opaque;
    g_autoptr(GError) error = NULL;
    g_autoptr(HzScene) scene = NULL;
    GHashTableIter iter;
    gpointer value;

    vnic->check = 0;
    if (vnic->mode != HZ_MODE_ENFORCE) {
        return G_SOURCE_REMOVE;
    }
    scene = hz_scene_new(vnic->rtnl, &error);
    if (!scene) {
        g_warning("looking after a change: %s", error->message);
        return G_SOURCE_REMOVE;
    }
    g_hash_table_iter_init(&iter, vnic->lines);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        HzLine *line = value;

        if (line->dirty) {
            line->dirty = FALSE;
            check_line(vnic, line, scene);
        }
    }
    if (!hz_vnic_del_orphans(vnic, scene, &error)) {
        g_warning("removing the ifb of a device that is gone: %s", error->message);
    }
    hz_watch_index(vnic);
    return G_SOURCE_REMOVE;
}

static void schedule_check(HzVnic *vnic)
{
    if (!vnic->check) {
        /* Not at idle's own priority: hzd talking all the time must not keep us from looking. */
        vnic->check = g_idle_add_full(G_PRIORITY_DEFAULT, on_check, vnic, NULL);
    }
}

static void make_dirty(HzVnic *vnic, HzLine *line)
{
    if (line) {
        line->dirty = TRUE;
        schedule_check(vnic);
    }
}

static void on_link(HzVnic *vnic, const struct nlmsghdr *nlh)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
    g_autoptr(HzLink) link = NULL;
    char ifb[IFNAMSIZ];
    GHashTableIter iter;
    gpointer line;

    /* A bridge tells of its ports in the same words with a family of its own. */
    if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi) || ifi->ifi_family != AF_UNSPEC) {
        return;
    }
    make_dirty(vnic, g_hash_table_lookup(vnic->by_index, GINT_TO_POINTER(ifi->ifi_index)));
    hz_ifb_name(ifi->ifi_index, ifb);
    if (nlh->nlmsg_type == RTM_DELLINK && if_nametoindex(ifb)) {
        schedule_check(vnic);
    }
    link = nlh->nlmsg_type == RTM_NEWLINK ? hz_link_parse(nlh) : NULL;
    if (!link) {
        return;
    }
    g_hash_table_iter_init(&iter, vnic->lines);
    while (g_hash_table_iter_next(&iter, NULL, &line)) {
        if (strcmp(((HzLine *)line)->ifname, link->name) == 0) {
            make_dirty(vnic, line);
        }
    }
}

static void on_message(const struct nlmsghdr *nlh, gpointer opaque)
{
    HzVnic *vnic = opaque;

    switch (nlh->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        on_link(vnic, nlh);
        break;
    case RTM_NEWQDISC:
    case RTM_DELQDISC:
    case RTM_NEWTCLASS:
    case RTM_DELTCLASS:
    case RTM_NEWTFILTER:
    case RTM_DELTFILTER:
    case RTM_NEWCHAIN:
    case RTM_DELCHAIN:
        if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(struct tcmsg)) {
            const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);

            make_dirty(vnic, g_hash_table_lookup(vnic->by_index,
                                                 GINT_TO_POINTER(tcm->tcm_ifindex)));
        }
        break;
    }
}

static void on_lost(gpointer opaque)
{
    HzVnic *vnic = opaque;
    GHashTableIter iter;
    gpointer line;

    g_hash_table_iter_init(&iter, vnic->lines);
    while (g_hash_table_iter_next(&iter, NULL, &line)) {
        make_dirty(vnic, line);
    }
}

void hz_watch_now(HzVnic *vnic)
{
    GHashTableIter iter;
    gpointer value;

    hz_monitor_drain(vnic->monitor);
    /* What is dirty is not to be relied on; the check still tells of it. */
    if (vnic->check) {
        g_source_remove(vnic->check);
        on_check(vnic);
    }
    g_hash_table_iter_init(&iter, vnic->lines);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        if (((HzLine *)value)->dirty) {
            ((HzLine *)value)->settled = FALSE;
        }
    }
}

static void index_one(HzVnic *vnic, int ifindex, HzLine *line)
{
    if (ifindex) {
        g_hash_table_insert(vnic->by_index, GINT_TO_POINTER(ifindex), line);
    }
}

void hz_watch_index(HzVnic *vnic)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_remove_all(vnic->by_index);
    g_hash_table_iter_init(&iter, vnic->lines);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        HzLine *line = value;

        /* A NIC that isn't shaped (another's qdisc) is watched for the day it can be. */
        index_one(vnic, line->ifindex ? line->ifindex : (int)if_nametoindex(line->ifname), line);
        index_one(vnic, line->ifb, line);
    }
}

gboolean hz_watch_start(HzVnic *vnic, GError **error)
{
    static const HzMonitorOps ops = { .message = on_message, .lost = on_lost };

    vnic->monitor = hz_monitor_open(vnic->rtnl, &ops, vnic, error);
    return vnic->monitor != NULL;
}

void hz_watch_stop(HzVnic *vnic)
{
    if (vnic->check) {
        g_source_remove(vnic->check);
        vnic->check = 0;
    }
    g_clear_pointer(&vnic->monitor, hz_monitor_close);
}
