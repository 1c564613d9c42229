"""Points beside the step of the models: where they know least, where a search starts again, and further ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from meco.tr_single.archive import Archive
from meco.tr_single.merit import Merit
from meco.tr_single.options import Options
from meco.tr_single.quadratic import Fit
from meco.tr_single.subproblem import Subproblem, relaxed_step

VARIANTS = ((0.4, 0.0), (1.0, 0.9), (2.5, 0.3), (0.15, 0.0))  # further steps: share of the radius, theta


def least_known(fit: Fit, sub: Subproblem, unit: float, u: np.ndarray) -> np.ndarray:
    """Random steps in the region, from numbers u [n, D] in (0, 1), those of largest variance first: [n, D].

    unit is the radius in units of the fit.
    """
    tries = np.clip(2.0 * u - 1.0, sub.bottom, sub.top)
    return tries[np.argsort(-fit.variance(unit * tries), kind="stable")]


def restart_point(
    archive: Archive, merit: Merit, u: np.ndarray, distance: float, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """A point [D] within a distance of the one of least merit, by numbers u [D] in (0, 1); anywhere if all failed."""
    if archive.failed.all():
        return u
    middle = archive.x[np.argmin(np.where(archive.failed, np.inf, merit.of(archive.y)))]
    low, high = np.maximum(middle - distance, low), np.minimum(middle + distance, high)
    return low + u * (high - low)


def further_steps(
    sub: Subproblem, step: np.ndarray, known: np.ndarray, count: int, multipliers: np.ndarray, merit: Merit,
    options: Options,
) -> list[np.ndarray]:  # fmt: skip
    """`count` steps beside the one of the models, for points that are evaluated at once.

    In turns the models' step in another box or under another theta, and one of the least known [n, D].
    """
    made = [step]
    for k in range(count):
        s = known[1 + k]
        if k % 2 == 0 and k // 2 < len(VARIANTS):
            share, theta = VARIANTS[k // 2]
            box = sub._replace(bottom=np.maximum(sub.bottom, -share), top=np.minimum(sub.top, share))
            other = relaxed_step(box, theta, multipliers, replace(merit), options).s
            if min(np.abs(other - s).max() for s in made) >= options.same_point:
                s = other
        made.append(s)
    return made[1:]
