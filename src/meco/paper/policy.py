"""Policies: what to do in a state. Small values that turn features into controls.

Most choose a row of the control set's grid and say which in act(); one that sets its controls outright
overrides decide() instead. Nothing else is needed for a policy of a new kind; Greedy is the one that has files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meco.core.arrays import Array, Constants, namespace, to_numpy
from meco.errors import InvalidInput, UnknownName
from meco.paper.controls import CONTROLS, ControlSet, find_control_set_name
from meco.paper.features import FEATURES
from meco.paper.network import PAPER_SHAPE, NetworkShape, Weights, q_values, stack_networks
from meco.paper.reading import Reading

__all__ = [
    "ConstantControls",
    "ConstantPolicy",
    "EpsilonGreedy",
    "Greedy",
    "Masked",
    "Policy",
    "RandomPolicy",
    "Weights",
    "q_values",
    "stack_policies",
]

CONSTRAINT_FEATURES = (7, 8, 9, 10)  # s7..s10, which the state ablation hides


class Policy:
    """Decides for every run: features s [B, F] and chance u [B, 2] in, a value [B] for each control out."""

    metadata: Mapping[str, Any] = {}  # what is known of its training

    @property
    def features(self) -> str | None:
        """The feature set it was made for; None: any."""
        return self.metadata.get("features")

    @property
    def controls(self) -> str | None:
        """The control set it was made for; None: any."""
        decoder = self.metadata.get("decoder")  # the paper's policies may name it instead
        return self.metadata.get("controls", None if decoder is None else find_control_set_name(decoder))

    def check(self, controls: ControlSet) -> None:
        """Refuse controls that this policy cannot set with InvalidInput or UnknownName; here none are."""

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        """A value [B] for each control by name, from features s [B, F] and chance u [B, 2]."""
        return controls.combination(self.act(s, u))

    def act(self, s: Array, u: Array) -> Array:
        """Which row of the controls' grid each run takes: [B] integers. InvalidInput of policies that have no grid."""
        raise InvalidInput(f"{type(self).__name__} sets its controls outright: ask decide(), not act()")


@dataclass(frozen=True, eq=False)
class Greedy(Policy):
    """The action of largest value of a network. Stacked weights [B, ...] give each run its own."""

    weights: Weights
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _network: Constants = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbers = {k: to_numpy(v) for k, v in self.weights._asdict().items()}
        object.__setattr__(self, "_network", Constants(Weights, **numbers))

    def outputs(self, s: Array, output: str = "linear") -> Array:
        """Action values of the network, linear or through a sigmoid: s [B, F] -> [B, A]; nan stays in its row."""
        return q_values(self._network.on(s), s, output)

    def act(self, s: Array, u: Array) -> Array:
        """The action of largest value, [B] integers, for features s [B, F]; the chance u is not used."""
        values = self.outputs(s)  # a sigmoid would not change the order
        return values.argmax(axis=-1) if isinstance(values, np.ndarray) else namespace(s).argmax(values, axis=-1)


@dataclass(frozen=True, eq=False)
class EpsilonGreedy(Policy):
    """Greedy, but with probability rate an action at random."""

    weights: Weights
    rate: float = 0.1
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _greedy: Greedy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_greedy", Greedy(self.weights))

    def act(self, s: Array, u: Array) -> Array:
        """The greedy action, or any where u[:, 0] is below the rate."""
        return explore_at_rate(self._greedy.act(s, u), u, self.rate, self.weights.b2.shape[-1])


@dataclass(frozen=True)
class RandomPolicy(Policy):
    """Every combination of controls equally often."""

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        return controls.combination(draw_index(u[:, 1], len(controls.grid)))

    def act(self, s: Array, u: Array) -> Array:
        return draw_index(u[:, 1], PAPER_SHAPE.outputs)


@dataclass(frozen=True)
class ConstantPolicy(Policy):
    """Always the same action, by its index."""

    index: int

    def __post_init__(self) -> None:
        """InvalidInput for an index that no action has."""
        if self.index not in range(PAPER_SHAPE.outputs):
            raise InvalidInput(f"an action index is an integer from 0 to {PAPER_SHAPE.outputs - 1}; got {self.index!r}")

    def act(self, s: Array, u: Array) -> Array:
        xp = namespace(s)
        return xp.full((s.shape[0],), self.index, dtype=xp.int64, device=s.device)


@dataclass(frozen=True)
class ConstantControls(Policy):
    """The same value for a control in every state: {"epsilon": 0.3}; what is not named keeps its default."""

    values: Mapping[str, float]

    def check(self, controls: ControlSet) -> None:
        """Refuse unknown controls, and values outside their range or nan."""
        known = {c.name: c for c in controls.controls}
        for name, value in self.values.items():
            if name not in known:
                raise UnknownName("control", name, known)
            low, high = known[name].low, known[name].high
            if not low <= value <= high:
                raise InvalidInput(f"{name} must lie in [{low:g}, {high:g}]; got {value!r}")

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        return {name: controls.constant(value, s) for name, value in self.values.items()}


@dataclass(frozen=True, eq=False)
class Masked(Policy):
    """A policy that sees some features as 0: s7..s10 in the paper's state ablation."""

    policy: Policy
    hidden: tuple[int, ...] = CONSTRAINT_FEATURES  # numbered as in the paper, from 1
    _seen: Constants = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse numbers that no feature has."""
        count = len(FEATURES[self.policy.features or "population-10"].names)
        wrong = [i for i in self.hidden if i not in range(1, count + 1)]
        if wrong:
            raise InvalidInput(f"features are numbered from 1 to {count}; got {wrong[0]!r}")
        seen = [0.0 if i in self.hidden else 1.0 for i in range(1, count + 1)]
        object.__setattr__(self, "_seen", Constants(seen=np.array(seen)))

    @property
    def metadata(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.policy.metadata

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        return self.policy.decide(s * self._seen.on(s)["seen"], u, controls)

    def act(self, s: Array, u: Array) -> Array:
        return self.policy.act(s * self._seen.on(s)["seen"], u)


def find_network_shape(metadata: Mapping[str, Any], hidden: int) -> NetworkShape:
    """The shape that a policy's features, controls and kind ask for; UnknownName for names that are not known."""
    return NetworkShape.of(FEATURES[metadata["features"]], CONTROLS[metadata["controls"]], hidden)


def draw_index(u: Array, count: int) -> Array:
    """Uniform numbers u [B] in [0, 1) as indices below count: [B] integers."""
    xp = namespace(u)
    return xp.astype(u * count, xp.int64)


def explore_at_rate(index: Array, u: Array, rate: Array | float, count: int) -> Array:
    """The chosen index [B], or with probability rate (one, or [B]) any below count; u [B, 2] is the chance."""
    return namespace(u).where(u[:, 0] < rate, draw_index(u[:, 1], count), index)


def stack_policies(policies: Iterable[Greedy]) -> Greedy:
    """One network per run as a single policy, with the first one's metadata; one at least.

    Those of different features, controls, delta or reading are refused.
    """
    each = list(policies)
    kinds = {(p.features, p.controls, p.metadata.get("delta"), Reading.of(p.metadata)) for p in each}
    if len(kinds) > 1:
        raise InvalidInput(
            f"policies side by side must share features, controls, delta and reading; got {sorted(map(str, kinds))}"
        )
    return type(each[0])(stack_networks(p.weights for p in each), each[0].metadata)
