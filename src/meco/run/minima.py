"""Where the separate starts of a search ended: the best distinct minima, and how many starts came to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from meco.evaluations import Evaluations
from meco.result import Minimum
from meco.run.request import Request

SAME_SHARE = 0.01  # of the range of every variable within which two ends are one minimum
MOST_MINIMA = 20


def find_minima(request: Request, every: Evaluations, trace: Mapping[str, np.ndarray]) -> tuple[Minimum, ...]:
    """The best feasible point of each start, best first, those that are the same joined; () where none is feasible.

    As for the answer, a point with every g <= 0 goes before one that is feasible by its tolerance alone. A start that
    was cut off after fewer points than a model needs, D + 1, counts only where it found something new. The last start
    of several was cut off by the end of the run: where it came to no minimum of another, it is none unless the answer.
    """
    start = find_start_of_each(every, trace)
    strict = every.feasible & (every.g <= 0.0).all(axis=1)
    last = int(start.max(initial=0))
    ends = []  # of each start: its best feasible row, and whether it had time to come to an end
    for this in np.unique(start):
        rows = np.flatnonzero((start == this) & strict)
        rows = rows if rows.size else np.flatnonzero((start == this) & every.feasible)
        if rows.size:
            lasted = int((start == this).sum()) > request.dim
            ends.append((int(rows[np.argmin(every.f[rows])]), lasted))
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
        Minimum(every.x[rows[0][0]].copy(), float(every.f[rows[0][0]]), max(1, sum(lasted for _, lasted in rows)))
        for rows in [each for each in found if each is found[0] or any(start[i] < last for i, _ in each)][:MOST_MINIMA]
    )


def describe_evidence(minima: Sequence[Minimum]) -> str:
    """What a reader may conclude from where the starts ended, in a sentence."""
    starts = sum(each.starts for each in minima)
    if not starts:
        return ""
    if starts == 1:
        return (
            "Only one start was finished, so nothing tells whether a better minimum lies elsewhere; a run from another "
            "x0 would help."
        )
    best = minima[0].starts
    if best == starts:
        return f"All {starts} finished starts ended at this minimum, which is evidence that it is the best, no proof."
    others = "another" if len(minima) == 2 else f"{len(minima) - 1} others, the best of them"
    return (
        f"{best} of {starts} finished starts ended at this minimum, the rest at {others} with f = {minima[1].f:.6g}: "
        "there are several minima, so a better one may exist."
    )


def find_start_of_each(every: Evaluations, trace: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which start made each evaluation [n], from 0; known points belong to the first."""
    if "restarts" not in trace or not len(trace["restarts"]):
        return np.zeros(len(every), dtype=np.int64)
    calls = np.cumsum(~every.known)
    generation = np.searchsorted(trace["nfev"], calls)
    return np.asarray(trace["restarts"], dtype=np.int64)[np.minimum(generation, len(trace["restarts"]) - 1)]
