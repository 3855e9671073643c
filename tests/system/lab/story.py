# SPDX-License-Identifier: GPL-2.0-or-later
"""Tell what happens as it happens; keep what was expected beside what came."""
import json
import sys
import time


class Story:
    def __init__(self):
        self.start = time.monotonic()
        self.rows = []
        self.step_name = ""

    def now(self):
        return time.monotonic() - self.start

    def step(self, name):
        self.step_name = name
        self.tell("")
        self.tell(f"== {name}")

    def tell(self, text):
        print(f"[{self.now():6.1f} s] {text}" if text else "", flush=True)

    def expect(self, what, ok, got, want):
        """One expectation; it never ends the story."""
        self.rows.append({"step": self.step_name, "what": what, "met": bool(ok), "got": str(got), "want": str(want)})
        self.tell(f"   {'ok  ' if ok else 'FAIL'} {what}: {got} (expected {want})")
        return ok

    def near(self, what, got, want, unit="Mbit/s", tolerance=0.1, slack=0.0):
        """@slack: an absolute difference that never counts, where @want is small."""
        return self.expect(what, abs(got - want) <= max(tolerance * want, slack), f"{got:.1f} {unit}",
                           f"{want:.1f} {unit} ±{tolerance:.0%}")

    def table(self):
        wide = max((len(r["what"]) for r in self.rows), default=10)
        print()
        step = None
        for row in self.rows:
            if row["step"] != step:
                step = row["step"]
                print(step)
            print(f"  {row['what']:{wide}}  {row['got']:>28}  {row['want']:<34} {'met' if row['met'] else 'NOT MET'}")
        print()

    def failed(self):
        return [r for r in self.rows if not r["met"]]

    def write(self, path, **more):
        with open(path, "w", encoding="utf-8") as out:
            json.dump({**more, "met": not self.failed(), "expectations": self.rows}, out, indent=1)
            out.write("\n")

    def verdict(self, name):
        """The last line, in the form every test runner here has."""
        bad = len(self.failed())
        print(f"{name}: {'everything as expected' if not bad else 'NOT as expected'}")
        print(f"{len(self.rows) - bad} passed, {bad} failed, 0 skipped")
        sys.stdout.flush()
        return 1 if bad else 0
