"""Traces: what led to a snapshot, and what came of it, along the links between what memories hold; docs/traces.md.

Package mind/link of Go has the same for the command line, and says what holds of both.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple, Optional, Union

from . import _links, _query, errors
from .ids import ID, entity_of
from .snapshots import CopyUsed, Instance, Missing, Result, Snapshot
from .times import Time, TimeLike, parse_time

if TYPE_CHECKING:
    from ._transport import Selector
    from .client import Memory
    from .idf import Type

_ACTIVITIES = {"engram.skill.Execution", "engram.skill.Activity"}
_ABSENT = "not there"
_ERRORS = {"unreachable": errors.Unavailable, "evicted": errors.TooOld, "forgotten": errors.TooOld, "filtered": errors.TooOld,
           "damaged": errors.Corrupt}
_AHEAD = "stamped ahead of the clock"
_MOST_ASKED = 1000  # selectors in a query
_PART = 4096  # snapshots that are looked at before what they are is asked for
_MAX = Time((1 << 63) - 1)


class Node(NamedTuple):
    """A snapshot, an activity, or something that a link is to and that is no snapshot."""

    id: ID
    """Of a snapshot, or of the entity of an activity. Of what is not there it is what the link says, and of a segment or memory its own."""
    depth: int
    """How many links away from the first."""
    snapshots: list[Snapshot]
    """The snapshot, or those of an activity by time. Payloads of types that can hold no links are left empty: ``m.get(node.id)``."""
    missing: str = ""
    """Why it is not there: ``evicted``, ``unreachable`` …, or ``not there``, if it never was, or not for who asks."""

    @property
    def is_activity(self) -> bool:
        """Whether it is a span of time, such as the execution of a skill."""
        return _is_activity(self.snapshots)

    @property
    def time(self) -> Optional[Time]:
        """The time of the snapshot, or when the activity began; None of what has none."""
        return self.snapshots[0].time if self.snapshots else self.id.time

    @property
    def type(self) -> str:
        """The type of the first payload; empty if there is none."""
        return self.snapshots[0].type if self.snapshots else ""


class Link(NamedTuple):
    """A link between two nodes."""

    source: ID
    """The node that has the link: the result."""
    target: ID
    """The node that it is to: the cause."""
    member: str
    """What holds it, such as ``source_image``, or ``refers_to[0]``."""
    id: ID
    """As the payload has it, but named as here."""


class Trace:
    """What led to something, or came of it: a graph. ``print(trace)`` shows it as a tree, as ``engram trace`` does."""

    def __init__(self, down: bool, nodes: list[Node], links: list[Link], cut: int, copies: list[CopyUsed]) -> None:
        self.down = down
        self.nodes = nodes
        """The first one is where the trace began; each of the others comes behind one that it was found from."""
        self.links = links
        self.cut = cut
        """At least how many more nodes there would be without the bounds."""
        self.copies = copies
        """Copies that answered for memories."""

    def __repr__(self) -> str:
        more = f", {self.cut} more cut off" if self.cut else ""
        return f"<Trace {'down' if self.down else 'up'} from {self.nodes[0].id}: {len(self.nodes)} nodes, {len(self.links)} links{more}>"

    def __str__(self) -> str:
        rows = [("ID", "LINK", "TIME", "WHAT"), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[3]]).rstrip() for row in rows]
        return "\n".join(lines + ([f"… {self.cut} more"] if self.cut else []))

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Each node below the first from which a walk in depth comes to it."""
        nodes = {n.id: n for n in self.nodes}
        below: dict[ID, dict[tuple[ID, str], None]] = {n.id: {} for n in self.nodes}
        for link in self.links:
            above, at = (link.target, link.source) if self.down else (link.source, link.target)
            below[above][at, link.member] = None
        shown: set[ID] = set()
        todo = [(self.nodes[0].id, "", "", "")]
        while todo:
            id, member, before, under = todo.pop()
            n = nodes[id]
            what = "(as above)" if id in shown and not n.missing else _what(n)
            name, when = (n.id, None) if n.missing else (n.id.entity, n.time)
            yield before + _visible(name), _visible(member), "" if when is None else _milliseconds(when), what
            if id not in shown:
                shown.add(id)
                steps = [(*step, under + "├─ ", under + "│  ") for step in below[id]]
                if steps:
                    steps[-1] = (*steps[-1][:2], under + "└─ ", under + "   ")
                todo += reversed(steps)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


def _milliseconds(t: Time) -> str:
    text = str(t)
    return text[:23] if "." in text else text + ".000"


def _visible(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _what(n: Node) -> str:
    if n.missing:
        return "! " + n.missing
    if len(n.snapshots) < 2:
        return n.type
    first, last = _milliseconds(n.snapshots[0].time), _milliseconds(n.snapshots[-1].time)
    return f"to {last[11:] if first[:10] == last[:10] else last}: {n.type}"


def _is_activity(snapshots: list[Snapshot]) -> bool:
    return bool(snapshots) and snapshots[0].type in _ACTIVITIES


def read_trace(m: "Memory", id: str, *, down: bool, depth: int, nodes: int, memories: Union[str, Iterable[str]], as_of: Optional[TimeLike],
               target: str) -> Trace:
    """Follows links; see :meth:`engram.Memory.trace`."""
    for name, bound in ("depth", depth), ("nodes", nodes):
        if _query.whole(name, bound) < 1:
            raise errors.Invalid(f"{name}={bound}", "at least 1")
    within = _query.patterns_of(memories)
    return _Run(m, down, depth, nodes, within, None if as_of is None else parse_time(as_of), target).trace(id)


class _Visit(NamedTuple):
    """A node whose links are followed: those of an instance, or all."""

    node: int
    instance: Optional[int]


class _Ref(NamedTuple):
    """A link that is to be resolved."""

    visit: Optional[_Visit]  # that has it; None of the first
    time: Time  # of the snapshot that has it
    member: str
    to: ID

    def find(self, among: list[Snapshot]) -> Optional[Snapshot]:
        """Returns which of an entity's snapshots it is to, of those that there are by time."""
        exactly = self.to.time
        when = exactly if exactly is not None else _MAX if self.visit is None else self.time
        i = bisect_right(among, when, key=_time_of)
        if i == 0 or exactly is not None and among[i - 1].time != exactly:
            return None
        return among[i - 1]

    def selector(self) -> Optional["Selector"]:
        """What is read for it; None of a segment or memory."""
        if self.to.level < 4:
            return None
        when = self.to.time
        if when is not None:
            return _query.AT, when, 0
        return (_query.LATEST, 1, 0) if self.visit is None else (_query.AT_OR_BEFORE, self.time, 0)


class _Match(NamedTuple):
    """A link of an effect to a cause."""

    effect: Node
    instance: int
    link: _Ref


def _time_of(s: Snapshot) -> Time:
    return s.time


class _Asks:
    """What is to be read: selectors by entity."""

    def __init__(self, of: Iterable[_Ref] = ()) -> None:
        self.by: dict[ID, dict["Selector", None]] = {}
        for r in of:
            self.add(r)

    def has(self, r: _Ref) -> bool:
        """Reports whether what a reference needs is asked for, or is nothing."""
        s = r.selector()
        return s is None or s in self.by.get(r.to.entity, {})

    def add(self, r: _Ref) -> None:
        s = r.selector()
        if s is not None:
            self.put(r.to.entity, [s])

    def reads(self, r: _Ref) -> bool:
        """Reports whether a reference may need no node more than what is asked for: of one entity most are in force together."""
        s = r.selector()
        return s is not None and (s[0] == _query.AT_OR_BEFORE and r.to in self.by or self.has(r))

    def put(self, entity: ID, selectors: Iterable["Selector"]) -> None:
        self.by.setdefault(entity, {}).update(dict.fromkeys(selectors))

    def parts(self) -> Iterator[dict[ID, dict["Selector", None]]]:
        part: dict[ID, dict["Selector", None]] = {}
        n = 0
        for entity, selectors in self.by.items():
            if part and n + len(selectors) > _MOST_ASKED:
                yield part
                part, n = {}, 0
            part[entity] = selectors
            n += len(selectors)
        if part:
            yield part


class _Loaded:
    """What was read: snapshots of entities, by time, and what is missing."""

    def __init__(self) -> None:
        self.snapshots: dict[ID, list[Snapshot]] = {}
        self.missing: list[Missing] = []

    def of(self, entity: ID) -> list[Snapshot]:
        return self.snapshots.get(entity, [])

    def take(self, r: Result) -> None:
        """Adds a result. What comes again replaces what was there."""
        for s in r:
            among = self.snapshots.setdefault(s.entity, [])
            i = bisect_left(among, s.time, key=_time_of)
            if i < len(among) and among[i].time == s.time:
                among[i] = s
            else:
                among.insert(i, s)
        self.missing += r.missing

    def node(self, r: _Ref, depth: int) -> Node:
        """Returns what a reference is to."""
        if r.to.level < 4:
            return Node(r.to, depth, [])
        among = self.of(r.to.entity)
        if _is_activity(among):
            return Node(r.to.entity, depth, among)
        s = r.find(among)
        return Node(r.to, depth, [], self._why(r)) if s is None else Node(s.id, depth, [s])

    def _why(self, r: _Ref) -> str:
        when = r.to.time
        t = r.time if when is None else when
        for m in self.missing:
            if (not m.id or m.id == r.to or r.to.startswith(m.id + "/")) and (m.start >= m.end or m.start <= t < m.end) and m.reason != _AHEAD:
                return m.reason
        return _ABSENT

    def unmet(self, asked: _Asks) -> _Asks:
        """Returns what is asked of entities of which not all was found: whether they are activities, by their oldest snapshot."""
        more = _Asks()
        for entity, selectors in asked.by.items():
            among = self.of(entity)
            for kind, t, _ in selectors:
                i = bisect_right(among, t, key=_time_of) if kind in (_query.AT, _query.AT_OR_BEFORE) else 1
                if i == 0 or kind == _query.AT and among[i - 1].time != t:
                    more.put(entity, [(_query.INDICES, 0, 0)])
                    break
        return more


class _Run:
    """A trace under way."""

    def __init__(self, m: "Memory", down: bool, depth: int, nodes: int, memories: list[str], as_of: Optional[Time], target: str) -> None:
        self.m, self.down, self.depth, self.most, self.memories, self.as_of, self.target = m, down, depth, nodes, memories, as_of, target
        self.within = [_matcher(p) for p in memories]
        self.nodes: list[Node] = []
        self.links: dict[Link, None] = {}
        self.cut = 0
        self.copies: list[CopyUsed] = []
        self.at: dict[ID, int] = {}
        self.taken: set[_Visit] = set()
        self.types: dict[str, Optional["Type"]] = {}

    def trace(self, root: str) -> Trace:
        found = self._resolve([_Ref(None, Time(0), "", _renamed(self.m.robot, "", _root(root)))], 0)
        first = self.nodes[0]
        if first.missing and self.down and first.id.time is not None:  # what links to it may be there
            found = [_Visit(0, first.id.instance)]
        follow = self._effects if self.down else self._causes
        depth = 1
        while found:
            found = follow([v for v in found if self._visit(v)], depth)
            depth += 1
        if first.missing and len(self.nodes) == 1:
            raise _ERRORS.get(first.missing, errors.NotFound)(root, f"no trace begins there: {first.missing}")
        return Trace(self.down, self.nodes, list(self.links), self.cut, self.copies)

    def _visit(self, v: _Visit) -> bool:
        """Notes that a node's links are followed; False if they are already."""
        if v in self.taken or _Visit(v.node, None) in self.taken:
            return False
        self.taken.add(v)
        return True

    def _add(self, n: Node) -> int:
        """Returns the node of an ID, which is added if there is none."""
        i = self.at.setdefault(n.id, len(self.nodes))
        if i == len(self.nodes):
            self.nodes.append(n)
        elif self.nodes[i].missing and not n.missing:
            self.nodes[i] = n._replace(depth=self.nodes[i].depth)
        return i

    def _link(self, source: int, target: int, member: str, id: ID) -> None:
        self.links[Link(self.nodes[source].id, self.nodes[target].id, member, id)] = None

    # Up

    def _causes(self, found: list[_Visit], depth: int) -> list[_Visit]:
        """Follows the links of visits to what they are to."""
        refs = []
        for v in found:
            refs += [_Ref(_Visit(v.node, i), t, member, to) for i, t, member, to in self._held(self.nodes[v.node], v.instance) if self._follows(to.memory)]
        if depth > self.depth:
            self.cut += len(refs)
            return []
        return self._resolve(refs, depth)

    def _resolve(self, refs: list[_Ref], depth: int) -> list[_Visit]:
        """Finds out what links are to, adds nodes and links, and returns what is to be followed then."""
        kept, wanted = [], _Asks()
        room = self.most - len(self.nodes) + _MOST_ASKED  # of what is read some may be one node
        cut = set()
        for r in refs:
            if _above_instance(r.to) not in self.at and not wanted.reads(r):
                if room == 0:
                    self.cut += 1
                    continue
                room -= 1
            kept.append(r)
            wanted.add(r)
        got = self._load(wanted)
        found: dict[_Visit, None] = {}
        for r in kept:
            n, instance = got.node(r, depth), None
            if r.to.instance is not None and not n.is_activity and not n.missing:
                instance = r.to.instance
                if instance >= len(n.snapshots[0]):
                    n, instance = Node(r.to, depth, [], _ABSENT), None
            if n.id not in self.at and len(self.nodes) >= self.most:
                cut.add(n.id)
                continue
            to = self._add(n)
            if r.visit is not None:
                self._link(r.visit.node, to, r.member, r.to)
            if n.snapshots:
                found[_Visit(to, instance)] = None
        self.cut += len(cut)
        return list(found)

    def _follows(self, memory: str) -> bool:
        return not self.within or any(match(memory) for match in self.within)

    # Down

    def _effects(self, causes: list[_Visit], depth: int) -> list[_Visit]:
        """Follows links backwards: finds what links to the snapshots of visits, and to their entities while these are in force there."""
        if not causes:
            return []
        ids = self._linking_to(causes)
        if depth > self.depth:
            self.cut += sum(not self._is_known(id) for id in ids)
            return []
        refs = [_Ref(None, Time(0), "", id) for id in ids]
        found: dict[_Visit, None] = {}
        cut = set()
        for m in self._matches(causes, refs, self._load(_Asks(refs)), depth):
            if m.effect.id not in self.at and len(self.nodes) >= self.most:
                cut.add(m.effect.id)
                continue
            assert m.link.visit is not None
            i = self._add(m.effect)
            self._link(i, m.link.visit.node, m.link.member, m.link.to)
            found[_Visit(i, None if m.effect.is_activity else m.instance)] = None
        self.cut += len(cut)
        return list(found)

    def _is_known(self, snapshot: ID) -> bool:
        """Reports whether a snapshot is in a node."""
        i = self.at.get(snapshot.entity)
        return snapshot in self.at or i is not None and self.nodes[i].is_activity

    def _linking_to(self, causes: list[_Visit]) -> list[ID]:
        """Returns the IDs of snapshots that may link to causes, sorted."""
        into = [self.nodes[v.node].id for v in causes]
        in_force = [n for v in causes for n in [self.nodes[v.node]] if not n.is_activity and not n.missing]
        found, cut = self._linking(into, False, all=True)
        if in_force:
            start = min(n.snapshots[0].time for n in in_force)
            entities, more = self._linking([n.id.entity for n in in_force], True, range=(start, None))
            if more:  # too many for all of the time: each for its own
                entities, more = {}, False
                for n in in_force:
                    t = n.snapshots[0].time
                    later = self.m.query(_query.pattern_of(n.id.entity), range=(t + 1, None), payload=False, as_of=self.as_of, target=self.target)
                    one, enough = self._linking([n.id.entity], True, range=(t, later[0].time if later else None))
                    entities.update(one)
                    more = more or enough
            found.update(entities)
            cut = cut or more
        self.cut += cut
        return sorted(found, key=found.__getitem__)

    def _linking(self, to: list[ID], exactly: bool, **selection: Any) -> tuple[dict[ID, tuple[Any, ...]], bool]:
        """Returns the IDs of what links to some IDs, with what sorts them, and whether there are more."""
        found: dict[ID, tuple[Any, ...]] = {}

        def asked(pattern: str) -> Result:
            return self.m.query(pattern, links_to=to, links_exactly=exactly, payload=False, filter_first=True, as_of=self.as_of, target=self.target,
                                **selection)

        for r in self._everywhere(asked):
            for first in range(0, len(r), _PART):
                for s in r[first:first + _PART]:
                    found.setdefault(s.id, (*s.entity.parts, s.time))
                if len(found) > self.most:
                    return found, True
        return found, False

    def _everywhere(self, asked: Callable[[str], Result]) -> Iterator[Result]:
        """Yields what the memories say that links are followed into. Unavailable if none of them can say anything."""
        away: Optional[errors.Unavailable] = None
        answered = False
        for pattern in self.memories or ["*"]:
            try:
                r = asked(pattern)
            except errors.Unavailable as e:
                away = e
                continue
            except errors.NotFound as e:
                if ":" in pattern:
                    away = errors.Unavailable(e.thing, e.message)
                continue
            answered = True
            self._note_copies(r)
            yield r
        if away is not None and not answered:
            raise away

    def _matches(self, causes: list[_Visit], refs: list[_Ref], got: _Loaded, depth: int) -> list[_Match]:
        """Returns the links to causes of what may have some."""
        of: dict[ID, list[_Visit]] = {}
        for v in causes:
            of.setdefault(self.nodes[v.node].id.entity, []).append(v)
        found, in_force = [], _Asks()
        met = set()  # activities, of which there may be several snapshots
        for r in refs:
            effect = got.node(r, depth)
            if effect.missing or effect.id in met:  # it went meanwhile, or was looked at
                continue
            met.add(effect.id)
            for i, t, member, to in self._held(effect, None):
                for v in of.get(to.entity, []):
                    link = _Ref(v, t, member, to)
                    if to.level == 4 and not self.nodes[v.node].is_activity:
                        in_force.add(link)
                    found.append(_Match(effect, i, link))
        then = _Loaded()
        self._read(in_force, then, payload=False)
        return [m for m in found if self._is_to(m.link, then)]

    def _is_to(self, r: _Ref, in_force: _Loaded) -> bool:
        """Reports whether a link is to the snapshot, instance or activity of its visit."""
        assert r.visit is not None
        n = self.nodes[r.visit.node]
        if n.is_activity:
            return True
        if r.to.level == 4:
            s = r.find(in_force.of(r.to))
            return s is not None and s.time == n.time
        i = r.to.instance
        there = bool(n.missing) or i is None or i < len(n.snapshots[0])
        return r.to.time == n.time and there and (i is None or r.visit.instance in (None, i))

    # Reading

    def _load(self, asked: _Asks) -> _Loaded:
        """Reads what is asked for: payloads, where they may hold links, and all snapshots of activities."""
        got, bare, whole = _Loaded(), _Asks(), _Asks()
        for entity, selectors in asked.by.items():
            (whole if _provider(entity) in self.m._linking else bare).put(entity, selectors)
        self._read(bare, got, payload=False)
        for entity, among in got.snapshots.items():
            for s in among:
                if any(self._may_hold(i.type) for i in s):
                    self.m._linking.add(_provider(entity))
                    whole.put(entity, [(_query.AT, s.time, 0)])
        self._read(whole, got, payload=True)
        oldest = _Loaded()
        self._read(got.unmet(asked), oldest, payload=False)
        activities = _Asks()
        for entity in asked.by:
            if _is_activity(got.of(entity)) or _is_activity(oldest.of(entity)):
                activities.put(entity, [(_query.ALL, 0, 0)])
        self._read(activities, got, payload=True)
        return got

    def _read(self, asked: _Asks, into: _Loaded, *, payload: bool) -> None:
        for part in asked.parts():
            r = self.m._read(part, target=self.target, as_of=self.as_of, payload=payload)
            into.take(r)
            self._note_copies(r)

    def _note_copies(self, r: Result) -> None:
        had = {(c.memory, c.server) for c in self.copies}
        self.copies += [c for c in r.copies if (c.memory, c.server) not in had]

    def _held(self, n: Node, instance: Optional[int]) -> list[tuple[int, Time, str, ID]]:
        """Returns the links of a node's snapshots, of one instance or of all: which has it, when, its member, what it is to. Of an
        activity one that stands in several snapshots counts in the first: what an entity is later, it was not begun for."""
        found = []
        had: set[tuple[str, ID]] = set()
        for s in n.snapshots:
            for i, of in enumerate(s.instances):
                if instance not in (None, i):
                    continue
                for member, to in self._links_of(s, of):
                    if n.is_activity and (member, to) in had:
                        continue
                    had.add((member, to))
                    found.append((i, s.time, member, to))
        return found

    def _links_of(self, s: Snapshot, instance: Instance) -> list[tuple[str, ID]]:
        """Returns the links of an instance, named as here."""
        t = self._type(instance.type)
        if t is None:
            return []
        return [(_plain(member), _renamed(self.m.robot, s.entity.memory, id)) for member, id in _links.links(t, instance.data)]

    def _may_hold(self, name: str) -> bool:
        t = self._type(name)
        return t is not None and _links.may_hold(t)

    def _type(self, name: str) -> Optional["Type"]:
        """Returns a type, None if no server knows it."""
        if name not in self.types:
            try:
                self.types[name] = self.m.type(name)
            except errors.NotFound:
                self.types[name] = None
        return self.types[name]


_FIRST = re.compile(r'\["([^\\"\[\].]*)"\](.*)', re.DOTALL)


def _plain(member: str) -> str:
    """Writes the first member of a payload without a type as that of one with a type: ["to"][0] as to[0]."""
    m = _FIRST.fullmatch(member)
    return m.group(1) + m.group(2) if m else member


def _provider(entity: ID) -> ID:
    return ID.of(*entity.parts[:3])


def _above_instance(id: ID) -> ID:
    return id if id.level < 6 else ID.of(*id.parts[:4], time=id.time)


def _root(text: str) -> ID:
    """Reads where a trace begins, in the form of an ID that equal ones share."""
    id = ID(_query.text("id", text))
    if id.level < 4:
        raise errors.Invalid(text, "a trace begins at an entity, a snapshot or an instance; name one, such as one of m.tree()")
    return ID.of(*entity_of(id).parts, time=id.time, index=id.instance)


def _robot_of(memory: str) -> tuple[str, str]:
    """Takes a memory's name apart: that of the robot, empty if there is none, and its own."""
    robot, _, name = memory.partition(":")
    return (robot, name) if robot and name else ("", memory)


def _renamed(own: str, of: str, link: ID) -> ID:
    """What a link in a payload of a memory is to, as it is called here. In the memory of another robot, which bears its name before a
    colon, links are to what they name there."""
    robot, name = _robot_of(link.memory)
    robot = robot or _robot_of(of)[0]
    if robot not in ("", own):
        name = f"{robot}:{name}"
    if name == link.memory:
        return link
    renamed = _links.read(ID.of(name, *link.parts[1:4], time=link.time, index=link.instance))
    return link if renamed is None else renamed  # no memory has such a name


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Reads a pattern of memories, such as Vision or ``*:Skill``."""
    if len(_query._raw(pattern)) != 1 or not pattern:
        raise errors.Invalid(pattern, "links are followed into memories, such as Vision or *:Skill, and this is none")
    robot, colon, name = pattern.partition(":")
    if pattern == "*":
        return lambda memory: True
    if pattern[0] == "~":
        regex = pattern[1:]
    elif colon and "*" in (robot, name):
        regex = ("(?:[^:]+:)?" if robot == "*" else re.escape(robot) + ":") + ("(?s:.+)" if name == "*" else re.escape(name))
    else:
        plain = _query.memory_of(pattern)
        return lambda memory: memory == plain
    try:
        matching = re.compile(regex)
    except re.error as e:
        raise errors.Invalid(pattern, f"not a regular expression: {e}") from None
    return lambda memory: matching.fullmatch(memory) is not None
