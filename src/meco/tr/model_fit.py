"""The fit of an iteration: the centre, the models around it, and the points they were fitted to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.core.arrays import (
    Array,
    all_columns,
    asarray_like,
    at_least,
    known_all,
    largest,
    maybe_any,
    namespace,
    nearest,
    rows,
    total,
    zeros_like,
)
from meco.core.known_limits import KnownLimits
from meco.core.rule import best
from meco.tr.archive import EvaluatedPoints, PointArchive
from meco.tr.controls import ControlValues
from meco.tr.critical import CriticalFunctions, max_critical, select_critical
from meco.tr.merit import MERIT, violated_at_all_points
from meco.tr.point_models import FEW_VARIABLES, Models, PointModels, fit_points
from meco.tr.quadratic import Fit, least_change
from meco.tr.region import Region
from meco.tr.roughness import levels_in_use

MORE_POINTS = 80  # than D + 1 that models of many variables are fitted to


class LocalFit(NamedTuple):
    """The centre's values, the fit around it, and what it reaches."""

    value: Array  # [B, 1 + C] f, g and h at the centre
    fit: Fit  # in units of spread
    spread: Array  # [B] root mean square distance of the fitted points
    farthest: Array  # [B] largest
    span: Array  # [B, 1 + C] largest change of each function among them
    unmet: Array  # [B, C] constraints that all of them violate
    blind: Array  # [B] whether no evaluation since the restart has succeeded
    critical: CriticalFunctions | None  # functions that a step depends on; None: all


def model_size(dim: int) -> int:
    """Points a model is fitted to: 3 D + 1, and in few variables enough for a full quadratic and more.

    In many variables D + 1 that tell gradients, and some more.
    """
    if dim > FEW_VARIABLES:
        return dim + 1 + MORE_POINTS
    return 3 * dim + 1 + min(3 * dim, 12)


def tells_curvature(dim: int) -> bool:
    """Whether models have two fifths as many points as a quadratic has numbers, or more: up to 15 variables.

    Beyond, the curvature along single variables is mostly what the least change leaves of older models.
    """
    return 5 * model_size(dim) >= (dim + 1) * (dim + 2)


def fit_models(
    archive: PointArchive, region: Region, points: int, controls: ControlValues, eta: Array
) -> tuple[Region, LocalFit]:
    """The region around the point of least merit since the last restart, with models around it, and their fit.

    Models change least from those of the region to meet the `points` nearest points that did not fail; controls are
    [B or 1] each, eta [B, F] is the roughness of each function. A run without such a point since the restart is blind:
    it is centred at 0.5. Models that are not finite become 0. Neither archive nor region is changed.
    """
    xp = namespace(archive.x)
    left_out = archive.failed | (archive.restart_index < region.restart_index[:, None])
    key, blind = MERIT.values(archive.evaluation(), region.weights), all_columns(left_out)
    chosen = best(key.last_where(left_out) if maybe_any(left_out) else key)[:, None]
    centre = rows(archive.x, chosen)[:, 0, :]
    if maybe_any(blind):
        centre = xp.where(blind[:, None], 0.5, centre)
    value = rows(archive.y, chosen)[:, 0, :]
    width = region.width_in_force
    u, values, there = nearest_points(archive, centre, value, points, width)
    y = values - value[:, None, :]
    square = total(u * u)
    spread = xp.sqrt(total(square) / at_least(there, 1.0))
    spread = xp.where(spread > 0.0, spread, 1.0)
    unit = spread[:, None] * width
    known, moved = region.models, centre - region.centre
    few = None
    if value.shape[-1] > 1 + (most := max_critical(centre.shape[-1])):
        slope = region.models.gradient * width[:, None, :]
        reach = region.delta[:, None] * xp.sqrt(total(slope * slope))
        few = select_critical(value, reach, archive.n_ineq, most)
    tau, levels = controls.gradient_freedom, [controls.roughness, *levels_in_use(eta)]
    fitted = u / spread[:, None, None]
    models: Models
    if isinstance(known, PointModels):
        prior, size = known.of_f().shifted(moved).rescaled(unit), known.points.shape[1]
        models, fit = fit_points(prior, size, fitted, y, tau, levels, eta)
    else:
        models, fit = least_change(known.shifted(moved).rescaled(unit), fitted, y, tau, levels, eta, few)
    models = models.rescaled(1.0 / unit)
    if not known_all(finite := models.finite):
        models = models.cleared(~finite)
    farthest, span = xp.sqrt(largest(square)[:, 0]), largest(xp.abs(y), 1, keepdims=False)
    unmet = violated_at_all_points(values[:, :, 1:], archive.n_ineq, region.weights.tolerance)
    local = LocalFit(value, fit, spread, farthest, span, unmet, blind, few)
    return region._replace(centre=centre, models=models), local


def nearest_points(
    archive: EvaluatedPoints, centre: Array, value: Array, points: int, width: Array
) -> tuple[Array, Array, Array]:
    """The nearest points to a centre [B, D] that did not fail: u [B, m, D], values [B, m, 1 + C], how many [B].

    u is measured from the centre in widths [B, D]; m is `points`, or all there are. Where fewer did not fail, the
    centre and its value [B, 1 + C] fill their places, which tells the models nothing.
    """
    xp, some_failed = namespace(centre), maybe_any(archive.failed)
    square = _square_distances(archive.x, centre, width)
    near = nearest(xp.where(archive.failed, xp.inf, square) if some_failed else square, min(points, square.shape[1]))
    u, values = (rows(archive.x, near) - centre[:, None, :]) / width[:, None, :], rows(archive.y, near)
    if not some_failed:
        return u, values, zeros_like(u[:, 0, 0]) + near.shape[1]
    there = ~rows(archive.failed, near)
    wide = there[..., None]
    return xp.where(wide, u, 0.0), xp.where(wide, values, value[:, None, :]), total(xp.astype(there, u.dtype))


def use_exact_rows(region: Region, limits: KnownLimits | None) -> Region:
    """The region with known linear constraints as their own models; itself where limits is None or tells none."""
    models = insert_rows(region.models, limits)
    return region if models is region.models else region._replace(models=models)


def insert_rows(models: Models, limits: KnownLimits | None) -> Models:
    """Models in which known linear rows stand for themselves, without curvature.

    The same models where limits is None, or no answer has told yet which constraints the rows are.
    """
    if limits is None or not ((positions := limits.places()) >= 0).any():
        return models
    known, gradient = np.zeros(models.gradient.shape[1]), np.zeros(models.gradient.shape[1:])
    for position, slope in zip(positions, limits.slope):
        if position >= 0:
            known[1 + position], gradient[1 + position] = 1.0, slope
    is_row = (asarray_like(known, models.gradient) > 0.0)[None, :, None]
    return models.with_rows(is_row, asarray_like(gradient, models.gradient)[None])


def _square_distances(x: Array, centre: Array, width: Array) -> Array:
    """Squared distances from each of x [B, n, D] to the centre [B, D], in widths [B, D]: [B, n]."""
    return total(((x - centre[:, None, :]) / width[:, None, :]) ** 2)  # without a name NumPy uses the memory again
