/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: what a configuration becomes, and what each mistake is answered with.
 */
#include "core/world.h"
#include "hzd/config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static char *dir, *conf, *dropins;

static void write_file(const char *path, const char *text)
{
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static HzConfig *load(const char *text, GError **error)
{
    write_file(conf, text);
    return hz_config_load(conf, error);
}

/* The error names file, and each of the NULL-ended words. */
static void refused(const char *text, ...)
{
    g_autoptr(GError) error = NULL;
    HzConfig *c = load(text, &error);
    const char *word = conf;
    va_list ap;

    g_assert_null(c);
    va_start(ap, text);
    do {
        if (!strstr(error->message, word)) {
            g_error("'%s' doesn't say '%s'", error->message, word);
        }
    } while ((word = va_arg(ap, const char *)));
    va_end(ap);
}

static void test_defaults(void)
{
    g_autoptr(HzConfig) c = load("", NULL);

    g_assert_cmpint(c->mode, ==, HZ_MODE_OBSERVE);
    g_assert_cmpstr(c->run_dir, ==, "/run/hz");
    g_assert_cmpstr(c->state_dir, ==, "/var/lib/hz");
    g_assert_cmpstr(c->audit_path, ==, "/var/log/hz/audit.jsonl");
    g_assert_cmpuint(c->stale_after_ns, ==, 600000000000);
    g_assert_cmpuint(c->reset_grace_ns, ==, 2000000000);
    g_assert_cmpuint(c->vms->len, ==, 0);
    g_assert_cmpint(hz_config_actuator_mode(c, "vnic"), ==, HZ_MODE_UNSET);
}

static const char whole[] =
    "# all there is\n"
    "[host]\nmode = enforce\nrun-dir=/tmp/r\nstate-dir=/tmp/s\naudit=/tmp/a\n"
    "stale-after=90s\nreset-grace=250ms\nuser-uids=1000;1001\n"
    "[uplink wan]\ncapacity=80Mbit\n[uplink lan]\ncapacity=1Gbit\n"
    "[actuator vnic]\nmode=observe\n"
    "[vm b nic/1]\nifname=tap1\nuplink=wan\n"
    "[vm b]\nqmp=/q1 ; /q2\n"
    "[vm b nic/0]\nifname=tap0\nuplink=lan\nnet-min=8Mbit\nnet-max=16Mbit\nnet-weight=7\n"
    "[vm a]\nuuid=00112233-4455-6677-8899-aabbccddeeff\ntenant=acme\nmode=off\npriority=9\n"
    "granularity=3\nevents=pause, reclaim\nmax-pauses-per-h=4\nidentity=uid:64055\nextend-max=1m\n";

static void test_whole(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(HzConfig) c = load(whole, &error);
    const HzConfigVm *a, *b;
    const HzConfigNic *nic;

    g_assert_no_error(error);
    g_assert_cmpint(c->mode, ==, HZ_MODE_ENFORCE);
    g_assert_cmpuint(c->stale_after_ns, ==, 90000000000);
    g_assert_cmpuint(c->reset_grace_ns, ==, 250000000);
    g_assert_cmpuint(g_array_index(c->user_uids, uid_t, 1), ==, 1001);
    g_assert_cmpint(hz_config_actuator_mode(c, "vnic"), ==, HZ_MODE_OBSERVE);
    g_assert_cmpuint(hz_config_uplink(c, "lan")->id, ==, 0);    /* by order of the names */
    g_assert_cmpuint(hz_config_uplink(c, "wan")->id, ==, 1);
    g_assert_cmpuint(hz_config_uplink(c, "wan")->capacity, ==, 10000000);

    a = hz_config_vm(c, "a");
    g_assert_true(a->has_uuid);
    g_assert_cmphex(a->uuid[15], ==, 0xff);
    g_assert_cmpstr(a->tenant, ==, "acme");
    g_assert_cmpint(a->mode, ==, HZ_MODE_OFF);
    g_assert_cmpint(a->identity, ==, HZ_IDENTITY_UID);
    g_assert_cmpuint(a->uid, ==, 64055);
    g_assert_cmphex(a->events, ==, 1u << 1 | 1u << 4);          /* E1 and E4 */
    g_assert_true(a->has_max_pauses);
    g_assert_cmpuint(a->max_pauses_per_h, ==, 4);
    g_assert_cmpuint(a->extend_max_ns, ==, 60000000000);

    b = hz_config_vm(c, "b");
    g_assert_false(b->has_uuid);
    g_assert_cmpstr(b->tenant, ==, "b");
    g_assert_cmpint(b->mode, ==, HZ_MODE_UNSET);
    g_assert_cmpint(b->identity, ==, HZ_IDENTITY_QMP);          /* for it has qmp= */
    g_assert_cmpstr(b->qmp[0], ==, "/q1");
    g_assert_cmpstr(b->qmp[1], ==, "/q2");
    g_assert_null(b->qmp[2]);
    g_assert_cmpuint(b->nics->len, ==, 2);
    nic = b->nics->pdata[0];
    g_assert_cmpuint(nic->index, ==, 0);
    g_assert_cmpuint(nic->ent_min, ==, 1000000);
    g_assert_cmpuint(nic->ent_max, ==, 2000000);
    g_assert_cmpuint(nic->ent_weight, ==, 7);
    nic = b->nics->pdata[1];
    g_assert_cmpuint(nic->ent_min, ==, 0);
    g_assert_cmpuint(nic->ent_max, ==, HZ_RATE_NONE);
    g_assert_cmpuint(nic->ent_weight, ==, 100);
}

static void test_names(void)
{
    refused("[hosts]\n", "[hosts]", "did you mean 'host'?", NULL);
    refused("[zzzzzzz]\n", "there are: host, uplink, actuator, vm", NULL);
    refused("[host]\nmod=observe\n", "[host] mod=observe", "did you mean 'mode'?", NULL);
    refused("[vm a]\nx-y-z=1\n", "[vm a]", "unknown key 'x-y-z'", "uuid, tenant", NULL);
    refused("[uplink]\ncapacity=1Gbit\n", "[uplink NAME]", NULL);
    refused("[vm a nic/0 x]\n", "a section is written", NULL);
    refused("[vm a/b]\n", "'a/b' is no name", NULL);
    refused("[vm .a]\n", "no name", NULL);
    refused("[vm b]\nifname=t\n", "[vm b] ifname=t", "it belongs into [vm b nic/0]", NULL);
    refused("[vm b nic/0]\nqmp=/q\n", "it belongs into [vm b]", NULL);
    refused("[vm b]\ncapacity=1Gbit\n", "it belongs into [uplink NAME]", NULL);
    refused("[actuator foo]\nmode=off\n", "[actuator foo]", "there are: vnic", NULL);
    refused("[actuator vnik]\n", "did you mean 'vnic'?", NULL);
    refused("[vm a nik/0]\n", "nic/0 to nic/15", NULL);
    refused("[vm a nic/16]\n", "nic/0 to nic/15", NULL);
}

static void test_values(void)
{
    refused("[host]\nmode=on\n", "mode=on", "off, observe or enforce", NULL);
    refused("[host]\nrun-dir=run\n", "run-dir=run", "starts with '/'", NULL);
    refused("[host]\nstale-after=1ms\n", "stale-after=1ms", "1s to 24h", NULL);
    refused("[host]\nstale-after=soon\n", "a time such as", NULL);
    refused("[host]\nuser-uids=1,x\n", "'x' is no user's number", NULL);
    refused("[uplink a]\ncapacity=fast\n", "a rate such as", NULL);
    refused("[uplink a]\ncapacity=0\n", "capacity=0", "1kbit to 100Tbit", NULL);
    refused("[uplink a]\ncapacity=1000000000\n", "a number of what?", "80Mbit", NULL);
    refused("[vm a nic/0]\nnet-min=1000\n", "a number of what?", NULL);
    refused("[vm a]\nextend-max=60\n", "a number of what?", "2s, 10m", NULL);
    refused("[host]\nreset-grace=2\n", "a number of what?", NULL);
    refused("[vm a]\nuuid=1234\n", "uuid=1234", "32 hexadecimal", NULL);
    refused("[vm a]\nqmp=/a;b\n", "'b': a path starts with '/'", NULL);
    refused("[vm a]\nidentity=uid:\n", "qmp, socket or uid:NUMBER", NULL);
    refused("[vm a]\npriority=256\n", "0 to 255", NULL);
    refused("[vm a]\nevents=pause,reclame\n", "did you mean 'reclaim'?", NULL);
    refused("[vm a nic/0]\nifname=a/b\n", "1 to 15 bytes", NULL);
    refused("[vm a nic/0]\nnet-weight=0\n", "1 to 1000", NULL);
    refused("[vm a nic/0]\nnet-min=99999999999Tbit\n", "net-min=", NULL);
}

static void test_together(void)
{
    refused("[uplink a]\n", "[uplink a]", "capacity= is missing", NULL);
    refused("[vm a nic/0]\nifname=t\nuplink=u\n", "without a [vm a]", NULL);
    refused("[vm a]\n[vm a nic/0]\nifname=t\n", "[vm a nic/0]", "uplink= is missing", NULL);
    refused("[uplink want]\ncapacity=1Gbit\n[vm a]\n[vm a nic/0]\nifname=t\nuplink=wan\n",
            "no [uplink wan]", "did you mean 'want'?", NULL);
    refused("[uplink u]\ncapacity=1Gbit\n[vm a]\n[vm a nic/0]\nifname=t\nuplink=u\n"
            "net-min=2Mbit\nnet-max=1Mbit\n", "net-min=2Mbit is above net-max=1Mbit", NULL);
    refused("[vm a]\nidentity=qmp\n", "needs qmp=", NULL);
    refused("[vm a]\nqmp=/q\n[vm b]\nqmp=/q\n", "[vm b]", "VM 'a' has the same", NULL);
    refused("[host]\nrun-dir=/a23456789/123456789/123456789/123456789/123456789\n"
            "[vm a23456789_123456789_123456789_123456789_123456789_123]\n",
            "the limit is 107", NULL);
}

static char *warning;

static void on_printerr(const char *text)
{
    g_free(warning);
    warning = g_strdup(text);
}

/* What can be meant, on a smaller host of several, is said and taken. */
static void test_warned(void)
{
    GPrintFunc before = g_set_printerr_handler(on_printerr);
    g_autoptr(GError) error = NULL;
    g_autoptr(HzConfig) c = NULL;

    c = load("[uplink u]\ncapacity=1Gbit\n[vm a]\n[vm a nic/0]\nifname=t\nuplink=u\n"
             "net-min=2Gbit\n", &error);
    g_set_printerr_handler(before);
    g_assert_no_error(error);
    g_assert_nonnull(warning);
    g_assert_nonnull(strstr(warning, "[vm a nic/0] net-min=2Gbit is above capacity=1Gbit"));
    g_clear_pointer(&warning, g_free);
}

static void test_form(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *none = g_build_filename(dir, "none.conf", NULL);

    refused("# hz\n\nmode=observe\n", "line 3: 'mode=observe' stands before any section", NULL);
    refused("[host]\nmode\n", "line 2: 'mode' is no", NULL);
    refused("[host]\nmode=off\nmode=observe\n", "line 3", "a second time", NULL);
    refused("[host]\nmode=off\n[vm a]\n[host]\n", "line 4", "a second time", NULL);
    refused("[host]\nmode=\xff\n", NULL);
    g_assert_null(hz_config_load(none, &error));
    g_assert_nonnull(strstr(error->message, none));
}

static void test_dropins(void)
{
    g_autofree char *one = g_build_filename(dropins, "1.conf", NULL);
    g_autofree char *two = g_build_filename(dropins, "2.conf", NULL);
    g_autofree char *not = g_build_filename(dropins, "3.conf~", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(HzConfig) c = NULL;

    g_mkdir(dropins, 0700);
    write_file(one, "[vm a nic/0]\nifname=t\nuplink=u\n");
    write_file(two, "[vm a]\npriority=3\n");
    write_file(not, "garbage");
    c = load("[uplink u]\ncapacity=1Gbit\n", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(hz_config_vm(c, "a")->priority, ==, 3);
    g_assert_cmpuint(hz_config_vm(c, "a")->nics->len, ==, 1);
    g_assert_cmpstr(hz_config_vm(c, "a")->file, ==, two);

    write_file(one, "[uplink x]\ncapacity=1Gbit\n");
    g_assert_null(load("", &error));
    g_assert_nonnull(strstr(error->message, one));
    g_assert_nonnull(strstr(error->message, "[vm …] sections only"));
    g_clear_error(&error);
    write_file(one, "[vm a]\n");
    g_assert_null(load("", &error));
    g_assert_nonnull(strstr(error->message, two));
    g_assert_nonnull(strstr(error->message, "configured already"));
    g_unlink(one);
    g_unlink(two);
    g_unlink(not);
    g_rmdir(dropins);
}

static void test_json(void)
{
    g_autoptr(HzConfig) c = load(whole, NULL);
    g_autoptr(JsonObject) o = hz_config_json(c);
    JsonObject *a = json_array_get_object_element(json_object_get_array_member(o, "vms"), 0);

    g_assert_cmpstr(json_object_get_string_member(o, "mode"), ==, "enforce");
    g_assert_cmpstr(json_object_get_string_member(a, "identity"), ==, "uid:64055");
    g_assert_cmpuint(json_array_get_length(json_object_get_array_member(a, "events")), ==, 2);
}

int main(int argc, char **argv)
{
    int rc;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("hz-config-XXXXXX", NULL);
    conf = g_build_filename(dir, "hzd.conf", NULL);
    dropins = g_build_filename(dir, "vm.d", NULL);
    g_test_add_func("/config/defaults", test_defaults);
    g_test_add_func("/config/whole", test_whole);
    g_test_add_func("/config/names", test_names);
    g_test_add_func("/config/values", test_values);
    g_test_add_func("/config/together", test_together);
    g_test_add_func("/config/warned", test_warned);
    g_test_add_func("/config/form", test_form);
    g_test_add_func("/config/dropins", test_dropins);
    g_test_add_func("/config/json", test_json);
    rc = g_test_run();
    g_unlink(conf);
    g_rmdir(dir);
    g_free(dropins);
    g_free(conf);
    g_free(dir);
    return rc;
}
