"""Values of payloads: members by name, and arrays without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._plain import array_of
from .errors import Invalid, Unsupported

if TYPE_CHECKING:
    import numpy.typing as npt

Array = np.ndarray[Any, Any]


class Record(dict[str, Any]):
    """A message of a payload: a dict whose members are attributes as well.

    Lists of numbers, matrices and n-d arrays are numpy arrays that share the payload's bytes,
    and so cannot be written. Times are :class:`engram.Time`, links :class:`engram.ID`,
    enumerations :class:`Enum`. What is optional and not set is None.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no member {name}; there are {', '.join(self)}") from None

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"no member {name}; there are {', '.join(self)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __reduce__(self) -> tuple[Any, ...]:  # for other processes
        return type(self), ({k: _owned(v) for k, v in self.items()},)

    def _repr_html_(self) -> str:
        from ._display import tree_html

        return tree_html(self)


def _owned(value: Any) -> Any:
    """The value with the bytes that views look into."""
    if isinstance(value, memoryview):
        return bytes(value)
    if type(value) is list:
        return [_owned(v) for v in value]
    if type(value) is dict:
        return {k: _owned(v) for k, v in value.items()}
    return value


class Enum(str):
    """A value of an enumeration: its key, with its number."""

    number: int

    def __new__(cls, key: str, number: int = 0) -> "Enum":
        self = super().__new__(cls, key)
        self.number = number
        return self

    def __reduce__(self) -> tuple[Any, ...]:  # for other processes
        return type(self), (str(self), self.number)


class Vector3(Record):
    """x, y, z; numpy takes it as an array of three."""

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        return np.array([self["x"], self["y"], self["z"]], dtype or np.float64)


class Quaternion(Record):
    """x, y, z, w; numpy takes it as an array of four, in this order."""

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        return np.array([self["x"], self["y"], self["z"], self["w"]], dtype or np.float64)

    @property
    def matrix(self) -> Array:
        """The rotation as a 3x3 matrix. A quaternion of length 0 is no rotation."""
        return rotation_matrix(self["x"], self["y"], self["z"], self["w"])


class Pose(Record):
    """A pose with the members position (m) and orientation."""

    __slots__ = ()

    @property
    def matrix(self) -> Array:
        """The pose as a homogeneous 4x4 matrix."""
        m = np.eye(4)
        p, q = self["position"], self["orientation"]
        if q is not None:
            m[:3, :3] = q.matrix
        if p is not None:
            m[:3, 3] = np.asarray(p)
        return m


def rotation_matrix(x: float, y: float, z: float, w: float) -> Array:
    """Makes the 3x3 matrix of a quaternion, which need not be of length 1."""
    n = x * x + y * y + z * z + w * w
    if n == 0:
        return np.eye(3)
    s = 2 / n
    return np.array([
        [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
        [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
        [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
    ])


# By encoding of foxglove.RawImage: element type and channels.
ENCODINGS: dict[str, tuple[str, int]] = {
    "mono8": ("u1", 1), "8UC1": ("u1", 1), "mono16": ("<u2", 1), "16UC1": ("<u2", 1), "32FC1": ("<f4", 1),
    "rgb8": ("u1", 3), "bgr8": ("u1", 3), "8UC3": ("u1", 3), "rgba8": ("u1", 4), "bgra8": ("u1", 4),
    "yuyv": ("u1", 2), "yuv422_yuy2": ("u1", 2), "uyvy": ("u1", 2), "yuv422": ("u1", 2),
    "bayer_rggb8": ("u1", 1), "bayer_bggr8": ("u1", 1), "bayer_gbrg8": ("u1", 1), "bayer_grbg8": ("u1", 1),
}


class Image(Record):
    """An image as foxglove.RawImage. ``array`` has its pixels without a copy."""

    __slots__ = ()

    @property
    def array(self) -> Array:
        """Pixels as height x width, or height x width x channels, in the channels' order."""
        encoding = self["encoding"]
        if encoding not in ENCODINGS:
            raise Unsupported(f"encoding {encoding!r}", f"images can be of {', '.join(ENCODINGS)}; data has the bytes")
        dtype, channels = ENCODINGS[encoding]
        height, width, step, data = self["height"], self["width"], self["step"], self["data"]
        item = np.dtype(dtype).itemsize
        step = step or width * channels * item
        if step < width * channels * item or len(data) < step * (height - 1) + width * channels * item:
            raise Invalid("image", f"{len(data)} bytes are too few for {height} rows of {step}")
        if channels == 1:
            return np.ndarray((height, width), dtype, data, strides=(step, item))
        return np.ndarray((height, width, channels), dtype, data, strides=(step, channels * item, item))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        return self.array if dtype is None else self.array.astype(dtype)

    def _repr_png_(self) -> Optional[bytes]:
        from ._display import png_of

        return png_of(self)


class CompressedImage(Record):
    """An image as foxglove.CompressedImage, such as JPEG or PNG."""

    __slots__ = ()

    @property
    def array(self) -> Array:
        """Pixels as height x width x channels, decoded by PyAV or Pillow, whichever is there."""
        from ._pixels import decode_image

        pixels: Array = decode_image(self["data"], self["format"])
        return pixels

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        return self.array if dtype is None else self.array.astype(dtype)

    def _repr_png_(self) -> Optional[bytes]:
        return bytes(self["data"]) if self["format"] == "png" else None

    def _repr_jpeg_(self) -> Optional[bytes]:
        return bytes(self["data"]) if self["format"] in ("jpeg", "jpg") else None


# By PackedElementField's type.
_NUMERIC = {"UINT8": "u1", "INT8": "i1", "UINT16": "<u2", "INT16": "<i2", "UINT32": "<u4", "INT32": "<i4",
            "FLOAT32": "<f4", "FLOAT64": "<f8"}


class PointCloud(Record):
    """Points as foxglove.PointCloud."""

    __slots__ = ()

    @property
    def array(self) -> Array:
        """The points as a structured array with a member for each field, without a copy."""
        fields = self["fields"]
        dtype = np.dtype({"names": [f["name"] for f in fields], "formats": [_NUMERIC[f["type"]] for f in fields],
                          "offsets": [f["offset"] for f in fields], "itemsize": self["point_stride"]})
        data = self["data"]
        return np.ndarray((len(data) // dtype.itemsize if dtype.itemsize else 0,), dtype, data)

    @property
    def xyz(self) -> Array:
        """The points' coordinates as n x 3, in metres; a copy."""
        a = self.array
        return np.stack([a["x"], a["y"], a["z"]], axis=-1)


def image(array: "npt.ArrayLike", encoding: Optional[str] = None, *, time: Optional[int] = None, frame_id: str = "") -> Image:
    """Makes an image of height x width (x channels) numbers. Without an encoding it is mono8,
    rgb8, rgba8, 16UC1 or 32FC1, as the array's type and shape say. Its pixels are the array's, if that is contiguous."""
    from .times import Time, now

    try:
        a = array_of(array)
    except ValueError as e:
        raise Invalid("image", str(e)) from None
    if a.dtype.kind in "OSUV":
        raise Invalid("image", f"an array of pixels is wanted, not {array!r:.60}")
    if a.ndim not in (2, 3):
        raise Invalid("image", f"an array of {a.ndim} dimensions is no image; it has height, width and perhaps channels")
    channels = 1 if a.ndim == 2 else a.shape[2]
    if encoding is None:
        guess = {("u1", 1): "mono8", ("u1", 3): "rgb8", ("u1", 4): "rgba8", ("u2", 1): "16UC1", ("f4", 1): "32FC1"}
        encoding = guess.get((a.dtype.str[1:], channels))
        if encoding is None:
            raise Invalid("image", f"say the encoding of {channels} channels of {a.dtype}; without one they are 1, 3 or 4 of uint8, or 1 of uint16 or float32")
    elif encoding not in ENCODINGS:
        raise Invalid("image", f"no encoding {encoding!r}; there are {', '.join(ENCODINGS)}")
    dtype, want = ENCODINGS[encoding]
    if want != channels or np.dtype(dtype) != a.dtype.newbyteorder("<"):
        raise Invalid("image", f"{encoding} has {want} channels of {np.dtype(dtype)}, the array {channels} of {a.dtype}")
    a = np.ascontiguousarray(a, dtype)
    return Image(timestamp=Time(now() if time is None else time), frame_id=frame_id, width=a.shape[1], height=a.shape[0],
                 encoding=encoding, step=a.shape[1] * channels * a.dtype.itemsize, data=a.data.cast("B") if a.size else b"")
