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
from meco.tr.archive import SeenPoints
from meco.tr.lattice import Lattice
from meco.tr.model_fit import View
from meco.tr.polytope import Polytope
from meco.tr.region import FIRST, Region

CAREFUL = 0.02  # radius of a start that only models can keep inside
FARTHER = 2.0  # than the radius, or than any point that the models were fitted to, a point may lie
SPARE = 0.2  # share of the foreseen change by which a constraint may come worse
SHARES = np.concatenate([np.linspace(1.0, 0.05, 20), np.geomspace(0.03, 1e-4, 12)])  # of the way from the anchor
OTHERS = 32  # random points near the anchor, where the whole way is closed


class Inside:
    """Draws points back inside for the one run of a task; limits are those of the task."""

    def __init__(self, task: Task, limits: KnownLimits, lattice: Lattice | None) -> None:
        self.task, self.limits, self.lattice = task, limits, lattice
        self.radius = CAREFUL if limits.careful else FIRST
        self.polytope = Polytope(*limits.kept())
        self.anchor = self._first(np.full(task.dim, 0.5) if task.x0 is None else np.asarray(task.x0)[0])

    def _first(self, x: np.ndarray) -> np.ndarray:
        """A point that keeps the rows, before anything is evaluated."""
        if self.polytope.excess(x) <= 0.0:
            return x
        found = self.polytope.inside(x)
        if self.lattice is None:
            return found
        draw = np.random.default_rng(0)
        tries = [found, *(self.polytope.nearest(u) for u in draw.random((OTHERS, x.size)))]
        snapped = [self._snapped(t) for t in tries]
        return min(snapped, key=self.polytope.excess)

    def _snapped(self, x: np.ndarray) -> np.ndarray:
        return x if self.lattice is None else self.lattice.snapped(x[None, None, :])[0, 0]

    def at_first(self, x: np.ndarray) -> np.ndarray:
        """Points [n, D] before the first answer: drawn onto the rows that must be kept."""
        return np.array([self._on_rows(row, self.anchor) for row in x]).reshape(x.shape)

    def _on_rows(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """The nearest point that keeps the rows, on the lattice where there is one."""
        x = self.polytope.kept(x, anchor)
        if self.lattice is None or self.polytope.excess(self._snapped(x)) <= 0.0:
            return self._snapped(x)
        tried = (self._snapped(anchor + share * (x - anchor)) for share in SHARES)
        return next((t for t in tried if self.polytope.excess(t) <= 0.0), anchor)

    def drawn_back(self, x: np.ndarray, seen: SeenPoints, region: Region, view: View) -> np.ndarray:
        """Points [1, k, D] of a turn where the rows and the region's models, seen as view, let them be."""
        place = self._safest(seen, region)
        anchor = seen.x[0][place] if self.polytope.excess(seen.x[0][place]) <= 0.0 else self.anchor
        points = np.stack([self._on_rows(row, anchor) for row in x[0]])
        never = np.flatnonzero(self.limits.never())
        if self.limits.careful and never.size:
            u = self.task.rng.uniform(OTHERS, self.task.dim)[0]
            reach = FARTHER * min(region.delta[0], view.farthest[0])
            told = _Told(region, view.value[0], reach, never, seen.y[0][place][1 + never])
            points = np.stack([self._as_models_tell(row, anchor, u, told) for row in points])
        return points[None]

    def _safest(self, seen: SeenPoints, region: Region) -> int:
        """The place of the evaluated point that keeps all of them and is nearest to the centre; else the least off."""
        over = np.sum(np.maximum(seen.y[0][:, 1:][:, self.limits.never()], 0.0), axis=-1)
        far = np.sum((seen.x[0] - region.centre[0]) ** 2, axis=-1)
        return int(np.lexsort([far, over, seen.failed[0]])[0])

    def _as_models_tell(self, x: np.ndarray, anchor: np.ndarray, u: np.ndarray, told: _Told) -> np.ndarray:
        """The point farthest on the way to x [D] that the models expect inside; else one beside that way."""
        way = np.clip(x - anchor, -told.reach, told.reach)
        tried = np.stack([self._snapped(anchor + share * way) for share in SHARES])
        if not (safe := told.safe(tried, anchor)).any():
            near = np.clip(anchor + 0.5 * told.reach * (2.0 * u - 1.0), 0.0, 1.0)
            tried = np.stack([self._on_rows(row, anchor) for row in near])
            safe = told.safe(tried, anchor)
        return tried[np.argmax(safe)] if safe.any() else tried[np.argmin(told.worst(tried, anchor))]


def keeper(task: Task, lattice: Lattice | None) -> Inside | None:
    """What keeps a search inside, where the task asks for it."""
    limits = task.limits
    return Inside(task, limits, lattice) if limits is not None and (limits.careful or limits.hard.any()) else None


class _Told(NamedTuple):
    """Models around the centre, its value [1 + C], how far they reach, and the constraints `never` [n]."""

    region: Region
    value: np.ndarray
    reach: float
    never: np.ndarray
    now: np.ndarray  # [n] their values at the anchor

    def worst(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """What the worst of the constraints may come to at points x [n, D]; inf where x is the anchor itself."""
        step = (x - self.region.centre[0])[None]
        expected = (self.value + self.region.models.changes(step)[0])[:, 1:][:, self.never]
        change = expected - self.now
        worst = np.max(expected + SPARE * np.abs(change) - np.maximum(self.now, 0.0), axis=-1)
        return np.where(np.any(x != anchor, axis=-1), worst, np.inf)

    def safe(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """Which of the points x [n, D] keep them, as far as the models can tell."""
        return self.worst(x, anchor) <= 0.0
