#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hzd as a process: command line, signals, lock, service manager, the actuators it runs itself."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HZD, VNIC = sys.argv[1:3]
BOUND = 60


class Place:
    """A folder with a configuration, and the hzds started on it."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="hz-hzd-")
        self.conf = self.path("hzd.conf")
        self.children = []
        self.write("[vm A]\nidentity=socket\n")

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, rest):
        with open(self.conf, "w") as f:
            f.write(f"[host]\nrun-dir={self.path('run')}\nstate-dir={self.path('state')}\n"
                    f"audit={self.path('audit.jsonl')}\n{rest}")

    def start(self, *args, env=None):
        child = subprocess.Popen([HZD, "--config", self.conf, *args], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env={**os.environ, **(env or {})})
        self.children.append(child)
        return child

    def run(self, *args):
        return subprocess.run([HZD, *args], text=True, capture_output=True, timeout=BOUND)

    def wait_up(self, child):
        until(lambda: os.path.exists(self.path("run/control.sock")) or child.poll() is not None)
        assert child.poll() is None, child.stdout.read()

    def ask(self, command, **arguments):
        """One command on the control socket, answers and events of others skipped."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(BOUND)
            s.connect(self.path("run/control.sock"))
            f = s.makefile("rw")
            f.readline()
            for name, args in (("qmp_capabilities", {}), (command, arguments)):
                f.write(json.dumps({"execute": name, "arguments": args}) + "\n")
                f.flush()
                while "event" in (answer := json.loads(f.readline())):
                    pass
            return answer["return"]

    def end(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            child.stdout.close()
        shutil.rmtree(self.dir)


def until(condition):
    end = time.monotonic() + BOUND
    while not (value := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return value


def stop(child, sig=signal.SIGTERM):
    child.send_signal(sig)
    return child.wait(BOUND)


def command_line(place):
    assert place.run("--version").stdout.startswith("hzd ")
    caps = json.loads(place.run("--print-capabilities").stdout)
    assert caps["wire"]["newest"] >= caps["wire"]["oldest"] >= 1
    assert "pause" in caps["notices"] and "net-min" in caps["fields"]
    for wrong in ("--nonsense",), ("stray",):
        done = place.run(*wrong)
        assert done.returncode == 2 and wrong[0].lstrip("-") in done.stderr, done


def configuration(place):
    done = place.run("--config", place.path("nowhere"))
    assert done.returncode == 1 and "nowhere" in done.stderr, done
    done = place.run("--config", place.conf, "--check-config")
    assert done.returncode == 0 and "good" in done.stdout, done
    assert not os.path.exists(place.path("run")), "checking made something"
    place.write("[vm A]\nidentty=socket\n")
    for args in ("--check-config",), ():
        done = place.run("--config", place.conf, *args)
        assert done.returncode == 1, done
        assert "identty" in done.stderr and "identity" in done.stderr, done


def service(place):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.settimeout(BOUND)
        told.bind(place.path("notify"))
        child = place.start(env={"NOTIFY_SOCKET": place.path("notify")})
        assert told.recv(100) == b"READY=1"
        child.send_signal(signal.SIGHUP)
        assert told.recv(100) == b"RELOADING=1"
        assert told.recv(100) == b"READY=1"
        # a reload of a broken configuration changes nothing
        place.write("[vm B]\nidentty=socket\n")
        child.send_signal(signal.SIGHUP)
        assert told.recv(100) == b"RELOADING=1"
        assert told.recv(100) == b"READY=1"
        assert [vm["name"] for vm in place.ask("query-vms")] == ["A"]
        place.write("[vm B]\nidentity=socket\n")
        child.send_signal(signal.SIGHUP)
        told.recv(100), told.recv(100)
        assert [vm["name"] for vm in place.ask("query-vms")] == ["B"]
        assert stop(child) == 0
        assert told.recv(100) == b"STOPPING=1"
    left = sorted(os.listdir(place.path("run")))
    assert left == ["hzd.lock", "vm"] and os.listdir(place.path("run/vm")) == [], left


def second_instance(place):
    child = place.start()
    place.wait_up(child)
    done = place.run("--config", place.conf)
    assert done.returncode == 1, done
    assert f"another hzd (pid {child.pid})" in done.stderr, done
    assert place.ask("query-vms")


def killed(place):
    child = place.start()
    place.wait_up(child)
    assert stop(child, signal.SIGKILL) == -signal.SIGKILL
    assert os.path.exists(place.path("run/control.sock"))
    child = place.start()
    until(lambda: answers(place))
    assert stop(child, signal.SIGINT) == 0


def answers(place):
    try:
        return place.ask("query-version")
    except (ConnectionError, FileNotFoundError):
        return None


def actuator(place):
    found = [a for a in place.ask("query-actuators") if a["name"] == "vnic"]
    return found[0] if found and found[0]["health"] == "ready" else None


def gone(pid):
    """Ended: no such process any more, or one that only waits to be collected."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def ready(place, other_than=None):
    """The pid of the actuator, once it is ready (and, if said, another than before)."""
    def pid():
        found = answers(place) and actuator(place)
        return found and found["pid"] != other_than and found["pid"]
    return until(pid)


def spawn(place):
    path = {"PATH": os.path.dirname(VNIC) + ":" + os.environ["PATH"]}
    child = place.start("--spawn", env=path)
    first = ready(place)
    # killed: another one comes
    os.kill(first, signal.SIGKILL)
    second = ready(place, other_than=first)
    # hzd killed: the actuator stays, and comes back to the next hzd
    stop(child, signal.SIGKILL)
    child = place.start("--spawn", env=path)
    third = ready(place)
    assert third == second, (second, third)
    # a clean stop ends what it runs itself; one it found is told to go by nobody but its owner
    stop(child)
    os.kill(third, signal.SIGTERM)
    until(lambda: gone(third))
    child = place.start("--spawn", env=path)
    last = ready(place)
    stop(child)
    until(lambda: gone(last))


def second_actuator(place):
    """Another hz-vnic beside the first says why hzd won't have it, once."""
    hzd = place.start()
    until(lambda: answers(place))

    def vnic():
        child = subprocess.Popen([VNIC, "--socket", place.path("run/actuators.sock")], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        place.children.append(child)
        return child
    vnic()
    first = ready(place)
    second = vnic()
    # it goes on trying, as hzd's own log shows
    tries = 0
    for line in hzd.stdout:
        tries += "connected already" in line
        if tries == 4:
            break
    stop(second)
    told = second.stdout.read()
    assert told.count("refuses") == 1 and told.count("connected to") == 1, told
    assert f"connected already (pid {first})" in told, told


TESTS = [command_line, configuration, service, second_instance, second_actuator, killed, spawn]


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for i, test in enumerate(TESTS, 1):
        place = Place()
        try:
            test(place)
            print(f"ok {i} {test.__name__}", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            print(f"# {type(e).__name__}: {e}\nnot ok {i} {test.__name__}", flush=True)
        finally:
            place.end()
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
