# SPDX-License-Identifier: GPL-2.0-or-later
"""hz run without an agent: the program, its declarations, what notices do to it."""
import os
import signal
import socket
import threading
import unittest

from lab import FAMILY, PATIENCE, Lab, alive, stopped

# Says it is up, saves on TERM, tells of USR1; $OUT names its files.
PROGRAM = """#!/bin/sh
trap 'echo saving > "$OUT/saving.new"; mv "$OUT/saving.new" "$OUT/saved"; exit ${CODE:-0}' TERM
trap ': > "$OUT/usr1"' USR1
echo $$ > "$OUT/pid.new"
mv "$OUT/pid.new" "$OUT/pid"
while :; do sleep 0.02; done
"""


class Run(Lab):
    def setUp(self):
        super().setUp()
        self.env["OUT"] = self.dir.name
        self.program = self.write("program", PROGRAM)

    def run_program(self, *args):
        p = self.start("run", *args, "--", self.program)
        self.until("the program", lambda: os.path.exists(self.path("pid")))
        self.pid = int(self.read("pid"))
        return p

    def end(self, p, status):
        self.assertEqual(p.wait(PATIENCE), status, p.stderr.read())

    def test_exit_status(self):
        self.hz("run", "--", "sh", "-c", "exit 7", status=7)
        self.hz("run", "sh", "-c", "kill -9 $$", status=128 + 9)
        self.assertIn("no-such", self.hz("run", "no-such-program", status=127)[1])
        self.assertIn("Permission", self.hz("run", self.dir.name, status=126)[1])

    def test_command_line_errors(self):
        for args, words in ((["--on", "pauze=USR1", "true"], ["pauze", "'pause'"]),
                            (["--on", "qqqqqq=USR1", "true"], ["qqqqqq", "such as"]),
                            (["--on", "pause=USR9", "true"], ["USR9", "exec:"]),
                            (["--on", "pause", "true"], ["KIND=ACTION"]),
                            (["--on", "pause=USR1@soon", "true"], ["'soon'", "90s"]),
                            (["--on", "pause=CONT", "true"], ["CONT", "STOP"]),
                            (["--on", "pause=exec:", "true"], ["exec:", "command"]),
                            (["--on", "pause=ok,pause=ok", "true"], ["twice"]),
                            (["--on", "pause=USR1", "--prepared-when", "later", "true"], ["exit or file"]),
                            (["--prepared-when", "pause:exit", "true"], ["no --on"]),
                            (["--on", "pause=STOP", "--prepared-when", "pause:exit", "true"],
                             ["proves itself"]),
                            (["--declare", "net-min", "true"], ["name=value"]),
                            (["--declare", "net-mim=1", "true"], ["net-min"]),
                            (["--net-min=2Mbit", "--net-max=1Mbit", "true"], ["contradicts"]),
                            (["--extend-max", "x", "true"], ["'x'"]),
                            (["--frob", "true"], ["'--frob'", "none"]), (["--frob"], ["'--frob'", "none"]),
                            (["--group=1", "true"], ["--group", "no value"]), (["--group"], ["which command"])):
            err = self.hz("run", *args, status=125)[1]
            for w in words:
                self.assertIn(w, err)

    def test_declarations_live_as_long_as_the_program(self):
        p = self.run_program("--declare", "net-min=5Mbit,net-max=9Mbit", "--max-pause", "1s",
                             "--declare", "nic/1:net-weight=3", "--declare", "subscribe=pause,reclaim")
        self.assertEqual(self.declared(), {
            "nic/0": {"net-min": "5Mbit", "net-max": "9Mbit"}, "nic/1": {"net-weight": "3"},
            "vm": {"max-pause": "1s", "subscribe": "pause,reclaim"}})
        os.kill(self.pid, signal.SIGTERM)
        self.end(p, 0)
        self.assertEqual(self.declared(), {})

    def test_killed_hard(self):
        p = self.run_program("--net-min", "5Mbit")
        p.kill()
        self.until("withdrawn", lambda: self.declared() == {})
        self.until("the program's end", lambda: not alive(self.pid))

    def test_killed_hard_nothing_of_it_lives_on(self):
        for option in ([], ["--group"]):
            p = self.start("run", *option, "--net-min", "5Mbit", "--", self.write("tree", FAMILY))
            self.until("the family", lambda: os.path.exists(self.path("family")))
            family = [int(pid) for pid in self.read("family").split()]
            self.assertEqual([alive(pid) for pid in family], [True] * 4)
            p.kill()
            self.until("withdrawn", lambda: self.declared() == {})
            self.until("everybody's end", lambda: not any(alive(pid) for pid in family))
            os.unlink(self.path("family"))

    def test_ended_well_leaves_its_children_alone(self):
        self.hz("run", "sh", "-c", 'sleep 1000 > /dev/null 2>&1 & echo $! > "$OUT/left"; exit 3',
                status=3)
        left = int(self.read("left"))
        self.assertTrue(alive(left))
        os.kill(left, signal.SIGKILL)

    def test_guard_killed(self):
        p = self.run_program("--net-min", "5Mbit")
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as f:
            guard = int(f.read().rsplit(")", 1)[1].split()[1])
        self.assertNotEqual(guard, p.pid)
        os.kill(guard, signal.SIGKILL)
        self.end(p, 128 + 9)
        self.until("the program's end", lambda: not alive(self.pid))

    def test_declares_a_file(self):
        p = self.run_program("-f", self.write("needs", "net-min = 3Mbit\n"), "--on", "pause=SIGUSR1")
        self.assertEqual(self.declared(), {"nic/0": {"net-min": "3Mbit"}})
        self.end_now(p)

    def end_now(self, p):
        p.terminate()
        self.end(p, 0)

    def test_agent_that_isnt_one(self):
        self.env["HZ_AGENT_SOCKET"] = self.path("a" * 120)
        self.assertIn("too long", self.hz("run", "--on", "pause=ok", "true", status=125)[1])
        self.env["HZ_AGENT_SOCKET"] = self.path("agent")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(self.path("agent"))
            s.listen(1)

            def hang_up():
                with s.accept()[0] as caller:
                    caller.recv(200)
            t = threading.Thread(target=hang_up)
            t.start()
            self.assertIn("doesn't answer", self.hz("run", "--on", "pause=ok", "true", status=125)[1])
            t.join()

    def test_proof_file_here(self):
        self.env["OUT"] = "."
        p = self.start("run", "--on", "pause=USR1", "--prepared-when", "file=usr1", "--", self.program,
                       cwd=self.dir.name)
        self.until("the program", lambda: os.path.exists(self.path("pid")))
        self.provider("notice 1 pause scheduled 1 gate 60000")
        self.until_replied("1", "prepared")
        self.end_now(p)

    def test_signals_are_forwarded(self):
        p = self.run_program()
        p.send_signal(signal.SIGUSR1)
        self.until("USR1", lambda: os.path.exists(self.path("usr1")))
        p.terminate()
        self.end(p, 0)
        self.assertTrue(os.path.exists(self.path("saved")))

    def test_reclaim_saves_and_exits(self):
        p = self.run_program("--on", "pause=USR1,reclaim=TERM@90s")
        self.provider("notice 4 reclaim scheduled 1 gate 3600000")
        self.until_replied("4", "seen")
        self.assertTrue(alive(self.pid))        # an hour is more than 90 s
        self.provider("notice 4 reclaim scheduled 2 gate 80000")
        self.end(p, 0)
        self.assertEqual(self.notice("4")["reply"], "prepared")
        self.assertEqual(self.read("saved"), "saving\n")

    def test_deadline_unknown_after_a_migration(self):
        p = self.run_program("--on", "reclaim=TERM@90s", "--net-min", "5Mbit")
        self.provider("notice 4 reclaim scheduled 1 gate 3600000")
        self.until_replied("4", "seen")
        self.provider("migrate")                # the hour is not known any more, and still an hour
        self.assertEqual(self.notice("4")["deadline-ms"], "unknown")
        self.provider("notice 4 reclaim scheduled 2 gate 3500000")
        self.until_replied("4", "seen")
        self.assertTrue(alive(self.pid))
        self.provider("restore")                # the notice is cancelled, declarations are made anew
        self.until("declared", lambda: "nic/0" in self.declared())
        p.terminate()
        self.end(p, 0)

    def test_child_signals_ignored_by_the_parent(self):
        self.start("run", "--net-min", "5Mbit", "true",
                   preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)).wait(PATIENCE)

    def test_started_without_warning(self):
        p = self.run_program("--on", "reclaim=TERM@90s")
        self.provider("notice 4 reclaim started 1 gate unknown")
        self.end(p, 0)
        self.assertEqual(self.notice("4")["reply"], "prepared")

    def test_notice_from_before_the_start(self):
        self.provider("notice 4 reclaim scheduled 1 gate 1000")
        p = self.start("run", "--on", "reclaim=KILL", "sleep", "1000")
        self.end(p, 128 + 9)                    # ended by what was sent: that was asked for
        self.assertEqual(self.notice("4")["reply"], "prepared")

    def test_advice_is_only_seen(self):
        p = self.run_program("--on", "reclaim=TERM")
        self.provider("notice 4 reclaim advised 1 notify 1000")
        self.until_replied("4", "seen")
        self.assertTrue(alive(self.pid))
        self.provider("notice 4 reclaim scheduled 1 notify 1000")
        self.end(p, 0)

    def test_program_that_fails_to_save(self):
        self.env["CODE"] = "9"
        p = self.run_program("--on", "reclaim=TERM")
        self.provider("notice 4 reclaim scheduled 1 gate 60000")
        self.end(p, 9)
        n = self.notice("4")
        self.assertEqual((n["reply"], n["reply-arg"]), ("failed", 9))

    def test_proof_by_file(self):
        self.write("usr1", "from before")
        os.utime(self.path("usr1"), (1, 1))
        p = self.run_program("--on", "pause=USR1,reclaim=TERM",
                             "--prepared-when", "pause:file=" + self.path("usr1"))
        self.provider("notice 1 pause scheduled 1 gate 60000 500")
        self.until_replied("1", "prepared")
        self.assertEqual(self.read("usr1"), "")         # the old one was no proof
        self.provider("notice 1 pause scheduled 2 gate 60000 500")
        self.until_replied("1", "prepared")             # other terms, still prepared
        self.provider("notice 4 reclaim scheduled 1 gate 60000")
        self.end(p, 0)
        self.assertEqual(self.notice("4")["reply"], "prepared")

    def test_file_that_never_comes(self):
        p = self.run_program("--on", "reclaim=TERM", "--prepared-when",
                             "file=" + self.path("never"))
        self.provider("notice 4 reclaim scheduled 1 gate 60000")
        self.end(p, 0)
        n = self.notice("4")
        self.assertEqual((n["reply"], n["reply-arg"]), ("failed", 1))

    def test_stop_and_continue(self):
        p = self.run_program("--on", "pause=STOP")
        self.provider("notice 1 pause scheduled 1 gate 60000 500")
        self.until_replied("1", "prepared")
        self.assertTrue(stopped(self.pid))
        self.provider("notice 1 pause started 1 gate 60000 500",
                      "notice 1 pause completed 1 gate 60000 500")
        self.until("continued", lambda: not stopped(self.pid))
        self.provider("notice 2 pause scheduled 1 gate 60000 500")
        self.until_replied("2", "prepared")
        self.provider("drop 2")
        self.until("continued", lambda: not stopped(self.pid))
        p.terminate()
        self.end(p, 0)

    def test_stopped_program_hears_of_a_reclaim(self):
        p = self.run_program("--on", "pause=STOP,reclaim=TERM")
        self.provider("notice 1 pause scheduled 1 gate 60000 500")
        self.until_replied("1", "prepared")
        self.provider("notice 4 reclaim scheduled 1 gate 60000")
        self.end(p, 0)
        self.assertEqual(self.notice("4")["reply"], "prepared")

    def test_command(self):
        hook = 'env > "$OUT/env.new"; echo $HZ_PROGRAM_PID,a=b > "$OUT/arg"; mv "$OUT/env.new" "$OUT/env"'
        p = self.run_program("--on", "reclaim=exec:" + hook + ",pause=exec:exit 3")
        self.provider("notice 4 reclaim scheduled 1 gate 60000 action=2")
        self.until_replied("4", "prepared")
        env = dict(line.split("=", 1) for line in self.read("env").splitlines() if "=" in line)
        self.assertEqual(env["HZ_KIND"], "reclaim")
        self.assertEqual(env["HZ_NOTICE_ID"], "4" + "0" * 31)
        self.assertEqual(env["HZ_RECLAIM_ACTION"], "terminate")
        self.assertEqual(env["HZ_DURATION_MS"], "")
        self.assertLessEqual(0, int(env["HZ_DEADLINE_MS"]))
        self.assertLessEqual(int(env["HZ_DEADLINE_MS"]), 60000)
        self.assertEqual(self.read("arg"), f"{self.pid},a=b\n")
        self.provider("notice 1 pause scheduled 1 gate 60000")
        n = self.until_replied("1", "failed")
        self.assertEqual(n["reply-arg"], 3)
        p.terminate()
        self.end(p, 0)

    def test_cancelled_command_is_ended(self):
        p = self.run_program("--on", 'reclaim=exec:echo $$ > "$OUT/hook"; exec sleep 1000')
        self.provider("notice 4 reclaim scheduled 1 gate 60000")
        self.until("the hook", lambda: os.path.exists(self.path("hook")) and self.read("hook"))
        self.provider("notice 4 reclaim cancelled 1 gate 60000")
        hook = int(self.read("hook"))
        self.until("its end", lambda: not alive(hook))
        p.terminate()
        self.end(p, 0)

    def test_ok_and_tests(self):
        p = self.run_program("--on", "pause=ok,reclaim=TERM")
        self.provider("notice 1 pause scheduled 1 gate 60000 500")
        self.until_replied("1", "prepared")
        self.provider("notice 4 reclaim scheduled 1 gate 60000 test")
        self.until_replied("4", "prepared")
        self.assertTrue(alive(self.pid))        # a test is not acted on
        self.provider("notice 5 move scheduled 1 gate 60000")
        self.until_replied("5", "seen")         # no rule for it: seen, and no more
        self.assertEqual(self.notice("5")["reply"], "seen")
        p.terminate()
        self.end(p, 0)

    def test_asks_for_more_time(self):
        # 10 s is the most before a deadline that it asks; 9.5 s are left, a quarter of the hour is asked.
        p = self.run_program("--on", "reclaim=USR1", "--prepared-when", "file=" + self.path("x"),
                             "--extend-max", "1h")
        self.provider("notice 4 reclaim scheduled 1 gate 9500")
        n = self.until_replied("4", "extend")
        self.assertLessEqual(900 * 10**9, n["reply-arg"])
        self.assertLessEqual(n["reply-arg"], 909.5 * 10**9)
        self.assertEqual(self.declared()["vm"], {"extend-max": "1h"})
        p.terminate()
        self.end(p, 0)

    def test_group(self):
        self.write("tree", '#!/bin/sh\nsleep 1000 &\necho $! > "$OUT/grand.new"\n'
                           'mv "$OUT/grand.new" "$OUT/grand"\nwait\n')
        p = self.start("run", "--group", "--on", "reclaim=TERM", self.path("tree"))
        self.until("the tree", lambda: os.path.exists(self.path("grand")))
        grand = int(self.read("grand"))
        self.provider("notice 4 reclaim scheduled 1 gate 60000")
        self.end(p, 128 + 15)
        self.until("the grandchild's end", lambda: not alive(grand))

    def test_declares_again(self):
        p = self.run_program("--net-min", "5Mbit", "--on", "reclaim=TERM")
        self.provider("reset")
        self.until("declared again", lambda: "nic/0" in self.declared())
        self.provider("unplug")                 # and comes back at once
        self.await_line(p.stderr, "the device is back")
        self.until("declared again", lambda: "nic/0" in self.declared())
        self.provider("notice 4 reclaim scheduled 1 gate 60000")
        self.end(p, 0)
        self.until_replied("4", "prepared")

    def test_declares_again_once_it_may(self):
        p = self.run_program("--net-min", "5Mbit")
        p.send_signal(signal.SIGSTOP)           # another is quicker
        self.provider("unplug")
        other = self.start("declare", "--hold", "--net-min", "1Mbit")
        self.await_line(other.stdout, "net-min")
        p.send_signal(signal.SIGCONT)
        self.await_line(p.stderr, "another program", "tried again")
        other.kill()
        self.until("declared again", lambda: self.declared() == {"nic/0": {"net-min": "5Mbit"}})
        p.terminate()
        self.end(p, 0)

    def test_dropped_while_the_device_was_away(self):
        p = self.run_program("--on", "pause=STOP")
        self.provider("notice 1 pause scheduled 1 gate 60000 500")
        self.until_replied("1", "prepared")
        self.board.send_signal(signal.SIGSTOP)  # it reads on only after both
        self.hand.send(b"unplug")
        self.hand.send(b"drop 1")
        self.board.send_signal(signal.SIGCONT)
        self.assertEqual((self.hand.recv(9), self.hand.recv(9)), (b"ok", b"ok"))
        self.until("continued", lambda: not stopped(self.pid))
        p.terminate()
        self.end(p, 0)

    def test_only_one_without_an_agent(self):
        p = self.run_program("--on", "reclaim=TERM")
        self.assertIn("hz agent", self.hz("run", "--on", "pause=ok", "true", status=125)[1])
        self.hz("run", "--net-min", "1Mbit", "true")    # who answers nothing needn't be the one
        p.terminate()
        self.end(p, 0)

    def test_no_device(self):
        self.env["HZ_DEVICE"] = self.path("none")
        self.assertIn("virtio_hz", self.hz("run", "--net-min", "1Mbit", "true", status=125)[1])
        self.hz("run", "--if-available", "--net-min", "1Mbit", "sh", "-c", "exit 5", status=5)
        self.hz("run", "--if-available", "no-such-program", status=127)


if __name__ == "__main__":
    unittest.main()
