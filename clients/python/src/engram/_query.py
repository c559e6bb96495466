"""What a query asks for, in the words of the API."""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping, Optional, Union

from . import errors
from ._transport import Selector
from .ids import ID
from .times import Duration, SpanLike, Time, TimeLike, now, parse_span, parse_time

Range = Union[str, SpanLike, tuple[Optional[TimeLike], Optional[TimeLike]], slice]
"""Times from a start up to, but not at, an end: ``(start, end)``, ``"start..end"``, either of which may be
None or left out, or a duration such as ``"10s"``: as long before now, up to now."""

_MIN, _MAX = -(1 << 63), (1 << 63) - 1

ALL, LATEST, AT, AT_OR_BEFORE, NEAREST, RANGE, INDICES = range(1, 8)

TARGETS = {"both": 0, "wm": 1, "ltm": 2}
SOURCES = {"any": 0, "owner": 1, "copy": 2, "near": 3}


def parse_range(value: Range) -> tuple[Optional[int], Optional[int]]:
    """Reads a range; None is an open end."""
    if isinstance(value, slice):
        value = (value.start, value.stop)
    if isinstance(value, str) and ".." in value:
        start, _, end = value.partition("..")
        value = (start or None, end or None)
    if isinstance(value, (tuple, list)) or getattr(value, "ndim", None):
        ends: Any = value
        value = tuple(ends)
        if len(value) != 2:
            raise errors.Invalid(repr(value), "a range has a start and an end, (start, end)")
        a, b = (None if v is None else parse_time(v) for v in value)
        if a is not None and b is not None and b < a:
            raise errors.Invalid(repr(value), "the range ends before it starts")
        return a, b
    span: Duration = parse_span(value)
    return now() - abs(span), None


def selectors(*, latest: Optional[int] = None, at: Optional[TimeLike] = None, nearest: Optional[TimeLike] = None, within: SpanLike = "1s",
              range: Optional[Range] = None, all: bool = False, index: Union[None, int, tuple[int, int]] = None,
              exactly: Optional[TimeLike] = None) -> list[Selector]:
    """Returns the selectors that are given; their union is asked for. Without any it is the latest."""
    chosen: list[Selector] = []
    if all:
        chosen.append((ALL, 0, 0))
    if latest is not None:
        if whole("latest", latest) < 1:
            raise errors.Invalid(f"latest={latest}", "at least 1")
        chosen.append((LATEST, latest, 0))
    if exactly is not None:
        chosen.append((AT, parse_time(exactly), 0))
    if at is not None:
        chosen.append((AT_OR_BEFORE, parse_time(at), 0))
    if nearest is not None:
        chosen.append((NEAREST, parse_time(nearest), parse_span(within)))
    if range is not None:
        start, end = parse_range(range)
        chosen.append((RANGE, _MIN if start is None else start, _MAX if end is None else end))
    if index is not None:
        first, last = index if isinstance(index, tuple) else (index, index)
        chosen.append((INDICES, whole("index", first), whole("index", last)))
    return chosen or [(LATEST, 1, 0)]


def whole(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        n: int = value.__index__()
    except (AttributeError, TypeError):
        raise errors.Invalid(f"{name}={value!r}", "a whole number is wanted") from None
    if not _MIN <= n <= _MAX:
        raise errors.OutOfRange(f"{name}={n}", "it does not fit into 64 bits")
    return n


def _is_relative(text: Any) -> bool:
    return isinstance(text, str) and (text.strip() == "latest" or text.strip()[:1] == "-" and text.strip()[-1:] in "smhd" and ".." not in text)


def _ends(value: Any) -> Any:
    """A range's ends, if it has some."""
    if isinstance(value, slice):
        return (value.start, value.stop)
    if isinstance(value, str) and ".." in value:
        start, _, end = value.partition("..")
        return (start or None, end or None)
    return value


def is_relative(**selection: Any) -> bool:
    """Reports whether times are told from an entity's newest snapshot on, as ``-10s`` or ``latest``."""
    for value in selection.values():
        value = _ends(value)
        if _is_relative(value) or isinstance(value, (tuple, list)) and any(map(_is_relative, value)):
            return True
    return False


def resolved(selection: dict[str, Any], newest: int) -> dict[str, Any]:
    """The selection with times in the place of those that are relative."""

    def time(value: Any) -> Any:
        if not _is_relative(value):
            return value
        return Time(newest + (0 if value.strip() == "latest" else parse_span(value)))

    out = {}
    for name, value in selection.items():
        value = _ends(value) if name == "range" else value
        if name == "range" and _is_relative(value):
            value = (value, None)
        out[name] = tuple(map(time, value)) if isinstance(value, (tuple, list)) else time(value)
    return out


def pattern_of(id: str) -> str:
    """Writes an ID as the pattern that only it matches."""
    return "/".join("\\" + part if part[:1] in ("*", "~") else part for part in _raw(id))


def is_entity(pattern: str) -> bool:
    """Reports whether a pattern names one entity."""
    if "*" not in pattern and "~" not in pattern and "\\" not in pattern:
        return pattern.count("/") == 3
    parts = _raw(pattern)
    return len(parts) == 4 and not any(p[:1] in ("*", "~") for p in parts)


def _raw(pattern: str) -> list[str]:
    """Takes a pattern apart at its slashes; escapes stay."""
    parts, at, begin = [], 0, 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "/":
            parts.append(pattern[begin:at])
            begin = at + 1
        at += 1
    parts.append(pattern[begin:])
    return parts


def plain_id(pattern: str) -> ID:
    """Reads a pattern that names one entity as its ID: names that begin with * or ~ are escaped in patterns."""
    return ID(pattern.replace("\\*", "*").replace("\\~", "~")) if "\\" in pattern else ID(pattern)


def memory_of(pattern: str) -> Optional[str]:
    """Returns the memory that a pattern names, None if it may match several."""
    first = _raw(pattern)[0]
    if not first or first[0] in "*~":
        return None
    return first.replace("\\/", "/").replace("\\\\", "\\").removeprefix("\\")


def cores_of(patterns: list[str]) -> list[ID]:
    """Returns the core segments that patterns name."""
    parts = [_raw(p)[:2] for p in patterns]
    return [*dict.fromkeys(plain_id("/".join(p)) for p in parts if len(p) == 2 and not any(n[:1] in ("*", "~") for n in p))]


def patterns_of(pattern: Union[str, Iterable[str]]) -> list[str]:
    if isinstance(pattern, (str, bytes)) or not hasattr(pattern, "__iter__"):
        return [text("pattern", pattern)]
    return [text("pattern", p) for p in pattern]


def text(name: str, value: Any) -> str:
    """Returns an argument that is a text. Invalid names another one."""
    if not isinstance(value, str):
        raise errors.Invalid(f"{name}={value!r:.60}", f"a text is wanted, not {type(value).__name__}")
    return str(value)


# Names in CEL that are no members.
_CEL = {"confidence", "sent", "arrived", "time", "type", "payload", "true", "false", "null", "in", "int", "uint", "double", "string", "bytes", "bool",
        "list", "map", "null_type", "timestamp", "duration", "math", "strings", "google"}


def members_of(where: str) -> list[str]:
    """Returns the paths of members that a filter in CEL names, as far as its words tell."""
    words = re.sub(r"""(?:\b[rRbB]{1,2})?("{3}|'{3}|"|')(?:\\.|(?!\1).)*\1|//[^\n]*""", " '' ", where, flags=re.S)
    words = re.sub(r"(\.\s*)`[^`]*`", r"\1['']", words)  # a name in such quotes is an entry's, or one of CEL's
    ours = set(re.findall(r"\.\s*(?:exists|all|exists_one|map|filter)\s*\(\s*(\w+)\s*,", words))
    found = []
    for path, call in re.findall(r"(?<![\w.)\]])([A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*)(\s*[({])?", words):
        names = re.split(r"\s*\.\s*", path)
        if call:
            names.pop()
        if names[:1] == ["payload"]:
            names.pop(0)
        elif names and (names[0] in _CEL or names[0] in ours):
            continue
        if names:
            found.append(".".join(names))
    return [*dict.fromkeys(found)]


def choice(name: str, value: str, choices: dict[str, int]) -> int:
    if value not in choices:
        raise errors.Invalid(f"{name}={value!r}", f"it is one of {', '.join(choices)}")
    return choices[value]


def segment(id: str, type: str, max_count: int, max_age: Optional[SpanLike], max_bytes: int, durability: str) -> Any:
    """Makes the message of a segment."""
    from ._schema import message

    s = message("Segment")(id=id, type=type, durability=choice("durability", durability, {"volatile": 0, "logged": 1, "synced": 2}))
    s.history.max_count, s.history.max_bytes = max_count, max_bytes
    s.history.max_age_nanos = 0 if max_age is None else parse_span(max_age)
    return s


def request(pattern: str, chosen: list[Selector], *, where: str, type: str, links_to: Iterable[str], links_exactly: bool, fields: Iterable[str],
            target: str, as_of: Optional[TimeLike], filter_first: bool, payload: bool, source: str) -> Any:
    """Makes the message of a query."""
    from ._schema import message

    q = message("QueryRequest")(pattern=pattern, where=where, type=type, links_to=links_to, links_exactly=links_exactly, fields=list(fields),
                                without_payload=not payload)
    q.target = choice("target", target, TARGETS)
    q.source = choice("source", source, SOURCES)
    q.filter_order = 0 if filter_first else 1
    if as_of is not None:
        q.as_of = parse_time(as_of)
    for selector in chosen:
        _write(q.snapshots.add(), selector)
    return q


def tree(asked: Mapping[ID, Iterable[Selector]], *, target: str, as_of: Optional[TimeLike], payload: bool) -> Any:
    """Makes the message of a query for snapshots of several entities."""
    from ._schema import message

    q = message("QueryRequest")(target=choice("target", target, TARGETS), without_payload=not payload)
    if as_of is not None:
        q.as_of = parse_time(as_of)
    nodes: dict[tuple[str, ...], Any] = {}
    for entity, chosen in asked.items():
        node: Any = None
        below = q.memories
        for level in range(1, 5):
            names = entity.parts[:level]
            node = nodes.get(names)
            if node is None:
                node = nodes[names] = below.add()
                node.names.name = names[-1]
            below = node.children
        for selector in chosen:
            _write(node.snapshots.add(), selector)
    return q


def _write(s: Any, selector: Selector) -> None:
    """Writes a selector into its message."""
    kind, a, b = selector
    if kind == ALL:
        s.all = True
    elif kind == LATEST:
        s.latest = a
    elif kind == AT:
        s.at = a
    elif kind == AT_OR_BEFORE:
        s.at_or_before = a
    elif kind == NEAREST:
        s.nearest.time, s.nearest.within_nanos = a, b
    elif kind == RANGE:
        s.range.SetInParent()
        if a != _MIN:
            s.range.start = a
        if b != _MAX:
            s.range.end = b
    else:
        s.indices.first, s.indices.last = a, b
