"""Cheap constraints: six designs of which one point in ten thousand may be called, 20 D expensive calls, five seeds.

Every solver may ask for the cheap constraints as often as it likes (simulators_peers.py). Beside f the share of
expensive calls outside of them is printed: what a user would have paid for nothing.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kept_runs import KeptRuns
from meco import Variable
from meco.variables import Variables
from simulators_runs import add_options, print_designs


@dataclass(frozen=True)
class CheapDesign:
    """An expensive function and cheap constraints, of the same dict."""

    name: str
    fun: Callable[[dict[str, Any]], dict[str, Any]]
    cheap: Callable[[dict[str, Any]], dict[str, float]]
    variables: dict[str, Variable]

    @property
    def dim(self) -> int:
        return len(self.variables)


def linkage_fits(d: dict[str, Any]) -> dict[str, float]:
    """Four-bar linkage: Grashof's rule, the angle of transmission, and the room that it has."""
    a, b, c, g = d["crank"], d["coupler"], d["rocker"], d["ground"]
    bars = sorted([a, b, c, g])
    worst = max(abs((b**2 + c**2 - (g - a) ** 2) / (2 * b * c)), abs((b**2 + c**2 - (g + a) ** 2) / (2 * b * c)))
    return {
        "turns": bars[0] + bars[3] - bars[1] - bars[2],
        "crank is shortest": a - bars[0],
        "transmission": worst - 0.5,
        "room": a + g + 0.4 * c - 260.0,
        "reach": abs(c * 1.9 - 190.0) - 9.0,
    }


def linkage(d: dict[str, Any]) -> dict[str, Any]:
    """Error of the path of the coupler's point (mm), simulated over a turn."""
    a, b, c, g = d["crank"], d["coupler"], d["rocker"], d["ground"]
    angle = np.linspace(0, 2 * np.pi, 60)
    ax, ay = a * np.cos(angle), a * np.sin(angle)
    far = np.hypot(g - ax, -ay)
    cosine = np.clip((b**2 + far**2 - c**2) / (2 * b * far), -1, 1)
    beta = np.arctan2(-ay, g - ax) + np.arccos(cosine)
    px = ax + d["point"] * np.cos(beta + math.radians(d["angle"]))
    py = ay + d["point"] * np.sin(beta + math.radians(d["angle"]))
    error = np.mean((px - 60 - 45 * np.cos(angle)) ** 2 + (py - 70 - 22 * np.sin(angle)) ** 2)
    force = np.max(np.abs(np.diff(beta))) * a
    return {"f": math.sqrt(error), "g": {"jerk": force - 18.0}}


def lens_fits(d: dict[str, Any]) -> dict[str, float]:
    """Two lenses: focal length, edges, and length of the tube, by formulas."""
    f1, f2, gap = d["f1"], d["f2"], d["gap"]
    focal = 1 / (1 / f1 + 1 / f2 - gap / (f1 * f2))
    edge1, edge2 = d["t1"] - 220 / abs(f1) * 1.3, d["t2"] - 160 / abs(f2) * 1.3
    return {
        "focal length": abs(focal - 50.0) - 0.6,
        "edge 1": 1.0 - edge1,
        "edge 2": 1.0 - edge2,
        "tube": abs(gap + d["t1"] + d["t2"] + focal * (1 - gap / f1) - 68.0) - 1.0,
        "glass": d["t1"] + d["t2"] - 22.0,
    }


def lens(d: dict[str, Any]) -> dict[str, Any]:
    """Spot size of the ray tracing, with distortion and colour as limits."""
    bend1, bend2, f1, f2 = d["bend1"], d["bend2"], d["f1"], d["f2"]
    spherical = 900 / f1**2 * ((bend1 - 0.8) ** 2 + 0.25) + 700 / f2**2 * ((bend2 + 0.4) ** 2 + 0.2)
    coma = 6 / abs(f1) * (bend1 + 0.3) + 5 / abs(f2) * (bend2 - 0.5)
    colour = abs(1 / (f1 * 0.64) + d["gap"] / 90 / (f2 * 0.36)) * 100
    return {
        "f": 10 * spherical + 40 * coma**2 + 0.02 * (d["t1"] + d["t2"]) ** 2,
        "g": {"colour": colour - 9.0, "distortion": abs(bend1 - bend2) - 2.2},
    }


def pack_fits(d: dict[str, Any]) -> dict[str, float]:
    """Three boxes on a board: no overlap, the board's edge, cables of a length."""
    size = {"a": (30, 18), "b": (22, 22), "c": (14, 34)}
    found = {}
    for one, two in (("a", "b"), ("a", "c"), ("b", "c")):
        clear_x = (size[one][0] + size[two][0]) / 2 + 2 - abs(d[f"{one}x"] - d[f"{two}x"])
        clear_y = (size[one][1] + size[two][1]) / 2 + 2 - abs(d[f"{one}y"] - d[f"{two}y"])
        found[f"{one} off {two}"] = min(clear_x, clear_y)
    for one, (wide, high) in size.items():
        found[f"{one} on board"] = max(abs(d[f"{one}x"] - 32) + wide / 2 - 32, abs(d[f"{one}y"] - 24) + high / 2 - 24)
    found["cable"] = math.hypot(d["ax"] - d["cx"], d["ay"] - d["cy"]) - 36.0
    return found


def pack(d: dict[str, Any]) -> dict[str, Any]:
    """Hottest part of the board (K), by a thermal simulation, and the tilt of its centre of mass."""
    power = {"a": 9.0, "b": 6.0, "c": 12.0}
    spots = {k: (d[f"{k}x"], d[f"{k}y"]) for k in power}
    hot = {}
    for k, (x, y) in spots.items():
        rise = sum(p * math.exp(-math.hypot(x - spots[j][0], y - spots[j][1]) / 22) for j, p in power.items())
        hot[k] = rise * (1 + 0.012 * abs(x - 5)) * (1 + 0.004 * (y - 24) ** 2 / 24)
    tilt = math.hypot(
        sum(p * (spots[k][0] - 32) for k, p in power.items()), sum(p * (spots[k][1] - 24) for k, p in power.items())
    )
    return {"f": max(hot.values()) + 0.2 * sum(hot.values()), "g": {"tilt": tilt / 27 - 9.0}}


def frame_fits(d: dict[str, Any]) -> dict[str, float]:
    """A bicycle frame: handling and fit by geometry alone."""
    head, seat = math.radians(d["head angle"]), math.radians(d["seat angle"])
    trail = (340 * math.cos(head) - d["rake"]) / math.sin(head)
    reach = d["top tube"] - d["stack"] / math.tan(seat)
    front = reach + d["drop"] / math.tan(head) + d["rake"] / math.sin(head) + 120
    return {
        "trail": abs(trail - 58.0) - 1.5,
        "reach": abs(reach - 385.0) - 4.0,
        "toe overlap": 590.0 - front - d["rake"] * 0.4,
        "wheelbase": abs(front + d["chainstay"] - 995.0) - 6.0,
    }


def frame(d: dict[str, Any]) -> dict[str, Any]:
    """Mass of the frame (kg) with stiffness and fatigue by finite elements; tube sizes of a catalogue."""
    tube, wall = d["down tube"], d["wall"]
    rho, modulus, fatigue = {
        "steel": (7850, 205e9, 300e6),
        "aluminium": (2700, 70e9, 110e6),
        "titanium": (4500, 110e9, 260e6),
    }[d["metal"]]
    length = (d["top tube"] + d["stack"] + 2 * d["chainstay"] + 620) / 1e3
    inertia = math.pi * (tube / 2e3) ** 3 * wall / 1e3
    mass = rho * math.pi * tube / 1e3 * wall / 1e3 * length * 1.25
    stiffness = modulus * inertia / (d["top tube"] / 1e3) ** 2 / 1e3
    stress = 950 * d["top tube"] / 1e3 * tube / 2e3 / inertia
    shimmy = 0.02 * abs(d["head angle"] - 72.5) + 0.01 * abs(d["chainstay"] - 418) / 5
    return {
        "f": mass + shimmy,
        "g": {"stiffness": 7.5 - stiffness, "fatigue": stress / fatigue - 1, "dents": tube / wall - 62},
    }


def fund_rules(d: dict[str, Any]) -> dict[str, float]:
    """Shares of six funds: rules of the house, linear and not."""
    w = np.array([d[f"w{i}"] for i in range(1, 7)])
    return {
        "all": abs(w.sum() - 1.0) - 0.005,
        "bonds": 0.3 - w[0] - w[1],
        "spread": float(np.sum(w * w)) - 0.24,
        "shares": w[3] + w[4] + w[5] - 0.55,
        "gold": abs(w[2] - 0.08) - 0.03,
    }


def fund(d: dict[str, Any]) -> dict[str, Any]:
    """Worst loss of the funds by a simulation of a thousand years, with a yield as limit."""
    w = np.array([d[f"w{i}"] for i in range(1, 7)])
    mean = np.array([1.5, 2.6, 3.0, 5.5, 6.6, 8.2])
    spread = np.array([1.0, 4.0, 14.0, 15.0, 18.0, 24.0])
    together = 0.25 + 0.75 * np.eye(6)
    together[0, 3:] = together[3:, 0] = -0.1
    together[1, 3:] = together[3:, 1] = -0.15
    risk = math.sqrt((w * spread) @ together @ (w * spread))
    tail = 2.33 * risk * (1 + 0.3 * (w[5] + 0.5 * w[4]) ** 2) - mean @ w
    return {"f": tail, "g": {"yield": 4.2 - mean @ w}}


def tank_fits(d: dict[str, Any]) -> dict[str, float]:
    """A dished tank with a stirrer: volume, proportions, and a shaft that clears the wall, by formulas."""
    r, h = d["radius"], d["height"]
    volume = math.pi * r**2 * h + 2 / 3 * math.pi * r**2 * d["dish"]
    return {
        "volume": abs(volume - 6.0) - 0.06,
        "proportion": abs(h / r - 2.4) - 0.08,
        "stirrer": abs(d["stirrer"] / r - 0.72) - 0.04,
        "dish": abs(d["dish"] / r - 0.52) - 0.05,
        "blades": d["blades"] * d["blade"] * 1.4 - 2 * math.pi * d["stirrer"] * 0.45,
    }


def tank(d: dict[str, Any]) -> dict[str, Any]:
    """Price of the tank and its drive, with mixing time and shear by a flow simulation."""
    power = (
        d["number"]
        * 1000
        * (d["speed"] / 60) ** 3
        * (2 * d["stirrer"]) ** 5
        * (0.4 + 0.15 * d["blades"])
        * (1 + 2 * d["blade"])
    )
    mixing = 6.5 * (d["radius"] / d["stirrer"]) ** 2 / (d["speed"] / 60) * (1 + 0.4 / d["blades"])
    shear = d["speed"] / 60 * d["stirrer"] * (1 + d["blade"])
    steel = (
        7850 * 0.005 * (2 * math.pi * d["radius"] * d["height"] + 5 * d["radius"] ** 2 + 2 * d["dish"] * d["radius"])
    )
    return {
        "f": 4.0 * steel + 0.35 * power + 60 * d["blades"] * d["blade"],
        "g": {"mixing (s)": mixing - 32.0, "shear": shear - 1.35},
    }


DESIGNS = (
    CheapDesign(
        "linkage",
        linkage,
        linkage_fits,
        {
            "crank": Variable(5, 150),
            "coupler": Variable(20, 300),
            "rocker": Variable(20, 300),
            "ground": Variable(20, 300),
            "point": Variable(0, 150),
            "angle": Variable(-90, 90),
        },
    ),
    CheapDesign(
        "two lenses",
        lens,
        lens_fits,
        {
            "f1": Variable(20, 200),
            "f2": Variable(20, 400),
            "gap": Variable(0, 60),
            "t1": Variable(2, 30),
            "t2": Variable(2, 30),
            "bend1": Variable(-3, 3),
            "bend2": Variable(-3, 3),
        },
    ),
    CheapDesign(
        "board",
        pack,
        pack_fits,
        {name: Variable(0, 64) if name[1] == "x" else Variable(0, 48) for name in ("ax", "ay", "bx", "by", "cx", "cy")},
    ),
    CheapDesign(
        "bicycle",
        frame,
        frame_fits,
        {
            "head angle": Variable(65, 76),
            "seat angle": Variable(68, 78),
            "rake": Variable(30, 65),
            "top tube": Variable(480, 640),
            "stack": Variable(480, 640),
            "drop": Variable(20, 120),
            "chainstay": Variable(395, 460),
            "down tube": Variable(25, 70),
            "wall": Variable(0.5, 3),
            "metal": Variable(categories=["steel", "aluminium", "titanium"]),
        },
    ),
    CheapDesign("funds", fund, fund_rules, {f"w{i}": Variable(0, 1) for i in range(1, 7)}),
    CheapDesign(
        "stirred tank",
        tank,
        tank_fits,
        {
            "radius": Variable(0.3, 2),
            "height": Variable(0.5, 5),
            "dish": Variable(0.1, 1.2),
            "stirrer": Variable(0.1, 1.5),
            "blade": Variable(0.05, 0.6),
            "blades": Variable(2, 8, integer=True),
            "speed": Variable(5, 120),
            "number": Variable(0.3, 3),
        },
    ),
)


def measure_share(design: CheapDesign, points: int = 200_000) -> float:
    """Share of the box that keeps the cheap constraints."""
    variables = Variables.read(design.variables)
    draw = np.random.default_rng(0).random((points, design.dim))
    x = variables.lower + draw * (variables.upper - variables.lower)
    x = np.where(variables.column("integer"), np.round(x), x)
    return float(np.mean([max(design.cheap(variables.as_dict(row)).values()) <= 0 for row in x]))


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, DESIGNS)
    parser.add_argument("--shares", action="store_true", help="print what share of each box may be called, and end")
    args = parser.parse_args(words)
    chosen = [d for d in DESIGNS if d.name in args.designs]
    if args.shares:
        for design in chosen:
            print(f"{design.name}: {measure_share(design):.1e} of the box", flush=True)
        return
    print_designs(chosen, args.solvers, range(args.seeds), args.per_variable, KeptRuns(args.keep))


if __name__ == "__main__":
    main()
