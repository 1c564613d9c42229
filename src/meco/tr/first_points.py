"""How a model engine begins: how many points a model takes, and a star of them around the first."""

from __future__ import annotations

import numpy as np

from meco.tr.region import FIRST


def model_points(dim: int) -> int:
    """Points a model is fitted to: 3 D + 1, and in few variables enough for a whole quadratic and more."""
    return 3 * dim + 1 + min(3 * dim, 12)


def star_size(dim: int, budget: int) -> int:
    """Arms of the star: two along each axis, or fewer, so that a third of the budget is left for steps."""
    return max(0, min(2 * dim, 2 * budget // 3))


def star(centre: np.ndarray, arms: int, radius: float = FIRST) -> np.ndarray:
    """Points at a radius from a centre [D] along the axes, upwards first: [arms, D].

    An arm that would leave the cube is turned around and halved, so that no two points coincide.
    """
    steps = radius * np.concatenate([np.eye(centre.size), -np.eye(centre.size)])[:arms]
    outside = (centre + steps < 0.0) | (centre + steps > 1.0)
    return np.clip(centre + np.where(outside, -0.5 * steps, steps), 0.0, 1.0)
