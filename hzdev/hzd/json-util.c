/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd json-util: the vocabulary's things as JSON. */
#include "json-util.h"

#include "core/vocabulary.h"
#include "ids.h"

void hz_json_set_u64(JsonObject *o, const char *name, uint64_t v)
{
    if (v <= G_MAXINT64) {
        json_object_set_int_member(o, name, (gint64)v);
    } else {
        g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, v);

        json_object_set_string_member(o, name, text);
    }
}

void hz_json_set_id(JsonObject *o, const char *name, const uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    g_autofree char *text = hz_id_text(id);

    json_object_set_string_member(o, name, text);
}

static void set_field(JsonObject *o, uint16_t id, const uint8_t *value, uint16_t len)
{
    const struct hz_field *f = hz_field_by_id(id);
    char text[128];
    uint64_t v;

    if (!f) {
        g_autofree char *name = g_strdup_printf("0x%04x", id);

        json_object_set_int_member(o, name, len);
    } else if (f->type <= HZ_TYPE_U64 && !hz_value_get(f, value, len, &v)) {
        hz_json_set_u64(o, f->name, v);
    } else if (hz_value_format(f, value, len, text, sizeof(text)) >= 0) {
        json_object_set_string_member(o, f->name, text);
    } else {
        json_object_set_null_member(o, f->name);
    }
}

JsonObject *hz_json_doc(const void *doc, size_t len)
{
    JsonObject *o = json_object_new();
    const uint8_t *value;
    uint16_t id, vlen;
    size_t pos = 0;

    while (hz_doc_next(doc, len, &pos, &id, &value, &vlen)) {
        set_field(o, id, value, vlen);
    }
    return o;
}

JsonArray *hz_json_verdicts(const struct hz_verdict *v, unsigned count)
{
    JsonArray *a = json_array_new();

    for (unsigned i = 0; i < count; i++) {
        const struct hz_field *f = hz_field_by_id(v[i].field);
        g_autofree char *id = g_strdup_printf("0x%04x", v[i].field);
        JsonObject *o = json_object_new();

        json_object_set_string_member(o, "field", f ? f->name : id);
        json_object_set_string_member(o, "verdict", hz_verdict_name(v[i].code));
        if (v[i].reason) {
            json_object_set_string_member(o, "reason", hz_reason_name(v[i].reason));
        }
        if (v[i].code == VIRTIO_HZ_VERDICT_CLAMPED) {
            hz_json_set_u64(o, "value", v[i].value);
        }
        json_array_add_object_element(a, o);
    }
    return a;
}

static JsonNode *member(JsonObject *o, const char *name, JsonNodeType type)
{
    JsonNode *node = o ? json_object_get_member(o, name) : NULL;

    return node && json_node_get_node_type(node) == type ? node : NULL;
}

gint64 hz_json_int(JsonObject *o, const char *name, gint64 otherwise)
{
    JsonNode *node = member(o, name, JSON_NODE_VALUE);

    return node && json_node_get_value_type(node) == G_TYPE_INT64 ? json_node_get_int(node)
                                                                   : otherwise;
}

const char *hz_json_text(JsonObject *o, const char *name, const char *otherwise)
{
    JsonNode *node = member(o, name, JSON_NODE_VALUE);

    return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                    : otherwise;
}

gboolean hz_json_bool(JsonObject *o, const char *name, gboolean otherwise)
{
    JsonNode *node = member(o, name, JSON_NODE_VALUE);

    return node && json_node_get_value_type(node) == G_TYPE_BOOLEAN ? json_node_get_boolean(node)
                                                                     : otherwise;
}

JsonObject *hz_json_object(JsonObject *o, const char *name)
{
    JsonNode *node = member(o, name, JSON_NODE_OBJECT);

    return node ? json_node_get_object(node) : NULL;
}

JsonArray *hz_json_array(JsonObject *o, const char *name)
{
    JsonNode *node = member(o, name, JSON_NODE_ARRAY);

    return node ? json_node_get_array(node) : NULL;
}

JsonObject *hz_json_at(JsonArray *a, guint i)
{
    JsonNode *node = json_array_get_element(a, i);

    return node && json_node_get_node_type(node) == JSON_NODE_OBJECT ? json_node_get_object(node)
                                                                     : NULL;
}
