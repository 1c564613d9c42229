"""RC19, RC29, RC32: single machines and parts, mechanical engineering."""

from __future__ import annotations

import math

from meco.core.arrays import Array, namespace
from meco.core.problem import problem
from meco.problems.realworld.parts import Values, read_only_point

MECHANICAL_SOURCE = "Kumar et al. 2020, mechanical engineering"


@problem(
    "RC19",
    bounds=[(0.125, 2), (0.1, 10), (0.1, 10), (0.1, 2)],
    best=1.6702177263,
    known_x=read_only_point(0.19883230724416054, 3.3373652989800897, 9.192024323396375, 0.19883230724426085),
    counts=(5, 0),
    source=MECHANICAL_SOURCE,
    variables=("weld thickness (in)", "weld length (in)", "bar height (in)", "bar thickness (in)"),
    constraint_names=("shear stress", "bending stress", "weld within the bar", "deflection", "buckling load"),
)
def welded_beam(x: Array) -> Values:
    """Cost of a welded beam; inertia, deflection and buckling are the suite's, not the textbook's."""
    xp = namespace(x)
    weld, length, height, bar = xp.unstack(x, axis=-1)
    load, arm, young, shear = 6000.0, 14.0, 30e6, 12e6
    f = 1.10471 * weld**2 * length + 0.04811 * height * bar * (14 + length)
    radius = xp.sqrt(length**2 / 4 + (weld + height) ** 2 / 4)
    inertia = 2 * math.sqrt(2) * weld * length * radius**2
    moment = load * (arm + length / 2)
    t1 = load / (math.sqrt(2) * weld * length)
    t2 = moment * radius / inertia
    tau = xp.sqrt(t1**2 + 2 * t1 * t2 * length / (2 * radius) + t2**2)
    sigma = 6 * load * arm / (bar * height**2)
    delta = 6 * load * arm**3 / (young * height**2 * bar)
    slender = 1 - height / (2 * arm) * math.sqrt(young / (4 * shear))
    buckling = 4.013 * young * xp.sqrt(height**2 * bar**6 / 30) / arm**2 * slender
    return f, [tau - 13600, sigma - 30000, weld - bar, delta - 0.25, load - buckling], []


@problem(
    "RC29",
    bounds=[(20, 50), (1, 10), (20, 50), (0.1, 60)],
    best=2964895.4173,
    known_x=read_only_point(50.0, 1.1782839545419923, 24.5925902460434, 0.38835307729261814),
    counts=(1, 0),
    source=MECHANICAL_SOURCE,
    variables=("length between stations (mi)", "compression ratio", "pipe diameter (in)", "x4"),
)
def gas_compressor(x: Array) -> Values:
    """Yearly cost of gas transmission compressors."""
    x1, x2, x3, x4 = namespace(x).unstack(x, axis=-1)
    f = 8.61e5 * x1**0.5 * x2 * x3 ** (-2 / 3) * x4**-0.5 + 3.69e4 * x3 + 7.72e8 * x2**0.219 / x1 - 765.43e6 / x1
    return f, [x4 / x2**2 + 1 / x2**2 - 1], []


@problem(
    "RC32",
    bounds=[(78, 102), (33, 45), (27, 45), (27, 45), (27, 45)],
    best=-30665.538672,
    known_x=read_only_point(78.0, 33.0, 29.995256033865367, 45.0, 36.775812900271276),
    counts=(6, 0),
    source=MECHANICAL_SOURCE,
    constraint_names=(
        "G1 at most 92",
        "G1 at least 0",
        "G2 at most 110",
        "G2 at least 90",
        "G3 at most 25",
        "G3 at least 20",
    ),
)
def himmelblau(x: Array) -> Values:
    """Himmelblau's nonlinear problem."""
    x1, x2, x3, x4, x5 = namespace(x).unstack(x, axis=-1)
    f = 5.3578547 * x3**2 + 0.8356891 * x1 * x5 + 37.293239 * x1 - 40792.141
    first = 85.334407 + 0.0056858 * x2 * x5 + 0.0006262 * x1 * x4 - 0.0022053 * x3 * x5
    second = 80.51249 + 0.0071317 * x2 * x5 + 0.0029955 * x1 * x2 + 0.0021813 * x3**2
    third = 9.300961 + 0.0047026 * x3 * x5 + 0.0012547 * x1 * x3 + 0.0019085 * x3 * x4
    return f, [first - 92, -first, second - 110, 90 - second, third - 25, 20 - third], []
