"""What a simulation program does to a smooth model: it rounds inputs, looks up tables, meshes, prints few digits.

A kind may change what the model sees, v [B, N, D], and what it reports, outputs [B, N, 1 + p + q] without their scales:
the objective above its value at the known point, then the constraints. At the known point, v = 0, nothing is
changed; elsewhere errors are upwards or are those of another point. So a feasible point stays the best that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, namespace
from meco.problems.generated.constraint_kinds import Draw, draw_directions

Numbers = Mapping[str, Array]


def _unchanged(v: Array, p: Numbers) -> Array:
    """The displacements v [B, N, D] themselves: the model sees the point."""
    return v


def _as_computed(outputs: Array, v: Array, p: Numbers) -> Array:
    """The outputs [B, N, count] themselves: values are reported as they are."""
    return outputs


class Simulator(NamedTuple):
    """How a kind draws its numbers for D variables and so many outputs, and the two changes that it makes."""

    draw: Callable[[Draw, int, int], dict[str, np.ndarray]]
    see: Callable[[Array, Numbers], Array] = _unchanged
    report: Callable[[Array, Array, Numbers], Array] = _as_computed


def _draw_digits(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """The last digit of each output: [1, count]."""
    return {"digit": 10.0 ** rng.uniform(-3.0, -1.3, (1, count))}


def round_up(outputs: Array, v: Array, p: Numbers) -> Array:
    """Outputs [B, N, count] printed with few digits, rounded up: plateaus of the values."""
    return namespace(outputs).ceil(outputs / p["digit"]) * p["digit"]


def _draw_steps(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """Steps per half width of the box [1, D], and the slope that is left between them [1, 1]."""
    return {"steps": 10.0 ** rng.uniform(0.6, 1.6, (1, dim)), "slope": rng.uniform(0.0, 0.3, (1, 1))}


def see_steps(v: Array, p: Numbers) -> Array:
    """v [B, N, D] at the nearest step of time or length that the model sees, with a jump between two of them."""
    nearest = namespace(v).round(v * p["steps"]) / p["steps"]
    return nearest + p["slope"] * (v - nearest)


def _draw_table(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """Entries per half width of the box [1, D], and how far the table is off between them [1, D]."""
    entries = rng.uniform(2.0, 10.0, (1, dim))
    return {"entries": entries, "height": rng.uniform(-0.9, 0.9, (1, dim)) / entries}


def see_table(v: Array, p: Numbers) -> Array:
    """v [B, N, D] as looked up in a table and joined by straight lines: a kink at every entry."""
    xp = namespace(v)
    s = v * p["entries"]
    return v + p["height"] * xp.abs(s - xp.round(s))


def _draw_mesh(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """What the cells of each output depend on [D, count], and the error of the coarsest mesh [1, count]."""
    cells = draw_directions(rng, dim, count) * rng.uniform(3.0, 15.0, count)
    return {"cells": cells, "depth": 10.0 ** rng.uniform(-3.0, -1.3, (1, count))}


def add_mesh_error(outputs: Array, v: Array, p: Numbers) -> Array:
    """Outputs [B, N, count] with the error of a mesh that follows the design v [B, N, D].

    It grows with the cells, until one more cell makes it jump back to 0.
    """
    xp = namespace(v)
    cells = xp.matmul(v, p["cells"])
    stretched = cells - xp.floor(cells)
    return outputs + p["depth"] * stretched * stretched


SIMULATORS = {
    "digits": Simulator(_draw_digits, report=round_up),
    "stepped": Simulator(_draw_steps, see=see_steps),
    "table": Simulator(_draw_table, see=see_table),
    "mesh": Simulator(_draw_mesh, report=add_mesh_error),
}
