/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd capabilities: what this build can do. */
#include "capabilities.h"

#include <json-glib/json-glib.h>

#include "core/vocabulary.h"

static JsonArray *kinds_json(void)
{
    JsonArray *a = json_array_new();
    size_t n;
    const struct hz_kind *kinds = hz_kinds(&n);

    for (size_t i = 0; i < n; i++) {
        if (kinds[i].offered) {
            json_array_add_string_element(a, kinds[i].name);
        }
    }
    return a;
}

/* Fields somebody here acts on: a guest that declares another gets "recorded". */
static JsonArray *fields_json(void)
{
    JsonArray *a = json_array_new();
    size_t n;
    const struct hz_field *fields = hz_vocabulary(&n);

    for (size_t i = 0; i < n; i++) {
        if (!(fields[i].subjects & HZ_ON_NOTICE) && (fields[i].consumer == HZ_CONSUMER_HZD ||
                                                     fields[i].consumer == HZ_CONSUMER_VNIC)) {
            json_array_add_string_element(a, fields[i].name);
        }
    }
    return a;
}

static JsonArray *words(const char *const *list)
{
    JsonArray *a = json_array_new();

    for (; *list; list++) {
        json_array_add_string_element(a, *list);
    }
    return a;
}

char *hz_capabilities_text(void)
{
    static const char *const actuators[] = { "vnic", NULL }, *const backends[] = { "qmp", NULL };
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    JsonObject *o = json_object_new(), *wire = json_object_new();

    json_object_set_int_member(wire, "newest", VIRTIO_HZ_VERSION);
    json_object_set_int_member(wire, "oldest", VIRTIO_HZ_VERSION_MIN);
    json_object_set_string_member(o, "version", HZ_VERSION);
    json_object_set_object_member(o, "wire", wire);
    json_object_set_array_member(o, "vmm", words(backends));
    json_object_set_array_member(o, "actuators", words(actuators));
    json_object_set_array_member(o, "notices", kinds_json());
    json_object_set_array_member(o, "fields", fields_json());
    json_node_take_object(node, o);
    return json_to_string(node, TRUE);
}
