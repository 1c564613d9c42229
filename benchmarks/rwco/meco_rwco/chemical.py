"""RC01-RC05: industrial chemical processes."""

from __future__ import annotations

import math

from meco.core.arrays import Array, namespace
from meco.core.problem import problem
from meco_rwco.parts import Values, expand_bounds, number_names

CHEMICAL_SOURCE = "Kumar et al. 2020, industrial chemical processes"
GUARD = 1e-8  # keeps the logarithms finite where two temperatures meet


@problem(
    "RC01",
    bounds=expand_bounds(
        {
            "1": (0, 10),
            "2 4": (0, 200),
            "3": (0, 100),
            "5": (1000, 2000000),
            "6": (0, 600),
            "7-8": (100, 600),
            "9": (100, 900),
        }
    ),
    best=189.31162966,
    counts=(0, 8),
    source=CHEMICAL_SOURCE,
    variables=(
        "area of exchanger 1",
        "area of exchanger 2",
        "heat load of exchanger 1",
        "mean temperature difference 1",
        "heat load of exchanger 2",
        "mean temperature difference 2",
        "temperature between the exchangers",
        "outlet temperature of hot stream 1",
        "outlet temperature of hot stream 2",
    ),
)
def heat_exchangers_1(x: Array) -> Values:
    """Heat exchanger network, case 1."""
    xp = namespace(x)
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = xp.unstack(x, axis=-1)
    f = 35 * x1**0.6 + 35 * x2**0.6
    h = [
        200 * x1 * x4 - x3,
        200 * x2 * x6 - x5,
        x3 - 10000 * (x7 - 100),
        x5 - 10000 * (300 - x7),
        x3 - 10000 * (600 - x8),
        x5 - 10000 * (900 - x9),
        x4 * xp.log(abs(x8 - 100) + GUARD) - x4 * xp.log((600 - x7) + GUARD) - x8 + x7 + 500,
        x6 * xp.log(abs(x9 - x7) + GUARD) - x6 * math.log(600) - x9 + x7 + 600,
    ]
    return f, [], h


@problem(
    "RC02",
    bounds=expand_bounds(
        {
            "1": (10000, 819000),
            "2": (10000, 1131000),
            "3": (10000, 2.05 * 1e6),  # one unit in the last place below 2050000
            "4-6": (0, 0.05074),
            "7": (100, 200),
            "8-10": (100, 300),
            "11": (100, 400),
        }
    ),
    best=7049.036954,
    counts=(0, 9),
    source=CHEMICAL_SOURCE,
    variables=(
        *number_names("heat load of exchanger {}", 1, 3),
        *number_names("mean temperature difference {}", 1, 3),
        *number_names("cold stream temperature after exchanger {}", 1, 2),
        *number_names("outlet temperature of hot stream {}", 1, 3),
    ),
)
def heat_exchangers_2(x: Array) -> Values:
    """Heat exchanger network, case 2."""
    xp = namespace(x)
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 = xp.unstack(x, axis=-1)
    f = (x1 / (120 * x4)) ** 0.6 + (x2 / (80 * x5)) ** 0.6 + (x3 / (40 * x6)) ** 0.6
    h = [
        x1 - 1e4 * (x7 - 100),
        x2 - 1e4 * (x8 - x7),
        x3 - 1e4 * (500 - x8),
        x1 - 1e4 * (300 - x9),
        x2 - 1e4 * (400 - x10),
        x3 - 1e4 * (600 - x11),
        x4 * xp.log(abs(x9 - 100) + GUARD) - x4 * xp.log(300 - x7 + GUARD) - x9 - x7 + 400,
        x5 * xp.log(abs(x10 - x7) + GUARD) - x5 * xp.log(abs(400 - x8) + GUARD) - x10 + x7 - x8 + 400,
        x6 * xp.log(abs(x11 - x8) + GUARD) - x6 * math.log(100) - x11 + x8 + 100,
    ]
    return f, [], h


@problem(
    "RC03",
    bounds=expand_bounds({"1": (1000, 2000), "2 4-5": (0, 100), "3": (2000, 4000), "6": (0, 20), "7": (0, 200)}),
    best=-4529.1197395,
    counts=(14, 0),
    source=CHEMICAL_SOURCE,
    variables=(
        "olefin feed (barrels/day)",
        "acid addition (1000 lb/day)",
        "alkylate yield (barrels/day)",
        "acid strength (wt %)",
        "motor octane number",
        "isobutane to olefin ratio",
        "F-4 performance number",
    ),
)
def alkylation_unit(x: Array) -> Values:
    """Profit of an alkylation unit, with the sign turned."""
    x1, x2, x3, x4, x5, x6, x7 = namespace(x).unstack(x, axis=-1)
    f = -1.715 * x1 - 0.035 * x1 * x6 - 4.0565 * x3 - 10 * x2 + 0.063 * x3 * x5
    g = [
        0.0059553571 * x6**2 * x1 + 0.88392857 * x3 - 0.1175625 * x6 * x1 - x1,
        1.1088 * x1 + 0.1303533 * x1 * x6 - 0.0066033 * x1 * x6**2 - x3,
        6.66173269 * x6**2 + 172.39878 * x5 - 56.596669 * x4 - 191.20592 * x6 - 10000,
        1.08702 * x6 + 0.32175 * x4 - 0.03762 * x6**2 - x5 + 56.85075,
        0.006198 * x7 * x4 * x3 + 2462.3121 * x2 - 25.125634 * x2 * x4 - x3 * x4,
        161.18996 * x3 * x4 + 5000 * x2 * x4 - 489510 * x2 - x3 * x4 * x7,
        0.33 * x7 - x5 + 44.333333,
        0.022556 * x5 - 0.007595 * x7 - 1,
        0.00061 * x3 - 0.0005 * x1 - 1,
        0.819672 * x1 - x3 + 0.819672,
        24500 * x2 - 250 * x2 * x4 - x3 * x4,
        1020.4082 * x4 * x2 + 1.2244898 * x3 * x4 - 100000 * x2,
        6.25 * x1 * x6 + 6.25 * x1 - 7.625 * x3 - 100000,
        1.22 * x3 - x6 * x1 - x1 + 1,
    ]
    return f, g, []


@problem(
    "RC04",
    bounds=expand_bounds({"1-4": (0, 1), "5-6": (1e-5, 16)}),
    best=-0.38826043623,
    counts=(1, 4),
    source=CHEMICAL_SOURCE,
    variables=(
        *number_names("concentration of A after reactor {}", 1, 2),
        *number_names("concentration of B after reactor {}", 1, 2),
        *number_names("volume of reactor {}", 1, 2),
    ),
    constraint_names=("volumes", "A in reactor 1", "A in reactor 2", "B in reactor 1", "B in reactor 2"),
)
def reactor_network(x: Array) -> Values:
    """Yield of two reactors in a row, with the sign turned."""
    xp = namespace(x)
    x1, x2, x3, x4, x5, x6 = xp.unstack(x, axis=-1)
    k1, k3 = 0.09755988, 0.0391908
    k2, k4 = 0.99 * k1, 0.9 * k3
    h = [
        x1 + k1 * x2 * x5 - 1,
        x2 - x1 + k2 * x2 * x6,
        x3 + x1 + k3 * x3 * x5 - 1,
        x4 - x3 + x2 - x1 + k4 * x4 * x6,
    ]
    return -x4, [xp.sqrt(x5) + xp.sqrt(x6) - 4], h


@problem(
    "RC05",
    bounds=expand_bounds({"1 3-6 8": (0, 100), "2 7 9": (0, 200)}),
    best=-400.0056,
    counts=(2, 4),
    source=CHEMICAL_SOURCE,
    variables=(
        *number_names("flow of product {}", 1, 2),
        "flow of feed A",
        "flow of feed B",
        *number_names("flow of feed C into product {}", 1, 2),
        *number_names("flow from the pool into product {}", 1, 2),
        "sulphur in the pool (%)",
    ),
    constraint_names=(
        "sulphur in product 1",
        "sulphur in product 2",
        "balance of the pool",
        "balance of product 1",
        "balance of product 2",
        "sulphur balance of the pool",
    ),
)
def haverly_pooling(x: Array) -> Values:
    """Haverly's pooling problem; the best known value uses up the equality tolerance."""
    x1, x2, x3, x4, x5, x6, x7, x8, x9 = namespace(x).unstack(x, axis=-1)
    f = -(9 * x1 + 15 * x2 - 6 * x3 - 16 * x4 - 10 * (x5 + x6))
    g = [x9 * x7 + 2 * x5 - 2.5 * x1, x9 * x8 + 2 * x6 - 1.5 * x2]
    h = [x7 + x8 - x3 - x4, x1 - x7 - x5, x2 - x8 - x6, x9 * x7 + x9 * x8 - 3 * x3 - x4]
    return f, g, h
