"""BP-epsMAg-ES: bi-population MA-ES with an epsilon level and gradient repair (Hellwig and Beyer 2020)."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import rows
from meco.core.capabilities import FreePoints
from meco.core.engine import Engine, Task, first_population
from meco.core.evaluation import Evaluation
from meco.core.rule import Population, order
from meco.engines.es.maes import (
    MAX_MATRIX_ENTRY,
    SearchDistribution,
    StrategyParameters,
    move_distribution,
    parent_weights,
)
from meco.errors import InvalidInput
from meco.rules.levels import HellwigBeyerEpsilon, average_violation

MIN_POP_SIZE = 4
INITIAL_SIGMA = 1.0  # sigma of a fresh start, in the problem's own units
MIN_SIGMA = 1e-12
REPAIR_SHARE = 0.2  # share of the offspring that are repaired, every D generations
DIFFERENCE_STEP = 1e-4  # step of the finite differences, in the problem's own units
MAX_SIGMA_EXPONENT = 100.0  # largest exponent of a change of sigma: a repaired point may lie many steps away
STALL_BUDGET_SHARE = 0.1  # share of the budget without improvement that ends a start
SINGULAR_SHARE = 1e-12  # singular values below this share of the largest count as 0

Asking = Generator[np.ndarray, Evaluation, Any]  # yields points [1, n, D] of the unit cube, is sent their values


class StartPlan(NamedTuple):
    """Population, order and repair of one start."""

    size: int  # offspring
    rule: HellwigBeyerEpsilon
    repairs: int  # most steps of one gradient repair


class BpEpsMagEs(Engine):
    """Starts of an MA-ES with growing and small populations, one after the other, until the budget is spent.

    The search lives in the problem's own units, where its first step of 1 is meant. Its
    steps are written as generators that ask for evaluations where the algorithm needs them.
    """

    def __init__(self, task: Task, pop_size: int = 50, charge_jacobian: bool = True) -> None:
        """charge_jacobian counts evaluations for differences; several runs and too small populations are refused."""
        if pop_size < MIN_POP_SIZE:
            raise InvalidInput(f"BP-epsMAg-ES needs a pop_size of at least {MIN_POP_SIZE}; got {pop_size}")
        if task.rng.runs != 1:
            raise InvalidInput(f"BP-epsMAg-ES does one run at a time; got {task.rng.runs} random streams")
        self.task, self.size, self.charged = task, int(pop_size), bool(charge_jacobian)
        self.low, self.high = np.asarray(task.lower)[0, 0], np.asarray(task.upper)[0, 0]
        self.width = self.high - self.low
        self.used, self.free = 0, False  # evaluations paid for, and whether those asked for now cost nothing
        self.best = (math.inf, math.inf)  # violation and objective, over all starts
        self.eps, self.sigma, self.offspring = np.zeros(1), np.zeros(1), 0
        self._search = self._search_until_spent()
        self._asked = next(self._search)

    def ask(self) -> np.ndarray:
        """The points that the search asks for next, [1, n, D]; the same until tell()."""
        return self._asked

    def tell(self, x: np.ndarray, ev: Evaluation) -> None:
        """Count the points x [1, n, D], unless they are free.

        And let the search go on to those that it asks for next.
        """
        if not self.free:
            self.used = min(self.used + x.shape[1], self.task.budget)
        self._asked = self._search.send(ev)

    def capabilities(self) -> tuple[Any, ...]:
        """Points of differences may cost nothing; the caller reads `free` between ask and tell."""
        return (FreePoints(lambda: self.free),)

    def trace(self) -> dict[str, np.ndarray]:
        return {"eps": self.eps, "sigma": self.sigma, "offspring": np.array([self.offspring])}

    # -- restarts -----------------------------------------------------------------------------------

    def _search_until_spent(self) -> Asking:
        """Yields points to evaluate, without end.

        The first start, then large ones of doubled size and small ones between.
        """
        relaxed = StartPlan(self.size, HellwigBeyerEpsilon(eq_tol=self.task.eq_tol), repairs=3)
        yield from self._search_once(relaxed)
        number = small = cost_small = cost_large = 0
        while True:
            number += 1
            large = 2 ** (number - small) * self.size
            plan = relaxed
            if self.best[0] > 0 and number % 2 == 1:  # nothing feasible yet: strictly by violation, and repair hard
                plan = StartPlan(self.size, HellwigBeyerEpsilon(horizon=0, eq_tol=self.task.eq_tol), repairs=20)
            before = self.used
            if number > 2 and cost_small < cost_large:
                u = float(self.task.rng.uniform(1)[0, 0])
                yield from self._search_once(plan._replace(size=small_pop_size(self.size, large, u)))
                small += 1
                cost_small += self.used - before
            else:
                yield from self._search_once(plan._replace(size=large))
                cost_large += self.used - before

    # -- one start ----------------------------------------------------------------------------------

    def _search_once(self, plan: StartPlan) -> Asking:
        """Yields the points of an MA-ES from a uniform population, until it stops improving."""
        par = StrategyParameters.of(self.task.dim, -(-plan.size // plan.rule.one_in))
        unit = first_population(self.task, plan.size) if self.population is None else self._draw_uniform(plan.size)
        self.offspring = plan.size
        ev = yield unit
        x, generation = self.low + unit * self.width, 0
        begun = self.task.progress(self.used, self.generation)
        eps = plan.rule.start(Population(unit, ev), begun, self.task.rng.uniform(2))
        ranked = order(plan.rule.key(ev, eps))
        now = SearchDistribution.isotropic(centroid(x, ev, ranked[:, : par.mu]), INITIAL_SIGMA)
        best, improved = self._rate_first(ev, ranked), self.used
        self._record_generation(unit, ev, best, eps, now)
        while self.used - improved <= STALL_BUDGET_SHARE * self.task.budget and now.sigma[0] >= MIN_SIGMA:
            z = self.task.rng.normal(plan.size, self.task.dim)
            d = z @ np.swapaxes(now.matrix, 1, 2)
            wished = now.mean[:, None, :] + now.sigma[0] * d
            x = reflect_into(wished, self.low, self.high)
            ev = yield self._to_unit_cube(x)
            if generation % self.task.dim == 0:
                x, ev = yield from self._repair_some(x, ev, plan.repairs)
            z, d = self._replace_moved_steps(now, wished, x, z, d)
            ranked = order(plan.rule.key(ev, eps))
            now = self._adapt_distribution(now, z, d, ev, ranked[:, : par.mu], par)
            rating = self._rate_first(ev, ranked)
            self._record_generation(self._to_unit_cube(x), ev, rating, eps, now)
            if rating < best:
                best, improved = rating, self.used
            generation += 1
            self.generation += 1
            progress = self.task.progress(self.used, generation)
            eps = plan.rule.adapt(eps, Population(x, ev), progress, self.task.rng.uniform(2))

    def _rate_first(self, ev: Evaluation, ranked: np.ndarray) -> tuple[float, float]:
        """Average violation and f of the candidate that ranks first in ranked [1, N]; inf, inf where it failed."""
        first = ranked[0, 0]
        if ev.failed[0, first]:
            return math.inf, math.inf
        return float(average_violation(ev, self.task.eq_tol)[0, first]), float(ev.f[0, first])

    def _record_generation(
        self, unit: np.ndarray, ev: Evaluation, rating: tuple[float, float], eps: np.ndarray, now: SearchDistribution
    ) -> None:
        """Make points unit [1, N, D] the population, keep what trace() gives.

        And the rating if it is the best so far.
        """
        self.population, self.eps, self.sigma = Population(unit, ev), eps, now.sigma
        self.best = min(self.best, rating)

    def _replace_moved_steps(
        self, now: SearchDistribution, wished: np.ndarray, x: np.ndarray, z: np.ndarray, d: np.ndarray
    ) -> Any:
        """Steps z and d [1, N, D] as they were taken, where reflection and repair moved points from wished to x."""
        changed = np.any(x != wished, axis=-1, keepdims=True)
        if not np.any(changed):
            return z, d
        real = (x - now.mean[:, None, :]) / now.sigma[0]
        inverse = np.linalg.pinv(now.matrix[0], rcond=SINGULAR_SHARE)
        return np.where(changed, real @ inverse.T, z), np.where(changed, real, d)

    def _adapt_distribution(
        self,
        now: SearchDistribution,
        z: np.ndarray,
        d: np.ndarray,
        ev: Evaluation,
        parents: np.ndarray,
        par: StrategyParameters,
    ) -> SearchDistribution:
        """The distribution after parents [1, mu]: the shared update, but an own step-size rule and own limits."""
        weight = parent_weights(par.weights.on(z)["w"], ~rows(ev.failed, parents))
        now = move_distribution(now, rows(z, parents), rows(d, parents), weight, par)
        growth = 0.5 * par.c_sigma * (np.sum(now.path**2, axis=-1) / self.task.dim - 1.0)
        sigma = now.sigma * np.exp(np.minimum(growth, MAX_SIGMA_EXPONENT))
        now = now._replace(sigma=np.minimum(sigma, 0.5 * np.max(self.width)))
        if np.max(np.abs(now.matrix)) < MAX_MATRIX_ENTRY:  # nan is not below either
            return now
        return now._replace(matrix=np.eye(self.task.dim)[None], path=np.ones_like(now.path))

    # -- gradient repair ----------------------------------------------------------------------------

    def _repair_some(self, x: np.ndarray, ev: Evaluation, steps: int) -> Asking:
        """Gauss-Newton steps towards keeping all constraints, for a random part of the offspring x [1, N, D].

        Yields points to evaluate; returns the points and their evaluation.
        """
        for i in np.flatnonzero(self.task.rng.uniform(x.shape[1])[0] < REPAIR_SHARE):
            point, value = yield from self._repair_one(x[:, i : i + 1], candidate_evaluation(ev, int(i)), steps)
            here = (np.arange(x.shape[1]) == i)[None]
            x = np.where(here[..., None], point, x)
            ev = candidate_evaluation(value, 0).where(here, ev)
        return x, ev

    def _repair_one(self, x: np.ndarray, ev: Evaluation, steps: int) -> Asking:
        """Yields points to evaluate; returns x [1, 1, D] and its evaluation after at most so many steps.

        The last point is kept, even if it is worse.
        """
        cost = self.task.dim + 1 if self.charged else 1
        for _ in range(steps):
            violated = average_violation(ev, self.task.eq_tol)[0, 0] > 0  # nan of a failed point is not
            if not violated or self.task.budget - self.used < cost:
                break
            differences = difference_steps(x[0, 0], self.low, self.high)
            self.free = not self.charged
            around = yield self._to_unit_cube(x + np.diag(differences)[None])
            self.free = False
            if np.any(around.failed):
                break
            x = reflect_into(x + gauss_newton_move(ev, around, differences), self.low, self.high)
            ev = yield self._to_unit_cube(x)
        return x, ev

    def _draw_uniform(self, size: int) -> np.ndarray:
        """Uniform points of the unit cube, [1, size, D]."""
        return self.task.rng.uniform(size, self.task.dim)

    def _to_unit_cube(self, x: np.ndarray) -> np.ndarray:
        """Points [1, n, D] of the box in unit-cube coordinates, cut to it."""
        return np.clip((x - self.low) / np.where(self.width > 0, self.width, 1.0), 0.0, 1.0)


def candidate_evaluation(ev: Evaluation, i: int) -> Evaluation:
    """The evaluation [B, 1] of candidate i of each run."""
    return ev.map(lambda a: a[:, i : i + 1])


def small_pop_size(first: int, large: int, u: float) -> int:
    """Offspring of a small start: between the first size and half the large one, mostly near the first."""
    return int(first * (large / (2 * first)) ** (u * u))


def centroid(x: np.ndarray, ev: Evaluation, parents: np.ndarray) -> np.ndarray:
    """Plain mean of the parents [1, mu] that did not fail, of all points where all did: [1, D]."""
    ok = ~rows(ev.failed, parents)
    return np.mean(rows(x, parents)[ok], axis=0)[None] if np.any(ok) else np.mean(x, axis=1)


def reflect_into(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Mirror x [..., D] at the bound [D] that was crossed; whole widths of the box beyond it do not count."""
    width = np.where(high > low, high - low, 1.0)
    below, above = low - x, x - high
    x = np.where(below > 0, low + below - np.floor(below / width) * width, x)
    x = np.where(above > 0, high - above + np.floor(above / width) * width, x)
    return np.clip(x, low, high)


def difference_steps(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A step for each variable that stays in the box: forward, or backward at the upper bound; [D]."""
    size = np.minimum(DIFFERENCE_STEP, 0.5 * (high - low))
    return np.where(x + size <= high, size, -size)


def gauss_newton_move(here: Evaluation, around: Evaluation, steps: np.ndarray) -> np.ndarray:
    """-J^+ (max(g, 0), h): the least move that removes the violation of the linearised constraints: [D].

    around [1, D] holds the values with each variable moved by its own step; steps [D]. 0 where no finite move does.
    """
    base = np.concatenate([here.g, here.h], axis=-1)[0]  # [1, C]
    near = np.concatenate([around.g, around.h], axis=-1)[0]  # [D, C]
    slope = (near - base) / np.where(steps == 0, 1.0, steps)[:, None]
    target = np.concatenate([np.maximum(here.g, 0.0), here.h], axis=-1)[0, 0]
    try:
        move = -np.linalg.pinv(slope.T, rcond=SINGULAR_SHARE) @ target
    except np.linalg.LinAlgError:
        return np.zeros_like(steps)
    return move if np.all(np.isfinite(move)) else np.zeros_like(steps)
