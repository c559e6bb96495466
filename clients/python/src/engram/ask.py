"""Questions in logic; docs/knowledge.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional

from . import _query
from ._schema import message
from .times import TimeLike, parse_time

if TYPE_CHECKING:
    from .client import Memory

_LANGUAGES = {"pattern": 0, "prolog": 1, "class": 2}


class Row(dict[str, Any]):
    """A row of an answer: values by variable. ``texts`` has what a person reads, ``probability`` how sure it is."""

    def __init__(self, values: dict[str, Any], texts: dict[str, str], probability: float) -> None:
        super().__init__(values)
        self.texts, self.probability = texts, probability


def ask(m: "Memory", question: str, *, language: str, at: Optional[TimeLike], as_of: Optional[TimeLike], limit: int, timeout: Optional[float]) -> Iterator[Row]:
    request = message("AskRequest")(question=question, rows=limit)
    request.language = _query.choice("language", language, _LANGUAGES)
    if at is not None:
        request.at = parse_time(at)
    if as_of is not None:
        request.as_of = parse_time(as_of)
    if timeout is not None:
        request.timeout_nanos = int(timeout * 1e9)
    answers = m._servers.rpc().server_stream("KnowledgeService/AskStepwise", request.SerializeToString())
    try:
        for part in answers:
            for row in message("AskResponse").FromString(part).rows:
                names = list(row.names)
                yield Row({n: _plain(row.values.fields[n]) for n in names}, dict(zip(names, row.texts)), row.probability or 1.0)
    finally:
        answers.close()


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return {k: _plain(v) for k, v in value.struct_value.fields.items()}
    if kind == "list_value":
        return [_plain(v) for v in value.list_value.values]
    return None if kind in (None, "null_value") else getattr(value, kind)
