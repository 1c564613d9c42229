"""RC08-RC14: process synthesis and design.

A yes-or-no variable has the range [-0.51, 1.49]: it also admits -0.5 and below, which the suite
rounds to -1. The formulas round as the suite does, so that value exists here too.
"""

from __future__ import annotations

from meco.core.arrays import Array, namespace
from meco.core.problem import problem, round_half_away
from meco_rwco.parts import Values, expand_bounds, integer_mask

SOURCE = "Kumar et al. 2020, process synthesis and design"
CHOICE = (-0.51, 1.49)


@problem(
    "RC08",
    bounds=[(0, 1.6), CHOICE],
    best=2.0,
    counts=(2, 0),
    source=SOURCE,
    integrality=integer_mask(2, "2"),
)
def process_synthesis_a(x: Array) -> Values:
    """Process synthesis A."""
    x1, y = x[..., 0], round_half_away(x[..., 1])
    return 2 * x1 + y, [1.25 - x1**2 - y, x1 + y - 1.6], []


@problem(
    "RC09",
    bounds=[(0.5, 1.4), (0.5, 1.4), CHOICE],
    best=2.557654574,
    counts=(1, 1),
    source=SOURCE,
    integrality=integer_mask(3, "3"),
)
def process_synthesis_and_design(x: Array) -> Values:
    """Process synthesis and design."""
    x1, x2, y = x[..., 0], x[..., 1], round_half_away(x[..., 2])
    return -y + 2 * x1 + x2, [-x1 + x2 + y], [x1 - 2 * namespace(x).exp(-x2)]


@problem(
    "RC10",
    bounds=[(0.2, 1), (-2.22554, -1), CHOICE],
    best=1.0765430833,
    counts=(3, 0),
    source=SOURCE,
    integrality=integer_mask(3, "3"),
)
def process_flow_sheeting(x: Array) -> Values:
    """Process flow sheeting."""
    x1, x2, y = x[..., 0], x[..., 1], round_half_away(x[..., 2])
    f = -0.7 * y + 5 * (x1 - 0.5) ** 2 + 0.8
    return f, [-namespace(x).exp(x1 - 0.2) - x2, x2 + 1.1 * y + 1, x1 - y - 0.2], []


@problem(
    "RC11",
    bounds=expand_bounds({"1-2": (0, 20), "3-4": (0, 10), "5-6": CHOICE, "7": (0, 40)}),
    best=99.238463653,
    counts=(4, 4),
    source=SOURCE,
    integrality=integer_mask(7, "5-6"),
    variables=(
        "feed of reactor 1",
        "feed of reactor 2",
        "volume of reactor 1",
        "volume of reactor 2",
        "reactor 1 is built",
        "reactor 2 is built",
        "total feed",
    ),
)
def two_reactors(x: Array) -> Values:
    """Cost of a choice between two reactors of which one is built."""
    xp = namespace(x)
    x1, x2, x3, x4, x5, x6, x7 = xp.unstack(x, axis=-1)
    y1, y2 = round_half_away(x5), round_half_away(x6)
    z1 = 0.9 * (1 - xp.exp(-0.5 * x3)) * x1
    z2 = 0.8 * (1 - xp.exp(-0.4 * x4)) * x2
    f = 7.5 * y1 + 5.5 * y2 + 7 * x3 + 6 * x4 + 5 * x7
    g = [x3 - 10 * y1, x4 - 10 * y2, x1 - 20 * y1, x2 - 20 * y2]
    h = [y1 + y2 - 1, z1 + z2 - 10, x1 + x2 - x7, z1 * y1 + z2 * y2 - 10]
    return f, g, h


@problem(
    "RC12",
    bounds=expand_bounds({"1-3": (0, 100), "4-7": CHOICE}),
    best=2.9248305537,
    counts=(9, 0),
    source=SOURCE,
    integrality=integer_mask(7, "4-7"),
)
def process_synthesis_b(x: Array) -> Values:
    """Process synthesis B; the exponent 22 is the suite's."""
    xp = namespace(x)
    x1, x2, x3 = x[..., 0], x[..., 1], x[..., 2]
    y1, y2, y3, y4 = xp.unstack(round_half_away(x[..., 3:]), axis=-1)
    f = (y1 - 1) ** 2 + (y2 - 1) ** 2 + (y3 - 1) ** 2 - xp.log(y4 + 1)
    f = f + (x1 - 1) ** 22 + (x2 - 2) ** 2 + (x3 - 3) ** 2
    g = [
        x1 + x2 + x3 + y1 + y2 + y3 - 5,
        y3**2 + x1**2 + x2**2 + x3**2 - 5.5,
        x1 + y1 - 1.2,
        x2 + y2 - 1.8,
        x3 + y3 - 2.5,
        x1 + y4 - 1.2,
        y2**2 + x2**2 - 1.64,
        y3**2 + x3**2 - 4.25,
        y2**2 + x3**2 - 4.64,
    ]
    return f, g, []


@problem(
    "RC13",
    bounds=expand_bounds({"1-3": (27, 45), "4": (77.51, 102.49), "5": (32.51, 45.49)}),
    best=26887.0,
    counts=(3, 0),
    source=f"{SOURCE}; best known rounded in the guidelines, 26887.42 in the result files",
    integrality=integer_mask(5, "4-5"),
)
def process_design(x: Array) -> Values:
    """Process design."""
    xp = namespace(x)
    x1, x2, x3 = x[..., 0], x[..., 1], x[..., 2]
    y1, y2 = xp.unstack(round_half_away(x[..., 3:]), axis=-1)
    f = -5.357854 * x1**2 - 0.835689 * y1 * x3 - 37.29329 * y1 + 40792.141
    g = [
        85.334407 + 0.0056858 * y2 * x3 + 0.0006262 * y1 * x2 - 0.0022053 * y1 * y1 * x3 - 92,
        80.51249 + 0.0071317 * y2 * x3 + 0.0029955 * y1 * x2 + 0.0021813 * x1**2 - 90 - 20,
        9.300961 + 0.0047026 * y1 * x2 + 0.0012547 * y1 * x1 + 0.0019085 * x1 * x2 - 20 - 5,
    ]
    return f, g, []


@problem(
    "RC14",
    bounds=expand_bounds(
        {"1-3": (0.51, 3.49), "4-6": (250, 2500), "7": (6, 20), "8": (4, 16), "9": (40, 700), "10": (10, 450)}
    ),
    best=53638.942722,
    counts=(10, 0),
    source=SOURCE,
    integrality=integer_mask(10, "1-3"),
    variables=(
        "units in stage 1",
        "units in stage 2",
        "units in stage 3",
        "volume of stage 1 (l)",
        "volume of stage 2 (l)",
        "volume of stage 3 (l)",
        "cycle time of product A (h)",
        "cycle time of product B (h)",
        "batch size of product A (kg)",
        "batch size of product B (kg)",
    ),
)
def batch_plant(x: Array) -> Values:
    """Cost of a multi-product batch plant."""
    xp = namespace(x)
    n1, n2, n3 = xp.unstack(round_half_away(x[..., :3]), axis=-1)
    v1, v2, v3, t1, t2, b1, b2 = xp.unstack(x[..., 3:], axis=-1)
    f = 250 * (n1 * v1**0.6 + n2 * v2**0.6 + n3 * v3**0.6)
    g = [
        40000 * t1 / b1 + 20000 * t2 / b2 - 6000,
        2 * b1 + 4 * b2 - v1,
        3 * b1 + 6 * b2 - v2,
        4 * b1 + 3 * b2 - v3,
        8 - n1 * t1,
        20 - n2 * t1,
        8 - n3 * t1,
        16 - n1 * t2,
        4 - n2 * t2,
        4 - n3 * t2,
    ]
    return f, g, []
