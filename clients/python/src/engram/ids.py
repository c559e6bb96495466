"""IDs: where in the hierarchy of memories something is."""

from __future__ import annotations

import functools
from typing import Any, Optional

from .errors import Invalid
from .times import Time, parse_time

LEVELS = ("root", "memory", "core segment", "provider segment", "entity", "snapshot", "instance")


def escape(name: str) -> str:
    """Writes a name as it stands in an ID's text."""
    if "/" in name or "\\" in name:
        return name.replace("\\", "\\\\").replace("/", "\\/")
    return name


def split(text: str) -> list[str]:
    """Takes an ID's text apart at its slashes. Names are unescaped."""
    if "\\" not in text:
        return text.split("/") if text else []
    names, name, at = [], "", 0
    while at < len(text):
        c = text[at]
        if c == "\\" and at + 1 < len(text) and text[at + 1] in "/\\":
            at += 1
            name += text[at]
        elif c == "/":
            names.append(name)
            name = ""
        else:
            name += c
        at += 1
    names.append(name)
    return names


class ID(str):
    """An ID as its text, such as ``Object/Instance/Vision/blue-cup/2022-02-18 13:06:56.492182/0``.

    It is a str, so it stands wherever a text does. ``id / name`` is the ID one level below;
    in ``name`` slashes need no escape.
    """

    @classmethod
    def of(cls, *names: str, time: Optional[int] = None, index: Optional[int] = None) -> "ID":
        """Makes an ID of names as they are, and of a snapshot's time and an instance's index."""
        text = "/".join(escape(n) for n in names)
        if time is not None:
            if len(names) != 4:
                raise Invalid(text, "only snapshots, of a memory, core segment, provider segment and entity, have a time")
            text += "/" + str(Time(time))
        if index is not None:
            text += f"/{index}"
        return cls(text)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names, unescaped; of a snapshot also its time, of an instance its index, as text."""
        cached = self.__dict__.get("_parts")
        if cached is None:
            cached = self.__dict__["_parts"] = tuple(split(self))
            if len(cached) > 6:
                raise Invalid(self, "an ID has at most six parts: memory/core/provider/entity/time/index; write / in a name as \\/")
        parts: tuple[str, ...] = cached
        return parts

    @property
    def level(self) -> int:
        """0 root, 1 memory, 2 core segment, 3 provider segment, 4 entity, 5 snapshot, 6 instance."""
        return len(self.parts)

    def _part(self, i: int) -> str:
        return self.parts[i] if len(self.parts) > i else ""

    @property
    def memory(self) -> str:
        return self._part(0)

    @property
    def core_segment(self) -> str:
        return self._part(1)

    @property
    def provider_segment(self) -> str:
        return self._part(2)

    @property
    def name(self) -> str:
        """The entity's name."""
        return self._part(3)

    @property
    def entity(self) -> "ID":
        """The ID of the entity."""
        return self if self.level <= 4 else ID.of(*self.parts[:4])

    @property
    def time(self) -> Optional[Time]:
        """The snapshot's time; None above that level."""
        return parse_time(self.parts[4]) if self.level > 4 else None

    @property
    def instance(self) -> Optional[int]:
        """The instance's index; None above that level."""
        if self.level < 6:
            return None
        if not self.parts[5].isdecimal():
            raise Invalid(self, f"an instance has a number, not {self.parts[5]!r}")
        return int(self.parts[5])

    def __truediv__(self, name: Any) -> "ID":
        below = escape(str(name))
        return ID(f"{self}/{below}") if self else ID(below)


@functools.lru_cache(4096)
def time_of(text: str) -> Optional[Time]:
    """Reads the time of a snapshot's or an instance's ID; None of what lies above."""
    return ID(text).time


_MAX_NAME = 512  # bytes


def entity_of(text: str) -> ID:
    """Reads an entity's ID. Of a snapshot's or an instance's it is the entity; Invalid otherwise."""
    if not isinstance(text, str):
        raise Invalid(f"{text!r:.60}", f"an ID is a text, not {type(text).__name__}")
    return _entity_of(text)


@functools.lru_cache(4096)
def _entity_of(text: str) -> ID:
    id = text if type(text) is ID else ID(text)
    if not id.isprintable() and any("\ud800" <= c <= "\udfff" for c in id):
        raise Invalid(ascii(id), "the ID holds half of a surrogate pair, which is no character")
    if "" in id.parts[:4]:
        raise Invalid(text, "names are not empty, and no slash is before the first one")
    if "\0" in id or any(len(n.encode()) > _MAX_NAME for n in id.parts[:4]):
        raise Invalid(f"{text!r:.60}", f"names have no NUL, and at most {_MAX_NAME} bytes")
    if id.level < 4:
        raise Invalid(text, f"the ID of an entity has four names, memory/core/provider/entity; this has {len([p for p in id.parts if p])}")
    return id.entity
