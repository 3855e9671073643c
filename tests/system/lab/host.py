# SPDX-License-Identifier: GPL-2.0-or-later
"""One host: a namespace with a bridge and an uplink, hzd without privileges, the vnic actuator."""
import json
import os
import pwd
import shutil

from .net import Netns, uplink
from .process import LabError, Process, sh, until
from .qmp import Qmp, QmpError

# Who hzd is in a laboratory: nobody, with no capability at all.
HZD_UID = pwd.getpwnam("nobody").pw_uid


class Host:
    """Programs come from hz's build folder."""

    def __init__(self, name, netns, outside, index, line_rate, build, folder, taps=()):
        self.name = name
        self.build = build
        self.folder = folder
        self.run_dir = os.path.join(folder, "run")
        self.state_dir = os.path.join(folder, "state")
        for path in (folder, self.run_dir, self.state_dir, os.path.join(folder, "log")):
            os.makedirs(path, exist_ok=True)
        for path in (self.run_dir, self.state_dir, os.path.join(folder, "log")):
            os.chown(path, HZD_UID, HZD_UID)
        self.config_path = os.path.join(folder, "hzd.conf")
        self.audit_path = os.path.join(folder, "log", "audit.jsonl")
        self.netns = Netns(netns)
        self.netns.bridge()
        if outside:
            uplink(self.netns, outside, index, line_rate)
        for tap in taps:
            self.netns.tap(tap)
        self.hzd = None
        self.vnic = None
        self._control = None

    def program(self, *parts):
        path = os.path.join(self.build, *parts)
        if not os.access(path, os.X_OK):
            raise LabError(f"{path}: not built")
        return path

    def socket(self, vm):
        """Where QEMU connects to for this VM."""
        return os.path.join(self.run_dir, "vm", f"{vm}.sock")

    def configure(self, text):
        """@text: sections; [host] gets this laboratory's folders."""
        head = (f"[host]\nrun-dir={self.run_dir}\nstate-dir={self.state_dir}\naudit={self.audit_path}\n")
        with open(self.config_path, "w", encoding="utf-8") as out:
            out.write(text.replace("[host]\n", head, 1))

    def start_hzd(self):
        self.hzd = Process(f"hzd on {self.name}",
                           [self.program("hzdev", "hzd", "hzd"), "--config", self.config_path],
                           os.path.join(self.folder, "hzd.log"), netns=self.netns.name, uid=HZD_UID)
        until(f"{self.hzd.name}: its control socket", lambda: self._answers() or self.hzd.check(), 30)

    def _answers(self):
        try:
            self._control = self.control(timeout=0)
            return True
        except (OSError, QmpError):
            return False

    def control(self, timeout=30):
        """The admin socket: it speaks QMP's own shape."""
        return Qmp(os.path.join(self.run_dir, "control.sock"), timeout)

    def cmd(self, command, **arguments):
        """One command on the admin socket; a - in an argument's name is written _."""
        if not self._control or self._control.closed:
            self._control = self.control()
        return self._control.cmd(command, {name.replace("_", "-"): value for name, value in arguments.items()})

    def start_vnic(self):
        self.vnic = Process(f"hz-vnic on {self.name}",
                            [self.program("hzdev", "actuators", "vnic", "hz-vnic"),
                             "--socket", os.path.join(self.run_dir, "actuators.sock")],
                            os.path.join(self.folder, "vnic.log"), netns=self.netns.name)

    def hzctl(self, *args, check=True, timeout=120):
        """hzctl's output."""
        return sh(self.program("hzdev", "hzctl", "hzctl"), "--run-dir", self.run_dir, *args, check=check, timeout=timeout)

    def hzctl_json(self, *args, **kw):
        text = self.hzctl(*args, "--json", **kw)
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise LabError(f"hzctl {' '.join(args)} --json: {error}: {text[:300]!r}") from error

    # -- asking hzd --------------------------------------------------------

    def show(self, vm):
        return self.cmd("query-vm", vm=vm)

    def linked(self, vm):
        """Is the VM's whole board known?"""
        return self.show(vm).get("link") == "up"

    def plan(self, vm):
        """Mbit/s of its first NIC's ceiling, None when there is none."""
        for nic in self.show(vm)["nics"]:
            return nic["rate"] * 8 / 1e6 if nic.get("shape") else None
        return None

    def notice(self, vm, key):
        """hzd's own record of the notice that was placed with this key."""
        for notice in self.show(vm)["notices"]:
            if notice.get("key") == key:
                return notice
        return {}

    def until_notice(self, vm, key, state, timeout=120):
        return until(f"notice {key} {state}", lambda: self.notice(vm, key).get("state") == state, timeout)

    def qdiscs(self):
        """What tc says of every link in this host, for "untouched" and "back as it was"."""
        return self.netns.run("sh", "-c", "tc qdisc show; tc class show dev br0; ip -br link")

    def remove(self):
        for process in (self.hzd, self.vnic):
            if process:
                process.stop()
        self.netns.remove()
        shutil.rmtree(os.path.join(self.run_dir, "vm"), ignore_errors=True)
