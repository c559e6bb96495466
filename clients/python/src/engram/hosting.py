"""A memory of one's own: its types, its segments, and functions that are called on what happens in it. docs/formats/host.md has the protocol."""

from __future__ import annotations

import logging
import os
import re
import secrets
import sys
import threading
import time as _time
import typing
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, TypeVar

from . import errors
from ._annotations import descriptors_of, identifier
from ._query import segment
from ._schema import message
from .ids import ID, entity_of
from .snapshots import Instance, Snapshot, instance_of
from .times import SpanLike, Time, parse_span, parse_time

if TYPE_CHECKING:
    from .client import Memory

_COMMIT, _QUERY, _PREDICT = 1, 2, 3
_MAX_ANSWER = 100 << 20  # bytes; the server takes 128 MiB
_RETRY = 0.2
_PATIENCE = 10.0  # seconds for which somebody else may have the memory after a connection broke

F = TypeVar("F", bound=Callable[..., Any])


class EntityUpdate:
    """What is to be written of an entity. A commit hook may set ``entity``, ``time``, ``value`` and ``instances``."""

    def __init__(self, entity: ID, time: Time, instances: list[Any]) -> None:
        self.entity = entity
        self.time = time
        self.instances = instances
        """Instances as they came; in their place values, or :class:`engram.Datum`, may be put."""

    @property
    def value(self) -> Any:
        """The payload's members of the first instance. Setting it gives the first instance another payload."""
        first = self.instances[0]
        return getattr(first, "value", first)

    @value.setter
    def value(self, value: Any) -> None:
        from .client import Datum

        first = self.instances[0]
        self.instances = [Datum(value, getattr(first, "confidence", 1.0), getattr(first, "sent", None)), *self.instances[1:]]

    def __getitem__(self, member: str) -> Any:
        return self.instances[0][member] if isinstance(self.instances[0], Instance) else self.value[member]

    def __repr__(self) -> str:
        return f"<EntityUpdate {self.entity}/{self.time}>"


class Asked:
    """What is asked of a memory. ``request`` is the QueryRequest, the part about the memory."""

    def __init__(self, memory: str, request: Any) -> None:
        self.memory = memory
        self.request = request

    def concerns(self, below: str) -> bool:
        """Whether it can be about something at or below an ID without the memory's name, such as ``State/sensor``."""
        nodes = list(self.request.memories)
        for name in ID(f"{self.memory}/{below}").parts[1:]:
            children = [c for n in nodes for c in n.children]
            if not children:
                return bool(nodes)
            nodes = [c for c in children if _selects(c.names, name)]
        return bool(nodes)

    def __repr__(self) -> str:
        return f"<Asked of {self.memory}>"


def _selects(selector: Any, name: str) -> bool:
    kind = selector.WhichOneof("kind")
    if kind == "name":
        return bool(selector.name == name)
    if kind == "names":
        return name in selector.names.names
    try:
        return kind is None or re.fullmatch(selector.regex, name) is not None
    except re.error:
        return True  # RE2 has what Python has not


class HostedMemory:
    """A memory that this program hosts. Make one with :meth:`engram.Memory.host`.

    Functions are called from several threads at once. Their errors of :mod:`engram.errors` refuse what was to be done; any other
    exception does so as Internal, but a query is answered then with what is there; the logger ``engram`` gets its traceback.
    """

    def __init__(self, m: "Memory", name: str, *, timeout: SpanLike = "2s", calls: int = 16, program: str = "") -> None:
        self._closed = threading.Event()
        self._ready = threading.Event()
        self._failed: Optional[BaseException] = None
        self._thread: Optional[threading.Thread] = None
        self._m = m
        self.name = name
        self._calls = calls
        self._hooks: dict[int, Callable[[Any], Any]] = {}
        self._begin = message("HostBegin")(memory=name, program=program or os.path.basename(sys.argv[0]) or "python", session=secrets.token_hex(16),
                                           timeout_nanos=parse_span(timeout), calls=calls)
        self._stream: Any = None

    def add_segment(self, id: str, type: Any = "", *, max_count: int = 0, max_age: Optional[SpanLike] = None, max_bytes: int = 0,
                    durability: str = "volatile") -> None:
        """Adds a core segment, ``State``, or a provider segment, ``State/sensor``, before the memory is served.

        The type is a dict of members and their types, such as ``{"voltage": float, "cells": list[float]}``, a class with such annotations,
        a message class of protobuf, or the name of a type that the server knows, or its class of ``engram gen``. Without one it
        takes any data.
        """
        if any(s.id == f"{self.name}/{id}" for s in self._begin.segments):
            raise errors.AlreadyExists(f"{self.name}/{id}", "the segment was added already")
        self._begin.segments.append(segment(ID(f"{self.name}/{id}"), self._type(id, type), max_count, max_age, max_bytes, durability))

    def _type(self, id: str, of: Any) -> str:
        if isinstance(of, str):
            return of
        if isinstance(getattr(of, "TYPE", None), str):
            return str(of.TYPE)
        if hasattr(of, "DESCRIPTOR"):
            name, descriptors = str(of.DESCRIPTOR.full_name), _files(of.DESCRIPTOR.file)
        else:
            members: Mapping[str, Any] = of if isinstance(of, Mapping) else typing.get_type_hints(of) if isinstance(of, type) else {}
            label = id.rpartition("/")[2] if isinstance(of, Mapping) else getattr(of, "__name__", "")
            if not members:
                raise errors.Invalid(f"{self.name}/{id}", f"{of!r:.60} has no annotated members; give a dict such as {{'voltage': float}}")
            name = f"{identifier(self.name)}.{identifier(label)}"
            descriptors = descriptors_of(name, members)
        known = next((t for t in self._begin.types if t.name == name), None)
        if known is None:
            self._begin.types.add(name=name, descriptors=descriptors)
        elif known.descriptors != descriptors:
            raise errors.AlreadyExists(f"{self.name}/{id}", f"another segment has a type {name} with other members; give this segment another name")
        return name

    def on_commit(self, function: F) -> F:
        """Has a function see each :class:`EntityUpdate` before it is stored; it may change it, or refuse it with an error."""
        return self._on(_COMMIT, function)

    def on_query(self, function: F) -> F:
        """Has a function see what is asked, an :class:`Asked`, before it is answered; it may commit what is asked for, or refuse."""
        return self._on(_QUERY, function)

    def on_predict(self, function: F) -> F:
        """Has a function predict a snapshot, by its ID: of an entity at a time. It returns what ``commit`` takes as a value, or a list of
        several, or raises NotFound and other errors."""
        return self._on(_PREDICT, function)

    def _on(self, hook: int, function: F) -> F:
        if hook in self._hooks:
            raise errors.AlreadyExists(self.name, f"the memory has this hook already; {function.__name__} would be another one")
        self._hooks[hook] = function
        self._begin.hooks.append(hook)
        return function

    # Serving

    def run(self) -> None:
        """Hosts the memory until :meth:`close`, from another thread or a handler of a signal, or an interrupt. It connects again where a
        connection broke. AlreadyExists if another program hosts it."""
        pools = {hook: ThreadPoolExecutor(self._calls, f"engram hook {hook} of {self.name}") for hook in self._hooks}
        patience = 0.0
        try:
            while not self._closed.is_set():
                try:
                    self._serve(pools)
                except errors.AlreadyExists:
                    if _time.monotonic() > patience:
                        raise
                except (errors.Unavailable, errors.Canceled, errors.Exhausted, errors.Conflict):
                    if not self._ready.is_set():
                        raise
                if self._stream is not None:
                    patience, self._stream = _time.monotonic() + _PATIENCE, None
                self._closed.wait(_RETRY)
        except KeyboardInterrupt:
            pass
        finally:
            self._closed.set()
            for pool in pools.values():
                pool.shutdown(wait=False, cancel_futures=True)

    def _serve(self, pools: dict[int, ThreadPoolExecutor]) -> None:
        stream = self._m._servers.rpc().pipe("HostService/Host")
        stream.send(message("HostRequest")(begin=self._begin).SerializeToString())
        parse = message("HostResponse").FromString
        for part in stream:
            call = parse(part)
            kind = {"commit": _COMMIT, "query": _QUERY, "predict": _PREDICT}.get(call.WhichOneof("kind"))
            if call.call == 0:
                self._stream = stream
                self._m._servers.names(fresh=True)  # has it now
                self._ready.set()
                if self._closed.is_set():
                    stream.close()
            elif kind is not None:
                pools[kind].submit(self._answer, stream, call, kind, _time.monotonic() + call.timeout_nanos / 1e9)

    def _answer(self, stream: Any, call: Any, kind: int, until: float) -> None:
        answer = message("HostAnswer")(call=call.call)
        try:
            if _time.monotonic() > until:  # it waited for others, and nobody waits for it
                raise errors.Unavailable(self.name, "the program was too busy to answer in time")
            {_COMMIT: self._commit, _QUERY: self._query, _PREDICT: self._predict}[kind](call, answer)
        except BaseException as e:
            self._log(kind, e)
            answer = message("HostAnswer")(call=call.call, error=_error(self.name, e))
        encoded = message("HostRequest")(answer=answer).SerializeToString()
        if len(encoded) > _MAX_ANSWER:
            large = errors.Exhausted(self.name, f"the program answered with {len(encoded)} bytes; at most {_MAX_ANSWER} pass")
            encoded = message("HostRequest")(answer=message("HostAnswer")(call=call.call, error=_error(self.name, large))).SerializeToString()
        stream.send(encoded)

    def _log(self, kind: int, e: BaseException) -> None:
        """Tells of an exception that is the program's fault; an error of engram is an answer."""
        if not isinstance(e, errors.Error):
            name = getattr(self._hooks[kind], "__name__", "a hook")
            logging.getLogger("engram").error("%s of the memory %s failed", name, self.name, exc_info=e)

    def _commit(self, call: Any, answer: Any) -> None:
        entity = entity_of(call.commit.entity)
        u = EntityUpdate(entity, Time(call.commit.time), [
            instance_of(i, self._m._registry, i.payload.type or self._m.segment_type(entity)) for i in call.commit.instances])
        before = (u.entity, u.time, list(u.instances))
        self._hooks[_COMMIT](u)
        if (u.entity, u.time) == before[:2] and len(u.instances) == len(before[2]) and all(a is b for a, b in zip(u.instances, before[2])):
            return
        answer.commit.entity, answer.commit.time = u.entity, parse_time(u.time)
        self._fill(answer.commit, ID(u.entity), u.instances)

    def _query(self, call: Any, answer: Any) -> None:
        self._hooks[_QUERY](Asked(self.name, call.query))

    def _predict(self, call: Any, answer: Any) -> None:
        answer.predict.SetInParent()
        for text in call.predict.ids:
            prediction = answer.predict.predictions.add(id=text)
            try:
                value = self._hooks[_PREDICT](ID(text))
                if value is None:
                    raise errors.NotFound(text, "there is nothing to predict it from")
                if isinstance(value, Snapshot):
                    value = value.instances
                self._fill(prediction.snapshot, ID(text).entity, value if isinstance(value, list) else [value])
                prediction.snapshot.time = ID(text).time
            except Exception as e:
                self._log(_PREDICT, e)
                prediction.ClearField("snapshot")
                prediction.error.CopyFrom(_error(text, e))

    def _fill(self, out: Any, entity: ID, values: list[Any]) -> None:
        from .client import Datum

        for v in values:
            if isinstance(v, Instance):
                type, data, confidence = v.type, v.data, v.confidence
                sent: Optional[int] = v.sent
            else:
                type, data, sent, confidence = self._m._datum(entity, v if isinstance(v, Datum) else Datum(v))
            instance = out.instances.add(confidence=confidence)
            instance.payload.type, instance.payload.data = type, bytes(data)
            if sent is not None:
                instance.sent = sent

    def close(self) -> None:
        """Ends the hosting. The memory stays readable at the server."""
        self._closed.set()
        if self._stream is not None:
            self._stream.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _background(self) -> None:
        try:
            self.run()
        except BaseException as e:
            self._failed = e
        finally:
            self._ready.set()

    def __enter__(self) -> "HostedMemory":
        """Hosts the memory in a thread of its own, and returns once it is hosted."""
        self._thread = threading.Thread(target=self._background, daemon=True, name=f"engram host of {self.name}")
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        self.close()
        if kind is None and self._failed is not None:
            raise self._failed


def _error(thing: str, e: BaseException) -> Any:
    if isinstance(e, errors.Error):
        return message("Error")(code=e.code, thing=e.thing or thing, message=e.message)
    return message("Error")(code=errors.Internal.code, thing=thing, message=f"{type(e).__name__}: {e}")


def _files(file: Any) -> bytes:
    """Returns a file of descriptors with all that it imports."""
    from google.protobuf import descriptor_pb2

    out, added = descriptor_pb2.FileDescriptorSet(), set()

    def add(f: Any) -> None:
        if f.name not in added:
            added.add(f.name)
            for needed in f.dependencies:
                add(needed)
            f.CopyToProto(out.file.add())

    add(file)
    encoded: bytes = out.SerializeToString()
    return encoded
