"""The problem that is solved through every door: a welded beam's weight under two limits, and its own search."""

from __future__ import annotations

import zlib

import numpy as np

import meco

BOUNDS = {"h": (0.125, 2.0), "l": (0.1, 10.0), "t": (0.1, 2.0)}
BUDGET, SEED = 60, 7


def weight(h, l, t):
    return 1.1 * h**2 * l + 0.05 * t


def stress(h, l, t):
    """At most 1."""
    return 6000.0 / (1.414 * h * l) / 13600.0


def slack(h, l, t):
    """At most 0."""
    return h - t


def fails(h, l, t):
    """Whether a simulation of this design breaks down: a fifth of the calls, by chance, and the same ones again."""
    return zlib.crc32(np.array([h, l, t], dtype=np.float64).tobytes()) % 5 == 0


def limits(h, l, t):
    return np.array([stress(h, l, t) - 1.0, slack(h, l, t)])


def beam(x):
    return float(weight(*x)), limits(*x)


def brittle(x):
    if fails(*x):
        raise RuntimeError("the mesh could not be made")
    return beam(x)


def points_of_minimize(fun=beam, budget=BUDGET, **given):
    """Every point of meco.minimize on it: [n, 3]."""
    found = meco.minimize(fun, list(BOUNDS.values()), budget=budget, **{"seed": SEED} | given)
    return found.evaluations.x
