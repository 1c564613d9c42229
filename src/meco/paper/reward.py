"""The reward of the meta-level MDP: progress of objective and violation (paper eqs. 7 and 8), or of their sum."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, namespace
from meco.core.registry import Registry
from meco.paper.state import MIN_DENOMINATOR, Reference

MIN_RANGE_SHARE = 1e-3  # least denominator of r1, as a share of the first population's objective range


class StepSummary(NamedTuple):
    """What a reward compares before and after a step, all [B]."""

    f_best: Array  # of the reward
    nu_bar: Array
    score: Array  # least f + nu evaluated so far
    first_score: Array  # the same over the first population


# summaries before and after a step, the first population, f~* [B] -> reward [B]
Reward = Callable[[StepSummary, StepSummary, Reference, Array], Array]


def objective_gain(before: StepSummary, after: StepSummary, initial: Reference, f_star: Array) -> Array:
    """r1 = (f_best(t-1) - f_best(t)) / (f_best(0) - f~*), in [-1, 1] (eq. 7).

    f_best often rises while feasibility improves, so the denominator is at least a
    thousandth of the initial objective range. f_star [B] is f~*, inf where there is none yet.
    """
    xp = namespace(f_star)
    floor = MIN_RANGE_SHARE * (initial.f_worst - initial.f_min)
    scale = xp.clip(xp.maximum(initial.f_reward - f_star, floor), min=MIN_DENOMINATOR)
    return _clip_reward((before.f_best - after.f_best) / scale)


def violation_gain(before: StepSummary, after: StepSummary, initial: Reference) -> Array:
    """r2 = (nu-bar(t-1) - nu-bar(t)) / nu-bar(0), in [-1, 1] (eq. 7)."""
    return _clip_reward((before.nu_bar - after.nu_bar) / initial.per.nu_bar)


def violation_weight(after: StepSummary, initial: Reference) -> Array:
    """omega = nu-bar(t) / nu-bar(0), in [0, 1] (eq. 8)."""
    return _clip_reward(after.nu_bar / initial.per.nu_bar, least=0.0)


def full_reward(before: StepSummary, after: StepSummary, initial: Reference, f_star: Array) -> Array:
    """((1 - omega) r1 + r2) / 2 (eq. 8): [B]."""
    weight = 1.0 - violation_weight(after, initial)
    return 0.5 * (weight * objective_gain(before, after, initial, f_star) + violation_gain(before, after, initial))


def objective_reward(before: StepSummary, after: StepSummary, initial: Reference, f_star: Array) -> Array:
    """r1 alone (ablation)."""
    return objective_gain(before, after, initial, f_star)


def violation_reward(before: StepSummary, after: StepSummary, initial: Reference, f_star: Array) -> Array:
    """r2 alone (ablation)."""
    return violation_gain(before, after, initial)


def sum_reward(before: StepSummary, after: StepSummary, initial: Reference, f_star: Array) -> Array:
    """r1 + r2 without the weight (ablation)."""
    return objective_gain(before, after, initial, f_star) + violation_gain(before, after, initial)


def score_reward(before: StepSummary, after: StepSummary, initial: Reference, f_star: Array) -> Array:
    """Decrease of the least f + nu as a share of its first value, in [-1, 1]: [B].

    Unclipped, an episode's return is the paper's training gain.
    """
    return _clip_reward(
        (before.score - after.score) / namespace(f_star).clip(abs(before.first_score), min=MIN_DENOMINATOR)
    )


def _clip_reward(r: Array, least: float = -1.0) -> Array:
    """r [B] between least and 1; 0 where a whole population failed (nan)."""
    xp = namespace(r)
    return xp.clip(xp.where(xp.isnan(r), 0.0, r), min=least, max=1.0)  # nan: all of a population failed


REWARDS: Registry[Reward] = Registry(
    "reward",
    {"full": full_reward, "r1": objective_reward, "r2": violation_reward, "r1+r2": sum_reward, "score": score_reward},
)


def reward_function(name: str) -> Reward:
    """The reward of that name: (before, after, initial, f_star) -> [B]; UnknownName for others.

    >>> from meco.paper.reward import reward_function
    >>> reward_function("r2").__name__
    'violation_reward'
    """
    return REWARDS[name]


class ReferenceObjective:
    """f~*: the least f_best that a training has stored for each of its problems.

    Keys are whatever tells problems (or problems of different policies) apart. A training
    updates it after an episode ends, never within one.
    """

    def __init__(self, least: Mapping[Hashable, float] | None = None) -> None:
        self.least: dict[Hashable, float] = dict(least or {})

    def look_up(self, keys: Iterable[Hashable]) -> np.ndarray:
        """f~* for each key, inf where no episode has ended yet: [B]."""
        return np.array([self.least.get(key, np.inf) for key in keys])

    def update(self, keys: Iterable[Hashable], values: np.ndarray) -> None:
        """Lower f~* of these problems to f_best [B] of episodes that ended, where that is less; nan changes nothing."""
        for key, value in zip(keys, values, strict=True):
            if value < self.least.get(key, np.inf):  # false for nan
                self.least[key] = float(value)
