"""The client: all memories that servers have, by name."""

from __future__ import annotations

import functools
import operator
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from . import _query, errors
from ._encode import payload_of
from ._query import Range
from ._servers import Servers, retried
from ._transport import Commit, Reply, Selector, Transport
from ._wire import members
from .idf import Registry, Type, nearest
from .ids import ID, entity_of, time_of
from .snapshots import Committed, CopyUsed, Missing, Result, Snapshot, lacking, snapshot_of
from .stream import CommitStream
from .times import Duration, SpanLike, Time, TimeLike, now, parse_span, parse_time
from .watch import Watch

if TYPE_CHECKING:
    from .frame import At, Frame
    from .hosting import HostedMemory
    from .poses import Poses
    from .trace import Trace
    from .windows import Windows
    from .world import World


class Datum(NamedTuple):
    """One of several instances of a snapshot."""

    value: Any
    confidence: float = 1.0
    sent: Optional[TimeLike] = None
    type: Optional[str] = None


class Segment(NamedTuple):
    """A core or provider segment: its ID, the type of its payloads, and what it keeps."""

    id: ID
    type: str
    max_count: int = 0
    max_age: int = 0
    max_bytes: int = 0


class Predicted(NamedTuple):
    """The prediction for a snapshot's ID: the snapshot, or why there is none."""

    id: ID
    snapshot: Optional[Snapshot]
    error: Optional[errors.Error]


class Memory:
    """All memories that can be reached. Make one with :func:`engram.connect`. Safe for concurrent use.

    IDs are texts such as ``Object/Instance/Vision/blue-cup``; patterns have ``*`` for any name, or ``~`` and
    a regular expression. Times are nanoseconds, texts such as ``now-10s``, or datetimes. Errors are those of
    :mod:`engram.errors`.
    """

    def __init__(self, address: Optional[str] = None, *, credentials: Optional[str] = None, timeout: float = 5.0,
                 call_timeout: Optional[float] = None, detection_timeout: float = 3.0) -> None:
        for name, seconds in ("timeout", timeout), ("call_timeout", call_timeout), ("detection_timeout", detection_timeout):
            if seconds is not None and not (isinstance(seconds, (int, float)) and seconds > 0):
                raise errors.Invalid(f"{name}={seconds!r}", "seconds, more than 0")
        self._servers = Servers(address, credentials, timeout, call_timeout, detection_timeout)
        self._segment_types: dict[tuple[str, ...], str] = {}
        self._linking: set[ID] = set()  # provider segments in which a trace met payloads that may hold links

    def close(self) -> None:
        """Ends all connections."""
        self._servers.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            return f"<engram.Memory at {self.address}: {', '.join(self.memories())}>"
        except errors.Error as e:
            return f"<engram.Memory at {self.address}, which is not reached: {type(e).__name__}>"

    def _repr_html_(self) -> str:
        from ._display import table_html

        try:
            return table_html(["segment", "type"], [(s.id, s.type) for s in self.segments() if s.id.level == 2])
        except errors.Error:
            return table_html([repr(self)], [])

    @property
    def _registry(self) -> Registry:
        return self._servers.registry

    @property
    def address(self) -> str:
        """Where the memory was found."""
        return self._servers.home.address

    @property
    def robot(self) -> str:
        """The name of the robot, if it has one."""
        return self._servers.robot

    def memories(self) -> list[str]:
        """The names of all memories."""
        return sorted({*self._servers.hosted, *self._servers.names()})

    # Writing

    def commit(self, entity: str, value: Any = None, *, time: Optional[TimeLike] = None, confidence: float = 1.0, sent: Optional[TimeLike] = None,
               type: Optional[str] = None, instances: Optional[Iterable[Any]] = None, recorded: bool = False) -> ID:
        """Writes a snapshot, and returns its ID.

        The value is a dict of members, an object of a class that ``engram gen`` wrote, a message of protobuf, or
        encoded bytes. A member that is a link takes an ID or a snapshot. Without a time it is now; without a type it is
        the segment's. ``instances`` takes several values, or :class:`Datum`, in the place of one. ``recorded``
        says that the time is of a recording, and may lie ahead of the clock.
        """
        update = self.update(entity, value, time=time, confidence=confidence, sent=sent, type=type, instances=instances)
        try:
            done = self._servers.of(update.entity.memory).commit([update], recorded)[0]
        except errors.TypeMismatch:
            self._segment_types.clear()
            raise
        if done.error is not None:
            self._segment_types.clear()  # the segment may be another one by now
            raise done.error
        done.warn()
        return done.id

    def update(self, entity: str, value: Any = None, *, time: Optional[TimeLike] = None, confidence: float = 1.0, sent: Optional[TimeLike] = None,
               type: Optional[str] = None, instances: Optional[Iterable[Any]] = None) -> Commit:
        """Makes, of the arguments of :meth:`commit`, an update for :meth:`commit_all`."""
        id = entity_of(entity)
        if instances is None:
            instances = [Datum(value, confidence, sent, type)]
        elif value is not None:
            raise errors.Invalid(id, "there are a value and instances; give the value as one of the instances")
        when = now() if time is None else parse_time(time)
        if len(id) < len(entity):  # a snapshot's ID
            own = ID(entity).time
            if own is not None and time is not None and own != when:
                raise errors.Invalid(entity, f"the ID has a time, and another one is given, {when}")
            when = when if own is None else own
        return Commit(id, when, [self._datum(id, d if isinstance(d, Datum) else Datum(d, confidence, sent, type)) for d in instances])

    def _datum(self, id: ID, d: Datum) -> tuple[str, Any, Optional[int], float]:
        if d.value is None:
            raise errors.Invalid(id, "there is nothing to commit; give a value")
        try:
            confidence = float(d.confidence)
        except (TypeError, ValueError):
            raise errors.Invalid(id, f"a confidence is a number from 0 to 1, not {d.confidence!r:.60}") from None
        name, data = payload_of(d.value, d.type, self._servers.registry, lambda: self.segment_type(id))
        return name, data, None if d.sent is None else parse_time(d.sent), confidence

    def commit_all(self, updates: Iterable[Commit], *, recorded: bool = False) -> list[Committed]:
        """Writes updates in one request for each server. A refused one has its error in the
        result, at its place, and does not keep the others from being stored."""
        updates = list(updates)
        for u in updates:
            if not isinstance(u, Commit):
                raise errors.Invalid("updates", f"they are what m.update(…) returns, not {u!r:.60}")
        by: dict[int, tuple[Transport, list[int]]] = {}
        for i, u in enumerate(updates):
            transport = self._servers.of(u.entity.memory)
            by.setdefault(id(transport), (transport, []))[1].append(i)
        done: list[Optional[Committed]] = [None] * len(updates)
        for transport, places in by.values():
            for i, result in zip(places, transport.commit([updates[i] for i in places], recorded)):
                done[i] = result
        return [d for d in done if d is not None]

    def stream(self, *, window: int = 64, recorded: bool = False) -> CommitStream:
        """Begins a stream of commits, of which ``window`` are under way at once."""
        return CommitStream(self.update, self._servers.of, window, recorded)

    # Reading

    def latest(self, entity: str, *, at: Optional[TimeLike] = None) -> Snapshot:
        """Returns an entity's newest snapshot, or the newest not after a time, such as that of a snapshot's ID. NotFound if there is
        none."""
        id = entity_of(entity)
        transport = self._servers.of(id.memory)
        when = time_of(entity) if at is None else parse_time(at)
        return retried(lambda: transport.latest(id, when))

    def get(self, id: str) -> Snapshot:
        """Returns the snapshot of an ID, such as a link has: of an entity's the newest, of an instance's
        its snapshot. NotFound if there is none."""
        of = ID(id)
        if of.time is None:
            return self.latest(of)
        found = self.query(_query.pattern_of(of.entity), exactly=of.time)
        if not found:
            raise errors.NotFound(of, "there is no such snapshot" + (f"; {lacking(found.missing)}" if found.missing else ""))
        if (of.instance or 0) >= len(found[0]):
            raise errors.NotFound(of, f"the snapshot has {len(found[0])} instances, numbered from 0")
        return found[0]

    def query(self, pattern: Union[str, Iterable[str]] = "*", *, latest: Optional[int] = None, at: Optional[TimeLike] = None,
              nearest: Optional[TimeLike] = None, within: SpanLike = "1s", range: Optional[Range] = None, all: bool = False,
              index: Union[None, int, tuple[int, int]] = None, exactly: Optional[TimeLike] = None, where: str = "", type: str = "",
              links_to: Union[str, Iterable[str]] = (), links_exactly: bool = False, fields: Iterable[str] = (), target: str = "both",
              as_of: Optional[TimeLike] = None, filter_first: bool = False, payload: bool = True, source: str = "any") -> Result:
        """Returns snapshots of all entities that match the pattern: the latest of each, if nothing is selected.

        ``latest`` is how many of the newest, ``at`` the one in force at a time, ``nearest`` the closest to a time (and not
        farther than ``within``), ``range`` those from a start up to an end, ``index`` those at places from first to last
        (negative ones from the end), ``exactly`` the one of a time. Several selectors are a union.

        ``where`` is a CEL expression over an instance, such as ``confidence > 0.8 && pose.position.z < 1.0``. Of what is
        selected only what satisfies it is returned; with ``filter_first`` it is selected among what does.
        Times such as ``-10s`` are told from each entity's newest snapshot on, as ``at="-10s"`` and ``range="-10s.."``.
        ``type`` keeps payloads of a type, or of one that extends it; ``links_to`` those that link to one of these IDs, or to
        something in it, unless ``links_exactly``: so a program asks for all that came of an image.
        ``fields`` returns these members only; ``as_of`` is what was known at a time of arrival.
        """
        if isinstance(fields, str):
            fields = [fields]
        links = [links_to] if isinstance(links_to, str) else list(links_to)
        _query.text("where", where)
        times = {"at": at, "nearest": nearest, "range": range, "exactly": exactly}
        if _query.is_relative(**times):
            found = []
            for s in self.query(pattern, payload=False, target=target, source=source):
                one = self.query(_query.pattern_of(s.entity), **_query.resolved(times, s.time), latest=latest, within=within, all=all, index=index,
                                 where=where, type=type, links_to=links, links_exactly=links_exactly, fields=fields, target=target, as_of=as_of,
                                 filter_first=filter_first, payload=payload, source=source)
                found.append(one)
            return Result([s for r in found for s in r], [m for r in found for m in r.missing], [c for r in found for c in r.copies])
        chosen = _query.selectors(latest=latest, at=at, nearest=nearest, within=within, range=range, all=all, index=index, exactly=exactly)
        simple = not where and not type and not links and not fields and as_of is None and source == "any"
        replies = []
        for p in self._patterns(pattern):
            if simple and len(chosen) < 256 and _query.is_entity(p):
                reply = self._select(_query.plain_id(p), chosen, _query.choice("target", target, _query.TARGETS), payload)
                if reply is not None:
                    replies.append(reply)
                    continue
            memory = _query.memory_of(p)
            named = self._servers.in_full(links) if memory is not None and ":" in memory else links
            encoded = _query.request(p, chosen, where=where, type=type, links_to=named, links_exactly=links_exactly, fields=fields, target=target,
                                     as_of=as_of, filter_first=filter_first, payload=payload, source=source).SerializeToString()
            ask = operator.methodcaller("query", encoded)
            answers = [self._owned(t, retried(functools.partial(ask, t))) for t in self._servers.all()] if memory is None else [self._answer(memory, ask)]
            replies += [r for r in answers if r is not None]
        result = _merged(replies)
        if where and not result.snapshots:
            failed = next((m for m in result.missing if m.detail), None)
            if failed is not None:
                warnings.warn(f"where={where!r} could not be evaluated on {failed.example}: {failed.detail}", stacklevel=2)
        return result

    def _read(self, asked: Mapping[ID, Iterable[Selector]], *, target: str, as_of: Optional[TimeLike], payload: bool) -> Result:
        """Returns what is selected of each entity, in one request for each server. What no server answers for is missing."""
        memories: dict[str, dict[ID, Iterable[Selector]]] = {}
        for entity, chosen in asked.items():
            memories.setdefault(entity.memory, {})[entity] = chosen
        shares: dict[Transport, list[str]] = {}
        for memory in memories:
            owner = self._servers.owner(memory)
            if owner is not None:
                shares.setdefault(owner, []).append(memory)

        def asking(names: list[str]) -> Callable[[Transport], Reply]:
            part = {entity: chosen for n in names for entity, chosen in memories[n].items()}
            return operator.methodcaller("query", _query.tree(part, target=target, as_of=as_of, payload=payload).SerializeToString())

        replies = []
        for transport, names in shares.items():
            try:
                replies.append(retried(functools.partial(asking(names), transport)))
            except errors.Unavailable:
                continue
            for n in names:
                del memories[n]
        for memory in memories:  # one by one: a copy may answer for it
            try:
                reply = self._answer(memory, asking([memory]))
            except (errors.Unavailable, errors.NotFound) as e:
                reply = Reply()
                if isinstance(e, errors.Unavailable) or ":" in memory:  # what a robot that is away has is not known
                    reply.missing.append(Missing(ID.of(memory), "unreachable", 0, Time(0), Time(0)))
            if reply is not None:
                replies.append(reply)
        return _merged(replies)

    def trace(self, id: str, *, down: bool = False, depth: int = 20, nodes: int = 1000, memories: Union[str, Iterable[str]] = (),
              as_of: Optional[TimeLike] = None, target: str = "both") -> "Trace":
        """Follows links from an entity, whose newest snapshot is taken, a snapshot or an instance: up to all that led to it, or
        ``down`` to all that came of it; see :class:`engram.trace.Trace` and docs/traces.md.

        ``depth`` is how many links away at most, ``nodes`` how many nodes; ``memories`` are those that links are followed into, such
        as ``Vision``, ``robot1:Object`` or ``*:Skill``: all that are linked to without it, and of ``down`` those of this
        robot. ``as_of`` is what was known at a time of arrival. What is not there is a node that says why. NotFound, TooOld or Unavailable
        if the trace cannot begin, Invalid if it is to begin at a segment or memory.
        """
        from .trace import read_trace

        return read_trace(self, id, down=down, depth=depth, nodes=nodes, memories=memories, as_of=as_of, target=target)

    def _select(self, entity: ID, chosen: list[Selector], target: int, payload: bool) -> Optional[Reply]:
        return self._answer(entity.memory, lambda t: t.select(entity, chosen, target, payload))

    def _answer(self, memory: str, ask: Callable[[Transport], Optional[Reply]]) -> Optional[Reply]:
        """Returns what a memory's server answers, or where that is not reached one with a copy; what came later is missing then."""
        try:
            return retried(lambda: ask(self._servers.of(memory)))
        except errors.Unavailable:
            copy = next(self._servers.copies(memory), None)
            if copy is None:
                raise
            answer = ask(copy)
            if answer is not None:
                answer.missing.append(Missing(ID.of(memory), "unreachable", 0, Time(0), Time(0)))
            return answer

    def _owned(self, transport: Transport, reply: Optional[Reply]) -> Optional[Reply]:
        """An answer about all memories, without those that have another server: one may hold a copy, or what it had before."""
        if reply is not None:
            names = {s.entity.memory for s in reply.snapshots}
            others = {n for n in names if ":" not in n and self._servers.owner(n) not in (None, transport)}
            if others:
                reply.snapshots = [s for s in reply.snapshots if s.entity.memory not in others]
        return reply

    def _patterns(self, pattern: Union[str, Iterable[str]]) -> list[str]:
        """The patterns, with those of other robots' memories written out."""
        return [e for p in _query.patterns_of(pattern) for e in self._servers.expanded(p)]

    def _for(self, pattern: str) -> list[Transport]:
        """Returns the servers that a pattern concerns."""
        memory = _query.memory_of(pattern)
        return self._servers.all() if memory is None else [self._servers.of(memory)]

    def watch(self, pattern: Union[str, Iterable[str]] = "*", *, backfill: Union[None, int, str, TimeLike, SpanLike] = None, data: bool = True,
              where: str = "", fields: Iterable[str] = (), newest_only: bool = False, queue: int = 0, give_up: Optional[float] = None) -> Watch:
        """Yields an update for each snapshot that is written, first for those of a backfill: the last n of each entity
        (an int), those since a time, or as far back as a duration such as ``"10s"``.

        With ``newest_only`` a slow reader gets of each entity the newest update only; else the oldest that wait are dropped,
        and counted, when there are more than ``queue``. It reconnects, for ``give_up`` seconds or without end.
        """
        from ._schema import message

        patterns = self._patterns(pattern)
        fields = [fields] if isinstance(fields, str) else list(fields)
        if _query.whole("queue", queue) < 0:
            raise errors.Invalid(f"queue={queue}", "a number of updates, or 0 for the server's own")
        for absent in self._absent(patterns, [f.partition("[")[0] for f in fields]):
            raise absent
        request = message("SubscribeRequest")(with_data=data, where=_query.text("where", where), fields=fields, slow=1 if newest_only else 0,
                                              queue=min(queue, (1 << 32) - 1), failures=bool(where))
        since: Optional[int] = None
        if isinstance(backfill, bool):
            raise errors.Invalid(f"backfill={backfill}", "a number of snapshots, a time or a duration")
        if isinstance(backfill, int) and not isinstance(backfill, (Time, Duration)):
            if backfill < 0:
                raise errors.Invalid(f"backfill={backfill}", "a number of snapshots, a time or a duration")
            if backfill:
                request.last = min(backfill, (1 << 32) - 1)
        elif backfill is not None:
            since = self._since(backfill)
            request.since = since
        for core in _query.cores_of(patterns):
            if not self.segments(_query.pattern_of(core)):
                warnings.warn(f"{core}: there is no such segment yet{self._near_segment(core)}", stacklevel=2)
        for absent in self._absent(patterns, _query.members_of(where)):
            warnings.warn(f"where={where!r} asks for {absent}", stacklevel=2)
        transports: list[Transport] = []
        for p in patterns:
            transports += [t for t in self._for(p) if t not in transports]

        def of(transport: Transport) -> Any:
            part = type(request)()
            part.CopyFrom(request)
            part.patterns.extend(p for p in patterns if len(transports) == 1 or transport in self._for(p))
            return part

        return Watch(transports, of, since, give_up)

    def _absent(self, patterns: list[str], paths: list[str]) -> Iterator[errors.NotFound]:
        """Yields an error for each path of members that no payload of the segments can have."""
        try:
            parts = [_query._raw(p) for p in patterns] if paths else []
            names = {s.type for p in parts for s in self.segments("/".join(p[:3])) or self.segments("/".join(p[:2]))}  # the provider may come yet
            if not names or names & {"", "engram.idf.v1.Value"}:
                return
            types = [self.type(n) for n in names]
            if any(all(t.lacks(p) for t in types) for p in paths):  # payloads may be of types that extend the segments'
                types += [t for t in map(self.type, self.types()) if t.extends in names]
        except errors.Error:
            return  # nobody knows yet what comes
        for p in paths:
            lacks = [t.lacks(p) for t in types]
            if all(lacks):
                depth = max(n for n, _ in filter(None, lacks))
                name, known = p.split(".")[depth], sorted({k for n, known in filter(None, lacks) if n == depth for k in known})
                yield errors.NotFound(p, f"{' and '.join(sorted(names))} {'has' if len(names) == 1 else 'have'} no such member{nearest(name, known)}")

    @staticmethod
    def _since(backfill: Any) -> int:
        if isinstance(backfill, str):
            try:
                return now() - abs(parse_span(backfill))
            except errors.Invalid:
                return parse_time(backfill)
        try:
            return parse_time(backfill)
        except errors.Invalid:
            return now() - abs(parse_span(backfill))

    def predict(self, *ids: str, at: Optional[TimeLike] = None) -> list[Predicted]:
        """Predicts snapshots: of entities at a time, or of snapshots' IDs."""
        from ._schema import message

        wanted = [ID(i) for i in ids]
        if at is not None:
            when = parse_time(at)
            wanted = [ID(f"{i.entity}/{when}") for i in wanted]
        found: list[Predicted] = []
        for id in wanted:
            if id.level != 5:
                raise errors.Invalid(id, "say the time of the prediction, as the ID of a snapshot or with at")
            answer = message("PredictResponse").FromString(self._servers.of(id.memory).call("Predict", message("PredictRequest")(ids=[id]).SerializeToString()))
            for p in answer.predictions:
                error = errors.by_name(p.error.code, p.error.thing, p.error.message) if p.HasField("error") else None
                found.append(Predicted(ID(p.id), snapshot_of(id.entity, p.snapshot, self._servers.registry) if p.HasField("snapshot") else None, error))
        return found

    # Types and segments

    def type(self, name: str) -> Type:
        """Returns a type by its full name. NotFound if no server knows it."""
        return self._servers.registry.get(name)

    def types(self) -> list[str]:
        """The names of all types that servers know."""
        names = set()
        for t in self._servers.all():
            names |= {v.decode() for n, v in members(retried(functools.partial(t.call, "ListTypes", b""))) if n == 1}
        return sorted(names)

    def add_type(self, name: str, descriptors: bytes) -> None:
        """Has all servers know a type, by an encoded FileDescriptorSet with all that it imports."""
        from ._schema import message

        request = message("AddTypeRequest")()
        request.type.name, request.type.descriptors = name, descriptors
        for t in self._servers.all():
            t.call("AddType", request.SerializeToString())

    def segments(self, pattern: str = "*") -> list[Segment]:
        """The core and provider segments that a pattern names, or that lie below it."""
        from ._schema import message

        found = []
        for one, t in [(p, t) for p in self._patterns(pattern) for t in self._for(p)]:
            request = message("DescribeRequest")(pattern=one).SerializeToString()
            answer = message("DescribeResponse").FromString(retried(functools.partial(t.call, "Describe", request)))
            found += [Segment(ID(s.id), s.type, s.history.max_count, s.history.max_age_nanos, s.history.max_bytes) for s in answer.segments]
        return found

    def add_segment(self, id: str, type: str = "", *, max_count: int = 0, max_age: Optional[SpanLike] = None, max_bytes: int = 0,
                    durability: str = "volatile") -> None:
        """Adds a core segment, ``Memory/Core``, or a provider segment, ``Memory/Core/Provider``. Without a type it takes any
        data. AlreadyExists if there is another one of this ID."""
        from ._schema import message

        request = message("AddSegmentRequest")(segment=_query.segment(id, type, max_count, max_age, max_bytes, durability))
        self._servers.of(ID(id).memory).call("AddSegment", request.SerializeToString())
        self._segment_types.clear()

    def remove_segment(self, id: str) -> None:
        """Removes a segment with all that is in it."""
        from ._schema import message

        self._servers.of(ID(id).memory).call("RemoveSegment", message("RemoveSegmentRequest")(id=id).SerializeToString())
        self._segment_types.clear()

    def segment_type(self, id: str) -> str:
        """Returns the type of the payloads of an entity's segment; that of any data if it has none."""
        parts = ID(id).parts[:3]
        known = self._segment_types.get(parts)
        if known is None:
            by = {s.id.parts: s.type for s in self.segments(_query.pattern_of(ID.of(*parts[:2])))}
            if parts[:2] not in by:
                core = ID.of(*parts[:2])
                raise errors.NotFound(core, f"there is no such segment, add_segment makes one{self._near_segment(core)}")
            known = self._segment_types[parts] = by.get(parts) or by[parts[:2]] or "engram.idf.v1.Value"
        return known

    def _near_segment(self, core: ID) -> str:
        """Says which core segment may be meant by one that is not there."""
        return nearest(core, [s.id for s in self.segments(_query.pattern_of(ID.of(core.memory))) if s.id.level == 2])

    def _members(self, pattern: Union[str, Iterable[str]], heads: list[str]) -> list[str]:
        """The members to have returned for a frame: these, and the names of joints beside them. All, where the type is not known."""
        if not heads:
            return []
        try:
            types = [self.type(self.segment_type("/".join(_query._raw(p)[:3]))) for p in self._patterns(pattern)]
        except errors.Error:
            return []
        if any(t.name == "engram.idf.v1.Value" for t in types):
            return []
        if "image" in heads and not any(m.name == "image" for t in types for m in t.members):  # the payload itself
            return []
        named = [any(m.name == "name" for m in t.members) for t in types]
        if "name" in heads or not any(named):
            return heads
        return [*heads, "name"] if all(named) else []

    def tree(self, pattern: str = "*") -> list[ID]:
        """The IDs of all entities that match a pattern."""
        return sorted({s.entity for s in self.query(pattern, payload=False)})

    # What other modules do

    def frame(self, pattern: Union[str, Iterable[str]], *, range: Optional[Range] = None, fields: Iterable[str] = (), at: Optional["At"] = None,
              every: Optional[SpanLike] = None, fill: Optional[str] = None, max_gap: Optional[SpanLike] = None, where: str = "",
              target: str = "both") -> "Frame":
        """Returns the snapshots of an entity, or of several, as a table of numpy columns; see :class:`engram.frame.Frame`.

        Without ``at`` there is a row for each snapshot in ``range`` (all without one). With ``at`` there is a row for each of these
        times, which may be those of another frame or ``every="100ms"``: with ``fill="last"`` the snapshot in force,
        with ``fill="interp"`` numbers between the two around it, and without a fill what is of exactly this time. What is not known is
        NaN, NaT, None, or masked; ``max_gap`` says how far a snapshot may be.
        """
        from .frame import read_frame

        return read_frame(self, pattern, range=range, fields=fields, at=at, every=every, fill=fill, max_gap=max_gap, where=where, target=target)

    def windows(self, spans: Mapping[str, Sequence[SpanLike]], *, at: Optional["At"] = None, fields: Optional[Mapping[str, Iterable[str]]] = None,
                target: str = "both") -> "Windows":
        """Returns, for each of some times, what each entity had in a span around it, at its own rate, padded to one length, with a mask;
        see :class:`engram.windows.Windows`. A span is in seconds or text: ``{"RobotState/Proprioception/sim/robot": (-0.1, 0)}``.
        Without ``at`` the times are those of all snapshots of the first entity."""
        from .windows import read_windows

        if at is None:
            at = sorted({s.time for first in [*spans][:1] for s in self.query(first, all=True, payload=False, target=target)})
        return read_windows(self, spans, at=at, fields=fields or {}, target=target)

    @property
    def poses(self) -> "Poses":
        """Where frames were; see :class:`engram.poses.Poses`."""
        from .poses import Poses

        return Poses(self)

    def host(self, name: str, *, timeout: SpanLike = "2s", calls: int = 16, program: str = "") -> "HostedMemory":
        """Makes a memory of one's own; see :class:`engram.hosting.HostedMemory`. A hook may take as long as ``timeout``, and
        ``calls`` of each hook are under way at once. Errors call the program ``program``; without it, by its file."""
        from .hosting import HostedMemory

        return HostedMemory(self, name, timeout=timeout, calls=calls, program=program)

    @property
    def world(self) -> "World":
        """What is around the robot; see :class:`engram.world.World`."""
        from .world import World

        return World(self)


def _merged(replies: list[Reply]) -> Result:
    snapshots: list[Snapshot] = []
    missing: list[Missing] = []
    copies: list[CopyUsed] = []
    for r in replies:
        snapshots += r.snapshots
        missing += r.missing
        copies += r.copies
    if len(replies) > 1:
        unique = {(s.entity, s.time): s for s in snapshots}
        snapshots = sorted(unique.values(), key=lambda s: (s.entity, s.time))
    return Result(snapshots, missing, copies)
