"""Points that were called several times, and the means of their calls."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation
from meco.core.metrics import feasibility_first
from meco.core.rule import best as best_of_order
from meco.evaluations import Evaluations


class PointMeans(NamedTuple):
    """Distinct points [n, D]; of the calls of each how many [n], and means and spreads of f [n], g [n, p], h [n, q]."""

    x: np.ndarray
    calls: np.ndarray
    mean: tuple[np.ndarray, np.ndarray, np.ndarray]
    spread: tuple[np.ndarray, np.ndarray, np.ndarray]

    def best_index(self, tolerances: tuple[Any, Any], candidates: np.ndarray) -> int | None:
        """Index of the best by its means of these candidates [n]; None where there is none."""
        ev, others = self._evaluate(tolerances), ~candidates[None]
        return None if others.all() else int(best_of_order(feasibility_first(ev).last_where(others))[0])

    def feasible(self, tolerances: tuple[Any, Any]) -> np.ndarray:
        """Which points [n] keep every constraint by their means."""
        return np.asarray(self._evaluate(tolerances).feasible[0])

    def violation(self, tolerances: tuple[Any, Any]) -> np.ndarray:
        """Sum of violations [n] of the means."""
        return np.asarray(self._evaluate(tolerances).nu[0])

    def _evaluate(self, tolerances: tuple[Any, Any]) -> Evaluation:
        """The means as a rule reads them, an evaluation [1, n]."""
        f, g, h = self.mean
        return Evaluation.of(f[None], g[None], h[None], *tolerances)


def average_calls(every: Evaluations) -> PointMeans:
    """The means of all points with an answer; the spread is the standard deviation of a sample, 0 of one call."""
    good = np.flatnonzero(~every.failed)
    x, first, index, calls = np.unique(
        every.x[good], axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    index = index.reshape(-1)
    several = np.flatnonzero(calls > 1)  # points; all else are their only calls
    again = np.flatnonzero(calls[index] > 1)  # calls of these
    place = np.searchsorted(several, index[again])

    def mean_and_spread(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and spread of the calls of each point."""
        wide = values[good].reshape(len(good), math.prod(values.shape[1:]))
        mean = wide[first]
        spread, total = np.zeros_like(mean), np.zeros((len(several), wide.shape[1]))
        np.add.at(total, place, wide[again] - mean[index[again]])  # from the first call: equal ones have that mean
        mean[several] += total / calls[several, None]
        square = np.zeros_like(total)
        np.add.at(square, place, (wide[again] - mean[index[again]]) ** 2)
        spread[several] = np.sqrt(square / (calls[several] - 1)[:, None])
        shape = (len(x), *values.shape[1:])
        return mean.reshape(shape), spread.reshape(shape)

    mean, spread = zip(*(mean_and_spread(v) for v in (every.f, every.g, every.h)))
    return PointMeans(x, calls, mean, spread)
