"""The replay memory of K policies in lockstep: first in, first out."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from meco.training.ddqn import Batch


def without_replacement(u: np.ndarray, held: int) -> np.ndarray:
    """As many different places below `held` as there are uniform numbers u [K, M], every set equally likely: [K, M].

    Floyd's way: the i-th number picks among one place more than the one before it could; a
    place that is taken already gives way to the newest.
    """
    count = u.shape[1]
    newest = np.arange(held - count, held)
    places = (u * (newest + 1)).astype(np.int64)
    for i in range(1, count):
        taken = (places[:, :i] == places[:, i : i + 1]).any(axis=1)
        places[taken, i] = newest[i]
    return places


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

    def sample(self, u: np.ndarray) -> Batch:
        """A mini-batch of each policy, all its transitions different; uniform numbers u [K, M] decide."""
        places = torch.from_numpy((without_replacement(u, self.held) + self._offset).reshape(-1))
        found = self.rows.flatten(0, 1)[places.to(self.rows.device)].unflatten(0, u.shape)
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
