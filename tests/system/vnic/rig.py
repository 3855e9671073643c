# SPDX-License-Identifier: GPL-2.0-or-later
"""A network namespace, hz-vnic in it, and a hzd that does what the test says."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import netlink
from fakehost import BOUND, Host

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("HZ_BUILD") or os.path.join(TOP, "build")
PROGRAM = os.path.join(BUILD, "hzdev", "actuators", "vnic", "hz-vnic")
MBIT = 125000       # bytes/s


class Skip(Exception):
    """Raised by a test that can't be run here, with the reason."""


def sh(*command, check=True):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stdout}")
    return done.stdout


def until(what, condition, bound=BOUND):
    end = time.monotonic() + bound
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"not within {bound} s: {what}")
        time.sleep(0.02)


def equal(got, wanted, what=""):
    if got != wanted:
        raise AssertionError(f"{what}: got\n{got}\nwanted\n{wanted}")


def has(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"no {part!r} in {text!r}")


class Rig:
    count = 0

    def __init__(self):
        Rig.count += 1
        self.ns = f"hzvnic{os.getpid()}-{Rig.count}"
        self.peers = []
        self.folder = tempfile.mkdtemp(prefix="hz-vnic-")
        os.chmod(self.folder, 0o755)
        self.process = None
        self.log = os.path.join(self.folder, "log")
        self.host = Host(os.path.join(self.folder, "actuators.sock"))
        sh("ip", "netns", "add", self.ns)
        self.ip("link", "set", "lo", "up")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            self.stop()
        except AssertionError as error:
            self.clean(True)
            raise error
        self.clean(kind is not None)

    def clean(self, show):
        self.host.close()
        for ns in [self.ns] + self.peers:
            sh("ip", "netns", "del", ns, check=False)
        if show and os.path.exists(self.log):
            with open(self.log, encoding="utf-8") as log:
                sys.stdout.write("hz-vnic's log:\n" + log.read())
        shutil.rmtree(self.folder)

    # -- the namespace

    def run(self, *command, check=True, ns=None):
        return sh("ip", "netns", "exec", ns or self.ns, *command, check=check)

    def ip(self, *args, **kw):
        return sh("ip", "-n", self.ns, *args, **kw)

    def tc(self, *args, **kw):
        return sh("tc", "-n", self.ns, *args, **kw)

    def tc_json(self, *args):
        return json.loads(self.tc("-d", "-j", *args) or "[]")

    def tap(self, name, *options, up=True):
        self.ip("tuntap", "add", "dev", name, "mode", "tap", *options)
        if up:
            self.ip("link", "set", "dev", name, "up")

    def veth(self, name, address=None):
        """@name here, eth0 in a namespace of its own, which is returned."""
        peer = f"{self.ns}-{name}"
        sh("ip", "netns", "add", peer)
        self.peers.append(peer)
        self.ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", peer)
        self.ip("link", "set", name, "up")
        sh("ip", "-n", peer, "link", "set", "lo", "up")
        sh("ip", "-n", peer, "link", "set", "eth0", "up")
        if address:
            self.ip("address", "add", f"{address}.1/24", "dev", name)
            sh("ip", "-n", peer, "address", "add", f"{address}.2/24", "dev", "eth0")
        return peer

    def links(self):
        return [link["ifname"] for link in json.loads(self.ip("-j", "link"))]

    def snapshot(self):
        """All that tc and ip can tell that isn't a counter, as text; but for the carrier, which comes and goes late."""
        text = self.tc("qdisc", "show") + self.ip("-d", "link").replace("NO-CARRIER,", "")
        text = re.sub(r" state [A-Z]+ ", " ", text)
        for link in self.links():
            for what in (("class", "show", "dev", link),
                         ("filter", "show", "dev", link, "ingress"),
                         ("filter", "show", "dev", link, "egress"),
                         ("filter", "show", "dev", link, "root")):
                text += f"{link} {what}:\n" + self.tc(*what, check=False)
        return text

    # -- hz-vnic

    def spawn(self, *args):
        with open(self.log, "a", encoding="utf-8") as log:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.ns, PROGRAM, "--socket", self.host.path, *args],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self, mode="enforce", stale_after_ms=600000):
        self.spawn()
        self.host.accept()
        return self.configure(mode, stale_after_ms)

    def configure(self, mode="enforce", stale_after_ms=600000):
        return self.host.execute("configure", {"protocol": 1, "mode": mode,
                                               "stale-after-ms": stale_after_ms})

    def stop(self, how=signal.SIGTERM):
        if self.process:
            process, self.process = self.process, None
            process.send_signal(how)
            equal(process.wait(BOUND), 0 if how == signal.SIGTERM else -how, "hz-vnic's exit status")

    def apply(self, *lines):
        """Lines of line(); the results by key."""
        answer = self.host.execute("apply", {"epoch": 1, "plan": list(lines)})
        return {result["key"]: result for result in answer["results"]}

    def shape(self, ifname, rate, **more):
        """A plan of one NIC; its result's state."""
        return self.apply(line(ifname, rate, **more))[ifname]["state"]

    def observe(self, *ifnames):
        answer = self.host.execute("observe", {"keys": [{"key": n or "-", "ifname": n} for n in ifnames]})
        return {entry["ifname"]: entry for entry in answer["lines"]}

    def forget_all(self):
        equal(self.host.execute("forget", {"all": True}), {})

    # -- what is there

    def index(self, device):
        return json.loads(self.ip("-j", "link", "show", "dev", device))[0]["ifindex"]

    def ifb(self, ifname):
        """The ifb device of a NIC, None without one."""
        name = f"hzifb{self.index(ifname)}"
        return name if name in self.links() else None

    def queue(self, device):
        """Our class there (netlink.py), None without one."""
        for entry in netlink.classes(self.ns, self.index(device)):
            if entry["handle"] == 0x687a0001:
                return entry
        return None

    def rate(self, device):
        entry = self.queue(device)
        return entry and entry["rate"]

    def shaped(self, ifname, rate):
        """Both directions have exactly this rate, and everything leads there."""
        ifb = self.ifb(ifname)
        if not ifb or self.rate(ifname) != rate or self.rate(ifb) != rate:
            return False
        kinds = {q["kind"] for q in self.tc_json("qdisc", "show", "dev", ifname)}
        return {"htb", "ingress"} <= kinds and \
            f"Redirect to device {ifb}" in self.tc("filter", "show", "dev", ifname, "ingress")


def line(ifname, rate=0, key=None, burst=0, static=0, shape=True):
    return {"key": key or ifname, "ifname": ifname, "shape": shape, "rate": rate, "burst": burst,
            "static-rate": static}


class Monitor:
    """What rtnetlink tells of tc while it runs."""

    def __init__(self, rig):
        self.path = os.path.join(rig.folder, f"monitor-{time.monotonic_ns()}")
        with open(self.path, "w", encoding="utf-8") as out:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen(["ip", "netns", "exec", rig.ns, "tc", "monitor"],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.rig = rig
        self.marks = 0
        self._mark()

    def _mark(self):
        """A change of our own on lo: when it is seen, so is all before it."""
        self.marks += 1
        mark = f"dev lo root refcnt 2 limit {1000 + self.marks}p"

        def seen():
            self.rig.tc("qdisc", "replace", "dev", "lo", "root", "handle", f"{self.marks}:", "pfifo",
                        "limit", str(1000 + self.marks))
            time.sleep(0.05)
            with open(self.path, encoding="utf-8") as text:
                return mark in text.read()
        until("tc monitor is there", seen)

    def stop(self):
        """Lines about anything but the marks."""
        self._mark()
        self.process.kill()
        self.process.wait()
        self.rig.tc("qdisc", "del", "dev", "lo", "root")
        with open(self.path, encoding="utf-8") as text:
            return [entry for entry in text.read().splitlines() if "dev lo " not in entry]
