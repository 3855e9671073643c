/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hz-vnic rtnl: rtnetlink requests, batches, dumps and notifications on libmnl. */
#include "rtnl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib-unix.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>

/* A dump fills at most 32 KiB a read; a batch here is one NIC's worth, far below 64 KiB. */
#define BUF_SIZE   (64 * 1024)
#define BATCH_SIZE (32 * 1024)
#define BATCH_MAX  64

/* The kernel answers inside sendmsg(); this only keeps a broken one from hanging us for ever. */
#define ANSWER_TIMEOUT_S 10

struct HzRtnl {
    struct mnl_socket *nl;
    guint32 seq;
    char request[MNL_NLMSG_HDRLEN + 4096];
    char buf[BUF_SIZE];
};

typedef struct {
    guint32 seq;
    int tolerate;
    char *what;
} Pending;

struct HzBatch {
    HzRtnl *rtnl;
    GArray *pending;            /* Pending */
    struct nlmsghdr *last;
    size_t len;                 /* of everything before @last */
    char buf[BATCH_SIZE];
};

GQuark hz_rtnl_error_quark(void)
{
    return g_quark_from_static_string("hz-rtnl-error");
}

static struct mnl_socket *open_socket(unsigned groups, int flags, GError **error)
{
    struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | flags);
    int on = 1;

    if (!nl || mnl_socket_bind(nl, groups, MNL_SOCKET_AUTOPID) < 0) {
        g_set_error(error, HZ_RTNL_ERROR, errno, "opening an rtnetlink socket: %s",
                    g_strerror(errno));
        if (nl) {
            mnl_socket_close(nl);
        }
        return NULL;
    }
    /* Old kernels lack these: the errors are then only less wordy. */
    mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, &on, sizeof(on));
    mnl_socket_setsockopt(nl, NETLINK_CAP_ACK, &on, sizeof(on));
    return nl;
}

HzRtnl *hz_rtnl_open(GError **error)
{
    struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
    struct mnl_socket *nl = open_socket(0, 0, error);
    HzRtnl *rtnl;

    if (!nl) {
        return NULL;
    }
    setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    rtnl = g_new0(HzRtnl, 1);
    rtnl->nl = nl;
    rtnl->seq = (guint32)g_get_real_time();
    return rtnl;
}

void hz_rtnl_close(HzRtnl *rtnl)
{
    if (rtnl) {
        mnl_socket_close(rtnl->nl);
        g_free(rtnl);
    }
}

/* What the kernel says in words about an error, or NULL. */
static const char *extack_text(const struct nlmsghdr *nlh)
{
    const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
    size_t offset = sizeof(*err);
    const struct nlattr *attr;

    if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS)) {
        return NULL;
    }
    if (!(nlh->nlmsg_flags & NLM_F_CAPPED)) {
        offset += MNL_ALIGN(err->msg.nlmsg_len) - sizeof(err->msg);
    }
    mnl_attr_for_each(attr, nlh, offset) {
        if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
            mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0) {
            return mnl_attr_get_str(attr);
        }
    }
    return NULL;
}

static void set_error(GError **error, const struct nlmsghdr *nlh, const char *what, int err)
{
    const char *text = extack_text(nlh);

    g_set_error(error, HZ_RTNL_ERROR, err, "%s: %s%s%s", what, g_strerror(err),
                text ? ": " : "", text ? text : "");
}

/* The errno an NLMSG_ERROR carries, 0 for an acknowledgement. */
static int error_code(const struct nlmsghdr *nlh)
{
    const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

    if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*err)) {
        return EBADMSG;
    }
    return -err->error;
}

HzBatch *hz_batch_new(HzRtnl *rtnl)
{
    HzBatch *batch = g_new0(HzBatch, 1);

    batch->rtnl = rtnl;
    batch->pending = g_array_new(FALSE, TRUE, sizeof(Pending));
    return batch;
}

static void clear_pending(HzBatch *batch)
{
    for (guint i = 0; i < batch->pending->len; i++) {
        g_free(g_array_index(batch->pending, Pending, i).what);
    }
    g_array_set_size(batch->pending, 0);
    batch->last = NULL;
    batch->len = 0;
}

void hz_batch_free(HzBatch *batch)
{
    if (batch) {
        clear_pending(batch);
        g_array_free(batch->pending, TRUE);
        g_free(batch);
    }
}

static void finish_last(HzBatch *batch)
{
    if (batch->last) {
        batch->len += MNL_ALIGN(batch->last->nlmsg_len);
        batch->last = NULL;
    }
}

struct nlmsghdr *hz_batch_add(HzBatch *batch, guint16 type, guint16 flags,
                              const char *what, ...)
{
    Pending pending = { .seq = ++batch->rtnl->seq };
    va_list ap;

    finish_last(batch);
    /* Requests here are below 1 KiB; one NIC's worth is a dozen of them. */
    g_assert(batch->len + 2048 < BATCH_SIZE && batch->pending->len < BATCH_MAX);
    va_start(ap, what);
    pending.what = g_strdup_vprintf(what, ap);
    va_end(ap);
    g_array_append_val(batch->pending, pending);

    batch->last = mnl_nlmsg_put_header(batch->buf + batch->len);
    batch->last->nlmsg_type = type;
    batch->last->nlmsg_flags = NLM_F_REQUEST | flags;
    batch->last->nlmsg_seq = pending.seq;
    return batch->last;
}

void hz_batch_tolerate(HzBatch *batch, int err)
{
    g_array_index(batch->pending, Pending, batch->pending->len - 1).tolerate = err;
}

/* One answer; TRUE when it was to the last request. The first failure goes into @error. */
static gboolean take_answer(HzBatch *batch, const struct nlmsghdr *nlh, GError **error)
{
    for (guint i = 0; i < batch->pending->len; i++) {
        Pending *pending = &g_array_index(batch->pending, Pending, i);
        int err;

        if (pending->seq != nlh->nlmsg_seq || nlh->nlmsg_type != NLMSG_ERROR) {
            continue;
        }
        err = error_code(nlh);
        if (err && err != pending->tolerate && !*error) {
            set_error(error, nlh, pending->what, err);
        }
        return i == batch->pending->len - 1;
    }
    return FALSE;
}

static gboolean collect_answers(HzBatch *batch, GError **error)
{
    HzRtnl *rtnl = batch->rtnl;
    gboolean done = FALSE;
    GError *first = NULL;

    while (!done) {
        ssize_t n = mnl_socket_recvfrom(rtnl->nl, rtnl->buf, sizeof(rtnl->buf));
        const struct nlmsghdr *nlh = (const void *)rtnl->buf;
        int len = n;

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            g_clear_error(&first);
            g_set_error(error, HZ_RTNL_ERROR, errno, "waiting for the kernel's answer: %s",
                        g_strerror(errno));
            return FALSE;
        }
        for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
            done = take_answer(batch, nlh, &first) || done;
        }
    }
    if (first) {
        g_propagate_error(error, first);
        return FALSE;
    }
    return TRUE;
}

gboolean hz_batch_commit(HzBatch *batch, GError **error)
{
    gboolean ok;

    if (!batch->last) {
        return TRUE;
    }
    /* They are answered in order, and a failure always: success need only be said once. */
    batch->last->nlmsg_flags |= NLM_F_ACK;
    finish_last(batch);
    if (mnl_socket_sendto(batch->rtnl->nl, batch->buf, batch->len) < 0) {
        g_set_error(error, HZ_RTNL_ERROR, errno, "sending to the kernel: %s",
                    g_strerror(errno));
        ok = FALSE;
    } else {
        ok = collect_answers(batch, error);
    }
    clear_pending(batch);
    return ok;
}

struct nlmsghdr *hz_rtnl_request(HzRtnl *rtnl, guint16 type, guint16 flags)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(rtnl->request);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    nlh->nlmsg_seq = ++rtnl->seq;
    return nlh;
}

/* The messages of one read. 1: more to come, 0: done, -1: failed with @error set. */
static int take_replies(HzRtnl *rtnl, int len, guint32 seq, gboolean dump, const char *what,
                        HzRtnlFunc func, gpointer opaque, GError **error)
{
    const struct nlmsghdr *nlh = (const void *)rtnl->buf;

    for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
        if (nlh->nlmsg_seq != seq) {
            continue;
        }
        if (nlh->nlmsg_type == NLMSG_DONE) {
            return 0;
        }
        if (nlh->nlmsg_type == NLMSG_ERROR) {
            int err = error_code(nlh);

            if (err) {
                set_error(error, nlh, what, err);
                return -1;
            }
            return 0;
        }
        func(nlh, opaque);
        if (!dump) {
            return 0;
        }
    }
    return 1;
}

gboolean hz_rtnl_query(HzRtnl *rtnl, struct nlmsghdr *request, const char *what,
                       HzRtnlFunc func, gpointer opaque, GError **error)
{
    gboolean dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    int more = 1;

    if (mnl_socket_sendto(rtnl->nl, request, request->nlmsg_len) < 0) {
        g_set_error(error, HZ_RTNL_ERROR, errno, "%s: %s", what, g_strerror(errno));
        return FALSE;
    }
    while (more > 0) {
        ssize_t n = mnl_socket_recvfrom(rtnl->nl, rtnl->buf, sizeof(rtnl->buf));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            g_set_error(error, HZ_RTNL_ERROR, errno, "%s: %s", what, g_strerror(errno));
            return FALSE;
        }
        more = take_replies(rtnl, n, request->nlmsg_seq, dump, what, func, opaque, error);
    }
    return more == 0;
}

struct HzMonitor {
    struct mnl_socket *nl;
    HzMonitorOps ops;
    gpointer opaque;
    guint source;
    char buf[BUF_SIZE];
};

void hz_monitor_drain(HzMonitor *monitor)
{
    for (;;) {
        ssize_t n = mnl_socket_recvfrom(monitor->nl, monitor->buf, sizeof(monitor->buf));
        const struct nlmsghdr *nlh = (const void *)monitor->buf;
        int len = n;

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == ENOBUFS) {
            monitor->ops.lost(monitor->opaque);
            continue;
        }
        if (n < 0) {
            return;
        }
        for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
            monitor->ops.message(nlh, monitor->opaque);
        }
    }
}

static gboolean on_monitor(gint fd G_GNUC_UNUSED, GIOCondition condition G_GNUC_UNUSED,
                           gpointer opaque)
{
    hz_monitor_drain(opaque);
    return G_SOURCE_CONTINUE;
}

/* A notification names the port that asked for the change. Where it doesn't, it costs us a look. */
static void leave_out(struct mnl_socket *nl, guint32 portid)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_pid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(portid), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, G_MAXUINT32),
    };
    struct sock_fprog program = { .len = G_N_ELEMENTS(code), .filter = code };

    setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

HzMonitor *hz_monitor_open(HzRtnl *rtnl, const HzMonitorOps *ops, gpointer opaque,
                           GError **error)
{
    struct mnl_socket *nl = open_socket(0, SOCK_NONBLOCK, error);
    int groups[] = { RTNLGRP_LINK, RTNLGRP_TC };
    int size = 1024 * 1024;
    HzMonitor *monitor;

    if (!nl) {
        return NULL;
    }
    leave_out(nl, mnl_socket_get_portid(rtnl->nl));
    for (guint i = 0; i < G_N_ELEMENTS(groups); i++) {
        if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &groups[i], sizeof(int)) < 0) {
            g_set_error(error, HZ_RTNL_ERROR, errno, "subscribing to rtnetlink: %s",
                        g_strerror(errno));
            mnl_socket_close(nl);
            return NULL;
        }
    }
    /* Someone else's storm should not cost us messages; when it does, lost() is called. */
    setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));

    monitor = g_new0(HzMonitor, 1);
    monitor->nl = nl;
    monitor->ops = *ops;
    monitor->opaque = opaque;
    monitor->source = g_unix_fd_add(mnl_socket_get_fd(nl), G_IO_IN | G_IO_ERR, on_monitor,
                                    monitor);
    return monitor;
}

void hz_monitor_close(HzMonitor *monitor)
{
    if (monitor) {
        g_source_remove(monitor->source);
        mnl_socket_close(monitor->nl);
        g_free(monitor);
    }
}
