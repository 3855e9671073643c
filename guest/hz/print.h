/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz print: events for people and for programs. */
#ifndef HZ_PRINT_H
#define HZ_PRINT_H

#include "hz.h"

void json_status(struct json *j, const char *key, const struct hz_ev_status *s);
void json_declaration(struct json *j, const char *key, const struct hz_ev_declaration *d);
void json_notice(struct json *j, const char *key, const struct hz_ev_notice *n);

/* "accepted", "clamped to 80Mbit: above what the operator lets this VM have" */
void format_verdict(const struct hz_ev_field *f, char *buf, size_t cap);
/* Where the notice stands in time: "in 12s", "unknown", "none", "past". */
void format_point(int64_t point, char *buf, size_t cap);

void print_declaration(const struct hz_ev_declaration *d);
void print_notice(const struct hz_ev_notice *n);

#endif /* HZ_PRINT_H */
