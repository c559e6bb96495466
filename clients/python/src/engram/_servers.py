"""Which server has which memory: the name system, as the client of Go and the command line ask it."""

from __future__ import annotations

import functools
import os
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from . import errors
from ._local import Local, beside
from ._transport import Transport
from ._wire import members
from .idf import Registry

if TYPE_CHECKING:
    from ._rpc import Credentials, Rpc

ADDRESS_VARIABLE = "ENGRAM_ADDRESS"
CREDENTIALS_VARIABLE = "ENGRAM_CREDENTIALS"

_RETRIES = (0.01, 0.1)
_FRESH = 2.0  # seconds for which the names are believed

T = TypeVar("T")


def default_addresses() -> list[str]:
    """Returns where a server of this user listens, and a client looks, by default."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = runtime if os.path.isabs(runtime) else os.path.join(tempfile.gettempdir(), f"engram-{os.getuid()}")
    return [f"unix:{folder}/engram.sock", "http://127.0.0.1:7411"]


def retried(call: Callable[[], T]) -> T:
    """Makes a call that may be made twice, again where the server was away for a moment."""
    for pause in _RETRIES:
        try:
            return call()
        except errors.Unavailable:
            time.sleep(pause)
    return call()


class Servers:
    """The servers of the memories, by name. Safe for concurrent use."""

    def __init__(self, address: Optional[str], credentials: Optional[str], timeout: float) -> None:
        self.timeout = timeout
        self.registry = Registry(self._fetch_type)
        self.credentials_file = credentials or os.environ.get(CREDENTIALS_VARIABLE) or None
        self._lock = threading.Lock()
        self._credentials: Optional[Credentials] = None
        self._transports: dict[str, Transport] = {}
        self._rpcs: dict[str, Rpc] = {}
        self._names: dict[str, list[str]] = {}  # addresses by memory
        self._asked = 0.0
        address = address or os.environ.get(ADDRESS_VARIABLE)
        self.home_address, self.home = self._reach_home([address] if address else default_addresses(), not address)
        self.server, self.version, self.robot = "", "", ""
        self.hosted: list[str] = []
        self._read_info()

    def _reach_home(self, addresses: list[str], several: bool) -> tuple[str, Transport]:
        first: Optional[errors.Error] = None
        for address in addresses:
            try:
                return address, self.reach([address])
            except errors.Unavailable as e:
                first = first or e
        assert first is not None
        if several:
            raise errors.Unavailable("", f"no memory server answers at {' or '.join(addresses)}; start one with 'engram serve', "
                                         f"or say where it is with {ADDRESS_VARIABLE}: {first}")
        raise errors.Unavailable(first.thing, f"{first.message}; start a server there with 'engram serve --listen {addresses[0]}'")

    def _read_info(self) -> None:
        hosted = []
        for number, value in members(self.home.call("Info", b"")):
            if number == 1:
                self.server = value.decode()
            elif number == 3:
                hosted.append(value.decode())
            elif number == 4:
                self.version = value.decode()
            elif number == 7:
                self.robot = value.decode()
        self.hosted = hosted

    def close(self) -> None:
        with self._lock:
            transports = [*self._transports.values(), *self._rpcs.values()]
            self._transports, self._rpcs = {}, {}
        for t in transports:
            t.close()

    def reach(self, addresses: list[str]) -> Transport:
        """Returns the best way to a server at one of its addresses. Unavailable names them all."""
        failed: list[errors.Error] = []
        for address in addresses:
            with self._lock:
                known = self._transports.get(address)
            if known is not None:
                return known
            try:
                transport = self._dial(address)
            except (errors.Unavailable, errors.Unsupported) as e:
                failed.append(e)
                continue
            with self._lock:
                return self._transports.setdefault(address, transport)
        if len(failed) == 1:
            raise failed[0]
        raise errors.Unavailable(", ".join(addresses), "; ".join(map(str, failed)) or "the server has no address that can be reached from here")

    def _dial(self, address: str) -> Transport:
        if address.startswith("local:"):
            return Local(address, self.registry, self.timeout)
        if address.startswith("unix:") and os.path.exists(beside(address).removeprefix("local:")):
            try:
                return Local(beside(address), self.registry, self.timeout)
            except errors.Unavailable:
                pass
        rpc = self._dial_rpc(address)
        rpc.unary("MemoryService/Info", b"", self.timeout)
        return rpc

    def _dial_rpc(self, address: str) -> "Rpc":
        from ._rpc import Credentials, Rpc

        if self.credentials_file and self._credentials is None:
            self._credentials = Credentials(self.credentials_file)
        with self._lock:
            known = self._rpcs.get(address)
        if known is None:
            known = Rpc(address, self.registry, self._credentials, self.timeout)
            with self._lock:
                known = self._rpcs.setdefault(address, known)
        return known

    def rpc(self, memory: str = "") -> "Rpc":
        """Returns gRPC to the server of a memory, or to the client's home: the way to calls of features."""
        transport = self.of(memory) if memory else self.home
        address = transport.address
        if not address.startswith("local:"):
            return self._dial_rpc(address)
        path = self._beside_local(address)
        if not path:
            raise errors.Unavailable(address, "the server has no Unix socket for gRPC beside its local one; give its address, such as unix:/path/engram.sock")
        return self._dial_rpc("unix:" + path)

    def _beside_local(self, address: str = "") -> str:
        """Returns the socket for gRPC of a server at a local address; "" if there is none."""
        path = (address or self.home.address).removeprefix("local:").removesuffix(".local")
        return next((p for p in (path + ".sock", path) if os.path.exists(p)), "")

    # Names

    def of(self, memory: str) -> Transport:
        """Returns the way to the server of a memory; NotFound if no server has it."""
        if memory in self.hosted:
            return self.home
        names = self.names()
        if memory not in names:
            names = self.names(fresh=True)
        if memory in names:
            return self.reach(names[memory])
        from .idf import nearest

        raise errors.NotFound(memory, f"no server has a memory of this name{nearest(memory, sorted(names))}")

    def all(self) -> list[Transport]:
        """Returns the ways to all servers."""
        found = [self.home]
        for memory, addresses in self.names().items():
            if memory not in self.hosted:
                try:
                    t = self.reach(addresses)
                except errors.Error:
                    continue  # of another robot, or away
                if t not in found:
                    found.append(t)
        return found

    def names(self, fresh: bool = False) -> dict[str, list[str]]:
        """Returns the addresses of each memory's server, as the name system says them."""
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
        names: dict[str, list[str]] = {m: [self.home_address] for m in self.hosted}
        for number, entry in members(answer):
            if number == 1:
                _entry(names, list(members(entry)))
        self._names, self._asked = names, time.monotonic()
        return names

    # Types

    def _fetch_type(self, name: str) -> bytes:
        request = _text_field(1, name)
        failed: Optional[errors.Error] = None
        for transport in [self.home] if not self._names else self.all():
            try:
                answer = retried(functools.partial(transport.call, "GetType", request))
            except errors.NotFound as e:
                failed = failed or e
                continue
            for number, value in members(answer):
                if number == 1:
                    return bytes(dict(members(value)).get(2, b""))
        if not self._names:
            self.names()
            if len(self.all()) > 1:
                return self._fetch_type(name)
        raise failed or errors.NotFound(name, "no server knows this type")


def _entry(names: dict[str, list[str]], entry: list[tuple[int, Any]]) -> None:
    memory, robot, addresses, copies = "", "", [], []
    for number, value in entry:
        if number == 1:
            memory = value.decode()
        elif number == 2:
            addresses.append(value.decode())
        elif number == 4:
            robot = value.decode()
        elif number == 5:
            copies.append(list(members(value)))
    if memory in names:
        return
    # Another robot's memory has another name there; at who holds a copy it has this one.
    foreign = bool(robot) and memory.startswith(robot + ":")
    found = [] if foreign else addresses
    for copy in copies:
        if any(n == 3 and v.decode() == memory for n, v in copy):
            found += [v.decode() for n, v in copy if n == 4]
    if found:
        names[memory] = found


def _text_field(number: int, text: str) -> bytes:
    from ._wire import varint

    data = text.encode()
    return varint(number << 3 | 2) + varint(len(data)) + data
