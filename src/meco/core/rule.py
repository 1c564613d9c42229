"""How engines compare candidates: two-level keys, smaller is better.

Metrics (metrics.py) are such keys too. Reports rank finished runs by themselves (bench/report/stats.py): a change of
feasibility_first() must be made in feasibility_order() there as well.

An engine that learns from an order (RuleEngine) takes any rule. Three compositions show all there is:

    Shade(task, rule=StaticPenalty(weight=1.0))             one key for the whole run: f + nu
    MaEs(task, rule=FallingEpsilon())                       the rule's state falls with the budget
    Controlled(Shade(task, rule=SteeredEpsilon()), policy)  the state is set from outside, by a control

A rule is a value: it holds settings, never runs. What changes during a search is its state, which the engine
keeps and passes back: start() makes it from the first population, adapt() renews it after every selection,
apply_controls() sets what the rule declares as controls. key() turns an evaluation into a rank under that state, and
engines learn from ranks alone: not_worse() and compare_keys() for pairs, order() for a ranking, gain() for a success.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, largest, maybe_any, namespace, rows, safe_divisor
from meco.core.control import Control, refuse_unknown

if TYPE_CHECKING:
    from meco.core.evaluation import Evaluation


MAX_SORTED = 200  # candidates up to which sorting is faster than searching


class Key(NamedTuple):
    """Lexicographic rank of candidates: major decides, minor breaks ties; both [B, N]."""

    major: Array
    minor: Array

    def last_where(self, failed: Array) -> Key:
        """The same key, but failed candidates [B, N] lose every comparison."""
        xp = namespace(self.minor)
        return Key(xp.where(failed, xp.inf, self.major), xp.where(failed, xp.inf, self.minor))


class Population(NamedTuple):
    """Candidates in the unit cube x [B, N, D] with their evaluation."""

    x: Array
    ev: Evaluation

    def replace_where(self, won: Array, x: Array, ev: Evaluation) -> Population:
        """Another population: newcomers x [B, N, D], ev in the slots that they won [B, N], these members elsewhere."""
        return Population(namespace(x).where(won[..., None], x, self.x), ev.where(won, self.ev))


class Progress(NamedTuple):
    """How far a run is: evaluations spent, of how many, and generations selected."""

    evaluations: int
    budget: int
    generation: int


def not_worse(a: Key, b: Key) -> Array:
    """Whether a ranks before b or level with it: [B, N]; False where a key is nan."""
    return (a.major < b.major) | ((a.major == b.major) & (a.minor <= b.minor))


def compare_keys(a: Key, b: Key) -> tuple[Array, Array]:
    """Two masks [B, N]: a ranks before b or level with it, and a ranks strictly before b; False where a key is nan."""
    before, level = a.major < b.major, a.major == b.major
    return before | (level & (a.minor <= b.minor)), before | (level & (a.minor < b.minor))


def order(key: Key) -> Array:
    """Indices [B, N] from best to worst, ties in their old order; nan last."""
    if isinstance(key.minor, np.ndarray):
        return np.lexsort((key.minor, key.major), axis=-1)
    xp = namespace(key.minor)
    by_minor = xp.argsort(key.minor, axis=-1, stable=True)
    return rows(by_minor, xp.argsort(rows(key.major, by_minor), axis=-1, stable=True))


def best(key: Key) -> Array:
    """Index of the first best candidate of each run: [B]; 0 where all of a run are (inf, inf)."""
    if isinstance(key.minor, np.ndarray) and key.minor.shape[-1] <= MAX_SORTED:
        if key.minor.shape[-1] == 1:
            return np.zeros(key.minor.shape[:-1], dtype=np.int64)
        return np.lexsort((key.minor, key.major), axis=-1)[..., 0]  # one call beats four smaller ones
    xp = namespace(key.minor)
    leading = key.major == xp.min(key.major, axis=-1, keepdims=True)
    leading = leading & (key.minor == key.minor)  # nan is never best
    return xp.argmin(xp.where(leading, key.minor, xp.inf), axis=-1)


def gain(trial: Key, parent: Key, better: Array, *, raw: bool = False) -> Array:
    """How much each better trial improved on its parent, 0 for the others: [B, N].

    The level that decided counts. Gains of the two levels have different units, so each
    class is divided by its largest member of the generation unless raw is asked for.
    """
    xp = namespace(trial.minor)
    usable = better & (parent.minor < xp.inf)  # a failed parent teaches nothing
    decided = usable & (trial.major < parent.major)
    if not raw and not maybe_any(decided):  # one class only, as under any rule with one level
        return _divide_by_largest(xp.where(usable, parent.minor - trial.minor, 0.0))
    major = xp.where(decided, parent.major - trial.major, 0.0)
    minor = xp.where(usable & ~decided, parent.minor - trial.minor, 0.0)
    if raw:
        return major + minor
    return _divide_by_largest(major) + _divide_by_largest(minor)


def _divide_by_largest(values: Array) -> Array:
    """values >= 0 [B, N] as shares of the largest of each run; 0 where all are."""
    return values / safe_divisor(largest(values))


def _key_of_rule(rule: Rule, ev: Evaluation, state: Any) -> Key:
    """Rule.key() as a plain function, which is what can be compiled; failed candidates rank last."""
    key = rule.values(ev, state)
    return key if ev.intact else key.last_where(ev.failed)


class Rule(ABC):
    """How constraints enter the comparison. A rule is a value; the engine keeps its state.

    start is told the first population, adapt every later one; what they return is the
    state under which the next generation is compared. u is [B, 2] uniform numbers,
    drawn for every rule alike so that the search draws the same whatever the rule.
    """

    controls: tuple[Control, ...] = ()  # what apply_controls() takes
    knows: tuple[str, ...] = ()  # the names that known() gives

    def start(self, pop: Population, progress: Progress, u: Array) -> Any:
        """State after the first population [B, N]; u [B, 2] uniform numbers. None where a rule keeps nothing."""
        return None

    def adapt(self, state: Any, pop: Population, progress: Progress, u: Array) -> Any:
        """State after a selection, given the survivors; the old state is not changed."""
        return state

    def apply_controls(self, state: Any, values: Mapping[str, Array]) -> Any:
        """State after controls were set by name, one value [B] each.

        Raises InvalidInput for a name that is not offered.
        """
        refuse_unknown(self, self.controls, values)
        return state

    @abstractmethod
    def values(self, ev: Evaluation, state: Any) -> Key:
        """The key of candidates [B, N]; what it says of failed ones does not count, since key() puts them last."""

    def key(self, ev: Evaluation, state: Any) -> Key:
        """What engines compare by: values(), with failed candidates (inf, inf), last of all."""
        return _key_of_rule(self, ev, state)

    def known(self, state: Any) -> Mapping[str, Any]:
        """What of the state a policy's features may use, by name."""
        return {}

    def trace(self, state: Any) -> dict[str, Array]:
        """What of the state is worth recording each generation, [B] or [B, C]."""
        return {}
