#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""flow.py udp|tcp ADDRESS in|out: one end of as much traffic as goes; ends when it is killed."""
import socket
import sys
import time

PORT = 5999


def flow(kind, address, end):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    if end == "in":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, PORT))
        if kind == "tcp":
            s.listen(1)
        print("ready", flush=True)
        if kind == "tcp":
            s = s.accept()[0]
        buffer = bytearray(1 << 20)
        while True:
            s.recv_into(buffer)
    s.connect((address, PORT))
    data = bytes(1400 if kind == "udp" else 1 << 18)
    while True:
        try:
            s.sendall(data)
        except BlockingIOError:
            pass
        except OSError:
            time.sleep(0.001)       # the queue is full: what it is for


flow(*sys.argv[1:])
