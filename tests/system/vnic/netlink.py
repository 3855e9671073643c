# SPDX-License-Identifier: GPL-2.0-or-later
"""HTB classes as the kernel tells them, exactly: iproute2 6.1 rounds rates and has no JSON for them."""
import ctypes
import os
import socket
import struct

RTM_NEWTCLASS, RTM_GETTCLASS = 40, 42
NLM_F_REQUEST, NLM_F_DUMP, NLMSG_DONE = 1, 0x300, 3
TCA_KIND, TCA_OPTIONS, TCA_STATS2 = 1, 2, 7
TCA_HTB_PARMS, TCA_HTB_RATE64, TCA_HTB_CEIL64 = 1, 6, 7
TCA_STATS_BASIC, TCA_STATS_QUEUE = 1, 3
CLONE_NEWNET = 0x40000000


def socket_in(netns):
    """A socket belongs to the namespace it is made in."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net", "rb") as here, open(f"/run/netns/{netns}", "rb") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        finally:
            if libc.setns(here.fileno(), CLONE_NEWNET):
                os.abort()


def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack("=HH", data[:4])
        found[kind & 0x3fff] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def parse(payload):
    _, _, handle, parent, _ = struct.unpack("=B3xiIII", payload[:20])
    top = attributes(payload[20:])
    if top[TCA_KIND] != b"htb\0":
        return None                     # a leaf may have classes too: fq_codel's flows
    options = attributes(top[TCA_OPTIONS])
    parms = options[TCA_HTB_PARMS]
    entry = {"handle": handle, "parent": parent,
             # two tc_ratespec of 12 bytes, the rate last; then buffer, cbuffer, quantum
             "rate": struct.unpack("=I", parms[8:12])[0],
             "ceil": struct.unpack("=I", parms[20:24])[0],
             "buffer": struct.unpack("=I", parms[24:28])[0],
             "cbuffer": struct.unpack("=I", parms[28:32])[0]}
    if TCA_HTB_RATE64 in options:
        entry["rate"] = struct.unpack("=Q", options[TCA_HTB_RATE64])[0]
    if TCA_HTB_CEIL64 in options:
        entry["ceil"] = struct.unpack("=Q", options[TCA_HTB_CEIL64])[0]
    stats = attributes(top[TCA_STATS2])
    entry["bytes"], entry["packets"] = struct.unpack("=QI", stats[TCA_STATS_BASIC][:12])
    entry["qlen"], entry["backlog"], entry["drops"] = struct.unpack("=III", stats[TCA_STATS_QUEUE][:12])
    return entry


def classes(netns, ifindex):
    """All HTB classes of a device."""
    found = []
    with socket_in(netns) as nl:
        tcmsg = struct.pack("=B3xiIII", 0, ifindex, 0, 0, 0)
        nl.send(struct.pack("=IHHII", 16 + len(tcmsg), RTM_GETTCLASS, NLM_F_REQUEST | NLM_F_DUMP, 1, 0)
                + tcmsg)
        while True:
            data = nl.recv(65536)
            while data:
                length, kind = struct.unpack("=IH", data[:6])
                if kind == NLMSG_DONE:
                    return found
                if kind != RTM_NEWTCLASS:
                    raise OSError(f"netlink message {kind}")
                entry = parse(data[16:length])
                if entry:
                    found.append(entry)
                data = data[(length + 3) & ~3:]
