/* SPDX-License-Identifier: MIT */
/*
 * hz units: quantities as a person types and reads them.
 *
 * Text to number and back, exact in integers, no locale. Used by every
 * command line and configuration file, so a quantity is written one way
 * everywhere.
 */
#ifndef HZ_CORE_UNITS_H
#define HZ_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hz_unit {
    HZ_UNIT_NONE,       /* a plain number */
    HZ_UNIT_BYTES,      /* 4096, 64k, 1MiB, 1GB: k, M, G, T are 1000s, Ki, Mi, Gi, Ti 1024s */
    HZ_UNIT_RATE,       /* stored in bytes/s; typed 200Mbit, 25MB/s, 1gbit, 12500000 (bytes/s) */
    HZ_UNIT_NS,         /* typed 250ms, 90s, 15m, 2h, 10us; a bare number is in the unit itself */
    HZ_UNIT_US,
    HZ_UNIT_MS,
    HZ_UNIT_PERMILLE,   /* 250, or 25% */
    HZ_UNIT_PPM,
};

/* The field's own name for it: "bytes", "bytes/s", "ms" … "" for NONE. */
const char *hz_unit_name(enum hz_unit unit);

/*
 * 0 and *@value in @unit; -EINVAL for what isn't a quantity of that kind,
 * -EDOM for one that can't be told exactly in @unit (1us as ms), -ERANGE for
 * one that overflows.
 */
int hz_unit_parse(enum hz_unit unit, const char *text, uint64_t *value);

/*
 * A number other than zero with no unit behind it. Where a person types a time
 * or a rate it is refused: 90 is as likely meant as seconds as it isn't.
 */
bool hz_unit_bare(const char *text);

/* As a person would read it ("200Mbit", "250ms"); parses back to the same. Like snprintf. */
int hz_unit_format(enum hz_unit unit, uint64_t value, char *buf, size_t cap);

#endif /* HZ_CORE_UNITS_H */
