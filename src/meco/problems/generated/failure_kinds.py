"""Where a generated problem fails: a fifth of its box, never the known point."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from meco.core.arrays import Array, namespace
from meco.problems.generated.constraint_kinds import Draw, directions

SHARE = 0.2
SAMPLES = 2000  # points of the box that say where a plane cuts off the share
CELLS = 24.0  # patches per half width of the box
PRIME = 100_003.0


def draw_region(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """A plane that cuts off a fifth of the box [-1, 1]^D, away from the known point u [D]."""
    out = directions(rng, len(u), 1)
    out = out if u @ out[:, 0] <= 0 else -out
    edge = np.quantile(rng.uniform(-1.0, 1.0, (SAMPLES, len(u))) @ out[:, 0], 1.0 - SHARE)
    return {"out": out, "edge": np.array([edge - u @ out[:, 0]])}


def in_region(v: Array, p: Mapping[str, Array]) -> Array:
    """Beyond the plane: v [B, N, D] -> [B, N]."""
    return namespace(v).matmul(v, p["out"])[..., 0] > p["edge"]


def draw_patches(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """A whole number for each variable, for hashing."""
    return {"factor": np.floor(rng.uniform(1.0, PRIME, (1, len(u))))}


def in_patches(v: Array, p: Mapping[str, Array]) -> Array:
    """Small cells chosen by a hash, in whole numbers and so alike on every machine: v [B, N, D] -> [B, N]."""
    xp = namespace(v)
    cell = xp.floor(v * CELLS + 0.5)  # 0 around the known point, whose hash is 0
    key = xp.remainder(xp.sum(cell * p["factor"], axis=-1), PRIME)
    return xp.remainder(key * key, PRIME) >= (1.0 - SHARE) * PRIME


Formula = Callable[[Array, Mapping[str, Array]], Array]
FAILURES: dict[str, tuple[Callable[[Draw, np.ndarray], dict[str, np.ndarray]], Formula]] = {
    "region": (draw_region, in_region),
    "patches": (draw_patches, in_patches),
}
