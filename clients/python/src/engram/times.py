"""Times and durations as nanoseconds, with the texts that people write for them."""

from __future__ import annotations

import functools
import math
import re
import time as _clock
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Union

from .errors import Invalid, OutOfRange

if TYPE_CHECKING:
    import numpy as np

_SECOND = 1_000_000_000
_MOST_SECONDS = (1 << 63) // _SECOND
_TIMES, _SPANS = "times are from 1677 to 2262", "a duration is up to 292 years"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ABSOLUTE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$"
)
_SPAN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|min|m|h|d)")
_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": _SECOND,
          "m": 60 * _SECOND, "min": 60 * _SECOND, "h": 3600 * _SECOND, "d": 86400 * _SECOND}


@functools.lru_cache(256)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat(" ", "seconds")[:19]


class Time(int):
    """Nanoseconds since 1970-01-01 00:00:00 UTC. It is an int, and prints as a time."""

    __slots__ = ()

    @property
    def datetime(self) -> datetime:
        """The time in UTC, cut to microseconds."""
        return _EPOCH + timedelta(microseconds=self // 1000)

    @property
    def seconds(self) -> float:
        """Seconds since 1970, rounded to what a float holds."""
        return self / _SECOND

    def __str__(self) -> str:
        seconds, rest = divmod(int(self), _SECOND)
        text = _second(seconds)
        if rest == 0:
            return text
        return f"{text}.{rest:09d}" if rest % 1000 else f"{text}.{rest // 1000:06d}"

    def __repr__(self) -> str:
        return f"Time('{self}')"


class Duration(int):
    """Nanoseconds. It is an int, and prints in seconds."""

    __slots__ = ()

    @property
    def seconds(self) -> float:
        return self / _SECOND

    def __str__(self) -> str:
        return f"{self / _SECOND:g}s"

    def __repr__(self) -> str:
        return f"Duration('{self}')"


TimeLike = Union[int, str, datetime, "np.datetime64"]
"""Nanoseconds, a text such as ``2022-02-18 13:06:56.492182``, ``now`` or ``now-10s``, or a time of
datetime, numpy or pandas. Without a zone those of datetime are local, those of numpy and pandas in UTC."""

SpanLike = Union[int, float, str, timedelta, "np.timedelta64"]
"""A text such as ``100ms``, a timedelta of datetime or numpy, seconds as a float, or
nanoseconds as an int of type Duration. Other ints are seconds, too."""


def now() -> Time:
    """The present by this computer's clock."""
    return Time(_clock.time_ns())


def parse_time(value: TimeLike) -> Time:
    """Reads a time. Invalid says what was wrong."""
    if type(value) is Time:
        return value
    if isinstance(value, str):
        return _parse_text(value)
    exact = getattr(value, "to_datetime64", None)  # pandas, whose nanoseconds a datetime has not
    if exact is not None:
        value = exact()
    if isinstance(value, datetime):
        try:
            aware = value if value.tzinfo else value.astimezone()
        except (ValueError, OverflowError):
            raise OutOfRange(repr(value), _TIMES) from None
        since = aware - _EPOCH
        return _bounded((since.days * 86400 + since.seconds) * _SECOND + since.microseconds * 1000, value)
    if isinstance(value, bool) or isinstance(value, float):
        raise Invalid(repr(value), "a time is nanoseconds as an int, a text, or a datetime; of seconds write int(seconds * 1e9)")
    if hasattr(value, "__index__"):
        return _bounded(int(value), value)
    if type(value).__module__ == "numpy":
        import numpy as np

        if isinstance(value, np.datetime64):
            return Time(int(from_numpy(value, repr(value))))
    raise Invalid(repr(value), "not a time; write nanoseconds, '2022-02-18 13:06:56', 'now-10s' or a datetime")


def _bounded(ns: int, said: object) -> Time:
    if not -(1 << 63) <= ns < 1 << 63:
        raise OutOfRange(repr(said), _TIMES)
    return Time(ns)


def from_numpy(values: Any, said: str) -> Any:
    """Returns the nanoseconds of datetime64 or timedelta64, one or an array of them."""
    import numpy as np

    kind = values.dtype.kind
    if np.isnat(values).any():
        raise Invalid(said, "NaT is no time; leave out what has none" if kind == "M" else "NaT is no duration")
    seconds = values.astype(f"{kind}8[s]").astype(np.int64)  # numpy wraps around what nanoseconds do not hold
    if ((seconds < -_MOST_SECONDS) | (seconds >= _MOST_SECONDS)).any():
        raise OutOfRange(said, _TIMES if kind == "M" else _SPANS)
    return values.astype(f"{kind}8[ns]").astype(np.int64)


def _parse_text(text: str) -> Time:
    text = text.strip()
    if text == "now":
        return now()
    if text[:4] in ("now-", "now+"):
        return Time(now() + parse_span(text[3:]))
    if re.fullmatch(r"-?\d+", text):
        return _bounded(int(text), text)
    m = _ABSOLUTE.match(text)
    if not m:
        raise Invalid(text, "not a time; write 2022-02-18 13:06:56.492182, nanoseconds since 1970, or now-10s")
    year, month, day, hour, minute, second, part, zone = m.groups()
    try:
        base = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=timezone.utc)
    except ValueError as e:
        raise Invalid(text, f"not a time: {e}") from None
    since = base - _EPOCH
    ns = (since.days * 86400 + since.seconds) * _SECOND + int((part or "").ljust(9, "0"))
    if zone and zone != "Z":
        sign = -1 if zone[0] == "-" else 1
        ns -= sign * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60) * _SECOND
    return _bounded(ns, text)


def parse_span(value: SpanLike) -> Duration:
    """Reads a duration. Invalid says what was wrong."""
    if isinstance(value, Duration):
        return value
    try:
        span = _nanoseconds(value)
        if -(1 << 63) < span < 1 << 63:
            return span
    except OverflowError:
        pass
    raise OutOfRange(repr(value), _SPANS)


def _nanoseconds(value: SpanLike) -> Duration:
    if isinstance(value, str):
        text, sign = value.strip(), 1
        if text[:1] in "+-" and text:
            sign, text = (-1 if text[0] == "-" else 1), text[1:]
        total, at = 0.0, 0
        whole = 0
        for m in _SPAN.finditer(text):
            if m.start() != at:
                break
            at = m.end()
            if m[1].isdigit():
                whole += int(m[1]) * _UNITS[m[2]]
            else:
                total += float(m[1]) * _UNITS[m[2]]
        if at == 0 or at != len(text):
            raise Invalid(value, "not a duration; write 100ms, 1.5s, 2m or 1h30m")
        return Duration(sign * (whole + round(total)))
    exact = getattr(value, "to_timedelta64", None)  # pandas
    if exact is not None:
        value = exact()
    if isinstance(value, timedelta):
        return Duration((value.days * 86400 + value.seconds) * _SECOND + value.microseconds * 1000)
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise Invalid(repr(value), "not a duration; write 100ms, 1.5s or seconds")
        return Duration(round(value * _SECOND))
    if type(value).__module__ == "numpy":
        import numpy as np

        if isinstance(value, np.timedelta64):
            return Duration(int(from_numpy(value, repr(value))))
        number: Any = value
        if number.ndim:
            raise Invalid(repr(value), "one duration is wanted, not an array")
        return _nanoseconds(float(number))
    raise Invalid(repr(value), "not a duration; write 100ms, 1.5s or seconds")
