"""Episodes without a server: the recordings that ``engram serve --data`` and ``engram export`` write."""

from __future__ import annotations

import itertools
import re
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from . import _columns, _query
from ._columns import COLUMNS, COMPRESSED
from ._mcap import Message, Reader, Schema
from ._query import Range
from ._transport import Selector
from .errors import Closed, Corrupt, Invalid, NotFound, Unsupported
from .idf import Registry, Type
from .ids import ID, entity_of
from .snapshots import Instance, Missing, Result, Snapshot, shortest
from .times import SpanLike, Time, TimeLike

if TYPE_CHECKING:
    from .frame import At, Frame
    from .windows import Windows

_SAME = 1 << 31  # of a sequence: another instance of the snapshot before
_RECORD = 9 + 22  # bytes of a message's record before its data


class Entity(NamedTuple):
    """An entity of an episode: the type of its payloads, and how they are stored."""

    id: ID
    type: str
    codec: str


class _Version(NamedTuple):
    """What an envelope says of a version."""

    time: int
    arrived: int
    number: int
    sent: list[Optional[int]]
    confidence: list[float]
    types: list[str]


class _Run(NamedTuple):
    """Messages of an entity in a chunk, not all of them plain: how many versions each completes, and where they are."""

    entity: str
    offset: int
    gaps: list[int]
    firsts: list[int]  # of each message the first version that it completes; at the end how many there are
    versions: list[_Version]


class _Part:
    """A message of codec ``columns``, with the versions that it holds."""

    def __init__(self, entity: ID, m: Message, body: _columns.Columns, versions: list[_Version]) -> None:
        self.entity, self.chunk, self.body, self.versions = entity, m.chunk, body, versions
        self._payloads: Optional[list[bytes]] = None

    def snapshots(self, types: Registry, start: Optional[int], end: Optional[int]) -> Iterator["_Found"]:
        """Yields the snapshots, without their payloads."""
        at = 0
        for v in self.versions:
            if (start is None or v.time >= start) and (end is None or v.time < end):
                instances = [Instance(t, b"", s, c, types) for t, s, c in zip(v.types, v.sent, v.confidence)]
                yield _Found(Snapshot(self.entity, v.time, v.arrived, v.number, False, instances), self, at)
            at += len(v.types)

    def payloads(self, types: Registry, fields: list[str]) -> list[bytes]:
        """Decodes the payloads, with these members at least."""
        if self._payloads is None:
            times = [v.time for v in self.versions for _ in v.types]
            try:
                self._payloads = self.body.payloads(times, self._numbers(types, fields))
            except Unsupported as e:
                raise Unsupported(self.entity, e.message) from None
            except (Corrupt, ArithmeticError, LookupError, ValueError) as e:
                reason = e.message if isinstance(e, Corrupt) else e
                raise Corrupt(self.entity, f"its message of codec columns in the chunk at {self.chunk} is damaged: {reason}") from None
        return self._payloads

    def _numbers(self, types: Registry, fields: list[str]) -> Optional[set[int]]:
        names = {t for v in self.versions for t in v.types}
        if not fields or len(names) != 1 or not all(n in types for n in names):
            return None
        t = types.get(names.pop())
        found = {m.name: m.number for m in t.members}
        return None if t.wrapper or any(f not in found for f in fields if f != "name") else {found[f] for f in fields if f in found}


class _Found(NamedTuple):
    """A snapshot. One of a coded message gets its payloads when it is wanted."""

    snapshot: Snapshot
    part: Optional[_Part] = None
    at: int = 0

    def whole(self, types: Registry, fields: list[str]) -> Snapshot:
        if self.part is not None:
            payloads = self.part.payloads(types, fields)
            for i, instance in enumerate(self.snapshot.instances):
                instance.data = payloads[self.at + i]
        return self.snapshot


_READ = {("columns", COLUMNS), ("zstd", COMPRESSED)}  # codecs, and the types of their messages
_MAX_HELD = 64 << 20  # bytes of payloads
_MAX_INSTANCES = 2 << 20  # of an envelope


class Episode:
    """A recording: an MCAP file as docs/formats/episode.md has it. Use it in a ``with``.

    It answers :meth:`query`, :meth:`latest` and :meth:`frame` as a memory does; filters are functions of Python. Payloads that the
    codecs ``columns`` (numbers) and ``zstd`` have coded are read as they were committed, byte by byte. Images that a codec has coded
    (``video``, ``jpeg``, ``image``) are not read here: they are left out with a warning, and a pattern that selects nothing else is
    Unsupported. ``engram export`` writes them plain. Damaged data are Corrupt, by the name of the entity. One thread at a time uses it.

    Of a file that has no end, because it is still being written or was cut off, what is whole is read, with a warning.
    """

    complete: bool
    """Whether the file has its end."""

    def __init__(self, path: str) -> None:
        self.path = str(path)
        try:
            self._reader = Reader(self.path)
        except FileNotFoundError:
            raise NotFound(self.path, "there is no such file") from None
        except IsADirectoryError:
            raise Invalid(self.path, "an episode is a file, NAME.mcap; this is a folder") from None
        self._registry = Registry()
        self._channels: dict[int, Entity] = {}
        derived = {c.schema for c in self._reader.channels.values() if "id" not in c.metadata}  # for viewers, and envelopes
        for number, schema in self._reader.schemas.items():
            if schema.encoding == "protobuf" and schema.name not in self._registry and number not in derived:
                self._add(schema)
        self._coded: dict[int, str] = {}  # the type of the messages that a codec has made
        for c in self._reader.channels.values():
            if "id" not in c.metadata:
                continue
            found = self._reader.schemas.get(c.schema)
            name, type, codec = found.name if found else "", c.metadata.get("type", ""), c.metadata.get("codec") or "plain"
            if (codec, name) in _READ:
                self._coded[c.id] = name
            elif name:
                type = name
                if found is not None and found.encoding == "protobuf" and name not in self._registry:
                    self._add(found)
            self._channels[c.id] = Entity(ID(c.metadata["id"]), type, codec)
        if not self._channels and not any(c.topic == "engram/envelope" for c in self._reader.channels.values()):
            self._reader.close()
            raise Invalid(self.path, "it is a recording, but no episode of Engram; 'engram import' reads it into a memory")
        self._envelopes: Optional[dict[tuple[str, int], list[_Version]]] = None
        self._runs: dict[int, list[_Run]] = {}  # by the place of the chunk
        self.complete = self._reader.sealed
        if not self.complete:
            rest = f", without its last {self._reader.left} bytes" if self._reader.left else ""
            warnings.warn(f"{self.path}: the file has no end: it is still being written, or was cut off; what is whole is read{rest}", stacklevel=3)

    def _add(self, schema: Schema) -> None:
        try:
            self._registry.add(schema.data)
        except (Corrupt, NotFound, TypeError, LookupError, ValueError) as e:
            self._reader.close()
            raise Corrupt(schema.name, f"its definition in {self.path} is damaged: {e}") from None

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> "Episode":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def entities(self) -> list[Entity]:
        """What it holds, sorted by ID."""
        return sorted(set(self._channels.values()))

    @property
    def info(self) -> dict[str, str]:
        """What the episode says of itself, such as robot, snapshots, recorded_start."""
        found: dict[str, str] = {}
        for name, metadata in self._reader.metadata:
            if name.startswith(("engram.episode", "engram.open")) or name == "engram":
                found.update(metadata)
        return found

    def type(self, name: str) -> Type:
        """Returns a type by its full name."""
        return self._registry.get(name)

    def read(self, pattern: Union[str, Iterable[str]] = "*", *, range: Optional[Range] = None) -> Iterator[Snapshot]:
        """Yields the snapshots of matching entities in the order of the file, which is mostly that of time; with each version of
        those that were superseded."""
        for found in self._read(pattern, range):
            yield found.whole(self._registry, [])

    def _read(self, pattern: Union[str, Iterable[str]], range: Optional[Range]) -> Iterator[_Found]:
        if self._reader.closed:
            raise Closed(self.path, "the episode is closed; open it anew")
        start, end = _query.parse_range(range) if range is not None else (None, None)
        wanted = self._readable(pattern)
        own = {id: int(self._reader.channels[id].metadata["time"]) for id in wanted if "time" in self._reader.channels[id].metadata}
        also: set[int] = set()
        if self._coded.keys() & wanted:
            self._told()
            ids = {str(self._channels[id].id) for id in wanted}
            also = {chunk for chunk, runs in self._runs.items() for r in runs if r.entity in ids
                    and any((start is None or v.time >= start) and (end is None or v.time < end) for v in r.versions)}
        open_: dict[ID, tuple[Message, list[Instance], Optional[_Version]]] = {}
        places: dict[int, tuple[_Run, int]] = {}  # where messages of the chunk's runs are
        held: list[_Found] = []  # of a chunk, if it has messages that hold several
        size = chunk = 0
        # What stands at the beginning has a time of its own, which its log time does not tell.
        for m in self._reader.messages(wanted, None if own else start, end if not own else None, also):
            if m.chunk != chunk or size > _MAX_HELD:
                yield from sorted(held, key=lambda f: (f.snapshot.time, f.snapshot.arrived))
                held, size = [], 0
            if m.chunk != chunk:
                chunk = m.chunk
                places = {r.offset + (r.gaps[0] if r.gaps else 0): (r, 0) for r in self._runs.get(chunk, ())}
            entity, coded = self._channels[m.channel], self._coded.get(m.channel, "")
            run, i = places.pop(m.at, (None, 0))
            if run is not None and i + 2 < len(run.firsts):
                places[m.at + _RECORD + len(m.data) + (run.gaps[i + 1] if run.gaps else 0)] = run, i + 1
            type, data = entity.type, m.data
            if coded == COMPRESSED:
                type, data = "", self._decompressed(m)
            elif coded == COLUMNS:
                try:
                    body = _columns.Columns(m.data)
                except (Corrupt, Unsupported) as e:
                    raise e.__class__(entity.id, e.message) from None
                if body.plain is None:
                    if entity.id in open_:
                        held += self._whole(*open_.pop(entity.id), own, start, end)
                    if run is not None:
                        part = _Part(entity.id, m, body, run.versions[run.firsts[i]:run.firsts[i + 1]])
                        held += part.snapshots(self._registry, start, end)
                        size += body.bytes
                    elif self.complete:
                        raise Corrupt(entity.id, f"nothing tells what its message of codec columns in the chunk at {chunk} holds; "
                                                 "its envelope is damaged, or another program has changed the file")
                    continue
                type, data = COLUMNS, memoryview(body.plain)
            instance = Instance(type, data, None, 1.0, self._registry)
            if m.sequence & _SAME and entity.id in open_:
                open_[entity.id][1].append(instance)
                continue
            if entity.id in open_:
                whole = self._whole(*open_[entity.id], own, start, end)
                if chunk in self._runs:
                    held += whole
                else:
                    yield from whole
            open_[entity.id] = m, [instance], run.versions[run.firsts[i]] if run is not None and run.firsts[i] < len(run.versions) else None
        for last in open_.values():
            held += self._whole(*last, own, start, end)
        yield from sorted(held, key=lambda f: (f.snapshot.time, f.snapshot.arrived))

    def _readable(self, pattern: Union[str, Iterable[str]]) -> set[int]:
        """The channels of matching entities, without those that are not read. Unsupported if a pattern selects these alone."""
        wanted: set[int] = set()
        left: dict[ID, str] = {}
        unread = {e.id: e.codec for id, e in self._channels.items() if e.codec != "plain" and e.codec not in ("columns", "zstd")}
        for p in _query.patterns_of(pattern):
            match = matcher(p)
            found = {id for id, e in self._channels.items() if match(e.id)}
            readable = {id for id in found if self._channels[id].id not in unread}
            for e in (self._channels[id] for id in found - readable):
                if not readable:
                    raise Unsupported(e.id, f"it is stored by the codec {unread[e.id]}, which is not read here; "
                                            f"'engram export' writes it plain, or a server with --data reads it")
                left[e.id] = unread[e.id]
            wanted |= readable
        for entity, codec in sorted(left.items()):
            warnings.warn(f"{entity}: it is left out, as it is stored by the codec {codec}, which is not read here; "
                          f"'engram export' writes it plain", stacklevel=4)
        return wanted

    def _decompressed(self, m: Message) -> memoryview:
        c = self._reader.channels[m.channel]
        name = c.metadata.get("dictionary", "")
        if name and name not in self._reader.attachments:
            raise Corrupt(c.metadata["id"], f"its dictionary {name} is missing")
        try:
            return memoryview(_columns.decompressed(m.data, self._reader.attachments.get(name, b"")))
        except Corrupt as e:
            raise Corrupt(c.metadata["id"], f"its message of codec zstd in the chunk at {m.chunk} is damaged: {e.message}") from None

    def _whole(self, m: Message, instances: list[Instance], v: Optional[_Version], own: dict[int, int], start: Optional[int],
               end: Optional[int]) -> Iterator[_Found]:
        entity = self._channels[m.channel].id
        time, arrived, number = own.get(m.channel, m.log_time), m.publish_time, 0
        if v is None:
            versions = self._told().get((entity, arrived), [])
            v = next((v for v in versions if v.time == time), versions[0] if versions else None)
        if v is not None:
            time, arrived, number = v.time, v.arrived, v.number
            for i, type, sent, confidence in zip(instances, v.types, v.sent, v.confidence):
                i.type = i.type or type
                i.sent = None if sent is None else Time(sent)
                i.confidence = shortest(confidence)
        if any(not i.type for i in instances):
            if self.complete:
                raise Corrupt(entity, f"nothing tells the type of its message in the chunk at {m.chunk}; its envelope is damaged")
            return
        if (start is None or time >= start) and (end is None or time < end):
            yield _Found(Snapshot(entity, time, arrived, number, False, instances))

    def _told(self) -> dict[tuple[str, int], list[_Version]]:
        """What envelopes tell, by entity and arrival."""
        if self._envelopes is None:
            from google.protobuf.message import DecodeError

            from ._schema import message

            self._envelopes = {}
            parse = message("engram.ltm.v1.Envelope").FromString
            channels = {c.id for c in self._reader.channels.values() if c.topic == "engram/envelope"}
            for m in self._reader.messages(channels):
                try:
                    e = parse(bytes(m.data))
                except DecodeError:
                    raise Corrupt(self.path, f"an envelope in the chunk at {m.chunk} cannot be read") from None
                versions = _unfold(e)
                for v in versions:
                    self._envelopes.setdefault((e.entity, v.arrived), []).append(v)
                if e.completes:
                    run = _Run(e.entity, e.offset, list(e.gap), [0, *itertools.accumulate(e.completes)], versions)
                    if run.firsts[-1] != len(versions) or len(run.gaps) not in (0, len(e.completes)):
                        raise Corrupt(e.entity, "an envelope does not add up")
                    self._runs.setdefault(m.chunk - e.chunk_back, []).append(run)
        return self._envelopes

    def query(self, pattern: Union[str, Iterable[str]] = "*", *, latest: Optional[int] = None, at: Optional[TimeLike] = None, nearest: Optional[TimeLike] = None,
              within: SpanLike = "1s", range: Optional[Range] = None, all: bool = False, index: Union[None, int, tuple[int, int]] = None,
              exactly: Optional[TimeLike] = None, where: Union[None, str, Callable[[Instance], bool]] = None, fields: Iterable[str] = (), target: str = "both") -> Result:
        """Returns snapshots as :meth:`engram.client.Memory.query` does. ``where`` is a function of an instance, such as
        ``lambda i: i.confidence > 0.8``. With ``fields`` payloads have at least these members."""
        if isinstance(where, str):
            if where:
                raise Unsupported("where", "without a server a filter is a function, such as lambda i: i.confidence > 0.8")
            where = None
        times = {"at": at, "nearest": nearest, "range": range, "exactly": exactly}
        relative = _query.is_relative(**times)

        def choose(newest: int) -> list[Selector]:
            return _query.selectors(latest=latest, within=within, all=all, index=index, **_query.resolved(times, newest))

        chosen = choose(0)
        wanted = [fields] if isinstance(fields, str) else [f.partition(".")[0] for f in fields]
        by: dict[ID, dict[int, _Found]] = {}
        only = range if not relative and [kind for kind, _, _ in chosen] == [_query.RANGE] else None
        for f in self._read(pattern, only):
            s = f.snapshot
            known = by.setdefault(s.entity, {}).get(s.time)
            if known is None or known.snapshot.arrived <= s.arrived:
                by[s.entity][s.time] = f
        found: list[Snapshot] = []
        for id in sorted(by):
            versions = by.pop(id)
            timeline = [versions.pop(t) for t in sorted(versions)]
            times_ = [f.snapshot.time for f in timeline]
            if relative:
                chosen = choose(times_[-1])
            for at_ in sorted({i for kind, a, b in chosen for i in _select(times_, kind, a, b)}):
                s = timeline[at_].whole(self._registry, wanted)
                if where is not None:
                    s = Snapshot(s.entity, s.time, s.arrived, s.number, s.recalled, [i for i in s.instances if where(i)])
                if s.instances:
                    found.append(s)
        missing: list[Missing] = []
        return Result(found, missing, [])

    def _members(self, pattern: Union[str, Iterable[str]], heads: list[str]) -> list[str]:
        return [*heads, "name"] if heads and "name" not in heads else heads

    def latest(self, entity: str, *, at: Optional[TimeLike] = None) -> Snapshot:
        """Returns an entity's newest snapshot, or the newest not after a time. NotFound if there is none."""
        id = entity_of(entity)
        found = self.query(_query.pattern_of(id), at=at)
        if not found:
            raise NotFound(id, "the episode has no such snapshot")
        return found[0]

    def frame(self, pattern: Union[str, Iterable[str]], *, range: Optional[Range] = None, fields: Iterable[str] = (), at: Optional["At"] = None,
              every: Optional[SpanLike] = None, fill: Optional[str] = None, max_gap: Optional[SpanLike] = None) -> "Frame":
        """Returns a frame as :meth:`engram.client.Memory.frame` does."""
        from .frame import read_frame

        return read_frame(self, pattern, range=range, fields=fields, at=at, every=every, fill=fill, max_gap=max_gap, where="", target="both")

    def windows(self, spans: Mapping[str, Sequence[SpanLike]], *, at: Optional["At"] = None, fields: Optional[Mapping[str, Iterable[str]]] = None) -> "Windows":
        """Returns windows as :meth:`engram.client.Memory.windows` does."""
        from .windows import read_windows

        if at is None:
            at = sorted({f.snapshot.time for first in [*spans][:1] for f in self._read(first, None)})
        return read_windows(self, spans, at=at, fields=fields or {}, target="both")

    def __repr__(self) -> str:
        return f"<Episode {self.path}: {len(self.entities)} entities>"

    def _repr_html_(self) -> str:
        from ._display import table_html

        return table_html(["entity", "type", "codec"], self.entities)


def _select(times: list[Time], kind: int, a: int, b: int) -> list[int]:
    """The places of a timeline that a selector chooses."""
    from bisect import bisect_left, bisect_right

    n = len(times)
    if kind == _query.ALL:
        return list(range(n))
    if kind == _query.LATEST:
        return list(range(max(n - a, 0), n))
    if kind == _query.AT:
        i = bisect_left(times, a)
        return [i] if i < n and times[i] == a else []
    if kind == _query.AT_OR_BEFORE:
        i = bisect_right(times, a) - 1
        return [i] if i >= 0 else []
    if kind == _query.NEAREST:
        i = min(range(n), key=lambda i: abs(times[i] - a), default=-1)
        return [i] if i >= 0 and abs(times[i] - a) <= b else []
    if kind == _query.RANGE:
        return list(range(bisect_left(times, a), bisect_left(times, b)))
    first, last = (p + n if p < 0 else p for p in (a, b))
    return list(range(max(first, 0), min(last + 1, n)))


def _unfold(e: Any) -> list[_Version]:
    """Adds up the differences of an envelope's columns."""
    n = len(e.time)
    instances = list(e.instances) or [1] * n
    total = sum(instances)
    if len(e.arrived) != n or len(e.number) not in (0, n) or len(instances) != n or total > _MAX_INSTANCES or n and not e.types \
            or any(len(c) not in (0, total) for c in (e.sent, e.unsent, e.confidence, e.type)) or max(e.type, default=0) >= max(len(e.types), 1):
        raise Corrupt(e.entity, "an envelope does not add up")
    versions = []
    time = arrived = number = at = 0
    for i in range(n):
        time += e.time[i]
        arrived += e.arrived[i]
        number += e.number[i] if e.number else 0
        own = range(at, at + instances[i])
        sent = [None if e.unsent and e.unsent[k] else arrived - (e.sent[k] if e.sent else 0) for k in own]
        confidence = [e.confidence[k] if e.confidence else 1.0 for k in own]
        versions.append(_Version(time, arrived, number, sent, confidence, [e.types[e.type[k]] if e.type else e.types[0] for k in own]))
        at += instances[i]
    return versions


def matcher(pattern: Union[str, Iterable[str]]) -> Callable[[ID], bool]:
    """Returns what tells whether an entity matches a pattern, or one of several: names, ``*``, or ``~`` and a regular expression."""
    tests: list[list[Callable[[str], bool]]] = []
    for p in _query.patterns_of(pattern):
        levels: list[Callable[[str], bool]] = []
        for part in _query._raw(p) if p else []:
            if part == "*":
                levels.append(lambda _: True)
            elif part.startswith("~"):
                try:
                    compiled = re.compile(part[1:].replace("\\/", "/"))
                except re.error as e:
                    raise Invalid(part, f"not a regular expression: {e}") from None
                levels.append(lambda name, c=compiled: c.fullmatch(name) is not None)  # type: ignore[misc]
            else:
                plain = re.sub(r"\\([/\\*~])", r"\1", part)
                levels.append(lambda name, want=plain: name == want)  # type: ignore[misc]
        if len(levels) > 4:
            raise Invalid(p, "a pattern has at most four levels: memory/core/provider/entity")
        tests.append(levels)
    return lambda id: any(all(test(name) for test, name in zip(levels, id.parts)) for levels in tests)
