/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hz agent's socket: what hz run and hz reply say to the one who answers.
 *
 * SOCK_SEQPACKET, one struct agent_msg a packet, both ways, native byte
 * order: both ends are the same program. A caller says HELLO and hears
 * WELCOME. Then it may PROVE (hz run: this notice, prepared or failed) or ask
 * for a REPLY (hz reply) and hears RESULT. Closing takes a registration back.
 */
#ifndef HZ_AGENT_PROTO_H
#define HZ_AGENT_PROTO_H

#include <stdint.h>

#include "hz.h"

#define AGENT_SOCKET "/run/hz-agent.sock"       /* or what HZ_AGENT_SOCKET names */
#define AGENT_MAGIC 0x677a6867u
#define AGENT_VERSION 1

enum agent_msg_type {
    AGENT_HELLO = 1,            /* kinds, name */
    AGENT_WELCOME,
    AGENT_PROVE,                /* id, revision, code PREPARED or FAILED, arg */
    AGENT_REPLY,                /* id, revision, generation, code, arg */
    AGENT_RESULT,               /* result */
};

struct agent_msg {
    uint32_t magic;
    uint16_t version;
    uint16_t type;
    uint8_t id[HZ_ID_LEN];
    uint8_t generation[HZ_ID_LEN];
    uint32_t revision;
    uint16_t code;
    uint16_t reserved;
    uint64_t arg;
    uint32_t kinds;             /* bit E: proof is to be waited for */
    int32_t result;             /* 0 or a negative errno */
    char name[32];
};

/* The caller's end. A descriptor, or a negative errno (-ENOENT, -ECONNREFUSED: no agent). */
int agent_connect(void);
const char *agent_socket_path(void);
/* 0 or a negative errno. */
int agent_send(int fd, const struct agent_msg *m);
/* 1 one came, 0 the other end closed, negative errno (-EAGAIN, -EPROTO). */
int agent_receive(int fd, struct agent_msg *m);

#endif /* HZ_AGENT_PROTO_H */
