"""Rules by name, each with the settings that its method has unless others are given."""

from __future__ import annotations

from meco.registry import Registry
from meco.rules.epsilon import FeasibilityFirst, FixedEpsilon, ScheduledEpsilon
from meco.rules.levels import FallingEpsilon
from meco.rules.penalty import BalancedPenalty, StaticPenalty
from meco.rules.rule import Rule

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
