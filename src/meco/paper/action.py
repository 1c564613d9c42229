"""How an action sets the relaxation: geometrically (section 2.2, eq. 6), and the ablation's linear rule (eq. 10).

decode_action() is eq. 6.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from meco.core.arrays import Array, masked_mean, namespace
from meco.core.control import Control
from meco.core.evaluation import Evaluation
from meco.core.registry import Registry
from meco.core.rule import Key
from meco.rules.epsilon import DELTA, decode_action, initial_scale, relaxed_violation, thresholded_violation

N_ACTIONS = 11  # values that the paper's policy chooses among
ACTION_GRID = np.arange(N_ACTIONS) / 10  # {0, 0.1, ..., 1}
ACTION_GRID.flags.writeable = False


@dataclass(frozen=True)
class Decoder(ABC):
    """How the value of a control sets the allowance eps [B, C]. A value, shared by all runs."""

    delta: float = DELTA  # the strictest allowance

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which policy files refer to it."""

    @property
    @abstractmethod
    def grid(self) -> np.ndarray:
        """The eleven values that the paper's policies choose among, index k first to last: [11]."""

    @property
    @abstractmethod
    def control(self) -> Control:
        """The number that is decoded."""

    def scale(self, ev: Evaluation) -> Array:
        """The initial scale of a first population, at least delta: [B, C], or [B, 1] of a single allowance."""
        return initial_scale(ev, self.delta)

    def values(self, ev: Evaluation, eps: Array) -> Key:
        """The key of candidates [B, N] when eps is allowed: what exceeds it, then the objective."""
        return Key(relaxed_violation(ev.c, eps), ev.f)

    def known(self, eps: Array) -> dict[str, Array]:
        """What a policy sees as s9 in place of its last action, by the name "last action"; empty for the action."""
        return {}

    @abstractmethod
    def first_allowance(self, base: Array) -> Array:
        """The allowance before any action, for the initial scale base [B, C]."""

    @abstractmethod
    def next_allowance(self, eps: Array, action: Array, base: Array) -> Array:
        """The allowance after an action: eps, base [B, C], action value [B] -> [B, C]."""

    def with_delta(self, delta: float) -> Decoder:
        """The same decoding with another strictest allowance."""
        return replace(self, delta=float(delta))


@dataclass(frozen=True)
class GeometricDecoder(Decoder):
    """eps_t = base^a delta^(1 - a) (paper eq. 6): forgets the allowance of before."""

    name = "geometric"
    grid = ACTION_GRID
    control = Control("epsilon", 0.0, 1.0, 0.0, "relaxation: 0 is the strictest, 1 the violation at first")

    def first_allowance(self, base: Array) -> Array:
        return namespace(base).full_like(base, self.delta)

    def next_allowance(self, eps: Array, action: Array, base: Array) -> Array:
        return decode_action(action, base, self.delta)


@dataclass(frozen=True)
class ThresholdDecoder(GeometricDecoder):
    """The authors' release: one eps on the sum of violations, within which they count as none; s9 is eps itself."""

    name = "threshold"

    def scale(self, ev: Evaluation) -> Array:
        xp = namespace(ev.f)
        return xp.clip(masked_mean(ev.nu, ~ev.failed)[:, None], min=self.delta)

    def values(self, ev: Evaluation, eps: Array) -> Key:
        return Key(thresholded_violation(ev.nu, eps[:, 0]), ev.f)

    def known(self, eps: Array) -> dict[str, Array]:
        return {"last action": eps[:, 0]}


@dataclass(frozen=True)
class LinearDecoder(Decoder):
    """eps_t = eps_{t-1} (1 - a), a in [-reach, reach] (paper eq. 10), kept within [delta, base].

    With a in [0, 1] the allowance could only shrink, so the grid is symmetric around 0.
    """

    reach: float = 1.0
    label: str = "aa"

    @property
    def name(self) -> str:
        return self.label

    @property
    def grid(self) -> np.ndarray:
        return self.reach * ((np.arange(N_ACTIONS) - 5) / 5)

    @property
    def control(self) -> Control:
        return Control("epsilon-cut", -self.reach, self.reach, 0.0, "share by which the relaxation shrinks")

    def first_allowance(self, base: Array) -> Array:
        return base

    def next_allowance(self, eps: Array, action: Array, base: Array) -> Array:
        xp = namespace(eps)
        return xp.minimum(xp.clip(eps * (1.0 - action[:, None]), min=self.delta), base)


DECODERS: Registry[Decoder] = Registry(
    "decoder",
    {
        "geometric": GeometricDecoder(),
        "threshold": ThresholdDecoder(),
        "aa": LinearDecoder(reach=1.0, label="aa"),  # the aggressive ablation
        "ca": LinearDecoder(reach=0.1, label="ca"),  # the conservative one
    },
)
