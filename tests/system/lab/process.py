# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes of a laboratory: started in a namespace, logged to a file, ended by their own id."""
import os
import signal
import subprocess
import time


class LabError(Exception):
    """Something of the laboratory itself doesn't work."""


def until(what, condition, timeout=30, interval=0.05):
    """Until condition() gives something true, which is returned; LabError naming @what after @timeout."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise LabError(f"{what}: not within {timeout} s")
        time.sleep(interval)


def sh(*argv, check=True, **kw):
    """Run a program to its end; its output."""
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **kw)
    if check and done.returncode != 0:
        raise LabError(f"{' '.join(map(str, argv))}: exit {done.returncode}: {done.stdout.strip()}")
    return done.stdout


class Process:
    """A long-running program; .log is where its output goes."""

    def __init__(self, name, argv, log, netns=None, env=None, uid=None):
        self.name = name
        self.log = log
        argv = [str(a) for a in argv]
        if uid is not None:
            argv = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups",
                    "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"] + argv
        if netns:
            argv = ["ip", "netns", "exec", netns] + argv
        self.argv = argv
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          env={**os.environ, **(env or {})}, start_new_session=True)
        self.pid = self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def tail(self, lines=15):
        with open(self.log, errors="replace") as log:
            return "".join(log.readlines()[-lines:]).strip()

    def check(self):
        if not self.alive():
            raise LabError(f"{self.name} ended with {self.popen.returncode}: {self.tail()}")

    def kill(self, number=signal.SIGKILL, timeout=10):
        if self.alive():
            self.popen.send_signal(number)
        self.popen.wait(timeout)

    def stop(self, timeout=10):
        """Ask it to end; what doesn't is killed. True when it ended by itself."""
        if not self.alive():
            return True
        self.popen.terminate()
        try:
            self.popen.wait(timeout)
            return True
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            return False
