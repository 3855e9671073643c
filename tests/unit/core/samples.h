/* SPDX-License-Identifier: MIT */
/*
 * Random but valid documents, verdicts and notices, and hexadecimal text.
 */
#ifndef HZ_TESTS_SAMPLES_H
#define HZ_TESTS_SAMPLES_H

#include "core/wire.h"
#include "prng.h"

void sample_uuid(struct prng *p, uint8_t id[VIRTIO_HZ_UUID_LEN]);
void sample_subject(struct prng *p, uint8_t key[VIRTIO_HZ_KEY_LEN]);
/* A well-formed document of at most @max bytes; its length. */
uint16_t sample_doc(struct prng *p, uint8_t *doc, size_t max);
/* At most @max verdicts, fields ascending; their number. */
uint16_t sample_verdicts(struct prng *p, struct hz_verdict *v, unsigned max);
void sample_declaration(struct prng *p, struct hz_declaration *d);
/* A notice as a provider sends it (no reply), its document at most @doc bytes. */
void sample_notice(struct prng *p, struct hz_notice *n, size_t doc);
/* Give it a reply column. */
void sample_reply(struct prng *p, struct hz_notice *n);

/* Bytes from hexadecimal text; blanks and '#' to the end of a line are skipped. -1: malformed. */
long hex_read(const char *text, uint8_t *out, size_t cap);

#endif
