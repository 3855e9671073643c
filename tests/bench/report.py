# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of a bench: printed as a table, written as JSON. Nothing is left out for looking bad."""
import json
import os
import platform
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def percentile(values, share):
    """The nearest-rank percentile; @share of 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


def commit():
    done = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty", "--abbrev=12"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() or "unknown"


def host(accelerator=None):
    """What the numbers depend on: processors, kernel, and how guests run."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    text = f"{os.cpu_count()} x {model}, Linux {platform.release()}"
    return text + (f", guests on {accelerator}" if accelerator else "")


def short(value):
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 100 else f"{value:.1f}"
    return "" if value is None else str(value)


class Report:
    """One bench's rows."""

    KEYS = ("name", "unit", "value", "p99", "peer", "peer_value", "ratio", "reach", "met")

    def __init__(self, bench):
        self.bench = bench
        self.rows = []
        self.notes = []
        self.accelerator = None

    def row(self, name, unit, value, **more):
        """@more: p99, peer, peer_value, reach, met; the ratio is worked out."""
        row = {"name": name, "unit": unit, "value": value, **more}
        if row.get("peer_value"):
            row["ratio"] = value / row["peer_value"]
        assert set(row) <= set(self.KEYS), row
        self.rows.append({key: row[key] for key in self.KEYS if row.get(key) is not None})
        print("  " + "  ".join(f"{key}={short(v)}" for key, v in self.rows[-1].items()), file=sys.stderr, flush=True)

    def times(self, name, nanoseconds, **more):
        """A row of times: p50 as its value, in microseconds."""
        us = [n / 1000 for n in nanoseconds]
        self.row(name, "us", percentile(us, 0.5), p99=percentile(us, 0.99), **more)

    def note(self, text):
        self.notes.append(text)
        print(f"  note: {text}", file=sys.stderr, flush=True)

    def table(self):
        cells = [list(self.KEYS)] + [[short(row.get(key)) for key in self.KEYS] for row in self.rows]
        widths = [max(len(line[i]) for line in cells) for i in range(len(self.KEYS))]
        used = [i for i in range(len(self.KEYS)) if any(line[i] for line in cells[1:])]
        for number, line in enumerate(cells):
            print("  ".join(line[i].ljust(widths[i]) for i in used).rstrip())
            if number == 0:
                print("  ".join("-" * widths[i] for i in used))
        for text in self.notes:
            print(f"note: {text}")
        print(f"{host(self.accelerator)}; {commit()}")

    def write(self, path):
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"bench": self.bench, "commit": commit(), "host": host(self.accelerator), "rows": self.rows},
                      out, indent=1)
            out.write("\n")

    def met(self):
        return all(row.get("met", True) for row in self.rows)
