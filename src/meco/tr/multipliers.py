"""Lagrange multipliers at an evaluated point: what f would gain if a constraint were given one unit more.

The program of a step, solved again and again in a region around the point: f + lambda . c is stationary there along
every variable that can move. A search may have gone elsewhere since; the points that it saw around this one are enough.
"""

from __future__ import annotations

from typing import Any

from meco.core.arrays import Array, namespace, rows
from meco.core.known_limits import KnownLimits
from meco.tr.archive import PointArchive
from meco.tr.controls import ControlValues
from meco.tr.model_fit import insert_rows, nearest_points
from meco.tr.quadratic import Quadratic, least_change
from meco.tr.region import Region
from meco.tr.roughness import levels_in_use
from meco.tr.step import Subproblem, relaxed_step

MULTIPLIER_ITERATIONS = 12  # each halves what is left of a wrong multiplier, twice


def estimate_multipliers(
    archive: PointArchive,
    x: Array,
    region: Region,
    points: int,
    limits: KnownLimits | None,
    given: ControlValues,
    rough: Array,
    walls: tuple[Any, Any] = (0.0, 1.0),
    fixed: Array | None = None,
) -> Array:
    """Multipliers [B, C] at evaluated points x [B, D] between walls; fixed [B or 1, D] variables cannot move."""
    xp = namespace(x)
    apart = archive.x - x[:, None, :]
    chosen = xp.argmin(xp.sum(apart * apart, axis=-1), axis=-1)[:, None]
    centre, value = rows(archive.x, chosen)[:, 0, :], rows(archive.y, chosen)[:, 0, :]
    width = region.width_in_force
    u, values, there = nearest_points(archive, centre, value, points, width)
    y = values - value[:, None, :]
    spread = xp.sqrt(xp.sum(u * u, axis=(1, 2)) / xp.clip(there, min=1.0))
    spread = xp.where(spread > 0.0, spread, 1.0)
    nothing = Quadratic.zero(region.models.gradient.shape, x)
    unit = spread[:, None] * width
    tau, eta = given.gradient_freedom, [given.roughness, *levels_in_use(rough)]
    models = least_change(nothing, u / spread[:, None, None], y, tau, eta, rough)[0].rescaled(1.0 / unit)
    models = insert_rows(models, limits)
    step = xp.ones_like(centre) if fixed is None else xp.where(fixed, 0.0, xp.ones_like(centre))
    low = xp.maximum(-step, (walls[0] - centre) / unit)
    high = xp.minimum(step, (walls[1] - centre) / unit)
    free = xp.zeros_like(spread) + xp.inf
    span = xp.max(xp.abs(y), axis=1)
    none = xp.zeros_like(region.multipliers)
    sub = Subproblem(
        models.rescaled(unit), value, span, low, high, xp.zeros_like(centre), free, archive.n_ineq, none, given.kappa
    )
    found, weights = xp.zeros_like(region.multipliers), region.weights
    for _ in range(MULTIPLIER_ITERATIONS):
        made = relaxed_step(sub, xp.zeros_like(spread), found, weights)
        found, weights = made.multipliers, made.weights
    return found
