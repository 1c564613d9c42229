"""The points of a turn: the model step, points that the models know least about, a new start, and further steps."""

from __future__ import annotations

import numpy as np

from meco.core.arrays import Array, namespace, rows
from meco.core.rule import best
from meco.tr.archive import SeenPoints, as_evaluation
from meco.tr.merit import MERIT, Weights
from meco.tr.model_fit import View
from meco.tr.quadratic import Fit, variance
from meco.tr.region import Region
from meco.tr.step import Place, relaxed_step

CLOSE = 0.05  # radii within which a point is as good as evaluated
SAME = 1e-8  # radius with which only the very point counts as evaluated
TRIES = 40  # random points of which the ones the models know least about are geometry points
AROUND = 0.25  # how far from the best point a new start may lie, in the unit cube
VARIANTS = ((0.4, 0.0), (1.0, 0.9), (2.5, 0.3), (0.15, 0.0))  # further steps of a batch: share of the radius, theta


def least_known(view: View, place: Place, delta: Array, u: Array, count: int, looks: Array) -> Array:
    """Of random steps u [B, n, D] in (0, 1), stretched over the box, those of largest variance: [B, count, D].

    Only the runs that look [B] need them: NumPy makes no others, and gives these zeros.
    """
    xp, fit = namespace(u), view.fit
    tries = xp.minimum(xp.maximum(2.0 * u - 1.0, place.low[:, None, :]), place.high[:, None, :])
    unit = (delta / view.spread)[:, None, None]
    if isinstance(looks, np.ndarray) and not looks.all():
        found = np.zeros((u.shape[0], count, u.shape[2]))
        found[looks] = _least_known(fit.of(looks), tries[looks], unit[looks], count)
        return found
    return _least_known(fit, tries, unit, count)


def _least_known(fit: Fit, tries: Array, unit: Array, count: int) -> Array:
    order = namespace(tries).argsort(-variance(fit, tries * unit), axis=-1, stable=True)
    return rows(tries, order[:, :count])


def new_start(seen: SeenPoints, region: Region, u: Array, grain: Array | float = 0.0) -> Array:
    """A point near the one of least merit, anywhere if all have failed; u [B, D] in (0, 1).

    Whole-number variables may move by one place, grain [B, D], however far apart two places are.
    """
    xp = namespace(u)
    chosen = best(MERIT.values(seen.evaluation(), region.weights).last_where(seen.failed))[:, None]
    width = xp.maximum(xp.zeros_like(u) + AROUND, xp.zeros_like(u) + grain)
    near = rows(seen.x, chosen)[:, 0, :] + 2.0 * width * (u - 0.5)
    return xp.where(xp.all(seen.failed, axis=-1)[:, None], u, xp.clip(near, min=0.0, max=1.0))


def further_step(place: Place, region: Region, number: int) -> Array:
    """Another step of the same models, in a smaller or larger box or under another theta: [B, D]."""
    share, theta = VARIANTS[number % len(VARIANTS)]
    xp = namespace(region.delta)
    low = xp.maximum(place.low, xp.zeros_like(place.low) - share)
    high = xp.minimum(place.high, xp.zeros_like(place.high) + share)
    relaxation = xp.zeros_like(region.delta) + theta
    return relaxed_step(place._replace(low=low, high=high), relaxation, region.multipliers, region.weights).s


def best_unseen(seen: SeenPoints, place: Place, region: Region, weights: Weights, near: Array) -> tuple[Array, Array]:
    """Of points near [B, n, D], the unseen one of least foreseen merit: [B, D]; and whether any is unseen: [B]."""
    xp = namespace(near)
    steps = (near - region.centre[:, None, :]) / region.delta[:, None, None]
    y = place.value[:, None, :] + place.models.changes(steps)
    known = [is_seen(seen, near[:, k, :], xp.zeros_like(region.delta) + SAME) for k in range(near.shape[1])]
    key = MERIT.values(as_evaluation(y, place.n_ineq, xp.stack(known, axis=1)), weights)
    chosen = best(key.last_where(xp.stack(known, axis=1)))[:, None]
    return rows(near, chosen)[:, 0, :], ~xp.all(xp.stack(known, axis=1), axis=-1)


def is_seen(seen: SeenPoints, x: Array, delta: Array) -> Array:
    """Whether a point x [B, D] is as good as evaluated: [B]."""
    xp = namespace(x)
    apart = xp.max(xp.abs(seen.x - x[:, None, :]), axis=-1)
    return xp.min(apart, axis=-1) < CLOSE * delta
