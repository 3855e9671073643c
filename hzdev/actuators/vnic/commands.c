/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic commands: hzd's JSON commands, checked and given to the actuator (docs/actuators.md). */
#include "commands.h"

#include <string.h>

#define STALE_AFTER_MAX_MS (7 * 24 * 3600 * 1000)
#define KEY_MAX 127

JsonObject *hz_session_greeting(void)
{
    JsonObject *greeting = json_object_new();
    JsonObject *hz = json_object_new();

    json_object_set_string_member(hz, "actuator", "vnic");
    json_object_set_int_member(hz, "protocol", HZ_VNIC_PROTOCOL);
    json_object_set_int_member(hz, "protocol-min", HZ_VNIC_PROTOCOL_MIN);
    json_object_set_string_member(hz, "package", "hz " HZ_VERSION);
    json_object_set_object_member(greeting, "HZ", hz);
    return greeting;
}

G_GNUC_PRINTF(2, 3)
static gboolean bad(GError **error, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    if (error) {
        *error = g_error_new_valist(HZ_VNIC_ERROR, 0, format, ap);
    }
    va_end(ap);
    return FALSE;
}

static gboolean get_string(JsonObject *object, const char *name, const char **value,
                           GError **error)
{
    JsonNode *node = json_object_get_member(object, name);

    if (!node || !JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING) {
        return bad(error, "argument \"%s\" must be a string", name);
    }
    *value = json_node_get_string(node);
    return TRUE;
}

/* An integer in @least..@most; a missing one is @value as it stands if @optional. */
static gboolean get_int(JsonObject *object, const char *name, gboolean optional, gint64 least,
                        gint64 most, gint64 *value, GError **error)
{
    JsonNode *node = json_object_get_member(object, name);

    if (!node && optional) {
        return TRUE;
    }
    if (!node || !JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64) {
        return bad(error, "argument \"%s\" must be an integer", name);
    }
    *value = json_node_get_int(node);
    if (*value < least || *value > most) {
        return bad(error, "argument \"%s\" is %" G_GINT64_FORMAT ", not within %" G_GINT64_FORMAT
                   "..%" G_GINT64_FORMAT, name, *value, least, most);
    }
    return TRUE;
}

static gboolean get_bool(JsonObject *object, const char *name, gboolean *value, GError **error)
{
    JsonNode *node = json_object_get_member(object, name);

    if (!node || !JSON_NODE_HOLDS_VALUE(node) ||
        json_node_get_value_type(node) != G_TYPE_BOOLEAN) {
        return bad(error, "argument \"%s\" must be true or false", name);
    }
    *value = json_node_get_boolean(node);
    return TRUE;
}

static gboolean get_array(JsonObject *object, const char *name, JsonArray **value, GError **error)
{
    JsonNode *node = json_object_get_member(object, name);

    if (!node || !JSON_NODE_HOLDS_ARRAY(node)) {
        return bad(error, "argument \"%s\" must be an array", name);
    }
    *value = json_node_get_array(node);
    if (json_array_get_length(*value) > HZ_VNIC_LINES_MAX) {
        return bad(error, "argument \"%s\" has %u elements, more than %d", name,
                   json_array_get_length(*value), HZ_VNIC_LINES_MAX);
    }
    return TRUE;
}

/* A key and the NIC it names. */
static gboolean get_nic(JsonNode *node, const char **key, const char **ifname, GError **error)
{
    JsonObject *object;

    if (!JSON_NODE_HOLDS_OBJECT(node)) {
        return bad(error, "every line must be an object");
    }
    object = json_node_get_object(node);
    if (!get_string(object, "key", key, error) || !get_string(object, "ifname", ifname, error)) {
        return FALSE;
    }
    if (!(*key)[0] || strlen(*key) > KEY_MAX) {
        return bad(error, "key \"%s\" must have 1..%d characters", *key, KEY_MAX);
    }
    if (strlen(*ifname) >= IFNAMSIZ) {
        return bad(error, "ifname \"%s\" of %s is longer than %d characters", *ifname, *key,
                   IFNAMSIZ - 1);
    }
    return TRUE;
}

static JsonNode *object_node(JsonObject *object)
{
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);

    json_node_take_object(node, object);
    return node;
}

static gboolean parse_mode(const char *text, HzMode *mode, GError **error)
{
    static const char *const names[] = {
        [HZ_MODE_OFF] = "off",
        [HZ_MODE_OBSERVE] = "observe",
        [HZ_MODE_ENFORCE] = "enforce",
    };

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *mode = i;
            return TRUE;
        }
    }
    return bad(error, "mode \"%s\" is none of off, observe, enforce", text);
}

static JsonNode *configure(HzSession *session, JsonObject *arguments, GError **error)
{
    JsonArray *features = NULL;
    JsonObject *answer;
    const char *text = NULL;
    gint64 protocol = 0, stale = session->stale_after_ms;
    HzMode mode = HZ_MODE_OFF;

    if (!get_int(arguments, "protocol", FALSE, HZ_VNIC_PROTOCOL_MIN, HZ_VNIC_PROTOCOL, &protocol,
                 error) ||
        !get_int(arguments, "stale-after-ms", TRUE, 0, STALE_AFTER_MAX_MS, &stale, error) ||
        !get_string(arguments, "mode", &text, error) || !parse_mode(text, &mode, error) ||
        !hz_vnic_set_mode(session->vnic, mode, error)) {
        return NULL;
    }
    session->configured = TRUE;
    session->stale_after_ms = stale;

    answer = json_object_new();
    features = json_array_new();
    json_array_add_string_element(features, "tap");
    json_array_add_string_element(features, "veth");
    json_array_add_string_element(features, "both-directions");
    json_array_add_string_element(features, "counters");
    /* Not asked of the kernel before it is needed: observe leaves even its modules alone. */
    json_object_set_string_member(answer, "leaf", session->vnic->leaf == HZ_LEAF_N ?
                                  "unprobed" : hz_leaf_name(session->vnic->leaf));
    json_object_set_array_member(answer, "features", features);
    return object_node(answer);
}

static JsonObject *observed_line(const char *key, const char *ifname, const HzObserved *observed)
{
    JsonObject *line = json_object_new();

    json_object_set_string_member(line, "key", key);
    json_object_set_string_member(line, "ifname", ifname);
    json_object_set_boolean_member(line, "exists", observed->exists);
    if (observed->datapath) {
        json_object_set_string_member(line, "datapath", observed->datapath);
    }
    json_object_set_boolean_member(line, "shapeable", observed->shapeable);
    if (observed->why[0]) {
        json_object_set_string_member(line, "why", observed->why);
    }
    json_object_set_boolean_member(line, "ours", observed->ours);
    if (observed->ours) {
        json_object_set_int_member(line, "rate", observed->rate);
        json_object_set_int_member(line, "burst", observed->burst);
        json_object_set_string_member(line, "leaf", hz_leaf_name(observed->leaf));
        json_object_set_int_member(line, "rx-bytes", observed->rx_bytes);
        json_object_set_int_member(line, "tx-bytes", observed->tx_bytes);
        json_object_set_int_member(line, "rx-drops", observed->rx_drops);
        json_object_set_int_member(line, "tx-drops", observed->tx_drops);
    }
    return line;
}

static JsonNode *observe(HzSession *session, JsonObject *arguments, GError **error)
{
    g_autoptr(HzScene) scene = NULL;
    g_autoptr(JsonArray) lines = json_array_new();
    JsonObject *answer;
    JsonArray *keys;

    if (!get_array(arguments, "keys", &keys, error)) {
        return NULL;
    }
    scene = hz_scene_new(session->vnic->rtnl, error);
    if (!scene) {
        return NULL;
    }
    for (guint i = 0; i < json_array_get_length(keys); i++) {
        const char *key, *ifname;
        HzObserved observed;

        if (!get_nic(json_array_get_element(keys, i), &key, &ifname, error) ||
            !hz_vnic_observe(session->vnic, scene, ifname, &observed, error)) {
            return NULL;
        }
        json_array_add_object_element(lines, observed_line(key, ifname, &observed));
    }
    answer = json_object_new();
    json_object_set_array_member(answer, "lines", g_steal_pointer(&lines));
    return object_node(answer);
}

static gboolean get_wanted(JsonNode *node, HzWanted *wanted, GError **error)
{
    gint64 rate = 0, burst = 0, static_rate = 0;
    JsonObject *object;

    if (!get_nic(node, &wanted->key, &wanted->ifname, error)) {
        return FALSE;
    }
    object = json_node_get_object(node);
    if (!get_bool(object, "shape", &wanted->shape, error) ||
        !get_int(object, "rate", !wanted->shape, 0, G_MAXINT64, &rate, error) ||
        !get_int(object, "burst", TRUE, 0, G_MAXINT64, &burst, error) ||
        !get_int(object, "static-rate", TRUE, 0, G_MAXINT64, &static_rate, error)) {
        g_prefix_error(error, "%s: ", wanted->key);
        return FALSE;
    }
    wanted->rate = rate;
    wanted->burst = burst;
    wanted->static_rate = static_rate;
    return TRUE;
}

static JsonNode *results_node(GPtrArray *lines)
{
    JsonObject *answer = json_object_new();
    JsonArray *results = json_array_new();

    for (guint i = 0; i < lines->len; i++) {
        const HzLine *line = lines->pdata[i];
        JsonObject *result = json_object_new();

        json_object_set_string_member(result, "key", line->key);
        json_object_set_string_member(result, "state", hz_line_state_name(line->state));
        json_object_set_string_member(result, "detail", line->detail);
        if (line->settled) {
            json_object_set_int_member(result, "burst",
                                       hz_shape_burst(&line->have, line->largest));
        }
        json_array_add_object_element(results, result);
    }
    json_object_set_array_member(answer, "results", results);
    return object_node(answer);
}

static JsonNode *apply(HzSession *session, JsonObject *arguments, GError **error)
{
    g_autofree HzWanted *wanted = NULL;
    g_autoptr(GPtrArray) lines = NULL;
    gint64 epoch = 0;
    JsonArray *plan;
    guint n;

    if (!session->configured) {
        bad(error, "configure comes before apply");
        return NULL;
    }
    if (!get_int(arguments, "epoch", TRUE, 0, G_MAXINT64, &epoch, error) ||
        !get_array(arguments, "plan", &plan, error)) {
        return NULL;
    }
    n = json_array_get_length(plan);
    wanted = g_new0(HzWanted, n + 1);
    for (guint i = 0; i < n; i++) {
        if (!get_wanted(json_array_get_element(plan, i), &wanted[i], error)) {
            return NULL;
        }
    }
    lines = hz_vnic_apply(session->vnic, wanted, n, error);
    if (!lines) {
        return NULL;
    }
    session->applied = TRUE;
    return results_node(lines);
}

static JsonNode *forget(HzSession *session, JsonObject *arguments, GError **error)
{
    g_autofree const char **keys = NULL;
    gboolean all = FALSE;
    JsonArray *array;
    guint n;

    if (json_object_has_member(arguments, "all")) {
        if (!get_bool(arguments, "all", &all, error)) {
            return NULL;
        }
        if (!all) {
            bad(error, "argument \"all\" can only be true");
            return NULL;
        }
        return hz_vnic_forget_all(session->vnic, error) ? object_node(json_object_new()) : NULL;
    }
    if (!get_array(arguments, "keys", &array, error)) {
        return NULL;
    }
    n = json_array_get_length(array);
    keys = g_new0(const char *, n + 1);
    for (guint i = 0; i < n; i++) {
        JsonNode *node = json_array_get_element(array, i);

        if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING) {
            bad(error, "every key must be a string");
            return NULL;
        }
        keys[i] = json_node_get_string(node);
    }
    return hz_vnic_forget(session->vnic, keys, n, error) ? object_node(json_object_new()) : NULL;
}

JsonNode *hz_session_execute(HzSession *session, const char *command, JsonObject *arguments,
                             GError **error)
{
    static const struct {
        const char *name;
        JsonNode *(*handler)(HzSession *session, JsonObject *arguments, GError **error);
    } commands[] = {
        { "configure", configure },
        { "observe", observe },
        { "apply", apply },
        { "forget", forget },
    };
    g_autoptr(JsonObject) none = arguments ? NULL : json_object_new();

    for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(commands[i].name, command) == 0) {
            return commands[i].handler(session, arguments ? arguments : none, error);
        }
    }
    g_set_error(error, HZ_VNIC_ERROR, 1, "there is no command \"%s\"", command);
    return NULL;
}
