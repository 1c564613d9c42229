"""The program of program.py in many variables: projected gradients, guesses of what is active, a penalty that grows.

A Newton step solves H of large_curvature.py with a few rows beside it,

    (H + rho E + rho A'A) d = - gradient,                                                               (1)

E being the variables at a bound and A the rows at a limit.

Most variables begin away from their bounds and end at one, while few rows do. So a program begins with what costs no
system at all: the Lagrangian of the last duals is minimised in the box by projected gradients, after twenty of which
nearly all bounds are right. From there active rows and bounds are guessed (active_set.py): variables at a bound are
moved to it, and (1) is solved for the others alone. Guesses that go round in circles begin again with a tenth of their
curvature, which ends half of them; else the method of multipliers of program.py is left, with E. With a penalty of 1e5
times the curvature its line search ends at the first bounds that it meets, again and again; so rho begins low, and
grows with every update of the duals.
"""

from __future__ import annotations

import numpy as np

from meco.core.arrays import Array
from meco.tr.active_set import GUESS_CURVATURE, GUESSES
from meco.tr.elastic_program import PENALTY, Rows
from meco.tr.large_curvature import Curvature
from meco.tr.program import LINE_TOLERANCE, find_corners, find_ends, find_least_point

FIRST_PENALTY = 100.0  # rho in units of the curvature
PENALTY_GROWTH = 30.0  # its factor with every update of the duals, up to PENALTY
PROJECTED_STEPS = 20  # of a gradient: ten leave a system more, sixty take as long as a system
LEAST_FALL = 1e-5  # that a projected gradient is followed for, in shares of the first one's
GUESS_CURVATURES = (GUESS_CURVATURE, 0.1 * GUESS_CURVATURE)  # u of active_set.py, one after the other
TOLERANCE, LOOSE_TOLERANCE = 1e-8, 1e-2  # of the optimality conditions; before rho has grown
MAX_SOLVES = 100


def solve_large_program(
    bent: list[Curvature], slope: Array, rows: Rows, low: Array, high: Array, duals: Array
) -> tuple[Array, Array]:
    """The step s [B, D] of (1) in program.py within low and high [B, D], and the duals of the rows [B, C].

    In NumPy and run by run, with curvature `bent` of each, slope [B, D], and duals [B, C] to begin with. A run that is
    not solved after MAX_SOLVES solves keeps what it has come to.
    """
    made = []
    for b, h in enumerate(bent):
        given = h, slope[b], Rows(*(part[b] for part in rows)), low[b], high[b], duals[b]
        start = minimise_in_box(h, slope[b] + duals[b] @ rows.matrix[b], low[b], high[b])
        guessed = (_guess_active_set(*given, start, u * h.size) for u in GUESS_CURVATURES)
        made.append(next((found for found in guessed if found), None) or _solve_one(*given, start))
    s, y = (np.stack(part) for part in zip(*made))
    return np.minimum(np.maximum(s, low), high), np.minimum(np.maximum(y, -rows.price), rows.price)


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
    a, price, y, rho = rows.matrix, rows.price, duals, PENALTY * h.size
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
        kept = (np.abs(wrong) <= np.where(active, TOLERANCE, limit)).all() and np.abs(moved).max() <= TOLERANCE
        if kept and np.abs(push[~held]).max(initial=0.0) <= limit:
            return s, y
        guess = np.concatenate([side, np.sign(out) * (1.0 + active)]).tobytes()  # who is held or broken, at which end
        crowded = np.count_nonzero(active) + np.count_nonzero(held) > len(s)
        if crowded or (guess in tried and guess != last):
            return None
        last = guess
        tried.add(guess)
        y, few, free = y + np.where(active, rho, 1.0) * wrong, a[active], ~held
        d = moved
        if free.any():
            right = pull + y @ a + h.times(moved) + rho * ((few @ moved) @ few)
            d[free] = -h.among(free).solve(right[free], held[free], few[:, free], rho)
        q = a @ d
        s, y, z, pull = s + d, y + np.where(active, rho, 0.0) * q, z + q, pull + h.times(d)
        push, at_bound = pull + y @ a, held
    return None


def _solve_one(
    h: Curvature,
    slope: np.ndarray,
    rows: Rows,
    low: np.ndarray,
    high: np.ndarray,
    duals: np.ndarray,
    near: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """s [D] and the duals of the rows [C] by the method of multipliers of program.py, after at most MAX_SOLVES solves.

    duals [C] are those to begin with, and so is near [D], unless no step at all is better. The answer may lie outside
    of bounds by a rounding; the caller clips it.
    """
    dim, a, rho, last = len(slope), rows.matrix, FIRST_PENALTY * h.size, PENALTY * h.size
    price = np.concatenate([np.full(dim, np.inf), rows.price])
    lower, upper, most = np.concatenate([low, rows.low]), np.concatenate([high, rows.high]), price / rho
    least, ends = -most, find_ends(lower, upper, most)

    def excess(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much w lies outside its interval, and the same at most what the price allows."""
        out = w - np.minimum(np.maximum(w, lower), upper)
        return out, np.minimum(np.maximum(out, least), most)

    def cost(s: np.ndarray) -> float:
        """Eq. (2) of program.py at s, but for the duals of bounds."""
        out, e = excess(np.concatenate([s, a @ s + rows.value + duals / rho]))
        return float(s @ (slope + 0.5 * h.times(s)) + rho * (e @ (out - 0.5 * e)))

    s = min(np.minimum(np.maximum(np.zeros(dim), low), high), near, key=cost)
    bend, z = h.times(s), np.concatenate([s, a @ s + rows.value])
    pull = slope + bend + duals @ a
    held = ((s <= low) & (pull > 0.0)) | ((s >= high) & (pull < 0.0))
    y = np.concatenate([np.where(held, -pull, 0.0), duals])
    shift = y / rho
    out, e = excess(z + shift)
    for _ in range(MAX_SOLVES):
        gradient = slope + bend + rho * (e[:dim] + e[dim:] @ a)
        active = (out != 0.0) & (np.abs(out) < most)
        d = -h.solve(gradient, active[:dim], a[active[dim:]], rho)
        q, bent = np.concatenate([d, a @ d]), h.times(d)
        start, steep = float(gradient @ d), float(d @ bent)
        length, (new_out, new_e) = 1.0, excess(z + shift + q)
        if abs(start + steep + rho * float((new_e - e) @ q)) > LINE_TOLERANCE * abs(start):
            corners = find_corners(ends, z + shift, q)
            length = find_least_point(corners, start, steep, rho, z + shift, q, e, excess)
            new_out, new_e = excess(z + shift + length * q)
        s, z, bend, out, e = s + length * d, z + length * q, bend + length * bent, new_out, new_e
        found = rho * e
        off = float(np.abs(slope + bend + found[:dim] + found[dim:] @ a).max())
        size = 1.0 + float(np.abs(found).max(initial=0.0))
        if off > size * (TOLERANCE if rho == last else LOOSE_TOLERANCE):
            continue
        y = found
        broken = z + y - np.minimum(np.maximum(z + y, lower), upper)
        broken = np.minimum(np.maximum(broken, -price), price) - y
        if max(off, float(np.abs(broken).max())) <= TOLERANCE * size:
            break
        rho = min(PENALTY_GROWTH * rho, last)
        most, shift = price / rho, y / rho
        least, ends = -most, find_ends(lower, upper, most)
        out, e = excess(z + shift)
    return s, y[dim:]
