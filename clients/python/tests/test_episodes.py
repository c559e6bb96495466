"""Episodes as a server records them, read without it: what codecs have coded."""

from __future__ import annotations

import glob
import os
import pathlib
import random
import struct
import tempfile
import unittest
import warnings

import numpy as np
from google.protobuf import descriptor_pb2
from support import BINARY, Server, run

import engram
from engram import _columns, _vector
from engram._schema import message
from engram._wire import varint
from engram.times import Time

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "core/ltm/codec/testdata/columns-v1.bin"
RECORDING = ROOT.parent / "shared/data/recordings/g1_bottle_2.mcap"


def frame(data: bytes) -> bytes:
    """A frame of zstd of one block as it is."""
    assert len(data) < 1 << 17
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + (1 | len(data) << 3).to_bytes(3, "little") + data


def what(snapshots):
    return [(s.entity, s.time, s.arrived, s.number, [(i.type, bytes(i.data), i.sent, i.confidence) for i in s]) for s in snapshots]


@unittest.skipUnless(BINARY, "ENGRAM_BINARY names no engram; 'go test ./clients/python' builds one")
class WithRecorder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="engram-py-")
        self.server = Server("--data", os.path.join(folder, "data"), folder=folder)
        self.addCleanup(lambda: self.server.close())
        self.m = engram.connect(self.server.socket)
        self.addCleanup(lambda: self.m.close())

    def files(self):
        return sorted(glob.glob(os.path.join(self.server.folder, "data/episodes/*.mcap")))

    def seal(self):
        """Ends the server, which seals what it records, and starts it again."""
        self.m.close()
        self.server.process.terminate()
        self.server.process.wait()
        self.server.drain.join()
        self.server.process.stderr.close()
        self.server.start()
        self.m = engram.connect(self.server.socket)
        return self.files()


@unittest.skipUnless(RECORDING.exists(), "shared/data/recordings/g1_bottle_2.mcap is not here")
class RealRecording(WithRecorder):
    """29 joints of a real robot, states and commands, at 30 Hz."""

    def setUp(self):
        super().setUp()
        run("import", str(RECORDING), "--to", "/joint_commands=RobotState/Proprioception", address=self.server.socket)
        [self.file] = self.files()

    def test_is_what_the_server_has(self):
        with engram.open_episode(self.file) as episode:
            ids = sorted({e.id for e in episode.entities})
            joints = [id for id in ids if "joint_" in id and id.startswith("RobotState")]
            self.assertEqual([e.codec for e in episode.entities if e.id in joints], ["columns"] * 2)
            for id in ids:
                self.assertEqual(what(episode.query(id, all=True)), what(self.m.query(id, all=True, target="ltm")))
            all_ = list(episode.read(joints))
            self.assertEqual(len(all_), 686)
            self.assertEqual([s.time for s in all_], sorted(s.time for s in all_))
            times = [s.time for s in all_ if s.entity == joints[0]]
            self.assertEqual(len(set(times)), 343)
            for selection in ({"latest": 3}, {"at": times[100] + 1}, {"nearest": times[200] + 5}, {"range": (times[50], times[60])}, {"range": (times[340], None)},
                              {"index": (-3, -2)}, {"exactly": times[7]}, {"range": "-1s.."}):
                self.assertEqual(*(what(source.query(joints, **selection)) for source in (self.m, episode)), selection)
            for fields in ((), ("position",), ("velocity", "position[3]"), ("timestamp",)):
                got, want = (source.frame(joints, fields=fields) for source in (episode, self.m))
                self.assertEqual(got.names, want.names)
                for name in want.names:
                    np.testing.assert_array_equal(got[name], want[name])
            with self.assertRaises(engram.NotFound):
                episode.frame(joints, fields=["positoin"])

    def test_flipped_bytes(self):
        """What is read of a damaged file is what it was, or an error."""
        with open(self.file, "rb") as f:
            whole = f.read()
        with engram.open_episode(self.file) as episode:
            want = {e.id: what(episode.query(e.id, all=True)) for e in episode.entities if e.id.startswith("RobotState")}
            places = [c.offset for c in episode._reader._chunks]
        r = random.Random(3)
        file = os.path.join(self.server.folder, "flipped.mcap")
        failed = 0
        for i in range(150):
            damaged = bytearray(whole)
            at = r.choice(places) + r.randrange(12000) if i % 2 else r.randrange(len(whole))
            damaged[min(at, len(damaged) - 1)] ^= 1 << r.randrange(8)
            with open(file, "wb") as f:
                f.write(damaged)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    with engram.open_episode(file) as episode:
                        for id, snapshots in want.items():
                            got = what(episode.query(id, all=True))
                            if got:
                                self.assertEqual(got, snapshots)
                except engram.Error:
                    failed += 1
        self.assertGreater(failed, 10)


class Kinds(WithRecorder):
    """Payloads with every kind of member, in columns and compressed one by one."""

    KINDS = (("f64", 1, 1), ("f32", 2, 1), ("i64", 3, 1), ("u64", 4, 1), ("i32", 5, 1), ("x64", 6, 1), ("x32", 7, 1), ("flag", 8, 1), ("text", 9, 1), ("raw", 12, 1),
             ("u32", 13, 1), ("sx32", 15, 1), ("sx64", 16, 1), ("s32", 17, 1), ("s64", 18, 1), ("f64s", 1, 3), ("s64s", 18, 3), ("texts", 9, 3), ("unpacked", 5, 3))

    def type(self):
        """Returns the class of test.Kinds, and has the server know it."""
        from google.protobuf import descriptor_pool, duration_pb2, message_factory, timestamp_pb2

        file = descriptor_pb2.FileDescriptorProto(name="test_kinds.proto", package="test", syntax="proto3")
        file.dependency.extend([timestamp_pb2.DESCRIPTOR.name, duration_pb2.DESCRIPTOR.name])
        kinds = file.message_type.add(name="Kinds")
        for number, (name, kind, label) in enumerate(self.KINDS, 1):
            f = kinds.field.add(name=name, number=number, type=kind, label=label)
            if name == "unpacked":
                f.options.packed = False
        for number, (name, type, label) in enumerate((("when", "google.protobuf.Timestamp", 1), ("took", "google.protobuf.Duration", 1), ("sub", "test.Kinds", 1),
                                                      ("subs", "test.Kinds", 3)), 100):
            kinds.field.add(name=name, number=number, type=11, type_name="." + type, label=label)
        kinds.oneof_decl.add(name="_maybe")
        kinds.field.add(name="maybe", number=200, type=1, label=1, oneof_index=0, proto3_optional=True)
        files = descriptor_pb2.FileDescriptorSet()
        pool = descriptor_pool.DescriptorPool()
        for imported in (timestamp_pb2, duration_pb2):
            imported.DESCRIPTOR.CopyToProto(files.file.add())
        files.file.append(file)
        for f in files.file:
            pool.AddSerializedFile(f.SerializeToString())
        self.m.add_type("test.Kinds", files.SerializeToString())
        descriptor = pool.FindMessageTypeByName("test.Kinds")
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(pool).GetPrototype(descriptor)

    def payload(self, cls, i: int, r: random.Random, depth: int = 0):
        x = round(np.sin(i / 9), 3)
        p = cls(f64=r.choice([x, x * np.pi, r.random(), float("nan"), float("-inf"), -0.0]) if i % 50 > 40 else x, f32=x, i64=i - 50, u64=(1 << 64) - 1 - i * i, i32=-i * i,
                x64=r.getrandbits(64), x32=i % 3, flag=i % 7 == 0, text=f"state {i % 4}", raw=r.randbytes(i % 5), u32=i, sx32=-i, sx64=-(1 << 63) + i, s32=i % 2 - 1,
                s64=r.choice([-(1 << 63), (1 << 63) - 1, 0]) if i % 20 == 0 else i * 1000 + r.randrange(10), f64s=[x + k * i for k in range(i % 4)],
                s64s=[r.randrange(-9, 9) for _ in range(150 if i % 30 == 1 else 2)], texts=["a", f"b{i % 2}"], unpacked=[i] * (i % 3))
        p.when.FromNanoseconds(10**18 + i * 33_333_333 - (2 * 10**18 if i % 9 == 0 else 0))
        p.took.FromNanoseconds(-1_500_000_000 * (i % 3 - 1) - i)
        if i % 3 == 0:
            p.maybe = i % 2
        if depth < 2 and i % 4:
            p.sub.CopyFrom(self.payload(cls, i + 1, r, depth + 1))
            p.subs.extend(self.payload(cls, i + k, r, 2) for k in range(i % 3))
        return p

    def test_are_what_the_server_has(self):
        cls = self.type()
        r = random.Random(7)
        for core, codec in (("Columns", "columns"), ("Zstd", "zstd")):
            self.m.add_segment(f"Example/{core}", "test.Kinds")
            run("ltm", "policy", "set", f"Example/{core}", f"codec={codec}", "record=all", "max_rate=none", address=self.server.socket)
            with self.m.stream() as stream:
                for i in range(400):
                    data = [engram.Datum(self.payload(cls, i, r), 0.5 + i % 2 / 4, Time(10**18 + i))
                            for _ in range(1 + (i % 10 == 3))]
                    stream.commit(f"Example/{core}/me/it", instances=data, time=Time(10**18 + (i if i != 77 else 70) * 10**7))
        [file] = self.seal()
        with engram.open_episode(file) as episode:
            self.assertEqual({e.codec for e in episode.entities if e.id.startswith("Example/")}, {"columns", "zstd"})
            self.assertTrue(episode._reader.attachments, "no dictionary was trained")
            for core in ("Columns", "Zstd"):
                got = what(episode.query(f"Example/{core}", all=True))
                self.assertEqual(len(got), 399)
                self.assertEqual(got, what(self.m.query(f"Example/{core}", all=True, target="ltm")))

    def test_images(self):
        """Images that are coded are left out where others are asked for, and refused where they are."""
        self.m.commit("Speech/Text/me/said", {"text": "hello"})
        run("ltm", "policy", "set", "Vision/ImageRGB", "codec=image", address=self.server.socket)
        self.m.commit("Vision/ImageRGB/me/eye", engram.image(np.zeros((64, 64, 3), np.uint8)))
        [file] = self.seal()
        with engram.open_episode(file) as episode:
            self.assertEqual([e.codec for e in episode.entities if e.id == "Vision/ImageRGB/me/eye"], ["image"])
            for ask in (lambda p: list(episode.read(p)), lambda p: episode.query(p, all=True)):
                for pattern in ("*", ["Speech", "*"]):
                    with self.assertWarnsRegex(UserWarning, "Vision/ImageRGB/me/eye: it is left out.*codec image") as warned:
                        self.assertIn("Speech/Text/me/said", [s.entity for s in ask(pattern)])
                    self.assertEqual(warned.filename, __file__)
                for pattern in ("Vision/ImageRGB/me/eye", "Vision", ["Speech", "Vision"]):
                    with self.assertRaisesRegex(engram.Unsupported, "Vision/ImageRGB/me/eye"):
                        ask(pattern)
            self.assertEqual(len(episode.query("Speech")), 1)


@unittest.skipUnless(GOLDEN.exists(), "core/ltm/codec is not here")
class Damage(unittest.TestCase):
    """Messages of columns that are damaged or made to harm."""

    TIMES = [t for i in range(70) for t in [1_700_000_000_000_000_000 + i * 33_333_333] * (2 if i % 10 == 3 else 1)]

    def setUp(self):
        self.body = message(_columns.COLUMNS).FromString(GOLDEN.read_bytes())
        self.structure = bytes(_vector.unpack(self.body.structure))

    def read(self, members=None, **changes):
        body = message(_columns.COLUMNS)()
        body.CopyFrom(self.body)
        for name, value in changes.items():
            setattr(body, name, value)
        return _columns.Columns(body.SerializeToString()).payloads(self.TIMES, members)

    def test_whole(self):
        got = self.read()
        self.assertEqual(sum(map(len, got)), self.body.bytes)
        self.assertEqual(got[22], b"as it is")
        self.assertTrue(all(len(some) <= len(all_) for some, all_ in zip(self.read({1, 12}), got)))

    def test_flipped_bytes(self):
        r = random.Random(5)
        failed = 0
        for i in range(1500):
            structure, data = bytearray(self.structure), bytearray(self.body.data)
            part = (structure, data)[i % 4 == 0]
            part[r.randrange(len(part))] = r.choice((0, 1, 0x7F, 0xFF, r.randrange(256)))
            try:
                got = self.read({1, 2, 20} if i % 5 == 0 else None, structure=frame(bytes(structure)), data=bytes(data))
                self.assertLessEqual(sum(map(len, got)), self.body.bytes)
            except engram.Corrupt:
                failed += 1
        self.assertGreater(failed, 100)

    def test_refused(self):
        with self.assertRaisesRegex(engram.Unsupported, "newer version"):
            self.read(version=3)
        for changes in ({"payloads": 3}, {"bytes": 1 << 40}, {"bytes": self.body.bytes - 1}, {"data": self.body.data[:-1]}, {"data": self.body.data + b"x"}, {"structure": b""},
                        {"structure": frame(self.structure[:-1])}, {"structure": self.body.structure[:20]}):
            with self.assertRaises(engram.Corrupt, msg=str(changes.keys())):
                self.read(**changes)
        with self.assertRaises(engram.Corrupt):
            _columns.Columns(b"\xff\xff")

    def test_much_of_little(self):
        """A few bytes that stand for millions of values, or bytes, are refused before these are made."""
        count = 1 << 20
        same = b"\x01" + varint(count << 1)  # all are 2^20
        coded = bytes([2, 1, 0, 0, 0, 0])  # residuals of no bytes
        text = b"\x00" + b"\x01" + varint(2000) + b"\x00" + b"x" * 1000
        one = b"\x01\x02"  # which root: 1
        for tree, heads in ((bytes([1, 1, 1, 0x31, 0, 1]), one + same + coded),  # a packed list of 2^20 varints
                            (bytes([1, 1, 1, 0x27, 0, 1]), one + same + text),  # 2^20 times the same text
                            (bytes([1, 1, 1, 0x20, 0, 1, 1, 1, 1]), one + same + coded)):  # 2^20 messages
            body = message(_columns.COLUMNS)(version=1, payloads=1, bytes=1000, structure=frame(varint(len(tree)) + tree + heads))
            with self.assertRaisesRegex(engram.Corrupt, "more bytes than they are said to have"):
                _columns.Columns(body.SerializeToString()).payloads([0])


if __name__ == "__main__":
    unittest.main()
