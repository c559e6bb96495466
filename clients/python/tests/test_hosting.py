"""Memories that programs host."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import unittest

from support import BINARY, Server, WithServer, run, until

import engram

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "battery_memory.py"


class Program:
    """A program that hosts a memory, in a process of its own; it prints a line once the memory is hosted."""

    def __init__(self, address, script):
        script = f"import engram, sys, time\nm = engram.connect({address!r})\n{script}\nwith hosted:\n    print('hosted', flush=True)\n    sys.stdin.read()\n"
        self.process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "hosted\n":
            raise AssertionError("the program does not host its memory")

    def kill(self):
        self.process.kill()
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Hosting(WithServer):
    made = 0

    def name(self):
        Hosting.made += 1
        return f"Hosted{Hosting.made}"

    def host(self, **options):
        hosted = self.m.host(self.name(), **options)
        hosted.add_segment("State", {"value": float, "unit": str})
        return hosted, f"{hosted.name}/State/test/a"

    def test_commit_hook(self):
        hosted, entity = self.host(program="checker")

        @hosted.on_commit
        def check(u):
            if u["unit"] == "refuse":
                raise engram.OutOfRange(u.entity, "not that")
            elif u["unit"] == "fail":
                raise ValueError("a defect")
            elif u["unit"] == "move":
                u.entity = engram.ID(u.entity.replace("/a", "/b"))
            elif u["unit"] == "flee":
                u.entity = engram.ID("GeneralPurpose/Seen/test/a")
            elif u["unit"] == "type":
                u.instances = [engram.Datum(b"", type="engram.speech.Text")]
            elif u["unit"] == "garbage":
                u.value = b"\xff\xff\xff"
            elif u["unit"] == "km":
                u.value = {"value": u["value"] * 1000, "unit": "m"}

        def commit(unit):
            return self.m.commit(entity, {"value": 1.5, "unit": unit}, confidence=0.5)

        with hosted:
            commit("km")
            s = self.m.latest(entity)
            self.assertEqual((s["value"], s["unit"], s.confidence), (1500, "m", 0.5))
            self.assertEqual(commit("move").entity, f"{hosted.name}/State/test/b")
            for unit, error, words in [("refuse", engram.OutOfRange, "not that"), ("fail", engram.Internal, "ValueError: a defect"),
                                       ("flee", engram.Internal, "not in its memory"), ("type", engram.TypeMismatch, ""), ("garbage", engram.Corrupt, "")]:
                with self.subTest(unit), self.assertRaisesRegex(error, words):
                    commit(unit)
            # One refused update does not keep others from being stored.
            done = self.m.commit_all([self.m.update(entity, {"value": 2, "unit": u}) for u in ("m", "refuse", "m")])
            self.assertEqual([d.error is None for d in done], [True, False, True])
        self.assertIsNotNone(self.m.latest(entity))
        with self.assertRaisesRegex(engram.Unavailable, "checker"):
            commit("m")
        with hosted.__class__(self.m, hosted.name) as again:  # without hooks
            commit("m")
        self.assertEqual(again.name, hosted.name)

    def test_query_hook(self):
        hosted, entity = self.host()
        asked = []

        @hosted.on_query
        def measure(q):
            asked.append(q)
            if q.concerns("State/test/a"):
                self.m.commit(entity, {"value": len(asked), "unit": "m"})
            if q.concerns("State/forbidden"):
                raise engram.Forbidden("that", "nobody may")

        with hosted:
            self.assertEqual(self.m.latest(entity)["value"], 1)
            self.assertEqual(len(self.m.query(f"{hosted.name}/State/other")), 0)
            self.m.query("Speech")
            self.assertEqual(len(asked), 2)
            with self.assertRaisesRegex(engram.Forbidden, "nobody may"):
                self.m.query(hosted.name)
            self.assertEqual([list(n.names.names.names) for n in asked[-1].request.memories], [[hosted.name]])

    def test_query_hook_that_fails(self):
        hosted, entity = self.host()

        @hosted.on_query
        def fail(q):
            raise ZeroDivisionError

        with hosted:
            self.m.commit(entity, {"value": 1, "unit": "m"})
            self.assertEqual(self.m.latest(entity)["value"], 1)
            self.assertIn(entity, self.m.query("*").entities)

    def test_predict_hook(self):
        hosted, entity = self.host()

        @hosted.on_predict
        def predict(id):
            return {"a": {"value": id.time / 1e9, "unit": "s"}, "b": None, "c": [engram.Datum(b"", type="engram.speech.Text")], "d": b"\xff", "e": 7}[id.entity.name]

        with hosted:
            got = [self.m.predict(f"{hosted.name}/State/test/{e}", at=5_000_000_000)[0] for e in "abcdef"]
            self.assertEqual((got[0].snapshot["value"], got[0].snapshot.time), (5, 5_000_000_000))
            self.assertEqual([type(p.error) for p in got], [type(None), engram.NotFound, engram.TypeMismatch, engram.Corrupt, engram.Invalid, engram.Internal])
        self.assertIsInstance(self.m.predict(entity, at=5)[0].error, engram.Unavailable)

    def test_defects_are_logged(self):
        """What is the program's fault is told in the program, with its traceback; a refusal is not."""
        hosted, entity = self.host()

        @hosted.on_commit
        def check(u):
            if u["unit"] == "fail":
                raise ValueError("a defect")
            if u["unit"] == "ago":
                u.time = "1970-01-01 00:00:01"
            if u["unit"] == "refuse":
                raise engram.OutOfRange(u.entity, "not that")

        @hosted.on_query
        def measure(asked):
            raise KeyError("another one")

        with hosted:
            with self.assertLogs("engram", "ERROR") as logged:
                with self.assertRaises(engram.Internal):
                    self.m.commit(entity, {"unit": "fail"})
                self.m.query(f"{hosted.name}/State/test/*", latest=2)
            self.assertIn(f"check of the memory {hosted.name} failed", logged.output[0])
            self.assertIn('raise ValueError("a defect")', logged.output[0])
            self.assertIn('raise KeyError("another one")', logged.output[1])
            with self.assertNoLogs("engram"), self.assertRaises(engram.OutOfRange):
                self.m.commit(entity, {"unit": "refuse"})
            self.assertEqual(self.m.commit(entity, {"unit": "ago"}).time, 10**9)

    def test_segments_that_cannot_be(self):
        hosted = self.m.host(self.name())
        hosted.add_segment("A/State", {"voltage": float})
        hosted.add_segment("B/State", {"voltage": float})  # of the same type
        for id, type, kind, text in (("C/State", {"voltage": int}, engram.AlreadyExists, "with other members"), ("A/State", {"voltage": float}, engram.AlreadyExists, "already"),
                                     ("T", {"a": {"b": int}}, engram.Invalid, "T.a: .*a class with annotations"), ("T", 5, engram.Invalid, "annotated members")):
            with self.assertRaisesRegex(kind, text):
                hosted.add_segment(id, type)

    def test_names_and_second_hosts(self):
        hosted, entity = self.host(program="first")
        with hosted:
            self.assertIn(hosted.name, self.m.memories())
            with self.m.watch("*") as updates:  # each is told once
                for value in (1, 2):
                    self.m.commit(entity, {"value": value, "unit": "m"})
                self.assertEqual([updates.get(180)["value"], updates.get(180)["value"]], [1, 2])
            for wrong, error in [(hosted.name, engram.AlreadyExists), ("Speech", engram.AlreadyExists), ("a" * 5000, engram.Invalid)]:
                with self.subTest(wrong[:20]), self.assertRaises(error):
                    self.m.host(wrong).__enter__()
            with self.assertRaises(engram.AlreadyExists):
                other = self.m.host(hosted.name + "x")
                other.add_segment("State", {"value": str})
                with other:
                    changed = self.m.host(hosted.name + "y")
                    changed.add_segment("State", type="unknown.Type")
                    with self.assertRaises(engram.NotFound):
                        changed.__enter__()
                same = self.m.host(hosted.name + "x")
                same.add_segment("State", {"value": int})
                same.__enter__()
        second = self.m.host(hosted.name)
        until(lambda: self.entered(second))
        second.close()

    @staticmethod
    def entered(hosted):
        try:
            hosted.__enter__()
        except engram.AlreadyExists:
            hosted._closed.clear()
            hosted._ready.clear()
            hosted._failed = None
            return False
        return True

    def test_killed_program(self):
        name = self.name()
        script = f"hosted = m.host({name!r}, timeout='60s', program='victim')\nhosted.add_segment('State')\n" \
                 "@hosted.on_commit\ndef f(u):\n    if u.value == 'hang':\n        print('hangs', flush=True)\n        time.sleep(600)\n"
        program = Program(self.server.socket, script)
        entity = f"{name}/State/test/a"
        self.m.commit(entity, "before")
        with self.m.watch(name) as watch:
            failed = []

            def hang():
                try:
                    self.m.commit(entity, "hang")
                except engram.Error as e:
                    failed.append(e)

            thread = threading.Thread(target=hang)
            thread.start()
            self.assertEqual(program.process.stdout.readline(), "hangs\n")
            program.kill()  # with its hook in the middle of a call
            thread.join()
            self.assertIsInstance(failed[0], engram.Unavailable)
            self.assertIn("victim", str(failed[0]))
            self.assertEqual(self.m.latest(entity).value, "before")
            program = Program(self.server.socket, script)
            self.m.commit(entity, "after")
            self.assertEqual(watch.get(timeout=120).value, "after")
            self.assertIn(name, run("ls", address=self.server.socket))
        program.close()

    def test_hung_program(self):
        hosted, entity = self.host(timeout="100ms", calls=2)
        go = threading.Event()

        @hosted.on_commit
        def hang(u):
            if u["unit"] == "hang":
                go.wait(300)

        with hosted:
            with self.assertRaisesRegex(engram.Unavailable, "did not answer within 100ms"):
                self.m.commit(entity, {"value": 1, "unit": "hang"})
            self.m.commit("Speech/Text/me/said", {"text": "another memory"})
            go.set()

            def works():
                try:
                    return self.m.commit(entity, {"value": 1, "unit": "m"})
                except engram.Unavailable:
                    return None

            until(works)
            go.clear()
            hung = [self.m.update(entity, {"value": 1, "unit": "hang"}) for _ in range(5)]
            self.assertEqual({type(d.error) for d in self.m.commit_all(hung)}, {engram.Unavailable})
            go.set()
            until(works)  # it was held for dead, and began anew


@unittest.skipUnless(BINARY, "ENGRAM_BINARY names no engram; 'go test ./clients/python' builds one")
class Restarts(unittest.TestCase):
    def test_server_begins_anew(self):
        server = Server()
        self.addCleanup(lambda: server.close())
        server.flags = ("--data", server.folder + "/data")
        server.stop()
        server.start()
        with engram.connect(server.socket) as m:
            hosted = m.host("Battery", program="battery.py")
            hosted.add_segment("State", {"charge": float}, durability="synced")
            hosted.on_commit(lambda u: None)
            with hosted:
                m.commit("Battery/State/arm/left", {"charge": 0.5})
                server.stop()
                server.start()

                def commits():
                    try:
                        return m.commit("Battery/State/arm/left", {"charge": 0.25})
                    except engram.Error:
                        return None

                until(commits)  # the program has found the server again
                self.assertEqual([s["charge"] for s in m.query("Battery", all=True)], [0.5, 0.25])
        server.stop()
        server.start()
        with engram.connect(server.socket) as m:  # without the program
            self.assertEqual(m.latest("Battery/State/arm/left")["charge"], 0.25)
            with self.assertRaisesRegex(engram.Unavailable, "battery.py"):
                m.commit("Battery/State/arm/left", {"charge": 1})


class Example(WithServer):
    def test_example(self):
        program = subprocess.Popen([sys.executable, str(EXAMPLE)], env={**os.environ, "ENGRAM_ADDRESS": self.server.socket})
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        until(lambda: "Battery" in [e["memory"] for e in json.loads(run("mns", "ls", "-o", "json", address=self.server.socket))])
        run("put", "Battery/State/arm/left", '{"voltage": 24100, "charge": 0.8}', address=self.server.socket)
        with self.assertRaises(subprocess.CalledProcessError) as e:
            run("put", "Battery/State/arm/left", '{"voltage": 24, "charge": 1.8}', address=self.server.socket)
        self.assertIn("a charge of 1.8", e.exception.stderr)
        found = self.m.query("Battery").entities
        self.assertEqual(found["Battery/State/arm/left"][0]["voltage"], 24.1)
        self.assertIn("Battery/State/computer/load", found)
        self.assertLess(self.m.predict("Battery/State/arm/left", at="now+1h")[0].snapshot["charge"], 0.75)


if __name__ == "__main__":
    unittest.main()
