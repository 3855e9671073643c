# SPDX-License-Identifier: GPL-2.0-or-later
"""What the operator's word does: observe, freeze, release, a clean stop."""
from rig import board, check, until, verdict


def as_shipped_nothing_is_touched(rig):
    """The default is observe: it says what it would do; tc, links and QMP are as they were."""
    guest = rig.start(mode=None)
    before = rig.host.qdiscs()
    guest.run("hz declare nic/0 --net-min 60Mbit --net-max 70Mbit --persist")
    until("a verdict", lambda: verdict(guest, "net-max")[0] not in (None, "pending"), 30)
    check(verdict(guest, "net-max")[1] == "mode", "the guest is told that nobody enforces", verdict(guest, "net-max"))
    rig.host.cmd("notify", vms=["A"], kind="pause", deadline="1s", duration="100ms")
    line = rig.host.show("A")["nics"][0]
    check(line.get("result") in ("would-apply", None), "the plan is only what it would do", line)
    until("time for a pause to have happened", lambda: rig.host.show("A"), 5)
    check(rig.host.qdiscs() == before, "tc and links are as before", rig.host.qdiscs())
    check(not [e for e in guest.qmp.events if e["event"] in ("STOP", "RESUME")], "the VM was never stopped")


def freeze_survives_a_restart(rig):
    guest = rig.start()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    rig.until_plan(30)
    before = rig.host.qdiscs()
    rig.host.cmd("freeze")
    rig.host.hzd.kill()
    rig.host.start_hzd()
    until("A's link", lambda: rig.host.linked("A"), 60)
    guest.run("hz declare nic/0 --net-max 20Mbit --persist")
    until("the declaration at hzd", lambda: "2500000" in str(rig.host.show("A")), 30)
    check(rig.host.qdiscs() == before, "frozen: nothing changes", rig.host.qdiscs())
    rig.host.cmd("thaw")
    rig.until_plan(20)
    until("thawed: it changes", lambda: rig.host.qdiscs() != before, 30)


def release_gives_everything_back(rig):
    guest = rig.start()
    before = rig.host.qdiscs()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    until("shaping", lambda: rig.host.qdiscs() != before, 30)
    rig.host.cmd("release", vm="A")
    until("tc as before hz", lambda: rig.host.qdiscs() == before, 30)


def a_clean_stop_gives_everything_back(rig):
    guest = rig.start()
    before = rig.host.qdiscs()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    until("shaping", lambda: rig.host.qdiscs() != before, 30)
    check(rig.host.hzd.stop(30), "hzd ends by itself when asked")
    until("tc as before hz", lambda: rig.host.qdiscs() == before, 30)
    until("the guest sees it go", lambda: not board(guest)["status"]["provider"], 30)


def after_a_crash_the_ceilings_are_lifted_in_time(rig):
    """stale-after: an hzd that doesn't come back leaves nobody throttled."""
    guest = rig.start(host="stale-after=4s\n")
    before = rig.host.qdiscs()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    until("shaping", lambda: rig.host.qdiscs() != before, 30)
    rig.host.hzd.kill()
    check(rig.host.qdiscs() != before, "at first the last plan stays")
    until("lifted after stale-after", lambda: rig.host.qdiscs() == before, 30)


TESTS = [as_shipped_nothing_is_touched, freeze_survives_a_restart, release_gives_everything_back,
         a_clean_stop_gives_everything_back, after_a_crash_the_ceilings_are_lifted_in_time]
