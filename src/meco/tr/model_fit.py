"""Where a step starts: the centre, the models around it, and what they were fitted to."""

from __future__ import annotations

import math
from typing import NamedTuple

from meco.core.arrays import Array, all_columns, bounded, known_all, largest, maybe_any, namespace, nearest, rows, total
from meco.core.rule import best
from meco.tr.archive import SeenPoints
from meco.tr.critical import Critical, critical, most_critical
from meco.tr.merit import MERIT, kept_nowhere
from meco.tr.quadratic import Fit, Quadratic, least_change
from meco.tr.region import Region

NEAR = 2.0  # radii (times sqrt D) within which a failed evaluation keeps steps away


class View(NamedTuple):
    """The centre's values, the fit around it, and what it reaches."""

    value: Array  # [B, 1 + C] f, g and h at the centre
    fit: Fit  # in units of spread
    spread: Array  # [B] root mean square distance of the fitted points
    farthest: Array  # [B] largest
    span: Array  # [B, 1 + C] largest change of each function among them
    unmet: Array  # [B, C] constraints that are kept at none of them, nor between two
    blind: Array  # [B] whether no evaluation since the start has succeeded
    critical: Critical | None  # functions that a step depends on; None: all


def looked(seen: SeenPoints, region: Region, points: int) -> tuple[Region, View]:
    """The region around the point of least merit since the last start, with models fitted to the nearest points."""
    xp = namespace(seen.x)
    left_out = seen.failed | (seen.start < region.start[:, None])
    key, blind = MERIT.values(seen.evaluation(), region.weights), all_columns(left_out)
    chosen = best(key.last_where(left_out) if maybe_any(left_out) else key)[:, None]
    centre = rows(seen.x, chosen)[:, 0, :]
    if maybe_any(blind):
        centre = xp.where(blind[:, None], 0.5, centre)
    value = rows(seen.y, chosen)[:, 0, :]
    u, values, there = around(seen, centre, value, points)
    y = values - value[:, None, :]
    square = total(u * u)
    spread = xp.sqrt(total(square) / bounded(there, 1.0, math.inf))
    spread = xp.where(spread > 0.0, spread, 1.0)
    prior = region.models.shifted(centre - region.centre).stretched(spread)
    few = None
    if value.shape[-1] > 1 + (most := most_critical(centre.shape[-1])):
        reach = region.delta[:, None] * xp.sqrt(total(region.models.gradient * region.models.gradient))
        few = critical(value, reach, seen.n_ineq, most)
    models, fit = least_change(prior, u / spread[:, None, None], y, few)
    models = models.stretched(1.0 / spread)
    if not known_all(finite := models.finite):
        models = models.where(finite, Quadratic.flat(models.gradient.shape, u))
    farthest, span = xp.sqrt(largest(square)[:, 0]), xp.max(xp.abs(y), axis=1)
    unmet = kept_nowhere(values[:, :, 1:], seen.n_ineq, region.weights.tolerance)
    view = View(value, fit, spread, farthest, span, unmet, blind, few)
    return region._replace(centre=centre, models=models), view


def around(seen: SeenPoints, centre: Array, value: Array, points: int) -> tuple[Array, Array, Array]:
    """The nearest points that did not fail, from the centre on: u [B, m, D]; their values [B, m, 1 + C]; how many [B].

    Where there are fewer, the centre fills their places, which tells the models nothing.
    """
    xp, some_failed = namespace(centre), maybe_any(seen.failed)
    square = _square_distances(seen.x, centre)
    near = nearest(xp.where(seen.failed, xp.inf, square) if some_failed else square, min(points, square.shape[1]))
    u, values = rows(seen.x, near) - centre[:, None, :], rows(seen.y, near)
    if not some_failed:
        return u, values, xp.full_like(u[:, 0, 0], near.shape[1])
    there = ~rows(seen.failed, near)
    wide = there[..., None]
    return xp.where(wide, u, 0.0), xp.where(wide, values, value[:, None, :]), total(xp.astype(there, u.dtype))


def fenced(seen: SeenPoints, centre: Array, delta: Array) -> tuple[Array, Array]:
    """Direction [B, D] of the failed evaluation nearest to the centre, and half the way to it in radii [B].

    No direction and no limit where none is near.
    """
    xp = namespace(centre)
    distance = xp.sqrt(_square_distances(seen.x, centre))
    distance = xp.where(seen.failed & (distance > 0.0), distance, xp.inf)
    chosen = xp.argmin(distance, axis=-1)[:, None]
    way = rows(distance, chosen)[:, 0]
    near = way < NEAR * math.sqrt(centre.shape[-1]) * delta
    way = xp.where(near, way, 1.0)
    fence = xp.where(near[:, None], (rows(seen.x, chosen)[:, 0, :] - centre) / way[:, None], 0.0)
    return fence, xp.where(near, 0.5 * way / delta, xp.inf)


def _square_distances(x: Array, centre: Array) -> Array:
    """From each of x [B, n, D] to the centre [B, D]: [B, n]."""
    apart = x - centre[:, None, :]
    return total(apart * apart)
