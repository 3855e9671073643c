/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz hooks: programs that get something ready for a notice, and how they are run and ended. */
#ifndef HZ_HOOKS_H
#define HZ_HOOKS_H

#include <signal.h>
#include <sys/types.h>

#include "hz.h"

/*
 * Start @argv for @n: a process group of its own, no standard input, told
 * about the notice by HZ_* variables, dead with all it has started when this
 * process dies. @program (0: none) is HZ_PROGRAM_PID. The pid it is waited
 * for and signalled by (guard.h), or a negative errno.
 */
pid_t hook_start(const char *const argv[], const struct hz_ev_notice *n, pid_t program);

/* SIGTERM, or SIGKILL, to the process group of the hook. */
void hook_signal(pid_t pid, int sig);

/* Exit status as a shell would tell it: 128 + signal. */
int exit_code(int wait_status);

/*
 * The executables of @dir by name: an array that ends with NULL, to be freed
 * with hooks_free(); NULL with *@n 0 when there are none. What is not to be
 * trusted (writable by others, another owner) is told and left out.
 */
char **hooks_list(const char *dir, unsigned *n);
void hooks_free(char **list);

/*
 * Block the signals a loop takes from a descriptor; children get the mask
 * from before. The descriptor or a negative errno.
 */
int signals_take(const int *sigs, unsigned n);
/* In a child, before exec: signals as they were when we started. */
void signals_restore(void);

#endif /* HZ_HOOKS_H */
