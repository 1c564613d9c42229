"""Constraints that cost nothing, in the model engine: exact in the program of a step, and never left by a point.

Their values and slopes are asked for, not modelled. At the centre they stand among the models with their own gradient
and curvature and need no margin; the step is then taken again with what they are where it ended, until both agree.
Whatever the proposers make is moved into the set before it is evaluated. For the one run of a task, in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.cheap_set import CheapSet
from meco.core.engine import Task
from meco.tr.archive import SAME_POINT, SAME_POINT_RADII, PointArchive, as_evaluation
from meco.tr.categories import CategoryMoves
from meco.tr.initial_design import star, star_size
from meco.tr.lattice import Lattice
from meco.tr.merit import MERIT, Weights
from meco.tr.point_models import Models
from meco.tr.quadratic import Quadratic
from meco.tr.region import Region
from meco.tr.step import Step, Subproblem, relaxed_step

MOST_CURVED = 16  # variables with which second derivatives are taken; beyond, models know the curvature
PASSES = 3  # linearisations at the end of a step, at most
SAME_STEP = 1e-3  # radii by which a further pass moves a step that is good enough
APART = 1e-3  # of the cube, within which two first points are as good as one
SPREAD_TRIES = 8  # further points that may take the place of such a one
MOST_PAIRS = 60  # of integers that are moved together
WIDER = (1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0)  # radii around the centre in which another is drawn
ENOUGH_APART = 0.05  # of such a radius, from every point evaluated
LEAST_REACH = 1e-4  # of the cube, that these radii have


class CheapStep:
    """Cheap constraints for the points of an iteration. It calls them, and remembers slopes at the last centre."""

    def __init__(self, task: Task, lattice: Lattice | None) -> None:
        """For a task with cheap constraints and its lattice, if it has one; nothing is called yet."""
        assert task.cheap is not None
        self.task, self.lattice, self.limits = task, lattice, task.cheap
        self.inside: CheapSet = task.cheap.inside
        self._known: tuple[bytes, Any] = (b"", None)  # the last centre, and slopes and curvature there

    def first_points(self, radii: np.ndarray, categories: CategoryMoves | None = None) -> np.ndarray:
        """Given points, or one well inside, and a star of radii [D] around the first, all inside: [n, D].

        With categories their first points take the place of the star. Points that coincide are drawn anew, see
        keep_apart().
        """
        task = self.task
        given = self.inside.centre()[None] if task.x0 is None else np.asarray(task.x0)
        arms = star_size(task.dim, task.budget - len(given)) if len(given) <= 2 * task.dim else 0
        ends = star(given[0], arms, radii, task.walls)
        if categories is not None:
            ends = categories.first_points_around(given, radii)[len(given) :]
        ends = self.inside.repair(self.inside.snap(ends))
        return self.keep_apart(given, ends, radii)

    def keep_apart(self, given: np.ndarray, ends: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Given points [n, D], then ends [m, D], drawn anew within APART of an earlier point: [n + m, D].

        Near the first given point, within radii [D], by a generator of its own with a fixed seed; after SPREAD_TRIES
        tries a point stays where it is.
        """
        draw, points = np.random.default_rng(0), list(given)
        for x in ends:
            for _ in range(SPREAD_TRIES):
                if all(np.max(np.abs(x - y)) > APART for y in points):
                    break
                near = np.clip(given[0] + radii * draw.uniform(-1.0, 1.0, x.size), *self.task.walls)
                x = self.inside.repair(self.inside.snap(near[None]))[0]
            points.append(x)
        return np.array(points)

    def _find_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Which of the cheap constraints answers hold [c], and their columns [c] among the functions, f first.

        Both are empty before the first answer.
        """
        places = self.limits.places()
        held = np.flatnonzero(places >= 0)
        return held, 1 + places[held]

    def _find_slopes(self, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Slopes [n, D] and curvature [n, D, D] of n cheap constraints at a centre [D], in the cube; keeps them.

        The curvature is None beyond MOST_CURVED variables.
        """
        if self._known[0] != centre.tobytes():
            slopes = self.inside.linearise(centre)[1]
            curved = self.inside.curvature(centre) if centre.size <= MOST_CURVED else None
            self._known = centre.tobytes(), (slopes, curved)
        return self._known[1]

    def use_exact_models(self, region: Region) -> Region:
        """The region with gradient, and curvature if it is known, of cheap constraints in the place of their models."""
        slopes, curved = self._find_slopes(region.centre[0])
        gradient, hessian = region.models.gradient.copy(), region.models.hessian.copy()
        held, columns = self._find_columns()
        gradient[0, columns] = slopes[held]
        if curved is not None:
            hessian[0, columns] = curved[held]
        return region._replace(models=Quadratic(gradient, hessian))

    def without_margins(self, sub: Subproblem) -> Subproblem:
        """The subproblem with margins of 0 for cheap constraints, so that a step goes as far as they do."""
        margin = sub.margin.copy()
        margin[0, self._find_columns()[1] - 1] = 0.0
        return sub._replace(margin=margin)

    def refine(self, sub: Subproblem, step: Step, region: Region, theta: Any) -> Step:
        """The step solved again with cheap constraints linearised where it ended, until both agree.

        At most PASSES times, with theta [1] of the violation allowed to stay. Integers stay where they were rounded to.
        As it was where a cheap constraint is not finite there. step.value has the cheap constraints' own values.
        """
        centre, reach = region.centre[0], region.reach[0]
        low, high = sub.low, sub.high
        if self.lattice is not None:
            integer = np.broadcast_to(self.lattice.spacing > 0.0, low.shape)
            low, high = np.where(integer, step.s, low), np.where(integer, step.s, high)
        for _ in range(PASSES):
            x = np.clip(centre + reach * step.s[0], *self.task.walls)
            c, slopes = self.inside.linearise(x)
            if not np.isfinite(c).all() or self._agrees(sub, (x - centre) / reach, c, slopes * reach):
                break
            models, value = self._meet_at_step(sub, (x - centre) / reach, c, slopes * reach)
            again = relaxed_step(
                sub._replace(models=models, value=value, low=low, high=high), theta, step.multipliers, step.weights
            )
            moved = float(np.max(np.abs(again.s - step.s)))
            step = again._replace(by=step.by)
            if moved < SAME_STEP:
                break
        there, (held, columns) = sub.values(step.s), self._find_columns()
        x = np.clip(centre + reach * step.s[0], *self.task.walls)
        there[0, columns] = self.inside.values(x[None])[0][held]
        return step._replace(value=there)

    def _agrees(self, sub: Subproblem, s: np.ndarray, c: np.ndarray, slopes: np.ndarray) -> bool:
        """Whether the models give cheap constraints their values c [n] at a step s [D], within SAME_STEP radii.

        slopes [n, D] are their own, in radii.
        """
        held, columns = self._find_columns()
        said = sub.values(s[None])[0, columns]
        size = np.sqrt(np.sum(slopes[held] ** 2, axis=1)) + 1e-300
        return bool(np.all(np.abs(said - c[held]) <= SAME_STEP * size))

    def _meet_at_step(
        self, sub: Subproblem, s: np.ndarray, c: np.ndarray, slopes: np.ndarray
    ) -> tuple[Models, np.ndarray]:
        """Models and values [1, 1 + C] at the centre that give cheap constraints values c and slopes at a step s [D].

        c [n] and slopes [n, D], of all n cheap constraints, are in radii; the curvature stays.
        """
        gradient, value = sub.models.gradient.copy(), sub.value.copy()
        for i, column in zip(*self._find_columns()):
            bent = sub.models.hessian[0, column] @ s
            gradient[0, column] = slopes[i] - bent
            value[0, column] = c[i] - slopes[i] @ s + 0.5 * bent @ s
        return sub.models._replace(gradient=gradient), value

    def pull_back(self, x: np.ndarray) -> np.ndarray:
        """Points [1, k, D], those outside moved in as far as that can be done."""
        return self.inside.repair(x[0])[None]

    def keep_inside(
        self, x: np.ndarray, archive: PointArchive, sub: Subproblem, region: Region, weights: Weights
    ) -> Any:
        """Points x [1, k, D] of an iteration moved inside cheap constraints, each another than those evaluated before.

        Where the set is thin, many points come back to the same: such a one gives way to a neighbour on the lattice
        that the models expect most of, or to the farthest of a few around the centre, for which numbers are drawn.
        """
        known, made = archive.x[0], list[np.ndarray]()
        same = min(SAME_POINT, SAME_POINT_RADII * float(region.delta[0]))
        for point in self.pull_back(x)[0]:
            if _is_among(point, known, same) or _is_among(point, np.array(made).reshape(-1, point.size), same):
                point = self._find_other(point, np.concatenate([known, *(p[None] for p in made)]), sub, region, weights)
            made.append(point)
        return np.array(made)[None]

    def _find_other(
        self, point: np.ndarray, known: np.ndarray, sub: Subproblem, region: Region, weights: Weights
    ) -> np.ndarray:
        """Another point [D] than the known ones [n, D] and the given one; the given one where there is none.

        Of new neighbours on the lattice the one of least foreseen merit. Else of random points around the centre, wider
        and wider, the first that is ENOUGH_APART, or the farthest: one block of numbers is drawn.
        """
        centre, reach = region.centre[0], region.reach[0]
        if self.lattice is not None:
            near = self.inside.repair(self._neighbours(centre))
            near = near[[not _is_among(each, known, SAME_POINT) for each in near]]
            if len(near):
                steps = ((near - centre) / reach)[None]
                y = sub.value[:, None, :] + sub.models.changes(steps)
                key = MERIT.values(as_evaluation(y, sub.n_ineq, np.zeros((1, len(near)), dtype=bool)), weights)
                return near[np.argmin(key.minor[0])]
        u = self.task.rng.uniform(len(WIDER), self.task.dim)[0]
        unit, farthest = np.maximum(reach, LEAST_REACH), 0.0
        for wide, direction in zip(WIDER, 2.0 * u - 1.0):
            tried = np.clip(centre + wide * unit * direction, *self.task.walls)[None]
            tried = self.inside.repair(self.inside.snap(tried))[0]
            apart = float(np.min(np.max(np.abs(known - tried) / unit, axis=1)))
            if apart > farthest:
                point, farthest = tried, apart
            if apart > ENOUGH_APART:
                break
        return point

    def _neighbours(self, centre: np.ndarray) -> np.ndarray:
        """The centre [D] with one integer moved by one, or two, up to MOST_PAIRS of them: [n, D], each once.

        [0, D] where the only integers are categories.
        """
        assert self.lattice is not None
        spacing = np.broadcast_to(self.lattice.spacing, (1, centre.size))[0]
        moves = [sign * spacing[i] * np.eye(centre.size)[i] for i in np.flatnonzero(spacing) for sign in (1.0, -1.0)]
        pairs = [a + b for k, a in enumerate(moves) for b in moves[k + 1 :]][:MOST_PAIRS]
        near = np.clip(centre + np.array([*moves, *pairs]).reshape(-1, centre.size), *self.task.walls)
        return np.unique(self.inside.snap(near), axis=0)

    def exact_values(self, x: np.ndarray, value: np.ndarray) -> np.ndarray:
        """value [1, 1 + C] as models expect it at a point x [D], with cheap constraints' own values where finite."""
        held, columns = self._find_columns()
        found = value.copy()
        found[0, columns] = self.inside.values(x[None])[0][held]
        return np.where(np.isfinite(found), found, value)


def _is_among(point: np.ndarray, known: np.ndarray, same: float) -> bool:
    """Whether a point [D] is within `same` of one of known [n, D] along every variable; False where there are none."""
    return bool(len(known)) and bool(np.min(np.max(np.abs(known - point), axis=1)) < same)


def make_cheap_step(task: Task, lattice: Lattice | None) -> CheapStep | None:
    """Cheap constraints for the points of a task's iterations; None where it has none."""
    return None if task.cheap is None else CheapStep(task, lattice)
