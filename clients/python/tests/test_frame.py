import ctypes
import unittest
import warnings
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from support import WithServer

import engram
from engram import _arrow, _video
from engram.frame import Column, Frame

T = engram.Time


class Frames(WithServer):
    def setUp(self):
        self.e = self.entity("RobotState/Proprioception")
        with self.m.stream() as stream:
            for i in range(5):
                stream.commit(self.e, {"timestamp": T(i * 100), "name": ["a", "b"], "position": [i, 10.0 * i], "battery_charge": None if i == 2 else i / 4,
                                       "force_torque": {"wrist": [i, 0, 0, 0, 0, 0]}}, time=T(i * 100))

    def test_a_row_for_each_snapshot(self):
        f = self.m.frame(self.e)
        self.assertEqual(len(f), 5)
        np.testing.assert_array_equal(f.times.astype(np.int64), [0, 100, 200, 300, 400])
        np.testing.assert_array_equal(f["position"], [[i, 10 * i] for i in range(5)])
        np.testing.assert_array_equal(f["position.b"], f["position[1]"])
        np.testing.assert_array_equal(f["battery_charge"], [0, 0.25, np.nan, 0.75, 1])
        self.assertEqual(f["force_torque.wrist"].shape, (5, 6))
        np.testing.assert_array_equal(f["timestamp"], f.times)
        with self.assertRaisesRegex(KeyError, "a, b"):
            f["position.c"]
        with self.assertRaisesRegex(KeyError, "did you mean position"):
            f["positon"]

    def test_fields_and_ranges(self):
        f = self.m.frame(self.e, range=(T(100), T(300)), fields=["position.b", "battery_charge"])
        self.assertEqual(f.names, ["position.b", "battery_charge"])
        np.testing.assert_array_equal(f["position.b"], [10, 20])
        with self.assertRaisesRegex(engram.NotFound, "did you mean .?position"):
            self.m.frame(self.e, fields=["positon"])
        with self.assertRaisesRegex(engram.NotFound, "a, b"):
            self.m.frame(self.e, fields=["position.c"])
        self.assertEqual(len(self.m.frame(self.e + "x")), 0)

    def test_times_of_another_frame(self):
        at = [T(-50), T(100), T(150), T(400), T(1000)]
        exact = self.m.frame(self.e, fields="position", at=at)
        np.testing.assert_array_equal(exact["position.a"], [np.nan, 1, np.nan, 4, np.nan])
        last = self.m.frame(self.e, fields="position", at=exact, fill="last")
        np.testing.assert_array_equal(last["position.a"], [np.nan, 1, 1, 4, 4])
        near = self.m.frame(self.e, fields="position", at=last.times, fill="last", max_gap=engram.Duration(50))
        np.testing.assert_array_equal(near["position.a"], [np.nan, 1, 1, 4, np.nan])
        between = self.m.frame(self.e, fields="position", at=at, fill="interp")
        np.testing.assert_array_equal(between["position.a"], [np.nan, 1, 1.5, 4, np.nan])

    def test_interpolates_up_to_the_next_however_far(self):
        self.m.add_segment("GeneralPurpose/FrameSlow")
        e = self.entity("GeneralPurpose/FrameSlow")
        for t, v in ((0, 0), (60, 60.5), (2_600_000, 100)):
            self.m.commit(e, {"v": v}, time=T(t * 10**9))
        at = [T(30 * 10**9)]
        self.assertEqual(self.m.frame(e, fields="v", at=at, fill="interp")["v"], [30.25])
        self.assertEqual(self.m.frame(e, fields="v", at=at, fill="interp", max_gap="60s")["v"], [30.25])
        np.testing.assert_array_equal(self.m.frame(e, fields="v", at=at, fill="interp", max_gap="59s")["v"], [np.nan])
        np.testing.assert_array_equal(self.m.frame(e, fields="v", at=[T(1_300_060 * 10**9 - 30 * 10**9)], fill="interp")["v"].round(2), [80.25])
        f = self.m.frame(e, fields="v", range=(T(0), T(60 * 10**9)), every="20s", fill="interp")  # the end is not in the range
        np.testing.assert_allclose(f["v"], [0, 60.5 / 3, 121 / 3])

    def test_what_is_not_there(self):
        self.m.add_segment("GeneralPurpose/FrameAbsent")
        e = self.entity("GeneralPurpose/FrameAbsent")
        self.m.commit(e, {"v": 1, "l": [1, 2.5]}, time=T(100))
        self.m.commit(e, {"v": 1.5, "l": [2, 3]}, time=T(200))
        f = self.m.frame(e)
        self.assertEqual(f["v"].dtype, np.float64)
        np.testing.assert_array_equal(f["l[1]"], [2.5, 3])
        with self.assertRaisesRegex(engram.NotFound, "w: no such column: w; there are v, l"):
            self.m.frame(e, fields="w")
        np.testing.assert_array_equal(self.m.frame(e, fields="v", at=[T(50)], fill="last")["v"], [np.nan])
        self.assertEqual(len(self.m.frame(e + "x", fields="v")["v"]), 0)
        self.assertEqual(self.m.windows({e: (-1e-8, 0)}, at=[T(50)], fields={e: "v"})[e]["v"].shape, (1, 0))
        self.m.commit(e, {"v": 2, "n": 7}, time=T(300))
        for nothing in [], (), np.array([]), np.array([], "datetime64[ns]"):  # no times
            w = self.m.windows({e: (-1e-8, 0)}, at=nothing, fields={e: "v"})
            self.assertEqual((w[e]["v"].shape, w[e].mask.shape, len(w.times)), ((0, 0), (0, 0), 0))
        n = self.m.windows({e: (-1e-7, 0)}, at=[T(200), T(300)])[e]["n"]  # of whole numbers, which have no NaN
        self.assertEqual(n.tolist(), [[None, None], [None, 7]])
        self.assertEqual(self.m.windows({e: (-1.5e-7, 0)}, at=[T(100), T(300)])[e]["n"].tolist(), [[None, None], [None, 7]])
        for wrong in ({"at": np.array(["NaT"], "M8[ns]")}, {"every": float("nan")}, {"at": [T(100)], "fill": "last", "max_gap": "-1s"}):
            with self.assertRaises(engram.Invalid):
                self.m.frame(e, fields="v", **wrong)
        with self.assertRaises(engram.OutOfRange):
            self.m.frame(e, fields="v", every=1e300)

    def test_every(self):
        f = self.m.frame(self.e, fields="position.b", every=engram.Duration(50), fill="interp")
        np.testing.assert_array_equal(f["position.b"], np.arange(9) * 5)
        started = self.m.frame(self.e, fields="position.a", range=(T(250), T(400)), every=engram.Duration(50), fill="last")
        np.testing.assert_array_equal(started["position.a"], [2, 3, 3])
        for wrong in ({"every": "1s", "at": [T(0)]}, {"fill": "last"}, {"every": "1s", "fill": "nearest"}, {"every": 0}, {"at": [1.5]}):
            with self.assertRaises(engram.Invalid):
                self.m.frame(self.e, **wrong)

    def test_several_entities(self):
        self.m.commit(self.e + "2", {"position": [7.0]}, time=T(50))
        f = self.m.frame([self.e, self.e + "2"], fields=["position", "battery_charge"])
        self.assertEqual((len(f), list(f.entities[-2:])), (6, [self.e, self.e + "2"]))
        self.assertEqual(list(f["position"][-1]), [7.0])

    def test_rotations(self):
        e = self.entity("Object/Instance")
        half = np.sqrt(0.5)
        for t, q in ((0, [0, 0, 0, 1]), (100, [0, 0, -half, -half])):  # a quarter about z, of the other sign
            self.m.commit(e, {"pose": {"position": [t, 0, 0], "orientation": q}}, time=T(t))
        f = self.m.frame(e, fields="pose", at=[T(50)], fill="interp")
        np.testing.assert_allclose([f[f"pose.orientation.{a}"][0] for a in "xyzw"], [0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)], atol=1e-12)
        self.assertEqual(f["pose.position.x"][0], 50)

    def test_images(self):
        e = self.entity("Vision/ImageRGB")
        for t in range(3):
            self.m.commit(e, engram.image(np.full((4, 5, 3), t, np.uint8)), time=T(t * 100))
        w = self.m.windows({e: (engram.Duration(-100), 0), self.e: (engram.Duration(-250), engram.Duration(0))}, at=[T(0), T(200)])
        self.assertEqual(w[self.e]["position"].shape, (2, 3, 2))
        np.testing.assert_array_equal(w[self.e].mask, [[False, False, True], [True, True, True]])
        np.testing.assert_array_equal(w[self.e]["position"][1, :, 0], [0, 1, 2])
        self.assertTrue(np.isnan(w[self.e]["position"][0, :2]).all())
        np.testing.assert_allclose(w[self.e].offsets[1], [-2e-7, -1e-7, 0])
        every = self.m.windows({e: [-2e-7, 0], self.e: [-2e-7, 0]})  # around each image
        self.assertEqual(len(self.m.windows({}).times), 0)
        self.assertEqual(every.times.astype(np.int64).tolist(), [0, 100, 200])
        self.assertEqual(every[self.e].mask.tolist(), [[False, False, True], [False, True, True], [True, True, True]])
        seen = w[e]["image"]
        self.assertEqual((seen.shape, seen.dtype), ((2, 2, 4, 5, 3), np.uint8))
        self.assertEqual(seen[:, :, 0, 0, 0].tolist(), [[0, 0], [1, 2]])
        np.testing.assert_array_equal(w[e].mask, [[False, True], [True, True]])
        only = self.m.frame(e, fields=["image", "width"])
        self.assertEqual((only.names, np.asarray(only["image"][2])[0, 0, 0], only["width"][0]), (["image", "width"], 2, 5))
        self.assertNotIn("image", self.m.frame(self.e).names)
        with self.assertRaisesRegex(engram.NotFound, "image"):
            self.m.frame(self.e, fields=["image"])

    def test_video(self):
        """Frames of H.264, of which the first two come before a key frame."""
        try:
            import av
        except ImportError:
            self.skipTest("PyAV is not installed")
        encoder = av.CodecContext.create("libx264", "w")
        encoder.width, encoder.height, encoder.pix_fmt, encoder.gop_size, encoder.max_b_frames = 64, 48, "yuv420p", 4, 0
        encoder.time_base, encoder.options = Fraction(1, 10), {"tune": "zerolatency"}
        packets = [p for i in range(8) for p in encoder.encode(av.VideoFrame.from_ndarray(np.full((48, 64, 3), 30 * i, np.uint8), format="rgb24"))]
        self.m.add_segment("GeneralPurpose/Film", "foxglove.CompressedVideo")
        e = self.entity("GeneralPurpose/Film")
        for i, p in enumerate(packets[2:], 2):
            self.m.commit(e, {"timestamp": T(i * 100), "data": bytes(p), "format": "h264"}, time=T(i * 100))
        with self.assertWarnsRegex(UserWarning, "2 of 6 frames of video"):
            frame = self.m.frame(e, fields=["image"])
        seen = {int(t.astype(np.int64)) // 100: i for t, i in zip(frame.times, frame["image"])}
        self.assertEqual([i for i in seen if seen[i] is None], [2, 3])
        for i in range(4, 8):
            self.assertEqual(seen[i].shape, (48, 64, 3))
            self.assertLess(abs(float(seen[i].mean()) - 30 * i), 4, i)
        w = self.m.windows({e: (0, 0)}, at=[T(500), T(600)], fields={e: "image"})[e]
        self.assertEqual((w["image"].shape, w.mask.tolist()), ((2, 1, 48, 64, 3), [[True], [True]]))

        def shown(**options):
            images = self.m.frame(e, fields=["image"], **options)["image"]
            return [None if i is None else round(float(i.mean()) / 30) for i in images]

        # Frames are decoded from the key frame before what is asked for.
        self.assertEqual(shown(range=(T(600), T(800))), [6, 7])
        self.assertEqual(shown(at=[T(550), T(700)], fill="last"), [5, 7])
        self.assertEqual(shown(range=(T(500), T(800)), every=engram.Duration(100), fill="last"), [5, 6, 7])
        self.assertEqual(shown(range=(T(400), T(900)), where="payload.timestamp == timestamp('1970-01-01T00:00:00.0000006Z')"), [6])
        with self.assertWarns(UserWarning):
            w = self.m.windows({e: (engram.Duration(-100), 0)}, at=[T(300), T(400)], fields={e: "image"})[e]
        self.assertEqual((w.mask.tolist(), w["image"].shape), ([[False, False], [False, True]], (2, 2, 48, 64, 3)))
        self.m.commit(e, {"data": b"x", "format": "mjpeg"}, time=T(900))
        with self.assertRaisesRegex(engram.Unsupported, "mjpeg"):
            self.m.frame(e, fields=["image"])

    def test_key_frames(self):
        """By the units that each format has."""
        start = b"\0\0\0\1"
        for format, data, want in (
                ("h264", start + b"\x67s" + start + b"\x68p" + start + b"\x65i", True), ("h264", start + b"\x65i", False), ("h264", start + b"\x67s" + start + b"\x41i", False),
                ("h265", start + b"\x40v" + start + b"\x42s" + start + b"\x26i", True), ("h265", start + b"\x02p", False), ("h265", b"", False),
                ("vp9", b"\x82", True), ("vp9", b"\x86", False), ("vp9", b"\x88", False), ("vp9", b"\xb0", True), ("vp9", b"\xb2", False), ("vp9", b"", False),
                ("av1", b"\x12\0\x0a\1\0", True), ("av1", b"\x12\0\x32\1\0", False), ("av1", b"", False)):
            self.assertEqual(_video.is_key({"data": data, "format": format}), want, (format, data))

    def test_before_all_data(self):
        """Rows before all data have the columns that there are."""
        f = self.m.frame(self.e, fields=["position", "battery_charge"], at=[T(-50), T(-40)], fill="interp")
        self.assertEqual((f["position"].shape, f["battery_charge"].shape), ((2, 2), (2,)))
        self.assertTrue(np.isnan(f["position.a"]).all())
        self.assertEqual(self.m.frame(self.e, at=[T(-50)], fill="last")["name"].tolist(), [None])

    def test_missing(self):
        """A frame says what its rows lack."""
        self.m.add_segment("GeneralPurpose/FrameFew", max_count=5)
        e = self.entity("GeneralPurpose/FrameFew")
        for i in range(20):
            self.m.commit(e, {"v": i / 2}, time=T(i * 100))
        f = self.m.frame(e, range=(T(0), T(2000)))
        self.assertEqual((len(f), [(m.id, m.count) for m in f.missing]), (5, [(e, 15)]))
        self.assertIn("15 snapshots are missing", repr(f))
        for options in ({"at": [T(300)], "fill": "last"}, {"at": [T(300)]}, {"range": (T(0), T(300))}):
            with self.assertWarnsRegex(UserWarning, f"{e}: all of what was asked for is missing: .*evicted"):
                f = self.m.frame(e, **options)
            self.assertTrue(f.missing)
            if "at" in options:
                np.testing.assert_array_equal(f["v"], [np.nan])
        with self.assertWarnsRegex(UserWarning, "is missing"):
            w = self.m.windows({e: (engram.Duration(-100), 0)}, at=[T(300)])
        self.assertTrue(w.missing)
        with warnings.catch_warnings(record=True) as warned:
            self.assertEqual(self.m.frame(self.e).missing, [])
            self.m.frame(self.e + "x")
        self.assertEqual(warned, [])

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        d = self.m.frame(self.e, fields=["position", "battery_charge"]).to_pandas()
        self.assertIsInstance(d, pandas.DataFrame)
        self.assertEqual(list(d.columns), ["position.a", "position.b", "battery_charge"])
        self.assertEqual(d["position.b"].iloc[3], 30)
        odd = self.entity("Speech/Text")
        when = pandas.Timestamp(1_700_000_000_123_456_789)  # in UTC, as those of numpy
        self.m.commit(odd, {"text": "x", "duration": pandas.Timedelta(123_456_789)}, time=when)
        self.assertEqual((self.m.latest(odd).time, self.m.latest(odd)["duration"]), (when.value, 123_456_789))
        index = self.m.frame(odd).to_pandas().index
        self.assertEqual(self.m.frame(odd, at=index)["text"].tolist(), ["x"])
        with self.assertRaisesRegex(engram.Invalid, "NaT"):
            self.m.commit(odd, {"text": "x"}, time=pandas.NaT)

    def test_notebooks(self):
        self.assertIn("position.a", self.m.frame(self.e)._repr_html_())
        self.assertIn("battery_charge", self.m.latest(self.e)._repr_html_())
        self.assertIn(self.e, self.m.query(self.e)._repr_html_())
        with self.m.watch(self.e, backfill=1) as w, self.m.watch(self.e, backfill=1, data=False) as ids:
            self.assertIn("battery_charge", w.get(timeout=120)._repr_html_())
            self.assertIn(self.e, ids.get(timeout=120)._repr_html_())
        self.assertIn("position", self.m.windows({self.e: (0, 0)})._repr_html_())


def pointer(capsule, name, kind):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, name), ctypes.POINTER(kind)).contents


class Arrow(unittest.TestCase):
    """The structs are read as C code reads them."""

    def frame(self):
        lists = np.empty(3, object)
        lists[:] = [np.array([1.0]), None, np.array([2.0, 3.0])]
        images = np.empty(3, object)
        for i in range(3):
            images[i] = engram.image(np.zeros((1, 1), np.uint8))
        return Frame(np.array([10, 20, 30], np.int64).astype("datetime64[ns]"), {
            "x": Column(np.array([1.0, 2.0, 3.0])), "n": Column(np.array([1, 0, 3]), np.array([True, False, True])),
            "q": Column(np.arange(6.0).reshape(3, 2)), "text": Column(np.array(["a", None, "äb"], object)),
            "yes": Column(np.array([True, False, True])), "lists": Column(lists), "image": Column(images),
        })

    def test_stream(self):
        frame = self.frame()
        alive = len(_arrow._alive)
        with self.assertWarnsRegex(UserWarning, "left out: image;"):
            capsule = frame.__arrow_c_stream__()
        stream = pointer(capsule, b"arrow_array_stream", _arrow.ArrowArrayStream)
        schema, array = _arrow.ArrowSchema(), _arrow.ArrowArray()
        self.assertEqual(stream.get_schema(ctypes.pointer(stream), ctypes.pointer(schema)), 0)
        self.assertEqual(schema.format, b"+s")
        fields = {schema.children[i].contents.name.decode(): (i, schema.children[i].contents) for i in range(schema.n_children)}
        self.assertEqual({n: f.format for n, (_, f) in fields.items()},
                         {"time": b"tsn:UTC", "x": b"g", "n": b"l", "q": b"+w:2", "text": b"U", "yes": b"b", "lists": b"+L"})
        self.assertEqual(stream.get_next(ctypes.pointer(stream), ctypes.pointer(array)), 0)
        self.assertEqual((array.length, array.n_children), (3, 7))

        def child(name):
            return array.children[fields[name][0]].contents

        def numbers(of, buffer, kind, n):
            return list((kind * n).from_address(of.buffers[buffer]))

        self.assertEqual(numbers(child("time"), 1, ctypes.c_int64, 3), [10, 20, 30])
        self.assertEqual(child("x").buffers[1], frame.columns["x"].values.ctypes.data)  # not copied
        self.assertIsNone(child("x").buffers[0])
        self.assertEqual((child("n").null_count, numbers(child("n"), 0, ctypes.c_uint8, 1)), (1, [0b101]))
        q = child("q")
        self.assertEqual((q.n_buffers, numbers(q.children[0].contents, 1, ctypes.c_double, 6)), (1, [0, 1, 2, 3, 4, 5]))
        text = child("text")
        self.assertEqual(numbers(text, 1, ctypes.c_int64, 4), [0, 1, 1, 4])
        self.assertEqual(ctypes.string_at(text.buffers[2], 4), "aäb".encode())
        self.assertEqual(numbers(child("yes"), 1, ctypes.c_uint8, 1), [0b101])
        self.assertEqual(numbers(child("lists"), 1, ctypes.c_int64, 4), [0, 1, 1, 3])
        end = _arrow.ArrowArray()
        self.assertEqual(stream.get_next(ctypes.pointer(stream), ctypes.pointer(end)), 0)
        self.assertFalse(end.release)
        # A consumer may take over a child, and release it later.
        array.release(ctypes.pointer(array))
        schema.release(ctypes.pointer(schema))
        self.assertFalse(array.release)
        del capsule, stream
        self.assertEqual(len(_arrow._alive), alive)

    def test_names_that_are_taken(self):
        """A member that is called as the times are has another name."""
        f = Frame(np.array([10], np.int64).astype("datetime64[ns]"), {n: Column(np.array([1.0])) for n in ("time", "time_", "entity")}, np.array(["e"], object))
        schema = pointer(f.__arrow_c_schema__(), b"arrow_schema", _arrow.ArrowSchema)
        self.assertEqual([schema.children[i].contents.name for i in range(schema.n_children)], [b"time", b"entity", b"time_", b"time__", b"entity_"])

    def test_not_taken(self):
        alive = len(_arrow._alive), len(_arrow._capsules)
        for _ in range(10):
            self.frame().__arrow_c_stream__()
            self.frame().__arrow_c_schema__()
        self.assertEqual((len(_arrow._alive), len(_arrow._capsules)), alive)

    def test_empty(self):
        frame = Frame(np.empty(0, "datetime64[ns]"), {"x": Column(np.empty(0)), "t": Column(np.empty(0, object))})
        schema = pointer(frame.__arrow_c_schema__(), b"arrow_schema", _arrow.ArrowSchema)
        self.assertEqual(schema.n_children, 3)

    def test_lists_without_elements(self):
        """polars fails on lists of the fixed length 0."""
        frame = Frame(self.frame().times, {"x": Column(np.empty((3, 0)))})
        schema = pointer(frame.__arrow_c_schema__(), b"arrow_schema", _arrow.ArrowSchema)
        self.assertEqual(schema.children[1].contents.format, b"+L")

    def test_read_by_others(self):
        for name in ("pyarrow", "polars"):
            try:
                module = __import__(name)
            except ImportError:
                continue
            table = module.table(self.frame()) if name == "pyarrow" else module.DataFrame(self.frame())
            self.assertEqual(len(table), 3)
            self.assertEqual(table.column_names if name == "pyarrow" else table.columns, ["time", "x", "n", "q", "text", "yes", "lists"])
        self.assertNotIsInstance(self.frame(), Mapping)  # of which polars takes the columns alone, without the times
        self.assertEqual(list(dict(self.frame())), self.frame().names)


if __name__ == "__main__":
    unittest.main()
