/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape-update: what one new rate for one NIC costs, by hz-vnic, by a kept-open
 * `tc -batch`, by forks of tc.
 *
 * Four equal NICs, each with both directions queued, in a network namespace of
 * its own (root). An update is a new rate for both directions; it is over when the
 * kernel has told of both changes on a socket of ours, whoever made them. The
 * ways take turns, so that each meets the same machine. Also the processor
 * time each way used, which a busy machine doesn't blur.
 *
 * Prints rows of a bench's JSON ({"rows": […]}), microseconds.
 */
#define _GNU_SOURCE         /* unshare, pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vnic.h"

#define ANSWER_MS 10000         /* how long anything may take before we give up */

enum { HZ, LIBRARY, BATCH, FORK, N_WAYS };

typedef struct {
    const char *name;
    char nic[IFNAMSIZ], ifb[IFNAMSIZ];
    int index[2];
    gint64 cpu;                 /* ns, of all updates */
    GArray *wall;               /* gint64 ns, one each */
} Way;

static Way ways[N_WAYS] = {
    [HZ] = { .name = "update by hz-vnic", .nic = "hz0" },
    [LIBRARY] = { .name = "update in process, rtnetlink only", .nic = "lib0" },
    [BATCH] = { .name = "update by tc -batch kept open", .nic = "tc0" },
    [FORK] = { .name = "update by two forks of tc", .nic = "fork0" },
};

static const char *vnic_program, *tc_program = "tc";
static HzVnic *vnic;            /* the library's */
static struct mnl_socket *notes;
static int hz_fd = -1;
static pid_t hz_pid, batch_pid;
static FILE *batch;

G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN
static void die(const char *format, ...)
{
    va_list ap;

    fflush(stdout);
    fputs("shape-update: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    if (hz_pid) {
        kill(hz_pid, SIGTERM);
    }
    exit(1);
}

static gint64 now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * G_GINT64_CONSTANT(1000000000) + ts.tv_nsec;
}

static gint64 cpu_of(pid_t pid)
{
    struct timespec ts;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts)) {
        die("the processor time of %d can't be read", (int)pid);
    }
    return ts.tv_sec * G_GINT64_CONSTANT(1000000000) + ts.tv_nsec;
}

static gint64 cpu_of_children(void)
{
    struct rusage u;

    getrusage(RUSAGE_CHILDREN, &u);
    return ((u.ru_utime.tv_sec + u.ru_stime.tv_sec) * G_GINT64_CONSTANT(1000000) +
            u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

G_GNUC_PRINTF(1, 2)
static void shell(const char *format, ...)
{
    g_autofree char *command = NULL;
    va_list ap;

    va_start(ap, format);
    command = g_strdup_vprintf(format, ap);
    va_end(ap);
    if (system(command)) {
        die("failed: %s", command);
    }
}

/* -- the kernel's notes --------------------------------------------------- */

static void open_notes(void)
{
    int group = RTNLGRP_TC, size = 4 * 1024 * 1024;

    notes = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!notes || mnl_socket_bind(notes, 0, MNL_SOCKET_AUTOPID) < 0 ||
        mnl_socket_setsockopt(notes, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0) {
        die("rtnetlink: %s", strerror(errno));
    }
    setsockopt(mnl_socket_get_fd(notes), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
}

/* A class of this way's devices with this rate: which of the two, or -1. */
static int which(const Way *way, const struct nlmsghdr *nlh, guint64 rate)
{
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
    const struct nlattr *attr, *inner;

    if (nlh->nlmsg_type != RTM_NEWTCLASS) {
        return -1;
    }
    mnl_attr_for_each(attr, nlh, sizeof(*tcm)) {
        if (mnl_attr_get_type(attr) != TCA_OPTIONS) {
            continue;
        }
        mnl_attr_for_each_nested(inner, attr) {
            struct tc_htb_opt opt;

            if (mnl_attr_get_type(inner) != TCA_HTB_PARMS) {
                continue;
            }
            memcpy(&opt, mnl_attr_get_payload(inner), sizeof(opt));
            for (int i = 0; opt.ceil.rate == rate && i < 2; i++) {
                if (tcm->tcm_ifindex == way->index[i]) {
                    return i;
                }
            }
        }
    }
    return -1;
}

static void wait_for_both(const Way *way, guint64 rate)
{
    static char buf[65536];
    gboolean seen[2] = { FALSE, FALSE };

    while (!seen[0] || !seen[1]) {
        ssize_t n = mnl_socket_recvfrom(notes, buf, sizeof(buf));
        const struct nlmsghdr *nlh = (const void *)buf;
        int len = n;

        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = { .fd = mnl_socket_get_fd(notes), .events = POLLIN };

            if (poll(&p, 1, ANSWER_MS) <= 0) {
                die("%s: no change to %" G_GUINT64_FORMAT " B/s within %d ms", way->name, rate,
                    ANSWER_MS);
            }
            continue;
        }
        if (n < 0) {
            die("rtnetlink: %s", strerror(errno));
        }
        for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
            int i = which(way, nlh, rate);

            if (i >= 0) {
                seen[i] = TRUE;
            }
        }
    }
}

/* -- hz-vnic, played hzd to ---------------------------------------------- */

/* One line from it; it must contain @part. */
static void expect(const char *part)
{
    static char buf[65536];
    size_t len = 0;

    for (;;) {
        struct pollfd p = { .fd = hz_fd, .events = POLLIN };
        ssize_t n;

        if (poll(&p, 1, ANSWER_MS) <= 0) {
            die("hz-vnic doesn't answer");
        }
        n = read(hz_fd, buf + len, sizeof(buf) - 1 - len);
        if (n <= 0) {
            die("hz-vnic closed its connection");
        }
        len += n;
        buf[len] = '\0';
        if (memchr(buf, '\n', len)) {
            break;
        }
    }
    if (!strstr(buf, part)) {
        die("hz-vnic says %s", buf);
    }
}

static void say(const char *text)
{
    if (write(hz_fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        die("hz-vnic: %s", strerror(errno));
    }
}

static void start_hz(const char *folder)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct pollfd p = { .fd = listener, .events = POLLIN };

    g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
        listen(listener, 1)) {
        die("%s: %s", address.sun_path, strerror(errno));
    }
    hz_pid = fork();
    if (hz_pid == 0) {
        execl(vnic_program, "hz-vnic", "--socket", address.sun_path, NULL);
        _exit(127);
    }
    if (poll(&p, 1, ANSWER_MS) <= 0 || (hz_fd = accept(listener, NULL, NULL)) < 0) {
        die("%s doesn't connect", vnic_program);
    }
    close(listener);
    expect("\"HZ\"");
    say("{\"execute\":\"configure\",\"arguments\":{\"protocol\":1,\"mode\":\"enforce\"}}\n");
    expect("\"return\"");
}

static void update_hz(Way *way, guint64 rate)
{
    g_autofree char *line = g_strdup_printf(
        "{\"execute\":\"apply\",\"arguments\":{\"epoch\":1,\"plan\":[{\"key\":\"A/nic/0\","
        "\"ifname\":\"%s\",\"shape\":true,\"rate\":%" G_GUINT64_FORMAT ",\"burst\":0}]}}\n",
        way->nic, rate);

    say(line);
}

static void update_library(Way *way, guint64 rate)
{
    const HzWanted wanted = { .key = "L", .ifname = way->nic, .shape = TRUE, .rate = rate };
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) lines = hz_vnic_apply(vnic, &wanted, 1, &error);

    if (!lines || ((HzLine *)lines->pdata[0])->state != HZ_LINE_APPLIED) {
        die("in process: %s", lines ? ((HzLine *)lines->pdata[0])->detail : error->message);
    }
}

/* -- tc ------------------------------------------------------------------- */

static void start_batch(void)
{
    int in[2];

    if (pipe2(in, O_CLOEXEC)) {
        die("pipe: %s", strerror(errno));
    }
    batch_pid = fork();
    if (batch_pid == 0) {
        dup2(in[0], 0);
        execlp(tc_program, "tc", "-batch", "-", NULL);
        _exit(127);
    }
    close(in[0]);
    batch = fdopen(in[1], "w");
}

#define CLASS_CHANGE "class change dev %s parent 1: classid 1:1 htb rate %" G_GUINT64_FORMAT \
                     "bps ceil %" G_GUINT64_FORMAT "bps burst 50000 cburst 50000 quantum 60000"

static void update_batch(Way *way, guint64 rate)
{
    fprintf(batch, CLASS_CHANGE "\n", way->nic, rate, rate);
    fprintf(batch, CLASS_CHANGE "\n", way->ifb, rate, rate);
    fflush(batch);
}

static void update_fork(Way *way, guint64 rate)
{
    const char *device[] = { way->nic, way->ifb };

    for (int i = 0; i < 2; i++) {
        g_autofree char *text = g_strdup_printf("tc " CLASS_CHANGE, device[i], rate, rate);
        g_auto(GStrv) argv = g_strsplit(text, " ", -1);
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            execvp(tc_program, argv);
            _exit(127);
        }
        if (waitpid(pid, &status, 0) < 0 || status) {
            die("%s: failed", text);
        }
    }
}

/* -- set-up ---------------------------------------------------------------- */

/* What hz-vnic makes, by hand and without its marks: for the two ways of tc. */
static void shape_by_tc(Way *way)
{
    const char *device[] = { way->nic, way->ifb };

    shell("ip link add %s up type ifb", way->ifb);
    for (int i = 0; i < 2; i++) {
        shell("tc qdisc add dev %s root handle 1: htb default 1", device[i]);
        shell("tc class add dev %s parent 1: classid 1:1 htb rate 1mbit", device[i]);
        shell("tc qdisc add dev %s parent 1:1 handle 2: pfifo limit 100", device[i]);
    }
    shell("tc qdisc add dev %s ingress", way->nic);
    shell("tc filter add dev %s ingress protocol all pref 1 u32 match u32 0 0 "
          "action mirred egress redirect dev %s", way->nic, way->ifb);
}

static void set_up(const char *folder)
{
    g_autoptr(GError) error = NULL;

    if (unshare(CLONE_NEWNET)) {
        die("a network namespace of its own: %s (root is needed)", strerror(errno));
    }
    for (int i = 0; i < N_WAYS; i++) {
        Way *way = &ways[i];

        shell("ip link add %s up type veth peer name %s-peer", way->nic, way->nic);
        way->index[0] = if_nametoindex(way->nic);
        way->wall = g_array_new(FALSE, FALSE, sizeof(gint64));
        if (i == BATCH || i == FORK) {
            g_snprintf(way->ifb, sizeof(way->ifb), "%s-ifb", way->nic);
            shape_by_tc(way);
        } else {
            hz_ifb_name(way->index[0], way->ifb);
        }
    }
    start_hz(folder);
    update_hz(&ways[HZ], 125000);
    expect("applied");
    vnic = hz_vnic_new(NULL, NULL, &error);
    if (!vnic || !hz_vnic_set_mode(vnic, HZ_MODE_ENFORCE, &error)) {
        die("%s", error->message);
    }
    vnic->swept = TRUE;                 /* what hz-vnic did is no leftover of ours */
    update_library(&ways[LIBRARY], 125000);
    start_batch();
    for (int i = 0; i < N_WAYS; i++) {
        ways[i].index[1] = if_nametoindex(ways[i].ifb);
    }
    open_notes();
}

/* -- measuring -------------------------------------------------------------- */

static void update(int i, guint64 rate)
{
    static void (*const by[N_WAYS])(Way *way, guint64 rate) = {
        [HZ] = update_hz, [LIBRARY] = update_library, [BATCH] = update_batch, [FORK] = update_fork,
    };
    Way *way = &ways[i];
    pid_t pid = i == HZ ? hz_pid : i == BATCH ? batch_pid : getpid();
    gint64 cpu = i == FORK ? cpu_of_children() : cpu_of(pid);
    gint64 start = now_ns(), took;

    by[i](way, rate);
    if (i == LIBRARY) {
        cpu = cpu_of(pid) - cpu;        /* the waiting is not its own */
    }
    wait_for_both(way, rate);
    took = now_ns() - start;
    g_array_append_val(way->wall, took);
    if (i == HZ) {
        expect("applied");
    }
    if (i != LIBRARY) {
        cpu = (i == FORK ? cpu_of_children() : cpu_of(pid)) - cpu;
    }
    way->cpu += cpu;
}

static int by_value(gconstpointer a, gconstpointer b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

    return (x > y) - (x < y);
}

static double percentile(const Way *way, guint permille)
{
    guint at = MIN(way->wall->len * permille / 1000, way->wall->len - 1);

    return g_array_index(way->wall, gint64, at) / 1000.0;
}

static void print_row(const char *name, const char *what, double value, double p99, double peer,
                      gboolean last)
{
    printf("  {\"name\": \"%s, %s\", \"unit\": \"us\", \"value\": %.1f", name, what, value);
    if (p99 > 0) {
        printf(", \"p99\": %.1f", p99);
    }
    if (peer > 0) {
        printf(", \"peer\": \"tc -batch kept open\", \"peer_value\": %.1f, \"ratio\": %.3f", peer,
               value / peer);
    }
    printf("}%s\n", last ? "" : ",");
}

static void print_rows(void)
{
    printf("{\"rows\": [\n");
    for (int i = 0; i < N_WAYS; i++) {
        g_array_sort(ways[i].wall, by_value);
    }
    for (int i = 0; i < N_WAYS; i++) {
        const Way *way = &ways[i];
        guint n = way->wall->len;

        print_row(way->name, "time", percentile(way, 500), percentile(way, 990),
                  i == BATCH ? 0 : percentile(&ways[BATCH], 500), FALSE);
        print_row(way->name, "processor time", way->cpu / 1000.0 / n, 0,
                  i == BATCH ? 0 : ways[BATCH].cpu / 1000.0 / n, i == N_WAYS - 1);
    }
    printf("]}\n");
}

int main(int argc, char **argv)
{
    g_autofree char *folder = g_dir_make_tmp("hz-shape-update-XXXXXX", NULL);
    guint updates = argc > 2 ? strtoul(argv[2], NULL, 10) : 500;

    if (argc < 2 || argc > 3 || updates == 0) {
        fprintf(stderr, "Usage: %s HZ-VNIC [UPDATES]\n", argv[0]);
        return 2;
    }
    vnic_program = argv[1];
    set_up(folder);
    for (guint n = 0; n < updates + 20; n++) {
        if (n == 20) {                  /* the first ones warm up */
            for (int i = 0; i < N_WAYS; i++) {
                g_array_set_size(ways[i].wall, 0);
                ways[i].cpu = 0;
            }
        }
        for (int i = 0; i < N_WAYS; i++) {
            /* 1.6 Gbit/s and up, each once: there no leaf changes with the rate, as none does for tc. */
            update(i, 200000000 + 1000 * (guint64)n);
        }
    }
    kill(hz_pid, SIGTERM);
    waitpid(hz_pid, NULL, 0);
    fclose(batch);
    waitpid(batch_pid, NULL, 0);
    print_rows();
    hz_vnic_free(vnic);
    shell("rm -r '%s'", folder);
    return 0;
}
