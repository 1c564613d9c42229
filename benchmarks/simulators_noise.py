"""Noise on f and constraints: the true f and the true feasibility of the answers, and whether `success` is right.

Noise of a level is that share of the 10-90 % range of each function over the second half of a run without noise. The
answer of a peer is what it returns, or the best by the values that it was told. 50 D evaluations.
"""

from __future__ import annotations

import argparse
import warnings
from contextlib import suppress

import numpy as np

import meco
from simulators_base import PEERS, Answer, Counter, Spent, draw_problem, find_optimum


def main(arguments: list[str]) -> None:
    """Print a line for each level, number of variables and solver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 5, 10])
    parser.add_argument("--levels", type=float, nargs="+", default=[1e-3, 1e-2, 1e-1])
    parser.add_argument("--solvers", nargs="+", default=["TR", *PEERS])
    args = parser.parse_args(arguments)
    print(f"{'level':>6}{'D':>4}  {'solver':<12}{'true gap':>11}{'feasible':>10}{'success right':>15}")
    for level in args.levels:
        for dim in args.dims:
            for solver in args.solvers:
                rows = [run_noisy(solver, dim, seed, level) for seed in range(args.seeds)]
                gap, kept, right = (np.array(column, dtype=float) for column in zip(*rows))
                said = "-" if solver in PEERS else f"{right.mean():.0%}"
                found = f"{np.median(gap):>11.2e}{kept.mean():>10.0%}{said:>15}"
                print(f"{level:>6g}{dim:>4}  {solver:<12}{found}", flush=True)


def run_noisy(solver: str, dim: int, seed: int, level: float) -> tuple[float, bool, bool]:
    """True gap of the answer, whether it truly keeps the constraints, and whether success says so."""
    problem, least = draw_problem(dim, seed), find_optimum(dim, seed)[0]
    size = measure_noise(dim, seed, level)
    rng = np.random.default_rng([seed, dim])

    def fun(x: np.ndarray) -> Answer:
        f, g = problem(x)
        return f + size[0] * rng.standard_normal(), g + size[1:] * rng.standard_normal(2)

    count = Counter(fun, 50 * dim)
    if solver in PEERS:
        with warnings.catch_warnings(), suppress(Spent):
            warnings.simplefilter("ignore")
            PEERS[solver](count, dim, seed)
        kept = [(told[0], x) for x, told in count.points if told is not None and (told[1] <= 0.0).all()]
        x, said = (min(kept, key=lambda pair: pair[0])[1], True) if kept else (count.points[0][0], False)
    else:
        result = meco.minimize(count, [(0, 1)] * dim, budget=50 * dim, seed=seed, method=solver)
        x, said = result.x, result.success
    f, g = problem(x)
    keeps = bool((g <= 1e-8).all())
    return f - least, keeps, keeps or not said


def measure_noise(dim: int, seed: int, level: float) -> np.ndarray:
    """Standard deviations of f and of both constraints: [3]."""
    every = meco.minimize(draw_problem(dim, seed), [(0, 1)] * dim, budget=50 * dim, seed=seed).evaluations
    late = slice(len(every) // 2, None)
    values = np.concatenate([every.f[late, None], every.g[late]], axis=1)
    return level * (np.quantile(values, 0.9, axis=0) - np.quantile(values, 0.1, axis=0))
