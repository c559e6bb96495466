"""Frames: snapshots as tables of numpy columns, for numpy, pandas, polars, pyarrow."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Protocol, Sequence, Union

import numpy as np

from . import idf
from ._named import Names, aligned
from .errors import Invalid, NotFound
from .ids import ID
from .snapshots import Missing, Result, Snapshot, lacking
from .times import Duration, SpanLike, Time, TimeLike, from_numpy, parse_span, parse_time

if TYPE_CHECKING:
    import pandas

Array = np.ndarray[Any, Any]
At = Union["Frame", Sequence[TimeLike], Array, TimeLike]
"""Times to look at: a frame, whose times they are, an array of datetime64 or of nanoseconds, or a list."""


class Column:
    """A column: values by row, and which rows have one.

    Values are n numbers, n x k numbers of a list of fixed length, whose elements have ``labels`` where a list of names beside it
    gives them, datetime64, timedelta64, or objects such as texts, images and lists whose length changes. ``untyped`` are numbers
    whose type does not say that they are whole, such as those of a dict that takes any data.
    """

    __slots__ = ("values", "valid", "labels", "untyped")

    def __init__(self, values: Array, valid: Optional[Array] = None, labels: Optional[list[str]] = None, untyped: bool = False) -> None:
        self.values = values
        self.valid = None if valid is None or valid.all() else valid
        self.labels = labels
        self.untyped = untyped

    def take(self, rows: Array, there: Array) -> "Column":
        """The column with other rows, of which those are empty that are not there."""
        valid = there if self.valid is None else there & self.valid[rows]
        values = self.values[rows]
        if not valid.all():
            if values.dtype.kind in "fc":
                values[~valid] = np.nan
            elif values.dtype.kind in "mM":
                values[~valid] = np.array("NaT", values.dtype)
            elif values.dtype.kind == "O":
                values[~valid] = None
        return Column(values, valid, self.labels, self.untyped)

    def element(self, i: int) -> "Column":
        """One element of each list."""
        return Column(self.values[:, i], self.valid, None, self.untyped)


class Frame:  # no Mapping: polars would read one as a dict of columns, without its times
    """A table: a row for each snapshot or time, a numpy column for each member.

    ``frame["position"]`` is an array, of rows x joints for a list of numbers; ``frame["position.kLeftElbow"]``,
    ``frame['position["kLeftElbow"]']`` or ``frame["position[3]"]`` is one of its elements. Where the names beside a list change, there
    is a column for each name, NaN in rows that have it not; ``frame["image"]`` are the images of an entity of images, which numpy takes as arrays of pixels, also of
    H.264 and other video (``fields=["image"]``, by PyAV); ``frame.times`` are datetime64 in UTC. pandas, polars, pyarrow and
    DuckDB read a frame through Arrow's PyCapsule interface: ``polars.DataFrame(frame)``, ``frame.to_pandas()``.
    ``frame.missing`` says what the memory had, and has no more, as of a query's result.
    """

    def __init__(self, times: Array, columns: dict[str, Column], entities: Optional[Array] = None, missing: Sequence[Missing] = ()) -> None:
        self.times = times
        self.columns = columns
        self.entities = entities
        self.missing = list(missing)

    def __getitem__(self, name: str) -> Array:
        column = self.columns.get(name)
        if column is None:
            column = self._element(name)
        values = column.values
        if column.valid is not None and values.dtype.kind in "biu":
            mask = ~column.valid
            ma: Any = np.ma
            masked: Array = ma.MaskedArray(values, np.broadcast_to(mask[:, None], values.shape) if values.ndim > 1 else mask)
            return masked
        return values

    def _element(self, name: str) -> Column:
        """Finds one element of a list: by its label, or its place."""
        for base, label, place in _elements(name):
            column = self.columns.get(base)
            if column is None:
                continue
            if column.values.ndim == 2:
                at = column.labels.index(label) if column.labels and label in column.labels else place
                if 0 <= at < column.values.shape[1]:
                    return column.element(at)
                if column.labels:
                    raise KeyError(f"{name}: {base} has the elements {', '.join(column.labels)}")
                raise KeyError(f"{name}: {base} has {column.values.shape[1]} elements, and no names that say what each is about")
            if column.values.dtype == object and any(isinstance(v, np.ndarray) for v in column.values):
                sizes = [np.size(v) for v in column.values]
                other = next((f" (at {t})" for n, t in zip(sizes, self.times) if n != sizes[0]), "")
                raise KeyError(f"{name}: the lists of {base} change in length{other}, or are not as long as the names beside them; "
                               f"frame[{base!r}] has that of each row")
        raise KeyError(name + idf.nearest(name, list(self.columns)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.times)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    keys = __iter__

    def items(self) -> Iterator[tuple[str, Array]]:
        return ((name, self[name]) for name in self.columns)

    def flat(self) -> dict[str, Column]:
        """The columns with those of lists taken apart: ``position.kLeftElbow``, or ``position[3]`` without labels."""
        found: dict[str, Column] = {}
        for name, c in self.columns.items():
            if c.values.ndim == 2:
                for i in range(c.values.shape[1]):
                    key = f"{name}.{c.labels[i]}" if c.labels else f"{name}[{i}]"
                    found[key] = c.element(i)
            else:
                found[name] = c
        return found

    def to_pandas(self) -> "pandas.DataFrame":
        """The frame as a pandas.DataFrame with the times as its index and a column for each element of lists."""
        import pandas

        columns: dict[str, Any] = {} if self.entities is None else {"entity": self.entities}
        for name, c in self.flat().items():
            if c.valid is not None and c.values.dtype.kind in "biu":
                columns[name] = pandas.arrays.BooleanArray(c.values, ~c.valid) if c.values.dtype.kind == "b" else pandas.arrays.IntegerArray(c.values, ~c.valid)
            else:
                columns[name] = c.values
        return pandas.DataFrame(columns, index=pandas.DatetimeIndex(self.times, tz="UTC", name="time"))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's PyCapsule interface: a stream of one record batch. Images and other objects are left out, with a
        warning; a member ``time`` is ``time_`` there."""
        from ._arrow import stream_of

        return stream_of(self)

    def __arrow_c_schema__(self) -> object:
        from ._arrow import schema_of

        return schema_of(self)

    def __repr__(self) -> str:
        parts = [f"{n}{list(c.values.shape[1:]) if c.values.ndim > 1 else ''}: {c.values.dtype}" for n, c in self.columns.items()]
        lacks = f"; {sum(m.count for m in self.missing) or 'some'} snapshots are missing" if self.missing else ""
        return f"<Frame of {len(self)} rows: {', '.join(parts)}{lacks}>"

    def _repr_html_(self) -> str:
        from ._display import frame_html

        return frame_html(self)


def _elements(name: str) -> Iterator[tuple[str, str, int]]:
    """Yields how the name of an element can be read: its list, its label, and its place, -1 if it is none: ``position["left.1"]``,
    ``position[3]``, ``position.left.1``."""
    if name.endswith(']'):
        base, quote, label = name[:-1].partition('["')
        if quote:
            try:
                yield base, json.loads('"' + label), -1
            except ValueError:
                pass
            return
        base, _, label = name[:-1].rpartition("[")
        if label.isdecimal():
            yield base, "", int(label)
            return
    for at in (i for i, c in enumerate(name) if c == "."):
        label = name[at + 1:]
        yield name[:at], label, int(label) if label.isdecimal() else -1


def times_of(at: At) -> Array:
    """Reads times to look at as nanoseconds."""
    if isinstance(at, Frame):
        at = at.times
    if isinstance(at, np.ndarray):
        if at.ndim != 1:
            raise Invalid("at", f"times are in a row, not in {at.ndim} dimensions")
        if at.dtype.kind == "M":
            times: Array = from_numpy(at, "at")
            return times
        if at.dtype.kind == "i" or not at.size:  # numpy has an empty list as one of floats
            return at.astype(np.int64)
        if at.dtype.kind in "uO":
            return np.array([parse_time(t) for t in at], np.int64)
        raise Invalid("at", f"times are datetime64 or whole nanoseconds, not {at.dtype}")
    if isinstance(at, (str, int)) or not isinstance(at, Iterable):
        at = [at]
    return np.array([parse_time(t) for t in at], np.int64)


# Reading.

RAW, COMPRESSED, VIDEO = "foxglove.RawImage", "foxglove.CompressedImage", "foxglove.CompressedVideo"


class Source(Protocol):
    """What frames are read from: a memory, or an episode."""

    @property
    def _registry(self) -> idf.Registry: ...

    @property
    def query(self) -> Callable[..., Result]: ...

    def _members(self, pattern: Union[str, Iterable[str]], heads: list[str]) -> list[str]: ...


def read_frame(m: Source, pattern: Union[str, Iterable[str]], *, range: Any, fields: Iterable[str], at: Optional[At], every: Optional[SpanLike],
               fill: Optional[str], max_gap: Optional[SpanLike], where: str, target: str) -> Frame:
    """Does what :meth:`engram.client.Memory.frame` says."""
    if isinstance(fields, str):
        fields = [fields]
    wanted = list(fields)
    if fill not in (None, "last", "interp"):
        raise Invalid(f"fill={fill!r}", "it is 'last', 'interp' or None")
    if at is not None and every is not None:
        raise Invalid("at, every", "give one of them")
    if at is None and every is None and (fill is not None or max_gap is not None):
        raise Invalid("fill", "it is for times that at or every give")
    gap = None if max_gap is None else int(parse_span(max_gap))
    if gap is not None and gap < 0:
        raise Invalid(f"max_gap={max_gap!r}", "a gap is not shorter than 0")
    ask: dict[str, Any] = {"where": where, "target": target, "fields": m._members(pattern, heads(wanted))}
    times: Optional[Array] = None
    if at is not None:
        times = times_of(at)
        if range is not None:
            raise Invalid("range", "at says the times; leave range out")
        ask.update(_around(times, fill))
    elif range is not None:
        ask["range"] = range
    else:
        ask["all"] = True
    found = m.query(pattern, **ask)
    if found.missing and not found.snapshots:
        warnings.warn(f"{pattern if isinstance(pattern, str) else ', '.join(pattern)}: all of what was asked for is missing: {lacking(found.missing)}", stacklevel=3)
    by = found.entities
    if every is not None:
        times = _steps(found.snapshots, parse_span(every), range)
        if fill is not None and range is not None:  # what was in force at the start
            for s in m.query(pattern, at=Time(int(times[0])), where=where, target=target, fields=ask["fields"]) if len(times) else ():
                own = by.setdefault(s.entity, [])
                if not own or own[0].time > s.time:
                    own.insert(0, s)
    if fill == "interp" and times is not None and len(times):
        _add_next(m, pattern, ask, by, int(times.max()), gap)
    if not by and times is not None and len(times):  # the newest say which columns there are
        by, fill = m.query(pattern, latest=1, where=where, target=target, fields=ask["fields"]).entities, None
    parts = [(entity, _resample(frame, times, fill, gap)) for entity, frame in tables(m, sorted(by.items()), wanted, bool(where), target)]
    if not parts:
        rows = np.empty(0, np.int64) if times is None else times
        unknown = np.full(len(rows), np.nan)
        frame = Frame(rows.astype("datetime64[ns]"), {f: Column(unknown, np.zeros(len(rows), bool)) for f in wanted})
    else:
        frame = parts[0][1] if len(parts) == 1 else _stacked(parts)
    frame.missing = found.missing
    return frame


def heads(fields: Iterable[str]) -> list[str]:
    """The members that paths begin with: of an element its list."""
    return list({f.partition("[")[0].partition(".")[0]: None for f in fields})


def _around(times: Array, fill: Optional[str]) -> dict[str, Any]:
    """Selects what is needed for times, up to the last of them."""
    if len(times) == 0:
        return {"index": (0, 0)}
    low, high = int(times.min()), int(times.max())
    chosen: dict[str, Any] = {"range": (Time(low), Time(high + 1))}
    if fill is not None:
        chosen["at"] = Time(low)
    return chosen


def _add_next(m: Source, pattern: Union[str, Iterable[str]], ask: dict[str, Any], by: dict[ID, list[Snapshot]], last: int, gap: Optional[int]) -> None:
    """Adds each entity's first snapshot after the last time, to interpolate up to it, as far away as the gap says."""
    ask = {k: v for k, v in ask.items() if k not in ("range", "at", "all")}
    start = last + 1
    newest = {s.entity: s.time for s in m.query(pattern, **{**ask, "latest": 1, "where": ""})}
    open = {entity for entity, snapshots in by.items() if snapshots[-1].time <= last < newest.get(entity, last)}
    step = 10_000_000_000
    while open:
        end = min(max(newest[entity] for entity in open), start + step) + 1
        if gap is not None:
            end = min(end, last + gap + 1)
        for entity, snapshots in m.query(pattern, **{**ask, "range": (Time(start), Time(end))}).entities.items():
            if entity in open:
                open.remove(entity)
                by[entity].append(min(snapshots, key=lambda s: s.time))
        if gap is not None and end > last + gap:
            return
        open = {entity for entity in open if newest[entity] >= end}
        start, step = end, step * 4


def _steps(snapshots: list[Snapshot], every: Duration, range: Any) -> Array:
    if every <= 0:
        raise Invalid(f"every={every}", "a step is longer than 0")
    from ._query import is_relative, parse_range

    start, end = parse_range(range) if range is not None and not is_relative(range=range) else (None, None)
    if start is None or end is None:
        if not snapshots:
            return np.empty(0, np.int64)
        start = min(s.time for s in snapshots) if start is None else start
        end = max(s.time for s in snapshots) + 1 if end is None else end
    if (end - start) // every > 100_000_000:
        raise Invalid("every", f"{(end - start) // every} rows are too many")
    return np.arange(start, end, every, dtype=np.int64)


def tables(m: Source, found: Iterable[tuple[ID, list[Snapshot]]], fields: list[str], gaps: bool, target: str) -> list[tuple[ID, Frame]]:
    """Makes the frame of each entity's snapshots, a row for each. NotFound names a field that no entity has. With gaps, snapshots of
    the entity between these were left out."""
    absent: dict[str, str] = {}
    parts = [(entity, _columns(m, entity, snapshots, fields, absent, gaps, target)) for entity, snapshots in found]
    for f, why in absent.items():
        if not any(n == f or n.startswith(f + ".") for _, frame in parts for n in frame.columns):
            raise NotFound(f, f"no such column: {why}")
    return parts


def _columns(m: Source, entity: ID, snapshots: list[Snapshot], fields: list[str], absent: dict[str, str], gaps: bool, target: str) -> Frame:
    """Makes the frame of one entity's snapshots; absent gets the fields that it has not."""
    snapshots = [s for s in snapshots if s.instances]
    snapshots.sort(key=lambda s: s.time)
    times = np.array([s.time for s in snapshots], np.int64).astype("datetime64[ns]")
    records = _records(m._registry, snapshots, fields)
    keys = list({k: None for r in records if isinstance(r, dict) for k in r})
    columns: dict[str, Column] = {}
    wanted = heads(fields)
    _add_members(columns, "", records, [k for k in keys if k in wanted] if fields else keys)
    if not fields and records and not keys:
        _add(columns, "value", records)
    names = {s.instances[0].type for s in snapshots}
    types = [m._registry.get(n) for n in sorted(names)]
    for name, c in columns.items():
        if c.values.dtype.kind in "iu":
            c.untyped = any(_is_untyped(t, name) for t in types)
    if names and names <= {RAW, COMPRESSED}:  # numpy takes them as arrays
        columns["image"] = Column(_array(records, records[0]))
    elif names == {VIDEO} and "image" in fields:
        from ._video import pictures

        images = pictures(m, entity, snapshots, gaps, target)
        columns["image"] = Column(_array(images, images[0]), np.array([i is not None for i in images]))
    frame = Frame(times, columns)
    if fields:
        frame.columns = {k: v for f in fields for k, v in _chosen(frame, f, keys, absent)}
    return frame


def _is_untyped(t: idf.Type, path: str) -> bool:
    """Whether the type says of a member only that it is some datum."""
    while t.name not in ("engram.idf.v1.Value", "engram.idf.v1.Dict", "engram.idf.v1.List"):
        head, _, path = path.partition(".")
        member = next((m for m in t.members if m.name == head), None)
        if member is None or member.type is None:
            return False
        if member.map:
            member, path = member.type.members[1], path.partition(".")[2]
        if member.type is None:
            return False
        t = member.type
    return True


def _records(types: idf.Registry, snapshots: list[Snapshot], fields: list[str]) -> list[Any]:
    """Decodes payloads, of those with fields only these members and the names."""
    from ._decode import _Plan, decoder

    wanted_heads = heads(fields)
    records = []
    decoders: dict[str, Any] = {}
    for s in snapshots:
        i = s.instances[0]
        decode = decoders.get(i.type)
        if decode is None:
            t = types.get(i.type)
            whole = not fields or "image" in wanted_heads and t.name in (RAW, COMPRESSED, VIDEO)
            wanted = None if whole else {m.number for m in t.members if m.name in wanted_heads or m.name == "name"}
            for h in wanted_heads:
                if whole and h == "image":
                    continue
                if not t.wrapper and isinstance(decoder(t), _Plan):
                    t.member(h)
            decode = decoder(t)
            if wanted is not None and isinstance(decode, _Plan):
                decode = _Plan(t, wanted)
            decoders[i.type] = decode
        records.append(decode(i.data, 0, len(i.data)))
    return records


def _chosen(frame: Frame, field: str, members: list[str], absent: dict[str, str]) -> list[tuple[str, Column]]:
    if field in frame.columns:
        return [(field, frame.columns[field])]
    below = [(k, c) for k, c in frame.columns.items() if k.startswith(field + ".")]
    if below:
        return below
    if len(frame) == 0 or field in members:  # of a dict that is always empty, no columns
        return []
    try:
        return [(field, frame._element(field))]
    except KeyError as e:
        absent[field] = str(e.args[0]) if heads([field])[0] in members else field + idf.nearest(field, members)
        return []


def _add_members(columns: dict[str, Column], prefix: str, rows: list[Any], keys: list[str]) -> None:
    """Adds the columns of the members of records. A list "name" says what the elements of the lists beside it are about."""
    names = Names([r.get("name") if isinstance(r, dict) else None for r in rows])
    for k in keys:
        _add(columns, prefix + k, [r.get(k) if isinstance(r, dict) else None for r in rows], None if k == "name" else names)


def _add(columns: dict[str, Column], name: str, values: list[Any], names: Optional[Names] = None) -> None:
    """Adds the column, or columns, of a member's values."""
    sample = next((v for v in values if v is not None), None)
    valid = None
    if any(v is None for v in values):
        valid = np.array([v is not None for v in values])
    lists = _lists(values) if isinstance(sample, (np.ndarray, list)) else None
    if sample is None:
        columns[name] = Column(np.full(len(values), None, object), valid)
    elif lists is not None:
        columns[name] = _list_column(lists, valid, names)
    elif isinstance(sample, dict) and not hasattr(sample, "array") and all(v is None or isinstance(v, dict) for v in values):
        _add_members(columns, name + ".", values, list({k: None for v in values if v is not None for k in v}))
    else:
        columns[name] = Column(_array(values, sample), valid)


def _lists(values: list[Any]) -> Optional[list[Optional[Array]]]:
    """Lists of numbers as arrays; None if they are none. Of integers among them no type says so."""
    found: list[Optional[Array]] = []
    some = False
    for v in values:
        if isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype.kind in "fiub":
            some = True
            found.append(v)
        elif isinstance(v, list) and all(type(x) in (int, float) for x in v):
            some |= len(v) > 0
            found.append(np.array(v, np.float64))
        elif v is None:
            found.append(None)
        else:
            return None
    return found if some else None


def _list_column(lists: list[Optional[Array]], valid: Optional[Array], names: Optional[Names]) -> Column:
    if names is not None and names.change and any(v is not None and len(v) for v in lists):
        named = names.table(lists)
        if named is not None:
            return Column(named[0], named[1], names.labels)
    else:
        length = max((len(v) for v in lists if v is not None), default=0)
        labels = names.labels if names is not None and names.labels is not None and len(names.labels) == length else None
        whole = [v for v in lists if v is not None]
        if len(whole) == len(lists) and all(len(v) == length for v in whole):
            return Column(np.stack(whole) if length else np.empty((len(lists), 0), whole[0].dtype), None, labels)
        if all(len(v) in (0, length) for v in whole):  # not always given
            there = np.array([v is not None and len(v) == length for v in lists])
            dtype = np.result_type(*{v.dtype for v in whole if len(v)})
            table = np.full((len(lists), length), np.nan if dtype.kind == "f" else 0, dtype)
            table[there] = np.stack([v for v in whole if len(v)])
            return Column(table, there, labels)
    out = np.empty(len(lists), object)
    for i, v in enumerate(lists):
        out[i] = v
    return Column(out, valid)


def _array(values: list[Any], sample: Any) -> Array:
    """Makes an array of single values; those that are None are filled."""
    kinds: list[tuple[type, Any, Any]] = [(bool, np.bool_, False), (Time, "datetime64[ns]", None), (Duration, "timedelta64[ns]", None)]
    for kind, dtype, empty in kinds:
        if isinstance(sample, kind):
            if empty is None:
                nat = np.iinfo(np.int64).min
                return np.array([nat if v is None else int(v) for v in values], np.int64).astype(dtype)
            return np.array([empty if v is None else v for v in values], dtype)
    if type(sample) in (int, float) and any(type(v) is float for v in values) and all(v is None or type(v) in (int, float) for v in values):
        return np.array([np.nan if v is None else v for v in values], np.float64)
    if type(sample) is int and all(v is None or type(v) is int for v in values):
        try:
            return np.array([0 if v is None else v for v in values], np.int64)
        except OverflowError:
            return np.array([0 if v is None else v for v in values], np.uint64)
    out = np.empty(len(values), object)
    for i, v in enumerate(values):
        out[i] = v
    return out


def _resample(frame: Frame, times: Optional[Array], fill: Optional[str], gap: Optional[int]) -> Frame:
    if times is None:
        return frame
    own = frame.times.astype(np.int64)
    before = np.searchsorted(own, times, side="right") - 1
    there = before >= 0
    rows = np.maximum(before, 0)
    if len(own) == 0:
        return Frame(times.astype("datetime64[ns]"), {})
    if fill is None:
        there &= own[rows] == times
    elif gap is not None and fill == "last":
        there &= times - own[rows] <= gap
    columns = {name: c.take(rows, there) for name, c in frame.columns.items()}
    if fill == "interp":
        after = np.minimum(before + 1, len(own) - 1)
        exact = there & (own[rows] == times)
        between = there & (before + 1 < len(own)) & ~exact
        if gap is not None:
            between &= own[after] - own[rows] <= gap
        span = np.maximum(own[after] - own[rows], 1)
        weight = np.where(exact, 0.0, (times - own[rows]) / span)
        for name, c in frame.columns.items():
            columns[name] = _interpolated(name, c, frame, rows, after, weight, exact | between)
        _slerp(columns, frame, rows, after, weight)
    return Frame(times.astype("datetime64[ns]"), columns)


def _interpolated(name: str, c: Column, frame: Frame, rows: Array, after: Array, weight: Array, known: Array) -> Column:
    if c.untyped and c.values.dtype.kind in "iu":
        c = Column(c.values.astype(np.float64), c.valid, c.labels)
    if c.values.dtype.kind != "f":
        return c.take(rows, known)  # of what is no measurement the one before holds
    valid = known if c.valid is None else known & c.valid[rows] & (c.valid[after] | (weight == 0))
    w = weight[:, None] if c.values.ndim == 2 else weight
    a, b = c.values[rows], c.values[after]
    values = np.where(w == 0, a, a + (b - a) * w)
    values[~valid] = np.nan
    return Column(values, valid, c.labels)


def _slerp(columns: dict[str, Column], frame: Frame, rows: Array, after: Array, weight: Array) -> None:
    """Interpolates quaternions on the sphere: four columns x, y, z, w of one member."""
    for name in [n[:-2] for n in frame.columns if n.endswith(".w")]:
        parts = [f"{name}.{axis}" for axis in "xyzw"]
        if not all(p in frame.columns and frame.columns[p].values.dtype.kind == "f" for p in parts):
            continue
        q = np.stack([frame.columns[p].values for p in parts], axis=-1)
        a, b = q[rows], q[after]
        dot = np.sum(a * b, axis=-1)
        b = np.where(dot[:, None] < 0, -b, b)
        angle = np.arccos(np.clip(np.abs(dot), 0, 1))
        sine = np.sin(angle)
        near = sine < 1e-6
        safe = np.where(near, 1, sine)
        wa = np.where(near, 1 - weight, np.sin((1 - weight) * angle) / safe)
        wb = np.where(near, weight, np.sin(weight * angle) / safe)
        mixed = wa[:, None] * a + wb[:, None] * b
        length = np.linalg.norm(mixed, axis=-1, keepdims=True)
        mixed = np.divide(mixed, length, out=mixed, where=length > 0)
        for i, p in enumerate(parts):
            values = np.where(weight == 0, a[:, i], mixed[:, i])
            valid = columns[p].valid
            if valid is not None:
                values[~valid] = np.nan
            columns[p] = Column(values, valid)


def _stacked(parts: list[tuple[ID, Frame]]) -> Frame:
    """Puts the frames of several entities one below the other."""
    names = list({n: None for _, f in parts for n in f.columns})
    sizes = [len(f) for _, f in parts]
    entities = np.repeat(np.array([str(e) for e, _ in parts], object), sizes)
    times = np.concatenate([f.times for _, f in parts])
    columns: dict[str, Column] = {}
    for name in names:
        have = _by_name([f.columns.get(name) for _, f in parts])
        whole = [c for c in have if c is not None]
        labels = whole[0].labels if all(c.labels == whole[0].labels for c in whole) else None
        shapes = {(c.values.dtype, c.values.shape[1:], c.labels is None) for c in whole}
        if len(shapes) == 1 and len(whole) == len(have):
            valid = np.concatenate([np.ones(len(c.values), bool) if c.valid is None else c.valid for c in whole])
            columns[name] = Column(np.concatenate([c.values for c in whole]), valid, labels)
        else:
            columns[name] = _padded(have, sizes, shapes, labels)
    return Frame(times, columns, entities)


def _by_name(have: list[Optional[Column]]) -> list[Optional[Column]]:
    """The columns of lists of several entities with the same labels in the same places."""
    lists = [c for c in have if c is not None and c.values.ndim == 2 and c.values.shape[1]]
    if not lists or any(c is not None and c.values.ndim != 2 for c in have) or len({c.labels is None for c in lists}) > 1:
        return have
    have = [c if c in lists else None for c in have]  # what is always empty is not there
    labels = list(dict.fromkeys(n for c in lists for n in c.labels or ()))
    if not labels:
        return have
    return [None if c is None else Column(aligned(c.values, c.labels or [], labels), c.valid, labels) for c in have]


def _padded(have: list[Optional[Column]], sizes: list[int], shapes: set[Any], labels: Optional[list[str]]) -> Column:
    if len(shapes) == 1:
        dtype, shape, _ = next(iter(shapes))
        empty: Any = {"f": np.nan, "M": np.datetime64("NaT"), "m": np.timedelta64("NaT"), "O": None}.get(dtype.kind, 0)
    else:
        dtype, shape, empty, labels = np.dtype(object), (), None, None
    values = np.full((sum(sizes), *shape), empty, dtype)
    valid = np.zeros(sum(sizes), bool)
    at = 0
    for c, n in zip(have, sizes):
        if c is not None:
            if dtype.kind == "O" and c.values.ndim > 1:
                for i in range(n):
                    values[at + i] = c.values[i]
            else:
                values[at:at + n] = c.values
            valid[at:at + n] = True if c.valid is None else c.valid
        at += n
    return Column(values, valid, labels)
