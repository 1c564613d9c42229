"""SHADE (Tanabe and Fukunaga, CEC 2013) in lockstep, with any comparison rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from meco.arrays import Array, bounded, namespace, rows
from meco.engines.de.archive import Archive
from meco.engines.de.history import History
from meco.engines.engine import Engine, Task, first_population
from meco.errors import InvalidInput, UnknownName
from meco.problems.evaluation import Evaluation
from meco.rules.rule import Key, Population, Rule, gain, not_worse, order

FEWEST = 4  # a trial needs itself, a guide and two others


@dataclass(frozen=True)
class Settings:
    """What the two published forms of SHADE do differently."""

    memory: int = 100  # slots H of the success history
    guides: float | None = None  # share of the best that may guide; None: U[2/N, 0.2] per individual
    redraw: bool = False  # components outside the box: drawn anew, instead of halfway to the bound
    ties_succeed: bool = False  # a level trial teaches and archives too
    raw_gain: bool = False  # gains in their own units instead of by class


PRESETS = {
    "shade2013": Settings(),
    "release": Settings(memory=6, guides=0.11, redraw=True, ties_succeed=True, raw_gain=True),
}


class Draws(NamedTuple):
    """The uniform numbers of one generation, cut from one block per run; all [B, N] but the last four."""

    slot: Array
    scale: Array
    share: Array
    guide: Array
    first: Array
    second: Array
    forced: Array
    cross: Array  # [B, N, D]
    fresh: Array | None  # [B, N, D], only where components are redrawn
    drop: Array  # [B, 2N]
    rule: Array  # [B, 2]

    @classmethod
    def cut(cls, block: Array, size: int, dim: int, redraw: bool) -> Draws:
        xp = namespace(block)
        runs = block.shape[0]
        slot, scale, share, guide, first, second, forced = (block[:, i * size : (i + 1) * size] for i in range(7))
        at = 7 * size
        drop = block[:, at : at + 2 * size]
        at += 2 * size
        rule = block[:, at : at + 2]
        at += 2
        cross = xp.reshape(block[:, at : at + size * dim], (runs, size, dim))
        fresh = xp.reshape(block[:, at + size * dim :], (runs, size, dim)) if redraw else None
        return cls(slot, scale, share, guide, first, second, forced, cross, fresh, drop, rule)

    @staticmethod
    def needed(size: int, dim: int, redraw: bool) -> int:
        """Uniform numbers that one generation needs."""
        return 9 * size + 2 + size * dim * (2 if redraw else 1)


class Shade(Engine):
    """Success-history adaptive differential evolution."""

    def __init__(self, task: Task, rule: Rule, pop_size: int = 50, preset: str = "shade2013", **changes: Any) -> None:
        if preset not in PRESETS:
            raise UnknownName("SHADE preset", preset, PRESETS)
        if pop_size < FEWEST:
            raise InvalidInput(f"SHADE needs a pop_size of at least {FEWEST}; got {pop_size}")
        self.task, self.rule, self.size = task, rule, int(pop_size)
        self.settings = Settings(**{**vars(PRESETS[preset]), **changes})
        self.state: Any = None

    def ask(self) -> Array:
        """Trials of the next generation; the first time, uniform points."""
        if self.population is None:
            return first_population(self.task, self.size)
        set_, draw, dim = self.settings, self.task.rng, self.task.dim
        u = Draws.cut(draw.uniform(Draws.needed(self.size, dim, set_.redraw)), self.size, dim, set_.redraw)
        self.parent_key = self.rule.key(self.population.ev, self.state)
        self.scale, self.rate = self.history.sample(u.slot, u.scale, draw.normal(self.size))
        self.drop, self.rule_draw = u.drop, u.rule
        x = self.population.x
        self.pool = self.archive.beside(x)
        guide = rows(x, pick_guides(order(self.parent_key), u.share, u.guide, set_.guides))
        first, second = pick_others(u.first, u.second, self.archive.size)
        mutant = current_to_pbest(x, guide, rows(x, first), rows(self.pool, second), self.scale)
        inside = midpoint_repair(mutant, x) if u.fresh is None else redraw_repair(mutant, u.fresh)
        return binomial(x, inside, self.rate, u.cross, u.forced)

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep each trial that is not worse than its parent; learn F and CR from the wins."""
        if self.population is None:
            self._begin(x, ev)
            return
        trial = self.rule.key(ev, self.state)
        won = not_worse(trial, self.parent_key) & ~ev.failed
        better = won & ~not_worse(self.parent_key, trial)
        self._learn(trial, won if self.settings.ties_succeed else better, better)
        self.population = self.population.replaced(won, x, ev)
        self.generation += 1
        progress = self.spent(self.size * (self.generation + 1))
        self.state = self.rule.adapt(self.state, self.population, progress, self.rule_draw)

    def _begin(self, x: Array, ev: Evaluation) -> None:
        self.population = Population(x, ev)
        self.history = History.fresh(x, self.settings.memory)
        self.archive = Archive.empty(x)
        self.state = self.rule.start(self.population, self.spent(self.size), self.task.rng.uniform(2))

    def _learn(self, trial: Key, success: Array, better: Array) -> None:
        assert self.population is not None
        weight = gain(trial, self.parent_key, better, raw=self.settings.raw_gain)
        self.history = self.history.learned(self.scale, self.rate, weight)
        # a place where the evaluation failed is no direction to learn from
        self.archive = self.archive.added(self.pool, success & ~self.population.ev.failed, self.drop)

    def trace(self) -> dict[str, Array]:
        return self.rule.trace(self.state)


def pick_guides(ranked: Array, u_share: Array, u_guide: Array, share: float | None) -> Array:
    """Index of x_pbest: uniform among the first max(2, ceil(p N)) of the ranking; all [B, N]."""
    xp = namespace(u_share)
    size = ranked.shape[1]
    p = 2.0 / size + u_share * (0.2 - 2.0 / size) if share is None else xp.full_like(u_share, share)
    among = bounded(xp.ceil(p * size), 2.0, float(size))
    return rows(ranked, _index(u_guide * among, ranked))


def pick_others(u_first: Array, u_second: Array, archived: Array) -> tuple[Array, Array]:
    """r1 from the population without i, r2 from population and archive without i and r1: [B, N] each.

    archived [B] is the number of archive members; an index of N or more points at the archive.
    """
    xp = namespace(u_first)
    size = u_first.shape[1]
    own = xp.arange(size, dtype=archived.dtype, device=archived.device)[None, :]
    first = _index(u_first * (size - 1), archived)
    first = first + xp.astype(first >= own, first.dtype)  # step over i
    low, high = xp.minimum(first, own), xp.maximum(first, own)
    second = _index(u_second * xp.astype(size + archived - 2, u_second.dtype)[:, None], archived)
    second = second + xp.astype(second >= low, second.dtype)  # step over the lower taken index, then the higher
    return first, second + xp.astype(second >= high, second.dtype)


def _index(position: Array, like: Array) -> Array:
    return namespace(position).astype(position, like.dtype)  # positions are not negative: this is the floor


def current_to_pbest(x: Array, guide: Array, first: Array, second: Array, scale: Array) -> Array:
    """x + F (x_pbest - x) + F (x_r1 - x_r2); x [B, N, D], scale [B, N]."""
    return x + scale[..., None] * (guide - x + first - second)


def midpoint_repair(mutant: Array, parent: Array) -> Array:
    """A component outside the unit cube becomes the midpoint of its parent and the bound it crossed."""
    xp = namespace(mutant)
    bound = bounded(mutant, 0.0, 1.0)
    return xp.where(mutant == bound, mutant, 0.5 * (parent + bound))


def redraw_repair(mutant: Array, fresh: Array) -> Array:
    """A component outside the unit cube is drawn anew."""
    return namespace(mutant).where((mutant < 0.0) | (mutant > 1.0), fresh, mutant)


def binomial(parent: Array, mutant: Array, rate: Array, u: Array, u_forced: Array) -> Array:
    """Take each component from the mutant with probability CR, and one of them always."""
    xp = namespace(mutant)
    dim = mutant.shape[-1]
    forced = xp.floor(u_forced * dim)[..., None] == xp.arange(dim, dtype=u.dtype, device=u.device)
    return xp.where((u < rate[..., None]) | forced, mutant, parent)
