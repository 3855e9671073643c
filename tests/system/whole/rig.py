# SPDX-License-Identifier: GPL-2.0-or-later
"""A host with an uplink and one guest, made anew for each test; and how tests are counted."""
import json
import os
import shutil
import sys
import time
import traceback

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "system"))
# pylint: disable=wrong-import-position
from lab.guest import Guest, Image  # noqa: E402
from lab.host import HZD_UID, Host  # noqa: E402
from lab.net import Netns, remove_netns  # noqa: E402
from lab.process import LabError, sh, until  # noqa: E402

BUILD = os.environ.get("HZ_BUILD") or os.path.join(TOP, "build-check", "gcc")
IMAGE = os.environ.get("HZ_GUEST_IMAGE") or os.path.join(TOP, "build-check", "guest")
UUID = "5b0a7c1e-0d52-4f0b-8a53-00000000000a"
NAME = f"hzwhole{os.getpid() % 10000}"


def qemu():
    return os.environ.get("HZ_QEMU") or sh(os.path.join(TOP, "scripts/build-qemu"), "--print-path").strip()


class Rig:
    """Host "h" with uplink up0 of 80 Mbit/s; guest A on tapA once started."""

    def __init__(self):
        self.folder = f"/tmp/{NAME}"
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.image = Image(IMAGE)
        self.guests = []
        self.outside = Netns(f"{NAME}o")
        self.outside.bridge("brx")
        self.host = Host("host", NAME, self.outside, 1, "84mbit", BUILD, os.path.join(self.folder, "host"), taps=("tapA",))

    def config(self, mode="enforce", host="", vm=""):
        """@mode None: as shipped, where nothing is said."""
        said = f"mode={mode}\n" if mode else ""
        self.host.configure(f"[host]\n{said}{host}\n[uplink up0]\ncapacity=80Mbit\n\n[actuator vnic]\n{said}\n"
                            f"[vm A]\nuuid={UUID}\ntenant=acme\n"
                            f"qmp={self.guest_folder('A')}/qmp-hz.sock;{self.guest_folder('B')}/qmp-hz.sock\n{vm}\n"
                            f"[vm A nic/0]\nifname=tapA\nuplink=up0\nnet-min=70Mbit\n")

    def guest_folder(self, name):
        return os.path.join(self.folder, f"guest-{name}")

    def guest(self, folder="A", **kw):
        kw.setdefault("hz_socket", self.host.socket("A"))
        kw.setdefault("tap", "tapA")
        guest = Guest(qemu(), self.image, "A", self.guest_folder(folder), netns=self.host.netns.name,
                      mac="52:54:00:68:7a:0a", uuid=UUID, qmp_uid=HZD_UID, **kw)
        self.guests.append(guest)
        return guest

    def start(self, mode="enforce", vnic=True, **kw):
        """All of it; A's board is known to hzd."""
        self.config(mode, **kw)
        self.host.start_hzd()
        if vnic:
            self.host.start_vnic()
        guest = self.guest().ready()
        until("A's link", lambda: self.host.linked("A"), 60)
        return guest

    def until_plan(self, mbit):
        """Until A's ceiling is that (None: none)."""
        def so():
            got = self.host.plan("A")
            return (got is None) == (mbit is None) and (mbit is None or abs(got - mbit) < 0.02 * mbit)
        until(f"a ceiling of {mbit} Mbit/s for A", so, 30)

    def close(self):
        for guest in self.guests:
            guest.stop()
        self.host.remove()
        for suffix in ("", "o"):
            remove_netns(f"{NAME}{suffix}")
        shutil.rmtree(self.folder, ignore_errors=True)


def board(guest):
    return json.loads(guest.run("hz show --json"))


def verdict(guest, field):
    """(verdict, reason) the guest reads beside its field."""
    for declaration in board(guest)["declarations"]:
        for f in declaration.get("fields", []):
            if f["name"] == field:
                return f["verdict"], f["reason"]
    return None, None


class Skip(Exception):
    """Why this machine can't run it."""


def check(ok, what, got=""):
    if not ok:
        raise AssertionError(f"{what}{': ' if got != '' else ''}{got}")


def logs(rig):
    """The ends of what the programs said."""
    for process in (rig.host.hzd, rig.host.vnic, *(g.process for g in rig.guests)):
        if process:
            print(f"     -- {process.name}:")
            for line in process.tail(8).splitlines():
                print(f"        {line}")


def run_all(argv, tests):
    wanted = [a for a in argv if not a.startswith("-")]
    unknown = set(wanted) - {t.__name__ for t in tests}
    if unknown:
        print(f"run: no test {', '.join(sorted(unknown))}; there are: {' '.join(t.__name__ for t in tests)}", file=sys.stderr)
        return 2
    passed = failed = skipped = 0
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        start = time.monotonic()
        rig = None
        try:
            rig = Rig()
            test(rig)
            passed += 1
            print(f"ok   {test.__name__} ({time.monotonic() - start:.1f} s)", flush=True)
        except Skip as why:
            skipped += 1
            print(f"SKIP {test.__name__}: {why}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {test.__name__}: {error}")
            traceback.print_exc(file=sys.stdout)
            if rig:
                logs(rig)
            sys.stdout.flush()
        finally:
            if rig and not ("--keep" in argv and wanted):
                rig.close()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


__all__ = ["BUILD", "LabError", "Rig", "Skip", "TOP", "UUID", "board", "check", "qemu", "run_all", "sh", "until", "verdict"]
