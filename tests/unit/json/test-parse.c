/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test: what hz_json_parse() takes and refuses, and how the framer cuts a stream.
 */
#include "json/channel.h"
#include "json/frame.h"

#include <string.h>

static void taken(const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonObject) o = hz_json_parse(text, strlen(text), &error);

    g_assert_no_error(error);
    g_assert_nonnull(o);
}

static void refused_len(const char *text, gsize len, const char *because)
{
    g_autoptr(GError) error = NULL;
    JsonObject *o = hz_json_parse(text, len, &error);

    g_assert_null(o);
    g_assert_nonnull(error);
    if (!strstr(error->message, because)) {
        g_error("'%.60s' was refused with '%s', not '%s'", text, error->message, because);
    }
}

static void refused(const char *text, const char *because)
{
    refused_len(text, strlen(text), because);
}

static void test_good(void)
{
    taken("{}");
    taken(" \t\r\n{ } \n");
    taken("{\"a\":[1,-0,0.5,1e3,1E-2,true,false,null,\"x\",{\"b\":[]}]}");
    taken("{\"a\":\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\"}");
    taken("{\"a\":9223372036854775807,\"b\":-9223372036854775808}");
}

static void test_syntax(void)
{
    refused("", "nothing");
    refused("[]", "no object");
    refused("{", "doesn't end");
    refused("{\"a\"}", "without ':'");
    refused("{\"a\":}", "closes nothing");
    refused("{\"a\":1,}", "closes nothing");
    refused("{\"a\":[1,]}", "closes nothing");
    refused("{\"a\":[1}", "closes nothing");
    refused("{\"a\":1 2}", "a value where");
    refused("{1:2}", "where a name is due");
    refused("{\"a\":1}{", "after the object");
    refused("{'a':1}", "where a name is due");
    refused("{\"a\":tru}", "no JSON value");
    refused("{\"a\":truex}", "a value where");
    refused("{\"a\":\"x}", "doesn't end");
    refused("{\"a\":\"\\x\"}", "unknown escape");
    refused("{\"a\":\"\n\"}", "control character");
}

/* What json-glib would take, or break on. */
static void test_json_glib(void)
{
    refused("var a = {}", "no object");
    refused("{/* \" */\"a\":1}", "where a name is due");
    refused("{\"a\":1//\n}", "a value where");
    refused("{\"a\":0x10}", "a value where");
    refused("{\"a\":01}", "a value where");
    refused("{\"a\":\"\\u0000\"}", "\\u0000");
    refused("{\"a\":\"\\ud83d\"}", "surrogate");
    refused("{\"a\":\"\\ude00\"}", "surrogate");
    refused("{\"a\":\"\\ud83d\\u0041\"}", "surrogate");
    refused("{\"a\":\"\\u12", "hexadecimal");
    refused("{\"a\":18446744073709551616}", "64 bits");
    refused("{\"a\":-9223372036854775809}", "64 bits");
    refused("{\"a\":1e999}", "too large");
    refused("{\"a\":-}", "without digits");
    refused("{\"a\":1.}", "after its point");
    refused("{\"a\":1e+}", "exponent");
}

static void test_bytes(void)
{
    g_autofree char *big = g_strnfill(HZ_JSON_LINE_MAX + 1, ' ');

    refused_len("{}\0", 3, "UTF-8 at byte 2");
    refused("{\"a\":\"\xff\"}", "UTF-8 at byte 6");
    big[0] = '{';
    big[HZ_JSON_LINE_MAX] = '}';
    refused_len(big, HZ_JSON_LINE_MAX + 1, "the limit is 1048576");
    big[HZ_JSON_LINE_MAX - 1] = '}';
    big[HZ_JSON_LINE_MAX] = '\0';
    taken(big);
}

static char *nested(unsigned arrays)
{
    g_autofree char *open = g_strnfill(arrays, '[');
    g_autofree char *shut = g_strnfill(arrays, ']');

    return g_strdup_printf("{\"a\":%s%s}", open, shut);
}

static void test_depth(void)
{
    /* the object itself is a level */
    g_autofree char *fits = nested(HZ_JSON_DEPTH_MAX - 1);
    g_autofree char *deep = nested(HZ_JSON_DEPTH_MAX);
    g_autofree char *very = nested(400000);

    taken(fits);
    refused(deep, "too deep");
    refused(very, "too deep");
}

static void test_line(void)
{
    g_autoptr(JsonObject) o = json_object_new();
    g_autofree char *line = NULL;

    json_object_set_string_member(o, "a", "x\ny");
    line = hz_json_line(o);
    g_assert_cmpstr(line, ==, "{\"a\":\"x\\ny\"}\n");
}

/* What is read is written as JSON again: json-glib's own exponents aren't. */
static void test_exponents(void)
{
    const char *text = "{\"a\":1e100,\"b\":\"\\\"1e+5.0\\\\\",\"c\":[2.5e-200,-1e17,0.5]}";
    g_autoptr(JsonObject) o = hz_json_parse(text, strlen(text), NULL);
    g_autofree char *line = hz_json_line(o);
    g_autoptr(JsonObject) again = hz_json_parse(line, strlen(line), NULL);

    g_assert_nonnull(again);
    g_assert_cmpfloat(json_object_get_double_member(again, "a"), ==, 1e100);
    g_assert_cmpstr(json_object_get_string_member(again, "b"), ==, "\"1e+5.0\\");
    g_assert_cmpfloat(json_array_get_double_element(json_object_get_array_member(again, "c"), 1),
                      ==, -1e17);
}

/* Given byte by byte or at once, the same cuts. */
static void test_frame(void)
{
    const char *s = " \n{\"}\\\"\":[{}]}\r\n{}x";
    struct hz_json_frame f = { 0 };

    for (size_t n = 1; n < 14; n++) {
        g_assert_cmpint(hz_json_frame(&f, s, n), ==,
                        n < 3 ? HZ_JSON_FRAMED_NOTHING : HZ_JSON_FRAMED_PART);
    }
    /* the first '{' is byte 2, its end byte 14: `{"}\"":[{}]}` has 12 bytes */
    g_assert_cmpint(hz_json_frame(&f, s, strlen(s)), ==, HZ_JSON_FRAMED_WHOLE);
    g_assert_cmpuint(f.scanned, ==, 14);
    s += f.scanned;
    f = (struct hz_json_frame){ 0 };
    g_assert_cmpint(hz_json_frame(&f, s, strlen(s)), ==, HZ_JSON_FRAMED_WHOLE);
    g_assert_cmpuint(f.scanned, ==, 4);
    s += f.scanned;
    f = (struct hz_json_frame){ 0 };
    g_assert_cmpint(hz_json_frame(&f, s, strlen(s)), ==, HZ_JSON_FRAMED_GARBAGE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json/parse/good", test_good);
    g_test_add_func("/json/parse/syntax", test_syntax);
    g_test_add_func("/json/parse/json-glib", test_json_glib);
    g_test_add_func("/json/parse/bytes", test_bytes);
    g_test_add_func("/json/parse/depth", test_depth);
    g_test_add_func("/json/parse/line", test_line);
    g_test_add_func("/json/exponents", test_exponents);
    g_test_add_func("/json/frame", test_frame);
    return g_test_run();
}
