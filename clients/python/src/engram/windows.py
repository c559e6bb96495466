"""Windows: what happened around some times, padded to one length, for learning."""

from __future__ import annotations

import warnings
from typing import Any, Iterable, Iterator, Mapping, Sequence

import numpy as np

from .errors import Invalid
from .frame import At, Column, Frame, Source, heads, tables, times_of
from .ids import ID
from .snapshots import Missing, lacking
from .times import SpanLike, Time, parse_span

Array = np.ndarray[Any, Any]


class Window:
    """An entity around each of n times: up to k snapshots, the newest last.

    ``window["position"]`` is an array of n x k, or n x k x joints; where there are fewer snapshots than k, the first places are
    padding. ``window["image"]`` has the pixels of images, n x k x height x width x channels where all are of one size; else it is of
    objects. ``mask`` (n x k) is true where there is a snapshot, and with a column of images where there is one: a frame of video that
    cannot be decoded has none. ``offsets`` (n x k) is its distance to the time, in seconds (NaN in padding).
    """

    def __init__(self, frame: Frame, rows: Array, mask: Array, offsets: Array) -> None:
        self._frame, self._rows = frame, rows
        self.mask = mask
        self.offsets = offsets

    @property
    def names(self) -> list[str]:
        """The names of the members."""
        return self._frame.names

    def __getitem__(self, name: str) -> Array:
        values = self._frame[name]
        if values.dtype == object and all(v is None and name == "image" or hasattr(v, "__array__") for v in values):
            images = [None if v is None else np.asarray(v) for v in values]
            if len({(i.shape, i.dtype) for i in images if i is not None}) == 1:
                none = np.zeros_like(next(i for i in images if i is not None))
                values = np.stack([none if i is None else i for i in images])
        if not len(values):
            return np.full(self.mask.shape, np.nan)
        picked = values[self._rows]
        if isinstance(picked, np.ma.MaskedArray):
            picked[~self.mask] = np.ma.masked
            return picked
        picked[~self.mask] = np.nan if values.dtype.kind == "f" else None if values.dtype.kind == "O" else \
            np.array("NaT", values.dtype) if values.dtype.kind in "mM" else 0
        return picked

    def __repr__(self) -> str:
        return f"<Window {self.mask.shape[0]} x {self.mask.shape[1]}: {', '.join(self.names)}>"


class Windows(Mapping[str, Window]):
    """The windows of each entity, by its ID or the pattern that was given. ``missing`` says what the memory had, and has no more."""

    def __init__(self, times: Array, windows: dict[str, Window], missing: Sequence[Missing] = ()) -> None:
        self.times = times
        self._windows = windows
        self.missing = list(missing)

    def __getitem__(self, id: str) -> Window:
        return self._windows[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._windows)

    def __len__(self) -> int:
        return len(self._windows)

    def _repr_html_(self) -> str:
        from ._display import table_html

        return table_html(["entity", "times x snapshots", "members"], [(k, " x ".join(map(str, w.mask.shape)), ", ".join(w.names)) for k, w in self.items()])

    def __repr__(self) -> str:
        return f"<Windows at {len(self.times)} times of {', '.join(self)}>"


def read_windows(m: Source, spans: Mapping[str, Sequence[SpanLike]], *, at: At, fields: Mapping[str, Iterable[str]], target: str) -> Windows:
    """Does what :meth:`engram.client.Memory.windows` says."""
    times = times_of(at)
    for id in fields:
        if id not in spans:
            raise Invalid(id, "fields name something that has no window")
    windows: dict[str, Window] = {}
    missing: list[Missing] = []
    for pattern, span in spans.items():
        if not isinstance(span, (tuple, list)) or len(span) != 2:
            raise Invalid(f"{pattern}: {span!r}", "a window is from a start to an end, such as (-0.1, 0)")
        before, after = (int(parse_span(s)) for s in span)
        if after < before:
            raise Invalid(f"{pattern}: {tuple(span)}", "a window is from a start to an end, such as (-0.1, 0)")
        wanted = [fields[pattern]] if isinstance(fields.get(pattern), str) else list(fields.get(pattern, ()))
        by: dict[ID, list[Any]] = {}
        if len(times):
            reach = (Time(int(times.min()) + before), Time(int(times.max()) + after + 1))
            found = m.query(pattern, range=reach, fields=m._members(pattern, heads(map(str, wanted))), target=target)
            by = found.entities
            missing += found.missing
            if found.missing and not by:
                warnings.warn(f"{pattern}: all of what was asked for is missing: {lacking(found.missing)}", stacklevel=3)
        for entity, frame in tables(m, by.items(), [str(w) for w in wanted], False, target):
            windows[pattern if len(by) == 1 else str(entity)] = _window(frame, times, before, after)
        if not by:
            nothing = {str(w): Column(np.empty(0)) for w in wanted}
            windows[pattern] = _window(Frame(np.empty(0, "datetime64[ns]"), nothing), times, before, after)
    return Windows(times.astype("datetime64[ns]"), windows, missing)


def _window(frame: Frame, times: Array, before: int, after: int) -> Window:
    own = frame.times.astype(np.int64)
    first = np.searchsorted(own, times + before, side="left")
    stop = np.searchsorted(own, times + after, side="right")
    longest = int((stop - first).max()) if len(times) else 0
    rows = stop[:, None] - longest + np.arange(longest)[None, :]
    mask = rows >= first[:, None]
    rows = np.where(mask, rows, 0)
    image = frame.columns.get("image")
    if image is not None and image.valid is not None:
        mask &= image.valid[rows]
    offsets = np.full(mask.shape, np.nan)
    if longest:
        offsets = np.where(mask, (own[rows] - times[:, None]) / 1e9, np.nan)
    return Window(frame, rows, mask, offsets)
