"""The answer of a noisy run: the best by repeated calls, and how likely it keeps the constraints.

A search that finds its function noisy spends its last calls on the points that are best by its models (tr/noise.py).
Here the calls of each point are averaged. With n calls and the standard deviation s of one, pooled over all points
that were called again, the mean of an inequality has the standard error s / sqrt(n):

    P(feasible) = product over the inequalities of Phi((tolerance - mean) / (s / sqrt(n))).             (1)

Standard deviations that the user or the answers told stand in the place of s; a run that called no point again is then
judged by single calls. Success means that (1) is at least 0.95.
Of an equality no probability is asked: its mean must be within the tolerance and two standard errors.

The answer has the least mean of f of the points that are feasible with this probability; where there is none, it is
the point that most likely is. How often a point was called does not speak for it: a search may have called one again
and again that it knows to violate. Points that were called once count only where no other keeps the limits by its
means. Of m such points that kept them the best is a lucky one, so its probability is (1) to the power of m.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from meco.evaluations import BestPoint, Evaluations
from meco.result import EQUALITY_ERRORS, SUCCESS_PROBABILITY
from meco.run.point_means import PointMeans, average_calls


class NoisyAnswer(NamedTuple):
    """A point with the means of its calls, the probability that it is feasible, its calls, and the standard errors of
    f and of the constraints' means."""

    point: BestPoint
    probability: float
    calls: int
    error: float
    constraint_errors: np.ndarray


def choose_noisy_answer(
    every: Evaluations, tolerances: tuple[Any, Any], told: np.ndarray | None = None
) -> NoisyAnswer | None:
    """The answer of a run whose calls differ; None where they do not, or where nobody told and no call was repeated.

    told [1 + p + q] are standard deviations of a call, where these are known.
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
    chances = _rank_candidates(found, deviations, tolerances)
    k = _choose_index(found, chances, tolerances)
    g, h = found.mean[1][k], found.mean[2][k]
    root = math.sqrt(found.calls[k])
    sure = bool(chances[k] >= SUCCESS_PROBABILITY)
    point = BestPoint(found.x[k].copy(), float(found.mean[0][k]), g, h, sure, True)
    errors = np.concatenate([np.atleast_1d(deviations[1]), np.atleast_1d(deviations[2])]) / root
    return NoisyAnswer(point, float(chances[k]), int(found.calls[k]), float(np.squeeze(deviations[0])) / root, errors)


def _rank_candidates(found: PointMeans, deviations: list[np.ndarray], tolerances: tuple[Any, Any]) -> np.ndarray:
    """The probability [n] that each point may answer with; -1 of points that are no candidates.

    Those are points called once, unless all were or no other keeps the limits by its means.
    """
    again = found.calls >= min(2, int(found.calls.max()))
    chances = np.full(len(again), -1.0)
    for k in np.flatnonzero(again).tolist():
        chances[k] = _feasibility_probability(found, k, deviations, tolerances)
    kept = (found.mean[1] <= np.asarray(tolerances[0])).all(axis=1)  # of equalities the probability tells: it is not 0
    if again.all() or (kept & (chances > 0.0)).any():
        return chances
    single = np.flatnonzero(kept & ~again).tolist()
    once = {k: _feasibility_probability(found, k, deviations, tolerances) for k in single}
    lucky = {k: chance for k, chance in once.items() if chance > 0.0}
    for k, chance in lucky.items():
        chances[k] = chance ** len(lucky)
    return chances


def _choose_index(found: PointMeans, chances: np.ndarray, tolerances: tuple[Any, Any]) -> int:
    """The point with the least mean of f of those surely feasible; else the likeliest to be, then the least violation.

    Of the surely feasible, those called half as often as any of them or more: a mean of few calls may be a lucky one.
    """
    sure = chances >= SUCCESS_PROBABILITY
    if sure.any():
        most = int(found.calls[sure].max())
        return int(np.argmin(np.where(sure & (found.calls >= (most + 1) // 2), found.mean[0], np.inf)))
    return int(np.lexsort((found.violation(tolerances), -chances))[0])


def _pool_spreads(found: PointMeans, spread: np.ndarray) -> np.ndarray:
    """Standard deviation of a single call of f [] or constraints [C], over all points that were called again.

    A little larger where there are few such calls.
    """
    free = np.maximum(found.calls - 1, 0).astype(float)
    total = free.sum()
    weight = free.reshape(-1, *([1] * (spread.ndim - 1)))
    return np.sqrt(np.sum(weight * spread**2, axis=0) / total) * (1.0 + 1.0 / (2.0 * total))


def _feasibility_probability(
    found: PointMeans, k: int, deviations: list[np.ndarray], tolerances: tuple[Any, Any]
) -> float:
    """Eq. (1) of point number k, with deviations of f [], g [p], h [q]; 0 where the mean of an equality is off."""
    root = math.sqrt(found.calls[k])
    g, h = found.mean[1][k], found.mean[2][k]
    if np.any(np.abs(h) > np.asarray(tolerances[1]) + EQUALITY_ERRORS * deviations[2] / root):
        return 0.0
    room = np.asarray(tolerances[0]) - g
    error = np.broadcast_to(deviations[1] / root, room.shape)
    chance = 1.0
    for gap, size in zip(room.tolist(), error.tolist()):
        chance *= float(gap >= 0.0) if size <= 0.0 else 0.5 * math.erfc(-gap / (size * math.sqrt(2.0)))
    return chance
