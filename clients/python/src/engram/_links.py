"""Links in payloads: which members hold them, and what they are to. As idf.Type.Links of Go finds them."""

from __future__ import annotations

import functools
import re
import struct
from typing import Any, Optional

from . import idf
from ._decode import _FIXED, _VARINTS, _span
from ._wire import Buffer, read_varint, skip
from .errors import Corrupt, Error
from .ids import ID, entity_of
from .times import parse_time

_LINK, _VALUE = "engram.idf.v1.Link", "engram.idf.v1.Value"
_CLOSED = {"google.protobuf.Timestamp", "google.protobuf.Duration", "engram.idf.v1.NDArray", "engram.idf.v1.Matrix"}
_VALUE_LIST, _VALUE_DICT, _VALUE_LINK = 10, 11, 12
_MOST_INDEX = (1 << 31) - 1

Found = list[tuple[str, str]]


def may_hold(t: idf.Type) -> bool:
    """Reports whether payloads of a type may hold links."""
    return _plan_of(t) is not None


def links(t: idf.Type, data: Buffer) -> list[tuple[str, ID]]:
    """Returns the links in a payload, with the paths of the members that hold them, in the order of its bytes. Texts that are no IDs
    are left out. Corrupt says that the bytes do not fit the type."""
    plan = _plan_of(t)
    if plan is None:
        return []
    found: Found = []
    try:
        _walk(plan, data, 0, len(data), "", found)
    except (IndexError, struct.error, ValueError) as e:
        raise Corrupt(t.name, f"the payload's bytes do not fit its type: {e}") from None
    return [(path, id) for path, text in found if (id := read(text))]


_TIME = re.compile(r"-?\d+|\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?|T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))", re.ASCII)
_ESCAPES = re.compile(r"(?:[^\\]|\\[/\\])*", re.DOTALL)


@functools.lru_cache(4096)
def read(text: str) -> Optional[ID]:
    """Reads a link's text as an ID in the form that equal ones share; None if it is none."""
    if not _ESCAPES.fullmatch(text):
        return None
    try:
        parts = ID(text).parts
        entity_of("/".join(["x"] * (4 - len(parts)) + [text]))  # checks names
        if not text or len(parts) > 4 and not _TIME.fullmatch(parts[4]):
            return None
        index = None
        if len(parts) > 5:
            index = int(parts[5])
            if str(index) != parts[5] or not 0 <= index <= _MOST_INDEX:
                return None
        return ID.of(*parts[:4], time=parse_time(parts[4]) if len(parts) > 4 else None, index=index)
    except (Error, ValueError):
        return None


class _Plan:
    """How a message is walked: what to do with a member, by its number. One without members is a link, or a value of any kind."""

    __slots__ = ("name", "wrapper", "steps")

    def __init__(self, t: idf.Type) -> None:
        self.name, self.wrapper = t.name, t.wrapper
        self.steps: dict[int, _Step] = {}


class _Step:
    __slots__ = ("name", "repeated", "key", "plan")

    def __init__(self, m: idf.Member, plan: _Plan) -> None:
        self.name, self.repeated, self.plan = m.name, m.repeated, plan
        self.key = m.type.members[0] if m.map and m.type is not None else None


def _plan_of(t: idf.Type) -> Optional[_Plan]:
    """Returns the plan of a type, which is made once; None if it can hold no link."""
    if t.links is None:
        seen, above, wanted = {t.name: t}, dict[str, list[idf.Type]](), list[idf.Type]()
        todo = [t]
        while todo:
            of = todo.pop()
            if of.name in (_LINK, _VALUE):
                wanted.append(of)
            elif of.name not in _CLOSED:
                for m in of.members:
                    if m.type is not None:
                        above.setdefault(m.type.name, []).append(of)
                        if m.type.name not in seen:
                            seen[m.type.name] = m.type
                            todo.append(m.type)
        plans: dict[str, _Plan] = {}
        while wanted:
            of = wanted.pop()
            if of.name not in plans:
                plans[of.name] = _Plan(of)
                wanted += above.get(of.name, [])
        for name, plan in plans.items():
            if name not in (_LINK, _VALUE):
                for m in seen[name].members:
                    below = m.type.members[1].type if m.map and m.type is not None else m.type
                    if below is not None and below.name in plans:
                        plan.steps[m.number] = _Step(m, plans[below.name])
        for name, of in seen.items():
            of.links = plans.get(name, False)
    return t.links or None


def _walk(plan: _Plan, buf: Buffer, pos: int, end: int, path: str, found: Found) -> None:
    if plan.name == _LINK:
        found.append((path, _link_text(buf, pos, end)))
        return
    if plan.name == _VALUE:
        _walk_value(buf, pos, end, path, found)
        return
    counts: dict[int, int] = {}
    while pos < end:
        tag, pos = read_varint(buf, pos)
        step = plan.steps.get(tag >> 3)
        if step is None or tag & 7 != 2:
            pos = skip(buf, pos, tag, end)
            continue
        pos, stop = _span(buf, pos, end)
        at = _member(path, plan, step)
        if step.key is not None:
            _walk_entry(step, step.key, buf, pos, stop, at, found)
        elif step.repeated:
            i = counts.get(tag, 0)
            counts[tag] = i + 1
            _walk(step.plan, buf, pos, stop, f"{at}[{i}]", found)
        else:
            _walk(step.plan, buf, pos, stop, at, found)
        pos = stop


def _member(path: str, plan: _Plan, step: _Step) -> str:
    """The path of a member. That of a wrapper's own is not part of it."""
    if plan.wrapper == idf.WRAPPER_TUPLE:
        return f"{path}[{step.name.removeprefix('item')}]"
    if plan.wrapper:
        return path
    return f"{path}.{step.name}" if path else step.name


def _walk_entry(step: _Step, key: idf.Member, buf: Buffer, pos: int, end: int, path: str, found: Found) -> None:
    """Walks an entry of a dict."""
    name: Any = "" if key.kind == idf.STRING else False if key.kind == idf.BOOL else 0
    content: Optional[bytes] = None
    while pos < end:
        tag, pos = read_varint(buf, pos)
        if tag & 7 == 2:
            pos, stop = _span(buf, pos, end)
            if tag >> 3 == 2:
                content = (content or b"") + bytes(buf[pos:stop])
            elif key.kind == idf.STRING and tag >> 3 == 1:
                name = str(buf[pos:stop], "utf-8")
            pos = stop
        elif tag >> 3 == 1 and tag & 7 == 0 and key.kind in _VARINTS:
            name, pos = read_varint(buf, pos)
            name = _VARINTS[key.kind](name)
        elif tag >> 3 == 1 and key.kind in _FIXED:
            name = struct.unpack_from(_FIXED[key.kind][0], buf, pos)[0]
            pos = skip(buf, pos, tag, end)
        else:
            pos = skip(buf, pos, tag, end)
    if content is not None:
        _walk(step.plan, content, 0, len(content), path + _key(name), found)


def _key(name: Any) -> str:
    """A dict's key, as it stands in a path."""
    return f"[{_quoted(name if isinstance(name, str) else str(name).lower())}]"


_QUOTED = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def _quoted(text: str) -> str:
    """Quotes a text as Go does."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(c if c.isprintable() and c not in _QUOTED else _QUOTED.get(c) or _escaped(ord(c)) for c in text) + '"'


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _link_text(buf: Buffer, pos: int, end: int) -> str:
    text = ""
    while pos < end:
        tag, pos = read_varint(buf, pos)
        if tag == 10:
            pos, stop = _span(buf, pos, end)
            text = str(buf[pos:stop], "utf-8")
            pos = stop
        else:
            pos = skip(buf, pos, tag, end)
    return text


def _walk_value(buf: Buffer, pos: int, end: int, path: str, found: Found) -> None:
    """Walks a value of any kind."""
    kind, begin, until = 0, 0, 0
    while pos < end:
        tag, pos = read_varint(buf, pos)
        kind, begin = tag >> 3, pos
        if tag & 7 == 2:
            begin, until = _span(buf, pos, end)
        pos = skip(buf, pos, tag, end)
    if kind == _VALUE_LINK:
        found.append((path, _link_text(buf, begin, until)))
    elif kind == _VALUE_LIST:
        for i, (first, last) in enumerate(_records(buf, begin, until)):
            _walk_value(buf, first, last, f"{path}[{i}]", found)
    elif kind == _VALUE_DICT:
        for first, last in _records(buf, begin, until):
            key, value = "", (first, first)
            while first < last:
                tag, first = read_varint(buf, first)
                if tag & 7 == 2:
                    start, stop = _span(buf, first, last)
                    if tag >> 3 == 1:
                        key = str(buf[start:stop], "utf-8")
                    elif tag >> 3 == 2:
                        value = (start, stop)
                first = skip(buf, first, tag, last)
            _walk_value(buf, *value, path + _key(key), found)


def _records(buf: Buffer, pos: int, end: int) -> list[tuple[int, int]]:
    """Where the elements of a list begin and stop, which are member 1."""
    found = []
    while pos < end:
        tag, pos = read_varint(buf, pos)
        if tag == 10:
            found.append(_span(buf, pos, end))
        pos = skip(buf, pos, tag, end)
    return found
