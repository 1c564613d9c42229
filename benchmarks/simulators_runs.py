"""Runs of solvers on designs, kept in a file so that a table can be filled up later, and the table of them."""

from __future__ import annotations

import json
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from simulators_peers import SOLVERS, MixedJudge
from users_solvers import Spent

TIE = 1e-4  # share of the best median within which another is first as well


class Runs:
    """f, CPU seconds and the share of calls outside cheap constraints, by design, solver and seed.

    With a file every run is appended to it as a line of JSON, and those that it holds are not made again.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self.known = path, dict[tuple[str, str, int], dict[str, Any]]()
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                self._remember(json.loads(line))

    def _remember(self, run: dict[str, Any]) -> None:
        self.known[run["design"], run["solver"], run["seed"]] = run

    def make(self, design: Any, solver: str, seed: int, budget: int) -> None:
        """Run a solver, unless that is known."""
        if (design.name, solver, seed) in self.known:
            return
        judge = MixedJudge(design, budget)
        begun = time.process_time()
        with warnings.catch_warnings(), suppress(Spent):
            warnings.simplefilter("ignore")
            SOLVERS[solver](judge, seed)
        run = {
            "design": design.name, "solver": solver, "seed": seed, "f": judge.best,
            "seconds": time.process_time() - begun, "outside": judge.outside / max(judge.calls, 1),
        }  # fmt: skip
        self._remember(run)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(run) + "\n")

    def of(self, design: str, solver: str) -> list[dict[str, Any]]:
        """The runs of a solver on a design, by seed."""
        found = [run for (d, s, _), run in self.known.items() if (d, s) == (design, solver)]
        return sorted(found, key=lambda run: run["seed"])


def print_designs(designs: Sequence[Any], solvers: Iterable[str], seeds: range, per_variable: int, runs: Runs) -> None:
    """A block for each design: feasible share, median and worst f, time; then who is first how often.

    Runs that are not known are made. A row holds every known run of its solver, those of other calls included.
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
                runs.make(design, solver, seed, budget)
        ranked = {solver: _print_row(solver, found) for solver in SOLVERS if (found := runs.of(design.name, solver))}
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
