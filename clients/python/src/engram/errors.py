"""Errors of memories: one class for each code, so that programs catch what they can handle."""

from __future__ import annotations


class Error(Exception):
    """A refusal or failure: ``code`` is one of the API's, ``thing`` is what it is about."""

    code = "internal"

    def __init__(self, thing: str = "", message: str = "") -> None:
        super().__init__(f"{thing}: {message}" if thing and message else thing or message)
        self.thing = thing
        self.message = message

    def __reduce__(self) -> tuple[type["Error"], tuple[str, ...]]:  # for other processes
        return type(self), (self.thing, self.message)


class Internal(Error):
    """The server is at fault."""


class Invalid(Error):
    """What was asked for makes no sense."""

    code = "invalid"


class NotFound(Error):
    """There is no such thing."""

    code = "not found"


class AlreadyExists(Error):
    """There is such a thing already."""

    code = "already exists"


class TypeMismatch(Error):
    """A payload is not of the type that its place wants."""

    code = "type mismatch"


class OutOfRange(Error):
    """A number or time is beyond its bounds."""

    code = "out of range"


class TooOld(Error):
    """The time lies before what is kept."""

    code = "too old"


class TooNew(Error):
    """The time lies after what is known."""

    code = "too new"


class Conflict(Error):
    """Somebody else changed or holds it."""

    code = "conflict"


class Unavailable(Error):
    """The server is not reached."""

    code = "unavailable"


class Exhausted(Error):
    """A limit is reached."""

    code = "exhausted"


class Corrupt(Error):
    """Data is damaged."""

    code = "corrupt"


class Canceled(Error):
    """The call was given up."""

    code = "canceled"


class Closed(Canceled):
    """The client was closed."""

    def __init__(self, thing: str = "", message: str = "the client is closed; connect anew") -> None:
        super().__init__(thing, message)


class Timeout(Canceled):
    """The server did not answer within ``call_timeout``. What was asked may be done all the same."""


class Unsupported(Error):
    """This server or client cannot do it."""

    code = "unsupported"


class Forbidden(Error):
    """The caller may not do it."""

    code = "forbidden"


# In the order of their numbers in docs/formats/local.md, from 1 on.
CODES: tuple[type[Error], ...] = (
    Internal, Invalid, NotFound, AlreadyExists, TypeMismatch, OutOfRange, TooOld, TooNew,
    Conflict, Unavailable, Exhausted, Corrupt, Canceled, Unsupported, Forbidden,
)

_BY_NAME: dict[str, type[Error]] = {c.code: c for c in CODES}


def by_name(code: str, thing: str, message: str) -> Error:
    """Makes the error of a code's name, as messages of the API have it."""
    return _BY_NAME.get(code, Internal)(thing, message)


def by_number(code: int, thing: str, message: str) -> Error:
    """Makes the error of a code's number, as the local protocol has it."""
    kind: type[Error] = CODES[code - 1] if 1 <= code <= len(CODES) else Internal
    return kind(thing, message)
