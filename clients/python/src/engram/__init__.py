"""Engram, the memory of a robot: the client for Python.

    import engram

    with engram.connect() as m:
        m.commit("Speech/Text/me/said", {"text": "hello"})
        print(m.latest("Speech/Text/me/said")["text"])

docs/python.md of the repository has a page on everything. What is large is imported when it is used first.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Optional

from . import errors
from .errors import (
    AlreadyExists,
    Canceled,
    Closed,
    Conflict,
    Corrupt,
    Error,
    Exhausted,
    Forbidden,
    Internal,
    Invalid,
    NotFound,
    OutOfRange,
    Timeout,
    TooNew,
    TooOld,
    TypeMismatch,
    Unavailable,
    Unsupported,
)
from .ids import ID
from .times import Duration, SpanLike, Time, TimeLike, now

if TYPE_CHECKING:
    from . import aio
    from .client import Datum, Memory, Predicted, Segment
    from .episode import Episode
    from .frame import Frame
    from .hosting import Asked, EntityUpdate, HostedMemory
    from .poses import Transform
    from .snapshots import Committed, Instance, Missing, Result, Snapshot, Update
    from .stream import CommitStream
    from .trace import Trace
    from .values import CompressedImage, Enum, Image, PointCloud, Pose, Quaternion, Record, Vector3, image
    from .watch import Watch
    from .windows import Windows

__version__ = "0.1.0"

# Where what is imported late is.
_LATE = {
    "client": ("Datum", "Memory", "Predicted", "Segment"),
    "episode": ("Episode",),
    "frame": ("Frame",),
    "hosting": ("Asked", "EntityUpdate", "HostedMemory"),
    "poses": ("Transform",),
    "snapshots": ("Committed", "Instance", "Missing", "Result", "Snapshot", "Update"),
    "stream": ("CommitStream",),
    "trace": ("Trace",),
    "values": ("CompressedImage", "Enum", "Image", "PointCloud", "Pose", "Quaternion", "Record", "Vector3", "image"),
    "watch": ("Watch",),
    "windows": ("Windows",),
}
_MODULE = {name: module for module, names in _LATE.items() for name in names}

__all__ = [
    "AlreadyExists", "Asked", "Canceled", "Closed", "Committed", "CommitStream", "CompressedImage", "Conflict", "Corrupt", "Datum", "Duration", "Enum", "EntityUpdate", "Episode",
    "Error", "Exhausted", "Forbidden", "Frame", "HostedMemory", "ID", "Image", "Instance", "Internal", "Invalid", "Memory", "Missing", "NotFound", "OutOfRange",
    "PointCloud", "Pose", "Predicted", "Quaternion", "Record", "Result", "Segment", "Snapshot", "SpanLike", "Time", "TimeLike", "Timeout", "TooNew", "TooOld",
    "Trace", "Transform", "TypeMismatch", "Unavailable", "Unsupported", "Update", "Vector3", "Watch", "Windows", "aio", "connect", "errors", "image", "now",
    "open_episode",
]


if not TYPE_CHECKING:  # so that a checker of types tells wrong names

    def __getattr__(name: str) -> Any:
        if name == "aio":
            return importlib.import_module(".aio", __name__)
        module = _MODULE.get(name)
        if module is None:
            raise AttributeError(f"module engram has no attribute {name}", name=name, obj=sys.modules[__name__])
        value = getattr(importlib.import_module("." + module, __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__


def connect(address: Optional[str] = None, *, credentials: Optional[str] = None, timeout: float = 5.0, call_timeout: Optional[float] = None,
            detection_timeout: float = 3.0) -> "Memory":
    """Connects to the memories of the robot.

    ``address`` is where their name system is: ``unix:/path``, ``http://host:port``, ``https://host:port``, ``host:port``, or
    ``local:/path`` for one server alone. Without it, it is ``$ENGRAM_ADDRESS``, or else the server of this user on this
    computer. On the same computer the local socket is taken where there is one. ``credentials`` is a file of ``engram auth add``,
    for servers that want to know who asks; without it, it is ``$ENGRAM_CREDENTIALS``. ``timeout`` is how long
    to wait for a server to answer a connection, in seconds. Unavailable says where was looked. ``call_timeout`` is how long a call
    may take after that, in seconds, before it is given up with Timeout; without it calls wait for their server. Watches and streams
    of commits have no such limit. A server of another robot that shows no sign of life for ``detection_timeout``, in seconds, while a
    call waits for it is Unavailable.
    """
    from .client import Memory

    return Memory(address, credentials=credentials, timeout=timeout, call_timeout=call_timeout, detection_timeout=detection_timeout)


def open_episode(path: str) -> "Episode":
    """Opens a recording, an MCAP file of docs/formats/episode.md, without a server: what ``engram export`` wrote, or a file in the
    folder of ``engram serve --data``."""
    from .episode import Episode

    return Episode(path)
