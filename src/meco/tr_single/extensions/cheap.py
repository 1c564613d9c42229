"""Constraints that cost nothing to evaluate: exact in the subproblem, and satisfied by every evaluated point.

At the centre their slopes and curvature, by differences, take the place of their models, and they need no margin. The
subproblem is solved again with their values and slopes at its solution until both agree. Every proposed point is moved
into their feasible set before it is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meco.tr_single.design import first_points
from meco.tr_single.extension import Extension
from meco.tr_single.local_fit import LocalFit
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.search import TrustRegion
from meco.tr_single.subproblem import Step, Subproblem
from meco.tr_single.task import Task

MOST_CURVED = 16  # variables up to which second derivatives are taken; beyond, the fitted curvature stays
PASSES = 3  # most linearisations at the solution
SAME_STEP = 1e-3  # difference in radii below which two solutions agree
SAME_POINT, SAME_POINT_RADII = 1e-6, 0.05  # distances within which a point is known, in the box and in radii
APART = 1e-3  # distance in the box within which two points of the design are the same
SPREAD_TRIES = 8  # random points that may take the place of such a one
MOST_PAIRS = 60  # of integers that are moved together
WIDER = (1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0)  # radii around the centre to look for a new point in
ENOUGH_APART = 0.05  # of such a radius, from every known point
LEAST_REACH = 1e-4  # of such a radius, in the box


class Cheap(Extension):
    """Calls the constraints as often as it needs. Slopes at the last centre are cached."""

    def __init__(self, task: Task) -> None:
        assert task.cheap is not None
        self.places, self.inside = task.cheap.places, task.cheap.inside
        self._at_centre: tuple[bytes, np.ndarray, np.ndarray | None] | None = None

    def design(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """The given points, or the middle of the feasible set, and a star around the first of them, all feasible."""
        given = self.inside.centre()[None] if search.task.x0 is None else search.task.x0
        x = first_points(given, search.radii, search.budget, search.low, search.high)
        return self._keep_apart(search, given, self.inside.repair(self.inside.snap(x[len(given) :])))

    def _keep_apart(self, search: TrustRegion, given: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Given points [n, D] and ends of a star [m, D], replaced by random ones where two coincide: [n + m, D].

        The generator has a seed of its own. After SPREAD_TRIES tries a point stays.
        """
        draw, points = np.random.default_rng(0), list(given)
        for x in ends:
            for _ in range(SPREAD_TRIES):
                if not _is_among(x, np.array(points), APART, strictly=False):
                    break
                near = np.clip(given[0] + search.radii * draw.uniform(-1.0, 1.0, x.size), search.low, search.high)
                x = self.inside.repair(self.inside.snap(near[None]))[0]
            points.append(x)
        return np.array(points)

    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Which cheap constraints answers contain, and their columns among all functions; empty before any answer."""
        places = self.places()
        held = np.flatnonzero(places >= 0)
        return held, 1 + places[held]

    def fit(self, search: TrustRegion, fit: Callable[[], LocalFit]) -> LocalFit:
        """Replace the models of cheap constraints by their own slopes and, in few variables, curvature."""
        local = fit()
        slopes, curvature = self._derivatives(local.centre)
        gradient, hessian = local.models.gradient.copy(), local.models.hessian.copy()
        held, columns = self._columns()
        gradient[columns] = slopes[held]
        if curvature is not None:
            hessian[columns] = curvature[held]
        return local._replace(models=Quadratic(gradient, hessian))

    def _derivatives(self, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Slopes [n, D] and curvature [n, D, D] of all n cheap constraints at a centre [D]."""
        key = centre.tobytes()
        if self._at_centre is None or self._at_centre[0] != key:
            curvature = self.inside.curvature(centre) if centre.size <= MOST_CURVED else None
            self._at_centre = key, self.inside.linearise(centre)[1], curvature
        return self._at_centre[1:]

    def shape(self, search: TrustRegion, sub: Subproblem) -> Subproblem:
        """Remove the margins of cheap constraints."""
        margin = sub.margin.copy()
        margin[self._columns()[1] - 1] = 0.0
        return sub._replace(margin=margin)

    def adjust(self, search: TrustRegion, sub: Subproblem, step: Step) -> Step:
        """Solve again with cheap constraints linearised at the solution, until both agree. Integers keep their values.

        Stops where a cheap constraint is not finite. step.value gets their exact values.
        """
        centre, reach = search.region.centre, search.region.reach
        integer = self.inside.spacing > 0.0
        low, high = np.where(integer, step.s, sub.bottom), np.where(integer, step.s, sub.top)
        held, columns = self._columns()
        for _ in range(PASSES):
            s = (search.point(step.s) - centre) / reach
            c, slopes = self.inside.linearise(search.point(step.s))
            slopes = slopes * reach
            if not np.isfinite(c).all() or self._agree(sub, s, c[held], slopes[held], columns):
                break
            models, value = _meet_at_step(sub, s, c[held], slopes[held], columns)
            again = search.solve(sub._replace(models=models, value=value, bottom=low, top=high), step.multipliers)
            moved = float(np.abs(again.s - step.s).max())
            step = again
            if moved < SAME_STEP:
                break
        return step._replace(value=self._exact(search.point(step.s), sub.values(step.s)))

    @staticmethod
    def _agree(sub: Subproblem, s: np.ndarray, c: np.ndarray, slopes: np.ndarray, columns: np.ndarray) -> bool:
        """Whether the models predict values c [n] at a step s [D], within SAME_STEP radii."""
        size = np.sqrt((slopes**2).sum(axis=1)) + 1e-300
        return bool((np.abs(sub.values(s)[columns] - c) <= SAME_STEP * size).all())

    def _exact(self, x: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Predicted values [F] at a point x [D] with the exact ones of cheap constraints, where finite."""
        held, columns = self._columns()
        exact = value.copy()
        exact[columns] = self.inside.values(x[None])[0][held]
        return np.where(np.isfinite(exact), exact, value)

    def place(self, search: TrustRegion, sub: Subproblem, step: Step, x: np.ndarray) -> tuple[Step, np.ndarray]:
        """Move points [k, D] into the feasible set, and away from known points. May draw random numbers."""
        known, made = search.archive.x, list[np.ndarray]()
        same = min(SAME_POINT, SAME_POINT_RADII * search.made_in.radius)
        for point in self.inside.repair(x):
            others = np.concatenate([known, *(each[None] for each in made)])
            made.append(self._find_other(search, sub, point, others) if _is_among(point, others, same) else point)
        value = sub.values((made[0] - search.local.centre) / search.made_in.reach)
        return step._replace(value=self._exact(made[0], value)), np.array(made)

    def restart(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """Move the points [k, D] of a restart into the feasible set."""
        return self.inside.repair(x)

    def _find_other(self, search: TrustRegion, sub: Subproblem, point: np.ndarray, known: np.ndarray) -> np.ndarray:
        """A feasible point [D] that is not among known ones [n, D]; the given one if none is found.

        With integers the neighbour of least predicted merit. Else the first of random points around the centre, wider
        and wider, that is ENOUGH_APART from all others, or the farthest.
        """
        centre, reach = search.local.centre, search.made_in.reach
        if self.inside.spacing.any():
            near = self.inside.repair(self._neighbours(search))
            near = near[[not _is_among(each, known, SAME_POINT) for each in near]]
            if len(near):
                predicted = sub.value + sub.models.changes((near - centre) / reach)
                return near[np.argmin(search.merit.of(predicted))]
        u = search.rng.random((len(WIDER), search.dim))
        unit, farthest = np.maximum(reach, LEAST_REACH), 0.0
        for wide, direction in zip(WIDER, 2.0 * u - 1.0):
            tried = np.clip(centre + wide * unit * direction, search.low, search.high)
            tried = self.inside.repair(self.inside.snap(tried[None]))[0]
            apart = float((np.abs(known - tried) / unit).max(axis=1).min())
            if apart > farthest:
                point, farthest = tried, apart
            if apart > ENOUGH_APART:
                break
        return point

    def _neighbours(self, search: TrustRegion) -> np.ndarray:
        """The centre with one integer moved by one, or two integers, up to MOST_PAIRS such pairs: [n, D]."""
        moves = np.diag(self.inside.spacing)[self.inside.spacing > 0.0]
        moves = np.stack([moves, -moves], axis=1).reshape(-1, search.dim)
        pairs = [a + b for k, a in enumerate(moves) for b in moves[k + 1 :]][:MOST_PAIRS]
        near = np.clip(search.local.centre + np.array([*moves, *pairs]), search.low, search.high)
        return np.unique(self.inside.snap(near), axis=0)


def _meet_at_step(
    sub: Subproblem, s: np.ndarray, c: np.ndarray, slopes: np.ndarray, columns: np.ndarray
) -> tuple[Quadratic, np.ndarray]:
    """Models and values [F] at the centre such that these columns have values c [n] and slopes [n, D] at a step s [D].

    Their curvature stays.
    """
    gradient, value = sub.models.gradient.copy(), sub.value.copy()
    bent = sub.models.hessian[columns] @ s
    gradient[columns] = slopes - bent
    value[columns] = c - slopes @ s + 0.5 * bent @ s
    return sub.models._replace(gradient=gradient), value


def _is_among(point: np.ndarray, known: np.ndarray, same: float, *, strictly: bool = True) -> bool:
    """Whether a point [D] is nearer than `same` to one of known [n, D] along every variable."""
    distance = np.abs(known - point).max(axis=1).min()
    return bool(distance < same if strictly else distance <= same)
