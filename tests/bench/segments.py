#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""segments.py ADDRESS PORT: datagrams of 1400 bytes, 44 of them a system call (UDP segmentation offload), without end."""
import socket
import sys
import time

UDP_SEGMENT = 103
SIZE, AT_ONCE = 1400, 44


def main(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
    s.connect((address, int(port)))
    data = bytes(SIZE * AT_ONCE)
    while True:
        try:
            s.send(data)
        except OSError:
            time.sleep(0.0005)      # the queue is full: what it is for


main(*sys.argv[1:])
