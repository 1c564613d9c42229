"""RC33: topology optimisation of a cantilever, mechanical engineering."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from meco.core.arrays import Array, Constants, namespace
from meco.core.problem import problem
from meco.problems.realworld.mechanical import MECHANICAL_SOURCE
from meco_rwco.parts import Values, number_names

ROWS, COLUMNS = 10, 3  # square elements; the density of (r, c) is variable 10 c + r, counted from 0
FIXED, DOFS = 22, 88  # the nodes of the first column do not move
YOUNG, POISSON = 2.06e8, 0.3
LOAD = -10000.0  # vertical, on the last node
RADIUS = 1.5  # of the sensitivity filter, in elements

# which of the eight coefficients stands at each place of the element's stiffness
PLACES = np.array(
    [
        [1, 2, 3, 4, 5, 6, 7, 8],
        [2, 1, 8, 7, 6, 5, 4, 3],
        [3, 8, 1, 6, 7, 4, 5, 2],
        [4, 7, 6, 1, 8, 3, 2, 5],
        [5, 6, 7, 8, 1, 2, 3, 4],
        [6, 5, 4, 3, 2, 1, 8, 7],
        [7, 4, 5, 2, 3, 8, 1, 6],
        [8, 3, 2, 5, 4, 7, 6, 1],
    ]
)


def _element_stiffness() -> np.ndarray:
    """Stiffness of one solid element in plane stress, [8, 8]."""
    nu = POISSON
    k = [
        *(1 / 2 - nu / 6, 1 / 8 + nu / 8, -1 / 4 - nu / 12, -1 / 8 + 3 * nu / 8),
        *(-1 / 4 + nu / 12, -1 / 8 - nu / 8, nu / 6, 1 / 8 - 3 * nu / 8),
    ]
    return YOUNG / (1 - nu**2) * np.array(k)[PLACES - 1]


def _element_freedoms() -> np.ndarray:
    """Degrees of freedom of every element, [30, 8], counted from 0; nodes run down the columns."""
    c, r = np.divmod(np.arange(ROWS * COLUMNS), ROWS)
    a = (ROWS + 1) * c + r
    b = a + ROWS + 1
    return np.stack([2 * a, 2 * a + 1, 2 * b, 2 * b + 1, 2 * b + 2, 2 * b + 3, 2 * a + 2, 2 * a + 3], axis=-1)


@cache
def _cantilever_constants() -> Constants:
    """Assembly [30, 66 * 66], element stiffness, load, and the filter's weights [30, 30]."""
    element, dofs, size = _element_stiffness(), _element_freedoms(), DOFS - FIXED
    assembly = np.zeros((ROWS * COLUMNS, DOFS, DOFS))
    for k, dof in enumerate(dofs):
        assembly[k][np.ix_(dof, dof)] = element
    c, r = np.divmod(np.arange(ROWS * COLUMNS), ROWS)
    distance = np.hypot(c[:, None] - c, r[:, None] - r)
    load = np.zeros((size, 1))
    load[-1] = LOAD
    return Constants(
        assembly=assembly[:, FIXED:, FIXED:].reshape(ROWS * COLUMNS, -1),
        element=element,
        load=load,
        weights=np.clip(RADIUS - distance, 0, None),
    )


def _strain_energies(stiffness: Array) -> Array:
    """Strain energy of each element, were it solid: scale of its stiffness [..., 30] -> [..., 30]."""
    xp = namespace(stiffness)
    beam = _cantilever_constants().on(stiffness)
    size = DOFS - FIXED
    matrix = xp.reshape(stiffness @ beam["assembly"], (*stiffness.shape[:-1], size, size))
    free = xp.linalg.solve(matrix, xp.broadcast_to(beam["load"], (*stiffness.shape[:-1], size, 1)))[..., 0]
    u = xp.concat([xp.zeros_like(free[..., :FIXED]), free], axis=-1)
    dofs = xp.asarray(_element_freedoms().reshape(-1), device=u.device)
    u = xp.reshape(xp.take(u, dofs, axis=-1), (*u.shape[:-1], ROWS * COLUMNS, 8))
    return xp.sum((u @ beam["element"]) * u, axis=-1)


@problem(
    "RC33",
    bounds=[(0.001, 1)] * 30,
    best=2.639346497,
    counts=(30, 0),
    source=MECHANICAL_SOURCE,
    variables=number_names("density of element {}", 1, 30),
)
def cantilever_compliance(x: Array) -> Values:
    """Compliance of a cantilever of thirty elements.

    The constraints are filtered sensitivities, never positive but for rounding: every point is
    feasible and the full beam is best. A density that is not positive gives nan.
    """
    xp = namespace(x)
    sound = xp.all(xp.isfinite(x) & (x > 0), axis=-1)
    rho = xp.where(sound[..., None], x, 1.0)
    energy = _strain_energies(rho**3)
    weights = _cantilever_constants().on(x)["weights"]
    g = ((-3 * rho**3 * energy) @ weights) / (rho * xp.sum(weights, axis=-1))
    f = xp.sum(rho**3 * energy, axis=-1)
    return xp.where(sound, f, math.nan), xp.where(sound[..., None], g, math.nan), []
