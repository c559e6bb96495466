#!/usr/bin/env python3
"""Draws a joint's history, and saves what a camera saw when the joint was at its maximum.

    engram demo --keep                                  # in another terminal, or a robot of your own
    python3 clients/python/examples/joint_history.py    # writes joint.svg and maximum.png

It needs numpy only; with matplotlib installed, --matplotlib has it draw joint.png.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import engram


def svg(times: np.ndarray, values: np.ndarray, title: str, mark: int) -> str:
    """Draws values over times (s) as an SVG with a mark at one of them."""
    width, height, left, top = 720, 300, 60, 40
    low, high = float(values.min()), float(values.max())
    x = left + (times - times[0]) / max(float(np.ptp(times)), 1e-9) * (width - left - 20)
    y = height - 40 - (values - low) / max(high - low, 1e-9) * (height - 40 - top)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' font-family='sans-serif' font-size='12'>"
            f"<rect width='100%' height='100%' fill='white'/><text x='{left}' y='22' font-size='15'>{title}</text>"
            f"<polyline points='{line}' fill='none' stroke='#1f5faa' stroke-width='1.5'/>"
            f"<circle cx='{x[mark]:.1f}' cy='{y[mark]:.1f}' r='5' fill='none' stroke='#c33' stroke-width='2'/>"
            f"<text x='5' y='{height - 40}'>{low:.3f}</text><text x='5' y='{top + 5}'>{high:.3f}</text>"
            f"<text x='{left}' y='{height - 15}'>0 s</text><text x='{width - 70}' y='{height - 15}'>{times[-1] - times[0]:.1f} s</text></svg>")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joint", help="name of the joint (default: the one that moves most)")
    parser.add_argument("--last", default="30s", help="how far back to look")
    parser.add_argument("--matplotlib", action="store_true", help="draw with matplotlib")
    args = parser.parse_args()

    with engram.connect() as m:
        robots = m.tree("RobotState/Proprioception")
        if not robots:
            print("the memory knows no robot's joints; start 'engram demo --keep', or import a recording", file=sys.stderr)
            return 1
        states = m.frame(robots[0], range=args.last, fields=["position"])
        if len(states) == 0:
            print(f"no joint states within the last {args.last}; look further back with --last", file=sys.stderr)
            return 1
        names = states.columns["position"].labels or [str(i) for i in range(states["position"].shape[1])]
        joint = args.joint or names[int(np.ptp(states["position"], axis=0).argmax())]
        if joint not in names:
            print(f"there is no joint {joint}; there are {', '.join(names)}", file=sys.stderr)
            return 1
        values = states["position"][:, names.index(joint)]
        at = int(values.argmax())
        seconds = (states.times - states.times[0]) / np.timedelta64(1, "s")

        if args.matplotlib:
            import matplotlib
            matplotlib.use("Agg")
            import matplotlib.pyplot as plot

            plot.plot(states.times, values)
            plot.title(f"{joint} (rad)")
            plot.savefig("joint.png")
            print("joint.png:", end=" ")
        else:
            with open("joint.svg", "w") as f:
                f.write(svg(seconds, values, f"{joint} (rad or m)", at))
            print("joint.svg:", end=" ")
        print(f"{joint}, {len(values)} values, from {values.min():.3f} to {values.max():.3f}")

        seen = m.query("Vision/ImageRGB", nearest=states.times[at], within="1s")
        for image in seen:
            picture = image.value._repr_png_()
            if picture is not None:
                with open("maximum.png", "wb") as out:
                    out.write(picture)
                print(f"maximum.png: {image.id}, {image.value.array.shape}")
                break
        else:
            print("no camera saw it")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except engram.Error as e:
        sys.exit(f"joint_history: {e}")
