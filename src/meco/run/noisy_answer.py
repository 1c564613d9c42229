"""The answer of a noisy run: the best by repeated calls, and how likely it keeps the constraints.

A search that finds its function noisy spends its last calls on the points that are best by its models (tr/noise.py).
Here the calls of each point are averaged. With n calls and the standard deviation s of one, pooled over all points
that were called again, the mean of an inequality has the standard error s / sqrt(n):

    P(feasible) = product over the inequalities of Phi((tolerance - mean) / (s / sqrt(n))).             (1)

Standard deviations that the user or the answers told stand in the place of s; a run that called no point again is then
judged by single calls. Success means that (1) is at least 0.95.
Of an equality no probability is asked: its mean must be within the tolerance and two standard errors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from meco.evaluations import BestPoint, Evaluations
from meco.run.point_means import PointMeans, average_calls

SUCCESS_PROBABILITY = 0.95
EQUALITY_ERRORS = 2.0  # standard errors by which the mean of an equality may miss its tolerance


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
    if told is None and (len(every) < 2 or len(np.unique(every.x, axis=0)) == len(every)):
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
    enough = np.flatnonzero(found.calls >= min(most, max(2, (most + 1) // 2)))
    chances = np.array([_feasibility_probability(found, k, deviations, tolerances) for k in enough.tolist()])
    sure = chances >= SUCCESS_PROBABILITY
    f = found.mean[0][enough]
    at = int(np.argmin(np.where(sure, f, np.inf))) if sure.any() else int(np.argmax(chances))
    k = int(enough[at])
    g, h = found.mean[1][k], found.mean[2][k]
    root = math.sqrt(found.calls[k])
    point = BestPoint(found.x[k].copy(), float(found.mean[0][k]), g, h, bool(sure[at]), True)
    errors = np.concatenate([np.atleast_1d(deviations[1]), np.atleast_1d(deviations[2])]) / root
    return NoisyAnswer(point, float(chances[at]), int(found.calls[k]), float(np.squeeze(deviations[0])) / root, errors)


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
