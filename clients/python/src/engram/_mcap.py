"""A reader of MCAP files, https://mcap.dev/spec: chunks by index, or the whole file where there is none."""

from __future__ import annotations

import ctypes
import ctypes.util
import mmap
import struct
import zlib
from typing import Any, BinaryIO, Callable, Container, Iterator, NamedTuple, Optional

from .errors import Corrupt, Unsupported

_MAGIC = b"\x89MCAP0\r\n"
_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _CHUNK_INDEX, _ATTACHMENT, _ATTACHMENT_INDEX, _METADATA, _METADATA_INDEX, _DATA_END = 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 15
_MAX_CHUNK = 1 << 30


class Schema(NamedTuple):
    name: str
    encoding: str
    data: bytes


class Channel(NamedTuple):
    id: int
    schema: int
    topic: str
    encoding: str
    metadata: dict[str, str]


class Message(NamedTuple):
    channel: int
    sequence: int
    log_time: int
    publish_time: int
    data: memoryview
    chunk: int = 0
    at: int = 0
    """Where its record begins in the records of the chunk, which begins at ``chunk`` in the file."""


class _Chunk(NamedTuple):
    start: int
    end: int
    offset: int
    channels: Optional[frozenset[int]]


class _Fields:
    """Reads the fields of a record."""

    def __init__(self, buf: memoryview) -> None:
        self.buf, self.pos = buf, 0

    def number(self, form: str) -> int:
        value: int = struct.unpack_from(form, self.buf, self.pos)[0]
        self.pos += struct.calcsize(form)
        return value

    def bytes(self) -> memoryview:
        n = self.number("<I")
        if self.pos + n > len(self.buf):
            raise struct.error("a field is cut off")
        self.pos += n
        return self.buf[self.pos - n:self.pos]

    def text(self) -> str:
        return str(self.bytes(), "utf-8", "replace")

    def map(self) -> dict[str, str]:
        inner = _Fields(self.bytes())
        found = {}
        while inner.pos < len(inner.buf):
            key = inner.text()
            found[key] = inner.text()
        return found


class Reader:
    """An MCAP file. It is mapped into memory; messages that are not compressed are not copied. ``sealed`` is whether it has an end:
    else it is still being written, or was cut off, and ``left`` bytes at its end are not read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.closed = False
        self._file: BinaryIO = open(path, "rb")
        try:
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            self._file.close()
            raise Corrupt(path, "the file is empty") from None
        self._buf = memoryview(self._map)
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self.metadata: list[tuple[str, dict[str, str]]] = []
        self.attachments: dict[str, bytes] = {}
        """Those of the codecs: dictionaries."""
        self._chunks: list[_Chunk] = []
        size = len(self._buf)
        self.sealed = size >= 8 + 8 + 29 and self._buf[size - 8:] == _MAGIC and self._buf[size - 37] == _FOOTER
        self.left = 0
        if self._buf[:8] != _MAGIC:
            self.close()
            raise Corrupt(path, "it is no MCAP file")
        try:
            if not self._read_summary():
                self._scan()
        except (struct.error, IndexError) as e:
            self.close()
            raise Corrupt(path, f"the file cannot be read: {e}") from None

    def close(self) -> None:
        self.closed = True
        self._buf = memoryview(b"")
        try:
            self._map.close()
        except BufferError:
            pass  # payloads that somebody holds still look into it
        self._file.close()

    def _records(self, pos: int, end: int) -> Iterator[tuple[int, int, memoryview]]:
        while pos + 9 <= end:
            kind = self._buf[pos]
            n = struct.unpack_from("<Q", self._buf, pos + 1)[0]
            if pos + 9 + n > end:
                return  # cut off
            yield kind, pos, self._buf[pos + 9:pos + 9 + n]
            pos += 9 + n

    def _read_summary(self) -> bool:
        """Reads the index at the end. False if there is none."""
        if not self.sealed:
            return False
        size = len(self._buf)
        start, _, crc = struct.unpack_from("<QQI", self._buf, size - 28)
        if start == 0 or start >= size or crc and zlib.crc32(self._buf[start:size - 12]) != crc:
            return False
        for kind, _, record in self._records(start, size - 37):
            if kind == _CHUNK_INDEX:
                f = _Fields(record)
                first, last, offset, _ = (f.number("<Q") for _ in range(4))
                index = _Fields(f.bytes())
                channels = set()
                while index.pos < len(index.buf):
                    channels.add(index.number("<H"))
                    index.pos += 8
                self._chunks.append(_Chunk(first, last, offset, frozenset(channels) if channels else None))
            elif kind == _METADATA_INDEX or kind == _ATTACHMENT_INDEX and b"engram.dictionary." in bytes(record):
                offset, length = struct.unpack_from("<QQ", record, 0)
                for inner, _, data in self._records(offset, offset + length):
                    self._definition(inner, data)
            else:
                self._definition(kind, record)
        if not self._chunks:
            return False
        self._chunks.sort(key=lambda c: c.offset)
        return True

    def _scan(self) -> None:
        """Finds chunks and definitions from the beginning to the end."""
        self._chunks = []
        self.left = len(self._buf) - 8
        for kind, pos, record in self._records(8, len(self._buf)):
            self.left = len(self._buf) - pos - 9 - len(record)
            if kind == _CHUNK:
                first, last = struct.unpack_from("<QQ", record, 0)
                self._chunks.append(_Chunk(first, last, pos, None))
                for inner, _, data in self._inside(record):
                    self._definition(inner, data)
            elif kind == _DATA_END:
                break
            else:
                self._definition(kind, record)

    def _definition(self, kind: int, record: memoryview) -> None:
        f = _Fields(record)
        if kind == _SCHEMA:
            id = f.number("<H")
            self.schemas[id] = Schema(f.text(), f.text(), bytes(f.bytes()))
        elif kind == _CHANNEL:
            id, schema = f.number("<H"), f.number("<H")
            self.channels[id] = Channel(id, schema, f.text(), f.text(), f.map())
        elif kind == _METADATA:
            self.metadata.append((f.text(), f.map()))
        elif kind == _ATTACHMENT:
            f.pos = 16
            name, _, size = f.text(), f.text(), f.number("<Q")
            if name.startswith("engram.dictionary."):
                self.attachments[name] = bytes(f.buf[f.pos:f.pos + size])

    def _inside(self, chunk: memoryview) -> Iterator[tuple[int, int, memoryview]]:
        """Yields kind, place and content of a chunk's records."""
        f = _Fields(chunk)
        f.pos = 16
        size, crc = f.number("<Q"), f.number("<I")
        compression = f.text()
        n = f.number("<Q")
        stored = f.buf[f.pos:f.pos + n]
        if size > _MAX_CHUNK:
            raise Corrupt(self.path, f"a chunk of {size} bytes is too large")
        data = memoryview(decompress(compression, stored, size))
        if crc and zlib.crc32(data) != crc:
            raise Corrupt(self.path, "a chunk is damaged: its CRC is another one")
        pos = 0
        while pos + 9 <= len(data):
            n = struct.unpack_from("<Q", data, pos + 1)[0]
            if pos + 9 + n > len(data):
                raise Corrupt(self.path, "a chunk does not add up")
            yield data[pos], pos, data[pos + 9:pos + 9 + n]
            pos += 9 + n

    def messages(self, channels: set[int], start: Optional[int] = None, end: Optional[int] = None, also: Container[int] = ()) -> Iterator[Message]:
        """Yields the messages of channels in the order of the file, of chunks that touch the log times, and of ``also``, the places of others."""
        for c in self._chunks:
            if (start is not None and c.end < start or end is not None and c.start >= end) and c.offset not in also:
                continue
            if c.channels is not None and not c.channels & channels:
                continue
            n = struct.unpack_from("<Q", self._buf, c.offset + 1)[0]
            for kind, pos, record in self._inside(self._buf[c.offset + 9:c.offset + 9 + n]):
                if kind == _MESSAGE:
                    channel, sequence, log, publish = struct.unpack_from("<HIQQ", record, 0)
                    if channel in channels:
                        yield Message(channel, sequence, log, publish, record[22:], c.offset, pos)


def decompress(compression: str, data: memoryview, size: int, dictionary: bytes = b"") -> Any:
    """Decompresses ``size`` bytes: zstd by libzstd or the module zstandard, lz4 by the module lz4."""
    if compression == "":
        return data
    if compression == "zstd":
        return _zstd()(data, size, dictionary)
    if compression == "lz4":
        try:
            import lz4.frame
        except ImportError:
            raise Unsupported("lz4", "the module lz4 decompresses it; install python3-lz4") from None
        return lz4.frame.decompress(bytes(data))
    raise Unsupported(compression, "chunks are compressed with zstd, lz4, or not at all")


_found: Optional[Callable[[memoryview, int, bytes], Any]] = None


def _zstd() -> Callable[[memoryview, int, bytes], Any]:
    global _found
    if _found is None:
        name = ctypes.util.find_library("zstd") or "libzstd.so.1"
        try:
            library = ctypes.CDLL(name)
        except OSError:
            _found = _module()
            return _found
        size_t, pointer, call, using = ctypes.c_size_t, ctypes.c_void_p, library.ZSTD_decompress, library.ZSTD_decompress_usingDict
        library.ZSTD_createDCtx.restype, library.ZSTD_freeDCtx.argtypes = pointer, [pointer]
        call.restype = using.restype = size_t
        call.argtypes = [pointer, size_t, ctypes.c_char_p, size_t]
        using.argtypes = [pointer, *call.argtypes, ctypes.c_char_p, size_t]

        def run(data: memoryview, size: int, dictionary: bytes) -> Any:
            out = (ctypes.c_char * max(size, 1))()
            if dictionary:
                context = library.ZSTD_createDCtx()
                n = using(context, out, size, bytes(data), len(data), dictionary, len(dictionary))
                library.ZSTD_freeDCtx(context)
            else:
                n = call(out, size, bytes(data), len(data))
            if n != size:
                raise Corrupt("zstd", "compressed data are damaged")
            return memoryview(out).cast("B")[:size].toreadonly()

        _found = run
    return _found


def _module() -> Callable[[memoryview, int, bytes], Any]:
    try:
        import zstandard
    except ImportError:
        raise Unsupported("zstd", "libzstd or the module zstandard decompresses it; install libzstd1 or python3-zstandard") from None

    def run(data: memoryview, size: int, dictionary: bytes) -> Any:
        known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        try:
            with zstandard.ZstdDecompressor(dict_data=known).stream_reader(bytes(data)) as stream:
                out = stream.read(size + 1) if size else b""
        except zstandard.ZstdError:
            out = None
        if out is None or len(out) != size:
            raise Corrupt("zstd", "compressed data are damaged")
        return memoryview(out)

    return run
