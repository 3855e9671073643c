/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz guard: what we started doesn't outlive us, whatever it has started in turn. */
#ifndef HZ_GUARD_H
#define HZ_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Fork a program under a guard: a process between us and it that adopts
 * whatever the program leaves behind, and kills all of it should we end
 * before the program does. 0 in the program to be, whose signals are as we
 * had them blocked; the guard's pid, or a negative errno, in us. The guard
 * ends when the program does, with exit_code() of its end.
 *
 * @report, unless NULL, is where the guard tells the program's pid_t first
 * and a 0 each time that it was stopped; to be closed. With @group the
 * program gets a process group of its own, named for its pid where that is
 * reported and for the guard's where it isn't.
 */
pid_t guard_fork(bool group, int *report);

#endif /* HZ_GUARD_H */
