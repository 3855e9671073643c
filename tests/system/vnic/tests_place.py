# SPDX-License-Identifier: GPL-2.0-or-later
"""What is put on a NIC, changed in place, and taken away without a trace."""
import signal

from fakehost import Refused
from rig import MBIT, Monitor, Rig, equal, has, line, sh, until


def both_directions_of_a_tap():
    with Rig() as rig:
        rig.tap("tapA")
        leaf = rig.start()["leaf"]
        has(("fq_codel", "sfq", "pfifo"), leaf)
        equal(rig.shape("tapA", 200 * MBIT), "applied")
        for device in ("tapA", rig.ifb("tapA")):
            root, = [q for q in rig.tc_json("qdisc", "show", "dev", device) if q.get("root")]
            equal((root["kind"], root["handle"]), ("htb", "687a:"), device)
            below, = [q for q in rig.tc_json("qdisc", "show", "dev", device) if q["handle"] == "687b:"]
            equal((below["kind"], below["parent"]), (leaf, "687a:1"), device)
            entry = rig.queue(device)
            # 200 Mbit/s = 25000000 B/s, as rate and as ceiling
            equal((entry["rate"], entry["ceil"]), (25000000, 25000000), device)
        assert rig.shaped("tapA", 25000000)
        # The host doesn't speak on it: what is counted there is the guest's alone.
        equal(rig.ip("address", "show", "dev", rig.ifb("tapA")).count("inet"), 0)
        equal(rig.queue(rig.ifb("tapA"))["bytes"], 0)


def a_veth_too():
    with Rig() as rig:
        rig.veth("vA")
        rig.start()
        equal(rig.shape("vA", 10 * MBIT), "applied")
        assert rig.shaped("vA", 10 * MBIT)
        equal(rig.observe("vA")["vA"]["datapath"], "veth")


def back_exactly_as_it_was():
    with Rig() as rig:
        rig.tap("up")
        rig.tap("down", up=False)
        rig.tap("many", "multi_queue")
        rig.veth("vA")
        names = ("up", "down", "many", "vA")
        before = rig.snapshot()
        rig.start()
        results = rig.apply(*[line(name, 50 * MBIT) for name in names])
        equal({r["state"] for r in results.values()}, {"applied"})
        rig.forget_all()
        equal(rig.snapshot(), before, "after forget all")
        rig.apply(*[line(name, 50 * MBIT) for name in names])
        rig.host.execute("forget", {"keys": list(names)})
        equal(rig.snapshot(), before, "after forget by key")
        rig.apply(*[line(name, 50 * MBIT) for name in names])
        rig.apply()
        equal(rig.snapshot(), before, "after an empty plan")
        rig.apply(*[line(name, 50 * MBIT) for name in names])
        rig.apply(*[line(name, shape=False) for name in names])
        equal(rig.snapshot(), before, "after shape: false")


def back_as_it_was_when_the_device_came_up_meanwhile():
    with Rig() as rig:
        rig.tap("late", up=False)
        rig.tap("model")
        rig.start()
        rig.shape("late", MBIT)
        rig.ip("link", "set", "late", "up")
        rig.forget_all()
        of = {name: rig.tc("qdisc", "show", "dev", name).replace(name, "X") for name in ("late", "model")}
        equal(of["late"], of["model"])


def release_without_hzd():
    with Rig() as rig:
        rig.tap("tapA")
        before = rig.snapshot()
        rig.start()
        rig.shape("tapA", MBIT)
        rig.stop(signal.SIGKILL)
        assert rig.shaped("tapA", MBIT)
        rig.spawn("--release")
        equal(rig.process.wait(20), 0)
        rig.process = None
        equal(rig.snapshot(), before)


def the_same_plan_twice_touches_nothing():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", 7 * MBIT, burst=100000)
        monitor = Monitor(rig)
        equal(rig.shape("tapA", 7 * MBIT, burst=100000), "unchanged")
        equal(monitor.stop(), [])


def a_new_rate_loses_no_packet():
    with Rig() as rig:
        rig.veth("vA", "10.77.0")
        rig.start()
        # 1000 B/s: of 30 datagrams of 400 bytes all but the first few wait.
        rig.shape("vA", 1000)
        rig.run("/usr/bin/python3", "-c", "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                "for i in range(30): s.sendto(bytes(400), ('10.77.0.2', 9))")
        waiting = rig.queue("vA")["backlog"]
        assert waiting > 20 * 400, waiting
        monitor = Monitor(rig)
        equal(rig.shape("vA", 800 * MBIT), "applied")
        heard = monitor.stop()
        assert heard and not [text for text in heard if "deleted" in text], heard
        until("all queued packets are sent", lambda: rig.queue("vA")["backlog"] == 0)
        entry = rig.queue("vA")
        equal(entry["drops"], 0)
        assert entry["packets"] >= 30, entry


def from_and_to_extreme_rates():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        # 8 kbit/s, then 100 Gbit/s, which needs the kernel's 64-bit rate: 2^32 B/s is 34 Gbit/s.
        for rate in (1000, 100000 * MBIT, 2**32 - 1, 2**32, 1000):
            equal(rig.shape("tapA", rate), "applied")
            assert rig.shaped("tapA", rate), rate
            equal(rig.observe("tapA")["tapA"]["rate"], rate)


def impossible_rates_are_refused_by_name():
    with Rig() as rig:
        rig.tap("tapA")
        before = rig.snapshot()
        rig.start()
        for rate in (0, 999):
            try:
                rig.shape("tapA", rate)
                raise AssertionError(f"rate {rate} was taken")
            except Refused as error:
                has(str(error), "tapA", f"rate {rate} ", "1000")
        equal(rig.snapshot(), before)


def burst_as_asked_when_the_rate_can_live_with_it():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        result = rig.apply(line("tapA", 8 * MBIT, burst=300000))["tapA"]
        # To the kernel's 64 ns: at 1 MB/s less than a byte.
        assert abs(result["burst"] - 300000) <= 1, result
        # The least: 4 ms at 1 MB/s are 4000 bytes, and one largest packet.
        result = rig.apply(line("tapA", 8 * MBIT, burst=1))["tapA"]
        assert abs(result["burst"] - 4000 - 65536) <= 1, result


def a_key_moves_to_another_nic():
    with Rig() as rig:
        rig.tap("tapA")
        rig.tap("tapB")
        rig.start()
        rig.apply(line("tapA", MBIT, key="A/nic/0"))
        rig.apply(line("tapB", MBIT, key="A/nic/0"))
        assert rig.shaped("tapB", MBIT)
        assert rig.ifb("tapA") is None and rig.rate("tapA") is None
        rig.apply(line("tapA", MBIT, key="A/nic/0"), line("tapB", 2 * MBIT, key="B/nic/0"))
        assert rig.shaped("tapA", MBIT) and rig.shaped("tapB", 2 * MBIT)


def two_keys_on_one_nic_are_refused():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        try:
            rig.apply(line("tapA", MBIT, key="A/nic/0"), line("tapA", MBIT, key="B/nic/0"))
            raise AssertionError("taken")
        except Refused as error:
            has(str(error), "tapA", "A/nic/0", "B/nic/0")


def adopted_after_a_kill():
    with Rig() as rig:
        rig.tap("tapA")
        rig.tap("tapB")
        rig.start()
        plan = line("tapA", 3 * MBIT, static=9 * MBIT), line("tapB", 4 * MBIT)
        rig.apply(*plan)
        rig.stop(signal.SIGKILL)
        monitor = Monitor(rig)
        rig.start()
        assert rig.observe("tapA")["tapA"]["ours"]
        results = rig.apply(*plan)
        equal({r["state"] for r in results.values()}, {"unchanged"})
        equal(monitor.stop(), [])
        # and it is as much in hand as before
        equal(rig.shape("tapA", 5 * MBIT), "applied")
        assert rig.shaped("tapA", 5 * MBIT)


def leftovers_of_an_earlier_run_go():
    with Rig() as rig:
        rig.tap("tapA")
        rig.tap("tapB")
        rig.tap("tapC")
        before = rig.snapshot()
        rig.start()
        rig.apply(line("tapA", MBIT), line("tapB", MBIT), line("tapC", MBIT))
        rig.stop(signal.SIGKILL)
        rig.ip("link", "del", "tapC")       # its ifb stays: nobody is there to see it go
        rig.start()
        equal(rig.shape("tapA", MBIT), "unchanged")
        assert rig.rate("tapB") is None and rig.ifb("tapB") is None
        rig.forget_all()
        rig.tap("tapC")
        equal([x for x in rig.links() if x.startswith("hzifb")], [])
        equal(rig.tc("qdisc", "show").count("htb"), 0)
        equal(before.count("htb"), 0)


def half_an_installation_is_completed():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", MBIT)
        ifb = rig.ifb("tapA")
        for breakage in (("tc", "qdisc", "del", "dev", "tapA", "root"),
                         ("tc", "qdisc", "del", "dev", "tapA", "ingress"),
                         ("tc", "qdisc", "del", "dev", ifb, "root"),
                         ("ip", "link", "set", ifb, "down"),
                         ("ip", "link", "del", ifb)):
            rig.stop(signal.SIGKILL)
            rig.run(*breakage)
            rig.start()
            equal(rig.shape("tapA", MBIT), "applied", breakage)
            assert rig.shaped("tapA", MBIT), breakage


def frames_of_a_real_tap_pass_in_order():
    with Rig() as rig:
        rig.ip("link", "add", "br0", "type", "bridge")
        rig.ip("link", "set", "br0", "up")
        rig.tap("tapA", up=False)
        rig.ip("link", "set", "tapA", "master", "br0", "up")
        rig.start()
        rig.shape("tapA", 8 * MBIT)
        out = rig.run("/usr/bin/python3", __file__.replace("tests_place.py", "tapframes.py"), "tapA", "br0")
        equal(out.strip(), "from the guest: 200 in order; to the guest: 200 in order")
        # each way went through its queue
        for device in ("tapA", rig.ifb("tapA")):
            packets = rig.queue(device)["packets"]
            assert packets >= 200, (device, packets)


TESTS = [
    both_directions_of_a_tap, a_veth_too, back_exactly_as_it_was,
    back_as_it_was_when_the_device_came_up_meanwhile, release_without_hzd,
    the_same_plan_twice_touches_nothing, a_new_rate_loses_no_packet, from_and_to_extreme_rates,
    impossible_rates_are_refused_by_name, burst_as_asked_when_the_rate_can_live_with_it,
    a_key_moves_to_another_nic, two_keys_on_one_nic_are_refused, adopted_after_a_kill,
    leftovers_of_an_earlier_run_go, half_an_installation_is_completed,
    frames_of_a_real_tap_pass_in_order,
]
