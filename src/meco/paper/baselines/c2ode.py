"""C2oDE: composite differential evolution for constraints (Wang, Li, Li and Wang 2019) in lockstep."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, Constants, bounded, masked_mean, namespace, rows, to_numpy
from meco.core.capabilities import Selection
from meco.core.engine import Task, first_population
from meco.core.evaluation import Evaluation
from meco.core.rule import Population, Progress, Rule, best, not_worse
from meco.engines.de.operators import distinct_indices, draw_numbers
from meco.engines.de.shade import binomial_crossover
from meco.engines.rule_engine import RuleEngine
from meco.rules import FeasibilityFirst, StaticPenalty
from meco.rules.levels import FallingEpsilon

TRIALS = 3  # of each individual
STUCK_SPREAD = 1e-8  # violations closer than this, none feasible: the population is stuck
POOLS = Constants(F=np.array([0.6, 0.8, 1.0]), CR=np.array([0.1, 0.2, 1.0]))
BY_VIOLATION = FeasibilityFirst()
BY_OBJECTIVE = StaticPenalty(weight=0.0)


class C2oDENumbers(NamedTuple):
    """The uniform numbers of one generation; draw() says in which order."""

    F: Array  # [B, N, 3] picks F of each trial
    CR: Array  # [B, N, 2] picks CR of the two trials that cross over
    others: tuple[Array, Array, Array]  # [B, N, 2], [B, N, 4], [B, N, 3]
    blend: Array  # [B, N] share of the way to a random member
    forced: Array  # [B, N, 2]
    cross: Array  # [B, N, 2, D]
    fresh: Array  # [B, N, D] points for a population that is stuck
    rule: Array  # [B, 2]

    @classmethod
    def draw(cls, task: Task, size: int) -> C2oDENumbers:
        """Numbers for a population of this size, in one block; the order is part of a seed's search."""
        n, d = size, task.dim
        F, CR, two, four, three, blend, forced, cross, fresh, rule = draw_numbers(
            task.rng, (n, 3), (n, 2), (n, 2), (n, 4), (n, 3), (n,), (n, 2), (n, 2, d), (n, d), (2,)
        )
        return cls(F, CR, (two, four, three), blend, forced, cross, fresh, rule)


class C2oDE(RuleEngine):
    """Three trials for each individual; the best of them by violation meets it under a falling allowance.

    A run whose individuals all violate alike gets a fresh population first; the other
    runs wait for it, so each is what it would be alone.
    """

    label = "C2oDE"
    fewest = 5  # a trial needs itself and four others

    def __init__(self, task: Task, rule: Rule | None = None, pop_size: int = 50) -> None:
        """FallingEpsilon is the rule unless one is given; too small a population is refused."""
        super().__init__(task, rule or FallingEpsilon(), pop_size)
        self._u: C2oDENumbers | None = None  # numbers of the generation that has begun
        self._wanted: np.ndarray | None = None  # [B, n] which runs need a fresh population; None: none does
        self.used = np.zeros(task.rng.runs, dtype=np.int64)  # [B] evaluations spent

    @property
    def remembers(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """Nothing that could be saved while trials of a generation are still to come."""
        return (*self.common, "used") if self._u is None else None

    def capabilities(self) -> tuple[Any, ...]:
        return (*super().capabilities(), Selection(lambda: self._wanted))

    def ask(self) -> Array:
        """The first population or three trials of each individual, [B, n, D]; fresh points where runs are stuck.

        Fresh ones are wanted by stuck runs alone (Selection). Draws the numbers of a generation once.
        """
        if self.population is None:
            return first_population(self.task, self.size)
        if self._u is None:
            self._u = C2oDENumbers.draw(self.task, self.size)
            renewed = to_numpy(is_stuck(self.population.ev)) & (self.used < self.task.budget)
            if np.any(renewed):
                self._wanted = np.repeat(renewed[:, None], self.size, axis=1)
                return self._u.fresh
        return make_trials(self.population, self._u)

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep the best trial [B, 3N, D] of each individual where it is not worse; what failed is never kept."""
        evaluated = x.shape[1] if self._wanted is None else self._wanted.sum(axis=1)
        self.used = np.minimum(self.used + evaluated, self.task.budget)
        if self.population is None:
            self.begin_population(x, ev)
        elif self._wanted is not None:
            self.population = self.population.replace_where(~ev.failed, x, ev)
            self._wanted = None
        else:
            self._select_survivors(x, ev)

    def _select_survivors(self, x: Array, ev: Evaluation) -> None:
        """End the generation: the best of trials x [B, 3N, D] replaces its individual unless worse or failed.

        The rule adapts.
        """
        assert self.population is not None
        assert self._u is not None
        trial = preselect_trials(x, ev, self.size)
        won = not_worse(self.key(trial.ev), self.key(self.population.ev))
        self.population = self.population.replace_where(won & ~trial.ev.failed, trial.x, trial.ev)
        self.generation += 1
        self.adapt_rule(self._u.rule)
        self._u = None

    def progress(self) -> Progress:
        """Progress after one population at first and three trials of each individual in every generation."""
        return self.task.progress(self.size * (1 + TRIALS * self.generation), self.generation)


def is_stuck(ev: Evaluation) -> Array:
    """Whether all violations of a run are alike and none is feasible: [B]; true too where all failed."""
    xp = namespace(ev.f)
    ok = ~ev.failed
    nu = xp.where(ok, ev.nu, 0.0)
    centred = nu - masked_mean(nu, ok)[:, None]
    spread = xp.sqrt(masked_mean(centred * centred, ok))
    return (spread < STUCK_SPREAD) & ~xp.any(ev.feasible, axis=-1)


def make_trials(population: Population, u: C2oDENumbers) -> Array:
    """Three candidates of each individual side by side: [B, 3N, D], the trials of i at 3i, 3i+1, 3i+2, in the cube."""
    xp, x = namespace(population.x), population.x
    by_objective = rows(x, best(BY_OBJECTIVE.key(population.ev, None))[:, None])  # [B, 1, D]
    by_violation = rows(x, best(BY_VIOLATION.key(population.ev, None))[:, None])
    F, CR = pick_setting("F", u.F), pick_setting("CR", u.CR)
    (a1, a2), (b1, b2, b3, b4), (c1, c2, c3) = ([rows(x, i) for i in distinct_indices(o)] for o in u.others)
    f1, f2, f3 = (F[..., k, None] for k in range(TRIALS))
    towards_objective = reflect_into_cube(x + f1 * (by_objective - x) + f1 * (a1 - a2))
    towards_feasible = reflect_into_cube(b1 + f2 * (by_violation - b2) + f2 * (b3 - b4))
    anywhere = reflect_into_cube(x + u.blend[..., None] * (c1 - x) + f3 * (c2 - c3))
    crossed = [
        binomial_crossover(x, mutant, CR[..., k], u.cross[..., k, :], u.forced[..., k])
        for k, mutant in enumerate((towards_objective, towards_feasible))
    ]
    side_by_side = xp.stack([*crossed, anywhere], axis=2)
    return xp.reshape(side_by_side, (x.shape[0], -1, x.shape[2]))


def reflect_into_cube(x: Array) -> Array:
    """Mirror at the bound of the unit cube that was crossed; what leaves by the other side stops there. Any shape."""
    xp = namespace(x)
    mirrored = xp.where(x < 0.0, -x, xp.where(x > 1.0, 2.0 - x, x))
    return bounded(mirrored, 0.0, 1.0)


def pick_setting(pool: str, u: Array) -> Array:
    """An entry of the pool "F" or "CR" for each number of u in [0, 1), in its shape."""
    xp = namespace(u)
    values = POOLS.on(u)[pool]
    index = xp.astype(u * values.shape[0], xp.int64)
    return xp.reshape(xp.take(values, xp.reshape(index, (-1,)), axis=0), u.shape)


def preselect_trials(x: Array, ev: Evaluation, size: int) -> Population:
    """The best trial by violation of each of size individuals: [B, 3N, ...] -> [B, N, ...]; failed ones come last."""
    xp = namespace(x)
    runs = x.shape[0]
    by_trial = ev.map(lambda a: xp.reshape(a, (runs * size, TRIALS, *a.shape[2:])))
    chosen = best(BY_VIOLATION.key(by_trial, None))[:, None]  # [B N, 1]

    def take_chosen(a: Array) -> Array:
        """The chosen one of each three: [B, 3N, ...] -> [B, N, ...]."""
        parts = xp.reshape(a, (runs * size, TRIALS, *a.shape[2:]))
        return xp.reshape(rows(parts, chosen), (runs, size, *a.shape[2:]))

    return Population(take_chosen(x), ev.map(take_chosen))
