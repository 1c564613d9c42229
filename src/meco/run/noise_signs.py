"""Signs of noise in the values of a run that did not look for it: close points that differ as if they were far apart.

A function changes between two points by their distance times a slope. Noise does not know of the distance, so with

    s(i, k) = |y_i - y_k| / |u_i - u_k|                                                                  (1)

the median of s over the closest pairs is far above the largest s of distant ones. Discontinuities look alike: this is
a reason to look, no finding.
"""

from __future__ import annotations

import numpy as np

from meco.evaluations import Evaluations
from meco.run.function_source import make_box
from meco.run.request import Request

FEWEST_POINTS = 12
MOST_POINTS = 64  # nearest to the answer, and others to compare them with
MOST_FUNCTIONS = 64  # f and constraints that are looked at
LEAST_DISTANCE = 1e-7  # of the unit cube: closer pairs tell of rounding
FAR = 0.05  # of the unit cube
SIGN = 2.0  # times the largest slope of distant pairs: without noise it was at most 1 on 60 problems
NOTE = (
    "values of close points differ as if calls were noisy, and this run did not look: noise=True, or meco.confirm, "
    "tells how sure the answer is"
)


def note_unseen_noise(request: Request, every: Evaluations, x: np.ndarray) -> list[str]:
    """A note on values around the answer x [D] that look noisy, where nobody told or found out whether they are.

    [] where calls of one point were the same, or where noise= says something.
    """
    good = np.flatnonzero(~every.failed & ~every.known)
    if request.noise is not None or len(good) < FEWEST_POINTS or len(np.unique(every.x[good], axis=0)) < len(good):
        return []
    y = np.concatenate([every.f[good, None], *(c[good, :MOST_FUNCTIONS] for c in (every.g, every.h))], axis=1)
    y = y[:, :MOST_FUNCTIONS]
    box = make_box(request)
    return [NOTE] if looks_noisy(box.to_unit(every.x[good]), y, box.to_unit(x)) else []


def looks_noisy(u: np.ndarray, y: np.ndarray, at: np.ndarray) -> bool:
    """Whether eq. (1) of some function of y [n, F] is larger near `at` [D] than between distant points of u [n, D]."""
    nearest = np.argsort(((u - at) ** 2).sum(axis=1), kind="stable")
    near = nearest[:MOST_POINTS]
    rest = nearest[MOST_POINTS:]
    others = np.concatenate([near, rest[:: max(1, len(rest) // MOST_POINTS)]])
    apart = np.sqrt(((u[near, None, :] - u[None, others, :]) ** 2).sum(axis=-1))  # [m, k]
    with np.errstate(all="ignore"):
        change = np.abs(y[near, None, :] - y[None, others, :]) / apart[..., None]  # [m, k, F]
    far = apart > FAR
    pairs = np.where((np.tri(*apart.shape) > 0.0) | (apart < LEAST_DISTANCE), np.inf, apart)
    closest = np.argsort(pairs, axis=None, kind="stable")[: len(near)]
    closest = closest[pairs.ravel()[closest] <= FAR]
    if not far.any() or len(closest) < FEWEST_POINTS:
        return False
    local = np.median(change.reshape(-1, y.shape[1])[closest], axis=0)
    return bool(np.any(local > SIGN * np.max(change[far], axis=0)))
