"""Runs in one batch that are rewarded or decoded differently: ablation variants in lockstep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from meco.core.arrays import Array, Constants, namespace
from meco.core.control import Control
from meco.learn.paper.reward import REWARDS, Reward
from meco.policies.paper.steered_rule import DECODERS, Decoder

T = TypeVar("T")


def make_mixed_reward(names: Sequence[str]) -> Reward:
    """One reward whose run b is rewarded by names[b]; an unknown name is an error."""
    kinds = _runs_by_kind(names, REWARDS)
    if len(kinds) == 1:
        return kinds[0][0]

    def reward(before, after, initial, f_star):
        return _join_by_run([(kind(before, after, initial, f_star), runs) for kind, runs in kinds])

    return reward


def make_mixed_decoder(names: Sequence[str]) -> Decoder:
    """One decoder whose run b decodes by names[b]; UnknownName for a name that is none."""
    kinds = _runs_by_kind(names, DECODERS)
    return kinds[0][0] if len(kinds) == 1 else MixedDecoder(kinds=tuple(kinds))


@dataclass(frozen=True)
class MixedDecoder(Decoder):
    """Several decoders, each for the runs that a mask [B] names."""

    kinds: tuple[tuple[Decoder, Constants], ...] = field(default=(), compare=False)
    name = "mixed"

    @property
    def grid(self) -> np.ndarray:
        """The union of the grids: every value that some run may take."""
        return np.unique(np.concatenate([kind.grid for kind, _ in self.kinds]))

    @property
    def control(self) -> Control:
        """One number, whatever it means to a run."""
        return Control("epsilon", float(self.grid[0]), float(self.grid[-1]), 0.0)

    def first_allowance(self, base: Array) -> Array:
        return _join_by_run([(kind.first_allowance(base), runs) for kind, runs in self.kinds])

    def next_allowance(self, eps: Array, action: Array, base: Array) -> Array:
        return _join_by_run([(kind.next_allowance(eps, action, base), runs) for kind, runs in self.kinds])


def _runs_by_kind(names: Sequence[str], kinds: Mapping[str, T]) -> list[tuple[T, Constants]]:
    """The kinds that runs name, each with the mask [B] of its runs; UnknownName for other names."""
    given = np.array(names)
    return [(kinds[name], Constants(runs=given == name)) for name in dict.fromkeys(names)]


def _join_by_run(parts: Sequence[tuple[Array, Constants]]) -> Array:
    """Arrays [B, ...] of several kinds as one: the rows of each where its mask [B] holds."""
    value = parts[0][0]
    xp = namespace(value)
    for other, runs in parts[1:]:
        mask = runs.on(value)["runs"] > 0.0
        value = xp.where(mask if value.ndim == 1 else mask[:, None], other, value)
    return value
