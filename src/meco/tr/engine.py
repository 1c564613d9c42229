"""TR: quadratic models of f and every constraint in a relaxed trust region, in lockstep.

Each step the point of least merit is the centre, and models change least to meet the values nearest to it (look.py,
quadratic.py); a program in a box around the centre proposes a point, with a share theta of the violation allowed to
stay (step.py); by how well its merit was foreseen the box grows, is looked at more closely (a geometry point), or
shrinks (region.py). A box that has become too small starts again near the best point (proposals.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from meco.core.arrays import Array, asarray_like, maybe_any, namespace, zeros_like
from meco.core.capabilities import (
    Asynchronous,
    Batching,
    Convergence,
    Cooperation,
    LinearRows,
    Multipliers,
    Replay,
    SavedState,
    Steering,
)
from meco.core.control import Control, refuse_unknown
from meco.core.engine import Engine, Task
from meco.core.evaluation import Evaluation
from meco.errors import InvalidInput
from meco.tr.archive import LARGEST, SeenPoints
from meco.tr.async_proposals import AsyncProposals
from meco.tr.exact_rows import exact_rows
from meco.tr.expectation import Expectation, after_turn, expected
from meco.tr.feasibility_guard import keeper
from meco.tr.first_points import model_points, star, star_size
from meco.tr.lattice import Lattice
from meco.tr.merit import LATE, MERIT, Weights
from meco.tr.model_fit import View, fenced, looked
from meco.tr.multipliers import multipliers_at
from meco.tr.proposal_counts import no_points, with_turn
from meco.tr.proposals import SAME, TRIES, best_unseen, further_step, is_seen, least_known, new_start
from meco.tr.quadratic import Quadratic, explained_share
from meco.tr.region import FIRST, GEOMETRY, NARROWEST, RESTART, SHRINKAGE, STEP, Region
from meco.tr.step import Place, Step, merit, relaxed_step

CHECKS = 50  # times a run that the models are checked
THETA = Control("theta", 0.0, 1.0, 0.3, "share of the violation at the centre that a step may leave")


class TrustRegion(Engine):
    """Model steps alone. theta is a constant, falls from 0.5 to 0 with the budget (None), or is steered."""

    label = "TR"
    controls: tuple[Control, ...] = (THETA,)
    knows: tuple[str, ...] = ()  # what a policy may look at
    remembers: tuple[str, ...] = ("generation", "told", "passed", "held", "seen", "region", "explained", "counts")
    seen: SeenPoints
    region: Region
    counts: Array  # of the points, by who made them and what came of it: [B, 32]
    passed: Array  # evaluations told, where the runs are: [1]

    def __init__(self, task: Task, theta: float | None = THETA.default, batch: int = 1) -> None:
        if int(batch) < 1:
            raise InvalidInput(f"{self.label} proposes at least one point a step; got batch={batch}")
        self.task, self.batch, self.told = task, min(int(batch), task.budget), 0
        self.expectation: Expectation | None = None  # of the points asked for last
        self.lattice = None if task.integer is None else Lattice(task)
        self.inside = keeper(task, self.lattice)
        self.radius = FIRST if self.inside is None else self.inside.radius
        self.first = self._first_points()
        self.size = len(self.first)
        self.points = model_points(task.dim)
        self.rule = MERIT
        self.held: dict[str, Array | float | None] = {"theta": self._checked(THETA, theta)}

    def _first_points(self) -> np.ndarray:
        """The given points, or the middle, and a star around the first of them: [n, D]."""
        task, inside = self.task, self.inside
        given = np.full((1, task.dim), 0.5) if task.x0 is None else np.asarray(task.x0)
        if inside is not None and task.x0 is None:
            given = inside.anchor[None]
        arms = star_size(task.dim, task.budget - len(given)) if len(given) <= 2 * task.dim else 0
        ends = star(given[0], arms, self.radius)
        return np.concatenate([given, ends if inside is None else inside.at_first(ends)])

    def _checked(self, control: Control, value: float | None) -> float | None:
        if value is not None and not control.low <= value <= control.high:
            raise InvalidInput(f"{self.label} needs {control.name} in [{control.low:g}, {control.high:g}]; got {value}")
        return value

    def capabilities(self) -> tuple[Any, ...]:
        """Everything but a search without a box."""
        return (
            Steering(self.controls, self.knows, self.steer, self.knowledge),
            SavedState(self),
            Convergence(self.converged),
            Multipliers(self.multipliers),
            LinearRows((lambda x: x) if self.inside is None else self.inside.at_first),
            Batching(),
            Cooperation(self._learn, self._diversify),
            Asynchronous(self._one_at_a_time),
            Replay(self, self._graph_key, self._count_iteration, self.batch, self._parts, self._preallocate),
        )

    def _one_at_a_time(
        self, batch: int, tell: Callable[[Array, Any], None], aside: Callable[[int], None]
    ) -> AsyncProposals:
        return AsyncProposals(self, batch, tell, aside)

    def steer(self, values: Mapping[str, Array]) -> None:
        """Set controls by name, [B] each; the others stay."""
        refuse_unknown(self, self.controls, values)
        self.held.update(values)

    def knowledge(self) -> Mapping[str, Any]:
        """What a policy may look at."""
        return {}

    def theta(self) -> Array:
        """The relaxation in force: [B]."""
        theta = self.held["theta"]
        return zeros_like(self.region.delta) + (self.own_theta() if theta is None else theta)

    def own_theta(self) -> Array:
        """The relaxation where none is given: it falls with the budget, [1]."""
        return 0.5 * namespace(self.passed).clip(1.0 - self.passed / self.task.budget, min=0.0)

    @np.errstate(all="ignore")  # values may be huge; models that overflow are forgotten
    def ask(self) -> Array:
        """First the given points and a star around the first of them, then the points of a turn: [B, k, D]."""
        if self.generation == 0:
            like = self.task.rng.uniform(1, 1)
            return self._placed(namespace(like).zeros_like(like) + asarray_like(self.first, like))
        self.region, view = looked(self.seen, self.region, self.points)
        if (rows := exact_rows(self.task.limits, self.region.models)) is not None:
            self.region = self.region._replace(models=rows.into(self.region.models))
        self._check_models(view)
        place, around = self._place(view), self.region
        weights = self.region.weights.faded(self.task.dim)
        step = relaxed_step(place, self.theta(), self.region.multipliers, weights)
        if self.lattice is not None:
            step = self.lattice.settled(step, place, self.region, self.theta())
        self.region = self.region._replace(multipliers=step.multipliers, weights=step.weights)
        now = merit(place.value, place.n_ineq, step.weights)
        foreseen = now - merit(step.value, place.n_ineq, step.weights)
        x, who = self._turn(view, place, step, foreseen)
        if self.inside is not None:
            x = self.inside.drawn_back(x, self.seen, around, view)
            step = step._replace(value=place.values((x[:, 0, :] - around.centre) / around.delta[:, None]))
            foreseen = now - merit(step.value, place.n_ineq, step.weights)
        self.expectation = expected(view, place, step, weights, who, self._starts(around.start, x), now, foreseen)
        return x

    def _check_models(self, view: View) -> None:
        """Every fiftieth of the budget, how much of f and of the worst modelled constraint the models explain."""
        if not self.checks_now():
            return
        share = explained_share(view.fit)
        xp, constraints = namespace(share), share[:, 1:]
        worst = xp.min(constraints, axis=-1) if constraints.shape[-1] else xp.ones_like(share[:, 0])
        self.explained = (share[:, 0], worst)

    def checks_now(self) -> bool:
        """Whether the next turn is the first after another fiftieth of the budget."""
        parts = [told * CHECKS // self.task.budget for told in (self.told - self.batch, self.told)]
        return self.generation == 1 or parts[0] < parts[1]

    def _place(self, view: View) -> Place:
        """The box around the centre in units of the radius, and the fence before failed evaluations."""
        region, xp = self.region, namespace(view.value)
        delta, centre = region.delta[:, None], region.centre
        half = 1.0 + zeros_like(centre)
        if self.lattice is not None:  # whole-number variables can always move by one
            half = xp.maximum(half, self.lattice.grain / delta)
        low, high = xp.maximum(-half, -centre / delta), xp.minimum(half, (1.0 - centre) / delta)
        if maybe_any(self.seen.failed):
            fence, reach = fenced(self.seen, centre, region.delta)
        else:
            fence, reach = zeros_like(centre), zeros_like(region.delta) + xp.inf
        models = region.models.stretched(region.delta)
        return Place(models, view.value, view.span, low, high, fence, reach, self.seen.n_ineq, view.critical)

    def _turn(self, view: View, place: Place, step: Step, foreseen: Array) -> tuple[Array, Array]:
        """The points of this turn [B, k, D] and who proposes each [B, k]; foreseen [B] is the merit's decrease."""
        xp, u = namespace(step.s), self.task.rng.uniform(max(TRIES, self.batch) + 1, self.task.dim)
        x, stuck = self._at(step.s), view.blind
        if self.lattice is not None:
            x, stuck = self._moved_by_one(x, place, step.weights, stuck)
        stale = (self.region.turn == STEP) & ~(foreseen > 0.0)
        if maybe_any(stale):  # else nothing is looked for
            stale = stale & is_seen(self.seen, x, self.region.delta)
        turn = xp.where(stuck, RESTART, xp.where(stale, GEOMETRY, self.region.turn))
        self.region = self.region._replace(
            turn=turn, delta=xp.where(stale, SHRINKAGE * self.region.delta, self.region.delta)
        )
        looks, again, extra = turn == GEOMETRY, turn == RESTART, self.batch - 1
        points, who = [x], [turn]
        if maybe_any(looks) or extra:
            tries = least_known(view, place, self.region.delta, u[:, 1:, :], 1 + extra, looks | (extra > 0))
            points[0] = xp.where(looks[:, None], self._at(tries[:, 0, :]), x)
            for k in range(extra):
                steps = k % 2 == 0
                points.append(self._at(further_step(place, self.region, k // 2) if steps else tries[:, 1 + k, :]))
                who.append(xp.zeros_like(turn) + (STEP if steps else GEOMETRY))
        if maybe_any(again):
            points[0] = xp.where(again[:, None], self._restarted(again, u[:, 0, :]), points[0])
        return xp.stack(points, axis=1), xp.stack(who, axis=1)

    def _at(self, s: Array) -> Array:
        """The point of a step s [B, D], in the cube and on the lattice."""
        x = self.region.centre + self.region.delta[:, None] * s
        return self._placed(namespace(x).clip(x, min=0.0, max=1.0)[:, None, :])[:, 0, :]

    def _moved_by_one(self, x: Array, place: Place, weights: Weights, stuck: Array) -> tuple[Array, Array]:
        """Steps x [B, D] to evaluated places become the best unseen neighbour; runs without one are stuck [B]."""
        assert self.lattice is not None
        xp, region = namespace(x), self.region
        repeated = self._repeats(x) & (region.turn == STEP)
        if not maybe_any(repeated):
            return x, stuck
        near = self.lattice.neighbours(region.centre)
        best, some = best_unseen(self.seen, place, region, weights, near)
        return xp.where((repeated & some)[:, None], best, x), stuck | (repeated & ~some)

    def _repeats(self, x: Array) -> Array:
        """Whether a point x [B, D] has been evaluated: [B]."""
        return is_seen(self.seen, x, namespace(x).zeros_like(self.region.delta) + SAME)

    def _placed(self, x: Array) -> Array:
        return x if self.lattice is None else self.lattice.snapped(x)

    def _starts(self, before: Array, x: Array) -> Array:
        """The start that each of the points x [B, k, D] of a turn belongs to: only the first makes a new one."""
        others = namespace(x).broadcast_to(before[:, None], x.shape[:2])[:, 1:]
        return namespace(x).concat([self.region.start[:, None], others], axis=1)

    def _restarted(self, again: Array, u: Array) -> Array:
        """Forget the region where again [B] holds, and begin anew; u [B, D]."""
        region, xp = self.region, namespace(u)
        x = new_start(self.seen, region, u, 0.0 if self.lattice is None else self.lattice.grain)
        self.region = region._replace(
            start=region.start + xp.astype(again, region.start.dtype),
            delta=xp.where(again, self.radius, region.delta),
            models=Quadratic.flat(region.models.gradient.shape, u).where(again, region.models),
            multipliers=xp.where(again[:, None], 0.0, region.multipliers),
        )
        return self._placed(x[:, None, :])[:, 0, :]

    @np.errstate(all="ignore")
    def tell(self, x: Array, ev: Evaluation) -> None:
        """Remember the points, and judge the step by what was expected of it."""
        if self.generation == 0:
            self._begin(x, ev)
        else:
            made = self.expectation
            assert made is not None
            self.seen.add(x, ev, made.start, self.region.centre)
            merits = self.rule.key(ev, made.weights).minor
            self.counts = with_turn(self.counts, made.who, merits < made.merit[:, None], ev)
            late = self.passed >= LATE * self.task.budget
            self.region = after_turn(self.region, made, merits, late, self._narrowest(self.region.delta))
        self.passed = self.passed + x.shape[1]
        self.told += x.shape[1]
        self.generation += 1

    def _graph_key(self) -> Hashable | None:
        return self.checks_now(), self.seen.has_room(self.batch)

    def _count_iteration(self) -> None:
        self.told += self.batch
        self.generation += 1
        self.seen.count_more(self.batch)

    def _parts(self) -> tuple[object, ...]:
        return (self, self.seen)

    def _preallocate(self) -> None:
        self.seen.make_room(self.batch)

    def _learn(self, x: Array, ev: Evaluation) -> None:
        """Models and centre use these points; a new start does not return to them."""
        self.seen.add(x, ev, namespace(x).zeros_like(self.region.start), self.region.centre)

    def _diversify(self, u: Array) -> None:
        """A radius of its own, between the present one and a hundredth of it: equal models make equal steps."""
        self.region = self.region._replace(delta=self.region.delta * 0.01**u)

    def _begin(self, x: Array, ev: Evaluation) -> None:
        xp, (runs, count, dim) = namespace(x), x.shape
        none = xp.zeros_like(x[:, 0, 0])
        start = xp.astype(none, xp.int64)
        self.seen = SeenPoints(x, ev, start, min(count + self.task.budget, max(LARGEST, 2 * count, count + self.batch)))
        constraints = ev.g.shape[-1] + ev.h.shape[-1]
        zeros = xp.zeros((runs, constraints), dtype=x.dtype, device=x.device)
        weights = Weights(zeros, zeros, self.task.tolerance(ev))
        models = Quadratic.flat((runs, 1 + constraints, dim), x)
        self.explained, self.passed = (none, none), none[:1]
        self.region = Region(x[:, 0, :], none + self.radius, models, zeros, weights, start + STEP, start)
        looks = xp.zeros_like(ev.failed, dtype=start.dtype) + GEOMETRY
        self.counts = with_turn(no_points(x), looks, ev.failed & ~ev.failed, ev)

    def _narrowest(self, delta: Array) -> Array:
        """The radius below which a run starts again: a quarter of a place where all variables are whole."""
        xp = namespace(delta)
        least = xp.zeros_like(delta) + NARROWEST
        if self.lattice is None:
            return least
        return xp.maximum(least, 0.25 * xp.min(self.lattice.grain, axis=-1))  # 0 with any continuous variable

    def converged(self) -> Array:
        """Runs [B] whose region is about to start again from a centre that keeps every constraint."""
        if self.expectation is None:
            return namespace(self.region.delta).zeros_like(self.region.delta) > 0.0
        return (self.region.turn == RESTART) & ~namespace(self.region.delta).any(self.expectation.violated, axis=-1)

    def multipliers(self, x: Array) -> Array:
        """From a program of models around each x [B, D], however far the search has gone on since."""
        fixed = None if self.lattice is None else self.lattice.grain > 0.0
        return multipliers_at(self.seen, x, self.region, self.points, self.task.limits, fixed)

    def trace(self) -> dict[str, Array]:
        """Radius, relaxation and weights of each run, its starts, its models' leave-one-out R^2, who proposed last."""
        region = self.region
        who = region.turn if self.expectation is None else self.expectation.who[:, 0]
        weights = self.rule.trace(region.weights)
        shares = dict(zip(("r2_f", "r2_c"), self.explained))
        return {"delta": region.delta, "theta": self.theta(), "who": who, "starts": region.start, **shares, **weights}
