/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz vmm: which process is it? A pid is reused; a pid with its start time isn't.
 */
#include "vmm/vmm.h"

#include <string.h>

/* Field of /proc/PID/stat, counted as proc(5) does. */
#define FIELD_STATE       3
#define FIELD_START_TIME 22

uint64_t hz_process_start(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%ld/stat", (long)pid);
    g_autofree char *text = NULL;
    const char *p;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return 0;
    }
    /* The command's name, in parentheses, may itself hold spaces and parentheses. */
    p = strrchr(text, ')');
    /* One that has ended and waits for its parent to notice is gone too. */
    if (p && p[1] && (p[2] == 'Z' || p[2] == 'X')) {
        return 0;
    }
    for (int field = FIELD_STATE; p && field <= FIELD_START_TIME; field++) {
        p = strchr(p + 1, ' ');
    }
    return p ? g_ascii_strtoull(p + 1, NULL, 10) : 0;
}
