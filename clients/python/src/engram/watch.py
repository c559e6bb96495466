"""Updates as they come: subscriptions that go on after a connection broke."""

from __future__ import annotations

import queue
import random
import threading
import time
import warnings
from typing import Any, Callable, Iterator, Optional

from . import errors
from ._query import memory_of
from ._schema import message
from ._transport import Begin, Cancelable, Transport
from .ids import ID
from .snapshots import Update
from .times import Time

_NEVER = -(1 << 63)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0


class _State:
    """What is remembered of a subscription, to go on without gap or duplicate. Within an epoch of the server numbers tell what was
    delivered, as in package edge/transport/internal/resume of the Go client. A new epoch numbers anew, and begins with all that the memory
    has kept: of that, what arrived no later than the last that was delivered of its core segment was delivered before."""

    def __init__(self, since: Optional[int], now: bool, began: int, named: set[Optional[str]]) -> None:
        self.since, self.now = since, now
        self.epoch = 0
        self.last = 0
        self.resumable = False
        self.backfill = 0  # what is numbered up to this was there when the subscription began
        self.restarted = False
        self.again = False  # it was begun in another epoch before
        self.dropped = 0
        self.began = began  # by the server's clock
        self.named = named  # memories that are watched at their owners; others may be copies
        # By core segment: when the last that was delivered arrived, and what of this moment was.
        self.delivered: dict[tuple[str, ...], tuple[int, set[tuple[ID, Time]]]] = {}

    def begun(self, begin: Begin) -> None:
        if self.epoch and self.epoch != begin.epoch:
            self.new_epoch()
        self.epoch = begin.epoch
        if not self.resumable or self.again and self.last == 0:
            self.backfill = begin.number or 0
        if not self.resumable and self.now and begin.number is not None:
            self.last, self.resumable = begin.number, True

    def new_epoch(self) -> None:
        self.epoch, self.last, self.resumable, self.backfill, self.restarted, self.again = 0, 0, True, 0, True, True

    def deliver(self, batch: list[Update]) -> list[Update]:
        kept = []
        for u in batch:
            self.dropped += u.dropped
            if self.resumable and u.number <= self.last and (u.failed is None or u.number < self.last):
                continue
            if self.since is not None and u.number <= self.backfill and u.failed is None and u.time < self.since and (
                    not self.again or u.arrived <= self.began):
                continue
            self.last, self.resumable = u.number, True
            if self._had(u):
                continue
            if u.failed is None and (self.dropped or self.restarted):
                u.dropped, u.restarted = self.dropped, u.restarted or self.restarted
                self.dropped, self.restarted = 0, False
            kept.append(u)
        return kept

    def _had(self, u: Update) -> bool:
        """Whether an update was delivered in an earlier epoch, or was there before the watch. It is noted as delivered."""
        memory = u.entity.memory
        if u.failed is not None or ":" in memory and memory not in self.named:  # a copy comes in no order of arrival
            return False
        core, old = u.entity.parts[:2], u.number <= self.backfill
        arrived, those = self.delivered.get(core) or (self.began if self.now else _NEVER, None)
        if self.again and old and (u.arrived < arrived or u.arrived == arrived and (those is None or (u.entity, u.time) in those)):
            return True
        if u.arrived == arrived and those is not None:
            those.add((u.entity, u.time))
        elif u.arrived > arrived or not old:  # the clock may have been set back
            self.delivered[core] = u.arrived, {(u.entity, u.time)}
        return False


class _Source:
    """The updates of one server."""

    def __init__(self, transport: Transport, request: Any, since: Optional[int], closed: threading.Event, give_up: Optional[float]) -> None:
        self.transport, self.request, self.closed, self.give_up = transport, request, closed, give_up
        self.told: set[str] = set()
        began = message("InfoResponse").FromString(transport.call("Info", b"")).sent or _NEVER
        self.state = _State(since, request.WhichOneof("start") is None, began, {memory_of(p) for p in request.patterns})
        self.subscription: Optional[Cancelable] = self._open()

    def _open(self) -> Cancelable:
        request = self.request
        if self.state.resumable:
            request = type(request)()
            request.CopyFrom(self.request)
            request.resume.number, request.resume.epoch = self.state.last, self.state.epoch
        opened = self.transport.subscribe(request.SerializeToString())
        self.state.begun(opened.begin)
        return opened

    def batches(self) -> Iterator[list[Update]]:
        while True:
            try:
                assert self.subscription is not None
                for batch in self.subscription.batches():
                    kept = self._evaluated(self.state.deliver(batch))
                    if kept:
                        yield kept
                failure: errors.Error = errors.Unavailable(self.transport.address, "the server ended the subscription")
            except errors.Error as e:
                failure = e
            if self.closed.is_set():
                return
            if isinstance(failure, errors.Closed) or not isinstance(failure, (errors.Unavailable, errors.Exhausted, errors.Canceled)):
                raise failure
            self.close()
            if not self._reopen():
                return

    def _evaluated(self, batch: list[Update]) -> list[Update]:
        """Updates without those that tell only on what a filter failed, of which a warning tells once."""
        for u in batch:
            if u.failed is not None and u.failed.detail not in self.told:
                self.told.add(u.failed.detail)
                warnings.warn(f"where={self.request.where!r} could not be evaluated on {u.failed.example}: {u.failed.detail}", stacklevel=5)
        return [u for u in batch if u.failed is None]

    def _reopen(self) -> bool:
        pause, began = _FIRST_PAUSE, time.monotonic()
        while not self.closed.wait(pause / 2 + random.random() * pause):  # so that clients do not come all at once
            try:
                self.subscription = self._open()
            except errors.Closed:
                return False
            except errors.Conflict:
                self.state.new_epoch()
                pause = _FIRST_PAUSE
                continue
            except (errors.Unavailable, errors.Exhausted, errors.Canceled) as e:
                if self.give_up is not None and time.monotonic() - began > self.give_up:
                    raise errors.Unavailable(self.transport.address, f"given up reconnecting after {self.give_up:g} s: {e.message}") from None
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            if self.closed.is_set():
                self.subscription.close()
                return False
            return True
        return False

    def close(self) -> None:
        if self.subscription is not None:
            self.subscription.close()


class Watch:
    """Updates, as an iterator that waits for the next. It goes on after the connection broke or the
    server was restarted; :attr:`Update.dropped` tells what was lost, :attr:`Update.restarted`
    that the server began anew.

    One thread at a time reads it. ``close`` may be called from any thread, and ends who waits.
    """

    def __init__(self, transports: list[Transport], request: Callable[[Transport], Any], since: Optional[int], give_up: Optional[float]) -> None:
        self._closed = threading.Event()
        self._sources: list[_Source] = []
        try:
            for t in transports:
                self._sources.append(_Source(t, request(t), since, self._closed, give_up))
        except BaseException:
            self.close()
            raise
        self._queue: Optional[queue.Queue[Any]] = None
        self._ready: list[Update] = []  # the next is the last
        self._direct = self._sources[0].batches() if len(self._sources) == 1 else None
        if self._direct is None:
            self._pump()

    def _pump(self) -> None:
        """Reads in threads, where several servers, or a time limit, want it."""
        self._queue = queue.Queue(64)
        for source in self._sources:
            batches = self._direct or source.batches()
            threading.Thread(target=_pumped, args=(batches, self._queue, self._closed), daemon=True, name="engram watch").start()
        self._direct = None

    def batch(self, timeout: Optional[float] = None) -> list[Update]:
        """Waits for at least one update, and returns those that are there; none when the watch was
        closed, or nothing came within the timeout, in seconds."""
        if self._ready:
            left, self._ready = self._ready[::-1], []
            return left
        if timeout is not None and self._queue is None:
            self._pump()
        if self._queue is None:
            assert self._direct is not None
            try:
                return next(self._direct, [])
            except KeyboardInterrupt:  # perhaps amid an update: the next call begins after the last one that came
                self._sources[0].close()
                self._direct = self._sources[0].batches()
                raise
        until = None if timeout is None else time.monotonic() + timeout
        while not self._closed.is_set():
            wait = 0.5 if until is None else min(0.5, until - time.monotonic())
            try:
                item = self._queue.get(timeout=max(wait, 0))
            except queue.Empty:
                if until is not None and time.monotonic() >= until:
                    return []
                continue
            if isinstance(item, Exception):
                raise item
            if item is None:
                return []
            found: list[Update] = item
            return found
        return []

    def get(self, timeout: Optional[float] = None) -> Optional[Update]:
        """Waits for the next update; None when the watch was closed, or nothing came within the
        timeout, in seconds."""
        if not self._ready:
            self._ready = self.batch(timeout)[::-1]
        return self._ready.pop() if self._ready else None

    def __iter__(self) -> "Watch":
        return self

    def __next__(self) -> Update:
        u = self.get()
        if u is None:
            raise StopIteration
        return u

    def close(self) -> None:
        """Ends the watch."""
        self._closed.set()
        for source in self._sources:
            source.close()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def _pumped(batches: Iterator[list[Update]], into: queue.Queue[Any], closed: threading.Event) -> None:
    """Hands over batches, then None or the error that ended them. It knows no watch, so that one that nobody has any more ends."""
    def put(item: Any) -> None:
        while not closed.is_set():
            try:
                into.put(item, timeout=0.5)
                return
            except queue.Full:
                continue

    try:
        for batch in batches:
            put(batch)
        put(None)
    except Exception as e:
        put(e)
