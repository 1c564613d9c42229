"""Curvature that a convex program can use: negative curvature turned positive, by matrix products alone.

The eigenvalues of a Lagrangian's Hessian keep their size and lose their sign: |H| = H sign(H). The sign is found by
polynomial iterations (Higham, Functions of Matrices, ch. 5), which are a few products of small matrices where an
eigen-decomposition would be slow on an accelerator and awkward in lockstep. They reach eigenvalues down to about a
thousandth of the largest; for smaller ones X stays within (-1, 1), and

    |H| ~ H (X + I - X^2)                                                                             (1)

leaves them nearly as they are, so that well-estimated small curvature (an ill-conditioned valley) is not lost.
"""

from __future__ import annotations

from meco.arrays import Array, namespace

STEEP, STEADY = (3.4445, -4.7750, 2.0315), (1.875, -1.25, 0.375)  # quick from small values; exact at +-1
SCHEDULE = (STEEP,) * 4 + (STEADY,) * 3


def convex(hessian: Array) -> Array:
    """Hessians [B, D, D] with the signs of their eigenvalues removed, eq. (1)."""
    xp = namespace(hessian)
    h = 0.5 * (hessian + xp.matrix_transpose(hessian))
    size = xp.sqrt(xp.sum(h * h, axis=(1, 2)))[:, None, None]
    eye = xp.eye(h.shape[-1], dtype=h.dtype, device=h.device)
    x = h / xp.where(size > 0.0, size, 1.0)
    for a, b, c in SCHEDULE:
        square = x @ x
        x = x @ (a * eye + b * square + c * (square @ square))
    made = h @ (x + eye - x @ x)
    return 0.5 * (made + xp.matrix_transpose(made))
