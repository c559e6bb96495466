"""What is asked wrongly is told, by an error of its kind that names it, or a warning."""

import gc
import pathlib
import unittest
import warnings

import numpy as np
from support import Server, WithServer

import engram

T = engram.Time


class Asking(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not any(s.id == "GeneralPurpose/Asked" for s in cls.m.segments("GeneralPurpose")):
            cls.m.add_segment("GeneralPurpose/Asked")

    def test_get_by_id(self):
        """An ID that a commit returned is read as it is, not as a pattern."""
        e = self.entity("GeneralPurpose/Asked")
        for name in ("~q", "*", "\\\\*", "a\\/b", "~[", "plain"):
            id = self.m.commit(f"{e.rpartition('/')[0]}/{name}", {"v": name}, time=T(5))
            for asked in (id, f"{id}/0"):
                s = self.m.get(asked)
                self.assertEqual((s.id, s["v"]), (id, name))
        with self.assertRaises(engram.NotFound):
            self.m.get(engram.ID.of(*engram.ID(e).parts[:3], "~p.*", time=T(5)))
        with self.assertRaisesRegex(engram.NotFound, "has 1 instances"):
            self.m.get(f"{id}/5")
        with self.assertRaisesRegex(engram.Invalid, "an instance has a number"):
            self.m.get(f"{id}/x")
        with self.assertRaisesRegex(engram.NotFound, "there is no such snapshot"):
            self.m.get(f"{id.entity}/{T(6)}")

    def test_commit_to_a_snapshots_id(self):
        e = self.entity("GeneralPurpose/Asked")
        id = self.m.commit(f"{e}/2020-01-01", {"v": 1})
        self.assertEqual(str(id.time), "2020-01-01 00:00:00")
        self.assertEqual(self.m.commit(id, {"v": 2}, time="2020-01-01"), id)
        with self.assertRaisesRegex(engram.Invalid, "another one is given"):
            self.m.commit(id, {"v": 1}, time="2021-01-01")
        with self.assertRaisesRegex(engram.Invalid, "a value and instances"):
            self.m.commit(e, {"v": 1}, instances=[{"v": 2}])

    def test_where(self):
        """A filter that could not be evaluated says so."""
        e = self.entity("Speech/Text")
        self.m.commit(e, {"text": "a"})
        with self.assertWarnsRegex(UserWarning, f'on {e}/.*: there is no member "txt"'):
            r = self.m.query(e, where='txt == "a"')
        self.assertEqual([m.detail for m in r.missing], ['there is no member "txt"'])
        with warnings.catch_warnings(record=True) as warned:
            self.assertEqual(len(self.m.query(e, where='text == "b"')), 0)
        self.assertEqual(warned, [])
        with self.assertWarnsRegex(UserWarning, 'no member "txt"'), self.m.watch(e, where='txt == "a" || confidence < 0.5', backfill=1) as w:
            self.m.commit(e, {"text": "b"}, confidence=0.1)
            self.m.commit(e, {"text": "c"})
            self.m.commit("Speech/Text/else/where", {"text": "c"})
            w.get(timeout=0.5)

    def test_where_of_a_watch(self):
        """A member that no payload can have is told at the call, before anything comes."""
        said, seen = self.entity("Speech/Text"), self.entity("Object/Instance")
        for e, where, told in ((said, 'txt == "a"', "asks for txt: engram.speech.Text has no such member; did you mean text"),
                               (seen, "confidence > 0.5 && pose.positon.z < 1.0", "pose.positon.z: engram.object.Instance has no such member; did you mean position"),
                               ([said, seen], "payload.poze.x > 1", "did you mean pose")):
            with self.subTest(where), self.assertWarnsRegex(UserWarning, told) as warned, self.m.watch(e, where=where):
                pass
            self.assertEqual(warned.warnings[0].filename, __file__)
        fine = ['text == "txt.y" || text.contains(r"a.b")  // as txt', "frame_id == 'map' && pose.position.z < 1.0 && time.getHours() > 3", "type == 'x' || has(payload.pose)",
                "size(pose.position.x) == 1 && math.abs(confidence) > 0.1"]
        with warnings.catch_warnings(record=True) as warned:
            for where in fine:
                self.m.watch([said, seen], where=where).close()
            self.m.watch("RobotState/Proprioception", where="position.exists(p, p > 1.0) && name.all(n, n != '')").close()
            self.m.watch("RobotState/Proprioception", where="force_torque.`left-wrist`[0] > 1.0").close()
            self.m.watch("GeneralPurpose/Asked", where="anything.at.all == 1").close()
        self.assertEqual([str(w.message) for w in warned], [])
        with self.assertRaisesRegex(engram.NotFound, "pose.positon: .*did you mean position"):
            self.m.watch(seen, fields="pose.positon")

    def test_names_that_are_near(self):
        """An error about a name says which one may be meant."""
        e = self.entity("Speech/Text")
        s = self.m.get(self.m.commit(e, {"text": "a"}))
        for call, kind, told in ((lambda: self.m.commit("Speech/Txt/a/b", {"text": "a"}), engram.NotFound, "did you mean Speech/Text"),
                                 (lambda: self.m.type("engram.speech.Txt"), engram.NotFound, "did you mean engram.speech.Text"),
                                 (lambda: self.m.commit(e, {"text": "a"}, type="engram.speech.Txt"), engram.NotFound, "did you mean engram.speech.Text"),
                                 (lambda: s["txt"], KeyError, "no member txt; there are .*text"), (lambda: s.value["txt"], KeyError, "there are .*text"),
                                 (lambda: self.m.commit("Vision/ImageRGB/a/b", np.zeros((2, 3, 3))), engram.Invalid, "not an array of shape 2 x 3 x 3; engram.image"),
                                 (lambda: engram.image(np.zeros((2, 3, 3))), engram.Invalid, "without one they are 1, 3 or 4 of uint8"),
                                 (lambda: engram.image("a.png"), engram.Invalid, "an array of pixels is wanted, not 'a.png'")):
            with self.subTest(told), self.assertRaisesRegex(kind, told):
                call()
        self.assertIsNone(s.value.get("txt"))
        self.assertFalse(hasattr(s.value, "txt"))
        with self.assertWarnsRegex(UserWarning, "Speech/Txt: there is no such segment yet; did you mean Speech/Text"), self.m.watch(["Speech/Txt/a/b", "Speech/Text", "Speech/*"]):
            pass
        with self.assertRaises(AttributeError) as wrong:
            self.fail(engram.conect)
        self.assertEqual((wrong.exception.name, wrong.exception.obj), ("conect", engram))  # of which Python makes a proposal

    def test_addresses(self):
        """Who finds no server is told how one is started there, where one can be."""
        for address, told in (("http://127.0.0.1:9", "refused; start a server there with 'engram serve --listen 127.0.0.1:9'$"),
                              ("unix:/nowhere/e.sock", "No such file or directory; start a server there with 'engram serve --listen unix:/nowhere/e.sock'$"),
                              ("local:/nowhere/e.local", "No such file or directory$")):
            with self.subTest(address), self.assertRaisesRegex(engram.Unavailable, told):
                engram.connect(address)

    def test_fields(self):
        e = self.entity("Speech/Text")
        for ask in (lambda: self.m.query(e, fields=["txt"]), lambda: self.m.watch(e, fields=["txt"]), lambda: self.m.watch("Speech", fields="txt.x")):
            self.m.commit(e, {"text": "a"})
            with self.assertRaisesRegex(engram.NotFound, "did you mean .?text"):
                ask()
        with self.m.watch(e, fields="text", backfill=1) as w:
            self.assertEqual(w.get(timeout=120)["text"], "a")
        any = self.entity("GeneralPurpose/Asked")
        with self.m.watch(any, fields="zz") as w:
            self.m.commit(any, {"zz": 1, "v": 2})
            self.assertEqual(w.get(timeout=120).value, {"zz": 1})

    def test_arguments(self):
        """Of a wrong kind they are refused alike everywhere."""
        e = self.entity("Speech/Text")
        id = self.m.commit(e, {"text": "a"})
        for wrong in (pathlib.Path(e), None, 5, e.encode()):
            for call in (self.m.query, self.m.watch, self.m.frame, self.m.latest, self.m.tree, self.m.segments, lambda p: self.m.commit(p, {}), lambda p: self.m.query([p])):
                with self.subTest((call, wrong)), self.assertRaisesRegex(engram.Invalid, "text"):
                    call(wrong)
        for call in (lambda: self.m.query(e, where=lambda i: True), lambda: self.m.watch(e, where=None), lambda: self.m.watch(e, backfill=True),
                     lambda: self.m.watch(e, queue=-1), lambda: self.m.query(e, latest=True), lambda: self.m.commit_all([{"text": "a"}])):
            with self.assertRaises(engram.Invalid):
                call()
        with self.assertRaisesRegex(engram.Invalid, "address=5"):
            engram.connect(5)
        for wrong, text in (("/" + e, "no slash is before"), ("a//c/d", "not empty"), (e + "\0", "NUL"), (e + "x" * 5000, "at most 512 bytes"), ("a/b/c", "has four names")):
            with self.assertRaisesRegex(engram.Invalid, text):
                self.m.commit(wrong, {"text": "a"})
        with self.m.watch(e, backfill=10**30) as w:
            self.assertEqual(w.get(timeout=120).id, id)
        with self.assertRaisesRegex(engram.Corrupt, "jpeg image"):
            self.fail(engram.CompressedImage(data=b"junk", format="jpeg").array)


class AskingByGrpc(Asking):
    @classmethod
    def address(cls):
        return cls.server.http


class Away(unittest.TestCase):
    def test_what_a_notebook_shows(self):
        server = Server()
        self.addCleanup(server.close)
        m = engram.connect(server.socket)
        server.stop()
        m._servers._asked = 0.0  # names are believed for a while
        for shown in (repr(m), m._repr_html_()):
            self.assertIn("is not reached: Unavailable", shown)
        m.close()
        with self.assertRaises(engram.Closed):
            m.latest("Speech/Text/a/b")


class Results(WithServer):
    def alive(self):
        return sum(isinstance(o, engram.Snapshot) for o in gc.get_objects())

    def test_are_freed_at_once(self):
        """A result is no part of a cycle, which the collector would have to find."""
        e = self.entity("Vision/ImageRGB")
        self.m.commit(e, engram.image(np.zeros((4, 4), np.uint8)))
        gc.disable()
        try:
            r = self.m.query(e)
            self.assertEqual(r[0][0].id, f"{r[0].id}/0")
            before = self.alive()
            del r
            self.assertEqual(self.alive(), before - 1)
        finally:
            gc.enable()


if __name__ == "__main__":
    unittest.main()
