# SPDX-License-Identifier: GPL-2.0-or-later
"""A board, the hz command on it, and the provider's hand: what hz's tests share."""
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import unittest

HZ = os.environ["HZ_TEST_HZ"]
BOARD = os.environ["HZ_TEST_BOARD"]
PATIENCE = 60       # a bound on what must happen; tests go on as soon as it has


class Lab(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="hz-test-")
        self.addCleanup(self.dir.cleanup)
        self.children = []
        self.addCleanup(self.end_children)
        self.device = self.path("hz")
        self.env = dict(os.environ, HZ_DEVICE=self.device, HZ_AGENT_SOCKET=self.path("agent"),
                        LC_ALL="C")
        self.board = subprocess.Popen([BOARD, self.device], stdout=subprocess.PIPE)
        self.children.append(self.board)
        self.assertEqual(self.board.stdout.readline(), b"ready\n")
        self.hand = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.hand.connect(self.device)
        self.addCleanup(self.hand.close)

    def end_children(self):
        for child in reversed(self.children):   # the board is the last to go
            if child.poll() is None:
                child.terminate()       # a clean end is part of every test
            try:
                child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream:
                    stream.close()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def write(self, name, text, mode=0o755):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def provider(self, *lines):
        for line in lines:
            self.hand.send(line.encode())
            self.assertEqual(self.hand.recv(100), b"ok", line)

    def hz(self, *args, status=0, stdin=None):
        """Run hz to its end; its (stdout, stderr)."""
        p = subprocess.run([HZ, *args], env=self.env, input=stdin, capture_output=True,
                           text=True, timeout=PATIENCE, check=False)
        self.assertEqual(p.returncode, status, f"hz {args}: {p.stdout}{p.stderr}")
        return p.stdout, p.stderr

    def json(self, *args, **kw):
        return json.loads(self.hz(*args, "--json", **kw)[0])

    def start(self, *args, **kw):
        """Start hz and leave it running; its standard error goes on to be read by lines."""
        p = subprocess.Popen([HZ, *args], env=self.env, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, **kw)
        self.children.append(p)
        return p

    def await_line(self, stream, *words):
        """Read lines until one has all @words; the line."""
        found = []

        def reader():
            for line in stream:
                self.seen.append(line)
                if all(w in line for w in words):
                    found.append(line)
                    return

        self.seen = []
        t = threading.Thread(target=reader, daemon=True)
        t.start()
        t.join(PATIENCE)
        self.assertTrue(found, f"{words} not in {self.seen}")
        return found[0]

    def until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f"{what} didn't come to be: {self.show()}")
            time.sleep(0.01)

    def show(self):
        return self.json("show")

    def notice(self, ident):
        for n in self.show()["notices"]:
            if n["id"].startswith(ident):
                return n
        return None

    def until_replied(self, ident, reply):
        self.until(f"{reply} to {ident}", lambda: reply in self.notice(ident)["replied"])
        return self.notice(ident)

    def declared(self):
        """{subject: {field: text}}"""
        return {d["subject"]: {f["name"]: f["text"] for f in d["fields"]}
                for d in self.show()["declarations"]}


# Starts a child, one in a session of its own, and one that has lost its parent; $OUT/family has their pids.
FAMILY = """#!/bin/sh
sleep 1000 & echo $! > "$OUT/family.new"
setsid sh -c 'echo $$ >> "$OUT/family.new"; exec sleep 1000' &
( setsid sh -c 'echo $$ >> "$OUT/family.new"; exec sleep 1000' & )
until [ "$(wc -l < "$OUT/family.new")" = 3 ]; do sleep 0.02; done
echo $$ >> "$OUT/family.new"
mv "$OUT/family.new" "$OUT/family"
sleep 1000; true
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before the open, or the read
        return False


def stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "T"


