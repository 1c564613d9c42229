"""Partial answers: three simulations in stages that stop at the first violated one, beside the same without a stop.

Each stage has its price. Printed is what was paid until a feasible f within 1 % of the best known was found, as a
median over seeds; peers are told whole answers, since none of them takes others.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

import meco

WITHIN = 0.01  # of the best known f


class Reached(Exception):
    """The answer was found."""


@dataclass(frozen=True)
class Staged:
    """Stages of a simulation: each a function of x that gives constraints by name, the last with f; with prices."""

    name: str
    bounds: dict[str, tuple[float, float]]
    stages: tuple[Callable[[dict[str, float]], dict[str, float]], ...]
    prices: tuple[float, ...]
    best: float

    def run(self, d: dict[str, float], stop: bool) -> tuple[dict[str, Any], float]:
        """What it answers, and what that costs."""
        g: dict[str, float] = {}
        spent = 0.0
        for stage, price in zip(self.stages, self.prices):
            spent += price
            told = stage(d)
            f = told.pop("f", None)
            g |= told
            if f is not None:
                return {"f": f, "g": g}, spent
            if stop and max(told.values()) > 0:
                return {"g": g}, spent
        raise AssertionError("the last stage has f")


def blade_shape(d: dict[str, float]) -> dict[str, float]:
    """Turbine blade, from the drawing: thickness over chord, throat, taper."""
    return {
        "too thin": 0.09 - d["thickness"] / d["chord"],
        "throat": d["chord"] * math.sin(math.radians(d["stagger"])) - 0.055,
        "taper": 0.55 - d["tip"] / d["chord"],
    }


def blade_stress(d: dict[str, float]) -> dict[str, float]:
    """Centrifugal and bending stress of the blade, and its first frequency."""
    area = 0.7 * d["chord"] * d["thickness"]
    pull = 8200 * d["height"] * (1 + d["tip"] / d["chord"]) / 2 * (2 * math.pi * 150) ** 2 * 0.32
    bending = 900 * d["height"] ** 2 / (0.1 * d["chord"] * d["thickness"] ** 2)
    frequency = (
        0.56 / d["height"] ** 2 * math.sqrt(1.9e11 * 0.045 * d["thickness"] ** 2 / 8200) * (2 - d["tip"] / d["chord"])
    )
    return {"stress": (pull * 0.6 + bending) / 4.2e8 - 1, "resonance": 640 / frequency - 1, "area": 1.6e-4 / area - 1}


def blade_flow(d: dict[str, float]) -> dict[str, float]:
    """Losses of the flow through the blades."""
    solidity = d["chord"] / 0.045
    turning = math.radians(62 + 0.8 * (d["stagger"] - 30))
    profile = 0.02 + 0.05 * (solidity - 1.15) ** 2 + 0.9 * (d["thickness"] / d["chord"] - 0.12) ** 2
    secondary = 0.035 * d["chord"] / d["height"] * (1 + 0.3 * turning)
    shock = 0.3 * max(0.0, turning - 1.15) ** 2
    tip = 0.012 * (d["tip"] / d["chord"]) ** 0.5 / (d["height"] / 0.1)
    return {"f": 100 * (profile + secondary + shock + tip), "exit angle": (turning - 1.22), "swirl": 0.95 - turning}


def mast_shape(d: dict[str, float]) -> dict[str, float]:
    """Guyed mast, from the drawing: what the transport and the site allow."""
    return {
        "transport": d["width"] - 2.3,
        "site": d["anchor"] - 0.75 * 120,
        "ladder": 0.62 - d["width"] + 0.05 * d["tube"] / 0.1,
        "ropes": d["anchor"] * 0.25 - 18 - 200 * d["rope"],
    }


def mast_static(d: dict[str, float]) -> dict[str, float]:
    """Forces under the storm: legs, ropes, foundation."""
    wind = 900 * (0.25 * d["width"] + 4 * d["tube"])
    slope = math.atan2(60, d["anchor"])
    rope_force = wind * 60 * 1.1 / math.cos(slope) + d["prestress"] * 1e3
    leg = (rope_force * math.sin(slope) * 2 + 1.1e5) / 3 + wind * 20**2 / 8 / d["width"]
    area = math.pi * d["tube"] * d["wall"]
    inertia = area * d["tube"] ** 2 / 8
    buckling = math.pi**2 * 2.1e11 * inertia / (d["width"] * 1.1) ** 2
    return {
        "leg": leg / (area * 2.2e8) - 1,
        "buckling": 2 * leg / buckling - 1,
        "rope": rope_force / (math.pi / 4 * d["rope"] ** 2 * 7e8) - 1,
        "slack": 0.35 * wind * 60 / 1e3 - d["prestress"],
    }


def mast_dynamic(d: dict[str, float]) -> dict[str, float]:
    """Sway, and the price of the mast."""
    stiffness = 3 * 1.6e11 * math.pi / 4 * d["rope"] ** 2 / 75 * (d["anchor"] / math.hypot(60, d["anchor"])) ** 2
    mass = 7850 * (3 * math.pi * d["tube"] * d["wall"] * 120 * 1.6) + 900
    sway = 900 * (0.25 * d["width"] + 4 * d["tube"]) * 60 / stiffness + 0.002 * 120 / d["width"]
    ropes = 7850 * math.pi / 4 * d["rope"] ** 2 * 12 * 80
    return {
        "f": 2.1 * mass / 1e3
        + 6.5 * ropes / 1e3
        + 0.004 * d["anchor"] ** 1.5
        + 0.02 * d["prestress"]
        + 1.5 * d["width"],
        "sway": sway / 0.5 - 1,
        "gust": 1.1 / (0.16 * math.sqrt(stiffness / mass)) - 1,
    }


def column_shape(d: dict[str, float]) -> dict[str, float]:
    """Distillation column, from the sheet: slenderness, plate distance, downcomer."""
    height = d["plates"] * d["distance"]
    return {
        "slender": height / d["diameter"] / 30 - 1,
        "height": height / 38 - 1,
        "downcomer": 0.085 - d["downcomer"] * d["distance"],
    }


def column_hydraulics(d: dict[str, float]) -> dict[str, float]:
    """Flooding, weeping and pressure drop."""
    area = math.pi / 4 * d["diameter"] ** 2 * (1 - 2 * d["downcomer"])
    vapour = 11.0 * (1 + d["reflux"]) / 3.2 / area / 2.4
    flood = vapour / (0.13 * d["distance"] ** 0.5 * math.sqrt(700 / 2.4))
    hole = vapour / d["holes"]
    drop = d["plates"] * (0.5 * 2.4 * hole**2 / 0.6 + 700 * 9.81 * 0.06)
    return {"flooding": flood / 0.8 - 1, "weeping": 9.0 / hole - 1, "pressure drop": drop / 32e3 - 1}


def column_purity(d: dict[str, float]) -> dict[str, float]:
    """Purity by the rigorous model, and the yearly cost."""
    efficiency = 0.75 - 0.25 * (d["holes"] - 0.09) ** 2 / 0.01
    least = 13.0 * (1 + 0.55 / max(d["reflux"] - 1.15, 0.02))
    duty = 11.0 * (1 + d["reflux"])
    capital = (
        1.4 * d["diameter"] ** 1.1 * (d["plates"] * d["distance"]) ** 0.8 + 0.22 * d["plates"] * d["diameter"] ** 1.6
    )
    return {"f": capital + 1.9 * duty, "purity": least / (d["plates"] * efficiency) - 1}


SIMULATORS = (
    Staged(
        "turbine blade",
        {
            "chord": (0.02, 0.12),
            "thickness": (0.001, 0.03),
            "stagger": (10, 60),
            "height": (0.05, 0.25),
            "tip": (0.01, 0.12),
        },
        (blade_shape, blade_stress, blade_flow),
        (1.0, 10.0, 100.0),
        5.22157,
    ),
    Staged(
        "guyed mast",
        {
            "width": (0.4, 3.5),
            "tube": (0.04, 0.25),
            "wall": (0.002, 0.02),
            "rope": (0.008, 0.06),
            "anchor": (20, 120),
            "prestress": (1, 150),
        },
        (mast_shape, mast_static, mast_dynamic),
        (1.0, 10.0, 100.0),
        10.24535,
    ),
    Staged(
        "column",
        {
            "diameter": (0.6, 4),
            "plates": (10, 90),
            "distance": (0.25, 0.9),
            "reflux": (1.2, 6),
            "holes": (0.04, 0.16),
            "downcomer": (0.05, 0.25),
        },
        (column_shape, column_hydraulics, column_purity),
        (1.0, 10.0, 100.0),
        120.7011,
    ),
)


def price_to_reach(simulator: Staged, stop: bool, seed: int, method: str, budget: int) -> tuple[float, float]:
    """What was paid until the answer was found (inf where it was not), and the best feasible f."""
    spent, best = 0.0, np.inf

    def fun(d: dict[str, float]) -> dict[str, Any]:
        nonlocal spent, best
        answer, price = simulator.run(d, stop)
        spent += price
        if "f" in answer and max(answer["g"].values()) <= 0:
            best = min(best, answer["f"])
            if best <= simulator.best * (1 + WITHIN):
                raise KeyboardInterrupt
        return answer

    with warnings.catch_warnings(), suppress(Reached):
        warnings.simplefilter("ignore")
        meco.minimize(fun, simulator.bounds, budget=budget, seed=seed, method=method)
    return (spent if best <= simulator.best * (1 + WITHIN) else np.inf), best


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--methods", nargs="+", default=["TR", "SHADE-FR", "SciPy-DE", "COBYQA"])
    args = parser.parse_args(words)
    for simulator in SIMULATORS:
        print(
            f"\n{simulator.name}: D = {len(simulator.bounds)}, stages at {simulator.prices}, "
            f"best known {simulator.best:.6g}"
        )
        print(f"  {'method':<10} {'answers':<8} {'price':>9} {'ratio':>6}   price of each seed")
        for method in args.methods:
            budget = 60 * len(simulator.bounds) if method == "TR" else 3000
            whole = 1.0
            for stop in (False, True):
                found = [price_to_reach(simulator, stop, seed, method, budget) for seed in range(args.seeds)]
                median = float(np.sort([price for price, _ in found])[len(found) // 2])
                whole = whole if stop else median
                ratio = median / whole if stop else 1.0
                each = " ".join(f"{price:.0f}" for price, _ in found)
                print(
                    f"  {method:<10} {'partial' if stop else 'whole':<8} {median:>9.0f} {ratio:>6.2f}   {each}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
