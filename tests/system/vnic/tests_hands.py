# SPDX-License-Identifier: GPL-2.0-or-later
"""Other hands: what is ours is put back and reported, what is theirs is left alone and reported."""
import subprocess
import time

from rig import MBIT, Rig, equal, has, line, until


def put_back_at_once():
    breakages = (
        lambda rig, ifb: rig.tc("qdisc", "del", "dev", "tapA", "root"),
        lambda rig, ifb: rig.tc("qdisc", "del", "dev", "tapA", "ingress"),
        lambda rig, ifb: rig.tc("filter", "del", "dev", "tapA", "ingress"),
        lambda rig, ifb: rig.tc("qdisc", "del", "dev", ifb, "root"),
        lambda rig, ifb: rig.tc("class", "change", "dev", "tapA", "parent", "687a:", "classid",
                                "687a:1", "htb", "rate", "1gbit"),
        lambda rig, ifb: rig.tc("qdisc", "replace", "dev", "tapA", "parent", "687a:1", "handle",
                                "5:", "bfifo", "limit", "10000"),
        lambda rig, ifb: rig.ip("link", "set", ifb, "down"),
        lambda rig, ifb: rig.ip("link", "del", ifb),
    )
    with Rig() as rig:
        rig.tap("tapA")
        for number, breakage in enumerate(breakages):
            rig.start()
            rig.shape("tapA", 20 * MBIT)
            breakage(rig, rig.ifb("tapA"))
            event = rig.host.event("re-asserted")
            equal(event["data"]["key"], "tapA", number)
            assert rig.shaped("tapA", 20 * MBIT), number
            leaf, = [q for q in rig.tc_json("qdisc", "show", "dev", "tapA") if q["handle"] == "687b:"]
            assert leaf["kind"] != "bfifo", number
            # Each is the first time for a new hz-vnic; its own changes are no other hand's.
            rig.host.no_event(0.1)
            rig.stop()


def not_fought_for_ever():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", 20 * MBIT)
        rig.tc("qdisc", "del", "dev", "tapA", "root")
        rig.host.event("re-asserted")
        waits = []
        for times in (2, 3, 4):
            start = time.monotonic()
            rig.tc("qdisc", "del", "dev", "tapA", "root")
            text = rig.host.event("reported")["data"]["what"]
            has(text, f"{times} times in a row", "next try in")
            result = rig.apply(line("tapA", 20 * MBIT))["tapA"]
            equal(result["state"], "failed")
            has(result["detail"], "other hands")
            rig.host.event("re-asserted")
            waits.append(time.monotonic() - start)
            assert rig.shaped("tapA", 20 * MBIT)
        # 250, 500, 1000 ms: a timer is late, never early.
        for wait, least in zip(waits, (0.25, 0.5, 1.0)):
            assert wait >= least, waits


def a_new_mode_ends_the_wait():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", 20 * MBIT)
        for action in ("re-asserted", "reported"):
            rig.tc("qdisc", "del", "dev", "tapA", "root")
            rig.host.event(action)
        equal(rig.shape("tapA", 20 * MBIT), "failed")
        rig.configure("enforce")
        equal(rig.shape("tapA", 20 * MBIT), "applied")


FOREIGN = (
    (("qdisc", "add", "dev", "tapA", "root", "handle", "1:", "tbf", "rate", "1mbit", "burst", "10k",
      "latency", "50ms"), "tbf 1:"),
    (("qdisc", "add", "dev", "tapA", "root", "handle", "687a:", "tbf", "rate", "1mbit", "burst",
      "10k", "latency", "50ms"), "tbf 687a:"),
    (("qdisc", "add", "dev", "tapA", "root", "handle", "1:", "htb", "default", "1"), "htb 1:"),
    (("qdisc", "add", "dev", "tapA", "ingress"), "ingress ffff:"),
    (("qdisc", "add", "dev", "tapA", "clsact"), "clsact ffff:"),
)


def foreign_qdiscs_are_left_alone():
    for command, name in FOREIGN:
        with Rig() as rig:
            rig.tap("tapA")
            rig.tc(*command)
            before = rig.snapshot()
            rig.start()
            seen = rig.observe("tapA")["tapA"]
            equal((seen["shapeable"], seen["ours"]), (False, False), name)
            has(seen["why"], "foreign qdisc", name)
            result = rig.apply(line("tapA", MBIT))["tapA"]
            equal(result["state"], "unsupported", name)
            has(result["detail"], "foreign qdisc", name)
            equal(rig.snapshot(), before, name)
            rig.forget_all()
            equal(rig.snapshot(), before, name)


def foreign_queues_of_a_multiqueue_tap_are_left_alone():
    with Rig() as rig:
        rig.tap("tapA", "multi_queue")
        rig.tc("qdisc", "add", "dev", "tapA", "root", "handle", "9:", "mq")
        before = rig.snapshot()
        rig.start()
        result = rig.apply(line("tapA", MBIT))["tapA"]
        equal(result["state"], "unsupported")
        has(result["detail"], "mq 9:")
        equal(rig.snapshot(), before)


def shaped_once_the_foreign_one_is_gone():
    with Rig() as rig:
        rig.tap("tapA")
        rig.tc(*FOREIGN[0][0])
        rig.start()
        equal(rig.shape("tapA", 9 * MBIT), "unsupported")
        rig.tc("qdisc", "del", "dev", "tapA", "root")
        rig.host.event("re-asserted")
        assert rig.shaped("tapA", 9 * MBIT)


def a_foreign_root_in_place_of_ours_stays():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", 9 * MBIT)
        rig.tc("qdisc", "replace", "dev", "tapA", "root", "handle", "1:", "tbf", "rate", "1mbit",
               "burst", "10k", "latency", "50ms")
        has(rig.host.event("reported")["data"]["what"], "foreign qdisc tbf 1:")
        # What was left of ours is gone, theirs stays, for good.
        assert rig.ifb("tapA") is None
        qdiscs = [(q["kind"], q["handle"]) for q in rig.tc_json("qdisc", "show", "dev", "tapA")]
        equal(qdiscs, [("tbf", "1:")])
        equal(rig.shape("tapA", 8 * MBIT), "unsupported")


def their_filters_beside_ours_stay():
    with Rig() as rig:
        rig.tap("tapA")
        rig.tap("tapB")
        rig.start()
        rig.shape("tapA", 9 * MBIT)
        rig.tc("filter", "add", "dev", "tapA", "ingress", "pref", "5", "protocol", "ip", "u32",
               "match", "u32", "0", "0", "action", "mirred", "egress", "mirror", "dev", "tapB")
        rig.forget_all()
        rules = rig.tc("filter", "show", "dev", "tapA", "ingress")
        has(rules, "Mirror to device tapB")
        assert "hzifb" not in rules and "26746" not in rules, rules
        assert rig.ifb("tapA") is None


def a_device_of_the_ifbs_name_is_left_alone():
    with Rig() as rig:
        rig.tap("tapA")
        name = f"hzifb{rig.index('tapA')}"
        rig.ip("link", "add", name, "type", "ifb")
        before = rig.snapshot()
        rig.start()
        result = rig.apply(line("tapA", MBIT))["tapA"]
        equal(result["state"], "unsupported")
        has(result["detail"], name)
        rig.forget_all()
        equal(rig.snapshot(), before)


def a_device_that_goes_takes_its_ifb_with_it():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", 9 * MBIT)
        ifb = rig.ifb("tapA")
        rig.ip("link", "del", "tapA")
        event = rig.host.event("gone")
        equal(event["data"]["key"], "tapA")
        until("its ifb is gone", lambda: ifb not in rig.links())
        equal(rig.observe("tapA")["tapA"]["exists"], False)
        # The same name, another device: the plan still holds for it.
        rig.tap("tapA")
        rig.host.event("re-asserted")
        assert rig.shaped("tapA", 9 * MBIT)


def a_device_of_another_name_is_left():
    with Rig() as rig:
        rig.tap("tapA", up=False)
        before = rig.snapshot()
        rig.start()
        rig.shape("tapA", 9 * MBIT)
        rig.ip("link", "set", "dev", "tapA", "name", "tapZ")
        has(rig.host.event("gone")["data"]["what"], "another name")
        until("nothing of ours is on it", lambda: rig.ifb("tapZ") is None)
        equal(rig.snapshot().replace("tapZ", "tapA"), before)
        rig.ip("link", "set", "dev", "tapZ", "name", "tapA")
        rig.host.event("re-asserted")
        assert rig.shaped("tapA", 9 * MBIT)


def a_device_that_goes_in_the_middle_leaves_nothing():
    with Rig() as rig:
        rig.start()
        # Whenever it goes, before, while or after the plan is applied.
        for number in range(30):
            rig.tap("tapA")
            rig.shape("tapA", (9 + number % 2) * MBIT)
            with subprocess.Popen(["ip", "-n", rig.ns, "link", "del", "tapA"]):
                rig.apply(line("tapA", (20 + number) * MBIT))
        until("no ifb is left", lambda: not [x for x in rig.links() if x.startswith("hzifb")])


def a_device_may_come_later():
    with Rig() as rig:
        rig.start()
        result = rig.apply(line("tapA", 9 * MBIT))["tapA"]
        equal(result["state"], "unsupported")
        has(result["detail"], "tapA: no such device")
        rig.tap("tapA")
        rig.host.event("re-asserted")
        assert rig.shaped("tapA", 9 * MBIT)


def a_bridge_port_that_leaves_is_no_device_that_goes():
    with Rig() as rig:
        rig.ip("link", "add", "br0", "type", "bridge")
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", 9 * MBIT)
        rig.ip("link", "set", "tapA", "master", "br0")
        rig.ip("link", "set", "tapA", "nomaster")
        rig.ip("link", "set", "tapA", "mtu", "9000")
        rig.ip("link", "set", "tapA", "down")
        rig.ip("link", "set", "tapA", "up")
        rig.host.no_event(0.5)
        assert rig.shaped("tapA", 9 * MBIT)


def others_work_on_other_devices_is_not_looked_at():
    with Rig() as rig:
        rig.tap("tapA")
        rig.tap("tapB")
        rig.start()
        rig.shape("tapA", 9 * MBIT)
        for _ in range(20):
            rig.tc("qdisc", "replace", "dev", "tapB", "root", "handle", "3:", "pfifo")
            rig.tc("qdisc", "del", "dev", "tapB", "root")
        rig.host.no_event(0.2)
        assert rig.shaped("tapA", 9 * MBIT)


TESTS = [
    put_back_at_once, not_fought_for_ever, a_new_mode_ends_the_wait, foreign_qdiscs_are_left_alone,
    foreign_queues_of_a_multiqueue_tap_are_left_alone, shaped_once_the_foreign_one_is_gone,
    a_foreign_root_in_place_of_ours_stays, their_filters_beside_ours_stay,
    a_device_of_the_ifbs_name_is_left_alone, a_device_that_goes_takes_its_ifb_with_it,
    a_device_of_another_name_is_left, a_device_that_goes_in_the_middle_leaves_nothing,
    a_device_may_come_later, a_bridge_port_that_leaves_is_no_device_that_goes,
    others_work_on_other_devices_is_not_looked_at,
]
