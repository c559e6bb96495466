"""What the client needs of a way to one server. Module _local and module _rpc have one each."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional

from ._wire import Buffer
from .ids import ID
from .snapshots import Committed, CopyUsed, Missing, Snapshot, Update

Selector = tuple[int, int, int]
"""Kind and two arguments, as in a ``select`` of docs/formats/local.md."""


class Commit(NamedTuple):
    """What is to be written of an entity: instances of type, bytes, sent, confidence."""

    entity: ID
    time: int
    instances: list[tuple[str, Buffer, Optional[int], float]]


class Begin(NamedTuple):
    """Where a subscription begins: the server's epoch, and its newest update if it is known."""

    epoch: int
    number: Optional[int]


class Reply:
    """The answer of one server to a query."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []
        self.missing: list[Missing] = []
        self.copies: list[CopyUsed] = []


class Cancelable:
    """A stream. ``close`` may be called from any thread, and ends who waits in it."""

    begin: Begin

    def batches(self) -> Iterator[list[Update]]:
        raise NotImplementedError

    def send(self, updates: list[Commit]) -> None:
        raise NotImplementedError

    def ready(self) -> bool:
        raise NotImplementedError

    def receive(self, updates: list[Commit]) -> list[Committed]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Transport:
    """One memory server. Requests of what is rare are encoded messages of the API."""

    address: str

    def close(self) -> None:
        raise NotImplementedError

    def commit(self, updates: list[Commit], recorded: bool) -> list[Committed]:
        raise NotImplementedError

    def latest(self, entity: ID, at: Optional[int]) -> Snapshot:
        raise NotImplementedError

    def call(self, procedure: str, request: bytes) -> bytes:
        raise NotImplementedError

    def reached(self) -> None:
        """Connects anew, if need be. Unavailable if the server is away."""
        self.call("Info", b"")

    def query(self, request: bytes) -> Reply:
        raise NotImplementedError

    def select(self, entity: ID, selectors: list[Selector], target: int, payload: bool) -> Optional[Reply]:
        """The frequent query, where there is a short form of it; else None."""
        return None

    def subscribe(self, request: bytes) -> Cancelable:
        raise NotImplementedError

    def stream(self, recorded: bool) -> Cancelable:
        raise NotImplementedError
