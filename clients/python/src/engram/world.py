"""The world: what is said of the things around the robot; docs/world.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from ._query import pattern_of
from .ids import ID
from .snapshots import Snapshot
from .times import Time, TimeLike

if TYPE_CHECKING:
    from .client import Memory


class Statement(NamedTuple):
    """What one provider says of an item at present: the members of engram.world.Item."""

    provider: str
    time: Time
    value: Any
    snapshot: Snapshot


class World:
    """What each provider says of each item. One world is made of it by the rules of docs/world.md, which is what the command
    ``engram world`` shows."""

    def __init__(self, memory: "Memory") -> None:
        self._m = memory

    def statements(self, item: str = "", *, at: Optional[TimeLike] = None) -> dict[str, list[Statement]]:
        """What is said of each item, or of one, newest statements first; at present or at a time."""
        pattern = "World/Item/*" + ("/" + pattern_of(ID.of(item)) if item else "")
        found: dict[str, list[Statement]] = {}
        for s in self._m.query(pattern, at=at) if at is not None else self._m.query(pattern):
            found.setdefault(s.entity.name, []).append(Statement(s.entity.provider_segment, s.time, s.value, s))
        for statements in found.values():
            statements.sort(key=lambda s: s.time, reverse=True)
        return found

    def put(self, item: str, value: Any, *, provider: str = "python", time: Optional[TimeLike] = None) -> ID:
        """States something of an item. It replaces all that the provider stated of it before."""
        return self._m.commit(ID.of("World", "Item", provider, item), value, time=time)
