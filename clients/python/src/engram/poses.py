"""Poses: where frames were, how sure that is, and what was revised; docs/pose.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional

import numpy as np

from . import errors
from ._plain import array_of, numeric, rigid
from ._schema import message
from .frame import At, Frame, times_of
from .times import SpanLike, Time, TimeLike, now, parse_span, parse_time
from .values import rotation_matrix

if TYPE_CHECKING:
    from .client import Memory

Array = np.ndarray[Any, Any]

_MANY = 1000  # questions in a request


class Transform:
    """The pose of a frame, source, in another, target: it maps coordinates in source to coordinates in target. Metres, quaternions as x, y, z, w."""

    def __init__(self, target: str, source: str, translation: Any, rotation: Any, *, time: int = 0, covariance: Optional[Array] = None,
                 info: Any = None) -> None:
        self.target, self.source = target, source
        self.translation: Array = np.asarray(translation, np.float64)
        self.rotation: Array = np.asarray(rotation, np.float64)
        self.time = Time(time)
        self.covariance = covariance
        """6x6 over x, y, z and rotations about them, in the source's axes; NaN for what is not estimated; None if nothing is known."""
        self.interpolated = bool(info is not None and info.interpolated)
        self.held = bool(info is not None and info.held)
        self.extrapolated = bool(info is not None and info.extrapolated)
        self.static = bool(info is not None and info.static)
        self.revision: int = info.revision if info is not None else 0

    @property
    def matrix(self) -> Array:
        """The homogeneous 4x4 matrix."""
        m = np.eye(4)
        m[:3, :3] = rotation_matrix(*self.rotation)
        m[:3, 3] = self.translation
        return m

    def inverse(self) -> "Transform":
        """The pose of target in source; without covariance."""
        x, y, z, w = self.rotation
        back = rotation_matrix(-x, -y, -z, w)
        return Transform(self.source, self.target, -back @ self.translation, (-x, -y, -z, w), time=self.time)

    def apply(self, points: Any) -> Array:
        """Maps points (… x 3) in source to target."""
        return np.asarray(points) @ rotation_matrix(*self.rotation).T + self.translation

    def __matmul__(self, other: "Transform") -> "Transform":
        """The pose of other's source in this one's target."""
        if self.source != other.target:
            raise errors.Invalid(f"{self.target} <- {self.source} @ {other.target} <- {other.source}", "the frames in the middle differ")
        x, y, z, w = self.rotation
        a, b, c, d = other.rotation
        rotation = (w * a + x * d + y * c - z * b, w * b - x * c + y * d + z * a, w * c + x * b - y * a + z * d, w * d - x * a - y * b - z * c)
        return Transform(self.target, other.source, self.apply(other.translation), rotation, time=self.time)

    def __repr__(self) -> str:
        return f"<Transform {self.target} from {self.source} at {self.time}: {self.translation.round(4).tolist()} m, {self.rotation.round(4).tolist()} xyzw>"


class Edge(NamedTuple):
    """An edge of the tree of frames."""

    parent: str
    child: str
    kind: str
    joint: str
    samples: int
    first: Time
    last: Time


class Poses:
    """The poses of a robot: ``m.poses.lookup("map", "camera", at="now-1s")``."""

    def __init__(self, memory: "Memory") -> None:
        self._m = memory

    def _call(self, method: str, request: Any, timeout: Optional[float] = None) -> bytes:
        return self._m._servers.rpc().unary("PoseService/" + method, request.SerializeToString(), timeout)

    def lookup(self, target: str, source: str, at: Optional[TimeLike] = None, *, wait: bool = False, timeout: Optional[float] = None,
               covariance: bool = True, as_of: Optional[int] = None) -> Transform:
        """Returns the pose of source in target: at a time, or the newest that is known of all edges. TooNew, TooOld or NotFound say why there is
        none; ``wait`` waits until the time is known, for ``timeout`` seconds. ``as_of`` is a revision."""
        answer = self._ask(target, source, [None if at is None else parse_time(at)], wait, timeout, covariance, as_of)[0]
        if answer.HasField("error"):
            raise errors.by_name(answer.error.code, answer.error.thing, answer.error.message)
        return _transform(answer)

    def lookup_all(self, target: str, source: str, at: At) -> "Track":
        """Returns the poses at many times, such as those of a frame. Those that are not known are NaN."""
        times = times_of(at)
        translations, rotations = np.full((len(times), 3), np.nan), np.full((len(times), 4), np.nan)
        failed: Optional[errors.Error] = None
        for begin in range(0, len(times), _MANY):
            for i, a in enumerate(self._ask(target, source, [int(t) for t in times[begin:begin + _MANY]], False, None, False, None), begin):
                if a.HasField("error"):
                    failed = failed or errors.by_name(a.error.code, a.error.thing, a.error.message)
                else:
                    translations[i] = a.pose.x, a.pose.y, a.pose.z
                    rotations[i] = a.pose.qx, a.pose.qy, a.pose.qz, a.pose.qw
        if failed is not None and np.isnan(translations).all():
            raise failed
        return Track(target, source, times, translations, rotations)

    def buffer(self, target: str, source: str, range: Any = "10s", every: SpanLike = "10ms") -> "Track":
        """Reads the poses of a time span at once, to look them up here without a server: ``buffer.lookup(time)``."""
        from ._query import parse_range

        start, end = parse_range(range)
        if start is None:
            raise errors.Invalid(repr(range), "say where the range begins")
        step = int(parse_span(every))
        if step <= 0:
            raise errors.Invalid(f"every={every}", "a step is longer than 0")
        return self.lookup_all(target, source, np.arange(start, end if end is not None else now(), step, dtype=np.int64))

    def _ask(self, target: str, source: str, times: list[Optional[int]], wait: bool, timeout: Optional[float], covariance: bool, as_of: Optional[int]) -> Any:
        request = message("LookUpRequest")()
        for t in times:
            q = request.questions.add(target=target, source=source, wait=wait, covariance=covariance)
            q.when = 1 if t is None else 0
            q.time = t or 0
            if as_of is not None:
                q.as_of = as_of
        return message("LookUpResponse").FromString(self._call("LookUp", request, timeout)).answers

    def tree(self) -> list[Edge]:
        """The edges of the tree of frames."""
        answer = message("TreeResponse").FromString(self._call("Tree", message("TreeRequest")()))
        return [_edge(e) for e in answer.edges]

    def path(self, target: str, source: str, at: TimeLike = "now") -> list[Edge]:
        """The edges between two frames."""
        request = message("PathRequest")(target=target, source=source, time=parse_time(at))
        return [_edge(e) for e in message("PathResponse").FromString(self._call("Path", request)).edges]

    def commit(self, parent: str, child: str, pose: Any, *, time: Optional[TimeLike] = None, static: bool = False, robot: str = "",
               covariance: Any = None) -> None:
        """Says where the frame child is in parent: a Transform, a 4x4 matrix, or a translation in metres. It is a commit to
        RobotState/Localization of ``robot``, by default this one; frames without a slash are the robot's."""
        from ._encode import quaternion_of

        try:
            if isinstance(pose, Transform):
                translation, rotation = pose.translation, pose.rotation
            elif (a := numeric(pose)).shape == (3,):
                translation, rotation = a, np.array([0.0, 0, 0, 1])
            else:
                translation, rotation = rigid(a)[0], np.array(quaternion_of(a))
            spread: Any = () if covariance is None else array_of(covariance)
            if covariance is not None and (spread.shape not in ((6, 6), (36,)) or spread.dtype.kind not in "biuf"):
                raise ValueError("a covariance is a matrix of 6x6 numbers")
        except ValueError as e:
            raise errors.Invalid("pose", f"{e}; it is a Transform, a 4x4 matrix, or a translation of 3 numbers") from None
        when = now() if time is None else parse_time(time)
        from .ids import ID

        self._m.commit(ID.of("RobotState", "Localization", robot or self._m.robot or "robot", f"{parent}>{child}"),
                       {"timestamp": when, "parent_frame_id": parent, "child_frame_id": child, "translation": translation, "rotation": rotation,
                        "is_static": static, "pose_covariance": np.ravel(spread)}, time=when)


_KINDS = ("fixed", "joint", "free", "anchor")


def _edge(e: Any) -> Edge:
    return Edge(e.parent, e.child, _KINDS[e.kind] if e.kind < len(_KINDS) else str(e.kind), e.joint, e.samples, Time(e.first), Time(e.last))


def _transform(a: Any) -> Transform:
    covariance = None
    if a.HasField("covariance") and a.covariance.mask:
        covariance = np.zeros((6, 6))
        covariance[np.triu_indices(6)] = list(a.covariance.values) or [0.0] * 21
        covariance = covariance + np.triu(covariance, 1).T
        unknown = [i for i in range(6) if not a.covariance.mask >> i & 1]
        covariance[unknown, :] = np.nan
        covariance[:, unknown] = np.nan
    p = a.pose
    return Transform(a.target, a.source, (p.x, p.y, p.z), (p.qx, p.qy, p.qz, p.qw), time=a.info.target_time, covariance=covariance, info=a.info)


class Track:
    """The poses of a frame at many times: ``translations`` n x 3, ``rotations`` n x 4 (x, y, z, w), ``matrices`` n x 4 x 4."""

    def __init__(self, target: str, source: str, times: Array, translations: Array, rotations: Array) -> None:
        self.target, self.source = target, source
        self._ns = times
        self.times: Array = times.astype("datetime64[ns]")
        self.translations, self.rotations = translations, rotations

    @property
    def matrices(self) -> Array:
        m = np.zeros((len(self), 4, 4))
        m[:, 3, 3] = 1
        for i, q in enumerate(self.rotations):
            m[i, :3, :3] = rotation_matrix(*q)
        m[:, :3, 3] = self.translations
        return m

    def lookup(self, at: TimeLike) -> Transform:
        """Returns the pose at a time, interpolated. TooOld and TooNew before the first and after the last."""
        t = int(parse_time(at))
        i = int(np.searchsorted(self._ns, t, side="right")) - 1
        if i < 0:
            raise errors.TooOld(str(Time(t)), "the buffer begins later")
        if i >= len(self) - 1 and (len(self) == 0 or t > self._ns[-1]):
            raise errors.TooNew(str(Time(t)), "the buffer ends before")
        j = min(i + 1, len(self) - 1)
        span = int(self._ns[j] - self._ns[i])
        w = (t - int(self._ns[i])) / span if span else 0.0
        a, b = self.rotations[i], self.rotations[j]
        if w == 0:
            translation, rotation = self.translations[i], a
        else:
            translation = self.translations[i] + w * (self.translations[j] - self.translations[i])
            rotation = _slerp(a, b, w)
        if np.isnan(translation).any():
            raise errors.NotFound(str(Time(t)), f"the pose of {self.source} in {self.target} is not known then")
        return Transform(self.target, self.source, translation, rotation, time=t)

    def frame(self) -> Frame:
        """The track as a frame with the columns x, y, z, qx, qy, qz, qw."""
        from .frame import Column

        columns = {n: Column(self.translations[:, i]) for i, n in enumerate("xyz")}
        columns |= {n: Column(self.rotations[:, i]) for i, n in enumerate(("qx", "qy", "qz", "qw"))}
        return Frame(self.times, columns)

    def __iter__(self) -> Iterator[Transform]:
        for t, p, q in zip(self._ns, self.translations, self.rotations):
            yield Transform(self.target, self.source, p, q, time=int(t))

    def __len__(self) -> int:
        return len(self._ns)


def _slerp(a: Array, b: Array, w: float) -> Array:
    dot = float(a @ b)
    if dot < 0:
        b, dot = -b, -dot
    angle = np.arccos(min(dot, 1.0))
    if angle < 1e-6:
        mixed = a + w * (b - a)
    else:
        mixed = (np.sin((1 - w) * angle) * a + np.sin(w * angle) * b) / np.sin(angle)
    q: Array = mixed / np.linalg.norm(mixed)
    return q


