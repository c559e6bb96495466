"""The local protocol of docs/formats/local.md: the way to a server on the same host.

Each call has a connection for itself while it lasts; connections are kept for the next call.
So calls of several threads do not wait for each other, and no thread stands between a call and
its socket.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
import weakref
from collections import deque
from typing import Any, Iterator, Optional, Sequence

from . import errors
from ._transport import Begin, Cancelable, Commit, Reply, Selector, Transport
from ._wire import Buffer
from .ids import ID
from .snapshots import Committed, CopyUsed, Instance, Missing, Snapshot, Update
from .times import Time

MAGIC = b"ENGRAM\x00L"
_VERSIONS = range(2, 4)  # that are spoken
_HEADER = struct.Struct("<IIIBBH")
_HELLO = struct.Struct("<8sHHIII")
_WELCOME = struct.Struct("<8sHHIIIQII")
_INSTANCE = struct.Struct("<IqfB")
_U16, _U32, _U64, _I64 = (struct.Struct("<" + c) for c in "HIQq")
# A snapshot with one instance of a type that was named before, as most are.
_SNAPSHOT = struct.Struct("<qqQI")
_ONE = struct.Struct("<qqQIIIqfB")

_COMMIT, _LATEST, _CALL, _QUERY, _SUBSCRIBE, _CREDIT, _CANCEL, _SELECT = range(1, 9)
_RESULTS, _SNAP, _REPLY, _ANSWER, _SUBSCRIBED, _UPDATES, _ERROR = range(0x81, 0x88)
_MORE, _STREAM, _RECORDED, _DETAIL = 1, 2, 4, 4

_NEW = 1 << 31
_RECALLED = 1 << 63
_MAX_FRAME = 1 << 30
_SLOTS_IDS, _SLOTS_TYPES = 8192, 512
_ROOM = 64 << 20
_READ = 1 << 15  # bytes that are read at once, if they are there
_PARTS = 512  # of a message that is sent
_IDLE = 4  # connections that are kept


class _Names:
    """The names that one side has sent, by slot."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.by_name: dict[str, int] = {}
        self.order: deque[str] = deque()

    def reference(self, name: str, definition: Any) -> bytes:
        slot = self.by_name.get(name)
        if slot is not None:
            return _U32.pack(slot)
        if len(self.by_name) < self.slots:
            slot = len(self.by_name)
        else:
            slot = self.by_name.pop(self.order.popleft())
        self.by_name[name] = slot
        self.order.append(name)
        text: bytes = definition(name)
        return _U32.pack(_NEW | slot) + text


def _text(value: str) -> bytes:
    data = value.encode()
    if len(data) > 0xFFFF:
        raise errors.Invalid(value[:60] + "…", "the text is too long")
    return _U16.pack(len(data)) + data


def _define_id(text: str) -> bytes:
    id = ID(text)
    level = id.level
    out = bytes([level]) + b"".join(_text(n) for n in id.parts[:4])
    if level > 4:
        out += _I64.pack(id.time or 0)
    if level > 5:
        out += _U32.pack(id.instance or 0)
    return out


class _Reader:
    """Reads the records of a frame."""

    __slots__ = ("buf", "pos", "data", "offset", "conn")

    def __init__(self, conn: "Connection", records: bytes, data: Buffer) -> None:
        self.conn = conn
        self.buf = records
        self.pos = 0
        self.data = data
        self.offset = 0

    def take(self, form: struct.Struct) -> Any:
        value = form.unpack_from(self.buf, self.pos)[0]
        self.pos += form.size
        return value

    def u8(self) -> int:
        self.pos += 1
        return self.buf[self.pos - 1]

    def text(self) -> str:
        n = self.take(_U16)
        self.pos += n
        return str(self.buf[self.pos - n:self.pos], "utf-8")

    def id(self) -> ID:
        level = self.u8()
        names = [self.text() for _ in range(min(level, 4))]
        time = self.take(_I64) if level > 4 else None
        return ID.of(*names, time=time, index=self.take(_U32) if level > 5 else None)

    def id_reference(self) -> ID:
        slot = self.take(_U32)
        if slot & _NEW:
            id = self.conn.ids[slot ^ _NEW] = self.id()
            return id
        return self.conn.ids[slot]

    def type_reference(self) -> str:
        slot: int = self.take(_U32)
        if slot & _NEW:
            name = self.conn.types[slot ^ _NEW] = self.text()
            return name
        return self.conn.types[slot]

    def payload(self, size: int) -> Buffer:
        offset = self.offset
        self.offset = offset + size
        return self.data[offset:offset + size]

    def snapshot(self, entity: ID) -> Snapshot:
        buf, pos = self.buf, self.pos
        types = self.conn.owner.registry
        if len(buf) - pos >= _ONE.size:
            time, arrived, number, count, slot, size, sent, confidence, flags = _ONE.unpack_from(buf, pos)
            if count == 1 and not slot & _NEW:
                self.pos = pos + _ONE.size
                offset = self.offset
                self.offset = offset + size
                instance = Instance(self.conn.types[slot], self.data[offset:offset + size], sent if flags & 1 else None, confidence, types)
                return Snapshot(entity, time, arrived, number & ~_RECALLED, bool(number & _RECALLED), [instance])
        time, arrived, number, count = _SNAPSHOT.unpack_from(buf, pos)
        self.pos = pos + _SNAPSHOT.size
        instances = []
        for _ in range(count):
            name = self.type_reference()
            size, sent, confidence, flags = _INSTANCE.unpack_from(buf, self.pos)
            self.pos += _INSTANCE.size
            instances.append(Instance(name, self.payload(size), sent if flags & 1 else None, confidence, types))
        return Snapshot(entity, time, arrived, number & ~_RECALLED, bool(number & _RECALLED), instances)

    def missing(self) -> Missing:
        return Missing(self.id(), self.text(), self.take(_U64), Time(self.take(_I64)), Time(self.take(_I64)))

    def error(self) -> errors.Error:
        code = self.u8()
        thing = self.text()
        return errors.by_number(code, thing, self.text())


class Connection:
    """One connection to a server, in the hands of one call at a time."""

    def __init__(self, owner: "Local", timeout: float, for_call: bool = False) -> None:
        if owner.closed:
            raise errors.Closed(owner.address)
        self.owner: Local = owner
        self.ids: dict[int, ID] = {}
        self.types: dict[int, str] = {}
        self.come = b""  # that was received and not read
        self.until: Optional[float] = None  # when the call is given up
        self.pid = os.getpid()
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(timeout)
            self.sock.connect(owner.path)
            self.sock.sendall(_HELLO.pack(MAGIC, _VERSIONS[-1], _VERSIONS[0], _MAX_FRAME, _SLOTS_IDS, _SLOTS_TYPES))
            magic, version, _, self.max_frame, slots, types, self.epoch, _, _ = _WELCOME.unpack(self._exactly(_WELCOME.size))
            if magic != MAGIC:
                raise errors.Unsupported(owner.address, "it is no memory server's local socket")
            if version == 0:
                raise self.read()[2].error()
            if version not in _VERSIONS:
                raise errors.Unsupported(owner.address, f"the memory server speaks version {version} of the local protocol, this client {_VERSIONS[0]} to {_VERSIONS[-1]}")
            self.sent_ids, self.sent_types = _Names(slots), _Names(types)
            self.sock.settimeout(None)
        except (OSError, struct.error) as e:
            self.sock.close()
            if for_call and isinstance(e, TimeoutError):
                raise self._broke(e) from None
            raise errors.Unavailable(owner.address, f"the memory server does not answer: {getattr(e, 'strerror', None) or e}") from None
        except BaseException:
            self.sock.close()
            raise

    def close(self) -> None:
        if self.pid == os.getpid():  # in a forked process the connection is the parent's
            try:
                self.sock.shutdown(socket.SHUT_RDWR)  # wakes up who reads
            except OSError:
                pass
        self.sock.close()

    def broken(self) -> bool:
        """Reports whether the server has ended the connection."""
        if self.come:
            return True
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(0))

    def _limit(self) -> None:
        """Has the next operation of the socket end when the call is given up."""
        if self.until is not None:
            self.sock.settimeout(max(self.until - time.monotonic(), 1e-3))

    def limited(self, seconds: Optional[float]) -> None:
        """Says how long the call that begins may take; None lifts a limit."""
        if seconds is not None:
            self.until = time.monotonic() + seconds
        elif self.until is not None:
            self.until = None
            self.sock.settimeout(None)

    def _broke(self, e: OSError) -> errors.Error:
        if isinstance(e, TimeoutError):
            return errors.Timeout(self.owner.address, f"the memory server did not answer within {self.owner.call_timeout:g} s")
        return errors.Unavailable(self.owner.address, f"the connection to the memory server broke: {e}")

    def _exactly(self, n: int) -> bytes:
        """Reads n bytes, and what else has come, for the next reads."""
        have = self.come
        while len(have) < n:
            self._limit()
            more = self.sock.recv(_READ if n - len(have) <= _READ else n - len(have))
            if not more:
                raise errors.Unavailable(self.owner.address, "the memory server has ended the connection")
            have = have + more if have else more
        if len(have) == n:
            self.come = b""
            return have
        self.come = have[n:]
        return have[:n]

    def _into(self, n: int) -> memoryview:
        """Reads n bytes into memory of their own."""
        buf = memoryview(bytearray(n))
        at = min(len(self.come), n)
        buf[:at], self.come = self.come[:at], self.come[at:]
        while at < n:
            self._limit()
            got = self.sock.recv_into(buf[at:], n - at, socket.MSG_WAITALL)
            if got == 0:
                raise errors.Unavailable(self.owner.address, "the memory server has ended the connection")
            at += got
        return buf.toreadonly()

    def send(self, kind: int, call: int, records: bytes, payloads: Sequence[Buffer] = (), flags: int = 0) -> None:
        size = sum(map(len, payloads))
        length = len(records) + size
        if length > self.max_frame:
            raise errors.Exhausted(self.owner.address, f"{length} bytes are more than the server takes at once, {self.max_frame}")
        head = _HEADER.pack(length, len(records), call, kind, flags, 0) + records
        try:
            self._limit()
            if size < 1 << 12:
                self.sock.sendall(b"".join((head, *payloads)) if payloads else head)
            else:
                self._gather([head, *payloads])
        except OSError as e:
            raise self._broke(e) from None

    def _gather(self, parts: list[Buffer]) -> None:
        """Sends parts without putting them together."""
        while parts:
            self._limit()
            some = parts[:_PARTS]
            sent = self.sock.sendmsg(some)
            for i, p in enumerate(some):
                if sent < len(p):
                    parts = [memoryview(p)[sent:], *parts[i + 1:]]
                    break
                sent -= len(p)
            else:
                parts = parts[_PARTS:]

    def read(self) -> tuple[int, int, _Reader, int]:
        """Reads a frame: its kind, flags, records, and size."""
        if self.pid != os.getpid():
            raise errors.Invalid(self.owner.address, "the connection belongs to the process that made it; begin anew in this one")
        try:
            length, records, call, kind, flags, _ = _HEADER.unpack(self._exactly(16))
            if records > length or length > _MAX_FRAME:
                raise errors.Corrupt(self.owner.address, "a frame does not add up")
            if length - records < 1 << 15:
                body = self._exactly(length) if length else b""
                reader = _Reader(self, body if records == length else body[:records], memoryview(body)[records:])
            else:
                head = self._exactly(records)
                reader = _Reader(self, head, self._into(length - records))
        except OSError as e:
            raise self._broke(e) from None
        if kind == _ERROR and call == 0:
            raise reader.error()
        return kind, flags, reader, 16 + length

    def answer(self) -> tuple[int, int, _Reader, int]:
        """Reads a frame of the call's answer; raises the error that it may be."""
        frame = self.read()
        if frame[0] == _ERROR:
            raise frame[2].error()
        return frame

    def commit_records(self, updates: list[Commit]) -> tuple[bytes, list[Buffer]]:
        out = [_U32.pack(len(updates))]
        payloads: list[Buffer] = []
        for u in updates:
            out.append(self.sent_ids.reference(u.entity, _define_id))
            out.append(_I64.pack(u.time))
            out.append(_U32.pack(len(u.instances)))
            for type, data, sent, confidence in u.instances:
                out.append(self.sent_types.reference(type, _text))
                out.append(_INSTANCE.pack(len(data), sent or 0, confidence, 0 if sent is None else 1))
                payloads.append(data)
        return b"".join(out), payloads

    def results(self, updates: list[Commit]) -> list[Committed]:
        done: list[Committed] = []
        while True:
            _, flags, r, _ = self.answer()
            for _ in range(r.take(_U32)):
                status = r.u8()
                if status == 0:
                    u = updates[len(done)]
                    done.append(Committed(ID(f"{u.entity}/{Time(u.time)}"), r.take(_U64)))
                elif status in (1, 3):
                    number, id = r.take(_U64), r.id()
                    done.append(Committed(id, number, None, r.error() if status == 3 else None))
                else:
                    id = r.id()
                    done.append(Committed(id, 0, r.error()))
            if not flags & _MORE:
                return done


class Local(Transport):
    """A memory server at ``local:/path``. Safe for concurrent use."""

    def __init__(self, address: str, registry: Any, timeout: float = 5.0, call_timeout: Optional[float] = None) -> None:
        self.address = address
        self.path = address.removeprefix("local:")
        self.registry = registry
        self.timeout, self.call_timeout = timeout, call_timeout
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._streams: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._pid = os.getpid()
        self.closed = False
        conn = Connection(self, timeout)
        self.epoch = conn.epoch
        self._idle.append(conn)

    def close(self) -> None:
        with self._lock:
            self.closed = True
            open, self._idle, self._streams = [*self._idle, *self._streams], [], weakref.WeakSet()
        for conn in open:
            conn.close()

    def connection(self) -> Connection:
        """Makes a connection for a stream, which ends with the client."""
        conn = Connection(self, self.timeout)
        with self._lock:
            self._streams.add(conn)
        if self.closed:
            conn.close()
        return conn

    def _take(self) -> Connection:
        if self._pid != os.getpid():  # after a fork: the sockets are the parent's
            self._idle, self._pid, self._lock = [], os.getpid(), threading.Lock()
        while True:
            with self._lock:
                conn = self._idle.pop() if self._idle else None
            if conn is None:
                return Connection(self, self.timeout) if self.call_timeout is None else Connection(self, self.call_timeout, True)
            if not conn.broken():
                return conn
            conn.close()

    def _give(self, conn: Connection) -> None:
        with self._lock:
            if len(self._idle) < _IDLE and not self.closed:
                self._idle.append(conn)
                return
        conn.close()

    def _exchange(self, kind: int, build: Any, read: Any, flags: int = 0) -> Any:
        """Makes a call on a connection of its own. What is left after an error that ended the
        call is usable, after any other it is not."""
        conn = self._take()
        sent = ended = False
        try:
            conn.limited(self.call_timeout)
            records, payloads = build(conn)
            conn.send(kind, 1, records, payloads, flags)
            sent = True
            answer = read(conn)
            ended = True
            return answer
        except errors.Error as e:
            # Names that were defined for what was not sent are not known to the server.
            ended = sent and not isinstance(e, (errors.Unavailable, errors.Corrupt, errors.Timeout))
            raise
        except (struct.error, IndexError, KeyError) as e:
            raise errors.Corrupt(self.address, f"the server's answer cannot be read: {e!r}") from None
        finally:
            if ended:
                self._give(conn)
            else:
                conn.close()

    def commit(self, updates: list[Commit], recorded: bool) -> list[Committed]:
        done: list[Committed] = self._exchange(_COMMIT, lambda c: c.commit_records(updates), lambda c: c.results(updates),
                                               _RECORDED if recorded else 0)
        return done

    def latest(self, entity: ID, at: Optional[int]) -> Snapshot:
        def build(c: Connection) -> tuple[bytes, list[Buffer]]:
            return (b"\x00" if at is None else b"\x01") + c.sent_ids.reference(entity, _define_id) + _I64.pack(at or 0), []

        snapshot: Snapshot = self._exchange(_LATEST, build, lambda c: c.answer()[2].snapshot(entity))
        return snapshot

    def call(self, procedure: str, request: bytes) -> bytes:
        reply: bytes = self._exchange(_CALL, lambda c: (_text(f"/engram.v1.MemoryService/{procedure}") + request, []),
                                      lambda c: c.answer()[2].buf)
        return reply

    def query(self, request: bytes) -> Reply:
        reply: Reply = self._exchange(_QUERY, lambda c: (_U32.pack(_ROOM) + request, []), _read_answer, _DETAIL)
        return reply

    def select(self, entity: ID, selectors: list[Selector], target: int, payload: bool) -> Optional[Reply]:
        def build(c: Connection) -> tuple[bytes, list[Buffer]]:
            head = _U32.pack(_ROOM) + bytes([target, 0 if payload else 1]) + c.sent_ids.reference(entity, _define_id)
            return head + bytes([len(selectors)]) + b"".join(struct.pack("<Bqq", *s) for s in selectors), []

        reply: Reply = self._exchange(_SELECT, build, _read_answer)
        return reply

    def subscribe(self, request: bytes) -> "Subscription":
        return Subscription(self, request)

    def stream(self, recorded: bool) -> "Stream":
        return Stream(self, recorded)


def _read_answer(conn: Connection) -> Reply:
    names = [""] * 4
    entity = ID()
    reply = Reply()
    used = 0
    while True:
        _, flags, r, size = conn.answer()
        end = len(r.buf)
        while r.pos < end:
            kind = r.u8()
            if kind == 0x10:
                if not entity:
                    entity = ID.of(*names)
                reply.snapshots.append(r.snapshot(entity))
            elif 1 <= kind <= 4:
                names[kind - 1] = r.text()
                entity = ID()
            elif kind == 0x11:
                reply.missing.append(r.missing())
            elif kind == 0x13:
                reply.missing[-1] = reply.missing[-1]._replace(example=str(r.id()), detail=r.text())
            elif kind == 0x12:
                memory, server = r.text(), r.text()
                as_of, lag, behind = Time(r.take(_I64)), r.take(_I64), r.take(_U64)
                bits = r.u8()
                if bits & 2:
                    r.pos += 24
                reply.copies.append(CopyUsed(memory, server, as_of, lag, behind, bool(bits & 1)))
            else:
                raise errors.Corrupt(conn.owner.address, f"an answer has a record {kind:#x}")
        if not flags & _MORE:
            return reply
        used += size
        if used >= _ROOM // 2:
            conn.send(_CREDIT, 1, _U32.pack(used))
            used = 0


class Subscription(Cancelable):
    """The updates of a subscription, on a connection of its own."""

    def __init__(self, owner: Local, request: bytes) -> None:
        self.conn = conn = owner.connection()
        self.used = 0
        try:
            conn.send(_SUBSCRIBE, 1, _U32.pack(_ROOM) + request)
            _, _, r, _ = conn.answer()
            epoch, number, known = r.take(_U64), r.take(_U64), r.u8()
            self.begin = Begin(epoch, number if known & 1 else None)
        except BaseException:
            conn.close()
            raise

    def batches(self) -> Iterator[list[Update]]:
        conn = self.conn
        while True:
            _, flags, r, size = conn.answer()
            yield [_update(r) for _ in range(r.take(_U32))]
            if not flags & _MORE:
                return
            self.used += size
            if self.used >= _ROOM // 2:
                conn.send(_CREDIT, 1, _U32.pack(self.used))
                self.used = 0

    def close(self) -> None:
        self.conn.close()


def _update(r: _Reader) -> Update:
    flags = r.u8()
    entity = r.id_reference()
    dropped = r.take(_U64) if flags & 8 else 0
    failed = None
    if flags & 16:
        failed = r.missing()
        failed = failed._replace(example=str(r.id()), detail=r.text())
    if flags & 4:
        s = r.snapshot(entity)
        return Update(entity, s.number, s.arrived, s.time, s, bool(flags & 1), bool(flags & 2), dropped, failed)
    time, arrived, number = Time(r.take(_I64)), Time(r.take(_I64)), r.take(_U64)
    return Update(entity, number, arrived, time, None, bool(flags & 1), bool(flags & 2), dropped, failed)


class Stream(Cancelable):
    """A commit stream on a connection of its own."""

    def __init__(self, owner: Local, recorded: bool) -> None:
        self.conn = owner.connection()
        self.flags = _STREAM | (_RECORDED if recorded else 0)

    def send(self, updates: list[Commit]) -> None:
        records, payloads = self.conn.commit_records(updates)
        self.conn.send(_COMMIT, 1, records, payloads, self.flags)

    def ready(self) -> bool:
        return self.conn.broken()  # there is something to read

    def receive(self, updates: list[Commit]) -> list[Committed]:
        return self.conn.results(updates)

    def close(self) -> None:
        self.conn.close()


def beside(address: str) -> str:
    """Returns the local address of a server that also listens at a ``unix:`` one."""
    path = address.removeprefix("unix:").removeprefix("//")
    return "local:" + path.removesuffix(".sock") + ".local"
