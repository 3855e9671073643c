/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd metrics: counters and gauges as Prometheus text. */
#ifndef HZ_HZD_METRICS_H
#define HZ_HZD_METRICS_H

#include "hzd.h"

char *hz_metrics_text(HzHost *host);    /* free with g_free() */

#endif /* HZ_HZD_METRICS_H */
