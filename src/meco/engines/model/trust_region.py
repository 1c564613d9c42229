"""TR and TR-ES: quadratic models of f and every constraint in a relaxed trust region, in lockstep.

Each step the point of least merit is the centre; models change least to meet the values nearest to it (quadratic.py);
a program in a box around the centre proposes a point, with a share theta of the violation allowed to stay (step.py);
by how well its merit was foreseen the box grows, is looked at more closely (a geometry point), or shrinks (region.py).
A box that has become too small starts again around the best point. TR-ES lets an evolution strategy (offspring.py)
propose a share of the points; they enter the models, and the centre is the best of both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from meco.arrays import Array, anywhere, asarray_like, namespace, nearest, rows
from meco.engines.engine import Control, Engine, Task
from meco.engines.model.archive import LARGEST, SeenPoints, as_evaluation, values_of
from meco.engines.model.lattice import Lattice
from meco.engines.model.merit import Merit, Weights
from meco.engines.model.offspring import Strategy
from meco.engines.model.quadratic import Fit, Quadratic, least_change, variance
from meco.engines.model.region import (
    CONVERGED,
    FIRST,
    GEOMETRY,
    NARROWEST,
    OFFSPRING,
    RESTART,
    SHRINKAGE,
    STEP,
    Region,
    judged,
    next_turn,
)
from meco.engines.model.step import Place, Step, merit, relaxed_step, scales
from meco.errors import InvalidInput
from meco.problems.evaluation import Evaluation
from meco.rules.rule import Key, best

CLOSE = 0.05  # radii within which a point is as good as evaluated
TRIES = 40  # random points of which the one the models know least about is the geometry point
AROUND = 0.25  # how far from the best point a new start may lie, in the unit cube
THETA = Control("theta", 0.0, 1.0, 0.3, "share of the violation at the centre that a step may leave")
SHARE = Control("share", 0.0, 1.0, 0.0, "share of the points that the evolution strategy proposes")


class View(NamedTuple):
    """What a step is made from: the models around the centre, and what they were fitted to."""

    place: Place
    fit: Fit
    spread: Array  # [B] unit of the fit's points
    farthest: Array  # [B] distance of the farthest of them
    blind: Array  # [B] whether no evaluation since the start has succeeded


class Proposal(NamedTuple):
    """Points under evaluation and what is expected of the first: who [B, k] proposed them; the others [B]."""

    who: Array
    merit: Array  # at the centre
    foreseen: Array  # decrease
    width: Array  # of the step, as a share of the box
    f_change: Array
    farthest: Array
    violated: Array  # [B, C] what the centre violates


class TrustRegion(Engine):
    """TR: model steps alone. theta is a constant, or steered."""

    controls: tuple[Control, ...] = (THETA,)
    label = "TR"

    def __init__(self, task: Task, theta: float | None = THETA.default, batch: int = 1) -> None:
        if theta is not None and not 0.0 <= theta <= 1.0:
            raise InvalidInput(f"{self.label} needs a theta between 0 and 1; got {theta}")
        if batch < 1:
            raise InvalidInput(f"{self.label} proposes at least one point a step; got batch={batch}")
        self.task, self.batch = task, int(batch)
        self.size = model_points(task.dim)
        self.rule = Merit()
        self.seen: SeenPoints | None = None
        self.region: Region | None = None
        self.lattice = None if task.whole is None else Lattice(task)
        self.held: dict[str, Array | float | None] = {"theta": theta}
        self.strategy: Strategy | None = None

    # ---- asking -----------------------------------------------------------------------------------------------

    def ask(self) -> Array:
        """First the given points and a star around the first of them; then a batch of proposals: [B, k, D]."""
        if self.seen is None:
            return self._first_points()
        view = self._look()
        step = relaxed_step(view.place, self.theta(), self.region.multipliers, self.region.weights.faded(self.task.dim))
        self.region = self.region._replace(multipliers=step.multipliers, weights=step.weights)
        return self._proposed(view, step)

    def _first_points(self) -> Array:
        like = self.task.rng.uniform(1)
        xp, runs = namespace(like), self.task.rng.runs
        given = np.full((1, self.task.dim), 0.5) if self.task.x0 is None else np.asarray(self.task.x0)
        x = np.concatenate([given, star(given[0], star_size(self.task.dim, self.task.budget - len(given)))])
        x = xp.broadcast_to(asarray_like(x, like)[None], (runs, *x.shape))
        return xp.zeros_like(x) + x if self.lattice is None else self.lattice.snapped(x)

    def theta(self) -> Array:
        """The relaxation in force, [B]: as steered, the constant, or falling from 0.5 to 0 with the budget."""
        theta = self.held["theta"]
        if theta is None:
            theta = 0.5 * max(0.0, 1.0 - self.told / self.task.budget)
        return namespace(self.region.delta).zeros_like(self.region.delta) + theta

    def steer(self, values: Mapping[str, Array]) -> None:
        unknown = [name for name in values if name not in self.held]
        if unknown:
            raise InvalidInput(f"{self.label} has the controls {', '.join(self.held)}; got {unknown[0]!r}")
        self.held.update(values)

    def _look(self) -> View:
        """Choose the centre, and fit the models around it."""
        seen, region, dim = self.seen, self.region, self.task.dim
        xp = namespace(seen.x)
        old = seen.failed | (seen.start < region.start[:, None])
        key = self.rule.values(seen.evaluation(), region.weights).last_where(old)
        chosen = best(key)[:, None]
        blind = everywhere_in(old)
        centre = xp.where(blind[:, None], 0.5, rows(seen.x, chosen)[:, 0, :])
        value = rows(seen.y, chosen)[:, 0, :]
        apart = seen.x - centre[:, None, :]
        square = xp.where(seen.failed, xp.inf, xp.sum(apart * apart, axis=-1))
        near = nearest(square, min(self.size, seen.count))
        there = ~rows(seen.failed, near)[..., None]
        u = xp.where(there, rows(apart, near), 0.0)
        y = xp.where(there, rows(seen.y, near) - value[:, None, :], 0.0)
        square = xp.sum(u * u, axis=-1)
        spread = xp.sqrt(xp.sum(square, axis=-1) / xp.clip(xp.sum(xp.astype(there[..., 0], u.dtype), axis=-1), min=1.0))
        spread = xp.where(spread > 0.0, spread, 1.0)
        prior = region.models.shifted(centre - region.centre).stretched(spread)
        models, fit = least_change(prior, u / spread[:, None, None], y)
        models = models.stretched(1.0 / spread)
        models = models.where(models.finite, Quadratic.flat(*models.gradient.shape, u))
        self.region = region._replace(centre=centre, models=models)
        span = xp.max(xp.abs(y), axis=1)
        place = self._place(value, span)
        return View(place, fit, spread, xp.sqrt(xp.max(square, axis=-1)), blind)

    def _place(self, value: Array, span: Array) -> Place:
        """The box around the centre in units of the radius, and the fence before failed evaluations."""
        region, xp = self.region, namespace(value)
        delta, centre = region.delta[:, None], region.centre
        half = xp.ones_like(centre)
        if self.lattice is not None:  # whole-number variables can always move by one
            half = xp.maximum(half, self.lattice.grain / delta)
        low, high = xp.maximum(-half, -centre / delta), xp.minimum(half, (1.0 - centre) / delta)
        fence, reach = xp.zeros_like(centre), xp.zeros_like(region.delta) + xp.inf
        if anywhere(self.seen.failed):
            fence, reach = fenced(self.seen, centre, region.delta)
        local = region.models.stretched(region.delta)
        return Place(local, value, span, low, high, fence, reach, self.seen.n_ineq)

    def _proposed(self, view: View, step: Step) -> Array:
        """The point of this turn, and further ones where a batch is asked for; what is expected is kept for tell()."""
        region, dim, extra = self.region, self.task.dim, self.batch - 1
        xp, place = namespace(step.s), view.place
        u = self.task.rng.uniform(TRIES + 1, dim)
        now = merit(place.value, place.n_ineq, step.weights)
        foreseen = now - merit(step.value, place.n_ineq, step.weights)
        x = self._inside(place, step.s)
        apart = xp.max(xp.abs(self.seen.x - x[:, None, :]), axis=-1)
        stale = (xp.min(apart, axis=-1) < CLOSE * region.delta) & (foreseen <= 0.0) & (region.turn == STEP)
        turn = xp.where(view.blind, RESTART, xp.where(stale, GEOMETRY, region.turn))
        delta = xp.where(stale, SHRINKAGE * region.delta, region.delta)
        self.region = region = region._replace(turn=turn, delta=delta)
        looks = turn == GEOMETRY
        if anywhere(looks) or extra:
            tries = xp.minimum(xp.maximum(2.0 * u[:, 1:, :] - 1.0, place.low[:, None, :]), place.high[:, None, :])
            unknown = variance(view.fit, tries * (region.delta / view.spread)[:, None, None])
            order_ = xp.argsort(-unknown, axis=-1)[:, : 1 + extra]
            tries = rows(tries, order_)
            x = xp.where(looks[:, None], self._inside(place, tries[:, 0, :]), x)
        again = turn == RESTART
        if anywhere(again):
            x = xp.where(again[:, None], self._restart(again, u[:, 0, :]), x)
        points, who = [x], [turn]
        for k in range(extra):
            points.append(self._inside(place, tries[:, 1 + k, :]))
            who.append(xp.full_like(turn, GEOMETRY))
        x, who = xp.stack(points, axis=1), xp.stack(who, axis=1)
        if self.strategy is not None:
            x, who = self._with_offspring(x, who)
        width = xp.max(xp.abs(step.s), axis=-1)
        c = as_evaluation(place.value[:, None, :], place.n_ineq, looks[:, None]).c[:, 0, :]
        self.proposal = Proposal(
            who, now, foreseen, width, scales(place).f, view.farthest, c > region.weights.tolerance
        )
        return x

    def _inside(self, place: Place, s: Array) -> Array:
        """The point of a step s [B, D], in the cube and on the lattice."""
        xp = namespace(s)
        x = xp.clip(self.region.centre + self.region.delta[:, None] * s, min=0.0, max=1.0)
        return x if self.lattice is None else self.lattice.snapped(x[:, None, :])[:, 0, :]

    def _restart(self, again: Array, u: Array) -> Array:
        """Begin anew where again [B] holds: a point near the best one, anywhere if there is none; u [B, D]."""
        seen, region = self.seen, self.region
        xp = namespace(u)
        chosen = best(self.rule.values(seen.evaluation(), region.weights).last_where(seen.failed))[:, None]
        near = rows(seen.x, chosen)[:, 0, :] + 2.0 * AROUND * (u - 0.5)
        x = xp.where(everywhere_in(seen.failed)[:, None], u, xp.clip(near, min=0.0, max=1.0))
        self.region = region._replace(
            start=region.start + xp.astype(again, region.start.dtype),
            delta=xp.where(again, FIRST, region.delta),
            models=Quadratic.flat(*region.models.gradient.shape, u).where(again, region.models),
            multipliers=xp.where(again[:, None], 0.0, region.multipliers),
        )
        return x if self.lattice is None else self.lattice.snapped(x[:, None, :])[:, 0, :]

    # ---- telling ----------------------------------------------------------------------------------------------

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Remember the points, and judge the step by what was expected of it."""
        if self.seen is None:
            self._begin(x, ev)
        else:
            self._judge(x, ev)
        self.generation += 1

    def _begin(self, x: Array, ev: Evaluation) -> None:
        xp, (runs, count, dim) = namespace(x), x.shape
        none = xp.zeros_like(x[:, 0, 0])
        number = xp.astype(none, xp.int64)
        self.seen = SeenPoints(x, ev, number, min(count + self.task.budget, max(LARGEST, 2 * count)))
        constraints = ev.g.shape[-1] + ev.h.shape[-1]
        flat = xp.zeros((runs, constraints), dtype=x.dtype, device=x.device)
        weights = Weights(flat, flat, self.task.tolerance(ev))
        models = Quadratic.flat(runs, 1 + constraints, dim, x)
        self.region = Region(x[:, 0, :], none + FIRST, models, flat, weights, number + STEP, number, none > 1.0)
        self.told = count

    def _judge(self, x: Array, ev: Evaluation) -> None:
        region, made = self.region, self.proposal
        xp = namespace(x)
        self.seen.add(x, ev, region.start, region.centre)
        self.told += x.shape[1]
        key = self.rule.key(ev, region.weights).minor  # [B, k], inf where it failed
        verdict = judged(made.merit, key[:, 0], made.foreseen, made.f_change)
        stepped = made.who[:, 0] == STEP
        helped = xp.min(key, axis=-1) < made.merit  # another point of the batch moved the centre
        good, poor = verdict.good & stepped, verdict.poor & stepped & ~helped
        weights = region.weights.after(made.violated, poor)
        narrowest = self._narrowest(region.delta)
        delta, turn = next_turn(
            region.delta, verdict._replace(good=good, poor=poor), made.width, made.farthest, narrowest, self.task.dim
        )
        mine = made.who[:, 0] != OFFSPRING  # a turn that the strategy took is still to come
        self.region = region._replace(
            weights=weights,
            delta=delta,
            turn=xp.where(mine, turn, region.turn),
            converged=region.converged | (delta < CONVERGED),
        )
        if self.strategy is not None:
            self._tell_offspring(values_of(ev), ev.failed)

    def _narrowest(self, delta: Array) -> Array:
        """The radius below which a run starts again: a quarter of a place where all variables are whole."""
        xp = namespace(delta)
        least = xp.zeros_like(delta) + NARROWEST
        if self.lattice is None:
            return least
        grain = xp.min(self.lattice.grain, axis=-1)  # 0 with any continuous variable
        return xp.maximum(least, 0.25 * grain)

    def trace(self) -> dict[str, Array]:
        """Radius, controls and weights of each run, and who proposed the last point."""
        region = self.region
        xp = namespace(region.delta)
        who = xp.zeros_like(region.turn) if self.generation < 2 else self.proposal.who[:, 0]
        return {
            "delta": region.delta,
            "theta": self.theta(),
            "weights": region.weights.w,
            "who": who,
            "starts": region.start,
        }


class TrustRegionES(TrustRegion):
    """TR-ES: an evolution strategy proposes a share of the points.

    Unless given or steered, model steps alone until a start has converged, then a large share: a problem with many
    minima shows itself by converging early. theta falls from 0.5 to 0.
    """

    controls = (THETA, SHARE)
    label = "TR-ES"

    def __init__(self, task: Task, theta: float | None = None, share: float | None = None, batch: int = 1) -> None:
        super().__init__(task, theta, batch)
        if share is not None and not 0.0 <= share <= 1.0:
            raise InvalidInput(f"{self.label} needs a share between 0 and 1; got {share}")
        self.held["share"] = share

    def share(self) -> Array:
        """The share in force, [B]."""
        xp, region = namespace(self.region.delta), self.region
        share = self.held["share"]
        if share is None:
            return xp.where(region.converged, 0.9, 0.0)
        return xp.zeros_like(region.delta) + share

    def _begin(self, x: Array, ev: Evaluation) -> None:
        super()._begin(x, ev)
        middle = namespace(x).zeros_like(x[:, 0, :]) + 0.5
        self.strategy = Strategy(middle, self.region.models.gradient.shape[1])

    def _with_offspring(self, x: Array, who: Array) -> tuple[Array, Array]:
        """Points [B, k, D], some of them replaced by offspring; a new start is not put off."""
        xp, count = namespace(x), x.shape[1]
        u, self.z = self.task.rng.uniform(count + x.shape[2]), self.task.rng.normal(count, x.shape[2])
        born, self.d = self.strategy.offspring(self.z)
        if self.lattice is not None:
            born = self.lattice.snapped(born)
        self.fresh = u[:, count:]
        use = (u[:, :count] < self.share()[:, None]) & (who != RESTART)
        return xp.where(use[..., None], born, x), xp.where(use, OFFSPRING, who)

    def _tell_offspring(self, y: Array, failed: Array) -> None:
        """Tell the strategy what became of its points; generations are ranked by the merit in force."""

        def key(y: Array, failed: Array) -> Key:
            return self.rule.values(as_evaluation(y, self.seen.n_ineq, failed), self.region.weights).last_where(failed)

        for k in range(y.shape[1]):
            used = self.proposal.who[:, k] == OFFSPRING
            self.strategy.tell(used, self.z[:, k, :], self.d[:, k, :], y[:, k, :], failed[:, k], key, self.fresh)

    def trace(self) -> dict[str, Array]:
        return {**super().trace(), "share": self.share(), "sigma": self.strategy.distribution.sigma}


def model_points(dim: int) -> int:
    """Points a model is fitted to: 3 D + 1, and in few variables enough for a whole quadratic."""
    return 3 * dim + 1 + min(3 * dim, 12)


def star_size(dim: int, budget: int) -> int:
    """Arms of the first star: two along each axis, fewer where that would be more than two thirds of the budget."""
    return max(0, min(2 * dim, 2 * budget // 3))


def star(centre: np.ndarray, arms: int) -> np.ndarray:
    """Points at the first radius from a centre [D] along the axes, upwards first: [arms, D]; turned inwards at a face."""
    steps = FIRST * np.concatenate([np.eye(centre.size), -np.eye(centre.size)])[:arms]
    outside = (centre + steps < 0.0) | (centre + steps > 1.0)
    return np.clip(centre + np.where(outside, -0.5 * steps, steps), 0.0, 1.0)


def everywhere_in(mask: Array) -> Array:
    """Whether a mask [B, n] holds for all points of a run: [B]."""
    return namespace(mask).all(mask, axis=-1)


def fenced(seen: SeenPoints, centre: Array, delta: Array) -> tuple[Array, Array]:
    """Direction [B, D] of the failed evaluation nearest to the centre, and half the way to it, in radii [B].

    Zero and no limit where none is near.
    """
    xp = namespace(centre)
    apart = seen.x - centre[:, None, :]
    distance = xp.sqrt(xp.sum(apart * apart, axis=-1))
    distance = xp.where(seen.failed & (distance > 0.0), distance, xp.inf)
    chosen = xp.argmin(distance, axis=-1)[:, None]
    way = rows(distance, chosen)[:, 0]
    near = way < 2.0 * math.sqrt(centre.shape[-1]) * delta
    way = xp.where(near, way, 1.0)
    fence = xp.where(near[:, None], rows(apart, chosen)[:, 0, :] / way[:, None], 0.0)
    return fence, xp.where(near, 0.5 * way / delta, xp.inf)
