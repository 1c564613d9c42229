"""The runs of an experiment as arrays: M contenders, P problems, R runs; nan where a run is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.run import TestCase
from meco.bench.report import stats
from meco.bench.report.stats import Feasibility
from meco.bench.run.curve import CURVE_POINTS, read_curve
from meco.bench.run.run_record import RunRecord, read_actions, read_design
from meco.bench.run.store_contents import StoreContents

Question = ParamSpec("Question")
Answer = TypeVar("Answer")
METRICS = {"score": "f+ν", "first": "feasibility first"}


def cache_answer(method: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """A method of a RunArrays whose answers are remembered with it: many figures and tables ask the same."""

    @wraps(method)
    def answer(*args: Question.args, **kwargs: Question.kwargs) -> Answer:
        """The answer kept for these arguments; computed when it is first asked for."""
        known = args[0]._answers  # type: ignore[attr-defined]
        key = (method.__name__, args[1:], tuple(kwargs.items()))
        if key not in known:
            known[key] = method(*args, **kwargs)
        return known[key]

    return answer


@dataclass(frozen=True, eq=False)
class RunArrays:
    """One dimension of an experiment: what every contender found at every case."""

    experiment: Experiment
    dim: int | None
    contenders: tuple[Contender, ...]
    cases: tuple[TestCase, ...]
    records: Mapping[tuple[int, int, int], RunRecord]  # (contender, case, run)
    reasons: Mapping[str, str] = field(default_factory=dict)  # why contenders are missing or incomplete
    slots: Mapping[str, int] = field(default_factory=dict)  # colours of the contenders that figures bring out
    _answers: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def labels(self) -> list[str]:
        """The contenders' names."""
        return [c.label for c in self.contenders]

    @property
    def problems(self) -> list[str]:
        """The problems' names."""
        return [p.problem for p in self.cases]

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, P, R."""
        return len(self.contenders), len(self.cases), max((k[2] for k in self.records), default=0) + 1

    @cache_answer
    def field_values(self, name: str) -> np.ndarray:
        """The field of RunRecord of that name, of every run: [M, P, R], read-only, nan where a run is missing."""
        out = np.full(self.shape, np.nan)
        for where, record in self.records.items():
            out[where] = getattr(record, name)
        out.flags.writeable = False
        return out

    @cached_property
    def score(self) -> np.ndarray:
        """Least f + nu of every run: [M, P, R]."""
        return self.field_values("score")

    @cached_property
    def exists(self) -> np.ndarray:
        """Which runs exist: [M, P, R]."""
        return ~np.isnan(self.score)

    @cached_property
    def complete(self) -> np.ndarray:
        """Which contenders ran on every problem: [M]; only these are ranked."""
        return np.all(np.any(self.exists, axis=2), axis=1)

    def most_runs(self, m: int) -> int:
        """Runs of a contender on a problem, at most."""
        return int(self.exists[m].sum(axis=1).max(initial=0))

    def fewest_runs(self, m: int) -> int:
        """Runs of a contender on the problem where it has fewest."""
        return int(self.exists[m].sum(axis=1).min(initial=self.shape[2]))

    @cache_answer
    def feasibility_cells(self, *, snapshot: bool = False) -> list[list[Feasibility]]:
        """Feasibility-first summary of every contender on every problem, or of their last populations: [M][P]."""
        prefix = "snapshot_" if snapshot else ""
        feasible = np.nan_to_num(self.field_values(prefix + "feasible")).astype(bool)
        f, nu = self.field_values(prefix + "f"), self.field_values(prefix + "nu")
        m, p, _ = self.shape
        return [[stats.summarize_feasibility(feasible[i, j], f[i, j], nu[i, j]) for j in range(p)] for i in range(m)]

    @cache_answer
    def sort_keys(self, metric: str) -> np.ndarray:
        """Numbers that order the runs on each problem, "score" by f + nu, else feasibility first: [M, P, R].

        Less is better, nan is a missing run.
        """
        if metric == "score":
            return self.score
        feasible = np.nan_to_num(self.field_values("feasible")).astype(bool)
        f, nu = self.field_values("f"), self.field_values("nu")
        return np.stack(
            [stats.feasibility_order(feasible[:, j], f[:, j], nu[:, j]) for j in range(self.shape[1])], axis=1
        )

    def rank_table(self, metric: str, among: np.ndarray | None = None) -> np.ndarray:
        """Rank of every contender on every problem, nan for those not ranked: [M, P].

        metric is score or first; final and snapshot are the same over surviving populations. Ranked are contenders with
        runs on every problem, of these the ones `among` [M], if given.
        """
        chosen = self.complete if among is None else self.complete & among
        out = np.full(self.shape[:2], np.nan)
        if not chosen.any():
            return out
        if metric in ("score", "final"):
            values = self.score if metric == "score" else self.field_values("final_score")
            out[chosen] = stats.rank_first_axis(stats.round_digits(stats.nan_mean(values[chosen], 2)))
            return out
        cells = [row for row, keep in zip(self.feasibility_cells(snapshot=metric == "snapshot"), chosen) if keep]
        for j in range(self.shape[1]):
            out[chosen, j] = stats.feasibility_ranks([row[j] for row in cells])
        return out

    @cached_property
    def curves(self) -> dict[str, np.ndarray]:
        """score, f and nu at every checkpoint, as read_curve() has them: [M, P, R, T]; nan without a curve."""
        out = {name: np.full((*self.shape, CURVE_POINTS), np.nan) for name in ("score", "f", "nu")}
        for (m, p, r), record in self.records.items():
            for name, values in read_curve(record.curve, record.score, record.f).items():
                out[name][m, p, r] = values
        return out

    @cached_property
    def anchors(self) -> tuple[np.ndarray, np.ndarray]:
        """S_best, the least f + nu any run found, and S_0, the mean first one, of each problem: [P], [P]."""
        first = self.field_values("first_score")
        first = np.where(np.isfinite(first), first, np.nan)
        return stats.nan_min(self.score, (0, 2)), stats.nan_mean(first, (0, 2))

    def open_gap(self) -> np.ndarray:
        """(S - S_best) / (S_0 - S_best) over the evaluations: [M, P, R, T]; nan without a curve."""
        return stats.share_of_gap(self.curves["score"], *self.anchors)

    def action_trace(self, m: int, p: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Evaluations [G] of the first run and the actions [R, G] of all, of contender m on problem p.

        Cut to the shortest; None where no action is stored.
        """
        found = [
            read_actions(r.actions) for (i, j, _), r in sorted(self.records.items()) if (i, j) == (m, p) and r.actions
        ]
        if not found:
            return None
        length = min(trace.shape[1] for trace in found)
        return found[0][0, :length], np.stack([trace[1, :length] for trace in found])

    def best_design(self, m: int, p: int) -> tuple[RunRecord, np.ndarray] | None:
        """The best run of contender m at case p, feasibility first, and its design [D]; None without a run."""
        found = [r for (i, j, _), r in self.records.items() if (i, j) == (m, p)]
        best = min(found, key=RunRecord.sort_key, default=None)
        return None if best is None else (best, read_design(best.x, self.cases[p].dim))

    @classmethod
    def from_store(cls, results: StoreContents, experiment: Experiment, dim: int | None = None) -> RunArrays:
        """The runs of an experiment at one dimension; contenders without any run are left out, with the reason."""
        cases = tuple(dict.fromkeys(experiment.cases(dim)))
        kept: list[Contender] = []
        records: dict[tuple[int, int, int], RunRecord] = {}
        reasons: dict[str, str] = {}
        for contender in experiment.contenders:
            mine: dict[tuple[int, int], RunRecord] = {}
            for j, case in enumerate(cases):
                for k, run in enumerate(experiment.runs_of(contender, case)):
                    if run in results.runs:
                        mine[j, k] = results.runs[run]
                    elif run in results.failures:
                        reasons.setdefault(contender.label, results.failures[run])
            if mine:
                records |= {(len(kept), j, k): record for (j, k), record in mine.items()}
                kept.append(contender)
            else:
                reasons.setdefault(contender.label, "not run yet")
        return cls(experiment, dim, tuple(kept), cases, records, reasons)
