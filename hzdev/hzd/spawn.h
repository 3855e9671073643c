/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd spawn: run the actuators as children, where there is no systemd to do it. */
#ifndef HZ_HZD_SPAWN_H
#define HZ_HZD_SPAWN_H

#include "hzd.h"

struct HzSpawner;

/*
 * hz-vnic from hzd's own folder, the build tree's, or PATH. Started anew after
 * 1 s, then more slowly; never while one is connected: @unclean, after an hzd
 * that was killed, its child gets the time to come back first.
 */
struct HzSpawner *hz_spawner_new(HzHost *host, gboolean unclean);
/* TERM, and no waiting: a clean stop has made it give everything back. */
void hz_spawner_free(struct HzSpawner *spawner);

#endif /* HZ_HZD_SPAWN_H */
