"""What notebooks show: HTML and PNG, made with the standard library and numpy."""

from __future__ import annotations

import html
import struct
import zlib
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence

import numpy as np

from .errors import Error
from .values import CompressedImage, Enum, Image, Record

if TYPE_CHECKING:
    from .frame import Frame
    from .snapshots import Result, Snapshot

_ROWS = 50
_STYLE = "border-collapse:collapse;font-family:monospace;font-size:90%"


def png(pixels: Any) -> bytes:
    """Encodes height x width (grey), or height x width x 3 or 4, of uint8 as PNG."""
    a = np.ascontiguousarray(pixels, np.uint8)
    kind = {1: 0, 3: 2, 4: 6}[1 if a.ndim == 2 else a.shape[2]]
    height, width = a.shape[:2]
    rows = np.zeros((height, a.size // height + 1), np.uint8)  # each begins with its filter, 0
    rows[:, 1:] = a.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 3)) + chunk(b"IEND", b"")


def png_of(image: Image) -> Optional[bytes]:
    """Encodes an image for a screen: depth as grey, from the nearest to the farthest. None if that is not possible."""
    try:
        a = image.array
    except Error:
        return None
    if a.size == 0:
        return None
    if image["encoding"].startswith("bgr"):
        a = a[:, :, [2, 1, 0, 3][:a.shape[2]]]
    if a.ndim == 3 and a.shape[2] == 2:
        a = a[:, :, 0 if image["encoding"].startswith("yu") else 1]  # brightness
    if a.dtype != np.uint8:
        f = a.astype(np.float64)
        known = np.isfinite(f) & (f > 0)
        low, high = (f[known].min(), f[known].max()) if known.any() else (0.0, 1.0)
        a = np.where(known, 255 - 225 * (f - low) / max(high - low, 1e-9), 0).astype(np.uint8)
    return png(a)


def table_html(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Makes a table; what is no HTML yet is escaped."""
    rows = list(rows)
    lines = [f"<table style='{_STYLE}'><tr>" + "".join(f"<th style='text-align:left'>{html.escape(h)}</th>" for h in head) + "</tr>"]
    for row in rows[:_ROWS]:
        lines.append("<tr>" + "".join(f"<td style='text-align:left;vertical-align:top'>{_cell(c)}</td>" for c in row) + "</tr>")
    if len(rows) > _ROWS:
        lines.append(f"<tr><td colspan={len(head)}>… and {len(rows) - _ROWS} more</td></tr>")
    return "".join(lines) + "</table>"


class _Html(str):
    pass


def _cell(value: Any) -> str:
    return value if isinstance(value, _Html) else html.escape(str(value))


def _picture(value: Any) -> Optional[str]:
    import base64

    if isinstance(value, Image):
        data, kind = png_of(value), "png"
    elif isinstance(value, CompressedImage) and value["format"] in ("jpeg", "jpg", "png", "webp"):
        data, kind = bytes(value["data"]), value["format"].replace("jpg", "jpeg")
    else:
        return None
    if data is None:
        return None
    return f"<img style='max-width:480px' src='data:image/{kind};base64,{base64.b64encode(data).decode()}'>"


def _shown(value: Any) -> str:
    """One value as HTML."""
    picture = _picture(value)
    if picture:
        return picture
    if isinstance(value, (Record, dict)):
        return tree_html(value)
    if isinstance(value, np.ndarray):
        if value.size <= 8:
            return html.escape(np.array2string(value, precision=4, separator=", "))
        return html.escape(f"{value.dtype} {' x '.join(map(str, value.shape))}: {value.ravel()[:6].tolist()} …")
    if isinstance(value, (bytes, memoryview)):
        return f"{len(value)} bytes"
    if isinstance(value, list):
        if any(isinstance(v, (dict, list)) for v in value):
            return "".join(f"<div>[{i}] {_shown(v)}</div>" for i, v in enumerate(value[:_ROWS]))
        return html.escape(str(value if len(value) <= 12 else [*value[:12], "…"]))
    return html.escape(str(value) if isinstance(value, (str, Enum)) else repr(value) if isinstance(value, float) else str(value))


def tree_html(record: Any) -> str:
    """A message as a tree of members."""
    return f"<table style='{_STYLE}'>" + "".join(
        f"<tr><td style='text-align:left;vertical-align:top;color:#777'>{html.escape(str(k))}</td><td style='text-align:left'>{_shown(v)}</td></tr>"
        for k, v in record.items()) + "</table>"


def snapshot_html(s: "Snapshot") -> str:
    parts = [f"<div style='font-family:monospace'><b>{html.escape(s.id)}</b></div>"]
    for i in s.instances[:8]:
        shown = _shown(i.value) if len(i.data) else "without payload"
        parts.append(f"<div>{html.escape(i.type)}, confidence {i.confidence:g}{shown}</div>")
    return "".join(parts)


def result_html(r: "Result") -> str:
    return table_html(["entity", "time", "type"], [(s.entity, s.time, s.instances[0].type if s.instances else "") for s in r])


def frame_html(f: "Frame") -> str:
    flat = list(f.flat().items())
    shown = flat[:12]
    head = ["time", *([] if f.entities is None else ["entity"]), *(n for n, _ in shown)]
    rows = []
    for i in range(min(len(f), 10)):
        cells: list[Any] = [str(f.times[i])]
        if f.entities is not None:
            cells.append(f.entities[i])
        for _, c in shown:
            there = c.valid is None or c.valid[i]
            picture = _picture(c.values[i]) if there else None
            cells.append(_Html(picture) if picture else c.values[i] if there else "")
        rows.append(cells)
    more = f", {len(flat) - len(shown)} more columns" if len(flat) > len(shown) else ""
    return table_html(head, rows) + f"<div>{len(f)} rows{more}</div>"
