"""The first proposer: the step of the models, points that they know least about, restarts, and further steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, maybe_any, namespace, rows, zeros_like
from meco.core.engine import Task
from meco.core.rule import best
from meco.tr.archive import SAME_POINT_RADII, PointArchive, are_repeated, is_repeated, is_stale
from meco.tr.categories import make_category_moves
from meco.tr.cheap import make_cheap_step
from meco.tr.controls import ControlValues
from meco.tr.failure_avoidance import safe_restart, shorten_risky_steps
from meco.tr.failures import FailureModel
from meco.tr.lattice import Lattice, select_least, snap_to
from meco.tr.merit import MERIT, Weights
from meco.tr.model_fit import LocalFit, model_size
from meco.tr.quadratic import Fit, variance
from meco.tr.region import PointSource, Region
from meco.tr.step import Step, Subproblem, relaxed_step
from meco.tr.tr_state import TrState

GEOMETRY_TRIES = 40  # random points of which the ones the models know least about are geometry points
MERIT_ROUNDING = 1e-15  # share of what a merit is made of, below which its decrease is rounding
MOST_NEAR = 32  # further points of a batch in the region, at least; those beyond go anywhere
WIDE_VARIABLES = 2.0  # that such a point moves, on average
BATCH_VARIANTS = ((0.4, 0.0), (1.0, 0.9), (2.5, 0.3), (0.15, 0.0))  # further steps: share of the radius, theta


class Iteration(NamedTuple):
    """What is known when the points of an iteration are proposed."""

    local: LocalFit
    sub: Subproblem
    step: Step
    merit: Array  # [B] at the centre
    foreseen: Array  # [B] decrease of it that the models foresee of the step
    batch: int  # points to propose
    controls: ControlValues
    failures: FailureModel | None = None  # None: nothing has failed


class ModelPoints:
    """Proposes points for the runs of a task."""

    def __init__(self, task: Task, lattice: Lattice | None) -> None:
        self.task, self.lattice = task, lattice
        self.cheap = make_cheap_step(task, lattice)  # None without cheap constraints
        self.categories = make_category_moves(task, lattice)  # None without categories

    def propose(self, state: TrState, given: Iteration) -> tuple[Array, Array]:
        """The points of an iteration [B, k, D] and their sources [B, k], the step or what replaces it first.

        k is given.batch. Changes state.region: its next source, a radius that shrinks where a step was evaluated
        before, a run that starts again. It draws one block of numbers, whatever it needs of them: the order of draws is
        part of a seed's search.
        """
        local, sub, step, foreseen, batch = given.local, given.sub, given.step, given.foreseen, given.batch
        xp, u = namespace(step.s), self.task.rng.uniform(max(GEOMETRY_TRIES, batch) + 1, self.task.dim)
        x, stuck = self._point_of_step(state, step.s), local.blind
        if self.lattice is not None:
            x, stuck = self._move_by_one(state, x, sub, step.weights, stuck)
        size = xp.abs(sub.value[:, 0]) + xp.abs(given.merit - sub.value[:, 0]) + sub.span[:, 0]
        continuous = self._is_continuous(foreseen)  # others have moves of their own from evaluated points
        stale = ~(foreseen > xp.where(continuous, MERIT_ROUNDING * size, 0.0))  # nothing, or what rounding makes of it
        stale = is_stale(state.archive, x, state.region.reach, stale, continuous)
        stale = stale & (state.region.next_source == PointSource.STEP)
        first = state.region.next_source
        if maybe_any(stale | stuck):
            first = xp.where(stuck, PointSource.RESTART, xp.where(stale, PointSource.GEOMETRY, first))
            shorter = xp.where(stale, given.controls.radius_shrinkage * state.region.delta, state.region.delta)
            state.region = state.region._replace(next_source=first, delta=shorter)
        geometry, restart, extra = first == PointSource.GEOMETRY, first == PointSource.RESTART, batch - 1
        points, source = [x], [first]
        if maybe_any(geometry) or extra:
            tries = find_least_known(
                local, sub, state.region, u[:, 1:, :], 1 + extra, geometry | (extra > 0), given.failures
            )
            points[0] = xp.where(geometry[:, None], self._point_of_step(state, tries[:, 0, :]), x)
            made = [step.s]
            if self._may_go_wide(given) and extra > (near := most_near(self.task.dim)):
                wide = wide_steps(state.region, u[:, 1 + near : 1 + extra, :])
                tries = xp.concat([tries[:, : 1 + near, :], wide], axis=1)
            for k in range(extra):
                steps = k % 2 == 0
                s = tries[:, 1 + k, :]
                if steps and k // 2 < len(BATCH_VARIANTS):  # after all variants they would be the same again
                    other = further_step(sub, state.region, k // 2)
                    s = xp.where(_is_among(other, made), s, other)  # a step inside every box is the same in all
                made.append(s)
                points.append(self._point_of_step(state, s))
                source.append(xp.zeros_like(first) + (PointSource.STEP if steps else PointSource.GEOMETRY))
        if maybe_any(restart):
            points[0] = xp.where(
                restart[:, None], self._begin_restart(state, restart, u[:, 0, :], given.controls), points[0]
            )
        if not extra:
            return points[0][:, None, :], first[:, None]
        return xp.stack(points, axis=1), xp.stack(source, axis=1)

    def _is_continuous(self, like: Array) -> Array:
        """Which runs have neither integers nor categories: [B], in the library of like [B]."""
        every = zeros_like(like) == 0.0
        if self.categories is not None:
            return ~every
        return every if self.lattice is None else every & ~self.lattice.some

    def _may_go_wide(self, given: Iteration) -> bool:
        """Whether points may lie anywhere: in a box, without categories, and while nothing has failed."""
        return self.task.range is None and self.categories is None and given.failures is None

    def _point_of_step(self, state: TrState, s: Array) -> Array:
        """The point [B, D] of a step s [B, D] in radii, within the walls and on the lattice."""
        x, (low, high) = state.region.centre + state.region.reach * s, self.task.walls
        return snap_to(self.lattice, namespace(x).clip(x, min=low, max=high)[:, None, :])[:, 0, :]

    def _move_by_one(
        self, state: TrState, x: Array, sub: Subproblem, weights: Weights, stuck: Array
    ) -> tuple[Array, Array]:
        """Steps x [B, D] to evaluated points become the best new neighbour; runs without one are stuck [B], too."""
        assert self.lattice is not None
        xp, region = namespace(x), state.region
        repeated = is_repeated(state.archive, x) & (region.next_source == PointSource.STEP) & self.lattice.some
        if not maybe_any(repeated):
            return x, stuck
        near = self.lattice.neighbours(region.centre)
        found, some = find_best_new(state.archive, sub, region, weights, near)
        return xp.where((repeated & some)[:, None], found, x), stuck | (repeated & ~some)

    def _begin_restart(self, state: TrState, restart: Array, u: Array, controls: ControlValues) -> Array:
        """Points [B, D] to start again from, by numbers u [B, D] in (0, 1), in the runs where restart [B] holds.

        There models, radius, errors and multipliers of state.region begin anew, and the restart is counted. Where
        something failed, the point is one that is hardly likelier to fail than the safest.
        """
        region, xp = state.region, namespace(u)
        spacing = 0.0 if self.lattice is None else self.lattice.spacing
        if state.archive.some_failed:
            low, high = (
                restart_point(state.archive, region, end, controls.restart_distance, spacing, self.task.walls)
                for end in (0.0 * u, 0.0 * u + 1.0)
            )
            u = safe_restart(state.archive, state.first_width, u, low, high, restart)
        x = restart_point(state.archive, region, u, controls.restart_distance, spacing, self.task.walls)
        state.region = region._replace(
            restart_index=region.restart_index + xp.astype(restart, region.restart_index.dtype),
            delta=xp.where(restart, controls.initial_radius, region.delta),
            error=xp.where(restart[:, None], xp.inf, region.error),
            models=region.models.cleared(restart),
            multipliers=xp.where(restart[:, None], 0.0, region.multipliers),
        )
        return snap_to(self.lattice, x[:, None, :])[:, 0, :]


def most_near(dim: int) -> int:
    """How many further points of a batch lie in the region: as many as models are fitted to, or MOST_NEAR."""
    return max(MOST_NEAR, model_size(dim))


def wide_steps(region: Region, u: Array) -> Array:
    """Steps [B, n, D] in radii that put some variables anywhere and leave the others; u [B, n, D] in (0, 1).

    Some WIDE_VARIABLES move, at least the one of least u: whatever the radius, other minima are found like that.
    """
    xp, share = namespace(u), min(1.0, WIDE_VARIABLES / u.shape[-1])
    moves = (u < share) | (u <= xp.min(u, axis=-1, keepdims=True))
    x = xp.where(u < share, u / share, u)  # of those that move, in (0, 1) again
    return xp.where(moves, (x - region.centre[:, None, :]) / region.reach[:, None, :], 0.0)


def find_least_known(
    local: LocalFit,
    sub: Subproblem,
    region: Region,
    u: Array,
    count: int,
    needed: Array,
    failures: FailureModel | None = None,
) -> Array:
    """Of random steps u [B, n, D] in (0, 1), stretched over the box, those of largest variance: [B, count, D] in radii.

    Only some runs need them [B]: NumPy makes no others, and gives those zeros. Steps that are likely to fail are
    shortened, where failures are modelled.
    """
    xp, fit = namespace(u), local.fit
    tries = xp.minimum(xp.maximum(2.0 * u - 1.0, sub.low[:, None, :]), sub.high[:, None, :])
    unit = (region.delta / local.spread)[:, None, None]
    if failures is not None:
        tries = shorten_risky_steps(tries, failures, region)
    if not needed.all():
        found = np.zeros((u.shape[0], count, u.shape[2]))
        found[needed] = _select_least_known(fit.of(needed), tries[needed], unit[needed], count)
        return found
    return _select_least_known(fit, tries, unit, count)


def _select_least_known(fit: Fit, tries: Array, unit: Array, count: int) -> Array:
    """The `count` of steps tries [B, n, D] of largest variance, unit [B, 1, 1] times the fit's units: [B, count, D]."""
    order = namespace(tries).argsort(-variance(fit, tries * unit), axis=-1, stable=True)
    return rows(tries, order[:, :count])


def _is_among(s: Array, made: list[Array]) -> Array:
    """Whether a step s [B, D] is within SAME_POINT_RADII of one that was made, [B, D] each: [B, 1]."""
    xp = namespace(s)
    apart = [xp.max(xp.abs(s - other), axis=-1, keepdims=True) for other in made]
    return xp.min(xp.concat(apart, axis=-1), axis=-1, keepdims=True) < SAME_POINT_RADII


def restart_point(
    archive: PointArchive,
    region: Region,
    u: Array,
    distance: Array,
    spacing: Array | float = 0.0,
    walls: tuple[Any, Any] = (0.0, 1.0),
) -> Array:
    """A point [B, D] within a distance [B] of the one of least merit, by numbers u [B, D] in (0, 1).

    Anywhere in the cube if all have failed. Integer variables may move by one value, spacing [B, D], however far apart
    two values are; walls are numbers or [D].
    """
    xp = namespace(u)
    chosen = best(MERIT.values(archive.evaluation(), region.weights).last_where(archive.failed))[:, None]
    far = xp.maximum(xp.zeros_like(u) + distance[:, None], xp.zeros_like(u) + spacing)
    middle = rows(archive.x, chosen)[:, 0, :]
    low, high = xp.clip(middle - far, min=walls[0]), xp.clip(middle + far, max=walls[1])
    return xp.where(xp.all(archive.failed, axis=-1)[:, None], u, low + u * (high - low))


def further_step(sub: Subproblem, region: Region, number: int) -> Array:
    """Another step [B, D] of the same models, in another box or under another theta, by BATCH_VARIANTS[number]."""
    share, theta = BATCH_VARIANTS[number % len(BATCH_VARIANTS)]
    xp = namespace(region.delta)
    low = xp.maximum(sub.low, xp.zeros_like(sub.low) - share)
    high = xp.minimum(sub.high, xp.zeros_like(sub.high) + share)
    relaxation = xp.zeros_like(region.delta) + theta
    return relaxed_step(sub._replace(low=low, high=high), relaxation, region.multipliers, region.weights).s


def find_best_new(
    archive: PointArchive, sub: Subproblem, region: Region, weights: Weights, near: Array
) -> tuple[Array, Array]:
    """Of points near [B, n, D], the new one of least foreseen merit: [B, D]; and whether any is new: [B]."""
    return select_least(sub, region, weights, near, are_repeated(archive, near))
