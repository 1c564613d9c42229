"""The program of program.py from inside: Newton's method along the central path.

It takes 15 to 30 systems whatever ends up active, and twice as many where dear rows have to be broken; guesses of the
active set are done in fewer, or go round in circles, as they do in nearly linear programs. With G s <= r for all finite
ends of rows, and p their prices,

    min b's + s'Hs/2 + p't,   G s - t <= r,   t >= 0,   low <= s <= high,

the central path has multipliers y of the ends, and z of the bounds, with w = r - G s + t and

    b + H s + G'y - z_low + z_high = 0,                                                                 (1)
    y w = q t = z_low (s - low) = z_high (high - s) = mu,     q = p - y,                                (2)

and every Newton step asks for a tenth of the mu that it finds, without a corrector, while everything stays positive.
What belongs to bounds and to ends is eliminated from it, which leaves a diagonal beside H and one equation for each row
(Nocedal and Wright 2006, sections 14.2 and 16.6): with many more rows than variables that costs more than guesses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.tr.elastic_program import Rows
from meco.tr.large_curvature import Curvature, solve_with_rows

MOST_STEPS = 100  # of Newton's method; 421 hard programs took at most 60
CENTERING = 0.1  # mu that a step asks for, in shares of what it finds
FIRST = 0.1  # multipliers and slacks at the start, in units of the largest slope there and of half the box
LAST_MU = 1e-8  # in units of both, when active rows and bounds can be told
LAST_SLOPE = 1e-6  # of (1)
INSIDE = 0.9  # share of the box around its middle that a start is put into
THINNEST = 1e-9  # width of a bound's interval, in units of the widest
SHORT = 0.99  # share of the way to the first number that would be 0


class InsidePoint(NamedTuple):
    """Where Newton's method ended: s [D], the duals of the rows [C], and s with the bounds met that hold it back [D].

    The last is a better guess of what is active, and no better step: rows may be broken by it.
    """

    s: np.ndarray
    duals: np.ndarray
    held: np.ndarray


class Ends(NamedTuple):
    """Finite ends of rows, G s - t <= r: the row of each [k], the sign that G has there, r and the price."""

    row: np.ndarray
    sign: np.ndarray
    right: np.ndarray
    price: np.ndarray


def solve_from_inside(
    h: Curvature, slope: np.ndarray, rows: Rows, low: np.ndarray, high: np.ndarray, start: np.ndarray
) -> InsidePoint:
    """A point near the least of the program within low and high [D], near enough to tell active rows and bounds.

    The start [D] itself, and duals of 0, where the box is a point or numbers overflow.
    """
    used, duals = np.isfinite(rows.low) | np.isfinite(rows.high), np.zeros_like(rows.value)
    a, ends = rows.matrix[used], _list_ends(Rows(*(part[used] for part in rows)))
    middle, half = 0.5 * (low + high), 0.5 * np.maximum(high - low, THINNEST * np.max(high - low))
    s = np.minimum(np.maximum(start, middle - INSIDE * half), middle + INSIDE * half)
    pull = slope + h.times(s)
    reach = float(half.max())
    steepest = float(np.abs(pull).max()) + h.size * reach
    if not 0.0 < steepest * reach < np.inf:
        return InsidePoint(start, duals, start)
    distance = ends.right - ends.sign * (a @ s)[ends.row]
    gap, force = _begin_inside(s - middle + half, middle + half - s, distance, ends, steepest, reach)
    for _ in range(MOST_STEPS):
        mu = float(gap @ force) / len(gap)
        (below, above, w, t), (z_low, z_high, y, q) = (np.split(part, _parts(s, ends)) for part in (gap, force))
        off = pull + _add_ends(ends, y, len(a)) @ a - z_low + z_high
        if mu <= LAST_MU * steepest * reach and float(np.abs(off).max()) <= LAST_SLOPE * steepest:
            break
        c_low, c_high, c_y, c_q = np.split(CENTERING * mu - gap * force, _parts(s, ends))
        slack, value = w / y + t / q, c_q / q - c_y / y  # of an end: G ds - slack dy = value
        row_slack = 1.0 / _add_ends(ends, ends.sign / slack, len(a))
        row_value = row_slack * _add_ends(ends, value / slack, len(a))
        right = c_low / below - c_high / above - off
        ds, dual = solve_with_rows(h, z_low / below + z_high / above, right, a, row_value, row_slack)
        moved = ends.sign * (row_value + row_slack * dual)[ends.row]  # G ds
        dy = (moved - value) / slack
        dt = (c_q + t * dy) / q
        d_gap = np.concatenate([ds, -ds, dt - moved, dt])
        d_force = np.concatenate([(c_low - z_low * ds) / below, (c_high + z_high * ds) / above, dy, -dy])
        length = SHORT / float(np.max([SHORT, np.max(-d_gap / gap), np.max(-d_force / force)]))
        if not length > 0.0:  # nan
            return InsidePoint(start, duals, start)
        s, pull = s + length * ds, pull + length * h.times(ds)
        gap, force = gap + length * d_gap, force + length * d_force
    (below, above, *_), (z_low, z_high, y, _) = (np.split(part, _parts(s, ends)) for part in (gap, force))
    duals[used] = _add_ends(ends, y, len(a))
    held = np.where(z_low > h.size * below, low, np.where(z_high > h.size * above, high, s))
    return InsidePoint(np.minimum(np.maximum(s, low), high), duals, held)


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
    """Gaps and forces of (2), [2 D + 2 k] each, at a point that is below and above [D] away from the bounds.

    distance [k] is r - G s = w - t there. Multipliers begin low, in units of a slope, and w and t high, in units of the
    box: on the central path ends that are far away would have nearly their price, and come down from it slowly.
    """
    mu, y, t = FIRST * steepest * reach, FIRST * np.minimum(steepest, ends.price), FIRST * reach
    gap = np.concatenate([below, above, np.maximum(distance, 0.0) + t, np.maximum(-distance, 0.0) + t])
    return gap, np.concatenate([mu / below, mu / above, y, ends.price - y])


def _parts(s: np.ndarray, ends: Ends) -> list[int]:
    """Where the pairs of upper bounds, of ends and of what is beyond them begin."""
    dim, count = len(s), len(ends.row)
    return [dim, 2 * dim, 2 * dim + count]
