/* SPDX-License-Identifier: MIT */
/*
 * hz vocabulary: the table itself.
 *
 * Every id that vocabulary v1 knows has its row, so that none can be used for
 * anything else. A row whose consumer is NONE is reserved: it is checked like
 * any other, and answered with RECORDED. What makes a field an offer is that
 * something sets its consumer, in the change that adds the consumer.
 *
 * Rows stand by ascending id: the search depends on it (a test checks it).
 */
#include "vocabulary.h"

#define MAX_RATE  125000000000000ULL    /* 1 Pbit/s: sums of many never overflow */
#define MAX_BYTES (1ULL << 60)
#define MAX_U16   UINT16_MAX
#define MAX_U32   UINT32_MAX
#define MAX_U64   UINT64_MAX

/* -- words -------------------------------------------------------------- */

static const char *const no_yes[] = { "no", "yes", NULL };
static const char *const roles[] = { "train", "infer", "other", NULL };
static const char *const regions[] = { "none", "zone", "region", "any", NULL };
static const char *const collective_ops[] = {
    "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all",
    "send-recv", "barrier", NULL
};
static const char *const collective_algos[] = {
    "ring", "tree", "direct", "halving-doubling", "hierarchical", NULL
};
static const char *const ckpt_modes[] = { "app", "fs", "vm", "vm-detach", NULL };
static const char *const placements[] = { "local", "peer", "remote", NULL };
static const char *const health_kinds[] = { "perf", "sdc", "gpu", "net", NULL };
/* Bit E of the mask is kind E. G3, exact, is the operator's alone. */
static const char *const events[] = {
    "", "pause", "reboot", "move", "reclaim", "terminate", "risk", "maint-window", "capacity",
    "resource-changed", "net-state", "health", "energy", "ckpt", "", "offer", NULL
};
static const char *const grains[] = { "nothing", "class", "bucket", NULL };

static const char *const survivors[] = { "memory", "disk", "net", "gpu", NULL };
static const char *const reclaim_actions[] = { "stop", "hibernate", "terminate", "shrink", NULL };
static const char *const directions[] = { "up", "down", NULL };
static const char *const healths[] = { "ok", "degraded", "suspect", "failed", NULL };
static const char *const ckpt_phases[] = { "prepare", "taken", "failed", "restorable", NULL };
static const char *const offers[] = { "net", "gpu", "vcpu", "memory", "time", NULL };

/* -- rows --------------------------------------------------------------- */

#define N_NAMES(n) (sizeof(n) / sizeof((n)[0]) - 1)

#define ROW(id_, name_, type_, unit_, min_, max_, source_, merge_, consumer_, on_, ...) \
    { .id = (id_), .name = (name_), .type = HZ_TYPE_##type_, .unit = HZ_UNIT_##unit_,   \
      .min = (min_), .max = (max_), .source = HZ_BY_##source_,                          \
      .merge = HZ_MERGE_##merge_, .consumer = HZ_CONSUMER_##consumer_,                  \
      .subjects = (on_), __VA_ARGS__ }
#define HELP(text) .help = (text)
#define NOT_ABOVE(id_) .not_above = (id_)
#define ENUM(id_, name_, words_, source_, merge_, consumer_, on_, ...)                  \
    ROW(id_, name_, ENUM, NONE, 0, N_NAMES(words_) - 1, source_, merge_, consumer_, on_,\
        .names = (words_), __VA_ARGS__)
#define MASK(id_, name_, words_, source_, merge_, consumer_, on_, ...)                  \
    ROW(id_, name_, MASK, NONE, 0, (1ULL << N_NAMES(words_)) - 1, source_, merge_,      \
        consumer_, on_, .names = (words_), __VA_ARGS__)
/* A length of time in ms. */
#define MSEC(id_, name_, source_, merge_, consumer_, on_, ...)                          \
    ROW(id_, name_, U32, MS, 0, MAX_U32, source_, merge_, consumer_, on_, __VA_ARGS__)
#define NEEDED(kind_, name_)                                                            \
    MSEC(HZ_F_NOTICE_NEEDED + (kind_), "notice-needed-" name_, TENANT, MAX, HZD,        \
         HZ_ON_VM, HELP("how long before a " name_ " the guest wants to be told"))
/* A field of a notice: the provider writes it. */
#define NOTE(id_, name_, type_, unit_, max_, consumer_, ...)                            \
    ROW(id_, name_, type_, unit_, 0, max_, OPERATOR, LAST, consumer_, HZ_ON_NOTICE,     \
        __VA_ARGS__)

#define VM_JOB (HZ_ON_VM | HZ_ON_JOB)

static const struct hz_field fields[] = {
    /* T1: the job this VM is part of; ids mean something inside its tenant only */
    ROW(HZ_F_JOB_ID, "job-id", ID, NONE, 0, 0, TENANT, LAST, HZD, VM_JOB,
        HELP("the job's id: a uuid, 32 hex digits, or any text")),
    ROW(HZ_F_JOB_RANK, "job-rank", U32, NONE, 0, MAX_U32, TENANT, LAST, HZD, VM_JOB,
        HELP("this VM's rank in the job, from 0")),
    ROW(HZ_F_JOB_WORLD_SIZE, "job-world-size", U32, NONE, 1, MAX_U32, TENANT, LAST, HZD, VM_JOB,
        HELP("ranks in the job")),
    ENUM(HZ_F_JOB_ROLE, "job-role", roles, TENANT, LAST, HZD, VM_JOB,
         HELP("what the job does")),

    /* T2: scaling out and in */
    ROW(0x0201, "workers-min", U32, NONE, 0, MAX_U32, TENANT, LAST, NONE, VM_JOB,
        NOT_ABOVE(0x0202), HELP("fewest workers the job runs with")),
    ROW(0x0202, "workers-max", U32, NONE, 0, MAX_U32, TENANT, LAST, NONE, VM_JOB,
        HELP("most workers the job can use")),
    ROW(0x0203, "workers-step", U32, NONE, 1, MAX_U32, TENANT, LAST, NONE, VM_JOB,
        HELP("workers come and go in multiples of this")),
    MSEC(0x0204, "scale-out-time", GUESS, MAX, NONE, VM_JOB,
         HELP("how long taking up more workers takes")),
    MSEC(0x0205, "scale-in-time", GUESS, MAX, NONE, VM_JOB,
         HELP("how long letting workers go takes")),

    /* T3: scaling up and down */
    ROW(0x0301, "vcpu-min", U32, NONE, 1, MAX_U32, TENANT, MAX, NONE, HZ_ON_VM,
        NOT_ABOVE(0x0302), HELP("fewest vCPUs the VM can live with")),
    ROW(0x0302, "vcpu-max", U32, NONE, 1, MAX_U32, TENANT, MAX, NONE, HZ_ON_VM,
        HELP("most vCPUs the VM can use")),
    ROW(0x0303, "mem-min", U64, BYTES, 0, MAX_BYTES, TENANT, MAX, NONE, HZ_ON_VM,
        NOT_ABOVE(0x0304), HELP("least memory the VM can live with")),
    ROW(0x0304, "mem-max", U64, BYTES, 0, MAX_BYTES, TENANT, MAX, NONE, HZ_ON_VM,
        HELP("most memory the VM can use")),
    MSEC(0x0305, "scale-up-time", GUESS, MAX, NONE, HZ_ON_VM,
         HELP("how long taking up more vCPUs or memory takes")),
    MSEC(0x0306, "scale-down-time", GUESS, MAX, NONE, HZ_ON_VM,
         HELP("how long giving vCPUs or memory back takes")),

    /* T4, T5, T6: deployment, availability, pre-emption */
    MSEC(0x0401, "deploy-tolerance", TENANT, MIN, NONE, VM_JOB,
         HELP("how long a deployment may take")),
    ROW(0x0501, "unavailability-max", U32, PPM, 0, 1000000, GUESS, MIN, NONE, VM_JOB,
        HELP("share of the time the VM may be unavailable")),
    ROW(0x0601, "preemptible", U16, PERMILLE, 0, 1000, TENANT, MIN, NONE, VM_JOB,
        HELP("share of the group that may be pre-empted")),
    ROW(0x0602, "victim-rank", U16, NONE, 0, MAX_U16, TENANT, LAST, NONE, VM_JOB,
        HELP("who of the group should go first: the lowest")),

    /* T7: pauses and delays */
    ROW(HZ_F_DELAY_TOLERANCE, "delay-tolerance", U32, US, 0, MAX_U32, GUESS, MIN, NONE, VM_JOB,
        HELP("delay the job doesn't notice")),
    MSEC(HZ_F_MAX_PAUSE, "max-pause", TENANT, MIN, HZD, VM_JOB,
         NOT_ABOVE(HZ_F_PAUSE_FATAL), HELP("longest pause the job rides out without harm")),
    ROW(HZ_F_MAX_PAUSES_PER_H, "max-pauses-per-h", U16, NONE, 0, 3600, TENANT, MIN, HZD, VM_JOB,
        HELP("most pauses in an hour")),
    MSEC(HZ_F_PAUSE_FATAL, "pause-fatal", TENANT, MIN, HZD, VM_JOB,
         HELP("a pause this long breaks the job: its collectives time out")),

    /* T8, T9: where, and in what portions */
    ENUM(0x0801, "region-independence", regions, TENANT, MIN, NONE, VM_JOB,
         HELP("how far away the job may be moved")),
    ROW(0x0901, "batch-min", U32, NONE, 1, MAX_U32, TENANT, MAX, NONE, VM_JOB,
        NOT_ABOVE(0x0902), HELP("smallest global batch, in samples")),
    ROW(0x0902, "batch-max", U32, NONE, 1, MAX_U32, TENANT, MIN, NONE, VM_JOB,
        HELP("largest global batch, in samples")),
    ROW(0x0903, "batch-quantum", U32, NONE, 1, MAX_U32, TENANT, LAST, NONE, VM_JOB,
        HELP("the global batch is a multiple of this")),
    ROW(0x0904, "grad-accum-max", U32, NONE, 1, MAX_U32, TENANT, MIN, NONE, VM_JOB,
        HELP("most gradient accumulation steps")),

    /* T10: T_step = (T_comp^gamma + T_net^gamma)^(1/gamma) */
    ROW(0x0a01, "goodput-alpha-c", F64, NONE, 0, 0, GUESS, LAST, NONE, VM_JOB,
        HELP("computation of a step: the constant part, s")),
    ROW(0x0a02, "goodput-beta-c", F64, NONE, 0, 0, GUESS, LAST, NONE, VM_JOB,
        HELP("computation of a step: s a sample")),
    ROW(0x0a03, "goodput-alpha-n", F64, NONE, 0, 0, GUESS, LAST, NONE, VM_JOB,
        HELP("synchronising across nodes: the constant part, s")),
    ROW(0x0a04, "goodput-beta-n", F64, NONE, 0, 0, GUESS, LAST, NONE, VM_JOB,
        HELP("synchronising across nodes: s a further worker")),
    ROW(0x0a05, "goodput-alpha-r", F64, NONE, 0, 0, GUESS, LAST, NONE, VM_JOB,
        HELP("synchronising inside a node: the constant part, s")),
    ROW(0x0a06, "goodput-beta-r", F64, NONE, 0, 0, GUESS, LAST, NONE, VM_JOB,
        HELP("synchronising inside a node: s a further worker")),
    ROW(0x0a07, "goodput-gamma", F64, NONE, 1, 10, GUESS, LAST, NONE, VM_JOB,
        HELP("how far computation and network overlap: 1 not at all, 10 wholly")),
    ROW(0x0a08, "goodput-grad-sqr", F64, NONE, 0, 0, GUESS, LAST, NONE, VM_JOB,
        HELP("squared norm of the gradient")),
    ROW(0x0a09, "goodput-grad-var", F64, NONE, 0, 0, GUESS, LAST, NONE, VM_JOB,
        HELP("variance of the gradient")),

    /* T11: collective communication */
    MASK(0x0b01, "collective-ops", collective_ops, TENANT, OR, NONE, VM_JOB,
         HELP("collective operations the job uses")),
    MASK(0x0b02, "collective-algos", collective_algos, TENANT, OR, NONE, VM_JOB,
         HELP("algorithms it can run them by")),
    ROW(0x0b03, "collective-sizes", BYTES, NONE, 4, 160, GUESS, LAST, NONE, VM_JOB,
        HELP("calls a period, one u32 for each power of two of the size in bytes")),
    ROW(0x0b04, "collective-period", U32, US, 0, MAX_U32, GUESS, LAST, NONE, VM_JOB,
        HELP("time from one burst of traffic to the next")),
    ROW(0x0b05, "collective-phase", U32, US, 0, MAX_U32, GUESS, LAST, NONE, VM_JOB,
        HELP("length of the burst in it")),
    ROW(0x0b06, "traffic-class-max", U8, NONE, 0, 63, TENANT, MAX, NONE, VM_JOB,
        HELP("highest traffic class (DSCP) the job would use")),

    /* T12: bandwidth of one vNIC, each direction */
    ROW(HZ_F_NET_MIN, "net-min", U64, RATE, 0, MAX_RATE, GUESS, SUM, VNIC, HZ_ON_NIC,
        NOT_ABOVE(HZ_F_NET_MAX), HELP("bandwidth the guest needs")),
    /* Not below 8 kbit/s: a guest can't cut itself off by a typing error. */
    ROW(HZ_F_NET_MAX, "net-max", U64, RATE, 1000, MAX_RATE, GUESS, SUM, VNIC, HZ_ON_NIC,
        HELP("bandwidth the guest can use: what is above goes to others")),
    ROW(HZ_F_NET_BURST, "net-burst", U64, BYTES, 1, 1ULL << 30, GUESS, MAX, VNIC, HZ_ON_NIC,
        HELP("most bytes sent at once above the rate")),
    ROW(HZ_F_NET_WEIGHT, "net-weight", U16, NONE, 1, 1000, TENANT, MAX, VNIC, HZ_ON_NIC,
        HELP("share of what the minimums leave, relative to others")),

    /* T13: parallel dimensions */
    ROW(0x0d01, "parallel-dp-min", U16, NONE, 1, MAX_U16, TENANT, MAX, NONE, VM_JOB,
        NOT_ABOVE(0x0d02), HELP("least data parallelism")),
    ROW(0x0d02, "parallel-dp-max", U16, NONE, 1, MAX_U16, TENANT, MIN, NONE, VM_JOB,
        HELP("most data parallelism")),
    ROW(0x0d03, "parallel-tp-min", U16, NONE, 1, MAX_U16, TENANT, MAX, NONE, VM_JOB,
        NOT_ABOVE(0x0d04), HELP("least tensor parallelism")),
    ROW(0x0d04, "parallel-tp-max", U16, NONE, 1, MAX_U16, TENANT, MIN, NONE, VM_JOB,
        HELP("most tensor parallelism")),
    ROW(0x0d05, "parallel-pp-min", U16, NONE, 1, MAX_U16, TENANT, MAX, NONE, VM_JOB,
        NOT_ABOVE(0x0d06), HELP("least pipeline parallelism")),
    ROW(0x0d06, "parallel-pp-max", U16, NONE, 1, MAX_U16, TENANT, MIN, NONE, VM_JOB,
        HELP("most pipeline parallelism")),
    ROW(0x0d07, "stage-mem", U64, BYTES, 0, MAX_BYTES, TENANT, MAX, NONE, VM_JOB,
        HELP("device memory a pipeline stage needs")),

    /* T14: checkpoints */
    MSEC(0x0e01, "ckpt-interval-min", TENANT, MAX, NONE, HZ_ON_CKPT,
         NOT_ABOVE(0x0e02), HELP("no checkpoint sooner after the last one")),
    MSEC(0x0e02, "ckpt-interval-max", TENANT, MIN, NONE, HZ_ON_CKPT,
         HELP("a checkpoint at least this often")),
    MASK(0x0e03, "ckpt-modes", ckpt_modes, TENANT, OR, NONE, HZ_ON_CKPT,
         HELP("kinds of checkpoint the tenant consents to")),
    ENUM(0x0e04, "ckpt-quiesce-required", no_yes, TENANT, MAX, NONE, HZ_ON_CKPT,
         HELP("no checkpoint without the guest's PREPARED")),
    MASK(0x0e05, "ckpt-placement", placements, TENANT, OR, NONE, HZ_ON_CKPT,
         HELP("where a checkpoint may be kept")),
    ROW(0x0e06, "ckpt-state", U64, BYTES, 0, MAX_BYTES, GUESS, SUM, NONE, HZ_ON_CKPT,
        HELP("size of the application's own checkpoint")),
    MSEC(0x0e07, "ckpt-write-time", GUESS, MAX, NONE, HZ_ON_CKPT,
         HELP("how long writing it takes")),
    MSEC(0x0e08, "ckpt-restore-time", GUESS, MAX, NONE, HZ_ON_CKPT,
         HELP("how long going on from it takes")),
    MSEC(0x0e09, "ckpt-last-age", TENANT, MAX, NONE, HZ_ON_CKPT,
         HELP("age of the application's newest checkpoint")),

    /* T15: how much warning */
    NEEDED(HZ_KIND_PAUSE, "pause"),
    NEEDED(HZ_KIND_REBOOT, "reboot"),
    NEEDED(HZ_KIND_MOVE, "move"),
    NEEDED(HZ_KIND_RECLAIM, "reclaim"),
    NEEDED(HZ_KIND_TERMINATE, "terminate"),
    NEEDED(HZ_KIND_RISK, "risk"),
    NEEDED(HZ_KIND_MAINT_WINDOW, "maint-window"),
    NEEDED(HZ_KIND_CAPACITY, "capacity"),
    NEEDED(HZ_KIND_RESOURCE_CHANGED, "resource-changed"),
    NEEDED(HZ_KIND_NET_STATE, "net-state"),
    NEEDED(HZ_KIND_HEALTH, "health"),
    NEEDED(HZ_KIND_ENERGY, "energy"),
    NEEDED(HZ_KIND_CKPT, "ckpt"),
    NEEDED(HZ_KIND_OFFER, "offer"),
    MSEC(HZ_F_EXTEND_MAX, "extend-max", TENANT, MAX, HZD, HZ_ON_VM,
         HELP("how much longer the guest may ask for, in all")),

    /* T16: the tenant reports a fault */
    ENUM(0x1001, "health-kind", health_kinds, TENANT, LAST, NONE, VM_JOB,
         HELP("what is wrong")),
    ROW(0x1002, "health-device", U32, NONE, 0, MAX_U32, TENANT, LAST, NONE, VM_JOB,
        HELP("index of the device, as the guest counts")),
    ROW(0x1003, "health-code", U32, NONE, 0, MAX_U32, TENANT, LAST, NONE, VM_JOB,
        HELP("the driver's own code")),
    ROW(0x1004, "health-observed-step", U32, US, 0, MAX_U32, TENANT, LAST, NONE, VM_JOB,
        HELP("how long a step takes")),
    ROW(0x1005, "health-expected-step", U32, US, 0, MAX_U32, TENANT, LAST, NONE, VM_JOB,
        HELP("how long it should take")),

    /* T17: latency objective and energy */
    ROW(0x1101, "slo-p99", U32, US, 0, MAX_U32, TENANT, MIN, NONE, VM_JOB,
        HELP("latency 99% of requests must meet")),
    ROW(0x1102, "freq-min-khz", U32, NONE, 0, MAX_U32, GUESS, MAX, NONE, HZ_ON_VM,
        NOT_ABOVE(0x1103), HELP("lowest clock the objective allows, kHz")),
    ROW(0x1103, "freq-max-khz", U32, NONE, 0, MAX_U32, GUESS, MAX, NONE, HZ_ON_VM,
        HELP("highest clock of use, kHz")),
    ROW(0x1104, "power-max-mw", U32, NONE, 0, MAX_U32, TENANT, MIN, NONE, HZ_ON_VM,
        HELP("power the VM should stay within, mW")),
    ROW(0x1105, "carbon-weight", U16, PERMILLE, 0, 1000, TENANT, MAX, NONE, VM_JOB,
        HELP("how much carbon counts against speed")),

    /* T18: contention */
    ROW(HZ_F_PRIORITY, "priority", U8, NONE, 0, 255, TENANT, MAX, HZD, HZ_ON_VM | HZ_ON_NIC,
        HELP("whose minimum gives way first: the lowest; within what was granted")),
    ROW(0x1202, "reserve-from", U64, NS, 0, MAX_U64, TENANT, LAST, NONE, VM_JOB,
        NOT_ABOVE(0x1203), HELP("reservation: starts in this time")),
    ROW(0x1203, "reserve-until", U64, NS, 0, MAX_U64, TENANT, LAST, NONE, VM_JOB,
        HELP("reservation: ends in this time")),
    ROW(0x1204, "bid", U64, NONE, 0, MAX_U64, TENANT, LAST, NONE, VM_JOB,
        HELP("bid for an hour, in millionths of the operator's unit")),

    /* T19: what the guest wants to hear */
    MASK(HZ_F_SUBSCRIBE_EVENTS, "subscribe", events, TENANT, OR, HZD, HZ_ON_VM,
         HELP("kinds of notice the guest wants")),
    ENUM(HZ_F_SUBSCRIBE_GRAIN, "granularity", grains, TENANT, MAX, HZD, HZ_ON_VM,
         HELP("how exactly it wants to be told; within what was granted")),

    /* T20: passthrough devices, in units of the operator's pool */
    ROW(0x1401, "gpu-min", U16, NONE, 0, MAX_U16, TENANT, MAX, NONE, HZ_ON_GPU,
        NOT_ABOVE(0x1402), HELP("fewest units the job runs with")),
    ROW(0x1402, "gpu-max", U16, NONE, 0, MAX_U16, TENANT, MAX, NONE, HZ_ON_GPU,
        HELP("most units it can use")),
    MSEC(0x1403, "gpu-release-time", GUESS, MAX, NONE, HZ_ON_GPU,
         HELP("how long letting a unit go takes")),
    MSEC(0x1404, "gpu-acquire-time", GUESS, MAX, NONE, HZ_ON_GPU,
         HELP("how long taking one up takes")),

    /* E1 PAUSE */
    NOTE(HZ_N_PAUSE_MEASURED_NS, "pause-measured", U64, NS, MAX_U64, HZD,
         HELP("how long it was, from STOP to RESUME")),
    NOTE(HZ_N_PAUSE_MEMORY_KEPT, "pause-memory-kept", ENUM, NONE, 1, HZD, .names = no_yes,
         HELP("does memory survive it")),
    NOTE(HZ_N_PAUSE_DEGRADED_MS, "pause-degraded", U32, MS, MAX_U32, HZD,
         HELP("slower for so long afterwards")),
    /* E2 REBOOT, E3 MOVE */
    NOTE(0x8201, "reboot-survives", MASK, NONE, 15, NONE, .names = survivors,
         HELP("what survives it")),
    NOTE(0x8301, "move-survives", MASK, NONE, 15, NONE, .names = survivors,
         HELP("what survives it")),
    /* E4 RECLAIM, E5 TERMINATE */
    NOTE(HZ_N_RECLAIM_ACTION, "reclaim-action", ENUM, NONE, 3, HZD, .names = reclaim_actions,
         HELP("what will be done")),
    NOTE(HZ_N_RECLAIM_SURVIVES, "reclaim-survives", MASK, NONE, 15, HZD, .names = survivors,
         HELP("what survives it")),
    NOTE(0x8501, "terminate-survives", MASK, NONE, 15, NONE, .names = survivors,
         HELP("what survives it")),
    /* E6 RISK */
    NOTE(0x8601, "risk-horizon", U32, MS, MAX_U32, NONE,
         HELP("within this time")),
    NOTE(0x8602, "risk-probability", U16, PERMILLE, 1000, NONE,
         HELP("how likely: advice only")),
    /* E7 MAINT_WINDOW: starts at not-before, ends at the deadline */
    NOTE(0x8701, "maint-latest-start", U64, NS, MAX_U64, NONE,
         HELP("it may start so long after not-before")),
    NOTE(0x8702, "maint-reschedulable", ENUM, NONE, 1, NONE, .names = no_yes,
         HELP("a DEFER can move it")),
    /* E8 CAPACITY: the offer stands until the deadline */
    NOTE(0x8801, "capacity-class", U16, NONE, MAX_U16, NONE,
         HELP("coarse class of what comes or goes")),
    NOTE(0x8802, "capacity-count", U16, NONE, MAX_U16, NONE,
         HELP("how many, as a bucket: at least this power of two")),
    NOTE(0x8803, "capacity-direction", ENUM, NONE, 1, NONE, .names = directions,
         HELP("more or less of it")),
    /* E9 RESOURCE_CHANGED */
    NOTE(HZ_N_CHANGED_NIC, "changed-nic", U16, NONE, MAX_U16, HZD,
         HELP("index of nic/N")),
    NOTE(HZ_N_CHANGED_OLD, "changed-old", U64, RATE, MAX_U64, HZD,
         HELP("rate until now; 0: unlimited")),
    NOTE(HZ_N_CHANGED_NEW, "changed-new", U64, RATE, MAX_U64, HZD,
         HELP("rate from now on; 0: unlimited")),
    /* E10 NET_STATE */
    NOTE(0x8a01, "net-state-epoch", U64, NONE, MAX_U64, NONE,
         HELP("counts the observations")),
    NOTE(0x8a02, "net-state-distance", BYTES, NONE, 512, NONE,
         HELP("16 bytes of opaque peer and a distance class, each")),
    NOTE(0x8a03, "net-state-utilisation", BYTES, NONE, 512, NONE,
         HELP("16 bytes of opaque peer and a utilisation bucket, each")),
    NOTE(0x8a04, "net-state-competitors", U8, NONE, 255, NONE,
         HELP("bucket of how many share the path")),
    NOTE(0x8a05, "net-state-interval", U32, MS, MAX_U32, NONE,
         HELP("time the observation covers")),
    /* E11 HEALTH */
    NOTE(0x8b01, "health-state", ENUM, NONE, 3, NONE, .names = healths,
         HELP("how the device is")),
    NOTE(0x8b02, "health-fault-device", U32, NONE, MAX_U32, NONE,
         HELP("index of the device")),
    NOTE(0x8b03, "health-fault-group", ID, NONE, 0, NONE,
         HELP("opaque: what fails together")),
    /* E12 ENERGY: valid until the deadline */
    NOTE(0x8c01, "energy-power-cap-mw", U64, NONE, MAX_U64, NONE,
         HELP("power to stay within, mW")),
    NOTE(0x8c02, "energy-price", U64, NONE, MAX_U64, NONE,
         HELP("price of a kWh, in millionths of the operator's unit")),
    NOTE(0x8c03, "energy-carbon", U32, NONE, MAX_U32, NONE,
         HELP("grams of CO2 a kWh")),
    /* E13 CKPT */
    NOTE(0x8d01, "ckpt-phase", ENUM, NONE, 3, NONE, .names = ckpt_phases,
         HELP("what has become of it")),
    NOTE(0x8d02, "ckpt-id", ID, NONE, 0, NONE,
         HELP("the checkpoint's id")),
    NOTE(0x8d03, "ckpt-consistent-age", U64, NS, MAX_U64, NONE,
         HELP("how long ago the state in it was")),
    /* E15 OFFER: stands until the deadline */
    NOTE(0x8f01, "offer-what", ENUM, NONE, 4, NONE, .names = offers,
         HELP("what is offered")),
    NOTE(0x8f02, "offer-amount", U64, NONE, MAX_U64, NONE,
         HELP("how much of it, in the unit of its declaration")),
    NOTE(0x8f03, "offer-length", U64, NS, MAX_U64, NONE,
         HELP("for how long")),
    NOTE(0x8f04, "offer-round", U16, NONE, MAX_U16, NONE,
         NOT_ABOVE(0x8f05), HELP("round of the negotiation, from 1")),
    NOTE(0x8f05, "offer-rounds", U16, NONE, MAX_U16, NONE,
         HELP("rounds there will be at most")),
};

const struct hz_field *hz_vocabulary(size_t *n)
{
    *n = sizeof(fields) / sizeof(fields[0]);
    return fields;
}
