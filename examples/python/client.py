#!/usr/bin/env python3
"""A client in Python: gRPC as it comes, without generated code in the repository.

    python3 examples/python/client.py 127.0.0.1:7411

needs grpcio and protobuf, and grpcio-tools (1.49 or later) or protoc (3.15 or later)
to compile the .proto file: 'pip install -r examples/python/requirements.txt', or on
Debian python3-grpcio, python3-protobuf and protobuf-compiler. (Debian 12's
python3-grpc-tools is too old; then protoc is used.) It adds a segment to the memory
GeneralPurpose, subscribes to it, commits to it, and reads back.
"""

import atexit
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import grpc

API = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "api")


def compile_api():
    """Compiles api/engram/v1/memory.proto and returns its module."""
    out = tempfile.mkdtemp(prefix="engram-python-")
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    failed = []
    for compiler in ([sys.executable, "-m", "grpc_tools.protoc"], ["protoc"]):
        try:
            done = subprocess.run(compiler + ["-I" + API, "--python_out=" + out, "engram/v1/memory.proto"],
                                  capture_output=True, text=True)
        except FileNotFoundError as e:
            failed.append(str(e))
            continue
        if done.returncode == 0:
            break
        failed.append((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    else:
        sys.exit("no compiler for .proto files works: install grpcio-tools or protoc, see the head of this file\n  " + "\n  ".join(failed))
    sys.path.insert(0, out)
    try:
        return importlib.import_module("engram.v1.memory_pb2")
    except Exception as e:  # the runtime is older than what the compiler wrote for
        sys.exit("the installed protobuf does not take what %s compiled: %s\nInstall versions that fit, see the head of this file." % (compiler[-1], e))


pb = compile_api()


class Memory:
    """The procedures of engram.v1.MemoryService."""

    def __init__(self, address):
        # Images are larger than the 4 MiB that gRPC accepts by default.
        self.channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", 128 << 20)])

    def call(self, method, request, answer, **kw):
        stub = self.channel.unary_unary("/engram.v1.MemoryService/" + method,
                                        request_serializer=type(request).SerializeToString,
                                        response_deserializer=answer.FromString)
        return stub(request, timeout=10, **kw)

    def subscribe(self, request):
        stub = self.channel.unary_stream("/engram.v1.MemoryService/Subscribe",
                                         request_serializer=pb.SubscribeRequest.SerializeToString,
                                         response_deserializer=pb.SubscribeResponse.FromString)
        return stub(request, timeout=30)

    def commit_stream(self, requests):
        stub = self.channel.stream_stream("/engram.v1.MemoryService/CommitStream",
                                          request_serializer=pb.CommitRequest.SerializeToString,
                                          response_deserializer=pb.CommitResponse.FromString)
        return stub(requests, timeout=30)


def update(entity, data):
    u = pb.EntityUpdate(entity=entity, time=time.time_ns())
    u.instances.add().payload.json.struct_value.update(data)  # encoded by the server
    return u


def main(address):
    memory = Memory(address)
    info = memory.call("Info", pb.InfoRequest(), pb.InfoResponse)
    print("memories:", ", ".join(info.memories))

    segment, entity = "GeneralPurpose/FromPython", "GeneralPurpose/FromPython/client.py/counter"
    memory.call("AddSegment", pb.AddSegmentRequest(segment=pb.Segment(id=segment)), pb.AddSegmentResponse)
    updates = memory.subscribe(pb.SubscribeRequest(patterns=[segment], with_data=True, json=True))
    next(updates)  # the subscription has begun

    answer = memory.call("Commit", pb.CommitRequest(updates=[update(entity, {"count": 1, "from": "commit"})]), pb.CommitResponse)
    print("committed:", answer.results[0].id)
    requests = (pb.CommitRequest(updates=[update(entity, {"count": n, "from": "stream"})]) for n in (2, 3))
    for answer in memory.commit_stream(requests):
        for result in answer.results:
            if result.HasField("error"):
                sys.exit("refused: " + result.error.message)

    counts = []
    while len(counts) < 3:
        for u in next(updates).updates:
            counts.append(int(u.snapshot.instances[0].payload.json.struct_value["count"]))
    print("told of:", counts)
    updates.cancel()

    result = memory.call("Query", pb.QueryRequest(pattern=segment, json=True), pb.QueryResponse)
    for m in result.memories:
        latest = m.children[0].children[0].children[0].snapshots[0].instances[0].payload
        print("latest:", int(latest.json.struct_value["count"]), "of type", latest.type)

    try:
        memory.call("Latest", pb.LatestRequest(entity="GeneralPurpose/FromPython/client.py/nobody"), pb.LatestResponse)
        sys.exit("an entity that does not exist was found")
    except grpc.RpcError as e:
        print("an error:", e.code().name, "-", e.details())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7411")
