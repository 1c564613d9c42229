"""Curvature that a convex program can use: the eigenvalues of a Hessian keep their size and lose their sign.

    |H| = H sign(H)                                                                                     (1)

By eigen-decomposition.
"""

from __future__ import annotations

import numpy as np

from meco.core.arrays import Array, eigen

MAX_CURVATURE = 1e8  # curvature beyond this, in units of the region, is a broken model
OVERFLOWING_CURVATURE = 1e100  # of which no product may be formed


def convexify(hessian: Array) -> Array:
    """|H| of Hessians [B, D, D], symmetric and with no curvature above MAX_CURVATURE: [B, D, D].

    nan counts as 0 and huge numbers are cut.
    """
    h = 0.5 * (hessian + hessian.mT)
    most = np.maximum.reduce(np.abs(h), axis=None, initial=0.0)
    if not most < OVERFLOWING_CURVATURE:  # nan too: an eigen-decomposition would not converge
        h = np.clip(np.nan_to_num(h), -OVERFLOWING_CURVATURE, OVERFLOWING_CURVATURE)
    values, vectors = eigen(h)
    return (vectors * np.minimum(np.abs(values), MAX_CURVATURE)[:, None, :]) @ vectors.mT
