"""Default tolerances of equalities, in proportion to the values of the first design."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from meco.options import EQ_TOL

if TYPE_CHECKING:
    from meco.run.layout import Entry, PriorEvaluations

LEAST_SHARE = 1e-12  # of the largest |h|: what rounding leaves of it
ROUNDING = 1e-14  # of the variables: smaller values of h are rounding and tell no scale


class EqualityDefaults:
    """Tolerances [q] of equalities without one of their own: EQ_TOL min(1, s), at least LEAST_SHARE of the largest |h|.

    s is the median of |h| over the finite, nonzero values of the first design: known points and the first batch of
    calls, or D + 1 answers where a method asks for single points. With asynchronous workers it is the first 2 D + 1
    answers to arrive. Fixed from then on, so a resumed run has the same. Before that the largest |h| stands for s.
    """

    def __init__(self, known: PriorEvaluations | None = None, *, by_arrival: bool = False) -> None:
        """Nothing is fixed yet. Of known points the first 2 D + 1 count: later ones of a run are near its minimum."""
        self.known, self.by_arrival = known, by_arrival
        self.fixed: np.ndarray | None = None  # [q]
        self._numbers: list[int] = []  # of the answers that they are taken from

    def estimate(self, entries: Iterable[Entry], n_eq: int) -> np.ndarray:
        """Tolerances [q]: those fixed, else by the largest |h| of the usable ones among these answers."""
        if not n_eq:
            return np.zeros(0)
        if self.fixed is not None and self.fixed.size == n_eq:
            return self.fixed
        return self._measure(entries, n_eq, np.max)

    def _measure(self, entries: Iterable[Entry], n_eq: int, middle: Callable[[np.ndarray], np.floating]) -> np.ndarray:
        """Tolerances [q] from the usable ones among these answers, with middle(|h|) as s."""
        told = [e for e in entries if e.answer.informative and e.answer.h.size == n_eq]
        x, h = [e.x for e in told], [e.answer.h for e in told]
        if self.known is not None and self.known.h.shape[1] == n_eq:
            first = 2 * self.known.x.shape[1] + 1
            x, h = [*self.known.x[:first], *x], [*self.known.h[:first], *h]
        return _measure(np.array(x), np.array(h), middle) if x else np.full(n_eq, EQ_TOL)

    def note_arrival(self, number: int) -> None:
        """Note the number of a usable answer, as it came."""
        if self.by_arrival and self.fixed is None:
            self._numbers.append(number)

    def fix(self, entries: dict[int, Entry], n_eq: int, calls: int = 1) -> bool:
        """Fix the tolerances if the first design is complete: whether that was done now.

        calls is the size of the batch that was answered last.
        """
        if self.fixed is not None or not n_eq or not entries:
            return False
        dim = next(iter(entries.values())).x.size
        known = 0 if self.known is None else len(self.known.x)
        if self.by_arrival:
            self._numbers = self._numbers[: 2 * dim + 1]
            complete = len(self._numbers) == 2 * dim + 1
        else:
            self._numbers = list(entries)
            complete = calls > 1 or known + len(entries) > dim
        complete = complete and any(entries[n].good for n in self._numbers if n in entries)
        if complete:
            self.fixed = self._measure([entries[n] for n in self._numbers if n in entries], n_eq, np.median)
        return complete

    def begin_again(self, entries: dict[int, Entry], n_eq: int) -> None:
        """Fix the tolerances of other constraints than before, from the same answers where these tell them."""
        if self.fixed is not None:
            self.fixed = None
            told = [entries[n] for n in self._numbers if n in entries and np.isfinite(entries[n].answer.h).all()]
            self.fixed = self._measure(told or entries.values(), n_eq, np.median)


def _measure(x: np.ndarray, h: np.ndarray, middle: Callable[[np.ndarray], np.floating]) -> np.ndarray:
    """Tolerances [q] of equalities with values h [n, q] at points x [n, D], and middle(|h|) as s."""
    lengths = np.max(np.abs(x), axis=0)
    rounding = ROUNDING * np.min(lengths[lengths > 0.0], initial=np.inf)
    size = np.abs(h)
    found = np.full(h.shape[1], EQ_TOL)
    for i, column in enumerate(size.T):
        values = column[np.isfinite(column) & (column > (rounding if np.isfinite(rounding) else 0.0))]
        if values.size:
            found[i] = max(EQ_TOL * min(1.0, float(middle(values))), LEAST_SHARE * float(values.max()))
    return found
