# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that die, hang or aren't who they say."""
import glob
import os
import signal
import socket
import subprocess

from rig import Skip, board, check, qemu, until, verdict


def actuator_killed(rig):
    """What it set stays; the guest is told that nobody acts; a new one adopts."""
    guest = rig.start()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    shaped = rig.host.qdiscs()
    rig.host.vnic.kill()
    until("the verdict", lambda: verdict(guest, "net-max")[1] == "unavailable", 60)
    check(rig.host.qdiscs() == shaped, "the shaping stays", rig.host.qdiscs())
    rig.host.start_vnic()
    until("the verdict", lambda: verdict(guest, "net-max")[0] == "accepted", 60)
    check(rig.host.qdiscs() == shaped, "adopted, not made anew", rig.host.qdiscs())


def actuator_hung(rig):
    """An actuator that answers nothing is fallen back to observe, and everybody can see so."""
    guest = rig.start()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    os.kill(rig.host.vnic.pid, signal.SIGSTOP)
    try:
        guest.run("hz declare nic/0 --net-max 20Mbit --persist")
        until("the verdict", lambda: verdict(guest, "net-max")[1] == "unavailable", 90)
    finally:
        os.kill(rig.host.vnic.pid, signal.SIGCONT)
    until("it is used again", lambda: verdict(guest, "net-max")[0] == "accepted", 90)
    rig.until_plan(20)


def hzd_stopped_while_a_guest_floods(rig):
    """SIGSTOP of hzd is nothing to the guest: its requests complete in the device."""
    guest = rig.start()
    os.kill(rig.host.hzd.pid, signal.SIGSTOP)
    try:
        guest.run("i=0; while [ $i -lt 300 ]; do hz declare nic/0 --net-max $((20 + i % 10))Mbit --persist || exit 1;"
                  " i=$((i + 1)); done", timeout=300)
        guest.qmp.cmd("query-status")
    finally:
        os.kill(rig.host.hzd.pid, signal.SIGCONT)
    # 299 % 10 = 9
    rig.until_plan(29)


def a_stranger_comes_first(rig):
    """Same socket, same uid, another process: while hzd restarts it connects before QEMU does, and is shut out."""
    guest = rig.start()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    rig.host.hzd.kill()
    # Standing ready: tries without pause, so it is there before QEMU's own second has passed.
    stranger = subprocess.Popen(
        ["ip", "netns", "exec", rig.host.netns.name, "/usr/bin/python3", "-c",
         "import socket, sys, time\n"
         "while True:\n"
         "    s = socket.socket(socket.AF_UNIX)\n"
         "    try:\n"
         "        s.connect(sys.argv[1])\n"
         "        break\n"
         "    except OSError:\n"
         "        time.sleep(0.01)\n"
         "try:\n"
         "    print('got', len(s.recv(1)))\n"
         "except OSError:\n"
         "    print('got 0')\n", rig.host.socket("A")], stdout=subprocess.PIPE, text=True)
    try:
        rig.host.start_hzd()
        until("A's own link", lambda: rig.host.linked("A"), 60)
        out, _ = stranger.communicate(timeout=30)
        check(out.strip() == "got 0", "the stranger is shut out without a word", out)
    finally:
        stranger.kill()
    rig.until_plan(30)


def garbage_on_the_link(rig):
    """Bytes that are no frame close that connection only; A's own link lives on."""
    guest = rig.start()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(rig.host.socket("A"))
        s.settimeout(30)
        try:
            s.sendall(b"\xff" * 5000)
            while s.recv(4096):
                pass
        except (ConnectionError, BrokenPipeError):
            pass
    check(rig.host.hzd.alive(), "hzd lives")
    check(rig.host.linked("A"), "A's link stands")
    guest.run("hz declare nic/0 --net-max 20Mbit --persist --wait")
    rig.until_plan(20)


def a_vm_that_goes_leaves_nothing(rig):
    guest = rig.start()
    before = rig.host.qdiscs()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    until("shaping", lambda: rig.host.qdiscs() != before, 30)
    guest.process.kill()
    until("no link", lambda: not rig.host.linked("A"), 30)
    until("its shaping gone", lambda: "htb" not in rig.host.netns.run("tc", "qdisc", "show", "dev", "tapA"), 60)


def the_driver_reloads(rig):
    """Unloading while a reader waits ends the reader; a fast reload doesn't flap the queues' owner."""
    guest = rig.start()
    watch = guest.start("exec hz watch --json")
    watch.wait_text("status")
    guest.run("rmmod virtio_hz", check=False)
    status = guest.run("lsmod | grep -c virtio_hz || true").strip()
    if status != "0":
        # Held by the open file: unbind is what takes the device away under a reader.
        guest.run("d=$(ls /sys/bus/virtio/drivers/virtio_hz | grep virtio); echo $d > /sys/bus/virtio/drivers/virtio_hz/unbind;"
                  " echo $d > /tmp/device")
        check(watch.wait(60) != 0, "the reader ends with an error", watch.text())
        guest.run("echo $(cat /tmp/device) > /sys/bus/virtio/drivers/virtio_hz/bind")
    until("/dev/hz is back", lambda: guest.run("test -c /dev/hz", check=False)[0] == 0, 30)
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    rig.until_plan(30)


def qmp_shell_works_on_the_control_socket(rig):
    """QEMU's own qmp-shell, unchanged, against hzd."""
    source = glob.glob(os.path.join(os.path.dirname(qemu()), "..", "src", "scripts", "qmp", "qmp-shell"))
    if not source:
        raise Skip("this QEMU has no source tree beside it with scripts/qmp/qmp-shell")
    rig.start(vnic=False)
    done = subprocess.run(["/usr/bin/python3", source[0], os.path.join(rig.host.run_dir, "control.sock")],
                          input="query-version\nquery-vms\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, check=False)
    check("hzd" in done.stdout and '"A"' in done.stdout, "it greets, and answers query-vms", done.stdout)


def board_survives_an_hzd_that_comes_late(rig):
    """A guest runs and declares with no hzd at all; one that starts later has it all."""
    rig.config()
    guest = rig.guest().ready()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist")
    check(not board(guest)["status"]["provider"], "no provider")
    rig.host.start_hzd()
    rig.host.start_vnic()
    until("A's link", lambda: rig.host.linked("A"), 60)
    rig.until_plan(30)
    until("the verdict", lambda: verdict(guest, "net-max")[0] == "accepted", 30)


TESTS = [actuator_killed, actuator_hung, hzd_stopped_while_a_guest_floods, a_stranger_comes_first, garbage_on_the_link,
         a_vm_that_goes_leaves_nothing, the_driver_reloads, qmp_shell_works_on_the_control_socket,
         board_survives_an_hzd_that_comes_late]
