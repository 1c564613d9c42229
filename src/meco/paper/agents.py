"""K learners that act with exploration, remember, and learn once for every step they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from meco.core.arrays import Array, to_numpy
from meco.core.streams import Streams
from meco.errors import DamagedFile
from meco.paper.action import DECODERS
from meco.paper.config import TrainingConfig
from meco.paper.ddqn import Learner
from meco.paper.network import PAPER_SHAPE
from meco.paper.policy import draw_index
from meco.paper.replay_memory import MemoryAccess, ReplayMemory

UNIFORMS_PER_ACTION = 2  # uniform numbers that decide an action: whether to explore, and what


class Environment(Protocol):
    """Episodes in lockstep that all end at the same step, as meco.paper.Episode has them."""

    def reset(self) -> Array:
        """Features [B, 10]."""

    def step(self, actions: Array) -> tuple[Array, Array, Array]:
        """Features [B, 10], rewards [B] and whether the episodes are over [B], after action values [B]."""


class RoundPlan(NamedTuple):
    """The chance of a round of T steps, and what follows from counting: all that is known before it is played."""

    explores: Tensor  # [T, K, E] bool: not the greedy action
    others: Tensor  # [T, K, E], the index of the action taken then
    access: MemoryAccess

    @property
    def steps(self) -> int:
        """Steps of the round."""
        return self.explores.shape[0]


class Agents:
    """Policies k = 0..K-1 with E episodes each: networks, memory and one random stream per policy."""

    def __init__(self, configs: Sequence[TrainingConfig]) -> None:
        """New networks and empty memories for policies that train in one batch (check_lockstep)."""
        first, learner = configs[0], configs[0].learner
        self.episodes, self.batch = first.parallel_episodes, learner.batch
        self.rng = Streams([c.seed for c in configs])
        self.settings = learner
        self.learner = Learner([c.seed for c in configs], learner, first.learning_steps, first.episodes)
        self.replay = ReplayMemory(len(configs), learner.memory, PAPER_SHAPE.features)
        self._values = torch.tensor(DECODERS[first.episode.decoder].grid)  # [A]

    def __len__(self) -> int:
        return self.rng.runs

    def draw_round_plan(self, steps: int) -> RoundPlan:
        """Draw the chance of the coming round, in one block from each policy's own stream.

        Moves the streams on, and counts the round's transitions as made.
        """
        u = self.rng.uniform(steps, self.episodes, UNIFORMS_PER_ACTION + self.batch)  # [K, T, E, ...]
        seldom, which = np.moveaxis(u[..., :UNIFORMS_PER_ACTION], 0, 1).transpose(3, 0, 1, 2)
        access = self.replay.reserve_access(u[..., UNIFORMS_PER_ACTION:], self.settings.least_memory)
        explores = torch.from_numpy(seldom < self.settings.explore)
        others = torch.from_numpy(draw_index(which, PAPER_SHAPE.outputs))
        return RoundPlan(explores, others, access)

    def act(self, s: Tensor, explores: Tensor, others: Tensor) -> Tensor:
        """Action indices [K, E] in states s [K, E, S]: the greedy ones, but for a share that explores."""
        return torch.where(explores, others, self.learner.q(s).argmax(-1))

    def action_values(self, index: Tensor) -> Tensor:
        """The action values [K E] behind indices [K, E]."""
        return self._values[index].flatten()

    def learn(self, plan: RoundPlan, t: int, s: Tensor, index: Tensor, r: Tensor, s_next: Tensor) -> Tensor:
        """Remember step t of every episode (s [K, E, S], index and r [K, E]), then learn E times: losses [K]."""
        writes, reads, idle = plan.access
        for e in range(self.episodes):
            self.replay.write(writes[t, e], s[:, e], index[:, e], r[:, e], s_next[:, e], last=t == plan.steps - 1)
        if t < idle:
            return torch.zeros_like(r[:, 0])
        losses = [self.learner.learn(self.replay.read(reads[t, e])) for e in range(self.episodes)]
        return losses[0] if self.episodes == 1 else torch.stack(losses).mean(0)

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers of a checkpoint by name; counters() goes with them."""
        return {name: to_numpy(t) for name, t in {**self.learner.tensors(), "memory": self.replay.rows}.items()}

    def counters(self) -> dict[str, Any]:
        """Steps made, and the states of the random streams."""
        learned, ended = self.learner.steps, self.learner.ended
        return {"learned": learned, "ended": ended, "written": self.replay.written, "streams": self.rng.state()}

    def restore(self, arrays: dict[str, np.ndarray], counters: dict[str, Any]) -> None:
        """Go back to what arrays() and counters() gave; DamagedFile for arrays of another shape or type."""
        for name, mine in self.arrays().items():
            if (arrays[name].shape, arrays[name].dtype) != (mine.shape, mine.dtype):
                raise DamagedFile(f"{name} must be {mine.shape} of {mine.dtype}; got {arrays[name].shape}")
        tensors = {name: torch.from_numpy(a) for name, a in arrays.items()}
        self.learner.restore(tensors, counters["learned"], counters["ended"])
        self.replay.restore(tensors["memory"], counters["written"])
        self.rng.restore(counters["streams"])


class RoundStatistics(NamedTuple):
    """A round of episodes: return [K, E], mean loss [K], how often each action was taken [K, E, A]."""

    reward: Tensor
    loss: Tensor
    actions: Tensor


def play_round(environment: Environment, agents: Agents, plan: RoundPlan) -> RoundStatistics:
    """Play all episodes of a round to their end, learning at every step.

    Resets and steps the environment, and changes the agents' networks and memories.
    """
    shape, (features, _, actions) = (len(agents), agents.episodes), PAPER_SHAPE

    def tensor(values: Array, *more: int) -> Tensor:
        """Values [B, ...] of the environment as a tensor [K, E, ...]."""
        return (torch.from_numpy(values) if isinstance(values, np.ndarray) else values).reshape(*shape, *more)

    s, losses = tensor(environment.reset(), features), []
    reward, taken = torch.zeros_like(s[..., 0]), torch.zeros_like(s[..., :1], dtype=torch.int64).repeat(1, 1, actions)
    one = torch.ones_like(taken[..., :1])
    for t in range(plan.steps):
        index = agents.act(s, plan.explores[t], plan.others[t])
        state, r, _ = environment.step(agents.action_values(index))
        s_next = tensor(state, features)
        losses.append(agents.learn(plan, t, s, index, tensor(r), s_next))
        reward += tensor(r)
        taken.scatter_add_(-1, index[..., None], one)
        s = s_next
    agents.learner.ended += agents.episodes
    return RoundStatistics(reward, torch.stack(losses).mean(0), taken)
