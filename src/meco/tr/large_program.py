"""The program of program.py in many variables: projected gradients, a guess of what is active, an interior point.

Most variables begin away from their bounds and end at one, while few rows do. So a program begins with what costs no
system at all: the Lagrangian of the last duals is minimised in the box by projected gradients, after twenty of which
nearly all bounds are right. From there active rows and bounds are guessed (active_set.py): variables at a bound are
moved to it, and a system of the others and the active rows is solved for what is left. Guesses that go round in circles
begin again where interior_point.py ends, as little is left to guess there, and once more some steps further on.
"""

from __future__ import annotations

import numpy as np

from meco.core.arrays import Array
from meco.tr.active_set import GUESS_CURVATURE, GUESSES
from meco.tr.elastic_program import PENALTY, Rows
from meco.tr.interior_point import CentralPath
from meco.tr.large_curvature import Curvature, solve_with_rows

PROJECTED_STEPS = 20  # of a gradient: ten leave a system more, sixty take as long as a system
LEAST_FALL = 1e-5  # that a projected gradient is followed for, in shares of the first one's
INSIDE_STEPS = (1e-8, 100), (1e-11, 12)  # last mu and most Newton steps, before a guess and before another
TOLERANCE = 1e-8  # of the optimality conditions
ROW_TOLERANCE = 1e-12  # of an active row, which may cost 10^6 a unit: rounding of D products may leave 1e-13


def solve_large_program(
    bent: list[Curvature], slope: Array, rows: Rows, low: Array, high: Array, duals: Array
) -> tuple[Array, Array]:
    """The step s [B, D] of (1) in program.py within low and high [B, D], and the duals of the rows [B, C].

    In NumPy and run by run, with curvature `bent` of each, slope [B, D], and duals [B, C] to begin with.
    """
    made = [
        _solve_one(h, slope[b], Rows(*(part[b] for part in rows)), low[b], high[b], duals[b])
        for b, h in enumerate(bent)
    ]
    s, y = (np.stack(part) for part in zip(*made))
    return np.minimum(np.maximum(s, low), high), np.minimum(np.maximum(y, -rows.price), rows.price)


def _solve_one(
    h: Curvature, slope: np.ndarray, rows: Rows, low: np.ndarray, high: np.ndarray, duals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """s [D] and the duals of the rows [C] of one program, with duals [C] to begin with.

    A guess from inside that ends may still have missed a dear row by what rounding is, so its cost is compared. Where
    none ends, as with rows that depend on each other, the cheapest of what is known is the step.
    """
    program = h, slope, rows, low, high
    start = minimise_in_box(h, slope + duals @ rows.matrix, low, high)
    found = _guess_active_set(*program, duals, start, GUESS_CURVATURE * h.size)
    if found is not None:
        return found
    path, known = CentralPath(*program, start), list[tuple[np.ndarray, np.ndarray]]()
    for last_mu, most in INSIDE_STEPS:
        inside = path.follow(last_mu, most)
        found = _guess_active_set(*program, inside.duals, inside.held, h.size)
        if found is not None and _cost(h, slope, rows, found[0]) <= _cost(h, slope, rows, inside.s):
            return found
        known += [(inside.s, inside.duals)] if found is None else [(inside.s, inside.duals), found]
    nowhere = np.minimum(np.maximum(np.zeros_like(start), low), high)
    return min([(start, duals), (nowhere, duals), *known], key=lambda point: _cost(h, slope, rows, point[0]))


def _cost(h: Curvature, slope: np.ndarray, rows: Rows, s: np.ndarray) -> float:
    """What eq. (1) of program.py minimises at s [D], f's model and the price of broken rows; inf for nan."""
    z = rows.matrix @ s + rows.value
    broken = np.abs(z - np.minimum(np.maximum(z, rows.low), rows.high))
    cost = float(slope @ s + 0.5 * (s @ h.times(s)) + rows.price @ broken)
    return np.inf if np.isnan(cost) else cost


def minimise_in_box(h: Curvature, slope: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A point [D] near the least of slope's + s'Hs/2 within low and high [D], without solving a system.

    At most PROJECTED_STEPS projected gradients with lengths of Barzilai and Borwein (Birgin, Martinez and Raydan 2000),
    each followed as far as it is downhill; so no step goes up.
    """
    s = np.minimum(np.maximum(np.zeros(len(slope)), low), high)
    gradient, length, least = slope + h.times(s), 1.0 / h.size, 0.0
    for _ in range(PROJECTED_STEPS):
        d = np.minimum(np.maximum(s - length * gradient, low), high) - s
        fall, bent = float(-(gradient @ d)), h.times(d)
        bend = float(d @ bent)
        if not (fall > least and bend > 0.0):  # near enough, a step whose square vanishes, or nan
            break
        share, least = (1.0 if bend <= fall else fall / bend), least or LEAST_FALL * fall
        s, gradient = s + share * d, gradient + share * bent
        length = float(d @ d) / bend
    return s


def _guess_active_set(
    h: Curvature,
    slope: np.ndarray,
    rows: Rows,
    low: np.ndarray,
    high: np.ndarray,
    duals: np.ndarray,
    s: np.ndarray,
    u: float,
) -> tuple[np.ndarray, np.ndarray] | None:
    """s [D] and the duals of the rows [C] by the guesses of active_set.py; None where they go round in circles.

    duals [C] and s, in the box, are those to begin with, u is the curvature of a guess. Variables that are guessed to
    be at a bound are put there, and what pushes them is their dual; rows have the penalty of active_set.py.
    """
    a, price, y, slack = rows.matrix, rows.price, duals, np.full(len(rows.price), 1.0 / (PENALTY * h.size))
    z, pull = a @ s + rows.value, slope + h.times(s)
    push = pull + y @ a
    at_bound, most, last, tried = (s <= low) | (s >= high), price / u, b"", set[bytes]()
    for _ in range(GUESSES):
        w = np.where(at_bound, s - push / u, s)
        moved = np.minimum(np.maximum(w, low), high)
        side, held = np.sign(w - moved), w != moved
        moved = np.where(held, moved - s, 0.0)
        v = z + y / u
        end = np.minimum(np.maximum(v, rows.low), rows.high)
        out = v - end
        active = (out != 0.0) & (np.abs(out) < most)
        wrong = np.where(active, z - end, np.minimum(np.maximum(u * out, -price), price) - y)
        limit = TOLERANCE * (1.0 + max(float(np.abs(y).max(initial=0.0)), float(np.abs(push).max())))
        kept = (np.abs(wrong) <= np.where(active, ROW_TOLERANCE, limit)).all() and np.abs(moved).max() <= TOLERANCE
        if kept and np.abs(push[~held]).max(initial=0.0) <= limit:
            return s, y
        guess = np.concatenate([side, np.sign(out) * (1.0 + active)]).tobytes()  # who is held or broken, at which end
        crowded = np.count_nonzero(active) + np.count_nonzero(held) > len(s)
        if crowded or (guess in tried and guess != last):
            return None
        last = guess
        tried.add(guess)
        y, few, free, d = np.where(active, y, y + wrong), a[active], ~held, moved
        if free.any():
            right, value = -(pull + y @ a + h.times(moved))[free], -wrong[active] - few @ moved
            d[free], dual = solve_with_rows(h.among(free), None, right, few[:, free], value, slack[active])
            y[active] += dual
        s, z, pull = s + d, z + a @ d, pull + h.times(d)
        push, at_bound = pull + y @ a, held
    return None
