"""Rules by name, each with the settings that its method has unless others are given."""

from __future__ import annotations

from meco.core.registry import Registry
from meco.core.rule import Rule
from meco.rules.epsilon import FeasibilityFirst, FixedEpsilon, ScheduledEpsilon
from meco.rules.levels import FallingEpsilon
from meco.rules.penalty import BalancedPenalty, StaticPenalty

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
