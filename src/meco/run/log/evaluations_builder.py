"""Builds the Evaluations of a result from the answers in the log, as they come."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np

from meco.core.arrays import GrowingRows
from meco.core.evaluation import Evaluation
from meco.core.metrics import feasibility_first
from meco.core.partial_answers import known_violation
from meco.core.rule import best
from meco.evaluations import BestPoint, Evaluations

COLUMNS_LOCK = Lock()  # held while columns are made, or answers begin to wait for them


class EvaluationsBuilder:
    """Evaluations so far, known ones first, then by number or as they came; of each the columns are made once.

    Once the best has every g <= 0 only a feasible answer of lesser f can beat it: answers are then asked for that
    alone, and wait for their columns until one is read. That may happen in another thread of the user's.
    """

    def __init__(
        self,
        dim: int,
        counts: tuple[int, int],
        known: Any,
        ineq_tol: Any,
        eq_tol: Any,
        *,
        exact_eq: np.ndarray | None = None,
        by_arrival: bool = False,
    ) -> None:
        """Begin with the known points, None for none; counts are (inequalities, equalities).

        Points that keep equalities within exact_eq [q] come before those that keep them within eq_tol.
        """
        self.counts, self.tolerances, self.by_arrival = counts, (ineq_tol, eq_tol), by_arrival
        self.exact_eq = exact_eq
        self._strictest_eq = eq_tol if exact_eq is None else exact_eq
        self.known_count = self.count = 0  # rows that were known beforehand, and all rows
        self.leader, self._best_is_strict = -1, False  # the best row, and whether it has every g <= 0
        self.best: BestPoint | None = None
        self._waiting: list[Any] = []  # answers without columns
        self._x, self._f = GrowingRows(dim), GrowingRows()
        self._g, self._h = GrowingRows(counts[0]), GrowingRows(counts[1])
        self._flags = GrowingRows(3, dtype=bool)  # failed, feasible, known
        self._codes = GrowingRows(2, dtype=np.int64)  # attempt, fault
        if known is not None and len(known.f):
            x, f, g, h = known
            self.known_count = self.count = len(f)
            self._append_rows(x, f, g, h, np.zeros((len(f), 2), dtype=np.int64), known=True)
            self._update_best(0)

    def count_columnless(self, entries: dict[int, Any]) -> int:
        """How many calls of a log make_columns() would make the columns of."""
        return len(self._waiting) + len(self._list_new(entries))

    def evaluations_of(self, entries: dict[int, Any]) -> Evaluations:
        """Evaluations of all calls of a log, of which those that are new since the last time are appended here.

        A batch that is under way may have gaps.
        """
        self._append(self._list_new(entries))
        built = self.count - self.known_count
        if len(entries) == built:
            return self._evaluations()
        return self._evaluations_beyond_gap([entries[n] for n in sorted(n for n in entries if n >= built)])

    def make_columns(self, entries: dict[int, Any]) -> None:
        """Append the calls of a log that are new, up to a gap, and make their columns before one is read."""
        self._append(self._list_new(entries))
        self._make_columns(self.count)

    def _list_new(self, entries: dict[int, Any]) -> list[Any]:
        """The calls that are new since the last time: all of them as they came, or by number up to a gap."""
        built = self.count - self.known_count
        if self.by_arrival:
            return [entries[n] for n in newest_numbers(entries, len(entries) - built)]
        fresh = []
        while built in entries:
            fresh.append(entries[built])
            built += 1
        return fresh

    def _evaluations_beyond_gap(self, late: list[Any]) -> Evaluations:
        """Evaluations with calls beyond a gap, which are not appended here: what fills the gap comes before them."""
        other = EvaluationsBuilder(self._x.all.shape[1], self.counts, None, *self.tolerances, exact_eq=self.exact_eq)
        self._make_columns(self.count)
        for mine, theirs in zip(self._parts(), other._parts()):
            theirs.extend(mine.all)
        other.count, other.leader, other.best, other._best_is_strict = (
            self.count,
            self.leader,
            self.best,
            self._best_is_strict,
        )
        other._append(late)
        return other._evaluations()

    def _parts(self) -> tuple[GrowingRows, ...]:
        """The blocks that grow; _append_rows() gives them more rows in this order."""
        return self._x, self._f, self._g, self._h, self._flags, self._codes

    def _append(self, entries: Sequence[Any]) -> None:
        """Append answers, and compare the best of them with the best before."""
        start, self.count = self.count, self.count + len(entries)
        with COLUMNS_LOCK:
            self._waiting += entries
        if self.best is not None and self._best_is_strict:
            less = [i for i, e in enumerate(entries) if e.f < self.best.f and e.good]
            g, h = (
                stack_rows(c, n)
                for c, n in zip(([entries[i].g for i in less], [entries[i].h for i in less]), self.counts)
            )
            kept = (g <= 0.0).all(axis=1) & (np.abs(h) <= self._strictest_eq).all(axis=1)
            for i in np.flatnonzero(kept).tolist() if less else ():
                e = entries[less[i]]
                if e.f < self.best.f:
                    self.leader, self.best = start + less[i], BestPoint(e.x, e.f, e.g, e.h, True, True)
        elif entries:
            self._make_columns(self.count)
            self._update_best(start)

    def _evaluations(self) -> Evaluations:
        """What was appended so far; columns are made when one is read."""
        return Evaluations.deferred(partial(self._make_columns, self.count), self.leader, self.best)

    def _make_columns(self, count: int) -> dict[str, np.ndarray]:
        """The first `count` rows of each column of Evaluations, [count, ...] by its name; makes those that wait."""
        with COLUMNS_LOCK:
            waiting, self._waiting = self._waiting, []
            self._append_entries(waiting)
            x, f, g, h, flags, codes = (part.all[:count] for part in self._parts())
        failed, feasible, known = flags.T
        attempt, fault = codes.T
        return {
            "x": x, "f": f, "g": g, "h": h, "failed": failed, "feasible": feasible, "known": known,
            "attempt": attempt, "fault": fault,
        }  # fmt: skip

    def _append_entries(self, entries: Sequence[Any]) -> None:
        """Append a row to every column for each of these answers; nothing for none."""
        if entries:
            g, h = (stack_rows(c, n) for c, n in zip(zip(*((e.g, e.h) for e in entries)), self.counts))
            codes = np.zeros((len(entries), 2), dtype=np.int64)
            for i, entry in enumerate(entries):
                if entry.attempt or entry.fault:  # seldom
                    codes[i] = entry.attempt, entry.fault
            x = stack_rows([e.x for e in entries], entries[0].x.size)
            self._append_rows(x, np.array([e.f for e in entries]), g, h, codes, known=False)

    def _append_rows(
        self, x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray, codes: np.ndarray, *, known: bool
    ) -> None:
        """Append rows of values [n, ...] and codes [n, 2] (attempt, fault), with what the tolerances make of them."""
        ev = Evaluation.of(f[None], g[None], h[None], *self.tolerances)
        unusable = codes[:, 1] != 0
        flags = [ev.failed[0] | unusable, ev.feasible[0] & ~unusable, np.full(len(f), known)]
        for kept, more in zip(self._parts(), (x, f, g, h, np.stack(flags, axis=1), codes)):
            kept.extend(more)

    def _update_best(self, start: int) -> None:
        """Compare the rows from start on with the best before; points with every g <= 0 come before others.

        Of these, those that keep what is known exactly to rounding come first.
        """
        rivals = np.arange(start, self.count)
        if self.leader >= 0:
            rivals = np.concatenate([[self.leader], rivals])
        f, g, h = (part.all[rivals][None] for part in (self._f, self._g, self._h))
        ev = Evaluation.of(f, g, h, 0.0, self._strictest_eq)
        self._best_is_strict = bool(ev.feasible.any())
        if not self._best_is_strict and self.exact_eq is not None:
            ev = Evaluation.of(f, g, h, 0.0, self.tolerances[1])
        if not ev.feasible.any():
            ev = Evaluation.of(f, g, h, *self.tolerances)
        chosen = int(best(feasibility_first(ev))[0])
        if ev.failed.all():  # of answers that are known in part, the one that violates least
            chosen = int(np.argmin(known_violation(g[0], h[0])))
        self.leader = at = int(rivals[chosen])
        failed, feasible, _ = self._flags.all[at].tolist()
        self.best = BestPoint(
            self._x.all[at], float(self._f.all[at]), self._g.all[at], self._h.all[at], feasible, not failed
        )


def newest_numbers(entries: dict[int, Any], count: int) -> list[int]:
    """The last so many numbers that were entered, in the order in which they were."""
    return [*islice(reversed(entries), count)][::-1]


def stack_rows(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    """Rows of numbers as [n, width]; one of another width is nan, n and width may be 0."""
    if not width:
        return np.empty((len(rows), 0))
    blank = np.full(width, np.nan)
    joined = bytearray().join([(r if r.size == width else blank).tobytes() for r in rows])  # quicker than np.array
    return np.frombuffer(joined).reshape(len(rows), width)
