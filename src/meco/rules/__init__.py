"""Comparison rules: what makes one candidate better than another under constraints."""

from meco.rules.control import Control
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
from meco.rules.steered import DECODERS, GRID, SteeredEpsilon

__all__ = [
    "DECODERS",
    "DELTA",
    "GRID",
    "AnsweringEpsilon",
    "BalancedPenalty",
    "Control",
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
    "SteeredEpsilon",
    "best",
    "decode",
    "gain",
    "initial_scale",
    "not_worse",
    "order",
    "relaxed_violation",
    "thresholded_violation",
]
