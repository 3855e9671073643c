/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: commands by dispatch alone: negotiation, rights, arguments, and what each answers.
 */
#include "hzd/commands.h"
#include "kit.h"

#include <string.h>

#define TWO_VMS "[uplink up]\ncapacity=80Mbit\n[vm A]\ntenant=acme\n[vm A nic/0]\n" \
                "ifname=tapA0\nuplink=up\n[vm B]\n"

typedef struct {
    Kit *kit;
    HzCaller caller;
    JsonObject *reply;
} Fixture;

static void set_up(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    f->kit = kit_new("mode=enforce", TWO_VMS);
    kit_start(f->kit);
    f->caller = (HzCaller){ TRUE, TRUE, (char *)"test" };
}

static void tear_down(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_clear_pointer(&f->reply, json_object_unref);
    kit_free(f->kit);
}

static void on_reply(JsonObject *reply, gpointer opaque)
{
    Fixture *f = opaque;

    g_assert_null(f->reply);
    f->reply = reply;
}

/* The whole reply to one line. */
static JsonObject *say(Fixture *f, const char *line)
{
    g_clear_pointer(&f->reply, json_object_unref);
    hz_commands_dispatch_line(f->kit->host, &f->caller, line, strlen(line), on_reply, f);
    WAIT(f->reply);
    return f->reply;
}

static JsonNode *good(Fixture *f, const char *line)
{
    JsonObject *o = say(f, line);

    if (!json_object_has_member(o, "return")) {
        g_error("%s: %s", line, hz_json_text(hz_json_object(o, "error"), "desc", "?"));
    }
    return json_object_get_member(o, "return");
}

static JsonObject *good_object(Fixture *f, const char *line)
{
    return json_node_get_object(good(f, line));
}

/* Refused with this class, the words in its description. */
static void bad(Fixture *f, const char *line, const char *klass, const char *words)
{
    JsonObject *e = hz_json_object(say(f, line), "error");

    g_assert_nonnull(e);
    g_assert_cmpstr(hz_json_text(e, "class", NULL), ==, klass);
    if (!strstr(hz_json_text(e, "desc", ""), words)) {
        g_error("%s: '%s' doesn't say '%s'", line, hz_json_text(e, "desc", ""), words);
    }
}

static void test_negotiation(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    JsonObject *greeting = hz_commands_greeting();
    JsonObject *qmp = hz_json_object(greeting, "QMP");

    g_assert_nonnull(hz_json_object(hz_json_object(qmp, "version"), "qemu"));
    g_assert_nonnull(hz_json_array(qmp, "capabilities"));
    json_object_unref(greeting);

    f->caller.negotiated = FALSE;
    bad(f, "{\"execute\":\"query-vms\"}", "CommandNotFound", "qmp_capabilities");
    bad(f, "{\"execute\":\"qmp_capabilities\",\"arguments\":{\"enable\":[\"oob\"]}}",
        "GenericError", "no capability");
    good(f, "{\"execute\":\"qmp_capabilities\",\"arguments\":{\"enable\":[]}}");
    g_assert_true(f->caller.negotiated);
    bad(f, "{\"execute\":\"qmp_capabilities\"}", "CommandNotFound", "already done");
}

static void test_messages(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    g_autofree char *id = NULL;
    JsonObject *o;

    bad(f, "nonsense", "GenericError", "no object");
    bad(f, "{}", "GenericError", "without 'execute'");
    bad(f, "{\"execute\":7}", "GenericError", "without 'execute'");
    bad(f, "{\"execute\":\"query-vms\",\"arguments\":[]}", "GenericError", "no object");
    bad(f, "{\"exec-oob\":\"query-vms\"}", "GenericError", "'exec-oob' is unexpected");
    bad(f, "{\"execute\":\"query-vmz\"}", "CommandNotFound", "did you mean 'query-vms'?");
    o = say(f, "{\"execute\":\"query-vms\",\"id\":{\"any\":[1,\"x\"]}}");
    id = json_to_string(json_object_get_member(o, "id"), FALSE);
    g_assert_cmpstr(id, ==, "{\"any\":[1,\"x\"]}");
    o = say(f, "{\"execute\":\"nothing\",\"id\":5}");
    g_assert_cmpint(hz_json_int(o, "id", 0), ==, 5);
    g_assert_nonnull(hz_json_object(o, "error"));
}

static void test_rights(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    static const char *const changing[] = {
        "notify", "drain", "notice-start", "notice-complete", "notice-cancel", "freeze", "thaw",
        "release", "set-mode", "reload",
    };

    f->caller.admin = FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(changing); i++) {
        g_autofree char *line = g_strdup_printf("{\"execute\":\"%s\"}", changing[i]);

        bad(f, line, "GenericError", "read-only socket");
    }
    g_assert_cmpuint(json_array_get_length(json_node_get_array(
        good(f, "{\"execute\":\"query-vms\"}"))), ==, 2);
}

/* Every command of the table is told with its arguments; the read-only socket's are fewer. */
static void test_query_commands(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    guint admin = json_array_get_length(json_node_get_array(
        good(f, "{\"execute\":\"query-commands\"}")));
    JsonArray *a;

    f->caller.admin = FALSE;
    a = json_node_get_array(good(f, "{\"execute\":\"query-commands\"}"));
    g_assert_cmpuint(admin, ==, json_array_get_length(a) + 10);
    for (guint i = 0; i < json_array_get_length(a); i++) {
        g_assert_nonnull(hz_json_text(hz_json_at(a, i), "name", NULL));
        g_assert_nonnull(hz_json_array(hz_json_at(a, i), "arguments"));
    }
}

static void test_arguments(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
#define NOTIFY(args) "{\"execute\":\"notify\",\"arguments\":{" args "}}"
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"deadlin\":\"1s\""), "InvalidArgument",
        "notify: unknown argument 'deadlin'; did you mean 'deadline'?");
    bad(f, NOTIFY("\"vms\":[\"A\"]"), "InvalidArgument", "'kind' is missing");
    bad(f, NOTIFY("\"kind\":7"), "InvalidArgument", "'kind' is 7: it must be a text");
    bad(f, NOTIFY("\"kind\":\"a\\u0001b\""), "InvalidArgument", "without control characters");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"deadline\":\"soon\""), "InvalidArgument",
        "'deadline' is \"soon\"");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"deadline\":\"90\""), "InvalidArgument",
        "with its unit");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\""), "InvalidArgument",
        "a 'deadline' is missing: VM 'A'");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"deadline\":-1"), "InvalidArgument", "'deadline' is -1");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"deadline\":\"400h\",\"duration\":\"9999h\""),
        "InvalidArgument", "up to 366 days");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"confidence\":1001"), "InvalidArgument", "0 to 1000");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"all\":1"), "InvalidArgument", "true or false");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":[]"), "InvalidArgument", "a list of texts");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":[\"A\",7]"), "InvalidArgument", "a list of texts");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"payload\":[]"), "InvalidArgument", "an object");
    bad(f, NOTIFY("\"kind\":\"reclame\",\"vms\":\"A\""), "InvalidArgument", "pause, reclaim");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"ack\":\"maybe\""), "InvalidArgument",
        "ack 'maybe': it is one of none, notify, gate, negotiate");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"state\":\"started\""), "InvalidArgument",
        "state 'started': it is one of advised, scheduled");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"cause\":\"whim\""), "InvalidArgument",
        "cause 'whim'");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"source\":\"god\""), "InvalidArgument",
        "source 'god'");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"payload\":{\"reclaim-acton\":\"stop\"}"),
        "InvalidArgument", "payload field 'reclaim-acton'");
    bad(f, NOTIFY("\"kind\":\"pause\",\"vms\":\"A\",\"payload\":{\"reclaim-action\":\"stop\"}"),
        "InvalidArgument", "kind pause has none of that name");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"payload\":{\"reclaim-action\":\"eat\"}"),
        "InvalidArgument", "'eat': it must be one of stop, hibernate, terminate, shrink");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"payload\":"
                  "{\"reclaim-survives\":\"all,most\"}"), "InvalidArgument",
        "memory, disk, net, gpu");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"payload\":{\"pause-measured\":\"1s\"}"),
        "InvalidArgument", "none of that name; there are: reclaim-action, reclaim-survives");
    bad(f, NOTIFY("\"kind\":\"pause\",\"vms\":\"A\",\"payload\":{\"pause-degraded\":\"100\"}"),
        "InvalidArgument", "'100': it must be 0s to");
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"C\""), "NotFound", "no VM 'C'");
    bad(f, "{\"execute\":\"query-vms\",\"arguments\":{\"x\":1}}", "InvalidArgument",
        "there are none");
    bad(f, "{\"execute\":\"query-audit\",\"arguments\":{\"limit\":1001}}", "InvalidArgument",
        "0 to 1000");
    bad(f, "{\"execute\":\"query-audit\",\"arguments\":{\"since\":\"yesterday\"}}",
        "InvalidArgument", "ISO 8601");
    bad(f, "{\"execute\":\"query-audit\",\"arguments\":{\"since\":\"-5\"}}", "InvalidArgument",
        "ISO 8601");
    bad(f, "{\"execute\":\"query-audit\",\"arguments\":{\"vm\":\"C\"}}", "NotFound", "no VM 'C'");
    bad(f, "{\"execute\":\"query-audit\",\"arguments\":{\"event\":\"xyzzy\"}}",
        "InvalidArgument", "no event 'xyzzy'; there are: start, stop");
    bad(f, "{\"execute\":\"notice-start\"}", "InvalidArgument", "not neither");
    bad(f, "{\"execute\":\"notice-start\",\"arguments\":{\"id\":\"x\",\"key\":\"y\"}}",
        "InvalidArgument", "not both");
    bad(f, "{\"execute\":\"set-mode\",\"arguments\":{\"mode\":\"on\"}}", "InvalidArgument",
        "off, observe, enforce");
    bad(f, "{\"execute\":\"set-mode\",\"arguments\":{\"mode\":\"off\",\"vm\":\"A\","
        "\"actuator\":\"vnic\"}}", "InvalidArgument", "not both at once");
    bad(f, "{\"execute\":\"release\",\"arguments\":{\"vm\":\"C\"}}", "NotFound", "'C'");
    bad(f, "{\"execute\":\"query-vm\",\"arguments\":{\"vm\":\"C\"}}", "NotFound", "'C'");
    /* what was asked for and refused is in the audit */
    g_assert_cmpuint(kit_audited(f->kit, "command-failed", "deadlin"), >, 0);
}

static void test_notice_life(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    JsonArray *a;
    JsonObject *o = good_object(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A,B\",\"key\":\"k\","
                                          "\"deadline\":\"1h\",\"cause\":\"maintenance\","
                                          "\"payload\":{\"reclaim-action\":\"terminate\"}"));

    g_assert_cmpstr(hz_json_text(o, "key", NULL), ==, "k");
    g_assert_cmpuint(json_array_get_length(hz_json_array(o, "notices")), ==, 2);
    a = json_node_get_array(good(f, "{\"execute\":\"query-notices\",\"arguments\":"
                                    "{\"vm\":\"A\"}}"));
    g_assert_cmpuint(json_array_get_length(a), ==, 1);
    o = hz_json_at(a, 0);
    g_assert_cmpstr(hz_json_text(o, "kind", NULL), ==, "reclaim");
    g_assert_cmpstr(hz_json_text(o, "cause", NULL), ==, "maintenance");
    g_assert_cmpstr(hz_json_text(hz_json_object(o, "payload"), "reclaim-action", NULL), ==,
                    "terminate");
    good(f, "{\"execute\":\"notice-start\",\"arguments\":{\"key\":\"k\",\"vm\":\"A\"}}");
    good(f, "{\"execute\":\"notice-complete\",\"arguments\":{\"key\":\"k\",\"vm\":\"A\"}}");
    good(f, "{\"execute\":\"notice-cancel\",\"arguments\":{\"key\":\"k\",\"vm\":\"B\"}}");
    a = json_node_get_array(good(f, "{\"execute\":\"query-notices\",\"arguments\":"
                                    "{\"open\":true,\"cause\":\"k\"}}"));
    g_assert_cmpuint(json_array_get_length(a), ==, 0);
    bad(f, "{\"execute\":\"notice-start\",\"arguments\":{\"key\":\"none\"}}", "NotFound", "none");
}

static void test_host(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    good(f, "{\"execute\":\"freeze\"}");
    g_assert_true(hz_json_bool(good_object(f, "{\"execute\":\"query-host\"}"), "frozen", FALSE));
    bad(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\""), "WrongState", "thaw");
    good(f, "{\"execute\":\"thaw\"}");
    good(f, "{\"execute\":\"set-mode\",\"arguments\":{\"mode\":\"observe\",\"vm\":\"A\"}}");
    g_assert_cmpstr(hz_json_text(good_object(f, "{\"execute\":\"query-vm\",\"arguments\":"
                                                "{\"vm\":\"A\"}}"), "mode", NULL), ==, "observe");
    good(f, "{\"execute\":\"release\"}");
    good(f, "{\"execute\":\"reload\"}");
    g_assert_nonnull(strstr(hz_json_text(good_object(f, "{\"execute\":\"query-metrics\"}"), "text",
                                         ""), "hzd_uptime_seconds"));
    g_assert_cmpstr(hz_json_text(good_object(f, "{\"execute\":\"query-config\"}"), "mode", NULL),
                    ==, "enforce");
    g_assert_cmpuint(kit_audited(f->kit, "request", "\"who\":\"test\""), >, 3);

    kit_rewrite(f->kit, "mode=perhaps", TWO_VMS);
    bad(f, "{\"execute\":\"reload\"}", "InvalidArgument", "mode=perhaps");
    good(f, "{\"execute\":\"query-vms\"}");
}

static void test_audit_and_why(Fixture *f, G_GNUC_UNUSED gconstpointer unused)
{
    JsonArray *a;

    good(f, NOTIFY("\"kind\":\"reclaim\",\"vms\":\"A\",\"deadline\":\"1h\""));
    a = json_node_get_array(good(f, "{\"execute\":\"query-audit\",\"arguments\":"
                                    "{\"vm\":\"A\",\"event\":\"notice\",\"since\":\"-1h\"}}"));
    g_assert_cmpuint(json_array_get_length(a), >, 0);
    a = json_node_get_array(good(f, "{\"execute\":\"query-audit\",\"arguments\":"
                                    "{\"until\":\"2020-01-01T00:00:00Z\"}}"));
    g_assert_cmpuint(json_array_get_length(a), ==, 0);
    WAIT(kit_audited(f->kit, "plan", "\"A/nic/0\""));
    /* whatever stands in the log may be asked for */
    a = json_array_ref(json_node_get_array(good(f, "{\"execute\":\"query-audit\"}")));
    g_assert_cmpuint(json_array_get_length(a), >, 2);
    for (guint i = 0; i < json_array_get_length(a); i++) {
        g_autofree char *line = g_strdup_printf("{\"execute\":\"query-audit\",\"arguments\":"
                                                "{\"event\":\"%s\"}}",
                                                hz_json_text(hz_json_at(a, i), "event", "?"));

        good(f, line);
    }
    json_array_unref(a);
    g_assert_cmpuint(json_array_get_length(hz_json_array(good_object(f,
        "{\"execute\":\"query-why\",\"arguments\":{\"vm\":\"A\"}}"), "plan")), ==, 1);
    bad(f, "{\"execute\":\"query-why\",\"arguments\":{\"vm\":\"A\",\"at\":\"-10h\"}}", "NotFound",
        "no plan about VM 'A'");
    bad(f, "{\"execute\":\"query-replay\",\"arguments\":{\"world\":{\"uplinks\":[7],"
        "\"nics\":[]}}}", "InvalidArgument", "id and capacity");
    bad(f, "{\"execute\":\"query-why\",\"arguments\":{\"vm\":\"C\"}}", "NotFound", "'C'");
}

#define ADD(name) \
    g_test_add("/commands/" #name, Fixture, NULL, set_up, test_##name, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD(negotiation);
    ADD(messages);
    ADD(rights);
    ADD(query_commands);
    ADD(arguments);
    ADD(notice_life);
    ADD(host);
    ADD(audit_and_why);
    return g_test_run();
}
