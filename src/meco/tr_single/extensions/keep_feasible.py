"""Constraints that must never be violated at an evaluated point.

Points are projected onto the linear rows, which are known. Of other constraints only models can tell: a point is drawn
back towards an evaluated feasible one, the anchor, until the models predict that the constraints hold there, with a
share of the predicted change to spare, and never farther from it than the models reach.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from meco.core.polytope import Polytope
from meco.tr_single.design import first_points
from meco.tr_single.extension import Extension
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.search import TrustRegion
from meco.tr_single.subproblem import Step, Subproblem
from meco.tr_single.task import Task

FIRST_RADIUS = 0.02  # of a search that only models can keep feasible
LARGEST_REACH = 2.0  # from the anchor, in radii of the region or distances of the interpolation points
SPARE = 0.2  # share of the predicted change by which a constraint may come closer to its limit
SHARES = np.concatenate([np.linspace(1.0, 0.05, 20), np.geomspace(0.03, 1e-4, 12)])  # of the way from the anchor
RANDOM_TRIES = 32  # random points near the anchor, if no point on the way is predicted to be feasible


class KeepFeasible(Extension):
    """Moves proposed points to where hard constraints hold. snap moves points to where integers are integers."""

    def __init__(self, task: Task, snap: Callable[[np.ndarray], np.ndarray]) -> None:
        """Find an anchor near x0 or the middle; InvalidInput if the rows have no common point."""
        assert task.limits is not None
        self.limits, self.snap, self.walls = task.limits, snap, (task.low, task.high)
        self.polytope = Polytope(*task.limits.hard_rows(), walls=self.walls)
        self.models_known = False
        self.anchor = self._find_anchor(np.full(task.dim, 0.5) if task.x0 is None else task.x0[0])

    def _find_anchor(self, x: np.ndarray) -> np.ndarray:
        """A point [D] near x [D] within the rows; x itself if it is.

        With integers, the best of RANDOM_TRIES snapped points, which may violate rows where none of them is within.
        """
        if self.polytope.excess(x) <= 0.0:
            return x
        found = self.polytope.interior_point(x)
        draw = np.random.default_rng(0)
        tries = [found, *(self.polytope.nearest(u) for u in draw.random((RANDOM_TRIES, x.size)))]
        return min((self.snap(each) for each in tries), key=self.polytope.excess)

    def design(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """The given points, or the anchor, and a star within the rows; a small one if only models know a limit."""
        task = search.task
        if self.limits.needs_models:
            search.radii = np.full(search.dim, FIRST_RADIUS)
        given = self.anchor[None] if task.x0 is None else task.x0
        x = first_points(given, search.radii, search.budget, search.low, search.high)
        return np.concatenate([self.snap(given), self.project(x[len(given) :])])

    def project(self, x: np.ndarray) -> np.ndarray:
        """Move points [n, D] into the hard rows."""
        return np.array([self._project(each, self.anchor) for each in x]).reshape(x.shape)

    def _project(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """The point nearest to x [D] within the rows, snapped; anchor [D] is within them.

        If snapping leaves the rows: the farthest snapped point within them on the way from the anchor, or the anchor.
        """
        x = self.polytope.project(x, anchor)
        if self.polytope.excess(self.snap(x)) <= 0.0:
            return self.snap(x)
        tried = (self.snap(anchor + share * (x - anchor)) for share in SHARES)
        return next((each for each in tried if self.polytope.excess(each) <= 0.0), anchor)

    def place(self, search: TrustRegion, sub: Subproblem, step: Step, x: np.ndarray) -> tuple[Step, np.ndarray]:
        """Move points [k, D] to where the rows hold and the models predict that the other hard constraints do."""
        self.models_known = True
        x = self._keep_inside(search, x)
        return step._replace(value=sub.values((x[0] - search.local.centre) / search.made_in.reach)), x

    def restart(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """The same for the points [k, D] of a restart, by the last models."""
        return self._keep_inside(search, x)

    def _keep_inside(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """Points [k, D] moved into the feasible set. Draws random numbers if models are needed."""
        archive = search.archive
        safest = self._find_safest(search)
        anchor = archive.x[safest] if self.polytope.excess(archive.x[safest]) <= 0.0 else self.anchor
        x = np.array([self._project(each, anchor) for each in x])
        hard = np.flatnonzero(self.limits.hard_constraints())
        if not self.models_known or not self.limits.needs_models or not hard.size:
            return x
        local = search.local
        u = search.rng.random((RANDOM_TRIES, search.dim))
        reach = LARGEST_REACH * min(search.made_in.radius, local.farthest) * search.made_in.widths
        now = archive.y[safest, 1 + hard]
        prediction = SafePrediction(local.centre, local.value, local.models, reach, hard, now)
        return np.array([self._find_safe(each, anchor, u, prediction) for each in x])

    def _find_safest(self, search: TrustRegion) -> int:
        """Row of the feasible point nearest to the centre, or of least violation. Failed points come last."""
        archive = search.archive
        over = np.maximum(archive.y[:, 1:][:, self.limits.hard_constraints()], 0.0).sum(axis=-1)
        far = ((archive.x - search.region.centre) ** 2).sum(axis=-1)
        return int(np.lexsort([far, over, archive.failed])[0])

    def _find_safe(self, x: np.ndarray, anchor: np.ndarray, u: np.ndarray, prediction: SafePrediction) -> np.ndarray:
        """The farthest point [D] on the way from an anchor [D] to x [D] that is predicted to be feasible.

        If there is none: the first such of random points near the anchor, by numbers u [n, D] in (0, 1), or the one
        with the least worst constraint.
        """
        way = np.clip(x - anchor, -prediction.reach, prediction.reach)
        tried = np.array([self.snap(anchor + share * way) for share in SHARES])
        worst = prediction.worst(tried, anchor)
        if not (worst <= 0.0).any():
            near = np.clip(anchor + 0.5 * prediction.reach * (2.0 * u - 1.0), *self.walls)
            tried = np.array([self._project(each, anchor) for each in near])
            worst = prediction.worst(tried, anchor)
        return tried[np.argmax(worst <= 0.0) if (worst <= 0.0).any() else np.argmin(worst)]


class SafePrediction(NamedTuple):
    """Models around a centre [D] with values [F], their reach [D], and n hard constraints with their values now [n]."""

    centre: np.ndarray
    value: np.ndarray
    models: Quadratic
    reach: np.ndarray
    hard: np.ndarray
    now: np.ndarray

    def worst(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """Pessimistic prediction of the worst hard constraint at points x [n, D]: [n]; inf at the anchor [D] itself.

        What the anchor already violates does not count.
        """
        predicted = (self.value + self.models.changes(x - self.centre))[:, 1 + self.hard]
        worst = predicted + SPARE * np.abs(predicted - self.now) - np.maximum(self.now, 0.0)
        return np.where((x != anchor).any(axis=-1), worst.max(axis=-1), np.inf)
