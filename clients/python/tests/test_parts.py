import asyncio
import os
import subprocess
import tempfile
import threading
import unittest
import warnings

import numpy as np
from support import BINARY, Server, WithServer, run

import engram

T = engram.Time


class PosesAndWorld(WithServer):
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

    def test_world(self):
        self.m.world.put("table", {"description": {"kinds": ["object", "furniture"]}})
        self.m.world.put("cup", {"description": {"kinds": ["object"]}, "structure": {"parent": "table"}})
        self.assertEqual(self.m.world.statements("cup")["cup"][0].value.structure.parent, "table")
        self.assertIn("cup", run("world", "tree", address=self.server.socket))


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

                async with m.watch("Speech/Text/late") as w:
                    for text in ("a", "b"):
                        with self.assertRaises(asyncio.TimeoutError):
                            await asyncio.wait_for(w.__anext__(), 0.01)
                        await m.commit("Speech/Text/late/e", {"text": text})
                        self.assertEqual((await w.__anext__())["text"], text)
                with self.assertRaises(StopAsyncIteration):
                    await w.__anext__()

                task = asyncio.create_task(forever())
                await began.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                with self.assertRaises(engram.NotFound):
                    await m.latest("Speech/Text/no/body")
            m = await engram.aio.connect(self.address())
            self.assertIn("Speech", await m.memories())
            self.assertEqual((m.address, m.robot), (self.m.address, self.m.robot))
            await m.world.put("aio-table", {"description": {"kinds": ["object"]}})
            self.assertEqual(list(await m.world.statements("aio-table")), ["aio-table"])
            await m.close()

        asyncio.run(work())


    def test_host(self):
        async def main():
            async with engram.aio.connect(self.server.socket, call_timeout=120) as m:
                hosted = m.host("Awaited")
                hosted.add_segment("State", {"value": float})

                @hosted.on_commit
                async def check(u):
                    await asyncio.sleep(0)
                    if u["value"] < 0:
                        raise engram.OutOfRange(u.entity, "not that")
                    u.value = {"value": u["value"] + 1}

                @hosted.on_query
                async def measure(asked):
                    if asked.concerns("State/p/measured"):
                        await m.commit("Awaited/State/p/measured", {"value": 41})

                @hosted.on_predict
                def predict(id):
                    return {"value": id.time / 1e9}

                async with hosted:
                    self.assertEqual((await m.latest("Awaited/State/p/measured"))["value"], 42)
                    with self.assertRaisesRegex(engram.OutOfRange, "not that"):
                        await m.commit("Awaited/State/p/other", {"value": -1})
                    self.assertEqual((await m.predict("Awaited/State/p/other", at=5 * 10**9))[0].snapshot["value"], 5)
                    with self.assertRaises(engram.AlreadyExists):
                        async with m.host("Awaited"):
                            pass
                with self.assertRaises(engram.Unavailable):
                    await m.commit("Awaited/State/p/other", {"value": 1})

        asyncio.run(main())


    def test_hooks_that_are_objects(self):
        class Hook:
            async def __call__(self, u):
                await asyncio.sleep(0)
                u.value = {"value": u["value"] + 1}

        async def main():
            async with engram.aio.connect(self.server.socket) as m:
                hosted = m.host("Called")
                hosted.add_segment("State", {"value": float})
                hosted.on_commit(Hook())
                async with hosted:
                    await m.commit("Called/State/p/a", {"value": 1})
                    self.assertEqual((await m.latest("Called/State/p/a"))["value"], 2)

        asyncio.run(main())

    def test_host_that_is_given_up(self):
        """Who is cancelled while a memory is to be hosted does not host it later."""
        entered, closed = threading.Event(), threading.Event()

        class Waiting:
            def __enter__(self):
                entered.set()
                closed.wait()

            def close(self):
                closed.set()

        async def main():
            hosting = asyncio.ensure_future(engram.aio.HostedMemory(Waiting()).__aenter__())
            await asyncio.to_thread(entered.wait)
            hosting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await hosting
            await asyncio.to_thread(closed.wait, 60)
            self.assertTrue(closed.is_set())
            closed.set()

        asyncio.run(main())


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
            again = engram.open_episode(file)
            again.close()
            for use in (lambda: again.query(e), lambda: again.latest(e), lambda: again.frame(e), lambda: next(again.read(e))):
                with self.assertRaisesRegex(engram.Closed, "open it anew"):
                    use()
            got, want = (source.windows({e: (-0.05, 0)}, fields={e: "position"}) for source in (episode, self.m))
            np.testing.assert_array_equal(got.times, want.times)
            np.testing.assert_array_equal(got[e]["position"], want[e]["position"])
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
        for _ in range(100):
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
            for plain in (server.http.replace("https://", "http://"), server.http.partition("//")[2]):
                with self.assertRaisesRegex(engram.Forbidden, "wants TLS; write https://"):
                    engram.connect(plain)
            with self.assertRaises(engram.NotFound):
                engram.connect(address, credentials=os.path.join(folder, "none.credentials"))
            os.chmod(os.path.join(folder, "camera.credentials"), 0o644)
            with self.assertRaisesRegex(engram.Forbidden, "chmod 600"):
                engram.connect(address, credentials=os.path.join(folder, "camera.credentials"))
        finally:
            server.close()


if __name__ == "__main__":
    unittest.main()
