#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tapframes.py TAP BRIDGE: plays the guest behind a tap: 200 numbered frames each way, checked for order."""
import fcntl
import os
import select
import socket
import struct
import sys
import time

TUNSETIFF = 0x400454ca
IFF_TAP, IFF_NO_PI = 2, 0x1000
ETHERTYPE = 0x88b5          # for local experiments
COUNT = 200
GUEST, HOST = b"\x02\0\0\0\0\x0a", b"\x02\0\0\0\0\x0b"


def frame(to, sender, number):
    return to + sender + struct.pack("!HI", ETHERTYPE, number) + bytes(100)


def collect(ready, read):
    """Numbers of our frames until all are there or nothing comes for 10 s."""
    numbers = []
    end = time.monotonic() + 10
    while len(numbers) < COUNT and time.monotonic() < end:
        if select.select([ready], [], [], 0.5)[0]:
            data = read()
            if data[12:14] == struct.pack("!H", ETHERTYPE):
                numbers.append(struct.unpack("!I", data[14:18])[0])
                end = time.monotonic() + 10
    return numbers


def verdict(numbers):
    return f"{len(numbers)} in order" if numbers == list(range(COUNT)) else f"wrong: {numbers}"


def main(tap_name, bridge):
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", tap_name.encode(), IFF_TAP | IFF_NO_PI))
    host = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    host.bind((bridge, ETHERTYPE))
    os.set_blocking(tap, False)
    with open(f"/sys/class/net/{bridge}/address", encoding="ascii") as text:
        mac = bytes.fromhex(text.read().strip().replace(":", ""))

    # A port that just got its carrier doesn't forward at once: repeat the first until one is through.
    end = time.monotonic() + 10
    while time.monotonic() < end:
        os.write(tap, frame(mac, GUEST, 0))
        if select.select([host], [], [], 0.1)[0]:
            break
    time.sleep(0.2)
    while select.select([host], [], [], 0)[0]:
        host.recv(65536)

    # A few at a time: the queue is only as long as 50 ms of the rate.
    def send(write):
        for number in range(COUNT):
            write(number)
            if number % 20 == 19:
                time.sleep(0.02)

    send(lambda number: os.write(tap, frame(mac, GUEST, number)))
    sent = verdict(collect(host, lambda: host.recv(65536)))
    send(lambda number: host.send(frame(GUEST, mac, number)))
    received = verdict(collect(tap, lambda: os.read(tap, 65536)))
    print(f"from the guest: {sent}; to the guest: {received}")


main(*sys.argv[1:])
