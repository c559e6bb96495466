"""Payloads as Python objects: what classes written by ``engram gen python`` are built on.

A class has its type's members with their wire form (:func:`member`) and converts itself to
payload bytes and back. Given the sender's type (:class:`Sender`), a payload of another type
is cast by the names of its members. Needs numpy, and no protobuf library.

Arrays and images that are read are views of the payload: they are not copied, and cannot be
written to. Malformed payloads raise :class:`PayloadError`, which names the member.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import math
import struct
import time
from typing import Any, Callable, ClassVar, Dict, Iterator, List, NamedTuple, Optional, Tuple, Type, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _plain

__all__ = [
    "Array", "Duration", "Enumeration", "Image", "Link", "NumericType", "PackedElementField", "Payload",
    "PayloadError", "PointCloud", "Pose", "Quaternion", "Sender", "Time", "Value", "Vector3",
    "decode_value", "encode_value", "member",
]  # fmt: skip

Array = npt.NDArray[Any]
Buffer = Union[bytes, bytearray, memoryview]
P = TypeVar("P", bound="Payload")

MAX_DEPTH = 100  # messages in messages, as in the memory
_MASK = (1 << 64) - 1


class PayloadError(ValueError):
    """A payload cannot be read, written or cast.

    ``member`` is the path of the member at fault, such as ``pose.position.x``.
    """

    def __init__(self, message: str, member: str = "") -> None:
        self.message, self.member = message, member
        super().__init__(f"{member}: {message}" if member else message)

    def under(self, name: str) -> PayloadError:
        """The same error, seen from the object that has the member ``name``."""
        dot = "." if self.member and not self.member.startswith("[") else ""
        return PayloadError(self.message, name + dot + self.member)


# Values


class Time(int):
    """A time, in nanoseconds since 1970-01-01 00:00:00 UTC."""

    @classmethod
    def now(cls) -> Time:
        return cls(time.time_ns())

    @classmethod
    def of(cls, when: datetime.datetime) -> Time:
        """The time of a datetime, which is local if it has no zone."""
        since = when.astimezone(datetime.timezone.utc) - datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
        return cls((since.days * 86400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000)

    def datetime(self) -> datetime.datetime:
        """In UTC, rounded down to microseconds."""
        return datetime.datetime.fromtimestamp(0, datetime.timezone.utc) + datetime.timedelta(microseconds=self // 1000)

    def __repr__(self) -> str:
        return f"Time({int(self)})"


class Duration(int):
    """A duration, in nanoseconds."""

    @classmethod
    def of(cls, seconds: float) -> Duration:
        return cls(round(seconds * 1e9))

    def seconds(self) -> float:
        return self / 1e9

    def __repr__(self) -> str:
        return f"Duration({int(self)})"


class Link(str):
    """The ID of something in a memory, such as ``Object/Class/prior/cup``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Link({str(self)!r})"


Value = Any
"""Any datum: None, bool, int (64 bits), np.int32, float, np.float32, str, Time, Duration, Link,
an array, a list, or a dict whose keys are str."""


class Enumeration(enum.IntEnum):
    """An enumeration. A number that it does not know is kept, as a value without a key."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
            return None
        unknown = int.__new__(cls, value)
        unknown._name_, unknown._value_ = f"UNKNOWN_{value}".replace("-", "MINUS_"), value
        return unknown

    def __init_subclass__(cls, type: str = "", keys: Optional[Dict[str, str]] = None, **more: Any) -> None:
        """``type`` is the full name, ``keys`` says what names stand for that Python does not allow."""
        super().__init_subclass__(**more)
        if type:
            _enums[type] = _Enum(type, cls, keys or {})


class _Enum:
    """What an enumeration's keys and numbers are."""

    def __init__(self, name: str, cls: Optional[Type[Enumeration]], keys: Dict[str, str]) -> None:
        self.name, self.cls, self.renamed = name, cls, keys
        self.by_number: Dict[int, Any] = {}

    def make(self, number: int) -> Any:
        made = self.by_number.get(number)
        if made is None:
            assert self.cls is not None
            made = self.cls(number)
            if len(self.by_number) < 1000:
                self.by_number[number] = made
        return made

    @functools.cached_property
    def keys(self) -> Dict[str, int]:
        assert self.cls is not None
        return {self.renamed.get(name, name): int(value) for name, value in self.cls.__members__.items()}


class _Key(NamedTuple):
    """A value of a sender's enumeration."""

    number: int
    key: str


_enums: Dict[str, _Enum] = {}
_classes: Dict[str, Type[Payload]] = {}


# Shapes: what a member can be, in the words that the generator writes.


class _Shape(NamedTuple):
    kind: str  # "list", "map", "tuple", "optional", ".name", or a word such as "double" or "time"
    parts: Tuple[_Shape, ...] = ()

    def __str__(self) -> str:
        return self.kind + (f"<{', '.join(map(str, self.parts))}>" if self.parts else "")


@functools.lru_cache(maxsize=None)
def _parse_shape(text: str) -> _Shape:
    def read(at: int) -> Tuple[_Shape, int]:
        end = at
        while end < len(text) and text[end] not in "<>,":
            end += 1
        kind, parts = text[at:end].strip(), []
        if end < len(text) and text[end] == "<":
            while text[end] != ">":
                part, end = read(end + 1)
                parts.append(part)
            end += 1
        return _Shape(kind, tuple(parts)), end

    return read(0)[0]


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# The scalars: wire type, least and greatest (None for those that are no integers).
_SCALARS: Dict[str, Tuple[int, Optional[int], Optional[int]]] = {
    "bool": (_VARINT, None, None),
    "int32": (_VARINT, -(1 << 31), (1 << 31) - 1), "sint32": (_VARINT, -(1 << 31), (1 << 31) - 1),
    "int64": (_VARINT, -(1 << 63), (1 << 63) - 1), "sint64": (_VARINT, -(1 << 63), (1 << 63) - 1),
    "uint32": (_VARINT, 0, (1 << 32) - 1), "uint64": (_VARINT, 0, _MASK),
    "fixed32": (_FIXED32, 0, (1 << 32) - 1), "fixed64": (_FIXED64, 0, _MASK),
    "sfixed32": (_FIXED32, -(1 << 31), (1 << 31) - 1), "sfixed64": (_FIXED64, -(1 << 63), (1 << 63) - 1),
    "float": (_FIXED32, None, None), "double": (_FIXED64, None, None),
    "string": (_BYTES, None, None), "bytes": (_BYTES, None, None), "buffer": (_BYTES, None, None),
}  # fmt: skip
_SPECIALS = ("time", "duration", "link", "matrix", "ndarray", "value")
_FIXED = {name: struct.Struct(form) for name, form in (
    ("float", "<f"), ("double", "<d"), ("fixed32", "<I"), ("sfixed32", "<i"), ("fixed64", "<Q"), ("sfixed64", "<q"))}  # fmt: skip
_ZERO: Dict[str, Any] = {"bool": False, "float": 0.0, "double": 0.0, "string": "", "bytes": b"", "buffer": b""}

# The element types of arrays, by their number.
_DTYPES = [None] + [np.dtype(t).newbyteorder("<") for t in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")]
_DTYPE_NUMBERS = {(d.kind, d.itemsize): i for i, d in enumerate(_DTYPES) if d is not None}


class _Member(NamedTuple):
    number: int
    name: str  # in the type
    attribute: str  # in the class
    shape: _Shape
    oneof: str


def member(number: int, shape: str, *, name: str = "", unit: str = "", oneof: str = "") -> Any:
    """A member of a payload class: its number and shape on the wire, its name in the type if
    Python does not allow that, its unit, and the group of members of which one is set."""
    parsed = _parse_shape(shape)
    metadata = {"number": number, "shape": parsed, "name": name, "unit": unit, "oneof": oneof}
    if parsed.kind in ("list", "map"):
        return dataclasses.field(default_factory=list if parsed.kind == "list" else dict, metadata=metadata)
    if parsed.kind.startswith("."):
        return dataclasses.field(default_factory=lambda: _zero_of(parsed.kind[1:]), metadata=metadata)
    return dataclasses.field(default=None if parsed.kind == "optional" else _ZERO.get(parsed.kind, 0), metadata=metadata)


def _zero_of(name: str) -> Enumeration:
    zero: Enumeration = _enums[name].make(0)
    return zero


class Payload:
    """An object that is the payload of a type, ``TYPE``. Members that may be unset are None then."""

    TYPE: ClassVar[str] = ""
    _layout: ClassVar[Optional[_Layout]] = None

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls._layout = None
        if "TYPE" in cls.__dict__:
            _classes[cls.TYPE] = cls

    @classmethod
    def from_payload(cls: Type[P], data: Buffer, sender: Optional[Sender] = None) -> P:
        """Reads a payload of this type, or with ``sender`` one of that type: members are found by
        name, numbers and enumerations converted where the value fits, and the rest stays unset.
        ``data`` must not change while its images and arrays are in use."""
        if isinstance(data, bytearray):
            data = bytes(data)
        elif isinstance(data, memoryview):
            data = data.cast("B") if data.readonly and data.contiguous else bytes(data)
        if sender is not None and sender.layout is not None:
            made = sender.cast(data, _layout_of(cls))
        else:
            made = _layout_of(cls).read(data, 0, len(data), 1)
        return made  # type: ignore[no-any-return]

    def to_payload(self) -> bytes:
        """The payload's bytes, members in the order of their numbers."""
        return _layout_of(type(self)).write(self, 1)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_equal(a, other.__dict__.get(name)) for name, a in self.__dict__.items())

    __hash__ = None  # type: ignore[assignment]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        return bool(a.dtype == b.dtype and a.shape == b.shape and (a == b).all())
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(v, b[k]) for k, v in a.items())
    return bool(a == b)


def _layout_of(cls: Type[Payload]) -> _Layout:
    layout: Optional[_Layout] = cls.__dict__.get("_layout")
    if layout is None:
        if not dataclasses.is_dataclass(cls):
            raise TypeError(f"{cls.__name__} is not a class of a type")
        members = [
            _Member(f.metadata["number"], f.metadata["name"] or f.name, f.name, f.metadata["shape"], f.metadata["oneof"])
            for f in dataclasses.fields(cls)
            if "number" in f.metadata
        ]
        layout = cls._layout = _Layout(cls.TYPE, members, _own, cls)
    return layout


def _own(name: str) -> Union[_Layout, _Enum]:
    """What a name means in the classes of this program."""
    found = _enums.get(name)
    if found is not None:
        return found
    cls = _classes.get(name)
    if cls is None:
        raise PayloadError(f"no class of {name} was imported")
    return _layout_of(cls)


Resolve = Callable[[str], Union["_Layout", _Enum]]
Reader = Callable[[Any, int, int, int], Any]  # of what stands in data[start:end], depth messages deep
Handler = Callable[[Dict[str, Any], Any, int, int, int], int]  # reads a record into values


class _Layout:
    """How the objects of a type are read and written; with ``cls`` None they are dicts."""

    def __init__(self, name: str, members: List[_Member], resolve: Resolve, cls: Optional[Type[Payload]]) -> None:
        self.name, self.members, self.resolve, self.cls = name, members, resolve, cls
        self.by_name = {m.name: m for m in members}
        self.checked: Dict[int, Any] = {}  # senders that were found to fit, by their identity

    @functools.cached_property
    def handlers(self) -> Dict[int, Handler]:
        handlers: Dict[int, Handler] = {}
        for m in self.members:
            _add_handlers(handlers, m, self)
        return handlers

    @functools.cached_property
    def writers(self) -> List[Tuple[str, str, Callable[[List[bytes], Any, int], None]]]:
        by_number = sorted(self.members, key=lambda m: m.number)
        return [(m.attribute, m.name, _member_writer(m.number, m.shape, self.resolve)) for m in by_number]

    @functools.cached_property
    def defaults(self) -> Tuple[Dict[str, Any], List[Tuple[str, Callable[[], Any]]]]:
        fixed: Dict[str, Any] = {}
        fresh: List[Tuple[str, Callable[[], Any]]] = []
        for m in self.members:
            if m.shape.kind == "list" or m.shape.kind == "map":
                fresh.append((m.attribute, list if m.shape.kind == "list" else dict))
            # What a sender has not written is unset, as it leaves no trace.
            sent = self.cls is None and self.name != ""
            fixed[m.attribute] = None if sent else _default(m.shape, self.resolve)
        return fixed, fresh

    @functools.cached_property
    def oneofs(self) -> List[List[_Member]]:
        groups: Dict[str, List[_Member]] = {}
        for m in self.members:
            if m.oneof:
                groups.setdefault(m.oneof, []).append(m)
        return list(groups.values())

    def read(self, data: Any, pos: int, end: int, depth: int, values: Optional[Dict[str, Any]] = None) -> Any:
        if depth > MAX_DEPTH:
            raise PayloadError(f"messages are nested over {MAX_DEPTH} deep")
        if values is None:
            fixed, fresh = self.defaults
            values = fixed.copy()
            for attribute, make in fresh:
                values[attribute] = make()
        handlers = self.handlers
        while pos < end:
            tag = data[pos]
            pos += 1
            if tag >= 0x80:
                tag, pos = _varint(data, pos - 1, end)
            handler = handlers.get(tag)
            pos = _skip(tag, data, pos, end) if handler is None else handler(values, data, pos, end, depth)
        if self.cls is None:
            return values
        made = self.cls.__new__(self.cls)
        made.__dict__ = values
        return made

    def write(self, value: Any, depth: int) -> bytes:
        if depth > MAX_DEPTH:
            raise PayloadError(f"objects are nested over {MAX_DEPTH} deep")
        values = value.__dict__
        for group in self.oneofs:
            given = [m.name for m in group if values[m.attribute] is not None]
            if len(given) > 1:
                raise PayloadError(f"excludes {given[0]}, which is set too", given[1])
        parts: List[bytes] = []
        for attribute, name, writer in self.writers:
            v = values[attribute]
            if v is None:
                continue
            try:
                writer(parts, v, depth)
            except PayloadError as e:
                raise e.under(name) from None
            except (TypeError, ValueError, AttributeError, struct.error, OverflowError) as e:
                raise PayloadError(f"{_short(v)} cannot be written: {e}", name) from None
        return b"".join(parts)


def _short(v: Any) -> str:
    text = repr(v)
    return text if len(text) <= 60 else text[:57] + "..."


def _default(shape: _Shape, resolve: Resolve) -> Any:
    if shape.kind.startswith("."):
        found = resolve(shape.kind[1:])
        if isinstance(found, _Enum):
            return found.make(0)
    return None if shape.kind in ("optional", "list", "map") else _ZERO.get(shape.kind, 0)


# Reading


def _varint(data: Any, pos: int, end: int) -> Tuple[int, int]:
    result = shift = 0
    while pos < end:
        b = data[pos]
        pos += 1
        result |= (b & 0x7F) << shift
        if b < 0x80:
            return result & _MASK, pos
        shift += 7
        if shift >= 70:
            raise PayloadError("a number has more than 10 bytes")
    raise PayloadError("the payload is cut")


def _length(data: Any, pos: int, end: int) -> Tuple[int, int]:
    """Where the content of a delimited record begins and ends."""
    if pos < end and data[pos] < 0x80:
        n, pos = data[pos], pos + 1
    else:
        n, pos = _varint(data, pos, end)
    if n > end - pos:
        raise PayloadError("the payload is cut")
    return pos, pos + n


def _skip(tag: int, data: Any, pos: int, end: int, depth: int = 0) -> int:
    wire = tag & 7
    if tag >> 3 == 0 or tag >> 32:
        raise PayloadError("the payload is malformed: a member has no valid number")
    if wire == _VARINT:
        return _varint(data, pos, end)[1]
    if wire == _BYTES:
        return _length(data, pos, end)[1]
    if wire == 3 and depth < MAX_DEPTH:  # a group
        while True:
            inner, pos = _varint(data, pos, end)
            if inner & 7 == 4:
                if inner >> 3 != tag >> 3:
                    raise PayloadError("the payload is malformed: a group ends that did not begin")
                return pos
            pos = _skip(inner, data, pos, end, depth + 1)
    if wire not in (_FIXED32, _FIXED64):
        raise PayloadError(f"the payload is malformed: wire type {wire}")
    pos += 8 if wire == _FIXED64 else 4
    if pos > end:
        raise PayloadError("the payload is cut")
    return pos


def _number_of(shape: str) -> Callable[[int], Any]:
    """What a varint means."""
    if shape == "bool":
        return lambda n: n != 0
    if shape == "int64":
        return lambda n: n - (1 << 64) if n >> 63 else n
    if shape == "uint32":
        return lambda n: n & 0xFFFFFFFF
    if shape == "uint64":
        return lambda n: n
    if shape == "sint32":
        return lambda n: ((n & 0xFFFFFFFF) >> 1) ^ -(n & 1)
    if shape == "sint64":
        return lambda n: (n >> 1) ^ -(n & 1)
    return lambda n: (n & 0x7FFFFFFF) - (n & 0x80000000)  # int32, and numbers of enumerations


def _text(data: Any, pos: int, end: int, depth: int = 0) -> str:
    try:
        return str(data[pos:end], "utf-8")
    except UnicodeDecodeError:
        raise PayloadError("a text is not UTF-8") from None


def _records(data: Any, pos: int, end: int) -> Iterator[Tuple[int, int, Any, int]]:
    """The records of a message: number, wire type, the number or where the content begins, its end."""
    while pos < end:
        tag, pos = _varint(data, pos, end)
        wire = tag & 7
        if wire == _VARINT and tag >> 3:
            n, pos = _varint(data, pos, end)
            yield tag >> 3, wire, n, 0
        elif wire == _BYTES and tag >> 3:
            start, pos = _length(data, pos, end)
            yield tag >> 3, wire, start, pos
        else:
            pos = _skip(tag, data, pos, end)


def _seconds(data: Any, pos: int, end: int) -> int:
    seconds = nanos = 0
    for number, wire, n, _ in _records(data, pos, end):
        if number > 2:
            continue
        if wire != _VARINT:
            raise PayloadError("a time is malformed")
        if number == 1:
            seconds = n - (1 << 64) if n >> 63 else n
        else:
            nanos = (n & 0x7FFFFFFF) - (n & 0x80000000)
    return seconds * 1_000_000_000 + nanos


def _read_time(data: Any, pos: int, end: int, depth: int) -> Time:
    return Time(_seconds(data, pos, end))


def _read_duration(data: Any, pos: int, end: int, depth: int) -> Duration:
    return Duration(_seconds(data, pos, end))


def _read_link(data: Any, pos: int, end: int, depth: int) -> Link:
    text = ""
    for number, wire, start, stop in _records(data, pos, end):
        if number == 1:
            if wire != _BYTES:
                raise PayloadError("a link is malformed")
            text = _text(data, start, stop)
    return Link(text)


def _signed(n: int) -> int:
    return n - (1 << 64) if n >> 63 else n


def _array(shape: List[int], dtype: int, data: Any, start: int, end: int) -> Array:
    element = _DTYPES[dtype] if 0 < dtype < len(_DTYPES) else None
    if element is None:
        raise PayloadError(f"an array has the unknown element type {dtype}")
    if len(shape) > 32 or any(n < 0 for n in shape) or math.prod(shape) * element.itemsize != end - start:
        raise PayloadError(f"an array of shape {shape[:8]} and {element.name} has {end - start} bytes")
    if start == end:
        return np.zeros(shape, element)
    return np.frombuffer(data, element, (end - start) // element.itemsize, start).reshape(shape)


def _read_matrix(data: Any, pos: int, end: int, depth: int) -> Array:
    head, span = [0, 0, 0], (0, 0)
    for number, wire, n, stop in _records(data, pos, end):
        if number > 4:
            continue
        if wire != (_BYTES if number == 4 else _VARINT):
            raise PayloadError("a matrix is malformed")
        if number == 4:
            span = n, stop
        else:
            head[number - 1] = _signed(n)
    return _array(head[:2], head[2], data, *span)


def _read_ndarray(data: Any, pos: int, end: int, depth: int) -> Array:
    shape: List[int] = []
    dtype, span = 0, (0, 0)
    for number, wire, n, stop in _records(data, pos, end):
        if number == 1 and wire == _BYTES:
            while n < stop:
                extent, n = _varint(data, n, stop)
                shape.append(_signed(extent))
        elif number == 1:
            shape.append(_signed(n))
        elif number == 2 and wire == _VARINT:
            dtype = n
        elif number == 3 and wire == _BYTES:
            span = n, stop
        elif number <= 3:
            raise PayloadError("an array is malformed")
    return _array(shape, dtype, data, *span)


def _value_handlers() -> Dict[int, Callable[[Any, int, int, int], Any]]:
    return {7: _read_time, 8: _read_duration, 9: _read_ndarray, 10: _read_list, 11: _read_dict, 12: _read_link, 6: _text}


def _read_value(data: Any, pos: int, end: int, depth: int) -> Value:
    if depth > MAX_DEPTH:
        raise PayloadError(f"messages are nested over {MAX_DEPTH} deep")
    value: Value = None
    while pos < end:
        tag, pos = _varint(data, pos, end)
        if tag == 1 << 3:
            n, pos = _varint(data, pos, end)
            value = n != 0
        elif tag == 2 << 3:
            n, pos = _varint(data, pos, end)
            value = np.int32(_number_of("sint32")(n))
        elif tag == 3 << 3:
            n, pos = _varint(data, pos, end)
            value = _number_of("sint64")(n)
        elif tag == 13 << 3:
            value, pos = _varint(data, pos, end)
        elif tag == 4 << 3 | _FIXED32:
            stop = _skip(tag, data, pos, end)
            value, pos = np.float32(_FIXED["float"].unpack_from(data, pos)[0]), stop
        elif tag == 5 << 3 | _FIXED64:
            stop = _skip(tag, data, pos, end)
            value, pos = _FIXED["double"].unpack_from(data, pos)[0], stop
        elif tag & 7 == _BYTES and 6 <= tag >> 3 <= 12:
            start, pos = _length(data, pos, end)
            value = _value_handlers()[tag >> 3](data, start, pos, depth + 1)
        elif 1 <= tag >> 3 <= 13:
            raise PayloadError("a Value is malformed")
        else:
            pos = _skip(tag, data, pos, end)
    return value


def _read_list(data: Any, pos: int, end: int, depth: int) -> List[Value]:
    return [_read_value(data, start, stop, depth + 1) for n, wire, start, stop in _records(data, pos, end) if n == 1 and wire == _BYTES]


def _read_dict(data: Any, pos: int, end: int, depth: int) -> Dict[str, Value]:
    read: Dict[str, Value] = {}
    for n, wire, start, stop in _records(data, pos, end):
        if n == 1 and wire == _BYTES:
            key, value = "", None
            for number, w, begin, until in _records(data, start, stop):
                if number == 1 and w == _BYTES:
                    key = _text(data, begin, until)
                elif number == 2 and w == _BYTES:
                    value = _read_value(data, begin, until, depth + 2)
            read[key] = value
    return read


def _read_bytes(data: Any, pos: int, end: int, depth: int) -> bytes:
    return bytes(data[pos:end])


def _read_buffer(data: Any, pos: int, end: int, depth: int) -> memoryview:
    return memoryview(data)[pos:end].toreadonly()


_READERS: Dict[str, Reader] = {
    "time": _read_time, "duration": _read_duration, "link": _read_link, "matrix": _read_matrix, "ndarray": _read_ndarray,
    "value": _read_value, "string": _text, "bytes": _read_bytes, "buffer": _read_buffer,
}  # fmt: skip


def _content_reader(shape: _Shape, resolve: Resolve) -> Tuple[int, Reader]:
    """The wire type of a single value, and what reads its content; of a varint it is given the
    number in place of data."""
    kind = shape.kind
    if kind in _READERS:
        return _BYTES, _READERS[kind]
    if kind in _SCALARS:
        wire = _SCALARS[kind][0]
        if wire == _VARINT:
            number = _number_of(kind)
            return wire, lambda n, pos, end, depth: number(n)
        unpack = _FIXED[kind].unpack_from
        return wire, lambda data, pos, end, depth: unpack(data, pos)[0]
    if kind.startswith("."):
        found = resolve(kind[1:])
        if isinstance(found, _Enum):
            make, signed = found.make, _number_of("int32")
            return _VARINT, lambda n, pos, end, depth: make(signed(n))
        read = found.read
        return _BYTES, lambda data, pos, end, depth: read(data, pos, end, depth + 1)
    return _BYTES, _wrapper_reader(shape, resolve)


def _wrapper_reader(shape: _Shape, resolve: Resolve) -> Reader:
    """Reads lists, dicts, tuples and optional items that are messages of their own."""
    if shape.kind == "tuple":
        members = [_Member(i + 1, f"[{i}]", str(i), part, "") for i, part in enumerate(shape.parts)]
    else:
        members = [_Member(1, "", "0", shape, "")]
    inner = _Layout("", members, resolve, None)
    count, whole = len(members), shape.kind == "tuple"

    def read(data: Any, pos: int, end: int, depth: int) -> Any:
        values = inner.read(data, pos, end, depth + 1)
        return tuple(values[str(i)] for i in range(count)) if whole else values["0"]

    return read


def _add_handlers(handlers: Dict[int, Handler], m: _Member, layout: _Layout) -> None:
    shape, resolve = m.shape, layout.resolve
    if shape.kind == "map":
        handlers[m.number << 3 | _BYTES] = _map_handler(m, resolve)
        return
    item = shape.parts[0] if shape.kind in ("optional", "list") else shape
    wire, read = _content_reader(item, resolve)
    name, attribute = m.name, m.attribute
    merged = None
    if item.kind.startswith(".") and wire == _BYTES:
        found = resolve(item.kind[1:])
        assert isinstance(found, _Layout)
        merged = found
    others = [o.attribute for o in layout.members if m.oneof and o.oneof == m.oneof and o is not m]

    def one(data: Any, pos: int, end: int, depth: int) -> Tuple[Any, int]:
        if wire == _BYTES:
            if pos < end and data[pos] < 0x80:
                stop = pos + 1 + data[pos]
                pos += 1
                if stop > end:
                    raise PayloadError("the payload is cut")
            else:
                pos, stop = _length(data, pos, end)
            return read(data, pos, stop, depth), stop
        if wire == _VARINT:
            n, pos = _varint(data, pos, end)
            return read(n, 0, 0, depth), pos
        stop = pos + (8 if wire == _FIXED64 else 4)
        if stop > end:
            raise PayloadError("the payload is cut")
        return read(data, pos, stop, depth), stop

    def single(values: Dict[str, Any], data: Any, pos: int, end: int, depth: int) -> int:
        try:
            if merged is not None and values[attribute] is not None:  # two records of a message are one
                start, pos = _length(data, pos, end)
                before = values[attribute]
                merged.read(data, start, pos, depth + 1, before if merged.cls is None else before.__dict__)
                return pos
            values[attribute], pos = one(data, pos, end, depth)
        except PayloadError as e:
            raise e.under(name) from None
        for other in others:
            values[other] = None
        return pos

    def many(values: Dict[str, Any], data: Any, pos: int, end: int, depth: int) -> int:
        items = values[attribute]
        try:
            value, pos = one(data, pos, end, depth)
        except PayloadError as e:
            raise e.under(f"{name}[{len(items)}]") from None
        items.append(value)
        return pos

    def packed(values: Dict[str, Any], data: Any, pos: int, end: int, depth: int) -> int:
        try:
            pos, stop = _length(data, pos, end)
            if item.kind in _FIXED:
                form = _FIXED[item.kind]
                if (stop - pos) % form.size:
                    raise PayloadError("the payload is cut")
                numbers = np.frombuffer(data, form.format, (stop - pos) // form.size, pos) if stop > pos else None
                values[attribute] += numbers.tolist() if numbers is not None else []
                return stop
            items = values[attribute]
            while pos < stop:
                n, pos = _varint(data, pos, stop)
                items.append(read(n, 0, 0, depth))
            return stop
        except PayloadError as e:
            raise e.under(name) from None

    def wrong(values: Dict[str, Any], data: Any, pos: int, end: int, depth: int) -> int:
        raise PayloadError(f"the payload is malformed, or not of this type: it has another wire type than {shape}", name)

    for w in (_VARINT, _FIXED64, _BYTES, 3, 4, _FIXED32):
        handlers[m.number << 3 | w] = wrong
    handlers[m.number << 3 | wire] = many if shape.kind == "list" else single
    if shape.kind == "list" and wire != _BYTES:
        handlers[m.number << 3 | _BYTES] = packed


def _map_handler(m: _Member, resolve: Resolve) -> Handler:
    key, item = m.shape.parts
    value = item if item.kind in _SCALARS or item.kind.startswith(".") and isinstance(resolve(item.kind[1:]), _Enum) else _Shape("optional", (item,))
    entry = _Layout("", [_Member(1, "key", "key", key, ""), _Member(2, "value", "value", value, "")], resolve, None)
    wire, read = _content_reader(item, resolve)

    def handle(values: Dict[str, Any], data: Any, pos: int, end: int, depth: int) -> int:
        k: Any = ""
        try:
            pos, stop = _length(data, pos, end)
            parts = entry.read(data, pos, stop, depth + 1)
            k, v = parts["key"], parts["value"]
            if v is None:  # a message that was not written is empty
                v = read(b"", 0, 0, depth + 1) if wire == _BYTES else v
        except PayloadError as e:
            raise PayloadError(e.message, e.member.partition("value")[2].lstrip(".")).under(f'{m.name}["{k}"]') from None
        values[m.attribute][k] = v
        return stop

    return handle


# Writing


def _append_varint(parts: List[bytes], n: int) -> None:
    parts.append(_encode_varint(n))


_SMALL = [bytes([n]) for n in range(0x80)]


def _encode_varint(n: int) -> bytes:
    if 0 <= n < 0x80:
        return _SMALL[n]
    n &= _MASK
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _check_integer(kind: str, v: Any) -> int:
    _, low, high = _SCALARS[kind]
    n = int(v.__index__())
    assert low is not None and high is not None
    if not low <= n <= high:
        raise PayloadError(f"the number {n} does not fit {kind}")
    return n


def _encode_seconds(v: int) -> bytes:
    seconds, nanos = divmod(int(v), 1_000_000_000)
    return (b"\x08" + _encode_varint(seconds) if seconds else b"") + (b"\x10" + _encode_varint(nanos) if nanos else b"")


def _encode_time(v: Any, depth: int) -> bytes:
    if not isinstance(v, int):
        raise PayloadError(f"{_short(v)} is not a Time; Time.of makes one of a datetime")
    return _encode_seconds(v)


def _encode_duration(v: Any, depth: int) -> bytes:
    if not isinstance(v, int):
        raise PayloadError(f"{_short(v)} is not a Duration; Duration.of makes one of seconds")
    seconds, nanos = divmod(abs(v), 1_000_000_000)
    sign = -1 if v < 0 else 1
    return (b"\x08" + _encode_varint(sign * seconds) if seconds else b"") + (b"\x10" + _encode_varint(sign * nanos) if nanos else b"")


def _encode_text(v: Any, depth: int = 0) -> bytes:
    if not isinstance(v, str):
        raise PayloadError(f"{_short(v)} is not a str")
    try:
        return v.encode()
    except UnicodeEncodeError:
        raise PayloadError("a text is not UTF-8") from None


def _encode_link(v: Any, depth: int) -> bytes:
    text = _encode_text(v)
    return b"\x0a" + _encode_varint(len(text)) + text if text else b""


def _plainly(convert: Callable[[Any], Array], v: Any) -> Array:
    try:
        return convert(v)
    except PayloadError:
        raise
    except ValueError as e:
        raise PayloadError(str(e)) from None


def _raw(a: Array) -> Tuple[int, Tuple[int, ...], bytes]:
    a = _plainly(_plain.dense, a)
    dtype = _DTYPE_NUMBERS.get((a.dtype.kind, a.dtype.itemsize))
    if dtype is None:
        raise PayloadError(f"arrays of {a.dtype} have no form in a payload; there are whole numbers of 8 to 64 bits, float32 and float64")
    return dtype, a.shape, a.astype(_DTYPES[dtype], copy=False).tobytes()


def _encode_matrix(v: Any, depth: int) -> bytes:
    dtype, shape, data = _raw(v)
    if len(shape) != 2:
        raise PayloadError(f"a matrix has two dimensions, not {len(shape)}")
    parts = []
    for tag, n in ((b"\x08", shape[0]), (b"\x10", shape[1]), (b"\x18", dtype)):
        if n:
            parts += [tag, _encode_varint(n)]
    if data:
        parts += [b"\x22", _encode_varint(len(data)), data]
    return b"".join(parts)


def _encode_ndarray(v: Any, depth: int) -> bytes:
    dtype, shape, data = _raw(v)
    extents = b"".join(map(_encode_varint, shape))
    parts = [b"\x0a", _encode_varint(len(extents)), extents] if extents else []
    parts += [b"\x10", _encode_varint(dtype)]
    if data:
        parts += [b"\x1a", _encode_varint(len(data)), data]
    return b"".join(parts)


def _delimited(tag: bytes, content: bytes) -> bytes:
    return tag + _encode_varint(len(content)) + content


def _encode_value(v: Value, depth: int) -> bytes:
    if depth > MAX_DEPTH:
        raise PayloadError(f"objects are nested over {MAX_DEPTH} deep")
    if v is None:
        return b""
    if isinstance(v, (bool, np.bool_)):
        return b"\x08" + _encode_varint(int(v))
    if isinstance(v, np.float32):
        return b"\x25" + _FIXED["float"].pack(v)
    if isinstance(v, (float, np.floating)):
        return b"\x29" + _FIXED["double"].pack(v)
    if isinstance(v, Time):
        return _delimited(b"\x3a", _encode_time(v, depth))
    if isinstance(v, Duration):
        return _delimited(b"\x42", _encode_duration(v, depth))
    if isinstance(v, np.int32):
        n = int(v)
        return b"\x10" + _encode_varint((n << 1 ^ n >> 31) & 0xFFFFFFFF)
    if isinstance(v, Enumeration):
        return _encode_value(_enum_key(v), depth)
    if isinstance(v, (int, np.integer)):
        if v >= 1 << 63:
            return b"\x68" + _encode_varint(_check_integer("uint64", v))
        n = _check_integer("int64", v)
        return b"\x18" + _encode_varint(n << 1 ^ n >> 63)
    if isinstance(v, Link):
        return _delimited(b"\x62", _encode_link(v, depth))
    if isinstance(v, str):
        return _delimited(b"\x32", _encode_text(v))
    if isinstance(v, (bytes, bytearray, memoryview)):
        v = np.frombuffer(v, np.uint8)
    if isinstance(v, np.ndarray):
        return _delimited(b"\x4a", _encode_ndarray(v, depth))
    if isinstance(v, (list, tuple)):
        return _delimited(b"\x52", b"".join(_delimited(b"\x0a", _encode_value(i, depth + 2)) for i in v))
    if isinstance(v, dict):
        entries = []
        for key in sorted(v):
            entries.append(_delimited(b"\x0a", _delimited(b"\x0a", _encode_text(key)) + _delimited(b"\x12", _encode_value(v[key], depth + 3))))
        return _delimited(b"\x5a", b"".join(entries))
    raise PayloadError(f"{type(v).__name__} has no form in a Value")


def _enum_key(v: Enumeration) -> str:
    for known in _enums.values():
        if known.cls is type(v):
            return known.renamed.get(v.name, v.name)
    return v.name


def encode_value(v: Value) -> bytes:
    """The payload of type engram.idf.v1.Value for any datum."""
    return _encode_value(v, 1)


def decode_value(data: Buffer) -> Value:
    """The datum in a payload of type engram.idf.v1.Value."""
    data = bytes(data)
    return _read_value(data, 0, len(data), 1)


_ENCODERS: Dict[str, Callable[[Any, int], bytes]] = {
    "time": _encode_time, "duration": _encode_duration, "link": _encode_link, "matrix": _encode_matrix,
    "ndarray": _encode_ndarray, "value": lambda v, depth: _encode_value(v, depth + 1), "string": _encode_text,
}  # fmt: skip


def _encode_buffer(v: Any, depth: int) -> bytes:
    if isinstance(v, bytes):
        return v
    return _plainly(_plain.array_of, v).tobytes() if isinstance(v, np.ndarray) else bytes(memoryview(v))


def _number_of_array(v: Array) -> Any:
    """The number that an array without dimensions is; a masked one is NaN."""
    if v.ndim:
        raise PayloadError(f"an array of shape {v.shape} is not a number")
    return _plainly(_plain.array_of, v)[()]


def _content_writer(shape: _Shape, resolve: Resolve) -> Tuple[int, Callable[[Any, int], bytes]]:
    """The wire type of a single value, and its content; the length of delimited ones is not in it."""
    kind = shape.kind
    if kind in _ENCODERS:
        return _BYTES, _ENCODERS[kind]
    if kind in ("bytes", "buffer"):
        return _BYTES, _encode_buffer
    if kind in _FIXED:
        wire, pack = _SCALARS[kind][0], _FIXED[kind].pack
        if kind in ("float", "double"):
            return wire, lambda v, depth: pack(v if not isinstance(v, np.ndarray) else _number_of_array(v))
        return wire, lambda v, depth: pack(_check_integer(kind, v))
    if kind == "bool":
        return _VARINT, lambda v, depth: b"\x01" if (v if not isinstance(v, np.ndarray) else _number_of_array(v)) else b"\x00"
    if kind in ("sint32", "sint64"):
        return _VARINT, lambda v, depth: _encode_varint(_check_integer(kind, v) << 1 ^ _check_integer(kind, v) >> 63)
    if kind in _SCALARS:
        return _VARINT, lambda v, depth: _encode_varint(_check_integer(kind, v))
    if kind.startswith("."):
        found = resolve(kind[1:])
        if isinstance(found, _Enum):
            return _VARINT, lambda v, depth: _encode_varint(_check_integer("int32", v))
        return _BYTES, _object_writer(found)
    if kind == "tuple":
        parts = [_member_writer(i + 1, part, resolve) for i, part in enumerate(shape.parts)]

        def write_tuple(v: Any, depth: int) -> bytes:
            if len(v) != len(parts):
                raise PayloadError(f"{_short(v)} has not {len(parts)} items")
            out: List[bytes] = []
            for write, item in zip(parts, v):
                if item is not None:
                    write(out, item, depth + 1)
            return b"".join(out)

        return _BYTES, write_tuple
    inner = _member_writer(1, shape, resolve)

    def write_wrapper(v: Any, depth: int) -> bytes:
        out: List[bytes] = []
        if v is not None:
            inner(out, v, depth + 1)
        return b"".join(out)

    return _BYTES, write_wrapper


def _object_writer(layout: _Layout) -> Callable[[Any, int], bytes]:
    assert layout.cls is not None
    cls: Type[Payload] = layout.cls

    def write(v: Any, depth: int) -> bytes:
        if not isinstance(v, cls):
            raise PayloadError(f"{_short(v)} is not a {cls.__name__}")
        return layout.write(v, depth + 1)

    return write


def _member_writer(number: int, shape: _Shape, resolve: Resolve) -> Callable[[List[bytes], Any, int], None]:
    if shape.kind == "map":
        return _map_writer(number, shape, resolve)
    item = shape.parts[0] if shape.kind in ("optional", "list") else shape
    wire, content = _content_writer(item, resolve)
    tag = _encode_varint(number << 3 | wire)

    def write_one(parts: List[bytes], v: Any, depth: int) -> None:
        encoded = content(v, depth)
        parts.append(tag)
        if wire == _BYTES:
            parts.append(_encode_varint(len(encoded)))
        parts.append(encoded)

    if shape.kind == "optional":
        return write_one
    if shape.kind == "list":
        return _list_writer(number, item, wire, content, write_one)
    empty = _FIXED[item.kind].pack(0) if item.kind in _FIXED else b"\x00" if wire == _VARINT else b""

    def write_if_not_zero(parts: List[bytes], v: Any, depth: int) -> None:
        encoded = content(v, depth)
        if encoded != empty:
            parts.append(tag)
            if wire == _BYTES:
                parts.append(_encode_varint(len(encoded)))
            parts.append(encoded)

    return write_if_not_zero


def _list_writer(
    number: int,
    item: _Shape,
    wire: int,
    content: Callable[[Any, int], bytes],
    write_one: Callable[[List[bytes], Any, int], None],
) -> Callable[[List[bytes], Any, int], None]:
    tag = _encode_varint(number << 3 | _BYTES)

    def write(parts: List[bytes], v: Any, depth: int) -> None:
        if isinstance(v, (str, bytes)):
            raise PayloadError(f"{_short(v)} is not a list")
        if wire != _BYTES:
            if item.kind in ("float", "double"):
                given = _plainly(_plain.numbers_of, v)
                with np.errstate(over="ignore"):
                    numbers = given.astype(_FIXED[item.kind].format)
                if (np.isinf(numbers) & np.isfinite(given)).any():
                    raise PayloadError(f"not all of {_short(v)} fit {item.kind}")
                packed = numbers.tobytes()
            else:
                items = _plainly(_plain.numbers_of, v) if isinstance(v, np.ndarray) else v
                packed = b"".join([content(i, depth) for i in items])
            if packed:
                parts += [tag, _encode_varint(len(packed)), packed]
            return
        for i, one in enumerate(v):
            try:
                write_one(parts, one, depth)
            except PayloadError as e:
                raise e.under(f"[{i}]") from None

    return write


def _map_writer(number: int, shape: _Shape, resolve: Resolve) -> Callable[[List[bytes], Any, int], None]:
    tag = _encode_varint(number << 3 | _BYTES)
    write_key = _member_writer(1, _Shape("optional", (shape.parts[0],)), resolve)
    write_value = _member_writer(2, _Shape("optional", (shape.parts[1],)), resolve)

    def write(parts: List[bytes], v: Any, depth: int) -> None:
        for key in sorted(v):
            entry: List[bytes] = []
            try:
                write_key(entry, key, depth)
                write_value(entry, v[key], depth + 1)
            except PayloadError as e:
                raise e.under(f'["{key}"]') from None
            content = b"".join(entry)
            parts += [tag, _encode_varint(len(content)), content]

    return write


# Casting


class Sender:
    """The type of who sent a payload: its full name, and the encoded FileDescriptorSet that it
    travels with (``engram type descriptors NAME -o FILE`` writes one)."""

    def __init__(self, name: str, descriptors: Buffer) -> None:
        self.name = name
        self._enums: Dict[str, _Enum] = {}
        self._layouts: Dict[str, _Layout] = {}
        self._messages: Dict[str, Dict[str, Any]] = {}
        self.layout: Optional[_Layout] = None  # None: it is a Value
        try:
            self._read_set(bytes(descriptors))
        except PayloadError as e:
            raise PayloadError(f"the descriptors are not a FileDescriptorSet: {e}") from None
        if name == "engram.idf.v1.Value":
            self.layout = _Layout(name, [], self._resolve, None)
            return
        if name not in self._messages:
            raise PayloadError(f"the descriptors do not declare {name}")
        found = self._resolve(name)
        assert isinstance(found, _Layout)
        self.layout = found

    def cast(self, data: Any, to: _Layout) -> Any:
        """An object of the class of ``to`` from a payload of this type."""
        assert self.layout is not None
        if self.name == "engram.idf.v1.Value":
            return _convert(_read_value(data, 0, len(data), 1), _Shape("." + to.name), to.resolve, 1)
        if to.checked.get(id(self)) is not self:
            _check_objects(self.layout, to, set())
            if len(to.checked) > 100:
                to.checked.clear()
            to.checked[id(self)] = self
        return _convert(self.layout.read(data, 0, len(data), 1), _Shape("." + to.name), to.resolve, 1)

    def _resolve(self, name: str) -> Union[_Layout, _Enum]:
        if name in self._enums:
            return self._enums[name]
        layout = self._layouts.get(name)
        if layout is None:
            if name not in self._messages:
                raise PayloadError(f"the descriptors do not declare {name}")
            members = [
                _Member(f["number"], f["name"], f["name"], self._field_shape(f), f["oneof"]) for f in self._messages[name]["fields"]
            ]
            layout = self._layouts[name] = _Layout(name, members, self._resolve, None)
        return layout

    def _read_set(self, data: bytes) -> None:
        for number, wire, start, end in _records(data, 0, len(data)):
            if number == 1 and wire == _BYTES:
                package, syntax = "", ""
                for n, w, a, b in _records(data, start, end):
                    if n == 2 and w == _BYTES:
                        package = _text(data, a, b)
                    elif n == 12 and w == _BYTES:
                        syntax = _text(data, a, b)
                for n, w, a, b in _records(data, start, end):
                    if n == 4 and w == _BYTES:
                        self._read_message(data, a, b, package, syntax, 1)
                    elif n == 5 and w == _BYTES:
                        self._read_enum(data, a, b, package)

    def _read_message(self, data: bytes, pos: int, end: int, scope: str, syntax: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise PayloadError(f"messages are nested over {MAX_DEPTH} deep")
        message: Dict[str, Any] = {"fields": [], "wrapper": 0, "map": False}
        name = next((_text(data, a, b) for n, w, a, b in _records(data, pos, end) if n == 1 and w == _BYTES), "")
        full = f"{scope}.{name}" if scope else name
        self._messages[full] = message
        for n, w, a, b in _records(data, pos, end):
            if w != _BYTES:
                continue
            if n == 2:
                message["fields"].append(_read_field(data, a, b, syntax))
            elif n == 3:
                self._read_message(data, a, b, full, syntax, depth + 1)
            elif n == 4:
                self._read_enum(data, a, b, full)
            elif n == 7:
                for option, _, value, _ in _records(data, a, b):
                    if option == 7:
                        message["map"] = bool(value)
                    elif option == 54100:
                        message["wrapper"] = value

    def _read_enum(self, data: bytes, pos: int, end: int, scope: str) -> None:
        name = ""
        keys: Dict[int, str] = {}
        for n, w, a, b in _records(data, pos, end):
            if n == 1 and w == _BYTES:
                name = _text(data, a, b)
            elif n == 2 and w == _BYTES:
                key, number, written = "", 0, ""
                for m, v, c, d in _records(data, a, b):
                    if m == 1 and v == _BYTES:
                        key = _text(data, c, d)
                    elif m == 2 and v == _VARINT:
                        number = _number_of("int32")(c)
                    elif m == 3 and v == _BYTES:
                        for option, o, e, f in _records(data, c, d):
                            if option == 54120 and o == _BYTES:
                                written = _text(data, e, f)
                keys.setdefault(number, written or key)
        full = f"{scope}.{name}" if scope else name
        self._enums[full] = _SenderEnum(full, keys)

    def _field_shape(self, f: Dict[str, Any]) -> _Shape:
        message = self._messages.get(f["type"]) if f["kind"] == "message" else None
        if f["label"] == 3:
            if message is not None and message["map"] and len(message["fields"]) == 2:
                key, value = sorted(message["fields"], key=lambda part: int(part["number"]))
                return _Shape("map", (self._value_shape(key, 0), self._value_shape(value, 0)))
            return _Shape("list", (self._value_shape(f, 0),))
        if f["presence"]:
            return _Shape("optional", (self._value_shape(f, 0),))
        return self._value_shape(f, 0)

    def _value_shape(self, f: Dict[str, Any], depth: int) -> _Shape:
        if f["kind"] not in ("message", "enum"):
            return _Shape(f["kind"])
        special = _SPECIAL_TYPES.get(f["type"])
        if special:
            return _Shape(special)
        message = self._messages.get(f["type"])
        if message is not None and message["wrapper"]:
            if depth > MAX_DEPTH:
                raise PayloadError(f"messages are nested over {MAX_DEPTH} deep")
            fields = message["fields"]
            regular = [part["number"] for part in fields] == list(range(1, len(fields) + 1))
            if regular and message["wrapper"] == 3:
                return _Shape("tuple", tuple(self._part_shape(part, depth + 1) for part in fields))
            if regular and len(fields) == 1:
                return self._part_shape(fields[0], depth + 1)
        return _Shape("." + f["type"])

    def _part_shape(self, f: Dict[str, Any], depth: int) -> _Shape:
        if depth > MAX_DEPTH:
            raise PayloadError(f"messages are nested over {MAX_DEPTH} deep")
        return self._field_shape(f)


class _SenderEnum(_Enum):
    def __init__(self, name: str, keys: Dict[int, str]) -> None:
        super().__init__(name, None, {})
        self.names = keys

    def make(self, number: int) -> Any:
        return _Key(number, self.names.get(number, ""))


_SPECIAL_TYPES = {
    "google.protobuf.Timestamp": "time", "google.protobuf.Duration": "duration", "engram.idf.v1.Link": "link",
    "engram.idf.v1.Matrix": "matrix", "engram.idf.v1.NDArray": "ndarray", "engram.idf.v1.Value": "value",
}  # fmt: skip
_FIELD_KINDS = (
    "", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group", "message",
    "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip


def _read_field(data: bytes, pos: int, end: int, syntax: str) -> Dict[str, Any]:
    f: Dict[str, Any] = {"name": "", "number": 0, "label": 1, "kind": "", "type": "", "oneof": "", "presence": syntax != "proto3"}
    for n, wire, a, b in _records(data, pos, end):
        if n == 1 and wire == _BYTES:
            f["name"] = _text(data, a, b)
        elif n == 6 and wire == _BYTES:
            f["type"] = _text(data, a, b).lstrip(".")
        elif n == 3 and wire == _VARINT:
            f["number"] = a
        elif n == 4 and wire == _VARINT:
            f["label"] = a
        elif n == 5 and wire == _VARINT:
            f["kind"] = _FIELD_KINDS[a] if a < len(_FIELD_KINDS) else ""
        elif n == 9 and wire == _VARINT:
            f["oneof"] = str(a)
        elif n == 17 and wire == _VARINT and a:
            f["optional"] = True
    f["presence"] = f["presence"] or bool(f["oneof"]) or f["kind"] == "message" or bool(f.get("optional"))
    if f["kind"] in ("", "group"):
        raise PayloadError(f"the member {f['name']} is of a kind that payloads have not")
    return f


_WORDS = {"link": "a link", "time": "a time", "duration": "a duration", "string": "a string", "bytes": "bytes", "bool": "a bool",
          "list": "a list", "map": "a dict", "tuple": "a tuple", "matrix": "a matrix", "ndarray": "an array"}  # fmt: skip


def _words(shape: _Shape) -> str:
    return _WORDS.get(shape.kind, shape.kind.lstrip("."))


def _is_number(kind: str) -> bool:
    return kind in _SCALARS and kind not in ("bool", "string", "bytes", "buffer")


def _check(a: _Shape, a_names: Resolve, b: _Shape, b_names: Resolve, seen: set[Tuple[str, str]]) -> None:
    """Refuses members of one name between which nothing can be cast, whether they are set or not."""
    if a.kind == "optional":
        return _check(a.parts[0], a_names, b.parts[0] if b.kind == "optional" else b, b_names, seen)
    if b.kind == "optional":
        return _check(a, a_names, b.parts[0], b_names, seen)
    if "value" in (a.kind, b.kind) or a.kind == b.kind and a.kind in _SPECIALS:
        return None
    if a.kind == b.kind and a.kind in ("list", "map"):
        if a.kind == "map" and a.parts[0].kind != b.parts[0].kind:
            raise PayloadError(f"a dict whose key is {_words(a.parts[0])} does not become one whose key is {_words(b.parts[0])}")
        return _check(a.parts[-1], a_names, b.parts[-1], b_names, seen)
    if a.kind == b.kind == "tuple" and len(a.parts) == len(b.parts):
        for i, (x, y) in enumerate(zip(a.parts, b.parts)):
            try:
                _check(x, a_names, y, b_names, seen)
            except PayloadError as e:
                raise e.under(f"[{i}]") from None
        return None
    if {a.kind, b.kind} == {"matrix", "ndarray"} or {a.kind, b.kind} == {"link", "string"} or {a.kind, b.kind} <= {"bytes", "buffer"}:
        return None
    from_named = a_names(a.kind[1:]) if a.kind.startswith(".") else None
    to_named = b_names(b.kind[1:]) if b.kind.startswith(".") else None
    if isinstance(from_named, _Layout) and isinstance(to_named, _Layout):
        return _check_objects(from_named, to_named, seen)
    simple_a = "enum" if isinstance(from_named, _Enum) else "number" if _is_number(a.kind) else a.kind
    simple_b = "enum" if isinstance(to_named, _Enum) else "number" if _is_number(b.kind) else b.kind
    if simple_a == simple_b and from_named is None and to_named is None or {simple_a, simple_b} <= {"enum", "number"}:
        return None
    if {simple_a, simple_b} == {"enum", "string"}:
        return None
    raise PayloadError(f"{_words(a)} does not become {_words(b)}")


def _check_objects(a: _Layout, b: _Layout, seen: set[Tuple[str, str]]) -> None:
    if (a.name, b.name) in seen:
        return
    seen.add((a.name, b.name))
    for m in b.members:
        f = a.by_name.get(m.name)
        if f is not None:
            try:
                _check(f.shape, a.resolve, m.shape, b.resolve, seen)
            except PayloadError as e:
                raise e.under(m.name) from None


def _convert(v: Any, to: _Shape, names: Resolve, depth: int) -> Any:
    """A sender's value as one of ours."""
    if depth > MAX_DEPTH:
        raise PayloadError(f"objects are nested over {MAX_DEPTH} deep")
    kind = to.kind
    if kind == "optional":
        return None if v is None else _convert(v, to.parts[0], names, depth)
    if kind == "value":
        return _as_value(v)
    if v is None:
        return _default(to, names) if kind not in ("list", "map") else ([] if kind == "list" else {})
    if kind == "list" and isinstance(v, list):
        return [_at(f"[{i}]", item, to.parts[0], names, depth) for i, item in enumerate(v)]
    if kind == "map" and isinstance(v, dict):
        return {k: _at(f'["{k}"]', item, to.parts[1], names, depth) for k, item in v.items()}
    if kind == "tuple" and isinstance(v, (tuple, list)) and len(v) == len(to.parts):
        return tuple(_at(f"[{i}]", item, to.parts[i], names, depth) for i, item in enumerate(v))
    if kind in ("matrix", "ndarray") and isinstance(v, np.ndarray):
        if kind == "matrix" and v.ndim != 2:
            raise PayloadError(f"an array of {v.ndim} dimensions is not a matrix")
        return v
    if kind.startswith("."):
        return _convert_named(v, names(kind[1:]), depth)
    if kind in _SCALARS:
        return _convert_scalar(v, kind)
    if kind == "link" and isinstance(v, str):
        return Link(v)
    if kind == "time" and isinstance(v, Time) or kind == "duration" and isinstance(v, Duration):
        return v
    raise PayloadError(f"{_short(v)} does not become {_words(to)}")


def _at(place: str, v: Any, to: _Shape, names: Resolve, depth: int) -> Any:
    try:
        return _convert(v, to, names, depth + 1)
    except PayloadError as e:
        raise e.under(place) from None


def _convert_named(v: Any, to: Union[_Layout, _Enum], depth: int) -> Any:
    if isinstance(to, _Layout):
        if not isinstance(v, dict):
            raise PayloadError(f"{_short(v)} does not become {to.name}")
        fixed, fresh = to.defaults
        values = fixed.copy()
        for attribute, make in fresh:
            values[attribute] = make()
        for m in to.members:
            if v.get(m.name) is not None:
                values[m.attribute] = _at(m.name, v[m.name], m.shape, to.resolve, depth)
        assert to.cls is not None
        made = to.cls.__new__(to.cls)
        made.__dict__ = values
        return made
    number = v
    if isinstance(v, _Key):
        number = to.keys.get(v.key) if v.key else v.number
    elif isinstance(v, str):
        number = to.keys.get(v)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise PayloadError(f"{to.name} has no value {v.key if isinstance(v, _Key) else _short(v)}")
    return to.make(_check_integer("int32", number))


def _convert_scalar(v: Any, kind: str) -> Any:
    if isinstance(v, _Key):
        v = (v.key or str(v.number)) if kind == "string" else v.number
    if kind == "string" and isinstance(v, str):
        return str(v)
    if kind in ("bytes", "buffer") and isinstance(v, (bytes, memoryview)):
        return v if kind == "buffer" else bytes(v)
    if kind == "bool" and isinstance(v, bool):
        return v
    if isinstance(v, (bool, Time, Duration)) or not isinstance(v, (int, float, np.number)) or not _is_number(kind):
        raise PayloadError(f"{_short(v)} does not become {_words(_Shape(kind))}")
    if kind == "double":
        number = float(v)
        if isinstance(v, int) and int(number) != v:
            raise PayloadError(f"the number {v} does not fit {kind}")
        return number
    if kind == "float":
        with np.errstate(over="ignore"):
            number = float(np.float32(v))
        if math.isinf(number) and not math.isinf(v) or isinstance(v, int) and int(number) != v:
            raise PayloadError(f"the number {v} does not fit {kind}")
        return number
    if isinstance(v, (float, np.floating)):
        if not float(v).is_integer():
            raise PayloadError(f"the number {v} does not fit {kind}")
        v = int(v)
    return _check_integer(kind, v)


def _as_value(v: Any) -> Value:
    if isinstance(v, _Key):
        return v.key or v.number
    if isinstance(v, (list, tuple)):
        return [_as_value(i) for i in v]
    if isinstance(v, dict):
        return {str(k): _as_value(i) for k, i in v.items() if i is not None}
    return v


# The special types that have classes


@dataclasses.dataclass(eq=False)
class Vector3(Payload):
    """A vector or position, m: foxglove.Vector3."""

    TYPE: ClassVar[str] = "foxglove.Vector3"

    x: float = member(1, "double", unit="m")
    y: float = member(2, "double", unit="m")
    z: float = member(3, "double", unit="m")

    @classmethod
    def of(cls, array: Any) -> Vector3:
        x, y, z = _plain.numbers_of(array).tolist()
        return cls(x, y, z)

    def array(self) -> npt.NDArray[np.float64]:
        return np.array((self.x, self.y, self.z))


@dataclasses.dataclass(eq=False)
class Quaternion(Payload):
    """A rotation: foxglove.Quaternion. One that was not written is all zeros, not the identity."""

    TYPE: ClassVar[str] = "foxglove.Quaternion"

    x: float = member(1, "double")
    y: float = member(2, "double")
    z: float = member(3, "double")
    w: float = member(4, "double")

    @classmethod
    def identity(cls) -> Quaternion:
        return cls(0.0, 0.0, 0.0, 1.0)

    @classmethod
    def of_matrix(cls, matrix: Any) -> Quaternion:
        """The rotation of a 3x3 rotation matrix. ValueError if it is none."""
        m = _plain.rotation_of(matrix)
        # The greatest of the four is found first, so that nothing small is divided by.
        squares = np.array([1 + m[0, 0] - m[1, 1] - m[2, 2], 1 - m[0, 0] + m[1, 1] - m[2, 2], 1 - m[0, 0] - m[1, 1] + m[2, 2], 1 + np.trace(m)])
        i = int(np.argmax(squares))
        rows = (
            (squares[0], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[2, 1] - m[1, 2]),
            (m[0, 1] + m[1, 0], squares[1], m[1, 2] + m[2, 1], m[0, 2] - m[2, 0]),
            (m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], squares[2], m[1, 0] - m[0, 1]),
            (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], squares[3]),
        )
        q = np.array(rows[i]) / (2 * math.sqrt(squares[i]))
        return cls(*(float(v) for v in q))

    def array(self) -> npt.NDArray[np.float64]:
        """x, y, z, w."""
        return np.array((self.x, self.y, self.z, self.w))

    def matrix(self) -> npt.NDArray[np.float64]:
        """As a 3x3 matrix. ValueError if it is all zeros."""
        norm = math.hypot(self.x, self.y, self.z, self.w)
        if norm == 0:
            raise ValueError("the quaternion is all zeros, which is no rotation")
        x, y, z, w = self.x / norm, self.y / norm, self.z / norm, self.w / norm
        return np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip


@dataclasses.dataclass(eq=False)
class Pose(Payload):
    """Position, m, and orientation of something in a frame: foxglove.Pose."""

    TYPE: ClassVar[str] = "foxglove.Pose"

    position: Optional[Vector3] = member(1, "optional<.foxglove.Vector3>", unit="m")
    orientation: Optional[Quaternion] = member(2, "optional<.foxglove.Quaternion>")

    @classmethod
    def identity(cls) -> Pose:
        return cls(Vector3(), Quaternion.identity())

    @classmethod
    def of_matrix(cls, matrix: Any) -> Pose:
        """The pose of a homogeneous 4x4 matrix. ValueError if it is none."""
        translation, rotation = _plain.rigid(matrix)
        return cls(Vector3.of(translation), Quaternion.of_matrix(rotation))

    def matrix(self) -> npt.NDArray[np.float64]:
        """As a homogeneous 4x4 matrix; what is unset is zero or the identity."""
        m = np.eye(4)
        if self.orientation is not None:
            m[:3, :3] = self.orientation.matrix()
        if self.position is not None:
            m[:3, 3] = self.position.array()
        return m

    def inverse(self) -> Pose:
        return Pose.of_matrix(np.linalg.inv(self.matrix()))

    def __matmul__(self, other: Pose) -> Pose:
        """``a @ b`` is the pose b, given in the frame a, in the frame that a is given in."""
        return Pose.of_matrix(self.matrix() @ other.matrix())


_ENCODINGS = {
    "rgb8": ("u1", 3), "bgr8": ("u1", 3), "rgba8": ("u1", 4), "bgra8": ("u1", 4), "mono8": ("u1", 1), "8UC1": ("u1", 1),
    "8UC2": ("u1", 2), "8UC3": ("u1", 3), "8UC4": ("u1", 4), "mono16": ("<u2", 1), "16UC1": ("<u2", 1), "32FC1": ("<f4", 1),
}  # fmt: skip


@dataclasses.dataclass(kw_only=True, eq=False)
class Image(Payload):
    """An image: foxglove.RawImage. ``array`` gives its pixels."""

    TYPE: ClassVar[str] = "foxglove.RawImage"

    timestamp: Optional[Time] = member(1, "optional<time>")
    frame_id: str = member(7, "string")
    width: int = member(2, "fixed32", unit="px")
    height: int = member(3, "fixed32", unit="px")
    encoding: str = member(4, "string")
    """Such as "rgb8", "mono16" or "32FC1"."""
    step: int = member(5, "fixed32", unit="bytes")
    """Bytes from one row to the next."""
    data: Union[bytes, memoryview, npt.NDArray[np.uint8]] = member(6, "buffer")

    @classmethod
    def of(cls, pixels: Array, encoding: str, *, timestamp: Optional[Time] = None, frame_id: str = "") -> Image:
        """The image of pixels, height x width or height x width x channels, as its encoding says."""
        dtype, channels = _encoding(encoding)
        a = np.ascontiguousarray(_plain.array_of(pixels))
        if a.dtype != dtype or a.ndim not in (2, 3) or (a.shape[2] if a.ndim == 3 else 1) != channels:
            raise ValueError(f"pixels of shape {a.shape} and {a.dtype} are not {encoding}: {channels} channels of {dtype}")
        step = a.shape[1] * channels * a.dtype.itemsize
        data = a.astype(dtype, copy=False).reshape(-1).view(np.uint8)
        return cls(timestamp=timestamp, frame_id=frame_id, width=a.shape[1], height=a.shape[0], encoding=encoding, step=step, data=data)

    def array(self) -> Array:
        """The pixels as a view: height x width, with a third dimension where there are channels."""
        dtype, channels = _encoding(self.encoding)
        row = self.width * channels * dtype.itemsize
        raw = np.frombuffer(self.data, np.uint8) if len(self.data) else np.zeros(0, np.uint8)
        if self.step < row or raw.size < self.step * self.height:
            raise ValueError(f"{raw.size} bytes do not hold {self.width} x {self.height} pixels of {self.encoding} in rows of {self.step}")
        rows = raw[: self.step * self.height].reshape(self.height, self.step)[:, :row]
        pixels = rows.view(dtype) if rows.size else np.zeros((self.height, self.width * channels), dtype)
        return pixels.reshape(self.height, self.width, channels) if channels > 1 else pixels


def _encoding(name: str) -> Tuple[np.dtype[Any], int]:
    if name not in _ENCODINGS:
        raise ValueError(f"the image encoding {name!r} has no array; there are {', '.join(_ENCODINGS)}")
    form, channels = _ENCODINGS[name]
    return np.dtype(form), channels


class NumericType(Enumeration, type="foxglove.PackedElementField.NumericType"):
    """The element type of a field of a point cloud."""

    UNKNOWN = 0
    UINT8 = 1
    INT8 = 2
    UINT16 = 3
    INT16 = 4
    UINT32 = 5
    INT32 = 6
    FLOAT32 = 7
    FLOAT64 = 8


_NUMERIC = ("V1", "u1", "i1", "<u2", "<i2", "<u4", "<i4", "<f4", "<f8")


@dataclasses.dataclass(kw_only=True, eq=False)
class PackedElementField(Payload):
    """A field of the points of a cloud."""

    TYPE: ClassVar[str] = "foxglove.PackedElementField"

    name: str = member(1, "string")
    offset: int = member(2, "fixed32", unit="bytes")
    type: NumericType = member(3, ".foxglove.PackedElementField.NumericType")


@dataclasses.dataclass(kw_only=True, eq=False)
class PointCloud(Payload):
    """Points with their fields: foxglove.PointCloud. ``array`` gives the points."""

    TYPE: ClassVar[str] = "foxglove.PointCloud"

    timestamp: Optional[Time] = member(1, "optional<time>")
    frame_id: str = member(2, "string")
    pose: Optional[Pose] = member(3, "optional<.foxglove.Pose>")
    point_stride: int = member(4, "fixed32", unit="bytes")
    """Bytes from one point to the next."""
    fields: List[PackedElementField] = member(5, "list<.foxglove.PackedElementField>")
    data: Union[bytes, memoryview, npt.NDArray[np.uint8]] = member(6, "buffer")

    def array(self) -> Array:
        """The points as a structured view: ``cloud.array()["x"]``."""
        fields = [f for f in self.fields if 0 < f.type < len(_NUMERIC)]
        dtype = np.dtype({
            "names": [f.name for f in fields], "formats": [_NUMERIC[f.type] for f in fields],
            "offsets": [f.offset for f in fields], "itemsize": self.point_stride,
        })  # fmt: skip
        if dtype.itemsize == 0 or len(self.data) % dtype.itemsize:
            raise ValueError(f"{len(self.data)} bytes are not whole points of {self.point_stride}")
        return np.frombuffer(self.data, dtype) if len(self.data) else np.zeros(0, dtype)
