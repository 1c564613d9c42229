"""Initial design: the given points and a star around the first of them (docs/trust-region.md, section 2)."""

from __future__ import annotations

import numpy as np

from meco.tr_single.options import Options


def first_radii(dim: int, lengths: np.ndarray | None, options: Options) -> np.ndarray:
    """Radius of the first region along each variable [D]. lengths [D] are the typical sizes of variables around x0."""
    if lengths is None:
        return np.full(dim, options.initial_radius)
    return np.clip(options.x0_radius * lengths, options.least_x0_radius, options.initial_radius)


def first_points(given: np.ndarray, radii: np.ndarray, budget: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The given points [n, D] followed by a star of radii [D] around the first: [n + arms, D].

    The star leaves at least a third of the budget for steps, and is left out with more than 2 D given points.
    """
    dim = given.shape[1]
    arms = max(0, min(2 * dim, 2 * (budget - len(given)) // 3)) if len(given) <= 2 * dim else 0
    return np.concatenate([given, star(given[0], radii, low, high)[:arms]])


def star(centre: np.ndarray, radii: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Two points along each axis through the centre [D], all upward ones first: [2 D, D].

    An arm that would leave the bounds [D] is reversed and halved, so that no two points coincide.
    """
    arms = np.concatenate([np.diag(radii), -np.diag(radii)])
    outside = (centre + arms < low) | (centre + arms > high)
    return np.clip(centre + np.where(outside, -0.5 * arms, arms), low, high)
