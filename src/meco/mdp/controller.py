"""Control beside the engine: observe -> policy -> controls.

    engine.knowledge() --features--> s [B, F] --policy--> values by name --engine.steer()--> the next generation

The engine knows nothing of its controller, and the rule nothing of the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from meco.arrays import Array
from meco.engines.engine import Control, Engine
from meco.errors import InvalidInput
from meco.mdp.controls import CONTROLS, ControlSet
from meco.mdp.features import FEATURES, FeatureSet
from meco.mdp.policy import Policy
from meco.problems.evaluation import Evaluation
from meco.rules.rule import Population

OWN_STREAM = 0xC0  # sets a controller's random numbers apart from its run's


class Controller:
    """Looks at an engine through features, and hands it controls by name.

    It remembers what the features need and which values stand. Without a policy the values
    come from outside, as in an Episode.
    """

    remembers = ("last", "memory")

    def __init__(self, engine: Engine, features: FeatureSet, controls: ControlSet, policy: Policy | None = None):
        check_fit(engine, features, controls, policy)
        self.engine, self.features, self.controls, self.policy = engine, features, controls, policy
        rng = engine.task.rng
        runs = rng.xp.zeros(rng.runs, dtype=rng.xp.float64, device=rng.device)
        self.last = controls.defaults(runs)  # values in force, [B] each
        self.memory: Any = None

    def observe(self) -> Array:
        """Features of the present search: [B, F]."""
        s, self.memory = self.features.observe(self.engine.knowledge(), self.last, self.memory)
        return s

    def steer(self, values: Mapping[str, Array]) -> None:
        """Set controls [B] by name; the others stay."""
        self.engine.steer(values)
        self.last = {**self.last, **values}

    def decide(self, u: Array) -> None:
        """Set what the policy says of the present search; u [B, 2] is its chance."""
        assert self.policy is not None
        self.steer(self.policy.decide(self.observe(), u, self.controls))

    def trace(self) -> dict[str, Array]:
        """The values that the next generation is made under."""
        return dict(zip(self.controls.traced, self.last.values()))


class Controlled(Engine):
    """An engine steered by a policy: a decision after every generation, or `decisions` of them over the budget.

    features and controls are sets by name, the paper's unless given. chance gives the numbers
    [B, 2] of a decision; unless given they come from streams of the controller's own, so that
    a policy which draws changes no number of the search. apart is the least number of
    candidates between decisions that are spread over the budget.
    """

    remembers = ("engine", "controller", "told", "due", "draw")

    def __init__(
        self,
        engine: Engine,
        policy: Policy,
        features: str = "population-10",
        controls: str = "epsilon",
        decisions: int | None = None,
        chance: Callable[[], Array] | None = None,
        apart: int = 1,
    ) -> None:
        self.engine, self.controller = engine, Controller(engine, FEATURES[features], CONTROLS[controls], policy)
        self.task, self.size, self.controls, self.knows = engine.task, engine.size, engine.controls, engine.knows
        self.pace = 0.0 if decisions is None else max(float(apart), self.task.budget / decisions)
        self.draw = None if chance else self.task.rng.beside(OWN_STREAM)
        self.chance = chance or partial(self.task.rng.uniform if self.draw is None else self.draw.uniform, 2)
        self.told = 0  # candidates so far
        self.due = 0.0  # candidates at the next decision

    def ask(self) -> Array:
        """What the engine asks."""
        return self.engine.ask()

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Tell the engine, and decide if it is time."""
        self.engine.tell(x, ev)
        self.count(x.shape[1])

    def count(self, points: int) -> None:
        """Note that the engine was told so many candidates, and decide if it is time."""
        self.told += points
        if self.told >= self.due:
            self.due = self.pace * (self.told // self.pace + 1) if self.pace else 0.0
            self.controller.decide(self.chance())

    def steer(self, values: Mapping[str, Array]) -> None:
        self.controller.steer(values)

    def knowledge(self) -> Mapping[str, Any]:
        return self.engine.knowledge()

    def converged(self) -> Array | None:
        return self.engine.converged()

    def multipliers(self, x: Array) -> Array | None:
        return self.engine.multipliers(x)

    def steered_by(self) -> Mapping[str, Any]:
        return {} if self.controller.policy is None else self.controller.policy.metadata

    def trace(self) -> dict[str, Array]:
        return {**self.controller.trace(), **self.engine.trace()}

    @property
    def population(self) -> Population | None:  # type: ignore[override]
        return self.engine.population

    @property
    def generation(self) -> int:  # type: ignore[override]
        return self.engine.generation

    @property
    def wanted(self) -> np.ndarray | None:  # type: ignore[override]
        return self.engine.wanted


def check_fit(engine: Engine, features: FeatureSet, controls: ControlSet, policy: Policy | None) -> None:
    """Refuse a policy, features or controls that this engine cannot serve, and say what each side has."""
    who = type(engine).__name__
    missing = [name for name in features.needs if name not in engine.knows]
    if missing:
        raise InvalidInput(
            f"the features {features.name!r} need {', '.join(features.needs)}; "
            f"{who} knows {', '.join(engine.knows) or 'nothing'}"
        )
    offered = {c.name: c for c in engine.controls}
    if not all(_within(c, offered.get(c.name)) for c in controls.controls):
        raise InvalidInput(
            f"the controls {controls.name!r} set {_said(controls.controls)}; {who} offers {_said(offered.values())}"
        )
    if policy is not None:
        for kind, wanted, given in (
            ("features", policy.features, features.name),
            ("controls", policy.controls, controls.name),
        ):
            if wanted is not None and wanted != given:
                raise InvalidInput(f"this policy was made for the {kind} {wanted!r}; the search has {given!r}")
        policy.check(controls)


def _within(control: Control, offered: Control | None) -> bool:
    return offered is not None and offered.low <= control.low and control.high <= offered.high


def _said(controls: Any) -> str:
    return ", ".join(f"{c.name} in [{c.low:g}, {c.high:g}]" for c in controls) or "none"
