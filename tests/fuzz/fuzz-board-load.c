/* SPDX-License-Identifier: MIT */
/*
 * A board's state from a hostile stream. Refused: with a reason, and the
 * board is as it was. Taken: it can be read, saved and loaded again.
 */
#include "fuzz.h"
#include "guest.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t generation[VIRTIO_HZ_UUID_LEN] = "generation-B....";
    static uint8_t before[HZ_BOARD_STATE_MAX], after[HZ_BOARD_STATE_MAX];
    static struct mirror m;
    const struct hz_board_limits limits = {
        VIRTIO_HZ_MAX_DECLARATIONS, VIRTIO_HZ_MAX_NOTICES, VIRTIO_HZ_MAX_DOC
    };
    struct hz_board_loaded how = { 0 };
    struct hz_board *b = hz_board_new(&limits, generation);
    const char *why = NULL;
    int was, is, err;
    uint8_t *p;

    if (size < 1) {
        hz_board_free(b);
        return 0;
    }
    how.generation = data[0] & 1 ? generation : NULL;
    how.keep = data[0] & 2;
    guest_declare(b, "gpu", 0, NULL, 0);
    was = hz_board_save(b, before, sizeof(before));
    p = tight_copy(data + 1, size - 1);
    err = hz_board_load(b, p, size - 1, &how, &why);
    free(p);
    is = hz_board_save(b, after, sizeof(after));
    CHECK(was > 0 && is > 0);
    if (err) {
        CHECK(why && was == is && !memcmp(before, after, (size_t)is));
    } else {
        memset(&m, 0, sizeof(m));
        CHECK(mirror_update(&m, b, 1000, 0) > 0);
        CHECK(!hz_board_load(b, after, (size_t)is, &how, &why));
    }
    hz_board_free(b);
    return 0;
}
