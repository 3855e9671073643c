/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd config, inside: a loader walks files, sections and keys; a key's row
 * says how its value is read and where it goes.
 */
#ifndef HZ_HZD_CONFIG_INT_H
#define HZ_HZD_CONFIG_INT_H

#include "config.h"
#include "core/units.h"

#define HZ_NAME_MAX 63

/* Where we are: what an error names. */
typedef struct {
    HzConfig *config;
    char *file, *group;         /* of the section that is being read */
    const char *key, *value;
    GError **error;
} HzConfigLoader;

typedef struct HzConfigKey HzConfigKey;
struct HzConfigKey {
    const char *name;
    gboolean (*set)(HzConfigLoader *l, const HzConfigKey *key, gpointer field);
    size_t offset;              /* of the field in the section's structure */
    uint64_t min, max;
    enum hz_unit unit;
};

/* Set "FILE: [GROUP] KEY=VALUE: …" and return FALSE. */
gboolean hz_config_bad(HzConfigLoader *l, const char *format, ...) G_GNUC_PRINTF(2, 3);

extern const HzConfigKey hz_config_host_keys[], hz_config_uplink_keys[],
    hz_config_actuator_keys[], hz_config_vm_keys[], hz_config_nic_keys[];
extern const size_t hz_config_n_host_keys, hz_config_n_uplink_keys,
    hz_config_n_actuator_keys, hz_config_n_vm_keys, hz_config_n_nic_keys;

/* [A-Za-z0-9._-]{1,63}, not starting with '.' or '-' */
bool hz_config_name_ok(const char *name);

/* What no single key can tell: names that must exist, values that must differ or fit together. */
gboolean hz_config_check(HzConfig *config, GError **error);

#endif /* HZ_HZD_CONFIG_INT_H */
