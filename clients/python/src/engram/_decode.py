"""Payloads to Python: the wire form is read once, by a plan for each type."""

from __future__ import annotations

import struct
from typing import Any, Callable, Optional

import numpy as np

from . import idf
from ._wire import Buffer, read_varint, signed, skip, unzigzag
from .errors import Corrupt
from .ids import ID
from .times import Duration, Time
from .values import CompressedImage, Enum, Image, PointCloud, Pose, Quaternion, Record, Vector3

Handler = Callable[[Buffer, int, int, Any], int]

DTYPES: list[Optional[str]] = [None, "u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8"]

_FIXED = {idf.DOUBLE: ("<d", "<f8"), idf.FLOAT: ("<f", "<f4"), idf.FIXED64: ("<Q", "<u8"), idf.FIXED32: ("<I", "<u4"),
          idf.SFIXED64: ("<q", "<i8"), idf.SFIXED32: ("<i", "<i4")}
_VARINTS: dict[int, Callable[[int], Any]] = {
    idf.INT64: signed, idf.INT32: signed, idf.UINT64: int, idf.UINT32: int, idf.BOOL: bool,
    idf.SINT32: unzigzag, idf.SINT64: unzigzag}
_VARINT_DTYPES = {idf.INT64: np.int64, idf.INT32: np.int32, idf.UINT64: np.uint64, idf.UINT32: np.uint32, idf.BOOL: np.bool_,
                  idf.SINT32: np.int32, idf.SINT64: np.int64}

_RECORDS: dict[str, type[Record]] = {
    "foxglove.Vector3": Vector3, "foxglove.Quaternion": Quaternion, "foxglove.Pose": Pose, "foxglove.RawImage": Image,
    "foxglove.CompressedImage": CompressedImage, "foxglove.PointCloud": PointCloud}

# Bytes of these are not copied.
_VIEWS = {"foxglove.RawImage", "foxglove.CompressedImage", "foxglove.PointCloud", "foxglove.CompressedVideo"}


def decode(t: idf.Type, data: Buffer) -> Any:
    """Decodes a payload. Corrupt says that its bytes do not fit its type."""
    try:
        return decoder(t)(data, 0, len(data))
    except (IndexError, struct.error, ValueError) as e:
        raise Corrupt(t.name, f"the payload's bytes do not fit its type: {e}") from None


def decoder(t: idf.Type) -> Callable[[Buffer, int, int], Any]:
    """Returns what decodes a type, which is made once."""
    if t.decoder is None:
        special = _SPECIAL.get(t.name)
        t.decoder = special or _Plan(t)
    decode: Callable[[Buffer, int, int], Any] = t.decoder
    return decode


class _Plan:
    """How a message is decoded: a handler for each tag. Of ``only`` these members, by their numbers, the record has no others."""

    def __init__(self, t: idf.Type, only: Optional[set[int]] = None) -> None:
        self.make: type[Record] = _RECORDS.get(t.name, Record)
        self.defaults: dict[str, Any] = {}
        self.fresh: list[tuple[str, Callable[[], Any]]] = []
        self.handlers: dict[int, Handler] = {}
        self.wrapper = t.wrapper
        self.size = len(t.members)
        for m in t.members:
            if only is None or m.number in only:
                self._add(m, t)

    def _add(self, m: idf.Member, t: idf.Type) -> None:
        if m.map:
            self.fresh.append((m.name, dict))
            self.defaults[m.name] = None
        elif m.repeated:
            dtype = _FIXED[m.kind][1] if m.kind in _FIXED else _VARINT_DTYPES.get(m.kind)
            if dtype is None:
                self.fresh.append((m.name, list))
                self.defaults[m.name] = None
            else:
                empty = np.empty(0, dtype)
                empty.flags.writeable = False
                self.defaults[m.name] = empty
        elif m.optional:
            self.defaults[m.name] = None
        else:
            self.defaults[m.name] = _zero(m)
        for wire, handler in _handlers(m, t):
            self.handlers[m.number << 3 | wire] = handler

    def __call__(self, buf: Buffer, pos: int, end: int) -> Any:
        record = self.make(self.defaults)
        for name, make in self.fresh:
            record[name] = make()
        handlers = self.handlers
        while pos < end:
            tag = buf[pos]
            if tag < 0x80:
                pos += 1
            else:
                tag, pos = read_varint(buf, pos)
            handler = handlers.get(tag)
            if handler is None:
                pos = skip(buf, pos, tag, end)
            else:
                pos = handler(buf, pos, end, record)
        if pos != end:
            raise ValueError("a member is cut off")
        if self.wrapper:
            return self._unwrap(record)
        return record

    def _unwrap(self, record: Record) -> Any:
        if self.wrapper == idf.WRAPPER_TUPLE:
            return tuple(record[f"item{i}"] for i in range(self.size))
        return record["item" if self.wrapper == idf.WRAPPER_OPTIONAL else "items"]


def _zero(m: idf.Member) -> Any:
    if m.kind in (idf.DOUBLE, idf.FLOAT):
        return 0.0
    if m.kind == idf.STRING:
        return ""
    if m.kind == idf.BYTES:
        return b""
    if m.kind == idf.BOOL:
        return False
    if m.kind == idf.ENUM:
        return _enum_value(m, 0)
    return 0


def _enum_value(m: idf.Member, number: int) -> Enum:
    return Enum(m.enum.keys.get(number, str(number)) if m.enum else str(number), number)


def _span(buf: Buffer, pos: int, end: int) -> tuple[int, int]:
    """Reads a length, and returns where that begins and stops."""
    n = buf[pos]
    if n < 0x80:
        pos += 1
    else:
        n, pos = read_varint(buf, pos)
    stop = pos + n
    if stop > end:
        raise ValueError("a member is cut off")
    return pos, stop


def _handlers(m: idf.Member, t: idf.Type) -> list[tuple[int, Handler]]:
    if m.map:
        return [(2, _map_handler(m))]
    if m.kind in _FIXED:
        return _fixed_handlers(m)
    if m.kind in _VARINTS or m.kind == idf.ENUM:
        return _varint_handlers(m)
    if m.kind == idf.MESSAGE:
        return [(2, _message_handler(m))]
    if m.kind == idf.STRING:
        return [(2, _texts_handler(m) if m.repeated else _text_handler(m))]
    return [(2, _bytes_handler(m, t.name in _VIEWS))]


def _fixed_handlers(m: idf.Member) -> list[tuple[int, Handler]]:
    name, (code, dtype), repeated = m.name, _FIXED[m.kind], m.repeated
    one = struct.Struct(code)
    size = one.size
    numpy_type = np.dtype(dtype)

    def single(buf: Buffer, pos: int, end: int, record: Any) -> int:
        value = one.unpack_from(buf, pos)[0]
        record[name] = np.append(record[name], numpy_type.type(value)) if repeated else value
        return pos + size

    def packed(buf: Buffer, pos: int, end: int, record: Any) -> int:
        pos, stop = _span(buf, pos, end)
        if stop > pos:
            more = np.frombuffer(buf, numpy_type, (stop - pos) // size, pos)
            if more.flags.writeable:
                more.flags.writeable = False
            before = record[name]
            record[name] = np.concatenate([before, more]) if len(before) else more
        return stop

    wire = 1 if size == 8 else 5
    return [(wire, single), (2, packed)] if repeated else [(wire, single)]


def _varint_handlers(m: idf.Member) -> list[tuple[int, Handler]]:
    name, repeated = m.name, m.repeated
    values: dict[int, Enum] = {}

    def enumerated(n: int) -> Any:
        value = values.get(n)
        if value is None:
            value = values[n] = _enum_value(m, signed(n))
        return value

    convert: Callable[[int], Any] = enumerated if m.kind == idf.ENUM else _VARINTS[m.kind]
    dtype = _VARINT_DTYPES.get(m.kind)

    def single(buf: Buffer, pos: int, end: int, record: Any) -> int:
        value, pos = read_varint(buf, pos)
        if not repeated:
            record[name] = convert(value)
        elif dtype is None:
            record[name].append(convert(value))
        else:
            record[name] = np.append(record[name], np.array([convert(value)], dtype))
        return pos

    def packed(buf: Buffer, pos: int, end: int, record: Any) -> int:
        pos, stop = _span(buf, pos, end)
        found = []
        while pos < stop:
            value, pos = read_varint(buf, pos)
            found.append(convert(value))
        if dtype is None:
            record[name].extend(found)
        else:
            more: Any = np.array(found, dtype)
            before = record[name]
            record[name] = np.concatenate([before, more]) if len(before) else more
        return stop

    return [(0, single), (2, packed)] if repeated else [(0, single)]


def _text_handler(m: idf.Member) -> Handler:
    name = m.name

    def single(buf: Buffer, pos: int, end: int, record: Any) -> int:
        pos, stop = _span(buf, pos, end)
        record[name] = str(buf[pos:stop], "utf-8")
        return stop

    return single


def _texts_handler(m: idf.Member) -> Handler:
    """Reads a list of texts. That of the next payload is mostly the same, as joints' names are."""
    name, tag = m.name, bytes(_tag(m.number, 2))
    last: tuple[bytes, list[str]] = (b"", [])

    def several(buf: Buffer, pos: int, end: int, record: Any) -> int:
        nonlocal last
        texts = record[name]
        run, known = last
        stop = pos + len(run)
        if run and not texts and buf[pos:stop] == run and (stop >= end or buf[stop:stop + len(tag)] != tag):
            texts.extend(known)
            return stop
        begin = pos
        while True:
            pos, stop = _span(buf, pos, end)
            texts.append(str(buf[pos:stop], "utf-8"))
            pos = stop + len(tag)
            if stop >= end or buf[stop:pos] != tag:
                break
        last = (bytes(buf[begin:stop]), list(texts))
        return stop

    return several


def _tag(number: int, wire: int) -> bytes:
    from ._wire import varint

    return varint(number << 3 | wire)


def _bytes_handler(m: idf.Member, view: bool) -> Handler:
    name, repeated = m.name, m.repeated

    def single(buf: Buffer, pos: int, end: int, record: Any) -> int:
        pos, stop = _span(buf, pos, end)
        value = memoryview(buf)[pos:stop].toreadonly() if view else bytes(buf[pos:stop])
        if repeated:
            record[name].append(value)
        else:
            record[name] = value
        return stop

    return single


def _message_handler(m: idf.Member) -> Handler:
    name, repeated = m.name, m.repeated
    assert m.type is not None
    of = m.type

    def single(buf: Buffer, pos: int, end: int, record: Any) -> int:
        pos, stop = _span(buf, pos, end)
        value = (of.decoder or decoder(of))(buf, pos, stop)
        if repeated:
            record[name].append(value)
        else:
            record[name] = value
        return stop

    return single


def _map_handler(m: idf.Member) -> Handler:
    name = m.name
    assert m.type is not None
    value_member = next(e for e in m.type.members if e.number == 2)
    entry = _Plan(m.type)
    of = value_member.type if value_member.kind == idf.MESSAGE else None

    def single(buf: Buffer, pos: int, end: int, record: Any) -> int:
        pos, stop = _span(buf, pos, end)
        pair = entry(buf, pos, stop)
        key, value = pair.get("key"), pair.get("value")
        if value is None and of is not None:
            value = decoder(of)(b"", 0, 0)
        record[name]["" if key is None else key] = value
        return stop

    return single


# Messages that Python has a type for.


def _numbers(buf: Buffer, pos: int, end: int) -> dict[int, Any]:
    """Decodes a message of numbers, lists of numbers and bytes, by number."""
    found: dict[int, Any] = {}
    while pos < end:
        tag, pos = read_varint(buf, pos)
        if tag & 7 == 0:
            found[tag >> 3], pos = read_varint(buf, pos)
        elif tag & 7 == 2:
            pos, stop = _span(buf, pos, end)
            found[tag >> 3] = memoryview(buf)[pos:stop]
            pos = stop
        else:
            pos = skip(buf, pos, tag, end)
    return found


def _timestamp(buf: Buffer, pos: int, end: int) -> Time:
    found = _numbers(buf, pos, end)
    return Time(signed(found.get(1, 0)) * 1_000_000_000 + signed(found.get(2, 0)))


def _duration(buf: Buffer, pos: int, end: int) -> Duration:
    found = _numbers(buf, pos, end)
    return Duration(signed(found.get(1, 0)) * 1_000_000_000 + signed(found.get(2, 0)))


def _link(buf: Buffer, pos: int, end: int) -> ID:
    return ID(str(_numbers(buf, pos, end).get(1, b""), "utf-8"))


def _array(shape: list[int], dtype: int, data: Any) -> Any:
    code = DTYPES[dtype] if 0 < dtype < len(DTYPES) else "<f8"
    a = np.frombuffer(data, code)
    if shape or len(a):
        a = a.reshape(shape)
    a.flags.writeable = False
    return a


def _matrix(buf: Buffer, pos: int, end: int) -> Any:
    found = _numbers(buf, pos, end)
    return _array([found.get(1, 0), found.get(2, 0)], found.get(3, 0), found.get(4, b""))


def _ndarray(buf: Buffer, pos: int, end: int) -> Any:
    shape: list[int] = []
    found = _numbers(buf, pos, end)
    packed = found.get(1, b"")
    if isinstance(packed, int):  # not packed: read again, one after the other
        from ._wire import members

        shape = [v for n, v in members(bytes(buf[pos:end])) if n == 1]
    else:
        at = 0
        while at < len(packed):
            n, at = read_varint(packed, at)
            shape.append(n)
    return _array(shape, found.get(2, 0), found.get(3, b""))


def _list(buf: Buffer, pos: int, end: int) -> list[Any]:
    items = []
    while pos < end:
        tag, pos = read_varint(buf, pos)
        if tag == 10:
            pos, stop = _span(buf, pos, end)
            items.append(_value(buf, pos, stop))
            pos = stop
        else:
            pos = skip(buf, pos, tag, end)
    return items


def _dict(buf: Buffer, pos: int, end: int) -> Record:
    record = Record()
    while pos < end:
        tag, pos = read_varint(buf, pos)
        if tag != 10:
            pos = skip(buf, pos, tag, end)
            continue
        pos, stop = _span(buf, pos, end)
        pair = _numbers(buf, pos, stop)
        inner = pair.get(2, b"")
        record[str(pair.get(1, b""), "utf-8")] = _value(inner, 0, len(inner))
        pos = stop
    return record


def _value(buf: Buffer, pos: int, end: int) -> Any:
    value: Any = None
    while pos < end:
        tag, pos = read_varint(buf, pos)
        number = tag >> 3
        if tag & 7 == 0 and number in (1, 2, 3, 13):
            n, pos = read_varint(buf, pos)
            value = bool(n) if number == 1 else n if number == 13 else unzigzag(n)
        elif number == 4:
            value, pos = struct.unpack_from("<f", buf, pos)[0], pos + 4
        elif number == 5:
            value, pos = struct.unpack_from("<d", buf, pos)[0], pos + 8
        elif tag & 7 == 2:
            pos, stop = _span(buf, pos, end)
            kind = _VALUES.get(number)
            value = kind(buf, pos, stop) if kind else None
            pos = stop
        else:
            pos = skip(buf, pos, tag, end)
    return value


_VALUES: dict[int, Callable[[Buffer, int, int], Any]] = {
    6: lambda buf, pos, end: str(buf[pos:end], "utf-8"), 7: _timestamp, 8: _duration, 9: _ndarray, 10: _list, 11: _dict, 12: _link}

_SPECIAL: dict[str, Callable[[Buffer, int, int], Any]] = {
    "google.protobuf.Timestamp": _timestamp, "google.protobuf.Duration": _duration, "engram.idf.v1.Link": _link,
    "engram.idf.v1.Matrix": _matrix, "engram.idf.v1.NDArray": _ndarray, "engram.idf.v1.List": _list,
    "engram.idf.v1.Dict": _dict, "engram.idf.v1.Value": _value}
