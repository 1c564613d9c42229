"""The results of runs in lockstep, from the incumbents that the history of the search kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.core.incumbent import IncumbentPoint
from meco.result import PaperMetrics, Point, Result, RunFacts


@dataclass(frozen=True, eq=False)
class LockstepResults(Sequence[Result]):
    """The records of runs in lockstep, each made when it is looked at: thousands of runs cost nothing before."""

    method: str
    seeds: Sequence[int]
    problems: Sequence[str]
    best: IncumbentPoint  # over all points, feasibility first
    score: IncumbentPoint  # over all points, by f + nu
    snapshot: IncumbentPoint  # over survivors, feasibility first
    final: IncumbentPoint  # of the last population, by f + nu
    nfev: np.ndarray
    nfail: np.ndarray
    budget: int
    notes: tuple[str, ...]
    trace: Mapping[str, np.ndarray]  # [generations, B, ...] each
    policy: str = ""  # that steered the runs

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, run: Any) -> Any:
        """The result of run number `run`, negative ones from the end, or a list of those of a slice."""
        if isinstance(run, slice):
            return [self[b] for b in range(*run.indices(len(self)))]
        b = range(len(self))[run]
        best, score, snapshot, final = self.best, self.score, self.snapshot, self.final
        facts = RunFacts(
            method=self.method,
            seed=int(self.seeds[b]),
            problem=self.problems[b],
            nfail=int(self.nfail[b]),
            budget=self.budget,
            stop_reason="budget" if int(self.nfev[b]) >= self.budget else "finished",
            notes=self.notes,
            versions={"policy": self.policy} if self.policy else {},
        )
        f, nu, feasible = float(best.f[b, 0]), float(best.nu[b, 0]), bool(best.feasible[b, 0])
        reached = f"best feasible f = {f:.10g}" if feasible else f"no feasible point, least violation {nu:.6g}"
        return Result(
            x=best.x[b, 0],
            fun=f,
            success=feasible,
            message=f"{self.method} on {self.problems[b]}, seed {facts.seed}, {self.nfev[b]} evaluations: {reached}.",
            nu=nu,
            score=float(score.key.minor[b, 0]),
            nfev=int(self.nfev[b]),
            nit=len(self.trace["nfev"]) if "nfev" in self.trace else 0,
            trace={k: v[:, b] for k, v in self.trace.items()},
            run=facts,
            paper=PaperMetrics(
                score.x[b, 0], _point_of_run(snapshot, b), _point_of_run(final, b), float(final.key.minor[b, 0])
            ),
        )


def _point_of_run(points: IncumbentPoint, b: int) -> Point:
    """The point of run b, in plain numbers."""
    return Point(points.x[b, 0], float(points.f[b, 0]), float(points.nu[b, 0]), bool(points.feasible[b, 0]))
