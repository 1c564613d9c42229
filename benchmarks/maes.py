"""Runs per second of MA-ES in lockstep beside pycma one run at a time, and how both grow with D.

    python benchmarks/maes.py [--lockstep 64] [--rounds 3] > benchmarks/results/maes.txt

Both at their native population 4 + floor(3 ln D), static penalty, 50 D evaluations of C01, one
core. pycma is called bare, without this library's evaluator.
"""

from __future__ import annotations

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from _side_by_side import medians

DIMENSIONS = (10, 30, 50, 100)


def run_pycma(problem: meco.Problem, budget: int, seed: int) -> None:
    """One run: asked points beyond the budget are not evaluated."""
    import cma

    options = {"bounds": [0, 1], "verbose": -9, "seed": seed + 1, "tolfun": 1e-20, "tolfunhist": 0}
    left = budget
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strategy = cma.CMAEvolutionStrategy(np.full(problem.dim, 0.5), 0.3, options)
        while left > 0:
            asked = strategy.ask()
            points = np.array(asked[:left])
            f, g, h = problem.raw(problem.lower + points * (problem.upper - problem.lower))
            score = f + np.maximum(g, 0.0).sum(axis=-1) + np.abs(h).sum(axis=-1)
            left -= len(points)
            if len(points) == len(asked):
                strategy.tell(asked, score.tolist())


def print_speeds(lockstep: int, rounds: int) -> None:
    print(f"C01, 50 D evaluations, runs per second of CPU time, {lockstep} runs in lockstep\n")
    print(f"{'D':>4} {'pycma alone':>12} {'MA-ES alone':>12} {'MA-ES lockstep':>15} {'lockstep / pycma':>17}")
    for dim in DIMENSIONS:
        problem, budget = meco.get_problem("C01", dim=dim), 50 * dim
        seconds = medians(
            {
                "pycma": lambda p=problem, b=budget: run_pycma(p, b, 1),
                "alone": lambda p=problem, b=budget: meco.solve("MA-ES", p, b, seeds=[1]),
                "lockstep": lambda p=problem, b=budget: meco.solve("MA-ES", p, b, seeds=range(lockstep)),
            },
            rounds,
        )
        alone, single, many = 1 / seconds["pycma"], 1 / seconds["alone"], lockstep / seconds["lockstep"]
        print(f"{dim:>4} {alone:>12.2f} {single:>12.1f} {many:>15.1f} {many / alone:>17.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print_speeds(args.lockstep, args.rounds)


if __name__ == "__main__":
    main()
