"""A memory under another name: that of another robot, whose ``Object`` is ``robot1:Object`` here."""

from __future__ import annotations

from typing import Any, Iterator, Optional

from ._schema import message
from ._transport import Cancelable, Commit, Reply, Selector, Transport
from .ids import ID, escape
from .snapshots import Committed, Snapshot, Update

# Procedures that name a memory: what stands in requests and in answers.
_NAMING = {"Describe": ("Describe", ("pattern",), ("segments.id",)), "AddSegment": ("AddSegment", ("segment.id",), ()),
           "RemoveSegment": ("RemoveSegment", ("id",), ()), "Predict": ("Predict", ("ids",), ("predictions.id",))}


class _Names:
    """Puts one memory's name in the place of the other, in IDs and patterns."""

    def __init__(self, here: str, there: str) -> None:
        self._here, self._there = escape(here), escape(there)
        self._plain = {here: there}

    def there(self, text: str) -> str:
        return _replaced(text, self._here, self._there)

    def memory_there(self, name: str) -> str:
        return self._plain.get(name, name)

    def here(self, text: str) -> ID:
        return ID(_replaced(text, self._there, self._here))

    def commits(self, updates: list[Commit]) -> list[Commit]:
        return [u._replace(entity=ID(self.there(u.entity))) for u in updates]

    def committed(self, results: list[Committed]) -> list[Committed]:
        return [r._replace(id=self.here(r.id)) for r in results]

    def snapshot(self, s: Snapshot) -> Snapshot:
        s.entity = self.here(s.entity)
        s._id = None
        for i in s.instances:
            i._entity = s.entity
        return s

    def reply(self, r: Reply) -> Reply:
        for s in r.snapshots:
            self.snapshot(s)
        r.missing = [m._replace(id=self.here(m.id), example=str(self.here(m.example))) for m in r.missing]
        r.copies = [c._replace(memory=str(self.here(c.memory))) for c in r.copies]
        return r


def _replaced(text: str, old: str, new: str) -> str:
    return new + text[len(old):] if text == old or text.startswith(old + "/") else text


class Renamed(Transport):
    """The way to a server, at which a memory has another name than here."""

    def __init__(self, transport: Transport, here: str, there: str) -> None:
        self.address = transport.address
        self._transport = transport
        self._names = _Names(here, there)

    def close(self) -> None:
        pass  # the way is not its own

    def commit(self, updates: list[Commit], recorded: bool) -> list[Committed]:
        return self._names.committed(self._transport.commit(self._names.commits(updates), recorded))

    def latest(self, entity: ID, at: Optional[int]) -> Snapshot:
        return self._names.snapshot(self._transport.latest(ID(self._names.there(entity)), at))

    def call(self, procedure: str, request: bytes) -> bytes:
        if procedure not in _NAMING:
            return self._transport.call(procedure, request)
        name, asked, answered = _NAMING[procedure]
        question = message(name + "Request").FromString(request)
        for path in asked:
            _rename(question, path, self._names.there)
        answer = message(name + "Response").FromString(self._transport.call(procedure, question.SerializeToString()))
        for path in answered:
            _rename(answer, path, self._names.here)
        encoded: bytes = answer.SerializeToString()
        return encoded

    def reached(self) -> None:
        self._transport.reached()

    def query(self, request: bytes) -> Reply:
        question = message("QueryRequest").FromString(request)
        if question.HasField("pattern"):
            question.pattern = self._names.there(question.pattern)
        for node in question.memories:
            node.names.name = self._names.memory_there(node.names.name)
        return self._names.reply(self._transport.query(question.SerializeToString()))

    def select(self, entity: ID, selectors: list[Selector], target: int, payload: bool) -> Optional[Reply]:
        reply = self._transport.select(ID(self._names.there(entity)), selectors, target, payload)
        return None if reply is None else self._names.reply(reply)

    def subscribe(self, request: bytes) -> Cancelable:
        question = message("SubscribeRequest").FromString(request)
        patterns = [self._names.there(p) for p in question.patterns]
        del question.patterns[:]
        question.patterns.extend(patterns)
        return _RenamedStream(self._transport.subscribe(question.SerializeToString()), self._names)

    def stream(self, recorded: bool) -> Cancelable:
        return _RenamedStream(self._transport.stream(recorded), self._names)


def _rename(m: Any, path: str, name: Any) -> None:
    """Renames the member of a message, or of each in a list."""
    head, _, rest = path.partition(".")
    value = getattr(m, head)
    if isinstance(value, str):
        setattr(m, head, name(value))
    elif not rest:
        value[:] = [name(v) for v in value]
    else:
        for part in [value] if hasattr(value, "DESCRIPTOR") else value:
            _rename(part, rest, name)


class _RenamedStream(Cancelable):
    def __init__(self, stream: Cancelable, names: _Names) -> None:
        self._stream, self._names = stream, names
        if hasattr(stream, "begin"):
            self.begin = stream.begin

    def batches(self) -> Iterator[list[Update]]:
        for batch in self._stream.batches():
            for u in batch:
                u.entity = self._names.here(u.entity)
                if u.snapshot is not None:
                    self._names.snapshot(u.snapshot)
                if u.failed is not None:
                    u.failed = u.failed._replace(id=self._names.here(u.failed.id), example=str(self._names.here(u.failed.example)))
            yield batch

    def send(self, updates: list[Commit]) -> None:
        self._stream.send(self._names.commits(updates))

    def ready(self) -> bool:
        return self._stream.ready()

    def receive(self, updates: list[Commit]) -> list[Committed]:
        return self._names.committed(self._stream.receive(self._names.commits(updates)))

    def close(self) -> None:
        self._stream.close()
