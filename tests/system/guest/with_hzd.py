# SPDX-License-Identifier: GPL-2.0-or-later
"""hz agent against the real hzd: more time is asked for and given, a failure and a lapse are told, a test proves the path."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "whole"))
# pylint: disable=wrong-import-position
from lab.process import until  # noqa: E402

PATIENCE = 60
SLOW = """#!/bin/sh
echo "$HZ_STATE $HZ_REVISION" >> /tmp/log
while [ ! -e /tmp/go ]; do sleep 0.1; done
exit $(cat /tmp/go)
"""


def with_hzd():
    """One host, one guest, one agent; notice after notice."""
    import rig as whole     # needs root and a build with hzd  # pylint: disable=import-outside-toplevel
    rig = whole.Rig()
    try:
        guest = rig.start(vnic=False)
        guest.run("mkdir -p /etc/hz/hooks.d/reclaim /etc/hz/hooks.d/reclaim.end && chmod -R go-w /etc/hz")
        guest.put("/etc/hz/hooks.d/reclaim/10-slow", SLOW, "755")
        guest.put("/etc/hz/hooks.d/reclaim.end/10-end", "#!/bin/sh\necho end $HZ_STATE >> /tmp/log\n", "755")
        agent = guest.start("exec hz agent --extend-max 20s")
        agent.wait_text("answering notices", PATIENCE)
        until("its declaration at hzd", lambda: "extend-max" in str(rig.host.show("A")), PATIENCE)
        for story in (extended, failed, lapsed, tested):
            guest.run("rm -f /tmp/go /tmp/log")
            story(rig.host, guest)
    finally:
        rig.close()


def notify(host, guest, deadline, **kw):
    """A reclaim; what reads it on the guest's board."""
    key = f"guest-{notify.count}"
    notify.count += 1
    known = {n["id"] for n in board(guest)}
    host.cmd("notify", vms=["A"], kind="reclaim", deadline=deadline, key=key, **kw)
    ident = until("the notice", lambda: {n["id"] for n in board(guest)} - known, PATIENCE).pop()
    return key, lambda: next(n for n in board(guest) if n["id"] == ident)


notify.count = 0


def board(guest):
    return json.loads(guest.run("hz show --json"))["notices"]


def expect(ok, what, got):
    if not ok:
        raise AssertionError(f"{what}: {got}")


def log(guest):
    return guest.run("cat /tmp/log 2>/dev/null || true").splitlines()


def extended(host, guest):
    """A quarter of 20 s is asked for 5 s before the deadline of 8 s, then the next: the hook gets its time."""
    key, notice = notify(host, guest, "8s")
    until("more time, twice", lambda: notice()["revision"] >= 3, PATIENCE)
    guest.run("echo 0 > /tmp/go.new && mv /tmp/go.new /tmp/go")
    until("prepared", lambda: "prepared" in notice()["replied"], PATIENCE)
    host.until_notice("A", key, "started", PATIENCE)
    expect(not notice()["lapsed"], "started because it was prepared", notice())
    host.cmd("notice-complete", key=key)
    until("the end's hook", lambda: log(guest)[1:] == ["end completed"], PATIENCE)
    expect(log(guest)[0] == "scheduled 1", "the hook ran once", log(guest))


def failed(host, guest):
    guest.run("echo 7 > /tmp/go")
    key, notice = notify(host, guest, "20s")
    until("failed", lambda: "failed" in notice()["replied"], PATIENCE)
    expect(notice()["reply-arg"] == 7, "the code", notice())
    host.cmd("notice-cancel", key=key)
    until("the end's hook", lambda: log(guest)[1:] == ["end cancelled"], PATIENCE)


def lapsed(host, guest):
    """All 20 s are had and the hook isn't done: it is told so, and ended when the notice is over."""
    key, notice = notify(host, guest, "1s")
    until("the lapse", lambda: notice()["lapsed"], PATIENCE)
    expect("prepared" not in notice()["replied"], "nobody said prepared", notice())
    host.cmd("notice-complete", key=key)
    until("the end's hook", lambda: log(guest)[-1] == "end completed", PATIENCE)
    until("the hook's end", lambda: not guest.run("pidof 10-slow || true").strip(), PATIENCE)


def tested(host, guest):
    key, notice = notify(host, guest, "30s", test=True, ack="gate")
    host.until_notice("A", key, "completed", PATIENCE)
    expect(notice()["test"] and "prepared" in notice()["replied"], "answered", notice())
    expect(log(guest) == [], "no hook ran", log(guest))
