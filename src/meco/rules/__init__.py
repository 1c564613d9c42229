"""Comparison rules: what makes one candidate better than another under constraints."""

from meco.registry import Registry
from meco.rules.epsilon import (
    DELTA,
    FeasibilityFirst,
    FixedEpsilon,
    ScheduledEpsilon,
    decode,
    initial_scale,
    relaxed_violation,
    thresholded_violation,
)
from meco.rules.levels import AnsweringEpsilon, FallingEpsilon, ShrinkingTolerance
from meco.rules.penalty import BalancedPenalty, StaticPenalty
from meco.rules.rule import Key, Population, Progress, Rule, best, gain, not_worse, order

RULES: Registry[Rule] = Registry(
    "rule",
    {
        "static-penalty": StaticPenalty(),
        "balanced-penalty": BalancedPenalty(),
        "feasibility-first": FeasibilityFirst(),
        "fixed-epsilon": FixedEpsilon(),
        "scheduled-epsilon": ScheduledEpsilon(),
        "falling-epsilon": FallingEpsilon(),
    },
)

__all__ = [
    "DELTA",
    "RULES",
    "AnsweringEpsilon",
    "BalancedPenalty",
    "FallingEpsilon",
    "FeasibilityFirst",
    "FixedEpsilon",
    "Key",
    "Population",
    "Progress",
    "Rule",
    "ScheduledEpsilon",
    "ShrinkingTolerance",
    "StaticPenalty",
    "best",
    "decode",
    "gain",
    "initial_scale",
    "not_worse",
    "order",
    "relaxed_violation",
    "thresholded_violation",
]
