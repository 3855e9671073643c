# SPDX-License-Identifier: GPL-2.0-or-later
"""One bench by its name; called by scripts/bench, which has everything built."""
import argparse
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "system"), os.path.join(HERE, "..", "system", "vnic")]
# pylint: disable=wrong-import-position
from report import Report  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["notify", "shape"])
    for option in ("--build", "--qemu", "--image", "--tools", "--host-tools"):
        parser.add_argument(option, required=True)
    parser.add_argument("--json")
    args = parser.parse_args()
    os.environ["HZ_BUILD"] = args.build
    report = Report(args.name)
    try:
        importlib.import_module(args.name).run(args, report)
    finally:
        if report.rows:
            report.table()
            if args.json:
                report.write(args.json)
    return 0 if report.met() else 1


sys.exit(main())
