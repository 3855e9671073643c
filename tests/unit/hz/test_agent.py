# SPDX-License-Identifier: GPL-2.0-or-later
"""hz agent: hooks, registered runs, and what it may say when."""
import os
import socket
import struct
import unittest

from lab import FAMILY, PATIENCE, Lab, alive

HOUR = "3600000"


class Agent(Lab):
    def setUp(self):
        super().setUp()
        self.env["OUT"] = self.dir.name
        os.mkdir(self.path("hooks"))

    def agent(self, *args):
        p = self.start("agent", "--hooks", self.path("hooks"), "--state", self.path("state"), *args)
        self.await_line(p.stderr, "answering notices")
        return p

    def hook(self, name, text):
        self.write("hooks/" + name, "#!/bin/sh\n" + text + "\n")

    def log(self):
        try:
            return self.read("log").splitlines()
        except FileNotFoundError:
            return []

    def restart(self, p):
        p.kill()
        p.wait()
        return self.agent()

    # -- what it says

    def test_nothing_to_do_is_only_seen(self):
        p = self.agent()
        self.provider("notice 1 pause scheduled 1 gate " + HOUR)
        self.await_line(p.stderr, "unprepared")
        self.assertEqual(self.notice("1")["replied"], ["seen"])

    def test_hooks_in_order_then_prepared(self):
        self.hook("reclaim/10-first", 'echo first >> "$OUT/log"')
        self.hook("reclaim/20-second", 'echo second $HZ_KIND $HZ_REVISION $HZ_RECLAIM_ACTION >> "$OUT/log"')
        self.hook("pause/10-other", 'echo other >> "$OUT/log"')
        self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate %s action=1" % HOUR)
        self.assertEqual(self.until_replied("4", "prepared")["replied"], ["seen", "prepared"])
        self.assertEqual(self.log(), ["first", "second reclaim 1 hibernate"])

    def test_failing_hook(self):
        self.hook("reclaim/10-bad", "exit 7")
        self.hook("reclaim/20-after", 'echo after >> "$OUT/log"')
        self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        n = self.until_replied("4", "failed")
        self.assertEqual((n["reply-arg"], "prepared" in n["replied"]), (7, False))
        self.assertEqual(self.log(), [])
        self.hook("reclaim/10-bad", "exit 0")           # other terms: another try
        self.provider("notice 4 reclaim scheduled 2 gate " + HOUR)
        self.until_replied("4", "prepared")

    def test_hook_killed_by_a_signal(self):
        self.hook("reclaim/10-dies", "kill -SEGV $$")
        self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.assertEqual(self.until_replied("4", "failed")["reply-arg"], 128 + 11)

    def test_hooks_not_to_be_trusted(self):
        for name in ("10-write", "20-mode", "30-old.bak", "40-x~"):
            self.hook("reclaim/" + name, 'echo %s >> "$OUT/log"' % name)
        self.hook("reclaim/50-owner", "exit 0")
        if os.geteuid() == 0:
            os.chown(self.path("hooks/reclaim/50-owner"), 12345, 12345)
        else:
            os.unlink(self.path("hooks/reclaim/50-owner"))
        os.mkdir(self.path("hooks/reclaim/60-folder"))
        os.chmod(self.path("hooks/reclaim/10-write"), 0o777)
        os.chmod(self.path("hooks/reclaim/20-mode"), 0o644)
        p = self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.await_line(p.stderr, "unprepared")
        self.assertIn("10-write: left out: others may write", "".join(self.seen))
        self.assertIn("20-mode: left out: it isn't executable", "".join(self.seen))
        if os.geteuid() == 0:
            self.assertIn("50-owner: left out: its owner", "".join(self.seen))
        self.assertEqual(self.log(), [])

    def test_advice_and_end(self):
        self.hook("reclaim.advised/10-a", 'echo advised $HZ_STATE >> "$OUT/log"')
        self.hook("reclaim/10-b", 'echo main $HZ_STATE >> "$OUT/log"')
        self.hook("reclaim.end/10-c", 'echo end $HZ_STATE >> "$OUT/log"')
        self.agent()
        self.provider("notice 4 reclaim advised 1 notify " + HOUR)
        self.until("advice", lambda: self.log() == ["advised advised"])
        self.assertEqual(self.notice("4")["replied"], ["seen"])
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until_replied("4", "prepared")
        self.provider("notice 4 reclaim started 1 gate " + HOUR,
                      "notice 4 reclaim completed 1 gate " + HOUR)
        self.until("the end", lambda: len(self.log()) == 3)
        self.assertEqual(self.log(), ["advised advised", "main scheduled", "end completed"])

    def test_scheduled_while_advice_is_taken(self):
        self.hook("reclaim.advised/10-a", 'echo advised >> "$OUT/log"; read x < "$OUT/gate"')
        self.hook("reclaim/10-b", 'echo main >> "$OUT/log"')
        os.mkfifo(self.path("gate"))
        self.agent()
        self.provider("notice 4 reclaim advised 1 notify " + HOUR)
        self.until("advice", lambda: self.log() == ["advised"])
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        with open(self.path("gate"), "w", encoding="utf-8") as f:
            f.write("go\n")
        self.until_replied("4", "prepared")
        self.assertEqual(self.log(), ["advised", "main"])

    def test_reports_run_their_hooks_once(self):
        self.hook("resource-changed/10-a", 'echo changed >> "$OUT/log"')
        p = self.agent()
        self.provider("notice 9 resource-changed completed 1 none none")
        self.until("the hook", lambda: self.log() == ["changed"])
        self.restart(p)
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until_replied("4", "seen")
        self.assertEqual(self.log(), ["changed"])

    def test_synthetic_notice(self):
        self.hook("reclaim/10-a", 'echo ran >> "$OUT/log"')
        self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate %s test" % HOUR)
        self.until_replied("4", "prepared")
        self.assertEqual(self.log(), [])

    # -- once, and to the end

    def slow_hook(self):
        """One that goes on when something is written to the fifo."""
        self.hook("reclaim/10-slow", 'echo $$ >> "$OUT/log"; read x < "$OUT/gate"; exit $x')
        os.mkfifo(self.path("gate"))

    def go_on(self, code=0):
        with open(self.path("gate"), "w", encoding="utf-8") as f:
            f.write(f"{code}\n")

    def test_cancelled_hook_is_ended(self):
        self.slow_hook()
        self.hook("reclaim.end/10-end", 'echo end $HZ_STATE >> "$OUT/log"')
        self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until("the hook", lambda: len(self.log()) == 1)
        pid = int(self.log()[0])
        self.provider("notice 4 reclaim superseded 1 gate " + HOUR)
        self.until("its end", lambda: not alive(pid))
        self.until("what comes after", lambda: self.log()[1:] == ["end superseded"])

    def test_hook_that_ignores_sigterm_is_killed(self):
        self.hook("reclaim/10-deaf", 'trap "" TERM; echo $$ >> "$OUT/log"; sleep 1000 & wait; sleep 1000')
        self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until("the hook", lambda: len(self.log()) == 1)
        self.provider("drop 4")
        pid = int(self.log()[0])
        self.until("its end", lambda: not alive(pid))

    def test_told_again_is_not_run_again(self):
        self.slow_hook()
        p = self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until("the hook", lambda: len(self.log()) == 1)
        self.provider("pause 100", "migrate", "notice 4 reclaim scheduled 2 gate " + HOUR)
        self.await_line(p.stderr, "seen", "revision 2")
        self.go_on()
        self.until_replied("4", "prepared")
        self.assertEqual(self.notice("4")["revision"], 2)
        self.provider("notice 4 reclaim scheduled 3 gate " + HOUR)     # prepared is prepared
        self.until_replied("4", "prepared")
        self.assertEqual(len(self.log()), 1)

    def test_restart_doesnt_run_again(self):
        self.hook("reclaim/10-a", 'echo ran >> "$OUT/log"')
        self.hook("reclaim.end/10-b", 'echo end >> "$OUT/log"')
        p = self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until_replied("4", "prepared")
        p = self.restart(p)
        self.provider("notice 4 reclaim scheduled 2 gate " + HOUR)
        self.until_replied("4", "prepared")
        self.assertEqual(self.log(), ["ran"])
        self.provider("notice 4 reclaim completed 2 gate " + HOUR)
        self.until("the end", lambda: self.log() == ["ran", "end"])

    def test_killed_in_the_middle_runs_again(self):
        self.slow_hook()
        p = self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until("the hook", lambda: len(self.log()) == 1)
        p.kill()
        p.wait()
        self.until("the hook's end", lambda: not alive(int(self.log()[0])))
        self.agent()
        self.until("the hook again", lambda: len(self.log()) == 2)
        self.go_on()
        self.until_replied("4", "prepared")

    def test_killed_hard_nothing_of_a_hook_lives_on(self):
        self.hook("reclaim/10-tree", FAMILY)
        p = self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until("the family", lambda: os.path.exists(self.path("family")))
        family = [int(pid) for pid in self.read("family").split()]
        p.kill()
        self.until("everybody's end", lambda: not any(alive(pid) for pid in family))

    def test_driver_reset(self):
        self.hook("reclaim/10-a", 'echo ran >> "$OUT/log"')
        p = self.agent("--notice-needed-reclaim", "2m", "--extend-max", "5m")
        self.assertEqual(self.declared()["vm"],
                         {"notice-needed-reclaim": "2m", "extend-max": "5m"})
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until_replied("4", "prepared")
        self.provider("reset")                  # replies and declarations are gone
        self.until_replied("4", "prepared")
        self.until("declared again", lambda: "vm" in self.declared())
        self.provider("unplug")
        self.await_line(p.stderr, "answering notices")
        self.until("declared again", lambda: "vm" in self.declared())
        self.assertEqual(self.log(), ["ran"])

    def test_new_generation(self):
        self.slow_hook()
        self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until("the hook", lambda: len(self.log()) == 1)
        pid = int(self.log()[0])
        self.provider("restore")
        self.until("its end", lambda: not alive(pid))
        self.assertEqual(self.notice("4")["state"], "cancelled")

    def test_asks_for_more_time(self):
        self.slow_hook()
        self.agent("--extend-max", "1h")
        # Asked for from 10 s before: 9.5 s are left, and a quarter of the hour is asked for.
        self.provider("notice 4 reclaim scheduled 1 gate 9500")
        n = self.until_replied("4", "extend")
        self.assertLessEqual(900 * 10**9, n["reply-arg"])
        self.assertLessEqual(n["reply-arg"], 909.5 * 10**9)
        self.provider("notice 4 reclaim scheduled 2 gate 905000")
        self.until_replied("4", "seen")
        self.go_on()
        n = self.until_replied("4", "prepared")
        self.assertNotIn("extend", n["replied"])
        self.assertEqual(len(self.log()), 1)

    # -- runs

    def run_sleeper(self, *on, name="up"):
        script = f'trap "exit 0" TERM; trap : USR1; : > "$OUT/{name}"; while :; do sleep 0.02; done'
        p = self.start("run", *on, "sh", "-c", script)
        self.until("the program", lambda: os.path.exists(self.path(name)))
        return p

    def test_hooks_and_runs_all(self):
        self.slow_hook()
        self.agent()
        a = self.run_sleeper("--on", "reclaim=TERM", name="a")
        b = self.run_sleeper("--on", "reclaim=USR1,pause=ok", "--prepared-when",
                             "reclaim:file=" + self.path("b-saved"), name="b")
        self.provider("notice 1 pause scheduled 1 gate " + HOUR)
        self.until_replied("1", "prepared")             # only b has a say in pauses
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.assertEqual(a.wait(PATIENCE), 0)
        self.until("the hook", lambda: len(self.log()) == 1)
        self.assertEqual(self.notice("4")["replied"], ["seen"])
        self.go_on()
        self.until("the hook's end", lambda: not alive(int(self.log()[0])))
        self.assertEqual(self.notice("4")["replied"], ["seen"])
        self.write("b-saved", "")
        self.until_replied("4", "prepared")
        b.terminate()
        self.assertEqual(b.wait(PATIENCE), 0)

    def test_run_that_fails(self):
        self.slow_hook()
        self.agent()
        run = self.start("run", "--on", "reclaim=USR1", "sh", "-c", 'trap "exit 9" USR1; : > "$OUT/up"; '
                         "while :; do sleep 0.02; done")
        self.until("the program", lambda: os.path.exists(self.path("up")))
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.assertEqual(run.wait(PATIENCE), 9)
        self.assertEqual(self.until_replied("4", "failed")["reply-arg"], 9)
        self.until("the hook's end", lambda: not self.log() or not alive(int(self.log()[0])))

    def test_run_left_without_its_proof(self):
        self.agent()
        p = self.run_sleeper("--on", "reclaim=ok", "--on", "pause=exec:sleep 1000")
        self.provider("notice 1 pause scheduled 1 gate " + HOUR)
        self.until_replied("1", "seen")
        p.kill()
        self.assertEqual(self.until_replied("1", "failed")["reply-arg"], 255)

    def test_run_that_came_late(self):
        p = self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.await_line(p.stderr, "unprepared")
        run = self.start("run", "--on", "reclaim=TERM", "sleep", "1000")
        self.assertEqual(run.wait(PATIENCE), 128 + 15)
        self.until_replied("4", "prepared")

    def test_restart_waits_for_runs(self):
        self.hook("reclaim/10-a", 'echo ran >> "$OUT/log"')
        p = self.agent()
        run = self.run_sleeper("--on", "reclaim=TERM@1m")
        p.kill()
        p.wait()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        p = self.agent()
        self.until("the hook", lambda: self.log() == ["ran"])
        self.until_replied("4", "seen")
        self.provider("notice 4 reclaim scheduled 2 gate 30000")
        self.assertEqual(run.wait(PATIENCE), 0)
        self.until_replied("4", "prepared")
        self.assertEqual(self.notice("4")["revision"], 2)

    def test_agent_takes_over_from_a_run(self):
        run = self.run_sleeper("--on", "reclaim=TERM")
        p = self.start("agent", "--hooks", self.path("hooks"), "--state", self.path("state"))
        self.await_line(p.stderr, "another program answers")
        self.await_line(p.stderr, "answering notices")
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.assertEqual(run.wait(PATIENCE), 0)
        self.until_replied("4", "prepared")
        self.await_line(p.stderr, "prepared")

    def test_run_goes_on_without_its_agent(self):
        p = self.agent()
        run = self.run_sleeper("--on", "reclaim=TERM")
        p.terminate()
        self.assertEqual(p.wait(PATIENCE), 0)
        self.assertFalse(os.path.exists(self.path("agent")))
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.assertEqual(run.wait(PATIENCE), 0)
        self.until_replied("4", "prepared")

    # -- others

    def test_reply_by_hand(self):
        self.slow_hook()
        p = self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until("the hook", lambda: len(self.log()) == 1)
        self.hz("reply", "4", "decline")
        self.until_replied("4", "decline")
        self.go_on()
        self.await_line(p.stderr, "10-slow: exit 0")
        self.assertNotIn("prepared", self.notice("4")["replied"])
        self.provider("notice 4 reclaim cancelled 1 gate " + HOUR)
        self.assertIn("closed", self.hz("reply", "4", "seen", status=1)[1])

    def test_many_callers(self):
        p = self.agent()
        callers = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(70)]
        for s in callers:
            self.addCleanup(s.close)
            s.connect(self.path("agent"))
            s.settimeout(PATIENCE)
        self.await_line(p.stderr, "sent away")
        self.assertEqual(callers[-1].recv(10), b"")
        for s in callers:
            s.close()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until_replied("4", "seen")
        self.hz("reply", "4", "decline")

    def test_socket_that_cant_be_had(self):
        self.env["HZ_AGENT_SOCKET"] = self.path("a" * 120)
        self.assertIn("longer than the 107", self.hz("agent", status=1)[1])
        self.env["HZ_AGENT_SOCKET"] = self.path("no/such/dir")
        self.assertIn("No such file", self.hz("agent", status=1)[1])

    def test_hook_that_cant_be_run(self):
        self.write("hooks/reclaim/10-bad", "#!/no/such/interpreter\n")
        p = self.agent("-f", self.write("needs", "max-pause = 1s\n"), "--declare", "nic/0:net-min=1Mbit")
        self.assertEqual(self.declared(), {"vm": {"max-pause": "1s"}, "nic/0": {"net-min": "1Mbit"}})
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.assertEqual(self.until_replied("4", "failed")["reply-arg"], 127)
        self.await_line(p.stderr, "code 127")

    def test_second_agent(self):
        self.agent()
        err = self.hz("agent", "--state", self.path("state2"), status=1)[1]
        self.assertIn("another agent", err)
        self.assertTrue(os.path.exists(self.path("agent")))

    def test_strangers_at_the_socket(self):
        p = self.agent()
        for data in (b"x", b"\0" * 112, b"y" * 5000, struct.pack("=IHH", 0x677a6867, 99, 1) + b"\0" * 104):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.settimeout(PATIENCE)
            s.connect(self.path("agent"))
            s.send(data)
            self.assertEqual(s.recv(10), b"")           # sent away
            s.close()
        self.assertIsNone(p.poll())

    def test_tells_systemd(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.settimeout(PATIENCE)
        s.bind(self.path("notify"))
        self.env["NOTIFY_SOCKET"] = self.path("notify")
        p = self.agent()
        self.assertEqual(s.recv(100), b"READY=1")
        p.terminate()
        self.assertEqual(s.recv(100), b"STOPPING=1")
        s.close()

    def test_says_which_device_it_waits_for(self):
        self.env["HZ_DEVICE"] = self.path("none")
        p = self.start("agent", "--state", self.path("state"))
        self.await_line(p.stderr, self.path("none") + ": there is no such device: waiting")

    def test_waits_for_the_device(self):
        env = self.env
        self.env = dict(env, HZ_DEVICE=self.path("later"))
        p = self.start("agent", "--hooks", self.path("hooks"), "--state", self.path("state"))
        self.await_line(p.stderr, "waiting for it")
        os.symlink(self.device, self.path("later"))
        self.env = env
        self.await_line(p.stderr, "answering notices")

    def test_log_as_json(self):
        import json
        p = self.start("agent", "--hooks", self.path("hooks"), "--state", self.path("state"), "--json")
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        events = []
        while "unprepared" not in events:
            events.append(json.loads(p.stdout.readline())["event"])
        self.assertEqual(events, ["ready", "provider", "seen", "unprepared"])

    def test_state_file_of_another_kind(self):
        self.write("state", "notice zz 1 1 1\nnotice " + "a" * 40 + " 1 1 1\nrun -3 1\nrun 1\n\0\n", 0o644)
        self.hook("reclaim/10-a", 'echo ran >> "$OUT/log"')
        self.agent()
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until_replied("4", "prepared")

    def test_state_that_cant_be_written(self):
        self.hook("reclaim/10-a", "exit 0")
        p = self.start("agent", "--hooks", self.path("hooks"), "--state", self.path("no/such/dir"))
        self.await_line(p.stderr, "answering notices")
        self.provider("notice 4 reclaim scheduled 1 gate " + HOUR)
        self.until_replied("4", "prepared")
        p.terminate()
        self.assertIn("a restart of the agent may run hooks again", p.communicate(timeout=PATIENCE)[1])

    def test_command_line_errors(self):
        for args, words in ((["--frob", "x"], ["'--frob'", "none"]), (["--frob"], ["'--frob'", "none"]),
                            (["--json=1"], ["--json", "no value"]), (["x"], ["'x'"]), (["--hooks"], ["--hooks"]),
                            (["--extend-max", "x"], ["'x'"])):
            err = self.hz("agent", *args, status=2)[1]
            for w in words:
                self.assertIn(w, err)


if __name__ == "__main__":
    unittest.main()
