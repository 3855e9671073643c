/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz doctor: looks at each link of the chain and says which one is missing. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/virtio_hz.h>

#include "agent-proto.h"
#include "core/vocabulary.h"
#include "hooks.h"

enum result { GOOD, NOTE, BAD };

struct doctor {
    struct json j;
    bool json, bad;
};

static void check(struct doctor *d, enum result result, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void check(struct doctor *d, enum result result, const char *name, const char *fmt, ...)
{
    static const char *const words[] = { "ok", "note", "FAIL" };
    static const char *const json_words[] = { "ok", "note", "fail" };
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    d->bad |= result == BAD;
    if (!d->json) {
        printf("%-5s %-10s %s\n", words[result], name, text);
        return;
    }
    json_begin(&d->j, NULL, '{');
    json_string(&d->j, "name", name);
    json_string(&d->j, "result", json_words[result]);
    json_string(&d->j, "text", text);
    json_end(&d->j, '}');
}

static bool first_line(const char *path, char *buf, size_t cap)
{
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(buf, (int)cap, f);

    if (f) {
        fclose(f);
    }
    if (ok) {
        buf[strcspn(buf, "\n")] = '\0';
    }
    return ok;
}

/* The name of this VM's hz device under /sys/bus/virtio/devices. */
static bool find_device(char *name, size_t cap)
{
    const char *bus = "/sys/bus/virtio/devices";
    struct dirent *e;
    bool found = false;
    DIR *dir = opendir(bus);

    while (dir && !found && (e = readdir(dir))) {
        char path[512], id[32];

        snprintf(path, sizeof(path), "%s/%s/device", bus, e->d_name);
        if (first_line(path, id, sizeof(id)) && strtoul(id, NULL, 16) == VIRTIO_ID_HZ) {
            snprintf(name, cap, "%s", e->d_name);
            found = true;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return found;
}

static void check_hardware(struct doctor *d)
{
    char name[256], path[512], version[64] = "of unknown version";
    bool have = find_device(name, sizeof(name));

    if (have) {
        check(d, GOOD, "device", "%s on the virtio bus", name);
    } else {
        check(d, BAD, "device", "this VM has no hz device: its provider must add virtio-hz-pci (or "
              "virtio-hz-device)");
    }
    if (access("/sys/module/virtio_hz", F_OK) < 0) {
        check(d, BAD, "driver", "virtio_hz isn't loaded: modprobe virtio_hz, or install it first "
              "(docs/tenant.md)");
        return;
    }
    first_line("/sys/module/virtio_hz/version", version, sizeof(version));
    snprintf(path, sizeof(path), "/sys/bus/virtio/devices/%s/driver", name);
    if (have && access(path, F_OK) < 0) {
        check(d, BAD, "driver", "virtio_hz %s is loaded but doesn't drive %s: dmesg says why",
              version, name);
    } else {
        check(d, GOOD, "driver", "virtio_hz %s is loaded", version);
    }
}

static void check_node(struct doctor *d, const char *path)
{
    struct stat st;
    struct group *g;

    if (stat(path, &st) < 0) {
        check(d, BAD, "node", "%s: %s", path, strerror(errno));
        return;
    }
    g = getgrgid(st.st_gid);
    if (access(path, R_OK | W_OK) < 0) {
        check(d, BAD, "node", "%s: this user may not open it: it belongs to group %s, mode %04o",
              path, g ? g->gr_name : "?", st.st_mode & 07777);
    } else if (st.st_mode & 0006) {
        check(d, NOTE, "node", "%s: everybody may open it, mode %04o", path, st.st_mode & 07777);
    } else {
        check(d, GOOD, "node", "%s: group %s, mode %04o", path, g ? g->gr_name : "?",
              st.st_mode & 07777);
    }
}

static void check_provider(struct doctor *d, const char *path)
{
    struct hz_about about;
    struct hz *hz;
    char id[37];
    int r = hz_open(&hz, NULL);

    if (r < 0) {
        check(d, BAD, "open", "%s: %s", path, open_error(r));
        return;
    }
    r = hz_about(hz, &about);
    hz_close(hz);
    if (r < 0) {
        check(d, BAD, "open", "%s: %s", path, hz_strerror(r));
        return;
    }
    format_uuid(about.generation, id);
    check(d, GOOD, "open", "protocol %u, %u declarations, %u notices, disruption %llu, "
          "generation %s", about.protocol, about.max_declarations, about.max_notices,
          (unsigned long long)about.disruption, id);
    if (about.provider) {
        check(d, GOOD, "provider", "is listening");
    } else {
        check(d, NOTE, "provider", "nobody is listening at the other end: declarations are kept "
              "until somebody does");
    }
    if (about.responder_taken) {
        check(d, GOOD, "responder", "some program answers notices");
    } else {
        check(d, NOTE, "responder", "nobody answers notices: start hz agent");
    }
}

static void check_agent(struct doctor *d)
{
    int fd = agent_connect();

    if (fd >= 0) {
        close(fd);
        check(d, GOOD, "agent", "listens at %s", agent_socket_path());
    } else if (fd == -ENOENT || fd == -ECONNREFUSED) {
        check(d, NOTE, "agent", "none is running: hz run answers for itself, and only one can");
    } else {
        check(d, BAD, "agent", "%s: %s", agent_socket_path(), strerror(-fd));
    }
}

static void check_hooks(struct doctor *d, const char *dir)
{
    const struct hz_kind *kind;
    unsigned all = 0, n;
    char path[512];
    size_t kinds, i;

    kind = hz_kinds(&kinds);
    for (i = 0; i < kinds; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, kind[i].name);
        hooks_free(hooks_list(path, &n));
        all += n;
    }
    if (all) {
        check(d, GOOD, "hooks", "%u in %s", all, dir);
    } else {
        check(d, NOTE, "hooks", "none in %s/KIND: without hooks and hz run, notices are only seen",
              dir);
    }
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor d = { .j = { .f = stdout } };
    const char *value;
    char name[64];
    int i = 1;

    while (option(argc, argv, &i, name, sizeof(name), &value)) {
        if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
            puts("usage: hz doctor [--json]\n\n"
                 "Looks at device, driver, permissions, provider and agent. Exit status 1: "
                 "something doesn't work.");
            return EXIT_OK;
        }
        if (strcmp(name, "--json") || value) {
            say("option '%s': there is only --json", name);
            return EXIT_USAGE;
        }
        d.json = true;
    }
    if (i < argc) {
        say("'%s': no argument is expected", argv[i]);
        return EXIT_USAGE;
    }
    if (d.json) {
        json_begin(&d.j, NULL, '{');
        json_string(&d.j, "version", hz_version());
        json_begin(&d.j, "checks", '[');
    }
    check_hardware(&d);
    check_node(&d, device_name());
    check_provider(&d, device_name());
    check_agent(&d);
    check_hooks(&d, "/etc/hz/hooks.d");
    if (d.json) {
        json_end(&d.j, ']');
        json_bool(&d.j, "ok", !d.bad);
        json_end(&d.j, '}');
        json_line(&d.j);
    }
    return d.bad ? EXIT_FAIL : EXIT_OK;
}
