"""Decodes the codecs ``columns`` and ``zstd`` of the long-term memory, as docs/formats/codecs.md has them.

A column is the encoded values of a member, one for each time that it may occur; where all are the same it is that one value. So
payloads are put together column by column, and what does not change costs nothing.
"""

from __future__ import annotations

import itertools
from typing import Any, Iterable, Iterator, Optional, Union

import numpy as np
from google.protobuf.message import DecodeError

from . import _vector
from ._schema import message
from ._vector import Array, as_list, corrupt
from ._wire import Buffer, seconds, varint, zigzag
from .errors import Unsupported

COLUMNS = "engram.ltm.v1.Columns"
COMPRESSED = "engram.ltm.v1.Compressed"

Column = Union[bytes, list[bytes]]

_MAX_VALUES = 1 << 23  # of a message
_MAX_NODES, _MAX_FIELDS, _MAX_DEPTH, _MAX_LIST = 4 * 4096, 2 * 4096, 100, 128
_MESSAGE, _VARINT, _ZIGZAG, _FIXED32, _FIXED64, _FLOAT, _DOUBLE, _TEXT, _TIME, _DURATION = range(10)
_WIRE = (2, 0, 0, 5, 1, 5, 1, 2, 2, 2)
_LEAST = (1, 1, 1, 4, 8, 4, 8, 1, 1, 1)  # bytes of a value
_UNLESS_ZERO, _MAYBE, _LIST, _PACKED = range(4)


class Columns:
    """A message of codec ``columns``: the payloads of several snapshots. Damaged ones are Corrupt, those of a later version Unsupported.

    ``bytes`` is what its payloads have together, at most 64 MiB; ``plain`` is a payload as it is, of which the message has no other.
    """

    def __init__(self, data: Buffer) -> None:
        try:
            self._body = message(COLUMNS).FromString(bytes(data))
        except DecodeError:
            raise corrupt("it is no message of columns") from None
        self.bytes: int = self._body.bytes
        self.plain: Optional[bytes] = self._body.plain if self._body.version == 2 else None
        if self._body.version not in (1, 2):
            raise Unsupported(COLUMNS, f"layout {self._body.version} is not known; a newer version of Engram wrote it")
        if self.bytes > _vector.MAX_PLAIN:
            raise corrupt(f"{self.bytes} bytes of payloads; at most {_vector.MAX_PLAIN} are read")

    def payloads(self, times: list[int], members: Optional[set[int]] = None) -> list[bytes]:
        """Returns the payloads. ``times`` are those of their snapshots, one for each payload.

        With ``members`` they have at least the members of these numbers, and no columns of others are decoded. The work is bounded by
        the 8,388,608 values that a message may have.
        """
        if self._body.payloads != len(times):
            raise corrupt(f"{self._body.payloads} payloads stand for {len(times)}")
        return _Tree(self._body).payloads(np.array(times, np.int64), members)


def decompressed(data: Buffer, dictionary: bytes) -> bytes:
    """Returns the payload that a message of codec ``zstd`` holds, at most 64 MiB."""
    try:
        body = message(COMPRESSED).FromString(bytes(data))
    except DecodeError:
        raise corrupt("it is no compressed message") from None
    return bytes(_vector.unpack(body.frame, dictionary=dictionary) if body.frame else body.plain)


class _Tree:
    """Reads the members of payloads and puts these together."""

    def __init__(self, body: Any) -> None:
        plain = _vector.unpack(body.structure)
        length, pos = _vector.uvarint(plain, 0)
        if length > len(plain) - pos:
            raise corrupt("the structure is cut")
        self._structure, self._pos = plain[pos:pos + length], 0
        self._vectors = _vector.Reader(plain[pos + length:], body.data)
        self._left = body.bytes  # of the payloads
        self._nodes = self._values = 0

    def payloads(self, times: Array, members: Optional[set[int]]) -> list[bytes]:
        n = len(times)
        roots = self._uvarint()
        self._room(n)
        which = self._vectors.ints(n)
        which = np.full(n, which) if isinstance(which, int) else which
        if roots > n or n and (which.min() < 0 or which.max() > roots):
            raise corrupt(f"{roots} roots for {n} payloads")
        kept = int((which == 0).sum())
        parts: list[Iterator[bytes]] = [_each(self._texts(kept, False), kept)]
        for root in range(1, roots + 1):
            own = times[which == root]
            parts.append(_each(self._message(len(own), own, 1, False, members), len(own)))
        if self._pos < len(self._structure) or self._vectors.left:
            raise corrupt("there are bytes too many")
        return [next(parts[w]) for w in which.tolist()]

    def _uvarint(self) -> int:
        value, self._pos = _vector.uvarint(self._structure, self._pos)
        return value

    def _byte(self) -> int:
        if self._pos >= len(self._structure):
            raise corrupt("the structure is cut")
        self._pos += 1
        return self._structure[self._pos - 1]

    def _room(self, n: int) -> None:
        """Counts values."""
        self._values += n
        if n > _vector.MAX_COUNT or self._values > _MAX_VALUES:
            raise corrupt(f"a message has more than {_MAX_VALUES} values")

    def _node(self) -> None:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise corrupt(f"a message has more than {_MAX_NODES} members")

    def _size(self, size: int) -> None:
        """Counts bytes of payloads before they are put together."""
        self._left -= size
        if self._left < 0:
            raise corrupt("the payloads have more bytes than they are said to have")

    def _ints(self, n: int) -> Union[int, Array]:
        self._room(n)
        return self._vectors.ints(n)

    def _texts(self, n: int, skip: bool) -> Column:
        self._room(n)
        texts = self._vectors.texts(n, skip)
        self._size(_length(texts, n))
        return texts

    def _message(self, n: int, times: Optional[Array], depth: int, skip: bool, members: Optional[set[int]] = None) -> Column:
        """Reads the members of a message that occurs n times. ``times`` are those of the snapshots, where each has one."""
        fields = self._uvarint()
        self._room(n)
        if depth > _MAX_DEPTH or fields > _MAX_FIELDS:
            raise corrupt(f"a message of {fields} members, {depth} deep")
        parts: list[Column] = []
        for _ in range(fields):
            number, what = self._uvarint(), self._byte()
            kind, occurs = what & 15, what >> 4
            self._node()
            if not 0 < number < 1 << 29 or kind > _DURATION or occurs > _PACKED or kind == _MESSAGE and occurs == _UNLESS_ZERO \
                    or occurs == _PACKED and _WIRE[kind] == 2:
                raise corrupt(f"member {number} of kind {what} cannot be")
            passed = skip or members is not None and number not in members
            tag = varint(number << 3 | (2 if occurs == _PACKED else _WIRE[kind]))
            if occurs in (_LIST, _PACKED):
                part = self._list(tag, kind, n, depth, passed, occurs == _PACKED)
            elif occurs == _MAYBE:
                part = self._maybe(tag, kind, n, times, depth, passed)
            else:
                part = self._value(kind, n, times, depth, passed, tag, zeros=False)
            if not passed:
                parts.append(part)
        return _joined(parts, n)

    def _maybe(self, tag: bytes, kind: int, n: int, times: Optional[Array], depth: int, skip: bool) -> Column:
        present = self._ints(n)
        if isinstance(present, int):
            there = n if present else 0
        else:
            there = int((present != 0).sum())
        part = self._value(kind, there, times if there == n else None, depth, skip, tag)
        if skip or there == 0:
            return b""
        if there == n:
            return part
        values = _each(part, there)
        return [next(values) if p else b"" for p in as_list(present, n)]

    def _list(self, tag: bytes, kind: int, n: int, depth: int, skip: bool, packed: bool) -> Column:
        count = self._ints(n)
        counts = np.full(n, count, np.int64) if isinstance(count, int) else count
        columns, rest = self._uvarint(), self._byte()
        if columns > _MAX_LIST or rest > 1:
            raise corrupt(f"a list of {columns} columns")
        low, most = (int(counts.min()), int(counts.max())) if n else (0, 0)
        if low < 0 or most > _vector.MAX_COUNT or not rest and most > columns:
            raise corrupt(f"a list of {low if low < 0 else most} elements")
        beyond = int(np.maximum(counts - columns, 0).sum())
        own = b"" if packed else tag
        lengths, elements = [], []
        for i in range(columns + rest):
            self._node()
            lengths.append(beyond if i == columns else int((counts > i).sum()))
            elements.append(self._value(kind, lengths[i], None, depth, skip, own))
        if skip or most == 0:
            return b""
        lists: Column
        if low == most and most <= columns:
            lists = _joined(elements[:most], n)
        else:
            each = [_each(e, length) for e, length in zip(elements, lengths)]
            lists = [b"".join([next(e) for e in each[:min(c, columns)]] + ([next(each[-1]) for _ in range(c - columns)] if c > columns else []))
                     for c in counts.tolist()]
        return self._tagged(lists, n, tag, zeros=False) if packed else lists

    def _value(self, kind: int, n: int, times: Optional[Array], depth: int, skip: bool, tag: bytes, zeros: bool = True) -> Column:
        """Reads the column of a scalar, or the members of a message, each behind a tag; zeros only if they are to be there."""
        if zeros and not skip and n * (len(tag) + _LEAST[kind]) > self._left:
            self._size(n * (len(tag) + _LEAST[kind]))  # before anything is decoded
        if kind == _MESSAGE:
            part = self._message(n, times, depth + 1, skip)
            return b"" if skip else self._tagged(part, n, tag)
        if kind == _TEXT:
            texts = self._texts(n, skip)
            return b"" if skip else self._tagged(texts, n, tag, zeros=zeros)
        self._room(n)
        if kind in (_FLOAT, _DOUBLE):
            v = self._vectors.floats(n, kind == _FLOAT, skip)
        else:
            v = self._vectors.ints(n, times, skip)
        if skip or n == 0:
            return b""
        if isinstance(v, int):
            column: Column = tag + _scalar(kind, v) if v or zeros else b""
        elif _WIRE[kind] in (1, 5):
            width = 8 if _WIRE[kind] == 1 else 4
            column = _rows(v.astype("<u8" if width == 8 else "<u4"), n, width, tag)
            if not zeros and not v.all():
                column = [c if x else b"" for c, x in zip(column, v.tolist())]
        else:
            column = [tag + _scalar(kind, x) if x or zeros else b"" for x in v.tolist()]
        self._size(_length(column, n))
        return column

    def _tagged(self, column: Column, n: int, tag: bytes, zeros: bool = True) -> Column:
        """Puts tags and lengths before values; nothing before empty ones, unless they are to be there."""
        values = [column] if isinstance(column, bytes) else column
        heads = [tag + varint(len(v)) if v or zeros else b"" for v in values]
        self._size(sum(map(len, heads)) * (n if values is not column else 1))
        tagged = [head + v for head, v in zip(heads, values)]
        return tagged[0] if values is not column else tagged


def _each(column: Column, n: int) -> Iterator[bytes]:
    return itertools.repeat(column, n) if isinstance(column, bytes) else iter(column)


def _length(column: Column, n: int) -> int:
    return len(column) * n if isinstance(column, bytes) else sum(map(len, column))


def _joined(parts: Iterable[Column], n: int) -> Column:
    """Joins what belongs together of several columns."""
    folded: list[Column] = []
    for p in parts:
        if isinstance(p, bytes) and folded and isinstance(folded[-1], bytes):
            folded[-1] += p
        elif p != b"":
            folded.append(p)
    if len(folded) < 2:
        return folded[0] if folded else b""
    return list(map(b"".join, zip(*(_each(p, n) for p in folded))))


def _rows(values: Array, n: int, width: int, tag: bytes) -> list[bytes]:
    rows = np.empty((n, len(tag) + width), np.uint8)
    rows[:, :len(tag)] = np.frombuffer(tag, np.uint8)
    rows[:, len(tag):] = values.view(np.uint8).reshape(n, width)
    all_, width = rows.tobytes(), len(tag) + width
    return [all_[i:i + width] for i in range(0, n * width, width)]


def _scalar(kind: int, v: int) -> bytes:
    """Encodes a value; of floats v are the bits."""
    if kind == _VARINT:
        return varint(v)
    if kind == _ZIGZAG:
        return varint(zigzag(v))
    if _WIRE[kind] == 5:
        return (v & 0xFFFFFFFF).to_bytes(4, "little")
    if _WIRE[kind] == 1:
        return (v & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
    content = seconds(v, kind == _DURATION)
    return varint(len(content)) + content
