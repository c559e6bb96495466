"""Arrow's C data and C stream interfaces, by ctypes.

https://arrow.apache.org/docs/format/CDataInterface.html. The numbers of columns are handed over without a copy.
"""

from __future__ import annotations

import ctypes
import itertools
import warnings
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

if TYPE_CHECKING:
    from .frame import Frame

_NULLABLE = 2


class ArrowSchema(Structure):
    pass


class ArrowArray(Structure):
    pass


class ArrowArrayStream(Structure):
    pass


_ReleaseSchema = CFUNCTYPE(None, POINTER(ArrowSchema))
_ReleaseArray = CFUNCTYPE(None, POINTER(ArrowArray))
_ReleaseStream = CFUNCTYPE(None, POINTER(ArrowArrayStream))
_GetSchema = CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowSchema))
_GetNext = CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowArray))
_GetError = CFUNCTYPE(c_void_p, POINTER(ArrowArrayStream))

ArrowSchema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))), ("dictionary", POINTER(ArrowSchema)), ("release", _ReleaseSchema), ("private_data", c_void_p)]
ArrowArray._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))), ("dictionary", POINTER(ArrowArray)),
    ("release", _ReleaseArray), ("private_data", c_void_p)]
ArrowArrayStream._fields_ = [
    ("get_schema", _GetSchema), ("get_next", _GetNext), ("get_last_error", _GetError), ("release", _ReleaseStream), ("private_data", c_void_p)]

# What C code has a pointer to, until it releases it.
_alive: dict[int, Any] = {}
_keys = itertools.count(1)


def _no(callback: Any) -> Any:
    """The null pointer of a callback's type."""
    return callback()


def _keep(*things: Any) -> int:
    key = next(_keys)
    _alive[key] = things
    return key


def _release(pointer: Any) -> None:
    it = pointer.contents
    for i in range(it.n_children):
        child = it.children[i].contents
        if child.release:
            child.release(it.children[i])
    key = it.private_data
    it.release = type(it.release)()
    if key:
        _alive.pop(key, None)


_release_schema = _ReleaseSchema(_release)
_release_array = _ReleaseArray(_release)

_FORMATS = {"f8": b"g", "f4": b"f", "f2": b"e", "i8": b"l", "i4": b"i", "i2": b"s", "i1": b"c", "u8": b"L", "u4": b"I", "u2": b"S",
            "u1": b"C", "b1": b"b", "M8": b"tsn:UTC", "m8": b"tDn"}


class _Field:
    """A column in Arrow's layout."""

    def __init__(self, name: str, format: bytes, length: int, buffers: list[Optional[Any]], nulls: int = 0,
                 children: Optional[list["_Field"]] = None) -> None:
        self.name, self.format, self.length, self.buffers, self.nulls = name, format, length, buffers, nulls
        self.children = children or []

    def fill_schema(self, s: Any) -> None:
        s.format, s.name, s.metadata, s.flags = self.format, self.name.encode(), None, _NULLABLE
        children = [ArrowSchema() for _ in self.children]
        for field, child in zip(self.children, children):
            field.fill_schema(child)
        pointers = (POINTER(ArrowSchema) * len(children))(*[ctypes.pointer(c) for c in children])
        s.n_children, s.children = len(children), ctypes.cast(pointers, POINTER(POINTER(ArrowSchema)))
        s.dictionary, s.release = None, _release_schema
        s.private_data = _keep(children, pointers, s.format, s.name)

    def fill_array(self, a: Any) -> None:
        a.length, a.null_count, a.offset = self.length, self.nulls, 0
        pointers = (c_void_p * max(len(self.buffers), 1))(*[None if b is None else b.ctypes.data for b in self.buffers])
        a.n_buffers, a.buffers = len(self.buffers), ctypes.cast(pointers, POINTER(c_void_p))
        children = [ArrowArray() for _ in self.children]
        for field, child in zip(self.children, children):
            field.fill_array(child)
        child_pointers = (POINTER(ArrowArray) * len(children))(*[ctypes.pointer(c) for c in children])
        a.n_children, a.children = len(children), ctypes.cast(child_pointers, POINTER(POINTER(ArrowArray)))
        a.dictionary, a.release = None, _release_array
        a.private_data = _keep(self.buffers, pointers, children, child_pointers)


def _bitmap(valid: Any) -> Any:
    return None if valid is None else np.packbits(valid, bitorder="little")


def _field_of(name: str, values: Any, valid: Any) -> Optional[_Field]:
    n = len(values)
    nulls = 0 if valid is None else int(n - valid.sum())
    if values.ndim == 2:
        child = _field_of("item", np.ascontiguousarray(values).ravel(), None)
        if child is None:
            return None
        if values.size == 0:  # polars fails on a fixed length of 0
            return _Field(name, b"+L", n, [_bitmap(valid), np.zeros(n + 1, np.int64)], nulls, [child])
        return _Field(name, b"+w:%d" % values.shape[1], n, [_bitmap(valid)], nulls, [child])
    kind = values.dtype
    if kind.kind == "O":
        return _texts(name, values)
    format = _FORMATS.get(f"{kind.kind}{kind.itemsize}")
    if format is None:
        return None
    if kind.kind == "b":
        data = np.packbits(values, bitorder="little")
    else:
        data = np.ascontiguousarray(values)
        if kind.kind in "Mm":
            data = data.view(np.int64)
            if valid is None and n and (data == np.iinfo(np.int64).min).any():
                valid = data != np.iinfo(np.int64).min
                nulls = int(n - valid.sum())
    return _Field(name, format, n, [_bitmap(valid), data], nulls)


def _texts(name: str, values: Any) -> Optional[_Field]:
    """Texts, or lists of numbers whose length changes; None for other objects."""
    valid = np.array([v is not None for v in values], bool)
    nulls = int(len(values) - valid.sum())
    bitmap = _bitmap(valid) if nulls else None
    if nulls == len(values):
        return _Field(name, b"n", len(values), [], nulls)
    if all(v is None or isinstance(v, str) for v in values):
        parts = [b"" if v is None else v.encode() for v in values]
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(p) for p in parts], out=offsets[1:])
        data = np.frombuffer(b"".join(parts) or b"\0", np.uint8)
        return _Field(name, b"U", len(parts), [bitmap, offsets, data], nulls)
    if all(v is None or isinstance(v, np.ndarray) and v.ndim == 1 for v in values):
        parts_ = [np.empty(0) if v is None else v for v in values]
        offsets = np.zeros(len(parts_) + 1, np.int64)
        np.cumsum([len(p) for p in parts_], out=offsets[1:])
        child = _field_of("item", np.concatenate([p for v, p in zip(values, parts_) if v is not None]), None)
        return None if child is None else _Field(name, b"+L", len(parts_), [bitmap, offsets], nulls, [child])
    if all(v is None or isinstance(v, list) and all(isinstance(t, str) for t in v) for v in values):
        lists = [[] if v is None else v for v in values]
        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(p) for p in lists], out=offsets[1:])
        flat = np.empty(int(offsets[-1]), object)
        flat[:] = [t for v in lists for t in v]
        child = _texts("item", flat) if len(flat) else _Field("item", b"U", 0, [None, np.zeros(1, np.int64), np.zeros(1, np.uint8)])
        return None if child is None else _Field(name, b"+L", len(lists), [bitmap, offsets], nulls, [child])
    return None


def _root(frame: "Frame") -> tuple[_Field, list[str]]:
    """The frame's columns, and the names of those that have no form in Arrow. A member that is called as the times or entities are
    gets an underline."""
    fields = [_field_of("time", frame.times, None)]
    if frame.entities is not None:
        fields.append(_field_of("entity", frame.entities, None))
    taken, left = {f.name for f in fields if f is not None}, []
    for name, c in frame.columns.items():
        while name in taken:
            name += "_"
        taken.add(name)
        field = _field_of(name, c.values, c.valid)
        fields.append(field)
        if field is None:
            left.append(name)
    return _Field("", b"+s", len(frame), [None], 0, [f for f in fields if f is not None]), left


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_Destructor = CFUNCTYPE(None, c_void_p)
_new_capsule.argtypes = [c_void_p, c_char_p, _Destructor]
_raw_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))

_STREAM, _SCHEMA = b"arrow_array_stream", b"arrow_schema"
_capsules: dict[int, Any] = {}


def _destroyer(kind: bytes, of: Any) -> Any:
    def destroy(capsule: int) -> None:
        address = _raw_pointer(capsule, kind)
        it = _capsules.pop(address, None)
        if it is not None and it.release:
            it.release(ctypes.pointer(it))

    # The capsule's destructor is called with the interpreter's lock held.
    return ctypes.PYFUNCTYPE(None, c_void_p)(destroy)


_destroy_stream = ctypes.cast(_keep_stream := _destroyer(_STREAM, ArrowArrayStream), _Destructor)
_destroy_schema = ctypes.cast(_keep_schema := _destroyer(_SCHEMA, ArrowSchema), _Destructor)


def schema_of(frame: "Frame") -> object:
    """Returns the frame's schema as a capsule."""
    schema = ArrowSchema()
    _root(frame)[0].fill_schema(schema)
    _capsules[ctypes.addressof(schema)] = schema
    return _new_capsule(ctypes.addressof(schema), _SCHEMA, _destroy_schema)


def stream_of(frame: "Frame") -> object:
    """Returns the frame as a capsule with a stream of one record batch."""
    root, left = _root(frame)
    if left:
        warnings.warn(f"columns without a form in Arrow are left out: {', '.join(left)}; frame[{left[0]!r}] has them", stacklevel=3)
    sent = False

    def get_schema(_: Any, out: Any) -> int:
        root.fill_schema(out.contents)
        return 0

    def get_next(_: Any, out: Any) -> int:
        nonlocal sent
        if sent:
            out.contents.release = _no(_ReleaseArray)  # the end
        else:
            sent = True
            root.fill_array(out.contents)
        return 0

    def release(pointer: Any) -> None:
        key = pointer.contents.private_data
        pointer.contents.release = _no(_ReleaseStream)
        _alive.pop(key, None)

    stream = ArrowArrayStream()
    callbacks = (_GetSchema(get_schema), _GetNext(get_next), _GetError(lambda _: None), _ReleaseStream(release))
    stream.get_schema, stream.get_next, stream.get_last_error, stream.release = callbacks
    stream.private_data = _keep(callbacks, root)
    _capsules[ctypes.addressof(stream)] = stream
    return _new_capsule(ctypes.addressof(stream), _STREAM, _destroy_stream)
