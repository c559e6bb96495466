"""Measures the clients; see main.go. Each role is a process of its own."""

import os
import statistics
import subprocess
import sys
import time

import numpy as np

ROUNDS, WARM_UP = 3, 50
SIZES = {"33 B": 33, "image 49 KB": 128 * 128 * 3}

SLICE = """
module bench {
    sequence<byte> Bytes;
    interface Consumer { void put(long number, double sent, Bytes data); }
}
"""


def small():
    """The descriptors of a message of 33 bytes."""
    from google.protobuf import descriptor_pb2 as d

    file = d.FileDescriptorProto(name="bench.proto", package="bench", syntax="proto3")
    message = file.message_type.add(name="Small")
    for number, (name, kind) in enumerate({"sent": 3, "x": 1, "y": 1, "n": 7}.items(), 1):
        message.field.add(name=name, number=number, type=kind, label=1, json_name=name)
    return d.FileDescriptorSet(file=[file]).SerializeToString()


def count(name):
    return 1000 if name == "33 B" else 400


def report(ages):
    """Prints the ages in microseconds, without those of the warm-up."""
    print(*(f"{a * 1e6:.1f}" for a in ages[WARM_UP:]))


# The memory


def memory_consumer(address, name):
    import engram

    ages = []
    with engram.connect(address) as m, m.watch(f"GeneralPurpose/Bench/producer/{name[:2]}") as updates:
        print("ready", flush=True)
        for u in updates:
            value = u.value
            if name == "33 B":
                ages.append((time.time_ns() - value.sent) / 1e9)
            else:
                pixels = value.array
                ages.append((time.time_ns() - value.timestamp) / 1e9)
                assert pixels.shape == (128, 128, 3)
            if len(ages) == count(name):
                break
    report(ages)


def memory_producer(address, name):
    import engram

    pixels = np.zeros((128, 128, 3), np.uint8)
    with engram.connect(address) as m:
        for i in range(count(name)):
            now = time.time_ns()
            value = engram.image(pixels, time=now) if name != "33 B" else {"sent": now, "x": 1.0, "y": float(i), "n": 7}
            m.commit(f"GeneralPurpose/Bench/producer/{name[:2]}", value, type=None if name != "33 B" else "bench.Small")
            time.sleep(0.001)


# Ice, from process to process


def ice(folder):
    import Ice

    Ice.loadSlice("", [os.path.join(folder, "bench.ice")])
    import bench

    properties = Ice.createProperties()
    properties.setProperty("Ice.MessageSizeMax", "0")
    properties.setProperty("Ice.ThreadPool.Server.Size", "1")
    data = Ice.InitializationData()
    data.properties = properties
    return Ice.initialize(data), bench


def ice_consumer(folder, name):
    communicator, bench = ice(folder)
    ages = []

    class Consumer(bench.Consumer):
        def put(self, number, sent, data, current=None):
            if name == "33 B":
                assert len(data) == 16
            else:
                assert np.frombuffer(data, np.uint8).reshape(128, 128, 3).shape[2] == 3
            ages.append(time.time() - sent)
            if len(ages) == count(name):
                communicator.shutdown()

    adapter = communicator.createObjectAdapterWithEndpoints("bench", "tcp -h 127.0.0.1 -p 0")
    proxy = adapter.addWithUUID(Consumer())
    adapter.activate()
    print("ready", communicator.proxyToString(proxy), flush=True)
    communicator.waitForShutdown()
    report(ages)
    communicator.destroy()


def ice_producer(folder, name, address):
    communicator, bench = ice(folder)
    consumer = bench.ConsumerPrx.uncheckedCast(communicator.stringToProxy(address)).ice_oneway()
    pixels = np.zeros((128, 128, 3), np.uint8)
    for i in range(count(name)):
        now = time.time()
        data = bytes(16) if name == "33 B" else pixels.tobytes()
        consumer.put(i, now, data)
        time.sleep(0.001)
    communicator.destroy()


# Rounds


def ages_of(role, *args):
    """The median and 99th percentile of ages."""
    python = [sys.executable, __file__, "--"]
    ages = ages_between([*python, role + "_consumer", *args], [*python, role + "_producer", *args], role)
    return statistics.median(ages), sorted(ages)[int(len(ages) * 0.99)]


def native_ages(program, address, name):
    """The median of a program that has both roles: C++ or Go."""
    rest = [f"GeneralPurpose/Bench/producer/{name}", str(count("33 B"))]
    return statistics.median(ages_between([*program, address, "consume", *rest], [*program, address, "produce", *rest], name)[WARM_UP:])


def ages_between(consume, produce, role):
    """Runs a consumer and a producer, and returns the ages that the consumer saw, in microseconds."""
    consumer = subprocess.Popen(consume, stdout=subprocess.PIPE, text=True)
    assert consumer.stdout is not None
    ready = consumer.stdout.readline().strip()
    if not ready.startswith("ready"):
        raise RuntimeError(f"the consumer of {role} did not start")
    address = [ready[6:]] if ready[6:] else []
    subprocess.run([*produce, *address], check=True)
    return [float(a) for a in consumer.communicate()[0].split()]


def row(name, values, target):
    print(f"| {name} | {target} | {values} |", flush=True)


def main(binary, folder, go, cpp):
    with open(os.path.join(folder, "bench.ice"), "w") as f:
        f.write(SLICE)
    address = f"unix:{folder}/engram.sock"
    server = subprocess.Popen([binary, "serve", "--listen", address, "--monitor", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    while "engram.sock" not in server.stderr.readline():
        pass
    try:
        import engram

        with engram.connect(address) as m:
            m.add_segment("GeneralPurpose/Bench", max_count=1000)
            m.add_type("bench.Small", small())
        have_ice = subprocess.run([sys.executable, "-c", "import Ice"], capture_output=True).returncode == 0
        print(f"load at the start: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores; medians of {ROUNDS} rounds in turn, in brackets smallest and largest")
        print("| what | target | measured |\n|---|---|---|")
        for name in SIZES:
            ours, peer = [], []
            for _ in range(ROUNDS):
                ours.append(ages_of("memory", address, name))
                if have_ice:
                    peer.append(ages_of("ice", folder, name))
            row(f"age of {name}, producer → memory → consumer, p50", spread([a for a, _ in ours], "µs"), "≤ 150 µs" if name == "33 B" else "–")
            if peer:
                row(f"the same, Ice for Python, process to process, p50", spread([a for a, _ in peer], "µs"), "–")
                row(f"ratio of {name}", spread([a[0] / b[0] for a, b in zip(ours, peer)], "×"), "≤ 1.0 ×" if name == "33 B" else "≤ 1.2 ×")
        if cpp:
            ours, peer = [], []
            for _ in range(ROUNDS):
                ours.append(native_ages([cpp], address, "C++"))
                peer.append(native_ages([go, "age"], address, "Go"))
            row("age of 33 B, C++, producer → memory → consumer, p50", spread(ours, "µs"), "–")
            row("the same, Go", spread(peer, "µs"), "–")
            row("ratio of C++ to Go", spread([a / b for a, b in zip(ours, peer)], "×"), "≤ 1.0 ×")
        row("10,000 joint states of 26 values into a frame", spread(frames(address), "ms"), "≤ 150 ms")
        row("import engram", spread(imports(), "ms"), "≤ 150 ms")
    finally:
        server.kill()
        server.wait()


def spread(values, unit):
    return f"**{statistics.median(values):.3g} {unit}** ({min(values):.3g}–{max(values):.3g})"


def frames(address):
    import engram

    entity = "RobotState/Proprioception/bench/robot"
    base = engram.now() - 60_000_000_000
    with engram.connect(address) as m:
        with m.stream() as stream:
            for i in range(10_000):
                stream.commit(entity, {"name": [f"joint{j}" for j in range(26)], "position": np.full(26, i, float)}, time=engram.Time(base + i * 5_000_000))
        took = []
        for _ in range(7):
            began = time.perf_counter()
            f = m.frame(entity, fields=["position"])
            took.append((time.perf_counter() - began) * 1e3)
            assert f["position"].shape == (10_000, 26)
        return took[1:]


def imports():
    code = "import time; t = time.perf_counter(); import engram; print((time.perf_counter() - t) * 1e3)"
    return [float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) for _ in range(7)]


if __name__ == "__main__":
    if sys.argv[1] == "--":
        globals()[sys.argv[2]](*sys.argv[3:])
    else:
        main(*sys.argv[1:])
