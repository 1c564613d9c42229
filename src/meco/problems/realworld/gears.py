"""RC23: a step-cone pulley, mechanical engineering."""

from __future__ import annotations

import math

from meco.core.arrays import Array, asarray_like, namespace
from meco.core.problem import problem
from meco.problems.realworld.mechanical import MECHANICAL_SOURCE
from meco.problems.realworld.parts import (
    Values,
    number_names,
    read_only_point,
)


@problem(
    "RC23",
    bounds=[(0, 60), (0, 60), (0, 90), (0, 90), (0, 90)],
    best=16.069868725,
    known_x=read_only_point(
        38.39373998541852, 52.80294469886261, 70.3984498426604, 84.49571608672105, 89.99999999867755
    ),
    counts=(8, 3),
    source=MECHANICAL_SOURCE,
    variables=(*number_names("diameter of step {} (mm)", 1, 4), "belt width (mm)"),
    constraint_names=(
        *number_names("tension ratio of step {}", 1, 4),
        *number_names("power at step {}", 1, 4),
        *number_names("belt length of step {}", 2, 4),
    ),
)
def step_cone_pulley(x: Array) -> Values:
    """Weight of a four-step cone pulley."""
    xp = namespace(x)
    d, width = x[..., :4] / 1000, x[..., 4] / 1000
    speeds = asarray_like([750, 450, 250, 150], x)
    n, distance, friction = speeds / 350, 3.0, 0.35
    f = 7200 * width * (math.pi / 4) * xp.sum(d**2 * (1 + n**2), axis=-1)
    belt = (math.pi / 2) * d * (1 + n) + (n - 1) ** 2 * d**2 / (4 * distance) + 2 * distance
    wrap = friction * (math.pi - 2 * xp.asin((n - 1) * d / (2 * distance)))
    power = 1.75e6 * 0.008 * width[..., None] * (1 - xp.exp(-wrap)) * math.pi * d * speeds / 60
    g = xp.concat([2 - xp.exp(wrap), 0.75 * 745.6998 - power], axis=-1)
    return f, g, belt[..., :1] - belt[..., 1:]
