"""K learners that act with exploration, remember, and learn once for every step they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from meco.arrays import Array, to_numpy
from meco.errors import DamagedFile
from meco.mdp.network import PAPER
from meco.mdp.policy import explore
from meco.rules.steered import DECODERS
from meco.streams import Streams
from meco.training.config import TrainingConfig
from meco.training.ddqn import Learner, LearnerSettings
from meco.training.replay import Replay

CHOICE = 2  # uniform numbers that decide an action: whether to explore, and what


class Environment(Protocol):
    """Episodes in lockstep that all end at the same step, as meco.mdp.Episode has them."""

    def reset(self) -> Array:
        """Features [B, 10]."""

    def step(self, actions: Array) -> tuple[Array, Array, Array]:
        """Features [B, 10], rewards [B] and whether the episodes are over [B], after action values [B]."""


class Agents:
    """Policies k = 0..K-1 with E episodes each: networks, memory and one random stream per policy."""

    def __init__(self, configs: Sequence[TrainingConfig]) -> None:
        first = configs[0]
        self.episodes, self.batch, self.device = first.parallel_episodes, first.batch, first.device
        self.rng = Streams([c.seed for c in configs])
        self.learner = Learner(
            [c.seed for c in configs],
            LearnerSettings(*(_column(configs, name, self.device) for name in LearnerSettings._fields)),
            copy_every=first.copy_every,
            shape=PAPER,
            sigmoid=first.q_output == "sigmoid",
            device=self.device,
        )
        self.replay = Replay(len(configs), first.memory, self.learner.shape.features, self.device)
        self._explore = np.repeat([c.explore for c in configs], self.episodes)  # [K E]
        self._values = np.array([DECODERS[c.decoder].grid for c in configs])  # [K, A]

    def __len__(self) -> int:
        return self.rng.runs

    def act(self, s: Tensor) -> np.ndarray:
        """Action indices [K, E] in states s [K, E, S]: the greedy ones, but for a share that explores."""
        numbers = self.rng.uniform(self.episodes * (CHOICE + self.batch))
        u = numbers.reshape(len(self), self.episodes, -1)
        self._chance = u[..., CHOICE:]  # for the mini-batches of this step
        greedy = to_numpy(self.learner.q(s).argmax(-1))
        chance, count = u[..., :CHOICE].reshape(-1, CHOICE), self.learner.shape.outputs
        return explore(greedy.reshape(-1), chance, self._explore, count).reshape(greedy.shape)

    def values(self, index: np.ndarray) -> np.ndarray:
        """The action values [K E] behind indices [K, E], each policy with its own grid."""
        return np.take_along_axis(self._values, index, axis=1).reshape(-1)

    def learn(self, s: Tensor, index: np.ndarray, r: Tensor, s_next: Tensor, last: bool) -> Tensor:
        """Remember a step of every episode (s [K, E, S], index and r [K, E]), then learn E times: losses [K]."""
        action = torch.from_numpy(index).to(self.device)
        for e in range(self.episodes):
            self.replay.add(s[:, e], action[:, e], r[:, e], s_next[:, e], last)
        if self.replay.held < self.batch:
            return torch.zeros_like(r[:, 0])
        losses = [self.learner.learn(self.replay.sample(self._chance[:, e])) for e in range(self.episodes)]
        return losses[0] if self.episodes == 1 else torch.stack(losses).mean(0)

    def keep(self, policies: Sequence[int]) -> None:
        """Go on with some of the policies only."""
        rows = torch.tensor(policies, device=self.device)
        self.learner.keep(rows)
        self.replay.keep(rows)
        self.rng = self.rng.kept(policies)
        self._explore = self._explore.reshape(-1, self.episodes)[list(policies)].reshape(-1)
        self._values = self._values[list(policies)]

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers of a checkpoint; counters() goes with them."""
        tensors = {name: getattr(self.learner, name) for name in Learner.TENSORS}
        return {name: to_numpy(t) for name, t in {**tensors, "memory": self.replay.rows}.items()}

    def counters(self) -> dict[str, Any]:
        """Steps made and where the random streams stand."""
        return {"learned": self.learner.steps, "written": self.replay.written, "streams": self.rng.state()}

    def restore(self, arrays: dict[str, np.ndarray], counters: dict[str, Any]) -> None:
        """Go on from arrays() and counters()."""
        for name, mine in self.arrays().items():
            if (arrays[name].shape, arrays[name].dtype) != (mine.shape, mine.dtype):
                raise DamagedFile(f"{name} must be {mine.shape} of {mine.dtype}; got {arrays[name].shape}")
        tensors = {name: torch.from_numpy(a).to(self.device) for name, a in arrays.items()}
        self.learner.restore(tensors, counters["learned"])
        self.replay.restore(tensors["memory"], counters["written"])
        self.rng.restore(counters["streams"])


class Played(NamedTuple):
    """A round of episodes: return [K, E], mean loss [K], how often each action was taken [K, E, A]."""

    reward: np.ndarray
    loss: np.ndarray
    actions: np.ndarray


def play(environment: Environment, agents: Agents) -> Played:
    """All episodes of a round to their end, learning at every step."""
    shape, (features, _, actions) = (len(agents), agents.episodes), agents.learner.shape

    def tensor(values: Array, *more: int) -> Tensor:
        return (torch.from_numpy(values) if isinstance(values, np.ndarray) else values).reshape(*shape, *more)

    s, over, losses = tensor(environment.reset(), features), False, []
    reward, taken = np.zeros(shape), np.zeros((*shape, actions), dtype=int)
    while not over:
        index = agents.act(s)
        s_next, r, done = environment.step(agents.values(index))
        over, s_next = bool(done[0]), tensor(s_next, features)
        losses.append(agents.learn(s, index, tensor(r), s_next, over))
        reward += to_numpy(r).reshape(shape)
        taken += index[..., None] == np.arange(actions)
        s = s_next
    return Played(reward, to_numpy(torch.stack(losses).mean(0)), taken)


def _column(configs: Sequence[TrainingConfig], name: str, device: str) -> Tensor:
    return torch.tensor([[float(getattr(c, name))] for c in configs], dtype=torch.float64, device=device)
