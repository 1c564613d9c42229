"""The search: quadratic models of f and every constraint in a trust region. propose() and learn() are Algorithm 1.

docs/trust-region.md describes the method; its sections and equation numbers are those of the docstrings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from meco.tr_single.answers import Answers
from meco.tr_single.archive import Archive
from meco.tr_single.design import first_points, first_radii
from meco.tr_single.extension import Extension
from meco.tr_single.geometry import least_known, restart_points
from meco.tr_single.local_fit import LocalFit, fit_models, shows_curvature
from meco.tr_single.merit import Merit
from meco.tr_single.options import Options
from meco.tr_single.quadratic import SMOOTH, Quadratic
from meco.tr_single.region import Prediction, Region, Source
from meco.tr_single.roughness import find_roughness
from meco.tr_single.small_arrays import bounded, lengths
from meco.tr_single.subproblem import FLAT_CHANGE, Step, Subproblem, relaxed_step
from meco.tr_single.task import Task

MERIT_ROUNDING = 1e-15  # share of the terms of a merit below which its decrease is rounding
LARGEST_FREE_RADIUS = 1e12  # if a variable lacks a bound
CHECKS, CHECKS_PER_VARIABLE = 50, 2.0  # of roughness: at most so many in a run, and in D evaluations
CAPACITY = 2000  # points in the archive, so that the cost of a step does not grow with the run


class TrustRegion:
    """One run in search coordinates: ask() for points and tell() the answers, in turns."""

    def __init__(
        self, task: Task, rng: np.random.Generator, options: Options | None = None,
        extensions: Sequence[Extension] = (),
    ) -> None:  # fmt: skip
        self.task, self.rng, self.options, self.extensions = task, rng, options or Options(), extensions
        self.dim, self.budget = task.dim, task.budget
        self.low, self.high = np.broadcast_to(task.low, (self.dim,)), np.broadcast_to(task.high, (self.dim,))
        self.radii = first_radii(self.dim, task.lengths, self.options)
        free = bool(np.isinf(self.low).any() or np.isinf(self.high).any())
        self._largest_radius = LARGEST_FREE_RADIUS if free else self.options.largest_radius
        self.restart_radius = self.options.restart_radius
        self._n_evaluated, self._n_before, self._generation = 0, 0, 0
        self._some_feasible, self._expected = False, Prediction(Source.RESTART)
        self.region: Region
        self.local: LocalFit

    def ask(self) -> np.ndarray:
        """Points to evaluate next: the initial design [n, D], then those of an iteration [k, D]."""
        if self._generation > 0:
            with np.errstate(all="ignore"):  # values may be huge; models that overflow are dropped
                return self.propose()
        given = np.full((1, self.dim), 0.5) if self.task.x0 is None else self.task.x0
        x = first_points(given, self.radii, self.budget, self.low, self.high)
        for each in self.extensions:
            x = each.design(self, x)
        return x

    def tell(self, x: np.ndarray, answers: Answers) -> None:
        """Learn the answers at points [k, D], those of the last ask() or near them."""
        with np.errstate(all="ignore"):
            for each in self.extensions:
                answers = each.learn(self, x, answers)
            if self._generation == 0:
                self._begin(x, answers)
            else:
                self.learn(x, answers)
            if not self._some_feasible and self.merit.feasible(answers):
                self._some_feasible, self.merit.restoring = True, False
        self._n_before, self._n_evaluated = self._n_evaluated, self._n_evaluated + len(x)
        self._generation += 1

    def know(self, x: np.ndarray, answers: Answers) -> None:
        """Add points [k, D] of another search to the archive. They belong to restart 0 and judge no step."""
        self.archive.add(x, answers, 0, self.region.centre)

    @property
    def converged(self) -> bool:
        """Whether the search is about to restart from a feasible centre."""
        if self._generation < 2 or self.region.next is not Source.RESTART:
            return False
        return not self.merit.violation(self.local.value).any()

    # -- an iteration -------------------------------------------------------------------------------

    def propose(self) -> np.ndarray:
        """Propose the points of an iteration [k, D]: a step, a geometry point in its place, or a restart."""
        region = self.region
        if region.next is Source.RESTART:
            return self._restart()
        local = self.local = self._fit_models()
        if self._is_check_due():
            self.eta = find_roughness(local.fit)
        if shows_curvature(self.dim):
            region.follow_curvature(self.options)

        sub = self._make_subproblem(local)
        self.made_in = replace(region)
        step, now = Step(np.zeros(self.dim), sub.value, region.multipliers), 0.0
        if region.next is Source.STEP:
            step = self._find_step(sub)
            now = float(self.merit.of(sub.value))
            if self._is_idle(sub, step, now):
                region.next = Source.GEOMETRY
                region.radius *= self.options.radius_shrinkage
        if region.next is Source.RESTART:  # an extension has no other step
            return self._restart()
        if region.next is Source.GEOMETRY:
            step = step._replace(s=self.least_known(sub, 1)[0])

        x = self.point(step.s)[None]
        for each in self.extensions:
            step, x = each.place(self, sub, step, x)
        self._expected = self._predict(local, sub, step, now)
        return x

    def learn(self, x: np.ndarray, answers: Answers) -> None:
        """Judge the prediction by the answers at points [k, D]: update radius, next source and model errors."""
        region, made = self.region, self._expected
        merits, judged = np.where(answers.failed, np.inf, self.merit.of(answers.y)), answers
        for each in self.extensions if made.source is not Source.RESTART else ():
            made, judged, merits = each.judge(self, made, judged, merits)
        self.archive.add(x, answers, region.restart, region.centre)
        region.update_radius(made, merits, (self.restart_radius, self._largest_radius), self.options)
        if made.source is Source.STEP and not answers.failed[0]:
            region.update_errors(made, judged.y[0, 1:])
        if made.source is Source.RESTART and answers.failed.all():
            region.next = Source.RESTART

    # -- its parts ----------------------------------------------------------------------------------

    def _begin(self, x: np.ndarray, answers: Answers) -> None:
        """Set the state after the initial design [n, D]."""
        functions, n_ineq, widest = answers.y.shape[1], answers.n_ineq, float(self.radii.max())
        self.merit = Merit(n_ineq, self.task.tolerances(n_ineq, functions - 1 - n_ineq), np.zeros(functions - 1))
        self.archive = Archive(self.dim, functions, max(CAPACITY, 2 * len(x)))
        self.archive.add(x, answers, 0, x[0])
        self.eta = np.full(functions, SMOOTH)
        infinite = np.isinf(self.low) | np.isinf(self.high)
        most = np.where(infinite | ~infinite.any(), np.inf, 1.0)  # beside variables without a bound: all of the range
        self.region = Region(
            centre=x[0], radius=widest, width=self.radii / widest, first_width=self.radii / widest, most=most,
            models=Quadratic.zero(functions, self.dim), multipliers=np.zeros(functions - 1),
            error=np.full(functions - 1, np.inf), next=Source.RESTART if answers.failed.all() else Source.STEP,
        )  # fmt: skip

    def _restart(self) -> np.ndarray:
        """Begin a new region at random points [k, D]."""
        if not self._some_feasible and self._expected.source is not Source.RESTART:
            self.merit.restore(self._restoring_weight())
        self.region.begin_again(self.options)
        x = restart_points(self.archive, self.merit, self.rng.random((1, self.dim)), self.low, self.high)
        for each in self.extensions:
            x = each.restart(self, x)
        self._expected = Prediction(Source.RESTART)
        return x

    def _restoring_weight(self) -> float:
        """The weight of (8.1), by the last subproblem; 0 if no constraint is violated at its centre."""
        made, violation = self._expected, self.merit.violation(self.local.value)
        changes = np.maximum(made.changes, FLAT_CHANGE * made.radius * violation)
        return self.options.least_price * float(
            np.where(violation > 0.0, made.f_change / changes, 0.0).max(initial=0.0)
        )

    def _fit_models(self) -> LocalFit:
        """Fit the models, by the chain of all extensions, and move the region to their centre."""
        fit = partial(fit_models, self.archive, self.region, self.merit, self.eta, self.options)
        for each in self.extensions:
            fit = partial(each.fit, self, fit)
        local = fit()
        self.region.centre, self.region.models = local.centre, local.models
        return local

    def _is_check_due(self) -> bool:
        """Whether the last answers completed another part of the budget, after which roughness is estimated."""
        checks = min(CHECKS, max(1, int(CHECKS_PER_VARIABLE * self.budget / self.dim)))
        parts = [count * checks // self.budget for count in (self._n_before, self._n_evaluated)]
        return self._generation > 1 and parts[0] < parts[1]

    def _make_subproblem(self, local: LocalFit) -> Subproblem:
        """The subproblem in the region, with the margins of (5.3)."""
        region, reach = self.region, self.region.reach
        box = np.maximum(-1.0, (self.low - region.centre) / reach), np.minimum(1.0, (self.high - region.centre) / reach)
        models = region.models.rescaled(reach)
        margin = np.fmin(region.error * region.radius**2, self.options.margin * lengths(models.gradient[1:]))
        sub = Subproblem.make(models, local.value, local.span, box, self.merit.n_ineq, margin)
        for each in self.extensions:
            sub = each.shape(self, sub)
        return sub

    def _find_step(self, sub: Subproblem) -> Step:
        """Solve the subproblem, after a decay of the merit's weights."""
        self.merit.decay(self.options.weight_decay / self.dim)
        step = self.solve(sub, self.region.multipliers)
        for each in self.extensions:
            step = each.adjust(self, sub, step)
        self.region.multipliers = step.multipliers
        return step

    def _is_idle(self, sub: Subproblem, step: Step, now: float) -> bool:
        """Whether the step leads to an evaluated point, or near one without a predicted decrease of the merit."""
        x, decrease = self.point(step.s), now - float(self.merit.of(step.value))
        size = abs(sub.value[0]) + abs(now - sub.value[0]) + sub.span[0]
        if decrease > MERIT_ROUNDING * size:
            return self.archive.has(x)
        return self.archive.distance(x, self.region.reach) < self.options.same_point

    def _predict(self, local: LocalFit, sub: Subproblem, step: Step, now: float) -> Prediction:
        """What the models predict of the step."""
        p = sub.n_ineq
        return Prediction(
            self.region.next, now, step.value, now - float(self.merit.of(step.value)), self.made_in.radius,
            float(np.abs(step.s).max()), local.farthest, sub.f_change, sub.changes,
            margin_cost=float(np.abs(step.multipliers[:p]) @ sub.margin[:p]),
        )  # fmt: skip

    # -- what extensions use, too ---------------------------------------------------------------------

    def point(self, s: np.ndarray) -> np.ndarray:
        """The point [D] of a step s [D] in units of the region."""
        return bounded(self.region.centre + self.region.reach * s, self.low, self.high)

    def solve(self, sub: Subproblem, multipliers: np.ndarray) -> Step:
        """Solve a subproblem, starting from multipliers [C] of a similar one. The weights of the merit may rise."""
        return relaxed_step(sub, multipliers, self.merit, self.options)

    def least_known(self, sub: Subproblem, count: int) -> np.ndarray:
        """Steps [count, D] to where the models know least, of random ones."""
        u = self.rng.random((max(self.options.geometry_tries, count), self.dim))
        return least_known(self.local.fit, sub, self.region.radius / self.local.scale, u)[:count]
