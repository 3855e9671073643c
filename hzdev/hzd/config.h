/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd config: what the operator wrote, as plain values with defaults filled in. */
#ifndef HZ_HZD_CONFIG_H
#define HZ_HZD_CONFIG_H

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In force is the least of host's, actuator's and VM's. UNSET (VM, actuator): as the host. */
typedef enum {
    HZ_MODE_OFF,
    HZ_MODE_OBSERVE,            /* touch nothing, say what would be done */
    HZ_MODE_ENFORCE,
    HZ_MODE_UNSET,
} HzMode;

const char *hz_mode_name(HzMode mode);                  /* "off" "observe" "enforce" "unset" */
bool hz_mode_by_name(const char *name, HzMode *mode);   /* the first three */

typedef enum {
    HZ_IDENTITY_QMP,            /* the link's pid is the one at the other end of a qmp= socket */
    HZ_IDENTITY_UID,            /* the link's uid */
    HZ_IDENTITY_SOCKET,         /* whoever may open the VM's socket */
} HzIdentity;

typedef struct {
    char *name;
    uint32_t id;                /* by order of the names */
    uint64_t capacity;          /* bytes/s */
} HzConfigUplink;

typedef struct {
    char *name;                 /* "vnic" */
    HzMode mode;
} HzConfigActuator;

typedef struct {
    unsigned index;             /* nic/N */
    char *ifname;
    char *uplink;               /* a [uplink NAME]; checked by the loader */
    uint64_t ent_min;           /* net-min, bytes/s, default 0 */
    uint64_t ent_max;           /* net-max, default HZ_RATE_NONE (UINT64_MAX) */
    uint16_t ent_weight;        /* net-weight, 1..1000, default 100 */
} HzConfigNic;

typedef struct {
    char *name;                 /* [A-Za-z0-9._-]{1,63} */
    char *file;                 /* where its section stands */
    uint8_t uuid[16];           /* RFC 4122 order */
    bool has_uuid;
    char *tenant;               /* default: the VM's name */
    HzMode mode;
    char **qmp;                 /* socket paths, NULL-ended; never NULL */
    HzIdentity identity;
    uid_t uid;                  /* identity=uid:N */
    uint8_t priority;           /* the most it may declare, and its default; default 100 */
    uint8_t granularity;        /* 0..3, default 2 */
    uint32_t events;            /* mask, bit E, of kinds it may be told; default all */
    bool has_max_pauses;
    uint16_t max_pauses_per_h;  /* the lowest limit it may declare, and its limit by default */
    uint64_t extend_max_ns;     /* extend-max: the most it may extend a deadline by; default 10m */
    GPtrArray *nics;            /* HzConfigNic, by ascending index */
} HzConfigVm;

typedef struct {
    char *path;
    HzMode mode;                /* default observe */
    char *run_dir, *state_dir, *audit_path;
    uint64_t stale_after_ns;    /* default 10m */
    uint64_t reset_grace_ns;    /* default 2s */
    GArray *user_uids;          /* uid_t: may use the read-only socket, besides root and hzd */
    GPtrArray *uplinks, *actuators, *vms;
} HzConfig;

/* @path, and *.conf in vm.d beside it. An error names file, group, key, value and what is right. */
HzConfig *hz_config_load(const char *path, GError **error);
void hz_config_free(HzConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HzConfig, hz_config_free)

const HzConfigUplink *hz_config_uplink(const HzConfig *config, const char *name);
const HzConfigVm *hz_config_vm(const HzConfig *config, const char *name);
/* UNSET when not named. */
HzMode hz_config_actuator_mode(const HzConfig *config, const char *name);

/* As query-config tells it. */
JsonObject *hz_config_json(const HzConfig *config);

#endif /* HZ_HZD_CONFIG_H */
