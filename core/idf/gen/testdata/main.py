"""Answers the requests of golden_test.go."""

import importlib
import pathlib
import sys

from engram import payload

for module in pathlib.Path("golden").glob("*.py"):
    importlib.import_module("golden" if module.stem == "__init__" else f"golden.{module.stem}")


def classes(cls):
    yield cls.TYPE, cls
    for sub in cls.__subclasses__():
        yield from classes(sub)


CLASSES = dict(classes(payload.Payload))


def unhex(text: str) -> bytes:
    return b"" if text == "-" else bytes.fromhex(text)


for line in sys.stdin:
    name, data, *sender = line.split()
    try:
        cls = CLASSES[name]
        from_ = payload.Sender(sender[0], unhex(sender[1])) if sender else None
        read = cls.from_payload(unhex(data), from_)
        written = read.to_payload()
        assert cls.from_payload(written) == read or "nan" in repr(read)
        print("-" + written.hex())
    except payload.PayloadError as e:
        print("ERR", str(e).replace("\n", " "))
