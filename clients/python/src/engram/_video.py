"""Pictures of video: of the frames of an entity, and of those before them that they need."""

from __future__ import annotations

import warnings
from typing import Any, Optional, Protocol

from ._pixels import decode_video
from ._query import pattern_of
from .ids import ID
from .snapshots import Snapshot
from .times import Time

_MOST = 2000  # frames that are read to find a key frame
_FIRST = 1_000_000_000


class _Source(Protocol):
    @property
    def query(self) -> Any: ...


def pictures(m: _Source, entity: ID, snapshots: list[Snapshot], gaps: bool, target: str) -> list[Optional[Any]]:
    """Decodes an entity's frames of foxglove.CompressedVideo, sorted by time. A frame needs those from the key frame before it on, which are read
    as well; with gaps, also those between. None is a frame that no key frame comes before, of which a warning tells."""
    first, last = snapshots[0].time, snapshots[-1].time
    frames = {s.time: s.value for s in snapshots}
    if gaps:
        frames |= {s.time: s.value for s in m.query(pattern_of(entity), range=(first, Time(last + 1)), target=target)}
    if not is_key(frames[first]):
        frames |= _before(m, entity, first, target)
    times = sorted(frames)
    decoded = dict(zip(times, decode_video(frames[t] for t in times)))
    found = [decoded[s.time] for s in snapshots]
    lost = sum(p is None for p in found)
    if lost:
        warnings.warn(f"{entity}: {lost} of {len(found)} frames of video are not decoded, as no key frame comes before them", stacklevel=7)
    return found


def _before(m: _Source, entity: ID, first: Time, target: str) -> dict[Time, Any]:
    """The frames before a time, from the last key frame on; none if there is no key frame."""
    frames: dict[Time, Any] = {}
    pattern = pattern_of(entity)
    oldest = min((s.time for s in m.query(pattern, index=(0, 0), target=target)), default=first)
    end, span = first, _FIRST
    while oldest < end and len(frames) < _MOST:
        start = Time(max(end - span, oldest))
        for s in sorted(m.query(pattern, range=(start, end), target=target), key=lambda s: -s.time):
            frames[s.time] = s.value
            if is_key(s.value):
                return frames
        end, span = start, span * 2
    return {}


def is_key(frame: Any) -> bool:
    """Whether decoding can begin at a frame: it brings its parameters, and a picture that needs no other one."""
    data, format = memoryview(frame["data"]), frame["format"]
    if format == "h264":
        return _units(bytes(data), lambda b: b & 0x1F, {7}, {5}, {1})
    if format == "h265":
        return _units(bytes(data), lambda b: b >> 1 & 0x3F, {33}, set(range(16, 24)), set(range(10)))
    if format == "vp9":
        shown = 2 if len(data) and data[0] & 0x30 == 0x30 else 3  # the bit of show_existing_frame; that of frame_type is below it
        return len(data) > 0 and not data[0] >> shown & 1 and not data[0] >> shown - 1 & 1
    return format != "av1" or _has_sequence(data)


def _units(data: bytes, kind: Any, parameters: set[int], key: set[int], other: set[int]) -> bool:
    """Whether units behind start codes have parameters and a key picture."""
    seen: set[int] = set()
    at = data.find(b"\0\0\1")
    while 0 <= at < len(data) - 3:
        unit = kind(data[at + 3])
        seen.add(unit)
        if unit in other:  # another picture: the long search through its data is of no use
            return False
        if seen & parameters and seen & key:
            return True
        at = data.find(b"\0\0\1", at + 3)
    return False


def _has_sequence(data: memoryview) -> bool:
    """Whether there is a sequence header among the open bitstream units of AV1."""
    at = 0
    while at < len(data):
        head = data[at]
        if head >> 3 & 15 == 1:
            return True
        at += 2 if head & 4 else 1
        if not head & 2:  # up to the end
            return False
        size = shift = 0
        while at < len(data):
            size |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if data[at - 1] < 0x80:
                break
        at += size
    return False
