"""What the paper leaves open about the best individual: whose objective f_best is, and how guides are ranked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from meco.core.registry import Registry
from meco.core.rule import Rule
from meco.errors import UnknownName
from meco.rules.epsilon import FeasibilityFirst
from meco.rules.penalty import StaticPenalty

# f_best of the state (s2, s4, s5) and of the reward (r1) is the objective of
BEST = {
    "least": "the individual with the least objective",
    "feasible": "the best individual, feasibility first",
    "relaxed": "the best individual under the relaxation in force",
    "release": "the best individual under the relaxation in force; in the state at t = 0, the least objective",
}
# the order in which SHADE ranks the guides of current-to-pbest; None: that of the rule in force
GUIDE_ORDERS: dict[str, Rule | None] = {
    "score": StaticPenalty(weight=1.0),  # f + nu, as SHADE without a policy ranks them
    "feasible": FeasibilityFirst(),
    "relaxed": None,
}


@dataclass(frozen=True)
class Reading:
    """Whose objective f_best is (a name of BEST), and how guides are ranked (a name of GUIDE_ORDERS)."""

    best: str = "least"
    guide_order: str = "score"

    def __post_init__(self) -> None:
        """Refuse unknown names."""
        for kind, name, known in (("best", self.best, BEST), ("guide_order", self.guide_order, GUIDE_ORDERS)):
            if name not in known:
                raise UnknownName(kind, name, known)

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Reading:
        """The reading that a policy was trained under; the printed one where it does not say."""
        return cls(metadata.get("best", AS_PRINTED.best), metadata.get("guide_order", AS_PRINTED.guide_order))

    def engine_options(self, engine: Any) -> dict[str, Any]:
        """Options of an engine for this order of guides; none for one that has no guides."""
        rule = GUIDE_ORDERS[self.guide_order]
        return {} if rule is None or not getattr(engine, "has_guides", False) else {"guide_rule": rule}


PRINTED_READING = "least"  # of READINGS
AS_PRINTED = Reading()  # the literal reading: f_best is an f, and the policy does not change mutation
RELAXED = Reading("relaxed", "relaxed")  # of all policy files that do not say their reading
READINGS: Registry[Reading] = Registry(
    "reading",
    {
        PRINTED_READING: AS_PRINTED,
        "feasible": Reading("feasible"),
        "relaxed": RELAXED,
        "release": Reading("release"),
        "relaxed-guides": Reading(guide_order="relaxed"),
        "feasible-guides": Reading(guide_order="feasible"),
    },
)
