"""Runs of solvers on designs, and the table of them."""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kept_runs import KeptRuns
from simulators_peers import SOLVERS, MixedJudge
from users_solvers import Spent

TIE = 1e-4  # share of the best median within which another is first as well


def run_design(design: Any, solver: str, seed: int, budget: int) -> dict[str, float]:
    """f, CPU seconds and the share of calls outside cheap constraints of one run."""
    judge = MixedJudge(design, budget)
    begun = time.process_time()
    with warnings.catch_warnings(), suppress(Spent):
        warnings.simplefilter("ignore")
        SOLVERS[solver](judge, seed)
    seconds = time.process_time() - begun
    return {"f": judge.best, "seconds": seconds, "outside": judge.outside / max(judge.calls, 1)}


def print_designs(
    designs: Sequence[Any], solvers: Iterable[str], seeds: range, per_variable: int, keep: KeptRuns
) -> None:
    """A block for each design: feasible share, median and worst f, time; then who is first how often.

    Runs that are not known are made. A row holds every known run of its solver at this budget, those of other calls
    included.
    """
    first = dict.fromkeys(SOLVERS, 0)
    for design in designs:
        budget = per_variable * design.dim
        counts = ", ".join(str(len(v.categories)) for v in design.variables.values() if v.categories)
        print(f"\n{design.name}: D = {design.dim}, categories of {counts or 'none'} values, {budget} evaluations")
        print(
            f"  {'solver':<15} {'feasible':>8} {'median f':>12} {'worst f':>12} {'outside':>8} {'s/run':>7}   "
            "f of each seed"
        )
        for solver in solvers:
            for seed in seeds:
                keep([design.name, solver, budget, seed], partial(run_design, design, solver, seed, budget))
        rows = {solver: keep.rows_of(design.name, solver, budget) for solver in SOLVERS}
        ranked = {solver: _print_row(solver, found) for solver, found in rows.items() if found}
        share, median = min(ranked.values())
        for name, (its_share, its_median) in ranked.items():
            first[name] += share < 0 and its_share == share and its_median <= median + TIE * abs(median)
    print(
        f"\nfirst of {len(designs)} by feasible share, then median f (ties within {TIE:g} count for all): "
        + ", ".join(f"{name} {n}" for name, n in first.items() if n)
    )


def _print_row(solver: str, found: list[dict[str, Any]]) -> tuple[float, float]:
    """Print a solver's runs on a design; by what they are ordered: the feasible share, negative, and the median f."""
    f = np.sort([run["f"] for run in found])
    share, median = float(np.isfinite(f).mean()), float(f[len(f) // 2])
    seconds, outside = (np.array([run[key] for run in found]) for key in ("seconds", "outside"))
    values = " ".join(f"{run['f']:.6g}" for run in found)
    print(
        f"  {solver:<15} {share:>8.0%} {median:>12.6g} {f[-1]:>12.6g} {outside.mean():>8.1%} {np.median(seconds):>7.1f}"
        f"   {values}",
        flush=True,
    )
    return -share, median


def add_options(parser: ArgumentParser, designs: Sequence[Any]) -> None:
    """The options that tables of designs share."""
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS), choices=list(SOLVERS))
    parser.add_argument("--designs", nargs="+", default=[d.name for d in designs])
    parser.add_argument("--per-variable", type=int, default=20, help="evaluations")
    parser.add_argument("--keep", type=Path, help="file of runs: those in it are not made again")
