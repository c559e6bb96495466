"""Measures the client for Python; see main.go. Each role is a process of its own."""

import os
import statistics
import subprocess
import sys
import time

import numpy as np

ROUNDS, WARM_UP = 5, 50
SIDE = 128
KINDS = {"small": ("33 B", 1000, "≤ 4 ×"), "image": ("an image of 49 KB as a numpy array", 400, "≤ 2 ×")}


def small():
    """The descriptors of a message of 33 bytes."""
    from google.protobuf import descriptor_pb2 as d

    file = d.FileDescriptorProto(name="bench.proto", package="bench", syntax="proto3")
    message = file.message_type.add(name="Small")
    for number, (name, kind) in enumerate({"sent": 3, "x": 1, "y": 1, "n": 7}.items(), 1):
        message.field.add(name=name, number=number, type=kind, label=1, json_name=name)
    return d.FileDescriptorSet(file=[file]).SerializeToString()


# The roles, with the arguments of those in Go.


def consume(address, kind, entity, count):
    import engram

    ages = []
    with engram.connect(address) as m, m.watch(entity) as updates:
        print("ready", flush=True)
        for u in updates:
            value = u.value
            if kind == "small":
                sent = value.sent
            else:
                assert value.array.shape == (SIDE, SIDE, 3)
                sent = value.timestamp
            ages.append((time.time_ns() - sent) / 1e3)
            if len(ages) == int(count):
                break
    print(*ages)


def produce(address, kind, entity, count):
    import engram

    pixels = np.zeros((SIDE, SIDE, 3), np.uint8)
    with engram.connect(address) as m:
        for i in range(int(count)):
            now = time.time_ns()
            if kind == "small":
                m.commit(entity, {"sent": now, "x": 1.0, "y": float(i), "n": 7}, type="bench.Small")
            else:
                m.commit(entity, engram.image(pixels, time=now))
            time.sleep(0.001)


# Rounds


def ages_of(program, address, kind, count):
    """The median age, in µs, from a producer to a consumer, without the warm-up."""
    rest = [kind, f"GeneralPurpose/Bench/producer/{kind}", str(count)]
    consumer = subprocess.Popen([*program, address, "consume", *rest], stdout=subprocess.PIPE, text=True)
    assert consumer.stdout is not None
    if consumer.stdout.readline() != "ready\n":
        raise RuntimeError(f"the consumer of {program[0]} did not start")
    subprocess.run([*program, address, "produce", *rest], check=True)
    return statistics.median([float(a) for a in consumer.communicate()[0].split()][WARM_UP:])


def row(name, target, values, unit):
    print(f"| {name} | {target} | **{statistics.median(values):.3g} {unit}** ({min(values):.3g}–{max(values):.3g}) |", flush=True)


def main(binary, folder, go, *also):
    address = f"unix:{folder}/engram.sock"
    server = subprocess.Popen([binary, "serve", "--listen", address, "--monitor", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    if not any("engram.sock" in line for line in server.stderr):
        raise RuntimeError("the server did not start")
    try:
        import engram

        with engram.connect(address) as m:
            m.add_segment("GeneralPurpose/Bench", max_count=1000)
            m.add_type("bench.Small", small())
        print(f"load at the start: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, Python {sys.version.split()[0]}; "
              f"medians of {ROUNDS} rounds in turn, in brackets smallest and largest\n")
        print("| what | target | measured |\n|---|---|---|")
        for kind, (name, count, target) in KINDS.items():
            ours, peer = [], []
            for _ in range(ROUNDS):
                ours.append(ages_of([sys.executable, __file__, "--"], address, kind, count))
                peer.append(ages_of([go, "age"], address, kind, count))
            row(f"age of {name}, producer → memory → consumer, p50", "–", ours, "µs")
            row("the same, the client for Go", "–", peer, "µs")
            row("ratio", target, [a / b for a, b in zip(ours, peer)], "×")
        row("10,000 joint states of 26 values into a frame", "≤ 150 ms", frames(address), "ms")
        row("`import engram`", "≤ 150 ms", imports(), "ms")
        if "install" in also:
            row("`pip install ./clients/python` and the example of its README, in an empty environment", "≤ 60 s", [install(folder, address)], "s")
    finally:
        server.kill()
        server.wait()


def frames(address):
    import engram

    entity = "RobotState/Proprioception/bench/robot"
    base = engram.now() - 60_000_000_000
    with engram.connect(address) as m:
        with m.stream() as stream:
            for i in range(10_000):
                stream.commit(entity, {"name": [f"joint{j}" for j in range(26)], "position": np.full(26, i, float)}, time=engram.Time(base + i * 5_000_000))
        took = []
        for _ in range(8):
            began = time.perf_counter()
            f = m.frame(entity, fields=["position"])
            took.append((time.perf_counter() - began) * 1e3)
            assert f["position"].shape == (10_000, 26)
        return took[1:]


def imports():
    code = "import time; t = time.perf_counter(); import engram; print((time.perf_counter() - t) * 1e3)"
    return [float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) for _ in range(7)]


def install(folder, address):
    """Seconds that the README's commands and its example take."""
    with open("clients/python/README.md") as f:
        example = f.read().split("```python\n", 1)[1].split("```", 1)[0]
    env = {**os.environ, "ENGRAM_ADDRESS": address}
    env.pop("PYTHONPATH", None)
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", f"{folder}/v"], check=True)
    subprocess.run([f"{folder}/v/bin/pip", "install", "--quiet", "--no-cache-dir", "./clients/python"], check=True)
    subprocess.run([f"{folder}/v/bin/python", "-c", example], check=True, env=env, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    if sys.argv[1] == "--":
        {"consume": consume, "produce": produce}[sys.argv[3]](sys.argv[2], *sys.argv[4:])
    else:
        main(*sys.argv[1:])
