"""SACOBRA (Bagheri et al. 2017): COBRA that sets its own parameters, with equality constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meco.core.engine import Task
from meco.paper.baselines.cobra import LONG_CYCLE, Cobra
from meco.paper.baselines.surrogate import Surrogate

SHORT_CYCLE = (0.001, 0.0)
STEEP_RANGE = 1e3  # range of f from which the short cycle is used
VERY_STEEP_RANGE = 1e5  # range of f from which its logarithm is modelled
UNEVEN_RATIO = 1e3  # ratio of constraint ranges from which they are evened out
STALLED_ITERATIONS = 10  # iterations without progress after which the start is random
BAND_SHRINKAGE, MIN_BAND = 1.5, 1e-7  # of the band around equalities, at each iteration


def plog(y: np.ndarray) -> np.ndarray:
    """sign(y) ln(1 + |y|): a logarithm for numbers of both signs."""
    return np.sign(y) * np.log1p(np.abs(y))


def random_start_probability(count: int, design: int) -> float:
    """Chance that the surrogate search starts at random: about 0.3 for 15 points after the design, then 0.05."""
    return 0.125 * math.tanh(-(count - (design + 15))) + 0.125 + 0.05


class Sacobra(Cobra):
    """COBRA with its cycle, scales and starts adjusted from the initial design.

    Constraint values are used divided by `scale`; equalities are kept within a band that
    shrinks at each iteration. refine moves a proposal onto the modelled equalities.
    """

    design: int  # points of the initial design
    scale: np.ndarray  # [p + q]

    def __init__(self, task: Task, refine: bool = True, **options: Any) -> None:
        """refine moves proposals onto the modelled equalities; options are COBRA's."""
        super().__init__(task, **options)
        self.refine = refine
        self.logarithmic = False
        self.band = 0.0
        self.stalled = 0

    def _learn_from_design(self) -> None:
        """Set cycle, logarithm, scale of constraints and first band by the initial design; not so where all failed."""
        self.design = len(self.samples)
        self.scale = np.ones(self.samples.y.shape[1] - 1)
        y = self.samples.y[~self.samples.failed]
        if len(y) == 0:
            return
        spread = np.ptp(y, axis=0)
        if self.cycle == LONG_CYCLE and spread[0] > STEEP_RANGE:
            self.cycle = SHORT_CYCLE
        self.logarithmic = bool(spread[0] > VERY_STEEP_RANGE)
        self.scale = constraint_scale(spread[1:])
        self.band = float(np.median(np.sum(self._scaled_violations(y, 0.0), axis=1)))

    def _scaled_violations(self, y: np.ndarray, band: float) -> np.ndarray:
        """Scaled violations of each constraint beyond the band: [n, p + q]."""
        p = self.task.n_ineq
        c = y[:, 1:] / self.scale
        return np.maximum(np.concatenate([c[:, :p], np.abs(c[:, p:]) - band], axis=1), 0.0)

    def _measure_excess(self) -> np.ndarray:
        """Scaled violations, equalities beyond the present band: [n, p + q]."""
        return self._scaled_violations(self.samples.y, self.band)

    def _training_targets(self) -> np.ndarray:
        """f, by its logarithm where it is steep, and scaled constraints: [n, 1 + p + q]."""
        f = self.samples.y[:, :1]
        return np.concatenate([plog(f) if self.logarithmic else f, self.samples.y[:, 1:] / self.scale], axis=1)

    def _end_iteration(self, *, feasible: bool) -> None:
        """Set the safety margin, count iterations without progress, and shrink the band."""
        super()._end_iteration(feasible=feasible)
        self.stalled = 0 if self.best == len(self.samples) - 1 else self.stalled + 1
        self.band = max(self.band / BAND_SHRINKAGE, MIN_BAND)

    def _equality_band(self, margin: float) -> np.ndarray:
        """The present band for each equality, whatever the margin: [q]."""
        return np.full(self.task.n_eq, self.band)

    def _choose_start(self) -> np.ndarray:
        """The best point [D], or a random one: now and then, and after STALLED_ITERATIONS without progress."""
        chance = random_start_probability(len(self.samples), self.design)
        if not self._is_last and (self.random.random() < chance or self.stalled >= STALLED_ITERATIONS):
            return self.random.uniform(-1.0, 1.0, self.task.dim)
        return self.samples.x[self.best]

    def _solve_subproblem(self, surrogate: Surrogate, rho: float, margin: float) -> np.ndarray:
        """COBRA's solution [D], moved onto the modelled equalities while the best point breaks its constraints."""
        found = super()._solve_subproblem(surrogate, rho, margin)
        if not (self.refine and self.task.n_eq):
            return found
        best = self.samples.y[self.best : self.best + 1]
        if np.max(self._scaled_violations(best, 0.0)) <= MIN_BAND:
            return found
        return self._make_subproblem(surrogate, 0.0, 0.0, band=0.0).restore_feasibility(found)


def constraint_scale(spread: np.ndarray) -> np.ndarray:
    """Divisors that even out constraint ranges [C] which differ by more than a factor 1000; else ones."""
    if len(spread) == 0 or np.min(spread) <= 0 or np.max(spread) / np.min(spread) <= UNEVEN_RATIO:
        return np.ones_like(spread)
    return spread / np.mean(spread)
