"""Memories on several servers, and of several robots."""

import contextlib
import socket
import threading
import unittest
from unittest import mock

from support import Fleet, until

import engram


class Robots(Fleet):
    def test_two_servers(self):
        self.assertEqual(self.m.robot, "rover")
        cup, said = "Object/Instance/two/cup", "Speech/Text/two/said"
        with self.m.watch(["Object/Instance/two", "Speech/Text/two"]) as updates:
            self.m.commit(cup, {"frame_id": "map"})
            self.m.commit(said, {"text": "hello"})
            self.assertEqual({updates.get(180).entity, updates.get(180).entity}, {cup, said})
        self.assertEqual(self.m.latest(cup)["frame_id"], "map")
        self.assertLessEqual({cup, said}, set(self.m.query("*/*/two").entities))
        done = self.m.commit_all([self.m.update(said, {"text": "a"}), self.m.update(cup, {"frame_id": "b"})])
        self.assertEqual([d.id.entity for d in done], [said, cup])

    def test_own_robot_by_its_name(self):
        self.m.commit("rover:Object/Instance/own/cup", {"frame_id": "map"})
        self.assertEqual(self.m.latest("Object/Instance/own/cup").entity, "Object/Instance/own/cup")
        self.assertEqual(self.m.latest("rover:Object/Instance/own/cup").entity, "rover:Object/Instance/own/cup")

    def test_another_robot(self):
        with engram.connect(self.scout.socket) as scout, self.m.watch("scout:Speech/Text/base") as updates:
            id = self.m.commit("scout:Speech/Text/base/op", {"text": "come home"})
            self.assertEqual(id.entity, "scout:Speech/Text/base/op")
            self.assertEqual(scout.latest("Speech/Text/base/op")["text"], "come home")
            u = updates.get(180)
            self.assertEqual((u.entity, u.snapshot.entity, u["text"]), ("scout:Speech/Text/base/op",) * 2 + ("come home",))
            with self.m.stream() as stream:
                stream.commit("scout:Speech/Text/base/op", {"text": "now"})
            self.assertEqual(scout.latest("Speech/Text/base/op")["text"], "now")
            self.assertEqual([s.entity for s in self.m.query("scout:Speech/Text/base/~o.*", latest=2)], ["scout:Speech/Text/base/op"] * 2)
            self.m.commit("Speech/Text/base/me", {"text": "here"})
            for pattern in ("*:Speech/Text/base", "~(rover|scout):Speech/Text/base"):
                found = {e.partition("/")[0] for e in self.m.query(pattern).entities}
                self.assertEqual(len(found & {"Speech", "rover:Speech"}), 1)
                self.assertIn("scout:Speech", found)
            self.assertEqual({e.memory for e in self.m.query("*/*/base").entities}, {"Speech"})  # own memories only
            self.assertIn("scout:Speech/Text", [s.id for s in self.m.segments("scout:*")])
            self.assertIn(("scout:Object/Instance", "engram.object.Instance"), [(s.id, s.type) for s in self.m.segments("scout:Object")])
            self.assertEqual(len(self.m.frame("scout:Speech/Text/base/op", fields=["text"])), 2)
            self.assertEqual(self.m.predict("scout:Object/Instance/a/b", at="now")[0].id.memory, "scout:Object")
        with self.assertRaises(engram.NotFound):
            self.m.latest("nobody:Speech/Text/a/b")
        self.assertEqual(len(self.m.query("nobody:*")), 0)

    def test_through_another_server(self):
        """A server whose addresses cannot be reached is reached through the own one."""
        servers = self.m._servers
        [place] = servers.names(fresh=True)["Object"]
        self.assertEqual((place.server, place.addresses[-1]), ("second", "nats:second"))
        via = servers.reach(["local:/nowhere/x.local", "nats:second"], "second")
        self.m.commit("Object/Instance/via/cup", {"frame_id": "map"})
        self.assertEqual(via.latest(engram.ID("Object/Instance/via/cup"), None)["frame_id"], "map")
        with self.assertRaisesRegex(engram.Unavailable, "second.*answers there, not 'first'"):
            servers.reach([self.second.socket + "x", self.second.http], "first")
        self.assertEqual(servers.reach([self.second.http], "second").address, self.second.http)

    def test_a_robot_that_is_gone(self):
        """It is Unavailable after the detection timeout, for each kind of call, and when the names have lost it."""
        probe, e = self.robot("probe", "Object"), "probe:Object/Instance/gone/cup"
        with engram.connect(self.rover.socket, detection_timeout=0.5) as m, m.watch("Speech") as watch:
            until(lambda: "probe:Object" in m.memories())
            m.commit(e, {"frame_id": "map"})
            probe.stop()
            calls = [m.latest, m.query, lambda e: m.query(e, where="true"), m.watch, m.segments, lambda e: m.commit(e, {"frame_id": "map"}),
                     lambda e: m.predict(e, at="now")]
            for i, call in enumerate(calls):
                with self.subTest(i), self.assertRaisesRegex(engram.Unavailable, "no sign of life for 0.5 s|does not have it any more"):
                    call(e)
            with mock.patch.object(m._servers.rpc(), "unary", return_value=b""), self.assertRaisesRegex(engram.Unavailable, "does not have it any more"):
                m._servers.names(fresh=True)
                m.latest(e)
            m.commit("Speech/Text/gone/op", {"text": "here"})  # own memories are there
            self.assertEqual(watch.get(timeout=120).entity, "Speech/Text/gone/op")
        with self.assertRaisesRegex(engram.Invalid, "detection_timeout=0"):
            engram.connect(self.rover.socket, detection_timeout=0)

    def test_a_server_that_takes_its_time(self):
        """One that is alive is waited for."""
        slow, go_on = self.m.host("Slow", timeout="60s"), threading.Event()
        slow.add_segment("State", {"n": int})
        slow.on_query(lambda asked: go_on.wait(60))
        with engram.connect(self.rover.http) as m, slow:
            home, asked = m._servers.home, []
            home.detection = 0.02

            def answers(timeout):
                asked.append(timeout)
                if len(asked) == 5:
                    go_on.set()
                return True

            self.assertTrue(home.answers(60))
            with mock.patch.object(home, "answers", answers):
                for ask in (lambda: m.query("Slow/State/a/b"), lambda: m.query("Slow", where="true")):
                    asked.clear()
                    go_on.clear()
                    self.assertEqual(len(ask()), 0)
                    self.assertGreaterEqual(len(asked), 5)

    def test_a_slow_link(self):
        """What is on its way is waited for, where other messages on its connection would wait behind it."""
        host, _, port = self.rover.http.removeprefix("http://").rpartition(":")
        looked = threading.Event()

        def pump(source, sink, first, up):
            passed = 0
            with contextlib.suppress(OSError):
                while data := source.recv(1 << 16):
                    passed += len(data)
                    if first and up and passed > 1 << 18:
                        looked.wait(60)  # nothing passes until the server was asked on another connection
                    sink.sendall(data)
                    if not first and not up:
                        looked.set()
                sink.shutdown(socket.SHUT_WR)

        def accept():
            first = True
            with contextlib.suppress(OSError):
                while True:
                    near, far = link.accept()[0], socket.create_connection((host, int(port)))
                    sockets.extend((near, far))
                    for source, sink in (near, far), (far, near):
                        threading.Thread(target=pump, args=(source, sink, first, source is near), daemon=True).start()
                    first = False

        with socket.create_server(("127.0.0.1", 0)) as link:
            sockets = []
            threading.Thread(target=accept, daemon=True).start()
            with engram.connect("http://127.0.0.1:%d" % link.getsockname()[1]) as m:
                m._servers.home.detection = 6.0
                m.commit("Speech/Text/slow/link", {"text": "x" * (6 << 20)})
            self.assertTrue(looked.is_set())
            for s in sockets:
                s.close()


if __name__ == "__main__":
    unittest.main()
