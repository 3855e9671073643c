# SPDX-License-Identifier: GPL-2.0-or-later
"""The groups of the driver's tests, each with a guest of its own."""
import json
import os
import shutil
import socket
import subprocess

from rig import HERE, TOP, Skip, case, expect, fakehzd, kernel_is_silent, no_leak, reconnect, sh, until

PLAIN = ("info", "first-read", "fault", "many-a-read", "declare", "bad", "owner", "close", "killed", "persist",
         "full-table", "claim", "cursors", "lag", "compat", "churn")


def plain(rig, score):
    """What needs nobody outside the guest."""
    guest = rig.ready(rig.guest("plain"))
    for name in PLAIN:
        score.test(f"plain: {name}", case, guest, name)
    score.test("plain: no memory is left behind", no_leak, guest)
    score.test("plain: the kernel has nothing to complain of", kernel_is_silent, guest)
    guest.stop()


# -- the host acts ---------------------------------------------------------

def on_ready(*steps):
    """A host part of a case: for each (word, action), act once the guest has said READY word."""
    def act(job):
        for word, action in steps:
            job.wait_text(f"READY {word}\n")
            action()
    return act


def notice(hzd, name, **fields):
    ident = name.encode().ljust(16, b"\0")[:16]
    fields = {"kind": 4, "deadline_ns": 90_000_000_000, **fields}
    return lambda: hzd.notice(ident, **fields)


def host_notice(guest, hzd):
    mark = hzd.mark()
    case(guest, "notice", on_ready(("notice", notice(hzd, "notice-1"))))
    ident = b"notice-1".ljust(16, b"\0").hex()
    hzd.wait("record", since=mark, type="notice", id=ident, reply=1)
    got = hzd.wait("record", since=mark, type="notice", id=ident, reply=2)
    expect(got["replied"], 1 << 1 | 1 << 2, "replies the host sees")
    hzd.drop(b"notice-1".ljust(16, b"\0"))


def host_verdict(guest, hzd):
    mark = hzd.mark()

    def judge():
        told = hzd.wait("record", since=mark, type="declaration", subject="nic/7")
        hzd.verdicts("nic/7", told["seq"], [(1, 2, 1, 4711)])
    case(guest, "verdict", on_ready(("verdict", judge)))


def host_burst(guest, hzd):
    def burst():
        for revision in range(1, 9):
            for n in range(30):
                hzd.notice(bytes([0xb0, n]).ljust(16, b"\0"), kind=6, revision=revision)
    case(guest, "burst", on_ready(("burst", burst)))
    for n in range(30):
        hzd.drop(bytes([0xb0, n]).ljust(16, b"\0"))


def host_evict(guest, hzd):
    def ident(kind, n):
        return bytes([kind, n + 1]).ljust(16, b"\0")

    def fill():
        for n in range(32):
            hzd.notice(ident(0xe0, n), state=2)
            hzd.notice(ident(0xe0, n), state=3)

    def more():
        for n in range(20):
            hzd.notice(ident(0xe1, n))
    case(guest, "evict", on_ready(("fill", fill), ("more", more)))
    for n in range(32):
        hzd.drop(ident(0xe0, n))
        hzd.drop(ident(0xe1, n))


def host_provider(guest, hzd):
    accepting = hzd.welcome

    def hang_up():
        hzd.welcome = False
        hzd.hang_up()

    def come_back():
        hzd.welcome = accepting
        hzd.hang_up()
    case(guest, "provider", on_ready(("hang up", hang_up), ("come back", come_back)))


def host_pause(guest, hzd):
    def pause():
        guest.qmp.cmd("stop")
        guest.qmp.cmd("cont")
    case(guest, "pause", on_ready(("notice", notice(hzd, "pause-pause-paus", kind=1)), ("pause", pause)))


def host_migrate(rig, guest, hzd):
    state = os.path.join(rig.folder, "state")
    job = guest.start("(/tmp/hz-selftest migrate > /tmp/out 2>&1; echo $? > /tmp/status) & "
                      "while ! grep -q READY /tmp/out; do sleep 0.1; done; echo GO")
    job.wait_text("GO")
    guest.qmp.cmd("migrate", {"uri": f"exec:cat > {state}"})
    until("the migration", lambda: guest.qmp.cmd("query-migrate").get("status") == "completed", 60)
    guest.stop()
    there = rig.guest("there", hzd, incoming=f"exec:cat {state}", uuid=guest.uuid)
    there.ready()
    there.run("while [ ! -s /tmp/status ]; do sleep 0.1; done", timeout=120)
    expect(there.run("cat /tmp/status /tmp/out").split(), ["0", "READY", "migrate", "DONE"], "the case")
    kernel_is_silent(there)
    there.stop()


def host(rig, score):
    """What the host's end of the link does, and what becomes of the VM."""
    hzd = rig.daemon()
    guest = rig.ready(rig.guest("host", hzd))
    score.test("host: a notice wakes a reader and is answered", host_notice, guest, hzd)
    score.test("host: a dropped notice is gone", case, guest, "drop", on_ready(
        ("notice", notice(hzd, "drop-me")), ("drop", lambda: hzd.drop(b"drop-me".ljust(16, b"\0")))))
    score.test("host: a verdict beside its field", host_verdict, guest, hzd)
    score.test("host: a burst of updates", host_burst, guest, hzd)
    score.test("host: a full table makes room", host_evict, guest, hzd)
    score.test("host: the provider goes and comes", host_provider, guest, hzd)
    score.test("host: stop and cont", host_pause, guest, hzd)
    score.test("host: the kernel has nothing to complain of", kernel_is_silent, guest)
    score.test("host: migration", host_migrate, rig, guest, hzd)


# -- driver and device come and go -----------------------------------------

def life_suspend(rig):
    hzd = rig.daemon("suspend")
    guest = rig.ready(rig.guest("suspend", hzd, extra=["-kernel", rig.bzimage()]))

    def suspend():
        guest.qmp.wait_event("SUSPEND")
        guest.qmp.cmd("system_wakeup")
    mark = hzd.mark()
    case(guest, "suspend", on_ready(("notice", notice(hzd, "suspend-suspend-")), ("suspend", suspend)))
    hzd.wait("record", since=mark, type="notice", reply=1)
    kernel_is_silent(guest)
    guest.stop()


def life_hotplug(guest, hzd):
    def plug():
        guest.qmp.cmd("device_add", {"driver": "virtio-hz-pci", "id": "hz", "bus": "rp0", "chardev": "hz0"})

    def unplug():
        guest.qmp.cmd("device_del", {"id": "hz"})
        guest.qmp.wait_event("DEVICE_DELETED", match=lambda data: data.get("device") == "hz")
    case(guest, "hotplug", on_ready(("plug", plug), ("unplug", unplug), ("plug again", plug),
                                    ("unplug again", unplug)))
    hzd.wait("bye")


def life(rig, score):
    """The driver loses its device, or the other way round."""
    hzd = rig.daemon("life")
    guest = rig.ready(rig.guest("life", hzd, smp=2))
    score.test("life: unbound under sleepers", case, guest, "unbind")
    score.test("life: unbound again and again", case, guest, "unbind-storm")
    score.test("life: unloaded and loaded", case, guest, "reload")
    score.test("life: no memory is left behind", no_leak, guest)
    score.test("life: the kernel has nothing to complain of", kernel_is_silent, guest)
    guest.stop()

    score.test("life: suspended to memory and resumed", life_suspend, rig)

    hzd = rig.daemon("plug")
    guest = rig.ready(rig.guest("plug", device=None, extra=[
        "-device", "pcie-root-port,id=rp0,chassis=1", "-chardev", f"socket,id=hz0,path={hzd.path},{reconnect(rig.qemu)}"]))
    score.test("life: plugged in and pulled out", life_hotplug, guest, hzd)
    score.test("life: the kernel has nothing to complain of after hot-plug", kernel_is_silent, guest)
    guest.stop()


# -- a device that lies ----------------------------------------------------

LIES = ("answers", "ahead", "readings", "reading-unknown", "events-break", "events-skip", "events-read", "event-old",
        "too-many", "flood", "killed-waiter", "silent-unbind", "backlog", "needs-reset", "needs-reset-forever", "reset-fails",
        "other-device", "disrupt", "config")


def lies(rig, score):
    """The device breaks the protocol in every way we could think of; hz_liar plays it inside the guest."""
    module = rig.build_module(os.path.join(HERE, "liar"))
    guest = rig.ready(rig.guest("lies", device=None, smp=2), [module])
    guest.run("insmod /tmp/hz_liar.ko")
    for name in LIES:
        score.test(f"lies: {name}", case, guest, name)
    score.test("lies: no memory is left behind", no_leak, guest)
    score.test("lies: the device's module goes", guest.run, "rmmod hz_liar && rmmod virtio_hz")
    score.test("lies: the kernel has nothing to complain of", kernel_is_silent, guest)
    guest.stop()


# -- other transports and rings --------------------------------------------

RINGS = {
    "packed": ",packed=on,iommu_platform=on",
    "bare": ",event_idx=off,indirect_desc=off",
}


def rings(rig, score):
    """Ring formats and features the transport decides on, and virtio over MMIO."""
    for name, properties in RINGS.items():
        hzd = rig.daemon(name)
        guest = rig.ready(rig.guest(name, hzd, device_args=properties))
        for test in ("declare", "close", "full-table", "churn"):
            score.test(f"rings: {name}: {test}", case, guest, test)
        score.test(f"rings: {name}: notice", host_notice, guest, hzd)
        score.test(f"rings: {name}: unbound again and again", case, guest, "unbind-storm")
        score.test(f"rings: {name}: the kernel has nothing to complain of", kernel_is_silent, guest)
        guest.stop()
    hzd = rig.daemon("mmio")
    guest = rig.ready(rig.mmio_guest("mmio", hzd))
    for test in ("info", "declare", "close", "full-table", "churn"):
        score.test(f"rings: mmio: {test}", case, guest, test)
    score.test("rings: mmio: notice", host_notice, guest, hzd)
    score.test("rings: mmio: the kernel has nothing to complain of", kernel_is_silent, guest)
    guest.stop()


# -- the build ---------------------------------------------------------------

def tree(rig, name):
    folder = os.path.join(rig.folder, name)
    shutil.copytree(os.path.join(TOP, "guest"), os.path.join(folder, "guest"), ignore=shutil.ignore_patterns(
        "*.o", "*.ko", "*.mod*", ".*.cmd", "Module.symvers", "modules.order"))
    return os.path.join(folder, "guest", "driver")


def build_quietly(rig, name, *words):
    """No warning, neither the compiler's (with more of them asked for) nor the kernel build's."""
    said = sh("make", "-C", tree(rig, name), f"KDIR={rig.headers()}", *words)
    warnings = [line for line in said.splitlines() if "warning:" in line or "error:" in line]
    expect(warnings, [], "warnings")


def build_sparse(rig):
    if not shutil.which("sparse"):
        raise Skip("no sparse here (Debian package sparse)")
    build_quietly(rig, "sparse", "check")


def build_dkms(rig):
    """What DKMS gets is complete in itself: it builds without the rest of the source tree."""
    root = os.path.join(rig.folder, "root")
    sh("make", "-C", os.path.join(TOP, "guest", "driver"), f"DESTDIR={root}", "dkms-tree", "rules")
    source = os.path.join(root, "usr/src", os.listdir(os.path.join(root, "usr/src"))[0])
    expect(os.path.basename(source), "virtio-hz-0.1.0", "the tree's name")
    sh("make", "-C", source, f"KDIR={rig.headers()}", "modules")
    if not os.path.exists(os.path.join(source, "virtio_hz.ko")):
        raise AssertionError("no virtio_hz.ko")
    with open(os.path.join(source, "virtio_hz.ko"), "rb") as f:
        expect(b"\0version=0.1.0\0" in b"\0" + f.read(), True, "the module's version is its package's")
    for path in ("udev/rules.d/60-hz.rules", "sysusers.d/hz.conf"):
        if not os.path.exists(os.path.join(root, "usr/lib", path)):
            raise AssertionError(f"no {path}")


def fake_daemon(rig):
    """tests/tools/fake-hzd itself, by hand: a WELCOME for a HELLO, a PING when told, an error for nonsense."""
    path = os.path.join(rig.folder, "fake.sock")
    fake = subprocess.Popen([os.path.join(TOP, "tests/tools/fake-hzd"), path], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    try:
        until("fake-hzd's socket", lambda: os.path.exists(path))
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(path)
            link.sendall(fakehzd.frame(fakehzd.HELLO, fakehzd.HELLO_BODY.pack(
                fakehzd.MAGIC, 1, 1, bytes(16), bytes(16), 5, 6, 1, 16, 32, 1024, 0)))
            hello = json.loads(fake.stdout.readline())
            expect((hello["event"], hello["disruption"]), ("hello", 5), "the first line")
            expect(link.recv(24), fakehzd.frame(fakehzd.WELCOME, bytes([1] + [0] * 7)), "the answer")
            for order, said in (('{"do": "ping"}', "sent"), ('{"do": "dance"}', "error"), ("nonsense", "error")):
                fake.stdin.write(order + "\n")
                fake.stdin.flush()
                expect(json.loads(fake.stdout.readline())["event"], said, order)
            expect(link.recv(16), fakehzd.frame(fakehzd.PING, cookie=1), "the order carried out")
        expect(json.loads(fake.stdout.readline())["event"], "closed", "the last line")
        fake.stdin.close()
        expect(fake.wait(30), 0, "its exit status")
    finally:
        fake.kill()
        fake.wait()
        fake.stdout.close()


def build(rig, score):
    """The module's build: warnings, sparse, what older kernels lack, DKMS. And the tests' own tool."""
    score.test("build: fake-hzd", fake_daemon, rig)
    score.test("build: without warnings", build_quietly, rig, "warnings", "modules", "W=1")
    score.test("build: sparse", build_sparse, rig)
    score.test("build: with every substitute for what older kernels lack", build_quietly, rig, "old", "modules",
               "HZ_PROBES=")
    score.test("build: the DKMS tree", build_dkms, rig)


ALL = {"build": build, "plain": plain, "rings": rings, "host": host, "life": life, "lies": lies}
