"""Commits one after the other, of which several are under way at once."""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Callable, Optional

from . import errors
from ._transport import Cancelable, Commit, Transport
from .ids import ID
from .snapshots import Committed
from .times import Time


class CommitStream:
    """Commits without waiting for each answer: at most ``window`` are under way.

    Commits to one server are stored in their order. A refused update does not end the stream: it is
    in ``failed`` with its error, which :meth:`flush`, :meth:`close` and the end of a ``with`` raise. Where a connection breaks, what
    was under way is in ``failed`` as Unavailable, as nobody knows whether it was stored; the next commit connects anew, or raises
    Unavailable. One thread at a time uses it, in the process that began it.
    """

    def __init__(self, prepare: Callable[..., Commit], of: Callable[[str], Transport], window: int, recorded: bool) -> None:
        if window < 1:
            raise errors.Invalid(f"window={window}", "at least 1 commit can be under way")
        self._prepare, self._of, self._window, self._recorded = prepare, of, window, recorded
        self._streams: dict[str, tuple[Cancelable, deque[Commit]]] = {}
        self._broken: set[str] = set()  # memories whose connection did
        self._closed = False
        self._pid = os.getpid()
        self.committed = 0
        self.failed: list[Committed] = []
        self._raised = 0  # so many of them were told by flush

    def commit(self, entity: str, value: Any = None, **options: Any) -> None:
        """Sends a commit, with the arguments of :meth:`Memory.commit`. It waits only where the window is full."""
        self._usable()
        if self._closed:
            raise errors.Invalid("stream", "it is closed; begin another one")
        update = self._prepare(entity, value, **options)
        memory = update.entity.memory
        stream, waiting = self._open(memory)
        while waiting and (len(waiting) >= self._window or stream.ready()):
            if not self._receive(memory):
                stream, waiting = self._open(memory)
        try:
            stream.send([update])
        except errors.Unavailable as e:  # of an update that was sent in part the server stores nothing
            self._lost(memory, e)
            stream, waiting = self._open(memory)
            stream.send([update])
        waiting.append(update)

    def _usable(self) -> None:
        if self._pid != os.getpid():
            raise errors.Invalid("stream", "it belongs to the process that began it; begin another one in this one")

    def _open(self, memory: str) -> tuple[Cancelable, deque[Commit]]:
        known = self._streams.get(memory)
        if known is None:
            transport = self._of(memory)
            if memory in self._broken:
                transport.reached()
            known = self._streams[memory] = (transport.stream(self._recorded), deque())
            self._broken.discard(memory)
        return known

    def _receive(self, memory: str) -> bool:
        """Receives an answer; False if there is none, as the stream broke."""
        stream, waiting = self._streams[memory]
        try:
            answers = stream.receive([waiting[0]])
        except errors.Closed:
            raise
        except errors.Error as e:
            self._lost(memory, e)
            return False
        for done in answers:
            if done.error is None:
                done.warn()
                self.committed += 1
            else:
                self.failed.append(done)
        waiting.popleft()
        return True

    def _lost(self, memory: str, e: errors.Error) -> None:
        stream, waiting = self._streams.pop(memory)
        stream.close()
        self._broken.add(memory)
        for u in waiting:
            id = ID(f"{u.entity}/{Time(u.time)}")
            self.failed.append(Committed(id, 0, errors.Unavailable(id, f"whether it was stored is not known, as the stream ended before an answer came: {e}")))

    def flush(self) -> None:
        """Waits for all answers. Raises the first refusal since the last flush; ``failed`` has all."""
        self._usable()
        for memory in list(self._streams):
            while memory in self._streams and self._streams[memory][1]:
                self._receive(memory)
        if self._raised < len(self.failed):
            error = self.failed[self._raised].error
            self._raised = len(self.failed)
            assert error is not None
            raise error

    def close(self) -> None:
        """Ends the stream: waits for all answers, and raises as :meth:`flush` does."""
        if self._pid != os.getpid():
            return
        self._closed = True
        try:
            self.flush()
        finally:
            for stream, _ in self._streams.values():
                stream.close()
            self._streams = {}

    def __enter__(self) -> "CommitStream":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        try:
            self.close()
        except errors.Error:
            if kind is None:  # else the error that ends the with says more
                raise
