"""The robot gripper's objective, one point at a time and step by step in plain complex numbers."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence

STROKE = 99.9999


def acos(t: complex) -> complex:
    """Principal arc cosine; on the real axis beyond 1 with a positive, beyond -1 with a negative imaginary part."""
    if t.imag != 0:
        return cmath.acos(t)
    if t.real > 1:
        return complex(0, math.acosh(t.real))
    if t.real < -1:
        return complex(math.pi, -math.acosh(-t.real))
    return complex(math.acos(t.real))


def force(x: Sequence[float], z: complex) -> complex:
    """Gripping force at displacement z."""
    a, b, c, e, _, l, _ = x
    q = (l - z) ** 2 + e**2
    alpha = acos((a**2 + q - b**2) / (2 * a * cmath.sqrt(q)))
    beta = acos((b**2 + q - a**2) / (2 * b * cmath.sqrt(q)))
    return 100 * b * cmath.sin(alpha + beta) / (2 * c * cmath.cos(alpha + cmath.atan(e / (l - z))))


def sign(d: complex) -> complex:
    return d / abs(d) if d != 0 else 1.0


def minimum(phi: Callable[[complex], complex], most: int = 500) -> complex:
    """Where a bounded search of phi over the stroke ends; real parts are compared, sizes are moduli."""
    low, high, golden = 0j, STROKE + 0j, (3 - math.sqrt(5)) / 2
    x = w = v = golden * high
    fx = fw = fv = phi(x)
    d = e = 0j
    evaluations = 1
    while evaluations < most:
        middle, t = (low + high) / 2, math.sqrt(2**-52) * abs(x) + 1e-4 / 3
        if abs(x - middle) <= 2 * t - ((high - low) / 2).real:
            break
        step = None
        if abs(e) > t:
            r, q = (x - w) * (fx - fv), (x - v) * (fx - fw)
            p, q = (x - v) * q - (x - w) * r, 2 * (q - r)
            p, q = (-p if q.real > 0 else p), abs(q)
            before, e = e, d
            if abs(p) < abs(q * before / 2) and (q * (low - x)).real < p.real < (q * (high - x)).real:
                step = p / q
                if (x + step - low).real < 2 * t or (high - x - step).real < 2 * t:
                    step = t * sign(middle - x)
        if step is None:
            e = low - x if x.real >= middle.real else high - x
            step = golden * e
        d = step
        u = x + sign(d) * max(abs(d), t)
        fu = phi(u)
        evaluations += 1
        if fu.real <= fx.real:
            low, high = (x, high) if u.real >= x.real else (low, x)
            v, fv, w, fw, x, fx = w, fw, x, fx, u, fu
            continue
        low, high = (u, high) if u.real < x.real else (low, u)
        if fu.real <= fw.real or w == x:
            v, fv, w, fw = w, fw, u, fu
        elif fu.real <= fv.real or v in (x, w):
            v, fv = u, fu
    return fx


def objective(x: Sequence[float]) -> float:
    """Spread of the force over the stroke as the two searches see it; 1e4 where it turns complex."""
    f = -minimum(lambda z: -force(x, z)) - minimum(lambda z: force(x, z))
    return 1e4 if f.imag != 0 else f.real
