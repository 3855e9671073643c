# SPDX-License-Identifier: GPL-2.0-or-later
"""hz declare, withdraw, show, watch, reply, doctor."""
import json
import os
import socket
import struct
import subprocess
import threading
import unittest

from lab import PATIENCE, Lab


class Declare(Lab):
    def test_subject_is_the_fields_home(self):
        self.hz("declare", "--net-min", "200Mbit", "--max-pause=250ms")
        self.assertEqual(self.declared(), {"nic/0": {"net-min": "200Mbit"},
                                           "vm": {"max-pause": "250ms"}})

    def test_several_subjects_named(self):
        self.hz("declare", "nic/1", "--net-min", "1Mbit", "--net-max", "2Mbit",
                "job/a", "--job-role", "train")
        self.assertEqual(self.declared(), {"nic/1": {"net-min": "1Mbit", "net-max": "2Mbit"},
                                           "job/a": {"job-role": "train"}})

    def test_replaces_whole_or_updates(self):
        self.hz("declare", "--net-min", "1Mbit", "--net-max", "9Mbit")
        self.hz("declare", "--net-min", "2Mbit")
        self.assertEqual(self.declared()["nic/0"], {"net-min": "2Mbit"})
        self.hz("declare", "--update", "--net-max", "8Mbit")
        self.assertEqual(self.declared()["nic/0"], {"net-min": "2Mbit", "net-max": "8Mbit"})

    def test_file(self):
        path = self.write("f", "# what I need\nnet-min = 10Mbit\nmax-pause=1s\n\n[nic/1]\n"
                               "  net-weight =  7 \n")
        self.hz("declare", "-f", path, "--net-min", "20Mbit")   # the command line wins
        self.assertEqual(self.declared(), {"nic/0": {"net-min": "20Mbit"},
                                           "vm": {"max-pause": "1s"},
                                           "nic/1": {"net-weight": "7"}})

    def test_file_from_standard_input(self):
        self.hz("declare", "-f", "-", stdin="net-min = 10Mbit\n")
        self.assertEqual(self.declared(), {"nic/0": {"net-min": "10Mbit"}})

    def test_file_errors_name_the_line(self):
        for text, words in (("net-min = 1Mbit\nnet-mim = 2\n", ["line 2", "net-mim", "net-min"]),
                            ("net-min\n", ["line 1", "name = value"]),
                            ("net-min=1\n\nnet-min=2\n", ["line 3", "net-min", "twice"]),
                            ("[nic/0\n", ["line 1", "[subject]"]),
                            ("[Disk]\n", ["line 1", "Disk"]),
                            ("net-min = soon\n", ["line 1", "'soon'", "rate"])):
            err = self.hz("declare", "-f", self.write("f", text), status=2)[1]
            for w in words:
                self.assertIn(w, err)
        self.assertIn("No such file", self.hz("declare", "-f", self.path("no"), status=2)[1])
        self.assertEqual(self.declared(), {})

    def test_command_line_errors(self):
        for args, words in ((["--net-mim", "1"], ["--net-mim", "--net-min"]),
                            (["--net-min"], ["--net-min", "value must follow"]),
                            (["--net-min", "7bit"], ["net-min", "'7bit'", "exactly in whole bytes/s"]),
                            (["--max-pause", "1.5us"], ["exactly in whole ms"]),
                            (["--preemptible", "33.33%"], ["exactly in whole permille"]),
                            (["--net-weight", "1.5"], ["exactly in whole numbers"]),
                            (["--net-weight", "0"], ["net-weight", "'0'", "1 to 1000"]),
                            (["--net-min", "2Mbit", "--net-max", "1Mbit"], ["contradicts"]),
                            (["vm", "--net-min", "2Mbit"], ["net-min", "'vm'"]),
                            (["nic/0"], ["nic/0", "no field"]),
                            ([], ["no field"]),
                            (["--wait=1", "--net-min", "1Mbit"], ["--wait", "no value"]),
                            (["--timeout", "soon", "--net-min", "1Mbit"], ["'soon'", "30s"]),
                            (["--hold", "--persist", "--net-min", "1Mbit"], ["contradict"]),
                            (["--subscribe", "pauze"], ["pauze", "pause, reboot"]),
                            (["--job-role", "lead"], ["lead", "train, infer, other"])):
            err = self.hz("declare", *args, status=2)[1]
            for w in words:
                self.assertIn(w, err)

    def test_help_lists_fields_with_units(self):
        out = self.hz("declare", "--help")[0]
        for w in ("--net-min", "bytes/s", "--max-pause", "--job-role", "train|infer|other"):
            self.assertIn(w, out)
        self.assertNotIn("--carbon", out)       # reserved: nothing uses it

    def test_dry_run_sends_nothing(self):
        out = self.json("declare", "--dry-run", "--net-min", "1Mbit", "--vcpu-min", "2")
        verdicts = {f["name"]: f["verdict"] for d in out["declarations"] for f in d["fields"]}
        self.assertEqual(verdicts, {"net-min": "pending", "vcpu-min": "recorded"})
        self.assertEqual(self.declared(), {})

    def test_dry_run_for_people(self):
        out = self.hz("declare", "--dry-run", "--net-min", "1Mbit")[0]
        self.assertEqual(out.split(), ["nic/0", "net-min", "1Mbit", "pending"])
        self.assertIn("contradict", self.hz("declare", "--hold", "--dry-run", "--net-min", "1Mbit", status=2)[1])

    def test_fields_of_other_subjects(self):
        self.hz("declare", "--gpu-min", "1", "--ckpt-interval-min", "1h", "--job-id", "my \"job\"")
        self.assertEqual(sorted(self.declared()), ["ckpt", "gpu", "vm"])

    def test_more_subjects_than_a_board_holds(self):
        args = [a for i in range(17) for a in (f"nic/{i}", "--net-min", "1Mbit")]
        self.assertIn("at most 16", self.hz("declare", *args, status=2)[1])

    def test_hold_while_the_device_goes_and_comes_back(self):
        p = self.start("declare", "--hold", "--net-min", "1Mbit")
        self.await_line(p.stdout, "net-min")
        os.rename(self.device, self.device + ".away")
        self.provider("unplug")
        self.await_line(p.stderr, "the device is gone", "waiting")
        os.rename(self.device + ".away", self.device)
        self.await_line(p.stderr, "the device is back")
        self.until("declared again", lambda: "nic/0" in self.declared())
        p.kill()
        self.until("withdrawn", lambda: self.declared() == {})

    def test_update_refused(self):
        p = self.start("declare", "--hold", "--net-min", "1Mbit")
        self.await_line(p.stdout, "net-min")
        self.assertIn("another program", self.hz("declare", "--update", "--net-max", "2Mbit", status=1)[1])

    def test_hold_until_killed(self):
        p = self.start("declare", "--hold", "--net-min", "1Mbit")
        self.await_line(p.stdout, "net-min")
        self.assertIn("nic/0", self.declared())
        err = self.hz("declare", "--net-min", "2Mbit", status=1)[1]
        self.assertIn("another program", err)
        self.provider("reset")                  # emptied: it declares again
        self.until("declared again", lambda: "nic/0" in self.declared())
        p.kill()
        self.until("withdrawn", lambda: "nic/0" not in self.declared())

    def wait(self, *verdicts, status):
        p = self.start("declare", "--net-min", "200Mbit", "--wait", "--json")
        self.until("declared", lambda: "nic/0" in self.declared())
        self.provider(*verdicts)
        out, err = p.communicate(timeout=PATIENCE)
        self.assertEqual(p.returncode, status, err)
        return json.loads(out)["declarations"][0]["fields"][0]

    def test_wait_accepted(self):
        self.assertEqual(self.wait("verdict nic/0 net-min accepted", status=0)["verdict"],
                         "accepted")

    def test_wait_clamped(self):
        f = self.wait("verdict nic/0 net-min pending",
                      "verdict nic/0 net-min clamped entitlement 10000000", status=0)
        self.assertEqual((f["verdict"], f["in-force"], f["in-force-text"], f["reason"]),
                         ("clamped", 10000000, "80Mbit", "entitlement"))

    def test_wait_refused(self):
        f = self.wait("verdict nic/0 net-min unsupported datapath", status=3)
        self.assertEqual((f["verdict"], f["reason"]), ("unsupported", "datapath"))

    def test_wait_in_vain(self):
        err = self.hz("declare", "--net-min", "1Mbit", "--wait", "--timeout", "50ms", status=4)[1]
        self.assertIn("no provider is listening", err)
        self.provider("provider 1")
        err = self.hz("declare", "--net-min", "1Mbit", "--wait", "--timeout", "50ms", status=4)[1]
        self.assertNotIn("no provider", err)


class Withdraw(Lab):
    def test_withdraw(self):
        self.hz("declare", "--net-min", "1Mbit", "--max-pause", "1s")
        self.assertEqual(self.json("withdraw", "nic/0"), {"withdrawn": ["nic/0"]})
        self.assertEqual(list(self.declared()), ["vm"])
        self.assertIn("no declaration", self.hz("withdraw", "nic/0", status=1)[1])
        self.assertIn("which subject", self.hz("withdraw", status=2)[1])
        self.assertIn("--frob", self.hz("withdraw", "--frob", "vm", status=2)[1])
        self.assertIn("--frob", self.hz("withdraw", "vm", "--frob", status=2)[1])
        self.assertIn("NIC", self.hz("withdraw", "NIC", status=2)[1])


class ShowAndWatch(Lab):
    def test_show_text(self):
        self.provider("provider 1", "notice ab reclaim scheduled 1 gate 60000 action=2")
        self.hz("declare", "--net-min", "200Mbit")
        self.provider("verdict nic/0 net-min clamped contention 10000000")
        out = self.hz("show")[0]
        for w in ("provider listening", "200Mbit", "clamped to 80Mbit", "ab0000000000",
                  "reclaim", "in ", "terminate"):
            self.assertIn(w, out)

    def test_watch_tells_changes(self):
        p = self.start("watch", "--json")
        self.assertEqual(json.loads(p.stdout.readline())["changed"], ["board"])
        self.provider("provider 1")
        self.assertEqual(json.loads(p.stdout.readline())["changed"], ["provider"])
        self.hz("declare", "--net-min", "1Mbit")
        self.assertEqual(json.loads(p.stdout.readline())["declaration"]["subject"], "nic/0")
        self.hz("withdraw", "nic/0")
        self.assertTrue(json.loads(p.stdout.readline())["declaration"]["gone"])
        self.provider("notice 1 pause scheduled 1 gate unknown")
        self.assertEqual(json.loads(p.stdout.readline())["notice"]["deadline-ms"], "unknown")
        self.provider("migrate")
        self.assertIn("disruption", json.loads(p.stdout.readline())["changed"])
        self.provider("unplug")
        self.assertEqual(p.wait(PATIENCE), 5)

    def test_watch_for_people(self):
        p = self.start("watch")
        self.await_line(p.stdout, "the board from the start")
        self.hz("declare", "--max-pause", "1s")
        self.await_line(p.stdout, "vm", "max-pause", "1s")
        self.hz("withdraw", "vm")
        self.await_line(p.stdout, "vm", "withdrawn")
        self.provider("notice 1 pause scheduled 1 gate 7200000 1500 lapsed test")
        self.await_line(p.stdout, "in 1h59m", "1.5s", "a test", "lapsed")
        self.provider("notice 1 pause scheduled 2 gate 0")
        self.await_line(p.stdout, "pause", "past")
        self.provider("notice 1 pause scheduled 3 gate unknown")
        self.await_line(p.stdout, "pause", "unknown")
        self.provider("pause 2500")
        self.await_line(p.stdout, "it stood still for 2.5s")
        self.provider("restore")
        self.await_line(p.stdout, "moved or restored")
        self.await_line(p.stdout, "restored or cloned")
        self.await_line(p.stdout, "cause: generation")
        self.provider("drop 1")
        self.await_line(p.stdout, "forgotten")

    def test_watch_skips_what_cant_be_understood(self):
        p = self.start("watch", "--json")
        p.stdout.readline()
        self.provider("raw 0102030405", "notice 1 pause scheduled 1 gate 1000", "drop 1")
        while not json.loads(p.stdout.readline()).get("notice", {}).get("gone"):
            pass

    def test_show_a_pause_and_fields_unknown(self):
        self.provider("pause 2500")
        self.assertEqual(self.show()["status"]["pause-ns"] // 10**6, 2500)
        # A declaration of field 0x7001 with bytes 01 02 by a newer program, as the driver tells it:
        # head (size 128, head 80, type, flags, body 48), key, then seq, verdict_seq, lengths, document.
        key = b"vm".ljust(32, b"\0")
        head = struct.pack("=IHHIIQQQ", 128, 72, 0x202, 0, 32, 1, 99, 0) + key
        body = struct.pack("<QQHHI", 5, 0, 8, 0, 0) + struct.pack("<HH2s2x", 0x7001, 2, b"\1\2")
        self.assertEqual((len(head), len(body)), (72, 32))
        p = self.start("watch")
        self.await_line(p.stdout, "the board from the start")
        self.provider("raw " + (head + body).ljust(128, b"\0").hex())
        self.await_line(p.stdout, "vm", "0x7001", "0102", "pending")

    def test_watch_ends_when_nobody_reads(self):
        p = self.start("watch")
        p.stdout.readline()
        p.stdout.close()
        self.provider("provider 1")
        self.assertNotEqual(p.wait(PATIENCE), 0)
        p.stdout = None


class Reply(Lab):
    def setUp(self):
        super().setUp()
        self.provider("notice ab1 pause scheduled 1 gate 60000", "notice ab2 pause scheduled 1 gate 60000")

    def test_replies(self):
        self.hz("reply", "ab1", "seen")
        out = self.json("reply", "AB1", "extend", "30s")
        self.assertEqual((out["reply"], out["arg"], out["taken"]), ("extend", 30000000000, True))
        self.assertEqual(self.notice("ab1")["replied"], ["seen", "extend"])
        self.hz("reply", "ab2", "failed", "7")
        self.assertEqual(self.notice("ab2")["reply-arg"], 7)

    def test_errors(self):
        for args, status, words in (
                (["ab", "seen"], 1, ["several"]), (["cd", "seen"], 1, ["'cd'", "there is none"]),
                (["xy", "seen"], 1, ["hexadecimal"]), (["ab1", "ready"], 2, ["'ready'", "prepared"]),
                (["ab1", "extend"], 2, ["time must follow"]),
                (["ab1", "extend", "soon"], 2, ["'soon'", "30s"]),
                (["ab1", "extend", "0s"], 2, ["no time at all"]),
                (["ab1", "failed", "x"], 2, ["'x'", "number"]),
                (["ab1", "seen", "now"], 2, ["takes nothing", "'now'"]),
                (["ab1"], 2, ["usage"]), (["--all", "ab1", "seen"], 2, ["--all"])):
            err = self.hz("reply", *args, status=status)[1]
            for w in words:
                self.assertIn(w, err)

    def test_no_agent_at_its_socket(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(self.path("agent"))
            s.listen(1)
            t = threading.Thread(target=lambda: s.accept()[0].close())
            t.start()
            self.hz("reply", "ab1", "seen", status=1)
            t.join()
        other = self.start("run", "--on", "pause=ok", "sleep", "1000")
        self.await_line(other.stderr, "prepared")
        self.assertIn("isn't an hz agent", self.hz("reply", "ab1", "seen", status=1)[1])

    def test_closed_notice(self):
        self.provider("notice ab1 pause cancelled 1 gate 60000")
        self.assertIn("closed", self.hz("reply", "ab1", "seen", status=1)[1])


class Elsewhere(Lab):
    def test_no_device(self):
        self.env["HZ_DEVICE"] = self.path("none")
        for args in (["show"], ["watch"], ["declare", "--net-min", "1Mbit"], ["withdraw", "vm"],
                     ["reply", "ab", "seen"]):
            err = self.hz(*args, status=5)[1]
            self.assertIn(self.path("none"), err)
            self.assertIn("virtio_hz", err)

    def test_usage(self):
        self.assertIn("declare", self.hz("--help")[0])
        self.assertIn("0.1.0", self.hz("--version")[0])
        self.assertIn("usage", self.hz(status=2)[1])
        self.assertIn("'shew'", self.hz("shew", status=2)[1])
        for c in ("declare", "withdraw", "show", "watch", "reply", "run", "agent", "doctor"):
            self.assertIn("usage: hz " + c, self.hz(c, "--help")[0])
        for c in ("show", "watch", "doctor"):
            self.assertIn("--jsn", self.hz(c, "--jsn", status=2)[1])
            self.assertIn("'x'", self.hz(c, "x", status=2)[1])

    def test_doctor(self):
        out = self.json("doctor", status=1)     # this machine has no hz device
        result = {c["name"]: c["result"] for c in out["checks"]}
        self.assertFalse(out["ok"])
        self.assertEqual(result["open"], "ok")
        self.assertEqual((result["provider"], result["responder"]), ("note", "note"))
        text = self.hz("doctor", status=1)[0]
        self.assertIn("nobody answers notices", text)
        self.provider("provider 1")
        agent = self.start("agent", "--state", self.path("state"))
        self.await_line(agent.stderr, "answering notices")
        text = self.hz("doctor", status=1)[0]
        for w in ("is listening", "some program answers", self.path("agent")):
            self.assertIn(w, text)
        self.env["HZ_AGENT_SOCKET"] = self.path("a" * 120)
        self.env["HZ_DEVICE"] = self.path("none")
        text = self.hz("doctor", status=1)[0]
        for w in ("File name too long", self.path("none"), "FAIL  open"):
            self.assertIn(w, text)
        self.assertRegex(text, f"FAIL  open +{self.path('none')}: there is no such device\n")
        self.assertEqual(result["driver"], "fail" if not os.path.exists("/sys/module/virtio_hz")
                         else result["driver"])


@unittest.skipUnless("HZ_TEST_REAL_HZ" in os.environ, "no hz with the real transport")
class RealTransport(unittest.TestCase):
    """The device file's own transport, as far as it goes without the device."""
    def run_on(self, device):
        p = subprocess.run([os.environ["HZ_TEST_REAL_HZ"], "show"], capture_output=True, text=True,
                           timeout=PATIENCE, check=False, env=dict(os.environ, HZ_DEVICE=device))
        return p.returncode, p.stderr

    def test_not_an_hz_device(self):
        status, err = self.run_on("/dev/null")
        self.assertEqual(status, 1)
        self.assertIn("isn't an hz device", err)

    def test_missing(self):
        status, err = self.run_on("/dev/hz-there-is-none")
        self.assertEqual(status, 5)
        self.assertIn("/dev/hz-there-is-none", err)


if __name__ == "__main__":
    unittest.main()
