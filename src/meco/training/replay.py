"""The replay memory of K policies in lockstep: first in, first out."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meco.training.ddqn import Batch


def without_replacement(u: np.ndarray, held: int, count: int) -> np.ndarray:
    """Uniform choice of `count` different places below `held`, from uniform numbers u [K, capacity]: [K, count]."""
    return np.argpartition(u[:, :held], count - 1, axis=1)[:, :count]


class Replay:
    """The last `capacity` transitions of each policy, one row each: s, s', action, reward, last."""

    def __init__(self, policies: int, capacity: int, features: int, device: str = "cpu") -> None:
        self.capacity, self.features = capacity, features
        self.rows = torch.zeros(policies, capacity, 2 * features + 3, dtype=torch.float64, device=device)
        self.written = 0
        self._offset = capacity * np.arange(policies)[:, None]

    @property
    def held(self) -> int:
        """Transitions of each policy in memory."""
        return min(self.written, self.capacity)

    def add(self, s: Tensor, action: Tensor, reward: Tensor, s_next: Tensor, last: bool) -> None:
        """Remember one transition of each policy; s, s_next [K, S], action (its index) and reward [K]."""
        row = self.rows[:, self.written % self.capacity]
        n = self.features
        row[:, :n], row[:, n : 2 * n] = s, s_next
        row[:, 2 * n], row[:, 2 * n + 1], row[:, 2 * n + 2] = action, reward, float(last)
        self.written += 1

    def sample(self, u: np.ndarray, count: int) -> Batch:
        """A mini-batch of each policy; u [K, capacity] uniform numbers decide."""
        places = torch.from_numpy((without_replacement(u, self.held, count) + self._offset).reshape(-1))
        found = self.rows.flatten(0, 1)[places.to(self.rows.device)].unflatten(0, (-1, count))
        n = self.features
        return Batch(
            found[..., :n], found[..., n : 2 * n], found[..., 2 * n].long(), found[..., -2], found[..., -1]
        )  # fmt: skip

    def keep(self, policies: Tensor) -> None:
        """Go on with some of the policies only."""
        self.rows = self.rows[policies].clone()
        self._offset = self._offset[: len(policies)]

    def restore(self, rows: Tensor, written: int) -> None:
        """Go on from saved rows."""
        self.rows.copy_(rows)
        self.written = written
