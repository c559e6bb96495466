"""Memories on several servers, and of several robots."""

import unittest

from support import Fleet

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


if __name__ == "__main__":
    unittest.main()
