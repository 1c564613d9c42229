"""The program of program.py from inside: Newton's method along the central path.

It takes 10 to 30 systems with few rows, whatever ends up active, and twice as many with hundreds of rows or dear ones
that have to be broken; guesses of the active set are done in fewer, or go round in circles, as they do in nearly linear
programs. With G s <= r for all finite ends of rows, and p their prices,

    min b's + s'Hs/2 + p't,   G s - t <= r,   t >= 0,   low <= s <= high,

the central path has multipliers y of the ends, and z of the bounds, with w = r - G s + t and

    b + H s + G'y - z_low + z_high = 0,                                                                 (1)
    y w = q t = z_low (s - low) = z_high (high - s) = mu,     q = p - y,                                (2)

and every Newton step asks for a tenth of the mu that it finds, without a corrector, while everything stays positive.
What belongs to bounds and to ends is eliminated from it, which leaves a diagonal beside H and one equation for each row
(Nocedal and Wright 2006, sections 14.2 and 16.6).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from meco.tr.elastic_program import Rows
from meco.tr.large_curvature import Curvature, solve_with_rows

CENTERING = 0.1  # mu that a step asks for, in shares of what it finds
FIRST = 0.1  # multipliers and slacks at the start, in units of the largest slope there and of half the box
LAST_SLOPE = 1e-6  # of (1), in units of the largest slope
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


class CentralPath:
    """A program on its way along the path: s [D], and gap and force, the two factors of every product of (2).

    Both are [2 D + 2 k]: of lower bounds, of upper ones, of ends, and of what is beyond these.
    """

    def __init__(
        self, h: Curvature, slope: np.ndarray, rows: Rows, low: np.ndarray, high: np.ndarray, start: np.ndarray
    ) -> None:
        """Begin near the start [D], which is put inside of low and high [D]; rows have prices above 0."""
        self.h, self.low, self.high, self.start = h, low, high, start
        self.used = np.isfinite(rows.low) | np.isfinite(rows.high)
        self.a, self.ends = rows.matrix[self.used], _list_ends(Rows(*(part[self.used] for part in rows)))
        dim, count = len(start), len(self.ends.row)
        cuts = [0, dim, 2 * dim, 2 * dim + count, 2 * dim + 2 * count]
        self._parts = [slice(*pair) for pair in pairwise(cuts)]
        middle, half = 0.5 * (low + high), 0.5 * np.maximum(high - low, THINNEST * np.max(high - low))
        self.s = np.minimum(np.maximum(start, middle - INSIDE * half), middle + INSIDE * half)
        self.pull = slope + h.times(self.s)
        self.reach = float(half.max())
        self.steepest = float(np.abs(self.pull).max()) + h.size * self.reach
        self.steps = 0
        self.has_room = 0.0 < self.steepest * self.reach < np.inf
        if self.has_room:
            self._place(self.s - middle + half, middle + half - self.s)

    def _place(self, below: np.ndarray, above: np.ndarray) -> None:
        """Set gap and force at a point that is below and above [D] away from the bounds.

        Multipliers begin low, in units of a slope, and w and t high, in units of the box: on the central path ends that
        are far away would have nearly their price, and come down from it slowly.
        """
        ends, t = self.ends, FIRST * self.reach
        mu, y = FIRST * self.steepest * self.reach, FIRST * np.minimum(self.steepest, ends.price)
        distance = ends.right - ends.sign * (self.a @ self.s)[ends.row]  # w - t
        self.gap = np.concatenate([below, above, np.maximum(distance, 0.0) + t, np.maximum(-distance, 0.0) + t])
        self.force = np.concatenate([mu / below, mu / above, y, ends.price - y])

    def follow(self, last_mu: float, most: int) -> InsidePoint:
        """Where at most so many Newton steps end: at last_mu, in units of the first slope and of half the box.

        The start itself, and duals of 0, where the box is a point or numbers overflow at once.
        """
        if not self.has_room:
            return self._point()
        self._measure_rows()
        for _ in range(most):
            mu = float(self.gap @ self.force) / len(self.gap)
            off = self._slope()
            small = float(np.abs(off).max()) <= LAST_SLOPE * self.steepest
            if small and mu <= last_mu * self.steepest * self.reach:
                break
            try:
                ds, d_gap, d_force = self.newton_step(off, CENTERING * mu)
            except np.linalg.LinAlgError:  # equal rows, and next to no slack
                break
            length = SHORT / float(np.max([SHORT, np.max(-d_gap / self.gap), np.max(-d_force / self.force)]))
            if not length > 0.0:  # nan
                break
            self.s, self.pull = self.s + length * ds, self.pull + length * self.h.times(ds)
            self.gap, self.force = self.gap + length * d_gap, self.force + length * d_force
            self.steps += 1
        return self._point()

    def _measure_rows(self) -> None:
        """Widen the w and t [k] of ends whose difference is not what r - G s is: every system moves rows a little."""
        _, _, w, t = (self.gap[part] for part in self._parts)
        lacking = self.ends.right - self.ends.sign * (self.a @ self.s)[self.ends.row] - (w - t)
        w += np.maximum(lacking, 0.0)
        t += np.maximum(-lacking, 0.0)

    def _slope(self) -> np.ndarray:
        """What (1) is off by: [D]."""
        z_low, z_high, y, _ = (self.force[part] for part in self._parts)
        return self.pull + _add_ends(self.ends, y, len(self.a)) @ self.a - z_low + z_high

    def newton_step(self, off: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Changes of s, gap and force with which (1), off by [D], and (2) hold to first order."""
        ends, a = self.ends, self.a
        below, above, w, t = (self.gap[part] for part in self._parts)
        z_low, z_high, y, q = (self.force[part] for part in self._parts)
        c_low, c_high, c_y, c_q = ((mu - self.gap * self.force)[part] for part in self._parts)
        slack, value = w / y + t / q, c_q / q - c_y / y  # of an end: G ds - slack dy = value
        row_slack = 1.0 / _add_ends(ends, ends.sign / slack, len(a))
        row_value = row_slack * _add_ends(ends, value / slack, len(a))
        right = c_low / below - c_high / above - off
        ds, dual = solve_with_rows(self.h, z_low / below + z_high / above, right, a, row_value, row_slack)
        moved = ends.sign * (row_value + row_slack * dual)[ends.row]  # G ds
        dy = (moved - value) / slack
        dt = (c_q + t * dy) / q
        d_force = np.concatenate([(c_low - z_low * ds) / below, (c_high + z_high * ds) / above, dy, -dy])
        return ds, np.concatenate([ds, -ds, dt - moved, dt]), d_force

    def _point(self) -> InsidePoint:
        """Where it is now."""
        duals = np.zeros(len(self.used))
        if not self.steps:
            return InsidePoint(self.start, duals, self.start)
        (below, above, *_), (z_low, z_high, y, _) = (
            [of[part] for part in self._parts] for of in (self.gap, self.force)
        )
        duals[self.used] = _add_ends(self.ends, y, len(self.a))
        least = self.h.size
        held = np.where(z_low > least * below, self.low, np.where(z_high > least * above, self.high, self.s))
        return InsidePoint(np.minimum(np.maximum(self.s, self.low), self.high), duals, held)


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
