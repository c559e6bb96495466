"""Streams of commits: what is under way is stored, or it is told that nobody knows."""

import asyncio
import os
import unittest

from support import Server, WithServer, free_port

import engram

T = engram.Time


class Streams(WithServer):
    def test_close_waits_for_answers(self):
        e = self.entity("Speech/Text")
        stream = self.m.stream()
        for i in range(5):
            stream.commit(e, {"text": str(i)}, time=T(i))
        stream.close()
        self.assertEqual((stream.committed, stream.failed, len(self.m.query(e, all=True))), (5, [], 5))
        with self.assertRaisesRegex(engram.Invalid, "closed"):
            stream.commit(e, {"text": "late"})
        stream.close()
        self.assertEqual(len(self.m.query(e, all=True)), 5)

    def test_close_raises_refusals(self):
        e = self.entity("Speech/Text")
        stream = self.m.stream()
        stream.commit(e, b"\xff", type="engram.speech.Text")
        with self.assertRaises(engram.Error):
            stream.close()
        self.assertEqual([f.id.entity for f in stream.failed], [e])
        stream.close()

    def test_another_error_ends_the_with(self):
        e = self.entity("Speech/Text")
        with self.assertRaises(ZeroDivisionError), self.m.stream() as stream:
            stream.commit(e, {"text": "x"})
            stream.commit(e, b"\xff", type="engram.speech.Text")
            self.fail(1 / 0)
        self.assertEqual(len(self.m.query(e, all=True)), 1)

    def test_asyncio(self):
        e = self.entity("Speech/Text")

        async def work():
            async with engram.aio.connect(self.address()) as m:
                stream = m.stream()
                await stream.commit(e, {"text": "x"})
                await stream.close()
                self.assertEqual(stream.committed, 1)

        asyncio.run(work())

    def test_another_process(self):
        """A forked process leaves its parent's connections alone."""
        e, stream = self.entity("Speech/Text"), self.m.stream()
        watch = self.m.watch(e)
        for i in range(10):
            stream.commit(e, {"text": str(i)}, time=T(i))
        pid = os.fork()
        if pid == 0:
            refused = 0
            for use in (lambda: stream.commit(e, {"text": "child"}), stream.flush, lambda: watch.get()):
                try:
                    use()
                except engram.Invalid:
                    refused += 1
            stream.close()
            watch.close()
            self.m.commit(e, {"text": "child"}, time=T(100))
            self.m.close()
            os._exit(10 + refused)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 13)
        stream.commit(e, {"text": "10"}, time=T(10))
        stream.close()
        self.assertEqual((stream.committed, len(self.m.query(e, all=True))), (11, 12))
        self.assertEqual(len({watch.get(timeout=120).time for _ in range(12)}), 12)
        watch.close()


class Restarts(unittest.TestCase):
    def survives(self, server, m):
        e = "Speech/Text/me/said"
        stream = m.stream()
        stream.commit(e, {"text": "a"}, time=T(1))
        stream.flush()
        server.process.send_signal(19)  # it stops, so that the next are under way
        os.waitpid(server.process.pid, os.WUNTRACED)  # until all of its threads have
        try:
            for i in (2, 3):
                stream.commit(e, {"text": "b"}, time=T(i))
        finally:
            server.stop()
        with self.assertRaises(engram.Unavailable):
            stream.flush()
        if m.address.startswith("local:"):  # gRPC waits for the server
            with self.assertRaises(engram.Unavailable):
                stream.commit(e, {"text": "c"}, time=T(4))
        self.assertEqual([(f.id, type(f.error)) for f in stream.failed], [(f"{e}/{T(i)}", engram.Unavailable) for i in (2, 3)])
        server.start()
        for i in (5, 6):
            stream.commit(e, {"text": "d"}, time=T(i))
        stream.close()
        self.assertEqual((stream.committed, len(stream.failed)), (3, 2))
        self.assertEqual([s.time for s in m.query(e, all=True)], [5, 6])
        m.close()

    def test_local(self):
        server = Server()
        self.addCleanup(server.close)
        self.survives(server, engram.connect(server.socket))

    def test_grpc(self):
        address = f"127.0.0.1:{free_port()}"
        server = Server("--listen", address)
        self.addCleanup(server.close)
        self.survives(server, engram.connect(address, timeout=120))

    def test_before_the_next_commit(self):
        """A commit that finds its connection broken connects anew."""
        server = Server()
        self.addCleanup(server.close)
        with engram.connect(server.socket) as m, m.stream() as stream:
            stream.commit("Speech/Text/a/b", {"text": "a"})
            stream.flush()
            server.stop()
            server.start()
            stream.commit("Speech/Text/a/b", {"text": "b"})
            stream.flush()
            self.assertEqual(m.latest("Speech/Text/a/b")["text"], "b")


if __name__ == "__main__":
    unittest.main()
