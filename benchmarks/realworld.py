"""How fast the real-world suite is evaluated: python benchmarks/realworld.py

Points per second of RC01-RC57 for uniform populations of 50, and how many times faster that is than a
Python loop over the same points. The robot gripper (RC24) runs two searches per point, so it is also
timed on more populations and beside a plain Python transcription that stops where the suite stops.
Problems that need the official tables are left out where the tables are missing.
"""

from __future__ import annotations

import os
import statistics
import sys
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from meco_rwco import NAMES

from _side_by_side import medians
from meco import get_problem as make_problem
from meco.core.problem import Problem
from meco.errors import MissingData

sys.path.append(str(Path(__file__).parents[1] / "tests" / "problems"))
from gripper_scalar import objective

POPULATION = 50
GRIPPER_POPULATIONS = 30


def draw_population(problem: Problem, seed: int) -> np.ndarray:
    """Uniform points in the box, [50, D]."""
    return np.random.default_rng(seed).uniform(problem.lower, problem.upper, (POPULATION, problem.dim))


def evaluate_one_by_one(problem: Problem, x: np.ndarray) -> None:
    for point in x:
        problem.raw(point)


def time_both(problem: Problem, x: np.ndarray, rounds: int) -> dict[str, float]:
    """Median CPU seconds for the population at once and point by point."""
    return medians({"batch": partial(problem.raw, x), "loop": partial(evaluate_one_by_one, problem, x)}, rounds)


def print_every_problem() -> None:
    print(f"uniform populations of {POPULATION}, medians of CPU time in turns")
    print(f"{'problem':8} {'D':>4} {'points/s':>12} {'in a loop':>12} {'ratio':>7}")
    for name in NAMES:
        problem = make_problem(name)
        x = draw_population(problem, 0)
        try:
            taken = time_both(problem, x, rounds=5)
        except MissingData as missing:
            print(f"{name:8} {problem.dim:4d} left out: {missing}")
            continue
        speed, slow = POPULATION / taken["batch"], POPULATION / taken["loop"]
        print(f"{name:8} {problem.dim:4d} {speed:12.0f} {slow:12.0f} {speed / slow:7.1f}")


def print_gripper() -> None:
    """RC24 on many populations: a few uniform points need hundreds of evaluations, and a batch waits for them."""
    problem = make_problem("RC24")
    batch, loop, plain = [], [], []
    for seed in range(GRIPPER_POPULATIONS):
        x = draw_population(problem, seed)
        rows = x.tolist()
        taken = time_both(problem, x, rounds=1) | medians({"plain": lambda rows=rows: [*map(objective, rows)]}, 1)
        batch.append(taken["batch"])
        loop.append(taken["loop"])
        plain.append(taken["plain"])
    ratios = [b / a for a, b in zip(batch, loop)]
    points = GRIPPER_POPULATIONS * POPULATION
    print(f"\nRC24, {GRIPPER_POPULATIONS} populations: {points / sum(batch):.0f} points/s at once, ", end="")
    print(f"{points / sum(loop):.0f} in a loop, {points / sum(plain):.0f} in plain Python")
    print(f"at once against the loop: {sum(loop) / sum(batch):.1f} times over all, ", end="")
    print(f"{statistics.median(ratios):.1f} in the median population, {min(ratios):.1f} in the worst")
    print(f"at once against plain Python (objective only): {sum(plain) / sum(batch):.1f} times over all")


if __name__ == "__main__":
    print_every_problem()
    print_gripper()
