/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz: the tenant's command. What its subcommands share. */
#ifndef HZ_HZ_H
#define HZ_HZ_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"
#include "libhz.h"

/* Exit status of every subcommand but run (hz.1 lists them). */
enum {
    EXIT_OK = 0,
    EXIT_FAIL = 1,              /* it was tried and didn't work */
    EXIT_USAGE = 2,             /* the command line or a file is wrong */
    EXIT_VERDICT = 3,           /* --wait: something was rejected or is unsupported */
    EXIT_NO_VERDICT = 4,        /* --wait: no answer in time */
    EXIT_NO_DEVICE = 5,         /* no hz device here, or it is gone */
};

struct command {
    const char *name;
    int (*main)(int argc, char **argv);     /* argv[0] is the subcommand */
    const char *help;
};

int cmd_declare(int argc, char **argv);
int cmd_withdraw(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_reply(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_agent(int argc, char **argv);

/* "hz NAME: …" on standard error. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern const char *command_name;

/*
 * One option of a command line, "--name VALUE" or "--name=VALUE". NULL at
 * the first thing that is none; *@i moves on. *@value is what stands after
 * the '=', or NULL: then option_value() takes the next argument.
 */
const char *option(int argc, char **argv, int *i, char *name, size_t cap, const char **value);
/* The value, or NULL after complaining. */
const char *option_value(int argc, char **argv, int *i, const char *name, const char *value);

/* Is --json among the arguments, wherever? It is taken out. */
bool take_json(int *argc, char **argv);

/* $HZ_DEVICE or /dev/hz. */
const char *device_name(void);
/* Why it couldn't be opened. */
const char *open_error(int error);
/* Open the device or complain; *@status is then the exit status. */
struct hz *open_device(int *status);

/* "12.3s", "in 4m30s", "now": for a person. */
void format_ns(int64_t ns, char *buf, size_t cap);
void format_id(const uint8_t id[HZ_ID_LEN], char buf[33]);
void format_uuid(const uint8_t id[HZ_ID_LEN], char buf[37]);

#endif /* HZ_HZ_H */
