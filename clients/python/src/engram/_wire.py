"""The wire form of protobuf: numbers and lengths. No messages."""

from __future__ import annotations

from typing import Any, Iterator, Union

from .errors import Corrupt

Buffer = Union[bytes, bytearray, memoryview]

_MASK64 = (1 << 64) - 1


def read_varint(buf: Buffer, pos: int) -> tuple[int, int]:
    """Reads a number, and returns it with the place behind it."""
    b = buf[pos]
    if b < 0x80:
        return b, pos + 1
    value, shift = b & 0x7F, 7
    while True:
        pos += 1
        b = buf[pos]
        value |= (b & 0x7F) << shift
        if b < 0x80:
            return value & _MASK64, pos + 1
        shift += 7
        if shift >= 70:
            raise Corrupt("payload", "a number has more than ten bytes")


def varint(value: int) -> bytes:
    """Writes a number; a negative one takes ten bytes."""
    value &= _MASK64
    if value < 0x80:
        return _SMALL[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL = [bytes([i]) for i in range(0x80)]


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else ~(value << 1)


def unzigzag(value: int) -> int:
    return value >> 1 if not value & 1 else ~(value >> 1)


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def field(number: int, data: bytes) -> bytes:
    """Writes a member that has a length."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def seconds(ns: int, duration: bool) -> bytes:
    """Writes a Timestamp, or a Duration, of which seconds and nanoseconds have one sign."""
    whole, rest = divmod(ns, 1_000_000_000)
    if duration and ns < 0 and rest:
        whole, rest = whole + 1, rest - 1_000_000_000
    return (b"\x08" + varint(whole) if whole else b"") + (b"\x10" + varint(rest) if rest else b"")


def skip(buf: Buffer, pos: int, tag: int, end: int) -> int:
    """Returns the place behind a member's value, after its tag."""
    kind = tag & 7
    if kind == 0:
        while buf[pos] >= 0x80:
            pos += 1
        pos += 1
    elif kind == 1:
        pos += 8
    elif kind == 2:
        n, pos = read_varint(buf, pos)
        pos += n
    elif kind == 5:
        pos += 4
    elif kind == 3:
        while True:
            inner, pos = read_varint(buf, pos)
            if inner & 7 == 4:
                break
            pos = skip(buf, pos, inner, end)
    else:
        raise Corrupt("payload", f"there is no wire type {kind}")
    if pos > end:
        raise Corrupt("payload", "it is cut off")
    return pos


def members(buf: Buffer) -> Iterator[tuple[int, Any]]:
    """Yields the number and value of each member: an int, or the bytes of what has a length."""
    pos, end = 0, len(buf)
    while pos < end:
        tag, pos = read_varint(buf, pos)
        if tag & 7 == 0:
            value, pos = read_varint(buf, pos)
            yield tag >> 3, value
        elif tag & 7 == 2:
            n, pos = read_varint(buf, pos)
            yield tag >> 3, bytes(buf[pos:pos + n])
            pos += n
        else:
            at = pos
            pos = skip(buf, pos, tag, end)
            yield tag >> 3, bytes(buf[at:pos])
