"""SHADE (Tanabe and Fukunaga, CEC 2013) in lockstep, with any comparison rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, astype, at_least, bounded, namespace, rows
from meco.core.engine import Task, first_population
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Population, Rule, compare_keys, gain, order
from meco.engines.de.external_archive import ExternalArchive
from meco.engines.de.operators import draw_numbers, positions, skip_taken, where_finite, zero_unless
from meco.engines.de.success_history import SuccessHistory
from meco.engines.rule_engine import RuleEngine
from meco.errors import InvalidInput, UnknownName


@dataclass(frozen=True)
class ShadeSettings:
    """What the two published forms of SHADE do differently."""

    memory: int = 100  # slots H of the success history
    guides: float | None = None  # share of the best that may guide; None: U[2/N, 0.2] per individual
    redraw: bool = False  # components outside the box: drawn again, instead of halfway to the bound
    ties_succeed: bool = False  # a level trial teaches and archives too
    raw_gain: bool = False  # gains in their own units instead of by class


PRESETS = {
    "shade2013": ShadeSettings(),
    "release": ShadeSettings(memory=6, guides=0.11, redraw=True, ties_succeed=True, raw_gain=True),
}


class ShadeNumbers(NamedTuple):
    """The uniform numbers of one generation, cut from one block per run; all [B, N] but the last four.

    They are drawn in the order of the fields, which is part of a seed's search.
    """

    slot: Array  # of the success history
    F: Array
    share: Array  # of the best that may guide
    guide: Array
    first: Array  # r1
    second: Array  # r2
    forced: Array  # the component that crosses in any case
    drop: Array  # [B, 2N], which members leave the archive
    rule: Array  # [B, 2]
    cross: Array  # [B, N, D]
    fresh: Array | None = None  # [B, N, D], only where components are redrawn

    @classmethod
    def draw(cls, task: Task, size: int, *, redraw: bool) -> ShadeNumbers:
        """Numbers for a population of this size; those of redrawn components only where these are redrawn."""
        n, d = size, task.dim
        seven, *rest = draw_numbers(task.rng, (7, n), (2 * n,), (2,), *[(n, d)] * (2 if redraw else 1))
        return cls(*[seven[:, k, :] for k in range(7)], *rest)


class Shade(RuleEngine):
    """Success-history adaptive differential evolution."""

    label = "SHADE"
    has_guides = True  # of its mutation, which guide_rule ranks
    fewest = 4  # a trial needs itself, a guide and two others
    history: SuccessHistory
    archive: ExternalArchive
    remembers = (*RuleEngine.common, "history", "archive")
    _u: ShadeNumbers
    _parent_key: Key
    _trials: Trials

    def __init__(
        self,
        task: Task,
        rule: Rule,
        pop_size: int = 50,
        preset: str = "shade2013",
        guide_rule: Rule | None = None,
        **changes: Any,
    ) -> None:
        """changes are fields of ShadeSettings in place of the preset's; unknown presets are refused.

        guide_rule ranks the guides of the mutation in place of rule, by its values without a state.
        """
        if preset not in PRESETS:
            raise UnknownName("SHADE preset", preset, PRESETS)
        super().__init__(task, rule, pop_size)
        self.guide_rule = guide_rule
        self.settings = ShadeSettings(**{**vars(PRESETS[preset]), **changes})
        guides = self.settings.guides
        if guides is not None and not 0.0 < guides <= 1.0:
            raise InvalidInput(f"{self.label} needs a share of guides above 0 and up to 1; got {guides}")

    def ask(self) -> Array:
        """Trials [B, N, D] of the next generation, the first time uniform points.

        Draws, and leaves for tell() what it needs.
        """
        if self.population is None:
            return first_population(self.task, self.size)
        self._u = ShadeNumbers.draw(self.task, self.size, redraw=self.settings.redraw)
        normal = self.task.rng.normal(self.size)
        self._parent_key = self.key(self.population.ev)
        guides = self._parent_key if self.guide_rule is None else self.guide_rule.key(self.population.ev, None)
        ranked = order(guides)
        self._trials = make_trials(
            self.population.x, ranked, self.history, self.archive, self._u, normal, self.settings.guides
        )
        return self._trials.x

    @np.errstate(all="ignore")  # what failed is inf, and its differences are thrown away
    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep each trial that is not worse than its parent and did not fail; learn F and CR from the wins.

        The rule adapts.
        """
        if self.population is None:
            self.begin_population(x, ev)
            return
        self.population, self.history, success = select_survivors(
            self.population,
            self._parent_key,
            self._trials,
            self.key(ev),
            Population(x, ev),
            self.history,
            self.settings,
        )
        self.archive = self.archive.with_parents(self._trials.pool, success, self._u.drop)
        self.generation += 1
        self.adapt_rule(self._u.rule)

    def begin_population(self, x: Array, ev: Evaluation) -> None:
        """Make the evaluated points the first population; history and archive start empty. Draws."""
        super().begin_population(x, ev)
        self.history = SuccessHistory.initial(x, self.settings.memory)
        self.archive = ExternalArchive.empty(x)


class Trials(NamedTuple):
    """What a generation proposes x [B, N, D], the F and CR it was made with [B, N], and the pool of directions."""

    x: Array
    F: Array
    CR: Array
    pool: Array  # [B, 2N, D]


def make_trials(
    x: Array,
    ranked: Array,
    history: SuccessHistory,
    archive: ExternalArchive,
    u: ShadeNumbers,
    normal: Array,
    guides: float | None,
) -> Trials:
    """A trial for each parent of the population x [B, N, D], whose order from best to worst is ranked [B, N]."""
    F, CR = history.sample(u.slot, u.F, normal)
    pool = archive.pool_with(x)
    guide = rows(x, pick_guides(ranked, u.share, u.guide, guides))
    first, second = pick_others(u.first, u.second, archive.size)
    # a component that does not cross moves by 0 F: the parent's to the last bit, and inside as it was
    moves = zero_unless(crossover_mask(CR, u.cross, u.forced), F[..., None])
    trial = current_to_pbest(x, guide, rows(x, first), rows(pool, second), moves)
    return Trials(midpoint_repair(trial, x) if u.fresh is None else redraw_repair(trial, u.fresh), F, CR, pool)


def select_survivors(
    parents: Population, parent: Key, trials: Trials, trial: Key, offspring: Population,
    history: SuccessHistory, settings: ShadeSettings,
) -> tuple[Population, SuccessHistory, Array]:  # fmt: skip
    """Survivors, the history taught by their F and CR, and which parents [B, N] lost and go to the archive.

    parent and trial are the keys [B, N] of parents and offspring, slot by slot. What failed neither survives nor
    teaches.
    """
    won, better = compare_keys(trial, parent)
    if not offspring.ev.intact:
        won, better = won & ~offspring.ev.failed, better & ~offspring.ev.failed
    weight = gain(trial, parent, better, raw=settings.raw_gain)
    # a place where the evaluation failed is no direction to learn from
    success = won if settings.ties_succeed else better
    success = success if parents.ev.intact else success & ~parents.ev.failed
    return parents.replace_where(won, *offspring), history.learn(trials.F, trials.CR, weight), success


def pick_guides(ranked: Array, u_share: Array, u_guide: Array, share: float | None) -> Array:
    """Index of x_pbest: uniform among the first max(2, ceil(p N)) of the ranking; all [B, N].

    p is the share, or where that is None drawn between 2/N and 0.2 by u_share.
    """
    xp = namespace(u_share)
    size = ranked.shape[1]
    p = 2.0 / size + u_share * (0.2 - 2.0 / size) if share is None else xp.full_like(u_share, share)
    among = at_least(xp.ceil(p * size), 2.0)  # no more than N, since no share is above 1
    return rows(ranked, _floor_to_index(u_guide * among, ranked))


def pick_others(u_first: Array, u_second: Array, archived: Array) -> tuple[Array, Array]:
    """r1 from the population without i, r2 from population and archive without i and r1: [B, N] each.

    archived [B] is the number of archive members; an index of N or more points at the archive.
    """
    xp = namespace(u_first)
    size = u_first.shape[1]
    current = positions(size, archived)[None, :]
    r1 = _floor_to_index(u_first * (size - 1), archived)
    r1 = skip_taken(r1, current)
    low, high = xp.minimum(r1, current), xp.maximum(r1, current)
    r2 = _floor_to_index(u_second * astype(archived + (size - 2), u_second.dtype)[:, None], archived)
    return r1, skip_taken(skip_taken(r2, low), high)  # the lower taken index first


def _floor_to_index(position: Array, like: Array) -> Array:
    """The floor of positions >= 0 in the integer type of like."""
    return astype(position, like.dtype)


def current_to_pbest(x: Array, guide: Array, first: Array, second: Array, F: Array) -> Array:
    """x + F (x_pbest - x) + F (x_r1 - x_r2): [B, N, D], which may lie outside the cube; F is [B, N, D or 1]."""
    return x + F * (guide - x + first - second)


def midpoint_repair(mutant: Array, parent: Array) -> Array:
    """A component outside the unit cube becomes the midpoint of its parent and the bound it crossed: [B, N, D]."""
    xp = namespace(mutant)
    bound = mutant.clip(0.0, 1.0) if xp is np else bounded(mutant, 0.0, 1.0)  # one pass over a whole population
    return xp.where(mutant == bound, mutant, 0.5 * (parent + bound))


def redraw_repair(mutant: Array, fresh: Array) -> Array:
    """A component outside the unit cube becomes that of fresh, uniform numbers [B, N, D]."""
    return namespace(mutant).where((mutant < 0.0) | (mutant > 1.0), fresh, mutant)


def binomial_crossover(parent: Array, mutant: Array, CR: Array, u: Array, u_forced: Array) -> Array:
    """Take each component from the mutant with probability CR, and one of them always.

    parent, mutant and u [B, N, D], CR and u_forced [B, N]; u are uniform numbers. Points are finite.
    """
    return where_finite(crossover_mask(CR, u, u_forced), mutant, parent)


def crossover_mask(CR: Array, u: Array, u_forced: Array) -> Array:
    """Which components [B, N, D] a trial takes from its mutant: each with probability CR [B, N], and one always.

    u [B, N, D] and u_forced [B, N] are uniform numbers in [0, 1).
    """
    dim = u.shape[-1]
    forced = namespace(u).floor(u_forced * dim)[..., None] == positions(dim, u)
    return (u < CR[..., None]) | forced
