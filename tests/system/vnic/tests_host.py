# SPDX-License-Identifier: GPL-2.0-or-later
"""hzd gone, hung, back, or talking nonsense; modes; privileges."""
import json
import os
import signal
import subprocess
import time

from fakehost import BOUND, Refused
from rig import MBIT, PROGRAM, Monitor, Rig, Skip, equal, has, line, sh, until


def the_greeting():
    with Rig() as rig:
        rig.start()
        hz = rig.host.greeting["HZ"]
        equal((hz["actuator"], hz["protocol"], hz["protocol-min"]), ("vnic", 1, 1))
        assert hz["package"].startswith("hz ")


def observe_touches_nothing():
    with Rig() as rig:
        rig.tap("tapA")
        before = rig.snapshot()
        monitor = Monitor(rig)
        equal(rig.start("observe")["leaf"], "unprobed")
        result = rig.apply(line("tapA", MBIT), line("lo", MBIT))
        equal((result["tapA"]["state"], result["lo"]["state"]), ("would-apply", "unsupported"))
        has(result["tapA"]["detail"], "125000 B/s")
        rig.observe("tapA")
        equal(rig.shape("tapA", 0, shape=False), "unchanged")
        rig.forget_all()
        rig.host.hang_up()
        rig.host.accept()
        equal(monitor.stop(), [])
        equal(rig.snapshot(), before)


def observe_after_enforce_changes_nothing_by_itself():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", MBIT)
        rig.configure("observe")
        equal(rig.shape("tapA", 2 * MBIT), "would-apply")
        equal(rig.shape("tapA", MBIT), "unchanged")
        assert rig.shaped("tapA", MBIT)
        rig.tc("qdisc", "del", "dev", "tapA", "root")
        rig.host.no_event(0.2)
        rig.configure("enforce")
        rig.shape("tapA", MBIT)
        # One that was started anew and has probed nothing sees as much.
        rig.stop()
        rig.start("observe")
        equal(rig.shape("tapA", MBIT), "unchanged")
        equal(rig.shape("tapA", 2 * MBIT), "would-apply")
        # To give things back is allowed in every mode.
        rig.forget_all()
        assert rig.ifb("tapA") is None


def off_does_nothing():
    with Rig() as rig:
        rig.tap("tapA")
        before = rig.snapshot()
        rig.start("off")
        result = rig.apply(line("tapA", MBIT))["tapA"]
        equal(result["state"], "unsupported")
        has(result["detail"], "off")
        equal(rig.snapshot(), before)


def the_plan_outlives_hzd_for_stale_after():
    with Rig() as rig:
        for name in ("tapA", "tapB", "tapC"):
            rig.tap(name)
        rig.start(stale_after_ms=1500)
        rig.apply(line("tapA", MBIT, static=8 * MBIT), line("tapB", MBIT),
                  line("tapC", shape=False, static=MBIT))
        gone = time.monotonic()
        rig.host.close()
        until("ceilings are lifted", lambda: rig.rate("tapA") != MBIT)
        assert time.monotonic() - gone >= 1.5
        until("tapA has its static rate", lambda: rig.shaped("tapA", 8 * MBIT))
        until("tapB is as before hz", lambda: rig.rate("tapB") is None and rig.ifb("tapB") is None)
        # It was not shaped when hzd went: no ceiling comes out of nothing.
        assert rig.rate("tapC") is None


def hzd_back_in_time_changes_nothing():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start(stale_after_ms=3000)
        rig.shape("tapA", MBIT)
        rig.host.hang_up()
        monitor = Monitor(rig)
        rig.host.accept()
        rig.configure(stale_after_ms=3000)
        equal(rig.shape("tapA", MBIT), "unchanged")
        time.sleep(3.5)         # past the old deadline
        assert rig.shaped("tapA", MBIT)
        equal(monitor.stop(), [])


def a_hzd_that_only_accepts_is_no_hzd():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start(stale_after_ms=1500)
        rig.shape("tapA", MBIT)
        rig.host.hang_up()
        rig.host.accept()       # hung: it never says a word
        until("the ceiling is lifted all the same", lambda: rig.rate("tapA") is None)
        # and when it does wake up, all is well again
        rig.configure()
        equal(rig.shape("tapA", MBIT), "applied")


def lifted_after_a_restart_without_hzd():
    with Rig() as rig:
        rig.tap("tapA")
        rig.tap("tapB")
        rig.start()
        rig.apply(line("tapA", MBIT, static=8 * MBIT), line("tapB", MBIT))
        rig.stop(signal.SIGKILL)
        rig.start(stale_after_ms=1000)      # configured, but no plan comes, then it is gone
        rig.host.close()
        # The static rate is in the kernel, beside what it is about.
        until("tapA has its static rate", lambda: rig.shaped("tapA", 8 * MBIT))
        until("tapB is as before hz", lambda: rig.rate("tapB") is None and rig.ifb("tapB") is None)


def it_waits_for_a_hzd_that_isnt_there():
    with Rig() as rig:
        rig.host.close()
        rig.spawn()
        until("it says so", lambda: "can't connect" in open(rig.log, encoding="utf-8").read())
        time.sleep(1)
        equal(rig.process.poll(), None)
        # said once, however often it is tried
        equal(open(rig.log, encoding="utf-8").read().count("can't connect"), 1)
        rig.host.__init__(rig.host.path)
        rig.host.accept()
        equal(rig.configure()["leaf"] in ("fq_codel", "sfq", "pfifo"), True)


def garbage_costs_the_connection_only():
    with Rig() as rig:
        rig.tap("tapA")
        rig.start()
        rig.shape("tapA", MBIT)
        for garbage in (b"\0\1\2\3\n", b"{]\n", b"[1]\n", b"x" * 1100000 + b"\n", b"\xff\xfe\n",
                        b'{"a":' * 100 + b"1" + b"}" * 100 + b"\n"):
            try:
                rig.host.send_raw(garbage)
                while rig.host.read() is not None:
                    pass
                raise AssertionError(f"still connected after {garbage[:20]!r}")
            except (EOFError, ConnectionError, BrokenPipeError):
                pass
            rig.host.hang_up()
            rig.host.accept()
            rig.configure()
            equal(rig.shape("tapA", MBIT), "unchanged", garbage[:20])
        # half a line and silence
        rig.host.send_raw(b'{"execute": "forg')
        rig.host.hang_up()
        rig.host.accept()
        assert rig.shaped("tapA", MBIT)


def wrong_arguments_are_named():
    nic = {"key": "K", "ifname": "tapA", "shape": True, "rate": MBIT, "burst": 0, "static-rate": 0}

    def plan(**changes):
        entry = {**nic, **changes}
        return "apply", {"epoch": 1, "plan": [{k: v for k, v in entry.items() if v is not None}]}
    cases = (
        (("reboot", {}), 'no command "reboot"'),
        (("configure", {"protocol": 2, "mode": "enforce"}), '"protocol" is 2'),
        (("configure", {"protocol": 1}), '"mode" must be a string'),
        (("configure", {"protocol": 1, "mode": "on"}), '"on" is none of off, observe, enforce'),
        (("configure", {"protocol": 1, "mode": "off", "stale-after-ms": -1}), '"stale-after-ms" is -1'),
        (("configure", {"protocol": "1", "mode": "off"}), '"protocol" must be an integer'),
        (("observe", {}), '"keys" must be an array'),
        (("observe", {"keys": [3]}), "must be an object"),
        (("observe", {"keys": [{"key": "", "ifname": "x"}]}), 'key "" must have 1..127'),
        (("observe", {"keys": [{"key": "K", "ifname": "x" * 16}]}), "x" * 16, "longer than 15"),
        (("apply", {"epoch": 1}), '"plan" must be an array'),
        (plan(shape="yes"), "K", '"shape" must be true or false'),
        (plan(rate=None), "K", '"rate" must be an integer'),
        (plan(rate=-5), "K", '"rate" is -5'),
        (plan(rate=1.5), "K", '"rate" must be an integer'),
        (plan(burst="x"), "K", '"burst" must be an integer'),
        (plan(ifname=None), '"ifname" must be a string'),
        (plan(**{"static-rate": 7}), "K", "static-rate 7 "),
        (("apply", {"epoch": 1, "plan": [nic, nic]}), "K is twice"),
        (("apply", {"epoch": 1, "plan": [nic] * 4097}), "4097", "4096"),
        (("forget", {}), '"keys" must be an array'),
        (("forget", {"keys": [None]}), "every key must be a string"),
        (("forget", {"all": False}), '"all" can only be true'),
    )
    with Rig() as rig:
        rig.tap("tapA")
        before = rig.snapshot()
        rig.start()
        for (command, arguments), *parts in cases:
            try:
                answer = rig.host.execute(command, arguments)
                raise AssertionError(f"{command} {arguments}: {answer}")
            except Refused as error:
                has(str(error), *parts)
        rig.host.send_raw(b'{"no": "command"}\n')
        has(json.dumps(rig.host.read()), "error", "execute")
        rig.host.send_raw(b'{"execute": "observe", "arguments": 3}\n')
        has(json.dumps(rig.host.read()), "error", "must be an object")
        equal(rig.snapshot(), before)
        equal(rig.shape("tapA", MBIT), "applied")


def configure_comes_first():
    with Rig() as rig:
        rig.tap("tapA")
        rig.spawn()
        rig.host.accept()
        try:
            rig.shape("tapA", MBIT)
            raise AssertionError("taken")
        except Refused as error:
            has(str(error), "configure")
        equal(rig.observe("tapA")["tapA"]["shapeable"], True)


def it_keeps_one_capability():
    with Rig() as rig:
        os.chown(rig.folder, 65534, 65534)
        os.chown(rig.host.path, 65534, 65534)
        os.chmod(rig.host.path, 0o600)
        rig.tap("tapA")
        rig.start()
        with open(f"/proc/{rig.process.pid}/status", encoding="ascii") as text:
            status = dict(row.split(":\t", 1) for row in text.read().splitlines() if ":\t" in row)
        # CAP_NET_ADMIN is number 12
        for name in ("CapPrm", "CapEff", "CapBnd"):
            equal(int(status[name], 16), 1 << 12, name)
        equal(int(status["CapInh"], 16) | int(status["CapAmb"], 16), 0)
        equal(status["NoNewPrivs"], "1")
        equal(status["Uid"].split(), ["65534"] * 4)
        # and that is enough for all it does
        equal(rig.shape("tapA", MBIT), "applied")
        rig.forget_all()


def without_the_capability_it_says_so():
    if not os.path.exists("/usr/bin/setpriv"):
        raise Skip("setpriv (util-linux) isn't installed")
    done = subprocess.run(["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-all", "--reuid",
                           "65534", "--clear-groups", PROGRAM, "--socket", "/nonexistent/s"],
                          capture_output=True, text=True, timeout=BOUND, check=False)
    equal(done.returncode, 1)
    has(done.stderr, "hz-vnic: ", "CAP_NET_ADMIN")


def its_command_line():
    def fails(*args):
        done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=BOUND,
                              check=False)
        equal(done.returncode, 1, args)
        return done.stderr
    has(fails("--nonsense"), "hz-vnic: ", "--nonsense")
    has(fails("word"), "hz-vnic: ", '"word"')
    has(fails("--user", "no-such-user"), "--user", '"no-such-user"')
    has(sh(PROGRAM, "--help"), "--socket", "--release", "--user")
    has(sh(PROGRAM, "--version"), "hz-vnic ")


TESTS = [
    the_greeting, observe_touches_nothing, observe_after_enforce_changes_nothing_by_itself,
    off_does_nothing, the_plan_outlives_hzd_for_stale_after, hzd_back_in_time_changes_nothing,
    a_hzd_that_only_accepts_is_no_hzd, lifted_after_a_restart_without_hzd,
    it_waits_for_a_hzd_that_isnt_there, garbage_costs_the_connection_only, wrong_arguments_are_named,
    configure_comes_first, it_keeps_one_capability, without_the_capability_it_says_so,
    its_command_line,
]
