"""Commits one after the other, of which several are under way at once."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Optional

from . import errors
from ._transport import Cancelable, Commit, Transport
from .snapshots import Committed


class CommitStream:
    """Commits without waiting for each answer: at most ``window`` are under way.

    Commits to one server are stored in their order. A refused update does not end the stream: it is
    in ``failed`` with its error, which :meth:`flush` and the end of a ``with`` raise. One thread
    at a time uses it.
    """

    def __init__(self, prepare: Callable[..., Commit], of: Callable[[str], Transport], window: int, recorded: bool) -> None:
        if window < 1:
            raise errors.Invalid(f"window={window}", "at least 1 commit can be under way")
        self._prepare, self._of, self._window, self._recorded = prepare, of, window, recorded
        self._streams: dict[str, tuple[Cancelable, deque[list[Commit]]]] = {}
        self.committed = 0
        self.failed: list[Committed] = []
        self._raised = 0  # so many of them were told by flush

    def commit(self, entity: str, value: Any = None, **options: Any) -> None:
        """Sends a commit, with the arguments of :meth:`Memory.commit`. It waits only where the window is full."""
        update = self._prepare(entity, value, **options)
        stream, waiting = self._open(update.entity.memory)
        while waiting and (len(waiting) >= self._window or stream.ready()):
            self._receive(stream, waiting)
        stream.send([update])
        waiting.append([update])

    def _open(self, memory: str) -> tuple[Cancelable, deque[list[Commit]]]:
        known = self._streams.get(memory)
        if known is None:
            known = self._streams[memory] = (self._of(memory).stream(self._recorded), deque())
        return known

    def _receive(self, stream: Cancelable, waiting: deque[list[Commit]]) -> None:
        for done in stream.receive(waiting[0]):
            if done.error is None:
                done.warn()
                self.committed += 1
            else:
                self.failed.append(done)
        waiting.popleft()

    def flush(self) -> None:
        """Waits for all answers. Raises the first refusal since the last flush; ``failed`` has all."""
        for stream, waiting in self._streams.values():
            while waiting:
                self._receive(stream, waiting)
        if self._raised < len(self.failed):
            error = self.failed[self._raised].error
            self._raised = len(self.failed)
            assert error is not None
            raise error

    def close(self) -> None:
        for stream, _ in self._streams.values():
            stream.close()
        self._streams = {}

    def __enter__(self) -> "CommitStream":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()
