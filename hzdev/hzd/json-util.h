/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd json-util: the vocabulary's things as JSON. */
#ifndef HZ_HZD_JSON_UTIL_H
#define HZ_HZD_JSON_UTIL_H

#include <json-glib/json-glib.h>

#include "core/wire.h"

/*
 * {"net-min": 25000000, …}: numbers in the field's unit, ids and masks as
 * text, unknown fields by "0x…".
 */
JsonObject *hz_json_doc(const void *doc, size_t len);
JsonArray *hz_json_verdicts(const struct hz_verdict *v, unsigned count);
void hz_json_set_id(JsonObject *o, const char *name, const uint8_t id[VIRTIO_HZ_UUID_LEN]);
/* A uint64: as a number while JSON's integers hold it, else as text. */
void hz_json_set_u64(JsonObject *o, const char *name, uint64_t v);
/* A member, or @otherwise when it's absent or no integer. */
gint64 hz_json_int(JsonObject *o, const char *name, gint64 otherwise);
const char *hz_json_text(JsonObject *o, const char *name, const char *otherwise);
gboolean hz_json_bool(JsonObject *o, const char *name, gboolean otherwise);
/* NULL when there's no such object or array. */
JsonObject *hz_json_object(JsonObject *o, const char *name);
JsonArray *hz_json_array(JsonObject *o, const char *name);
/* The object at index @i, NULL when it's none. */
JsonObject *hz_json_at(JsonArray *a, guint i);

#endif /* HZ_HZD_JSON_UTIL_H */
