/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd capabilities: what this build can do, for tools that must know before they start it. */
#ifndef HZ_HZD_CAPABILITIES_H
#define HZ_HZD_CAPABILITIES_H

char *hz_capabilities_text(void);       /* JSON; free with g_free() */

#endif /* HZ_HZD_CAPABILITIES_H */
