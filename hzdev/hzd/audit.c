/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzd audit: writing.
 */
#include "audit.h"
#include "json/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE 0640

struct HzAudit {
    char *path;
    int fd;
    uint64_t lost;          /* since start */
    uint64_t untold;        /* of these, not yet said in the log itself */
    gboolean torn;          /* the file ends inside a line */
    char *trouble;
};

static int open_log(const char *path, GError **error)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, MODE);
    struct stat st;

    if (fd < 0) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO, "audit log %s: can't open: %s "
                    "(audit= in [host] moves it)", path, g_strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        g_set_error(error, HZ_HZD_ERROR, HZ_HZD_ERROR_IO, "audit log %s: not a file", path);
        close(fd);
        return -1;
    }
    return fd;
}

/* A host that lost power, or a full disk, may have left half a line. */
static gboolean ends_torn(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    char last = '\n';

    if (end > 0 && pread(fd, &last, 1, end - 1) != 1) {
        last = '\n';
    }
    if (fd >= 0) {
        close(fd);
    }
    return last != '\n';
}

HzAudit *hz_audit_open(const char *path, GError **error)
{
    int fd = open_log(path, error);
    HzAudit *audit;

    if (fd < 0) {
        return NULL;
    }
    audit = g_new0(HzAudit, 1);
    audit->path = g_strdup(path);
    audit->fd = fd;
    audit->torn = ends_torn(path);
    return audit;
}

void hz_audit_close(HzAudit *audit)
{
    if (audit) {
        close(audit->fd);
        g_free(audit->path);
        g_free(audit->trouble);
        g_free(audit);
    }
}

gboolean hz_audit_reopen(HzAudit *audit, GError **error)
{
    int fd = open_log(audit->path, error);

    if (fd < 0) {
        return FALSE;
    }
    close(audit->fd);
    audit->fd = fd;
    audit->torn = ends_torn(audit->path);
    return TRUE;
}

/* The disk was full in the middle of a line: take its part back, so readers find whole lines. */
static gboolean take_back(int fd, ssize_t part)
{
    struct stat st;

    return !fstat(fd, &st) && st.st_size >= part && !ftruncate(fd, st.st_size - part);
}

/* One write. Where a part of a line has to stay, the next one starts on a line of its own. */
static gboolean write_line(HzAudit *audit, const char *line)
{
    g_autofree char *text = g_strconcat(audit->torn ? "\n" : "", line, NULL);
    size_t len = strlen(text);
    ssize_t n;

    do {
        n = write(audit->fd, text, len);
    } while (n < 0 && errno == EINTR);
    if (n == (ssize_t)len) {
        audit->torn = FALSE;
        return TRUE;
    }
    if (n > 0) {
        audit->torn |= !take_back(audit->fd, n);
        errno = ENOSPC;
    }
    return FALSE;
}

static void lost(HzAudit *audit)
{
    const char *why = g_strerror(errno);

    audit->lost++;
    audit->untold++;
    if (!audit->trouble) {
        g_printerr("hzd: audit log %s: can't write: %s; hzd goes on, lines are lost\n",
                   audit->path, why);
    }
    g_free(audit->trouble);
    audit->trouble = g_strdup(why);
}

static JsonObject *line_new(const char *event)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S.%fZ");
    gint64 us = g_date_time_to_unix(now) * G_USEC_PER_SEC + g_date_time_get_microsecond(now);
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "time", time);
    json_object_set_int_member(o, "us", us);
    json_object_set_string_member(o, "event", event);
    return o;
}

/* Writing works again: how many lines are missing here? */
static gboolean tell_gap(HzAudit *audit)
{
    g_autoptr(JsonObject) o = NULL;
    g_autofree char *line = NULL;

    if (!audit->untold) {
        return TRUE;
    }
    o = line_new("audit-gap");
    json_object_set_int_member(o, "lost", (gint64)audit->untold);
    line = hz_json_line(o);
    if (!write_line(audit, line)) {
        return FALSE;
    }
    g_printerr("hzd: audit log %s: writing works again, %" G_GUINT64_FORMAT " lines are lost\n",
               audit->path, audit->untold);
    audit->untold = 0;
    g_clear_pointer(&audit->trouble, g_free);
    return TRUE;
}

void hz_audit(HzHost *host, const char *event, JsonObject *data)
{
    g_autoptr(JsonObject) taken = data ? data : json_object_new();
    g_autoptr(JsonObject) o = NULL;
    g_autoptr(GList) names = NULL;
    g_autofree char *line = NULL;

    if (!host->audit) {
        return;
    }
    o = line_new(event);
    names = json_object_get_members(taken);
    for (GList *i = names; i; i = i->next) {
        if (!json_object_has_member(o, i->data)) {
            json_object_set_member(o, i->data, json_object_dup_member(taken, i->data));
        }
    }
    line = hz_json_line(o);
    if (!tell_gap(host->audit) || !write_line(host->audit, line)) {
        lost(host->audit);
    }
}

uint64_t hz_audit_lost(const HzAudit *audit)
{
    return audit->lost;
}

const char *hz_audit_trouble(const HzAudit *audit)
{
    return audit->trouble;
}

const char *hz_audit_path(const HzAudit *audit)
{
    return audit->path;
}
