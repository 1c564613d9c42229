"""Points that improve the models, and points to restart from (docs/trust-region.md, sections 7 and 8)."""

from __future__ import annotations

import numpy as np

from meco.tr_single.archive import Archive
from meco.tr_single.merit import Merit
from meco.tr_single.quadratic import Fit
from meco.tr_single.subproblem import Subproblem


def least_known(fit: Fit, sub: Subproblem, unit: float, u: np.ndarray) -> np.ndarray:
    """Random steps within the region, from numbers u [n, D] in (0, 1), by decreasing variance of the models: [n, D].

    unit is the radius in units of the fit.
    """
    tries = np.clip(2.0 * u - 1.0, sub.bottom, sub.top)
    return tries[np.argsort(-fit.variance(unit * tries), kind="stable")]


def restart_points(archive: Archive, merit: Merit, u: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Random points [k, D] from numbers u [k, D] in (0, 1): anywhere in the box.

    Along variables without a bound, at most 1 from the point of least merit.
    """
    if archive.failed.all():
        return u
    best = archive.x[np.argmin(np.where(archive.failed, np.inf, merit.of(archive.y)))]
    low, high = np.maximum(best - 1.0, low), np.minimum(best + 1.0, high)
    return low + u * (high - low)
