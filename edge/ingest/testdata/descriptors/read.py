"""Reads payloads by their descriptors: prints a JSON object of what NAME.payload of folders say by NAME.binpb."""

import json
import pathlib
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

found = {}
for path in sorted(p for folder in sys.argv[1:] for p in pathlib.Path(folder).glob("*.binpb")):
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file:
        pool.Add(file)
    descriptor = pool.FindMessageTypeByName(path.stem)
    try:
        kind = message_factory.GetMessageClass(descriptor)
    except AttributeError:
        kind = message_factory.MessageFactory(pool).GetPrototype(descriptor)
    payload = path.with_suffix(".payload")
    found[str(path)] = json_format.MessageToDict(kind.FromString(payload.read_bytes()), descriptor_pool=pool) if payload.exists() else {}
json.dump(found, sys.stdout)
