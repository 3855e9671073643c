# SPDX-License-Identifier: GPL-2.0-or-later
"""Run commands in a guest: the host's end of tests/guest/exec-server.c, many commands at once."""
import os
import queue
import socket
import struct
import threading
import time

HELLO, EXEC, INPUT, SIGNAL, OUTPUT, EXIT = range(1, 7)
HEAD = struct.Struct("<4sIII")
MAGIC = b"HZX1"


class GuestError(Exception):
    """A guest that doesn't answer, or a command that failed."""


class Job:
    """One command in the guest."""

    def __init__(self, owner, ident, command):
        self.owner = owner
        self.ident = ident
        self.command = command
        self.output = bytearray()
        self.status = None
        self.done = threading.Event()
        self.news = threading.Condition()

    def text(self):
        return self.output.decode(errors="replace")

    def wait(self, timeout=60):
        """Its exit status."""
        if not self.done.wait(timeout):
            raise GuestError(f"guest {self.owner.name}: no end of {self.command!r} within {timeout} s;"
                             f" so far: {self.text()[-500:]!r}")
        if self.status is None:
            raise GuestError(f"guest {self.owner.name}: the connection ended during {self.command!r}")
        return self.status

    def wait_text(self, text, timeout=60):
        """Until its output holds @text."""
        end = time.monotonic() + timeout
        with self.news:
            while text not in self.text():
                left = end - time.monotonic()
                if self.done.is_set() and text not in self.text():
                    raise GuestError(f"guest {self.owner.name}: {self.command!r} ended ({self.status})"
                                     f" without {text!r}: {self.text()[-500:]!r}")
                if left <= 0 or not self.news.wait(left):
                    raise GuestError(f"guest {self.owner.name}: no {text!r} from {self.command!r} within"
                                     f" {timeout} s: {self.text()[-500:]!r}")

    def feed(self, data):
        for at in range(0, len(data), 32768):
            self.owner.send(INPUT, self.ident, data[at:at + 32768])
        self.owner.send(INPUT, self.ident, b"")

    def signal(self, number):
        self.owner.send(SIGNAL, self.ident, struct.pack("<I", number))


class GuestExec:
    """A connection to one guest's command server."""

    def __init__(self, path, name="guest", timeout=60):
        self.name = name
        self.lock = threading.Lock()
        self.jobs = {}
        # Ids don't repeat over connections: a late EXIT of an earlier one is nobody's.
        self.next_id = int.from_bytes(os.urandom(3), "little") << 8
        self.hellos = queue.Queue()
        self.sock = self._connect(path, timeout)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self._hello(timeout)

    def _connect(self, path, timeout):
        end = time.monotonic() + timeout
        while True:
            sock = socket.socket(socket.AF_UNIX)
            try:
                sock.connect(path)
                return sock
            except OSError as error:
                sock.close()
                if time.monotonic() > end:
                    raise GuestError(f"guest {self.name}: {path}: {error}") from error
                time.sleep(0.05)

    def _hello(self, timeout):
        # The port drops what is sent before the guest opens it: ask until it answers.
        end = time.monotonic() + timeout
        nonce = os.urandom(16)
        while time.monotonic() < end:
            self.send(HELLO, 0, nonce)
            try:
                if self.hellos.get(timeout=0.25) == nonce:
                    return
            except queue.Empty:
                pass
        raise GuestError(f"guest {self.name}: its command server doesn't answer within {timeout} s")

    def send(self, kind, ident, payload):
        with self.lock:
            self.sock.sendall(HEAD.pack(MAGIC, kind, ident, len(payload)) + payload)

    def _read(self):
        buf = bytearray()
        try:
            while True:
                data = self.sock.recv(65536)
                if not data:
                    break
                buf += data
                buf = self._consume(buf)
        except OSError:
            pass
        for job in list(self.jobs.values()):
            self._finish(job, None)

    def _consume(self, buf):
        while True:
            at = buf.find(MAGIC)
            if at < 0:
                return buf[-3:]
            buf = buf[at:]
            if len(buf) < HEAD.size:
                return buf
            _, kind, ident, length = HEAD.unpack_from(buf)
            if length > 65536:
                buf = buf[4:]
                continue
            if len(buf) < HEAD.size + length:
                return buf
            self._frame(kind, ident, bytes(buf[HEAD.size:HEAD.size + length]))
            buf = buf[HEAD.size + length:]

    def _frame(self, kind, ident, payload):
        if kind == HELLO:
            self.hellos.put(payload)
            return
        job = self.jobs.get(ident)
        if job is None:
            return
        if kind == OUTPUT:
            with job.news:
                job.output += payload
                job.news.notify_all()
        elif kind == EXIT:
            self._finish(job, struct.unpack("<I", payload)[0])

    def _finish(self, job, status):
        self.jobs.pop(job.ident, None)
        with job.news:
            job.status = status
            job.done.set()
            job.news.notify_all()

    def start(self, command):
        """Start a shell command; returns its Job."""
        with self.lock:
            self.next_id += 1
            job = Job(self, self.next_id & 0xffffffff, command)
            self.jobs[job.ident] = job
        self.send(EXEC, job.ident, command.encode())
        return job

    def run(self, command, timeout=60, check=True, feed=None):
        """Run a shell command to its end; its output. With check=False: (status, output)."""
        job = self.start(command)
        if feed is not None:
            job.feed(feed)
        status = job.wait(timeout)
        if not check:
            return status, job.text()
        if status != 0:
            raise GuestError(f"guest {self.name}: {command!r} ended with {status}: {job.text().strip()}")
        return job.text()

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()
