"""The build puts the descriptors of the API, which Go's side generates, into the package."""

import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py

DESCRIPTORS = pathlib.Path(__file__).resolve().parents[2] / "gen" / "python" / "api.binpb"


class BuildWithDescriptors(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            shutil.copyfile(DESCRIPTORS, pathlib.Path(self.build_lib, "engram", "api.binpb"))


setup(cmdclass={"build_py": BuildWithDescriptors})
