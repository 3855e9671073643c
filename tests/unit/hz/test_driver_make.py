# SPDX-License-Identifier: GPL-2.0-or-later
"""guest/driver's Makefile, as far as it goes without a kernel's headers."""
import os
import shutil
import subprocess
import tempfile
import unittest

DRIVER = os.environ["HZ_TEST_DRIVER"]


class Make(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="hz-test-")
        self.addCleanup(self.dir.cleanup)
        shutil.copytree(os.path.dirname(DRIVER), self.path("guest"))

    def path(self, *names):
        return os.path.join(self.dir.name, *names)

    def make(self, *args):
        return subprocess.run(["make", "-C", self.path("guest", "driver"), *args], check=False,
                              capture_output=True, text=True)

    def test_without_headers(self):
        for target in ("modules", "check", "clean", "modules_install"):
            p = self.make("KDIR=" + self.path("none"), "KVER=6.1.0-57-amd64", target)
            self.assertNotEqual(p.returncode, 0)
            self.assertIn(self.path("none"), p.stderr)
            self.assertIn("linux-headers-6.1.0-57-amd64", p.stderr)

    def test_dkms_tree_has_the_sources_only(self):
        with open(self.path("guest", "driver", "virtio_hz.mod.c"), "w", encoding="utf-8"):
            pass                # as a module built in place leaves it
        p = self.make("DESTDIR=" + self.path("dest"), "dkms-tree")
        self.assertEqual(p.returncode, 0, p.stderr)
        src = self.path("dest", "usr", "src")
        tree = os.path.join(src, os.listdir(src)[0])
        self.assertNotIn("virtio_hz.mod.c", os.listdir(tree))
        for name in ("Kbuild", "Makefile", "dkms.conf", "core.c", "hz.h",
                     "include/uapi/linux/virtio_hz.h", "probes/vqs_info.c"):
            self.assertTrue(os.path.exists(os.path.join(tree, name)), name)


if __name__ == "__main__":
    unittest.main()
