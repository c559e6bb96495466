"""Types: what a payload's members are, by the descriptors that memories know."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Optional

from . import _wire
from .errors import Invalid, NotFound

# Numbers of descriptor.proto's field types.
DOUBLE, FLOAT, INT64, UINT64, INT32, FIXED64, FIXED32, BOOL, STRING, GROUP, MESSAGE, BYTES, UINT32, ENUM, \
    SFIXED32, SFIXED64, SINT32, SINT64 = range(1, 19)

WRAPPER_LIST, WRAPPER_DICT, WRAPPER_TUPLE, WRAPPER_OPTIONAL = 1, 2, 3, 4

KINDS = {DOUBLE: "double", FLOAT: "float", INT64: "int64", UINT64: "uint64", INT32: "int32", FIXED64: "fixed64", FIXED32: "fixed32",
         BOOL: "bool", STRING: "string", BYTES: "bytes", UINT32: "uint32", SFIXED32: "sfixed32", SFIXED64: "sfixed64",
         SINT32: "sint32", SINT64: "sint64"}


class Member:
    """A member of a type: name, number, and what it is."""

    __slots__ = ("name", "number", "kind", "repeated", "optional", "type_name", "oneof", "type", "enum", "packed")

    def __init__(self) -> None:
        self.name = ""
        self.number = 0
        self.kind = 0
        self.repeated = False
        self.optional = False
        self.packed = True
        self.type_name = ""
        self.oneof = -1
        self.type: Optional[Type] = None
        self.enum: Optional[EnumType] = None

    @property
    def map(self) -> bool:
        return self.repeated and self.type is not None and self.type.map_entry

    def __str__(self) -> str:
        """What it is, as in a .proto file."""
        if self.map:
            assert self.type is not None
            return f"map<string, {self.type.members[1]}>"
        plain = KINDS.get(self.kind) or self.type_name
        return "repeated " + plain if self.repeated else "optional " + plain if self.optional else plain

    def __repr__(self) -> str:
        return f"{self.name}: {self}"


class EnumType:
    """An enumeration with its keys as they were written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: dict[int, str] = {}
        self.numbers: dict[str, int] = {}

    def number_of(self, value: Any, path: str) -> int:
        number = getattr(value, "number", value)
        if isinstance(number, str):
            if number not in self.numbers:
                raise Invalid(path, f"{self.name} has no value {number!r}; there are {', '.join(self.keys.values())}")
            return self.numbers[number]
        return int(number)


class Type:
    """A type of payloads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: list[Member] = []
        self.map_entry = False
        self.wrapper = 0
        self.extends = ""
        self.decoder: Any = None  # of module _decode, made when it is needed
        self.encoder: Any = None  # of module _encode
        self.links: Any = None  # of module _links

    def member(self, name: str) -> Member:
        """Returns a member. NotFound names the one with the nearest name."""
        for m in self.members:
            if m.name == name:
                return m
        raise NotFound(name, f"{self.name} has no such member{nearest(name, [m.name for m in self.members])}")

    def lacks(self, path: str) -> Optional[tuple[int, list[str]]]:
        """Says which step of a path of members, such as ``pose.position.x``, does not exist, and the names there are in its place;
        None if all do, or lie in what may have any members."""
        t: Optional[Type] = self
        for i, name in enumerate(path.split(".")):
            if t is None or t.wrapper or t.name == "engram.idf.v1.Value":
                return None
            found = next((m for m in t.members if m.name == name), None)
            if found is None:
                return i, [m.name for m in t.members]
            if found.repeated:
                return None
            t = found.type
        return None

    def __repr__(self) -> str:
        return f"Type({self.name!r})"

    def _repr_html_(self) -> str:
        from ._display import table_html

        return table_html(["number", "member", "type"], [(m.number, m.name, str(m)) for m in self.members])


def nearest(name: str, names: list[str]) -> str:
    """Says which name was meant, or which there are."""
    import difflib

    close = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(names[:30])}" if names else ""


class Registry:
    """Types by name. Who asks for one that it does not have yet has it fetched.

    Safe for concurrent use: what two threads make at once is equal.
    """

    def __init__(self, fetch: Optional[Callable[[str], bytes]] = None) -> None:
        self._fetch = fetch
        self._types: dict[str, Type] = {}
        self._enums: dict[str, EnumType] = {}
        self._senders: dict[str, Any] = {}
        self._sources: dict[str, bytes] = {}  # the descriptors that a type came with

    def sender(self, name: str) -> Any:
        """Returns a type as classes of ``engram gen`` want it, to cast its payloads."""
        known = self._senders.get(name)
        if known is None:
            import importlib

            known = self._senders[name] = importlib.import_module("engram.payload").Sender(name, self.source(name))
        return known

    def source(self, name: str) -> bytes:
        """Returns a type's descriptors, as an encoded FileDescriptorSet with all that it imports."""
        self.get(name)
        return self._sources[name]

    def __contains__(self, name: str) -> bool:
        return name in self._types

    def get(self, name: str) -> Type:
        """Returns a type by its full name; NotFound if nobody knows it."""
        t = self._types.get(name)
        if t is None:
            if self._fetch is None:
                raise NotFound(name, "no such type is known here")
            self.add(self._fetch(name))
            t = self._types.get(name)
            if t is None:
                raise NotFound(name, "the memory's descriptors lack it")
        return t

    def add(self, descriptors: bytes) -> None:
        """Adds all types of an encoded FileDescriptorSet that are not known yet."""
        types: dict[str, Type] = {}
        enums: dict[str, EnumType] = {}
        for number, file in _wire.members(descriptors):
            if number == 1:
                _read_file(file, types, enums)
        for name, e in enums.items():
            self._enums.setdefault(name, e)
        for name, t in types.items():
            for m in t.members:
                if m.kind == MESSAGE:
                    m.type = self._types.get(m.type_name) or types.get(m.type_name)
                    if m.type is None:
                        raise NotFound(m.type_name, f"the descriptors of {name} lack it")
                elif m.kind == ENUM:
                    m.enum = self._enums.get(m.type_name)
        for name, t in types.items():
            self._sources.setdefault(name, descriptors)
            self._types.setdefault(name, t)

    def names(self) -> list[str]:
        return sorted(n for n, t in self._types.items() if not t.map_entry)


def _text(value: Any) -> str:
    return str(value, "utf-8")


def _read_file(file: bytes, types: dict[str, Type], enums: dict[str, EnumType]) -> None:
    package, proto3 = "", False
    parts = list(_wire.members(file))
    for number, value in parts:
        if number == 2:
            package = _text(value)
        elif number == 12:
            proto3 = value == b"proto3"
    for number, value in parts:
        if number == 4:
            _read_message(value, package, proto3, types, enums)
        elif number == 5:
            _read_enum(value, package, enums)


def _join(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def _read_message(data: bytes, scope: str, proto3: bool, types: dict[str, Type], enums: dict[str, EnumType]) -> None:
    parts = list(_wire.members(data))
    name = _join(scope, next((_text(v) for n, v in parts if n == 1), ""))
    t = types[name] = Type(name)
    for number, value in parts:
        if number == 2:
            t.members.append(_read_field(value, proto3))
        elif number == 3:
            _read_message(value, name, proto3, types, enums)
        elif number == 4:
            _read_enum(value, name, enums)
        elif number == 7:
            for option, v in _wire.members(value):
                if option == 7:
                    t.map_entry = bool(v)
                elif option == 54100:
                    t.wrapper = v
                elif option == 54101:
                    t.extends = _text(v)


def _read_field(data: bytes, proto3: bool) -> Member:
    m = Member()
    label, proto3_optional, packed = 1, False, proto3
    for number, value in _wire.members(data):
        if number == 1:
            m.name = _text(value)
        elif number == 3:
            m.number = value
        elif number == 4:
            label = value
        elif number == 5:
            m.kind = value
        elif number == 6:
            m.type_name = _text(value).lstrip(".")
        elif number == 9:
            m.oneof = value
        elif number == 17:
            proto3_optional = bool(value)
        elif number == 8:
            for option, v in _wire.members(value):
                if option == 2:
                    packed = bool(v)
                elif option == 54111:  # bytes in the place of a message that leads back
                    m.kind, m.type_name = MESSAGE, _text(v).lstrip(".")
    m.repeated = label == 3
    m.packed = packed
    m.optional = not m.repeated and (proto3_optional or m.oneof >= 0 or m.kind == MESSAGE or not proto3)
    return m


def _read_enum(data: bytes, scope: str, enums: dict[str, EnumType]) -> None:
    parts = list(_wire.members(data))
    e = EnumType(_join(scope, next((_text(v) for n, v in parts if n == 1), "")))
    for number, value in parts:
        if number == 2:
            key, n = "", 0
            written = ""
            for i, v in _wire.members(value):
                if i == 1:
                    key = _text(v)
                elif i == 2:
                    n = _wire.signed(v)
                elif i == 3:
                    written = next((_text(o) for j, o in _wire.members(v) if j == 54120), "")
            e.keys.setdefault(n, written or key)
            e.numbers[key] = n
            if written:
                e.numbers[written] = n
    enums[e.name] = e


def walk(t: Type, prefix: str = "", depth: int = 3) -> Iterator[tuple[str, Member]]:
    """Yields the paths of a type's members, a few levels deep."""
    for m in t.members:
        yield prefix + m.name, m
        if m.kind == MESSAGE and not m.repeated and m.type is not None and depth > 0:
            yield from walk(m.type, prefix + m.name + ".", depth - 1)
