"""Actions of the meta-level MDP: eleven values, and how a value becomes an allowance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from meco.arrays import Array, namespace
from meco.registry import Registry
from meco.rules.epsilon import DELTA, decode

ACTIONS = 11
GRID = np.arange(ACTIONS) / 10  # {0, 0.1, ..., 1}
GRID.flags.writeable = False


@dataclass(frozen=True)
class Decoder(ABC):
    """How the value of an action sets the allowance eps [B, C]. A value, shared by all runs."""

    delta: float = DELTA  # the strictest allowance

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which policy files refer to it."""

    @property
    @abstractmethod
    def grid(self) -> np.ndarray:
        """The eleven values an action can take, index k first to last: [11]."""

    @abstractmethod
    def first(self, base: Array) -> Array:
        """The allowance before any action, for the initial scale base [B, C]."""

    @abstractmethod
    def next(self, eps: Array, action: Array, base: Array) -> Array:
        """The allowance after an action: eps, base [B, C], action value [B] -> [B, C]."""

    def with_delta(self, delta: float) -> Decoder:
        """The same decoding with another strictest allowance."""
        return replace(self, delta=float(delta))


@dataclass(frozen=True)
class Geometric(Decoder):
    """eps_t = base^a delta^(1 - a) (paper eq. 5): forgets the allowance of before."""

    name = "geometric"
    grid = GRID

    def first(self, base: Array) -> Array:
        return namespace(base).full_like(base, self.delta)

    def next(self, eps: Array, action: Array, base: Array) -> Array:
        return decode(action, base, self.delta)


@dataclass(frozen=True)
class Linear(Decoder):
    """eps_t = eps_{t-1} (1 - a), a in [-reach, reach] (paper eq. 9), kept within [delta, base].

    With a in [0, 1] the allowance could only shrink, so the grid is symmetric around 0.
    """

    reach: float = 1.0
    label: str = "aa"

    @property
    def name(self) -> str:
        return self.label

    @property
    def grid(self) -> np.ndarray:
        return self.reach * ((np.arange(ACTIONS) - 5) / 5)

    def first(self, base: Array) -> Array:
        return base

    def next(self, eps: Array, action: Array, base: Array) -> Array:
        xp = namespace(eps)
        return xp.minimum(xp.clip(eps * (1.0 - action[:, None]), min=self.delta), base)


DECODERS: Registry[Decoder] = Registry(
    "decoder",
    {
        "geometric": Geometric(),
        "aa": Linear(reach=1.0, label="aa"),  # the aggressive ablation
        "ca": Linear(reach=0.1, label="ca"),  # the conservative one
    },
)
