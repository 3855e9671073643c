/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic line: one NIC of the plan: what is wanted, what is known to be there. */
#include "line.h"

#include <stdio.h>
#include <string.h>

#define ETH_HEADER 14
#define NOTE_STATIC " static "

const char *hz_line_state_name(HzLineState state)
{
    static const char *const names[] = {
        [HZ_LINE_APPLIED] = "applied",
        [HZ_LINE_UNCHANGED] = "unchanged",
        [HZ_LINE_WOULD_APPLY] = "would-apply",
        [HZ_LINE_FAILED] = "failed",
        [HZ_LINE_UNSUPPORTED] = "unsupported",
    };

    return names[state];
}

HzLine *hz_line_new(const char *key, const char *ifname)
{
    HzLine *line = g_new0(HzLine, 1);

    line->key = g_strdup(key);
    line->ifname = g_strdup(ifname);
    return line;
}

void hz_line_free(HzLine *line)
{
    if (line) {
        if (line->retry) {
            g_source_remove(line->retry);
        }
        g_free(line->key);
        g_free(line->ifname);
        g_free(line);
    }
}

guint32 hz_largest_packet(const HzLink *nic)
{
    /* Kernels before 4.17 don't tell gso_max: it was 64 KiB for all. */
    return MAX(nic->gso_max ? nic->gso_max : 65536, nic->mtu + ETH_HEADER);
}

void hz_line_want(const HzLine *line, guint32 mtu, guint32 largest, HzLeaf leaf, HzShape *want)
{
    hz_shape_make(want, line->rate, line->burst, mtu, largest, leaf);
}

char *hz_line_note(const HzLine *line)
{
    return g_strdup_printf("hz: sent by %s," NOTE_STATIC "%" G_GUINT64_FORMAT " B/s",
                           line->ifname, line->static_rate);
}

guint64 hz_note_static_rate(const char *note)
{
    const char *at = note ? strstr(note, NOTE_STATIC) : NULL;

    return at ? g_ascii_strtoull(at + strlen(NOTE_STATIC), NULL, 10) : 0;
}

G_GNUC_PRINTF(3, 4)
static void result(HzLine *line, HzLineState state, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    g_vsnprintf(line->detail, sizeof(line->detail), format, ap);
    va_end(ap);
    line->state = state;
}

static void result_shaped(HzLine *line, HzLineState state)
{
    result(line, state, "%" G_GUINT64_FORMAT " B/s each way, at most %" G_GUINT64_FORMAT
           " B at once, %s", line->have.rate, hz_shape_burst(&line->have, line->largest),
           hz_leaf_name(line->have.leaf));
}

void hz_line_forget_kernel(HzLine *line)
{
    line->settled = FALSE;
    line->datapath = NULL;
    line->ifindex = 0;
    line->ifb = 0;
}

gboolean hz_line_quick(HzLine *line, HzRtnl *rtnl, HzLeaf leaf)
{
    g_autoptr(GError) error = NULL;
    HzShape want;

    if (!line->settled || !line->datapath || !line->shape) {
        return FALSE;
    }
    hz_line_want(line, line->mtu, line->largest, leaf, &want);
    if (want.leaf != line->have.leaf) {
        return FALSE;
    }
    if (hz_shape_same_class(&line->have, &want) && hz_shape_same_leaf(&line->have, &want)) {
        result_shaped(line, HZ_LINE_UNCHANGED);
        return TRUE;
    }
    if (!line->datapath->change(rtnl, line->ifindex, line->ifb, line->ifname, &line->have, &want,
                                &error)) {
        /* It isn't as it was known to be: look. */
        line->settled = FALSE;
        return FALSE;
    }
    line->have = want;
    result_shaped(line, HZ_LINE_APPLIED);
    return TRUE;
}

/* A NIC nothing may be done to. What is left of ours there goes. */
static void step_back(HzLine *line, HzScene *scene, const HzLink *nic, const HzDatapath *datapath,
                      const HzNicState *state, gboolean dry)
{
    g_autoptr(GError) error = NULL;

    line->state = HZ_LINE_UNSUPPORTED;
    if (state->ours && !dry && !datapath->clear(scene, nic, state, &error)) {
        result(line, HZ_LINE_FAILED, "removing what is ours: %s", error->message);
    }
    hz_line_forget_kernel(line);
}

static void shape_nic(HzLine *line, HzScene *scene, const HzLink *nic, const HzDatapath *datapath,
                      const HzNicState *state, HzLeaf leaf, gboolean dry)
{
    g_autofree char *note = hz_line_note(line);
    g_autoptr(GError) error = NULL;
    guint32 largest = hz_largest_packet(nic);
    char what[128];
    HzShape want;
    gboolean same;
    int ifb = state->ifb;

    if (leaf == HZ_LEAF_N) {
        /* Not probed, in observe: what is there is as good as any. */
        leaf = state->rx.has_leaf ? state->rx.shape.leaf : HZ_LEAF_PFIFO;
    }
    hz_line_want(line, nic->mtu, largest, leaf, &want);
    same = hz_state_is(state, &want, what, sizeof(what));
    if (dry && !same) {
        result(line, HZ_LINE_WOULD_APPLY, "%" G_GUINT64_FORMAT " B/s each way; now %s",
               want.rate, state->ours ? what : "not shaped by hz");
        return;
    }
    if (!dry && (!same || g_strcmp0(note, state->note) != 0) &&
        !datapath->shape(scene, nic, state, &want, note, &ifb, &error)) {
        result(line, HZ_LINE_FAILED, "%s", error->message);
        hz_line_forget_kernel(line);
        return;
    }
    /* After a dry look too little is known to go by it: the note may be another. */
    line->settled = !dry;
    line->datapath = datapath;
    line->ifindex = nic->ifindex;
    line->ifb = ifb;
    line->mtu = nic->mtu;
    line->largest = largest;
    line->have = want;
    result_shaped(line, same ? HZ_LINE_UNCHANGED : HZ_LINE_APPLIED);
}

static void unshape_nic(HzLine *line, HzScene *scene, const HzLink *nic,
                        const HzDatapath *datapath, const HzNicState *state, gboolean dry)
{
    g_autoptr(GError) error = NULL;

    if (!state->ours) {
        result(line, HZ_LINE_UNCHANGED, "not shaped");
    } else if (dry) {
        result(line, HZ_LINE_WOULD_APPLY, "no longer shaped");
    } else if (datapath->clear(scene, nic, state, &error)) {
        result(line, HZ_LINE_APPLIED, "no longer shaped");
    } else {
        result(line, HZ_LINE_FAILED, "%s", error->message);
    }
    if (!dry) {
        hz_line_forget_kernel(line);
    }
}

/* What is ours on a link that no datapath claims (any more): the same places are looked at. */
static void clear_unclaimed(HzLine *line, HzScene *scene, const HzLink *nic, gboolean dry)
{
    HzNicState state;

    if (nic && hz_datapath_tap.look(scene, nic, &state, NULL) && state.ours) {
        step_back(line, scene, nic, &hz_datapath_tap, &state, dry);
    } else {
        hz_line_forget_kernel(line);
    }
}

void hz_line_converge(HzLine *line, HzScene *scene, HzLeaf leaf, gboolean dry)
{
    const HzLink *nic = hz_links_by_name(scene->links, line->ifname);
    g_autoptr(GError) error = NULL;
    const HzDatapath *datapath;
    HzNicState state;

    datapath = hz_datapath_for(scene, line->ifname, nic, line->detail, sizeof(line->detail));
    if (!datapath) {
        line->state = HZ_LINE_UNSUPPORTED;
        clear_unclaimed(line, scene, nic, dry);
        return;
    }
    if (!datapath->look(scene, nic, &state, &error)) {
        result(line, HZ_LINE_FAILED, "%s", error->message);
        hz_line_forget_kernel(line);
    } else if (!line->shape) {
        unshape_nic(line, scene, nic, datapath, &state, dry);
    } else if (state.foreign[0]) {
        result(line, HZ_LINE_UNSUPPORTED, "%s: %s", line->ifname, state.foreign);
        step_back(line, scene, nic, datapath, &state, dry);
    } else {
        shape_nic(line, scene, nic, datapath, &state, leaf, dry);
    }
}

gboolean hz_line_clear(HzLine *line, HzScene *scene, GError **error)
{
    const HzLink *nic = hz_links_by_name(scene->links, line->ifname);
    HzNicState state;

    hz_line_forget_kernel(line);
    /* Whatever claims it now: our marks are looked for in the same places. */
    return !nic || (hz_datapath_tap.look(scene, nic, &state, error) &&
                    (!state.ours || hz_datapath_tap.clear(scene, nic, &state, error)));
}

gboolean hz_line_differs(HzLine *line, HzScene *scene, char *what, size_t cap)
{
    const HzLink *nic = hz_links_by_name(scene->links, line->ifname);
    const HzDatapath *datapath = hz_datapath_for(scene, line->ifname, nic, what, cap);
    HzNicState state;

    if (!datapath) {
        return TRUE;
    }
    if (!datapath->look(scene, nic, &state, NULL)) {
        g_strlcpy(what, "it can't be looked at", cap);
        return TRUE;
    }
    if (state.foreign[0]) {
        g_strlcpy(what, state.foreign, cap);
        return TRUE;
    }
    return !hz_state_is(&state, &line->have, what, cap);
}
