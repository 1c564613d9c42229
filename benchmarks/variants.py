"""How far a baseline is from its printed column, and which small change of its settings moves it there.

    python benchmarks/variants.py [--methods C2oDE] [--runs 4] [--jobs 2] > benchmarks/results/variants.txt

28 problems, D = 50. "weaker" counts the problems where our mean f + nu is above the printed mean, of
all 28 and of the 16 whose formulas are the same in the paper's release; ratio is the geometric mean of
ours over printed on those 16, without means that are negative.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from meco.experiments.plan import printed
from meco.problems.suite import CEC_NAMES

OTHER_FORMULAS = {"C03", "C05", "C09", "C14", "C17", "C18", "C19", "C21", "C23", "C26", "C27", "C28"}


class Variant(NamedTuple):
    """A method with something changed."""

    method: str
    change: str
    budget: int = 2500
    options: dict[str, Any] = {}  # noqa: RUF012


VARIANTS = (
    Variant("C2oDE", "as specified"),
    *(Variant("C2oDE", f"{budget} evaluations", budget) for budget in (2600, 2700, 3000)),
    Variant("C2oDE", "population 40", options={"pop_size": 40}),
    Variant("BP-epsMAg-ES", "as specified"),
    Variant("BP-epsMAg-ES", "differences not charged", options={"charge_jacobian": False}),
    Variant("BP-epsMAg-ES", "its own population, 15", options={"pop_size": 15}),
    Variant("BP-epsMAg-ES", "both", options={"pop_size": 15, "charge_jacobian": False}),
    Variant("CMA-ES", "as specified"),
    *(Variant("CMA-ES", f"first step {sigma}", options={"sigma0": sigma}) for sigma in (0.2, 0.1, 0.05)),
    Variant("CMA-ES", "population 25", options={"pop_size": 25}),
)


def means(variant: Variant, runs: int) -> dict[str, float]:
    """Mean f + nu of each problem."""
    seeds = range(42, 42 + runs)
    return {
        name: float(np.mean([
            r.score for r in meco.solve(
                variant.method, meco.get_problem(name, dim=50), variant.budget, seeds, **variant.options
            )
        ]))
        for name in CEC_NAMES
    }  # fmt: skip


def line(variant: Variant, ours: dict[str, float]) -> str:
    """How ours compares with the printed column."""
    column = {name: printed.values("table1")[name, variant.method].mean for name in CEC_NAMES}
    alike = [name for name in CEC_NAMES if name not in OTHER_FORMULAS]
    weaker = [name for name in CEC_NAMES if ours[name] > column[name]]
    ratio = np.exp(np.mean([np.log(ours[name] / column[name]) for name in alike if ours[name] > 0.0]))
    return (
        f"{variant.method:14}{variant.change:26}{len(weaker):6} of 28"
        f"{sum(name in alike for name in weaker):6} of {len(alike)}{ratio:8.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["C2oDE", "BP-epsMAg-ES", "CMA-ES"], metavar="NAME")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    chosen = [v for v in VARIANTS if v.method in args.methods]
    print(f"{'method':14}{'change':26}{'weaker':>12}{'alike':>12}{'ratio':>8}   {args.runs} runs")
    with ProcessPoolExecutor(args.jobs) as pool:
        for variant, ours in zip(chosen, pool.map(means, chosen, [args.runs] * len(chosen))):
            print(line(variant, ours), flush=True)


if __name__ == "__main__":
    main()
