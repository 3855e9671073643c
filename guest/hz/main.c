/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz: the tenant's command: finds the subcommand. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hz.h"

const char *command_name = "hz";

static const struct command commands[] = {
    { "declare", cmd_declare, "say what this VM can live with" },
    { "withdraw", cmd_withdraw, "take a declaration back" },
    { "show", cmd_show, "declarations with the provider's verdicts, and notices" },
    { "watch", cmd_watch, "print changes as they come" },
    { "reply", cmd_reply, "answer a notice by hand" },
    { "run", cmd_run, "run a program that gets ready when a notice comes" },
    { "agent", cmd_agent, "answer notices for this guest: hooks and hz run" },
    { "doctor", cmd_doctor, "find out why it doesn't work" },
};

void say(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fprintf(stderr, "hz %s: ", command_name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    putc('\n', stderr);
}

const char *option(int argc, char **argv, int *i, char *name, size_t cap, const char **value)
{
    const char *arg = *i < argc ? argv[*i] : NULL;
    const char *eq;

    *value = NULL;
    if (!arg || arg[0] != '-' || !arg[1] || !strcmp(arg, "--")) {
        return NULL;
    }
    ++*i;
    eq = arg[1] == '-' ? strchr(arg, '=') : NULL;
    snprintf(name, cap, "%.*s", eq ? (int)(eq - arg) : (int)strlen(arg), arg);
    if (eq) {
        *value = eq + 1;
    }
    return name;
}

const char *option_value(int argc, char **argv, int *i, const char *name, const char *value)
{
    if (value) {
        return value;
    }
    if (*i >= argc) {
        say("%s: a value must follow", name);
        return NULL;
    }
    return argv[(*i)++];
}

bool take_json(int *argc, char **argv)
{
    int i, kept = 1;

    for (i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--json")) {
            argv[kept++] = argv[i];
        }
    }
    i = *argc;
    *argc = kept;
    argv[kept] = NULL;
    return kept < i;
}

const char *device_name(void)
{
    const char *name = getenv("HZ_DEVICE");

    return name && *name ? name : "/dev/hz";
}

/* -ENOENT is a subject's or a notice's elsewhere. */
const char *open_error(int error)
{
    return error == -ENOENT ? "there is no such device" : hz_strerror(error);
}

struct hz *open_device(int *status)
{
    struct hz *hz;
    int r = hz_open(&hz, NULL);

    if (r == 0) {
        return hz;
    }
    if (r == -ENOENT) {
        say("%s: there is no such device: is the virtio_hz module loaded, and does this VM have "
            "the device? (hz doctor)", device_name());
    } else {
        say("%s: %s", device_name(), hz_strerror(r));
    }
    *status = r == -ENOENT || r == -ENODEV || r == -ENXIO ? EXIT_NO_DEVICE : EXIT_FAIL;
    return NULL;
}

void format_ns(int64_t ns, char *buf, size_t cap)
{
    uint64_t ms = ns < 0 ? 0 : (uint64_t)ns / 1000000;
    uint64_t s = ms / 1000;

    if (ms < 10000) {
        snprintf(buf, cap, "%llu.%llus", (unsigned long long)s,
                 (unsigned long long)(ms % 1000 / 100));
    } else if (s < 60) {
        snprintf(buf, cap, "%llus", (unsigned long long)s);
    } else if (s < 3600) {
        snprintf(buf, cap, "%llum%02llus", (unsigned long long)(s / 60),
                 (unsigned long long)(s % 60));
    } else {
        snprintf(buf, cap, "%lluh%02llum", (unsigned long long)(s / 3600),
                 (unsigned long long)(s / 60 % 60));
    }
}

void format_id(const uint8_t id[HZ_ID_LEN], char buf[33])
{
    int i;

    for (i = 0; i < HZ_ID_LEN; i++) {
        snprintf(buf + 2 * i, 3, "%02x", id[i]);
    }
}

void format_uuid(const uint8_t id[HZ_ID_LEN], char buf[37])
{
    char h[33];

    format_id(id, h);
    snprintf(buf, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", h, h + 8, h + 12, h + 16, h + 20);
}

static void usage(FILE *f)
{
    size_t i;

    fputs("usage: hz COMMAND [ARGUMENTS]\n\n", f);
    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].help);
    }
    fputs("\nhz COMMAND --help tells more; so does the manual page hz(1).\n"
          "The device is /dev/hz, or what HZ_DEVICE names.\n", f);
}

int main(int argc, char **argv)
{
    size_t i;

    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        usage(stdout);
        return EXIT_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("hz %s\n", hz_version());
        return EXIT_OK;
    }
    for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (!strcmp(argv[1], commands[i].name)) {
            command_name = commands[i].name;
            return commands[i].main(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "hz: there is no command '%s'; hz --help lists them\n", argv[1]);
    return EXIT_USAGE;
}
