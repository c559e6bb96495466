"""Which server has which memory: the name system, as the client of Go and the command line ask it."""

from __future__ import annotations

import functools
import os
import re
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Callable, Iterator, NamedTuple, Optional, TypeVar

from . import errors
from ._local import Local, beside
from ._query import pattern_of, text
from ._schema import message
from ._transport import Transport
from ._wire import field, members
from .idf import Registry
from .ids import ID

if TYPE_CHECKING:
    from ._rpc import Credentials, Rpc

ADDRESS_VARIABLE = "ENGRAM_ADDRESS"
CREDENTIALS_VARIABLE = "ENGRAM_CREDENTIALS"

_RETRIES = (0.01, 0.1)
_MOMENT = 1.0  # seconds: who was away for longer is not asked again
_FRESH = 2.0  # seconds for which the names are believed

T = TypeVar("T")


def default_addresses() -> list[str]:
    """Returns where a server of this user listens, and a client looks, by default."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = runtime if os.path.isabs(runtime) else os.path.join(tempfile.gettempdir(), f"engram-{os.getuid()}")
    return [f"unix:{folder}/engram.sock", "http://127.0.0.1:7411"]


def retried(call: Callable[[], T]) -> T:
    """Makes a call that may be made twice, again where the server was away for a moment."""
    began = time.monotonic()
    for pause in _RETRIES:
        try:
            return call()
        except errors.Unavailable:
            if time.monotonic() - began > _MOMENT:
                raise
        time.sleep(pause)
    return call()


class Place(NamedTuple):
    """Where a memory is, or a copy of it: the name that it has there, the server, and its addresses, best first."""

    memory: str
    server: str
    addresses: list[str]
    copy: bool = False


class Servers:
    """The servers of the memories, by name. Safe for concurrent use."""

    def __init__(self, address: Optional[str], credentials: Optional[str], timeout: float, call_timeout: Optional[float],
                 detection_timeout: float) -> None:
        self.timeout, self.call_timeout, self.detection_timeout = timeout, call_timeout, detection_timeout
        self.registry = Registry(self._fetch_type)
        self.credentials_file = credentials or os.environ.get(CREDENTIALS_VARIABLE) or None
        self._lock = threading.Lock()
        self._credentials: Optional[Credentials] = None
        self._transports: dict[str, Transport] = {}
        self._rpcs: dict[str, Rpc] = {}
        self._renamed: dict[tuple[int, str, str], Transport] = {}
        self._names: dict[str, list[Place]] = {}  # by memory: its owner's, then those of copies
        self._lost: set[str] = set()  # names that the name system had
        self._asked = 0.0
        address = text("address", address) if address else os.environ.get(ADDRESS_VARIABLE)
        self.home_address, self.home = self._reach_home([address] if address else default_addresses(), not address)
        self.server, self.version, self.robot = "", "", ""
        self.hosted: list[str] = []
        self._read_info()

    def _reach_home(self, addresses: list[str], several: bool) -> tuple[str, Transport]:
        first: Optional[errors.Error] = None
        for address in addresses:
            try:
                return address, self.reach([address], "")
            except errors.Unavailable as e:
                first = first or e
        assert first is not None
        if several:
            raise errors.Unavailable("", f"no memory server answers at {' or '.join(addresses)}; start one with 'engram serve', "
                                         f"or say where it is with {ADDRESS_VARIABLE}: {first}")
        if not addresses[0].startswith(("local:", "nats:")):
            from ._rpc import wants_tls

            if wants_tls(addresses[0], self.timeout):
                raise errors.Forbidden(first.thing, "the server there wants TLS; write https://, and give credentials, a file of 'engram auth add'")
        listen = addresses[0].removeprefix("http://")
        start = "" if listen.startswith(("local:", "nats:", "https:")) else f"; start a server there with 'engram serve --listen {listen}'"
        raise errors.Unavailable(first.thing, first.message + start)

    def _read_info(self) -> None:
        info = message("InfoResponse").FromString(self.home.call("Info", b""))
        self.server, self.version, self.robot, self.hosted = info.server, info.version, info.robot, list(info.memories)
        self._read = time.monotonic()

    def close(self) -> None:
        with self._lock:
            transports = [*self._transports.values(), *self._rpcs.values()]
            self._transports, self._rpcs = {}, {}
        for t in transports:
            t.close()

    def reach(self, addresses: list[str], server: str, foreign: bool = False) -> Transport:
        """Returns the best way to a server, which may be another robot's, at one of its addresses; of no name it is whoever answers there.
        Unavailable names them all."""
        failed: list[errors.Error] = []
        for address in addresses:
            with self._lock:
                known = self._transports.get(address)
            if known is not None:
                return known
            try:
                transport = self._dial(address, foreign)
                self._check(transport, server)
            except (errors.Unavailable, errors.Unsupported) as e:
                failed.append(e)
                continue
            with self._lock:
                return self._transports.setdefault(address, transport)
        if len(failed) == 1:
            raise failed[0]
        raise errors.Unavailable(", ".join(addresses), "; ".join(map(str, failed)) or "the server has no address that can be reached from here")

    def _check(self, transport: Transport, server: str) -> None:
        """Refuses another server than was meant: that of a socket of the same path on another computer."""
        if server:
            found = message("InfoResponse").FromString(transport.call("Info", b"")).server
            if found != server:
                with self._lock:
                    self._rpcs.pop(transport.address, None)
                transport.close()
                raise errors.Unavailable(transport.address, f"the server {found!r} answers there, not {server!r}")

    def _dial(self, address: str, foreign: bool) -> Transport:
        if address.startswith("local:"):
            return Local(address, self.registry, self.timeout, self.call_timeout)
        if address.startswith("unix:") and os.path.exists(beside(address).removeprefix("local:")):
            try:
                return Local(beside(address), self.registry, self.timeout, self.call_timeout)
            except errors.Unavailable:
                pass
        timeout = min(self.timeout, self.detection_timeout) if foreign else self.timeout
        rpc = self.rpc().via(address) if address.startswith("nats:") and hasattr(self, "home") else self._dial_rpc(address, timeout)
        if foreign:
            rpc.detection = self.detection_timeout
        try:
            rpc.unary("MemoryService/Info", b"", timeout)
        except errors.Timeout:  # another address may be better
            raise errors.Unavailable(address, f"the memory server does not answer within {timeout:g} s") from None
        return rpc

    def _dial_rpc(self, address: str, timeout: float) -> "Rpc":
        from ._rpc import Credentials, Rpc

        if self.credentials_file and self._credentials is None:
            self._credentials = Credentials(self.credentials_file)
        with self._lock:
            known = self._rpcs.get(address)
        if known is None:
            known = Rpc(address, self.registry, self._credentials, timeout, self.call_timeout)
            with self._lock:
                known = self._rpcs.setdefault(address, known)
        return known

    def rpc(self, memory: str = "") -> "Rpc":
        """Returns gRPC to the server of a memory, or to the client's home: the way to calls of features."""
        transport = self.of(memory) if memory else self.home
        address = transport.address
        if not address.startswith("local:"):
            return self._dial_rpc(address, self.timeout)
        path = self._beside_local(address)
        if not path:
            raise errors.Unavailable(address, "the server has no Unix socket for gRPC beside its local one; give its address, such as unix:/path/engram.sock")
        return self._dial_rpc("unix:" + path, self.timeout)

    def _beside_local(self, address: str = "") -> str:
        """Returns the socket for gRPC of a server at a local address; "" if there is none."""
        path = (address or self.home.address).removeprefix("local:").removesuffix(".local")
        return next((p for p in (path + ".sock", path) if os.path.exists(p)), "")

    # Names

    def _at_home(self, memory: str) -> bool:
        """Whether the client's home has a memory, as it says of late: another server may have the name of a program's."""
        if memory in self.hosted and time.monotonic() - self._read >= _FRESH:
            retried(self._read_info)
        return memory in self.hosted

    def of(self, memory: str) -> Transport:
        """Returns the way to the server of a memory. Unavailable if only copies are known, NotFound if no server has it."""
        if self._at_home(memory):
            return self.home
        robot, _, own = memory.partition(":")
        if own and robot == self.robot:
            return self._as(self.of(own), memory, own)
        names = self.names()
        if memory not in names:
            names = self.names(fresh=True)
        for place in names.get(memory, ()):
            if place.copy:
                raise errors.Unavailable(memory, "the server that has this memory is away; a copy answers queries")
            return self._at(place, memory)
        if memory in self._lost:
            raise errors.Unavailable(memory, "its server is away: the name system does not have it any more")
        from .idf import nearest

        raise errors.NotFound(memory, f"no server has a memory of this name{nearest(memory, sorted(names))}")

    def owner(self, memory: str) -> Optional[Transport]:
        """Returns the way to the server of a memory, None if that is not known or not reached."""
        try:
            return self.of(memory)
        except errors.Error:
            return None

    def copies(self, memory: str) -> Iterator[Transport]:
        """Yields the ways to copies of a memory."""
        for place in self.names().get(memory, ()):
            if place.copy:
                try:
                    yield self._at(place, memory)
                except errors.Unavailable:
                    continue

    def _at(self, place: Place, memory: str) -> Transport:
        """Returns the way to a place of a memory, which has its name here."""
        here = place.server == self.server != ""
        return self._as(self.home if here else self.reach(place.addresses, place.server, ":" in memory), memory, place.memory)

    def _as(self, transport: Transport, here: str, there: str) -> Transport:
        """Returns a way by which a memory has the name that it has here."""
        if here == there:
            return transport
        from ._renamed import Renamed

        with self._lock:
            return self._renamed.setdefault((id(transport), here, there), Renamed(transport, here, there))

    def all(self) -> list[Transport]:
        """Returns the ways to all servers of this robot."""
        found = [self.home]
        for memory in self.names():
            if ":" in memory or memory in self.hosted:
                continue
            try:
                t = self.of(memory)
            except errors.Error:
                continue  # it is away
            if t not in found:
                found.append(t)
        return found

    def expanded(self, pattern: str) -> list[str]:
        """Returns a pattern that may select memories of other robots, which says so by a colon, as one for each of these memories."""
        first, slash, rest = pattern.partition("/")
        if ":" not in first or first[:1] not in "*~" and not first.endswith(":*"):
            return [pattern]
        names = {n: n if ":" in n else f"{self.robot}:{n}" for n in [*self.hosted, *self.names()]}  # in full
        if first[0] == "~":
            try:
                chosen = {full for full in names.values() if re.fullmatch(first[1:], full)}
            except re.error as e:
                raise errors.Invalid(first, f"not a regular expression: {e}") from None
        else:
            robot, _, memory = first.partition(":")
            chosen = {n if robot == "*" else full for n, full in names.items()
                      if robot in ("*", full.partition(":")[0]) and memory in ("*", full.partition(":")[2])}
        return [pattern_of(ID.of(n)) + slash + rest for n in sorted(chosen)]

    def in_full(self, ids: list[str]) -> list[str]:
        """Returns IDs as other robots call them: those of own memories bear the robot's name."""
        if not self.robot:
            return ids
        return [i if ":" in i.partition("/")[0] else f"{self.robot}:{i}" for i in ids]

    def names(self, fresh: bool = False) -> dict[str, list[Place]]:
        """Returns where each memory is, as the name system says it."""
        if not fresh and time.monotonic() - self._asked < _FRESH:
            return self._names
        try:
            answer = retried(lambda: self.rpc().unary("NameService/ListNames", b"", self.timeout))
        except (errors.Unsupported, errors.Forbidden):
            answer = b""  # it has no name system, or none for who asks
        except errors.Unavailable:
            if not self.home.address.startswith("local:") or self._beside_local():
                raise
            answer = b""  # a local socket alone, which knows no names
        names = {m: [Place(m, self.server, [self.home_address])] for m in self.hosted}
        for e in message("ListNamesResponse").FromString(answer).entries:
            if e.memory not in names:
                own = e.memory.removeprefix(e.robot + ":")  # its name at its robot
                places = [Place(own, e.server, list(e.addresses))] if e.server else []
                names[e.memory] = places + [Place(c.memory, c.server, list(c.addresses), True) for c in e.copies]
        self._lost |= {m for m, places in self._names.items() if places} - names.keys()
        self._names, self._asked = names, time.monotonic()
        return names

    # Types

    def _fetch_type(self, name: str) -> bytes:
        request = field(1, name.encode())
        for transport in [self.home] if not self._names else [*self.all(), *self._strangers()]:
            try:
                answer = retried(functools.partial(transport.call, "GetType", request))
            except errors.NotFound:
                continue
            for number, value in members(answer):
                if number == 1:
                    return bytes(dict(members(value)).get(2, b""))
        if not self._names:
            self.names()
            if len(self.all()) > 1 or self._strangers():
                return self._fetch_type(name)
        from .idf import nearest

        known = [v.decode() for n, v in members(self.home.call("ListTypes", b"")) if n == 1]
        raise errors.NotFound(name, f"no server knows this type{nearest(name, known)}")

    def _strangers(self) -> list[Transport]:
        """The ways to servers of other robots that are known: who read from them meets their types."""
        with self._lock:
            return list(self._renamed.values())
