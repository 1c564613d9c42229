"""Where the separate starts of a search ended: the best distinct minima, and how many starts came to each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from meco.evaluations import Evaluations
from meco.result import Minimum
from meco.run.request import Request
from meco.variables import Variables

SAME_SHARE = 0.01  # of the range of every variable within which two ends are one minimum
MOST_MINIMA = 20
FAR_LENGTHS = 1e6  # from the start, along a variable without a bound, beyond which no minimum is to be expected
MOST_SPELT_OUT = 1e9  # a number of combinations with all its digits


def find_minima(
    request: Request,
    every: Evaluations,
    trace: Mapping[str, np.ndarray],
    *,
    answer: np.ndarray | None = None,
    converged: bool = False,
) -> tuple[Minimum, ...]:
    """The best feasible point of each start that was finished, best first, those that are the same joined.

    As for the answer, a point with every g <= 0 goes before one that is feasible by its tolerance alone. Every start
    but the last was finished: the search began again. The last one was if it converged, or if it made the answer [D],
    where that is given: a point that is known to be stationary. Other ends are no minima, and count for none.
    """
    start = find_start_of_each(every, trace)
    last = int(start.max(initial=0))
    ends = []  # of each start: its best feasible row, and whether it was finished
    strict: dict[int, bool] = {}  # of these rows: whether every g <= 0
    for this in np.unique(start):
        rows = np.flatnonzero((start == this) & every.feasible)
        if rows.size:
            best, kept = _find_best_row(every, rows)
            strict[best] = kept
            finished = this < last or converged or (answer is not None and np.array_equal(every.x[best], answer))
            ends.append((best, finished))
    ends.sort(key=lambda end: (not strict[end[0]], float(every.f[end[0]])))
    width = request.variables.upper - request.variables.lower if request.range is None else request.range.length
    width = np.where(width > 0.0, width, 1.0)
    found: list[list[tuple[int, bool]]] = []
    for end in ends:
        x = every.x[end[0]]
        same = (one for one in found if (np.abs(every.x[one[0][0]] - x) <= SAME_SHARE * width).all())
        group = next(same, None)
        if group is None:
            found.append([end])
        else:
            group.append(end)
    return tuple(
        Minimum(every.x[rows[0][0]].copy(), float(every.f[rows[0][0]]), sum(bool(finished) for _, finished in rows))
        for rows in [each for each in found if any(finished for _, finished in each)][:MOST_MINIMA]
    )


def _find_best_row(every: Evaluations, rows: np.ndarray) -> tuple[int, bool]:
    """The row of least f of these feasible ones [m] that has every g <= 0, else of all, and whether it has.

    Rows are looked at from the least f on, so that of many constraints few rows are read.
    """
    ordered = rows[np.argsort(every.f[rows], kind="stable")].tolist()
    found = next((row for row in ordered if (every.g[row] <= 0.0).all()), None)
    return (ordered[0], False) if found is None else (found, True)


def note_missing_minimum(request: Request, minima: Sequence[Minimum], x: np.ndarray) -> list[str]:
    """A note on an objective that may have no minimum: x [D] is very far along a variable without a bound.

    [] where some start was finished, and where every bound is finite.
    """
    if request.range is None or request.centre is None or minima:
        return []
    moved = np.where(request.range.infinite, np.abs(x - request.centre) / request.range.length, 0.0)
    if moved.max() <= FAR_LENGTHS:
        return []
    name = request.variables.labels()[int(moved.argmax())]
    return [f"f falls as far as {name}, which has no bound there, was followed: it may have no minimum"]


class TriedCombinations(NamedTuple):
    """How many combinations of the variables that are no continuous numbers were evaluated, of how many."""

    kind: str  # "categories", "integers" or both
    tried: int
    total: float  # inf where an integer has no bound

    @property
    def most(self) -> bool:
        """Whether more were tried than not."""
        return 2 * self.tried > self.total

    def __str__(self) -> str:
        total = f"{self.total:,.0f}" if self.total < MOST_SPELT_OUT else f"{self.total:.2g}"
        return f"{self.tried:,} of {'infinitely many' if self.total == math.inf else total} combinations of {self.kind}"


def count_combinations(variables: Variables, every: Evaluations) -> TriedCombinations | None:
    """Combinations of categories and integers that every evaluation tried; None where every variable is continuous."""
    integer, categorical = variables.column("integer"), variables.categorical
    counts = variables.upper[integer] - variables.lower[integer] + 1.0
    total = float(np.prod(counts))
    if total <= 1.0:
        return None
    words = [word for word, there in (("categories", categorical), ("integers", integer & ~categorical)) if there.any()]
    return TriedCombinations(" and ".join(words), len(np.unique(every.x[:, integer], axis=0)), total)


def describe_evidence(
    minima: Sequence[Minimum], begun: int = 1, combinations: TriedCombinations | None = None, *, reached: bool = True
) -> str:
    """What a reader may conclude from where the starts ended, of so many begun, in a sentence or two.

    reached: whether the answer is the first of these minima, and not a point of a start that was not finished.
    Starts are not independent in combinations of categories and integers: where there are some, that starts agree is
    evidence only if most of them were tried.
    """
    starts = sum(each.starts for each in minima)
    tried = "" if combinations is None else f" {combinations} were tried."
    if not starts:
        advice = "so a better point may lie nearby or elsewhere; a larger budget would help."
        return f"No start was finished: the search has not converged at this point, {advice}{tried}"
    if not reached:
        ended = "one finished start" if starts == 1 else f"{starts} finished starts"
        return (
            f"The start that found this point was not finished, so a better one may lie nearby; {ended} ended at "
            f"f = {minima[0].f:.6g}{'' if starts == 1 else ' or above'}. A larger budget would help.{tried}"
        )
    if starts == 1:
        first = "Only one start was finished" if begun == 1 else f"Of {begun} starts only one was finished"
        advice = "so nothing tells whether a better minimum lies elsewhere; a run from another x0 would help."
        return f"{first}, {advice}{tried}"
    best = minima[0].starts
    if best == starts:
        agreed = f"All {starts} finished starts ended at this minimum"
        if combinations is None:
            return f"{agreed}, which is evidence that it is the best, no proof."
        if combinations.most:
            return f"{agreed}, and {combinations} were tried, which is evidence that it is the best, no proof."
        return f"{agreed}, but only {combinations} were tried: a better one may exist."
    others = "another" if len(minima) == 2 else f"{len(minima) - 1} others, the best of them"
    return (
        f"{best} of {starts} finished starts ended at this minimum, the rest at {others} with f = {minima[1].f:.6g}: "
        f"there are several minima, so a better one may exist.{tried}"
    )


def find_start_of_each(every: Evaluations, trace: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which start made each evaluation [n], from 0; known points belong to the first."""
    if "restarts" not in trace or not len(trace["restarts"]):
        return np.zeros(len(every), dtype=np.int64)
    calls = np.cumsum(~every.known)
    generation = np.searchsorted(trace["nfev"], calls)
    return np.asarray(trace["restarts"], dtype=np.int64)[np.minimum(generation, len(trace["restarts"]) - 1)]
