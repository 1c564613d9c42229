"""Integer variables in the unit cube: where their points lie, and steps that rounding must not undo."""

from __future__ import annotations

from meco.core.arrays import Array, maybe_any, namespace
from meco.core.engine import Task
from meco.core.problem import round_half_away
from meco.tr.region import Region
from meco.tr.step import Step, Subproblem, relaxed_step


class Lattice:
    """The values that integer variables can take, for the runs of a task."""

    def __init__(self, task: Task) -> None:
        xp = namespace(task.lower)
        self.integer = task.integer  # [B or 1, 1, D]
        self.walls = task.walls
        if task.range is None:
            self.lower, width = task.lower, task.upper - task.lower
        else:
            self.lower, width = task.range.origin[None, None], task.range.length[None, None]
        self.width = xp.where(width > 0.0, width, 1.0)
        self.lowest, self.highest = xp.ceil(task.lower), xp.floor(task.upper)
        self.spacing = xp.where(self.integer, 1.0 / self.width, 0.0)[:, 0, :]  # [B or 1, D]: distance of two values
        assert task.integer is not None
        integer = task.integer[:, 0, :]
        if task.categories is not None:  # they are exchanged (categories.py), not moved by one
            integer = integer.copy()
            integer[:, task.categories.columns] = False
            self.spacing = xp.where(integer, self.spacing, 0.0)
        self.some = xp.any(integer, axis=-1)  # [B or 1]: runs that have integer variables
        self.mixed = self.some & ~xp.all(integer, axis=-1)  # [B or 1]: runs whose variables are of both kinds

    def snap(self, x: Array) -> Array:
        """Points [B, n, D] with integer variables at the value that is evaluated for them."""
        xp = namespace(x)
        value = round_half_away(self.lower + x * self.width)
        value = xp.minimum(xp.maximum(value, self.lowest), self.highest)
        return xp.where(self.integer, (value - self.lower) / self.width, x)

    def fix_integers(self, step: Step, sub: Subproblem, region: Region, theta: Array) -> Step:
        """The step again, where variables are of both kinds, with integers fixed where rounding takes them.

        The other variables make up for what rounding does to the constraints; without it hardly an equality is met.
        """
        if not maybe_any(self.mixed):
            return step
        xp, delta = namespace(step.s), region.reach
        x = xp.clip(region.centre + delta * step.s, min=self.walls[0], max=self.walls[1])
        s = (self.snap(x[:, None, :])[:, 0, :] - region.centre) / delta
        low, high = (xp.where(self.spacing > 0.0, s, side) for side in (sub.low, sub.high))
        again = relaxed_step(sub._replace(low=low, high=high), theta, step.multipliers, step.weights)
        mixed = self.mixed[:, None]
        s, value, multipliers = (xp.where(mixed, new, old) for new, old in zip(again[:3], step[:3]))
        weights = step.weights._replace(w=xp.where(mixed, again.weights.w, step.weights.w))
        return Step(s, value, multipliers, weights, step.by)

    def neighbours(self, centre: Array) -> Array:
        """The centre [B, D] moved by one value along each variable, both ways: [B, 2 D, D]; continuous ones stay."""
        xp = namespace(centre)
        moves = self.spacing[:, None, :] * xp.eye(centre.shape[-1], dtype=centre.dtype, device=centre.device)
        moves = xp.concat([moves, -moves], axis=1)
        return self.snap(xp.clip(centre[:, None, :] + moves, min=self.walls[0], max=self.walls[1]))


def snap_to(lattice: Lattice | None, x: Array) -> Array:
    """Points [B, n, D] on the lattice, where there is one."""
    return x if lattice is None else lattice.snap(x)
