/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd config: hzd.conf and vm.d, read whole or refused whole.
 *
 * Each section becomes a structure with its defaults, then each of its keys is
 * looked up in the section's table (config-keys.c). A VM's own file may stand
 * in vm.d; [host], [uplink] and [actuator] belong into hzd.conf itself.
 */
#include "config-int.h"
#include "core/vocabulary.h"
#include "core/world.h"
#include "hzd.h"

#include <string.h>

#define DEFAULT_RUN_DIR   "/run/hz"
#define DEFAULT_STATE_DIR "/var/lib/hz"
#define DEFAULT_AUDIT     "/var/log/hz/audit.jsonl"
#define MINUTE ((uint64_t)60 * 1000000000u)
#define NICS_MAX 16         /* a VM's, nic/0 to nic/15: as many as a board has declarations */
#define FILE_MAX (16 * 1024 * 1024)

/* -- errors -------------------------------------------------------------- */

gboolean hz_config_bad(HzConfigLoader *l, const char *format, ...)
{
    g_autofree char *what = NULL;
    GString *where = g_string_new(l->file);
    va_list ap;

    va_start(ap, format);
    what = g_strdup_vprintf(format, ap);
    va_end(ap);
    if (l->group) {
        g_string_append_printf(where, ": [%s]", l->group);
    }
    if (l->key) {
        g_string_append_printf(where, " %s=%.200s", l->key, l->value ? l->value : "");
    }
    g_set_error(l->error, HZ_HZD_ERROR, HZ_HZD_ERROR_INVALID, "%s: %s", where->str, what);
    g_string_free(where, TRUE);
    return FALSE;
}

/* @names: the first member of @n structures @size bytes apart. */
static gboolean unknown(HzConfigLoader *l, const char *what, const char *name,
                        gconstpointer names, size_t n, size_t size)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_autofree char *all = NULL;
    const char *near;

    for (size_t i = 0; i < n; i++) {
        g_ptr_array_add(words, *(gpointer *)((char *)names + i * size));
    }
    g_ptr_array_add(words, NULL);
    near = hz_nearest(name, (const char *const *)words->pdata);
    if (near) {
        return hz_config_bad(l, "unknown %s '%s'; did you mean '%s'?", what, name, near);
    }
    all = g_strjoinv(", ", (char **)words->pdata);
    return hz_config_bad(l, "unknown %s '%s'; there are: %s", what, name, all);
}

/* -- sections ------------------------------------------------------------ */

/* A VM is made by its own section or by that of one of its NICs, whichever comes first. */
static HzConfigVm *vm_get(HzConfig *config, const char *name)
{
    HzConfigVm *vm = (HzConfigVm *)hz_config_vm(config, name);

    if (!vm) {
        vm = g_new0(HzConfigVm, 1);
        vm->name = g_strdup(name);
        vm->file = g_strdup(config->path);
        vm->mode = HZ_MODE_UNSET;
        vm->qmp = g_new0(char *, 1);
        vm->identity = (HzIdentity)-1;      /* by qmp=, once all is read */
        vm->priority = 100;
        vm->granularity = 2;
        vm->events = UINT32_MAX;
        vm->extend_max_ns = 10 * MINUTE;
        vm->nics = g_ptr_array_new();
        g_ptr_array_add(config->vms, vm);
    }
    return vm;
}

static gpointer open_host(HzConfigLoader *l, char **words)
{
    (void)words;
    return l->config;
}

static gpointer open_uplink(HzConfigLoader *l, char **words)
{
    HzConfigUplink *u = g_new0(HzConfigUplink, 1);

    u->name = g_strdup(words[1]);
    g_ptr_array_add(l->config->uplinks, u);
    return u;
}

static gpointer open_actuator(HzConfigLoader *l, char **words)
{
    HzConfigActuator *a = g_new0(HzConfigActuator, 1);

    a->name = g_strdup(words[1]);
    a->mode = HZ_MODE_UNSET;
    g_ptr_array_add(l->config->actuators, a);
    return a;
}

static gpointer open_vm(HzConfigLoader *l, char **words)
{
    HzConfigVm *vm = vm_get(l->config, words[1]);

    if (vm->tenant) {
        hz_config_bad(l, "VM '%s' has been configured already", words[1]);
        return NULL;
    }
    vm->tenant = g_strdup(words[1]);
    g_free(vm->file);
    vm->file = g_strdup(l->file);
    return vm;
}

static gpointer open_nic(HzConfigLoader *l, char **words)
{
    HzConfigVm *vm = vm_get(l->config, words[1]);
    HzConfigNic *nic;
    guint64 index;
    guint at = 0;

    if (!g_str_has_prefix(words[2], "nic/")
        || !g_ascii_string_to_unsigned(words[2] + 4, 10, 0, NICS_MAX - 1, &index, NULL)) {
        hz_config_bad(l, "'%s' should be nic/0 to nic/%d", words[2], NICS_MAX - 1);
        return NULL;
    }
    while (at < vm->nics->len && ((HzConfigNic *)vm->nics->pdata[at])->index < index) {
        at++;
    }
    if (at < vm->nics->len && ((HzConfigNic *)vm->nics->pdata[at])->index == index) {
        hz_config_bad(l, "VM '%s' has a nic/%u already", words[1], (unsigned)index);
        return NULL;
    }
    nic = g_new0(HzConfigNic, 1);
    nic->index = (unsigned)index;
    nic->ent_max = HZ_RATE_NONE;
    nic->ent_weight = 100;
    g_ptr_array_insert(vm->nics, (gint)at, nic);
    return nic;
}

typedef struct {
    const char *word;
    const char *form;           /* how it is written */
    guint words;
    gpointer (*open)(HzConfigLoader *l, char **words);
    const HzConfigKey *keys;
    const size_t *n_keys;
} Section;

static const Section sections[] = {
    { "host", "[host]", 1, open_host, hz_config_host_keys, &hz_config_n_host_keys },
    { "uplink", "[uplink NAME]", 2, open_uplink, hz_config_uplink_keys, &hz_config_n_uplink_keys },
    { "actuator", "[actuator NAME]", 2, open_actuator, hz_config_actuator_keys,
      &hz_config_n_actuator_keys },
    { "vm", "[vm NAME]", 2, open_vm, hz_config_vm_keys, &hz_config_n_vm_keys },
    { "vm", "[vm NAME nic/N]", 3, open_nic, hz_config_nic_keys, &hz_config_n_nic_keys },
};

static const Section *section_of(HzConfigLoader *l, char **words, gboolean dropin)
{
    guint n = g_strv_length(words);
    const Section *like = NULL;

    for (guint i = 0; i < G_N_ELEMENTS(sections); i++) {
        const Section *s = &sections[i];

        if (n && !strcmp(words[0], s->word)) {
            like = s;
            if (n == s->words) {
                break;
            }
        }
    }
    if (!like) {
        unknown(l, "section", n ? words[0] : "", sections, G_N_ELEMENTS(sections) - 1,
                sizeof(Section));
    } else if (n != like->words) {
        hz_config_bad(l, "a section is written %s", like->form);
    } else if (dropin && strcmp(like->word, "vm")) {
        hz_config_bad(l, "a file in vm.d has [vm …] sections only");
    } else if (n > 1 && !hz_config_name_ok(words[1])) {
        hz_config_bad(l, "'%s' is no name: 1 to %d of A-Z a-z 0-9 . _ -, not starting with . or -",
                      words[1], HZ_NAME_MAX);
    } else {
        return like;
    }
    return NULL;
}

/* A key that is right in another section: which, as it would be written for this name. */
static char *elsewhere(HzConfigLoader *l, const Section *s)
{
    g_auto(GStrv) words = g_strsplit(l->group, " ", -1);

    for (guint i = 0; i < G_N_ELEMENTS(sections); i++) {
        const Section *other = &sections[i];

        for (size_t k = 0; other != s && k < *other->n_keys; k++) {
            if (strcmp(other->keys[k].name, l->key)) {
                continue;
            }
            return strcmp(other->word, s->word) ? g_strdup(other->form)
                   : g_strdup_printf(other->words == 3 ? "[vm %s nic/0]" : "[vm %s]", words[1]);
        }
    }
    return NULL;
}

static gboolean read_key(HzConfigLoader *l, const Section *s, gpointer into)
{
    g_autofree char *where = NULL;

    for (size_t i = 0; i < *s->n_keys; i++) {
        if (!strcmp(s->keys[i].name, l->key)) {
            return s->keys[i].set(l, &s->keys[i], (char *)into + s->keys[i].offset);
        }
    }
    where = elsewhere(l, s);
    if (where) {
        return hz_config_bad(l, "unknown key '%s' here; it belongs into %s", l->key, where);
    }
    return unknown(l, "key", l->key, s->keys, *s->n_keys, sizeof(HzConfigKey));
}

static gboolean read_section(HzConfigLoader *l, GKeyFile *file, gboolean dropin)
{
    g_auto(GStrv) words = g_strsplit(l->group, " ", -1);
    g_auto(GStrv) keys = g_key_file_get_keys(file, l->group, NULL, NULL);
    const Section *s = section_of(l, words, dropin);
    gpointer into = s ? s->open(l, words) : NULL;
    gboolean ok = into != NULL;

    for (char **key = keys; ok && *key; key++) {
        g_autofree char *value = g_key_file_get_value(file, l->group, *key, NULL);

        l->key = *key;
        l->value = g_strstrip(value);
        ok = read_key(l, s, into);
        l->key = l->value = NULL;
    }
    return ok;
}

/* -- files --------------------------------------------------------------- */

/*
 * GKeyFile joins sections of one name and lets the last of two keys win:
 * neither is meant. And it says of what it can't read not where that stands.
 */
static gboolean lines_ok(HzConfigLoader *l, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const char *group = NULL;

    for (guint i = 0; lines[i]; i++) {
        char *line = g_strstrip(lines[i]), *equals = strchr(line, '=');
        g_autofree char *id = NULL;
        g_autofree char *name = NULL;

        if (!*line || *line == '#') {
            continue;
        }
        if (*line == '[') {
            group = line;
            id = g_strdup(line);
        } else if (!group) {
            return hz_config_bad(l, "line %u: '%.100s' stands before any section, such as [host]",
                                 i + 1, line);
        } else if (!equals) {
            return hz_config_bad(l, "line %u: '%.100s' is no [section], KEY = VALUE or # comment",
                                 i + 1, line);
        } else {
            name = g_strndup(line, (gsize)(equals - line));
            id = g_strdup_printf("%s %s", group, g_strstrip(name));
        }
        if (id && !g_hash_table_add(seen, g_steal_pointer(&id))) {
            return hz_config_bad(l, "line %u: '%.100s' stands there a second time", i + 1, line);
        }
    }
    return TRUE;
}

static gboolean read_text(HzConfigLoader *l, const char *text, gsize len, gboolean dropin)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) groups = NULL;

    if (!lines_ok(l, text)) {
        return FALSE;
    }
    if (!g_key_file_load_from_data(file, text, len, G_KEY_FILE_NONE, &error)) {
        return hz_config_bad(l, "%s", error->message);
    }
    groups = g_key_file_get_groups(file, NULL);
    for (char **group = groups; *group; group++) {
        l->group = *group;
        if (!read_section(l, file, dropin)) {
            return FALSE;
        }
        l->group = NULL;
    }
    return TRUE;
}

static gboolean read_file(HzConfigLoader *l, const char *path, gboolean dropin)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    gsize len;

    l->file = (char *)path;
    l->group = NULL;
    l->key = l->value = NULL;
    if (!g_file_get_contents(path, &text, &len, &error)) {
        g_set_error_literal(l->error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO, error->message);
        return FALSE;
    }
    if (len > FILE_MAX || strlen(text) != len) {
        return hz_config_bad(l, "no configuration file: %s",
                             len > FILE_MAX ? "it has more than 16 MiB" : "it has a zero byte");
    }
    return read_text(l, text, len, dropin);
}

static int by_name(gconstpointer a, gconstpointer b)
{
    /* Every element starts with its name. */
    return strcmp(**(char ***)a, **(char ***)b);
}

static int by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* vm.d beside the file; it needn't be there. Files in the order of their names. */
static gboolean read_dropins(HzConfigLoader *l, const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path);
    g_autofree char *dirname = g_build_filename(parent, "vm.d", NULL);
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    GDir *dir = g_dir_open(dirname, 0, &error);
    const char *name;

    if (!dir) {
        if (!g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
            g_set_error_literal(l->error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO, error->message);
            return FALSE;
        }
        return TRUE;
    }
    while ((name = g_dir_read_name(dir))) {
        if (g_str_has_suffix(name, ".conf") && *name != '.') {
            g_ptr_array_add(files, g_build_filename(dirname, name, NULL));
        }
    }
    g_dir_close(dir);
    g_ptr_array_sort(files, by_text);
    for (guint i = 0; i < files->len; i++) {
        if (!read_file(l, files->pdata[i], TRUE)) {
            return FALSE;
        }
    }
    return TRUE;
}

/* -- the whole ----------------------------------------------------------- */

static HzConfig *config_new(const char *path)
{
    HzConfig *c = g_new0(HzConfig, 1);

    c->path = g_strdup(path);
    c->mode = HZ_MODE_OBSERVE;
    c->run_dir = g_strdup(DEFAULT_RUN_DIR);
    c->state_dir = g_strdup(DEFAULT_STATE_DIR);
    c->audit_path = g_strdup(DEFAULT_AUDIT);
    c->stale_after_ns = 10 * MINUTE;
    c->reset_grace_ns = 2 * (uint64_t)1000000000u;
    c->user_uids = g_array_new(FALSE, FALSE, sizeof(uid_t));
    c->uplinks = g_ptr_array_new();
    c->actuators = g_ptr_array_new();
    c->vms = g_ptr_array_new();
    return c;
}

HzConfig *hz_config_load(const char *path, GError **error)
{
    g_autoptr(HzConfig) config = config_new(path);
    HzConfigLoader l = { .config = config, .error = error };

    if (!read_file(&l, path, FALSE) || !read_dropins(&l, path)) {
        return NULL;
    }
    g_ptr_array_sort(config->uplinks, by_name);
    g_ptr_array_sort(config->actuators, by_name);
    g_ptr_array_sort(config->vms, by_name);
    for (guint i = 0; i < config->uplinks->len; i++) {
        ((HzConfigUplink *)config->uplinks->pdata[i])->id = i;
    }
    return hz_config_check(config, error) ? g_steal_pointer(&config) : NULL;
}

static void vm_free(HzConfigVm *vm)
{
    for (guint i = 0; i < vm->nics->len; i++) {
        HzConfigNic *nic = vm->nics->pdata[i];

        g_free(nic->ifname);
        g_free(nic->uplink);
        g_free(nic);
    }
    g_ptr_array_unref(vm->nics);
    g_strfreev(vm->qmp);
    g_free(vm->tenant);
    g_free(vm->name);
    g_free(vm->file);
    g_free(vm);
}

void hz_config_free(HzConfig *c)
{
    for (guint i = 0; i < c->uplinks->len; i++) {
        g_free(((HzConfigUplink *)c->uplinks->pdata[i])->name);
        g_free(c->uplinks->pdata[i]);
    }
    for (guint i = 0; i < c->actuators->len; i++) {
        g_free(((HzConfigActuator *)c->actuators->pdata[i])->name);
        g_free(c->actuators->pdata[i]);
    }
    g_ptr_array_foreach(c->vms, (GFunc)(void (*)(void))vm_free, NULL);
    g_ptr_array_unref(c->uplinks);
    g_ptr_array_unref(c->actuators);
    g_ptr_array_unref(c->vms);
    g_array_unref(c->user_uids);
    g_free(c->path);
    g_free(c->run_dir);
    g_free(c->state_dir);
    g_free(c->audit_path);
    g_free(c);
}

/* -- looking things up --------------------------------------------------- */

static gpointer find(GPtrArray *array, const char *name)
{
    for (guint i = 0; i < array->len; i++) {
        if (!strcmp(*(char **)array->pdata[i], name)) {
            return array->pdata[i];
        }
    }
    return NULL;
}

const HzConfigUplink *hz_config_uplink(const HzConfig *config, const char *name)
{
    return find(config->uplinks, name);
}

const HzConfigVm *hz_config_vm(const HzConfig *config, const char *name)
{
    return find(config->vms, name);
}

HzMode hz_config_actuator_mode(const HzConfig *config, const char *name)
{
    const HzConfigActuator *a = find(config->actuators, name);

    return a ? a->mode : HZ_MODE_UNSET;
}

static const char *const mode_names[] = { "off", "observe", "enforce", "unset" };

const char *hz_mode_name(HzMode mode)
{
    return mode < G_N_ELEMENTS(mode_names) ? mode_names[mode] : "?";
}

bool hz_mode_by_name(const char *name, HzMode *mode)
{
    for (int i = HZ_MODE_OFF; i < HZ_MODE_UNSET; i++) {
        if (!strcmp(name, mode_names[i])) {
            *mode = (HzMode)i;
            return true;
        }
    }
    return false;
}
