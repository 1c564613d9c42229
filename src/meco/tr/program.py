"""The quadratic program of a step, elastic so that it always has an answer, solved to rounding.

    minimise  b's + s'Hs/2 + sum_i price_i dist(c_i + A_i s, [low_i, high_i])   over a box of s         (1)

H is convex, rows of A have length about one. Bounds of s are rows too, J = [I; A], which no price lets be broken. The
method of multipliers (Rockafellar 1976) minimises for fixed duals y, with a penalty rho and a little sigma,

    b's + s'Hs/2 + rho/2 sum_i phi_i(w_i) + sigma/2 |s - s_k|^2,     w = J s + c + y / rho,             (2)
    rho grad phi_i = rho e_i,   e_i = clip(w_i - clip(w_i, low_i, high_i), -price_i / rho, price_i / rho)

and then takes y = rho e. (2) is a quadratic in every set of active rows, so Newton's method with an exact line search
(semismooth Newton; Hermans, Themelis and Patrinos 2022 use the same pair) ends after a few solves:
two to fourteen from duals of zero on random programs. A run is done when the optimality conditions hold to TOLERANCE.
The active rows are guessed first (active_set.py), which is several times faster where it ends, as it does for most
programs of a search.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from meco.core.arrays import Array, inverse, largest, maybe_any, namespace, total, zeros_like
from meco.tr.active_set import find_active_sets
from meco.tr.elastic_program import TOLERANCE, Program, Rows, make_program, multiply

LINE_TOLERANCE = 1e-9  # of the derivative along a step, in shares of what it was
MAX_SOLVES = 200  # systems for a program: 4 of 8,000 random ones need more than forty


def solve_program(
    hessian: Array, slope: Array, rows: Rows, low: Array, high: Array, duals: Array, solves: int = MAX_SOLVES
) -> tuple[Array, Array]:
    """The step s [B, D] of (1) within the box low, high [B, D], and the duals of the rows [B, C].

    hessian [B, D, D] is convex, slope [B, D] is b. duals [B, C] is where the iteration starts: those of a similar
    program, or zeros. After `solves` systems a run keeps what it has come to.
    """
    xp, dim = namespace(slope), slope.shape[1]
    program = make_program(hessian, slope, rows, low, high)
    s = xp.minimum(xp.maximum(zeros_like(slope), low), high)  # no step yet
    y = xp.concat([_bound_duals(program, s, duals), duals], axis=1)
    known = s, y
    s, y, found = find_active_sets(program, *known)
    for b in (~found).nonzero()[0]:
        s[b], y[b] = _solve_one(Program(*(part[b] for part in program)), known[0][b], known[1][b], solves)
    price = rows.price
    return xp.minimum(xp.maximum(s, low), high), xp.minimum(xp.maximum(y[:, dim:], -price), price)


def _bound_duals(program: Program, s: Array, duals: Array) -> Array:
    """Duals [B, D] of the bounds that hold s [B, D] back, given those of the rows [B, C]; 0 for the others."""
    xp, dim = namespace(s), s.shape[1]
    pull = program.slope + multiply(program.hessian, s) + multiply(program.matrix[:, dim:, :].mT, duals)
    held = ((s <= program.low[:, :dim]) & (pull > 0.0)) | ((s >= program.high[:, :dim]) & (pull < 0.0))
    return xp.where(held, -pull, 0.0)


def _solve_one(p: Program, s: np.ndarray, y: np.ndarray, solves: int) -> tuple[np.ndarray, np.ndarray]:
    """s [D] and y [k] of one run, from s and y of a similar program, after at most `solves` systems.

    Newton steps of (2), where what is known at a point is not computed again. Arrays are short here, so the time is the
    number of calls: J s, H s and e follow s, and the inverse is kept while the same rows are active. A run that is not
    done by then keeps what it has come to.
    """
    turned, rho, sigma = p.matrix.T, float(p.rho[0]), float(p.sigma[0])
    most, least, lower, upper = p.price / rho, -p.price / rho, p.low, p.high
    z, bent, anchor, ridge = p.matrix @ s + p.value, p.hessian @ s, s, sigma * _identity(len(s))
    shift, active, inverted, ends = y / rho, None, None, find_ends(p.low, p.high, most)

    def excess(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much w lies outside its interval, and the same at most t."""
        out = w - np.minimum(np.maximum(w, lower), upper)
        return out, np.minimum(np.maximum(out, least), most)

    w, pull, held = z + shift, p.slope + bent, sigma * (s - anchor)
    out, e = excess(w)
    for _ in range(solves):
        gradient = pull + held + rho * (turned @ e)
        now = (out != 0.0) & (np.abs(out) < most)
        if active is None or maybe_any(now != active):
            active = now
            rows = p.matrix[active]
            inverted = inverse(p.hessian + rho * (rows.T @ rows) + ridge)
        d = -(inverted @ gradient)
        q, bend = p.matrix @ d, p.hessian @ d
        start, steep = float(total(gradient * d)), float(total(d * (bend + sigma * d)))
        length, (new_out, new_e) = 1.0, excess(w + q)
        slope = start + steep + rho * float(total((new_e - e) * q))
        if abs(slope) > LINE_TOLERANCE * abs(start):
            length = find_least_point(find_corners(ends, w, q), start, steep, rho, w, q, e, excess)
            new_out, new_e = excess(w + length * q)
        s, z, bent, out, e = s + length * d, z + length * q, bent + length * bend, new_out, new_e
        w, pull, held, found = z + shift, p.slope + bent, sigma * (s - anchor), rho * e
        gradient = pull + turned @ found
        limit = TOLERANCE * (1.0 + float(largest(np.abs(found))[0]))
        if largest(np.abs(gradient + held))[0] > limit:
            continue
        y, anchor = found, s
        broken = z + y - np.minimum(np.maximum(z + y, lower), upper)
        broken = np.minimum(np.maximum(broken, -p.price), p.price) - y
        if largest(np.abs(broken))[0] <= limit and largest(np.abs(gradient))[0] <= limit:
            break
        shift, held = y / rho, sigma * (s - anchor)
        w = z + shift
        out, e = excess(w)
    return s, y


def find_ends(low: np.ndarray, high: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Where rows begin or cease to pull [4, k]: at their intervals low, high [k], and most [k] = price / rho beyond."""
    return np.stack([low - most, low, high, high + most])


def find_corners(ends: np.ndarray, w: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Lengths > 0 along q [k], sorted, at which w [k] comes to one of its ends [4, k]: [n], n <= 4 k."""
    corners = (ends - w) / np.where(q != 0.0, q, np.nan)  # nan: a row that stays where it is
    return np.sort(corners[np.isfinite(corners) & (corners > 0.0)])


def find_least_point(
    corners: np.ndarray,
    start: float,
    steep: float,
    rho: float,
    w: np.ndarray,
    q: np.ndarray,
    e: np.ndarray,
    excess: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> float:
    """The length at which the derivative of (2) along a direction is zero: it grows, and is linear between corners [n].

    start and steep are the derivative at 0 and its growth without rows; q [k] is what w [k] changes by, e [k] the
    excess at w, and excess(w) gives it elsewhere. 1 where the derivative does not grow.
    """

    def slope_at(length: float) -> float:
        return start + length * steep + rho * float(total((excess(w + length * q)[1] - e) * q))

    low, high = 0, len(corners)  # the derivative is not above 0 before `low` corners, and above 0 at `high`
    at_left = at_right = None  # it there, unless no corner is
    while low < high:
        middle = (low + high) // 2
        if (here := slope_at(corners[middle])) > 0.0:
            high, at_right = middle, here
        else:
            low, at_left = middle + 1, here
    left = corners[low - 1] if low else 0.0
    right = corners[low] if low < len(corners) else 2.0 * left + 1.0
    at_left = slope_at(left) if at_left is None else at_left
    at_right = slope_at(right) if at_right is None else at_right
    rise = at_right - at_left
    return left - at_left * (right - left) / rise if rise > 0.0 else 1.0


@lru_cache(maxsize=64)
def _identity(size: int) -> np.ndarray:
    """The identity [size, size], kept: not to be written to."""
    return np.eye(size)
