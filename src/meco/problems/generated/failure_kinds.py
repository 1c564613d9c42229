"""Where a generated problem fails: a fifth of its box, never the known point."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from meco.core.arrays import Array, namespace
from meco.problems.generated.constraint_kinds import Draw, draw_directions

SHARE = 0.2
SAMPLES = 2000  # points of the box that say where a plane cuts off the share
CELLS = 24.0  # patches per half width of the box
PRIME = 100_003.0


def draw_failing_half_space(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """A plane that cuts off a fifth of the box [-1, 1]^D, away from the known point u [D]."""
    out = draw_directions(rng, len(u), 1)
    out = out if u @ out[:, 0] <= 0 else -out
    edge = np.quantile(rng.uniform(-1.0, 1.0, (SAMPLES, len(u))) @ out[:, 0], 1.0 - SHARE)
    return {"out": out, "edge": np.array([edge - u @ out[:, 0]])}


def in_failing_half_space(v: Array, p: Mapping[str, Array]) -> Array:
    """Which points fail, those beyond the plane: v [B, N, D] -> [B, N]."""
    return namespace(v).matmul(v, p["out"])[..., 0] > p["edge"]


def draw_failing_cells(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """The factor of each variable in the hash that chooses the cells: integers [1, D]. Of u [D] only D counts."""
    return {"factor": np.floor(rng.uniform(1.0, PRIME, (1, len(u))))}


def in_failing_cells(v: Array, p: Mapping[str, Array]) -> Array:
    """Which points fail, by a hash of their cell in integers, alike on every machine: v [B, N, D] -> [B, N]."""
    xp = namespace(v)
    cell = xp.floor(v * CELLS + 0.5)  # 0 around the known point, whose hash is 0
    key = xp.remainder(xp.sum(cell * p["factor"], axis=-1), PRIME)
    return xp.remainder(key * key, PRIME) >= (1.0 - SHARE) * PRIME


Formula = Callable[[Array, Mapping[str, Array]], Array]
FAILURES: dict[str, tuple[Callable[[Draw, np.ndarray], dict[str, np.ndarray]], Formula]] = {
    "region": (draw_failing_half_space, in_failing_half_space),
    "patches": (draw_failing_cells, in_failing_cells),
}
