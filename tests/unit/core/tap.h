/* SPDX-License-Identifier: MIT */
/*
 * A few lines of TAP: ok() a check, tap_done() at the end of main().
 */
#ifndef HZ_TESTS_TAP_H
#define HZ_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_run, tap_failed;

__attribute__((format(printf, 4, 5), unused))
static bool tap_ok(bool good, const char *file, int line, const char *format, ...)
{
    va_list args;

    printf("%sok %d - ", good ? "" : "not ", ++tap_run);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    if (!good) {
        tap_failed++;
        printf("# at %s:%d\n", file, line);
    }
    fflush(stdout);
    return good;
}

/* ok(condition, "what it shows", …) */
#define ok(good, ...) tap_ok((good), __FILE__, __LINE__, __VA_ARGS__)

/* The two numbers are equal; both are told when they aren't. */
#define is(got, wanted, ...) do {                                               \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted);       \
        if (!ok(got_ == wanted_, __VA_ARGS__)) {                                \
            printf("# got %lld, wanted %lld\n", got_, wanted_);                 \
        }                                                                       \
    } while (0)

#define is_str(got, wanted, ...) do {                                           \
        const char *got_ = (got), *wanted_ = (wanted);                          \
        if (!ok(got_ && !strcmp(got_, wanted_), __VA_ARGS__)) {                 \
            printf("# got '%s', wanted '%s'\n", got_ ? got_ : "NULL", wanted_); \
        }                                                                       \
    } while (0)

static inline int tap_done(void)
{
    printf("1..%d\n", tap_run);
    return tap_failed ? 1 : 0;
}

#endif
