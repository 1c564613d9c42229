"""Asks the source for values: maps candidates into the box, counts, and never passes the budget.

Engines and the loop get values from here alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from meco.core.arrays import Array, namespace, rows, to_numpy
from meco.core.batching import ProblemBatch
from meco.core.evaluation import Evaluation, concat_evaluations, unevaluated
from meco.core.history import History
from meco.core.lockstep_results import LockstepResults
from meco.core.partial_answers import evaluate_partial, has_gaps
from meco.core.problem import Problem
from meco.core.source import Source, Values
from meco.core.streams import DeviceStreams, Streams
from meco.errors import InvalidInput


class BudgetSpent(Exception):
    """Raised to a library that asks for one more evaluation than there are."""


class KnownValues(Protocol):
    """Values that need no evaluation: those of points that were evaluated before."""

    def pop_values(self, unit: np.ndarray, wanted: np.ndarray | None) -> dict[int, Values]:
        """Values of the known ones among candidates [1, n, D], by index; each value is given once, then forgotten."""
        ...

    def unknown(self, unit: np.ndarray) -> np.ndarray:
        """Indices [m] of the candidates [1, n, D] that would have to be called."""
        ...


class Evaluator:
    """Evaluations of B runs in lockstep, in the order asked, until each has spent its budget.

    Engines speak unit-cube coordinates. What was found is kept in history.
    """

    remembers = ("nfev", "_most", "history", "known")  # names that saved searches hold: memory.py

    def __init__(self, source: Source, budget: int, known: KnownValues | None = None) -> None:
        """Nothing is evaluated yet; a budget below 1 is InvalidInput."""
        if int(budget) < 1:
            raise InvalidInput(f"budget must be at least 1 evaluation; got {budget}")
        self.source, self.budget, self.known, self.history = source, int(budget), known, History()
        self.runs, self.box = source.runs, source.box
        # candidates are numbers: where values are known to be too, a device is not asked; NumPy is, at little cost
        self._finite = source.xp is not np and source.finite
        self.nfev = np.zeros(self.runs, dtype=np.int64)
        self._most, self._even = 0, True  # largest of nfev, and whether all are equal
        self._failed: Any = 0  # [B], on the device

    @classmethod
    def on(
        cls,
        problems: Problem | Sequence[Problem],
        budget: int,
        runs: int = 1,
        xp: Any = np,
        device: Any = None,
        streams: Streams | DeviceStreams | None = None,
    ) -> Evaluator:
        """An evaluator of one problem for all runs, or of one each (all of equal D).

        streams are those of the runs: what chance does to a problem's values depends on them (core/batching.py).
        """
        return cls(ProblemBatch(problems, runs, xp, device, streams), budget)

    @property
    def is_spent(self) -> bool:
        """Whether every run has spent its evaluations."""
        return self._most >= self.budget and (self._even or bool(self.nfev.min() >= self.budget))

    @property
    def left(self) -> int:
        """Evaluations that the run which spent most may still make."""
        return self.budget - self._most

    def evaluate(self, unit: Array, wanted: np.ndarray | None = None) -> Evaluation:
        """Evaluate candidates [B, n, D] in index order while the budget lasts, known ones for nothing.

        wanted [B, n] leaves some out. What is not evaluated comes back as failed. Counts, and lets the points
        compete for the best; raises BudgetSpent where nothing may be evaluated.
        """
        known = {} if self.known is None else self.known.pop_values(unit, wanted)
        unknown = _list_unknown(known, wanted, unit.shape[1]) if known else None
        if known and (not unknown or self.left <= 0):
            return self._join_known(known, [], None, unit.shape[1])
        if self.is_spent:
            raise BudgetSpent(f"all {self.budget} evaluations are spent")
        if not known and (wanted is not None or not self._even):
            return self._evaluate_some(unit, np.ones(unit.shape[:2], dtype=bool) if wanted is None else wanted)
        asked = unit if unknown is None else unit[:, unknown, :]
        affordable = asked if asked.shape[1] <= self.left else asked[:, : self.left, :]
        x = self.box.to_box(affordable)
        try:
            ev = self._make_evaluation(self.source.values(x))
        finally:
            self._count_extra_calls()
        self._record_evaluation(x, ev, x.shape[1])
        if affordable is not asked:
            ev = concat_evaluations([ev, unevaluated(ev, asked.shape[1] - x.shape[1])])
        return ev if unknown is None else self._join_known(known, unknown, ev, unit.shape[1])

    def list_calls(self, unit: np.ndarray, wanted: np.ndarray | None) -> np.ndarray:
        """Places [m] of the candidates [1, n, D] that evaluate() would call now, of one run."""
        places = np.arange(unit.shape[1]) if self.known is None else self.known.unknown(unit)
        if wanted is not None:
            places = places[wanted[0, places]]
        return places[: max(0, self.left)]

    def evaluate_uncounted(self, unit: Array) -> Evaluation:
        """Values of points [B, n, D], neither counted nor remembered: for differences that stand in for derivatives."""
        return self._make_evaluation(self.source.values(self.box.to_box(unit)))

    def _join_known(
        self, known: dict[int, Values], unknown: list[int], ev: Evaluation | None, count: int
    ) -> Evaluation:
        """One evaluation [1, count]: known values by index, ev [1, m] at the unknown indices [m], failed elsewhere."""
        f, g, h = (np.stack(column)[None] for column in zip(*known.values()))
        from_memory = self._make_evaluation((f, g, h))
        parts = [from_memory] if ev is None else [from_memory, ev]
        full = concat_evaluations([*parts, unevaluated(from_memory, 1)])
        row = np.full(count, full.f.shape[1] - 1)
        answered = [*known, *unknown]
        row[answered] = np.arange(len(answered))
        return full.map(lambda a: rows(a, row[None]))

    def _evaluate_some(self, unit: Array, wanted: np.ndarray) -> Evaluation:
        """Evaluate the wanted [B, n] of candidates [B, n, D], one call for each run, and count them.

        Raises BudgetSpent where no run may have what it wants.
        """
        allowed = wanted & (np.cumsum(wanted, axis=1) <= (self.budget - self.nfev)[:, None])
        if not allowed.any():
            raise BudgetSpent("the runs that want more have spent their evaluations")
        x = self.box.to_box(unit)
        pieces: list[Evaluation | None] = []
        try:
            for b in range(self.runs):
                chosen = np.flatnonzero(allowed[b])
                if chosen.size == 0:
                    pieces.append(None)
                    continue
                part = rows(x[b : b + 1, ...], self._index_on_device(chosen[None]))
                pieces.append(self._make_evaluation(self.source.values_of(b, part), b))
        finally:
            self._count_extra_calls()
        like = next(p for p in pieces if p is not None)
        ev = concat_evaluations([self._scatter_rows(p, allowed[b], like) for b, p in enumerate(pieces)], axis=0)
        self._record_evaluation(x, ev, allowed.sum(axis=1), allowed)
        return ev

    def _scatter_rows(self, part: Evaluation | None, allowed: np.ndarray, like: Evaluation) -> Evaluation:
        """The evaluation [1, n] of a run: evaluated rows where allowed [n] holds, failed elsewhere.

        None has no rows.
        """
        gap = unevaluated(like.map(lambda a: a[:1]), 1)
        full = gap if part is None else concat_evaluations([part, gap])
        last = 0 if part is None else part.f.shape[1]
        row = np.where(allowed, np.cumsum(allowed) - 1, last)
        return full.map(lambda a: rows(a, self._index_on_device(row[None])))

    def _index_on_device(self, index: np.ndarray) -> Array:
        """An index or a mask where the arrays of the source lie."""
        return index if self.source.xp is np else self.source.xp.asarray(index, device=self.source.device)

    def _make_evaluation(self, values: Values, run: int | None = None) -> Evaluation:
        """The evaluation of values under the source's tolerances: of all runs [B, n], or of one run [1, n]."""
        ineq, eq = self.source.tolerances()
        if self.source.partial and has_gaps(*values):
            return evaluate_partial(*values, ineq, eq, self.source.worst())
        pick = slice(None) if run is None or ineq.shape[0] == 1 else slice(run, run + 1)
        return Evaluation.of(*values, ineq[pick, ...], eq[pick, ...], finite=self._finite)

    def _record_evaluation(self, x: Array, ev: Evaluation, spent: Any, allowed: np.ndarray | None = None) -> None:
        """Count what each run spent, an integer or [B], and its failures; let the points compete for the best.

        allowed [B, n]: which points were evaluated; None: all of them.
        """
        xp = namespace(ev.f)
        self.nfev = self.nfev + spent
        self._most = self._most + spent if self._even and allowed is None else int(self.nfev.max())
        self._even = allowed is None or bool((self.nfev == self._most).all())
        if not ev.intact:
            failures = ev.failed if allowed is None else ev.failed & self._index_on_device(allowed)
            self._failed = self._failed + xp.sum(xp.astype(failures, xp.int64), axis=-1)
        self.history.update_best(x, self._judge_by_truth(x, ev))

    def _judge_by_truth(self, x: Array, ev: Evaluation) -> Evaluation:
        """ev as it would be without chance at points x [B, n, D]; calls that failed stay failed."""
        true = self.source.true_values(x)
        return ev if true is None else ev.where(ev.failed, self._make_evaluation(true))

    def _count_extra_calls(self) -> None:
        """Count calls that the source made beside the candidates; their points compete for the best."""
        extra = self.source.pop_extra_calls()
        if extra is not None:
            self.count_evaluations(extra.calls)
            for x, values in extra.points:
                self.history.update_best(x, self._make_evaluation(values))

    def count_evaluations(self, points: int) -> None:
        """Count so many evaluations of every run that were made elsewhere; the budget is not checked."""
        self.nfev = self.nfev + points
        self._most = self._most + points if self._even else int(self.nfev.max())

    def results(self, method: str, seeds: Sequence[int], policy: str = "") -> LockstepResults:
        """One record per run, in NumPy; records a generation first where there is none. Needs an evaluated point.

        policy is what is told of the policy that steered them.
        """
        history = self.history
        if history.empty:
            history.record_generation(self.nfev, None)
        failed = np.broadcast_to(to_numpy(self._failed), (self.runs,))
        best, score, snapshot, final = history.best_points(self.box.to_box)
        return LockstepResults(
            method=method,
            seeds=list(seeds),
            problems=self.source.names,
            best=best,
            score=score,
            snapshot=snapshot,
            final=final,
            nfev=self.nfev,
            nfail=failed,
            budget=self.budget,
            notes=tuple(history.notes),
            trace=history.collect_trace(),
            policy=policy,
        )

    def with_source(self, source: Source) -> Evaluator:
        """Another evaluator that goes on where this one is, with values of another source.

        History and counts are shared.
        """
        other = Evaluator(source, self.budget, self.known)
        other.nfev, other._most, other._even, other.history = self.nfev, self._most, self._even, self.history
        return other


def _list_unknown(known: dict[int, Values], wanted: np.ndarray | None, count: int) -> list[int]:
    """Indices of the wanted [1, count] candidates whose values are not known."""
    return [i for i in range(count) if i not in known and (wanted is None or wanted[0, i])]
