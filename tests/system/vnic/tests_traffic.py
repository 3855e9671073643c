# SPDX-License-Identifier: GPL-2.0-or-later
"""Real traffic through a shaped veth: the rate is kept, and never exceeded by more than the burst."""
import json
import subprocess
import time

import netlink
from rig import HERE, MBIT, Rig, Skip, line, sh, until


class Flow:
    """Datagrams, or a TCP stream, as fast as they go from one namespace to an address in another."""

    def __init__(self, kind, source, target, address):
        program = [f"{HERE}/flow.py", kind, address]
        # pylint: disable=consider-using-with
        self.sink = subprocess.Popen(["ip", "netns", "exec", target, "/usr/bin/python3", *program, "in"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.sink.stdout.readline()     # it listens
        self.source = subprocess.Popen(["ip", "netns", "exec", source, "/usr/bin/python3", *program, "out"],
                                       stdin=subprocess.DEVNULL)

    def stop(self):
        for process in (self.source, self.sink):
            process.kill()
            process.wait()


def received(netns, device):
    """Bytes of frames that came in there, by that device's own count."""
    stats = json.loads(sh("ip", "-n", netns, "-s", "-j", "link", "show", "dev", device))[0]
    return stats["stats64"]["rx"]["bytes"]


def count(rig, ifindex):
    """What our class let go, and the clock before and after reading it."""
    before = time.monotonic()
    total, = [c["bytes"] for c in netlink.classes(rig.ns, ifindex) if c["handle"] == 0x687a0001]
    return total, before, time.monotonic()


def the_rate_is_kept_both_ways_at_once():
    with Rig() as rig:
        peer = rig.veth("vA", "10.77.0")
        rig.start()
        for kind, rate, seconds in (("udp", MBIT, 3), ("udp", 20 * MBIT, 1), ("tcp", 200 * MBIT, 1)):
            burst = rig.apply(line("vA", rate))["vA"]["burst"]
            flows = [Flow(kind, rig.ns, peer, "10.77.0.2"), Flow(kind, peer, rig.ns, "10.77.0.1")]
            try:
                for device in ("vA", rig.ifb("vA")):
                    until("packets wait", lambda d=device: rig.queue(d)["qlen"] > 0)
                    kept(rig, device, rate, burst, seconds)
            finally:
                for flow in flows:
                    flow.stop()


def kept(rig, device, rate, burst, seconds):
    """Never above, whatever the machine does; and once the machine lets us, within 3 % of it."""
    ifindex = rig.index(device)
    for _ in range(40):
        first, before, after = count(rig, ifindex)
        time.sleep(seconds)
        last, before2, after2 = count(rig, ifindex)
        assert last - first <= rate * (after2 - before) + burst, (device, rate, last - first)
        least, most = ((last - first) / rate / t for t in (after2 - before, before2 - after))
        print(f"{device} {rate / MBIT} Mbit/s: {least:.4f}..{most:.4f}")
        # One largest packet more or less is in such a window by chance; and a window whose clock
        # is too uncertain on a slow machine says nothing.
        chance = 65536 / rate / seconds if rate > 50 * MBIT else 1514 / rate / seconds
        if most - least <= 0.2 and least <= 1.03 + chance and most >= 0.97 - chance:
            return
    able = unshaped(rig, ifindex, seconds)
    if able < 4 * rate:
        raise Skip(f"this machine moves only {able / MBIT:.0f} Mbit/s unshaped, too little to tell "
                   f"whether {rate / MBIT:.0f} are kept")
    raise AssertionError(f"{device}: never near {rate} B/s; {able:.0f} B/s unshaped")


def unshaped(rig, ifindex, seconds):
    """bytes/s of the same flow without a limit that matters."""
    rig.apply(line("vA", 100000 * MBIT))
    first, _, after = count(rig, ifindex)
    time.sleep(seconds)
    last, before, _ = count(rig, ifindex)
    return (last - first) / (before - after)


def a_hundred_updates_let_nothing_extra_through():
    with Rig() as rig:
        peer = rig.veth("vA", "10.77.0")
        rig.start()
        rates = [5 * MBIT, 40 * MBIT, 10 * MBIT, 2 * MBIT]
        rig.shape("vA", rates[0])
        flow = Flow("udp", rig.ns, peer, "10.77.0.2")
        try:
            until("packets wait", lambda: rig.queue("vA")["qlen"] > 10)
            allowed = 0
            burst = 0
            start, first = time.monotonic(), received(peer, "eth0")
            old = rates[0]
            for number in range(100):
                new = rates[number % len(rates)]
                result = rig.apply(line("vA", new))["vA"]
                now = time.monotonic()
                # Until the answer has come either may have been in force.
                allowed += (now - start) * max(old, new)
                start, old = now, new
                burst = max(burst, result["burst"])
                time.sleep(0.03)
                now = time.monotonic()
                allowed += (now - start) * new
                start = now
            # The count is read before the clock: what comes in between is allowed already.
            total = received(peer, "eth0") - first
            allowed += (time.monotonic() - start) * old
            print(f"{total} bytes of {allowed:.0f} and a burst of {burst}")
            assert total <= allowed + burst
            assert total > allowed * 0.1, "hardly anything came through: nothing was tested"
        finally:
            flow.stop()


TESTS = [the_rate_is_kept_both_ways_at_once, a_hundred_updates_let_nothing_extra_through]
