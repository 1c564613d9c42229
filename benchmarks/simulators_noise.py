"""Noise on f and constraints: the true f and the true feasibility of the answers, and whether `success` is right.

    python benchmarks/simulators.py noise --problems drawn users cutest --out runs.jsonl

Noise of a level is that share of the 10-90 % range of each function over the second half of a run without noise. The
answer of a peer is the best by the values that it was told. 50 D evaluations. Off: (true f - least f that is known) /
max(1, |least|), the median over problems and seeds of answers that truly keep the constraints; feasible: their share.
Success is right where it is False, or the constraints are truly kept. With --out runs are kept, and a second call goes
on with them.
"""

from __future__ import annotations

import argparse
import warnings
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

import meco
from kept_runs import KeptRuns
from simulators_base import PEERS, Answer, Counter, UnitProblem, installed, list_problems
from users_solvers import Spent

PER_VARIABLE = 50  # evaluations
FEASIBLE = 1e-6  # what g may be above 0 by, in the problem's own units


def main(arguments: list[str]) -> None:
    """Print a line for each kind of problems, level and solver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["drawn"], choices=["drawn", "users", "cutest"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 5, 10], help="of drawn problems")
    parser.add_argument("--levels", type=float, nargs="+", default=[1e-3, 1e-2, 1e-1])
    parser.add_argument("--solvers", nargs="+", default=["TR", *PEERS])
    parser.add_argument("--out", help="a file that keeps the runs")
    args = parser.parse_args(arguments)
    keep = KeptRuns(args.out)
    print(f"{'':<8}{'level':>6}  {'solver':<12}{'runs':>6}{'off':>11}{'feasible':>10}{'success right':>15}")
    for kind in args.problems:
        for level in args.levels:
            for solver in installed(args.solvers):
                rows = [
                    keep(
                        ["noise", kind, problem.name, PER_VARIABLE * problem.dim, seed, level, solver],
                        partial(run_noisy, solver, problem, seed, level),
                    )
                    for seed in range(args.seeds)
                    for problem in list_problems(kind, args.dims, seed)
                ]
                print(f"{kind:<8}{level:>6g}  {solver:<12}{summarise(rows, solver)}", flush=True)


def summarise(rows: list[list[Any]], solver: str) -> str:
    """Runs, median distance of those that are truly feasible, their share, and how often success was right."""
    off, kept, right = (np.array(column, dtype=float) for column in zip(*rows))
    median = np.median(off[kept > 0]) if kept.any() else np.inf
    said = "-" if solver in PEERS else f"{right.mean():.0%}"
    return f"{len(rows):>6}{median:>11.2e}{kept.mean():>10.0%}{said:>15}"


def run_noisy(solver: str, problem: UnitProblem, seed: int, level: float) -> list[Any]:
    """How far the true f of the answer is off, whether it truly keeps the constraints, and whether success is right."""
    size = measure_noise(problem, seed, level)
    rng, budget = np.random.default_rng([seed, problem.dim]), PER_VARIABLE * problem.dim

    def fun(x: np.ndarray) -> Answer:
        f, g = problem.fun(x)
        noise = size * rng.standard_normal(size.size)
        return f + noise[0], g + noise[1:]

    count = Counter(fun, budget, problem.n_ineq)
    if solver in PEERS:
        with warnings.catch_warnings(), suppress(Spent):
            warnings.simplefilter("ignore")
            PEERS[solver](count, problem.dim, seed)
        kept = [(told[0], x) for x, told in count.points if told is not None and (told[1] <= 0.0).all()]
        x, said = (min(kept, key=lambda pair: pair[0])[1], True) if kept else (count.points[0][0], False)
    else:
        result = meco.minimize(count, [(0, 1)] * problem.dim, budget=budget, seed=seed, method=solver)
        x, said = result.x, result.success
    f, g = problem.fun(x)
    keeps = bool((g <= FEASIBLE).all())
    return [(f - problem.least) / max(1.0, abs(problem.least)), keeps, keeps or not said]


def measure_noise(problem: UnitProblem, seed: int, level: float) -> np.ndarray:
    """Standard deviations of f and of the constraints: [1 + p]."""
    every = meco.minimize(problem.fun, [(0, 1)] * problem.dim, budget=PER_VARIABLE * problem.dim, seed=seed).evaluations
    late = slice(len(every) // 2, None)
    values = np.concatenate([every.f[late, None], every.g[late]], axis=1)
    return level * (np.nanquantile(values, 0.9, axis=0) - np.nanquantile(values, 0.1, axis=0))
