# SPDX-License-Identifier: GPL-2.0-or-later
"""bench shape: rates reached, bytes above them while they change, what a change costs, delay beside a bulk flow."""
import json
import os
import re
import shutil
import subprocess
import time

from lab.guest import Guest, Image, accelerator
from lab.host import HZD_UID, Host
from lab.net import remove_netns
from lab.process import LabError, Process, sh, until
from rig import BUILD, MBIT, PROGRAM, Rig, line
from tests_traffic import Flow, received

from report import percentile

RATES = (1, 10, 100, 1000)      # Mbit/s
SECONDS = 5
# A class lets go of a segment whole, up to 64 KiB: a reading is as long as makes one of them 2 % of it.
PIECE = 65536


def reading(rate):
    """Seconds to count for, at a rate in Mbit/s."""
    return max(SECONDS, PIECE / 0.02 / (rate * MBIT))


# Payload of a full frame, TCP with timestamps: what a receiver counts, of what a class counts.
TCP_PAYLOAD = 1448 / 1514
FLOW_PORT = 5999                # flow.py's
NAME = "hzbench"
UUID = "8f3c2d10-5f0e-4a5e-9d0c-0000000000b2"
MAC = "52:54:00:68:7a:b2"


class Count:
    """Bytes a second between two moments, each no longer than it takes to read the counter."""

    def __init__(self, read):
        self.read = read
        self.start = self._now()

    def _now(self):
        before = time.monotonic()
        value = self.read()
        return value, (before + time.monotonic()) / 2

    def rate(self):
        value, when = self._now()
        return (value - self.start[0]) / (when - self.start[1])


# -- veth to veth ----------------------------------------------------------------

class Segments(Flow):
    """Datagrams by the handful: the only way for a slow machine to make a gigabit of them a second."""

    def __init__(self, source, target, address):
        super().__init__("udp", source, target, address)
        self.source.kill()
        self.source.wait()
        # pylint: disable-next=consider-using-with
        self.source = subprocess.Popen(["ip", "netns", "exec", source, "/usr/bin/python3",
                                        os.path.join(os.path.dirname(__file__), "segments.py"), address, str(FLOW_PORT)],
                                       stdin=subprocess.DEVNULL)


def flowing(rig, kind, peer, read):
    """A bulk flow from the host's side to the peer, once it flows."""
    if kind == "udp, segmented":
        flow = Segments(rig.ns, peer, "10.77.0.2")
    else:
        flow = Flow(kind, rig.ns, peer, "10.77.0.2")
    first = read()
    until("the flow flows", lambda: read() > first + 3000)
    return flow


def veth(report):
    with Rig() as rig:
        peer = rig.veth("vA", "10.77.0")
        rig.start()

        def arrived():
            return received(peer, "eth0")

        def passed():
            return rig.queue("vA")["bytes"]
        for kind, rates in (("tcp", RATES), ("udp", RATES[:-1]), ("udp, segmented", RATES[-1:])):
            flow = flowing(rig, kind, peer, arrived)
            count = Count(arrived)
            time.sleep(2)
            free = count.rate()
            flow.stop()
            report.row(f"veth {kind}: unshaped, this machine", "Mbit/s", free / MBIT)
            for rate in rates:
                rig.shape("vA", rate * MBIT)
                # Single datagrams are counted where they arrive. What travels as one piece and is many frames
                # has all its headers only in the count of the class that let it go.
                flow = flowing(rig, kind, peer, arrived)
                time.sleep(1)
                count = Count(arrived if kind == "udp" else passed)
                time.sleep(reading(rate))
                share = count.rate() / (rate * MBIT)
                flow.stop()
                able = free > 1.2 * rate * MBIT
                report.row(f"veth {kind}: reached of {rate} Mbit/s", "of target", share, reach="0.97 to 1.03",
                           met=0.97 <= share <= 1.03 if able else None)
                if not able:
                    report.note(f"veth {kind}, {rate} Mbit/s: unshaped this machine carries {free / MBIT:.0f} Mbit/s,"
                                " so the row says what there was to shape")
            rig.forget_all()


def updates(report):
    """A hundred new rates in ten seconds: at no moment may more have come than every rate and one burst allow."""
    with Rig() as rig:
        peer = rig.veth("vA", "10.77.0")
        rig.start()
        rates = [5 * MBIT, 40 * MBIT, 10 * MBIT, 2 * MBIT]
        rig.shape("vA", rates[0])
        flow = Flow("udp", rig.ns, peer, "10.77.0.2")
        try:
            until("the flow flows", lambda: rig.queue("vA")["drops"] > 50)
            start, first, old = time.monotonic(), received(peer, "eth0"), rates[0]
            allowed = worst = 0
            burst = 0
            for number in range(100):
                new = rates[number % len(rates)]
                burst = max(burst, rig.apply(line("vA", new))["vA"]["burst"])
                now = time.monotonic()
                # Until the answer has come either may have been in force.
                allowed += (now - start) * max(old, new)
                start, old = now, new
                time.sleep(0.09)
                total = received(peer, "eth0") - first
                now = time.monotonic()
                allowed += (now - start) * new
                start = now
                worst = max(worst, total - allowed)
        finally:
            flow.stop()
        beyond = max(0, round(worst - burst))
        report.row("bytes beyond rate and burst, 100 updates in 10 s", "bytes", beyond, reach="0", met=beyond == 0)
        report.note(f"that burst was {burst} bytes; at the worst moment {worst:.0f} bytes more than the rates alone"
                    " allow had come")


def update_cost(report):
    program = os.path.join(BUILD, "tests", "bench", "shape-update")
    done = subprocess.run([program, PROGRAM, "300"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False)
    if done.returncode:
        raise LabError(f"shape-update: {done.stderr.strip()}")
    for row in json.loads(done.stdout)["rows"]:
        row.pop("ratio", None)
        report.row(row.pop("name"), row.pop("unit"), row.pop("value"), **row)


def ping(rig, peer):
    """Round trips in ms, from the host's side to the peer."""
    text = rig.run("ping", "-n", "-i", "0.02", "-c", "250", "-W", "5", "10.77.0.2", check=False)
    times = [float(t) for t in re.findall(r"time=([0-9.]+)", text)]
    if len(times) < 200:
        raise LabError(f"ping to {peer}: {text[-300:]}")
    return times


def delay(report):
    rate = 20
    with Rig() as rig:
        peer = rig.veth("vA", "10.77.0")
        leaf = rig.start()["leaf"]
        rig.shape("vA", rate * MBIT)
        idle = ping(rig, peer)
        loaded = under_load(rig, peer)
        rig.forget_all()
        # The same rate by hand, with the queue the kernel gives an HTB class by itself.
        rig.tc("qdisc", "replace", "dev", "vA", "root", "handle", "1:", "htb", "default", "1")
        rig.tc("class", "replace", "dev", "vA", "parent", "1:", "classid", "1:1", "htb", "rate", f"{rate}mbit")
        by_hand = under_load(rig, peer)
    report.row(f"ping, {rate} Mbit/s, idle", "ms", percentile(idle, 0.5), p99=percentile(idle, 0.99))
    report.row(f"ping p99 beside a bulk flow, leaf {leaf}", "ms", percentile(loaded, 0.99),
               peer="htb by hand, its own queue", peer_value=percentile(by_hand, 0.99))
    if leaf == "pfifo":
        report.note("this kernel has neither fq_codel nor sfq: one short queue for all flows")


def under_load(rig, peer):
    flow = flowing(rig, "tcp", peer, lambda: received(peer, "eth0"))
    time.sleep(2)
    times = ping(rig, peer)
    flow.stop()
    return times


# -- guests ------------------------------------------------------------------------

class GuestRows:
    """A real guest behind hzd and hz-vnic: what it declares is what it gets."""

    def __init__(self, args, report):
        self.args = args
        self.report = report
        self.folder = f"/tmp/{NAME}-shape-{os.getpid()}"
        self.netns = f"{NAME}s{os.getpid()}"
        self.host = self.guest = self.server = None

    def set_up(self):
        os.makedirs(self.folder)
        self.host = Host("host", self.netns, None, 1, None, self.args.build, self.folder, taps=("tapA",))
        self.host.netns.ip("addr", "add", "10.78.0.1/24", "dev", "br0")
        folder = os.path.join(self.folder, "guest")
        self.host.configure(f"[host]\nmode=enforce\n\n[uplink up0]\ncapacity=10Gbit\n\n[actuator vnic]\nmode=enforce\n"
                            f"\n[vm A]\nuuid={UUID}\ntenant=acme\nqmp={folder}/qmp-hz.sock\n"
                            "\n[vm A nic/0]\nifname=tapA\nuplink=up0\n")
        self.host.start_hzd()
        self.host.start_vnic()
        self.server = Process("iperf3", ["iperf3", "-s", "-p", "5201"], os.path.join(self.folder, "iperf3.log"),
                              netns=self.netns)
        image = Image(self.args.image)
        self.report.accelerator = accelerator(shutil.which(self.args.qemu) or self.args.qemu, image.kernel,
                                              image.initrd)
        self.guest = Guest(self.args.qemu, image, "A", folder, netns=self.netns, ip="10.78.0.10/24", tap="tapA",
                           mac=MAC, uuid=UUID, hz_socket=self.host.socket("A"), qmp_uid=HZD_UID)
        self.guest.ready()
        until("the guest's link", lambda: self.host.linked("A"), 60)

    def tear_down(self):
        if self.guest:
            self.guest.stop()
        if self.server:
            self.server.stop()
        if self.host:
            self.host.remove()
        remove_netns(self.netns)
        shutil.rmtree(self.folder, ignore_errors=True)

    def stream(self, reverse):
        """Mbit/s of frames, TCP: what the receiver got, and its headers."""
        text = self.guest.run(f"iperf3 -c 10.78.0.1 -p 5201 -t {SECONDS} -O 1 -J {'-R' if reverse else ''}",
                              timeout=90)
        return json.loads(text)["end"]["sum_received"]["bits_per_second"] / TCP_PAYLOAD / 1e6

    def datagrams(self, reverse, rate):
        """Mbit/s of frames, UDP, half as much again as the rate offered: counted where they arrive."""
        job = self.guest.start(f"iperf3 -c 10.78.0.1 -p 5201 -t {SECONDS + 4} -u -b {int(rate * 1.5e6)} -l 1400"
                               + (" -R" if reverse else ""))
        time.sleep(2)
        first = self.arrived(reverse)
        time.sleep(SECONDS)
        last = self.arrived(reverse)
        job.wait(60)
        return (last[1] - first[1]) * 8 / (last[0] - first[0]) / 1e6

    def arrived(self, reverse):
        """Seconds, and bytes that came through so far, on the clock of where they arrive."""
        if reverse:
            up, count = self.guest.run("cut -d' ' -f1 /proc/uptime; cat /sys/class/net/eth0/statistics/rx_bytes").split()
            return float(up), int(count)
        return time.monotonic(), received(self.netns, "br0")

    def rows(self):
        """Up to what this machine's guest carries without any shaping."""
        ways = [(kind, reverse) for kind in ("tcp", "udp") for reverse in (False, True)]
        free = {way: self.measure(*way, RATES[-1]) for way in ways}
        for way in ways:
            self.report.row(f"{self.name(*way)}: unshaped, this machine", "Mbit/s", free[way])
        for rate in RATES:
            reached = [way for way in ways if rate <= free[way] / 1.2]
            if not reached:
                break
            self.guest.run(f"hz declare nic/0 --net-max {rate}Mbit --wait")
            for way in reached:
                self.report.row(f"{self.name(*way)}: reached of {rate} Mbit/s", "of target",
                                self.measure(*way, rate) / rate)

    def measure(self, kind, reverse, rate):
        return self.stream(reverse) if kind == "tcp" else self.datagrams(reverse, rate)

    @staticmethod
    def name(kind, reverse):
        return f"guest {'receives' if reverse else 'sends'}, {kind}"


def guests(args, report):
    bench = GuestRows(args, report)
    try:
        bench.set_up()
        bench.rows()
    finally:
        bench.tear_down()


def run(args, report):
    sh("ninja", "-C", args.build, "tests/bench/shape-update")
    updates(report)
    update_cost(report)
    veth(report)
    delay(report)
    guests(args, report)
