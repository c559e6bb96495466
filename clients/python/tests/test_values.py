import datetime
import unittest

import numpy as np
from support import WithServer

import engram
from engram import _schema, idf, times
from engram._decode import decode
from engram._encode import encode, quaternion_of


def registry():
    r = idf.Registry()
    r.add(_schema.descriptors())
    return r


class Times(unittest.TestCase):
    def test_texts(self):
        for text, ns in (("1970-01-01 00:00:01", 10**9), ("1970-01-01T00:00:01.5Z", 1_500_000_000), ("1970-01-02", 86400 * 10**9),
                         ("1970-01-01 01:00:00+01:00", 0), ("1970-01-01 00:00:00.000000001", 1), ("12", 12), ("1969-12-31 23:59:59.999999999", -1)):
            self.assertEqual(times.parse_time(text), ns, text)
            self.assertEqual(times.parse_time(str(engram.Time(ns))), ns, text)
        self.assertEqual(times.parse_time(datetime.datetime(1970, 1, 1, 0, 0, 1, 1, datetime.timezone.utc)), 1_000_001_000)
        self.assertEqual(times.parse_time(np.datetime64("1970-01-01T00:00:02")), 2 * 10**9)
        self.assertLess(times.parse_time("now-10s"), engram.now() - 9 * 10**9)
        for wrong in ("yesterday", "2022-13-01", "now-", 1.5, None, True):
            with self.assertRaises(engram.Invalid):
                times.parse_time(wrong)
        with self.assertRaises(engram.OutOfRange):
            times.parse_time(1 << 63)

    def test_spans(self):
        for text, ns in (("100ms", 10**8), ("1.5s", 1_500_000_000), ("1h30m", 5400 * 10**9), ("-2s", -2 * 10**9), (0.25, 250_000_000), (2, 2 * 10**9),
                         (datetime.timedelta(seconds=1), 10**9), (np.timedelta64(3, "ms"), 3_000_000), (engram.Duration(7), 7)):
            self.assertEqual(times.parse_span(text), ns, text)
        for wrong in ("", "ten", "5", "5 s x", None):
            with self.assertRaises(engram.Invalid):
                times.parse_span(wrong)


class IDs(unittest.TestCase):
    def test_parts(self):
        id = engram.ID.of("M", "C/D", "P\\", "e", time=engram.Time(5), index=2)
        self.assertEqual(id, "M/C\\/D/P\\\\/e/1970-01-01 00:00:00.000000005/2")
        self.assertEqual((id.parts[:4], id.time, id.instance, id.level), (("M", "C/D", "P\\", "e"), 5, 2, 6))
        self.assertEqual(id.entity / "x/y", "M/C\\/D/P\\\\/e/x\\/y")
        with self.assertRaises(engram.Invalid):
            self.fail(engram.ID("a/b/c/d/e/f/g").parts)


class Codec(unittest.TestCase):
    """What is encoded is what protobuf reads, and the other way round."""

    def test_against_protobuf(self):
        types = registry()
        cases = {
            "foxglove.LaserScan": {"timestamp": engram.Time(-1), "frame_id": "laser", "pose": {"position": {"x": 1.5, "y": 0.0, "z": -2.0}},
                                   "start_angle": 0.5, "ranges": [1.0, 2.0], "intensities": []},
            "foxglove.RawImage": {"width": 3, "encoding": "mono8", "data": bytes(range(6)), "height": 2, "step": 3},
            "foxglove.PackedElementField": {"name": "x", "offset": 4, "type": "FLOAT32"},
            "engram.v1.Segment": {"id": "a", "history": {"max_count": -5, "max_bytes": 1 << 40}, "durability": "DURABILITY_SYNCED", "max_ahead_nanos": -1},
            "engram.ltm.v1.Envelope": {"entity": "e", "time": [5, -3, 1 << 40], "unsent": [True, False], "confidence": [0.5], "types": ["a", "b"]},
            "engram.v1.AskRequest": {"prefixes": {"a": "b", "": "c"}, "at": 0},
        }
        for name, value in cases.items():
            with self.subTest(name):
                encoded = encode(types.get(name), value)
                read = _schema.message(name).FromString(encoded)
                written = read.SerializeToString(deterministic=True)
                for data in (encoded, written):
                    got = decode(types.get(name), data)
                    for member, want in value.items():
                        have = got[member]
                        if isinstance(have, np.ndarray):
                            np.testing.assert_allclose(have, want)
                        elif isinstance(want, dict) and not name.endswith("AskRequest"):
                            self.assertEqual({k: have[k] for k in want} if member != "pose" else have["position"]["x"], want if member != "pose" else 1.5)
                        else:
                            self.assertEqual(bytes(have) if isinstance(want, bytes) else have, want, member)
                self.assertEqual(_schema.message(name).FromString(encode(types.get(name), decode(types.get(name), written))), read)

    def test_damaged(self):
        types = registry()
        whole = encode(types.get("foxglove.LaserScan"), {"frame_id": "laser", "ranges": [1.0, 2.0], "pose": {"position": [1, 2, 3]}})
        for cut in range(1, len(whole)):
            try:
                decode(types.get("foxglove.LaserScan"), whole[:cut])
            except engram.Corrupt:
                continue
            # A cut between two members leaves a message.
            _schema.message("foxglove.LaserScan").FromString(whole[:cut])
        for noise in (b"\xff" * 20, b"\x0a\xff\xff\xff\xff\x0f", b"\x07", b"\x0b\x0b"):
            with self.assertRaises(engram.Corrupt):
                decode(types.get("foxglove.LaserScan"), noise)

    def test_members_are_named(self):
        types = registry()
        for name, value, at in (("foxglove.LaserScan", {"pose": {"position": {"q": 1}}}, "pose.position.q"), ("foxglove.LaserScan", {"frame_id": 3}, "frame_id"),
                                ("foxglove.LaserScan", {"ranges": ["a"]}, "ranges"), ("foxglove.RawImage", {"width": -1}, "width"),
                                ("foxglove.PackedElementField", {"type": "FLOAT"}, "type"), ("foxglove.LaserScan", {"timestamp": "soon"}, "timestamp")):
            with self.subTest(at), self.assertRaises(engram.Error) as caught:
                encode(types.get(name), value)
            self.assertEqual(caught.exception.thing, at)

    def test_poses(self):
        types = registry()
        m = np.array([[0, -1, 0, 1.0], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
        pose = decode(types.get("foxglove.Pose"), encode(types.get("foxglove.Pose"), m))
        np.testing.assert_allclose(pose.matrix, m, atol=1e-12)
        np.testing.assert_allclose(quaternion_of(m), [0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-12)

    def test_images(self):
        for a, encoding in ((np.zeros((2, 3), np.uint8), "mono8"), (np.ones((2, 3, 4), np.uint8), "rgba8"), (np.ones((2, 3), np.float32), "32FC1")):
            i = engram.image(a)
            self.assertEqual(i.encoding, encoding)
            np.testing.assert_array_equal(i.array, a)
            self.assertTrue(i._repr_png_().startswith(b"\x89PNG"))
        padded = engram.Image(engram.image(np.zeros((2, 3), np.uint8)), step=4, data=b"\1\2\3\0\4\5\6\0")
        np.testing.assert_array_equal(padded.array, [[1, 2, 3], [4, 5, 6]])
        with self.assertRaises(engram.Invalid):
            self.fail(engram.Image(padded, data=b"\1").array)
        with self.assertRaises(engram.Invalid):
            engram.image(np.zeros(3))


class Types(WithServer):
    def test_every_type_of_the_server(self):
        """Each type can be read, and an empty payload of it is what it was."""
        for name in self.m.types():
            t = self.m.type(name)
            value = decode(t, b"")
            if t.wrapper or not isinstance(value, dict):
                continue
            with self.subTest(name):
                decode(t, encode(t, value))

    def test_extended_and_nested(self):
        """The example type has a member of every kind."""
        e = self.entity("Example/ExampleData" if any(s.id == "Example/ExampleData" for s in self.m.segments("Example")) else self.m.segments("Example")[0].id)
        t = self.m.type(self.m.segment_type(e))
        names = [m.name for m in t.members]
        self.assertGreater(len(names), 10)
        self.m.commit(e, {})
        self.assertEqual(list(self.m.latest(e).value), names)


if __name__ == "__main__":
    unittest.main()
