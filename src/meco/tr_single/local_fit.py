"""The centre of an iteration and the models around it (docs/trust-region.md, section 3)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from meco.tr_single.archive import Archive
from meco.tr_single.merit import Merit
from meco.tr_single.options import Options
from meco.tr_single.quadratic import Fit, Quadratic, least_change
from meco.tr_single.region import Region


class LocalFit(NamedTuple):
    """Models of all functions around a centre."""

    centre: np.ndarray  # [D]
    value: np.ndarray  # [F] at the centre
    models: Quadratic
    fit: Fit
    scale: float  # root mean square distance of the model points, the unit of `fit`
    farthest: float  # largest distance
    span: np.ndarray  # [F] largest difference to the value at the centre


def model_size(dim: int) -> int:
    """Number of model points: 3 D + 1, and for few variables as many as a full quadratic has coefficients."""
    return 3 * dim + 1 + min(3 * dim, 12)


def shows_curvature(dim: int) -> bool:
    """Whether the points determine two fifths of the coefficients or more: up to 15 variables."""
    return 5 * model_size(dim) >= (dim + 1) * (dim + 2)


def fit_models(archive: Archive, region: Region, merit: Merit, eta: np.ndarray, options: Options) -> LocalFit:
    """Fit models around the point of least merit since the restart, to the points nearest to it.

    eta [F] is the roughness of each function.
    """
    usable = ~archive.failed & (archive.restart >= region.restart)
    row = int(np.argmin(np.where(usable, merit.of(archive.y), np.inf)))
    centre, value = archive.x[row].copy(), archive.y[row].copy()
    near = archive.nearest(centre, region.widths, model_size(len(centre)))
    return fit_at(archive.x[near], archive.y[near], centre, value, region, eta, options)


def fit_at(
    x: np.ndarray, y: np.ndarray, centre: np.ndarray, value: np.ndarray, region: Region, eta: np.ndarray,
    options: Options,
) -> LocalFit:  # fmt: skip
    """Fit models to values y [m, F] at points x [m, D] around a centre [D] with values [F]."""
    widths = region.widths
    u = (x - centre) / widths
    square = np.vecdot(u, u)
    scale = math.sqrt(square.sum() / max(len(u), 1)) or 1.0
    unit = scale * widths
    prior = region.models.shifted(centre - region.centre).rescaled(unit)
    models, fit = least_change(prior, u / scale, y - value, options.gradient_freedom, eta)
    if not np.isfinite(models.gradient.sum() + models.hessian.sum()):
        models = Quadratic.zero(*models.gradient.shape)
    farthest, span = math.sqrt(square.max(initial=0.0)), np.abs(fit.y).max(axis=0, initial=0.0)
    return LocalFit(centre, value, models.rescaled(1.0 / unit), fit, scale, farthest, span)
