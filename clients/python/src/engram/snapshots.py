"""What memories answer: snapshots, results of queries, updates."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Sequence, overload

from ._decode import decode
from ._wire import Buffer
from .errors import NotFound
from .ids import ID
from .times import Time

if TYPE_CHECKING:
    from .idf import Registry


@functools.lru_cache(1024)
def shortest(single: float) -> float:
    """The number that a single prints as: 0.9, where it is 0.8999999761581421."""
    import numpy as np

    return float(str(np.float32(single)))


class Instance:
    """One datum of a snapshot. ``instance["position"]`` is a member of its payload."""

    __slots__ = ("type", "data", "sent", "confidence", "_types", "_value", "_entity", "_time", "_index")

    def __init__(self, type: str, data: Buffer, sent: Optional[int], confidence: float, types: "Registry") -> None:
        self.type = type
        self.data = data
        self.sent = None if sent is None else Time(sent)
        self.confidence = confidence if confidence == 1 else shortest(confidence)
        self._types = types
        self._value: Any = None
        # Of its snapshot; that itself would make a cycle of both, which only the collector frees.
        self._entity, self._time, self._index = ID(), Time(0), 0

    @property
    def id(self) -> ID:
        return ID(f"{self._entity}/{self._time}/{self._index}")

    @property
    def value(self) -> Any:
        """The payload's members as a :class:`Record`; decoded when it is first asked for."""
        if self._value is None:
            self._value = decode(self._types.get(self.type), self.data)
        return self._value

    def __getitem__(self, member: str) -> Any:
        """A member, or one below it, such as ``pose.position.x``. KeyError if there is none."""
        value = self.value
        if isinstance(value, dict) and member in value:
            return value[member]
        for name in member.split("."):
            value = value[name]
        return value

    def to(self, cls: Any) -> Any:
        """Makes an object of a class that ``engram gen`` wrote. A payload of another type is cast by the names of members."""
        if cls.TYPE == self.type:
            return cls.from_payload(self.data)
        return cls.from_payload(self.data, self._types.sender(self.type))

    def __repr__(self) -> str:
        return f"<{self.type}, {len(self.data)} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:  # for other processes
        return _instance, (*self._parts(), self._entity, self._time, self._index)

    def _parts(self) -> tuple[Any, ...]:
        """What makes an equal one in another process, with the descriptors of its type."""
        return self.type, bytes(self.data), self.sent, self.confidence, self._types.source(self.type)


@functools.lru_cache(256)
def _types(source: bytes) -> "Registry":
    from .idf import Registry

    types = Registry()
    types.add(source)
    return types


def _instance(type: str, data: bytes, sent: Optional[int], confidence: float, source: bytes,
              entity: str = "", time: int = 0, index: int = 0) -> Instance:
    instance = Instance(type, data, sent, confidence, _types(source))
    instance._entity, instance._time, instance._index = ID(entity), Time(time), index
    return instance


def instance_of(i: Any, types: "Registry", type: str = "") -> Instance:
    """Makes an instance of the API's message; of the given type, where there is one."""
    return Instance(type or i.payload.type, i.payload.data, i.sent if i.HasField("sent") else None,
                    i.confidence if i.HasField("confidence") else 1.0, types)


def snapshot_of(entity: ID, s: Any, types: "Registry") -> "Snapshot":
    """Makes a snapshot of the API's message."""
    return Snapshot(entity, s.time, s.arrived, s.number, s.recalled, [instance_of(i, types) for i in s.instances])


def _snapshot(entity: ID, time: int, arrived: int, number: int, recalled: bool, instances: list[tuple[Any, ...]]) -> "Snapshot":
    return Snapshot(entity, time, arrived, number, recalled, [_instance(*i) for i in instances])


class Snapshot(Sequence[Instance]):
    """What was known of an entity at a time: a sequence of instances, of which most have one.

    ``snapshot["position"]`` is a member of the first one's payload, ``snapshot.value`` all of it.
    """

    __slots__ = ("entity", "time", "arrived", "number", "recalled", "instances", "_id")

    def __init__(self, entity: ID, time: int, arrived: int, number: int, recalled: bool, instances: list[Instance]) -> None:
        self.entity = entity
        self.time = Time(time)
        self.arrived = Time(arrived)
        self.number = number
        self.recalled = recalled
        self.instances = instances
        self._id: Optional[ID] = None
        for i, instance in enumerate(instances):
            instance._entity, instance._time, instance._index = entity, self.time, i

    @property
    def id(self) -> ID:
        """The snapshot's ID: the entity's and the time."""
        if self._id is None:
            self._id = ID(f"{self.entity}/{self.time}")
        return self._id

    @property
    def value(self) -> Any:
        return self._first().value

    def to(self, cls: Any) -> Any:
        """Makes an object of a class that ``engram gen`` wrote, of the first instance."""
        return self._first().to(cls)

    @property
    def type(self) -> str:
        return self._first().type

    @property
    def confidence(self) -> float:
        return self._first().confidence

    def _first(self) -> Instance:
        if not self.instances:
            raise NotFound(self.id, "the snapshot has no instance")
        return self.instances[0]

    @overload
    def __getitem__(self, which: int) -> Instance: ...

    @overload
    def __getitem__(self, which: slice) -> list[Instance]: ...

    @overload
    def __getitem__(self, which: str) -> Any: ...

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            return self._first()[which]
        return self.instances[which]

    def __len__(self) -> int:
        return len(self.instances)

    def __repr__(self) -> str:
        return f"<Snapshot {self.id}>"

    def __reduce__(self) -> tuple[Any, ...]:  # for other processes
        return _snapshot, (self.entity, self.time, self.arrived, self.number, self.recalled, [i._parts() for i in self.instances])

    def _repr_html_(self) -> str:
        from ._display import snapshot_html

        return snapshot_html(self)


class Missing(NamedTuple):
    """Something that an answer lacks, and why: so many snapshots, or instances, from start to end."""

    id: ID
    reason: str
    count: int  # type: ignore[assignment]
    start: Time
    end: Time
    example: str = ""
    detail: str = ""


def lacking(missing: Sequence[Missing]) -> str:
    """Says what is missing."""
    parts = [f"{m.count or 'some'} of {m.id} from {m.start} to {m.end} ({m.reason}{f': {m.detail}' if m.detail else ''})" for m in missing[:3]]
    return ", ".join(parts) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")


class CopyUsed(NamedTuple):
    """That a copy answered for a memory: what its owner had ``lag`` ns ago."""

    memory: str
    server: str
    as_of: Time
    lag: int
    behind: int
    away: bool


class Result(Sequence[Snapshot]):
    """The answer of a query: its snapshots, by entity and in the order of time."""

    def __init__(self, snapshots: list[Snapshot], missing: list[Missing], copies: list[CopyUsed]) -> None:
        self.snapshots = snapshots
        self.missing = missing
        self.copies = copies

    @property
    def entities(self) -> dict[ID, list[Snapshot]]:
        """The snapshots of each entity."""
        by: dict[ID, list[Snapshot]] = {}
        for s in self.snapshots:
            by.setdefault(s.entity, []).append(s)
        return by

    def one(self) -> Snapshot:
        """The only snapshot; NotFound if there is none, or more than one."""
        if len(self.snapshots) != 1:
            raise NotFound("query", f"one snapshot was to be found, not {len(self.snapshots)}")
        return self.snapshots[0]

    @overload
    def __getitem__(self, which: int) -> Snapshot: ...

    @overload
    def __getitem__(self, which: slice) -> list[Snapshot]: ...

    def __getitem__(self, which: Any) -> Any:
        return self.snapshots[which]

    def __len__(self) -> int:
        return len(self.snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.snapshots)

    def __repr__(self) -> str:
        lacks = f", {len(self.missing)} missing" if self.missing else ""
        return f"<{len(self.snapshots)} snapshots of {len({s.entity for s in self.snapshots})} entities{lacks}>"

    def _repr_html_(self) -> str:
        from ._display import result_html

        return result_html(self)


class Update:
    """That a snapshot was written.

    ``dropped`` counts updates that were lost just before; ``restarted`` says that the server began anew, and numbers with it;
    ``failed`` tells of updates on which evaluating ``where`` failed.
    """

    __slots__ = ("entity", "number", "arrived", "time", "snapshot", "supersedes", "restarted", "dropped", "failed")

    def __init__(self, entity: ID, number: int, arrived: Time, time: Time, snapshot: Optional[Snapshot], supersedes: bool = False,
                 restarted: bool = False, dropped: int = 0, failed: Optional[Missing] = None) -> None:
        self.entity = entity
        self.number = number
        self.arrived = arrived
        self.time = time
        self.snapshot = snapshot
        self.supersedes = supersedes
        self.restarted = restarted
        self.dropped = dropped
        self.failed = failed

    @property
    def id(self) -> ID:
        """The snapshot's ID."""
        return ID(f"{self.entity}/{self.time}")

    @property
    def value(self) -> Any:
        """The payload's members of the first instance; NotFound without data."""
        if self.snapshot is None:
            raise NotFound(self.id, "the update came without its data")
        return self.snapshot.value

    def __getitem__(self, member: str) -> Any:
        if self.snapshot is None:
            raise NotFound(self.id, "the update came without its data")
        return self.snapshot[member]

    def __repr__(self) -> str:
        return f"<Update {self.number}: {self.id}>"

    def _repr_html_(self) -> str:
        from ._display import snapshot_html, table_html

        return table_html(["number", "id"], [(self.number, self.id)]) if self.snapshot is None else snapshot_html(self.snapshot)


class Committed(NamedTuple):
    """How a commit was stored."""

    id: ID
    number: int
    error: Optional[Exception] = None
    note: Optional[Exception] = None  #: what to know of one that is stored all the same

    def warn(self) -> None:
        """Tells the note, as a UserWarning, if there is one."""
        if self.note is not None:
            import warnings

            warnings.warn(str(self.note), stacklevel=3)
