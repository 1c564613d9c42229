"""The program of program.py from inside: Newton's method along the central path.

It takes ten to twenty systems whatever ends up active, where guesses of the active set may go round in circles: most
programs are solved by guesses in fewer, and nearly linear ones only here. With G s <= r for all finite ends of rows,
and p their prices,

    min b's + s'Hs/2 + p't,   G s - t <= r,   t >= 0,   low <= s <= high,

the central path has multipliers y of the ends, and z of the bounds, with w = r - G s + t and

    b + H s + G'y - z_low + z_high = 0,                                                                 (1)
    y w = (p - y) t = z_low (s - low) = z_high (high - s) = mu,                                         (2)

and every Newton step asks for a tenth of the mu that it finds, as far as everything stays positive. What belongs to
bounds and to ends is eliminated from it, which leaves a diagonal beside H and one equation for each row
(Nocedal and Wright 2006, sections 14.2 and 16.6).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.tr.elastic_program import Rows
from meco.tr.large_curvature import Curvature, solve_with_rows

MOST_STEPS = 50  # of Newton's method
CENTERING = 0.1  # mu that a step asks for, in shares of what it finds
FIRST = 0.1  # multipliers and slacks at the start, in units of the largest slope there and of half the box
LAST_MU = 1e-8  # in units of both, when active rows and bounds can be told
LAST_SLOPE = 1e-6  # of (1)
INSIDE = 0.9  # share of the box around its middle that a start is put into
THINNEST = 1e-9  # width of a bound's interval, in units of the widest
SHORT = 0.99  # share of the way to the first number that would be 0


class Ends(NamedTuple):
    """Finite ends of rows, G s - t <= r: the row of each [k], the sign that G has there, r and the price."""

    row: np.ndarray
    sign: np.ndarray
    right: np.ndarray
    price: np.ndarray


def solve_from_inside(
    h: Curvature, slope: np.ndarray, rows: Rows, low: np.ndarray, high: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A step s [D] near the least of the program within low and high [D], and the duals of its rows [C].

    Near enough to tell active rows and bounds; s lies on the bounds that hold it back. The start [D] itself, and duals
    of 0, where the box is a point or numbers overflow.
    """
    used, duals = np.isfinite(rows.low) | np.isfinite(rows.high), np.zeros_like(rows.value)
    a, ends = rows.matrix[used], _list_ends(Rows(*(part[used] for part in rows)))
    middle, half = 0.5 * (low + high), 0.5 * np.maximum(high - low, THINNEST * np.max(high - low))
    s = np.minimum(np.maximum(start, middle - INSIDE * half), middle + INSIDE * half)
    pull = slope + h.times(s)
    reach = float(half.max())
    steepest = float(np.abs(pull).max()) + h.size * reach
    if not 0.0 < steepest * reach < np.inf:
        return start, duals
    distance = ends.right - ends.sign * (a @ s)[ends.row]
    x, z = _begin_inside(s - middle + half, middle + half - s, distance, ends, steepest, reach)
    for _ in range(MOST_STEPS):
        mu = float(x @ z) / len(x)
        (below, above, w, t), (z_low, z_high, y, q) = (np.split(part, _parts(s, ends)) for part in (x, z))
        off = pull + _add_ends(ends, y, len(a)) @ a - z_low + z_high
        if mu <= LAST_MU * steepest * reach and float(np.abs(off).max()) <= LAST_SLOPE * steepest:
            break
        c_low, c_high, c_y, c_q = np.split(CENTERING * mu - x * z, _parts(s, ends))
        slack, value = w / y + t / q, c_q / q - c_y / y  # of an end: G ds - slack dy = value
        row_slack = 1.0 / _add_ends(ends, ends.sign / slack, len(a))
        row_value = row_slack * _add_ends(ends, value / slack, len(a))
        right = c_low / below - c_high / above - off
        ds, dual = solve_with_rows(h, z_low / below + z_high / above, right, a, row_value, row_slack)
        moved = ends.sign * (row_value + row_slack * dual)[ends.row]  # G ds
        dy = (moved - value) / slack
        dt = (c_q + t * dy) / q
        dx = np.concatenate([ds, -ds, dt - moved, dt])
        dz = np.concatenate([(c_low - z_low * ds) / below, (c_high + z_high * ds) / above, dy, -dy])
        length = SHORT / max(SHORT, float(np.max(-dx / x)), float(np.max(-dz / z)))
        if not length > 0.0:  # nan
            return start, duals
        s, x, z, pull = s + length * ds, x + length * dx, z + length * dz, pull + length * h.times(ds)
    (below, above, *_), (z_low, z_high, y, _) = (np.split(part, _parts(s, ends)) for part in (x, z))
    duals[used] = _add_ends(ends, y, len(a))
    return np.where(z_low > h.size * below, low, np.where(z_high > h.size * above, high, s)), duals


def _list_ends(rows: Rows) -> Ends:
    """All finite ends of rows [C], first the upper ones."""
    upper, lower = np.flatnonzero(np.isfinite(rows.high)), np.flatnonzero(np.isfinite(rows.low))
    row = np.concatenate([upper, lower])
    return Ends(
        row,
        np.concatenate([np.ones(len(upper)), -np.ones(len(lower))]),
        np.concatenate([(rows.high - rows.value)[upper], (rows.value - rows.low)[lower]]),
        rows.price[row],
    )


def _add_ends(ends: Ends, amount: np.ndarray, count: int) -> np.ndarray:
    """The sum over the ends of each of `count` rows of an amount [k] times its sign: [C]."""
    return np.bincount(ends.row, ends.sign * amount, minlength=count)


def _begin_inside(
    below: np.ndarray, above: np.ndarray, distance: np.ndarray, ends: Ends, steepest: float, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of (2) as two vectors [2 D + 2 k], at a point that is below and above [D] away from the bounds.

    distance [k] is r - G s = w - t there. Multipliers begin low, in units of a slope, and w and t high, in units of the
    box: on the central path ends that are far away would have nearly their price, and come down from it slowly.
    """
    mu, y, t = FIRST * steepest * reach, FIRST * np.minimum(steepest, ends.price), FIRST * reach
    x = np.concatenate([below, above, np.maximum(distance, 0.0) + t, np.maximum(-distance, 0.0) + t])
    return x, np.concatenate([mu / below, mu / above, y, ends.price - y])


def _parts(s: np.ndarray, ends: Ends) -> list[int]:
    """Where the pairs of upper bounds, of ends and of what is beyond them begin."""
    dim, count = len(s), len(ends.row)
    return [dim, 2 * dim, 2 * dim + count]
