"""A noisy function: the best point is called again, so that luck does not decide.

The least of many noisy values lies below what the function is worth there. The last calls of a run therefore go, one
after the other, to whatever point is best by the mean of its calls so far, of few points; the answer is the best by its
mean of those that were called most.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation, Evaluations
from meco.core.results import feasibility_first
from meco.core.rule import best
from meco.run.log.evaluation_log import LayoutChanged

if TYPE_CHECKING:
    from meco.run.session import Session

WANTED = (None, "target", "feasible", "converged", "callback")  # ends of a search after which there is time for it
SHARED = 4  # calls for each point that is called again, on average at least


class Means(NamedTuple):
    """Distinct points [n, D]; of the calls of each how many [n], and means and spreads of f [n], g [n, p], h [n, q]."""

    x: np.ndarray
    calls: np.ndarray
    mean: tuple[np.ndarray, np.ndarray, np.ndarray]
    spread: tuple[np.ndarray, np.ndarray, np.ndarray]

    def leader(self, allowed: tuple[Any, Any], least: int = 1) -> int | None:
        """The best by its means of those called at least so often; None where there is none."""
        f, g, h = self.mean
        ev = Evaluation.of(f[None], g[None], h[None], *allowed)
        few = (self.calls < least)[None]
        return None if few.all() else int(best(feasibility_first(ev).last_where(few))[0])


def means(every: Evaluations) -> Means:
    """The means of all points with an answer; the spread is the standard deviation of a sample, 0 of one call."""
    good = np.flatnonzero(~every.failed)
    x, place, calls = np.unique(every.x[good], axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)

    def both(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wide = values[good].reshape(len(good), -1)
        total = np.zeros((len(x), wide.shape[1]))
        np.add.at(total, place, wide)
        mean, square = total / calls[:, None], np.zeros_like(total)
        np.add.at(square, place, (wide - mean[place]) ** 2)
        spread = np.sqrt(square / np.maximum(calls - 1, 1)[:, None])
        shape = (len(x), *values.shape[1:])
        return mean.reshape(shape), spread.reshape(shape)

    mean, spread = zip(*(both(v) for v in (every.f, every.g, every.h)))
    return Means(x, calls, mean, spread)


def next_point(every: Evaluations, allowed: tuple[Any, Any], repeats: int) -> np.ndarray | None:
    """The point [D] to call again: the best by its mean, of at most a quarter as many points as there are calls."""
    found = means(every)
    enough = np.count_nonzero(found.calls > 1) >= max(1, repeats // SHARED)
    at = found.leader(allowed, least=2 if enough else 1) if len(found.x) else None
    return None if at is None else found.x[at]


def call_again(session: Session) -> None:
    """The last calls of a run whose search is over; what they answer ends nothing."""
    request, log = session.request, session.log
    if session.stopping.reason not in WANTED:
        return
    session.stopping.settle()
    for _ in range(request.repeats):
        if log.planned >= request.budget:  # retries count, and an asynchronous run is resumed with what it repeated
            return
        allowed = request.tolerances(log)
        x = next_point(log.columns(request.dim, request.known, *allowed), allowed, request.repeats)
        if x is None:
            return
        with suppress(LayoutChanged):  # the next point is chosen anew in any case
            session.caller(x[None])


class Settled(NamedTuple):
    """The point that repeated calls settled on, its means, their spreads and how many calls there were."""

    x: np.ndarray
    f: float
    g: np.ndarray
    h: np.ndarray
    feasible: bool
    calls: int
    spread: tuple[float, np.ndarray, np.ndarray]


def settled(every: Evaluations, allowed: tuple[Any, Any]) -> Settled | None:
    """The best by its means of points called half as often as any or more; None where none was called again."""
    found = means(every)
    most = int(np.max(found.calls, initial=0))
    at = found.leader(allowed, least=(most + 1) // 2) if most > 1 else None
    if at is None:
        return None
    f, g, h = (m[at] for m in found.mean)
    ev = Evaluation.of(f[None, None], g[None, None], h[None, None], *allowed)
    spread = tuple(s[at] for s in found.spread)
    return Settled(found.x[at], float(f), g, h, bool(ev.feasible[0, 0]), int(found.calls[at]), spread)
