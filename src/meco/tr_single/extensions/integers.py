"""Integer variables: points on the lattice, and steps that rounding does not undo."""

from __future__ import annotations

import numpy as np

from meco.tr_single.answers import Answers
from meco.tr_single.extension import Extension
from meco.tr_single.region import Prediction, Source
from meco.tr_single.search import TrustRegion
from meco.tr_single.small_arrays import bounded
from meco.tr_single.subproblem import Step, Subproblem
from meco.tr_single.task import IntegerTask

NARROW = 0.1  # largest radius, in the box, below which a region is too small to hold two values
WIDE = 0.25  # how far other variables go at most when integers leave the region
PROBING_RADIUS = 0.1  # radius, in spacings, below which neighbours are tried
MOST_TRIES = 3  # of the same integers near a centre


class Integers(Extension):
    """Keeps integer variables at integers. A spacing [D] is the distance of two values in search coordinates."""

    def __init__(self, task: IntegerTask) -> None:
        self.task, self.integer = task, task.integer
        self.length = np.where(task.length > 0.0, task.length, 1.0)
        self.spacing = np.where(self.integer, 1.0 / self.length, 0.0)
        self.mixed = not self.integer.all()
        self.least = min(NARROW, float(self.spacing[self.integer].min()))
        self.probes = False  # whether the step leaves the region

    def snap(self, x: np.ndarray) -> np.ndarray:
        """Points [..., D] with integer variables at their nearest values."""
        value = self.task.origin + x * self.length
        value = np.sign(value) * np.floor(np.abs(value) + 0.5)
        value = bounded(value, self.task.lowest, self.task.highest)
        return np.where(self.integer, (value - self.task.origin) / self.length, x)

    def design(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """Snap the design. Without continuous variables, restart below a quarter of the least spacing."""
        search.restart_radius = max(search.restart_radius, 0.25 * float(self.spacing.min()))
        return self.snap(x)

    def shape(self, search: TrustRegion, sub: Subproblem) -> Subproblem:
        """Extend the box so that integer variables can always move by one."""
        reach, centre = search.region.reach, search.region.centre
        half = np.maximum(1.0, self.spacing / reach)
        bottom, top = np.maximum(-half, (search.low - centre) / reach), np.minimum(half, (search.high - centre) / reach)
        return sub._replace(bottom=bottom, top=top)

    def adjust(self, search: TrustRegion, sub: Subproblem, step: Step) -> Step:
        """Solve again with fixed integers, and replace a step to a known point by the best new neighbour."""
        region, self.probes = search.region, False
        if self.mixed:
            step = self._fix(search, sub, step)
        if region.next is not Source.STEP or not search.archive.has(self.snap(search.point(step.s))):
            return step
        near = self._neighbours(search)
        new = near[[not search.archive.has(x) for x in near]]
        if not len(new):
            region.next = Source.RESTART
            return step
        return step._replace(s=(self._best(search, sub, new) - region.centre) / region.reach)

    def place(self, search: TrustRegion, sub: Subproblem, step: Step, x: np.ndarray) -> tuple[Step, np.ndarray]:
        """Snap the points [k, D]."""
        return step, self.snap(x)

    def restart(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """Snap the points [k, D]."""
        return self.snap(x)

    def judge(
        self, search: TrustRegion, made: Prediction, answers: Answers, merits: np.ndarray
    ) -> tuple[Prediction, Answers, np.ndarray]:
        """A step that leaves the region does not judge it. One value along an integer does not count as distance."""
        if self.probes and made.source is Source.STEP:
            made = made._replace(source=Source.GEOMETRY)
        if self.mixed:
            apart = np.abs(search.local.fit.u) * search.local.scale - self.spacing / search.made_in.widths
            apart = np.maximum(apart, 0.0)
            made = made._replace(farthest=float(np.sqrt(np.vecdot(apart, apart).max(initial=0.0))))
        return made, answers, merits

    def _fix(self, search: TrustRegion, sub: Subproblem, step: Step) -> Step:
        """The solution with integers fixed at chosen values; the other variables compensate for the constraints."""
        region = search.region
        values = self._choose_values(search, sub, step)
        far = np.maximum(self._distance(values, region.centre) / region.reach, 1.0)
        bottom = np.where(sub.bottom <= -1.0, np.maximum(-far, (search.low - region.centre) / region.reach), sub.bottom)
        top = np.where(sub.top >= 1.0, np.minimum(far, (search.high - region.centre) / region.reach), sub.top)
        s = (values - region.centre) / region.reach
        box = sub._replace(bottom=np.where(self.integer, s, bottom), top=np.where(self.integer, s, top))
        return search.solve(box, step.multipliers)

    def _choose_values(self, search: TrustRegion, sub: Subproblem, step: Step) -> np.ndarray:
        """The centre with the integers to try next [D]: those that the step is rounded to.

        A region smaller than a spacing would propose the same poor integers again and again. So integers that were
        tried often enough near the centre are left alone, and in a small region untried neighbours come first.
        """
        region = search.region
        values = np.where(self.integer, self.snap(search.point(step.s)), region.centre)
        if region.radius >= self.least:
            return values
        if self._tries(search, values) >= MOST_TRIES:
            values = region.centre
        self.probes = bool((np.abs(values - region.centre) > 0.5 * self.spacing)[self.integer].any())
        if region.radius < PROBING_RADIUS * self.least and region.next is Source.STEP:
            near = self._neighbours(search)
            new = near[[self._tries(search, x) == 0 for x in near]]
            if len(new):
                self.probes = True
                return self._best(search, sub, new)
        return values

    def _distance(self, x: np.ndarray, centre: np.ndarray) -> float:
        """Largest distance of the integers of x [D] from those of the centre [D], at most WIDE."""
        return min(WIDE, float(np.abs(x - centre)[self.integer].max()))

    def _tries(self, search: TrustRegion, x: np.ndarray) -> int:
        """Points since the restart with the integers of x [D] and other variables as near as a step goes."""
        region, archive = search.region, search.archive
        reach = np.maximum(2.0 * region.reach, 1.01 * self._distance(x, region.centre))
        wanted, least = np.where(self.integer, x, region.centre), np.where(self.integer, 0.5 * self.spacing, reach)
        close = (np.abs(archive.x - wanted) <= least).all(axis=1)
        return int(np.count_nonzero(close & (archive.restart == region.restart)))

    def _neighbours(self, search: TrustRegion) -> np.ndarray:
        """The centre with one integer moved by one value, both ways: [n, D]; the centre itself at a bound."""
        moves = np.diag(self.spacing)[self.integer]
        return self.snap(np.clip(search.region.centre + np.concatenate([moves, -moves]), search.low, search.high))

    @staticmethod
    def _best(search: TrustRegion, sub: Subproblem, x: np.ndarray) -> np.ndarray:
        """The point of least predicted merit among x [n, D]: [D]."""
        steps = (x - search.region.centre) / search.region.reach
        return x[np.argmin(search.merit.of(sub.value + sub.models.changes(steps)))]
