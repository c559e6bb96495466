"""Reads vectors, rows of numbers and texts in few bytes, as docs/formats/codecs.md has them."""

from __future__ import annotations

import struct
from typing import Any, Optional, Union

import numpy as np

from ._mcap import decompress
from ._wire import Buffer, unzigzag
from .errors import Corrupt

Array = np.ndarray[Any, Any]

MAX_COUNT = 1 << 20  # elements of a vector
MAX_PLAIN = 64 << 20  # bytes of a compressed part

_POWERS = [10.0 ** e for e in range(18)]


def corrupt(message: str) -> Corrupt:
    return Corrupt("vector", message)


def content_size(frame: Buffer) -> int:
    """How many bytes a frame of zstd says that it holds. Corrupt if it does not say so."""
    if len(frame) < 6 or bytes(frame[:4]) != b"\x28\xb5\x2f\xfd":
        raise corrupt("a compressed part is damaged")
    head = frame[4]
    single, size = head >> 5 & 1, head >> 6
    pos, n = 5 + (not single) + (0, 1, 2, 4)[head & 3], (single, 2, 4, 8)[size]
    if n == 0 or pos + n > len(frame):
        raise corrupt("a compressed part does not say how many bytes it holds")
    return int.from_bytes(frame[pos:pos + n], "little") + (256 if n == 2 else 0)


def unpack(frame: Buffer, most: int = MAX_PLAIN, size: Optional[int] = None, dictionary: bytes = b"") -> memoryview:
    """Decompresses what a frame says that it holds: at most so many bytes, or exactly so many."""
    if size == 0 and len(frame) == 0:
        return memoryview(b"")
    told = content_size(frame)
    if told > most or size is not None and told != size:
        raise corrupt(f"a compressed part holds {told} bytes; {most if size is None else size} belong there")
    return memoryview(decompress("zstd", memoryview(frame), told, dictionary))


class Reader:
    """Reads vectors in the order in which they were written, from their heads and their data. Damaged ones are Corrupt.

    A vector of one number is returned as that number, another one as an array. With ``skip`` it is passed over.
    """

    def __init__(self, head: Buffer, data: Buffer) -> None:
        self._head, self._data = memoryview(head), memoryview(data)
        self._pos = self._at = 0

    @property
    def left(self) -> int:
        """The bytes that were not read."""
        return len(self._head) - self._pos + len(self._data) - self._at

    def _take(self, n: int) -> memoryview:
        if n > len(self._head) - self._pos:
            raise corrupt("it is cut")
        self._pos += n
        return self._head[self._pos - n:self._pos]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _uvarint(self) -> int:
        value, self._pos = uvarint(self._head, self._pos)
        return value

    def _part(self) -> memoryview:
        """The next bytes of the data, whose number the head says."""
        n = self._uvarint()
        if n > len(self._data) - self._at:
            raise corrupt(f"{n} bytes are announced, {len(self._data) - self._at} are there")
        self._at += n
        return self._data[self._at - n:self._at]

    def ints(self, n: int, reference: Optional[Array] = None, skip: bool = False) -> Union[int, Array]:
        """Reads n int64. ``reference`` is what they may be differences to."""
        if n == 0:
            return 0
        head = self._byte()
        kind = head & 0x3F
        v: Union[int, Array] = 0
        if kind == 1:
            v = unzigzag(self._uvarint())
        elif kind in (2, 3):
            v = self._residuals(kind, n, skip)
        elif kind != 0:
            raise corrupt(f"unknown kind {head} of integers")
        if skip or not head & 0x40:
            return v
        if reference is None or len(reference) != n:
            raise corrupt("differences have no reference")
        return np.add(reference, np.int64(v) if isinstance(v, int) else v)

    def _residuals(self, kind: int, n: int, skip: bool) -> Union[int, Array]:
        by = self._byte()
        if by > 5:
            raise corrupt(f"unknown predictor {by}")
        w = [struct.unpack("b", self._take(1))[0] for _ in range((0, 0, 0, 1, 2, 0)[by])] + [0, 0]
        first, parameter, packed = unzigzag(self._uvarint()), self._byte(), self._part()
        raw = self._part() if kind == 2 else packed
        if skip:
            return 0
        if n < 2 or parameter > (64 if kind == 2 else 8):
            raise corrupt(f"{n} integers with the parameter {parameter}")
        if kind == 2:
            rest = _decode_residuals(n - 1, parameter, packed, raw)
        elif parameter == 0:
            rest = np.zeros(n - 1, np.int64)
        else:
            planes = np.frombuffer(unpack(packed, size=parameter * (n - 1)), np.uint8).reshape(parameter, n - 1)
            u = np.zeros(n - 1, np.uint64)
            for p in range(parameter):
                u |= planes[p].astype(np.uint64) << np.uint64(8 * p)
            rest = (u >> np.uint64(1)).view(np.int64) ^ -(u & np.uint64(1)).view(np.int64)
        return _predicted(np.concatenate((np.array([first], np.int64), rest)), by, w[0], w[1])

    def floats(self, n: int, single: bool, skip: bool = False) -> Union[int, Array]:
        """Reads the bits of n float64, or float32, as uint64 or uint32."""
        if n == 0:
            return 0
        head = self._byte()
        kind, step = head & ~0x40, 0.0
        if kind > 4 or head & 0x40 and kind < 2 or kind == 1 and single and not skip:
            raise corrupt(f"unknown kind {head} of floats")
        if kind == 2:
            exponent = self._byte()
            if exponent >= len(_POWERS):
                raise corrupt(f"decimals of {exponent} digits")
        elif kind > 2:
            step = struct.unpack("<d", self._take(8))[0]
        k = self.ints(n, skip=skip)
        corrections = self.ints(n, skip=skip) if kind > 1 else 0
        if skip:
            return 0
        one = isinstance(k, int) and isinstance(corrections, int)
        count = 1 if one else n
        k, corrections = (np.full(count, v, np.int64) if isinstance(v, int) else v for v in (k, corrections))
        if kind < 2:
            bits = _bits32(k).view(np.float32).astype(np.float64).view(np.uint64) if kind == 1 else _bits32(k) if single else _bits64(k)
        else:
            with np.errstate(all="ignore"):
                x = k.astype(np.float64)
                x = x / _POWERS[exponent] if kind == 2 else x * step
                if head & 0x40 or single:
                    x = x.astype(np.float32)
            if single:
                bits = _bits32(_ordered32(x.view(np.uint32)) + corrections)
            else:
                own = x.astype(np.float64).view(np.uint64)
                bits = np.where(corrections == 0, own, _bits64(_ordered64(own) + corrections))
        return int(bits[0]) if one else bits

    def texts(self, n: int, skip: bool = False) -> Union[bytes, list[bytes]]:
        """Reads n texts; one that all are is returned once."""
        if n == 0:
            return b""
        kind = self._byte()
        if kind == 0:
            texts = self._joined(1, skip)
            return b"" if skip else texts[0]
        if kind == 1:
            different = self._uvarint()
            if different > n:
                raise corrupt(f"{different} different texts among {n}")
            texts = self._joined(different, skip)
            which = as_list(self.ints(n, skip=skip), n)
            if skip:
                return b""
            if min(which) < 0 or max(which) >= different:
                raise corrupt(f"text {max(which)} of {different}")
            return [texts[w] for w in which]
        if kind != 2:
            raise corrupt(f"unknown kind {kind} of texts")
        return self._joined(n, skip)

    def _joined(self, n: int, skip: bool) -> list[bytes]:
        lengths = as_list(self.ints(n), n)
        total = sum(lengths)
        if lengths and min(lengths) < 0 or total > MAX_PLAIN:
            raise corrupt(f"texts of {total} bytes")
        where = self._byte()
        if where > 2:
            raise corrupt(f"texts in unknown place {where}")
        together = self._take(total) if where == 0 else self._part()
        if skip:
            return []
        if where == 2:
            together = unpack(together, size=total)
        if len(together) != total:
            raise corrupt(f"texts of {total} bytes in {len(together)}")
        texts, at, all_ = [], 0, bytes(together)
        for length in lengths:
            texts.append(all_[at:at + length])
            at += length
        return texts


def uvarint(buf: Buffer, pos: int) -> tuple[int, int]:
    """Reads a number of at most 64 bits, and returns it with the place behind it."""
    value = shift = 0
    while pos < len(buf) and shift < 64:
        b = buf[pos]
        pos += 1
        value |= (b & 0x7F) << shift
        if b < 0x80:
            if value >> 64:
                break
            return value, pos
        shift += 7
    raise corrupt("a number is cut or too long")


def as_list(v: Union[int, Array], n: int) -> list[int]:
    return [v] * n if isinstance(v, int) else list(v.tolist())


def _ordered64(bits: Array) -> Array:
    v = bits.view(np.int64)
    return np.where(v < 0, ~(v & np.int64((1 << 63) - 1)), v)


def _bits64(ordered: Array) -> Array:
    return np.where(ordered < 0, ~ordered.view(np.uint64) | np.uint64(1 << 63), ordered.view(np.uint64))


def _ordered32(bits: Array) -> Array:
    v = bits.astype(np.int64)
    return np.where(v >> 31 != 0, ~(v & 0x7FFFFFFF), v)


def _bits32(ordered: Array) -> Array:
    v = ordered.view(np.uint64)
    return np.where(ordered < 0, ~v | np.uint64(1 << 31), v).astype(np.uint32)


_HALF = 1 << 63


def _predicted(v: Array, by: int, w1: int, w2: int) -> Array:
    """Undoes a prediction."""
    if by == 0:
        return v
    if by == 1:
        return np.asarray(np.cumsum(v))
    if by == 5:
        return np.asarray(np.bitwise_xor.accumulate(v))
    if by == 2:
        w1, w2 = 64, 0
        if np.abs(v[1:].astype(np.float64)).sum() < 1 << 54:  # nothing wraps
            return np.asarray(v[0] + np.concatenate(([np.int64(0)], np.cumsum(np.cumsum(v[1:])))))
    deltas = [int(v[0])]
    d1 = d2 = 0
    for r in v[1:].tolist():
        trend = w1 * d1 + w2 * d2 + 32
        if not -_HALF <= trend < _HALF:
            trend = wrapped(trend)
        d = r + (trend >> 6)
        if not -_HALF <= d < _HALF:
            d = wrapped(d)
        deltas.append(d)
        d1, d2 = d, d1
    return np.cumsum(np.array(deltas, np.int64))


def wrapped(v: int) -> int:
    """A number as 64 bits hold it."""
    return (v + _HALF & (1 << 64) - 1) - _HALF


# An adaptive binary range coder. A probability is one of a 0, of 65536, and has how many bits it has seen, up to 30.
_RATES = [65536 // (min(n, 30) + 2) for n in range(31)]
_AFTER = [min(n + 1, 30) for n in range(31)]
_LOW, _HIGH = 48, 65536 - 48
# Where the probabilities of a vector are: whether the class is the expected one, by that; whether it is above; of each step farther above or
# below; of the bit below the highest, by class; of the one below that, also by the first; of the sign, by the one before.
_SAME, _ABOVE, _UP, _DOWN, _TOP, _NEXT, _SIGN, _PROBABILITIES = 0, 66, 132, 198, 264, 330, 462, 465


def _decode_residuals(n: int, first: int, coded: Buffer, raw: Buffer) -> Array:
    """Decodes n residuals. Whatever the input, it makes some of it."""
    coded = bytes(coded)
    p, seen = [32768] * _PROBABILITIES, [0] * _PROBABILITIES
    rates, after, low, high = _RATES, _AFTER, _LOW, _HIGH  # locals are faster
    code, size, at, end = int.from_bytes(coded[:4].ljust(4, b"\0"), "big"), 0xFFFFFFFF, 4, len(coded)
    bits = bits_at = filled = 0
    mean, last = first << 8, 0
    out: list[int] = []
    over = magnitude = 0
    expected = mean + 128 >> 8
    class_, step, i = expected, 0, _SAME + expected
    while len(out) < n:
        v, k = p[i], seen[i]
        seen[i] = after[k]
        bound = (size >> 16) * v
        if code < bound:
            size = bound
            v += (65536 - v) * rates[k] >> 16
            p[i] = v if v < high else high
            bit = 0
        else:
            code -= bound
            size -= bound
            v -= v * rates[k] >> 16
            p[i] = v if v > low else low
            bit = 1
        while size < 0x1000000:
            size <<= 8
            code = (code << 8 | (coded[at] if at < end else 0)) & 0xFFFFFFFF
            at += 1
        if step < 4:  # the class
            if step == 0:  # is it another one than the expected?
                if bit:
                    if expected:
                        step, i = 1, _ABOVE + expected
                        continue
                    step = 2
            elif step == 1:  # is it above?
                step, bit = 3 - bit, 1
            if bit and step == 2:  # farther above
                class_ += 1
                if class_ < 64:
                    i = _UP + class_ - expected
                    continue
                class_ = 64
            elif bit:  # farther below
                class_ -= 1
                if class_:
                    i = _DOWN + expected - class_
                    continue
            mean += ((class_ << 8) - mean) * 5 >> 5
            if class_:
                magnitude, step, i = 1, 4, _SIGN + last
                over = step + (class_ if class_ < 3 else 3)
                continue
            out.append(0)
        else:  # sign, then the two bits below the highest
            if step == 4:
                last, i = bit + 1, _TOP + class_
            else:
                magnitude, i = magnitude << 1 | bit, _NEXT + 2 * class_ + bit
            step += 1
            if step < over:
                continue
            if class_ > 3:
                want = class_ - 3
                while filled < want:
                    bits |= int.from_bytes(raw[bits_at:bits_at + 8], "little") << filled
                    bits_at += 8
                    filled += 64
                magnitude = magnitude << want | bits & (1 << want) - 1
                bits >>= want
                filled -= want
            out.append(magnitude if last == 1 else -magnitude)
        expected = mean + 128 >> 8
        class_, step, i = expected, 0, _SAME + expected
    try:
        return np.array(out, np.int64)
    except OverflowError:
        return np.array([wrapped(v) for v in out], np.int64)
