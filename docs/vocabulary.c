/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes docs/vocabulary.md from the vocabulary's table.
 *
 *   hz-vocabulary               print the page
 *   hz-vocabulary --check FILE  is FILE that page? (a test asks this)
 */
#include "core/vocabulary.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *page;
static size_t page_len;
static FILE *out;

__attribute__((format(printf, 1, 2)))
static void put(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
}

/* -- words only a page needs ---------------------------------------------- */

static const char *const group_titles[] = {
    [1] = "The job this VM is part of",
    [2] = "Scaling out and in",
    [3] = "Scaling up and down",
    [4] = "Deployment",
    [5] = "Availability",
    [6] = "Pre-emption",
    [7] = "Pauses and delays",
    [8] = "Where",
    [9] = "Batches",
    [10] = "Goodput model",
    [11] = "Collective communication",
    [12] = "Network bandwidth",
    [13] = "Parallel dimensions",
    [14] = "Checkpoints",
    [15] = "How much warning",
    [16] = "Reporting a fault",
    [17] = "Latency objective and energy",
    [18] = "Contention",
    [19] = "What to be told",
    [20] = "Passthrough devices",
};

static const char *source_word(enum hz_source source)
{
    static const char *const words[] = { "tenant", "guess", "operator" };

    return words[source];
}

static const char *merge_word(enum hz_merge merge)
{
    static const char *const words[] = { "last", "least", "most", "sum", "any" };

    return words[merge];
}

static void put_subjects(unsigned subjects)
{
    static const char *const names[] = { "vm", "nic/N", "gpu", "ckpt", "job/NAME" };
    const char *comma = "";

    for (unsigned i = 0; i < 5; i++) {
        if (subjects & 1u << i) {
            put("%s`%s`", comma, names[i]);
            comma = " ";
        }
    }
}

static void put_words(const char *const *names)
{
    const char *comma = "";

    for (; *names; names++) {
        if (**names) {
            put("%s%s", comma, *names);
            comma = ", ";
        }
    }
}

static void put_number(const struct hz_field *f, uint64_t v)
{
    char text[64];

    hz_unit_format(f->unit, v, text, sizeof(text));
    put("%s", text);
}

/* What may stand in it: words, or a range that says more than the type does. */
static void put_bounds(const struct hz_field *f)
{
    static const uint64_t largest[] = { UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX };

    if (f->names) {
        put_words(f->names);
    } else if (f->type == HZ_TYPE_ID) {
        put("a uuid, 32 hex digits, or any text");
    } else if (f->type == HZ_TYPE_BYTES) {
        put("%llu to %llu bytes", (unsigned long long)f->min, (unsigned long long)f->max);
    } else if (f->type == HZ_TYPE_F64 && !f->max) {
        put("not negative");
    } else if (f->type <= HZ_TYPE_U64 && !f->min && f->max == largest[f->type]) {
        put("any");
    } else if (f->type <= HZ_TYPE_U64 && f->max == largest[f->type]) {
        put("at least ");
        put_number(f, f->min);
    } else {
        put_number(f, f->min);
        put(" to ");
        put_number(f, f->max);
    }
    if (f->not_above) {
        put(", not above `%s`", hz_field_by_id(f->not_above)->name);
    }
}

/* -- parts of the page ----------------------------------------------------- */

static void put_row(const struct hz_field *f, bool declared)
{
    const char *unit = hz_unit_name(f->unit);

    put("| `%s` | 0x%04x | %s%s%s | ", f->name, f->id, hz_type_name(f->type),
        *unit ? ", " : "", unit);
    put_bounds(f);
    put(" | ");
    if (declared) {
        put_subjects(f->subjects);
        put(" | %s | %s | ", source_word(f->source), merge_word(f->merge));
    }
    put("%s | %s |\n", hz_consumer_name(f->consumer), f->help);
}

static void put_declarations(void)
{
    size_t n;
    const struct hz_field *f = hz_vocabulary(&n);
    unsigned group = 0;

    for (size_t i = 0; i < n && f[i].source != HZ_BY_OPERATOR; i++) {
        if (f[i].id >> 8 != group) {
            group = f[i].id >> 8;
            put("\n### T%u: %s\n\n", group, group_titles[group]);
            put("| field | id | type | values | in | from | several | used by | meaning |\n"
                "|---|---|---|---|---|---|---|---|---|\n");
        }
        put_row(&f[i], true);
    }
}

static void put_notices(void)
{
    size_t n_kinds, n;
    const struct hz_kind *kinds = hz_kinds(&n_kinds);
    const struct hz_field *f = hz_vocabulary(&n);

    for (size_t k = 0; k < n_kinds; k++) {
        bool any = false;

        put("\n### E%u: %s\n\n%c%s%s.\n", kinds[k].kind, kinds[k].name,
            kinds[k].help[0] >= 'a' ? kinds[k].help[0] - 'a' + 'A' : kinds[k].help[0],
            kinds[k].help + 1, kinds[k].offered ? ". `hzctl notify` sends it" : "");
        for (size_t i = 0; i < n; i++) {
            if (f[i].id >> 8 != (0x80 | kinds[k].kind)) {
                continue;
            }
            if (!any) {
                put("\n| field | id | type | values | written by | meaning |\n"
                    "|---|---|---|---|---|---|\n");
                any = true;
            }
            put_row(&f[i], false);
        }
    }
}

static void put_list(const char *title, unsigned first, unsigned last,
                     const char *(*name)(unsigned))
{
    put("- %s:", title);
    for (unsigned i = first; i <= last; i++) {
        put("%s %u %s", i == first ? "" : ",", i, name(i));
    }
    put(".\n");
}

static const char *state_word(unsigned i) { return hz_state_name((uint8_t)i); }
static const char *ack_word(unsigned i) { return hz_ack_name((uint8_t)i); }
static const char *scope_word(unsigned i) { return hz_scope_name((uint8_t)i); }
static const char *from_word(unsigned i) { return hz_source_name((uint8_t)i); }
static const char *cause_word(unsigned i) { return hz_cause_name((uint16_t)i); }
static const char *reply_word(unsigned i) { return hz_reply_name((uint16_t)i); }

static void put_envelope(void)
{
    put_list("State", 0, VIRTIO_HZ_STATE_MAX, state_word);
    put_list("Answer asked for", 0, VIRTIO_HZ_ACK_MAX, ack_word);
    put_list("Scope", 0, VIRTIO_HZ_SCOPE_MAX, scope_word);
    put_list("Source", 0, VIRTIO_HZ_SOURCE_MAX, from_word);
    put_list("Cause", 0, VIRTIO_HZ_CAUSE_MAX, cause_word);
    put_list("Reply", VIRTIO_HZ_REPLY_SEEN, VIRTIO_HZ_REPLY_MAX, reply_word);
}

static void put_verdicts(void)
{
    static const char *const meaning[] = {
        "no answer yet", "a running consumer acts on it", "another value is in force",
        "it can't be", "the provider can't, or doesn't know the field",
        "valid, and nothing here uses it",
    };

    put("| verdict | code | meaning |\n|---|---|---|\n");
    for (uint8_t i = 0; i <= VIRTIO_HZ_VERDICT_MAX; i++) {
        put("| %s | %u | %s |\n", hz_verdict_name(i), i, meaning[i]);
    }
    put("\n| reason | code | meaning |\n|---|---|---|\n");
    for (uint8_t i = 0; i <= VIRTIO_HZ_REASON_MAX; i++) {
        put("| %s | %u | %s |\n", hz_reason_name(i), i, hz_reason_text(i));
    }
}

static void put_page(void)
{
    put("<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
        "<!-- Written by docs/vocabulary.c from the table in hzdev/core; a test compares. -->\n"
        "# The vocabulary\n\n"
        "Every field a guest can declare and every notice a provider can send. All ids\n"
        "are reserved: none will ever mean anything else. A field that nothing here uses\n"
        "yet is checked, kept and answered with `recorded`.\n\n"
        "A document is fields by ascending id, each a 16-bit id, a 16-bit length and the\n"
        "value, padded to four bytes; all integers little-endian. An `enum` is a u8, a\n"
        "`mask` a u32 of one bit a word from bit 0 (in `subscribe` bit E is kind E), an\n"
        "`id` 16 bytes, an `f64` IEEE, finite and not negative. A word typed for an `id`\n"
        "is hashed (FNV-1a, 128 bit).\n\n"
        "Quantities are typed with their unit: bytes `64k` `64KiB` `1GB`; rates `200Mbit`\n"
        "`25MB/s`, a bare number is bytes/s; times `250ms` `90s` `15m` `2h`, a bare\n"
        "number is in the field's own unit; shares `25%%`. What can't be told exactly in\n"
        "the field's unit is refused.\n\n"
        "## Declarations\n\n"
        "*In*: the subjects it may stand in. *From*: `tenant` knows it, or it is a\n"
        "`guess` that what is measured beats. *Several*: how several documents that name\n"
        "it become one value. *Used by*: who acts on it, `-`: nobody yet.\n");
    put_declarations();
    put("\n## Notices\n");
    put_notices();
    put("\n## The envelope of a notice, and replies\n\n");
    put_envelope();
    put("\n## Verdicts\n\n");
    put_verdicts();
}

/* -- checking ---------------------------------------------------------------- */

/* The line of both at which they part; 0: nowhere. */
static unsigned parts_at(const char *a, const char *b)
{
    unsigned line = 1;

    for (; *a && *a == *b; a++, b++) {
        line += *a == '\n';
    }
    return *a == *b ? 0 : line;
}

static int check(const char *path)
{
    char *text = calloc(1, page_len + 2);
    FILE *f = fopen(path, "r");
    unsigned line;

    if (!text || !f) {
        perror(path);
        free(text);
        return 1;
    }
    if (fread(text, 1, page_len + 1, f) == 0) {
        fprintf(stderr, "%s: empty\n", path);
    }
    fclose(f);
    line = parts_at(text, page);
    free(text);
    if (line) {
        fprintf(stderr, "%s:%u: not what the table says; write it anew with hz-vocabulary > %s\n",
                path, line, path);
    }
    return line ? 1 : 0;
}

int main(int argc, char **argv)
{
    int ret = 0;

    out = open_memstream(&page, &page_len);
    if (!out) {
        perror("hz-vocabulary");
        return 1;
    }
    put_page();
    fclose(out);
    if (argc == 3 && !strcmp(argv[1], "--check")) {
        ret = check(argv[2]);
    } else if (argc == 1) {
        fwrite(page, 1, page_len, stdout);
    } else {
        fprintf(stderr, "usage: hz-vocabulary [--check FILE]\n");
        ret = 2;
    }
    free(page);
    return ret;
}
