# SPDX-License-Identifier: GPL-2.0-or-later
"""The hz commands of docs/tenant.md, each run as it stands."""
import os
import subprocess
import unittest

from lab import HZ, PATIENCE, Lab

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/tenant.md")


def blocks():
    """The indented blocks that have a command of hz's."""
    with open(GUIDE, encoding="utf-8") as f:
        text = f.read()
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines and all(line.startswith("    ") for line in lines) and lines[0].startswith("    hz "):
            yield "\n".join(line[4:] for line in lines)


class Guide(Lab):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.symlink(HZ, self.path("bin/hz"))
        self.env["PATH"] = self.path("bin") + ":" + self.env["PATH"]
        self.write("train.sh", "#!/bin/sh\nexit 0\n")
        self.write("needs.hz", "max-pause = 250ms\n[nic/0]\nnet-min = 200Mbit\nnet-weight = 4\n")
        self.provider("provider 1", "notice 3f2a reclaim scheduled 1 gate 3600000")

    def shell(self, commands):
        return subprocess.Popen(["bash", "-c", commands], env=self.env, cwd=self.dir.name, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_every_block(self):
        seen = []
        for commands in blocks():
            seen.append(commands)
            with self.subTest(commands):
                p = self.shell(commands)
                self.children.append(p)
                if "--wait" in commands:
                    self.until("declared", lambda: len(self.declared()) == 2)
                    self.provider("verdict nic/0 net-min clamped entitlement 10000000",
                                  "verdict vm max-pause accepted")
                if commands.startswith(("hz watch", "hz agent")):
                    self.assertTrue(p.stdout.readline())    # they go on until they are told to stop
                    p.terminate()
                    p.wait(PATIENCE)
                    continue
                out = p.communicate(timeout=PATIENCE)[0]
                self.assertEqual(p.returncode, 0, out)
                if "--wait" in commands:
                    with open(GUIDE, encoding="utf-8") as f:
                        guide = f.read()
                    for line in out.splitlines():
                        self.assertIn("    " + line + "\n", guide)
        self.assertGreater(len(seen), 4, seen)


if __name__ == "__main__":
    unittest.main()
