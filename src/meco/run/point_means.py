"""Points that were called several times, and the means of their calls."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation
from meco.core.metrics import feasibility_first
from meco.core.rule import best as best_of_order
from meco.evaluations import Evaluations

BLOCK_NUMBERS = 2_000_000  # values that are copied at once
LARGEST_SQUARED = 1e140  # differences above it, and below its inverse, are squared in units of the largest


class PointMeans(NamedTuple):
    """Distinct points x [n, D] with an answer, how many calls [n] each had, and the means of f [n].

    Of the k points that were called again there are means and spreads of all values; the values of the others stay in
    the table of evaluations, whose rows `first` [n] are the first calls of the points.
    """

    x: np.ndarray
    calls: np.ndarray
    f: np.ndarray
    several: np.ndarray  # [k] which points were called again
    mean: tuple[np.ndarray, np.ndarray, np.ndarray]  # f [k], g [k, p], h [k, q]
    spread: tuple[np.ndarray, np.ndarray, np.ndarray]
    first: np.ndarray
    every: Evaluations

    def mean_at(self, point: int) -> tuple[np.ndarray, np.ndarray]:
        """Means of g [p] and h [q] at one point, which must not be written to."""
        if self.calls[point] > 1:
            place = int(np.searchsorted(self.several, point))
            return self.mean[1][place], self.mean[2][place]
        return self.every.g[self.first[point]], self.every.h[self.first[point]]

    def best_index(self, tolerances: tuple[Any, Any], candidates: np.ndarray) -> int | None:
        """Index of the best by its means of these candidates [n]; None where there is none."""
        points = np.flatnonzero(candidates)
        if not points.size:
            return None
        ev = self._evaluate(points, tolerances)
        return int(points[best_of_order(feasibility_first(ev))[0]])

    def feasible(self, tolerances: tuple[Any, Any]) -> np.ndarray:
        """Which points [n] keep every constraint by their means, within the tolerances of the table."""
        kept = self.every.feasible[self.first].copy()
        kept[self.several] = self._evaluate(self.several, tolerances).feasible[0]
        return kept

    def violation(self, points: np.ndarray, tolerances: tuple[Any, Any]) -> np.ndarray:
        """Sum of violations [m] of the means of these points [m]."""
        parts = [self._evaluate(part, tolerances).nu[0] for part in self.split_points(points)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def split_points(self, points: np.ndarray) -> list[np.ndarray]:
        """The same points [m] in parts whose values are not too many to be copied at once."""
        width = 1 + self.every.g.shape[1] + self.every.h.shape[1]
        most = max(1, BLOCK_NUMBERS // width)
        return [points[at : at + most] for at in range(0, len(points), most)]

    def means_of(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means of g [m, p] and h [m, q] of these points [m]."""
        rows, again = self.first[points], np.flatnonzero(self.calls[points] > 1)
        g, h = self.every.g[rows], self.every.h[rows]
        place = np.searchsorted(self.several, points[again])
        g[again], h[again] = self.mean[1][place], self.mean[2][place]
        return g, h

    def _evaluate(self, points: np.ndarray, tolerances: tuple[Any, Any]) -> Evaluation:
        """The means of these points [m] as a rule reads them, an evaluation [1, m]."""
        g, h = self.means_of(points)
        return Evaluation.of(self.f[points][None], g[None], h[None], *tolerances)

    def sum_over_points(self, values: np.ndarray) -> np.ndarray:
        """The sum [...] of values [k, ...] of points that were called again and 0 of all others, to the last bit.

        Rows of several numbers are added one after the other, so that those of 0 can be left out; single numbers in
        pairs, so that they cannot.
        """
        if math.prod(values.shape[1:]) > 1:
            return np.asarray(values.sum(axis=0))
        filled = np.zeros((len(self.x), *values.shape[1:]))
        filled[self.several] = values
        return np.asarray(filled.sum(axis=0))


def average_calls(every: Evaluations) -> PointMeans:
    """The means of all points with an answer; the spread is the standard deviation of a sample.

    What is computed grows with the calls of points that were called again, not with all calls.
    """
    good = np.flatnonzero(~every.failed)
    x, first, index, calls = np.unique(
        every.x[good], axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    index = index.reshape(-1)
    several = np.flatnonzero(calls > 1)
    again = np.flatnonzero(calls[index] > 1)
    place = np.searchsorted(several, index[again])
    own = (good[first[several]], good[again], place, calls[several])
    mean, spread = zip(*(_average_rows(values, *own) for values in (every.f, every.g, every.h)))
    f = every.f[good[first]]
    f[several] = mean[0]
    return PointMeans(x, calls, f, several, mean, spread, good[first], every)


def safe_unit(size: np.ndarray) -> np.ndarray:
    """1, but for sizes [...] whose squares would underflow or overflow: these."""
    extreme = np.isfinite(size) & (size > 0.0) & ((size < 1.0 / LARGEST_SQUARED) | (size > LARGEST_SQUARED))
    return np.where(extreme, size, 1.0)


def _average_rows(
    values: np.ndarray, first: np.ndarray, rows: np.ndarray, place: np.ndarray, calls: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and spread [k, ...] of k points from values [n, ...], of which each has so many calls [k].

    first [k] are the rows of first calls, rows [m] those of all calls, and place [m] says of which point.
    """
    width = math.prod(values.shape[1:])
    wide = values.reshape(len(values), width)
    mean = wide[first]
    total, square = np.zeros_like(mean), np.zeros_like(mean)
    most = max(1, BLOCK_NUMBERS // max(1, width))
    parts = [slice(at, at + most) for at in range(0, len(rows), most)]
    for part in parts:  # from the first call: equal ones have that mean
        np.add.at(total, place[part], wide[rows[part]] - mean[place[part]])
    mean += total / calls[:, None]
    off = (np.max(np.abs(wide[rows[part]] - mean[place[part]]), axis=0, initial=0.0) for part in parts)
    unit = safe_unit(np.max([np.zeros(width), *off], axis=0))
    for part in parts:
        np.add.at(square, place[part], ((wide[rows[part]] - mean[place[part]]) / unit) ** 2)
    spread = unit * np.sqrt(square / (calls - 1)[:, None])
    shape = (len(first), *values.shape[1:])
    return mean.reshape(shape), spread.reshape(shape)
