"""Categories: twelve mixed constrained designs (simulators_mixed_designs.py), 20 D evaluations, five seeds."""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import suppress

import numpy as np

from simulators_mixed_designs import DESIGNS
from simulators_peers import SOLVERS, MixedJudge, Spent

EVALUATIONS_PER_VARIABLE = 20


def run_solver(design: object, solver: str, seed: int, budget: int) -> tuple[float, float, float]:
    """f of the best feasible point (inf without one), seconds, and the share of calls outside cheap constraints."""
    judge = MixedJudge(design, budget)
    begun = time.perf_counter()
    with warnings.catch_warnings(), suppress(Spent):
        warnings.simplefilter("ignore")
        SOLVERS[solver](judge, seed)
    return judge.best, time.perf_counter() - begun, judge.outside / max(judge.calls, 1)


def print_designs(designs: list[object], solvers: list[str], seeds: range, per_variable: int) -> None:
    """A block for each design: feasible share, median and worst f, time; then who is first how often."""
    first = dict.fromkeys(solvers, 0)
    for design in designs:
        budget = per_variable * design.dim  # type: ignore[attr-defined]
        kinds = [v for v in design.variables.values() if v.categories]  # type: ignore[attr-defined]
        counts = ", ".join(str(len(v.categories)) for v in kinds)
        print(f"\n{design.name}: D = {design.dim}, categories of {counts or 'none'} values, {budget} evaluations")  # type: ignore[attr-defined]
        print(
            f"  {'solver':<15} {'feasible':>8} {'median f':>12} {'worst f':>12} {'outside':>8} {'s/run':>7}   "
            "f of each seed"
        )
        ranked = {}
        for solver in solvers:
            found = [run_solver(design, solver, seed, budget) for seed in seeds]
            f = np.sort([value for value, _, _ in found])
            share, median, spent = (
                float(np.isfinite(f).mean()),
                float(f[len(f) // 2]),
                float(np.median([s for _, s, _ in found])),
            )
            outside = float(np.mean([o for _, _, o in found]))
            ranked[solver] = (-share, median)
            values = " ".join(f"{v:.6g}" for v, _, _ in found)
            print(
                f"  {solver:<15} {share:>8.0%} {median:>12.6g} {f[-1]:>12.6g} {outside:>8.1%} {spent:>7.1f}   {values}",
                flush=True,
            )
        winner = min(ranked, key=lambda name: ranked[name])
        for name in solvers:  # within a ten-thousandth of the best median is a tie
            tied = ranked[name][0] == ranked[winner][0] and ranked[name][1] <= ranked[winner][1] + 1e-4 * abs(
                ranked[winner][1]
            )
            first[name] += ranked[winner][0] < 0 and tied
    print(
        f"\nfirst of {len(designs)} by feasible share, then median f (ties within 1e-4 count for all): "
        + ", ".join(f"{name} {n}" for name, n in first.items() if n)
    )


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS), choices=list(SOLVERS))
    parser.add_argument("--designs", nargs="+", default=[d.name for d in DESIGNS])
    parser.add_argument("--per-variable", type=int, default=EVALUATIONS_PER_VARIABLE)
    args = parser.parse_args(words)
    print_designs([d for d in DESIGNS if d.name in args.designs], args.solvers, range(args.seeds), args.per_variable)


if __name__ == "__main__":
    main()
