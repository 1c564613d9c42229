"""The replay memory of K policies in lockstep: first in, first out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from meco.paper.ddqn import Batch


def sample_without_replacement(u: np.ndarray, size: int | np.ndarray) -> np.ndarray:
    """As many different indices below `size` as there are uniform numbers u [..., M], every set equally likely.

    Floyd's algorithm: the i-th number picks among one index more than the one before it could; an
    index that is taken already is replaced by the newest. size is one number, or one for each set [...].
    """
    count = u.shape[-1]
    newest = np.asarray(size)[..., None] + np.arange(-count, 0)
    rows = (u * (newest + 1)).astype(np.int64)
    for i in range(1, count):
        taken = (rows[..., :i] == rows[..., i : i + 1]).any(axis=-1)
        rows[..., i] = np.where(taken, newest[..., i], rows[..., i])
    return rows


class MemoryAccess(NamedTuple):
    """Which rows of the memory a round of T steps of E episodes writes and reads, known before its transitions are."""

    writes: Tensor  # [T, E, 1], the column of each transition
    reads: Tensor  # [T, E, K M], the rows of each mini-batch among those of all policies
    idle: int  # first steps after which there are too few transitions for a mini-batch


class ReplayMemory:
    """The last `capacity` transitions of each policy, one row each: s, s', action, reward, last.

    Checkpoints hold the rows as they are.
    """

    def __init__(self, policies: int, capacity: int, features: int) -> None:
        """Empty memories of so many policies and transitions each."""
        self.capacity, self.features = capacity, features
        self.rows = torch.zeros(policies, capacity, 2 * features + 3, dtype=torch.float64)
        self.written = 0

    @property
    def size(self) -> int:
        """Transitions of each policy in memory."""
        return min(self.written, self.capacity)

    def reserve_access(self, u: np.ndarray, least: int) -> MemoryAccess:
        """The rows that the next T steps will write and read, by uniform numbers u [K, T, E, M].

        Nothing is read before the memory holds `least` transitions, M or more.
        The transitions count as written: write() must follow for each.
        """
        policies, steps, episodes, batch = u.shape
        order = self.written + np.arange(steps * episodes).reshape(steps, episodes, 1)
        size = np.minimum(order[:, -1, 0] + 1, self.capacity)  # after each step
        enough = np.maximum(size, batch)[:, None, None]  # where there are fewer nothing is read
        chosen = sample_without_replacement(
            u.transpose(1, 2, 0, 3), np.broadcast_to(enough, (steps, episodes, policies))
        )
        reads = self._global_rows(chosen).reshape(steps, episodes, -1)
        self.written += steps * episodes
        columns, rows = (torch.from_numpy(part) for part in (order % self.capacity, reads))
        return MemoryAccess(columns, rows, int(np.count_nonzero(size < least)))

    def write(self, column: Tensor, s: Tensor, action: Tensor, reward: Tensor, s_next: Tensor, *, last: bool) -> None:
        """Write a transition of each policy at a column [1]; s, s_next [K, S], action (its index) and reward [K]."""
        numbers = torch.stack([action.to(reward.dtype), reward, torch.full_like(reward, float(last))], dim=-1)
        self.rows.index_copy_(1, column, torch.cat([s, s_next, numbers], dim=-1)[:, None])

    def read(self, rows: Tensor) -> Batch:
        """A copy of the transitions in rows [K M] of the memory of all policies, policy by policy."""
        found = self.rows.flatten(0, 1)[rows].unflatten(0, (self.rows.shape[0], -1))
        n = self.features
        return Batch(
            found[..., :n], found[..., n : 2 * n], found[..., 2 * n].long(), found[..., -2], found[..., -1]
        )  # fmt: skip

    def add(self, s: Tensor, action: Tensor, reward: Tensor, s_next: Tensor, *, last: bool) -> None:
        """Store one transition of each policy, s and s_next [K, S], action and reward [K]; the oldest goes if full."""
        column = torch.tensor([self.written % self.capacity])
        self.write(column, s, action, reward, s_next, last=last)
        self.written += 1

    def sample(self, u: np.ndarray) -> Batch:
        """A mini-batch of each policy, all its transitions different.

        Uniform numbers u [K, M] decide, M at most size.
        """
        rows = self._global_rows(sample_without_replacement(u, self.size)).reshape(-1)
        return self.read(torch.from_numpy(rows))

    def _global_rows(self, rows: np.ndarray) -> np.ndarray:
        """Rows [..., K, M] of each policy as rows among those of all policies."""
        return rows + self.capacity * np.arange(rows.shape[-2])[:, None]

    def restore(self, rows: Tensor, written: int) -> None:
        """Go back to saved rows [K, capacity, 2 S + 3] after so many transitions were written."""
        self.rows.copy_(rows)
        self.written = written
