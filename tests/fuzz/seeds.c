/* SPDX-License-Identifier: MIT */
/*
 * Inputs for the fuzz targets to start from, the same on every machine:
 * make-seeds DIR makes DIR/TARGET/NUMBER.
 */
#include "core/vocabulary.h"
#include "guest.h"
#include "samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *root;

static void write_seed(const char *target, unsigned number, const void *data, size_t size)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", root, target);
    if (mkdir(path, 0777) && errno != EEXIST) {
        perror(path);
        exit(1);
    }
    snprintf(path, sizeof(path), "%s/%s/%03u", root, target, number);
    f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
        perror(path);
        exit(1);
    }
}

/* -- wire: one message of each kind, after the byte that chooses its reader -- */

static void wire_seed(unsigned number, uint8_t reader, const uint8_t *data, size_t size)
{
    uint8_t buf[VIRTIO_HZ_MAX_FRAME * 2 + 1];

    buf[0] = reader;
    memcpy(buf + 1, data, size);
    write_seed("wire", number, buf, size + 1);
}

static size_t wire_bodies(struct prng *p, unsigned round)
{
    struct hz_status s = { .resets = 1, .status = 1, .reason = 2, .pause_ns = 9 };
    struct hz_hello h = { .magic = VIRTIO_HZ_MAGIC, .version = 1, .version_min = 1,
                          .run_state = 1, .max_declarations = 16, .max_notices = 32,
                          .max_doc = 1024 };
    struct hz_set_verdicts v = { .subject = "nic/0", .seq = 4 };
    struct hz_declaration d;
    struct hz_notice n;
    uint8_t buf[VIRTIO_HZ_MAX_FRAME], key[VIRTIO_HZ_KEY_LEN];
    unsigned at = round * 16;

    wire_seed(at++, 0, buf, (size_t)hz_status_put(buf, sizeof(buf), &s));
    sample_declaration(p, &d);
    d.verdicts %= 4;
    wire_seed(at++, 1, buf, (size_t)hz_declaration_put(buf, sizeof(buf), &d));
    sample_notice(p, &n, 128);
    sample_reply(p, &n);
    n.reply_doc_len = 0;
    wire_seed(at++, 2, buf, (size_t)hz_notice_put(buf, sizeof(buf), &n));
    wire_seed(at++, 4, buf + HZ_HDR_LEN,
              (size_t)hz_hello_frame(buf, sizeof(buf), &h) - HZ_HDR_LEN);
    v.verdicts = sample_verdicts(p, v.verdict, 4);
    wire_seed(at++, 5, buf + HZ_HDR_LEN,
              (size_t)hz_set_verdicts_frame(buf, sizeof(buf), 0, &v) - HZ_HDR_LEN);
    wire_seed(at++, 6, (const uint8_t *)"\1\0\0\0\0\0\0\0", 8);
    wire_seed(at++, 6, n.id, sizeof(n.id));
    wire_seed(at++, 8, d.doc, d.doc_len);
    sample_subject(p, key);
    wire_seed(at++, 9, key, sizeof(key));
    return at;
}

/* A board that has seen some things: one of everything, more or less. */
static struct hz_board *some_board(struct prng *p)
{
    static const uint8_t generation[VIRTIO_HZ_UUID_LEN] = "generation-A....";
    const struct hz_board_limits limits = { 3, 3, 128 };
    struct hz_board *b = hz_board_new(&limits, generation);
    uint8_t doc[128];
    struct hz_notice n;

    for (uint64_t i = prng_below(p, 5); i > 0; i--) {
        guest_declare(b, i % 2 ? "vm" : "nic/0", 0, doc, sample_doc(p, doc, sizeof(doc)));
        sample_notice(p, &n, sizeof(doc));
        hz_board_set_notice(b, &n, 1);
        guest_reply(b, &n, (uint16_t)(1 + prng_below(p, 3)), 0);
    }
    return b;
}

static void wire_seeds(void)
{
    struct prng p = { 1 };

    for (unsigned round = 0; round < 4; round++) {
        struct hz_board *b = some_board(&p);
        struct hz_cursor c = { 0 };
        uint8_t buf[VIRTIO_HZ_MAX_FRAME * 2];
        size_t at = wire_bodies(&p, round), len = 0;
        int n;

        while ((n = hz_board_next(b, &c, buf + len, sizeof(buf) - len, 0)) > 0) {
            len += (size_t)n;
        }
        wire_seed((unsigned)at, 7, buf, len);
        wire_seed((unsigned)at + 1, 3, buf, hz_get32(buf));
        hz_board_free(b);
    }
}

/* -- board: histories ------------------------------------------------------- */

struct history {
    uint8_t bytes[16384];
    size_t len;
};

static void happens(struct history *h, uint8_t what, const void *data, size_t size)
{
    if (h->len + 3 + size > sizeof(h->bytes)) {
        return;
    }
    h->bytes[h->len] = what;
    hz_put16(h->bytes + h->len + 1, (uint16_t)size);
    memcpy(h->bytes + h->len + 3, data, size);
    h->len += 3 + size;
}

static void happens_any(struct history *h, struct prng *p)
{
    static const uint8_t generation[VIRTIO_HZ_UUID_LEN] = "generation-A....";
    uint8_t f[VIRTIO_HZ_MAX_FRAME], doc[128];
    struct hz_set_verdicts v = { .subject = "vm", .seq = 1 + prng_below(p, 4) };
    struct hz_notice n;

    sample_notice(p, &n, sizeof(doc));
    memset(n.id, 0, sizeof(n.id));
    n.id[0] = (uint8_t)prng_below(p, 4);
    n.revision = 1 + (uint32_t)prng_below(p, 2);
    switch (prng_below(p, 8)) {
    case 0:
    case 1:
        happens(h, 0, f, declare_frame(f, prng_chance(p, 50) ? "vm" : "nic/0", 0, doc,
                                       sample_doc(p, doc, sizeof(doc))));
        break;
    case 2:
        memset(f, 0, sizeof(struct virtio_hz_withdraw));
        hz_hdr_put(f, &(struct hz_hdr){ sizeof(struct virtio_hz_withdraw),
                                        VIRTIO_HZ_T_WITHDRAW, 0, 1 });
        memcpy(f + HZ_HDR_LEN, "vm", 2);
        happens(h, 0, f, sizeof(struct virtio_hz_withdraw));
        break;
    case 3:
        memset(f, 0, sizeof(struct virtio_hz_read));
        hz_hdr_put(f, &(struct hz_hdr){ sizeof(struct virtio_hz_read), VIRTIO_HZ_T_READ, 0, 3 });
        happens(h, 0, f, sizeof(struct virtio_hz_read));
        break;
    case 4:
        happens(h, 0, f, reply_frame(f, &n, generation, 1 + (uint16_t)prng_below(p, 8), 0,
                                     NULL, 0));
        break;
    case 5:
        happens(h, 2, f, (size_t)hz_notice_put(f, sizeof(f), &n));
        break;
    case 6:
        v.verdicts = sample_verdicts(p, v.verdict, 4);
        happens(h, 2, f + HZ_HDR_LEN,
                (size_t)hz_set_verdicts_frame(f, sizeof(f), 0, &v) - HZ_HDR_LEN);
        break;
    default:
        f[0] = (uint8_t)prng_next(p);
        happens(h, (uint8_t)(3 + prng_below(p, 5)), f, 1);
        break;
    }
}

static void board_seeds(void)
{
    static uint8_t state[1 + HZ_BOARD_STATE_MAX];
    struct prng p = { 2 };

    for (unsigned i = 0; i < 24; i++) {
        static struct history h;
        struct hz_board *b = some_board(&p);
        int len = hz_board_save(b, state + 1, sizeof(state) - 1);

        state[0] = (uint8_t)i;
        write_seed("board-load", i, state, 1 + (size_t)len);
        hz_board_free(b);
        h.len = 0;
        for (unsigned k = 0; k < 4 + i; k++) {
            happens_any(&h, &p);
        }
        write_seed("board", i, h.bytes, h.len);
    }
}

/* -- vocabulary, decide ------------------------------------------------------ */

static void vocabulary_seeds(void)
{
    static const char *const texts[] = {
        "net-min=200Mbit", "net-min=25MB/s", "max-pause=250ms", "max-pause=1.5s",
        "subscribe=pause,reclaim", "subscribe=all", "job-id=my job", "job-role=train",
        "job-id=00112233-4455-6677-8899-aabbccddeeff", "goodput-gamma=2.5e0",
        "preemptible=25%", "net-burst=64KiB", "net-mni=1", "collective-sizes=01000000",
        "priority=7", "granularity=bucket", "unavailability-max=0.05%",
    };
    struct prng p = { 3 };
    size_t n_fields;
    const struct hz_field *fields = hz_vocabulary(&n_fields);
    unsigned number = 0;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char buf[128];
        int n = snprintf(buf, sizeof(buf), "%c%s", 0, texts[i]);

        write_seed("vocabulary", number++, buf, (size_t)n);
    }
    for (unsigned i = 0; i < 24; i++) {
        uint8_t buf[1 + 256], wire[16];
        size_t len = 0;

        buf[0] = (uint8_t)(1 | prng_below(&p, 6) << 1);
        for (unsigned k = 0; k < 6; k++) {
            const struct hz_field *f = &fields[prng_below(&p, n_fields)];
            int n = hz_value_put(f, prng_chance(&p, 50) ? f->min : f->max, wire);

            hz_doc_set(buf + 1, &len, 256, f->id, wire, n > 0 ? (uint16_t)n : 16);
        }
        write_seed("vocabulary", number++, buf, 1 + len);
    }
}

static void decide_seeds(void)
{
    struct prng p = { 4 };

    for (unsigned i = 0; i < 24; i++) {
        uint8_t buf[8 + 12 * 40];
        size_t len = 8 + 40 * (1 + i / 2);

        for (size_t k = 0; k < len; k++) {
            buf[k] = (uint8_t)(prng_chance(&p, 30) ? 0 : prng_next(&p));
        }
        write_seed("decide", i, buf, len);
    }
}

/* -- JSON: what really goes over the sockets, and what must not ---------------- */

static void json_seeds(void)
{
    static const char *const texts[] = {
        "{\"QMP\":{\"version\":{\"qemu\":{\"major\":0,\"minor\":1,\"micro\":0},"
            "\"package\":\"hzd\"},\"capabilities\":[]}}",
        "{\"execute\":\"qmp_capabilities\",\"id\":1}",
        "{\"execute\":\"notify\",\"arguments\":{\"vm\":\"A\",\"kind\":\"pause\","
            "\"duration-ms\":250},\"id\":\"x\"}",
        "{\"return\":{},\"id\":1}",
        "{\"error\":{\"class\":\"GenericError\",\"desc\":\"no such VM 'B'\"}}",
        "{\"event\":\"VERDICT\",\"data\":{\"vm\":\"A\"},"
            "\"timestamp\":{\"seconds\":1,\"microseconds\":2}}",
        "{\"a\":[1,-2.5e3,true,false,null,\"\\u00e4\\n\\\"\"]} {\"b\":{}}",
        "{\"a\":[[[[[[[[[[]]]]]]]]]]}",
        "{\"a\":18446744073709551615,\"b\":1e999}",
        "{\"a\":\"\\ud800\"}",
        "{/* no */}",
        "var a = {};",
    };

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_seed("json", i, texts[i], strlen(texts[i]));
    }
}

static void text_seeds(const char *target, const char *prefix, const char *const *texts)
{
    char buf[8192];

    for (unsigned i = 0; texts[i]; i++) {
        size_t len = strlen(texts[i]);

        buf[0] = prefix[0];
        memcpy(buf + 1, texts[i], len);
        /* Without a prefix the text alone. */
        write_seed(target, i, prefix[0] ? buf : buf + 1, len + (prefix[0] != 0));
    }
}

static const char *const control_texts[] = {
    "{\"execute\":\"qmp_capabilities\",\"id\":1}",
    "{\"execute\":\"query-version\"}\n{\"execute\":\"query-commands\"}",
    "{\"execute\":\"query-host\"}\n{\"execute\":\"query-config\"}",
    "{\"execute\":\"query-vms\"}\n{\"execute\":\"query-vm\",\"arguments\":{\"vm\":\"A\"}}",
    "{\"execute\":\"query-audit\",\"arguments\":{\"vm\":\"A\",\"event\":\"start\","
        "\"since\":\"2026-12-01T00:00:00Z\",\"limit\":5}}",
    "{\"execute\":\"query-why\",\"arguments\":{\"vm\":\"A\",\"at\":\"now\"}}",
    "{\"execute\":\"query-metrics\"}\n{\"execute\":\"query-actuators\"}",
    "{\"execute\":\"notify\",\"arguments\":{\"vms\":[\"A\",\"B\"],\"kind\":\"pause\","
        "\"key\":\"k1\",\"ack\":\"gate\",\"deadline\":\"30s\",\"duration\":\"250ms\","
        "\"cause\":\"maintenance\"}}\n"
        "{\"execute\":\"query-notices\",\"arguments\":{\"vm\":\"A\",\"open\":true}}\n"
        "{\"execute\":\"notice-cancel\",\"arguments\":{\"key\":\"k1\"}}",
    "{\"execute\":\"notify\",\"arguments\":{\"all\":true,\"kind\":\"reclaim\","
        "\"key\":\"k2\",\"payload\":{\"reclaim-action\":\"stop\","
        "\"reclaim-survives\":\"disk,net\"},\"extend-max\":\"5m\",\"confidence\":900}}\n"
        "{\"execute\":\"notice-start\",\"arguments\":{\"key\":\"k2\",\"vm\":\"A\"}}\n"
        "{\"execute\":\"notice-complete\",\"arguments\":{\"key\":\"k2\"}}",
    "{\"execute\":\"drain\",\"arguments\":{\"tenant\":\"t1\",\"deadline\":\"15m\","
        "\"key\":\"d\",\"test\":true}}",
    "{\"execute\":\"freeze\"}\n{\"execute\":\"thaw\"}\n{\"execute\":\"reload\"}",
    "{\"execute\":\"set-mode\",\"arguments\":{\"mode\":\"observe\",\"vm\":\"A\"}}\n"
        "{\"execute\":\"set-mode\",\"arguments\":{\"mode\":\"off\",\"actuator\":\"vnic\"}}",
    "{\"execute\":\"release\",\"arguments\":{\"vm\":\"A\"}}\n{\"execute\":\"release\"}",
    "{\"execute\":\"notify\",\"arguments\":{\"vms\":[\"A\"],\"kind\":\"pauze\"}}",
    NULL
};

static const char *const actuator_texts[] = {
    "{\"return\":{\"leaf\":\"fq_codel\",\"features\":[\"tap\"]},\"id\":1}\n"
        "{\"return\":{\"lines\":[{\"key\":\"A/nic/0\",\"ifname\":\"tapA0\",\"exists\":true,"
        "\"datapath\":\"tap\",\"shapeable\":true,\"ours\":false}]},\"id\":2}\n",
    "{\"return\":{\"results\":[{\"key\":\"A/nic/0\",\"state\":\"applied\",\"detail\":\"\"},"
        "{\"key\":\"B/nic/0\",\"state\":\"unsupported\",\"detail\":\"x\"}]},\"id\":1}\n",
    "{\"event\":\"CHANGED\",\"data\":{\"key\":\"A/nic/0\",\"what\":\"qdisc\","
        "\"action\":\"re-asserted\"},\"timestamp\":{\"seconds\":1,\"microseconds\":0}}\n",
    "{\"error\":{\"class\":\"GenericError\",\"desc\":\"no\"},\"id\":1}\n",
    "{\"HZ\":{\"actuator\":\"gpu\",\"protocol\":9,\"protocol-min\":2}}\n",
    NULL
};

static const char *const vnic_texts[] = {
    "{\"execute\":\"configure\",\"arguments\":{\"protocol\":1,\"mode\":\"observe\","
        "\"stale-after-ms\":600000}}\n"
        "{\"execute\":\"observe\",\"arguments\":{\"keys\":[{\"key\":\"A/nic/0\","
        "\"ifname\":\"lo\"}]}}\n"
        "{\"execute\":\"apply\",\"arguments\":{\"epoch\":1,\"plan\":[{\"key\":\"A/nic/0\","
        "\"ifname\":\"lo\",\"shape\":true,\"rate\":1000000,\"burst\":65536,"
        "\"static-rate\":0}]}}\n"
        "{\"execute\":\"forget\",\"arguments\":{\"keys\":[\"A/nic/0\"]}}\n"
        "{\"execute\":\"forget\",\"arguments\":{\"all\":true}}",
    "{\"execute\":\"configure\",\"arguments\":{\"protocol\":1,\"mode\":\"enforce\"}}\n"
        "{\"execute\":\"apply\",\"arguments\":{\"epoch\":2,\"plan\":[]}}",
    NULL
};

/* A device's stream: the whole of a board after its HELLO, SYNC, a change of run state. */
static void link_seeds(void)
{
    struct prng p = { 5 };

    for (unsigned i = 0; i < 8; i++) {
        struct hz_board *b = some_board(&p);
        struct hz_cursor c = { 0 };
        uint8_t buf[VIRTIO_HZ_MAX_FRAME * 4];
        size_t len = 1;
        int n;

        buf[0] = (uint8_t)(1 | i << 1);
        while ((n = hz_board_next(b, &c, buf + len, sizeof(buf) - len - 100, 0)) > 0) {
            len += (size_t)n;
        }
        len += (size_t)hz_sync_frame(buf + len, 24, &(struct hz_sync){ hz_board_version(b) });
        len += (size_t)hz_runstate_frame(buf + len, 24, &(struct hz_runstate){ i & 1 });
        len += (size_t)hz_bare_frame(buf + len, 16, i & 2 ? HZ_L_PONG : HZ_L_BYE, 0);
        write_seed("link", i, buf, len);
        hz_board_free(b);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make-seeds DIR\n");
        return 2;
    }
    root = argv[1];
    if (mkdir(root, 0777) && errno != EEXIST) {
        perror(root);
        return 1;
    }
    wire_seeds();
    board_seeds();
    vocabulary_seeds();
    decide_seeds();
    json_seeds();
    link_seeds();
    text_seeds("control", "\7", control_texts);
    text_seeds("actuator", "\1", actuator_texts);
    text_seeds("vnic", "", vnic_texts);
    return 0;
}
