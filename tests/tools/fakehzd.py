# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's end of a virtio-hz link, in Python: a test tool beside the real hzd.

Written from the header alone (guest/include/uapi/linux/virtio_hz.h) and the link's
message table, not from hzdev/core: what the two disagree about is a bug of one.
"""
import os
import socket
import struct
import threading

MAGIC = 0x315a4856
HDR = struct.Struct("<IHHQ")
HELLO, SYNC, RUNSTATE, REFUSED, PONG, BYE = 0x301, 0x302, 0x303, 0x304, 0x305, 0x306
WELCOME, SET_NOTICE, DROP_NOTICE, SET_VERDICTS, PING = 0x381, 0x382, 0x383, 0x384, 0x385
R_STATUS, R_DECLARATION, R_NOTICE = 0x201, 0x202, 0x203
TYPES = {R_STATUS: "status", R_DECLARATION: "declaration", R_NOTICE: "notice"}
GONE, TRUNCATED, FULL = 1, 2, 4

RECORD = struct.Struct("<QQ32s")
STATUS = struct.Struct("<16sIHHQ")
DECLARATION = struct.Struct("<QQHHI")
VERDICT = struct.Struct("<HBBIQ")
NOTICE = struct.Struct("<16s16s16sHBBIQQQBBBBHHIHHQHHI")
HELLO_BODY = struct.Struct("<IHH16s16sQQHHHHQ")
MAX_FRAME = 4096


def pad8(data):
    return data + bytes(-len(data) % 8)


def frame(kind, body=b"", cookie=0):
    return HDR.pack(HDR.size + len(body), kind, 0, cookie) + body


def key(name):
    data = name.encode()
    if not 0 < len(data) < 32:
        raise ValueError(f"subject {name!r}: 1 to 31 bytes")
    return data.ljust(32, b"\0")


def notice_body(ident, kind=1, state=1, ack=2, revision=1, deadline_ns=0, not_before_ns=0,
                duration_ns=0, cause_id=bytes(16), flags=0, cause=1, doc=b""):
    """A SET_NOTICE's body; the reply column is the guest's and stays empty."""
    head = NOTICE.pack(ident, cause_id, bytes(16), kind, state, ack, revision, not_before_ns,
                       deadline_ns, duration_ns, 0, 0, 0, flags, 1000, cause, 0, 0, 0, 0,
                       len(doc), 0, 0)
    return head + pad8(doc)


def field(ident, value):
    """One field of a document."""
    return struct.pack("<HH", ident, len(value)) + value + bytes(-len(value) % 4)


def record_dict(kind, flags, body):
    """A record as a person reads it."""
    disruption, version, name = RECORD.unpack_from(body)
    out = {"type": TYPES.get(kind, hex(kind)), "disruption": disruption, "version": version}
    rest = body[RECORD.size:]
    for bit, word in ((GONE, "gone"), (TRUNCATED, "truncated"), (FULL, "full")):
        if flags & bit:
            out[word] = True
    if kind == R_DECLARATION:
        out["subject"] = name.rstrip(b"\0").decode()
    elif kind == R_NOTICE:
        out["id"] = name[:16].hex()
    if rest and kind == R_STATUS:
        generation, resets, status, reason, pause = STATUS.unpack(rest)
        out.update(generation=generation.hex(), resets=resets, status=status, reason=reason, pause_ns=pause)
    elif rest and kind == R_DECLARATION:
        seq, verdict_seq, doc_len, verdicts, _ = DECLARATION.unpack_from(rest)
        doc = rest[DECLARATION.size:DECLARATION.size + doc_len]
        at = DECLARATION.size + len(pad8(doc))
        out.update(seq=seq, verdict_seq=verdict_seq, doc=doc.hex(), verdicts=[
            dict(zip(("field", "code", "reason", "reserved", "value"),
                     VERDICT.unpack_from(rest, at + i * VERDICT.size))) for i in range(verdicts)])
    elif rest and kind == R_NOTICE:
        n = NOTICE.unpack_from(rest)
        out.update(kind=n[3], state=n[4], ack=n[5], revision=n[6], deadline_ns=n[8], flags=n[13],
                   cause=n[15], replied=n[16], reply=n[17], reply_arg=n[19],
                   doc=rest[NOTICE.size:NOTICE.size + n[20]].hex())
    return out


class FakeHzd:
    """Listens on @path; one link at a time, the newest. What comes is kept in .seen, in order."""

    def __init__(self, path, version=1, welcome=True, on_event=None):
        self.path = path
        self.version = version
        self.welcome = welcome
        self.on_event = on_event or (lambda event: None)
        self.cond = threading.Condition()
        self.seen = []
        self.link = None
        self.links = []
        self.cookie = 0
        if os.path.exists(path):
            os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(4)
        threading.Thread(target=self._accept, daemon=True).start()

    # -- what comes ------------------------------------------------------

    def _accept(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            with self.cond:
                self.links.append(link)
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _event(self, event):
        with self.cond:
            self.seen.append(event)
            self.cond.notify_all()
        self.on_event(event)

    def _serve(self, link):
        buf = b""
        try:
            while True:
                data = link.recv(65536)
                if not data:
                    break
                buf += data
                while len(buf) >= HDR.size:
                    length, kind, flags, cookie = HDR.unpack_from(buf)
                    if not HDR.size <= length <= MAX_FRAME:
                        raise ValueError(f"a frame of {length} bytes")
                    if len(buf) < length:
                        break
                    self._frame(link, kind, flags, cookie, buf[HDR.size:length])
                    buf = buf[length:]
        except (OSError, ValueError, struct.error) as error:
            self._event({"event": "bad", "why": str(error)})
        with self.cond:
            self.links.remove(link)
            if self.link is link:
                self.link = None
        link.close()
        self._event({"event": "closed"})

    def _frame(self, link, kind, flags, cookie, body):
        if kind in TYPES:
            self._event({"event": "record", **record_dict(kind, flags, body)})
        elif kind == HELLO:
            h = HELLO_BODY.unpack(body)
            if h[0] != MAGIC:
                raise ValueError(f"magic {h[0]:#x}")
            if self.welcome:
                with self.cond:
                    self.link = link
                link.sendall(frame(WELCOME, struct.pack("<HHI", self.version, 0, 0)))
            self._event({"event": "hello", "version": h[1], "version-min": h[2], "vm": h[3].hex(),
                         "generation": h[4].hex(), "disruption": h[5], "board-version": h[6],
                         "running": bool(h[7]), "max": list(h[8:11])})
        elif kind == SYNC:
            self._event({"event": "sync", "board-version": struct.unpack("<Q", body)[0]})
        elif kind == RUNSTATE:
            self._event({"event": "runstate", "running": bool(struct.unpack("<HHI", body)[0])})
        elif kind == REFUSED:
            status, refused, _ = struct.unpack("<IHH", body)
            self._event({"event": "refused", "cookie": cookie, "status": status, "type": hex(refused)})
        elif kind == PONG:
            self._event({"event": "pong", "cookie": cookie})
        elif kind == BYE:
            self._event({"event": "bye"})
        else:
            raise ValueError(f"frame type {kind:#x}")

    def wait(self, what, timeout=60, since=0, **match):
        """The first event kept since index @since, or coming, of kind @what with these members."""
        def find():
            for event in self.seen[since:]:
                if event["event"] == what and all(event.get(k) == v for k, v in match.items()):
                    return event
            return None
        with self.cond:
            if not self.cond.wait_for(find, timeout):
                raise TimeoutError(f"no {what} {match} on {self.path} within {timeout} s; "
                                   f"last: {self.seen[-3:]}")
            return find()

    def mark(self):
        """An index for wait(since=)."""
        with self.cond:
            return len(self.seen)

    # -- what goes -------------------------------------------------------

    def raw(self, data, timeout=60):
        with self.cond:
            if not self.cond.wait_for(lambda: self.link, timeout):
                raise TimeoutError(f"no link on {self.path} within {timeout} s")
            link = self.link
        link.sendall(data)

    def _send(self, kind, body=b""):
        self.cookie += 1
        self.raw(frame(kind, body, self.cookie))
        return self.cookie

    def notice(self, ident, **fields):
        return self._send(SET_NOTICE, notice_body(ident, **fields))

    def drop(self, ident):
        return self._send(DROP_NOTICE, ident)

    def verdicts(self, subject, seq, verdicts):
        body = key(subject) + struct.pack("<QHHI", seq, len(verdicts), 0, 0)
        for number, code, reason, value in verdicts:
            body += VERDICT.pack(number, code, reason, 0, value)
        return self._send(SET_VERDICTS, body)

    def ping(self):
        return self._send(PING)

    def hang_up(self):
        """End every link, also those that never got a WELCOME; the device may connect again."""
        with self.cond:
            self.link = None
            for link in self.links:
                link.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()
        self.hang_up()
        if os.path.exists(self.path):
            os.unlink(self.path)
