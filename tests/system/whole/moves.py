# SPDX-License-Identifier: GPL-2.0-or-later
"""State that is saved, loaded, moved: live link, failed migration, a new generation."""
import os

from rig import board, check, qemu, sh, until, verdict

NEW_GENERATION = "7d0e2a34-1111-4222-8333-444455556666"


def loadvm_under_a_live_link(rig):
    """The disruption is told, what the snapshot held stands again, hzd follows."""
    disk = os.path.join(rig.folder, "disk.qcow2")
    sh(os.path.join(os.path.dirname(qemu()), "qemu-img"), "create", "-q", "-f", "qcow2", disk, "64M")
    rig.config()
    rig.host.start_hzd()
    rig.host.start_vnic()
    guest = rig.guest(extra=["-drive", f"file={disk},if=none,id=d0,format=qcow2", "-device", "virtio-blk-pci,drive=d0"]).ready()
    until("A's link", lambda: rig.host.linked("A"), 60)
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    before = board(guest)["status"]["disruption"]
    check(not guest.qmp.cmd("human-monitor-command", {"command-line": "savevm one"}), "savevm")
    guest.run("hz declare nic/0 --net-max 20Mbit --persist --wait")
    rig.until_plan(20)
    # The command server's own state goes back too: a new connection.
    guest.exec.close()
    said = guest.qmp.cmd("human-monitor-command", {"command-line": "loadvm one"})
    check(not said, "loadvm", said)
    guest.ready()
    until("the disruption", lambda: board(guest)["status"]["disruption"] == before + 1, 30)
    rig.until_plan(30)
    until("the verdict again", lambda: verdict(guest, "net-max")[0] == "accepted", 30)


def a_failed_migration_resumes_at_the_source(rig):
    """The target never takes over; the source says hello again and goes on."""
    guest = rig.start()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    path = os.path.join(rig.folder, "nobody.sock")
    try:
        guest.qmp.cmd("migrate", {"uri": f"unix:{path}"})
        until("its failure", lambda: guest.qmp.cmd("query-migrate").get("status") == "failed", 30)
    except Exception as error:  # pylint: disable=broad-except
        check("No such file" in str(error), "migrate says why", error)
    until("A's link", lambda: rig.host.linked("A"), 30)
    guest.run("hz declare nic/0 --net-max 20Mbit --persist --wait")
    rig.until_plan(20)


def a_second_link_during_incoming_migration(rig):
    """The waiting target connects to the same hzd: silent standby, no error, and takes over when it runs."""
    guest = rig.start()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    path = os.path.join(rig.folder, "migrate.sock")
    # Both on one host, so each needs a tap; the link is what is tested.
    target = rig.guest(folder="B", incoming=f"unix:{path}", tap=rig.host.netns.tap("tapB"))
    check(rig.host.linked("A"), "the source's link stands beside the waiting one")
    guest.run("hz declare nic/0 --net-max 20Mbit --persist --wait")
    before = board(guest)["status"]["disruption"]
    guest.qmp.cmd("migrate", {"uri": f"unix:{path}"})
    target.qmp.wait_event("RESUME", 60)
    guest.stop()
    target.ready()
    until("the new link", lambda: rig.host.linked("A"), 60)
    check(board(target)["status"]["disruption"] == before + 1, "one disruption", board(target)["status"])
    rig.until_plan(20)


def restored_with_a_new_generation(rig):
    """A notice that was open is closed by the device itself, hzd or not; declarations stay as the property says."""
    guest = rig.start()
    guest.run("hz declare nic/0 --net-max 30Mbit --persist --wait")
    rig.host.cmd("notify", vms=["A"], kind="pause", deadline="30m", duration="1s", key="old-world")
    until("the notice", lambda: any(n["state"] == "scheduled" for n in board(guest)["notices"]), 30)
    state = os.path.join(rig.folder, "state")
    guest.qmp.cmd("migrate", {"uri": f"exec:cat > {state}"})
    until("the save", lambda: guest.qmp.cmd("query-migrate").get("status") == "completed", 60)
    guest.stop()
    rig.host.hzd.kill()
    again = rig.guest(incoming=f"exec:cat {state}", device_args=f",generation={NEW_GENERATION}").ready()
    now = board(again)
    check(now["status"]["generation"] == NEW_GENERATION, "the new generation", now["status"])
    pauses = [n["state"] for n in now["notices"] if n["kind"] == "pause"]
    check(pauses == ["cancelled"], "its notice is closed without hzd", now["notices"])
    check(now["declarations"], "declarations are kept by default")
    rig.host.start_hzd()
    until("A's link", lambda: rig.host.linked("A"), 60)
    rig.until_plan(30)


TESTS = [loadvm_under_a_live_link, a_failed_migration_resumes_at_the_source, a_second_link_during_incoming_migration,
         restored_with_a_new_generation]
