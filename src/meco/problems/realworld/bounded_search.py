"""One bounded Brent search per point, all points in lockstep, values real or complex.

The robot gripper is defined by where this search ends, not by the true minimum, so every
step matters. Where a function turns complex the search goes on in the complex plane:
comparisons look at real parts, sizes are moduli, and the sign of d is d / |d|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from meco.core.arrays import Array, namespace

Function = Callable[[Array, Array], Array]  # z [M] complex, parameters [K, M] -> values [M] complex

TOLERANCE = 1e-4
GOLDEN = (3 - math.sqrt(5)) / 2
MOST_EVALUATIONS = 500


class Bracket(NamedTuple):
    """Bracket, the three best points with their values, and the last two steps: all complex [M]."""

    low: Array
    high: Array
    x: Array
    w: Array
    v: Array
    fx: Array
    fw: Array
    fv: Array
    d: Array
    e: Array


def local_minimum(phi: Function, parameters: Array, upper: float) -> Array:
    """Value of phi where a bounded search over [0, upper] ends: parameters [K, M] -> [M] complex."""
    xp = namespace(parameters)
    zero = xp.astype(xp.zeros_like(parameters[0, :]), xp.complex128)
    x = zero + GOLDEN * upper
    fx = phi(x, parameters)
    return _run_searches(phi, parameters, Bracket(zero, zero + upper, x, x, x, fx, fx, fx, zero, zero), evaluations=1)


def _run_searches(phi: Function, parameters: Array, s: Bracket, evaluations: int) -> Array:
    """Step every search until the last one stops, or evaluations are spent: values [M] where they end.

    Once three in four have stopped, only the rest are stepped.
    """
    xp = namespace(s.x)
    result, active = s.fx, _is_bracket_open(s)
    while evaluations < MOST_EVALUATIONS:
        count = int(xp.sum(xp.astype(active, xp.int64)))
        if count == 0:
            break
        if 4 * count <= active.shape[0]:
            (rest,) = xp.nonzero(active)
            fewer = Bracket(*(xp.take(value, rest) for value in s))
            tail = _run_searches(phi, xp.take(parameters, rest, axis=1), fewer, evaluations)
            place = xp.cumulative_sum(xp.astype(active, xp.int64)) - 1
            return xp.where(active, xp.take(tail, xp.clip(place, min=0)), result)
        before, s = s, _advance_searches(phi, parameters, s)
        evaluations += 1
        result = xp.where(active, s.fx, result)
        active = active & _is_bracket_open(s)
        if evaluations % 8 == 0:  # a complex search can walk on the spot until the evaluations are used up
            active = active & xp.any(xp.stack(before) != xp.stack(s), axis=0)
    return result


def _middle_and_tolerance(s: Bracket) -> tuple[Array, Array]:
    """Middle of each bracket, and the least step around its best point: [M] each."""
    return (s.low + s.high) / 2, math.sqrt(2.0**-52) * abs(s.x) + TOLERANCE / 3


def _is_bracket_open(s: Bracket) -> Array:
    """Which brackets [M] are wider than the tolerance around their best point."""
    xp = namespace(s.x)
    middle, t = _middle_and_tolerance(s)
    return abs(s.x - middle) > 2 * t - xp.real((s.high - s.low) / 2)


def _advance_searches(phi: Function, parameters: Array, s: Bracket) -> Bracket:
    """One step of every search: a parabola through the three best points, else a golden section.

    The bracket shrinks.
    """
    xp = namespace(s.x)
    low, high, x, w, v, fx, fw, fv, _, _ = s
    d, e = _choose_displacement(s)
    _, t = _middle_and_tolerance(s)
    u = x + _complex_sign(d) * xp.maximum(abs(d), t)
    fu = phi(u, parameters)

    value = xp.real(fu)
    better = value <= xp.real(fx)
    edge = xp.where(better, x, u)
    from_below = better == (xp.real(u) >= xp.real(x))
    second = ~better & ((value <= xp.real(fw)) | (w == x))
    third = ~better & ~second & ((value <= xp.real(fv)) | (v == x) | (v == w))
    down = better | second  # the old second best becomes the third
    return Bracket(
        low=xp.where(from_below, edge, low),
        high=xp.where(from_below, high, edge),
        x=xp.where(better, u, x),
        w=xp.where(better, x, xp.where(second, u, w)),
        v=xp.where(down, w, xp.where(third, u, v)),
        fx=xp.where(better, fu, fx),
        fw=xp.where(better, fx, xp.where(second, fu, fw)),
        fv=xp.where(down, fw, xp.where(third, fu, fv)),
        d=d,
        e=e,
    )


def _choose_displacement(s: Bracket) -> tuple[Array, Array]:
    """The step to take [M], and the one that counts as the step before it [M]."""
    xp = namespace(s.x)
    middle, t = _middle_and_tolerance(s)
    to_w, to_v = s.x - s.w, s.x - s.v
    r = to_w * (s.fx - s.fv)
    q = to_v * (s.fx - s.fw)
    p = to_v * q - to_w * r
    q = 2 * (q - r)
    p = xp.where(xp.real(q) > 0, -p, p)
    size = abs(q)
    inside = (xp.real(size * (s.low - s.x)) < xp.real(p)) & (xp.real(p) < xp.real(size * (s.high - s.x)))
    parabola = (abs(s.e) > t) & (abs(p) < abs(size * s.e / 2)) & inside

    d = p / size
    u = s.x + d
    near_edge = (xp.real(u - s.low) < 2 * t) | (xp.real(s.high - u) < 2 * t)
    d = xp.where(near_edge, t * _complex_sign(middle - s.x), d)
    section = xp.where(xp.real(s.x) >= xp.real(middle), s.low - s.x, s.high - s.x)
    return xp.where(parabola, d, GOLDEN * section), xp.where(parabola, s.d, section)


def _complex_sign(d: Array) -> Array:
    """d / |d|, and 1 where d is 0; complex [M]."""
    xp = namespace(d)
    return xp.where(d == 0, xp.ones_like(d), d / abs(d))
