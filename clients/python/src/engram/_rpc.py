"""gRPC: the way to servers elsewhere, and for the calls of features."""

from __future__ import annotations

import contextlib
import copy
import os
import queue
import re
import ssl
import stat
import sys
import threading
import urllib.parse
from typing import Any, Callable, Iterator, Optional

import grpc

from . import errors
from ._schema import message
from ._transport import Begin, Cancelable, Commit, Reply, Transport
from ._wire import members
from .ids import ID, entity_of
from .snapshots import Committed, CopyUsed, Missing, Snapshot, Update, snapshot_of
from .times import Time

_Options = list[tuple[str, Any]]
_OPTIONS: _Options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.enable_retries", 0),
                      ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 2000),
                      ("grpc.http2.lookahead_bytes", 1 << 20),
                      # A computer that is gone without a word is noticed in 20 s where a call waits for it, as by the client of Go.
                      ("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 10_000), ("grpc.http2.ping_timeout_ms", 10_000),
                      ("grpc.http2.max_pings_without_data", 0),
                      ("grpc.primary_user_agent", urllib.parse.quote(os.path.basename(sys.argv[0] if hasattr(sys, "argv") and sys.argv else "") or "python"))]

_CODES: dict[Any, type[errors.Error]] = {
    grpc.StatusCode.INVALID_ARGUMENT: errors.Invalid, grpc.StatusCode.NOT_FOUND: errors.NotFound,
    grpc.StatusCode.ALREADY_EXISTS: errors.AlreadyExists, grpc.StatusCode.OUT_OF_RANGE: errors.OutOfRange,
    grpc.StatusCode.ABORTED: errors.Conflict, grpc.StatusCode.FAILED_PRECONDITION: errors.Invalid,
    grpc.StatusCode.PERMISSION_DENIED: errors.Forbidden, grpc.StatusCode.UNAUTHENTICATED: errors.Forbidden,
    grpc.StatusCode.UNAVAILABLE: errors.Unavailable, grpc.StatusCode.RESOURCE_EXHAUSTED: errors.Exhausted,
    grpc.StatusCode.DATA_LOSS: errors.Corrupt, grpc.StatusCode.CANCELLED: errors.Canceled,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.Timeout, grpc.StatusCode.UNIMPLEMENTED: errors.Unsupported}


def domain_error(e: Any, address: str) -> errors.Error:
    """Makes an error of a failed call; the detail that servers of ours add has its code."""
    for key, value in (e.trailing_metadata() or ()):
        if key == "grpc-status-details-bin":
            for number, any_ in members(value):
                if number == 3:
                    parts = dict(members(any_))
                    if parts.get(1, b"").endswith(b"/engram.v1.Error"):
                        m = message("Error").FromString(parts.get(2, b""))
                        return _error(m)
    text = re.sub(r"^failed to connect to all addresses; last error: \w+: \S+ ", "", e.details() or str(e.code()))
    return _CODES.get(e.code(), errors.Internal)(address, text if e.code() != grpc.StatusCode.UNAVAILABLE else f"the memory server does not answer: {text}")


def target_of(address: str) -> tuple[str, bool]:
    """Returns what gRPC calls the address, and whether it has TLS. Invalid for what is none."""
    if address.startswith("unix:"):
        path = address[5:].removeprefix("//")
        if not path:
            raise errors.Invalid(address, "the address of a Unix socket has no path; write unix:/path/engram.sock")
        return "unix:" + path, False
    if address.startswith(("nats:", "tls:")):
        raise errors.Unsupported(address, "Python reaches servers by sockets and TCP, not through the backbone; give a server's address")
    if "@" in address:
        raise errors.Invalid("xxxxx" + address[address.rindex("@"):], "an address names no user; say who you are by credentials")
    secure = address.startswith("https://")
    host_port = address.removeprefix("https://").removeprefix("http://").removesuffix("/")
    host, _, port = host_port.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536 or "/" in host_port:
        raise errors.Invalid(address, "not an address; write unix:/path, http://host:port or host:port")
    return host_port, secure


def wants_tls(address: str, timeout: float) -> bool:
    """Whether a server with TLS answers at an address that says nothing of it."""
    import socket

    target, secure = target_of(address)
    if secure or target.startswith("unix:"):
        return False
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host, _, port = target.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout) as raw, context.wrap_socket(raw):
            return True
    except ssl.SSLError as e:
        return "ALERT" in (e.reason or "")
    except OSError:
        return False


class Credentials:
    """A file of credentials, as ``engram auth add`` makes it: certificate, key, authority."""

    def __init__(self, file: str) -> None:
        self.file = file
        try:
            if stat.S_IMODE(os.stat(file).st_mode) & 0o077 and not os.environ.get("CREDENTIALS_DIRECTORY"):
                raise errors.Forbidden(file, "others may read or change the credentials; 'chmod 600' the file, and rotate them if others could read it")
            with open(file, "rb") as f:
                text = f.read(1 << 20)
        except FileNotFoundError:
            raise errors.NotFound(file, "there is no such file of credentials") from None
        except OSError as e:
            raise errors.Unavailable(file, f"the credentials cannot be read: {e}") from None
        blocks: dict[str, list[bytes]] = {"CERTIFICATE": [], "PRIVATE KEY": []}
        for kind in blocks:
            begin, end = f"-----BEGIN {kind}-----".encode(), f"-----END {kind}-----".encode()
            at = text.find(begin)
            while at >= 0:
                stop = text.find(end, at) + len(end)
                blocks[kind].append(text[at:stop] + b"\n")
                at = text.find(begin, stop)
        if len(blocks["CERTIFICATE"]) < 2 or len(blocks["PRIVATE KEY"]) != 1:
            raise errors.Invalid(file, "no credentials: a certificate, its key and an authority are wanted; make them with 'engram auth add'")
        self.certificate = blocks["CERTIFICATE"][0]
        self.authorities = b"".join(blocks["CERTIFICATE"][1:])
        self.key = blocks["PRIVATE KEY"][0]

    def server_name(self, target: str, timeout: float) -> str:
        """Returns the name in a server's certificate, which the authority must have signed. Hosts' names
        do not count, as robots change networks; gRPC wants one, so it is told this one."""
        import socket

        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cadata=self.authorities.decode())
        context.check_hostname = False
        context.load_cert_chain(self.file)
        context.set_alpn_protocols(["h2"])
        host, _, port = target.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout) as raw, context.wrap_socket(raw) as s:
                names: Any = (s.getpeercert() or {}).get("subjectAltName", ())
                for kind, name in names:
                    if kind == "DNS":
                        return str(name)
        except ssl.SSLError as e:
            raise errors.Forbidden(target, f"who answers is not a server of this deployment: {e}") from None
        except OSError as e:
            raise errors.Unavailable(target, f"the memory server does not answer: {e}") from None
        raise errors.Forbidden(target, "the certificate of who answers is no server's")

    def channels(self, target: str, timeout: float) -> Callable[[_Options], Any]:
        """Returns what makes channels to a server."""
        named = ("grpc.ssl_target_name_override", self.server_name(target, timeout))
        proof = grpc.ssl_channel_credentials(self.authorities, self.key, self.certificate)
        return lambda options: grpc.secure_channel(target, proof, [*options, named])


class Rpc(Transport):
    """A memory server by gRPC. Safe for concurrent use."""

    def __init__(self, address: str, registry: Any, credentials: Optional[Credentials] = None, timeout: float = 5.0,
                 call_timeout: Optional[float] = None) -> None:
        self.address = address
        self.registry = registry
        self.timeout, self.call_timeout = timeout, call_timeout
        target, secure = target_of(address)
        if (secure or credentials is not None) and not target.startswith("unix:"):
            if credentials is None:
                raise errors.Forbidden(address, "a server at https:// is asked with credentials; give a file of 'engram auth add'")
            self._open = credentials.channels(target, timeout)
        else:
            local: _Options = [("grpc.default_authority", "localhost")] if target.startswith("unix:") else []
            self._open = lambda options: grpc.insecure_channel(target, [*options, *local])
        self._channel = self._open(_OPTIONS)
        self.detection: Optional[float] = None  # after so long without a sign of life the server counts as away
        self._calls: dict[str, Any] = {}
        self._path = "/engram.v1."
        self._shares = False  # its channel is another's

    def via(self, address: str) -> "Rpc":
        """Returns the way to another server, at ``nats:SERVER``, through this one."""
        other = copy.copy(self)
        other.address, other._calls, other._shares = address, {}, True
        other._path = f"/via/{address.removeprefix('nats:').encode().hex()}/engram.v1."
        return other

    def close(self) -> None:
        if not self._shares:
            self._channel.close()

    def unary(self, method: str, request: bytes, timeout: Optional[float] = None) -> bytes:
        """Makes a call of any service, such as ``PoseService/LookUp``, with encoded messages."""
        call = self._calls.get(method)
        if call is None:
            call = self._calls[method] = self._channel.unary_unary(self._path + method)
        if timeout is None:
            timeout = self.call_timeout
        if self.detection is None:
            with self.failing():
                answer: bytes = call(request, timeout=timeout)
                return answer
        with self.failing(), Detector(self, call.future(request, timeout=timeout)) as watched:
            answer = watched.call.result()
            return answer

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """Makes errors of gRPC those of this package."""
        try:
            yield
        except grpc.RpcError as e:
            raise domain_error(e, self.address) from None
        except ValueError:
            raise errors.Closed(self.address) from None

    def answers(self, timeout: float) -> bool:
        """Whether the server shows a sign of life within a time: on a connection of its own, since on that of calls a large
        message may be on its way for longer over a slow link, or else on that."""
        aside = self._open([*_OPTIONS, ("grpc.use_local_subchannel_pool", 1)])
        try:
            asked = [c.unary_unary(self._path + "MemoryService/Info").future(b"", timeout=timeout) for c in (aside, self._channel)]
            return any(a.exception() is None or a.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED) for a in asked)
        except ValueError:
            return False
        finally:
            aside.close()

    def server_stream(self, method: str, request: bytes, timeout: Optional[float] = None) -> "Answers":
        """Makes a call that is answered by a stream of encoded messages."""
        with self.failing():
            return Answers(self, self._channel.unary_stream(self._path + method)(request, timeout=timeout))

    def pipe(self, method: str) -> "Pipe":
        """Makes a call in which both sides send encoded messages."""
        with self.failing():
            return Pipe(self, method)

    def call(self, procedure: str, request: bytes) -> bytes:
        return self.unary("MemoryService/" + procedure, request)

    def reached(self) -> None:
        """Waits until there is a connection, as long as making one may take: other calls fail while gRPC pauses before it tries again."""
        with self.failing():
            try:
                self._channel.unary_unary(self._path + "MemoryService/Info")(b"", timeout=self.timeout, wait_for_ready=True)
            except grpc.RpcError as e:
                if e.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                    raise errors.Unavailable(self.address, f"the memory server does not answer within {self.timeout:g} s") from None
                raise

    def commit(self, updates: list[Commit], recorded: bool) -> list[Committed]:
        request = _commit_request(updates, recorded)
        answer = message("CommitResponse").FromString(self.unary("MemoryService/Commit", request.SerializeToString()))
        return _results(answer)

    def latest(self, entity: ID, at: Optional[int]) -> Snapshot:
        request = message("LatestRequest")(entity=str(entity))
        if at is not None:
            request.at_or_before = at
        answer = message("LatestResponse").FromString(self.unary("MemoryService/Latest", request.SerializeToString()))
        return self.snapshot(entity, answer.snapshot)

    def snapshot(self, entity: ID, s: Any) -> Snapshot:
        return snapshot_of(entity, s, self.registry)

    def query(self, request: bytes) -> Reply:
        reply, parse = Reply(), message("QueryResponse").FromString
        for part in self.server_stream("MemoryService/QueryStream", request, self.call_timeout):
            answer = parse(part)
            for node in answer.memories:
                self._node(reply, [], node)
            for m in answer.missing:
                reply.missing.append(_missing(m))
            for c in answer.copies:
                reply.copies.append(CopyUsed(c.memory, c.server, Time(c.as_of), c.lag_nanos, c.behind, c.away))
        return reply

    def _node(self, reply: Reply, above: list[str], node: Any) -> None:
        names = [*above, node.name]
        if node.snapshots:
            entity = ID.of(*names)
            reply.snapshots += [self.snapshot(entity, s) for s in node.snapshots]
        for child in node.children:
            self._node(reply, names, child)

    def subscribe(self, request: bytes) -> "Subscription":
        return Subscription(self, request)

    def stream(self, recorded: bool) -> "Stream":
        return Stream(self, recorded)


class Detector:
    """Looks after a call until the with ends: gives it up when its server shows no sign of life for the owner's ``detection``. One that
    is alive may take as long as it needs."""

    def __init__(self, owner: Rpc, call: Any) -> None:
        self.call = call
        self._owner = owner
        self._ended = threading.Event()
        self._silent = False

    def _look(self, detection: float) -> None:
        while not self._ended.wait(detection / 3):
            if not self._owner.answers(detection * 2 / 3) and not self._ended.is_set():
                self._silent = True
                self.call.cancel()
                return

    def __enter__(self) -> "Detector":
        if self._owner.detection is not None:
            threading.Thread(target=self._look, args=(self._owner.detection,), daemon=True, name="engram detector").start()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        self._ended.set()
        if kind is not None and self._silent:
            raise errors.Unavailable(self._owner.address, f"the memory server does not answer, and shows no sign of life for {self._owner.detection:g} s") from None


class Answers:
    """The messages of a call that answers with several; ``close`` ends it."""

    def __init__(self, owner: Rpc, call: Any) -> None:
        self._owner = owner
        self._call = call

    def __iter__(self) -> Iterator[bytes]:
        with self._owner.failing():
            with Detector(self._owner, self._call):  # until it has begun: then the way there tells that it broke
                first = next(self._call, None)
            if first is not None:
                yield first
                yield from self._call

    def close(self) -> None:
        self._call.cancel()


class Pipe(Answers):
    """A call in which both sides send messages when they like. ``send`` may be called from any thread."""

    def __init__(self, owner: Rpc, method: str) -> None:
        self._requests: queue.SimpleQueue[Optional[bytes]] = queue.SimpleQueue()
        super().__init__(owner, owner._channel.stream_stream(owner._path + method)(iter(self._requests.get, None)))

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from super().__iter__()
        finally:
            self._requests.put(None)

    def send(self, request: bytes) -> None:
        self._requests.put(request)

    def close(self) -> None:
        self._requests.put(None)
        super().close()


def _missing(m: Any) -> Missing:
    return Missing(ID(m.id), m.reason, m.count, Time(m.start), Time(m.end), m.example, m.detail)


def _commit_request(updates: list[Commit], recorded: bool) -> Any:
    request = message("CommitRequest")(recorded=recorded)
    for u in updates:
        update = request.updates.add(entity=u.entity, time=u.time)
        for type, data, sent, confidence in u.instances:
            instance = update.instances.add(confidence=confidence)
            instance.payload.type = type
            instance.payload.data = bytes(data)
            if sent is not None:
                instance.sent = sent
    return request


def _results(answer: Any) -> list[Committed]:
    return [Committed(ID(r.id), r.number, _error(r.error) if r.HasField("error") else None, _error(r.note) if r.HasField("note") else None)
            for r in answer.results]


def _error(e: Any) -> errors.Error:
    return errors.by_name(e.code, e.thing, e.message)


class Subscription(Cancelable):
    """The updates of a subscription."""

    def __init__(self, owner: Rpc, request: bytes) -> None:
        self._owner = owner
        self._answers = owner.server_stream("MemoryService/Subscribe", request)
        self._parts = iter(self._answers)
        self._parse: Callable[[bytes], Any] = message("SubscribeResponse").FromString
        try:
            first = self._parse(next(self._parts))
        except StopIteration:
            raise errors.Unavailable(owner.address, "the server ended the subscription") from None
        self.begin = Begin(first.epoch, first.number if first.HasField("number") else None)

    def batches(self) -> Iterator[list[Update]]:
        for part in self._parts:
            yield [self._update(u) for u in self._parse(part).updates]

    def _update(self, u: Any) -> Update:
        id = ID(u.id)
        entity = entity_of(id)
        failed = _missing(u.failed) if u.HasField("failed") else None
        if u.HasField("snapshot"):
            s = self._owner.snapshot(entity, u.snapshot)
            return Update(entity, u.number, Time(u.arrived), s.time, s, u.supersedes, False, u.dropped, failed)
        return Update(entity, u.number, Time(u.arrived), id.time or Time(0), None, u.supersedes, False, u.dropped, failed)

    def close(self) -> None:
        self._answers.close()


class Stream(Cancelable):
    """A commit stream."""

    def __init__(self, owner: Rpc, recorded: bool) -> None:
        self._owner, self._recorded = owner, recorded
        self._pipe = owner.pipe("MemoryService/CommitStream")
        self._answers = iter(self._pipe)

    def send(self, updates: list[Commit]) -> None:
        self._pipe.send(_commit_request(updates, self._recorded).SerializeToString())

    def ready(self) -> bool:
        return False

    def receive(self, updates: list[Commit]) -> list[Committed]:
        try:
            return _results(message("CommitResponse").FromString(next(self._answers)))
        except StopIteration:
            raise errors.Unavailable(self._owner.address, "the server ended the stream") from None

    def close(self) -> None:
        self._pipe.close()
