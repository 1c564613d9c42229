"""Integer variables in the unit cube: where their points lie, and steps that rounding must not undo."""

from __future__ import annotations

from meco.core.arrays import Array, largest, maybe_any, namespace, rows, total
from meco.core.engine import Task
from meco.core.problem import round_half_away
from meco.core.rule import best
from meco.tr.archive import PointArchive, as_evaluation
from meco.tr.merit import MERIT, Weights
from meco.tr.model_fit import LocalFit
from meco.tr.region import PointSource, Region
from meco.tr.step import Step, Subproblem, relaxed_step

NARROW = 0.1  # region that cannot tell two values apart, at most: those of a yes-or-no are a whole cube apart
WIDE = 0.25  # how far other variables go when integers move, at most
PROBING_RADIUS = 0.1  # in spacings, below which neighbours are probed
MOST_TRIES = 3  # of the same integers near a centre, while the models expect something of them


class Lattice:
    """The values that integer variables can take, for the runs of a task."""

    def __init__(self, task: Task) -> None:
        """Make the lattice of a task with integer variables; categories, which are exchanged, have no spacing here."""
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
        least = xp.min(xp.where(self.spacing > 0.0, self.spacing, xp.inf), axis=-1)
        self.least = xp.where(least < NARROW, least, NARROW)  # [B or 1]: a region below it cannot tell two values apart

    def snap(self, x: Array) -> Array:
        """Points [B, n, D] with integer variables at the value that is evaluated for them."""
        xp = namespace(x)
        value = round_half_away(self.lower + x * self.width)
        value = xp.minimum(xp.maximum(value, self.lowest), self.highest)
        return xp.where(self.integer, (value - self.lower) / self.width, x)

    def fix_integers(
        self, step: Step, sub: Subproblem, region: Region, theta: Array, archive: PointArchive
    ) -> tuple[Step, Array]:
        """The step again with integers fixed, where variables are of both kinds, and runs [B] that leave the region.

        Integers are fixed at the values that are chosen for them, and the other variables make up for what that does to
        the constraints, with theta [B] of the violation allowed to stay: without it hardly an equality is met. Other
        runs keep their step.
        """
        xp, delta, centre = namespace(step.s), region.reach, region.centre
        if not maybe_any(self.mixed):
            return step, region.delta < 0.0
        values, leaves = self._choose_values(step, sub, region, archive)
        s = (values - centre) / delta
        # where integers leave the region the others may go as far: less, and they could not make up for it
        far = xp.maximum(self._integer_distance(values, region) / delta, xp.ones_like(s))
        low = xp.where(sub.low <= -1.0, xp.maximum(-far, (self.walls[0] - centre) / delta), sub.low)
        high = xp.where(sub.high >= 1.0, xp.minimum(far, (self.walls[1] - centre) / delta), sub.high)
        low, high = (xp.where(self.spacing > 0.0, s, side) for side in (low, high))
        again = relaxed_step(sub._replace(low=low, high=high), theta, step.multipliers, step.weights)
        mixed = self.mixed[:, None]
        s, value, multipliers = (xp.where(mixed, new, old) for new, old in zip(again[:3], step[:3]))
        weights = step.weights._replace(w=xp.where(mixed, again.weights.w, step.weights.w))
        return Step(s, value, multipliers, weights, step.by), leaves

    def _choose_values(self, step: Step, sub: Subproblem, region: Region, archive: PointArchive) -> tuple[Array, Array]:
        """The centre with integers at the values to try next [B, D], and where these leave the region [B].

        They are those that rounding takes the step to. A region below one value would send it to the same wrong ones
        again and again, since models of what is near learn nothing there: values that were tried often enough near
        the centre are left alone, and once the region is small, neighbours that were not tried at all come first.
        """
        xp, centre = namespace(step.s), region.centre
        x = xp.clip(centre + region.reach * step.s, min=self.walls[0], max=self.walls[1])
        values = xp.where(self.spacing > 0.0, self.snap(x[:, None, :])[:, 0, :], centre)
        moved = xp.any(xp.abs(values - centre) > 0.5 * self.spacing, axis=-1)
        narrow = self.mixed & (region.delta < self.least)
        held = narrow & (self._count_tries(archive, region, values) >= MOST_TRIES)
        values, leaves = xp.where(held[:, None], centre, values), narrow & moved & ~held
        probing = narrow & (region.delta < PROBING_RADIUS * self.least) & (region.next_source == PointSource.STEP)
        if not maybe_any(probing):
            return values, leaves
        near = self.neighbours(centre)
        tries = [self._count_tries(archive, region, near[:, k, :]) for k in range(near.shape[1])]
        found, some = select_least(sub, region, step.weights, near, xp.stack(tries, axis=1) > 0.0)
        probing = probing & some
        return xp.where(probing[:, None], found, values), leaves | probing

    def _integer_distance(self, x: Array, region: Region) -> Array:
        """How far integers of x [B, D] are from those of the centre, in the cube, at most WIDE: [B, 1]."""
        xp = namespace(x)
        moved = largest(xp.where(self.spacing > 0.0, xp.abs(x - region.centre), 0.0))
        return xp.where(moved < WIDE, moved, WIDE)

    def _count_tries(self, archive: PointArchive, region: Region, x: Array) -> Array:
        """Points since the restart with the integers of x [B, D] and other variables as near as a step goes: [B].

        Failed ones count too.
        """
        xp, integer = namespace(x), self.spacing > 0.0
        reach = xp.maximum(2.0 * region.reach, 1.01 * self._integer_distance(x, region))
        wanted, least = xp.where(integer, x, region.centre), xp.where(integer, 0.5 * self.spacing, reach)
        close = xp.all(xp.abs(archive.x - wanted[:, None, :]) <= least[:, None, :], axis=-1)
        return total(xp.astype(close & (archive.restart_index == region.restart_index[:, None]), x.dtype))

    def farthest(self, local: LocalFit, region: Region) -> Array:
        """Distance [B] of the farthest fitted point, in widths of the region.

        Where variables are of both kinds, one value along each integer does not count: no geometry point could come
        closer.
        """
        xp, width = namespace(local.spread), region.width_in_force
        apart = xp.abs(local.fit.u) * local.spread[:, None, None] - (self.spacing / width)[:, None, :]
        square = total(xp.where(apart > 0.0, apart * apart, 0.0))
        return xp.where(self.mixed, xp.sqrt(largest(square)[:, 0]), local.farthest)

    @staticmethod
    def mark_probes(source: Array, leaves: Array) -> Array:
        """Sources [B, k], the first a geometry point where a step leaves the region [B]: it does not judge it."""
        xp = namespace(source)
        first = xp.where(leaves & (source[:, 0] == PointSource.STEP), PointSource.GEOMETRY, source[:, 0])
        return xp.concat([first[:, None], source[:, 1:]], axis=1)

    def neighbours(self, centre: Array) -> Array:
        """The centre [B, D] moved by one value along each variable, both ways: [B, 2 D, D]; continuous ones stay.

        At a wall, too, a neighbour is the centre itself.
        """
        xp = namespace(centre)
        moves = self.spacing[:, None, :] * xp.eye(centre.shape[-1], dtype=centre.dtype, device=centre.device)
        moves = xp.concat([moves, -moves], axis=1)
        return self.snap(xp.clip(centre[:, None, :] + moves, min=self.walls[0], max=self.walls[1]))


def select_least(sub: Subproblem, region: Region, weights: Weights, near: Array, known: Array) -> tuple[Array, Array]:
    """Of points near [B, n, D], that of least foreseen merit that is not known [B, n]: [B, D]; if there is any: [B].

    Where there is none the point means nothing.
    """
    xp = namespace(near)
    steps = (near - region.centre[:, None, :]) / region.reach[:, None, :]
    y = sub.value[:, None, :] + sub.models.changes(steps)
    key = MERIT.values(as_evaluation(y, sub.n_ineq, known), weights)
    chosen = best(key.last_where(known))[:, None]
    return rows(near, chosen)[:, 0, :], ~xp.all(known, axis=-1)


def snap_to(lattice: Lattice | None, x: Array) -> Array:
    """Points x [B, n, D] on the lattice; the same where that is None."""
    return x if lattice is None else lattice.snap(x)
