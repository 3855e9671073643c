/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake-board SOCKET: hzcore's board behind the /dev/hz interface, for tests.
 *
 * What the driver does about open files is done here: a cursor each, subjects
 * owned by the file that declared them, one responder. The provider connects
 * to the same socket and sends lines; each is answered "ok" or "error …":
 *
 *   notice ID KIND STATE REVISION ACK DEADLINE-MS [DURATION-MS] [test] [lapsed]
 *   drop ID                     the notice is forgotten
 *   verdict SUBJECT FIELD CODE [REASON [VALUE]]     add to SUBJECT's column
 *   provider 0|1
 *   pause MS                    the VM was stopped for so long
 *   reset                       the driver was reset: declarations go
 *   migrate                     state saved and loaded: disruption + 1
 *   restore                     the same under a new generation
 *   raw HEX                     those bytes to every reader, as a read() would give them
 *   again N                     the next N requests are cut off as by a reset
 *   unplug                      every file sees the device gone
 *   quit
 *
 * ID is 1 to 32 hexadecimal digits; the rest is zeros.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/board.h"
#include "core/vocabulary.h"
#include "fake.h"

#define FILES 64

static int again;               /* so many requests are answered with -EAGAIN */

struct file {
    int conn, events;           /* -1: free; events -1: not opened, or the provider */
    struct hz_cursor cursor;
};

struct subject {
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    int owner;                  /* file, -1: persisted by one that is closed */
    bool persist;
};

static struct hz_board *board;
static struct file file[FILES];
static struct subject subject[VIRTIO_HZ_MAX_DECLARATIONS];
static unsigned subjects;
static int responder = -1;
static bool provider;
static struct hz_set_verdicts column;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* -- records out --------------------------------------------------------- */

static void push(struct file *f)
{
    uint8_t frame[VIRTIO_HZ_MAX_FRAME], out[HZ_RECORD_MAX];
    struct hz_cursor before;
    struct hz_record head;
    struct hz_rec r;
    int n;

    while (f->events >= 0 && hz_board_news(board, &f->cursor)) {
        before = f->cursor;
        n = hz_board_next(board, &f->cursor, frame, sizeof(frame), now_ns());
        if (n <= 0 || hz_record_get(frame, (size_t)n, &r) < 0) {
            fprintf(stderr, "fake-board: the board tells nonsense\n");
            exit(1);
        }
        head = (struct hz_record){
            .size = (uint32_t)(sizeof(head) + hz_pad8(r.body_len)), .head = sizeof(head),
            .type = r.hdr.type, .flags = r.hdr.flags, .body = (uint32_t)r.body_len,
            .disruption = r.disruption, .version = r.version, .boottime_ns = now_ns(),
        };
        memcpy(head.key, r.key, sizeof(head.key));
        memset(out, 0, sizeof(out));
        memcpy(out, &head, sizeof(head));
        memcpy(out + sizeof(head), r.body, r.body_len);
        if (send(f->events, out, head.size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            f->cursor = before;         /* it reads slowly: later */
            return;
        }
    }
}

static void push_all(void)
{
    int i;

    for (i = 0; i < FILES; i++) {
        push(&file[i]);
    }
}

/* -- requests ------------------------------------------------------------ */

static const int status_errno[] = {
    [VIRTIO_HZ_OK] = 0, [VIRTIO_HZ_E_INVAL] = -EINVAL, [VIRTIO_HZ_E_UNSUPP] = -EOPNOTSUPP,
    [VIRTIO_HZ_E_TOOBIG] = -EMSGSIZE, [VIRTIO_HZ_E_NOSPC] = -ENOSPC,
    [VIRTIO_HZ_E_STALE] = -ESTALE, [VIRTIO_HZ_E_NOENT] = -ENOENT,
    [VIRTIO_HZ_E_VOID] = -ECANCELED, [VIRTIO_HZ_E_SMALL] = -EMSGSIZE,
};

/* A request of the device's; *@seq (may be NULL) is the answer's. */
static int ask(uint16_t type, const void *body, size_t body_len, const void *doc, size_t doc_len,
               __u64 *seq)
{
    uint8_t req[VIRTIO_HZ_MAX_FRAME], rsp[VIRTIO_HZ_MAX_RESPONSE];
    struct hz_hdr h = { .type = type };

    memcpy(req + HZ_HDR_LEN, body, body_len);
    if (doc_len) {
        memcpy(req + HZ_HDR_LEN + body_len, doc, doc_len);
    }
    h.len = (uint32_t)(HZ_HDR_LEN + body_len + doc_len);
    hz_hdr_put(req, &h);
    if (hz_board_request(board, req, h.len, rsp, sizeof(rsp), now_ns()) < 0) {
        return -EIO;
    }
    if (seq) {
        *seq = hz_get64(rsp + offsetof(struct virtio_hz_response, seq));
    }
    return status_errno[hz_get32(rsp + offsetof(struct virtio_hz_response, status))];
}

static struct subject *subject_find(const uint8_t *key)
{
    unsigned i;

    for (i = 0; i < subjects; i++) {
        if (!memcmp(subject[i].key, key, VIRTIO_HZ_KEY_LEN)) {
            return &subject[i];
        }
    }
    return NULL;
}

static bool owned_by_other(const uint8_t *key, int f)
{
    const struct subject *s = subject_find(key);

    return s && s->owner >= 0 && s->owner != f;
}

static int declare(int f, struct hz_declare *d, const uint8_t *doc)
{
    struct virtio_hz_declare body = { 0 };
    struct subject *s;
    int r;

    if (owned_by_other(d->subject, f)) {
        return -EBUSY;
    }
    memcpy(body.subject, d->subject, sizeof(body.subject));
    hz_put64(&body.replaces, d->seq);
    hz_put16(&body.doc_len, (uint16_t)d->doc_len);
    r = ask(VIRTIO_HZ_T_DECLARE, (uint8_t *)&body + HZ_HDR_LEN, sizeof(body) - HZ_HDR_LEN,
            doc, d->doc_len, &d->seq);
    if (r < 0) {
        return r;
    }
    s = subject_find(d->subject);
    if (!s) {
        s = &subject[subjects++];
        memcpy(s->key, d->subject, sizeof(s->key));
    }
    s->owner = f;
    s->persist = d->flags & HZ_DECLARE_PERSIST;
    return 0;
}

static int withdraw_key(const uint8_t *key, uint64_t replaces)
{
    struct virtio_hz_withdraw body = { 0 };
    struct subject *s = subject_find(key);
    int r;

    memcpy(body.subject, key, sizeof(body.subject));
    hz_put64(&body.replaces, replaces);
    r = ask(VIRTIO_HZ_T_WITHDRAW, (uint8_t *)&body + HZ_HDR_LEN, sizeof(body) - HZ_HDR_LEN,
            NULL, 0, NULL);
    if (r == 0 && s) {
        *s = subject[--subjects];
    }
    return r;
}

static int reply(int f, const struct hz_reply *q, const uint8_t *doc)
{
    struct virtio_hz_reply body = { 0 };

    if (responder != f) {
        return -EPERM;
    }
    memcpy(body.id, q->id, sizeof(body.id));
    memcpy(body.generation, q->generation, sizeof(body.generation));
    hz_put32(&body.revision, q->revision);
    hz_put16(&body.code, q->code);
    hz_put16(&body.doc_len, q->doc_len);
    hz_put64(&body.arg, q->arg);
    return ask(VIRTIO_HZ_T_REPLY, (uint8_t *)&body + HZ_HDR_LEN, sizeof(body) - HZ_HDR_LEN,
               doc, q->doc_len, NULL);
}

static int claim(int f)
{
    if (responder >= 0 && responder != f) {
        return -EBUSY;
    }
    responder = f;
    return 0;
}

static int info(int f, struct hz_info *i)
{
    const struct hz_board_limits *l = hz_board_limits(board);

    if (i->size != sizeof(*i)) {
        return -EINVAL;
    }
    i->version = VIRTIO_HZ_VERSION;
    i->status = provider ? VIRTIO_HZ_S_PROVIDER : 0;
    i->max_declarations = l->declarations;
    i->max_notices = l->notices;
    i->max_doc = l->doc;
    i->flags = (uint16_t)((responder == f ? HZ_INFO_RESPONDER : 0) |
                          (responder >= 0 ? HZ_INFO_RESPONDER_TAKEN : 0));
    i->disruption = hz_board_disruption(board);
    memcpy(i->generation, hz_board_generation(board), sizeof(i->generation));
    i->board_version = hz_board_version(board);
    return 0;
}

static void handle(int f, struct fake_request *q, struct fake_answer *a)
{
    memset(a, 0, sizeof(*a));
    if (again > 0 && q->request != HZ_IOC_INFO) {
        again--;
        a->result = -EAGAIN;
        return;
    }
    switch (q->request) {
    case HZ_IOC_INFO:
        a->info = q->info;
        a->result = info(f, &a->info);
        break;
    case HZ_IOC_DECLARE:
        a->declare = q->declare;
        a->result = declare(f, &a->declare, q->doc);
        break;
    case HZ_IOC_WITHDRAW:
        a->result = owned_by_other(q->declare.subject, f) ? -EBUSY
                    : withdraw_key(q->declare.subject, q->declare.seq);
        break;
    case HZ_IOC_REPLY:
        a->result = reply(f, &q->reply, q->doc);
        break;
    case HZ_IOC_CLAIM:
        a->result = claim(f);
        break;
    case HZ_IOC_UNCLAIM:
        responder = responder == f ? -1 : responder;
        break;
    case HZ_IOC_REWIND:
        memset(&file[f].cursor, 0, sizeof(file[f].cursor));
        break;
    default:
        a->result = -ENOTTY;
    }
}

static void close_file(int f)
{
    unsigned i = 0;

    while (i < subjects) {
        uint8_t key[VIRTIO_HZ_KEY_LEN];

        if (subject[i].owner != f) {
            i++;
        } else if (subject[i].persist) {
            subject[i++].owner = -1;
        } else {
            memcpy(key, subject[i].key, sizeof(key));
            if (withdraw_key(key, VIRTIO_HZ_SEQ_ANY) < 0) {
                subject[i] = subject[--subjects];
            }
        }
    }
    if (responder == f) {
        responder = -1;
    }
    close(file[f].conn);
    if (file[f].events >= 0) {
        close(file[f].events);
    }
    file[f] = (struct file){ .conn = -1, .events = -1 };
}

/* -- the provider -------------------------------------------------------- */

static bool parse_id(const char *hex, uint8_t id[VIRTIO_HZ_UUID_LEN])
{
    size_t i, n = strlen(hex);

    memset(id, 0, VIRTIO_HZ_UUID_LEN);
    for (i = 0; i < n && i < 32; i++) {
        char digit[2] = { hex[i], 0 }, *end;
        unsigned long v = strtoul(digit, &end, 16);

        if (*end) {
            return false;
        }
        id[i / 2] |= (uint8_t)(v << (i % 2 ? 0 : 4));
    }
    return n > 0 && n <= 32;
}

static uint64_t ms(const char *text)
{
    if (!text || !strcmp(text, "none")) {
        return VIRTIO_HZ_NS_NONE;
    }
    return strcmp(text, "unknown") ? strtoull(text, NULL, 10) * 1000000 + 1 : VIRTIO_HZ_NS_UNKNOWN;
}

static uint8_t by_name(const char *name, const char *(*name_of)(uint8_t), uint8_t max)
{
    uint8_t i;

    for (i = 0; name && i <= max; i++) {
        if (!strcmp(name, name_of(i))) {
            return i;
        }
    }
    return max + 1;
}

static int notice(char **word, int n)
{
    struct hz_notice x = { .confidence = 1000, .granularity = 2 };
    int i, kind = n > 6 ? hz_kind_by_name(word[2]) : -1;

    if (kind < 0 || !parse_id(word[1], x.id)) {
        return -1;
    }
    memcpy(x.cause_id, x.id, sizeof(x.cause_id));
    x.kind = (uint16_t)kind;
    x.state = by_name(word[3], hz_state_name, VIRTIO_HZ_STATE_MAX);
    x.revision = (uint32_t)atoi(word[4]);
    x.ack = by_name(word[5], hz_ack_name, VIRTIO_HZ_ACK_MAX);
    x.deadline_ns = ms(word[6]);
    for (i = 7; i < n; i++) {
        if (!strcmp(word[i], "test")) {
            x.flags |= VIRTIO_HZ_NOTICE_TEST;
        } else if (!strcmp(word[i], "lapsed")) {
            x.flags |= VIRTIO_HZ_NOTICE_LAPSED;
        } else if (!strncmp(word[i], "action=", 7)) {
            uint8_t action = (uint8_t)atoi(word[i] + 7);
            size_t len = 0;

            hz_doc_set(x.doc, &len, sizeof(x.doc), HZ_N_RECLAIM_ACTION, &action, 1);
            x.doc_len = (uint16_t)len;
        } else {
            x.duration_ns = ms(word[i]);
        }
    }
    return hz_board_set_notice(board, &x, now_ns());
}

/* The sequence of the standing declaration @key, from the board as a reader sees it. */
static uint64_t standing_seq(const uint8_t *key)
{
    uint8_t frame[VIRTIO_HZ_MAX_FRAME];
    static struct hz_declaration d;
    struct hz_cursor c = { 0 };
    struct hz_rec r;
    int n;

    while ((n = hz_board_next(board, &c, frame, sizeof(frame), now_ns())) > 0) {
        if (hz_record_get(frame, (size_t)n, &r) == 0 && r.hdr.type == VIRTIO_HZ_R_DECLARATION &&
            !memcmp(r.key, key, VIRTIO_HZ_KEY_LEN) && r.body_len &&
            hz_declaration_get(r.body, r.body_len, &d) == 0) {
            return d.seq;
        }
    }
    return 0;
}

static int verdict(char **word, int n)
{
    const struct hz_field *f = n > 3 ? hz_field_by_name(word[2]) : NULL;
    uint8_t key[VIRTIO_HZ_KEY_LEN];
    struct hz_verdict *v;
    uint64_t seq;

    if (!f || !hz_subject_put(key, word[1])) {
        return -1;
    }
    seq = standing_seq(key);
    if (memcmp(key, column.subject, sizeof(key)) || seq != column.seq) {
        memset(&column, 0, sizeof(column));
        memcpy(column.subject, key, sizeof(key));
        column.seq = seq;
    }
    for (v = column.verdict; v < column.verdict + column.verdicts && v->field != f->id; v++) {
        ;
    }
    if (v == column.verdict + column.verdicts) {
        column.verdicts++;
    }
    v->field = f->id;
    v->code = by_name(word[3], hz_verdict_name, VIRTIO_HZ_VERDICT_MAX);
    v->reason = n > 4 ? by_name(word[4], hz_reason_name, VIRTIO_HZ_REASON_MAX) : 0;
    v->value = n > 5 ? strtoull(word[5], NULL, 10) : 0;
    return hz_board_set_verdicts(board, &column);
}

static int reload(bool generation)
{
    static uint8_t saved[HZ_BOARD_STATE_MAX];
    uint8_t other[VIRTIO_HZ_UUID_LEN];
    struct hz_board_loaded how = {
        .keep = true, .reason = generation ? VIRTIO_HZ_WHY_RESTORE : VIRTIO_HZ_WHY_MIGRATE,
    };
    const char *why;
    int n = hz_board_save(board, saved, sizeof(saved));

    memcpy(other, hz_board_generation(board), sizeof(other));
    other[0]++;
    how.generation = generation ? other : NULL;
    return n < 0 ? n : hz_board_load(board, saved, (size_t)n, &how, &why);
}

static int raw(const char *hex)
{
    uint8_t bytes[HZ_RECORD_MAX];
    size_t n = 0;
    unsigned v;
    int i;

    while (n < sizeof(bytes) && sscanf(hex + 2 * n, "%2x", &v) == 1) {
        bytes[n++] = (uint8_t)v;
    }
    for (i = 0; i < FILES; i++) {
        if (file[i].events >= 0 && send(file[i].events, bytes, n, MSG_NOSIGNAL) < 0) {
            return -1;
        }
    }
    return 0;
}

static void unplug(void)
{
    int i;

    for (i = 0; i < FILES; i++) {
        if (file[i].events >= 0) {
            close_file(i);
        }
    }
    subjects = 0;
}

static void provide(int f, char *line)
{
    char *word[16] = { NULL }, *save, answer[64];
    uint8_t id[VIRTIO_HZ_UUID_LEN];
    int n = 0, r = 0;

    for (word[0] = strtok_r(line, " \n", &save); word[n] && n < 15;) {
        word[++n] = strtok_r(NULL, " \n", &save);
    }
    if (!n) {
        r = -1;
    } else if (!strcmp(word[0], "notice")) {
        r = notice(word, n);
    } else if (!strcmp(word[0], "drop") && n > 1 && parse_id(word[1], id)) {
        r = hz_board_drop_notice(board, id);
    } else if (!strcmp(word[0], "verdict")) {
        r = verdict(word, n);
    } else if (!strcmp(word[0], "provider") && n > 1) {
        provider = atoi(word[1]);
        hz_board_set_provider(board, provider);
    } else if (!strcmp(word[0], "pause") && n > 1) {
        hz_board_retell(board, ms(word[1]));
    } else if (!strcmp(word[0], "reset")) {
        hz_board_reset(board);
        subjects = 0;
    } else if (!strcmp(word[0], "migrate") || !strcmp(word[0], "restore")) {
        r = reload(*word[0] == 'r');
    } else if (!strcmp(word[0], "raw") && n > 1) {
        r = raw(word[1]);
    } else if (!strcmp(word[0], "again") && n > 1) {
        again = atoi(word[1]);
    } else if (!strcmp(word[0], "unplug")) {
        unplug();
    } else if (!strcmp(word[0], "quit")) {
        exit(0);
    } else {
        r = -1;
    }
    push_all();
    snprintf(answer, sizeof(answer), r < 0 ? "error %d" : "ok", r);
    if (send(file[f].conn, answer, strlen(answer), MSG_NOSIGNAL) < 0) {
        close_file(f);
    }
}

/* -- connections --------------------------------------------------------- */

static int take_descriptor(struct msghdr *m)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int fd = -1;

    if (c && c->cmsg_type == SCM_RIGHTS) {
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    }
    return fd;
}

static void serve(int f)
{
    static struct fake_request q;
    struct fake_answer a = { 0 };
    struct iovec iov = { &q, sizeof(q) };
    char control[CMSG_SPACE(sizeof(int))];
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
                        .msg_controllen = sizeof(control) };
    ssize_t n = recvmsg(file[f].conn, &m, MSG_CMSG_CLOEXEC);

    if (n <= 0) {
        close_file(f);
        push_all();
        return;
    }
    if (n != (ssize_t)sizeof(q)) {
        ((char *)&q)[n] = '\0';
        provide(f, (char *)&q);
        return;
    }
    if (q.request == FAKE_OPEN) {
        file[f].events = take_descriptor(&m);
    } else {
        handle(f, &q, &a);
    }
    push_all();                 /* before the answer: what it did can be read at once */
    if (send(file[f].conn, &a, sizeof(a), MSG_NOSIGNAL) < 0) {
        close_file(f);
    }
}

static void take_connection(int listener)
{
    int i, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    for (i = 0; i < FILES && file[i].conn >= 0; i++) {
        ;
    }
    if (i == FILES) {
        close(fd);
        return;
    }
    file[i] = (struct file){ .conn = fd, .events = -1 };
}

static void loop(int listener)
{
    struct pollfd p[1 + FILES];
    int i, slow;

    for (;;) {
        slow = -1;
        p[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
        for (i = 0; i < FILES; i++) {
            p[1 + i] = (struct pollfd){ .fd = file[i].conn, .events = POLLIN };
            if (file[i].events >= 0 && hz_board_news(board, &file[i].cursor)) {
                slow = 20;
            }
        }
        if (poll(p, 1 + FILES, slow) < 0) {
            return;
        }
        push_all();
        for (i = 0; i < FILES; i++) {
            if (p[1 + i].revents && file[i].conn == p[1 + i].fd) {
                serve(i);
            }
        }
        if (p[0].revents) {
            take_connection(listener);
        }
    }
}

int main(int argc, char **argv)
{
    static const uint8_t generation[VIRTIO_HZ_UUID_LEN] = { 0x10, 0x32 };
    struct hz_board_limits limits = { VIRTIO_HZ_MAX_DECLARATIONS, VIRTIO_HZ_MAX_NOTICES,
                                      VIRTIO_HZ_MAX_DOC };
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int i, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (argc != 2 || strlen(argv[1]) >= sizeof(addr.sun_path)) {
        fprintf(stderr, "usage: fake-board SOCKET\n");
        return 2;
    }
    strcpy(addr.sun_path, argv[1]);
    board = hz_board_new(&limits, generation);
    if (!board || fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        listen(fd, FILES) < 0) {
        perror(argv[1]);
        return 1;
    }
    for (i = 0; i < FILES; i++) {
        file[i] = (struct file){ .conn = -1, .events = -1 };
    }
    puts("ready");
    fflush(stdout);
    loop(fd);
    return 1;
}
