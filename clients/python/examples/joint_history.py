#!/usr/bin/env python3
"""Draws a joint's history, and beside it what a camera saw when the joint was at its maximum.

    engram demo --keep                                  # in another terminal, or a robot of your own
    python3 clients/python/examples/joint_history.py    # writes joint.png

It needs matplotlib.
"""

import argparse
import sys

import matplotlib
import numpy as np

import engram

matplotlib.use("Agg")
import matplotlib.pyplot as plot  # noqa: E402


def draw(m: engram.Memory, joint: str | None, last: str) -> str:
    """Draws joint.png, and returns what it shows."""
    robots = m.tree("RobotState/Proprioception")
    if not robots:
        sys.exit("the memory knows no robot's joints; start 'engram demo --keep', or import a recording")
    states = m.frame(robots[0], range=last, fields=["position"])
    if len(states) == 0:
        sys.exit(f"no joint states within the last {last}; look further back with --last")
    names = states.columns["position"].labels or [str(i) for i in range(states["position"].shape[1])]
    joint = joint or names[int(np.ptp(states["position"], axis=0).argmax())]
    if joint not in names:
        sys.exit(f"there is no joint {joint}; there are {', '.join(names)}")
    values = states["position"][:, names.index(joint)]
    at = int(values.argmax())
    seen = m.query("Vision/ImageRGB", nearest=states.times[at], within="1s")

    figure, axes = plot.subplots(1, 2 if seen else 1, figsize=(10, 4), squeeze=False)
    axes[0, 0].plot(states.times, values)
    axes[0, 0].plot(states.times[at], values[at], "o")
    axes[0, 0].set(title=joint, ylabel="rad or m")
    axes[0, 0].tick_params(axis="x", labelrotation=30)
    if seen:
        axes[0, 1].imshow(seen[0].value.array)
        axes[0, 1].set(title=str(seen[0].time), xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig("joint.png")
    return f"joint.png: {joint}, {len(values)} values, from {values.min():.3f} to {values.max():.3f}; {seen[0].id if seen else 'no camera saw it'}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joint", help="name of the joint (default: the one that moves most)")
    parser.add_argument("--last", default="30s", help="how far back to look")
    args = parser.parse_args()
    try:
        with engram.connect() as memory:
            print(draw(memory, args.joint, args.last))
    except engram.Error as e:
        sys.exit(f"joint_history: {e}")
