"""What a step of TR costs beside SciPy's COBYQA, in one process and in turns, and where the time goes.

    python benchmarks/trust_region.py [--rounds 3] [--problem C05] > benchmarks/results/trust_region.txt

CPU time per evaluation of 20 D evaluations, the evaluation itself included. COBYQA is called bare, without
this library's evaluator; where it ends early it is divided by what it evaluated.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

import meco
from _side_by_side import medians
from meco.core.evaluator import Evaluator
from meco.tr import model_fit, step
from meco.tr.proposers import model_points

ALONE, LOCKSTEP, LARGER = {10: 0.6, 30: 0.35, 50: 0.35}, {10: 0.1, 30: 0.1}, 100  # at most, of COBYQA
RUNS, PER_VARIABLE = 32, 20
PARTS = {  # where each part of a step is called from
    "model fit": [(model_fit, "least_change")],
    "program": [(step, "solve_program")],
    "curvature": [(step, "convexify")],
    "geometry": [(model_points, "variance")],
    "evaluation": [(Evaluator, "evaluate")],
}


def run_cobyqa(problem: meco.Problem, budget: int) -> int:
    """Evaluations of one bare run from the centre of the unit cube."""
    width, seen = problem.upper - problem.lower, dict[bytes, np.ndarray]()

    def values(u: np.ndarray) -> np.ndarray:
        key = u.tobytes()  # one evaluation gives the objective and the constraints
        if key not in seen:
            f, g, h = problem.raw(problem.lower + u * width)
            seen[key] = np.concatenate([[f], g, h])
        return seen[key]

    high = np.zeros(problem.n_ineq + problem.n_eq)
    low = np.where(np.arange(high.size) < problem.n_ineq, -np.inf, 0.0)
    minimize(
        lambda u: float(values(u)[0]),
        np.full(problem.dim, 0.5),
        method="COBYQA",
        bounds=Bounds(np.zeros(problem.dim), np.ones(problem.dim)),
        constraints=NonlinearConstraint(lambda u: values(u)[1:], low, high) if high.size else (),
        options={"maxfev": budget, "initial_tr_radius": 0.25, "final_tr_radius": 1e-6},
    )
    return len(seen)


def make_ours(method: str, problem: meco.Problem, budget: int, runs: int = 1) -> Callable[[], object]:
    return lambda: meco.solve(method, problem, budget, seeds=range(runs))


def print_cost(name: str, dim: int, rounds: int) -> None:
    """A row of the table."""
    problem, budget = meco.get_problem(name, dim=dim), PER_VARIABLE * dim
    candidates: dict[str, Callable[[], object]] = {
        "COBYQA": lambda: run_cobyqa(problem, budget),
        "TR": make_ours("TR", problem, budget),
    }
    if dim in LOCKSTEP:
        candidates["lockstep"] = make_ours("TR", problem, budget, RUNS)
    seconds = medians(candidates, rounds)
    each = {key: 1e3 * value / budget for key, value in seconds.items()}
    each["COBYQA"] = 1e3 * seconds["COBYQA"] / run_cobyqa(problem, budget)
    row = f"{dim:>4} {each['COBYQA']:>8.2f} {each['TR']:>6.2f}"
    row += f" {each['TR'] / each['COBYQA']:>11.2f} (at most {ALONE[dim]})"
    if "lockstep" in each:
        share = each["lockstep"] / RUNS
        row += f" {share:>9.3f} {share / each['COBYQA']:>8.3f} (at most {LOCKSTEP[dim]})"
    print(row, flush=True)


@contextmanager
def time_parts(spent: dict[str, float]) -> Any:
    """Add up the CPU seconds of each part while the block runs."""
    kept = [(owner, name, getattr(owner, name)) for places in PARTS.values() for owner, name in places]

    def around(function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **more)
            finally:
                spent[part] = spent.get(part, 0.0) + time.process_time() - start

        return call

    for part, places in PARTS.items():
        for owner, name in places:
            setattr(owner, name, around(getattr(owner, name), part))
    try:
        yield
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def print_shares(name: str, dim: int, runs: int) -> None:
    """Where the time of a step goes."""
    run, spent = make_ours("TR", meco.get_problem(name, dim=dim), 10 * dim, runs), dict[str, float]()
    run()
    with time_parts(spent):
        start = time.process_time()
        run()
        whole = time.process_time() - start
    parts = {part: spent.get(part, 0.0) / whole for part in PARTS}
    parts["bookkeeping"] = 1.0 - sum(parts.values())
    print(f"{dim:>4} {runs:>5} " + " ".join(f"{100 * parts[part]:>10.0f} %" for part in parts), flush=True)


def print_growth(name: str, rounds: int) -> None:
    """From D = 50 to 100, at as many model steps."""
    steps = 200
    seconds = medians(
        {str(d): make_ours("TR", meco.get_problem(name, dim=d), 2 * d + 1 + steps) for d in (50, LARGER)}, rounds
    )
    print(f"\na step at D = {LARGER} takes {seconds[str(LARGER)] / seconds['50']:.2f} times one at D = 50")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--problem", default="C05")
    args = parser.parse_args()
    print(
        f"{args.problem}, {PER_VARIABLE} D evaluations, ms of CPU time per evaluation, median of {args.rounds} rounds\n"
    )
    print(f"{'D':>4} {'COBYQA':>8} {'TR':>6} {'TR / COBYQA':>25} {f'{RUNS} in lockstep, of COBYQA':>31}")
    for dim in ALONE:
        print_cost(args.problem, dim, args.rounds)
    print_growth(args.problem, args.rounds)
    print(f"\nshare of CPU time\n\n{'D':>4} {'runs':>5} " + " ".join(f"{part:>12}" for part in (*PARTS, "bookkeeping")))
    for dim in ALONE:
        for runs in (1, RUNS) if dim in LOCKSTEP else (1,):
            print_shares(args.problem, dim, runs)


if __name__ == "__main__":
    main()
