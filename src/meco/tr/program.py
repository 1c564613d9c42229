"""The quadratic program of a step, elastic so that it always has an answer, solved to rounding.

    minimise  b's + s'Hs/2 + sum_i price_i dist(c_i + A_i s, [low_i, high_i])   over a box of s         (1)

H is convex, rows of A have length about one. Bounds of s are rows too, J = [I; A], which no price lets be broken. The
method of multipliers (Rockafellar 1976) minimises for fixed duals y, with a penalty rho and a little sigma,

    b's + s'Hs/2 + rho/2 sum_i phi_i(w_i) + sigma/2 |s - s_k|^2,     w = J s + c + y / rho,             (2)
    rho grad phi_i = rho e_i,   e_i = clip(w_i - clip(w_i, low_i, high_i), -price_i / rho, price_i / rho)

and then takes y = rho e. (2) is a quadratic in every set of active rows, so Newton's method with an exact line search
(semismooth Newton; Hermans, Themelis and Patrinos 2022 use the same pair) ends after a few solves:
two to fourteen from duals of zero on random programs. A run is done when the optimality conditions hold to TOLERANCE;
runs in lockstep wait for nobody, and on a CUDA device all of it is one kernel (device/program_kernel.py). In NumPy the
active rows are guessed first (active_set.py), which is several times faster where it ends, as it does for most programs
of a search.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, identities, inverse, largest, maybe_any, namespace, total, zeros_like
from meco.device.kernels import MOST_VARIABLES, has_kernels
from meco.tr.active_set import find_active_sets
from meco.tr.elastic_program import (
    LEAST_CURVATURE,
    PENALTY,
    PROXIMITY,
    TOLERANCE,
    Program,
    Rows,
    make_program,
    multiply,
)

LINE_TOLERANCE = 1e-9  # of the derivative along a step, in shares of what it was
MAX_SOLVES = 200  # systems for a program, in NumPy: 4 of 8,000 random ones need more than forty
DEVICE_SOLVES = 24  # the same where nobody waits for a device to tell who is done
KERNEL_SOLVES = 64  # the same in one kernel, and two for each row of J: others need not wait, but the next kernel does
KERNEL_ROWS = 128  # that one kernel's registers hold


class Iterate(NamedTuple):
    """Where the iteration is: s and the proximal centre [B, D], duals y [B, k], and which runs are done [B]."""

    s: Array
    anchor: Array
    y: Array
    done: Array


def solve_program(
    hessian: Array, slope: Array, rows: Rows, low: Array, high: Array, duals: Array, solves: int = MAX_SOLVES
) -> tuple[Array, Array]:
    """The step s [B, D] of (1) within the box low, high [B, D], and the duals of the rows [B, C].

    hessian [B, D, D] is convex, slope [B, D] is b. duals [B, C] is where the iteration starts: those of a similar
    program, or zeros. After `solves` systems in NumPy, limit_of_kernel() in a kernel, DEVICE_SOLVES elsewhere, a run
    keeps what it has come to.
    """
    xp, dim = namespace(slope), slope.shape[1]
    if has_kernels(slope) and dim <= MOST_VARIABLES and duals.shape[1] <= KERNEL_ROWS:
        return _solve_in_kernel(hessian, slope, rows, low, high, duals)
    program = make_program(hessian, slope, rows, low, high)
    s = xp.minimum(xp.maximum(zeros_like(slope), low), high)  # no step yet
    y = xp.concat([_bound_duals(program, s, duals), duals], axis=1)
    if isinstance(slope, np.ndarray):
        known = s, y
        s, y, found = find_active_sets(program, *known)
        for b in (~found).nonzero()[0]:
            s[b], y[b] = _solve_one(Program(*(part[b] for part in program)), known[0][b], known[1][b], solves)
    else:
        s, _, y, _ = _solve_lockstep(program, Iterate(s, s, y, largest(zeros_like(s))[:, 0] > 0.0))
    price = rows.price
    return xp.minimum(xp.maximum(s, low), high), xp.minimum(xp.maximum(y[:, dim:], -price), price)


def _solve_in_kernel(
    hessian: Array, slope: Array, rows: Rows, low: Array, high: Array, duals: Array
) -> tuple[Array, Array]:
    """solve_program() in one kernel of a CUDA device, with at most limit_of_kernel() systems for each run."""
    from meco.device.program_kernel import solve_program_in_one_kernel  # needs Triton

    limit = limit_of_kernel(*rows.matrix.shape[1:])
    s, found, _ = solve_program_in_one_kernel(hessian, slope, rows, low, high, duals, limit, kernel_constants())
    return s, found


def limit_of_kernel(count: int, dim: int) -> int:
    """How many systems a kernel solves at most for a program with `count` rows and as many bounds as variables.

    With 64 alone, 97 % of random programs with 128 rows in 30 variables would end unsolved; with these, none of 200.
    """
    return min(KERNEL_SOLVES + 2 * (count + dim), MAX_SOLVES)


def kernel_constants() -> dict[str, float]:
    """What the kernel is made with: the constants of this program."""
    return {
        "least": LEAST_CURVATURE,
        "penalty": PENALTY,
        "proximity": PROXIMITY,
        "tolerance": TOLERANCE,
        "line_tolerance": LINE_TOLERANCE,
    }


def _bound_duals(program: Program, s: Array, duals: Array) -> Array:
    """Duals [B, D] of the bounds that hold s [B, D] back, given those of the rows [B, C]; 0 for the others."""
    xp, dim = namespace(s), s.shape[1]
    pull = program.slope + multiply(program.hessian, s) + multiply(program.matrix[:, dim:, :].mT, duals)
    held = ((s <= program.low[:, :dim]) & (pull > 0.0)) | ((s >= program.high[:, :dim]) & (pull < 0.0))
    return xp.where(held, -pull, 0.0)


def _solve_one(p: Program, s: np.ndarray, y: np.ndarray, solves: int) -> tuple[np.ndarray, np.ndarray]:
    """s [D] and y [k] of one run in NumPy, from s and y of a similar program, after at most `solves` systems.

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


def _solve_lockstep(program: Program, now: Iterate) -> Iterate:
    """All runs after DEVICE_SOLVES Newton steps each, since nobody asks a device who is done.

    A run that is done stays as it is; one that is not by then ends unsolved, with done False.
    """
    xp = namespace(now.s)
    for _ in range(DEVICE_SOLVES):
        new, kept = _take_newton_step(program, now), now.done[:, None]
        now = Iterate(
            xp.where(kept, now.s, new.s),
            xp.where(kept, now.anchor, new.anchor),
            xp.where(kept, now.y, new.y),
            now.done | new.done,
        )
    return now


def _take_newton_step(program: Program, now: Iterate) -> Iterate:
    """One Newton step of (2) from s, of every run; new duals, and a new anchor, where it has found the minimum.

    done [B] says where the conditions of (1) then hold to TOLERANCE.
    """
    xp = namespace(now.s)
    hessian, rho, sigma = program.hessian, program.rho, program.sigma
    w = multiply(program.matrix, now.s) + program.value + now.y / rho
    most = program.price / rho
    out = w - xp.minimum(xp.maximum(w, program.low), program.high)
    e = xp.minimum(xp.maximum(out, -most), most)
    pull = program.slope + multiply(hessian, now.s) + sigma * (now.s - now.anchor)
    gradient = pull + rho * multiply(program.matrix.mT, e)
    active = xp.where((out != 0.0) & (xp.abs(out) < most), rho, 0.0)  # [B, k]
    weighted = program.matrix * active[..., None]
    curvature = hessian + program.matrix.mT @ weighted + sigma[..., None] * identities(1, now.s.shape[1], now.s)
    d = -multiply(inverse(curvature), gradient)
    length = _exact_length(program, now, w, most, pull, d)
    s = now.s + length[:, None] * d
    # at the new point
    step = multiply(program.matrix, s) + program.value
    w = step + now.y / rho
    out = w - xp.minimum(xp.maximum(w, program.low), program.high)
    e = xp.minimum(xp.maximum(out, -most), most)
    y = rho * e
    pull = program.slope + multiply(hessian, s)
    gradient = pull + multiply(program.matrix.mT, y)
    inner = gradient + sigma * (s - now.anchor)
    size = 1.0 + largest(xp.abs(y))
    found = largest(xp.abs(inner)) <= TOLERANCE * size  # [B, 1]
    # conditions of (1) with the new duals
    v = step + y
    out = v - xp.minimum(xp.maximum(v, program.low), program.high)
    broken = largest(xp.abs(xp.minimum(xp.maximum(out, -program.price), program.price) - y))
    done = found & (broken <= TOLERANCE * size) & (largest(xp.abs(gradient)) <= TOLERANCE * size)
    return Iterate(s, xp.where(found, s, now.anchor), xp.where(found, y, now.y), done[:, 0])


def _exact_length(program: Program, now: Iterate, w: Array, most: Array, pull: Array, d: Array) -> Array:
    """The length [B] along d [B, D] at which (2) is least: its derivative is piecewise linear and grows.

    w [B, k] is that of (2) at now.s, most [B, k] = price / rho, pull [B, D] the gradient there without rows. 1 where
    that is near enough, or the derivative does not grow.
    """
    xp = namespace(d)
    q = multiply(program.matrix, d)  # [B, k]
    bend = total(d * multiply(program.hessian, d)) + program.sigma[:, 0] * total(d * d)
    start = total(pull * d)

    def slope_at(length: Array) -> Array:
        """The derivative at lengths [B, n]."""
        at = w[:, None, :] + length[..., None] * q[:, None, :]
        out = at - xp.minimum(xp.maximum(at, program.low[:, None, :]), program.high[:, None, :])
        e = xp.minimum(xp.maximum(out, -most[:, None, :]), most[:, None, :])
        return start[:, None] + length * bend[:, None] + program.rho * (e @ q[..., None])[..., 0]

    one = zeros_like(start)[:, None] + 1.0
    before = slope_at(zeros_like(one))[:, 0]
    enough = xp.abs(slope_at(one)[:, 0]) <= LINE_TOLERANCE * xp.abs(before)
    safe = xp.where(q != 0.0, q, 1.0)
    ends = xp.concat([program.low - most, program.low, program.high, program.high + most], axis=1)
    corners = (ends - xp.concat([w] * 4, axis=1)) / xp.concat([safe] * 4, axis=1)
    usable = xp.isfinite(corners) & (corners > 0.0) & (xp.concat([q] * 4, axis=1) != 0.0)
    corners = xp.concat([xp.where(usable, corners, 0.0), zeros_like(one)], axis=1)
    slopes = slope_at(corners)
    below = slopes <= 0.0
    left = xp.max(xp.where(below, corners, 0.0), axis=-1)
    right = xp.min(xp.where(below, xp.inf, corners), axis=-1)
    far = xp.isinf(right)
    right = xp.where(far, 2.0 * left + 1.0, right)
    at = slope_at(xp.stack([left, right], axis=1))
    rise = at[:, 1] - at[:, 0]
    length = left - at[:, 0] * (right - left) / xp.where(rise > 0.0, rise, 1.0)
    length = xp.where(rise > 0.0, length, 1.0)
    return xp.where(enough, 1.0, length)
