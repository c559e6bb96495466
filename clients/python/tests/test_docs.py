import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import unittest

import numpy as np
from support import BINARY, WithServer

import engram

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Guide(WithServer):
    """What docs/python.md shows does what it says, one block after the other."""

    def environment(self):
        package = pathlib.Path(engram.__file__).resolve().parents[1]
        return {**os.environ, "PYTHONPATH": str(package), "ENGRAM_ADDRESS": self.server.socket, "PATH": f"{os.path.dirname(BINARY)}:{os.environ['PATH']}"}

    def test_blocks(self):
        text = (ROOT / "docs" / "python.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertGreater(len(blocks), 8)
        before, os.environ["ENGRAM_ADDRESS"] = dict(os.environ), self.server.socket
        os.environ["PATH"] = self.environment()["PATH"]
        folder = os.getcwd()
        os.chdir(self.server.folder)
        printed = io.StringIO()
        space = {}
        try:
            with contextlib.redirect_stdout(printed):
                for i, block in enumerate(blocks):
                    with self.subTest(block=i):
                        exec(compile(block, f"block {i} of docs/python.md", "exec"), space)
            space["m"].close()
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(before)
        for want in ("table [0.4, 0.1, 0.9] 0.9", "did you mean text?", "(120, 160, 3)", "(1000, 2)", "in an hour: 0.6", "hello",
                     "└─ Vision/ImageRGB/camera/left  source_image"):
            self.assertIn(want, printed.getvalue())

    def test_readme(self):
        [block] = re.findall(r"```python\n(.*?)```", (ROOT / "clients/python/README.md").read_text(), re.S)
        done = subprocess.run([sys.executable, "-c", block], env=self.environment(), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("hello\nSpeech/Text/me/said/"), done.stdout)

    def test_example(self):
        try:
            import matplotlib.image
        except ImportError:
            self.skipTest("matplotlib is not installed")
        start = engram.now() - 10**9
        with self.m.stream() as stream:
            for i in range(100):
                stream.commit("RobotState/Proprioception/rover/rover", {"name": ["a", "b"], "position": [0, i]}, time=engram.Time(start + i * 10**6))
        image = self.m.commit("Vision/ImageRGB/camera/eye", engram.image(np.full((60, 80, 3), (200, 0, 0), np.uint8)), time=engram.Time(start + 99 * 10**6))
        example = ROOT / "clients" / "python" / "examples" / "joint_history.py"
        for args, code, said in (([], 0, f"joint.png: b, 100 values, from 0.000 to 99.000; {image}"), (["--joint", "c"], 1, "there are a, b"),
                                 (["--last", "never"], 1, "duration")):
            done = subprocess.run([sys.executable, str(example), *args], cwd=self.server.folder, env=self.environment(), capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(said, done.stdout + done.stderr)
        pixels = matplotlib.image.imread(os.path.join(self.server.folder, "joint.png"))
        self.assertTrue((np.abs(pixels[..., :3] - (200 / 255, 0, 0)).max(axis=-1) < 0.01).sum() > 1000, "the image is not in the picture")


if __name__ == "__main__":
    unittest.main()
