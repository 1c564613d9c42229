"""Optimizer overhead per evaluation, beside the peers: D = 50, N = 50, 2500 trivial evaluations, two constraints.

python benchmarks/overhead.py [--rounds 15] [--times 5]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from _side_by_side import medians, optional

BUDGET, SIZE = 2500, 50
SCIPY = "SciPy DE, vectorised, no constraints"


def make_trivial_problem(dim: int, constraints: int) -> meco.Problem:
    """Sum of squares with plane constraints, vectorised."""
    normals = np.linspace(-1.0, 1.0, dim * constraints).reshape(dim, constraints)

    def formula(x):
        return (x * x).sum(axis=-1), x @ normals - 1.0, []

    box = np.full(dim, 5.0)
    return meco.Problem("trivial", -box, box, constraints, 0, formula)


def make_ours(method: str, dim: int, constraints: int, runs: int = 1, **options: int):
    problem = make_trivial_problem(dim, constraints)
    return lambda: meco.solve(method, problem, budget=BUDGET, seeds=range(runs), **options)


def make_scipy_de(dim: int):
    from scipy.optimize import differential_evolution

    def run():
        start = np.random.default_rng(0).uniform(-5, 5, (SIZE, dim))
        differential_evolution(
            lambda x: (x * x).sum(axis=0), [(-5, 5)] * dim, init=start, vectorized=True, updating="deferred",
            polish=False, tol=0, maxiter=BUDGET // SIZE - 1, rng=0,
        )  # fmt: skip

    return run


def make_pymoo_de(dim: int):
    from pymoo.algorithms.soo.nonconvex.de import DE
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    class Trivial(Problem):
        def __init__(self):
            super().__init__(n_var=dim, n_obj=1, n_ieq_constr=2, xl=-5.0, xu=5.0)

        def _evaluate(self, x, out, *args, **kwargs):
            out["F"] = (x * x).sum(axis=1)
            out["G"] = x[:, :2] - 1.0

    return lambda: minimize(Trivial(), DE(pop_size=SIZE), ("n_eval", BUDGET), seed=1)


def make_pycma(dim: int):
    import cma

    def run():
        options = {"popsize": SIZE, "maxfevals": BUDGET, "verbose": -9, "seed": 1, "tolfun": 0}
        strategy = cma.CMAEvolutionStrategy(np.full(dim, 2.0), 1.0, options)
        for _ in range(BUDGET // SIZE):
            x = strategy.ask()
            strategy.tell(x, list((np.asarray(x) ** 2).sum(axis=1)))

    return run


def make_pypop7_shade(dim: int):
    from pypop7.optimizers.de.shade import SHADE

    def run():
        problem = {
            "fitness_function": lambda x: float((x * x).sum()),
            "ndim_problem": dim, "lower_boundary": np.full(dim, -5.0), "upper_boundary": np.full(dim, 5.0),
        }  # fmt: skip
        options = {"max_function_evaluations": BUDGET, "n_individuals": SIZE, "seed_rng": 1, "verbose": 0}
        SHADE(problem, options).optimize()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--times", type=int, default=1, help="repeat the single runs, and tell every ratio")
    args = parser.parse_args()
    print_table(args.rounds)
    print()
    for turn in range(args.times if args.times > 1 else 0):
        seconds = medians({SCIPY: make_scipy_de(50), **make_single_runs()}, args.rounds)
        told = ", ".join(f"{name[5:]} {value / seconds[SCIPY]:.2f}" for name, value in seconds.items() if name != SCIPY)
        print(f"run {turn + 1}, x SciPy DE: {told}", flush=True)


def make_single_runs() -> dict[str, Callable[[], object]]:
    """One run with two constraints, the population as in SciPy's."""
    methods = {f"meco {m}": make_ours(m, 50, 2) for m in ("SHADE", "SHADE-FR", "MeCO")}
    return methods | {"meco MA-ES": make_ours("MA-ES", 50, 2, pop_size=SIZE)}


def print_table(rounds: int) -> None:
    candidates = {
        SCIPY: make_scipy_de(50),
        **make_single_runs(),
        "meco MA-ES, its own population of 15": make_ours("MA-ES", 50, 2),
    }
    candidates |= {"meco SHADE, 32 in lockstep": make_ours("SHADE", 50, 2, 32)}
    candidates |= {
        "meco SHADE, 20 constraints": make_ours("SHADE", 50, 20),
        "meco SHADE, D = 100": make_ours("SHADE", 100, 2),
    }
    candidates |= {"pymoo DE": make_pymoo_de(50)} if optional("pymoo") else {}
    candidates |= {"pycma": make_pycma(50)} if optional("cma") else {}
    candidates |= {"pypop7 SHADE": make_pypop7_shade(50)} if optional("pypop7") else {}
    seconds = medians(candidates, rounds)
    seconds["meco SHADE, 32 in lockstep"] /= 32
    base, single = seconds[SCIPY], seconds["meco SHADE"]
    print(f"D = 50, N = 50, {BUDGET} evaluations, median of {rounds} rounds\n")
    print(f"{'':40s} {'us/evaluation':>14s} {'x SciPy DE':>11s}")
    for name, value in seconds.items():
        print(f"{name:40s} {1e6 * value / BUDGET:14.1f} {value / base:11.2f}")
    print(f"\nfrom 2 to 20 constraints  {seconds['meco SHADE, 20 constraints'] / single:.2f}x (at most 1.5)")
    print(f"from D = 50 to 100        {seconds['meco SHADE, D = 100'] / single:.2f}x (at most 1.6)")
    print(f"one run                   {single / base:.2f}x SciPy (at most 0.9)")
    print(f"32 runs in lockstep       {seconds['meco SHADE, 32 in lockstep'] / base:.2f}x SciPy (at most 0.5)")


if __name__ == "__main__":
    main()
