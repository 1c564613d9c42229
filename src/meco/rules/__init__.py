"""Comparison rules: what makes one candidate better than another under constraints."""

from meco.core.control import Control
from meco.core.rule import Key, Population, Progress, Rule, best, gain, not_worse, order
from meco.rules.epsilon import (
    DELTA,
    FeasibilityFirst,
    FixedEpsilon,
    ScheduledEpsilon,
    decode_action,
    initial_scale,
    relaxed_violation,
    thresholded_violation,
)
from meco.rules.levels import FallingEpsilon, HellwigBeyerEpsilon
from meco.rules.penalty import BalancedPenalty, StaticPenalty

__all__ = [
    "DELTA",
    "BalancedPenalty",
    "Control",
    "FallingEpsilon",
    "FeasibilityFirst",
    "FixedEpsilon",
    "HellwigBeyerEpsilon",
    "Key",
    "Population",
    "Progress",
    "Rule",
    "ScheduledEpsilon",
    "StaticPenalty",
    "best",
    "decode_action",
    "gain",
    "initial_scale",
    "not_worse",
    "order",
    "relaxed_violation",
    "thresholded_violation",
]
