"""Lists beside a list of names that changes: columns are by name, as idf.Type.Numbers of Go reads them."""

import os
import unittest

import numpy as np
from support import WithServer, run

import engram

T = engram.Time
nan = np.nan


class Joints(WithServer):
    segment = "RobotState/Proprioception"

    def commits(self, *states, entity=""):
        e = entity or self.entity(self.segment)
        for i, s in enumerate(states):
            self.m.commit(e, s, time=T(i * 100))
        return e

    def frame(self, e, fields=("position",), **options):
        return self.m.frame(e, fields=fields, **options)

    def test_two_publishers(self):
        e = self.commits({"name": ["arm1", "arm2"], "position": [0, 0]}, {"name": ["g1", "g2"], "position": [101, 101]},
                         {"name": ["arm2", "arm1"], "position": [4, 2]})
        f = self.frame(e)
        np.testing.assert_array_equal(f["position"], [[0, 0, nan, nan], [nan, nan, 101, 101], [2, 4, nan, nan]])
        for name in ("position.arm2", 'position["arm2"]', "position[1]"):
            np.testing.assert_array_equal(f[name], [0, nan, 4])
            np.testing.assert_array_equal(self.frame(e, [name])[name], [0, nan, 4])
        with self.assertRaisesRegex(KeyError, "arm1, arm2, g1, g2"):
            f["position.g3"]
        between = self.frame(e, at=[T(0), T(50), T(100), T(200)], fill="interp")
        np.testing.assert_array_equal(between["position"], [[0, 0, nan, nan], [nan] * 4, [nan, nan, 101, 101], [2, 4, nan, nan]])
        np.testing.assert_array_equal(self.frame(e, at=between, fill="last")["position.arm1"], [0, 0, nan, 2])
        np.testing.assert_array_equal(self.frame(e, every=engram.Duration(100), fill="interp")["position.g1"], [nan, 101, nan])
        self.assertEqual(list(self.frame(e).flat()), ["position.arm1", "position.arm2", "position.g1", "position.g2"])
        w = self.m.windows({e: (engram.Duration(-100), 0)}, at=[T(100), T(200)], fields={e: "position"})[e]
        np.testing.assert_array_equal(w["position.arm1"], [[0, nan], [nan, 2]])
        np.testing.assert_array_equal(w["position"][0], [[0, 0, nan, nan], [nan, nan, 101, 101]])

    def test_another_order(self):
        e = self.commits({"name": ["l", "r"], "position": [1, 2]}, {"name": ["r", "l"], "position": [4, 3]})
        self.assertEqual(self.frame(e, at=[T(50)], fill="interp")["position"].tolist(), [[2, 3]])

    def test_without_a_name(self):
        """What no name belongs to stays a list of its row."""
        e = self.commits({"name": ["l", "r"], "position": [1, 2]}, {"name": ["r"], "position": [4, 3]}, {"name": ["r", "l"]})
        f = self.frame(e)
        self.assertEqual([v.tolist() for v in f["position"]], [[1, 2], [4, 3], []])
        with self.assertRaisesRegex(KeyError, r"change in length \(at 1970-01-01T00:00:00.000000200\), or are not as long as the names"):
            f["position.l"]
        with self.assertRaisesRegex(engram.NotFound, "not as long as the names"):
            self.frame(e, ["position.l"])
        twice = self.commits({"name": ["l", "l"], "position": [1, 2]}, {"name": ["r", "l"], "position": [4, 3]})
        self.assertEqual(self.frame(twice)["position"].dtype, object)

    def test_a_row_without_the_list(self):
        e = self.commits({"name": ["l"], "position": [1]}, {"name": ["r", "l"]}, {"position": []}, {"name": ["r", "l"], "position": [4, 3]})
        np.testing.assert_array_equal(self.frame(e)["position"], [[1, nan], [nan, nan], [nan, nan], [3, 4]])

    def test_names_that_look_like_paths(self):
        e = self.commits({"name": ["1", "arm.2", 'a"b', "x[1]"], "position": [10, 20, 30, 40]})
        f = self.frame(e)
        for name, want in (("position.1", 10), ("position.arm.2", 20), ('position["arm.2"]', 20), (r'position["a\"b"]', 30), ('position["x[1]"]', 40),
                           ("position[1]", 20)):
            self.assertEqual((f[name].tolist(), self.frame(e, [name])[name].tolist()), ([want], [want]), name)

    def test_several_entities(self):
        a = self.commits({"name": ["l", "r"], "position": [1, 2]})
        b = self.commits({"name": ["r", "l"], "position": [4, 3]})
        c = self.commits({"name": ["tool"], "position": [9]})
        d = self.commits({"battery_charge": 1})
        f = self.frame([a, b, c, d])
        row = {e: i for i, e in enumerate(f.entities)}
        for name, want in (("l", [1, 3, nan, nan]), ("r", [2, 4, nan, nan]), ("tool", [nan, nan, 9, nan])):
            np.testing.assert_array_equal(f["position." + name][[row[e] for e in (a, b, c, d)]], want)
        unnamed = self.commits({"position": [5, 6]})
        self.assertEqual(self.frame([a, unnamed])["position"].dtype, object)

    def test_in_an_episode(self):
        e = self.commits({"name": ["l", "r"], "position": [1, 2]}, {"name": ["r", "g"], "position": [4, 3]})
        file = os.path.join(self.server.folder, "joints.mcap")
        run("export", e, file, address=self.server.socket)
        with engram.open_episode(file) as episode:
            np.testing.assert_array_equal(episode.frame(e, fields="position")["position"], [[1, 2, nan], [nan, 4, 3]])
            np.testing.assert_array_equal(episode.windows({e: (0, 0)}, fields={e: "position"})[e]["position.r"], [[2], [4]])


class JointsByGrpc(Joints):
    @classmethod
    def address(cls):
        return cls.server.http


class AnyData(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.m.add_segment("GeneralPurpose/Joints")

    def test_below_a_member(self):
        """Names count for the lists beside them, in a dict of any data as in a type."""
        e = self.entity("GeneralPurpose/Joints")
        self.m.commit(e, {"name": ["x"], "j": {"name": ["l", "r"], "position": [1, 2], "n": np.array([1, 2])}, "other": [7.0]}, time=T(0))
        self.m.commit(e, {"name": ["x"], "j": {"name": ["r", "l"], "position": [4, 3], "n": np.array([4, 3])}, "other": [8.0]}, time=T(100))
        self.m.commit(e, {"j": {"name": ["g"], "position": [5], "late": 1}}, time=T(200))
        f = self.m.frame(e)
        np.testing.assert_array_equal(f["j.position"], [[1, 2, nan], [3, 4, nan], [nan, nan, 5]])
        self.assertEqual((f["other.x"][:2].tolist(), f["j.late"][2]), ([7, 8], 1))
        np.testing.assert_array_equal(self.m.frame(e, fields=["j.position.r"], at=[T(50)], fill="interp")["j.position.r"], [3])
        np.testing.assert_array_equal(f["j.n"], [[1, 2, nan], [3, 4, nan], [nan, nan, nan]])

    def test_whole_numbers(self):
        """Numbers are interpolated if their type does not say that they are whole."""
        e = self.entity("GeneralPurpose/Joints")
        for t, v in ((0, 0), (100, 1), (200, 2)):
            self.m.commit(e, {"v": v, "l": [v], "yes": True}, time=T(t))
        f = self.m.frame(e, at=[T(50), T(100)], fill="interp")
        self.assertEqual((f["v"].tolist(), f["l"].tolist(), f["yes"].tolist()), ([0.5, 1], [[0.5], [1]], [True, True]))
        self.assertEqual(self.m.frame(e)["v"].dtype, np.int64)
        image = self.entity("Vision/ImageRGB")
        for t, n in ((0, 2), (100, 5)):
            self.m.commit(image, engram.image(np.zeros((n, n, 3), np.uint8)), time=T(t))
        self.assertEqual(self.m.frame(image, fields="width", at=[T(50)], fill="interp")["width"].tolist(), [2])

    def test_mixed_rows(self):
        e = self.entity("GeneralPurpose/Joints")
        values = [{"a": 1}, 5, [1, 2], "x", None, [[1.0]]]
        for i, v in enumerate(values):
            self.m.commit(e, {"v": v}, time=T(i))
        self.assertEqual(self.m.frame(e)["v"].tolist(), values)


if __name__ == "__main__":
    unittest.main()
