/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd state: small versioned files, replaced atomically. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_HEAD "hzd-state 1\n"
#define STATE_FILE_MAX (4 * 1024 * 1024)

struct HzState {
    char *dir;
    char *trouble;
    uint8_t secret[HZ_SECRET_LEN];
};

static gboolean io_error(GError **error, const char *path, const char *what)
{
    int err = errno;

    g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO, "%s: %s: %s", path, what, g_strerror(err));
    return FALSE;
}

/* Write, flush to the disk, rename over: a reader finds the old file or the new one, whole. */
static gboolean replace(const char *path, const void *data, size_t len, gboolean durable,
                        GError **error)
{
    g_autofree char *temp = g_strconcat(path, ".new", NULL);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    const char *p = data;

    if (fd < 0) {
        return io_error(error, temp, "can't be written");
    }
    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            io_error(error, temp, "can't be written");
            close(fd);
            g_unlink(temp);
            return FALSE;
        }
        p += n;
        len -= (size_t)n;
    }
    if (durable && fsync(fd)) {
        io_error(error, temp, "can't be flushed");
        close(fd);
        g_unlink(temp);
        return FALSE;
    }
    if (close(fd) || g_rename(temp, path)) {
        io_error(error, path, "can't be replaced");
        g_unlink(temp);
        return FALSE;
    }
    return TRUE;
}

static gboolean fresh_secret(HzState *state, const char *path, GError **error)
{
    if (getrandom(state->secret, HZ_SECRET_LEN, 0) != HZ_SECRET_LEN) {
        return io_error(error, path, "no random bytes");
    }
    return replace(path, state->secret, HZ_SECRET_LEN, TRUE, error);
}

static gboolean load_secret(HzState *state, GError **error)
{
    g_autofree char *path = g_build_filename(state->dir, "secret", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) why = NULL;
    gsize len;

    if (g_file_get_contents(path, &text, &len, &why)) {
        if (len != HZ_SECRET_LEN) {
            g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO,
                        "%s: a secret has %d bytes, this file %zu: put the right one back, or "
                        "remove it (notices then get new ids)", path, HZ_SECRET_LEN, len);
            return FALSE;
        }
        memcpy(state->secret, text, len);
        return TRUE;
    }
    if (!g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO, "the host's secret can't be read: %s",
                    why->message);
        return FALSE;
    }
    return fresh_secret(state, path, error);
}

HzState *hz_state_open(const char *dir, GError **error)
{
    HzState *state;

    if (g_mkdir_with_parents(dir, 0700)) {
        io_error(error, dir, "the state directory can't be made (state-dir= moves it)");
        return NULL;
    }
    state = g_new0(HzState, 1);
    state->dir = g_strdup(dir);
    if (!load_secret(state, error)) {
        hz_state_free(state);
        return NULL;
    }
    hz_state_probe(state, NULL);        /* without it hzd runs on: it is said, and promises less */
    return state;
}

void hz_state_free(HzState *state)
{
    if (state) {
        g_free(state->dir);
        g_free(state->trouble);
        explicit_bzero(state->secret, sizeof(state->secret));
        g_free(state);
    }
}

/* Keep what became of a write: NULL, or (taken) why it failed. */
static gboolean outcome(HzState *state, GError *why, GError **error)
{
    if (!why) {
        g_clear_pointer(&state->trouble, g_free);
        return TRUE;
    }
    /* said once, not at every attempt */
    if (!state->trouble) {
        g_warning("%s", why->message);
    }
    g_free(state->trouble);
    state->trouble = g_strdup(why->message);
    g_propagate_error(error, why);
    return FALSE;
}

gboolean hz_state_write(HzState *state, const char *name, const char *body, gboolean durable,
                        GError **error)
{
    g_autofree char *path = g_build_filename(state->dir, name, NULL);
    g_autofree char *text = g_strconcat(STATE_HEAD, body, NULL);
    GError *why = NULL;

    replace(path, text, strlen(text), durable, &why);
    return outcome(state, why, error);
}

gboolean hz_state_probe(HzState *state, GError **error)
{
    g_autofree char *path = g_build_filename(state->dir, "probe", NULL);
    GError *why = NULL;

    if (replace(path, STATE_HEAD, strlen(STATE_HEAD), FALSE, &why) && g_unlink(path)) {
        io_error(&why, path, "can't be removed");
    }
    return outcome(state, why, error);
}

char *hz_state_read(HzState *state, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(state->dir, name, NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) why = NULL;
    gsize len;

    if (!g_file_get_contents(path, &text, &len, &why)) {
        if (!g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
            g_propagate_error(error, g_steal_pointer(&why));
        }
        return NULL;
    }
    if (len > STATE_FILE_MAX || memchr(text, 0, len) || !g_str_has_prefix(text, STATE_HEAD)) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO,
                    "%s: damaged, or written by a newer hzd: expected it to start with '%.*s'",
                    path, (int)strlen(STATE_HEAD) - 1, STATE_HEAD);
        return NULL;
    }
    return g_strdup(text + strlen(STATE_HEAD));
}

gboolean hz_state_remove(HzState *state, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(state->dir, name, NULL);

    if (g_unlink(path) && errno != ENOENT) {
        return io_error(error, path, "can't be removed");
    }
    return TRUE;
}

void hz_state_id(const HzState *state, const char *tenant, const char *domain, const char *key,
                 uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, state->secret, HZ_SECRET_LEN);
    uint8_t digest[32];
    gsize len = sizeof(digest);

    /* with their terminators: no two different triples run together */
    g_hmac_update(hmac, (const guchar *)tenant, (gssize)strlen(tenant) + 1);
    g_hmac_update(hmac, (const guchar *)domain, (gssize)strlen(domain) + 1);
    g_hmac_update(hmac, (const guchar *)key, (gssize)strlen(key) + 1);
    g_hmac_get_digest(hmac, digest, &len);
    g_hmac_unref(hmac);
    memcpy(id, digest, VIRTIO_HZ_UUID_LEN);
}

const char *hz_state_trouble(const HzState *state)
{
    return state->trouble;
}
