"""What an optimizer itself takes for each evaluation, beside the peers that users choose among for costly functions.

    python benchmarks/per_evaluation.py [--limit 60] > benchmarks/results/per_evaluation.txt

Milliseconds of CPU time per evaluation over the first 5 D + 50 evaluations of Rosenbrock's valley with two plane
constraints, or over as many as --limit seconds allow (marked *): the median of three rounds. Peers are called as
their documentation says.

Not of a sum of squares, which is one quadratic: there COBYQA ends early and starts again from points that need no
model, while TR goes on stepping.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from _side_by_side import machine, optional
from overhead import make_trivial_problem

DIMENSIONS = (5, 10, 20, 50, 100)
ROUNDS = 3
# by solve(): what minimize() adds is microseconds
METHODS = ("TR", "MeCO", "SHADE-FR", "COBYQA", "COBRA", "CMA-ES-AL")

Cell = tuple[float, bool]  # milliseconds per evaluation, and whether the limit ended the run


def make_valley_problem(dim: int) -> meco.Problem:
    """Rosenbrock's function with two plane constraints: from D = 10 on no method ends within the budget."""
    planes = make_trivial_problem(dim, 2)

    def formula(x: Any) -> Any:
        ahead, here = x[..., 1:], x[..., :-1]
        return (100.0 * (ahead - here**2) ** 2 + (1.0 - here) ** 2).sum(axis=-1), planes.formula(x)[1], []

    return replace(planes, name="valley", formula=formula)


def time_solve(method: str, problem: meco.Problem, budget: int, limit: float) -> Cell:
    """A method of the table, ended from within its function where it takes too long."""
    calls, start = 0, time.process_time()

    def formula(x: Any) -> Any:
        nonlocal calls
        if time.process_time() - start > limit:
            raise TimeoutError
        calls += math.prod(x.shape[:-1])
        return problem.formula(x)

    with suppress(TimeoutError):
        meco.solve(method, replace(problem, formula=formula), budget, [1])
    made = min(calls, budget)
    return 1e3 * (time.process_time() - start) / max(made, 1), made < budget


def time_optuna(problem: meco.Problem, budget: int, limit: float) -> Cell:
    """Optuna's Gaussian process with constraints."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    start = time.process_time()

    def objective(trial: Any) -> float:
        x = np.array([trial.suggest_float(f"x{i}", -5.0, 5.0) for i in range(problem.dim)])
        f, g, _ = problem.raw(x)
        trial.set_user_attr("g", [float(v) for v in g])
        return float(f)

    def late(study: Any, trial: Any) -> None:
        if time.process_time() - start > limit:
            study.stop()

    sampler = optuna.samplers.GPSampler(seed=1, constraints_func=lambda trial: trial.user_attrs["g"])
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=budget, callbacks=[late])
    made = len(study.trials)
    return 1e3 * (time.process_time() - start) / made, made < budget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60.0)
    limit = parser.parse_args().limit
    columns: dict[str, Callable[..., Cell]] = {name: partial(time_solve, name) for name in METHODS}
    if optional("optuna"):
        columns["Optuna GP"] = time_optuna
    for run in columns.values():
        run(make_valley_problem(2), 20, limit)  # imports are over
    print(" ".join(f"{key} {value}" for key, value in machine().items()))
    print("ms of CPU time per evaluation, Rosenbrock's valley with two constraints, the first 5 D + 50 evaluations;")
    print(f"the median of {ROUNDS} rounds; * as many evaluations as {limit:g} s of CPU time allow\n")
    print(f"{'D':>4} " + " ".join(f"{name:>11}" for name in columns), flush=True)
    for dim in DIMENSIONS:
        problem = make_valley_problem(dim)
        rounds = [[run(problem, 5 * dim + 50, limit) for run in columns.values()] for _ in range(ROUNDS)]
        middle = [sorted(cells)[ROUNDS // 2] for cells in zip(*rounds)]
        told = (f"{each:>10.3f}*" if cut else f"{each:>11.3f}" for each, cut in middle)
        print(f"{dim:>4} " + " ".join(told), flush=True)


if __name__ == "__main__":
    main()
