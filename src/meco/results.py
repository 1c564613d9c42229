"""What a run found, under both metrics: the only home of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from meco.arrays import namespace
from meco.problems.evaluation import Evaluation
from meco.rules.rule import Key


def feasibility_first(ev: Evaluation) -> Key:
    """Feasible before infeasible, feasible by f, infeasible by nu: the answer users get."""
    # any feasible point ranks before any violation, also when nu > 0 within the tolerance
    key = Key(namespace(ev.f).where(ev.feasible, -1.0, ev.nu), ev.f)
    return key if ev.intact else key.last_where(ev.failed)


def objective_plus_violation(ev: Evaluation) -> Key:
    """f + nu, the number of the paper's CEC2017 tables."""
    total = ev.f + ev.nu
    key = Key(namespace(total).zeros_like(total), total)
    return key if ev.intact else key.last_where(ev.failed)


@dataclass(frozen=True, eq=False)
class RunResult:
    """The best points of one run.

    Over all evaluated points: x, f, nu, feasible (feasibility first) and x_score, score
    (least f + nu). Over surviving populations, as the paper's own figures are: snapshot_*
    (feasibility first, best so far) and final_* (least f + nu, last population).
    """

    x: np.ndarray
    f: float
    nu: float
    feasible: bool
    x_score: np.ndarray
    score: float
    snapshot_x: np.ndarray
    snapshot_f: float
    snapshot_nu: float
    snapshot_feasible: bool
    final_x: np.ndarray
    final_score: float
    nfev: int
    seed: int
    method: str = ""
    problem: str = ""
    nfail: int = 0
    notes: tuple[str, ...] = ()
    trace: Mapping[str, np.ndarray] = field(default_factory=dict)  # a row per generation

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else f"infeasible, nu={self.nu:.6g}"
        return (
            f"RunResult({self.method} on {self.problem}, seed {self.seed}: f={self.f:.6g} ({state}), "
            f"score={self.score:.6g}, nfev={self.nfev})"
        )
