"""Hosts a memory of batteries, which checks what is committed, measures what is asked for, and predicts.

    engram serve                                    # in another terminal
    python3 clients/python/examples/battery_memory.py
    engram put Battery/State/arm/left '{"voltage": 24.1, "charge": 0.8}'
    engram query Battery
"""

import os

import engram

m = engram.connect()
battery = m.host("Battery")
battery.add_segment("State", {"voltage": float, "charge": float}, max_count=10_000)


@battery.on_commit
def check(u):  # before each update is stored
    if not 0 <= u["charge"] <= 1:
        raise engram.OutOfRange(u.entity, f"a charge of {u['charge']}; it is from 0 to 1")
    if u["voltage"] > 1000:  # in mV
        u.value = {"voltage": u["voltage"] / 1000, "charge": u["charge"]}


@battery.on_query
def measure(asked):  # before each query is answered
    if asked.concerns("State/computer/load"):
        m.commit("Battery/State/computer/load", {"voltage": 12, "charge": min(os.getloadavg()[0], 100) / 100})


@battery.on_predict
def discharge(id):  # an entity at a time
    now = m.latest(id.entity)
    hours = (id.time - now.time) / 3.6e12
    return {"voltage": now["voltage"], "charge": max(now["charge"] - 0.1 * hours, 0)}


if __name__ == "__main__":
    battery.run()
