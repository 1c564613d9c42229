"""The answer of a noisy run: the best by repeated calls, and how likely it keeps the constraints.

A search that finds its function noisy spends its last calls on the points that are best by its models (tr/noise.py).
Here the calls of each point are averaged. With n calls and the standard deviation s of one, pooled over all points
that were called again, the mean of an inequality has the standard error s / sqrt(n):

    P(feasible) = product over the inequalities of Phi((tolerance - mean) / (s / sqrt(n))).             (1)

Standard deviations that the user or the answers told stand in the place of s; a run that called no point again is then
judged by single calls. Success means that (1) is at least 0.95.
Of an equality no probability is asked: its mean must be within the tolerance and two standard errors.

In the end the means of calls at points alone decide, not the posterior of the models: these proposed the points, and
their posterior is not calibrated well enough to overrule calls.

The answer has the least mean of f of the points that are feasible with this probability and were called at least half
as often as any other of these: a mean of few calls may be a lucky one. Where no point is, it is the one that most
likely is, however often others were called: a search may have called one again and again that it knows to violate.

Points that were called once count only where no other keeps the limits by its means. The best of m of these is a lucky
one, and (1) too large for it. Were all of them at a limit, none would seem to be as far inside as it does with the
probability

    (1) to the power of m,                                                                              (2)

which stands in the place of (1) for each point that was called once, whatever else was called again. That is a bound
(Sidak's), not a probability: the true one is larger where few of them are near their limits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from meco.core.evaluation import Evaluation
from meco.core.metrics import feasibility_first
from meco.core.rule import best as best_of_order
from meco.evaluations import BestPoint, Evaluations
from meco.result import EQUALITY_ERRORS, SUCCESS_PROBABILITY
from meco.run.request import Request
from meco.space import make_box

SURE_ERRORS = 8.5  # standard errors within a limit from which on Phi is 1 to the last bit


class NoisyAnswer(NamedTuple):
    """A point with the means of its calls, the probability that it is feasible, its calls, and the standard errors of
    f and of the constraints' means."""

    point: BestPoint
    probability: float
    calls: int
    error: float
    constraint_errors: np.ndarray


def choose_noisy_answer(
    every: Evaluations,
    tolerances: tuple[Any, Any],
    told: np.ndarray | None = None,
    *,
    called_again: bool = False,
) -> NoisyAnswer | None:
    """The answer of a noisy run; None without noise, or where noise was not declared and no call was repeated.

    told [1 + p + q] are standard deviations of a call, where these are known. called_again: only points that were are
    candidates; then some point must have been.
    """
    if told is None and len(np.unique(every.x, axis=0)) == len(every.x):
        return None
    found = average_calls(every)
    most = int(found.calls.max(initial=0))
    if most < (2 if told is None else 1):
        return None
    if told is None:
        deviations = [_pool_spreads(found, spread) for spread in found.spread]
    else:
        deviations = np.split(told, (1, 1 + every.g.shape[1]))
    if not any(np.any(d > 0.0) for d in deviations):
        return None
    candidate = found.calls > 1 if called_again else _find_candidates(found, deviations, tolerances)
    chances = _find_chances(found, candidate, deviations, tolerances)
    single = candidate & (found.calls == 1)
    with np.errstate(under="ignore"):
        bounds = np.where(single, chances ** np.count_nonzero(single), chances)  # (2)
    k = _choose_index(found, chances, bounds, tolerances)
    g, h = (part.copy() for part in found.mean_at(k))
    root = math.sqrt(found.calls[k])
    sure = bool(bounds[k] >= SUCCESS_PROBABILITY)
    point = BestPoint(found.x[k].copy(), float(found.f[k]), g, h, sure, True)
    errors = np.concatenate([np.atleast_1d(deviations[1]), np.atleast_1d(deviations[2])]) / root
    return NoisyAnswer(point, float(bounds[k]), int(found.calls[k]), float(np.squeeze(deviations[0])) / root, errors)


def _find_candidates(found: PointMeans, deviations: list[np.ndarray], tolerances: tuple[Any, Any]) -> np.ndarray:
    """Which points [n] may be the answer: those called again, and where none of them keeps the limits by its means,
    those called once that do. All, where no point was called again and none keeps them."""
    again = found.calls > 1
    kept = ~again & found.every.feasible[found.first]
    several, single = found.several, np.flatnonzero(~again & ~kept)
    if _keep_limits(found, several, deviations, tolerances).any():
        return again
    if deviations[2].size:  # what noise allows equalities may make further ones feasible
        kept[single] = _keep_limits(found, single, deviations, tolerances)
    return again | kept if (again | kept).any() else np.ones(len(again), dtype=bool)


def _keep_limits(
    found: PointMeans, points: np.ndarray, deviations: list[np.ndarray], tolerances: tuple[Any, Any]
) -> np.ndarray:
    """Which of these points [m] keep the limits by their means."""
    kept = np.zeros(len(points), dtype=bool)
    for part in found.split_points(np.arange(len(points))):
        g, h = found.means_of(points[part])
        kept[part] = (g <= np.asarray(tolerances[0])).all(axis=1)
        kept[part] &= (np.abs(h) <= _allow_equalities(found.calls[points[part]], deviations, tolerances)).all(axis=1)
    return kept


def _choose_index(found: PointMeans, chances: np.ndarray, bounds: np.ndarray, tolerances: tuple[Any, Any]) -> int:
    """The point with the least mean of f of those surely feasible, by bounds (2) [n]; else the likeliest to be.

    Where bounds are equal, as those that underflow, chances (1) [n] decide, then the violation, then f.
    """
    sure = bounds >= SUCCESS_PROBABILITY
    if sure.any():
        most = int(found.calls[sure].max())
        return int(np.argmin(np.where(sure & (found.calls >= (most + 1) // 2), found.f, np.inf)))
    equal = np.flatnonzero(bounds == bounds.max())
    equal = equal[chances[equal] == chances[equal].max()]
    if len(equal) > 1:
        equal = equal[np.lexsort((found.f[equal], found.violation(equal, tolerances)))]
    return int(equal[0])


def _allow_equalities(calls: np.ndarray, deviations: list[np.ndarray], tolerances: tuple[Any, Any]) -> np.ndarray:
    """How far the mean of so many calls [...] of each equality may be from 0 [..., q]."""
    return np.asarray(tolerances[1]) + EQUALITY_ERRORS * deviations[2] / np.sqrt(calls)[..., None]


def _pool_spreads(found: PointMeans, spread: np.ndarray) -> np.ndarray:
    """Standard deviation of a single call of f [] or constraints [C], over all points that were called again.

    A little larger where there are few such calls.
    """
    free = (found.calls[found.several] - 1).astype(float)
    total = free.sum()
    weight = free.reshape(-1, *([1] * (spread.ndim - 1)))
    unit = safe_unit(np.max(spread, axis=0, initial=0.0))
    pooled = np.sqrt(found.sum_over_points(weight * (spread / unit) ** 2) / total)
    return unit * pooled * (1.0 + 1.0 / (2.0 * total))


def _find_chances(
    found: PointMeans, candidate: np.ndarray, deviations: list[np.ndarray], tolerances: tuple[Any, Any]
) -> np.ndarray:
    """Eq. (1) of each candidate [n], with deviations of f [], g [p], h [q]; -1 of points that are none."""
    chances = np.full(len(found.x), -1.0)
    limit = np.broadcast_to(np.asarray(tolerances[0], dtype=float), deviations[1].shape)
    for calls in np.unique(found.calls[candidate]).tolist():
        error = deviations[1] / math.sqrt(calls)
        allowed = _allow_equalities(np.asarray(calls), deviations, tolerances)
        near = limit - SURE_ERRORS * error  # from where on a limit may not be kept
        for i in np.flatnonzero(candidate & (found.calls == calls)).tolist():
            g, h = found.mean_at(i)
            k = np.flatnonzero(g > near)
            off = bool(np.any(np.abs(h) > allowed))
            chances[i] = 0.0 if off else _feasibility_probability(limit[k] - g[k], error[k])
    return chances


def _feasibility_probability(room: np.ndarray, error: np.ndarray) -> float:
    """Eq. (1) of means that are so far inside their limits [m], with standard errors [m]."""
    chance = 1.0
    for gap, size in zip(room.tolist(), error.tolist()):
        chance *= float(gap >= 0.0) if size <= 0.0 else 0.5 * math.erfc(-gap / (size * math.sqrt(2.0)))
        if chance == 0.0:
            break
    return chance


# -- means of repeated calls

LARGEST_SQUARED = 1e140  # differences above it, and below its inverse, are squared in units of the largest
BLOCK_NUMBERS = 2_000_000  # values that are copied at once


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


# -- signs of unseen noise
#
# Signs of noise in the values of a run that did not look for it: close points that differ as if they were far apart.
#
# A function changes between two points by their distance times a slope. Noise does not know of the distance, so with
#
#     s(i, k) = |y_i - y_k| / |u_i - u_k|                                                                  (1)
#
# the median of s over the closest pairs is far above the largest s of distant ones. Discontinuities look alike: this is
# a reason to look, no finding.

FEWEST_POINTS = 12
MOST_POINTS = 64  # nearest to the answer, and others to compare them with
MOST_FUNCTIONS = 64  # f and constraints that are looked at
LEAST_DISTANCE = 1e-7  # of the unit cube: closer pairs tell of rounding
FAR = 0.05  # of the unit cube
SIGN = 2.0  # times the largest slope of distant pairs: without noise it was at most 1 on 60 problems
NOTE = (
    "values of close points differ as if calls were noisy, and this run did not look: noise=True, or meco.confirm, "
    "tells how sure the answer is"
)


def note_unseen_noise(request: Request, every: Evaluations, x: np.ndarray) -> list[str]:
    """A note on values around the answer x [D] that look noisy, where noise was neither declared nor measured.

    [] where calls of one point were the same, or where noise= says something.
    """
    good = np.flatnonzero(~every.failed & ~every.known)
    if request.noise is not None or len(good) < FEWEST_POINTS or len(np.unique(every.x[good], axis=0)) < len(good):
        return []
    y = np.concatenate([every.f[good, None], *(c[good, :MOST_FUNCTIONS] for c in (every.g, every.h))], axis=1)
    y = y[:, :MOST_FUNCTIONS]
    box = make_box(request)
    return [NOTE] if looks_noisy(box.to_unit(every.x[good]), y, box.to_unit(x)) else []


def looks_noisy(u: np.ndarray, y: np.ndarray, at: np.ndarray) -> bool:
    """Whether eq. (1) of some function of y [n, F] is larger near `at` [D] than between distant points of u [n, D]."""
    nearest = np.argsort(((u - at) ** 2).sum(axis=1), kind="stable")
    near = nearest[:MOST_POINTS]
    rest = nearest[MOST_POINTS:]
    others = np.concatenate([near, rest[:: max(1, len(rest) // MOST_POINTS)]])
    apart = np.sqrt(((u[near, None, :] - u[None, others, :]) ** 2).sum(axis=-1))  # [m, k]
    with np.errstate(all="ignore"):
        change = np.abs(y[near, None, :] - y[None, others, :]) / apart[..., None]  # [m, k, F]
    far = apart > FAR
    pairs = np.where((np.tri(*apart.shape) > 0.0) | (apart < LEAST_DISTANCE), np.inf, apart)
    closest = np.argsort(pairs, axis=None, kind="stable")[: len(near)]
    closest = closest[pairs.ravel()[closest] <= FAR]
    if not far.any() or len(closest) < FEWEST_POINTS:
        return False
    local = np.median(change.reshape(-1, y.shape[1])[closest], axis=0)
    return bool(np.any(local > SIGN * np.max(change[far], axis=0)))
