"""RC21 and RC28: a disk brake and a rolling bearing, mechanical engineering."""

from __future__ import annotations

import math

from meco.core.arrays import Array, namespace
from meco.core.problem import problem, round_half_away
from meco.problems.realworld.mechanical import MECHANICAL_SOURCE
from meco_rwco.parts import Values, expand_bounds, integer_mask


@problem(
    "RC21",
    bounds=[(60, 80), (90, 110), (1, 3), (0, 1000), (2, 9)],
    best=0.2352424579,
    counts=(8, 0),
    source=MECHANICAL_SOURCE,
    variables=("inner radius (mm)", "outer radius (mm)", "disk thickness (mm)", "force (N)", "friction surfaces"),
    constraint_names=(
        "radial width",
        "stack length",
        "pressure",
        "pressure times sliding speed",
        "sliding speed",
        "stopping time",
        "torque",
        "stopping time not negative",
    ),
)
def clutch_brake(x: Array) -> Values:
    """Mass of a multiple disk clutch brake; nothing is rounded, and the radius has the suite's denominator."""
    x1, x2, x3, x4, x5 = namespace(x).unstack(x, axis=-1)
    radius = (2 / 3) * (x2**3 - x1**3) / (x2**2 * x1**2)
    speed = math.pi * radius * 250 / 30
    area = math.pi * (x2**2 - x1**2)
    pressure = x4 / area
    omega = math.pi * 250 / 30
    torque = (2 / 3) * 0.6 * x4 * x5 * (x2**3 - x1**3) / (x2**2 - x1**2)
    time = 55 * omega / (torque + 3)
    f = 0.0000078 * area * x3 * (x5 + 1)
    g = [
        -x2 + x1 + 20,
        (x5 + 1) * (x3 + 0.5) - 30,
        pressure - 1,
        pressure * speed - 10,
        speed - 10,
        time - 15,
        1.5 * 40 - torque,
        -time,
    ]
    return f, g, []


@problem(
    "RC28",
    bounds=expand_bounds(
        {
            "1": (125, 150),
            "2": (10.5, 31.5),
            "3": (4.51, 50.49),
            "4-5": (0.515, 0.6),
            "6": (0.4, 0.5),
            "7": (0.6, 0.7),
            "8": (0.3, 0.4),
            "9": (0.02, 0.1),
            "10": (0.6, 0.85),
        }
    ),
    best=14614.135715,
    counts=(9, 0),
    source=MECHANICAL_SOURCE,
    integrality=integer_mask(10, "3"),
    variables=(
        "pitch diameter (mm)",
        "ball diameter (mm)",
        "number of balls",
        "curvature of the inner groove",
        "curvature of the outer groove",
        "least ball diameter factor",
        "largest ball diameter factor",
        "ring thickness factor",
        "mobility factor",
        "width factor",
    ),
    constraint_names=(
        "balls fit around",
        "ball not too small",
        "ball not too large",
        "ball within the width",
        "pitch not too small",
        "pitch not too large",
        "ring thickness",
        "inner groove",
        "outer groove",
    ),
)
def rolling_bearing(x: Array) -> Values:
    """Load capacity of a rolling element bearing, minimised as in the suite."""
    xp = namespace(x)
    pitch, ball, x3, inner, outer, least, most, ring, mobility, width = xp.unstack(x, axis=-1)
    balls = round_half_away(x3)
    gap = 160 - 90 - 2 * ball
    # two sides of the suite's triangle are equal, so its cosine is A / 2B
    angle = 2 * math.pi - 2 * xp.acos((0.5 * (160 - 90) - 0.75 * gap) / (2 * (0.5 * 160 - 0.25 * gap - ball)))
    ratio = ball / pitch
    k = 1.04 * ((1 - ratio) / (1 + ratio)) ** 1.72 * (inner * (2 * outer - 1) / (outer * (2 * inner - 1))) ** 0.41
    contact = ratio**0.3 * (1 - ratio) ** 1.39 / (1 + ratio) ** (1 / 3) * (2 * inner / (2 * inner - 1)) ** 0.41
    capacity = 37.91 * (1 + k ** (10 / 3)) ** -0.3 * contact * balls ** (2 / 3)
    f = xp.where(ball > 25.4, 3.647 * capacity * ball**1.4, capacity * ball**1.8)
    g = [
        balls - 1 - angle / (2 * xp.asin(ball / pitch)),
        least * (160 - 90) - 2 * ball,
        2 * ball - most * (160 - 90),
        width * 30 - ball,
        0.5 * (160 + 90) - pitch,
        pitch - (0.5 + mobility) * (160 + 90),
        ring * ball - 0.5 * (160 - pitch - ball),
        0.515 - inner,
        0.515 - outer,
    ]
    return f, g, []
