// SPDX-License-Identifier: GPL-2.0-or-later
/* sysfs_emit() exists. */
#include <linux/sysfs.h>

int hz_probe(char *buf);
int hz_probe(char *buf)
{
	return sysfs_emit(buf, "%d\n", 1);
}
