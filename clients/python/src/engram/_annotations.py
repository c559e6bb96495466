"""Types of payloads, made of annotations of Python."""

from __future__ import annotations

import types as _types
import typing
from collections.abc import Mapping
from typing import Any

from . import errors
from .ids import ID
from .times import Duration, Time

_VALUE = "engram/idf/v1/value.proto"


def identifier(name: str) -> str:
    """Returns a name as one that packages and messages of protobuf may have."""
    text = "".join(c if c == "_" or c.isascii() and c.isalnum() else f"_{ord(c):x}" for c in name)
    return text if text and not text[0].isdigit() else "_" + text


def descriptors_of(full: str, members: Mapping[str, Any]) -> bytes:
    """Returns the type of the full name that has these members, by their annotations, as an encoded FileDescriptorSet."""
    from google.protobuf import descriptor_pb2

    from ._schema import descriptors

    package, _, name = full.rpartition(".")
    known = {f.name: f for f in descriptor_pb2.FileDescriptorSet.FromString(descriptors()).file}
    file = descriptor_pb2.FileDescriptorProto(name=full.replace(".", "/") + ".proto", package=package, syntax="proto3")
    message = file.message_type.add(name=name)
    imports: dict[str, None] = {}
    for number, (member, annotation) in enumerate(members.items(), 1):
        field: Any = message.field.add(name=member, number=number, json_name=member)
        kind, type_name, repeated, imported, nullable = _kind(annotation, f"{full}.{member}")
        field.type, field.label = kind, 3 if repeated else 1
        if type_name:
            field.type_name = "." + type_name
        if imported:
            imports[imported] = None
        if nullable and not repeated:
            field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
            message.oneof_decl.add(name="_" + member)
    file.dependency.extend(sorted(imports))
    out = descriptor_pb2.FileDescriptorSet()
    added: set[str] = set()

    def add(path: str) -> None:
        if path not in added:
            added.add(path)
            for needed in known[path].dependency:
                add(needed)
            out.file.append(known[path])

    for path in sorted(imports):
        add(path)
    out.file.append(file)
    encoded: bytes = out.SerializeToString(deterministic=True)
    return encoded


def _kind(annotation: Any, member: str) -> tuple[int, str, bool, str, bool]:
    """Returns a field's type, its type's name, whether it is repeated, what is imported for it, and whether it may be None."""
    from . import idf, values

    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, _types.UnionType):
        rest = [a for a in arguments if a is not type(None)]
        if len(rest) == 1:
            kind, name, repeated, imported, _ = _kind(rest[0], member)
            return kind, name, repeated, imported, True
        return idf.MESSAGE, "engram.idf.v1.Value", False, _VALUE, False
    if origin in (list, tuple) and arguments:
        kind, name, repeated, imported, _ = _kind(arguments[0], member)
        if not repeated:
            return kind, name, True, imported, False
    plain = {str: idf.STRING, float: idf.DOUBLE, int: idf.INT64, bool: idf.BOOL, bytes: idf.BYTES}
    if isinstance(annotation, Mapping):
        raise errors.Invalid(member, f"{annotation!r:.60} is no type of a member; a dict of members of its own is a class with annotations, or dict for any data")
    if annotation in plain:
        return plain[annotation], "", False, "", False
    messages: dict[Any, tuple[str, str]] = {
        ID: ("engram.idf.v1.Link", _VALUE), Time: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
        Duration: ("google.protobuf.Duration", "google/protobuf/duration.proto"), values.Pose: ("foxglove.Pose", "foxglove/Pose.proto"),
        values.Vector3: ("foxglove.Vector3", "foxglove/Vector3.proto"), values.Quaternion: ("foxglove.Quaternion", "foxglove/Quaternion.proto")}
    if annotation in messages:
        name, imported = messages[annotation]
        return idf.MESSAGE, name, False, imported, False
    if annotation is Any or origin is dict or annotation in (dict, list, object):
        return idf.MESSAGE, "engram.idf.v1.Value", False, _VALUE, False
    raise errors.Invalid(member, f"{annotation!r} is no type of a member; take str, int, float, bool, bytes, engram.ID, Time, Duration, Pose, Vector3, Quaternion, "
                                 "lists of these, or typing.Any")
