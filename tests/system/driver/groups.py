# SPDX-License-Identifier: GPL-2.0-or-later
"""The groups of the driver's tests, each with a guest of its own."""
from rig import case, kernel_is_silent

PLAIN = ("info", "first-read", "fault", "many-a-read", "declare", "bad", "owner", "close", "killed", "persist",
         "full-table", "claim", "cursors", "lag", "compat", "churn")


def plain(rig, score):
    """What needs nobody outside the guest."""
    guest = rig.ready(rig.guest("plain"))
    for name in PLAIN:
        score.test(f"plain: {name}", case, guest, name)
    score.test("plain: the kernel has nothing to complain of", kernel_is_silent, guest)
    guest.stop()


ALL = {"plain": plain}
