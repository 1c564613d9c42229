"""TR: quadratic models of f and every constraint in a relaxed trust region, in lockstep. TR-ES: with offspring beside.

Each iteration the point of least merit is the centre, and models change least to meet the values nearest to it
(model_fit.py, quadratic.py); a program in a box around the centre gives a step, with a share theta of the violation
allowed to stay (step.py); proposers make points of it, and of what else is worth evaluating (proposers/). By how well
its merit was foreseen the box grows, gets a geometry point, or shrinks (region.py); one that has become too small
starts again near the best point.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace, norm, to_numpy, zeros_like
from meco.core.capabilities import (
    Asynchronous,
    Batching,
    Convergence,
    Cooperation,
    InfiniteBounds,
    LinearRows,
    Replay,
    SavedState,
    Steering,
)
from meco.core.control import Control, refuse_unknown
from meco.core.engine import Engine, Task
from meco.core.evaluation import Evaluation
from meco.errors import InvalidInput
from meco.tr.archive import PointArchive, values_of
from meco.tr.async_proposals import AsyncProposals
from meco.tr.begin import begin_state
from meco.tr.controls import TR_CONTROLS, ControlValues
from meco.tr.expectation import Asked, make_expectation, update_error, update_region
from meco.tr.failure_avoidance import StepChoice
from meco.tr.failure_response import (
    avoid_failures,
    expect_failures,
    learn_failures,
    score_failures,
    widen_restart_radius,
)
from meco.tr.feasibility_guard import make_guard
from meco.tr.features import TR_FEATURE_NEEDS
from meco.tr.initial_design import initial_points, initial_radii
from meco.tr.knowledge import describe_search
from meco.tr.lattice import Lattice, snap_to
from meco.tr.merit import ESCALATION_BUDGET_SHARE, MERIT
from meco.tr.model_check import check_models, model_check_is_due
from meco.tr.model_fit import LocalFit, fit_models, model_size, tells_curvature, use_exact_rows
from meco.tr.noise import drop_insignificant, keep_radius
from meco.tr.noise_response import compare_repeats, may_be_noisy, repeat_calls, smooth_fitted_points
from meco.tr.partial import excuse_near_misses, fill_expected, fit_known_parts, judge_told, keep_off_gaps
from meco.tr.profile_features import PROFILE_FEATURE_NEEDS, describe_profile_search
from meco.tr.proposal_counts import add_points, failed_share
from meco.tr.proposers.model_points import Iteration, ModelPoints
from meco.tr.proposers.offspring import SHARE, Offspring, default_share
from meco.tr.region import MAX_FREE_RADIUS, MAX_RADIUS, PointSource, Region, shape_region
from meco.tr.step import Step, Subproblem, merit, relaxed_step
from meco.tr.tr_state import TrState

ROUGH_RESTART_RADIUS = 1e-3  # below which nothing is left to find where f has been rough all along


class TrustRegion(Engine):
    """Points of models, and where offspring=True a share of offspring of an evolution strategy in their place.

    theta is a constant, falls from 0.5 to 0 with the budget (None), or is steered; share is a constant, grows with
    every restart (None), or is steered.
    """

    remembers = ("generation", "settings", "state")  # `asked` is not: it is saved between a tell and the next ask

    def __init__(
        self,
        task: Task,
        batch: int = 1,
        offspring: bool = False,
        share: float | None = None,
        **controls: float | None,
    ) -> None:
        self._label = "TR-ES" if offspring else "TR"
        if int(batch) < 1:
            raise InvalidInput(f"{self._label} proposes at least one point a step; got batch={batch}")
        self.task, self.batch = task, min(int(batch), task.budget)
        self.lattice = None if task.integer is None else Lattice(task)
        self.guard, self.models = make_guard(task, self.lattice), ModelPoints(task, self.lattice)
        self.offspring = Offspring(task, self.lattice) if offspring else None
        self.controls: tuple[Control, ...] = (*TR_CONTROLS, SHARE) if offspring else TR_CONTROLS
        refuse_unknown(self, self.controls, controls)
        given = {c.name: c.default for c in TR_CONTROLS} | controls | ({"share": share} if offspring else {})
        self.settings: dict[str, Any] = {c.name: self._check_setting(c, given[c.name]) for c in self.controls}
        self._place_first_points()
        self.asked: Asked | None = None  # left by propose() for tell(); AsyncProposals puts back that of an older point
        self._state: TrState | None = None

    def _check_setting(self, control: Control, value: float | None) -> float | None:
        """A constant that is given for a control, or an error that names its range."""
        if value is not None and not control.low <= value <= control.high:
            raise InvalidInput(
                f"{self._label} needs {control.name} in [{control.low:g}, {control.high:g}]; got {value}"
            )
        return None if value is None else float(value)

    def _place_first_points(self) -> None:
        """Set radii [B or 1, D] and first [B or 1, n, D], the first region and its points, from the controls."""
        task, settings = self.task, self.settings
        guarded = self.guard is not None and self.guard.limits.needs_models
        each = np.broadcast_arrays(*(np.atleast_1d(to_numpy(settings[n])) for n in ("initial_radius", "x0_radius")))
        self.radii = np.stack([initial_radii(task, guarded, *map(float, pair)) for pair in zip(*each)])
        self.first = np.stack([initial_points(task, self.guard, radii) for radii in self.radii])
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

    def capabilities(self) -> tuple[Any, ...]:
        """Everything that a method of models can do."""
        knows = PROFILE_FEATURE_NEEDS if self.offspring is None else TR_FEATURE_NEEDS
        return (
            Steering(self.controls, knows, self.steer, self._describe_search),
            SavedState(self),
            Convergence(self._find_converged),
            LinearRows((lambda x: x) if self.guard is None else self.guard.project),
            InfiniteBounds(),
            Batching(),
            Cooperation(self._learn_foreign_points, self._diversify),
            Asynchronous(self._start_async),
            Replay(
                engine=self,
                graph_key=self._graph_key,
                advance_counters=self._count_iteration,
                batch_size=self.batch,
                parts=self._overwritten_parts,
                preallocate=self._reserve_rows,
            ),
        )

    def steer(self, values: Mapping[str, Array]) -> None:
        """Set controls by name, [B] each; the others stay. Before the first ask the first region follows them, too."""
        refuse_unknown(self, self.controls, values)
        self.settings.update(values)
        if self.generation == 0 and not values.keys().isdisjoint(("initial_radius", "x0_radius")):
            self._place_first_points()

    def theta(self) -> Array:
        """The relaxation in force: [B]."""
        theta = self.settings["theta"]
        return zeros_like(self.region.delta) + (self.default_theta() if theta is None else theta)

    def _values_in_force(self) -> ControlValues:
        """The controls in force, [B or 1] each."""
        given = self.settings | {"theta": self.theta()}
        return ControlValues(*(given[name] for name in ControlValues._fields))

    def default_theta(self) -> Array:
        """The relaxation where none is given: it falls with the budget, [1]."""
        told = self.state.told_array
        return 0.5 * namespace(told).clip(1.0 - told / self.task.budget, min=0.0)

    def _share_in_force(self) -> Array:
        """The share of offspring in force: [B]."""
        share = self.settings.get("share", 0.0)
        return default_share(self.region) if share is None else zeros_like(self.region.delta) + share

    def ask(self) -> Array:
        """First the given points and a star around the first of them, then the points of an iteration: [B, k, D]."""
        if self.generation == 0:
            like = self.task.rng.uniform(1, 1)
            return snap_to(self.lattice, namespace(like).zeros_like(like) + asarray_like(self.first, like))
        return self.propose(self.batch)

    @np.errstate(all="ignore")  # values may be huge; models that overflow are forgotten
    def propose(self, batch: int) -> Array:
        """So many points of the next iteration: [B, batch, D]; `asked` is what their answers are for."""
        state = self.state
        values = self._values_in_force()
        local = self._fit_models(values)
        if self._model_check_is_due(batch):
            check_models(self.task, state, local, values.roughness, first=self.generation == 1)
        if self.models.categories is None:  # along which nothing bends
            state.region = state.region._replace(width=self._shape_region(values))
        sub, before = self._make_subproblem(local, values), state.region
        weights = state.region.weights.decayed(self.task.dim, values.weight_decay)
        step = relaxed_step(sub, self.theta(), state.region.multipliers, weights)
        failures, tested = learn_failures(self.task, state, batch), None
        if failures is not None:
            given = self.theta(), state.region.multipliers, weights
            at_centre = merit(sub.value, sub.n_ineq, step.weights)
            step, sub, tested = avoid_failures(state, StepChoice(step, sub, state.region, failures, at_centre, given))
        if self.lattice is not None:
            step, leaves = self.lattice.fix_integers(step, sub, state.region, self.theta(), state.archive)
        if self.models.cheap is not None:
            step = self.models.cheap.refine(sub, step, state.region, self.theta())
        state.region = state.region._replace(multipliers=step.multipliers, weights=step.weights)
        now = merit(sub.value, sub.n_ineq, step.weights)
        foreseen = now - merit(step.value, sub.n_ineq, step.weights)
        x, source = self.models.propose(state, Iteration(local, sub, step, foreseen, batch, values, failures))
        if self.lattice is not None:
            source = self.lattice.mark_probes(source, leaves)
            if self.models.categories is None:
                local = local._replace(farthest=self.lattice.farthest(local, before))
        draws = None
        if self.offspring is not None:
            x, source, draws = self.offspring.replace_points(state, x, source, self._share_in_force(), failures)
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
        self.asked = Asked(made, draws)
        if failures is not None:
            assert tested is not None
            self.asked = expect_failures(self.asked, state, failures, x, tested)
        return x

    def _fit_models(self, values: ControlValues) -> LocalFit:
        """The region around the best point with models of what is told, and with what is known beforehand as it is."""
        state, size = self.state, model_size(self.task.dim)
        archive, eta = smooth_fitted_points(self.task, state, values.gradient_freedom, size)
        if self.models.categories is not None:
            region, local = self.models.categories.fit(state.archive, state.region, values, eta)
        elif state.archive.partial:
            region, local = fit_known_parts(state.archive, state.region, size, values, eta)
        else:
            region, local = fit_models(archive, state.region, size, values, eta)
        region = use_exact_rows(region, self.task.limits)
        state.region = region if self.models.cheap is None else self.models.cheap.use_exact_models(region)
        return local

    def _shape_region(self, values: ControlValues) -> Array:
        """Widths that follow curvature, where the points of a fit tell it; elsewhere those of the region."""
        if not tells_curvature(self.task.dim):
            return self.region.width
        return shape_region(self.region, self.state.first_width, values.shaping)

    def _keep_limits(
        self, x: Array, sub: Subproblem, step: Step, before: Region, local: LocalFit
    ) -> tuple[Array, Step]:
        """Points of an iteration moved to where hard and cheap constraints are kept, and the step by the first."""
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

    def _make_subproblem(self, local: LocalFit, values: ControlValues) -> Subproblem:
        """The box around the centre in units of the radius."""
        archive, region, xp = self.archive, self.region, namespace(local.value)
        delta, centre = region.reach, region.centre
        half = 1.0 + zeros_like(centre)
        if self.lattice is not None:  # integer variables can always move by one
            half = xp.maximum(half, self.lattice.spacing / delta)
        least, most = self.task.walls
        low, high = xp.maximum(-half, (least - centre) / delta), xp.minimum(half, (most - centre) / delta)
        models = region.models.rescaled(delta)
        widest = values.margin[:, None] * norm(models.gradient[:, 1:, :])
        margin = values.caution[:, None] * region.error * (region.delta * region.delta)[:, None]
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
            kappa=values.kappa,
            memory=values.multiplier_memory,
            critical=local.critical,
        )
        sub = sub if self.models.categories is None else self.models.categories.hold(sub)
        return sub if self.models.cheap is None else self.models.cheap.without_margins(sub)

    @np.errstate(all="ignore")
    def tell(self, x: Array, ev: Evaluation) -> None:
        """Remember the points, and judge the step by what was expected of it."""
        asked = self.asked
        if self.generation == 0:
            radii, strategy = asarray_like(self.radii, x), self.offspring is not None
            matrices = self.models.cheap is not None or self.models.categories is not None
            self.state = begin_state(self.task, x, ev, radii, self.batch, strategy, matrices)
            ev = self.state.reduce(ev)
            self.settings = {k: asarray_like([v], x) if isinstance(v, float) else v for k, v in self.settings.items()}
        else:
            assert asked is not None
            every, ev = ev, self.state.keep_and_reduce(ev)
            self._learn_from_points(asked, x, ev)
            if self.state.working is not None:
                self.state.working.exchange(self.state, every)
        self.state.count(x.shape[1])
        self.generation += 1
        if self.offspring is not None and self.generation > 1:
            assert asked is not None
            assert asked.draws is not None
            self.offspring.learn(self.state, asked.draws, asked.expectation.source, ev)

    def _learn_from_points(self, asked: Asked, x: Array, ev: Evaluation) -> None:
        """What answers to points x [B, k, D] make of archive, counts and region."""
        state, made = self.state, asked.expectation
        if ev.partial is not None:
            made = excuse_near_misses(made, ev, state.archive)
        compare_repeats(self.task, state, x, ev)
        score_failures(state, asked, ev)
        merits = judge_told(MERIT.key(ev, made.weights).minor, made, ev, state.archive)
        state.archive.add(x, ev, made.restart_index, state.region.centre)
        state.counts = add_points(state.counts, made.source, merits < made.merit[:, None], ev)
        late = state.told_array >= ESCALATION_BUDGET_SHARE * self.task.budget
        values = self._values_in_force()
        least = self._restart_radius(values)
        most = MAX_RADIUS if self.task.range is None else MAX_FREE_RADIUS
        kept = None if ev.intact else asked.kept
        y, judged, before = fill_expected(values_of(ev), ev, made.value), merits, state.region
        if may_be_noisy(self.task, state):
            y, judged = drop_insignificant(state.noise, made, state.region.multipliers, y, merits)
        state.region = update_region(before, made, y, judged, late, least, values, most, kept)
        if made is not asked.expectation:  # excused: margins learn by how much it missed, or the next would miss, too
            error = update_error(before.error, y[:, 0, 1:], made, made.source[:, 0] == Source.GEOMETRY)
            state.region = state.region._replace(error=error)
        if may_be_noisy(self.task, state):
            state.region = keep_radius(state.noise, made, before, state.region)

    def _restart_radius(self, values: ControlValues) -> Array:
        """The radius [B] below which a run starts again: a quarter of a value where all variables are integer."""
        delta = self.region.delta
        xp = namespace(delta)
        rough = xp.maximum(values.restart_radius, zeros_like(values.restart_radius) + ROUGH_RESTART_RADIUS)
        least = values.restart_radius * (rough / values.restart_radius) ** self.state.rough.lately
        least = widen_restart_radius(self.state, least)
        if self.lattice is None:
            return least
        return xp.maximum(least, 0.25 * xp.min(self.lattice.spacing, axis=-1))  # 0 with any continuous variable

    def trace(self) -> dict[str, Array]:
        """Radius, controls and weights of each run, its restarts, R^2 of its models, failed calls, the last source."""
        state, region = self.state, self.region
        source = region.next_source if self.asked is None else self.asked.expectation.source[:, 0]
        found = {
            "delta": region.delta, "theta": self.theta(), "source": source, "restarts": region.restart_index,
            "r2_f": state.r2[0], "r2_c": state.r2[1], "failed_share": failed_share(state.counts),
            **MERIT.trace(region.weights),
        }  # fmt: skip
        if state.strategy is not None:
            found |= {"share": self._share_in_force(), "sigma": state.strategy.distribution.sigma}
        return found

    # -- what else it can do ------------------------------------------------------------------------

    def _describe_search(self) -> Mapping[str, Any]:
        if self.offspring is not None:
            return describe_search(self.task, self.state, self.default_theta())
        rng = self.task.rng
        runs = rng.xp.zeros(rng.runs, dtype=rng.xp.float64, device=rng.device)
        return describe_profile_search(self.task, self._state, runs)

    def _find_converged(self) -> Array:
        """Runs [B] whose region is about to start again from a centre that keeps every constraint."""
        xp, region = namespace(self.region.delta), self.region
        if self.asked is None:
            return xp.zeros_like(region.delta) > 0.0
        return (region.next_source == PointSource.RESTART) & ~xp.any(self.asked.expectation.violated, axis=-1)

    def _learn_foreign_points(self, x: Array, ev: Evaluation) -> None:
        """Models and centre use these points; a restart does not return to them."""
        ev = self.state.keep_and_reduce(ev)
        self.archive.add(x, ev, namespace(x).zeros_like(self.region.restart_index), self.region.centre)

    def _diversify(self, u: Array) -> None:
        """A radius of its own, between the present one and a hundredth of it: equal models make equal steps."""
        self.state.region = self.region._replace(delta=self.region.delta * 0.01**u)

    def _start_async(
        self, batch: int, tell: Callable[[Array, Any], None], aside: Callable[[int], None]
    ) -> AsyncProposals:
        return AsyncProposals(self, batch, tell, aside)

    def _graph_key(self) -> Hashable | None:
        """What an iteration's operations depend on: iterations of one key may be replayed from one recording."""
        return self._model_check_is_due(self.batch), self.archive.has_room(self.batch)

    def _count_iteration(self) -> None:
        """What the host counts when a device repeats ask and tell; as tell() and archive.add() do."""
        self.state.told += self.batch
        self.generation += 1
        self.archive.advance_count(self.batch)

    def _overwritten_parts(self) -> tuple[object, ...]:
        """Objects whose arrays an iteration replaces: a recording must find them where they were."""
        state = self.state
        return (self, state, state.archive, *([] if state.strategy is None else [state.strategy]))

    def _reserve_rows(self) -> None:
        self.archive.reserve(self.batch)


def _index_restarts(before: Region, after: Region, x: Array) -> Array:
    """The restart that each of the points x [B, k, D] belongs to: only the first makes a new one, [B, k]."""
    xp = namespace(x)
    others = xp.broadcast_to(before.restart_index[:, None], x.shape[:2])[:, 1:]
    return xp.concat([after.restart_index[:, None], others], axis=1)


def make_tr_es(
    task: Task, theta: float | None = None, share: float | None = None, batch: int = 1, **controls: float
) -> TrustRegion:
    """TR-ES: unless given or steered, theta falls with the budget, and the share grows with every restart."""
    return TrustRegion(task, batch, offspring=True, share=share, theta=theta, **controls)
