"""MeCO's default beside other libraries' solvers on nine designs that look like users', each with 50 D evaluations.

    python benchmarks/users.py [--seeds 5] [--solvers ...] [--designs ...] > benchmarks/results/users.txt
    python benchmarks/users.py --best            # long runs, for the best values in users_problems.py

A run of Optuna's GPSampler takes three minutes of a core and more: name the other solvers to leave it out.
Every solver is called bare, as its documentation recommends (users_solvers.py), and is judged by the points it
evaluated within the budget: the best one with every g <= 0 and |h| within the design's tolerance. The gap is
(f - best) / |best|; a run without a feasible point counts as infinite in the median.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from contextlib import suppress

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from meco.methods import DEFAULT
from users_problems import DESIGNS, Design
from users_solvers import SOLVERS, Judge, Spent


def run_solver(design: Design, solver: str, seed: int, budget: int) -> tuple[float, float]:
    """f of the best feasible point within the budget (inf without one), and seconds."""
    judge = Judge(design, budget)
    begun = time.perf_counter()
    with warnings.catch_warnings(), suppress(Spent):
        warnings.simplefilter("ignore")
        SOLVERS[solver](judge, seed)
    return judge.best, time.perf_counter() - begun


def relative_gap(f: float, design: Design) -> float:
    assert design.best is not None
    return (f - design.best) / abs(design.best)


def print_table(designs: list[Design], solvers: list[str], seeds: range) -> None:
    """A block for each design: feasible share, gaps and time of each solver."""
    first = dict.fromkeys(solvers, 0)
    for design in designs:
        budget = 50 * design.dim
        print(f"\n{design.name}: D = {design.dim}, {design.n_ineq} inequalities, {design.n_eq} equalities, "
              f"{len(design.integer)} integers, {budget} evaluations, best {design.best:.8g}")  # fmt: skip
        print(f"  {'solver':<12} {'feasible':>8} {'median gap':>12} {'worst gap':>12} {'s/run':>7}   f of each seed")
        ranked = {}
        for solver in solvers:
            found = [run_solver(design, solver, seed, budget) for seed in seeds]
            f = np.array([value for value, _ in found])
            gaps = np.sort([relative_gap(value, design) for value in f])
            median = float(gaps[len(gaps) // 2])
            share, spent = float(np.isfinite(f).mean()), float(np.median([s for _, s in found]))
            ranked[solver] = (-share, median)
            values = " ".join(f"{v:.6g}" for v in f)
            print(
                f"  {solver:<12} {share:>8.0%} {median:>12.2e} {gaps[-1]:>12.2e} {spent:>7.1f}   {values}", flush=True
            )
        winner = min(ranked, key=lambda name: ranked[name])
        first[winner] += ranked[winner][0] < 0
    print("\nfirst by feasible share, then median gap: " + ", ".join(f"{name} {n}" for name, n in first.items() if n))
    print(f"MeCO is version {meco.__version__} with its default method, {DEFAULT}.")


def search_best_values(designs: list[Design]) -> None:
    """The least f that long runs of several methods find."""
    for design in designs:
        found = {}
        for method, budget in (("TR", 400), ("SHADE-FR", 4000), ("SciPy-DE", 4000)):
            for seed in range(2):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = meco.minimize(
                        design.fun,
                        design.variables(),
                        method=method,
                        budget=budget * design.dim,
                        seed=seed,
                        tolerances=meco.Tolerances(ineq=0.0, eq=design.eq_tol),
                    )
                if result.feasible:
                    found[method] = min(found.get(method, np.inf), result.fun)
        print(design.name, {name: float(f"{value:.9g}") for name, value in found.items()}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS), choices=list(SOLVERS))
    parser.add_argument("--designs", nargs="+", default=[d.name for d in DESIGNS])
    parser.add_argument("--best", action="store_true", help="long runs")
    args = parser.parse_args()
    designs = [d for d in DESIGNS if d.name in args.designs]
    if args.best:
        search_best_values(designs)
    else:
        print_table(designs, args.solvers, range(args.seeds))


if __name__ == "__main__":
    main()
