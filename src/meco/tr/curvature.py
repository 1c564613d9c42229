"""Curvature that a convex program can use: the eigenvalues of a Hessian keep their size and lose their sign.

    |H| = H sign(H)                                                                                     (1)

On the CPU by eigen-decomposition. On an accelerator, where small eigen-decompositions are slow, by polynomial
iterations for the sign (Higham, Functions of Matrices, ch. 5), a few products of small matrices: they agree with (1)
for eigenvalues above a thousandth of the largest, and let smaller ones fade.
"""

from __future__ import annotations

import numpy as np

from meco.core.arrays import Array, eigen, namespace
from meco.device.kernels import MOST_VARIABLES, has_kernels

MAX_CURVATURE = 1e8  # curvature beyond this, in units of the region, is a broken model
OVERFLOWING_CURVATURE = 1e100  # of which no product may be formed
STEEP, STEADY = (3.4445, -4.7750, 2.0315), (1.875, -1.25, 0.375)  # quick from small values; exact at +-1
SCHEDULE = (STEEP,) * 4 + (STEADY,) * 3


def convexify(hessian: Array) -> Array:
    """|H| of Hessians [B, D, D], symmetric and with no curvature above MAX_CURVATURE: [B, D, D].

    In NumPy nan counts as 0 and huge numbers are cut; elsewhere it is that of convexify_by_products().
    """
    if has_kernels(hessian) and hessian.shape[-1] <= MOST_VARIABLES:
        from meco.device.curvature_kernel import convexify_in_one_kernel  # needs Triton

        return convexify_in_one_kernel(hessian, SCHEDULE, MAX_CURVATURE)
    h = 0.5 * (hessian + hessian.mT)
    if not isinstance(h, np.ndarray):
        return convexify_by_products(h)
    most = np.maximum.reduce(np.abs(h), axis=None, initial=0.0)
    if not most < OVERFLOWING_CURVATURE:  # nan too: an eigen-decomposition would not converge
        h = np.clip(np.nan_to_num(h), -OVERFLOWING_CURVATURE, OVERFLOWING_CURVATURE)
    values, vectors = eigen(h)
    return (vectors * np.minimum(np.abs(values), MAX_CURVATURE)[:, None, :]) @ vectors.mT


def convexify_by_products(h: Array) -> Array:
    """|H| of symmetric Hessians h [B, D, D] by matrix products alone, in any array library: [B, D, D].

    One whose Frobenius norm is above MAX_CURVATURE is scaled down to it.
    """
    xp = namespace(h)
    size = xp.sqrt(xp.sum(h * h, axis=(1, 2)))[:, None, None]
    eye = xp.eye(h.shape[-1], dtype=h.dtype, device=h.device)
    sign = h / xp.where(size > 0.0, size, 1.0)
    for a, b, c in SCHEDULE:
        square = sign @ sign
        sign = sign @ (a * eye + b * square + c * (square @ square))
    made = h @ sign
    made = 0.5 * (made + made.mT)
    return xp.where(size > MAX_CURVATURE, made * (MAX_CURVATURE / xp.where(size > 0.0, size, 1.0)), made)
