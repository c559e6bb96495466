"""Arrays arrive as they are, or are refused: none is flattened, cut, unmasked or rounded to infinity."""

import dataclasses
import decimal
import enum
import math
import pathlib
import unittest
import warnings
from typing import Any, ClassVar, List

import numpy as np
from support import WithServer
from test_values import registry

import engram
from engram import payload
from engram._decode import decode
from engram._encode import encode

masked = np.ma.masked
hidden = np.ma.array([1.0, 2.0], mask=[False, True])
counts = np.ma.array([1, 2], mask=[False, True])


def turned(x=1.0, y=2.0, z=3.0):
    m = np.eye(4)
    m[:3, 3] = x, y, z
    return m


class Codec(unittest.TestCase):
    """By the members of types that every server has."""

    types = registry()

    def encode(self, type, value):
        return encode(self.types.get(type), value)

    def back(self, type, value):
        return decode(self.types.get(type), self.encode(type, value))

    def refused(self, type, value, text, kind=engram.Invalid):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(kind, text):
                self.encode(type, value)

    def test_matrices_of_poses(self):
        self.assertEqual(self.back("foxglove.Pose", turned()).matrix.tolist(), turned().tolist())
        scaled = turned()
        scaled[3, 3] = 2
        for wrong in (turned().T, turned().T.tolist(), scaled):
            self.refused("foxglove.Pose", wrong, "last row of a pose's matrix is 0 0 0 1")
        for wrong in (np.eye(3), np.zeros((3, 4)), [[1, 2], [3]], np.array([["a"] * 4] * 4), np.full((4, 4), np.nan), np.ma.array(np.eye(4), mask=np.eye(4))):
            self.refused("foxglove.Pose", wrong, "^foxglove.Pose: ")
        self.refused("foxglove.Pose", object(), "a dict with members of foxglove.Pose is wanted")
        transform = engram.Transform("a", "b", [1, 2, 3], [0, 0, 0, 1])
        self.assertEqual(self.back("foxglove.Pose", transform).matrix.tolist(), turned().tolist())
        self.refused("foxglove.Vector3", np.arange(3.0).reshape(3, 1), "of shape 3 x 1")

    def test_shapes_of_lists(self):
        for wrong in (np.arange(6.0).reshape(2, 3), [[1.0, 2.0]], [[]], np.zeros((0, 3)), np.array(1.0)):
            self.refused("foxglove.LaserScan", {"ranges": wrong}, "^ranges: a list of numbers is wanted")
        for wrong in (np.array([[1], [2]]), [[1]], np.array([1.5]), [np.array([1])], 5, "12"):
            self.refused("engram.ltm.v1.Envelope", {"time": wrong}, "^time")
        self.refused("foxglove.LaserScan", {"start_angle": np.array([1.0])}, "^start_angle: a double is wanted")
        self.assertEqual(self.back("foxglove.LaserScan", {"start_angle": np.array(1.5)})["start_angle"], 1.5)
        self.refused("engram.ltm.v1.Envelope", {"types": 5}, "^types: a list is wanted, not int")
        self.refused("foxglove.RawImage", {"data": np.array([object()])}, "^data: bytes are wanted")
        self.refused("foxglove.RawImage", np.zeros((2, 3), np.uint8), r"engram.image\(array\)")
        for wrong in ("false", [True], np.array([True])):
            self.refused("engram.ltm.v1.Envelope", {"unsent": [wrong]}, "^unsent.*: a bool is wanted")

    def test_masks(self):
        got = self.back("foxglove.LaserScan", {"ranges": hidden, "intensities": [1.0, masked], "start_angle": masked})
        np.testing.assert_array_equal(got["ranges"], [1, np.nan])
        np.testing.assert_array_equal(got["intensities"], [1, np.nan])
        self.assertTrue(math.isnan(got["start_angle"]))
        self.assertEqual(self.back("engram.ltm.v1.Envelope", {"time": np.ma.array([1, 2])})["time"].tolist(), [1, 2])
        self.refused("engram.ltm.v1.Envelope", {"time": counts}, "^time: elements of int64 are masked")
        self.refused("engram.ltm.v1.Envelope", {"time": [1, masked]}, "^time")
        self.refused("foxglove.RawImage", {"width": masked}, "^width")
        self.refused("foxglove.RawImage", {"data": np.ma.array(np.zeros(2, np.uint8), mask=[1, 0])}, "^data: elements of uint8 are masked")
        any = self.back("engram.idf.v1.Value", {"a": hidden, "b": [masked], "c": np.ma.array([1]), "d": [hidden]})
        np.testing.assert_array_equal(any["a"], [1, np.nan])
        np.testing.assert_array_equal(any["d"][0], [1, np.nan])
        self.assertEqual((math.isnan(any["b"][0]), any["c"].tolist()), (True, [1]))
        self.refused("engram.idf.v1.Value", {"a": counts}, "^a: elements of int64 are masked")
        matrix = np.ma.array(np.ones((2, 2)), mask=np.eye(2))
        np.testing.assert_array_equal(self.back("engram.idf.v1.Matrix", matrix), [[np.nan, 1], [1, np.nan]])
        np.testing.assert_array_equal(self.back("engram.idf.v1.Matrix", [*matrix]), [[np.nan, 1], [1, np.nan]])
        np.testing.assert_array_equal(engram.image(np.ma.array(np.ones((1, 2), np.float32), mask=[[0, 1]])).array, [[1, np.nan]])
        with self.assertRaisesRegex(engram.Invalid, "^image: elements of uint8 are masked"):
            engram.image(np.ma.array(np.ones((1, 2), np.uint8), mask=[[0, 1]]))

    def test_numbers_that_do_not_fit(self):
        for wrong in ([1e300], np.array([1e300]), [-1e39]):
            self.refused("engram.ltm.v1.Envelope", {"confidence": wrong}, "^confidence: not all of", engram.OutOfRange)
        got = self.back("engram.ltm.v1.Envelope", {"confidence": [math.inf, -math.inf]})
        self.assertEqual(got["confidence"].tolist(), [math.inf, -math.inf])
        self.refused("foxglove.RawImage", {"width": 1 << 32}, "^width", engram.OutOfRange)
        self.refused("foxglove.RawImage", {"width": "1"}, "^width")

    def test_any_data(self):
        class Color(enum.Enum):
            RED = object()

        half = self.back("engram.idf.v1.Value", np.array([1.5], np.float16))
        self.assertEqual((half.tolist(), half.dtype), ([1.5], np.float32))
        for wrong, text in ((Color.RED, "its value or its name"), ({1}, "sorted"), (pathlib.Path("x"), r"str\("), (decimal.Decimal(1), r"float\("),
                            (b"x", "frombuffer"), (object(), "write a dict"), (1j, "write")):
            self.refused("engram.idf.v1.Value", {"a": wrong}, f"^a: .*{text}")
        self.refused("engram.idf.v1.Value", {1: "a", "1": "b"}, "the keys 1 and '1' are one text")
        self.refused("engram.idf.v1.Matrix", [[1], [2, 3]], "several lengths")
        for type, wrong in (("engram.idf.v1.List", 5), ("engram.idf.v1.Dict", 5), ("engram.idf.v1.List", "text")):
            self.refused(type, wrong, "is wanted, not")

    def test_one_of_several(self):
        self.refused("engram.v1.SnapshotSelector", {"all": True, "latest": 3}, "not both")


@dataclasses.dataclass(kw_only=True, eq=False)
class Arm(payload.Payload):
    TYPE: ClassVar[str] = "test.Arm"

    position: List[float] = payload.member(1, "list<double>")
    effort: List[float] = payload.member(2, "list<float>")
    count: List[int] = payload.member(3, "list<int32>")
    gain: float = payload.member(4, "double")
    data: bytes = payload.member(5, "bytes")
    any: Any = payload.member(6, "value")
    on: bool = payload.member(7, "bool")


class Classes(unittest.TestCase):
    """The same of objects of generated classes."""

    def test_members(self):
        back = Arm.from_payload(Arm(position=hidden, gain=masked, any=hidden, effort=[math.inf], count=np.array([1, 2])).to_payload())
        np.testing.assert_array_equal(list(back.position), [1, np.nan])
        np.testing.assert_array_equal(back.any, [1, np.nan])
        self.assertEqual((math.isnan(back.gain), list(back.effort), list(back.count)), (True, [math.inf], [1, 2]))
        for wrong in ({"position": np.zeros((2, 3))}, {"position": [[1.0]]}, {"position": ["1"]}, {"effort": [1e300]}, {"count": counts}, {"count": np.array([[1]])},
                      {"gain": np.array([1.0])}, {"any": counts}, {"data": np.ma.array(np.zeros(2, np.uint8), mask=[1, 0])}, {"on": np.array([True])}):
            with self.subTest(wrong), self.assertRaises(payload.PayloadError):
                Arm(**wrong).to_payload()

    def test_parts(self):
        pose = payload.Pose.of_matrix(turned())
        np.testing.assert_allclose(pose.matrix(), turned())
        for make, wrong in ((payload.Pose.of_matrix, turned().T), (payload.Pose.of_matrix, np.eye(3)), (payload.Quaternion.of_matrix, np.ones((3, 3))),
                            (payload.Vector3.of, np.zeros((3, 1))), (payload.Vector3.of, np.zeros(4))):
            with self.subTest(make), self.assertRaises(ValueError):
                make(wrong)
        with self.assertRaises(ValueError):
            payload.Image.of(np.ma.array(np.zeros((1, 2), np.uint8), mask=[[0, 1]]), "mono8")


class Poses(WithServer):
    def test_commit(self):
        for wrong in (turned().T, "abc", [[1], [2, 3]], np.zeros((3, 1)), np.array([np.nan, 0, 0]), np.ma.array([1.0, 2, 3], mask=[1, 0, 0])):
            with self.assertRaisesRegex(engram.Invalid, "^pose: .*it is a Transform, a 4x4 matrix, or a translation"):
                self.m.poses.commit("map", "arrays", wrong)
        for wrong in (np.zeros((3, 12)), np.zeros(6), "abc"):
            with self.assertRaisesRegex(engram.Invalid, "6x6"):
                self.m.poses.commit("map", "arrays", [1, 2, 3], covariance=wrong)
        self.m.poses.commit("map", "arrays", np.ma.array(turned()), covariance=np.ma.array(np.eye(6)))


if __name__ == "__main__":
    unittest.main()
