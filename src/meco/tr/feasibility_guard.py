"""Constraints that must never be violated during a search: where a proposed point may be evaluated.

Linear rows are known, so no point is ever evaluated outside of them. Of other constraints only models can tell: a point
is drawn back towards an evaluated one that keeps them until the models expect it to keep them too, with a share of the
foreseen change to spare, and never farther away than the models reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.core.engine import Task
from meco.core.known_limits import KnownLimits
from meco.core.polytope import Polytope
from meco.tr.archive import PointArchive
from meco.tr.lattice import Lattice
from meco.tr.model_fit import LocalFit
from meco.tr.region import Region

MAX_REACH_RADII = 2.0  # from the anchor: of the region, or of the points that the models were fitted to
SAFETY_SHARE = 0.2  # of the foreseen change by which a constraint may come worse
BACKTRACK_SHARES = np.concatenate(
    [np.linspace(1.0, 0.05, 20), np.geomspace(0.03, 1e-4, 12)]
)  # of the way from the anchor
RANDOM_TRIES = 32  # random points near the anchor, where nothing on the way is safe


class FeasibilityGuard:
    """Moves points to where hard constraints are kept, for the one run of a task; limits are those of the task."""

    def __init__(self, task: Task, limits: KnownLimits, lattice: Lattice | None) -> None:
        """Find the anchor, near x0 or the middle; InvalidInput where the rows have no common point."""
        self.task, self.limits, self.lattice = task, limits, lattice
        self.polytope = Polytope(*limits.hard_rows(), walls=task.walls)
        self.anchor = self._find_anchor(np.full(task.dim, 0.5) if task.x0 is None else np.asarray(task.x0)[0])

    def _find_anchor(self, x: np.ndarray) -> np.ndarray:
        """A point [D] near x [D] that keeps the rows, before anything is evaluated; x itself where it does.

        On a lattice the best of RANDOM_TRIES snapped points, by a fixed seed, which may break rows where none keeps
        them.
        """
        if self.polytope.excess(x) <= 0.0:
            return x
        found = self.polytope.interior_point(x)
        if self.lattice is None:
            return found
        draw = np.random.default_rng(0)
        tries = [found, *(self.polytope.nearest(u) for u in draw.random((RANDOM_TRIES, x.size)))]
        snapped = [self._snap(t) for t in tries]
        return min(snapped, key=self.polytope.excess)

    def _snap(self, x: np.ndarray) -> np.ndarray:
        """A point x [D] on the lattice, if there is one."""
        return x if self.lattice is None else self.lattice.snap(x[None, None, :])[0, 0]

    def project(self, x: np.ndarray) -> np.ndarray:
        """Points x [n, D] moved to where they keep the hard rows, before there are answers: [n, D]."""
        return np.array([self._project_to_rows(row, self.anchor) for row in x]).reshape(x.shape)

    def _project_to_rows(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """The point nearest to x [D] that keeps the rows, on the lattice where there is one; anchor [D] keeps them.

        Where snapping leaves the rows, the farthest snapped point on the way from the anchor that does not, else the
        anchor.
        """
        x = self.polytope.project(x, anchor)
        if self.lattice is None or self.polytope.excess(self._snap(x)) <= 0.0:
            return self._snap(x)
        tried = (self._snap(anchor + share * (x - anchor)) for share in BACKTRACK_SHARES)
        return next((t for t in tried if self.polytope.excess(t) <= 0.0), anchor)

    def pull_back(self, x: np.ndarray, archive: PointArchive, region: Region, local: LocalFit) -> np.ndarray:
        """Points x [1, k, D] of an iteration moved to where the rows and the region's models let them be: [1, k, D].

        Where models are needed it draws one block of numbers, after the proposers: part of a seed's search.
        """
        safest = self._find_safest(archive, region)
        anchor = archive.x[0][safest] if self.polytope.excess(archive.x[0][safest]) <= 0.0 else self.anchor
        points = np.stack([self._project_to_rows(row, anchor) for row in x[0]])
        hard = np.flatnonzero(self.limits.hard_constraints())
        if self.limits.needs_models and hard.size:
            u = self.task.rng.uniform(RANDOM_TRIES, self.task.dim)[0]
            reach = MAX_REACH_RADII * min(region.delta[0], local.farthest[0]) * region.width_in_force[0]
            prediction = _SafePrediction(region, local.value[0], reach, hard, archive.y[0][safest][1 + hard])
            points = np.stack([self._find_safe(row, anchor, u, prediction) for row in points])
        return points[None]

    def _find_safest(self, archive: PointArchive, region: Region) -> int:
        """The row of the evaluated point nearest to the centre that keeps all hard constraints; else of the least off.

        Failed points come last.
        """
        over = np.sum(np.maximum(archive.y[0][:, 1:][:, self.limits.hard_constraints()], 0.0), axis=-1)
        far = np.sum((archive.x[0] - region.centre[0]) ** 2, axis=-1)
        return int(np.lexsort([far, over, archive.failed[0]])[0])

    def _find_safe(self, x: np.ndarray, anchor: np.ndarray, u: np.ndarray, prediction: _SafePrediction) -> np.ndarray:
        """The point [D] farthest on the way from an anchor [D] to x [D] that the models expect inside.

        Where there is none, the first such of points that numbers u [n, D] in (0, 1) place near the anchor, or the one
        of these with the least worst constraint.
        """
        way = np.clip(x - anchor, -prediction.reach, prediction.reach)
        tried = np.stack([self._snap(anchor + share * way) for share in BACKTRACK_SHARES])
        if not (safe := prediction.safe(tried, anchor)).any():
            near = np.clip(anchor + 0.5 * prediction.reach * (2.0 * u - 1.0), *self.task.walls)
            tried = np.stack([self._project_to_rows(row, anchor) for row in near])
            safe = prediction.safe(tried, anchor)
        return tried[np.argmax(safe)] if safe.any() else tried[np.argmin(prediction.worst(tried, anchor))]


def make_guard(task: Task, lattice: Lattice | None) -> FeasibilityGuard | None:
    """A guard where the task has constraints that must never be violated; None where it has none."""
    limits = task.limits
    if limits is None or not (limits.needs_models or limits.hard.any()):
        return None
    return FeasibilityGuard(task, limits, lattice)


class _SafePrediction(NamedTuple):
    """Models around the centre, its value [1 + C], how far they reach, and the indices `hard` [n] of constraints."""

    region: Region
    value: np.ndarray
    reach: np.ndarray  # [D]
    hard: np.ndarray
    now: np.ndarray  # [n] their values at the anchor

    def worst(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """What the worst of the hard constraints may come to at points x [n, D], with SAFETY_SHARE to spare: [n].

        Less what it already is at the anchor [D], if that violates it; inf where x is the anchor itself.
        """
        step = (x - self.region.centre[0])[None]
        predicted = (self.value + self.region.models.changes(step)[0])[:, 1:][:, self.hard]
        change = predicted - self.now
        worst = np.max(predicted + SAFETY_SHARE * np.abs(change) - np.maximum(self.now, 0.0), axis=-1)
        return np.where(np.any(x != anchor, axis=-1), worst, np.inf)

    def safe(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """Which of the points x [n, D], other than the anchor [D], keep them as far as the models can tell: [n]."""
        return self.worst(x, anchor) <= 0.0
