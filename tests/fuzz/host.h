/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A whole hzd inside a fuzz target: two VMs on one uplink, in a folder of its
 * own, new for every input so that one that fails, fails again by itself.
 */
#ifndef HZ_TESTS_FUZZ_HOST_H
#define HZ_TESTS_FUZZ_HOST_H

#include <stdbool.h>

#include "hzd/hzd.h"

/* Never NULL. */
HzHost *fuzz_host_open(void);
void fuzz_host_close(HzHost *host);
/* Let everything run that is ready. */
void fuzz_host_run(void);
/* A blocking client of one of its sockets, "vm/A.sock". */
int fuzz_host_connect(const char *name);
/* Send what the other side takes, running hzd meanwhile; what it says is thrown away. */
void fuzz_host_send(int fd, const void *data, size_t size);

/* A's device, which says a proper HELLO and, with @sync, that its empty board is told: its end. */
int fuzz_host_device(bool sync);
/* B's device says hello: it must hear WELCOME, whatever else goes on. */
void fuzz_host_serves(void);

#endif
