"""The client for asyncio: ``async with engram.aio.connect() as m``, and the methods of :class:`engram.Memory` to await.

There is one implementation. Calls are made in threads, of which each has a connection to itself while it waits, so none holds up the
event loop or another call.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Concatenate, Coroutine, Generator, Optional, ParamSpec, TypeVar

from .. import client as _client
from .. import hosting as _hosting
from .. import poses as _poses
from .. import world as _world
from ..snapshots import Update
from ..stream import CommitStream as _CommitStream
from ..watch import Watch as _Watch

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

_THREADS = 32


class _Asynchronous:
    """An object whose methods are called in threads."""

    def __init__(self, sync: Any, threads: ThreadPoolExecutor) -> None:
        self._sync, self._threads = sync, threads

    async def _run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _awaited(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Makes, of a method, the one to await."""

    @functools.wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self._run(functools.partial(method, self._sync, *args, **kwargs))
        return result

    return call


class Poses(_Asynchronous):
    """The poses of a robot; see :class:`engram.poses.Poses`."""

    lookup = _awaited(_poses.Poses.lookup)
    lookup_all = _awaited(_poses.Poses.lookup_all)
    buffer = _awaited(_poses.Poses.buffer)
    tree = _awaited(_poses.Poses.tree)
    path = _awaited(_poses.Poses.path)
    commit = _awaited(_poses.Poses.commit)


class World(_Asynchronous):
    """What is around the robot; see :class:`engram.world.World`."""

    statements = _awaited(_world.World.statements)
    put = _awaited(_world.World.put)


class Watch(_Asynchronous):
    """Updates as they come: ``async for update in m.watch("Object/*")``."""

    def __init__(self, open: Callable[[], _Watch]) -> None:
        super().__init__(None, ThreadPoolExecutor(1, "engram watch"))
        self._open = open
        self._watch: Optional[_Watch] = None
        self._ready: list[Update] = []
        self._coming: Optional[asyncio.Task[None]] = None
        self._closed = False

    async def _opened(self) -> _Watch:
        if self._watch is None:
            self._watch = await self._run(self._open)
        return self._watch

    async def __aenter__(self) -> "Watch":
        """Begins: what is written from here on is told."""
        await self._opened()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> Update:
        while not self._ready:
            if self._closed:
                raise StopAsyncIteration
            if self._coming is None:
                self._coming = asyncio.ensure_future(self._receive())
            await asyncio.shield(self._coming)  # who is cancelled here, as by a time limit, loses none
        return self._ready.pop()

    async def _receive(self) -> None:
        try:
            watch = await self._opened()
            self._ready = (await self._run(watch.batch))[::-1]
        except BaseException:  # an error, or the loop ends
            self.close()
            raise
        finally:
            self._coming = None
        if not self._ready:
            self.close()

    def close(self) -> None:
        """Ends the watch."""
        self._closed = True
        if self._watch is not None:
            self._watch.close()
        self._threads.shutdown(wait=False)


class CommitStream(_Asynchronous):
    """Commits without waiting for each answer; see :class:`engram.CommitStream`."""

    def __init__(self, stream: _CommitStream) -> None:
        super().__init__(stream, ThreadPoolExecutor(1, "engram stream"))

    async def commit(self, entity: str, value: Any = None, **options: Any) -> None:
        """Sends a commit; it waits only where the window is full."""
        stream: _CommitStream = self._sync
        await self._run(lambda: stream.commit(entity, value, **options))

    flush = _awaited(_CommitStream.flush)
    close = _awaited(_CommitStream.close)

    @property
    def committed(self) -> int:
        count: int = self._sync.committed
        return count

    async def __aenter__(self) -> "CommitStream":
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        try:
            await self._run(functools.partial(self._sync.__exit__, kind))
        finally:
            self._threads.shutdown(wait=False)


class HostedMemory(_Asynchronous):
    """A memory that this program hosts, for ``async with``; see :class:`engram.HostedMemory`. Hooks are functions or coroutines;
    functions are called in threads, coroutines run in the event loop."""

    def __init__(self, hosted: _hosting.HostedMemory) -> None:
        super().__init__(hosted, ThreadPoolExecutor(1, "engram host"))
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    @property
    def name(self) -> str:
        return str(self._sync.name)

    def add_segment(self, id: str, type: Any = "", **options: Any) -> None:
        """Adds a segment, before the memory is served, with the arguments of :meth:`engram.HostedMemory.add_segment`."""
        self._sync.add_segment(id, type, **options)

    def _on(self, register: Callable[[Any], Any], function: F) -> F:
        def call(asked: Any) -> Any:
            answer = function(asked)
            if inspect.iscoroutine(answer):  # also of an object with an asynchronous __call__, or of a lambda
                assert self._loop is not None
                answer = asyncio.run_coroutine_threadsafe(answer, self._loop).result()
            return answer

        register(call)
        return function

    def on_commit(self, function: F) -> F:
        """As :meth:`engram.HostedMemory.on_commit`."""
        return self._on(self._sync.on_commit, function)

    def on_query(self, function: F) -> F:
        """As :meth:`engram.HostedMemory.on_query`."""
        return self._on(self._sync.on_query, function)

    def on_predict(self, function: F) -> F:
        """As :meth:`engram.HostedMemory.on_predict`."""
        return self._on(self._sync.on_predict, function)

    async def __aenter__(self) -> "HostedMemory":
        self._loop = asyncio.get_running_loop()
        try:
            await self._run(self._sync.__enter__)
        except BaseException:  # it began too late for who was cancelled
            threading.Thread(target=self._sync.close, daemon=True).start()
            self._threads.shutdown(wait=False)
            raise
        return self

    async def __aexit__(self, *failed: Any) -> None:
        try:
            await self._run(lambda: self._sync.__exit__(*failed))
        finally:
            self._threads.shutdown(wait=False)


class Memory(_Asynchronous):
    """All memories that can be reached; see :class:`engram.Memory`. It belongs to one event loop."""

    memories = _awaited(_client.Memory.memories)
    commit = _awaited(_client.Memory.commit)
    update = _awaited(_client.Memory.update)
    commit_all = _awaited(_client.Memory.commit_all)
    latest = _awaited(_client.Memory.latest)
    get = _awaited(_client.Memory.get)
    query = _awaited(_client.Memory.query)
    trace = _awaited(_client.Memory.trace)
    predict = _awaited(_client.Memory.predict)
    type = _awaited(_client.Memory.type)
    types = _awaited(_client.Memory.types)
    add_type = _awaited(_client.Memory.add_type)
    segments = _awaited(_client.Memory.segments)
    add_segment = _awaited(_client.Memory.add_segment)
    remove_segment = _awaited(_client.Memory.remove_segment)
    segment_type = _awaited(_client.Memory.segment_type)
    tree = _awaited(_client.Memory.tree)
    frame = _awaited(_client.Memory.frame)
    windows = _awaited(_client.Memory.windows)

    def watch(self, pattern: Any = "*", **options: Any) -> Watch:
        """Yields updates, with the arguments of :meth:`engram.Memory.watch`. It begins with ``async with``, or with the
        first update that is asked for."""
        memory: _client.Memory = self._sync
        return Watch(lambda: memory.watch(pattern, **options))

    def stream(self, *, window: int = 64, recorded: bool = False) -> CommitStream:
        """Begins a stream of commits, for ``async with``."""
        return CommitStream(self._sync.stream(window=window, recorded=recorded))

    def host(self, name: str, **options: Any) -> HostedMemory:
        """Makes a memory of one's own, with the arguments of :meth:`engram.Memory.host`."""
        return HostedMemory(self._sync.host(name, **options))

    @property
    def poses(self) -> Poses:
        return Poses(self._sync.poses, self._threads)

    @property
    def world(self) -> World:
        return World(self._sync.world, self._threads)

    @property
    def address(self) -> str:
        """Where the memory was found."""
        address: str = self._sync.address
        return address

    @property
    def robot(self) -> str:
        """The name of the robot, if it has one."""
        robot: str = self._sync.robot
        return robot

    async def close(self) -> None:
        """Ends all connections."""
        await self._run(self._sync.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> "Memory":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Connecting:
    """What connect returns: to await, or for ``async with``."""

    def __init__(self, open: Callable[[], _client.Memory]) -> None:
        self._open = open
        self._memory: Optional[Memory] = None

    async def _connect(self) -> Memory:
        threads = ThreadPoolExecutor(_THREADS, "engram")
        try:
            self._memory = Memory(await asyncio.get_running_loop().run_in_executor(threads, self._open), threads)
        except BaseException:
            threads.shutdown(wait=False)
            raise
        return self._memory

    def __await__(self) -> Generator[Any, None, Memory]:
        return self._connect().__await__()

    async def __aenter__(self) -> Memory:
        return await self._connect()

    async def __aexit__(self, *_: object) -> None:
        if self._memory is not None:
            await self._memory.close()


def connect(address: Optional[str] = None, *, credentials: Optional[str] = None, timeout: float = 5.0,
            call_timeout: Optional[float] = None, detection_timeout: float = 3.0) -> _Connecting:
    """Connects as :func:`engram.connect` does: ``await engram.aio.connect()``, or ``async with engram.aio.connect() as m``."""
    return _Connecting(lambda: _client.Memory(address, credentials=credentials, timeout=timeout, call_timeout=call_timeout,
                                               detection_timeout=detection_timeout))
