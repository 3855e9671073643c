/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz print: events for people and for programs. */
#include <stdio.h>
#include <string.h>

#include "print.h"

void json_status(struct json *j, const char *key, const struct hz_ev_status *s)
{
    char id[37];

    json_begin(j, key, '{');
    json_bool(j, "provider", s->provider);
    json_u64(j, "disruption", s->disruption);
    format_uuid(s->generation, id);
    json_string(j, "generation", id);
    json_u64(j, "resets", s->resets);
    json_string(j, "why", hz_why_name(s->why));
    if (s->pause_ns == HZ_TIME_UNKNOWN) {
        json_null(j, "pause-ns");
    } else {
        json_i64(j, "pause-ns", s->pause_ns);
    }
    json_end(j, '}');
}

static void json_value(struct json *j, const struct hz_ev_field *f)
{
    if (f->is_number) {
        json_u64(j, "value", f->number);
    } else {
        json_string(j, "value", f->text);
    }
    json_string(j, "text", f->text);
}

static void json_field_name(struct json *j, const struct hz_ev_field *f)
{
    char id[8];

    snprintf(id, sizeof(id), "0x%04x", f->id);
    json_string(j, "name", f->name ? f->name : id);
}

void json_declaration(struct json *j, const char *key, const struct hz_ev_declaration *d)
{
    unsigned i;

    json_begin(j, key, '{');
    json_string(j, "subject", d->subject);
    json_bool(j, "gone", d->gone);
    if (!d->gone) {
        json_u64(j, "sequence", d->seq);
        json_bool(j, "judged", d->judged);
        json_begin(j, "fields", '[');
        for (i = 0; i < d->n; i++) {
            const struct hz_ev_field *f = &d->field[i];

            json_begin(j, NULL, '{');
            json_field_name(j, f);
            json_value(j, f);
            json_string(j, "verdict", hz_verdict_name(f->verdict));
            json_string(j, "reason", f->reason ? hz_reason_name(f->reason) : NULL);
            if (f->verdict == HZ_CLAMPED) {
                json_u64(j, "in-force", f->verdict_value);
                json_string(j, "in-force-text", f->verdict_text);
            }
            json_end(j, '}');
        }
        json_end(j, ']');
    }
    json_end(j, '}');
}

/* A point as ns from now: what another program's clock understands too. */
static void json_point(struct json *j, const char *key, int64_t point, int64_t now)
{
    if (point == HZ_TIME_NONE || point == HZ_TIME_UNKNOWN) {
        json_string(j, key, point == HZ_TIME_NONE ? "none" : "unknown");
        return;
    }
    json_i64(j, key, (point - now) / 1000000);
}

static void json_payload(struct json *j, const struct hz_ev_notice *n)
{
    unsigned i;

    json_begin(j, "payload", '[');
    for (i = 0; i < n->n; i++) {
        json_begin(j, NULL, '{');
        json_field_name(j, &n->field[i]);
        json_value(j, &n->field[i]);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void json_replies(struct json *j, const struct hz_ev_notice *n)
{
    uint16_t r;

    json_begin(j, "replied", '[');
    for (r = HZ_REPLY_SEEN; r <= HZ_REPLY_FAILED; r++) {
        if (n->replied & 1u << r) {
            json_string(j, NULL, hz_reply_name(r));
        }
    }
    json_end(j, ']');
    json_string(j, "reply", n->reply ? hz_reply_name(n->reply) : NULL);
    json_u64(j, "reply-arg", n->reply_arg);
}

void json_notice(struct json *j, const char *key, const struct hz_ev_notice *n)
{
    int64_t now = hz_now();
    char id[33];

    json_begin(j, key, '{');
    format_id(n->id, id);
    json_string(j, "id", id);
    json_bool(j, "gone", n->gone);
    if (n->gone) {
        json_end(j, '}');
        return;
    }
    format_id(n->cause_id, id);
    json_string(j, "cause-id", id);
    json_string(j, "kind", hz_kind_name(n->kind));
    json_string(j, "state", hz_state_name(n->state));
    json_u64(j, "revision", n->revision);
    json_string(j, "ack", hz_ack_name(n->ack));
    json_bool(j, "test", n->test);
    json_bool(j, "lapsed", n->lapsed);
    json_string(j, "cause", hz_cause_name(n->cause));
    json_string(j, "scope", hz_scope_name(n->scope));
    json_string(j, "source", hz_source_name(n->source));
    json_u64(j, "granularity", n->granularity);
    json_u64(j, "confidence-permille", n->confidence);
    json_point(j, "not-before-ms", n->not_before, now);
    json_point(j, "deadline-ms", n->deadline, now);
    if (n->duration_ns > 0) {
        json_i64(j, "duration-ms", n->duration_ns / 1000000);
    } else {
        json_string(j, "duration-ms", n->duration_ns ? "unknown" : "none");
    }
    json_payload(j, n);
    json_replies(j, n);
    json_end(j, '}');
}

void format_verdict(const struct hz_ev_field *f, char *buf, size_t cap)
{
    int n = snprintf(buf, cap, "%s", hz_verdict_name(f->verdict));

    if (f->verdict == HZ_CLAMPED) {
        n += snprintf(buf + n, cap - (size_t)n, " to %s", f->verdict_text);
    }
    if (f->reason && (size_t)n < cap) {
        snprintf(buf + n, cap - (size_t)n, ": %s", hz_reason_text(f->reason));
    }
}

void format_point(int64_t point, char *buf, size_t cap)
{
    int64_t left = point - hz_now();
    char t[32];

    if (point == HZ_TIME_NONE || point == HZ_TIME_UNKNOWN) {
        snprintf(buf, cap, "%s", point == HZ_TIME_NONE ? "none" : "unknown");
    } else if (left <= 0) {
        snprintf(buf, cap, "past");
    } else {
        format_ns(left, t, sizeof(t));
        snprintf(buf, cap, "in %s", t);
    }
}

void print_declaration(const struct hz_ev_declaration *d)
{
    char verdict[200], id[8];
    unsigned i;

    for (i = 0; i < d->n; i++) {
        format_verdict(&d->field[i], verdict, sizeof(verdict));
        snprintf(id, sizeof(id), "0x%04x", d->field[i].id);
        printf("%-10s %-24s %-14s %s\n", d->subject,
               d->field[i].name ? d->field[i].name : id, d->field[i].text, verdict);
    }
}

void print_notice(const struct hz_ev_notice *n)
{
    char id[33], deadline[48], length[32] = "";
    unsigned i;

    format_id(n->id, id);
    format_point(n->deadline, deadline, sizeof(deadline));
    if (n->duration_ns > 0) {
        format_ns(n->duration_ns, length, sizeof(length));
    }
    printf("%.12s %-16s %-10s %-10s %-8s %s%s%s\n", id, hz_kind_name(n->kind),
           hz_state_name(n->state), n->state >= HZ_COMPLETED ? "-" : deadline,
           *length ? length : "-", n->reply ? hz_reply_name(n->reply) : "-",
           n->test ? ", a test" : "", n->lapsed ? ", extension lapsed" : "");
    if (n->cause) {
        printf("%12s cause: %s\n", "", hz_cause_name(n->cause));
    }
    for (i = 0; i < n->n; i++) {
        if (n->field[i].name) {
            printf("%12s %s: %s\n", "", n->field[i].name, n->field[i].text);
        }
    }
}
