/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd ids: 16 bytes as the text of a uuid and back. */
#ifndef HZ_HZD_IDS_H
#define HZ_HZD_IDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

char *hz_id_text(const uint8_t id[16]);                 /* free with g_free() */
bool hz_id_parse(const char *text, uint8_t id[16]);     /* with or without dashes */

#endif /* HZ_HZD_IDS_H */
