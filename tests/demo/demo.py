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
                     f"\n[vm {vm} nic/0]\nifname=tap{vm}\nuplink=up0\n"
                     # never more than there is
                     f"net-min={min(70, CAPACITY[index - 1])}Mbit\n")
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
        if os.path.isdir(self.folder):
            story.tell(f"   what an earlier run left in {self.folder} is ended and removed first")
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
            until(f"guest {vm}'s link to hzd", lambda vm=vm: self.hosts[0].linked(vm), 60)
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

    def provider(self, vm):
        return json.loads(self.guests[vm].run("hz show --json"))["status"]["provider"]

    def until_plan(self, host, wanted):
        """Until the plan in force is what the rule says: {vm: Mbit/s or None}."""
        def is_so():
            return all((got is None) == (want is None) and (want is None or abs(got - want) <= 0.02 * want)
                       for vm, want in wanted.items() for got in [host.plan(vm)])
        try:
            until("the plan", is_so, 20)
        except Exception:  # pylint: disable=broad-except
            pass
        for vm, want in wanted.items():
            got = host.plan(vm)
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
            try:
                result = json.loads(job.text())
            except json.JSONDecodeError:
                result = {"error": job.text()[:500]}
            if status != 0 or "error" in result:
                raise RuntimeError(f"iperf3 in {vm}, exit {status}: {result.get('error')}")
            out[vm] = result["end"]["sum_received"]["bits_per_second"] / MBIT
        self.story.tell("   " + ", ".join(f"{vm} {rate:.1f} Mbit/s" for vm, rate in out.items())
                        + (" towards the guests" if reverse else " from the guests"))
        return out

    def expect_rates(self, name, wanted, **kw):
        """Measured payload against the planned rates (Mbit/s of whole frames)."""
        got = self.measure(tuple(wanted), **kw)
        self.rates[name] = got
        for vm, want in wanted.items():
            self.story.near(f"{vm} reaches", got[vm], want * PAYLOAD, slack=1.5)
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
            for f in declaration.get("fields", []):
                if f["name"] == field:
                    got = f["verdict"]
        self.story.expect(f"{vm} reads the verdict on {field}", got == want, got, want)

    def withdraw(self):
        self.story.step("A withdraws")
        self.guests["A"].run("hz withdraw nic/0")
        wanted = {"A": CAPACITY[0] - 30, "B": 30}
        self.until_plan(self.hosts[0], wanted)
        self.expect_rates("withdrawn", wanted)

    def kill_run(self):
        """A declaration lives as long as the program it was made for."""
        story, a = self.story, self.guests["A"]
        story.step("kill -9 of A's `hz run`: its declaration goes with it")
        run = a.start("echo $$ > /tmp/run.pid; "
                      "exec hz run --net-min 60Mbit -- sh -c 'echo at work; exec sleep 1000'")
        run.wait_text("at work")
        rest = (CAPACITY[0] - 60 - TRICKLE) / 2
        self.until_plan(self.hosts[0], {"A": 60 + rest, "B": TRICKLE + rest})
        a.run("kill -9 $(cat /tmp/run.pid)")
        run.wait()
        until("the program's end", lambda: not a.run("pidof sleep || true").strip(), 30)
        wanted = {"A": CAPACITY[0] - 30, "B": 30}
        self.until_plan(self.hosts[0], wanted)
        story.expect("nothing of A's is declared any more", not self.board("A")["declarations"],
                     len(self.board("A")["declarations"]), 0)
        story.expect("the program ended with it", not a.run("pidof sleep || true").strip(), "ended", "ended")
        self.expect_rates("after kill -9", wanted)

    def board(self, vm):
        return json.loads(self.guests[vm].run("hz show --json"))

    def pause(self):
        story, host, a = self.story, self.hosts[0], self.guests["A"]
        story.step("PAUSE: A gets ready by a hook, is stopped for 500 ms, and reads how long it was")
        a.run("mkdir -p /etc/hz/hooks.d/pause")
        a.put("/etc/hz/hooks.d/pause/10-safe-point", PAUSE_HOOK, "755")
        # From here on the agent answers for A: when all hooks have ended well, A is prepared.
        a.start("exec hz agent")
        deadline = 60
        host.hzctl("notify", "--deadline", f"{deadline}s", "--duration", "500ms", "--key", "demo-pause", "A", "pause")
        placed = time.monotonic()
        stop = a.qmp.wait_event("STOP", deadline + 30)
        resume = a.qmp.wait_event("RESUME", 60)
        host.until_notice("A", "demo-pause", "completed")
        took = time.monotonic() - placed
        record = host.notice("A", "demo-pause")
        told = next(n for n in self.board("A")["notices"] if n["kind"] == "pause" and n["state"] == "completed")
        stood = (qmp_time(resume) - qmp_time(stop)) * 1000
        measured = next((f["value"] / 1e6 for f in told["payload"] if "measured" in f["name"]), 0)
        self.times["pause"] = {**record["times"], "stopped_ms": stood, "told_ms": measured}
        story.expect("A answered", {"seen", "prepared"} <= set(told["replied"]), " ".join(told["replied"]), "seen prepared")
        story.expect("the hook did its work", "paused safely" in a.run("cat /tmp/pause-hook || true"), "yes", "yes")
        story.expect("prepared starts it early", took < deadline, f"{took:.1f} s after it was placed", f"before {deadline} s")
        story.near("A stood still (STOP to RESUME)", stood, 500, "ms", 0.3)
        story.near("the completed notice says so", measured, stood, "ms", 0.1)
        for line in self.between(record):
            story.tell("   " + line)

    def between(self, record):
        """The times between the stations of a notice's life."""
        times = record["times"]
        stations = [(name, times[key]) for name, key in
                    (("placed", "created-us"), ("told", "told-us"), ("seen", "seen-us"), ("prepared", "prepared-us"),
                     ("started", "started-us"), ("completed", "closed-us")) if times.get(key)]
        return [f"{a[0]} -> {b[0]}: {(b[1] - a[1]) / 1000:.1f} ms" for a, b in zip(stations, stations[1:])]

    def reclaim(self):
        story, host, b = self.story, self.hosts[0], self.guests["B"]
        story.step("RECLAIM: an unmodified program in B saves its work before the deadline")
        b.put("/tmp/trainer.sh", TRAINER, "755")
        run = b.start("hz run --on reclaim=TERM@90s --prepared-when exit -- /tmp/trainer.sh")
        until("B's program", lambda: "training" in b.run("cat /tmp/trainer 2>/dev/null || true"), 30)
        placed = time.monotonic()
        host.hzctl("notify", "--deadline", "95s", "--key", "demo-reclaim", "B", "reclaim")
        status = run.wait(110)
        ended = time.monotonic() - placed
        saved = b.run("cat /tmp/checkpoint 2>/dev/null || true").strip()
        host.until_notice("B", "demo-reclaim", "started", 30)
        started = time.monotonic() - placed
        host.hzctl("notice", "complete", "--key", "demo-reclaim")
        host.until_notice("B", "demo-reclaim", "completed", 30)
        record = host.notice("B", "demo-reclaim")
        story.expect("the program saved", saved == "saved", saved, "saved")
        story.expect("and ended well", status == 0, f"exit {status}", "exit 0")
        # 95 s were given, 90 s before the deadline it is told to end, 2 s it saves.
        story.expect("asked to end 90 s before the deadline, not at once", ended >= 4.5, f"after {ended:.1f} s", "5 s and its save")
        story.expect("prepared starts it early", started < 90, f"after {started:.1f} s", "well before 95 s")
        self.times["reclaim"] = {"program_ended_s": ended, "started_s": started}
        for line in self.between(record):
            story.tell("   " + line)

    def crash(self):
        story, host, a = self.story, self.hosts[0], self.guests["A"]
        story.step("hzd is killed (SIGKILL) under load, and started again")
        a.run("hz declare nic/0 --net-min 60Mbit --persist --wait")
        rest = (CAPACITY[0] - 60 - TRICKLE) / 2
        wanted = {"A": 60 + rest, "B": TRICKLE + rest}
        self.until_plan(host, wanted)
        host.hzctl("notify", "--deadline", "30m", "--ack", "notify", "--key", "demo-stays", "A", "reclaim")
        notice = until("the notice on A's board", lambda: next(
            (n for n in self.board("A")["notices"] if n["state"] == "scheduled" and "seen" in n["replied"]), None), 30)
        before = strip_times(self.board("A"))
        qdiscs = host.qdiscs()

        def kill():
            time.sleep(2)
            host.hzd.kill(signal.SIGKILL)
            story.tell("   hzd is dead; traffic goes on")
            time.sleep(3)
            # What a guest says meanwhile isn't lost either: the board keeps it.
            a.run(f"hz reply {notice['id']} prepared")
            host.start_hzd()
            until("A's and B's link", lambda: host.linked("A") and host.linked("B"), 60)
            story.tell("   hzd is back")
        self.expect_rates("hzd killed", wanted, seconds=12, during=kill)
        story.expect("the kernel's queues were not touched", qdiscs == host.qdiscs(), "same", "same")
        self.until_plan(host, wanted)
        after = strip_times(self.board("A"))
        story.expect("A's declarations stand", after["declarations"] == before["declarations"],
                     describe(after["declarations"]), describe(before["declarations"]))
        kept = [n for n in after["notices"] if n["id"] == notice["id"]]
        story.expect("the notice stands, same id and state", kept and kept[0]["state"] == "scheduled",
                     kept[0]["state"] if kept else "gone", "scheduled")
        record = until("hzd's knowledge of the reply", lambda: next(
            (n for n in host.show("A")["notices"] if n["id"].replace("-", "") == notice["id"].replace("-", "")
             and "prepared" in n["replied"]), None), 30)
        story.expect("hzd knows both replies, also the one given while it was dead",
                     {"seen", "prepared"} <= set(record["replied"]), " ".join(record["replied"]), "seen prepared")
        host.hzctl("notice", "cancel", record["id"])

    def migrate(self):
        story, a = self.story, self.guests["A"]
        source, target = self.hosts
        story.step("A is live-migrated to host 2 (40 Mbit/s), under another hzd")
        a.start("exec hz watch --json > /tmp/watch 2>&1")
        until("hz watch", lambda: a.run("cat /tmp/watch 2>/dev/null || true").strip(), 30)
        lines_before = len(a.run("cat /tmp/watch").splitlines())
        before = self.board("A")
        path = os.path.join(self.folder, "migrate.sock")
        moved = self.guest("A", 2, incoming=f"unix:{path}")
        started = time.monotonic()
        a.qmp.cmd("migrate", {"uri": f"unix:{path}"})
        status = until("the migration", lambda: (lambda i: i if i["status"] in ("completed", "failed") else None)(
            a.qmp.cmd("query-migrate")), 120)
        if not story.expect("migrated", status["status"] == "completed", status["status"], "completed"):
            return
        moved.qmp.wait_event("RESUME", 60)
        story.tell(f"   {time.monotonic() - started:.1f} s, of which it stood still {status.get('downtime', 0)} ms")
        a.stop()
        self.guests["A"] = moved
        moved.ready()
        until("A's link to host 2's hzd", lambda: target.linked("A"), 60)
        new = moved.run("cat /tmp/watch").splitlines()[lines_before:]
        first = json.loads(new[0])
        story.expect("the first thing its watcher hears is the disruption",
                     first.get("status", {}).get("disruption") == before["status"]["disruption"] + 1,
                     f"disruption {first.get('status', {}).get('disruption')}", f"disruption {before['status']['disruption'] + 1}")
        after = self.board("A")
        story.expect("its declaration came along", declared(after) == declared(before), declared(after), declared(before))
        story.expect("its closed notices too", {n["id"] for n in before["notices"]} <= {n["id"] for n in after["notices"]},
                     len(after["notices"]), f"at least {len(before['notices'])}")
        wanted = {"A": float(CAPACITY[1])}
        self.until_plan(target, wanted)
        self.verdict("A", "net-min", "clamped")
        self.until_plan(source, {"B": 30})
        self.expect_rates("migrated", wanted)

    # -- all of it ---------------------------------------------------------

    def play(self):
        self.build_place()
        for chapter in (self.before, self.declare, self.withdraw, self.kill_run, self.pause, self.reclaim, self.crash,
                        self.migrate):
            if self.args.only and chapter.__name__ not in self.args.only.split(","):
                continue
            chapter()

    def ways_in(self):
        for vm, guest in self.guests.items():
            print(f"guest {vm}: tests/tools/guest-exec {guest.exec_path} COMMAND")
        for host in self.hosts:
            print(f"{host.name}: ip netns exec {host.netns.name} bash; HZ_RUN_DIR={host.run_dir} "
                  f"{host.program('hzdev', 'hzctl', 'hzctl')} vms")
        print(f"to end it: scripts/demo --name {self.args.name} --sweep")


def qmp_time(event):
    return event["timestamp"]["seconds"] + event["timestamp"]["microseconds"] / 1e6


def strip_times(board):
    """A board without what passes by itself."""
    for notice in board["notices"]:
        for key in ("deadline-ms", "not-before-ms"):
            notice.pop(key, None)
    return board


def declared(board):
    """subject.field=value, for comparing and for telling."""
    return " ".join(sorted(f"{d['subject']}.{f['name']}={f['text']}" for d in board["declarations"]
                           for f in d.get("fields", []))) or "nothing"


def describe(declarations):
    return declared({"declarations": declarations})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    parser.add_argument("--qemu")
    parser.add_argument("--image")
    parser.add_argument("--json")
    parser.add_argument("--logs")
    parser.add_argument("--only", help="only these chapters: before,declare,withdraw,kill_run,pause,reclaim,crash,migrate")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--name", default="hzdemo")
    args = parser.parse_args()
    if args.json:
        try:
            with open(args.json, "a", encoding="utf-8"):
                pass
        except OSError as error:
            parser.error(f"--json {args.json}: {error.strerror}")
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
        demo.keep_logs()
        if not args.keep:
            demo.sweep()
    demo.story.table()
    if args.keep:
        demo.ways_in()
    if args.json:
        demo.story.write(args.json, rates=demo.rates, times=demo.times)
    return demo.story.verdict("demo")


if __name__ == "__main__":
    sys.exit(main())
