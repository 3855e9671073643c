/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd config keys: every key there is, and how each kind of value is read.
 */
#include "config-int.h"
#include "core/vocabulary.h"
#include "ids.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#define SECOND 1000000000u

bool hz_config_name_ok(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    return n && n <= HZ_NAME_MAX && !name[n] && *name != '.' && *name != '-';
}

/* -- kinds of values ----------------------------------------------------- */

static const char *unit_example(enum hz_unit unit)
{
    return unit == HZ_UNIT_RATE ? "a rate such as 80Mbit or 10MB/s"
         : unit == HZ_UNIT_NS ? "a time such as 2s, 10m or 250ms" : "a number";
}

static gboolean read_number(HzConfigLoader *l, const HzConfigKey *key, uint64_t *v)
{
    int rc = hz_unit_parse(key->unit, l->value, v);
    char low[64], high[64];

    if (key->unit != HZ_UNIT_NONE && hz_unit_bare(l->value)) {
        return hz_config_bad(l, "a number of what? Give %s", unit_example(key->unit));
    }
    if (rc == -EINVAL) {
        return hz_config_bad(l, "not %s", unit_example(key->unit));
    }
    if (rc == -EDOM) {
        return hz_config_bad(l, "it can't be told exactly in whole %s",
                             *hz_unit_name(key->unit) ? hz_unit_name(key->unit) : "numbers");
    }
    if (rc || *v < key->min || *v > key->max) {
        hz_unit_format(key->unit, key->min, low, sizeof(low));
        hz_unit_format(key->unit, key->max, high, sizeof(high));
        return hz_config_bad(l, "it must be %s to %s", low, high);
    }
    return TRUE;
}

static gboolean set_u64(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    return read_number(l, key, field);
}

static gboolean set_u16(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    uint64_t v;

    if (!read_number(l, key, &v)) {
        return FALSE;
    }
    *(uint16_t *)field = (uint16_t)v;
    return TRUE;
}

static gboolean set_u8(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    uint64_t v;

    if (!read_number(l, key, &v)) {
        return FALSE;
    }
    *(uint8_t *)field = (uint8_t)v;
    return TRUE;
}

static gboolean set_max_pauses(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    HzConfigVm *vm = (HzConfigVm *)((char *)field - key->offset);

    vm->has_max_pauses = true;
    return set_u16(l, key, field);
}

static gboolean set_mode(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    (void)key;
    return hz_mode_by_name(l->value, field) || hz_config_bad(l, "it is off, observe or enforce");
}

static gboolean set_path(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    char **path = field;

    (void)key;
    if (!g_path_is_absolute(l->value)) {
        return hz_config_bad(l, "a path starts with '/'");
    }
    g_free(*path);
    *path = g_strdup(l->value);
    return TRUE;
}

static gboolean set_name(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    char **name = field;

    (void)key;
    if (!hz_config_name_ok(l->value)) {
        return hz_config_bad(l, "a name is 1 to %d of A-Z a-z 0-9 . _ - and starts with a letter, "
                             "a digit or _", HZ_NAME_MAX);
    }
    g_free(*name);
    *name = g_strdup(l->value);
    return TRUE;
}

#define IFNAME_MAX 15   /* IFNAMSIZ - 1 */

static gboolean set_ifname(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    char **name = field;
    size_t n = strlen(l->value);

    (void)key;
    if (!n || n > IFNAME_MAX || strpbrk(l->value, "/: \t")) {
        return hz_config_bad(l, "an interface's name has 1 to %d bytes and no '/', ':' or space",
                             IFNAME_MAX);
    }
    g_free(*name);
    *name = g_strdup(l->value);
    return TRUE;
}

static gboolean set_uuid(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    HzConfigVm *vm = (HzConfigVm *)((char *)field - key->offset);

    vm->has_uuid = hz_id_parse(l->value, vm->uuid);
    return vm->has_uuid || hz_config_bad(l, "not a uuid (32 hexadecimal digits)");
}

/* The value's parts between @separators, stripped, none empty but for a last one. */
static char **split(const char *value, const char *separators)
{
    char **raw = g_strsplit_set(value, separators, -1);
    GPtrArray *parts = g_ptr_array_new();

    for (char **p = raw; *p; p++) {
        if (*g_strstrip(*p)) {
            g_ptr_array_add(parts, g_strdup(*p));
        }
    }
    g_ptr_array_add(parts, NULL);
    g_strfreev(raw);
    return (char **)g_ptr_array_free(parts, FALSE);
}

static gboolean set_qmp(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    char ***paths = field;

    (void)key;
    g_strfreev(*paths);
    *paths = split(l->value, ";");
    for (char **p = *paths; *p; p++) {
        if (!g_path_is_absolute(*p)) {
            return hz_config_bad(l, "'%s': a path starts with '/' (several are separated by ';')",
                                 *p);
        }
        if (strlen(*p) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
            return hz_config_bad(l, "'%s': a socket's path has at most 107 bytes", *p);
        }
    }
    return TRUE;
}

static gboolean unknown_kind(HzConfigLoader *l, const char *name)
{
    size_t n;
    const struct hz_kind *kinds = hz_kinds(&n);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const char *near;

    for (size_t i = 0; i < n; i++) {
        g_ptr_array_add(names, (gpointer)kinds[i].name);
    }
    g_ptr_array_add(names, NULL);
    near = hz_nearest(name, (const char *const *)names->pdata);
    if (near) {
        return hz_config_bad(l, "no kind of notice is called '%s'; did you mean '%s'?", name, near);
    }
    return hz_config_bad(l, "no kind of notice is called '%s' (nor all, none)", name);
}

static gboolean set_events(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    g_auto(GStrv) names = split(l->value, ",; ");
    uint32_t mask = 0;

    (void)key;
    for (char **name = names; *name; name++) {
        int kind = hz_kind_by_name(*name);

        if (!strcmp(*name, "all")) {
            mask = UINT32_MAX;
        } else if (kind > 0 && kind < 32) {
            mask |= 1u << kind;
        } else if (strcmp(*name, "none")) {
            return unknown_kind(l, *name);
        }
    }
    *(uint32_t *)field = mask;
    return TRUE;
}

static gboolean read_uid(const char *text, uid_t *uid)
{
    guint64 v;

    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32 - 1, &v, NULL)) {
        return FALSE;
    }
    *uid = (uid_t)v;
    return TRUE;
}

static gboolean set_identity(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    HzConfigVm *vm = (HzConfigVm *)((char *)field - key->offset);

    if (!strcmp(l->value, "qmp")) {
        vm->identity = HZ_IDENTITY_QMP;
    } else if (!strcmp(l->value, "socket")) {
        vm->identity = HZ_IDENTITY_SOCKET;
    } else if (g_str_has_prefix(l->value, "uid:") && read_uid(l->value + 4, &vm->uid)) {
        vm->identity = HZ_IDENTITY_UID;
    } else {
        return hz_config_bad(l, "it is qmp, socket or uid:NUMBER");
    }
    return TRUE;
}

static gboolean set_uids(HzConfigLoader *l, const HzConfigKey *key, gpointer field)
{
    g_auto(GStrv) parts = split(l->value, ",; ");
    GArray *uids = *(GArray **)field;

    (void)key;
    g_array_set_size(uids, 0);
    for (char **p = parts; *p; p++) {
        uid_t uid;

        if (!read_uid(*p, &uid)) {
            return hz_config_bad(l, "'%s' is no user's number", *p);
        }
        g_array_append_val(uids, uid);
    }
    return TRUE;
}

/* -- the keys ------------------------------------------------------------ */

#define DAY ((uint64_t)24 * 3600 * SECOND)
#define RATE_MAX (UINT64_C(100000000000000) / 8)     /* 100Tbit */

const HzConfigKey hz_config_host_keys[] = {
    { "mode", set_mode, offsetof(HzConfig, mode), 0, 0, 0 },
    { "run-dir", set_path, offsetof(HzConfig, run_dir), 0, 0, 0 },
    { "state-dir", set_path, offsetof(HzConfig, state_dir), 0, 0, 0 },
    { "audit", set_path, offsetof(HzConfig, audit_path), 0, 0, 0 },
    { "stale-after", set_u64, offsetof(HzConfig, stale_after_ns), SECOND, DAY, HZ_UNIT_NS },
    { "reset-grace", set_u64, offsetof(HzConfig, reset_grace_ns), 0, 60ull * SECOND, HZ_UNIT_NS },
    { "user-uids", set_uids, offsetof(HzConfig, user_uids), 0, 0, 0 },
};
const size_t hz_config_n_host_keys = G_N_ELEMENTS(hz_config_host_keys);

const HzConfigKey hz_config_uplink_keys[] = {
    { "capacity", set_u64, offsetof(HzConfigUplink, capacity), 125, RATE_MAX, HZ_UNIT_RATE },
};
const size_t hz_config_n_uplink_keys = G_N_ELEMENTS(hz_config_uplink_keys);

const HzConfigKey hz_config_actuator_keys[] = {
    { "mode", set_mode, offsetof(HzConfigActuator, mode), 0, 0, 0 },
};
const size_t hz_config_n_actuator_keys = G_N_ELEMENTS(hz_config_actuator_keys);

const HzConfigKey hz_config_vm_keys[] = {
    { "uuid", set_uuid, offsetof(HzConfigVm, uuid), 0, 0, 0 },
    { "tenant", set_name, offsetof(HzConfigVm, tenant), 0, 0, 0 },
    { "mode", set_mode, offsetof(HzConfigVm, mode), 0, 0, 0 },
    { "qmp", set_qmp, offsetof(HzConfigVm, qmp), 0, 0, 0 },
    { "identity", set_identity, offsetof(HzConfigVm, identity), 0, 0, 0 },
    { "priority", set_u8, offsetof(HzConfigVm, priority), 0, UINT8_MAX, HZ_UNIT_NONE },
    { "granularity", set_u8, offsetof(HzConfigVm, granularity), 0, 3, HZ_UNIT_NONE },
    { "events", set_events, offsetof(HzConfigVm, events), 0, 0, 0 },
    { "max-pauses-per-h", set_max_pauses, offsetof(HzConfigVm, max_pauses_per_h),
      0, UINT16_MAX, HZ_UNIT_NONE },
    { "extend-max", set_u64, offsetof(HzConfigVm, extend_max_ns), 0, 7 * DAY, HZ_UNIT_NS },
};
const size_t hz_config_n_vm_keys = G_N_ELEMENTS(hz_config_vm_keys);

const HzConfigKey hz_config_nic_keys[] = {
    { "ifname", set_ifname, offsetof(HzConfigNic, ifname), 0, 0, 0 },
    { "uplink", set_name, offsetof(HzConfigNic, uplink), 0, 0, 0 },
    { "net-min", set_u64, offsetof(HzConfigNic, ent_min), 0, RATE_MAX, HZ_UNIT_RATE },
    { "net-max", set_u64, offsetof(HzConfigNic, ent_max), 1, RATE_MAX, HZ_UNIT_RATE },
    { "net-weight", set_u16, offsetof(HzConfigNic, ent_weight), 1, 1000, HZ_UNIT_NONE },
};
const size_t hz_config_n_nic_keys = G_N_ELEMENTS(hz_config_nic_keys);
