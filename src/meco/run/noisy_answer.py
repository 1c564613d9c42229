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

from meco.evaluations import BestPoint, Evaluations
from meco.result import EQUALITY_ERRORS, SUCCESS_PROBABILITY
from meco.run.point_means import PointMeans, average_calls, safe_unit

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
    """The answer of a run whose calls differ; None where they do not, or where nobody told and no call was repeated.

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
