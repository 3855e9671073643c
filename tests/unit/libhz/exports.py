# SPDX-License-Identifier: GPL-2.0-or-later
"""libhz.so exports exactly what libhz.h declares, each under a version."""
import re
import subprocess
import sys

library, header = sys.argv[1:]
out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                     check=True, capture_output=True, text=True).stdout
exported = {}
for line in out.splitlines():
    _, kind, name = line.split(maxsplit=2)
    if kind != "A":                     # the version itself
        name, _, version = name.partition("@@")
        exported[name] = version
text = re.sub(r"/\*.*?\*/", "", open(header, encoding="utf-8").read(), flags=re.S)
declared = set(re.findall(r"\b(hz_\w+)\([^;{]*\);", text))
assert len(declared) > 30, declared
assert set(exported) == declared, set(exported) ^ declared
assert set(exported.values()) == {"HZ_0.1"}, exported
