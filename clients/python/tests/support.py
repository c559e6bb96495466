"""A real server for tests: the program that ENGRAM_BINARY names."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import engram

BINARY = os.environ.get("ENGRAM_BINARY", "")


class Server:
    """A memory server in a folder of its own."""

    def __init__(self, *flags: str, folder: str = "") -> None:
        self.folder = folder or tempfile.mkdtemp(prefix="engram-py-")
        self.flags = flags
        self.socket = f"unix:{self.folder}/engram.sock"
        self.start()

    def start(self) -> None:
        env = {**os.environ, "XDG_RUNTIME_DIR": self.folder}
        env.pop("ENGRAM_ADDRESS", None)
        self.process = subprocess.Popen([BINARY, "serve", "--listen", self.socket, "--listen", "127.0.0.1:0", "--monitor", "0", *self.flags],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
        self.http = ""
        assert self.process.stderr is not None
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            found = re.search(r"https?://127\.0\.0\.1:\d+", line)
            if found and not self.http:
                self.http = found[0]
                break
        if not self.http:
            raise RuntimeError("the server did not start:\n" + "".join(lines))
        self.drain = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.drain.start()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.drain.join()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def run(*args: str, address: str) -> str:
    """Runs the command line."""
    return subprocess.run([BINARY, "--address", address, *args], check=True, capture_output=True, text=True).stdout


@unittest.skipUnless(BINARY, "ENGRAM_BINARY names no engram; 'go test ./clients/python' builds one")
class WithServer(unittest.TestCase):
    """Tests against a server that all tests of the class share, by the local socket."""

    flags: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(*cls.flags)
        cls.addClassCleanup(cls.server.close)
        cls.m = engram.connect(cls.address())
        cls.addClassCleanup(cls.m.close)

    @classmethod
    def address(cls) -> str:
        return cls.server.socket

    entities = 0

    def entity(self, core: str) -> str:
        """An entity of its own for each call."""
        WithServer.entities += 1
        return f"{core}/{type(self).__name__}/e{WithServer.entities}"


def until(happened, within=120):
    """Waits for what comes without an event, and returns it."""
    end = time.monotonic() + within
    while True:
        found = happened()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("it did not happen")
        time.sleep(0.02)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as s:
        return int(s.getsockname()[1])


@unittest.skipUnless(BINARY, "ENGRAM_BINARY names no engram; 'go test ./clients/python' builds one")
class Fleet(unittest.TestCase):
    """A rover with two servers, and a scout; the rover copies Speech of a probe, if there is one."""

    @classmethod
    def serve(cls, *flags):
        server = Server(*flags)
        cls.addClassCleanup(server.close)
        return server

    @classmethod
    def setUpClass(cls):
        nats, cls.leaf = free_port(), free_port()
        cls.rover = cls.serve("--copy", "probe:Speech", "--backbone", "embedded", "--robot", "rover", "--backbone-listen", f"127.0.0.1:{nats}",
                              "--leaf-listen", f"127.0.0.1:{cls.leaf}", "--memory", "Speech", "--memory", "SystemState")
        cls.second = cls.serve("--backbone", f"nats://127.0.0.1:{nats}", "--memory", "Object", "--name", "second")
        cls.scout = cls.robot("scout", "Speech", "Object")
        cls.m = engram.connect(cls.rover.socket)
        cls.addClassCleanup(cls.m.close)
        until(lambda: {"Object", "scout:Speech", "scout:Object"} <= set(cls.m.memories()))

    @classmethod
    def robot(cls, name, *memories):
        """Another robot, with these memories."""
        return cls.serve("--backbone", "embedded", "--robot", name, "--leaf-of", f"nats-leaf://127.0.0.1:{cls.leaf}", *(f"--memory={m}" for m in memories))
