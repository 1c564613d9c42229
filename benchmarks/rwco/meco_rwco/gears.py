"""RC15, RC22, RC26, RC31: gears, mechanical engineering."""

from __future__ import annotations

import math

from meco.core.arrays import Array, namespace
from meco.core.problem import problem, round_half_away
from meco.problems.realworld.mechanical import MECHANICAL_SOURCE
from meco_rwco.parts import (
    Values,
    expand_bounds,
    integer_mask,
    look_up_entry,
    number_names,
)

PLANETS = (3.0, 4.0, 5.0)
MODULES = (1.75, 2.0, 2.25, 2.5, 2.75, 3.0)  # mm
WIDTHS = (3.175, 5.715, 8.255, 12.7)  # mm
POSITIONS = (12.7, 25.4, 38.1, 50.8, 63.5, 76.2, 88.9, 101.6, 114.3)  # mm
IMPOSSIBLE = 1e6  # stands for a value that does not exist


@problem(
    "RC15",
    bounds=expand_bounds(
        {"1": (2.6, 3.6), "2": (0.7, 0.8), "3": (17, 28), "4-5": (7.3, 8.3), "6": (2.9, 3.9), "7": (5, 5.5)}
    ),
    best=2994.4244658,
    counts=(11, 0),
    source=MECHANICAL_SOURCE,
    variables=(
        "face width (cm)",
        "module of the teeth (cm)",
        "teeth of the pinion",
        "length of shaft 1 (cm)",
        "length of shaft 2 (cm)",
        "diameter of shaft 1 (cm)",
        "diameter of shaft 2 (cm)",
    ),
    constraint_names=(
        "bending stress",
        "contact stress",
        "deflection of shaft 1",
        "deflection of shaft 2",
        "stress in shaft 1",
        "stress in shaft 2",
        "pinion size",
        "face width at least 5 modules",
        "face width at most 12 modules",
        "length of shaft 1",
        "length of shaft 2",
    ),
)
def speed_reducer(x: Array) -> Values:
    """Weight of a speed reducer; the number of teeth is not rounded."""
    xp = namespace(x)
    x1, x2, x3, x4, x5, x6, x7 = xp.unstack(x, axis=-1)
    f = 0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934) - 1.508 * x1 * (x6**2 + x7**2)
    f = f + 7.477 * (x6**3 + x7**3) + 0.7854 * (x4 * x6**2 + x5 * x7**2)
    g = [
        -x1 * x2**2 * x3 + 27,
        -x1 * x2**2 * x3**2 + 397.5,
        -x2 * x6**4 * x3 / x4**3 + 1.93,
        -x2 * x7**4 * x3 / x5**3 + 1.93,
        10 / x6**3 * xp.sqrt(16.91e6 + (745 * x4 / (x2 * x3)) ** 2) - 1100,
        10 / x7**3 * xp.sqrt(157.5e6 + (745 * x5 / (x2 * x3)) ** 2) - 850,
        x2 * x3 - 40,
        -x1 / x2 + 5,
        x1 / x2 - 12,
        1.5 * x6 - x4 + 1.9,
        1.1 * x7 - x5 + 1.9,
    ]
    return f, g, []


@problem(
    "RC22",
    bounds=expand_bounds(
        {
            "1": (16.51, 96.49),
            "2": (13.51, 54.49),
            "3 5": (13.51, 51.49),
            "4": (16.51, 46.49),
            "6": (47.51, 124.49),
            "7": (0.51, 3.49),
            "8-9": (0.51, 6.49),
        }
    ),
    best=0.52576870748,
    counts=(10, 1),
    source=MECHANICAL_SOURCE,
    integrality=integer_mask(9, "1-9"),
    variables=(*number_names("teeth of gear {}", 1, 6), "planets (list)", "module m (list)", "module q (list)"),
)
def planetary_gears(x: Array) -> Values:
    """Gear ratio error of a planetary gear train.

    The eighth inequality is 1e6 at a point whose arc cosine does not exist, judged point by point.
    """
    xp = namespace(x)
    n1, n2, n3, n4, n5, n6, n7, n8, n9 = xp.unstack(round_half_away(abs(x)), axis=-1)
    p, m, q = look_up_entry(PLANETS, n7), look_up_entry(MODULES, n8), look_up_entry(MODULES, n9)
    i1 = n6 / n4 - 3.11
    i2 = n6 * (n1 * n3 + n2 * n4) / (n1 * n3 * (n6 - n4)) - 1.84
    reverse = -n2 * n6 / (n1 * n3) + 3.11
    sides = (n6 - n3) ** 2 + (n4 + n5) ** 2
    cosine = (sides - (n3 + n5) ** 2) / (2 * (n6 - n3) * (n4 + n5))
    exists = (cosine >= -1) & (cosine <= 1)
    beta = xp.acos(xp.where(exists, cosine, 0.0))
    between = sides - 2 * (n6 - n3) * (n4 + n5) * xp.cos(2 * math.pi / p - beta)
    step = xp.sin(math.pi / p)
    g = [
        q * (n6 + 2.5) - 220,
        m * (n1 + n2) + m * (n2 + 2) - 220,
        q * (n4 + n5) + q * (n5 + 2) - 220,
        abs(m * (n1 + n2) - q * (n6 - n3)) - m - q,
        -((n1 + n2) * step - n2 - 2 - 0.5),
        -((n6 - n3) * step - n3 - 2 - 0.5),
        -((n4 + n5) * step - n5 - 2 - 0.5),
        xp.where(exists, (n3 + n5 + 2 + 0.5) ** 2 - between, IMPOSSIBLE),
        -(n6 - 2 * n3 - n4 - 4 - 2 * 0.5),
        -(n6 - n4 - 2 * n5 - 4 - 2 * 0.5),
    ]
    return xp.maximum(xp.maximum(i1, i2), reverse), g, [xp.remainder(n6 - n4, p)]


@problem(
    "RC26",
    bounds=expand_bounds({"1-8": (6.51, 76.49), "9-12": (0.51, 4.49), "13-22": (0.51, 9.49)}),
    best=35.359231973,
    counts=(86, 0),
    source=MECHANICAL_SOURCE,
    integrality=integer_mask(22, "1-22"),
    variables=(
        *(f"teeth of the {gear} of stage {stage}" for stage in range(1, 5) for gear in ("pinion", "gear")),
        *number_names("width of stage {} (list)", 1, 4),
        "x of the pinion (list)",
        *number_names("x of gear {} (list)", 1, 4),
        "y of the pinion (list)",
        *number_names("y of gear {} (list)", 1, 4),
    ),
)
def gear_box(x: Array) -> Values:
    """Weight of a four-stage gear box; an infinite constraint counts as 1e6."""
    xp = namespace(x)
    n = round_half_away(x)
    pinion, gear = n[..., 0:8:2], n[..., 1:8:2]  # teeth per stage, [..., 4]
    b = look_up_entry(WIDTHS, n[..., 8:12])
    across, along = look_up_entry(POSITIONS, n[..., 12:17]), look_up_entry(POSITIONS, n[..., 17:22])
    xg, yg = across[..., 1:], along[..., 1:]
    c = xp.sqrt((xg - across[..., :1]) ** 2 + (yg - along[..., :1]) ** 2)
    total = pinion + gear
    weight = xp.sum(b * c**2 * (pinion**2 + gear**2) / total**2, axis=-1)
    speed = 5000 * xp.prod(pinion, axis=-1) / xp.prod(gear, axis=-1)
    wheels = [
        *_strength_constraints(pinion, gear, b, c),
        25.4 - 2 * c * pinion / total,
        25.4 - 2 * c * gear / total,
        *_housing_constraints(xp.concat([across[..., :1], xg[..., 1:]], axis=-1), (pinion + 2) * c / total),
        *_housing_constraints(xp.concat([along[..., :1], yg[..., 1:]], axis=-1), (pinion + 2) * c / total),
        *_housing_constraints(xg, (gear + 2) * c / total),
        *_housing_constraints(yg, (gear + 2) * c / total),
        *_pitch_constraints(pinion, gear, b, c),
    ]
    g = xp.concat([*wheels, xp.stack([245 - speed, -255 + speed], axis=-1)], axis=-1)
    return math.pi / 1000 * weight, xp.where(xp.isinf(g), IMPOSSIBLE, g), []


def _strength_constraints(pinion: Array, gear: Array, b: Array, c: Array) -> list[Array]:
    """Bending, contact and contact ratio of every stage, as values <= 0; all [..., 4]."""
    xp = namespace(c)
    phi, load = math.radians(20), 55.9 * 1.5 * 1.6
    total = pinion + gear
    r1, r2, r3, _ = xp.unstack(gear / pinion, axis=-1)
    reduction = xp.stack([xp.ones_like(r1), r1, r1 * r2, r1 * r2 * r3], axis=-1)
    torque = 366000 * reduction / (5000 * math.pi) + 2 * c * pinion / total
    bending = 2090 * 0.2 / (0.0167 * load)
    contact = (3290 / 464) ** 2 * math.sin(phi) * math.cos(phi) / (0.0334 * load)

    def reach(teeth: Array) -> Array:
        return teeth * xp.sqrt(math.sin(phi) ** 2 / 4 + 1 / teeth + 1 / teeth**2)

    return [
        torque * total**2 / (4 * b * c**2 * pinion) - bending,
        torque * total**3 / (4 * b * c**2 * gear * pinion**2) - contact,
        1.4 * math.pi * math.cos(phi) - reach(pinion) - reach(gear) + math.sin(phi) * total / 2,
    ]


def _housing_constraints(position: Array, radius: Array) -> list[Array]:
    """A wheel stays between the walls at 0 and 127 mm: two values <= 0, of position and radius [...] in mm."""
    return [position + radius - 127, -position + radius]


def _pitch_constraints(pinion: Array, gear: Array, b: Array, c: Array) -> list[Array]:
    """Limits of the pitch for each width, as values <= 0; a product vanishes unless its stage has that width."""
    xp = namespace(c)
    d1, d2, d3, d4 = (b - width for width in WIDTHS)
    total = pinion + gear
    # the suite takes the pinion of the stage before in stages 3 and 4
    odd = xp.concat([total[..., :2], pinion[..., 1:3] + gear[..., 2:]], axis=-1)
    return [
        -(0.945 * c - total) * d2 * d3 * d4,
        (0.646 * c - total) * d1 * d3 * d4,
        -(0.504 * c - total) * d1 * d2 * d4,
        -total * d1 * d2 * d3,
        -(total - 1.812 * c) * d2 * d3 * d4,
        (total - 0.945 * c) * d1 * d3 * d4,
        -(odd - 0.646 * c) * d1 * d2 * d4,
        (total - 0.504 * c) * d1 * d2 * d3,
    ]


@problem(
    "RC31",
    bounds=[(12, 60)] * 4,
    best=0.0,
    counts=(0, 0),
    source=MECHANICAL_SOURCE,
    variables=number_names("teeth of gear {}", 1, 4),
)
def gear_train(x: Array) -> Values:
    """Gear ratio error of a gear train; the suite rounds nothing and constrains nothing."""
    x1, x2, x3, x4 = namespace(x).unstack(x, axis=-1)
    return (1 / 6.931 - x1 * x2 / (x3 * x4)) ** 2, [], []
