# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest in one QEMU."""
import functools
import os
import shutil
import subprocess
import time
import uuid as uuids

from .guestexec import GuestExec, GuestError
from .process import LabError, Process, until
from .qmp import Qmp


class Image:
    """What scripts/guest-image wrote."""

    def __init__(self, path):
        self.kernel = os.path.join(path, "vmlinux")
        self.initrd = os.path.join(path, "initrd")
        for part in (self.kernel, self.initrd):
            if not os.path.exists(part):
                raise LabError(f"{part}: not there, run scripts/guest-image --out {path}")


FIRMWARE = ["-L", "/usr/share/qemu", "-L", "/usr/share/seabios"]


@functools.lru_cache(maxsize=None)
def accelerator(qemu, kernel, initrd):
    """kvm where it really runs a guest within a bound, else tcg: /dev/kvm alone proves nothing."""
    if not os.path.exists("/dev/kvm") or not any(os.path.exists(f"/sys/module/{m}") for m in ("kvm_intel", "kvm_amd")):
        return "tcg"
    probe = subprocess.Popen([qemu, *FIRMWARE, "-M", "q35,accel=kvm", "-cpu", "host", "-m", "192", "-nodefaults",
                              "-display", "none", "-no-reboot", "-serial", "stdio", "-kernel", kernel,
                              "-initrd", initrd, "-append", "console=ttyS0 panic=-1"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.set_blocking(probe.stdout.fileno(), False)
    seen, end = b"", time.monotonic() + 20
    while b"hz-guest:" not in seen and probe.poll() is None and time.monotonic() < end:
        seen += probe.stdout.read() or b""
        time.sleep(0.1)
    probe.kill()
    probe.wait()
    return "kvm" if b"hz-guest:" in seen else "tcg"


@functools.lru_cache(maxsize=None)
def reconnect(qemu):
    """How this QEMU's socket chardev says "again after a second": asked, not guessed by its version."""
    done = subprocess.run([qemu, "-M", "none", "-display", "none", "-nodefaults", "-S", "-chardev",
                           "socket,id=x,path=/nonexistent/hz,reconnect-ms=1000", "-chardev", "null,id=x"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, check=False)
    # The second chardev of the same id always fails: which complaint comes tells.
    return "reconnect=1" if "reconnect-ms" in done.stdout else "reconnect-ms=1000"


class Guest:
    """A guest named @name in host namespace @netns; files in @folder."""

    def __init__(self, qemu, image, name, folder, netns=None, ip=None, tap=None, mac=None, uuid=None,
                 hz_socket=None, device="virtio-hz-pci", device_args="", memory=192, incoming=None,
                 module=True, extra=(), qmp_uid=None, program=None):
        self.name = name
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.uuid = uuid or str(uuids.uuid4())
        self.qmp_path = os.path.join(folder, "qmp.sock")
        self.hz_qmp_path = os.path.join(folder, "qmp-hz.sock")
        self.exec_path = os.path.join(folder, "exec.sock")
        self.serial_path = os.path.join(folder, "serial.log")
        for path in (self.qmp_path, self.hz_qmp_path, self.exec_path):
            if os.path.exists(path):
                os.unlink(path)
        qemu = shutil.which(qemu) or qemu
        accel = accelerator(qemu, image.kernel, image.initrd)
        cmdline = (f"console=ttyS0 quiet panic=-1 tsc=reliable random.trust_cpu=on mitigations=off hz.name={name}"
                   + (f" hz.ip={ip}" if ip else "") + ("" if module else " hz.module=no"))
        argv = list(program or []) + [
            qemu, *FIRMWARE, "-name", name, "-uuid", self.uuid, "-M", f"q35,accel={accel}",
            "-cpu", "host" if accel == "kvm" else "max", "-smp", "1", "-m", memory,
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-serial", f"file:{self.serial_path}",
            "-kernel", image.kernel, "-initrd", image.initrd, "-append", cmdline,
            "-qmp", f"unix:{self.qmp_path},server=on,wait=off",
            "-qmp", f"unix:{self.hz_qmp_path},server=on,wait=off",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=exec,path={self.exec_path},server=on,wait=off",
            "-device", "virtserialport,chardev=exec,name=hz.exec",
        ]
        if tap:
            argv += ["-netdev", f"tap,id=net0,ifname={tap},script=no,downscript=no",
                     "-device", f"virtio-net-pci,netdev=net0,romfile=,mac={mac}"]
        if hz_socket:
            argv += ["-chardev", f"socket,id=hz0,path={hz_socket},{reconnect(qemu)}",
                     "-device", f"{device},chardev=hz0{device_args}"]
        elif device:
            argv += ["-device", f"{device}{device_args}"]
        if incoming:
            argv += ["-incoming", incoming]
        argv += list(extra)
        self.process = Process(f"guest {name}", argv, os.path.join(folder, "qemu.log"), netns=netns)
        self.exec = None
        self.qmp = self._monitor()
        if qmp_uid is not None:
            os.chown(self.hz_qmp_path, qmp_uid, qmp_uid)

    def _monitor(self):
        def connect():
            self.process.check()
            try:
                return Qmp(self.qmp_path, timeout=0)
            except OSError:
                return None
        try:
            return until(f"guest {self.name}: its monitor", connect, 60)
        except LabError:
            self.process.stop()
            raise

    def ready(self, timeout=120):
        """Until its command server answers."""
        try:
            self.exec = GuestExec(self.exec_path, self.name, timeout)
        except GuestError as error:
            with open(self.serial_path, errors="replace") as serial:
                raise GuestError(f"{error}; its console ends: {serial.read()[-1500:]}") from error
        return self

    def run(self, command, **kw):
        return self.exec.run(command, **kw)

    def start(self, command):
        return self.exec.start(command)

    def put(self, path, content, mode="644"):
        """A file in the guest."""
        self.exec.run(f"cat > {path} && chmod {mode} {path}", feed=content.encode())

    def stop(self):
        if self.exec:
            self.exec.close()
        self.qmp.close()
        self.process.stop()
