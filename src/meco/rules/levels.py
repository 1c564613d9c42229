"""The allowances of two published methods: C2oDE and BP-epsMAg-ES. Each works with any engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from meco.core.arrays import Array, asarray_like, masked_max, namespace, ordered_sum
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, Population, Progress, Rule
from meco.rules.epsilon import thresholded_violation

# -- C2oDE: one level that falls with the budget ----------------------------------------------------

C2ODE_STEEPNESS = 6.0  # the lambda of Wang et al. 2019: the level ends near exp(-6)


class FallingState(NamedTuple):
    """Level of the first population and of now, both [B], and the evaluations spent on the first population."""

    first: Array
    eps: Array
    spent: int


def falling_level(first: Array, reached: float, until: float) -> Array:
    """first * (1 - X)^c with c = -(ln first + 6) / ln(1 - until), and 0 from X = until on: first [B] -> [B].

    X is `reached`, the share of the budget. A first level below exp(-6) would make the level grow: c is at least 0.
    """
    xp = namespace(first)
    if reached >= until:
        return xp.zeros_like(first)
    positive = first > 0.0
    power = -(xp.log(xp.where(positive, first, 1.0)) + C2ODE_STEEPNESS) / math.log(1.0 - until)
    power = xp.where(power > 0.0, power, 0.0)
    return first * (1.0 - reached) ** power


@dataclass(frozen=True)
class FallingEpsilon(Rule):
    """Allow the largest violation of the first population, less and less until half the budget is spent."""

    until: float = 0.5

    def start(self, pop: Population, progress: Progress, u: Array) -> FallingState:
        """The largest violation [B] of the first population is the first level; 0 where all failed."""
        first = masked_max(pop.ev.nu, ~pop.ev.failed)
        first = namespace(first).where(first > 0.0, first, 0.0)  # -inf where nothing succeeded
        return FallingState(first, falling_level(first, 0.0, self.until), progress.evaluations)

    def adapt(self, state: FallingState, pop: Population, progress: Progress, u: Array) -> FallingState:
        """The level [B] that is left at this progress; the population does not count."""
        reached = (progress.evaluations - state.spent) / progress.budget
        return state._replace(eps=falling_level(state.first, reached, self.until))

    def values(self, ev: Evaluation, state: FallingState) -> Key:
        return Key(thresholded_violation(ev.nu, state.eps), ev.f)

    def trace(self, state: FallingState) -> dict[str, Array]:
        return {"eps": state.eps}


# -- BP-epsMAg-ES: a level that answers to the share of parents within it ---------------------------

TARGET_PARENT_SHARE = 0.2  # theta_FR
LEVEL_GROWTH = 1.1
NEGLIGIBLE_LEVEL = 1e-8


def average_violation(ev: Evaluation, eq_tol: float = 1e-4) -> Array:
    """Violation per constraint, equalities within the tolerance counted as kept: [B, N].

    nan of failed candidates, 0 where there are no constraints.
    """
    xp = namespace(ev.f)
    h = xp.abs(ev.h)
    total = ordered_sum(xp.clip(ev.g, min=0.0)) + ordered_sum(xp.where(h > eq_tol, h, 0.0))
    return total / max(1, ev.g.shape[-1] + ev.h.shape[-1])


def next_level(eps: Array, share: Array, generation: int, horizon: int) -> Array:
    """The level of the next generation [B]: eps and share (of parents within it) are [B]; 0 from the horizon on."""
    xp = namespace(eps)
    if 1 < generation < horizon:
        return eps * xp.where(
            share > TARGET_PARENT_SHARE, asarray_like((1.0 - generation / horizon) ** 2, eps), LEVEL_GROWTH
        )
    if generation + 1 >= horizon:
        return xp.zeros_like(eps)
    return xp.where(eps < NEGLIGIBLE_LEVEL, 0.0, eps)


@dataclass(frozen=True)
class HellwigBeyerEpsilon(Rule):
    """Allow the median violation of the first population; shrink while enough parents keep it, else grow.

    horizon is T of Hellwig and Beyer 2020 in generations; 0 makes the rule feasibility
    first. One candidate in `one_in` becomes a parent.
    """

    horizon: int = 500
    one_in: int = 3
    eq_tol: float = 1e-4

    def start(self, pop: Population, progress: Progress, u: Array) -> Array:
        """The median violation of the first population [B], failed ones left out; 0 where all failed."""
        xp = namespace(pop.ev.f)
        if self.horizon == 0:
            return xp.zeros_like(pop.ev.f[:, 0])
        return masked_median(average_violation(pop.ev, self.eq_tol), ~pop.ev.failed)

    def adapt(self, state: Array, pop: Population, progress: Progress, u: Array) -> Array:
        """The next level [B], by the share of parents within the present one."""
        if self.horizon == 0:
            return state
        xp = namespace(state)
        within = average_violation(pop.ev, self.eq_tol) <= state[:, None]  # nan of failed ones is not
        mu = -(-within.shape[1] // self.one_in)
        share = xp.sum(xp.astype(within, state.dtype), axis=-1) / mu  # those within rank first
        return next_level(state, share, progress.generation, self.horizon)

    def values(self, ev: Evaluation, state: Array) -> Key:
        return Key(thresholded_violation(average_violation(ev, self.eq_tol), state), ev.f)

    def trace(self, state: Array) -> dict[str, Array]:
        return {"eps": state}


def masked_median(values: Array, keep: Array) -> Array:
    """Median of the kept entries along the last axis: [B, N], keep [B, N] -> [B]; 0 where none is kept."""
    xp = namespace(values)
    ranked = xp.sort(xp.where(keep, values, xp.inf), axis=-1)
    count = xp.sum(xp.astype(keep, xp.int64), axis=-1, keepdims=True)
    places = xp.arange(values.shape[-1], dtype=count.dtype, device=count.device)
    middle = (places == (count - 1) // 2) | (places == count // 2)
    middle = middle & (places < count)
    weight = xp.astype(middle, values.dtype)
    total = xp.sum(xp.where(middle, ranked, 0.0), axis=-1)
    return total / xp.clip(xp.sum(weight, axis=-1), min=1.0)
