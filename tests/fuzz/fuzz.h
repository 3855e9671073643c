/* SPDX-License-Identifier: MIT */
/*
 * What a fuzz target is: LLVMFuzzerTestOneInput(), run by libFuzzer or by
 * replay.c over saved inputs, and CHECK()s that hold whatever the input.
 */
#ifndef HZ_TESTS_FUZZ_H
#define HZ_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(good) do {                                                        \
        if (!(good)) {                                                          \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #good);  \
            abort();                                                            \
        }                                                                       \
    } while (0)

/* An exactly-sized copy, so that ASan sees a step beyond its end. Free it. */
static inline uint8_t *tight_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    CHECK(copy);
    for (size_t i = 0; i < size; i++) {
        copy[i] = data[i];
    }
    return copy;
}

#endif
