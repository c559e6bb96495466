"""Python to payloads: dicts, records and objects by a type's members."""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Callable, Optional

import numpy as np

from . import idf
from ._decode import DTYPES
from ._plain import array_of, dense, numbers_of, rigid, rotation_of
from ._wire import field, seconds, varint, zigzag
from .errors import Invalid, OutOfRange
from .times import Duration, Time, parse_span, parse_time
from .values import Record

_FIXED = {idf.DOUBLE: ("<d", "<f8"), idf.FLOAT: ("<f", "<f4"), idf.FIXED64: ("<Q", "<u8"), idf.FIXED32: ("<I", "<u4"),
          idf.SFIXED64: ("<q", "<i8"), idf.SFIXED32: ("<i", "<i4")}
_BOUNDS = {idf.INT32: (-1 << 31, 1 << 31), idf.SINT32: (-1 << 31, 1 << 31), idf.UINT32: (0, 1 << 32),
           idf.INT64: (-1 << 63, 1 << 63), idf.SINT64: (-1 << 63, 1 << 63), idf.UINT64: (0, 1 << 64)}
_DTYPE_NUMBERS = {np.dtype(code): i for i, code in enumerate(DTYPES) if code}


def encode(t: idf.Type, value: Any, path: str = "") -> bytes:
    """Encodes a value as a payload. Invalid and OutOfRange name the member."""
    special = _SPECIAL.get(t.name)
    if special is not None:
        return special(value, path)
    if t.wrapper:
        value = _wrap(t, value, path)
    get = _getter(t, value, path)
    out: list[bytes] = []
    chosen: dict[int, str] = {}
    for m in t.members:
        member = get(m.name)
        if member is not None:
            if m.oneof >= 0 and chosen.setdefault(m.oneof, m.name) != m.name:
                raise Invalid(f"{path}.{m.name}" if path else m.name, f"{t.name} has either it or {chosen[m.oneof]}, not both")
            _member(out, m, member, f"{path}.{m.name}" if path else m.name)
    return b"".join(out)


def _wrap(t: idf.Type, value: Any, path: str) -> Mapping[str, Any]:
    if t.wrapper == idf.WRAPPER_TUPLE:
        if not isinstance(value, (list, tuple, np.ndarray)):
            raise Invalid(path, f"a tuple of {len(t.members)} is wanted, not {value!r:.60}")
        if len(value) != len(t.members):
            raise Invalid(path, f"a tuple of {len(t.members)} is wanted, not of {len(value)}")
        return {f"item{i}": v for i, v in enumerate(value)}
    return {"item" if t.wrapper == idf.WRAPPER_OPTIONAL else "items": value}


def _getter(t: idf.Type, value: Any, path: str) -> Callable[[str], Any]:
    if isinstance(value, Mapping):
        if not value.keys() <= {m.name for m in t.members}:
            names = [m.name for m in t.members]
            wrong = next(k for k in value if k not in names)
            raise Invalid(f"{path}.{wrong}" if path else str(wrong), f"{t.name} has no such member{idf.nearest(str(wrong), names)}")
        return value.get
    if isinstance(value, (str, bytes, int, float)):
        raise Invalid(path or t.name, f"a dict with members of {t.name} is wanted, not {value!r:.60}")
    if t.name in _BY_ORDER and isinstance(value, (list, tuple, np.ndarray)):
        order = _BY_ORDER[t.name]
        if len(_told(path, numbers_of, value)) != len(order):
            raise Invalid(path, f"{', '.join(order)} are wanted, not {len(value)} numbers")
        return dict(zip(order, value)).get
    if t.name == "foxglove.Pose":
        matrix = getattr(value, "matrix", value)  # of a Transform
        if isinstance(matrix, (list, tuple, np.ndarray)):
            translation, rotation = _told(path or t.name, rigid, matrix)
            return {"position": translation, "orientation": quaternion_of(rotation, path)}.get
    if isinstance(value, (list, tuple, set, np.ndarray)) or not any(hasattr(value, m.name) for m in t.members):
        way = _WAYS.get(t.name, "")
        said = f"an array of shape {' x '.join(map(str, value.shape))}; engram.image makes an image of one" if isinstance(value, np.ndarray) else f"{value!r:.60}"
        raise Invalid(path or t.name, f"{way}a dict with members of {t.name} is wanted, not {said}")
    return lambda name: getattr(value, name, None)


_WAYS = {"foxglove.RawImage": "engram.image(array), or "}


def _told(path: str, convert: Callable[..., Any], *args: Any) -> Any:
    """Converts a member; its error names the member."""
    try:
        return convert(*args)
    except ValueError as e:
        raise Invalid(path, str(e)) from None


_BY_ORDER = {"foxglove.Vector3": ("x", "y", "z"), "foxglove.Quaternion": ("x", "y", "z", "w")}


def quaternion_of(matrix: Any, path: str = "pose") -> tuple[float, float, float, float]:
    """Returns the quaternion x, y, z, w of the rotation in a matrix of 3x3 or 4x4. Invalid if there is none in it."""
    m = _told(path, rotation_of, matrix)
    k = np.array([
        [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
        [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
        [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0],
        [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]]]) / 3
    q = np.linalg.eigh(k)[1][:, -1]
    x, y, z, w = (q if q[3] >= 0 else -q).tolist()
    return x, y, z, w


def _member(out: list[bytes], m: idf.Member, value: Any, path: str) -> None:
    if m.map:
        assert m.type is not None
        if not isinstance(value, Mapping):
            raise Invalid(path, f"a dict is wanted, not {type(value).__name__}")
        for k in value:
            _delimited(out, m.number, encode(m.type, {"key": k, "value": value[k]}, path))
    elif not m.repeated:
        _single(out, m, value, path)
    elif m.kind in _FIXED or m.kind in _BOUNDS or m.kind in (idf.BOOL, idf.ENUM):
        _numbers(out, m, value, path)
    else:
        for i, v in enumerate(_items(value, path)):
            _single(out, m, v, f"{path}[{i}]", True)


def _items(value: Any, path: str) -> Any:
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise Invalid(path, f"a list is wanted, not {type(value).__name__}")
    return value


def _numbers(out: list[bytes], m: idf.Member, value: Any, path: str) -> None:
    if m.kind in _FIXED:
        dtype = np.dtype(_FIXED[m.kind][1])
        given = _told(path, numbers_of, value, dtype.kind in "iu")
        if m.kind == idf.FLOAT:
            with np.errstate(over="ignore"):
                numbers = given.astype(dtype, copy=False)
            lost = (np.isinf(numbers) & np.isfinite(given)).any()
        else:
            numbers = given.astype(dtype, copy=False)
            lost = dtype.kind in "iu" and not np.array_equal(numbers, given)
        if lost:
            raise OutOfRange(path, f"not all of {value!r:.60} are {idf.KINDS[m.kind]}")
        value, data = numbers, numbers.tobytes()
    else:
        if isinstance(value, np.ndarray):
            value = _told(path, numbers_of, value, True) if value.dtype.kind in "biuf" else value
        data = b"".join(varint(_number(m, v, f"{path}[{i}]")) for i, v in enumerate(_items(value, path)))
    if not data:
        return
    if m.packed:
        _delimited(out, m.number, data)
        return
    for i, v in enumerate(value):
        _single(out, m, v, f"{path}[{i}]", True)


def _number(m: idf.Member, value: Any, path: str) -> int:
    if m.kind == idf.BOOL:
        if not isinstance(value, (bool, np.bool_, int, float, np.number)):
            raise Invalid(path, f"a bool is wanted, not {value!r:.60}")
        return int(bool(value))
    if m.kind == idf.ENUM and m.enum:
        key = getattr(value, "number", value)
        if isinstance(key, str):
            return m.enum.number_of(key, path)
        value = key
    try:
        n = value.__index__()
    except (AttributeError, TypeError):
        raise Invalid(path, f"a whole number is wanted, not {value!r:.60}") from None
    if m.kind == idf.ENUM:
        return int(n)
    low, high = _BOUNDS[m.kind]
    if not low <= n < high:
        raise OutOfRange(path, f"{n} is no {idf.KINDS[m.kind]}")
    return zigzag(n) if m.kind in (idf.SINT32, idf.SINT64) else int(n)


def _single(out: list[bytes], m: idf.Member, value: Any, path: str, keep: bool = False) -> None:
    """Writes one value; one that is the default only if its presence counts."""
    keep = keep or m.optional
    if m.kind in _FIXED:
        code = _FIXED[m.kind][0]
        if isinstance(value, np.ndarray):
            value = _told(path, array_of, value)[()]  # a masked one is NaN
        try:
            data = struct.pack(code, value if not isinstance(value, np.ndarray) else None)
        except (struct.error, TypeError, OverflowError):
            kind = OutOfRange if isinstance(value, (int, float, np.number)) and (hasattr(value, "__index__") or m.kind == idf.FLOAT) else Invalid
            raise kind(path, f"a {idf.KINDS[m.kind]} is wanted, not {value!r:.60}") from None
        if keep or any(data):
            out.append(varint(m.number << 3 | (1 if len(data) == 8 else 5)))
            out.append(data)
    elif m.kind in _BOUNDS or m.kind in (idf.BOOL, idf.ENUM):
        n = _number(m, value, path)
        if keep or n:
            out.append(varint(m.number << 3))
            out.append(varint(n))
    elif m.kind == idf.MESSAGE:
        assert m.type is not None
        _delimited(out, m.number, encode(m.type, value, path))
    elif m.kind == idf.STRING:
        if not isinstance(value, str):
            raise Invalid(path, f"a text is wanted, not {value!r:.60}")
        if keep or value:
            _delimited(out, m.number, _utf8(value, path))
    else:
        try:
            found: Any = value if type(value) is bytes else _bytes(value, path) if isinstance(value, np.ndarray) else memoryview(value).cast("B")
        except TypeError:
            raise Invalid(path, f"bytes are wanted, not {type(value).__name__}") from None
        if keep or found:
            _delimited(out, m.number, found)


def _bytes(value: Any, path: str) -> bytes:
    a = _told(path, array_of, value)
    if a.dtype.hasobject:
        raise Invalid(path, f"bytes are wanted, not an array of {a.dtype}")
    return bytes(a.tobytes())


def _delimited(out: list[Any], number: int, data: Any) -> None:
    out.append(varint(number << 3 | 2))
    out.append(varint(len(data)))
    out.append(data)


def _timestamp(value: Any, path: str) -> bytes:
    try:
        return seconds(parse_time(value), False)
    except (Invalid, OutOfRange) as e:
        raise type(e)(path, str(e)) from None


def _duration(value: Any, path: str) -> bytes:
    try:
        return seconds(parse_span(value), True)
    except (Invalid, OutOfRange) as e:
        raise type(e)(path, str(e)) from None


def _utf8(text: str, path: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Invalid(path, "the text holds half of a surrogate pair, which is no character") from None


def _link(value: Any, path: str) -> bytes:
    text = getattr(value, "id", value)  # a snapshot, an instance, or an ID
    if not isinstance(text, str):
        raise Invalid(path, f"a link is an ID, or what has one, not {value!r:.60}")
    return field(1, _utf8(text, path)) if text else b""


def _dense(value: Any, path: str) -> tuple[Any, int]:
    a = _told(path, dense, value)
    little = a.dtype.newbyteorder("<") if a.dtype.byteorder == ">" else a.dtype
    if little == np.bool_:
        little = np.dtype("u1")
    number = _DTYPE_NUMBERS.get(little)
    if number is None:
        raise Invalid(path, f"an array of numbers is wanted, not of {a.dtype}")
    return np.ascontiguousarray(a, little), number


def _matrix(value: Any, path: str) -> bytes:
    a, dtype = _dense(value, path)
    if a.ndim != 2:
        raise Invalid(path, f"a matrix has two dimensions, not {a.ndim}")
    data = a.tobytes()
    return b"\x08" + varint(a.shape[0]) + b"\x10" + varint(a.shape[1]) + b"\x18" + varint(dtype) + field(4, data)


def _ndarray(value: Any, path: str) -> bytes:
    a, dtype = _dense(value, path)
    return field(1, b"".join(varint(n) for n in a.shape)) + b"\x10" + varint(dtype) + field(3, a.tobytes())


def _list(value: Any, path: str) -> bytes:
    return b"".join(field(1, _value(v, f"{path}[{i}]")) for i, v in enumerate(_items(value, path)))


def _dict(value: Any, path: str) -> bytes:
    if not isinstance(value, Mapping):
        raise Invalid(path, f"a dict is wanted, not {type(value).__name__}")
    keys: dict[str, Any] = {}
    for k in value:
        if keys.setdefault(str(k), k) is not k:
            raise Invalid(path, f"the keys {keys[str(k)]!r} and {k!r} are one text")
    return b"".join(field(1, field(1, _utf8(str(k), path)) + field(2, _value(v, f"{path}.{k}" if path else str(k)))) for k, v in value.items())


def _value(value: Any, path: str) -> bytes:
    """Encodes any datum as engram.idf.v1.Value."""
    from .ids import ID

    if value is None:
        return b""
    if isinstance(value, (bool, np.bool_)):
        return b"\x08" + varint(int(value))
    kind = type(value).__name__  # generated classes have times and links of their own
    if isinstance(value, (Time, datetime, np.datetime64)) or kind == "Time":
        return field(7, _timestamp(value, path))
    if isinstance(value, (Duration, timedelta, np.timedelta64)) or kind == "Duration":
        return field(8, _duration(value, path))
    if isinstance(value, (int, np.integer)):
        n = int(value)
        if not -1 << 63 <= n < 1 << 64:
            raise OutOfRange(path, f"{n} does not fit into 64 bits")
        return b"\x18" + varint(zigzag(n)) if n < 1 << 63 else b"\x68" + varint(n)
    if isinstance(value, (float, np.floating)):
        return b"\x29" + struct.pack("<d", value)
    if isinstance(value, ID) or kind == "Link" or hasattr(value, "id") and isinstance(value.id, ID):
        return field(12, _link(value, path))
    if isinstance(value, str):
        return field(6, _utf8(value, path))
    if isinstance(value, Mapping):
        return field(11, _dict(value, path))
    if isinstance(value, np.ndarray):
        return field(9, _ndarray(value, path)) if value.ndim else _value(_told(path, array_of, value)[()], path)
    if isinstance(value, (list, tuple)):
        return field(10, _list(value, path))
    if hasattr(value, "__dataclass_fields__"):
        return field(11, _dict({k: getattr(value, k) for k in value.__dataclass_fields__}, path))
    raise Invalid(path, f"{type(value).__name__} is nothing that a payload can hold{_instead(value)}")


def _instead(value: Any) -> str:
    """Says what to write in the place of a value."""
    if isinstance(value, enum.Enum):
        return "; write its value or its name"
    if isinstance(value, (set, frozenset)):
        return "; write sorted(…), a list"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "; write np.frombuffer(…, np.uint8)"
    if hasattr(value, "to_numpy"):
        return "; write its to_numpy()"
    if hasattr(value, "__float__"):
        return "; write float(…), or str(…)"
    if hasattr(value, "__fspath__"):
        return "; write str(…)"
    return "; write a dict, a list, an array, a text or a number"


_SPECIAL: dict[str, Callable[[Any, str], bytes]] = {
    "google.protobuf.Timestamp": _timestamp, "google.protobuf.Duration": _duration, "engram.idf.v1.Link": _link,
    "engram.idf.v1.Matrix": _matrix, "engram.idf.v1.NDArray": _ndarray, "engram.idf.v1.List": _list,
    "engram.idf.v1.Dict": _dict, "engram.idf.v1.Value": _value}


def payload_of(value: Any, type_name: Optional[str], types: idf.Registry, segment_type: Callable[[], str]) -> tuple[str, bytes]:
    """Returns a payload's type and bytes: of bytes, an object of a generated class, a message of
    protobuf, or members by name."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return type_name or segment_type(), bytes(value)
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is not None and hasattr(value, "SerializeToString"):
        return type_name or str(descriptor.full_name), bytes(value.SerializeToString())
    generated = getattr(type(value), "TYPE", None)
    if isinstance(generated, str) and hasattr(value, "to_payload") and not isinstance(value, Record):
        return type_name or generated, bytes(value.to_payload())
    name = type_name or _named(value) or segment_type()
    try:
        return name, encode(types.get(name), value)
    except RecursionError:
        raise Invalid(name, "the value is nested too deep, or contains itself") from None


def _named(value: Any) -> str:
    from .values import CompressedImage, Image, PointCloud

    for of, name in ((Image, "foxglove.RawImage"), (CompressedImage, "foxglove.CompressedImage"), (PointCloud, "foxglove.PointCloud")):
        if isinstance(value, of):
            return name
    return ""
