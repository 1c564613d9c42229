"""Our baselines beside values measured earlier with independent prototypes: 2500 evaluations, N = 50.

    python benchmarks/measured.py [--runs 10] > benchmarks/results/measured.txt

A row agrees when the means lie within a factor of 1.3 or within two standard deviations of
either sample. The prototypes made 3 to 10 runs of each.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from meco.core.engine import Task
from meco.engines.external.pycma import CmaEs, library
from meco.rules import BalancedPenalty, FixedEpsilon
from meco.streams import Streams

BUDGET = 2500
ENGINEERING = ("RC19", "RC20", "RC29", "RC32")
SCALABLE = ("C01", "C04", "C06")
RELEASE = {"preset": "release"}


@dataclass(frozen=True)
class Row:
    """A method, which number of its runs is compared, and (mean, std) of the prototype on each problem."""

    title: str
    method: str
    options: dict[str, Any]
    number: str  # of RunResult: snapshot_f, f, final_score or score
    problems: tuple[str, ...]
    wanted: tuple[tuple[float, float], ...] = field(repr=False)  # a std of 0 was not measured
    corner: bool = False  # whether the search starts in the upper corner of the box, which is worse


ROWS = (
    Row("static penalty, release", "SHADE", RELEASE, "snapshot_f", ENGINEERING,
        ((1.776, 0.043), (273.2, 6.6), (5.41e6, 1.4e6), (-29434, 358))),
    Row("static penalty, release", "SHADE", RELEASE, "f", ENGINEERING,
        ((1.776, 0), (268.7, 0), (4.44e6, 0), (-29878, 0))),
    Row("scalar level, release", "SHADE-eps", RELEASE, "snapshot_f", ENGINEERING,
        ((3.04, 0.76), (270.1, 4.2), (3.56e6, 7.0e5), (-30373, 101))),
    Row("vector level, release", "SHADE-eps", RELEASE | {"rule": FixedEpsilon(per_constraint=True)}, "snapshot_f",
        ENGINEERING, ((3.06, 0.48), (269.6, 3.3), (3.56e6, 7.0e5), (-30477, 81))),
    Row("balanced penalty, release", "SHADE-BOC", RELEASE, "snapshot_f", ENGINEERING,
        ((1.764, 0.034), (263.902, 0.003), (3.000e6, 2.9e4), (-30541, 28))),
    Row("balanced penalty apm, release", "SHADE-BOC", RELEASE | {"rule": BalancedPenalty("apm")}, "snapshot_f",
        ENGINEERING, ((1.773, 0.035), (263.904, 0.007), (3.018e6, 3.6e4), (-30529, 33))),
    Row("feasibility first, release", "SHADE-FR", RELEASE, "f", ENGINEERING,
        ((1.796, 0.092), (263.899, 0.002), (3.028e6, 4.4e4), (-30559, 21))),
    Row("feasibility first", "SHADE-FR", {}, "f", ENGINEERING,
        ((1.730, 0.023), (263.899, 0.002), (2.977e6, 6.7e3), (-30619, 16))),
    Row("static penalty, release", "SHADE", RELEASE, "final_score", SCALABLE,
        ((1.20e5, 2.6e4), (656, 43), (1184, 87))),
    Row("static penalty", "SHADE", {}, "final_score", SCALABLE, ((9.8e4, 1.5e4), (562, 30), (808, 55))),
    Row("feasibility first, release", "SHADE-FR", RELEASE, "final_score", SCALABLE,
        ((8.6e4, 1.3e4), (1183, 80), (8607, 440))),
    Row("feasibility first", "SHADE-FR", {}, "final_score", SCALABLE, ((7.6e4, 1.0e4), (884, 57), (8158, 1200))),
    Row("scalar level, release", "SHADE-eps", RELEASE, "final_score", SCALABLE,
        ((1.0e5, 1.9e4), (895, 69), (8280, 910))),
    Row("balanced penalty, release", "SHADE-BOC", RELEASE, "final_score", SCALABLE,
        ((8.7e4, 1.7e4), (1070, 96), (6480, 420))),
    Row("composite DE", "C2oDE", {}, "final_score", SCALABLE, ((1.80e5, 3.7e4), (1590, 130), (8310, 510))),
    Row("violations as objectives", "NSGA-III", {}, "final_score", SCALABLE, ((1.1e5, 0), (435, 0), (3750, 0))),
    Row("f and the violation", "NSGA-III", {"objectives": "bi"}, "final_score", SCALABLE,
        ((1.1e5, 0), (397, 0), (1820, 0))),
    Row("from the centre", "CMA-ES", {}, "score", SCALABLE, ((1.57e5, 3.6e4), (675, 66), (1520, 83))),
    Row("from a corner", "CMA-ES", {}, "score", SCALABLE, ((2.82e5, 2.7e4), (841, 49), (1840, 150)), corner=True),
    Row("differences charged", "BP-epsMAg-ES", {}, "score", SCALABLE, ((9.7e4, 1.5e4), (972, 59), (6340, 1700))),
    Row("differences free", "BP-epsMAg-ES", {"charge_jacobian": False}, "score", SCALABLE,
        ((9.7e4, 1.5e4), (871, 150), (4180, 1800))),
)  # fmt: skip


def agrees(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    """Within a factor of 1.3, or within two standard deviations of either sample."""
    ratio = ours[0] / theirs[0]
    return 1 / 1.3 <= ratio <= 1.3 or abs(ours[0] - theirs[0]) <= 2 * max(ours[1], theirs[1])


def measure(row: Row, name: str, runs: int) -> tuple[float, float]:
    """Mean and standard deviation over runs with seeds 0, 1, ..."""
    problem = meco.get_problem(name, dim=50 if name in SCALABLE else None)
    if row.corner:
        results = [cornered(problem, seed) for seed in range(runs)]
    else:
        results = meco.solve(row.method, problem, budget=BUDGET, seeds=range(runs), **row.options)
    values = np.array([getattr(result, row.number) for result in results])
    return float(values.mean()), float(values.std())


class FromCorner(CmaEs):
    """CMA-ES whose first mean is the upper corner of the box."""

    def _start(self) -> None:
        super()._start()
        self.es = library().CMAEvolutionStrategy(np.ones(self.width), self.sigma0, self._options())


def cornered(problem: meco.Problem, seed: int) -> meco.RunResult:
    """A run of CMA-ES from the corner."""
    evaluator = meco.Evaluator.on(problem, BUDGET)
    FromCorner(Task.of(evaluator, Streams([seed])), pop_size=50).run(evaluator)
    return evaluator.results("CMA-ES", [seed])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these")
    args = parser.parse_args()
    runs, chosen = args.runs, [row for row in ROWS if not args.methods or row.method in args.methods]
    print(f"{BUDGET} evaluations, {runs} runs of ours; mean ± std\n")
    head = f"{'method':13} {'variant':30} {'number':12} {'problem':7}"
    print(f"{head} {'ours':>22} {'prototype':>22}  agrees")
    differing = 0
    for row in chosen:
        for name, theirs in zip(row.problems, row.wanted, strict=True):
            ours = measure(row, name, runs)
            same = agrees(ours, theirs)
            differing += not same
            shown = " ".join(f"{f'{m:.6g} ± {s:.2g}':>22}" for m, s in (ours, theirs))
            print(
                f"{row.method:13} {row.title:30} {row.number:12} {name:7} {shown}  {'yes' if same else 'NO'}",
                flush=True,
            )
    print(f"\n{differing} of {sum(len(row.problems) for row in chosen)} differ")


if __name__ == "__main__":
    main()
