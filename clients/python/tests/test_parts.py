import asyncio
import os
import subprocess
import tempfile
import threading
import unittest
import warnings

import numpy as np

import engram
from support import BINARY, Server, WithServer, run

T = engram.Time


class Skills(WithServer):
    def setUp(self):
        self.go_on = threading.Event()
        arm = self.m.provider(f"Arm{self.id().rsplit('_', 1)[1]}", lease="60s")

        @arm.skill(resources=["right_arm"], timeout="20s")
        def grasp(call, object: str, force: float = 10.0, at: engram.ID | None = None, tags: list[str] = []):
            """Closes the hand around something."""
            call.progress(0.5, "closing")
            if object == "wet":
                raise engram.SkillFailed("slipped", "the cup slipped", retry="yes")
            if object == "bug":
                raise ValueError("a bug")
            return {"force": force, "object": object}

        @arm.skill
        def stubborn(call):
            call.refuse_stop("not now")
            call.progress(0.5, "refuses")
            self.go_on.wait()

        @arm.skill(name="Stare", stop_timeout="60s")
        def stare(call):
            while True:
                call.sleep(60)

        self.arm = arm

    def test_run(self):
        with self.arm as arm:
            name = f"{arm.name}/Grasp"
            listed = next(s for s in self.m.skills.list() if s.provider == arm.name and s.name == "Grasp")
            self.assertEqual((listed.description, listed.defaults["force"], listed.in_service), ("Closes the hand around something.", 10.0, True))
            self.assertEqual(self.m.skills.run(name, object="cup", tags=["a"]), {"force": 10.0, "object": "cup"})
            for object, code in (("wet", "slipped"), ("bug", "exception")):
                with self.assertRaises(engram.SkillFailed) as caught:
                    self.m.skills.run(name, {"object": object})
                self.assertEqual(caught.exception.code, code)
            with self.assertRaisesRegex(engram.TypeMismatch, "did you mean object"):
                self.m.skills.run(name, objekt="cup")
            with self.assertRaises(engram.NotFound):
                self.m.skills.run("Nothing")
            x = self.m.skills.start(f"{arm.name}/Stare")
            for state in x.watch():
                if state["status"] == "Running":
                    break
            self.assertEqual(x.abort("enough", timeout=180), "Confirmed")
            with self.assertRaisesRegex(engram.SkillFailed, "enough"):
                x.result()
            x = self.m.skills.start(f"{arm.name}/Stubborn")
            for state in x.watch():
                if state["message"] == "refuses":
                    break
            self.assertEqual(x.abort("please", timeout=180), "Refused")
            self.go_on.set()
            self.assertIsNone(x.result())
        self.assertFalse(any(s.in_service for s in self.m.skills.list() if s.provider == arm.name))

    def test_commands(self):
        """The command line runs a skill of Python."""
        with self.arm as arm:
            self.assertIn('"force": 3', run("skill", "run", f"{arm.name}/Grasp", "--params", '{"object": "cup", "force": 3}', address=self.server.socket))

    def test_annotations(self):
        provider = self.m.provider("Odd")

        @provider.skill
        def odd(call, x: threading.Thread):
            pass

        with self.assertRaisesRegex(engram.Invalid, "OddParameters.x"):
            provider.run()


class PosesAndLinks(WithServer):
    def test_poses(self):
        self.m.poses.commit("map", "base", [1, 0, 0], time=T(10**18), robot="rover")
        self.m.poses.commit("map", "base", [2, 0, 0], time=T(10**18 + 10**9), robot="rover")
        turned = np.array([[0, -1, 0, 0.5], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
        self.m.poses.commit("base", "camera", turned, static=True, robot="rover")
        t = self.m.poses.lookup("rover/map", "rover/camera", T(10**18 + 5 * 10**8), wait=True, timeout=60)
        np.testing.assert_allclose(t.translation, [2, 0, 0], atol=1e-9)
        np.testing.assert_allclose(t.apply([[1, 0, 0]]), [[2, 1, 0]], atol=1e-9)
        np.testing.assert_allclose((t @ t.inverse()).matrix, np.eye(4), atol=1e-9)
        track = self.m.poses.buffer("rover/map", "rover/base", (T(10**18), T(10**18 + 10**9)), every="100ms")
        self.assertEqual(track.matrices.shape, (10, 4, 4))
        np.testing.assert_allclose(track.lookup(T(10**18 + 15 * 10**7)).translation, [1.15, 0, 0], atol=1e-9)
        with self.assertRaises(engram.TooNew):
            track.lookup(T(2 * 10**18))
        with self.assertRaises(engram.NotFound):
            self.m.poses.lookup("rover/map", "nose")
        self.assertIn(("rover/base", "rover/camera", "fixed"), [e[:3] for e in self.m.poses.tree()])

    def test_traces(self):
        image = self.m.commit(self.entity("Vision/ImageRGB"), engram.image(np.zeros((2, 2), np.uint8), "mono8"))
        cup = self.m.commit(self.entity("Object/Instance"), {"source_image": image})
        trace = self.m.trace(cup)
        self.assertEqual([n.id for n in trace.nodes], [cup, image])
        self.assertEqual([(k.source, k.target, k.path) for k in trace.links], [(cup, image, "source_image")])
        self.assertEqual([b.source for b in self.m.back_links(image)], [cup + "/0"])
        self.assertEqual(self.m.latest(cup)["source_image"], image)
        self.assertIn(cup, trace._repr_html_())

    def test_doubt(self):
        image, cup = self.entity("Vision/ImageRGB"), self.entity("Object/Instance")
        self.m.commit(image, {}, time=10)
        self.m.commit(cup, {"frame_id": "before"}, time=11)
        self.m.commit(cup, {"source_image": engram.ID(f"{image}/{engram.Time(10)}")}, time=12)
        withdrawal = self.entity("SystemState/Withdrawal")
        self.m.commit(withdrawal, {"entities": str(image), "reason": "it was mis-calibrated"})
        self.assertEqual(self.m.query(cup).one().time, 12)
        got = self.m.query(cup, without_doubtful=True)
        self.assertEqual(got.one().time, 11)
        self.assertEqual([(m.reason, m.count) for m in got.missing], [("doubtful", 1)])
        why = f"doubtful: it rests on {image}/{engram.Time(10)}, which is withdrawn: it was mis-calibrated"
        trace = self.m.trace(cup)
        self.assertEqual([n.doubtful for n in trace.nodes], [why, "withdrawn: it was mis-calibrated"])
        self.assertIn("mis-calibrated", trace._repr_html_())
        self.m.commit(withdrawal, {"entities": str(image), "revoked": True})
        self.assertEqual([n.doubtful for n in self.m.trace(cup).nodes], ["", ""])
        self.assertEqual(self.m.query(cup, without_doubtful=True).one().time, 12)

    def test_predict(self):
        e = self.entity("Object/Instance")
        self.m.commit(e, {"pose": np.eye(4), "is_static": True}, time=engram.now())
        p = self.m.predict(e, at="now+1s")[0]
        self.assertTrue(p.snapshot is not None or p.error is not None)
        e = self.entity("RobotState/Proprioception")
        start = engram.now()
        for i in range(60):
            self.m.commit(e, {"position": [0.1 * i, 2.0]}, time=start + i * 100_000_000)
        p = self.m.predict(e, at=start + 64 * 100_000_000)[0]
        self.assertIsNone(p.error)
        assert p.snapshot is not None
        self.assertAlmostEqual(p.snapshot["position"][0], 6.4, places=3)
        member = p.members["position[0]"]
        self.assertTrue(member.low <= 6.4 <= member.high and member.skill > 0.3, member)
        self.assertEqual((p.horizon, p.sources), (500_000_000, (engram.ID(f"{e}/{engram.Time(start + 59 * 100_000_000)}"),)))
        for pattern in (e, f"{e.rsplit('/', 1)[0]}/~{e.rsplit('/', 1)[1]}"):
            n = self.m.query(pattern, at=start + 64 * 100_000_000, predict=True)[0]
            self.assertTrue(n.predicted)
            self.assertAlmostEqual(n["position"][0], 6.4, places=3)
            known = self.m.query(pattern, at=start + 64 * 100_000_000)[0]
            self.assertEqual((known["position"][0], known.predicted), (0.1 * 59, False))

    def test_doubt_of_a_node_of_several_snapshots(self):
        marker, cup = self.entity("Object/Instance"), self.entity("Object/Instance")
        for t in range(3):
            self.m.commit(marker, {}, time=10 + 10 * t)
            self.m.commit(cup, {"attachment": engram.ID(marker)}, time=11 + 10 * t)
        self.m.commit(self.entity("SystemState/Withdrawal"), {"entities": str(marker), "end": engram.Time(25), "reason": "it was dark"})
        doubts = [n.doubtful for n in self.m.trace(marker, direction="down").nodes if n.id.startswith(cup)]
        self.assertEqual(doubts, [f"2 of 3 doubtful: it rests on {marker}/{engram.Time(20)}, which is withdrawn: it was dark (at {engram.Time(21)})"])

    def test_world_and_questions(self):
        self.m.world.put("table", {"description": {"kinds": ["object", "furniture"]}})
        self.m.world.put("cup", {"description": {"kinds": ["object"]}, "structure": {"parent": "table"}})
        self.assertEqual(self.m.world.statements("cup")["cup"][0].value.structure.parent, "table")
        self.assertIn("cup", run("world", "tree", address=self.server.socket))
        rows = list(self.m.ask("?x rdf:type ?y", limit=3))
        self.assertEqual((len(rows), sorted(rows[0])), (3, ["x", "y"]))
        with self.assertRaises(engram.Invalid):
            list(self.m.ask("?x ?"))


class Asyncio(WithServer):
    def test_all(self):
        async def work():
            async with engram.aio.connect(self.address()) as m:
                async with m.watch("Speech/Text/aio") as w:
                    await asyncio.gather(*(m.commit(f"Speech/Text/aio/{i}", {"text": str(i)}) for i in range(40)))
                    seen = set()
                    async for u in w:
                        seen.add(u.value.text)
                        if len(seen) == 40:
                            break
                self.assertEqual((await m.latest("Speech/Text/aio/3"))["text"], "3")
                async with m.stream(window=4) as stream:
                    for i in range(50):
                        await stream.commit("Speech/Text/aio/s", {"text": str(i)})
                self.assertEqual(stream.committed, 50)
                began = asyncio.Event()

                async def forever():
                    async with m.watch("Speech/Text/nobody") as w:
                        began.set()
                        async for _ in w:
                            pass

                task = asyncio.create_task(forever())
                await began.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                with self.assertRaises(engram.NotFound):
                    await m.latest("Speech/Text/no/body")
            m = await engram.aio.connect(self.address())
            self.assertIn("Speech", await m.memories())
            await m.close()

        asyncio.run(work())


class Episodes(WithServer):
    def test_is_what_the_server_has(self):
        e = self.entity("RobotState/Proprioception")
        for i in range(200):
            self.m.commit(e, instances=[engram.Datum({"position": [i]}, 0.5, T(i + 7)), {"position": [-i]}], time=T(10**18 + i * 10**7))
        pixels = np.random.default_rng(2).integers(0, 255, (50, 60, 3), np.uint8)
        image = self.m.commit(self.entity("Vision/ImageRGB"), engram.image(pixels))
        file = os.path.join(self.server.folder, "all.mcap")
        run("export", file, address=self.server.socket)
        with engram.open_episode(file) as episode:
            for id in {x.id for x in episode.entities if not x.id.startswith("SystemState")}:
                want, got = (source.query(id, all=True) for source in (self.m, episode))
                self.assertEqual(*([(s.time, s.arrived, [(bytes(i.data), i.type, i.sent, i.confidence) for i in s]) for s in r] for r in (want, got)))
            np.testing.assert_array_equal(episode.latest(image).value.array, pixels)
            for selection in ({"latest": 2}, {"at": T(10**18 + 15)}, {"nearest": T(10**18 + 10**7 - 1)}, {"range": (T(10**18 + 1), T(10**18 + 5 * 10**7))},
                              {"index": (-3, -2)}, {"at": "-15ms"}, {"range": "-30ms.."}, {"exactly": T(10**18)}):
                self.assertEqual(*([s.time for s in source.query(e, **selection)] for source in (self.m, episode)))
            self.assertEqual([s.time for s in episode.query(e, latest=1, where=lambda i: i["position"][0] < -10)], [10**18 + 199 * 10**7])
            np.testing.assert_array_equal(episode.frame(e, fields="position")["position"], self.m.frame(e, fields="position")["position"])
            self.assertIn(e, episode._repr_html_())
            with self.assertRaises(engram.Unsupported):
                episode.query(e, where="confidence > 0.5")

    def test_no_episode(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = os.path.join(folder, "x.mcap")
            for data in (b"", b"nothing", b"\x89MCAP0\r\n"):
                with open(wrong, "wb") as f:
                    f.write(data)
                with self.assertRaises((engram.Corrupt, engram.Invalid)):
                    engram.open_episode(wrong)
            with self.assertRaises(engram.NotFound):
                engram.open_episode(wrong + "x")
            with self.assertRaises(engram.Invalid):
                engram.open_episode(folder)

    def test_cut_off(self):
        """What is whole of a file that was cut off is read."""
        e = self.entity("Speech/Text")
        for i in range(100):
            self.m.commit(e, {"text": "x" * 1000})
        file = os.path.join(self.server.folder, "cut.mcap")
        run("export", e, file, address=self.server.socket)
        with open(file, "rb") as f:
            whole = f.read()
        for cut in range(0, len(whole), 97):
            with open(file, "wb") as f:
                f.write(whole[:cut])
            try:
                with self.assertWarnsRegex(UserWarning, "cut.mcap: the file has no end"), engram.open_episode(file) as episode:
                    self.assertLessEqual(len(episode.query(all=True)), 100)
                    self.assertFalse(episode.complete)
            except (engram.Corrupt, engram.Invalid):
                pass
        with open(file, "wb") as f:
            f.write(whole)
        with warnings.catch_warnings(record=True) as warned, engram.open_episode(file) as episode:
            self.assertTrue(episode.complete)
        self.assertEqual(warned, [])


@unittest.skipUnless(BINARY, "ENGRAM_BINARY names no engram")
class Credentials(unittest.TestCase):
    def test_tls(self):
        folder = tempfile.mkdtemp(prefix="engram-py-auth-")
        auth = os.path.join(folder, "auth")

        def engram_auth(*args):
            return subprocess.run([BINARY, "auth", *args], cwd=folder, check=True, capture_output=True, text=True).stdout

        try:
            engram_auth("init", "--dir", auth)
            engram_auth("add", "--dir", auth, "--server", "brain", "--out", os.path.join(folder, "brain.credentials"))
            engram_auth("add", "--dir", auth, "camera", "--out", os.path.join(folder, "camera.credentials"))
        except subprocess.CalledProcessError as e:
            self.fail(e.stderr)
        server = Server("--credentials", os.path.join(folder, "brain.credentials"))
        try:
            address = server.http.replace("http://", "https://")
            with engram.connect(address, credentials=os.path.join(folder, "camera.credentials")) as m:
                m.commit("Speech/Text/a/b", {"text": "secret"})
                self.assertEqual(m.latest("Speech/Text/a/b")["text"], "secret")
                self.assertEqual(len(m.poses.tree()), 0)
            with self.assertRaisesRegex(engram.Forbidden, "engram auth add"):
                engram.connect(address)
            with self.assertRaises(engram.NotFound):
                engram.connect(address, credentials=os.path.join(folder, "none.credentials"))
            os.chmod(os.path.join(folder, "camera.credentials"), 0o644)
            with self.assertRaisesRegex(engram.Forbidden, "chmod 600"):
                engram.connect(address, credentials=os.path.join(folder, "camera.credentials"))
        finally:
            server.close()


if __name__ == "__main__":
    unittest.main()
