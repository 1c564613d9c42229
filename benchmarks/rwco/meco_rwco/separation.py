"""RC06 and RC07: two separation plants, industrial chemical processes."""

from __future__ import annotations

from meco.core.arrays import Array, namespace
from meco.core.problem import problem
from meco_rwco.chemical import CHEMICAL_SOURCE
from meco_rwco.parts import Values, expand_bounds, number_names


def flow_balances(v: tuple) -> list[Array]:
    """What both plants share, equalities [...]: all of the feed is split, and what flows into a splitter leaves it."""
    return [
        v[1] + v[2] + v[3] + v[4] - 300,
        v[6] - v[7] - v[8],
        v[9] - v[10] - v[11] - v[12],
        v[14] - v[15] - v[16] - v[17],
        v[18] - v[19] - v[20],
    ]


@problem(
    "RC06",
    bounds=expand_bounds(
        {
            "1 3 5-6 8-10 13-14 16 18 20": (0, 90),
            "2 4 7 11-12 15 17 19": (0, 150),
            "21 23-25 27-28": (0, 1),
            "22 32 34-35 37-38": (0, 1.2),
            "26 29-31 33 36": (0, 0.5),
        }
    ),
    best=1.8638304088,
    counts=(0, 32),
    source=CHEMICAL_SOURCE,
    variables=(*number_names("flow {}", 1, 20), *number_names("fraction {}", 21, 38)),
)
def blending_pooling_separation(x: Array) -> Values:
    """Blending, pooling and separation."""
    v = (None, *namespace(x).unstack(x, axis=-1))  # counted from 1
    f = 0.9979 + 0.00432 * v[5] + 0.01517 * v[13]
    h = [
        *flow_balances(v),
        v[5] * v[21] - v[6] * v[22] - v[9] * v[23],
        v[5] * v[24] - v[6] * v[25] - v[9] * v[26],
        v[5] * v[27] - v[6] * v[28] - v[9] * v[29],
        v[13] * v[30] - v[14] * v[31] - v[18] * v[32],
        v[13] * v[33] - v[14] * v[34] - v[18] * v[35],
        v[13] * v[36] - v[14] * v[37] - v[18] * v[38],
        v[1] / 3 + v[15] * v[31] - v[5] * v[21],
        v[1] / 3 + v[15] * v[34] - v[5] * v[24],
        v[1] / 3 + v[15] * v[37] - v[5] * v[27],
        v[2] / 3 + v[10] * v[23] - v[13] * v[30],
        v[2] / 3 + v[10] * v[26] - v[13] * v[33],
        v[2] / 3 + v[10] * v[29] - v[13] * v[36],
        v[3] / 3 + v[7] * v[22] + v[11] * v[23] + v[16] * v[31] + v[19] * v[32] - 30,
        v[3] / 3 + v[7] * v[25] + v[11] * v[26] + v[16] * v[34] + v[19] * v[35] - 50,
        v[3] / 3 + v[7] * v[28] + v[11] * v[29] + v[16] * v[37] + v[19] * v[38] - 30,
        v[21] + v[24] + v[27] - 1,
        v[22] + v[25] + v[28] - 1,
        v[23] + v[26] + v[29] - 1,
        v[30] + v[33] + v[36] - 1,
        v[31] + v[34] + v[37] - 1,
        v[32] + v[35] + v[38] - 1,
        *(v[25], v[28], v[23], v[37], v[32], v[35]),  # these fractions have to vanish
    ]
    return f, [], h


@problem(
    "RC07",
    bounds=expand_bounds(
        {
            "1 6-12 16-20": (0, 35),
            "2-3 5 13-15": (0, 90),
            "4": (0, 140),
            "21-23 30 33-34 36 38-48": (0, 1),
            "24 26 28 31": (0.849999, 1),
            "25 27 29 32 35 37": (0, 30),
        }
    ),
    best=1.5670451,
    counts=(0, 38),
    source=CHEMICAL_SOURCE,
)
def nonsharp_separation(x: Array) -> Values:
    """Nonsharp separation of propane, isobutane and n-butane."""
    v = (None, *namespace(x).unstack(x, axis=-1))  # counted from 1
    first = -0.0139904 + 0.0093514 * v[24] + 0.0077308 * v[28] - 0.0005719 * v[33] + 0.0042656 * v[34]
    second = -0.0661588 + 0.0338147 * v[26] + 0.0373349 * v[31] + 0.0016371 * v[38] + 0.0288996 * v[39]
    f = 0.23947 + first * v[5] + 0.75835 + second * v[13]
    h = [
        *flow_balances(v),
        v[6] * v[21] - v[24] * v[25],
        v[14] * v[22] - v[26] * v[27],
        v[9] * v[23] - v[28] * v[29],
        v[18] * v[30] - v[31] * v[32],
        v[25] - v[5] * v[33],
        v[29] - v[5] * v[34],
        v[35] - v[5] * v[36],
        v[37] - v[13] * v[38],
        v[27] - v[13] * v[39],
        v[32] - v[13] * v[40],
        v[25] - v[6] * v[21] - v[9] * v[41],
        v[29] - v[6] * v[42] - v[9] * v[23],
        v[35] - v[6] * v[43] - v[9] * v[44],
        v[37] - v[14] * v[45] - v[18] * v[46],
        v[27] - v[14] * v[22] - v[18] * v[47],
        v[32] - v[14] * v[48] - v[18] * v[30],
        v[1] / 3 + v[15] * v[45] - v[25],
        v[1] / 3 + v[15] * v[22] - v[29],
        v[1] / 3 + v[15] * v[48] - v[35],
        v[2] / 3 + v[10] * v[41] - v[37],
        v[2] / 3 + v[10] * v[23] - v[27],
        v[2] / 3 + v[10] * v[44] - v[32],
        v[33] + v[34] + v[36] - 1,
        v[21] + v[42] + v[43] - 1,
        v[41] + v[23] + v[44] - 1,
        v[38] + v[39] + v[40] - 1,
        v[45] + v[22] + v[48] - 1,
        v[46] + v[47] + v[30] - 1,
        *(v[43], v[46]),  # these fractions have to vanish
        v[3] / 3 + v[7] * v[21] + v[11] * v[41] + v[16] * v[45] + v[19] * v[46] - 30,
        v[3] / 3 + v[7] * v[42] + v[11] * v[23] + v[16] * v[22] + v[19] * v[47] - 50,
        v[3] / 3 + v[7] * v[43] + v[11] * v[44] + v[16] * v[48] + v[19] * v[30] - 30,
    ]
    return f, [], h
