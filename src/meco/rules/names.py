"""Rules by name, each with the settings that its method has unless others are given."""

from __future__ import annotations

from typing import Any

from meco.core.registry import Registry
from meco.core.rule import Rule
from meco.errors import InvalidInput
from meco.rules.epsilon import FeasibilityFirst, FixedEpsilon, ScheduledEpsilon
from meco.rules.levels import FallingEpsilon
from meco.rules.penalty import BalancedPenalty, StaticPenalty


def _make_rule(given: Any) -> Rule:
    """A rule as it is, or of a class that is made without arguments; InvalidInput for others."""
    try:
        made = given() if isinstance(given, type) and issubclass(given, Rule) else given
    except TypeError as error:
        raise InvalidInput(f"{given.__name__}() makes no rule: {error}") from error
    if not isinstance(made, Rule):
        raise InvalidInput(
            "rule must be a name that `meco list rules` shows, file.py:Name, or a class or an object of "
            f"meco.rules.Rule; got {given!r:.60}"
        )
    return made


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
    accept=_make_rule,
)
