/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz json parse: text to object and back, with every bound checked first.
 */
#include "json/channel.h"
#include "json/check.h"

G_DEFINE_QUARK(hz-json-error-quark, hz_json_error)

JsonObject *hz_json_parse(const char *text, gsize len, GError **error)
{
    g_autoptr(JsonParser) parser = NULL;
    const char *bad;
    size_t at;

    if (len > HZ_JSON_LINE_MAX) {
        g_set_error(error, HZ_JSON_ERROR, HZ_JSON_ERROR_INVALID,
                    "JSON of %zu bytes, the limit is %d", len, HZ_JSON_LINE_MAX);
        return NULL;
    }
    if (!g_utf8_validate_len(text, len, &bad)) {
        g_set_error(error, HZ_JSON_ERROR, HZ_JSON_ERROR_INVALID,
                    "JSON isn't UTF-8 at byte %td", bad - text);
        return NULL;
    }
    bad = hz_json_check(text, len, HZ_JSON_DEPTH_MAX, &at);
    if (bad) {
        g_set_error(error, HZ_JSON_ERROR, HZ_JSON_ERROR_INVALID,
                    "JSON has %s at byte %zu (limits: depth %d)",
                    bad, at, HZ_JSON_DEPTH_MAX);
        return NULL;
    }
    parser = json_parser_new();
    if (!json_parser_load_from_data(parser, text, (gssize)len, error)) {
        g_prefix_error(error, "JSON: ");
        return NULL;
    }
    return json_object_ref(json_node_get_object(json_parser_get_root(parser)));
}

/*
 * json-glib writes 1e100 as 1e+100.0, which is no JSON: take the ".0" after an
 * exponent away. In place; strings are skipped.
 */
static void mend_numbers(char *text)
{
    gboolean string = FALSE;
    char *out = text;

    for (const char *p = text; *p; ) {
        if (*p == '"') {
            string = !string;
        } else if (string && *p == '\\') {
            *out++ = *p++;
        }
        if (!string && *p == 'e' && (p[1] == '+' || p[1] == '-')) {
            for (*out++ = *p++, *out++ = *p++; g_ascii_isdigit(*p); ) {
                *out++ = *p++;
            }
            p += g_str_has_prefix(p, ".0") ? 2 : 0;
        } else {
            *out++ = *p++;
        }
    }
    *out = '\0';
}

char *hz_json_line(JsonObject *object)
{
    g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), object);
    g_autoptr(JsonGenerator) generator = json_generator_new();
    g_autofree char *text = NULL;

    json_generator_set_root(generator, root);
    text = json_generator_to_data(generator, NULL);
    mend_numbers(text);
    return g_strconcat(text, "\n", NULL);
}
