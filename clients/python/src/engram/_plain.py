"""Arrays as payloads hold them: of one shape, without a mask. Errors are ValueErrors; who encodes a member names it."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def array_of(value: Any, wanted: str = "an array") -> Array:
    """Returns what numpy makes an array of. What a mask hides is NaN; ValueError where there is no NaN, and for rows of several lengths."""
    hidden: Any = np.ma
    if isinstance(value, hidden.MaskedArray) or isinstance(value, (list, tuple)) and any(isinstance(v, hidden.MaskedArray) for v in value):
        masked = hidden.array(value if hasattr(value, "dtype") else [np.nan if v is hidden.masked else v for v in value])
        if not hidden.getmaskarray(masked).any():
            plain: Array = masked.data
        elif masked.dtype.kind == "f":
            plain = masked.filled(np.nan)
        else:
            raise ValueError(f"elements of {masked.dtype} are masked, which has no NaN; fill them, as by array.filled(0)")
        return plain
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{wanted} is wanted, not {value!r:.60}, whose rows have several lengths") from None


def numbers_of(value: Any, whole: bool = False) -> Array:
    """Returns the array of a list of numbers, as which no list of lists counts."""
    a = value if type(value) is np.ndarray else array_of(value, "a list of numbers")
    if a.ndim != 1 or a.size and a.dtype.kind not in ("biu" if whole else "biuf"):
        shape = f"one of shape {' x '.join(map(str, a.shape))}" if a.ndim > 1 and a.dtype.kind in "biuf" else f"{value!r:.60}"
        raise ValueError(f"a list of {'whole ' if whole and a.dtype.kind == 'f' else ''}numbers is wanted, not {shape}")
    return a


def dense(value: Any) -> Array:
    """Returns an array as one that a payload has the element type of; half precision becomes single."""
    a = array_of(value)
    return a.astype(np.float32) if a.dtype == np.float16 else a


def rotation_of(matrix: Any) -> Array:
    """Returns the rotation in a matrix of 3x3, or of 4x4. ValueError if there is none in it."""
    m = numeric(matrix)
    if m.shape not in ((3, 3), (4, 4)):
        raise ValueError(f"a rotation is a matrix of 3x3, not of {' x '.join(map(str, m.shape))}")
    r: Array = m[:3, :3]
    if np.abs(r @ r.T - np.eye(3)).max() > 1e-2 or np.linalg.det(r) < 0:
        raise ValueError("the matrix holds no rotation: its axes are not perpendicular, of length 1 and right-handed")
    return r


def rigid(matrix: Any) -> tuple[Array, Array]:
    """Returns the translation and the rotation in a homogeneous matrix of 4x4. ValueError if it is none."""
    m = numeric(matrix)
    if m.shape != (4, 4):
        raise ValueError(f"a 4x4 matrix is wanted for a pose, not one of {' x '.join(map(str, m.shape))}")
    rotation = rotation_of(m)
    if np.abs(m[3] - (0, 0, 0, 1)).max() > 1e-6:
        raise ValueError(f"the last row of a pose's matrix is 0 0 0 1, not {' '.join(f'{v:g}' for v in m[3])}; is it transposed?")
    return m[:3, 3], rotation


def numeric(value: Any) -> Array:
    """Returns an array of finite numbers as one of float64."""
    a = array_of(value)
    if a.dtype.kind not in "biuf":
        raise ValueError(f"numbers are wanted, not {value!r:.60}")
    if not np.isfinite(a).all():
        raise ValueError("there are numbers that are not finite")
    return a.astype(np.float64)
