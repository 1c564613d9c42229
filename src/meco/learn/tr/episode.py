"""An episode of TR-ES whose theta and share are steered, from decision to decision, many in lockstep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from meco.core.arrays import Array, namespace, to_numpy
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.lockstep_results import LockstepResults
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.streams import Streams
from meco.engines.es.maes import native_size
from meco.errors import InvalidInput
from meco.learn.tr.quantile import TENTHS, Outcomes, quantile
from meco.policies.controller import Controller
from meco.policies.controls import CONTROLS
from meco.policies.features import FEATURES
from meco.problems.suite import get_problem
from meco.tr.engine import make_tr_es
from meco.tr.steered import DECISIONS, SEARCH_CONTROLS, SEARCH_FEATURES


class TrustRegionEpisode:
    """Runs of TR-ES whose theta and share are steered from outside: reset(), then step(actions) until done.

    One step lasts until the next decision, a fiftieth of the budget. Problems in lockstep have equal D and equal
    numbers of constraints. The reward is the change of the run's quantile among references (quantile.py), so that an
    episode's return is its final quantile. references are outcomes [B, 10, R] of reference runs at each tenth of the
    budget; unless given, a run is compared with its own first points.

    Examples:
        >>> from meco.learn import TrustRegionEpisode
        >>> episode = TrustRegionEpisode("ring", seeds=[1, 2], budget=100)
        >>> s = episode.reset()
        >>> s, r, done = episode.step([[0.5, 0.0], [0.0, 0.3]])  # theta and share of each run
        >>> s.shape, r.shape, done.tolist()
        ((2, 29), (2,), [False, False])
    """

    def __init__(
        self,
        problem: Problem | str | Sequence[Problem],
        seeds: Iterable[int],
        budget: int | None = None,
        *,
        references: Outcomes | None = None,
        controls: str = SEARCH_CONTROLS,
        decisions: int = DECISIONS,
        xp: Any = np,
        device: Any = None,
        **options: Any,
    ) -> None:
        """Nothing is evaluated before reset(). budget None: 50 D; options go to the engine.

        Problems of different numbers of constraints are refused.
        """
        self.problem = get_problem(problem) if isinstance(problem, str) else problem
        each = [self.problem] if isinstance(self.problem, Problem) else list(self.problem)
        if len({(p.n_ineq, p.n_eq) for p in each}) > 1:
            raise InvalidInput("problems of one MeCO-TR-v0 episode need equal numbers of constraints")
        self.seeds, dim = list(seeds), each[0].dim
        self.budget = 50 * dim if budget is None else int(budget)
        self.features, self.controls, self.references = FEATURES[SEARCH_FEATURES], CONTROLS[controls], references
        self.interval = max(float(native_size(dim)), self.budget / decisions)
        self._xp, self._device, self._options = xp, device, options
        self._over = True  # until the first reset

    def reset(self, seeds: Iterable[int] | None = None) -> Array:
        """Begin anew: evaluate the first points and give the features s [B, 29]; the same seeds unless new ones come.

        A budget that ends with the first points is an error.
        """
        self.seeds = self.seeds if seeds is None else list(seeds)
        rng = Streams(self.seeds, self._xp, self._device)
        self._evaluator = Evaluator.on(self.problem, self.budget, rng.runs, self._xp, self._device, rng)
        self.engine = make_tr_es(Task.of(self._evaluator, rng), **self._options)
        self._loop = Loop(self.engine, self._evaluator, traced=False)
        self._controller = Controller(self.engine, self.features, self.controls)
        self.keys = list(self._evaluator.source.names)
        ev = self._iterate_and_trace()
        self._reference_points = self._repeat_first_points(ev) if self.references is None else self.references
        self.quantile = np.zeros(rng.runs)
        self._over = self._evaluator.left == 0
        if self._over:
            raise InvalidInput(
                f"a budget of {self.budget} ends with the first points; an episode needs at least one step more"
            )
        self.s = self._controller.observe()
        return self.s

    def step(self, actions: Any) -> tuple[Array, np.ndarray, np.ndarray]:
        """Search on until the next decision: features s [B, 29], reward r [B], and whether the budget is spent [B].

        actions are values [B, 2] of theta and share, or indices [B] into the grid of the controls; others, nan among
        them, and a step after the end are errors.
        """
        if self._over:
            raise InvalidInput("no episode is running: call reset() first")
        values = self._read_actions(actions)
        self._over = True  # unless this step comes to its end: after a failed one the runs no longer agree
        self._controller.steer(values)
        next_decision = self.interval * ((self.budget - self._evaluator.left) // self.interval + 1)
        while self._evaluator.left and self.budget - self._evaluator.left < next_decision:
            self._iterate_and_trace()
        self._over = self._evaluator.left == 0
        before, self.quantile = self.quantile, self._current_quantile()
        self.s = self._controller.observe()
        return self.s, self.quantile - before, np.full(len(self.seeds), self._over)

    def _iterate_and_trace(self) -> Evaluation:
        """Make one iteration of the engine, add a row to the trace, and give the evaluation [B, k]."""
        evaluator = self._evaluator
        with np.errstate(all="ignore"):
            ev = self._loop.evaluate_and_tell(self._loop.ask())
        evaluator.history.record_generation(evaluator.nfev, None, {**self._controller.trace(), **self.engine.trace()})
        return ev

    def _repeat_first_points(self, ev: Evaluation) -> Outcomes:
        """The first points, with an evaluation [B, n], as references, the same at every tenth: [B, 10, n]."""
        parts = (to_numpy(part) for part in (ev.f, ev.nu, ev.feasible))
        return Outcomes(*(np.repeat(part[:, None, :], TENTHS, axis=1) for part in parts))

    def best_outcomes(self) -> Outcomes:
        """The best point of each run so far, feasibility first, [B] each; nan where all failed."""
        best = self._evaluator.history.feasible_best.point_in_numpy()
        return Outcomes(best.f[:, 0], best.nu[:, 0], best.feasible[:, 0])

    def _current_quantile(self) -> np.ndarray:
        """The present quantile of each run, among the references at the next tenth: [B]."""
        tenth = max(0, -(-TENTHS * (self.budget - self._evaluator.left) // self.budget) - 1)
        among = Outcomes(*(part[:, tenth] for part in self._reference_points))
        return quantile(self.best_outcomes(), among)

    def _read_actions(self, actions: Any) -> Mapping[str, Array]:
        """Values of the controls by name, [B] each, from values [B, 2] or indices [B] into the grid.

        InvalidInput for another shape, and for values that are out of range or nan.
        """
        like, names, runs = self.engine.region.delta, self.controls.names, len(self.seeds)
        given = np.asarray(to_numpy(actions) if hasattr(actions, "device") else actions)
        if given.dtype.kind in "iu" and given.shape == (runs,):
            count = len(self.controls.grid)
            if np.any((given < 0) | (given >= count)):
                raise InvalidInput(
                    f"indices into the grid of {self.controls.name!r} go from 0 to {count - 1}; got {given}"
                )
            given = np.array(self.controls.grid)[given]
        given = given.astype(np.float64)
        if given.shape != (runs, len(names)):
            wanted = f"({runs}, {len(names)}), values of {' and '.join(names)}, or ({runs},), indices into the grid"
            raise InvalidInput(f"{runs} runs need actions of shape {wanted}; got {given.shape}")
        for k, control in enumerate(self.controls.controls):
            if not np.all((given[:, k] >= control.low) & (given[:, k] <= control.high)):
                raise InvalidInput(f"{control.name} must lie in [{control.low:g}, {control.high:g}]; got {given[:, k]}")
        values = namespace(like).asarray(given, dtype=like.dtype, device=like.device)
        return {name: values[:, k] for k, name in enumerate(names)}

    @property
    def nfev(self) -> np.ndarray:
        """Evaluations made so far: [B]."""
        return self._evaluator.nfev

    @property
    def x(self) -> Array:
        """All points so far that the models know, in the problem's units: [B, n, D]."""
        return self._evaluator.box.to_box(self.engine.archive.x)

    @property
    def score(self) -> Array:
        """Least f + nu of the points evaluated so far: [B]."""
        best = self._evaluator.history.score_best.point
        assert best is not None
        return best.key.minor[:, 0]

    def results(self, method: str = "MeCO-TR") -> LockstepResults:
        """The results of all runs since the last reset, one record each, under the name of a method."""
        return self._evaluator.results(method, self.seeds)
