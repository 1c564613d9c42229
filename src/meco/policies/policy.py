"""Policies: what to do in a state. Small values that turn features into controls.

Most choose a row of the control set's grid and say which in act(); one that sets its controls outright
overrides decide() instead. Nothing else is needed for a policy of a new kind; POLICY_KINDS lists those that have files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meco.core.arrays import Array, Constants, bounded, namespace, to_numpy
from meco.core.registry import Registry
from meco.errors import InvalidInput, UnknownName
from meco.policies.controls import CONTROLS, TR_PROFILES, ControlSet, find_control_set_name, profile_controls
from meco.policies.features import FEATURES
from meco.policies.network import PAPER_SHAPE, NetworkShape, Weights, q_values, stack_networks

__all__ = [
    "POLICY_KINDS",
    "Choosing",
    "ConstantControls",
    "ConstantPolicy",
    "Correcting",
    "EpsilonGreedy",
    "Greedy",
    "Masked",
    "Policy",
    "ProfileChoice",
    "ProfileTree",
    "RandomPolicy",
    "Weights",
    "q_values",
    "stack_policies",
]

TREE_DEPTH = 3  # of a policy that is a tree
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
class NetworkPolicy(Policy):
    """A policy with a network. Stacked weights [B, ...] give each run its own."""

    weights: Weights
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _network: Constants = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbers = {k: to_numpy(v) for k, v in self.weights._asdict().items()}
        object.__setattr__(self, "_network", Constants(Weights, **numbers))

    def outputs(self, s: Array, output: str = "linear") -> Array:
        """Action values of the network, linear or through a sigmoid: s [B, F] -> [B, A]; nan stays in its row."""
        return q_values(self._network.on(s), s, output)

    @staticmethod
    def width(controls: ControlSet) -> int:
        """Outputs of a network for these controls."""
        return len(controls.grid)


class Greedy(NetworkPolicy):
    """The action of largest value."""

    def act(self, s: Array, u: Array) -> Array:
        """The action of largest value, [B] integers, for features s [B, F]; the chance u is not used."""
        values = self.outputs(s)  # a sigmoid would not change the order
        return values.argmax(axis=-1) if isinstance(values, np.ndarray) else namespace(s).argmax(values, axis=-1)


class Correcting(NetworkPolicy):
    """One output for each control: what to add to the value that the engine's own rule would set.

    The last features are those values, in the order of the controls; an output of 0 leaves them.
    """

    @staticmethod
    def width(controls: ControlSet) -> int:
        return len(controls.controls)

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        """The rule's own values, changed by at most the range of each control: [B] by name; u is not used."""
        each = controls.controls
        change, own = namespace(s).tanh(self.outputs(s)), s[:, -len(each) :]
        return {c.name: bounded(own[:, k] + (c.high - c.low) * change[:, k], c.low, c.high) for k, c in enumerate(each)}


class Choosing(NetworkPolicy):
    """The combination of controls of largest value, or what the engine's own rule would set, the last output.

    The last features are what the rule would set, in the order of the controls.
    """

    @staticmethod
    def width(controls: ControlSet) -> int:
        return len(controls.grid) + 1

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        """The best combination, [B] by name, where its value is above that of the engine's own rule.

        Else that rule's.
        """
        xp, values, size = namespace(s), self.outputs(s), len(controls.grid)
        own = s[:, -len(controls.controls) :]
        better = xp.max(values[:, :size], axis=-1) > values[:, size]
        chosen = controls.combination(xp.argmax(values[:, :size], axis=-1))
        return {name: xp.where(better, chosen[name], own[:, k]) for k, name in enumerate(controls.names)}


@dataclass(frozen=True, eq=False)
class ProfileChoice(Greedy):
    """The profile of largest worth, among those that came with the policy: "profiles" of its metadata."""

    _profiles: ControlSet = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_profiles", controls_of(self.metadata))

    def decide(self, s: Array, u: Array, controls: ControlSet) -> dict[str, Array]:
        """The controls of that profile; the grid of controls is not used."""
        return self._profiles.combination(self.act(s, u))


class ProfileTree(ProfileChoice):
    """A decision tree of depth three in the place of the network: seven questions, eight profiles.

    Question j is whether s @ w1[:, j] + b1[j] > 0, the root first, then from left to right; leaf l has the values
    w2[l] [A], and "no" goes left. The eighth column of w1 and b1 is not used.
    """

    def outputs(self, s: Array, output: str = "linear") -> Array:
        """The values of the leaf that each run comes to: s [B, F] -> [B, A]."""
        weights, xp = self._network.on(s), namespace(s)
        yes = xp.astype((s[:, None, :] @ weights.w1)[:, 0, :] + weights.b1 > 0.0, xp.int64)  # [B, 8]
        every = xp.arange(yes.shape[-1], device=s.device)[None, :]
        node = 0 * yes[:, :1]
        for _ in range(TREE_DEPTH):
            node = 2 * node + 1 + xp.sum(yes * xp.astype(every == node, yes.dtype), axis=-1, keepdims=True)
        return xp.take(weights.w2, node[:, 0] - (2**TREE_DEPTH - 1), axis=0)


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
    """The same value for a control in every state: {"theta": 0.5, "share": 0}; what is not named keeps its default."""

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


POLICY_KINDS: Registry[type[NetworkPolicy]] = Registry(
    "kind of policy",
    {
        "greedy": Greedy,
        "correcting": Correcting,
        "choosing": Choosing,
        "profiles": ProfileChoice,
        "profile-tree": ProfileTree,
    },
)


def controls_of(metadata: Mapping[str, Any]) -> ControlSet:
    """The controls that metadata names, with the policy's own profiles as their grid where it brings some."""
    named = CONTROLS[metadata.get("controls", TR_PROFILES.name)]
    return profile_controls(metadata["profiles"]) if named is TR_PROFILES and "profiles" in metadata else named


def find_network_shape(metadata: Mapping[str, Any], hidden: int) -> NetworkShape:
    """The shape that a policy's features, controls and kind ask for; UnknownName for names that are not known."""
    features, controls = FEATURES[metadata["features"]], controls_of(metadata)
    return NetworkShape(len(features.names), hidden, POLICY_KINDS[metadata["kind"]].width(controls))


def draw_index(u: Array, count: int) -> Array:
    """Uniform numbers u [B] in [0, 1) as indices below count: [B] integers."""
    xp = namespace(u)
    return xp.astype(u * count, xp.int64)


def explore_at_rate(index: Array, u: Array, rate: Array | float, count: int) -> Array:
    """The chosen index [B], or with probability rate (one, or [B]) any below count; u [B, 2] is the chance."""
    return namespace(u).where(u[:, 0] < rate, draw_index(u[:, 1], count), index)


def stack_policies(policies: Iterable[NetworkPolicy]) -> NetworkPolicy:
    """One network per run as a single policy, with the first one's metadata; one at least.

    Those of different features, controls or delta are refused.
    """
    each = list(policies)
    kinds = {(p.features, p.controls, p.metadata.get("delta")) for p in each}
    if len(kinds) > 1:
        raise InvalidInput(
            f"policies side by side must share features, controls and delta; got {sorted(map(str, kinds))}"
        )
    return type(each[0])(stack_networks(p.weights for p in each), each[0].metadata)
