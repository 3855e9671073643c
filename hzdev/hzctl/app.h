/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl: what every command of it shares.
 */
#ifndef HZ_HZCTL_APP_H
#define HZ_HZCTL_APP_H

#include "client.h"

/* Exit statuses, documented in hzctl(1). */
enum {
    HZCTL_OK = 0,
    HZCTL_ERROR = 1,
    HZCTL_USAGE = 2,
    HZCTL_INCOMPLETE = 3,       /* time is up, or not all came out as asked */
};

typedef struct HzctlCommand HzctlCommand;

typedef struct {
    const HzctlCommand *command;
    gboolean json;
    char *socket;               /* --socket; NULL: by the run directory */
    char *run_dir;
    HzClient *client;
} HzctlApp;

struct HzctlCommand {
    const char *name;
    int (*run)(HzctlApp *app, char **args);
    const GOptionEntry *options;    /* besides --json, --socket, --run-dir; NULL: none */
    const char *form;               /* of its arguments: "VM [NIC]" */
    gint min, max;                  /* how many of them; max -1: any number */
    const char *help;
};

extern const HzctlCommand hzctl_show_commands[], hzctl_notice_commands[], hzctl_admin_commands[],
    hzctl_watch_commands[], hzctl_why_commands[];
extern const guint hzctl_n_show_commands, hzctl_n_notice_commands, hzctl_n_admin_commands,
    hzctl_n_watch_commands, hzctl_n_why_commands;

/* An answer is printed (as JSON with --json, else by @print) and freed; @node NULL: it failed. */
int hzctl_answer(HzctlApp *app, JsonNode *node, void (*print)(JsonNode *node));

/* Print "hzctl: …" on stderr and return @status. */
int hzctl_fail(int status, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The same for a GError. */
int hzctl_error(const GError *error);

/* Connect once, to the admin or the read-only socket. NULL: said on stderr. */
HzClient *hzctl_client(HzctlApp *app, gboolean admin);
/* One command; NULL: said on stderr. Takes @arguments. */
JsonNode *hzctl_call(HzctlApp *app, gboolean admin, const char *command, JsonObject *arguments);
void hzctl_print_json(JsonNode *node);

/* -- text on a terminal -------------------------------------------------- */

typedef struct HzctlTable HzctlTable;

/* @heads: NULL-ended, all upper case. A row's cells: as many texts, then NULL; none is NULL. */
HzctlTable *hzctl_table_new(const char *const *heads);
void hzctl_table_row(HzctlTable *table, ...) G_GNUC_NULL_TERMINATED;
/* Print and free. An empty one prints @empty. */
void hzctl_table_print(HzctlTable *table, const char *empty);

/* "80Mbit" of bytes/s; local time of µs since 1970; "1.5s" of ms. Good for eight calls. */
const char *hzctl_rate(gint64 rate);
const char *hzctl_clock(gint64 us);
const char *hzctl_ms(gint64 ms);

/* -- reading answers ----------------------------------------------------- */

const char *hzctl_text(JsonObject *o, const char *name);        /* NULL: absent */
const char *hzctl_word(JsonObject *o, const char *name);        /* "-": absent */
gint64 hzctl_int(JsonObject *o, const char *name, gint64 otherwise);
gboolean hzctl_bool(JsonObject *o, const char *name);
JsonObject *hzctl_object(JsonObject *o, const char *name);      /* NULL: absent */
JsonArray *hzctl_array(JsonObject *o, const char *name);        /* NULL: absent */
JsonObject *hzctl_at(JsonArray *a, guint i);                    /* NULL: no object there */
guint hzctl_len(JsonArray *a);                                  /* 0 for NULL */

#endif /* HZ_HZCTL_APP_H */
