"""RC20 and RC27: two trusses, mechanical engineering."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from meco.core.arrays import Array, Constants, namespace
from meco.core.problem import problem
from meco.problems.realworld.mechanical import MECHANICAL_SOURCE
from meco.problems.realworld.parts import Values, number_names, read_only_point

YOUNG, DENSITY, ADDED_MASS = 6.98e10, 2770.0, 454.0  # N/m2, kg/m3, kg
NODES = np.array([(18.288, 9.144), (18.288, 0), (9.144, 9.144), (9.144, 0), (0, 9.144), (0, 0)])  # m
BARS = ((3, 5), (1, 3), (4, 6), (2, 4), (3, 4), (1, 2), (4, 5), (3, 6), (2, 3), (1, 4))
FREE = 8  # degrees of freedom of nodes 1-4; nodes 5 and 6 are fixed


@problem(
    "RC20",
    bounds=[(0, 1), (0, 1)],
    best=263.89584338,
    known_x=read_only_point(0.7886751492173553, 0.40824824936870147),
    counts=(3, 0),
    source=MECHANICAL_SOURCE,
    variables=("area of the outer bars (cm2)", "area of the middle bar (cm2)"),
    constraint_names=("stress in bar 1", "stress in bar 2", "stress in bar 3"),
)
def three_bar_truss(x: Array) -> Values:
    """Volume of a three-bar truss under a 2 kN/cm2 stress limit; without outer bars the stress is infinite."""
    a, b = x[..., 0], x[..., 1]
    root, load, limit, length = math.sqrt(2), 2.0, 2.0, 100.0
    f = length * (2 * root * a + b)
    q = root * a**2 + 2 * a * b
    return f, [load * (root * a + b) / q - limit, load * b / q - limit, load / (a + root * b) - limit], []


@cache
def _bar_matrices() -> Constants:
    """Stiffness and mass of every bar at unit area [10, 64], and the lengths [10]."""
    stiffness, mass, lengths = np.zeros((10, 12, 12)), np.zeros((10, 12, 12)), np.zeros(10)
    for k, (i, j) in enumerate(BARS):
        ends = NODES[i - 1] - NODES[j - 1]
        lengths[k] = np.hypot(*ends)
        v = np.concatenate([ends, -ends]) / lengths[k]
        dof = np.ix_(*[[2 * i - 2, 2 * i - 1, 2 * j - 2, 2 * j - 1]] * 2)
        stiffness[k][dof] = YOUNG / lengths[k] * np.outer(v, v)
        mass[k][dof] = DENSITY * lengths[k] / 6 * np.kron([[2, 1], [1, 2]], np.eye(2))
    kept = (slice(None), slice(FREE), slice(FREE))
    return Constants(
        stiffness=stiffness[kept].reshape(10, -1), mass=mass[kept].reshape(10, -1), lengths=lengths, eye=np.eye(FREE)
    )


def _natural_frequencies(areas: Array) -> Array:
    """Natural frequencies in Hz, ascending: areas [..., 10] -> [..., 8]; nan where an area is not positive."""
    xp = namespace(areas)
    bar = _bar_matrices().on(areas)
    sound = xp.all(xp.isfinite(areas) & (areas > 0), axis=-1)
    square = (*areas.shape[:-1], FREE, FREE)
    safe = xp.where(sound[..., None], areas, 1.0)
    stiffness = xp.reshape(safe @ bar["stiffness"], square)
    mass = xp.reshape(safe @ bar["mass"], square) + ADDED_MASS * bar["eye"]
    # K phi = lambda M phi with M = L L^T becomes an ordinary problem for L^-1 K L^-T
    lower = xp.linalg.cholesky(mass)
    half = xp.linalg.solve(lower, stiffness)
    whitened = xp.linalg.solve(lower, xp.matrix_transpose(half))
    squared = xp.linalg.eigvalsh((whitened + xp.matrix_transpose(whitened)) / 2)
    return xp.where(sound[..., None], xp.sqrt(squared) / (2 * math.pi), math.nan)


@problem(
    "RC27",
    bounds=[(6.45e-5, 5e-3)] * 10,
    best=524.45076066,
    known_x=read_only_point(
        0.003513349559937371,
        0.0014715753694310898,
        0.003513385694584187,
        0.0014713395180647024,
        6.450000249072915e-05,
        0.0004558871533711098,
        0.002370350787706136,
        0.002369814170634647,
        0.001241566529351163,
        0.0012417930313161005,
    ),
    counts=(3, 0),
    source=MECHANICAL_SOURCE,
    variables=number_names("area of bar {} (m2)", 1, 10),
    constraint_names=("first frequency at least 7 Hz", "second at least 15 Hz", "third at least 20 Hz"),
)
def ten_bar_truss(x: Array) -> Values:
    """Weight of a ten-bar truss with limits on its three lowest natural frequencies."""
    frequency = _natural_frequencies(x)
    f = DENSITY * namespace(x).sum(_bar_matrices().on(x)["lengths"] * x, axis=-1)
    return f, [limit / frequency[..., k] - 1 for k, limit in enumerate((7, 15, 20))], []
