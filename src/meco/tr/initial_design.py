"""The first points of a search: the given ones, and a star around the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.engine import Task
from meco.tr.feasibility_guard import FeasibilityGuard

LEAST_SHARE = 0.01  # of the box that a first region goes, at least
GUARDED_RADIUS = 0.02  # of a search that only models can keep inside


def initial_radii(task: Task, guarded: bool, radius: float, x0_radius: float) -> np.ndarray:
    """How far the first region goes along each variable, in the unit cube: [D].

    GUARDED_RADIUS where only models can keep a search inside. Else radius everywhere; around a given x0, x0_radius
    typical lengths, but between LEAST_SHARE and radius.
    """
    if guarded:
        return np.full(task.dim, GUARDED_RADIUS)
    if task.lengths is None:
        return np.full(task.dim, radius)
    return np.minimum(np.maximum(x0_radius * task.lengths, LEAST_SHARE), radius)


def initial_points(task: Task, guard: FeasibilityGuard | None, radii: np.ndarray) -> np.ndarray:
    """The given points, the guard's anchor or the middle, and a star of radii [D] around the first of them: [n, D].

    More than 2 D given points have no star. A guard moves the ends of the star, not the given points.
    """
    given = np.full((1, task.dim), 0.5) if task.x0 is None else np.asarray(task.x0)
    if guard is not None and task.x0 is None:
        given = guard.anchor[None]
    arms = star_size(task.dim, task.budget - len(given)) if len(given) <= 2 * task.dim else 0
    ends = star(given[0], arms, radii, task.walls)
    return np.concatenate([given, ends if guard is None else guard.project(ends)])


def star_size(dim: int, budget: int) -> int:
    """Arms of the star: two along each axis, or fewer, so that a third of the budget is left for steps."""
    return max(0, min(2 * dim, 2 * budget // 3))


def star(centre: np.ndarray, arms: int, radii: np.ndarray, walls: tuple[Any, Any] = (0.0, 1.0)) -> np.ndarray:
    """Points at radii [D] from a centre [D] along the axes, upwards first: [arms, D], arms at most 2 D.

    An arm that would leave the walls, each a number or [D], is turned around and halved, so that no two points
    coincide.
    """
    steps = np.concatenate([np.diag(radii), -np.diag(radii)])[:arms]
    low, high = walls
    outside = (centre + steps < low) | (centre + steps > high)
    return np.clip(centre + np.where(outside, -0.5 * steps, steps), low, high)
