"""A copy answers where its owner has gone, which takes a while to be known."""

import unittest

from support import Fleet, until

import engram


class Copies(Fleet):
    def test_copy_of_a_robot_that_has_gone(self):
        probe = self.robot("probe", "Speech")
        until(lambda: "probe:Speech" in self.m.memories() and self.m._servers.names(fresh=True)["probe:Speech"][0].server)
        said = self.m.commit("probe:Speech/Text/a/said", {"text": "copied"}).entity

        def copied():
            try:
                return [c.latest(said, None)["text"] for c in self.m._servers.copies("probe:Speech")] == ["copied"]
            except engram.NotFound:
                return False

        until(copied)
        self.assertEqual((self.m.query(said).one()["text"], self.m.query(said).copies), ("copied", []))
        probe.stop()
        for pattern in (said, "probe:Speech/~T.*"):
            found = self.m.query(pattern)
            self.assertEqual((found.one().entity, found.one()["text"]), (said, "copied"))
            self.assertEqual([(m.id, m.reason) for m in found.missing], [("probe:Speech", "unreachable")])
            self.assertEqual([c.memory for c in found.copies], ["probe:Speech"])
        for call in (lambda: self.m.latest(said), lambda: self.m.commit(said, {"text": "?"})):
            with self.assertRaises(engram.Unavailable):
                call()
        probe.start()  # for the clean-up


if __name__ == "__main__":
    unittest.main()
