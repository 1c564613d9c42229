"""COLSHADE (Gurrola-Ramos, Hernandez-Aguirre and Dalmau-Cedeno 2020) on SHADE's core, in lockstep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, bounded, namespace, rows
from meco.core.engine import Task, first_population
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, best, gain, not_worse, order
from meco.engines.de.external_archive import ExternalArchive
from meco.engines.de.operators import draw_numbers
from meco.engines.de.shade import binomial_crossover, current_to_pbest, pick_guides, pick_others
from meco.engines.de.success_history import SuccessHistory
from meco.engines.rule_engine import RuleEngine
from meco.errors import InvalidInput
from meco.rules.levels import ShrinkingTolerance

HISTORY_SLOTS = 6  # of each success history
GUIDE_SHARE = 0.11  # share of the best that may guide
ARCHIVE_PER_INDIVIDUAL = 2.6  # archive members for each individual
LEVY_SCALE = 0.01  # scale of the Lévy law
MOMENTUM = 0.25  # of the probability of a Lévy flight
MIN_MOVE_PROBABILITY = 0.001  # either move keeps at least this probability
INWARD_SHARE = 0.1  # how far from the bound towards the parent a component is put back


class ColShadeNumbers(NamedTuple):
    """The random numbers of one generation; all [B, N] but where it says so.

    They are drawn in the order of the fields, which is part of a seed's search.
    """

    move: Array
    slot: Array
    F: Array
    guide: Array
    first: Array
    second: Array
    forced: Array
    cross: Array  # [B, N, D]
    inward: Array  # [B, N, D]
    drop: Array  # [B, N + capacity]
    rule: Array  # [B, 2]
    CR: Array  # [B, N], normal
    flight: Array  # [B, N, D], normal

    @classmethod
    def draw(cls, task: Task, size: int, capacity: int) -> ColShadeNumbers:
        """Numbers for a population and an archive of these sizes: a block of uniform ones, then one of normal ones."""
        n, d = size, task.dim
        shapes = [(n,)] * 7 + [(n, d), (n, d), (n + capacity,), (2,)]
        return cls(*draw_numbers(task.rng, *shapes), *draw_numbers(task.rng, (n,), (n, d), normal=True))


class ColShadeTrials(NamedTuple):
    """How the trials of a generation were made, which ask leaves for tell."""

    u: ColShadeNumbers
    flies: Array  # [B, N], which trials are flights
    F: Array  # [B, N]
    CR: Array  # [B, N]
    strict: Key  # of the parents, under the final tolerance
    pool: Array  # [B, N + capacity, D], parents before the archive


class ColShade(RuleEngine):
    """SHADE with a second move, a Lévy flight towards a good point, and equality tolerances that shrink.

    Each move has a success history of its own, and is chosen as often as it pays. The
    population keeps its size: at this library's budgets the original's reduction from
    18 D would leave a handful of generations.
    """

    label = "COLSHADE"
    fewest = 4  # a trial needs itself, a guide and two others
    remembers = (*RuleEngine.common, "histories", "share", "archive")
    rule: ShrinkingTolerance
    histories: tuple[SuccessHistory, SuccessHistory]  # of the walks, of the flights
    share: Array  # [B], probability of a flight
    archive: ExternalArchive
    _made: ColShadeTrials  # by the last ask

    def __init__(
        self, task: Task, rule: ShrinkingTolerance | None = None, pop_size: int = 50, flights: float = 0.5
    ) -> None:
        """flights: the first share of Lévy flights, from 0 to 1; other rules and unlike tolerances are refused."""
        super().__init__(task, rule or ShrinkingTolerance(final=task.eq_tol), pop_size)
        if not 0.0 <= flights <= 1.0:
            raise InvalidInput(f"COLSHADE needs a probability of flights between 0 and 1; got {flights}")
        if rule is not None and not isinstance(rule, ShrinkingTolerance):
            raise InvalidInput(f"COLSHADE's rule must be a ShrinkingTolerance; got {rule!r}. SHADE takes any rule")
        if not task.same_tolerances:
            raise InvalidInput("COLSHADE in lockstep needs problems with the same ineq_tol and eq_tol")
        self._archive_capacity, self._initial_share = round(ARCHIVE_PER_INDIVIDUAL * pop_size), float(flights)

    def ask(self) -> Array:
        """Trials [B, N, D] of the next generation, the first time uniform points.

        Draws, and leaves for tell() what it needs.
        """
        if self.population is None:
            return first_population(self.task, self.size)
        x = self.population.x
        u = ColShadeNumbers.draw(self.task, self.size, self._archive_capacity)
        flies = u.move < self.share[:, None]
        F, CR = self._sample_settings(u, flies)
        strict = self.rule.strict(self.population.ev)
        guide = rows(x, pick_guides(order(strict), u.guide, u.guide, GUIDE_SHARE))
        first, second = pick_others(u.first, u.second, self.archive.size)
        pool = self.archive.pool_with(x)
        walked = current_to_pbest(x, guide, rows(x, first), rows(pool, second), F[..., None])
        flown = levy_flight(x, guide, F, u.flight)
        mutant = namespace(x).where(flies[..., None], flown, walked)
        self._made = ColShadeTrials(u, flies, F, CR, strict, pool)
        return binomial_crossover(x, move_back_inside(mutant, x, u.inward), CR, u.cross, u.forced)

    def _sample_settings(self, u: ColShadeNumbers, flies: Array) -> tuple[Array, Array]:
        """F and CR [B, N] of each individual, from the history of its move."""
        walking, flying = (h.sample(u.slot, u.F, u.CR, crowd=self.size) for h in self.histories)
        xp = namespace(u.slot)
        F, CR = (xp.where(flies, f, w) for f, w in zip(flying, walking))
        return F, CR

    @np.errstate(all="ignore")
    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep each trial that is better and did not fail; learn which move and which settings paid.

        The rule adapts.
        """
        if self.population is None:
            self.begin_population(x, ev)
            return
        trial, parent = self._make_keys(ev)
        better = ~not_worse(parent, trial) & ~ev.failed
        self._learn_from_winners(gain(trial, parent, better), better)
        self.population = self.population.replace_where(better, x, ev)
        self.generation += 1
        self.adapt_rule(self._made.u.rule)

    def begin_population(self, x: Array, ev: Evaluation) -> None:
        """Make the evaluated points the first population; histories and archive start empty. Draws."""
        super().begin_population(x, ev)
        walks, flights = (SuccessHistory.initial(x, HISTORY_SLOTS) for _ in range(2))
        self.histories = (walks, flights)
        self.share = namespace(x).full_like(x[:, 0, 0], self._initial_share)
        self.archive = ExternalArchive.empty(x, self._archive_capacity)

    def _make_keys(self, ev: Evaluation) -> tuple[Key, Key]:
        """Keys [B, N] of trials and of parents: relaxed, but strict for the best and where only that improves."""
        assert self.population is not None
        relaxed = self.key(ev), self.key(self.population.ev)
        strict = self.rule.strict(ev), self._made.strict
        by_strict = mark_best(self._made.strict) | self._improves_only_strictly(relaxed, strict)
        xp = namespace(ev.f)
        trial, parent = (
            Key(*(xp.where(by_strict, s, r) for s, r in zip(hard, soft))) for hard, soft in zip(strict, relaxed)
        )
        return trial, parent

    def _improves_only_strictly(self, relaxed: tuple[Key, Key], strict: tuple[Key, Key]) -> Array:
        """Where [B, N] a trial is not better by the relaxed order, but less violating by the strict one.

        Both are (trials, parents); only while some tolerance of the run is wider than the final one.
        """
        xp = namespace(strict[0].major)
        wide = xp.any(self.state > self.rule.final, axis=-1)[:, None]
        return wide & not_worse(relaxed[1], relaxed[0]) & (strict[0].major < strict[1].major)

    def _learn_from_winners(self, weight: Array, better: Array) -> None:
        """Teach histories, share and archive: weight [B, N] is what trials gained, better [B, N] marks the winners."""
        assert self.population is not None
        xp, made = namespace(weight), self._made
        by_walk, by_flight = xp.where(made.flies, 0.0, weight), xp.where(made.flies, weight, 0.0)
        self.histories = (
            self.histories[0].learn(made.F, made.CR, by_walk, lehmer_CR=True),
            self.histories[1].learn(made.F, made.CR, by_flight, lehmer_CR=True),
        )
        self.share = update_flight_share(self.share, by_walk, by_flight)
        self.archive = self.archive.with_parents(made.pool, better & ~self.population.ev.failed, made.u.drop)

    def trace(self) -> dict[str, Array]:
        return {**super().trace(), "flights": self.share}


def mark_best(key: Key) -> Array:
    """A mask [B, N] with the first best candidate of each run."""
    xp = namespace(key.major)
    places = xp.arange(key.major.shape[1], dtype=xp.int64, device=key.major.device)
    return places[None, :] == best(key)[:, None]


def levy_flight(x: Array, guide: Array, F: Array, normal: Array) -> Array:
    """x + F L (x_pbest - x), each L_j from the one-sided Lévy law 0.01 / z^2; z is normal [B, N, D], 0 as 1.

    x, guide [B, N, D], F [B, N] -> [B, N, D], which may lie outside the cube.
    """
    xp = namespace(x)
    square = normal * normal
    length = LEVY_SCALE / xp.where(square > 0.0, square, 1.0)
    return x + F[..., None] * length * (guide - x)


def move_back_inside(mutant: Array, parent: Array, u: Array) -> Array:
    """A component outside the unit cube goes between the bound it crossed and its parent, near the bound.

    mutant, parent and u, uniform numbers, [B, N, D].
    """
    bound = bounded(mutant, 0.0, 1.0)
    share = INWARD_SHARE * u
    return namespace(mutant).where(mutant == bound, mutant, (1.0 - share) * bound + share * parent)


def update_flight_share(share: Array, by_walk: Array, by_flight: Array) -> Array:
    """How often to fly next [B], after these gains [B, N] of the two moves; unchanged where neither gained."""
    xp = namespace(share)
    flight, total = xp.sum(by_flight, axis=-1), xp.sum(by_walk + by_flight, axis=-1)
    paid = MOMENTUM * share + (1.0 - MOMENTUM) * flight / xp.where(total > 0.0, total, 1.0)
    return xp.where(total > 0.0, bounded(paid, MIN_MOVE_PROBABILITY, 1.0 - MIN_MOVE_PROBABILITY), share)
