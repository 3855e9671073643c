# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of sockets in QMP's shape: QEMU's monitor, hzd's control sockets."""
import json
import socket
import threading
import time


class QmpError(Exception):
    """An error answer; .cls is its class."""

    def __init__(self, command, error):
        super().__init__(f"{command}: {error.get('desc', error)}")
        self.cls = error.get("class")


class Qmp:
    """Commands one at a time; events are kept in order until somebody waits for them."""

    def __init__(self, path, timeout=60):
        self.path = path
        end = time.monotonic() + timeout
        while True:
            self.sock = socket.socket(socket.AF_UNIX)
            try:
                self.sock.connect(path)
                break
            except OSError:
                self.sock.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self.cond = threading.Condition()
        self.events = []
        self.answers = {}
        self.greeting = None
        self.closed = False
        self.ident = 0
        threading.Thread(target=self._read, daemon=True).start()
        with self.cond:
            self.cond.wait_for(lambda: self.greeting or self.closed, max(timeout, 30))
        if not self.greeting:
            raise QmpError("connect", {"desc": f"no greeting on {path}"})
        self.cmd("qmp_capabilities")

    def _read(self):
        buf = b""
        try:
            while True:
                data = self.sock.recv(65536)
                if not data:
                    break
                buf += data
                *lines, buf = buf.split(b"\n")
                for line in lines:
                    if line.strip():
                        self._message(json.loads(line))
        except OSError:
            pass
        with self.cond:
            self.closed = True
            self.cond.notify_all()

    def _message(self, message):
        with self.cond:
            if "QMP" in message:
                self.greeting = message
            elif "event" in message:
                message["at"] = time.monotonic()
                self.events.append(message)
            else:
                self.answers[message.get("id")] = message
            self.cond.notify_all()

    def cmd(self, command, arguments=None, timeout=60):
        with self.cond:
            self.ident += 1
            ident = self.ident
        request = {"execute": command, "id": ident}
        if arguments:
            request["arguments"] = arguments
        self.sock.sendall(json.dumps(request).encode() + b"\n")
        with self.cond:
            self.cond.wait_for(lambda: ident in self.answers or self.closed, timeout)
            answer = self.answers.pop(ident, None)
        if answer is None:
            raise QmpError(command, {"desc": f"no answer on {self.path} within {timeout} s"})
        if "error" in answer:
            raise QmpError(command, answer["error"])
        return answer["return"]

    def wait_event(self, name, timeout=60, match=lambda data: True):
        """Take the oldest kept or coming event of that name whose data match."""
        def find():
            for i, event in enumerate(self.events):
                if event["event"] == name and match(event.get("data", {})):
                    return i
            return None
        with self.cond:
            if not self.cond.wait_for(lambda: find() is not None or self.closed, timeout) or find() is None:
                raise QmpError(name, {"desc": f"no such event on {self.path} within {timeout} s"})
            return self.events.pop(find())

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()
