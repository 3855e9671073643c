/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic datapath: which NICs are claimed, and why others aren't; names and notes of ifbs. */
#include <glib.h>
#include <string.h>

#include "line.h"

static HzLink *add(HzScene *scene, int ifindex, const char *name, const char *kind)
{
    HzLink *link = g_new0(HzLink, 1);

    link->ifindex = ifindex;
    g_strlcpy(link->name, name, sizeof(link->name));
    g_strlcpy(link->kind, kind, sizeof(link->kind));
    g_hash_table_insert(scene->links, GINT_TO_POINTER(ifindex), link);
    return link;
}

static void init(HzScene *scene)
{
    memset(scene, 0, sizeof(*scene));
    scene->links = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)hz_link_free);
}

static void test_claims(void)
{
    HzScene scene;
    char why[256];
    HzLink *tap, *tun, *veth;

    init(&scene);
    tap = add(&scene, 1, "tapA", "tun");
    tap->tap = TRUE;
    tun = add(&scene, 2, "tunA", "tun");
    veth = add(&scene, 3, "vA", "veth");
    g_assert_true(hz_datapath_for(&scene, "tapA", tap, why, sizeof(why)) == &hz_datapath_tap);
    g_assert_true(hz_datapath_for(&scene, "vA", veth, why, sizeof(why)) == &hz_datapath_veth);
    g_assert_null(hz_datapath_for(&scene, "tunA", tun, why, sizeof(why)));
    g_assert_nonnull(strstr(why, "layer 3"));
    g_hash_table_unref(scene.links);
}

static void test_refuses(void)
{
    static const struct {
        const char *kind, *why;
    } cases[] = {
        { "", "a physical device" },
        { "macvtap", "of kind macvtap" },
        { "bridge", "of kind bridge" },
    };
    HzScene scene;
    char why[256];

    init(&scene);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        HzLink *link = add(&scene, i + 1, "X", cases[i].kind);

        g_assert_null(hz_datapath_for(&scene, "X", link, why, sizeof(why)));
        g_assert_nonnull(strstr(why, cases[i].why));
    }
    g_assert_null(hz_datapath_for(&scene, "Y", NULL, why, sizeof(why)));
    g_assert_cmpstr(why, ==, "Y: no such device");
    g_assert_null(hz_datapath_for(&scene, "", NULL, why, sizeof(why)));
    g_assert_nonnull(strstr(why, "vhost-user"));
    g_hash_table_unref(scene.links);
}

/* A port of Open vSwitch is known by what its master makes of it, or by its master. */
static void test_ovs(void)
{
    HzScene scene;
    char why[256];
    HzLink *by_slave, *by_master;

    init(&scene);
    by_slave = add(&scene, 1, "tapA", "tun");
    by_slave->tap = TRUE;
    g_strlcpy(by_slave->slave_kind, "openvswitch", sizeof(by_slave->slave_kind));
    add(&scene, 2, "ovs-system", "openvswitch");
    by_master = add(&scene, 3, "tapB", "tun");
    by_master->tap = TRUE;
    by_master->master = 2;
    g_assert_null(hz_datapath_for(&scene, "tapA", by_slave, why, sizeof(why)));
    g_assert_nonnull(strstr(why, "Open vSwitch"));
    g_assert_null(hz_datapath_for(&scene, "tapB", by_master, why, sizeof(why)));
    g_assert_nonnull(strstr(why, "Open vSwitch"));
    g_hash_table_unref(scene.links);
}

static void test_ifb(void)
{
    HzLink link = { .kind = "ifb", .group = HZ_MARK };

    /* The largest ifindex still makes a legal name. */
    hz_ifb_name(G_MAXINT32, link.name);
    g_assert_cmpstr(link.name, ==, "hzifb2147483647");
    g_assert_cmpint(hz_ifb_owner(&link), ==, G_MAXINT32);
    link.group = 0;
    g_assert_cmpint(hz_ifb_owner(&link), ==, 0);
    link.group = HZ_MARK;
    strcpy(link.kind, "dummy");
    g_assert_cmpint(hz_ifb_owner(&link), ==, 0);
    strcpy(link.kind, "ifb");
    strcpy(link.name, "hzifb12x");
    g_assert_cmpint(hz_ifb_owner(&link), ==, 0);
    strcpy(link.name, "hzifb-1");
    g_assert_cmpint(hz_ifb_owner(&link), ==, 0);
}

static void test_note(void)
{
    HzLine *line = hz_line_new("A/nic/0", "tapA");
    g_autofree char *note = NULL;

    line->static_rate = 1234567890123;
    note = hz_line_note(line);
    g_assert_cmpuint(hz_note_static_rate(note), ==, 1234567890123);
    g_assert_cmpuint(hz_note_static_rate(NULL), ==, 0);
    g_assert_cmpuint(hz_note_static_rate("another's words"), ==, 0);
    hz_line_free(line);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/datapath/claims", test_claims);
    g_test_add_func("/datapath/refuses", test_refuses);
    g_test_add_func("/datapath/ovs", test_ovs);
    g_test_add_func("/datapath/ifb", test_ifb);
    g_test_add_func("/datapath/note", test_note);
    return g_test_run();
}
