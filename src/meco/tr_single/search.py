"""The search: quadratic models of f and every constraint in a relaxed trust region (docs/trust-region.md).

Each iteration takes the point of least merit as centre, fits models to the points nearest to it (local_fit.py), and
solves a convex program in a box around it for a step (subproblem.py). The ratio of actual to predicted decrease decides
whether the region grows, gets a geometry point or shrinks (region.py). A region that is too small ends with a restart.
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
from meco.tr_single.geometry import further_steps, least_known, restart_point
from meco.tr_single.local_fit import LocalFit, fit_models, shows_curvature
from meco.tr_single.merit import Merit, scale_weights, violations
from meco.tr_single.options import Options
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.region import Expectation, Region, Source, update_errors, update_radius, update_weights
from meco.tr_single.roughness import find_roughness
from meco.tr_single.small_arrays import bounded, lengths
from meco.tr_single.subproblem import Step, Subproblem, relaxed_step
from meco.tr_single.task import Task

MERIT_ROUNDING = 1e-15  # share of the terms of a merit below which its decrease is rounding
DEAR_SHARE = 0.9  # of the largest price of a row, above which a multiplier shows that the row is violated all the same
LARGEST_FREE_RADIUS = 1e12  # if a variable lacks a bound


class TrustRegion:
    """One run in search coordinates: ask() for points and tell() their values, in turns."""

    def __init__(
        self, task: Task, rng: np.random.Generator, options: Options | None = None,
        extensions: Sequence[Extension] = (),
    ) -> None:  # fmt: skip
        self.task, self.rng, self.options, self.extensions = task, rng, options or Options(), extensions
        self.dim, self.budget, self._batch = task.dim, task.budget, min(task.batch, task.budget)
        self.low, self.high = np.broadcast_to(task.low, (self.dim,)), np.broadcast_to(task.high, (self.dim,))
        self.radii = first_radii(self.dim, task.lengths, self.options)
        free = bool(np.isinf(self.low).any() or np.isinf(self.high).any())
        self._largest_radius = LARGEST_FREE_RADIUS if free else self.options.largest_radius
        self.restart_radius = self.options.restart_radius
        self._n_evaluated, self._generation, self._some_feasible = 0, 0, False
        self.region: Region

    def ask(self) -> np.ndarray:
        """Points to evaluate next: the initial design [n, D], then those of an iteration [batch, D]."""
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
            if self._generation == 0:
                self._begin(x, answers)
            for each in self.extensions:
                answers = each.learn(self, x, answers)
            missing = np.isnan(answers.y)
            answers = answers._replace(y=np.where(missing, 0.0, answers.y))
            feasible = self.merit.is_feasible(answers.y) & ~missing.any(axis=1)
            self._some_feasible = self._some_feasible or bool(feasible.any())
            if self._generation == 0:
                self.archive.add(x, answers.y, answers.failed, missing, np.zeros(len(x), dtype=int), x[0])
            else:
                self.learn(x, answers, missing)
        self._n_evaluated += len(x)
        self._generation += 1

    def know(self, x: np.ndarray, answers: Answers) -> None:
        """Add points [k, D] of another search to the archive. They belong to restart 0 and judge no step."""
        missing = np.isnan(answers.y)
        y = np.where(missing, 0.0, answers.y)
        self.archive.add(x, y, answers.failed, missing, np.zeros(len(x), dtype=int), self.region.centre)

    @property
    def converged(self) -> bool:
        """Whether the search is about to restart from a feasible centre."""
        if self._generation < 2 or self.region.next is not Source.RESTART:
            return False
        return bool(self.merit.is_feasible(self.local.value))

    # -- an iteration -------------------------------------------------------------------------------

    def propose(self) -> np.ndarray:
        """Propose the points of an iteration: [batch, D].

        Fit models around the best point, shape the region by them, solve for a step, and choose what to evaluate: the
        step, a geometry point in its place, or a restart.
        """
        options, region, merit = self.options, self.region, self.merit
        local = self.local = self._fit_models()
        if self._is_check_due():
            self.eta = find_roughness(local.fit, options)
        if shows_curvature(self.dim):
            region.follow_curvature(options)
        sub = self._make_subproblem(local)

        radius, before = region.radius, merit.weights
        merit.decay(options.weight_decay / self.dim)
        step = self.solve(sub, region.multipliers)
        self.made_in = replace(region)
        for each in self.extensions:
            step = each.adjust(self, sub, step)
        region.multipliers = step.multipliers

        now = float(merit.of(sub.value))
        x, restarts = self._choose_points(local, sub, step, now)
        for each in self.extensions:
            step, x = each.place(self, sub, step, x)
        self.expected = self._expect(local, sub, step, now, radius, restarts, before)
        return x

    def learn(self, x: np.ndarray, answers: Answers, missing: np.ndarray) -> None:
        """Update radius, errors of models and weights by the answers at points [k, D] of an iteration."""
        options, region, merit, made = self.options, self.region, self.merit, self.expected
        merits, judged = np.where(answers.failed, np.inf, merit.of(answers.y)), answers
        for each in self.extensions:
            made, judged, merits = each.judge(self, made, judged, merits)
        self.archive.add(x, answers.y, answers.failed, missing, made.restarts, region.centre)
        poor = update_radius(region, made, merits, (self.restart_radius, self._largest_radius), options)
        if made.source is Source.STEP and not answers.failed[0]:
            update_errors(region, made, judged.y[0, 1:], options)
        update_weights(region, merit, made, poor, self._n_evaluated >= options.late * self.budget, options)
        if self._some_feasible:
            merit.restoring = False
        elif made.source is Source.RESTART and not made.blind:  # the next regions look for any feasible point
            merit.restore(made.f_change, made.changes, made.violation, made.radius, options.restoration_price)
        elif made.conflict and not merit.restoring:
            region.next = Source.RESTART

    # -- its parts ----------------------------------------------------------------------------------

    def _begin(self, x: np.ndarray, answers: Answers) -> None:
        """Set the state before the first answers, at points [n, D], are added."""
        options, functions, n_ineq = self.options, answers.y.shape[1], answers.n_ineq
        widest, nothing = float(self.radii.max()), np.zeros(functions - 1)
        self.merit = Merit(n_ineq, self.task.tolerances(n_ineq, functions - 1 - n_ineq), nothing, nothing)
        self.archive = Archive(self.dim, functions, max(options.capacity, 2 * len(x), len(x) + self._batch))
        self.eta = np.full(functions, options.smooth)
        infinite = np.isinf(self.low) | np.isinf(self.high)
        most = np.where(infinite | ~infinite.any(), np.inf, 1.0)  # beside variables without a bound: all of the range
        self.region = Region(
            centre=x[0], radius=widest, width=self.radii / widest, first_width=self.radii / widest, most=most,
            models=Quadratic.zero(functions, self.dim), multipliers=nothing, error=nothing + np.inf,
        )  # fmt: skip

    def _fit_models(self) -> LocalFit:
        """Fit the models, by the chain of all extensions, and move the region to their centre."""
        fit = partial(fit_models, self.archive, self.region, self.merit, self.eta, self.options)
        for each in self.extensions:
            fit = partial(each.fit, self, fit)
        local = fit()
        self.region.centre, self.region.models = local.centre, local.models
        return local

    def _is_check_due(self) -> bool:
        """Whether roughness is to be estimated: at regular shares of the budget, not after the initial design."""
        budget, done = self.budget, self._n_evaluated
        checks = min(self.options.checks, max(1, int(self.options.checks_per_variable * budget / self.dim)))
        return self._generation > 1 and (done - self._batch) * checks // budget < done * checks // budget

    def _make_subproblem(self, local: LocalFit) -> Subproblem:
        """The subproblem of the region. Margins are the last model errors, at most a share of the change across it."""
        options, region = self.options, self.region
        reach, centre = region.reach, region.centre
        models = region.models.rescaled(reach)
        box = np.maximum(-1.0, (self.low - centre) / reach), np.minimum(1.0, (self.high - centre) / reach)
        margin = options.margin * lengths(models.gradient[1:])
        margin = np.fmin(options.caution * region.error * region.radius**2, margin)
        sub = Subproblem.make(models, local.value, local.span, box, self.merit.n_ineq, margin)
        for each in self.extensions:
            sub = each.shape(self, sub)
        return sub

    def _choose_points(self, local: LocalFit, sub: Subproblem, step: Step, now: float) -> tuple[np.ndarray, np.ndarray]:
        """The point of the step, or what replaces it, and further ones: [batch, D]; and the restarts they belong to.

        A step that gains nothing and leads to a known point is replaced by a geometry point of a smaller region.
        """
        region, archive, options = self.region, self.archive, self.options
        predicted = now - float(self.merit.of(step.value))
        u = self.rng.random((max(options.geometry_tries, self._batch) + 1, self.dim))
        x, source = self.point(step.s), region.next
        if source is Source.STEP:
            size = abs(sub.value[0]) + abs(now - sub.value[0]) + sub.span[0]
            idle = not predicted > MERIT_ROUNDING * size
            if archive.has(x) or (idle and archive.distance(x, region.reach) < options.same_point):
                source = Source.GEOMETRY
                region.radius *= options.radius_shrinkage
        if local.blind:
            source = Source.RESTART
        region.next, before = source, region.restart
        points = [x]
        if source is Source.GEOMETRY or self._batch > 1:
            known = least_known(local.fit, sub, region.radius / local.scale, u[1:])
            if source is Source.GEOMETRY:
                points = [self.point(known[0])]
            more = further_steps(sub, step.s, known, self._batch - 1, region.multipliers, self.merit, options)
            points += [self.point(s) for s in more]
        if source is Source.RESTART:
            points[0] = restart_point(archive, self.merit, u[0], options.restart_distance, self.low, self.high)
            region.begin_again(options)
        return np.array(points), np.array([region.restart] + [before] * (self._batch - 1))

    def solve(self, sub: Subproblem, multipliers: np.ndarray) -> Step:
        """Solve a subproblem, from multipliers [C] of a similar one. Weights of the merit may rise."""
        return relaxed_step(sub, self.options.theta, multipliers, self.merit, self.options)

    def point(self, s: np.ndarray) -> np.ndarray:
        """The point [D] of a step s [D] in units of the region."""
        return bounded(self.region.centre + self.region.reach * s, self.low, self.high)

    def _expect(
        self, local: LocalFit, sub: Subproblem, step: Step, now: float, radius: float, restarts: np.ndarray,
        before: np.ndarray,
    ) -> Expectation:  # fmt: skip
        """What is expected of the points that are proposed."""
        options, merit, n_ineq = self.options, self.merit, sub.n_ineq
        foreseen = now - float(merit.of(step.value))
        violation, size = violations(sub.value, n_ineq), np.abs(step.multipliers)
        violation = np.where(violation > merit.tolerance, violation, 0.0)
        broken = bool((size > DEAR_SHARE * options.largest_price * sub.f_change / sub.changes).any())
        hardly = foreseen < options.least_gain * float(merit.weights @ violation)
        wanted = scale_weights(options.kappa, sub.f_change, sub.changes, sub.value[1:])
        return Expectation(
            source=self.region.next,
            restarts=restarts,
            merit=now,
            value=step.value,
            foreseen=foreseen,
            margin_cost=float(size[:n_ineq] @ sub.margin[:n_ineq]),
            size=float(np.abs(step.s).max()),
            radius=radius,
            farthest=local.farthest,
            f_change=sub.f_change,
            changes=sub.changes,
            violation=violation,
            conflict=broken and hardly and radius < options.conflict_radius,
            unmet=local.unmet,
            blind=local.blind,
            restart_weights=before if local.blind else np.maximum(wanted, options.multiplier_factor * size),
        )
