"""COBRA (Regis 2014): one evaluation at a time, where surrogates of f and all constraints point to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.core.capabilities import Remarks
from meco.core.engine import Engine, Task
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, order
from meco.errors import InvalidInput
from meco.paper.baselines.samples import Samples, Training
from meco.paper.baselines.surrogate import Surrogate
from meco.paper.baselines.surrogate_problem import SurrogateProblem

CUBE_SIDE = 2.0  # of the search space [-1, 1]^D
LONG_CYCLE = (0.3, 0.05, 0.001, 0.0005, 0.0)  # distance requirements, in sides
FIRST_MARGIN, LARGEST_MARGIN = 0.005 * CUBE_SIDE, 0.01 * CUBE_SIDE
DUPLICATE_DISTANCE = 1e-9


@dataclass
class SafetyMargin:
    """How far inside its limits the surrogates must keep a proposal; owned by one search, which tells it each point."""

    patience: int  # points in a row after which the margin changes
    margin: float = FIRST_MARGIN
    feasible_row: int = 0  # feasible points since the last change or infeasible one
    infeasible_row: int = 0

    def update(self, *, feasible: bool) -> None:
        """Halve the margin after a row of feasible points, double it after a row of infeasible ones."""
        self.feasible_row = self.feasible_row + 1 if feasible else 0
        self.infeasible_row = 0 if feasible else self.infeasible_row + 1
        if self.feasible_row >= self.patience:
            self.margin, self.feasible_row = self.margin / 2.0, 0
        if self.infeasible_row >= self.patience:
            self.margin, self.infeasible_row = min(2.0 * self.margin, LARGEST_MARGIN), 0


class Cobra(Engine):
    """Constrained optimization by radial basis function approximation.

    cap is the largest training set of the surrogates (None: every evaluated point).
    phase_one first looks for a feasible point without regard to f.
    """

    samples: Samples
    training: Training
    worst: np.ndarray  # [n], largest excess of each sample
    rank: np.ndarray  # [n], samples from best to worst

    def __init__(
        self,
        task: Task,
        cap: int | None = None,
        cycle: Sequence[float] = LONG_CYCLE,
        phase_one: bool = False,
        max_iter: int = 100,
    ) -> None:
        """cap is the most points that a surrogate is trained on, None for all; InvalidInput below 4 D."""
        self.task, self.random, self.size = task, task.rng.generator(0), 2 * task.dim + 1
        if cap is not None and cap < 4 * task.dim:
            raise InvalidInput(f"cap must be at least 4 D = {4 * task.dim} points; got {cap}")
        self.cycle, self.phase_one, self.max_iter = tuple(cycle), phase_one, int(max_iter)
        self.cap = cap
        self.safety = SafetyMargin(patience=math.floor(2.0 * math.sqrt(task.dim)))
        self.best = 0  # index of the best sample

    @property
    def _is_last(self) -> bool:
        """Whether one evaluation is left, which then only exploits."""
        return len(self.samples) >= self.task.budget - 1

    def ask(self) -> Array:
        """The initial design [1, 2D+1, D], then one point at a time [1, 1, D], unit cube."""
        x = self._draw_design() if self.generation == 0 else self._propose_point()[None]
        return (0.5 * (x + 1.0))[None]

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep the points x [1, n, D], failed ones too, choose the best again.

        And widen or narrow the safety margin.
        """
        y = np.concatenate([ev.f[0][:, None], ev.g[0], ev.h[0]], axis=1)
        if self.generation == 0:
            self.samples, self.training = (
                Samples(self.task.dim, y.shape[1]),
                Training(self.task.dim, y.shape[1], self.cap),
            )
        self.samples.add(2.0 * x[0] - 1.0, y, ev.failed[0])
        if self.generation == 0:
            self._learn_from_design()
        self.generation += 1
        over = self._measure_excess()
        self.worst = np.max(over, axis=1, initial=0.0)
        self.rank = order(self._rank_key(over))
        self.best = int(self.rank[0])
        if self.generation > 1:
            self._end_iteration(feasible=bool(self.worst[-1] <= 0.0))

    def capabilities(self) -> tuple[Any, ...]:
        return (Remarks(self._list_remarks),)

    def _list_remarks(self) -> list[str]:
        """What the result says where the cap left points out."""
        return [f"surrogates were trained on at most {self.training.cap} points"] if self.training.capped else []

    def _learn_from_design(self) -> None:
        """Called once, after the initial design was told: nothing here, SACOBRA sets its scales."""

    def _draw_design(self) -> np.ndarray:
        """Latin hypercube of 2 D + 1 points in [-1, 1]^D; points to try first take the first places. Draws."""
        dim, count = self.task.dim, self.size
        cells = self.random.permuted(np.tile(np.arange(count), (dim, 1)), axis=1).T
        x = 2.0 * (cells + self.random.random((count, dim))) / count - 1.0
        if self.task.x0 is not None:
            given = np.asarray(self.task.x0)[:count]
            x[: len(given)] = 2.0 * given - 1.0
        return x

    def _measure_excess(self) -> np.ndarray:
        """How far each sample is beyond the tolerance of each constraint: [n, p + q], 0 within, nan where it failed."""
        p = 1 + self.task.n_ineq
        g, h = self.samples.y[:, 1:p], np.abs(self.samples.y[:, p:])
        return np.maximum(np.concatenate([g - self.task.ineq_tol, h - self.task.eq_tol], axis=1), 0.0)

    def _rank_key(self, over: np.ndarray) -> Key:
        """Keys [n]: feasible points by f, the others by their worst violation, failed last; reads `worst`.

        In phase I, while none is feasible, by the number of broken limits first.
        """
        searching = self.phase_one and not np.any(self.worst <= 0.0)
        major, minor = (np.sum(over > 0, axis=1), self.worst) if searching else (self.worst, self.samples.y[:, 0])
        return Key(major, minor).last_where(self.samples.failed)

    def _training_targets(self) -> np.ndarray:
        """What the surrogates are trained on: [n, 1 + p + q]."""
        return self.samples.y

    def _end_iteration(self, *, feasible: bool) -> None:
        """What changes after each point beyond the design, feasible or not: the safety margin."""
        self.safety.update(feasible=feasible)

    def _propose_point(self) -> np.ndarray:
        """The next point [D] in [-1, 1]^D, where the surrogates point to; at random while there are none."""
        surrogate = self._update_surrogate()
        if surrogate is None:
            return self.random.uniform(-1.0, 1.0, self.task.dim)
        rho = 0.0 if self._is_last else CUBE_SIDE * self.cycle[(self.generation - 1) % len(self.cycle)]
        found = self._solve_subproblem(surrogate, rho, 0.0 if self._is_last else self.safety.margin)
        if self.samples.nearest_distance(found) < DUPLICATE_DISTANCE:  # evaluated already: step aside
            found = np.clip(found + LARGEST_MARGIN * self.random.standard_normal(found.size), -1.0, 1.0)
        return found

    def _update_surrogate(self) -> Surrogate | None:
        """Interpolants of the samples; None while too few of them succeeded to span the space."""
        if np.sum(~self.samples.failed) < self.task.dim + 2:
            return None
        try:
            return self.training.update(self.samples, self._training_targets(), self.rank, self.best)
        except np.linalg.LinAlgError:
            return None

    def _solve_subproblem(self, surrogate: Surrogate, rho: float, margin: float) -> np.ndarray:
        """The best point [D] by the surrogates, at least rho from every sample and margin inside its limits."""
        return self._make_subproblem(surrogate, rho, margin).solve(
            self._move_apart(self._choose_start(), rho), self.max_iter
        )

    def _make_subproblem(
        self, surrogate: Surrogate, rho: float, margin: float, band: float | None = None
    ) -> SurrogateProblem:
        """What the surrogates are asked.

        Band, where given, is the half-width of every equality in place of the margin's.
        """
        return SurrogateProblem(
            surrogate,
            self.task.n_ineq,
            margin**2,
            self._equality_band(margin) if band is None else np.full(self.task.n_eq, band),
            rho,
            self.samples.x[self.samples.failed],
            only_limits=self.phase_one and bool(self.worst[self.best] > 0.0),
        )

    def _equality_band(self, margin: float) -> np.ndarray:
        """Half-width left to each equality [q]: the margin takes at most half of the tolerance."""
        return np.full(self.task.n_eq, max(self.task.eq_tol - margin**2, 0.5 * self.task.eq_tol))

    def _choose_start(self) -> np.ndarray:
        """Where the search on the surrogates starts, [D] in [-1, 1]^D."""
        return self.samples.x[self.best]

    def _move_apart(self, start: np.ndarray, rho: float) -> np.ndarray:
        """The start [D], moved by rho in a random direction within the cube.

        Since at a centre distance has no gradient.
        """
        if rho == 0.0:
            return start
        step = self.random.standard_normal(start.size)
        return np.clip(start + rho * step / np.linalg.norm(step), -1.0, 1.0)
