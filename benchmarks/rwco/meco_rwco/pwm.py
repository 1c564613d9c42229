"""RC45-RC50: synchronous optimal pulse-width modulation, power electronics."""

from __future__ import annotations

import math

import numpy as np

from meco.core.arrays import Array, Constants, namespace
from meco.core.problem import Problem
from meco_rwco.parts import Values, number_names

# orders of the harmonics that count; the suite leaves out 89
HARMONICS = np.array([k for k in range(5, 98) if k % 2 and k % 3 and k != 89], dtype=float)
GAP = 1e-6  # least distance of two switching angles, deg


def make_modulation_problem(name: str, levels: int, sources: int, depth: float, signs: str, best: float) -> Problem:
    """Harmonic distortion of a multilevel inverter; signs tell whether each switching goes up or down."""
    sign = np.array([1.0 if s == "+" else -1.0 for s in signs])
    fixed = Constants(sign=sign, harmonics=HARMONICS[:, None], weights=HARMONICS**-4)
    scale = sources * math.sqrt(float(np.sum(HARMONICS**-4)))

    def distortion(x: Array) -> Values:
        """Distortion of the harmonics, and the switching angles in their order."""
        xp = namespace(x)
        c = fixed.on(x)
        angle = x * math.pi / 180
        waves = xp.cos(c["harmonics"] * angle[..., None, :]) @ c["sign"]  # [..., 31]
        f = xp.sqrt(xp.sum(waves**2 * c["weights"], axis=-1)) / scale
        h = xp.sum(c["sign"] * xp.cos(angle), axis=-1) - sources * depth
        return f, x[..., :-1] - x[..., 1:] + GAP, [h]

    dim = len(signs)
    return Problem(
        name,
        lower=np.zeros(dim),
        upper=np.full(dim, 90.0),
        n_ineq=dim - 1,
        n_eq=1,
        formula=distortion,
        title=f"Pulse-width modulation of a {levels}-level inverter",
        source="Kumar et al. 2020, power electronics",
        best_known=best,
        variables=number_names("switching angle {} (deg)", 1, dim),
        constraint_names=(*(f"angle {i} before angle {i + 1}" for i in range(1, dim)), "modulation depth"),
    )


rc45 = make_modulation_problem("RC45", 3, 1, 0.32, "+-+-+-+-+-+-+-+-+-+-+-+-+", best=0.03073936)
rc46 = make_modulation_problem("RC46", 5, 2, 0.32, "+-++-+-+--+-++-+-+--+-++-", best=0.020240335)
rc47 = make_modulation_problem("RC47", 7, 3, 0.36, "+-+++---++--+++---++--+++", best=0.012783068)
rc48 = make_modulation_problem("RC48", 9, 4, 0.32, "++++-+---+--++++-+---+--++++-+", best=0.016787535766)
rc49 = make_modulation_problem("RC49", 11, 5, 0.3333, "+-+++---++++--+---++++-++--+--", best=0.00931187418)
rc50 = make_modulation_problem("RC50", 13, 6, 0.32, "+++-+-+-++++----+-+-++++---+-+", best=0.01505147)
