"""What is wrong is told by an error of its kind, or arrives as it was written."""

import math
import os
import socket
import struct
import tempfile
import threading
import unittest
from datetime import datetime

import numpy as np
from google.protobuf import descriptor_pb2
from support import WithServer

import engram
from engram import _local
from engram.times import parse_time

T = engram.Time


class Values(WithServer):
    def test_not_a_number(self):
        e = self.entity("RobotState/Proprioception")
        self.m.commit(e, {"position": [math.nan, math.inf, -math.inf, -0.0]})
        got = self.m.latest(e)["position"]
        self.assertTrue(math.isnan(got[0]))
        self.assertEqual(got[1:].tolist(), [math.inf, -math.inf, 0.0])
        self.assertEqual(math.copysign(1, got[3]), -1)
        frame = self.m.frame(e, fields=["position"])
        self.assertTrue(math.isnan(frame["position"][0, 0]))

    def test_before_1970(self):
        self.m.add_segment("GeneralPurpose/Early", "engram.speech.Text")
        e = self.entity("GeneralPurpose/Early")
        for t in (-1, -(10**18), 0):
            id = self.m.commit(e, {"text": str(t), "timestamp": T(t)}, time=T(t))
            self.assertEqual((self.m.get(id).time, self.m.get(id)["timestamp"]), (t, t))
        self.assertEqual([s.time for s in self.m.query(e, range=(T(-(10**18)), T(0)))], [-(10**18), -1])
        self.assertEqual(str(T(-1)), "1969-12-31 23:59:59.999999999")
        with self.assertRaises(engram.OutOfRange):
            self.m.commit(e, {"text": "x"}, time=1 << 63)

    def test_arrays(self):
        """The byte order of an array does not matter, nor how it lies in memory; its shape does."""
        e = self.entity("RobotState/Proprioception")
        for a in (np.array([1, 2, 3], ">f8"), np.arange(1, 7, dtype=np.float32)[::2] / 2 + 0.5, np.array([1, 2, 3], ">i2")):
            self.m.commit(e, {"position": a})
            self.assertEqual(self.m.latest(e)["position"].tolist(), [1, 2, 3])
        any = "GeneralPurpose/BadArrays"
        self.m.add_segment(any)
        for a in (np.arange(6, dtype=">u4").reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((0, 3), np.int8)):
            got = self.m.latest(self.m.commit(any + "/p/e", {"a": a}))["a"]
            np.testing.assert_array_equal(got, a)
            self.assertEqual(got.shape, a.shape)
        for wrong in (np.array(["a"]), np.array([1j]), np.array([object()])):
            with self.assertRaisesRegex(engram.Invalid, "^a: an array of numbers is wanted"):
                self.m.commit(any + "/p/e", {"a": wrong})
        with self.assertRaisesRegex(engram.Invalid, "no image"):
            engram.image(np.zeros((1, 2, 3, 4), np.uint8))
        with self.assertRaisesRegex(engram.Invalid, "rgb8 has 3 channels"):
            engram.image(np.zeros((2, 2), np.uint8), "rgb8")

    def test_lists_of_numbers(self):
        """What would be another number in the memory is refused."""
        e = self.entity("RobotState/Proprioception")
        for wrong in ([1j], [1.0, None], 1.5, ["1"], "1", [[1], [2, 3]]):
            with self.assertRaisesRegex(engram.Invalid, "^position: a list of numbers is wanted"):
                self.m.commit(e, {"position": wrong})
        self.m.commit(e, {"position": []})
        id = self.m.commit("Object/Instance/BadInput/pose", {"pose": np.eye(4).tolist()})
        self.assertEqual(self.m.get(id)["pose"]["orientation"]["w"], 1)

    def test_times_of_numpy(self):
        """numpy wraps around what nanoseconds do not hold; it is refused."""
        e = self.entity("Speech/Text")
        for kind, when in ((engram.Invalid, np.datetime64("NaT")), (engram.OutOfRange, np.datetime64("3000-01-01")), (engram.OutOfRange, datetime.min)):
            with self.assertRaises(kind):
                self.m.commit(e, {"text": "x"}, time=when)
            with self.assertRaisesRegex(kind, "^timestamp: "):
                self.m.commit(e, {"timestamp": when})
            with self.assertRaises(kind):
                self.m.frame(e, at=np.array([when], None if type(when) is datetime else "M8[s]"))
        for kind, span in ((engram.Invalid, np.timedelta64("NaT")), (engram.OutOfRange, np.timedelta64(400_000, "D"))):
            with self.assertRaises(kind):
                self.m.frame(e, range=span)
        for text, seconds in (("1677-09-21 00:12:44", -9223372036), ("2262-04-11 23:47:15", 9223372035)):
            self.assertEqual(parse_time(np.datetime64(text)), seconds * 10**9)
        self.assertEqual(len(self.m.query(e, range=np.array([2, 4], "M8[s]"))), 0)
        for wrong in ({"range": np.array([2, 4, 5], "M8[s]")}, {"every": np.array([1.0])}):
            with self.assertRaises(engram.Invalid):
                self.m.frame(e, **wrong)
        for wrong in (np.array([[1, 2]]), np.array([1.5])):
            with self.assertRaisesRegex(engram.Invalid, "^at: "):
                self.m.frame(e, at=wrong)
        with self.assertRaises(engram.OutOfRange):
            self.m.frame(e, at=np.array([1 << 63], np.uint64))

    def test_arguments(self):
        e = self.entity("Speech/Text")
        with self.assertRaisesRegex(engram.Invalid, "a confidence is a number"):
            self.m.commit(e, {"text": "x"}, confidence="high")
        for wrong in ({"latest": "3"}, {"latest": 1.5}, {"index": (0, "1")}, {"latest": 0}):
            with self.assertRaisesRegex(engram.Invalid, "^(latest|index)="):
                self.m.query(e, **wrong)
        for wrong in ({"latest": 1 << 63}, {"index": (0, 1 << 63)}):
            with self.assertRaises(engram.OutOfRange):
                self.m.query(e, **wrong)

    def test_text_that_is_no_utf8(self):
        e = self.entity("Speech/Text")
        with self.assertRaises(engram.Error):
            self.m.commit(e, b"\x12\x02\xff\xfe")
        from engram._decode import decode

        with self.assertRaisesRegex(engram.Corrupt, "engram.speech.Text: .*utf-8"):
            decode(self.m.type("engram.speech.Text"), b"\x12\x02\xff\xfe")

    def test_payload_of_another_type(self):
        e = self.entity("Speech/Text")
        with self.assertRaises(engram.TypeMismatch):
            self.m.commit(e, {}, type="engram.object.Class")
        self.m.commit(e, {"text": "hello"})

        class Elsewhere:
            TYPE = "engram.object.Class"

            @classmethod
            def from_payload(cls, data, sender=None):
                return (bytes(data), sender.name)

        self.assertEqual(self.m.latest(e).to(Elsewhere)[1], "engram.speech.Text")

    def test_names_that_are_keywords(self):
        f = descriptor_pb2.FileDescriptorProto(name="odd.proto", package="python.odd", syntax="proto3")
        t = f.message_type.add(name="While")
        for i, name in enumerate(("class", "from", "items", "None"), 1):
            t.field.add(name=name, number=i, type=descriptor_pb2.FieldDescriptorProto.TYPE_STRING, label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL)
        self.m.add_type("python.odd.While", descriptor_pb2.FileDescriptorSet(file=[f]).SerializeToString())
        self.m.add_segment("GeneralPurpose/Odd", "python.odd.While")
        value = {"class": "a", "from": "b", "items": "c", "None": "d"}
        s = self.m.latest(self.m.commit("GeneralPurpose/Odd/p/e", value))
        self.assertEqual(dict(s.value), value)
        self.assertEqual([s[name] for name in value], list("abcd"))
        self.assertEqual(self.m.frame("GeneralPurpose/Odd/p/e")["class"].tolist(), ["a"])


class Stub:
    """A server of the local protocol that answers each hello with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="engram-py-stub-")
        self.path = os.path.join(self.folder.name, "x.local")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.hello = b""
        self.thread = threading.Thread(target=self._serve, args=(answer,), daemon=True)
        self.thread.start()

    def _serve(self, answer: bytes) -> None:
        try:
            while True:
                peer = self.listener.accept()[0]
                with peer:
                    self.hello = peer.recv(1 << 10)
                    peer.sendall(answer)
                    peer.recv(1)  # until the client has gone
        except OSError:
            pass  # the listener was closed

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        self.folder.cleanup()


def welcome(version: int) -> bytes:
    return _local._WELCOME.pack(_local.MAGIC, version, 0, 1 << 20, 64, 64, 7, 16, 0)


class OtherServers(unittest.TestCase):
    def refused(self, answer: bytes, kind: type, text: str) -> None:
        stub = Stub(answer)
        try:
            with self.assertRaisesRegex(kind, text):
                engram.connect(f"local:{stub.path}", timeout=60)
            newest, oldest = struct.unpack_from("<HH", stub.hello, 8)
            self.assertLessEqual(oldest, newest)
        finally:
            stub.close()

    def test_a_version_that_is_not_spoken(self):
        text = b"".join(_local._text(s) for s in ("local", "versions 8 to 9 are spoken here"))
        records = bytes([14]) + text  # unsupported
        frame = _local._HEADER.pack(len(records), len(records), 0, _local._ERROR, 0, 0) + records
        self.refused(welcome(0) + frame, engram.Unsupported, "versions 8 to 9")

    def test_a_newer_version_than_was_offered(self):
        self.refused(welcome(99), engram.Unsupported, "version 99")

    def test_no_memory_server(self):
        self.refused(b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(40), engram.Unsupported, "no memory server")

    def test_an_older_server(self):
        """Version 2 knows no notes; what it answers is read."""
        results = struct.pack("<IBQ", 1, 0, 5)
        frame = _local._HEADER.pack(len(results), len(results), 1, _local._RESULTS, 0, 0) + results
        stub = Stub(welcome(2) + frame)
        try:
            from engram._transport import Commit

            transport = _local.Local(f"local:{stub.path}", None)
            # The stub answers before it is asked, so the connection is used as it is.
            connection = transport._idle.pop()
            update = Commit(engram.ID("A/B/C/d"), T(3), [("t", b"", None, 1.0)])
            connection.send(_local._COMMIT, 1, *connection.commit_records([update]))
            self.assertEqual([(d.number, d.note) for d in connection.results([update])], [(5, None)])
            connection.close()
            transport.close()
        finally:
            stub.close()


if __name__ == "__main__":
    unittest.main()
