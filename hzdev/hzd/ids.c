/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd ids: 16 bytes as the text of a uuid and back. */
#include "ids.h"

#include <string.h>

char *hz_id_text(const uint8_t id[16])
{
    GString *s = g_string_sized_new(37);

    for (unsigned i = 0; i < 16; i++) {
        gboolean dash = i == 4 || i == 6 || i == 8 || i == 10;

        g_string_append_printf(s, "%s%02x", dash ? "-" : "", id[i]);
    }
    return g_string_free(s, FALSE);
}

bool hz_id_parse(const char *text, uint8_t id[16])
{
    unsigned digits = 0;

    for (const char *p = text; *p; p++) {
        int v = g_ascii_xdigit_value(*p);

        if (*p == '-' && (p - text == 8 || p - text == 13 || p - text == 18 || p - text == 23)) {
            continue;
        }
        if (v < 0 || digits >= 32) {
            return false;
        }
        id[digits / 2] = (uint8_t)(digits % 2 ? id[digits / 2] << 4 | v : v);
        digits++;
    }
    return digits == 32;
}
