/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON every socket speaks. The same bytes as one text, and as a stream
 * that comes in pieces: what is framed must not depend on how it came.
 */
#include "fuzz.h"
#include "json/channel.h"
#include "json/check.h"
#include "json/frame.h"

#include <string.h>

/* What is read is written as one line, and that line is read as the same again. */
static void parse(const char *text, size_t size)
{
    g_autoptr(GError) error = NULL, again_error = NULL;
    JsonObject *object = hz_json_parse(text, size, &error), *again;
    char *line, *line_again;

    CHECK(!object == !!error);
    if (!object) {
        CHECK(error->message[0]);
        return;
    }
    line = hz_json_line(object);
    CHECK(strchr(line, '\n') == line + strlen(line) - 1);
    again = hz_json_parse(line, strlen(line) - 1, &again_error);
    CHECK(again);
    line_again = hz_json_line(again);
    CHECK(!strcmp(line, line_again));
    g_free(line);
    g_free(line_again);
    json_object_unref(object);
    json_object_unref(again);
}

/* How the first object of the stream ends, when @step bytes come at a time. */
static enum hz_json_framed frame(const char *text, size_t size, size_t step, size_t *scanned)
{
    struct hz_json_frame f = { 0 };
    enum hz_json_framed how = HZ_JSON_FRAMED_NOTHING;

    for (size_t have = 0; have < size;) {
        have = size - have < step ? size : have + step;
        how = hz_json_frame(&f, text, have);
        CHECK(f.scanned <= have);
        if (how == HZ_JSON_FRAMED_WHOLE || how == HZ_JSON_FRAMED_GARBAGE) {
            break;
        }
    }
    *scanned = f.scanned;
    return how;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = (char *)tight_copy(data, size);
    size_t at_once, bytewise, at;

    if (size) {
        CHECK(frame(text, size, size, &at_once) == frame(text, size, 1, &bytewise));
        CHECK(at_once == bytewise);
        /* What the strict check takes is one whole frame. */
        if (!hz_json_check(text, size, HZ_JSON_DEPTH_MAX, &at)) {
            CHECK(frame(text, size, size, &at_once) == HZ_JSON_FRAMED_WHOLE);
        }
    }
    parse(text, size);
    free(text);
    return 0;
}
