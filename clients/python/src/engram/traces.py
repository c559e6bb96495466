"""Traces: what led to something, and what came of it, by the links in payloads; docs/traces.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple, Optional

from . import _query
from ._schema import message
from .ids import ID
from .times import Time, TimeLike, parse_time

if TYPE_CHECKING:
    from .client import Memory

_DIRECTIONS = {"up": 0, "down": 1, "both": 2}


class Node(NamedTuple):
    """A snapshot of a trace; ``missing`` says why it is not there, "" if it is.

    ``doubtful`` says why it, or some of the snapshots that it stands for, is not to be believed (``SystemState/Withdrawal``), "" if it is.
    """

    id: ID
    depth: int
    type: str
    arrived: Time
    confidence: float
    members: Any
    missing: str
    doubtful: str = ""


class Link(NamedTuple):
    """That the payload of one node links to another, in the member at a path."""

    source: ID
    target: ID
    path: str


class BackLink(NamedTuple):
    """That an instance links to what was asked about."""

    source: ID
    path: str
    target: ID
    arrived: Time


class Trace:
    """A graph of snapshots and links. ``cut`` says what there was no room for."""

    def __init__(self, nodes: list[Node], links: list[Link], cut: list[str]) -> None:
        self.nodes, self.links, self.cut = nodes, links, cut

    def __repr__(self) -> str:
        return f"<Trace of {len(self.nodes)} nodes and {len(self.links)} links{', cut off' if self.cut else ''}>"

    def _repr_html_(self) -> str:
        from ._display import table_html

        return table_html(["depth", "snapshot", "type"], [(n.depth, n.id, n.missing or n.doubtful or n.type) for n in self.nodes])


def trace(m: "Memory", id: str, *, direction: str, depth: int, at: Optional[TimeLike], within: Iterable[str]) -> Trace:
    request = message("TraceRequest")(start=id, depth=depth)
    request.direction = _query.choice("direction", direction, _DIRECTIONS)
    request.options.members = request.doubts = True
    request.options.within.extend([within] if isinstance(within, str) else within)
    if at is not None:
        request.at = parse_time(at)
    nodes, links, cut, doubts = [], [], [], {}
    for part in m._servers.rpc(ID(id).memory).server_stream("LinkService/Trace", request.SerializeToString()):
        for p in message("TraceResponse").FromString(part).parts:
            kind = p.WhichOneof("part")
            if kind == "node":
                n = p.node
                nodes.append(Node(ID(n.id), n.depth, n.type, Time(n.arrived), n.confidence, json.loads(n.members) if n.members else None, n.missing))
            elif kind == "edge":
                links.append(Link(ID(getattr(p.edge, "from")), ID(p.edge.to), p.edge.path))
            elif kind == "doubt":
                doubts[p.doubt.id] = p.doubt.why
            elif kind == "more":
                cut.append(f"{p.more.what}: {p.more.detail}" if p.more.detail else p.more.what)
    return Trace([n._replace(doubtful=doubts.get(n.id, "")) for n in nodes], links, cut)


def back_links(m: "Memory", id: str, *, pattern: str, limit: int) -> list[BackLink]:
    request = message("BackLinksRequest")(target=id, limit=limit)
    setattr(request, "from", pattern)
    found = []
    for part in m._servers.rpc(ID(id).memory).server_stream("LinkService/BackLinks", request.SerializeToString()):
        found += [BackLink(ID(b.source), b.path, ID(b.target), Time(b.arrived)) for b in message("BackLinksResponse").FromString(part).links]
    return found
