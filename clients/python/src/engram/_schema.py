"""The messages of the API, made from the descriptors that the package holds."""

from __future__ import annotations

import functools
import pathlib
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def descriptors() -> bytes:
    """Returns the API as an encoded FileDescriptorSet."""
    return pathlib.Path(__file__).with_name("api.binpb").read_bytes()


@functools.cache
def _pool() -> Any:
    """A pool of its own, so that programs may have other versions of the same files."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors()).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@functools.cache
def message(name: str) -> Any:
    """Returns the class of a message, such as ``QueryRequest`` of engram.v1."""
    descriptor = _pool().FindMessageTypeByName(name if "." in name else "engram.v1." + name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return _factory().GetPrototype(descriptor)


@functools.cache
def _factory() -> Any:
    return message_factory.MessageFactory(_pool())
