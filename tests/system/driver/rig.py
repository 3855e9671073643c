# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver's tests: one guest with a virtio-hz device, a fake daemon, the selftest inside."""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(TOP, "tests", "system"), os.path.join(TOP, "tests", "tools")]

# pylint: disable=wrong-import-position
import fakehzd  # noqa: E402
from lab.guest import FIRMWARE, Guest, Image, reconnect  # noqa: E402
from lab.guestexec import GuestError  # noqa: E402
from lab.process import LabError, Process, sh, until  # noqa: E402,F401  pylint: disable=unused-import

# What a kernel says when something of it is wrong.
COMPLAINTS = ("BUG:", "WARNING:", "Oops", "general protection", "Call Trace", "hung_task", "blocked for more than",
              "list_add corruption", "list_del corruption", "refcount_t:", "scheduling while atomic", "RCU stall",
              "rcu: INFO", "soft lockup", "still has objects", "use-after-free", "Poison overwritten",
              "Redzone", "Object already free", "Right Redzone")


class Skip(Exception):
    """This can't be tested here, and why."""


class Score:
    """Counts as tests/system/lib.sh does."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def test(self, name, function, *args):
        try:
            function(*args)
        except Skip as why:
            self.skipped += 1
            print(f"SKIP {name}: {why}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            self.failed += 1
            print(f"FAIL {name}: {error}", flush=True)
            if not isinstance(error, (AssertionError, GuestError, LabError, TimeoutError)):
                traceback.print_exc(file=sys.stdout)
            return False
        else:
            self.passed += 1
            print(f"ok   {name}", flush=True)
        return True

    def group(self, name, function, rig):
        """A group whose guest doesn't even come up is one failed test."""
        try:
            function(rig, self)
        except Exception as error:  # pylint: disable=broad-except
            self.failed += 1
            print(f"FAIL {name}: {error}", flush=True)
            traceback.print_exc(file=sys.stdout)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed else 0


def expect(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


class MmioGuest(Guest):
    """As Guest, on machine microvm."""

    def __init__(self, qemu, image, name, folder, hz_socket):  # pylint: disable=super-init-not-called
        os.makedirs(folder)
        self.name = name
        self.folder = folder
        self.exec = None
        self.exec_path = os.path.join(folder, "exec.sock")
        self.serial_path = os.path.join(folder, "serial.log")
        self.qmp_path = self.hz_qmp_path = os.path.join(folder, "qmp.sock")
        self.process = Process(f"guest {name}", [
            qemu, *FIRMWARE, "-M", "microvm,accel=tcg,rtc=on", "-global", "virtio-mmio.force-legacy=false", "-cpu", "max",
            "-m", "192", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-serial", f"file:{self.serial_path}", "-kernel", image.kernel, "-initrd", image.initrd,
            "-append", "console=ttyS0 quiet panic=-1 tsc=reliable tsc_early_khz=2300000 random.trust_cpu=on "
                       f"mitigations=off hz.name={name}",
            "-qmp", f"unix:{self.qmp_path},server=on,wait=off",
            "-device", "virtio-serial-device",
            "-chardev", f"socket,id=exec,path={self.exec_path},server=on,wait=off",
            "-device", "virtserialport,chardev=exec,name=hz.exec",
            "-chardev", f"socket,id=hz0,path={hz_socket},{reconnect(qemu)}",
            "-device", "virtio-hz-device,chardev=hz0"], os.path.join(folder, "qemu.log"))
        self.qmp = self._monitor()


class Rig:
    """Temporary files, the image, the selftest; guests made on demand and all ended at the end."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hz-driver-")
        self.guests = []
        self.daemons = []
        self.qemu = os.environ.get("HZ_QEMU") or sh(os.path.join(TOP, "scripts/build-qemu"), "--print-path").strip()
        image = os.environ.get("HZ_GUEST_IMAGE")
        if not image:
            image = os.path.join(self.folder, "image")
            sh(os.path.join(TOP, "scripts/guest-image"), "--out", image)
        self.image_path = image
        self.image = Image(image)
        self.selftest = os.path.join(self.folder, "hz-selftest")
        sources = [os.path.join(HERE, "guest", f) for f in sorted(os.listdir(os.path.join(HERE, "guest")))
                   if f.endswith(".c")]
        sh("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-pthread",
           "-I", os.path.join(TOP, "guest/include/uapi"), "-o", self.selftest, *sources)

    def daemon(self, name="hzd", **kw):
        hzd = fakehzd.FakeHzd(os.path.join(self.folder, name + ".sock"), **kw)
        self.daemons.append(hzd)
        return hzd

    def guest(self, name, hzd=None, extra=(), smp=1, **kw):
        """Its kernel poisons and fences what it allocates and remembers who did: see kernel_is_silent(), no_leak()."""
        append = ("console=ttyS0 quiet panic=-1 tsc=reliable random.trust_cpu=on mitigations=off "
                  f"slub_debug=FZPU hz.name={name}")
        guest = Guest(self.qemu, self.image, name, os.path.join(self.folder, name),
                      hz_socket=hzd.path if hzd else None, extra=["-append", append, "-smp", str(smp), *extra], **kw)
        self.guests.append(guest)
        return guest

    def mmio_guest(self, name, hzd):
        """A microvm: no PCI, every device on virtio-mmio."""
        guest = MmioGuest(self.qemu, self.image, name, os.path.join(self.folder, name), hzd.path)
        self.guests.append(guest)
        return guest

    def ready(self, guest, files=()):
        """Booted, with the selftest and more files in /tmp."""
        guest.ready()
        for path in [self.selftest, *files]:
            with open(path, "rb") as content:
                guest.run(f"cat > /tmp/{os.path.basename(path)}; chmod 755 /tmp/{os.path.basename(path)}",
                          feed=content.read())
        return guest

    def kernel_version(self):
        with open(os.path.join(self.image_path, "version"), encoding="ascii") as version:
            return version.read().strip()

    def headers(self):
        return f"/usr/src/linux-headers-{self.kernel_version()}"

    def build_module(self, folder):
        """An out-of-tree module for the guest's kernel; the path of its .ko."""
        work = os.path.join(self.folder, "module-" + os.path.basename(folder))
        shutil.copytree(folder, work)
        sh("make", "-C", self.headers(), f"M={work}", f"HZ_TOP={TOP}", "modules")
        return [os.path.join(work, f) for f in os.listdir(work) if f.endswith(".ko")][0]

    def bzimage(self):
        """The guests' kernel as distributed. Resuming from memory needs it: a guest booted by PVH, as
        the image's vmlinux is, has lost the page tables its wake-up code wants."""
        version = self.kernel_version()
        installed = f"/boot/vmlinuz-{version}"
        if os.path.exists(installed):
            return installed
        try:
            sh("apt-get", "-q", "-o", "DPkg::Lock::Timeout=600", "download", f"linux-image-{version}", cwd=self.folder)
        except (LabError, OSError) as error:
            raise Skip(f"no {installed}, and its package can't be downloaded: {error}") from error
        package = [f for f in os.listdir(self.folder) if f.startswith("linux-image-")][0]
        sh("dpkg-deb", "-x", package, "linux", cwd=self.folder)
        return os.path.join(self.folder, "linux", "boot", f"vmlinuz-{version}")

    def close(self, keep):
        for guest in self.guests:
            try:
                guest.stop()
            except (OSError, subprocess.SubprocessError, LabError, GuestError) as error:
                print(f"# {guest.name}: {error}")
        for hzd in self.daemons:
            hzd.close()
        if keep:
            print(f"# kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def case(guest, name, host=None, timeout=240):
    """Run a case of the selftest; host(job) is called meanwhile."""
    job = guest.start(f"/tmp/hz-selftest {name}")
    if host:
        try:
            host(job)
        except (GuestError, TimeoutError) as error:
            raise AssertionError(f"{error}; the guest says: {job.text().strip()}") from error
    status = job.wait(timeout)
    if status != 0:
        raise AssertionError(f"exit {status}: {job.text().strip()}")


def no_leak(guest):
    """The driver, loaded but without device and files, holds no memory. All files must be closed."""
    guest.run("mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null; "
              "cd /sys/bus/virtio/drivers/virtio_hz && for d in virtio*; do echo $d > unbind; done")
    # A line that starts with a count names who allocated; the others are its callers.
    held = guest.run("cat /sys/kernel/debug/slab/*/alloc_traces | grep '^ *[0-9][0-9]* [^ ]* \\[virtio_hz\\]' || true")
    if held:
        raise AssertionError(f"the driver still holds: {held.strip()}")


def kernel_is_silent(guest):
    """No complaint of the guest's kernel since it booted."""
    log = guest.run("dmesg")
    bad = [line for line in log.splitlines() if any(word in line for word in COMPLAINTS)]
    if bad:
        raise AssertionError("the guest's kernel complains: " + "; ".join(bad[:5]) + "\n" + log[-3000:])
