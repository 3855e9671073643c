/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary: is the table sound, and does everything fed from it agree?
 */
#include "prng.h"
#include "tap.h"

#include "core/vocabulary.h"

#include <errno.h>

/* -- the table ----------------------------------------------------------- */

static bool name_ok(const char *name)
{
    size_t len = strlen(name);

    return len >= 3 && len <= 30 && name[0] != '-' && name[len - 1] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static const char *row_offence(const struct hz_field *f)
{
    const struct hz_field *above = f->not_above ? hz_field_by_id(f->not_above) : f;
    unsigned group = f->id >> 8 & 0x7f;
    bool notice = f->id >> 15;

    if (!name_ok(f->name)) {
        return "its name can't be an option";
    }
    if (!f->help || !*f->help || strlen(f->help) > 72 || f->help[strlen(f->help) - 1] == '.') {
        return "its help isn't one short line";
    }
    if (notice ? group < 1 || group > 15 || group == 14 : group < 1 || group > 20) {
        return "its id is of no T or E";
    }
    if (notice != !!(f->subjects & HZ_ON_NOTICE) || (notice && f->subjects != HZ_ON_NOTICE) ||
        !f->subjects || notice != (f->source == HZ_BY_OPERATOR)) {
        return "its subjects don't go with its id";
    }
    if ((f->type == HZ_TYPE_ENUM || f->type == HZ_TYPE_MASK) != !!f->names) {
        return "it has words and is no enumeration, or the other way round";
    }
    if (f->min > f->max || (f->unit && f->type > HZ_TYPE_U64)) {
        return "its bounds or unit can't be";
    }
    if (!above || above->type != f->type || above->unit != f->unit ||
        above->subjects != f->subjects) {
        return "its maximum is of another kind";
    }
    return NULL;
}

static const uint64_t largest[] = {
    [HZ_TYPE_U8] = UINT8_MAX, [HZ_TYPE_U16] = UINT16_MAX, [HZ_TYPE_U32] = UINT32_MAX,
    [HZ_TYPE_U64] = UINT64_MAX,
};

static void table(void)
{
    size_t n;
    const struct hz_field *rows = hz_vocabulary(&n);
    bool ascend = true, unique = true, found = true, fits = true;
    unsigned groups[2] = { 0 };

    for (size_t i = 0; i < n; i++) {
        const char *offence = row_offence(&rows[i]);

        if (offence) {
            ok(false, "%s: %s", rows[i].name, offence);
        }
        ascend &= !i || rows[i].id > rows[i - 1].id;
        fits &= rows[i].type > HZ_TYPE_U64 || rows[i].max <= largest[rows[i].type];
        found &= hz_field_by_id(rows[i].id) == &rows[i] &&
                 hz_field_by_name(rows[i].name) == &rows[i];
        for (size_t j = 0; j < i; j++) {
            unique &= strcmp(rows[i].name, rows[j].name) != 0;
        }
        groups[rows[i].id >> 15] |= 1u << (rows[i].id >> 8 & 0x7f);
    }
    ok(true, "%zu rows looked at", n);
    ok(ascend, "ids ascend");
    ok(unique, "names are unique");
    ok(found, "each is found by id and by name");
    ok(fits, "bounds fit the types");
    /* Bits 1..20, and 1..15 without 14. */
    is(groups[0], 0x1ffffe, "T1 to T20 are all there");
    is(groups[1], 0xbffe, "E1 to E15 but 14 are all there");
    ok(!hz_field_by_id(0) && !hz_field_by_id(0xffff) && !hz_field_by_id(0x0105) &&
       !hz_field_by_name("") && !hz_field_by_name("net"), "what isn't there isn't found");
}

/* Who says accepted, in the first work: T1, all of T7 but delays, T12, T15, the priority, T19. */
static bool consumed(uint16_t id)
{
    return (id >= HZ_F_JOB_ID && id <= HZ_F_JOB_ROLE) ||
           (id >= HZ_F_MAX_PAUSE && id <= HZ_F_PAUSE_FATAL) ||
           (id >= HZ_F_NET_MIN && id <= HZ_F_NET_WEIGHT) ||
           id >> 8 == HZ_F_NOTICE_NEEDED >> 8 || id == HZ_F_PRIORITY ||
           id == HZ_F_SUBSCRIBE_EVENTS || id == HZ_F_SUBSCRIBE_GRAIN ||
           id >> 8 == 0x81 || id >> 8 == 0x84 || id >> 8 == 0x89;
}

static void consumers(void)
{
    size_t n;
    const struct hz_field *rows = hz_vocabulary(&n);
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        bool has = rows[i].consumer != HZ_CONSUMER_NONE;

        if (has != consumed(rows[i].id)) {
            printf("# %s\n", rows[i].name);
            good = false;
        }
    }
    ok(good, "exactly what something here acts on has a consumer");
    is(hz_field_by_name("net-min")->consumer, HZ_CONSUMER_VNIC, "net-min is the vnic actuator's");
    is(hz_field_by_name("max-pause")->consumer, HZ_CONSUMER_HZD, "max-pause is hzd's");
}

static void nearest(void)
{
    static const char *const words[] = { "capacity", "uplink", NULL };

    is_str(hz_field_nearest("net-mni"), "net-min", "two letters swapped");
    is_str(hz_field_nearest("netmin"), "net-min", "one left out");
    is_str(hz_field_nearest("max-pauze"), "max-pause", "one wrong");
    is_str(hz_field_nearest("priorities"), "priority", "a plural");
    ok(!hz_field_nearest("zebra-crossing"), "nothing near, nothing said");
    ok(!hz_field_nearest(""), "nothing typed, nothing said");
    ok(!hz_field_nearest("a-word-that-is-far-longer-than-any-name-there-is-in-it"), "too long");
    is_str(hz_nearest("capcity", words), "capacity", "among other words");
    ok(!hz_nearest("weight", words), "none of them near");
}

/* -- subjects ------------------------------------------------------------ */

static void subjects(void)
{
    static const struct {
        const char *name;
        unsigned kind;
    } subject[] = {
        { "vm", HZ_ON_VM }, { "nic/0", HZ_ON_NIC }, { "nic/12", HZ_ON_NIC },
        { "nic/65535", HZ_ON_NIC }, { "gpu", HZ_ON_GPU }, { "ckpt", HZ_ON_CKPT },
        { "job/a", HZ_ON_JOB }, { "job/a/b", HZ_ON_JOB },
        { "", 0 }, { "vms", 0 }, { "nic", 0 }, { "nic/", 0 }, { "nic/00", 0 }, { "nic/01", 0 },
        { "nic/65536", 0 }, { "nic/99999999999999999999", 0 }, { "nic/1a", 0 }, { "nic/-1", 0 },
        { "job/", 0 }, { "gpu/0", 0 }, { "disk/0", 0 },
    };
    uint8_t key[VIRTIO_HZ_KEY_LEN];

    for (size_t i = 0; i < sizeof(subject) / sizeof(subject[0]); i++) {
        is(hz_subject_kind_str(subject[i].name), subject[i].kind, "subject '%s'",
           subject[i].name);
        if (hz_subject_put(key, subject[i].name)) {
            is(hz_subject_kind(key), subject[i].kind, "and as a key");
        }
    }
    memset(key, 'v', sizeof(key));
    is(hz_subject_kind(key), 0, "a key without an end is no subject");
    memset(key, 0, sizeof(key));
    memcpy(key, "vm\0x", 4);
    is(hz_subject_kind(key), 0, "nor is one with something behind its end");
}

/* -- values -------------------------------------------------------------- */

struct text {
    const char *field, *text;
    int ret;                    /* or length */
    const char *hex;            /* the wire value */
    const char *told;           /* NULL: as typed */
};

static const struct text texts[] = {
    { "net-min", "200Mbit", 8, "40787d0100000000", NULL },
    { "net-min", "25MB/s", 8, "40787d0100000000", "200Mbit" },
    { "net-min", "125001TB/s", -ERANGE, NULL, NULL },
    { "net-max", "999", -ERANGE, NULL, NULL },
    { "net-max", "8kbit", 8, "e803000000000000", NULL },
    { "net-burst", "64KiB", 8, "0000010000000000", NULL },
    { "net-burst", "0", -ERANGE, NULL, NULL },
    { "net-weight", "1000", 2, "e803", NULL },
    { "net-weight", "0", -ERANGE, NULL, NULL },
    { "net-weight", "1001", -ERANGE, NULL, NULL },
    { "net-weight", "ten", -EINVAL, NULL, NULL },
    { "max-pause", "250ms", 4, "fa000000", NULL },
    { "max-pause", "50d", -ERANGE, NULL, NULL },
    { "max-pause", "1us", -EDOM, NULL, NULL },
    { "max-pauses-per-h", "4", 2, "0400", NULL },
    { "notice-needed-reclaim", "90s", 4, "905f0100", NULL },
    { "extend-max", "5m", 4, "e0930400", NULL },
    { "priority", "255", 1, "ff", NULL },
    { "priority", "256", -ERANGE, NULL, NULL },
    { "preemptible", "25%", 2, "fa00", NULL },
    { "job-role", "infer", 1, "01", NULL },
    { "job-role", "1", 1, "01", "infer" },
    { "job-role", "3", -ERANGE, NULL, NULL },
    { "job-role", "trains", -EINVAL, NULL, NULL },
    { "job-role", "", -EINVAL, NULL, NULL },
    /* bits 1 and 4 */
    { "subscribe", "pause,reclaim", 4, "12000000", NULL },
    { "subscribe", "reclaim,pause", 4, "12000000", "pause,reclaim" },
    { "subscribe", "none", 4, "00000000", NULL },
    /* all but bits 0 and 14 */
    { "subscribe", "all", 4, "febf0000",
      "pause,reboot,move,reclaim,terminate,risk,maint-window,capacity,resource-changed,"
      "net-state,health,energy,ckpt,offer" },
    { "subscribe", "pause,", -EINVAL, NULL, NULL },
    { "subscribe", ",pause", -EINVAL, NULL, NULL },
    { "subscribe", "pause,bang", -EINVAL, NULL, NULL },
    { "subscribe", "", -EINVAL, NULL, NULL },
    { "granularity", "bucket", 1, "02", NULL },
    { "granularity", "3", -ERANGE, NULL, NULL },
    { "job-id", "00112233-4455-6677-8899-aabbccddeeff", 16, "00112233445566778899aabbccddeeff",
      NULL },
    { "job-id", "00112233445566778899AABBCCDDEEFF", 16, "00112233445566778899aabbccddeeff",
      "00112233-4455-6677-8899-aabbccddeeff" },
    /* FNV-1a 128 of "a": (basis ^ 0x61) x prime mod 2^128, computed by Python */
    { "job-id", "a", 16, "d228cb696f1a8caf78912b704e4a8964",
      "d228cb69-6f1a-8caf-7891-2b704e4a8964" },
    { "job-id", "", -EINVAL, NULL, NULL },
    { "goodput-gamma", "2.5", 8, "0000000000000440", NULL },
    { "goodput-gamma", "1", 8, "000000000000f03f", NULL },
    { "goodput-gamma", "0.99", -ERANGE, NULL, NULL },
    { "goodput-gamma", "10.1", -ERANGE, NULL, NULL },
    { "goodput-alpha-c", "1e-3", 8, "fca9f1d24d62503f", "0.001" },
    { "goodput-alpha-c", "-1", -ERANGE, NULL, NULL },
    { "goodput-alpha-c", "-0", -ERANGE, NULL, NULL },
    { "goodput-alpha-c", "1e999", -ERANGE, NULL, NULL },
    { "goodput-alpha-c", "inf", -EINVAL, NULL, NULL },
    { "goodput-alpha-c", "nan", -EINVAL, NULL, NULL },
    { "goodput-alpha-c", "0x1p3", -EINVAL, NULL, NULL },
    { "goodput-alpha-c", " 1", -EINVAL, NULL, NULL },
    { "goodput-alpha-c", "1,5", -EINVAL, NULL, NULL },
    { "collective-sizes", "01000000", 4, "01000000", NULL },
    { "collective-sizes", "0100", -ERANGE, NULL, NULL },
    { "collective-sizes", "0100000", -EINVAL, NULL, NULL },
    { "collective-sizes", "0102030405060708090a0b0c0d0e0f1011", -ERANGE, NULL, NULL },
    { "pause-memory-kept", "yes", 1, "01", NULL },
};

static void to_hex(const uint8_t *p, int n, char *hex)
{
    for (int i = 0; i < n; i++) {
        sprintf(hex + 2 * i, "%02x", p[i]);
    }
}

static void typing(void)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct text *t = &texts[i];
        const struct hz_field *f = hz_field_by_name(t->field);
        uint8_t wire[16];
        char hex[33] = "", told[256] = "", small[4] = "xxx";
        const char *wanted = t->told ? t->told : t->text;
        int ret;

        if (!ok(f, "there is a field %s", t->field)) {
            continue;
        }
        ret = hz_value_parse(f, t->text, wire);
        is(ret, t->ret, "%s '%s'", t->field, t->text);
        if (ret < 0 || t->ret < 0) {
            continue;
        }
        to_hex(wire, ret, hex);
        is_str(hex, t->hex, "its wire value");
        is(hz_value_format(f, wire, (uint16_t)ret, told, sizeof(told)), strlen(wanted),
           "the length of its text");
        is_str(told, wanted, "its text");
        is(hz_value_format(f, wire, (uint16_t)ret, small, sizeof(small)), strlen(wanted),
           "the same with a small buffer");
        ok(!small[3] && !strncmp(small, wanted, 3), "which holds its beginning");
    }
}

/* A value of a field, in bounds or not. */
static uint64_t any_number(const struct hz_field *f, struct prng *p)
{
    switch (prng_below(p, 6)) {
    case 0:
        return f->min;
    case 1:
        return f->max;
    case 2:
        return f->max + 1;
    case 3:
        return f->min - 1;
    default:
        return prng_next(p) >> prng_below(p, 64);
    }
}

/* What put takes, get and check take, and text brings back. What it refuses is out of bounds. */
static const char *number_offence(const struct hz_field *f, uint64_t v)
{
    uint8_t wire[16], again[16];
    char text[256];
    uint64_t back;
    int len = hz_value_put(f, v, wire);

    if (len == -ERANGE) {
        return v >= f->min && v <= f->max && f->type <= HZ_TYPE_ENUM && f->type != HZ_TYPE_F64
            ? "a value within bounds was refused" : NULL;
    }
    if (len < 1 || hz_value_check(f, wire, (uint16_t)len) ||
        hz_value_get(f, wire, (uint16_t)len, &back) || back != v) {
        return "put and get disagree";
    }
    if (hz_value_get(f, wire, (uint16_t)(len + 1), &back) != -EINVAL ||
        hz_value_get(f, wire, (uint16_t)(len - 1), &back) != -EINVAL) {
        return "another length was taken";
    }
    if (hz_value_format(f, wire, (uint16_t)len, text, sizeof(text)) < 1 ||
        hz_value_parse(f, text, again) != len || memcmp(again, wire, (size_t)len)) {
        return "its text doesn't read back";
    }
    return NULL;
}

static void numbers(void)
{
    size_t n;
    const struct hz_field *rows = hz_vocabulary(&n);
    struct prng p = { 5 };

    for (size_t i = 0; i < n; i++) {
        const char *offence = NULL;
        uint8_t wire[16] = { 0 };
        uint64_t v = 0;

        if (rows[i].type == HZ_TYPE_ID || rows[i].type == HZ_TYPE_BYTES) {
            ok(hz_value_get(&rows[i], wire, 16, &v) == -EINVAL &&
               hz_value_put(&rows[i], v, wire) == -EINVAL, "%s is no number", rows[i].name);
            continue;
        }
        for (int k = 0; k < 500 && !offence; k++) {
            v = any_number(&rows[i], &p);
            offence = number_offence(&rows[i], v);
        }
        if (!ok(!offence, "%s there and back", rows[i].name)) {
            printf("# %llu: %s\n", (unsigned long long)v, offence);
        }
    }
}

/* -- documents ----------------------------------------------------------- */

struct doc {
    uint8_t bytes[VIRTIO_HZ_MAX_DOC];
    size_t len;
};

static void add(struct doc *d, const char *field, const char *text)
{
    const struct hz_field *f = hz_field_by_name(field);
    uint8_t wire[16];
    int len = hz_value_parse(f, text, wire);

    if (len < 0 || hz_doc_set(d->bytes, &d->len, sizeof(d->bytes), f->id, wire, (uint16_t)len)) {
        ok(false, "%s=%s can be added", field, text);
    }
}

static void add_raw(struct doc *d, uint16_t id, const char *bytes, uint16_t len)
{
    if (hz_doc_set(d->bytes, &d->len, sizeof(d->bytes), id, bytes, len)) {
        ok(false, "field %04x can be added", id);
    }
}

static void verdict_of(const struct doc *d, const char *subject, uint16_t id,
                       uint8_t code, uint8_t reason, const char *what)
{
    struct hz_verdict v[VIRTIO_HZ_MAX_FIELDS];
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    unsigned n, i;

    if (!hz_subject_put(key, subject) || hz_doc_check(d->bytes, d->len, sizeof(d->bytes))) {
        ok(false, "%s: the test's document is sound", what);
        return;
    }
    n = hz_doc_judge(key, d->bytes, d->len, v);
    for (i = 0; i < n && v[i].field != id; i++) {
    }
    if (!ok(i < n && v[i].code == code && v[i].reason == reason && !v[i].value, "%s", what) &&
        i < n) {
        printf("# %s (%s)\n", hz_verdict_name(v[i].code), hz_reason_name(v[i].reason));
    }
}

static void judging(void)
{
    struct doc d = { .len = 0 };
    struct hz_verdict v[VIRTIO_HZ_MAX_FIELDS];
    uint8_t key[VIRTIO_HZ_KEY_LEN] = "nic/0";

    is(hz_doc_judge(key, d.bytes, 0, v), 0, "an empty document has no verdicts");
    add(&d, "net-min", "200Mbit");
    add(&d, "net-max", "100Mbit");
    add(&d, "net-weight", "5");
    add_raw(&d, HZ_F_NET_BURST, "\0\0\0", 3);
    add_raw(&d, 0x7777, "x", 1);
    add_raw(&d, HZ_N_CHANGED_NEW, "12345678", 8);
    add(&d, "max-pause", "1s");
    is(hz_doc_judge(key, d.bytes, d.len, v), 7, "one verdict a field");
    verdict_of(&d, "nic/0", HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_REJECTED,
               VIRTIO_HZ_REASON_CONFLICT, "a minimum above its maximum is rejected");
    verdict_of(&d, "nic/0", HZ_F_NET_MAX, VIRTIO_HZ_VERDICT_REJECTED,
               VIRTIO_HZ_REASON_CONFLICT, "so is the maximum");
    verdict_of(&d, "nic/0", HZ_F_NET_WEIGHT, VIRTIO_HZ_VERDICT_PENDING,
               VIRTIO_HZ_REASON_NONE, "what a consumer has still to answer is pending");
    verdict_of(&d, "nic/0", HZ_F_NET_BURST, VIRTIO_HZ_VERDICT_REJECTED,
               VIRTIO_HZ_REASON_BOUNDS, "a wrong length is rejected");
    verdict_of(&d, "nic/0", 0x7777, VIRTIO_HZ_VERDICT_UNSUPPORTED,
               VIRTIO_HZ_REASON_UNKNOWN_FIELD, "an unknown field is unsupported");
    verdict_of(&d, "nic/0", HZ_N_CHANGED_NEW, VIRTIO_HZ_VERDICT_UNSUPPORTED,
               VIRTIO_HZ_REASON_SUBJECT, "a notice's field can't be declared");
    verdict_of(&d, "nic/0", HZ_F_MAX_PAUSE, VIRTIO_HZ_VERDICT_REJECTED,
               VIRTIO_HZ_REASON_SUBJECT, "a field of another subject is rejected");
    verdict_of(&d, "vm", HZ_F_MAX_PAUSE, VIRTIO_HZ_VERDICT_PENDING,
               VIRTIO_HZ_REASON_NONE, "in its own it is pending");
    verdict_of(&d, "vm", HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_REJECTED,
               VIRTIO_HZ_REASON_SUBJECT, "and the others aren't");
    verdict_of(&d, "disk/0", HZ_F_MAX_PAUSE, VIRTIO_HZ_VERDICT_REJECTED,
               VIRTIO_HZ_REASON_SUBJECT, "a subject that doesn't exist has no field");

    d.len = 0;
    add(&d, "net-min", "100Mbit");
    add(&d, "net-max", "100Mbit");
    verdict_of(&d, "nic/1", HZ_F_NET_MIN, VIRTIO_HZ_VERDICT_PENDING, VIRTIO_HZ_REASON_NONE,
               "a minimum equal to its maximum is fine");

    d.len = 0;
    add(&d, "delay-tolerance", "10ms");
    add(&d, "deploy-tolerance", "10s");
    verdict_of(&d, "vm", HZ_F_DELAY_TOLERANCE, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_NONE,
               "what nothing here uses is recorded");
    verdict_of(&d, "job/x", 0x0401, VIRTIO_HZ_VERDICT_RECORDED, VIRTIO_HZ_REASON_NONE,
               "also in a job");

    d.len = 0;
    add_raw(&d, HZ_F_JOB_ID, "short", 5);
    add_raw(&d, HZ_F_SUBSCRIBE_EVENTS, "\x01\0\0\0", 4);
    verdict_of(&d, "vm", HZ_F_JOB_ID, VIRTIO_HZ_VERDICT_REJECTED, VIRTIO_HZ_REASON_BOUNDS,
               "an id that isn't 16 bytes is rejected");
    verdict_of(&d, "vm", HZ_F_SUBSCRIBE_EVENTS, VIRTIO_HZ_VERDICT_REJECTED,
               VIRTIO_HZ_REASON_BOUNDS, "so is a mask's bit without a meaning");
}

static void doc_number(void)
{
    struct doc d = { .len = 0 };
    uint64_t v = 0;

    add(&d, "net-min", "8kbit");
    add_raw(&d, HZ_F_NET_WEIGHT, "abc", 3);
    ok(hz_doc_u64(d.bytes, d.len, HZ_F_NET_MIN, &v) && v == 1000, "a number of a document");
    ok(!hz_doc_u64(d.bytes, d.len, HZ_F_NET_MAX, &v), "one that's absent");
    ok(!hz_doc_u64(d.bytes, d.len, HZ_F_NET_WEIGHT, &v), "one that's malformed");
    ok(!hz_doc_u64(d.bytes, d.len, 0x7777, &v), "one that isn't known");
}

/* A document of as many fields as there may be gets as many verdicts. */
static void full_document(void)
{
    struct doc d = { .len = 0 };
    struct hz_verdict v[VIRTIO_HZ_MAX_FIELDS];
    uint8_t key[VIRTIO_HZ_KEY_LEN] = "vm";

    for (uint16_t i = 0; i < VIRTIO_HZ_MAX_FIELDS; i++) {
        add_raw(&d, (uint16_t)(0x0101 + i), "1234", 4);
    }
    is(hz_doc_judge(key, d.bytes, d.len, v), VIRTIO_HZ_MAX_FIELDS, "64 fields, 64 verdicts");
}

/* -- words --------------------------------------------------------------- */

static void words(void)
{
    const struct hz_field *subscribe = hz_field_by_id(HZ_F_SUBSCRIBE_EVENTS);
    size_t n;
    const struct hz_kind *kinds = hz_kinds(&n);
    bool round = true, named = true, offered = true;

    is(n, 14, "14 kinds of notice");
    for (size_t i = 0; i < n; i++) {
        char needed[64];

        round &= hz_kind_by_name(kinds[i].name) == kinds[i].kind &&
                 !strcmp(hz_kind_name(kinds[i].kind), kinds[i].name);
        named &= !strcmp(subscribe->names[kinds[i].kind], kinds[i].name);
        snprintf(needed, sizeof(needed), "notice-needed-%s", kinds[i].name);
        named &= hz_field_by_name(needed) &&
                 hz_field_by_name(needed)->id == HZ_F_NOTICE_NEEDED + kinds[i].kind;
        offered &= kinds[i].offered == (kinds[i].kind == HZ_KIND_PAUSE ||
                                        kinds[i].kind == HZ_KIND_RECLAIM);
    }
    ok(round, "their names go both ways");
    ok(named, "and stand in subscribe and notice-needed");
    ok(offered, "pause and reclaim are offered");
    is(hz_kind_by_name("bang"), -EINVAL, "no such kind");
    is_str(hz_kind_name(14), "?", "kind 14 isn't one");

    is_str(hz_state_name(VIRTIO_HZ_STATE_ADVISED), "advised", "first state");
    is_str(hz_state_name(VIRTIO_HZ_STATE_MAX), "superseded", "last state");
    is_str(hz_state_name(VIRTIO_HZ_STATE_MAX + 1), "?", "no state");
    is_str(hz_ack_name(VIRTIO_HZ_ACK_MAX), "negotiate", "last ack");
    is_str(hz_ack_name(VIRTIO_HZ_ACK_MAX + 1), "?", "no ack");
    is_str(hz_reply_name(VIRTIO_HZ_REPLY_PREPARED), "prepared", "a reply");
    is_str(hz_reply_name(VIRTIO_HZ_REPLY_MAX), "failed", "last reply");
    is_str(hz_reply_name(VIRTIO_HZ_REPLY_MAX + 1), "?", "no reply");
    is(hz_reply_by_name("extend"), VIRTIO_HZ_REPLY_EXTEND, "a reply by name");
    is(hz_reply_by_name("maybe"), -EINVAL, "no such reply");
    is_str(hz_verdict_name(VIRTIO_HZ_VERDICT_MAX), "recorded", "last verdict");
    is_str(hz_verdict_name(VIRTIO_HZ_VERDICT_MAX + 1), "?", "no verdict");
    is_str(hz_reason_name(VIRTIO_HZ_REASON_MAX), "unavailable", "last reason");
    is_str(hz_reason_text(VIRTIO_HZ_REASON_DATAPATH), "this NIC can't be shaped", "its clause");
    is_str(hz_reason_name(VIRTIO_HZ_REASON_MAX + 1), "?", "no reason");
    is_str(hz_reason_text(VIRTIO_HZ_REASON_MAX + 1), "?", "no clause");
    is_str(hz_scope_name(VIRTIO_HZ_SCOPE_MAX), "group", "last scope");
    is_str(hz_scope_name(VIRTIO_HZ_SCOPE_MAX + 1), "?", "no scope");
    is_str(hz_source_name(VIRTIO_HZ_SOURCE_MAX), "peer", "last source");
    is_str(hz_source_name(VIRTIO_HZ_SOURCE_MAX + 1), "?", "no source");
    is_str(hz_cause_name(VIRTIO_HZ_CAUSE_MAX), "failed", "last cause");
    is_str(hz_cause_name(VIRTIO_HZ_CAUSE_MAX + 1), "?", "no cause");
    is(hz_cause_by_name("maintenance"), VIRTIO_HZ_CAUSE_MAINTENANCE, "a cause by name");
    is(hz_cause_by_name("boredom"), -EINVAL, "no such cause");
    is_str(hz_status_name(VIRTIO_HZ_OK), "ok", "first status");
    is_str(hz_status_name(-VIRTIO_HZ_E_VOID), "void", "a status, negative");
    is_str(hz_status_name(VIRTIO_HZ_E_SMALL), "buffer-too-small", "last status");
    is_str(hz_status_name(VIRTIO_HZ_E_SMALL + 1), "?", "no status");
    is_str(hz_why_name(VIRTIO_HZ_WHY_PAUSE), "pause", "last reason of a disruption");
    is_str(hz_why_name(VIRTIO_HZ_WHY_PAUSE + 1), "?", "none");
    is_str(hz_type_name(HZ_TYPE_F64), "f64", "a type");
    is_str(hz_type_name((enum hz_type)99), "?", "no type");
    is_str(hz_consumer_name(HZ_CONSUMER_VNIC), "vnic", "a consumer");
    is_str(hz_consumer_name(HZ_CONSUMER_NONE), "-", "none");
    is_str(hz_consumer_name((enum hz_consumer)99), "?", "no consumer");
}

int main(void)
{
    table();
    consumers();
    nearest();
    subjects();
    typing();
    numbers();
    judging();
    doc_number();
    full_document();
    words();
    return tap_done();
}
