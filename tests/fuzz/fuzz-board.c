/* SPDX-License-Identifier: MIT */
/*
 * A board under whatever happens to it: the guest's requests, the provider's
 * frames, resets, stops and loads. Input: events, each a byte that says what,
 * a little-endian 16-bit length and so many bytes.
 *
 * A reader that follows along must know what one that starts from nothing does.
 */
#include "fuzz.h"
#include "guest.h"

#include <string.h>

static const uint8_t gen_a[VIRTIO_HZ_UUID_LEN] = "generation-A....";
static const uint8_t gen_b[VIRTIO_HZ_UUID_LEN] = "generation-B....";
static uint64_t now;

static void request(struct hz_board *b, const uint8_t *p, size_t n)
{
    const size_t caps[] = { 0, sizeof(struct virtio_hz_response), 200, VIRTIO_HZ_MAX_RESPONSE };
    size_t cap = n ? caps[p[n - 1] % 4] : 64;
    struct answer a = guest_ask(b, p, n, cap, now);

    if (n < HZ_HDR_LEN || cap < sizeof(struct virtio_hz_response)) {
        CHECK(a.len == -VIRTIO_HZ_E_INVAL);
        return;
    }
    CHECK(a.len >= (int)sizeof(struct virtio_hz_response) && (size_t)a.len <= cap);
    CHECK(a.status <= VIRTIO_HZ_E_SMALL && a.disruption == hz_board_disruption(b));
}

static void provider(struct hz_board *b, const uint8_t *p, size_t n)
{
    struct hz_set_verdicts v;
    struct hz_notice notice;
    uint8_t id[VIRTIO_HZ_UUID_LEN];

    if (!hz_notice_get(p, n, &notice)) {
        hz_board_set_notice(b, &notice, now);
    }
    if (!hz_set_verdicts_get(p, n, &v)) {
        hz_board_set_verdicts(b, &v);
    }
    if (!hz_drop_notice_get(p, n, id)) {
        hz_board_drop_notice(b, id);
    }
}

/* Saved and loaded, here or into another generation; @p may spoil the bytes on the way. */
static void migrate(struct hz_board *b, const uint8_t *p, size_t n)
{
    static uint8_t state[HZ_BOARD_STATE_MAX];
    int len = hz_board_save(b, state, sizeof(state));
    struct hz_board_loaded how = { 0 };
    const char *why = NULL;
    uint64_t disruption = hz_board_disruption(b);
    uint8_t *tight;
    int err;

    CHECK(len > 0);
    if (n > 0) {
        how.generation = p[0] & 1 ? gen_a : p[0] & 2 ? gen_b : NULL;
        how.keep = p[0] & 4;
        how.reason = p[0] % (VIRTIO_HZ_WHY_PAUSE + 1);
    }
    for (size_t i = 1; i + 3 <= n; i += 3) {
        state[hz_get16(p + i) % (unsigned)len] ^= p[i + 2];
    }
    tight = tight_copy(state, (size_t)len);
    err = hz_board_load(b, tight, (size_t)len, &how, &why);
    free(tight);
    CHECK(err ? why != NULL : n > 3 || hz_board_disruption(b) == disruption + 1);
}

static void event(struct hz_board *b, uint8_t what, const uint8_t *p, size_t n)
{
    switch (what % 8) {
    case 0:
    case 1:
        request(b, p, n);
        break;
    case 2:
        provider(b, p, n);
        break;
    case 3:
        hz_board_set_provider(b, n & 1);
        break;
    case 4:
        hz_board_reset(b);
        break;
    case 5:
        hz_board_retell(b, n);
        break;
    case 6:
        now += n * 1000000ULL;
        break;
    default:
        migrate(b, p, n);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mirror follower, fresh;
    const struct hz_board_limits limits = { 3, 3, 128 };
    struct hz_board *b = hz_board_new(&limits, gen_a);
    size_t pos = 0;

    now = 1;
    memset(&follower, 0, sizeof(follower));
    while (size - pos >= 3) {
        size_t len = hz_get16(data + pos + 1);
        uint8_t *p;

        len = len <= size - pos - 3 ? len : size - pos - 3;
        p = tight_copy(data + pos + 3, len);
        event(b, data[pos], p, len);
        free(p);
        CHECK(mirror_update(&follower, b, 2, 0) >= 0);
        CHECK(hz_board_declarations(b) <= 3 && hz_board_notices(b) <= 3);
        pos += 3 + len;
    }
    memset(&fresh, 0, sizeof(fresh));
    CHECK(mirror_update(&follower, b, 1000, 0) >= 0 && mirror_update(&fresh, b, 1000, 0) >= 0);
    CHECK(!hz_board_news(b, &follower.cursor));
    CHECK(follower.n == fresh.n);
    for (unsigned i = 0; i < fresh.n; i++) {
        int j = mirror_find(&follower, fresh.entry[i].type, fresh.entry[i].key);

        CHECK(j >= 0 && follower.entry[j].version == fresh.entry[i].version &&
              follower.entry[j].body_len == fresh.entry[i].body_len);
    }
    hz_board_free(b);
    return 0;
}
