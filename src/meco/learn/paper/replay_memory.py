"""The replay memory of K policies in lockstep: first in, first out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from meco.learn.paper.ddqn import Batch


def without_replacement(u: np.ndarray, held: int | np.ndarray) -> np.ndarray:
    """As many different places below `held` as there are uniform numbers u [..., M], every set equally likely.

    Floyd's way: the i-th number picks among one place more than the one before it could; a
    place that is taken already gives way to the newest. held is one number, or one for each set [...].
    """
    count = u.shape[-1]
    newest = np.asarray(held)[..., None] + np.arange(-count, 0)
    places = (u * (newest + 1)).astype(np.int64)
    for i in range(1, count):
        taken = (places[..., :i] == places[..., i : i + 1]).any(axis=-1)
        places[..., i] = np.where(taken, newest[..., i], places[..., i])
    return places


class Visits(NamedTuple):
    """What a round of T steps of E episodes does with the memory, known before its transitions are."""

    writes: Tensor  # [T, E, 1], the column of each transition
    reads: Tensor  # [T, E, K M], the places of each mini-batch among all rows
    idle: int  # first steps after which there are too few transitions for a mini-batch


class ReplayMemory:
    """The last `capacity` transitions of each policy, one row each: s, s', action, reward, last."""

    def __init__(self, policies: int, capacity: int, features: int, device: str = "cpu") -> None:
        self.capacity, self.features = capacity, features
        self.rows = torch.zeros(policies, capacity, 2 * features + 3, dtype=torch.float64, device=device)
        self.written = 0

    @property
    def held(self) -> int:
        """Transitions of each policy in memory."""
        return min(self.written, self.capacity)

    def visits(self, u: np.ndarray) -> Visits:
        """The coming transitions and mini-batches, which count as made; uniform numbers u [K, T, E, M] decide."""
        policies, steps, episodes, batch = u.shape
        order = self.written + np.arange(steps * episodes).reshape(steps, episodes, 1)
        held = np.minimum(order[:, -1, 0] + 1, self.capacity)  # after each step
        enough = np.maximum(held, batch)[:, None, None]  # where there are fewer nothing is read
        chosen = without_replacement(u.transpose(1, 2, 0, 3), np.broadcast_to(enough, (steps, episodes, policies)))
        reads = self._among_all(chosen).reshape(steps, episodes, -1)
        self.written += steps * episodes
        columns, places = (torch.from_numpy(part).to(self.rows.device) for part in (order % self.capacity, reads))
        return Visits(columns, places, int(np.count_nonzero(held < batch)))

    def write(self, column: Tensor, s: Tensor, action: Tensor, reward: Tensor, s_next: Tensor, last: bool) -> None:
        """Put one transition of each policy there; s, s_next [K, S], action (its index) and reward [K]."""
        numbers = torch.stack([action.to(reward.dtype), reward, torch.full_like(reward, float(last))], dim=-1)
        self.rows.index_copy_(1, column, torch.cat([s, s_next, numbers], dim=-1)[:, None])

    def read(self, places: Tensor) -> Batch:
        """The transitions at places [K M] among all rows, policy by policy."""
        found = self.rows.flatten(0, 1)[places].unflatten(0, (self.rows.shape[0], -1))
        n = self.features
        return Batch(
            found[..., :n], found[..., n : 2 * n], found[..., 2 * n].long(), found[..., -2], found[..., -1]
        )  # fmt: skip

    def add(self, s: Tensor, action: Tensor, reward: Tensor, s_next: Tensor, last: bool) -> None:
        """Remember one transition of each policy, the oldest makes room."""
        column = torch.tensor([self.written % self.capacity], device=self.rows.device)
        self.write(column, s, action, reward, s_next, last)
        self.written += 1

    def sample(self, u: np.ndarray) -> Batch:
        """A mini-batch of each policy, all its transitions different; uniform numbers u [K, M] decide."""
        places = self._among_all(without_replacement(u, self.held)).reshape(-1)
        return self.read(torch.from_numpy(places).to(self.rows.device))

    def _among_all(self, places: np.ndarray) -> np.ndarray:
        """Places [..., K, M] among each policy's own rows as places among all rows."""
        return places + self.capacity * np.arange(places.shape[-2])[:, None]

    def keep(self, policies: Tensor) -> None:
        """Go on with some of the policies only."""
        self.rows = self.rows[policies].clone()

    def restore(self, rows: Tensor, written: int) -> None:
        """Go on from saved rows."""
        self.rows.copy_(rows)
        self.written = written
