# SPDX-License-Identifier: GPL-2.0-or-later
"""Which NICs can be shaped, and what is said of the others."""
from rig import MBIT, Rig, equal, has, line


def what_is_no_tap_is_unsupported_and_untouched():
    with Rig() as rig:
        rig.tap("tapA")
        rig.ip("link", "add", "br0", "type", "bridge")
        rig.ip("link", "add", "ifbX", "type", "ifb")
        rig.ip("tuntap", "add", "dev", "tunX", "mode", "tun")
        before = rig.snapshot()
        rig.start()
        names = {"lo": "the loopback", "br0": "of kind bridge", "ifbX": "of kind ifb",
                 "tunX": "of kind tun (layer 3)", "nope": "nope: no such device",
                 "": "no host interface (vhost-user, hostdev"}
        for name, why in names.items():
            seen = rig.observe(name)[name]
            equal((seen["shapeable"], seen["ours"]), (False, False), name)
            has(seen["why"], why)
            result = rig.apply(line(name, MBIT, key="K"))["K"]
            equal(result["state"], "unsupported", name)
            has(result["detail"], why)
        equal(rig.observe("nope")["nope"]["exists"], False)
        equal(rig.snapshot(), before)


def one_that_cant_costs_the_others_nothing():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        results = rig.apply(line("lo", MBIT), line("tapA", MBIT), line("nope", MBIT))
        equal([results[k]["state"] for k in ("lo", "tapA", "nope")],
              ["unsupported", "applied", "unsupported"])


def observe_tells_what_is_there():
    with Rig() as rig:
        rig.tap("tapA")
        leaf = rig.start()["leaf"]
        equal(rig.observe("tapA")["tapA"],
              {"key": "tapA", "ifname": "tapA", "exists": True, "datapath": "tap", "shapeable": True,
               "ours": False})
        rig.shape("tapA", 5 * MBIT, burst=200000)
        seen = rig.observe("tapA")["tapA"]
        equal((seen["ours"], seen["rate"], seen["leaf"]), (True, 5 * MBIT, leaf))
        assert abs(seen["burst"] - 200000) <= 1, seen
        rig.configure("observe")
        rig.tc("qdisc", "del", "dev", "tapA", "ingress")
        seen = rig.observe("tapA")["tapA"]
        assert seen["ours"]
        has(seen["why"], "from the guest", "redirect")


TESTS = [what_is_no_tap_is_unsupported_and_untouched, one_that_cant_costs_the_others_nothing,
         observe_tells_what_is_there]
