"""Builds the Evaluations of a result from the answers in the log, as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from meco.core.evaluation import Evaluation
from meco.core.metrics import feasibility_first
from meco.core.partial_answers import known_violation
from meco.core.rule import best
from meco.evaluations import BestPoint, Evaluations
from meco.run.log.evaluation_columns import EvaluationColumns, stack_rows


@dataclass(frozen=True, eq=False)
class Listing:
    """How the answers of a log are listed: after known points [D], judged by tolerances, in one of two orders."""

    dim: int
    known: Any  # PriorEvaluations; None for none
    ineq_tol: Any
    eq_tol: Any
    exact_eq: np.ndarray | None = None  # the best keeps equalities within these [q], where some point does
    by_arrival: bool = False  # calls as they were told, not by number

    def is_judged_like(self, other: Listing) -> bool:
        """Whether all tolerances, of inequalities and of equalities, are the same numbers."""
        mine: tuple[Any, ...] = (self.ineq_tol, self.eq_tol, self.exact_eq)
        return all(a is b or np.array_equal(a, b) for a, b in zip(mine, (other.ineq_tol, other.eq_tol, other.exact_eq)))


class EvaluationsBuilder:
    """Evaluations so far, known ones first, then by number or as they came; of each the columns are made once.

    By number an answer that comes late is put in its place: only the rows after it move. Once the best has every g <= 0
    only a feasible answer of lesser f can beat it, or of the same f and further up: answers are then asked for that
    alone, and wait for their columns until one is read.
    """

    def __init__(self, listing: Listing, counts: tuple[int, int]) -> None:
        """Begin with the known points; counts are (inequalities, equalities)."""
        self.listing, self.counts = listing, counts
        self._strictest_eq = listing.eq_tol if listing.exact_eq is None else listing.exact_eq
        self._columns = EvaluationColumns(listing.dim, counts, (listing.ineq_tol, listing.eq_tol))
        self._handed_out = False  # whether somebody may read these columns, now or later
        self._numbers: list[int] = []  # of calls, in the order of their rows
        self.leader, self._best_is_strict = -1, False  # the best row, and whether it has every g <= 0
        self.best: BestPoint | None = None
        if listing.known is not None and len(listing.known.f):
            self._columns.append_known(*listing.known)
            self._update_best(np.arange(self._columns.count))

    def count_columnless(self, entries: dict[int, Any]) -> int:
        """How many calls of a log make_columns() would make the columns of."""
        return len(self._columns.waiting) + len(entries) - len(self._numbers)

    def evaluations_of(self, entries: dict[int, Any]) -> Evaluations:
        """Evaluations of all calls of a log; columns are made when one is read."""
        self._append(self._list_new(entries))
        self._handed_out = True
        return Evaluations.deferred(partial(self._columns.columns, self._columns.count), self.leader, self.best)

    def make_columns(self, entries: dict[int, Any]) -> None:
        """Make the columns of all calls of a log before one is read."""
        self._append(self._list_new(entries))
        self._columns.make_rows()

    def _list_new(self, entries: dict[int, Any]) -> list[Any]:
        """The calls that are new since the last time, as they came or by number."""
        numbers = newest_numbers(entries, len(entries) - len(self._numbers))
        return [entries[n] for n in (numbers if self.listing.by_arrival else sorted(numbers))]

    def _append(self, entries: Sequence[Any]) -> None:
        """Put answers in their places, and compare the best of them with the best before."""
        rows = self._add_rows(entries)
        if self.best is not None and self._best_is_strict:
            before = self.best.f, self.leader
            less = [i for i, e in enumerate(entries) if e.good and (e.f, rows[i]) < before]
            g, h = (
                stack_rows(c, n)
                for c, n in zip(([entries[i].g for i in less], [entries[i].h for i in less]), self.counts)
            )
            kept = (g <= 0.0).all(axis=1) & (np.abs(h) <= self._strictest_eq).all(axis=1)
            for i in np.flatnonzero(kept).tolist() if less else ():
                e = entries[less[i]]
                if (e.f, rows[less[i]]) < (self.best.f, self.leader):
                    self.leader, self.best = int(rows[less[i]]), BestPoint(e.x, e.f, e.g, e.h, True, True)
        elif entries:
            self._columns.make_rows()
            self._update_best(rows)

    def _add_rows(self, entries: Sequence[Any]) -> np.ndarray:
        """Add a row for each of these answers: the rows [n] at which they are now.

        Columns that somebody may read stay as they were where others have to move.
        """
        late = bool(entries and self._numbers) and entries[0].number < self._numbers[-1] and not self.listing.by_arrival
        if late and self._handed_out:
            self._columns, self._handed_out = self._columns.copy(), False
        self._numbers += [e.number for e in entries]
        self._columns.append(entries)
        rows = np.arange(self._columns.count - len(entries), self._columns.count)
        if not late:
            return rows
        known = self._columns.count - len(self._numbers)
        order = np.concatenate([np.arange(known), known + np.argsort(self._numbers)])
        self._columns.arrange(order)
        self._numbers.sort()
        place = np.argsort(order)  # the row at which each is now
        self.leader = int(place[self.leader]) if self.leader >= 0 else -1
        return place[rows]

    def _update_best(self, rivals: np.ndarray) -> None:
        """Compare these rows, which have columns, with the best before; points with every g <= 0 come before others.

        Of these, those that keep what is known exactly to rounding come first; of equal ones the first row.
        """
        if self.leader >= 0:
            rivals = np.sort(np.append(rivals, self.leader))
        _, f, g, h, _ = (part[None] for part in self._columns.values(rivals))
        ev = Evaluation.of(f, g, h, 0.0, self._strictest_eq)
        self._best_is_strict = bool(ev.feasible.any())
        if not self._best_is_strict and self.listing.exact_eq is not None:
            ev = Evaluation.of(f, g, h, 0.0, self.listing.eq_tol)
        if not ev.feasible.any():
            ev = Evaluation.of(f, g, h, self.listing.ineq_tol, self.listing.eq_tol)
        chosen = int(best(feasibility_first(ev))[0])
        if ev.failed.all():  # of answers that are known in part, the one that violates least
            chosen = int(np.argmin(known_violation(g[0], h[0])))
        self.leader = int(rivals[chosen])
        x, least, own_g, own_h, flags = (part[0] for part in self._columns.values(rivals[[chosen]]))
        failed, feasible, _ = flags.tolist()
        self.best = BestPoint(x, float(least), own_g, own_h, feasible, not failed)


def newest_numbers(entries: dict[int, Any], count: int) -> list[int]:
    """The last so many numbers that were entered, in the order in which they were."""
    return [*islice(reversed(entries), count)][::-1]
