"""Policies: what to do in a state. Small values that turn features into action indices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meco.arrays import Array, Constants, namespace, to_numpy
from meco.errors import InvalidInput
from meco.mdp.action import ACTIONS
from meco.mdp.network import Weights, q_values, stack
from meco.mdp.policy_store import load_policy, policy_names, save_policy
from meco.mdp.state import FEATURES

__all__ = [
    "ConstantPolicy",
    "EpsilonGreedy",
    "Greedy",
    "Masked",
    "Policy",
    "RandomPolicy",
    "Weights",
    "load_policy",
    "policy_names",
    "q_values",
    "save_policy",
    "side_by_side",
]

CONSTRAINT_FEATURES = (7, 8, 9, 10)  # s7..s10, which the state ablation hides


class Policy(ABC):
    """Chooses an action for every run: features s [B, 10] and chance draw [B, 2] in, index [B] out."""

    metadata: Mapping[str, Any] = {}  # what is known of its training

    @abstractmethod
    def act(self, s: Array, draw: Array) -> Array:
        """Index of the action of each run: [B] integers from 0 to 10."""


@dataclass(frozen=True, eq=False)
class Greedy(Policy):
    """The action of largest value. Stacked weights [B, ...] give each run its own network."""

    weights: Weights
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _placed: Constants = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbers = {k: to_numpy(v) for k, v in self.weights._asdict().items()}
        object.__setattr__(self, "_placed", Constants(**numbers))

    def act(self, s: Array, draw: Array) -> Array:
        weights = Weights(**self._placed.on(s))
        return namespace(s).argmax(q_values(weights, s), axis=-1)  # a sigmoid would not change the order


@dataclass(frozen=True, eq=False)
class EpsilonGreedy(Policy):
    """Greedy, but with probability rate an action at random."""

    weights: Weights
    rate: float = 0.1
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _greedy: Greedy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_greedy", Greedy(self.weights))

    def act(self, s: Array, draw: Array) -> Array:
        return explore(self._greedy.act(s, draw), draw, self.rate)


@dataclass(frozen=True)
class RandomPolicy(Policy):
    """Every action equally often."""

    def act(self, s: Array, draw: Array) -> Array:
        return any_action(draw[:, 1])


@dataclass(frozen=True)
class ConstantPolicy(Policy):
    """Always the same action, by its index."""

    index: int

    def __post_init__(self) -> None:
        if self.index not in range(ACTIONS):
            raise InvalidInput(f"an action index is a whole number from 0 to {ACTIONS - 1}; got {self.index!r}")

    def act(self, s: Array, draw: Array) -> Array:
        xp = namespace(s)
        return xp.full((s.shape[0],), self.index, dtype=xp.int64, device=s.device)


@dataclass(frozen=True, eq=False)
class Masked(Policy):
    """A policy that sees some features as 0: s7..s10 in the paper's state ablation."""

    policy: Policy
    hidden: tuple[int, ...] = CONSTRAINT_FEATURES  # numbered as in the paper, from 1
    _seen: Constants = field(init=False, repr=False)

    def __post_init__(self) -> None:
        wrong = [i for i in self.hidden if i not in range(1, FEATURES + 1)]
        if wrong:
            raise InvalidInput(f"features are numbered from 1 to {FEATURES}; got {wrong[0]!r}")
        seen = [0.0 if i in self.hidden else 1.0 for i in range(1, FEATURES + 1)]
        object.__setattr__(self, "_seen", Constants(seen=np.array(seen)))

    @property
    def metadata(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.policy.metadata

    def act(self, s: Array, draw: Array) -> Array:
        return self.policy.act(s * self._seen.on(s)["seen"], draw)


def any_action(u: Array) -> Array:
    """An index from 0 to 10 from a uniform number: [B]."""
    xp = namespace(u)
    return xp.astype(u * ACTIONS, xp.int64)


def explore(index: Array, draw: Array, rate: Array | float) -> Array:
    """The chosen index, or with probability rate (one, or [B]) any index; draw [B, 2]."""
    return namespace(draw).where(draw[:, 0] < rate, any_action(draw[:, 1]), index)


def side_by_side(policies: Iterable[Greedy]) -> Greedy:
    """One greedy policy per run as a single policy; they must decode their actions alike."""
    each = list(policies)
    kinds = {(p.metadata.get("decoder"), p.metadata.get("delta")) for p in each}
    if len(kinds) > 1:
        raise InvalidInput(f"policies side by side must share decoder and delta; got {sorted(map(str, kinds))}")
    return Greedy(stack(p.weights for p in each), each[0].metadata)
