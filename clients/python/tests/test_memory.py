import asyncio
import functools
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from unittest import mock

import numpy as np
from support import BINARY, Server, WithServer, run, until

import engram
from engram import _rpc

T = engram.Time


class Memory(WithServer):
    """The four verbs. Each way to the server has a class below."""

    def test_commit_latest(self):
        e = self.entity("Speech/Text")
        id = self.m.commit(e, {"text": "hello", "timestamp": "2022-02-18 13:06:56.492182"}, time=engram.Time(5), confidence=0.5)
        s = self.m.latest(e)
        self.assertEqual((s.id, s.time, s["text"], s.value.text, s.confidence, s.type), (id, 5, "hello", "hello", 0.5, "engram.speech.Text"))
        self.assertEqual(str(s.value.timestamp), "2022-02-18 13:06:56.492182")
        self.assertGreater(s.number, 0)
        self.assertEqual(self.m.get(id)["text"], "hello")

    def test_command_line_sees_it(self):
        e = self.entity("Speech/Text")
        self.m.commit(e, {"text": "from Python"})
        self.assertIn("from Python", run("get", e, address=self.server.socket))
        run("put", e, '{"text": "from Go"}', address=self.server.socket)
        self.assertEqual(self.m.latest(e)["text"], "from Go")

    def test_instances_and_links(self):
        speech = self.m.commit(self.entity("Speech/Text"), {"text": "look"})
        e = self.entity("Speech/Command")
        id = self.m.commit(e, instances=[engram.Datum({"text": "a", "source": speech}, 0.25) if self.has("engram.speech.Command", "source")
                                         else engram.Datum({"text": "a"}, 0.25), {"text": "b"}])
        s = self.m.get(id)
        self.assertEqual([(i["text"], i.confidence) for i in s], [("a", 0.25), ("b", 1.0)])
        self.assertEqual(s[1].id, id + "/1")

    def has(self, type, member):
        return any(m.name == member for m in self.m.type(type).members)

    def test_selectors(self):
        e = self.entity("RobotState/Proprioception")
        for t in (10, 20, 30, 40):
            self.m.commit(e, {"position": [float(t)]}, time=engram.Time(t))

        def times(**selection):
            return [s.time for s in self.m.query(e, **selection)]

        self.assertEqual(times(), [40])
        self.assertEqual(times(latest=2), [30, 40])
        self.assertEqual(times(at=engram.Time(25)), [20])
        self.assertEqual(times(nearest=engram.Time(26), within="1us"), [30])
        self.assertEqual(times(exactly=engram.Time(20)), [20])
        self.assertEqual(times(exactly=engram.Time(21)), [])
        self.assertEqual(times(range=(20, 40)), [20, 30])
        self.assertEqual(times(range=(None, 20)), [10])
        self.assertEqual(times(index=(0, -2)), [10, 20, 30])
        self.assertEqual(times(at="-15ns"), [20])
        self.assertEqual(times(range="-20ns.."), [20, 30, 40])
        self.assertEqual(times(range=("-20ns", "latest")), [20, 30])
        self.assertEqual(times(all=True), [10, 20, 30, 40])
        self.assertEqual(times(latest=1, at=engram.Time(15)), [10, 40])
        self.assertEqual(times(all=True, where="position[0] > 25.0"), [30, 40])
        self.assertEqual(times(where="position[0] < 25.0"), [])
        self.assertEqual(times(where="position[0] < 25.0", filter_first=True), [20])
        self.assertEqual(self.m.latest(e, at=engram.Time(35)).time, 30)

    def test_links_to(self):
        text, command = self.entity("Speech/Text"), self.entity("Speech/Command")
        heard = self.m.commit(text, {"text": "bring the cup"}, time=engram.Time(5))
        understood = self.m.commit(command, {"text": "bring the cup", "source_text": heard}, time=engram.Time(6))
        self.m.commit(command, {"text": "bring the cup"}, time=engram.Time(7))

        def linked(*to, **selection):
            return [s.id for s in self.m.query("Speech", all=True, links_to=to, **selection)]

        self.assertEqual(linked(heard), [understood])
        self.assertEqual(linked(engram.ID(text), understood), [understood])
        self.assertEqual((linked(heard, links_exactly=True), linked(text, links_exactly=True)), ([understood], []))
        self.assertEqual(linked(understood), [])
        self.assertEqual(self.m.query(command, links_to=text).snapshots, [])  # the latest has none
        self.assertEqual(self.m.query(command, links_to=text, filter_first=True).one().id, understood)
        with self.assertRaises(engram.Invalid):
            linked("Speech//x")

    def test_shapes(self):
        e = self.entity("RobotState/Proprioception")
        self.m.commit(e, {"position": [1.0], "frame_id": "base"})
        self.assertEqual(len(self.m.query(e, payload=False).one()[0].data), 0)
        only = self.m.query(e, fields=["frame_id"]).one()
        self.assertEqual((only["frame_id"], len(only["position"])), ("base", 0))

    def test_patterns(self):
        e = self.entity("Speech/Text")
        self.m.commit(e, {"text": "x"})
        self.m.commit(e.rpartition("/")[0] + "/slashes:\\/a", {"text": "y"})
        core, provider = e.split("/")[1:3]
        self.assertIn(e, {s.entity for s in self.m.query(f"*/{core}/{provider}")})
        self.assertEqual(self.m.query(f"Speech/Text/{provider}/~e.*", where='text == "x"').one().entity, e)
        self.assertIn(engram.ID(e), self.m.tree(f"Speech/Text/{provider}"))

    def test_odd_names(self):
        id = engram.ID.of("Speech", "Text", type(self).__name__, "/joint_states \\ *x")
        self.m.commit(id, {"text": "odd"})
        self.assertEqual(self.m.latest(id).entity, id)
        self.assertEqual(id.name, "/joint_states \\ *x")
        self.assertIn(id, self.m.tree(f"Speech/Text/{type(self).__name__}"))

    def test_errors(self):
        e = self.entity("Speech/Text")
        for call, kind, text in (
                (lambda: self.m.latest(e), engram.NotFound, ""),
                (lambda: self.m.latest("Speech/Text"), engram.Invalid, "four names"),
                (lambda: self.m.commit(e, {"txt": "x"}), engram.Invalid, "did you mean text"),
                (lambda: self.m.commit(e, {"text": 5}), engram.Invalid, "text"),
                (lambda: self.m.commit(e), engram.Invalid, "nothing to commit"),
                (lambda: self.m.commit(e, b"\xff", type="engram.speech.Text"), engram.Error, ""),
                (lambda: self.m.commit(e, {}, type="engram.object.Class"), engram.TypeMismatch, ""),
                (lambda: self.m.commit("Speech/Txt/a/b", {"text": "x"}), engram.NotFound, "Speech/Txt"),
                (lambda: self.m.commit("Speeh/Text/a/b", {"text": "x"}), engram.NotFound, "did you mean Speech"),
                (lambda: self.m.query(e, where="text =="), engram.Invalid, ""),
                (lambda: self.m.query(e, range="yesterday"), engram.Invalid, "duration"),
                (lambda: self.m.query(e, target="ram"), engram.Invalid, "both, wm, ltm"),
                (lambda: self.m.query("a/b/c/d/e/f/g", latest=0), engram.Invalid, "at least 1"),
                (lambda: self.m.type("no.such.Type"), engram.NotFound, ""),
                (lambda: self.m.add_segment("Speech/Text"), engram.AlreadyExists, "")):
            with self.subTest(text or kind.__name__), self.assertRaises(kind) as caught:
                call()
            self.assertIn(text, str(caught.exception))
        self.m.commit(e, {"text": "the connection still works"})

    def test_errors_in_other_processes(self):
        for e in (engram.NotFound("a", "b"), engram.errors.Closed("c")):
            got = pickle.loads(pickle.dumps(e))
            self.assertEqual((type(got), got.thing, got.message, str(got)), (type(e), e.thing, e.message, str(e)))

    def test_results_in_other_processes(self):
        entity = self.entity("Vision/ImageRGB")
        id = self.m.commit(entity, engram.image(np.arange(24, dtype=np.uint8).reshape(2, 4, 3)), confidence=0.9)
        text = self.entity("Speech/Text")
        self.m.commit(text, instances=[{"text": "hello"}, {"text": "hi"}])
        result = self.m.query([entity, text])
        program = "import pickle, sys; r = pickle.load(sys.stdin.buffer); b, a = r; " \
                  "print(a.id, a.confidence, a.value.array.sum(), b[1]['text'], b[1].id, r.entities[a.entity][0].time.seconds, [s.number for s in r])"
        said = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(result), stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        b, a = result
        self.assertEqual(said.decode().strip(), f"{id} 0.9 {sum(range(24))} hi {b[1].id} {id.time.seconds} {[s.number for s in result]}")
        value, instance, updates = pickle.loads(pickle.dumps((a.value, b[1], self.m.commit_all([self.m.update(text, {"text": "x"})]))))
        self.assertEqual((value.array.tolist(), value.encoding, instance.id, instance["text"]), (a.value.array.tolist(), "rgb8", b[1].id, "hi"))
        self.assertEqual((type(updates[0].id), type(updates[0].id.time)), (engram.ID, engram.Time))
        enum = pickle.loads(pickle.dumps(engram.Enum("KEY", 3)))
        self.assertEqual((enum, enum.number), ("KEY", 3))
        for t in range(20):
            self.m.commit(text, {"text": str(t)})
        self.assertLess(len(pickle.dumps(self.m.query(text, all=True))), 2 * len(pickle.dumps(b)))  # the type comes along once

    def test_values_with_views_in_other_processes(self):
        record = engram.Record(list=[memoryview(b"a"), memoryview(b"b")], map={"k": memoryview(b"c")}, one=memoryview(b"d"))
        self.assertEqual(pickle.loads(pickle.dumps(record)), {"list": [b"a", b"b"], "map": {"k": b"c"}, "one": b"d"})
        entity = self.entity("Speech/Text")
        self.m.commit(entity, {"text": "hello"})
        for s in self.m.query(entity, payload=False):
            self.assertEqual(pickle.loads(pickle.dumps(s)).id, s.id)

    def test_home_may_lose_a_name(self):
        """Another server may have the name of a program's memory since the client has connected."""
        with engram.connect(self.server.socket) as m:
            servers = m._servers
            servers.hosted.append("Battery")
            self.assertIs(servers.of("Battery"), servers.home)
            servers._read -= 60
            with self.assertRaises(engram.NotFound):
                servers.of("Battery")
            self.assertIs(servers.of("Speech"), servers.home)

    def test_latest_of_a_snapshots_id(self):
        entity = self.entity("Speech/Text")
        ids = [self.m.commit(entity, {"text": str(t)}, time=t) for t in (10**18, 10**18 + 5)]
        self.assertEqual([self.m.latest(i)["text"] for i in (ids[0], f"{ids[1]}/0", entity)], [str(10**18), str(10**18 + 5), str(10**18 + 5)])
        self.assertEqual(self.m.latest(ids[0], at=10**18 + 7).id, ids[1])
        with self.assertRaises(engram.NotFound):
            self.m.latest(f"{entity}/2000-01-01")

    def test_what_another_server_has_comes_from_that(self):
        """A server may hold a copy of it, or what it had of it before."""
        self.m.commit(self.entity("Speech/Text"), {"text": "hello"})
        with mock.patch.object(self.m._servers, "owner", lambda memory: object() if memory == "Speech" else None):
            self.assertNotIn("Speech", {e.memory for e in self.m.query("*").entities})
            self.assertIn("Speech", {e.memory for e in self.m.query("Speech").entities})
        self.assertIn("Speech", {e.memory for e in self.m.query("*").entities})

    def test_values_that_are_none(self):
        """What no payload can hold is refused here, by name, and nothing of it is stored."""
        cup, any = self.entity("Object/Instance"), self.entity("GeneralPurpose/Wrong")
        self.m.add_segment("GeneralPurpose/Wrong")
        circle: dict = {}
        circle["next"] = circle
        skewed = np.eye(4)
        skewed[0, 1] = 0.5
        wrong = [(cup, {"pose": np.full((4, 4), np.nan)}, "pose: .*not finite"), (cup, {"pose": 2 * np.eye(4)}, "pose: .*no rotation"),
                 (cup, {"pose": skewed}, "pose: .*no rotation"), (cup, {"pose": np.diag([1, 1, -1, 1])}, "pose: .*no rotation"),
                 (cup, {"pose": np.eye(3)}, "pose: a 4x4 matrix"), (cup, {"frame_id": "\ud800"}, "frame_id: .*surrogate"),
                 (any, circle, "contains itself"), (any + "\ud800", {"a": 1}, "surrogate")]
        for entity, value, message in wrong:
            with self.subTest(message), self.assertRaisesRegex(engram.Invalid, message):
                self.m.commit(entity, value)
        self.assertEqual(len(self.m.query([cup, any], all=True)), 0)

    def test_confidence_is_what_was_written(self):
        e = self.entity("Speech/Text")
        self.m.commit(e, {"text": "perhaps"}, confidence=0.9)
        self.assertEqual(self.m.latest(e).confidence, 0.9)

    def test_after_close(self):
        m = engram.connect(self.address())
        m.close()
        for call in (lambda: m.latest("Speech/Text/a/b"), lambda: m.query("Speech"), lambda: next(m.watch("Speech")),
                     lambda: m.commit("Speech/Text/a/b", {"text": "x"}), lambda: m.stream().commit("Speech/Text/a/b", {"text": "x"})):
            with self.assertRaisesRegex(engram.Canceled, "client is closed"):
                call()

    def test_commit_all(self):
        e = self.entity("Speech/Text")
        done = self.m.commit_all([self.m.update(e, {"text": "a"}), self.m.update("Speech/None/p/e", {"text": "b"}, type="engram.speech.Text"),
                                  self.m.update(e + "2", {"text": "c"})])
        self.assertEqual([d.error is None for d in done], [True, False, True])
        self.assertIsInstance(done[1].error, engram.NotFound)

    def test_stream(self):
        e = self.entity("RobotState/Proprioception")
        with self.m.stream(window=8) as stream:
            for i in range(300):
                stream.commit(e, {"position": [i]}, time=engram.Time(i + 1))
        self.assertEqual(stream.committed, 300)
        self.assertEqual(len(self.m.query(e, all=True, payload=False)), 300)
        with self.assertRaises(engram.NotFound), self.m.stream() as stream:
            stream.commit(e, {"position": []}, time=engram.Time(1000))
            stream.commit("RobotState/None/p/e", {"text": "b"}, type="engram.speech.Text")
            stream.commit(e, {"position": []}, time=engram.Time(1001))
        self.assertEqual(self.m.latest(e).time, 1001)

    def test_segments(self):
        name = f"GeneralPurpose/{type(self).__name__}"
        self.m.add_segment(name, "engram.speech.Text", max_count=2)
        self.assertEqual([(s.id, s.type, s.max_count) for s in self.m.segments(name)], [(name, "engram.speech.Text", 2)])
        for i in range(3):
            self.m.commit(name + "/p/e", {"text": str(i)}, time=engram.Time(i + 1))
        self.assertEqual([s["text"] for s in self.m.query(name, all=True, target="wm")], ["1", "2"])
        self.m.remove_segment(name)
        self.assertEqual(self.m.segments(name), [])
        self.assertIn("engram.speech.Text", self.m.types())

    def test_generated_classes(self):
        """An object that has TYPE, to_payload and from_payload is committed, and made of a payload."""
        class Text:
            TYPE = "engram.speech.Text"

            def __init__(self, text):
                self.text = text

            def to_payload(self):
                return b"\x12" + bytes([len(self.text)]) + self.text.encode()

            @classmethod
            def from_payload(cls, data, sender=None):
                return cls(bytes(data)[2:].decode())

        self.assertEqual(self.m.latest(self.m.commit(self.entity("Speech/Text"), Text("hi"))).to(Text).text, "hi")

    def test_any_data(self):
        name = f"GeneralPurpose/Any{type(self).__name__}"
        self.m.add_segment(name)
        value = {"none": None, "yes": True, "n": -5, "least": -(1 << 63), "most": (1 << 64) - 1, "x": 0.5, "text": "ä", "list": [1, "two", {"three": 3.0}], "link": engram.ID("Object/Class"),
                 "when": engram.Time(7), "long": engram.Duration(9), "date": np.datetime64(8, "s"), "while": np.timedelta64(5, "us"), "number": np.array(2.5), "array": np.arange(6, dtype=np.int16).reshape(2, 3)}
        got = self.m.latest(self.m.commit(name + "/p/e", value)).value
        self.assertEqual(list(got), list(value))
        np.testing.assert_array_equal(got.pop("array"), value.pop("array"))
        self.assertEqual(got, {**value, "date": engram.Time(8 * 10**9), "while": engram.Duration(5000)})
        self.assertIsInstance(got["link"], engram.ID)
        shown = run("get", name + "/p/e", "-o", "json", address=self.server.socket)
        self.assertIn("18446744073709551615", shown)
        with self.assertRaisesRegex(engram.OutOfRange, "^n: "):
            self.m.commit(name + "/p/e", {"n": 1 << 64})

    def test_image_without_copy(self):
        pixels = np.random.default_rng(1).integers(0, 255, (200, 320, 3), np.uint8)
        s = self.m.get(self.m.commit(self.entity("Vision/ImageRGB"), engram.image(pixels)))
        got = s.value.array
        np.testing.assert_array_equal(got, pixels)
        self.assertTrue(np.shares_memory(got, np.frombuffer(s[0].data, np.uint8)))
        self.assertTrue(s.value._repr_png_().startswith(b"\x89PNG"))

    def test_predict(self):
        e = self.entity("Object/Instance")
        first = self.m.predict(e, at="now")
        self.assertIsNone(first[0].snapshot)
        self.assertIsInstance(first[0].error, engram.Error)

    def test_watch(self):
        e = self.entity("Speech/Text")
        for i in range(3):
            self.m.commit(e, {"text": str(i)})
        with self.m.watch(e, backfill=2) as w:
            self.m.commit(e, {"text": "3"})
            self.assertEqual([next(w).value["text"] for _ in range(3)], ["1", "2", "3"])
            self.assertIsNone(w.get(timeout=0.01))
            self.m.commit(e, {"text": "4"})
            self.assertEqual(w.get(timeout=60).value["text"], "4")
        with self.m.watch(e, backfill="1h", where='text != "2"', data=False) as w:
            self.assertIsNone(next(w).snapshot)
        with self.m.watch(e) as w:
            threading.Timer(0.05, w.close).start()
            self.assertEqual(list(w), [])

    def test_end_of_watch(self):
        """It ends with the client, and where nobody has it any more."""
        with engram.connect(self.address()) as m:
            w = m.watch(self.entity("Speech/Text"))
            threading.Timer(0.05, m.close).start()
            self.assertEqual(list(w), [])
        before = set(threading.enumerate())
        w = self.m.watch(self.entity("Speech/Text"))
        self.assertIsNone(w.get(timeout=0.01))
        [reader] = [t for t in threading.enumerate() if t not in before and t.name == "engram watch"]
        del w
        reader.join(60)
        self.assertFalse(reader.is_alive())

    def test_interrupted_watch(self):
        """After an interrupt, as of a notebook's cell, a watch goes on where it was."""
        e = self.entity("Speech/Text")
        with self.m.watch(e) as w:
            for i in range(3):
                self.m.commit(e, {"text": str(i)})
                self.assertEqual(w.get()["text"], str(i))
                timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    w.get()
                timer.join()

    def test_many_threads(self):
        e = self.entity("Speech/Text")
        failed = []

        def work(n):
            try:
                for i in range(30):
                    self.m.commit(f"{e}-{n}", {"text": str(i)})
                    self.assertEqual(self.m.latest(f"{e}-{n}")["text"], str(i))
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])


class MemoryByGrpc(Memory):
    @classmethod
    def address(cls):
        return cls.server.http

    def test_way(self):
        self.assertTrue(self.m.address.startswith("http://"))


class MemoryByLocalSocket(Memory):
    def test_way(self):
        self.assertTrue(self.m.address.startswith("local:"))

    def test_large_answers(self):
        """An answer goes beyond the credit of a query, in several frames."""
        e = self.entity("Vision/ImageRGB")
        frame = np.zeros((1000, 2000, 3), np.uint8)
        for i in range(16):
            frame[0, 0, 0] = i
            self.m.commit(e, engram.image(frame), time=engram.Time(i + 1))
        found = self.m.query(e, all=True)
        self.assertEqual([int(s.value.array[0, 0, 0]) for s in found], list(range(16)))


del Memory


@unittest.skipUnless(BINARY, "ENGRAM_BINARY names no engram")
class Reconnect(unittest.TestCase):
    def test_watch_goes_on_with_a_new_server(self):
        for way in ("socket", "http"):
            with self.subTest(way):
                server = Server()
                try:
                    address = getattr(server, way)
                    with engram.connect(server.socket) as m, engram.connect(address) as other:
                        w = other.watch("Speech/Text")
                        m.commit("Speech/Text/a/b", {"text": "before"})
                        self.assertEqual(next(w).value["text"], "before")
                        server.stop()
                        if way == "http":
                            server.flags = ("--listen", address.removeprefix("http://"))
                        server.start()
                        m.commit("Speech/Text/a/b", {"text": "after"})
                        u = next(w)
                        self.assertEqual((u.value["text"], u.restarted), ("after", True))
                        w.close()
                finally:
                    server.close()

    def test_watch_of_what_a_server_kept(self):
        """What was delivered before a server was started again, and what was there before the watch, does not come again."""
        folder = tempfile.mkdtemp(prefix="engram-py-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        server = Server("--data", folder)
        self.addCleanup(server.close)
        said, heard = "Speech/Text/me/said", "Speech/Text/you/said"
        with engram.connect(server.socket) as m, engram.connect(server.socket) as other:
            m.commit_all([m.update(said, {"text": str(i)}, time=T(i)) for i in range(6)])
            with self.assertWarnsRegex(UserWarning, "asks for txt"):
                idle = other.watch("Speech", where="text == 'new' || txt == 'new'")
            watches = {"last": other.watch("Speech", backfill=2), "since": other.watch("Speech", backfill=T(3)), "now": other.watch("Speech"),
                       "idle": idle, "newest": other.watch("Speech", backfill=1, newest_only=True)}
            had = {"last": 2, "since": 3, "now": 0, "idle": 0, "newest": 1}
            for life in range(3):
                # The last two arrive at once, and one of them before the times that are there.
                m.commit_all([m.update(said, {"text": "x"}, time=T(10 + life)), m.update(heard, {"text": "x"}, time=T(life))])
                for name, w in watches.items():
                    for _ in range(had[name] if life == 0 else 0):
                        w.get(timeout=120)
                    if name not in ("idle", "newest"):
                        got = [w.get(timeout=120) for _ in range(2)]
                        self.assertEqual([(u.id, u.restarted) for u in got], [(f"{said}/{T(10 + life)}", life > 0), (f"{heard}/{T(life)}", False)], name)
                server.stop()
                server.start()
            m.commit(said, {"text": "new"}, time=T(20))
            for name, w in watches.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the filter of the idle one fails
                    u = w.get(timeout=120)
                while name == "newest" and u.time != 20:
                    u = w.get(timeout=120)
                self.assertEqual((u.id, u["text"]), (f"{said}/{T(20)}", "new"), name)
                self.assertTrue(u.restarted or name == "newest", name)
                w.close()

    def test_a_slow_network(self):
        """A server is reached whose first answer takes longer than the pause between attempts to connect."""
        server = Server()
        listener = socket.create_server(("127.0.0.1", 0))

        def pump(a, b, pause):
            try:
                while data := a.recv(1 << 16):
                    time.sleep(pause)
                    b.sendall(data)
            except OSError:
                pass
            b.close()

        def proxy():
            try:
                while True:
                    client = listener.accept()[0]
                    other = socket.create_connection(("127.0.0.1", int(server.http.rpartition(":")[2])))
                    threading.Thread(target=pump, args=(client, other, 0), daemon=True).start()
                    threading.Thread(target=pump, args=(other, client, 0.3), daemon=True).start()
            except OSError:
                pass  # the listener was closed

        threading.Thread(target=proxy, daemon=True).start()
        try:
            with engram.connect(f"127.0.0.1:{listener.getsockname()[1]}", timeout=120) as m:
                m.commit("Speech/Text/a/b", {"text": "far"})
                self.assertEqual(m.latest("Speech/Text/a/b")["text"], "far")
        finally:
            listener.close()
            server.close()

    def test_nobody_there(self):
        with self.assertRaisesRegex(engram.Unavailable, "engram serve"):
            engram.connect("unix:/nowhere/engram.sock")
        with self.assertRaisesRegex(engram.Unavailable, "engram serve"):
            engram.connect("127.0.0.1:1")
        for wrong in ("", "ftp://x:1", "host", "http://me@host:1", "nats://host:1", "host:99999"):
            with self.subTest(wrong), self.assertRaises(engram.Error):
                engram.connect(wrong or "unix:")


class SilentServer(WithServer):
    def stop(self):
        self.server.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.server.process.pid, os.WSTOPPED)
        self.addCleanup(self.server.process.send_signal, signal.SIGCONT)

    def go_on(self):
        self.doCleanups()

    @staticmethod
    def answers(m, entity):
        try:
            return m.latest(entity)
        except (engram.Timeout, engram.Unavailable):
            return None

    def test_calls_have_a_limit(self):
        calls = [lambda m, e: m.latest(e), lambda m, e: m.query("Speech", where="true"), lambda m, e: m.commit(e, {"text": "again"}),
                 lambda m, e: m.poses.tree()]
        for address in self.server.socket, self.server.http:
            with self.subTest(address), engram.connect(address, call_timeout=1) as m:
                entity = self.entity("Speech/Text")
                self.m.commit(entity, {"text": "hello"})
                self.stop()
                for i, call in enumerate(calls):
                    began = time.monotonic()
                    with self.assertRaises(engram.Timeout, msg=f"call {i}") as e:
                        call(m, entity)
                    self.assertGreater(time.monotonic() - began, 0.9)
                    self.assertIsInstance(e.exception, engram.Canceled)

                self.go_on()
                until(functools.partial(self.answers, m, entity))
        async def awaited():
            async with engram.aio.connect(self.server.socket, call_timeout=1) as m:
                self.stop()
                with self.assertRaises(engram.Timeout):
                    await m.latest(entity)
                self.go_on()

        asyncio.run(awaited())
        for wrong in 0, -1, "2s":
            with self.assertRaises(engram.Invalid):
                engram.connect(self.server.socket, call_timeout=wrong)

    def test_a_dead_computer_is_noticed(self):
        quick = [(k, 1000 if k.endswith(("keepalive_time_ms", "timeout_ms")) else v) for k, v in _rpc._OPTIONS]
        with mock.patch.object(_rpc, "_OPTIONS", quick), engram.connect(self.server.http) as m:
            entity = self.entity("Speech/Text")
            update = self.m.update(entity, {"text": "hello"})
            m.commit_all([update])
            with m.watch(entity, backfill=1) as w, m.stream() as stream:
                self.assertEqual(next(w)["text"], "hello")
                stream.commit(entity, {"text": "hello"})
                stream.flush()
                self.assertEqual(next(w)["text"], "hello")
                self.stop()
                stream.commit(entity, {"text": "lost"})
                for waits in (lambda: m.commit_all([update]), lambda: next(w._sources[0].subscription.batches())):
                    with self.assertRaises(engram.Unavailable):
                        waits()
                with self.assertRaises(engram.Unavailable):
                    stream.flush()
                self.go_on()


class Import(unittest.TestCase):
    def test_is_light(self):
        import subprocess

        loaded = subprocess.run([sys.executable, "-c", "import engram, sys; print(*sys.modules)"], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual({"numpy", "grpc", "google.protobuf", "pandas", "asyncio"} & set(loaded), set())
        for name in engram.__all__:
            self.assertTrue(hasattr(engram, name), name)


if __name__ == "__main__":
    unittest.main()
