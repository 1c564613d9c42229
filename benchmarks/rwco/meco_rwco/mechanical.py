"""RC16-RC18 and RC30: single machines and parts, mechanical engineering."""

from __future__ import annotations

import math

from meco.core.arrays import Array, namespace
from meco.core.problem import problem, round_half_away
from meco.problems.realworld.mechanical import MECHANICAL_SOURCE
from meco_rwco.parts import Values, integer_mask, look_up_entry

# wire diameters on sale, in; the twenty-fifth stands out of order in the suite too
WIRES = (
    *(0.009, 0.0095, 0.0104, 0.0118, 0.0128, 0.0132, 0.014, 0.015, 0.0162, 0.0173, 0.018, 0.020, 0.023, 0.025),
    *(0.028, 0.032, 0.035, 0.041, 0.047, 0.054, 0.063, 0.072, 0.080, 0.092, 0.0105, 0.120, 0.135, 0.148),
    *(0.162, 0.177, 0.192, 0.207, 0.225, 0.244, 0.263, 0.283, 0.307, 0.331, 0.362, 0.394, 0.4375, 0.500),
)


@problem("RC16", bounds=[(0.001, 5)] * 14, best=0.032213000814, counts=(15, 0), source=MECHANICAL_SOURCE)
def refrigeration_system(x: Array) -> Values:
    """Industrial refrigeration system."""
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14 = namespace(x).unstack(x, axis=-1)
    f = 63098.88 * x2 * x4 * x12 + 5441.5 * x2**2 * x12 + 115055.5 * x2**1.664 * x6 + 6172.27 * x2**2 * x6
    f = f + 63098.88 * x1 * x3 * x11 + 5441.5 * x1**2 * x11 + 115055.5 * x1**1.664 * x5 + 6172.27 * x1**2 * x5
    f = f + 140.53 * x1 * x11 + 281.29 * x3 * x11 + 70.26 * x1**2 + 281.29 * x1 * x3 + 281.29 * x3**2
    f = f + 14437 * x8**1.8812 * x12**0.3424 * x10 * x1**2 * x7 / (x14 * x9)
    f = f + 20470.2 * x7**2.893 * x11**0.316 * x1**2
    g = [
        1.524 / x7 - 1,
        1.524 / x8 - 1,
        0.07789 * x1 - 2 * x9 / x7 - 1,
        7.05305 * x1**2 * x10 / (x9 * x8 * x2 * x14) - 1,
        0.0833 * x14 / x13 - 1,
        0.04771 * x10 * x8**1.8812 * x12**0.3424 - 1,
        0.0488 * x9 * x7**1.893 * x11**0.316 - 1,
        0.0099 * x1 / x3 - 1,
        0.0193 * x2 / x4 - 1,
        0.0298 * x1 / x5 - 1,
        47.136 * x2**0.333 * x12 / x10 - 1.333 * x8 * x13**2.1195 + 62.08 * x13**2.1195 * x8**0.2 / (x12 * x10) - 1,
        0.056 * x2 / x6 - 1,
        2 / x9 - 1,
        2 / x10 - 1,
        x12 / x11 - 1,
    ]
    return f, g, []


@problem(
    "RC17",
    bounds=[(0.05, 2), (0.25, 1.3), (2, 15)],
    best=0.012665232788,
    counts=(4, 0),
    source=MECHANICAL_SOURCE,
    variables=("wire diameter (in)", "coil diameter (in)", "active coils"),
    constraint_names=("deflection", "shear stress", "surge frequency", "outer diameter"),
)
def spring_1(x: Array) -> Values:
    """Weight of a tension or compression spring, case 1."""
    d, c, n = namespace(x).unstack(x, axis=-1)
    g = [
        1 - c**3 * n / (71785 * d**4),
        (4 * c**2 - d * c) / (12566 * (c * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
        1 - 140.45 * d / (c**2 * n),
        (d + c) / 1.5 - 1,
    ]
    return d**2 * c * (n + 2), g, []


@problem(
    "RC18",
    bounds=[(0.51, 99.49), (0.51, 99.49), (10, 200), (10, 200)],
    best=5885.3327736,
    counts=(4, 0),
    source=f"{MECHANICAL_SOURCE}; the best known value is of the continuous relaxation, "
    "6059.714335 with whole sixteenths",
    integrality=integer_mask(4, "1-2"),
    variables=("shell thickness (1/16 in)", "head thickness (1/16 in)", "radius (in)", "length (in)"),
    constraint_names=("shell thickness", "head thickness", "volume", "length"),
)
def pressure_vessel(x: Array) -> Values:
    """Cost of a pressure vessel."""
    x1, x2, radius, length = namespace(x).unstack(x, axis=-1)
    shell, head = 0.0625 * round_half_away(x1), 0.0625 * round_half_away(x2)
    f = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    f = f + 3.1661 * shell**2 * length + 19.84 * shell**2 * radius
    g = [
        -shell + 0.0193 * radius,
        -head + 0.00954 * radius,
        -math.pi * radius**2 * length - (4 / 3) * math.pi * radius**3 + 1296000,
        length - 240,
    ]
    return f, g, []


@problem(
    "RC30",
    bounds=[(0.51, 70.49), (0.6, 3), (0.51, 42.49)],
    best=2.6138840583,
    counts=(8, 0),
    source=MECHANICAL_SOURCE,
    integrality=integer_mask(3, "1 3"),
    variables=("active coils", "coil diameter (in)", "number of the wire in the list"),
    constraint_names=(
        "shear stress",
        "free length",
        "wire diameter",
        "coil diameter",
        "diameter ratio",
        "deflection under preload",
        "length under load (identically 0 up to rounding)",
        "deflection from preload to full load",
    ),
)
def spring_2(x: Array) -> Values:
    """Weight of a compression spring with wire from a list, case 2.

    The seventh inequality is 0 in exact arithmetic: its value, and now and then its sign, is rounding.
    """
    x1, coil, x3 = namespace(x).unstack(x, axis=-1)
    n, d = round_half_away(x1), look_up_entry(WIRES, round_half_away(x3))
    stress = (4 * coil / d - 1) / (4 * coil / d - 4) + 0.615 * d / coil
    stiffness = 11.5e6 * d**4 / (8 * n * coil**3)
    free = 1000 / stiffness + 1.05 * (n + 2) * d
    preload = 300 / stiffness
    g = [
        8000 * stress * coil / (math.pi * d**3) - 189000,
        free - 14,
        0.2 - d,
        coil - 3,
        3 - coil / d,
        preload - 6,
        preload + 700 / stiffness + 1.05 * (n + 2) * d - free,
        1.25 - 700 / stiffness,
    ]
    return math.pi**2 * coil * d**2 * (n + 2) / 4, g, []
