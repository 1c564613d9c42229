"""Lagrange multipliers at an evaluated point: what f would gain if a constraint were given one unit more.

The program of a step, solved again and again in a region around the point: f + lambda . c is stationary there along
every variable that can move. A search may have gone elsewhere since; the points that it saw around this one are enough.
"""

from __future__ import annotations

from meco.core.arrays import Array, namespace, rows
from meco.core.known_limits import KnownLimits
from meco.tr.archive import SeenPoints
from meco.tr.exact_rows import exact_rows
from meco.tr.model_fit import around
from meco.tr.quadratic import Quadratic, least_change
from meco.tr.region import Region
from meco.tr.step import Place, relaxed_step

TURNS = 12  # a turn halves what is left of a wrong multiplier, twice


def multipliers_at(
    seen: SeenPoints, x: Array, region: Region, points: int, limits: KnownLimits | None, fixed: Array | None = None
) -> Array:
    """Multipliers [B, C] at evaluated points x [B, D]; fixed [B or 1, D] are variables that cannot move."""
    xp = namespace(x)
    apart = seen.x - x[:, None, :]
    chosen = xp.argmin(xp.sum(apart * apart, axis=-1), axis=-1)[:, None]
    centre, value = rows(seen.x, chosen)[:, 0, :], rows(seen.y, chosen)[:, 0, :]
    u, values, there = around(seen, centre, value, points)
    y = values - value[:, None, :]
    spread = xp.sqrt(xp.sum(u * u, axis=(1, 2)) / xp.clip(there, min=1.0))
    spread = xp.where(spread > 0.0, spread, 1.0)
    nothing = Quadratic.flat(region.models.gradient.shape, x)
    models = least_change(nothing, u / spread[:, None, None], y)[0].stretched(1.0 / spread)
    exact = exact_rows(limits, models)
    models = models if exact is None else exact.into(models)
    step = xp.ones_like(centre) if fixed is None else xp.where(fixed, 0.0, xp.ones_like(centre))
    low = xp.maximum(-step, -centre / spread[:, None])
    high = xp.minimum(step, (1.0 - centre) / spread[:, None])
    free = xp.zeros_like(spread) + xp.inf
    span = xp.max(xp.abs(y), axis=1)
    place = Place(models.stretched(spread), value, span, low, high, xp.zeros_like(centre), free, seen.n_ineq)
    found, weights = xp.zeros_like(region.multipliers), region.weights
    for _ in range(TURNS):
        made = relaxed_step(place, xp.zeros_like(spread), found, weights)
        found, weights = made.multipliers, made.weights
    return found
