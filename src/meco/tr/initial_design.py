"""The first points of a search: the given ones, and a star around the first of them."""

from __future__ import annotations

import numpy as np

from meco.core.engine import Task
from meco.tr.feasibility_guard import FeasibilityGuard
from meco.tr.region import INITIAL_RADIUS


def initial_points(task: Task, guard: FeasibilityGuard | None, radius: float) -> np.ndarray:
    """The given points, or the middle, and a star around the first of them: [n, D]."""
    given = np.full((1, task.dim), 0.5) if task.x0 is None else np.asarray(task.x0)
    if guard is not None and task.x0 is None:
        given = guard.anchor[None]
    arms = star_size(task.dim, task.budget - len(given)) if len(given) <= 2 * task.dim else 0
    ends = star(given[0], arms, radius)
    return np.concatenate([given, ends if guard is None else guard.project(ends)])


def star_size(dim: int, budget: int) -> int:
    """Arms of the star: two along each axis, or fewer, so that a third of the budget is left for steps."""
    return max(0, min(2 * dim, 2 * budget // 3))


def star(centre: np.ndarray, arms: int, radius: float = INITIAL_RADIUS) -> np.ndarray:
    """Points at a radius from a centre [D] along the axes, upwards first: [arms, D].

    An arm that would leave the cube is turned around and halved, so that no two points coincide.
    """
    steps = radius * np.concatenate([np.eye(centre.size), -np.eye(centre.size)])[:arms]
    outside = (centre + steps < 0.0) | (centre + steps > 1.0)
    return np.clip(centre + np.where(outside, -0.5 * steps, steps), 0.0, 1.0)
