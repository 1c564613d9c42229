"""Control beside the engine: observe -> policy -> controls.

    engine.knowledge() --features--> s [B, F] --policy--> values by name --engine.steer()--> the next generation

The engine knows nothing of its controller, and the rule nothing of the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from meco.core.arrays import Array
from meco.core.capabilities import Policed, SavedState, Steering, find_capability
from meco.core.control import Control
from meco.core.engine import Engine
from meco.core.evaluation import Evaluation
from meco.core.rule import Population
from meco.core.streams import CONTROLLER_STREAM
from meco.errors import InvalidInput
from meco.paper.controls import CONTROLS, ControlSet
from meco.paper.features import FEATURES, FeatureSet
from meco.paper.policy import Policy


class Controller:
    """Looks at an engine through features, and hands it controls by name.

    It remembers what the features need and the values in force. Without a policy the values
    come from outside, as in an Episode.
    """

    remembers = ("last", "memory")  # names in saved states

    def __init__(self, engine: Engine, features: FeatureSet, controls: ControlSet, policy: Policy | None = None):
        """Set nothing yet; what does not fit is refused (check_fit)."""
        self.steering = check_fit(engine, features, controls, policy)
        self.features, self.controls, self.policy = features, controls, policy
        rng = engine.task.rng
        runs = rng.xp.zeros(rng.runs, dtype=rng.xp.float64, device=rng.device)
        self.last = controls.defaults(runs)  # values in force, [B] each
        self.memory: Any = None

    def observe(self) -> Array:
        """Features of the present search: [B, F]. Moves the memory of the features on: once for each decision."""
        s, self.memory = self.features.observe(self.steering.knowledge(), self.last, self.memory)
        return s

    def steer(self, values: Mapping[str, Array]) -> None:
        """Set controls [B] by name; the others stay."""
        self.steering.steer(values)
        self.last = {**self.last, **values}

    def decide(self, u: Array) -> None:
        """Observe the search and set what the policy says; u [B, 2] is its chance."""
        assert self.policy is not None
        self.steer(self.policy.decide(self.observe(), u, self.controls))

    def trace(self) -> dict[str, Array]:
        """The values [B] that the next generation is made under, by the names they are traced under."""
        return {traced: self.last[name] for traced, name in zip(self.controls.traced, self.controls.names)}


class Controlled(Engine):
    """An engine steered by a policy, which decides after every generation.

    features (or a set itself) and controls are sets by name, the paper's unless given. chance gives the numbers
    [B, 2] of a decision; unless given they come from streams of the controller's own, so that
    a policy which draws changes no number of the search.
    """

    remembers: tuple[str, ...] = ("engine", "controller", "draw")  # names in saved states

    def __init__(
        self,
        engine: Engine,
        policy: Policy,
        features: str | FeatureSet = "population-10",
        controls: str = "epsilon",
        chance: Callable[[], Array] | None = None,
    ) -> None:
        """Nothing is decided before the first tell; what does not fit is refused (check_fit)."""
        seen = FEATURES[features] if isinstance(features, str) else features
        self.engine, self.controller = engine, Controller(engine, seen, CONTROLS[controls], policy)
        self.task = engine.task
        self.draw = None if chance else self.task.rng.spawn(CONTROLLER_STREAM)
        self.chance = chance or partial(self.task.rng.uniform if self.draw is None else self.draw.uniform, 2)

    def ask(self) -> Array:
        """What the engine asks."""
        return self.engine.ask()

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Tell the engine of candidates x [B, n, D], and have the policy decide."""
        self.engine.tell(x, ev)
        self.controller.decide(self.chance())

    def capabilities(self) -> tuple[Any, ...]:
        """What the engine offers, with the policy's part in it: its state, and who steers."""
        offers: dict[type, Any] = {type(each): each for each in self.engine.capabilities()}
        offers[Steering] = self.controller.steering._replace(steer=self.controller.steer)
        if self.controller.policy is not None:
            offers[Policed] = Policed(self.controller.policy.metadata)
        if SavedState in offers:
            offers[SavedState] = SavedState(self)
        return tuple(offers.values())

    def trace(self) -> dict[str, Array]:
        return {**self.controller.trace(), **self.engine.trace()}

    @property
    def population(self) -> Population | None:  # type: ignore[override]
        return self.engine.population

    @property
    def generation(self) -> int:  # type: ignore[override]
        return self.engine.generation


def check_fit(engine: Engine, features: FeatureSet, controls: ControlSet, policy: Policy | None) -> Steering:
    """How to steer this engine. InvalidInput where it cannot be, or policy, features or controls do not fit it."""
    name, steering = type(engine).__name__, find_capability(engine, Steering)
    if steering is None:
        raise InvalidInput(f"{name} cannot be steered: it offers no controls")
    missing = [name for name in features.needs if name not in steering.knows]
    if missing:
        raise InvalidInput(
            f"the features {features.name!r} need {', '.join(features.needs)}; "
            f"{name} knows {', '.join(steering.knows) or 'nothing'}"
        )
    known = {c.name: c for c in steering.controls}
    if not all(_is_within(c, known.get(c.name)) for c in controls.controls):
        raise InvalidInput(
            f"the controls {controls.name!r} set {_describe_ranges(controls.controls)}; "
            f"{name} offers {_describe_ranges(known.values())}"
        )
    if policy is not None:
        for kind, wanted, given in (
            ("features", policy.features, features.name),
            ("controls", policy.controls, controls.name),
        ):
            if wanted is not None and wanted != given:
                raise InvalidInput(f"this policy was made for the {kind} {wanted!r}; the search has {given!r}")
        policy.check(controls)
    return steering


def _is_within(control: Control, offered: Control | None) -> bool:
    """Whether the engine offers this control, and over its whole range."""
    return offered is not None and offered.low <= control.low and control.high <= offered.high


def _describe_ranges(controls: Any) -> str:
    """Controls with their ranges, for a message; "none" without any."""
    return ", ".join(f"{c.name} in [{c.low:g}, {c.high:g}]" for c in controls) or "none"
