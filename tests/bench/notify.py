# SPDX-License-Identifier: GPL-2.0-or-later
"""bench notify: from a call on the host to a reply seen there, and whether any notice is ever missed."""
import os
import shutil
import signal
import subprocess
import threading
import time

from lab.guest import Guest, Image, accelerator
from lab.host import HZD_UID, Host
from lab.net import remove_netns
from lab.process import LabError, until

from report import percentile

NAME = "hzbench"
UUID = "8f3c2d10-5f0e-4a5e-9d0c-0000000000b1"
TURNS = 500
GUEST_AGENT = "org.qemu.guest_agent.0"
MEMORY = 256


def image_with(image, tools, folder):
    """The guests' image with the bench's own files: initramfs archives add up."""
    os.makedirs(folder, exist_ok=True)
    place = os.path.join(folder, "image")
    os.makedirs(place, exist_ok=True)
    vmlinux = os.path.join(place, "vmlinux")
    if os.path.lexists(vmlinux):
        os.unlink(vmlinux)
    os.symlink(os.path.realpath(os.path.join(image, "vmlinux")), vmlinux)
    archive = subprocess.run("find . -print0 | cpio -0 -o -H newc -R 0:0 --quiet", shell=True, cwd=tools,
                             stdout=subprocess.PIPE, check=True).stdout
    with open(os.path.join(image, "initrd"), "rb") as base, open(os.path.join(place, "initrd"), "wb") as out:
        shutil.copyfileobj(base, out)
        out.write(archive)
    return Image(place)


class Notices:
    """Notices placed one after the other from a thread; who was never answered is missed."""

    def __init__(self, host, name, count, pause):
        self.host = host
        self.keys = [f"{name}-{i}" for i in range(count)]
        self.pause = pause
        self.error = None
        self.thread = threading.Thread(target=self._place)
        self.thread.start()

    def _place(self):
        try:
            control = self.host.control()
            for key in self.keys:
                control.cmd("notify", {"vms": ["A"], "kind": "pause", "test": True, "ack": "notify", "key": key,
                                       "deadline": "120s"})
                time.sleep(self.pause)
            control.close()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def missed(self):
        """Those without a reply once all are over: a test is over when it's answered, or expires."""
        self.thread.join()
        if self.error:
            raise self.error

        def states():
            known = {n.get("key"): n for n in self.host.show("A")["notices"]}
            return [known.get(key, {}).get("state", "unknown") for key in self.keys]
        until("every notice is over", lambda: all(s in ("completed", "cancelled") for s in states()), 180, 0.2)
        return sum(s != "completed" for s in states())


class Bench:
    def __init__(self, args, report):
        self.args = args
        self.report = report
        self.folder = f"/tmp/{NAME}-{os.getpid()}"
        self.host = None
        self.guest = None
        self.hzd_ns = 0
        self.jobs = []

    # -- the place ---------------------------------------------------------

    def set_up(self):
        os.makedirs(self.folder)
        self.host = Host("host", f"{NAME}{os.getpid()}", None, 1, None, self.args.build, self.folder)
        guest_folder = os.path.join(self.folder, "guest")
        self.host.configure(f"[host]\nmode=enforce\n\n[vm A]\nuuid={UUID}\ntenant=acme\n"
                            f"qmp={guest_folder}/qmp-hz.sock\n")
        self.host.start_hzd()
        image = image_with(self.args.image, self.args.tools, self.folder)
        extra = []
        for ident, name in (("echo", "hz.echo"), ("ga", GUEST_AGENT)):
            extra += ["-chardev", f"socket,id={ident},path={self.folder}/{ident}.sock,server=on,wait=off",
                      "-device", f"virtserialport,chardev={ident},name={name}"]
        self.report.accelerator = accelerator(shutil.which(self.args.qemu) or self.args.qemu, image.kernel,
                                              image.initrd)
        self.guest = Guest(self.args.qemu, image, "A", guest_folder, netns=self.host.netns.name, uuid=UUID,
                           hz_socket=self.host.socket("A"), memory=MEMORY, qmp_uid=HZD_UID, extra=extra)

    def tear_down(self):
        for job in self.jobs:
            job.signal(signal.SIGKILL)
        if self.guest:
            self.guest.stop()
        if self.host:
            self.host.remove()
        remove_netns(f"{NAME}{os.getpid()}")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, command):
        job = self.guest.start("exec " + command)
        self.jobs.append(job)
        return job

    def end(self, job, number=signal.SIGTERM):
        job.signal(number)
        job.wait(30)
        self.jobs.remove(job)
        return job.text()

    def port(self, name):
        return "/dev/" + self.guest.run("for p in /sys/class/virtio-ports/*; do"
                                        f" [ \"$(cat $p/name)\" = {name} ] && basename $p; done; true").strip()

    # -- what is measured ------------------------------------------------------

    def turns(self, count, echo=True, ping=False):
        """Lines of notify-host, by their first word."""
        argv = [os.path.join(self.args.host_tools, "notify-host"), os.path.join(self.host.run_dir, "control.sock"),
                "A", f"{self.folder}/echo.sock" if echo else "-", f"{self.folder}/ga.sock" if ping else "-", str(count)]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900, check=False)
        if done.returncode not in (0, 3):
            raise LabError(f"notify-host: {done.stderr.strip()}")
        lines = {"notice": [], "missed": [], "echo": [], "ask": [], "ping": []}
        for line in done.stdout.splitlines():
            word, *rest = line.split()
            lines[word].append(rest)
        return lines

    def first_seconds(self):
        """Notices from before the guest's kernel runs; its agent comes when it comes."""
        until("the device says hello", lambda: self.host.linked("A"), 60)
        notices = Notices(self.host, "first", 30, 0.5)
        self.guest.ready()
        agent = self.start("hz agent")
        missed = notices.missed()
        self.report.row("missed: a guest's first seconds, agent started in them", "of 30", missed, reach="0",
                        met=missed == 0)
        self.end(agent)

    def agent_restart(self):
        agent = self.start("hz agent")
        notices = Notices(self.host, "restart", 60, 0.1)
        for _ in range(3):
            time.sleep(1)
            self.end(agent, signal.SIGKILL)
            agent = self.start("hz agent")
        missed = notices.missed()
        self.report.row("missed: agent killed and started again three times", "of 60", missed, reach="0",
                        met=missed == 0)
        self.end(agent)

    def pressure(self):
        press = self.start(f"notify-guest press {MEMORY * 6 // 10}")
        press.wait_text("ready")
        reader = self.start("notify-guest respond")
        reader.wait_text("ready")
        lines = self.turns(100, echo=False)
        self.end(reader)
        self.guest.run("killall -9 notify-guest", check=False)
        self.jobs.remove(press)
        missed = len(lines["missed"])
        self.report.row("missed: guest under processor and memory pressure", "of 100", missed, reach="0",
                        met=missed == 0)
        if lines["notice"]:
            self.report.times("notice to reply, under that pressure",
                              [int(n[4]) - int(n[1]) for n in lines["notice"]])

    def latency(self):
        ping = self.start_guest_agent()
        echo = self.start(f"notify-guest echo {self.port('hz.echo')}")
        reader = self.start("notify-guest respond")
        for job in (echo, reader):
            job.wait_text("ready")
        self.turns(20, ping=ping)                   # the first ones warm up
        before = self.cpu_ns()
        lines = self.turns(TURNS, ping=ping)
        self.hzd_ns = (self.cpu_ns() - before) / TURNS
        seen = self.end(reader)
        queue = [int(n) for n in self.guest.run(f"notify-guest queue {TURNS}", timeout=300).split()]
        self.end(echo, signal.SIGKILL)
        self.tell_latency(lines, seen, queue)

    def cpu_ns(self):
        """Processor time hzd has had."""
        with open(f"/proc/{self.host.hzd.pid}/schedstat", encoding="ascii") as stat:
            return int(stat.read().split()[0])

    def start_guest_agent(self):
        if not os.path.isdir(os.path.join(self.args.tools, "ga")):
            self.report.note("guest-ping is not measured: Debian's qemu-guest-agent could not be had")
            return False
        self.start(f"/ga/ld.so --library-path /ga /ga/qemu-ga -m virtio-serial -p {self.port(GUEST_AGENT)}"
                   " -f /tmp/ga.pid -t /tmp")
        return True

    # -- telling ------------------------------------------------------------------

    def tell_latency(self, lines, seen, queue):
        report = self.report
        notices = [[int(t) for t in n[1:]] for n in lines["notice"]]
        echoes = [[int(t) for t in n] for n in lines["echo"]]
        whole = [n[3] - n[0] for n in notices]
        echo_ns = [end - start for start, end, _ in echoes]
        missed = len(lines["missed"])
        reach = percentile(whole, 0.5) / percentile(echo_ns, 0.5)
        report.row("missed: quiet guest", f"of {TURNS}", missed, reach="0", met=missed == 0)
        report.times("notice: call to reply seen", whole, peer="echo over virtio-serial",
                     peer_value=percentile(echo_ns, 0.5) / 1000, reach="p50 <= 1.2 x the echo", met=reach <= 1.2)
        report.times("echo over virtio-serial", echo_ns)
        report.times("bare round trip through a virtqueue, in the guest", queue)
        if lines["ping"]:
            report.times("qemu-guest-agent's guest-ping", [int(n[1]) - int(n[0]) for n in lines["ping"]])
        report.times("hzd alone: query-version", [int(n[1]) - int(n[0]) for n in lines["ask"]])
        report.row("hzd's processor time, a notice with all its steps and a question", "us", self.hzd_ns / 1000)
        report.row("the least this way could take: the echo and a question to hzd", "us",
                   (percentile(echo_ns, 0.5) + percentile([int(n[1]) - int(n[0]) for n in lines["ask"]], 0.5)) / 1000,
                   peer="echo over virtio-serial", peer_value=percentile(echo_ns, 0.5) / 1000)
        report.times("of a notice: call to hzd's answer", [n[1] - n[0] for n in notices])
        told = [n[2] - n[0] for n in notices if n[2]]
        if told:
            report.times("of a notice: call to on the board, known to hzd", told)
        self.tell_guest(lines["notice"], echoes, seen)
        report.note("an echo passes QEMU's loop and the guest's processor; a notice also passes hzd, twice, which looks"
                    " it up, writes its log and tells every watcher: with few processors these wait for each other")

    def tell_guest(self, notices, echoes, seen):
        """Where the time goes, the guest's clock brought to the host's by the echo with the least delay nearby."""
        stamps = {}
        for line in seen.splitlines():
            words = line.split()
            if len(words) == 3 and len(words[0]) == 32:
                stamps[words[0]] = (int(words[1]), int(words[2]))
        to_read, in_guest, back = [], [], []        # back: from read() too, the host may see it first
        for i, (ident, start, _, _, replied) in enumerate(notices):
            near = echoes[max(0, i - 5):i + 6]
            if ident not in stamps or not near:
                continue
            first, last, guest = min(near, key=lambda e: e[1] - e[0])
            offset = guest - (first + last) // 2
            read, done = (t - offset for t in stamps[ident])
            to_read.append(read - int(start))
            in_guest.append(done - read)
            back.append(int(replied) - read)
        if not to_read:
            self.report.note("the guest's times could not be matched")
            return
        self.report.times("of a notice: call to the guest's read() returning", to_read)
        self.report.times("of a notice: read() to the reply's return, in the guest", in_guest)
        self.report.times("of a notice: read() to the reply seen on the host", back)


def run(args, report):
    bench = Bench(args, report)
    try:
        bench.set_up()
        bench.first_seconds()
        bench.latency()
        bench.pressure()
        bench.agent_restart()
    finally:
        bench.tear_down()
