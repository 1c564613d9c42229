"""Interior-point method for the program of program.py, used where its active-set method cycles.

With G s <= r for all finite ends of rows and their prices p, the program

    min b's + s'Hs/2 + p't,   G s - t <= r,   t >= 0,   bottom <= s <= top

has the central path

    b + H s + G'y - z_low + z_high = 0,                                                                 (1)
    y w = (p - y) t = z_low (s - bottom) = z_high (top - s) = mu,    w = r - G s + t.                   (2)

Each Newton step aims at a tenth of the current mu and keeps all factors of (2) positive (Nocedal and Wright 2006,
sections 14.2 and 16.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from meco.tr_single.program import Program

STEPS, CENTERING, SHORT = 100, 0.1, 0.99
FIRST = 0.1  # first multipliers and slacks, in units of the largest slope and of half the box
INSIDE = 0.9  # share of the box around its middle in which the iteration starts
LAST_MU, LAST_SLOPE = 1e-10, 1e-6  # tolerances of (2) and (1), in units of the first slope and half the box
THINNEST = 1e-9  # least width of a variable's box, in units of the widest


class Inside(NamedTuple):
    """A point s [D], the duals of the rows [C], and s moved to its active bounds, a better guess of the active set."""

    s: np.ndarray
    duals: np.ndarray
    held: np.ndarray


def approach(p: Program, start: np.ndarray, size: float) -> Inside:
    """Return a point near the solution of a program with curvature `size`, from a start [D]."""
    upper, lower = np.flatnonzero(np.isfinite(p.high)), np.flatnonzero(np.isfinite(p.low))
    row, sign = np.concatenate([upper, lower]), np.repeat((1.0, -1.0), (len(upper), len(lower)))
    g, price, dim = sign[:, None] * p.rows[row], p.price[row], len(start)
    r = np.concatenate([(p.high - p.value)[upper], (p.value - p.low)[lower]])

    widest = (p.top - p.bottom).max()
    middle, half = 0.5 * (p.bottom + p.top), 0.5 * np.maximum(p.top - p.bottom, THINNEST * widest)
    s = np.clip(start, middle - INSIDE * half, middle + INSIDE * half)
    reach, steepest = half.max(), np.abs(p.slope + p.hessian @ s).max() + size * half.max()
    if not 0.0 < steepest * reach < np.inf:
        return Inside(start, np.zeros_like(p.price), start)
    below, above = s - middle + half, middle + half - s
    y = FIRST * np.minimum(steepest, price)
    gaps = [below, above, np.maximum(r - g @ s, 0.0) + FIRST * reach, np.maximum(g @ s - r, 0.0) + FIRST * reach]
    force = np.concatenate([FIRST * steepest * reach / below, FIRST * steepest * reach / above, y, price - y])
    gap, cuts = np.concatenate(gaps), [dim, 2 * dim, 2 * dim + len(row)]
    for _ in range(STEPS):
        mu = gap @ force / len(gap)
        (below, above, w, t), (z_low, z_high, y, q) = np.split(gap, cuts), np.split(force, cuts)
        off = p.slope + p.hessian @ s + y @ g - z_low + z_high
        if np.abs(off).max() <= LAST_SLOPE * steepest and mu <= LAST_MU * steepest * reach:
            break
        c_low, c_high, c_y, c_q = np.split(CENTERING * mu - gap * force, cuts)
        lacking = r - g @ s - (w - t)
        matrix = np.zeros((dim + len(row), dim + len(row)))
        matrix[:dim, :dim], matrix[dim:, :dim], matrix[:dim, dim:] = p.hessian, g, g.T
        matrix.flat[:: len(matrix) + 1] += np.concatenate([z_low / below + z_high / above, -(w / y + t / q)])
        right = np.concatenate([c_low / below - c_high / above - off, lacking + c_q / q - c_y / y])
        try:
            found = np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            break
        ds, dy = found[:dim], found[dim:]
        dt = (c_q + t * dy) / q
        d_gap = np.concatenate([ds, -ds, lacking + dt - g @ ds, dt])
        d_force = np.concatenate([(c_low - z_low * ds) / below, (c_high + z_high * ds) / above, dy, -dy])
        length = SHORT / max(SHORT, (-d_gap / gap).max(), (-d_force / force).max())
        if not length > 0.0:  # nan
            break
        s, gap, force = s + length * ds, gap + length * d_gap, force + length * d_force
    (below, above, _, _), (z_low, z_high, y, _) = np.split(gap, cuts), np.split(force, cuts)
    held = np.where(z_low > size * below, p.bottom, np.where(z_high > size * above, p.top, s))
    return Inside(np.clip(s, p.bottom, p.top), np.bincount(row, sign * y, minlength=len(p.price)), held)
