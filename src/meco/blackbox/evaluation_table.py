"""All evaluations of a run as columns that grow with it: a callback that looks at each generation costs little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.arrays import GrowingRows
from meco.blackbox.answers import Fault
from meco.problems.evaluation import Evaluation
from meco.results import feasibility_first
from meco.rules.rule import best

if TYPE_CHECKING:
    from meco.blackbox.evaluation_log import Entry, Known


@dataclass(frozen=True, eq=False)
class Evaluations:
    """All evaluations as columns, in the order of the calls: x [n, D], f [n], g [n, p], h [n, q].

    failed marks calls without a usable answer; feasible those within the tolerances; given those
    that were known beforehand and cost nothing; attempt counts repeated calls of a point.
    """

    x: np.ndarray
    f: np.ndarray
    g: np.ndarray
    h: np.ndarray
    failed: np.ndarray
    feasible: np.ndarray
    given: np.ndarray
    attempt: np.ndarray
    fault: np.ndarray
    leader: int = -1  # the place of the best, feasibility first

    def __len__(self) -> int:
        return len(self.f)

    def evaluation(self, ineq_tol: Any = 0.0, eq_tol: Any = 1e-4) -> Evaluation:
        """The same values as the search sees them: [1, n], ..."""
        return Evaluation.of(self.f[None], self.g[None], self.h[None], ineq_tol, eq_tol)


class EvaluationTable:
    """Evaluations so far, known ones first; of those that come the columns are made once."""

    def __init__(self, dim: int, counts: tuple[int, int], known: Known | None, ineq_tol: Any, eq_tol: Any) -> None:
        self.counts, self.tolerances, self.made, self.leader = counts, (ineq_tol, eq_tol), 0, -1
        self._x, self._f = GrowingRows(dim), GrowingRows()
        self._g, self._h = GrowingRows(counts[0]), GrowingRows(counts[1])
        self._flags = GrowingRows(3, dtype=bool)  # failed, feasible, given
        self._codes = GrowingRows(2, dtype=np.int64)  # attempt, fault
        if known is not None and len(known.f):
            self._add(*known, np.zeros((len(known.f), 2), dtype=np.int64), given=True)

    def update(self, entries: Mapping[int, Entry]) -> Evaluations:
        """The columns with everything that was entered since; a batch that is under way may have gaps."""
        fresh = []
        while self.made in entries:
            fresh.append(entries[self.made])
            self.made += 1
        self._extend(fresh)
        beyond = sorted(n for n in entries if n >= self.made) if len(entries) > self.made else []
        if not beyond:
            return self._columns()
        return self._with([entries[n] for n in beyond])

    def _with(self, late: list[Entry]) -> Evaluations:
        """The columns with calls beyond a gap, which are not kept: what fills the gap comes before them."""
        other = EvaluationTable(self._x.all.shape[1], self.counts, None, *self.tolerances)
        for mine, theirs in zip(self._parts(), other._parts()):
            theirs.extend(mine.all)
        other.leader = self.leader
        other._extend(late)
        return other._columns()

    def _parts(self) -> tuple[GrowingRows, ...]:
        return self._x, self._f, self._g, self._h, self._flags, self._codes

    def _extend(self, entries: Sequence[Entry]) -> None:
        if entries:
            g, h = (stacked(c, n) for c, n in zip(zip(*((e.g, e.h) for e in entries)), self.counts))
            codes = np.array([(e.attempt, e.fault) for e in entries], dtype=np.int64)
            self._add(np.array([e.x for e in entries]), np.array([e.f for e in entries]), g, h, codes, given=False)

    def _add(self, x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray, codes: np.ndarray, given: bool) -> None:
        """Add rows, and let the best of them stand against the best before."""
        ev = Evaluation.of(f[None], g[None], h[None], *self.tolerances)
        unusable = codes[:, 1] != Fault.NONE
        flags = [ev.failed[0] | unusable, ev.feasible[0] & ~unusable, np.full(len(f), given)]
        first = len(self._f.all)
        for kept, rows in zip(self._parts(), (x, f, g, h, np.stack(flags, axis=1), codes)):
            kept.extend(rows)
        rivals = np.arange(first, first + len(f))
        if self.leader >= 0:
            rivals = np.concatenate([[self.leader], rivals])
        values = (self._f.all[rivals][None], self._g.all[rivals][None], self._h.all[rivals][None])
        self.leader = int(rivals[int(best(feasibility_first(Evaluation.of(*values, *self.tolerances)))[0])])

    def _columns(self) -> Evaluations:
        failed, feasible, given = self._flags.all.T
        attempt, fault = self._codes.all.T
        return Evaluations(
            self._x.all, self._f.all, self._g.all, self._h.all, failed, feasible, given, attempt, fault, self.leader
        )


def stacked(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    """Rows [n, width]; one of another width is nan."""
    blank = np.full(width, np.nan)
    return np.array([r if r.size == width else blank for r in rows]).reshape(len(rows), width)
