# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts as network namespaces: each with a bridge, taps for its guests and a capacity-limited uplink to a common outside."""
import os
import signal
import time

from .process import sh


def pids_in(netns):
    return [int(p) for p in sh("ip", "netns", "pids", netns, check=False).split() if p.isdigit()]


def remove_netns(netns):
    """End what runs in it and remove it: also what an earlier run left behind."""
    if not os.path.exists(f"/run/netns/{netns}"):
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids_in(netns):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        end = time.monotonic() + 3
        while pids_in(netns) and time.monotonic() < end:
            time.sleep(0.05)
    sh("ip", "netns", "del", netns)


class Netns:
    """One namespace."""

    def __init__(self, name):
        remove_netns(name)
        self.name = name
        sh("ip", "netns", "add", name)
        self.run("ip", "link", "set", "lo", "up")
        # Quiet links: no router solicitations in the middle of a measurement.
        self.run("sysctl", "-q", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1",
                 check=False)

    def run(self, *argv, **kw):
        return sh("ip", "netns", "exec", self.name, *argv, **kw)

    def ip(self, *argv):
        # -n instead of exec: no second process
        return sh("ip", "-n", self.name, *argv)

    def bridge(self, name="br0"):
        self.ip("link", "add", name, "type", "bridge", "forward_delay", "0", "stp_state", "0")
        self.ip("link", "set", name, "up")
        return name

    def tap(self, name, bridge="br0"):
        self.ip("tuntap", "add", name, "mode", "tap")
        self.ip("link", "set", name, "master", bridge, "up")
        return name

    def limit(self, ifname, rate):
        """A capacity in the sending direction, as a real line has one: a short queue in front of it."""
        self.run("tc", "qdisc", "replace", "dev", ifname, "root", "handle", "1:", "htb", "default", "1")
        self.run("tc", "class", "replace", "dev", ifname, "parent", "1:", "classid", "1:1", "htb",
                 "rate", rate, "ceil", rate, "burst", "64k", "cburst", "64k")
        self.run("tc", "qdisc", "replace", "dev", ifname, "parent", "1:1", "handle", "10:", "pfifo", "limit", "200")

    def remove(self):
        remove_netns(self.name)


def link(a, a_if, b, b_if):
    """A cable between two namespaces."""
    sh("ip", "link", "add", a_if, "netns", a.name, "type", "veth", "peer", "name", b_if, "netns", b.name)
    a.ip("link", "set", a_if, "up")
    b.ip("link", "set", b_if, "up")


def uplink(host, outside, index, rate, bridge="br0", outside_bridge="brx"):
    """Host's bridge to outside's, @rate in each direction; the host's side is called up0."""
    link(host, "up0", outside, f"host{index}")
    host.ip("link", "set", "up0", "master", bridge)
    outside.ip("link", "set", f"host{index}", "master", outside_bridge)
    host.limit("up0", rate)
    outside.limit(f"host{index}", rate)
