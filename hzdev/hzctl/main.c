/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hzctl: the operator's command, a thin client of hzd's control sockets.
 */
#include "app.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_RUN_DIR "/run/hz"

static const struct {
    const HzctlCommand *commands;
    const guint *n;
} tables[] = {
    { hzctl_show_commands, &hzctl_n_show_commands },
    { hzctl_notice_commands, &hzctl_n_notice_commands },
    { hzctl_why_commands, &hzctl_n_why_commands },
    { hzctl_watch_commands, &hzctl_n_watch_commands },
    { hzctl_admin_commands, &hzctl_n_admin_commands },
};

/* -- what commands share ------------------------------------------------- */

int hzctl_fail(int status, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, format);
    text = g_strdup_vprintf(format, ap);
    va_end(ap);
    fprintf(stderr, "hzctl: %s\n", text);
    return status;
}

int hzctl_error(const GError *error)
{
    return hzctl_fail(g_error_matches(error, HZ_CLIENT_ERROR, HZ_CLIENT_ERROR_TIMEOUT)
                      ? HZCTL_INCOMPLETE : HZCTL_ERROR, "%s", error->message);
}

static char *socket_path(const HzctlApp *app, gboolean admin)
{
    const char *env = g_getenv("HZ_RUN_DIR");
    const char *dir = app->run_dir ? app->run_dir : env && *env ? env : DEFAULT_RUN_DIR;

    return app->socket ? g_strdup(app->socket)
                       : g_build_filename(dir, admin ? "control.sock" : "readonly.sock", NULL);
}

HzClient *hzctl_client(HzctlApp *app, gboolean admin)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = socket_path(app, admin);

    if (!app->client) {
        app->client = hz_client_open(path, &error);
    }
    if (!app->client) {
        hzctl_fail(HZCTL_ERROR, "%s%s", error->message,
                   g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT)
                   ? " (is hzd running? --run-dir or HZ_RUN_DIR says where its sockets are)" : "");
    }
    return app->client;
}

JsonNode *hzctl_call(HzctlApp *app, gboolean admin, const char *command, JsonObject *arguments)
{
    g_autoptr(GError) error = NULL;
    HzClient *client = hzctl_client(app, admin);
    JsonNode *answer;

    if (!client) {
        g_clear_pointer(&arguments, json_object_unref);
        return NULL;
    }
    answer = hz_client_call(client, command, arguments, &error);
    if (!answer) {
        hzctl_error(error);
    }
    return answer;
}

void hzctl_print_json(JsonNode *node)
{
    g_autofree char *text = json_to_string(node, TRUE);

    puts(text);
}

int hzctl_answer(HzctlApp *app, JsonNode *node, void (*print)(JsonNode *node))
{
    g_autoptr(JsonNode) taken = node;

    if (!taken) {
        return HZCTL_ERROR;
    }
    if (app->json) {
        hzctl_print_json(taken);
    } else if (print) {
        print(taken);
    }
    return HZCTL_OK;
}

/* -- the command line ---------------------------------------------------- */

static void print_help(FILE *out)
{
    fputs("Usage: hzctl [--run-dir DIR | --socket PATH] COMMAND [--json] …\n\n", out);
    for (guint t = 0; t < G_N_ELEMENTS(tables); t++) {
        for (guint i = 0; i < *tables[t].n; i++) {
            const HzctlCommand *c = &tables[t].commands[i];

            fprintf(out, "  %-12s %s\n", c->name, c->help);
        }
    }
    fputs("\nhzctl COMMAND --help tells a command's options. Exit status: 0 good, 1 error,\n"
          "2 usage, 3 time is up or not all came out as asked. See hzctl(1).\n", out);
}

static const HzctlCommand *find(const char *name)
{
    for (guint t = 0; t < G_N_ELEMENTS(tables); t++) {
        for (guint i = 0; i < *tables[t].n; i++) {
            if (!strcmp(tables[t].commands[i].name, name)) {
                return &tables[t].commands[i];
            }
        }
    }
    return NULL;
}

static GOptionContext *context_new(HzctlApp *app, const HzctlCommand *c)
{
    const GOptionEntry common[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &app->json, "Print hzd's answer as JSON", NULL },
        { "socket", 0, 0, G_OPTION_ARG_FILENAME, &app->socket, "hzd's control socket", "PATH" },
        { "run-dir", 0, 0, G_OPTION_ARG_FILENAME, &app->run_dir,
          "Where hzd's sockets are (HZ_RUN_DIR, " DEFAULT_RUN_DIR ")", "DIR" },
        { 0 },
    };
    GOptionContext *context = g_option_context_new(c->form);

    g_option_context_set_summary(context, c->help);
    if (c->options) {
        g_option_context_add_main_entries(context, c->options, NULL);
    }
    g_option_context_add_main_entries(context, common, NULL);
    return context;
}

/* Options before the command: the few that are everybody's. Index of the command, or -1. */
static int skip_globals(HzctlApp *app, int argc, char **argv)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        char **into = !strcmp(argv[i], "--socket") ? &app->socket
                    : !strcmp(argv[i], "--run-dir") ? &app->run_dir : NULL;

        if (!strcmp(argv[i], "--json")) {
            app->json = TRUE;
        } else if (into && i + 1 < argc) {
            g_free(*into);
            *into = g_strdup(argv[++i]);
        } else {
            return -1;
        }
    }
    return i;
}

static int run_command(HzctlApp *app, int argc, char **argv)
{
    g_autoptr(GOptionContext) context = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *prgname = g_strdup_printf("hzctl %s", app->command->name);
    int n;

    g_set_prgname(prgname);
    context = context_new(app, app->command);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        return hzctl_fail(HZCTL_USAGE, "%s: %s", app->command->name, error->message);
    }
    if (argc > 1 && !strcmp(argv[1], "--")) {
        argv++;
        argc--;
    }
    n = argc - 1;
    if (n < app->command->min || (app->command->max >= 0 && n > app->command->max)) {
        return hzctl_fail(HZCTL_USAGE, "usage: hzctl %s [OPTION…] %s (--help tells more)",
                          app->command->name, app->command->form);
    }
    return app->command->run(app, argv + 1);
}

/* Without a command. */
static int run_bare(int argc, char **argv)
{
    const char *last = argv[argc - 1];
    gboolean asked = !strcmp(last, "--help") || !strcmp(last, "-h");

    if (!strcmp(last, "--version")) {
        puts("hzctl " HZ_VERSION);
        return HZCTL_OK;
    }
    print_help(asked ? stdout : stderr);
    return asked ? HZCTL_OK : HZCTL_USAGE;
}

int main(int argc, char **argv)
{
    HzctlApp app = { 0 };
    int at = skip_globals(&app, argc, argv), rc;

    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_DFL);
    if (at < 0 || at >= argc) {
        rc = run_bare(argc, argv);
    } else if ((app.command = find(argv[at]))) {
        rc = run_command(&app, argc - at, argv + at);
    } else {
        rc = hzctl_fail(HZCTL_USAGE, "there is no command '%s' (hzctl --help lists them)",
                        argv[at]);
    }
    g_clear_pointer(&app.client, hz_client_close);
    g_free(app.socket);
    g_free(app.run_dir);
    return rc;
}
