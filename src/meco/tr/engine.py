"""TR: quadratic models of f and every constraint in a relaxed trust region, in lockstep.

Each iteration the point of least merit is the centre, and models change least to meet the values nearest to it
(model_fit.py, quadratic.py); a program in a box around the centre gives a step, with a share theta of the violation
allowed to stay (step.py); proposers make points of it, and of what else is worth evaluating (proposers/). By how well
its merit was foreseen the box grows, gets a geometry point, or shrinks (region.py); one that has become too small
starts again near the best point.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace, norm, zeros_like
from meco.core.capabilities import (
    Asynchronous,
    Batching,
    Convergence,
    Cooperation,
    InfiniteBounds,
    LinearRows,
    SavedState,
)
from meco.core.control import Control, refuse_unknown
from meco.core.engine import Engine, Task
from meco.core.evaluation import Evaluation
from meco.errors import InvalidInput
from meco.tr.archive import PointArchive, values_of
from meco.tr.async_proposals import AsyncProposals
from meco.tr.begin import begin_state
from meco.tr.controls import TR_CONTROLS, ControlValues
from meco.tr.expectation import Asked, make_expectation, update_constraint_errors, update_region
from meco.tr.failure_avoidance import StepChoice
from meco.tr.failure_response import (
    avoid_failures,
    expect_failures,
    learn_failures,
    score_failures,
    widen_restart_radius,
)
from meco.tr.feasibility_guard import make_guard
from meco.tr.initial_design import initial_points, initial_radii
from meco.tr.lattice import Lattice, snap_to
from meco.tr.merit import ESCALATION_BUDGET_SHARE, MERIT
from meco.tr.model_check import check_models, model_check_is_due
from meco.tr.model_fit import LocalFit, fit_models, model_size, tells_curvature, use_exact_rows
from meco.tr.noise import drop_insignificant, keep_radius
from meco.tr.noise_response import compare_repeats, may_be_noisy, repeat_calls, smooth_fitted_points
from meco.tr.partial_answers import excuse_near_misses, fill_expected, fit_models_with_gaps, judge_told, keep_off_gaps
from meco.tr.proposal_counts import add_points, failed_share, has_feasible
from meco.tr.proposers.model_points import Iteration, ModelPoints
from meco.tr.region import MAX_FREE_RADIUS, MAX_RADIUS, PointSource, Region, shape_region
from meco.tr.step import Step, Subproblem, merit, relaxed_step
from meco.tr.tr_state import TrState, find_capacity

CONTROLS_IN_ORDER = itemgetter(*ControlValues._fields)


class TrustRegion(Engine):
    """Points of quadratic models; `controls` of controls.py are constants of a search."""

    remembers = ("generation", "settings", "state")  # `asked` is not: it is saved between a tell and the next ask

    def __init__(self, task: Task, batch: int = 1, **controls: float) -> None:
        """batch points an iteration, at most the budget; controls are constants, their defaults unless given.

        Places the first points, and calls cheap constraints for that. InvalidInput for a batch below 1 and a constant
        out of its range, and for a control that it does not have.
        """
        if int(batch) < 1:
            raise InvalidInput(f"TR proposes at least one point a step; got batch={batch}")
        self.task, self.batch = task, min(int(batch), task.budget)
        self.lattice = None if task.integer is None else Lattice(task)
        self.guard, self.models = make_guard(task, self.lattice), ModelPoints(task, self.lattice)
        refuse_unknown(self, TR_CONTROLS, controls)
        given = {c.name: c.default for c in TR_CONTROLS} | controls
        self.settings: dict[str, Any] = {c.name: self._check_setting(c, given[c.name]) for c in TR_CONTROLS}
        self._place_first_points()
        self.asked: Asked | None = None  # left by propose() for tell(); AsyncProposals puts back that of an older point
        self._state: TrState | None = None

    def _check_setting(self, control: Control, value: float) -> float:
        """A constant for a control as a float; InvalidInput, which names its range, for another."""
        if not control.low <= value <= control.high:
            raise InvalidInput(f"TR needs {control.name} in [{control.low:g}, {control.high:g}]; got {value}")
        return float(value)

    def _place_first_points(self) -> None:
        """Set radii [1, D] and first [1, n, D], the first region and its points, from the controls."""
        task, settings = self.task, self.settings
        guarded = self.guard is not None and self.guard.limits.needs_models
        self.radii = initial_radii(task, guarded, settings["initial_radius"], settings["x0_radius"])[None]
        self.first = initial_points(task, self.guard, self.radii[0])[None]
        if self.models.categories is not None:  # of tasks with one run, as cheap constraints
            self.first = self.models.categories.first_points(self.radii[0])[None]
        if self.models.cheap is not None:
            self.first = self.models.cheap.first_points(self.radii[0], self.models.categories)[None]

    @property
    def state(self) -> TrState:
        """What the search remembers; there is none before the first tell."""
        assert self._state is not None, "the first points have not been told yet"
        return self._state

    @state.setter
    def state(self, state: TrState) -> None:
        self._state = state

    @property
    def region(self) -> Region:
        """Centre, radius and models of each run."""
        return self.state.region

    @property
    def archive(self) -> PointArchive:
        """The evaluated points."""
        return self.state.archive

    def make_room(self, budget: int) -> None:
        """Make room for the points of a larger budget."""
        if self._state is not None and self._state.working is None:
            archive = self._state.archive
            archive.capacity = max(archive.capacity, find_capacity(budget, archive.count, self.batch))
            archive.reserve(archive.capacity - archive.count)

    def capabilities(self) -> tuple[Any, ...]:
        """Everything that a method of models can do."""
        return (
            SavedState(self),
            Convergence(self._find_converged),
            LinearRows((lambda x: x) if self.guard is None else self.guard.project),
            InfiniteBounds(),
            Batching(),
            Cooperation(self._learn_foreign_points, self._diversify),
            Asynchronous(self._start_async),
        )

    def theta(self) -> Array:
        """The relaxation in force, [B]."""
        return zeros_like(self.region.delta) + self.settings["theta"]

    def _controls_in_force(self) -> ControlValues:
        """The controls in force, [B or 1] each."""
        given = self.settings | {"theta": self.theta()}
        return ControlValues(*CONTROLS_IN_ORDER(given))

    def ask(self) -> Array:
        """First the given points and a star around the first, [B, n, D]; then those of propose(), [B, batch, D].

        Draws numbers, and in an iteration changes the state as propose() does.
        """
        if self.generation == 0:
            like = self.task.rng.uniform(1, 1)
            return snap_to(self.lattice, namespace(like).zeros_like(like) + asarray_like(self.first, like))
        return self.propose(self.batch)

    @np.errstate(all="ignore")  # values may be huge; models that overflow are forgotten
    def propose(self, batch: int) -> Array:
        """`batch` points of the next iteration: [B, batch, D].

        Fits the models around the best point, solves for a step, and lets proposers make points of it. Sets `asked` to
        what is expected of them, and changes region, R^2, roughness, noise and failure scale of the state; a region may
        shrink or start again. Draws numbers.
        """
        state = self.state
        controls = self._controls_in_force()
        local = self._fit_models(controls)
        if self._model_check_is_due(batch):
            check_models(self.task, state, local, controls.roughness, first=self.generation == 1)
        if self.models.categories is None:  # along which nothing bends
            state.region = state.region._replace(width=self._shape_region(controls))
        sub, before = self._make_subproblem(local, controls), state.region
        weights = state.region.weights.decayed(self.task.dim, controls.weight_decay)
        step = relaxed_step(sub, controls.theta, state.region.multipliers, weights)
        failures, tested = learn_failures(self.task, state, batch), None
        if failures is not None:
            given = controls.theta, state.region.multipliers, weights
            at_centre = merit(sub.value, sub.n_ineq, step.weights)
            step, sub, tested = avoid_failures(state, StepChoice(step, sub, state.region, failures, at_centre, given))
        if self.lattice is not None:
            step, leaves = self.lattice.fix_integers(step, sub, state.region, controls.theta, state.archive)
        if self.models.cheap is not None:
            step = self.models.cheap.refine(sub, step, state.region, controls.theta)
        state.region = state.region._replace(multipliers=step.multipliers, weights=step.weights)
        now = merit(sub.value, sub.n_ineq, step.weights)
        foreseen = now - merit(step.value, sub.n_ineq, step.weights)
        x, source = self.models.propose(state, Iteration(local, sub, step, now, foreseen, batch, controls, failures))
        if self.lattice is not None:
            source = self.lattice.mark_probes(source, leaves)
            if self.models.categories is None:
                local = local._replace(farthest=self.lattice.farthest(local, before))
        if self.models.categories is not None:
            x, source = self.models.categories.take_turns(
                x, source, state.archive, sub, before, step.weights, float(foreseen[0]), state.told
            )
        if self.guard is not None or self.models.cheap is not None:
            x, step = self._keep_limits(x, sub, step, before, local)
            foreseen = now - merit(step.value, sub.n_ineq, step.weights)
        x, source = repeat_calls(self.task, state, x, source, before)
        index = _index_restarts(before, state.region, x)
        made = make_expectation(local, sub, step, weights, source, index, now, foreseen, before.delta)
        self.asked = Asked(made)
        if failures is not None:
            assert tested is not None
            self.asked = expect_failures(self.asked, state, failures, x, tested)
        return x

    def _fit_models(self, controls: ControlValues) -> LocalFit:
        """Fit models to what was told, known limits standing for themselves, and set centre and models of state.region.

        controls are [B or 1] each. Noisy runs are fitted to smoothed values, which changes state.noise.
        """
        state, size = self.state, model_size(self.task.dim)
        archive, eta = smooth_fitted_points(self.task, state, controls.gradient_freedom, size)
        if self.models.categories is not None:
            region, local = self.models.categories.fit(state.archive, state.region, controls, eta)
        elif state.archive.partial:
            region, local = fit_models_with_gaps(state.archive, state.region, size, controls, eta)
        else:
            region, local = fit_models(archive, state.region, size, controls, eta)
        region = use_exact_rows(region, self.task.limits)
        state.region = region if self.models.cheap is None else self.models.cheap.use_exact_models(region)
        return local

    def _shape_region(self, controls: ControlValues) -> Array:
        """Widths [B, D] that follow curvature, where enough points tell it; elsewhere those that the region has."""
        if not tells_curvature(self.task.dim):
            return self.region.width
        return shape_region(self.region, self.state.first_width, controls.shaping)

    def _keep_limits(
        self, x: Array, sub: Subproblem, step: Step, before: Region, local: LocalFit
    ) -> tuple[Array, Step]:
        """Points x [1, k, D] of an iteration moved to where hard and cheap constraints are kept, and the step.

        Its value becomes what is expected at the first point; s stays. before is the region that the step was made in.
        Numbers may be drawn.
        """
        archive, cheap = self.state.archive, self.models.cheap
        if self.guard is not None:
            x = self.guard.pull_back(x, archive, before, local)
        if cheap is not None:
            x = cheap.keep_inside(x, archive, sub, before, step.weights)
        value = sub.values((x[:, 0, :] - before.centre) / before.reach)
        return x, step._replace(value=value if cheap is None else cheap.exact_values(x[0, 0], value))

    def _model_check_is_due(self, batch: int) -> bool:
        """Whether models are to be checked in this iteration, before which `batch` points were told."""
        return model_check_is_due(self.task, self.state.told, self.generation, batch)

    def _make_subproblem(self, local: LocalFit, controls: ControlValues) -> Subproblem:
        """What a step solves: models and a box around the centre, in units of the radius.

        Integer variables can always move by one. Margins are by the models' last errors, at most a share of the change
        across the region.
        """
        archive, region, xp = self.archive, self.region, namespace(local.value)
        delta, centre = region.reach, region.centre
        half = 1.0 + zeros_like(centre)
        if self.lattice is not None:  # integer variables can always move by one
            half = xp.maximum(half, self.lattice.spacing / delta)
        least, most = self.task.walls
        low, high = xp.maximum(-half, (least - centre) / delta), xp.minimum(half, (most - centre) / delta)
        models = region.models.rescaled(delta)
        widest = controls.margin[:, None] * norm(models.gradient[:, 1:, :])
        margin = controls.caution[:, None] * region.error * (region.delta * region.delta)[:, None]
        margin = xp.minimum(xp.where(xp.isnan(margin), xp.inf, margin), widest)
        if archive.partial:
            margin = keep_off_gaps(margin, models)
        sub = Subproblem(
            models=models,
            value=local.value,
            span=local.span,
            low=low,
            high=high,
            normal=zeros_like(centre),
            distance=zeros_like(region.delta) + xp.inf,
            n_ineq=archive.n_ineq,
            margin=margin,
            kappa=controls.kappa,
            memory=controls.multiplier_memory,
            critical=local.critical,
        )
        sub = sub if self.models.categories is None else self.models.categories.hold_categories(sub)
        return sub if self.models.cheap is None else self.models.cheap.without_margins(sub)

    @np.errstate(all="ignore")
    def tell(self, x: Array, ev: Evaluation) -> None:
        """Learn from points x [B, k, D] that ask() gave last, and their evaluation; counts a generation.

        The first call makes the state from the first points. Later ones add to the archive, judge the step by `asked`,
        and change region, counts, noise, evidence of failures, working set. Failed points do not judge models.
        """
        asked = self.asked
        if self.generation == 0:
            radii = asarray_like(self.radii, x)
            matrices = self.models.cheap is not None or self.models.categories is not None
            self.state = begin_state(self.task, x, ev, radii, self.batch, matrices)
            ev = self.state.reduce(ev)
            self.settings = {name: asarray_like([value], x) for name, value in self.settings.items()}
        else:
            assert asked is not None
            every, ev = ev, self.state.keep_and_reduce(ev)
            self._learn_from_points(asked, x, ev)
            if self.state.working is not None:
                self.state.working.exchange(self.state, every)
        self.state.count_points(x.shape[1])
        self.generation += 1

    def _learn_from_points(self, asked: Asked, x: Array, ev: Evaluation) -> None:
        """Add points x [B, k, D] and reduced answers to archive and counts, and judge by them what was expected.

        Changes the region, and before that noise and evidence of failures, for which the archive must not hold them.
        """
        state, made = self.state, asked.expectation
        if ev.partial is not None:
            made = excuse_near_misses(made, ev, state.archive)
        compare_repeats(self.task, state, x, ev)
        score_failures(state, asked, ev)
        merits = judge_told(MERIT.key(ev, made.weights).minor, made, ev, state.archive)
        state.archive.add(x, ev, made.restart_index, state.region.centre)
        state.counts = add_points(state.counts, made.source, merits < made.merit[:, None], ev)
        late = state.told_array >= ESCALATION_BUDGET_SHARE * self.task.budget
        controls = self._controls_in_force()
        least = self._restart_radius(controls)
        most = MAX_RADIUS if self.task.range is None else MAX_FREE_RADIUS
        kept = None if ev.intact else asked.kept
        y, judged, before = fill_expected(values_of(ev), ev, made.value), merits, state.region
        if may_be_noisy(self.task, state):
            y, judged = drop_insignificant(state.noise, made, state.region.multipliers, y, merits)
        state.region = update_region(
            before, made, y, judged, late, least, controls, most, kept, ~has_feasible(state.counts)
        )
        if made is not asked.expectation:  # excused: margins learn by how much it missed, or the next would miss, too
            error = update_constraint_errors(before.error, y[:, 0, 1:], made, made.source[:, 0] == PointSource.GEOMETRY)
            state.region = state.region._replace(error=error)
        if may_be_noisy(self.task, state):
            state.region = keep_radius(state.noise, made, before, state.region)

    def _restart_radius(self, controls: ControlValues) -> Array:
        """The radius [B] below which a run starts again.

        Larger beside failures; a quarter of the least spacing where all variables are integer.
        """
        xp = namespace(self.region.delta)
        least = widen_restart_radius(self.state, zeros_like(self.region.delta) + controls.restart_radius)
        if self.lattice is None:
            return least
        return xp.maximum(least, 0.25 * xp.min(self.lattice.spacing, axis=-1))  # 0 with any continuous variable

    def trace(self) -> dict[str, Array]:
        """Radius, theta, source of the last first point, restarts, R^2 and failures [B] by name, and weights [B, C]."""
        state, region = self.state, self.region
        source = region.next_source if self.asked is None else self.asked.expectation.source[:, 0]
        return {
            "delta": region.delta, "theta": self.theta(), "source": source, "restarts": region.restart_index,
            "r2_f": state.r2[0], "r2_c": state.r2[1], "failed_share": failed_share(state.counts),
            **MERIT.trace(region.weights),
        }  # fmt: skip

    # -- what else it can do ------------------------------------------------------------------------

    def _find_converged(self) -> Array:
        """Runs [B] about to start again from a centre that keeps every constraint; none before an iteration."""
        if self._state is None:
            return np.zeros(self.task.rng.runs, dtype=bool)
        xp, region = namespace(self.region.delta), self.region
        if self.asked is None:
            return xp.zeros_like(region.delta) > 0.0
        return (region.next_source == PointSource.RESTART) & ~xp.any(self.asked.expectation.violated, axis=-1)

    def _learn_foreign_points(self, x: Array, ev: Evaluation) -> None:
        """Add points x [B, k, D] of other searches to the archive, as of restart 0: later ones do not return there."""
        ev = self.state.keep_and_reduce(ev)
        self.archive.add(x, ev, namespace(x).zeros_like(self.region.restart_index), self.region.centre)

    def _diversify(self, u: Array) -> None:
        """Multiply the radius by 0.01^u, u [B] in [0, 1): equal models make equal steps."""
        self.state.region = self.region._replace(delta=self.region.delta * 0.01**u)

    def _start_async(self, batch: int, tell: Callable[[Array, Any], None]) -> AsyncProposals:
        return AsyncProposals(self, batch, tell)


def _index_restarts(before: Region, after: Region, x: Array) -> Array:
    """The restart that each of the points x [B, k, D] belongs to: [B, k].

    The first to that of the region after the proposal, which it may begin; the others to that before.
    """
    xp, first = namespace(x), after.restart_index[:, None]
    if x.shape[1] == 1:
        return first
    return xp.concat([first, xp.broadcast_to(before.restart_index[:, None], x.shape[:2])[:, 1:]], axis=1)
