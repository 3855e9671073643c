/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hzd test kit: a device and its guest, core/board behind a socket. */
#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit.h"

static const uint8_t first_generation[16] = { 0x10, 1 };

Device *device_new(void)
{
    const struct hz_board_limits limits = { VIRTIO_HZ_MAX_DECLARATIONS, VIRTIO_HZ_MAX_NOTICES,
                                            VIRTIO_HZ_MAX_DOC };
    Device *d = g_new0(Device, 1);

    d->board = hz_board_new(&limits, first_generation);
    d->fd = -1;
    d->run_state = HZ_RUN_RUNNING;
    d->version = VIRTIO_HZ_VERSION;
    d->version_min = VIRTIO_HZ_VERSION_MIN;
    return d;
}

void device_disconnect(Device *d)
{
    g_clear_handle_id(&d->source, g_source_remove);
    if (d->fd >= 0) {
        close(d->fd);
        d->fd = -1;
    }
    d->welcomed = FALSE;
    d->in_len = 0;
    hz_board_set_provider(d->board, false);
}

void device_free(Device *d)
{
    device_disconnect(d);
    hz_board_free(d->board);
    g_free(d);
}

void device_write(Device *d, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;

    while (len && d->fd >= 0) {
        ssize_t n = send(d->fd, p, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN) {
            g_main_context_iteration(NULL, FALSE);
            continue;
        }
        if (n < 0) {
            return;         /* hzd has closed it: reading will tell */
        }
        p += n;
        len -= (size_t)n;
    }
}

void device_tell(Device *d)
{
    uint8_t frame[HZ_LINK_MAX_FRAME];
    int len;

    while (d->welcomed && (len = hz_board_next(d->board, &d->cursor, frame, sizeof(frame),
                                               hz_now())) > 0) {
        device_write(d, frame, (size_t)len);
    }
}

static void refuse(Device *d, const struct hz_hdr *h, int status)
{
    struct hz_refused r = { .status = (uint32_t)-status, .type = h->type };
    uint8_t frame[64];
    int len = hz_refused_frame(frame, sizeof(frame), h->cookie, &r);

    d->refusals++;
    device_write(d, frame, (size_t)len);
}

static void welcomed(Device *d)
{
    struct hz_sync s = { .board_version = hz_board_version(d->board) };
    uint8_t frame[64];
    int len;

    d->welcomed = TRUE;
    d->sessions++;
    memset(&d->cursor, 0, sizeof(d->cursor));
    hz_board_set_provider(d->board, true);
    device_tell(d);
    len = hz_sync_frame(frame, sizeof(frame), &s);
    device_write(d, frame, (size_t)len);
}

static void take(Device *d, const uint8_t *frame)
{
    const uint8_t *body = frame + HZ_HDR_LEN;
    struct hz_set_verdicts v;
    struct hz_notice n;
    uint8_t id[16], pong[64];
    struct hz_hdr h;
    int err = 0;

    hz_hdr_get(frame, &h);
    switch (h.type) {
    case HZ_L_WELCOME:
        welcomed(d);
        return;
    case HZ_L_SET_NOTICE:
        d->sets++;
        g_assert_cmpint(hz_notice_get(body, h.len - HZ_HDR_LEN, &n), ==, 0);
        err = hz_board_set_notice(d->board, &n, hz_now());
        break;
    case HZ_L_DROP_NOTICE:
        d->drops++;
        g_assert_cmpint(hz_drop_notice_get(body, h.len - HZ_HDR_LEN, id), ==, 0);
        err = hz_board_drop_notice(d->board, id);
        break;
    case HZ_L_SET_VERDICTS:
        d->verdicts++;
        g_assert_cmpint(hz_set_verdicts_get(body, h.len - HZ_HDR_LEN, &v), ==, 0);
        err = hz_board_set_verdicts(d->board, &v);
        break;
    case HZ_L_PING:
        device_write(d, pong, (size_t)hz_bare_frame(pong, sizeof(pong), HZ_L_PONG, h.cookie));
        break;
    default:
        g_error("hzd sent a frame of type 0x%x", h.type);
    }
    if (err) {
        refuse(d, &h, err);
    }
    device_tell(d);
}

static gboolean readable(int fd, G_GNUC_UNUSED GIOCondition cond, gpointer opaque)
{
    Device *d = opaque;
    ssize_t n;
    int len;

    if (d->deaf) {
        d->source = 0;
        return G_SOURCE_REMOVE;
    }
    n = read(fd, d->in + d->in_len, sizeof(d->in) - d->in_len);
    if (n < 0 && errno == EAGAIN) {
        return G_SOURCE_CONTINUE;
    }
    if (n <= 0) {
        d->source = 0;
        d->closed = TRUE;
        device_disconnect(d);
        return G_SOURCE_REMOVE;
    }
    d->in_len += (size_t)n;
    while ((len = hz_frame_complete(d->in, d->in_len, HZ_LINK_MAX_FRAME)) > 0) {
        take(d, d->in);
        d->in_len -= (size_t)len;
        memmove(d->in, d->in + len, d->in_len);
    }
    g_assert_cmpint(len, ==, 0);
    return G_SOURCE_CONTINUE;
}

void device_connect(Device *d, const Kit *kit, const char *vm)
{
    g_autofree char *path = g_strdup_printf("%s/vm/%s.sock", kit->run, vm);
    g_autoptr(GError) error = NULL;

    device_disconnect(d);
    d->closed = FALSE;
    d->fd = hz_unix_connect(path, &error);
    g_assert_no_error(error);
    d->source = g_unix_fd_add(d->fd, G_IO_IN | G_IO_HUP, readable, d);
}

void device_hello(Device *d)
{
    struct hz_hello h = {
        .magic = VIRTIO_HZ_MAGIC, .version = d->version, .version_min = d->version_min,
        .disruption = hz_board_disruption(d->board), .board_version = hz_board_version(d->board),
        .run_state = d->run_state, .max_declarations = VIRTIO_HZ_MAX_DECLARATIONS,
        .max_notices = VIRTIO_HZ_MAX_NOTICES, .max_doc = VIRTIO_HZ_MAX_DOC,
    };
    uint8_t frame[128];

    d->welcomed = FALSE;
    memcpy(h.vm, d->vm, 16);
    memcpy(h.generation, hz_board_generation(d->board), 16);
    device_write(d, frame, (size_t)hz_hello_frame(frame, sizeof(frame), &h));
}

void device_runstate(Device *d, uint16_t run_state)
{
    struct hz_runstate r = { .run_state = run_state };
    uint8_t frame[64];

    d->run_state = run_state;
    device_write(d, frame, (size_t)hz_runstate_frame(frame, sizeof(frame), &r));
}

/* -- the guest ---------------------------------------------------------- */

static void request(Device *d, const void *req, size_t len)
{
    uint8_t rsp[VIRTIO_HZ_MAX_RESPONSE];
    int n = hz_board_request(d->board, req, len, rsp, sizeof(rsp), hz_now());

    g_assert_cmpint(n, >, 0);
    g_assert_cmpuint(hz_get32(rsp + offsetof(struct virtio_hz_response, status)), ==,
                     VIRTIO_HZ_OK);
    device_tell(d);
}

static void head(void *req, size_t len, uint16_t type)
{
    struct hz_hdr h = { .len = (uint32_t)len, .type = type };

    hz_hdr_put(req, &h);
}

void guest_declare(Device *d, const char *subject, ...)
{
    uint8_t req[sizeof(struct virtio_hz_declare) + VIRTIO_HZ_MAX_DOC] = { 0 };
    uint8_t *doc = req + sizeof(struct virtio_hz_declare), raw[16];
    const char *name;
    size_t len = 0;
    va_list args;

    va_start(args, subject);
    while ((name = va_arg(args, const char *))) {
        const struct hz_field *f = hz_field_by_name(name);
        int n;

        g_assert_nonnull(f);
        n = hz_value_parse(f, va_arg(args, const char *), raw);
        g_assert_cmpint(n, >, 0);
        g_assert_cmpint(hz_doc_set(doc, &len, VIRTIO_HZ_MAX_DOC, f->id, raw, (uint16_t)n), ==, 0);
    }
    va_end(args);
    g_assert_true(hz_subject_put(req + offsetof(struct virtio_hz_declare, subject), subject));
    hz_put16(req + offsetof(struct virtio_hz_declare, doc_len), (uint16_t)len);
    head(req, sizeof(struct virtio_hz_declare) + len, VIRTIO_HZ_T_DECLARE);
    request(d, req, sizeof(struct virtio_hz_declare) + len);
}

void guest_withdraw(Device *d, const char *subject)
{
    uint8_t req[sizeof(struct virtio_hz_withdraw)] = { 0 };

    g_assert_true(hz_subject_put(req + offsetof(struct virtio_hz_withdraw, subject), subject));
    head(req, sizeof(req), VIRTIO_HZ_T_WITHDRAW);
    request(d, req, sizeof(req));
}

void guest_reply(Device *d, const uint8_t id[16], uint16_t code, uint64_t arg)
{
    uint8_t req[sizeof(struct virtio_hz_reply)] = { 0 };
    struct hz_notice n;

    g_assert_true(guest_notice(d, id, &n));
    memcpy(req + offsetof(struct virtio_hz_reply, id), id, 16);
    memcpy(req + offsetof(struct virtio_hz_reply, generation), hz_board_generation(d->board), 16);
    hz_put32(req + offsetof(struct virtio_hz_reply, revision), n.revision);
    hz_put16(req + offsetof(struct virtio_hz_reply, code), code);
    hz_put64(req + offsetof(struct virtio_hz_reply, arg), arg);
    head(req, sizeof(req), VIRTIO_HZ_T_REPLY);
    request(d, req, sizeof(req));
}

/* Walk the board as a guest that has just opened it: the body of the record wanted by @match. */
typedef gboolean (*Match)(const struct hz_rec *rec, gconstpointer what, void *out);

static gboolean look(Device *d, Match match, gconstpointer what, void *out)
{
    struct hz_cursor c = { 0 };
    uint8_t frame[HZ_LINK_MAX_FRAME];
    struct hz_rec rec;
    int len;

    while ((len = hz_board_next(d->board, &c, frame, sizeof(frame), hz_now())) > 0) {
        g_assert_cmpint(hz_record_get(frame, (size_t)len, &rec), ==, 0);
        if (!(rec.hdr.flags & VIRTIO_HZ_REC_GONE) && match(&rec, what, out)) {
            return TRUE;
        }
    }
    return FALSE;
}

static gboolean by_id(const struct hz_rec *rec, gconstpointer id, void *out)
{
    return rec->hdr.type == VIRTIO_HZ_R_NOTICE && !memcmp(rec->key, id, 16) &&
           !hz_notice_get(rec->body, rec->body_len, out);
}

gboolean guest_notice(Device *d, const uint8_t id[16], struct hz_notice *n)
{
    return look(d, by_id, id, n);
}

static gboolean by_kind(const struct hz_rec *rec, gconstpointer kind, void *out)
{
    return rec->hdr.type == VIRTIO_HZ_R_NOTICE && !hz_notice_get(rec->body, rec->body_len, out) &&
           ((struct hz_notice *)out)->kind == *(const uint16_t *)kind;
}

gboolean guest_notice_of_kind(Device *d, uint16_t kind, struct hz_notice *n)
{
    return look(d, by_kind, &kind, n);
}

static gboolean by_subject(const struct hz_rec *rec, gconstpointer subject, void *out)
{
    return rec->hdr.type == VIRTIO_HZ_R_DECLARATION && !strcmp((const char *)rec->key, subject) &&
           !hz_declaration_get(rec->body, rec->body_len, out);
}

gboolean guest_declaration(Device *d, const char *subject, struct hz_declaration *decl)
{
    return look(d, by_subject, subject, decl);
}

struct hz_verdict guest_verdict(Device *d, const char *subject, uint16_t field)
{
    struct hz_declaration decl;
    struct hz_verdict none = { .field = field, .code = 0xff };

    if (!guest_declaration(d, subject, &decl) || decl.verdict_seq != decl.seq) {
        return none;
    }
    for (unsigned i = 0; i < decl.verdicts; i++) {
        if (decl.verdict[i].field == field) {
            return decl.verdict[i];
        }
    }
    return none;
}
