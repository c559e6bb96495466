"""Compressed images and video to pixels, by what is installed: Pillow, PyAV."""

from __future__ import annotations

import io
from typing import Any, Iterable, Optional

import numpy as np

from .errors import Corrupt, Unsupported

# By format of foxglove.CompressedVideo: the decoder.
_DECODERS = {"h264": "h264", "h265": "hevc", "vp9": "vp9", "av1": "av1"}


def decode_image(data: Any, format: str) -> Any:
    """Decodes JPEG, PNG and what else the modules that are there decode: height x width, or height x width x channels."""
    try:
        from PIL import Image as pillow
    except ImportError:
        av = _pyav(f"{format} image", "Pillow (python3-pil) or PyAV (python3-av) decodes it; neither is installed")
        try:
            with av.open(io.BytesIO(bytes(data)), "r") as container:
                for frame in container.decode(video=0):
                    return frame.to_ndarray(format="rgb24")
        except av.error.FFmpegError as e:
            raise Corrupt(f"{format} image", f"it cannot be decoded: {e}") from None
        raise Unsupported(f"{format} image", "it holds no image") from None
    try:
        with pillow.open(io.BytesIO(bytes(data))) as opened:
            return np.asarray(opened)
    except (OSError, ValueError, SyntaxError) as e:
        raise Corrupt(f"{format} image", f"it cannot be decoded: {e}") from None


def decode_video(frames: Iterable[Any]) -> list[Optional[Any]]:
    """Decodes frames of foxglove.CompressedVideo in the order of time, as height x width x 3 of RGB. None is what cannot be
    decoded, such as what comes before the first key frame."""
    decoders: dict[str, Any] = {}
    found: list[Optional[Any]] = []
    for f in frames:
        format = f["format"]
        if format not in decoders:
            if format not in _DECODERS:
                raise Unsupported(f"video of format {format!r}", f"there are {', '.join(_DECODERS)}")
            av = _pyav(f"{format} video", "PyAV (python3-av) decodes it, which is not installed")
            decoders[format] = av, av.CodecContext.create(_DECODERS[format], "r")
            decoders[format][1].flags |= 1 << 19  # each frame comes out before the next goes in: FFmpeg's AV_CODEC_FLAG_LOW_DELAY
            decoders[format][1].thread_count = 1
        av, decoder = decoders[format]
        try:
            pictures = decoder.decode(av.Packet(bytes(f["data"])))
        except av.error.FFmpegError:
            pictures = []
        found.append(pictures[-1].to_ndarray(format="rgb24") if pictures else None)
    return found


def _pyav(what: str, lacks: str) -> Any:
    try:
        import av
    except ImportError:
        raise Unsupported(what, lacks) from None
    return av
