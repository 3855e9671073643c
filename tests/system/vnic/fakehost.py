#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays hzd towards one actuator: listens, takes the greeting, sends commands, collects events.

By hand: fakehost.py SOCKET, then one command a line on standard input, as
  configure {"protocol": 1, "mode": "enforce"}
  apply {"epoch": 1, "plan": [{"key": "A/nic/0", "ifname": "tapA0", "shape": true, "rate": 1250000, "burst": 0}]}
Answers and events are printed as they come.
"""
import json
import os
import select
import socket
import sys
import time

BOUND = 20          # seconds any answer may take; never waited for when all is well


class Refused(Exception):
    """The actuator answered with an error."""


class Host:
    def __init__(self, path):
        self.path = path
        if os.path.exists(path):
            os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(8)
        self.conn = None
        self.rest = b""
        self.events = []
        self.greeting = None
        self.next_id = 0

    def accept(self, greet=True):
        self.listener.settimeout(BOUND)
        self.conn, _ = self.listener.accept()
        self.rest = b""
        if greet:
            self.greeting = self.read()
        return self

    def read(self, bound=BOUND):
        """One object, or None when the bound passes; EOFError at the end."""
        end = time.monotonic() + bound
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.conn], [], [], left)[0]:
                return None
            data = self.conn.recv(65536)
            if not data:
                raise EOFError("the actuator closed the connection")
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def send_raw(self, data):
        self.conn.sendall(data)

    def execute(self, command, arguments=None):
        self.next_id += 1
        message = {"execute": command, "id": self.next_id}
        if arguments is not None:
            message["arguments"] = arguments
        self.send_raw(json.dumps(message).encode() + b"\n")
        while True:
            answer = self.read()
            if answer is None:
                raise TimeoutError(f"no answer to {command} within {BOUND} s")
            if "event" in answer:
                self.events.append(answer)
            elif answer.get("id") == self.next_id:
                if "error" in answer:
                    raise Refused(answer["error"]["desc"])
                return answer["return"]

    def event(self, action=None, bound=BOUND):
        """The next event (with this action) that wasn't taken yet."""
        end = time.monotonic() + bound
        while True:
            for i, event in enumerate(self.events):
                if action in (None, event["data"]["action"]):
                    del self.events[i]
                    return event
            left = end - time.monotonic()
            answer = self.read(left) if left > 0 else None
            if answer is None:
                raise TimeoutError(f"no event {action} within {bound} s; others: {self.events}")
            if "event" in answer:
                self.events.append(answer)

    def no_event(self, bound):
        answer = self.events.pop(0) if self.events else self.read(bound)
        if answer is not None:
            raise AssertionError(f"unexpected: {answer}")

    def hang_up(self):
        if self.conn:
            self.conn.close()
            self.conn = None

    def close(self):
        self.hang_up()
        self.listener.close()
        if os.path.exists(self.path):
            os.unlink(self.path)


def by_hand(path):
    host = Host(path).accept()
    print(json.dumps(host.greeting), flush=True)
    stdin = sys.stdin.fileno()
    while True:
        ready, _, _ = select.select([stdin, host.conn], [], [])
        if stdin in ready:
            line = sys.stdin.readline()
            if not line:
                return
            command, _, arguments = line.strip().partition(" ")
            if command:
                try:
                    print(json.dumps(host.execute(command, json.loads(arguments or "{}"))), flush=True)
                except (Refused, ValueError) as error:
                    print(f"refused: {error}", flush=True)
        else:
            host.events.append(host.read())
        for event in host.events:
            print(json.dumps(event), flush=True)
        host.events.clear()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    by_hand(sys.argv[1])
