# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo: real guests on one shared uplink, from a declaration to a shaped vNIC, from a notice to a proven reply.

Two hosts and an outside as network namespaces. Host 1 runs guests A and B (tenants acme and bolt) behind an uplink
of which hz may give out 80 Mbit/s; host 2 has 40. Expectations are about rates relative to the plan, orders and
outcomes, never about how fast this machine is.
"""
import argparse
import fcntl
import json
import os
import shlex
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
# pylint: disable=wrong-import-position
from lab.guest import Guest, Image  # noqa: E402
from lab.host import HZD_UID, Host  # noqa: E402
from lab.net import Netns, remove_netns  # noqa: E402
from lab.process import Process, sh, until  # noqa: E402
from lab.story import Story  # noqa: E402

MBIT = 1_000_000
CAPACITY = (80, 40)         # Mbit/s hz may give out, by host
LINE = ("84mbit", "42mbit")  # what the line really carries: a little more
# TCP payload of a full frame: 1448 of 1514 bytes.
PAYLOAD = 1448 / 1514
SERVER = "10.77.0.1"
PORT = {"A": 5201, "B": 5202}
UUID = {"A": "8f3c2d10-5f0e-4a5e-9d0c-0000000000aa", "B": "8f3c2d10-5f0e-4a5e-9d0c-0000000000bb"}
MAC = {"A": "52:54:00:68:7a:0a", "B": "52:54:00:68:7a:0b"}
TENANT = {"A": "acme", "B": "bolt"}
# What every VM gets whatever others declare, Mbit/s (core/arbiter-net.c).
TRICKLE = 0.1

# An unmodified program: works, and saves when told to end. It knows nothing of hz.
TRAINER = """#!/bin/sh
save() { echo saving > /tmp/trainer; sleep 2; echo saved > /tmp/checkpoint; exit 0; }
trap save TERM
echo training > /tmp/trainer
while :; do sleep 0.2; done
"""
# A tenant's hook for pauses: it takes a moment to bring the work to a safe point.
PAUSE_HOOK = """#!/bin/sh
sleep 1
echo "paused safely" >> /tmp/pause-hook
"""


class Demo:
    def __init__(self, args):
        self.args = args
        self.story = Story()
        self.folder = f"/tmp/{args.name}"
        self.image = None
        self.hosts = []
        self.guests = {}
        self.outside = None
        self.servers = []
        self.rates = {}
        self.times = {}
        self.lock = open(f"/run/{args.name}.lock", "w", encoding="utf-8")
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def netns(self, index):
        return f"{self.args.name}{index}"

    # -- the place ---------------------------------------------------------

    def config(self, index):
        text = f"[host]\nmode=enforce\n\n[uplink up0]\ncapacity={CAPACITY[index - 1]}Mbit\n\n[actuator vnic]\nmode=enforce\n"
        for vm in ("A", "B") if index == 1 else ("A",):
            text += (f"\n[vm {vm}]\nuuid={UUID[vm]}\ntenant={TENANT[vm]}\n"
                     f"qmp={self.guest_folder(vm, index)}/qmp-hz.sock\n"
                     f"\n[vm {vm} nic/0]\nifname=tap{vm}\nuplink=up0\nnet-min=70Mbit\n")
        return text

    def guest_folder(self, vm, index):
        return os.path.join(self.folder, f"host{index}", f"guest-{vm}")

    def sweep(self):
        """What an earlier run left, this one's end included."""
        for guest in self.guests.values():
            guest.stop()
        for host in self.hosts:
            host.remove()
        for suffix in ("1", "2", "-out"):
            remove_netns(f"{self.args.name}{suffix}")
        shutil.rmtree(self.folder, ignore_errors=True)

    def build_place(self):
        story = self.story
        story.step("Two hosts, an outside, guests A and B on host 1")
        self.image = Image(self.args.image)
        self.sweep()
        os.makedirs(self.folder)
        self.outside = Netns(f"{self.args.name}-out")
        self.outside.bridge("brx")
        self.outside.ip("addr", "add", f"{SERVER}/24", "dev", "brx")
        for index in (1, 2):
            host = Host(f"host {index}", self.netns(index), self.outside, index, LINE[index - 1], self.args.build,
                        os.path.join(self.folder, f"host{index}"), taps=("tapA", "tapB") if index == 1 else ("tapA",))
            host.configure(self.config(index))
            self.hosts.append(host)
            host.start_hzd()
            host.start_vnic()
            story.tell(f"{host.name}: hz gives out {CAPACITY[index - 1]} Mbit/s; hzd runs as nobody, hz-vnic beside it")
        for vm, port in PORT.items():
            self.servers.append(Process(f"iperf3 server for {vm}", ["iperf3", "-s", "-p", port],
                                        os.path.join(self.folder, f"iperf3-{vm}.log"), netns=self.outside.name))
        for vm in ("A", "B"):
            self.guests[vm] = self.guest(vm, 1)
        for vm in ("A", "B"):
            self.guests[vm].ready()
            story.tell(f"guest {vm} (tenant {TENANT[vm]}) is up: Linux {self.guests[vm].run('uname -r').strip()}")
        for vm in ("A", "B"):
            until(f"guest {vm}'s link to hzd", lambda vm=vm: self.linked(self.hosts[0], vm), 60)
        story.expect("both guests see a provider", all(self.provider(vm) for vm in ("A", "B")), "yes", "yes")

    def guest(self, vm, index, incoming=None):
        host = self.hosts[index - 1]
        return Guest(self.args.qemu, self.image, vm, self.guest_folder(vm, index), netns=host.netns.name,
                     ip=f"10.77.0.{10 + ord(vm) - ord('A')}/24", tap=f"tap{vm}", mac=MAC[vm], uuid=UUID[vm],
                     hz_socket=host.socket(vm), incoming=incoming, qmp_uid=HZD_UID)

    def keep_logs(self):
        """What the programs said, for whoever asks why."""
        if not self.args.logs or not os.path.isdir(self.folder):
            return
        shutil.rmtree(self.args.logs, ignore_errors=True)
        shutil.copytree(self.folder, self.args.logs, ignore=lambda _, names: [n for n in names if n.endswith(".sock")])

    # -- asking ------------------------------------------------------------

    def show(self, host, vm):
        return host.hzctl_json("show", vm)

    def linked(self, host, vm):
        return self.show(host, vm).get("synced")

    def provider(self, vm):
        return json.loads(self.guests[vm].run("hz show --json"))["status"]["provider"]

    def plan(self, host, vm):
        """Mbit/s of its ceiling, None when there is none."""
        for nic in self.show(host, vm)["nics"]:
            rate = nic.get("rate")
            return rate * 8 / MBIT if rate else None
        return None

    def until_plan(self, host, wanted):
        """Until the plan in force is what the rule says: {vm: Mbit/s or None}."""
        def is_so():
            return all((got is None) == (want is None) and (want is None or abs(got - want) <= 0.02 * want)
                       for vm, want in wanted.items() for got in [self.plan(host, vm)])
        try:
            until("the plan", is_so, 20)
        except Exception:  # pylint: disable=broad-except
            pass
        for vm, want in wanted.items():
            got = self.plan(host, vm)
            if want is None:
                self.story.expect(f"plan for {vm}", got is None, "no ceiling" if got is None else f"{got:.1f} Mbit/s",
                                  "no ceiling")
            else:
                self.story.near(f"plan for {vm}", got or 0.0, want, tolerance=0.02)

    # -- traffic -----------------------------------------------------------

    def measure(self, vms=("A", "B"), seconds=4, reverse=False, during=None):
        """TCP payload in Mbit/s that each reaches while all send at once."""
        jobs = {vm: self.guests[vm].start(f"iperf3 -c {SERVER} -p {PORT[vm]} -t {seconds} -O 1 -J"
                                          + (" -R" if reverse else "")) for vm in vms}
        if during:
            during()
        out = {}
        for vm, job in jobs.items():
            status = job.wait(seconds + 60)
            result = json.loads(job.text())
            if status != 0 or "error" in result:
                raise RuntimeError(f"iperf3 in {vm}: {result.get('error', status)}")
            out[vm] = result["end"]["sum_received"]["bits_per_second"] / MBIT
        self.story.tell("   " + ", ".join(f"{vm} {rate:.1f} Mbit/s" for vm, rate in out.items())
                        + (" towards the guests" if reverse else " from the guests"))
        return out

    def expect_rates(self, name, wanted, **kw):
        """Measured payload against the planned rates (Mbit/s of whole frames)."""
        got = self.measure(tuple(wanted), **kw)
        self.rates[name] = got
        for vm, want in wanted.items():
            self.story.near(f"{vm} reaches", got[vm], want * PAYLOAD)
        return got

    # -- the story ---------------------------------------------------------

    def before(self):
        self.story.step("Before any declaration")
        self.until_plan(self.hosts[0], {"A": None, "B": None})
        got = self.measure()
        self.rates["before"] = got
        self.story.near("together they fill the line", sum(got.values()), 84 * PAYLOAD, tolerance=0.15)

    def declare(self):
        story, host = self.story, self.hosts[0]
        story.step("A declares a minimum of 60 Mbit/s, B a maximum of 30")
        self.guests["A"].run("hz declare nic/0 --net-min 60Mbit --persist --wait")
        self.guests["B"].run("hz declare nic/0 --net-max 30Mbit --persist --wait")
        rest = (CAPACITY[0] - 60 - TRICKLE) / 2
        wanted = {"A": 60 + rest, "B": TRICKLE + rest}
        self.until_plan(host, wanted)
        self.verdict("A", "net-min", "accepted")
        self.verdict("B", "net-max", "accepted")
        self.expect_rates("declared", wanted)
        self.expect_rates("declared, towards the guests", wanted, reverse=True)

    def verdict(self, vm, field, want):
        """What the guest itself reads beside its declaration."""
        board = json.loads(self.guests[vm].run("hz show --json"))
        got = "none"
        for declaration in board["declarations"]:
            for name, f in declaration["fields"].items():
                if name == field:
                    got = f["verdict"]
        self.story.expect(f"{vm} reads the verdict on {field}", got == want, got, want)

    def withdraw(self):
        self.story.step("A withdraws")
        self.guests["A"].run("hz withdraw nic/0")
        wanted = {"A": CAPACITY[0] - 30, "B": 30}
        self.until_plan(self.hosts[0], wanted)
        self.expect_rates("withdrawn", wanted)

    # -- all of it ---------------------------------------------------------

    def play(self):
        self.build_place()
        self.before()
        self.declare()
        self.withdraw()

    def ways_in(self):
        for vm, guest in self.guests.items():
            print(f"guest {vm}: tests/tools/guest-exec {guest.exec_path} COMMAND")
        for host in self.hosts:
            print(f"{host.name}: ip netns exec {host.netns.name} bash; HZ_RUN_DIR={host.run_dir} "
                  f"{host.program('hzdev', 'hzctl', 'hzctl')} vms")
        print(f"to end it: scripts/demo --name {self.args.name} --sweep")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    parser.add_argument("--qemu")
    parser.add_argument("--image")
    parser.add_argument("--json")
    parser.add_argument("--logs")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--name", default="hzdemo")
    args = parser.parse_args()
    demo = Demo(args)
    if args.sweep:
        demo.sweep()
        return 0

    def ended(number, _frame):
        raise SystemExit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ended)
    try:
        demo.play()
    except Exception as error:  # pylint: disable=broad-except
        # Told as an expectation: whatever came so far still gets its table.
        demo.story.expect("the demo goes on to its end", False, f"{type(error).__name__}: {error}", "its end")
    finally:
        if args.keep:
            demo.ways_in()
        else:
            demo.keep_logs()
            demo.sweep()
    demo.story.table()
    if args.json:
        demo.story.write(args.json, rates=demo.rates, times=demo.times)
    return demo.story.verdict("demo")


if __name__ == "__main__":
    sys.exit(main())
